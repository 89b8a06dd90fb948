//! Tests that compare top-N and deduplication with an oracle, which ranks all rows anew after each row. The
//! changes put out, applied to the earlier output, must give the oracle's result, and retract only present
//! rows.

use proptest::prelude::*;
use thalweg_sql_functions::types::SqlType;

use super::super::bed::{Bed, ID, In, K, TS, V, columns, text};
use super::*;

const TTL_MS: i64 = 100;

fn by(place: usize, is_descending: bool) -> SortKey {
    // NULL counts as the least value, so it comes first in ascending order.
    SortKey { place, is_descending, is_null_first: !is_descending }
}

fn top(wanted: Wanted) -> impl Fn(Now) -> Box<dyn BatchOperator> {
    move |now| {
        let mut columns_out = columns();
        if wanted.has_rank {
            columns_out.push(Column::plain("rank", SqlType::BigInt, false));
        }
        Box::new(TopN::new(wanted.clone(), now, &columns(), &columns_out, 7).unwrap())
    }
}

fn keep(keep: Keep) -> impl Fn(Now) -> Box<dyn BatchOperator> {
    move |now| Box::new(Deduplicate::new(keep, vec![K], TTL_MS, now, &columns(), &columns(), 7).unwrap())
}

fn row_text(row: &In) -> String {
    format!("{} {} {} {}", row.id, text(row.k), text(row.v), row.ts)
}

/// Applies an output change of a top-N to the rows that are present so far.
fn apply(there: &mut Vec<String>, change: &str) {
    let (kind, row) = change.split_once(' ').unwrap();
    match kind {
        "+I" | "+U" => there.push(row.to_owned()),
        _ => {
            let place = there.iter().position(|other| other == row);
            let place = place.unwrap_or_else(|| panic!("{change} takes back what is not there: {there:?}"));
            there.remove(place);
        }
    }
}

/// Oracle of top-N: returns the rows of each key with the requested ranks, given all rows in the order of
/// arrival.
fn ranked(rows: &[In], wanted: &Wanted) -> Vec<String> {
    let mut found = Vec::new();
    for row in rows {
        let is_before = |other: &In| {
            for key in &wanted.order {
                let of = |row: &In| match key.place {
                    ID => Some(i64::from(row.id)),
                    V => row.v.map(i64::from),
                    _ => Some(row.ts),
                };
                // NULL counts as the least value, because `None` is less than `Some` in Rust.
                let (left, right) =
                    if key.is_descending { (of(row), of(other)) } else { (of(other), of(row)) };
                if left != right {
                    return left < right;
                }
            }
            rows.iter().position(|known| known == other) < rows.iter().position(|known| known == row)
        };
        let before = rows
            .iter()
            .filter(|other| wanted.keys.is_empty() || other.k == row.k)
            .filter(|other| is_before(other))
            .count();
        let rank = before as u64 + 1;
        if (wanted.from..=wanted.to).contains(&rank) {
            found.push(if wanted.has_rank { format!("{} {rank}", row_text(row)) } else { row_text(row) });
        }
    }
    found.sort();
    found
}

fn changes(is_retracting: bool) -> impl Strategy<Value = Vec<(In, RowKind)>> {
    let step = (
        any::<bool>(),
        0usize..3,
        prop::option::weighted(0.8, -2i32..3),
        0i64..4,
        any::<prop::sample::Index>(),
    );
    prop::collection::vec(step, 1..40).prop_map(move |steps| {
        let mut there: Vec<In> = Vec::new();
        let mut made = Vec::new();
        for (id, (comes, k, v, ts, which)) in (0..).zip(steps) {
            if comes || there.is_empty() || !is_retracting {
                let row = In { id, k: [None, Some("a"), Some("日")][k], v, ts };
                there.push(row);
                made.push((row, RowKind::Insert));
            } else {
                made.push((there.remove(which.index(there.len())), RowKind::Delete));
            }
        }
        made
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn ranks_are_those_of_the_oracle(
        (is_retracting, changes) in any::<bool>().prop_flat_map(|is| (Just(is), changes(is))),
        (from, more) in (1u64..4, 0u64..3),
        order in 0usize..4,
        (has_rank, is_global) in (any::<bool>(), any::<bool>()),
        cut in 2usize..20,
        reload in 0usize..40,
    ) {
        let order = [vec![by(V, false)], vec![by(V, true)], vec![by(V, true), by(TS, false)], vec![by(TS, true), by(ID, true)]][order].clone();
        let keys = if is_global { vec![] } else { vec![K] };
        let wanted = Wanted { keys, order, from, to: from + more, has_rank, is_retracting, ttl_ms: TTL_MS };
        let make = top(wanted.clone());
        let mut bed = Bed::new(&make);
        let (mut rows, mut there, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for (place, (row, kind)) in changes.iter().enumerate() {
            match kind {
                RowKind::Insert => rows.push(*row),
                _ => rows.retain(|other| other != row),
            }
            let made = bed.take(&[*row], Some(&[*kind]));
            made.iter().for_each(|change| apply(&mut there, change));
            let mut sorted = there.clone();
            sorted.sort();
            prop_assert_eq!(sorted, ranked(&rows, &wanted), "{:?} after {:?} {}", wanted, row, kind);
            all.extend(made);
            if place == reload {
                bed.reload(&make);
            }
        }
        // The changes put out stay the same if the input comes in other batches.
        let mut bed = Bed::new(&make);
        let mut again = Vec::new();
        for part in changes.chunks(cut) {
            let (rows, kinds): (Vec<In>, Vec<RowKind>) = part.iter().copied().unzip();
            again.extend(bed.take(&rows, Some(&kinds)));
        }
        prop_assert_eq!(again, all);
    }

    /// Deduplication keeps the rows of the oracle after each step, with the watermark at which first rows
    /// come out.
    #[test]
    fn kept_rows_are_those_of_the_oracle(
        changes in changes(false),
        which in 0usize..4,
        marks in prop::collection::vec(0i64..6, 40),
        reload in 0usize..40,
    ) {
        let which = [Keep::First, Keep::Last, Keep::FirstBy(TS), Keep::LastBy(TS)][which];
        let make = keep(which);
        let mut bed = Bed::new(&make);
        let mut watermark = i64::MIN;
        let (mut rows, mut there): (Vec<In>, Vec<String>) = (Vec::new(), Vec::new());
        let mut emitted: Vec<In> = Vec::new();
        for (place, ((row, _), mark)) in changes.iter().zip(&marks).enumerate() {
            let is_late = row.ts.saturating_add(1) < watermark;
            if !matches!(which, Keep::FirstBy(_)) || !is_late {
                rows.push(*row);
            }
            bed.take(&[*row], None).iter().for_each(|change| apply(&mut there, change));
            if place % 3 == 0 {
                watermark = watermark.max(*mark);
                bed.advance(watermark).iter().for_each(|change| apply(&mut there, change));
            }
            if place == reload {
                bed.reload(&make);
            }
            let mut expected: Vec<In> = Vec::new();
            for row in &rows {
                let own: Vec<&In> = rows.iter().filter(|other| other.k == row.k).collect();
                let kept = match which {
                    Keep::First => own.first().copied(),
                    Keep::Last => own.last().copied(),
                    Keep::FirstBy(_) => {
                        // A first row that came out stays the first; otherwise it is the first of the present
                        // rows that the watermark has passed.
                        let known = emitted.iter().find(|other| other.k == row.k);
                        known.or_else(|| own.iter().copied().min_by_key(|other| other.ts).filter(|other| other.ts < watermark))
                    }
                    Keep::LastBy(_) => own.iter().copied().max_by_key(|other| other.ts),
                };
                expected.extend(kept.filter(|kept| !expected.contains(kept)).copied().into_iter().collect::<Vec<_>>());
            }
            // A row behind the watermark comes out only with the next watermark.
            if matches!(which, Keep::FirstBy(_)) && place % 3 != 0 {
                expected.retain(|row| emitted.contains(row));
            }
            emitted.clone_from(&expected);
            let mut expected: Vec<String> = expected.iter().map(row_text).collect();
            expected.sort();
            let mut sorted = there.clone();
            sorted.sort();
            prop_assert_eq!(sorted, expected, "{:?} after {:?}, {}", which, row, watermark);
        }
    }
}

fn rows(rows: &[(i32, Option<i32>)]) -> Vec<In> {
    rows.iter().map(|(id, v)| In { id: *id, k: Some("a"), v: *v, ts: 0 }).collect()
}

/// Top-N puts out the changes of Flink's documentation, "Top-N". With ranks in the output each rank with
/// another row is a change; otherwise only rows that come and go are changes.
#[test]
fn changes_are_flinks() {
    let check = |from, to, has_rank, expected: &[&str]| {
        let order = vec![by(V, true)];
        let wanted =
            Wanted { keys: vec![K], order, from, to, has_rank, is_retracting: false, ttl_ms: TTL_MS };
        let mut bed = Bed::new(top(wanted));
        let shown =
            bed.take(&rows(&[(1, Some(10)), (2, Some(30)), (4, Some(20)), (5, Some(20)), (6, None)]), None);
        let shown: Vec<String> =
            shown.iter().map(|row| row.replace(" a ", " ").replace(" 0", "0").replace("00", "0")).collect();
        assert_eq!(shown, expected, "{from}..{to} {has_rank}");
    };
    check(1, 1, false, &["+I 1 10", "-U 1 10", "+U 2 30"]);
    check(1, 2, false, &["+I 1 10", "+I 2 30", "-D 1 10", "+I 4 20"]);
    check(1, 2, true, &["+I 1 10 1", "-U 1 10 1", "+U 2 30 1", "+I 1 10 2", "-U 1 10 2", "+U 4 20 2"]);
    check(2, 2, false, &["+I 1 10", "-U 1 10", "+U 4 20"]);
}

/// A top-N in the order of arrival ignores the values of the rows.
#[test]
fn the_order_of_arrival_is_an_order() {
    let mut input = columns();
    input[TS].role = crate::plan::Role::Proctime;
    let check = |is_descending, expected: &[&str]| {
        let order = vec![by(TS, is_descending), by(V, false)];
        let wanted = Wanted {
            keys: vec![K],
            order,
            from: 1,
            to: 2,
            has_rank: false,
            is_retracting: false,
            ttl_ms: TTL_MS,
        };
        let made = |now: Now| -> Box<dyn BatchOperator> {
            Box::new(TopN::new(wanted.clone(), now, &input, &input, 7).unwrap())
        };
        let shown = Bed::new(made).take(&rows(&[(1, Some(3)), (2, Some(1)), (3, Some(2))]), None);
        assert_eq!(shown, expected);
    };
    check(false, &["+I 1 a 3 0", "+I 2 a 1 0"]);
    check(true, &["+I 1 a 3 0", "+I 2 a 1 0", "-D 1 a 3 0", "+I 3 a 2 0"]);
}

/// Top-N forgets expired keys, and does not retract their rows when a better row comes.
#[test]
fn keys_expire() {
    let wanted = Wanted {
        keys: vec![K],
        order: vec![by(V, true)],
        from: 1,
        to: 1,
        has_rank: false,
        is_retracting: false,
        ttl_ms: TTL_MS,
    };
    let mut bed = Bed::new(top(wanted));
    assert_eq!(bed.take(&rows(&[(1, Some(5))]), None), ["+I 1 a 5 0"]);
    bed.set_clock(99);
    assert_eq!(bed.take(&rows(&[(2, Some(6))]), None), ["-U 1 a 5 0", "+U 2 a 6 0"]);
    bed.set_clock(199);
    assert_eq!(bed.take(&rows(&[(3, Some(1))]), None), ["+I 3 a 1 0"]);

    let mut bed = Bed::new(keep(Keep::First));
    assert_eq!(bed.take(&rows(&[(1, None), (2, None)]), None), ["+I 1 a NULL 0"]);
    bed.set_clock(100);
    assert_eq!(bed.take(&rows(&[(3, None)]), None), ["+I 3 a NULL 0"]);

    // A first row that waits for the watermark does not expire. After it came out, its key is kept for a time
    // to live.
    let mut bed = Bed::new(keep(Keep::FirstBy(TS)));
    bed.take(&rows(&[(1, None)]), None);
    bed.set_clock(1_000);
    bed.take(&rows(&[(2, None)]), None);
    assert_eq!(bed.advance(1), ["+I 1 a NULL 0"]);
    bed.set_clock(1_099);
    bed.take(&rows(&[(3, None)]), None);
    assert_eq!(bed.advance(1), Vec::<String>::new());
    bed.set_clock(1_100);
    bed.take(&rows(&[(4, None)]), None);
    assert_eq!(bed.advance(2), ["+I 4 a NULL 0"]);
}

/// A row that changes the ranks of thousands of other rows puts out batches of bounded size.
#[test]
fn pieces_are_small() {
    let wanted = Wanted {
        keys: vec![K],
        order: vec![by(V, true)],
        from: 1,
        to: 3_000,
        has_rank: true,
        is_retracting: false,
        ttl_ms: TTL_MS,
    };
    let mut bed = Bed::new(top(wanted));
    let first: Vec<(i32, Option<i32>)> = (0..3_000).map(|id| (id, Some(-id))).collect();
    assert_eq!(bed.take(&rows(&first), None).len(), 3_000);
    let better: Vec<(i32, Option<i32>)> = (0..10).map(|id| (9_000 + id, Some(1_000 + id))).collect();
    assert_eq!(bed.take(&rows(&better), None).len(), 60_000);
}
