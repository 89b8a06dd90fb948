//! A task between its runs, with everything that a worker needs to run it, and the values that pass from a
//! run to the next scheduling decision.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use thalweg_memory::{Pool, Reservation};
use thalweg_model::{Fault, ProcessingTime};
use thalweg_scheduling::{OperatorId, Rank};

use super::Runs;
use crate::driver::Driver;
use crate::error::QueryError;
use crate::graph::BuiltTask;
use crate::meter::{Meter, Standing, TaskState};
use crate::query::{QueryShared, TaskOfQuery};
use crate::state_grant::StateGrant;
use crate::stuck::Barren;
use crate::task::{Changes, Inlet, Outlet, Probe, Quantum, Reach, StepReport, Task};

/// Number of blocks of records that a source may make in one run, whatever the policy's quantum (its bound on
/// the records of a run) is. A source with a filter behind it makes more records than it puts out, and the
/// filter may keep none. If the policy's quantum is larger than these blocks, the quantum is the bound.
const BLOCKS_MADE: u32 = 8;

/// Maximum number of full batches that a run takes, in a task where each record is a batch of several rows,
/// as in SQL. With batches of 4,096 rows a run takes 65,536 rows, which need 1 or 2 ms. The size of a batch
/// in bytes is not known at this point.
const CARRIERS_PER_RUN: u32 = 16;

/// A task together with everything that a worker needs to run it. It lies in a task cell while the task does
/// not run.
pub(crate) struct TaskBody {
    pub(crate) name: String,
    pub(crate) operator: OperatorId,
    pub(crate) task: Box<dyn Task>,
    pub(crate) probe: Arc<Probe>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) state_grant: Arc<StateGrant>,
    /// Bytes of the memory budget that are reserved for the state and buffers of this task.
    pub(crate) state: Reservation,
    /// Tasks that write an edge which this task reads. `downstream` has the tasks that read what this task
    /// writes.
    pub(crate) upstream: Box<[OperatorId]>,
    pub(crate) downstream: Box<[OperatorId]>,
    /// Tasks that must be notified when this task completes an epoch, or helps to merge the state of one:
    /// copies of parallel operators, and the tasks that close their epochs.
    pub(crate) further: Box<[OperatorId]>,
    /// Other tasks that deposit blocks for the same parallel task as this task, into its containers (the
    /// unclaimed blocks of each epoch).
    pub(crate) peers: Box<[OperatorId]>,
    stands: TaskState,
    stands_since: ProcessingTime,
    /// Maximum number of records that a run of this task takes or, if the task is a source, puts out.
    pub(crate) run_records: u32,
    /// Number of records that this source may make in a run, even if the policy's quantum is smaller.
    pub(super) made_records: u32,
    /// Number of records that a run of this task may take even if the policy's quantum is smaller, unless so
    /// many take longer than the time between two rounds of ranking. It lets the task fill a whole block
    /// before it deposits the block for a parallel task.
    pub(super) bundle_records: u32,
    /// True if the task's results arrive asynchronously, so that a run may find nothing to do.
    is_deferred: bool,
    barren: Barren,
    /// Positions of the task's edges at the start of its last run. The difference to the present positions
    /// shows what the run has changed.
    pub(crate) reach: Reach,
    /// The rank that the task got when it was last ranked, as a word of 64 bits.
    pub(super) word: u64,
    pub(crate) quantum: Quantum,
    /// Counts the task among the running tasks of its query. It is dropped last, so that the query counts the
    /// task as ended only when everything else of the task is freed.
    pub(crate) query: TaskOfQuery,
}

/// A task that a worker has taken to run.
pub(crate) struct Claim {
    pub(crate) body: Box<TaskBody>,
}

/// A run of a task that has ended, with its start and its outcome.
pub(crate) struct Done {
    pub(crate) claim: Claim,
    pub(crate) started: ProcessingTime,
    pub(crate) outcome: Outcome,
}

/// Outcome of a run: a report of what the step did, or the error that ends the query.
pub(crate) enum Outcome {
    Ran(StepReport),
    Failed(Box<QueryError>),
}

/// Values that a planned task needs besides its plan when its query is added to the engine, such as its
/// number and the engine's pool of memory.
pub(crate) struct Entrance<'a> {
    pub(crate) driver: &'a Arc<dyn Driver>,
    pub(crate) pool: &'a Pool,
    pub(crate) runs: Runs,
    pub(crate) query: &'a Arc<QueryShared>,
    /// The numbers that the executor gave to all tasks of the query.
    pub(crate) ids: &'a [OperatorId],
    pub(crate) now: ProcessingTime,
}

impl TaskBody {
    /// Makes a task of a new query, with the number `operator` among the engine's tasks. The task's waker is
    /// told the driver and this number, so that it can notify the task.
    pub(crate) fn new(
        built: BuiltTask,
        operator: OperatorId,
        meter: Arc<Meter>,
        entrance: &Entrance<'_>,
    ) -> Box<Self> {
        let BuiltTask {
            name,
            task,
            state_grant,
            waker,
            probe,
            upstream,
            downstream,
            further,
            peers,
            rows_max,
            is_deferred,
            ..
        } = built;
        let Entrance { driver, pool, runs, query, ids, now } = *entrance;
        let by_id = |places: Vec<usize>| places.into_iter().map(|place| ids[place]).collect();
        probe.name_writer(operator.0);
        probe.set_input_order(runs.input_order);
        waker.settle(Arc::downgrade(driver), operator);
        let run_records = match rows_max {
            Some(rows_max) => rows_max.saturating_mul(CARRIERS_PER_RUN),
            None => run_records(&probe, runs.bytes_max),
        };
        let made_records = match rows_max {
            Some(_) => run_records,
            None => runs.block_records.saturating_mul(BLOCKS_MADE),
        };
        Box::new(TaskBody {
            name,
            operator,
            task,
            meter,
            state_grant,
            state: pool.budget().reserve(0).expect("zero bytes fit into any budget"),
            upstream: by_id(upstream),
            downstream: by_id(downstream),
            further: by_id(further),
            peers: by_id(peers),
            stands: TaskState::Idle,
            stands_since: now,
            run_records,
            made_records,
            bundle_records: bundle_records(&probe).saturating_mul(rows_max.unwrap_or(1)),
            word: Rank::unranked_word(operator.0),
            quantum: Quantum { records: 1, made_records: 1 },
            is_deferred,
            barren: Barren::default(),
            reach: probe.no_reach(),
            probe,
            query: TaskOfQuery(Arc::clone(query)),
        })
    }

    /// Records what a run has changed for other tasks and how many records it took. Returns true if the task
    /// is stuck, because its runs have had no effect for too long.
    pub(crate) fn note_run(&mut self, changes: Changes, records_in: u64, now: ProcessingTime) -> bool {
        // A run without effect is normal for a source, which sometimes has no records when it is polled. It
        // is also normal for a task with a waker, because wakers may be called without cause.
        let is_free = self.probe.is_source() || self.is_deferred;
        let had_effect =
            changes.wrote || changes.closed || records_in > 0 || self.probe.has_read(&self.reach) || is_free;
        self.barren.note_run(had_effect, now)
    }

    /// Returns the error that ends the query of a stuck task. It names the tasks that wait for each other.
    #[cold]
    pub(crate) fn stuck_error(&self) -> QueryError {
        let waits_for = self.query.waits_for(&self.probe);
        QueryError::Stuck { operator: self.name.clone(), waits_for }
    }

    /// Returns whether the task is ready (it has input and room for output), blocked (it has no room) or idle
    /// (it has no input).
    pub(crate) fn look(&self, now: ProcessingTime) -> Standing {
        if self.query.is_paused() {
            return Standing::Idle { due: ProcessingTime::NEVER };
        }
        match (self.probe.pending(now) > 0, self.probe.can_output()) {
            (true, true) => Standing::Ready,
            (true, false) => Standing::Blocked,
            (false, _) => Standing::Idle { due: self.probe.next_due(now) },
        }
    }

    /// Records a change of the task's state (ready, blocked, idle or running) for metrics. The time spent in
    /// the previous state is counted when the state changes.
    #[inline]
    pub(crate) fn note_state(&mut self, stands: TaskState, now: ProcessingTime) {
        if stands != self.stands {
            self.meter.note_state(self.stands, now.nanos_since(self.stands_since), stands, now);
            (self.stands, self.stands_since) = (stands, now);
        }
    }

    /// Records for metrics that the task has ended and that its memory is being freed. When the engine is
    /// closed, `now` is not known, and the task counts as ended at its last change of state.
    pub(crate) fn note_ended(&mut self, now: ProcessingTime) {
        self.note_state(TaskState::Ended, now.max(self.stands_since));
        self.meter.note_held(0);
    }

    pub(crate) fn connector_error(&self, fault: Fault) -> QueryError {
        QueryError::Connector { operator: self.name.clone(), fault }
    }
}

/// Returns the maximum number of records that a run of a task takes or, if the task is a source, puts out.
fn run_records(probe: &Probe, bytes_max: u64) -> u32 {
    let inputs = probe.inputs.iter().filter_map(Inlet::slot_bytes).max();
    let slot_bytes = inputs.or_else(|| probe.outputs.iter().filter_map(Outlet::slot_bytes).max());
    let records = slot_bytes.map_or(u64::MAX, |slot_bytes| (bytes_max / slot_bytes).max(1));
    u32::try_from(records).unwrap_or(u32::MAX)
}

/// Returns the number of records in the largest block that a task deposits into containers (the unclaimed
/// blocks of each epoch, in front of a parallel task); 0 if the task deposits none.
fn bundle_records(probe: &Probe) -> u32 {
    let records = probe.outputs.iter().filter_map(Outlet::bundle_records).max().unwrap_or(0);
    u32::try_from(records).unwrap_or(u32::MAX)
}

/// Drops a value whose drop may run user code; call it without holding a lock. A panic ends in this function.
/// If dropping the payload of the panic panics again, the second payload is leaked, so that no panic leaves
/// this function.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value)))
        && let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
    {
        std::mem::forget(again);
    }
}
