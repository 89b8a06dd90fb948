//! Tests that compare the regular join with nested loops over all present rows, after each batch of changes;
//! and tests of the expiry of rows.

use thalweg_model::ProcessingTime;

use super::*;

const TTL_MS: i64 = 100;

fn make(kind: JoinKind, on: On, context: &Context) -> Box<dyn JoinOperator> {
    joined(kind, on, JoinMethod::Regular { ttl_ms: [Some(TTL_MS); 2] }, context)
}

/// Generates changes of both inputs: rows that are added, and retractions of present rows.
fn changes() -> impl Strategy<Value = Vec<(Side, Option<usize>, Row)>> {
    let row = (0..3i64, proptest::option::weighted(0.8, 0..3), proptest::option::weighted(0.9, 0..4));
    let row = row.prop_map(|(id, key, value)| Row { id, key, value, time: 0 });
    proptest::collection::vec((sides(), proptest::option::weighted(0.4, 0..100usize), row), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn changes_are_those_of_nested_loops(changes in changes(), kind in kinds(), on in ons(), manner in manner()) {
        let context = context();
        let mut operator = make(kind, on, &context);
        let mut there: [Vec<Row>; 2] = [Vec::new(), Vec::new()];
        let mut result: BTreeMap<Pair, i64> = BTreeMap::new();
        let mut at = 0;
        let mut calls = 0;
        while at < changes.len() {
            let side = changes[at].0;
            let (mut rows, mut kinds) = (Vec::new(), Vec::new());
            while let Some((of, goes, row)) = changes.get(at)
                && *of == side
                && rows.len() < manner.batch_rows
            {
                at += 1;
                let own = &mut there[side.index()];
                match goes {
                    Some(place) if !own.is_empty() => {
                        rows.push(own.swap_remove(place % own.len()));
                        kinds.push(if place % 2 == 0 { RowKind::Delete } else { RowKind::UpdateBefore });
                    }
                    _ => {
                        own.push(*row);
                        rows.push(*row);
                        kinds.push(if row.id == 0 { RowKind::UpdateAfter } else { RowKind::Insert });
                    }
                }
            }
            let batch = Batch { kinds: Some(kinds.into()), ..Batch::new(rows_of(&rows)) };
            operator.take(side, batch, EventTime::MIN).unwrap();
            apply(&mut result, &drained(&mut *operator));
            let expected = nested_loops(kind, &there[0], &there[1], &|left, right| on.holds(left, right));
            prop_assert_eq!(expanded(&result), expected);
            calls += 1;
            if calls % manner.restore_every == 0 {
                let mut state = StateWriter::default();
                operator.save(&mut state).unwrap();
                let bytes = state.into_bytes();
                operator = make(kind, on, &context);
                let mut state = StateReader::new(&bytes);
                operator.load(&mut state).unwrap();
                state.finish().unwrap();
            }
        }
        if manner.restore_every == usize::MAX {
            prop_assert!(operator.accounts().counts.is_conserved());
        }
    }
}

fn row(id: i64) -> Row {
    Row { id, key: Some(1), value: None, time: 0 }
}

/// Formats output changes of a join as text, such as `+I 1,2`, with `_` for a side padded with NULL.
fn shown(changes: &[(RowKind, Pair)]) -> String {
    let id = |row: &Option<Row>| row.map_or("_".to_owned(), |row| row.id.to_string());
    let change = |(kind, (left, right)): &(RowKind, Pair)| format!("{kind} {},{}", id(left), id(right));
    changes.iter().map(change).collect::<Vec<_>>().join(" ")
}

/// A regular join puts out the changes that Flink puts out for each single change. `<+I1` is a change of the
/// left input, `>-D2` one of the right. Expected values follow `StreamingJoinOperator` and
/// `StreamingSemiAntiJoinOperator`.
#[test]
fn changes_are_those_of_flink() {
    let check = |kind: JoinKind, script: &str, expected: &str| {
        let mut operator = make(kind, On::Key, &context());
        let mut all = Vec::new();
        for word in script.split(' ') {
            let side = if word.starts_with('<') { Side::Left } else { Side::Right };
            let change = match &word[1..3] {
                "+I" => RowKind::Insert,
                "-U" => RowKind::UpdateBefore,
                "+U" => RowKind::UpdateAfter,
                _ => RowKind::Delete,
            };
            let rows = rows_of(&[row(word[3..].parse().unwrap())]);
            let batch = Batch { kinds: Some([change].into()), ..Batch::new(rows) };
            operator.take(side, batch, EventTime::MIN).unwrap();
            all.extend(drained(&mut *operator));
        }
        assert_eq!(shown(&all), expected, "{kind:?} {script}");
    };
    let script = "<+I1 >+I8 >+U9 <+I2 >-D8 >-U9";
    check(JoinKind::Inner, script, "+I 1,8 +U 1,9 +I 2,8 +I 2,9 -D 1,8 -D 2,8 -U 1,9 -U 2,9");
    check(
        JoinKind::Left,
        script,
        "+I 1,_ -D 1,_ +I 1,8 +I 1,9 +I 2,8 +I 2,9 -D 1,8 -D 2,8 -U 1,9 +I 1,_ -U 2,9 +I 2,_",
    );
    check(JoinKind::Right, script, "+I 1,8 +I 1,9 +I 2,8 +I 2,9 -D 1,8 -D 2,8 -D 1,9 -D 2,9");
    check(
        JoinKind::Full,
        script,
        "+I 1,_ -D 1,_ +I 1,8 +I 1,9 +I 2,8 +I 2,9 -D 1,8 -D 2,8 -D 1,9 +I 1,_ -D 2,9 +I 2,_",
    );
    check(JoinKind::Semi, script, "+I 1,_ +I 2,_ -U 1,_ -U 2,_");
    check(JoinKind::Anti, script, "+I 1,_ -D 1,_ +I 1,_ +I 2,_");
    check(JoinKind::Full, ">+I8 <+I1 <-D1", "+I _,8 -D _,8 +I 1,8 -D 1,8 +I _,8");
    check(JoinKind::Anti, "<+U1 <-U1 <-D7", "+U 1,_ -U 1,_ -D 7,_");
}

/// A regular join forgets a row that was not written for the time to live, as if it had never come; nothing
/// is retracted.
#[test]
fn rows_are_forgotten() {
    let clock = Arc::new(VirtualClock::default());
    let context = Context { zone: Tz::UTC, clock: clock.clone() };
    let mut operator = make(JoinKind::Left, On::Key, &context);
    let mut at = |millis: u64, side: Side, id: i64| {
        clock.advance_to(ProcessingTime::from_nanos(millis * 1_000_000));
        operator.take(side, Batch::new(rows_of(&[row(id)])), EventTime::MIN).unwrap();
        (shown(&drained(&mut *operator)), operator.accounts().bytes())
    };
    let (first, one_row) = at(0, Side::Left, 1);
    assert_eq!(first, "+I 1,_");
    // The match counts as a write of row 1, whose number of matches changes, but not of row 8.
    assert_eq!(at(60, Side::Right, 8).0, "-D 1,_ +I 1,8");
    assert_eq!(at(110, Side::Left, 2).0, "+I 2,8");
    assert_eq!(at(159, Side::Right, 9).0, "+I 1,9 +I 2,9");
    assert_eq!(at(160, Side::Left, 3).0, "+I 3,9");
    // With a time to live of 100, rows that were last written at 159 or before are forgotten at 259.
    assert_eq!(at(259, Side::Left, 4).0, "+I 4,_");
    assert_eq!(at(259, Side::Right, 7).0, "+I 3,7 -D 4,_ +I 4,7");
    let (last, bytes) = at(1_000, Side::Left, 5);
    assert_eq!(last, "+I 5,_");
    // State bytes do not fall back to those of one row, because tables and lists keep their capacity.
    assert!(bytes < 2 * one_row, "{bytes} bytes, and {one_row} at first");
}

/// Each input has a time to live of its own, and `None` keeps rows for ever.
#[test]
fn rows_are_forgotten_by_input() {
    let clock = Arc::new(VirtualClock::default());
    let context = Context { zone: Tz::UTC, clock: clock.clone() };
    let mut operator =
        joined(JoinKind::Inner, On::Key, JoinMethod::Regular { ttl_ms: [Some(TTL_MS), None] }, &context);
    let mut at = |millis: u64, side: Side, id: i64| {
        clock.advance_to(ProcessingTime::from_nanos(millis * 1_000_000));
        operator.take(side, Batch::new(rows_of(&[row(id)])), EventTime::MIN).unwrap();
        shown(&drained(&mut *operator))
    };
    assert_eq!(at(0, Side::Left, 1), "");
    assert_eq!(at(0, Side::Right, 8), "+I 1,8");
    assert_eq!(at(99, Side::Right, 9), "+I 1,9");
    assert_eq!(at(100, Side::Right, 7), "");
    assert_eq!(at(9_999, Side::Left, 2), "+I 2,8 +I 2,9 +I 2,7");
}

/// Output of a regular join of many rows of one key comes in several batches.
#[test]
fn explosions_come_in_pieces() {
    let mut operator = make(JoinKind::Full, On::Key, &context());
    let rows: Vec<Row> = (0..200).map(row).collect();
    operator.take(Side::Left, Batch::new(rows_of(&rows)), EventTime::MIN).unwrap();
    assert_eq!(drained(&mut *operator).len(), 200);
    operator.take(Side::Right, Batch::new(rows_of(&rows)), EventTime::MIN).unwrap();
    assert_eq!(drained(&mut *operator).len(), 200 + 200 * 200);
}
