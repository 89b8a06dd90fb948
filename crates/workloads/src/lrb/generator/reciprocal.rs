//! Division by a number that is known early and used often, by multiplication: a 64-bit division takes as long
//! as the rest of a generated record.

/// `floor(2^64 / divisor)`, and the divisor. Source: Granlund and Montgomery, "Division by Invariant Integers
/// using Multiplication", PLDI 1994, in the simplest form: one correction in place of the exact multiplier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reciprocal {
    divisor: u64,
    inverse: u64,
}

impl Reciprocal {
    /// Creates the reciprocal of a number above zero.
    pub(super) fn of(divisor: u64) -> Self {
        assert!(divisor > 0, "nothing is divided by zero");
        let inverse = (1u128 << 64) / u128::from(divisor);
        // The reciprocal of 1 would be 2^64, which needs 65 bits. So 2^64 - 1 is stored, and the correction
        // of the quotient makes up for the difference.
        Reciprocal { divisor, inverse: u64::try_from(inverse).unwrap_or(u64::MAX) }
    }

    /// Returns the quotient and the remainder of a division by multiplication.
    #[inline]
    pub(super) fn divide(self, number: u64) -> (u64, u64) {
        // The stored reciprocal is at most one below `2^64 / divisor`, so this estimate is at most one below
        // the quotient.
        let estimate = ((u128::from(number) * u128::from(self.inverse)) >> 64) as u64;
        let remainder = number - estimate * self.divisor;
        let is_short = remainder >= self.divisor;
        (estimate + u64::from(is_short), if is_short { remainder - self.divisor } else { remainder })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_divides(
            number in prop_oneof![any::<u64>(), 0u64..1_000, Just(u64::MAX)],
            divisor in prop_oneof![1u64..1_000, 1u64..=u64::MAX, Just(u64::MAX), (0u32..64).prop_map(|n| 1 << n)],
        ) {
            prop_assert_eq!(Reciprocal::of(divisor).divide(number), (number / divisor, number % divisor));
            let multiple = number / divisor * divisor;
            prop_assert_eq!(Reciprocal::of(divisor).divide(multiple), (multiple / divisor, 0));
        }
    }
}
