//! Ranks and quanta: how urgent an operator is, and how long it may run.

use serde::{Deserialize, Serialize};
use thalweg_model::ProcessingTime;

/// Urgency of an operator. Smaller ranks run first: by class ascending, then by score descending, then by
/// tie-break ascending.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rank {
    /// Class of the rank. Every operator of class 0 runs before any operator of class 1, and so on.
    pub class: u8,
    /// Score of the rank: within a class, the higher score runs first. Not NaN.
    pub score: f64,
    /// Tie-break of the rank: between equal scores, the lower number runs first.
    pub tie: u32,
}

impl Rank {
    /// Returns the rank as one word: class in 4 bits, score in 44, tie in 16. The smaller word is the more urgent.
    /// Executors compare words, so that worker pool, simulator and replay agree to the bit. A score keeps its sign, its
    /// exponent and 32 bits of its mantissa, so that whole numbers up to 2^33 stay distinct. A class above 14 counts as
    /// 14; a tie is taken modulo 2^16.
    #[inline]
    pub fn word(self) -> u64 {
        // Adding zero turns -0.0 into +0.0: these numbers are equal but differ in their bits.
        let bits = (self.score + 0.0).to_bits();
        // The bits of positive doubles rise with their value and those of negative doubles fall. This mapping
        // makes all of them rise.
        let rising = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
        let class = u64::from(self.class.min(14));
        class << 60 | (!rising >> 20) << 16 | u64::from(self.tie & 0xffff)
    }

    /// Returns the word of an operator that can run but has no rank: class 15, behind all ranked operators.
    /// Executors publish it if the policy [conserves work](crate::Policy::conserves_work).
    #[inline]
    pub fn unranked_word(tie: u32) -> u64 {
        15 << 60 | u64::from(tie & 0xffff)
    }
}

/// Origin for scores made of instants. A published score is compared later, so an instant is counted from this origin
/// and not from `now`: the score stays the same while time passes.
///
/// Nanoseconds since 1970 do not fit the 33 significant bits of a word. Counted from an origin that is at most 4.3 s
/// old they do: instants up to 8.6 s away are exact to the nanosecond, instants of an hour ago to the microsecond.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin(ProcessingTime);

impl Origin {
    /// Greatest age of an origin of scores, in ns, which is about 4.3 s: half of the greatest whole number up
    /// to which the score in a [word](Rank::word) is exact.
    const REACH_NS: u64 = 1 << 32;

    /// Moves the origin of scores if it is too old. Scores from before and after a move cannot be compared,
    /// so all scores must be renewed with it. [`EVERY_ROUND`](crate::Refresh::EVERY_ROUND) promises this for
    /// calls from `prepare`. The origin moves seldom, because words of both origins are compared until the
    /// round of ranking has renewed the last one.
    pub(crate) fn renew(&mut self, now: ProcessingTime) {
        if now.nanos_since(self.0) >= Self::REACH_NS {
            self.0 = now;
        }
    }

    /// Returns the score of `instant`: the nanoseconds by which it lies before this origin, negative if it is
    /// later.
    #[inline]
    pub(crate) fn score(self, instant: ProcessingTime) -> f64 {
        // Either the instant or the origin is later, so one of the two differences is zero: a difference of
        // instants is never below zero.
        self.0.nanos_since(instant) as f64 - instant.nanos_since(self.0) as f64
    }
}

/// Limit on one run of an operator, after which the policy is asked again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Quantum {
    /// Greatest number of records that the run may take; every run may take at least 1. For a source, the
    /// limit is on the records that it puts out, counted as the executor defines.
    pub records: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of ranks sort by class, then by falling score, then by tie-break.
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

    /// The word of an operator without a rank sorts after every rank, and before the word of all ones, which
    /// executors write for "nothing to do".
    #[test]
    fn the_unranked_come_last() {
        let last = Rank { class: 14, score: f64::NEG_INFINITY, tie: u32::MAX };
        assert!(last.word() < Rank::unranked_word(0));
        assert!(Rank::unranked_word(3) < Rank::unranked_word(4));
        assert!(Rank::unranked_word(u32::MAX) < u64::MAX);
    }

    /// Words of ranks tell ages apart that differ by 1e-9 of their value, up to a day. This is finer than any
    /// clock used here.
    #[test]
    fn words_tell_ages_apart() {
        for age_ns in [1.0f64, 1e3, 1e6, 1e9, 8.64e13] {
            let older = Rank { class: 0, score: age_ns * (1.0 + 1e-9), tie: 0 };
            assert!(older.word() < Rank { class: 0, score: age_ns, tie: 0 }.word(), "{age_ns} ns");
        }
    }

    /// Scores of present-day instants that are at most 8 s apart keep their order to the nanosecond, before
    /// and after the origin of scores. The origin does not move for 4 s.
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
