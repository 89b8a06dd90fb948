//! A hash function without a seed, equal on every machine, because the results of ETL and STATS contain its
//! hashes.

/// Returns 64 well mixed bits of some bytes.
///
/// Source: FNV-1a in 64 bits (draft-eastlake-fnv), whose result is then mixed by the last steps of SplitMix64 (Steele,
/// Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, figure 17), since the low bits of
/// FNV-1a alone are not spread evenly.
///
/// ```
/// use thalweg_workloads::riot::hash::hash;
/// assert_ne!(hash(b"one"), hash(b"two"));
/// ```
pub fn hash(bytes: &[u8]) -> u64 {
    let fnv = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lowest and the highest ten bits of the hashes of similar texts take nearly all values.
    #[test]
    fn bits_are_spread() {
        let hashes: Vec<u64> =
            (0..20_000).map(|number: u32| hash(format!("sensor-{number}").as_bytes())).collect();
        for shift in [0, 54] {
            let mut seen = [false; 1 << 10];
            hashes.iter().for_each(|hash| seen[(hash >> shift) as usize & 1_023] = true);
            assert!(seen.iter().filter(|seen| **seen).count() > 1_020);
        }
    }
}
