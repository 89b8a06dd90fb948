//! A task between its runs, with everything that the worker which runs it needs, and the values that pass
//! from a run to the next decision.

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

/// Blocks of records that a source may make in a run, whatever the policy's quantum is. With a filter behind
/// it, a source makes more records than it puts out, and the filter may keep none. If the policy's quantum is
/// larger than these blocks, the quantum is the bound.
const BLOCKS_MADE: u32 = 8;

/// Most batches of full size in a run, where one record stands for several rows. With batches of 4,096 rows a
/// run takes 65,536 rows, which need one or two milliseconds. The size of a batch in bytes is not known here.
const CARRIERS_PER_RUN: u32 = 16;

/// A task with everything that the worker which runs it needs.
pub(crate) struct TaskBody {
    pub(crate) name: String,
    pub(crate) operator: OperatorId,
    pub(crate) task: Box<dyn Task>,
    pub(crate) probe: Arc<Probe>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) state_grant: Arc<StateGrant>,
    /// Pays for the state and buffers of the task.
    pub(crate) state: Reservation,
    /// Tasks that write what this task reads, and tasks that read what it writes.
    pub(crate) upstream: Box<[OperatorId]>,
    pub(crate) downstream: Box<[OperatorId]>,
    /// Tasks that must be notified of changes to the epochs that this task writes or reads.
    pub(crate) further: Box<[OperatorId]>,
    /// Other tasks that write the same containers.
    pub(crate) peers: Box<[OperatorId]>,
    stands: TaskState,
    stands_since: ProcessingTime,
    /// Most records that a run takes or, for a source, puts out.
    pub(crate) run_records: u32,
    /// Records that a source may make in a run, even if the policy's quantum is smaller.
    pub(super) made_records: u32,
    /// Records that a run may take, even if the policy's quantum is smaller, as long as they do not take
    /// long. So the task fills a block before it deposits the block.
    pub(super) bundle_records: u32,
    /// True if results arrive in their own time, so that a run may find nothing to do.
    is_deferred: bool,
    barren: Barren,
    /// Positions of the task's edges when it was last given to a worker.
    pub(crate) reach: Reach,
    /// The word of the last ranking.
    pub(super) word: u64,
    pub(crate) quantum: Quantum,
    /// Last field, so that the query learns of the task's end when everything else of the task is dropped.
    pub(crate) query: TaskOfQuery,
}

/// A task given to a worker.
pub(crate) struct Claim {
    pub(crate) body: Box<TaskBody>,
}

/// A run that has ended.
pub(crate) struct Done {
    pub(crate) claim: Claim,
    pub(crate) started: ProcessingTime,
    pub(crate) outcome: Outcome,
}

/// Result of a run.
pub(crate) enum Outcome {
    Ran(StepReport),
    Failed(Box<QueryError>),
}

/// Values that a new task gets in addition to what was built.
pub(crate) struct Entrance<'a> {
    pub(crate) driver: &'a Arc<dyn Driver>,
    pub(crate) pool: &'a Pool,
    pub(crate) runs: Runs,
    pub(crate) query: &'a Arc<QueryShared>,
    /// Places of all tasks of the query.
    pub(crate) ids: &'a [OperatorId],
    pub(crate) now: ProcessingTime,
}

impl TaskBody {
    /// Makes the body of a new query's task at its place. The task's waker learns the driver and the place.
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

    /// Records a run, from its changes for other tasks and the records that it took. Returns true if the task
    /// is stuck.
    pub(crate) fn note_run(&mut self, changes: Changes, records_in: u64, now: ProcessingTime) -> bool {
        // A polled source sometimes has no records. A task with a waker may find nothing, because wakers may
        // be called without cause.
        let is_free = self.probe.is_source() || self.is_deferred;
        let had_effect =
            changes.wrote || changes.closed || records_in > 0 || self.probe.has_read(&self.reach) || is_free;
        self.barren.note_run(had_effect, now)
    }

    /// Returns the error that ends the query of a stuck task.
    #[cold]
    pub(crate) fn stuck_error(&self) -> QueryError {
        let waits_for = self.query.waits_for(&self.probe);
        QueryError::Stuck { operator: self.name.clone(), waits_for }
    }

    /// Returns the state of the task: whether it has something to do, and room for the results.
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

    /// Records the state of the task from now on. The time of the previous state is counted when the state
    /// changes.
    #[inline]
    pub(crate) fn note_state(&mut self, stands: TaskState, now: ProcessingTime) {
        if stands != self.stands {
            self.meter.note_state(self.stands, now.nanos_since(self.stands_since), stands, now);
            (self.stands, self.stands_since) = (stands, now);
        }
    }

    /// Records that the task has ended, and that the memory it held is being freed. A closed engine has no
    /// instant; the task then counts as ended at its last change of state.
    pub(crate) fn note_ended(&mut self, now: ProcessingTime) {
        self.note_state(TaskState::Ended, now.max(self.stands_since));
        self.meter.note_held(0);
    }

    pub(crate) fn connector_error(&self, fault: Fault) -> QueryError {
        QueryError::Connector { operator: self.name.clone(), fault }
    }
}

/// Most records that a run of a task takes or, for a source, puts out.
fn run_records(probe: &Probe, bytes_max: u64) -> u32 {
    let inputs = probe.inputs.iter().filter_map(Inlet::slot_bytes).max();
    let slot_bytes = inputs.or_else(|| probe.outputs.iter().filter_map(Outlet::slot_bytes).max());
    let records = slot_bytes.map_or(u64::MAX, |slot_bytes| (bytes_max / slot_bytes).max(1));
    u32::try_from(records).unwrap_or(u32::MAX)
}

/// Records of the largest block that a task deposits; 0 if it deposits none.
fn bundle_records(probe: &Probe) -> u32 {
    let records = probe.outputs.iter().filter_map(Outlet::bundle_records).max().unwrap_or(0);
    u32::try_from(records).unwrap_or(u32::MAX)
}

/// Drops a value whose drop may run user code, without a lock. A panic ends here. If dropping the payload of
/// the panic panics again, the second payload is leaked, so that no panic leaves this function.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value)))
        && let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
    {
        std::mem::forget(again);
    }
}
