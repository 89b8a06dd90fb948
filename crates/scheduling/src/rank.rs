//! What a policy answers: how urgent an operator is, and how long it may run.

/// How urgent an operator is. Smaller ranks run first: class ascending, then score descending, then tie
/// ascending.
#[derive(Clone, Copy, PartialEq, Debug)]
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
    /// bits of its mantissa; a class above 14 counts as 14 (15 stands for pending but unranked), a tie modulo 2^16.
    #[inline]
    pub fn word(self) -> u64 {
        let bits = self.score.to_bits();
        // Order-preserving: the bits of doubles rise with their value above zero, and fall below.
        let rising = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
        let class = u64::from(self.class.min(14));
        class << 60 | (!rising >> 20) << 16 | u64::from(self.tie & 0xffff)
    }
}

/// How long an operator may run before the policy is asked again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
        ];
        assert!(sorted.windows(2).all(|pair| pair[0].word() < pair[1].word()));
        assert_eq!(rank(200, 0.0, 0).word() >> 60, 14);
    }

    /// Ages in nanoseconds up to a day keep a resolution that no clock of ours has.
    #[test]
    fn words_tell_ages_apart() {
        for age_ns in [1.0f64, 1e3, 1e6, 1e9, 8.64e13] {
            let older = Rank { class: 0, score: age_ns * (1.0 + 1e-9), tie: 0 };
            assert!(older.word() < Rank { class: 0, score: age_ns, tie: 0 }.word(), "{age_ns} ns");
        }
    }
}
