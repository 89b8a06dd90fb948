//! Work of the operators of a query, from which Klink's throughput follows (Farhat et al., "Klink:
//! Progress-Aware Scheduling for Streaming Data Systems", SIGMOD 2021, section 6.1.2).
//!
//! Klink adds up the records that each operator processes. Sources and sinks are operators there. Here a
//! source processes the records that it makes, an operator those that it reads, and a sink those that it
//! writes. So the figure is the same for every chaining.

use thalweg::{QueryMetrics, QueryReport};

/// Work of a query's operators since its start.
#[derive(Clone, Default, Debug)]
pub struct Work {
    /// Number of records that each operator has processed, summed over all operators.
    records: u64,
}

impl Work {
    /// Returns the work of a query up to the moment of its metrics.
    pub fn of(metrics: &QueryMetrics) -> Self {
        let read: u64 = metrics.operators().map(|operator| operator.counts.read).sum();
        Work { records: metrics.events_in + read + metrics.results_out }
    }

    /// Returns the work of a query that has ended.
    pub fn of_ended(report: &QueryReport) -> Self {
        let read = report.total(|counts| counts.read);
        Work { records: report.events_in + read + report.results_out }
    }

    /// Returns the number of records that each operator has processed since `earlier`, summed over all
    /// operators.
    pub fn records_since(&self, earlier: &Work) -> u64 {
        self.records.saturating_sub(earlier.records)
    }
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

    /// Every layout of a query in which four of twelve numbers pass a filter.
    fn layouts() -> impl Iterator<Item = Layout> {
        [Chaining::None, Chaining::Default, Chaining::All].into_iter().flat_map(|chaining| {
            let parallels = [Parallel::Serial, Parallel::Epochs { workers: 2 }];
            parallels.map(|parallel| Layout { chaining, parallel })
        })
    }

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
        for layout in layouts() {
            let (metrics, report) = run(layout);
            let (shown, ended) = (Work::of(&metrics), Work::of_ended(&report));
            assert_eq!([shown.records, ended.records], [12 + 12 + 4 + 4; 2], "{layout:?}");
            assert_eq!(ended.records_since(&Work { records: 30 }), 2);
        }
    }
}
