//! Rows and results as words, for the tests of the oracles.
//!
//! The word `a1@3` is the value `a1` at 3 µs, whose key is its first letter; `W5` is a watermark; `|` begins
//! another input.

use std::fmt::Debug;

use super::{Joined, Keeps, Result, Row};

/// Parses the rows of one input or of several inputs, one after the other.
pub(super) fn rows(text: &str) -> Vec<Row<String>> {
    let mut rows = Vec::new();
    let mut watermark_us = None;
    for word in text.split_whitespace() {
        if word == "|" {
            watermark_us = None;
        } else if let Some((value, at_us)) = word.split_once('@') {
            rows.push(Row { at_us: at_us.parse().unwrap(), watermark_us, value: value.to_owned() });
        } else {
            watermark_us = Some(word.strip_prefix('W').unwrap().parse().unwrap());
        }
    }
    rows
}

/// Returns the key of a value, which is its first letter.
#[allow(clippy::ptr_arg, reason = "it is passed where a function of a value is wanted")]
pub(super) fn key_of(value: &String) -> char {
    value.chars().next().unwrap()
}

/// Joins all values of a group with `+`: the aggregate of the tests.
pub(super) fn all(values: &[&String]) -> String {
    values.iter().map(|value| value.as_str()).collect::<Vec<_>>().join("+")
}

/// Formats each result of a window as `0..10:a=a1+a2`: start, end, key, and values.
pub(super) fn shown<K: Debug>(results: &[Result<K, String>]) -> String {
    let show = |result: &Result<K, String>| {
        let key = format!("{:?}", result.key);
        format!("{}..{}:{}={}", result.start_us, result.end_us, key.trim_matches('\''), result.value)
    };
    results.iter().map(show).collect::<Vec<_>>().join(" ")
}

/// Formats each row as `a1@3`, which is the value `a1` at 3 µs.
pub(super) fn shown_rows(rows: &[Row<String>]) -> String {
    rows.iter().map(|row| format!("{}@{}", row.value, row.at_us)).collect::<Vec<_>>().join(" ")
}

/// Shows a pair as `a1a2`, with `_` for a missing side.
pub(super) fn pair((left, right): &Joined<String, String>) -> String {
    let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "_".to_owned());
    side(left) + &side(right)
}

/// Takes the results of a full outer join as text, and returns those that the kind of join `keeps` emits as
/// well.
pub(super) fn kept(full: &str, keeps: Keeps) -> String {
    let value = |word: &str| word.split(['=', '@']).find(|part| part.contains('_')).map(str::to_owned);
    let is_kept = |word: &&str| {
        value(word).is_none_or(|value| if value.starts_with('_') { keeps.right } else { keeps.left })
    };
    full.split_whitespace().filter(is_kept).collect::<Vec<_>>().join(" ")
}
