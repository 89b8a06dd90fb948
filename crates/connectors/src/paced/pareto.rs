//! Pareto's distribution, truncated at the top and with mean 1: the factor of each interval of a load.
//!
//! For `x` from `least` to `most`, the probability of at most `x` is
//! `(1 - (least/x)^shape) / (1 - (least/most)^shape)`. The mean is
//!
//! ```text
//!   shape / (shape - 1) * (least - most * (least/most)^shape) / (1 - (least/most)^shape)
//! ```
//!
//! and `least` is chosen such that the mean is 1. Source: Johnson, Kotz and Balakrishnan, "Continuous Univariate
//! Distributions", volume 1, chapter 20, "Pareto Distributions" (truncated). `paced/load.rs` explains its use.

/// Number of steps of the bisection that finds the least value of the distribution: more than a double has
/// bits.
const HALVINGS: u32 = 60;

/// Pareto's distribution with mean 1, truncated at the top.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Pareto {
    shape: f64,
    least: f64,
    most: f64,
}

impl Pareto {
    /// Creates the distribution with the given shape, above 1, truncated at `most` times the mean, which is
    /// above 1 as well.
    pub(super) fn new(shape: f64, most: f64) -> Self {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let least = (low + high) / 2.0;
            if (Pareto { shape, least, most }).mean() < 1.0 {
                low = least;
            } else {
                high = least;
            }
        }
        Pareto { shape, least: high, most }
    }

    /// Returns the least number that can be drawn from the distribution.
    pub(super) fn least(&self) -> f64 {
        self.least
    }

    /// Returns the number of the distribution for `unit`, a random number that is uniform from 0 to below 1.
    pub(super) fn at(&self, unit: f64) -> f64 {
        (self.least * (1.0 - unit * (1.0 - self.beyond())).powf(-1.0 / self.shape)).min(self.most)
    }

    /// Returns the probability of numbers beyond the truncation in the distribution without truncation.
    fn beyond(&self) -> f64 {
        (self.least / self.most).powf(self.shape)
    }

    fn mean(&self) -> f64 {
        let beyond = self.beyond();
        self.shape / (self.shape - 1.0) * (self.least - self.most * beyond) / (1.0 - beyond)
    }
}

#[cfg(test)]
mod tests {
    use thalweg_model::{Entropy, SeededEntropy};

    use super::*;

    /// With every shape of the distribution, numbers stay within their bounds and have mean 1. A higher shape
    /// gives a steadier rate.
    #[test]
    fn the_mean_is_one() {
        let mut last = 0.0;
        for shape in [1.01, 1.16, 1.5, 2.0, 3.0, 100.0] {
            let (pareto, mut entropy) = (Pareto::new(shape, 20.0), SeededEntropy::new(3));
            let drawn: Vec<f64> = (0..1_000_000).map(|_| pareto.at(entropy.unit())).collect();
            let mean = drawn.iter().sum::<f64>() / 1e6;
            assert!((mean - 1.0).abs() < 0.01, "{mean} on average at shape {shape}");
            assert!(drawn.iter().all(|x| (pareto.least()..=20.0).contains(x)), "{shape}");
            assert!(last < pareto.least(), "{} at shape {shape}", pareto.least());
            last = pareto.least();
        }
        assert!(last > 0.98);
    }

    /// With a truncation so high that it hardly matters, the least number is `(shape - 1) / shape`, and half
    /// of the numbers lie below `least * 2^(1/shape)`.
    #[test]
    fn the_shape_is_pareto_s() {
        let pareto = Pareto::new(3.0, 1e6);
        assert!((pareto.least() - 2.0 / 3.0).abs() < 1e-9, "{}", pareto.least());
        assert!((pareto.at(0.5) - pareto.least() * 2f64.powf(1.0 / 3.0)).abs() < 1e-9);
        assert_eq!(pareto.at(0.0), pareto.least());
    }
}
