//! Casts from text, which fail if the text is not a value of the type, and casts among bytes.
//!
//! Source: Flink, the rules `StringTo*CastRule` and `BinaryToBinaryCastRule`. Text becomes the bytes of its UTF-8.
//! BINARY(n) is cut or filled with zeros, VARBINARY(n) is cut.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryBuilder, BooleanBuilder, StringArray,
};
use arrow::datatypes::*;
use chrono_tz::Tz;

use super::text::{
    parse_boolean, parse_date, parse_decimal, parse_double, parse_float, parse_integer, parse_time,
    parse_timestamp,
};
use super::zone::instant_of_local;
use super::{Caster, Failures, PADDED_MAX};
use crate::functions::{EvaluationError, over};
use crate::types::SqlType;

/// Returns the function that casts text to a type; `None` if there is no such cast.
pub(super) fn caster(to: &SqlType, zone: Tz) -> Option<Caster> {
    Some(match to {
        SqlType::Boolean => boolean(),
        SqlType::TinyInt => integer::<Int8Type>(to),
        SqlType::SmallInt => integer::<Int16Type>(to),
        SqlType::Int => integer::<Int32Type>(to),
        SqlType::BigInt => integer::<Int64Type>(to),
        SqlType::Float => each::<Float32Type>(to, |text| parse_float(text).map(Some)),
        SqlType::Double => each::<Float64Type>(to, |text| parse_double(text).map(Some)),
        &SqlType::Decimal { precision, scale } => {
            // Text with too many digits for the decimal fails, as for whole numbers; only casts among numbers
            // give NULL.
            each::<Decimal128Type>(to, move |text| parse_decimal(text, precision, scale).map(Some))
        }
        SqlType::Date => each::<Date32Type>(to, |text| parse_date(text).map(Some)),
        &SqlType::Time(digits) => {
            each::<Time32MillisecondType>(to, move |text| parse_time(text, digits).map(Some))
        }
        &SqlType::Timestamp(digits) => timestamp(to, digits, move |text| parse_timestamp(text, digits)),
        &SqlType::TimestampLtz(digits) => {
            timestamp(to, digits, move |text| instant_of_local(parse_timestamp(text, digits)?, digits, zone))
        }
        SqlType::Binary(_) | SqlType::Varbinary(_) => return bytes_caster(to),
        _ => return None,
    })
}

/// Returns the function that casts text or bytes to a type of bytes; `None` for other types.
pub(super) fn bytes_caster(to: &SqlType) -> Option<Caster> {
    let (length, is_filled) = match *to {
        SqlType::Binary(length) if length <= PADDED_MAX => (length as usize, true),
        SqlType::Varbinary(length) => (length as usize, false),
        _ => return None,
    };
    Some(Box::new(move |array, _| {
        let mut builder = BinaryBuilder::with_capacity(array.len(), array.len() * 16);
        let mut filled = Vec::new();
        for row in 0..array.len() {
            if array.is_null(row) {
                builder.append_null();
                continue;
            }
            let bytes = match array.as_string_opt::<i32>() {
                Some(text) => text.value(row).as_bytes(),
                None => match array.as_binary_opt::<i32>() {
                    Some(bytes) => bytes.value(row),
                    None => return Err(over::mistyped(array, "bytes")),
                },
            };
            let bytes = &bytes[..bytes.len().min(length)];
            over::room(builder.values_slice().len(), if is_filled { length } else { bytes.len() })?;
            if is_filled && bytes.len() < length {
                filled.clear();
                filled.extend_from_slice(bytes);
                filled.resize(length, 0);
                builder.append_value(&filled);
            } else {
                builder.append_value(bytes);
            }
        }
        Ok(Arc::new(builder.finish()))
    }))
}

fn integer<T>(to: &SqlType) -> Caster
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i64>,
{
    each::<T>(to, |text| Some(Some(T::Native::try_from(parse_integer(text)?).ok()?)))
}

fn boolean() -> Caster {
    Box::new(|array, failures| {
        let texts = over::text(array)?;
        let mut builder = BooleanBuilder::with_capacity(array.len());
        for row in 0..texts.len() {
            let value = texts.is_valid(row).then(|| parse_boolean(texts.value(row)));
            if value == Some(None) {
                failures.add(row, || EvaluationError::cast(&texts.value(row), &SqlType::Boolean));
            }
            builder.append_option(value.flatten());
        }
        Ok(Arc::new(builder.finish()))
    })
}

fn timestamp(
    to: &SqlType,
    digits: u8,
    parse: impl Fn(&str) -> Option<i64> + Send + Sync + 'static,
) -> Caster {
    let parse = move |text: &str| parse(text).map(Some);
    match digits {
        0..=3 => each::<TimestampMillisecondType>(to, parse),
        4..=6 => each::<TimestampMicrosecondType>(to, parse),
        _ => each::<TimestampNanosecondType>(to, parse),
    }
}

/// Casts the text of each row with `parse`: `None` is a failure, `Some(None)` is NULL.
fn each<T: ArrowPrimitiveType>(
    to: &SqlType,
    parse: impl Fn(&str) -> Option<Option<T::Native>> + Send + Sync + 'static,
) -> Caster {
    let (to, of) = (to.clone(), to.arrow());
    Box::new(move |array: &ArrayRef, failures: &mut Failures| {
        let texts: &StringArray = over::text(array)?;
        let result = over::fill::<T>(texts.len(), texts.nulls(), |row| {
            let text = texts.value(row);
            let value = parse(text);
            if value.is_none() {
                failures.add(row, || EvaluationError::cast(&text, &to));
            }
            Ok(value.flatten())
        })?;
        Ok(over::typed(result, &of))
    })
}
