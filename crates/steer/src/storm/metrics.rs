//! Metrics of tasks: which of Graphite's lines are kept, and means over the last seconds.
//!
//! | of an executor | from the metrics of its tasks |
//! |---|---|
//! | what waits for a bolt | `receive-queue-population` and `receive-queue-overflow`, which all its tasks share |
//! | what waits for a spout | the gauges of a name, added; 0 if it has none |
//! | what waits for the send thread | `send-queue-population` |
//! | cost | `__capacity`, a share of time, by the records taken per second |
//! | selectivity | `__emit-count` by `__execute-count`, without the streams of Storm itself |
//! | writers | the components that `__execute-count` names |
//!
//! Storm tells a share of time with two digits, and rates as the mean of a minute.
//!
//! Bounds: [`TASKS_MAX`], [`METRICS_MAX`], [`KEPT_BYTES_MAX`] and [`FORGET_AFTER`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::names::{Meaning, Metric, in_metrics, is_of_storm};
use crate::window::{Window, is_believed};

/// Greatest number of tasks of all topologies. Metrics of further ones are left out.
pub const TASKS_MAX: usize = 4_096;

/// Greatest number of metrics of a task that are kept. Further ones are left out.
pub const METRICS_MAX: usize = 64;

/// Greatest memory in bytes of all names and values that are kept. Values that would need more are left out, while those
/// of metrics that have room go on. 4,096 tasks with ten metrics each and a value a second need about 27 MiB.
pub const KEPT_BYTES_MAX: usize = 32 << 20;

/// Memory in bytes that a topology, a task or a metric needs beside its names and values. A node of a map may be half
/// empty.
const TOPOLOGY_BYTES: usize = 2 * size_of::<(String, BTreeMap<u32, Task>)>();
const TASK_BYTES: usize = 2 * size_of::<(u32, Task)>();
const METRIC_BYTES: usize = 2 * size_of::<(Kept, (Window, Duration))>();

/// Time without a value after which a metric is forgotten: its task has ended, or reports are broken for good.
pub const FORGET_AFTER: Duration = Duration::from_secs(60);

/// Share of the time in which an executor is busy that counts where Storm tells 0.00. A cost is above zero.
const BUSY_MIN: f64 = 0.005;

/// A metric of a task that is kept.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kept {
    Receive,
    Overflow,
    Send,
    Busy,
    /// A gauge, by its name, that tells how many records wait for a spout.
    Backlog(String),
    /// Records per second that the task has taken from a stream of a component, which has the name that it has in
    /// metrics.
    Taken {
        component: String,
        stream: String,
    },
    PutOut(String),
}

impl Kept {
    /// Returns the memory of the metric in bytes, without its values.
    fn bytes(&self) -> usize {
        let names = match self {
            Kept::Receive | Kept::Overflow | Kept::Send | Kept::Busy => 0,
            Kept::Backlog(name) | Kept::PutOut(name) => name.len(),
            Kept::Taken { component, stream } => component.len() + stream.len(),
        };
        METRIC_BYTES + names
    }
}

/// A task with its metrics.
#[derive(Clone, Debug, Default)]
struct Task {
    /// Name of the component, as in metrics; empty as long as no metric tells it.
    component: String,
    is_spout: bool,
    /// True if the task has told a metric whose name only Storm 1.x gives.
    is_of_version_1: bool,
    /// Time of the last line about the task, counted from the beginning of the driver.
    heard: Duration,
    /// Values of each metric over the last seconds, with the time of the last value.
    kept: BTreeMap<Kept, (Window, Duration)>,
}

impl Task {
    /// Returns true if this is the task of another component than the named one. An empty name stands for any.
    fn is_other(&self, component: &str) -> bool {
        !self.component.is_empty() && !component.is_empty() && self.component != component
    }

    /// Returns the memory of the task in bytes, with its metrics.
    fn bytes(&self) -> usize {
        let metrics = self.kept.iter().map(|(kept, (window, _))| kept.bytes() + window.bytes());
        TASK_BYTES + self.component.len() + metrics.sum::<usize>()
    }
}

/// The metrics of all tasks by topology, which has the name that it has in metrics.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    gauge: Option<String>,
    topologies: BTreeMap<String, BTreeMap<u32, Task>>,
    /// Memory of the topologies in bytes, at most [`KEPT_BYTES_MAX`].
    bytes: usize,
    /// Number of lines that do not follow Graphite's protocol.
    broken: u64,
    /// Number of lines that were left out since a bound on tasks, metrics or bytes is reached.
    left_out: u64,
}

/// An executor as its metrics tell it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Measured {
    /// Name of the component, as in metrics.
    pub(super) component: String,
    pub(super) is_spout: bool,
    /// Number of records that wait for the main thread; `None` if that is not known at present.
    pub(super) waiting: Option<f64>,
    /// Number of records that wait for the send thread; `None` if that is not known at present.
    pub(super) to_send: Option<f64>,
    pub(super) cost_ns_per_record: Option<f64>,
    pub(super) selectivity: Option<f64>,
    /// Names, as in metrics, of the components whose output the executor reads.
    pub(super) writers: BTreeSet<String>,
}

impl Metrics {
    /// Makes an empty store for metrics of queues and costs. `gauge` is the name of the gauges that tell how many
    /// records wait for spouts.
    pub(super) fn new(gauge: Option<String>) -> Self {
        Metrics { gauge, ..Metrics::default() }
    }

    /// Takes a line of Graphite that has come `now` after the beginning of the driver.
    pub(super) fn take(&mut self, line: &[u8], now: Duration) {
        let Some((name, value)) = fields(line) else {
            self.broken += 1;
            return;
        };
        // Metrics of no task, such as of the worker itself, are left alone.
        let Some(metric) = Metric::of(name) else { return };
        let Ok(number) = u32::try_from(metric.task) else { return };
        if is_of_storm(metric.component) {
            return;
        }
        let meaning = metric.meaning();
        let kept = self.kept(metric, meaning);
        if kept.is_none() && meaning != Meaning::Spout {
            return;
        }
        let count: usize = self.topologies.values().map(BTreeMap::len).sum();
        let task = self.topologies.get(metric.topology).and_then(|tasks| tasks.get(&number));
        // A task number that a report gives to another component is another task.
        let same = task.filter(|task| !task.is_other(metric.component));
        let is_new = kept.as_ref().zip(same).is_none_or(|(kept, same)| !same.kept.contains_key(kept));
        let is_too_much = task.is_none() && count >= TASKS_MAX
            || is_new && same.is_some_and(|same| same.kept.len() >= METRICS_MAX) && kept.is_some()
            || self.bytes + self.more_bytes(metric, same, kept.as_ref(), now) > KEPT_BYTES_MAX;
        if is_too_much {
            self.left_out += 1;
            return;
        }
        if !self.topologies.contains_key(metric.topology) {
            self.bytes += TOPOLOGY_BYTES + metric.topology.len();
        }
        let tasks = self.topologies.entry(metric.topology.to_owned()).or_default();
        let task = tasks.entry(number).or_insert_with(|| {
            self.bytes += TASK_BYTES;
            Task::default()
        });
        if task.is_other(metric.component) {
            self.bytes = (self.bytes + TASK_BYTES).saturating_sub(task.bytes());
            *task = Task::default();
        }
        if task.component.is_empty() {
            self.bytes += metric.component.len();
            metric.component.clone_into(&mut task.component);
        }
        task.heard = now;
        task.is_spout |= meaning == Meaning::Spout;
        task.is_of_version_1 |= metric.is_of_version_1();
        let Some(kept) = kept else { return };
        if is_new {
            self.bytes += kept.bytes();
        }
        let (window, heard) = task.kept.entry(kept).or_default();
        *heard = now;
        let had_bytes = window.bytes();
        window.add(now, Some(value).filter(is_believed));
        self.bytes += window.bytes() - had_bytes;
    }

    /// Returns by how many bytes at most the memory grows with a value of a metric. `task` is its task, if that is known.
    fn more_bytes(
        &self,
        metric: Metric<'_>,
        task: Option<&Task>,
        kept: Option<&Kept>,
        now: Duration,
    ) -> usize {
        let is_known = self.topologies.contains_key(metric.topology);
        let of_topology = if is_known { 0 } else { TOPOLOGY_BYTES + metric.topology.len() };
        let of_task = match task {
            None => TASK_BYTES + metric.component.len(),
            Some(task) if task.component.is_empty() => metric.component.len(),
            Some(_) => 0,
        };
        let of_metric = kept.map_or(0, |kept| match task.and_then(|task| task.kept.get(kept)) {
            Some((window, _)) => window.growth_bytes(now),
            None => kept.bytes() + Window::default().growth_bytes(now),
        });
        of_topology + of_task + of_metric
    }

    /// Returns the form in which a metric is kept; `None` if the driver does not use it.
    fn kept(&self, metric: Metric<'_>, meaning: Meaning<'_>) -> Option<Kept> {
        if self.gauge.as_deref().is_some_and(|gauge| metric.is_gauge(gauge)) {
            return Some(Kept::Backlog(metric.name.to_owned()));
        }
        match meaning {
            Meaning::Receive => Some(Kept::Receive),
            Meaning::Overflow => Some(Kept::Overflow),
            Meaning::Send => Some(Kept::Send),
            Meaning::Busy => Some(Kept::Busy),
            Meaning::Taken { component, stream } if !is_of_storm(component) && !is_of_storm(stream) => {
                Some(Kept::Taken { component: in_metrics(component), stream: stream.to_owned() })
            }
            Meaning::PutOut(stream) if !is_of_storm(stream) => Some(Kept::PutOut(stream.to_owned())),
            Meaning::Taken { .. } | Meaning::PutOut(_) | Meaning::Spout | Meaning::Other => None,
        }
    }

    /// Forgets values of more than 10 s ago, and metrics and tasks without a value for [`FORGET_AFTER`].
    pub(super) fn forget(&mut self, now: Duration) {
        let is_fresh = |heard: Duration| now.saturating_sub(heard) < FORGET_AFTER;
        self.topologies.retain(|_, tasks| {
            tasks.retain(|_, task| {
                task.kept.retain(|_, (window, heard)| {
                    window.add(now, None);
                    is_fresh(*heard)
                });
                is_fresh(task.heard)
            });
            !tasks.is_empty()
        });
        self.bytes = self.counted_bytes();
    }

    /// Returns the memory of all topologies in bytes.
    fn counted_bytes(&self) -> usize {
        let of_topology = |(name, tasks): (&String, &BTreeMap<u32, Task>)| {
            TOPOLOGY_BYTES + name.len() + tasks.values().map(Task::bytes).sum::<usize>()
        };
        self.topologies.iter().map(of_topology).sum()
    }

    /// Returns true if a topology that reports runs on Storm 1.x, which tells neither costs nor who reads from whom.
    pub(super) fn has_version_1(&self) -> bool {
        self.topologies.values().flat_map(BTreeMap::values).any(|task| task.is_of_version_1)
    }

    /// Returns the number of values that were left out since a bound on tasks, metrics or bytes is reached.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns the topologies of which a metric is known.
    pub(super) fn topologies(&self) -> impl Iterator<Item = &str> {
        self.topologies.keys().map(String::as_str)
    }

    /// Returns the numbers of the tasks of a topology whose components are known.
    pub(super) fn tasks(&self, topology: &str) -> impl Iterator<Item = u32> {
        let tasks = self.topologies.get(topology).into_iter().flatten();
        tasks.filter(|(_, task)| !task.component.is_empty()).map(|(number, _)| *number)
    }

    /// Returns the component of a task, as in metrics.
    pub(super) fn component(&self, topology: &str, task: u32) -> Option<&str> {
        let component = &*self.topologies.get(topology)?.get(&task)?.component;
        (!component.is_empty()).then_some(component)
    }

    /// Returns the executor that runs the tasks from `first` to `last`. `entry_records` is the number of records of an
    /// entry of its receive queue.
    pub(super) fn executor(&self, topology: &str, (first, last): (u32, u32), entry_records: f64) -> Measured {
        let mut measured = Measured::default();
        let (mut busy, mut taken, mut put_out): (Option<f64>, f64, Option<f64>) = (None, 0.0, None);
        let (mut receive, mut overflow, mut backlog) = (None, None, None);
        let tasks = self.topologies.get(topology).filter(|_| first <= last);
        for task in tasks.into_iter().flat_map(|tasks| tasks.range(first..=last)).map(|(_, task)| task) {
            if measured.component.is_empty() {
                measured.component.clone_from(&task.component);
            }
            measured.is_spout |= task.is_spout;
            for (kept, (window, _)) in &task.kept {
                let mean = window.mean();
                match kept {
                    // All tasks of an executor tell the length of its one queue, so the first value counts.
                    Kept::Receive => receive = receive.or(mean),
                    Kept::Overflow => overflow = overflow.or(mean),
                    Kept::Send => measured.to_send = measured.to_send.or(mean),
                    Kept::Busy => {
                        busy = busy.into_iter().chain(mean).reduce(f64::max);
                    }
                    Kept::Backlog(_) => {
                        let others = backlog.unwrap_or(Some(0.0));
                        backlog = Some(others.zip(mean).map(|(others, mean)| others + mean));
                    }
                    Kept::Taken { component, .. } => {
                        measured.writers.insert(component.clone());
                        taken += mean.unwrap_or(0.0);
                    }
                    Kept::PutOut(_) => put_out = Some(put_out.unwrap_or(0.0) + mean.unwrap_or(0.0)),
                }
            }
        }
        measured.waiting = match backlog {
            Some(backlog) => backlog,
            None if measured.is_spout => Some(0.0),
            None => receive.map(|receive| receive * entry_records + overflow.unwrap_or(0.0)),
        };
        measured.is_spout |= backlog.is_some();
        if taken > 0.0 {
            measured.cost_ns_per_record = busy.map(|busy| busy.max(BUSY_MIN) * 1e9 / taken);
            measured.selectivity = put_out.map(|put_out| put_out / taken);
        }
        measured
    }

    /// Returns how many lines could not be used, for a message.
    pub(super) fn unused(&self) -> String {
        format!("{} lines were not understood, and {} left out as too many", self.broken, self.left_out)
    }
}

/// Reads the name and the value of a line. The time at its end is that of another clock, and is not used.
fn fields(line: &[u8]) -> Option<(&str, f64)> {
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let (name, value, time) = (fields.next()?, fields.next()?, fields.next()?);
    time.parse::<f64>().ok()?;
    fields.next().is_none().then_some((name, value.parse().ok()?))
}

#[cfg(test)]
mod tests;
