//! Turn counts for policies in which each operator takes one turn per cycle.
//!
//! An operator with nothing to do is passed over. When it has work again it joins the current cycle, with the count
//! of the last operator chosen, and does not make up for missed turns. This is how virtual time is kept in
//! "Start-time Fair Queuing" (Goyal, Vin and Cheng, SIGCOMM 1996), with turns in place of bytes.

use crate::snapshot::OperatorId;

/// Greatest distance, in turns, between the turn count of an operator (the number of turns that it has taken) and
/// the turn count whose score is zero. Scores hold whole numbers of this size exactly.
pub(crate) const REACH_TURNS: u64 = 1 << 32;

/// Number of turns that each operator has taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// Turn counts by [`OperatorId`]. A count below `cycle`, the count of the operator chosen last, belongs
    /// to an operator that had nothing to do for a while, and counts as `cycle`.
    turns: Vec<u64>,
    /// The turn count of the operator that was chosen last, when it was chosen. No waiting operator had a
    /// lower count then. Never falls.
    cycle: u64,
    /// The count from which scores are computed. It is moved up at most once a round of ranking, so that
    /// scores stay exact however long the engine runs.
    base: u64,
}

impl Turns {
    /// Creates turn counts with the given counts, as they could be after a long run of the engine.
    #[cfg(test)]
    pub(crate) fn late(turns: Vec<u64>, cycle: u64) -> Self {
        Turns { turns, cycle, base: 0 }
    }

    /// Returns the turn count of `operator` that is compared with those of others: the greater of the turns
    /// that it has taken and the count of the operator chosen last.
    #[inline]
    fn count(&self, operator: OperatorId) -> u64 {
        self.turns.get(operator.0 as usize).map_or(self.cycle, |turns| self.cycle.max(*turns))
    }

    /// Moves up the count at which scores are zero, if it is too far behind. Called at the beginning of each
    /// round of ranking, in which all scores must then be renewed.
    pub(crate) fn begin_round(&mut self) {
        if self.cycle - self.base >= REACH_TURNS {
            self.base = self.cycle;
        }
    }

    /// Returns the score of an operator under a policy that gives turns: the fewer turns the operator has
    /// taken, the higher the score.
    #[inline]
    pub(crate) fn score(&self, operator: OperatorId) -> f64 {
        0.0 - (self.count(operator) - self.base) as f64
    }

    pub(crate) fn take(&mut self, operator: OperatorId) {
        let index = operator.0 as usize;
        if index >= self.turns.len() {
            self.turns.resize(index + 1, 0);
        }
        self.cycle = self.count(operator);
        self.turns[index] = self.cycle + 1;
    }
}
