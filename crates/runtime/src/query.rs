//! A query while it runs, and its report after it has ended.

use std::sync::{Arc, OnceLock, Weak};

use thalweg_memory::sync::{AtomicBool, AtomicU64, Condvar, Mutex, Ordering};
use thalweg_model::{Clock, Counts, EventTime, ProcessingTime};
use thalweg_scheduling::{OperatorId, QueryId};

use crate::aims::Aims;
use crate::checkpoints::{CheckpointProgress, Coordinator};
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

/// State of a query from its submission to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueryState {
    /// The tasks of the query run.
    Running,
    /// The tasks of the query do not run until the query is resumed.
    Paused,
    /// The query has ended, because every stream has ended.
    Finished,
    /// The query has ended, because it failed or was cancelled.
    Failed,
}

/// The part of a query that its tasks, its handle and the engine share.
pub(crate) struct QueryShared {
    pub(crate) id: QueryId,
    pub(crate) name: String,
    entry: Entry,
    pub(crate) edges: Vec<ReadEdge>,
    pub(crate) delivered: Arc<Delivered>,
    /// The counters of each task of the query, and its probe (its edges and progress), for threads that do
    /// not hold the tasks. In the order in which the tasks were planned.
    seen: Vec<SeenTask>,
    /// Numbers that the executor gave to the query's tasks; set before any of the tasks runs.
    tasks: OnceLock<Vec<OperatorId>>,
    /// True if the query is paused, so that its tasks do not run. Relaxed: the thread that sets it notifies
    /// the tasks afterwards.
    is_paused: AtomicBool,
    /// True until the query has ended. Relaxed: a worker that sees the end late runs one step more, whose
    /// effect is never visible.
    is_running: AtomicBool,
    outcome: Mutex<Outcome>,
    ended: Condvar,
    /// Checkpoints of the query, if it takes any. Then one more task counts as left until the last checkpoint is complete.
    pub(crate) checkpoints: Option<Arc<Coordinator>>,
}

/// Data of a query that are fixed when the engine admits it, such as its number and the time of the submit.
pub(crate) struct Entry {
    /// Number of the query among all that the engine has admitted, counted from 1 and never reused.
    pub(crate) serial: u64,
    pub(crate) submitted: ProcessingTime,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) aims: Aims,
}

/// The parts of a task that any thread may read while a worker holds the task: its counters, and its probe,
/// which shows its edges and its progress.
pub(crate) struct SeenTask {
    pub(crate) name: String,
    pub(crate) meter: Arc<Meter>,
    pub(crate) probe: Arc<Probe>,
}

struct Outcome {
    state: QueryState,
    /// Number of tasks that are not dropped yet. The query has ended only when the last task is dropped, and
    /// with it every sink: a caller that waits for the end may write the same file next.
    tasks_left: usize,
    /// Number of tasks whose stream has ended. The query has finished only when this is the number of all
    /// tasks.
    tasks_ended: usize,
    error: Option<QueryError>,
    /// Counts of the query's operators, added when their tasks end.
    operators: Vec<OperatorCounts>,
}

/// Numbers of records that one operator has read, forwarded, folded, filtered or found late.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorCounts {
    /// Name of the operator.
    pub operator: String,
    /// Name of the task that runs the operator.
    pub task: String,
    /// Numbers of records that were read, handed on, added to state, filtered out, or late.
    pub counts: Counts,
    /// Bytes of state that the operator holds, paid from the memory budget; 0 when its task has ended. Of several tasks
    /// that gather the state of one operator, each has its own part.
    pub state_bytes: u64,
}

/// Numbers of records on one edge, for one of its readers. A shared edge is listed once for each reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeCounts {
    /// Name of the edge, written as `from -> to`.
    pub edge: String,
    /// Number of records written to the edge.
    pub written: u64,
    /// Number of records that this reader has read from the edge.
    pub read: u64,
    /// Number of records on the edge that this reader has not read yet.
    pub pending: u64,
    /// Number of latency markers dropped because the ring of marks was full.
    pub marks_dropped: u64,
}

/// Progress of a query at one moment, in a few numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// State of the query: running, paused, finished or failed.
    pub state: QueryState,
    /// Number of records that the sources of the query have made.
    pub events_in: u64,
    /// Number of records that the sinks of the query have written.
    pub results_out: u64,
    /// Number of input records that could not be parsed.
    pub bad: u64,
    /// Number of records that wait on the edges of the query.
    pub pending: u64,
    /// The least of the last watermarks that the sinks have seen; `None` before every sink has seen one.
    pub watermark: Option<EventTime>,
    /// Summary of the latencies, from the intended send time of a record to the sink, measured since they
    /// were last [taken](QueryHandle::take_latencies).
    pub latency: Option<LatencySummary>,
}

/// Report of a query that has finished: its counts, its latencies and its edges.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryReport {
    /// Name of the query.
    pub query: String,
    /// Number of records that the sources of the query have made.
    pub events_in: u64,
    /// Number of records that each source, or each split of a source, has made, in the order in which they
    /// were planned.
    pub made: Vec<u64>,
    /// Number of records that the sinks of the query have written.
    pub results_out: u64,
    /// Number of input records that could not be parsed.
    pub bad: u64,
    /// Number of records stamped so far ahead of the clock that they moved no watermark
    /// ([`ahead_max`](thalweg_model::WatermarkStrategy::ahead_max)). If there are any, another run over the
    /// same input may find other records ahead of the clock.
    pub ahead: u64,
    /// Number of times that a source fell silent and was left out of merged watermarks
    /// ([`idle_after`](thalweg_model::WatermarkStrategy::idle_after)). If there are any, other records may be
    /// late in another run over the same input.
    pub idled: u64,
    /// Nanoseconds that workers have spent in the steps of the query's tasks.
    pub busy_ns: u64,
    /// Number of steps that workers have run for the query.
    pub steps: u64,
    /// Counts of each operator, in the order in which the tasks ended. Operators with the same name, such as
    /// copies that several workers have run, are added up.
    pub operators: Vec<OperatorCounts>,
    /// Counts of each edge of the query.
    pub edges: Vec<EdgeCounts>,
    /// Summary of the latencies from the intended send time of a record to the sink, since they were last
    /// [taken](QueryHandle::take_latencies).
    pub latency: Option<LatencySummary>,
    /// Histogram of the latencies from intended send time to the sink. It can be merged with other
    /// histograms.
    pub latencies: Latencies,
    /// Histogram of the processing latencies, since they were last
    /// [taken](QueryHandle::take_processing_latencies). A processing latency is the time from the start of the
    /// step in which a source took a record in to the arrival of the latency marker behind it at a sink
    /// (Frasca et al., Computing Frontiers 2023, section 5.1, "latency"). Each latency from an intended send
    /// time has one: the difference is the time for which the record waited in front of the engine. Processing
    /// latencies may be too long by a microsecond, and by more if the record waited for more than 71 minutes.
    pub processing_latencies: Latencies,
    /// Summary of the output delays, since they were last [taken](QueryHandle::take_output_delays). An output
    /// delay is the time from the ingestion of a watermark that ends something, such as a window, until all
    /// sinks have seen the watermark. `None` if nothing ends before the end of the stream.
    pub output_delay: Option<LatencySummary>,
    /// Histogram of the output delays: the times from the ingestion of a watermark that ends a window or the
    /// like until all sinks have seen it. It can be merged with other histograms.
    pub output_delays: Latencies,
    /// Number of watermarks that end something, such as a window, and have neither output delay nor result
    /// latency nor event latency, because 64 others were on their way to the sinks.
    pub unmeasured_output_delays: u64,
    /// Histogram of the result latencies, since they were last [taken](QueryHandle::take_result_latencies). A
    /// result latency is the time from the end of a window, by the stamps of records, until all sinks have
    /// seen the watermark that ends it. The end of a window's allowed lateness counts, too. Result latencies
    /// are meaningful if records are stamped by the engine's clock. They are at most an hour.
    pub result_latencies: Latencies,
    /// Histogram of the event latencies, since they were last [taken](QueryHandle::take_event_latencies). An
    /// event latency is the time from the arrival of the last event that a result was made of until all sinks
    /// have seen the watermark behind the result (Cameo, NSDI 2021, section 4.1, "latency"). An event arrives
    /// when it could first have been read, if the source [knows](thalweg_model::Source::arrived), otherwise
    /// when the step began that read it. The record that ends a window counts as the last one of the window.
    /// So the latencies may be too short by the watermark strategy's bound of disorder, its step and the
    /// distance of two records.
    pub event_latencies: Latencies,
}

impl QueryReport {
    /// Returns the sum of one kind of count over all operators of the query.
    pub fn total(&self, count: impl Fn(&Counts) -> u64) -> u64 {
        self.operators.iter().map(|operator| count(&operator.counts)).sum()
    }

    /// Returns the first place at which records were lost or appeared from nowhere: an edge that was not read
    /// to its end, or an operator that has not forwarded, folded, filtered or found late as many records as
    /// it has read. Returns `None` if there is no such place.
    pub fn conservation_error(&self) -> Option<String> {
        conservation_error(self.edges.iter(), self.operators.iter())
    }
}

/// Returns the first edge that was not read to its end, or else the first operator that has not forwarded,
/// folded, filtered or found late as many records as it has read.
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

/// Counts one task among the running tasks of its query. It is dropped after the task itself, and the query
/// then has one running task less.
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
        checkpoints: Option<Arc<Coordinator>>,
    ) -> Arc<Self> {
        let tasks_left = seen.len() + usize::from(checkpoints.is_some());
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
            checkpoints,
        })
    }

    /// Returns the number of the query among all that the engine has admitted. Unlike the query's id it is
    /// never reused.
    pub(crate) fn serial(&self) -> u64 {
        self.entry.serial
    }

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

    /// Returns the numbers of the query's tasks in the executor. If a task has ended, its number may belong
    /// to another task.
    pub(crate) fn tasks(&self) -> &[OperatorId] {
        self.tasks.get().map_or(&[], Vec::as_slice)
    }

    /// Asks all sources to put the barrier of the checkpoint `number`. The caller notifies the tasks afterwards.
    pub(crate) fn put_barrier(&self, number: u64) {
        self.probes().filter(|probe| probe.is_source()).for_each(|probe| probe.ask_barrier(number));
    }

    pub(crate) fn probes(&self) -> impl Iterator<Item = &Arc<Probe>> {
        self.seen.iter().map(|task| &task.probe)
    }

    /// Returns the names of the tasks that wait for each other, beginning with the task to which the probe
    /// `start` belongs.
    pub(crate) fn waits_for(&self, start: &Probe) -> String {
        let tasks: Vec<(&str, &Probe)> = self.seen.iter().map(|task| (&*task.name, &*task.probe)).collect();
        stuck::waits_for(&tasks, start)
    }

    fn state(&self) -> QueryState {
        let state = self.outcome.lock().state;
        if state == QueryState::Running && self.is_paused() { QueryState::Paused } else { state }
    }

    /// Returns the metrics of the query up to now, or up to its end.
    pub(crate) fn metrics(&self) -> QueryMetrics {
        let Entry { serial, submitted, clock, aims } = &self.entry;
        // The state is read before the counters. If it says that the query has ended, all counters are final:
        // the last task released the lock of the state after its last count.
        let state = self.state();
        let ended = || self.seen.iter().filter_map(|task| task.meter.ended()).max();
        let has_ended = matches!(state, QueryState::Finished | QueryState::Failed);
        let at = if has_ended { ended() } else { None }.unwrap_or_else(|| clock.now());
        let LatencySums { sum_ns: latency_sum_ns, count: latency_count } = self.delivered.latencies.sums();
        let delays = self.delivered.output_delays.sums();
        let of_events = self.delivered.event_latencies.sums();
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
            event_latency: self.delivered.event_latencies.all.lock().summary(),
            event_latency_sum_ns: of_events.sum_ns,
            event_latency_count: of_events.count,
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

    fn sum(&self, counter: impl Fn(&Meter) -> &AtomicU64) -> u64 {
        self.seen.iter().map(|task| read(counter(&task.meter))).sum()
    }

    fn events_in(&self) -> u64 {
        self.made().sum()
    }

    /// Returns the number of records that each source of the query has made.
    fn made(&self) -> impl Iterator<Item = u64> {
        let sources = self.seen.iter().filter(|task| task.probe.is_source());
        sources.map(|task| read(&task.meter.records_in))
    }

    /// Records that the stream of a task has ended, and adds the counts of its operators.
    pub(crate) fn add_ended(&self, operators: Vec<OperatorCounts>) {
        let mut outcome = self.outcome.lock();
        outcome.tasks_ended += 1;
        for counted in operators {
            // Several tasks run copies of one operator; the counts of these copies are added up.
            match outcome.operators.iter_mut().find(|known| known.operator == counted.operator) {
                Some(known) => known.counts = known.counts.plus(counted.counts),
                None => outcome.operators.push(counted),
            }
        }
    }

    /// Makes the query fail, unless it fails already or has ended. The first reason counts, and a later error
    /// is returned to the caller. The query has ended when its last task is dropped.
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
                // A task was dropped before its stream ended. This happens if the worker that ran the task
                // died.
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
            processing_latencies: self.delivered.processing_latencies.take(),
            output_delay: output_delays.summary(),
            output_delays,
            unmeasured_output_delays: self.delivered.firings.unmeasured(),
            result_latencies: self.delivered.result_latencies.take(),
            event_latencies: self.delivered.event_latencies.take(),
        }
    }
}

impl SeenTask {
    /// Makes the counters of a task that is admitted to the engine at `now`.
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
    // The reader's cursor is read before the writer's, so that the reader has not passed `written`. Each
    // cursor is read once, so that `written` equals `read` plus `pending` while other threads write and read.
    let (read, written, marks_dropped) = match kind {
        ReadKind::Ordered(cursors, reader) => {
            // The reader of a queue may be ahead of the count that the writer has published, so the lesser
            // count is taken.
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
        // The memory of an edge with several readers is counted with the first reader only.
        ReadKind::Ordered(..) => (0, 0),
        ReadKind::Containers(tracker) => (tracker.space.chunks(), tracker.space.chunk_bytes()),
    };
    EdgeMetrics { counts: edge_counts(edge), chunks, chunk_bytes }
}

/// Handle of a running query, for the program that submitted it. Dropping the handle does not affect the
/// query.
pub struct QueryHandle {
    shared: Arc<QueryShared>,
    driver: Weak<dyn Driver>,
}

impl QueryHandle {
    pub(crate) fn new(shared: Arc<QueryShared>, driver: &Arc<dyn Driver>) -> Self {
        QueryHandle { shared, driver: Arc::downgrade(driver) }
    }

    /// Returns the name of the query.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Returns the state of the query. The call is cheap enough to be made often.
    pub fn state(&self) -> QueryState {
        self.shared.state()
    }

    /// Takes the latencies (from the intended send time of a record to the sink) measured since the last
    /// call; later ones are counted from zero. For the latencies of an interval, call this at both of its
    /// ends. For those of the whole run, merge everything that was taken.
    pub fn take_latencies(&self) -> Latencies {
        self.shared.delivered.latencies.take()
    }

    /// Takes the processing latencies (from the start of the step in which a source read a record to the
    /// arrival at a sink of the latency marker behind it) measured since the last call; later ones are
    /// counted from zero.
    pub fn take_processing_latencies(&self) -> Latencies {
        self.shared.delivered.processing_latencies.take()
    }

    /// Takes the output delays (from the ingestion of a watermark that ends a window or the like until all
    /// sinks have seen it) measured since the last call; later ones are counted from zero.
    pub fn take_output_delays(&self) -> Latencies {
        self.shared.delivered.output_delays.take()
    }

    /// Takes the result latencies (from the end of a window, by the stamps of records, until all sinks have
    /// seen a watermark that ends it) measured since the last call; later ones are counted from zero.
    pub fn take_result_latencies(&self) -> Latencies {
        self.shared.delivered.result_latencies.take()
    }

    /// Takes the event latencies (from the arrival of the last event of a result until all sinks have seen
    /// the watermark behind the result) measured since the last call; later ones are counted from zero.
    pub fn take_event_latencies(&self) -> Latencies {
        self.shared.delivered.event_latencies.take()
    }

    /// Returns how long ago, at `now` on the engine's clock, windows have ended whose results not all sinks
    /// have seen. Only ends after `since`, by the stamps of records, count. So a query that is left waiting
    /// cannot appear fast. The result is empty in three cases: no window ends before the end of the stream,
    /// results may come at any instant (as with timers), or records are stamped ahead of the clock. It has at
    /// most 10,000 ends, the oldest first.
    pub fn overdue_results(&self, since: ProcessingTime, now: ProcessingTime) -> Latencies {
        self.shared.delivered.overdue(since, now)
    }

    /// Returns how long ago, at `now` on the engine's clock, the last events arrived of results that not all
    /// sinks have seen. Together with the event latencies, they tell how long users have waited, also for
    /// what is left waiting.
    ///
    /// Results that are on their way count, at most 64 of them. Windows that have ended by the clock but
    /// whose last events have not been read count, too, at most 10,000, the oldest first. The arrivals of
    /// these events are estimated by the delay of the record before, and an event that is expected after
    /// `now` does not count. If sinks have seen nothing yet, only ends after `since` count. Ends of windows
    /// are left out if any instant may be one, if records are stamped ahead of the clock, and if all sources
    /// are silent or have ended.
    pub fn overdue_event_latencies(&self, since: ProcessingTime, now: ProcessingTime) -> Latencies {
        self.shared.delivered.overdue_events(since, now)
    }

    /// Returns how long ago, at `now` on the engine's clock, sources set watermarks that end something, such
    /// as a window, and that not all sinks have seen. These are the output delays so far of what is on its
    /// way. At most 64 are kept; [`unmeasured_output_delays`](Self::unmeasured_output_delays) has the number
    /// of the others.
    pub fn overdue_output_delays(&self, now: ProcessingTime) -> Latencies {
        self.shared.delivered.firings.undelivered(now)
    }

    /// Returns the number of watermarks since the start of the query that end something, such as a window,
    /// and have no output delay. A watermark has none if 64 others were on their way to the sinks when its
    /// source set it.
    pub fn unmeasured_output_delays(&self) -> u64 {
        self.shared.delivered.firings.unmeasured()
    }

    /// Calls `each` with the length of the queue in front of each task of the query, at `now` on the engine's
    /// clock. The length is the number of records that wait on the input edges of the task or, for a source,
    /// that are due. Tasks without a queue are left out: a task that takes no records, a source that makes
    /// records on demand, and a source before its first poll.
    pub fn queue_lengths(&self, now: ProcessingTime, each: impl FnMut(u64)) {
        // A source that has ended has no queue any more, not even an empty one, so it is left out.
        let seen = self.shared.seen.iter();
        let live = seen.filter(|task| !task.probe.is_source() || task.meter.ended().is_none());
        live.filter_map(|task| task.probe.queue_length(now)).for_each(each);
    }

    /// Returns the latest intended send time of a record behind which sinks have seen a latency marker;
    /// `None` before the first. An intended time of 0 ns is left out.
    pub fn last_marker(&self) -> Option<ProcessingTime> {
        self.shared.delivered.last_marker()
    }

    /// Returns the metrics of each task, operator and edge of the query, up to now or up to its end. The
    /// difference of two readings gives the [interval](QueryMetrics::since) between them.
    pub fn metrics(&self) -> QueryMetrics {
        self.shared.metrics()
    }

    /// Returns the progress of the query in a few numbers.
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

    /// Pauses the query: running steps are finished, then no task of the query runs until it is
    /// [resumed](Self::resume). The query keeps its blocks and state. When it is resumed, its sources catch
    /// up with the records that have become due.
    pub fn pause(&self) {
        if let Some(driver) = self.driver.upgrade() {
            driver.set_paused(&self.shared, true);
        }
    }

    /// Resumes a query that was paused; its tasks run again.
    pub fn resume(&self) {
        if let Some(driver) = self.driver.upgrade() {
            driver.set_paused(&self.shared, false);
        }
    }

    /// Asks the sources to end with the promise that nothing follows. Records already made are processed,
    /// every window fires, also if it is only partly filled, and sinks finish. Flink's `stop` with `--drain`
    /// ends a job in the same way. A paused query is resumed. If both this and
    /// [`stop_at_watermark`](Self::stop_at_watermark) are called, the first call counts.
    pub fn stop(&self) {
        self.stop_sources(Stop::Drained);
    }

    /// Asks the sources to end at their last watermark. Records already made are processed, and sinks finish.
    /// The results that watermarks have fired are written. Open windows, and other state that waits for a
    /// later watermark, are dropped, because they are not complete. Flink's `stop` without `--drain` ends a
    /// job in the same way. A paused query is resumed. If both this and [`stop`](Self::stop) are called, the
    /// first call counts.
    pub fn stop_at_watermark(&self) {
        self.stop_sources(Stop::AtWatermark);
    }

    fn stop_sources(&self, stop: Stop) {
        if let Some(driver) = self.driver.upgrade() {
            driver.stop_sources(&self.shared, stop);
        }
    }

    /// Takes a checkpoint now, and waits until it is complete: durable, and its output published. Returns the progress of
    /// the checkpoints after it; if this one could not be written, that counts it as failed. Returns `None` if the query takes
    /// no checkpoints, or has ended before. While the query is paused, no checkpoint becomes complete.
    pub fn checkpoint(&self) -> Option<CheckpointProgress> {
        self.shared.checkpoints.as_ref()?.take_one()
    }

    /// Asks for a checkpoint, as [`checkpoint`](Self::checkpoint) does, and does not wait for it. Does nothing if the query
    /// takes no checkpoints.
    pub fn ask_checkpoint(&self) {
        if let Some(coordinator) = &self.shared.checkpoints {
            coordinator.ask();
        }
    }

    /// Returns the checkpoints of the query so far; `None` if it takes none.
    pub fn checkpoints(&self) -> Option<CheckpointProgress> {
        self.shared.checkpoints.as_ref().map(|coordinator| coordinator.progress())
    }

    /// Cancels the query: records on their way are dropped, and sinks publish nothing. A running step is
    /// finished first. If the stream ends in that step, its sink publishes all the same. [`wait`](Self::wait)
    /// returns when the query has ended.
    pub fn cancel(&self) {
        if let Some(driver) = self.driver.upgrade() {
            driver.fail_query(&self.shared, QueryError::Cancelled);
        }
    }

    /// Waits until the query has ended and all of its sinks are dropped. The engine has room for another
    /// query in its place a moment later.
    ///
    /// # Errors
    /// The error that ended the query, if it did not finish.
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
