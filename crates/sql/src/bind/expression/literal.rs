//! Literals, with the types that Flink gives them.

use sqlparser::ast::{DataType, TimezoneInfo, TypedString, Value, ValueWithSpan};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::functions::cast::text::{parse_date, parse_time, parse_timestamp};
use thalweg_sql_functions::types::{DECIMAL_PRECISION_MAX, SqlType};
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, SqlError};

use super::Result;
use crate::bind::syntax::{not_supported, place};
use crate::bind::typing::{Typing, text};

/// Returns a literal with its type: INT if a whole number fits, text as CHAR of its length.
pub(super) fn literal(typing: &Typing<'_>, value: &ValueWithSpan) -> Result<Typed> {
    let at = || place(value);
    match &value.value {
        Value::Number(digits, _) if digits.contains(['e', 'E']) => {
            typing.cast_to(text(digits.clone()), &SqlType::Double, false).map_err(|error| error.at(at()))
        }
        Value::Number(digits, _) => number(digits, false).map_err(|error| error.at(at())),
        Value::SingleQuotedString(value)
        | Value::UnicodeStringLiteral(value)
        | Value::NationalStringLiteral(value) => Ok(text(value.clone())),
        Value::HexStringLiteral(digits) => match bytes_of(digits) {
            Some(bytes) => Ok(Typed::literal(ScalarValue::Binary(Some(bytes)), SqlType::BYTES)),
            None => Err(SqlError::new(Code::Invalid, format!("X'{digits}' is no row of hexadecimal digits"))),
        },
        Value::Boolean(value) => Ok(Typed::literal(ScalarValue::Boolean(Some(*value)), SqlType::Boolean)),
        Value::Null => Ok(Typed::literal(ScalarValue::Null, SqlType::Null)),
        _ => Err(not_supported("a literal of this form")),
    }
}

/// Returns a number without an exponent: INT, BIGINT or DECIMAL, whichever is the first that holds it.
pub(super) fn number(digits: &str, is_negative: bool) -> Result<Typed> {
    let count = digits.bytes().filter(u8::is_ascii_digit).count();
    if count > usize::from(DECIMAL_PRECISION_MAX) {
        let message = format!("{digits} has {count} digits, and numbers have at most 38");
        return Err(SqlError::new(Code::TypeMismatch, message));
    }
    let wrong = || SqlError::new(Code::Syntax, format!("{digits} is no number"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let unscaled: i128 = format!("{whole}{fraction}").parse().map_err(|_| wrong())?;
    let unscaled = if is_negative { -unscaled } else { unscaled };
    if !digits.contains('.') {
        if let Ok(number) = i32::try_from(unscaled) {
            return Ok(Typed::literal(ScalarValue::Int32(Some(number)), SqlType::Int));
        }
        if let Ok(number) = i64::try_from(unscaled) {
            return Ok(Typed::literal(ScalarValue::Int64(Some(number)), SqlType::BigInt));
        }
    }
    // The literal `0.5` has a digit before the point, so it is a DECIMAL(2, 1).
    let scale = fraction.len() as u8;
    let significant = unscaled.unsigned_abs().to_string().len() as u8;
    let precision = significant.max(scale + 1).min(DECIMAL_PRECISION_MAX);
    let of = SqlType::Decimal { precision, scale };
    Ok(Typed::literal(ScalarValue::Decimal128(Some(unscaled), precision, scale as i8), of))
}

/// Returns DATE '..', TIME '..' or TIMESTAMP '..', with as many digits of a second as are written.
pub(super) fn typed_literal(typing: &Typing<'_>, typed: &TypedString) -> Result<Typed> {
    let TypedString { data_type, value, uses_odbc_syntax: _ } = typed;
    let Value::SingleQuotedString(written) = &value.value else {
        return Err(not_supported("a literal of this form"));
    };
    let digits = written.trim().rsplit_once('.').map_or(0, |(_, fraction)| fraction.len() as u64);
    let (to, is_read, what, like) = match data_type {
        DataType::Timestamp(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            let digits = digits.min(9) as u8;
            let is_read = parse_timestamp(written, digits).is_some();
            (SqlType::Timestamp(digits), is_read, "timestamp", "TIMESTAMP '2024-12-31 23:59:59.999'")
        }
        DataType::Time(None, TimezoneInfo::None) => {
            // The type TIME has at most 3 fractional digits of a second, which are milliseconds.
            let digits = digits.min(3) as u8;
            (SqlType::Time(digits), parse_time(written, digits).is_some(), "time", "TIME '23:59:59'")
        }
        DataType::Date => (SqlType::Date, parse_date(written).is_some(), "date", "DATE '2024-12-31'"),
        _ => return Err(not_supported("a literal of this type: write CAST('..' AS type)")),
    };
    if !is_read {
        let error = SqlError::new(Code::Invalid, format!("'{written}' is no {what}"));
        return Err(error.at(place(value)).help(format!("write {like}")));
    }
    typing.cast_to(text(written.clone()), &to, false)
}

/// Returns the bytes that hexadecimal digits stand for, two digits a byte; of an odd number, the first stands alone.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let nibble = |digit: char| digit.to_digit(16).and_then(|nibble| u8::try_from(nibble).ok());
    let mut nibbles: Vec<u8> = digits.chars().map(nibble).collect::<Option<_>>()?;
    if nibbles.len() % 2 == 1 {
        nibbles.insert(0, 0);
    }
    Some(nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
