//! SenML as RIoTBench's sensors send it: one message is a JSON object on a line of its own.
//!
//! ```text
//! {"e":[{"u":"string","n":"source","sv":"ci4lr7.."},{"v":"6.16","u":"lon","n":"longitude"},...],"bt":1422748800000}
//! ```
//!
//! `e` has an entry for the sensor (`sv`), its longitude and latitude, and one for each observation. A value `v` is a
//! number, or text that is one. An observation is missing if it has no entry, or if its value is empty or `null`. `bt`
//! is the base time in milliseconds since the Unix epoch. Members may have any order; unknown entries are skipped, and
//! of equal names the last one counts. A quote inside a text is written `\"`; other escapes are not resolved, which
//! concerns only units.
//!
//! A recorded line has the time once more in front: `1422748800000,{"e":..}`. That is its event time.
//!
//! Source: RIoTBench's sample of the CITY data; the names are those of draft-jennings-senml.

use std::fmt;
use std::ops::Range;

use thalweg_model::{Coded, EventTime, Record};

use super::sensor::{KIND_COUNT, Kind, SENSOR_BYTES_MAX, SensorId};

/// Latest time of a message, in milliseconds since the Unix epoch: the end of the year 9999.
pub const TIME_MS_MAX: i64 = 253_402_300_799_999;

/// Largest number of characters of a value that an error shows.
const SHOWN_CHARS_MAX: usize = 40;

/// The content of a message.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Message {
    /// The sensor that sent the message.
    pub sensor: SensorId,
    /// Longitude of the sensor in degrees; recorded messages have some wrong ones, so any number is allowed.
    pub longitude: f64,
    /// Latitude of the sensor in degrees; as for the longitude, any number is allowed.
    pub latitude: f64,
    /// The values of the observations, in the order of [`Kind::ALL`]; `None` for a missing one.
    pub values: [Option<f64>; KIND_COUNT],
}

/// Reason why a message or a recorded line is rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SenmlError {
    /// The text is not a JSON object with `e` and `bt`. At most 40 characters are kept of the text, from the first that
    /// is wrong.
    Form(String),
    /// The time is missing or is not a whole number of milliseconds from 1970 to the year 9999.
    Time(String),
    /// The sensor is missing, or its identifier is too long or has characters that need an escape.
    Sensor(String),
    /// A field of the message has a value that is not a finite number, or the longitude or latitude is missing.
    Number {
        /// Name of the field.
        field: &'static str,
        /// Text of the value; empty if it is missing.
        value: String,
    },
}

impl fmt::Display for SenmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SenmlError::Form(at) => write!(
                f,
                "no message of the form {{\"e\":[{{\"n\":..,\"v\":..}},..],\"bt\":..}} at {at:?}; is this a file of SenML?"
            ),
            SenmlError::Time(time) => {
                write!(f, "time {time:?} is not a whole number from 0 to {TIME_MS_MAX} ms")
            }
            SenmlError::Sensor(sensor) => {
                write!(f, "source {sensor:?} must have 1 to {SENSOR_BYTES_MAX} bytes and no escapes")
            }
            SenmlError::Number { field, value } => {
                write!(f, "{field} is {value:?}, but must be a finite number")
            }
        }
    }
}

impl std::error::Error for SenmlError {}

impl Coded for SenmlError {
    fn code(&self) -> &'static str {
        match self {
            SenmlError::Form(_) => "SENML_FORM",
            SenmlError::Time(_) => "SENML_TIME",
            SenmlError::Sensor(_) => "SENML_SENSOR",
            SenmlError::Number { .. } => "SENML_NUMBER",
        }
    }
}

/// Checks a recorded line, and returns its event time with the range of the message in the line.
///
/// ```
/// use thalweg_workloads::riot::senml;
/// let line = r#"5,{"e":[{"n":"source","sv":"s1"},{"n":"longitude","v":"1"},{"n":"latitude","v":2}],"bt":5}"#;
/// let record = senml::line_of(line).unwrap();
/// assert_eq!((record.event_time.as_micros(), &line[record.value][..5]), (5_000, "{\"e\":"));
/// ```
///
/// # Errors
/// [`SenmlError`] if the time in front or the message is wrong.
pub fn line_of(line: &str) -> Result<Record<Range<usize>>, SenmlError> {
    let (time, message) = line.split_once(',').ok_or_else(|| SenmlError::Form(shown(line)))?;
    let time_ms = time_ms_of(time)?;
    message_of(message)?;
    Ok(Record::new(EventTime::from_micros(time_ms * 1_000), time.len() + 1..line.len()))
}

/// Parses a message.
///
/// # Errors
/// [`SenmlError`] if the text has another form, or a value is wrong.
pub fn message_of(text: &str) -> Result<Message, SenmlError> {
    let mut scan = Scan { rest: text.trim_matches(BLANKS) };
    let (mut fields, mut has_entries, mut time) = (Fields::default(), false, None);
    scan.object(|scan, name| {
        match name {
            "e" => {
                has_entries = true;
                fields = scan.entries()?;
            }
            "bt" => time = Some(scan.value()?),
            _ => {
                scan.value()?;
            }
        }
        Some(())
    })
    .filter(|()| scan.rest.is_empty() && has_entries)
    .ok_or_else(|| SenmlError::Form(shown(scan.rest)))?;
    time_ms_of(time.unwrap_or_default())?;
    fields.message()
}

fn time_ms_of(text: &str) -> Result<i64, SenmlError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let time_ms = text.parse().ok().filter(|time_ms| digits && *time_ms <= TIME_MS_MAX);
    time_ms.ok_or_else(|| SenmlError::Time(shown(text)))
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

/// Blanks of JSON: characters between tokens that have no meaning.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// The values of a message's fields as they are written; `None` for a field that was not found so far. An empty text
/// stands for `null`.
#[derive(Clone, Copy, Default)]
struct Fields<'a> {
    sensor: Option<&'a str>,
    longitude: Option<&'a str>,
    latitude: Option<&'a str>,
    values: [Option<&'a str>; KIND_COUNT],
}

impl<'a> Fields<'a> {
    fn set(&mut self, entry: Entry<'a>) {
        match entry.name {
            Some("source") => self.sensor = entry.text,
            Some("longitude") => self.longitude = entry.value,
            Some("latitude") => self.latitude = entry.value,
            Some(name) => {
                if let Some(kind) = Kind::ALL.iter().find(|kind| kind.name() == name) {
                    self.values[kind.index()] = entry.value;
                }
            }
            None => {}
        }
    }

    fn message(&self) -> Result<Message, SenmlError> {
        let id = self.sensor.unwrap_or_default();
        let sensor = SensorId::new(id).ok_or_else(|| SenmlError::Sensor(shown(id)))?;
        let needed = |field, text: Option<&str>| {
            let text = text.unwrap_or_default();
            number_of(text).ok_or_else(|| SenmlError::Number { field, value: shown(text) })
        };
        let (longitude, latitude) =
            (needed("longitude", self.longitude)?, needed("latitude", self.latitude)?);
        let mut values = [None; KIND_COUNT];
        for kind in Kind::ALL {
            let text = self.values[kind.index()].filter(|text| !text.is_empty());
            values[kind.index()] = text.map(|text| needed(kind.name(), Some(text))).transpose()?;
        }
        Ok(Message { sensor, longitude, latitude, values })
    }
}

fn number_of(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// An entry of the array `e` of a message: its members `n`, `v` and `sv` as they are written.
#[derive(Clone, Copy, Default)]
struct Entry<'a> {
    name: Option<&'a str>,
    value: Option<&'a str>,
    text: Option<&'a str>,
}

/// A reader of JSON from left to right. Each method reads one thing at the beginning of `rest`, with the blanks after
/// it, and removes it from `rest`. At the first character that does not fit, a method returns `None` and leaves `rest`
/// there or shortly before.
struct Scan<'a> {
    rest: &'a str,
}

impl<'a> Scan<'a> {
    /// Reads the given character, with the blanks before and after it.
    fn take(&mut self, character: char) -> Option<()> {
        let rest = self.rest.trim_start_matches(BLANKS).strip_prefix(character)?;
        self.rest = rest.trim_start_matches(BLANKS);
        Some(())
    }

    /// Reads a text in quotes, and returns it without the quotes; escapes are not resolved.
    fn text(&mut self) -> Option<&'a str> {
        let content = self.rest.strip_prefix('"')?;
        let mut is_escaped = false;
        let end = content.bytes().position(|byte| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        })?;
        self.rest = content[end + 1..].trim_start_matches(BLANKS);
        Some(&content[..end])
    }

    /// Reads a text, a number or a word such as `true`, and returns it without quotes; `null` becomes an empty text.
    fn value(&mut self) -> Option<&'a str> {
        if self.rest.starts_with('"') {
            return self.text();
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let end = self.rest.bytes().position(|byte| !is_plain(byte)).filter(|end| *end > 0)?;
        let value = &self.rest[..end];
        self.rest = self.rest[end..].trim_start_matches(BLANKS);
        Some(if value == "null" { "" } else { value })
    }

    /// Reads an object. Calls `member` with the name of each member; `member` must read the value, which is next.
    fn object(&mut self, mut member: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.take('{')?;
        if self.take('}').is_some() {
            return Some(());
        }
        loop {
            let name = self.text()?;
            self.take(':')?;
            member(self, name)?;
            if self.take(',').is_none() {
                return self.take('}');
            }
        }
    }

    /// Reads the array `e` of a message, an array of objects that hold no objects, and returns the fields found in it.
    fn entries(&mut self) -> Option<Fields<'a>> {
        let mut fields = Fields::default();
        self.take('[')?;
        if self.take(']').is_some() {
            return Some(fields);
        }
        loop {
            let mut entry = Entry::default();
            self.object(|scan, name| {
                let value = scan.value()?;
                match name {
                    "n" => entry.name = Some(value),
                    "v" => entry.value = Some(value),
                    "sv" => entry.text = Some(value),
                    _ => {}
                }
                Some(())
            })?;
            fields.set(entry);
            if self.take(',').is_none() {
                self.take(']')?;
                return Some(fields);
            }
        }
    }
}

#[cfg(test)]
mod tests;
