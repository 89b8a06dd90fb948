//! What a task has done and how it has stood, counted where it runs and read from anywhere.
//!
//! Counters have one writer at a time, whoever holds the task, so adding takes no locked instruction: a few plain
//! stores a step. Relaxed: they are read for reports and for policies; each is exact up to the last step that ended,
//! and all are exact once the task has ended.
//!
//! How a task stands lasts, so its time is counted when it changes, and whoever reads adds what has passed since. For
//! that, the count and the instant must fit each other:
//!
//! *Writer:* says that the standing changes; counts the time of the old one; says what it is now, and since when.
//! *Reader:* reads the standing, the counts, and the standing again; if it changes or has changed, once more.
//! *Why it holds.* A reader who sees the new count has passed the writer's Release fence with its own Acquire fence, so
//! its second look sees at least that the standing changes. The word does not come back to what it was, unless no time
//! has passed. The writer runs nothing of users' and waits for nobody in between, so a reader does not wait long.

use thalweg_memory::sync::{AtomicU64, Ordering, fence, thread};
use thalweg_model::staged::{Stage, Stages};
use thalweg_model::{Counts, ProcessingTime};

use crate::query::OperatorCounts;
use crate::task::{Oddities, StepReport, Task};

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

/// How a task stands, as it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// It has nothing to do, or its query is paused.
    Idle,
    /// It has something to do and could do it: it waits for a worker.
    Ready,
    /// A worker runs it.
    Running,
    /// It has something to do, but no room for what would come of it.
    Blocked,
    /// Its part is done, or its query has failed.
    Ended,
}

impl TaskState {
    /// By the three lowest bits of a standing's word.
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

/// The word of a standing that changes just now; no state has these bits.
const CHANGING: u64 = u64::MAX;

/// The word of a standing: its state below, and above it since when it lasts, in ns since the meter was made. That is
/// enough for 73 years.
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
    /// How it stands and since when: see [`word`]. Written by whoever holds the task, with Release after the count
    /// below that belongs to it; read with Acquire before them, and again behind a fence.
    standing: AtomicU64,
    /// Nanoseconds in which it was ready, blocked, idle; up to its last change.
    waited_ns: Waited<AtomicU64>,
    /// Input that was not understood.
    pub(crate) bad: AtomicU64,
    pub(crate) ahead: AtomicU64,
    pub(crate) idled: AtomicU64,
    /// State and buffers beyond blocks.
    pub(crate) held_bytes: AtomicU64,
    /// The most that was ever shown of these. Written by those who read. Relaxed: each is a maximum of its own. A
    /// worker counts from the instant at which its decision began, so whoever looked later has seen a little more.
    shown_ns: Waited<AtomicU64>,
    /// Of each operator of the chain, in order.
    pub(crate) operators: Box<[OperatorMeter]>,
}

/// What is known of each way to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Waited<C> {
    pub(crate) ready: C,
    pub(crate) blocked: C,
    pub(crate) idle: C,
}

/// How a task stood, up to one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stood {
    pub(crate) state: TaskState,
    /// How long it has stood so.
    pub(crate) lasting_ns: u64,
    pub(crate) waited_ns: Waited<u64>,
}

/// The counts of one operator, as of the last step that ended. Written by whoever holds the task, read by anybody.
/// Relaxed: between two of its words a step may end.
#[derive(Debug)]
pub(crate) struct OperatorMeter {
    pub(crate) name: String,
    read: AtomicU64,
    forwarded: AtomicU64,
    folded: AtomicU64,
    filtered: AtomicU64,
    late: AtomicU64,
    /// In the steps in which it was measured: nanoseconds that it took, and records that it took in.
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
    /// The meter of a task that is idle from `now` on, of operators with these names.
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

    /// Takes over what the operators have counted. Runs code of users' operators.
    ///
    /// After every step: it takes as long as a few plain stores, and so what is shown of an idle task is exact.
    pub(crate) fn note_counts(&self, task: &dyn Task) {
        let mut operators = self.operators.iter();
        task.visit_counts(&mut |_, counts| {
            // Who visits more than it did at submit is shown as it was then.
            if let Some(operator) = operators.next() {
                operator.set(counts);
            }
        });
    }

    /// The counts of each operator of the task called `task`, as of the last step that ended.
    pub(crate) fn operator_counts(&self, task: &str) -> Vec<OperatorCounts> {
        let counts = |operator: &OperatorMeter| OperatorCounts {
            operator: operator.name.clone(),
            task: task.to_owned(),
            counts: operator.counts(),
        };
        self.operators.iter().map(counts).collect()
    }

    /// Takes note of what each operator took in a step in which that was measured.
    pub(crate) fn note_stages(&self, stages: &Stages<'_>) {
        for (operator, stage) in self.operators.iter().zip(stages.spent()) {
            add(&operator.staged_ns, stage.nanos);
            add(&operator.staged_records, stage.records);
        }
    }

    /// Takes note that the task was in a state for so long, and is in another now.
    #[inline]
    pub(crate) fn note_state(&self, before: TaskState, nanos: u64, after: TaskState, now: ProcessingTime) {
        let word = word(after, now.nanos_since(self.made));
        let counter = match before {
            TaskState::Ready => &self.waited_ns.ready,
            TaskState::Blocked => &self.waited_ns.blocked,
            TaskState::Idle => &self.waited_ns.idle,
            // Counted as busy, by the step; no count here changes with the word.
            TaskState::Running | TaskState::Ended => return self.standing.store(word, Ordering::Release),
        };
        self.standing.store(CHANGING, Ordering::Relaxed);
        fence(Ordering::Release);
        add(counter, nanos);
        self.standing.store(word, Ordering::Release);
    }

    /// How it has stood up to `now`. Times never go back from one call to the next.
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

    /// When the task ended, if it has.
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

    /// What it took in the steps in which that was measured.
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
