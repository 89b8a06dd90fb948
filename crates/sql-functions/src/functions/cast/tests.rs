//! Tests that casts give Flink's values.
//!
//! Cases come from Flink's `CastRulesTest` and `CastFunctionITCase` where these have one.

use arrow::array::{ArrayRef, AsArray, Int32Array, ListArray, MapArray, StringArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};

use super::*;
use crate::functions::bed::{argument, context, evaluated, row_of, scalar, show, sql_type};
use crate::functions::over;
use crate::values::ScalarValue;

/// Checks a cast of a value to a type. The expected result is a value, `NULL`, `fails` (NULL for TRY_CAST) or
/// `refused`.
fn check_in(zone: Tz, written: &str, to: &str, expected: &str) {
    let bind = |is_try| {
        evaluated(&[written], zone, |arguments| {
            bind_cast(&arguments[0].of, arguments[0].is_nullable, &sql_type(to), is_try, &context(zone))
        })
    };
    let result = |value: &str| match value {
        "fails" => "error BAD_CAST".to_owned(),
        "refused" => value.to_owned(),
        _ => format!("{}: {value}", sql_type(to)),
    };
    assert_eq!(bind(false), result(expected), "CAST({written} AS {to})");
    let tried = if expected == "fails" { "NULL" } else { expected };
    assert_eq!(bind(true), result(tried), "TRY_CAST({written} AS {to})");
}

fn check(written: &str, to: &str, expected: &str) {
    check_in(Tz::UTC, written, to, expected);
}

#[test]
fn text_is_cut_and_padded() {
    check("CHAR(3): foo", "CHAR(5)", "foo  ");
    check("CHAR(5): foo", "CHAR(3)", "foo");
    check("STRING: 12345.6789", "DECIMAL(8, 4)", "fails");
    check("STRING: 1234.56789", "DECIMAL(8, 4)", "1234.5679");
    check("STRING: 9999.99999", "DECIMAL(8, 4)", "fails");
    check("STRING: 1e40", "DECIMAL(38, 0)", "fails");
    check(
        "STRING: -99999999999999999999999999999999999999",
        "DECIMAL(38, 0)",
        "-99999999999999999999999999999999999999",
    );
    check("STRING: abcdef", "CHAR(3)", "abc");
    check("STRING: abcdef", "VARCHAR(3)", "abc");
    check("STRING: ab", "VARCHAR(3)", "ab");
    check("VARCHAR(5): Flink", "CHAR(6)", "Flink ");
    check("STRING: äöüß", "VARCHAR(3)", "äöü");
    check("STRING: 😀", "CHAR(3)", "😀  ");
    check("STRING: ", "CHAR(2)", "  ");
    check("BOOLEAN: TRUE", "CHAR(6)", "TRUE  ");
    check("BOOLEAN: FALSE", "VARCHAR(3)", "FAL");
    check("INT: -12345678", "VARCHAR(3)", "-12");
    check("DATE: 2021-09-24", "CHAR(3)", "202");
    // A text in a CHAR or VARCHAR column is assumed to be no longer than its type, so it is not cut by a cast
    // to a longer type.
    check("CHAR(2): Apache", "VARCHAR(3)", "Apache");
    check("STRING: NULL", "CHAR(3)", "NULL");
}

#[test]
fn everything_is_shown_as_text() {
    check("BOOLEAN: TRUE", "STRING", "TRUE");
    check("TINYINT: -125", "STRING", "-125");
    check("SMALLINT: 32767", "STRING", "32767");
    check("BIGINT: -9223372036854775808", "STRING", "-9223372036854775808");
    check("FLOAT: -123.456", "STRING", "-123.456");
    check("DOUBLE: 12345.678901", "STRING", "12345.678901");
    check("DOUBLE: 1e10", "STRING", "1.0E10");
    check("DOUBLE: NaN", "STRING", "NaN");
    check("DECIMAL(4, 3): 9.870", "STRING", "9.870");
    check("DECIMAL(10, 5): 1.00000", "STRING", "1.00000");
    check("DATE: 2021-09-24", "STRING", "2021-09-24");
    check("TIME(5): 12:34:56.123", "STRING", "12:34:56.123");
    check("TIME: 12:34:56", "STRING", "12:34:56");
    check("TIMESTAMP(6): 2021-09-24 12:34:56.123456", "STRING", "2021-09-24 12:34:56.123456");
    check("TIMESTAMP(9): 2021-09-24 12:34:56.1234567", "STRING", "2021-09-24 12:34:56.123456700");
    check("TIMESTAMP(4): 2021-09-24 12:34:56.1234", "STRING", "2021-09-24 12:34:56.1234");
    check("TIMESTAMP(3): 2021-09-24 12:34:56.1", "STRING", "2021-09-24 12:34:56.100");
    check("TIMESTAMP(0): 2021-09-24 12:34:56", "STRING", "2021-09-24 12:34:56");
    check("INTERVAL YEAR TO MONTH: 123", "STRING", "+10-03");
    check("INTERVAL DAY TO SECOND: 123456789", "STRING", "+1 10:17:36.789");
    // Local time in Shanghai is eight hours ahead of UTC.
    let shanghai = chrono_tz::Asia::Shanghai;
    check_in(shanghai, "TIMESTAMP_LTZ(5): 2021-09-24 23:54:56.12345", "STRING", "2021-09-25 07:54:56.12345");
}

#[test]
fn text_is_bytes_and_bytes_are_text() {
    check("STRING: foo", "BYTES", "666f6f");
    check("STRING: ä", "BYTES", "c3a4");
    check("STRING: foo", "BINARY(5)", "666f6f0000");
    check("STRING: foo", "BINARY(2)", "666f");
    check("STRING: foo", "VARBINARY(2)", "666f");
    check("BYTES: c3a4", "STRING", "ä");
    check("BYTES: 61ff62", "STRING", "a\u{FFFD}b");
    check("BYTES: f09f98", "STRING", "\u{FFFD}");
    check("BYTES: 666f6f", "CHAR(5)", "foo  ");
    check("BINARY(2): 0102", "BINARY(4)", "01020000");
    check("VARBINARY(3): 010203", "VARBINARY(2)", "0102");
    check("BYTES: NULL", "STRING", "NULL");
    check("BYTES: 01", "INT", "refused");
    check("BYTES: 01", "BOOLEAN", "refused");
    check("INT: 1", "BYTES", "refused");
}

#[test]
fn whole_numbers_wrap() {
    check("SMALLINT: 12345", "TINYINT", "57");
    check("SMALLINT: -12345", "TINYINT", "-57");
    check("INT: 1234567", "TINYINT", "-121");
    check("INT: 1234567", "SMALLINT", "-10617");
    check("BIGINT: 12345678901", "TINYINT", "53");
    check("BIGINT: 12345678901", "SMALLINT", "7221");
    check("BIGINT: 12345678901", "INT", "-539222987");
    check("INT: 128", "TINYINT", "-128");
    check("TINYINT: -5", "BIGINT", "-5");
    check("BIGINT: 9007199254740993", "DOUBLE", "9007199254740992.0");
    check("INT: 16777217", "FLOAT", "16777216.0");
    check("INT: NULL", "BIGINT", "NULL");
}

#[test]
fn floats_are_cut_and_stop_before_they_wrap() {
    check("FLOAT: 123.456", "TINYINT", "123");
    check("FLOAT: 123456.78", "SMALLINT", "-7616");
    check("DOUBLE: 123456.7890", "SMALLINT", "-7616");
    check("DOUBLE: -123.456789", "INT", "-123");
    check("FLOAT: 9234567891.12", "INT", "2147483647");
    check("DOUBLE: 9234567891.12345", "INT", "2147483647");
    check("DOUBLE: 9234567891.12345", "BIGINT", "9234567891");
    check("DOUBLE: -1e300", "BIGINT", "-9223372036854775808");
    check("DOUBLE: 1e300", "TINYINT", "-1");
    check("DOUBLE: NaN", "INT", "0");
    check("FLOAT: inf", "BIGINT", "9223372036854775807");
    check("FLOAT: 123.456", "DOUBLE", "123.45600128173828");
    check("DOUBLE: 1e300", "FLOAT", "inf");
    check("DOUBLE: -0.0", "FLOAT", "-0.0");
}

#[test]
fn decimals_are_rounded_cut_or_null() {
    check("DECIMAL(4, 3): 9.870", "TINYINT", "9");
    check("DECIMAL(4, 3): -9.870", "INT", "-9");
    check("DECIMAL(10, 3): 9123.870", "TINYINT", "-93");
    check("DECIMAL(10, 3): 91235.870", "SMALLINT", "25699");
    check("DECIMAL(20, 3): 3276913443134.870", "INT", "-146603714");
    check("DECIMAL(20, 3): 3276913443134.870", "BIGINT", "3276913443134");
    check("DECIMAL(38, 0): 18446744073709551617", "BIGINT", "1");
    check("DECIMAL(4, 3): 9.870", "FLOAT", "9.87");
    check("DECIMAL(20, 3): 3276913443134.870", "DOUBLE", "3276913443134.87");
    check("DECIMAL(30, 20): 123456789.12345678912345678900", "DOUBLE", "123456789.12345679");
    check("DECIMAL(8, 2): 3.15", "DECIMAL(8, 1)", "3.2");
    check("DECIMAL(8, 2): -3.15", "DECIMAL(8, 1)", "-3.2");
    check("DECIMAL(8, 2): 3.14", "DECIMAL(8, 4)", "3.1400");
    check("DECIMAL(4, 1): 999.9", "DECIMAL(3, 0)", "NULL");
    check("DECIMAL(4, 1): 999.4", "DECIMAL(3, 0)", "999");
    check("DECIMAL(38, 0): 99999999999999999999999999999999999999", "DECIMAL(38, 1)", "NULL");
    check("INT: 42", "DECIMAL(8, 4)", "42.0000");
    check("INT: 42", "DECIMAL(3, 2)", "NULL");
    check("BIGINT: -9223372036854775808", "DECIMAL(38, 19)", "-9223372036854775808.0000000000000000000");
    check("DOUBLE: 4.2", "DECIMAL(10, 2)", "4.20");
    check("DOUBLE: 4.2", "DECIMAL(38, 0)", "4");
    check("DOUBLE: 2.675", "DECIMAL(3, 2)", "2.68");
    check("DOUBLE: 1000.0", "DECIMAL(3, 0)", "NULL");
    check("FLOAT: 0.1", "DECIMAL(20, 10)", "0.1000000015");
    check("DOUBLE: NaN", "DECIMAL(3, 0)", "fails");
    check("DOUBLE: -inf", "DECIMAL(3, 0)", "fails");
}

#[test]
fn truth_is_a_number() {
    check("BOOLEAN: TRUE", "TINYINT", "1");
    check("BOOLEAN: FALSE", "BIGINT", "0");
    check("BOOLEAN: TRUE", "DOUBLE", "1.0");
    check("BOOLEAN: TRUE", "DECIMAL(3, 1)", "1.0");
    check("BOOLEAN: TRUE", "DECIMAL(2, 2)", "NULL");
    check("INT: -5", "BOOLEAN", "TRUE");
    check("INT: 0", "BOOLEAN", "FALSE");
    check("DECIMAL(5, 3): 0.000", "BOOLEAN", "FALSE");
    check("DECIMAL(4, 3): 1.987", "BOOLEAN", "TRUE");
    check("DOUBLE: -0.12345678", "BOOLEAN", "TRUE");
    check("DOUBLE: -0.0", "BOOLEAN", "FALSE");
    check("DOUBLE: NaN", "BOOLEAN", "TRUE");
    check("BOOLEAN: NULL", "INT", "NULL");
}

#[test]
fn text_is_read_or_fails() {
    check("STRING: 1.234", "TINYINT", "1");
    check("STRING: -130", "TINYINT", "fails");
    check("STRING: -32769", "SMALLINT", "fails");
    check("STRING: -3276913443134", "INT", "fails");
    check("STRING: -3276913443134", "BIGINT", "-3276913443134");
    check("CHAR(3): foo", "INT", "fails");
    check("STRING:   42 ", "INT", "42");
    check("STRING: -3276913443134", "FLOAT", "-3276913500000.0");
    check("STRING: 1.234", "DOUBLE", "1.234");
    check("STRING: Apache", "DOUBLE", "fails");
    check("STRING: 3.14", "DECIMAL(8, 4)", "3.1400");
    check("STRING: 3.15", "DECIMAL(8, 1)", "3.2");
    check("STRING: 12.345", "DECIMAL(3, 2)", "fails");
    check("STRING: foo", "DECIMAL(3, 2)", "fails");
    check("CHAR(4): true", "BOOLEAN", "TRUE");
    check("VARCHAR(5): FalsE", "BOOLEAN", "FALSE");
    check("STRING: ", "BOOLEAN", "fails");
    check("STRING: 2021-09-27", "DATE", "2021-09-27");
    check("STRING: 123", "DATE", "0123-01-01");
    check("STRING: 2021/09/27", "DATE", "fails");
    check("STRING: 23:45", "TIME", "23:45:00");
    check("STRING: 2021-09-27", "TIME", "fails");
    check("STRING: 2021-09-27", "TIMESTAMP(9)", "2021-09-27 00:00:00");
    check("STRING: 123", "TIMESTAMP(9)", "fails");
    check("STRING: 2021-09-27 12:34:56.123456789", "TIMESTAMP(9)", "2021-09-27 12:34:56.123456789");
    check("STRING: 2021-09-27 12:34:56.123456789", "TIMESTAMP(6)", "2021-09-27 12:34:56.123456");
    check("STRING: 9999-12-31 00:00:00", "TIMESTAMP(9)", "fails");
    check("STRING: NULL", "INT", "NULL");
    check("STRING: 1", "INTERVAL DAY TO SECOND", "refused");
    check("STRING: [1]", "ARRAY<INT>", "refused");
}

#[test]
fn times_become_each_other() {
    check("DATE: 2021-09-24", "TIMESTAMP(3)", "2021-09-24 00:00:00");
    check("DATE: 2021-09-24", "TIMESTAMP(9)", "2021-09-24 00:00:00");
    check("DATE: 1600-01-01", "TIMESTAMP(9)", "fails");
    check("TIMESTAMP(6): 2021-09-24 12:34:56.123456", "DATE", "2021-09-24");
    check("TIMESTAMP(6): 1969-12-31 23:59:59.999999", "DATE", "1969-12-31");
    check("TIMESTAMP(6): 1969-12-31 00:00:00", "DATE", "1969-12-31");
    check("TIMESTAMP(6): 2021-09-24 12:34:56.123456", "TIME", "12:34:56");
    check("TIMESTAMP(6): 2021-09-24 12:34:56.123456", "TIME(3)", "12:34:56.123");
    check("TIMESTAMP(6): 1969-12-31 23:59:59.999999", "TIME(3)", "23:59:59.999");
    check("TIME(5): 12:34:56.123", "TIMESTAMP(3)", "1970-01-01 12:34:56.123");
    check("TIME(3): 12:34:56.123", "TIME", "12:34:56");
    check("TIMESTAMP(9): 2021-09-24 12:34:56.1234567", "TIMESTAMP(4)", "2021-09-24 12:34:56.123400");
    check("TIMESTAMP(3): 2021-09-24 12:34:56.987", "TIMESTAMP(0)", "2021-09-24 12:34:56");
    check("TIMESTAMP(3): 1969-12-31 23:59:59.987", "TIMESTAMP(1)", "1969-12-31 23:59:59.900");
    check("TIMESTAMP(3): 2021-09-24 12:34:56.987", "TIMESTAMP(9)", "2021-09-24 12:34:56.987");
    check("TIMESTAMP(3): 9999-12-31 23:59:59", "TIMESTAMP(9)", "fails");
    check("INT: 14", "INTERVAL YEAR TO MONTH", "14");
    check("INTERVAL YEAR TO MONTH: 14", "INT", "14");
    check("BIGINT: 123", "INTERVAL DAY TO SECOND", "123");
    check("INTERVAL DAY TO SECOND: -123", "BIGINT", "-123");
    for (from, to) in [
        ("TIMESTAMP(3): NULL", "BIGINT"),
        ("BIGINT: 1", "TIMESTAMP(3)"),
        ("BIGINT: 1", "TIMESTAMP_LTZ(3)"),
        ("DATE: NULL", "TIME"),
        ("TIME: NULL", "DATE"),
        ("DATE: NULL", "INT"),
        ("BOOLEAN: TRUE", "DATE"),
        ("BIGINT: 1", "INTERVAL YEAR TO MONTH"),
        ("DECIMAL(3, 0): 1", "INTERVAL DAY TO SECOND"),
        ("INTERVAL DAY TO SECOND: 1", "INTERVAL YEAR TO MONTH"),
        ("INT: 1", "ARRAY<INT>"),
    ] {
        check(from, to, "refused");
    }
}

/// Casts between local time and instants follow Berlin's clocks, which went forward on 2021-03-28 at 2:00 and
/// back on 2021-10-31 at 3:00.
#[test]
fn clocks_of_the_session_are_put_forward_and_back() {
    let berlin = chrono_tz::Europe::Berlin;
    let check = |written: &str, to: &str, expected: &str| check_in(berlin, written, to, expected);
    check("TIMESTAMP(3): 2021-01-01 12:00:00", "TIMESTAMP_LTZ(3)", "2021-01-01 11:00:00");
    check("TIMESTAMP(3): 2021-03-28 01:59:59", "TIMESTAMP_LTZ(3)", "2021-03-28 00:59:59");
    check("TIMESTAMP(3): 2021-03-28 02:30:00", "TIMESTAMP_LTZ(3)", "2021-03-28 01:30:00");
    check("TIMESTAMP(3): 2021-03-28 03:00:00", "TIMESTAMP_LTZ(3)", "2021-03-28 01:00:00");
    check("TIMESTAMP(3): 2021-10-31 02:30:00", "TIMESTAMP_LTZ(3)", "2021-10-31 00:30:00");
    check("TIMESTAMP(3): 2021-10-31 03:00:00", "TIMESTAMP_LTZ(3)", "2021-10-31 02:00:00");
    check("TIMESTAMP_LTZ(6): 2021-03-28 01:30:00.5", "TIMESTAMP(6)", "2021-03-28 03:30:00.500");
    check("TIMESTAMP_LTZ(3): 2021-10-31 00:30:00", "TIMESTAMP(3)", "2021-10-31 02:30:00");
    check("TIMESTAMP_LTZ(3): 2021-10-31 01:30:00", "TIMESTAMP(3)", "2021-10-31 02:30:00");
    check("TIMESTAMP_LTZ(3): 2021-06-30 23:30:00", "DATE", "2021-07-01");
    check("TIMESTAMP_LTZ(3): 2021-06-30 23:30:00", "TIME", "01:30:00");
    check("DATE: 2021-07-01", "TIMESTAMP_LTZ(3)", "2021-06-30 22:00:00");
    check("TIME: 12:00:00", "TIMESTAMP_LTZ(3)", "1970-01-01 11:00:00");
    check("STRING: 2021-03-28 02:30:00", "TIMESTAMP_LTZ(3)", "2021-03-28 01:30:00");
    check("TIMESTAMP_LTZ(3): 2021-03-28 01:30:00", "STRING", "2021-03-28 03:30:00.000");
    check("TIMESTAMP_LTZ(6): 2021-03-28 01:30:00.123456", "TIMESTAMP_LTZ(3)", "2021-03-28 01:30:00.123");
    // A local time on 30 December 2011 in Samoa does not exist: clocks went from 29 December to 31 December.
    let apia = chrono_tz::Pacific::Apia;
    check_in(apia, "TIMESTAMP(3): 2011-12-30 12:00:00", "TIMESTAMP_LTZ(3)", "2011-12-30 22:00:00");
    // The clocks of Lord Howe Island shift by half an hour, so only half an hour of local time is skipped.
    let howe = chrono_tz::Australia::Lord_Howe;
    check_in(howe, "TIMESTAMP(3): 2021-10-03 02:15:00", "TIMESTAMP_LTZ(3)", "2021-10-02 15:45:00");
}

#[test]
fn null_is_of_any_type() {
    for to in ["INT", "STRING", "DECIMAL(3, 1)", "TIMESTAMP_LTZ(3)", "BYTES", "ARRAY<INT>"] {
        let of = sql_type(to);
        let bound = bind_cast(&SqlType::Null, true, &of, false, &context(Tz::UTC)).expect("a cast");
        assert!(bound.is_nullable);
        let null = ColumnarValue::Scalar(ScalarValue::Null);
        let ColumnarValue::Scalar(value) = bound.kernel.evaluate(&[null], 3).expect("NULL") else {
            panic!("a scalar stays one")
        };
        assert!(value.is_null() && value.data_type() == of.arrow());
    }
}

/// A cast never reads values in NULL slots, and its error is that of the first row that fails.
#[test]
fn rows_fail_on_their_own() {
    let texts: ArrayRef = Arc::new(StringArray::new(
        OffsetBuffer::from_lengths([1, 3, 3, 3]),
        "1badbadbux".as_bytes().into(),
        Some(NullBuffer::from(vec![true, false, true, true])),
    ));
    let cast = |is_try| {
        let bound = bind_cast(&SqlType::STRING, true, &SqlType::Int, is_try, &context(Tz::UTC));
        bound.expect("a cast").kernel.evaluate(&[ColumnarValue::Array(Arc::clone(&texts))], 4)
    };
    let error = cast(false).expect_err("text that is no number");
    assert_eq!(error.message, "'bad' cannot be cast to INT: TRY_CAST gives NULL instead");
    let ColumnarValue::Array(tried) = cast(true).expect("values or NULL") else { panic!("a column") };
    assert_eq!(
        tried.as_primitive::<arrow::datatypes::Int32Type>(),
        &Int32Array::from(vec![Some(1), None, None, None])
    );
}

#[test]
fn what_flink_casts_by_itself() {
    let check = |from: &str, to: &str, expected: bool| {
        assert_eq!(implicit(&sql_type(from), &sql_type(to)), expected, "{from} as {to}");
    };
    check("TINYINT", "BIGINT", true);
    check("BIGINT", "INT", false);
    check("INT", "DECIMAL(3, 1)", true);
    check("DOUBLE", "DECIMAL(3, 1)", true);
    check("DECIMAL(3, 1)", "INT", false);
    check("DECIMAL(3, 1)", "FLOAT", true);
    check("DOUBLE", "FLOAT", false);
    check("FLOAT", "DOUBLE", true);
    check("CHAR(3)", "VARCHAR(2)", true);
    check("VARCHAR(3)", "CHAR(3)", false);
    check("STRING", "VARCHAR(3)", true);
    check("STRING", "INT", false);
    check("INT", "STRING", false);
    check("BINARY(3)", "BYTES", true);
    check("BYTES", "BINARY(3)", false);
    check("TIMESTAMP(9)", "TIMESTAMP(3)", true);
    check("TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", true);
    check("TIMESTAMP_LTZ(3)", "TIMESTAMP(3)", true);
    check("TIMESTAMP(3)", "DATE", true);
    check("DATE", "TIMESTAMP(3)", false);
    check("TIMESTAMP_LTZ(3)", "DATE", false);
    check("STRING", "DATE", false);
    check("NULL", "DATE", true);
    check("ARRAY<INT>", "ARRAY<BIGINT>", true);
    check("ARRAY<BIGINT>", "ARRAY<INT>", false);
    check("INTERVAL DAY TO SECOND", "BIGINT", false);
}

/// A cast to more text than an Arrow column can count is an error, not a panic.
#[test]
fn text_beyond_what_a_column_holds_is_an_error() {
    assert_eq!(over::room(2_147_483_640, 7), Ok(()));
    assert_eq!(over::room(2_147_483_640, 8).map_err(|error| error.code), Err("TOO_LONG"));
    assert!(over::room(usize::MAX, 1).is_err());
}

/// The result of a cast is declared as nullable only if it may be NULL.
#[test]
fn nullability_is_kept_where_nothing_overflows() {
    let check = |from: &str, to: &str, expected: bool| {
        let bound = bind_cast(&sql_type(from), false, &sql_type(to), false, &context(Tz::UTC));
        assert_eq!(bound.expect("a cast").is_nullable, expected, "{from} as {to}");
    };
    check("INT", "BIGINT", false);
    check("INT", "DECIMAL(10, 0)", false);
    check("INT", "DECIMAL(10, 2)", true);
    check("DECIMAL(5, 2)", "DECIMAL(5, 1)", false);
    check("DECIMAL(5, 2)", "DECIMAL(4, 1)", true);
    check("DECIMAL(5, 2)", "DECIMAL(6, 3)", false);
    check("STRING", "INT", false);
    check("STRING", "DECIMAL(38, 0)", false);
    check("DOUBLE", "DECIMAL(38, 0)", true);
}

// Casts of nested values: arrays, maps and rows.

fn cast_column(array: &ArrayRef, from: &SqlType, to: &SqlType, is_try: bool) -> Result<ArrayRef, String> {
    let bound = bind_cast(from, true, to, is_try, &context(Tz::UTC)).map_err(|error| error.0)?;
    match bound.kernel.evaluate(&[ColumnarValue::Array(Arc::clone(array))], array.len()) {
        Ok(ColumnarValue::Array(array)) => {
            assert_eq!(*array.data_type(), to.arrow());
            Ok(array)
        }
        Ok(ColumnarValue::Scalar(_)) => panic!("a column stays one"),
        Err(error) => Err(error.message),
    }
}

fn texts(array: &ArrayRef) -> Vec<String> {
    (0..array.len()).map(|row| show(&SqlType::STRING, &row_of(array, row))).collect()
}

fn column(of: &SqlType, values: &[&str]) -> ArrayRef {
    ScalarValue::iter_to_array(values.iter().map(|text| scalar(of, text))).expect("a column")
}

fn list(item: &SqlType, lengths: &[usize], items: &[&str], nulls: Option<Vec<bool>>) -> ArrayRef {
    let arrow::datatypes::DataType::List(field) = SqlType::Array(Box::new(item.clone())).arrow() else {
        panic!("a list")
    };
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(field, offsets, column(item, items), nulls.map(NullBuffer::from)))
}

#[test]
fn arrays_are_cast_item_by_item() {
    let of = |item: SqlType| SqlType::Array(Box::new(item));
    let ints = list(&SqlType::Int, &[2, 0, 1], &["-123", "456", "NULL"], None);
    let shown = cast_column(&ints, &of(SqlType::Int), &SqlType::STRING, false).expect("text");
    assert_eq!(texts(&shown), ["[-123, 456]", "[]", "[NULL]"]);
    let cut = cast_column(&ints, &of(SqlType::Int), &SqlType::Char(4), false).expect("text");
    assert_eq!(texts(&cut), ["[-12", "[]  ", "[NUL"]);
    // A slice of an array column is cast without the items around it.
    let wide = cast_column(&ints.slice(1, 2), &of(SqlType::Int), &of(SqlType::BigInt), false).expect("longs");
    let shown = cast_column(&wide, &of(SqlType::BigInt), &SqlType::STRING, false).expect("text");
    assert_eq!(texts(&shown), ["[]", "[NULL]"]);
    // An array item that cannot be cast makes its row fail, except in a row that is NULL.
    let nulls = Some(vec![true, false, true, true]);
    let words = list(&SqlType::STRING, &[1, 1, 2, 1], &["1", "bad", "2", "worse", "3"], nulls);
    let (from, to) = (of(SqlType::STRING), of(SqlType::Int));
    let error = cast_column(&words, &from, &to, false).expect_err("no number");
    assert_eq!(error, "'worse' cannot be cast to INT: TRY_CAST gives NULL instead");
    let tried = cast_column(&words, &from, &to, true).expect("values or NULL");
    let shown = cast_column(&tried, &to, &SqlType::STRING, false).expect("text");
    assert_eq!(texts(&shown), ["[1]", "NULL", "NULL", "[3]"]);
    assert!(cast_column(&ints, &of(SqlType::Int), &of(SqlType::Date), false).is_err());
}

#[test]
fn maps_are_cast_by_key_and_value() {
    let of = |key: &SqlType, value: &SqlType| SqlType::Map(Box::new(key.clone()), Box::new(value.clone()));
    let (from_key, from_value) = (SqlType::STRING, SqlType::YearMonth);
    let from = of(&from_key, &from_value);
    let arrow::datatypes::DataType::Map(entry, _) = from.arrow() else { panic!("a map") };
    let arrow::datatypes::DataType::Struct(fields) = entry.data_type().clone() else { panic!("entries") };
    let keys = column(&from_key, &["a", "b", "1", "2"]);
    let values = column(&from_value, &["-123", "123", "NULL", "5"]);
    let entries = StructArray::new(fields, vec![keys, values], None);
    let offsets = OffsetBuffer::from_lengths([2, 0, 1, 1]);
    let map: ArrayRef = Arc::new(MapArray::new(entry, offsets, entries, None, false));
    let shown = cast_column(&map, &from, &SqlType::STRING, false).expect("text");
    assert_eq!(texts(&shown), ["{a=-10-03, b=+10-03}", "{}", "{1=NULL}", "{2=+0-05}"]);
    // Map keys that are not numbers make their rows NULL for TRY_CAST, without entries.
    let to = of(&SqlType::Int, &SqlType::Int);
    assert!(cast_column(&map, &from, &to, false).expect_err("no number").starts_with("'a' cannot"));
    let tried = cast_column(&map, &from, &to, true).expect("values or NULL");
    let shown = cast_column(&tried, &to, &SqlType::STRING, false).expect("text");
    assert_eq!(texts(&shown), ["NULL", "{}", "{1=NULL}", "{2=5}"]);
}

#[test]
fn rows_are_cast_field_by_field() {
    let of = |fields: &[(&str, SqlType)]| {
        SqlType::Row(fields.iter().map(|(name, of)| ((*name).to_owned(), of.clone())).collect())
    };
    let from = of(&[("f0", SqlType::Int), ("f1", SqlType::STRING)]);
    let arrow::datatypes::DataType::Struct(fields) = from.arrow() else { panic!("a row") };
    let columns =
        vec![column(&SqlType::Int, &["123", "NULL", "1"]), column(&SqlType::STRING, &["abc", "7", "9"])];
    let nulls = Some(NullBuffer::from(vec![true, true, false]));
    let rows: ArrayRef = Arc::new(StructArray::new(fields, columns, nulls));
    let shown = cast_column(&rows, &from, &SqlType::STRING, false).expect("text");
    assert_eq!(texts(&shown), ["(123, abc)", "(NULL, 7)", "NULL"]);
    let to = of(&[("a", SqlType::BigInt), ("b", SqlType::Int)]);
    assert!(cast_column(&rows, &from, &to, false).expect_err("no number").starts_with("'abc' cannot"));
    let tried = cast_column(&rows, &from, &to, true).expect("values or NULL");
    let shown = cast_column(&tried, &to, &SqlType::STRING, false).expect("text");
    assert_eq!(texts(&shown), ["NULL", "(NULL, 7)", "NULL"]);
    assert!(cast_column(&rows, &from, &of(&[("a", SqlType::BigInt)]), false).is_err());
}

#[test]
fn refusals_say_what_to_do() {
    let refusal = |from: &str, to: &str| {
        let from = argument(from);
        let refused = bind_cast(&from.of, false, &sql_type(to), false, &context(Tz::UTC));
        refused.err().map(|error| error.to_string())
    };
    assert_eq!(
        refusal("BIGINT: 1", "TIMESTAMP_LTZ(3)").as_deref(),
        Some("BIGINT cannot be cast to TIMESTAMP_LTZ(3): TO_TIMESTAMP_LTZ makes a timestamp of a number")
    );
    assert_eq!(
        refusal("STRING: a", "CHAR(2000000000)").as_deref(),
        Some(
            "STRING cannot be cast to CHAR(2000000000): every row would be padded to it, write VARCHAR or VARBINARY"
        )
    );
    assert_eq!(refusal("BOOLEAN: TRUE", "DATE").as_deref(), Some("BOOLEAN cannot be cast to DATE"));
    assert!(is_castable(&SqlType::Int, &SqlType::STRING) && !is_castable(&SqlType::Int, &SqlType::Date));
}
