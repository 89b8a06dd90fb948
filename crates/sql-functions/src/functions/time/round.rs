//! SQL functions that round times to a unit: FLOOR and CEIL of days, times, timestamps and instants.
//!
//! Weeks begin on Sunday. As in Flink, CEIL has these rules. To a month or more it uses the day only: a time of day
//! on the first of a month does not round up. To a quarter, decade, century or millennium it goes to the next one
//! even from a first day (to a quarter except from January 1). CEIL of a DATE to a day returns the next day.
//!
//! Source: Flink, `DateTimeUtils.timestampFloor`, `timestampCeil`, `julianDateFloor`, and its `TemporalTypesTest`.
//! Differs from Flink: a TIMESTAMP_LTZ is rounded in the zone of the session with the offset valid at the result,
//! where Flink uses the offset at the argument. CEIL of a TIME to an hour in the last hour of a day is 00:00, in
//! Flink 24:00.

use super::calendar::{Civil, civil, days, iso_weekday};
use super::moments::{self, Moment, Moments};
use super::unit::Unit;
use super::zone::Zone;
use crate::functions::each::{Nulls, bound};
use crate::functions::{Argument, BindError, Bound, Context};
use crate::types::SqlType;

/// Binds FLOOR of a time: rounds down to a unit such as DAY.
pub(super) fn floor(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    rounded(given, context, Direction::Down)
}

/// Binds CEIL of a time: rounds up to a unit such as DAY.
pub(super) fn ceil(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    rounded(given, context, Direction::Up)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Down,
    Up,
}

fn rounded(given: &[Argument], context: &Context, direction: Direction) -> Result<Bound, BindError> {
    let [time, unit] = given else { return Err(BindError::count(given.len())) };
    let unit = Unit::of(Some(unit))?;
    let of = if time.of == SqlType::Null { SqlType::Timestamp(3) } else { time.of.clone() };
    let is_day = of == SqlType::Date;
    let is_known = match of {
        SqlType::Date | SqlType::Timestamp(_) | SqlType::TimestampLtz(_) => {
            unit.nanos().is_some() || day_rounder(unit).is_some()
        }
        SqlType::Time(_) => unit.is_within_day(),
        _ => return Err(BindError::of_type(1, &of)),
    };
    if !is_known {
        return Err(BindError::new(format!(
            "{of} cannot be rounded to a {}",
            format!("{unit:?}").to_lowercase()
        )));
    }
    let zone = Zone::Named(context.zone);
    let types = vec![of.clone(), SqlType::STRING];
    Ok(bound(types, &given[..1], of.clone(), Nulls::OfArguments, move |arguments, rows| {
        let moments = Moments::of(&arguments[0], zone)?;
        moments::write(arguments, rows, &of, zone, |row| {
            let moment = moments.at(row)?;
            let is_next_day = is_day && unit == Unit::Day && direction == Direction::Up;
            Some(if is_next_day {
                Moment::on_day(moment.day() + 1, 0)
            } else {
                round(moment, unit, direction)
            })
        })
    }))
}

fn round(moment: Moment, unit: Unit, direction: Direction) -> Moment {
    let (day, nanos) = (moment.day(), moment.nanos_of_day());
    if let Some(rounder) = day_rounder(unit) {
        return Moment::on_day(rounder(day, direction), 0);
    }
    // Units up to a day divide the day evenly, so the time of day alone is rounded.
    let width = unit.nanos().unwrap_or(1);
    let down = nanos - nanos % width;
    let is_exact = down == nanos || direction == Direction::Down;
    Moment::on_day(day, if is_exact { down } else { down + width })
}

type DayRounder = fn(i64, Direction) -> i64;

/// Returns the function that rounds a date to a unit longer than a day.
fn day_rounder(unit: Unit) -> Option<DayRounder> {
    Some(match unit {
        Unit::Week => |day, direction| {
            let since_sunday = iso_weekday(day) % 7;
            match direction {
                Direction::Up if since_sunday > 0 => day - since_sunday + 7,
                _ => day - since_sunday,
            }
        },
        Unit::Month => |day, direction| {
            let Civil { year, month, day } = civil(day);
            days(year, month + i64::from(direction == Direction::Up && day > 1), 1)
        },
        Unit::Quarter => |day, direction| {
            let Civil { year, month, day } = civil(day);
            let more = i64::from(direction == Direction::Up && (month > 1 || day > 1));
            days(year, ((month + 2) / 3 + more) * 3 - 2, 1)
        },
        Unit::Year => |day, direction| {
            let Civil { year, month, day } = civil(day);
            days(year + i64::from(direction == Direction::Up && (month > 1 || day > 1)), 1, 1)
        },
        Unit::Decade => |day, direction| {
            let year = civil(day).year.div_euclid(10) * 10;
            days(if direction == Direction::Up { year + 10 } else { year }, 1, 1)
        },
        Unit::Century => |day, direction| of_years(day, direction, 100),
        Unit::Millennium => |day, direction| of_years(day, direction, 1_000),
        _ => return None,
    })
}

/// Rounds a date to decades, centuries or millennia; these end with a year such as 1900 or 2000.
fn of_years(day: i64, direction: Direction, count: i64) -> i64 {
    let last = (civil(day).year + count - 1).div_euclid(count) * count;
    days(if direction == Direction::Up { last + 1 } else { last - count + 1 }, 1, 1)
}
