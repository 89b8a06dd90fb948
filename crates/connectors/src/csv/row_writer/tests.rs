//! Tests of writing rows as text, and of reading them back through the splitter.

use proptest::prelude::*;

use super::*;
use crate::csv::split::Splitter;

fn check(push: impl FnOnce(&mut RowWriter), expected: &str) {
    let mut rows = RowWriter::new();
    push(&mut rows);
    rows.end_row();
    assert_eq!(std::str::from_utf8(rows.as_bytes()), Ok(expected));
}

#[test]
fn numbers() {
    check(|row| row.push_u64(u64::MAX), "18446744073709551615\n");
    check(|row| row.push_i64(i64::MIN), "-9223372036854775808\n");
    for (value, expected) in [
        (2.0, "2.0\n"),
        (-0.0, "-0.0\n"),
        (0.1 + 0.2, "0.30000000000000004\n"),
        (1e300, "1e300\n"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308\n"),
        (f64::NAN, "NaN\n"),
        (f64::NEG_INFINITY, "-inf\n"),
    ] {
        check(|row| row.push_f64(value), expected);
    }
}

#[test]
fn text_is_quoted_where_it_must_be() {
    for (value, expected) in [
        ("plain", "plain\n"),
        (" with spaces ", " with spaces \n"),
        ("a,b", "\"a,b\"\n"),
        ("\"", "\"\"\"\"\n"),
        ("say \"so\"", "\"say \"\"so\"\"\"\n"),
        ("a\nb", "\"a\nb\"\n"),
        ("a\r", "\"a\r\"\n"),
        ("\u{feff}a", "\"\u{feff}a\"\n"),
    ] {
        check(|row| row.push_str(value), expected);
    }
}

/// A row with one empty field is written as `""`, because an empty line would not read back as a row. A row
/// without fields writes nothing.
#[test]
fn rows_of_nothing() {
    check(|row| row.push_str(""), "\"\"\n");
    check(|_| {}, "");
    check(
        |row| {
            row.push_str("");
            row.push_str("");
        },
        ",\n",
    );
}

#[test]
fn rows_follow_each_other() {
    let mut rows = RowWriter::new();
    for value in 1..=2 {
        rows.push_u64(value);
        rows.push_str("");
        rows.end_row();
    }
    rows.push_str("");
    rows.end_row();
    assert_eq!(rows.as_bytes(), b"1,\n2,\n\"\"\n");
    rows.clear();
    rows.push_i64(-1);
    rows.end_row();
    assert_eq!(rows.as_bytes(), b"-1\n");
}

const COLUMNS: [&str; 4] = ["0", "1", "2", "3"];

proptest! {
    /// Fields that were written read back the same, except those with line breaks, since a record is one
    /// line.
    #[test]
    fn rows_read_back(fields in prop::collection::vec("[ab,\"\r\u{e4}\u{feff}\0 ]{0,6}", 1..=4)) {
        let mut rows = RowWriter::new();
        fields.iter().for_each(|field| rows.push_str(field));
        rows.end_row();
        let line = rows.as_bytes().strip_suffix(b"\n").unwrap();
        let is_framed_as_it_is = !line.is_empty() && !line.ends_with(b"\r") && !line.starts_with(b"\xef\xbb\xbf");
        prop_assert!(is_framed_as_it_is);
        let mut splitter = Splitter::new(&COLUMNS[..fields.len()]);
        let row = splitter.split(line).unwrap();
        let found: Vec<&str> = (0..fields.len()).map(|column| row.text(column)).collect();
        prop_assert_eq!(found, fields);
    }

    #[test]
    fn doubles_read_back_to_the_bit(bits: u64) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        let mut rows = RowWriter::new();
        rows.push_f64(value);
        rows.end_row();
        let text = std::str::from_utf8(rows.as_bytes()).unwrap().trim_end();
        prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits);
        prop_assert!(text.contains(['.', 'e']));
    }
}
