//! Latencies in the figures of a benchmark run: mean, standard deviation and percentiles, in microseconds.

use serde::Serialize;
use thalweg::LatencySummary;

/// Mean, standard deviation and percentiles of latencies, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    pub mean: f64,
    /// Standard deviation from the mean (Cameo, section 6.2, Figure 9d).
    pub stdev: f64,
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
        let rounded_micros = |nanos: f64| (nanos / 10.0).round() / 100.0;
        Latency {
            mean: rounded_micros(summary.mean_ns),
            stdev: rounded_micros(summary.stdev_ns),
            p50: micros(summary.p50_ns),
            p90: micros(summary.p90_ns),
            p99: micros(summary.p99_ns),
            p999: micros(summary.p999_ns),
            max: micros(summary.max_ns),
            count: summary.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use thalweg_runtime::Latencies;

    use super::*;

    #[test]
    fn figures_are_in_microseconds() {
        let mut latencies = Latencies::new();
        [1_000, 2_000].iter().for_each(|&latency_ns| latencies.record(latency_ns));
        let latency = latencies.summary().map(Latency::from).expect("two latencies were recorded");
        let Latency { mean, stdev, p50, max, count, .. } = latency;
        assert_eq!((mean, stdev, p50, max, count), (1.5, 0.5, 1.0, 2.0, 2));
    }
}
