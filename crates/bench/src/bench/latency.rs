//! Latencies in the figures of a benchmark run: the mean and percentiles, in microseconds.

use serde::Serialize;
use thalweg::LatencySummary;

/// Mean and percentiles of latencies, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
    pub count: u64,
}

impl From<LatencySummary> for Latency {
    fn from(summary: LatencySummary) -> Self {
        let micros = |nanos: u64| nanos as f64 / 1e3;
        Latency {
            mean: (summary.mean_ns / 10.0).round() / 100.0,
            p50: micros(summary.p50_ns),
            p90: micros(summary.p90_ns),
            p99: micros(summary.p99_ns),
            p999: micros(summary.p999_ns),
            max: micros(summary.max_ns),
            count: summary.count,
        }
    }
}
