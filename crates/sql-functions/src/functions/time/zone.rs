//! Time zones of SQL functions: named zones and fixed offsets.
//!
//! Every local time is converted to an instant. A local time that is skipped when clocks are put forward is
//! read with the offset before the change. A local time that occurs twice is the earlier instant, or the
//! later one on request.
//!
//! Source: Java, `ZoneId`, `ZonedDateTime.ofLocal`, `TimeZone.getTimeZone`.

use chrono::{DateTime, LocalResult, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::{OffsetName, Tz};

/// A time zone, given by its name or by a fixed offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Zone {
    /// A zone of the tz database, such as Europe/Berlin.
    Named(Tz),
    /// A zone with a fixed offset, in seconds ahead of UTC.
    Fixed(i32),
}

/// Choice between two instants that have the same local time, because clocks were put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overlap {
    /// The earlier of both instants is chosen, as in java.time.
    Earlier,
    /// The later of both instants is chosen, as in `java.util.GregorianCalendar`.
    Later,
}

impl Zone {
    /// The time zone UTC, to which other offsets refer.
    pub const UTC: Zone = Zone::Named(Tz::UTC);

    /// Finds a time zone by its name: `Europe/Berlin`, `PST`, `GMT-08:00`, `+05:30`. `None` if no zone has
    /// that name.
    pub fn read(name: &str) -> Option<Zone> {
        if let Ok(named) = name.parse::<Tz>() {
            return Some(Zone::Named(named));
        }
        if let Some((_, named)) = SHORT_NAMES.iter().find(|(short, _)| *short == name) {
            return named.parse::<Tz>().ok().map(Zone::Named);
        }
        let offset = ["GMT", "UTC", "UT"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        match offset {
            "Z" => Some(Zone::UTC),
            offset => offset_of(offset).map(Zone::Fixed),
        }
    }

    /// Returns the zone's offset ahead of UTC in seconds, at an instant in seconds since 1970.
    pub fn offset_at(&self, seconds: i64) -> i32 {
        match self {
            Zone::Named(Tz::UTC) => 0,
            Zone::Fixed(offset) => *offset,
            Zone::Named(zone) => zone.offset_from_utc_datetime(&naive(seconds)).fix().local_minus_utc(),
        }
    }

    /// Returns the zone's local time at an instant, both in seconds since 1970.
    pub fn local_of(&self, seconds: i64) -> i64 {
        seconds.saturating_add(i64::from(self.offset_at(seconds)))
    }

    /// Returns the instant of a local time of the zone, both in seconds since 1970. `overlap` decides between
    /// two instants with that local time.
    pub fn instant_of(&self, local: i64, overlap: Overlap) -> i64 {
        let offset = match self {
            Zone::Named(Tz::UTC) => 0,
            Zone::Fixed(offset) => *offset,
            Zone::Named(zone) => {
                let reading = naive(local);
                let fixed = |offset: &<Tz as TimeZone>::Offset| offset.fix().local_minus_utc();
                match zone.offset_from_local_datetime(&reading) {
                    LocalResult::Single(offset) => fixed(&offset),
                    LocalResult::Ambiguous(earlier, _) if overlap == Overlap::Earlier => fixed(&earlier),
                    LocalResult::Ambiguous(_, later) => fixed(&later),
                    // If clocks skip the local time, the offset before the gap applies. No zone puts clocks
                    // forward twice within a day.
                    LocalResult::None => {
                        let before = reading.checked_sub_signed(TimeDelta::days(1)).unwrap_or(reading);
                        fixed(&zone.offset_from_utc_datetime(&before))
                    }
                }
            }
        };
        local.saturating_sub(i64::from(offset))
    }

    /// Writes the name that the zone has at an instant: `CET`, `GMT+05:30`.
    pub fn name_at(&self, seconds: i64, out: &mut String) {
        let named = match self {
            Zone::Named(zone) => {
                zone.offset_from_utc_datetime(&naive(seconds)).abbreviation().map(str::to_owned)
            }
            Zone::Fixed(_) => None,
        };
        // If a zone has no abbreviation, the tz database has the offset as its name.
        match named.filter(|name| !name.starts_with(['+', '-'])) {
            Some(name) => out.push_str(&name),
            None => {
                out.push_str("GMT");
                write_offset(self.offset_at(seconds), Colon::Between, out);
            }
        }
    }
}

/// Form of an offset from UTC as text: with a colon between hours and minutes, or without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Colon {
    Between,
    Without,
}

/// Writes an offset from UTC: `+0530`, `+05:30`.
pub(super) fn write_offset(seconds: i32, colon: Colon, out: &mut String) {
    let minutes = seconds.unsigned_abs() / 60;
    let sign = if seconds < 0 { '-' } else { '+' };
    let between = if colon == Colon::Between { ":" } else { "" };
    out.push_str(&format!("{sign}{:02}{between}{:02}", minutes / 60, minutes % 60));
}

/// Reads an offset from UTC, in seconds: `+8`, `+08`, `+0830`, `+08:30`, `+8:30`.
fn offset_of(text: &str) -> Option<i32> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        None => (digits, "00"),
    };
    let number = |digits: &str, most: i32| {
        let is_plain = (1..=2).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_plain.then(|| digits.parse::<i32>().ok()).flatten().filter(|number| *number <= most)
    };
    let is_whole = minutes.len() == 2;
    Some(sign * (number(hours, 23)? * 3_600 + number(minutes, 59).filter(|_| is_whole)? * 60))
}

/// Converts seconds since 1970 to a date and time of chrono, limited to about 253,500 years before and after
/// 1970, as chrono holds few more. Beyond, a zone has the offset of that limit.
fn naive(seconds: i64) -> NaiveDateTime {
    const EDGE: i64 = 8_000_000_000_000;
    DateTime::from_timestamp(seconds.clamp(-EDGE, EDGE), 0).unwrap_or_default().naive_utc()
}

/// Names of time zones of three letters that Java knows and that the tz database lacks or uses for another
/// zone.
///
/// Source: Java, `ZoneId.SHORT_IDS`.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
];
