//! Windows and sessions at the ends of time, where they are cut off and nothing may overflow. Oracles compute
//! in 128 bits; their results are cut off here.

use std::sync::Arc;

use thalweg_model::{Firing, SessionGap, Span, Windowed};
use thalweg_operators::{Distinct, SessionAggregate, SlidingAggregate, Sort};
use thalweg_testkit::case::{Tally, TallyResult, window_row};
use thalweg_testkit::hostile::{self, Hostile, Reading};
use thalweg_testkit::operator_bed::Ran;
use thalweg_testkit::oracle::{self, Leniently};

use crate::inputs::{at_the_ends_of_time, key_of};

/// Cuts the window of a result off at the ends of the range of time.
fn cut_off<A>(result: oracle::Result<u64, A>) -> oracle::Result<u64, A> {
    let within = |at_us: i128| at_us.clamp(i64::MIN.into(), i64::MAX.into());
    oracle::Result { start_us: within(result.start_us), end_us: within(result.end_us), ..result }
}

fn check(ran: &Ran<Reading, Windowed<u64, TallyResult>>, expected: Leniently<u64, TallyResult>) {
    ran.assert_late(expected.late);
    let on_time = ran.clone().only(|row| row.value.firing == Firing::OnTime);
    on_time.assert_results(expected.on_time.into_iter().map(cut_off).collect(), |row| window_row(&row.value));
    let updates = ran.clone().only(|row| row.value.firing == Firing::Update);
    updates.assert_results(expected.updates.into_iter().map(cut_off).collect(), |row| window_row(&row.value));
}

#[test]
fn windows_with_allowed_lateness() {
    at_the_ends_of_time(|sides, bed| {
        let lenient = sides.sides[0].lenient();
        let ran = bed.drive(|| {
            let windows = hostile::sliding(lenient.windows);
            let windows = SlidingAggregate::new("window", windows, key_of, Tally(Arc::default()));
            windows.allow_lateness(Span::from_micros(lenient.allowed_us))
        });
        check(&ran, oracle::lenient(&ran.arrived, lenient, key_of, TallyResult::of));
    });
}

#[test]
fn sessions_with_allowed_lateness() {
    at_the_ends_of_time(|sides, bed| {
        let Hostile { gap_us, allowed_us, .. } = sides.sides[0];
        let gap = SessionGap::new(Span::from_micros(gap_us)).expect("it is above zero");
        let ran = bed.drive(|| {
            let sessions = SessionAggregate::new("window", gap, key_of, Tally(Arc::default()));
            sessions.allow_lateness(Span::from_micros(allowed_us))
        });
        check(&ran, oracle::lenient_sessions(&ran.arrived, gap_us, allowed_us, key_of, TallyResult::of));
    });
}

#[test]
fn distinct_keys() {
    at_the_ends_of_time(|sides, bed| {
        let ran = bed.drive(|| Distinct::new("distinct", sides.sides[0].tumbling(), key_of));
        let expected = oracle::distinct(&ran.arrived, sides.sides[0].windows, key_of);
        ran.assert_results(expected.results.into_iter().map(cut_off).collect(), |row| window_row(&row.value));
        ran.assert_late(expected.late);
    });
}

#[test]
fn sort() {
    at_the_ends_of_time(|_, bed| {
        let ran = bed.drive(|| Sort::new("sort", |_: &Reading| ()));
        ran.assert_sequence(&oracle::sorted(&ran.arrived), |row| (row.at_us, row.value));
        ran.assert_late(oracle::late(&ran.arrived).len() as u64);
    });
}
