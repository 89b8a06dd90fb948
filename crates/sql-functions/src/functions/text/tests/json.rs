//! Tests of the SQL functions of JSON and of the JSON reader.

use proptest::prelude::*;

use super::{check, refused};
use crate::functions::text::json::{DEPTH_MAX, Json, Path, write_number};

#[test]
fn scalars_are_taken_out_of_json() {
    check(r#"JSON_VALUE('{"a": true}', '$.a')"#, "true");
    check(r#"JSON_VALUE('{"a.b": [0.998,0.996]}', '$.["a.b"][0]')"#, "0.998");
    check(r#"JSON_VALUE('{"a b": "x\u00e4\n"}', 'strict $.[''a b'']')"#, "xä\n");
    check(r#"JSON_VALUE('{"a": [1, {"b": "c"}]}', 'lax $.a[1].b')"#, "c");
    check(r#"JSON_VALUE('{"a": [1, 2]}', '$.a[-1]')"#, "2");
    check(r#"JSON_VALUE('{"a": 1.50}', '$.a')"#, "1.50");
    check(r#"JSON_VALUE('{"a": 12345678901234567890}', '$.a')"#, "12345678901234567890");
    check(r#"JSON_VALUE('{"a": null}', '$.a')"#, "NULL");
    check(r#"JSON_VALUE('{"a": {}}', '$.a')"#, "NULL");
    check(r#"JSON_VALUE('{"a": 1}', 'lax $.b')"#, "NULL");
    check(r#"JSON_VALUE('{"a": 1', '$.a')"#, "NULL");
    check(r#"JSON_VALUE('"x"', '$')"#, "x");
    check(r#"JSON_VALUE('{"a": 1, "a": 2}', '$.a')"#, "2");
    check("JSON_VALUE(NULL, '$.a')", "NULL");
    check("JSON_VALUE('1', NULL)", "NULL");
    refused("JSON_VALUE('1', '$..a')", "'$..a' is no path of members and places");
    refused("JSON_VALUE('1', 'a')", "is no path");
    refused("JSON_VALUE('1', '$.a[?(@.b)]')", "is no path");
}

#[test]
fn parts_are_taken_out_of_json() {
    check(r#"JSON_QUERY('{ "a": { "b": 1 } }', '$.a')"#, r#"{"b":1}"#);
    check("JSON_QUERY('[1, 2]', '$')", "[1,2]");
    check(r#"JSON_QUERY('{"a":[{"c":"c1"},{"c":"c2"}]}', 'lax $.a[*].c')"#, r#"["c1","c2"]"#);
    check(
        r#"JSON_QUERY('{"z": 1e3, "b": "\"", "a": [null, true]}', '$')"#,
        r#"{"a":[null,true],"b":"\"","z":1E+3}"#,
    );
    check("JSON_QUERY('1', '$')", "NULL");
    check("JSON_QUERY('{}', 'lax $.invalid')", "NULL");
    check("JSON_QUERY(NULL, '$')", "NULL");
    check(r#"JSON_EXISTS('{"a": true}', '$.a')"#, "true");
    check(r#"JSON_EXISTS('{"a": true}', '$.b')"#, "false");
    check(r#"JSON_EXISTS('{"a": [{ "b": 1 }]}', '$.a[0].b')"#, "true");
    check(r#"JSON_EXISTS('{"a": null}', '$.a')"#, "false");
    check("JSON_EXISTS('no json', '$.a')", "false");
    check("JSON_EXISTS(NULL, '$.a')", "NULL");
}

#[test]
fn json_is_told_from_other_text() {
    for json in ["1", "[]", "{}", "\"abc\"", " null ", "-0.5e+7", "[1,[2,{}]]"] {
        check(&format!("IS_JSON('{json}')"), "true");
    }
    for text in ["abc", "", "[1,]", "{\"a\"}", "01", "1.", "+1", "nul", "\"\\x\"", "\"a\nb\"", "1 2", "{a:1}"]
    {
        check(&format!("IS_JSON('{text}')"), "false");
    }
    check("IS_JSON(NULL)", "false");
    check("IS_JSON('1', 'SCALAR')", "true");
    check("IS_JSON('1', 'ARRAY')", "false");
    check("IS_JSON('[1]', 'ARRAY')", "true");
    check("IS_JSON('{}', 'OBJECT')", "true");
    check("IS_JSON('{}', 'SCALAR')", "false");
    refused("IS_JSON('1', 'THING')", "none of VALUE");
}

#[test]
fn values_are_written_as_json() {
    check("JSON_STRING(NULL)", "NULL");
    check("JSON_STRING(1)", "1");
    check("JSON_STRING(TRUE)", "true");
    check("JSON_STRING('Hello, \"World\"!')", r#""Hello, \"World\"!""#);
    check("JSON_STRING(ARRAY[1, 2, NULL])", "[1,2,null]");
    check("JSON_STRING(ARRAY[ARRAY['ä']])", r#"[["ä"]]"#);
    check("JSON_STRING(DECIMAL '1.5')", "1.50000");
    check("JSON_STRING(X'01020304')", r#""AQIDBA==""#);
    for (number, text) in [
        ("1.0", "1.0"),
        ("0.001", "0.001"),
        ("0.00099", "9.9E-4"),
        ("9999999.0", "9999999.0"),
        ("12345678.5", "1.23456785E7"),
        ("10000000.0", "1.0E7"),
        ("-0.0", "-0.0"),
        ("123.456", "123.456"),
        ("-0.25", "-0.25"),
        ("NaN", "\"NaN\""),
        ("1234500.0", "1234500.0"),
        ("120000000.0", "1.2E8"),
    ] {
        check(&format!("JSON_STRING({number})"), text);
    }
    refused("JSON_STRING(DATE '2020-01-01')", "DATE has no form in JSON");
    check("JSON_STRING(TIMESTAMP '2020-01-01 10:00:00')", r#""2020-01-01T10:00:00""#);
    check("JSON_STRING(TIMESTAMP '0001-02-03 04:05:06.120')", r#""0001-02-03T04:05:06.12""#);
    check("JSON_STRING(TIMESTAMP '1969-12-31 23:59:59.999999')", r#""1969-12-31T23:59:59.999999""#);
    check("JSON_QUOTE('[1,2,3]')", "\"[1,2,3]\"");
    check("JSON_QUOTE('≠ a/b \" \\')", r#""\u2260 a\/b \" \\""#);
    check("JSON_UNQUOTE('\"a\\u0041\\n\"')", "aA\n");
    check("JSON_UNQUOTE('\"[1, 2, 3}')", "\"[1, 2, 3}");
    check("JSON_UNQUOTE('true')", "true");
    check("JSON_UNQUOTE('')", "");
    for text in [
        "[1, 2, 3]",
        "{\"a\": 1}",
        "12",
        "null",
        "\"[\"abc\"]\"",
        "\"\"abc\"\"",
        "\"abc\" \"x\"",
        "\"\\u00\"",
        "\"",
    ] {
        check(&format!("JSON_UNQUOTE('{text}')"), text);
    }
}

/// JSON numbers are written by the rules of Java's `BigDecimal.toString`.
#[test]
fn numbers_are_shown_as_java_shows_them() {
    let check = |number: &str, expected: &str| {
        let mut out = String::new();
        write_number(number, &mut out);
        assert_eq!(out, expected, "{number}");
    };
    check("12", "12");
    check("-0", "0");
    check("-0.0", "0.0");
    check("1.50", "1.50");
    check("1e3", "1E+3");
    check("12.5e3", "1.25E+4");
    check("1.25e1", "12.5");
    check("0.0000001", "1E-7");
    check("0.000001", "0.000001");
    check("-1.5e-10", "-1.5E-10");
    check("1e99999999999999999999", "1E+1099511627776");
    check("0e5", "0E+5");
    // A number may have more digits than the 16 bits of a format's width can count.
    let long = format!("1.{}", "7".repeat(70_000));
    check(&long, &long);
}

/// JSON that is nested too deep is refused and does not overflow the stack.
#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(Json::read(&nested(DEPTH_MAX)).is_some());
    assert!(Json::read(&nested(DEPTH_MAX + 1)).is_none());
    assert!(Json::read(&"[".repeat(1_000_000)).is_none());
}

proptest! {
    /// JSON that this crate writes is read back equal, by its own reader and by `serde_json`.
    #[test]
    fn json_survives_writing(text in ".{0,20}", numbers in prop::collection::vec(any::<i64>(), 0..4)) {
        let json = serde_json::json!({ "text": text, "numbers": numbers, "nested": { "z": null, "a": [true] } });
        let shown = json.to_string();
        let read = Json::read(&shown).expect("it is JSON");
        let mut written = String::new();
        read.write(&mut written);
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&written).expect("still JSON"), json);
    }

    /// No text makes the JSON reader panic, and it accepts all text that `serde_json` accepts.
    #[test]
    fn any_text_is_read_without_a_panic(text in "[\\[\\]{}\",:0-9eE.+\\-a-z\\\\ ]{0,24}") {
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        // The converse is not checked, because `serde_json` refuses numbers beyond a double.
        if theirs.is_ok() {
            prop_assert!(Json::read(&text).is_some(), "{}", text);
        }
        let _ = Path::read(&text);
        let _ = crate::functions::text::pattern::compile(&text);
    }
}
