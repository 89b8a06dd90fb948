//! Float sum: the sum of floating-point numbers, with the rounding error of each addition kept beside it.
//!
//! Source: Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54, 1974,
//! algorithm IV. Its error does not grow with the number of values except for a term of the second order. So the
//! order of the values, and the way of merging, change only the last bits of a sum.

use thalweg_model::Fold;

/// Sums floating-point numbers. Infinities and NaN add up as usual; a sum that overflows on the way stays infinite.
#[derive(Clone, Copy, Debug, Default)]
pub struct FloatSum;

/// An accumulator of a float sum: the sum by plain additions, and the total of the rounding errors of these
/// additions.
pub(super) type Compensated = (f64, f64);

#[inline(always)]
pub(super) fn add((sum, lost): Compensated, value: f64) -> Compensated {
    let next = sum + value;
    let lost_now = if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
    (next, lost + lost_now)
}

pub(super) fn merged(sum: Compensated, other: Compensated) -> Compensated {
    let (next, lost) = add(sum, other.0);
    (next, lost + other.1)
}

/// Returns the float sum with its rounding errors added. If values were infinite or NaN, the total of the
/// errors is not finite and is left out.
pub(super) fn total((sum, lost): Compensated) -> f64 {
    if lost.is_finite() { sum + lost } else { sum }
}

impl<V: Copy + Into<f64>> Fold<V> for FloatSum {
    type Accumulator = Compensated;
    type Result = f64;

    #[inline(always)]
    fn create(&self) -> Compensated {
        (0.0, 0.0)
    }

    #[inline(always)]
    fn fold(&self, accumulator: &mut Compensated, value: &V) {
        *accumulator = add(*accumulator, (*value).into());
    }

    fn merge(&self, accumulator: &mut Compensated, other: Compensated) {
        *accumulator = merged(*accumulator, other);
    }

    fn finish(&self, accumulator: Compensated) -> f64 {
        total(accumulator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::laws::check;

    #[test]
    fn keeps_the_laws() {
        check(&FloatSum, &[0.1; 10], |sum| assert!((sum - 1.0).abs() <= f64::EPSILON, "{sum}"));
        check(&FloatSum, &[1.5f32, 2.5], |sum| assert_eq!(sum, 4.0));
    }

    /// Small numbers are kept in a float sum beside numbers so large that plain addition would lose the small
    /// ones.
    #[test]
    fn what_is_small_is_not_lost_beside_what_is_large() {
        check(&FloatSum, &[1.0, 1e100, 1.0, -1e100], |sum| assert_eq!(sum, 2.0));
        check(&FloatSum, &[1e16, 1.0, -1e16, 1.0], |sum| assert_eq!(sum, 2.0));
    }

    #[test]
    fn infinities_and_nan_add_up_as_usual() {
        let infinite = f64::INFINITY;
        check(&FloatSum, &[1.0, infinite, 2.0], |sum| assert_eq!(sum, infinite));
        check(&FloatSum, &[1.0, -infinite], |sum| assert_eq!(sum, -infinite));
        check(&FloatSum, &[infinite, -infinite], |sum| assert!(sum.is_nan()));
        check(&FloatSum, &[f64::NAN, 1.0], |sum| assert!(sum.is_nan()));
        check(&FloatSum, &[f64::MAX, f64::MAX], |sum| assert_eq!(sum, infinite));
    }
}
