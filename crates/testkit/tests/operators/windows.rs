//! Aggregates of windows.

use std::sync::Arc;

use thalweg_model::{Operator, Then, Windowed};
use thalweg_operators::{Filter, Map, StaticJoin, TumblingAggregate};
use thalweg_testkit::case::{Tally, TallyResult, window_row};
use thalweg_testkit::hostile::{Reading, Sides};
use thalweg_testkit::operator_bed::Bed;
use thalweg_testkit::oracle;

use crate::inputs::{is_kept, key_of, mirrored, one_input, union, without_memory};
use crate::stateless::{factors, scaled, table};

fn tumbling(sides: &Sides) -> impl Operator<Reading, Out = Windowed<u64, TallyResult>> + use<> {
    TumblingAggregate::new("window", sides.sides[0].tumbling(), key_of, Tally(Arc::default()))
}

fn check_tumbling(sides: &Sides, bed: &Bed<Reading>) {
    let ran = bed.drive(|| tumbling(sides));
    let expected = oracle::tumbling(&ran.arrived, sides.sides[0].windows, key_of, TallyResult::of);
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
    union(check_tumbling);
}

#[test]
fn windows_without_memory() {
    without_memory(tumbling);
}

/// A chain is one operator, whose records are late by the marks that reach its end.
#[test]
fn a_chain_that_ends_in_a_window() {
    one_input(|sides, bed| {
        let chain = || {
            let kept = Then::new(Map::new("map", mirrored), Filter::new("filter", is_kept));
            let joined = Then::new(kept, StaticJoin::new("join", table(), key_of, scaled));
            Then::new(joined, tumbling(sides))
        };
        let ran = bed.drive(chain);
        let kept = oracle::filter(&oracle::map(&ran.arrived, |reading| mirrored(*reading)), is_kept);
        let joined = oracle::join(&kept, &factors(), key_of, |reading, factor| scaled(*reading, factor));
        let expected = oracle::tumbling(&joined, sides.sides[0].windows, key_of, TallyResult::of);
        ran.assert_results(expected.results, |row| window_row(&row.value));
        ran.assert_late(expected.late);
        let read: Vec<u64> = ran.counts.iter().map(|counts| counts.read).collect();
        assert_eq!(read[2..], [kept.len() as u64, joined.len() as u64]);
    });
}
