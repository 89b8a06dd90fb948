//! Tests that compare the final rows with an oracle, which keeps a list of rows and sorts it by a comparison of its own.

use std::cmp::Ordering;

use proptest::prelude::*;
use thalweg_sql_formats::RowKind;

use super::super::bed::{Bed, ID, In, K, TS, V, columns, text};
use super::*;

/// Requested order and part of the rows.
#[derive(Clone, Debug)]
struct Wanted {
    order: Vec<SortKey>,
    skip: u64,
    fetch: u64,
    is_retracting: bool,
}

fn make(wanted: &Wanted) -> Box<dyn BatchOperator> {
    let Wanted { order, skip, fetch, is_retracting } = wanted;
    Box::new(FinalRows::new(order, *skip, *fetch, *is_retracting, &columns()).unwrap())
}

fn compare(left: &In, right: &In, place: usize) -> Ordering {
    match place {
        ID => left.id.cmp(&right.id),
        K => left.k.map(str::as_bytes).cmp(&right.k.map(str::as_bytes)),
        V => left.v.cmp(&right.v),
        _ => left.ts.cmp(&right.ts),
    }
}

fn is_null(row: &In, place: usize) -> bool {
    (place == K && row.k.is_none()) || (place == V && row.v.is_none())
}

/// Compares two rows by a column of the order, then by the place of NULL.
fn by(key: &SortKey, left: &In, right: &In) -> Ordering {
    match (is_null(left, key.place), is_null(right, key.place)) {
        (true, true) => Ordering::Equal,
        (true, false) if key.is_null_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) if key.is_null_first => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) if key.is_descending => compare(right, left, key.place),
        (false, false) => compare(left, right, key.place),
    }
}

/// Oracle: returns the requested part of the rows that are left.
fn expected(mut rows: Vec<In>, wanted: &Wanted) -> Vec<String> {
    rows.sort_by(|left, right| {
        let by_order = wanted.order.iter().map(|key| by(key, left, right));
        let by_all = [ID, K, V, TS].map(|place| compare(left, right, place));
        by_order.chain(by_all).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    let (skip, fetch) = (wanted.skip as usize, usize::try_from(wanted.fetch).unwrap_or(usize::MAX));
    let row = |row: &In| format!("+I {} {} {} {}", row.id, text(row.k), text(row.v), row.ts);
    rows.iter().skip(skip).take(fetch).map(row).collect()
}

fn any_row() -> impl Strategy<Value = In> {
    let keys = prop_oneof![Just(None), Just(Some("")), Just(Some("a")), Just(Some("ab")), Just(Some("ä"))];
    let values = prop_oneof![Just(None), (-2..3i32).prop_map(Some), Just(Some(i32::MIN))];
    (0..3i32, keys, values, -2..2i64).prop_map(|(id, k, v, ts)| In { id, k, v, ts })
}

fn any_order() -> impl Strategy<Value = Vec<SortKey>> {
    let key = (0..4usize, any::<bool>(), any::<bool>());
    let key =
        key.prop_map(|(place, is_descending, is_null_first)| SortKey { place, is_descending, is_null_first });
    proptest::collection::vec(key, 0..3)
}

fn any_wanted() -> impl Strategy<Value = Wanted> {
    let fetch = prop_oneof![Just(u64::MAX), 0..6u64];
    (any_order(), 0..4u64, fetch, any::<bool>()).prop_map(|(order, skip, fetch, is_retracting)| Wanted {
        order,
        skip,
        fetch,
        is_retracting,
    })
}

proptest! {
    /// Rows come in any order and batches, and if the input may change, some of them are taken back, now and then before
    /// they come. The state is saved and loaded in the middle.
    #[test]
    fn what_is_left_is_sorted_and_cut(
        wanted in any_wanted(),
        rows in proptest::collection::vec((any_row(), 0..4u8), 0..40),
        cuts in proptest::collection::vec(1..7usize, 1..6),
        reload_at in 0..6usize,
    ) {
        let (mut changes, mut left) = (Vec::new(), Vec::new());
        for (row, fate) in &rows {
            let is_back = wanted.is_retracting && *fate == 0;
            let is_ahead = row.ts < 0;
            let (comes, goes) = ((*row, RowKind::Insert), (*row, RowKind::Delete));
            match (is_back, is_ahead) {
                (false, _) => { changes.push(comes); left.push(*row); }
                (true, false) => changes.extend([(*row, RowKind::UpdateAfter), (*row, RowKind::UpdateBefore)]),
                (true, true) => changes.extend([goes, comes]),
            }
        }
        let mut bed = Bed::new(|_| make(&wanted));
        let (mut rest, mut cuts) = (&changes[..], cuts.into_iter().cycle().enumerate());
        while !rest.is_empty() {
            let (number, count) = cuts.next().unwrap();
            let (first, others) = rest.split_at(count.min(rest.len()));
            rest = others;
            let (rows, kinds): (Vec<In>, Vec<RowKind>) = first.iter().copied().unzip();
            prop_assert!(bed.take(&rows, wanted.is_retracting.then_some(&kinds)).is_empty());
            prop_assert!(bed.advance(number as i64).is_empty());
            if number == reload_at {
                bed.reload(|_| make(&wanted));
            }
        }
        prop_assert_eq!(bed.advance(i64::MAX), expected(left, &wanted));
        prop_assert_eq!(bed.operator.state_bytes(), 0);
    }
}

/// No more rows are held than LIMIT and OFFSET ask for, if rows are only added.
#[test]
fn a_limit_bounds_the_state() {
    let order = vec![SortKey { place: V, is_descending: true, is_null_first: false }];
    let wanted = Wanted { order, skip: 1, fetch: 2, is_retracting: false };
    let mut bed = Bed::new(|_| make(&wanted));
    let row = |v: i32| In { id: v, k: Some("key"), v: Some(v), ts: 0 };
    bed.take(&[0, 1, 2].map(row), None);
    let bytes = bed.operator.state_bytes();
    for v in 3..5_000 {
        bed.take(&[row(v)], None);
        assert_eq!(bed.operator.state_bytes(), bytes);
    }
    assert_eq!(bed.advance(i64::MAX), ["+I 4998 key 4998 0", "+I 4997 key 4997 0"]);
}

/// The output is cut into batches, also within rows that are equal.
#[test]
fn the_output_is_cut_into_batches() {
    let wanted = Wanted { order: Vec::new(), skip: 3, fetch: u64::MAX, is_retracting: true };
    let mut bed = Bed::new(|_| make(&wanted));
    let rows = vec![In { id: 1, k: None, v: None, ts: 5 }; 3 * BATCH_ROWS_MAX + 5];
    bed.take(&rows, None);
    let found = bed.advance(i64::MAX);
    assert_eq!((found.len(), found[0].as_str()), (3 * BATCH_ROWS_MAX + 2, "+I 1 NULL NULL 5"));
}
