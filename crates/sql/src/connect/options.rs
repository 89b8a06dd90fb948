//! The options of a table, read once each and by Flink's rules; what nobody has read is refused, with the name that is near.
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

use crate::catalog::Table;
use crate::error::{Code, Place, SqlError, nearest};
use crate::secrets::{MASK, is_secret};

/// The prefix of keys that are ours and that Flink does not know.
pub const OWN_PREFIX: &str = "thalweg.";

/// The options of one table while they are read.
pub struct Given<'a> {
    table: &'a Table,
    /// Keys that were not read yet.
    left: BTreeSet<&'a str>,
    /// Keys that were asked for.
    known: BTreeSet<String>,
    /// What the table is connected to, for messages.
    connector: &'a str,
}

impl<'a> Given<'a> {
    /// All options of a table.
    pub fn new(table: &'a Table) -> Self {
        let left = table.options.keys().map(String::as_str).collect();
        Given { table, left, known: BTreeSet::new(), connector: "" }
    }

    /// The table.
    pub fn table(&self) -> &'a Table {
        self.table
    }

    /// The connector, whose name is told from now on.
    ///
    /// # Errors
    /// [`Code::Invalid`] if there is none.
    pub fn connector(&mut self) -> Result<&'a str, SqlError> {
        self.connector = self.text("connector").ok_or_else(|| {
            let message = format!("the table `{}` has no connector", self.table.name);
            SqlError::new(Code::Invalid, message)
                .at(self.table.options_place)
                .help("write WITH ('connector' = 'filesystem', ..)")
        })?;
        Ok(self.connector)
    }

    /// The value of an option, if it is given.
    pub fn text(&mut self, key: &str) -> Option<&'a str> {
        if !self.known.contains(key) {
            self.known.insert(key.to_owned());
        }
        self.left.remove(key);
        self.table.options.get(key).map(|option| option.value.as_str())
    }

    /// The value of an option that must be given.
    ///
    /// # Errors
    /// [`Code::Invalid`] if it is not; `example` is what one may write.
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

    /// The value of an option that is true or false.
    ///
    /// # Errors
    /// [`Code::Invalid`] if it is neither.
    pub fn flag(&mut self, key: &str, unless: bool) -> Result<bool, SqlError> {
        match self.text(key) {
            None => Ok(unless),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(text) => Err(self.wrong(key, format!("'{text}' is neither 'true' nor 'false'"))),
        }
    }

    /// The value of an option that is a number.
    ///
    /// # Errors
    /// [`Code::Invalid`] if it is none; `what` says what it is to be.
    pub fn number<T: FromStr>(&mut self, key: &str, what: &str) -> Result<Option<T>, SqlError> {
        match self.text(key) {
            None => Ok(None),
            Some(text) => {
                text.parse().map(Some).map_err(|_| self.wrong(key, format!("'{text}' is not {what}")))
            }
        }
    }

    /// The value of an option that is one of several words, in any case.
    ///
    /// # Errors
    /// [`Code::Invalid`] if it is another.
    pub fn choice<T: Copy>(&mut self, key: &str, choices: &[(&str, T)], unless: T) -> Result<T, SqlError> {
        let Some(text) = self.text(key) else { return Ok(unless) };
        let found = choices.iter().find(|(choice, _)| text.eq_ignore_ascii_case(choice));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(choice, _)| format!("'{choice}'")).collect();
            self.wrong(key, format!("'{text}' is not among {}", names.join(", ")))
        })
    }

    /// The value of an option that is a duration.
    ///
    /// # Errors
    /// [`Code::Invalid`] if it is none.
    pub fn duration(&mut self, key: &str) -> Result<Option<Duration>, SqlError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        parse_duration(text).map(Some).ok_or_else(|| {
            self.wrong(key, format!("'{text}' is no duration: write one such as '10 s', '1 min' or '500 ms'"))
        })
    }

    /// The value of an option that is a number of bytes.
    ///
    /// # Errors
    /// [`Code::Invalid`] if it is none.
    pub fn bytes(&mut self, key: &str) -> Result<Option<u64>, SqlError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        parse_bytes(text).map(Some).ok_or_else(|| {
            self.wrong(key, format!("'{text}' is no memory size: write one such as '128 mb' or '64kb'"))
        })
    }

    /// An option of Flink's that says how many run at a time: it is checked, and changes nothing with us.
    ///
    /// # Errors
    /// [`Code::Invalid`] if it is no number above 0.
    pub fn parallelism(&mut self, key: &str) -> Result<(), SqlError> {
        match self.number::<u32>(key, "a whole number from 1 on")? {
            Some(0) => Err(self.wrong(key, "'0' is not a whole number from 1 on")),
            _ => Ok(()),
        }
    }

    /// Refuses an option that Flink has and we have not.
    ///
    /// # Errors
    /// [`Code::Unsupported`] if it is given.
    pub fn unsupported(&mut self, key: &str, help: &str) -> Result<(), SqlError> {
        match self.text(key) {
            None => Ok(()),
            Some(_) => {
                let error = SqlError::new(Code::Unsupported, format!("the option '{key}' is not supported"));
                Err(error.at(self.place(key)).help(help))
            }
        }
    }

    /// All options whose keys begin so, by their whole keys; they are someone else's to check.
    pub fn with_prefix(&mut self, prefix: &str) -> BTreeMap<String, String> {
        let own = |(key, option): (&'a String, _)| -> Option<(String, String)> {
            let option: &crate::text::ddl::OptionValue = option;
            key.starts_with(prefix).then(|| (key.clone(), option.value.clone()))
        };
        self.left.retain(|key| !key.starts_with(prefix));
        self.table.options.iter().filter_map(own).collect()
    }

    /// The value of an option is wrong: `reason` follows its key. A secret value is masked in it.
    pub fn wrong(&self, key: &str, reason: impl AsRef<str>) -> SqlError {
        let mut reason = reason.as_ref().to_owned();
        if let Some(option) =
            self.table.options.get(key).filter(|option| is_secret(key) && !option.value.is_empty())
        {
            reason = reason.replace(&option.value, MASK);
        }
        SqlError::new(Code::Invalid, format!("option '{key}': {reason}")).at(self.place(key))
    }

    /// Where an option stands; where they all stand if it is not given.
    pub fn place(&self, key: &str) -> Place {
        self.table.options.get(key).map_or(self.table.options_place, |option| option.place)
    }

    /// Refuses what was not read.
    ///
    /// # Errors
    /// [`Code::UnknownOption`] for the first of it.
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

/// A duration as Flink writes it; none if it is none, or is longer than 584 years.
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

/// A memory size as Flink writes it, in bytes.
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

/// Digits, and what stands behind them in small letters.
fn number_and_unit(text: &str) -> Option<(u64, String)> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..digits].parse().ok().filter(|number| *number <= i64::MAX as u64)?;
    Some((number, text[digits..].trim().to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Durations of Flink's documentation and its `TimeUtilsTest`, and what is none.
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

    /// Memory sizes of Flink's `MemorySizeTest`, and what is none.
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
