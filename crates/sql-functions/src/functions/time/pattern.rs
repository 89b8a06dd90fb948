//! Patterns of days and times as in Java: `yyyy-MM-dd HH:mm:ss`.
//!
//! Java has two kinds of formatters, and Flink uses both, so each pattern follows the rules of one of them
//! ([`Style`]). `SimpleDateFormat` is lenient: text may follow the part which is read, numbers may be out of range,
//! and `S` is milliseconds. `DateTimeFormatter` is strict: the whole text is read, and `S` is digits of the fraction.
//!
//! Letters: `y u M d D H k K h m s S a E z Z X`, with their meaning in Java; literal text stands in quotes, and `''`
//! is a quote. Other letters are refused, and so are the brackets of optional sections. Names of months and days are
//! English.
//!
//! Source: Java, `SimpleDateFormat`, `DateTimeFormatterBuilder.appendPattern`.

mod parse;

use super::calendar::{Civil, DAY_SECONDS, civil, day_of_year, iso_weekday};
use super::moments::Moment;
use super::zone::{Colon, Zone, write_offset};

pub(super) use parse::{default_date, default_timestamp};

/// Kind of Java's formatter by whose rules a pattern is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// The pattern is one of Java's `SimpleDateFormat`, which is lenient.
    Lenient,
    /// The pattern is one of Java's `DateTimeFormatter`, which is strict.
    Strict,
}

/// Purpose for which a date pattern is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The pattern writes a time as text.
    Format,
    /// The pattern reads a time from text.
    Parse,
}

/// A compiled pattern of a date and time, such as `yyyy-MM-dd HH:mm:ss`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    style: Style,
    items: Vec<Item>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Item {
    Literal(String),
    Field { letter: char, count: usize },
}

impl Pattern {
    /// Returns the number of letters `S`, which are digits of a second, in the pattern.
    pub(super) fn second_digits(&self) -> usize {
        let digits = |item: &Item| match item {
            Item::Field { letter: 'S', count } => *count,
            _ => 0,
        };
        self.items.iter().map(digits).max().unwrap_or_default()
    }

    /// Compiles a pattern of a date and time.
    ///
    /// # Errors
    /// The reason why the pattern cannot be used.
    pub fn compile(text: &str, style: Style, purpose: Purpose) -> Result<Pattern, String> {
        let mut items = Vec::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let mut literal = |piece: &str| match items.last_mut() {
                Some(Item::Literal(known)) => known.push_str(piece),
                _ => items.push(Item::Literal(piece.to_owned())),
            };
            if letter == '\'' {
                if letters.next_if_eq(&'\'').is_some() {
                    literal("'");
                    continue;
                }
                let mut quoted = String::new();
                loop {
                    match letters.next() {
                        Some('\'') if letters.next_if_eq(&'\'').is_some() => quoted.push('\''),
                        Some('\'') => break,
                        Some(letter) => quoted.push(letter),
                        None => return Err(format!("a quote in the pattern '{text}' is not closed")),
                    }
                }
                literal(&quoted);
            } else if letter.is_ascii_alphabetic() {
                let mut count = 1;
                while letters.next_if_eq(&letter).is_some() {
                    count += 1;
                }
                check_field(letter, count, style, purpose)
                    .map_err(|reason| format!("the pattern '{text}' cannot be used: {reason}"))?;
                items.push(Item::Field { letter, count });
            } else if style == Style::Strict && matches!(letter, '[' | ']' | '{' | '}' | '#') {
                return Err(format!("the pattern '{text}' cannot be used: '{letter}' must stand in quotes"));
            } else {
                literal(letter.encode_utf8(&mut [0; 4]));
            }
        }
        Ok(Pattern { style, items })
    }

    /// Writes a date and time by the pattern. `instant` is in seconds since 1970 in UTC, and `moment` is its
    /// local time in `zone`.
    pub(super) fn format(&self, moment: Moment, zone: Zone, instant: i64, out: &mut String) {
        let day = moment.day();
        let Civil { year, month, day: day_of_month } = civil(day);
        let since_midnight = moment.seconds.rem_euclid(DAY_SECONDS);
        let hour = since_midnight / 3_600;
        let is_strict = self.style == Style::Strict;
        for item in &self.items {
            let (letter, count) = match item {
                Item::Literal(text) => {
                    out.push_str(text);
                    continue;
                }
                Item::Field { letter, count } => (*letter, *count),
            };
            match letter {
                // The letter `y` is the year of the era, which has no year 0.
                'y' => write_year(if year > 0 { year } else { 1 - year }, count, is_strict, out),
                'u' if is_strict => write_year(year, count, is_strict, out),
                'u' => padded(iso_weekday(day), count, out),
                'M' if count >= 3 => out.push_str(name_of(&MONTHS, month - 1, count)),
                'M' => padded(month, count, out),
                'd' => padded(day_of_month, count, out),
                'D' => padded(day_of_year(day), count, out),
                'H' => padded(hour, count, out),
                'k' => padded(if hour == 0 { 24 } else { hour }, count, out),
                'K' => padded(hour % 12, count, out),
                'h' => padded(if hour % 12 == 0 { 12 } else { hour % 12 }, count, out),
                'm' => padded(since_midnight % 3_600 / 60, count, out),
                's' => padded(since_midnight % 60, count, out),
                'S' if is_strict => {
                    let digits = format!("{:09}", moment.nanos);
                    out.push_str(digits.get(..count).unwrap_or(&digits));
                }
                'S' => padded(moment.nanos / 1_000_000, count, out),
                'a' => out.push_str(if hour < 12 { "AM" } else { "PM" }),
                'E' => out.push_str(name_of(&DAYS, iso_weekday(day) - 1, if count < 3 { 3 } else { count })),
                'z' => zone.name_at(instant, out),
                'Z' => write_offset(zone.offset_at(instant), Colon::Without, out),
                // The remaining pattern letter is `X`, the offset from UTC, because `check_field` admits no
                // other letter.
                _ => match (zone.offset_at(instant), count) {
                    (0, _) => out.push('Z'),
                    (offset, 1) => {
                        let begin = out.len();
                        write_offset(offset, Colon::Without, out);
                        out.truncate(begin + 3);
                    }
                    (offset, 2) => write_offset(offset, Colon::Without, out),
                    (offset, _) => write_offset(offset, Colon::Between, out),
                },
            }
        }
    }
}

/// Refuses unknown letters in a pattern, and more repetitions of a letter than Java allows.
fn check_field(letter: char, count: usize, style: Style, purpose: Purpose) -> Result<(), String> {
    let is_strict = style == Style::Strict;
    let most = match letter {
        'y' | 'u' => 19,
        'M' if is_strict => 5,
        'E' if is_strict => 5,
        'M' | 'E' => 19,
        'd' | 'H' | 'k' | 'K' | 'h' | 'm' | 's' => {
            if is_strict {
                2
            } else {
                19
            }
        }
        'D' if is_strict => 3,
        'S' if is_strict => 9,
        'D' | 'S' => 19,
        'a' if is_strict => 1,
        'a' => 19,
        // Strict patterns cannot write a time zone, because they write local time without a zone.
        'z' | 'Z' | 'X' if is_strict && purpose == Purpose::Format => {
            return Err(format!("'{letter}' asks for a zone, and the time has none"));
        }
        'z' => 3,
        'Z' | 'X' => 3,
        'Y' => return Err("'Y' counts years by weeks: write 'y'".to_owned()),
        _ => return Err(format!("the letter '{letter}' is none of y u M d D H k K h m s S a E z Z X")),
    };
    if count > most {
        return Err(format!("{count} letters '{letter}' are too many"));
    }
    Ok(())
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Returns the name of a month or weekday: its first three letters for 3 pattern letters, its first letter
/// for 5, and the full name for any other number.
fn name_of(names: &[&'static str], index: i64, count: usize) -> &'static str {
    let name = names.get(index as usize).copied().unwrap_or_default();
    let length = match count {
        3 => 3,
        5 => 1,
        _ => name.len(),
    };
    name.get(..length).unwrap_or(name)
}

fn padded(number: i64, count: usize, out: &mut String) {
    out.push_str(&format!("{number:0count$}"));
}

fn write_year(year: i64, count: usize, is_strict: bool, out: &mut String) {
    if count == 2 {
        return padded(year.rem_euclid(100), 2, out);
    }
    // If the pattern has four or more letters for the year, a year that needs more digits than letters gets a
    // plus sign.
    if is_strict && count >= 4 && year > 9_999 && year.to_string().len() > count {
        out.push('+');
    }
    if year < 0 {
        out.push('-');
    }
    padded(year.abs(), count, out);
}
