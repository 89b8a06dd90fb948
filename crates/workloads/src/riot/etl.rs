//! ETL: the observations of sensors are checked, completed, put together again, annotated and published.
//!
//! ```text
//! source -> parse -> range filter -> bloom filter -> interpolation -> join -> annotate -> csv to senml -> publish -> sink
//! ```
//!
//! | operator | does | work a record, in multiples of the cost asked for |
//! |---|---|---|
//! | parse | makes five observations of a message | 5, a message |
//! | range filter | removes values outside the range of their kind; the observation stays, without a value | 1/4 |
//! | bloom filter | drops observations of sensors which are not registered, but for 1 % of these sensors | 1/4 |
//! | interpolation | gives an observation without a value the mean of the last 5 of its sensor and kind, if any | 1/2 |
//! | join | makes a row of the five observations of a message | 1/4 |
//! | annotate | adds location and type of the sensor; drops rows of sensors which are not registered | 2, a row |
//! | csv to senml | writes the row as a message of SenML | 2, a row |
//! | publish | makes a packet of MQTT of the message | 3, a row |
//!
//! A message costs 18 times the cost asked for in all. Weights are ours: parsing is the dearest operator in figure 14 of
//! the Lachesis paper, and annotation, formatting and publication handle whole messages too.
//!
//! An observation that still has no value is left out of the published message; RIoTBench writes `null` or 0 there. The
//! packet has no receiver: the sink counts packets and keeps a digest of each, which is compared with the reference.
//!
//! Source: RIoTBench, its dataflow ETL, with the constants of CITY: window 5 of the interpolation, and ranges.

use std::fmt::Write;

use thalweg::{KeyedProcess, ProcessContext, Query, Record, Sink, Source, Text, WatermarkStrategy};

use serde::{Deserialize, Serialize};

use super::hash::hash;
use super::parse::{Observation, Parse};
use super::registry::{Place, Registry};
use super::sensor::{KIND_COUNT, Kind, SensorId};
use super::work::Work;
use crate::reference::etl::EtlRow;

/// Number of values that the interpolation keeps, and averages, for each sensor and kind of observation.
pub const INTERPOLATION_WINDOW: usize = 5;

/// Topic of published messages.
pub const TOPIC: &str = "citydata";

/// Weights of the operators of ETL: their additional CPU time for each record, in hundredths of the cost that a run
/// asks for (`--operator-cost` of `thalweg bench`).
pub mod weights {
    /// Weight of parsing a message.
    pub const PARSE: u64 = 500;
    /// Weight of the range filter.
    pub const RANGE_FILTER: u64 = 25;
    /// Weight of the Bloom filter.
    pub const BLOOM_FILTER: u64 = 25;
    /// Weight of interpolating an observation.
    pub const INTERPOLATION: u64 = 50;
    /// Weight of the join.
    pub const JOIN: u64 = 25;
    /// Weight of annotating a row.
    pub const ANNOTATE: u64 = 200;
    /// Weight of the SenML writer.
    pub const CSV_TO_SENML: u64 = 200;
    /// Weight of making a packet.
    pub const PUBLISH: u64 = 300;
}

/// Adds ETL to `query`: the packets of published messages go to `sink`. There must be exactly one split, because
/// messages are numbered in their order of arrival.
pub fn publications<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    registry: &Registry,
    work: Work,
    sink: K,
) where
    S: Source<Item = Text> + 'static,
    K: Sink<Packet> + 'static,
{
    let known = registry.known();
    let of = |weight| work.weighted(weight);
    let [range, bloom, annotate] = [weights::RANGE_FILTER, weights::BLOOM_FILTER, weights::ANNOTATE].map(of);
    let [senml, publish] = [weights::CSV_TO_SENML, weights::PUBLISH].map(of);
    query
        .splits("source", splits, strategy)
        .key_by(|_| ())
        .process(Parse::<Observation>::new(of(weights::PARSE)))
        .name("parse")
        .map(move |observation: Observation| {
            range.spend();
            in_range(observation)
        })
        .name("range filter")
        .filter(move |observation: &Observation| {
            bloom.spend();
            known.may_contain(observation.sensor.as_bytes())
        })
        .name("bloom filter")
        .key_by(|observation: &Observation| (observation.sensor, observation.kind))
        .process(Interpolation { work: of(weights::INTERPOLATION) })
        .name("interpolation")
        .key_by(|observation: &Observation| observation.message)
        .process(Join { work: of(weights::JOIN) })
        .name("join")
        .join_table(
            registry.table(),
            move |reading: &Joined| {
                annotate.spend();
                reading.sensor
            },
            |joined: Joined, place: &Place| Annotated { joined, place: place.clone() },
        )
        .name("annotate")
        .map(move |annotated: Annotated| {
            senml.spend();
            (annotated.joined.message, annotated.senml())
        })
        .name("csv to senml")
        .map(move |(message, payload): (u64, Text)| {
            publish.spend();
            Packet::new(message, payload)
        })
        .name("publish")
        .sink("sink", sink);
}

/// Range filter: removes a value outside the valid range of its kind. The observation stays, without a value.
fn in_range(observation: Observation) -> Observation {
    let (least, most) = observation.kind.range();
    Observation { value: observation.value.filter(|value| (least..=most).contains(value)), ..observation }
}

/// The last values of one sensor and kind of observation, at most [`INTERPOLATION_WINDOW`], the oldest first.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct LastValues {
    values: [f64; INTERPOLATION_WINDOW],
    count: usize,
}

impl LastValues {
    fn push(&mut self, value: f64) {
        if self.count == INTERPOLATION_WINDOW {
            self.values.rotate_left(1);
            self.count -= 1;
        }
        self.values[self.count] = value;
        self.count += 1;
    }

    /// Returns the mean of the values, summed from the oldest on; `None` if there are none.
    fn mean(&self) -> Option<f64> {
        let sum: f64 = self.values[..self.count].iter().sum();
        (self.count > 0).then(|| sum / self.count as f64)
    }
}

/// Interpolation: replaces a missing value by the mean of the last values of its sensor and kind of observation. State:
/// these values.
struct Interpolation {
    work: Work,
}

impl KeyedProcess<(SensorId, Kind), Observation> for Interpolation {
    type State = LastValues;
    type Out = Observation;

    fn on_record(
        &self,
        _: &(SensorId, Kind),
        record: Record<Observation>,
        context: &mut ProcessContext<'_, (SensorId, Kind), LastValues, Observation>,
    ) {
        self.work.spend();
        let observation = record.value;
        let value = match observation.value {
            Some(value) => {
                context.state().push(value);
                Some(value)
            }
            None => context.state().mean(),
        };
        context.emit(Observation { value, ..observation });
    }
}

/// A row: all observations of one message, joined again.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Joined {
    message: u64,
    /// Event time of the message, in milliseconds since the Unix epoch.
    time_ms: i64,
    sensor: SensorId,
    position: [f64; 2],
    values: [Option<f64>; KIND_COUNT],
}

/// Number and values of the observations of a message that have arrived at the join so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Arrived {
    count: usize,
    values: [Option<f64>; KIND_COUNT],
}

/// Join: emits a row when all observations of a message have come. State: the observations of incomplete messages.
/// There is at most one such message, since an edge keeps the order of records and the Bloom filter drops all or no
/// observations of a message.
struct Join {
    work: Work,
}

impl KeyedProcess<u64, Observation> for Join {
    type State = Arrived;
    type Out = Joined;

    fn on_record(
        &self,
        message: &u64,
        record: Record<Observation>,
        context: &mut ProcessContext<'_, u64, Arrived, Joined>,
    ) {
        self.work.spend();
        let Observation { sensor, position, kind, value, .. } = record.value;
        let arrived = context.state();
        arrived.count += 1;
        arrived.values[kind.index()] = value;
        let Arrived { count, values } = *arrived;
        if count == KIND_COUNT {
            context.clear();
            let time_ms = record.event_time.as_micros().div_euclid(1_000);
            context.emit(Joined { message: *message, time_ms, sensor, position, values });
        }
    }
}

/// The observations of one message, with the location and the type of its sensor.
#[derive(Clone, PartialEq, Debug)]
struct Annotated {
    joined: Joined,
    place: Place,
}

impl Annotated {
    /// Writes the row as a message of SenML. Nothing needs an escape, since identifiers and places have no quotes.
    fn senml(&self) -> Text {
        let Annotated {
            joined: Joined { time_ms, sensor, position: [longitude, latitude], values, .. },
            place,
        } = self;
        let mut text = String::with_capacity(512);
        let mut entry = |unit: &str, name: &str, member: &str, value: &dyn std::fmt::Display| {
            let begin = if text.is_empty() { r#"{"e":["# } else { "," };
            // Writing to a `String` does not fail.
            let _ = write!(text, r#"{begin}{{"u":"{unit}","n":"{name}","{member}":"{value}"}}"#);
        };
        entry("string", "source", "sv", &sensor.as_str());
        entry("lon", "longitude", "v", longitude);
        entry("lat", "latitude", "v", latitude);
        for (kind, value) in Kind::ALL.iter().zip(values) {
            if let Some(value) = value {
                entry(kind.unit(), kind.name(), "v", value);
            }
        }
        entry("string", "location", "sv", &place.location.as_str());
        entry("string", "type", "sv", &place.sensor_type.as_str());
        let _ = write!(text, r#"],"bt":{time_ms}}}"#);
        Text::from(text)
    }
}

/// A packet that publishes a message, as a client of MQTT would send it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Number of the message, from 0, in the order of arrival.
    pub message: u64,
    /// The message in SenML, which is the end of the packet.
    pub payload: Text,
    /// The whole packet.
    pub bytes: Box<[u8]>,
}

impl Packet {
    /// Makes the packet of a message, to be delivered at most once. Source: MQTT 3.1.1, sections 2.2.3 and 3.3.
    fn new(message: u64, payload: Text) -> Self {
        let mut bytes = Vec::with_capacity(payload.len() + TOPIC.len() + 8);
        bytes.push(0x30);
        let mut length = 2 + TOPIC.len() + payload.len();
        while length >= 128 {
            bytes.push((length % 128) as u8 | 128);
            length /= 128;
        }
        bytes.push(length as u8);
        bytes.extend_from_slice(&(TOPIC.len() as u16).to_be_bytes());
        bytes.extend_from_slice(TOPIC.as_bytes());
        bytes.extend_from_slice(payload.as_bytes());
        Packet { message, payload, bytes: bytes.into() }
    }
}

impl From<&Packet> for EtlRow {
    fn from(packet: &Packet) -> Self {
        EtlRow { message: packet.message, bytes: packet.bytes.len() as u64, digest: hash(&packet.bytes) }
    }
}

#[cfg(test)]
mod tests;
