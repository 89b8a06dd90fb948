//! The temporal join against a list of all versions that is looked through for each row.

use super::*;

fn make(kind: JoinKind, on: On, forgets_late: bool) -> Box<dyn JoinOperator> {
    joined(kind, on, JoinMethod::Temporal { left_time: TIME, right_time: TIME, forgets_late }, &context())
}

fn expected(kind: JoinKind, on: On, forgets_late: bool, script: &[Event]) -> Vec<Pair> {
    let mut versions: Vec<(RowKind, Row)> = Vec::new();
    let mut waiting: Vec<Row> = Vec::new();
    let mut out = Vec::new();
    let mut own = [i64::MIN; 2];
    let end = Side::BOTH.map(|side| Event::Watermark(side, i64::MAX));
    for event in script.iter().chain(&end) {
        match event {
            Event::Row(Side::Left, _, row) if row.time >= own[0] => waiting.push(*row),
            Event::Row(Side::Left, ..) => {}
            Event::Row(Side::Right, kind, row) => {
                let is_late = versions.iter().any(|(_, known)| known.key == row.key && known.time > row.time);
                if *kind != RowKind::UpdateBefore && !(forgets_late && is_late) {
                    versions.push((*kind, *row));
                }
            }
            Event::Watermark(side, time) => {
                own[side.index()] = own[side.index()].max(*time);
                let both = own[0].min(own[1]);
                for row in waiting.extract_if(.., |row| row.time < both || both == i64::MAX) {
                    let of_key = versions
                        .iter()
                        .filter(|(_, version)| version.key.is_some() && version.key == row.key);
                    // Of equal times the last that came.
                    let valid = of_key
                        .filter(|(_, version)| version.time <= row.time)
                        .max_by_key(|(_, version)| version.time);
                    let met =
                        valid.filter(|(kind, version)| *kind != RowKind::Delete && on.holds(&row, version));
                    match met {
                        Some((_, version)) => out.push((Some(row), Some(*version))),
                        None if kind == JoinKind::Left => out.push((Some(row), None)),
                        None => {}
                    }
                }
            }
        }
    }
    out.sort();
    out
}

/// The same scripts, where some rows of the right end versions.
fn changing() -> impl Strategy<Value = Vec<Event>> {
    (scripts(), proptest::collection::vec(0..8u8, 50)).prop_map(|(mut script, draws)| {
        for (event, draw) in script.iter_mut().zip(draws) {
            if let Event::Row(Side::Right, kind, _) = event {
                *kind = match draw {
                    0 => RowKind::Delete,
                    1 => RowKind::UpdateBefore,
                    2 => RowKind::UpdateAfter,
                    _ => RowKind::Insert,
                };
            }
        }
        script
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn versions_are_found_as_in_a_list(
        script in changing(),
        kind in prop_oneof![Just(JoinKind::Inner), Just(JoinKind::Left)],
        on in prop_oneof![Just(On::Key), Just(On::KeyAndLess)],
        manner in manner(),
    ) {
        let out = run(&|| make(kind, on, false), &script, manner, &mut |_, _| {});
        prop_assert_eq!(pairs(&out), expected(kind, on, false, &script));
    }

    #[test]
    fn versions_that_come_late_are_forgotten(script in scripts(), manner in manner()) {
        let out = run(&|| make(JoinKind::Left, On::Key, true), &script, manner, &mut |_, _| {});
        prop_assert_eq!(pairs(&out), expected(JoinKind::Left, On::Key, true, &script));
    }
}

/// Versions that nobody can ask for any more are forgotten.
#[test]
fn old_versions_are_forgotten() {
    let mut operator = make(JoinKind::Inner, On::Key, false);
    let row = |time: i64| Row { id: time, key: Some(1), value: None, time };
    let rows: Vec<Row> = (0..1_000).map(row).collect();
    operator.take(Side::Right, Batch::new(rows_of(&rows)), EventTime::MIN).unwrap();
    let full = operator.state_bytes();
    operator.advance(event_time(500)).unwrap();
    drained(&mut *operator);
    let half = operator.state_bytes();
    assert!(half < full * 6 / 10, "{half} of {full}");
    operator.advance(event_time(2_000)).unwrap();
    drained(&mut *operator);
    assert!(operator.state_bytes() < 1_000, "{}", operator.state_bytes());
    operator.take(Side::Left, Batch::new(rows_of(&[row(2_000)])), event_time(2_000)).unwrap();
    operator.advance(EventTime::MAX).unwrap();
    let out = drained(&mut *operator);
    assert_eq!(pairs(&out), [(Some(row(2_000)), Some(row(999)))]);
}

/// What becomes of a left row is what becomes of its pair.
#[test]
fn changes_of_the_left_go_on() {
    let mut operator = make(JoinKind::Left, On::Key, false);
    let row = |id: i64| Row { id, key: Some(1), value: None, time: 5 };
    let batch = Batch {
        kinds: Some([RowKind::UpdateBefore, RowKind::UpdateAfter].into()),
        ..Batch::new(rows_of(&[row(1), row(2)]))
    };
    operator.take(Side::Left, batch, EventTime::MIN).unwrap();
    operator.advance(event_time(6)).unwrap();
    let kinds: Vec<RowKind> = drained(&mut *operator).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [RowKind::UpdateBefore, RowKind::UpdateAfter]);
}
