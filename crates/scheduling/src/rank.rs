//! What a policy answers: how urgent an operator is, and how long it may run.

use serde::{Deserialize, Serialize};
use thalweg_model::ProcessingTime;

/// How urgent an operator is. Smaller ranks run first: class ascending, then score descending, then tie
/// ascending.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rank {
    /// Classes never mix: all of class 0 runs before any of class 1.
    pub class: u8,
    /// Within a class, the higher runs first. Not NaN.
    pub score: f64,
    /// Between equal scores, the lower runs first.
    pub tie: u32,
}

impl Rank {
    /// The rank as one word, the smaller the more urgent: class in 4 bits, score in 44, tie in 16. Executors
    /// compare words, so that pool, simulator and replay agree to the bit. A score keeps its sign, its exponent and 32
    /// bits of its mantissa, so that whole numbers up to 2^33 are told apart; a class above 14 counts as 14, a tie
    /// modulo 2^16.
    #[inline]
    pub fn word(self) -> u64 {
        // Adding zero makes one of the two zeros, which are equal and differ in their bits.
        let bits = (self.score + 0.0).to_bits();
        // Order-preserving: the bits of doubles rise with their value above zero, and fall below.
        let rising = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
        let class = u64::from(self.class.min(14));
        class << 60 | (!rising >> 20) << 16 | u64::from(self.tie & 0xffff)
    }

    /// The word of an operator that can run and has no rank: class 15, behind all that have one. Executors publish it
    /// if the policy [conserves work](crate::Policy::conserves_work).
    #[inline]
    pub fn unranked_word(tie: u32) -> u64 {
        15 << 60 | u64::from(tie & 0xffff)
    }
}

/// Turns instants into scores that may be compared later: they are counted from an origin instead of from now, so
/// that a published score stays what it was while time goes by.
///
/// Nanoseconds since 1970 do not fit the 33 significant bits of a word. Counted from an origin that is at most 4.3 s
/// old they do: instants up to 8.6 s away are told apart to the nanosecond, those of an hour ago to the microsecond.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin(ProcessingTime);

impl Origin {
    /// How old an origin may get, in ns: half of the whole numbers that a word holds.
    const REACH_NS: u64 = 1 << 32;

    /// Moves the origin, if it is old. Scores from before and after do not compare, so all must be renewed with it:
    /// that is what [`EVERY_ROUND`](crate::Refresh::EVERY_ROUND) promises for calls from `prepare`. It seldom moves,
    /// because words of both kinds stand side by side until the round has renewed the last one.
    pub(crate) fn renew(&mut self, now: ProcessingTime) {
        if now.nanos_since(self.0) >= Self::REACH_NS {
            self.0 = now;
        }
    }

    /// The earlier `instant`, the higher.
    #[inline]
    pub(crate) fn score(self, instant: ProcessingTime) -> f64 {
        // One of the two is zero.
        self.0.nanos_since(instant) as f64 - instant.nanos_since(self.0) as f64
    }
}

/// How long an operator may run before the policy is asked again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Quantum {
    /// Records taken, at most; at least 1 is given. A source counts what it puts out instead, by its executor's rule.
    pub records: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words sort by class, then by falling score, then by tie.
    #[test]
    fn words_keep_the_order_of_ranks() {
        let rank = |class, score, tie| Rank { class, score, tie };
        let sorted = [
            rank(0, -5.0, 9),
            rank(1, f64::INFINITY, 0),
            rank(1, 2.0, 1),
            rank(1, 2.0, 2),
            rank(1, 1e-300, 0),
            rank(1, 0.0, 0),
            rank(1, -1e-300, 0),
            rank(1, -0.5, 0),
            rank(1, f64::NEG_INFINITY, 0),
            rank(2, 1e300, 0),
            rank(200, f64::NEG_INFINITY, 0xffff),
        ];
        assert!(sorted.windows(2).all(|pair| pair[0].word() < pair[1].word()));
        assert_eq!(rank(200, 0.0, 0).word() >> 60, 14);
        assert_eq!(rank(1, -0.0, 3).word(), rank(1, 0.0, 3).word());
    }

    /// What has no rank runs behind what has one, and "nothing", which executors write as all ones, behind both.
    #[test]
    fn the_unranked_come_last() {
        let last = Rank { class: 14, score: f64::NEG_INFINITY, tie: u32::MAX };
        assert!(last.word() < Rank::unranked_word(0));
        assert!(Rank::unranked_word(3) < Rank::unranked_word(4));
        assert!(Rank::unranked_word(u32::MAX) < u64::MAX);
    }

    /// Ages in nanoseconds up to a day keep a resolution that no clock of ours has.
    #[test]
    fn words_tell_ages_apart() {
        for age_ns in [1.0f64, 1e3, 1e6, 1e9, 8.64e13] {
            let older = Rank { class: 0, score: age_ns * (1.0 + 1e-9), tie: 0 };
            assert!(older.word() < Rank { class: 0, score: age_ns, tie: 0 }.word(), "{age_ns} ns");
        }
    }

    /// Instants of today, 8 seconds apart at most, keep their order to the nanosecond, on both sides of the origin;
    /// and the origin stays where it is for 4 seconds.
    #[test]
    fn scores_of_instants_are_exact_and_keep() {
        const TODAY_NS: u64 = 1_800_000_000_000_000_000;
        let at = |offset_ns: i64| ProcessingTime::from_nanos(TODAY_NS.strict_add_signed(offset_ns));
        let mut origin = Origin::default();
        origin.renew(at(0));
        let word = |origin: Origin, instant| Rank { class: 0, score: origin.score(instant), tie: 0 }.word();
        for offset_ns in [-8_000_000_000, -1, 0, 1, 4_000_000_000, 8_000_000_000] {
            assert!(word(origin, at(offset_ns)) < word(origin, at(offset_ns + 1)), "{offset_ns} ns");
        }
        let before = word(origin, at(17));
        origin.renew(at(4_000_000_000));
        assert_eq!(word(origin, at(17)), before);
        origin.renew(at(5_000_000_000));
        assert_ne!(word(origin, at(17)), before);
        assert!(word(origin, ProcessingTime::ZERO) < word(origin, at(0)));
        assert!(word(origin, at(0)) < word(origin, ProcessingTime::NEVER));
    }
}
