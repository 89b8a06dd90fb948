//! Random draws for workload generators: bits by index, and choices made from these bits.
//!
//! A value depends only on a seed and an index, such as the number of the row. So any column can be generated
//! without the others, from any row on.
//!
//! Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, section 5: SplitMix64, whose
//! state is a counter. Ranges: Lemire, "Fast Random Integer Generation in an Interval", 2019, section 3, without the
//! rejection: the bias is below `count / 2^64`.

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the 64 random bits with the index `place` in the random sequence of the seed `seed`.
#[inline(always)]
pub(super) fn at(seed: u64, place: u64) -> u64 {
    let mut bits = seed.wrapping_add(place.wrapping_add(1).wrapping_mul(GAMMA));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Maps 64 random bits to a number in `[0, count)`; returns 0 if `count` is 0.
#[inline(always)]
pub(super) fn below(bits: u64, count: u64) -> u64 {
    split(bits, count).0
}

/// Maps 64 random bits to a number in `[0, count)`, and returns the unused bits as well. The number takes
/// about `log2(count)` of the random bits; the returned bits have the rest, and can be used for another draw.
#[inline(always)]
pub(super) fn split(bits: u64, count: u64) -> (u64, u64) {
    let product = u128::from(bits) * u128::from(count);
    ((product >> 64) as u64, product as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers drawn from random bits are spread evenly over the whole range, and the bits that a draw leaves
    /// are random, too.
    #[test]
    fn choices_are_even_and_what_they_leave_is_random() {
        let mut counts = [[0_u64; 4]; 3];
        for place in 0..120_000 {
            let (first, rest) = split(at(7, place), 3);
            counts[first as usize][below(rest, 4) as usize] += 1;
        }
        let is_near = |count: &u64| count.abs_diff(10_000) < 500;
        assert!(counts.iter().flatten().all(is_near), "{counts:?}");
        assert_eq!(below(u64::MAX, 0), 0);
        assert_eq!(below(u64::MAX, 1), 0);
        assert_eq!(below(u64::MAX, 10), 9);
    }
}
