//! Counters and states of a task for metrics, written where the task runs and read by any thread.
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

use crate::cost_clock::Spent;
use crate::query::OperatorCounts;
use crate::task::{Oddities, StepReport, Task};

/// State of a task between two of its runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    Ready,
    Blocked,
    /// The task has nothing to do; if it is a source, it becomes due at this instant.
    Idle {
        /// The instant at which the task becomes due; `NEVER` if it waits for other tasks.
        due: ProcessingTime,
    },
}

/// State of a task as metrics show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// The task has nothing to do, or its query is paused.
    Idle,
    /// The task has input and room for its results: it waits for a worker.
    Ready,
    /// A worker is running a step of the task.
    Running,
    /// The task has input, but no room for its results.
    Blocked,
    /// The task has ended, or its query has failed.
    Ended,
}

impl TaskState {
    /// All states of a task, in the order of their numbers. The number is stored in the lowest three bits of
    /// a word.
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

/// Stands in place of a state that is being changed at the moment; no state has these bits.
const CHANGING: u64 = u64::MAX;

/// Packs a state of a task and its start into one word: the state in the lowest three bits, and above it the
/// start in ns since the meter was made. The bits suffice for 73 years.
fn word(state: TaskState, since_ns: u64) -> u64 {
    since_ns << TaskState::BITS | state as u64
}

/// The counters of one task, for metrics and policies.
#[derive(Debug)]
pub(crate) struct Meter {
    made: ProcessingTime,
    pub(crate) records_in: AtomicU64,
    pub(crate) records_out: AtomicU64,
    pub(crate) steps: AtomicU64,
    /// Nanoseconds that workers have spent in the steps of this task.
    pub(crate) busy_ns: AtomicU64,
    /// Nanoseconds of the steps of this task by the clock that measures costs (`CostClock`), from which its
    /// cost per record follows.
    pub(crate) charged_ns: AtomicU64,
    /// The present state of the task and its start, as a [`word`]. Written by the holder of the task with
    /// Release, after the waiting time of the previous state. Read with Acquire before the waiting times, and
    /// again behind a fence.
    standing: AtomicU64,
    /// Nanoseconds for which the task was ready, for which it was blocked and for which it was idle, up to
    /// its last change of state.
    waited_ns: Waited<AtomicU64>,
    /// Number of input records that could not be parsed.
    pub(crate) bad: AtomicU64,
    pub(crate) ahead: AtomicU64,
    pub(crate) idled: AtomicU64,
    /// Bytes of the task's state and buffers, without the blocks of edges.
    pub(crate) held_bytes: AtomicU64,
    /// The largest ready, blocked and idle times that were ever reported, so that reported times never fall.
    /// Written by readers. Relaxed: each is a maximum of its own. A worker counts from the instant at which
    /// its decision began, so a reader that looked later has seen a slightly larger time.
    shown_ns: Waited<AtomicU64>,
    /// Counts of each operator of the task, in the order in which records pass them.
    pub(crate) operators: Box<[OperatorMeter]>,
}

/// One value for each state in which a task does not run: ready (waits for a worker), blocked (waits for
/// room) and idle (has nothing to do).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Waited<C> {
    pub(crate) ready: C,
    pub(crate) blocked: C,
    pub(crate) idle: C,
}

/// The state of a task and the time that it has spent waiting, up to one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stood {
    pub(crate) state: TaskState,
    /// Nanoseconds since the task entered its present state.
    pub(crate) lasting_ns: u64,
    pub(crate) waited_ns: Waited<u64>,
}

/// The counts of one operator, up to the last step that has ended. Written by the holder of the task, read by
/// any thread. Relaxed: a step may end between the reads of two counts.
#[derive(Debug)]
pub(crate) struct OperatorMeter {
    pub(crate) name: String,
    read: AtomicU64,
    forwarded: AtomicU64,
    folded: AtomicU64,
    filtered: AtomicU64,
    late: AtomicU64,
    /// Bytes of state that the operator holds.
    state_bytes: AtomicU64,
    /// Nanoseconds that the operator took in the steps in which it was measured by itself.
    staged_ns: AtomicU64,
    /// Number of records that the operator read in the steps in which it was measured by itself.
    staged_records: AtomicU64,
}

/// Adds to a counter that only one thread at a time writes, without a locked instruction.
fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
}

/// Reads a counter of a task with Relaxed ordering, because it is only shown or compared.
pub(crate) fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Meter {
    /// Makes the counters of a task that is idle from `now` on and has operators of the given names.
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
            charged_ns: AtomicU64::new(0),
            standing: AtomicU64::new(word(TaskState::Idle, 0)),
            waited_ns: Waited::default(),
            shown_ns: Waited::default(),
            operators: operators.into_iter().map(OperatorMeter::new).collect(),
        }
    }

    pub(crate) fn note_step(&self, report: StepReport, spent: Spent) {
        add(&self.records_in, report.records_in);
        add(&self.records_out, report.records_out);
        add(&self.steps, 1);
        add(&self.busy_ns, spent.busy_ns);
        add(&self.charged_ns, spent.charged_ns);
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

    /// Copies the counts of the task's operators, which runs code of users' operators.
    ///
    /// Called after every step. This takes a few plain stores, and keeps the counts that metrics show of an
    /// idle task exact.
    pub(crate) fn note_counts(&self, task: &dyn Task) {
        let mut operators = self.operators.iter();
        task.visit_counts(&mut |_, counts| {
            // An operator that appears only after the query was submitted has no counter, so it is skipped.
            if let Some(operator) = operators.next() {
                operator.set(counts);
            }
        });
    }

    /// Copies the bytes of state of each operator of the task.
    pub(crate) fn note_state_bytes(&self, task: &dyn Task) {
        let mut operators = self.operators.iter();
        task.visit_state_bytes(&mut |bytes| {
            if let Some(operator) = operators.next() {
                operator.state_bytes.store(bytes as u64, Ordering::Relaxed);
            }
        });
    }

    /// Records that the operators of the task hold no state any more.
    pub(crate) fn note_no_state(&self) {
        self.operators.iter().for_each(|operator| operator.state_bytes.store(0, Ordering::Relaxed));
    }

    /// Returns the counts of each operator of the task named `task`, up to the last step that has ended.
    pub(crate) fn operator_counts(&self, task: &str) -> Vec<OperatorCounts> {
        let counts = |operator: &OperatorMeter| OperatorCounts {
            operator: operator.name.clone(),
            task: task.to_owned(),
            counts: operator.counts(),
            state_bytes: read(&operator.state_bytes),
        };
        self.operators.iter().map(counts).collect()
    }

    /// Adds the time of each operator in a step that was measured operator by operator.
    pub(crate) fn note_stages(&self, stages: &Stages<'_>) {
        for (operator, stage) in self.operators.iter().zip(stages.spent()) {
            add(&operator.staged_ns, stage.nanos);
            add(&operator.staged_records, stage.records);
        }
    }

    /// Records that the task was in the state `before` for `nanos` ns, and is in the state `after` from `now`
    /// on.
    #[inline]
    pub(crate) fn note_state(&self, before: TaskState, nanos: u64, after: TaskState, now: ProcessingTime) {
        let word = word(after, now.nanos_since(self.made));
        let counter = match before {
            TaskState::Ready => &self.waited_ns.ready,
            TaskState::Blocked => &self.waited_ns.blocked,
            TaskState::Idle => &self.waited_ns.idle,
            // The time of a running task is counted by its step, and an ended task has none. So the state
            // changes without a counter of waiting time.
            TaskState::Running | TaskState::Ended => return self.standing.store(word, Ordering::Release),
        };
        self.standing.store(CHANGING, Ordering::Relaxed);
        fence(Ordering::Release);
        add(counter, nanos);
        self.standing.store(word, Ordering::Release);
    }

    /// Returns the state of the task and its waiting times up to `now`. Times never fall from one call to the
    /// next.
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

    /// Returns the instant at which the task ended; `None` if it has not ended.
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
            state_bytes: AtomicU64::new(0),
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

    /// Returns the nanoseconds and the records of the operator in the steps in which it was measured by
    /// itself.
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
