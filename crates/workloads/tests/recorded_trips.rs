//! Tests with recorded taxi trips: this package's parser and the reference's own must read the same from
//! every row.

mod recorded;

use recorded::recorded;
use thalweg_workloads::nyt::{self, Cell, Vendor, tlc};
use thalweg_workloads::reference::nyt::{NytAnswer, NytInput, nyt_rows, nyt_rows_of_tlc_csv};

const MINUTE_US: i64 = 60_000_000;

#[test]
fn both_parsers_make_the_same_of_the_recorded_trips() {
    let Some(text) = recorded("nyc_taxi/tlc_trip_data_2013_01_part1.csv.gz") else { return };
    let (header, rows) = text.split_once('\n').expect("the file has a header");
    assert_eq!(header.split(',').collect::<Vec<_>>(), tlc::COLUMNS);
    let mut trips = Vec::new();
    let mut outside = 0;
    for row in rows.lines() {
        let fields: Vec<&str> = row.split(',').collect();
        let record =
            tlc::trip_of(|index| fields.get(index).copied()).unwrap_or_else(|error| panic!("{row}: {error}"));
        let is_kept =
            record.value.vendor == Vendor::Vts && record.value.distance_miles > nyt::DISTANCE_MILES_ABOVE;
        outside += u64::from(is_kept && Cell::around(record.value.pickup).is_none());
        trips.push(record);
    }
    let input = trips.iter().map(|record| NytInput {
        event_time_us: record.event_time.as_micros(),
        vendor: if record.value.vendor == Vendor::Vts { "VTS" } else { "" },
        distance: record.value.distance_miles,
        longitude: record.value.pickup.longitude,
        latitude: record.value.pickup.latitude,
    });
    let expected = nyt_rows_of_tlc_csv(&text, MINUTE_US);
    assert_eq!(nyt_rows(input, MINUTE_US), expected);

    // These numbers were counted once with another program. No row is bad, and none is out of order.
    let NytAnswer { read, counted, filtered, bad, .. } = expected;
    assert_eq!((read, counted, filtered, expected.outside, bad), (14_987, 11_762, 3_027, 198, 0));
    assert_eq!(outside, 198);
    assert!(trips.is_sorted_by_key(|record| record.event_time));
    assert_eq!(expected.rows.iter().map(|row| row.trips).sum::<u64>(), counted);
}
