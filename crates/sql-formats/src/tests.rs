//! Test helpers for formats: tables, options, bytes, rows and bad records are written as text, and every input is
//! read whole and in pieces. Also tests of all formats: options, random bytes, and writing followed by reading.

use std::collections::BTreeMap;

use arrow::util::display::{ArrayFormatter, FormatOptions};
use proptest::prelude::*;

use super::*;

/// Returns the columns declared by a text such as `a INT, b STRING NOT NULL, c ROW<x INT, y ARRAY<DATE>>`.
pub(super) fn columns(table: &str) -> Vec<FormatColumn> {
    split(table)
        .into_iter()
        .map(|column| {
            let (name, of) = column.trim().split_once(' ').expect("a name and a type");
            let (of, is_nullable) = match of.strip_suffix(" NOT NULL") {
                Some(of) => (of, false),
                None => (of, true),
            };
            FormatColumn { name: name.to_owned(), of: type_of(of), is_nullable }
        })
        .collect()
}

/// Splits a list at commas outside of brackets.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

fn type_of(text: &str) -> SqlType {
    let text = text.trim();
    let inside = |name: &str, close: char| text.strip_prefix(name).and_then(|rest| rest.strip_suffix(close));
    let digits = |name: &str| inside(name, ')').map(|digits| digits.parse::<u8>().expect("a number"));
    if let Some(item) = inside("ARRAY<", '>') {
        return SqlType::Array(Box::new(type_of(item)));
    }
    if let Some(parts) = inside("MAP<", '>') {
        let parts = split(parts);
        return SqlType::Map(Box::new(type_of(parts[0])), Box::new(type_of(parts[1])));
    }
    if let Some(fields) = inside("ROW<", '>') {
        return SqlType::Row(columns(fields).into_iter().map(|column| (column.name, column.of)).collect());
    }
    if let Some(sizes) = inside("DECIMAL(", ')') {
        let sizes: Vec<u8> = sizes.split(',').map(|size| size.trim().parse().expect("a number")).collect();
        return SqlType::Decimal { precision: sizes[0], scale: sizes[1] };
    }
    if let Some(digits) = digits("TIMESTAMP(") {
        return SqlType::Timestamp(digits);
    }
    if let Some(digits) = digits("TIMESTAMP_LTZ(") {
        return SqlType::TimestampLtz(digits);
    }
    if let Some(digits) = digits("TIME(") {
        return SqlType::Time(digits);
    }
    match text {
        "BOOLEAN" => SqlType::Boolean,
        "TINYINT" => SqlType::TinyInt,
        "SMALLINT" => SqlType::SmallInt,
        "INT" => SqlType::Int,
        "BIGINT" => SqlType::BigInt,
        "FLOAT" => SqlType::Float,
        "DOUBLE" => SqlType::Double,
        "STRING" => SqlType::STRING,
        "VARCHAR(2)" => SqlType::Varchar(2),
        "BYTES" => SqlType::BYTES,
        "DATE" => SqlType::Date,
        "DAYS" => SqlType::DayTime,
        "MONTHS" => SqlType::YearMonth,
        "NULL" => SqlType::Null,
        _ => panic!("no such type: {text}"),
    }
}

/// Binds a format that is given with its options in one text, such as `json json.ignore-parse-errors=true
/// json.x=y`.
pub(super) fn bind(format: &str, table: &str) -> Result<Format, FormatError> {
    let mut words = format.split(' ');
    let name = words.next().expect("a name");
    let option = |word: &str| {
        let (key, value) = word.split_once('=').expect("a key and a value");
        (key.to_owned(), value.to_owned())
    };
    Format::bind(name, &words.map(option).collect::<BTreeMap<_, _>>(), &columns(table))
}

/// The result of decoding an input in a test.
#[derive(PartialEq, Debug, Default)]
pub(super) struct Found {
    /// The rows as text, such as `+I(1, abc)`; the kind of change is shown only for formats with changes.
    pub(super) rows: Vec<String>,
    /// The bad records as text, `2 at 17 a: reason`: line, offset, column and reason.
    pub(super) bad: Vec<String>,
    pub(super) raw: Vec<Vec<u8>>,
    pub(super) ignored: Ignored,
    pub(super) position: Position,
}

/// Decodes bytes in pieces of a given size, and fetches the rows whenever a given number is pending.
pub(super) fn decode(
    format: &Format,
    wanted: &[usize],
    bytes: &[u8],
    piece: usize,
    rows_max: usize,
) -> Found {
    let mut decoder = format.decoder(wanted);
    let mut found = Found::default();
    let (mut start, mut end) = (0, 0);
    loop {
        let is_last = end == bytes.len();
        let (bad, raw) = (&mut found.bad, &mut found.raw);
        let taken = decoder.take(&bytes[start..end], is_last, rows_max, &mut |record| {
            let column = record.column.map(|column| format!(" {column}")).unwrap_or_default();
            bad.push(format!("{} at {}{column}: {}", record.line, record.offset, record.reason));
            raw.push(record.raw.to_vec());
        });
        start += taken.bytes;
        assert_eq!(decoder.position().offset, start as u64);
        assert!(taken.wants_more || rows_max <= decoder.rows(), "it stops for a reason");
        if !taken.wants_more || is_last {
            let decoded = decoder.finish();
            assert_eq!(decoded.kinds.is_some(), format.is_changelog());
            show(&decoded, &mut found.rows);
            assert_eq!(decoder.rows(), 0);
        }
        if taken.wants_more {
            if is_last {
                break;
            }
            end = (end + piece).min(bytes.len());
        }
    }
    assert_eq!(start, bytes.len(), "all bytes are taken at the end");
    found.ignored = decoder.ignored();
    found.position = decoder.position();
    found
}

fn show(decoded: &Decoded, to: &mut Vec<String>) {
    let options = FormatOptions::default().with_null("NULL");
    let columns = decoded.rows.columns().iter();
    let columns: Vec<_> = columns
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).expect("it is shown"))
        .collect();
    for row in 0..decoded.rows.num_rows() {
        let values: Vec<_> = columns.iter().map(|column| column.value(row).to_string()).collect();
        let kind = decoded.kinds.as_ref().map(|kinds| kinds[row].to_string()).unwrap_or_default();
        to.push(format!("{kind}({})", values.join(", ")));
    }
}

/// Decodes all columns of an input, once as a whole and once in pieces, and checks that the results agree.
pub(super) fn read(format: &Format, bytes: &[u8]) -> Found {
    let all: Vec<usize> = (0..format.columns().len()).collect();
    let whole = decode(format, &all, bytes, usize::MAX >> 1, 4_096);
    for (piece, rows_max) in [(1, 1), (3, 4_096), (64, 2), (4_096, 3)] {
        if bytes.len() / piece < 5_000 {
            assert_eq!(decode(format, &all, bytes, piece, rows_max), whole, "pieces of {piece}");
        }
    }
    whole
}

/// Returns the rows as text, followed by the bad records, each after an exclamation mark: `(1, a) (2, b) !2
/// at 9 x: reason`.
pub(super) fn text_of_found(found: &Found) -> String {
    let bad = found.bad.iter().map(|bad| format!("!{bad}"));
    found.rows.iter().cloned().chain(bad).collect::<Vec<_>>().join(" ")
}

pub(super) fn check(format: &str, table: &str, bytes: impl AsRef<[u8]>, expected: &str) {
    let bound = bind(format, table).expect("it is bound");
    let found = text_of_found(&read(&bound, bytes.as_ref()));
    assert_eq!(found, expected, "{format} {table}: {}", String::from_utf8_lossy(bytes.as_ref()));
}

/// Reads rows in a format and writes them again in the same order.
pub(super) fn rewrite(format: &str, table: &str, bytes: impl AsRef<[u8]>) -> Result<String, FormatError> {
    let format = bind(format, table).expect("it is bound");
    let all: Vec<usize> = (0..format.columns().len()).collect();
    let mut decoder = format.decoder(&all);
    let mut bad = Vec::new();
    decoder.take(bytes.as_ref(), true, usize::MAX, &mut |record| bad.push(record.reason));
    assert_eq!(bad, Vec::<String>::new());
    let decoded = decoder.finish();
    let mut written = Vec::new();
    format.encoder()?.write(&decoded.rows, decoded.kinds.as_deref(), &mut written)?;
    Ok(String::from_utf8(written).expect("text"))
}

/// Wrong option names and values are refused before anything is read, with advice on what to write instead.
#[test]
fn options_are_checked() {
    let check = |format: &str, table: &str, code: &str, expected: &str| {
        let error = bind(format, table).expect_err("it is refused");
        assert_eq!((error.code(), error.to_string().as_str()), (code, expected));
    };
    check(
        "jsno",
        "a INT",
        "UNKNOWN_FORMAT",
        "there is no format 'jsno': there are csv, debezium-json, json, raw",
    );
    check("jsonl", "a INT", "UNKNOWN_FORMAT", "there is no format 'jsonl': is 'json' meant?");
    check(
        "json json.ignore-parse-error=true",
        "a INT",
        "UNKNOWN_OPTION",
        "there is no option 'json.ignore-parse-error': is 'json.ignore-parse-errors' meant?",
    );
    check("csv csv.header=true", "a INT", "UNKNOWN_OPTION", "there is no option 'csv.header'");
    check(
        "json json.ignore-parse-errors=yes",
        "a INT",
        "BAD_OPTION",
        "option 'json.ignore-parse-errors': 'yes' is neither 'true' nor 'false'",
    );
    check(
        "json json.ignore-parse-errors=true json.fail-on-missing-field=true",
        "a INT",
        "BAD_OPTION",
        "option 'json.fail-on-missing-field': 'true' does not go with 'ignore-parse-errors': set one of them",
    );
    check(
        "json json.timestamp-format.standard=RFC",
        "a INT",
        "BAD_OPTION",
        "option 'json.timestamp-format.standard': 'RFC' is not among 'SQL', 'ISO-8601', 'ISO-8601-WITH-OFFSET'",
    );
    check(
        "json",
        "a INT, m MAP<INT, INT>",
        "BAD_COLUMN",
        "column 'm': MAP<INT, INT> has no form: keys of JSON are text, write MAP<STRING, ...>",
    );
    check(
        "csv csv.field-delimiter=;;",
        "a INT",
        "BAD_OPTION",
        "option 'csv.field-delimiter': ';;' is not one character of ASCII",
    );
    check(
        "csv csv.quote-character=' csv.disable-quote-character=true",
        "a INT",
        "BAD_OPTION",
        "option 'csv.quote-character': does not go with 'disable-quote-character' = 'true'",
    );
    check("csv", "t TIME(5)", "BAD_COLUMN", "column 't': TIME(5): times have at most 3 digits, TIME(3)");
    check(
        "csv",
        "r ROW<r ROW<a INT>>",
        "BAD_COLUMN",
        "column 'r': ROW<`r` ROW<`a` INT>> has no form in a field: take a scalar, or an ARRAY or a ROW of scalars",
    );
    check("raw", "a INT, b INT", "BAD_COLUMN", "column 'b': a table of format 'raw' has one column, not 2");
    check(
        "raw",
        "a DATE",
        "BAD_COLUMN",
        "column 'a': DATE has no raw form: declare it STRING or BYTES, and cast",
    );
    check(
        "raw raw.charset=UTF-16",
        "a STRING",
        "BAD_OPTION",
        "option 'raw.charset': 'UTF-16' is not read: only 'UTF-8' is",
    );
    // Options whose keys begin with another prefix are ignored.
    assert!(bind("json csv.field-delimiter=; path=x connector=filesystem", "a INT").is_ok());
}

/// A decoder continues where another one has stopped, even inside a record that is too long.
#[test]
fn positions_are_taken_up() {
    let mut bytes = b"\xef\xbb\xbf{\"a\":1}\n".to_vec();
    bytes.resize(bytes.len() + RECORD_BYTES_MAX + 100_000, b'x');
    bytes.extend(b"\n{\"a\":2}\n{\"a\":3}\n");
    for name in ["json", "csv"] {
        let format = bind(name, "a STRING").expect("it is bound");
        let expected = decode(&format, &[0], &bytes, 1 << 16, 4_096);
        assert_eq!((expected.rows.len(), expected.bad.len()), (3, 1), "{name}");
        let (mut rows, mut bad, mut start, mut at) = (Vec::new(), 0, 0, Position::default());
        while start < bytes.len() {
            let mut decoder = format.decoder(&[0]);
            decoder.start(at);
            let mut end = start;
            // More and more bytes are offered until the position moves; then another decoder continues.
            while decoder.position() == at && end < bytes.len() {
                end = (end + 10_000).min(bytes.len());
                start += decoder.take(&bytes[start..end], end == bytes.len(), 1, &mut |_| bad += 1).bytes;
            }
            show(&decoder.finish(), &mut rows);
            at = decoder.position();
        }
        assert_eq!((rows, bad, at), (expected.rows, 1, expected.position), "{name}");
    }
}

/// A decoder without wanted columns still counts the rows.
#[test]
fn rows_without_columns_are_counted() {
    for (format, bytes) in [("json", "{\"a\":1}\n{}\n"), ("csv", "1\n2\n"), ("raw", "\n\n")] {
        let format = bind(format, "a STRING").expect("it is bound");
        assert_eq!(decode(&format, &[], bytes.as_bytes(), 1, 10).rows, ["()", "()"]);
    }
}

/// Only the wanted columns are converted, in the order of the request.
#[test]
fn columns_are_chosen() {
    let table = "a INT, b INT, c STRING";
    for (format, bytes) in [("json", "{\"a\":\"x\",\"b\":2,\"c\":\"3\"}\n"), ("csv", "x,2,3\n")] {
        let format = bind(format, table).expect("it is bound");
        assert_eq!(decode(&format, &[2, 1], bytes.as_bytes(), 1, 10).rows, ["(3, 2)"]);
        assert_eq!(decode(&format, &[0], bytes.as_bytes(), 1, 10).bad, ["1 at 0 a: 'x' does not fit INT"]);
    }
}

const TABLE: &str = "a INT, b STRING NOT NULL, c DOUBLE, d TIMESTAMP(3), e DECIMAL(5, 2), f BOOLEAN, g BYTES, h ARRAY<INT>, \
                     i ROW<x INT, y STRING>";

/// Generates inputs of bytes that resemble records, and of random bytes.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "\n", "\r\n", "\r", ",", "\"", "\"\"", "\\", "{", "}", "[", "]", ":", ";", "#", " ", "null", "true", "1", "-1.5e3",
            "\"a\"", "\"b\"", "\"a\":1", "{\"a\":1,\"b\":\"x\"}", "\\u00e9", "\\ud83d\\ude00", "\\ud800", "\u{feff}", "é", "😀",
            "2020-02-30 24:00:00", "\"op\":\"u\"", "\"before\":", "\"after\":", "\"payload\":", "99999999999999999999", "NaN",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Returns the number of generated inputs of a test; the variable `THALWEG_FUZZ` replaces the default.
fn cases() -> u32 {
    std::env::var("THALWEG_FUZZ").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// No input makes a decoder panic, all bytes are consumed, and the division of the input into pieces
    /// makes no difference.
    #[test]
    fn any_bytes_are_taken(bytes in hostile(), piece in 1_usize..20, rows_max in 1_usize..5) {
        for format in [
            "json", "json json.ignore-parse-errors=true", "csv", "csv csv.escape-character=\\ csv.allow-comments=true",
            "csv csv.ignore-parse-errors=true csv.ignore-first-line=true", "debezium-json",
            "debezium-json debezium-json.schema-include=true",
        ] {
            let format = bind(format, TABLE).expect("it is bound");
            let all: Vec<usize> = (0..format.columns().len()).collect();
            let whole = decode(&format, &all, &bytes, bytes.len().max(1), 4_096);
            prop_assert_eq!(decode(&format, &all, &bytes, piece, rows_max), whole);
        }
        for table in ["a STRING", "a INT NOT NULL", "a BYTES"] {
            let format = bind("raw", table).expect("it is bound");
            let whole = decode(&format, &[0], &bytes, bytes.len().max(1), 4_096);
            prop_assert_eq!(decode(&format, &[0], &bytes, piece, rows_max), whole);
        }
    }

    /// Rows that are written in a format are read back unchanged.
    #[test]
    fn there_and_back(
        rows in prop::collection::vec(
            (any::<Option<i32>>(), ".*", any::<Option<f64>>(), any::<Option<i64>>(), any::<Option<bool>>(),
             prop::collection::vec(any::<u8>(), 0..9), prop::collection::vec(any::<Option<i32>>(), 2..5), "[^\u{0}-\u{8}]*"),
            1..20,
        )
    ) {
        let table = "a INT, b STRING, c DOUBLE, d TIMESTAMP(6), f BOOLEAN, g BYTES, h ARRAY<INT>, i ROW<x STRING, y INT>";
        let mut lines = String::new();
        for (a, b, c, d, f, g, h, x) in &rows {
            let mut g64 = Vec::new();
            write_base64(g, &mut g64);
            let mut stamp = Vec::new();
            let micros = d.map_or(0, |d| d / 1_000);
            value::write_timestamp(micros, arrow::datatypes::TimeUnit::Microsecond, value::TimestampForm::Sql, false, &mut stamp);
            let c = c.filter(|c| c.is_finite());
            let document = serde_json::json!({
                "a": a, "b": b, "c": c, "d": String::from_utf8(stamp).expect("text"), "f": f,
                "g": String::from_utf8(g64).expect("text"), "h": h, "i": {"x": x, "y": a},
            });
            lines.push_str(&document.to_string());
            lines.push('\n');
        }
        let json = bind("json", table).expect("it is bound");
        let all: Vec<usize> = (0..8).collect();
        let mut decoder = json.decoder(&all);
        decoder.take(lines.as_bytes(), true, 4_096, &mut |record| panic!("{record:?}"));
        let given = decoder.finish();
        let delimiters = "csv csv.null-literal=\u{1}n csv.escape-character=\\ csv.array-element-delimiter=\u{2}";
        for format in ["json", "debezium-json", delimiters] {
            let format = bind(format, table).expect("it is bound");
            let mut written = Vec::new();
            format.encoder().expect("it writes").write(&given.rows, None, &mut written).expect("it is written");
            let mut decoder = format.decoder(&all);
            decoder.take(&written, true, 4_096, &mut |record| panic!("{record:?}"));
            prop_assert_eq!(&decoder.finish().rows, &given.rows);
        }
    }
}
