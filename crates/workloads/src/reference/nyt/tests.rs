//! The reference of NYT compared with cases worked out by hand.

use super::*;
use crate::reference::{Difference, compare};

const HOUR_US: i64 = 3_600_000_000;

/// A trip that the query counts, in the middle of the town.
const TRIP: NytInput<'_> =
    NytInput { event_time_us: 0, vendor: "VTS", distance: 2.5, longitude: -73.985, latitude: 40.748 };

fn check(trips: &[NytInput<'_>], expected: &str) {
    check_windows(2_000_000.into(), trips, expected);
}

fn check_windows(windows: Windows, trips: &[NytInput<'_>], expected: &str) {
    let answer = nyt_rows(trips.iter().copied(), windows);
    let row = |row: &NytRow| {
        format!("{}:{},{}={}x{}", row.window_start_s, row.cell_x, row.cell_y, row.trips, row.avg_distance)
    };
    let rows: Vec<String> = answer.rows.iter().map(row).collect();
    assert_eq!(rows.join(" "), expected);
    assert_eq!(answer.read, trips.len() as u64);
    assert_eq!(answer.read, answer.counted + answer.filtered + answer.outside + answer.bad);
}

#[test]
fn trips_are_counted_per_cell_and_window() {
    check(&[], "");
    check(&[TRIP, NytInput { distance: 1.5, event_time_us: 1_999_999, ..TRIP }], "0:311,325=2x2");
    check(&[NytInput { event_time_us: 2_000_000, ..TRIP }, TRIP], "0:311,325=1x2.5 2:311,325=1x2.5");
    check(&[NytInput { event_time_us: -1, ..TRIP }], "-2:311,325=1x2.5");
    check(&[TRIP, NytInput { longitude: -73.982, ..TRIP }], "0:311,325=1x2.5 0:312,325=1x2.5");
    check(&[NytInput { vendor: "CMT", ..TRIP }, NytInput { distance: 1.0, ..TRIP }], "");
    check(&[NytInput { distance: 1.01, ..TRIP }], "0:311,325=1x1.01");
    check(&[NytInput { distance: f64::NAN, ..TRIP }], "");
    check(&[NytInput { longitude: 0.0, latitude: 0.0, ..TRIP }, NytInput { latitude: f64::NAN, ..TRIP }], "");
}

/// A trip counts in every sliding window in which it ended, and once in the total number of trips.
#[test]
fn windows_may_slide() {
    let every_second = Windows { size_us: 2_000_000, slide_us: 1_000_000 };
    check_windows(every_second, &[TRIP], "-1:311,325=1x2.5 0:311,325=1x2.5");
    let later = NytInput { event_time_us: 1_000_000, distance: 1.5, ..TRIP };
    check_windows(every_second, &[later, TRIP], "-1:311,325=1x2.5 0:311,325=2x2 1:311,325=1x1.5");
    let uneven = Windows { size_us: 3_000_000, slide_us: 2_000_000 };
    check_windows(uneven, &[later, TRIP], "-2:311,325=1x2.5 0:311,325=2x2");
    let samples = Windows { size_us: 1_000_000, slide_us: 2_000_000 };
    check_windows(samples, &[later, TRIP], "0:311,325=1x2.5");
}

#[test]
fn sums_lose_nothing() {
    assert_eq!(exact_sum(&[]), 0.0);
    assert_eq!(exact_sum(&[1e100, 1.0, -1e100]), 1.0);
    assert_eq!(exact_sum(&[0.1; 10]), 1.0);
    assert_eq!(exact_sum(&[1e16, 1.0, 1e-16, -1e16]), 1.0 + 1e-16);
}

#[test]
fn lines_that_are_no_trip_are_counted() {
    let good = "A,B,VTS,1,,2013-01-01 02:28:00,2013-01-01 02:38:00,1,600,3.00,-73.985,40.748,0,0";
    let header = "medallion,hack_license,vendor_id";
    let bad = [
        "A,B,VTS".to_owned(),
        good.replace("3.00", ""),
        good.replace("3.00", "nan"),
        good.replace("02:38:00", "24:00:00"),
        good.replace("01-01 02:38", "02-29 02:38"),
        good.replace("2013-01-01 02:38:00", "1.1.2013"),
        format!("{good},more"),
    ];
    let text = format!("{header}\n{good}\n{}\n{good}\n\n", bad.join("\n"));
    let answer = nyt_rows_of_tlc_csv(&text, HOUR_US);
    assert_eq!((answer.read, answer.counted, answer.bad), (9, 2, 7));
    let start = 1_357_005_600;
    assert_eq!(
        answer.rows,
        [NytRow { window_start_s: start, cell_x: 311, cell_y: 325, trips: 2, avg_distance: 3.0 }]
    );
}

#[test]
fn doubles_agree_within_a_billionth() {
    let row = |avg_distance| NytRow { window_start_s: 0, cell_x: 1, cell_y: 1, trips: 1, avg_distance };
    assert_eq!(compare(&[row(3.0)], &[row(3.0 + 1e-9)]), Ok(()));
    let far = Difference::Other { expected: row(3.0), found: row(3.0 + 1e-8) };
    assert_eq!(compare(&[row(3.0)], &[row(3.0 + 1e-8)]), Err(far));
    assert!(compare(&[row(3.0)], &[row(f64::NAN)]).is_err());
    assert!(compare(&[row(3.0)], &[NytRow { trips: 2, ..row(3.0) }]).is_err());
}
