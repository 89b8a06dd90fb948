//! The latency gradient of a query: the rate of change of its mean latency, in seconds per second.
//!
//! Enjima (SIGMOD 2025), section 3.2.1, Eq. 3 needs it dimensionless, because it clamps it to -1..1. The
//! paper leaves interval and smoothing open. Its program takes a sample every 100 ms and the mean of the last
//! five.

use thalweg_model::ProcessingTime;

/// Number of samples of the latency gradient that are averaged.
const SAMPLES: usize = 5;

/// The last samples of a query's latency gradient: the change of its mean latency per time, in s per s.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gradient {
    /// Sum and number of all latencies of the query up to the last sample.
    seen: LatencySums,
    /// The mean latency of the last interval in which results arrived, and the end of that interval.
    last: Option<(f64, ProcessingTime)>,
    samples: [f64; SAMPLES],
    taken: u64,
}

/// The sum of all latencies of a query since its start, in nanoseconds, and the number of these latencies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LatencySums {
    pub(crate) sum_ns: u64,
    pub(crate) count: u64,
}

impl Gradient {
    /// Takes a sample of the latency gradient, if results have arrived since the last sample.
    pub(crate) fn sample(&mut self, sums: LatencySums, now: ProcessingTime) {
        let count = sums.count.wrapping_sub(self.seen.count);
        let mean_ns = sums.sum_ns.wrapping_sub(self.seen.sum_ns) as f64 / count as f64;
        self.seen = sums;
        if count == 0 {
            return;
        }
        if let Some((last_ns, since)) = self.last {
            let elapsed_ns = now.nanos_since(since);
            if elapsed_ns > 0 {
                self.samples[(self.taken % SAMPLES as u64) as usize] =
                    (mean_ns - last_ns) / elapsed_ns as f64;
                self.taken += 1;
            }
        }
        self.last = Some((mean_ns, now));
    }

    /// Returns the mean of the last samples of the latency gradient; 0 before the first sample.
    pub(crate) fn mean(&self) -> f64 {
        let count = self.taken.min(SAMPLES as u64);
        if count == 0 { 0.0 } else { self.samples[..count as usize].iter().sum::<f64>() / count as f64 }
    }

    pub(crate) fn samples(&self) -> u64 {
        self.taken
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Checks the latency gradient after each pair of a latency sum in ms and a count of results. The pairs
    /// are 100 ms apart.
    fn check(sums: &[(u64, u64)], expected: &[f64]) {
        let mut gradient = Gradient::default();
        for (step, (&(sum_ms, count), &expected)) in sums.iter().zip(expected).enumerate() {
            let now = ProcessingTime::from_nanos((step as u64 + 1) * 100_000_000);
            gradient.sample(LatencySums { sum_ns: sum_ms * 1_000_000, count }, now);
            assert!((gradient.mean() - expected).abs() < 1e-12, "step {step}: {}", gradient.mean());
        }
    }

    #[test]
    fn it_is_the_change_of_mean_latency_per_time() {
        // The mean latency is 10 ms, then 20 ms: it grew by 10 ms in 100 ms, so the gradient is 0.1. Then the
        // mean is 20 ms again: the average of 0.1 and 0.
        check(&[(10, 1), (50, 3), (70, 4)], &[0.0, 0.1, 0.05]);
        // The mean latency falls, so the gradient is negative.
        check(&[(40, 1), (60, 2)], &[0.0, -0.2]);
    }

    /// An interval without results gives no sample, but its time counts: the mean latency grows by 10 ms in
    /// 200 ms.
    #[test]
    fn nothing_is_no_sample() {
        check(&[(10, 1), (10, 1), (30, 2)], &[0.0, 0.0, 0.05]);
    }

    #[test]
    fn only_the_last_five_count() {
        let sums = [(10, 1), (110, 2), (210, 3), (310, 4), (410, 5), (510, 6), (610, 7)];
        let expected = [0.0, 0.9, 0.45, 0.3, 0.225, 0.18, 0.0];
        check(&sums, &expected);
    }
}
