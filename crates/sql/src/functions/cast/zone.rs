//! Clocks of a zone and instants, each as the other, as Java does it where clocks are put forward or back.
//!
//! A reading that a clock skips (it is put forward) counts as so much later as the clock skips; a reading that it shows
//! twice (it is put back) means the earlier instant. Source: Java, `LocalDateTime.atZone`; Flink, `DateTimeUtils`.

use chrono::{DateTime, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Tz;

use super::text::ticks_per_second;

/// What a clock in a zone shows at an instant; both in units of a column with so many digits. None if it is beyond them.
pub fn local_of_instant(value: i64, digits: u8, zone: Tz) -> Option<i64> {
    if zone == Tz::UTC {
        return Some(value);
    }
    let ticks = ticks_per_second(digits);
    let offset = zone.offset_from_utc_datetime(&reading(value.div_euclid(ticks))).fix().local_minus_utc();
    value.checked_add(i64::from(offset).checked_mul(ticks)?)
}

/// The instant at which a clock in a zone shows a reading; both in units of a column with so many digits. None if it is
/// beyond them.
pub fn instant_of_local(value: i64, digits: u8, zone: Tz) -> Option<i64> {
    if zone == Tz::UTC {
        return Some(value);
    }
    let ticks = ticks_per_second(digits);
    let offset = offset_of_reading(reading(value.div_euclid(ticks)), zone);
    value.checked_sub(offset.checked_mul(ticks)?)
}

fn offset_of_reading(local: NaiveDateTime, zone: Tz) -> i64 {
    // The longest gap so far was a day: Samoa has never seen the 30th of December 2011.
    const STEPS_MAX: i32 = 64;
    for step in 0..STEPS_MAX {
        let before = local - TimeDelta::minutes(30 * i64::from(step));
        let offset = match zone.offset_from_local_datetime(&before) {
            chrono::LocalResult::Single(offset) => offset,
            // Of two offsets the greater belongs to the earlier instant. Going back from a gap, what was in force last counts.
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

/// Readings that no calendar of chrono reaches, a quarter of a million years away, have the offset of its ends.
fn reading(seconds: i64) -> NaiveDateTime {
    const FARTHEST_SECONDS: i64 = 8_000_000_000_000;
    DateTime::from_timestamp(seconds.clamp(-FARTHEST_SECONDS, FARTHEST_SECONDS), 0)
        .unwrap_or_default()
        .naive_utc()
}
