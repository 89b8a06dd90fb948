//! Tests that compare the kept rows with an oracle, a map from keys to rows.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::super::bed::{Bed, In, K, columns, text};
use super::*;

const KINDS: [RowKind; 4] = [RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::Delete];

fn row_text(row: &In) -> String {
    format!("{} {} {} {}", row.id, text(row.k), text(row.v), row.ts)
}

/// Applies an output change to the rows that are present so far.
fn apply(present: &mut Vec<String>, change: &str) {
    let (kind, row) = change.split_once(' ').unwrap();
    if matches!(kind, "+I" | "+U") {
        present.push(row.to_owned());
    } else {
        let place = present.iter().position(|other| other == row);
        let place = place.unwrap_or_else(|| panic!("{change} takes back what is not there: {present:?}"));
        present.remove(place);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_last_row_of_each_key_is_left(
        steps in prop::collection::vec((0usize..3, 0i32..3, 0usize..4), 1..40),
        cut in 1usize..20,
        reload in 0usize..40,
        is_for_ever in any::<bool>(),
    ) {
        let ttl_ms = if is_for_ever { i64::MAX } else { 100 };
        let make = |now: Now| -> Box<dyn BatchOperator> {
            Box::new(Normalize::new(vec![K], ttl_ms, now, &columns(), &columns(), 7).unwrap())
        };
        let changes: Vec<(In, RowKind)> = steps
            .iter()
            .map(|(k, v, kind)| (In { id: 0, k: [None, Some("a"), Some("日")][*k], v: Some(*v), ts: 0 }, KINDS[*kind]))
            .collect();
        let mut bed = Bed::new(make);
        let (mut kept, mut present, mut all) = (BTreeMap::new(), Vec::new(), Vec::new());
        for (place, (row, kind)) in changes.iter().enumerate() {
            let before = kept.clone();
            match kind {
                RowKind::UpdateBefore => {}
                RowKind::Delete => drop(kept.remove(&row.k)),
                RowKind::Insert | RowKind::UpdateAfter => drop(kept.insert(row.k, row_text(row))),
            }
            let made = bed.take(&[*row], Some(&[*kind]));
            prop_assert!(!is_for_ever || made.is_empty() == (before == kept), "{:?}", made);
            made.iter().for_each(|change| apply(&mut present, change));
            present.sort();
            let mut expected: Vec<String> = kept.values().cloned().collect();
            expected.sort();
            prop_assert_eq!(&present, &expected, "after {:?} {}", row, kind);
            all.extend(made);
            if place == reload {
                bed.reload(make);
            }
        }
        // The changes put out stay the same if the input comes in other batches.
        let mut bed = Bed::new(make);
        let mut again = Vec::new();
        for part in changes.chunks(cut) {
            let (rows, kinds): (Vec<In>, Vec<RowKind>) = part.iter().copied().unzip();
            again.extend(bed.take(&rows, Some(&kinds)));
        }
        prop_assert_eq!(again, all);
    }
}

/// A key that has expired has a first row again.
#[test]
fn an_expired_key_begins_anew() {
    let row = |v| In { id: 0, k: Some("a"), v: Some(v), ts: 0 };
    let mut bed =
        Bed::new(|now| Box::new(Normalize::new(vec![K], 100, now, &columns(), &columns(), 7).unwrap()));
    assert_eq!(bed.take(&[row(1)], None), ["+I 0 a 1 0"]);
    bed.set_clock(50);
    assert_eq!(bed.take(&[row(1)], None), ["-U 0 a 1 0", "+U 0 a 1 0"]);
    bed.set_clock(149);
    assert_eq!(bed.take(&[row(2)], None), ["-U 0 a 1 0", "+U 0 a 2 0"]);
    bed.set_clock(249);
    assert_eq!(bed.take(&[row(2)], Some(&[RowKind::Delete])), [""; 0]);
    assert_eq!(bed.take(&[row(2)], None), ["+I 0 a 2 0"]);
}
