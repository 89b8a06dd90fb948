//! Arithmetic of days, times, timestamps and intervals.
//!
//! An interval of days to seconds is a number of milliseconds. An interval of months moves along the calendar and
//! stops at the last day of a month (January 31 plus one month is February 28 or 29). Instants are moved by the
//! calendar of UTC, as in Flink. Times of day wrap at midnight.
//!
//! Source: Flink, `ScalarOperatorGens.generateTemporalPlusMinus`, `DateTimeUtils.addMonths`; Calcite, `OperandTypes`
//! (`PLUS_OPERATOR`, `MINUS_OPERATOR`, `MULTIPLY_OPERATOR`).
//!
//! Differs from Flink: DATE plus an interval of days to seconds is a DATE, unless the interval is a literal which is
//! not a whole number of days. That gives a TIMESTAMP(6). In Flink the units in which the interval is written decide.
//! A result that its column cannot hold is an error.

use std::sync::Arc;

use arrow::datatypes::*;

use super::ArithmeticOp;
use crate::functions::cast::text::ticks_per_second;
use crate::functions::over::{both, try_zip, zip};
use crate::functions::time::calendar::{DAY_SECONDS, add_months};
use crate::functions::{Argument, BindError, Bound, EvaluationError, Kernel};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

const MILLISECONDS_PER_DAY: i64 = DAY_SECONDS * 1_000;

/// Binds an arithmetic operator of which one operand is a time or an interval; `None` if there is no such
/// operation.
pub(super) fn bind(op: ArithmeticOp, left: &Argument, right: &Argument) -> Option<Result<Bound, BindError>> {
    use ArithmeticOp::{Add, Multiply, Subtract};
    let is_interval = |of: &SqlType| matches!(of, SqlType::DayTime | SqlType::YearMonth);
    let is_nullable = left.is_nullable || right.is_nullable;
    match (op, &left.of, &right.of) {
        (Add | Subtract, left_type, right_type) if left_type == right_type && is_interval(left_type) => {
            Some(Ok(intervals(op, left_type, is_nullable)))
        }
        (Multiply, interval, number) if is_interval(interval) && number.is_numeric() => {
            Some(Ok(multiple(interval, is_nullable)))
        }
        (Multiply, number, interval) if is_interval(interval) && number.is_numeric() => {
            Some(Ok(swapped(multiple(interval, is_nullable))))
        }
        (Add | Subtract, _, interval) if is_interval(interval) => moved(op, left, right).map(Ok),
        (Add, interval, _) if is_interval(interval) => moved(op, right, left).map(|bound| Ok(swapped(bound))),
        _ => None,
    }
}

/// Binds the sum or the difference of two intervals of one kind.
fn intervals(op: ArithmeticOp, of: &SqlType, is_nullable: bool) -> Bound {
    let kernel = match of {
        SqlType::YearMonth => super::primitive::<IntervalYearMonthType>(op, of),
        _ => super::primitive::<DurationMillisecondType>(op, of),
    };
    Bound { arguments: vec![of.clone(), of.clone()], result: of.clone(), is_nullable, kernel }
}

/// Binds the product of an interval and a number; as in Flink, fractions of the number are cut.
fn multiple(of: &SqlType, is_nullable: bool) -> Bound {
    let arrow = of.arrow();
    let (count, kernel): (_, Arc<dyn Kernel>) = match of {
        SqlType::YearMonth => (
            SqlType::Int,
            Arc::new(move |arguments: &[ColumnarValue], _: usize| {
                let (interval, count) = both(arguments)?;
                zip::<IntervalYearMonthType, Int32Type, IntervalYearMonthType>(
                    interval,
                    count,
                    &arrow,
                    i32::wrapping_mul,
                )
            }),
        ),
        _ => (
            SqlType::BigInt,
            Arc::new(move |arguments: &[ColumnarValue], _: usize| {
                let (interval, count) = both(arguments)?;
                zip::<DurationMillisecondType, Int64Type, DurationMillisecondType>(
                    interval,
                    count,
                    &arrow,
                    i64::wrapping_mul,
                )
            }),
        ),
    };
    Bound { arguments: vec![of.clone(), count], result: of.clone(), is_nullable, kernel }
}

/// Binds the addition of an interval to a time, or the subtraction of an interval from a time.
fn moved(op: ArithmeticOp, time: &Argument, interval: &Argument) -> Option<Bound> {
    let sign = if op == ArithmeticOp::Subtract { -1 } else { 1 };
    let is_day_time = interval.of == SqlType::DayTime;
    let mut result = time.of.clone();
    let mut taken = time.of.clone();
    let kernel = match (&time.of, is_day_time) {
        (SqlType::Date, true) if is_part_of_day(interval) => {
            (taken, result) = (SqlType::Timestamp(6), SqlType::Timestamp(6));
            timestamps(&result, true, sign)
        }
        (SqlType::Date, true) => kernel::<Date32Type, DurationMillisecondType>(&result, move |days, span| {
            let days = i64::from(days).checked_add((span / MILLISECONDS_PER_DAY).checked_mul(sign)?)?;
            i32::try_from(days).ok()
        }),
        (SqlType::Date, false) => {
            kernel::<Date32Type, IntervalYearMonthType>(&result, move |days, months| {
                i32::try_from(add_months(i64::from(days), i64::from(months) * sign)).ok()
            })
        }
        (SqlType::Time(_), true) => {
            kernel::<Time32MillisecondType, DurationMillisecondType>(&result, move |time, span| {
                let moved = i64::from(time) + span % MILLISECONDS_PER_DAY * sign;
                i32::try_from(moved.rem_euclid(MILLISECONDS_PER_DAY)).ok()
            })
        }
        (SqlType::Time(_), false) => {
            kernel::<Time32MillisecondType, IntervalYearMonthType>(&result, |time, _| Some(time))
        }
        (SqlType::Timestamp(_) | SqlType::TimestampLtz(_), _) => timestamps(&result, is_day_time, sign),
        _ => return None,
    };
    Some(Bound {
        arguments: vec![taken, interval.of.clone()],
        result,
        is_nullable: time.is_nullable || interval.is_nullable,
        kernel,
    })
}

/// Returns whether an argument is a literal interval that is not a whole number of days.
fn is_part_of_day(interval: &Argument) -> bool {
    match interval.literal {
        Some(ScalarValue::DurationMillisecond(Some(span))) => span % MILLISECONDS_PER_DAY != 0,
        _ => false,
    }
}

fn timestamps(of: &SqlType, is_day_time: bool, sign: i64) -> Arc<dyn Kernel> {
    match of {
        SqlType::Timestamp(digits @ 0..=3) | SqlType::TimestampLtz(digits @ 0..=3) => {
            timestamp::<TimestampMillisecondType>(of, *digits, is_day_time, sign)
        }
        SqlType::Timestamp(digits @ 4..=6) | SqlType::TimestampLtz(digits @ 4..=6) => {
            timestamp::<TimestampMicrosecondType>(of, *digits, is_day_time, sign)
        }
        _ => timestamp::<TimestampNanosecondType>(of, 9, is_day_time, sign),
    }
}

fn timestamp<T: ArrowTimestampType>(
    of: &SqlType,
    digits: u8,
    is_day_time: bool,
    sign: i64,
) -> Arc<dyn Kernel> {
    let ticks = ticks_per_second(digits);
    let span_ticks = ticks / 1_000 * sign;
    if is_day_time {
        return kernel::<T, DurationMillisecondType>(of, move |value, span| {
            value.checked_add(span.checked_mul(span_ticks)?)
        });
    }
    let day_ticks = ticks * DAY_SECONDS;
    kernel::<T, IntervalYearMonthType>(of, move |value, months| {
        let (days, rest) = (value.div_euclid(day_ticks), value.rem_euclid(day_ticks));
        add_months(days, i64::from(months) * sign).checked_mul(day_ticks)?.checked_add(rest)
    })
}

/// Returns a kernel that computes `function` of a time and an interval. `None` from `function` is a result
/// that the column cannot hold, which is an error.
fn kernel<T, I>(
    of: &SqlType,
    function: impl Fn(T::Native, I::Native) -> Option<T::Native> + Send + Sync + 'static,
) -> Arc<dyn Kernel>
where
    T: ArrowPrimitiveType,
    I: ArrowPrimitiveType,
{
    let (of, arrow) = (of.clone(), of.arrow());
    Arc::new(move |arguments: &[ColumnarValue], _: usize| {
        let (time, interval) = both(arguments)?;
        try_zip::<T, I, T>(time, interval, &arrow, |time, interval| match function(time, interval) {
            Some(moved) => Ok(Some(moved)),
            None => Err(EvaluationError {
                code: "OUT_OF_RANGE",
                message: format!("a {of} moved by an interval of {interval:?} is out of its range"),
            }),
        })
    })
}

/// Returns the bound function for operands in reverse order: the new function passes its second operand
/// first.
fn swapped(bound: Bound) -> Bound {
    let Bound { mut arguments, result, is_nullable, kernel } = bound;
    arguments.reverse();
    let swapped = move |arguments: &[ColumnarValue], rows: usize| {
        let (left, right) = both(arguments)?;
        kernel.evaluate(&[right.clone(), left.clone()], rows)
    };
    Bound { arguments, result, is_nullable, kernel: Arc::new(swapped) }
}
