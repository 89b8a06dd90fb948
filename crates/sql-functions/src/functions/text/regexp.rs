//! SQL functions of regular expressions: REGEXP, REGEXP_REPLACE, REGEXP_EXTRACT, REGEXP_EXTRACT_ALL,
//! REGEXP_COUNT, REGEXP_INSTR, REGEXP_SUBSTR.
//!
//! Patterns are Java's, as far as `pattern.rs` supports them. An unsupported literal is refused when the function is
//! bound; an unsupported pattern in a column fails its row. A pattern which is invalid in Java, too, gives NULL
//! (false for REGEXP).

use std::cell::RefCell;
use std::sync::Arc;

use arrow::datatypes::{Int32Type, Int64Type};
use regex::Regex;

use super::pattern::{Cursor, Invalid, Patterns, check_literal, finds};
use crate::functions::each::{self, Input, Kind, Nulls, Text, bound, expect};
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError};
use crate::types::SqlType;
use crate::values::ColumnarValue;

/// Binds REGEXP: true if some part of the text matches a regular expression. The empty expression matches
/// nothing.
///
/// Source: Flink, `SqlFunctionUtils.regExp`.
pub(super) fn regexp(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let (types, patterns) = prepare(given, &[])?;
    Ok(bound(types, given, SqlType::Boolean, Nulls::OfArguments, move |arguments, rows| {
        let cases = Cases::of(arguments, &patterns)?;
        each::boolean(arguments, rows, |row| {
            let Some((text, java)) = cases.both(row) else { return Ok(None) };
            if java.is_empty() {
                return Ok(Some(false));
            }
            Ok(Some(cases.regex(java)?.is_some_and(|regex| regex.is_match(text))))
        })
    }))
}

/// Binds REGEXP_REPLACE: every match of a regular expression is replaced by the third argument. The
/// replacement is literal: `$1` is not a group, since Flink quotes it.
///
/// Source: Flink, `SqlFunctionUtils.regexpReplace` (`Matcher.quoteReplacement`), and its
/// `ScalarFunctionsTest`.
pub(super) fn replace(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let (types, patterns) = prepare(given, &[Kind::Text])?;
    if given.len() != 3 {
        return Err(BindError::count(given.len()));
    }
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, move |arguments, rows| {
        let cases = Cases::of(arguments, &patterns)?;
        let new = Input::<Text>::of(&arguments[2])?;
        each::written(arguments, rows, |row, out| {
            let (Some((text, regex)), Some(new)) = (cases.at(row)?, new.at(row)) else { return Ok(None) };
            let mut done = 0;
            for hit in finds(&regex, text) {
                each::made(out.len().checked_add(new.len()))?;
                out.push_str(text.get(done..hit.start()).unwrap_or_default());
                out.push_str(new);
                done = hit.end();
            }
            out.push_str(text.get(done..).unwrap_or_default());
            Ok(Some(()))
        })
    }))
}

/// Binds REGEXP_EXTRACT: a group of the first match of a regular expression, by default the whole match (0).
/// NULL if there is no match or no such group in it.
pub(super) fn extract(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let (types, patterns) = prepare(given, &[Kind::Whole])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, move |arguments, rows| {
        let cases = Cases::of(arguments, &patterns)?;
        let group = Input::<Int64Type>::optional(arguments, 2)?;
        each::text(arguments, rows, |row| {
            let group = group.as_ref().map_or(Some(0), |group| group.at(row));
            let (Some((text, regex)), Some(group)) = (cases.at(row)?, group) else { return Ok(None) };
            let Ok(group) = usize::try_from(group) else { return Ok(None) };
            Ok(regex.captures(text).and_then(|groups| groups.get(group)).map(|hit| hit.as_str()))
        })
    }))
}

/// Binds REGEXP_EXTRACT_ALL: an array with a group of every match, by default the first group. An item is NULL if the
/// group takes no part in the match. The result is NULL if the pattern has no such group.
///
/// Source: Flink, `RegexpExtractAllFunction`.
pub(super) fn extract_all(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let (types, patterns) = prepare(given, &[Kind::Whole])?;
    let result = SqlType::Array(Box::new(SqlType::STRING));
    Ok(bound(types, given, result, Nulls::Anyway, move |arguments, rows| {
        let cases = Cases::of(arguments, &patterns)?;
        let group = Input::<Int64Type>::optional(arguments, 2)?;
        each::text_lists(arguments, rows, |row, out| {
            let group = group.as_ref().map_or(Some(1), |group| group.at(row));
            let (Some((text, regex)), Some(group)) = (cases.at(row)?, group) else { return Ok(None) };
            let Some(group) = usize::try_from(group).ok().filter(|group| *group < regex.captures_len())
            else {
                return Ok(None);
            };
            let item = |begin: usize| {
                let groups = regex.captures_at(text, begin)?;
                Some(groups.get(group)?.as_str())
            };
            for hit in finds(&regex, text) {
                out.push(if group == 0 { Some(hit.as_str()) } else { item(hit.start()) })?;
            }
            Ok(Some(()))
        })
    }))
}

/// Binds REGEXP_COUNT: the number of matches of a regular expression, an INT.
pub(super) fn count(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    number(given, |regex, text| finds(regex, text).count())
}

/// Binds REGEXP_INSTR: the position of the first match of a regular expression, an INT, from 1 on; 0 if there
/// is none. Differs from Flink: positions count code points, in Flink UTF-16 units.
pub(super) fn instr(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    number(given, |regex, text| {
        let before = regex.find(text).and_then(|hit| text.get(..hit.start()));
        before.map_or(0, |before| before.chars().count() + 1)
    })
}

fn number(given: &[Argument], of: fn(&Regex, &str) -> usize) -> Result<Bound, BindError> {
    let (types, patterns) = prepare(given, &[])?;
    Ok(bound(types, given, SqlType::Int, Nulls::Anyway, move |arguments, rows| {
        let cases = Cases::of(arguments, &patterns)?;
        each::primitive::<Int32Type, _>(arguments, rows, |row| {
            Ok(cases.at(row)?.map(|(text, regex)| of(&regex, text) as i32))
        })
    }))
}

/// Binds REGEXP_SUBSTR: the first match of a regular expression; NULL if there is none.
pub(super) fn substr(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let (types, patterns) = prepare(given, &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, move |arguments, rows| {
        let cases = Cases::of(arguments, &patterns)?;
        each::text(arguments, rows, |row| {
            Ok(cases.at(row)?.and_then(|(text, regex)| Some(regex.find(text)?.as_str())))
        })
    }))
}

fn prepare(given: &[Argument], more: &[Kind]) -> Result<(Vec<SqlType>, Patterns), BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text], more)?;
    check_literal(&given[1], Invalid::Tolerated)?;
    Ok((types, Patterns::default()))
}

/// Arguments of all functions of regular expressions: a text and an expression.
struct Cases<'a> {
    text: Input<Text>,
    pattern: Input<Text>,
    /// Cursor over the compiled regular expressions. The cell lets a method with `&self` use the cursor, so
    /// that it can also return slices of the text.
    cursor: RefCell<Cursor<'a>>,
}

impl<'a> Cases<'a> {
    fn of(arguments: &[ColumnarValue], patterns: &'a Patterns) -> Result<Self, EvaluationError> {
        let (text, pattern) = (Input::of(&arguments[0])?, Input::of(&arguments[1])?);
        Ok(Cases { text, pattern, cursor: RefCell::new(patterns.cursor()) })
    }

    /// Returns the text and the regular expression of a row; `None` if one of them is NULL.
    fn both(&self, row: usize) -> Option<(&str, &str)> {
        Some((self.text.at(row)?, self.pattern.at(row)?))
    }

    /// Returns the text and the compiled regular expression of a row; `None` if one of them is NULL or the
    /// expression is invalid.
    fn at(&self, row: usize) -> Result<Option<(&str, Arc<Regex>)>, EvaluationError> {
        let Some((text, java)) = self.both(row) else { return Ok(None) };
        Ok(self.regex(java)?.map(|regex| (text, regex)))
    }

    fn regex(&self, java: &str) -> Result<Option<Arc<Regex>>, EvaluationError> {
        self.cursor.borrow_mut().get(java)
    }
}
