//! Windows over processing time come out when the clock passes their end, also while the input is silent.
//!
//! The source counts what the sink has seen whenever it is polled. It makes records in bursts with pauses between them,
//! each longer than a window. So after a pause all earlier records must be counted in results, each once, under every
//! schedule, policy and number of workers, and with a thread for each task.
#![forbid(unsafe_code)]

use thalweg::scheduling::policy::{by_name, names};
use thalweg::{
    Chaining, Count, Engine, EventTime, EveryTick, Execution, Graph, Query, Record, TumblingWindows,
    WatermarkStrategy, Windowed,
};
use thalweg_model::{
    Entropy, Fault, Output, Polled, ProcessingTime, SeededEntropy, Source, SourceStatus, Span, StateError,
    StateReader, StateWriter,
};
use thalweg_testkit::Seeds;
use thalweg_testkit::gather::{Expects, Gather, Gathered};
use thalweg_testkit::seed::entropy_for;
use thalweg_testkit::sim::Simulation;
use thalweg_testkit::watchdog::within_bounds;

/// Results of a query: the number of records per key and window.
type Results = Gathered<Windowed<u8, u64>>;

/// Source of bursts of records. Every record has the same event time, which must not matter.
struct Bursts {
    entropy: SeededEntropy,
    bursts_left: u64,
    records_left: u64,
    made: u64,
    /// Length of a pause, in ns.
    pause_ns: u64,
    results: Results,
}

/// Returns the number of records that are counted in results.
fn counted(results: &Results) -> u64 {
    results.each(|record| record.value.value).into_iter().sum()
}

impl Source for Bursts {
    type Item = u8;

    fn poll<O: Output<u8>>(
        &mut self,
        now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        let mut limit = limit;
        while self.records_left > 0 && output.room() > 0 && limit > 0 {
            output.push(Record::new(EventTime::EPOCH, self.entropy.below(3) as u8));
            (self.records_left, self.made, limit) = (self.records_left - 1, self.made + 1, limit - 1);
        }
        if self.records_left > 0 {
            return Ok(Polled::new(SourceStatus::Ready));
        }
        if self.bursts_left == 0 {
            return Ok(Polled::new(SourceStatus::Ended));
        }
        // The first burst comes at once. Each later one finds that all before it is counted.
        (self.bursts_left, self.records_left) = (self.bursts_left - 1, 1 + self.entropy.below(200));
        Ok(Polled::new(SourceStatus::IdleUntil(now.plus_nanos(self.pause_ns))))
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// Wraps a source of bursts, and fails if records that came before a pause are not counted after it.
struct Checked {
    bursts: Bursts,
    /// End of the pause.
    awake: ProcessingTime,
    /// Number of times that the pause may be made longer. Only a busy machine needs that.
    longer: u32,
}

impl Source for Checked {
    type Item = u8;

    fn poll<O: Output<u8>>(
        &mut self,
        now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        let Checked { bursts, awake, longer } = self;
        if now >= *awake {
            let (counted, made) = (counted(&bursts.results), bursts.made);
            if counted < made && *longer > 0 {
                (*longer, *awake) = (*longer - 1, now.plus_nanos(bursts.pause_ns));
                return Ok(Polled::new(SourceStatus::IdleUntil(*awake)));
            }
            assert_eq!(counted, made, "{counted} of {made} records came out in the pause");
            *awake = ProcessingTime::NEVER;
        }
        let polled = bursts.poll(now, limit, output)?;
        if let SourceStatus::IdleUntil(until) = polled.status {
            *awake = until;
        }
        Ok(polled)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.bursts.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.bursts.load(state)
    }
}

/// Creates a query that counts records per key in windows of `window` of processing time. Its source makes `bursts` bursts;
/// a pause is as long as three windows, and may be made longer `longer` times.
fn counting(seed: u64, window: Span, bursts: u64, longer: u32, chaining: Chaining) -> (Graph, Results) {
    let sink = Gather::new(Expects::Anything, &std::sync::Arc::default());
    let results = sink.gathered();
    let window_ns = 1_000 * window.as_micros().cast_unsigned();
    let bursts = Bursts {
        entropy: entropy_for(seed, "bursts"),
        bursts_left: bursts,
        records_left: 0,
        made: 0,
        pause_ns: 3 * window_ns,
        results: sink.gathered(),
    };
    let source = Checked { bursts, awake: ProcessingTime::NEVER, longer };
    let query = Query::new("counting");
    query
        .source("source", source, WatermarkStrategy::ascending())
        .by_arrival(EveryTick::new(window), |_, _| {})
        .key_by(|key: &u8| *key)
        .tumbling(TumblingWindows::new(window).expect("a window has a size"))
        .aggregate(Count)
        .sink("sink", sink);
    (query.plan(chaining).expect("the stream ends in a sink"), results)
}

fn check(results: &Results, window: Span) {
    assert_eq!(results.broken_rule(), None);
    assert!(results.is_published());
    let mut keys = results.each(|record| {
        let start = record.value.window.start;
        assert_eq!(
            start.as_micros().rem_euclid(window.as_micros()),
            0,
            "windows begin at multiples of their size"
        );
        assert!(start > EventTime::EPOCH, "the event time of the source does not matter");
        (start, record.value.key)
    });
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count, "a key has one result per window");
}

#[test]
fn results_come_in_a_pause_whatever_the_schedule() {
    let window = Span::from_millis(100);
    Seeds::from_env("by_arrival").each(|seed| {
        let chaining = if seed % 2 == 0 { Chaining::All } else { Chaining::None };
        let (graph, results) = counting(seed, window, 4, 0, chaining);
        let mut simulation = Simulation::new(seed);
        // The seed may draw a memory budget that is too small for the query.
        let Ok(counting) = simulation.submit(graph) else { return };
        simulation.run();
        simulation.outcome(counting).expect("it ends");
        check(&results, window);
    });
}

/// A window that waits costs a step for each tick, and nothing between ticks.
#[test]
fn nothing_is_polled_between_ticks() {
    let window = Span::from_secs(1_000);
    let (graph, results) = counting(7, window, 4, 0, Chaining::All);
    let mut simulation = Simulation::new(7);
    let counting = simulation.submit(graph).expect("the budget is ample");
    simulation.run();
    simulation.outcome(counting).expect("it ends");
    check(&results, window);
    assert!(simulation.actions() < 20_000, "{} actions", simulation.actions());
}

/// Runs a query on an engine with threads, and checks its results.
fn run(execution: Execution, workers: u64, policy: &'static str) {
    within_bounds("windows over processing time", move || {
        let window = Span::from_millis(10);
        let policy = by_name(policy).expect("it is one of the names");
        let builder = Engine::builder().workers(workers).execution(execution).policy(policy);
        let engine = builder.build().expect("settings lie in their range");
        let (graph, results) = counting(3, window, 2, 1_000, Chaining::All);
        engine.submit(graph).expect("the budget is ample").wait().expect("it ends");
        check(&results, window);
    });
}

#[test]
fn results_come_in_a_pause_with_threads() {
    for policy in names() {
        run(Execution::Workers, 2, policy);
    }
    for workers in [1, 3] {
        run(Execution::Workers, workers, names()[0]);
    }
    run(Execution::Threads, 2, names()[0]);
}
