//! Relations between two queries, or between two inputs of one query: in the real engine, interleaved by
//! seeds.
//!
//! Exchanging the sides of a join does not matter. Windows that slide by their size equal tumbling windows.
//! Records that are no later than their source promises have the results of records in order.
//! `tests/oracles.rs` checks the same relations between oracles, so a mistake in both an operator and its
//! oracle shows in both places.
//!
//! `THALWEG_SEEDS=1000 cargo test -p thalweg-testkit --test properties`; a failure prints the command that
//! replays it.
#![forbid(unsafe_code)]

use std::fmt::Debug;
use std::sync::Arc;

use thalweg::{Chaining, Query, Record, SlidingWindows, Span};
use thalweg_model::Entropy;
use thalweg_testkit::arrival::delayed;
use thalweg_testkit::case::{JoinedTwice, Meeting, Met, Regrouped, Tally, verdict};
use thalweg_testkit::gather::{Expects, Gather};
use thalweg_testkit::hostile::{Hostile, Reading, Sides, records};
use thalweg_testkit::script::Script;
use thalweg_testkit::seed::{entropy_for, pick};
use thalweg_testkit::{Case, Seeds, Setup, Simulation};

/// A memory budget that is never used up in these tests.
const AMPLE_BUDGET_BYTES: u64 = 256 << 20;

fn simulation(seed: u64) -> Simulation {
    let setup = Setup::draw(&mut entropy_for(seed, "setup"));
    Simulation::with_setup(seed, Setup { memory_budget_bytes: AMPLE_BUDGET_BYTES, ..setup })
}

/// Runs the queries of both cases in one engine, and returns the number of late records of each.
fn run(seed: u64, cases: [&mut dyn Case; 2], entropy: &mut dyn Entropy) -> [u64; 2] {
    let mut simulation = simulation(seed);
    let submitted = cases.map(|case| {
        let chaining = pick(entropy, &[Chaining::None, Chaining::Default, Chaining::All]);
        let index = simulation.submit(case.graph("query", chaining.into())).expect("the budget is ample");
        (case, index)
    });
    simulation.run();
    submitted.map(|(case, index)| {
        let report = simulation.outcome(index).expect("nothing goes wrong");
        assert_eq!(verdict(case, &report), None);
        report.total(|counts| counts.late)
    })
}

#[track_caller]
fn assert_same<T: PartialEq + Debug>(one: &[T], other: &[T]) {
    let first = one.iter().zip(other).find(|(one, other)| one != other);
    assert!(first.is_none(), "{first:?}");
    assert_eq!(one.len(), other.len());
}

#[test]
fn joins_do_not_care_which_stream_is_left() {
    Seeds::from_env("properties").each(|seed| {
        let mut entropy = entropy_for(seed, "mirrored");
        let mut one = Meeting::draw(200, &mut entropy);
        let mut other = one.mirrored();
        let late = run(seed, [&mut one, &mut other], &mut entropy);
        assert_eq!(late[0], late[1]);
        let swap = |(at, (left, right)): (_, Met)| (at, (right, left));
        let mut swapped: Vec<(_, Met)> = other.met().into_iter().map(swap).collect();
        swapped.sort();
        assert_same(&one.met(), &swapped);
    });
}

#[test]
fn windows_that_slide_by_their_size_are_those_that_tumble() {
    Seeds::from_env("properties").one_in(2).each(|seed| {
        let mut entropy = entropy_for(seed, "tumbling");
        let hostile = Hostile::draw(&mut entropy);
        let input = hostile.readings(200, &mut entropy);
        let mut simulation = simulation(seed);
        let query = Query::new("both");
        let source = Script::new(records(&input), &Arc::default()).with_pauses(&mut entropy);
        let readings = query.source("source", source, hostile.strategy()).share();
        let tumbling = hostile.tumbling();
        let size = SlidingWindows::of_size(Span::from_micros(hostile.windows.size_us));
        let by_size = size.every(Span::from_micros(hostile.windows.size_us)).unwrap();
        let by_size = by_size.with_offset(Span::from_micros(hostile.windows.offset_us));
        let sinks = [(); 2].map(|()| Gather::new(Expects::WindowResults, &Arc::default()));
        let gathered = sinks.each_ref().map(Gather::gathered);
        let [one, other] = sinks;
        let keyed = || readings.branch().key_by(|reading: &Reading| reading.key);
        keyed().tumbling(tumbling).aggregate(Tally(Arc::default())).sink("tumbling", one);
        keyed().sliding(by_size).aggregate(Tally(Arc::default())).sink("sliding", other);
        let index = simulation.submit(query.plan(Chaining::Default).unwrap()).unwrap();
        simulation.run();
        assert_eq!(simulation.outcome(index).unwrap().conservation_error(), None);
        let [tumbled, slid] = gathered.map(|gathered| {
            let mut rows = gathered.each(|record| (record.event_time, record.value));
            rows.sort();
            rows
        });
        assert_same(&tumbled, &slid);
    });
}

/// Returns two hostile streams, once in order and once as late as their sources' promises allow.
fn in_order_and_late(entropy: &mut dyn Entropy) -> [(Sides, Vec<Vec<(i64, Reading)>>); 2] {
    let sides = Sides::at_their_worst(2);
    let mut in_order = sides.readings(300, entropy);
    for input in &mut in_order {
        // A stable sort keeps the order of records with equal event times.
        input.sort_by_key(|(at_us, _)| *at_us);
    }
    let late = |(hostile, input): (&Hostile, &Vec<(i64, Reading)>)| {
        let records: Vec<Record<Reading>> = records(input).collect();
        let records = delayed(&records, Span::from_micros(hostile.promise.bound_us), entropy);
        records.into_iter().map(|record| (record.event_time.as_micros(), record.value)).collect()
    };
    let late = sides.sides.iter().zip(&in_order).map(late).collect();
    [(sides.clone(), in_order), (sides, late)]
}

/// Records that are no later than their source promises give the same results as records in order, and none
/// is late. This holds for joins, windows, sessions and groups.
#[test]
fn who_comes_within_the_bound_might_have_come_in_order() {
    Seeds::from_env("properties").one_in(2).each(|seed| {
        let mut entropy = entropy_for(seed, "delayed");
        let [mut one, mut other] =
            in_order_and_late(&mut entropy).map(|(sides, inputs)| JoinedTwice::new(sides, inputs));
        assert_eq!(run(seed, [&mut one, &mut other], &mut entropy), [0, 0]);
        assert_same(&one.rows(), &other.rows());

        let [mut one, mut other] =
            in_order_and_late(&mut entropy).map(|(sides, inputs)| Regrouped::new(sides, inputs));
        assert_eq!(run(seed, [&mut one, &mut other], &mut entropy), [0, 0]);
        assert_same(&one.rows(), &other.rows());
    });
}
