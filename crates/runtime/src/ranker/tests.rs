//! Tests of what the policy sees of a task: its cost and selectivity over an interval, and the order of a
//! query's tasks.

use thalweg_model::{Span, TumblingWindows, VirtualClock};
use thalweg_scheduling::policy::enjima::{Enjima, EnjimaSettings};

use super::*;
use crate::aims::Aims;
use crate::cost_clock::Spent;
use crate::output::Delivered;
use crate::query::Entry;
use crate::task::StepReport;

/// Makes the policy's view of a source whose counters the test sets.
fn view() -> View {
    let probe = Arc::new(Probe::new(Box::default(), Box::default()));
    let meter = Arc::new(Meter::new(Vec::new(), ProcessingTime::ZERO));
    View::new(probe, meter, (QueryId(0), 1), Horizon::NONE, ProcessingTime::ZERO)
}

/// Checks the cost and the selectivity of a task after each interval. An interval is written as (records in,
/// records out, charged ns). The busy time is another, since it is no part of the cost.
fn check(intervals: &[(u64, u64, u64)], expected: &[(f64, f64)]) {
    let mut view = view();
    for (&(records_in, records_out, charged_ns), &expected) in intervals.iter().zip(expected) {
        let spent = Spent { busy_ns: 3 * charged_ns + 7, charged_ns };
        view.meter.note_step(StepReport { records_in, records_out, ..StepReport::default() }, spent);
        view.measure();
        let state = view.state(Fields::default(), 384, ProcessingTime::ZERO, false);
        assert_eq!((state.cost_ns_per_record, state.selectivity), expected, "{intervals:?}");
    }
}

#[test]
fn cost_and_selectivity_are_ratios_of_the_interval() {
    check(&[(100, 50, 2_000), (10, 30, 50)], &[(20.0, 0.5), (5.0, 3.0)]);
}

/// An interval without input changes neither cost nor selectivity. An interval with input and without
/// output, as of a window that has not fired, gives a selectivity of less than one record out per all
/// records since the start.
#[test]
fn an_interval_without_records_keeps_what_is_known() {
    check(&[(100, 50, 2_000), (0, 0, 30)], &[(20.0, 0.5), (20.0, 0.5)]);
    check(&[(99, 0, 990), (100, 0, 1_000)], &[(10.0, 1.0 / 100.0), (10.0, 1.0 / 200.0)]);
    check(&[(100, 4, 1_000), (99, 0, 990)], &[(10.0, 0.04), (10.0, 5.0 / 200.0)]);
}

/// A step that is too short for the clock still gives a cost above zero.
#[test]
fn no_cost_is_zero() {
    check(&[(10, 10, 0)], &[(f64::MIN_POSITIVE, 1.0)]);
}

#[test]
fn tasks_are_ordered_upstream_first() {
    assert_eq!(upstream_first(&[vec![], vec![0], vec![1]]), [2, 1, 0]);
    assert_eq!(upstream_first(&[vec![1, 2], vec![3], vec![3], vec![]]), [0, 1, 2, 3]);
    assert_eq!(upstream_first(&[vec![], vec![]]), [0, 1]);
}

/// The policy sets the time between two rounds, which is 1 ms by default. A round that takes long is longer.
#[test]
fn the_policy_sets_the_round() {
    let at = |ns| ProcessingTime::from_nanos(ns);
    for (settings, round_ns) in
        [(EnjimaSettings::default(), 1_000_000), (EnjimaSettings::of_round(5_000_000), 5_000_000)]
    {
        let mut ranker = Ranker::new(Box::new(Enjima::new(settings)), 384, 2);
        ranker.prepare(at(7), Memory::default(), |_| false);
        assert_eq!(ranker.snapshot.round_end, at(7 + round_ns));
        assert_eq!(ranker.next_round(at(7), at(8)), at(7 + round_ns));
        assert_eq!(ranker.next_round(at(0), at(100_000)), at(20_000_000));
    }
}

/// Adds the query with this serial number to the ranker. The query has one task, with windows of 10 seconds.
fn admit(ranker: &mut Ranker, serial: u64, now: ProcessingTime) -> (QueryId, OperatorId) {
    let windows = TumblingWindows::new(Span::from_secs(10)).unwrap();
    let horizon = Horizon::of_windows(windows.into(), Span::ZERO);
    let clock = Arc::new(VirtualClock::default());
    let entry = Entry { serial, submitted: now, clock, aims: Aims::default() };
    let delivered = Delivered::new(horizon.clone(), None);
    let id = ranker.next_query();
    let shared = QueryShared::new(id, "query".to_owned(), entry, Vec::new(), delivered, Vec::new());
    let probe = Arc::new(Probe::new(Box::default(), Box::default()));
    let meter = Arc::new(Meter::new(Vec::new(), now));
    let task = NewTask { probe, meter, horizon, downstream: Vec::new() };
    (id, ranker.admit(shared, vec![task], now)[0])
}

/// Makes a worker's note about a run of a task. The run ended at `ended_ns`, with a watermark of so many
/// seconds.
fn ran((query, operator): (QueryId, OperatorId), serial: u64, ended_ns: u64, watermark: i64) -> Note {
    let (started, ended) = (ProcessingTime::ZERO, ProcessingTime::from_nanos(ended_ns));
    let watermark = Some(EventTime::from_secs(watermark));
    let counts =
        Completion { operator, query, worker: 0, started, ended, records_in: 1, records_out: 1, watermark };
    Note::Ran { completion: counts, serial }
}

/// The numbers of an ended task and of its query are given to another task and query. A late note of a
/// worker about the first task changes nothing.
#[test]
fn a_late_note_is_of_the_query_that_it_names() {
    let at = |ns| ProcessingTime::from_nanos(ns);
    let mut ranker = Ranker::new(Box::new(Enjima::default()), 384, 2);
    let first = admit(&mut ranker, 1, at(0));
    ranker.hear(Note::Ended { operator: first.1, serial: 1 });
    let second = admit(&mut ranker, 2, at(100));
    assert_eq!(first, second, "ids are used again");
    let seen = |ranker: &Ranker| {
        let view = ranker.views[0].as_ref().expect("the second task runs");
        (view.watermark, view.frontier, view.last_run_ended)
    };
    ranker.hear(ran(first, 1, 200, 1_000));
    ranker.hear(Note::Ended { operator: first.1, serial: 1 });
    assert_eq!(seen(&ranker), (None, None, at(100)));
    let expected = (Some(EventTime::from_secs(5)), Some(EventTime::from_secs(10)), at(300));
    ranker.hear(ran(second, 2, 300, 5));
    assert_eq!(seen(&ranker), expected);
    // Another worker afterwards reports an earlier run of the same task, which must not change anything.
    ranker.hear(ran(second, 2, 250, 3));
    assert_eq!(seen(&ranker), expected);
    ranker.hear(Note::Ended { operator: second.1, serial: 2 });
    assert_eq!((ranker.task_count(), ranker.query_count()), (0, 0));
}
