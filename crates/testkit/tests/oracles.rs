//! Tests of relations between two oracles, on hostile input. No operator is run.
#![forbid(unsafe_code)]

use thalweg_model::Entropy;
use thalweg_testkit::Seeds;
use thalweg_testkit::arrival::{Arrival, rows};
use thalweg_testkit::hostile::{Reading, Sides};
use thalweg_testkit::oracle::{self, Alarm, Interval, Joined, Keeps, Lenient, Matched, Result, Row};
use thalweg_testkit::seed::entropy_for;

fn key_of(reading: &Reading) -> u64 {
    reading.key
}

fn sum(values: &[&Reading]) -> i64 {
    values.iter().map(|reading| reading.amount).sum()
}

/// Runs `test` on the rows of two hostile streams.
fn on_two_streams(test: impl Fn(&Sides, [Vec<Row<Reading>>; 2], &mut dyn Entropy)) {
    Seeds::from_env("oracles").each(|seed| {
        let mut entropy = entropy_for(seed, "oracles");
        let sides = Sides::draw(2, &mut entropy);
        let arrivals: Vec<Vec<Arrival<Reading>>> = sides.arrivals(200, &mut entropy);
        test(&sides, [0, 1].map(|side| rows(&arrivals[side])), &mut entropy);
    });
}

fn swapped<L, R>((left, right): Joined<L, R>) -> Joined<R, L> {
    (right, left)
}

/// The oracle of a join has the same results with the left and the right side exchanged.
#[test]
fn joins_do_not_care_which_side_is_left() {
    on_two_streams(|sides, [a, b], _| {
        for keeps in Keeps::KINDS {
            let other = Keeps { left: keeps.right, right: keeps.left };
            let windows = sides.sides[0].sliding();
            let found = oracle::window_join((&a, &b), windows, key_of, key_of, keeps);
            let mut mirrored = oracle::window_join((&b, &a), windows, key_of, key_of, other);
            for result in &mut mirrored.results {
                result.value = swapped(result.value);
            }
            mirrored.results.sort();
            let mut results = found.results;
            results.sort();
            assert_eq!((results, found.late), (mirrored.results, mirrored.late), "{keeps:?}");

            let Interval { lower_us, upper_us } = sides.interval;
            let interval = Interval { lower_us: -upper_us, upper_us: -lower_us };
            let found = oracle::interval_join((&a, &b), sides.interval, key_of, key_of, keeps);
            let mirrored = oracle::interval_join((&b, &a), interval, key_of, key_of, other);
            let swap = |Matched { at_us, value }: Matched<_, _>| Matched { at_us, value: swapped(value) };
            let mut results: Vec<_> = mirrored.results.into_iter().map(swap).collect();
            results.sort();
            assert_eq!((found.results, found.late), (results, mirrored.late), "{keeps:?}");
        }
    });
}

/// Without allowed lateness the oracle has no updates. With it, every record that is not too late counts
/// once, on time or in an update.
#[test]
fn allowed_lateness_moves_nothing_but_the_limit() {
    on_two_streams(|sides, [a, b], _| {
        let windows = sides.sides[0].sliding();
        let rows = oracle::union(&[a, b]);
        let plain = oracle::sliding(&rows, windows, key_of, sum);
        let strict = oracle::lenient(&rows, Lenient { windows, allowed_us: 0 }, key_of, sum);
        assert_eq!((strict.on_time, strict.late), (plain.results.clone(), plain.late));
        assert!(strict.last.is_empty() && strict.updates.is_empty());

        let lax = oracle::lenient(&rows, Lenient { windows, allowed_us: i64::MAX }, key_of, sum);
        assert_eq!((lax.on_time, lax.late), (plain.results.clone(), 0));
        let mut last = lax.last;
        let is_updated = |result: &Result<u64, i64>| {
            last.iter().any(|it| (it.start_us, it.key) == (result.start_us, result.key))
        };
        let untouched: Vec<_> = plain.results.iter().filter(|result| !is_updated(result)).cloned().collect();
        last.extend(untouched);
        last.sort();
        let timeless: Vec<Row<Reading>> =
            rows.iter().map(|row| Row { watermark_us: None, ..row.clone() }).collect();
        assert_eq!(last, oracle::sliding(&timeless, windows, key_of, sum).results);
    });
}

/// The oracle's sessions do not depend on the order of arrival. If no row is late, the oracle of alarms
/// raises one where a session ends.
#[test]
fn sessions_end_where_silence_begins() {
    on_two_streams(|sides, [a, b], entropy| {
        let gap_us = sides.sides[0].gap_us;
        let mut rows: Vec<Row<Reading>> = oracle::union(&[a, b]);
        let sessions = oracle::sessions(&rows, gap_us, key_of, sum);
        for place in 1..rows.len() {
            rows.swap(place, entropy.below(place as u64 + 1) as usize);
        }
        assert_eq!(sessions, oracle::sessions(&rows, gap_us, key_of, sum));

        rows.iter_mut().for_each(|row| row.watermark_us = None);
        let sessions = oracle::sessions(&rows, gap_us, key_of, sum);
        let mut ends: Vec<Alarm<u64>> =
            sessions.results.iter().map(|it| Alarm { at_us: it.end_us, key: it.key }).collect();
        ends.sort();
        assert_eq!(ends, oracle::alarms(&rows, gap_us, key_of).alarms);
    });
}
