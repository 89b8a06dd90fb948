//! Wide floating-point numbers of about 106 significant bits: the sum of two doubles, of which the second is
//! the rounding error of the first.
//!
//! Sums of doubles depend on the order of their terms in the last bits. Sums of wide numbers depend on it
//! some 50 bits further down. So a result rounded to a double is in practice the same for every order of rows
//! and merges.
//!
//! Source: Dekker, "A Floating-Point Technique for Extending the Available Precision", Numerische Mathematik
//! 18, 1971; the operations are algorithms 1 to 6, 12 and 15 of Joldes, Muller and Popescu, "Tight and
//! Rigorous Error Bounds for Basic Building Blocks of Double-Word Arithmetic", 2017. The crate twofloat has
//! them, too, but cannot read back numbers that are not finite.

use serde::{Deserialize, Serialize};

/// A wide number as two doubles. If the first is infinite or NaN, the second is 0, and operations are those
/// of doubles.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Wide {
    high: f64,
    low: f64,
}

impl Wide {
    pub(super) const ZERO: Wide = Wide { high: 0.0, low: 0.0 };

    /// Returns the double that is nearest to the wide number.
    #[inline(always)]
    pub(super) fn to_double(self) -> f64 {
        self.high
    }

    /// Returns the wide number `high + low`, where the magnitude of `low` is at most that of `high`.
    #[inline(always)]
    fn of_parts(high: f64, low: f64) -> Self {
        let sum = high + low;
        if sum.is_finite() { Wide { high: sum, low: low - (sum - high) } } else { Wide { high, low: 0.0 } }
    }

    /// Returns the sum of two doubles, and the rounding error of this sum.
    #[inline(always)]
    fn sum(left: f64, right: f64) -> (f64, f64) {
        let sum = left + right;
        let of_left = sum - right;
        let of_right = sum - of_left;
        (sum, (left - of_left) + (right - of_right))
    }

    #[inline(always)]
    pub(super) fn plus(self, other: Wide) -> Wide {
        let (high, carry) = Wide::sum(self.high, other.high);
        if !high.is_finite() {
            return Wide { high, low: 0.0 };
        }
        let (low, rest) = Wide::sum(self.low, other.low);
        let first = Wide::of_parts(high, carry + low);
        Wide::of_parts(first.high, rest + first.low)
    }

    #[inline(always)]
    pub(super) fn minus(self, other: Wide) -> Wide {
        self.plus(Wide { high: -other.high, low: -other.low })
    }

    #[inline(always)]
    pub(super) fn times(self, other: Wide) -> Wide {
        let high = self.high * other.high;
        if !high.is_finite() {
            return Wide { high, low: 0.0 };
        }
        let rest = self.high.mul_add(other.high, -high);
        let crossed = self.low.mul_add(other.high, self.high.mul_add(other.low, self.low * other.low));
        Wide::of_parts(high, rest + crossed)
    }

    #[inline(always)]
    pub(super) fn over(self, divisor: f64) -> Wide {
        let high = self.high / divisor;
        if !high.is_finite() {
            return Wide { high, low: 0.0 };
        }
        let product = high * divisor;
        let rest = high.mul_add(divisor, -product);
        Wide::of_parts(high, ((self.high - product) - rest + self.low) / divisor)
    }
}

impl From<f64> for Wide {
    fn from(double: f64) -> Self {
        Wide { high: double, low: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates numbers with 40 bits after the point, whose sums and products are exact as 128-bit
    /// integers.
    fn wide(units: i64) -> Wide {
        let whole = Wide::from((units >> 20) as f64 * 2f64.powi(-20));
        whole.plus(Wide::from((units & 0xf_ffff) as f64 * 2f64.powi(-40)))
    }

    proptest! {
        /// Sums and products of wide numbers are exact for numbers of at most 53 bits.
        #[test]
        fn sums_and_products_are_exact(left in -(1i64 << 52)..1 << 52, right in -(1i64 << 52)..1 << 52) {
            let exact = |number: Wide, scale: i32| {
                (number.high * 2f64.powi(scale)) as i128 + (number.low * 2f64.powi(scale)) as i128
            };
            let (l, r) = (i128::from(left), i128::from(right));
            prop_assert_eq!(exact(wide(left).plus(wide(right)), 40), l + r);
            prop_assert_eq!(exact(wide(left).minus(wide(right)), 40), l - r);
            prop_assert_eq!(exact(wide(left).times(wide(right)), 80), l * r);
        }

        /// Dividing a wide number and multiplying the quotient by the divisor gives the dividend, to some 100
        /// bits.
        #[test]
        fn quotients_are_near(dividend in -1e18f64..1e18, divisor in 1u32..1_000_000) {
            let again = Wide::from(dividend).over(f64::from(divisor)).times(Wide::from(f64::from(divisor)));
            let apart = again.minus(Wide::from(dividend)).to_double().abs();
            prop_assert!(apart <= dividend.abs() * 2f64.powi(-100), "{again:?} {dividend}");
        }
    }

    /// Infinities and NaN as wide numbers behave as those of doubles.
    #[test]
    fn infinities_are_those_of_doubles() {
        let infinite = Wide::from(f64::INFINITY);
        assert_eq!(infinite.plus(Wide::from(1.0)).to_double(), f64::INFINITY);
        assert!(infinite.minus(infinite).to_double().is_nan());
        assert_eq!(Wide::from(1e300).times(Wide::from(1e300)).to_double(), f64::INFINITY);
        assert_eq!(Wide::from(1.0).over(0.0).to_double(), f64::INFINITY);
        assert!(Wide::from(f64::NAN).plus(Wide::ZERO).to_double().is_nan());
    }
}
