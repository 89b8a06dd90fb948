//! The inputs that drive operators, and the functions applied to a reading.

use std::cell::Cell;
use std::fmt::Debug;

use thalweg_model::{Either, Entropy, Operator, SeededEntropy};
use thalweg_testkit::Seeds;
use thalweg_testkit::arrival::Arrival;
use thalweg_testkit::hostile::{Reading, Sides};
use thalweg_testkit::operator_bed::{Bed, Manner, Restore};
use thalweg_testkit::seed::entropy_for;

/// Largest number of records of all inputs of a long run.
const LONG_RECORDS_MAX: u64 = 400;
/// Number of short runs for each long one. Short runs are cheap and easy to describe, and hold so little
/// state that a fault is not hidden by it.
const SHORT_RUNS: u64 = 15;
/// Largest number of records of all inputs of a short run.
const SHORT_RECORDS_MAX: u64 = 12;

/// Runs `test` on test beds whose input is one to three united streams of one type.
pub fn union(test: impl Fn(&Sides, &Bed<Reading>)) {
    let draw = |record_count, entropy: &mut SeededEntropy| {
        let sides = Sides::draw(1 + entropy.below(3) as usize, entropy);
        let arrivals = sides.arrivals(record_count, entropy);
        (sides, arrivals)
    };
    runs(draw, test);
}

/// Runs `test` on one to three united streams, for operators whose state can be saved only right after a
/// watermark.
pub fn union_at_watermarks(test: impl Fn(&Sides, &Bed<Reading>)) {
    union(|sides, bed| {
        if bed.manner().restore != Restore::Anywhere {
            test(sides, bed);
        }
    });
}

/// Runs `test` on test beds with one hostile input stream.
pub fn one_input(test: impl Fn(&Sides, &Bed<Reading>)) {
    let draw = |record_count, entropy: &mut SeededEntropy| {
        let sides = Sides::draw(1, entropy);
        let arrivals = sides.arrivals(record_count, entropy);
        (sides, arrivals)
    };
    runs(draw, test);
}

/// Runs `test` on one stream that is moved to an end of time: its first record has the least event time, or
/// its last one the greatest. Watermarks beyond the end are left out.
pub fn at_the_ends_of_time(test: impl Fn(&Sides, &Bed<Reading>)) {
    let stamp_of = |arrival: &Arrival<Reading>| match arrival {
        Arrival::Record(at_us, _) => Some(*at_us),
        Arrival::Watermark(_) => None,
    };
    let draw = |record_count, entropy: &mut SeededEntropy| {
        let sides = Sides::draw(1, entropy);
        let arrivals = sides.arrivals(record_count, entropy).concat();
        let stamps = || arrivals.iter().filter_map(stamp_of);
        let by_us = match entropy.below(2) {
            0 => i128::from(i64::MIN) - i128::from(stamps().min().unwrap_or(0)),
            _ => i128::from(i64::MAX) - i128::from(stamps().max().unwrap_or(0)),
        };
        let moved = |at_us: i64| i64::try_from(i128::from(at_us) + by_us).ok();
        let arrivals = arrivals.iter().filter_map(|arrival| match arrival.clone() {
            Arrival::Record(at_us, reading) => Some(Arrival::Record(moved(at_us)?, reading)),
            Arrival::Watermark(at_us) => {
                moved(at_us).filter(|at_us| (i64::MIN + 1..i64::MAX).contains(at_us)).map(Arrival::Watermark)
            }
        });
        (sides, vec![arrivals.collect()])
    };
    runs(draw, test);
}

/// Runs `test` on test beds whose inputs are the two streams of a join.
pub fn two_sides(test: impl Fn(&Sides, &Bed<Either<Reading, Reading>>)) {
    type Side = fn(Reading) -> Either<Reading, Reading>;
    let draw = |record_count, entropy: &mut SeededEntropy| {
        let sides = Sides::draw(2, entropy);
        let arrivals = sides.arrivals(record_count, entropy);
        let of_side = |(arrivals, side): (Vec<Arrival<Reading>>, Side)| {
            arrivals.into_iter().map(|arrival| arrival.map(side)).collect()
        };
        let both = arrivals.into_iter().zip([Either::Left as Side, Either::Right]);
        (sides, both.map(of_side).collect())
    };
    runs(draw, test);
}

/// Checks an operator that is refused memory: it does not panic, and breaks no rule until the bed stops
/// calling it.
pub fn without_memory<P: Operator<Reading>>(make: impl Fn(&Sides) -> P) {
    let starved = Cell::new(0);
    union(|sides, bed| {
        let ran = bed.clone().with_bounded_grant(1_000).drive(|| make(sides));
        starved.set(starved.get() + u32::from(ran.is_starved));
    });
    assert!(starved.get() > 0, "nobody was refused");
}

/// Runs `test` on beds of hostile input: for each seed a long one and some short ones, each in every way of
/// restoring.
fn runs<S: Debug, In: Clone + Debug>(
    draw: impl Fn(usize, &mut SeededEntropy) -> (S, Vec<Vec<Arrival<In>>>),
    test: impl Fn(&S, &Bed<In>),
) {
    Seeds::from_env("operators").one_in_under_ci(3).each(|seed| {
        let mut entropy = entropy_for(seed, "operators");
        for run in 0..=SHORT_RUNS {
            let records_max = if run == 0 { LONG_RECORDS_MAX } else { SHORT_RECORDS_MAX };
            let (setting, inputs) = draw(entropy.below(records_max + 1) as usize, &mut entropy);
            for restore in Restore::ALL {
                let manner = Manner::draw(restore, &mut entropy);
                let bed = Bed::new(inputs.clone(), manner, &mut entropy);
                let tell = || match run {
                    0 => format!("the long run of seed {seed}: {manner:?}, {setting:?}"),
                    _ => format!("short run {run} of seed {seed}: {bed:?}, {setting:?}"),
                };
                let _told = Told(&tell);
                test(&setting, &bed);
            }
        }
    });
}

/// Text about a run that is printed if the run ends in a panic, and is computed only then.
struct Told<'a>(&'a dyn Fn() -> String);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", (self.0)());
        }
    }
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
