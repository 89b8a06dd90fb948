//! Tests of JSON lines: the values of Flink's `JsonRowDataSerDeSchemaTest`, and malformed lines.

use crate::tests::{bind, check as check_format, read, rewrite};
use crate::{DEPTH_MAX, RECORD_BYTES_MAX, RECORD_ROWS_MAX};

fn check(table: &str, line: &str, expected: &str) {
    check_format("json", table, line, expected);
}

/// Flink's `testJsonParse`: each value with its type, the result of reading it, and the result if errors are ignored.
#[test]
fn values_of_flinks_tests() {
    let check = |table: &str, line: &str, form: &str, expected: Result<&str, &str>, ignored: &str| {
        let option = format!("json.timestamp-format.standard={form}");
        let expected = match expected {
            Ok(row) => row.to_owned(),
            Err(reason) => format!("!1 at 0 {reason}"),
        };
        check_format(&format!("json {option}"), table, line, &expected);
        check_format(&format!("json {option} json.ignore-parse-errors=true"), table, line, ignored);
    };
    let fits = |table, line, row| check(table, line, "SQL", Ok(row), row);
    let fails = |table, line, form, reason| check(table, line, form, Err(reason), "(NULL)");
    fits("id BOOLEAN", r#"{"id": "trueA"}"#, "(false)");
    fits("id BOOLEAN", r#"{"id": true}"#, "(true)");
    fails("id INT", r#"{"id":"abc"}"#, "SQL", "id: 'abc' does not fit INT");
    fits("id BIGINT", r#"{"id":112.013}"#, "(112)");
    fails("id BIGINT", r#"{"id":"long"}"#, "SQL", "id: 'long' does not fit BIGINT");
    fails("id FLOAT", r#"{"id":"112.013.123"}"#, "SQL", "id: '112.013.123' does not fit FLOAT");
    fails("id DOUBLE", r#"{"id":"112.013.123"}"#, "SQL", "id: '112.013.123' does not fit DOUBLE");
    fails("id TIME(0)", r#"{"id":"18:00:243"}"#, "SQL", "id: '18:00:243' does not fit TIME(0)");
    fails("id DATE", r#"{"id":"20191112"}"#, "SQL", "id: '20191112' does not fit DATE");
    fits("id STRING", r#"{"id":true}"#, "(true)");
    fits("id STRING", r#"{"id":123.234}"#, "(123.234)");
    fits("id STRING", r#"{"id":1234567}"#, "(1234567)");
    fits("id STRING", r#"{"id":"string field"}"#, "(string field)");
    fits(
        "id STRING",
        r#"{"id":["array data1","array data2",123,234.345]}"#,
        r#"(["array data1","array data2",123,234.345])"#,
    );
    fits(
        "id STRING",
        r#"{"id":{"k1":123,"k2":234.234,"k3":"string data"}}"#,
        r#"({"k1":123,"k2":234.234,"k3":"string data"})"#,
    );
    fails(
        "id TIMESTAMP(0)",
        r#"{"id":"2019-11-12 18:00:12"}"#,
        "ISO-8601",
        "id: '2019-11-12 18:00:12' does not fit TIMESTAMP(0)",
    );
    fails(
        "id TIMESTAMP(0)",
        r#"{"id":"2019-11-12T18:00:12"}"#,
        "SQL",
        "id: '2019-11-12T18:00:12' does not fit TIMESTAMP(0)",
    );
    fails(
        "id TIMESTAMP(0)",
        r#"{"id":"2019-11-12T18:00:12Z"}"#,
        "ISO-8601",
        "id: '2019-11-12T18:00:12Z' does not fit TIMESTAMP(0)",
    );
    fails("id DECIMAL(10, 3)", r#"{"id":"abc"}"#, "SQL", "id: 'abc' does not fit DECIMAL(10, 3)");
    fits("row ROW<id BOOLEAN>", r#"{"row":{"id":"abc"}}"#, "({id: false})");
    check(
        "array ARRAY<INT>",
        r#"{"array":[123, "abc"]}"#,
        "SQL",
        Err("array: 'abc' does not fit INT"),
        "([123, NULL])",
    );
    check(
        "map MAP<STRING, INT>",
        r#"{"map":{"key1":"123", "key2":"abc"}}"#,
        "SQL",
        Err("map: 'abc' does not fit INT"),
        "({key1: 123, key2: NULL})",
    );
    fails(
        "id TIMESTAMP_LTZ(0)",
        r#"{"id":"2019-11-12T18:00:12+0800"}"#,
        "ISO-8601",
        "id: '2019-11-12T18:00:12+0800' does not fit TIMESTAMP_LTZ(0)",
    );
    fits(
        "id INT, factor DECIMAL(38, 18)",
        r#"{"id":1,"factor":799.929496989092949698}"#,
        "(1, 799.929496989092949698)",
    );
    fits("id STRING", "{\"id\":\"\tstring field\"}", "(\tstring field)");
}

/// Numbers are read from strings, in odd forms and at the ends of their ranges. A word in place of a number
/// makes the record bad.
#[test]
fn numbers() {
    check("a TINYINT, b SMALLINT", r#"{"a":-128,"b":"+32767"}"#, "(-128, 32767)");
    check("a TINYINT", r#"{"a":128}"#, "!1 at 0 a: '128' does not fit TINYINT");
    check("a SMALLINT", r#"{"a":1.0}"#, "!1 at 0 a: '1.0' does not fit SMALLINT");
    check("a INT", r#"{"a":1e3}"#, "(1000)");
    check("a INT", r#"{"a":-1.9}"#, "(-1)");
    check("a INT", r#"{"a":"1.9"}"#, "!1 at 0 a: '1.9' does not fit INT");
    check("a INT", r#"{"a":2147483648}"#, "!1 at 0 a: '2147483648' does not fit INT");
    check("a INT", r#"{"a":2147483648.0}"#, "!1 at 0 a: '2147483648.0' does not fit INT");
    check("a BIGINT", r#"{"a":" 7 "}"#, "(7)");
    check("a BIGINT", r#"{"a":-9223372036854775808}"#, "(-9223372036854775808)");
    check("a BIGINT", r#"{"a":9223372036854775808}"#, "!1 at 0 a: '9223372036854775808' does not fit BIGINT");
    check("a INT", r#"{"a":-0}"#, "(0)");
    check("a INT", r#"{"a":true}"#, "!1 at 0 a: 'true' does not fit INT");
    check("a INT", r#"{"a":""}"#, "!1 at 0 a: '' does not fit INT");
    check("a INT", r#"{"a":[1]}"#, "!1 at 0 a: '[1]' does not fit INT");
    check("a DOUBLE, b DOUBLE, c DOUBLE", r#"{"a":"NaN","b":"-Infinity","c":1e999}"#, "(NaN, -inf, inf)");
    check("a DOUBLE", r#"{"a":NaN}"#, "!1 at 0: 'N' at byte 5 of the record, where a value should be");
    check("a DOUBLE, b FLOAT", r#"{"a":-0.0,"b":16777217}"#, "(-0.0, 16777216.0)");
    check("a DECIMAL(3, 1), b DECIMAL(3, 1)", r#"{"a":"99.94","b":99.95}"#, "(99.9, NULL)");
    check("a DECIMAL(3, 1)", r#"{"a":true}"#, "!1 at 0 a: 'true' does not fit DECIMAL(3, 1)");
    check("a BOOLEAN, b BOOLEAN, c BOOLEAN", r#"{"a":" TRUE ","b":1,"c":""}"#, "(true, false, false)");
    check("a BOOLEAN", r#"{"a":{}}"#, "!1 at 0 a: '{}' does not fit BOOLEAN");
    check("a DAYS, b MONTHS", r#"{"a":86400000,"b":14}"#, "(PT86400S, 1 years 2 mons)");
}

/// Text columns take text with escapes, text beyond ASCII, and other JSON values as text. The lengths of
/// their types are not enforced.
#[test]
fn texts() {
    check("a STRING", r#"{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00x"}"#, "(\"\\/\u{8}\u{c}\n\r\té😀x)");
    check("a STRING", r#"{"a":""}"#, "()");
    check("a VARCHAR(2)", r#"{"a":"äöü"}"#, "(äöü)");
    check("a STRING", r#"{"a":1.50e+3}"#, "(1.50e+3)");
    check(
        "a STRING",
        "{\"a\":{ \"x\" : [ 1 , \"\\u00e9\\/\\n\t\" , null ] , \"y\":{ } }}",
        "({\"x\":[1,\"é/\\n\\t\",null],\"y\":{}})",
    );
    check("a INT", r#"{"\u0061":1}"#, "(1)");
    check("a INT", r#"{"\u0061":1,"b":2}"#, "(1)");
    check("é INT", "{\"é\":1}\n{\"\\u00e9\":2}", "(1) (2)");
    check("a BYTES", r#"{"a":"awML"}"#, "(6b030b)");
    check("a BYTES", r#"{"a":"aw"}"#, "!1 at 0 a: 'aw' does not fit BYTES");
    check("a BYTES", r#"{"a":12}"#, "!1 at 0 a: '12' does not fit BYTES");
    let line = format!("{{\"a\":\"{}\"}}", "é".repeat(100));
    check("a INT", &line, &format!("!1 at 0 a: '{}...' does not fit INT", "é".repeat(64)));
}

/// Timestamps keep the digits that their columns hold. A day beyond its month is an error in a DATE, and the last of
/// the month in a TIMESTAMP.
#[test]
fn days_and_times() {
    check(
        "a DATE, b TIME(0), c TIMESTAMP(0), d TIMESTAMP(6), e TIMESTAMP(9), f TIMESTAMP_LTZ(3)",
        r#"{"a":"1990-10-14","b":"12:12:43.5","c":"1990-10-14 12:12:43.123456","d":"1990-10-14 12:12:43.123456789","e":"1990-10-14 12:12:43.123456789","f":"1990-10-14 12:12:43.123Z"}"#,
        "(1990-10-14, 12:12:43.500, 1990-10-14T12:12:43.123, 1990-10-14T12:12:43.123456, \
         1990-10-14T12:12:43.123456789, 1990-10-14T12:12:43.123Z)",
    );
    check("a DATE", r#"{"a":"2021-02-29"}"#, "!1 at 0 a: '2021-02-29' does not fit DATE");
    check("a TIMESTAMP(3)", r#"{"a":"2021-02-29 24:00:00"}"#, "(2021-03-01T00:00:00)");
    check(
        "a TIMESTAMP(9)",
        r#"{"a":"2263-01-01 00:00:00"}"#,
        "!1 at 0 a: '2263-01-01 00:00:00' does not fit TIMESTAMP(9)",
    );
    check("a TIMESTAMP(3)", r#"{"a":1599555555}"#, "!1 at 0 a: '1599555555' does not fit TIMESTAMP(3)");
    check(r"a TIMESTAMP(0)", r#"{"a":"2021-01-01\u002000:00:00"}"#, "(2021-01-01T00:00:00)");
    check_format(
        "json json.timestamp-format.standard=ISO-8601-WITH-OFFSET",
        "a TIMESTAMP(3), b TIMESTAMP_LTZ(3)",
        r#"{"a":"2020-12-30T12:13:14.123+02:00","b":"2020-12-30T12:13:14.123+05:30"}"#,
        "(2020-12-30T10:13:14.123, 2020-12-30T06:43:14.123Z)",
    );
}

/// ARRAY, MAP and ROW are read when they are nested, empty, NULL, or have duplicate keys.
#[test]
fn nested_values() {
    let table = "a ARRAY<ROW<x INT, y MAP<STRING, ARRAY<INT>>>>";
    check(
        table,
        r#"{"a":[{"x":1,"y":{"k":[1,null],"l":null,"m":[]}},null,{},{"y":{}}]}"#,
        "([{x: 1, y: {k: [1, NULL], l: NULL, m: []}}, NULL, {x: NULL, y: NULL}, {x: NULL, y: {}}])",
    );
    check(table, "{\"a\":[]}\n{\"a\":null}\n{}", "([]) (NULL) (NULL)");
    check(table, r#"{"a":[{"x":1},{"x":"b"}]}"#, "!1 at 0 a: field 'x': 'b' does not fit INT");
    check("a ARRAY<INT>", r#"{"a":{"x":1}}"#, "!1 at 0 a: '{\"x\":1}' does not fit ARRAY<INT>");
    check("a ROW<x INT>", r#"{"a":[1]}"#, "!1 at 0 a: '[1]' does not fit ROW<`x` INT>");
    check("a MAP<STRING, INT>", r#"{"a":{"x":1,"y":2,"\u0078":3}}"#, "({x: 3, y: 2})");
    check("a ROW<x INT>", r#"{"a":{"x":1,"z":[{}],"x":2}}"#, "({x: 2})");
    check("a MAP<STRING, INT>, b INT", r#"{"a":{},"b":1}"#, "({}, 1)");
    check_format(
        "json json.ignore-parse-errors=true",
        table,
        r#"{"a":[{"x":"b","y":7},5]}"#,
        "([{x: NULL, y: NULL}, NULL])",
    );
}

/// A value that does not fit the last column removes the values of the columns before it, nested ones
/// included.
#[test]
fn bad_records_leave_nothing() {
    check(
        "a STRING, b ARRAY<INT>, c MAP<STRING, INT>, d ROW<x STRING>, e DECIMAL(4, 1), f BOOLEAN, g INT",
        "{\"a\":\"1\",\"b\":[1],\"c\":{\"k\":1},\"d\":{\"x\":\"q\"},\"e\":1,\"f\":true,\"g\":1}\n\
         {\"a\":\"2\",\"b\":[2,2],\"c\":{\"k\":2,\"l\":2},\"d\":{\"x\":\"qq\"},\"e\":2,\"f\":true,\"g\":\"x\"}\n\
         {\"a\":\"3\",\"b\":[3],\"c\":{\"k\":3},\"d\":{\"x\":\"r\"},\"e\":3,\"f\":false,\"g\":3}\n",
        "(1, [1], {k: 1}, {x: q}, 1.0, true, 1) (3, [3], {k: 3}, {x: r}, 3.0, false, 3) !2 at 65 g: 'x' does not fit INT",
    );
}

/// NULL in a NOT NULL column makes the record bad. A missing key does so only with the option that refuses
/// missing keys.
#[test]
fn missing_and_null() {
    let table = "a INT NOT NULL, b STRING";
    let null = "a: has no value, but is NOT NULL";
    check(
        table,
        "{\"a\":1}\n{\"b\":\"x\"}\n{\"a\":null}",
        &format!("(1, NULL) !2 at 8 {null} !3 at 18 {null}"),
    );
    check("a DECIMAL(1, 0) NOT NULL", r#"{"a":10}"#, &format!("!1 at 0 {null}"));
    check_format(
        "json json.fail-on-missing-field=true",
        "a INT, r ROW<x INT>",
        "{\"a\":1}\n{\"a\":null,\"r\":null}\n{\"a\":1,\"r\":{}}",
        "(NULL, NULL) !1 at 0 r: is missing !3 at 28 r: field 'x': is missing",
    );
    // If errors are ignored, a record whose ignored value belongs to a NOT NULL column is left out.
    let format = bind("json json.ignore-parse-errors=true", table).expect("it is bound");
    let found = read(&format, b"{\"a\":\"x\"}\n{\"a\":2,\"b\":[}\n{\"a\":3,\"b\":1}\n");
    assert_eq!((found.rows, found.bad.len()), (vec!["(3, 1)".to_owned()], 0));
    assert_eq!((found.ignored.values, found.ignored.records), (0, 2));
    let format = bind("json json.ignore-parse-errors=true", "a INT, b INT").expect("it is bound");
    let found = read(&format, b"{\"a\":\"x\",\"b\":\"y\"}\n");
    assert_eq!((found.rows, found.ignored.values), (vec!["(NULL, NULL)".to_owned()], 2));
}

/// Keys are found in any order and notation. They are found, too, if they are duplicate, if one is the prefix
/// of another, or if the text between two values is not that of the line before.
#[test]
fn keys() {
    let table = "a INT, ab INT, b INT";
    check(
        table,
        "{\"a\":1,\"ab\":2,\"b\":3}\n{\"a\":1,\"ab\":2,\"b\":3}\n{\"b\":3,\"ab\":2,\"a\":1}\n{ \"a\" : 1 , \"ab\" :2,\"b\": 3 }\n\
         {\"a\": 1,\"x\":{\"a\":[5]},\"ab\":2}\n{\"a\":1,\"ab\":2,\"b\":3,\"z\":\"}\"}\n{\"a\":9,\"a\":1}\n{\"a\":1,\"a\":null}\n{}\n{ }",
        "(1, 2, 3) (1, 2, 3) (1, 2, 3) (1, 2, 3) (1, 2, NULL) (1, 2, 3) (1, NULL, NULL) (NULL, NULL, NULL) (NULL, NULL, NULL) \
         (NULL, NULL, NULL)",
    );
    check("a INT", "{\"A\":1}", "(NULL)");
    // An object may have more keys, and longer keys, than the scanner keeps texts between values for.
    let many: String = (0..3_000).map(|key| format!("\"k{key}\":{key},")).collect();
    let long = "x".repeat(1_000);
    let line = format!("{{{many}\"{long}\":0,\"a\":1}}\n");
    check("a INT", &line.repeat(2), "(1) (1)");
}

/// A text that is not a JSON document is a bad record, and the error tells where the text is wrong.
#[test]
fn broken_documents() {
    let check = |line: &str, reason: &str| check("a INT", line, &format!("!1 at 0: {reason}"));
    check("{", "the record ends at byte 1, where a key in quotes should be");
    check("x", "'x' at byte 0 of the record, where '{' should be");
    check("null", "'n' at byte 0 of the record, where '{' should be");
    check("\"a\"", "'\"' at byte 0 of the record, where '{' should be");
    check("{\"a\":1} x", "'x' at byte 8 of the record, where the end should be");
    check("{\"a\":1}{\"a\":2}", "'{' at byte 7 of the record, where the end should be");
    check("{\"a\":1,}", "'}' at byte 7 of the record, where a key in quotes should be");
    check("{,\"a\":1}", "',' at byte 1 of the record, where a key in quotes should be");
    check("{\"a\" 1}", "'1' at byte 5 of the record, where ':' should be");
    check("{\"a\":1 \"b\":2}", "'\"' at byte 7 of the record, where ',' or '}' should be");
    check("{\"a\":01}", "'1' at byte 6 of the record, where ',' or '}' should be");
    check("{\"a\":1.}", "'}' at byte 7 of the record, where a digit should be");
    check("{\"a\":-}", "'}' at byte 6 of the record, where a digit should be");
    check("{\"a\":1e}", "'}' at byte 7 of the record, where a digit should be");
    check("{\"a\":tru}", "'t' at byte 5 of the record, where a value should be");
    check("{\"a\":é}", "'é' at byte 5 of the record, where a value should be");
    check("{\"b\":[1 2]}", "'2' at byte 8 of the record, where ',' or ']' should be");
    check("{\"b\":[1,]}", "']' at byte 8 of the record, where a value should be");
    check("{\"b\":{\"x\"}}", "'}' at byte 9 of the record, where ':' should be");
    check("{\"b\":\"x}", "the record ends at byte 8, where the closing quote should be");
    check("{\"b\":\"\\x\"}", "'x' at byte 7 of the record, where an escape should be");
    check("{\"b\":\"\\u12g4\"}", "'g' at byte 10 of the record, where a hexadecimal digit should be");
    check(
        "{\"b\":\"\\ud800\"}",
        "'\"' at byte 12 of the record, where the other half of a letter beyond U+FFFF should be",
    );
    check("{\"b\":\"\\", "the record ends at byte 7, where an escape should be");
    check_format("json", "a INT", b"{\"a\":1,\"b\":\"\xff\"}", "!1 at 0: byte 12 of the record is no UTF-8");
}

/// The greatest number of nested levels is accepted, and one level more is a bad record.
#[test]
fn depth_is_bounded() {
    let nested = |levels: usize| format!("{{\"b\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    check("a INT", &nested(DEPTH_MAX), "(NULL)");
    check("b STRING", &nested(DEPTH_MAX), &format!("({}{})", "[".repeat(63), "]".repeat(63)));
    let reason = "!1 at 0: '[' at byte 68 of the record, where at most 64 levels of nesting should be";
    check("a INT", &nested(DEPTH_MAX + 1), reason);
    check("a INT", &nested(100_000), reason);
}

/// Lines of JSON may end in any way; blank lines and a byte order mark are skipped. Skipped lines count in
/// line numbers.
#[test]
fn lines() {
    check(
        "a INT",
        "\u{feff}{\"a\":1}\r\n\r\n \t\n{\"a\":2}\nx\n\n{\"a\":3}",
        "(1) (2) (3) !5 at 25: 'x' at byte 0 of the record, where '{' should be",
    );
    check("a INT", "", "");
    check("a INT", "\n", "");
    check(
        "a INT",
        "{\"a\":1}\n\u{feff}{\"a\":2}\n",
        "(1) !2 at 8: '\\u{feff}' at byte 0 of the record, where '{' should be",
    );
}

/// A line with an array of rows gives all of its rows, or none if one of them is bad.
#[test]
fn arrays_of_rows() {
    let table = "col1 BIGINT, col2 STRING";
    check(table, r#"[{"col1": 123, "col2": "a"}, {"col1": 456, "col2": "b"}]"#, "(123, a) (456, b)");
    check(table, "[]\n[ ]\n[{}]", "(NULL, NULL)");
    check(
        table,
        "{\"col1\":1}\n[{\"col1\":2},{\"col1\":\"x\"}]\n[{\"col1\":3},4]\n[{\"col1\":5}\n[{}],\n",
        "(1, NULL) !2 at 11 col1: 'x' does not fit BIGINT !3 at 37: '4' at byte 12 of the record, where '{' should be \
         !4 at 52: the record ends at byte 11, where ',' or ']' should be \
         !5 at 64: ',' at byte 4 of the record, where the end should be",
    );
}

/// An array with the greatest number of rows is read; with one row more the record is bad.
#[test]
fn rows_of_a_record_are_bounded() {
    let format = bind("json", "a INT").expect("it is bound");
    for (count, rows, bad) in [(RECORD_ROWS_MAX, RECORD_ROWS_MAX, 0), (RECORD_ROWS_MAX + 1, 0, 1)] {
        let found = read(&format, format!("[{}{{}}]\n", "{},".repeat(count - 1)).as_bytes());
        assert_eq!((found.rows.len(), found.bad.len()), (rows, bad));
    }
}

/// A JSON line that is too long is one bad record, and the next line is read.
#[test]
fn long_lines() {
    let format = bind("json", "a STRING").expect("it is bound");
    let mut bytes = b"{\"a\":\"1\"}\n{\"a\":\"".to_vec();
    bytes.resize(bytes.len() + 2 * RECORD_BYTES_MAX, b'x');
    bytes.extend(b"\"}\n{\"a\":\"3\"}\n");
    let found = read(&format, &bytes);
    assert_eq!(found.rows, ["(1)", "(3)"]);
    assert_eq!(found.bad, ["2 at 10: the record is longer than 1048576 bytes"]);
    assert_eq!(found.raw[0], &bytes[10..10 + RECORD_BYTES_MAX]);
    assert_eq!(found.position.lines, 3);
}

/// Rows are written as in Flink's tests: all types, both forms of timestamps and of decimals, and NULL.
#[test]
fn rows_are_written() {
    let same = |format: &str, table: &str, line: &str| {
        assert_eq!(rewrite(format, table, line).as_deref(), Ok(format!("{line}\n").as_str()));
    };
    same(
        "json json.timestamp-format.standard=ISO-8601 json.encode.decimal-as-plain-number=true",
        "bool BOOLEAN, tinyint TINYINT, smallint SMALLINT, int INT, bigint BIGINT, float FLOAT, name STRING, bytes BYTES, \
         decimal DECIMAL(9, 6), doubles ARRAY<DOUBLE>, date DATE, time TIME(0), timestamp3 TIMESTAMP(3), \
         timestamp9 TIMESTAMP(9), ltz TIMESTAMP_LTZ(9), map MAP<STRING, BIGINT>, map2map MAP<STRING, MAP<STRING, INT>>",
        "{\"bool\":true,\"tinyint\":99,\"smallint\":128,\"int\":45536,\"bigint\":1238123899121,\"float\":33.333,\
         \"name\":\"asdlkjasjkdla998y1122\",\"bytes\":\"awML\",\"decimal\":123.456789,\"doubles\":[1.1,2.2,3.3],\
         \"date\":\"1990-10-14\",\"time\":\"12:12:43\",\"timestamp3\":\"1990-10-14T12:12:43.123\",\
         \"timestamp9\":\"1990-10-14T12:12:43.123456789\",\"ltz\":\"1990-10-14T12:12:43.123456789Z\",\
         \"map\":{\"element\":123},\"map2map\":{\"inner_map\":{\"key\":234}}}",
    );
    let table = "t3 TIMESTAMP(3), t9 TIMESTAMP(9), z3 TIMESTAMP_LTZ(3), z9 TIMESTAMP_LTZ(9)";
    let line = "{\"t3\":\"1990-10-14 12:12:43.123\",\"t9\":\"1990-10-14 12:12:43.123456789\",\
                \"z3\":\"1990-10-14 12:12:43.123Z\",\"z9\":\"1990-10-14 12:12:43.123456789Z\"}";
    same("json", table, line);
    let table = "decimal1 DECIMAL(9, 6), decimal2 DECIMAL(20, 0), decimal3 DECIMAL(11, 9)";
    let line = "{\"decimal1\":123.456789,\"decimal2\":454621864049246170,\"decimal3\":0.000000027}";
    same("json json.encode.decimal-as-plain-number=true", table, line);
    assert_eq!(
        rewrite("json", table, line).as_deref(),
        Ok("{\"decimal1\":123.456789,\"decimal2\":4.5462186404924617E+17,\"decimal3\":2.7E-8}\n"),
    );
    let table = "svt STRING, ops ROW<id STRING>, ids ARRAY<INT>, metrics MAP<STRING, DOUBLE>";
    let line = r#"{"svt":"2020-02-24T12:58:09.209+0800","metrics":{"k1":10.01,"k2":"invalid"}}"#;
    assert_eq!(
        rewrite("json json.ignore-parse-errors=true", table, line).as_deref(),
        Ok(
            "{\"svt\":\"2020-02-24T12:58:09.209+0800\",\"ops\":null,\"ids\":null,\"metrics\":{\"k1\":10.01,\"k2\":null}}\n"
        ),
    );
    assert_eq!(
        rewrite("json json.encode.ignore-null-fields=true", table, "{\"ops\":{}}").as_deref(),
        Ok("{\"ops\":{}}\n"),
    );
    same(
        "json",
        "a STRING, b DOUBLE, c DOUBLE",
        r#"{"a":"\"\\\b\f\n\r\t\u0001\u001F/é😀","b":"NaN","c":"-Infinity"}"#,
    );
    same("json", "a DOUBLE, b DOUBLE, c FLOAT", r#"{"a":1.0E10,"b":-0.0,"c":1.0E-5}"#);
}
