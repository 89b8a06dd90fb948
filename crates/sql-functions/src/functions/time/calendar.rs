//! Days, months and years of the Gregorian calendar, which is used for all dates.
//!
//! Days count from 1970-01-01. Years are astronomical: year 0 lies before year 1. No function here fails or overflows
//! for days of 32 bits, nor for those of any timestamp.

/// Number of seconds of a day.
pub const DAY_SECONDS: i64 = 86_400;

/// Number of days in 400 years, after which the Gregorian calendar repeats.
const ERA_DAYS: i64 = 146_097;

/// Number of days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// A date of the Gregorian calendar as year, month and day of the month.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Civil {
    /// Year in astronomical counting: year 0 lies before year 1.
    pub year: i64,
    /// Month of the year, from 1 to 12.
    pub month: i64,
    /// Day of the month, from 1 to 31.
    pub day: i64,
}

/// Returns the Gregorian date of a number of days since 1970. Internally years begin in March, so that a leap
/// day is the last day of its year.
#[inline]
pub fn civil(days: i64) -> Civil {
    let days = days.saturating_add(EPOCH_DAYS);
    let (era, day_of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    // The leap days before this day are subtracted; the rest are years of 365 days.
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // From March on, months have 31, 30, 31, 30 and 31 days in turn, which is 153 days in five months.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let is_next_year = month >= 10;
    let month = if is_next_year { month - 9 } else { month + 3 };
    Civil { year: era * 400 + year_of_era + i64::from(is_next_year), month, day }
}

/// Returns the number of days from 1970 to a Gregorian date. Months outside 1 to 12 and days outside their
/// month are counted on into the next or the previous ones.
#[inline]
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    // Year, month and day are limited to 2^40 in either direction. No timestamp lies beyond, and no
    // computation overflows.
    let bound = |number: i64| number.clamp(-(1 << 40), 1 << 40);
    let (year, month, day) = (bound(year), bound(month), bound(day));
    // Years begin in March here, so that a leap day is the last day of its year.
    let month = month - 3;
    let (year, month) = (year + month.div_euclid(12), month.rem_euclid(12));
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * ERA_DAYS + 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year - EPOCH_DAYS
}

/// Returns the number of days of a month of the Gregorian calendar; `month` is from 1 to 12.
#[inline]
pub fn month_length(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Moves a day, counted from 1970-01-01, by a number of months. If the month reached is too short, the result
/// is its last day.
pub fn add_months(day: i64, months: i64) -> i64 {
    let Civil { year, month, day } = civil(day);
    let month = months.saturating_add(month - 1);
    let (year, month) = (year + month.div_euclid(12), month.rem_euclid(12) + 1);
    days(year, month, day.min(month_length(year, month)))
}

/// Returns the weekday of a number of days since 1970, from 1 for Monday to 7 for Sunday.
pub(super) fn iso_weekday(day: i64) -> i64 {
    // The weekday is counted from 1 January 1970, which was a Thursday.
    day.saturating_add(3).rem_euclid(7) + 1
}

/// Returns the day of the year of a number of days since 1970; 1 January is day 1.
pub(super) fn day_of_year(day: i64) -> i64 {
    day.saturating_sub(days(civil(day).year, 1, 1)) + 1
}

/// Returns the year and the week by ISO 8601 of a number of days since 1970. Weeks begin on Monday and belong
/// to the year of their Thursday.
pub(super) fn iso_week(day: i64) -> (i64, i64) {
    let thursday = day.saturating_add(4 - iso_weekday(day));
    (civil(thursday).year, (day_of_year(thursday) - 1) / 7 + 1)
}
