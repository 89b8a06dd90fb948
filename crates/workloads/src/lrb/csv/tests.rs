//! Tests of recorded traffic: the record of each type of row, and the error of each column.

use super::*;

/// Returns the record that a row is converted to, or its error, as text.
fn shown(row: &str) -> String {
    let fields: Vec<&str> = row.split(',').collect();
    match record_of(|index| fields.get(index).copied()) {
        Ok(Record { event_time, value }) => format!("{}: {value:?}", event_time.as_micros() / 1_000_000),
        Err(error) => error.to_string(),
    }
}

/// Returns, as text, the result of converting a good report in which the field of one column was
/// replaced.
fn shown_with(column: &str, replacement: &str) -> String {
    let mut fields: Vec<&str> = "0,1020,673,41,3,2,1,74,394255,-1,-1,-1,-1,-1,-1".split(',').collect();
    fields[COLUMNS.iter().position(|&name| name == column).unwrap()] = replacement;
    shown(&fields.join(","))
}

#[test]
fn every_type_becomes_its_record() {
    let report = "1020: Report(PositionReport { vehicle: 673, position_feet: 394255, xway: 3, speed_mph: 41, \
                  lane: 2, direction: West, segment: 74 })";
    assert_eq!(shown_with("type", "0"), report);
    // The columns that a report does not use may hold anything.
    assert_eq!(shown_with("qid", "x"), report);
    assert_eq!(shown_with("day", ""), report);
    assert_eq!(
        shown("2,26,433,-1,-1,-1,-1,-1,-1,2,-1,-1,-1,-1,-1"),
        "26: Balance { vehicle: 433, query: 2 }"
    );
    assert_eq!(
        shown("3,10,231,-1,0,-1,-1,-1,-1,0,-1,-1,-1,-1,60"),
        "10: Daily { vehicle: 231, query: 0, xway: 0, day: 60 }"
    );
    assert_eq!(shown("4,23,396,-1,0,-1,-1,-1,-1,1,0,0,0,0,-1"), "23: TravelTime { vehicle: 396, query: 1 }");
}

#[test]
fn what_is_wrong_is_named() {
    let check = |column: &str, value: &str, expected: &str| {
        let hint = "; correct it, or have bad rows skipped";
        let message = format!("{column} is {value:?}, but must be {expected}{hint}");
        assert_eq!(shown_with(column, value), message);
    };
    check("type", "1", "0, 2, 3 or 4");
    check("time", "-1", "a whole number of seconds, from 0 to 2147483647");
    check("vid", "", "a whole number from 0 to 2147483647");
    check("speed", "256", "whole miles per hour, from 0 to 255");
    check("xway", "65536", "a whole number from 0 to 65535");
    check("lane", "5", "a whole number from 0 to 4");
    check("dir", "2", "0 (east) or 1 (west)");
    check("seg", "100", "a whole number from 0 to 99");
    check("seg", "75", "pos / 5280, rounded down");
    check("pos", "528000", "a whole number of feet, from 0 to 527999");
    check("pos", "1.5", "a whole number of feet, from 0 to 527999");
    assert!(shown("3,10,231,-1,0,-1,-1,-1,-1,-1,-1,-1,-1,-1,60").starts_with("qid is \"-1\""));
    assert!(shown("3,10,231,-1,0,-1,-1,-1,-1,1,-1,-1,-1,-1,-1").starts_with("day is \"-1\""));
}

#[test]
fn rows_have_fifteen_fields_and_tolls_four() {
    assert_eq!(shown("0,1"), "row has fewer than 15 fields; is it cut off, or of another file?");
    assert!(shown("0,1020,673,41,3,2,1,74,394255,-1,-1,-1,-1,-1,-1,-1").starts_with("row has more than 15"));
    let toll = |row: &'static str| {
        let fields: Vec<&str> = row.split(',').collect();
        historical_toll_of(move |index| fields.get(index).copied())
    };
    let expected = HistoricalToll { vehicle: 128, day: 66, xway: 0, toll: 42 };
    assert_eq!(toll("128,66,0,42"), Ok(expected));
    let error = toll("128,66,0").unwrap_err();
    assert_eq!(
        (error.code(), error),
        ("LRB_FIELD_COUNT", LrbCsvError::FieldCount { columns: 4, is_above: false })
    );
    assert_eq!(toll("128,66,0,x").unwrap_err().code(), "LRB_FIELD");
}
