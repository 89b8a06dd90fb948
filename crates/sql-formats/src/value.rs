//! Values as text in formats: numbers, decimals, days, times, timestamps and bytes. They are read as by Java's parsers
//! and written as by Java's printers, because Flink's formats use these.
//!
//! Sources: Java's `Integer.parseInt`, `Double.parseDouble`, `Double.toString`, `BigDecimal`, and `DateTimeFormatter`
//! with `ISO_LOCAL_DATE` and `ISO_LOCAL_TIME`; Flink's `TimeFormats` and `DecimalData.fromBigDecimal`.

mod write;

#[cfg(test)]
mod tests;

pub use write::write_base64;
pub(super) use write::{
    write_date, write_decimal, write_f32, write_f64, write_integer, write_time, write_timestamp,
};

use arrow::datatypes::TimeUnit;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, PAD};
use thalweg_sql_functions::functions::cast::text::{NotANumber, read_decimal};
use thalweg_sql_functions::functions::time::calendar::{DAY_SECONDS, days, month_length};

/// Base64 of RFC 4648, section 4, with padding. In texts that are decoded, the unused bits of the last digit
/// may be set.
static PADDED: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, PAD.with_decode_allow_trailing_bits(true));

/// The form in which timestamps are written as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimestampForm {
    /// `2020-12-30 12:13:14.123`, followed by `Z` for an instant.
    Sql,
    /// `2020-12-30T12:13:14.123`, followed by `Z` for an instant.
    Iso,
    /// `2020-12-30T12:13:14.123+02:00`; the written offset is always `Z`.
    IsoWithOffset,
}

/// A timestamp: seconds since 1970-01-01 00:00:00, and nanoseconds of the second.
pub(super) type Instant = (i64, u32);

/// Removes the characters at both ends that Java's `trim` removes: spaces and control characters.
#[inline]
pub(super) fn trim(text: &str) -> &str {
    // Most texts have nothing to remove, which their first and last bytes tell.
    let bytes = text.as_bytes();
    if let (Some(b'!'..), Some(b'!'..)) = (bytes.first(), bytes.last()) {
        return text;
    }
    text.trim_matches(|letter| letter <= ' ')
}

/// Reads a whole number as `parseInt` and similar methods do: digits with at most one sign before them.
pub(super) fn integer<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// Reads a decimal number with `scale` digits after the point; further digits are rounded half up. Returns
/// `Ok(None)` if the number then has more than `precision` digits, which is NULL in Flink.
///
/// # Errors
/// [`NotANumber`] if the text is not a number, or its exponent has more than 32 bits, as in Java's `BigDecimal`.
pub(super) fn decimal(text: &str, precision: u8, scale: u8) -> Result<Option<i128>, NotANumber> {
    if let Some((_, exponent)) = text.split_once(['e', 'E']) {
        exponent.parse::<i32>().map_err(|_| NotANumber)?;
    }
    read_decimal(text, precision, scale)
}

/// Reads a date in the form `yyyy-MM-dd` as days since 1970-01-01. Source: `ISO_LOCAL_DATE`, which is strict.
pub(super) fn date(text: &str) -> Option<i32> {
    let (year, month, day, rest) = date_parts(text)?;
    (rest.is_empty() && day <= month_length(year, month))
        .then(|| i32::try_from(days(year, month, day)).ok())?
}

/// Reads a date whose month and day may have one digit. The day may be up to 31 in any month; days beyond the
/// month count into the next month. Source: `java.sql.Date.valueOf`, which Flink's CSV format uses.
pub(super) fn date_loose(text: &str) -> Option<i32> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_form = year.len() == 4 && month.len() <= 2 && day.len() <= 2 && parts.next().is_none();
    if !is_form || !is_digits(year) || !is_digits(month) || !is_digits(day) {
        return None;
    }
    let (year, month, day) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
    is_date.then(|| i32::try_from(days(year, month, day)).ok())?
}

/// Reads a time of day, `HH:mm:ss[.fraction]`, as milliseconds since midnight; `24:00:00` is midnight.
/// Source: Flink's `SQL_TIME_FORMAT`.
pub(super) fn time(text: &str) -> Option<i32> {
    let (seconds, nanos, rest) = time_parts(text)?;
    let seconds = if seconds == DAY_SECONDS { 0 } else { seconds };
    rest.is_empty().then(|| (seconds * 1_000) as i32 + (nanos / 1_000_000) as i32)
}

/// Reads a time of day whose seconds may be missing, as milliseconds since midnight. Source:
/// `LocalTime.parse`, which Flink's CSV format uses.
pub(super) fn time_loose(text: &str) -> Option<i32> {
    if text.len() == 5 {
        return time_loose(&format!("{text}:00"));
    }
    // `ISO_LOCAL_TIME` is strict and refuses the hour 24.
    if text.starts_with("24") {
        return None;
    }
    time(text)
}

/// Reads a timestamp, or an instant if `is_instant`, in the given form.
///
/// Flink's formatters resolve fields in smart mode: a day beyond the end of the month becomes its last day, and
/// `24:00:00` the following midnight.
pub(super) fn timestamp(text: &str, form: TimestampForm, is_instant: bool) -> Option<Instant> {
    let between = if form == TimestampForm::Sql { ' ' } else { 'T' };
    let (local, nanos, mut rest) = match usual_timestamp(text, between as u8) {
        Some(found) => found,
        None => {
            let (year, month, day, rest) = date_parts(text)?;
            let (seconds, nanos, rest) = time_parts(rest.strip_prefix(between)?)?;
            let day = day.min(month_length(year, month));
            (days(year, month, day) * DAY_SECONDS + seconds, nanos, rest)
        }
    };
    let mut offset = 0;
    if form == TimestampForm::IsoWithOffset {
        (offset, rest) = offset_seconds(rest)?;
    } else if is_instant {
        rest = rest.strip_prefix('Z')?;
    }
    rest.is_empty().then_some((local - offset, nanos))
}

/// Reads a timestamp of the usual form, `yyyy-MM-dd HH:mm:ss[.fraction]` with a year of four digits, from the start of a
/// text; `between` stands between day and time. Returns seconds since 1970, nanoseconds and the rest of the text; `None` if
/// the text has another form, which may be valid, too.
fn usual_timestamp(text: &str, between: u8) -> Option<(i64, u32, &str)> {
    let bytes: &[u8; 19] = text.as_bytes().first_chunk()?;
    let has_marks = bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes[10] == between
        && bytes[13] == b':'
        && bytes[16] == b':';
    let mut is_odd = !has_marks;
    let mut two = |at: usize| {
        let (tens, ones) = (bytes[at].wrapping_sub(b'0'), bytes[at + 1].wrapping_sub(b'0'));
        is_odd |= 9 < tens || 9 < ones;
        i64::from(tens) * 10 + i64::from(ones)
    };
    let (year, month, day) = (two(0) * 100 + two(2), two(5), two(8));
    let (hour, minute, second) = (two(11), two(14), two(17));
    is_odd |= !(1..=12).contains(&month) || day < 1 || 23 < hour || 59 < minute || 59 < second;
    if is_odd || (28 < day && month_length(year, month) < day) {
        return None;
    }
    let (mut nanos, mut end) = (0, 19);
    if text.as_bytes().get(19) == Some(&b'.') {
        let fraction = &text.as_bytes()[20..];
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return None;
        }
        nanos = fraction[..digits].iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
        nanos *= 10_u32.pow(9 - digits as u32);
        end = 20 + digits;
    }
    let seconds = days(year, month, day) * DAY_SECONDS + (hour * 60 + minute) * 60 + second;
    Some((seconds, nanos, &text[end..]))
}

/// Decodes base64 text and appends the bytes. Returns `None` if the text is invalid; some bytes may then have been
/// appended.
///
/// White space between groups of four is skipped, as in Jackson.
pub(super) fn decode_base64(text: &[u8], to: &mut Vec<u8>) -> Option<()> {
    let mut is_padded = false;
    for groups in text.split(|byte| *byte <= b' ').filter(|groups| !groups.is_empty()) {
        if is_padded {
            return None;
        }
        PADDED.decode_vec(groups, to).ok()?;
        is_padded = groups.ends_with(b"=");
    }
    Some(())
}

/// Converts an instant to a number of time units since 1970, and cuts off further digits of a second. Returns
/// `None` if the number exceeds 64 bits.
pub(super) fn in_unit((seconds, nanos): Instant, unit: TimeUnit) -> Option<i64> {
    let (per_second, nanos_per) = per_second(unit);
    let in_64_bits =
        seconds.checked_mul(per_second).and_then(|value| value.checked_add(i64::from(nanos) / nanos_per));
    if in_64_bits.is_some() {
        return in_64_bits;
    }
    // Near the earliest instant that 64 bits of nanoseconds hold, the product alone exceeds 64 bits although
    // the sum does not, so 128 bits are used.
    let value = i128::from(seconds) * i128::from(per_second) + i128::from(i64::from(nanos) / nanos_per);
    i64::try_from(value).ok()
}

/// Converts a number of time units since 1970 to an instant.
pub(super) fn of_unit(value: i64, unit: TimeUnit) -> Instant {
    let (per_second, nanos_per) = per_second(unit);
    (value.div_euclid(per_second), (value.rem_euclid(per_second) * nanos_per) as u32)
}

fn per_second(unit: TimeUnit) -> (i64, i64) {
    match unit {
        TimeUnit::Second => (1, 1_000_000_000),
        TimeUnit::Millisecond => (1_000, 1_000_000),
        TimeUnit::Microsecond => (1_000_000, 1_000),
        TimeUnit::Nanosecond => (1_000_000_000, 1),
    }
}

/// Reads a year, a month from 1 to 12 and a day from 1 to 31 from the start of a text, and returns the rest
/// of the text. A year has four digits, or more after a sign.
fn date_parts(text: &str) -> Option<(i64, i64, i64, &str)> {
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let year_digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let is_plain = unsigned.len() == text.len();
    // A year with a plus sign has more than four digits; a year before 0 always has a sign.
    let fits = match (is_plain, sign) {
        (true, _) => year_digits == 4,
        (false, -1) => (4..=9).contains(&year_digits),
        (false, _) => (5..=9).contains(&year_digits),
    };
    if !fits {
        return None;
    }
    let year = sign * unsigned[..year_digits].parse::<i64>().ok()?;
    if sign < 0 && year == 0 {
        return None;
    }
    let rest = unsigned[year_digits..].strip_prefix('-')?;
    let (month, rest) = two_digits(rest)?;
    let (day, rest) = two_digits(rest.strip_prefix('-')?)?;
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some((year, month, day, rest))
}

/// Reads `HH:mm:ss[.fraction]` from the start of a text. Returns seconds of the day, nanoseconds of the
/// second, and the rest of the text.
fn time_parts(text: &str) -> Option<(i64, u32, &str)> {
    let (hour, rest) = two_digits(text)?;
    let (minute, rest) = two_digits(rest.strip_prefix(':')?)?;
    let (second, mut rest) = two_digits(rest.strip_prefix(':')?)?;
    let mut nanos = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if !(1..=9).contains(&digits) {
            return None;
        }
        nanos = fraction[..digits].parse::<u32>().ok()? * 10_u32.pow(9 - digits as u32);
        rest = &fraction[digits..];
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    let is_time = hour <= 23 || (seconds == DAY_SECONDS && nanos == 0);
    (is_time && minute <= 59 && second <= 59).then_some((seconds, nanos, rest))
}

/// Reads an offset from UTC, `Z`, `+HH:mm` or nothing, from the start of a text. Returns the offset in
/// seconds and the rest of the text.
fn offset_seconds(text: &str) -> Option<(i64, &str)> {
    let sign = match text.as_bytes().first() {
        None => return Some((0, text)),
        Some(b'Z') => return Some((0, &text[1..])),
        Some(b'+') => 1,
        Some(b'-') => -1,
        Some(_) => return None,
    };
    let (hours, rest) = two_digits(&text[1..])?;
    let (minutes, rest) = two_digits(rest.strip_prefix(':')?)?;
    // Java's `ZoneOffset` allows an offset of at most 18 hours.
    let is_offset = minutes <= 59 && hours * 60 + minutes <= 18 * 60;
    is_offset.then_some((sign * (hours * 60 + minutes) * 60, rest))
}

fn two_digits(text: &str) -> Option<(i64, &str)> {
    let [tens, ones, ..] = text.as_bytes() else { return None };
    let is_digits = tens.is_ascii_digit() && ones.is_ascii_digit();
    is_digits.then(|| (i64::from(tens - b'0') * 10 + i64::from(ones - b'0'), &text[2..]))
}
