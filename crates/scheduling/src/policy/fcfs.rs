//! `fcfs`: first come, first served. The operator whose oldest pending record arrived first runs next. `fcfs_ingest`
//! goes by the arrival at the engine, `fifo` by the place in the queue of operators that can run.
//!
//! Paper      Enjima (SIGMOD 2025), section 5.1.2: "processes operators in order of their event arrivals". `fifo`:
//!            Cameo (NSDI 2021), section 6, whose baseline puts operators into one run queue and takes the first
//! Score      the earlier, the higher. In `fcfs`: the arrival of the oldest pending record at this operator's input. In
//!            `fcfs_ingest`: the arrival of the head record at its source. In `fifo`: the arrival of the oldest pending
//!            record or the end of the last run, whichever is later
//! Eligible   pending > 0 and every output has room
//! Quantum    one block
//! Inputs     of several, the one whose oldest waiting record came first
//! Starves    none: later arrivals go behind
//! Differs    `fcfs` goes by arrival at the operator, as Enjima's text says; Enjima's program ranks by the time at
//!            which an operator was last eligible, which is the rule of `fifo`. A source that makes records on demand
//!            has no arrivals: its next record comes into being when it is polled. In `fcfs` and `fcfs_ingest` it
//!            counts as if its record arrived `ON_DEMAND_PATIENCE_NS` after it was last polled. Until then that
//!            instant is in the future, so the source goes behind everything that waits, and among such sources by
//!            the time of the last poll. After that it ages like a record. In `fifo` it goes to the end of the queue,
//!            like every operator. Cameo names no quantum of its run queue, and its queues are never full: here an
//!            operator whose output has no room keeps its place in the queue

use thalweg_model::ProcessingTime;

use crate::parameters::Parameter;
use crate::policy::{InputOrder, Policy, Scale};
use crate::rank::{Origin, Rank};
use crate::snapshot::{Fields, OperatorId, OperatorState, Snapshot};

/// The name by which users choose the policy "first come, first served".
pub const NAME: &str = "fcfs";
/// The name of "first come, first served" by the arrival of records at their source.
pub const INGEST_NAME: &str = "fcfs_ingest";
/// The name of "first come, first served" by the place of operators in the run queue.
pub const FIFO_NAME: &str = "fifo";

/// Nanoseconds after its last poll for which a source on demand (which makes records whenever it is polled)
/// ranks behind everything that waits: longer than a record needs to pass a query, too short for people to
/// notice.
const ON_DEMAND_PATIENCE_NS: u64 = 1_000_000;

/// The policy "first come, first served", in three forms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fcfs {
    came_to: CameTo,
    origin: Origin,
}

/// The place (input, source or run queue) whose time of arrival orders operators under the policy "first
/// come, first served".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum CameTo {
    /// Operators are ordered by the time at which their oldest waiting record arrived at their own input.
    #[default]
    Input,
    /// Operators are ordered by the time at which their first waiting record arrived at its source.
    Source,
    /// Operators are ordered by the time at which they entered the queue of operators that can run.
    Line,
}

impl Fcfs {
    /// Creates the form `fcfs_ingest`, which orders by arrival at the source.
    pub fn by_ingest() -> Self {
        Fcfs { came_to: CameTo::Source, ..Fcfs::default() }
    }

    /// Creates the form `fifo`, which orders by the place in the run queue.
    pub fn fifo() -> Self {
        Fcfs { came_to: CameTo::Line, ..Fcfs::default() }
    }
}

/// Returns the time since which an operator is in the run queue: it enters with its first input, and again
/// after each run.
#[inline]
pub(super) fn in_line_since(state: &OperatorState) -> ProcessingTime {
    state.oldest_pending.max(state.last_run_ended)
}

impl Policy for Fcfs {
    fn name(&self) -> &'static str {
        match self.came_to {
            CameTo::Input => NAME,
            CameTo::Source => INGEST_NAME,
            CameTo::Line => FIFO_NAME,
        }
    }

    fn reads(&self) -> Fields {
        match self.came_to {
            CameTo::Input => Fields::PENDING | Fields::OLDEST_PENDING,
            CameTo::Source => Fields::PENDING | Fields::CONTEXTS,
            CameTo::Line => Fields::PENDING | Fields::OLDEST_PENDING | Fields::LAST_RUN,
        }
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn input_order(&self) -> InputOrder {
        InputOrder::Arrival
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = vec![Parameter::whole("round_ns", self.round_ns())];
        if self.came_to != CameTo::Line {
            parameters.push(Parameter::whole("on_demand_patience_ns", ON_DEMAND_PATIENCE_NS));
        }
        parameters
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.origin.renew(snapshot.now);
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        let patience_ns = if state.is_on_demand { ON_DEMAND_PATIENCE_NS } else { 0 };
        let came = match self.came_to {
            CameTo::Input => state.oldest_pending.plus_nanos(patience_ns),
            CameTo::Source => state.head.observed.plus_nanos(patience_ns),
            CameTo::Line => in_line_since(state),
        };
        Some(Rank { class: 0, score: self.origin.score(came), tie: operator.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::Quantum;
    use crate::snapshot::Context;
    use crate::test_bed::{Bed, Task};

    /// Checks the order of operators at 1,000 ns. Each operator has (pending records, arrival in ns, room for
    /// output).
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
        let observed = ProcessingTime::from_nanos(asked);
        OperatorState {
            is_source: true,
            is_on_demand: true,
            head: Context { observed, token: None },
            ..waiting(384, asked)
        }
    }

    fn snapshot(now: u64, operators: &[OperatorState]) -> Snapshot {
        let operators = operators.iter().copied().map(Some).collect();
        let now = ProcessingTime::from_nanos(now);
        Snapshot { now, workers: 1, block_records: 384, operators, ..Snapshot::default() }
    }

    fn check_states(now: u64, operators: &[OperatorState], expected: &[u32]) {
        check_form(Fcfs::default(), now, operators, expected);
    }

    fn check_form(mut policy: Fcfs, now: u64, operators: &[OperatorState], expected: &[u32]) {
        let snapshot = snapshot(now, operators);
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

    /// Sources on demand run after everything that waits, even after a record that arrived just now. Among
    /// them the longest wait goes first. After 1 ms they age like records.
    #[test]
    fn sources_on_demand_come_last_and_starve_not() {
        let record = |arrival| waiting(1, arrival);
        let now = 10_000_000;
        check_states(now, &[source(now - 10), source(now - 20), record(now)], &[2, 1, 0]);
        check_states(now, &[record(now - 5), source(now - 1_000_004), source(now - 1_000_006)], &[2, 0, 1]);
    }

    /// The three forms use different times: arrival at the operator, arrival at the source, or the end of the
    /// last run.
    #[test]
    fn each_form_asks_where_it_came_first() {
        // Each operator has (arrival at its source, arrival at this operator, end of the last run), in ns.
        let operators = [(10, 90, 20), (30, 70, 95), (20, 80, 85), (40, 75, 20)].map(
            |(observed, arrival, ended): (u64, u64, u64)| OperatorState {
                head: Context { observed: ProcessingTime::from_nanos(observed), token: None },
                last_run_ended: ProcessingTime::from_nanos(ended),
                ..waiting(1, arrival)
            },
        );
        check_form(Fcfs::default(), 100, &operators, &[1, 3, 2, 0]);
        check_form(Fcfs::by_ingest(), 100, &operators, &[0, 2, 1, 3]);
        check_form(Fcfs::fifo(), 100, &operators, &[3, 2, 0, 1]);
    }

    /// In `fcfs_ingest` a source on demand runs after the records that it made, for 1 ms. In `fifo` it enters
    /// the run queue at once.
    #[test]
    fn sources_on_demand_have_their_place_in_each_form() {
        let made = |at| OperatorState { is_on_demand: false, is_source: false, ..source(at) };
        let now = 10_000_000;
        let operators = [source(now - 20), made(now - 10), made(now - 30)];
        check_form(Fcfs::by_ingest(), now, &operators, &[2, 1, 0]);
        check_form(Fcfs::fifo(), now, &operators, &[2, 0, 1]);
    }

    /// In `fifo`, operator A, with 9 records and blocks of 2, takes turns with the others, although all its
    /// records arrived first. In `fcfs` A is done before the others.
    #[test]
    fn in_line_everybody_takes_turns() {
        for (policy, expected) in [(Fcfs::fifo(), "ABCABCAAA"), (Fcfs::default(), "AAAAABBCC")] {
            let tasks = (0..3).map(|_| Task::new(10, 1.0, &[])).collect();
            let mut bed = Bed::new(Box::new(policy), 2, tasks);
            for (id, count) in [(0, 9), (1, 4), (2, 4)] {
                bed.push(id, count);
            }
            assert_eq!(bed.steps(9), expected);
        }
    }

    /// A rank given now equals the rank given two seconds later, with a round in between. This matters
    /// because ranks are compared long after they were made.
    #[test]
    fn a_rank_does_not_depend_on_when_it_was_given() {
        let operators = [waiting(1, 5_000_000_300), source(5_000_000_100)];
        for mut policy in [Fcfs::default(), Fcfs::by_ingest(), Fcfs::fifo()] {
            policy.prepare(&snapshot(5_000_000_500, &operators));
            let rank =
                |policy: &Fcfs, now: u64, id: u32| policy.rank(&snapshot(now, &operators), OperatorId(id));
            let before = [0, 1].map(|id| rank(&policy, 5_000_000_500, id));
            policy.prepare(&snapshot(7_000_000_000, &operators));
            assert_eq!([0, 1].map(|id| rank(&policy, 7_000_000_000, id)), before);
        }
    }
}
