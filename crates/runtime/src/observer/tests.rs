//! Tests of what the policy sees of a task: its cost and selectivity over an interval, the frontier of its
//! input, and the order of a query's tasks. Also of how often each of them is measured.

use thalweg_model::{Mark, Span, TumblingWindows, VirtualClock};
use thalweg_scheduling::policy::enjima::Enjima;
use thalweg_scheduling::{InputOrder, Policy};

use super::*;
use crate::aims::Aims;
use crate::cost_clock::{CostClock, Spent};
use crate::output::Delivered;
use crate::query::Entry;
use crate::task::StepReport;
use crate::task::tests::{edge_with, inlet};

/// Bounds of runs for an observer that measures costs and selectivities over an interval of so many nanoseconds.
pub(crate) fn runs(metrics_interval_ns: u64) -> Runs {
    Runs {
        block_records: 384,
        bytes_max: 1 << 16,
        source_grain_ns: 1_000,
        metrics_interval_ns,
        measured_steps: 0,
        cost_clock: CostClock::Wall,
        input_order: InputOrder::default(),
    }
}

/// Makes an observer for Enjima's policy and two workers, which measures over so many nanoseconds.
fn observer(metrics_interval_ns: u64) -> Observer {
    let policy = Enjima::default();
    Observer::new(policy.reads(), policy.delay_epochs(), runs(metrics_interval_ns), 2)
}

pub(crate) fn at_ms(ms: u64) -> ProcessingTime {
    ProcessingTime::from_nanos(ms * 1_000_000)
}

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

/// Checks the cost of a run after each interval. An interval has its runs, each written as (records in, charged
/// ns).
fn check_runs(intervals: &[&[(u64, u64)]], expected: &[f64]) {
    let mut view = view();
    for (steps, &expected) in intervals.iter().zip(expected) {
        for &(records_in, charged_ns) in *steps {
            let report = StepReport { records_in, records_out: records_in, ..StepReport::default() };
            view.meter.note_step(report, Spent { busy_ns: 2 * charged_ns, charged_ns });
        }
        view.measure();
        let state = view.state(Fields::default(), 384, ProcessingTime::ZERO, false);
        assert_eq!(state.cost_ns_per_run, expected, "{intervals:?}");
    }
}

/// Cameo, sections 4.2.1 and 5.3: the cost of a message is the time that the operator takes for it. A run is
/// the message here, so it is the mean time of a run, however many records the run takes.
#[test]
fn the_cost_of_a_run_is_the_mean_of_the_interval() {
    check_runs(&[&[]], &[OperatorState::ASSUMED_COST_NS_PER_RUN]);
    check_runs(&[&[(1, 300), (999, 100)]], &[200.0]);
    check_runs(
        &[&[(384, 300), (384, 100)], &[(384, 50)], &[(1, 10), (1, 20), (1, 60)]],
        &[200.0, 50.0, 30.0],
    );
    // An interval without records changes nothing. Its runs, which took marks alone, count in the next one.
    check_runs(&[&[(10, 400)], &[(0, 70)], &[(10, 30)]], &[400.0, 400.0, 50.0]);
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

/// Adds the query with this serial number to the observer. The query has one task, with windows of 10 seconds.
fn admit(observer: &mut Observer, serial: u64, now: ProcessingTime) -> (QueryId, OperatorId) {
    let windows = TumblingWindows::new(Span::from_secs(10)).unwrap();
    let horizon = Horizon::of_windows(windows.into(), Span::ZERO);
    let clock = Arc::new(VirtualClock::default());
    let entry = Entry { serial, submitted: now, clock, aims: Aims::default() };
    let delivered = Delivered::new(horizon.clone(), None);
    let id = observer.next_query();
    let shared = QueryShared::new(id, "query".to_owned(), entry, Vec::new(), delivered, Vec::new(), None);
    let probe = Arc::new(Probe::new(Box::default(), Box::default()));
    let meter = Arc::new(Meter::new(Vec::new(), now));
    let task = NewTask { probe, meter, horizon, downstream: Vec::new(), copies: 1 };
    (id, observer.admit(shared, vec![task], now)[0])
}

/// Returns the cost of a record at each round in which it was measured, with the millisecond of the round.
/// Rounds come at these milliseconds. In each of them the task takes ten records, whose cost in ns is the
/// number of milliseconds.
fn measured(metrics_interval_ns: u64, rounds_ms: impl Iterator<Item = u64>) -> Vec<(u64, f64)> {
    let mut observer = observer(metrics_interval_ns);
    let (_, operator) = admit(&mut observer, 1, at_ms(0));
    let meter = Arc::clone(&observer.views[operator.0 as usize].as_ref().expect("the task runs").meter);
    let mut last = OperatorState::ASSUMED_COST_NS_PER_RECORD;
    let mut measured = Vec::new();
    for ms in rounds_ms {
        let report = StepReport { records_in: 10, records_out: 10, ..StepReport::default() };
        meter.note_step(report, Spent { busy_ns: 20 * ms, charged_ns: 10 * ms });
        observer.renew(at_ms(ms), Memory::default(), |_| false);
        let state = observer.snapshot.operators[operator.0 as usize].expect("the task runs");
        if state.cost_ns_per_record != last {
            last = state.cost_ns_per_record;
            measured.push((ms, last));
        }
    }
    measured
}

/// Enjima, section 4: cost and selectivity are measured over 50 ms, which is a setting. Policies see the mean
/// of the interval from the first round after it on, and nothing of later records until then.
#[test]
fn costs_are_measured_once_an_interval() {
    let expected = [(50, 25.5), (100, 75.5), (150, 125.5), (200, 175.5)];
    assert_eq!(crate::limits::METRICS_INTERVAL_NS.default, 50_000_000);
    assert_eq!(measured(50_000_000, 1..=240), expected);
    assert_eq!(measured(7_000_000, 1..=22), [(7, 4.0), (14, 11.0), (21, 18.0)]);
    // In every round.
    assert_eq!(measured(0, 1..=4), [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0)]);
    // Rounds that are longer than they should be: the interval begins again at each measurement.
    assert_eq!(measured(50_000_000, [30, 60, 90, 109, 110, 159].into_iter()), [(60, 45.0), (110, 103.0)]);
}

/// The latency gradient of a query is sampled every 100 ms, as in Enjima's program, however short rounds are.
/// The mean latency of this query grows by a second per second.
#[test]
fn gradients_are_sampled_every_100_ms() {
    let mut observer = observer(50_000_000);
    let (query, _) = admit(&mut observer, 1, at_ms(0));
    let shared = Arc::clone(&observer.queries[query.0 as usize].as_ref().expect("the query runs").shared);
    let mut sampled = Vec::new();
    for ms in 1..=450 {
        shared.delivered.latencies.note(ms * 1_000_000);
        observer.renew(at_ms(ms), Memory::default(), |_| false);
        let state = observer.snapshot.queries[query.0 as usize].expect("the query runs");
        if state.gradient_samples > sampled.len() as u64 {
            sampled.push(ms);
            assert!((state.latency_gradient - 1.0).abs() < 1e-9, "{} at {ms} ms", state.latency_gradient);
        }
    }
    // The first mean has none before it to be compared with.
    assert_eq!(sampled, [200, 300, 400]);
}

/// Returns the frontier that the policy sees of a task with two inputs and windows of 10 s. The first input
/// is ahead, with the watermark 25 s, the second has 3 s. So many records wait on each.
fn frontier(reads: Fields, records: [u64; 2]) -> Option<EventTime> {
    let edges = [edge_with(records[0], 400), edge_with(records[1], 500)];
    let probe = Arc::new(Probe::new(edges.iter().map(inlet).collect(), Box::default()));
    let meter = Arc::new(Meter::new(Vec::new(), ProcessingTime::ZERO));
    let windows = TumblingWindows::new(Span::from_secs(10)).unwrap();
    let horizon = Horizon::of_windows(windows.into(), Span::ZERO);
    let mut view = View::new(Arc::clone(&probe), meter, (QueryId(0), 1), horizon, ProcessingTime::ZERO);
    [25, 3]
        .map(EventTime::from_secs)
        .into_iter()
        .enumerate()
        .for_each(|(port, watermark)| probe.note_input_mark(port, Mark::Watermark(watermark)));
    view.note_run(ProcessingTime::from_nanos(300), Some(EventTime::from_secs(3)));
    view.state(reads, 384, ProcessingTime::from_nanos(1_000), false).frontier
}

/// The frontier is that of the input which is read next (Cameo, section 4.3). Work of the input that is ahead
/// waits for a later end of a window than the task's watermark tells. Work of the other input, although it was
/// observed later, waits for the next end.
#[test]
fn the_frontier_is_that_of_the_input_that_is_read_next() {
    let expected = |seconds| Some(EventTime::from_secs(seconds));
    let of_head = |records| frontier(Fields::CONTEXTS, records);
    assert_eq!(of_head([3, 0]), expected(30));
    assert_eq!(of_head([3, 3]), expected(10));
    assert_eq!(of_head([0, 3]), expected(10));
    assert_eq!(of_head([0, 0]), expected(10));
    // To a policy that wants the merged watermark, work of the input that is ahead is as near as that of the other.
    for records in [[3, 0], [3, 3], [0, 3], [0, 0]] {
        assert_eq!(frontier(Fields::CONTEXTS | Fields::MERGED_PROGRESS, records), expected(10));
    }
}

/// The state of `distinct` expires at the ends of windows, but its results wait for none, so it has no
/// frontier.
#[test]
fn what_only_expires_has_no_frontier() {
    let windows = || TumblingWindows::new(Span::from_secs(10)).unwrap().into();
    for (horizon, expected_s) in
        [(Horizon::of_expiry(windows()), None), (Horizon::of_windows(windows(), Span::ZERO), Some(10))]
    {
        let edge = edge_with(3, 400);
        let probe = Arc::new(Probe::new([inlet(&edge)].into(), Box::default()));
        let meter = Arc::new(Meter::new(Vec::new(), ProcessingTime::ZERO));
        let mut view = View::new(probe, meter, (QueryId(0), 1), horizon, ProcessingTime::ZERO);
        view.note_run(ProcessingTime::from_nanos(300), Some(EventTime::from_secs(3)));
        let state = view.state(Fields::CONTEXTS, 384, ProcessingTime::from_nanos(1_000), false);
        assert_eq!(state.frontier, expected_s.map(EventTime::from_secs));
    }
}

/// The numbers of an ended task and of its query are given to another task and query. A late note of a
/// worker about the first task changes nothing.
#[test]
fn a_late_note_is_of_the_query_that_it_names() {
    let at = ProcessingTime::from_nanos;
    let seconds = |seconds| Some(EventTime::from_secs(seconds));
    let mut observer = observer(50_000_000);
    let first = admit(&mut observer, 1, at(0));
    let (_, operator) = first;
    observer.dismiss(operator, 1);
    assert!(!observer.note_run(operator, 1, at(50), seconds(900)), "there is no such task now");
    let second = admit(&mut observer, 2, at(100));
    assert_eq!(first, second, "ids are used again");
    let seen = |observer: &Observer| {
        let view = observer.views[0].as_ref().expect("the second task runs");
        (view.watermark, view.frontier, view.last_run_ended)
    };
    assert!(!observer.note_run(operator, 1, at(200), seconds(1_000)));
    observer.dismiss(operator, 1);
    assert_eq!(seen(&observer), (None, None, at(100)));
    let expected = (seconds(5), seconds(10), at(300));
    assert!(observer.note_run(operator, 2, at(300), seconds(5)));
    assert_eq!(seen(&observer), expected);
    // Another worker afterwards reports an earlier run of the same task, which must not change anything.
    assert!(observer.note_run(operator, 2, at(250), seconds(3)));
    assert_eq!(seen(&observer), expected);
    observer.dismiss(operator, 2);
    assert_eq!((observer.task_count(), observer.query_count()), (0, 0));
}
