//! Tests of the text forms of SQL values that all formats, sinks and casts use.

use super::*;
use crate::functions::time::calendar;

fn shown<T>(write: impl Fn(T, &mut String), value: T) -> String {
    let mut out = String::from("|");
    write(value, &mut out);
    // Writers append, so the earlier content of the string stays.
    out.strip_prefix('|').expect("the text before").to_owned()
}

/// DOUBLEs are shown as Java shows them. The cases come from the documentation of Java's `Double.toString`
/// and from its tests (`DoubleToDecimal`).
#[test]
fn doubles_are_shown_as_java_shows_them() {
    let check = |value: f64, expected: &str| assert_eq!(shown(write_double, value), expected);
    check(0.0, "0.0");
    check(-0.0, "-0.0");
    check(1.0, "1.0");
    check(-1.0, "-1.0");
    check(100.0, "100.0");
    check(9_999_999.0, "9999999.0");
    check(1e7, "1.0E7");
    check(-1e7, "-1.0E7");
    check(12_345_678.0, "1.2345678E7");
    check(1e10, "1.0E10");
    check(0.001, "0.001");
    check(0.0001, "1.0E-4");
    check(0.00123, "0.00123");
    check(0.000999, "9.99E-4");
    check(123.456789, "123.456789");
    check(12345.678901, "12345.678901");
    check(1_234_567.5, "1234567.5");
    check(0.1 + 0.2, "0.30000000000000004");
    check(2e-3, "0.002");
    check(1e23, "1.0E23");
    check(2.0e23, "2.0E23");
    check(f64::MAX, "1.7976931348623157E308");
    check(f64::MIN_POSITIVE, "2.2250738585072014E-308");
    check(5e-324, "4.9E-324");
    check(1.5e-323, "1.5E-323");
    check(f64::NAN, "NaN");
    check(f64::INFINITY, "Infinity");
    check(f64::NEG_INFINITY, "-Infinity");
}

#[test]
fn floats_are_shown_as_java_shows_them() {
    let check = |value: f32, expected: &str| assert_eq!(shown(write_float, value), expected);
    check(123.456, "123.456");
    check(-123.456, "-123.456");
    check(0.1, "0.1");
    check(1e10, "1.0E10");
    check(3.4028235e38, "3.4028235E38");
    check(1e-45, "1.4E-45");
    check(16_777_216.0, "1.6777216E7");
    check(-0.0, "-0.0");
    check(f32::NAN, "NaN");
}

#[test]
fn decimals_are_shown_in_plain_digits() {
    let check = |value: i128, scale: u8, expected: &str| {
        let mut out = String::new();
        write_decimal(value, scale, &mut out);
        assert_eq!(out, expected);
    };
    check(9870, 3, "9.870");
    check(100_000, 5, "1.00000");
    check(0, 0, "0");
    check(0, 2, "0.00");
    check(-5, 1, "-0.5");
    check(5, 5, "0.00005");
    check(10_i128.pow(38) - 1, 38, "0.99999999999999999999999999999999999999");
    check(1 - 10_i128.pow(38), 0, "-99999999999999999999999999999999999999");
    check(10_i128.pow(37) + 7, 2, "100000000000000000000000000000000000.07");
    check(i128::MIN, 0, "-170141183460469231731687303715884105728");
}

#[test]
fn whole_numbers_are_read_without_their_fraction() {
    let check = |text: &str, expected: Option<i64>| assert_eq!(parse_integer(text), expected, "{text}");
    check("123", Some(123));
    check("+7", Some(7));
    check("-0", Some(0));
    check("  42 ", Some(42));
    check("1.234", Some(1));
    check("-1.9", Some(-1));
    check("5.", Some(5));
    check("9223372036854775807", Some(i64::MAX));
    check("-9223372036854775808", Some(i64::MIN));
    check("9223372036854775808", None);
    check("-9223372036854775809", None);
    check("99999999999999999999999999", None);
    for text in ["", " ", "+", "-", "1e3", "1.2.3", "1.x", "foo", "1 2", "\t1", "0x10", "١"] {
        check(text, None);
    }
}

#[test]
fn floats_are_read_as_java_reads_them() {
    let check = |text: &str, expected: Option<f64>| {
        assert_eq!(parse_double(text).map(f64::to_bits), expected.map(f64::to_bits), "{text}");
    };
    check("1.234", Some(1.234));
    check("-3276913443134", Some(-3_276_913_443_134.0));
    check(" 1e3\n", Some(1000.0));
    check("1.", Some(1.0));
    check(".5", Some(0.5));
    check("-.5E-1", Some(-0.05));
    check("1.5d", Some(1.5));
    check("1F", Some(1.0));
    check("-0", Some(-0.0));
    check("NaN", Some(f64::NAN));
    check("Infinity", Some(f64::INFINITY));
    check("-Infinity", Some(f64::NEG_INFINITY));
    check("1e999", Some(f64::INFINITY));
    for text in ["", "nan", "inf", "infinity", "+", ".", "e5", "1e", "1d5", "d", "1dd", "1_0", "--1", "1 2"] {
        check(text, None);
    }
    assert_eq!(parse_float("-3276913443134"), Some(-3.276_913_5e12));
    assert_eq!(parse_float("0.1f"), Some(0.1));
}

#[test]
fn decimals_are_read_and_rounded_half_up() {
    let check = |text: &str, precision: u8, scale: u8, expected: Result<Option<i128>, NotANumber>| {
        assert_eq!(read_decimal(text, precision, scale), expected, "{text} as ({precision}, {scale})");
        assert_eq!(parse_decimal(text, precision, scale), expected.ok().flatten());
    };
    check("3.14", 8, 4, Ok(Some(31_400)));
    check("3.15", 8, 1, Ok(Some(32)));
    check("3.149", 8, 1, Ok(Some(31)));
    check("-3.15", 8, 1, Ok(Some(-32)));
    check(" +1 \t", 5, 0, Ok(Some(1)));
    check("0.5", 1, 0, Ok(Some(1)));
    check("0.49999999999999999999999999999999999999999999", 1, 0, Ok(Some(0)));
    check("-.5", 5, 2, Ok(Some(-50)));
    check("5.", 5, 2, Ok(Some(500)));
    check("1.5e2", 5, 1, Ok(Some(1_500)));
    check("15E-1", 5, 1, Ok(Some(15)));
    check("1e-400", 5, 1, Ok(Some(0)));
    check("6e-2", 5, 1, Ok(Some(1)));
    check("0e99999999999999999999", 5, 1, Ok(Some(0)));
    check("000000000000000000000000000000000000000000000000001", 1, 0, Ok(Some(1)));
    check("99999999999999999999999999999999999999", 38, 0, Ok(Some(10_i128.pow(38) - 1)));
    // Numbers with more digits than the decimal type are not read; the second number has too many only after
    // rounding.
    check("123", 2, 0, Ok(None));
    check("9.995", 3, 2, Ok(None));
    check("1e99999999999999999999", 38, 0, Ok(None));
    check("999999999999999999999999999999999999999", 38, 0, Ok(None));
    for text in ["", " ", "+", ".", "e1", "1e", "1e+", "12x", "1 2", "NaN", "1,5", "--1", "1.2.3", "٣"] {
        check(text, 10, 2, Err(NotANumber));
    }
    assert_eq!(decimal_of_double(123.456, 10, 2), Ok(Some(12_346)));
    assert_eq!(decimal_of_double(1e-10, 10, 2), Ok(Some(0)));
    assert_eq!(decimal_of_double(1e300, 38, 0), Ok(None));
    assert_eq!(decimal_of_double(f64::NAN, 38, 0), Err(NotANumber));
}

#[test]
fn truth_is_read_in_any_case() {
    for text in ["true", "TRUE", "t", "T", "Yes", "y", "1"] {
        assert_eq!(parse_boolean(text), Some(true), "{text}");
    }
    for text in ["false", "FalsE", "f", "no", "N", "0"] {
        assert_eq!(parse_boolean(text), Some(false), "{text}");
    }
    for text in ["", " true", "foo", "2", "01", "on"] {
        assert_eq!(parse_boolean(text), None, "{text}");
    }
}

#[test]
fn days_are_shown_and_read() {
    let days = |year, month, day| calendar::days(year, month, day) as i32;
    assert_eq!(shown(write_date, days(2021, 9, 24)), "2021-09-24");
    assert_eq!(shown(write_date, days(3, 1, 2)), "0003-01-02");
    assert_eq!(shown(write_date, days(12_345, 1, 2)), "12345-01-02");
    assert_eq!(shown(write_date, days(-5, 1, 2)), "-0005-01-02");
    // The least and the greatest value of a DATE column can be shown without a panic.
    assert!(shown(write_date, i32::MIN).starts_with('-'));
    assert!(shown(write_date, i32::MAX).starts_with('5'));
    let check = |text: &str, expected: Option<(i64, i64, i64)>| {
        assert_eq!(parse_date(text), expected.map(|(y, m, d)| days(y, m, d)), "{text}");
    };
    check("2021-09-27", Some((2021, 9, 27)));
    check("2021-9-7", Some((2021, 9, 7)));
    check("2021-09-27 12:34:56.123456789", Some((2021, 9, 27)));
    check("2021-09-27 anything", Some((2021, 9, 27)));
    check("123", Some((123, 1, 1)));
    check("2021-02", Some((2021, 2, 1)));
    check("2000-02-29", Some((2000, 2, 29)));
    check("0000-01-01", Some((0, 1, 1)));
    check("9999-12-31", Some((9999, 12, 31)));
    for text in [
        "",
        "foo",
        "2021/09/27",
        "2021-02-29",
        "1900-02-29",
        "2021-13-01",
        "2021-00-01",
        "2021-04-31",
        "-5",
        "10000-01-01",
        "2021-09-27T12:34:56",
        "2021-09-27-1",
        "99999999999-01-01",
    ] {
        check(text, None);
    }
}

#[test]
fn times_of_day_are_shown_and_read() {
    let check = |milliseconds: i32, digits: u8, expected: &str| {
        assert_eq!(shown(|value, out| write_time(value, digits, out), milliseconds), expected);
    };
    check(45_296_123, 0, "12:34:56");
    check(45_296_123, 5, "12:34:56.123");
    check(45_296_120, 3, "12:34:56.12");
    check(45_296_123, 2, "12:34:56.12");
    check(45_296_000, 3, "12:34:56.0");
    check(-1, 3, "23:59:59.999");
    check(i32::MAX, 0, "20:31:23");
    let check = |text: &str, digits: u8, expected: Option<i32>| {
        assert_eq!(parse_time(text, digits), expected, "{text}");
    };
    check("23", 0, Some(82_800_000));
    check("23:45", 0, Some(85_500_000));
    check("12:34:56.123456789", 3, Some(45_296_123));
    check("12:34:56.123456789", 0, Some(45_296_000));
    check("1:2:3", 0, Some(3_723_000));
    check("12:34:56.9996", 3, Some(45_297_000));
    check("23:59:59.9999", 3, Some(0));
    check("12:34:56.", 3, Some(45_296_000));
    for text in
        ["", "foo", "24:00:00", "12:60:00", "12:00:60", "2021-09-27", "12:34:56+01:00", "1:2:3:4", "-1"]
    {
        check(text, 3, None);
    }
}

#[test]
fn timestamps_are_shown_and_read() {
    let check = |value: i64, digits: u8, expected: &str| {
        assert_eq!(shown(|value, out| write_timestamp(value, digits, out), value), expected);
    };
    check(1_632_486_896_123, 3, "2021-09-24 12:34:56.123");
    check(1_632_486_896_100, 3, "2021-09-24 12:34:56.100");
    check(1_632_486_896_123, 0, "2021-09-24 12:34:56");
    check(1_632_486_896_123_456, 6, "2021-09-24 12:34:56.123456");
    check(1_632_486_896_123_456, 4, "2021-09-24 12:34:56.1234");
    check(1_632_486_896_123_456_700, 9, "2021-09-24 12:34:56.123456700");
    check(1_632_486_896_123_456_700, 7, "2021-09-24 12:34:56.1234567");
    check(-1, 3, "1969-12-31 23:59:59.999");
    assert_eq!(shown(|value, out| write_timestamp_iso(value, 3, out), 0), "1970-01-01T00:00:00.000");
    for value in [i64::MIN, i64::MAX] {
        for digits in [0, 3, 6, 9] {
            assert!(19 <= shown(|value, out| write_timestamp(value, digits, out), value).len());
        }
    }
    let check = |text: &str, digits: u8, expected: Option<i64>| {
        assert_eq!(parse_timestamp(text, digits), expected, "{text}");
    };
    check("2021-09-24 12:34:56.123", 3, Some(1_632_486_896_123));
    check("2021-09-24 12:34:56.123456789", 9, Some(1_632_486_896_123_456_789));
    check("2021-09-24 12:34:56.123999", 3, Some(1_632_486_896_123));
    check("2021-09-24 12:34:56.987", 1, Some(1_632_486_896_900));
    check("2021-09-24 12:34:56.987", 0, Some(1_632_486_896_000));
    check("2021-09-24", 3, Some(1_632_441_600_000));
    check("2021-9-24 1:2:3", 3, Some(1_632_445_323_000));
    check("2021-09-24 12:34:56.", 3, Some(1_632_486_896_000));
    check("1969-12-31 23:59:59.5", 3, Some(-500));
    // As in Java, a day beyond the end of its month is the last day of the month, and hour 24 is midnight of
    // the next day.
    check("2021-02-31", 3, parse_timestamp("2021-02-28", 3));
    check("2021-04-31", 3, parse_timestamp("2021-04-30", 3));
    check("2021-09-24 24:00:00", 3, parse_timestamp("2021-09-25", 3));
    for text in [
        "",
        "foo",
        "123",
        "2021",
        "2021-09",
        "2021/09/27",
        "2021-09-24 ",
        " 2021-09-24",
        "2021-09-24T12:34:56",
        "2021-09-24 12:34",
        "2021-09-24 24:00:01",
        "2021-09-24 12:60:00",
        "2021-13-01",
        "2021-01-32",
        "2021-00-10",
        "0000-01-01",
        "12021-01-01",
        "2021-09-24 12:34:56.1234567891",
        "2021-09-24 12:34:56Z",
        "２０２１-09-24",
    ] {
        check(text, 3, None);
    }
    // A TIMESTAMP of nanoseconds cannot hold years after 2262; one of milliseconds can.
    check("9999-12-31 23:59:59.999", 9, None);
    check("9999-12-31 23:59:59.999", 3, Some(253_402_300_799_999));
    assert_eq!(parse_timestamp_iso("2021-09-24T12:34:56.123", 3), Some(1_632_486_896_123));
    assert_eq!(parse_timestamp_iso("2021-09-24 12:34:56.123", 3), None);
}

#[test]
fn intervals_are_shown() {
    let check = |months: i32, expected: &str| assert_eq!(shown(write_year_month, months), expected);
    check(84, "+7-00");
    check(5, "+0-05");
    check(123, "+10-03");
    check(12_334, "+1027-10");
    check(-123, "-10-03");
    check(i32::MIN, "-178956970-08");
    let check = |span: i64, expected: &str| assert_eq!(shown(write_day_time, span), expected);
    check(10, "+0 00:00:00.010");
    check(123_456_789, "+1 10:17:36.789");
    check(36 * 3_600_000, "+1 12:00:00.000");
    check(-1, "-0 00:00:00.001");
    check(i64::MIN, "-106751991167 07:12:55.808");
}

/// The text that is written for a value is read back as the same value.
#[test]
fn what_is_written_is_read_again() {
    let mut out = String::new();
    for bits in (0..2_000_u64).map(|step| step.wrapping_mul(0x9E37_79B9_7F4A_7C15)) {
        let value = f64::from_bits(bits);
        out.clear();
        write_double(value, &mut out);
        let read = parse_double(&out);
        assert!(read.is_some_and(|read| read.to_bits() == value.to_bits() || value.is_nan()), "{out}");
        let value = f32::from_bits(bits as u32);
        out.clear();
        write_float(value, &mut out);
        assert!(parse_float(&out).is_some_and(|read| read == value || value.is_nan()), "{out}");
        let value = (bits as i64) >> 11;
        out.clear();
        write_timestamp(value, 6, &mut out);
        assert_eq!(
            parse_timestamp(&out, 6),
            Some(value).filter(|_| !out.starts_with('-') && out.len() == 26)
        );
    }
}
