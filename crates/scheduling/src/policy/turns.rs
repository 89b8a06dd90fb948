//! Turns taken, by which everybody has one before anybody has two.
//!
//! Whoever has nothing to do is passed over. Coming back it joins the cycle as it stands, with the count of the last that was
//! chosen, and does not make up for the turns it missed: so virtual time is kept in "Start-time Fair Queuing" (Goyal, Vin and
//! Cheng, SIGCOMM 1996), with turns for bytes.

use crate::snapshot::OperatorId;

/// How far counts may run ahead of their base: half of the whole numbers that a word tells apart.
pub(crate) const REACH_TURNS: u64 = 1 << 32;

/// Turns taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// By [`OperatorId`]; of one that was away less than `cycle`, which it then counts for.
    turns: Vec<u64>,
    /// The count with which the last one that ran was chosen: nobody who waited had fewer. Never falls.
    cycle: u64,
    /// What scores count from. Moved up once a round, so that they stay exact however long the engine runs.
    base: u64,
}

impl Turns {
    /// As they stand after a long time.
    #[cfg(test)]
    pub(crate) fn late(turns: Vec<u64>, cycle: u64) -> Self {
        Turns { turns, cycle, base: 0 }
    }

    /// The count with which `operator` stands in line.
    #[inline]
    fn count(&self, operator: OperatorId) -> u64 {
        self.turns.get(operator.0 as usize).map_or(self.cycle, |turns| self.cycle.max(*turns))
    }

    /// At the beginning of each round: all scores must be renewed with it.
    pub(crate) fn begin_round(&mut self) {
        if self.cycle - self.base >= REACH_TURNS {
            self.base = self.cycle;
        }
    }

    /// The fewer turns, the higher.
    #[inline]
    pub(crate) fn score(&self, operator: OperatorId) -> f64 {
        0.0 - (self.count(operator) - self.base) as f64
    }

    /// Takes note of a turn.
    pub(crate) fn take(&mut self, operator: OperatorId) {
        let index = operator.0 as usize;
        if index >= self.turns.len() {
            self.turns.resize(index + 1, 0);
        }
        self.cycle = self.count(operator);
        self.turns[index] = self.cycle + 1;
    }
}
