//! Sum: the exact sum of integers. It has 128 bits: 2^63 values of 64 bits do not overflow it. If values of 128 bits
//! do, the sum panics and the query fails, so a result is never silently wrong.

use thalweg_model::Fold;

/// Aggregate that sums integers of up to 64 bits, or of 128 bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum;

/// High and low 64 bits of a sum. A number of 128 bits would be aligned to 16 bytes, and so would be each
/// table slot that holds it. Such a slot takes 48 bytes for a key of 8 bytes, instead of 32.
type Halves = (i64, u64);

#[inline(always)]
fn whole((high, low): Halves) -> i128 {
    i128::from(high) << 64 | i128::from(low)
}

#[inline(always)]
fn halves(sum: Option<i128>) -> Halves {
    let sum = sum.expect("a sum of 128-bit values does not fit into 128 bits");
    ((sum >> 64) as i64, sum as u64)
}

impl<V: Copy + Into<i128>> Fold<V> for Sum {
    type Accumulator = Halves;
    type Result = i128;

    #[inline(always)]
    fn create(&self) -> Halves {
        (0, 0)
    }

    #[inline(always)]
    fn fold(&self, accumulator: &mut Halves, value: &V) {
        *accumulator = halves(whole(*accumulator).checked_add((*value).into()));
    }

    fn merge(&self, accumulator: &mut Halves, other: Halves) {
        *accumulator = halves(whole(*accumulator).checked_add(whole(other)));
    }

    const INVERTS: bool = true;

    fn unmerge(&self, accumulator: &mut Halves, other: &Halves) {
        *accumulator = halves(whole(*accumulator).checked_sub(whole(*other)));
    }

    fn finish(&self, accumulator: Halves) -> i128 {
        whole(accumulator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::laws::check_inverse;

    #[test]
    fn keeps_the_laws() {
        check_inverse(&Sum, &[3i64, -8, 0, 4], |sum| assert_eq!(sum, -1));
        check_inverse(&Sum, &[i64::MAX; 9], |sum| assert_eq!(sum, 9 * i128::from(i64::MAX)));
        check_inverse(&Sum, &[i64::MIN; 9], |sum| assert_eq!(sum, 9 * i128::from(i64::MIN)));
        check_inverse(&Sum, &[u64::MAX, 1, 7], |sum| assert_eq!(sum, i128::from(u64::MAX) + 8));
        check_inverse(&Sum, &[200u8, 200], |sum| assert_eq!(sum, 400));
    }

    #[test]
    #[should_panic(expected = "does not fit into 128 bits")]
    fn is_never_wrong_in_silence() {
        check_inverse(&Sum, &[i128::MAX, 1], drop);
    }
}
