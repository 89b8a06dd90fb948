//! The SQL comparison operators `=`, `<>`, `<`, `<=`, `>`, `>=`, IS \[NOT\] DISTINCT FROM.
//!
//! Numbers are compared as numbers, decimals with all their digits. Floats follow IEEE 754: NaN equals nothing, and
//! 0.0 equals -0.0. Text and bytes are compared by their bytes; FALSE comes before TRUE. Text compared with a time is
//! read as such a time; the result is NULL if the text is not one. A TIMESTAMP compared with a TIMESTAMP_LTZ is read
//! as local time in the session's zone. NULL makes the result NULL, except for IS \[NOT\] DISTINCT FROM. Arrays, maps and
//! rows are equal or not, and have no order.
//!
//! Source: Flink, `ScalarOperatorGens` (`generateEquals`, `generateComparison`, `generateIsDistinctFrom`).
//!
//! Differs from Flink: text with characters beyond U+FFFF is ordered by code points, where Flink may order by UTF-16
//! code units.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Datum};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp;
use arrow::datatypes::*;
use arrow::error::ArrowError;

use super::cast::bind_cast;
use super::cast::text::{parse_date, parse_time, parse_timestamp, ticks_per_second};
use super::decimal::wide_power_of_ten;
use super::over::{Evaluated, Operand, both, columns_map, first, of_arrow, truth, zip_boolean};
use super::{Argument, BindError, Bound, Context, Kernel};
use crate::types::{DECIMAL_PRECISION_MAX, SqlType, common_type};
use crate::values::ColumnarValue;

/// A comparison operator of SQL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComparisonOp {
    /// The operator "equal", `=`.
    Eq,
    /// The operator "not equal", `<>`.
    NotEq,
    /// The operator "less than", `<`.
    Lt,
    /// The operator "less than or equal", `<=`.
    LtEq,
    /// The operator "greater than", `>`.
    Gt,
    /// The operator "greater than or equal", `>=`.
    GtEq,
    /// IS DISTINCT FROM: NULL is distinct from everything but NULL.
    IsDistinctFrom,
    /// IS NOT DISTINCT FROM: equal, where NULL equals NULL.
    IsNotDistinctFrom,
}

impl ComparisonOp {
    /// Returns the operator that gives the same result when both operands change their places: `>` for `<`.
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            ComparisonOp::Lt => ComparisonOp::Gt,
            ComparisonOp::LtEq => ComparisonOp::GtEq,
            ComparisonOp::Gt => ComparisonOp::Lt,
            ComparisonOp::GtEq => ComparisonOp::LtEq,
            symmetric @ (ComparisonOp::Eq
            | ComparisonOp::NotEq
            | ComparisonOp::IsDistinctFrom
            | ComparisonOp::IsNotDistinctFrom) => symmetric,
        }
    }
}

/// Binds a comparison operator to its operands. The context holds the zone in which text is read as an
/// instant.
///
/// # Errors
/// [`BindError`] if Flink does not compare such operands, or if a text literal that is compared with a time
/// cannot be read as a time.
pub fn bind_comparison(
    op: ComparisonOp,
    left: &Argument,
    right: &Argument,
    context: &Context,
) -> Result<Bound, BindError> {
    let left_type = if left.of == SqlType::Null { &right.of } else { &left.of };
    let right_type = if right.of == SqlType::Null { &left.of } else { &right.of };
    let (arguments, kernel) = match (left_type, right_type) {
        (SqlType::Null, _) => ([SqlType::Boolean, SqlType::Boolean], arrow_kernel(op)),
        _ if left_type.is_numeric() && right_type.is_numeric() => numbers(op, left_type, right_type)?,
        _ if left_type.is_text() && is_time(right_type) => {
            readable(left, right_type)?;
            ([left_type.clone(), right_type.clone()], reading(op, [left_type, right_type], 0, context)?)
        }
        _ if is_time(left_type) && right_type.is_text() => {
            readable(right, left_type)?;
            ([left_type.clone(), right_type.clone()], reading(op, [left_type, right_type], 1, context)?)
        }
        // A TIMESTAMP that is compared with an instant is local time in the session's zone.
        (SqlType::Timestamp(digits), instant @ SqlType::TimestampLtz(_)) => {
            let left_type = SqlType::TimestampLtz(*digits);
            ([left_type.clone(), instant.clone()], alike(op, &left_type, instant))
        }
        (instant @ SqlType::TimestampLtz(_), SqlType::Timestamp(digits)) => {
            let right_type = SqlType::TimestampLtz(*digits);
            ([instant.clone(), right_type.clone()], alike(op, instant, &right_type))
        }
        _ if are_alike(left_type, right_type) => {
            ([left_type.clone(), right_type.clone()], alike(op, left_type, right_type))
        }
        _ if let Some(common) = nested::compared_as(op, left_type, right_type) => {
            ([common.clone(), common], nested::kernel(op))
        }
        _ => return Err(refusal(op, &left.of, &right.of)),
    };
    let is_distinct = matches!(op, ComparisonOp::IsDistinctFrom | ComparisonOp::IsNotDistinctFrom);
    // A text that is compared with a time and is not a time makes the result NULL.
    let is_read = left_type.is_text() != right_type.is_text();
    Ok(Bound {
        arguments: arguments.into(),
        result: SqlType::Boolean,
        is_nullable: !is_distinct && (left.is_nullable || right.is_nullable || is_read),
        kernel,
    })
}

fn is_time(of: &SqlType) -> bool {
    of.is_timestamp() || matches!(of, SqlType::Date | SqlType::Time(_))
}

/// Returns whether values of two types are compared without converting one of them.
fn are_alike(left: &SqlType, right: &SqlType) -> bool {
    use SqlType::*;
    (left.is_text() && right.is_text())
        || (left.is_bytes() && right.is_bytes())
        || matches!(
            (left, right),
            (Boolean, Boolean)
                | (Date, Date)
                | (Time(_), Time(_))
                | (Timestamp(_), Timestamp(_))
                | (TimestampLtz(_), TimestampLtz(_))
                | (DayTime, DayTime)
                | (YearMonth, YearMonth)
        )
}

fn alike(op: ComparisonOp, left: &SqlType, right: &SqlType) -> Arc<dyn Kernel> {
    use SqlType::{Timestamp, TimestampLtz};
    if let (Timestamp(left), Timestamp(right)) | (TimestampLtz(left), TimestampLtz(right)) = (left, right) {
        // Timestamps of two units are compared as 128-bit numbers, because 64 bits may not hold a timestamp
        // in the finer unit.
        let (left, right) = (ticks_per_second(*left), ticks_per_second(*right));
        let finest = left.max(right);
        let factors = (i128::from(finest / left), i128::from(finest / right));
        match (left.ilog10(), right.ilog10()) {
            (3, 6) => return units::<TimestampMillisecondType, TimestampMicrosecondType>(op, factors),
            (3, 9) => return units::<TimestampMillisecondType, TimestampNanosecondType>(op, factors),
            (6, 3) => return units::<TimestampMicrosecondType, TimestampMillisecondType>(op, factors),
            (6, 9) => return units::<TimestampMicrosecondType, TimestampNanosecondType>(op, factors),
            (9, 3) => return units::<TimestampNanosecondType, TimestampMillisecondType>(op, factors),
            (9, 6) => return units::<TimestampNanosecondType, TimestampMicrosecondType>(op, factors),
            _ => {}
        }
    }
    arrow_kernel(op)
}

fn units<L, R>(op: ComparisonOp, (left_factor, right_factor): (i128, i128)) -> Arc<dyn Kernel>
where
    L: ArrowTimestampType,
    R: ArrowTimestampType,
{
    ordered::<L, R, i128>(
        op,
        move |value| i128::from(value) * left_factor,
        move |value| i128::from(value) * right_factor,
    )
}

fn numbers(
    op: ComparisonOp,
    left: &SqlType,
    right: &SqlType,
) -> Result<([SqlType; 2], Arc<dyn Kernel>), BindError> {
    let common = common_type(left, right).ok_or_else(|| refusal(op, left, right))?;
    if common == SqlType::Float {
        return Ok(([common.clone(), common], ordered::<Float32Type, Float32Type, f32>(op, |v| v, |v| v)));
    }
    if common == SqlType::Double {
        return Ok(([common.clone(), common], ordered::<Float64Type, Float64Type, f64>(op, |v| v, |v| v)));
    }
    if let (SqlType::Decimal { .. }, Some((p1, s1)), Some((p2, s2))) =
        (&common, left.as_decimal(), right.as_decimal())
        && DECIMAL_PRECISION_MAX < (p1 - s1).max(p2 - s2) + s1.max(s2)
    {
        // Decimals are compared as 256-bit numbers of one scale, because no type of 38 digits holds all
        // digits of both operands.
        let scale = s1.max(s2);
        let factor = |of: u8| wide_power_of_ten(u32::from(scale - of)).unwrap_or(i256::ONE);
        let (left_factor, right_factor) = (factor(s1), factor(s2));
        let kernel = ordered::<Decimal128Type, Decimal128Type, i256>(
            op,
            move |value| i256::from_i128(value).wrapping_mul(left_factor),
            move |value| i256::from_i128(value).wrapping_mul(right_factor),
        );
        let decimal = |precision, scale| SqlType::Decimal { precision, scale };
        return Ok(([decimal(p1, s1), decimal(p2, s2)], kernel));
    }
    Ok(([common.clone(), common], arrow_kernel(op)))
}

/// Returns Arrow's comparison kernel, for types that are ordered as their bits or bytes are.
fn arrow_kernel(op: ComparisonOp) -> Arc<dyn Kernel> {
    let function: fn(&dyn Datum, &dyn Datum) -> Result<BooleanArray, ArrowError> = match op {
        ComparisonOp::Eq => cmp::eq,
        ComparisonOp::NotEq => cmp::neq,
        ComparisonOp::Lt => cmp::lt,
        ComparisonOp::LtEq => cmp::lt_eq,
        ComparisonOp::Gt => cmp::gt,
        ComparisonOp::GtEq => cmp::gt_eq,
        ComparisonOp::IsDistinctFrom => cmp::distinct,
        ComparisonOp::IsNotDistinctFrom => cmp::not_distinct,
    };
    Arc::new(move |arguments: &[ColumnarValue], _: usize| -> Evaluated {
        let (left, right) = both(arguments)?;
        let result = function(&Operand::new(left)?, &Operand::new(right)?).map_err(of_arrow)?;
        let result: ArrayRef = Arc::new(result);
        match (left, right) {
            (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)) => first(&result),
            _ => Ok(ColumnarValue::Array(result)),
        }
    })
}

/// Returns a comparison kernel for other types, which converts both operands to Rust values of one ordered
/// type.
fn ordered<L, R, V>(
    op: ComparisonOp,
    left_of: impl Fn(L::Native) -> V + Copy + Send + Sync + 'static,
    right_of: impl Fn(R::Native) -> V + Copy + Send + Sync + 'static,
) -> Arc<dyn Kernel>
where
    L: ArrowPrimitiveType,
    R: ArrowPrimitiveType,
    V: PartialOrd + 'static,
{
    Arc::new(move |arguments: &[ColumnarValue], rows: usize| -> Evaluated {
        let (left, right) = both(arguments)?;
        match op {
            ComparisonOp::Eq => zip_boolean::<L, R>(left, right, |l, r| left_of(l) == right_of(r)),
            ComparisonOp::NotEq => zip_boolean::<L, R>(left, right, |l, r| left_of(l) != right_of(r)),
            ComparisonOp::Lt => zip_boolean::<L, R>(left, right, |l, r| left_of(l) < right_of(r)),
            ComparisonOp::LtEq => zip_boolean::<L, R>(left, right, |l, r| left_of(l) <= right_of(r)),
            ComparisonOp::Gt => zip_boolean::<L, R>(left, right, |l, r| left_of(l) > right_of(r)),
            ComparisonOp::GtEq => zip_boolean::<L, R>(left, right, |l, r| left_of(l) >= right_of(r)),
            ComparisonOp::IsDistinctFrom | ComparisonOp::IsNotDistinctFrom => {
                let equal = zip_boolean::<L, R>(left, right, |l, r| left_of(l) == right_of(r))?;
                let is_distinct = op == ComparisonOp::IsDistinctFrom;
                columns_map(&[left.clone(), right.clone(), equal], rows, |columns, rows| {
                    distinct(columns, rows, is_distinct)
                })
            }
        }
    })
}

/// Computes IS [NOT] DISTINCT FROM out of the results of `=`, which are NULL for NULL operands.
fn distinct(
    columns: &[ArrayRef],
    rows: usize,
    is_distinct: bool,
) -> Result<ArrayRef, super::EvaluationError> {
    let [left, right, equal] = columns else { return Ok(Arc::new(BooleanArray::new_null(rows))) };
    let equal = truth(equal)?;
    let same = BooleanBuffer::collect_bool(rows, |row| {
        let is_same = match (left.is_null(row), right.is_null(row)) {
            (false, false) => equal.value(row),
            (left_is_null, right_is_null) => left_is_null && right_is_null,
        };
        is_same != is_distinct
    });
    Ok(Arc::new(BooleanArray::new(same, None)))
}

/// Returns a comparison kernel that first reads the text operand as a time of the other operand's type (DATE,
/// TIME or a timestamp). `text_place` is 0 if the text is the left operand, or else 1.
fn reading(
    op: ComparisonOp,
    types: [&SqlType; 2],
    text_place: usize,
    context: &Context,
) -> Result<Arc<dyn Kernel>, BindError> {
    let (text, time) = (types[text_place], types[1 - text_place]);
    let cast = bind_cast(text, true, time, true, context)?.kernel;
    let compare = alike(op, time, time);
    Ok(Arc::new(move |arguments: &[ColumnarValue], rows: usize| -> Evaluated {
        let (left, right) = both(arguments)?;
        if text_place == 0 {
            let left = cast.evaluate(std::slice::from_ref(left), rows)?;
            compare.evaluate(&[left, right.clone()], rows)
        } else {
            let right = cast.evaluate(std::slice::from_ref(right), rows)?;
            compare.evaluate(&[left.clone(), right], rows)
        }
    }))
}

/// Refuses at planning a text literal that is compared with a time and is not a time.
fn readable(argument: &Argument, time: &SqlType) -> Result<(), BindError> {
    let Some(text) = argument.text() else { return Ok(()) };
    let is_readable = match *time {
        SqlType::Date => parse_date(text).is_some(),
        SqlType::Time(digits) => parse_time(text, digits).is_some(),
        SqlType::Timestamp(digits) | SqlType::TimestampLtz(digits) => parse_timestamp(text, digits).is_some(),
        _ => false,
    };
    if is_readable { Ok(()) } else { Err(BindError::new(format!("'{text}' is no {time}"))) }
}

fn refusal(op: ComparisonOp, left: &SqlType, right: &SqlType) -> BindError {
    BindError::new(format!("{left} {op} {right}: they are not compared, cast one to the type of the other"))
}

impl fmt::Display for ComparisonOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ComparisonOp::Eq => "=",
            ComparisonOp::NotEq => "<>",
            ComparisonOp::Lt => "<",
            ComparisonOp::LtEq => "<=",
            ComparisonOp::Gt => ">",
            ComparisonOp::GtEq => ">=",
            ComparisonOp::IsDistinctFrom => "IS DISTINCT FROM",
            ComparisonOp::IsNotDistinctFrom => "IS NOT DISTINCT FROM",
        })
    }
}

pub mod members;
mod nested;
#[cfg(test)]
mod tests;
