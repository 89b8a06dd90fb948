//! `min_latency`: the operator that can get a record out of its query at the least cost runs next, for one block.
//!
//! Paper      Carney et al., "Operator Scheduling in a Data Stream Manager" (VLDB 2003), ML; a baseline in Enjima
//!            (SIGMOD 2025), section 5.1.2
//! Score      1 / output cost (see [`output_cost`](crate::policy::output_cost), the form `Path`)
//! Eligible   pending > 0 and every output has room
//! Quantum    one block, which is a batch here
//! Starves    an operator that stands upstream, or in a query that costs more, while the others keep the workers
//!            busy: by definition. The variant `min_latency+ageing` bounds the wait
//! Differs    an operator with several readers has the output selectivity of the best of them, as in Enjima's Eq. 1;
//!            Aurora multiplies over every operator downstream

use crate::parameters::Parameter;
use crate::policy::output_cost::{MIN_SELECTIVITY, OutputCost, OutputCosts};
use crate::policy::{Policy, Scale};
use crate::rank::Rank;
use crate::snapshot::{Fields, OperatorId, Snapshot};

/// The name by which users choose the policy "minimum latency".
pub const NAME: &str = "min_latency";
/// The name of the policy "minimum latency" with a bounded wait.
pub const AGEING_NAME: &str = "min_latency+ageing";

/// The policy "minimum latency": the operator with the least output cost runs first.
#[derive(Clone, Debug)]
pub struct MinLatency {
    costs: OutputCosts,
}

impl Default for MinLatency {
    fn default() -> Self {
        MinLatency { costs: OutputCosts::new(OutputCost::Path, MIN_SELECTIVITY) }
    }
}

impl Policy for MinLatency {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reads(&self) -> Fields {
        Fields::PENDING | Fields::COST_AND_SELECTIVITY | Fields::TOPOLOGY
    }

    fn scale(&self) -> Scale {
        Scale::Ratio
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::whole("round_ns", self.round_ns()),
            Parameter::real("min_selectivity", MIN_SELECTIVITY),
        ]
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.costs.update(snapshot);
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        let (cost_ns, tie) = match self.costs.of(operator) {
            Some(of) => (of.cost_ns, of.place),
            None => (self.costs.alone_ns(state), operator.0),
        };
        Some(Rank { class: 0, score: 1.0 / cost_ns, tie })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::Quantum;
    use crate::snapshot::OperatorState;

    /// A chain of three operators whose middle one is blocked, and one operator submitted since the last
    /// round. The sink ranks before the source, although the source costs less by itself. The new operator
    /// ranks as if it were a sink.
    #[test]
    fn downstream_comes_first() {
        let state = |cost_ns_per_record| {
            Some(OperatorState { pending: 1, cost_ns_per_record, ..OperatorState::default() })
        };
        let id = OperatorId;
        let mut snapshot = Snapshot {
            block_records: 384,
            operators: vec![state(10.0), state(30.0), state(50.0)],
            downstream: vec![vec![id(1)], vec![id(2)], vec![]],
            order: vec![id(0), id(1), id(2)],
            ..Snapshot::default()
        };
        snapshot.operators[1].as_mut().expect("it lives").can_output = false;
        let mut policy = MinLatency::default();
        policy.prepare(&snapshot);
        snapshot.operators.push(state(60.0));
        let rank = |operator: u32| policy.rank(&snapshot, id(operator));
        assert_eq!(rank(2), Some(Rank { class: 0, score: 1.0 / 50.0, tie: 0 }));
        assert_eq!(rank(3), Some(Rank { class: 0, score: 1.0 / 60.0, tie: 3 }));
        assert_eq!(rank(0), Some(Rank { class: 0, score: 1.0 / 90.0, tie: 2 }));
        assert_eq!((rank(1), rank(4)), (None, None));
        assert_eq!(policy.quantum(&snapshot, id(0)), Quantum { records: 384 });
    }
}
