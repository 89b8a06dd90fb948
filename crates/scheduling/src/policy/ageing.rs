//! Ageing: a bound on how long an operator waits, for policies that have none. The name of a bounded variant
//! is the policy's name followed by `+ageing`.
//!
//! Source     ours
//! Class      0: operators that have waited for longer than the bound, the longest first
//!            one more than under the policy itself: all others
//! Score      in class 0 the earlier the wait began, the higher; else the policy's own
//! Eligible   as under the policy, and every operator that can run and has waited too long
//! Quantum    the policy's own
//! Starves    none: an operator that has waited for the bound runs once all that had waited before it have run
//!
//! A wait begins when the operator's oldest input arrived or when its last run ended, whichever is later.

use thalweg_model::ProcessingTime;

use crate::parameters::Parameter;
use crate::policy::{InputOrder, Policy, Refresh, Scale};
use crate::rank::{Origin, Quantum, Rank};
use crate::snapshot::{Completion, Fields, OperatorId, OperatorState, Snapshot};

/// The default bound of an operator's wait in ns: 10 ms, which are 10 rounds of ranking. It is longer than
/// the rounds that Enjima's authors find good (1 to 5 ms), and shorter than a delay that people notice.
pub const STARVATION_NS: u64 = 10_000_000;

/// The class of ranks for operators that have waited longer than the bound; they run before those of all
/// other classes.
const STARVING: u8 = 0;

/// The bound of waits: finds the operators that have waited longer, and ranks them before all others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience {
    origin: Origin,
}

impl Patience {
    /// Makes a later instant the one from which scores of waits are counted, if the present one is too old.
    /// Called at the beginning of each round of ranking, in which all operators that have waited too long
    /// must be ranked again: old and new scores cannot be compared.
    pub(crate) fn begin_round(&mut self, now: ProcessingTime) {
        self.origin.renew(now);
    }

    /// Returns the rank of an operator that has waited longer than `bound_ns`; `None` if the operator has not
    /// waited so long or cannot run.
    #[inline]
    pub(crate) fn rank(
        self,
        now: ProcessingTime,
        state: &OperatorState,
        bound_ns: u64,
        tie: u32,
    ) -> Option<Rank> {
        let waits_since = state.oldest_pending.max(state.last_run_ended);
        let is_starving = state.can_run() && now.nanos_since(waits_since) > bound_ns;
        is_starving.then(|| Rank { class: STARVING, score: self.origin.score(waits_since), tie })
    }
}

/// A policy with a bounded wait: once an operator has waited for the bound, only operators that have waited
/// longer run before it.
#[derive(Clone, Debug)]
pub struct Ageing<P> {
    name: &'static str,
    policy: P,
    patience: Patience,
}

impl<P: Policy> Ageing<P> {
    /// Wraps `policy` with the bound [`STARVATION_NS`] of waits. Users choose the wrapped policy by `name`.
    pub fn new(name: &'static str, policy: P) -> Self {
        Ageing { name, policy, patience: Patience::default() }
    }
}

impl<P: Policy> Policy for Ageing<P> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn reads(&self) -> Fields {
        self.policy.reads() | Fields::OLDEST_PENDING | Fields::LAST_RUN
    }

    fn refresh(&self) -> Refresh {
        self.policy.refresh() | Refresh::EVERY_ROUND
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
        let mut parameters = self.policy.parameters();
        parameters.push(Parameter::whole("starvation_ns", STARVATION_NS));
        parameters
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.patience.begin_round(snapshot.now);
        self.policy.prepare(snapshot);
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator)?;
        let starving = self.patience.rank(snapshot.now, state, STARVATION_NS, operator.0);
        starving.or_else(|| {
            let own = self.policy.rank(snapshot, operator)?;
            Some(Rank { class: own.class.saturating_add(1), ..own })
        })
    }

    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum {
        self.policy.quantum(snapshot, operator)
    }

    fn feedback(&mut self, done: &Completion) {
        self.policy.feedback(done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::congestion::Congestion;

    /// Operators that have waited too long run first. They are given as (pending records, ms since the input
    /// came, ms since the last run ended), at 1 s. The others are ranked by pending records in class 1.
    #[test]
    fn who_has_waited_too_long_comes_first() {
        let ago = |ms: u64| ProcessingTime::from_nanos(1_000_000_000 - ms * 1_000_000);
        let state = |(pending, input_ms, run_ms)| {
            let (oldest_pending, last_run_ended) = (ago(input_ms), ago(run_ms));
            Some(OperatorState { pending, oldest_pending, last_run_ended, ..OperatorState::default() })
        };
        let operators = [(9, 30, 5), (1, 11, 40), (5, 10, 10), (2, 12, 11), (0, 90, 90)].map(state).to_vec();
        let snapshot = Snapshot { now: ago(0), operators, ..Snapshot::default() };
        let mut policy = Ageing::new("congestion+ageing", Congestion::default());
        policy.prepare(&snapshot);
        let ranks: Vec<_> = (0..5)
            .map(|id| policy.rank(&snapshot, OperatorId(id)).map(|rank| (rank.class, rank.score)))
            .collect();
        assert_eq!([ranks[0], ranks[2], ranks[4]], [Some((1, 9.0)), Some((1, 5.0)), None]);
        let words = [1, 3].map(|id| policy.rank(&snapshot, OperatorId(id)).unwrap());
        assert!(words.iter().all(|rank| rank.class == 0));
        // Both operators have waited for 11 ms, so the one with the lower number goes first.
        assert_eq!(words[0].score, words[1].score);
        assert!(words[0].word() < words[1].word());
        assert!(policy.reads().contain(Fields::OLDEST_PENDING | Fields::LAST_RUN));
    }
}
