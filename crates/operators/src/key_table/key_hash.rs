//! The hash of keys: seeded, and one multiplication for a key that is one number.
//!
//! A single integer is multiplied by a secret odd number, and the table takes the upper bits: multiply-shift hashing.
//! Any two keys chosen without knowledge of the secret then collide with a probability of at most twice that of
//! chance, if every odd number is equally likely (Dietzfelbinger et al., "A Reliable Randomized Algorithm for the
//! Closest-Pair Problem", J. Algorithms 25, 1997, section 2).
//!
//! Consecutive keys, the common case, then lie at the multiples of a fraction of the table. They spread
//! evenly, hence nearly without collisions and mispredicted probes, if no small multiple of that fraction
//! comes close to a whole number (Knuth, TAOCP volume 3, section 6.4, theorem S and exercise 9). The hash
//! takes the first such multiplier among the numbers that follow from the seed. Without this choice, one seed
//! in a few costs a query 40 % of its speed. There are some 2^51 such numbers, too many to guess. But the
//! bound above is not proven for them, and for keys far apart only its mean over seeds is tested.
//!
//! All other keys, strings and compound keys, go through foldhash, seeded.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::SharedSeed;
use foldhash::fast::{FoldHasher, SeedableRandomState};
use thalweg_model::{Entropy, SeededEntropy};

/// Number of multiples of a multiplier that are checked: so many consecutive keys hardly collide. The search
/// for a multiplier takes some 150,000 multiplications for each seed, which is 0.1 ms.
const MULTIPLES_CHECKED: u64 = 1 << 15;

/// Largest number of multipliers tried for one seed: 30 times as many as are needed on average. If none is
/// suitable, the golden ratio is taken, which is no secret. That happens for one seed in 10^14 and takes four
/// milliseconds.
const DRAWS_MAX: usize = 1 << 17;

/// Bound on how close multiples of the multiplier's fraction may come to a whole number: multiple `n` no
/// closer than `1 / (n * CLOSENESS)`. The golden ratio, the best there is, keeps a distance of 1 / (2.24 n).
/// About one number in 4,000 satisfies this bound.
const CLOSENESS: u64 = 4;

/// The fractional part of the golden ratio, in units of 2^-64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Seed of the hash that chooses partitions. It differs from that of tables without a seed, so the keys of
/// one partition do not crowd in one part of such a table.
const PARTITION_SEED: u64 = 0x6c61_6e65;

/// A seeded hash function for the keys of hash tables.
#[derive(Clone, Debug)]
pub(crate) struct KeyHash {
    /// A secret odd number by which keys that are one integer are multiplied.
    multiplier: u64,
    fold: SeedableRandomState,
}

impl KeyHash {
    /// Creates the hash function for keys that follows from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        let mut entropy = SeededEntropy::new(seed);
        let mut drawn = std::iter::repeat_with(|| entropy.next_u64() | 1).take(DRAWS_MAX);
        KeyHash { multiplier: drawn.find(|&number| spreads(number)).unwrap_or(GOLDEN), fold: fold(seed) }
    }

    /// Returns whether two hash functions give every key the same value.
    pub(crate) fn is_same(&self, other: &KeyHash) -> bool {
        // The multiplier and the seed of foldhash both follow from one seed, so comparing the hash of one key
        // is enough.
        self.multiplier == other.multiplier && self.fold.hash_one(1u64) == other.fold.hash_one(1u64)
    }

    /// Returns a hash that is no secret: for keys that are chosen by the query, not by its input, and for operators
    /// that have not drawn a seed. Its multiplier is the golden ratio, whose multiples stay farthest from whole
    /// numbers: no other spreads consecutive keys as evenly.
    pub(crate) fn known() -> Self {
        KeyHash { multiplier: GOLDEN, fold: fold(0) }
    }

    /// Returns the hash of `key`. Its upper bits are spread best, so tables use these.
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

/// Returns the seeded foldhash, for keys that are not a single number.
fn fold(seed: u64) -> SeedableRandomState {
    SeedableRandomState::with_seed(seed, SharedSeed::global_fixed())
}

/// Returns whether no small multiple of `multiplier / 2^64` comes close to a whole number. Consecutive keys
/// then spread evenly over a table.
fn spreads(multiplier: u64) -> bool {
    (1..=MULTIPLES_CHECKED).all(|n| {
        let fraction = multiplier.wrapping_mul(n);
        let distance = fraction.min(fraction.wrapping_neg());
        // The condition is `distance >= (2^64 - 1) / (n * CLOSENESS)`, rounded down. It is written without
        // the division, which takes four times as long.
        (u128::from(distance) + 1) * u128::from(n * CLOSENESS) >= 1 << 64
    })
}

/// A hasher that finds out whether a key is one number. Once it is inlined, the compiler knows its state, and
/// the branches disappear.
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

    /// Keys that differ get different hashes, for all types of keys, and another seed gives other hashes.
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

    /// For every seed, consecutive numbers in a half-full table hardly share a slot. Numbers at other
    /// distances share about as many slots as random ones do.
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
        // For comparison: random hashes put 512 keys into 403 of 1,024 slots.
        let mean: usize = (0..100).map(|seed| slots_of(seed, 1_000)).sum::<usize>() / 100;
        assert!(mean >= 350, "{mean} slots of 512 keys");
    }

    /// The golden ratio, which is taken if no number of a seed is suitable, spreads consecutive keys evenly;
    /// some other numbers do not.
    #[test]
    fn the_golden_ratio_spreads_and_one_does_not() {
        assert!(spreads(GOLDEN));
        assert!(!spreads(1));
        // A multiplier of a third of 2^64 is rejected: its third multiple is next to a whole number.
        assert!(!spreads(u64::MAX / 3));
    }

    /// Consecutive keys also spread evenly in tables that are too large for a first-level cache.
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
