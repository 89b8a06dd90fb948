//! Tests that compare EXCEPT ALL and INTERSECT ALL with counts of all rows so far: the changes that came out, applied in
//! order, leave each row as often as the counts say, and no row is taken back that is not there.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray, Int32Array};
use proptest::prelude::*;
use thalweg_model::VirtualClock;
use thalweg_sql_functions::types::SqlType;

use super::*;

/// A row of one column that comes to a side or goes from it.
#[derive(Clone, Copy, Debug)]
struct Change {
    value: Option<i32>,
    is_right: bool,
    comes: bool,
}

fn columns() -> Vec<Column> {
    vec![Column::plain("v", SqlType::Int, true), Column::plain("is_right", SqlType::Boolean, false)]
}

fn made(kind: BagKind) -> Bag {
    let now = Now::new(Arc::new(VirtualClock::default()));
    Bag::new(kind, i64::MAX, now, &columns(), &columns()[..1], 7).unwrap()
}

fn batch(changes: &[Change]) -> Batch {
    let values: Int32Array = changes.iter().map(|change| change.value).collect();
    let sides: BooleanArray = changes.iter().map(|change| Some(change.is_right)).collect();
    let columns_of: Vec<Arc<dyn Array>> = vec![Arc::new(values), Arc::new(sides)];
    let mut batch = Batch::new(batch_of(&schema_of(&columns()), columns_of, changes.len()).unwrap());
    let kind = |change: &Change| if change.comes { RowKind::Insert } else { RowKind::Delete };
    batch.kinds = Some(changes.iter().map(kind).collect());
    batch
}

/// Gives changes to an operator, and applies what comes out to the rows that are there.
fn feed(bag: &mut Bag, changes: &[Change], there: &mut BTreeMap<Option<i32>, i64>) {
    bag.take(batch(changes), EventTime::MIN).unwrap();
    while let Some(out) = bag.next().unwrap() {
        let values = out.rows.column(0).as_primitive::<arrow::datatypes::Int32Type>();
        for row in 0..out.len() {
            let value = (!values.is_null(row)).then(|| values.value(row));
            let number = there.entry(value).or_default();
            *number += if out.kind(row) == RowKind::Insert { 1 } else { -1 };
            assert!(*number >= 0, "{value:?} is taken back and is not there");
        }
    }
}

fn expected(kind: BagKind, changes: &[Change]) -> BTreeMap<Option<i32>, i64> {
    let mut numbers: BTreeMap<Option<i32>, (i64, i64)> = BTreeMap::new();
    for change in changes {
        let number = numbers.entry(change.value).or_default();
        let side = if change.is_right { &mut number.1 } else { &mut number.0 };
        *side += if change.comes { 1 } else { -1 };
    }
    let times = |(left, right): (i64, i64)| match kind {
        BagKind::Except => (left.max(0) - right.max(0)).max(0),
        BagKind::Intersect => left.min(right).max(0),
    };
    numbers
        .into_iter()
        .map(|(value, number)| (value, times(number)))
        .filter(|(_, times)| *times > 0)
        .collect()
}

fn change() -> impl Strategy<Value = Change> {
    (proptest::option::of(0..3), any::<bool>(), prop::bool::weighted(0.7))
        .prop_map(|(value, is_right, comes)| Change { value, is_right, comes })
}

proptest! {
    /// Rows in batches of any size, with a reload between them.
    #[test]
    fn rows_are_there_as_often_as_counted(
        kind in prop_oneof![Just(BagKind::Except), Just(BagKind::Intersect)],
        changes in prop::collection::vec(change(), 0..40),
        size in 1_usize..8,
        reload in 0_usize..6,
    ) {
        let mut bag = made(kind);
        let mut there = BTreeMap::new();
        for (number, part) in changes.chunks(size).enumerate() {
            feed(&mut bag, part, &mut there);
            if number == reload {
                let mut state = StateWriter::default();
                bag.save(&mut state).unwrap();
                let bytes = state.into_bytes();
                bag = made(kind);
                let mut reader = StateReader::new(&bytes);
                bag.load(&mut reader).unwrap();
                reader.finish().unwrap();
            }
        }
        there.retain(|_, number| *number > 0);
        prop_assert_eq!(there, expected(kind, &changes));
    }
}
