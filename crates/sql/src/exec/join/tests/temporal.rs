//! The temporal join against a list of all versions which is searched for each row.

use super::*;
use crate::plan::Counted;

/// Creates a join whose left rows may be retracted within an hour.
fn changing_left(kind: JoinKind, on: On) -> Box<dyn JoinOperator> {
    let (counts, ttl_ms) = (Counted::All, Some(3_600_000));
    joined(kind, on, JoinMethod::Temporal { left_time: TIME, right_time: TIME, counts, ttl_ms }, &context())
}

fn make(kind: JoinKind, on: On, counts: Counted) -> Box<dyn JoinOperator> {
    joined(
        kind,
        on,
        JoinMethod::Temporal { left_time: TIME, right_time: TIME, counts, ttl_ms: None },
        &context(),
    )
}

fn expected(kind: JoinKind, on: On, counts: Counted, script: &[Event]) -> Vec<Pair> {
    // Versions, with the time from which on they are valid.
    let mut versions: Vec<(RowKind, Row, i64)> = Vec::new();
    let mut waiting: Vec<Row> = Vec::new();
    let mut out = Vec::new();
    let mut own = [i64::MIN; 2];
    let end = Side::BOTH.map(|side| Event::Watermark(side, i64::MAX));
    for event in script.iter().chain(&end) {
        match event {
            Event::Row(Side::Left, _, row) if row.time >= own[0] => waiting.push(*row),
            Event::Row(Side::Left, ..) => {}
            Event::Row(Side::Right, kind, row) => {
                let is_late =
                    versions.iter().any(|(_, known, _)| known.key == row.key && known.time > row.time);
                if *kind != RowKind::UpdateBefore && (counts != Counted::InOrder || !is_late) {
                    versions.push((*kind, *row, row.time.max(own[1])));
                }
            }
            Event::Watermark(side, time) => {
                own[side.index()] = own[side.index()].max(*time);
                let both = own[0].min(own[1]);
                for row in waiting.extract_if(.., |row| row.time < both || both == i64::MAX) {
                    let of_key = versions
                        .iter()
                        .filter(|(_, version, _)| version.key.is_some() && version.key == row.key);
                    let known = of_key.filter(|(_, _, valid_from)| *valid_from <= row.time);
                    let valid = match counts {
                        // Of equal ones the first to arrive.
                        Counted::First => known.min_by_key(|(_, version, from)| (*from, version.time)),
                        // Of equal times the last to arrive.
                        _ => known.max_by_key(|(_, version, _)| version.time),
                    };
                    let met = valid
                        .filter(|(kind, version, _)| *kind != RowKind::Delete && on.holds(&row, version));
                    match met {
                        Some((_, version, _)) => out.push((Some(row), Some(*version))),
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

/// Scripts as in [`scripts`], in which some rows of the right end versions.
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
        let out = run(&|| make(kind, on, Counted::All), &script, manner, &mut |_, _| {});
        prop_assert_eq!(pairs(&out), expected(kind, on, Counted::All, &script));
    }

    #[test]
    fn only_some_rows_are_versions(
        script in scripts(),
        counts in prop_oneof![Just(Counted::InOrder), Just(Counted::First)],
        manner in manner(),
    ) {
        let out = run(&|| make(JoinKind::Left, On::Key, counts), &script, manner, &mut |_, _| {});
        prop_assert_eq!(pairs(&out), expected(JoinKind::Left, On::Key, counts, &script));
    }
}

/// The input of one of several readers, in its order: its side, and its rows or watermarks.
type Reader = (Side, Vec<Event>);

/// Interleaves the readers as drawn, then takes the rest. The watermark is the least of all.
fn in_turns(counts: Counted, readers: &[Reader], turns: &[usize]) -> Vec<Pair> {
    let key = || Typed::column(KEY, SqlType::Int, true);
    let keys = vec![JoinKey { left: key(), right: key(), is_null_equal: false }];
    let method = JoinMethod::Temporal { left_time: TIME, right_time: TIME, counts, ttl_ms: None };
    let join = Join { kind: JoinKind::Left, method, keys, condition: None };
    let mut operator = joined_of(2, &join, &context());
    let mut next = vec![0; readers.len()];
    let mut own = vec![i64::MIN; readers.len()];
    let rest = (0..readers.len()).flat_map(|reader| vec![reader; readers[reader].1.len()]);
    let mut out = Vec::new();
    for reader in turns.iter().copied().chain(rest) {
        let Some(event) = readers[reader].1.get(next[reader]) else { continue };
        next[reader] += 1;
        match event {
            Event::Row(side, _, row) => {
                operator.take(*side, Batch::new(rows_of(&[*row])), event_time(own[reader])).unwrap();
            }
            Event::Watermark(_, time) => {
                own[reader] = own[reader].max(*time);
                operator.advance(event_time(own.iter().copied().min().unwrap_or(i64::MAX))).unwrap();
            }
        }
        out.extend(drained(&mut *operator));
    }
    operator.advance(EventTime::MAX).unwrap();
    out.extend(drained(&mut *operator));
    pairs(&out)
}

/// One reader of the left, two of the right.
fn readers() -> impl Strategy<Value = Vec<Reader>> {
    let events = proptest::collection::vec((0..2i32, 0..15i64, 0..4u8), 0..20);
    proptest::collection::vec(events, 3).prop_map(|all| {
        let reader = |(reader, events): (usize, Vec<(i32, i64, u8)>)| {
            let side = if reader == 0 { Side::Left } else { Side::Right };
            let event = |(at, (key, time, draw)): (usize, (i32, i64, u8))| {
                let id = (reader * 100 + at) as i64;
                match draw {
                    0 => Event::Watermark(side, time),
                    _ => Event::Row(side, RowKind::Insert, Row { id, key: Some(key), value: None, time }),
                }
            };
            (side, events.into_iter().enumerate().map(event).collect())
        };
        all.into_iter().enumerate().map(reader).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// This also holds for late versions.
    #[test]
    fn results_do_not_depend_on_the_turns_of_readers(
        counts in prop_oneof![Just(Counted::All), Just(Counted::First), Just(Counted::InOrder)],
        readers in readers(),
        turns in proptest::collection::vec(0..3usize, 60),
    ) {
        prop_assert_eq!(in_turns(counts, &readers, &turns), in_turns(counts, &readers, &[]));
    }
}

/// Versions that no row can match any more are forgotten.
#[test]
fn old_versions_are_forgotten() {
    let mut operator = make(JoinKind::Inner, On::Key, Counted::All);
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

/// A pair has the kind of change of its left row.
#[test]
fn changes_of_the_left_go_on() {
    let mut operator = make(JoinKind::Left, On::Key, Counted::All);
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

/// Left rows are retracted at any time, also long behind the watermark: the result is the join of the
/// remaining rows. Late rows never come out, and neither do their retractions.
fn taken_back(script: &[Event], draws: &[(bool, usize)]) -> (Vec<Event>, Vec<Event>) {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let mut standing: Vec<(usize, Row)> = Vec::new();
    let mut gone: Vec<usize> = Vec::new();
    for (at, event) in script.iter().enumerate() {
        with.push(event.clone());
        if let Event::Row(Side::Left, _, row) = event {
            standing.push((at, *row));
        }
        let (takes_back, which) = draws[at % draws.len()];
        if takes_back && !standing.is_empty() {
            let (at, row) = standing.remove(which % standing.len());
            gone.push(at);
            with.push(Event::Row(Side::Left, RowKind::Delete, row));
        }
    }
    without.extend(
        script.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, event)| event.clone()),
    );
    (with, without)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn left_rows_are_taken_back(
        script in changing(),
        draws in proptest::collection::vec((any::<bool>(), any::<usize>()), 1..20),
        kind in prop_oneof![Just(JoinKind::Inner), Just(JoinKind::Left)],
        on in prop_oneof![Just(On::Key), Just(On::KeyAndLess)],
        manner in manner(),
    ) {
        let (with, without) = taken_back(&script, &draws);
        let out = run(&|| changing_left(kind, on), &with, manner, &mut |_, _| {});
        let mut left: Vec<Pair> = Vec::new();
        for (kind, pair) in &out {
            match kind {
                RowKind::Insert => left.push(*pair),
                _ => {
                    let at = left.iter().position(|known| known == pair);
                    prop_assert!(at.is_some(), "{pair:?} is taken back and is not there");
                    left.remove(at.unwrap());
                }
            }
        }
        left.sort();
        prop_assert_eq!(left, expected(kind, on, Counted::All, &without));
    }
}

/// A row is forgotten when it is retracted, and when its time to live is over.
#[test]
fn rows_that_came_out_are_forgotten() {
    let clock = Arc::new(VirtualClock::default());
    let context = Context { zone: Tz::UTC, clock: Arc::clone(&clock) as _ };
    let method =
        JoinMethod::Temporal { left_time: TIME, right_time: TIME, counts: Counted::All, ttl_ms: Some(1_000) };
    let mut operator = joined(JoinKind::Left, On::Key, method, &context);
    let row = |id: i64| Row { id, key: Some(1), value: None, time: 5 };
    let mut take = |ids: std::ops::Range<i64>, kind: RowKind| {
        let rows: Vec<Row> = ids.map(row).collect();
        let kinds = Some(vec![kind; rows.len()].into());
        let batch = Batch { kinds, ..Batch::new(rows_of(&rows)) };
        operator.take(Side::Left, batch, EventTime::MIN).unwrap();
        operator.advance(event_time(6)).unwrap();
        (drained(&mut *operator).len(), operator.state_bytes())
    };
    let (_, empty) = take(0..0, RowKind::Insert);
    let (came, full) = take(0..100, RowKind::Insert);
    let (went, half) = take(0..50, RowKind::Delete);
    assert_eq!((came, went), (100, 50));
    assert!(empty < half && half < full, "{empty}, {half}, {full}");
    clock.advance_to(thalweg_model::ProcessingTime::from_nanos(2_000_000_000));
    assert_eq!(take(50..100, RowKind::Delete), (0, empty));
}
