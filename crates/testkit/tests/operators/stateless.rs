//! Tests of operators that process one record at a time: their rows come out in order, each judged by the
//! watermark of its own input.

use thalweg_operators::{Filter, FilterMap, FlatMap, Map, Own, StaticJoin, StaticLeftJoin, Table};
use thalweg_testkit::hostile::Reading;
use thalweg_testkit::oracle;

use crate::inputs::{is_kept, key_of, mirrored, two_sides, union};

/// Returns a table with a factor for every second key.
pub fn factors() -> Vec<(u64, i64)> {
    (0..200).step_by(2).map(|key| (key, key as i64 + 2)).collect()
}

pub fn table() -> Table<u64, i64> {
    Table::new(factors()).expect("keys are unique")
}

pub fn scaled(reading: Reading, factor: &i64) -> Reading {
    Reading { amount: reading.amount * factor, ..reading }
}

/// Returns a reading zero to three times, as its amount says.
fn repeated(reading: Reading) -> Vec<Reading> {
    vec![reading; reading.amount.rem_euclid(4) as usize]
}

#[test]
fn map() {
    union(|_, bed| {
        let ran = bed.drive(|| Map::new("map", mirrored));
        ran.assert_rows(&oracle::map(&ran.arrived, |reading| mirrored(*reading)));
        assert_eq!(ran.total(|counts| counts.forwarded), ran.arrived.len() as u64);
    });
}

/// A map in front of a join keeps the left and the right side apart.
#[test]
fn map_of_two_sides() {
    two_sides(|_, bed| {
        let ran = bed.drive(|| Map::new("map", |either| either));
        ran.assert_rows(&ran.arrived);
        let (left, right) = ran.sides();
        assert_eq!(left.len() + right.len(), ran.arrived.len());
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
fn filter_map() {
    union(|_, bed| {
        let kept = |reading: Reading| is_kept(&reading).then(|| mirrored(reading));
        let ran = bed.drive(|| FilterMap::new("filter map", kept));
        let expected = oracle::flat_map(&ran.arrived, |reading| kept(*reading).into_iter().collect());
        ran.assert_rows(&expected);
        assert_eq!(ran.total(|counts| counts.filtered), (ran.arrived.len() - expected.len()) as u64);
    });
}

#[test]
fn flat_map() {
    union(|_, bed| {
        let ran = bed.drive(|| FlatMap::new("flat map", repeated));
        ran.assert_rows(&oracle::flat_map(&ran.arrived, |reading| repeated(*reading)));
        let emptied = ran.arrived.iter().filter(|row| repeated(row.value).is_empty());
        assert_eq!(ran.total(|counts| counts.filtered), emptied.count() as u64);
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

#[test]
fn static_left_join() {
    let or_zero = |reading, factor: Option<&i64>| scaled(reading, factor.unwrap_or(&0));
    union(|_, bed| {
        let ran = bed.drive(|| StaticLeftJoin::new("join", table(), key_of, or_zero));
        let combine = |reading: &Reading, factor: Option<&i64>| or_zero(*reading, factor);
        ran.assert_rows(&oracle::join_left(&ran.arrived, &factors(), key_of, combine));
    });
}

/// A user's own operator behaves like the built-in operator that does the same.
#[test]
fn own() {
    union(|_, bed| {
        let ran = bed.drive(|| Own::new("own", FlatMap::new("flat map", repeated)));
        ran.assert_rows(&oracle::flat_map(&ran.arrived, |reading| repeated(*reading)));
    });
}
