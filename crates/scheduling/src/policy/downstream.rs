//! A value for each operator that a policy computes once a round from the values of the operator's readers,
//! such as the cost down to the sinks. Sinks come first, then the operators before them.

use crate::snapshot::{OperatorId, Snapshot};

/// A value, such as the cost down to the sinks, of each operator that lived at the last round of ranking.
#[derive(Clone, Debug, Default)]
pub(crate) struct Downstream<V> {
    /// Values by [`OperatorId`], each with the number of the round of ranking in which it was computed. A
    /// value of an earlier round belongs to an operator that has ended.
    figures: Vec<(u64, V)>,
    round: u64,
}

impl<V: Clone + Default> Downstream<V> {
    /// Begins a round of ranking: forgets the values of all operators, and makes room for the operators of
    /// `snapshot`.
    pub(crate) fn begin(&mut self, snapshot: &Snapshot) {
        self.round += 1;
        if self.figures.len() < snapshot.operators.len() {
            self.figures.resize(snapshot.operators.len(), (0, V::default()));
        }
    }

    /// Returns the value that was computed for `operator` in this round of ranking; `None` if there is none.
    #[inline]
    pub(crate) fn of(&self, operator: OperatorId) -> Option<&V> {
        let (round, figure) = self.figures.get(operator.0 as usize)?;
        (*round == self.round).then_some(figure)
    }

    /// Returns the value that was computed for `operator` in this round of ranking, so that it can be
    /// changed; `None` if there is none.
    pub(crate) fn of_mut(&mut self, operator: OperatorId) -> Option<&mut V> {
        let (round, figure) = self.figures.get_mut(operator.0 as usize)?;
        (*round == self.round).then_some(figure)
    }

    /// Returns the values that were computed in this round of ranking for the operators that directly read
    /// the output of `operator`. Readers that have ended are skipped.
    pub(crate) fn of_readers(&self, snapshot: &Snapshot, operator: OperatorId) -> impl Iterator<Item = &V> {
        snapshot.readers(operator).iter().filter_map(|reader| self.of(*reader))
    }

    /// Stores the value that was computed for `operator` in this round of ranking. The operator must not have
    /// ended.
    pub(crate) fn set(&mut self, operator: OperatorId, figure: V) {
        self.figures[operator.0 as usize] = (self.round, figure);
    }
}
