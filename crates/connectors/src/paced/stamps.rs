//! The time stamps of a load, for whoever checks what became of its records.

use thalweg_model::{EventTime, ProcessingTime};

use super::course::{Course, Times, Walk};
use super::load::{Load, LoadError};

/// When the records of a load happened, one after the other.
#[derive(Clone, Debug)]
pub struct Stamps {
    walk: Walk,
    start: ProcessingTime,
}

impl Stamps {
    /// Of a load that begins at `start`, at this rate.
    ///
    /// # Errors
    /// [`LoadError`] if there can be no such load.
    pub fn new(load: &Load, rate_per_s: u64, start: ProcessingTime) -> Result<Self, LoadError> {
        load.check(rate_per_s)?;
        Ok(Stamps { walk: Walk::new(&Course::new(load, rate_per_s)), start })
    }

    /// When the record at `index` happened: its message is to be sent then, cut to microseconds. A step for each message
    /// since the record that was asked for before.
    ///
    /// # Panics
    /// If a record behind it was asked for before.
    pub fn at(&mut self, index: u64) -> EventTime {
        assert!(self.walk.index() <= index, "stamps are asked for by rising index");
        self.walk.pass(index - self.walk.index());
        stamp(self.start, self.walk.times())
    }
}

/// The event time of a record that is to be sent so long after the start.
pub(super) fn stamp(start: ProcessingTime, times: Times) -> EventTime {
    let micros = start.plus_nanos(times.sent_ns).as_nanos() / 1_000;
    EventTime::from_micros(i64::try_from(micros).expect("a thousandth of 64 bits fits 63 bits"))
}
