//! A figure of every operator that follows from those of its readers: computed once a round, from the sinks up.

use crate::snapshot::{OperatorId, Snapshot};

/// The figures of all operators that lived at the last round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Downstream<V> {
    /// By [`OperatorId`], with the round that a figure is of: those of another than the last are of operators that have ended.
    figures: Vec<(u64, V)>,
    round: u64,
}

impl<V: Clone + Default> Downstream<V> {
    /// Forgets all figures, and has room for those of `snapshot`.
    pub(crate) fn begin(&mut self, snapshot: &Snapshot) {
        self.round += 1;
        if self.figures.len() < snapshot.operators.len() {
            self.figures.resize(snapshot.operators.len(), (0, V::default()));
        }
    }

    /// The figure of `operator`, if it has one in this round.
    #[inline]
    pub(crate) fn of(&self, operator: OperatorId) -> Option<&V> {
        let (round, figure) = self.figures.get(operator.0 as usize)?;
        (*round == self.round).then_some(figure)
    }

    /// The same, to be changed.
    pub(crate) fn of_mut(&mut self, operator: OperatorId) -> Option<&mut V> {
        let (round, figure) = self.figures.get_mut(operator.0 as usize)?;
        (*round == self.round).then_some(figure)
    }

    /// The figures of the direct readers of `operator`. A reader that has ended reads no more.
    pub(crate) fn of_readers(&self, snapshot: &Snapshot, operator: OperatorId) -> impl Iterator<Item = &V> {
        snapshot.readers(operator).iter().filter_map(|reader| self.of(*reader))
    }

    /// Gives an operator that lives its figure.
    pub(crate) fn set(&mut self, operator: OperatorId, figure: V) {
        self.figures[operator.0 as usize] = (self.round, figure);
    }
}
