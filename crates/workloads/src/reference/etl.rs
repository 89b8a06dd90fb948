//! Reference results of ETL: which packets are published for some messages.
//!
//! The rules: messages are numbered from 0 in their order. A value outside the range of its field is removed. Messages
//! of sensors without a place are dropped. A value that is missing or was removed becomes the mean of the last five
//! values of the sensor and field that were neither missing nor removed, if there were any. The message is published
//! with the values that it then has, and with the place of its sensor, as SenML in a packet of MQTT 3.1.1 for the topic
//! `citydata`.

use std::collections::HashMap;

use super::Row;
use super::riot::{Content, FIELDS, MessageInput, content_of};

/// Least and greatest value of each field, from the CITY constants of RIoTBench.
const RANGES: [[f64; 2]; 5] =
    [[-12.5, 43.1], [10.7, 95.2], [1_345.0, 26_282.0], [186.61, 5_188.21], [17.0, 363.0]];

/// One row of the results of ETL: a published packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EtlRow {
    /// Number of the message, from 0, in the order of arrival.
    pub message: u64,
    /// Length of the packet in bytes.
    pub bytes: u64,
    /// Digest of all bytes of the packet: FNV-1a, mixed by SplitMix64.
    pub digest: u64,
}

impl Row for EtlRow {
    type Key = u64;

    fn key(&self) -> u64 {
        self.message
    }
}

/// The place of a sensor: its identifier, its location and its type.
pub type PlaceRow = (String, String, String);

/// Returns the places in the text of a file with lines `identifier:location,type`.
pub fn places_of_lines(text: &str) -> Vec<PlaceRow> {
    let row = |line: &str| {
        let colon = line.find(':')?;
        let comma = colon + line[colon..].find(',')?;
        Some((line[..colon].to_owned(), line[colon + 1..comma].to_owned(), line[comma + 1..].to_owned()))
    };
    text.lines().filter_map(row).collect()
}

/// Returns the results of ETL for messages in their order of arrival, ordered by message. `texts` has the different
/// texts of messages. A text that is no message is skipped and not numbered.
pub fn etl_rows(
    inputs: impl Iterator<Item = MessageInput>,
    texts: &[&str],
    places: &[PlaceRow],
) -> Vec<EtlRow> {
    let places: HashMap<&str, &PlaceRow> = places.iter().map(|place| (place.0.as_str(), place)).collect();
    let mut contents: HashMap<usize, Option<Content>> = HashMap::new();
    let mut last: HashMap<(String, usize), Vec<f64>> = HashMap::new();
    let (mut rows, mut number) = (Vec::new(), 0);
    for MessageInput { event_time_us, text } in inputs {
        let Some(content) = contents.entry(text).or_insert_with(|| content_of(texts[text])) else { continue };
        let message = number;
        number += 1;
        let Some((_, location, sensor_type)) = places.get(content.sensor.as_str()) else { continue };
        let mut entries = vec![
            format!(r#"{{"u":"string","n":"source","sv":"{}"}}"#, content.sensor),
            format!(r#"{{"u":"lon","n":"longitude","v":"{}"}}"#, content.longitude),
            format!(r#"{{"u":"lat","n":"latitude","v":"{}"}}"#, content.latitude),
        ];
        for (field, name) in FIELDS.iter().enumerate() {
            let [least, most] = RANGES[field];
            let before = last.entry((content.sensor.clone(), field)).or_default();
            let value = match content.values[field] {
                Some(value) if least <= value && value <= most => {
                    before.push(value);
                    Some(value)
                }
                _ if before.is_empty() => None,
                _ => {
                    let of_window = &before[before.len().saturating_sub(5)..];
                    Some(of_window.iter().sum::<f64>() / of_window.len() as f64)
                }
            };
            let unit = if field == 0 { "far" } else { "per" };
            if let Some(value) = value {
                entries.push(format!(r#"{{"u":"{unit}","n":"{name}","v":"{value}"}}"#));
            }
            // Only the last five values are read again, so older ones are dropped now and then.
            if before.len() > 1_000 {
                before.drain(..before.len() - 5);
            }
        }
        entries.push(format!(r#"{{"u":"string","n":"location","sv":"{location}"}}"#));
        entries.push(format!(r#"{{"u":"string","n":"type","sv":"{sensor_type}"}}"#));
        let time_ms = event_time_us.div_euclid(1_000);
        let payload = format!(r#"{{"e":[{}],"bt":{time_ms}}}"#, entries.join(","));
        let packet = packet(&payload);
        rows.push(EtlRow { message, bytes: packet.len() as u64, digest: digest(&packet) });
    }
    rows
}

/// Returns the packet for a payload of fewer than 2,000,000 bytes: kind, length in groups of seven bits with the lowest
/// first, length of the topic, topic, payload.
fn packet(payload: &str) -> Vec<u8> {
    let rest = [&[0, 8][..], b"citydata", payload.as_bytes()].concat();
    let groups = [rest.len() & 127, rest.len() >> 7 & 127, rest.len() >> 14];
    let length: Vec<u8> = match groups {
        [low, 0, 0] => vec![low as u8],
        [low, middle, 0] => vec![low as u8 + 128, middle as u8],
        [low, middle, high] => vec![low as u8 + 128, middle as u8 + 128, high as u8],
    };
    [&[48][..], &length, &rest].concat()
}

/// Returns the 64-bit FNV-1a hash of the bytes, mixed by the last steps of SplitMix64.
fn digest(bytes: &[u8]) -> u64 {
    let mut state = 14_695_981_039_346_656_037_u64;
    for byte in bytes {
        state ^= u64::from(*byte);
        state = state.wrapping_mul(1_099_511_628_211);
    }
    for (shift, factor) in [(30, 13_787_848_793_156_543_929_u64), (27, 10_723_151_780_598_845_931)] {
        state ^= state >> shift;
        state = state.wrapping_mul(factor);
    }
    state ^ state >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published packets by hand: the message's number, and the length of its packet.
    #[test]
    fn packets_are_published() {
        let text = |sensor: &str, dust: &str| {
            format!(
                r#"{{"e":[{{"n":"source","sv":"{sensor}"}},{{"n":"longitude","v":"1"}},{{"n":"latitude","v":"2"}},{{"n":"dust","v":"{dust}"}}],"bt":5}}"#
            )
        };
        let texts = [text("s1", "200"), text("s2", "200"), "no message".to_owned(), text("s1", "5")];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let places = places_of_lines("s1:here,there\n\n");
        let inputs = [0, 1, 2, 3].map(|text| MessageInput { event_time_us: 5_000, text });
        let payload = r#"{"e":[{"u":"string","n":"source","sv":"s1"},{"u":"lon","n":"longitude","v":"1"},{"u":"lat","n":"latitude","v":"2"},{"u":"per","n":"dust","v":"200"},{"u":"string","n":"location","sv":"here"},{"u":"string","n":"type","sv":"there"}],"bt":5}"#;
        let row = |message| {
            let bytes = [b"0\xf7\x01\0\x08citydata", payload.as_bytes()].concat();
            assert_eq!(payload.len() + 10, 0x77 + 128);
            EtlRow { message, bytes: bytes.len() as u64, digest: digest(&bytes) }
        };
        // The value 5 is out of range, and 200 was the only one before.
        assert_eq!(etl_rows(inputs.into_iter(), &texts, &places), [row(0), row(2)]);
    }

    #[test]
    fn lengths_have_groups_of_seven_bits() {
        let head = |length: usize| packet(&"x".repeat(length))[..4].to_vec();
        assert_eq!(head(117), [48, 127, 0, 8]);
        assert_eq!(head(118), [48, 128, 1, 0]);
        assert_eq!(head(16_374), [48, 128, 128, 1]);
    }
}
