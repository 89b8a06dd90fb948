//! Tests of the division of batches: rows of a key stay together and in order, and failures, ends and long rows reach the right
//! copies.

use arrow::array::{AsArray, Int64Array, StringArray};
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use thalweg_model::Addressed;
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::batch::BATCH_BYTES_MAX;

use super::*;

fn columns() -> Vec<Column> {
    vec![Column::plain("k", SqlType::BigInt, true), Column::plain("s", SqlType::STRING, true)]
}

/// Makes a batch of the keys `keys`, each with a text of `length` letters.
fn batch(keys: &[i64], length: usize) -> Batch {
    let texts = keys.iter().map(|key| format!("{key}{}", "x".repeat(length)));
    let keys: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    Batch::new(RecordBatch::try_from_iter([("k", keys), ("s", texts)]).unwrap())
}

fn keys() -> BatchKeys {
    BatchKeys::new(Some(&RowKeys::of_columns("group", &[0], &columns())))
}

/// Divides a batch, and returns its parts with the index of the copy of each.
fn divided(keys: &mut BatchKeys, batch: Batch, copies: usize) -> Vec<(usize, Batch)> {
    keys.divide(batch, copies);
    let mut parts = Vec::new();
    while let Some((key_hash, value)) = keys.next_part() {
        let part = Addressed { key_hash, value };
        parts.push((part.place(copies), part.value));
    }
    assert!(!keys.has_parts());
    parts
}

fn keys_of(batch: &Batch) -> Vec<i64> {
    batch.rows.column(0).as_primitive::<Int64Type>().values().to_vec()
}

/// Each row goes to one copy, all rows of a key to the same one, in their order and with their kind of change.
#[test]
fn rows_of_a_key_stay_together() {
    for copies in 2..=130 {
        let many: Vec<i64> = (0..500).map(|row| row * row % 97).collect();
        let kinds: Vec<RowKind> =
            (0..500).map(|row| if row % 3 == 0 { RowKind::Delete } else { RowKind::Insert }).collect();
        let whole = Batch { kinds: Some(kinds.clone().into()), ..batch(&many, 0) };
        let parts = divided(&mut keys(), whole, copies);
        let mut copy_of_key = std::collections::BTreeMap::new();
        let mut found = Vec::new();
        for (copy, part) in &parts {
            assert!(*copy < copies && !part.is_empty());
            for (row, key) in keys_of(part).into_iter().enumerate() {
                assert_eq!(*copy_of_key.entry(key).or_insert(*copy), *copy, "{copies} copies");
                found.push((key, part.kind(row)));
            }
        }
        let mut expected: Vec<(i64, RowKind)> = many.into_iter().zip(kinds).collect();
        let order_of = |rows: &[(i64, RowKind)], key| -> Vec<RowKind> {
            rows.iter().filter(|row| row.0 == key).map(|row| row.1).collect()
        };
        (0..97).for_each(|key| assert_eq!(order_of(&found, key), order_of(&expected, key)));
        found.sort_by_key(|row| (row.0, row.1.adds()));
        expected.sort_by_key(|row| (row.0, row.1.adds()));
        assert_eq!(found, expected);
        assert!(copies > 128 || copy_of_key.values().collect::<std::collections::BTreeSet<_>>().len() > 1);
    }
}

/// A batch whose rows all go to one copy is not copied. An empty batch goes nowhere, and the last batch of a source goes
/// everywhere.
#[test]
fn whole_batches_and_ends() {
    let whole = batch(&[7; 20], 3);
    let data = whole.rows.column(0).to_data().buffers()[0].as_ptr();
    let parts = divided(&mut keys(), Batch { watermark: Some(EventTime::EPOCH), ..whole }, 2);
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].1.rows.column(0).to_data().buffers()[0].as_ptr(), data);
    assert_eq!(parts[0].1.watermark, None);

    assert!(divided(&mut keys(), batch(&[], 0), 3).is_empty());

    let last = Batch { watermark: Some(EventTime::MAX), ..batch(&[7], 0) };
    let parts = divided(&mut keys(), last, 3);
    assert_eq!(parts.iter().map(|part| part.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(parts.iter().all(|part| part.1.is_last()));
    assert_eq!(parts.iter().map(|part| part.1.len()).sum::<usize>(), 1);
}

/// A failure of an operator before the exchange goes to all copies, so that none emits results without the rows behind it. So
/// does a failure of the key itself, with the name of the operator that has the key.
#[test]
fn a_failure_goes_to_all_copies() {
    let error = EvaluationError { code: "EVALUATION", message: "no".to_owned() };
    let parts = divided(&mut keys(), Batch::failed("calc", error), 4);
    assert_eq!(parts.iter().map(|part| part.0).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(parts.iter().all(|part| part.1.failure.as_ref().unwrap().operator == "calc"));
}

/// Long rows go in batches of limited size, and take the room of as many batches as their bytes would fill.
#[test]
fn long_rows_take_their_room() {
    let parts = divided(&mut keys(), batch(&[1, 1, 2, 2, 3], 3 * BATCH_BYTES_MAX), 2);
    let rows: usize = parts.iter().map(|part| part.1.len()).sum();
    assert_eq!(rows, 5);
    assert!(parts.iter().all(|part| part.1.len() <= 1));
    assert_eq!(parts.iter().filter(|part| part.1.is_empty()).count(), 5 * 2);
}

/// Rows of both sides of a join with one key go to one copy, although the key stands in other columns.
#[test]
fn sides_of_a_join_meet() {
    let columns = columns();
    let key = |place: usize| Typed::column(place, columns[place].of.clone(), true);
    let sides = [vec![key(0)], vec![key(0)]].map(|keys| RowKeys::of_expressions("join", keys, None));
    let mut keys = JoinKeys::new(Some(&sides));
    let numbers: Vec<i64> = (0..40).collect();
    let mut copy_of_key = [std::collections::BTreeMap::new(), std::collections::BTreeMap::new()];
    for (side, value) in
        [Either::Left(batch(&numbers, 0)), Either::Right(batch(&numbers, 5))].into_iter().enumerate()
    {
        keys.divide(value, 3);
        while let Some((key_hash, part)) = keys.next_part() {
            let copy = Addressed { key_hash, value: () }.place(3);
            let (found, part) = match part {
                Either::Left(part) => (0, part),
                Either::Right(part) => (1, part),
            };
            assert_eq!(found, side);
            keys_of(&part).into_iter().for_each(|key| _ = copy_of_key[side].insert(key, copy));
        }
    }
    assert_eq!(copy_of_key[0].len(), 40);
    assert_eq!(copy_of_key[0], copy_of_key[1]);
}
