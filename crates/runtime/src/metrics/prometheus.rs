//! Metrics as text for Prometheus and compatible programs: the text format, version 0.0.4 (Prometheus,
//! "Exposition formats", section "Text-based format"), to be sent as [`CONTENT_TYPE`].
//!
//! One table has everything about a metric: name, kind, unit, meaning, and the source of its samples. The
//! text and `docs/metrics.md` are both made from it. The text is written by hand instead of by the crate
//! prometheus-client, for three reasons. That crate (0.25) writes no summaries, and latencies are summaries.
//! It needs a registry of collectors that own their values, and here one snapshot is walked once. It also
//! leaves the escaping of HELP lines to its caller.
//!
//! All names begin with `thalweg_`, also those of the process, because the program around the engine may have
//! its own. By the convention of the format, time is in seconds and memory in bytes, though the engine counts
//! nanoseconds.

use std::fmt::{self, Display, Write};

use thalweg_model::EventTime;

use super::{EdgeMetrics, EngineMetrics, QueryMetrics, TaskMetrics, WorkerMetrics};
use crate::query::{OperatorCounts, QueryState};

/// Content type with which the metrics are sent in an HTTP answer.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A metric in the format of Prometheus: its name, its kind, its unit, its help text, and the source of its
/// samples.
struct Metric {
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    help: &'static str,
    of: Of,
}

/// Type of a metric in the format of Prometheus: counter, gauge or summary.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Summary,
}

/// Tells where the samples of a Prometheus metric come from: there is one sample for each item (such as each
/// query), or none if the value is not known.
#[derive(Clone, Copy)]
enum Of {
    Engine(fn(&EngineMetrics) -> Option<Value>),
    Worker(fn(&WorkerMetrics) -> Option<Value>),
    Query(fn(&QueryMetrics) -> Option<Value>),
    /// One sample for each state that a query can have; the sample of the present state is 1, the others are
    /// 0.
    QueryState,
    Latency,
    OutputDelay,
    EventLatency,
    Task(fn(&TaskMetrics) -> Option<Value>),
    Operator(fn(&OperatorCounts) -> Option<Value>),
    /// One sample for each operator: its state as a share of the memory budget.
    StateShare,
    Edge(fn(&EdgeMetrics) -> Option<Value>),
}

/// The value of a Prometheus sample, which determines the way in which it is written.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Value {
    Whole(u64),
    /// A number of millionths, written as a decimal number.
    Millionths(u64),
    /// A duration in nanoseconds, written in seconds with up to nine digits after the point.
    Nanos(u64),
    /// An event time, written in seconds since 1970; the end of time is written as infinity.
    Instant(EventTime),
}

fn whole(count: u64) -> Option<Value> {
    Some(Value::Whole(count))
}

fn nanos(nanos: u64) -> Option<Value> {
    Some(Value::Nanos(nanos))
}

const fn counter(name: &'static str, unit: &'static str, help: &'static str, of: Of) -> Metric {
    Metric { name, kind: Kind::Counter, unit, help, of }
}

const fn gauge(name: &'static str, unit: &'static str, help: &'static str, of: Of) -> Metric {
    Metric { name, kind: Kind::Gauge, unit, help, of }
}

const fn summary(name: &'static str, unit: &'static str, help: &'static str, of: Of) -> Metric {
    Metric { name, kind: Kind::Summary, unit, help, of }
}

/// Every metric of the engine, in the order of the Prometheus text.
const ALL: [Metric; 52] = [
    counter(
        "thalweg_queries_submitted_total",
        "queries",
        "Queries that the engine took",
        Of::Engine(|engine| whole(engine.queries_submitted)),
    ),
    counter(
        "thalweg_scheduling_seconds_total",
        "seconds",
        "Time that workers spent choosing tasks, estimated from one choice in 64",
        Of::Engine(|engine| nanos(engine.scheduling_ns)),
    ),
    gauge(
        "thalweg_memory_used_bytes",
        "bytes",
        "Bytes of the memory budget in use",
        Of::Engine(|engine| whole(engine.memory_used_bytes)),
    ),
    gauge(
        "thalweg_memory_peak_bytes",
        "bytes",
        "The most bytes of the memory budget that were ever in use",
        Of::Engine(|engine| whole(engine.memory_peak_bytes)),
    ),
    gauge(
        "thalweg_memory_limit_bytes",
        "bytes",
        "The memory budget",
        Of::Engine(|engine| whole(engine.memory_limit_bytes)),
    ),
    gauge(
        "thalweg_memory_relieving",
        "0 or 1",
        "1 while the policy prefers tasks that free memory because little is left, as klink does",
        Of::Engine(|engine| whole(engine.is_relieving_memory.into())),
    ),
    counter(
        "thalweg_memory_reliefs_total",
        "times",
        "Number of times that the policy began to prefer tasks that free memory",
        Of::Engine(|engine| whole(engine.memory_reliefs)),
    ),
    counter(
        "thalweg_memory_relief_seconds_total",
        "seconds",
        "Time during which the policy preferred tasks that free memory",
        Of::Engine(|engine| nanos(engine.memory_relief_ns)),
    ),
    gauge(
        "thalweg_workers_asleep",
        "workers",
        "Workers that sleep because there is nothing to do",
        Of::Engine(|engine| whole(engine.workers_asleep)),
    ),
    counter(
        "thalweg_worker_cpu_seconds_total",
        "seconds",
        "CPU time of a worker's thread",
        Of::Worker(|worker| worker.cpu_ns.map(Value::Nanos)),
    ),
    counter(
        "thalweg_worker_wait_seconds_total",
        "seconds",
        "Time in which a worker's thread could have run, but the system had no core for it",
        Of::Worker(|worker| worker.wait_ns.map(Value::Nanos)),
    ),
    counter(
        "thalweg_process_cpu_seconds_total",
        "seconds",
        "CPU time of all threads of the process",
        Of::Engine(|engine| engine.process.cpu_ns.map(Value::Nanos)),
    ),
    gauge(
        "thalweg_process_resident_bytes",
        "bytes",
        "Memory that the process holds",
        Of::Engine(|engine| engine.process.rss_bytes.map(Value::Whole)),
    ),
    gauge(
        "thalweg_process_resident_peak_bytes",
        "bytes",
        "The most memory that the process held",
        Of::Engine(|engine| engine.process.rss_peak_bytes.map(Value::Whole)),
    ),
    counter(
        "thalweg_process_page_faults_minor_total",
        "faults",
        "Page faults that were served without reading from a disk",
        Of::Engine(|engine| engine.process.page_faults_minor.map(Value::Whole)),
    ),
    counter(
        "thalweg_process_page_faults_major_total",
        "faults",
        "Page faults that had to read from a disk",
        Of::Engine(|engine| engine.process.page_faults_major.map(Value::Whole)),
    ),
    gauge(
        "thalweg_query_state",
        "0 or 1",
        "1 for the state in which the query is, 0 for the others",
        Of::QueryState,
    ),
    counter(
        "thalweg_query_events_in_total",
        "records",
        "Records that its sources made",
        Of::Query(|query| whole(query.events_in)),
    ),
    counter(
        "thalweg_query_results_out_total",
        "records",
        "Records that its sinks wrote",
        Of::Query(|query| whole(query.results_out)),
    ),
    gauge(
        "thalweg_query_watermark_seconds",
        "seconds since 1970",
        "The least of the last watermarks that its sinks have seen, in event time; +Inf when its streams have ended",
        Of::Query(|query| query.watermark.map(Value::Instant)),
    ),
    summary(
        "thalweg_query_latency_seconds",
        "seconds",
        "From when a record should have been sent until its results were at the sink; quantiles since they were last taken by a handle, sum and count since the start",
        Of::Latency,
    ),
    summary(
        "thalweg_query_output_delay_seconds",
        "seconds",
        "From when a watermark that closes something, such as a window, was taken in until all sinks have seen it, behind the results; quantiles since they were last taken by a handle, sum and count since the start",
        Of::OutputDelay,
    ),
    summary(
        "thalweg_query_event_latency_seconds",
        "seconds",
        "From when the last event that a result was made of arrived until all sinks have the result; quantiles since they were last taken by a handle, sum and count since the start",
        Of::EventLatency,
    ),
    gauge(
        "thalweg_query_latency_target_seconds",
        "seconds",
        "The latency target of the query, if it has one",
        Of::Query(|query| query.aims.latency_target_ns().map(Value::Nanos)),
    ),
    counter(
        "thalweg_query_deadlines_total",
        "results",
        "Results that were to be out within the latency target: what watermarks have closed, from its last event on, or latency markers where nothing closes",
        Of::Query(|query| query.aims.latency_target.and(whole(query.deadlines))),
    ),
    counter(
        "thalweg_query_deadlines_met_total",
        "results",
        "Results that were out within the latency target",
        Of::Query(|query| query.aims.latency_target.and(whole(query.deadlines_met))),
    ),
    counter(
        "thalweg_task_records_in_total",
        "records",
        "Records taken from the edge; of a source: made",
        Of::Task(|task| whole(task.records_in)),
    ),
    counter(
        "thalweg_task_records_out_total",
        "records",
        "Records put out, to the edge or the sink",
        Of::Task(|task| whole(task.records_out)),
    ),
    counter(
        "thalweg_task_records_bad_total",
        "records",
        "Input that was not understood",
        Of::Task(|task| whole(task.bad)),
    ),
    counter(
        "thalweg_task_records_ahead_total",
        "records",
        "Records stamped too far ahead of the clock to move a watermark; of a source",
        Of::Task(|task| whole(task.ahead)),
    ),
    counter(
        "thalweg_task_idled_total",
        "times",
        "Number of times that a source fell silent, so that operators with several inputs stopped waiting for it",
        Of::Task(|task| whole(task.idled)),
    ),
    counter(
        "thalweg_task_steps_total",
        "steps",
        "Steps that workers ran",
        Of::Task(|task| whole(task.steps)),
    ),
    counter(
        "thalweg_task_busy_seconds_total",
        "seconds",
        "Time that workers spent in its steps; per record taken, this is its cost",
        Of::Task(|task| nanos(task.busy_ns)),
    ),
    counter(
        "thalweg_task_ready_seconds_total",
        "seconds",
        "Time in which it had something to do, could do it, and waited for a worker",
        Of::Task(|task| nanos(task.ready_ns)),
    ),
    counter(
        "thalweg_task_blocked_seconds_total",
        "seconds",
        "Time in which the task had input, but no room for its output: an operator downstream is slow",
        Of::Task(|task| nanos(task.blocked_ns)),
    ),
    counter(
        "thalweg_task_idle_seconds_total",
        "seconds",
        "Time in which it had nothing to do, or its query was paused",
        Of::Task(|task| nanos(task.idle_ns)),
    ),
    gauge(
        "thalweg_task_running_seconds",
        "seconds",
        "How long the step that runs now has taken so far; 0 if none runs",
        Of::Task(|task| nanos(task.running_ns())),
    ),
    gauge(
        "thalweg_task_records_pending",
        "records",
        "Records that wait on its edge",
        Of::Task(|task| whole(task.pending)),
    ),
    gauge(
        "thalweg_task_held_bytes",
        "bytes",
        "State and buffers beyond blocks",
        Of::Task(|task| whole(task.held_bytes)),
    ),
    counter(
        "thalweg_operator_records_read_total",
        "records",
        "Records taken: the sum of those forwarded, folded, filtered and late",
        Of::Operator(|operator| whole(operator.counts.read)),
    ),
    counter(
        "thalweg_operator_records_forwarded_total",
        "records",
        "Records handed on, changed or not",
        Of::Operator(|operator| whole(operator.counts.forwarded)),
    ),
    counter(
        "thalweg_operator_records_folded_total",
        "records",
        "Records that went into state",
        Of::Operator(|operator| whole(operator.counts.folded)),
    ),
    counter(
        "thalweg_operator_records_filtered_total",
        "records",
        "Records dropped because the query says so",
        Of::Operator(|operator| whole(operator.counts.filtered)),
    ),
    counter(
        "thalweg_operator_records_late_total",
        "records",
        "Records dropped because all their windows had closed",
        Of::Operator(|operator| whole(operator.counts.late)),
    ),
    gauge(
        "thalweg_operator_state_bytes",
        "bytes",
        "State that it holds, paid from the memory budget",
        Of::Operator(|operator| whole(operator.state_bytes)),
    ),
    gauge(
        "thalweg_operator_state_ratio",
        "ratio",
        "Share of the memory budget that this state takes, from 0 to 1",
        Of::StateShare,
    ),
    counter(
        "thalweg_edge_records_written_total",
        "records",
        "Records written: the sum of those read and those pending",
        Of::Edge(|edge| whole(edge.counts.written)),
    ),
    counter(
        "thalweg_edge_records_read_total",
        "records",
        "Records read",
        Of::Edge(|edge| whole(edge.counts.read)),
    ),
    gauge(
        "thalweg_edge_records_pending",
        "records",
        "Records written and not read yet",
        Of::Edge(|edge| whole(edge.counts.pending)),
    ),
    counter(
        "thalweg_edge_marks_dropped_total",
        "marks",
        "Latency markers dropped because too many marks were on their way",
        Of::Edge(|edge| whole(edge.counts.marks_dropped)),
    ),
    gauge("thalweg_edge_chunks", "chunks", "Chunks that the edge owns", Of::Edge(|edge| whole(edge.chunks))),
    gauge(
        "thalweg_edge_chunk_bytes",
        "bytes",
        "Bytes of these chunks",
        Of::Edge(|edge| whole(edge.chunk_bytes)),
    ),
];

impl EngineMetrics {
    /// Returns these metrics in the text format of Prometheus, version 0.0.4. Every metric has its lines HELP
    /// and TYPE, even if it has no samples.
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        self.write_prometheus(&mut text).expect("a string takes all that is written");
        text
    }

    /// Writes these metrics to `text` in the text format of Prometheus: see [`prometheus`](Self::prometheus).
    ///
    /// # Errors
    /// The errors of `text`.
    pub fn write_prometheus(&self, text: &mut impl Write) -> fmt::Result {
        for Metric { name, kind, help, of, .. } in ALL {
            writeln!(text, "# HELP {name} {}", Escaped { text: help, escapes_quotes: false })?;
            writeln!(text, "# TYPE {name} {kind}")?;
            let mut sample = |suffix: &str, labels: &[Label<'_>], value: Option<Value>| match value {
                Some(value) => writeln!(text, "{name}{suffix}{} {value}", Labels(labels)),
                None => Ok(()),
            };
            match of {
                Of::Engine(value) => sample("", &[], value(self))?,
                Of::Worker(value) => {
                    for (index, worker) in self.workers.iter().enumerate() {
                        sample("", &[("worker", &index)], value(worker))?;
                    }
                }
                Of::Query(_)
                | Of::QueryState
                | Of::Latency
                | Of::OutputDelay
                | Of::EventLatency
                | Of::Task(_)
                | Of::Operator(_)
                | Of::StateShare
                | Of::Edge(_) => {
                    for query in &self.queries {
                        query.sample(of, self.memory_limit_bytes, &mut sample)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl QueryMetrics {
    fn sample(
        &self,
        of: Of,
        memory_limit_bytes: u64,
        sample: &mut impl FnMut(&str, &[Label<'_>], Option<Value>) -> fmt::Result,
    ) -> fmt::Result {
        // Two queries may have the same name, but every sample needs labels of its own. So the serial number
        // is a label, too.
        let (query, serial): (Label<'_>, Label<'_>) = (("query", &self.query), ("serial", &self.serial));
        match of {
            Of::Engine(_) | Of::Worker(_) => (),
            Of::Query(value) => sample("", &[query, serial], value(self))?,
            Of::QueryState => {
                for (name, state) in STATES {
                    let is_state = whole(u64::from(state == self.state));
                    sample("", &[query, serial, ("state", &name)], is_state)?;
                }
            }
            Of::Latency | Of::OutputDelay | Of::EventLatency => {
                let (summary, sum_ns, count) = match of {
                    Of::Latency => (self.latency, self.latency_sum_ns, self.latency_count),
                    Of::OutputDelay => (self.output_delay, self.output_delay_sum_ns, self.output_delay_count),
                    _ => (self.event_latency, self.event_latency_sum_ns, self.event_latency_count),
                };
                let quantiles = summary.map(|latency| {
                    let quantiles = [latency.p50_ns, latency.p90_ns, latency.p99_ns, latency.p999_ns];
                    ["0.5", "0.9", "0.99", "0.999"].into_iter().zip(quantiles)
                });
                for (quantile, ns) in quantiles.into_iter().flatten() {
                    sample("", &[query, serial, ("quantile", &quantile)], nanos(ns))?;
                }
                sample("_sum", &[query, serial], nanos(sum_ns))?;
                sample("_count", &[query, serial], whole(count))?;
            }
            Of::Task(value) => {
                for task in &self.tasks {
                    sample("", &[query, serial, ("task", &task.task)], value(task))?;
                }
            }
            Of::Operator(value) => {
                for operator in self.operators() {
                    let labels = [query, serial, ("task", &operator.task), ("operator", &operator.operator)];
                    sample("", &labels, value(operator))?;
                }
            }
            Of::StateShare => {
                for operator in self.operators() {
                    let labels = [query, serial, ("task", &operator.task), ("operator", &operator.operator)];
                    let bytes = u128::from(operator.state_bytes) * 1_000_000;
                    let share = bytes / u128::from(memory_limit_bytes.max(1));
                    sample("", &labels, u64::try_from(share).ok().map(Value::Millionths))?;
                }
            }
            Of::Edge(value) => {
                for edge in &self.edges {
                    sample("", &[query, serial, ("edge", &edge.counts.edge)], value(edge))?;
                }
            }
        }
        Ok(())
    }
}

const STATES: [(&str, QueryState); 4] = [
    ("running", QueryState::Running),
    ("paused", QueryState::Paused),
    ("finished", QueryState::Finished),
    ("failed", QueryState::Failed),
];

impl Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Summary => "summary",
        })
    }
}

/// Writes a decimal point and the digits after it, without zeros at the end. Writes nothing if all digits are
/// zero.
fn write_fraction(f: &mut fmt::Formatter<'_>, fraction: u64, digits: usize) -> fmt::Result {
    let digits = format!("{fraction:0digits$}");
    match digits.trim_end_matches('0') {
        "" => Ok(()),
        digits => write!(f, ".{digits}"),
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::Whole(count) => count.fmt(f),
            Value::Millionths(millionths) => {
                write!(f, "{}", millionths / 1_000_000)?;
                write_fraction(f, millionths % 1_000_000, 6)
            }
            Value::Nanos(nanos) => {
                write!(f, "{}", nanos / 1_000_000_000)?;
                write_fraction(f, nanos % 1_000_000_000, 9)
            }
            Value::Instant(EventTime::MAX) => f.write_str("+Inf"),
            Value::Instant(instant) => {
                let micros = instant.as_micros();
                let sign = if micros < 0 { "-" } else { "" };
                write!(f, "{sign}{}", micros.unsigned_abs() / 1_000_000)?;
                write_fraction(f, micros.unsigned_abs() % 1_000_000, 6)
            }
        }
    }
}

/// Name and value of a label of a Prometheus sample.
type Label<'a> = (&'a str, &'a dyn Display);

/// The labels of a Prometheus sample, written in braces; nothing is written if there are none.
struct Labels<'a>(&'a [Label<'a>]);

impl Display for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, value)) in self.0.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            write!(f, "{before}{name}=\"{}\"", Escaped { text: value, escapes_quotes: true })?;
        }
        f.write_str(if self.0.is_empty() { "" } else { "}" })
    }
}

/// Text in which backslashes and line ends are escaped for Prometheus; quotes are escaped, too, if the text
/// is the value of a label.
struct Escaped<T> {
    text: T,
    escapes_quotes: bool,
}

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Escape<'a, 'b> {
            to: &'a mut fmt::Formatter<'b>,
            escapes_quotes: bool,
        }
        impl Write for Escape<'_, '_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                text.chars().try_for_each(|letter| match letter {
                    '\\' => self.to.write_str("\\\\"),
                    '\n' => self.to.write_str("\\n"),
                    '"' if self.escapes_quotes => self.to.write_str("\\\""),
                    other => self.to.write_char(other),
                })
            }
        }
        write!(Escape { to: f, escapes_quotes: self.escapes_quotes }, "{}", self.text)
    }
}

/// Returns the table of all metrics as Markdown, for the reference page.
pub fn table() -> String {
    let mut page = String::from("| name | type | unit | labels | meaning |\n|---|---|---|---|---|\n");
    for Metric { name, kind, unit, help, of } in ALL {
        let labels = match of {
            Of::Engine(_) => "",
            Of::Worker(_) => "`worker`",
            Of::Query(_) => "`query`, `serial`",
            Of::QueryState => "`query`, `serial`, `state`",
            Of::Latency | Of::OutputDelay | Of::EventLatency => "`query`, `serial`, `quantile`",
            Of::Task(_) => "`query`, `serial`, `task`",
            Of::Operator(_) | Of::StateShare => "`query`, `serial`, `task`, `operator`",
            Of::Edge(_) => "`query`, `serial`, `edge`",
        };
        page += &format!("| `{name}` | {kind} | {unit} | {labels} | {help} |\n");
    }
    page
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests;
