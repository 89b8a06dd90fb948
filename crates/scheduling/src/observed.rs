//! Policies with an observer: the one wrapper behind [`Traced`](crate::Traced) and [`Logged`](crate::Logged). An
//! observer sees calls and answers, and changes neither.

use crate::policy::{Policy, Refresh, Scale};
use crate::rank::{Quantum, Rank};
use crate::snapshot::{Completion, Fields, OperatorId, Snapshot};

/// Observer of calls to a policy. By default a call is ignored.
pub trait Observe: Send {
    /// Called before a round is prepared.
    fn prepared(&self, _snapshot: &Snapshot) {}

    /// Called after an operator was ranked.
    fn ranked(&self, _snapshot: &Snapshot, _operator: OperatorId, _rank: Option<Rank>) {}

    /// Called after an operator was given a quantum.
    fn given(&self, _snapshot: &Snapshot, _operator: OperatorId, _quantum: Quantum) {}

    /// Called after a run has ended.
    fn ended(&self, _done: &Completion) {}
}

/// A policy with its observer.
pub struct Observed<O> {
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) observer: O,
}

impl<O: Observe> Policy for Observed<O> {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn reads(&self) -> Fields {
        self.policy.reads()
    }

    fn refresh(&self) -> Refresh {
        self.policy.refresh()
    }

    fn scale(&self) -> Scale {
        self.policy.scale()
    }

    fn conserves_work(&self) -> bool {
        self.policy.conserves_work()
    }

    fn prefers_workers(&self) -> bool {
        self.policy.prefers_workers()
    }

    fn is_relieving_memory(&self) -> bool {
        self.policy.is_relieving_memory()
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.observer.prepared(snapshot);
        self.policy.prepare(snapshot);
    }

    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let rank = self.policy.rank(snapshot, operator);
        self.observer.ranked(snapshot, operator, rank);
        rank
    }

    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum {
        let quantum = self.policy.quantum(snapshot, operator);
        self.observer.given(snapshot, operator, quantum);
        quantum
    }

    fn feedback(&mut self, done: &Completion) {
        self.observer.ended(done);
        self.policy.feedback(done);
    }
}
