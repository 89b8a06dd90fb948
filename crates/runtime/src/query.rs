//! A query while it runs, and its report after it has ended.

use std::sync::{Arc, OnceLock, Weak};

use thalweg_memory::sync::{AtomicBool, AtomicU64, Condvar, Mutex, Ordering};
use thalweg_model::{Clock, Counts, EventTime, ProcessingTime};
use thalweg_scheduling::{OperatorId, QueryId};

use crate::aims::Aims;
use crate::driver::Driver;
use crate::error::QueryError;
use crate::gradient::LatencySums;
use crate::graph::{BuiltTask, ReadEdge, ReadKind};
use crate::latency::{Latencies, LatencySummary};
use crate::meter::{Meter, OperatorMeter, Stood, read};
use crate::metrics::{EdgeMetrics, QueryMetrics, TaskMetrics};
use crate::output::Delivered;
use crate::stuck;
use crate::task::{Probe, Stop};

/// State of a query.
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

/// The part of a query that its tasks share with its handle.
pub(crate) struct QueryShared {
    pub(crate) id: QueryId,
    pub(crate) name: String,
    entry: Entry,
    pub(crate) edges: Vec<ReadEdge>,
    pub(crate) delivered: Arc<Delivered>,
    /// Views of its tasks, in the order of the graph.
    seen: Vec<SeenTask>,
    /// Places of its tasks; known before any task runs.
    tasks: OnceLock<Vec<OperatorId>>,
    /// True if its tasks rest. Relaxed: the thread that sets it notifies the tasks afterwards.
    is_paused: AtomicBool,
    /// True if the query has not ended. Relaxed: a worker that sees it late runs one step more, whose effect
    /// is never visible.
    is_running: AtomicBool,
    outcome: Mutex<Outcome>,
    ended: Condvar,
}

/// Admission of a query.
pub(crate) struct Entry {
    /// Number of the query among all that the engine has admitted, from 1.
    pub(crate) serial: u64,
    pub(crate) submitted: ProcessingTime,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) aims: Aims,
}

/// A view of a task for threads that do not hold it.
pub(crate) struct SeenTask {
    pub(crate) name: String,
    pub(crate) meter: Arc<Meter>,
    pub(crate) probe: Arc<Probe>,
}

struct Outcome {
    state: QueryState,
    /// Tasks that are not dropped yet. The query has ended only when the last is dropped, and with it every
    /// sink: a caller that waits for the end may write the same file next.
    tasks_left: usize,
    /// Tasks whose stream has ended. The query has finished only when this is the number of all tasks.
    tasks_ended: usize,
    error: Option<QueryError>,
    /// Counts of operators, added as tasks end.
    operators: Vec<OperatorCounts>,
}

/// Counts of one operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorCounts {
    /// Name of the operator.
    pub operator: String,
    /// Name of its task.
    pub task: String,
    /// Its counts.
    pub counts: Counts,
}

/// The counts of one edge, for one of its readers. A shared edge is listed for each reader.
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

/// Progress of a query.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// State of the query.
    pub state: QueryState,
    /// Records that sources have made.
    pub events_in: u64,
    /// Records that sinks have written.
    pub results_out: u64,
    /// Records that could not be parsed.
    pub bad: u64,
    /// Records on edges.
    pub pending: u64,
    /// The least of the last watermarks that its sinks have seen; none before every sink has seen one.
    pub watermark: Option<EventTime>,
    /// Latencies since they were last [taken](QueryHandle::take_latencies).
    pub latency: Option<LatencySummary>,
}

/// Report of a query that has finished.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryReport {
    /// Name of the query.
    pub query: String,
    /// Records that sources made.
    pub events_in: u64,
    /// Records that each source, or split of one, has made, in the order in which they were planned.
    pub made: Vec<u64>,
    /// Records that sinks wrote.
    pub results_out: u64,
    /// Records that could not be parsed.
    pub bad: u64,
    /// Records stamped so far ahead of the clock that they moved no watermark
    /// ([`ahead_max`](thalweg_model::WatermarkStrategy::ahead_max)). If there are any, another run of the
    /// same input may find other records ahead.
    pub ahead: u64,
    /// Times that a source fell silent and was left out of merged watermarks
    /// ([`idle_after`](thalweg_model::WatermarkStrategy::idle_after)). If there are any, other records may be
    /// late in another run of the same input.
    pub idled: u64,
    /// Nanoseconds that workers spent in its steps.
    pub busy_ns: u64,
    /// Steps that workers ran.
    pub steps: u64,
    /// Each operator, in the order in which their tasks ended. Operators of one name, such as copies that
    /// several workers have run, are one.
    pub operators: Vec<OperatorCounts>,
    /// Each edge.
    pub edges: Vec<EdgeCounts>,
    /// Summary of the latencies from intended send to sink, since they were last
    /// [taken](QueryHandle::take_latencies).
    pub latency: Option<LatencySummary>,
    /// All of these latencies, which can be merged with others.
    pub latencies: Latencies,
    /// Summary of the output delays, since they were last [taken](QueryHandle::take_output_delays). An output
    /// delay is the time from the ingestion of a watermark that closes something, such as a window, until all
    /// sinks have seen it. None if nothing closes before the end of the stream.
    pub output_delay: Option<LatencySummary>,
    /// All of these delays, which can be merged with others.
    pub output_delays: Latencies,
    /// Result latencies, since they were last [taken](QueryHandle::take_result_latencies). A result latency
    /// is the time from the end that such a watermark closes, by the stamps of records, until all sinks have
    /// seen the watermark. The end of a window's allowed lateness is one, too. They are meaningful if records
    /// are stamped by the engine's clock, and at most an hour.
    pub result_latencies: Latencies,
}

impl QueryReport {
    /// Sum of one count over all operators.
    pub fn total(&self, count: impl Fn(&Counts) -> u64) -> u64 {
        self.operators.iter().map(|operator| count(&operator.counts)).sum()
    }

    /// Returns the first place at which records were lost or appeared from nowhere, if there is one: an edge
    /// not read to its end, or an operator whose reads are not accounted for.
    pub fn conservation_error(&self) -> Option<String> {
        conservation_error(self.edges.iter(), self.operators.iter())
    }
}

/// Returns the first edge that was not read to its end, or operator whose reads are not accounted for.
pub(crate) fn conservation_error<'a>(
    mut edges: impl Iterator<Item = &'a EdgeCounts>,
    mut operators: impl Iterator<Item = &'a OperatorCounts>,
) -> Option<String> {
    if let Some(EdgeCounts { edge, written, read, pending, .. }) =
        edges.find(|edge| edge.written != edge.read || edge.pending != 0)
    {
        return Some(format!("edge `{edge}`: {written} written, {read} read, {pending} pending"));
    }
    let lossy = operators.find(|operator| !operator.counts.is_conserved())?;
    Some(format!("operator `{}`: {:?}", lossy.operator, lossy.counts))
}

/// One task's share of its query. It is dropped after the task itself, and the query then has one task less.
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
        entry: Entry,
        edges: Vec<ReadEdge>,
        delivered: Arc<Delivered>,
        seen: Vec<SeenTask>,
    ) -> Arc<Self> {
        let tasks_left = seen.len();
        Arc::new(QueryShared {
            id,
            name,
            entry,
            edges,
            delivered,
            seen,
            tasks: OnceLock::new(),
            is_paused: AtomicBool::new(false),
            is_running: AtomicBool::new(true),
            outcome: Mutex::new(Outcome {
                state: QueryState::Running,
                tasks_left,
                tasks_ended: 0,
                error: None,
                operators: Vec::new(),
            }),
            ended: Condvar::new(),
        })
    }

    /// Number of the query among all that the engine ever admitted. Unlike its id it is never reused.
    pub(crate) fn serial(&self) -> u64 {
        self.entry.serial
    }

    /// Returns the aims of the query.
    pub(crate) fn aims(&self) -> Aims {
        self.entry.aims
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

    /// Present or former places of its tasks.
    pub(crate) fn tasks(&self) -> &[OperatorId] {
        self.tasks.get().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn probes(&self) -> impl Iterator<Item = &Arc<Probe>> {
        self.seen.iter().map(|task| &task.probe)
    }

    /// Returns the chain of tasks for which the task with this probe waits.
    pub(crate) fn waits_for(&self, start: &Probe) -> String {
        let tasks: Vec<(&str, &Probe)> = self.seen.iter().map(|task| (&*task.name, &*task.probe)).collect();
        stuck::waits_for(&tasks, start)
    }

    fn state(&self) -> QueryState {
        let state = self.outcome.lock().state;
        if state == QueryState::Running && self.is_paused() { QueryState::Paused } else { state }
    }

    /// Returns its figures up to now, or up to its end.
    pub(crate) fn metrics(&self) -> QueryMetrics {
        let Entry { serial, submitted, clock, aims } = &self.entry;
        // The state is read first. If it says that the query has ended, all figures are exact: the last task
        // released the lock of the state after its last count.
        let state = self.state();
        let ended = || self.seen.iter().filter_map(|task| task.meter.ended()).max();
        let has_ended = matches!(state, QueryState::Finished | QueryState::Failed);
        let at = if has_ended { ended() } else { None }.unwrap_or_else(|| clock.now());
        let LatencySums { sum_ns: latency_sum_ns, count: latency_count } = self.delivered.latencies.sums();
        let delays = self.delivered.output_delays.sums();
        let deadlines = self.delivered.deadlines();
        QueryMetrics {
            query: self.name.clone(),
            serial: *serial,
            aims: *aims,
            state,
            at,
            span_ns: at.nanos_since(*submitted),
            events_in: self.events_in(),
            results_out: self.delivered.results.load(Ordering::Relaxed),
            watermark: self.delivered.watermark(),
            latency: self.delivered.latencies.all.lock().summary(),
            latency_sum_ns,
            latency_count,
            output_delay: self.delivered.output_delays.all.lock().summary(),
            output_delay_sum_ns: delays.sum_ns,
            output_delay_count: delays.count,
            deadlines: deadlines.map_or(0, |deadlines| deadlines.all),
            deadlines_met: deadlines.map_or(0, |deadlines| deadlines.met),
            tasks: self
                .seen
                .iter()
                .zip(self.tasks())
                .map(|(task, operator)| task.metrics(*operator, at))
                .collect(),
            edges: self.edges.iter().map(edge_metrics).collect(),
        }
    }

    /// The sum of a counter over all tasks.
    fn sum(&self, counter: impl Fn(&Meter) -> &AtomicU64) -> u64 {
        self.seen.iter().map(|task| read(counter(&task.meter))).sum()
    }

    /// Records that its sources have made.
    fn events_in(&self) -> u64 {
        self.made().sum()
    }

    /// Returns how many records each source has made.
    fn made(&self) -> impl Iterator<Item = u64> {
        let sources = self.seen.iter().filter(|task| task.probe.is_source());
        sources.map(|task| read(&task.meter.records_in))
    }

    /// Records that the stream of a task has ended, with the counts of its operators.
    pub(crate) fn add_ended(&self, operators: Vec<OperatorCounts>) {
        let mut outcome = self.outcome.lock();
        outcome.tasks_ended += 1;
        for counted in operators {
            // Copies of one operator in several tasks count as one.
            match outcome.operators.iter_mut().find(|known| known.operator == counted.operator) {
                Some(known) => known.counts = known.counts.plus(counted.counts),
                None => outcome.operators.push(counted),
            }
        }
    }

    /// Makes the query fail, unless it fails already. The first reason counts; a later one is returned. The
    /// query has ended when its last task is dropped.
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
            if outcome.error.is_none() && outcome.tasks_ended < self.seen.len() {
                // A task was dropped before its stream ended, because the worker that held it died.
                outcome.error = Some(QueryError::WorkerDied);
            }
            outcome.state = if outcome.error.is_some() { QueryState::Failed } else { QueryState::Finished };
            self.is_running.store(false, Ordering::Relaxed);
            self.ended.notify_all();
        }
    }

    fn report(&self, operators: Vec<OperatorCounts>) -> QueryReport {
        let latencies = self.delivered.latencies.take();
        let output_delays = self.delivered.output_delays.take();
        QueryReport {
            query: self.name.clone(),
            events_in: self.events_in(),
            made: self.made().collect(),
            results_out: self.delivered.results.load(Ordering::Relaxed),
            bad: self.sum(|meter| &meter.bad),
            ahead: self.sum(|meter| &meter.ahead),
            idled: self.sum(|meter| &meter.idled),
            busy_ns: self.sum(|meter| &meter.busy_ns),
            steps: self.sum(|meter| &meter.steps),
            operators,
            edges: self.edges.iter().map(edge_counts).collect(),
            latency: latencies.summary(),
            latencies,
            output_delay: output_delays.summary(),
            output_delays,
            result_latencies: self.delivered.result_latencies.take(),
        }
    }
}

impl SeenTask {
    /// Makes the view of a task that is admitted now.
    pub(crate) fn new(task: &BuiltTask, now: ProcessingTime) -> Self {
        SeenTask {
            name: task.name.clone(),
            meter: Arc::new(Meter::new(task.operators.clone(), now)),
            probe: Arc::clone(&task.probe),
        }
    }

    fn metrics(&self, operator: OperatorId, at: ProcessingTime) -> TaskMetrics {
        let SeenTask { name, meter, probe } = self;
        let Stood { state, lasting_ns, waited_ns } = meter.stood(at);
        TaskMetrics {
            task: name.clone(),
            operator,
            is_source: probe.is_source(),
            is_sink: probe.is_sink(),
            state,
            state_ns: lasting_ns,
            records_in: read(&meter.records_in),
            records_out: read(&meter.records_out),
            bad: read(&meter.bad),
            ahead: read(&meter.ahead),
            idled: read(&meter.idled),
            steps: read(&meter.steps),
            busy_ns: read(&meter.busy_ns),
            ready_ns: waited_ns.ready,
            blocked_ns: waited_ns.blocked,
            idle_ns: waited_ns.idle,
            held_bytes: read(&meter.held_bytes),
            pending: probe.pending_records(),
            operators: meter.operator_counts(name),
            stages: meter.operators.iter().map(OperatorMeter::staged).collect(),
        }
    }
}

fn edge_counts(edge: &ReadEdge) -> EdgeCounts {
    let ReadEdge { name, kind } = edge;
    // The reader's cursor comes first, so that the reader has not passed `written`. Each cursor is read once,
    // so that `written` equals `read` plus `pending` while other threads write and read.
    let (read, written, marks_dropped) = match kind {
        ReadKind::Ordered(cursors, reader) => {
            // The reader of a queue may be ahead of the count that its writer has published.
            let (read, written) = (cursors.read(*reader), cursors.written());
            (read.min(written), written, cursors.marks_dropped())
        }
        ReadKind::Containers(tracker) => {
            let read = tracker.records_out();
            (read, tracker.records_in(), tracker.markers_dropped())
        }
    };
    let pending = written.saturating_sub(read);
    EdgeCounts { edge: name.clone(), written, read, pending, marks_dropped }
}

fn edge_metrics(edge: &ReadEdge) -> EdgeMetrics {
    let (chunks, chunk_bytes) = match &edge.kind {
        ReadKind::Ordered(cursors, 0) => (cursors.chunks(), cursors.chunk_bytes()),
        // An edge shared by several readers is counted with the first.
        ReadKind::Ordered(..) => (0, 0),
        ReadKind::Containers(tracker) => (tracker.space.chunks(), tracker.space.chunk_bytes()),
    };
    EdgeMetrics { counts: edge_counts(edge), chunks, chunk_bytes }
}

/// A running query, from outside. Dropping the handle does not affect the query.
pub struct QueryHandle {
    shared: Arc<QueryShared>,
    driver: Weak<dyn Driver>,
}

impl QueryHandle {
    pub(crate) fn new(shared: Arc<QueryShared>, driver: &Arc<dyn Driver>) -> Self {
        QueryHandle { shared, driver: Arc::downgrade(driver) }
    }

    /// The query's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Returns the state of the query; cheap enough for frequent calls.
    pub fn state(&self) -> QueryState {
        self.shared.state()
    }

    /// Takes out the latencies measured since they were last taken; later ones are counted from zero. For the
    /// figures of an interval, take them at both of its ends. For the figures of the whole run, merge
    /// everything that was taken.
    pub fn take_latencies(&self) -> Latencies {
        self.shared.delivered.latencies.take()
    }

    /// Takes out the output delays in the same way.
    pub fn take_output_delays(&self) -> Latencies {
        self.shared.delivered.output_delays.take()
    }

    /// Takes out the result latencies in the same way.
    pub fn take_result_latencies(&self) -> Latencies {
        self.shared.delivered.result_latencies.take()
    }

    /// Returns the ages, at `now` on the engine's clock, of the overdue results. These are the instants after
    /// `since` at which a window closes by the stamps of records, and whose results not all sinks have seen.
    /// So a query that is left waiting cannot appear fast. Empty if nothing closes before the end of the
    /// stream, if any instant may close something, and if records are stamped ahead of the clock. At most
    /// 10,000, the oldest first.
    pub fn overdue_results(&self, since: ProcessingTime, now: ProcessingTime) -> Latencies {
        self.shared.delivered.overdue(since, now)
    }

    /// Returns the latest intended time of the latency markers that sinks have seen; none before the first. A
    /// marker with the intended time 0 ns counts as none.
    pub fn last_marker(&self) -> Option<ProcessingTime> {
        self.shared.delivered.last_marker()
    }

    /// Returns the figures of each task, operator and edge of the query, up to now or to its end. The
    /// difference of two such figures gives the [interval](QueryMetrics::since) between them.
    pub fn metrics(&self) -> QueryMetrics {
        self.shared.metrics()
    }

    /// Returns the progress of the query.
    pub fn progress(&self) -> Progress {
        let QueryShared { delivered, edges, .. } = &*self.shared;
        Progress {
            state: self.state(),
            events_in: self.shared.events_in(),
            results_out: delivered.results.load(Ordering::Relaxed),
            bad: self.shared.sum(|meter| &meter.bad),
            pending: edges.iter().map(|edge| edge_counts(edge).pending).sum(),
            watermark: delivered.watermark(),
            latency: delivered.latencies.all.lock().summary(),
        }
    }

    /// Pauses the query: running steps are finished, then nothing of it runs until it is
    /// [resumed](Self::resume). It keeps its blocks and state. Its sources catch up with what they miss
    /// meanwhile.
    pub fn pause(&self) {
        if let Some(driver) = self.driver.upgrade() {
            driver.set_paused(&self.shared, true);
        }
    }

    /// Resumes a query that was paused.
    pub fn resume(&self) {
        if let Some(driver) = self.driver.upgrade() {
            driver.set_paused(&self.shared, false);
        }
    }

    /// Asks the sources to end with the promise that nothing follows. Records already made are processed,
    /// every window fires, also partly filled ones, and sinks finish. Flink's `stop` with `--drain` ends in
    /// the same way. A paused query is resumed. Of this and [`stop_at_watermark`](Self::stop_at_watermark)
    /// the first call counts.
    pub fn stop(&self) {
        self.stop_sources(Stop::Drained);
    }

    /// Asks the sources to end at their last watermark. Records already made are processed, and sinks finish.
    /// The results that watermarks have closed are written. Open windows, and other state that waits for a
    /// later watermark, are dropped, because they are not complete. Flink's `stop` without `--drain` ends in
    /// the same way. A paused query is resumed. Of this and [`stop`](Self::stop) the first call counts.
    pub fn stop_at_watermark(&self) {
        self.stop_sources(Stop::AtWatermark);
    }

    fn stop_sources(&self, stop: Stop) {
        if let Some(driver) = self.driver.upgrade() {
            driver.stop_sources(&self.shared, stop);
        }
    }

    /// Cancels the query: records on their way are dropped, and sinks publish nothing. A running step is
    /// finished first. If the stream ends in that step, its sink publishes all the same. [`wait`](Self::wait)
    /// returns when the query has ended.
    pub fn cancel(&self) {
        if let Some(driver) = self.driver.upgrade() {
            driver.fail_query(&self.shared, QueryError::Cancelled);
        }
    }

    /// Waits until the query has ended and all of its sinks are dropped. Its place among the engine's queries
    /// and tasks is free a moment later.
    ///
    /// # Errors
    /// The error that ended the query, if its streams did not.
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
