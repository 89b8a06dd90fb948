//! Tests that compare GROUP BY with an oracle, which keeps all rows of each key and computes the changes of
//! each row.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::bed::{Bed, ID, In, K, V, call, columns, text, with_results};
use super::*;

const TTL_MS: i64 = 100;

fn group(
    keys: Vec<usize>,
    calls: Vec<AggregateCall>,
    is_retracting: bool,
    is_once_per_batch: bool,
) -> impl Fn(Now) -> Box<dyn BatchOperator> {
    move |now| {
        let columns_out = with_results(&keys, &calls);
        let group = GroupCalls {
            keys: keys.clone(),
            calls: calls.clone(),
            is_retracting,
            ttl_ms: TTL_MS,
            has_row_without_input: false,
            is_once_per_batch,
        };
        Box::new(Group::new(group, now, &columns(), &columns_out, 7).unwrap())
    }
}

fn all_calls() -> Vec<AggregateCall> {
    vec![
        call("COUNT", &[], false),
        call("SUM", &[V], false),
        call("MIN", &[V], false),
        call("FIRST_VALUE", &[ID], false),
        call("COUNT", &[V], true),
    ]
}

fn results(rows: &[In]) -> String {
    let values: Vec<i32> = rows.iter().filter_map(|row| row.v).collect();
    let distinct: BTreeSet<i32> = values.iter().copied().collect();
    let sum = (!values.is_empty()).then(|| values.iter().sum::<i32>());
    let first = rows.first().map(|row| row.id);
    format!("{} {} {} {} {}", rows.len(), text(sum), text(values.iter().min()), text(first), distinct.len())
}

/// Generates rows that are added and, if `is_retracting`, retractions of rows that are present.
fn changes(is_retracting: bool) -> impl Strategy<Value = Vec<(In, RowKind)>> {
    let step = (
        any::<bool>(),
        0usize..4,
        prop::option::weighted(0.8, -2i32..3),
        any::<prop::sample::Index>(),
        any::<bool>(),
    );
    prop::collection::vec(step, 1..60).prop_map(move |steps| {
        let mut there: Vec<In> = Vec::new();
        let mut made = Vec::new();
        for (id, (comes, k, v, which, is_update)) in (0..).zip(steps) {
            if comes || there.is_empty() || !is_retracting {
                let row = In { id, k: [None, Some("a"), Some(""), Some("日")][k], v, ts: 0 };
                there.push(row);
                made.push((
                    row,
                    if is_update && is_retracting { RowKind::UpdateAfter } else { RowKind::Insert },
                ));
            } else {
                let row = there.remove(which.index(there.len()));
                made.push((row, if is_update { RowKind::UpdateBefore } else { RowKind::Delete }));
            }
        }
        made
    })
}

fn run(bed: &mut Bed, changes: &[(In, RowKind)], cut: usize) -> Vec<String> {
    let mut shown = Vec::new();
    for part in changes.chunks(cut) {
        let (rows, kinds): (Vec<In>, Vec<RowKind>) = part.iter().copied().unzip();
        shown.extend(bed.take(&rows, Some(&kinds)));
    }
    shown
}

/// Applies changes to the rows that are there. Each row that goes must be there, and each that comes must not.
fn apply(there: &mut BTreeSet<String>, changes: &[String]) {
    for change in changes {
        let (kind, row) = change.split_at(2);
        let is_right = if kind.starts_with('+') { there.insert(row.to_owned()) } else { there.remove(row) };
        assert!(is_right, "{change} of {there:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    /// With one change for each key and batch, the rows that stay are the same, each change takes back the row that is there,
    /// and a key has at most one change in a batch.
    #[test]
    fn one_change_for_each_batch_leaves_the_same_rows(
        (is_retracting, changes) in any::<bool>().prop_flat_map(|is| (Just(is), changes(is))),
        is_global in any::<bool>(),
        cut in 1usize..30,
        reload in any::<bool>(),
    ) {
        let keys = || if is_global { vec![] } else { vec![K] };
        let mut each = Bed::new(group(keys(), all_calls(), is_retracting, false));
        let make = group(keys(), all_calls(), is_retracting, true);
        let mut once = Bed::new(&make);
        let mut expected = BTreeSet::new();
        apply(&mut expected, &run(&mut each, &changes, cut));
        let mut found = BTreeSet::new();
        for (number, part) in changes.chunks(cut).enumerate() {
            if reload && number == 1 {
                once.reload(&make);
            }
            let shown = run(&mut once, part, cut);
            // A key whose rows all go and that comes again within a batch has a change before and one after.
            let touched: BTreeSet<Option<&str>> = part.iter().map(|(row, _)| row.k.filter(|_| !is_global)).collect();
            let comes = shown.iter().filter(|change| change.starts_with('+')).count();
            let goes = shown.iter().filter(|change| change.starts_with('-')).count();
            if !is_retracting {
                prop_assert!(comes <= touched.len() && goes <= touched.len(), "{shown:?}");
            }
            apply(&mut found, &shown);
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn changes_are_those_of_the_oracle(
        (is_retracting, changes) in any::<bool>().prop_flat_map(|is| (Just(is), changes(is))),
        is_global in any::<bool>(),
        cut in 1usize..30,
        reload in any::<bool>(),
    ) {
        let make = group(if is_global { vec![] } else { vec![K] }, all_calls(), is_retracting, false);
        let mut bed = Bed::new(&make);
        let mut there: Vec<In> = Vec::new();
        let mut expected = Vec::new();
        for (row, kind) in &changes {
            let own = |there: &[In]| -> Vec<In> {
                there.iter().copied().filter(|other| is_global || other.k == row.k).collect()
            };
            let before = own(&there);
            match kind {
                RowKind::Insert | RowKind::UpdateAfter => there.push(*row),
                _ => there.retain(|other| other.id != row.id),
            }
            let after = own(&there);
            let key = if is_global { String::new() } else { format!("{} ", text(row.k)) };
            let kinds = match (before.is_empty(), after.is_empty()) {
                (true, _) => ["", "+I"],
                (false, true) => ["-D", ""],
                (false, false) => ["-U", "+U"],
            };
            for (kind, rows) in kinds.iter().zip([&before, &after]) {
                if !kind.is_empty() {
                    expected.push(format!("{kind} {key}{}", results(rows)));
                }
            }
        }
        let middle = if reload { changes.len() / 2 } else { changes.len() };
        let mut shown = run(&mut bed, &changes[..middle], cut);
        if reload {
            bed.reload(&make);
            shown.extend(run(&mut bed, &changes[middle..], cut));
        }
        prop_assert_eq!(shown, expected);
    }

    /// GROUP BY forgets a key when nothing was written for its time to live, and ignores later retractions of
    /// its rows.
    #[test]
    fn keys_expire(changes in changes(true), waits in prop::collection::vec(0u64..70, 60), cut in 1usize..5) {
        let mut bed = Bed::new(group(vec![K], vec![call("COUNT", &[], false), call("COUNT", &[V], false)], true, false));
        let mut now_ms = 0;
        let mut keys: Vec<(Option<&str>, u64, i64, i64)> = Vec::new();
        for (part, wait) in changes.chunks(cut).zip(waits) {
            now_ms += wait;
            bed.set_clock(now_ms);
            let mut expected = Vec::new();
            for (row, kind) in part {
                let sign = if kind.adds() { 1 } else { -1 };
                keys.retain(|key| key.1 + TTL_MS as u64 > now_ms);
                let k = text(row.k);
                let valued = i64::from(row.v.is_some()) * sign;
                match keys.iter_mut().find(|key| key.0 == row.k) {
                    None if sign < 0 => {}
                    None => {
                        keys.push((row.k, now_ms, 1, valued));
                        expected.push(format!("+I {k} 1 {valued}"));
                    }
                    Some(key) => {
                        let (rows, values) = (key.2, key.3);
                        *key = (key.0, now_ms, rows + sign, values + valued);
                        if rows + sign == 0 {
                            expected.push(format!("-D {k} {rows} {values}"));
                            keys.retain(|key| key.2 != 0);
                        } else {
                            expected.push(format!("-U {k} {rows} {values}"));
                            expected.push(format!("+U {k} {} {}", rows + sign, values + valued));
                        }
                    }
                }
            }
            let (rows, kinds): (Vec<In>, Vec<RowKind>) = part.iter().copied().unzip();
            prop_assert_eq!(bed.take(&rows, Some(&kinds)), expected);
        }
    }
}

/// SELECT DISTINCT is a GROUP BY without aggregates; each repetition of a row emits an update.
#[test]
fn distinct_rows() {
    let row = |id, k| In { id, k, v: None, ts: 0 };
    let mut bed = Bed::new(group(vec![K], vec![], false, false));
    let shown = bed.take(&[row(1, Some("a")), row(2, None), row(3, Some("a"))], None);
    assert_eq!(shown, ["+I a", "+I NULL", "-U a", "+U a"]);
    assert_eq!(bed.take(&[], None), Vec::<String>::new());
}

/// A batch without rows does not change the measured size of results. Such batches fill an edge behind a
/// large batch.
#[test]
fn a_batch_without_rows_leaves_the_bytes_of_a_row() {
    let rows: Vec<In> = (0..40).map(|id| In { id, k: Some("a"), v: Some(1), ts: 0 }).collect();
    let mut bed = Bed::new(group(vec![K], all_calls(), false, false));
    let mut row_bytes = |rows: &[In]| {
        bed.take(rows, None);
        let operator: &mut dyn std::any::Any = &mut *bed.operator;
        operator.downcast_mut::<Group>().unwrap().row_bytes
    };
    let known = row_bytes(&rows);
    assert!(known > 0);
    assert_eq!(row_bytes(&[]), known);
}

/// Without a time to live, an update that changes no result is left out, within a batch and between batches.
#[test]
fn what_changes_nothing_is_left_out_without_a_time_to_live() {
    let group = |calls: Vec<AggregateCall>| {
        move |now| -> Box<dyn BatchOperator> {
            let columns_out = with_results(&[K], &calls);
            let calls = calls.clone();
            let group = GroupCalls {
                keys: vec![K],
                calls,
                is_retracting: false,
                ttl_ms: i64::MAX,
                has_row_without_input: false,
                is_once_per_batch: false,
            };
            Box::new(Group::new(group, now, &columns(), &columns_out, 7).unwrap())
        }
    };
    let row = |k, v| In { id: 1, k, v, ts: 0 };
    let rows = [row(Some("a"), Some(5)), row(Some("a"), Some(3)), row(None, None), row(None, None)];
    let mut bed = Bed::new(group(vec![call("MAX", &[V], false)]));
    assert_eq!(bed.take(&rows, None), ["+I a 5", "+I NULL NULL"]);
    let rows = [row(Some("a"), Some(5)), row(Some("a"), Some(7)), row(None, None)];
    assert_eq!(bed.take(&rows, None), ["-U a 5", "+U a 7"]);
    // Without aggregates each key comes once.
    let mut bed = Bed::new(group(Vec::new()));
    assert_eq!(bed.take(&rows, None), ["+I a", "+I NULL"]);
    assert!(bed.take(&rows, None).is_empty());
}

/// GROUP BY of one key with many rows, and of many keys with one row, puts out batches of bounded size.
#[test]
fn pieces_are_small() {
    let rows: Vec<In> = (0..4_096).map(|id| In { id, k: Some("a"), v: Some(1), ts: 0 }).collect();
    let mut bed = Bed::new(group(vec![K], vec![call("SUM", &[V], false)], false, false));
    let shown = bed.take(&rows, None);
    assert_eq!((shown.len(), shown[8_190].as_str()), (8_191, "+U a 4096"));
    let mut bed = Bed::new(group(vec![ID], vec![call("SUM", &[V], false)], false, false));
    bed.take(&rows, None);
    assert_eq!(bed.take(&rows, None).len(), 8_192);
}

/// GROUP BY drops expired keys and their accumulators even if the keys never come again.
#[test]
fn state_is_dropped() {
    let mut bed = Bed::new(group(vec![ID], all_calls(), true, false));
    let mut most = 0;
    for part in 0..400 {
        bed.set_clock(part * 10);
        let rows: Vec<In> =
            (0..50).map(|id| In { id: part as i32 * 50 + id, k: None, v: Some(id), ts: 0 }).collect();
        bed.take(&rows, None);
        if part == 60 {
            most = bed.operator.state_bytes();
        }
    }
    let bytes = bed.operator.state_bytes();
    assert!(bytes < 2 * most, "{bytes} bytes are held, and {most} were");
}

/// In batch mode, an aggregate without keys over no rows has a row at the end, also if all of its rows were taken back.
#[test]
fn an_aggregate_of_no_rows_has_a_result_in_batch_mode() {
    let group = |keys: Vec<usize>| {
        move |now| -> Box<dyn BatchOperator> {
            let calls = vec![call("COUNT", &[], false), call("SUM", &[V], false)];
            let columns_out = with_results(&keys, &calls);
            let keys = keys.clone();
            let group = GroupCalls {
                keys,
                calls,
                is_retracting: true,
                ttl_ms: i64::MAX,
                has_row_without_input: true,
                is_once_per_batch: false,
            };
            Box::new(Group::new(group, now, &columns(), &columns_out, 7).unwrap())
        }
    };
    let row = In { id: 1, k: None, v: Some(5), ts: 0 };
    let mut bed = Bed::new(group(Vec::new()));
    assert!(bed.advance(7).is_empty());
    assert_eq!(bed.advance(i64::MAX), ["+I 0 NULL"]);
    let mut bed = Bed::new(group(Vec::new()));
    assert_eq!(bed.take(&[row], None), ["+I 1 5"]);
    assert!(bed.advance(i64::MAX).is_empty());
    let mut bed = Bed::new(group(Vec::new()));
    let kinds = [RowKind::Insert, RowKind::Delete];
    assert_eq!(bed.take(&[row, row], Some(&kinds)), ["+I 1 5", "-D 1 5"]);
    bed.reload(group(Vec::new()));
    assert_eq!(bed.advance(i64::MAX), ["+I 0 NULL"]);
    let mut bed = Bed::new(group(vec![K]));
    assert!(bed.advance(i64::MAX).is_empty(), "there is no key");
}

/// Results of a few rows that are left of a large batch count with their own bytes, and not with those of the columns whose
/// slices they are. Else the next batch would be refused for want of memory.
#[test]
fn a_rest_of_a_batch_counts_for_its_own_bytes() {
    let calls = vec![call("COUNT", &[], false)];
    let columns_out = with_results(&[K], &calls);
    let group = GroupCalls {
        keys: vec![K],
        calls,
        is_retracting: false,
        ttl_ms: i64::MAX,
        has_row_without_input: false,
        is_once_per_batch: false,
    };
    let mut group = Group::new(
        group,
        Now::new(Arc::new(thalweg_model::VirtualClock::default())),
        &columns(),
        &columns_out,
        7,
    )
    .unwrap();
    let rows = vec![In { id: 1, k: Some("a"), v: None, ts: 0 }; BATCH_ROWS_MAX + 1];
    let whole = super::super::bed::batch(&rows, None);
    let (first, rest) = whole.split(BATCH_ROWS_MAX);
    for part in [first, rest] {
        group.take(part, EventTime::MIN).unwrap();
        while group.next().unwrap().is_some() {}
    }
    assert!(group.row_bytes < 200, "{} bytes for a row", group.row_bytes);
}
