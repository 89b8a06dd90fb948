//! The SQL functions ROUND, TRUNCATE, FLOOR and CEIL.
//!
//! The result has the type of the argument; decimals lose the digits that are rounded away. Floats are
//! rounded by the digits with which they are shown: ROUND(2.675e0, 2) is 2.68, although the float itself lies
//! below 2.675.
//!
//! Source: Flink, `SqlFunctionUtils.sround` and `struncate` (over `BigDecimal.valueOf`),
//! `LogicalTypeMerging.findRoundDecimalType`, `DecimalDataUtils.floor` and `ceil`.
//!
//! Differs from Flink: NaN and infinities stay unchanged, where Flink fails.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::ArrowPrimitiveType;
use arrow::datatypes::*;

use super::{kept, mapped, numbers, real};
use crate::functions::cast::text::Form;
use crate::functions::decimal::{divide_half_up, power_of_ten, rescale};
use crate::functions::over::{both, map, only, try_zip};
use crate::functions::{Argument, BindError, Bound, Kernel};
use crate::types::{DECIMAL_PRECISION_MAX, SqlType};
use crate::values::{ColumnarValue, ScalarValue};

/// Way in which a rounding function treats the digits after the last digit that it keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// ROUND: rounds half away from zero.
    HalfUp,
    /// TRUNCATE: cuts toward zero.
    Down,
}

/// Binds ROUND or TRUNCATE, as `mode` says, with an optional number of digits to keep.
pub(super) fn bind_digits(arguments: &[Argument], mode: Mode) -> Result<Bound, BindError> {
    let is_nullable = match arguments.len() {
        1 => numbers(arguments, 1)?,
        _ => numbers(arguments, 2)?,
    };
    if let Some(digits) = arguments.get(1)
        && !digits.of.is_integer()
        && digits.of != SqlType::Null
    {
        return Err(BindError::of_type(2, &digits.of));
    }
    let of = if arguments[0].of == SqlType::Null { SqlType::Double } else { arguments[0].of.clone() };
    let (result, is_exceeded) = match of {
        SqlType::Decimal { precision, scale } => {
            let digits = match arguments.get(1) {
                None => Some(0),
                Some(argument) => argument.literal.as_ref().and_then(integer_of),
            };
            digits.map_or((of.clone(), true), |digits| rounded_type(precision, scale, digits))
        }
        _ => (of.clone(), false),
    };
    let kernel = match (&of, &result) {
        (SqlType::TinyInt, _) => rounded::<Int8Type>(&of, move |v, n| whole(i64::from(v), n, mode) as i8),
        (SqlType::SmallInt, _) => rounded::<Int16Type>(&of, move |v, n| whole(i64::from(v), n, mode) as i16),
        (SqlType::Int, _) => rounded::<Int32Type>(&of, move |v, n| whole(i64::from(v), n, mode) as i32),
        (SqlType::BigInt, _) => rounded::<Int64Type>(&of, move |v, n| whole(v, n, mode)),
        (SqlType::Float, _) => rounded::<Float32Type>(&of, move |v, n| float(f64::from(v), n, mode) as f32),
        (&SqlType::Decimal { scale, .. }, &SqlType::Decimal { precision, scale: to_scale }) => {
            decimals(&result, move |value, digits| {
                let rounded = decimal(value, i32::from(scale), digits, mode)?;
                rescale(rounded, i32::from(scale), i32::from(to_scale), precision)
            })
        }
        _ => rounded::<Float64Type>(&of, move |v, n| float(v, n, mode)),
    };
    let mut taken = vec![of];
    taken.extend(arguments.get(1).map(|_| SqlType::Int));
    Ok(Bound { arguments: taken, result, is_nullable: is_nullable || is_exceeded, kernel })
}

/// Binds FLOOR or CEIL of a number.
pub(super) fn bind_whole(
    arguments: &[Argument],
    function: fn(f64) -> f64,
    is_up: bool,
) -> Result<Bound, BindError> {
    let is_nullable = numbers(arguments, 1)?;
    let argument = &arguments[0];
    Ok(match argument.of {
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => kept(
            argument,
            is_nullable,
            Arc::new(|arguments: &[ColumnarValue], _: usize| only(arguments).cloned()),
        ),
        SqlType::Float if is_up => {
            kept(argument, is_nullable, mapped::<Float32Type>(&argument.of, f32::ceil))
        }
        SqlType::Float => kept(argument, is_nullable, mapped::<Float32Type>(&argument.of, f32::floor)),
        SqlType::Decimal { precision, scale } => {
            let result = SqlType::Decimal { precision, scale: 0 };
            let of = result.arrow();
            let divisor = power_of_ten(u32::from(scale)).unwrap_or(i128::MAX);
            let kernel = move |arguments: &[ColumnarValue], _: usize| {
                map::<Decimal128Type, Decimal128Type>(only(arguments)?, &of, |value| {
                    let floor = value.div_euclid(divisor);
                    floor + i128::from(is_up && value.rem_euclid(divisor) != 0)
                })
            };
            Bound { arguments: vec![argument.of.clone()], result, is_nullable, kernel: Arc::new(kernel) }
        }
        _ => return real(arguments, function),
    })
}

/// Returns the type of a decimal that is rounded to `digits` digits after the point. Also returns whether a
/// value may not fit the type, because rounding may add a digit.
fn rounded_type(precision: u8, scale: u8, digits: i64) -> (SqlType, bool) {
    let of = |precision: u8, scale: u8| SqlType::Decimal { precision, scale };
    if i64::from(scale) <= digits {
        return (of(precision, scale), false);
    }
    let kept = digits.max(0) as u8;
    let wanted = 1 + precision - scale + kept;
    (of(wanted.min(DECIMAL_PRECISION_MAX), kept), DECIMAL_PRECISION_MAX < wanted)
}

fn integer_of(literal: &ScalarValue) -> Option<i64> {
    match *literal {
        ScalarValue::Int8(value) => value.map(i64::from),
        ScalarValue::Int16(value) => value.map(i64::from),
        ScalarValue::Int32(value) => value.map(i64::from),
        ScalarValue::Int64(value) => value,
        _ => None,
    }
}

/// Returns the kernel of ROUND or TRUNCATE; without a second argument, 0 digits after the point are kept.
fn rounded<T: ArrowPrimitiveType>(
    of: &SqlType,
    function: impl Fn(T::Native, i64) -> T::Native + Send + Sync + 'static,
) -> Arc<dyn Kernel> {
    let of = of.arrow();
    Arc::new(move |arguments: &[ColumnarValue], _: usize| {
        if let [value] = arguments {
            return map::<T, T>(value, &of, |value| function(value, 0));
        }
        let (value, digits) = both(arguments)?;
        try_zip::<T, Int32Type, T>(value, digits, &of, |value, digits| {
            Ok(Some(function(value, i64::from(digits))))
        })
    })
}

fn decimals(
    result: &SqlType,
    function: impl Fn(i128, i64) -> Option<i128> + Send + Sync + 'static,
) -> Arc<dyn Kernel> {
    let of = result.arrow();
    let none = ColumnarValue::Scalar(ScalarValue::Int32(Some(0)));
    Arc::new(move |arguments: &[ColumnarValue], _: usize| {
        let (value, digits) = match arguments {
            [value] => (value, &none),
            _ => both(arguments)?,
        };
        try_zip::<Decimal128Type, Int32Type, Decimal128Type>(value, digits, &of, |value, digits| {
            Ok(function(value, i64::from(digits)))
        })
    })
}

/// Rounds a decimal, given as an unscaled number of scale `scale`, to `digits` digits after the point; the
/// scale stays unchanged.
fn decimal(value: i128, scale: i32, digits: i64, mode: Mode) -> Option<i128> {
    let lost = i64::from(scale) - digits;
    if lost <= 0 {
        return Some(value);
    }
    let Some(step) = u32::try_from(lost).ok().and_then(power_of_ten) else { return Some(0) };
    match mode {
        Mode::HalfUp => divide_half_up(value, step).checked_mul(step),
        Mode::Down => Some(value / step * step),
    }
}

/// Rounds a whole number to `digits` digits after the point; -1 rounds to tens, -2 to hundreds. A result that
/// does not fit wraps.
fn whole(value: i64, digits: i64, mode: Mode) -> i64 {
    decimal(i128::from(value), 0, digits, mode).unwrap_or(0) as i64
}

/// Rounds a float to `digits` digits after the point. It rounds the shortest decimal form that identifies
/// the float, not the exact binary value.
fn float(value: f64, digits: i64, mode: Mode) -> f64 {
    let mut form = Form::default();
    if !value.is_finite() || write!(form, "{value:e}").is_err() {
        return value;
    }
    let (mantissa, exponent) = form.text().split_once('e').unwrap_or((form.text(), "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    // The shortest form of a float has at most 17 digits, so they fit a whole number of 128 bits.
    let mut significand = 0_i128;
    let mut count = 0;
    for digit in mantissa.bytes().filter(u8::is_ascii_digit) {
        significand = significand * 10 + i128::from(digit - b'0');
        count += 1;
    }
    // The float is the significand times 10 to the power of minus `scale`.
    let scale = count - 1 - exponent;
    let lost = scale - digits;
    if lost <= 0 {
        return value;
    }
    let kept = match u32::try_from(lost).ok().and_then(power_of_ten) {
        None => 0,
        Some(step) if mode == Mode::HalfUp => divide_half_up(significand, step),
        Some(step) => significand / step,
    };
    if kept == 0 {
        return 0.0;
    }
    let mut rounded = Form::default();
    let sign = if value < 0.0 { "-" } else { "" };
    if write!(rounded, "{sign}{kept}e{}", -digits).is_err() {
        return value;
    }
    rounded.text().parse().unwrap_or(value)
}
