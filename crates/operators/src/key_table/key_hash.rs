//! The hash of keys: seeded, and one multiplication for a key that is one number.
//!
//! A single integer is multiplied by a secret odd number, and the table takes the upper bits: multiply-shift hashing.
//! Any two keys chosen without knowledge of the secret then collide with a probability of at most twice that of
//! chance, if every odd number is equally likely (Dietzfelbinger et al., "A Reliable Randomized Algorithm for the
//! Closest-Pair Problem", J. Algorithms 25, 1997, section 2).
//!
//! Consecutive keys, the common case, then lie at the multiples of a fraction of the table. They spread evenly, hence
//! nearly without collisions and mispredicted probes, if no small multiple of that fraction comes close to a whole
//! number (Knuth, TAOCP volume 3, section 6.4, theorem S and exercise 9). Of the numbers that follow from the seed,
//! the first of that kind is taken. Without this choice, one seed in a few costs a query 40 % of its speed. There are
//! some 2^51 such numbers, too many to guess. But the bound above is not proven for them, and for keys far apart only
//! its mean over seeds is tested.
//!
//! All other keys, strings and compound keys, go through foldhash, seeded.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::SharedSeed;
use foldhash::fast::{FoldHasher, SeedableRandomState};
use thalweg_model::{Entropy, SeededEntropy};

/// Number of multiples that are checked: that many consecutive keys hardly collide. Finding a multiplier takes some
/// 150,000 multiplications for each seed: 0.1 ms.
const MULTIPLES_CHECKED: u64 = 1 << 15;

/// Largest number of multipliers tried, 30 times as many as are needed on average; then the golden ratio is taken,
/// which is no secret. That happens for one seed in 10^14, and takes four milliseconds.
const DRAWS_MAX: usize = 1 << 17;

/// How close a multiple may come to a whole number: multiple `n` no closer than `1 / (n * CLOSENESS)`. The golden
/// ratio, the best there is, keeps a distance of 1 / (2.24 n); about one number in 4,000 satisfies this bound.
const CLOSENESS: u64 = 4;

/// The golden ratio's fraction in units of 2^-64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Seed of the partition hash, so that it differs from the hash of tables that have drawn no seed.
const PARTITION_SEED: u64 = 0x6c61_6e65;

/// Hashes keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyHash {
    /// A secret odd number.
    multiplier: u64,
    fold: SeedableRandomState,
}

impl KeyHash {
    /// Creates the hash that follows from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        let mut entropy = SeededEntropy::new(seed);
        let mut drawn = std::iter::repeat_with(|| entropy.next_u64() | 1).take(DRAWS_MAX);
        KeyHash { multiplier: drawn.find(|&number| spreads(number)).unwrap_or(GOLDEN), fold: fold(seed) }
    }

    /// Returns whether both hashes give every key the same value.
    pub(crate) fn is_same(&self, other: &KeyHash) -> bool {
        // Multiplier and fold follow from one seed, so one key is enough.
        self.multiplier == other.multiplier && self.fold.hash_one(1u64) == other.fold.hash_one(1u64)
    }

    /// Returns a hash that is no secret: for keys that are chosen by the query, not by its input, and for operators
    /// that have not drawn a seed. Its multiplier is the golden ratio, whose multiples stay farthest from whole
    /// numbers: no other spreads consecutive keys as evenly.
    pub(crate) fn known() -> Self {
        KeyHash { multiplier: GOLDEN, fold: fold(0) }
    }

    /// Returns the hash of `key`; its upper bits are the best ones.
    #[inline(always)]
    pub(crate) fn of<K: Hash>(&self, key: &K) -> u64 {
        let mut hasher = KeyHasher { state: State::Empty, fold: self.fold.build_hasher() };
        key.hash(&mut hasher);
        match hasher.state {
            State::OneNumber(number) => number.wrapping_mul(self.multiplier),
            _ => hasher.fold.finish(),
        }
    }
}

/// Returns the hash of `key` by which a partition is chosen, equal for all writers, so it is no secret. Tables that
/// have drawn a seed, as all tables in an engine have, use another hash, so the keys of one partition spread there.
/// Keys chosen against it can all go to one partition, which costs the speed of the others and no more. Its upper
/// bits are the best ones.
#[inline(always)]
pub(crate) fn partition_hash<K: Hash>(key: &K) -> u64 {
    KeyHash { multiplier: GOLDEN, fold: fold(PARTITION_SEED) }.of(key)
}

/// Returns the hasher for keys that are not one number.
fn fold(seed: u64) -> SeedableRandomState {
    SeedableRandomState::with_seed(seed, SharedSeed::global_fixed())
}

/// Returns whether no small multiple of `multiplier / 2^64` comes close to a whole number.
fn spreads(multiplier: u64) -> bool {
    (1..=MULTIPLES_CHECKED).all(|n| {
        let fraction = multiplier.wrapping_mul(n);
        let distance = fraction.min(fraction.wrapping_neg());
        // `distance >= (2^64 - 1) / (n * CLOSENESS)`, rounded down, without the division, which takes four times as
        // long.
        (u128::from(distance) + 1) * u128::from(n * CLOSENESS) >= 1 << 64
    })
}

/// Finds out whether a key is one number. Once inlined, the state is known at compile time.
struct KeyHasher<'a> {
    state: State,
    fold: FoldHasher<'a>,
}

#[derive(Clone, Copy)]
enum State {
    Empty,
    OneNumber(u64),
    More,
}

impl KeyHasher<'_> {
    #[inline(always)]
    fn number(&mut self, number: u64) {
        match self.state {
            State::Empty => self.state = State::OneNumber(number),
            State::OneNumber(first) => {
                self.fold.write_u64(first);
                self.fold.write_u64(number);
                self.state = State::More;
            }
            State::More => self.fold.write_u64(number),
        }
    }
}

impl Hasher for KeyHasher<'_> {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        if let State::OneNumber(first) = self.state {
            self.fold.write_u64(first);
        }
        self.state = State::More;
        self.fold.write(bytes);
    }

    #[inline(always)]
    fn write_u8(&mut self, number: u8) {
        self.number(number.into());
    }

    #[inline(always)]
    fn write_u16(&mut self, number: u16) {
        self.number(number.into());
    }

    #[inline(always)]
    fn write_u32(&mut self, number: u32) {
        self.number(number.into());
    }

    #[inline(always)]
    fn write_u64(&mut self, number: u64) {
        self.number(number);
    }

    #[inline(always)]
    fn write_usize(&mut self, number: usize) {
        self.number(number as u64);
    }

    fn finish(&self) -> u64 {
        self.fold.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Different keys have different hashes, for all kinds of keys, and seeds matter.
    #[test]
    fn kinds_of_keys() {
        let hash = KeyHash::new(5);
        assert_ne!(hash.of(&1u64), hash.of(&2u64));
        assert_ne!(hash.of(&(1u16, 2u16)), hash.of(&(2u16, 1u16)));
        assert_ne!(hash.of(&"ab"), hash.of(&"ba"));
        assert_ne!(hash.of(&(1u64, "a")), hash.of(&(2u64, "a")));
        assert_ne!(hash.of(&-1i64), hash.of(&1i64));
        assert_eq!(hash.of(&"same"), KeyHash::new(5).of(&"same".to_owned()));
        assert_ne!(hash.of(&7u64), KeyHash::new(6).of(&7u64));
        assert_ne!(hash.of(&"a"), KeyHash::new(6).of(&"a"));
    }

    /// For every seed, consecutive numbers hardly share a slot at half load. Numbers at other strides share about as
    /// many slots as chance gives.
    #[test]
    fn numbers_in_a_row_spread() {
        let slots_of = |seed: u64, stride: u64| {
            let hash = KeyHash::new(seed);
            let mut slots: Vec<u64> = (0..512).map(|n| hash.of(&(n * stride)) >> 54).collect();
            slots.sort_unstable();
            slots.dedup();
            slots.len()
        };
        for seed in 0..100 {
            let slots = slots_of(seed, 1);
            assert!(slots >= 460, "seed {seed}: {slots} slots of 512 keys");
        }
        // At random, 512 keys take 403 of 1,024 slots.
        let mean: usize = (0..100).map(|seed| slots_of(seed, 1_000)).sum::<usize>() / 100;
        assert!(mean >= 350, "{mean} slots of 512 keys");
    }

    /// The golden ratio, which is taken if no number of a seed spreads, does spread; some other numbers do not.
    #[test]
    fn the_golden_ratio_spreads_and_one_does_not() {
        assert!(spreads(GOLDEN));
        assert!(!spreads(1));
        // A third of 2^64: its third multiple is next to a whole number.
        assert!(!spreads(u64::MAX / 3));
    }

    /// Many consecutive numbers spread as well, in tables that no first-level cache holds.
    #[test]
    fn many_numbers_in_a_row_spread() {
        for seed in 0..20 {
            let hash = KeyHash::new(seed);
            let mut slots: Vec<u64> = (0..1 << 15).map(|n: u64| hash.of(&n) >> 48).collect();
            slots.sort_unstable();
            slots.dedup();
            assert!(slots.len() >= 30_000, "seed {seed}: {} slots of 32,768 keys", slots.len());
        }
    }
}
