//! Casts among days, times of day, timestamps, instants and intervals.
//!
//! Excess digits are cut off, toward the past. Instants are converted to and from local time in the session's zone. A
//! time of day becomes that time on 1970-01-01. An INT is cast to and from an interval as a number of months, a
//! BIGINT as a number of milliseconds.
//!
//! Source: Flink, `TimestampToTimestampCastRule`, `DateToTimestampCastRule`, `TimeToTimestampCastRule`,
//! `TimestampToDateCastRule`, `TimestampToTimeCastRule`, `TimeToTimeCastRule`; notes 5 and 6 of the table of casts.
//!
//! Differs from Flink before 1970, where Flink cuts toward 1970 and returns the wrong day. Here 1969-12-31 23:59:59.5
//! is cut to a second of 1969, and its day is the last of 1969.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, Int64Array};
use arrow::datatypes::*;
use chrono_tz::Tz;

use super::text::ticks_per_second;
use super::zone::{instant_of_local, local_of_instant};
use super::{Caster, Failures, Writer};
use crate::functions::{EvaluationError, over};
use crate::types::SqlType;

const SECONDS_PER_DAY: i64 = 86_400;
const MILLISECONDS_PER_DAY: i64 = SECONDS_PER_DAY * 1_000;

/// Returns the function that casts one type of time or interval to another; `None` if there is no such cast.
pub(super) fn caster(from: &SqlType, to: &SqlType, zone: Tz) -> Option<Caster> {
    let convert = conversion(from, to, zone)?;
    let writer = Writer::new(from, zone);
    let (from, to) = (from.clone(), to.clone());
    Some(Box::new(move |array: &ArrayRef, failures: &mut Failures| {
        let values = plain(array, &from)?;
        let slots = values.values();
        let result = over::fill::<Int64Type>(values.len(), values.nulls(), |row| {
            let value = convert(slots[row]);
            if value.is_none() {
                failures.add(row, || {
                    let mut shown = String::new();
                    writer.write(array.as_ref(), row, &mut shown);
                    EvaluationError::cast(&shown, &to)
                });
            }
            Ok(value)
        })?;
        Ok(stored(&result, &to))
    }))
}

/// Function that converts a time, as its column stores it, to a stored time of another type; `None` if the
/// other type cannot hold it.
type Conversion = Box<dyn Fn(i64) -> Option<i64> + Send + Sync>;

fn conversion(from: &SqlType, to: &SqlType, zone: Tz) -> Option<Conversion> {
    use SqlType::*;
    Some(match (from, to) {
        (YearMonth, Int) | (Int, YearMonth) | (DayTime, BigInt) | (BigInt, DayTime) => Box::new(Some),
        (Date, &Timestamp(digits)) => Box::new(move |days| midnight(days, digits)),
        (Date, &TimestampLtz(digits)) => {
            Box::new(move |days| instant_of_local(midnight(days, digits)?, digits, zone))
        }
        (&Time(_), &Time(digits)) => Box::new(move |time| cut(time, 3, digits)),
        (Time(_), &Timestamp(digits)) => Box::new(move |time| rescale(time, 3, digits)),
        (Time(_), &TimestampLtz(digits)) => {
            Box::new(move |time| instant_of_local(rescale(time, 3, digits)?, digits, zone))
        }
        (&Timestamp(of), Date) => Box::new(move |value| day(value, of)),
        (&TimestampLtz(of), Date) => Box::new(move |value| day(local_of_instant(value, of, zone)?, of)),
        (&Timestamp(of), &Time(digits)) => Box::new(move |value| time_of_day(value, of, digits)),
        (&TimestampLtz(of), &Time(digits)) => {
            Box::new(move |value| time_of_day(local_of_instant(value, of, zone)?, of, digits))
        }
        (&Timestamp(of), &Timestamp(digits)) | (&TimestampLtz(of), &TimestampLtz(digits)) => {
            Box::new(move |value| rescale(value, of, digits))
        }
        (&Timestamp(of), &TimestampLtz(digits)) => {
            Box::new(move |value| rescale(instant_of_local(value, of, zone)?, of, digits))
        }
        (&TimestampLtz(of), &Timestamp(digits)) => {
            Box::new(move |value| rescale(local_of_instant(value, of, zone)?, of, digits))
        }
        _ => return None,
    })
}

fn midnight(days: i64, digits: u8) -> Option<i64> {
    (days * SECONDS_PER_DAY).checked_mul(ticks_per_second(digits))
}

fn day(value: i64, digits: u8) -> Option<i64> {
    let days = value.div_euclid(ticks_per_second(digits) * SECONDS_PER_DAY);
    i32::try_from(days).ok().map(i64::from)
}

fn time_of_day(value: i64, of: u8, digits: u8) -> Option<i64> {
    let milliseconds = rescale(value, of, 3)?;
    cut(milliseconds.rem_euclid(MILLISECONDS_PER_DAY), 3, digits)
}

/// Converts a timestamp with `from` digits of a second to one with `to` digits, and cuts the digits beyond
/// `to`.
fn rescale(value: i64, from: u8, to: u8) -> Option<i64> {
    let (from_ticks, to_ticks) = (ticks_per_second(from), ticks_per_second(to));
    let value = if from_ticks <= to_ticks {
        value.checked_mul(to_ticks / from_ticks)?
    } else {
        value.div_euclid(from_ticks / to_ticks)
    };
    let held = to_ticks.ilog10() as u8;
    cut(value, held, to)
}

/// Cuts a time that is stored in units of 10^-`held` seconds to `digits` digits of a second; the unit stays.
fn cut(value: i64, held: u8, digits: u8) -> Option<i64> {
    let step = 10_i64.pow(u32::from(held.saturating_sub(digits)));
    value.checked_sub(value.rem_euclid(step))
}

/// Returns the values of a column of times or intervals as 64-bit numbers in the units of the column.
fn plain(array: &ArrayRef, from: &SqlType) -> Result<Int64Array, EvaluationError> {
    let widen = |values: Int32Array| values.unary::<_, Int64Type>(i64::from);
    Ok(match from.arrow() {
        DataType::Int32 => widen(over::primitive::<Int32Type>(array)?.clone()),
        DataType::Date32 => widen(over::primitive::<Date32Type>(array)?.reinterpret_cast()),
        DataType::Time32(_) => widen(over::primitive::<Time32MillisecondType>(array)?.reinterpret_cast()),
        DataType::Interval(_) => widen(over::primitive::<IntervalYearMonthType>(array)?.reinterpret_cast()),
        DataType::Duration(_) => over::primitive::<DurationMillisecondType>(array)?.reinterpret_cast(),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            over::primitive::<TimestampMillisecondType>(array)?.reinterpret_cast()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            over::primitive::<TimestampMicrosecondType>(array)?.reinterpret_cast()
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            over::primitive::<TimestampNanosecondType>(array)?.reinterpret_cast()
        }
        _ => over::primitive::<Int64Type>(array)?.clone(),
    })
}

/// Builds a column of times or intervals from numbers in the units of the column. Numbers for columns of 32
/// bits must have been checked to fit.
fn stored(values: &Int64Array, to: &SqlType) -> ArrayRef {
    let narrow = || values.unary::<_, Int32Type>(|value| value as i32);
    let of = to.arrow();
    match of {
        DataType::Int32 => Arc::new(narrow()),
        DataType::Date32 => over::typed::<Date32Type>(narrow().reinterpret_cast(), &of),
        DataType::Time32(_) => over::typed::<Time32MillisecondType>(narrow().reinterpret_cast(), &of),
        DataType::Interval(_) => over::typed::<IntervalYearMonthType>(narrow().reinterpret_cast(), &of),
        DataType::Duration(_) => over::typed::<DurationMillisecondType>(values.reinterpret_cast(), &of),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            over::typed::<TimestampMillisecondType>(values.reinterpret_cast(), &of)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            over::typed::<TimestampMicrosecondType>(values.reinterpret_cast(), &of)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            over::typed::<TimestampNanosecondType>(values.reinterpret_cast(), &of)
        }
        _ => Arc::new(values.clone()),
    }
}
