//! The inputs that operators are driven with, and what they do with a reading.

use std::cell::Cell;
use std::fmt::Debug;

use thalweg_model::{Either, Entropy, Operator, SeededEntropy};
use thalweg_testkit::Seeds;
use thalweg_testkit::arrival::Arrival;
use thalweg_testkit::hostile::{Reading, Sides};
use thalweg_testkit::operator_bed::{Bed, Manner, Restore};
use thalweg_testkit::seed::{OnPanic, entropy_for};

/// Records of all inputs of a run, at most.
const RECORDS_MAX: u64 = 400;

/// One to three streams of one type that come together.
pub fn union(test: impl Fn(&Sides, &Bed<Reading>)) {
    let draw = |entropy: &mut SeededEntropy| {
        let sides = Sides::draw(1 + entropy.below(3) as usize, entropy);
        let arrivals = sides.arrivals(record_count(entropy), entropy);
        (sides, arrivals)
    };
    runs(draw, test);
}

/// One stream.
pub fn one_input(test: impl Fn(&Sides, &Bed<Reading>)) {
    let draw = |entropy: &mut SeededEntropy| {
        let sides = Sides::draw(1, entropy);
        let arrivals = sides.arrivals(record_count(entropy), entropy);
        (sides, arrivals)
    };
    runs(draw, test);
}

/// The two sides of a join.
pub fn two_sides(test: impl Fn(&Sides, &Bed<Either<Reading, Reading>>)) {
    type Side = fn(Reading) -> Either<Reading, Reading>;
    let draw = |entropy: &mut SeededEntropy| {
        let sides = Sides::draw(2, entropy);
        let arrivals = sides.arrivals(record_count(entropy), entropy);
        let of_side = |(arrivals, side): (Vec<Arrival<Reading>>, Side)| {
            arrivals.into_iter().map(|arrival| arrival.map(side)).collect()
        };
        let both = arrivals.into_iter().zip([Either::Left as Side, Either::Right]);
        (sides, both.map(of_side).collect())
    };
    runs(draw, test);
}

/// Who is refused memory panics as little as who gets it, and breaks no rule until it is not called any more.
pub fn without_memory<P: Operator<Reading>>(make: impl Fn(&Sides) -> P) {
    let starved = Cell::new(0);
    union(|sides, bed| {
        let ran = bed.clone().with_purse(1_000).drive(|| make(sides));
        starved.set(starved.get() + u32::from(ran.is_starved));
    });
    assert!(starved.get() > 0, "nobody was refused");
}

/// Runs `test` on beds of hostile input, one for each seed and way to be restored.
fn runs<S: Debug, In: Clone>(
    draw: impl Fn(&mut SeededEntropy) -> (S, Vec<Vec<Arrival<In>>>),
    test: impl Fn(&S, &Bed<In>),
) {
    Seeds::from_env("operators").each(|seed| {
        for restore in Restore::ALL {
            let mut entropy = entropy_for(seed, "operators");
            let (setting, inputs) = draw(&mut entropy);
            let manner = Manner::draw(restore, &mut entropy);
            let _told = OnPanic(format!("seed {seed}: {manner:?}, {setting:?}"));
            test(&setting, &Bed::new(inputs, manner, &mut entropy));
        }
    });
}

/// Skewed, so that half of the inputs are short: what fails on one of them is easily told.
fn record_count(entropy: &mut dyn Entropy) -> usize {
    let longest = RECORDS_MAX >> entropy.below(9);
    entropy.below(longest + 1) as usize
}

pub fn key_of(reading: &Reading) -> u64 {
    reading.key
}

pub fn is_kept(reading: &Reading) -> bool {
    reading.amount % 7 != 0
}

pub fn mirrored(reading: Reading) -> Reading {
    Reading { amount: -reading.amount, ..reading }
}
