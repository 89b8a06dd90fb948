//! The mean of a metric over the last seconds, and which values of metrics are believed.
//!
//! Source: Frasca et al. (Computing Frontiers 2023), section 4.1.1, for the mean over 10 s.
//!
//! Bounds: [`SAMPLES_MAX`] and [`VALUE_MAX`].

use std::collections::VecDeque;
use std::time::Duration;

/// Time over which values of a metric count for its mean.
pub const WINDOW: Duration = Duration::from_secs(10);

/// Greatest number of values that count for a mean. If there are more than 25 in a second, the mean is that of fewer
/// seconds.
pub const SAMPLES_MAX: usize = 256;

/// Largest value that is believed.
pub const VALUE_MAX: f64 = 1e15;

/// Returns true if a metric can have this value. One that is no number, infinite, negative or above [`VALUE_MAX`]
/// cannot be.
pub(crate) fn is_believed(value: &f64) -> bool {
    (0.0..=VALUE_MAX).contains(value)
}

/// The values of a metric over the last 10 s, for their mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window(VecDeque<(Duration, f64)>);

impl Window {
    /// Adds the value of this round, if there is one, and forgets those that are too old. `now` is the time since the
    /// driver began.
    pub(crate) fn add(&mut self, now: Duration, value: Option<f64>) {
        while self.0.front().is_some_and(|(at, _)| now.saturating_sub(*at) >= WINDOW) {
            self.0.pop_front();
        }
        if let Some(value) = value {
            if self.0.len() >= SAMPLES_MAX {
                self.0.pop_front();
            }
            self.0.push_back((now, value));
        }
    }

    /// Returns the latest value; `None` if there is no value.
    pub(crate) fn last(&self) -> Option<f64> {
        self.0.back().map(|(_, value)| *value)
    }

    /// Returns by how much the value has grown per second, from the oldest to the latest; `None` if there are not two
    /// values.
    pub(crate) fn growth_per_s(&self) -> Option<f64> {
        let ((first, from), (last, to)) = (self.0.front()?, self.0.back()?);
        let span = last.saturating_sub(*first);
        (!span.is_zero()).then(|| (to - from) / span.as_secs_f64())
    }

    /// Returns the memory of the values in bytes, with the room that is kept for further ones.
    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<(Duration, f64)>()
    }

    /// Returns by how many bytes at most the memory grows if a value is added at this time.
    pub(crate) fn growth_bytes(&self, now: Duration) -> usize {
        let is_full = self.0.len() == self.0.capacity() && self.0.len() < SAMPLES_MAX;
        let loses_one = self.0.front().is_some_and(|(at, _)| now.saturating_sub(*at) >= WINDOW);
        // A queue of values doubles its memory when it is full.
        if is_full && !loses_one { self.bytes().max(4 * size_of::<(Duration, f64)>()) } else { 0 }
    }

    /// Returns the mean; `None` if there is no value.
    pub(crate) fn mean(&self) -> Option<f64> {
        let sum: f64 = self.0.iter().map(|(_, value)| value).sum();
        (!self.0.is_empty()).then(|| sum / self.0.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_mean_is_that_of_the_last_ten_seconds() {
        let mut window = Window::default();
        assert_eq!((window.last(), window.growth_per_s()), (None, None));
        let means: Vec<Option<f64>> =
            [(0, Some(8.0)), (1, Some(2.0)), (5, None), (10, Some(4.0)), (15, None), (20, None)]
                .map(|(second, value)| {
                    window.add(Duration::from_secs(second), value);
                    window.mean()
                })
                .into();
        assert_eq!(means, [Some(8.0), Some(5.0), Some(5.0), Some(3.0), Some(4.0), None]);
        for (second, value, expected) in [(30, 8.0, None), (32, 2.0, Some(-3.0)), (36, 20.0, Some(2.0))] {
            window.add(Duration::from_secs(second), Some(value));
            assert_eq!((window.last(), window.growth_per_s()), (Some(value), expected));
        }
    }

    proptest! {
        /// The window is bounded, and its mean lies between its values.
        #[test]
        fn a_window_is_bounded(values in prop::collection::vec((0_u64..40, prop::option::of(0.0..VALUE_MAX)), 0..2_000)) {
            let (mut window, mut now) = (Window::default(), Duration::ZERO);
            for (millis, value) in values {
                now += Duration::from_millis(millis);
                let most_bytes = window.bytes() + window.growth_bytes(now);
                window.add(now, value);
                prop_assert!(window.0.len() <= SAMPLES_MAX && window.bytes() <= most_bytes);
                let mut sorted: Vec<f64> = window.0.iter().map(|(_, value)| *value).collect();
                sorted.sort_by(f64::total_cmp);
                if let Some(mean) = window.mean() {
                    let slack = 1e-9 * VALUE_MAX;
                    prop_assert!(sorted[0] - slack <= mean && mean <= sorted[sorted.len() - 1] + slack);
                }
            }
        }
    }
}
