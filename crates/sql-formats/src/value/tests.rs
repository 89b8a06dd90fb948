//! Tests that values are read and written as in Java.

use arrow::datatypes::TimeUnit;
use thalweg_sql_functions::functions::cast::text::parse_double;

use super::*;

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut to = Vec::new();
    write(&mut to);
    String::from_utf8(to).expect("text")
}

/// Doubles are printed as in the examples of Java's `Double.toString` and at its limits: 10^-3, 10^7, the
/// least, the greatest, zeros.
#[test]
fn doubles_are_printed_as_java_prints_them() {
    let check = |value: f64, expected: &str| assert_eq!(text(|to| write_f64(value, to)), expected);
    check(0.0, "0.0");
    check(-0.0, "-0.0");
    check(1.0, "1.0");
    check(-1.5, "-1.5");
    check(100.0, "100.0");
    check(123_456.789, "123456.789");
    check(0.001, "0.001");
    check(0.00123, "0.00123");
    check(0.1, "0.1");
    check(0.025, "0.025");
    check(0.000_999_9, "9.999E-4");
    check(9_999_999.0, "9999999.0");
    check(1e7, "1.0E7");
    check(12_345_678.9, "1.23456789E7");
    check(1e-5, "1.0E-5");
    check(2e23, "2.0E23");
    check(f64::MIN_POSITIVE / 4_503_599_627_370_496.0, "4.9E-324");
    check(2_000_000.0, "2000000.0");
    check(-20.0, "-20.0");
    check(1_234_000.0 / 8.0, "154250.0");
    check(f64::MAX, "1.7976931348623157E308");
    check(f64::NAN, "NaN");
    check(f64::NEG_INFINITY, "-Infinity");
    let check = |value: f32, expected: &str| assert_eq!(text(|to| write_f32(value, to)), expected);
    check(33.333, "33.333");
    check(0.333_333_34, "0.33333334");
    check(3.25e-2, "0.0325");
    check(16_777_216.0, "1.6777216E7");
    check(f32::MAX, "3.4028235E38");
    check(1e-45, "1.4E-45");
    check(f32::INFINITY, "Infinity");
}

/// Decimals are printed in both forms as in Flink's tests, zeros included.
#[test]
fn decimals_are_printed_as_jackson_prints_them() {
    let check = |value: i128, scale: u8, scientific: &str, plain: &str| {
        assert_eq!(text(|to| write_decimal(value, scale, false, to)), scientific);
        assert_eq!(text(|to| write_decimal(value, scale, true, to)), plain);
    };
    check(123_456_789, 6, "123.456789", "123.456789");
    check(454_621_864_049_246_170, 0, "4.5462186404924617E+17", "454621864049246170");
    check(27, 9, "2.7E-8", "0.000000027");
    check(100_000, 0, "1E+5", "100000");
    check(1, 6, "0.000001", "0.000001");
    check(1, 7, "1E-7", "0.0000001");
    check(-150, 2, "-1.5", "-1.5");
    check(0, 2, "0", "0");
    check(5, 1, "0.5", "0.5");
    check(10, 1, "1", "1");
    let least = -99_999_999_999_999_999_999_999_999_999_999_999_999_i128;
    check(least, 0, "-99999999999999999999999999999999999999", "-99999999999999999999999999999999999999");
}

/// Decimals are rounded half up, away from zero, and are NULL if they have too many digits, also after rounding.
#[test]
fn decimals_are_read_and_rounded() {
    let check = |text: &str, precision, scale, expected: Result<Option<i128>, NotANumber>| {
        assert_eq!(decimal(text, precision, scale), expected, "{text}");
    };
    check("123.456", 10, 3, Ok(Some(123_456)));
    check("1.005", 10, 2, Ok(Some(101)));
    check("-1.005", 10, 2, Ok(Some(-101)));
    check("1.00499999", 10, 2, Ok(Some(100)));
    check("9.995", 3, 2, Ok(None));
    check("9.994", 3, 2, Ok(Some(999)));
    check("10", 3, 2, Ok(None));
    check("0.05", 3, 1, Ok(Some(1)));
    check("0.04", 3, 1, Ok(Some(0)));
    check("0.005", 3, 1, Ok(Some(0)));
    check("1e2", 5, 1, Ok(Some(1_000)));
    check("12E-1", 5, 1, Ok(Some(12)));
    check("0.00001e5", 5, 0, Ok(Some(1)));
    check("1e999999999", 5, 0, Ok(None));
    check("1e-999999999", 5, 0, Ok(Some(0)));
    check("0e999999999", 5, 0, Ok(Some(0)));
    check("1e99999999999", 5, 0, Err(NotANumber));
    check("+.5", 5, 1, Ok(Some(5)));
    check("5.", 5, 1, Ok(Some(50)));
    check("00012", 2, 0, Ok(Some(12)));
    check("799.929496989092949698", 38, 18, Ok(Some(799_929_496_989_092_949_698)));
    check("99999999999999999999999999999999999999.5", 38, 0, Ok(None));
    check("99999999999999999999999999999999999999", 38, 0, Ok(Some(10_i128.pow(38) - 1)));
    for wrong in ["", ".", "-", "abc", "1.2.3", "1e", "1e+", "0x1", "1_000", "NaN", "1é", "1eé"] {
        check(wrong, 10, 2, Err(NotANumber));
    }
}

/// Floating-point numbers are accepted exactly if Java accepts them, also where Rust differs.
#[test]
fn floats_are_read_as_java_reads_them() {
    let check = |text: &str, expected: Option<f64>| assert_eq!(parse_double(text), expected, "{text}");
    check(" 1.5 ", Some(1.5));
    check("1.5f", Some(1.5));
    check("1D", Some(1.0));
    check(".5", Some(0.5));
    check("5.", Some(5.0));
    check("-1e400", Some(f64::NEG_INFINITY));
    check("Infinity", Some(f64::INFINITY));
    check("-Infinity", Some(f64::NEG_INFINITY));
    assert!(parse_double("NaN").is_some_and(f64::is_nan));
    for wrong in [
        "",
        "inf",
        "nan",
        "infinity",
        "NAN",
        "Infinityf",
        "NaNd",
        "1.5ff",
        "112.013.123",
        "e5",
        "1e",
        "--1",
        "0x1p3",
        "1 2",
    ] {
        check(wrong, None);
    }
}

/// Dates are read strictly, or so that a day beyond its month counts into the next month.
#[test]
fn days_are_read() {
    let check = |text: &str, strict: Option<i32>, loose: Option<i32>| {
        assert_eq!((date(text), date_loose(text)), (strict, loose), "{text}");
    };
    check("1970-01-01", Some(0), Some(0));
    check("1969-12-31", Some(-1), Some(-1));
    check("2018-10-12", Some(17_816), Some(17_816));
    check("2000-02-29", Some(11_016), Some(11_016));
    check("1900-02-29", None, Some(-25_508));
    check("2021-02-30", None, Some(18_688));
    check("2021-2-3", None, Some(18_661));
    check("0001-01-01", Some(-719_162), Some(-719_162));
    check("9999-12-31", Some(2_932_896), Some(2_932_896));
    check("+10000-01-01", Some(2_932_897), None);
    check("-0001-01-01", Some(-719_893), None);
    for wrong in [
        "",
        "20191112",
        "2019-13-01",
        "2019-00-01",
        "2019-01-32",
        "2019-01-00",
        "+2019-01-01",
        "-0000-01-01",
        "10000-01-01",
        "2019-01-01 ",
        "99-01-01",
        "2019-01",
        "a019-01-01",
        "é",
        "+9999999999-01-01",
    ] {
        check(wrong, None, None);
    }
}

/// Times of day are read with both forms of midnight and fractions of any length; invalid times are refused.
#[test]
fn times_are_read() {
    let check = |text: &str, expected: Option<i32>| assert_eq!(time(text), expected, "{text}");
    check("00:00:00", Some(0));
    check("12:12:43", Some(43_963_000));
    check("23:59:59.999999999", Some(86_399_999));
    check("12:12:12.2", Some(43_932_200));
    check("24:00:00", Some(0));
    for wrong in [
        "",
        "12:12",
        "24:00:01",
        "24:00:00.1",
        "25:00:00",
        "12:60:00",
        "12:00:60",
        "18:00:243",
        "12:12:12.",
        "12:12:12.1234567890",
        "1:02:03",
        "12:12:12Z",
        "é2:12:12",
    ] {
        check(wrong, None);
    }
    assert_eq!(time_loose("12:12"), Some(43_920_000));
    assert_eq!(time_loose("24:00:00"), None);
    assert_eq!(time_loose("24:00"), None);
}

/// Timestamps are read in the forms of Flink's documentation. Days beyond their month, and the hour 24, are
/// read as by Flink's formatters.
#[test]
fn timestamps_are_read() {
    use TimestampForm::{Iso, IsoWithOffset, Sql};
    let check = |text: &str, form, is_instant, expected: Option<Instant>| {
        assert_eq!(timestamp(text, form, is_instant), expected, "{text}");
    };
    check("2020-12-30 12:13:14.123", Sql, false, Some((1_609_330_394, 123_000_000)));
    check("2020-12-30 12:13:14.123Z", Sql, true, Some((1_609_330_394, 123_000_000)));
    check("2020-12-30T12:13:14.123", Iso, false, Some((1_609_330_394, 123_000_000)));
    check("2020-12-30T12:13:14.123Z", Iso, true, Some((1_609_330_394, 123_000_000)));
    check("2020-12-30T12:13:14.123+02:00", IsoWithOffset, false, Some((1_609_323_194, 123_000_000)));
    check("2020-12-30T12:13:14.123-05:30", IsoWithOffset, true, Some((1_609_350_194, 123_000_000)));
    check("2020-12-30T12:13:14Z", IsoWithOffset, true, Some((1_609_330_394, 0)));
    check("1990-10-14 12:12:43.123456789", Sql, false, Some((655_906_363, 123_456_789)));
    check("2021-02-30 00:00:00", Sql, false, Some((1_614_470_400, 0)));
    check("2020-04-31 00:00:00", Sql, false, Some((1_588_204_800, 0)));
    check("2021-12-31 24:00:00", Sql, false, Some((1_640_995_200, 0)));
    check("1969-12-31 23:59:59.5", Sql, false, Some((-1, 500_000_000)));
    // Years of up to nine digits, as in Java's `LocalDateTime`.
    check("+999999999-12-31 23:59:59", Sql, false, Some((31_556_889_832_780_799, 0)));
    check("-999999999-01-01 00:00:00", Sql, false, Some((-31_557_014_135_596_800, 0)));
    check("+1000000000-01-01 00:00:00", Sql, false, None);
    check("-0001-02-29 00:00:00", Sql, false, Some((-62_193_744_000, 0)));
    check("2019-11-12T18:00:12", Sql, false, None);
    check("2019-11-12T18:00:12Z", Iso, false, None);
    check("2019-11-12 18:00:12", Iso, false, None);
    check("2019-11-12T18:00:12", Iso, true, None);
    check("2019-11-12T18:00:12+0800", Iso, true, None);
    check("2019-11-12T18:00:12+19:00", IsoWithOffset, true, None);
    check("2019-11-12", Sql, false, None);
    check("", Sql, false, None);
    check("2019-11-12 18:00:12 ", Sql, false, None);
}

/// The short way for the usual form finds the same timestamp as the way for all forms, or leaves the text to it.
#[test]
fn the_usual_form_is_read_as_any_other() {
    let any = |text: &'static str| -> Option<(i64, u32, &str)> {
        let (year, month, day, rest) = date_parts(text)?;
        let (seconds, nanos, rest) = time_parts(rest.strip_prefix(' ')?)?;
        Some((days(year, month, day.min(month_length(year, month))) * DAY_SECONDS + seconds, nanos, rest))
    };
    let mut usual = 0;
    for year in [0, 4, 1900, 1969, 2000, 2023, 2024, 9999] {
        for month in 0..=13 {
            for day in [0, 1, 28, 29, 30, 31, 32] {
                for time in [
                    "00:00:00",
                    "23:59:59.9",
                    "24:00:00",
                    "12:60:00",
                    "12:00:60",
                    "1:00:000",
                    "01:02:03.0123456789",
                ] {
                    let text: &str = format!("{year:04}-{month:02}-{day:02} {time}Z").leak();
                    let found = usual_timestamp(text, b' ');
                    assert!(found.is_none() || found == any(text), "{text}");
                    usual += usize::from(found.is_some());
                }
            }
        }
    }
    assert_eq!(usual, 2 * (8 * 12 * 2 + 8 * 11 * 2 + 7 * 8 + 4));
}

/// Timestamps convert to each time unit up to its limits; 64-bit nanoseconds end in 1677 and 2262.
#[test]
fn instants_are_held_in_units() {
    let check = |instant, unit, expected: Option<i64>| {
        assert_eq!(in_unit(instant, unit), expected, "{instant:?}");
        if let Some(value) = expected {
            let (seconds, nanos) = of_unit(value, unit);
            assert_eq!(in_unit((seconds, nanos), unit), expected);
        }
    };
    check((-1, 500_000_000), TimeUnit::Millisecond, Some(-500));
    check((1, 123_456_789), TimeUnit::Microsecond, Some(1_123_456));
    check((9_223_372_036, 854_775_807), TimeUnit::Nanosecond, Some(i64::MAX));
    check((9_223_372_036, 854_775_808), TimeUnit::Nanosecond, None);
    check((-9_223_372_037, 145_224_192), TimeUnit::Nanosecond, Some(i64::MIN));
    check((-9_223_372_037, 145_224_191), TimeUnit::Nanosecond, None);
    check((i64::MAX / 1_000 + 1, 0), TimeUnit::Millisecond, None);
}

/// Dates are written and read back unchanged, also in unusual years.
#[test]
fn days_there_and_back() {
    for days in (-800_000..3_000_000).step_by(61) {
        let written = text(|to| write_date(days, to));
        assert_eq!(date(&written), Some(days as i32), "{written}");
    }
    assert_eq!(text(|to| write_date(2_932_897, to)), "+10000-01-01");
    assert_eq!(text(|to| write_date(-719_893, to)), "-0001-01-01");
    assert_eq!(text(|to| write_date(-719_528, to)), "0000-01-01");
    let stamp =
        |value, unit, is_instant| text(|to| write_timestamp(value, unit, TimestampForm::Sql, is_instant, to));
    assert_eq!(stamp(-500, TimeUnit::Millisecond, false), "1969-12-31 23:59:59.5");
    assert_eq!(stamp(123_456, TimeUnit::Millisecond, true), "1970-01-01 00:02:03.456Z");
    assert_eq!(stamp(i64::MIN, TimeUnit::Nanosecond, false), "1677-09-21 00:12:43.145224192");
    assert!(stamp(i64::MIN, TimeUnit::Millisecond, false).starts_with("-292275055-05-16 "));
    assert_eq!(text(|to| write_time(43_932_230, to)), "12:12:12.23");
}

/// Base64 agrees with the test vectors of RFC 4648, section 10, and invalid base64 is refused.
#[test]
fn base64_there_and_back() {
    let check = |plain: &str, coded: &str| {
        assert_eq!(text(|to| write_base64(plain.as_bytes(), to)), coded);
        let mut decoded = Vec::new();
        assert_eq!(decode_base64(coded.as_bytes(), &mut decoded), Some(()));
        assert_eq!(decoded, plain.as_bytes());
    };
    check("", "");
    check("f", "Zg==");
    check("fo", "Zm8=");
    check("foo", "Zm9v");
    check("foob", "Zm9vYg==");
    check("foobar", "Zm9vYmFy");
    let mut to = Vec::new();
    assert_eq!(decode_base64(b" Zm9v\n Zm9v ", &mut to), Some(()));
    assert_eq!(to, b"foofoo");
    // Bits after the last byte are ignored.
    to.clear();
    assert_eq!(decode_base64(b"Zm9v\tZh== ", &mut to), Some(()));
    assert_eq!(to, b"foof");
    for wrong in [
        "Z",
        "Zg",
        "Zg=",
        "Zg==Zg==",
        "Zg== Zg==",
        "Zm 9v",
        "Zg= =",
        "Z===",
        "====",
        "Zm9*",
        "Zm9\u{e9}",
        "=Zm9",
    ] {
        assert_eq!(decode_base64(wrong.as_bytes(), &mut Vec::new()), None, "{wrong}");
    }
}
