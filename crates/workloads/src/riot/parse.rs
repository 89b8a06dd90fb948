//! Parse: makes a record of each observation of a message.
//!
//! Input      `Record<Text>`, a message of [`senml`](super::senml) each, in the order of arrival
//! Output     the five observations of each message in the order of [`Kind::ALL`]; [`Reading`] leaves out missing ones
//! State      the number of messages so far
//! Emits      as records come, with the event time of the message
//! Late       late messages are parsed like others
//! Watermark  forwarded unchanged
//! Cost       one pass over the text of the message
//! Source     RIoTBench, "SenML parse"; messages are numbered by the source there

use thalweg::{KeyedProcess, ProcessContext, Record, Text};

use super::senml::{Message, message_of};
use super::sensor::{Kind, SensorId};
use super::work::Work;

/// One observation of a message: its kind and its value, which may be missing. It is the record of the dataflow `etl`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Observation {
    /// Number of the message, from 0, in the order of arrival.
    pub message: u64,
    /// The sensor that sent the message.
    pub sensor: SensorId,
    /// Longitude and latitude of the sensor.
    pub position: [f64; 2],
    /// Kind of the value.
    pub kind: Kind,
    /// The value; `None` if it is missing or was removed as invalid.
    pub value: Option<f64>,
}

/// One observation of a message whose value is not missing. It is the record of the dataflow `stats`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reading {
    /// The sensor that sent the value.
    pub sensor: SensorId,
    /// Kind of the value.
    pub kind: Kind,
    /// The value.
    pub value: f64,
}

/// A record that is made of one observation of a message.
pub trait Parsed: Sized + Send + 'static {
    /// Returns the record of the observation of this kind in the message with the number `number`; `None` if there is
    /// none.
    fn of(number: u64, message: &Message, kind: Kind) -> Option<Self>;
}

impl Parsed for Observation {
    fn of(number: u64, message: &Message, kind: Kind) -> Option<Self> {
        let Message { sensor, longitude, latitude, values } = *message;
        let position = [longitude, latitude];
        Some(Observation { message: number, sensor, position, kind, value: values[kind.index()] })
    }
}

impl Parsed for Reading {
    fn of(_number: u64, message: &Message, kind: Kind) -> Option<Self> {
        message.values[kind.index()].map(|value| Reading { sensor: message.sensor, kind, value })
    }
}

/// The operator that parses messages. All messages have one key, so that they are numbered together. A text that is no
/// message makes no record and gets no number; sources refuse such lines.
#[derive(Clone, Copy, Debug)]
pub struct Parse<T> {
    work: Work,
    parsed: std::marker::PhantomData<fn() -> T>,
}

impl<T> Parse<T> {
    /// Creates the operator, which spends `work` on each message in addition to parsing it.
    pub fn new(work: Work) -> Self {
        Parse { work, parsed: std::marker::PhantomData }
    }
}

impl<T: Parsed> KeyedProcess<(), Text> for Parse<T> {
    /// Number of messages so far.
    type State = u64;
    type Out = T;

    fn on_record(&self, _: &(), record: Record<Text>, context: &mut ProcessContext<'_, (), u64, T>) {
        self.work.spend();
        let Ok(message) = message_of(record.value.as_str()) else { return };
        let number = *context.state();
        *context.state() += 1;
        Kind::ALL
            .iter()
            .filter_map(|kind| T::of(number, &message, *kind))
            .for_each(|value| context.emit(value));
    }
}
