//! Names of Storm's metrics in the lines of Graphite, and of the threads of its executors.
//!
//! ```text
//!   metric   [PREFIX.]storm.worker.TOPOLOGY.HOST.COMPONENT[.STREAM].TASK.PORT-NAME      of Storm itself
//!            [PREFIX.]storm.topology.TOPOLOGY.HOST.COMPONENT.TASK.PORT-NAME             of a program
//!            [PREFIX.]storm.worker.TOPOLOGY.HOST.__system.-1.PORT-disruptor-receive-queue[FIRST-LAST]-population
//!                                                                                       Storm 1.x, a receive queue
//!   thread   Thread-N-COMPONENT-executor[FIRST, LAST]                                   Storm 2.x
//!            Thread-N-COMPONENT-executor[FIRST LAST]                                    Storm 1.x, the main thread
//!            Thread-N-disruptor-executor[FIRST LAST]-send-queue                         Storm 1.x, the send thread
//! ```
//!
//! An executor runs the tasks from FIRST to LAST of one component. In names of metrics Storm puts `_` for dots, and
//! Graphite's sender puts `-` for spaces. A component that is named in the part NAME keeps its dots.
//!
//! Source: Apache Storm, `StormMetricRegistry.java`, `JCQueueMetrics.java` and `Executor.java` of version 2.x,
//! `executor.clj` and `DisruptorQueue.java` of version 1.x.

/// Beginnings of the names of metrics: those of Storm, and those of programs.
const METRICS: [&str; 2] = ["storm.worker.", "storm.topology."];

/// A metric of a task by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Metric<'a> {
    pub(super) topology: &'a str,
    /// Component of the task; empty if the name does not tell it, as for receive queues of Storm 1.x.
    pub(super) component: &'a str,
    /// Number of the task, the first one for a queue that several tasks share. That of a worker process itself is below
    /// 0.
    pub(super) task: i64,
    pub(super) name: &'a str,
}

/// The meaning of a metric for a driver, by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning<'a> {
    /// Number of entries in the receive queue of the executor of the task.
    Receive,
    /// Number of records from other workers that wait since the receive queue is full.
    Overflow,
    /// Number of entries in the send queue of the executor of the task.
    Send,
    /// Share of the time in which the executor of the task is busy.
    Busy,
    /// Number of records per second that the task has taken from a stream of a component.
    Taken {
        /// The component, as the program names it.
        component: &'a str,
        /// The stream.
        stream: &'a str,
    },
    /// Number of records per second that the task has put out on a stream.
    PutOut(&'a str),
    /// Something that only spouts tell.
    Spout,
    /// Something else.
    Other,
}

impl<'a> Metric<'a> {
    /// Reads the name of a metric; `None` if it is none of a task of Storm.
    pub(super) fn of(name: &'a str) -> Option<Self> {
        let behind = |begin: &&str| {
            let (before, rest) = name.split_once(*begin)?;
            (before.is_empty() || before.ends_with('.')).then_some(rest)
        };
        let mut parts = METRICS.iter().find_map(behind)?.splitn(4, '.');
        let (topology, _host, component) = (parts.next()?, parts.next()?, parts.next()?);
        let (first, rest) = parts.next()?.split_once('.')?;
        // A stream may stand before the task.
        let (task, name) = match name_behind_port(rest) {
            Some(name) => (first, name),
            None => {
                let (task, rest) = rest.split_once('.')?;
                (task, name_behind_port(rest)?)
            }
        };
        let are_named = [topology, component, name].iter().all(|part| !part.is_empty());
        let (component, task) = match first_task(name) {
            Some(first) => ("", first),
            None => (component, task.parse().ok()?),
        };
        are_named.then_some(Metric { topology, component, task, name })
    }

    /// Returns the meaning of the metric for a driver. Names of Storm 1.x have more text before and behind that of the
    /// queue.
    pub(super) fn meaning(self) -> Meaning<'a> {
        if self.name.starts_with("__skipped-") {
            return Meaning::Spout;
        }
        if self.name == "__capacity" {
            return Meaning::Busy;
        }
        if let Some(name) = self.name.strip_suffix(".m1_rate") {
            if let Some(stream) = name.strip_prefix("__emit-count-") {
                return Meaning::PutOut(stream);
            }
            let taken = name.strip_prefix("__execute-count-").and_then(|name| name.rsplit_once(':'));
            return taken.map_or(Meaning::Other, |(component, stream)| Meaning::Taken { component, stream });
        }
        let queue = |what: &str| self.name.strip_suffix(what);
        match (queue("-population"), queue("-overflow")) {
            (Some(queue), _) if queue.contains("receive-queue") => Meaning::Receive,
            (Some(queue), _) if queue.contains("send-queue") => Meaning::Send,
            (_, Some("receive-queue")) => Meaning::Overflow,
            _ => Meaning::Other,
        }
    }

    /// Returns true if only Storm 1.x gives such a name: its queues are those of the library Disruptor.
    pub(super) fn is_of_version_1(self) -> bool {
        self.name.starts_with("disruptor-")
    }

    /// Returns true if the metric is the gauge with this name: the name is that of the metric, or its last part behind
    /// a dot or a slash.
    pub(super) fn is_gauge(self, gauge: &str) -> bool {
        let is_behind = |rest: &str| rest.is_empty() || rest.ends_with(['.', '/']);
        !gauge.is_empty() && self.name.strip_suffix(gauge).is_some_and(is_behind)
    }
}

/// Returns the first task in the name of a receive queue of Storm 1.x; `None` if the name is another one.
fn first_task(name: &str) -> Option<i64> {
    let tasks = name.strip_prefix("disruptor-receive-queue[")?;
    Some(tasks.split_once('-')?.0.parse::<u32>().ok()?.into())
}

/// Returns the part of a metric's name that stands behind the port of its worker; `None` if there is no port.
fn name_behind_port(text: &str) -> Option<&str> {
    let (port, name) = text.split_once('-')?;
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    is_port.then_some(name)
}

/// Returns true if a component is of Storm itself, such as `__acker`, `__system` or `__metrics`.
pub(super) fn is_of_storm(component: &str) -> bool {
    component.starts_with("__")
}

/// Returns the form that the name of a topology or of a component has in the name of a metric.
pub(super) fn in_metrics(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    words.join("-").replace('.', "_")
}

/// The part that a thread has in the work of an executor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Part {
    /// The main thread, which runs the program of the user.
    Main,
    /// The send thread, which sends the records that the program has put out (Storm 1.x).
    Send,
}

/// A thread of an executor by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Thread<'a> {
    /// Component of the executor; empty for a send thread, whose name does not tell it.
    pub(super) component: &'a str,
    /// First and last number of the tasks.
    pub(super) tasks: (u32, u32),
    pub(super) part: Part,
    /// True if entries of the receive queue are batches of records, as in Storm 1.x.
    pub(super) has_batches: bool,
}

impl<'a> Thread<'a> {
    /// Reads the name of a thread; `None` if it is none of an executor of tasks.
    pub(super) fn of(name: &'a str) -> Option<Self> {
        let (number, rest) = name.strip_prefix("Thread-")?.split_once('-')?;
        number.parse::<u64>().ok()?;
        let (rest, part) = match rest.strip_suffix("-send-queue") {
            Some(rest) => (rest, Part::Send),
            None => (rest, Part::Main),
        };
        let (component, tasks) = rest.strip_suffix(']')?.rsplit_once("-executor[")?;
        let (first, last, has_batches) = match (tasks.split_once(", "), tasks.split_once(' ')) {
            (Some((first, last)), _) => (first, last, false),
            (None, Some((first, last))) => (first, last, true),
            _ => return None,
        };
        let component = if part == Part::Send { "" } else { component };
        Some(Thread { component, tasks: (first.parse().ok()?, last.parse().ok()?), part, has_batches })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: &str = "storm.worker.wc-1-1700000000.a_b.split.4.6700-receive-queue-population";

    #[test]
    fn names_of_metrics_are_read() {
        let found = |name| {
            let Metric { topology, component, task, name } = Metric::of(name)?;
            Some((topology, component, task, name))
        };
        let expected = ("wc-1-1700000000", "split", 4, "receive-queue-population");
        assert_eq!(found(QUEUE), Some(expected));
        let prefixed = format!("lab.one.{QUEUE}");
        assert_eq!(found(&prefixed), Some(expected));
        let gauge = "storm.topology.wc-1-17.h.spout.1.6700-lag.total";
        assert_eq!(found(gauge), Some(("wc-1-17", "spout", 1, "lag.total")));
        let stream = "storm.worker.wc-1-17.h.split.default.4.6700-__emit-count-default.m1_rate";
        assert_eq!(found(stream), Some(("wc-1-17", "split", 4, "__emit-count-default.m1_rate")));
        let number = "storm.worker.wc-1-17.h.split.7.4.6700-__emit-count-7";
        assert_eq!(found(number), Some(("wc-1-17", "split", 4, "__emit-count-7")));
        let system = "storm.worker.wc-1-17.h.__system.-1.6700-memory.heap.used";
        assert_eq!(found(system), Some(("wc-1-17", "__system", -1, "memory.heap.used")));
        let earlier = "storm.worker.wc-1-17.h.__system.-1.6700-disruptor-receive-queue[4-6]-population";
        assert_eq!(found(earlier), Some(("wc-1-17", "", 4, "disruptor-receive-queue[4-6]-population")));
        let own = "storm.worker.wc-1-17.h.__system.-1.6700-disruptor-receive-queue[-1--1]-population";
        assert_eq!(
            found(own),
            Some(("wc-1-17", "__system", -1, "disruptor-receive-queue[-1--1]-population"))
        );
        for name in [
            "",
            ".",
            "storm.worker.",
            "storm.worker.t.h.c",
            "storm.worker.t.h.c.1",
            "storm.worker.t.h.c.1.x-n",
            "storm.worker.t.h.c.x.1-n",
            "storm.worker.t.h.c.1.-n",
            "storm.worker.t.h.c.1.6700-",
            "storm.worker..h.c.1.6700-n",
            "brainstorm.worker.t.h.c.1.6700-n",
            "storm.supervisor.x",
            "receive-queue-population",
        ] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn metrics_of_queues_are_told_apart() {
        for (name, expected) in [
            ("receive-queue-population", Meaning::Receive),
            ("disruptor-receive-queue[4-4]-population", Meaning::Receive),
            ("disruptor-executor[4-4]-send-queue-population", Meaning::Send),
            ("receive-queue-overflow", Meaning::Overflow),
            ("disruptor-executor[4-4]-send-queue-overflow", Meaning::Other),
            ("receive-queue-control_population", Meaning::Other),
            ("receive-queue-capacity", Meaning::Other),
            ("worker-transfer-queue-population", Meaning::Other),
            ("__skipped-max-spout-ms.m1_rate", Meaning::Spout),
            ("population", Meaning::Other),
            ("__capacity", Meaning::Busy),
            ("__execute-count-a.b:default.m1_rate", Meaning::Taken { component: "a.b", stream: "default" }),
            ("__execute-count-a.b:default.count", Meaning::Other),
            ("__execute-count-a.m1_rate", Meaning::Other),
            ("__emit-count-late.m1_rate", Meaning::PutOut("late")),
            ("__reported-error-count.m1_rate", Meaning::Other),
        ] {
            let metric = Metric { topology: "t", component: "c", task: 1, name };
            assert_eq!(metric.meaning(), expected, "{name}");
        }
        let is_gauge = |name, gauge| Metric { topology: "t", component: "c", task: 1, name }.is_gauge(gauge);
        assert!(is_gauge("lag", "lag") && is_gauge("a.lag", "lag") && is_gauge("topic/totalLag", "totalLag"));
        let is_of_version_1 =
            |name| Metric { topology: "t", component: "c", task: 1, name }.is_of_version_1();
        assert!(is_of_version_1("disruptor-executor[1-1]-send-queue-population"));
        assert!(!is_of_version_1("receive-queue-population") && !is_of_version_1("my-disruptor-lag"));
        assert!(!is_gauge("jetlag", "lag") && !is_gauge("lag", "") && !is_gauge("lag.x", "lag"));
    }

    #[test]
    fn names_of_threads_are_read() {
        let thread =
            |component, tasks, part, has_batches| Some(Thread { component, tasks, part, has_batches });
        for (name, expected) in [
            ("Thread-20-split-executor[4, 4]", thread("split", (4, 4), Part::Main, false)),
            (
                "Thread-20-my-executor[9]-x-executor[4, 6]",
                thread("my-executor[9]-x", (4, 6), Part::Main, false),
            ),
            ("Thread-7-split-executor[4 6]", thread("split", (4, 6), Part::Main, true)),
            ("Thread-8-disruptor-executor[4 6]-send-queue", thread("", (4, 6), Part::Send, true)),
            ("Thread-20-__acker-executor[1, 1]", thread("__acker", (1, 1), Part::Main, false)),
            ("Thread-5-__system-executor[-1, -1]", None),
            ("Thread-5-disruptor-worker-transfer-queue", None),
            ("Thread-20-split-executor[4]", None),
            ("Thread-20-split-executor[4, 4", None),
            ("Thread-20-split-executor[x, y]", None),
            ("Thread-x-split-executor[4, 4]", None),
            ("Thread-20", None),
            ("main", None),
            ("", None),
        ] {
            assert_eq!(Thread::of(name), expected, "{name}");
        }
        assert!(is_of_storm("__acker") && is_of_storm("__metrics_a") && !is_of_storm("_mine"));
        assert_eq!(in_metrics("a.b  c\td"), "a_b-c-d");
    }
}
