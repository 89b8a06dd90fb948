//! A task between its runs, with all that the worker which runs it needs, and what passes from a run to the next
//! decision.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use thalweg_memory::Reservation;
use thalweg_model::{Fault, ProcessingTime};
use thalweg_scheduling::OperatorId;

use crate::error::QueryError;
use crate::lender::StateLender;
use crate::meter::{Meter, Standing, TaskState};
use crate::query::TaskOfQuery;
use crate::stuck::Barren;
use crate::task::{Probe, Quantum, Reach, StepReport, Task};

/// A task with all that the worker which runs it needs.
pub(crate) struct TaskBody {
    pub(crate) name: String,
    pub(crate) operator: OperatorId,
    pub(crate) task: Box<dyn Task>,
    pub(crate) probe: Arc<Probe>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) lender: Arc<StateLender>,
    /// Pays for the state and buffers of the task.
    pub(crate) state: Reservation,
    /// Who writes what it reads, and who reads what it writes.
    pub(super) upstream: Box<[OperatorId]>,
    pub(super) downstream: Box<[OperatorId]>,
    /// Those to whom it matters what becomes of epochs that it writes or reads.
    pub(super) further: Box<[OperatorId]>,
    /// Who else writes the containers that it writes.
    pub(super) peers: Box<[OperatorId]>,
    pub(super) stands: TaskState,
    pub(super) stands_since: ProcessingTime,
    /// The most records that a run takes, or puts out if it is a source.
    pub(super) run_records: u32,
    /// What it may take at least if that does not take long, whatever the policy allows, so that it fills a block before it
    /// hands it over.
    pub(super) bundle_records: u32,
    /// Whether its results come in their own time, so that it may run for nothing.
    pub(super) is_deferred: bool,
    pub(super) barren: Barren,
    /// How far its edges were when it was last given to a worker.
    pub(super) reach: Reach,
    /// As last ranked.
    pub(super) word: u64,
    pub(super) quantum: Quantum,
    /// Last, so that the query hears of the end of a task when all of it is gone.
    pub(crate) query: TaskOfQuery,
}

/// A task that a worker has been given.
pub(crate) struct Claim {
    pub(crate) body: Box<TaskBody>,
    pub(crate) quantum: Quantum,
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

impl TaskBody {
    /// How it stands: whether it has something to do, and could do it.
    pub(super) fn look(&self, now: ProcessingTime) -> Standing {
        if self.query.is_paused() {
            return Standing::Idle { due: ProcessingTime::NEVER };
        }
        match (self.probe.pending(now) > 0, self.probe.can_output()) {
            (true, true) => Standing::Ready,
            (true, false) => Standing::Blocked,
            (false, _) if self.probe.is_source() => Standing::Idle { due: self.probe.due() },
            (false, _) => Standing::Idle { due: ProcessingTime::NEVER },
        }
    }

    /// Takes note of how it stands from now on; what was before is counted when it changes.
    #[inline]
    pub(super) fn note_state(&mut self, stands: TaskState, now: ProcessingTime) {
        if stands != self.stands {
            self.meter.note_state(self.stands, now.nanos_since(self.stands_since), stands, now);
            (self.stands, self.stands_since) = (stands, now);
        }
    }

    /// Takes note that its part is over, and what it held is on its way out. Where an engine is closed there is no
    /// instant: then it has ended when it was last heard of.
    pub(super) fn note_ended(&mut self, now: ProcessingTime) {
        self.note_state(TaskState::Ended, now.max(self.stands_since));
        self.meter.note_held(0);
    }

    pub(crate) fn connector_error(&self, fault: Fault) -> QueryError {
        QueryError::Connector { operator: self.name.clone(), fault }
    }
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
