//! Tests of the difference of two readings of metrics: counters are subtracted, and all other values are
//! those of the later reading.

use thalweg_model::Counts;

use super::*;
use crate::aims::Aims;

fn query(scale: u64) -> QueryMetrics {
    let at = |ns| ProcessingTime::from_nanos(ns);
    let counts = Counts {
        read: 10 * scale,
        forwarded: 3 * scale,
        folded: 4 * scale,
        filtered: 2 * scale,
        late: scale,
    };
    let operators = vec![OperatorCounts {
        operator: "o".to_owned(),
        task: "t".to_owned(),
        counts,
        state_bytes: 8 * scale,
    }];
    let task = TaskMetrics {
        task: "t".to_owned(),
        operator: OperatorId(0),
        is_source: true,
        is_sink: false,
        state: TaskState::Ready,
        state_ns: 7,
        records_in: 10 * scale,
        records_out: 5 * scale,
        bad: 2 * scale,
        ahead: 0,
        idled: 0,
        steps: scale,
        busy_ns: 200 * scale,
        ready_ns: 30 * scale,
        blocked_ns: 20 * scale,
        idle_ns: 10 * scale,
        held_bytes: 64 * scale,
        pending: scale,
        operators,
        stages: vec![Stage { nanos: 9 * scale, records: 3 * scale }],
    };
    let counts = EdgeCounts {
        edge: "e".to_owned(),
        written: 5 * scale,
        read: 4 * scale,
        pending: scale,
        marks_dropped: scale,
    };
    QueryMetrics {
        query: "q".to_owned(),
        serial: 1,
        aims: Aims::default(),
        deadlines: 5 * scale,
        deadlines_met: 4 * scale,
        state: QueryState::Running,
        at: at(1_000 * scale),
        span_ns: 1_000 * scale,
        events_in: 10 * scale,
        results_out: 4 * scale,
        watermark: None,
        latency: None,
        latency_sum_ns: 600 * scale,
        latency_count: 2 * scale,
        output_delay: None,
        output_delay_sum_ns: 60 * scale,
        output_delay_count: scale,
        event_latency: None,
        event_latency_sum_ns: 70 * scale,
        event_latency_count: scale,
        tasks: vec![task],
        edges: vec![EdgeMetrics { counts, chunks: scale, chunk_bytes: 4_096 * scale }],
    }
}

/// Metrics with three times the counts minus metrics with the counts once have twice the counts. Values
/// that are not counters are those of the later metrics.
#[test]
fn an_interval_is_a_difference() {
    let (mut expected, later) = (query(2), query(3));
    expected.at = later.at;
    expected.tasks[0].held_bytes = later.tasks[0].held_bytes;
    expected.tasks[0].pending = later.tasks[0].pending;
    expected.tasks[0].operators[0].state_bytes = later.tasks[0].operators[0].state_bytes;
    expected.edges[0].counts.pending = later.edges[0].counts.pending;
    (expected.edges[0].chunks, expected.edges[0].chunk_bytes) = (3, 3 * 4_096);
    assert_eq!(later.since(&query(1)), expected);
}

#[test]
fn ratios_are_of_the_interval_or_of_nothing() {
    let interval = query(3).since(&query(1));
    assert_eq!(interval.throughput_per_s(), Some(1e7));
    assert_eq!(interval.latency_ns_mean(), Some(300.0));
    assert_eq!((interval.bad(), interval.busy_ns(), interval.pending()), (4, 400, 3));
    let task = &interval.tasks[0];
    assert_eq!((task.cost_ns_per_record(), task.selectivity()), (Some(20.0), Some(0.5)));
    assert_eq!((task.stage_cost_ns_per_record(0), task.stage_cost_ns_per_record(1)), (Some(3.0), None));
    let nothing = query(3).since(&query(3));
    assert_eq!((nothing.throughput_per_s(), nothing.latency_ns_mean()), (None, None));
    assert_eq!((nothing.tasks[0].cost_ns_per_record(), nothing.tasks[0].selectivity()), (None, None));
}

#[test]
#[should_panic(expected = "an interval lies between two moments of one query")]
fn two_queries_have_no_difference() {
    let other = QueryMetrics { serial: 2, ..query(1) };
    let _nonsense = query(3).since(&other);
}

/// A loss of records is reported, with the name of the edge or operator, if the query has finished, and
/// only then.
#[test]
fn a_loss_is_told_by_name() {
    let check = |state: QueryState, change: &dyn Fn(&mut QueryMetrics), expected: Option<&str>| {
        let mut metrics = QueryMetrics { state, ..query(1) };
        (metrics.edges[0].counts.read, metrics.edges[0].counts.pending) = (5, 0);
        change(&mut metrics);
        let found = metrics.conservation_error();
        match (found, expected) {
            (Some(found), Some(expected)) => assert!(found.starts_with(expected), "{found}"),
            (found, expected) => assert_eq!(found.as_deref(), expected),
        }
    };
    check(QueryState::Finished, &|_| (), None);
    check(
        QueryState::Finished,
        &|query| query.edges[0].counts.pending = 1,
        Some("edge `e`: 5 written, 5 read, 1"),
    );
    check(
        QueryState::Finished,
        &|query| query.edges[0].counts.read = 4,
        Some("edge `e`: 5 written, 4 read, 0"),
    );
    check(QueryState::Finished, &|query| query.tasks[0].operators[0].counts.late = 9, Some("operator `o`: "));
    check(QueryState::Running, &|query| query.edges[0].counts.read = 4, None);
    check(QueryState::Failed, &|query| query.edges[0].counts.read = 4, None);
}
