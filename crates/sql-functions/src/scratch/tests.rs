//! Tests that intermediate results of expressions ask for memory, and that the memory is given back when the
//! evaluation ends.

use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, StringArray};
use thalweg_model::GrantSource;

use super::*;

struct BoundedGrant {
    left: Mutex<usize>,
    limit: usize,
}

impl GrantSource for BoundedGrant {
    fn lend(&self, bytes: usize) -> bool {
        let mut left = self.left.lock().unwrap();
        let is_enough = bytes <= *left;
        *left -= if is_enough { bytes } else { 0 };
        is_enough
    }

    fn take_back(&self, bytes: usize) {
        *self.left.lock().unwrap() += bytes;
    }

    fn limit_bytes(&self) -> usize {
        self.limit
    }
}

fn bounded_grant(bytes: usize) -> (Arc<BoundedGrant>, Allowance) {
    let bounded_grant = Arc::new(BoundedGrant { left: Mutex::new(bytes), limit: bytes });
    (Arc::clone(&bounded_grant), Allowance::new(bounded_grant))
}

#[test]
fn a_room_is_given_back_and_a_value_is_held_until_the_end() {
    let (bounded_grant, allowance) = bounded_grant(64 << 20);
    let left = || *bounded_grant.left.lock().unwrap();
    within(&allowance, 4_096, || {
        let mut room = Room::default();
        room.take(3 << 20).unwrap();
        assert_eq!(left(), 62 << 20, "one MiB needs no asking");
        drop(room);
        assert_eq!(left(), 64 << 20);
        let text: ArrayRef = Arc::new(StringArray::from_iter_values(["x".repeat(4 << 20)]));
        hold(&ColumnarValue::Array(text)).unwrap();
        assert!(left() <= 61 << 20);
    });
    assert_eq!(left(), 64 << 20);
}

/// A slice of a long array takes only the memory of its own values, although it shares the buffers of the
/// whole array. The field of a row is such a slice.
#[test]
fn a_slice_takes_its_own_values() {
    let (bounded_grant, allowance) = bounded_grant(64 << 20);
    let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..9).map(|_| "x".repeat(1 << 20))));
    let items = arrow::buffer::OffsetBuffer::from_lengths([1; 9]);
    let item = Arc::new(arrow::datatypes::Field::new("item", DataType::Utf8, true));
    let lists: ArrayRef = Arc::new(arrow::array::ListArray::new(item, items, Arc::clone(&text), None));
    let fields = vec![("a", Arc::clone(&text)), ("b", Arc::clone(&lists))];
    let row: ArrayRef = Arc::new(arrow::array::StructArray::try_from(fields).unwrap());
    within(&allowance, 4_096, || {
        for array in [text, lists] {
            hold(&ColumnarValue::Array(array.slice(0, 1))).unwrap();
            assert!(hold(&ColumnarValue::Array(array)).is_err());
        }
        hold(&ColumnarValue::Array(row.slice(0, 2))).unwrap();
    });
    assert_eq!(*bounded_grant.left.lock().unwrap(), 64 << 20);
}

/// The bytes of columns without nested values are counted in a shorter way than those of nested columns. Both
/// ways count the same bytes.
#[test]
fn flat_columns_are_counted_as_nested_ones() {
    let some = |row: i64| (row % 3 > 0).then_some(row);
    let columns: Vec<ArrayRef> = vec![
        Arc::new((0..99).map(some).collect::<arrow::array::Int64Array>()),
        Arc::new((0..99).map(|row| some(row).map(|_| row as i8)).collect::<arrow::array::Int8Array>()),
        Arc::new((0..99).map(|row| some(row).map(|_| true)).collect::<arrow::array::BooleanArray>()),
        Arc::new((0..99).map(|row| some(row).map(|row| "x".repeat(row as usize))).collect::<StringArray>()),
        Arc::new(
            (0..99)
                .map(|row| some(row).map(|row| vec![7; row as usize]))
                .collect::<arrow::array::BinaryArray>(),
        ),
        Arc::new(arrow::array::Decimal128Array::from_iter_values(0..99)),
        Arc::new(arrow::array::NullArray::new(99)),
    ];
    for column in columns {
        for part in [column.slice(0, 99), column.slice(5, 60), column.slice(98, 1), column.slice(7, 0)] {
            assert_eq!(value_bytes(&part), bytes_of_values(&part.to_data()), "{}", part.data_type());
        }
    }
}

#[test]
fn several_rows_and_one_row_have_their_own_bounds() {
    let (_, allowance) = bounded_grant(64 << 20);
    let fits = |rows: usize, bytes: usize| within(&allowance, rows, || check(bytes)).is_ok();
    assert!(fits(4_096, EVALUATION_BYTES_MAX) && !fits(4_096, EVALUATION_BYTES_MAX + 1));
    assert!(fits(1, 16 << 20) && !fits(1, (16 << 20) + 1));
    assert_eq!(within(&allowance, 1, || check(usize::MAX)).unwrap_err().code, RESULT_TOO_LONG);
    assert!(check(usize::MAX).is_ok(), "there is no scope");
}

#[test]
fn what_the_budget_lacks_is_refused() {
    let (bounded_grant, allowance) = bounded_grant(64 << 20);
    *bounded_grant.left.lock().unwrap() = 1 << 20;
    let fits = |bytes: usize| within(&allowance, 1, || check(bytes)).is_ok();
    assert!(fits(2 << 20) && !fits((2 << 20) + 1));
    assert_eq!(*bounded_grant.left.lock().unwrap(), 1 << 20);
}

/// An inner scope of an evaluation has memory of its own, and the outer scope continues after it, also after
/// a panic.
#[test]
fn scopes_nest() {
    let (bounded_grant, allowance) = bounded_grant(64 << 20);
    within(&allowance, 4_096, || {
        let panicked = std::panic::catch_unwind(|| {
            within(&Allowance::default(), 1, || {
                check(1 << 40).unwrap();
                panic!("inside");
            })
        });
        assert!(panicked.is_err());
        assert!(check(EVALUATION_BYTES_MAX + 1).is_err(), "the outer scope is bounded");
    });
    assert_eq!(*bounded_grant.left.lock().unwrap(), 64 << 20);
}
