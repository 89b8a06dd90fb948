//! `fcfs`: first come, first served. The operator whose oldest pending record came in first runs next.
//!
//! Paper      Enjima (SIGMOD 2025), section 5.1.2: "processes operators in order of their event arrivals"
//! Score      - arrival of the oldest pending record at this operator's input, in ns
//! Eligible   pending > 0 and every output has room
//! Quantum    one block
//! Starves    nobody: what waits only grows older
//! Differs    by arrival at the operator, as the paper's text says; its code ranks by the time at which an
//!            operator was last eligible. A source that makes records as fast as they are taken has nothing
//!            that arrived: its next record comes into being when it is run, so it ranks as arriving now,
//!            behind everything that waits.

use crate::policy::{Policy, Refresh, Scale};
use crate::rank::{Quantum, Rank};
use crate::snapshot::{Fields, OperatorId, Snapshot};

/// The name by which users choose it.
pub const NAME: &str = "fcfs";

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
        Some(Rank { class: 0, score: age_ns as f64, tie: operator.0 })
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

    /// Each operator as (pending, arrival in ns, can output); the order in which they run.
    fn check(operators: &[(u64, u64, bool)], expected: &[u32]) {
        let state = |&(pending, arrival, can_output): &(u64, u64, bool)| {
            let oldest_pending = ProcessingTime::from_nanos(arrival);
            Some(OperatorState { query: QueryId(0), is_source: false, pending, oldest_pending, can_output })
        };
        let now = ProcessingTime::from_nanos(1_000);
        let operators: Vec<_> = operators.iter().map(state).collect();
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

    /// A source at full speed arrives now, so everything that waits goes first.
    #[test]
    fn a_source_at_full_speed_comes_last() {
        check(&[(1, 1_000, true), (1, 999, true)], &[1, 0]);
    }
}
