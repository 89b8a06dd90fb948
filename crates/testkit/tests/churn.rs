//! Queries are submitted and cancelled, 500 of them from eight clients at once, while a canary runs. Nothing
//! is left of them, and the canary is unharmed.
//!
//! This is one test in a process of its own, because it counts the threads and files of the process. It reads
//! the real clock only for the canary's pace.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::thread;

use thalweg::{
    Chaining, Clock, EdgeLimits, Engine, EventTime, Graph, Query, QueryError, QueryHandle, QueryState,
    Record, Stream, SystemClock, WatermarkStrategy,
};
use thalweg_connectors::Discard;
use thalweg_model::source::Given;
use thalweg_model::{Entropy, SeededEntropy, Span};
use thalweg_runtime::limits;
use thalweg_scheduling::policy::{by_name, names};
use thalweg_testkit::case::{Parcels, Passing, Readings, Ysb, YsbPace, shared_ysb_generator, verdict};
use thalweg_testkit::seed::{OnPanic, entropy_for, pick, sampled};
use thalweg_testkit::watchdog::within_bounds;
use thalweg_testkit::{Case, Seeds};

const CLIENTS: u64 = 8;

/// Number of queries of all clients of one engine under the default policy.
const QUERIES: u64 = 500;

/// Number of queries of all clients under any policy but the default one.
const QUERIES_OF_OTHERS: u64 = 200;

/// Under CI one in this number of the other policies is tested.
const SAMPLED: usize = 3;

/// Largest number of records of a client's query.
const RECORDS_MAX: u64 = 300;

/// Number of events of the longest query that a client submits.
const LONG_EVENTS: u64 = 100_000;

/// Events per second of the canary, the query that must run unharmed.
const CANARY_RATE_PER_S: u64 = 50_000;

const CHAINING: [Chaining; 3] = [Chaining::None, Chaining::Default, Chaining::All];

/// Edges with small pages, so that hundreds of queries fit into the budget.
const EDGES: EdgeLimits = EdgeLimits { block_records: 16, chunk_blocks: 1, chunks_max: 8, marks_max: 64 };

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Treatment {
    Wait,
    Cancel,
    Stop,
    PauseAndResume,
    PauseAndStop,
    PauseAndCancel,
    /// The client drops the handle without waiting for the query.
    Forget,
}

impl Treatment {
    const ALL: [Treatment; 7] = [
        Treatment::Wait,
        Treatment::Cancel,
        Treatment::Stop,
        Treatment::PauseAndResume,
        Treatment::PauseAndStop,
        Treatment::PauseAndCancel,
        Treatment::Forget,
    ];
}

/// Counts the entries of a folder of `/proc` that describes this process.
fn count(folder: &str) -> usize {
    std::fs::read_dir(folder).expect("the test runs on Linux").count()
}

/// Number of threads and of open files of this process.
type Counts = (usize, usize);

fn threads_and_files() -> Counts {
    (count("/proc/self/task"), count("/proc/self/fd"))
}

/// Waits until this process has one thread more than `idle`, which is the calling one, and as many files. The kernel
/// lists a thread for a moment more after it was joined, so `idle` is counted before the first thread is started: a
/// count between two engines may contain a thread of the first one, and would never be reached again.
fn wait_for_the_end_of_threads((threads, files): Counts) {
    while threads_and_files() != (threads + 1, files) {
        thread::yield_now();
    }
}

#[test]
fn queries_come_and_go_and_leave_nothing_behind() {
    // The shared generator is made once before the measurement; its memory does not count for the engine.
    drop(shared_ysb_generator());
    let idle = threads_and_files();
    Seeds::from_env("churn").one_in(u64::MAX).each(|seed| {
        let (first, others) = (names()[0], &names()[1..]);
        for workers in [2, 3] {
            churn(idle, seed + workers, first, workers, QUERIES);
        }
        for place in sampled(others.len(), SAMPLED) {
            let other_seed = seed + place as u64;
            churn(idle, other_seed, others[place], 2 + other_seed % 2, QUERIES_OF_OTHERS);
        }
    });
    places_are_used_again(idle);
}

fn churn(idle: Counts, seed: u64, policy: &'static str, workers: u64, queries: u64) {
    let _told = OnPanic(format!("{policy}, {workers} workers"));
    within_bounds("an engine whose queries come and go", move || {
        let clock = SystemClock::default();
        let builder = Engine::builder().workers(workers).edges(EDGES).clock(Arc::new(clock));
        let engine = builder.policy(by_name(policy).expect("it is one of the names")).build();
        let engine = engine.expect("settings lie in their range");
        let mut canary =
            Ysb::new(u64::MAX, YsbPace::AtRate(CANARY_RATE_PER_S, clock.now()), Span::from_millis(20));
        let sings =
            engine.submit(canary.graph("canary", Chaining::Default.into())).expect("the budget is ample");
        let cases: Vec<Box<dyn Case + Send>> = thread::scope(|scope| {
            let client = |client: u64| {
                let (engine, entropy) = (&engine, entropy_for(seed + client, "client"));
                scope.spawn(move || run_client(engine, entropy, queries.div_ceil(CLIENTS)))
            };
            let clients: Vec<_> = (0..CLIENTS).map(client).collect();
            clients.into_iter().flat_map(|client| client.join().expect("a client's checks hold")).collect()
        });
        assert_eq!(sings.state(), QueryState::Running, "the canary sings");
        sings.stop();
        let report = sings.wait().expect("the canary is unharmed");
        assert!(report.results_out > 0, "the canary has not sung");
        assert_eq!(verdict(&canary, &report), None);
        let budget = Arc::clone(engine.budget());
        drop(engine);
        assert_eq!(budget.used_bytes(), 0, "bytes were not given back");
        assert!(cases.iter().all(|case| case.leaked_count() == 0), "values were never dropped");
        wait_for_the_end_of_threads(idle);
    });
}

/// Submits queries one after the other, and waits for each, stops it, cancels it or forgets it, as the seed
/// says.
fn run_client(engine: &Engine, mut entropy: SeededEntropy, queries: u64) -> Vec<Box<dyn Case + Send>> {
    let mut cases = Vec::new();
    for _ in 0..queries {
        let treatment = pick(&mut entropy, &Treatment::ALL);
        let mut case = draw(&mut entropy);
        let chaining = pick(&mut entropy, &CHAINING);
        let query = engine.submit(case.graph("passer-by", chaining.into())).expect("the budget is ample");
        let is_cancelled = matches!(treatment, Treatment::Cancel | Treatment::PauseAndCancel);
        let _told = OnPanic(format!("{treatment:?}, {chaining:?}"));
        match treat(query, treatment, &mut entropy) {
            None => {}
            Some(Ok(report)) => {
                assert_eq!(verdict(&*case, &report), None);
            }
            Some(Err(QueryError::Cancelled)) if is_cancelled => {}
            Some(Err(error)) => panic!("{error}"),
        }
        cases.push(case);
    }
    cases
}

fn draw(entropy: &mut dyn Entropy) -> Box<dyn Case + Send> {
    let count = entropy.below(RECORDS_MAX) as usize;
    match entropy.below(5) {
        // This query is long enough to be ended halfway. An endless query would run for as long as the checks
        // of other queries take.
        4 => Box::new(Ysb::new(LONG_EVENTS, YsbPace::Drained(1_000_000), Span::from_millis(10))),
        0 => Box::new(Readings::draw(count, entropy)),
        1 => Box::new(Parcels::draw(count, entropy)),
        2 => Box::new(Passing::draw(count, entropy)),
        _ => Box::new(Ysb::new(entropy.below(5_000), YsbPace::Drained(100_000), Span::from_millis(10))),
    }
}

type Ending = Result<thalweg::QueryReport, QueryError>;

fn treat(query: QueryHandle, treatment: Treatment, entropy: &mut dyn Entropy) -> Option<Ending> {
    let mut linger = || (0..entropy.below(4) * entropy.below(50)).for_each(|_| thread::yield_now());
    linger();
    match treatment {
        Treatment::Wait => {}
        Treatment::Cancel => query.cancel(),
        Treatment::Stop => query.stop(),
        Treatment::Forget => return None,
        Treatment::PauseAndResume | Treatment::PauseAndStop | Treatment::PauseAndCancel => {
            query.pause();
            linger();
            match treatment {
                Treatment::PauseAndResume => query.resume(),
                Treatment::PauseAndStop => query.stop(),
                _ => query.cancel(),
            }
        }
    }
    Some(query.wait())
}

/// Creates a query with the largest number of tasks allowed, in a chain of edges.
fn long_query() -> Graph {
    let query = Query::new("long");
    let records = (0..20).map(|value| Record::new(EventTime::from_micros(value), value));
    let source = Given::new(records.collect());
    let mut stream: Stream<i64> = query.source("source", source, WatermarkStrategy::ascending()).boxed();
    for _ in 0..limits::TASKS_PER_QUERY.max - 2 {
        stream = stream.map(|value| value + 1).boxed();
    }
    stream.sink("sink", Discard::new());
    query.plan(Chaining::None).expect("the stream ends in a sink")
}

/// Over time an engine runs more tasks than it may run at once, because the slots of ended tasks are reused.
fn places_are_used_again(idle: Counts) {
    within_bounds("a long query", move || {
        let edges = EdgeLimits { block_records: 4, chunk_blocks: 1, chunks_max: 2, marks_max: 4 };
        let engine = Engine::builder().workers(2).edges(edges).build().expect("settings lie in their range");
        let rounds = limits::TASKS.max * 3 / 2 / limits::TASKS_PER_QUERY.max;
        let mut tasks = 0;
        for round in 0..rounds {
            let graph = long_query();
            tasks += graph.task_names().count() as u64;
            let query = engine.submit(graph).expect("the places of tasks that have ended are free");
            if round % 2 == 0 {
                query.cancel();
            }
            match query.wait() {
                Ok(report) => assert_eq!((report.results_out, report.conservation_error()), (20, None)),
                Err(error) => assert!(matches!(error, QueryError::Cancelled) && round % 2 == 0, "{error}"),
            }
        }
        assert!(tasks > limits::TASKS.max, "{tasks} tasks in all");
        let budget = Arc::clone(engine.budget());
        drop(engine);
        assert_eq!(budget.used_bytes(), 0, "bytes were not given back");
        wait_for_the_end_of_threads(idle);
    });
}
