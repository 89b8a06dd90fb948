//! When many workers run inside one operator, the results are the same as with one worker.

use std::sync::{Arc, Mutex};

use thalweg::source::Given;
use thalweg::{
    Chaining, Count, EdgeLimits, Engine, EngineBuilder, EventTime, Fault, KeyedProcess, Layout, Parallel,
    ProcessContext, Query, Record, Sink, Span, TumblingWindows, WatermarkStrategy, Windowed,
};
use thalweg_runtime::Ablations;
use thalweg_runtime::scheduling::StreamBox;

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(i64, i64, u64)>>>);

impl Sink<Windowed<i64, u64>> for Seen {
    fn write(&mut self, record: Record<Windowed<i64, u64>>) -> Result<(), Fault> {
        let Windowed { window, key, value, .. } = record.value;
        self.0.lock().unwrap().push((window.start.as_micros(), key, value));
        Ok(())
    }
}

fn run(layout: impl Into<Layout>, engine: EngineBuilder, keys: i64) -> Vec<(i64, i64, u64)> {
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
    let engine = engine.build().unwrap();
    let report = engine.submit(graph).unwrap().wait().unwrap();
    assert_eq!((report.events_in, report.conservation_error()), (30_000, None));
    // The end of the stream is not counted as a window closing, since no result waits for it. Several window
    // ends may fire together.
    let closings = report.output_delay.map_or(0, |delay| delay.count);
    assert!((1..=100).contains(&closings), "{closings} closings");
    let mut results = seen.0.lock().unwrap().clone();
    assert!(results.iter().map(|(start, ..)| start).is_sorted(), "windows come in the order of their ends");
    results.sort_unstable();
    results
}

const TINY: EdgeLimits = EdgeLimits { block_records: 1, chunk_blocks: 1, chunks_max: 2, marks_max: 1 };

/// StreamBox's policy gives the same results with its mechanisms disabled one by one and all together.
#[test]
fn what_is_switched_off_changes_no_result() {
    let keys = 7;
    let expected = run(Chaining::Default, Engine::builder(), keys);
    let none = Ablations::default();
    let all = Ablations { in_order_epochs: true, no_epoch_boundaries: true, no_locality: true };
    let ablations = [
        none,
        Ablations { in_order_epochs: true, ..none },
        Ablations { no_epoch_boundaries: true, ..none },
        Ablations { no_locality: true, ..none },
        all,
    ];
    for ablations in ablations {
        for (workers, edges) in [(1, EdgeLimits::default()), (3, EdgeLimits::default()), (3, TINY)] {
            for chaining in [Chaining::None, Chaining::Default] {
                for policy in [StreamBox::default(), StreamBox::without_priority()] {
                    let engine = Engine::builder().workers(workers as u64).edges(edges);
                    let engine = engine.ablations(ablations).policy(Box::new(policy));
                    let layout = Layout { chaining, parallel: Parallel::Epochs { workers } };
                    assert!(run(layout, engine, keys) == expected, "{layout:?} {edges:?} {ablations:?}");
                }
            }
        }
    }
}

/// Results do not depend on the number of workers, neither with few keys nor with so many that any free
/// worker merges the states of instances in pairs.
#[test]
fn as_many_workers_as_one_likes() {
    for keys in [7, 100_000] {
        let expected = run(Chaining::Default, Engine::builder(), keys);
        for workers in [1, 2, 3, 8] {
            for chaining in [Chaining::None, Chaining::Default, Chaining::All] {
                for edges in [EdgeLimits::default(), TINY] {
                    let layout = Layout { chaining, parallel: Parallel::Epochs { workers } };
                    assert!(
                        run(layout, Engine::builder().workers(workers as u64).edges(edges), keys) == expected,
                        "{layout:?} {edges:?} {keys} keys"
                    );
                }
            }
        }
    }
}

/// A sink that collects values of any type as text.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<String>>>);

impl<T: std::fmt::Debug> Sink<T> for Shown {
    fn write(&mut self, record: Record<T>) -> Result<(), Fault> {
        self.0.lock().unwrap().push(format!("{:?}", record.value));
        Ok(())
    }
}

/// Process function that adds up the counts of a key and emits the sum at every count.
struct Pass;

impl KeyedProcess<i64, Windowed<i64, u64>> for Pass {
    type State = u64;
    type Out = (i64, u64);

    fn on_record(
        &self,
        key: &i64,
        count: Record<Windowed<i64, u64>>,
        context: &mut ProcessContext<'_, i64, u64, (i64, u64)>,
    ) {
        *context.state() += count.value.value;
        let sum = *context.state();
        context.emit((*key, sum));
    }
}

/// Runs a shared stream. In all its branches a merging operator comes first or, if `all_gather` is false, in
/// all but one.
fn branches(layout: impl Into<Layout>, edges: EdgeLimits, workers: u64, all_gather: bool) -> Vec<String> {
    let (query, shown) = (Query::new("q"), Shown::default());
    let split = |first: i64| {
        let record = |n: i64| Record::new(EventTime::from_micros(n * 100), n * 3 + first);
        Given::new((0..3_000).map(record).collect())
    };
    let windows = |millis| TumblingWindows::new(Span::from_millis(millis)).unwrap();
    let shared = query
        .splits("numbers", [split(0), split(1)], WatermarkStrategy::ascending())
        .filter(|number| number % 5 != 0)
        .share();
    let counts = |keys: i64, millis| {
        let branch = shared.branch().map(|number| number + 1).key_by(move |number| number % keys);
        branch.tumbling(windows(millis)).aggregate(Count)
    };
    counts(7, 10).key_by(|count| count.key).process(Pass).sink("sums", shown.clone());
    let (left, right) = (counts(11, 20), counts(11, 20));
    left.key_by(|count| count.key)
        .join(right.key_by(|count| count.key))
        .tumbling(windows(20))
        .inner(|left, right| (left.key, left.value, right.value))
        .sink("joined", shown.clone());
    if !all_gather {
        shared.branch().sink("all", shown.clone());
    }
    let graph = query.plan(layout).unwrap();
    let engine = Engine::builder().workers(workers).edges(edges).build().unwrap();
    let report = engine.submit(graph).unwrap().wait().unwrap();
    assert_eq!((report.events_in, report.conservation_error()), (6_000, None));
    let mut results = shown.0.lock().unwrap().clone();
    results.sort_unstable();
    results
}

#[test]
fn a_shared_stream_is_lent_to_all_who_gather() {
    let tiny = EdgeLimits { block_records: 1, chunk_blocks: 1, chunks_max: 2, marks_max: 1 };
    for all_gather in [true, false] {
        let expected = branches(Chaining::Default, EdgeLimits::default(), 1, all_gather);
        for workers in [1, 2, 3] {
            for chaining in [Chaining::None, Chaining::Default, Chaining::All] {
                for edges in [EdgeLimits::default(), tiny] {
                    let layout = Layout { chaining, parallel: Parallel::Epochs { workers } };
                    let found = branches(layout, edges, workers as u64, all_gather);
                    assert!(found == expected, "{layout:?} {edges:?} {all_gather}");
                }
            }
        }
    }
}
