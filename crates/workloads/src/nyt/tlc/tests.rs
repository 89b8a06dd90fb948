//! Tests of recorded trips: the trip of each good row, and the column named in the error of each
//! bad row.

use super::*;

const GOOD: &str =
    "A4,F9,VTS,1,,2013-01-01 02:28:00,2013-01-01 02:38:00,1,600,3.00,-73.985,40.748,-73.95,40.71";

/// Returns, as text, the trip or the error of a good row in which the field at `index` was
/// replaced.
fn shown(index: usize, replacement: &str) -> String {
    let mut fields: Vec<&str> = GOOD.split(',').collect();
    fields[index] = replacement;
    match trip_of(|index| fields.get(index).copied()) {
        Ok(Record { event_time, value: Trip { distance_miles, pickup, vendor } }) => {
            let seconds = event_time.as_micros() / 1_000_000;
            format!("{seconds} {vendor:?} {distance_miles} {} {}", pickup.longitude, pickup.latitude)
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_row_becomes_a_trip() {
    assert_eq!(shown(2, "VTS"), "1357007880 Vts 3 -73.985 40.748");
    assert_eq!(shown(2, "CMT"), "1357007880 Cmt 3 -73.985 40.748");
    assert_eq!(shown(2, ""), "1357007880 Other 3 -73.985 40.748");
    assert_eq!(shown(9, ".50"), "1357007880 Vts 0.5 -73.985 40.748");
    assert_eq!(shown(9, "-9.5E-1"), "1357007880 Vts -0.95 -73.985 40.748");
    assert_eq!(shown(10, "0"), "1357007880 Vts 3 0 40.748");
    // Fields of columns that the query does not read may hold anything.
    assert_eq!(shown(5, "never"), shown(2, "VTS"));
    assert_eq!(shown(13, ""), shown(2, "VTS"));
}

#[test]
fn what_is_wrong_is_named() {
    let hint = "; correct it, or have bad rows skipped";
    assert_eq!(shown(9, ""), format!("trip_distance is \"\", but must be a finite number{hint}"));
    assert_eq!(shown(10, "nan"), format!("pickup_longitude is \"nan\", but must be a finite number{hint}"));
    assert_eq!(shown(11, "inf"), format!("pickup_latitude is \"inf\", but must be a finite number{hint}"));
    assert_eq!(shown(9, "1e999"), format!("trip_distance is \"1e999\", but must be a finite number{hint}"));
    let date = "a date and time such as 2013-01-13 10:43:00";
    assert_eq!(
        shown(6, "2013-01-01"),
        format!("dropoff_datetime is \"2013-01-01\", but must be {date}{hint}")
    );
}

#[test]
fn rows_have_fourteen_fields() {
    let fields: Vec<&str> = GOOD.split(',').chain(["more"]).collect();
    let parsed = |count: usize| trip_of(|index| fields[..count].get(index).copied());
    assert!(parsed(14).is_ok());
    assert_eq!(parsed(15), Err(TlcError::FieldCount { is_above: true }));
    assert_eq!(parsed(13), Err(TlcError::FieldCount { is_above: false }));
    assert_eq!(parsed(0), Err(TlcError::FieldCount { is_above: false }));
}
