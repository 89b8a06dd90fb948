//! Tests that compare the temporal join with an oracle that searches a list of all versions for each row.

use super::*;
use crate::plan::Counted;

/// Creates a temporal join whose left rows may be retracted within an hour.
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
    // Versions of all keys, each with the time from which on it is valid.
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
                        // The first to arrive of versions with equal times is chosen.
                        Counted::First => known.min_by_key(|(_, version, from)| (*from, version.time)),
                        // The last to arrive of versions with equal times is chosen.
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

/// Generates scripts as [`scripts`] does, in which some right rows are deletions, which end versions.
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

/// Input of one of several readers of a temporal join: its side, and its rows and watermarks in their order.
type Reader = (Side, Vec<Event>);

/// Runs a temporal join over readers that interleave as `turns` says, then over the rest of each. The
/// watermark is the least of all readers.
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

/// Generates the input of three readers of a temporal join: one of the left side and two of the right.
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

    /// Results of a temporal join do not depend on how its readers interleave, even with late versions.
    #[test]
    fn results_do_not_depend_on_the_turns_of_readers(
        counts in prop_oneof![Just(Counted::All), Just(Counted::First), Just(Counted::InOrder)],
        readers in readers(),
        turns in proptest::collection::vec(0..3usize, 60),
    ) {
        prop_assert_eq!(in_turns(counts, &readers, &turns), in_turns(counts, &readers, &[]));
    }
}

/// A temporal join forgets versions that no left row can match any more.
#[test]
fn old_versions_are_forgotten() {
    let mut operator = make(JoinKind::Inner, On::Key, Counted::All);
    let row = |time: i64| Row { id: time, key: Some(1), value: None, time };
    let rows: Vec<Row> = (0..1_000).map(row).collect();
    operator.take(Side::Right, Batch::new(rows_of(&rows)), EventTime::MIN).unwrap();
    let full = operator.accounts().bytes();
    operator.advance(event_time(500)).unwrap();
    drained(&mut *operator);
    let half = operator.accounts().bytes();
    assert!(half < full * 6 / 10, "{half} of {full}");
    operator.advance(event_time(2_000)).unwrap();
    drained(&mut *operator);
    assert!(operator.accounts().bytes() < 1_000, "{}", operator.accounts().bytes());
    operator.take(Side::Left, Batch::new(rows_of(&[row(2_000)])), event_time(2_000)).unwrap();
    operator.advance(EventTime::MAX).unwrap();
    let out = drained(&mut *operator);
    assert_eq!(pairs(&out), [(Some(row(2_000)), Some(row(999)))]);
}

/// A pair that a temporal join puts out has the kind of change of its left row.
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

/// Change that an older left row gets after an event of the script: none, a deletion, or another value.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Stays,
    Goes,
    Becomes(Option<i32>),
}

fn fates() -> impl Strategy<Value = Vec<(Fate, usize)>> {
    let value = proptest::option::weighted(0.9, 0..4);
    let fate = prop_oneof![Just(Fate::Stays), Just(Fate::Goes), value.prop_map(Fate::Becomes)];
    proptest::collection::vec((fate, any::<usize>()), 1..20)
}

/// Returns a script in which left rows change at any time, also long behind the watermark, and a script of
/// only the rows that are left at the end, each at the place where it first came. A temporal join must give
/// the same final result for both. A row that came late never comes out, however it changes.
fn changed(script: &[Event], fates: &[(Fate, usize)]) -> (Vec<Event>, Vec<Event>) {
    let (mut with, mut without) = (Vec::new(), script.to_vec());
    let mut standing: Vec<(usize, Row)> = Vec::new();
    let mut gone: Vec<usize> = Vec::new();
    for (at, event) in script.iter().enumerate() {
        with.push(event.clone());
        if let Event::Row(Side::Left, _, row) = event {
            standing.push((at, *row));
        }
        let (fate, which) = fates[at % fates.len()];
        if standing.is_empty() {
            continue;
        }
        let which = which % standing.len();
        let (first, row) = standing[which];
        match fate {
            Fate::Stays => {}
            Fate::Goes => {
                standing.remove(which);
                gone.push(first);
                with.push(Event::Row(Side::Left, RowKind::Delete, row));
            }
            Fate::Becomes(value) => {
                let new = Row { id: row.id + 1_000, value, ..row };
                standing[which].1 = new;
                without[first] = Event::Row(Side::Left, RowKind::Insert, new);
                with.push(Event::Row(Side::Left, RowKind::UpdateBefore, row));
                with.push(Event::Row(Side::Left, RowKind::UpdateAfter, new));
            }
        }
    }
    let stays = |(at, _): &(usize, Event)| !gone.contains(at);
    (with, without.into_iter().enumerate().filter(stays).map(|(_, event)| event).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn left_rows_change_behind_the_watermark(
        script in changing(),
        fates in fates(),
        kind in prop_oneof![Just(JoinKind::Inner), Just(JoinKind::Left)],
        on in prop_oneof![Just(On::Key), Just(On::KeyAndLess)],
        manner in manner(),
    ) {
        let (with, without) = changed(&script, &fates);
        let out = run(&|| changing_left(kind, on), &with, manner, &mut |_, _| {});
        let mut left: Vec<Pair> = Vec::new();
        for (kind, pair) in &out {
            match kind {
                RowKind::Insert | RowKind::UpdateAfter => left.push(*pair),
                RowKind::UpdateBefore | RowKind::Delete => {
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

/// Passes left rows with a given watermark to a temporal join and returns its output.
fn given(operator: &mut dyn JoinOperator, rows: &[(RowKind, Row)], watermark: i64) -> Vec<(RowKind, Pair)> {
    let (kinds, rows): (Vec<RowKind>, Vec<Row>) = rows.iter().copied().unzip();
    let batch = Batch { kinds: Some(kinds.into()), ..Batch::new(rows_of(&rows)) };
    operator.take(Side::Left, batch, event_time(watermark)).unwrap();
    drained(operator)
}

/// An update of a left row behind the watermark comes out with the version of the old row. The version may be
/// forgotten by then, and a batch may end between the old row and the new one.
#[test]
fn an_update_behind_the_watermark_goes_through_whole() {
    let row = |id: i64, time: i64| Row { id, key: Some(1), value: None, time };
    let (version, later) = (row(10, 0), row(11, 50));
    for is_split in [false, true] {
        let mut operator = changing_left(JoinKind::Inner, On::Key);
        operator.take(Side::Right, Batch::new(rows_of(&[version, later])), EventTime::MIN).unwrap();
        given(&mut *operator, &[(RowKind::Insert, row(1, 5))], i64::MIN);
        operator.advance(event_time(100)).unwrap();
        assert_eq!(drained(&mut *operator), [(RowKind::Insert, (Some(row(1, 5)), Some(version)))]);
        let update = [(RowKind::UpdateBefore, row(1, 5)), (RowKind::UpdateAfter, row(2, 5))];
        let out: Vec<_> = match is_split {
            false => given(&mut *operator, &update, 100),
            true => update.iter().flat_map(|row| given(&mut *operator, &[*row], 100)).collect(),
        };
        let expected = update.map(|(kind, row)| (kind, (Some(row), Some(version))));
        assert_eq!(out, expected, "{is_split}");
        assert_eq!(operator.accounts().counts.late, 0);
    }
}

/// A row whose rank changes comes out again. Its rank passes to another row by an update, and if it gets the
/// first row of its new rank, it comes as an added row behind the watermark. Another row may have the next rank
/// after it, so its version stays noted.
#[test]
fn a_row_that_moves_to_a_new_rank_is_not_late() {
    let row = |id: i64, time: i64| Row { id, key: Some(1), value: None, time };
    let (version, later) = (row(10, 0), row(11, 50));
    for is_split in [false, true] {
        let mut operator = changing_left(JoinKind::Inner, On::Key);
        operator.take(Side::Right, Batch::new(rows_of(&[version, later])), EventTime::MIN).unwrap();
        given(&mut *operator, &[(RowKind::Insert, row(1, 5))], i64::MIN);
        operator.advance(event_time(100)).unwrap();
        assert_eq!(drained(&mut *operator), [(RowKind::Insert, (Some(row(1, 5)), Some(version)))]);
        // The identifiers stand for values and ranks: row 2 is row 1 with the second rank.
        let moves = [
            (RowKind::UpdateBefore, row(1, 5)),
            (RowKind::UpdateAfter, row(3, 100)),
            (RowKind::Insert, row(2, 5)),
        ];
        let out: Vec<_> = match is_split {
            false => given(&mut *operator, &moves, 100),
            true => moves.iter().flat_map(|row| given(&mut *operator, &[*row], 100)).collect(),
        };
        let expected = [moves[0], moves[2]].map(|(kind, row)| (kind, (Some(row), Some(version))));
        assert_eq!(out, expected, "{is_split}");
        assert_eq!(operator.accounts().counts.late, 0);
        // A late row with another time has no noted version.
        assert_eq!(given(&mut *operator, &[(RowKind::Insert, row(4, 6))], 100), []);
        assert_eq!(operator.accounts().counts.late, 1);
        operator.advance(event_time(101)).unwrap();
        assert_eq!(drained(&mut *operator), [(RowKind::UpdateAfter, (Some(row(3, 100)), Some(later)))]);
        assert!(operator.accounts().counts.is_conserved(), "{:?}", operator.accounts().counts);
    }
}

/// The new row of an update behind the watermark is late if its old row never came, or has another time.
#[test]
fn a_new_row_behind_the_watermark_is_late_without_its_old_row() {
    let row = |id: i64, time: i64| Row { id, key: Some(1), value: None, time };
    let mut operator = changing_left(JoinKind::Left, On::Key);
    given(&mut *operator, &[(RowKind::Insert, row(1, 5))], i64::MIN);
    operator.advance(event_time(100)).unwrap();
    assert_eq!(drained(&mut *operator).len(), 1);
    let never_came = [(RowKind::UpdateBefore, row(2, 5)), (RowKind::UpdateAfter, row(3, 5))];
    assert_eq!(given(&mut *operator, &never_came, 100), []);
    assert_eq!(operator.accounts().counts.late, 1);
    let moves = [(RowKind::UpdateBefore, row(1, 5)), (RowKind::UpdateAfter, row(4, 6))];
    assert_eq!(given(&mut *operator, &moves, 100), [(RowKind::UpdateBefore, (Some(row(1, 5)), None))]);
    assert_eq!(operator.accounts().counts.late, 2);
    assert!(operator.accounts().counts.is_conserved(), "{:?}", operator.accounts().counts);
}

/// A temporal join forgets a left row that came out when it is retracted, and when its time to live is over.
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
        (drained(&mut *operator).len(), operator.accounts().bytes())
    };
    let (_, empty) = take(0..0, RowKind::Insert);
    let (came, full) = take(0..100, RowKind::Insert);
    let (went, half) = take(0..50, RowKind::Delete);
    assert_eq!((came, went), (100, 50));
    assert!(empty < half && half < full, "{empty}, {half}, {full}");
    clock.advance_to(thalweg_model::ProcessingTime::from_nanos(2_000_000_000));
    assert_eq!(take(50..100, RowKind::Delete), (0, empty));
}
