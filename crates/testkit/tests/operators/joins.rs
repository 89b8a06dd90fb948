//! Tests of the joins of two streams on the test bed.

use thalweg_model::{Either, Operator, Span, Window};
use thalweg_operators::{
    CoGroup, Combine, FullOuter, Inner, Interval, IntervalJoin, LeftOuter, RightOuter, WindowJoin,
};
use thalweg_testkit::hostile::{self, Reading, Sides};
use thalweg_testkit::operator_bed::{Bed, Ran};
use thalweg_testkit::oracle::{self, Joined, Keeps, Matched};

use crate::inputs::{key_of, two_sides};

type Sided = Either<Reading, Reading>;
type Pair = Joined<Reading, Reading>;

fn inner() -> impl Combine<Reading, Reading, Out = Pair> {
    Inner(|left: &Reading, right: &Reading| (Some(*left), Some(*right)))
}

fn left() -> impl Combine<Reading, Reading, Out = Pair> {
    LeftOuter(|left: &Reading, right: Option<&Reading>| (Some(*left), right.copied()))
}

fn right() -> impl Combine<Reading, Reading, Out = Pair> {
    RightOuter(|left: Option<&Reading>, right: &Reading| (left.copied(), Some(*right)))
}

fn full() -> impl Combine<Reading, Reading, Out = Pair> {
    FullOuter(|left: Option<&Reading>, right: Option<&Reading>| (left.copied(), right.copied()))
}

fn check_window_join<P: Operator<Sided, Out = Pair>>(
    sides: &Sides,
    bed: &Bed<Sided>,
    keeps: Keeps,
    make: impl Fn() -> P,
) {
    let ran: Ran<_, Pair> = bed.drive(make);
    let (left, right) = ran.sides();
    let windows = sides.sides[0].sliding();
    let expected = oracle::window_join((&left, &right), windows, key_of, key_of, keeps);
    let stamped = expected.results.iter().map(|result| (result.end_us - 1, result.value)).collect();
    ran.assert_results(stamped, |row| (row.at_us.into(), row.value));
    ran.assert_late(expected.late);
    ran.assert_keeps_its_promise();
    // Results of rows without a match come when the window closes, which is when it is known that they have
    // none.
    let alone = ran.only(|row| row.value.0.is_none() || row.value.1.is_none());
    alone.assert_fires_at(|row| Some(row.at_us + 1));
}

#[test]
fn window_join() {
    two_sides(|sides, bed| {
        let windows = hostile::sliding(sides.sides[0].sliding());
        let [of_inner, of_left, of_right, of_full] = Keeps::KINDS;
        check_window_join(sides, bed, of_inner, || WindowJoin::new("join", windows, key_of, key_of, inner()));
        check_window_join(sides, bed, of_left, || WindowJoin::new("join", windows, key_of, key_of, left()));
        check_window_join(sides, bed, of_right, || WindowJoin::new("join", windows, key_of, key_of, right()));
        check_window_join(sides, bed, of_full, || WindowJoin::new("join", windows, key_of, key_of, full()));
    });
}

#[test]
fn co_group() {
    two_sides(|sides, bed| {
        let windows = sides.sides[0].sliding();
        let sorted = |values: &[Reading]| {
            let mut values = values.to_vec();
            values.sort();
            values
        };
        let both = |window: Window, key: &u64, lefts: &[Reading], rights: &[Reading]| {
            let (start_us, end_us) = (window.start.as_micros().into(), window.end.as_micros().into());
            Some(oracle::Result { start_us, end_us, key: *key, value: (sorted(lefts), sorted(rights)) })
        };
        let make = || CoGroup::new("co-group", hostile::sliding(windows), key_of, key_of, both);
        let ran = bed.drive(make);
        let (left, right) = ran.sides();
        let expected = oracle::co_group((&left, &right), windows, key_of, key_of);
        ran.assert_results(expected.results, |row| row.value.clone());
        ran.assert_late(expected.late);
        ran.assert_keeps_its_promise();
        ran.assert_fires_at(|row| Some(row.at_us + 1));
        assert!(ran.emitted.iter().all(|it| i128::from(it.row.at_us) == it.row.value.end_us - 1));
    });
}

fn check_interval_join<P: Operator<Sided, Out = Pair>>(
    interval: oracle::Interval,
    bed: &Bed<Sided>,
    keeps: Keeps,
    make: impl Fn() -> P,
) {
    let ran: Ran<_, Pair> = bed.drive(make);
    let (left, right) = ran.sides();
    let expected = oracle::interval_join((&left, &right), interval, key_of, key_of, keeps);
    ran.assert_results(expected.results, |row| Matched { at_us: row.at_us, value: row.value });
    ran.assert_late(expected.late);
    ran.assert_keeps_its_promise();
    // Results of rows without a match come when no match can come any more. This may be so when the row
    // arrives, unless the interval reaches from its event time into the future.
    let of_left = ran.clone().only(|row| row.value.1.is_none());
    if interval.upper_us >= 0 {
        of_left.assert_fires_at(|row| Some(row.at_us + interval.upper_us + 1));
    }
    let of_right = ran.only(|row| row.value.0.is_none());
    if interval.lower_us <= 0 {
        of_right.assert_fires_at(|row| Some(row.at_us - interval.lower_us + 1));
    }
}

#[test]
fn interval_join() {
    two_sides(|sides, bed| {
        let of = sides.interval;
        let [lower, upper] = [of.lower_us, of.upper_us].map(Span::from_micros);
        let interval = Interval::new(lower, upper).expect("its ends are in order");
        let [of_inner, of_left, of_right, of_full] = Keeps::KINDS;
        check_interval_join(of, bed, of_inner, || {
            IntervalJoin::new("join", interval, key_of, key_of, inner())
        });
        check_interval_join(of, bed, of_left, || IntervalJoin::new("join", interval, key_of, key_of, left()));
        check_interval_join(of, bed, of_right, || {
            IntervalJoin::new("join", interval, key_of, key_of, right())
        });
        check_interval_join(of, bed, of_full, || IntervalJoin::new("join", interval, key_of, key_of, full()));
    });
}
