//! `congestion`: the operator with the most waiting records runs next, for one block.
//!
//! Paper      Fu et al., "EdgeWise: A Better Stream Processing Engine for the Edge" (USENIX ATC 2019), the longest
//!            queue first; Frasca et al. (Computing Frontiers 2023), who apply it to the threads steered by Lachesis
//!            and add source queues
//! Score      pending records and marks; for a source, the records that are due, or a full block if it makes
//!            records on demand
//! Eligible   pending > 0 and every output has room
//! Quantum    one block
//! Starves    an operator with fewer waiting records than others that keep the workers busy. The variant
//!            `congestion+ageing` bounds the wait (see `ageing.rs`)
//! Differs    here an operator without work or without room is not chosen; in the papers its thread runs and finds
//!            that out itself. A queue that grows is ranked again in the next round, not at once. With several
//!            workers, a worker first takes an operator whose input is in its cache (`prefers_workers`)
//!
//! `congestion_v1` does not see queues outside the engine: a source counts as a queue of one record, as in the
//! baseline of Frasca et al. (section 5.2.1, Figs. 5 to 13). So sources run when no other operator has more, and among
//! sources the one with the lower operator number. The source with the higher number may starve.
//!
//! `policy.rs` makes all three by their names. Tests: the order in this file; the waits in `policy/tests.rs`.

use crate::policy::{Policy, Scale};
use crate::rank::Rank;
use crate::snapshot::{Fields, OperatorId, Snapshot};

/// The name by which users choose the congestion policy.
pub const NAME: &str = "congestion";
/// The name of the form of the congestion policy that does not see queues outside of the engine.
pub const V1_NAME: &str = "congestion_v1";
/// The name of the congestion policy with a bounded wait.
pub const AGEING_NAME: &str = "congestion+ageing";

/// The congestion policy: the operator with the longest queue runs first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Congestion {
    is_v1: bool,
}

impl Congestion {
    /// Creates the form `congestion_v1`, which does not see queues outside of the engine.
    pub fn v1() -> Self {
        Congestion { is_v1: true }
    }
}

impl Policy for Congestion {
    fn name(&self) -> &'static str {
        if self.is_v1 { V1_NAME } else { NAME }
    }

    fn reads(&self) -> Fields {
        Fields::PENDING
    }

    fn scale(&self) -> Scale {
        Scale::Ratio
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        let pending = if self.is_v1 && state.is_source { 1 } else { state.pending };
        Some(Rank { class: 0, score: pending as f64, tie: operator.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::Quantum;
    use crate::snapshot::OperatorState;

    /// Checks the order of four operators: a source with 700 due records, an operator with 5 waiting records,
    /// one with 900 and no room for output, and one with 80.
    #[test]
    fn the_longest_queue_runs_first() {
        let state = |(pending, is_source, can_output)| {
            Some(OperatorState { pending, is_source, can_output, ..OperatorState::default() })
        };
        let operators = [(700, true, true), (5, false, true), (900, false, false), (80, false, true)];
        let operators = operators.map(state).to_vec();
        let snapshot = Snapshot { operators, block_records: 384, ..Snapshot::default() };
        for (policy, expected) in [(Congestion::default(), [0, 3, 1]), (Congestion::v1(), [3, 1, 0])] {
            let ids = (0..4).map(OperatorId);
            let mut ranked: Vec<_> =
                ids.filter_map(|id| Some((policy.rank(&snapshot, id)?.word(), id.0))).collect();
            ranked.sort_unstable();
            assert!(ranked.iter().map(|(_, id)| *id).eq(expected), "{}: {ranked:?}", policy.name());
            assert_eq!(policy.quantum(&snapshot, OperatorId(0)), Quantum { records: 384 });
        }
    }

    /// To the earlier form, a source is a queue of one record, however much waits outside of the engine.
    #[test]
    fn a_source_is_a_queue_of_one_to_the_earlier_form() {
        let state = |pending, is_source| {
            Some(OperatorState { pending, is_source, can_output: true, ..OperatorState::default() })
        };
        let operators = vec![state(700, true), state(1, false), state(1, true)];
        let snapshot = Snapshot { operators, ..Snapshot::default() };
        let scores = |policy: Congestion| {
            [0, 1, 2].map(|id| policy.rank(&snapshot, OperatorId(id)).map(|rank| rank.score))
        };
        assert_eq!(scores(Congestion::v1()), [1.0; 3].map(Some));
        assert_eq!(scores(Congestion::default()), [700.0, 1.0, 1.0].map(Some));
    }
}
