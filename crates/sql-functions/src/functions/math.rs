//! SQL functions of numbers.
//!
//! Functions of real numbers (`POWER` to `RADIANS`) take any number as a DOUBLE and return a DOUBLE; NaN and
//! infinities stand where they have no result. All other functions keep the type of their argument. Results may
//! differ from Java's in the last bit.
//!
//! Source: Flink's documentation, "System (Built-in) Functions", section "Arithmetic Functions"; `FlinkSqlOperatorTable` and
//! `SqlFunctionUtils`.

mod random;
mod rounding;

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, StringBuilder};
use arrow::compute::kernels::{boolean, cmp, zip};
use arrow::datatypes::*;

use super::arithmetic::{ArithmeticOp, bind_arithmetic};
use super::over::{self, Evaluated, Operand, column_map, first, map, only, try_map};
use super::{Argument, BindError, Bound, Context, Function, Kernel, decimal};
use crate::types::{SqlType, common_type};
use crate::values::{ColumnarValue, ScalarValue};

/// All SQL functions of numbers.
pub static MATH: &[Function] = &[
    pure("ABS", "ABS(number)", bind_abs),
    pure("POWER", "POWER(base, exponent)", |arguments, _| reals(arguments, power)),
    pure("SQRT", "SQRT(number)", |arguments, _| real(arguments, f64::sqrt)),
    pure("LN", "LN(number)", |arguments, _| real(arguments, f64::ln)),
    pure("LOG10", "LOG10(number)", |arguments, _| real(arguments, f64::log10)),
    pure("LOG2", "LOG2(number)", |arguments, _| real(arguments, |x| x.ln() / 2_f64.ln())),
    pure("LOG", "LOG([base, ] number)", |arguments, _| match arguments.len() {
        1 => real(arguments, f64::ln),
        _ => reals(arguments, |base, x| x.ln() / base.ln()),
    }),
    pure("EXP", "EXP(number)", |arguments, _| real(arguments, f64::exp)),
    pure("CEIL", "CEIL(number)", |arguments, _| rounding::bind_whole(arguments, f64::ceil, true)),
    pure("CEILING", "CEILING(number)", |arguments, _| rounding::bind_whole(arguments, f64::ceil, true)),
    pure("FLOOR", "FLOOR(number)", |arguments, _| rounding::bind_whole(arguments, f64::floor, false)),
    pure("SIN", "SIN(number)", |arguments, _| real(arguments, f64::sin)),
    pure("COS", "COS(number)", |arguments, _| real(arguments, f64::cos)),
    pure("TAN", "TAN(number)", |arguments, _| real(arguments, f64::tan)),
    pure("COT", "COT(number)", |arguments, _| real(arguments, |x| 1.0 / x.tan())),
    pure("ASIN", "ASIN(number)", |arguments, _| real(arguments, f64::asin)),
    pure("ACOS", "ACOS(number)", |arguments, _| real(arguments, f64::acos)),
    pure("ATAN", "ATAN(number)", |arguments, _| real(arguments, f64::atan)),
    pure("ATAN2", "ATAN2(y, x)", |arguments, _| reals(arguments, f64::atan2)),
    pure("SINH", "SINH(number)", |arguments, _| real(arguments, f64::sinh)),
    pure("COSH", "COSH(number)", |arguments, _| real(arguments, f64::cosh)),
    pure("TANH", "TANH(number)", |arguments, _| real(arguments, f64::tanh)),
    pure("DEGREES", "DEGREES(radians)", |arguments, _| real(arguments, f64::to_degrees)),
    pure("RADIANS", "RADIANS(degrees)", |arguments, _| real(arguments, f64::to_radians)),
    pure("SIGN", "SIGN(number)", bind_sign),
    pure("ROUND", "ROUND(number [, digits])", |arguments, _| {
        rounding::bind_digits(arguments, rounding::Mode::HalfUp)
    }),
    pure("TRUNCATE", "TRUNCATE(number [, digits])", |arguments, _| {
        rounding::bind_digits(arguments, rounding::Mode::Down)
    }),
    pure("PI", "PI()", |arguments, _| constant(arguments, std::f64::consts::PI)),
    pure("E", "E()", |arguments, _| constant(arguments, std::f64::consts::E)),
    Function {
        name: "RAND",
        usage: "RAND([seed])",
        is_deterministic: false,
        bind: |arguments, _| random::bind_rand(arguments),
    },
    Function {
        name: "RAND_INTEGER",
        usage: "RAND_INTEGER([seed, ] bound)",
        is_deterministic: false,
        bind: |arguments, _| random::bind_rand_integer(arguments),
    },
    Function {
        name: "UUID",
        usage: "UUID()",
        is_deterministic: false,
        bind: |arguments, _| random::bind_uuid(arguments),
    },
    pure("BIN", "BIN(integer)", bind_bin),
    pure("HEX", "HEX(integer or text)", bind_hex),
    pure("MOD", "MOD(dividend, divisor)", |arguments, _| match arguments {
        [left, right] => bind_arithmetic(ArithmeticOp::Modulo, left, right),
        _ => Err(BindError::count(arguments.len())),
    }),
    pure("GREATEST", "GREATEST(value, value, ...)", |arguments, _| extreme(arguments, true)),
    pure("LEAST", "LEAST(value, value, ...)", |arguments, _| extreme(arguments, false)),
];

/// Declares a function of numbers that gives equal results for equal arguments.
const fn pure(
    name: &'static str,
    usage: &'static str,
    bind: fn(&[Argument], &Context) -> Result<Bound, BindError>,
) -> Function {
    Function { name, usage, is_deterministic: true, bind }
}

/// Checks that a function has `count` arguments, which are numbers or NULL. Returns whether one of them may
/// be NULL.
fn numbers(arguments: &[Argument], count: usize) -> Result<bool, BindError> {
    if arguments.len() != count {
        return Err(BindError::count(arguments.len()));
    }
    for (place, argument) in arguments.iter().enumerate() {
        if !argument.of.is_numeric() && argument.of != SqlType::Null {
            return Err(BindError::of_type(place + 1, &argument.of));
        }
    }
    Ok(arguments.iter().any(|argument| argument.is_nullable))
}

/// Binds a function of one real number, which is passed as a DOUBLE.
fn real(arguments: &[Argument], function: fn(f64) -> f64) -> Result<Bound, BindError> {
    let is_nullable = numbers(arguments, 1)?;
    let kernel = move |arguments: &[ColumnarValue], _: usize| {
        map::<Float64Type, Float64Type>(only(arguments)?, &DataType::Float64, function)
    };
    Ok(Bound {
        arguments: vec![SqlType::Double],
        result: SqlType::Double,
        is_nullable,
        kernel: Arc::new(kernel),
    })
}

/// Binds a function of two real numbers, which are passed as DOUBLEs.
fn reals(arguments: &[Argument], function: fn(f64, f64) -> f64) -> Result<Bound, BindError> {
    let is_nullable = numbers(arguments, 2)?;
    let kernel = move |arguments: &[ColumnarValue], _: usize| {
        let (left, right) = over::both(arguments)?;
        over::zip::<Float64Type, Float64Type, Float64Type>(left, right, &DataType::Float64, function)
    };
    Ok(Bound {
        arguments: vec![SqlType::Double, SqlType::Double],
        result: SqlType::Double,
        is_nullable,
        kernel: Arc::new(kernel),
    })
}

/// Returns a power as Java does: 1 to the power of NaN, and 1 or -1 to the power of an infinity, are NaN,
/// where C returns 1.
fn power(base: f64, exponent: f64) -> f64 {
    if exponent.is_nan() || (base.abs() == 1.0 && exponent.is_infinite()) {
        return f64::NAN;
    }
    base.powf(exponent)
}

fn constant(arguments: &[Argument], value: f64) -> Result<Bound, BindError> {
    if !arguments.is_empty() {
        return Err(BindError::count(arguments.len()));
    }
    let kernel = move |_: &[ColumnarValue], _: usize| -> Evaluated {
        Ok(ColumnarValue::Scalar(ScalarValue::Float64(Some(value))))
    };
    Ok(Bound { arguments: Vec::new(), result: SqlType::Double, is_nullable: false, kernel: Arc::new(kernel) })
}

/// Binds a function of one number, whose result has the type of the argument.
fn kept(argument: &Argument, is_nullable: bool, kernel: Arc<dyn Kernel>) -> Bound {
    Bound { arguments: vec![argument.of.clone()], result: argument.of.clone(), is_nullable, kernel }
}

fn bind_abs(arguments: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let is_nullable = numbers(arguments, 1)?;
    let argument = &arguments[0];
    // The absolute value of the least whole number is that number itself, because it has no positive
    // counterpart.
    let kernel = match argument.of {
        SqlType::TinyInt => mapped::<Int8Type>(&argument.of, i8::wrapping_abs),
        SqlType::SmallInt => mapped::<Int16Type>(&argument.of, i16::wrapping_abs),
        SqlType::Int => mapped::<Int32Type>(&argument.of, i32::wrapping_abs),
        SqlType::BigInt => mapped::<Int64Type>(&argument.of, i64::wrapping_abs),
        SqlType::Float => mapped::<Float32Type>(&argument.of, f32::abs),
        SqlType::Decimal { .. } => mapped::<Decimal128Type>(&argument.of, i128::wrapping_abs),
        _ => return real(arguments, f64::abs),
    };
    Ok(kept(argument, is_nullable, kernel))
}

fn bind_sign(arguments: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let is_nullable = numbers(arguments, 1)?;
    let argument = &arguments[0];
    let kernel = match argument.of {
        SqlType::TinyInt => mapped::<Int8Type>(&argument.of, i8::signum),
        SqlType::SmallInt => mapped::<Int16Type>(&argument.of, i16::signum),
        SqlType::Int => mapped::<Int32Type>(&argument.of, i32::signum),
        SqlType::BigInt => mapped::<Int64Type>(&argument.of, i64::signum),
        SqlType::Float => mapped::<Float32Type>(&argument.of, |x| f64_sign(f64::from(x)) as f32),
        SqlType::Decimal { precision, scale } => {
            let of = argument.of.arrow();
            let kernel = move |arguments: &[ColumnarValue], _: usize| {
                try_map::<Decimal128Type, Decimal128Type>(only(arguments)?, &of, |value| {
                    Ok(decimal::rescale(value.signum(), 0, i32::from(scale), precision))
                })
            };
            return Ok(kept(argument, is_nullable || precision == scale, Arc::new(kernel)));
        }
        _ => return real(arguments, f64_sign),
    };
    Ok(kept(argument, is_nullable, kernel))
}

/// Returns the sign of a float: 1 or -1; zeros keep their sign, and NaN stays NaN.
fn f64_sign(value: f64) -> f64 {
    if value.is_nan() || value == 0.0 { value } else { value.signum() }
}

fn mapped<T>(of: &SqlType, function: fn(T::Native) -> T::Native) -> Arc<dyn Kernel>
where
    T: ArrowPrimitiveType,
{
    let of = of.arrow();
    Arc::new(move |arguments: &[ColumnarValue], _: usize| map::<T, T>(only(arguments)?, &of, function))
}

fn bind_bin(arguments: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let is_nullable = numbers(arguments, 1)?;
    if !arguments[0].of.is_integer() && arguments[0].of != SqlType::Null {
        return Err(BindError::of_type(1, &arguments[0].of));
    }
    let kernel = |arguments: &[ColumnarValue], _: usize| {
        column_map(only(arguments)?, |array| written(array, |value, out| write!(out, "{value:b}")))
    };
    Ok(Bound {
        arguments: vec![SqlType::BigInt],
        result: SqlType::STRING,
        is_nullable,
        kernel: Arc::new(kernel),
    })
}

fn bind_hex(arguments: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let [argument] = arguments else { return Err(BindError::count(arguments.len())) };
    let is_text = argument.of.is_text();
    if !is_text && !argument.of.is_integer() && argument.of != SqlType::Null {
        return Err(BindError::of_type(1, &argument.of));
    }
    let kernel = move |arguments: &[ColumnarValue], _: usize| {
        column_map(only(arguments)?, |array| {
            if !is_text {
                return written(array, |value, out| write!(out, "{value:X}"));
            }
            let texts = over::text(array)?;
            over::room(0, texts.value_data().len() * 2)?;
            let mut builder = StringBuilder::with_capacity(texts.len(), texts.value_data().len() * 2);
            for row in 0..texts.len() {
                if texts.is_null(row) {
                    builder.append_null();
                    continue;
                }
                for byte in texts.value(row).bytes() {
                    // Writing to a text builder does not fail.
                    let _ = write!(builder, "{byte:02X}");
                }
                builder.append_value("");
            }
            Ok(Arc::new(builder.finish()))
        })
    };
    Ok(Bound {
        arguments: vec![if is_text { argument.of.clone() } else { SqlType::BigInt }],
        result: SqlType::STRING,
        is_nullable: argument.is_nullable,
        kernel: Arc::new(kernel),
    })
}

/// Builds a column of text with the text form of each number of a column.
fn written(
    array: &ArrayRef,
    write: impl Fn(i64, &mut StringBuilder) -> std::fmt::Result,
) -> Result<ArrayRef, super::EvaluationError> {
    let values = over::primitive::<Int64Type>(array)?;
    let mut builder = StringBuilder::with_capacity(values.len(), values.len() * 8);
    for row in 0..values.len() {
        if values.is_null(row) {
            builder.append_null();
        } else {
            let _ = write(values.value(row), &mut builder);
            builder.append_value("");
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// Binds GREATEST or LEAST of values of one type; NULL if one of them is NULL.
fn extreme(arguments: &[Argument], is_greatest: bool) -> Result<Bound, BindError> {
    let common = common_of(arguments)?;
    let is_ordered = common.is_numeric()
        || common.is_text()
        || common.is_bytes()
        || common.is_timestamp()
        || matches!(common, SqlType::Boolean | SqlType::Date | SqlType::Time(_) | SqlType::Null);
    if !is_ordered {
        return Err(BindError::new(format!("values of {common} have no order")));
    }
    let kernel = move |arguments: &[ColumnarValue], _: usize| -> Evaluated {
        let mut arguments = arguments.iter();
        let Some(start) = arguments.next() else { return over::null(&DataType::Null) };
        arguments.try_fold(start.clone(), |best, next| better(&best, next, is_greatest))
    };
    Ok(Bound {
        arguments: vec![common.clone(); arguments.len()],
        result: common,
        is_nullable: arguments.iter().any(|argument| argument.is_nullable),
        kernel: Arc::new(kernel),
    })
}

fn better(left: &ColumnarValue, right: &ColumnarValue, is_greatest: bool) -> Evaluated {
    let (one, other) = (Operand::new(left)?, Operand::new(right)?);
    // Arrow orders floats as Java's `Double.compare` does: -0.0 comes before 0.0, and NaN after all numbers.
    let is_left = if is_greatest { cmp::gt_eq(&one, &other) } else { cmp::lt_eq(&one, &other) };
    let is_left = is_left.map_err(over::of_arrow)?;
    let chosen = zip::zip(&is_left, &one, &other).map_err(over::of_arrow)?;
    let is_unknown = boolean::is_null(&is_left).map_err(over::of_arrow)?;
    let result = arrow::compute::nullif(&chosen, &is_unknown).map_err(over::of_arrow)?;
    match (left, right) {
        (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)) => first(&result),
        _ => Ok(ColumnarValue::Array(result)),
    }
}

pub(super) fn common_of(arguments: &[Argument]) -> Result<SqlType, BindError> {
    let Some((first, rest)) = arguments.split_first() else { return Err(BindError::count(0)) };
    rest.iter().try_fold(first.of.clone(), |common, argument| {
        common_type(&common, &argument.of)
            .ok_or_else(|| BindError::new(format!("no type holds both {common} and {}", argument.of)))
    })
}

#[cfg(test)]
mod tests;
