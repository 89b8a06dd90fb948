//! Tests of the distinct operator on the test bed: each key is emitted once per window.

use thalweg_model::Either;
use thalweg_operators::Distinct;
use thalweg_testkit::case::window_row;
use thalweg_testkit::hostile::Reading;
use thalweg_testkit::oracle;

use crate::inputs::{key_of, union, without_memory};

#[test]
fn each_key_is_told_once_per_window() {
    union(|sides, bed| {
        let hostile = &sides.sides[0];
        let ran = bed.drive(|| Distinct::new("distinct", hostile.tumbling(), key_of));
        let expected = oracle::distinct(&ran.arrived, hostile.windows, key_of);
        let filtered = ran.arrived.len() as u64 - expected.late - expected.results.len() as u64;
        ran.assert_results(expected.results, |row| window_row(&row.value));
        ran.assert_late(expected.late);
        assert_eq!(ran.total(|counts| counts.filtered), filtered);
        ran.assert_keeps_its_promise();
        assert!(ran.emitted.iter().all(|it| it.row.at_us == it.row.value.window.end.as_micros() - 1));
    });
}

#[test]
fn late_records_go_another_way() {
    union(|sides, bed| {
        let hostile = &sides.sides[0];
        let ran = bed.drive(|| Distinct::new("distinct", hostile.tumbling(), key_of).divert_late());
        let (mut told, mut late) = (Vec::new(), Vec::new());
        for row in ran.emitted_rows() {
            match row.value {
                Either::Left(key) => told.push(window_row::<u64, ()>(&key)),
                Either::Right(reading) => late.push((row.at_us, reading)),
            }
        }
        told.sort();
        assert_eq!(told, oracle::distinct(&ran.arrived, hostile.windows, key_of).results);
        let allowed = oracle::Lenient { windows: hostile.windows.into(), allowed_us: 0 };
        let expected = oracle::too_late(&ran.arrived, allowed);
        let expected: Vec<(i64, Reading)> = expected.iter().map(|row| (row.at_us, row.value)).collect();
        assert_eq!(late, expected);
    });
}

#[test]
fn a_distinct_without_memory() {
    without_memory(|sides| Distinct::new("distinct", sides.sides[0].tumbling(), key_of));
}
