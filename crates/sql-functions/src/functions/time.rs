//! SQL functions of times, which Flink's documentation lists under "Temporal functions".
//!
//! A TIMESTAMP_LTZ is split into parts, rounded and shown in the zone of the session; all other values as written.
//! The calendar is the Gregorian one for all dates, also before its introduction. Syntax with words in it
//! (`EXTRACT(DAY FROM a)`, `FLOOR(a TO DAY)`, `TIMESTAMPADD(DAY, 1, a)`, `(a, b) OVERLAPS (c, d)`) is rewritten to
//! calls before it reaches this module. The unit becomes a text in the first argument, or in the last one of FLOOR_TO
//! and CEIL_TO.
//!
//! Differs from Flink: times before 1970 are rounded down everywhere, where Flink sometimes cuts towards 1970
//! (`EXTRACT(YEAR FROM TIMESTAMP '1969-12-31 23:59:59.999')` is 1969 here). Java's older formatters count days before
//! October 1582 in the Julian calendar.
//!
//! Source: Flink documentation, "System (Built-in) Functions"; where that is silent, Flink's `DateTimeUtils`.

pub mod calendar;
mod extract;
mod moments;
mod now;
pub mod pattern;
mod reading;
mod round;
mod span;
#[cfg(test)]
mod tests;
mod unit;
pub mod zone;

use super::{Argument, BindError, Bound, Context, Function};

/// All SQL functions of times.
pub static TIME: &[Function] = &[
    // Functions that return the current time.
    volatile("CURRENT_DATE", "CURRENT_DATE", now::current_date),
    volatile("CURRENT_TIME", "CURRENT_TIME", now::current_time),
    volatile("LOCALTIME", "LOCALTIME", now::current_time),
    volatile("CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP", now::current_timestamp),
    volatile("NOW", "NOW()", now::current_timestamp),
    volatile("CURRENT_ROW_TIMESTAMP", "CURRENT_ROW_TIMESTAMP()", now::current_timestamp),
    volatile("PROCTIME", "PROCTIME()", now::current_timestamp),
    volatile("LOCALTIMESTAMP", "LOCALTIMESTAMP", now::local_timestamp),
    volatile("CURRENT_WATERMARK", "CURRENT_WATERMARK(event time)", now::current_watermark),
    // Functions that return or round to a part of a time.
    function("EXTRACT", "EXTRACT(unit FROM time)", extract::extract),
    function("YEAR", "YEAR(date)", extract::year),
    function("QUARTER", "QUARTER(date)", extract::quarter),
    function("MONTH", "MONTH(date)", extract::month),
    function("WEEK", "WEEK(date)", extract::week),
    function("DAYOFYEAR", "DAYOFYEAR(date)", extract::day_of_the_year),
    function("DAYOFMONTH", "DAYOFMONTH(date)", extract::day_of_month),
    function("DAYOFWEEK", "DAYOFWEEK(date)", extract::day_of_week),
    function("HOUR", "HOUR(timestamp)", extract::hour),
    function("MINUTE", "MINUTE(timestamp)", extract::minute),
    function("SECOND", "SECOND(timestamp)", extract::second),
    function("FLOOR_TO", "FLOOR(time TO unit)", round::floor),
    function("CEIL_TO", "CEIL(time TO unit)", round::ceil),
    // Functions that compute with spans between times.
    function("TIMESTAMPADD", "TIMESTAMPADD(unit, count, time)", span::add),
    function("TIMESTAMPDIFF", "TIMESTAMPDIFF(unit, time, time)", span::diff),
    function("$BETWEEN_TIMES", "(time - time) unit", span::between),
    function("OVERLAPS", "(time, time or interval) OVERLAPS (time, time or interval)", span::overlaps),
    // Functions that convert between times and text.
    function("DATE_FORMAT", "DATE_FORMAT(timestamp or text, pattern)", reading::date_format),
    function("TO_DATE", "TO_DATE(text [, pattern])", reading::to_date),
    function("TO_TIMESTAMP", "TO_TIMESTAMP(text [, pattern])", reading::to_timestamp),
    function(
        "TO_TIMESTAMP_LTZ",
        "TO_TIMESTAMP_LTZ(number [, 0 to 9]) or TO_TIMESTAMP_LTZ(text [, pattern [, zone]])",
        reading::to_timestamp_ltz,
    ),
    function("FROM_UNIXTIME", "FROM_UNIXTIME(seconds [, pattern])", reading::from_unixtime),
    volatile("UNIX_TIMESTAMP", "UNIX_TIMESTAMP([text [, pattern]])", reading::unix_timestamp),
    function("CONVERT_TZ", "CONVERT_TZ(text, zone, zone)", reading::convert_tz),
];

type Bind = fn(&[Argument], &Context) -> Result<Bound, BindError>;

const fn function(name: &'static str, usage: &'static str, bind: Bind) -> Function {
    Function { name, usage, is_deterministic: true, bind }
}

const fn volatile(name: &'static str, usage: &'static str, bind: Bind) -> Function {
    Function { name, usage, is_deterministic: false, bind }
}
