//! The driver of Apache Storm: an engine that runs as it is, without a change of its programs or of its topologies.
//!
//! ```text
//!   GraphiteStormReporter   metrics of tasks, by TCP     ---+
//!                                                           +--> snapshot, threads
//!   /proc, JVM              processes, names of threads  ---+
//! ```
//!
//! - `graphite`, `metrics`: what Storm tells;
//! - `workers`: the workers on this machine, and their threads;
//! - `names`, `placing`: which thread runs which executor;
//! - `snapshot`: the operators, as a policy sees them.
//!
//! Each executor of a topology that reports is an operator, and its main thread gets its rank. In Storm 1.x each executor
//! has a thread that sends its output. That is an operator of its own, since the output may be full while the input is
//! empty (Frasca et al., Computing Frontiers 2023, section 4.1.1). The thread of a worker that sends its metrics is
//! [as urgent as the steering loop](Observation::telling). Executors of Storm itself, such as ackers, and all other threads are left alone.
//!
//! | operator | pending: the mean of the last 10 s, rounded up, in records |
//! |---|---|
//! | bolt | its receive queue: an entry is a record in Storm 2.x, and counts as a batch of 100 in Storm 1.x |
//! | spout | the gauges [`Options::source_gauge`] of its tasks, added; 0 without them |
//! | send thread | its send queue |
//!
//! Values that come in one round count as of that round. A round is skipped while no value of the last 10 s is known for a
//! thread that is to be steered, which is so until reports come: set `report.period: 1` in the configuration of the
//! reporter, since it reports every 10 s only by default. When a topology has not reported for 60 s, its threads are left
//! alone. A worker that does not tell its threads is noted and left alone, or steered by the threads that were known before.
//!
//! Costs, selectivities and edges come from the same reports. An edge is known when the first record has passed it. Storm
//! 1.x tells none of these, so the driver supplies queues only as soon as a report is of that version. The rounds of a policy
//! that needs more are then skipped. Its batches hold what a writer has put out within 1 ms, 100 records at most, and it does
//! not tell how full they are. Its spouts are known by their gauges only.
//!
//! Versions: Storm 2.8.3 and 1.2.4. This program must run as the user of the workers or as root, and see their processes.
//!
//! Bounds: those of [`bounds`](crate::bounds), and those at the head of each module.

use std::time::{Duration, Instant};

use thalweg_scheduling::Fields;

pub use graphite::{Closed, Lines, Receiver};

use crate::bounds::ROUND_MAX;
use crate::numbers::Numbers;
use crate::steering::{Driver, Observation, Unobserved};
use crate::threads::Processes;
use metrics::Metrics;
use names::Part;
use notes::Notes;
use snapshot::OperatorKey;
use workers::Workers;

mod graphite;
mod metrics;
mod names;
mod notes;
mod placing;
mod snapshot;
mod workers;

/// Begin of the names of threads that send metrics, such as `metrics-graphite-reporter-1-thread-1`.
const TELLING: &str = "metrics-graphite-reporter";

/// How the driver looks at Storm.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of a gauge that tells the number of records which wait for a spout. It is the last part of the metric's
    /// name, or more of it.
    pub source_gauge: Option<String>,
    /// The queue that counts for send threads.
    pub send_queue: SendQueue,
    /// Main class of a further Java program that runs Storm within itself, by `LocalCluster`; `None` if there is none.
    pub main_class: Option<String>,
    /// The processes of this machine.
    pub processes: Processes,
}

/// The queue that counts for the send thread of an executor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SendQueue {
    /// The send queue, as in the paper.
    #[default]
    Send,
    /// The receive queue: the send thread gets the rank of the main thread. So did Lachesis before (section 4.1 of the
    /// paper), to which the policy `congestion_v1` belongs. A spout then counts as a queue that is never empty.
    Receive,
}

/// A running Storm.
pub struct Storm<L> {
    lines: L,
    send_queue: SendQueue,
    began: Instant,
    metrics: Metrics,
    workers: Workers,
    /// Numbers of the operators and of the queries in snapshots.
    operators: Numbers<OperatorKey>,
    queries: Numbers<String>,
    notes: Notes,
}

impl<L: Lines> Storm<L> {
    /// Makes the driver of a Storm whose reports come as `lines`. Nothing is read yet.
    pub fn new(lines: L, options: Options) -> Self {
        let Options { source_gauge, send_queue, main_class, processes } = options;
        Storm {
            lines,
            send_queue,
            began: Instant::now(),
            metrics: Metrics::new(source_gauge),
            workers: Workers::new(processes, main_class),
            operators: Numbers::default(),
            queries: Numbers::default(),
            notes: Notes::default(),
        }
    }

    /// Looks at Storm once, `now` after the driver began. The look ends with an error at the deadline.
    fn observe_at(&mut self, now: Duration, deadline: Instant) -> Result<Observation, Unobserved> {
        let metrics = &mut self.metrics;
        self.lines.take(now, deadline, &mut |line| metrics.take(line, now))?;
        metrics.forget(now);
        self.note_what_is_closed(now);
        if self.metrics.topologies().next().is_none() {
            let (address, unused) = (self.lines.address(), self.unused());
            return Err(Unobserved(format!(
                "no queue of Storm is told at {address}: set a GraphiteStormReporter with this address and \
                 report.period 1 in storm.yaml; {unused}"
            )));
        }
        self.workers.look(self.metrics.topologies(), (now, deadline), &mut self.notes)?;
        let mut places = placing::places(self.workers.found(), &self.metrics)?;
        if places.is_empty() {
            let topologies: Vec<&str> = self.metrics.topologies().take(3).collect();
            let text = "this program must see their processes, and run as their user or as root";
            let failure = self.workers.failures().next().map(|why| format!("; {why}")).unwrap_or_default();
            let topologies = topologies.join(", ");
            return Err(Unobserved(format!(
                "no executor of {topologies} is found on this machine; {text}{failure}"
            )));
        }
        if self.send_queue == SendQueue::Receive {
            places.iter_mut().for_each(|place| place.part = Part::Main);
        }
        let mut observation = self.assemble(&places, now)?;
        if self.send_queue == SendQueue::Receive {
            observation.let_no_source_be_empty();
        }
        let workers = self.workers.found().iter();
        observation.telling =
            workers.flat_map(|worker| worker.process().chosen(|name| name.starts_with(TELLING))).collect();
        Ok(observation)
    }

    /// Adds notes for users about connections and values for which there is no room.
    fn note_what_is_closed(&mut self, now: Duration) {
        let Closed { refused, quiet } = self.lines.closed();
        let left_out = self.metrics.left_out();
        self.notes.add_count(refused, "connections of reporters were refused, since too many are open", now);
        self.notes.add_count(
            quiet,
            "quiet connections of reporters were closed, since others needed room",
            now,
        );
        self.notes.add_count(left_out, "values of Storm were left out, since too much is told", now);
    }

    /// Returns how many lines and connections could not be used, for a message.
    fn unused(&self) -> String {
        let (lines, refused) = (self.metrics.unused(), self.lines.closed().refused);
        if refused == 0 { lines } else { format!("{lines}; {refused} connections were refused as too many") }
    }
}

impl<L: Lines> Driver for Storm<L> {
    fn name(&self) -> &'static str {
        if self.metrics.has_version_1() { "Storm 1.x" } else { "Storm" }
    }

    /// Storm 1.x tells queues only. The version is known as soon as a report has come.
    fn supplies(&self) -> Fields {
        let costs = Fields::COST_AND_SELECTIVITY | Fields::TOPOLOGY;
        if self.metrics.has_version_1() { Fields::PENDING } else { Fields::PENDING | costs }
    }

    fn notes(&mut self) -> Vec<String> {
        self.notes.take()
    }

    fn observe(&mut self) -> Result<Observation, Unobserved> {
        self.observe_at(self.began.elapsed(), Instant::now() + ROUND_MAX)
    }
}

#[cfg(test)]
mod tests;
