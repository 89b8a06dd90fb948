//! Tests of CSV: the values of Flink's `CsvRowDataSerDeSchemaTest`, wrong quotes, and csv-core as an oracle.

use proptest::prelude::*;

use super::split::{Marks, Record, Split};
use crate::RECORD_BYTES_MAX;
use crate::tests::{bind, check, read, rewrite};

const PLAIN: &str = "csv csv.null-literal=null";
const CUSTOM: &str =
    "csv csv.escape-character=* csv.quote-character=' csv.array-element-delimiter=: csv.field-delimiter=;";

/// Checks that a field between two other fields is read as `expected`, and writes it again. If `is_same`, the
/// output must equal the field, as in Flink.
fn check_field(format: &str, of: &str, field: &str, expected: &str, is_same: bool) {
    let delimiter = if format == CUSTOM { ';' } else { ',' };
    let (table, line) =
        (format!("f0 STRING, f1 {of}, f2 STRING"), format!("BEGIN{delimiter}{field}{delimiter}END"));
    check(format, &table, &line, &format!("(BEGIN, {expected}, END)"));
    if is_same {
        assert_eq!(rewrite(format, &table, &line).as_deref(), Ok(format!("{line}\n").as_str()));
    }
}

/// CSV fields of many types are read and written as in Flink's `testSerializeDeserialize`.
#[test]
fn values_of_flinks_tests() {
    let check = |of: &str, field: &str, expected: &str| check_field(PLAIN, of, field, expected, true);
    check("BIGINT", "null", "NULL");
    check("STRING", "null", "NULL");
    check("STRING", "\"This is a test.\"", "This is a test.");
    check("STRING", "\"This is a test\n\r.\"", "This is a test\n\r.");
    check("BOOLEAN", "true", "true");
    check("BOOLEAN", "null", "NULL");
    check("TINYINT", "124", "124");
    check("SMALLINT", "10000", "10000");
    check("INT", "1234567", "1234567");
    check("BIGINT", "12345678910", "12345678910");
    check("FLOAT", "0.33333334", "0.33333334");
    check("DOUBLE", "0.33333333332", "0.33333333332");
    check("DECIMAL(38, 25)", "\"1234.0000000000000000000000001\"", "1234.0000000000000000000000001");
    check("DECIMAL(38, 0)", "\"123400000000000000000000000001\"", "123400000000000000000000000001");
    check("DATE", "2018-10-12", "2018-10-12");
    check("TIME(0)", "12:12:12", "12:12:12");
    check("TIMESTAMP(0)", "\"2018-10-12 12:12:12\"", "2018-10-12T12:12:12");
    check("TIMESTAMP(0)", "\"2018-10-12 12:12:12.123\"", "2018-10-12T12:12:12.123");
    check("TIMESTAMP_LTZ(0)", "\"1970-01-01 00:02:03Z\"", "1970-01-01T00:02:03Z");
    check("TIMESTAMP_LTZ(0)", "\"1970-01-01 00:02:03.456Z\"", "1970-01-01T00:02:03.456Z");
    check("ROW<f0 STRING, f1 INT, f2 BOOLEAN>", "Hello;42;false", "{f0: Hello, f1: 42, f2: false}");
    check("ARRAY<STRING>", "a;b;c", "[a, b, c]");
    check("ARRAY<TINYINT>", "12;4;null", "[12, 4, NULL]");
    check("BYTES", "awML", "6b030b");
    check("TIME(3)", "12:12:12.232", "12:12:12.232");
    check("TIME(2)", "12:12:12.23", "12:12:12.230");
    check("TIME(1)", "12:12:12.2", "12:12:12.200");
}

/// Other delimiters and quotes are handled as in Flink's `testSerializeDeserializeCustomizedProperties`.
#[test]
fn other_characters() {
    let reads = |of: &str, field: &str, expected: &str| check_field(CUSTOM, of, field, expected, false);
    let same = |of: &str, field: &str, expected: &str| check_field(CUSTOM, of, field, expected, true);
    reads("STRING", "123*'4**", "123'4*");
    same("STRING", "'123''4**'", "123'4*");
    reads("STRING", "'a;b*'c'", "a;b'c");
    same("STRING", "'a;b''c'", "a;b'c");
    reads("INT", "       12          ", "12");
    same("INT", "12", "12");
    reads("ROW<f0 STRING, f1 STRING>", "1:hello", "{f0: 1, f1: hello}");
    same("ROW<f0 STRING, f1 STRING>", "'1:hello world'", "{f0: 1, f1: hello world}");
    same("STRING", "null", "null");
    reads("TIME(3)", "12:12:12.232342", "12:12:12.232");
    reads("TIME(2)", "12:12:12.232312", "12:12:12.230");
    reads("TIME(1)", "12:12:12", "12:12:12");
    reads("TIME(0)", "12:12:12.45", "12:12:12");
    check_field("csv csv.disable-quote-character=true", "STRING", "\"abc", "\"abc", true);
    check("csv csv.field-delimiter=\\t", "a INT, b STRING", "1\tx y\n", "(1, x y)");
    check("csv csv.field-delimiter=\\u0001", "a INT, b STRING", "1\u{1}x\n", "(1, x)");
}

const TABLE: &str = "f0 STRING, f1 INT, f2 STRING";

/// CSV records that are too short, too long, wrong or comments are handled as in Flink's tests.
#[test]
fn rows_that_do_not_fit() {
    let ignoring = "csv csv.ignore-parse-errors=true";
    check("csv", TABLE, "Test,null,Test", "!1 at 0 f1: 'null' does not fit INT");
    check(ignoring, TABLE, "Test,null,Test", "(Test, NULL, Test)");
    check(ignoring, TABLE, "Test", "(Test, NULL, NULL)");
    check("csv", TABLE, "Test", "!1 at 0: the record has 1 fields, but the table 3 columns");
    check(ignoring, TABLE, "Test,12,Test,Test", "");
    check("csv", TABLE, "Test,12,Test,Test", "!1 at 0: the record has 4 fields, but the table 3 columns");
    check("csv", TABLE, "#Test,12,Test", "(#Test, 12, Test)");
    check(
        "csv csv.allow-comments=true",
        TABLE,
        "#Test,12,Test\nTest,12,\"x\n#y\"\n# \"\n",
        "(Test, 12, x\n#y)",
    );
    // One more field than the table has columns is accepted if it is blank.
    check("csv", TABLE, "Test,12,Test,\nTest,13,Test, \n", "(Test, 12, Test) (Test, 13, Test)");
    check("csv", TABLE, "a,1,b,,", "!1 at 0: the record has 5 fields, but the table 3 columns");
    check(
        "csv csv.allow-trailing-comma=false",
        TABLE,
        "a,1,b,",
        "!1 at 0: the record has 4 fields, but the table 3 columns",
    );
    check("csv csv.ignore-trailing-unmappable=true", TABLE, "a,1,b,c,d", "(a, 1, b)");
    check("csv csv.ignore-first-line=true", TABLE, "f0,f1,f2\na,1,b\n", "(a, 1, b)");
    check(
        "csv csv.ignore-first-line=true csv.allow-comments=true",
        TABLE,
        "\u{feff}#x\nf0,f1,f2\na,1,b\n",
        "(a, 1, b)",
    );
}

/// Empty CSV fields are empty texts; columns of other types need the NULL literal. Numbers may have blanks
/// around them.
#[test]
fn empty_fields() {
    check("csv", "a STRING, b STRING", ",\"\"", "(, )");
    check(
        "csv",
        "a STRING, b INT",
        "x,",
        "!1 at 0 b: an empty field does not fit INT: set 'csv.null-literal' to '' if it is NULL",
    );
    check("csv csv.null-literal=", "a STRING, b INT", "x,\n,1", "(x, NULL) (NULL, 1)");
    check("csv csv.empty-string-as-null=true", "a STRING, b INT", "x,\n,1", "(x, NULL) (NULL, 1)");
    check("csv", "a STRING NOT NULL, b INT", ",1", "(, 1)");
    check(
        "csv csv.null-literal=n",
        "a INT NOT NULL, b INT",
        "n,1",
        "!1 at 0 a: has no value, but is NOT NULL",
    );
    check("csv", "a BOOLEAN, b BOOLEAN", ", TRUE ", "(false, true)");
    check(
        "csv",
        "a INT, b DOUBLE, c DECIMAL(3, 1), d TIMESTAMP(0)",
        " 1 , 2.5f , 3.55 , 2021-02-30 00:00:00 ",
        "(1, 2.5, 3.6, 2021-02-28T00:00:00)",
    );
    check("csv", "a DATE, b STRING", "2021-2-30,x", "(2021-03-02, x)");
    check("csv", "a DATE, b STRING", " 2021-02-03,x", "!1 at 0 a: ' 2021-02-03' does not fit DATE");
    check("csv", "a ARRAY<INT>, b ROW<x INT, y STRING>", ",", "([], NULL)");
    check(
        "csv",
        "a ARRAY<INT>, b INT",
        "1;;2,3",
        "!1 at 0 a: an empty field does not fit INT: set 'csv.null-literal' to '' if it is NULL",
    );
    check(
        "csv",
        "a INT, b ROW<x INT, y STRING>",
        "1,2\n1,2;x;y\n",
        "!1 at 0 b: 1 elements do not fit ROW<`x` INT, `y` STRING> !2 at 4 b: 3 elements do not fit ROW<`x` INT, `y` STRING>",
    );
    check(
        "csv csv.ignore-parse-errors=true",
        "a INT, b ROW<x INT, y STRING>",
        "1,2\n",
        "(1, {x: 2, y: NULL})",
    );
    check("csv", "a DECIMAL(2, 0), b INT", "100,1", "(NULL, 1)");
}

/// CSV records may end with any kind of line end, which may also be inside quotes. Empty lines are skipped,
/// except in a table of one column.
#[test]
fn lines() {
    check("csv", "a INT, b STRING", "\u{feff}1,a\r\n2,b\r3,c\n\n\r\n4,d", "(1, a) (2, b) (3, c) (4, d)");
    check("csv", "a STRING", "x\n\ny\n", "(x) () (y)");
    check(
        "csv",
        "a INT, b STRING",
        "1,\"a\r\nb\"\n2,\"\"\"\"\r\n3,\"c\" \t\nx,d",
        "(1, a\r\nb) (2, \") (3, c) !5 at 25 a: 'x' does not fit INT",
    );
    check("csv", "a STRING, b STRING", "\"\",\"\"\n", "(, )");
    check("csv", "a STRING, b STRING", "a\"b,c\"\n", "(a\"b, c\")");
    check("csv", "a STRING, b STRING", b"a,\xff\n", "!1 at 0: byte 2 of the record is no UTF-8");
    check("csv", "a INT, b STRING", "", "");
}

/// Wrong quotes make one line a bad record, and the following lines are read.
#[test]
fn wrong_quotes() {
    let table = "a INT, b STRING";
    let garbage = "neither a delimiter nor a line end follows a closing quote";
    check("csv", table, "1,\"a\"b\n2,c\n", &format!("(2, c) !1 at 0: {garbage}"));
    check("csv", table, "1,\"a\n2,\"b\"\n3,c\n", &format!("(2, b) (3, c) !1 at 0: {garbage}"));
    check("csv", table, "1,\"a\n2,b\n3,c\n", "(2, b) (3, c) !1 at 0: a quote is not closed");
    check("csv", table, "1,a\n2,\"", "(1, a) !2 at 4: a quote is not closed");
    check(
        "csv csv.escape-character=\\",
        table,
        "1,\"a\\\"\n2,b\\",
        "!1 at 0: a quote is not closed !2 at 7: nothing follows an escape",
    );
    // A quote that is never closed makes one bad record of a large file, and the other lines are read.
    let format = bind("csv", table).expect("it is bound");
    let mut bytes = b"1,\"a\n".to_vec();
    for row in 2..200_000 {
        bytes.extend(format!("{row},\"b\"\"b\"\n").bytes());
    }
    let found = read(&format, &bytes);
    assert_eq!((found.rows.len(), found.bad.len()), (199_998, 1));
    bytes.iter_mut().skip(5).filter(|byte| **byte == b'"').for_each(|byte| *byte = b' ');
    let found = read(&format, &bytes);
    assert_eq!((found.rows.len(), found.bad), (199_998, vec!["1 at 0: a quote is not closed".to_owned()]));
}

/// A field of the greatest length of a record is read. With one byte more, or many more, its line is one bad
/// record.
#[test]
fn long_records() {
    let format = bind("csv", "a STRING").expect("it is bound");
    for (extra, rows, bad) in [(0, 3, 0), (1, 2, 1), (70_000, 2, 1)] {
        for is_quoted in [false, true] {
            let mut bytes = b"x\n".to_vec();
            let body = RECORD_BYTES_MAX + extra - if is_quoted { 2 } else { 0 };
            bytes.extend(is_quoted.then_some(b'"'));
            bytes.resize(bytes.len() + body, b'y');
            bytes.extend(is_quoted.then_some(b'"'));
            bytes.extend(b"\nz\n");
            let found = read(&format, &bytes);
            assert_eq!((found.rows.len(), found.bad.len()), (rows, bad), "{extra} {is_quoted}");
            assert_eq!(found.position.lines, 3);
        }
    }
}

/// Fields are quoted by Jackson's rule: long texts, and texts with a character before the comma in ASCII.
/// Without a NULL literal, NULL and empty texts are written alike.
#[test]
fn rows_are_written() {
    let check = |format: &str, table: &str, line: &str, expected: &str| {
        assert_eq!(rewrite(format, table, line).as_deref(), Ok(format!("{expected}\n").as_str()));
    };
    check("csv", TABLE, "Test,12,Hello", "Test,12,Hello");
    check("csv csv.quote-character=#", TABLE, "Test,12,2019-12-26 12:12:12", "Test,12,#2019-12-26 12:12:12#");
    check(
        "csv csv.disable-quote-character=true",
        TABLE,
        "Test,12,2019-12-26 12:12:12",
        "Test,12,2019-12-26 12:12:12",
    );
    check("csv", "a STRING, b STRING", "\"a,b\",\"say \"\"x\"\"\"", "\"a,b\",\"say \"\"x\"\"\"");
    check(
        "csv",
        "a STRING, b STRING",
        "123456789012345678901234,1234567890123456789012345",
        "123456789012345678901234,\"1234567890123456789012345\"",
    );
    check(
        "csv",
        "a STRING, b STRING",
        "ääääääääääääääääääääääää,😀😀😀😀😀😀😀😀😀😀😀😀😀",
        "ääääääääääääääääääääääää,\"😀😀😀😀😀😀😀😀😀😀😀😀😀\"",
    );
    check("csv csv.null-literal=n", "a INT, b STRING", "n,", "n,");
    check("csv csv.ignore-parse-errors=true", "a INT, b STRING", "x,", ",");
    let decimals = "a DECIMAL(10, 0), b DECIMAL(10, 2)";
    check("csv", decimals, "100000,1.50", "\"1E+5\",1.5");
    check("csv csv.write-bigdecimal-in-scientific-notation=false", decimals, "100000,1.50", "100000,1.5");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// The crate csv-core, as an oracle, splits well-formed CSV records into the same fields.
    #[test]
    fn csv_core_agrees(
        records in prop::collection::vec(prop::collection::vec(("[a-c\",\n ]{0,6}", any::<bool>()), 1..4), 1..6)
    ) {
        let mut bytes = Vec::new();
        for record in &records {
            for (place, (field, wants_quotes)) in record.iter().enumerate() {
                if place != 0 {
                    bytes.push(b',');
                }
                let needs_quotes = field.contains([',', '"', '\n']) || (record.len() == 1 && field.is_empty());
                if *wants_quotes || needs_quotes {
                    bytes.extend(format!("\"{}\"", field.replace('"', "\"\"")).bytes());
                } else {
                    bytes.extend(field.bytes());
                }
            }
            bytes.push(b'\n');
        }
        let mut split = Split::new(Marks { delimiter: b',', quote: Some(b'"'), escape: None, has_comments: false });
        let mut reader = csv_core::Reader::new();
        let (mut at, mut read) = (0, 0);
        for _ in &records {
            let (mut output, mut ends) = ([0; 256], [0; 8]);
            let (_, taken, _, count) = reader.read_record(&bytes[read..], &mut output, &mut ends);
            read += taken;
            let starts = std::iter::once(0).chain(ends);
            let expected: Vec<_> = starts.zip(ends).take(count).map(|(start, end)| &output[start..end]).collect();
            let Record::Fields { len, taken } = split.next(&bytes[at..], true) else { panic!("a record") };
            let text = split.text(&bytes[at..at + len]);
            let found: Vec<_> = split.fields().iter().map(|&(start, end)| &text[start..end]).collect();
            prop_assert_eq!(found, expected);
            at += taken;
        }
        prop_assert_eq!((at, read), (bytes.len(), bytes.len()));
    }
}
