//! What a policy answers: how urgent an operator is, and how long it may run.

use std::cmp::Ordering;

/// How urgent an operator is. Smaller ranks run first: class ascending, then score descending, then tie
/// ascending.
#[derive(Clone, Copy, Debug)]
pub struct Rank {
    /// Classes never mix: all of class 0 runs before any of class 1.
    pub class: u8,
    /// Within a class, the higher runs first. Not NaN.
    pub score: f64,
    /// Between equal scores, the lower runs first.
    pub tie: u32,
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        self.class
            .cmp(&other.class)
            .then_with(|| other.score.total_cmp(&self.score))
            .then_with(|| self.tie.cmp(&other.tie))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rank {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Rank {}

/// How long an operator may run before the policy is asked again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quantum {
    /// Records taken, at most; at least 1 is given.
    pub records: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_sort_by_class_then_score_then_tie() {
        let rank = |class, score, tie| Rank { class, score, tie };
        let sorted =
            [rank(0, -5.0, 9), rank(1, 2.0, 1), rank(1, 2.0, 2), rank(1, -0.5, 0), rank(2, 1e300, 0)];
        assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
