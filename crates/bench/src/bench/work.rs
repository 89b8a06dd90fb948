//! Work of the operators of a query, from which Klink's throughput and slowdown follow (Farhat et al.,
//! "Klink: Progress-Aware Scheduling for Streaming Data Systems", SIGMOD 2021, section 6.1.2).
//!
//! **Throughput.** Klink adds up the records that each operator processes. Sources and sinks are operators
//! there. Here a source processes the records that it makes, an operator those that it reads, and a sink
//! those that it writes. So the figure is the same for every chaining.
//!
//! **Slowdown.** Klink divides the latency of results by the sum of the costs of one record at each operator.
//! The cost of a record is the time in the steps of a task over the number of records that the task has read.
//! This time includes the choice of the task. Three rules are ours:
//!
//! * A chain of operators is one loop, so the cost of a record at its task stands for the chain.
//! * Copies of one operator count as one, with their times and records added up, because a record passes only
//!   one of them. The task that merges what the copies have gathered is among them. All sources that run no
//!   operator count as one, too: the splits of one stream cannot be told from several streams.
//! * A task that has read no record has no cost of a record and adds nothing to the sum. So if some operators
//!   of a query were left waiting, the sum is lower and the slowdown is greater.

use std::collections::BTreeMap;

use thalweg::{QueryMetrics, QueryReport, TaskMetrics};

/// Work of a query's operators since the query's start: records that they have processed, and the time that
/// workers spent on them.
#[derive(Clone, Default, Debug)]
pub struct Work {
    /// Time and records of the tasks of the query, with those of all copies of an operator added up. Empty if
    /// only the report of the query is known. It has at most as many entries as the query has tasks.
    spent: BTreeMap<Operators, Spent>,
    /// Number of records that each operator has processed, summed over all operators.
    records: u64,
}

impl Work {
    /// Returns the work of a query's operators up to the moment at which the metrics were read.
    pub fn of(metrics: &QueryMetrics) -> Self {
        let read: u64 = metrics.operators().map(|operator| operator.counts.read).sum();
        let mut spent: BTreeMap<Operators, Spent> = BTreeMap::new();
        for task in &metrics.tasks {
            let of_all = spent.entry(Operators::of(task)).or_default();
            of_all.busy_ns += task.busy_ns;
            of_all.records += task.records_in;
        }
        Work { spent, records: metrics.events_in + read + metrics.results_out }
    }

    /// Returns the work of the operators of a query that has ended. Its report has no times of single tasks,
    /// so no cost of a record follows from it.
    pub fn of_ended(report: &QueryReport) -> Self {
        let read = report.total(|counts| counts.read);
        Work { spent: BTreeMap::new(), records: report.events_in + read + report.results_out }
    }

    /// Makes the work of a single operator, for tests.
    #[cfg(test)]
    pub fn of_one(busy_ns: u64, records: u64) -> Self {
        let operators = Operators::Named("one".to_owned());
        Work { spent: BTreeMap::from([(operators, Spent { busy_ns, records })]), records }
    }

    /// Returns the number of records that each operator has processed since `earlier`, summed over all
    /// operators.
    pub fn records_since(&self, earlier: &Work) -> u64 {
        self.records.saturating_sub(earlier.records)
    }

    /// Returns the sum of the costs of one record at each operator since `earlier`, in nanoseconds. Returns
    /// `None` if no cost is known, because no task has read a record since then.
    pub fn cost_ns_since(&self, earlier: &Work) -> Option<f64> {
        let of_each = |(operators, now): (&Operators, &Spent)| {
            let then = earlier.spent.get(operators).copied().unwrap_or_default();
            let records = now.records.saturating_sub(then.records);
            (records > 0).then(|| now.busy_ns.saturating_sub(then.busy_ns) as f64 / records as f64)
        };
        let cost_ns: f64 = self.spent.iter().filter_map(of_each).sum();
        (cost_ns > 0.0).then_some(cost_ns)
    }
}

/// The operators that a task runs. This value is equal for all parallel copies of a task, so that their work
/// is added up.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Operators {
    /// The source alone, if the task is a source that runs no operator.
    Sources,
    /// Names of the operators, in the order in which records pass them.
    Chain(Vec<String>),
    /// Name of a task without operators, such as a sink that is a task of its own. The number of a copy is
    /// left out.
    Named(String),
}

impl Operators {
    fn of(task: &TaskMetrics) -> Self {
        if !task.operators.is_empty() {
            Operators::Chain(task.operators.iter().map(|operator| operator.operator.clone()).collect())
        } else if task.is_source {
            Operators::Sources
        } else {
            // The name of a copy ends in `#` and a number.
            let name = task.task.rsplit_once('#').map_or(&*task.task, |(name, _)| name);
            Operators::Named(name.to_owned())
        }
    }
}

/// Time that workers have spent in the steps of tasks, and number of records that these tasks have read. For
/// a source these are the records that it has made.
#[derive(Clone, Copy, Default, Debug)]
struct Spent {
    busy_ns: u64,
    records: u64,
}

#[cfg(test)]
mod tests {
    use std::thread::yield_now;

    use thalweg::{
        Chaining, Engine, EventTime, Layout, Parallel, Query, QueryState, Record, WatermarkStrategy,
        source::Given,
    };
    use thalweg_connectors::Discard;

    use super::*;

    const PARALLELS: [Parallel; 2] = [Parallel::Serial, Parallel::Epochs { workers: 2 }];

    /// Runs a query of two splits with six numbers each, a filter that a third of them passes, a map and a
    /// sink. Returns its metrics and its report when it has ended.
    fn run(layout: Layout) -> (QueryMetrics, QueryReport) {
        let split = || {
            let record = |number| Record::new(EventTime::from_secs(number), number);
            Given::new((0..6).map(record).collect())
        };
        let query = Query::new("work");
        let numbers = query.splits("numbers", [split(), split()], WatermarkStrategy::ascending());
        numbers.filter(|number| number % 3 == 0).map(|number| -number).sink("sink", Discard::new());
        let engine = Engine::builder().workers(2).build().unwrap();
        let query = engine.submit(query.plan(layout).unwrap()).unwrap();
        while query.state() == QueryState::Running {
            yield_now();
        }
        (query.metrics(), query.wait().unwrap())
    }

    /// Twelve records are made and filtered, and four are mapped and written, however operators share tasks.
    #[test]
    fn records_count_at_each_operator() {
        for chaining in [Chaining::None, Chaining::Default, Chaining::All] {
            for parallel in PARALLELS {
                let (metrics, report) = run(Layout { chaining, parallel });
                let (shown, ended) = (Work::of(&metrics), Work::of_ended(&report));
                assert_eq!([shown.records, ended.records], [12 + 12 + 4 + 4; 2], "{chaining:?} {parallel:?}");
                assert_eq!(ended.records_since(&Work::of_one(0, 30)), 2);
            }
        }
    }

    /// Copies of an operator count as one operator with the records of all of them, and so do splits.
    #[test]
    fn copies_are_one_operator() {
        let check = |chaining, parallel, expected: &[(Operators, u64)]| {
            let spent = Work::of(&run(Layout { chaining, parallel }).0).spent;
            let records: Vec<_> =
                spent.into_iter().map(|(operators, spent)| (operators, spent.records)).collect();
            assert_eq!(records, expected, "{chaining:?} {parallel:?}");
        };
        let chain = |names: &[&str]| Operators::Chain(names.iter().map(|name| (*name).to_owned()).collect());
        let sink = || Operators::Named("sink".to_owned());
        for parallel in PARALLELS {
            let (filter, map) = (chain(&["filter"]), chain(&["map"]));
            let each = [(Operators::Sources, 12), (filter, 12), (map, 4), (sink(), 4)];
            check(Chaining::None, parallel, &each);
        }
        check(Chaining::Default, PARALLELS[1], &[(chain(&["filter", "map"]), 12), (sink(), 4)]);
    }

    /// The costs of operators add up. Only what was spent since the earlier moment counts, and a task that
    /// has taken no record since then adds nothing.
    #[test]
    fn costs_of_operators_add_up() {
        let work = |spent: &[(&str, u64, u64)]| {
            let of = |&(name, busy_ns, records): &(&str, u64, u64)| {
                (Operators::Named(name.to_owned()), Spent { busy_ns, records })
            };
            Work { spent: spent.iter().map(of).collect(), records: 0 }
        };
        let earlier = work(&[("a", 1_000, 10), ("b", 500, 5)]);
        let check = |now: &[(&str, u64, u64)], expected: Option<f64>| {
            assert_eq!(work(now).cost_ns_since(&earlier), expected, "{now:?}");
        };
        check(&[("a", 1_300, 20), ("b", 600, 7)], Some(30.0 + 50.0));
        check(&[("a", 1_300, 20), ("b", 900, 5)], Some(30.0));
        check(&[("a", 1_300, 20), ("b", 600, 7), ("c", 70, 10)], Some(30.0 + 50.0 + 7.0));
        check(&[("a", 1_000, 10), ("b", 500, 5)], None);
        check(&[], None);
    }
}
