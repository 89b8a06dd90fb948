//! The registry: which sensors are known, and where each stands.
//!
//! Its file has lines `identifier:location,type`, as RIoTBench's metadata of the CITY data has them.

use std::fmt;
use std::sync::Arc;

use thalweg::{Table, Text};
use thalweg_model::Coded;

use super::bloom::BloomFilter;
use super::sensor::{SENSOR_BYTES_MAX, SensorId};

/// Largest number of sensors of a registry. With a million of them, the table and the filter have some 100 MB.
pub const SENSORS_MAX: usize = 1 << 20;

/// Length in bytes of the longest location or type of a sensor.
pub const PLACE_BYTES_MAX: usize = 64;

/// Location and type of a sensor, with which its messages are annotated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Name of the place at which the sensor stands.
    pub location: Text,
    /// Type of the sensor.
    pub sensor_type: Text,
}

/// The known sensors: a table by identifier, and a Bloom filter of the identifiers.
#[derive(Clone)]
pub struct Registry {
    rows: Arc<[(SensorId, Place)]>,
    table: Table<SensorId, Place>,
    known: Arc<BloomFilter>,
}

/// Reason why the file of a registry is rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RegistryError {
    /// The line of this number, counted from 1, does not have the form `identifier:location,type`.
    Line(usize),
    /// The sensor occurs twice.
    Twice(String),
    /// The registry has more sensors than [`SENSORS_MAX`].
    TooMany,
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegistryError::Line(line) => write!(
                f,
                "line {line} is not identifier:location,type with an identifier of at most {SENSOR_BYTES_MAX} bytes and the \
                 others of at most {PLACE_BYTES_MAX}, without quotes and backslashes; correct it, or remove it"
            ),
            RegistryError::Twice(sensor) => {
                write!(f, "sensor {sensor:?} occurs twice; leave one of its lines")
            }
            RegistryError::TooMany => write!(f, "there are more than {SENSORS_MAX} sensors; take fewer"),
        }
    }
}

impl std::error::Error for RegistryError {}

impl Coded for RegistryError {
    fn code(&self) -> &'static str {
        match self {
            RegistryError::Line(_) => "REGISTRY_LINE",
            RegistryError::Twice(_) => "REGISTRY_TWICE",
            RegistryError::TooMany => "REGISTRY_SIZE",
        }
    }
}

impl Registry {
    /// Creates a registry of these sensors.
    ///
    /// # Errors
    /// [`RegistryError::Twice`] if a sensor occurs twice, [`RegistryError::TooMany`] if there are too many.
    pub fn of(rows: Vec<(SensorId, Place)>) -> Result<Self, RegistryError> {
        if SENSORS_MAX < rows.len() {
            return Err(RegistryError::TooMany);
        }
        let mut known = BloomFilter::new(rows.len());
        rows.iter().for_each(|(sensor, _)| known.insert(sensor.as_bytes()));
        let table = Table::new(rows.iter().cloned())
            .map_err(|error| RegistryError::Twice(rows[error.row_index].0.as_str().to_owned()))?;
        Ok(Registry { rows: rows.into(), table, known: Arc::new(known) })
    }

    /// Parses the text of a file. Empty lines are skipped.
    ///
    /// ```
    /// use thalweg_workloads::riot::Registry;
    /// let registry = Registry::parse("s1:building1,solar\ns2:building2,heat\n").unwrap();
    /// assert_eq!(registry.rows()[1].1.location, "building2");
    /// ```
    ///
    /// # Errors
    /// [`RegistryError`] for the first line that is not understood, or if a sensor occurs twice.
    pub fn parse(text: &str) -> Result<Self, RegistryError> {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty());
        let rows: Result<Vec<_>, RegistryError> = lines
            .take(SENSORS_MAX + 1)
            .map(|(number, line)| row_of(line).ok_or(RegistryError::Line(number)))
            .collect();
        Registry::of(rows?)
    }

    /// Returns the sensors with their places, in the order in which they were given.
    pub fn rows(&self) -> &[(SensorId, Place)] {
        &self.rows
    }

    /// Returns the table from the identifier of a sensor to its location and type, with which `etl` joins
    /// messages.
    pub fn table(&self) -> Table<SensorId, Place> {
        self.table.clone()
    }

    /// Returns the filter of known sensors.
    pub fn known(&self) -> Arc<BloomFilter> {
        Arc::clone(&self.known)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("sensors", &self.rows.len()).finish_non_exhaustive()
    }
}

fn row_of(line: &str) -> Option<(SensorId, Place)> {
    let (sensor, place) = line.split_once(':')?;
    let (location, sensor_type) = place.split_once(',')?;
    let is_plain = |text: &str| {
        let escaped = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        !text.is_empty() && text.len() <= PLACE_BYTES_MAX && !text.bytes().any(escaped)
    };
    let is_right = is_plain(location) && is_plain(sensor_type);
    let [location, sensor_type] = [location, sensor_type].map(Text::from);
    Some((SensorId::new(sensor)?, Place { location, sensor_type })).filter(|_| is_right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_parsed() {
        let registry = Registry::parse("s1:building1,solar\r\n\ns2:ngh,ultra,sound\n").unwrap();
        let [(first, _), (second, place)] = registry.rows() else { panic!("{registry:?}") };
        assert_eq!((first.as_str(), second.as_str()), ("s1", "s2"));
        assert_eq!((&*place.location, &*place.sensor_type), ("ngh", "ultra,sound"));
        assert!(registry.known().may_contain(b"s2"));
        assert_eq!(Registry::parse("").unwrap().rows(), []);
    }

    #[track_caller]
    fn check(text: &str, code: &str) {
        assert_eq!(Registry::parse(text).unwrap_err().code(), code, "{text:?}");
    }

    #[test]
    fn wrong_files() {
        for text in ["s1", "s1:building1", ":building1,solar", "s1:,solar", "s1:a,", "s1:a\"b,c"] {
            check(text, "REGISTRY_LINE");
        }
        check(&format!("{}:a,b", "s".repeat(32)), "REGISTRY_LINE");
        check(&format!("s:{},b", "a".repeat(65)), "REGISTRY_LINE");
        check("s1:a,b\ns2:a,b\ns1:c,d", "REGISTRY_TWICE");
    }
}
