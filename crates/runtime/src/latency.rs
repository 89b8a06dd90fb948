//! Latencies of a query, from the intended send time of a record to the sink.

use hdrhistogram::Histogram;

/// Latencies above this count as this.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// A histogram of latencies with three significant digits.
#[derive(Clone, Debug)]
pub(crate) struct Latencies(Histogram<u64>);

impl Latencies {
    pub(crate) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3);
        Latencies(histogram.expect("1 ns to an hour at three digits are valid bounds"))
    }

    pub(crate) fn record(&mut self, latency_ns: u64) {
        self.0.saturating_record(latency_ns);
    }

    pub(crate) fn summary(&self) -> Option<LatencySummary> {
        if self.0.is_empty() {
            return None;
        }
        let quantile = |share: f64| self.0.value_at_quantile(share);
        Some(LatencySummary {
            count: self.0.len(),
            mean_ns: self.0.mean(),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: self.0.max(),
        })
    }
}

/// Latencies in short; in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LatencySummary {
    /// How many were measured.
    pub count: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// The median.
    pub p50_ns: u64,
    /// Nine of ten were at most this.
    pub p90_ns: u64,
    /// 99 of 100 were at most this.
    pub p99_ns: u64,
    /// 999 of 1,000 were at most this.
    pub p999_ns: u64,
    /// The largest.
    pub max_ns: u64,
}
