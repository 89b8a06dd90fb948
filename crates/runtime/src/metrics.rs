//! What an engine and its queries have done, as plain figures of one moment: to be looked at, subtracted from each
//! other, or handed to Prometheus.
//!
//! [`QueryHandle::metrics`](crate::QueryHandle::metrics) and [`Engine::metrics`](crate::Engine::metrics) take them.
//! Counters count since the query was submitted. Whoever wants an interval takes figures at both of its ends:
//! [`since`](QueryMetrics::since) subtracts counters and keeps the later of everything else, and answers the same type,
//! so that every ratio can be asked for, of the interval or of the whole run.
//!
//! *How stale they are.* Counts of tasks and operators are those of the last step that ended, so they lag by the step
//! that runs just now; what an idle task has done is shown to the last record. Edges are counted as they are written
//! and read. How long a task has stood as it does is counted up to the moment of asking. The figures of one moment are
//! read one after the other while workers go on, so between two of them a step may end; once a query has ended, all
//! are exact and agree.
//!
//! *What they cost.* A step stores a few words that nobody else writes; no lock, no locked instruction, no clock of its
//! own. Asking copies names and reads those words. Operators of a chain are one loop, which no clock can take apart; so
//! of one step in 256 they take the first block one after the other, what they hand on is held in between, and each is
//! measured ([`TaskMetrics::stages`]; [`limits::MEASURED_STEPS`](crate::limits::MEASURED_STEPS)).
//!
//! [`prometheus`] writes them as text; `docs/metrics.md` is generated from its table.

pub mod prometheus;

use thalweg_model::staged::Stage;
use thalweg_model::{EventTime, ProcessingTime};
use thalweg_scheduling::OperatorId;

use crate::aims::Aims;
use crate::latency::LatencySummary;
use crate::meter::TaskState;
use crate::query::{self, EdgeCounts, OperatorCounts, QueryState};
use crate::system::ProcessMetrics;

/// What a query has done.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryMetrics {
    /// Its name; another query may have the same.
    pub query: String,
    /// It was the first, the second and so on that the engine took: no other of this engine has the same number.
    pub serial: u64,
    /// What it is to reach.
    pub aims: Aims,
    /// How it stands.
    pub state: QueryState,
    /// Up to when: now, or its end.
    pub at: ProcessingTime,
    /// Nanoseconds that the counters cover: since it was submitted, or since the earlier figures.
    pub span_ns: u64,
    /// Records that sources made.
    pub events_in: u64,
    /// Records that sinks wrote.
    pub results_out: u64,
    /// The least, over its sinks, of the last watermark that each has seen; none before every sink has seen one.
    pub watermark: Option<EventTime>,
    /// Latencies since they were last [taken](crate::QueryHandle::take_latencies).
    pub latency: Option<LatencySummary>,
    /// Sum of all latencies in nanoseconds, whether taken or not.
    pub latency_sum_ns: u64,
    /// How many there were.
    pub latency_count: u64,
    /// Output delays, from when a watermark that closes something was taken in until all sinks have seen it, since they were
    /// last [taken](crate::QueryHandle::take_output_delays).
    pub output_delay: Option<LatencySummary>,
    /// Sum of all output delays in nanoseconds, whether taken or not.
    pub output_delay_sum_ns: u64,
    /// How many there were.
    pub output_delay_count: u64,
    /// Results that were to be out within the latency target of its [aims](Self::aims), whether taken or not: none without a
    /// target. Of a query with windows those are what watermarks have closed, else latency markers.
    pub deadlines: u64,
    /// Those of them that were.
    pub deadlines_met: u64,
    /// Each task, in the order of the graph.
    pub tasks: Vec<TaskMetrics>,
    /// Each edge.
    pub edges: Vec<EdgeMetrics>,
}

/// What a task has done and how it has stood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskMetrics {
    /// Its name.
    pub task: String,
    /// What policies know it by, while it lives.
    pub operator: OperatorId,
    /// Whether it has no input but makes records.
    pub is_source: bool,
    /// Whether it ends in a sink.
    pub is_sink: bool,
    /// How it stands.
    pub state: TaskState,
    /// Nanoseconds since it has stood so. Of a task that runs: how long its step has taken until now.
    pub state_ns: u64,
    /// Records taken from its edge; of a source: made.
    pub records_in: u64,
    /// Records put out, to its edge or its sink.
    pub records_out: u64,
    /// Input that was not understood.
    pub bad: u64,
    /// Of a source: records stamped too far ahead of the clock to move a watermark.
    pub ahead: u64,
    /// Of a source: times that it fell silent, and was left out by those who wait for several inputs.
    pub idled: u64,
    /// Steps that workers ran.
    pub steps: u64,
    /// Nanoseconds that workers spent in its steps, the choice of the task included.
    pub busy_ns: u64,
    /// Nanoseconds in which it had something to do, could do it, and waited for a worker.
    pub ready_ns: u64,
    /// Nanoseconds in which it had something to do, but no room for what would come of it.
    pub blocked_ns: u64,
    /// Nanoseconds in which it had nothing to do, or rested.
    pub idle_ns: u64,
    /// Bytes of state and buffers that it holds beyond blocks.
    pub held_bytes: u64,
    /// Records that wait on its edge.
    pub pending: u64,
    /// Each operator of its chain, in order; of a window, a join or a function without a name the one that it was
    /// given. A source that hands its records on unchanged has none.
    pub operators: Vec<OperatorCounts>,
    /// What each of them took on the blocks that the chain took operator by operator: the first of one step in 256,
    /// but for chains with an operator that expands.
    pub stages: Vec<Stage>,
}

/// What went over an edge, and what it takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeMetrics {
    /// Its name and counts.
    pub counts: EdgeCounts,
    /// Chunks that it owns.
    pub chunks: u64,
    /// Bytes of these chunks.
    pub chunk_bytes: u64,
}

/// What an engine has done.
#[derive(Clone, PartialEq, Debug)]
pub struct EngineMetrics {
    /// Up to when.
    pub at: ProcessingTime,
    /// Queries that it took since its start.
    pub queries_submitted: u64,
    /// Nanoseconds that workers spent choosing tasks, estimated from one choice in 64.
    pub scheduling_ns: u64,
    /// Bytes of the memory budget in use.
    pub memory_used_bytes: u64,
    /// The most that was ever in use.
    pub memory_peak_bytes: u64,
    /// The budget.
    pub memory_limit_bytes: u64,
    /// Whether the policy chooses by memory now, for lack of it.
    pub is_relieving_memory: bool,
    /// How often it has begun to.
    pub memory_reliefs: u64,
    /// Nanoseconds for which it has.
    pub memory_relief_ns: u64,
    /// Workers that sleep, or are about to; where each task has a thread of its own, such threads.
    pub workers_asleep: u64,
    /// Each worker, or each thread of a task that runs. Of one that has no thread, as it is stepped by hand, nothing is known.
    pub workers: Vec<WorkerMetrics>,
    /// The process that the engine is part of.
    pub process: ProcessMetrics,
    /// Its queries, in the order of their serial numbers.
    pub queries: Vec<QueryMetrics>,
}

/// What the thread of a worker has used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkerMetrics {
    /// Nanoseconds on a core; none where the system does not tell.
    pub cpu_ns: Option<u64>,
    /// Nanoseconds in which it could have run, but the system had no core for it.
    pub wait_ns: Option<u64>,
}

/// `count` per `per`, if there was any of the latter.
fn ratio(count: u64, per: u64) -> Option<f64> {
    (per > 0).then(|| count as f64 / per as f64)
}

impl QueryMetrics {
    /// What was done between `earlier` and this: counters, and the span they cover, are subtracted; how it stands, what
    /// is held and what is pending is as it is now. Latency and output delay are those of this moment, their sums and
    /// counts are of the interval.
    ///
    /// # Panics
    /// If the two are not of the same query.
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

    /// Input that was not understood.
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

    /// The first place where records were lost or came from nowhere, if there is one: an edge not read to its end, or
    /// an operator whose reads are not accounted for. To be asked of a query that has finished, as often as one likes.
    /// While it runs, records are on their way; and with a query that fails, they are dropped: none is found in either.
    pub fn conservation_error(&self) -> Option<String> {
        if self.state != QueryState::Finished {
            return None;
        }
        query::conservation_error(self.edges.iter().map(|edge| &edge.counts), self.operators())
    }
}

impl TaskMetrics {
    /// What was done between `earlier` and this.
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

    /// Nanoseconds that the step which runs now has taken so far; 0 if none runs.
    pub fn running_ns(&self) -> u64 {
        if self.state == TaskState::Running { self.state_ns } else { 0 }
    }

    /// Nanoseconds in its steps per record taken; none if none was taken.
    pub fn cost_ns_per_record(&self) -> Option<f64> {
        ratio(self.busy_ns, self.records_in)
    }

    /// Nanoseconds per record that the operator at `place` of the chain took when it was measured by itself; none if it
    /// never was, or took no record then. Together with its neighbours, in one loop, it takes less.
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
    /// What went over it between `earlier` and this.
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
    /// Adds the figures of a query of this engine, as of one that has ended, unless they are there.
    pub fn include(&mut self, query: QueryMetrics) {
        if let Err(place) = self.queries.binary_search_by_key(&query.serial, |query| query.serial) {
            self.queries.insert(place, query);
        }
    }

    /// What was done between `earlier` and this. A query that was not there then has done all it has done.
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
