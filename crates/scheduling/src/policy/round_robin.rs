//! `round_robin`: the operator that has taken the fewest turns runs next, for one block.
//!
//! Paper      Enjima (SIGMOD 2025), section 5.1.2: "considers each operator in round robin fashion, processes a block
//!            of events, and returns to the scheduler to process the next operator in sequence"
//! Score      the fewer turns taken, the higher; between equals the lower number, so a cycle goes by number
//! Eligible   pending > 0 and every output has room
//! Quantum    one block
//! Starves    none: each waiting operator has one turn before any has two, except for those that other workers run
//!            meanwhile
//! Differs    Enjima's program waits for every operator to take its turn, whether it has input or not. This policy
//!            passes over operators that have nothing to do (see `turns.rs`)
//!
//! `rr_quantum` gives each turn a fixed time instead, which is the baseline RR of Klink (SIGMOD 2021),
//! section 6.1.3. The quantum is the number of records processed in Klink's cycle, which is 120 ms unless it
//! is set, and at least one block.

use crate::parameters::Parameter;
use crate::policy::output_cost::cost_ns;
use crate::policy::turns::Turns;
use crate::policy::{Policy, Scale};
use crate::rank::{Quantum, Rank};
use crate::snapshot::{Completion, Fields, OperatorId, Snapshot};

/// The name by which users choose the policy "round robin".
pub const NAME: &str = "round_robin";
/// The name of the form of "round robin" whose turns take a fixed time.
pub const QUANTUM_NAME: &str = "rr_quantum";

/// The policy "round robin": each operator takes one turn after the other.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    turns: Turns,
    /// Duration of a turn in ns; `None` means that a turn is one block.
    quantum_ns: Option<u64>,
}

impl RoundRobin {
    /// Creates the form `rr_quantum`, in which a turn takes `quantum_ns`.
    pub fn with_quantum_ns(quantum_ns: u64) -> Self {
        RoundRobin { quantum_ns: Some(quantum_ns), ..RoundRobin::default() }
    }
}

impl Policy for RoundRobin {
    fn name(&self) -> &'static str {
        if self.quantum_ns.is_some() { QUANTUM_NAME } else { NAME }
    }

    fn reads(&self) -> Fields {
        let costs = if self.quantum_ns.is_some() { Fields::COST_AND_SELECTIVITY } else { Fields::PENDING };
        costs | Fields::FEEDBACK
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = vec![Parameter::whole("round_ns", self.round_ns())];
        parameters.extend(self.quantum_ns.map(|quantum_ns| Parameter::whole("quantum_ns", quantum_ns)));
        parameters
    }

    fn prepare(&mut self, _snapshot: &Snapshot) {
        self.turns.begin_round();
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        snapshot.operator(operator).filter(|state| state.can_run())?;
        Some(Rank { class: 0, score: self.turns.score(operator), tie: operator.0 })
    }

    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum {
        let fitting = self.quantum_ns.zip(snapshot.operator(operator));
        let fitting = fitting.map_or(0, |(quantum_ns, state)| (quantum_ns as f64 / cost_ns(state)) as u32);
        Quantum { records: fitting.max(snapshot.block_records) }
    }

    fn feedback(&mut self, done: &Completion) {
        self.turns.take(done.operator);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::turns::REACH_TURNS;
    use crate::snapshot::{OperatorState, QueryId};
    use crate::test_bed::run_of;

    /// Checks which operator runs in each turn. `waiting` lists the operators that wait at each turn, one
    /// digit each.
    fn check(policy: &mut RoundRobin, waiting: &str, expected: &str) {
        let mut ran = String::new();
        for waiting in waiting.split(' ') {
            let state =
                |id: char| OperatorState { pending: waiting.contains(id).into(), ..Default::default() };
            let operators = ('0'..='9').map(|id| Some(state(id))).collect();
            let snapshot = Snapshot { block_records: 384, operators, ..Snapshot::default() };
            policy.prepare(&snapshot);
            let ids = (0..10).map(OperatorId);
            let ranked = ids.filter_map(|id| Some((policy.rank(&snapshot, id)?.word(), id)));
            let Some((_, operator)) = ranked.min() else {
                ran.push('-');
                continue;
            };
            assert_eq!(policy.quantum(&snapshot, operator), Quantum { records: 384 });
            ran.push_str(&operator.0.to_string());
            policy.feedback(&run_of(operator, QueryId(0)));
        }
        assert_eq!(ran, expected);
    }

    fn fresh() -> RoundRobin {
        RoundRobin::default()
    }

    #[test]
    fn everybody_has_a_turn_before_anybody_has_two() {
        check(&mut fresh(), "012 012 012 012 012 012 012", "0120120");
        check(&mut fresh(), "12 12 02 0 0", "12000");
    }

    #[test]
    fn without_input_or_room_nobody_has_a_turn() {
        check(&mut fresh(), " 3 ", "-3-");
        let state = OperatorState { pending: 1, can_output: false, ..OperatorState::default() };
        let snapshot = Snapshot { operators: vec![Some(state)], ..Snapshot::default() };
        assert_eq!(fresh().rank(&snapshot, OperatorId(0)), None);
        assert_eq!(fresh().rank(&snapshot, OperatorId(7)), None);
    }

    /// Operator 1 has nothing to do for two cycles. It joins the second of them late, and from then on takes
    /// one turn per turn of the operators 0 and 2.
    #[test]
    fn whoever_was_away_does_not_make_up_for_it() {
        check(&mut fresh(), "012 012 012 02 02 02 02 012 012 012 012 012 012", "0120202101201");
    }

    /// An operator that has input only now and then takes no more turns than one that always has: joining
    /// again gives no second turn in a cycle.
    #[test]
    fn coming_and_going_earns_nothing() {
        check(&mut fresh(), "01 1 01 1 01 01 1 01 01 01", "0101011001");
    }

    /// A turn of 120 ms at 1 us per record is 120,000 records. An operator that costs 1 ms per record gets a
    /// block. A cost that was not measured counts as 100 ns.
    #[test]
    fn a_turn_of_fixed_time_is_a_block_at_least() {
        let policy = RoundRobin::with_quantum_ns(120_000_000);
        for (cost_ns_per_record, records) in
            [(1e3, 120_000), (1e6, 384), (f64::NAN, 1_200_000), (0.1, 1_200_000_000)]
        {
            let state = OperatorState { cost_ns_per_record, ..OperatorState::default() };
            let snapshot =
                Snapshot { block_records: 384, operators: vec![Some(state)], ..Snapshot::default() };
            assert_eq!(policy.quantum(&snapshot, OperatorId(0)), Quantum { records });
            assert_eq!(policy.quantum(&snapshot, OperatorId(7)), Quantum { records: 384 });
        }
        assert!(policy.reads().contain(Fields::COST_AND_SELECTIVITY));
    }

    /// Turn counts stay exact. At a million turns a second, they reach 2^33, up to which a rank holds whole
    /// numbers exactly, within hours. They never reach 2^60.
    #[test]
    fn counts_stay_exact_however_long_it_runs() {
        for cycle in [1 << 33, 1 << 53, 1 << 60] {
            let mut late = RoundRobin { turns: Turns::late(vec![cycle, cycle + 1, cycle], cycle), ..fresh() };
            check(&mut late, "012 012 012 012 012", "02012");
        }
        let mut early = RoundRobin { turns: Turns::late(vec![REACH_TURNS; 2], REACH_TURNS - 1), ..fresh() };
        check(&mut early, "01 01 01 01", "0101");
    }
}
