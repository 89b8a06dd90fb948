//! Every operator against its oracle, without an engine: hostile input, hostile room, state saved and loaded at every
//! watermark or anywhere; one input, or several that come together.
//!
//! `THALWEG_SEEDS=1000 cargo test -p thalweg-testkit --test operators`; a failure prints the command that replays it.
//!
//! To add an operator, drive it on the bed that has its inputs and say what must come out; a join, say:
//!
//! ```ignore
//! #[test]
//! fn window_join() {
//!     two_sides(|sides, bed| {
//!         let ran = bed.drive(|| WindowJoin::new("join", engine_windows(sides), key_of, key_of));
//!         let (left, right) = ran.sides();
//!         let expected = oracle::window_join((&left, &right), sides.sliding(), key_of, key_of, Keeps::INNER);
//!         ran.assert_results(expected.results, |row| joined_row(&row.value));
//!         ran.assert_late(expected.late);
//!         ran.assert_keeps_its_promise();
//!     });
//! }
//! ```
#![forbid(unsafe_code)]

use std::fmt::Debug;
use std::sync::Arc;

use thalweg_model::{Entropy, Operator, SeededEntropy, Then, Windowed};
use thalweg_operators::{Filter, Map, Own, StaticJoin, Table, TumblingAggregate};
use thalweg_testkit::Seeds;
use thalweg_testkit::arrival::Arrival;
use thalweg_testkit::case::{Tally, TallyResult, window_row};
use thalweg_testkit::hostile::{Hostile, Reading, Sides};
use thalweg_testkit::operator_bed::{Bed, Manner, Ran, Restore};
use thalweg_testkit::oracle;
use thalweg_testkit::seed::{OnPanic, entropy_for};

/// Records of all inputs of a run, at most.
const RECORDS_MAX: u64 = 400;

/// Runs `test` on beds of hostile input, three for each seed.
fn runs<S: Debug, In: Clone>(
    draw: impl Fn(usize, &mut SeededEntropy) -> (S, Vec<Vec<Arrival<In>>>),
    test: impl Fn(&S, &Bed<In>),
) {
    Seeds::from_env("operators").each(|seed| {
        for restore in Restore::ALL {
            let mut entropy = entropy_for(seed, "operators");
            // Half of the inputs are short: what fails on one of them is easily told.
            let longest = RECORDS_MAX >> entropy.below(9);
            let count = entropy.below(longest + 1) as usize;
            let (setting, inputs) = draw(count, &mut entropy);
            let manner = Manner::draw(restore, &mut entropy);
            let _told = OnPanic(format!("seed {seed}: {manner:?}, {setting:?}"));
            test(&setting, &Bed::new(inputs, manner, &mut entropy));
        }
    });
}

/// One hostile stream.
fn one_input(test: impl Fn(&Hostile, &Bed<Reading>)) {
    let draw = |count, entropy: &mut SeededEntropy| {
        let hostile = Hostile::draw(entropy);
        let arrivals = hostile.arrivals(count, entropy);
        (hostile, vec![arrivals])
    };
    runs(draw, test);
}

/// One to three streams of one type that come together.
fn union(test: impl Fn(&Sides, &Bed<Reading>)) {
    let draw = |count, entropy: &mut SeededEntropy| {
        let sides = Sides::draw(1 + entropy.below(3) as usize, entropy);
        let arrivals = sides.arrivals(count, entropy);
        (sides, arrivals)
    };
    runs(draw, test);
}

fn key_of(reading: &Reading) -> u64 {
    reading.key
}

fn is_kept(reading: &Reading) -> bool {
    reading.amount % 7 != 0
}

fn mirrored(reading: Reading) -> Reading {
    Reading { amount: -reading.amount, ..reading }
}

/// A factor for half of the keys.
fn factors() -> Vec<(u64, i64)> {
    (0..200).step_by(2).map(|key| (key, key as i64 + 2)).collect()
}

fn scaled(reading: Reading, factor: &i64) -> Reading {
    Reading { amount: reading.amount * factor, ..reading }
}

fn table() -> Table<u64, i64> {
    Table::new(factors()).expect("keys are unique")
}

#[test]
fn map() {
    union(|_, bed| {
        let ran = bed.drive(|| Map::new("map", mirrored));
        ran.assert_rows(&oracle::map(&ran.arrived, |reading| mirrored(*reading)));
        assert_eq!(ran.total(|counts| counts.forwarded), ran.arrived.len() as u64);
    });
}

#[test]
fn filter() {
    union(|_, bed| {
        let ran = bed.drive(|| Filter::new("filter", is_kept));
        let expected = oracle::filter(&ran.arrived, is_kept);
        ran.assert_rows(&expected);
        assert_eq!(ran.total(|counts| counts.filtered), (ran.arrived.len() - expected.len()) as u64);
    });
}

#[test]
fn static_join() {
    union(|_, bed| {
        let ran = bed.drive(|| StaticJoin::new("join", table(), key_of, scaled));
        let expected =
            oracle::join(&ran.arrived, &factors(), key_of, |reading, factor| scaled(*reading, factor));
        ran.assert_rows(&expected);
        assert_eq!(ran.total(|counts| counts.filtered), (ran.arrived.len() - expected.len()) as u64);
    });
}

/// An operator of the user's behaves as the same one of ours.
#[test]
fn own() {
    union(|_, bed| {
        let ran = bed.drive(|| Own::new("own", Filter::new("filter", is_kept)));
        ran.assert_rows(&oracle::filter(&ran.arrived, is_kept));
    });
}

fn tally_in(hostile: &Hostile) -> impl Operator<Reading, Out = Windowed<u64, TallyResult>> + use<> {
    TumblingAggregate::new("window", hostile.tumbling(), key_of, Tally(Arc::default()))
}

fn check_tumbling(hostile: &Hostile, bed: &Bed<Reading>) {
    let ran = bed.drive(|| tally_in(hostile));
    let expected = oracle::tumbling(&ran.arrived, hostile.windows, key_of, TallyResult::of);
    ran.assert_results(expected.results, |row| window_row(&row.value));
    ran.assert_late(expected.late);
    ran.assert_keeps_its_promise();
    ran.assert_fires_at(|row| Some(row.value.window.end.as_micros()));
    assert!(ran.emitted.iter().all(|it| it.row.at_us == it.row.value.window.end.as_micros() - 1));
}

#[test]
fn tumbling_windows() {
    one_input(check_tumbling);
}

#[test]
#[ignore = "the window of the last record is taken to be open for the next one, whatever input that is from"]
fn tumbling_windows_of_several_inputs() {
    union(|sides, bed| check_tumbling(&sides.sides[0], bed));
}

/// A chain is one operator, whose records are late by the marks that reach its end.
#[test]
fn chains() {
    one_input(|hostile, bed| {
        let chain = || {
            let kept = Then::new(Map::new("map", mirrored), Filter::new("filter", is_kept));
            let joined = Then::new(kept, StaticJoin::new("join", table(), key_of, scaled));
            Then::new(joined, tally_in(hostile))
        };
        let ran = bed.drive(chain);
        let kept = oracle::filter(&oracle::map(&ran.arrived, |reading| mirrored(*reading)), is_kept);
        let joined = oracle::join(&kept, &factors(), key_of, |reading, factor| scaled(*reading, factor));
        let expected = oracle::tumbling(&joined, hostile.windows, key_of, TallyResult::of);
        ran.assert_results(expected.results, |row| window_row(&row.value));
        ran.assert_late(expected.late);
        let read: Vec<u64> = ran.counts.iter().map(|counts| counts.read).collect();
        assert_eq!(read[2..], [kept.len() as u64, joined.len() as u64]);
    });
}

/// Who is refused memory panics as little as who gets it, and breaks no rule until it is not called any more.
fn without_memory<P: Operator<Reading>>(make: impl Fn(&Hostile) -> P) {
    let starved = std::cell::Cell::new(0);
    union(|sides, bed| {
        let ran: Ran<_, _> = bed.clone().with_purse(1_000).drive(|| make(&sides.sides[0]));
        starved.set(starved.get() + u64::from(ran.is_starved));
    });
    assert!(starved.get() > 0, "nobody was refused");
}

#[test]
fn windows_without_memory() {
    without_memory(tally_in);
}
