//! A query that panics does not change its neighbours' output, to the last row. Panics and faults are injected
//! at random visits to every place of user code, beside three queries, under every policy, with two workers and
//! real threads.
//!
//! `THALWEG_SEED` replays a run as far as threads allow: the failure and its place, but not the interleaving.
#![forbid(unsafe_code)]

use thalweg::{Chaining, EdgeLimits, Engine, QueryHandle};
use thalweg_model::{Entropy, SeededEntropy, Span};
use thalweg_scheduling::policy::{by_name, names};
use thalweg_testkit::case::{Parcels, Passing, Readings, Ysb, YsbPace, verdict};
use thalweg_testkit::sabotage::quiet_injected_panics;
use thalweg_testkit::seed::{OnPanic, entropy_for, pick};
use thalweg_testkit::watchdog::within_bounds;
use thalweg_testkit::{Case, Place, Sabotage, Seeds};

const CHAINING: [Chaining; 3] = [Chaining::None, Chaining::Default, Chaining::All];

/// Number of records of the query that fails.
const BROKEN_RECORDS: usize = 1_000;

fn engine(policy: &str) -> Engine {
    let edges = EdgeLimits { block_records: 16, ..EdgeLimits::default() };
    let policy = by_name(policy).expect("it is one of the names");
    Engine::builder().workers(2).edges(edges).policy(policy).build().expect("settings lie in their range")
}

fn submit(engine: &Engine, case: &mut dyn Case, name: &str, chaining: Chaining) -> QueryHandle {
    engine.submit(case.graph(name, chaining.into())).expect("the budget is ample")
}

/// Creates the query that is broken. Its stream is calm enough for every place to be visited: windows fire,
/// and keys are found.
fn broken() -> Readings {
    Readings::draw(BROKEN_RECORDS, &mut SeededEntropy::new(1))
}

fn neighbours() -> [Box<dyn Case>; 3] {
    let entropy = &mut SeededEntropy::new(11);
    [
        Box::new(Passing::draw(1_500, entropy)),
        Box::new(Parcels::draw(500, entropy)),
        Box::new(Ysb::new(10_000, YsbPace::Drained(10_000), Span::from_millis(100))),
    ]
}

/// Returns how often the query visits a place when it is not broken.
fn visits(place: Place) -> u64 {
    let mut case = broken();
    let counter = case.sabotage(Sabotage::at(place, u64::MAX));
    let engine = engine("fcfs");
    let report = submit(&engine, &mut case, "whole", Chaining::All).wait().expect("nothing breaks");
    assert_eq!(verdict(&case, &report), None);
    assert!(counter.visits() > 0, "{place:?} is never visited");
    counter.visits()
}

#[test]
fn a_query_that_breaks_leaves_its_neighbours_output_as_it_is() {
    quiet_injected_panics();
    within_bounds("a broken query or a neighbour", || {
        let visits = Place::ALL.map(visits);
        let mut cases = neighbours();
        let alone: Vec<Vec<String>> = cases
            .iter_mut()
            .map(|case| {
                let report = submit(&engine("fcfs"), &mut **case, "alone", Chaining::All).wait();
                assert_eq!(verdict(&**case, &report.expect("nothing breaks")), None);
                case.rows()
            })
            .collect();
        Seeds::from_env("neighbours").one_in(2).each(|seed| {
            let mut entropy = entropy_for(seed, "neighbours");
            let place = (seed % Place::ALL.len() as u64) as usize;
            let policy = pick(&mut entropy, &names());
            let visit = 1 + entropy.below(visits[place]);
            let place = Place::ALL[place];
            let _told = OnPanic(format!("{policy}, {place:?} at visit {visit}"));
            let engine = engine(policy);
            let mut broken = broken();
            let sabotage = broken.sabotage(Sabotage::at(place, visit));
            let mut draw = || pick(&mut entropy, &CHAINING);
            let first = submit(&engine, &mut *cases[0], "first", draw());
            let fails = submit(&engine, &mut broken, "fails", draw());
            let [second, third] = [1, 2].map(|index| submit(&engine, &mut *cases[index], "later", draw()));
            let error = fails.wait().expect_err("it breaks");
            assert!(sabotage.has_struck() && !broken.is_published(), "{error}");
            assert!(error.to_string().contains("injected:"), "{error}");
            for (place, query) in [first, second, third].into_iter().enumerate() {
                let report = query.wait().expect("a neighbour goes on");
                assert_eq!(verdict(&*cases[place], &report), None);
                assert_eq!(cases[place].rows(), alone[place]);
            }
        });
    });
}
