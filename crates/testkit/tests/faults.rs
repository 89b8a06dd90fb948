//! Failures stay where they occur, and are reported: panics, failing sources and sinks, too little memory,
//! cancelled and stopped queries, engines that are dropped. On the released engine, with threads; the seeded
//! simulation of `simulation.rs` covers the interleavings.
#![forbid(unsafe_code)]

use std::sync::Arc;

use thalweg::source::Given;
use thalweg::{
    Chaining, Count, EdgeLimits, Engine, EventTime, Graph, PlanError, Query, QueryError, QueryHandle, Record,
    TumblingWindows, WatermarkStrategy, Windowed,
};
use thalweg_model::{Entropy, SeededEntropy, Span};
use thalweg_testkit::case::{Passing, Readings, Ysb, YsbPace, verdict};
use thalweg_testkit::gather::{Expects, Gather};
use thalweg_testkit::sabotage::quiet_injected_panics;
use thalweg_testkit::seed::{entropy_for, pick};
use thalweg_testkit::watchdog::within_bounds;
use thalweg_testkit::{Case, Place, Sabotage, Seeds};

const CHAINING: [Chaining; 3] = [Chaining::None, Chaining::Default, Chaining::All];

fn engine(workers: u64) -> Engine {
    // Blocks are small, so that queries take many steps and many edges are full.
    let edges = EdgeLimits { block_records: 16, ..EdgeLimits::default() };
    Engine::builder().workers(workers).edges(edges).build().expect("settings lie in their range")
}

/// Returns the results of a case whose query runs alone in an engine.
fn rows_alone(case: &mut dyn Case) -> Vec<String> {
    let engine = engine(2);
    let query = engine.submit(case.graph("alone", Chaining::Default.into())).expect("the budget is ample");
    let report = query.wait().expect("nothing goes wrong");
    assert_eq!(verdict(case, &report), None);
    case.rows()
}

/// Spins until a condition holds. The threads of the engine must be certain to make the condition true.
fn spin_until(mut is_there: impl FnMut() -> bool) {
    while !is_there() {
        std::thread::yield_now();
    }
}

/// If any place of user code fails, chained or not, its query fails and the error names the operator. The
/// output of a query beside it is the same as when that query runs alone, and the engine accepts another
/// query.
#[test]
fn what_breaks_fails_its_query_by_name_and_nothing_else() {
    quiet_injected_panics();
    within_bounds("a broken query", || {
        let mut entropy = SeededEntropy::new(11);
        let (mut neighbour, mut next) =
            (Passing::draw(2_000, &mut entropy), Readings::draw(300, &mut entropy));
        // The stream of this seed is calm enough for all places to be visited: windows fire, and keys are
        // found.
        let mut broken = Readings::draw(1_000, &mut SeededEntropy::new(1));
        let alone = rows_alone(&mut neighbour);
        for (place, chaining) in
            Place::ALL.into_iter().flat_map(|place| CHAINING.map(|chaining| (place, chaining)))
        {
            let engine = engine(2);
            let sabotage = broken.sabotage(Sabotage::at(place, 5));
            let fails = engine.submit(broken.graph("fails", chaining.into())).unwrap();
            let goes_on = engine.submit(neighbour.graph("goes-on", chaining.into())).unwrap();
            let error = fails.wait().expect_err("it breaks");
            assert!(sabotage.has_struck(), "{place:?}");
            check_named(&error, place);
            let report = goes_on.wait().expect("the neighbour goes on");
            assert_eq!((verdict(&neighbour, &report), neighbour.rows()), (None, alone.clone()), "{place:?}");
            let next_query = engine.submit(next.graph("next", chaining.into())).unwrap();
            assert_eq!(verdict(&next, &next_query.wait().unwrap()), None, "{place:?}");
            drop(engine);
            assert!(!broken.is_published(), "{place:?}: a failed query publishes nothing");
        }
    });
}

fn check_named(error: &QueryError, place: Place) {
    let told = error.to_string();
    match (place, error) {
        (Place::Source | Place::Sink, QueryError::Connector { operator, .. }) => {
            assert!(operator.contains(place.operator()), "{told}");
            assert_eq!(error.code(), "INJECTED");
        }
        (_, QueryError::Panicked { operator, message }) => {
            assert_eq!(operator, place.operator(), "{told}");
            assert_eq!(*message, format!("injected: {place:?} breaks at visit 5"));
            assert!(told.contains(operator) && told.contains(message), "{told}");
        }
        _ => panic!("{place:?} ends in {told}"),
    }
}

/// If state grows beyond the budget, its query fails and the error names the operator. Other queries are not
/// affected, and the memory is returned.
#[test]
fn state_beyond_the_budget_fails_its_query_and_no_other() {
    within_bounds("a query without memory", || {
        let edges = EdgeLimits { block_records: 16, chunk_blocks: 1, ..EdgeLimits::default() };
        let budget_bytes = 1 << 18;
        let builder = Engine::builder().workers(2).edges(edges).memory_budget_bytes(budget_bytes);
        let engine = builder.build().expect("settings lie in their range");
        let sink = Gather::new(Expects::WindowResults, &Arc::default());
        let seen = sink.gathered();
        let mut neighbour = Passing::draw(500, &mut SeededEntropy::new(3));
        let greedy = engine.submit(count_per_key(10_000, sink)).unwrap();
        let modest = engine.submit(neighbour.graph("modest", Chaining::Default.into())).unwrap();
        let error = greedy.wait().expect_err("it has too many keys");
        assert_eq!(error.code(), "STATE_LIMIT");
        let told = error.to_string();
        assert!(told.starts_with("the state of `window-sink` outgrew the memory budget: "), "{told}");
        assert!(told.contains(&format!("of {budget_bytes} bytes")), "{told}");
        assert_eq!(verdict(&neighbour, &modest.wait().unwrap()), None);
        let budget = Arc::clone(engine.budget());
        drop(engine);
        assert!(!seen.is_published());
        assert!(budget.peak_bytes() as u64 <= budget_bytes && budget.used_bytes() == 0);
    });
}

/// Creates a query that counts per key, with as many keys as records, in one window that closes with the
/// stream.
fn count_per_key(keys: i64, sink: Gather<Windowed<i64, u64>>) -> Graph {
    let records = (0..keys).map(|key| Record::new(EventTime::from_micros(key), key));
    let query = Query::new("greedy");
    query
        .source("source", Given::new(records.collect()), WatermarkStrategy::ascending())
        .key_by(|key| *key)
        .tumbling(TumblingWindows::new(Span::from_secs(3_600)).expect("an hour is a size"))
        .aggregate(Count)
        .sink("sink", sink);
    query.plan(Chaining::Default).expect("the stream ends in a sink")
}

/// A query whose first chunks do not fit into the budget is refused. The error names the edge and the bytes,
/// and gives advice. Other queries are not affected.
#[test]
fn a_query_too_large_for_the_budget_is_refused() {
    within_bounds("a refused query", || {
        let engine = Engine::builder().memory_budget_bytes(1 << 16).build().unwrap();
        let mut case = Readings::draw(100, &mut SeededEntropy::new(0));
        let error = engine.submit(case.graph("large", Chaining::None.into())).err().expect("refused");
        let PlanError::BudgetTooSmall { edge, exceeded } = &error else { panic!("{error}") };
        assert!(edge.contains(" -> "), "{edge}");
        assert_eq!((error.code(), exceeded.limit_bytes), ("BUDGET_TOO_SMALL", 1 << 16));
        for part in [edge.as_str(), &exceeded.wanted_bytes.to_string(), "65536 bytes", "raise the budget"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        assert_eq!(engine.budget().used_bytes(), 0);
    });
}

/// A query that is stopped at any time ends in order, with the results of everything that it has read. A
/// cancelled query ends at once.
#[test]
fn queries_are_stopped_and_cancelled_at_any_time() {
    within_bounds("a query that was told to end", || {
        Seeds::from_env("faults").one_in(4).each(|seed| {
            let mut entropy = entropy_for(seed, "end");
            let engine = engine(1 + entropy.below(3));
            let pace = YsbPace::Drained(pick(&mut entropy, &[1_000, 1_000_000]));
            let endless = || Ysb::new(u64::MAX, pace, Span::from_millis(100));
            let (mut stopped, mut cancelled) = (endless(), endless());
            let chaining = pick(&mut entropy, &CHAINING);
            let stop = engine.submit(stopped.graph("stopped", chaining.into())).unwrap();
            let cancel = engine.submit(cancelled.graph("cancelled", chaining.into())).unwrap();
            let has_read = |query: &QueryHandle, events| query.progress().events_in >= events;
            let (some, others) = (entropy.below(20_000), entropy.below(20_000));
            spin_until(|| has_read(&stop, some));
            stop.stop();
            spin_until(|| has_read(&cancel, others));
            cancel.cancel();
            assert!(matches!(cancel.wait(), Err(QueryError::Cancelled)));
            let report = stop.wait().expect("a stopped query finishes");
            assert!(report.events_in >= some);
            assert_eq!(verdict(&stopped, &report), None);
            drop(engine);
            assert!(!cancelled.is_published());
        });
    });
}

/// Queries that start after others have ended run as well as the first queries of an engine.
#[test]
fn queries_come_after_others_have_ended() {
    within_bounds("a late query", || {
        let engine = engine(2);
        let mut case = Passing::draw(300, &mut SeededEntropy::new(5));
        for round in 0..20 {
            let query = engine.submit(case.graph("again", CHAINING[round % CHAINING.len()].into())).unwrap();
            assert_eq!(verdict(&case, &query.wait().unwrap()), None, "round {round}");
        }
    });
}

/// An engine that is dropped cancels its running queries and returns, in any state of its queries and
/// workers.
#[test]
fn an_engine_is_dropped_while_its_queries_run() {
    within_bounds("dropping an engine", || {
        Seeds::from_env("faults").one_in(5).each(|seed| {
            let mut entropy = entropy_for(seed, "drop");
            let engine = engine(1 + entropy.below(4));
            let mut cases: Vec<Ysb> =
                (0..3).map(|_| Ysb::new(u64::MAX, YsbPace::Drained(1_000), Span::from_secs(1))).collect();
            let chaining = pick(&mut entropy, &CHAINING);
            let submit = |case: &mut Ysb| engine.submit(case.graph("endless", chaining.into())).unwrap();
            let queries: Vec<QueryHandle> = cases.iter_mut().map(submit).collect();
            let some = entropy.below(5_000);
            spin_until(|| queries.iter().map(|query| query.progress().events_in).sum::<u64>() >= some);
            let budget = Arc::clone(engine.budget());
            drop(engine);
            for query in queries {
                assert!(matches!(query.wait(), Err(QueryError::Cancelled)));
            }
            assert_eq!(budget.used_bytes(), 0, "all memory is given back");
            assert!(cases.iter().all(|case| !case.is_published()));
        });
    });
}
