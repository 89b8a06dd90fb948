//! Calls as files of version 2 have them: the state of an operator does not tell its number of copies.
//!
//! Encoded values have no names, so the fields stand here once more, in the order of that version. Types that are the
//! same in both versions are used as they are. A change of one of these types needs its older form here.
//!
//! An operator of such a file counts as no copy. So a replay counts each copy like a branch, as the recorded policy
//! did.

use serde::Deserialize;
#[cfg(test)]
use serde::Serialize;
use thalweg_model::{EventTime, ProcessingTime};

use super::super::{Asked, Call};
use crate::rank::{Quantum, Rank};
use crate::snapshot::{
    Completion, Context, EpochWork, OperatorId, OperatorState, QueryId, QueryState, Snapshot, StreamState,
};

/// A call to a policy with its answer, as files of version 2 store it.
#[derive(Deserialize)]
#[cfg_attr(test, derive(Serialize))]
pub(super) enum CallOf2 {
    Prepare(Box<SnapshotOf2>),
    Rank { asked: AskedOf2, rank: Option<Rank> },
    Quantum { asked: AskedOf2, quantum: Quantum },
    Feedback(Completion),
}

/// A snapshot of version 2.
#[derive(Deserialize)]
#[cfg_attr(test, derive(Serialize))]
pub(super) struct SnapshotOf2 {
    now: ProcessingTime,
    round_end: ProcessingTime,
    workers: usize,
    block_records: u32,
    operators: Vec<Option<StateOf2>>,
    queries: Vec<Option<QueryState>>,
    streams: Vec<StreamState>,
    memory_used_bytes: u64,
    memory_limit_bytes: u64,
    downstream: Vec<Vec<OperatorId>>,
    order: Vec<OperatorId>,
}

/// The part of a snapshot of version 2 that is fresh in a call between two rounds of ranking.
#[derive(Deserialize)]
#[cfg_attr(test, derive(Serialize))]
pub(super) struct AskedOf2 {
    now: ProcessingTime,
    round_end: ProcessingTime,
    operator: OperatorId,
    state: Option<StateOf2>,
}

/// The state of an operator, as files of version 2 store it: without the number of copies.
#[derive(Deserialize)]
#[cfg_attr(test, derive(Serialize))]
struct StateOf2 {
    query: QueryId,
    is_source: bool,
    is_sink: bool,
    is_on_demand: bool,
    is_running: bool,
    can_output: bool,
    pending: u64,
    oldest_pending: ProcessingTime,
    last_run_ended: ProcessingTime,
    cost_ns_per_record: f64,
    selectivity: f64,
    cost_ns_per_run: f64,
    epoch_work: EpochWork,
    open_containers: u32,
    head: Context,
    frontier: Option<EventTime>,
}

impl From<CallOf2> for Call {
    fn from(call: CallOf2) -> Self {
        match call {
            CallOf2::Prepare(snapshot) => Call::Prepare(Box::new((*snapshot).into())),
            CallOf2::Rank { asked, rank } => Call::Rank { asked: asked.into(), rank },
            CallOf2::Quantum { asked, quantum } => Call::Quantum { asked: asked.into(), quantum },
            CallOf2::Feedback(done) => Call::Feedback(done),
        }
    }
}

impl From<SnapshotOf2> for Snapshot {
    fn from(of: SnapshotOf2) -> Self {
        Snapshot {
            now: of.now,
            round_end: of.round_end,
            workers: of.workers,
            block_records: of.block_records,
            operators: of.operators.into_iter().map(|state| state.map(OperatorState::from)).collect(),
            queries: of.queries,
            streams: of.streams,
            memory_used_bytes: of.memory_used_bytes,
            memory_limit_bytes: of.memory_limit_bytes,
            downstream: of.downstream,
            order: of.order,
        }
    }
}

impl From<AskedOf2> for Asked {
    fn from(of: AskedOf2) -> Self {
        let AskedOf2 { now, round_end, operator, state } = of;
        Asked { now, round_end, operator, state: state.map(OperatorState::from) }
    }
}

impl From<StateOf2> for OperatorState {
    fn from(of: StateOf2) -> Self {
        OperatorState {
            is_source: of.is_source,
            is_sink: of.is_sink,
            is_on_demand: of.is_on_demand,
            is_running: of.is_running,
            can_output: of.can_output,
            pending: of.pending,
            oldest_pending: of.oldest_pending,
            cost_ns_per_record: of.cost_ns_per_record,
            selectivity: of.selectivity,
            cost_ns_per_run: of.cost_ns_per_run,
            epoch_work: of.epoch_work,
            open_containers: of.open_containers,
            head: of.head,
            frontier: of.frontier,
            ..OperatorState::new(of.query, of.last_run_ended)
        }
    }
}

/// Makes the older form of calls, so that tests can write files of version 2.
#[cfg(test)]
mod older {
    use super::*;

    impl From<&Call> for CallOf2 {
        fn from(call: &Call) -> Self {
            match call {
                Call::Prepare(snapshot) => CallOf2::Prepare(Box::new(SnapshotOf2::from(&**snapshot))),
                Call::Rank { asked, rank } => CallOf2::Rank { asked: asked.into(), rank: *rank },
                Call::Quantum { asked, quantum } => {
                    CallOf2::Quantum { asked: asked.into(), quantum: *quantum }
                }
                Call::Feedback(done) => CallOf2::Feedback(*done),
            }
        }
    }

    impl From<&Snapshot> for SnapshotOf2 {
        fn from(of: &Snapshot) -> Self {
            SnapshotOf2 {
                now: of.now,
                round_end: of.round_end,
                workers: of.workers,
                block_records: of.block_records,
                operators: of.operators.iter().map(|state| state.map(StateOf2::from)).collect(),
                queries: of.queries.clone(),
                streams: of.streams.clone(),
                memory_used_bytes: of.memory_used_bytes,
                memory_limit_bytes: of.memory_limit_bytes,
                downstream: of.downstream.clone(),
                order: of.order.clone(),
            }
        }
    }

    impl From<&Asked> for AskedOf2 {
        fn from(of: &Asked) -> Self {
            let Asked { now, round_end, operator, state } = *of;
            AskedOf2 { now, round_end, operator, state: state.map(StateOf2::from) }
        }
    }

    impl From<OperatorState> for StateOf2 {
        fn from(of: OperatorState) -> Self {
            StateOf2 {
                query: of.query,
                is_source: of.is_source,
                is_sink: of.is_sink,
                is_on_demand: of.is_on_demand,
                is_running: of.is_running,
                can_output: of.can_output,
                pending: of.pending,
                oldest_pending: of.oldest_pending,
                last_run_ended: of.last_run_ended,
                cost_ns_per_record: of.cost_ns_per_record,
                selectivity: of.selectivity,
                cost_ns_per_run: of.cost_ns_per_run,
                epoch_work: of.epoch_work,
                open_containers: of.open_containers,
                head: of.head,
                frontier: of.frontier,
            }
        }
    }
}
