//! Eligibility thresholds of one query, and their adaptation to its latency.
//!
//! Enjima section 3.2.1, Eq. 5: T becomes T + dT, dT = min(gradient * T, step), if that is between 0 and a maximum;
//! else T stays. If an adjustment raised the gradient, it is reverted. Where the paper is not specific:
//!
//! - An adjustment is judged at the next adaptation: the gradient at that time is compared with the gradient at which
//!   it was made. A revert is the only change of that adaptation; the next one adjusts anew.
//! - Both thresholds are adjusted and reverted together. An adjustment that changed neither is not judged.
//! - The paper's program compares gradients also when there is nothing to revert, so it adapts nothing while they
//!   rise. It also adds a negative step as an unsigned number. Here all arithmetic is signed floating point.
//! - A step down is bounded only by the gradient. Thresholds grow by a fraction of their value, so that one at 0
//!   could never grow again: the minimum is 1 record and 1 µs. Less would change nothing.

use super::EnjimaSettings;
use crate::snapshot::QueryState;

/// The range in which an eligibility threshold of a query may lie, and how fast it may grow. All values have
/// the unit of the threshold: records or ns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ThresholdRange {
    /// The value of an eligibility threshold (in records or ns) for a new query.
    pub start: f64,
    /// The least value of an eligibility threshold (in records or ns); above zero.
    pub min: f64,
    /// An eligibility threshold stays below this value (in records or ns).
    pub max: f64,
    /// The most by which an eligibility threshold may grow at one adaptation, in its unit (records or ns).
    pub max_step: f64,
}

impl ThresholdRange {
    /// Returns the next value of an eligibility threshold whose present value is `value`, at the latency
    /// gradient `gradient` (Eq. 5 of the Enjima paper).
    fn adjusted(&self, value: f64, gradient: f64) -> f64 {
        let next = value + (gradient * value).min(self.max_step);
        if self.min <= next && next < self.max { next } else { value }
    }
}

/// The eligibility thresholds of one query: ET (waiting records) and IT (idle time).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Thresholds {
    event_records: f64,
    idle_ns: f64,
    /// The last adjustment, until the next adaptation judges whether it raised the latency gradient.
    unjudged: Option<Adjustment>,
    /// Number of latency gradient samples at the last adaptation.
    samples: u64,
}

/// The thresholds before their last adjustment, and the latency gradient at which it was made. They are
/// restored if the gradient has risen by the next adaptation.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Adjustment {
    event_records: f64,
    idle_ns: f64,
    gradient: f64,
}

impl Thresholds {
    pub(super) fn new(settings: &EnjimaSettings) -> Self {
        let event_records = settings.event_threshold_records.start;
        Thresholds { event_records, idle_ns: settings.idle_threshold_ns.start, unjudged: None, samples: 0 }
    }

    /// Returns true if these thresholds belong to an ended query whose number `query` now has. It is
    /// recognised by a number of samples that is less than before.
    pub(super) fn are_of_another(&self, query: &QueryState) -> bool {
        query.gradient_samples < self.samples
    }

    /// Adapts the thresholds to the latency gradient of `query`, if there are enough new samples. A gradient
    /// that is NaN is ignored.
    pub(super) fn adapt(&mut self, settings: &EnjimaSettings, query: &QueryState) {
        let gradient = query.latency_gradient;
        if query.gradient_samples < self.samples + settings.adapt_every_samples.max(1) || gradient.is_nan() {
            return;
        }
        self.samples = query.gradient_samples;
        if let Some(before) = self.unjudged.take()
            && gradient > before.gradient
        {
            (self.event_records, self.idle_ns) = (before.event_records, before.idle_ns);
            return;
        }
        let before = Adjustment { event_records: self.event_records, idle_ns: self.idle_ns, gradient };
        self.event_records = settings.event_threshold_records.adjusted(self.event_records, gradient);
        self.idle_ns = settings.idle_threshold_ns.adjusted(self.idle_ns, gradient);
        let has_changed = (self.event_records, self.idle_ns) != (before.event_records, before.idle_ns);
        self.unjudged = has_changed.then_some(before);
    }

    /// Returns the least number of records that reaches the event threshold ET.
    pub(super) fn event_records(&self) -> u64 {
        self.event_records.ceil() as u64
    }

    /// Returns the greatest number of nanoseconds that does not exceed the idle threshold IT.
    pub(super) fn idle_ns(&self) -> u64 {
        self.idle_ns as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings with which thresholds are adapted at every sample of the latency gradient.
    fn settings() -> EnjimaSettings {
        EnjimaSettings { adapt_every_samples: 1, ..EnjimaSettings::default() }
    }

    /// Checks the event threshold and the idle threshold in µs after each latency gradient, with one sample
    /// each.
    fn check(gradients: &[f64], expected: &[(u64, u64)]) {
        let mut thresholds = Thresholds::new(&settings());
        let mut seen = Vec::new();
        for (latency_gradient, gradient_samples) in gradients.iter().copied().zip(1..) {
            thresholds.adapt(
                &settings(),
                &QueryState { latency_gradient, gradient_samples, ..QueryState::default() },
            );
            seen.push((thresholds.event_records(), thresholds.idle_ns() / 1_000));
        }
        assert_eq!(seen, expected, "{gradients:?}");
    }

    /// Thresholds grow with a positive latency gradient and shrink with a negative one. By hand: 1,000 + 250,
    /// 1,250 + 250, 1,500 - 750.
    #[test]
    fn they_grow_while_latency_does_and_shrink_while_it_does() {
        check(&[0.25, 0.2, -0.5], &[(1_250, 1_250), (1_500, 1_500), (750, 750)]);
        check(&[0.0], &[(1_000, 1_000)]);
    }

    /// The event threshold grows by at most 1,000 records at a time, the idle threshold by at most 10 ms,
    /// which is not reached here.
    #[test]
    fn steps_up_are_bounded() {
        check(&[3.0, 2.0], &[(2_000, 4_000), (3_000, 12_000)]);
        check(&[f64::INFINITY], &[(2_000, 11_000)]);
    }

    /// Thresholds stay below the maximum and not below the minimum. A step that would leave the range is not
    /// made at all, for each threshold by itself.
    #[test]
    fn a_step_out_of_the_range_is_none() {
        check(&[-1.0, -7.0, f64::NEG_INFINITY], &[(1_000, 1_000); 3]);
        check(&[-0.9985], &[(2, 1)]);
        check(&[-0.9995], &[(1_000, 1_000)]);
        let ten_steps: Vec<u64> = (2..=9).map(|thousands| thousands * 1_000).chain([9_000; 2]).collect();
        let mut thresholds = Thresholds::new(&settings());
        for (expected, gradient_samples) in ten_steps.into_iter().zip(1..) {
            thresholds.adapt(
                &settings(),
                &QueryState { latency_gradient: 1.0, gradient_samples, ..QueryState::default() },
            );
            assert_eq!(thresholds.event_records(), expected);
        }
    }

    /// An adjustment that raised the latency gradient is reverted, and nothing else happens in that
    /// adaptation. The next one adjusts anew.
    #[test]
    fn an_adjustment_that_raised_the_gradient_is_reverted() {
        check(&[0.5, 0.6, 0.6, 0.5], &[(1_500, 1_500), (1_000, 1_000), (1_600, 1_600), (2_400, 2_400)]);
        check(&[-0.5, -0.4, -0.4], &[(500, 500), (1_000, 1_000), (600, 600)]);
    }

    /// At a latency gradient of zero the thresholds do not change, so there is nothing to judge, and the next
    /// step is made at once.
    #[test]
    fn what_changed_nothing_is_not_reverted() {
        check(&[0.0, 0.5], &[(1_000, 1_000), (1_500, 1_500)]);
    }

    #[test]
    fn they_shrink_to_the_least_and_grow_again() {
        let down = vec![-0.9; 40];
        let up: Vec<f64> = (0..40).map(|_| 0.9).collect();
        let mut thresholds = Thresholds::new(&settings());
        for (latency_gradient, gradient_samples) in down.into_iter().chain(up).zip(1..) {
            thresholds.adapt(
                &settings(),
                &QueryState { latency_gradient, gradient_samples, ..QueryState::default() },
            );
            assert!((1.0..10_000.0).contains(&thresholds.event_records));
            assert!((1e3..1e8).contains(&thresholds.idle_ns));
        }
        assert!(thresholds.event_records() > 5_000);
    }

    /// A sample of the latency gradient counts once. Without a new sample, or with NaN, the thresholds do not
    /// change.
    #[test]
    fn they_are_adapted_once_per_so_many_samples() {
        let settings = EnjimaSettings { adapt_every_samples: 3, ..settings() };
        let mut thresholds = Thresholds::new(&settings);
        let mut seen = Vec::new();
        for gradient_samples in [0, 1, 2, 3, 3, 4, 5, 6] {
            thresholds.adapt(
                &settings,
                &QueryState { latency_gradient: 0.1, gradient_samples, ..QueryState::default() },
            );
            seen.push(thresholds.event_records());
        }
        assert_eq!(seen, [1_000, 1_000, 1_000, 1_100, 1_100, 1_100, 1_100, 1_210]);
        let before = thresholds;
        thresholds.adapt(
            &settings,
            &QueryState { latency_gradient: f64::NAN, gradient_samples: 99, ..QueryState::default() },
        );
        assert_eq!(thresholds, before);
        assert!(thresholds.are_of_another(&QueryState {
            latency_gradient: 0.0,
            gradient_samples: 5,
            ..QueryState::default()
        }));
        assert!(!thresholds.are_of_another(&QueryState {
            latency_gradient: 0.0,
            gradient_samples: 6,
            ..QueryState::default()
        }));
    }
}
