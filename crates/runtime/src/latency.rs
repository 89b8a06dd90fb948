//! Latencies of a query: histograms of the times from an instant of a record, such as when it should have been
//! sent, to its arrival at the sink.

use std::fmt;

use hdrhistogram::Histogram;

/// Greatest latency that is counted, in ns: one hour. A longer latency counts as one hour.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// A histogram of latencies with three significant digits. Histograms of several queries, or of several
/// intervals of one, can be merged. Summaries cannot, because there is no median of medians.
///
/// It allocates nothing before the first latency, and then as much as the largest one needs: 120 KiB up to 16
/// ms, and 260 KiB up to an hour. A query has five histograms, and many queries count nothing.
#[derive(Clone, Default, PartialEq)]
pub struct Latencies(Option<Histogram<u64>>);

impl Latencies {
    /// Makes a histogram that has counted no latency.
    pub fn new() -> Self {
        Latencies::default()
    }

    /// Counts one more latency. A latency above an hour counts as an hour.
    pub fn record(&mut self, latency_ns: u64) {
        let recorded = self.histogram().record(latency_ns.min(LATENCY_NS_MAX));
        recorded.expect("the histogram grows up to an hour");
    }

    fn histogram(&mut self) -> &mut Histogram<u64> {
        self.0.get_or_insert_with(|| Histogram::new(3).expect("three digits are a valid precision"))
    }

    /// Adds all latencies that `others` has counted.
    pub fn merge(&mut self, others: &Latencies) {
        if let Some(others) = &others.0 {
            self.histogram().add(others).expect("the histogram grows up to an hour");
        }
    }

    /// Returns the number of latencies counted.
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, Histogram::len)
    }

    /// Returns the number of counted latencies that were at most `limit_ns`. The limit is compared with three
    /// significant digits.
    pub fn count_within(&self, limit_ns: u64) -> u64 {
        self.0.as_ref().map_or(0, |counted| counted.count_between(0, limit_ns.min(LATENCY_NS_MAX)))
    }

    /// Returns mean, standard deviation, maximum and quantiles; `None` if no latency was counted.
    pub fn summary(&self) -> Option<LatencySummary> {
        let counted = self.0.as_ref().filter(|counted| !counted.is_empty())?;
        let quantile = |share: f64| counted.value_at_quantile(share);
        Some(LatencySummary {
            count: counted.len(),
            mean_ns: counted.mean(),
            stdev_ns: counted.stdev(),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: counted.max(),
        })
    }
}

impl fmt::Debug for Latencies {
    /// Shows only the summary of the histogram, because it has thousands of counters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Latencies").field(&self.summary()).finish()
    }
}

/// Mean, standard deviation, maximum and quantiles of latencies, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LatencySummary {
    /// Number of latencies measured.
    pub count: u64,
    /// Arithmetic mean of the latencies.
    pub mean_ns: f64,
    /// Standard deviation: the square root of the mean squared distance of the latencies from their mean.
    pub stdev_ns: f64,
    /// Median of the latencies.
    pub p50_ns: u64,
    /// Latency in ns that 90 % of the latencies do not exceed.
    pub p90_ns: u64,
    /// Latency in ns that 95 % of the latencies do not exceed.
    pub p95_ns: u64,
    /// Latency in ns that 99 % of the latencies do not exceed.
    pub p99_ns: u64,
    /// Latency in ns that 99.9 % of the latencies do not exceed.
    pub p999_ns: u64,
    /// The largest latency that was counted.
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

    /// Two histograms that count parts of the latencies give the same as one that counts all, when they are
    /// merged. This holds in any order, also if a part is empty.
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

    /// The standard deviation is that of all latencies, and not an estimate from a sample of them.
    #[test]
    fn the_standard_deviation_is_that_of_all() {
        let stdev_ns = |latencies_ns: &[u64]| of(latencies_ns).summary().map(|summary| summary.stdev_ns);
        assert_eq!(stdev_ns(&[100, 300]), Some(100.0));
        assert_eq!(stdev_ns(&[2, 4, 4, 4, 5, 5, 7, 9]), Some(2.0));
        assert_eq!(stdev_ns(&[7]), Some(0.0));
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
