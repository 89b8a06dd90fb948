//! Sensors and the kinds of observations that they make.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Length in bytes of the longest identifier of a sensor. Recorded ones have at most 28.
pub const SENSOR_BYTES_MAX: usize = 31;

/// Number of kinds of observations in a message.
pub const KIND_COUNT: usize = 5;

/// The identifier of a sensor: text of 1 to [`SENSOR_BYTES_MAX`] bytes, kept in place, so that records are plain data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SensorId {
    /// Bytes of the identifier, followed by zeros to the end of the array.
    bytes: [u8; SENSOR_BYTES_MAX],
    length: u8,
}

impl SensorId {
    /// Stands for no sensor in particular: the identifier is empty.
    pub const NONE: SensorId = SensorId { bytes: [0; SENSOR_BYTES_MAX], length: 0 };

    /// Creates an identifier. Returns `None` if it is empty or longer than [`SENSOR_BYTES_MAX`] bytes, or has a quote, a
    /// backslash or a control character, which would have to be escaped in a message.
    pub fn new(text: &str) -> Option<Self> {
        let is_plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
        if text.is_empty() || !text.as_bytes().iter().all(is_plain) {
            return None;
        }
        let mut bytes = [0; SENSOR_BYTES_MAX];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(SensorId { bytes, length: u8::try_from(text.len()).ok()? })
    }

    /// Returns the bytes of the identifier.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Returns the text of the identifier.
    pub fn as_str(&self) -> &str {
        // The bytes are valid UTF-8, so the default is never used.
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

impl fmt::Debug for SensorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// A kind of observation. The order is that of the fields of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// Temperature of the air, in degrees Celsius by its values; recorded messages call the unit `far`.
    Temperature,
    /// Relative humidity in percent.
    Humidity,
    /// Brightness, in the sensor's unit.
    Light,
    /// Particles in the air, in the sensor's unit.
    Dust,
    /// Pollution of the air, in the sensor's unit.
    AirQuality,
}

impl Kind {
    /// All kinds of observations, in the order of the fields of a message.
    pub const ALL: [Kind; KIND_COUNT] =
        [Kind::Temperature, Kind::Humidity, Kind::Light, Kind::Dust, Kind::AirQuality];

    /// Returns the name of the field in a message.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Temperature => "temperature",
            Kind::Humidity => "humidity",
            Kind::Light => "light",
            Kind::Dust => "dust",
            Kind::AirQuality => "airquality_raw",
        }
    }

    /// Returns the name of the unit in a message.
    pub const fn unit(self) -> &'static str {
        match self {
            Kind::Temperature => "far",
            Kind::Humidity | Kind::Light | Kind::Dust | Kind::AirQuality => "per",
        }
    }

    /// Returns the least and the greatest valid value. Source: the CITY constants of RIoTBench.
    pub const fn range(self) -> (f64, f64) {
        match self {
            Kind::Temperature => (-12.5, 43.1),
            Kind::Humidity => (10.7, 95.2),
            Kind::Light => (1_345.0, 26_282.0),
            Kind::Dust => (186.61, 5_188.21),
            Kind::AirQuality => (17.0, 363.0),
        }
    }

    /// Returns the index of the kind among [`ALL`](Kind::ALL).
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_kept_in_place() {
        let longest = "x".repeat(SENSOR_BYTES_MAX);
        for text in ["s", "ci4lr75sl000802ypo4qrcjda23", "ñandú", &longest] {
            let sensor = SensorId::new(text).unwrap();
            assert_eq!((sensor.as_str(), sensor.as_bytes()), (text, text.as_bytes()));
        }
        for text in ["", &format!("{longest}x"), "a\"b", "a\\b", "a\tb"] {
            assert_eq!(SensorId::new(text), None, "{text:?}");
        }
        assert!(SensorId::new("a") < SensorId::new("b"));
        assert_eq!(SensorId::NONE.as_str(), "");
    }

    #[test]
    fn kinds_have_their_index() {
        assert!(Kind::ALL.iter().enumerate().all(|(index, kind)| kind.index() == index));
    }
}
