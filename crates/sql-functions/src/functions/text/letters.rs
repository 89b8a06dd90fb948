//! SQL functions of letter case, characters and concatenation: UPPER, LOWER, INITCAP, REVERSE, CHAR_LENGTH,
//! ASCII, CHR, CONCAT, CONCAT_WS, REPEAT, ELT.

use arrow::datatypes::{DataType, Int32Type, Int64Type};

use crate::functions::each::{self, Bytes, Input, Kind, Nulls, Text, bound, expect};
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError};
use crate::types::{SqlType, common_type};
use crate::values::{ColumnarValue, ScalarValue};

/// Binds UPPER: the text in upper case. Differs from Flink: the locale of the JVM is ignored.
pub(super) fn upper(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    of_text(given, |text, out| {
        if text.is_ascii() {
            out.push_str(text);
            out.make_ascii_uppercase();
        } else {
            out.push_str(&text.to_uppercase());
        }
    })
}

/// Binds LOWER: the text in lower case. Differs from Flink as [`upper`] does.
pub(super) fn lower(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    of_text(given, |text, out| {
        if text.is_ascii() {
            out.push_str(text);
            out.make_ascii_lowercase();
        } else {
            out.push_str(&text.to_lowercase());
        }
    })
}

/// Binds INITCAP: a text with the first letter of each word in upper case, the others in lower case. A word
/// is a run of letters and digits.
pub(super) fn initcap(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    of_text(given, |text, out| {
        let mut is_inside = false;
        for letter in text.chars() {
            if is_inside {
                out.extend(letter.to_lowercase());
            } else {
                out.extend(letter.to_uppercase());
            }
            is_inside = letter.is_alphanumeric();
        }
    })
}

/// Binds REVERSE: the characters of a text from the last to the first.
pub(super) fn reverse(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    of_text(given, |text, out| out.extend(text.chars().rev()))
}

/// Binds a function of one text whose result is a text.
fn of_text(
    given: &[Argument],
    write: impl Fn(&str, &mut String) + Send + Sync + 'static,
) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, move |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        each::written(arguments, rows, |row, out| {
            write(text.at(row)?, out);
            Some(())
        })
    }))
}

/// Binds CHAR_LENGTH: the number of characters of a text, an INT.
pub(super) fn char_length(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[])?;
    Ok(bound(types, given, SqlType::Int, Nulls::OfArguments, |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        each::primitive::<Int32Type, _>(arguments, rows, |row| Some(text.at(row)?.chars().count() as i32))
    }))
}

/// Binds ASCII: the first byte of a text, an INT; 0 for the empty text. A byte beyond ASCII is negative, as
/// Java's bytes are signed.
///
/// Source: Flink, `StringCallGen.generateAscii`.
pub(super) fn ascii(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[])?;
    Ok(bound(types, given, SqlType::Int, Nulls::OfArguments, |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        each::primitive::<Int32Type, _>(arguments, rows, |row| {
            Some(text.at(row)?.as_bytes().first().map_or(0, |first| i32::from(*first as i8)))
        })
    }))
}

/// Binds CHR: the character of the lowest eight bits of a number; the empty text for negative numbers.
///
/// Source: Flink, `SqlFunctionUtils.chr`.
pub(super) fn chr(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Whole], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let number = Input::<Int64Type>::of(&arguments[0])?;
        each::written(arguments, rows, |row, out| {
            let number = number.at(row)?;
            if number >= 0 {
                out.push(char::from(number as u8));
            }
            Some(())
        })
    }))
}

/// Binds CONCAT: all arguments, one after the other; NULL if one of them is NULL.
pub(super) fn concat(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = texts(given, 1)?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let parts = opened(arguments)?;
        each::written(arguments, rows, |row, out| {
            for part in &parts {
                out.push_str(part.at(row)?);
            }
            Some(())
        })
    }))
}

/// Binds CONCAT_WS: the other arguments with the first between them. NULL arguments are left out; a NULL separator
/// gives NULL.
pub(super) fn concat_ws(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = texts(given, 2)?;
    let separator = given.first().into_iter().cloned().collect::<Vec<_>>();
    Ok(bound(types, &separator, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let parts = opened(arguments)?;
        each::written(arguments, rows, |row, out| {
            let separator = parts.first()?.at(row)?;
            let mut is_first = true;
            for part in parts.iter().skip(1).filter_map(|part| part.at(row)) {
                if !std::mem::replace(&mut is_first, false) {
                    out.push_str(separator);
                }
                out.push_str(part);
            }
            Some(())
        })
    }))
}

fn texts(given: &[Argument], least: usize) -> Result<Vec<SqlType>, BindError> {
    if given.len() < least {
        return Err(BindError::count(given.len()));
    }
    expect(given, &vec![Kind::Text; given.len()], &[])
}

fn opened(arguments: &[ColumnarValue]) -> Result<Vec<Input<Text>>, EvaluationError> {
    arguments.iter().map(Input::of).collect()
}

/// Binds REPEAT: the text as often as a count says; the empty text for counts below one.
pub(super) fn repeat(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Whole], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let (text, count) = (Input::<Text>::of(&arguments[0])?, Input::<Int64Type>::of(&arguments[1])?);
        each::written(arguments, rows, |row, out| {
            let (Some(text), Some(count)) = (text.at(row), count.at(row)) else { return Ok(None) };
            // The empty text repeated any number of times is empty, so no time is spent on a great count.
            let count = if text.is_empty() { 0 } else { usize::try_from(count).unwrap_or(0) };
            let bytes = each::made(text.len().checked_mul(count))?;
            out.reserve_exact(bytes);
            // The result of REPEAT is doubled as long as that fits, so that a long result takes few copies.
            if bytes > 0 {
                out.push_str(text);
            }
            while out.len() < bytes {
                let more = out.len().min(bytes - out.len());
                out.extend_from_within(..more);
            }
            Ok(Some(()))
        })
    }))
}

/// Binds ELT: the argument with an index, where 1 is the first argument after the index; NULL beyond the
/// last. The other arguments may be NULL.
pub(super) fn elt(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let [index, choices @ ..] = given else { return Err(BindError::count(0)) };
    let Some(first) = choices.first() else { return Err(BindError::count(given.len())) };
    let mut types = expect(std::slice::from_ref(index), &[Kind::Whole], &[])?;
    if let Some(ScalarValue::Int64(Some(number))) =
        index.literal.as_ref().and_then(|literal| literal.cast_to(&DataType::Int64).ok())
        && number < 0
    {
        return Err(BindError(format!("the index {number} is none: the first value has index 1")));
    }
    let mut result = first.of.clone();
    for (place, choice) in choices.iter().enumerate() {
        let fits = choice.of.is_text() || choice.of.is_bytes() || choice.of == SqlType::Null;
        let common = common_type(&result, &choice.of).filter(|_| fits);
        result = common.ok_or_else(|| BindError::of_type(place + 2, &choice.of))?;
    }
    let is_bytes = result.is_bytes();
    let result = if is_bytes { SqlType::BYTES } else { SqlType::STRING };
    types.extend(choices.iter().map(|_| result.clone()));
    Ok(bound(types, given, result, Nulls::Anyway, move |arguments, rows| {
        let index = Input::<Int64Type>::of(&arguments[0])?;
        let place = |row: usize| usize::try_from(index.at(row)?).ok()?.checked_sub(1);
        if is_bytes {
            let choices = arguments[1..].iter().map(Input::<Bytes>::of).collect::<Result<Vec<_>, _>>()?;
            return each::bytes(arguments, rows, |row, out| {
                out.extend_from_slice(choices.get(place(row)?)?.at(row)?);
                Some(())
            });
        }
        let choices = opened(&arguments[1..])?;
        each::text(arguments, rows, |row| choices.get(place(row)?)?.at(row))
    }))
}
