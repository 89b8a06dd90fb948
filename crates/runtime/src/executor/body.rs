//! A task between its runs, with all that the worker which runs it needs, and what passes from a run to the next
//! decision.

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

/// Behind a filter a source makes more than it puts out. So many blocks it may make in any case, for the filter may keep
/// nothing; beyond that, what it makes is what the policy's quantum counts.
const BLOCKS_MADE: u32 = 8;

/// Where records count for several, a run takes at most so many of the largest: of batches of 4,096 rows 65,536, which are a
/// millisecond or two. How many bytes they have is not known here.
const CARRIERS_PER_RUN: u32 = 16;

/// A task with all that the worker which runs it needs.
pub(crate) struct TaskBody {
    pub(crate) name: String,
    pub(crate) operator: OperatorId,
    pub(crate) task: Box<dyn Task>,
    pub(crate) probe: Arc<Probe>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) state_grant: Arc<StateGrant>,
    /// Pays for the state and buffers of the task.
    pub(crate) state: Reservation,
    /// Who writes what it reads, and who reads what it writes.
    pub(crate) upstream: Box<[OperatorId]>,
    pub(crate) downstream: Box<[OperatorId]>,
    /// Those to whom it matters what becomes of epochs that it writes or reads.
    pub(crate) further: Box<[OperatorId]>,
    /// Who else writes the containers that it writes.
    pub(crate) peers: Box<[OperatorId]>,
    stands: TaskState,
    stands_since: ProcessingTime,
    /// The most records that a run takes, or puts out if it is a source.
    pub(crate) run_records: u32,
    /// What a source may make at least in a run.
    pub(super) made_records: u32,
    /// What it may take at least if that does not take long, whatever the policy allows, so that it fills a block before it
    /// hands it over.
    pub(super) bundle_records: u32,
    /// Whether its results come in their own time, so that it may run for nothing.
    is_deferred: bool,
    barren: Barren,
    /// How far its edges were when it was last given to a worker.
    pub(crate) reach: Reach,
    /// As last ranked.
    pub(super) word: u64,
    pub(crate) quantum: Quantum,
    /// Last, so that the query hears of the end of a task when all of it is gone.
    pub(crate) query: TaskOfQuery,
}

/// A task that a worker has been given.
pub(crate) struct Claim {
    pub(crate) body: Box<TaskBody>,
}

/// A run that has ended.
pub(crate) struct Done {
    pub(crate) claim: Claim,
    pub(crate) started: ProcessingTime,
    pub(crate) outcome: Outcome,
}

/// How a run ended.
pub(crate) enum Outcome {
    Ran(StepReport),
    Failed(Box<QueryError>),
}

/// What a task that comes in gets besides what was built.
pub(crate) struct Entrance<'a> {
    pub(crate) driver: &'a Arc<dyn Driver>,
    pub(crate) pool: &'a Pool,
    pub(crate) runs: Runs,
    pub(crate) query: &'a Arc<QueryShared>,
    /// The places of all tasks of the query.
    pub(crate) ids: &'a [OperatorId],
    pub(crate) now: ProcessingTime,
}

impl TaskBody {
    /// A task of a query that comes in, at its place; whoever drives it is told where it is.
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

    /// Takes note of a run that changed this for others, and of what it took; answers whether the task is stuck.
    pub(crate) fn note_run(&mut self, changes: Changes, records_in: u64, now: ProcessingTime) -> bool {
        // A source that is polled has nothing to say sometimes.
        // Neither has one that is woken: wakers may be called for nothing.
        let is_free = self.probe.is_source() || self.is_deferred;
        let had_effect =
            changes.wrote || changes.closed || records_in > 0 || self.probe.has_read(&self.reach) || is_free;
        self.barren.note_run(had_effect, now)
    }

    /// What ends the query of a task that is stuck.
    #[cold]
    pub(crate) fn stuck_error(&self) -> QueryError {
        let waits_for = self.query.waits_for(&self.probe);
        QueryError::Stuck { operator: self.name.clone(), waits_for }
    }

    /// How it stands: whether it has something to do, and could do it.
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

    /// Takes note of how it stands from now on; what was before is counted when it changes.
    #[inline]
    pub(crate) fn note_state(&mut self, stands: TaskState, now: ProcessingTime) {
        if stands != self.stands {
            self.meter.note_state(self.stands, now.nanos_since(self.stands_since), stands, now);
            (self.stands, self.stands_since) = (stands, now);
        }
    }

    /// Takes note that its part is over, and what it held is on its way out. Where an engine is closed there is no
    /// instant: then it has ended when it was last heard of.
    pub(crate) fn note_ended(&mut self, now: ProcessingTime) {
        self.note_state(TaskState::Ended, now.max(self.stands_since));
        self.meter.note_held(0);
    }

    pub(crate) fn connector_error(&self, fault: Fault) -> QueryError {
        QueryError::Connector { operator: self.name.clone(), fault }
    }
}

/// The most records that a run of a task takes, or puts out if it is a source.
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

/// Drops what may run user code, without a lock. A panic ends here; and one whose payload panics when it is dropped
/// is forgotten rather than let out.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value)))
        && let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
    {
        std::mem::forget(again);
    }
}
