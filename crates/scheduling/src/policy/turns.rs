//! Turn counts for policies in which each operator takes one turn per cycle.
//!
//! An operator with nothing to do is passed over. When it has work again it joins the current cycle, with the count
//! of the last operator chosen, and does not make up for missed turns. This is how virtual time is kept in
//! "Start-time Fair Queuing" (Goyal, Vin and Cheng, SIGCOMM 1996), with turns in place of bytes.

use crate::snapshot::OperatorId;

/// Greatest distance of counts from their base: half of the whole numbers that a word holds exactly.
pub(crate) const REACH_TURNS: u64 = 1 << 32;

/// Turn counts of all operators.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// Counts by [`OperatorId`]. A count below `cycle` belongs to an operator that was away and counts as `cycle`.
    turns: Vec<u64>,
    /// The count with which the last operator that ran was chosen: no waiting operator had a lower one. Never falls.
    cycle: u64,
    /// Origin of scores. Moved up once a round, so that scores stay exact however long the engine runs.
    base: u64,
}

impl Turns {
    /// Creates counts as they are after a long run.
    #[cfg(test)]
    pub(crate) fn late(turns: Vec<u64>, cycle: u64) -> Self {
        Turns { turns, cycle, base: 0 }
    }

    /// Returns the count that `operator` competes with.
    #[inline]
    fn count(&self, operator: OperatorId) -> u64 {
        self.turns.get(operator.0 as usize).map_or(self.cycle, |turns| self.cycle.max(*turns))
    }

    /// Moves the base if needed. Called at the beginning of each round, after which all scores must be renewed.
    pub(crate) fn begin_round(&mut self) {
        if self.cycle - self.base >= REACH_TURNS {
            self.base = self.cycle;
        }
    }

    /// Returns a score that is higher the fewer turns `operator` has taken.
    #[inline]
    pub(crate) fn score(&self, operator: OperatorId) -> f64 {
        0.0 - (self.count(operator) - self.base) as f64
    }

    /// Counts a turn of `operator`.
    pub(crate) fn take(&mut self, operator: OperatorId) {
        let index = operator.0 as usize;
        if index >= self.turns.len() {
            self.turns.resize(index + 1, 0);
        }
        self.cycle = self.count(operator);
        self.turns[index] = self.cycle + 1;
    }
}
