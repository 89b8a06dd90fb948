//! `fcfs`: first come, first served. The operator whose oldest pending record came in first runs next.
//!
//! Paper      Enjima (SIGMOD 2025), section 5.1.2: "processes operators in order of their event arrivals"
//! Score      the earlier the oldest pending record arrived at this operator's input, the higher
//! Eligible   pending > 0 and every output has room
//! Quantum    one block
//! Starves    nobody: what arrives later goes behind
//! Differs    by arrival at the operator, as the paper's text says; its code ranks by the time at which an
//!            operator was last eligible. A source that makes records as fast as they are taken has nothing
//!            that arrived: its next record comes into being when it is asked. It counts as if its record came in
//!            `ON_DEMAND_PATIENCE_NS` after it was last asked. Until then that is in the future, so it goes behind
//!            everything that waits, and among its kind by the time at which it was last asked; from then on it
//!            ages like a record.

use crate::policy::{Policy, Scale};
use crate::rank::{Origin, Rank};
use crate::snapshot::{Fields, OperatorId, Snapshot};

/// The name by which users choose it.
pub const NAME: &str = "fcfs";

/// How long a source on demand goes behind everything that waits: long against the way of a record through a query,
/// short for people.
const ON_DEMAND_PATIENCE_NS: u64 = 1_000_000;

/// First come, first served.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fcfs {
    origin: Origin,
}

impl Policy for Fcfs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reads(&self) -> Fields {
        Fields::PENDING | Fields::OLDEST_PENDING
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.origin.renew(snapshot.now);
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        let patience_ns = if state.is_on_demand { ON_DEMAND_PATIENCE_NS } else { 0 };
        let arrived = state.oldest_pending.plus_nanos(patience_ns);
        Some(Rank { class: 0, score: self.origin.score(arrived), tie: operator.0 })
    }
}

#[cfg(test)]
mod tests {
    use thalweg_model::ProcessingTime;

    use super::*;
    use crate::rank::Quantum;
    use crate::snapshot::OperatorState;

    /// Each operator as (pending, arrival in ns, can output), at 1,000 ns; the order in which they run.
    fn check(operators: &[(u64, u64, bool)], expected: &[u32]) {
        let state = |&(pending, arrival, can_output): &(u64, u64, bool)| OperatorState {
            can_output,
            ..waiting(pending, arrival)
        };
        check_states(1_000, &operators.iter().map(state).collect::<Vec<_>>(), expected);
    }

    fn waiting(pending: u64, arrival: u64) -> OperatorState {
        OperatorState {
            pending,
            oldest_pending: ProcessingTime::from_nanos(arrival),
            ..OperatorState::default()
        }
    }

    fn source(asked: u64) -> OperatorState {
        OperatorState { is_source: true, is_on_demand: true, ..waiting(384, asked) }
    }

    fn snapshot(now: u64, operators: &[OperatorState]) -> Snapshot {
        let operators = operators.iter().copied().map(Some).collect();
        let now = ProcessingTime::from_nanos(now);
        Snapshot { now, workers: 1, block_records: 384, operators, ..Snapshot::default() }
    }

    fn check_states(now: u64, operators: &[OperatorState], expected: &[u32]) {
        let snapshot = snapshot(now, operators);
        let mut policy = Fcfs::default();
        policy.prepare(&snapshot);
        let count = operators.len() as u32;
        let mut ranked: Vec<(u64, u32)> =
            (0..count).filter_map(|id| Some((policy.rank(&snapshot, OperatorId(id))?.word(), id))).collect();
        ranked.sort();
        assert_eq!(ranked.into_iter().map(|(_, id)| id).collect::<Vec<_>>(), expected);
        assert_eq!(policy.quantum(&snapshot, OperatorId(0)), Quantum { records: 384 });
    }

    #[test]
    fn the_oldest_runs_first_and_ties_go_by_number() {
        check(&[(1, 300, true), (9, 200, true), (1, 300, true), (5, 1_000, true)], &[1, 0, 2, 3]);
    }

    #[test]
    fn without_input_or_room_nobody_is_eligible() {
        check(&[(0, 1, true), (3, 2, false)], &[]);
        check(&[], &[]);
    }

    /// Sources on demand go behind everything that waits, even if it came in just now; the one that waits longest
    /// first. After a millisecond they age like records.
    #[test]
    fn sources_on_demand_come_last_and_starve_not() {
        let record = |arrival| waiting(1, arrival);
        let now = 10_000_000;
        check_states(now, &[source(now - 10), source(now - 20), record(now)], &[2, 1, 0]);
        check_states(now, &[record(now - 5), source(now - 1_000_004), source(now - 1_000_006)], &[2, 0, 1]);
    }

    /// Words are compared long after they were made: a rank given now equals the one given two seconds later, with a
    /// round in between.
    #[test]
    fn a_rank_does_not_depend_on_when_it_was_given() {
        let operators = [waiting(1, 5_000_000_300), source(5_000_000_100)];
        let mut policy = Fcfs::default();
        policy.prepare(&snapshot(5_000_000_500, &operators));
        let rank = |policy: &Fcfs, now: u64, id: u32| policy.rank(&snapshot(now, &operators), OperatorId(id));
        let before = [0, 1].map(|id| rank(&policy, 5_000_000_500, id));
        policy.prepare(&snapshot(7_000_000_000, &operators));
        assert_eq!([0, 1].map(|id| rank(&policy, 7_000_000_000, id)), before);
    }
}
