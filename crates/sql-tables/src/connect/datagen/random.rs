//! Random numbers by index: the number with an index is computed without the numbers before it.
//!
//! Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, section 5: SplitMix64, whose
//! state is a counter.

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the 64 random bits with the index `place` in the random sequence of the seed `seed`.
#[inline(always)]
pub(super) fn at(seed: u64, place: u64) -> u64 {
    let mut bits = seed.wrapping_add(place.wrapping_add(1).wrapping_mul(GAMMA));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Maps 64 random bits to a number from 0 to `most`, both included.
///
/// Source: Lemire, "Fast Random Integer Generation in an Interval", 2019, section 3, without its rejection: the bias is below
/// `most / 2^64`.
#[inline(always)]
pub(super) fn up_to(bits: u64, most: u64) -> u64 {
    match most.checked_add(1) {
        Some(count) => ((u128::from(bits) * u128::from(count)) >> 64) as u64,
        None => bits,
    }
}

/// Maps 64 random bits to a number in `[0, 1)`, in steps of 2^-53.
#[inline(always)]
pub(super) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
