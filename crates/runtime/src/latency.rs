//! Latencies of a query, from the intended send time of a record to the sink.

use std::fmt;

use hdrhistogram::Histogram;

/// Latencies above this count as this.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// A histogram of latencies with three significant digits. Those of several queries, or of several spans of one, can
/// be merged, which summaries cannot: there is no median of medians.
///
/// Holds nothing before the first latency is counted, and then as much as the largest one needs: 120 KiB up to 16 ms, and
/// 260 KiB up to an hour. A query has three histograms, and many queries count nothing.
#[derive(Clone, Default, PartialEq)]
pub struct Latencies(Option<Histogram<u64>>);

impl Latencies {
    /// A histogram of nothing.
    pub fn new() -> Self {
        Latencies::default()
    }

    /// Counts one more latency; above an hour it counts as an hour.
    pub fn record(&mut self, latency_ns: u64) {
        let recorded = self.histogram().record(latency_ns.min(LATENCY_NS_MAX));
        recorded.expect("the histogram grows up to an hour");
    }

    fn histogram(&mut self) -> &mut Histogram<u64> {
        self.0.get_or_insert_with(|| Histogram::new(3).expect("three digits are a valid precision"))
    }

    /// Counts all that `others` has counted, too.
    pub fn merge(&mut self, others: &Latencies) {
        if let Some(others) = &others.0 {
            self.histogram().add(others).expect("the histogram grows up to an hour");
        }
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, Histogram::len)
    }

    /// How many of them were at most this, to three digits of the latency.
    pub fn count_within(&self, limit_ns: u64) -> u64 {
        self.0.as_ref().map_or(0, |counted| counted.count_between(0, limit_ns.min(LATENCY_NS_MAX)))
    }

    /// The latencies in short; none if none was counted.
    pub fn summary(&self) -> Option<LatencySummary> {
        let counted = self.0.as_ref().filter(|counted| !counted.is_empty())?;
        let quantile = |share: f64| counted.value_at_quantile(share);
        Some(LatencySummary {
            count: counted.len(),
            mean_ns: counted.mean(),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: counted.max(),
        })
    }
}

impl fmt::Debug for Latencies {
    /// In short: the counters fill a book.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Latencies").field(&self.summary()).finish()
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn of(latencies_ns: &[u64]) -> Latencies {
        let mut latencies = Latencies::new();
        latencies_ns.iter().for_each(|&latency_ns| latencies.record(latency_ns));
        latencies
    }

    /// Whatever the split and the order, also if a part is empty: what is merged is what was counted.
    #[test]
    fn merged_parts_are_the_whole() {
        let all = [5, 5, 70, 900, 1_000_000, 2 * LATENCY_NS_MAX];
        for cut in 0..=all.len() {
            let (first, rest) = all.split_at(cut);
            let mut merged = of(rest);
            merged.merge(&of(first));
            assert_eq!(merged, of(&all), "cut at {cut}");
        }
        assert_eq!(of(&all).summary().map(|summary| (summary.count, summary.p50_ns)), Some((6, 70)));
    }

    #[test]
    fn those_up_to_a_limit_are_counted() {
        let of = of(&[100, 200, 3_000_000, 4_000_000]);
        let within = [99, 100, 2_900_000, 3_010_000, u64::MAX].map(|limit_ns| of.count_within(limit_ns));
        assert_eq!((within, of.count()), ([0, 1, 2, 3, 4], 4));
    }

    #[test]
    fn nothing_has_no_summary() {
        let mut nothing = Latencies::new();
        nothing.merge(&Latencies::default());
        assert_eq!((nothing.summary(), nothing.count_within(u64::MAX)), (None, 0));
    }
}
