//! Results of PRINTF beside those of Java's `String.format`, which were worked out by its documentation.

use super::*;

fn shown(pattern: &str, number: f64) -> Option<String> {
    let array: ArrayRef = std::sync::Arc::new(arrow::array::Float64Array::from(vec![number]));
    formatted(pattern, array, &SqlType::Double)
}

fn whole(pattern: &str, number: i32) -> Option<String> {
    let array: ArrayRef = std::sync::Arc::new(arrow::array::Int32Array::from(vec![number]));
    formatted(pattern, array, &SqlType::Int)
}

fn formatted(pattern: &str, array: ArrayRef, of: &SqlType) -> Option<String> {
    let column = Column::of(&ColumnarValue::Array(array), of, chrono_tz::Tz::UTC).unwrap();
    let mut out = String::new();
    written(&parsed(pattern)?, &[column], 0, &mut out).unwrap().map(|()| out)
}

#[test]
fn floats_are_rounded_half_up_by_their_shortest_digits() {
    for (pattern, number, expected) in [
        ("%.1f", 0.15, "0.2"),
        ("%.0f", 0.5, "1"),
        ("%.0f", 0.4, "0"),
        ("%.2f", 0.004, "0.00"),
        ("%.2f", 0.005, "0.01"),
        ("%.2f", 9.995, "10.00"),
        ("%f", 1e10, "10000000000.000000"),
        ("%.3f", -0.0, "-0.000"),
        ("%08.2f", -3.15159, "-0003.15"),
        ("%,.1f", 1234567.25, "1,234,567.3"),
        ("%(,.2f", -1234.5, "(1,234.50)"),
        ("%e", 12345.678, "1.234568e+04"),
        ("%.0e", 0.00095, "1e-03"),
        ("%e", 0.0, "0.000000e+00"),
        ("%E", 1e-10, "1.000000E-10"),
        ("%g", 0.0001, "0.000100000"),
        ("%g", 0.00001, "1.00000e-05"),
        ("%g", 123456.0, "123456."),
        ("%g", 1234567.0, "1.23457e+06"),
        ("%.3g", 0.0, "0.00"),
        ("%05f", f64::NAN, "  NaN"),
        ("%+f", f64::INFINITY, "+Infinity"),
        ("%s", 1e10, "1.0E10"),
    ] {
        let expected = expected.trim_end_matches('.');
        assert_eq!(shown(pattern, number).as_deref(), Some(expected), "{pattern} of {number}");
    }
    assert_eq!(shown("%d", 1.0), None);
}

#[test]
fn whole_numbers_have_signs_zeros_and_groups() {
    for (pattern, number, expected) in [
        ("%05d", 42, "00042"),
        ("%05d", -42, "-0042"),
        ("%+d", 5, "+5"),
        ("% d", 5, " 5"),
        ("%(d", -5, "(5)"),
        ("%(05d", -5, "(005)"),
        ("%,d", 1234567, "1,234,567"),
        ("%-5d|", 7, "7    |"),
        ("%x", -1, "ffffffff"),
        ("%#X", 255, "0XFF"),
        ("%#06x", 255, "0x00ff"),
        ("%o", 8, "10"),
        ("%c", 65, "A"),
        ("%b", 0, "true"),
        ("%s%<s%1$s", 3, "333"),
        ("%5%|%n", 3, "    %|\n"),
        ("%.1s", 123, "1"),
    ] {
        assert_eq!(whole(pattern, number).as_deref(), Some(expected), "{pattern} of {number}");
    }
    let wrong =
        ["%", "%q", "%d %d", "%-d", "%05-d", "%+ d", "%.1d", "%#d", "%<d", "%0$d", "%D", "%--5d", "%f", "%h"];
    for pattern in wrong {
        assert_eq!(whole(pattern, 1), None, "{pattern}");
    }
}

#[test]
fn timestamps_are_shown_as_java_does() {
    let mut text = String::new();
    timestamp(1_704_067_200_000, 1_000, &mut text);
    text.push(' ');
    timestamp(1_704_103_872_500, 1_000, &mut text);
    text.push(' ');
    timestamp(-1, 1_000_000_000, &mut text);
    assert_eq!(text, "2024-01-01T00:00 2024-01-01T10:11:12.500 1969-12-31T23:59:59.999999999");
}
