//! Sleeping workers wake up in time: for the next source, for a query that is submitted, stopped or resumed,
//! and for the end of the engine. With threads and the real clock, since a model of the protocol is not the
//! protocol. Every wait has a watchdog, and every query its oracle.
//!
//! These tests check that workers wake up, not how fast: latencies are measured by `cargo xtask figures`.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use thalweg::{
    Chaining, Clock, EdgeLimits, Engine, EventTime, Graph, Query, QueryHandle, QueryState, Record,
    SystemClock, WatermarkStrategy,
};
use thalweg_model::source::Given;
use thalweg_model::{Entropy, SeededEntropy, Span};
use thalweg_scheduling::policy::{by_name, names};
use thalweg_testkit::case::{Passing, Readings, Ysb, YsbPace, shared_ysb_generator, verdict};
use thalweg_testkit::gather::{Expects, Gather, Gathered};
use thalweg_testkit::script::Script;
use thalweg_testkit::watchdog::within_bounds;
use thalweg_testkit::{Case, Seeds};

const WORKERS: [u64; 3] = [1, 2, 3];

/// Time that is long enough for workers without work to fall asleep, on a machine that is not too busy.
const NAP: Duration = Duration::from_millis(1);

fn engine(workers: u64, policy: &str, clock: SystemClock) -> Engine {
    let edges = EdgeLimits { block_records: 16, ..EdgeLimits::default() };
    let policy = by_name(policy).expect("it is one of the names");
    let builder = Engine::builder().workers(workers).edges(edges).policy(policy).clock(Arc::new(clock));
    builder.build().expect("settings lie in their range")
}

fn default_engine(workers: u64) -> Engine {
    engine(workers, names()[0], SystemClock::default())
}

/// Runs `body` with each number of workers, in turn.
fn with_each_number_of_workers(what: &'static str, body: impl Fn(u64) + Send + Clone + 'static) {
    for workers in WORKERS {
        let body = body.clone();
        within_bounds(&format!("{what} with {workers} workers"), move || body(workers));
    }
}

/// Creates a query that passes `values` one by one through a map, and is then silent until it is stopped.
fn then_silent(values: std::ops::Range<i64>, chaining: Chaining) -> (Graph, Gathered<i64>) {
    let records = values.map(|value| Record::new(EventTime::from_micros(value), value));
    plan(Script::new(records, &Arc::default()).then_silence(), chaining)
}

fn plan(source: Script<i64>, chaining: Chaining) -> (Graph, Gathered<i64>) {
    let sink = Gather::new(Expects::Anything, &Arc::default());
    let seen = sink.gathered();
    let query = Query::new("silent");
    query.source("source", source, WatermarkStrategy::ascending()).map(|value| value).sink("sink", sink);
    (query.plan(chaining).expect("the stream ends in a sink"), seen)
}

/// Every record of several slow sources arrives in time. Between two records all workers sleep. If no worker
/// woke up for a record, it would be found late, together with the next one, and the last record never.
#[test]
fn every_record_of_a_slow_source_arrives() {
    drop(shared_ysb_generator());
    for policy in names() {
        with_each_number_of_workers("a slow source", move |workers| {
            let clock = SystemClock::default();
            let engine = engine(workers, policy, clock);
            let slow = |rate_per_s: u64| {
                let pace = YsbPace::AtRate(rate_per_s, clock.now());
                Ysb::new(rate_per_s / 16, pace, Span::from_millis(10))
            };
            let mut cases = [slow(97), slow(500), slow(2_000)];
            let started = Instant::now();
            let submit = |case: &mut Ysb| engine.submit(case.graph("slow", Chaining::None.into())).unwrap();
            let queries = cases.each_mut().map(submit);
            for (query, case) in queries.into_iter().zip(&cases) {
                let report = query.wait().unwrap();
                assert_eq!(verdict(case, &report), None, "{policy}");
                assert_eq!(report.events_in, case.events);
            }
            assert!(started.elapsed() >= Duration::from_millis(50), "the sources kept their pace");
        });
    }
}

/// All records of several sources arrive that become due at random times within a few milliseconds.
#[test]
fn bursts_with_gaps_arrive() {
    with_each_number_of_workers("bursts", |workers| {
        Seeds::from_env("sleeping").one_in(20).each(|seed| {
            let mut entropy = SeededEntropy::new(seed);
            let engine = default_engine(workers);
            let draw = |entropy: &mut SeededEntropy| -> Box<dyn Case> {
                match entropy.below(2) {
                    0 => Box::new(Passing::draw(500, entropy)),
                    _ => Box::new(Readings::draw(500, entropy)),
                }
            };
            let mut cases: Vec<Box<dyn Case>> = (0..4).map(|_| draw(&mut entropy)).collect();
            let submit =
                |case: &mut Box<dyn Case>| engine.submit(case.graph("bursts", Chaining::None.into()));
            let queries: Vec<QueryHandle> = cases.iter_mut().map(|case| submit(case).unwrap()).collect();
            for (query, case) in queries.into_iter().zip(&cases) {
                assert_eq!(verdict(&**case, &query.wait().unwrap()), None);
            }
        });
    });
}

/// A query ends if its only source ends while all workers sleep: by itself, when its pause is over, or
/// because it is stopped.
#[test]
fn a_source_ends_while_all_sleep() {
    with_each_number_of_workers("a source that ends", |workers| {
        let engine = default_engine(workers);
        for round in 0..20u64 {
            let chaining = if round % 2 == 0 { Chaining::None } else { Chaining::All };
            let record = Record::new(EventTime::EPOCH, 7);
            let source = Script::new([record], &Arc::default()).then_pause(100_000 * round);
            let (graph, seen) = plan(source, chaining);
            assert_eq!(engine.submit(graph).unwrap().wait().unwrap().events_in, 1);
            assert!(seen.is_published());

            let (graph, seen) = then_silent(0..3, chaining);
            let query = engine.submit(graph).unwrap();
            if round % 4 < 2 {
                thread::sleep(NAP);
            }
            query.stop();
            query.wait().unwrap();
            assert!(seen.is_published());
        }
    });
}

/// A query that is submitted while all workers sleep, or are about to sleep, runs.
#[test]
fn a_query_is_submitted_while_all_sleep() {
    with_each_number_of_workers("a query that wakes the engine", |workers| {
        let engine = default_engine(workers);
        let (graph, _) = then_silent(0..3, Chaining::None);
        let silent = engine.submit(graph).unwrap();
        let mut case = Passing::draw(3, &mut SeededEntropy::new(5));
        let mut entropy = SeededEntropy::new(workers);
        for round in 0..100 {
            if round % 4 == 0 {
                thread::sleep(NAP);
            } else {
                // The moment of submitting is varied around the time at which the workers fall asleep.
                (0..entropy.below(2_000)).for_each(|_| std::hint::spin_loop());
            }
            let query = engine.submit(case.graph("wakes", Chaining::None.into())).unwrap();
            assert_eq!(verdict(&case, &query.wait().unwrap()), None, "round {round}");
        }
        assert_eq!(silent.progress().events_in, 3);
        silent.stop();
        silent.wait().unwrap();
    });
}

/// A query that is paused and resumed while all workers sleep continues, and catches up with the records that
/// became due meanwhile.
#[test]
fn a_query_is_resumed_while_all_sleep() {
    with_each_number_of_workers("a query that is resumed", |workers| {
        let clock = SystemClock::default();
        for policy in names() {
            let engine = engine(workers, policy, clock);
            let mut case = Ysb::new(40, YsbPace::AtRate(2_000, clock.now()), Span::from_millis(5));
            let query = engine.submit(case.graph("rests", Chaining::None.into())).unwrap();
            for _ in 0..5 {
                query.pause();
                assert_ne!(query.state(), QueryState::Running);
                thread::sleep(NAP);
                query.resume();
            }
            let report = query.wait().unwrap();
            assert_eq!((report.events_in, verdict(&case, &report)), (40, None), "{policy}");
        }
    });
}

/// An engine can be dropped while its workers sleep without limit, sleep until the next record, or are about
/// to sleep.
#[test]
fn an_engine_is_closed_while_all_sleep() {
    with_each_number_of_workers("an engine that is closed", |workers| {
        for round in 0..30 {
            let clock = SystemClock::default();
            let engine = engine(workers, names()[0], clock);
            let mut slow = Ysb::new(u64::MAX, YsbPace::AtRate(100, clock.now()), Span::from_millis(10));
            let query = match round % 3 {
                0 => None,
                1 => Some(engine.submit(then_silent(0..3, Chaining::None).0).unwrap()),
                _ => Some(engine.submit(slow.graph("slow", Chaining::Default.into())).unwrap()),
            };
            if round % 2 == 0 {
                thread::sleep(NAP);
            }
            let budget = Arc::clone(engine.budget());
            drop(engine);
            assert_eq!(
                query.map(|query| query.wait().unwrap_err().code()).unwrap_or("CANCELLED"),
                "CANCELLED"
            );
            assert_eq!(budget.used_bytes(), 0);
        }
    });
}

/// No worker sleeps while there is work that no other worker does. Two streams get records at once, in one
/// query, while all workers sleep. The stream that runs first takes long, and the other must not wait for it.
#[test]
fn what_comes_in_at_once_is_shared() {
    for workers in [2, 3] {
        within_bounds("two streams", move || {
            let engine = default_engine(workers);
            // The pause is long enough for all workers to sleep without limit. Until the last one sleeps, one
            // sleeping worker checks now and then whether the others are held up.
            thread::sleep(NAP * 20);
            // The stream that runs first waits for the other one, so the test hangs if no second worker wakes
            // up.
            let both = Arc::new(std::sync::Barrier::new(2));
            let query = Query::new("two");
            for (name, end) in [("one", "end"), ("two", "other end")] {
                let both = Arc::clone(&both);
                let records = Given::new(vec![Record::new(EventTime::EPOCH, 0i64)]);
                let met = move |value: i64| {
                    both.wait();
                    value
                };
                let sink = Gather::new(Expects::Anything, &Arc::default());
                query.source(name, records, WatermarkStrategy::ascending()).map(met).sink(end, sink);
            }
            let query = engine.submit(query.plan(Chaining::All).unwrap()).unwrap();
            assert_eq!(query.wait().unwrap().results_out, 2);
        });
    }
}

/// With two workers or more, a source that is due runs although another query's step takes long, because only
/// one worker is in that step.
#[test]
fn a_long_step_holds_up_no_other_query() {
    for workers in [2, 3] {
        within_bounds("a source beside a long step", move || {
            let clock = SystemClock::default();
            let engine = engine(workers, names()[0], clock);
            // The pause is long enough for all workers to sleep without limit.
            thread::sleep(NAP * 20);
            let mut case = Ysb::new(100, YsbPace::AtRate(5_000, clock.now()), Span::from_millis(10));
            let paced = engine.submit(case.graph("paced", Chaining::None.into())).unwrap();
            let (done, wait) = std::sync::mpsc::channel::<()>();
            let wait = std::sync::Mutex::new(wait);
            let query = Query::new("long");
            let records = Given::new(vec![Record::new(EventTime::EPOCH, 0i64)]);
            // The query has a single step, which ends only when the other query has ended.
            let long = move |value: i64| {
                let _told = wait.lock().unwrap().recv();
                value
            };
            let sink = Gather::new(Expects::Anything, &Arc::default());
            query.source("source", records, WatermarkStrategy::ascending()).map(long).sink("sink", sink);
            let long = engine.submit(query.plan(Chaining::All).unwrap()).unwrap();
            let report = paced.wait().unwrap();
            done.send(()).unwrap();
            assert_eq!(verdict(&case, &report), None);
            assert_eq!(long.wait().unwrap().results_out, 1);
        });
    }
}
