//! SQL functions that convert between times and text: DATE_FORMAT, TO_DATE, TO_TIMESTAMP, TO_TIMESTAMP_LTZ,
//! FROM_UNIXTIME, UNIX_TIMESTAMP, CONVERT_TZ.
//!
//! Text which cannot be read gives NULL, or the least BIGINT in UNIX_TIMESTAMP. An invalid pattern is refused if it
//! is a literal, and otherwise fails its row. Patterns are those of one of Java's formatters, which each function
//! names: the strict `DateTimeFormatter` or the lenient `SimpleDateFormat`.
//!
//! Source: Flink documentation, "Temporal functions"; Flink, `DateTimeUtils`.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};

use super::calendar::{DAY_SECONDS, civil};
use super::moments::{self, Moment, Moments};
use super::now::present;
use super::pattern::{Pattern, Purpose, Style, default_date, default_timestamp};
use super::zone::{Overlap, Zone};
use crate::functions::each::{self, Input, Kind, Nulls, Text, bound, expect, failure, one_or_many};
use crate::functions::text::pattern::Cache;
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError};
use crate::types::SqlType;
use crate::values::ScalarValue;

const TIMESTAMP: &str = "yyyy-MM-dd HH:mm:ss";

/// Binds DATE_FORMAT: writes a timestamp by a pattern of Java's `DateTimeFormatter`. A text of the form
/// `yyyy-MM-dd HH:mm:ss` is read as a timestamp and written by a pattern of `SimpleDateFormat`.
pub(super) fn date_format(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    let [time, pattern] = given else { return Err(BindError::count(given.len())) };
    let is_text = time.of.is_text() || time.of == SqlType::Null;
    let style = if is_text { Style::Lenient } else { Style::Strict };
    let patterns = Patterns::of(Some(pattern), style, Purpose::Format)?;
    if is_text {
        let types = expect(given, &[Kind::Text, Kind::Text], &[])?;
        let (reader, since) = (compiled(TIMESTAMP)?, first_year(context));
        return Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, move |arguments, rows| {
            let (text, pattern) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
            each::written(arguments, rows, |row, out| {
                let (Some(text), Some(pattern)) = (text.at(row), pattern.at(row)) else { return Ok(None) };
                let Some(millis) = reader.instant(text, Zone::UTC, since) else { return Ok(None) };
                let moment = Moment::of_millis(millis);
                patterns.get(pattern)?.format(moment, Zone::UTC, moment.seconds, out);
                Ok(Some(()))
            })
        }));
    }
    if !matches!(time.of, SqlType::Date | SqlType::Timestamp(_) | SqlType::TimestampLtz(_)) {
        return Err(BindError::of_type(1, &time.of));
    }
    if !pattern.of.is_text() && pattern.of != SqlType::Null {
        return Err(BindError::of_type(2, &pattern.of));
    }
    let zone = Zone::Named(context.zone);
    let types = vec![time.of.clone(), SqlType::STRING];
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, move |arguments, rows| {
        let (moments, pattern) = (Moments::of(&arguments[0], zone)?, Input::<Text>::of(&arguments[1])?);
        each::written(arguments, rows, |row, out| {
            let (Some(moment), Some(pattern)) = (moments.at(row), pattern.at(row)) else { return Ok(None) };
            patterns.get(pattern)?.format(moment, Zone::UTC, moment.seconds, out);
            Ok(Some(()))
        })
    }))
}

/// Binds TO_DATE: reads a DATE in the form `yyyy-MM-dd`, or by a pattern of Java's lenient
/// `SimpleDateFormat`.
pub(super) fn to_date(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[Kind::Text])?;
    let patterns = Patterns::of(given.get(1), Style::Lenient, Purpose::Parse)?;
    let since = first_year(context);
    Ok(bound(types, given, SqlType::Date, Nulls::Anyway, move |arguments, rows| {
        let (text, pattern) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::optional(arguments, 1)?);
        moments::write(arguments, rows, &SqlType::Date, Zone::UTC, |row| {
            let Some(text) = text.at(row) else { return Ok(None) };
            let Some(pattern) = &pattern else {
                return Ok(default_date(text).map(|day| Moment::on_day(day, 0)));
            };
            let Some(pattern) = pattern.at(row) else { return Ok(None) };
            Ok(patterns.get(pattern)?.instant(text, Zone::UTC, since).map(Moment::of_millis))
        })
    }))
}

/// Binds TO_TIMESTAMP: reads a TIMESTAMP(3) in the form `yyyy-MM-dd[ HH:mm:ss[.fraction]]`, or by a pattern
/// of Java's strict `DateTimeFormatter`. A text that does not fit the pattern is read in that form, too.
pub(super) fn to_timestamp(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[Kind::Text])?;
    let patterns = Patterns::of(given.get(1), Style::Strict, Purpose::Parse)?;
    of_text(types, given, patterns, SqlType::Timestamp(3))
}

/// Binds TO_TIMESTAMP_LTZ of a text or of a number. A text is read as by [`to_timestamp`], as local time of
/// the zone in the third argument (default UTC), and gives a TIMESTAMP_LTZ with as many digits of a second as a literal
/// pattern has, from 3 to 9. A number counts units of 10^-p
/// seconds, where p is the second argument, from 0 to 9, default 3. The result is a TIMESTAMP_LTZ(p) if p is
/// a literal above 3, and a TIMESTAMP_LTZ(3) otherwise. Years are 0 to 9999.
///
/// Source: Flink 2.3, `ToTimestampLtzFunction`, `ToTimestampLtzTypeStrategy` (FLINK-39244), `DateTimeUtils.toTimestampData`.
pub(super) fn to_timestamp_ltz(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let Some(first) = given.first() else { return Err(BindError::count(0)) };
    if first.of.is_numeric() || (first.of == SqlType::Null && given.len() <= 2) {
        return of_number(given);
    }
    let types = expect(given, &[Kind::Text], &[Kind::Text, Kind::Text])?;
    if let Some(name) = given.get(2).and_then(Argument::text) {
        known_zone(name)?;
    }
    let patterns = Patterns::of(given.get(1), Style::Strict, Purpose::Parse)?;
    let digits = match &patterns.literal {
        Some((_, pattern)) => pattern.second_digits().clamp(3, 9) as u8,
        None => 3,
    };
    of_text(types, given, patterns, SqlType::TimestampLtz(digits))
}

fn of_text(
    types: Vec<SqlType>,
    given: &[Argument],
    patterns: Patterns,
    of: SqlType,
) -> Result<Bound, BindError> {
    Ok(bound(types, given, of.clone(), Nulls::Anyway, move |arguments, rows| {
        let (text, pattern) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::optional(arguments, 1)?);
        let zones = Input::<Text>::optional(arguments, 2)?;
        moments::write(arguments, rows, &of, Zone::UTC, |row| {
            let Some(text) = text.at(row) else { return Ok(None) };
            let mut moment = match &pattern {
                None => default_timestamp(text),
                Some(pattern) => {
                    let Some(pattern) = pattern.at(row) else { return Ok(None) };
                    patterns.get(pattern)?.reading(text).or_else(|| default_timestamp(text.trim()))
                }
            };
            if let (Some(zones), Some(moment)) = (&zones, &mut moment) {
                let Some(zone) = zones.at(row).and_then(Zone::read) else { return Ok(None) };
                moment.seconds = zone.instant_of(moment.seconds, Overlap::Earlier);
            }
            Ok(moment)
        })
    }))
}

/// Range of seconds since 1970 that TO_TIMESTAMP_LTZ accepts as a number: the years 0 to 9999, both included,
/// in UTC.
const SECONDS: std::ops::RangeInclusive<i128> = -62_167_219_200..=253_402_300_799;

/// Default of the second argument of TO_TIMESTAMP_LTZ: a number counts milliseconds, which are 3 digits of a
/// second.
const DIGITS_DEFAULT: i64 = 3;

fn of_number(given: &[Argument]) -> Result<Bound, BindError> {
    let (number, precision) = match given {
        [number] => (number, None),
        [number, precision] => (number, Some(precision)),
        _ => return Err(BindError::count(given.len())),
    };
    let mut types = vec![match &number.of {
        SqlType::Float | SqlType::Double => SqlType::Double,
        of @ SqlType::Decimal { .. } => of.clone(),
        _ => SqlType::BigInt,
    }];
    let mut result_digits = DIGITS_DEFAULT;
    if let Some(argument) = precision {
        if !argument.of.is_integer() && argument.of != SqlType::Null {
            return Err(BindError::of_type(2, &argument.of));
        }
        let literal = argument.literal.as_ref().and_then(|literal| literal.cast_to(&DataType::Int64).ok());
        if let Some(ScalarValue::Int64(Some(digits))) = literal {
            second_digits(digits).map_err(|error| BindError(error.message))?;
            result_digits = result_digits.max(digits);
        }
        types.push(SqlType::BigInt);
    }
    let scale = if let SqlType::Decimal { scale, .. } = number.of { u32::from(scale) } else { 0 };
    let of = SqlType::TimestampLtz(result_digits as u8);
    Ok(bound(types, given, of.clone(), Nulls::Anyway, move |arguments, rows| {
        let (numbers, stride) = one_or_many(&arguments[0])?;
        let precision = Input::<Int64Type>::optional(arguments, 1)?;
        // The function `scaled` returns the number in a row, times 10 to the power of `digits` (at most 3),
        // without a fraction. A product beyond 128 bits lies beyond all years.
        let scaled: Box<dyn Fn(usize, u32) -> Option<i128>> = match numbers.data_type() {
            DataType::Int64 => {
                let numbers = numbers.as_primitive::<Int64Type>().clone();
                Box::new(move |row, digits| i128::from(numbers.value(row)).checked_mul(10_i128.pow(digits)))
            }
            DataType::Float64 => {
                let numbers = numbers.as_primitive::<Float64Type>().clone();
                // Fractions of a floating-point number are cut towards zero. Values saturate at 128 bits,
                // which is beyond all years.
                Box::new(move |row, digits| {
                    let value = numbers.value(row) * 10_f64.powi(digits as i32);
                    (!value.is_nan()).then_some(value as i128)
                })
            }
            DataType::Decimal128(..) => {
                let numbers = numbers.as_primitive::<Decimal128Type>().clone();
                let divisor = 10_i128.checked_pow(scale).unwrap_or(i128::MAX);
                Box::new(move |row, digits| (numbers.value(row) / divisor).checked_mul(10_i128.pow(digits)))
            }
            other => return Err(failure(&format!("{other} is no number"))),
        };
        moments::write(arguments, rows, &of, Zone::UTC, |row| {
            let digits = precision.as_ref().map_or(Some(DIGITS_DEFAULT), |precision| precision.at(row));
            let Some(digits) = digits.filter(|_| !numbers.is_null(row * stride)) else { return Ok(None) };
            let digits = second_digits(digits)?;
            // A number of seconds to hundredths may have a fraction, of which whole milliseconds are kept. A
            // number of milliseconds or smaller units is cut to a whole one.
            let Some(units) = scaled(row * stride, 3_u32.saturating_sub(digits)) else { return Ok(None) };
            let per_second = 10_i128.pow(digits.max(3));
            let seconds = units.div_euclid(per_second);
            if !SECONDS.contains(&seconds) {
                return Ok(None);
            }
            let nanos = units.rem_euclid(per_second) * (1_000_000_000 / per_second);
            Ok(Some(Moment { seconds: seconds as i64, nanos: nanos as i64 }))
        })
    }))
}

/// Checks how many digits of a second a number counts: 0 for seconds, 3 for milliseconds, at most 9.
fn second_digits(digits: i64) -> Result<u32, EvaluationError> {
    u32::try_from(digits).ok().filter(|digits| *digits <= 9).ok_or_else(|| EvaluationError {
        code: "BAD_ARGUMENT",
        message: format!(
            "a number cannot have {digits} digits of a second: take 0 for seconds, 3 for milliseconds, up to 9"
        ),
    })
}

/// Binds FROM_UNIXTIME: writes seconds since 1970 as local time in the zone of the session, in the form
/// `yyyy-MM-dd HH:mm:ss` or by a pattern of Java's lenient `SimpleDateFormat`.
pub(super) fn from_unixtime(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    let (first, rest) = given.split_first().ok_or_else(|| BindError::count(0))?;
    if !first.of.is_numeric() && first.of != SqlType::Null {
        return Err(BindError::of_type(1, &first.of));
    }
    let mut types = vec![SqlType::BigInt];
    types.extend(expect(rest, &[], &[Kind::Text]).map_err(|_| match rest {
        [pattern] => BindError::of_type(2, &pattern.of),
        _ => BindError::count(given.len()),
    })?);
    let patterns = Patterns::of(rest.first(), Style::Lenient, Purpose::Format)?;
    let zone = Zone::Named(context.zone);
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, move |arguments, rows| {
        let (seconds, pattern) =
            (Input::<Int64Type>::of(&arguments[0])?, Input::<Text>::optional(arguments, 1)?);
        each::written(arguments, rows, |row, out| {
            let pattern = pattern.as_ref().map_or(Some(TIMESTAMP), |pattern| pattern.at(row));
            let (Some(seconds), Some(pattern)) = (seconds.at(row), pattern) else { return Ok(None) };
            let local = Moment { seconds: zone.local_of(seconds), nanos: 0 };
            patterns.get(pattern)?.format(local, zone, seconds, out);
            Ok(Some(()))
        })
    }))
}

/// Binds UNIX_TIMESTAMP: the seconds since 1970, a BIGINT, of the current time or of text. Text is read as
/// local time in the zone of the session, in the form `yyyy-MM-dd HH:mm:ss` or by a pattern of Java's lenient
/// `SimpleDateFormat`; text which cannot be read gives the least BIGINT.
pub(super) fn unix_timestamp(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    let clock = Arc::clone(&context.clock);
    if given.is_empty() {
        return Ok(bound(Vec::new(), given, SqlType::BigInt, Nulls::Never, move |arguments, rows| {
            let seconds = present(clock.as_ref()).seconds;
            each::primitive::<Int64Type, _>(arguments, rows, |_| Some(seconds))
        }));
    }
    let types = expect(given, &[Kind::Text], &[Kind::Text])?;
    let patterns = Patterns::of(given.get(1), Style::Lenient, Purpose::Parse)?;
    let (zone, since) = (Zone::Named(context.zone), first_year(context));
    Ok(bound(types, given, SqlType::BigInt, Nulls::OfArguments, move |arguments, rows| {
        let (text, pattern) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::optional(arguments, 1)?);
        each::primitive::<Int64Type, _>(arguments, rows, |row| {
            let pattern = pattern.as_ref().map_or(Some(TIMESTAMP), |pattern| pattern.at(row));
            let (Some(text), Some(pattern)) = (text.at(row), pattern) else { return Ok(None) };
            let millis = patterns.get(pattern)?.instant(text, zone, since);
            // Milliseconds are divided with a cut towards zero, as in Java.
            Ok(Some(millis.map_or(i64::MIN, |millis| millis / 1_000)))
        })
    }))
}

/// Binds CONVERT_TZ: reads a text of the form `yyyy-MM-dd HH:mm:ss`, as Java's lenient `SimpleDateFormat`
/// does, as local time in one zone, and writes the local time in another zone in that form. An unknown zone
/// is refused if it is a literal, and is GMT otherwise, as in Java.
pub(super) fn convert_tz(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text, Kind::Text], &[])?;
    for name in given.iter().skip(1).filter_map(Argument::text) {
        known_zone(name)?;
    }
    let (pattern, since) = (compiled(TIMESTAMP)?, first_year(context));
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, move |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        let (from, to) = (Input::<Text>::of(&arguments[1])?, Input::<Text>::of(&arguments[2])?);
        let zone = |name: &str| Zone::read(name).unwrap_or(Zone::UTC);
        each::written(arguments, rows, |row, out| {
            let (text, from, to) = (text.at(row)?, zone(from.at(row)?), zone(to.at(row)?));
            let instant = Moment::of_millis(pattern.instant(text, from, since)?);
            let local = Moment { seconds: to.local_of(instant.seconds), ..instant };
            pattern.format(local, to, instant.seconds, out);
            Some(())
        })
    }))
}

fn known_zone(name: &str) -> Result<Zone, BindError> {
    let hint = "write it as 'Europe/Berlin', 'PST' or 'GMT-08:00'";
    Zone::read(name).ok_or_else(|| BindError::new(format!("there is no zone '{name}': {hint}")))
}

fn compiled(pattern: &str) -> Result<Pattern, BindError> {
    Pattern::compile(pattern, Style::Lenient, Purpose::Parse).map_err(BindError)
}

/// Returns the first of the hundred years within which a year of two digits lies: the year 80 years before
/// the present one, as in Java.
fn first_year(context: &Context) -> i64 {
    civil(present(context.clock.as_ref()).seconds.div_euclid(DAY_SECONDS)).year - 80
}

/// Date patterns that one function uses: a literal one, or those of a column in a cache.
struct Patterns {
    style: Style,
    purpose: Purpose,
    /// Text and compiled form of the date pattern, if it is a literal.
    literal: Option<(String, Arc<Pattern>)>,
    cache: Cache<Result<Arc<Pattern>, String>>,
}

impl Patterns {
    fn of(argument: Option<&Argument>, style: Style, purpose: Purpose) -> Result<Self, BindError> {
        // If the call has no argument for a pattern, the pattern is `yyyy-MM-dd HH:mm:ss`.
        let text = argument.map_or(Some(TIMESTAMP), Argument::text);
        let literal = match text {
            None => None,
            Some(text) => {
                let pattern = Pattern::compile(text, style, purpose).map_err(BindError)?;
                Some((text.to_owned(), Arc::new(pattern)))
            }
        };
        Ok(Patterns { style, purpose, literal, cache: Cache::default() })
    }

    fn get(&self, text: &str) -> Result<Arc<Pattern>, EvaluationError> {
        match &self.literal {
            Some((known, pattern)) if known == text => Ok(Arc::clone(pattern)),
            _ => {
                let make = |text: &str| Pattern::compile(text, self.style, self.purpose).map(Arc::new);
                let bad = |reason| EvaluationError { code: "BAD_PATTERN", message: reason };
                self.cache.get(text, make).map_err(bad)
            }
        }
    }
}
