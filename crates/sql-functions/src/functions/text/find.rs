//! SQL functions that find, replace or take parts of a text by content: POSITION, LOCATE, INSTR, STARTSWITH,
//! ENDSWITH, REPLACE, TRANSLATE, SPLIT_INDEX, SUBSTRING_INDEX, SPLIT, STR_TO_MAP.
//!
//! Positions count characters from 1 on; 0 means not found.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringBuilder};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{Int32Type, Int64Type};

use super::pattern::{self, Patterns};
use crate::functions::collections::map_array;
use crate::functions::each::{self, Input, Kind, Nulls, Octets, Text, bound, expect};
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError};
use crate::types::SqlType;

/// Binds POSITION: the position of the first text in the second, an INT; 0 if it is not found.
pub(super) fn position(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    expect(given, &[Kind::Text, Kind::Text], &[])?;
    locate(given, context)
}

/// Binds LOCATE: the position of the first text in the second, searched from a start position on. The empty
/// text is found at 1, whatever the start.
///
/// Source: Flink, `SqlFunctionUtils.position`, `BinaryStringData.indexOf`.
pub(super) fn locate(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text], &[Kind::Whole])?;
    Ok(bound(types, given, SqlType::Int, Nulls::OfArguments, |arguments, rows| {
        let (needle, text) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
        let start = Input::<Int64Type>::optional(arguments, 2)?;
        each::primitive::<Int32Type, _>(arguments, rows, |row| {
            let start = match &start {
                None => 1,
                Some(start) => start.at(row)?,
            };
            Some(found(needle.at(row)?, text.at(row)?, start) as i32)
        })
    }))
}

/// Returns the first position, in characters from 1 on, of `needle` in `text` at or after `start`; 0 if
/// there is none.
fn found(needle: &str, text: &str, start: i64) -> i64 {
    if needle.is_empty() {
        return 1;
    }
    let skipped = usize::try_from(start.saturating_sub(1)).unwrap_or(0);
    let begin = if skipped == 0 { Some(0) } else { text.char_indices().nth(skipped).map(|(byte, _)| byte) };
    let rest = begin.and_then(|begin| text.get(begin..));
    let hit = rest.and_then(|rest| Some(rest.get(..rest.find(needle)?)?.chars().count()));
    hit.map_or(0, |before| (skipped + before + 1) as i64)
}

/// Binds INSTR: the position of the second argument in the first. A third argument is the start, counted from the end
/// if negative; a fourth is the number of the occurrence.
///
/// Source: Flink, `SqlFunctionUtils.instr`; its documentation names the form with two arguments only.
pub(super) fn instr(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text], &[Kind::Whole, Kind::Whole])?;
    Ok(bound(types, given, SqlType::Int, Nulls::OfArguments, |arguments, rows| {
        let (text, needle) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
        let start = Input::<Int64Type>::optional(arguments, 2)?;
        let occurrence = Input::<Int64Type>::optional(arguments, 3)?;
        let number = |input: &Option<Input<Int64Type>>, row: usize| match input {
            None => Some(1),
            Some(input) => input.at(row),
        };
        each::primitive::<Int32Type, _>(arguments, rows, |row| {
            let (Some(text), Some(needle)) = (text.at(row), needle.at(row)) else { return Ok(None) };
            let (Some(start), Some(occurrence)) = (number(&start, row), number(&occurrence, row)) else {
                return Ok(None);
            };
            if occurrence <= 0 {
                return Err(EvaluationError {
                    code: "BAD_ARGUMENT",
                    message: format!("{occurrence} is no number of an occurrence: they count from 1 on"),
                });
            }
            Ok(Some(nth_found(text, needle, start, occurrence) as i32))
        })
    }))
}

fn nth_found(text: &str, needle: &str, start: i64, occurrence: i64) -> i64 {
    if start < 0 {
        let reversed = |text: &str| text.chars().rev().collect::<String>();
        let back = nth_found(&reversed(text), &reversed(needle), start.saturating_neg(), occurrence);
        let (length, width) = (text.chars().count() as i64, needle.chars().count() as i64);
        return if back == 0 { 0 } else { length + 2 - back - width };
    }
    if start == 0 {
        return 0;
    }
    if needle.is_empty() {
        return 1;
    }
    let mut hit = start - 1;
    for _ in 0..occurrence {
        hit = found(needle, text, hit + 1);
        if hit == 0 {
            return 0;
        }
    }
    hit
}

/// Binds STARTSWITH: true if the first argument begins with the second; both text, or both bytes.
pub(super) fn startswith(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    at_end(given, |whole, part| whole.starts_with(part))
}

/// Binds ENDSWITH: true if the first argument ends with the second; both text, or both bytes.
pub(super) fn endswith(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    at_end(given, |whole, part| whole.ends_with(part))
}

fn at_end(given: &[Argument], has: fn(&[u8], &[u8]) -> bool) -> Result<Bound, BindError> {
    let are_bytes = given.iter().any(|argument| argument.of.is_bytes());
    let kind = if are_bytes { Kind::Bytes } else { Kind::Text };
    let types = expect(given, &[kind, kind], &[])?;
    Ok(bound(types, given, SqlType::Boolean, Nulls::OfArguments, move |arguments, rows| {
        let (whole, part) = (Octets::of(&arguments[0])?, Octets::of(&arguments[1])?);
        each::boolean(arguments, rows, |row| Some(has(whole.at(row)?, part.at(row)?)))
    }))
}

/// Binds REPLACE: every occurrence of the second argument is replaced by the third. The empty text occurs before,
/// between and after all characters, as in Java.
pub(super) fn replace(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text, Kind::Text], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let (text, old) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
        let new = Input::<Text>::of(&arguments[2])?;
        each::written(arguments, rows, |row, out| {
            let (Some(text), Some(old), Some(new)) = (text.at(row), old.at(row), new.at(row)) else {
                return Ok(None);
            };
            let mut done = 0;
            for (begin, hit) in text.match_indices(old) {
                each::made(out.len().checked_add(new.len()))?;
                out.push_str(text.get(done..begin).unwrap_or_default());
                out.push_str(new);
                done = begin + hit.len();
            }
            out.push_str(text.get(done..).unwrap_or_default());
            Ok(Some(()))
        })
    }))
}

/// Binds TRANSLATE: each character of the second argument is replaced by the one at its position in the third, or
/// removed if there is none. NULL in the second changes nothing; NULL in the third counts as the empty text.
///
/// Source: Flink, `TranslateFunction`.
pub(super) fn translate(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text, Kind::Text], &[])?;
    let first = given.first().into_iter().cloned().collect::<Vec<_>>();
    Ok(bound(types, &first, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let (text, from) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
        let to = Input::<Text>::of(&arguments[2])?;
        let table_of = |row: usize| {
            let mut table = HashMap::new();
            let mut new = to.at(row).unwrap_or_default().chars();
            for old in from.at(row).unwrap_or_default().chars() {
                let new = new.next();
                // If a character occurs several times in the second argument of TRANSLATE, the first
                // occurrence decides its replacement.
                table.entry(old).or_insert(new);
            }
            table
        };
        let is_constant = from.is_constant() && to.is_constant();
        let mut table = if is_constant { table_of(0) } else { HashMap::new() };
        each::written(arguments, rows, |row, out| {
            if !is_constant {
                table = table_of(row);
            }
            out.extend(text.at(row)?.chars().filter_map(|old| match table.get(&old) {
                None => Some(old),
                Some(new) => *new,
            }));
            Some(())
        })
    }))
}

/// Binds SPLIT_INDEX: splits a text at a separator and returns the part at an index, from 0 on; NULL if there are
/// fewer parts. The separator is a text, or the number of a character from 1 to 255; the empty text splits at white
/// space. The empty text has no parts.
///
/// Source: Flink, `SqlFunctionUtils.splitIndex`.
pub(super) fn split_index(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let is_number = given.get(1).is_some_and(|separator| separator.of.is_integer());
    let kind = if is_number { Kind::Whole } else { Kind::Text };
    let types = expect(given, &[Kind::Text, kind, Kind::Whole], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, move |arguments, rows| {
        let (text, index) = (Input::<Text>::of(&arguments[0])?, Input::<Int64Type>::of(&arguments[2])?);
        let index = |row: usize| usize::try_from(index.at(row)?).ok();
        if is_number {
            let separator = Input::<Int64Type>::of(&arguments[1])?;
            return each::text(arguments, rows, |row| {
                let separator = u8::try_from(separator.at(row)?).ok().filter(|number| *number > 0)?;
                let text = text.at(row).filter(|text| !text.is_empty())?;
                text.split(char::from(separator)).nth(index(row)?)
            });
        }
        let separator = Input::<Text>::of(&arguments[1])?;
        each::text(arguments, rows, |row| {
            let (separator, index) = (separator.at(row)?, index(row)?);
            let text = text.at(row).filter(|text| !text.is_empty())?;
            match separator {
                "" => text.split(char::is_whitespace).nth(index),
                _ => text.split(separator).nth(index),
            }
        })
    }))
}

/// Binds SUBSTRING_INDEX: the text before the n-th occurrence of a delimiter, or after the n-th from the end if n is
/// negative.
///
/// Flink's documentation does not have this function yet; the meaning is that of MySQL and Spark.
pub(super) fn substring_index(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text, Kind::Whole], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let (text, delimiter) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
        let count = Input::<Int64Type>::of(&arguments[2])?;
        each::text(arguments, rows, |row| {
            let (text, delimiter, count) = (text.at(row)?, delimiter.at(row)?, count.at(row)?);
            if delimiter.is_empty() || count == 0 {
                return Some("");
            }
            let place = usize::try_from(count.unsigned_abs() - 1).unwrap_or(usize::MAX);
            if count > 0 {
                let hit = text.match_indices(delimiter).nth(place);
                return text.get(..hit.map_or(text.len(), |(begin, _)| begin));
            }
            let hit = text.rmatch_indices(delimiter).nth(place);
            text.get(hit.map_or(0, |(begin, _)| begin + delimiter.len())..)
        })
    }))
}

/// Binds SPLIT: splits a text at a delimiter, or into characters if the delimiter is empty. The empty text has no
/// parts.
///
/// Source: Flink, `SplitFunction`, `BinaryStringDataUtil.splitByWholeSeparatorPreserveAllTokens`.
pub(super) fn split(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text], &[])?;
    let result = SqlType::Array(Box::new(SqlType::STRING));
    Ok(bound(types, given, result, Nulls::OfArguments, |arguments, rows| {
        let (text, delimiter) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
        each::text_lists(arguments, rows, |row, out| {
            let (Some(text), Some(delimiter)) = (text.at(row), delimiter.at(row)) else { return Ok(None) };
            match delimiter {
                _ if text.is_empty() => {}
                "" => out.extend(text.split_inclusive(|_: char| true))?,
                _ => out.extend(text.split(delimiter))?,
            }
            Ok(Some(()))
        })
    }))
}

/// Binds STR_TO_MAP: a map of text. One pattern separates pairs, another the key from the value of a pair; the
/// defaults are `,` and `=`. A pair without the second separator is a key without value; of equal keys the last value
/// counts.
///
/// Source: Flink, `SqlFunctionUtils.strToMap`. Differs from Flink: entries keep the order in which keys come first.
pub(super) fn str_to_map(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    if given.len() == 2 {
        return Err(BindError::count(2));
    }
    let types = expect(given, &[Kind::Text], &[Kind::Text, Kind::Text])?;
    for argument in given.iter().skip(1) {
        pattern::check_literal(argument, pattern::Invalid::Refused)?;
    }
    let result = SqlType::Map(Box::new(SqlType::STRING), Box::new(SqlType::STRING));
    let of = result.clone();
    let patterns = Patterns::default();
    Ok(bound(types, given, result, Nulls::OfArguments, move |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        let delimiters = (Input::<Text>::optional(arguments, 1)?, Input::<Text>::optional(arguments, 2)?);
        let count = each::row_count(arguments, rows);
        let (mut keys, mut values) = (StringBuilder::new(), StringBuilder::new());
        let (mut lengths, mut is_valid) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut bytes = 0;
        for row in 0..count {
            let first = delimiters.0.as_ref().map_or(Some(","), |input| input.at(row));
            let second = delimiters.1.as_ref().map_or(Some("="), |input| input.at(row));
            let (Some(text), Some(first), Some(second)) = (text.at(row), first, second) else {
                lengths.push(0);
                is_valid.push(false);
                continue;
            };
            bytes += text.len();
            each::made(Some(bytes))?;
            let entries = entries(text, first, second, &patterns)?;
            for (key, value) in &entries {
                keys.append_value(key);
                values.append_option(*value);
            }
            lengths.push(entries.len());
            is_valid.push(true);
        }
        let columns: (ArrayRef, ArrayRef) = (Arc::new(keys.finish()), Arc::new(values.finish()));
        let offsets = OffsetBuffer::from_lengths(lengths);
        each::shaped(map_array(&of, offsets, columns, Some(NullBuffer::from(is_valid)))?, arguments)
    }))
}

fn entries<'a>(
    text: &'a str,
    first: &str,
    second: &str,
    patterns: &Patterns,
) -> Result<Vec<(&'a str, Option<&'a str>)>, EvaluationError> {
    let mut entries: Vec<(&str, Option<&str>)> = Vec::new();
    if text.is_empty() {
        return Ok(entries);
    }
    let (pairs, inner) = (patterns.required(first)?, patterns.required(second)?);
    let mut pieces = pattern::split(&pairs, text);
    // Empty parts at the end of a split text are dropped, as in Java.
    while pieces.last().is_some_and(|piece| piece.is_empty()) {
        pieces.pop();
    }
    let mut places = HashMap::new();
    for pair in pieces {
        let hit = inner.find(pair).filter(|hit| hit.end() > 0);
        let (key, value) = match hit {
            None => (pair, None),
            Some(hit) => (&pair[..hit.start()], Some(&pair[hit.end()..])),
        };
        let place = *places.entry(key).or_insert(entries.len());
        match entries.get_mut(place) {
            Some(entry) => entry.1 = value,
            None => entries.push((key, value)),
        }
    }
    Ok(entries)
}
