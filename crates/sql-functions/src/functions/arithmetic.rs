//! The SQL operators `+`, `-`, `*`, `/` and `%` of numbers, times and intervals.
//!
//! Whole numbers become the wider of both types and wrap in it. Their quotients are cut toward zero, and a
//! divisor of zero is an error. If one operand is a float, the result is a float, of 64 bits if the other is
//! a decimal, and follows IEEE 754. Decimals are in `decimals`, times in `times`.
//!
//! Source: Flink, `ScalarOperatorGens`, `FlinkTypeSystem`; Calcite, `SqlStdOperatorTable` (the allowed
//! operands: `%` takes no floats, and its result has the type of the divisor).

mod decimals;
mod times;

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrowNativeTypeOp, ArrowPrimitiveType};
use arrow::datatypes::*;

use super::over::{Evaluated, both, map, only, try_zip, zip};
use super::{Argument, BindError, Bound, EvaluationError, Kernel};
use crate::types::{SqlType, common_type};
use crate::values::ColumnarValue;

/// An arithmetic operator of SQL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArithmeticOp {
    /// Addition, `+`.
    Add,
    /// Subtraction, `-`.
    Subtract,
    /// Multiplication, `*`.
    Multiply,
    /// Division, `/`.
    Divide,
    /// Remainder, `%` or `MOD`.
    Modulo,
}

/// Binds an arithmetic operator to its operands.
///
/// # Errors
/// [`BindError`] if Flink has no such operation.
pub fn bind_arithmetic(op: ArithmeticOp, left: &Argument, right: &Argument) -> Result<Bound, BindError> {
    // A NULL without a type takes the type of a number beside it. Beside a time, the function `times::bind`
    // decides whether the NULL stands for a time or an interval.
    let left_type = if left.of == SqlType::Null { &right.of } else { &left.of };
    let right_type = if right.of == SqlType::Null { &left.of } else { &right.of };
    if left_type.is_numeric() && right_type.is_numeric() {
        return numbers(op, left_type, right_type, left.is_nullable || right.is_nullable);
    }
    times::bind(op, left, right).unwrap_or_else(|| Err(refusal(op, left, right)))
}

/// Binds the minus sign before a number or an interval, which changes its sign.
///
/// # Errors
/// [`BindError`] if the operand is neither.
pub fn bind_negate(argument: &Argument) -> Result<Bound, BindError> {
    let kernel = match argument.of {
        SqlType::TinyInt => negate::<Int8Type>(&argument.of),
        SqlType::SmallInt => negate::<Int16Type>(&argument.of),
        SqlType::Int => negate::<Int32Type>(&argument.of),
        SqlType::BigInt => negate::<Int64Type>(&argument.of),
        SqlType::Float => negate::<Float32Type>(&argument.of),
        SqlType::Double => negate::<Float64Type>(&argument.of),
        SqlType::Decimal { .. } => negate::<Decimal128Type>(&argument.of),
        SqlType::DayTime => negate::<DurationMillisecondType>(&argument.of),
        SqlType::YearMonth => negate::<IntervalYearMonthType>(&argument.of),
        _ => return Err(BindError::new(format!("-{} has no meaning", argument.of))),
    };
    Ok(Bound {
        arguments: vec![argument.of.clone()],
        result: argument.of.clone(),
        is_nullable: argument.is_nullable,
        kernel,
    })
}

fn numbers(op: ArithmeticOp, left: &SqlType, right: &SqlType, is_nullable: bool) -> Result<Bound, BindError> {
    let Some(common) = common_type(left, right) else {
        return Err(BindError::new(format!("{left} {op} {right} has no type")));
    };
    if op == ArithmeticOp::Modulo && matches!(common, SqlType::Float | SqlType::Double) {
        return Err(BindError::new(format!("{left} % {right}: a remainder of floats has no meaning")));
    }
    let kernel = match common {
        SqlType::TinyInt => primitive::<Int8Type>(op, &common),
        SqlType::SmallInt => primitive::<Int16Type>(op, &common),
        SqlType::Int => primitive::<Int32Type>(op, &common),
        SqlType::BigInt => primitive::<Int64Type>(op, &common),
        SqlType::Float => primitive::<Float32Type>(op, &common),
        SqlType::Double => primitive::<Float64Type>(op, &common),
        _ => return decimals::bind(op, left, right, is_nullable),
    };
    if op == ArithmeticOp::Modulo && *right != common {
        return Ok(narrow(&common, right, is_nullable, kernel));
    }
    Ok(Bound { arguments: vec![common.clone(), common.clone()], result: common, is_nullable, kernel })
}

/// Binds the kernel of `%`, whose whole-number result is narrowed to the type of the divisor. A remainder
/// always fits this type.
fn narrow(wide: &SqlType, result: &SqlType, is_nullable: bool, kernel: Arc<dyn Kernel>) -> Bound {
    let (from, to) = (wide.arrow(), result.clone());
    let narrowed = move |arguments: &[ColumnarValue], rows: usize| -> Evaluated {
        let value = kernel.evaluate(arguments, rows)?;
        let of = to.arrow();
        Ok(match (&from, &to) {
            (DataType::Int64, SqlType::TinyInt) => map::<Int64Type, Int8Type>(&value, &of, |v| v as i8)?,
            (DataType::Int64, SqlType::SmallInt) => map::<Int64Type, Int16Type>(&value, &of, |v| v as i16)?,
            (DataType::Int64, SqlType::Int) => map::<Int64Type, Int32Type>(&value, &of, |v| v as i32)?,
            (DataType::Int32, SqlType::TinyInt) => map::<Int32Type, Int8Type>(&value, &of, |v| v as i8)?,
            (DataType::Int32, SqlType::SmallInt) => map::<Int32Type, Int16Type>(&value, &of, |v| v as i16)?,
            (DataType::Int16, SqlType::TinyInt) => map::<Int16Type, Int8Type>(&value, &of, |v| v as i8)?,
            _ => value,
        })
    };
    Bound {
        arguments: vec![wide.clone(), wide.clone()],
        result: result.clone(),
        is_nullable,
        kernel: Arc::new(narrowed),
    }
}

/// Returns the kernel of an arithmetic operator over one Arrow type.
fn primitive<T>(op: ArithmeticOp, of: &SqlType) -> Arc<dyn Kernel>
where
    T: ArrowPrimitiveType,
    T::Native: ArrowNativeTypeOp,
{
    let arrow = of.arrow();
    if of.is_integer() && matches!(op, ArithmeticOp::Divide | ArithmeticOp::Modulo) {
        let is_quotient = op == ArithmeticOp::Divide;
        return Arc::new(move |arguments: &[ColumnarValue], _: usize| {
            let (left, right) = both(arguments)?;
            try_zip::<T, T, T>(left, right, &arrow, |left, right| {
                if right.is_zero() {
                    return Err(EvaluationError::division_by_zero());
                }
                // The least whole number divided by -1 wraps to itself, as in Java.
                Ok(Some(if is_quotient { left.div_wrapping(right) } else { left.mod_wrapping(right) }))
            })
        });
    }
    match op {
        ArithmeticOp::Add => total::<T>(&arrow, |left, right| left.add_wrapping(right)),
        ArithmeticOp::Subtract => total::<T>(&arrow, |left, right| left.sub_wrapping(right)),
        ArithmeticOp::Multiply => total::<T>(&arrow, |left, right| left.mul_wrapping(right)),
        ArithmeticOp::Divide => total::<T>(&arrow, |left, right| left.div_wrapping(right)),
        ArithmeticOp::Modulo => total::<T>(&arrow, |left, right| left.mod_wrapping(right)),
    }
}

fn total<T: ArrowPrimitiveType>(
    of: &DataType,
    function: impl Fn(T::Native, T::Native) -> T::Native + Copy + Send + Sync + 'static,
) -> Arc<dyn Kernel> {
    let of = of.clone();
    Arc::new(move |arguments: &[ColumnarValue], _: usize| {
        let (left, right) = both(arguments)?;
        zip::<T, T, T>(left, right, &of, function)
    })
}

fn negate<T>(of: &SqlType) -> Arc<dyn Kernel>
where
    T: ArrowPrimitiveType,
    T::Native: ArrowNativeTypeOp,
{
    let of = of.arrow();
    Arc::new(move |arguments: &[ColumnarValue], _: usize| {
        map::<T, T>(only(arguments)?, &of, |value| value.neg_wrapping())
    })
}

fn refusal(op: ArithmeticOp, left: &Argument, right: &Argument) -> BindError {
    let is_time = |of: &SqlType| of.is_timestamp() || matches!(of, SqlType::Date | SqlType::Time(_));
    let hint = if op == ArithmeticOp::Subtract && is_time(&left.of) && is_time(&right.of) {
        ": TIMESTAMPDIFF tells how far apart times are"
    } else if left.of == SqlType::Null || right.of == SqlType::Null {
        ": cast NULL to a type"
    } else if left.of.is_text() || right.of.is_text() {
        ": text is no number, cast it to one"
    } else if is_time(&left.of) && right.of.is_numeric() {
        ": write the number as an INTERVAL"
    } else {
        ""
    };
    BindError::new(format!("{} {op} {} has no meaning{hint}", left.of, right.of))
}

impl fmt::Display for ArithmeticOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArithmeticOp::Add => "+",
            ArithmeticOp::Subtract => "-",
            ArithmeticOp::Multiply => "*",
            ArithmeticOp::Divide => "/",
            ArithmeticOp::Modulo => "%",
        })
    }
}

#[cfg(test)]
mod tests;
