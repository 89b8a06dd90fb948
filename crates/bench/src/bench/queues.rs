//! Coefficient of variation of the lengths of queues: how unevenly the records that wait are spread over the
//! queues of a run. The lower it is, the better a policy reaches the goal of Lachesis (Frasca et al.,
//! "Accelerating Stream Processing Queries with Congestion-aware Scheduling and Real-time Linux Threads", CF
//! 2023, section 5.2.1, "policy goal").
//!
//! It is computed for each sample, that is for the lengths of all queues at one instant. The figure of a
//! run is the mean over the samples in which at least one queue is not empty. That choice is ours: the
//! paper does not say whether it compares lengths at an instant or their means over a run.

/// Sum and number of the coefficients of variation of some samples.
#[derive(Clone, Copy, Default, Debug)]
pub struct QueueSamples {
    cv_sum: f64,
    count: u64,
}

impl QueueSamples {
    /// Adds a sample: the lengths of all queues at one instant, in records. A sample in which every queue is
    /// empty has no coefficient of variation and does not count.
    pub fn add(&mut self, lengths: &[u64]) {
        let queues = lengths.len() as f64;
        let mean = lengths.iter().map(|&length| length as f64).sum::<f64>() / queues;
        // If there is no queue, the mean is NaN. NaN is not above zero, so the sample does not count.
        if 0.0 < mean {
            let squared = |&length: &u64| (length as f64 - mean).powi(2);
            let variance = lengths.iter().map(squared).sum::<f64>() / queues;
            self.cv_sum += variance.sqrt() / mean;
            self.count += 1;
        }
    }

    /// Adds the sum and the number of the samples that `others` has.
    pub fn merge(&mut self, others: QueueSamples) {
        self.cv_sum += others.cv_sum;
        self.count += others.count;
    }

    /// Returns the mean coefficient of variation of all samples; `None` if no sample counts.
    pub fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.cv_sum / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the mean over several samples, each with the lengths of all queues.
    #[track_caller]
    fn check(samples: &[&[u64]], expected: Option<f64>) {
        let mut all = QueueSamples::default();
        for lengths in samples {
            let mut sample = QueueSamples::default();
            sample.add(lengths);
            all.merge(sample);
        }
        assert_eq!(all.mean(), expected, "{samples:?}");
    }

    #[test]
    fn samples_are_compared_queue_by_queue() {
        check(&[], None);
        check(&[&[], &[0, 0]], None);
        check(&[&[7, 7, 7]], Some(0.0));
        check(&[&[8, 0]], Some(1.0));
        check(&[&[2, 4, 4, 4, 5, 5, 7, 9]], Some(0.4));
        // The lengths over the whole run are even, and at each instant they are not.
        check(&[&[8, 0], &[0, 8]], Some(1.0));
        // A sample in which nothing waits is left out of the mean.
        check(&[&[8, 0], &[0, 0], &[3, 3]], Some(0.5));
    }
}
