//! Conversion between local time and instants, as Java does it where clocks are put forward or back.
//!
//! A local time that is skipped (clocks are put forward) is moved later by the length of the gap. A local
//! time that occurs twice (clocks are put back) means the earlier instant. Source: Java,
//! `LocalDateTime.atZone`; Flink, `DateTimeUtils`.

use chrono::{DateTime, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Tz;

use super::text::ticks_per_second;

/// Returns the local time in a zone at an instant. Both count the units since 1970 that a TIMESTAMP(`digits`)
/// column stores, see [`ticks_per_second`]. `None` beyond 64 bits.
#[inline]
pub fn local_of_instant(value: i64, digits: u8, zone: Tz) -> Option<i64> {
    if zone == Tz::UTC {
        return Some(value);
    }
    let ticks = ticks_per_second(digits);
    let offset = zone.offset_from_utc_datetime(&reading(value.div_euclid(ticks))).fix().local_minus_utc();
    value.checked_add(i64::from(offset).checked_mul(ticks)?)
}

/// Returns the instant of a local time in a zone. Both count the units since 1970 that a TIMESTAMP(`digits`)
/// column stores, see [`ticks_per_second`]. `None` beyond 64 bits.
pub fn instant_of_local(value: i64, digits: u8, zone: Tz) -> Option<i64> {
    if zone == Tz::UTC {
        return Some(value);
    }
    let ticks = ticks_per_second(digits);
    let offset = offset_of_reading(reading(value.div_euclid(ticks)), zone);
    value.checked_sub(offset.checked_mul(ticks)?)
}

fn offset_of_reading(local: NaiveDateTime, zone: Tz) -> i64 {
    // If a local time is skipped, an earlier one is searched in steps of half an hour, which cover 32 hours.
    // The longest gap in local time so far was a day: Samoa skipped 30 December 2011.
    const STEPS_MAX: i32 = 64;
    for step in 0..STEPS_MAX {
        let before = local - TimeDelta::minutes(30 * i64::from(step));
        let offset = match zone.offset_from_local_datetime(&before) {
            chrono::LocalResult::Single(offset) => offset,
            // If a local time occurs twice, the greater offset belongs to the earlier instant, which is
            // chosen. If the search moved back from a skipped time to here, the offset of the later instant
            // is chosen, because it was the last in force before the skip.
            chrono::LocalResult::Ambiguous(one, other) => {
                let (one_seconds, other_seconds) =
                    (one.fix().local_minus_utc(), other.fix().local_minus_utc());
                if (one_seconds < other_seconds) == (step == 0) { other } else { one }
            }
            chrono::LocalResult::None => continue,
        };
        return i64::from(offset.fix().local_minus_utc());
    }
    0
}

/// Returns the date and time at a number of seconds since 1970. Times more than about 253,500 years from 1970
/// are limited to that distance, so that a zone has an offset there.
fn reading(seconds: i64) -> NaiveDateTime {
    const FARTHEST_SECONDS: i64 = 8_000_000_000_000;
    DateTime::from_timestamp(seconds.clamp(-FARTHEST_SECONDS, FARTHEST_SECONDS), 0)
        .unwrap_or_default()
        .naive_utc()
}
