//! Parses date and time of day as text, in exactly one form: `2013-01-13 10:43:00`, read as UTC.

use thalweg_model::EventTime;

/// Returns the instant that `text` names. Returns `None` unless it has the form `YYYY-MM-DD HH:MM:SS` and names
/// an existing day and time: no 30 February, no hour 24, no leap second. Years are 0000 to 9999 of the
/// Gregorian calendar, extended to the time before its introduction.
///
/// ```
/// use thalweg_workloads::nyt::civil::parse_date_time;
/// let instant = parse_date_time("2013-01-13 10:43:00").unwrap();
/// assert_eq!(instant.as_micros(), 1_358_073_780_000_000);
/// assert_eq!(parse_date_time("2013-02-29 00:00:00"), None);
/// ```
pub fn parse_date_time(text: &str) -> Option<EventTime> {
    let bytes: &[u8; 19] = text.as_bytes().try_into().ok()?;
    let marks = [(4, b'-'), (7, b'-'), (10, b' '), (13, b':'), (16, b':')];
    if marks.iter().any(|&(place, mark)| bytes[place] != mark) {
        return None;
    }
    let (year, month, day) = (digits(&bytes[..4])?, digits(&bytes[5..7])?, digits(&bytes[8..10])?);
    let (hour, minute, second) = (digits(&bytes[11..13])?, digits(&bytes[14..16])?, digits(&bytes[17..])?);
    let is_day = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    let is_time = hour < 24 && minute < 60 && second < 60;
    if !is_day || !is_time {
        return None;
    }
    let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(EventTime::from_secs(seconds))
}

/// Parses ASCII digits as a decimal number; `None` if one of the bytes is not a digit.
pub(crate) fn digits(bytes: &[u8]) -> Option<i64> {
    bytes
        .iter()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

pub(crate) fn days_in_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days from 1970-01-01 to this day, negative before 1970-01-01.
///
/// Years begin in March here, so that the leap day is the last of its year and the lengths of the months
/// before it follow a straight line, `(153 m + 2) / 5`; 400 such years have 146,097 days.
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`; its `m`, `d`,
/// `yoe`, `doy`, `doe` are `month`, `day`, `year_of_era`, `day_of_year`, `day_of_era`. The range is checked
/// by the caller.
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let (year, month_from_march) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests;
