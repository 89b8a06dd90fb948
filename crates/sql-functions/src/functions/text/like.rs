//! The SQL predicates LIKE and SIMILAR TO.
//!
//! In a pattern, `%` stands for any number of characters and `_` for one. There is no escape character unless
//! one is given. It may stand before `%`, `_` and itself (before any special character in SIMILAR TO), and
//! nowhere else.
//!
//! Source: Flink, `SqlLikeUtils`; Calcite, `Like.sqlToRegexSimilar`. Differs from Flink: `_`, and `%` in
//! SIMILAR TO, match line ends, too.

use std::sync::Arc;

use regex::Regex;

use super::pattern::{self, Cache, Refusal};
use crate::functions::each::{self, Input, Kind, Nulls, Text, bound, expect};
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError};
use crate::types::SqlType;
use crate::values::ColumnarValue;

/// Binds LIKE: true if the whole text matches a pattern of `%` and `_`.
pub(super) fn like(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    matching(given, Matcher::like)
}

/// Binds SIMILAR TO: true if the whole text matches a pattern in which `|`, `*`, `+`, `?`, `{}`, `()` and `[]` have
/// their meaning in regular expressions. As in Calcite, so has `.`, which is not special in the standard.
pub(super) fn similar(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    matching(given, Matcher::similar)
}

type Compile = fn(&str, Option<char>) -> Result<Matcher, String>;
type Compiled = Result<Arc<Matcher>, String>;

fn matching(given: &[Argument], compile: Compile) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text], &[Kind::Text])?;
    let compiled =
        move |pattern: &str, escape: &str| -> Compiled { compile(pattern, escape_of(escape)?).map(Arc::new) };
    let (pattern, escape) = (given[1].text(), given.get(2).map(Argument::text));
    if let Some(Some(escape)) = escape {
        escape_of(escape).map_err(BindError)?;
    }
    if let (Some(pattern), Some(escape)) = (pattern, escape.unwrap_or(Some(""))) {
        let matcher = compiled(pattern, escape).map_err(BindError)?;
        return Ok(bound(types, given, SqlType::Boolean, Nulls::OfArguments, move |arguments, rows| {
            let text = Input::<Text>::of(&arguments[0])?;
            // The pattern argument is not read here, because it is already compiled. It is still among the
            // arguments, so that constant arguments give a scalar.
            each::boolean(arguments, rows, |row| Some(matcher.matches(text.at(row)?)))
        }));
    }
    let cache = Cache::<Compiled>::default();
    Ok(bound(types, given, SqlType::Boolean, Nulls::OfArguments, move |arguments, rows| {
        of_columns(arguments, rows, &cache, compiled)
    }))
}

fn of_columns(
    arguments: &[ColumnarValue],
    rows: usize,
    cache: &Cache<Compiled>,
    compiled: impl Fn(&str, &str) -> Compiled,
) -> Result<ColumnarValue, EvaluationError> {
    let (text, pattern) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
    let escape = Input::<Text>::optional(arguments, 2)?;
    let mut last: Option<(String, Compiled)> = None;
    let mut key = String::new();
    each::boolean(arguments, rows, |row| {
        let escape = escape.as_ref().map_or(Some(""), |escape| escape.at(row));
        let (Some(text), Some(pattern), Some(escape)) = (text.at(row), pattern.at(row), escape) else {
            return Ok(None);
        };
        key.clear();
        key.push_str(escape);
        key.push('\0');
        key.push_str(pattern);
        if last.as_ref().is_none_or(|(known, _)| *known != key) {
            last = Some((key.clone(), cache.get(&key, |_| compiled(pattern, escape))));
        }
        match &last {
            Some((_, Ok(matcher))) => Ok(Some(matcher.matches(text))),
            Some((_, Err(reason))) => Err(EvaluationError { code: "BAD_PATTERN", message: reason.clone() }),
            None => Ok(None),
        }
    })
}

/// Reads the ESCAPE argument of LIKE or SIMILAR TO, which must have one character at most.
fn escape_of(escape: &str) -> Result<Option<char>, String> {
    let mut letters = escape.chars();
    match (letters.next(), letters.next()) {
        (None, _) => Ok(None),
        (Some(letter), None) if letter != '\0' => Ok(Some(letter)),
        _ => Err(format!("'{escape}' is no escape character: give one character")),
    }
}

/// A compiled pattern of LIKE or SIMILAR TO.
#[derive(Debug)]
enum Matcher {
    Equals(String),
    Begins(String),
    Ends(String),
    Contains(String),
    /// A pattern with `%` between literal parts. A text matches if it begins with the first part, ends with
    /// the last, and has the others in between, in order and without overlap.
    Chain {
        first: String,
        between: Vec<String>,
        last: String,
    },
    Regex(Regex),
}

impl Matcher {
    fn matches(&self, text: &str) -> bool {
        match self {
            Matcher::Equals(all) => text == all,
            Matcher::Begins(first) => text.starts_with(first.as_str()),
            Matcher::Ends(last) => text.ends_with(last.as_str()),
            Matcher::Contains(part) => text.contains(part.as_str()),
            Matcher::Chain { first, between, last } => {
                let rest = text.strip_prefix(first.as_str());
                let Some(mut rest) = rest.and_then(|rest| rest.strip_suffix(last.as_str())) else {
                    return false;
                };
                // Each part of the pattern is searched from the left, because the leftmost match leaves the
                // most room for later parts.
                for part in between {
                    let Some(begin) = rest.find(part.as_str()) else { return false };
                    rest = rest.get(begin + part.len()..).unwrap_or_default();
                }
                true
            }
            Matcher::Regex(regex) => regex.is_match(text),
        }
    }

    fn like(pattern: &str, escape: Option<char>) -> Result<Matcher, String> {
        // The pattern is read once: into the literal parts between `%`, and also into a regular expression,
        // which is used if the pattern has a `_`.
        let (mut pieces, mut regex, mut has_one) = (vec![String::new()], String::from("(?s)\\A"), false);
        let mut letters = pattern.chars().enumerate();
        while let Some((place, letter)) = letters.next() {
            let mut literal = |letter: char| {
                if let Some(piece) = pieces.last_mut() {
                    piece.push(letter);
                }
                regex.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4])));
            };
            if Some(letter) == escape {
                match letters.next() {
                    Some((_, next)) if matches!(next, '_' | '%') || Some(next) == escape => literal(next),
                    _ => return Err(bad_escape(pattern, place)),
                }
            } else if letter == '%' {
                pieces.push(String::new());
                regex.push_str(".*");
            } else if letter == '_' {
                has_one = true;
                regex.push('.');
            } else {
                literal(letter);
            }
        }
        if has_one {
            regex.push_str("\\z");
            let regex = Regex::new(&regex);
            return regex.map(Matcher::Regex).map_err(|error| format!("'{pattern}' is no pattern: {error}"));
        }
        let mut pieces = pieces.into_iter();
        let first = pieces.next().unwrap_or_default();
        let mut between: Vec<String> = pieces.collect();
        let Some(last) = between.pop() else { return Ok(Matcher::Equals(first)) };
        between.retain(|piece| !piece.is_empty());
        Ok(match (between.as_slice(), first.as_str(), last.as_str()) {
            ([], _, "") => Matcher::Begins(first),
            ([], "", _) => Matcher::Ends(last),
            ([part], "", "") => Matcher::Contains(part.clone()),
            _ => Matcher::Chain { first, between, last },
        })
    }

    fn similar(pattern: &str, escape: Option<char>) -> Result<Matcher, String> {
        let mut java = String::from("\\A(?:");
        let letters: Vec<char> = pattern.chars().collect();
        let (mut place, mut is_inside) = (0, false);
        while let Some(&letter) = letters.get(place) {
            let rest = letters.get(place..).unwrap_or_default();
            place += 1;
            if Some(letter) == escape {
                match letters.get(place) {
                    Some(&next) if SPECIAL.contains(next) || Some(next) == escape => literal(&mut java, next),
                    _ => return Err(bad_escape(pattern, place - 1)),
                }
                place += 1;
            } else if is_inside && letter == '[' {
                let class =
                    CLASSES.iter().find(|(name, _)| rest.iter().copied().take(name.len()).eq(name.chars()));
                let Some((name, class)) = class else { return Err(bad_pattern(pattern)) };
                java.push_str(class);
                place += name.len() - 1;
            } else {
                match letter {
                    '[' => is_inside = true,
                    ']' if is_inside => is_inside = false,
                    ']' => return Err(bad_pattern(pattern)),
                    '-' | '^' => {}
                    other if is_inside && SPECIAL.contains(other) => return Err(bad_pattern(pattern)),
                    _ => {}
                }
                match letter {
                    '_' if !is_inside => java.push_str("[\\s\\S]"),
                    '%' if !is_inside => java.push_str("(?:[\\s\\S]*)"),
                    '\\' | '$' => literal(&mut java, letter),
                    other => java.push(other),
                }
            }
        }
        if is_inside {
            return Err(bad_pattern(pattern));
        }
        java.push_str(")\\z");
        match pattern::compile(&java) {
            Ok(regex) => Ok(Matcher::Regex(regex)),
            Err(Refusal::Unsupported(reason) | Refusal::Invalid(reason)) => {
                Err(format!("'{pattern}' is no pattern: {reason}"))
            }
        }
    }
}

/// Characters that may be escaped in a pattern of SIMILAR TO.
const SPECIAL: &str = "[]()|^-+*_%?{}";

/// Names of character classes inside brackets of SIMILAR TO, each with the class of a regular expression.
const CLASSES: &[(&str, &str)] = &[
    ("[:ALPHA:]", "\\p{Alpha}"),
    ("[:alpha:]", "\\p{Alpha}"),
    ("[:UPPER:]", "\\p{Upper}"),
    ("[:upper:]", "\\p{Upper}"),
    ("[:LOWER:]", "\\p{Lower}"),
    ("[:lower:]", "\\p{Lower}"),
    ("[:DIGIT:]", "\\d"),
    ("[:digit:]", "\\d"),
    ("[:SPACE:]", " "),
    ("[:space:]", " "),
    ("[:WHITESPACE:]", "\\s"),
    ("[:whitespace:]", "\\s"),
    ("[:ALNUM:]", "\\p{Alnum}"),
    ("[:alnum:]", "\\p{Alnum}"),
];

fn literal(java: &mut String, letter: char) {
    if letter.is_ascii_punctuation() {
        java.push('\\');
    }
    java.push(letter);
}

fn bad_escape(pattern: &str, place: usize) -> String {
    format!("the escape character at {place} of the pattern '{pattern}' stands before nothing special")
}

fn bad_pattern(pattern: &str) -> String {
    format!("'{pattern}' is no pattern of SIMILAR TO: escape special characters inside of brackets")
}
