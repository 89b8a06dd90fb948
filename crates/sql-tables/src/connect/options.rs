//! The options of a table, each read once and by Flink's rules. Unread options are refused, with a similar
//! name as a hint.
//!
//! | kind | written as |
//! |---|---|
//! | duration | `10 s`, `1 min`, `500ms`: a whole number and a unit, milliseconds without one |
//! | memory size | `128 mb`, `1g`: a whole number and a unit of 1,024 or a power of it, bytes without one |
//! | boolean | `true`, `false`, in any case |
//! | number | digits, with a sign before them |
//!
//! Source: Flink, `TimeUtils.parseDuration`, `MemorySize.parse`, `ConfigurationUtils`.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use thalweg_sql_functions::suggestion::nearest;

use crate::error::{Code, Place, SqlError};
use crate::secrets::{MASK, is_secret};
use crate::table::{OptionValue, Table};

/// The prefix of option keys that only this engine has.
pub const OWN_PREFIX: &str = "thalweg.";

/// The options of one table while they are read.
pub struct Given<'a> {
    table: &'a Table,
    /// Keys of options that are given and were not read yet.
    left: BTreeSet<&'a str>,
    /// Keys of all options that the connector asked for, given or not.
    known: BTreeSet<String>,
    /// The name of the connector, for error messages.
    connector: &'a str,
}

impl<'a> Given<'a> {
    /// Creates the options of a table. None of them counts as read yet.
    pub fn new(table: &'a Table) -> Self {
        let left = table.options.keys().map(String::as_str).collect();
        Given { table, left, known: BTreeSet::new(), connector: "" }
    }

    /// Returns the table whose options are read.
    pub fn table(&self) -> &'a Table {
        self.table
    }

    /// Reads the option `connector`. Its value appears in error messages from now on.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the table has no connector.
    pub fn connector(&mut self) -> Result<&'a str, SqlError> {
        self.connector = self.text("connector").ok_or_else(|| {
            let message = format!("the table `{}` has no connector", self.table.name);
            SqlError::new(Code::Invalid, message)
                .at(self.table.options_place)
                .help("write WITH ('connector' = 'filesystem', ..)")
        })?;
        Ok(self.connector)
    }

    /// Returns the value of a table option, if the option is given.
    pub fn text(&mut self, key: &str) -> Option<&'a str> {
        if !self.known.contains(key) {
            self.known.insert(key.to_owned());
        }
        self.left.remove(key);
        self.table.options.get(key).map(|option| option.value.as_str())
    }

    /// Returns the value of a required option.
    ///
    /// # Errors
    /// [`Code::Invalid`] if it is missing or empty; `example` is shown as a possible value.
    pub fn required(&mut self, key: &str, example: &str) -> Result<&'a str, SqlError> {
        match self.text(key) {
            Some("") => Err(self.wrong(key, format!("is empty: write something such as '{example}'"))),
            Some(value) => Ok(value),
            None => {
                let message = format!("the connector '{}' needs the option '{key}'", self.connector);
                let error = SqlError::new(Code::Invalid, message).at(self.table.options_place);
                Err(error.help(format!("write '{key}' = '{example}'")))
            }
        }
    }

    /// Returns the value of a boolean option, or `unless` if it is not given.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the value is neither true nor false.
    pub fn flag(&mut self, key: &str, unless: bool) -> Result<bool, SqlError> {
        match self.text(key) {
            None => Ok(unless),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(text) => Err(self.wrong(key, format!("'{text}' is neither 'true' nor 'false'"))),
        }
    }

    /// Returns the value of a numeric option.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the value is not a number; `what` describes the expected value.
    pub fn number<T: FromStr>(&mut self, key: &str, what: &str) -> Result<Option<T>, SqlError> {
        match self.text(key) {
            None => Ok(None),
            Some(text) => {
                text.parse().map(Some).map_err(|_| self.wrong(key, format!("'{text}' is not {what}")))
            }
        }
    }

    /// Returns the value of an option with a list of allowed words, whose case is ignored; returns `unless`
    /// if the option is not given.
    ///
    /// # Errors
    /// [`Code::Invalid`] for another word.
    pub fn choice<T: Copy>(&mut self, key: &str, choices: &[(&str, T)], unless: T) -> Result<T, SqlError> {
        let Some(text) = self.text(key) else { return Ok(unless) };
        let found = choices.iter().find(|(choice, _)| text.eq_ignore_ascii_case(choice));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(choice, _)| format!("'{choice}'")).collect();
            self.wrong(key, format!("'{text}' is not among {}", names.join(", ")))
        })
    }

    /// Returns the value of a duration option.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the value is not a duration.
    pub fn duration(&mut self, key: &str) -> Result<Option<Duration>, SqlError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        parse_duration(text).map(Some).ok_or_else(|| {
            self.wrong(key, format!("'{text}' is no duration: write one such as '10 s', '1 min' or '500 ms'"))
        })
    }

    /// Returns the value of a memory size option, in bytes.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the value is not a memory size.
    pub fn bytes(&mut self, key: &str) -> Result<Option<u64>, SqlError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        parse_bytes(text).map(Some).ok_or_else(|| {
            self.wrong(key, format!("'{text}' is no memory size: write one such as '128 mb' or '64kb'"))
        })
    }

    /// Checks an option of Flink for the parallelism. The option has no effect in this engine.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the value is not a number above 0.
    pub fn parallelism(&mut self, key: &str) -> Result<(), SqlError> {
        match self.number::<u32>(key, "a whole number from 1 on")? {
            Some(0) => Err(self.wrong(key, "'0' is not a whole number from 1 on")),
            _ => Ok(()),
        }
    }

    /// Refuses an option that Flink has and this engine does not support.
    ///
    /// # Errors
    /// [`Code::Unsupported`] if the option is given.
    pub fn unsupported(&mut self, key: &str, help: &str) -> Result<(), SqlError> {
        match self.text(key) {
            None => Ok(()),
            Some(_) => {
                let error = SqlError::new(Code::Unsupported, format!("the option '{key}' is not supported"));
                Err(error.at(self.place(key)).help(help))
            }
        }
    }

    /// Returns all options with a key prefix, by their full keys. The caller must check them.
    pub fn with_prefix(&mut self, prefix: &str) -> BTreeMap<String, String> {
        let own = |(key, option): (&'a String, _)| -> Option<(String, String)> {
            let option: &OptionValue = option;
            key.starts_with(prefix).then(|| (key.clone(), option.value.clone()))
        };
        self.left.retain(|key| !key.starts_with(prefix));
        self.table.options.iter().filter_map(own).collect()
    }

    /// Returns the error for a wrong value of an option. `reason` follows the key in the message, and a
    /// secret value is masked in it.
    pub fn wrong(&self, key: &str, reason: impl AsRef<str>) -> SqlError {
        let mut reason = reason.as_ref().to_owned();
        if let Some(option) =
            self.table.options.get(key).filter(|option| is_secret(key) && !option.value.is_empty())
        {
            reason = reason.replace(&option.value, MASK);
        }
        SqlError::new(Code::Invalid, format!("option '{key}': {reason}")).at(self.place(key))
    }

    /// Returns the place of the key of an option in the SQL text, or the place of WITH if the option is not
    /// given.
    pub fn place(&self, key: &str) -> Place {
        self.table.options.get(key).map_or(self.table.options_place, |option| option.place)
    }

    /// Refuses options that no connector or format has read.
    ///
    /// # Errors
    /// [`Code::UnknownOption`] for the first unread option.
    pub fn finish(self) -> Result<(), SqlError> {
        let Some(key) = self.left.first() else { return Ok(()) };
        let message = format!("the connector '{}' has no option '{key}'", self.connector);
        let error = SqlError::new(Code::UnknownOption, message).at(self.place(key));
        let known = || self.known.iter().map(String::as_str);
        Err(match nearest(key, known()) {
            Some(near) => error.help(format!("did you mean '{near}'?")),
            None => error.help(format!("there are {}", known().collect::<Vec<_>>().join(", "))),
        })
    }
}

/// Parses a duration in Flink's notation; `None` if it is not valid or is longer than 584 years.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let nanos: u64 = match unit.as_str() {
        "d" | "day" | "days" => 86_400_000_000_000,
        "h" | "hour" | "hours" => 3_600_000_000_000,
        "m" | "min" | "minute" | "minutes" => 60_000_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
        "" | "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1_000_000,
        "µs" | "micro" | "micros" | "microsecond" | "microseconds" => 1_000,
        "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => 1,
        _ => return None,
    };
    Some(Duration::from_nanos(number.checked_mul(nanos)?))
}

/// Parses a memory size in Flink's notation to bytes.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let shift = match unit.as_str() {
        "" | "b" | "bytes" => 0,
        "k" | "kb" | "kibibytes" => 10,
        "m" | "mb" | "mebibytes" => 20,
        "g" | "gb" | "gibibytes" => 30,
        "t" | "tb" | "tebibytes" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift).filter(|bytes| *bytes <= i64::MAX as u64)
}

/// Splits a text such as `10 s` into a number and a lower-case unit.
fn number_and_unit(text: &str) -> Option<(u64, String)> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..digits].parse().ok().filter(|number| *number <= i64::MAX as u64)?;
    Some((number, text[digits..].trim().to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Durations from Flink's documentation and its `TimeUtilsTest` are parsed as by Flink, and invalid ones
    /// are refused.
    #[test]
    fn durations_are_those_of_flink() {
        let check = |text: &str, nanos: Option<u64>| {
            assert_eq!(parse_duration(text), nanos.map(Duration::from_nanos), "{text}");
        };
        check("424562ns", Some(424_562));
        check("11 micro", Some(11_000));
        check("731µs", Some(731_000));
        check("1234", Some(1_234_000_000));
        check("155 ms", Some(155_000_000));
        check("60s", Some(60_000_000_000));
        check("1 min", Some(60_000_000_000));
        check("7657623minutes", Some(7_657_623 * 60_000_000_000));
        check("2 H", Some(7_200_000_000_000));
        check("  1 d ", Some(86_400_000_000_000));
        check("", None);
        check("s", None);
        check("-1 s", None);
        check("1.5 s", None);
        check("16 gjah", None);
        check("100000000000000000000", None);
        check("9223372036854775807 d", None);
        check("1 é", None);
    }

    /// Memory sizes from Flink's `MemorySizeTest` are parsed as by Flink, and invalid ones are refused.
    #[test]
    fn memory_sizes_are_those_of_flink() {
        let check = |text: &str, bytes: Option<u64>| assert_eq!(parse_bytes(text), bytes, "{text}");
        check("1234", Some(1_234));
        check("1234 bytes", Some(1_234));
        check("667766k", Some(667_766 << 10));
        check("128 mb", Some(128 << 20));
        check("7657623MB", Some(7_657_623 << 20));
        check("987 gibibytes", Some(987 << 30));
        check("1234567 t", Some(1_234_567 << 40));
        check("", None);
        check("   ", None);
        check("- 10", None);
        check("-10 bytes", None);
        check("16 gjah", None);
        check("100000000000000 tb", None);
    }
}
