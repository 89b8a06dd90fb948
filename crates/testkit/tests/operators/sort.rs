//! Tests of the sort operator on the test bed.

use thalweg_model::Either;
use thalweg_operators::Sort;
use thalweg_testkit::hostile::Reading;
use thalweg_testkit::oracle::{self, Row};

use crate::inputs::{key_of, union, without_memory};

/// Returns the rows sorted by event time, then key, then order of arrival.
fn sorted(rows: &[Row<Reading>]) -> Vec<(i64, Reading)> {
    let mut sorted = oracle::sorted(rows);
    sorted.sort_by_key(|(at_us, reading)| (*at_us, reading.key));
    sorted
}

#[test]
fn records_come_out_in_order_as_soon_as_nobody_can_come_before_them() {
    union(|_, bed| {
        let ran = bed.drive(|| Sort::new("sort", key_of));
        ran.assert_sequence(&sorted(&ran.arrived), |row| (row.at_us, row.value));
        ran.assert_late(oracle::late(&ran.arrived).len() as u64);
        ran.assert_keeps_its_promise();
        ran.assert_fires_at(|row| Some(row.at_us + 1));
    });
}

#[test]
fn late_records_go_another_way() {
    union(|_, bed| {
        let ran = bed.drive(|| Sort::new("sort", key_of).divert_late());
        let is_late = |value: &Either<Reading, Reading>| matches!(value, Either::Right(_));
        let (late, in_time) = oracle::split(&ran.emitted_rows(), is_late);
        let value = |row: &Row<Either<Reading, Reading>>| match row.value {
            Either::Left(reading) | Either::Right(reading) => (row.at_us, reading),
        };
        assert_eq!(in_time.iter().map(value).collect::<Vec<_>>(), sorted(&ran.arrived));
        let expected = oracle::late(&ran.arrived);
        let expected: Vec<_> = expected.iter().map(|row| (row.at_us, row.value)).collect();
        assert_eq!(late.iter().map(value).collect::<Vec<_>>(), expected);
        ran.assert_late(expected.len() as u64);
    });
}

#[test]
fn a_sort_without_memory() {
    without_memory(|_| Sort::new("sort", key_of));
}
