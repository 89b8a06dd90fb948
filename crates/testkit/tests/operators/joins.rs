//! Joins of two streams.

use thalweg_model::{Either, Operator};
use thalweg_operators::{FullOuter, Inner, LeftOuter, RightOuter, WindowJoin};
use thalweg_testkit::hostile::{self, Reading, Sides};
use thalweg_testkit::operator_bed::{Bed, Ran};
use thalweg_testkit::oracle::{self, Joined, Keeps};

use crate::inputs::{key_of, two_sides};

type Pair = Joined<Reading, Reading>;

fn check_window_join<P: Operator<Either<Reading, Reading>, Out = Pair>>(
    sides: &Sides,
    bed: &Bed<Either<Reading, Reading>>,
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
    // Who met nobody is known when the window closes.
    let alone = ran.only(|row| row.value.0.is_none() || row.value.1.is_none());
    alone.assert_fires_at(|row| Some(row.at_us + 1));
}

#[test]
fn window_join() {
    two_sides(|sides, bed| {
        let windows = hostile::sliding(sides.sides[0].sliding());
        let [inner, left, right, full] = Keeps::KINDS;
        check_window_join(sides, bed, inner, || {
            let pair = |left: &Reading, right: &Reading| (Some(*left), Some(*right));
            WindowJoin::new("join", windows, key_of, key_of, Inner(pair))
        });
        check_window_join(sides, bed, left, || {
            let pair = |left: &Reading, right: Option<&Reading>| (Some(*left), right.copied());
            WindowJoin::new("join", windows, key_of, key_of, LeftOuter(pair))
        });
        check_window_join(sides, bed, right, || {
            let pair = |left: Option<&Reading>, right: &Reading| (left.copied(), Some(*right));
            WindowJoin::new("join", windows, key_of, key_of, RightOuter(pair))
        });
        check_window_join(sides, bed, full, || {
            let pair = |left: Option<&Reading>, right: Option<&Reading>| (left.copied(), right.copied());
            WindowJoin::new("join", windows, key_of, key_of, FullOuter(pair))
        });
    });
}
