//! Policies with an observer: the wrapper that [`Traced`](crate::Traced) and [`Logged`](crate::Logged) are
//! made of. An observer sees the calls to a policy and its answers, and changes neither.

use crate::parameters::Parameter;
use crate::policy::{InputOrder, Policy, Refresh, Scale};
use crate::rank::{Quantum, Rank};
use crate::snapshot::{Completion, Fields, OperatorId, Snapshot};

/// Observer of the calls to a policy. The default of each method ignores the call.
pub trait Observe: Send {
    /// Called before the policy prepares a round of ranking (a periodic pass that ranks all waiting
    /// operators).
    fn prepared(&self, _snapshot: &Snapshot) {}

    /// Called after the policy has ranked an operator.
    fn ranked(&self, _snapshot: &Snapshot, _operator: OperatorId, _rank: Option<Rank>) {}

    /// Called after the policy has given an operator a quantum, the bound of its next run.
    fn given(&self, _snapshot: &Snapshot, _operator: OperatorId, _quantum: Quantum) {}

    /// Called after the policy got the report of a run that has ended.
    fn ended(&self, _done: &Completion) {}
}

/// A policy together with an observer, which is told of each call to the policy and of each answer.
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

    fn input_order(&self) -> InputOrder {
        self.policy.input_order()
    }

    fn is_relieving_memory(&self) -> bool {
        self.policy.is_relieving_memory()
    }

    fn round_ns(&self) -> u64 {
        self.policy.round_ns()
    }

    fn delay_epochs(&self) -> u32 {
        self.policy.delay_epochs()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.policy.parameters()
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
