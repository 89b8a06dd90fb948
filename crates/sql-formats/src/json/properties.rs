//! Tests of the JSON scanner against serde_json: both accept the same documents and find the same values in
//! them.
//!
//! Differences by design are left out: control characters in strings, which Flink accepts and serde_json does not;
//! numbers beyond the range of a double, which are infinite in Java; and nesting, which has its own test.

use proptest::prelude::*;
use serde_json::Value;

use crate::tests::{bind, decode};

/// Generates JSON documents of any kind, up to four levels deep.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // Doubles other than eighths of whole numbers are left out, because serde_json reads them slightly
        // inexactly.
        any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        ".{0,8}".prop_map(Value::from),
        "[\\\\\"/\u{8}\n\u{7f}é😀]{0,5}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-d]", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Writes a JSON document as text. Bit 0 of `style` adds blanks between the tokens; bit 1 writes characters
/// beyond ASCII as escapes.
fn text(value: &Value, style: u8) -> String {
    let text = if style & 1 == 0 {
        value.to_string()
    } else {
        serde_json::to_string_pretty(value).expect("it is written").replace('\n', "\t")
    };
    if style & 2 == 0 {
        return text;
    }
    // Bit 1 of the style is set, so every character beyond ASCII is written as an escape.
    let mut escaped = String::new();
    for letter in text.chars() {
        if letter.is_ascii() {
            escaped.push(letter);
        } else {
            letter
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
        }
    }
    escaped
}

/// Returns the text which a STRING column gets for a JSON value: the content of a string, the JSON text of
/// any other value, and NULL (`None`) for `null` and for a missing key.
fn as_text(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    }
}

/// Reads a JSON line with the text columns `a`, `b` and `c`. Returns the text of each column as a JSON
/// string, NULL as `None`; returns `None` for all if the line is bad.
fn scanned(line: &str) -> Option<Vec<Option<Value>>> {
    let format = bind("json", "a STRING, b STRING, c STRING").expect("it is bound");
    let mut decoder = format.decoder(&[0, 1, 2]);
    let mut is_bad = false;
    decoder.take(line.as_bytes(), true, 4_096, &mut |_| is_bad = true);
    let rows = decoder.finish().rows;
    assert_eq!(rows.num_rows(), usize::from(!is_bad), "{line}");
    let cell = |column: usize| {
        use arrow::array::{Array, AsArray};
        let column = rows.column(column).as_string::<i32>();
        column.is_valid(0).then(|| Value::from(column.value(0)))
    };
    (!is_bad).then(|| (0..3).map(cell).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    /// The values of the keys that are read are found in a JSON object whatever surrounds them, and nested
    /// documents equal those of serde_json.
    #[test]
    fn values_agree(entries in prop::collection::vec(("[a-d]", value()), 0..6), style in 0_u8..4) {
        let document = Value::Object(entries.into_iter().collect());
        let line = text(&document, style);
        let found = scanned(&line).expect("it is a document");
        for (key, found) in ["a", "b", "c"].into_iter().zip(found) {
            let expected = document.get(key);
            match (expected, &found) {
                (Some(Value::Array(_) | Value::Object(_)), Some(Value::String(text))) => {
                    prop_assert_eq!(serde_json::from_str::<Value>(text).ok(), expected.cloned());
                    prop_assert!(!text.contains('\t'), "no blanks stay: {}", text);
                }
                _ => prop_assert_eq!(found, as_text(expected).map(Value::from)),
            }
        }
    }

    /// A JSON document with a few changed bytes is accepted by the scanner and by serde_json, or by neither.
    #[test]
    fn mutations_agree(
        entries in prop::collection::vec(("[a-d]", value()), 0..5),
        style in 0_u8..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..3, prop::sample::select(
            b"{}[]:,\"\\ 0123456789.-+eEtrufalsn/x".to_vec())), 1..4),
    ) {
        let mut bytes = text(&Value::Object(entries.into_iter().collect()), style).into_bytes();
        for (place, kind, byte) in changes {
            let at = place.index(bytes.len().max(1)).min(bytes.len());
            match kind {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => drop(bytes.remove(at)),
                _ if at < bytes.len() => bytes[at] = byte,
                _ => {}
            }
        }
        let Ok(line) = String::from_utf8(bytes) else { return Ok(()) };
        let expected: Result<Value, _> = serde_json::from_str(&line);
        let reason = expected.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let is_left_out = reason.contains("control character") || reason.contains("out of range");
        // Only objects are compared, because an array stands for several rows and other documents for none.
        if is_left_out || !line.trim_start().starts_with('{') {
            return Ok(());
        }
        let found = scanned(&line);
        prop_assert_eq!(found.is_some(), expected.is_ok(), "{}: {}", line, reason);
        if let (Some(found), Ok(expected)) = (found, expected) {
            for (key, found) in ["a", "b", "c"].into_iter().zip(found) {
                match expected.get(key) {
                    // Numbers are not changed by the scanner, so they are compared as doubles.
                    Some(Value::Number(number)) => {
                        let found = found.as_ref().and_then(Value::as_str).and_then(|text| text.parse::<f64>().ok());
                        let (found, expected) = (found.unwrap_or(f64::NAN), number.as_f64().unwrap_or(0.0));
                        // A small difference is allowed, because serde_json reads doubles slightly inexactly.
                        prop_assert!((found - expected).abs() <= expected.abs() * 1e-14, "{} {}", found, expected);
                    }
                    Some(Value::Array(_) | Value::Object(_)) => prop_assert!(found.is_some()),
                    other => prop_assert_eq!(found, as_text(other).map(Value::from)),
                }
            }
        }
    }

    /// A line is read in the same way whatever the line before it was: the text between values, which is kept
    /// from line to line, only makes reading faster.
    #[test]
    fn lines_do_not_lean_on_each_other(
        lines in prop::collection::vec((prop::collection::vec(("[a-d]{1,2}", value()), 0..5), 0_u8..4, 0_usize..12), 1..6)
    ) {
        let lines: Vec<String> = lines
            .into_iter()
            .map(|(entries, style, cut)| {
                let line = text(&Value::Object(entries.into_iter().collect()), style);
                // Some lines are cut off at a character, so that they are not complete documents.
                let end = if cut < 8 { line.len() } else { line.len().saturating_sub(cut) };
                line.chars().scan(0, |len, letter| { *len += letter.len_utf8(); (*len <= end).then_some(letter) }).collect()
            })
            .collect();
        let format = bind("json", "a STRING, b STRING, ab DOUBLE").expect("it is bound");
        let together = decode(&format, &[0, 1, 2], lines.join("\n").as_bytes(), 1 << 20, 4_096);
        let alone: Vec<_> = lines.iter().map(|line| decode(&format, &[0, 1, 2], line.as_bytes(), 1 << 20, 4_096)).collect();
        let rows: Vec<_> = alone.iter().flat_map(|found| found.rows.clone()).collect();
        prop_assert_eq!(together.rows, rows);
        prop_assert_eq!(together.bad.len(), alone.iter().map(|found| found.bad.len()).sum::<usize>());
    }
}
