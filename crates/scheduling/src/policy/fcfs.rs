//! `fcfs`: first come, first served. The operator whose oldest pending record came in first runs next.
//!
//! Paper      Enjima (SIGMOD 2025), section 5.1.2: "processes operators in order of their event arrivals"
//! Score      - arrival of the oldest pending record at this operator's input, in ns
//! Eligible   pending > 0 and every output has room
//! Quantum    one block
//! Starves    nobody: what waits only grows older
//! Differs    by arrival at the operator, as the paper's text says; its code ranks by the time at which an
//!            operator was last eligible. A source that makes records as fast as they are taken has nothing
//!            that arrived: its next record comes into being when it is asked. So it goes behind everything
//!            that waits, and among its kind by the time since it was last asked; but if it has not been asked
//!            for `ON_DEMAND_PATIENCE_NS`, what exceeds that counts as the age of a record.

use crate::policy::{Policy, Refresh, Scale};
use crate::rank::{Quantum, Rank};
use crate::snapshot::{Fields, OperatorId, Snapshot};

/// The name by which users choose it.
pub const NAME: &str = "fcfs";

/// How long a source on demand goes behind everything that waits: long against the way of a record through a query,
/// short for people.
const ON_DEMAND_PATIENCE_NS: u64 = 1_000_000;

/// First come, first served.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fcfs;

impl Policy for Fcfs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reads(&self) -> Fields {
        Fields::PENDING | Fields::OLDEST_PENDING
    }

    fn refresh(&self) -> Refresh {
        Refresh::ON_DEMAND
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator)?;
        if state.pending == 0 || !state.can_output {
            return None;
        }
        // Ages instead of instants: a double holds differences of nanoseconds exactly for 104 days.
        let age_ns = snapshot.now.nanos_since(state.oldest_pending);
        let score = if !state.is_on_demand {
            age_ns as f64
        } else if age_ns <= ON_DEMAND_PATIENCE_NS {
            // Below any record's age, in the order of their own.
            age_ns as f64 / ON_DEMAND_PATIENCE_NS as f64 - 1.0
        } else {
            (age_ns - ON_DEMAND_PATIENCE_NS) as f64
        };
        Some(Rank { class: 0, score, tie: operator.0 })
    }

    fn quantum(&self, snapshot: &Snapshot, _operator: OperatorId) -> Quantum {
        Quantum { records: snapshot.block_records }
    }
}

#[cfg(test)]
mod tests {
    use thalweg_model::ProcessingTime;

    use super::*;
    use crate::snapshot::{OperatorState, QueryId};

    /// Each operator as (pending, arrival in ns, can output), at 1,000 ns; the order in which they run.
    fn check(operators: &[(u64, u64, bool)], expected: &[u32]) {
        let state =
            |&(pending, arrival, can_output): &(u64, u64, bool)| state(pending, arrival, can_output, false);
        check_states(1_000, &operators.iter().map(state).collect::<Vec<_>>(), expected);
    }

    fn state(pending: u64, arrival: u64, can_output: bool, is_on_demand: bool) -> OperatorState {
        let oldest_pending = ProcessingTime::from_nanos(arrival);
        let is_source = is_on_demand;
        OperatorState { query: QueryId(0), is_source, is_on_demand, pending, oldest_pending, can_output }
    }

    fn check_states(now: u64, operators: &[OperatorState], expected: &[u32]) {
        let now = ProcessingTime::from_nanos(now);
        let operators: Vec<_> = operators.iter().copied().map(Some).collect();
        let count = operators.len() as u32;
        let snapshot = Snapshot { now, workers: 1, block_records: 384, operators };
        let mut ranked: Vec<(u64, u32)> =
            (0..count).filter_map(|id| Some((Fcfs.rank(&snapshot, OperatorId(id))?.word(), id))).collect();
        ranked.sort();
        assert_eq!(ranked.into_iter().map(|(_, id)| id).collect::<Vec<_>>(), expected);
        assert_eq!(Fcfs.quantum(&snapshot, OperatorId(0)), Quantum { records: 384 });
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
        let source = |asked| state(1, asked, true, true);
        let record = |arrival| state(1, arrival, true, false);
        let now = 10_000_000;
        check_states(now, &[source(now - 10), source(now - 20), record(now)], &[2, 1, 0]);
        check_states(now, &[record(now - 5), source(now - 1_000_004), source(now - 1_000_006)], &[2, 0, 1]);
    }
}
