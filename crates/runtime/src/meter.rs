//! Counters and states of a task, written where it runs and read by any thread.
//!
//! Counters have one writer at a time, the holder of the task, so adding takes no locked instruction: a few
//! plain stores per step. Relaxed: they are read for reports and policies. Each counter is exact up to the
//! last step that ended, and all are exact once the task has ended.
//!
//! A state of a task lasts for some time. The time is counted when the state changes, and a reader adds the
//! time since the last change. For that, the count and the instant must fit each other:
//!
//! *Writer:* marks the state as changing; counts the time of the old state; writes the new state and its
//! start.
//!
//! *Reader:* reads the state, the counts, and the state again. If the state is changing or has changed, it
//! repeats.
//!
//! *Why it holds.* A reader that sees the new count has passed the writer's Release fence with its own
//! Acquire fence, so its second read of the state sees at least the changing mark. The word does not return
//! to an old value, unless no time has passed. Between these steps the writer runs no user code and waits for
//! no thread, so a reader does not wait long.

use thalweg_memory::sync::{AtomicU64, Ordering, fence, thread};
use thalweg_model::staged::{Stage, Stages};
use thalweg_model::{Counts, ProcessingTime};

use crate::query::OperatorCounts;
use crate::task::{Oddities, StepReport, Task};

/// State of a task between two runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// It has something to do and room for the results: it waits for a worker.
    Ready,
    /// It has something to do, but no room for the results.
    Blocked,
    /// It has nothing to do; a source may be due at this instant.
    Idle {
        /// `NEVER` if it waits for other tasks.
        due: ProcessingTime,
    },
}

/// State of a task in reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// It has nothing to do, or its query is paused.
    Idle,
    /// It has something to do and room for the results: it waits for a worker.
    Ready,
    /// A worker runs it.
    Running,
    /// It has something to do, but no room for the results.
    Blocked,
    /// It has ended, or its query has failed.
    Ended,
}

impl TaskState {
    /// All states, by the three lowest bits of a state's word.
    const ALL: [TaskState; 5] =
        [TaskState::Idle, TaskState::Ready, TaskState::Running, TaskState::Blocked, TaskState::Ended];

    const BITS: u32 = 3;
}

impl From<Standing> for TaskState {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Ready => TaskState::Ready,
            Standing::Blocked => TaskState::Blocked,
            Standing::Idle { .. } => TaskState::Idle,
        }
    }
}

/// The word of a state that is changing now; no state has these bits.
const CHANGING: u64 = u64::MAX;

/// Makes the word of a state: the state in the lowest bits, and above it the start of the state, in ns since
/// the meter was made. The bits suffice for 73 years.
fn word(state: TaskState, since_ns: u64) -> u64 {
    since_ns << TaskState::BITS | state as u64
}

/// The counters of one task.
#[derive(Debug)]
pub(crate) struct Meter {
    made: ProcessingTime,
    pub(crate) records_in: AtomicU64,
    pub(crate) records_out: AtomicU64,
    pub(crate) steps: AtomicU64,
    /// Nanoseconds that workers spent in its steps.
    pub(crate) busy_ns: AtomicU64,
    /// The state and its start: see [`word`]. Written by the holder of the task, with Release after the count
    /// below that belongs to it. Read with Acquire before the counts, and again behind a fence.
    standing: AtomicU64,
    /// Nanoseconds in which the task was ready, blocked and idle, up to its last change of state.
    waited_ns: Waited<AtomicU64>,
    /// Records that could not be parsed.
    pub(crate) bad: AtomicU64,
    pub(crate) ahead: AtomicU64,
    pub(crate) idled: AtomicU64,
    /// Bytes of state and buffers, without blocks.
    pub(crate) held_bytes: AtomicU64,
    /// The largest values of these times that were ever reported. Written by readers. Relaxed: each is a
    /// maximum of its own. A worker counts from the instant at which its decision began, so a reader that
    /// looked later has seen a slightly larger time.
    shown_ns: Waited<AtomicU64>,
    /// Counts of each operator of the chain, in order.
    pub(crate) operators: Box<[OperatorMeter]>,
}

/// One value for each way to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Waited<C> {
    pub(crate) ready: C,
    pub(crate) blocked: C,
    pub(crate) idle: C,
}

/// The state of a task and its waiting times, up to one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stood {
    pub(crate) state: TaskState,
    /// Time since the start of the state.
    pub(crate) lasting_ns: u64,
    pub(crate) waited_ns: Waited<u64>,
}

/// The counts of one operator, up to the last step that ended. Written by the holder of the task, read by any
/// thread. Relaxed: a step may end between the reads of two words.
#[derive(Debug)]
pub(crate) struct OperatorMeter {
    pub(crate) name: String,
    read: AtomicU64,
    forwarded: AtomicU64,
    folded: AtomicU64,
    filtered: AtomicU64,
    late: AtomicU64,
    /// For the measured steps: nanoseconds that the operator took, and records that it read.
    staged_ns: AtomicU64,
    staged_records: AtomicU64,
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
    /// Makes the meter of a task that is idle from `now` on, with operators of these names.
    pub(crate) fn new(operators: Vec<String>, now: ProcessingTime) -> Self {
        Meter {
            made: now,
            records_in: AtomicU64::new(0),
            records_out: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            bad: AtomicU64::new(0),
            ahead: AtomicU64::new(0),
            idled: AtomicU64::new(0),
            held_bytes: AtomicU64::new(0),
            busy_ns: AtomicU64::new(0),
            standing: AtomicU64::new(word(TaskState::Idle, 0)),
            waited_ns: Waited::default(),
            shown_ns: Waited::default(),
            operators: operators.into_iter().map(OperatorMeter::new).collect(),
        }
    }

    pub(crate) fn note_step(&self, report: StepReport, busy_ns: u64) {
        add(&self.records_in, report.records_in);
        add(&self.records_out, report.records_out);
        add(&self.steps, 1);
        add(&self.busy_ns, busy_ns);
    }

    pub(crate) fn note_oddities(&self, oddities: Oddities) {
        let Oddities { bad, ahead, idled } = oddities;
        self.bad.store(bad, Ordering::Relaxed);
        self.ahead.store(ahead, Ordering::Relaxed);
        self.idled.store(idled, Ordering::Relaxed);
    }

    pub(crate) fn note_held(&self, bytes: usize) {
        self.held_bytes.store(bytes as u64, Ordering::Relaxed);
    }

    /// Copies the counts of the operators. Runs code of users' operators.
    ///
    /// Called after every step: it takes a few plain stores, and so the counts shown of an idle task are
    /// exact.
    pub(crate) fn note_counts(&self, task: &dyn Task) {
        let mut operators = self.operators.iter();
        task.visit_counts(&mut |_, counts| {
            // Operators that appear only after submit are not counted.
            if let Some(operator) = operators.next() {
                operator.set(counts);
            }
        });
    }

    /// Counts of each operator of the task named `task`, up to the last step that ended.
    pub(crate) fn operator_counts(&self, task: &str) -> Vec<OperatorCounts> {
        let counts = |operator: &OperatorMeter| OperatorCounts {
            operator: operator.name.clone(),
            task: task.to_owned(),
            counts: operator.counts(),
        };
        self.operators.iter().map(counts).collect()
    }

    /// Records the time of each operator in a measured step.
    pub(crate) fn note_stages(&self, stages: &Stages<'_>) {
        for (operator, stage) in self.operators.iter().zip(stages.spent()) {
            add(&operator.staged_ns, stage.nanos);
            add(&operator.staged_records, stage.records);
        }
    }

    /// Records that the task was in state `before` for `nanos`, and is in state `after` now.
    #[inline]
    pub(crate) fn note_state(&self, before: TaskState, nanos: u64, after: TaskState, now: ProcessingTime) {
        let word = word(after, now.nanos_since(self.made));
        let counter = match before {
            TaskState::Ready => &self.waited_ns.ready,
            TaskState::Blocked => &self.waited_ns.blocked,
            TaskState::Idle => &self.waited_ns.idle,
            // The step counts this time as busy; no count here changes with the word.
            TaskState::Running | TaskState::Ended => return self.standing.store(word, Ordering::Release),
        };
        self.standing.store(CHANGING, Ordering::Relaxed);
        fence(Ordering::Release);
        add(counter, nanos);
        self.standing.store(word, Ordering::Release);
    }

    /// Returns the state and the waiting times up to `now`. Times never go back from one call to the next.
    pub(crate) fn stood(&self, now: ProcessingTime) -> Stood {
        let (word, counted) = loop {
            let word = self.standing.load(Ordering::Acquire);
            let counted = self.waited_ns.map(read);
            fence(Ordering::Acquire);
            if word != CHANGING && word == self.standing.load(Ordering::Relaxed) {
                break (word, counted);
            }
            thread::yield_now();
        };
        let state = TaskState::ALL[(word & ((1 << TaskState::BITS) - 1)) as usize];
        let lasting_ns = now.nanos_since(self.made).saturating_sub(word >> TaskState::BITS);
        let mut waited_ns = counted;
        match state {
            TaskState::Idle => waited_ns.idle += lasting_ns,
            TaskState::Ready => waited_ns.ready += lasting_ns,
            TaskState::Blocked => waited_ns.blocked += lasting_ns,
            TaskState::Running | TaskState::Ended => (),
        }
        let show = |shown: &AtomicU64, ns: u64| shown.fetch_max(ns, Ordering::Relaxed).max(ns);
        let Waited { ready, blocked, idle } = &self.shown_ns;
        let waited_ns = Waited {
            ready: show(ready, waited_ns.ready),
            blocked: show(blocked, waited_ns.blocked),
            idle: show(idle, waited_ns.idle),
        };
        Stood { state, lasting_ns, waited_ns }
    }

    /// The instant at which the task ended, if it has.
    pub(crate) fn ended(&self) -> Option<ProcessingTime> {
        let word = self.standing.load(Ordering::Acquire);
        let has_ended = word != CHANGING && word & ((1 << TaskState::BITS) - 1) == TaskState::Ended as u64;
        has_ended.then(|| self.made.plus_nanos(word >> TaskState::BITS))
    }
}

impl<C> Waited<C> {
    fn map<D>(&self, each: impl Fn(&C) -> D) -> Waited<D> {
        Waited { ready: each(&self.ready), blocked: each(&self.blocked), idle: each(&self.idle) }
    }
}

impl OperatorMeter {
    fn new(name: String) -> Self {
        OperatorMeter {
            name,
            read: AtomicU64::new(0),
            forwarded: AtomicU64::new(0),
            folded: AtomicU64::new(0),
            filtered: AtomicU64::new(0),
            late: AtomicU64::new(0),
            staged_ns: AtomicU64::new(0),
            staged_records: AtomicU64::new(0),
        }
    }

    fn set(&self, counts: Counts) {
        self.read.store(counts.read, Ordering::Relaxed);
        self.forwarded.store(counts.forwarded, Ordering::Relaxed);
        self.folded.store(counts.folded, Ordering::Relaxed);
        self.filtered.store(counts.filtered, Ordering::Relaxed);
        self.late.store(counts.late, Ordering::Relaxed);
    }

    /// Time and records of the operator in the measured steps.
    pub(crate) fn staged(&self) -> Stage {
        Stage { nanos: read(&self.staged_ns), records: read(&self.staged_records) }
    }

    fn counts(&self) -> Counts {
        Counts {
            read: read(&self.read),
            forwarded: read(&self.forwarded),
            folded: read(&self.folded),
            filtered: read(&self.filtered),
            late: read(&self.late),
        }
    }
}

#[cfg(test)]
mod tests;
