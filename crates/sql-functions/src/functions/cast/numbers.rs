//! Casts among numbers and booleans.
//!
//! As in Java, whole numbers wrap into narrower types; floats are cut and saturate at the ends of 32 or 64 bits
//! before they wrap; NaN becomes 0. A decimal is rounded half up to its new scale and is NULL if it has too many
//! digits. As a whole number it is cut and wraps. TRUE becomes 1, and any number but 0 becomes TRUE.
//!
//! Source: Flink, `NumericPrimitiveCastRule`, `DecimalToNumericPrimitiveCastRule`, `NumericPrimitiveToDecimalCastRule`,
//! `DecimalToDecimalCastRule`, `BooleanToNumericCastRule`, `NumericToBooleanCastRule`; `DecimalDataUtils`.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Decimal128Array, Float64Array, Int64Array,
    PrimitiveArray,
};
use arrow::datatypes::*;

use super::text::{NotANumber, decimal_of_double, write_decimal, write_double};
use super::{Caster, Failures};
use crate::functions::decimal::{power_of_ten, rescale};
use crate::functions::{EvaluationError, over};
use crate::types::SqlType;

/// Returns the function that casts among numbers and booleans; `None` if one of the types is neither.
pub(super) fn caster(from: &SqlType, to: &SqlType) -> Option<Caster> {
    let is_number = |of: &SqlType| of.is_numeric() || *of == SqlType::Boolean;
    if !is_number(from) || !is_number(to) {
        return None;
    }
    let (from, to) = (from.clone(), to.clone());
    Some(Box::new(move |array, failures| {
        let wide = Wide::of(array, &from)?;
        match (wide, &to) {
            (Wide::Whole(values), to) => whole(&values, to),
            (Wide::Float(values), to) => float(&values, to, failures),
            (Wide::Decimal(values, scale), to) => decimal(&values, scale, to),
        }
    }))
}

/// Numbers of a column in the widest type of their kind, so that a cast has three kinds of sources and not
/// eight.
enum Wide {
    Whole(Int64Array),
    Float(Float64Array),
    Decimal(Decimal128Array, u8),
}

impl Wide {
    fn of(array: &ArrayRef, from: &SqlType) -> Result<Wide, EvaluationError> {
        Ok(match *from {
            SqlType::TinyInt => Wide::Whole(over::primitive::<Int8Type>(array)?.unary(i64::from)),
            SqlType::SmallInt => Wide::Whole(over::primitive::<Int16Type>(array)?.unary(i64::from)),
            SqlType::Int => Wide::Whole(over::primitive::<Int32Type>(array)?.unary(i64::from)),
            SqlType::BigInt => Wide::Whole(over::primitive::<Int64Type>(array)?.clone()),
            SqlType::Float => Wide::Float(over::primitive::<Float32Type>(array)?.unary(f64::from)),
            SqlType::Double => Wide::Float(over::primitive::<Float64Type>(array)?.clone()),
            SqlType::Decimal { scale, .. } => {
                Wide::Decimal(over::primitive::<Decimal128Type>(array)?.clone(), scale)
            }
            _ => {
                let truths = over::truth(array)?;
                let values = truths.values().iter().map(i64::from).collect::<Vec<_>>();
                Wide::Whole(Int64Array::new(values.into(), truths.nulls().cloned()))
            }
        })
    }
}

fn whole(values: &Int64Array, to: &SqlType) -> Result<ArrayRef, EvaluationError> {
    Ok(match *to {
        SqlType::TinyInt => each::<_, Int8Type>(values, |value| value as i8),
        SqlType::SmallInt => each::<_, Int16Type>(values, |value| value as i16),
        SqlType::Int => each::<_, Int32Type>(values, |value| value as i32),
        SqlType::BigInt => Arc::new(values.clone()),
        SqlType::Float => each::<_, Float32Type>(values, |value| value as f32),
        SqlType::Double => each::<_, Float64Type>(values, |value| value as f64),
        SqlType::Decimal { precision, scale } => {
            let cast = |value| rescale(i128::from(value), 0, i32::from(scale), precision);
            over::typed(values.unary_opt::<_, Decimal128Type>(cast), &to.arrow())
        }
        _ => Arc::new(BooleanArray::from_unary(values, |value| value != 0)),
    })
}

fn float(values: &Float64Array, to: &SqlType, failures: &mut Failures) -> Result<ArrayRef, EvaluationError> {
    Ok(match *to {
        // Java has no cast from a float to less than 32 bits, so the value is cast to 32 bits first.
        SqlType::TinyInt => each::<_, Int8Type>(values, |value| value as i32 as i8),
        SqlType::SmallInt => each::<_, Int16Type>(values, |value| value as i32 as i16),
        SqlType::Int => each::<_, Int32Type>(values, |value| value as i32),
        SqlType::BigInt => each::<_, Int64Type>(values, |value| value as i64),
        SqlType::Float => each::<_, Float32Type>(values, |value| value as f32),
        SqlType::Double => Arc::new(values.clone()),
        SqlType::Decimal { precision, scale } => {
            let floats = values.values();
            let result = over::fill::<Decimal128Type>(values.len(), values.nulls(), |row| {
                let value = floats[row];
                Ok(decimal_of_double(value, precision, scale).unwrap_or_else(|NotANumber| {
                    failures.add(row, || {
                        let mut shown = String::new();
                        write_double(value, &mut shown);
                        EvaluationError::cast(&shown, to)
                    });
                    None
                }))
            })?;
            over::typed(result, &to.arrow())
        }
        _ => Arc::new(BooleanArray::from_unary(values, |value| value != 0.0)),
    })
}

fn decimal(values: &Decimal128Array, scale: u8, to: &SqlType) -> Result<ArrayRef, EvaluationError> {
    // A decimal of 16 bytes wraps into whole numbers of 8 and fewer bytes as in Java's `BigInteger`.
    let divisor = power_of_ten(u32::from(scale)).unwrap_or(i128::MAX);
    let cut = |value: i128| (value / divisor) as i64;
    Ok(match *to {
        SqlType::TinyInt => each::<_, Int8Type>(values, |value| cut(value) as i8),
        SqlType::SmallInt => each::<_, Int16Type>(values, |value| cut(value) as i16),
        SqlType::Int => each::<_, Int32Type>(values, |value| cut(value) as i32),
        SqlType::BigInt => each::<_, Int64Type>(values, cut),
        SqlType::Float => each::<_, Float32Type>(values, |value| double_of(value, scale) as f32),
        SqlType::Double => each::<_, Float64Type>(values, |value| double_of(value, scale)),
        SqlType::Decimal { precision, scale: to_scale } => {
            let cast = |value| rescale(value, i32::from(scale), i32::from(to_scale), precision);
            over::typed(values.unary_opt::<_, Decimal128Type>(cast), &to.arrow())
        }
        _ => Arc::new(BooleanArray::from_unary(values, |value| value != 0)),
    })
}

/// Returns the double that is nearest to a decimal number.
pub(crate) fn double_of(value: i128, scale: u8) -> f64 {
    // Up to 2^53, and with up to 22 digits after the point, the digits of the decimal and the power of ten
    // are exact doubles. So their quotient is the double nearest to the true value.
    const EXACT: u128 = 1 << 53;
    const EXACT_SCALE: u8 = 22;
    if value.unsigned_abs() <= EXACT && scale <= EXACT_SCALE {
        return value as f64 / 10_f64.powi(i32::from(scale));
    }
    let mut shown = String::new();
    write_decimal(value, scale, &mut shown);
    shown.parse().unwrap_or(f64::NAN)
}

fn each<I, O>(values: &PrimitiveArray<I>, cast: impl Fn(I::Native) -> O::Native) -> ArrayRef
where
    I: ArrowPrimitiveType,
    O: ArrowPrimitiveType,
{
    Arc::new(values.unary::<_, O>(cast))
}
