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
//! empty (Frasca et al., Computing Frontiers 2023, section 4.1.1). Executors of Storm itself, such as ackers, and all other
//! threads are left alone.
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
//! alone.
//!
//! Costs, selectivities and edges come from the same reports. An edge is known when the first record has passed it. Storm
//! 1.x tells none of these: all its operators then have the cost of a new one and no readers, so only policies that go by
//! queues mean something for it. Its batches hold what a writer has put out within 1 ms, 100 records at most, and it does
//! not tell how full they are. Its spouts are known by their gauges only.
//!
//! Versions: Storm 2.8.3 and 1.2.4. This program must run as the user of the workers or as root, and see their processes.
//!
//! Bounds: those of [`bounds`](crate::bounds), and those at the head of each module.

use std::time::{Duration, Instant};

use thalweg_scheduling::Fields;

pub use graphite::{Lines, Receiver};

use crate::bounds::ROUND_MAX;
use crate::numbers::Numbers;
use crate::steering::{Driver, Observation, Unobserved};
use crate::threads::Processes;
use metrics::Metrics;
use names::Part;
use snapshot::OperatorKey;
use workers::Workers;

mod graphite;
mod metrics;
mod names;
mod placing;
mod snapshot;
mod workers;

/// How the driver looks at Storm.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of a gauge that tells the number of records which wait for a spout. It is the last part of the metric's
    /// name, or more of it.
    pub source_gauge: Option<String>,
    /// The queue that counts for send threads.
    pub send_queue: SendQueue,
    /// Main class of a program that runs Storm within itself, by `LocalCluster`.
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
        }
    }

    /// Looks at Storm, `now` after the driver began.
    fn observe_at(&mut self, now: Duration, deadline: Instant) -> Result<Observation, Unobserved> {
        let metrics = &mut self.metrics;
        self.lines.take(now, deadline, &mut |line| metrics.take(line, now))?;
        metrics.forget(now);
        if metrics.topologies().next().is_none() {
            let (address, unused) = (self.lines.address(), metrics.unused());
            return Err(Unobserved(format!(
                "no queue of Storm is told at {address}: set a GraphiteStormReporter with this address and \
                 report.period 1 in storm.yaml; {unused}"
            )));
        }
        self.workers.look(metrics.topologies(), (now, deadline))?;
        let mut places = placing::places(self.workers.found(), metrics)?;
        if places.is_empty() {
            let topologies: Vec<&str> = metrics.topologies().take(3).collect();
            let text = "this program must see their processes, and run as their user or as root";
            let topologies = topologies.join(", ");
            return Err(Unobserved(format!("no executor of {topologies} is found on this machine; {text}")));
        }
        if self.send_queue == SendQueue::Receive {
            places.iter_mut().for_each(|place| place.part = Part::Main);
        }
        let mut observation = self.assemble(&places, now)?;
        if self.send_queue == SendQueue::Receive {
            observation.let_no_source_be_empty();
        }
        Ok(observation)
    }
}

impl<L: Lines> Driver for Storm<L> {
    fn name(&self) -> &'static str {
        "Storm"
    }

    fn supplies(&self) -> Fields {
        Fields::PENDING | Fields::COST_AND_SELECTIVITY | Fields::TOPOLOGY
    }

    fn observe(&mut self) -> Result<Observation, Unobserved> {
        self.observe_at(self.began.elapsed(), Instant::now() + ROUND_MAX)
    }
}

#[cfg(test)]
mod tests;
