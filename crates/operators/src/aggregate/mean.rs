//! Mean: the mean of floating-point numbers, from their [`FloatSum`](super::FloatSum) and count.

use thalweg_model::Fold;

use super::float_sum::{Compensated, add, merged, total};

/// The arithmetic mean of floating-point numbers. The mean of integers is that of the floats made of them:
/// `of(|n: &i64| *n as f64, Mean)`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean;

impl<V: Copy + Into<f64>> Fold<V> for Mean {
    type Accumulator = (Compensated, u64);
    type Result = f64;

    #[inline(always)]
    fn create(&self) -> (Compensated, u64) {
        ((0.0, 0.0), 0)
    }

    #[inline(always)]
    fn fold(&self, (sum, count): &mut (Compensated, u64), value: &V) {
        *sum = add(*sum, (*value).into());
        *count += 1;
    }

    fn merge(&self, (sum, count): &mut (Compensated, u64), other: (Compensated, u64)) {
        *sum = merged(*sum, other.0);
        *count += other.1;
    }

    /// Returns the mean of the values of a window, or NaN for no values. The engine never asks for the mean
    /// of no values, because a window without values has no result.
    fn finish(&self, (sum, count): (Compensated, u64)) -> f64 {
        total(sum) / count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::laws::check;

    #[test]
    fn keeps_the_laws() {
        check(&Mean, &[1.0, 2.0, 6.0], |mean| assert_eq!(mean, 3.0));
        check(&Mean, &[1i32, 2], |mean| assert_eq!(mean, 1.5));
        check(&Mean, &[1e100, 3.0, -1e100], |mean| assert_eq!(mean, 1.0));
        check::<f64, _>(&Mean, &[], |mean| assert!(mean.is_nan()));
    }
}
