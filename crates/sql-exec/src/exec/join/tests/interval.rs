//! Tests that compare the interval join with an oracle that searches a list of all rows.

use super::super::interval::Bounds;
use super::*;

fn make(kind: JoinKind, on: On, bounds: Bounds) -> Box<dyn JoinOperator> {
    let Bounds { lower_ms, upper_ms } = bounds;
    joined(
        kind,
        on,
        JoinMethod::Interval {
            left_time: TIME,
            right_time: TIME,
            lower_ms,
            upper_ms,
            domain: TimeDomain::Event,
        },
        &context(),
    )
}

/// A row that the oracle of the interval join holds: its side, whether it has matched, and whether it is
/// still kept.
struct Waiting {
    side: Side,
    row: Row,
    is_met: bool,
    is_there: bool,
}

fn expected(kind: JoinKind, on: On, bounds: Bounds, script: &[Event]) -> Vec<Pair> {
    let near = |left: &Row, right: &Row| {
        let distance = right.time - left.time;
        bounds.lower_ms <= distance && distance <= bounds.upper_ms && on.holds(left, right)
    };
    // Last time at which a row of the other input may match a row.
    let until = |side: Side, row: &Row| match side {
        Side::Left => row.time + bounds.upper_ms,
        Side::Right => row.time - bounds.lower_ms,
    };
    let keeps = |side: Side| match side {
        Side::Left => matches!(kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti),
        Side::Right => matches!(kind, JoinKind::Right | JoinKind::Full),
    };
    let alone = |side: Side, row: Row| if side == Side::Left { (Some(row), None) } else { (None, Some(row)) };
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut out = Vec::new();
    let mut own = [i64::MIN; 2];
    let end = Side::BOTH.map(|side| Event::Watermark(side, i64::MAX));
    for event in script.iter().chain(&end) {
        match event {
            Event::Row(side, _, row) if row.time < own[side.index()] => {}
            Event::Row(side, _, row) => {
                let mut is_met = false;
                for other in waiting.iter_mut().filter(|other| other.is_there && other.side != *side) {
                    let (left, right) =
                        if *side == Side::Left { (row, &other.row) } else { (&other.row, row) };
                    if !near(left, right) {
                        continue;
                    }
                    let is_first = if *side == Side::Left { !is_met } else { !other.is_met };
                    (is_met, other.is_met) = (true, true);
                    match kind {
                        JoinKind::Anti => {}
                        JoinKind::Semi if is_first => out.push((Some(*left), None)),
                        JoinKind::Semi => {}
                        _ => out.push((Some(*left), Some(*right))),
                    }
                }
                let is_there = until(*side, row) >= own[0].min(own[1]);
                if !is_there && !is_met && keeps(*side) {
                    out.push(alone(*side, *row));
                }
                waiting.push(Waiting { side: *side, row: *row, is_met, is_there });
            }
            Event::Watermark(side, time) => {
                own[side.index()] = own[side.index()].max(*time);
                let both = own[0].min(own[1]);
                for one in waiting.iter_mut().filter(|one| one.is_there && until(one.side, &one.row) < both) {
                    one.is_there = false;
                    if !one.is_met && keeps(one.side) {
                        out.push(alone(one.side, one.row));
                    }
                }
            }
        }
    }
    out.sort();
    out
}

fn bounds() -> impl Strategy<Value = Bounds> {
    (-12..12i64, -12..12i64).prop_map(|(lower_ms, upper_ms)| Bounds { lower_ms, upper_ms })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn intervals_are_joined_as_a_list_is(
        script in scripts(), kind in kinds(), on in ons(), bounds in bounds(), manner in manner(),
    ) {
        let out = run(&|| make(kind, on, bounds), &script, manner, &mut |_, _| {});
        prop_assert_eq!(pairs(&out), expected(kind, on, bounds, &script));
    }

    /// Without late rows an interval join equals nested loops, and no output row lies further behind the
    /// watermark than the join announces.
    #[test]
    fn what_is_on_time_is_joined_as_nested_loops_do(
        script in scripts(), kind in kinds(), on in ons(), bounds in bounds(), manner in manner(),
    ) {
        let mut own = [i64::MIN; 2];
        let script: Vec<Event> = script.into_iter().filter(|event| match event {
            Event::Row(side, _, row) => row.time >= own[side.index()],
            Event::Watermark(side, time) => {
                own[side.index()] = own[side.index()].max(*time);
                true
            }
        }).collect();
        let of_side = |wanted: Side| -> Vec<Row> {
            arrivals(&script).into_iter().filter(|arrival| arrival.0 == wanted).map(|arrival| arrival.2).collect()
        };
        let near = |left: &Row, right: &Row| {
            (bounds.lower_ms..=bounds.upper_ms).contains(&(right.time - left.time)) && on.holds(left, right)
        };
        let hold = make(kind, on, bounds).hold().as_micros() / 1_000;
        let mut behind = 0;
        let out = run(&|| make(kind, on, bounds), &script, manner, &mut |out, passed| {
            let times = out.iter().flat_map(|(_, (left, right))| [left, right]).flatten().map(|row| row.time);
            behind += times.filter(|time| *time < passed.saturating_sub(hold)).count();
        });
        prop_assert_eq!(pairs(&out), nested_loops(kind, &of_side(Side::Left), &of_side(Side::Right), &near));
        prop_assert_eq!(behind, 0);
    }
}

/// An interval join forgets rows when the watermark has passed them, and keys with their last row.
#[test]
fn state_is_given_back() {
    let mut operator = make(JoinKind::Full, On::Key, Bounds { lower_ms: -5, upper_ms: 5 });
    for id in 0..100 {
        let row = |key: i64| Row { id, key: Some(key as i32), value: None, time: id };
        operator.take(Side::Left, Batch::new(rows_of(&[row(id), row(id + 1)])), EventTime::MIN).unwrap();
        drained(&mut *operator);
        operator.take(Side::Right, Batch::new(rows_of(&[row(id)])), EventTime::MIN).unwrap();
        drained(&mut *operator);
    }
    let full = operator.accounts().bytes();
    operator.advance(event_time(50)).unwrap();
    drained(&mut *operator);
    // The key tables of an interval join keep their size until no key is left; then their memory is freed.
    assert!(operator.accounts().bytes() < full, "{} of {full}", operator.accounts().bytes());
    operator.advance(event_time(200)).unwrap();
    drained(&mut *operator);
    assert_eq!(operator.accounts().bytes(), 0);
}

/// Keys that come and go are given the places of others, and their rows match no rows of these.
#[test]
fn keys_come_and_go() {
    let bounds = Bounds { lower_ms: -3, upper_ms: 2 };
    let mut script = Vec::new();
    for id in 0..1_500i64 {
        let key = Some((id * 7 % 311) as i32);
        let side = if id % 3 == 0 { Side::Left } else { Side::Right };
        let row = Row { id, key, value: Some((id % 5) as i32), time: id / 4 - id % 2 };
        script.push(Event::Row(side, RowKind::Insert, row));
        // Every hundred rows all keys go.
        let back = if id % 100 == 99 { 0 } else { 2 };
        if id % 10 == 9 {
            script.extend(Side::BOTH.map(|side| Event::Watermark(side, id / 4 - back + 1)));
        }
        if id % 100 == 99 {
            script.extend(Side::BOTH.map(|side| Event::Watermark(side, id / 4 + 9)));
        }
    }
    for kind in [JoinKind::Inner, JoinKind::Full, JoinKind::Semi, JoinKind::Anti] {
        for restore_every in [usize::MAX, 90] {
            let manner = Manner { batch_rows: 7, restore_every };
            let out = run(&|| make(kind, On::Key, bounds), &script, manner, &mut |_, _| {});
            assert_eq!(pairs(&out), expected(kind, On::Key, bounds, &script), "{kind:?} {restore_every}");
        }
    }
}

/// Output of many rows of one key comes in several batches, also when all of the rows expire at once.
#[test]
fn explosions_come_in_pieces() {
    let rows = |side: Side, count: i64| {
        (0..count).map(move |id| {
            Event::Row(side, RowKind::Insert, Row { id, key: Some(1), value: Some(1), time: 3 })
        })
    };
    let bounds = Bounds { lower_ms: 0, upper_ms: 0 };
    let count = |script: Vec<Event>, kind: JoinKind, on: On| {
        let manner = Manner { batch_rows: 100, restore_every: usize::MAX };
        run(&|| make(kind, on, bounds), &script, manner, &mut |_, _| {}).len()
    };
    let both = || rows(Side::Left, 130).chain(rows(Side::Right, 131)).collect();
    assert_eq!(count(both(), JoinKind::Inner, On::Key), 130 * 131);
    assert_eq!(count(both(), JoinKind::Semi, On::Key), 130);
    assert_eq!(count(rows(Side::Left, 10_000).collect(), JoinKind::Left, On::Key), 10_000);
}
