//! Tests of runs of several queries: their figures, and the report of a query that fails.

use std::sync::Arc;

use thalweg::{Chaining, EventTime, Query, Record, SystemClock, WatermarkStrategy, source::Given};
use thalweg_connectors::{Collect, Discard, Pace, Paced};
use thalweg_workloads::nyt::NytGenerator;

use super::*;

/// Returns a query that generates records without end at this rate.
fn endless(name: &str, rate_per_s: u64, chaining: Chaining) -> Graph {
    let query = Query::new(name);
    let pace = Pace::Rate { rate_per_s, start: SystemClock::default().now(), time_scale: 1 };
    let source = Paced::new(Arc::new(NytGenerator::new(0)), pace).unwrap();
    query.source("source", source, WatermarkStrategy::ascending()).sink("sink", Discard::new());
    query.plan(chaining).unwrap()
}

/// Returns a query whose sink accepts no record.
fn doomed(name: &str) -> Graph {
    let query = Query::new(name);
    let records = Given::new(vec![Record::new(EventTime::EPOCH, 7)]);
    query.source("source", records, WatermarkStrategy::ascending()).sink("sink", Collect::new(0));
    query.plan(Chaining::Default).unwrap()
}

const DAY: Until = Until::Measured {
    deployed: Vec::new(),
    warmup: Duration::from_secs(86_400),
    measured: Duration::from_secs(86_400),
    observer: None,
    marker_every: Vec::new(),
    steer: None,
};

fn error_of(graphs: Vec<Graph>) -> String {
    let engine = Engine::builder().build().unwrap();
    format!("{:#}", drive(&engine, graphs, &DAY, None).err().expect("one of them fails"))
}

/// A failing query ends the run at once, and with it the other queries. If there is only one query, the error
/// does not name it.
#[test]
fn a_query_that_fails_fails_the_run_by_name() {
    let full = "SINK_FULL: `source-sink` failed: the collecting sink holds 0 records, its maximum; give it a higher one";
    let graphs =
        vec![endless("a", 1_000, Chaining::Default), doomed("b"), endless("c", 1_000, Chaining::Default)];
    assert_eq!(error_of(graphs), format!("query b failed: {full}"));
    assert_eq!(error_of(vec![doomed("b")]), full);
}

/// A query for which there is no memory fails the run. The error names the query, so that users see how many
/// fit.
#[test]
fn a_query_that_cannot_be_started_fails_the_run_by_name() {
    let engine = Engine::builder().memory_budget_bytes(1 << 16).build().unwrap();
    // A query of one task needs no memory for edges. A query of two tasks has an edge between them.
    let graphs = vec![endless("a", 1_000, Chaining::All), endless("b", 1_000, Chaining::None)];
    let told = format!("{:#}", drive(&engine, graphs, &DAY, None).err().expect("an edge does not fit"));
    assert!(told.starts_with("query b cannot be started: BUDGET_TOO_SMALL: "), "{told}");
}

/// Returns a moment `millis` milliseconds after `first`, with the events of the queries so far, and their
/// latencies since the previous one.
fn moment(first: Instant, millis: u64, events: [u64; 2], latencies_ns: [&[u64]; 2]) -> Moment {
    let latencies = latencies_ns.map(|latencies_ns| {
        let mut latencies = Latencies::new();
        latencies_ns.iter().for_each(|&latency_ns| latencies.record(latency_ns));
        latencies
    });
    Moment {
        at: first + Duration::from_millis(millis),
        cpu_s: millis as f64 / 2e3,
        events: events.into(),
        processing_latencies: latencies.clone().into(),
        output_delays: latencies.clone().into(),
        result_latencies: latencies.clone().into(),
        event_latencies: latencies.clone().into(),
        latencies: latencies.into(),
        unmeasured: vec![0, 0],
        work: vec![Work::default(); 2],
        queues: QueueSamples::default(),
        due: Vec::new(),
    }
}

/// If the markers of a query come at irregular intervals, it is not known how many are missing. Then
/// neither their number nor the latency with them is known, of this query and of all queries together.
#[test]
fn overdue_markers_may_be_unknown() {
    let first = Instant::now();
    let mut two = Latencies::new();
    [400, 900].iter().for_each(|&age_ns| two.record(age_ns));
    let due = vec![Due { markers: Some(two), ..Due::default() }, Due::default()];
    let to = Moment { due, ..moment(first, 1_000, [9, 9], [&[100], &[200]]) };
    let moments = [moment(first, 0, [0, 0], [&[], &[]]), to];
    let overdue = |queries: &[usize]| {
        let Measured { overdue, latency, .. } = Measured::among(&moments, &[None; 2], queries);
        let count = |summary: Option<LatencySummary>| summary.map(|all| all.count);
        (overdue.markers, count(overdue.latency), count(latency))
    };
    assert_eq!(overdue(&[0]), (Some(2), Some(3), Some(1)));
    assert_eq!(overdue(&[1]), (None, None, Some(1)));
    assert_eq!(overdue(&[0, 1]), (None, None, Some(2)));
}

/// The slowdown is the mean over the queries that have results, delivered or overdue. If the costs of one of
/// them are not known, because it was left waiting, the slowdown is not known.
#[test]
fn slowdown_is_latency_over_costs() {
    let first = Instant::now();
    let slowdown = |work: [Work; 2], overdue_ns: &[u64], latencies_ns: [&[u64]; 2], queries: &[usize]| {
        let mut overdue = Due::default();
        overdue_ns.iter().for_each(|&age_ns| overdue.results.record(age_ns));
        let from = moment(first, 0, [0, 0], [&[], &[]]);
        let due = vec![Due::default(), overdue];
        let to = Moment { due, work: work.into(), ..moment(first, 1_000, [0, 0], latencies_ns) };
        Measured::among(&[from, to], &[None; 2], queries).slowdown
    };
    let costs_ns = || [Work::of_one(1_000, 10), Work::of_one(100, 2)];
    let both = [0, 1];
    // The first query has 150 ns over 100 ns, and the second one 300 ns over 50 ns.
    assert_eq!(slowdown(costs_ns(), &[500], [&[100, 200], &[100]], &both), Some((1.5 + 6.0) / 2.0));
    assert_eq!(slowdown(costs_ns(), &[500], [&[100, 200], &[]], &both), Some((1.5 + 10.0) / 2.0));
    assert_eq!(slowdown(costs_ns(), &[], [&[100, 200], &[]], &both), Some(1.5));
    assert_eq!(slowdown(costs_ns(), &[], [&[], &[]], &both), None);
    let waits = || [Work::of_one(1_000, 10), Work::default()];
    assert_eq!(slowdown(waits(), &[500], [&[100, 200], &[]], &both), None);
    assert_eq!(slowdown(waits(), &[500], [&[100, 200], &[]], &[0]), Some(1.5));
}

/// Samples of queues during the warm-up do not count, and those of all moments are put together.
#[test]
fn queues_are_those_of_the_interval() {
    let first = Instant::now();
    let sampled = |millis, lengths: &[u64]| {
        let mut queues = QueueSamples::default();
        queues.add(lengths);
        Moment { queues, ..moment(first, millis, [0, 0], [&[], &[]]) }
    };
    let moments = [sampled(0, &[]), sampled(500, &[5, 5]), sampled(900, &[8, 0])];
    let queue_cv = |moments: &[Moment]| Measured::between(moments, &[None; 2]).queue_cv;
    assert_eq!((queue_cv(&moments[1..]), queue_cv(&moments)), (Some(1.0), Some(0.5)));
}

/// Queues are sampled although no observer watches the run. One query is offered more than any machine takes,
/// and the other one next to nothing, so their queues differ.
#[test]
fn queues_are_sampled_without_an_observer() {
    let engine = Engine::builder().build().unwrap();
    let graphs = vec![endless("a", 1_000_000_000, Chaining::Default), endless("b", 1, Chaining::Default)];
    let until = Until::Measured {
        deployed: Vec::new(),
        warmup: Duration::ZERO,
        measured: Duration::from_millis(400),
        observer: None,
        marker_every: Vec::new(),
        steer: None,
    };
    let queue_cv = drive(&engine, graphs, &until, None).unwrap().measured.queue_cv;
    // The lengths `n` and 0 have the mean `n / 2` and the standard deviation `n / 2`.
    assert!(queue_cv.is_some_and(|cv| 0.5 < cv && cv <= 1.0), "{queue_cv:?}");
}

/// A query whose last results are delivered has no overdue results. If a query was left waiting, its overdue
/// results are counted with their ages, so that it does not look fast.
#[test]
fn what_is_overdue_counts_with_its_age() {
    let first = Instant::now();
    let due = |ages_ns: &[u64]| {
        let mut results = Latencies::new();
        ages_ns.iter().for_each(|&age_ns| results.record(age_ns));
        let events = results.clone();
        Due { results: results.clone(), events, output_delays: results.clone(), markers: Some(results) }
    };
    let from = Moment { unmeasured: vec![1, 5], ..moment(first, 0, [0, 0], [&[], &[]]) };
    let to = Moment {
        due: vec![due(&[]), due(&[400, 900])],
        unmeasured: vec![3, 6],
        ..moment(first, 1_000, [10, 1], [&[100, 200], &[100]])
    };
    let targets = [Some(Duration::from_nanos(150)), Some(Duration::from_nanos(500))];
    let moments = [from, to];
    let measured = Measured::between(&moments, &targets);
    assert_eq!((measured.overdue.results, measured.overdue.markers), (2, Some(2)));
    let counted = |summary: Option<LatencySummary>| summary.map(|all| (all.count, all.max_ns));
    assert_eq!(counted(measured.result_latency), Some((3, 200)));
    assert_eq!(counted(measured.overdue.result_latency), Some((5, 900)));
    assert_eq!(counted(measured.overdue.latency), Some((5, 900)));
    assert_eq!(counted(measured.event_latency), Some((3, 200)));
    assert_eq!(counted(measured.overdue.event_latency), Some((5, 900)));
    assert_eq!((counted(measured.output_delay), measured.overdue.closings), (Some((3, 200)), 2));
    assert_eq!(counted(measured.overdue.output_delay), Some((5, 900)));
    // Three closings of both queries were not measured since the measurement began, one of the second query.
    assert_eq!(measured.overdue.unmeasured_closings, 3);
    // One of two results of the first query is in time, and of the second query the result of 100 ns. Its
    // result of 900 ns is late already; the one of 400 ns is not late yet.
    assert_eq!((measured.overdue.results_in_time, measured.success_rate), (Some(0.5), Some(0.5)));
    let second = Measured::among(&moments, &targets, &[1]);
    assert_eq!((second.overdue.results, second.overdue.results_in_time), (2, Some(0.5)));
    assert_eq!((second.overdue.closings, second.overdue.unmeasured_closings), (2, 1));
    assert_eq!(Measured::among(&moments, &targets, &[0]).overdue.results, 0);
}

/// Events during the warm-up and after the end are not measured. Latencies are those of all queries together.
#[test]
fn figures_are_of_the_interval_and_of_all_queries() {
    let first = Instant::now();
    let moments = [
        moment(first, 0, [0, 0], [&[], &[]]),
        moment(first, 500, [50, 70], [&[9_999], &[9_999]]),
        moment(first, 2_500, [250, 1_070], [&[100, 200], &[300]]),
        moment(first, 9_000, [999, 9_999], [&[9_999], &[]]),
    ];
    let targets = [Some(Duration::from_nanos(150)), None];
    let Measured {
        seconds,
        throughput_per_s,
        query_throughput_per_s,
        operator_throughput_per_s,
        cpu_s,
        latency,
        processing_latency,
        output_delay,
        result_latency,
        event_latency,
        deadlines_met,
        success_rate,
        markers_in_time,
        slowdown,
        queue_cv,
        overdue,
    } = Measured::between(&moments[1..=2], &targets);
    assert_eq!((seconds, throughput_per_s, cpu_s), (2.0, 600.0, 1.0));
    assert_eq!((query_throughput_per_s, operator_throughput_per_s), ([100.0, 500.0], 0.0));
    assert_eq!(latency.map(|latency| (latency.count, latency.p50_ns, latency.max_ns)), Some((3, 200, 300)));
    let others = [processing_latency, output_delay, result_latency, event_latency];
    assert_eq!(others, [latency; 4]);
    assert_eq!((overdue.results, overdue.markers, slowdown, queue_cv), (0, Some(0), None, None));
    // The first query has a latency target of 100 ns, and latencies of 100 and 200 ns.
    assert_eq!((deadlines_met, markers_in_time, success_rate), (Some(0.5), Some(0.5), Some(0.5)));
    assert_eq!(Measured::between(&moments[1..=2], &[None; 2]).deadlines_met, None);

    // The second query alone has no latency target, and it has a throughput of its own.
    let second = Measured::among(&moments[1..=2], &targets, &[1]);
    assert_eq!((second.throughput_per_s, second.deadlines_met), (500.0, None));
    assert_eq!(second.latency.map(|latency| (latency.count, latency.max_ns)), Some((1, 300)));

    let whole = Measured::between(&moments, &targets);
    assert_eq!((whole.seconds, whole.latency.map(|latency| latency.count)), (9.0, Some(6)));
}

#[test]
fn all_queries_run_while_they_are_measured() {
    let engine = Engine::builder().build().unwrap();
    let graphs = vec![
        endless("a", 1_000, Chaining::Default),
        endless("b", 2_000, Chaining::Default),
        endless("c", 3_000, Chaining::Default),
    ];
    let length = Duration::from_millis(600);
    let until = Until::Measured {
        deployed: Vec::new(),
        warmup: Duration::ZERO,
        measured: length,
        observer: None,
        marker_every: Vec::new(),
        steer: None,
    };
    let driven = drive(&engine, graphs, &until, None).unwrap();
    let names: Vec<&str> = driven.reports.iter().map(|report| report.query.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let measured = &driven.measured;
    // Each record is made by a source and written by a sink.
    assert!(1.5 * measured.throughput_per_s < measured.operator_throughput_per_s);
    let [least, most] = measured.query_throughput_per_s;
    assert!(0.0 < least && least <= most && most < measured.throughput_per_s, "{least} {most}");
    assert!(length.as_secs_f64() <= measured.seconds);
    let latencies = measured.latency.expect("at these rates every record is measured").count;
    assert!(latencies <= driven.total(|report| report.events_in));
    assert_eq!(driven.conservation_error(), None);
    let wrong = driven.first_wrong(|index, report| (index > 0).then(|| format!("{} is wrong", report.query)));
    assert_eq!(wrong.as_deref(), Some("query b: b is wrong"), "the first that is wrong, by name");
}
