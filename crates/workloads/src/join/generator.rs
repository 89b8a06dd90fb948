//! The generator of the temporal join: random keys from a seed, computed on access.
//!
//! The paper draws "unique 64-bit integers" and does not say how many of them match. If every key were unique,
//! none would match. So keys are drawn evenly from as many different keys as a stream has records in the one
//! second that a record can match. Then each record matches one of the other stream on average, at any rate.
//! The number of matches of a record has nearly a Poisson distribution with mean 1: 37 % have none, 37 % have
//! one, 26 % have several.

use std::num::NonZeroU64;

use thalweg_model::{Entropy, EventTime, Generate, SeededEntropy};

use super::number::Number;

/// One of the two streams of the join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The first stream of the join.
    Left,
    /// The second stream of the join.
    Right,
}

/// The endless sequence of the records of one stream of the join. Nothing is cached.
#[derive(Clone, Copy, Debug)]
pub struct JoinGenerator {
    /// Start of the random sequence by which records choose among the keys.
    draws: u64,
    /// Start of the random sequence that makes the keys, the same for both streams.
    keys: u64,
    key_count: u64,
}

/// Distance between the states of two consecutive numbers of a SplitMix64 sequence, before they are mixed. It
/// is odd, so that no two states are equal.
const APART: u64 = 0x9e37_79b9_7f4a_7c15;

impl JoinGenerator {
    /// Creates a stream of `rate_per_s` records per second of event time; equal seeds give equal streams.
    pub fn new(seed: u64, side: Side, rate_per_s: NonZeroU64) -> Self {
        let mut entropy = SeededEntropy::new(seed);
        let [keys, left, right] = [(); 3].map(|()| entropy.next_u64());
        let draws = match side {
            Side::Left => left,
            Side::Right => right,
        };
        // A record matches records up to half a second before and after it, a second in all. With as many
        // keys as records in a second, a record has one match on average.
        JoinGenerator { draws, keys, key_count: rate_per_s.get() }
    }

    /// Returns the stream with another number of join keys.
    #[must_use]
    pub fn with_keys(self, key_count: NonZeroU64) -> Self {
        JoinGenerator { key_count: key_count.get(), ..self }
    }

    /// Returns the number of different join keys.
    pub fn key_count(&self) -> u64 {
        self.key_count
    }
}

impl Generate for JoinGenerator {
    type Item = Number;

    const IS_CHEAP: bool = true;

    #[inline]
    fn value(&self, index: u64, _event_time: EventTime) -> Number {
        let drawn = at(self.draws, index).below(self.key_count);
        // SplitMix64 mixes a 64-bit number injectively, so different numbers have different keys.
        Number { key: at(self.keys, drawn).next_u64(), number: index }
    }

    fn cache_bytes(&self) -> usize {
        0
    }
}

/// Returns the state of a SplitMix64 generator whose next number is the one at `index` of the sequence that
/// starts from the given state.
#[inline]
fn at(start: u64, index: u64) -> SeededEntropy {
    SeededEntropy::new(start.wrapping_add(index.wrapping_mul(APART)))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn generator(seed: u64, side: Side) -> JoinGenerator {
        JoinGenerator::new(seed, side, NonZeroU64::new(1_000).unwrap())
    }

    fn keys(generator: &JoinGenerator, count: u64) -> Vec<u64> {
        (0..count).map(|index| generator.value(index, EventTime::EPOCH).key).collect()
    }

    #[test]
    fn a_seed_repeats_its_streams() {
        let keys = |seed, side| keys(&generator(seed, side), 1_000);
        assert_eq!(keys(7, Side::Left), keys(7, Side::Left));
        assert_ne!(keys(7, Side::Left), keys(8, Side::Left));
        assert_ne!(keys(7, Side::Left), keys(7, Side::Right));
        assert_eq!(generator(7, Side::Left).value(5, EventTime::EPOCH).number, 5);
        assert_eq!(generator(7, Side::Left).cache_bytes(), 0);
    }

    #[test]
    fn keys_are_as_many_as_asked_for() {
        let generator = generator(3, Side::Left).with_keys(NonZeroU64::new(7).unwrap());
        let found = keys(&generator, 1_000).into_iter().collect::<BTreeSet<_>>();
        assert_eq!((found.len(), generator.key_count()), (7, 7));
    }

    /// The streams have as many different keys as promised. The keys are the same in both streams, spread
    /// over 64 bits and drawn evenly.
    #[test]
    fn keys_are_shared_and_drawn_evenly() {
        let (left, right) = (generator(3, Side::Left), generator(3, Side::Right));
        let (left, right) = (keys(&left, 50_000), keys(&right, 50_000));
        let different = left.iter().collect::<BTreeSet<_>>();
        assert_eq!((different.len(), &different), (1_000, &right.iter().collect()));
        assert!((450..550).contains(&different.iter().filter(|key| ***key < 1 << 63).count()));
        let mut times: BTreeMap<u64, u32> = BTreeMap::new();
        left.iter().for_each(|key| *times.entry(*key).or_default() += 1);
        assert!(times.values().all(|times| (15..100).contains(times)), "{times:?}");
    }
}
