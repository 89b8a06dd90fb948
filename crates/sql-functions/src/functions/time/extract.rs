//! SQL functions that return a part of a time as a BIGINT: EXTRACT and its short forms YEAR, QUARTER, MONTH,
//! WEEK, DAYOFYEAR, DAYOFMONTH, DAYOFWEEK, HOUR, MINUTE, SECOND.
//!
//! Weeks and ISOYEAR follow ISO 8601. DOW counts from 1 for Sunday, ISODOW from 1 for Monday. MILLISECOND and finer
//! units return only the fraction of the second. For a day-time interval DAY returns all days, for a year-month
//! interval YEAR all years; finer units return the remainder.
//!
//! Source: Flink, `DateTimeUtils.extractFromTimestamp`, `ExtractFunctionITCase`. Differs from Flink: EPOCH of a
//! TIMESTAMP_LTZ is the seconds since 1970 in UTC, whatever the zone of the session, while Flink adds the zone's
//! offset.

use arrow::datatypes::{DurationMillisecondType, Int64Type, IntervalYearMonthType};

use super::calendar::{Civil, civil, day_of_year, iso_week, iso_weekday};
use super::moments::{Moment, Moments};
use super::unit::Unit;
use super::zone::Zone;
use crate::functions::each::{self, Input, Nulls, bound};
use crate::functions::{Argument, BindError, Bound, Context};
use crate::types::SqlType;

/// Binds EXTRACT: the part of a time or interval that the first argument names.
pub(super) fn extract(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    let [unit, of] = given else { return Err(BindError::count(given.len())) };
    let mut bound = part(Unit::of(Some(unit))?, of, 2, context, 1)?;
    bound.arguments.insert(0, SqlType::STRING);
    Ok(bound)
}

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident $unit:ident;)*) => {$(
        $(#[$doc])*
        pub(super) fn $name(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
            let [of] = given else { return Err(BindError::count(given.len())) };
            part(Unit::$unit, of, 1, context, 0)
        }
    )*};
}

parts! {
    year Year;
    quarter Quarter;
    month Month;
    week Week;
    /// Binds DAYOFYEAR, which is EXTRACT(DOY ...).
    day_of_the_year DayOfYear;
    /// Binds DAYOFMONTH, which is EXTRACT(DAY ...).
    day_of_month Day;
    /// Binds DAYOFWEEK, which is EXTRACT(DOW ...).
    day_of_week DayOfWeek;
    hour Hour;
    minute Minute;
    second Second;
}

/// Binds the extraction of one part from the time argument with the index `place`, from 0 on.
fn part(
    unit: Unit,
    of: &Argument,
    shown: usize,
    context: &Context,
    place: usize,
) -> Result<Bound, BindError> {
    let (of_type, given) = (of.of.clone(), std::slice::from_ref(of));
    let refuse = || BindError::new(format!("{unit:?} can not be taken out of {of_type}").to_lowercase());
    let zone = Zone::Named(context.zone);
    let is_finer = unit.is_within_day();
    let is_right = match of_type {
        SqlType::Null | SqlType::Timestamp(_) | SqlType::TimestampLtz(_) => true,
        SqlType::Date => !is_finer,
        SqlType::Time(_) => is_finer || unit == Unit::Epoch,
        SqlType::DayTime => {
            if !is_finer && !matches!(unit, Unit::Day | Unit::Epoch) {
                return Err(refuse());
            }
            return Ok(bound(
                vec![of_type],
                given,
                SqlType::BigInt,
                Nulls::OfArguments,
                move |arguments, rows| {
                    let spans = Input::<DurationMillisecondType>::of(&arguments[place])?;
                    each::primitive::<Int64Type, _>(arguments, rows, |row| {
                        Some(of_millis(unit, spans.at(row)?))
                    })
                },
            ));
        }
        SqlType::YearMonth => {
            let Some(take) = of_months(unit) else { return Err(refuse()) };
            return Ok(bound(
                vec![of_type],
                given,
                SqlType::BigInt,
                Nulls::OfArguments,
                move |arguments, rows| {
                    let months = Input::<IntervalYearMonthType>::of(&arguments[place])?;
                    each::primitive::<Int64Type, _>(arguments, rows, |row| {
                        Some(take(i64::from(months.at(row)?)))
                    })
                },
            ));
        }
        _ => return Err(BindError::of_type(shown, &of_type)),
    };
    if !is_right {
        return Err(refuse());
    }
    let of_type = if of_type == SqlType::Null { SqlType::Timestamp(3) } else { of_type };
    // EPOCH, the seconds since 1970, does not depend on the time zone.
    let zone = if unit == Unit::Epoch { Zone::UTC } else { zone };
    Ok(bound(vec![of_type], given, SqlType::BigInt, Nulls::OfArguments, move |arguments, rows| {
        let moments = Moments::of(&arguments[place], zone)?;
        each::primitive::<Int64Type, _>(arguments, rows, |row| Some(of_moment(unit, moments.at(row)?)))
    }))
}

fn of_moment(unit: Unit, moment: Moment) -> i64 {
    let day = moment.day();
    let Civil { year, month, day: day_of_month } = civil(day);
    // For centuries and millennia, years count from 1 in both directions, so that there is no century 0.
    let started = |count: i64| if year > 0 { (year + count - 1) / count } else { (year - count + 1) / count };
    match unit {
        Unit::Millennium => started(1_000),
        Unit::Century => started(100),
        Unit::Decade => year / 10,
        Unit::Year => year,
        Unit::IsoYear => iso_week(day).0,
        Unit::Quarter => (month + 2) / 3,
        Unit::Month => month,
        Unit::Week => iso_week(day).1,
        Unit::Day => day_of_month,
        Unit::DayOfYear => day_of_year(day),
        Unit::DayOfWeek => iso_weekday(day) % 7 + 1,
        Unit::IsoDayOfWeek => iso_weekday(day),
        Unit::Hour => moment.seconds.rem_euclid(86_400) / 3_600,
        Unit::Minute => moment.seconds.rem_euclid(3_600) / 60,
        Unit::Second => moment.seconds.rem_euclid(60),
        Unit::Millisecond => moment.nanos / 1_000_000,
        Unit::Microsecond => moment.nanos / 1_000,
        Unit::Nanosecond => moment.nanos,
        Unit::Epoch => moment.seconds,
    }
}

/// Returns the part of an interval of milliseconds that a unit names, with the sign of the interval.
fn of_millis(unit: Unit, millis: i64) -> i64 {
    match unit {
        Unit::Day => millis / 86_400_000,
        Unit::Hour => millis % 86_400_000 / 3_600_000,
        Unit::Minute => millis % 3_600_000 / 60_000,
        Unit::Second => millis % 60_000 / 1_000,
        Unit::Millisecond => millis % 1_000,
        Unit::Microsecond => millis % 1_000 * 1_000,
        Unit::Nanosecond => millis % 1_000 * 1_000_000,
        // YEAR to SECOND are handled above, so the unit is EPOCH: the seconds of the interval.
        _ => millis / 1_000,
    }
}

fn of_months(unit: Unit) -> Option<fn(i64) -> i64> {
    Some(match unit {
        Unit::Millennium => |months| months / 12_000,
        Unit::Century => |months| months / 1_200,
        Unit::Decade => |months| months / 120,
        Unit::Year => |months| months / 12,
        Unit::Quarter => |months| (months % 12 - 1) / 3 + 1,
        Unit::Month => |months| months % 12,
        _ => return None,
    })
}
