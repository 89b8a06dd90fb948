//! Messages from a seed, distributed like 600 recorded ones of 521 sensors, and the registry of these sensors.
//!
//! Recorded values of a kind spread over sensors more than over time, so each sensor has a usual place in the
//! distribution, and its values move around it. The recording has no missing values and no unknown sensors; ours has a
//! few of both, so that all operators have something to do. Values out of range come as often as recorded: 93 % for
//! light, 12 % for dust, 16 % for air quality.

use std::fmt::Write;

use thalweg::Text;
use thalweg_model::{Entropy, SeededEntropy};

use super::registry::{Place, Registry, RegistryError};
use super::sensor::{KIND_COUNT, Kind, SensorId};
use crate::prose::TextGenerator;

/// Number of known sensors, as in the recording.
pub const SENSOR_COUNT: usize = 521;

/// Number of different messages, 7 MB of text. The sequence repeats after them.
pub const MESSAGE_COUNT: usize = 1 << 14;

/// Messages per second of event time, if the generator is read as fast as possible instead of at a rate.
pub const NOMINAL_RATE_PER_S: u64 = 1_000_000;

/// Number of sensors that send messages and are missing in the registry.
const UNKNOWN_COUNT: usize = 11;

/// Share of the observations that generated messages lack.
const MISSING_SHARE: f64 = 0.01;

/// Width of the range of quantiles in which all values of one sensor lie; 1 would be the whole distribution.
const SENSOR_WIDTH: f64 = 0.2;

/// Base time of the first message, in milliseconds since the Unix epoch, and number of messages with the same second as
/// base time: both as in the recording.
const START_MS: usize = 1_422_748_800_000;
const MESSAGES_PER_S: usize = 17;

/// Locations and types of sensors, in pairs that occur together.
const PLACES: [(&str, &str); 10] = [
    ("building1", "solar"),
    ("building2", "heat"),
    ("building3", "analog"),
    ("building4", "analog"),
    ("cds", "electronic"),
    ("ece", "digital"),
    ("nbh", "electronic"),
    ("ngh", "ultrasound"),
    ("sensa", "radar"),
    ("serc", "solar"),
];

/// The quantiles of recorded values that [`quantiles`] returns, as shares of these values.
const SHARES: [f64; 11] = [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0];

/// Returns the quantiles of the recorded values of a kind of observation, one for each share in [`SHARES`], and the
/// number of decimals of these values.
fn quantiles(kind: Kind) -> ([f64; SHARES.len()], u32) {
    match kind {
        Kind::Temperature => ([-8.0, -5.0, 3.0, 5.4, 11.7, 24.2, 28.4, 32.6, 35.2, 37.9, 38.7], 1),
        Kind::Humidity => ([12.0, 17.8, 23.0, 30.0, 38.2, 48.0, 62.3, 70.1, 74.2, 89.1, 99.9], 1),
        Kind::Light => ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 321.0, 1_088.0, 1_868.0, 4_158.0, 9_112.0], 0),
        Kind::Dust => {
            ([0.62, 0.62, 69.39, 150.37, 390.12, 786.71, 1_478.6, 2_308.03, 3_083.46, 4_543.6, 4_844.98], 2)
        }
        Kind::AirQuality => ([4.0, 10.0, 13.0, 15.0, 19.0, 24.0, 30.0, 38.0, 53.0, 142.0, 144.0], 0),
    }
}

/// A sensor of the generator: its identifier, its longitude and latitude, and for each kind of observation the quantile
/// around which its values lie, from 0 to 1.
struct Sensor {
    id: SensorId,
    position: [f64; 2],
    usual: [f64; KIND_COUNT],
}

/// Returns the registry of the sensors of a seed: all that send messages, except 11.
///
/// # Errors
/// [`RegistryError`]: never, since the identifiers are different.
pub fn registry(seed: u64) -> Result<Registry, RegistryError> {
    let known = sensors(seed).into_iter().take(SENSOR_COUNT).enumerate();
    Registry::of(
        known
            .map(|(number, sensor)| {
                let (location, sensor_type) = PLACES[number % PLACES.len()];
                (sensor.id, Place { location: Text::from(location), sensor_type: Text::from(sensor_type) })
            })
            .collect(),
    )
}

/// Returns messages that follow from a seed. Equal seeds give equal messages. Sensors are drawn evenly.
pub fn messages(seed: u64) -> TextGenerator {
    let sensors = sensors(seed);
    // Messages are drawn from another seed than sensors, so that the two are independent of each other.
    let mut entropy = SeededEntropy::new(seed ^ 0x7269_6f74);
    TextGenerator::of((0..MESSAGE_COUNT).map(|number| {
        let sensor = &sensors[entropy.below(sensors.len() as u64) as usize];
        message(sensor, START_MS + number / MESSAGES_PER_S * 1_000, &mut entropy)
    }))
}

fn sensors(seed: u64) -> Vec<Sensor> {
    let mut entropy = SeededEntropy::new(seed);
    (0..SENSOR_COUNT + UNKNOWN_COUNT)
        .map(|number| {
            let digit = |_| b"0123456789abcdefghijklmnopqrstuvwxyz"[entropy.below(36) as usize] as char;
            let letters: String = (0..22).map(digit).collect();
            // The number at the end makes all identifiers different; with it they have as many bytes as recorded ones.
            let id = SensorId::new(&format!("ci{letters}{number}")).unwrap_or(SensorId::NONE);
            let position = [(entropy.unit(), 180.0), (entropy.unit(), 60.0)]
                .map(|(share, most)| ((2.0 * share - 1.0) * most * 1e6).round() / 1e6);
            Sensor { id, position, usual: [(); KIND_COUNT].map(|()| entropy.unit()) }
        })
        .collect()
}

fn message(sensor: &Sensor, base_time_ms: usize, entropy: &mut SeededEntropy) -> String {
    let Sensor { id, position: [longitude, latitude], usual } = sensor;
    let mut text = format!(
        r#"{{"e":[{{"u":"string","n":"source","sv":"{}"}},{{"v":"{longitude}","u":"lon","n":"longitude"}},{{"v":"{latitude}","u":"lat","n":"latitude"}}"#,
        id.as_str()
    );
    for kind in Kind::ALL {
        // Both random numbers are drawn even for a missing value, so that all other values are the same at any share of
        // missing ones.
        let (is_missing, drawn) = (entropy.unit() < MISSING_SHARE, entropy.unit());
        let value = value_at(kind, around(usual[kind.index()], drawn));
        if !is_missing {
            let (name, unit) = (kind.name(), kind.unit());
            // Writing to a `String` does not fail.
            let _ = write!(text, r#",{{"v":"{value}","u":"{unit}","n":"{name}"}}"#);
        }
    }
    let _ = write!(text, r#"],"bt":{base_time_ms}}}"#);
    text
}

/// Returns a quantile near the one around which a sensor's values lie; `drawn`, from 0 to 1, is its place in the range
/// of [`SENSOR_WIDTH`]. A quantile below 0 or above 1 is reflected there, so that the quantiles of all sensors together
/// stay evenly distributed.
fn around(usual: f64, drawn: f64) -> f64 {
    let place = (usual + SENSOR_WIDTH * (drawn - 0.5)).abs();
    if place <= 1.0 { place } else { 2.0 - place }
}

/// Returns the value of a kind that this share of recorded values does not exceed, interpolated between quantiles and
/// rounded like recorded values.
fn value_at(kind: Kind, share: f64) -> f64 {
    let (values, decimals) = quantiles(kind);
    let behind = SHARES.partition_point(|quantile| *quantile <= share).clamp(1, SHARES.len() - 1);
    let (low, high) = (values[behind - 1], values[behind]);
    let value = low + (high - low) * (share - SHARES[behind - 1]) / (SHARES[behind] - SHARES[behind - 1]);
    let scale = f64::from(10_u32.pow(decimals));
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riot::senml::{Message, message_of};

    fn parsed(seed: u64) -> Vec<Message> {
        messages(seed).texts().iter().map(|text| message_of(text).unwrap()).collect()
    }

    #[test]
    fn messages_follow_from_the_seed() {
        assert!(parsed(3) == parsed(3) && parsed(3) != parsed(4));
        let messages = messages(3);
        let bytes: usize = messages.texts().iter().map(|text| text.len()).sum();
        assert!((360..400).contains(&(bytes / messages.texts().len())), "recorded messages have 367 bytes");
        assert_eq!(registry(3).unwrap().rows().len(), 521);
    }

    /// Shares of values in range, of missing values and of unknown sensors.
    #[test]
    fn values_are_distributed_as_recorded() {
        let (messages, registry) = (parsed(1), registry(1).unwrap());
        let share = |of: &dyn Fn(&Message) -> bool| {
            100 * messages.iter().filter(|message| of(message)).count() / messages.len()
        };
        let valid = Kind::ALL.map(|kind| {
            let (least, most) = kind.range();
            share(&|message| message.values[kind.index()].is_none_or(|value| (least..=most).contains(&value)))
        });
        for (found, recorded) in valid.into_iter().zip([100, 99, 8, 88, 84]) {
            assert!(found.abs_diff(recorded) <= 6, "{valid:?}");
        }
        assert!((3..=6).contains(&share(&|message| message.values.contains(&None))));
        let known = |message: &Message| registry.rows().iter().any(|(sensor, _)| *sensor == message.sensor);
        assert!((97..=98).contains(&share(&known)));
    }
}
