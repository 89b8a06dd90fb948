//! What a task has done and how it has stood, counted where it runs and read from anywhere.
//!
//! Counters have one writer at a time, whoever holds the task, so adding takes no locked instruction. Relaxed: they
//! are read for reports and for policies, and are exact once the task has ended.

use thalweg_memory::sync::{AtomicU64, Ordering};
use thalweg_model::ProcessingTime;

use crate::task::StepReport;

/// How a task stands between two runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// It has something to do and could do it: it waits for a worker.
    Ready,
    /// It has something to do, but no room for what would come of it.
    Blocked,
    /// It has nothing to do; a source may be due at this instant.
    Idle {
        /// `NEVER` if it waits for others.
        due: ProcessingTime,
    },
}

/// The counters of one task.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    pub(crate) records_in: AtomicU64,
    pub(crate) records_out: AtomicU64,
    pub(crate) steps: AtomicU64,
    /// Input that was not understood.
    pub(crate) bad: AtomicU64,
    /// State and buffers beyond blocks.
    pub(crate) held_bytes: AtomicU64,
    /// Nanoseconds that workers spent in its steps.
    pub(crate) busy_ns: AtomicU64,
    /// Nanoseconds in which it was ready, blocked, idle; up to its last change.
    pub(crate) ready_ns: AtomicU64,
    pub(crate) blocked_ns: AtomicU64,
    pub(crate) idle_ns: AtomicU64,
}

/// Adds to a counter that has one writer.
fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
}

/// Reads a counter.
pub(crate) fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Meter {
    pub(crate) fn note_step(&self, report: StepReport, busy_ns: u64) {
        add(&self.records_in, report.records_in);
        add(&self.records_out, report.records_out);
        add(&self.steps, 1);
        add(&self.busy_ns, busy_ns);
    }

    pub(crate) fn note_bad(&self, bad: u64) {
        self.bad.store(bad, Ordering::Relaxed);
    }

    pub(crate) fn note_held(&self, bytes: usize) {
        self.held_bytes.store(bytes as u64, Ordering::Relaxed);
    }

    /// Takes note that the task stood as it did for so long.
    pub(crate) fn note_standing(&self, standing: Standing, nanos: u64) {
        let counter = match standing {
            Standing::Ready => &self.ready_ns,
            Standing::Blocked => &self.blocked_ns,
            Standing::Idle { .. } => &self.idle_ns,
        };
        add(counter, nanos);
    }
}
