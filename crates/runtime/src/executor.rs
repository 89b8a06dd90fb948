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
//! afterwards and wakes the sleepers), through the pool's thread, a handle or a submit (which take the lock to
//! wake them), or by time (for which a sleeper waits no longer than until the next source is due). A worker
//! falls asleep under the same lock under which it found nothing to do.

use std::sync::Arc;

use thalweg_memory::sync::{AtomicU64, Condvar, Mutex, MutexGuard, Ordering};
use thalweg_memory::{Pool, Reservation};
use thalweg_model::{Clock, Counts, Fault, ProcessingTime};
use thalweg_scheduling::{Completion, Fields, OperatorId, OperatorState, Policy, QueryId, Rank, Snapshot};

use crate::error::{PlanError, QueryError};
use crate::graph::Built;
use crate::limits;
use crate::query::{OperatorCounts, QueryShared, QueryState};
use crate::task::{Probe, StepReport, Task};

/// The table of tasks and the rule by which workers choose.
pub(crate) struct Executor {
    table: Mutex<Table>,
    /// Notified, under the lock, whenever something may have become runnable.
    changed: Condvar,
    pool: Arc<Pool>,
    block_records: u32,
    workers: usize,
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
    next_query: u32,
    is_closed: bool,
}

struct Entry {
    slot: Arc<TaskSlot>,
    is_running: bool,
}

/// A task with all that belongs to it.
pub(crate) struct TaskSlot {
    pub(crate) name: String,
    pub(crate) probe: Arc<Probe>,
    pub(crate) query: Arc<QueryShared>,
    /// Locked by the worker that runs it: never waited for, since the table gives a task to one worker at a
    /// time.
    pub(crate) body: Mutex<TaskBody>,
}

/// What only the running worker touches.
pub(crate) struct TaskBody {
    pub(crate) task: Box<dyn Task>,
    /// Pays for the state and buffers of the task.
    pub(crate) state: Reservation,
}

/// A task that a worker has been given.
pub(crate) struct Claim {
    pub(crate) operator: OperatorId,
    pub(crate) slot: Arc<TaskSlot>,
    pub(crate) quantum_records: usize,
}

/// How a run ended.
pub(crate) enum Outcome {
    Ran(StepReport),
    Failed(QueryError),
}

/// What a worker that looks for work finds.
pub(crate) enum Found {
    Task(Claim),
    /// Nothing before this instant.
    Nothing(ProcessingTime),
}

impl Executor {
    pub(crate) fn new(policy: Box<dyn Policy>, pool: Arc<Pool>, block_records: u32, workers: usize) -> Arc<Self> {
        let snapshot = Snapshot { workers, block_records, ..Snapshot::default() };
        let table = Table {
            reads: policy.reads(),
            policy,
            tasks: Vec::new(),
            snapshot,
            sleepers: 0,
            next_query: 0,
            is_closed: false,
        };
        Arc::new(Executor {
            table: Mutex::new(table),
            changed: Condvar::new(),
            pool,
            block_records,
            workers,
            scheduling_ns: AtomicU64::new(0),
        })
    }

    pub(crate) fn block_records(&self) -> u32 {
        self.block_records
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
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
        let mut running: Vec<QueryId> = table.tasks.iter().flatten().map(|entry| entry.slot.query.id).collect();
        running.dedup();
        limits::QUERIES.check(running.len() as u64 + 1)?;
        let query = QueryShared::new(QueryId(table.next_query), name, edges, delivered);
        table.next_query += 1;
        for built in tasks {
            let state = self.pool.budget().reserve(0).expect("nothing always fits");
            let body = Mutex::new(TaskBody { task: built.task, state });
            let slot = Arc::new(TaskSlot { name: built.name, probe: built.probe, query: Arc::clone(&query), body });
            let entry = Some(Entry { slot, is_running: false });
            match table.tasks.iter_mut().find(|entry| entry.is_none()) {
                Some(free) => *free = entry,
                None => table.tasks.push(entry),
            }
        }
        self.wake(&table);
        Ok(query)
    }

    /// Hands in the last run, if there was one, and looks for the next.
    pub(crate) fn next(&self, done: Option<(Claim, Completion, Outcome)>, now: ProcessingTime) -> Found {
        let mut ended = Vec::new();
        let mut table = self.table.lock();
        if let Some((claim, completion, outcome)) = done {
            self.complete(&mut table, &claim, &completion, outcome, &mut ended);
        }
        let found = table.choose(now);
        drop(table);
        // Tasks that ended are dropped here: their operators' and sinks' code runs without the lock.
        drop(ended);
        found
    }

    fn complete(
        &self,
        table: &mut Table,
        claim: &Claim,
        completion: &Completion,
        outcome: Outcome,
        ended: &mut Vec<Arc<TaskSlot>>,
    ) {
        let query = &claim.slot.query;
        let index = claim.operator.0 as usize;
        if let Some(entry) = &mut table.tasks[index] {
            entry.is_running = false;
        }
        match outcome {
            Outcome::Ran(report) => {
                table.policy.feedback(completion);
                if report.ended || query.state() != QueryState::Running {
                    ended.extend(table.tasks[index].take().map(|entry| entry.slot));
                }
                let is_last = !table.tasks.iter().flatten().any(|entry| entry.slot.query.id == query.id);
                if report.ended && is_last {
                    query.end(None);
                }
            }
            Outcome::Failed(error) => {
                query.end(Some(error));
                table.remove_waiting(query.id, ended);
            }
        }
        self.wake(table);
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

    /// Sleeps until something may have become runnable, or `until`. Looks once more under the lock first.
    pub(crate) fn sleep(&self, until: ProcessingTime, clock: &dyn Clock) {
        let mut table = self.table.lock();
        let now = clock.now();
        if table.is_closed || until <= now || table.is_work_left(now) {
            return;
        }
        table.sleepers += 1;
        let mut table = if until == ProcessingTime::NEVER {
            self.changed.wait(table)
        } else {
            self.changed.wait_timeout(table, std::time::Duration::from_nanos(until.nanos_since(now)))
        };
        table.sleepers -= 1;
    }

    /// Asks the sources of a query to end.
    pub(crate) fn stop_sources(&self, query: QueryId) {
        let table = self.table.lock();
        let sources = table.tasks.iter().flatten().filter(|entry| entry.slot.query.id == query);
        sources.filter(|entry| entry.slot.probe.is_source()).for_each(|entry| entry.slot.probe.stop());
        self.wake(&table);
    }

    /// Ends a query with an error. Tasks that run now are dropped when their step ends.
    pub(crate) fn fail_query(&self, query: &QueryShared, error: QueryError) {
        let mut ended = Vec::new();
        let mut table = self.table.lock();
        query.end(Some(error));
        table.remove_waiting(query.id, &mut ended);
        self.wake(&table);
        drop(table);
        drop(ended);
    }

    /// Cancels every query, wakes every worker for the last time, and takes no more queries.
    pub(crate) fn close(&self) {
        let mut ended = Vec::new();
        let mut table: MutexGuard<'_, Table> = self.table.lock();
        table.is_closed = true;
        let queries: Vec<Arc<QueryShared>> =
            table.tasks.iter().flatten().map(|entry| Arc::clone(&entry.slot.query)).collect();
        for query in queries {
            query.end(Some(QueryError::Cancelled));
            table.remove_waiting(query.id, &mut ended);
        }
        self.changed.notify_all();
        drop(table);
        drop(ended);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.table.lock().is_closed
    }
}

impl Table {
    /// Takes the tasks of a query that nobody runs out of the table.
    fn remove_waiting(&mut self, query: QueryId, ended: &mut Vec<Arc<TaskSlot>>) {
        for entry in &mut self.tasks {
            if entry.as_ref().is_some_and(|entry| entry.slot.query.id == query && !entry.is_running) {
                ended.extend(entry.take().map(|entry| entry.slot));
            }
        }
    }

    /// The task that the policy ranks first; if it finds none eligible, the first that could run: the pool
    /// conserves work.
    fn choose(&mut self, now: ProcessingTime) -> Found {
        if self.is_closed {
            return Found::Nothing(ProcessingTime::NEVER);
        }
        let (mut due, mut fallback) = (ProcessingTime::NEVER, None);
        self.snapshot.now = now;
        self.snapshot.operators.resize(self.tasks.len(), None);
        for (index, entry) in self.tasks.iter().enumerate() {
            let waiting = entry.as_ref().filter(|entry| !entry.is_running);
            let state = waiting.map(|entry| entry.state(self.reads, now));
            if let (Some(entry), Some(state)) = (waiting, &state) {
                if state.is_source && state.can_output {
                    due = due.min(entry.slot.probe.due());
                }
                if state.pending > 0 && state.can_output {
                    fallback = fallback.or(Some(index));
                }
            }
            self.snapshot.operators[index] = state;
        }
        let mut best: Option<(Rank, usize)> = None;
        if fallback.is_some() {
            for index in 0..self.tasks.len() {
                if self.snapshot.operators[index].is_some_and(|state| state.pending > 0 && state.can_output) {
                    let rank = self.policy.rank(&self.snapshot, OperatorId(index as u32));
                    let candidate = rank.map(|rank| (rank, index));
                    best = [best, candidate].into_iter().flatten().min();
                }
            }
        }
        match best.map(|(_, index)| index).or(fallback) {
            Some(index) => Found::Task(self.claim(index)),
            None => Found::Nothing(due),
        }
    }

    fn claim(&mut self, index: usize) -> Claim {
        let operator = OperatorId(index as u32);
        let quantum = self.policy.quantum(&self.snapshot, operator);
        let entry = self.tasks[index].as_mut().expect("only entries that are there are chosen");
        entry.is_running = true;
        Claim { operator, slot: Arc::clone(&entry.slot), quantum_records: quantum.records.max(1) as usize }
    }

    fn is_work_left(&self, now: ProcessingTime) -> bool {
        let mut waiting = self.tasks.iter().flatten().filter(|entry| !entry.is_running);
        waiting.any(|entry| entry.slot.probe.can_output() && entry.slot.probe.pending(now) > 0)
    }
}

impl Entry {
    fn state(&self, reads: Fields, now: ProcessingTime) -> OperatorState {
        let probe = &self.slot.probe;
        let oldest_pending = if reads.contain(Fields::OLDEST_PENDING) { probe.oldest_pending(now) } else { now };
        OperatorState {
            query: self.slot.query.id,
            is_source: probe.is_source(),
            pending: probe.pending(now),
            oldest_pending,
            can_output: probe.can_output(),
        }
    }
}

impl TaskSlot {
    /// The counts of its operators, for the report of the query.
    pub(crate) fn operator_counts(&self, task: &dyn Task) -> Vec<OperatorCounts> {
        let mut operators = Vec::new();
        task.visit_counts(&mut |operator: &str, counts: Counts| {
            operators.push(OperatorCounts { operator: operator.to_owned(), task: self.name.clone(), counts });
        });
        operators
    }

    pub(crate) fn connector_error(&self, fault: Fault) -> QueryError {
        QueryError::Connector { operator: self.name.clone(), fault }
    }
}
