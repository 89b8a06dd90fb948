//! Figures of an engine and its queries at one moment, which can be read, subtracted from each other, or
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

/// Figures of a query.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryMetrics {
    /// Name of the query; another query may have the same.
    pub query: String,
    /// Number of the query among all that the engine has admitted, from 1; never reused in this engine.
    pub serial: u64,
    /// Aims of the query.
    pub aims: Aims,
    /// State of the query.
    pub state: QueryState,
    /// Instant up to which the figures count: now, or the end of the query.
    pub at: ProcessingTime,
    /// Nanoseconds that the counters cover: since the query was submitted, or since the earlier figures.
    pub span_ns: u64,
    /// Records that sources made.
    pub events_in: u64,
    /// Records that sinks wrote.
    pub results_out: u64,
    /// The least of the last watermarks that its sinks have seen; none before every sink has seen one.
    pub watermark: Option<EventTime>,
    /// Latencies since they were last [taken](crate::QueryHandle::take_latencies).
    pub latency: Option<LatencySummary>,
    /// Sum of all latencies in nanoseconds, whether taken or not.
    pub latency_sum_ns: u64,
    /// Number of all latencies.
    pub latency_count: u64,
    /// Output delays since they were last [taken](crate::QueryHandle::take_output_delays): the times from the
    /// ingestion of a watermark that closes something until all sinks have seen it.
    pub output_delay: Option<LatencySummary>,
    /// Sum of all output delays in nanoseconds, whether taken or not.
    pub output_delay_sum_ns: u64,
    /// Number of all output delays.
    pub output_delay_count: u64,
    /// Results that had to meet the latency target of the query's [aims](Self::aims), whether taken or not;
    /// none without a target. They are the firings of watermarks in a query with windows, otherwise the
    /// latency markers.
    pub deadlines: u64,
    /// Results that met the latency target.
    pub deadlines_met: u64,
    /// Each task, in the order of the graph.
    pub tasks: Vec<TaskMetrics>,
    /// Each edge.
    pub edges: Vec<EdgeMetrics>,
}

/// Figures of a task, and the time it spent in each state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskMetrics {
    /// Name of the task.
    pub task: String,
    /// Its id for policies, valid while it lives.
    pub operator: OperatorId,
    /// True if it has no input and makes records.
    pub is_source: bool,
    /// True if it ends in a sink.
    pub is_sink: bool,
    /// State of the task.
    pub state: TaskState,
    /// Nanoseconds in the present state; for a running task, the time of its step so far.
    pub state_ns: u64,
    /// Records taken from its edge; for a source, records made.
    pub records_in: u64,
    /// Records put out, to its edge or its sink.
    pub records_out: u64,
    /// Records that could not be parsed.
    pub bad: u64,
    /// For a source: records stamped too far ahead of the clock to move a watermark.
    pub ahead: u64,
    /// For a source: times that it fell silent and was left out of merged watermarks.
    pub idled: u64,
    /// Steps that workers ran.
    pub steps: u64,
    /// Nanoseconds that workers spent in its steps, including the choice of the task.
    pub busy_ns: u64,
    /// Nanoseconds in which it had something to do and room for the results, and waited for a worker.
    pub ready_ns: u64,
    /// Nanoseconds in which it had something to do, but no room for the results.
    pub blocked_ns: u64,
    /// Nanoseconds in which it had nothing to do, or its query was paused.
    pub idle_ns: u64,
    /// Bytes of state and buffers that it holds, without blocks.
    pub held_bytes: u64,
    /// Records that wait on its edge.
    pub pending: u64,
    /// Each operator of its chain, in order. A window, a join or a function without a name has the name that
    /// it was given. A source that passes its records on unchanged has no operator.
    pub operators: Vec<OperatorCounts>,
    /// Time and records of each operator on the blocks that the chain processed operator by operator: the
    /// first of one step in 256, except for chains with an operator that expands.
    pub stages: Vec<Stage>,
}

/// Figures of an edge: its records and its memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeMetrics {
    /// Name and counts of the edge.
    pub counts: EdgeCounts,
    /// Chunks that it owns.
    pub chunks: u64,
    /// Bytes of these chunks.
    pub chunk_bytes: u64,
}

/// Figures of an engine.
#[derive(Clone, PartialEq, Debug)]
pub struct EngineMetrics {
    /// Instant up to which the figures count.
    pub at: ProcessingTime,
    /// Queries admitted since the start of the engine.
    pub queries_submitted: u64,
    /// Nanoseconds that workers spent choosing tasks, estimated from one choice in 64.
    pub scheduling_ns: u64,
    /// Bytes of the memory budget in use.
    pub memory_used_bytes: u64,
    /// Most bytes of the budget ever in use.
    pub memory_peak_bytes: u64,
    /// Bytes of the budget.
    pub memory_limit_bytes: u64,
    /// True if the policy chooses by memory now, for lack of it.
    pub is_relieving_memory: bool,
    /// Times that the policy has begun to choose by memory.
    pub memory_reliefs: u64,
    /// Nanoseconds for which the policy has chosen by memory.
    pub memory_relief_ns: u64,
    /// Workers that sleep or are about to; with a thread per task, such threads.
    pub workers_asleep: u64,
    /// Each worker, or each thread of a running task. The figures of a worker stepped by hand, which has no
    /// thread, are unknown.
    pub workers: Vec<WorkerMetrics>,
    /// Figures of the process.
    pub process: ProcessMetrics,
    /// Its queries, in the order of their serial numbers.
    pub queries: Vec<QueryMetrics>,
}

/// Times of a worker's thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkerMetrics {
    /// Nanoseconds on a core; none if the system does not tell.
    pub cpu_ns: Option<u64>,
    /// Nanoseconds in which it was ready to run, but the system had no core for it.
    pub wait_ns: Option<u64>,
}

/// Returns `count` per `per`, if `per` is not zero.
fn ratio(count: u64, per: u64) -> Option<f64> {
    (per > 0).then(|| count as f64 / per as f64)
}

impl QueryMetrics {
    /// Returns the figures of the interval between `earlier` and this. Counters, and the time they cover, are
    /// subtracted. State, held memory and pending records stay as they are now. Latency and output delay are
    /// those of this moment; their sums and counts are of the interval.
    ///
    /// # Panics
    /// If the two are not of one query.
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
            deadlines: self.deadlines.saturating_sub(earlier.deadlines),
            deadlines_met: self.deadlines_met.saturating_sub(earlier.deadlines_met),
            tasks: pairs.map(|(now, then)| now.since(then)).collect(),
            edges: edges.map(|(now, then)| now.since(then)).collect(),
            ..self.clone()
        }
    }

    /// Records that sources made per second; none over no time.
    pub fn throughput_per_s(&self) -> Option<f64> {
        ratio(self.events_in, self.span_ns).map(|per_ns| per_ns * 1e9)
    }

    /// Mean latency in nanoseconds; none if none was measured.
    pub fn latency_ns_mean(&self) -> Option<f64> {
        ratio(self.latency_sum_ns, self.latency_count)
    }

    /// Records that could not be parsed.
    pub fn bad(&self) -> u64 {
        self.tasks.iter().map(|task| task.bad).sum()
    }

    /// Nanoseconds that workers spent in its steps.
    pub fn busy_ns(&self) -> u64 {
        self.tasks.iter().map(|task| task.busy_ns).sum()
    }

    /// Records on its edges.
    pub fn pending(&self) -> u64 {
        self.edges.iter().map(|edge| edge.counts.pending).sum()
    }

    /// Each operator, task by task.
    pub fn operators(&self) -> impl Iterator<Item = &OperatorCounts> {
        self.tasks.iter().flat_map(|task| &task.operators)
    }

    /// Returns the first place at which records were lost or appeared from nowhere, if there is one: an edge
    /// not read to its end, or an operator whose reads are not accounted for. It can be called any number of
    /// times after the query has finished. While a query runs, records are on their way, and a query that
    /// fails drops them. In both cases the result is `None`.
    pub fn conservation_error(&self) -> Option<String> {
        if self.state != QueryState::Finished {
            return None;
        }
        query::conservation_error(self.edges.iter().map(|edge| &edge.counts), self.operators())
    }
}

impl TaskMetrics {
    /// Returns the figures of the interval between `earlier` and this.
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

    /// Nanoseconds that the running step has taken so far; 0 if none runs.
    pub fn running_ns(&self) -> u64 {
        if self.state == TaskState::Running { self.state_ns } else { 0 }
    }

    /// Nanoseconds in its steps per record taken; none if none was taken.
    pub fn cost_ns_per_record(&self) -> Option<f64> {
        ratio(self.busy_ns, self.records_in)
    }

    /// Nanoseconds per record of the operator at `place` of the chain, when it was measured by itself; none
    /// if it never was, or took no record then. Together with its neighbours, in one loop, it takes less.
    pub fn stage_cost_ns_per_record(&self, place: usize) -> Option<f64> {
        self.stages.get(place).and_then(|stage| ratio(stage.nanos, stage.records))
    }

    /// Records put out per record taken; none if none was taken.
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
    /// Returns the figures of the interval between `earlier` and this.
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
    /// Adds the figures of a query of this engine, such as one that has ended, unless they are there.
    pub fn include(&mut self, query: QueryMetrics) {
        if let Err(place) = self.queries.binary_search_by_key(&query.serial, |query| query.serial) {
            self.queries.insert(place, query);
        }
    }

    /// Returns the figures of the interval between `earlier` and this. A query that did not exist at
    /// `earlier` keeps all its figures.
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
