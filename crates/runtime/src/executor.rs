//! The choice of the task that runs next, and the end of a run.
//!
//! ```text
//!              +-> [Board] ranks: how urgent each task is -------+
//!   publish ---+   [Board] dues: when time makes a task ready -->+-- choose --> [TaskCell] of a task -- take --> run
//!              +-> [TaskCell] per task: idle, ready or held         |                                             |
//!   policy  ---- [Ranker], behind a lock that is only tried      +---------------- put back <-----------------+
//! ```
//!
//! A worker that ends a run makes work runnable at once: it notifies the tasks that read what was written,
//! and the tasks that had no room and have some now. Then it puts its own task back and takes the task whose
//! published rank is best. None of this waits for a lock, with one exception: workers only try the lock of
//! the ranker. If another worker has it, ranks stay as they were for the moment. Only a worker whose notes
//! are full waits for the lock.
//!
//! Only the holder of a task (by its [`TaskCell`]) looks at the task, ranks it and writes its words on the
//! boards. A task is ready when it has something to do and room for the results. A task becomes ready by
//!
//! * another task's run: the worker of that run notifies it;
//! * time, for a source, and for a copy that may claim a block which has waited for long on another work
//!   queue: the due time is on a board, and every worker checks the least due time at every decision;
//! * an event from outside, such as a submit, a call of a handle, or a new chunk: the thread of that event
//!   notifies it.
//!
//! If a notified task is held, its cell records the notification, and the holder looks again.
//! `idle/README.md` describes how workers sleep.
//!
//! This module has the tasks and the calls from outside. The module `turn` has a worker's actions between two
//! runs.

mod body;
mod turn;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

#[cfg(all(test, not(loom)))]
use thalweg_memory::sync::MutexGuard;
use thalweg_memory::sync::{AtomicBool, AtomicU32, AtomicU64, CacheAligned, Mutex, Ordering, fence};
use thalweg_memory::{Pool, TaskCell};
use thalweg_model::{Clock, ProcessingTime};
use thalweg_scheduling::{InputOrder, OperatorId, Policy};

pub(crate) use self::body::{Claim, Done, Entrance, Outcome, TaskBody, discard};
pub(crate) use self::turn::Bench;
use self::turn::{Left, Turn};
use crate::board::{Board, NOTHING};
use crate::cost_clock::CostClock;
use crate::driver::{Driver, DriverFigures};
use crate::error::{PlanError, QueryError};
use crate::graph::Built;
use crate::idle::{Awoken, Idle, Outlook};
use crate::limits;
use crate::meter::Meter;
use crate::observer::NewTask;
use crate::query::{Entry, QueryShared, SeenTask};
use crate::ranker::Ranker;

/// Number of messages to the policy (about ended runs and tasks) that a worker keeps before it waits for the
/// policy's lock. See [`limits::NOTES_PER_WORKER`].
const NOTES_MAX: usize = limits::NOTES_PER_WORKER.default as usize;

/// Number of messages to the policy that one decision of a worker may add, unless a query fails in it: one
/// for the run that ended, and one if the task of that run ended too.
const NOTES_PER_TURN: usize = 2;

/// Stored in place of the number of a task's preferred worker (the one in whose cache its input lies) if the
/// task has none.
const NO_WORKER: u32 = u32::MAX >> 2;

/// Flag stored with the number of a task's preferred worker: the task is a source.
const SOURCE: u32 = 1 << 31;

/// Flag stored with the number of a task's preferred worker: the task is one of several copies that share an
/// operator or produce a stream. A copy keeps its preferred worker, whichever worker feeds or runs it,
/// because each worker has a copy of its own.
const COPY: u32 = 1 << 30;

/// Mask of the flags that are stored in one word with the number of a task's preferred worker.
const KIND: u32 = SOURCE | COPY;

/// Nanoseconds for which a worker looks for work before it sleeps, while another worker runs a task. It is
/// about the time that waking the worker would take.
const LINGER_NS: u64 = turn::WAKE_AFTER_NS;

/// Maximum number of looks for work before a worker sleeps, in case the engine's clock stands still.
const LINGER_LOOKS_MAX: u32 = 1_000;

/// Runs tasks on workers as the policy directs: it holds the tasks, their published ranks and the state of
/// sleeping workers.
pub(crate) struct Executor {
    cells: Box<[TaskCell<TaskBody>]>,
    /// The preferred worker of each task, which is the worker that fed or ran the task last, with the flags
    /// [`SOURCE`] and [`COPY`]. Relaxed: a stale value only costs speed.
    preferred_workers: Box<[AtomicU32]>,
    /// Start of the run that each worker is in, in ns; `NOTHING` while the worker sleeps. Relaxed: a hint.
    run_since_ns: Box<[CacheAligned<AtomicU64>]>,
    ranks: Board,
    dues: Board,
    /// An instant, in ns, that is never later than the least due time (at which a source or a copy becomes
    /// ready by time) on the board of due times. See [`wait_for`](Executor::wait_for).
    next_due_ns: AtomicU64,
    /// Instant in ns at which all ready tasks are ranked again (a round). Relaxed: written under the lock of
    /// the ranker.
    next_round_ns: AtomicU64,
    /// True if a ready task has no rank yet and waits for the next round of ranking to get one.
    holds_back: AtomicBool,
    ranker: Mutex<Ranker>,
    runs: Runs,
    /// True if a worker may take a task whose input is in its cache before a task of better rank. This needs
    /// a policy that allows it, and more than one worker.
    prefers_workers: bool,
    idle: Idle,
    pool: Arc<Pool>,
    clock: Arc<dyn Clock>,
    is_closed: AtomicBool,
    /// Nanoseconds that workers have spent choosing tasks. Relaxed: a counter for reports.
    scheduling_ns: AtomicU64,
    /// Number of queries submitted. Relaxed: a counter, incremented under the lock of the ranker.
    submitted: AtomicU64,
}

/// Bounds of one run of a task: bytes, and how often a source is polled, a task is measured and a step is
/// measured operator by operator. Also the clock of its cost, and the order in which it reads its inputs.
#[derive(Clone, Copy)]
pub(crate) struct Runs {
    pub(crate) block_records: u32,
    /// Most bytes of records that one run may take. See [`limits::RUN_BYTES`].
    pub(crate) bytes_max: u64,
    /// Nanoseconds for which a source that has caught up is not polled. See [`limits::SOURCE_GRAIN_NS`].
    pub(crate) source_grain_ns: u64,
    /// Nanoseconds over which costs and selectivities of tasks are averaged. See
    /// [`limits::METRICS_INTERVAL_NS`].
    pub(crate) metrics_interval_ns: u64,
    /// Interval between measured steps: of this many steps of a task, one is measured operator by operator.
    /// See [`limits::MEASURED_STEPS`].
    pub(crate) measured_steps: u32,
    /// Clock that measures the cost of the run, which counts as cost of its task.
    pub(crate) cost_clock: CostClock,
    /// Order in which a task reads its inputs, as the policy wants it.
    pub(crate) input_order: InputOrder,
}

impl Runs {
    /// Returns true if the time of each operator is measured in the step with the given number.
    pub(crate) fn is_measured(&self, step: u32) -> bool {
        self.measured_steps > 0 && step.is_multiple_of(self.measured_steps)
    }
}

/// Result of a worker's search for work.
pub(crate) enum Found {
    Task(Claim),
    /// No task is ready, and none becomes ready by the clock before this instant.
    Nothing(ProcessingTime),
}

impl Executor {
    pub(crate) fn new(
        policy: Box<dyn Policy>,
        pool: Arc<Pool>,
        clock: Arc<dyn Clock>,
        runs: Runs,
        workers: usize,
    ) -> Arc<Self> {
        let places = usize::try_from(limits::TASKS.max).expect("the number of tasks is bounded");
        let prefers_workers = workers > 1 && policy.prefers_workers();
        let runs = Runs { input_order: policy.input_order(), ..runs };
        Arc::new(Executor {
            cells: (0..places).map(|_| TaskCell::default()).collect(),
            preferred_workers: (0..places).map(|_| AtomicU32::new(NO_WORKER)).collect(),
            run_since_ns: (0..workers).map(|_| CacheAligned(AtomicU64::new(NOTHING))).collect(),
            ranks: Board::new(places),
            dues: Board::new(places),
            next_due_ns: AtomicU64::new(NOTHING),
            next_round_ns: AtomicU64::new(0),
            holds_back: AtomicBool::new(false),
            ranker: Mutex::new(Ranker::new(policy, runs, workers)),
            runs,
            prefers_workers,
            idle: Idle::new(workers, runs.source_grain_ns),
            pool,
            clock,
            is_closed: AtomicBool::new(false),
            scheduling_ns: AtomicU64::new(0),
            submitted: AtomicU64::new(0),
        })
    }

    pub(crate) fn note_scheduling(&self, spent_ns: u64) {
        self.scheduling_ns.fetch_add(spent_ns, Ordering::Relaxed);
    }

    pub(crate) fn runs(&self) -> Runs {
        self.runs
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Ends the tasks that lie in their cells in a closed engine. Each worker calls it before its thread ends: it may have
    /// found the query of a task running, and have put the task back as ready only after the engine had looked for tasks to
    /// end. No worker would take that task any more, and its query would wait for it forever.
    pub(crate) fn end_tasks_left(&self) {
        let mut turn = self.outside(ProcessingTime::ZERO);
        let ranker = turn.ranker.as_ref().expect("from outside the ranker is waited for");
        let queries: Vec<Arc<QueryShared>> = ranker.observer().queries().cloned().collect();
        queries.iter().for_each(|query| turn.bury_tasks(query));
        turn.end();
    }

    fn admit(self: &Arc<Self>, built: Built) -> Result<Arc<QueryShared>, PlanError> {
        let Built { name, aims, tasks, edges, delivered, checkpoints } = built;
        let now = self.clock.now();
        let mut turn = self.outside(now);
        let ranker = turn.ranker.as_mut().expect("from outside the ranker is waited for");
        let fits = || {
            // Checked again under the ranker's lock: from here on the engine cannot close before the query
            // has been added.
            if self.is_closed() {
                return Err(PlanError::EngineClosed);
            }
            limits::QUERIES.check(ranker.observer().query_count() as u64 + 1)?;
            limits::TASKS.check((ranker.observer().task_count() + tasks.len()) as u64)
        };
        if let Err(refusal) = fits() {
            // Dropping the refused tasks runs user code, so it happens without the ranker's lock. A panic in
            // that code does not close the engine.
            drop(turn);
            tasks.into_iter().for_each(discard);
            return Err(refusal);
        }
        let seen: Vec<SeenTask> = tasks.iter().map(|task| SeenTask::new(task, now)).collect();
        let new: Vec<NewTask> = tasks.iter().zip(&seen).map(|(task, seen)| NewTask::of(task, seen)).collect();
        let meters: Vec<Arc<Meter>> = seen.iter().map(|seen| Arc::clone(&seen.meter)).collect();
        let id = ranker.observer().next_query();
        let serial = self.submitted.fetch_add(1, Ordering::Relaxed) + 1;
        let entry = Entry { serial, submitted: now, clock: Arc::clone(&self.clock), aims };
        let query = QueryShared::new(id, name, entry, edges, delivered, seen, checkpoints);
        let ids = ranker.admit(Arc::clone(&query), new, now);
        query.set_tasks(ids.clone());
        let places = ranker.observer().places();
        self.ranks.cover(places);
        self.dues.cover(places);
        let driver: Arc<dyn Driver> = Arc::<Executor>::clone(self);
        let entrance =
            Entrance { driver: &driver, pool: &self.pool, runs: self.runs, query: &query, ids: &ids, now };
        for ((built, operator), meter) in tasks.into_iter().zip(&ids).zip(meters) {
            let preferred = built.preferred_worker;
            let body = TaskBody::new(built, *operator, meter, &entrance);
            let kind = if body.probe.is_source() { SOURCE } else { 0 };
            let preferred = preferred.map_or(NO_WORKER, |worker| worker | COPY) | kind;
            self.preferred_workers[operator.0 as usize].store(preferred, Ordering::Relaxed);
            let filled = self.cells[operator.0 as usize].fill(body);
            assert!(filled.is_ok(), "the place of a task that has ended is empty");
        }
        // New tasks are ranked when they are notified below. They are compared with all other tasks in a
        // round of ranking, which is made due at once.
        self.next_round_ns.store(0, Ordering::Relaxed);
        ids.iter().for_each(|&id| turn.notify(id));
        turn.end();
        self.rouse();
        Ok(query)
    }

    /// Returns, for each of the first `tasks` tasks, its preferred worker, whether the task is a source, and
    /// whether it is one of several copies that share an operator.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn preferred_workers(&self, tasks: usize) -> Vec<(Option<u32>, bool, bool)> {
        let preferred = |preferred: &AtomicU32| {
            let word = preferred.load(Ordering::Relaxed);
            let (preferred, kind) = (word & !KIND, word & KIND);
            (
                Some(preferred).filter(|preferred| *preferred != NO_WORKER),
                kind & SOURCE != 0,
                kind & COPY != 0,
            )
        };
        self.preferred_workers[..tasks].iter().map(preferred).collect()
    }

    /// Takes the lock of the ranker, which asks the policy for ranks, for a test. The lock is held until the
    /// guard is dropped. So the test acts like a worker whose policy takes long.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn hold_ranker(&self) -> MutexGuard<'_, Ranker> {
        self.ranker.lock()
    }

    /// Puts back the task whose run has ended, if there was one, and looks for the next task to run.
    pub(crate) fn next(&self, bench: &mut Bench, done: Option<Done>, now: ProcessingTime) -> Found {
        let mut ranker = self.ranker.try_lock();
        if ranker.is_none() && bench.notes.len() + NOTES_PER_TURN > NOTES_MAX {
            // Another worker has held the policy's lock for so many runs that this worker can keep no more
            // messages to the policy. This happens while the other worker ranks very many tasks in a round.
            ranker = Some(self.ranker.lock());
        }
        if let Some(ranker) = &mut ranker {
            bench.notes.drain(..).for_each(|note| ranker.hear(note));
        }
        let bench = Some(bench);
        let mut turn = Turn { executor: self, ranker, bench, now, ended: Vec::new(), unused: Vec::new() };
        if let Some(done) = done {
            turn.complete(done);
        }
        if self.next_due_ns.load(Ordering::Relaxed) <= now.as_nanos() {
            turn.call_due();
        }
        if self.next_round_ns.load(Ordering::Relaxed) <= now.as_nanos() && turn.ranker.is_some() {
            turn.round();
        }
        let found = match turn.choose() {
            Some(claim) => Found::Task(claim),
            None => Found::Nothing(self.next_due()),
        };
        turn.end();
        found
    }

    /// Returns the next instant at which the passing of time makes work, of which no thread notifies a
    /// worker. At that instant a source is due, a copy may claim blocks of other work queues, or a round of
    /// ranking is due for which tasks wait.
    fn next_due(&self) -> ProcessingTime {
        if self.is_closed() {
            return ProcessingTime::NEVER;
        }
        let due_ns = self.dues.least().map_or(NOTHING, |least| least.word);
        let round_ns = if self.holds_back.load(Ordering::Relaxed) {
            self.next_round_ns.load(Ordering::Relaxed)
        } else {
            NOTHING
        };
        // If nothing is due, the least due time on the board is `NOTHING`, the greatest number. As an instant
        // this number is `NEVER`.
        ProcessingTime::from_nanos(due_ns.min(round_ns))
    }

    /// Looks for work once more, then puts the worker to sleep until there may be something to do.
    pub(crate) fn sleep(&self, bench: &mut Bench, clock: &dyn Clock) {
        bench.left = Left::default();
        if !bench.notes.is_empty() {
            let mut ranker = self.ranker.lock();
            bench.notes.drain(..).for_each(|note| ranker.hear(note));
        }
        let look = |_now: ProcessingTime| {
            let is_any_ready = || self.cells[..self.ranks.covered()].iter().any(TaskCell::is_ready);
            if self.is_closed() || is_any_ready() { Outlook::Work } else { Outlook::Nothing(self.next_due()) }
        };
        self.run_since_ns[bench.worker].store(NOTHING, Ordering::Relaxed);
        if bench.has_run {
            if self.lingers(clock) {
                return;
            }
            bench.has_run = false;
        }
        let awoken = self.idle.sleep(bench.worker, clock, look);
        if let Awoken::FromSleep { is_covered } = awoken {
            bench.leaves_nobody_to_look = !is_covered;
        }
    }

    /// Looks for work after a run for as long as waking this worker would take, while another worker is in a
    /// run that may leave work. Without this, tasks that feed each other would let a worker fall asleep
    /// between any two blocks. Returns true if there is work. A worker that finds none looks again while it
    /// falls asleep.
    ///
    /// Other threads may need the core, so the worker yields the core between two looks.
    fn lingers(&self, clock: &dyn Clock) -> bool {
        let is_running = |since: &CacheAligned<AtomicU64>| since.load(Ordering::Relaxed) != NOTHING;
        let began = clock.now();
        for _ in 0..LINGER_LOOKS_MAX {
            if self.is_closed() || !self.run_since_ns.iter().any(is_running) {
                return false;
            }
            let now = clock.now();
            if self.ranks.least().is_some() || self.next_due_ns.load(Ordering::Relaxed) <= now.as_nanos() {
                return true;
            }
            if LINGER_NS <= now.nanos_since(began) {
                return false;
            }
            std::thread::yield_now();
        }
        false
    }

    /// Runs `act`, which may call the policy or the clock, on a thread that is not a worker's. If one of them
    /// panics, the engine closes, as it does when a worker dies of a panic, and the panic continues.
    fn guarded<T>(&self, act: impl FnOnce() -> T) -> T {
        catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|payload| {
            self.close(&|| QueryError::WorkerDied);
            resume_unwind(payload)
        })
    }

    fn outside(&self, now: ProcessingTime) -> Turn<'_> {
        let ranker = Some(self.ranker.lock());
        Turn { executor: self, ranker, bench: None, now, ended: Vec::new(), unused: Vec::new() }
    }

    /// Wakes a sleeping worker, because a thread outside the workers has made a task ready.
    fn rouse(&self) {
        if self.idle.has_sleepers() {
            self.idle.wake_one();
        }
    }

    /// Publishes the instant at which a task becomes ready by the clock. The task is a source, or a copy of a
    /// parallel operator that waits to claim a block of another copy.
    fn wait_for(&self, operator: OperatorId, due: ProcessingTime) {
        let due_ns = due.as_nanos();
        self.dues.set(operator.0 as usize, due_ns);
        if due_ns == NOTHING {
            return;
        }
        // SeqCst: a worker that looks for due tasks first sets `next_due_ns` to nothing and then reads the
        // board of due times. This thread stores a due time and then loads `next_due_ns`. With a fence on
        // both sides at least one side sees the other's store: either the worker reads the new due time, or
        // this thread sees that `next_due_ns` was reset, and lowers it.
        fence(Ordering::SeqCst);
        if due_ns < self.next_due_ns.load(Ordering::Relaxed) {
            self.next_due_ns.fetch_min(due_ns, Ordering::Relaxed);
        }
    }
}

impl Driver for Executor {
    fn submit(self: Arc<Self>, built: Built) -> Result<Arc<QueryShared>, PlanError> {
        if self.is_closed() {
            // The engine may have closed because a clock or a policy panicked. So neither of them is called
            // to refuse the query.
            built.tasks.into_iter().for_each(discard);
            return Err(PlanError::EngineClosed);
        }
        self.guarded(|| self.admit(built))
    }

    fn notify(&self, operators: &[OperatorId]) {
        // SeqCst: the change made outside the workers comes before the looks at the task cells below. A run
        // has the same fence between its publications and its looks at task cells.
        fence(Ordering::SeqCst);
        self.guarded(|| {
            let mut turn = self.outside(self.clock.now());
            operators.iter().for_each(|&operator| turn.notify(operator));
            turn.end();
        });
        self.rouse();
    }

    fn fail_query(&self, query: &QueryShared, error: QueryError) {
        self.guarded(|| {
            let mut turn = self.outside(self.clock.now());
            turn.fail(query, error);
            turn.end();
        });
        // The places of ended tasks are reused. So this call may have taken a task of another query from its
        // cell for a moment, and a worker may have missed that task. A sleeping worker is woken to look
        // again.
        self.rouse();
    }

    /// Closes the engine without calling the clock or the policy, because a panic of one of them may have
    /// ended a worker.
    fn close(&self, reason: &dyn Fn() -> QueryError) {
        let mut turn = self.outside(ProcessingTime::ZERO);
        let ranker = turn.ranker.as_ref().expect("from outside the ranker is waited for");
        let queries: Vec<Arc<QueryShared>> = ranker.observer().queries().cloned().collect();
        // First every query is marked as failed. From then on no task is ranked, and a thread that puts a
        // task back ends it instead.
        queries.iter().for_each(|query| turn.unused.extend(query.fail(reason())));
        self.is_closed.store(true, Ordering::Relaxed);
        queries.iter().for_each(|query| turn.bury_tasks(query));
        turn.end();
        self.idle.wake_all();
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn queries(&self) -> Vec<Arc<QueryShared>> {
        self.ranker.lock().observer().queries().cloned().collect()
    }

    fn figures(&self) -> DriverFigures {
        DriverFigures {
            submitted: self.submitted.load(Ordering::Relaxed),
            scheduling_ns: self.scheduling_ns.load(Ordering::Relaxed),
            relief: self.ranker.lock().relief(),
            asleep: self.idle.sleeping() as u64,
            task_threads: Vec::new(),
        }
    }
}
