//! Values of operators that are computed from the values of their readers: once a round, from the sinks up.

use crate::snapshot::{OperatorId, Snapshot};

/// Values of all operators that lived at the last round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Downstream<V> {
    /// Values by [`OperatorId`], each with its round. A value of an earlier round belongs to an operator that has
    /// ended.
    figures: Vec<(u64, V)>,
    round: u64,
}

impl<V: Clone + Default> Downstream<V> {
    /// Starts a round: forgets all values, and makes room for the operators of `snapshot`.
    pub(crate) fn begin(&mut self, snapshot: &Snapshot) {
        self.round += 1;
        if self.figures.len() < snapshot.operators.len() {
            self.figures.resize(snapshot.operators.len(), (0, V::default()));
        }
    }

    /// Returns the value of `operator`, if it has one in this round.
    #[inline]
    pub(crate) fn of(&self, operator: OperatorId) -> Option<&V> {
        let (round, figure) = self.figures.get(operator.0 as usize)?;
        (*round == self.round).then_some(figure)
    }

    /// Returns the value of `operator` for modification, if it has one in this round.
    pub(crate) fn of_mut(&mut self, operator: OperatorId) -> Option<&mut V> {
        let (round, figure) = self.figures.get_mut(operator.0 as usize)?;
        (*round == self.round).then_some(figure)
    }

    /// Returns the values of the direct readers of `operator`. A reader that has ended is skipped.
    pub(crate) fn of_readers(&self, snapshot: &Snapshot, operator: OperatorId) -> impl Iterator<Item = &V> {
        snapshot.readers(operator).iter().filter_map(|reader| self.of(*reader))
    }

    /// Sets the value of an operator that lives.
    pub(crate) fn set(&mut self, operator: OperatorId, figure: V) {
        self.figures[operator.0 as usize] = (self.round, figure);
    }
}
