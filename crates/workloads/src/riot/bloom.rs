//! A Bloom filter: a set of byte strings. It always finds a member, and seldom finds a string that is no member.

use super::hash::hash;

/// Share of texts outside the set that the filter takes for members. Source: the CITY constants of RIoTBench.
pub const FALSE_SHARE: f64 = 0.01;

/// A Bloom filter of byte strings, of about 9.6 bits per member.
///
/// Source: Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM 13(7), 1970, and its usual sizes:
/// for `n` members and a share `p` of errors, `-n ln p / (ln 2)^2` bits and `-log2 p` hash functions. These functions
/// are derived from two, as in Kirsch and Mitzenmacher, "Less Hashing, Same Performance: Building a Better Bloom
/// Filter", ESA 2006.
#[derive(Clone, Debug)]
pub struct BloomFilter {
    /// Bits of the filter, 64 to a word. There is at least one word.
    words: Vec<u64>,
    /// Number of bits that each member of the set sets to 1.
    probes: u32,
}

impl BloomFilter {
    /// Creates an empty filter for up to `members` members. With so many, a share of [`FALSE_SHARE`] of the strings
    /// outside the set counts as members.
    pub fn new(members: usize) -> Self {
        let bits = -(members.max(1) as f64) * FALSE_SHARE.ln() / std::f64::consts::LN_2.powi(2);
        let probes = -FALSE_SHARE.log2();
        BloomFilter { words: vec![0; (bits / 64.0).ceil() as usize], probes: probes.ceil() as u32 }
    }

    /// Adds a member to the set.
    pub fn insert(&mut self, member: &[u8]) {
        for bit in self.bits_of(member) {
            self.words[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Returns false if `text` is certainly not in the set. For texts outside the set it returns true in a share of
    /// about [`FALSE_SHARE`] of all cases.
    pub fn may_contain(&self, text: &[u8]) -> bool {
        self.bits_of(text).all(|bit| self.words[bit / 64] >> (bit % 64) & 1 == 1)
    }

    /// Returns the indexes of the bits that stand for a string. All of them are 1 if the string is a member.
    fn bits_of(&self, text: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let (first, count) = (hash(text), self.words.len() as u64 * 64);
        // The distance between two bit indexes is odd, so it is not zero, which would make all indexes equal.
        let step = first.rotate_left(32) | 1;
        (0..u64::from(self.probes))
            .map(move |probe| (first.wrapping_add(probe.wrapping_mul(step)) % count) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_and_few_others() {
        let text = |number: u32| format!("sensor-{number}").into_bytes();
        let mut filter = BloomFilter::new(2_000);
        (0..2_000).for_each(|number| filter.insert(&text(number)));
        assert!((0..2_000).all(|number| filter.may_contain(&text(number))));
        let wrong = (2_000..52_000).filter(|&number| filter.may_contain(&text(number))).count();
        assert!((200..900).contains(&wrong), "{wrong} of 50,000");
        assert!(!BloomFilter::new(0).may_contain(b"any"));
    }
}
