//! A query while it runs, and what is left of it when it has ended.

use std::sync::{Arc, OnceLock, Weak};

use thalweg_memory::Cursors;
use thalweg_memory::sync::{AtomicBool, AtomicU64, Condvar, Mutex, Ordering};
use thalweg_model::{Counts, EventTime};
use thalweg_scheduling::{OperatorId, QueryId};

use crate::error::QueryError;
use crate::executor::Executor;
use crate::exit::Delivered;
use crate::latency::{Latencies, LatencySummary};
use crate::meter::{Meter, read};
use crate::task::Probe;

/// How a query stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueryState {
    /// Its tasks run.
    Running,
    /// Its tasks rest until it is resumed.
    Paused,
    /// Every stream has ended.
    Finished,
    /// It failed or was cancelled.
    Failed,
}

/// What the executor and the handle share of a query.
pub(crate) struct QueryShared {
    pub(crate) id: QueryId,
    pub(crate) name: String,
    pub(crate) edges: Vec<(String, Arc<Cursors>)>,
    pub(crate) delivered: Arc<Delivered>,
    /// Names and meters of its tasks.
    meters: Vec<(String, Arc<Meter>)>,
    probes: Vec<Arc<Probe>>,
    /// Where its tasks are; known before any of them runs.
    tasks: OnceLock<Vec<OperatorId>>,
    /// Whether its tasks rest. Relaxed: who sets it calls the tasks afterwards.
    is_paused: AtomicBool,
    /// Whether it has not ended. Relaxed: a worker that sees it late runs one step more, whose effect nobody sees.
    is_running: AtomicBool,
    outcome: Mutex<Outcome>,
    ended: Condvar,
}

struct Outcome {
    state: QueryState,
    /// Tasks that are not dropped yet. Only when the last is gone, and with it every sink, has the query ended: whoever
    /// waits for that may write the same file next.
    tasks_left: usize,
    error: Option<QueryError>,
    /// Filled as tasks end.
    operators: Vec<OperatorCounts>,
}

/// The counts of one operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorCounts {
    /// Its name.
    pub operator: String,
    /// The task it ran in.
    pub task: String,
    /// Its counts.
    pub counts: Counts,
}

/// The counts of one edge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeCounts {
    /// The edge, as `from -> to`.
    pub edge: String,
    /// Records written.
    pub written: u64,
    /// Records read.
    pub read: u64,
    /// Records not read yet.
    pub pending: u64,
    /// Latency markers dropped because the ring was full.
    pub marks_dropped: u64,
}

/// How far a query has come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// How it stands.
    pub state: QueryState,
    /// Records that sources have made.
    pub events_in: u64,
    /// Records that sinks have written.
    pub results_out: u64,
    /// Input that was not understood.
    pub bad: u64,
    /// Records on edges.
    pub pending: u64,
    /// The least, over its sinks, of the last watermark that each has seen; none before every sink has seen one.
    pub watermark: Option<EventTime>,
    /// Latencies since they were last [taken](QueryHandle::take_latencies).
    pub latency: Option<LatencySummary>,
}

/// What a query that has finished did.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryReport {
    /// Its name.
    pub query: String,
    /// Records that sources made.
    pub events_in: u64,
    /// Records that sinks wrote.
    pub results_out: u64,
    /// Input that was not understood.
    pub bad: u64,
    /// Nanoseconds that workers spent in its steps.
    pub busy_ns: u64,
    /// Steps that workers ran.
    pub steps: u64,
    /// Each operator, in the order in which their tasks ended.
    pub operators: Vec<OperatorCounts>,
    /// Each edge.
    pub edges: Vec<EdgeCounts>,
    /// Latencies from intended send to sink, since they were last [taken](QueryHandle::take_latencies), in short.
    pub latency: Option<LatencySummary>,
    /// The same, to be merged with others.
    pub latencies: Latencies,
}

impl QueryReport {
    /// Sum of one count over all operators.
    pub fn total(&self, count: impl Fn(&Counts) -> u64) -> u64 {
        self.operators.iter().map(|operator| count(&operator.counts)).sum()
    }

    /// The first place where records were lost or came from nowhere, if there is one: an edge not read to its
    /// end, or an operator whose reads are not accounted for.
    pub fn conservation_error(&self) -> Option<String> {
        for EdgeCounts { edge, written, read, pending, .. } in &self.edges {
            if written != read || *pending != 0 {
                return Some(format!("edge `{edge}`: {written} written, {read} read, {pending} pending"));
            }
        }
        let lossy = self.operators.iter().find(|operator| !operator.counts.is_conserved())?;
        Some(format!("operator `{}`: {:?}", lossy.operator, lossy.counts))
    }
}

/// One task's part in its query: when it is dropped, behind the task itself, the query has one task less.
pub(crate) struct TaskOfQuery(pub(crate) Arc<QueryShared>);

impl std::ops::Deref for TaskOfQuery {
    type Target = Arc<QueryShared>;
    fn deref(&self) -> &Arc<QueryShared> {
        &self.0
    }
}

impl Drop for TaskOfQuery {
    fn drop(&mut self) {
        self.0.task_gone();
    }
}

impl QueryShared {
    pub(crate) fn new(
        id: QueryId,
        name: String,
        edges: Vec<(String, Arc<Cursors>)>,
        delivered: Arc<Delivered>,
        meters: Vec<(String, Arc<Meter>)>,
        probes: Vec<Arc<Probe>>,
    ) -> Arc<Self> {
        let tasks_left = meters.len();
        Arc::new(QueryShared {
            id,
            name,
            edges,
            delivered,
            meters,
            probes,
            tasks: OnceLock::new(),
            is_paused: AtomicBool::new(false),
            is_running: AtomicBool::new(true),
            outcome: Mutex::new(Outcome {
                state: QueryState::Running,
                tasks_left,
                error: None,
                operators: Vec::new(),
            }),
            ended: Condvar::new(),
        })
    }

    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Relaxed)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    pub(crate) fn set_paused(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::Relaxed);
    }

    pub(crate) fn set_tasks(&self, tasks: Vec<OperatorId>) {
        let is_first = self.tasks.set(tasks).is_ok();
        assert!(is_first, "a query comes in once");
    }

    /// Where its tasks are, or were.
    pub(crate) fn tasks(&self) -> &[OperatorId] {
        self.tasks.get().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn probes(&self) -> &[Arc<Probe>] {
        &self.probes
    }

    /// The sum of a counter over all tasks.
    fn sum(&self, counter: impl Fn(&Meter) -> &AtomicU64) -> u64 {
        self.meters.iter().map(|(_, meter)| read(counter(meter))).sum()
    }

    /// Records that its sources have made.
    fn events_in(&self) -> u64 {
        let sources = self.meters.iter().zip(&self.probes).filter(|(_, probe)| probe.is_source());
        sources.map(|((_, meter), _)| read(&meter.records_in)).sum()
    }

    pub(crate) fn add_operators(&self, operators: Vec<OperatorCounts>) {
        self.outcome.lock().operators.extend(operators);
    }

    /// Makes the query fail, unless it fails already: the first reason counts, a later one is handed back. It has
    /// ended when its last task is gone.
    #[must_use = "an error may hold user code, and is dropped without a lock"]
    pub(crate) fn fail(&self, error: QueryError) -> Option<QueryError> {
        let mut outcome = self.outcome.lock();
        if outcome.state != QueryState::Running || outcome.error.is_some() {
            return Some(error);
        }
        outcome.error = Some(error);
        self.is_running.store(false, Ordering::Relaxed);
        None
    }

    fn task_gone(&self) {
        let mut outcome = self.outcome.lock();
        outcome.tasks_left -= 1;
        if outcome.tasks_left == 0 {
            outcome.state = if outcome.error.is_some() { QueryState::Failed } else { QueryState::Finished };
            self.is_running.store(false, Ordering::Relaxed);
            self.ended.notify_all();
        }
    }

    fn report(&self, operators: Vec<OperatorCounts>) -> QueryReport {
        let latencies = self.take_latencies();
        QueryReport {
            query: self.name.clone(),
            events_in: self.events_in(),
            results_out: self.delivered.results.load(Ordering::Relaxed),
            bad: self.sum(|meter| &meter.bad),
            busy_ns: self.sum(|meter| &meter.busy_ns),
            steps: self.sum(|meter| &meter.steps),
            operators,
            edges: self.edges.iter().map(edge_counts).collect(),
            latency: latencies.summary(),
            latencies,
        }
    }

    fn take_latencies(&self) -> Latencies {
        // Made before the lock is taken: sinks wait for it.
        let nothing = Latencies::new();
        std::mem::replace(&mut *self.delivered.latencies.lock(), nothing)
    }
}

fn edge_counts((edge, cursors): &(String, Arc<Cursors>)) -> EdgeCounts {
    EdgeCounts {
        edge: edge.clone(),
        written: cursors.written(),
        read: cursors.read(0),
        pending: cursors.pending(0),
        marks_dropped: cursors.marks_dropped(),
    }
}

/// A running query, from outside. Dropping the handle leaves the query alone.
pub struct QueryHandle {
    shared: Arc<QueryShared>,
    executor: Weak<Executor>,
}

impl QueryHandle {
    pub(crate) fn new(shared: Arc<QueryShared>, executor: &Arc<Executor>) -> Self {
        QueryHandle { shared, executor: Arc::downgrade(executor) }
    }

    /// The query's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// How it stands; cheap enough to be asked often.
    pub fn state(&self) -> QueryState {
        let state = self.shared.outcome.lock().state;
        if state == QueryState::Running && self.shared.is_paused() { QueryState::Paused } else { state }
    }

    /// Takes out the latencies that were measured since they were last taken; those to come are counted from zero.
    /// Whoever wants the figures of an interval takes them at both of its ends; whoever wants all merges what was taken.
    pub fn take_latencies(&self) -> Latencies {
        self.shared.take_latencies()
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        let QueryShared { delivered, edges, .. } = &*self.shared;
        Progress {
            state: self.state(),
            events_in: self.shared.events_in(),
            results_out: delivered.results.load(Ordering::Relaxed),
            bad: self.shared.sum(|meter| &meter.bad),
            pending: edges.iter().map(|(_, cursors)| cursors.pending(0)).sum(),
            watermark: delivered.watermark(),
            latency: delivered.latencies.lock().summary(),
        }
    }

    /// Lets the query rest: steps that run now are finished, then nothing of it runs until it is
    /// [resumed](Self::resume). What it holds it keeps; what its sources miss meanwhile they catch up with.
    pub fn pause(&self) {
        if let Some(executor) = self.executor.upgrade() {
            executor.set_paused(&self.shared, true);
        }
    }

    /// Lets a query that was paused run again.
    pub fn resume(&self) {
        if let Some(executor) = self.executor.upgrade() {
            executor.set_paused(&self.shared, false);
        }
    }

    /// Asks the sources to end: what they have made is worked off, every window fires, sinks finish. A query that is
    /// paused is resumed for it.
    pub fn stop(&self) {
        if let Some(executor) = self.executor.upgrade() {
            executor.stop_sources(&self.shared);
        }
    }

    /// Ends the query: what is on its way is dropped, and sinks publish nothing. A step that runs just now is finished
    /// first; if the stream ends in it, its sink publishes all the same. [`wait`](Self::wait) tells when it is over.
    pub fn cancel(&self) {
        if let Some(executor) = self.executor.upgrade() {
            executor.fail_query(&self.shared, QueryError::Cancelled);
        }
    }

    /// Waits until the query has ended and all of its sinks are gone.
    ///
    /// # Errors
    /// What ended it, if its streams did not.
    pub fn wait(self) -> Result<QueryReport, QueryError> {
        let mut outcome = self.shared.outcome.lock();
        while outcome.state == QueryState::Running {
            outcome = self.shared.ended.wait(outcome);
        }
        let operators = std::mem::take(&mut outcome.operators);
        let error = outcome.error.take();
        drop(outcome);
        match error {
            Some(error) => Err(error),
            None => Ok(self.shared.report(operators)),
        }
    }
}
