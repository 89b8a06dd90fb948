//! Days, months and years of the Gregorian calendar, which is taken to have been valid always.
//!
//! Days count from 1970-01-01; years are astronomical, so that the year 0 lies before the year 1. Nothing here fails or
//! overflows for the days that 32 bits hold, nor for those of any timestamp.

/// Seconds of a day.
pub(super) const DAY_SECONDS: i64 = 86_400;

/// Days of 400 years, after which the calendar repeats itself.
const ERA_DAYS: i64 = 146_097;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// A day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Civil {
    pub(super) year: i64,
    /// From 1 to 12.
    pub(super) month: i64,
    /// From 1 to 31.
    pub(super) day: i64,
}

/// The day of a number. Years are taken to begin in March here, so that the day that some years have more is their last.
pub(super) fn civil(days: i64) -> Civil {
    let days = days.saturating_add(EPOCH_DAYS);
    let (era, day_of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    // One day less for each leap day that lies before, then years of 365 days.
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months from March on have 31, 30, 31, 30, 31 days, again and again: 153 of five.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let is_next_year = month >= 10;
    let month = if is_next_year { month - 9 } else { month + 3 };
    Civil { year: era * 400 + year_of_era + i64::from(is_next_year), month, day }
}

/// The number of a day. Months may lie outside of 1 to 12, and days outside of their month: they are counted on.
pub(super) fn days(year: i64, month: i64, day: i64) -> i64 {
    // Beyond these bounds no timestamp reaches, and below them nothing overflows.
    let bound = |number: i64| number.clamp(-(1 << 40), 1 << 40);
    let (year, month, day) = (bound(year), bound(month), bound(day));
    // As above, the year begins in March.
    let month = month - 3;
    let (year, month) = (year + month.div_euclid(12), month.rem_euclid(12));
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * ERA_DAYS + 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year - EPOCH_DAYS
}

/// How many days a month has.
pub(super) fn month_length(year: i64, month: i64) -> i64 {
    days(year, month.saturating_add(1), 1) - days(year, month, 1)
}

/// The same day so many months later, or the last of that month if it has fewer.
pub(super) fn add_months(day: i64, months: i64) -> i64 {
    let Civil { year, month, day } = civil(day);
    let month = month.saturating_add(months);
    days(year, month, 1) + day.min(month_length(year, month)) - 1
}

/// From 1 for Monday to 7 for Sunday.
pub(super) fn iso_weekday(day: i64) -> i64 {
    // The first of January 1970 was a Thursday.
    day.saturating_add(3).rem_euclid(7) + 1
}

/// From 1 on.
pub(super) fn day_of_year(day: i64) -> i64 {
    day.saturating_sub(days(civil(day).year, 1, 1)) + 1
}

/// The year and week that a day belongs to by ISO 8601: weeks begin on Monday, and belong where their Thursday does.
pub(super) fn iso_week(day: i64) -> (i64, i64) {
    let thursday = day.saturating_add(4 - iso_weekday(day));
    (civil(thursday).year, (day_of_year(thursday) - 1) / 7 + 1)
}
