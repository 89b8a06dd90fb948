//! Metrics of an engine and its queries at one moment, which can be read, subtracted from each other, or
//! exported to Prometheus.
//!
//! [`QueryHandle::metrics`](crate::QueryHandle::metrics) and [`Engine::metrics`](crate::Engine::metrics)
//! return them. Counters start when the query is submitted. For the figures of an interval, take them at both
//! of its ends. [`since`](QueryMetrics::since) subtracts counters and keeps the later value of everything
//! else. It returns the same type, so every ratio is available for an interval as well as for the whole run.
//!
//! *Age of the figures.* Counts of tasks and operators are those of the last step that ended, so they lag by
//! the step that runs now. Figures of an idle task are exact to the last record. Edges are counted as they
//! are written and read. The time in a state is counted up to the moment of the call. The figures of one
//! moment are read one after the other while workers continue, so a step may end between two of them. Once a
//! query has ended, all its figures are exact and agree.
//!
//! *Cost.* A step stores a few words that no other thread writes, without a lock, a locked instruction, or a
//! clock of its own. A call copies names and reads those words. The operators of a chain are one loop, and no
//! clock can separate their times. So in one step of 256 they process the first block one after the other,
//! with the intermediate records stored, and each is timed ([`TaskMetrics::stages`];
//! [`limits::MEASURED_STEPS`](crate::limits::MEASURED_STEPS)).
//!
//! [`prometheus`] writes the figures as text. `docs/metrics.md` is generated from its table.

pub mod prometheus;

use thalweg_model::staged::Stage;
use thalweg_model::{EventTime, ProcessingTime};
use thalweg_scheduling::OperatorId;

use crate::aims::Aims;
use crate::latency::LatencySummary;
use crate::meter::TaskState;
use crate::query::{self, EdgeCounts, OperatorCounts, QueryState};
use crate::system::ProcessMetrics;

/// Metrics of a query at one moment, or over an interval.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryMetrics {
    /// Name of the query. Several queries may have the same name.
    pub query: String,
    /// Number of the query among all that the engine has admitted, counted from 1; never reused in this
    /// engine.
    pub serial: u64,
    /// Aims of the query (latency target and tokens).
    pub aims: Aims,
    /// State of the query: running, paused, finished or failed.
    pub state: QueryState,
    /// Instant up to which these metrics count: the time of the call, or the end of the query.
    pub at: ProcessingTime,
    /// Nanoseconds that the counters cover: since the query was submitted or, for an interval, since the
    /// earlier metrics.
    pub span_ns: u64,
    /// Number of records that the sources of the query have made.
    pub events_in: u64,
    /// Number of records that the sinks of the query have written.
    pub results_out: u64,
    /// The least of the last watermarks that the sinks of the query have seen; `None` before every sink has
    /// seen one.
    pub watermark: Option<EventTime>,
    /// Summary of the latencies, from the intended send time of a record to the sink, measured since they
    /// were last [taken](crate::QueryHandle::take_latencies).
    pub latency: Option<LatencySummary>,
    /// Sum of all latencies of the query in nanoseconds, including those that a handle has taken.
    pub latency_sum_ns: u64,
    /// Number of all latencies of the query, including those that a handle has taken.
    pub latency_count: u64,
    /// Summary of the output delays since they were last [taken](crate::QueryHandle::take_output_delays). An
    /// output delay is the time from the ingestion of a watermark that ends a window or the like until all
    /// sinks have seen the watermark.
    pub output_delay: Option<LatencySummary>,
    /// Sum of all output delays of the query in nanoseconds, including those that a handle has taken.
    pub output_delay_sum_ns: u64,
    /// Number of all output delays of the query, including those that a handle has taken.
    pub output_delay_count: u64,
    /// Summary of the event latencies since they were last [taken](crate::QueryHandle::take_event_latencies).
    /// An event latency is the time from the arrival of the last event that a result was made of until all
    /// sinks have the result.
    pub event_latency: Option<LatencySummary>,
    /// Sum of all event latencies of the query in nanoseconds, including those that a handle has taken.
    pub event_latency_sum_ns: u64,
    /// Number of all event latencies of the query, including those that a handle has taken.
    pub event_latency_count: u64,
    /// Number of results that had to meet the latency target of the query's [aims](Self::aims); 0 without a
    /// target. In a query with windows the results that watermarks fire count, by their event latency,
    /// otherwise the latency markers.
    pub deadlines: u64,
    /// Number of results that met the latency target of the query, of those counted in `deadlines`.
    pub deadlines_met: u64,
    /// Metrics of each task of the query, in the order in which the tasks were planned.
    pub tasks: Vec<TaskMetrics>,
    /// Metrics of each edge of the query.
    pub edges: Vec<EdgeMetrics>,
}

/// Metrics of a task, with the time that it spent in each state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskMetrics {
    /// Name of the task.
    pub task: String,
    /// Number by which the policy knows the task. After the end of the task another task may get it.
    pub operator: OperatorId,
    /// True if the task has no input and makes records.
    pub is_source: bool,
    /// True if the task ends in a sink.
    pub is_sink: bool,
    /// State of the task: idle, ready, running, blocked or ended.
    pub state: TaskState,
    /// Nanoseconds that the task has been in its present state; for a running task, the time of its step so
    /// far.
    pub state_ns: u64,
    /// Number of records taken from the task's edges; for a source, records made.
    pub records_in: u64,
    /// Number of records that the task has put out, to its edge or its sink.
    pub records_out: u64,
    /// Number of input records that could not be parsed.
    pub bad: u64,
    /// For a source: number of records stamped too far ahead of the clock to move a watermark.
    pub ahead: u64,
    /// For a source: number of times that it fell silent and was left out of merged watermarks.
    pub idled: u64,
    /// Number of steps of the task that workers have run.
    pub steps: u64,
    /// Nanoseconds that workers have spent in the task's steps, including the choice of the task.
    pub busy_ns: u64,
    /// Nanoseconds for which the task had input and room for its results, and waited for a worker.
    pub ready_ns: u64,
    /// Nanoseconds for which the task had input, but no room for its results.
    pub blocked_ns: u64,
    /// Nanoseconds for which the task had nothing to do, or its query was paused.
    pub idle_ns: u64,
    /// Bytes of state and buffers that the task holds, without the blocks of edges.
    pub held_bytes: u64,
    /// Number of records that wait on the task's input edges.
    pub pending: u64,
    /// Counts of each operator of the task, in the order in which records pass them. An operator has the name
    /// that the program gave it or, without such a name, that of its kind, such as `window`. A source that
    /// passes its records on unchanged has no operator.
    pub operators: Vec<OperatorCounts>,
    /// Time and records of each operator on the blocks that the chain processed operator by operator. Such a
    /// block is the first of a step, in one step of 256. Chains with an operator that expands are not
    /// measured.
    pub stages: Vec<Stage>,
}

/// Metrics of an edge: its records and its memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeMetrics {
    /// Name of the edge, and counts of its records.
    pub counts: EdgeCounts,
    /// Number of chunks of memory that the edge owns.
    pub chunks: u64,
    /// Bytes of the edge's chunks.
    pub chunk_bytes: u64,
}

/// Metrics of an engine, with those of its queries and of the process.
#[derive(Clone, PartialEq, Debug)]
pub struct EngineMetrics {
    /// Instant up to which these metrics count.
    pub at: ProcessingTime,
    /// Number of queries admitted since the start of the engine.
    pub queries_submitted: u64,
    /// Nanoseconds that workers have spent choosing tasks, estimated from one choice in 64.
    pub scheduling_ns: u64,
    /// Bytes of the memory budget that are in use.
    pub memory_used_bytes: u64,
    /// The most bytes of the memory budget that were ever in use at once.
    pub memory_peak_bytes: u64,
    /// Size of the memory budget in bytes.
    pub memory_limit_bytes: u64,
    /// True if the policy at present chooses tasks so as to free memory, because memory is short.
    pub is_relieving_memory: bool,
    /// Number of times that the policy has begun to choose tasks so as to free memory.
    pub memory_reliefs: u64,
    /// Nanoseconds for which the policy has chosen tasks so as to free memory.
    pub memory_relief_ns: u64,
    /// Number of workers that sleep or are about to. With a thread per task, these threads count instead.
    pub workers_asleep: u64,
    /// CPU and waiting times of each worker's thread, or of each task's thread. The times of a worker that is
    /// stepped by hand are unknown, because it has no thread.
    pub workers: Vec<WorkerMetrics>,
    /// CPU time and memory of the process.
    pub process: ProcessMetrics,
    /// Metrics of the engine's queries, in the order of their serial numbers.
    pub queries: Vec<QueryMetrics>,
}

/// CPU and waiting times of a thread that runs tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkerMetrics {
    /// Nanoseconds for which the thread ran on a core; `None` if the operating system does not tell.
    pub cpu_ns: Option<u64>,
    /// Nanoseconds for which the thread was ready to run, but the operating system had no core for it.
    pub wait_ns: Option<u64>,
}

fn ratio(count: u64, per: u64) -> Option<f64> {
    (per > 0).then(|| count as f64 / per as f64)
}

impl QueryMetrics {
    /// Returns the metrics of the interval between `earlier` and this moment. Counters, and the time that
    /// they cover, are subtracted. State, held memory and pending records stay as they are now. The summaries
    /// of latency and output delay are those of this moment; their sums and counts are of the interval.
    ///
    /// # Panics
    /// If the two metrics are not of one query.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        assert_eq!(
            (self.serial, self.tasks.len(), self.edges.len()),
            (earlier.serial, earlier.tasks.len(), earlier.edges.len()),
            "an interval lies between two moments of one query"
        );
        let pairs = self.tasks.iter().zip(&earlier.tasks);
        let edges = self.edges.iter().zip(&earlier.edges);
        QueryMetrics {
            span_ns: self.at.nanos_since(earlier.at),
            events_in: self.events_in.saturating_sub(earlier.events_in),
            results_out: self.results_out.saturating_sub(earlier.results_out),
            latency_sum_ns: self.latency_sum_ns.saturating_sub(earlier.latency_sum_ns),
            latency_count: self.latency_count.saturating_sub(earlier.latency_count),
            output_delay_sum_ns: self.output_delay_sum_ns.saturating_sub(earlier.output_delay_sum_ns),
            output_delay_count: self.output_delay_count.saturating_sub(earlier.output_delay_count),
            event_latency_sum_ns: self.event_latency_sum_ns.saturating_sub(earlier.event_latency_sum_ns),
            event_latency_count: self.event_latency_count.saturating_sub(earlier.event_latency_count),
            deadlines: self.deadlines.saturating_sub(earlier.deadlines),
            deadlines_met: self.deadlines_met.saturating_sub(earlier.deadlines_met),
            tasks: pairs.map(|(now, then)| now.since(then)).collect(),
            edges: edges.map(|(now, then)| now.since(then)).collect(),
            ..self.clone()
        }
    }

    /// Returns the number of records that sources made per second; `None` if the metrics cover no time.
    pub fn throughput_per_s(&self) -> Option<f64> {
        ratio(self.events_in, self.span_ns).map(|per_ns| per_ns * 1e9)
    }

    /// Returns the mean latency in nanoseconds; `None` if no latency was measured.
    pub fn latency_ns_mean(&self) -> Option<f64> {
        ratio(self.latency_sum_ns, self.latency_count)
    }

    /// Returns the number of input records that could not be parsed, over all tasks.
    pub fn bad(&self) -> u64 {
        self.tasks.iter().map(|task| task.bad).sum()
    }

    /// Returns the nanoseconds that workers have spent in the steps of the query's tasks.
    pub fn busy_ns(&self) -> u64 {
        self.tasks.iter().map(|task| task.busy_ns).sum()
    }

    /// Returns the number of records that wait on the edges of the query.
    pub fn pending(&self) -> u64 {
        self.edges.iter().map(|edge| edge.counts.pending).sum()
    }

    /// Returns the counts of every operator of the query, task by task.
    pub fn operators(&self) -> impl Iterator<Item = &OperatorCounts> {
        self.tasks.iter().flat_map(|task| &task.operators)
    }

    /// Returns the first place at which records were lost or appeared from nowhere: an edge that was not read
    /// to its end, or an operator that has not forwarded, folded, filtered or found late as many records as
    /// it has read. Returns `None` if there is no such place. The result is also `None` while a query runs,
    /// because records are on their way, and for a query that failed, because it drops records.
    pub fn conservation_error(&self) -> Option<String> {
        if self.state != QueryState::Finished {
            return None;
        }
        query::conservation_error(self.edges.iter().map(|edge| &edge.counts), self.operators())
    }
}

impl TaskMetrics {
    fn since(&self, earlier: &Self) -> Self {
        let operators = self.operators.iter().zip(&earlier.operators);
        let stages = self.stages.iter().zip(&earlier.stages);
        TaskMetrics {
            records_in: self.records_in.saturating_sub(earlier.records_in),
            records_out: self.records_out.saturating_sub(earlier.records_out),
            bad: self.bad.saturating_sub(earlier.bad),
            ahead: self.ahead.saturating_sub(earlier.ahead),
            idled: self.idled.saturating_sub(earlier.idled),
            steps: self.steps.saturating_sub(earlier.steps),
            busy_ns: self.busy_ns.saturating_sub(earlier.busy_ns),
            ready_ns: self.ready_ns.saturating_sub(earlier.ready_ns),
            blocked_ns: self.blocked_ns.saturating_sub(earlier.blocked_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
            operators: operators.map(|(now, then)| now.since(then)).collect(),
            stages: stages.map(stage_since).collect(),
            ..self.clone()
        }
    }

    /// Returns the nanoseconds that the task's running step has taken so far; 0 if no step is running.
    pub fn running_ns(&self) -> u64 {
        if self.state == TaskState::Running { self.state_ns } else { 0 }
    }

    /// Returns the nanoseconds in the task's steps per record taken; `None` if no record was taken.
    pub fn cost_ns_per_record(&self) -> Option<f64> {
        ratio(self.busy_ns, self.records_in)
    }

    /// Returns the nanoseconds per record of the operator at `place` of the chain, in the steps in which each
    /// operator was measured by itself. Returns `None` if the operator never was, or took no record then. In
    /// one loop with its neighbours an operator takes less time.
    pub fn stage_cost_ns_per_record(&self, place: usize) -> Option<f64> {
        self.stages.get(place).and_then(|stage| ratio(stage.nanos, stage.records))
    }

    /// Returns the number of records that the task put out per record taken; `None` if no record was taken.
    pub fn selectivity(&self) -> Option<f64> {
        ratio(self.records_out, self.records_in)
    }
}

fn stage_since((now, then): (&Stage, &Stage)) -> Stage {
    Stage { nanos: now.nanos.saturating_sub(then.nanos), records: now.records.saturating_sub(then.records) }
}

impl OperatorCounts {
    fn since(&self, earlier: &Self) -> Self {
        let (now, then) = (self.counts, earlier.counts);
        let counts = thalweg_model::Counts {
            read: now.read.saturating_sub(then.read),
            forwarded: now.forwarded.saturating_sub(then.forwarded),
            folded: now.folded.saturating_sub(then.folded),
            filtered: now.filtered.saturating_sub(then.filtered),
            late: now.late.saturating_sub(then.late),
        };
        OperatorCounts { counts, ..self.clone() }
    }
}

impl EdgeMetrics {
    fn since(&self, earlier: &Self) -> Self {
        let (now, then) = (&self.counts, &earlier.counts);
        let counts = EdgeCounts {
            written: now.written.saturating_sub(then.written),
            read: now.read.saturating_sub(then.read),
            marks_dropped: now.marks_dropped.saturating_sub(then.marks_dropped),
            ..now.clone()
        };
        EdgeMetrics { counts, ..self.clone() }
    }
}

impl EngineMetrics {
    /// Adds the metrics of a query of this engine, such as one that has ended, unless they are included
    /// already.
    pub fn include(&mut self, query: QueryMetrics) {
        if let Err(place) = self.queries.binary_search_by_key(&query.serial, |query| query.serial) {
            self.queries.insert(place, query);
        }
    }

    /// Returns the engine's metrics of the interval between `earlier` and this moment: counters are
    /// subtracted. A query that did not exist at `earlier` keeps all its counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let queries = self.queries.iter().map(|now| {
            let then = earlier.queries.iter().find(|then| then.serial == now.serial);
            then.map_or_else(|| now.clone(), |then| now.since(then))
        });
        let workers = self.workers.iter().zip(&earlier.workers).map(|(now, then)| WorkerMetrics {
            cpu_ns: now.cpu_ns.zip(then.cpu_ns).map(|(now, then)| now.saturating_sub(then)),
            wait_ns: now.wait_ns.zip(then.wait_ns).map(|(now, then)| now.saturating_sub(then)),
        });
        EngineMetrics {
            queries_submitted: self.queries_submitted.saturating_sub(earlier.queries_submitted),
            scheduling_ns: self.scheduling_ns.saturating_sub(earlier.scheduling_ns),
            workers: workers.collect(),
            process: self.process.since(&earlier.process),
            queries: queries.collect(),
            ..self.clone()
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
