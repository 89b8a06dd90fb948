//! Conversion of days, times of day, timestamps and intervals to text and from text.
//!
//! Values are in the units of their columns: days, milliseconds of a day, and for timestamps milliseconds,
//! microseconds or nanoseconds since 1970, by the digits of their type. The calendar is the Gregorian one for all
//! years, as in Java.
//!
//! Source: Flink, `DateTimeUtils` (`parseDate`, `parseTime`, `parseTimestampData`, `formatTimestamp` and others).

use std::fmt::Write;

use crate::functions::time::calendar::{Civil, DAY_SECONDS, civil, days, month_length};

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Returns how many units of a column of timestamps make a second: 1,000 for types with up to 3 digits of a
/// second, 1,000,000 up to 6, 10^9 beyond.
#[inline]
pub fn ticks_per_second(digits: u8) -> i64 {
    match digits {
        0..=3 => 1_000,
        4..=6 => 1_000_000,
        _ => NANOS_PER_SECOND,
    }
}

/// Appends a day: `2021-09-24`. Years have at least four digits; years before 0 have a sign.
///
/// Differs from Flink: years beyond 9999 are written in full, not by their last four digits.
pub fn write_date(days: i32, out: &mut String) {
    write_civil(i64::from(days), out);
}

/// Appends a time of day: `12:34:56`. If the type has digits of a second, a point and the milliseconds
/// follow, without trailing zeros but with at least one digit.
pub fn write_time(milliseconds: i32, digits: u8, out: &mut String) {
    let milliseconds = i64::from(milliseconds).rem_euclid(DAY_SECONDS * 1_000);
    write_clock(milliseconds / 1_000, out);
    if 0 < digits {
        out.push('.');
        let mut rest = milliseconds % 1_000;
        for _ in 0..digits {
            out.push(digit(rest / 100));
            rest = rest % 100 * 10;
            if rest == 0 {
                break;
            }
        }
    }
}

/// Appends a timestamp: `2021-09-24 12:34:56.123`, with exactly as many digits as its type has.
pub fn write_timestamp(value: i64, digits: u8, out: &mut String) {
    write_instant(value, digits, ' ', out);
}

/// Appends a timestamp in the form of ISO 8601, without a zone: `2021-09-24T12:34:56.123`.
pub fn write_timestamp_iso(value: i64, digits: u8, out: &mut String) {
    write_instant(value, digits, 'T', out);
}

/// Appends an interval of years and months, given in months: `+10-03`.
pub fn write_year_month(months: i32, out: &mut String) {
    let size = months.unsigned_abs();
    let sign = if months < 0 { '-' } else { '+' };
    let _ = write!(out, "{sign}{}-{:02}", size / 12, size % 12);
}

/// Appends an interval of days to seconds, given in milliseconds: `+1 10:17:36.789`.
pub fn write_day_time(milliseconds: i64, out: &mut String) {
    let size = milliseconds.unsigned_abs();
    let sign = if milliseconds < 0 { '-' } else { '+' };
    let seconds = size / 1_000;
    let days = seconds / DAY_SECONDS as u64;
    let _ = write!(out, "{sign}{days} ");
    write_clock((seconds % DAY_SECONDS as u64) as i64, out);
    let _ = write!(out, ".{:03}", size % 1_000);
}

/// Reads a day: `2021-09-24`, `2021-9-4`, `2021-09` or `2021`; a space and all text after it are ignored. Years go
/// from 0 to 9999.
pub fn parse_date(text: &str) -> Option<i32> {
    let text = match text.find(' ') {
        Some(space) if 0 < space => &text[..space],
        _ => text,
    };
    let mut parts = text.splitn(3, '-').map(whole);
    let year = parts.next()??;
    let month = parts.next().unwrap_or(Some(1))?;
    let day = parts.next().unwrap_or(Some(1))?;
    let is_day = year <= 9_999 && (1..=12).contains(&month) && 1 <= day && day <= month_length(year, month);
    if !is_day {
        return None;
    }
    i32::try_from(days(year, month, day)).ok()
}

/// Reads a time of day: `12:34:56.789`, `12:34`, `12`. Milliseconds are rounded, then cut to the digits of the type.
///
/// Differs from Flink: hours, minutes and seconds out of range are refused, and so are zone offsets, which Flink
/// adds.
pub fn parse_time(text: &str, digits: u8) -> Option<i32> {
    let mut parts = text.splitn(3, ':');
    let hours = whole(parts.next()?)?;
    let minutes = parts.next().map_or(Some(0), whole)?;
    let (seconds, fraction) = match parts.next() {
        None => (0, 0),
        Some(rest) => match rest.split_once('.') {
            None => (whole(rest)?, 0),
            Some((seconds, fraction)) => (whole(seconds)?, rounded_milliseconds(fraction)?),
        },
    };
    if 23 < hours || 59 < minutes || 59 < seconds {
        return None;
    }
    let milliseconds = (hours * 3_600 + minutes * 60 + seconds) * 1_000 + fraction;
    // Rounding the milliseconds of a time of day may reach midnight, which wraps to 0.
    let milliseconds = milliseconds.rem_euclid(DAY_SECONDS * 1_000);
    let step = 10_i64.pow(u32::from(3 - digits.min(3)));
    i32::try_from(milliseconds / step * step).ok()
}

/// Reads a timestamp in SQL form: `2021-09-24 12:34:56.123456789`, `2021-9-4 1:2:3`, `2021-09-24`. Digits beyond
/// those of the type are cut off. A day beyond the end of its month is the last of it, as in Java, and hour 24 is
/// midnight.
pub fn parse_timestamp(text: &str, digits: u8) -> Option<i64> {
    parse_instant(text, digits, ' ')
}

/// Reads a timestamp in the form of ISO 8601 without a zone: like [`parse_timestamp`], but with `T` before the time.
pub fn parse_timestamp_iso(text: &str, digits: u8) -> Option<i64> {
    parse_instant(text, digits, 'T')
}

fn write_instant(value: i64, digits: u8, separator: char, out: &mut String) {
    let ticks = ticks_per_second(digits);
    let seconds = value.div_euclid(ticks);
    write_civil(seconds.div_euclid(DAY_SECONDS), out);
    out.push(separator);
    write_clock(seconds.rem_euclid(DAY_SECONDS), out);
    if 0 < digits {
        out.push('.');
        let mut rest = value.rem_euclid(ticks) * (NANOS_PER_SECOND / ticks);
        for _ in 0..digits.min(9) {
            out.push(digit(rest / 100_000_000));
            rest = rest % 100_000_000 * 10;
        }
    }
}

fn write_civil(days: i64, out: &mut String) {
    let Civil { year, month, day } = civil(days);
    if (0..=9_999).contains(&year) {
        write_two(year / 100, out);
        write_two(year % 100, out);
    } else {
        let sign = if year < 0 { "-" } else { "" };
        let _ = write!(out, "{sign}{:04}", year.unsigned_abs());
    }
    out.push('-');
    write_two(month, out);
    out.push('-');
    write_two(day, out);
}

fn write_clock(seconds: i64, out: &mut String) {
    write_two(seconds / 3_600, out);
    out.push(':');
    write_two(seconds / 60 % 60, out);
    out.push(':');
    write_two(seconds % 60, out);
}

fn write_two(value: i64, out: &mut String) {
    out.push(digit(value / 10));
    out.push(digit(value % 10));
}

fn digit(value: i64) -> char {
    char::from(b'0' + (value % 10) as u8)
}

fn parse_instant(text: &str, digits: u8, separator: char) -> Option<i64> {
    let mut rest = Reader { rest: text.as_bytes() };
    let year = rest.digits(4, 4)?;
    rest.mark('-')?;
    let month = rest.digits(1, 2)?;
    rest.mark('-')?;
    let day = rest.digits(1, 2)?;
    if year == 0 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days(year, month, day.min(month_length(year, month)));
    let (mut seconds, mut nanos) = (0, 0);
    if !rest.is_empty() {
        rest.mark(separator)?;
        let hours = rest.digits(1, 2)?;
        rest.mark(':')?;
        let minutes = rest.digits(1, 2)?;
        rest.mark(':')?;
        let past = rest.digits(1, 2)?;
        if rest.mark('.').is_some() {
            nanos = rest.fraction();
        }
        if !rest.is_empty() {
            return None;
        }
        seconds = hours * 3_600 + minutes * 60 + past;
        let is_midnight = hours == 24 && seconds == DAY_SECONDS && nanos == 0;
        if (23 < hours || 59 < minutes || 59 < past) && !is_midnight {
            return None;
        }
    }
    let ticks = ticks_per_second(digits);
    let step = 10_i64.pow(u32::from(9 - digits.min(9)));
    let nanos = nanos / step * step;
    (days * DAY_SECONDS + seconds).checked_mul(ticks)?.checked_add(nanos / (NANOS_PER_SECOND / ticks))
}

/// Part of the text of a timestamp that is not read yet; reading removes characters from its front.
struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn mark(&mut self, mark: char) -> Option<()> {
        let (&first, rest) = self.rest.split_first()?;
        (char::from(first) == mark).then(|| self.rest = rest)
    }

    /// Reads the number at the front of the text, which has at least `least` and at most `most` digits.
    fn digits(&mut self, least: usize, most: usize) -> Option<i64> {
        let count = self.rest.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        Some(digits.iter().fold(0, |value, byte| value * 10 + i64::from(byte - b'0')))
    }

    /// Reads up to nine digits of a fraction of a second as nanoseconds.
    fn fraction(&mut self) -> i64 {
        let before = self.rest.len();
        let value = self.digits(0, 9).unwrap_or(0);
        let count = before - self.rest.len();
        value * 10_i64.pow(9 - count as u32)
    }
}

/// Reads one part of a date or time, such as the hour, as a whole number without a sign; white space around
/// it is ignored.
fn whole(text: &str) -> Option<i64> {
    let text = text.trim_matches(|c| c <= ' ');
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse::<i32>().ok().map(i64::from) } else { None }
}

/// Reads a fraction of a second as milliseconds; the fourth digit decides whether the third is rounded up.
fn rounded_milliseconds(text: &str) -> Option<i64> {
    let text = text.trim_matches(|c| c <= ' ');
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let place = |index: usize| text.as_bytes().get(index).map_or(0, |byte| i64::from(byte - b'0'));
    let milliseconds = place(0) * 100 + place(1) * 10 + place(2);
    Some(milliseconds + i64::from(5 <= place(3)))
}
