//! SQL functions that take or replace parts of a text by position: SUBSTRING, LEFT, RIGHT, OVERLAY, the
//! TRIMs, LPAD, RPAD.
//!
//! Positions count characters from 1 on.

use arrow::datatypes::Int64Type;

use crate::functions::each::{self, Input, Kind, Nulls, Text, bound, expect};
use crate::functions::{Argument, BindError, Bound, Context};
use crate::types::SqlType;

/// Binds SUBSTRING: the characters of a text from a position on, up to a length or to the end. Position 0
/// counts as 1, negative positions count from the end. A position before the first character or after the
/// last gives the empty text; a negative length gives NULL.
///
/// Source: Flink, `BinaryStringDataUtil.substringSQL`.
pub(super) fn substring(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Whole], &[Kind::Whole])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, |arguments, rows| {
        let (text, start) = (Input::<Text>::of(&arguments[0])?, Input::<Int64Type>::of(&arguments[1])?);
        let length = Input::<Int64Type>::optional(arguments, 2)?;
        each::text(arguments, rows, |row| {
            let (text, start) = (text.at(row)?, start.at(row)?);
            let length = match &length {
                None => i64::MAX,
                Some(length) => length.at(row)?,
            };
            part(text, start, length)
        })
    }))
}

/// Returns the part of a text that SUBSTRING takes; see [`substring`].
fn part(text: &str, start: i64, length: i64) -> Option<&str> {
    let length = usize::try_from(length).ok()?;
    let begin = match start {
        0 => Some(0),
        1.. => byte_of(text, start as u64 - 1),
        // A negative position -n counts from the end: the part begins where the last n characters of the text
        // begin.
        _ => byte_from_end(text, start.unsigned_abs()),
    };
    let Some(rest) = begin.and_then(|begin| text.get(begin..)) else { return Some("") };
    let end = byte_of(rest, length as u64).unwrap_or(rest.len());
    rest.get(..end)
}

/// Returns the byte position of the character of a text at an index from 0 on; `None` if the text is shorter.
fn byte_of(text: &str, index: u64) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    if text.is_ascii() {
        return (index < text.len()).then_some(index);
    }
    text.char_indices().nth(index).map(|(byte, _)| byte)
}

/// Returns the byte position at which the last `count` characters of a text begin; `None` if the text has
/// fewer.
fn byte_from_end(text: &str, count: u64) -> Option<usize> {
    let count = usize::try_from(count).ok()?;
    text.char_indices().rev().nth(count.checked_sub(1)?).map(|(byte, _)| byte)
}

/// Binds LEFT: the first characters of a text, as many as a count says; the empty text for counts below one.
pub(super) fn left(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    end_of(given, |text, count| text.get(..byte_of(text, count).unwrap_or(text.len())))
}

/// Binds RIGHT: the last characters of a text, as many as a count says; the empty text for counts below one.
pub(super) fn right(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    end_of(given, |text, count| text.get(byte_from_end(text, count).unwrap_or(0)..))
}

fn end_of(given: &[Argument], take: fn(&str, u64) -> Option<&str>) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Whole], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, move |arguments, rows| {
        let (text, count) = (Input::<Text>::of(&arguments[0])?, Input::<Int64Type>::of(&arguments[1])?);
        each::text(arguments, rows, |row| {
            let (text, count) = (text.at(row)?, count.at(row)?);
            if count <= 0 { Some("") } else { take(text, count as u64) }
        })
    }))
}

/// Binds OVERLAY: a text in which another text replaces the characters from a position on. By default as many
/// characters are replaced as the other text has. A position outside the text changes nothing; a length below
/// one replaces all that follows.
///
/// Source: Flink, `SqlFunctionUtils.overlay`.
pub(super) fn overlay(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text, Kind::Whole], &[Kind::Whole])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let (text, new) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
        let start = Input::<Int64Type>::of(&arguments[2])?;
        let length = Input::<Int64Type>::optional(arguments, 3)?;
        each::written(arguments, rows, |row, out| {
            let (text, new, start) = (text.at(row)?, new.at(row)?, start.at(row)?);
            let length = match &length {
                None => new.chars().count() as i64,
                Some(length) => length.at(row)?,
            };
            let begin = (start > 0).then(|| byte_of(text, start as u64 - 1)).flatten();
            let Some((head, rest)) = begin.and_then(|begin| text.split_at_checked(begin)) else {
                out.push_str(text);
                return Some(());
            };
            out.push_str(head);
            out.push_str(new);
            if length > 0
                && let Some(tail) = byte_of(rest, length as u64).and_then(|end| rest.get(end..))
            {
                out.push_str(tail);
            }
            Some(())
        })
    }))
}

/// Ends of a text at which a trim function removes characters.
#[derive(Clone, Copy)]
struct Ends {
    leading: bool,
    trailing: bool,
}

const BOTH: Ends = Ends { leading: true, trailing: true };
const LEADING: Ends = Ends { leading: true, trailing: false };
const TRAILING: Ends = Ends { leading: false, trailing: true };

/// Binds TRIM without characters: removes spaces at both ends of a text.
pub(super) fn trim(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    expect(given, &[Kind::Text], &[])?;
    trimmed(given, BOTH, Order::TextFirst)
}

/// Binds TRIM(BOTH ..): removes any of the given characters at both ends of a text.
pub(super) fn trim_both(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    trimmed(given, BOTH, Order::CharactersFirst)
}

/// Binds TRIM(LEADING ..): removes any of the given characters at the start of a text.
pub(super) fn trim_leading(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    trimmed(given, LEADING, Order::CharactersFirst)
}

/// Binds TRIM(TRAILING ..): removes any of the given characters at the end of a text.
pub(super) fn trim_trailing(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    trimmed(given, TRAILING, Order::CharactersFirst)
}

/// Binds BTRIM: removes spaces, or any of the given characters, at both ends of a text.
pub(super) fn btrim(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    trimmed(given, BOTH, Order::TextFirst)
}

/// Binds LTRIM: removes spaces, or any of the given characters, at the start of a text.
pub(super) fn ltrim(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    trimmed(given, LEADING, Order::TextFirst)
}

/// Binds RTRIM: removes spaces, or any of the given characters, at the end of a text.
pub(super) fn rtrim(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    trimmed(given, TRAILING, Order::TextFirst)
}

/// Order of the arguments of a trim function: the text first, or the characters to remove.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    TextFirst,
    CharactersFirst,
}

/// Binds a trim function. Differs from Flink: all of the given characters are trimmed even if the first one
/// is a space. Flink trims only spaces then (`BinaryStringDataUtil.isSpaceString` looks at one byte).
fn trimmed(given: &[Argument], ends: Ends, order: Order) -> Result<Bound, BindError> {
    let types = match order {
        Order::TextFirst => expect(given, &[Kind::Text], &[Kind::Text])?,
        Order::CharactersFirst => expect(given, &[Kind::Text, Kind::Text], &[])?,
    };
    let (text_place, other_place) = if order == Order::TextFirst { (0, 1) } else { (1, 0) };
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, move |arguments, rows| {
        let text = Input::<Text>::of(&arguments[text_place])?;
        let characters = Input::<Text>::optional(arguments, other_place)?;
        each::text(arguments, rows, |row| {
            let text = text.at(row)?;
            let Some(characters) = &characters else { return Some(cut_ends(text, ends, |c| c == ' ')) };
            let characters = characters.at(row)?;
            Some(match characters.as_bytes() {
                [only] => cut_ends(text, ends, |c| c == char::from(*only)),
                _ => cut_ends(text, ends, |c| characters.contains(c)),
            })
        })
    }))
}

fn cut_ends(text: &str, ends: Ends, goes: impl Fn(char) -> bool) -> &str {
    let text = if ends.leading { text.trim_start_matches(&goes) } else { text };
    if ends.trailing { text.trim_end_matches(&goes) } else { text }
}

/// Binds LPAD: fills a text on the left with repetitions of another text up to a length; longer text is cut.
/// NULL for negative lengths, and if the fill text is empty.
///
/// Source: Flink, `SqlFunctionUtils.lpad`. Differs from Flink: lengths count code points, in Flink UTF-16
/// units.
pub(super) fn lpad(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    padded(given, Side::Left)
}

/// Binds RPAD: fills a text on the right up to a length, as [`lpad`] does on the left.
pub(super) fn rpad(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    padded(given, Side::Right)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

fn padded(given: &[Argument], side: Side) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Whole, Kind::Text], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, move |arguments, rows| {
        let (text, length) = (Input::<Text>::of(&arguments[0])?, Input::<Int64Type>::of(&arguments[1])?);
        let pad = Input::<Text>::of(&arguments[2])?;
        each::written(arguments, rows, |row, out| {
            let (Some(text), Some(length), Some(pad)) = (text.at(row), length.at(row), pad.at(row)) else {
                return Ok(None);
            };
            let Ok(length) = usize::try_from(length) else { return Ok(None) };
            if pad.is_empty() {
                return Ok(None);
            }
            let base = part(text, 1, i64::try_from(length).unwrap_or(i64::MAX)).unwrap_or_default();
            let missing = length - base.chars().count();
            // The size of the padding is checked before it is made; a character takes four bytes at most.
            each::made(missing.checked_mul(4).map(|bytes| bytes.saturating_add(base.len())))?;
            if side == Side::Right {
                out.push_str(base);
            }
            out.extend(pad.chars().cycle().take(missing));
            if side == Side::Left {
                out.push_str(base);
            }
            Ok(Some(()))
        })
    }))
}
