//! Hashes of keys that are equal in every run and on every machine, by which the rows of a stream are divided among
//! the copies of a keyed operator.
//!
//! Values that [`KeyIndex`](super::KeyIndex) takes for one key have one hash: NULLs are equal, text and bytes are hashed by
//! their bytes, and floats by their bits. Saved state is divided by these hashes, so they must not change between
//! versions; a test holds some of them.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type};

use super::bytes::ByteSlices;
use super::numbers::{is_whole, whole_numbers};
use super::whole::hash_of;

/// Seed of all hashes: the first digits of pi after the point. Senders of rows can choose keys with equal hashes; that costs
/// the balance between workers, and a query whose state goes to disk may end with STATE_LIMIT. The tables of keys hash with a
/// secret seed.
const SEED: u64 = 0x243f_6a88_85a3_08d3;

/// Hash that stands for NULL.
const OF_NULL: u64 = 0x1319_8a2e_0370_7344;

/// Writes a hash of the key of each row into `hashes`, which is cleared first. The upper bits of the hashes are well mixed.
///
/// # Panics
/// If a column has another length than `rows`, or a type that no SQL type has.
pub fn key_hashes(keys: &[ArrayRef], rows: usize, hashes: &mut Vec<u64>) {
    hashes.clear();
    hashes.resize(rows, SEED);
    for column in keys {
        assert_eq!(column.len(), rows, "key columns have a value for each row");
        fold(column, hashes);
    }
}

/// Folds the value of each row of a column into the hash of that row.
fn fold(column: &ArrayRef, hashes: &mut [u64]) {
    let nulls = column.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    let mut each = |value: &dyn Fn(usize, u64) -> u64| match &nulls {
        None => hashes.iter_mut().enumerate().for_each(|(row, hash)| *hash = value(row, *hash)),
        Some(nulls) => hashes.iter_mut().enumerate().for_each(|(row, hash)| {
            *hash = if nulls.is_null(row) { mixed(OF_NULL as i64, *hash) } else { value(row, *hash) };
        }),
    };
    match column.data_type() {
        of if is_whole(of) => {
            let values = whole_numbers(column);
            match nulls {
                None => hashes
                    .iter_mut()
                    .zip(values.iter())
                    .for_each(|(hash, value)| *hash = mixed(*value, *hash)),
                Some(_) => each(&|row, hash| mixed(values[row], hash)),
            }
        }
        DataType::Utf8 | DataType::Binary => {
            let slices = ByteSlices::of(column);
            each(&|row, hash| of_bytes(slices.get(row), hash));
        }
        DataType::Float32 => {
            let values = column.as_primitive::<Float32Type>().values();
            each(&|row, hash| mixed(values[row].to_bits().into(), hash));
        }
        DataType::Float64 => {
            let values = column.as_primitive::<Float64Type>().values();
            each(&|row, hash| mixed(values[row].to_bits() as i64, hash));
        }
        DataType::Decimal128(_, _) => {
            let values = column.as_primitive::<Decimal128Type>().values();
            each(&|row, hash| mixed((values[row] >> 64) as i64, mixed(values[row] as i64, hash)));
        }
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            let (offsets, first, count) = spanned(list.value_offsets());
            let mut items = vec![SEED; count];
            fold(&list.values().slice(first, count), &mut items);
            each(&|row, hash| {
                of_hashes(&items[offsets[row] as usize - first..offsets[row + 1] as usize - first], hash)
            });
        }
        DataType::Map(_, _) => {
            let map = column.as_map();
            let (offsets, first, count) = spanned(map.value_offsets());
            let mut items = vec![SEED; count];
            map.entries().columns().iter().for_each(|part| fold(&part.slice(first, count), &mut items));
            each(&|row, hash| {
                of_hashes(&items[offsets[row] as usize - first..offsets[row + 1] as usize - first], hash)
            });
        }
        DataType::Struct(_) => {
            let parts = column.as_struct().columns();
            let mut values = vec![SEED; column.len()];
            parts.iter().for_each(|part| fold(part, &mut values));
            each(&|row, hash| mixed(values[row] as i64, hash));
        }
        DataType::Null => each(&|_, hash| mixed(OF_NULL as i64, hash)),
        of => panic!("no SQL type has values of {of}"),
    }
}

/// Returns the offsets of lists, with the index of their first item and the number of their items: a slice of a column has
/// the items of all of it.
fn spanned(offsets: &[i32]) -> (&[i32], usize, usize) {
    let first = offsets.first().copied().unwrap_or_default();
    let end = offsets.last().copied().unwrap_or_default();
    (offsets, first as usize, (end - first) as usize)
}

fn of_hashes(items: &[u64], hash: u64) -> u64 {
    items.iter().fold(mixed(items.len() as i64, hash), |hash, item| mixed(*item as i64, hash))
}

fn of_bytes(bytes: &[u8], hash: u64) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| i64::from_le_bytes(*word));
    words.fold(mixed(bytes.len() as i64, hash), |hash, word| mixed(word, hash))
}

#[inline]
fn mixed(word: i64, hash: u64) -> u64 {
    hash_of(word, hash)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, ListArray, StringArray,
        StructArray,
    };
    use arrow::datatypes::{Field, Fields, Int32Type};
    use thalweg_model::{KEY_GROUPS, key_group_of};

    use super::*;

    fn hashes(keys: &[ArrayRef]) -> Vec<u64> {
        let mut hashes = vec![7];
        key_hashes(keys, keys.first().map_or(0, |column| column.len()), &mut hashes);
        hashes
    }

    fn column(array: impl Array + 'static) -> ArrayRef {
        Arc::new(array)
    }

    /// A hash that changes voids all saved state that was divided by it, so these stay for ever.
    #[test]
    fn hashes_stay() {
        let hash = |array: ArrayRef| hashes(&[array])[0];
        assert_eq!(
            [
                hash(column(Int64Array::from(vec![1]))),
                hash(column(StringArray::from(vec!["a long text"]))),
                hash(column(Float64Array::from(vec![0.5]))),
                hash(column(Int64Array::from(vec![None]))),
            ],
            HELD
        );
    }

    const HELD: [u64; 4] = [
        8_225_760_100_266_575_371,
        16_851_983_112_546_656_255,
        2_987_111_980_913_882_435,
        10_405_743_176_682_837_977,
    ];

    /// Equal values have equal hashes, whatever the width of their column, and other values others.
    #[test]
    fn equal_values_have_equal_hashes() {
        let narrow = hashes(&[column(Int32Array::from(vec![Some(5), None, Some(-1)]))]);
        assert_eq!(narrow, hashes(&[column(Int64Array::from(vec![Some(5), None, Some(-1)]))]));
        let list = |items: Vec<Option<Vec<Option<i32>>>>| {
            column(ListArray::from_iter_primitive::<Int32Type, _, _>(items))
        };
        let of = list(vec![Some(vec![Some(1), None]), Some(vec![]), None, Some(vec![Some(1), None])]);
        let found = hashes(&[Arc::clone(&of)]);
        assert_eq!(found[0], found[3]);
        assert_eq!(std::collections::BTreeSet::from_iter(&found).len(), 3);
        assert_eq!(hashes(&[of.slice(1, 3)]), found[1..]);
        let fields: Fields =
            vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Boolean, true)].into();
        let rows = StructArray::new(
            fields,
            vec![
                column(Int32Array::from(vec![1, 1, 2])),
                column(BooleanArray::from(vec![true, false, true])),
            ],
            None,
        );
        assert_eq!(std::collections::BTreeSet::from_iter(hashes(&[column(rows)])).len(), 3);
        let decimals = Decimal128Array::from(vec![1, 1 << 64, -1]).with_precision_and_scale(38, 2).unwrap();
        assert_eq!(std::collections::BTreeSet::from_iter(hashes(&[column(decimals)])).len(), 3);
    }

    /// The parts of a key count by their place, and the ends of texts count.
    #[test]
    fn parts_are_told_apart() {
        let text = |texts: [&'static str; 2]| column(StringArray::from(texts.to_vec()));
        let found = hashes(&[text(["ab", "a"]), text(["c", "bc"])]);
        assert_ne!(found[0], found[1]);
        let found = hashes(&[text(["", "\0"])]);
        assert_ne!(found[0], found[1]);
    }

    /// Consecutive numbers, and texts that differ in their last letter only, fill all key groups evenly.
    #[test]
    fn key_groups_are_filled_evenly() {
        let numbers = column(Int64Array::from_iter_values(0..12_800));
        let texts = column(StringArray::from_iter_values((0..12_800).map(|number| format!("user-{number}"))));
        for keys in [numbers, texts] {
            let mut counts = [0; KEY_GROUPS as usize];
            hashes(&[keys]).iter().for_each(|hash| counts[key_group_of(*hash) as usize] += 1);
            assert!(counts.iter().all(|count| (50..=160).contains(count)), "{counts:?}");
        }
    }
}
