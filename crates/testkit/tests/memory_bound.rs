//! With twice the load that it can take, the engine throttles its source, keeps its memory bound, and loses
//! no record.
//!
//! The test measures by the real clock. First it measures the engine's capacity, with a drained source that
//! is as fast as a slow operator takes its records. Then it offers twice that rate for two seconds.
#![forbid(unsafe_code)]

use std::fs;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use thalweg::{
    Chaining, Clock, EdgeLimits, Engine, EventTime, Generate, Graph, Query, QueryReport, SystemClock,
    WatermarkStrategy,
};
use thalweg_connectors::{Discard, Pace, Paced};

/// The engine's memory budget: less than its edges would take, so that the budget is the limit.
const BUDGET_BYTES: u64 = 4 << 20;

/// Bytes that the process may hold beyond the budget. The documentation of `memory_budget_bytes` promises
/// this bound.
const BEYOND_BUDGET_BYTES: u64 = 64 << 20;

/// Time for which the engine is overloaded.
const LOADED: Duration = Duration::from_secs(2);

/// Time for which the capacity of the engine is measured before it is overloaded.
const CALIBRATED: Duration = Duration::from_millis(300);

/// Number of attempts to overload the engine: on a busy machine the measured capacity may be too low.
const ATTEMPTS_MAX: u32 = 4;

/// Rounds of arithmetic per record in the slow operator, which take some ten microseconds.
const SLOW_ROUNDS: u64 = 5_000;

/// A record of 2 KiB, so that a backlog would show: an engine that kept it would hold hundreds of megabytes.
type Payload = [u64; 256];

struct Payloads;

impl Generate for Payloads {
    type Item = Payload;

    fn value(&self, index: u64, _event_time: EventTime) -> Payload {
        [index; 256]
    }

    fn cache_bytes(&self) -> usize {
        0
    }
}

fn slow(payload: Payload) -> u64 {
    (0..SLOW_ROUNDS).fold(payload[0], |sum, round| std::hint::black_box(sum.wrapping_mul(31) ^ round))
}

fn graph(pace: Pace) -> Graph {
    let source = Paced::new(Arc::new(Payloads), pace).expect("the rate is in range");
    let query = Query::new("slow");
    query
        .source("source", source, WatermarkStrategy::ascending())
        .filter(|payload| payload[0] < u64::MAX)
        .map(slow)
        .name("slow")
        .sink("sink", Discard::new());
    query.plan(Chaining::None).expect("the stream ends in a sink")
}

/// Runs the query for this time, stops it, and waits for its end. Returns the report, and the greatest number
/// of bytes that were reserved at once.
fn run(pace: impl FnOnce(&SystemClock) -> Pace, time: Duration) -> (QueryReport, u64) {
    let clock = SystemClock::default();
    let edges = EdgeLimits { block_records: 16, ..EdgeLimits::default() };
    let builder = Engine::builder().workers(2).memory_budget_bytes(BUDGET_BYTES).edges(edges);
    let engine = builder.clock(Arc::new(clock)).build().expect("settings lie in their range");
    let query = engine.submit(graph(pace(&clock))).expect("the budget is ample for the first chunks");
    sleep(time);
    query.stop();
    let report = query.wait().expect("nothing goes wrong");
    (report, engine.budget().peak_bytes() as u64)
}

/// Returns the value of a line of `/proc/self/status` in bytes.
fn status_bytes(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the test runs on Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the kernel tells it");
    let kib: u64 = line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number");
    kib << 10
}

#[test]
fn twice_the_capacity_costs_no_memory_and_no_record() {
    let drained = |_: &SystemClock| Pace::Drain { nominal_rate_per_s: 1_000_000, start: EventTime::EPOCH };
    let (calibration, _) = run(drained, CALIBRATED);
    let mut capacity_per_s = (calibration.results_out as f64 / CALIBRATED.as_secs_f64()) as u64;

    for _ in 0..ATTEMPTS_MAX {
        let resident_before = status_bytes("VmRSS");
        let offered_per_s = capacity_per_s * 2;
        let (report, peak_bytes) =
            run(|clock| Pace::Rate { rate_per_s: offered_per_s, start: clock.now(), time_scale: 1 }, LOADED);
        let grown = status_bytes("VmHWM").saturating_sub(resident_before);
        let offered = offered_per_s * LOADED.as_secs();
        println!(
            "offered {offered_per_s}/s, taken {} of {offered}; peak budget use {peak_bytes} B, resident size grew by \
             {grown} B",
            report.events_in
        );
        assert!(peak_bytes <= BUDGET_BYTES, "{peak_bytes} bytes reserved of {BUDGET_BYTES}");
        assert!(grown <= BUDGET_BYTES + BEYOND_BUDGET_BYTES, "resident size grew by {grown} bytes");
        // No record is lost: every record of the source has reached the sink.
        assert_eq!(report.conservation_error(), None);
        assert_eq!(report.results_out, report.events_in);
        assert!(report.events_in > offered / 64, "the engine did next to nothing");
        if report.events_in < offered * 3 / 4 {
            return;
        }
        // Another process used the machine while the capacity was measured, so this run was no overload. Its
        // rate is a better estimate of the capacity.
        capacity_per_s = report.events_in / LOADED.as_secs();
    }
    panic!("no load was an overload in {ATTEMPTS_MAX} attempts");
}
