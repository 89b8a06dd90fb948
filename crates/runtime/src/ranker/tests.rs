//! What the policy is told of a task: its cost and selectivity over an interval, and the order of a query's tasks.

use super::*;
use crate::task::StepReport;

/// A view of a source, whose meter is fed by hand.
fn view() -> View {
    let probe = Arc::new(Probe::new(Box::default(), Box::default()));
    let meter = Arc::new(Meter::new(Vec::new(), ProcessingTime::ZERO));
    View::new(probe, meter, (QueryId(0), Horizon::NONE), ProcessingTime::ZERO)
}

/// Intervals of (records in, records out, busy ns); cost and selectivity after each.
fn check(intervals: &[(u64, u64, u64)], expected: &[(f64, f64)]) {
    let mut view = view();
    for (&(records_in, records_out, busy_ns), &expected) in intervals.iter().zip(expected) {
        view.meter.note_step(StepReport { records_in, records_out, ..StepReport::default() }, busy_ns);
        view.measure();
        let state = view.state(Fields::default(), 384, ProcessingTime::ZERO, false);
        assert_eq!((state.cost_ns_per_record, state.selectivity), expected, "{intervals:?}");
    }
}

#[test]
fn cost_and_selectivity_are_ratios_of_the_interval() {
    check(&[(100, 50, 2_000), (10, 30, 50)], &[(20.0, 0.5), (5.0, 3.0)]);
}

/// An interval without input tells nothing. One without output, as of a window that has not fired, tells that there was
/// less than one record out of all since the start.
#[test]
fn an_interval_without_records_keeps_what_is_known() {
    check(&[(100, 50, 2_000), (0, 0, 30)], &[(20.0, 0.5), (20.0, 0.5)]);
    check(&[(99, 0, 990), (100, 0, 1_000)], &[(10.0, 1.0 / 100.0), (10.0, 1.0 / 200.0)]);
    check(&[(100, 4, 1_000), (99, 0, 990)], &[(10.0, 0.04), (10.0, 5.0 / 200.0)]);
}

/// A step that took no time that the clock could tell costs more than nothing.
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
