//! Many workers inside one operator: the same results as one.

use std::sync::{Arc, Mutex};

use thalweg::source::Given;
use thalweg::{
    Chaining, Count, EdgeLimits, Engine, EventTime, Fault, Layout, Parallel, Query, Record, Sink, Span,
    TumblingWindows, WatermarkStrategy, Windowed,
};

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(i64, i64, u64)>>>);

impl Sink<Windowed<i64, u64>> for Seen {
    fn write(&mut self, record: Record<Windowed<i64, u64>>) -> Result<(), Fault> {
        let Windowed { window, key, value, .. } = record.value;
        self.0.lock().unwrap().push((window.start.as_micros(), key, value));
        Ok(())
    }
}

fn run(layout: impl Into<Layout>, edges: EdgeLimits, workers: u64, keys: i64) -> Vec<(i64, i64, u64)> {
    let (query, seen) = (Query::new("q"), Seen::default());
    let split = |first: i64| {
        let record = |n: i64| Record::new(EventTime::from_micros(n * 100), n * 3 + first);
        Given::new((0..10_000).map(record).collect())
    };
    let windows = TumblingWindows::new(Span::from_millis(if keys > 1_000 { 400 } else { 10 })).unwrap();
    query
        .splits("numbers", [split(0), split(1), split(2)], WatermarkStrategy::ascending())
        .filter(|number| number % 5 != 0)
        .map(|number| number + 1)
        .key_by(move |number| number % keys)
        .tumbling(windows)
        .aggregate(Count)
        .sink("seen", seen.clone());
    let graph = query.plan(layout).unwrap();
    let engine = Engine::builder().workers(workers).edges(edges).build().unwrap();
    let report = engine.submit(graph).unwrap().wait().unwrap();
    assert_eq!((report.events_in, report.conservation_error()), (30_000, None));
    let mut results = seen.0.lock().unwrap().clone();
    assert!(results.iter().map(|(start, ..)| start).is_sorted(), "windows come in the order of their ends");
    results.sort_unstable();
    results
}

/// With few keys, and with so many that copies are put together in pairs, by whoever has time.
#[test]
fn as_many_workers_as_one_likes() {
    let tiny = EdgeLimits { block_records: 1, chunk_blocks: 1, chunks_max: 2, marks_max: 1 };
    for keys in [7, 100_000] {
        let expected = run(Chaining::Default, EdgeLimits::default(), 1, keys);
        for workers in [1, 2, 3, 8] {
            for chaining in [Chaining::None, Chaining::Default, Chaining::All] {
                for edges in [EdgeLimits::default(), tiny] {
                    let layout = Layout { chaining, parallel: Parallel::Epochs { workers } };
                    assert!(
                        run(layout, edges, workers as u64, keys) == expected,
                        "{layout:?} {edges:?} {keys} keys"
                    );
                }
            }
        }
    }
}
