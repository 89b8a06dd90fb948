//! Question: by how much does a running query slow down when its metrics are read ten times a second?
//! Workload: YSB drained by one worker, with default chains and with every operator as a task of its own. Two kinds of
//! span alternate, since machines drift. In one, nothing reads the metrics; in the other, the engine's metrics are
//! taken and written for Prometheus every 100 ms.
//! Unit: throughput with reads divided by throughput without, median over pairs of spans; and microseconds to take the
//! metrics and write the text. For regressions, not for claims.
//!
//! `cargo bench -p thalweg-workloads --bench metrics`; under `cargo test` it runs once, small.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use thalweg::{Chaining, Engine, EventTime, Query, QueryHandle, Span, TumblingWindows, WatermarkStrategy};
use thalweg_connectors::{Discard, Pace, Paced};
use thalweg_workloads::ysb::query::views_per_campaign;
use thalweg_workloads::ysb::{YsbGenerator, YsbOptions};

/// Interval at which the metrics are read in this benchmark, as Prometheus would read them: far shorter than
/// any usual setting.
const EVERY: Duration = Duration::from_millis(100);

/// Returns the events per second of the query during `span`, in which `ask` is called every 100 ms.
fn throughput(query: &QueryHandle, span: Duration, mut ask: impl FnMut()) -> f64 {
    let (before, end) = (query.metrics(), Instant::now() + span);
    while Instant::now() < end {
        ask();
        sleep(EVERY.min(end.saturating_duration_since(Instant::now())));
    }
    query.metrics().since(&before).throughput_per_s().expect("time has passed")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (pairs, span) = if is_bench { (31, EVERY * 5) } else { (1, EVERY / 10) };
    let generator = Arc::new(YsbGenerator::new(YsbOptions::default()));
    for (name, chaining) in [("chains", Chaining::Default), ("isolated", Chaining::None)] {
        let engine = Engine::builder().build().expect("defaults lie in their range");
        let query = Query::new("ysb");
        let pace = Pace::Drain { nominal_rate_per_s: 10_000_000, start: EventTime::EPOCH };
        let source = Paced::new(Arc::clone(&generator), pace).expect("the rate is in range");
        let windows = TumblingWindows::new(Span::from_secs(10)).expect("ten seconds are a size");
        views_per_campaign(&query, [source], WatermarkStrategy::ascending(), windows, Discard::new());
        let plan = query.plan(chaining).expect("the stream ends in a sink");
        let query = engine.submit(plan).expect("it fits");
        throughput(&query, span, || ());

        let (mut took_us, mut ratios, mut text_bytes) = (Vec::new(), Vec::new(), 0);
        for _ in 0..pairs {
            let alone = throughput(&query, span, || ());
            let asked = throughput(&query, span, || {
                let began = Instant::now();
                text_bytes = engine.metrics().prometheus().len();
                took_us.push(began.elapsed().as_secs_f64() * 1e6);
            });
            ratios.push(asked / alone);
        }
        let (ratio, took_us) = (median(ratios), median(took_us));
        println!(
            "metrics of {name}: {ratio:.4} of the throughput left alone, {took_us:.0} us for {text_bytes} bytes"
        );
        query.cancel();
    }
}
