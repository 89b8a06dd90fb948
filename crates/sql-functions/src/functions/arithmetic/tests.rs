//! Tests that results of arithmetic have Flink's type and value.
//!
//! Cases of decimals come from Flink's `DecimalTypeTest` and `MathFunctionsITCase` where these have one.

use chrono_tz::Tz;

use super::*;
use crate::functions::bed::{argument, evaluated};

fn op_of(text: &str) -> ArithmeticOp {
    use ArithmeticOp::*;
    let all = [Add, Subtract, Multiply, Divide, Modulo];
    all.into_iter().find(|op| op.to_string() == text).expect("an operator")
}

fn check(left: &str, op: &str, right: &str, expected: &str) {
    let result = evaluated(&[left, right], Tz::UTC, |arguments| {
        bind_arithmetic(op_of(op), &arguments[0], &arguments[1])
    });
    assert_eq!(result, expected, "{left} {op} {right}");
}

#[test]
fn whole_numbers_widen_and_wrap() {
    check("INT: 1", "+", "INT: 2", "INT: 3");
    check("TINYINT: 100", "+", "TINYINT: 100", "TINYINT: -56");
    check("SMALLINT: 1", "+", "INT: 2", "INT: 3");
    check("INT: 2147483647", "+", "INT: 1", "INT: -2147483648");
    check("INT: 2147483647", "+", "BIGINT: 1", "BIGINT: 2147483648");
    check("BIGINT: 9223372036854775807", "+", "INT: 1", "BIGINT: -9223372036854775808");
    check("INT: -2147483648", "-", "INT: 1", "INT: 2147483647");
    check("INT: 65536", "*", "INT: 65536", "INT: 0");
    check("INT: NULL", "+", "INT: 2", "INT: NULL");
    check("INT: 1", "+", "NULL", "INT: NULL");
}

#[test]
fn quotients_are_cut_and_zero_is_an_error() {
    check("INT: 7", "/", "INT: 2", "INT: 3");
    check("INT: -7", "/", "INT: 2", "INT: -3");
    check("INT: -2147483648", "/", "INT: -1", "INT: -2147483648");
    check("BIGINT: -9223372036854775808", "/", "BIGINT: -1", "BIGINT: -9223372036854775808");
    check("INT: 7", "/", "INT: 0", "error DIVISION_BY_ZERO");
    check("INT: NULL", "/", "INT: 0", "INT: NULL");
    check("INT: 7", "/", "INT: NULL", "INT: NULL");
    check("INT: 7", "%", "INT: 0", "error DIVISION_BY_ZERO");
    check("INT: -7", "%", "INT: 2", "INT: -1");
    check("INT: 7", "%", "INT: -2", "INT: 1");
    check("INT: -2147483648", "%", "INT: -1", "INT: 0");
    check("BIGINT: 44", "%", "INT: 3", "INT: 2");
    check("TINYINT: 44", "%", "BIGINT: 3", "BIGINT: 2");
    check("BIGINT: 9223372036854775807", "%", "TINYINT: 10", "TINYINT: 7");
    check("INT: 300", "%", "SMALLINT: 256", "SMALLINT: 44");
}

#[test]
fn floats_have_no_errors() {
    check("DOUBLE: 1.0", "/", "DOUBLE: 0.0", "DOUBLE: inf");
    check("DOUBLE: -1.0", "/", "INT: 0", "DOUBLE: -inf");
    check("DOUBLE: 0.0", "/", "DOUBLE: 0.0", "DOUBLE: NaN");
    check("FLOAT: 1.5", "+", "INT: 1", "FLOAT: 2.5");
    check("FLOAT: 1.5", "+", "DOUBLE: 1.0", "DOUBLE: 2.5");
    check("FLOAT: 1.5", "*", "DECIMAL(3, 1): 2.0", "DOUBLE: 3.0");
    check("DECIMAL(3, 1): 1.5", "-", "DOUBLE: 0.5", "DOUBLE: 1.0");
    check("DOUBLE: 1e308", "*", "DOUBLE: 10", "DOUBLE: inf");
    check("DOUBLE: 5.5", "%", "DOUBLE: 2", "refused");
    check("INT: 5", "%", "FLOAT: 2", "refused");
}

#[test]
fn sums_of_decimals() {
    check("DECIMAL(19, 0): 1514356320000", "+", "INT: 6", "DECIMAL(20, 0): 1514356320006");
    check("DECIMAL(19, 0): 1514356320000", "-", "INT: 6", "DECIMAL(20, 0): 1514356319994");
    check("DECIMAL(10, 2): 100.12", "+", "DECIMAL(10, 4): 200.1234", "DECIMAL(13, 4): 300.2434");
    check("DECIMAL(10, 2): 100.12", "-", "DECIMAL(10, 4): 200.1234", "DECIMAL(13, 4): -100.0034");
    check(
        "DECIMAL(30, 0): 123456789123456789123456789",
        "+",
        "DECIMAL(3, 1): 12.3",
        "DECIMAL(32, 1): 123456789123456789123456801.3",
    );
    // This product needs 57 digits, 28 of them after the point, and is cut to 38 digits.
    check(
        "DECIMAL(38, 10): 100.0123456789",
        "+",
        "DECIMAL(38, 28): 200.0123456789123456789123456789",
        "DECIMAL(38, 9): 300.024691358",
    );
    check(
        "DECIMAL(38, 10): 100.0123456789",
        "-",
        "DECIMAL(38, 28): 200.0123456789000000000000000000",
        "DECIMAL(38, 9): -100.000000000",
    );
    check(
        "DECIMAL(38, 10): 10000000000.0000000000",
        "+",
        "DECIMAL(38, 28): 0.0000000000000000000000000001",
        "DECIMAL(38, 9): 10000000000.000000000",
    );
    let nines = "DECIMAL(38, 0): 99999999999999999999999999999999999999";
    check(nines, "+", nines, "DECIMAL(38, 0): NULL");
    check(nines, "-", nines, "DECIMAL(38, 0): 0");
    check(nines, "+", "DECIMAL(38, 38): 0.99999999999999999999999999999999999999", "DECIMAL(38, 6): NULL");
    check("DECIMAL(5, 2): NULL", "+", "INT: 1", "DECIMAL(13, 2): NULL");
    check("BIGINT: 9223372036854775807", "+", "DECIMAL(1, 0): 1", "DECIMAL(20, 0): 9223372036854775808");
}

#[test]
fn products_of_decimals() {
    check("DECIMAL(19, 0): 1514356320000", "*", "INT: 6", "DECIMAL(30, 0): 9086137920000");
    check(
        "DECIMAL(19, 0): 1514356320000",
        "*",
        "DECIMAL(19, 0): 1514356320000",
        "DECIMAL(38, 0): 2293275063923942400000000",
    );
    check("DECIMAL(5, 2): 1.00", "*", "DECIMAL(10, 4): 2.0000", "DECIMAL(16, 6): 2.000000");
    check("DECIMAL(30, 6): 1.000000", "*", "DECIMAL(30, 6): 2.000000", "DECIMAL(38, 6): 2.000000");
    check("DECIMAL(38, 10): 0.0000006000", "*", "DECIMAL(38, 10): 1.0000000000", "DECIMAL(38, 6): 0.000001");
    check(
        "DECIMAL(30, 20): 1.00000000000000000000",
        "*",
        "DECIMAL(30, 20): 1.00000000000000000000",
        "DECIMAL(38, 17): 1.00000000000000000",
    );
    let nines = "DECIMAL(38, 0): 99999999999999999999999999999999999999";
    check(nines, "*", nines, "DECIMAL(38, 0): NULL");
    check(nines, "*", "DECIMAL(1, 0): -1", "DECIMAL(38, 0): -99999999999999999999999999999999999999");
}

#[test]
fn quotients_of_decimals() {
    check("DECIMAL(19, 0): 1514356320000", "/", "INT: 6", "DECIMAL(30, 11): 252392720000.00000000000");
    check(
        "DECIMAL(19, 0): 1514356320000",
        "/",
        "DECIMAL(19, 0): 1514356320000",
        "DECIMAL(38, 19): 1.0000000000000000000",
    );
    check(
        "DECIMAL(30, 0): 123456789123456789123456789",
        "/",
        "DECIMAL(30, 0): 123456789123456789123456789",
        "DECIMAL(38, 8): 1.00000000",
    );
    check("DECIMAL(2, 0): 1", "/", "DECIMAL(2, 1): 3.0", "DECIMAL(9, 6): 0.333333");
    check("DECIMAL(2, 0): 2", "/", "DECIMAL(2, 1): 3.0", "DECIMAL(9, 6): 0.666667");
    check("DECIMAL(2, 0): -2", "/", "DECIMAL(2, 1): 3.0", "DECIMAL(9, 6): -0.666667");
    check("DECIMAL(2, 0): 1", "/", "DECIMAL(6, 0): 3", "DECIMAL(9, 7): 0.3333333");
    check("INT: 1", "/", "DECIMAL(5, 1): -8.0", "DECIMAL(17, 6): -0.125000");
    check("DECIMAL(5, 2): 0.00", "/", "DECIMAL(5, 2): 3.00", "DECIMAL(13, 8): 0.00000000");
    check("DECIMAL(5, 2): 1.00", "/", "DECIMAL(5, 2): 0.00", "error DIVISION_BY_ZERO");
    check("DECIMAL(5, 2): NULL", "/", "DECIMAL(5, 2): 0.00", "DECIMAL(13, 8): NULL");
    check(
        "DECIMAL(30, 0): 100000000000000000000000000000",
        "/",
        "DECIMAL(30, 20): 0.00000000010000000000",
        "DECIMAL(38, 6): NULL",
    );
}

/// Decimal quotients with endless digits are rounded to 38 digits first. The last case lies below half a
/// digit by less than its 38th digit shows: 12.5 less a half divided by 10^36 + 1. Java rounds it first to
/// 12.5 and then to 13.
#[test]
fn quotients_are_rounded_to_38_digits_first() {
    let check = |left: &str, right: &str, expected: &str| check(left, "/", right, expected);
    check(
        "DECIMAL(38, 37): 1.0000000000000000000000000000000000000",
        "DECIMAL(1, 0): 3",
        "DECIMAL(38, 37): 0.3333333333333333333333333333333333333",
    );
    check(
        "DECIMAL(38, 37): 2.0000000000000000000000000000000000000",
        "DECIMAL(1, 0): 3",
        "DECIMAL(38, 37): 0.6666666666666666666666666666666666667",
    );
    check(
        "DECIMAL(38, 38): 0.00000000000000000000000000000000000001",
        "DECIMAL(1, 0): 3",
        "DECIMAL(38, 38): 0.00000000000000000000000000000000000000",
    );
    check(
        "DECIMAL(38, 38): 0.00000000000000000000000000000000000002",
        "DECIMAL(1, 0): 3",
        "DECIMAL(38, 38): 0.00000000000000000000000000000000000001",
    );
    check(
        "DECIMAL(38, 0): 99999999999999999999999999999999999999",
        "DECIMAL(38, 0): 7",
        "DECIMAL(38, 6): NULL",
    );
    check(
        "DECIMAL(38, 0): 9999999999999999999999999999999",
        "DECIMAL(38, 0): 7",
        "DECIMAL(38, 6): 1428571428571428571428571428571.285714",
    );
    check(
        "DECIMAL(38, 0): 1",
        "DECIMAL(38, 0): 99999999999999999999999999999999999999",
        "DECIMAL(38, 6): 0.000000",
    );
    check(
        "DECIMAL(38, 6): 12500000000000000000000000000000.000012",
        "DECIMAL(38, 0): 1000000000000000000000000000000000001",
        "DECIMAL(38, 6): 0.000013",
    );
}

#[test]
fn remainders_of_decimals() {
    check("DECIMAL(19, 0): 1514356320000", "%", "DECIMAL(19, 0): 1514356320000", "DECIMAL(19, 0): 0");
    check("DECIMAL(19, 0): 1514356320000", "%", "INT: 6", "INT: 0");
    check("DECIMAL(19, 0): 1514356320007", "%", "INT: 6", "INT: 1");
    check("INT: 7", "%", "DECIMAL(3, 0): 4", "DECIMAL(3, 0): 3");
    check("DECIMAL(10, 2): 3.00", "%", "DECIMAL(10, 4): 5.0000", "DECIMAL(10, 4): 3.0000");
    check("DECIMAL(10, 2): 3.00", "%", "INT: 5", "DECIMAL(10, 2): 3.00");
    check("INT: 5", "%", "DECIMAL(10, 2): 2.00", "DECIMAL(10, 2): 1.00");
    check("DECIMAL(3, 1): -7.5", "%", "DECIMAL(3, 1): 2.0", "DECIMAL(3, 1): -1.5");
    check("DECIMAL(3, 1): 7.5", "%", "DECIMAL(3, 1): -2.0", "DECIMAL(3, 1): 1.5");
    check("DECIMAL(10, 4): 3.1234", "%", "DECIMAL(10, 2): 5.00", "DECIMAL(10, 4): 3.1234");
    check("DECIMAL(3, 1): 7.5", "%", "DECIMAL(3, 1): 0.0", "error DIVISION_BY_ZERO");
    check("DECIMAL(3, 3): 0.750", "%", "DECIMAL(3, 0): 2", "DECIMAL(3, 3): 0.750");
}

#[test]
fn times_are_moved_by_intervals() {
    let (day, hour) = ("INTERVAL DAY TO SECOND: 86400000", "INTERVAL DAY TO SECOND: 3600000");
    let month = "INTERVAL YEAR TO MONTH: 1";
    check("TIMESTAMP(3): 2021-01-31 12:00:00", "+", day, "TIMESTAMP(3): 2021-02-01 12:00:00");
    check("TIMESTAMP(3): 2021-01-31 12:00:00", "-", hour, "TIMESTAMP(3): 2021-01-31 11:00:00");
    check(
        hour,
        "+",
        "TIMESTAMP(9): 2021-01-31 12:00:00.123456789",
        "TIMESTAMP(9): 2021-01-31 13:00:00.123456789",
    );
    check("TIMESTAMP_LTZ(6): 2021-01-31 12:00:00", "+", hour, "TIMESTAMP_LTZ(6): 2021-01-31 13:00:00");
    check("TIMESTAMP(3): 2021-01-31 12:00:00", "+", month, "TIMESTAMP(3): 2021-02-28 12:00:00");
    check("TIMESTAMP(3): 2020-01-31 12:00:00.5", "+", month, "TIMESTAMP(3): 2020-02-29 12:00:00.500");
    check("TIMESTAMP(6): 2021-03-31 00:00:00", "-", month, "TIMESTAMP(6): 2021-02-28 00:00:00");
    check("TIMESTAMP(3): 1969-12-31 23:59:59.999", "+", month, "TIMESTAMP(3): 1970-01-31 23:59:59.999");
    check("DATE: 2021-01-31", "+", month, "DATE: 2021-02-28");
    check("DATE: 2021-01-31", "-", "INTERVAL YEAR TO MONTH: 14", "DATE: 2019-11-30");
    check("DATE: 2021-01-31", "+", "INTERVAL YEAR TO MONTH: -1", "DATE: 2020-12-31");
    check("DATE: 2021-01-31", "+", day, "DATE: 2021-02-01");
    check(day, "+", "DATE: 2021-01-31", "DATE: 2021-02-01");
    check("TIME(3): 23:30:00", "+", hour, "TIME(3): 00:30:00");
    check("TIME(3): 00:30:00", "-", "INTERVAL DAY TO SECOND: 90000000", "TIME(3): 23:30:00");
    check("TIME(3): 00:30:00", "+", month, "TIME(3): 00:30:00");
    check("TIMESTAMP(3): NULL", "+", hour, "TIMESTAMP(3): NULL");
    check("TIMESTAMP(3): 2021-01-31 12:00:00", "+", "INTERVAL DAY TO SECOND: NULL", "TIMESTAMP(3): NULL");
    check("TIMESTAMP(9): 2262-04-11 00:00:00", "+", month, "error OUT_OF_RANGE");
    check(
        "TIMESTAMP(9): 2021-01-01 00:00:00",
        "+",
        "INTERVAL DAY TO SECOND: 9223372036854775807",
        "error OUT_OF_RANGE",
    );
    check("DATE: 2021-01-01", "+", "INTERVAL YEAR TO MONTH: -2147483648", "error OUT_OF_RANGE");
}

/// A DATE plus a literal interval of an hour is a timestamp.
#[test]
fn a_day_and_an_hour_are_a_timestamp() {
    let bound_to = |written: [&str; 2], expected: &str| {
        let [left, right] = written.map(argument);
        let bound = bind_arithmetic(ArithmeticOp::Add, &left, &right).expect("a sum");
        assert_eq!(bound.result.to_string(), expected);
    };
    bound_to(["DATE: 2021-01-31", "INTERVAL DAY TO SECOND: 3600000"], "TIMESTAMP(6)");
    bound_to(["DATE: 2021-01-31", "INTERVAL DAY TO SECOND: 172800000"], "DATE");
    check("DATE: 2021-01-31", "-", "INTERVAL DAY TO SECOND: 1", "TIMESTAMP(6): 2021-01-30 23:59:59.999");
}

#[test]
fn intervals_add_up_and_are_multiplied() {
    let hour = "INTERVAL DAY TO SECOND: 3600000";
    check(hour, "+", hour, "INTERVAL DAY TO SECOND: 7200000");
    check("INTERVAL YEAR TO MONTH: 12", "-", "INTERVAL YEAR TO MONTH: 14", "INTERVAL YEAR TO MONTH: -2");
    check(hour, "*", "INT: 3", "INTERVAL DAY TO SECOND: 10800000");
    check("BIGINT: -2", "*", hour, "INTERVAL DAY TO SECOND: -7200000");
    check(hour, "*", "DECIMAL(2, 1): 1.5", "INTERVAL DAY TO SECOND: 3600000");
    check("INTERVAL YEAR TO MONTH: 5", "*", "TINYINT: 3", "INTERVAL YEAR TO MONTH: 15");
}

#[test]
fn what_has_no_meaning_is_refused() {
    let (hour, month) = ("INTERVAL DAY TO SECOND: 3600000", "INTERVAL YEAR TO MONTH: 1");
    let (stamp, day) = ("TIMESTAMP(3): 2021-01-31 12:00:00", "DATE: 2021-01-31");
    for (left, op, right) in [
        (stamp, "-", stamp),
        (day, "-", day),
        (stamp, "+", stamp),
        (stamp, "+", "INT: 1"),
        (hour, "-", stamp),
        (hour, "+", month),
        (hour, "/", "INT: 2"),
        (hour, "*", hour),
        (stamp, "*", "INT: 2"),
        ("STRING: 1", "+", "INT: 1"),
        ("STRING: a", "+", "STRING: b"),
        ("BOOLEAN: TRUE", "+", "INT: 1"),
        ("NULL", "+", "NULL"),
        (stamp, "+", "NULL"),
    ] {
        check(left, op, right, "refused");
    }
    let why = |left, right| bind_arithmetic(ArithmeticOp::Subtract, &argument(left), &argument(right)).err();
    assert_eq!(
        why(stamp, day).map(|error| error.0).as_deref(),
        Some("TIMESTAMP(3) - DATE has no meaning: TIMESTAMPDIFF tells how far apart times are")
    );
}

#[test]
fn minus_turns_round() {
    let check = |written: &str, expected: &str| {
        assert_eq!(evaluated(&[written], Tz::UTC, |arguments| bind_negate(&arguments[0])), expected);
    };
    check("INT: 5", "INT: -5");
    check("TINYINT: -128", "TINYINT: -128");
    check("DOUBLE: 0.0", "DOUBLE: -0.0");
    check("DECIMAL(3, 2): 1.50", "DECIMAL(3, 2): -1.50");
    check("INTERVAL DAY TO SECOND: 5", "INTERVAL DAY TO SECOND: -5");
    check("INTERVAL YEAR TO MONTH: NULL", "INTERVAL YEAR TO MONTH: NULL");
    check("STRING: 5", "refused");
    check("DATE: 2021-01-31", "refused");
}
