//! Who runs next, and what happens when a run ends.
//!
//! One lock guards the table of tasks, the policy and the sleepers; a worker takes it once per step, hands in
//! what it did, gets its next task, and runs that without the lock. The state of a task between its runs is
//! read off the cursors of its edges. This is the plain pool: a look for work passes over every task.
//!
//! ```text
//!   worker:  [lock: complete the last run, choose the next] [run it] [lock: ...]
//!   task:    waiting -> running -> waiting -> ... -> ended (its entry is gone)
//! ```
//!
//! No wake-up is lost: a task becomes runnable only through the run of another one (whose worker takes the lock
//! afterwards, and wakes a sleeper if it leaves more than the task it takes itself), through the pool's thread, a
//! handle or a submit (which take the lock to wake them), or by time. For time, a sleeper waits no longer than until
//! the first source is due of those it saw when it fell asleep, under the lock; and whoever hands in a source that is
//! due before any sleeper wakes, wakes one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use thalweg_memory::sync::{AtomicU64, Condvar, Mutex, MutexGuard, Ordering};
use thalweg_memory::{Pool, Reservation};
use thalweg_model::{Clock, Counts, Fault, ProcessingTime};
use thalweg_scheduling::{Completion, Fields, OperatorId, OperatorState, Policy, QueryId, Rank, Snapshot};

use crate::error::{PlanError, QueryError};
use crate::graph::{Built, BuiltTask};
use crate::limits;
use crate::query::{OperatorCounts, QueryShared, TaskCounters, TaskOfQuery};
use crate::task::{Probe, StepReport, Task};

/// The table of tasks and the rule by which workers choose.
pub(crate) struct Executor {
    table: Mutex<Table>,
    /// Notified, under the lock, whenever something may have become runnable.
    changed: Condvar,
    pool: Arc<Pool>,
    /// Nanoseconds that workers spent choosing. Relaxed: a counter for reports.
    scheduling_ns: AtomicU64,
}

struct Table {
    policy: Box<dyn Policy>,
    reads: Fields,
    tasks: Vec<Option<Entry>>,
    /// Kept between looks, so that none allocates.
    snapshot: Snapshot,
    sleepers: usize,
    /// When the first of the sleepers wakes by itself, at the latest; `NEVER` if none does.
    first_wake: ProcessingTime,
    /// Of the last look: whether it left a task that could run, and when the next source is due.
    left: Left,
    next_query: u32,
    is_closed: bool,
}

/// What a look for work left undone.
#[derive(Clone, Copy)]
struct Left {
    is_runnable: bool,
    due: ProcessingTime,
}

impl Default for Left {
    fn default() -> Self {
        Left { is_runnable: false, due: ProcessingTime::NEVER }
    }
}

struct Entry {
    probe: Arc<Probe>,
    query: Arc<QueryShared>,
    /// The task itself, while nobody runs it: a worker takes it out and brings it back.
    waiting: Option<Box<TaskBody>>,
}

/// A task with all that the worker which runs it needs.
pub(crate) struct TaskBody {
    pub(crate) name: String,
    pub(crate) task: Box<dyn Task>,
    pub(crate) probe: Arc<Probe>,
    pub(crate) counters: Arc<TaskCounters>,
    /// Pays for the state and buffers of the task.
    pub(crate) state: Reservation,
    /// Last, so that the query hears of the end of a task when all of it is gone.
    pub(crate) query: TaskOfQuery,
}

/// A task that a worker has been given.
pub(crate) struct Claim {
    pub(crate) operator: OperatorId,
    pub(crate) body: Box<TaskBody>,
    pub(crate) quantum_records: usize,
}

/// A run that has ended.
pub(crate) struct Done {
    pub(crate) operator: OperatorId,
    pub(crate) body: Box<TaskBody>,
    pub(crate) started: ProcessingTime,
    pub(crate) outcome: Outcome,
}

/// How a run ended.
pub(crate) enum Outcome {
    Ran(StepReport),
    Failed(Box<QueryError>),
}

/// What a worker that looks for work finds.
pub(crate) enum Found {
    Task(Claim),
    /// Nothing before this instant.
    Nothing(ProcessingTime),
}

impl Executor {
    pub(crate) fn new(
        policy: Box<dyn Policy>,
        pool: Arc<Pool>,
        block_records: u32,
        workers: usize,
    ) -> Arc<Self> {
        let snapshot = Snapshot { workers, block_records, ..Snapshot::default() };
        let table = Table {
            reads: policy.reads(),
            policy,
            tasks: Vec::new(),
            snapshot,
            sleepers: 0,
            first_wake: ProcessingTime::NEVER,
            left: Left::default(),
            next_query: 0,
            is_closed: false,
        };
        Arc::new(Executor {
            table: Mutex::new(table),
            changed: Condvar::new(),
            pool,
            scheduling_ns: AtomicU64::new(0),
        })
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn note_scheduling(&self, spent_ns: u64) {
        self.scheduling_ns.fetch_add(spent_ns, Ordering::Relaxed);
    }

    pub(crate) fn scheduling_ns(&self) -> u64 {
        self.scheduling_ns.load(Ordering::Relaxed)
    }

    /// Adds the tasks of a query, which may run from now on.
    pub(crate) fn submit(&self, built: Built) -> Result<Arc<QueryShared>, PlanError> {
        let Built { name, tasks, edges, delivered } = built;
        let mut table = self.table.lock();
        if table.is_closed {
            return Err(PlanError::EngineClosed);
        }
        let mut running: Vec<QueryId> = table.tasks.iter().flatten().map(|entry| entry.query.id).collect();
        running.sort_unstable();
        running.dedup();
        limits::QUERIES.check(running.len() as u64 + 1)?;
        let counters: Vec<Arc<TaskCounters>> = tasks.iter().map(|_| Arc::default()).collect();
        let query = QueryShared::new(QueryId(table.next_query), name, edges, delivered, counters.clone());
        table.next_query += 1;
        for (built, counters) in tasks.into_iter().zip(counters) {
            let BuiltTask { name, task, probe } = built;
            let state = self.pool.budget().reserve(0).expect("nothing always fits");
            let body = TaskBody {
                name,
                task,
                probe: Arc::clone(&probe),

                counters,
                state,
                query: TaskOfQuery(Arc::clone(&query)),
            };
            let entry = Some(Entry { probe, query: Arc::clone(&query), waiting: Some(Box::new(body)) });
            match table.tasks.iter_mut().find(|entry| entry.is_none()) {
                Some(free) => *free = entry,
                None => table.tasks.push(entry),
            }
        }
        self.wake(&table);
        Ok(query)
    }

    /// Hands in the last run, if there was one, and looks for the next.
    pub(crate) fn next(&self, done: Option<Done>, now: ProcessingTime) -> Found {
        let (mut ended, mut unused) = (Vec::new(), None);
        let mut table = self.table.lock();
        if let Some(done) = done {
            table.complete(done, now, &mut ended, &mut unused);
        }
        let found = table.choose(now);
        let Left { is_runnable, due } = table.left;
        if table.sleepers > 0 && (is_runnable || due < table.first_wake) {
            self.changed.notify_one();
        }
        drop(table);
        drop_tasks(ended);
        discard(unused);
        found
    }

    fn wake(&self, table: &Table) {
        if table.sleepers > 0 {
            self.changed.notify_all();
        }
    }

    /// Tells the sleepers that something may have become runnable: the pool has made a chunk.
    pub(crate) fn notify(&self) {
        let table = self.table.lock();
        self.wake(&table);
    }

    /// Sleeps until something may have become runnable, or a source is due. Looks once more under the lock first.
    pub(crate) fn sleep(&self, clock: &dyn Clock) {
        let mut table = self.table.lock();
        let now = clock.now();
        let Left { is_runnable, due } = table.look(now);
        if table.is_closed || is_runnable || due <= now {
            return;
        }
        table.sleepers += 1;
        table.first_wake = table.first_wake.min(due);
        let mut table = if due == ProcessingTime::NEVER {
            self.changed.wait(table)
        } else {
            self.changed.wait_timeout(table, std::time::Duration::from_nanos(due.nanos_since(now)))
        };
        table.sleepers -= 1;
        // Too early at worst, for those who still sleep: then one is woken that finds nothing and sleeps again.
        table.first_wake = ProcessingTime::NEVER;
    }

    /// Asks the sources of a query to end.
    pub(crate) fn stop_sources(&self, query: QueryId) {
        let table = self.table.lock();
        let sources = table.tasks.iter().flatten().filter(|entry| entry.query.id == query);
        sources.filter(|entry| entry.probe.is_source()).for_each(|entry| entry.probe.stop());
        self.wake(&table);
    }

    /// Ends a query with an error. Tasks that run now are dropped when their step ends.
    pub(crate) fn fail_query(&self, query: &QueryShared, error: QueryError) {
        let mut ended = Vec::new();
        let mut table = self.table.lock();
        let unused = query.fail(error);
        table.remove_waiting(query.id, &mut ended);
        self.wake(&table);
        drop(table);
        drop_tasks(ended);
        discard(unused);
    }

    /// Fails every query, wakes every worker for the last time, and takes no more queries.
    pub(crate) fn close(&self, reason: impl Fn() -> QueryError) {
        let (mut ended, mut unused) = (Vec::new(), Vec::new());
        let mut table: MutexGuard<'_, Table> = self.table.lock();
        table.is_closed = true;
        let queries: Vec<Arc<QueryShared>> =
            table.tasks.iter().flatten().map(|entry| Arc::clone(&entry.query)).collect();
        for query in queries {
            unused.extend(query.fail(reason()));
            table.remove_waiting(query.id, &mut ended);
        }
        self.changed.notify_all();
        drop(table);
        drop_tasks(ended);
        discard(unused);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.table.lock().is_closed
    }
}

/// Drops tasks that have ended, without the lock: this runs code of operators, sinks and users' values. One that
/// panics now can no longer change what became of its query, and must not take the worker with it; the panic
/// itself was reported where it happened.
fn drop_tasks(ended: Vec<TaskBody>) {
    ended.into_iter().for_each(discard);
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

impl Table {
    /// Takes a task back from the worker that ran it.
    fn complete(
        &mut self,
        done: Done,
        now: ProcessingTime,
        ended: &mut Vec<TaskBody>,
        unused: &mut Option<QueryError>,
    ) {
        let Done { operator, body, started, outcome } = done;
        let entry = &mut self.tasks[operator.0 as usize];
        if let Outcome::Ran(StepReport { records_in, records_out, ended: false }) = outcome
            && body.query.is_running()
        {
            self.policy.feedback(&Completion { operator, started, ended: now, records_in, records_out });
            entry.as_mut().expect("the entry of a running task stays").waiting = Some(body);
            return;
        }
        let query = Arc::clone(&body.query);
        *entry = None;
        ended.push(*body);
        match outcome {
            // Its part is done, or the query fails already.
            Outcome::Ran(_) => {}
            Outcome::Failed(error) => {
                *unused = query.fail(*error);
                self.remove_waiting(query.id, ended);
            }
        }
    }

    /// Takes the tasks of a query that nobody runs out of the table.
    fn remove_waiting(&mut self, query: QueryId, ended: &mut Vec<TaskBody>) {
        for slot in &mut self.tasks {
            if let Some(entry) = slot.as_mut().filter(|entry| entry.query.id == query)
                && let Some(body) = entry.waiting.take()
            {
                ended.push(*body);
                *slot = None;
            }
        }
    }

    /// The task that the policy ranks first; if it finds none eligible, the first that could run: the pool
    /// conserves work.
    fn choose(&mut self, now: ProcessingTime) -> Found {
        if self.is_closed {
            return Found::Nothing(ProcessingTime::NEVER);
        }
        let (mut due, mut fallback, mut runnable_count) = (ProcessingTime::NEVER, None, 0);
        self.snapshot.now = now;
        self.snapshot.operators.resize(self.tasks.len(), None);
        for (index, entry) in self.tasks.iter().enumerate() {
            let waiting = entry.as_ref().filter(|entry| entry.waiting.is_some());
            let state = waiting.map(|entry| entry.state(self.reads, now));
            if let (Some(entry), Some(state)) = (waiting, &state) {
                if state.is_source && state.can_output {
                    due = due.min(entry.probe.due());
                }
                if state.pending > 0 && state.can_output {
                    fallback = fallback.or(Some(index));
                    runnable_count += 1;
                }
            }
            self.snapshot.operators[index] = state;
        }
        // The least word and its task: `u64::MAX` is no rank's word, its class being 15.
        let mut best = (u64::MAX, None);
        if fallback.is_some() {
            for index in 0..self.tasks.len() {
                if self.snapshot.operators[index].is_some_and(|state| state.pending > 0 && state.can_output) {
                    let rank = self.policy.rank(&self.snapshot, OperatorId(index as u32));
                    let word = rank.map_or(u64::MAX, Rank::word);
                    if word < best.0 {
                        best = (word, Some(index));
                    }
                }
            }
        }
        self.left = Left { is_runnable: runnable_count > 1, due };
        match best.1.or(fallback) {
            Some(index) => Found::Task(self.claim(index)),
            None => Found::Nothing(due),
        }
    }

    fn claim(&mut self, index: usize) -> Claim {
        let operator = OperatorId(index as u32);
        let quantum = self.policy.quantum(&self.snapshot, operator);
        let entry = self.tasks[index].as_mut();
        let body = entry.and_then(|entry| entry.waiting.take()).expect("only waiting tasks are chosen");
        Claim { operator, body, quantum_records: quantum.records.max(1) as usize }
    }

    /// What there is to do, without choosing.
    fn look(&self, now: ProcessingTime) -> Left {
        let waiting =
            self.tasks.iter().flatten().filter(|entry| entry.waiting.is_some() && entry.probe.can_output());
        waiting.fold(Left::default(), |left, Entry { probe, .. }| Left {
            is_runnable: left.is_runnable || probe.pending(now) > 0,
            due: if probe.is_source() { left.due.min(probe.due()) } else { left.due },
        })
    }
}

impl Entry {
    fn state(&self, reads: Fields, now: ProcessingTime) -> OperatorState {
        let probe = &self.probe;
        let oldest_pending =
            if reads.contain(Fields::OLDEST_PENDING) { probe.oldest_pending(now) } else { now };
        OperatorState {
            query: self.query.id,
            is_source: probe.is_source(),
            is_on_demand: probe.is_on_demand(),
            pending: probe.pending(now),
            oldest_pending,
            can_output: probe.can_output(),
        }
    }
}

impl TaskBody {
    /// The counts of its operators, for the report of the query.
    pub(crate) fn operator_counts(&self) -> Vec<OperatorCounts> {
        let mut operators = Vec::new();
        self.task.visit_counts(&mut |operator: &str, counts: Counts| {
            operators.push(OperatorCounts { operator: operator.to_owned(), task: self.name.clone(), counts });
        });
        operators
    }

    pub(crate) fn connector_error(&self, fault: Fault) -> QueryError {
        QueryError::Connector { operator: self.name.clone(), fault }
    }
}
