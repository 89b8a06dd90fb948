//! Faults that the suites of this package have found, each reduced to a minimum. The seeded simulation finds
//! them, too, but a test with a name is easier to understand than a seed.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use thalweg::{
    Chaining, Clock, Count, EdgeLimits, Engine, EventTime, Fault, Graph, Query, QueryError, QueryHandle,
    QueryReport, QueryState, Record, Sink, Span, TumblingWindows, VirtualClock, WatermarkStrategy,
};
use thalweg_connectors::{CsvSink, Pace, Paced, RowWriter};
use thalweg_memory::{Append, BlockShape, Budget, EdgeOptions, Pool, Stamp};
use thalweg_model::source::Given;
use thalweg_model::{Generate, Mark, SeededEntropy};
use thalweg_runtime::edge::EdgeMarks;
use thalweg_runtime::{Step, Stepped};
use thalweg_testkit::case::{Tally, Ysb, YsbPace};
use thalweg_testkit::disk::FaultyDisk;
use thalweg_testkit::gather::{Expects, Gather, Gathered};
use thalweg_testkit::hostile::Reading;
use thalweg_testkit::sabotage::{INJECTED, quiet_injected_panics};
use thalweg_testkit::script::Script;
use thalweg_testkit::{Case, Event, Setup, Simulation};

/// Virtual nanoseconds between two steps of the engine.
const STEP_NS: u64 = 1_000;

/// Number of steps after which a query that should have ended counts as stuck.
const STEPS_MAX: u64 = 100_000;

const TINY: EdgeLimits = EdgeLimits { block_records: 1, chunk_blocks: 1, chunks_max: 2, marks_max: 1 };

/// An engine with one worker, which a test steps by hand.
struct Bench {
    stepped: Stepped,
    clock: Arc<VirtualClock>,
}

impl Bench {
    fn new(edges: EdgeLimits, memory_budget_bytes: u64) -> Self {
        let clock = Arc::new(VirtualClock::default());
        let engine_clock: Arc<dyn Clock> = Arc::<VirtualClock>::clone(&clock);
        let builder =
            Engine::builder().edges(edges).memory_budget_bytes(memory_budget_bytes).clock(engine_clock);
        Bench { stepped: builder.build_stepped().expect("settings lie in their range"), clock }
    }

    fn submit(&self, graph: Graph) -> QueryHandle {
        self.stepped.engine.submit(graph).expect("the first chunks fit")
    }

    fn step(&mut self) -> Step {
        self.clock.advance_to(self.clock.now().plus_nanos(STEP_NS));
        while self.stepped.growth.step() {}
        self.stepped.workers[0].step(self.clock.as_ref())
    }

    fn steps(&mut self, count: u64) {
        for _ in 0..count {
            let _busy_or_idle = self.step();
        }
    }

    /// Steps the engine until the query has ended, and returns the query's outcome.
    fn outcome(&mut self, query: QueryHandle) -> Result<QueryReport, QueryError> {
        while query.progress().state == QueryState::Running {
            self.steps(1);
        }
        query.wait()
    }

    /// Steps the engine until no work is left for its only worker.
    #[track_caller]
    fn run(&mut self) {
        let idles = (0..STEPS_MAX).any(|_| matches!(self.step(), Step::Idle(_)));
        assert!(idles, "the engine is busy after {STEPS_MAX} steps");
    }
}

fn records(values: std::ops::Range<i64>) -> Vec<Record<i64>> {
    values.map(|value| Record::new(EventTime::from_micros(value), value)).collect()
}

/// Creates a query that passes `values` through a map to `sink`.
fn mapped<K: Sink<i64> + 'static>(values: std::ops::Range<i64>, sink: K, chaining: Chaining) -> Graph {
    let query = Query::new("mapped");
    let strategy = WatermarkStrategy::ascending().with_step(Span::from_micros(1));
    query.source("source", Given::new(records(values)), strategy).map(|value| value).sink("sink", sink);
    query.plan(chaining).expect("the stream ends in a sink")
}

/// A block that was begun must not be lost if it gets no record: `push_if` begins a block for a record, and
/// then rejects this record.
#[test]
fn a_rejected_record_takes_no_block() {
    let pool = Pool::new(Budget::new(1 << 20));
    let shape = BlockShape { block_records: 4, chunk_blocks: 1 };
    let options = EdgeOptions { shape, chunks_max: 2, marks_max: 8 };
    let (mut writer, _reader) =
        thalweg_memory::edge::<u64, EdgeMarks>(&pool, options).expect("the budget is ample");
    let room = writer.room();
    for _ in 0..10 {
        writer.open(Stamp::default()).push_if(7, false);
        assert_eq!(writer.room(), room, "nothing was appended");
    }
    writer.mark(Mark::End, Stamp::default());
}

/// A query whose filter rejects many records is not stuck, since a rejected record takes no block. The filter
/// comes after a map, and both are chained to their source.
#[test]
fn a_source_whose_filter_rejects_is_not_stuck() {
    let mut bench = Bench::new(TINY, 1 << 20);
    let sink = Gather::new(Expects::Anything, &Arc::default());
    let seen = sink.gathered();
    let query = Query::new("rejecting");
    let strategy = WatermarkStrategy::ascending().with_step(Span::from_micros(1));
    let stream = query.source("source", Given::new(records(0..100)), strategy).map(|value| value);
    stream.filter(|value| value % 10 == 0).boxed().sink("sink", sink);
    let handle = bench.submit(query.plan(Chaining::Default).unwrap());
    bench.run();
    assert_eq!(handle.progress().state, QueryState::Finished);
    assert_eq!(seen.each(|record| record.value), (0..100).step_by(10).collect::<Vec<_>>());
}

/// An idle source is not run repeatedly because one of its marks was once held back.
#[test]
fn an_idle_source_is_left_alone_after_a_mark_was_held_back() {
    for seed in 0..50 {
        let setup = Setup { edges: TINY, ..Setup::draw(&mut SeededEntropy::new(seed)) };
        let mut simulation = Simulation::with_setup(seed, setup);
        let sink = Gather::new(Expects::Anything, &Arc::default());
        let query = Query::new("idle");
        let strategy = WatermarkStrategy::ascending().with_step(Span::from_micros(1));
        let source = Script::new(records(0..5), &Arc::default()).then_silence();
        query.source("source", source, strategy).map(|value| value).sink("sink", sink);
        let idle = simulation.submit(query.plan(Chaining::None).unwrap()).expect("the budget is ample");
        // The stop happens when nothing else is left to do. If the idle source were run again and again, the
        // stop would never happen.
        simulation.at_action(u64::MAX, Event::Stop(idle));
        simulation.run();
        assert_eq!(simulation.outcome(idle).unwrap().events_in, 5);
    }
}

/// A failing query publishes nothing, even if its state outgrows the budget in the very step that ends it.
#[test]
fn a_query_that_outgrows_the_budget_in_its_last_step_publishes_nothing() {
    let edges = EdgeLimits { block_records: 384, chunk_blocks: 1, chunks_max: 2, marks_max: 8 };
    let mut bench = Bench::new(edges, 1 << 16);
    let reading = |key: u64| Record::new(EventTime::from_micros(1), Reading { key, amount: 1 });
    let sink = Gather::new(Expects::WindowResults, &Arc::default());
    let seen = sink.gathered();
    let query = Query::new("many keys");
    query
        .source("source", Given::new((0..380).map(reading).collect()), WatermarkStrategy::ascending())
        .key_by(|reading: &Reading| reading.key)
        .tumbling(TumblingWindows::new(Span::from_secs(1)).unwrap())
        .aggregate(Tally(Arc::default()))
        .sink("sink", sink);
    let handle = bench.submit(query.plan(Chaining::Default).unwrap());
    bench.run();
    let outcome = handle.wait();
    assert_eq!(
        outcome.is_ok(),
        seen.is_published(),
        "{:?}",
        outcome.map_err(|error| error.to_string()).map(|_| ())
    );
}

/// A query that is refused memory in its last step fails and publishes nothing, because its output is
/// incomplete. The budgets tried range from too small for the edges to ample.
#[test]
fn a_query_that_is_refused_memory_in_its_last_step_publishes_nothing() {
    let edges = EdgeLimits { block_records: 384, chunk_blocks: 1, chunks_max: 2, marks_max: 8 };
    let reading = |key: u64| Record::new(EventTime::from_micros(1), Reading { key, amount: 1 });
    let (mut finished, mut failed) = (0, 0);
    for chaining in [Chaining::None, Chaining::Default, Chaining::All] {
        for budget in (16..64).map(|pages| pages << 12) {
            let mut bench = Bench::new(edges, budget);
            let sink = Gather::new(Expects::WindowResults, &Arc::default());
            let seen = sink.gathered();
            let query = Query::new("many keys");
            query
                .source("source", Given::new((0..380).map(reading).collect()), WatermarkStrategy::ascending())
                .key_by(|reading: &Reading| reading.key)
                .tumbling(TumblingWindows::new(Span::from_secs(1)).unwrap())
                .aggregate(Tally(Arc::default()))
                .sink("sink", sink);
            let Ok(handle) = bench.stepped.engine.submit(query.plan(chaining).unwrap()) else { continue };
            bench.run();
            let outcome = handle.wait();
            assert_eq!(outcome.is_ok(), seen.is_published(), "{chaining:?}, {budget} bytes");
            match outcome {
                Ok(_) => {
                    assert_eq!(seen.each(|_| ()).len(), 380, "{chaining:?}, {budget} bytes");
                    finished += 1;
                }
                Err(error) => {
                    assert_eq!(error.code(), "STATE_LIMIT", "{chaining:?}, {budget} bytes");
                    failed += 1;
                }
            }
        }
    }
    assert!(finished > 10 && failed > 10, "{finished} finished, {failed} failed");
}

/// Once the wait for a cancelled query is over, nothing is published any more. As a rule the query has
/// published nothing. It has published everything if its last step was already running when it was cancelled.
#[test]
fn nothing_is_published_once_the_wait_for_a_cancelled_query_is_over() {
    for chaining in [Chaining::None, Chaining::Default, Chaining::All] {
        for steps in 0..60 {
            let mut bench = Bench::new(TINY, 1 << 20);
            let sink = Gather::new(Expects::Anything, &Arc::default());
            let seen: Gathered<i64> = sink.gathered();
            let query = bench.submit(mapped(0..5, sink, chaining));
            bench.steps(steps);
            query.cancel();
            let is_finished = bench.outcome(query).is_ok();
            let was_published = seen.is_published();
            bench.run();
            assert_eq!(seen.is_published(), was_published, "{chaining:?}, cancelled after {steps} steps");
            assert!(was_published || !is_finished, "{chaining:?}, cancelled after {steps} steps");
        }
    }
}

/// A sink whose drop panics, as a user's sink may.
struct PanicsInDrop;

impl Sink<i64> for PanicsInDrop {
    fn write(&mut self, _: Record<i64>) -> Result<(), Fault> {
        Ok(())
    }
}

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("{INJECTED} a sink's drop");
    }
}

/// A panic while a query is dropped does not unwind through its worker. In production this would end the
/// worker's thread, and in time every query.
#[test]
fn a_panic_in_a_drop_leaves_the_worker_alive() {
    quiet_injected_panics();
    let mut bench = Bench::new(TINY, 1 << 20);
    let first = bench.submit(mapped(0..5, PanicsInDrop, Chaining::None));
    let outcome = catch_unwind(AssertUnwindSafe(|| bench.run()));
    assert!(outcome.is_ok(), "a user's panic unwound through the worker");
    assert_ne!(first.progress().state, QueryState::Running);
    let sink = Gather::new(Expects::Anything, &Arc::default());
    let second = bench.submit(mapped(0..5, sink, Chaining::None));
    bench.run();
    assert!(second.wait().is_ok());
}

/// When the wait for a query is over, its sinks have been dropped, so the next run may write the same file. A
/// sink that was dropped later would remove the unfinished file of the next run.
#[test]
fn a_query_run_again_at_once_keeps_its_own_file() {
    let row = |record: &Record<i64>, row: &mut RowWriter| row.push_i64(record.value);
    for steps in 0..40 {
        let disk = FaultyDisk::new();
        let sink =
            || CsvSink::create(Arc::<FaultyDisk>::clone(&disk), "out.csv", row).expect("the disk works");
        let mut bench = Bench::new(TINY, 1 << 20);
        let first = bench.submit(mapped(0..5, sink(), Chaining::None));
        bench.steps(steps);
        first.cancel();
        let Err(QueryError::Cancelled) = bench.outcome(first) else { continue };
        let second = bench.submit(mapped(7..8, sink(), Chaining::None));
        bench.run();
        let outcome = second.wait().map(drop).map_err(|error| error.to_string());
        assert_eq!(outcome, Ok(()), "cancelled after {steps} steps and run again");
        assert_eq!(disk.bytes(Path::new("out.csv")), Some(b"7\n".to_vec()));
    }
}

/// The policy "first come, first served" starves no source, not even beside one that is always ready.
#[test]
fn sources_at_full_speed_share_a_worker() {
    for chaining in [Chaining::None, Chaining::Default, Chaining::All] {
        let mut bench = Bench::new(EdgeLimits::default(), 256 << 20);
        let mut cases = [0; 3].map(|_| Ysb::new(u64::MAX, YsbPace::Drained(1_000_000), Span::from_secs(1)));
        let queries = cases.each_mut().map(|case| bench.submit(case.graph("endless", chaining.into())));
        bench.steps(10_000);
        let read = queries.each_ref().map(|query| query.progress().events_in);
        let (least, most) = (read.iter().min().unwrap(), read.iter().max().unwrap());
        assert!(most / 10 < *least, "{chaining:?}: events of three equal queries: {read:?}");
    }
}

/// A window behind a window in one query compiles and runs with only a `boxed` between them.
#[test]
fn counts_of_counts() {
    let mut bench = Bench::new(TINY, 1 << 20);
    let sink = Gather::new(Expects::WindowResults, &Arc::default());
    let seen = sink.gathered();
    let windows = |micros| TumblingWindows::new(Span::from_micros(micros)).unwrap();
    let query = Query::new("counts");
    let strategy = WatermarkStrategy::ascending().with_step(Span::from_micros(1));
    let counts = query
        .source("source", Given::new(records(0..40)), strategy)
        .key_by(|value| value % 2)
        .tumbling(windows(4))
        .aggregate(Count)
        .boxed();
    counts.key_by(|count| count.key).tumbling(windows(20)).aggregate(Count).sink("sink", sink);
    let handle = bench.submit(query.plan(Chaining::Default).unwrap());
    bench.run();
    assert_eq!(handle.wait().unwrap().conservation_error(), None);
    assert_eq!(seen.each(|record| record.value.value), [5, 5, 5, 5]);
}

/// A watermark that is due behind the last record of a generator's buffer is set. The fault was that the
/// source went on to the next record, and the mark was lost. In this query every record is followed by a mark
/// of its own.
#[test]
fn a_watermark_behind_the_last_record_that_is_kept_is_set() {
    struct Indexes;
    impl Generate for Indexes {
        type Item = u64;
        fn value(&self, index: u64, _event_time: EventTime) -> u64 {
            index
        }
        fn cache_bytes(&self) -> usize {
            0
        }
    }

    struct Marks(Arc<Mutex<Vec<EventTime>>>);
    impl Sink<u64> for Marks {
        fn write(&mut self, _record: Record<u64>) -> Result<(), Fault> {
            Ok(())
        }
        fn on_mark(&mut self, mark: Mark) -> Result<(), Fault> {
            if let Mark::Watermark(watermark) = mark {
                self.0.lock().expect("nobody panics here").push(watermark);
            }
            Ok(())
        }
    }

    for chaining in [Chaining::None, Chaining::All] {
        let mut bench = Bench::new(EdgeLimits::default(), 64 << 20);
        let pace = Pace::Drain { nominal_rate_per_s: 1_000_000, start: EventTime::EPOCH };
        let source = Paced::new(Arc::new(Indexes), pace).unwrap().with_limit(1_000);
        let each = WatermarkStrategy::ascending().with_step(Span::from_micros(1));
        let marks = Arc::new(Mutex::new(Vec::new()));
        let query = Query::new("marks");
        query.source("indexes", source, each).sink("marks", Marks(Arc::clone(&marks)));
        let handle = bench.submit(query.plan(chaining).unwrap());
        bench.outcome(handle).unwrap();
        let expected: Vec<EventTime> =
            (0..1_000).map(EventTime::from_micros).chain([EventTime::MAX]).collect();
        assert!(*marks.lock().unwrap() == expected, "{chaining:?}: {} marks", marks.lock().unwrap().len());
    }
}
