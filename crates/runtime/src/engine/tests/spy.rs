//! A policy for tests that keeps what it is shown in each round. It ranks all operators alike, in the order of their
//! numbers.

use thalweg_scheduling::{Fields, OperatorId, Rank, Scale, Snapshot};

use super::*;

/// A policy that stores, for each round, what a function returns for the snapshot of the round.
pub(super) struct Spy<T> {
    pub(super) shown: Arc<Mutex<Vec<T>>>,
    pub(super) look: fn(&Snapshot) -> T,
}

impl<T: Send> Policy for Spy<T> {
    fn name(&self) -> &'static str {
        "spy"
    }

    fn reads(&self) -> Fields {
        Fields::default()
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.shown.lock().push((self.look)(snapshot));
    }

    fn rank(&self, _: &Snapshot, operator: OperatorId) -> Option<Rank> {
        Some(Rank { class: 0, score: 0.0, tie: operator.0 })
    }
}
