//! Tests of comparisons. Filters and joins depend on them: a wrong result loses or invents rows.

use chrono_tz::Tz;

use super::*;
use crate::functions::bed::{argument, context, evaluated};

fn answer(zone: Tz, op: ComparisonOp, left: &str, right: &str) -> String {
    let answer = evaluated(&[left, right], zone, |arguments| {
        bind_comparison(op, &arguments[0], &arguments[1], &context(zone))
    });
    answer.strip_prefix("BOOLEAN: ").unwrap_or(&answer).to_owned()
}

/// Checks the results of all eight comparison operators for two values that are ordered as `order` says: `<`,
/// `=`, `>`, `apart` (NaN), `unknown` or `refused`.
fn check_in(zone: Tz, left: &str, order: &str, right: &str) {
    use ComparisonOp::*;
    for (op, truths) in [
        (Eq, ["="].as_slice()),
        (NotEq, &["<", ">", "apart"]),
        (Lt, &["<"]),
        (LtEq, &["<", "="]),
        (Gt, &[">"]),
        (GtEq, &[">", "="]),
        (IsDistinctFrom, &["<", ">", "apart", "unknown"]),
        (IsNotDistinctFrom, &["=", "both unknown"]),
    ] {
        let is_distinct = matches!(op, IsDistinctFrom | IsNotDistinctFrom);
        let expected = match order {
            "refused" => "refused",
            "unknown" | "both unknown" if !is_distinct => "NULL",
            _ if truths.contains(&order) => "TRUE",
            _ => "FALSE",
        };
        assert_eq!(answer(zone, op, left, right), expected, "{left} {op} {right}");
    }
}

fn check(left: &str, order: &str, right: &str) {
    check_in(Tz::UTC, left, order, right);
}

#[test]
fn numbers_are_compared_as_numbers() {
    check("INT: 1", "<", "INT: 2");
    check("TINYINT: -1", "<", "BIGINT: 1");
    check("INT: 1", "=", "DECIMAL(3, 1): 1.0");
    check("DECIMAL(3, 1): 1.5", ">", "INT: 1");
    check("DECIMAL(5, 2): 1.50", "=", "DECIMAL(3, 1): 1.5");
    check("DECIMAL(38, 0): 1", "<", "BIGINT: 2");
    check("INT: 1", "=", "DOUBLE: 1.0");
    check("DECIMAL(2, 1): 0.1", "=", "DOUBLE: 0.1");
    check("INT: NULL", "unknown", "INT: 1");
    check("INT: NULL", "both unknown", "INT: NULL");
    check("INT: 1", "unknown", "NULL");
    check("NULL", "both unknown", "NULL");
}

/// Comparing decimals loses no digits, even if no type of 38 digits holds all digits of both operands.
#[test]
fn all_digits_of_decimals_count() {
    let small = "DECIMAL(38, 38): 0.00000000000000000000000000000000000001";
    check("DECIMAL(38, 0): 0", "<", small);
    check("DECIMAL(38, 0): 1", ">", small);
    check("DECIMAL(38, 0): 99999999999999999999999999999999999999", ">", small);
    check("DECIMAL(38, 0): -99999999999999999999999999999999999999", "<", small);
    check("DECIMAL(38, 10): 1.0000000001", ">", "DECIMAL(38, 0): 1");
    check("DECIMAL(38, 10): 1.0000000000", "=", "DECIMAL(38, 0): 1");
    check("DECIMAL(38, 20): NULL", "unknown", "DECIMAL(38, 0): 1");
    check("BIGINT: 1", "<", "DECIMAL(38, 30): 1.000000000000000000000000000001");
}

#[test]
fn floats_are_compared_as_ieee_says() {
    check("DOUBLE: NaN", "apart", "DOUBLE: NaN");
    check("DOUBLE: NaN", "apart", "DOUBLE: 1.0");
    check("FLOAT: NaN", "apart", "INT: 1");
    check("DOUBLE: -0.0", "=", "DOUBLE: 0.0");
    check("DOUBLE: -inf", "<", "DOUBLE: inf");
    check("FLOAT: 0.1", ">", "DOUBLE: 0.1");
    check("DOUBLE: NaN", "unknown", "DOUBLE: NULL");
}

#[test]
fn text_and_bytes_are_compared_by_their_bytes() {
    check("STRING: a", "<", "STRING: b");
    check("CHAR(3): foo", "=", "VARCHAR(5): foo");
    check("CHAR(5): foo  ", ">", "STRING: foo");
    check("STRING: B", "<", "STRING: a");
    check("STRING: z", "<", "STRING: ä");
    check("STRING: ", "<", "STRING: a");
    check("STRING: \u{FFFD}", "<", "STRING: 😀");
    check("BYTES: 01ff", ">", "BINARY(1): 01");
    check("BOOLEAN: FALSE", "<", "BOOLEAN: TRUE");
    check("STRING: 1", "refused", "INT: 1");
    check("BOOLEAN: TRUE", "refused", "INT: 1");
    check("STRING: TRUE", "refused", "BOOLEAN: TRUE");
    check("BYTES: 61", "refused", "STRING: a");
}

#[test]
fn times_are_compared_with_their_like() {
    check("DATE: 2021-01-01", "<", "DATE: 2021-01-02");
    check("TIME: 12:00:00", "=", "TIME(3): 12:00:00");
    check("TIMESTAMP(3): 2021-01-01 00:00:00", "=", "TIMESTAMP(9): 2021-01-01 00:00:00");
    check("TIMESTAMP(9): 2021-01-01 00:00:00.000000001", ">", "TIMESTAMP(6): 2021-01-01 00:00:00");
    // Timestamps beyond the range of nanoseconds and timestamps before 1970 are compared correctly.
    check("TIMESTAMP(3): 9999-12-31 00:00:00", ">", "TIMESTAMP(9): 2021-01-01 00:00:00");
    check("TIMESTAMP(6): 1969-12-31 23:59:59.999999", ">", "TIMESTAMP(3): 1969-12-31 23:59:59.999");
    check("TIMESTAMP_LTZ(3): 2021-01-01 00:00:00", "<", "TIMESTAMP_LTZ(6): 2021-01-01 00:00:00.000001");
    check("INTERVAL DAY TO SECOND: 1", "<", "INTERVAL DAY TO SECOND: 2");
    check("INTERVAL YEAR TO MONTH: 12", "=", "INTERVAL YEAR TO MONTH: 12");
    check("TIMESTAMP(3): 2021-01-01 00:00:00", "=", "TIMESTAMP_LTZ(3): 2021-01-01 00:00:00");
    check("TIMESTAMP_LTZ(6): 2021-01-01 00:00:00", "<", "TIMESTAMP(3): 2021-01-01 00:00:00.001");
    // A TIMESTAMP that is compared with an instant is local time in the session's zone.
    let zone = chrono_tz::Asia::Shanghai;
    check_in(zone, "TIMESTAMP(3): 2021-01-01 08:00:00", "=", "TIMESTAMP_LTZ(3): 2021-01-01 00:00:00");
    check("TIMESTAMP(3): 2021-01-01 00:00:00", "refused", "DATE: 2021-01-01");
    check("DATE: 2021-01-01", "refused", "INT: 1");
    check("INTERVAL YEAR TO MONTH: 12", "refused", "INTERVAL DAY TO SECOND: 2");
}

#[test]
fn text_beside_a_time_is_read() {
    check("DATE: 2021-01-01", "=", "STRING: 2021-01-01");
    check("STRING: 2021-01-02", ">", "DATE: 2021-01-01");
    check("TIMESTAMP(3): 2021-01-01 12:00:00", ">", "CHAR(10): 2021-01-01");
    check("TIME: 12:00:00", "<", "STRING: 12:00:01");
    check("DATE: 2021-01-01", "refused", "STRING: soon");
    check("DATE: 2021-01-01", "unknown", "STRING: NULL");
    check_in(
        chrono_tz::Asia::Shanghai,
        "TIMESTAMP_LTZ(3): 2021-01-01 00:00:00",
        "=",
        "STRING: 2021-01-01 08:00:00",
    );
}

/// A text in a column that is compared with a time and is not a time gives NULL and does not stop the query.
#[test]
fn text_in_columns_that_is_no_time_is_unknown() {
    let (mut text, day) = (argument("STRING: soon"), argument("DATE: 2021-01-01"));
    text.literal = None;
    let bound = bind_comparison(ComparisonOp::Eq, &text, &day, &context(Tz::UTC)).expect("a comparison");
    assert!(bound.is_nullable);
    let texts: ArrayRef = Arc::new(arrow::array::StringArray::from(vec!["soon", "2021-01-01", "2021-1-2"]));
    let day = ColumnarValue::Scalar(day.literal.expect("a literal"));
    let answers = bound.kernel.evaluate(&[ColumnarValue::Array(texts), day], 3).expect("answers");
    let ColumnarValue::Array(answers) = answers else { panic!("a column") };
    let expected = BooleanArray::from(vec![None, Some(true), Some(false)]);
    assert_eq!(truth(&answers), Ok(&expected));
}
