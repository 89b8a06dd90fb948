//! Event times of the records of a load, for checks of a run's results.

use thalweg_model::{EventTime, ProcessingTime};

use super::course::{Course, Times, Walk};
use super::load::{Load, LoadError};

/// Computes the event times of a load's records, which must be asked for by rising index.
#[derive(Clone, Debug)]
pub struct Stamps {
    walk: Walk,
    start: ProcessingTime,
}

impl Stamps {
    /// Creates the event times of a load that begins at `start`, at the given rate.
    ///
    /// # Errors
    /// [`LoadError`] if the load is invalid.
    pub fn new(load: &Load, rate_per_s: u64, start: ProcessingTime) -> Result<Self, LoadError> {
        load.check(rate_per_s)?;
        Ok(Stamps { walk: Walk::new(&Course::new(load, rate_per_s)), start })
    }

    /// Returns the event time of the record at `index`: the time at which its message is due to be sent, truncated to
    /// microseconds. It costs a step for each message since the last call.
    ///
    /// # Panics
    /// If a later record was asked for before.
    pub fn at(&mut self, index: u64) -> EventTime {
        assert!(self.walk.index() <= index, "stamps are asked for by rising index");
        self.walk.pass(index - self.walk.index());
        stamp(self.start, self.walk.times())
    }
}

/// Returns the event time of a record: the time at which its sender sends it, which is `sent_ns` of `times` after
/// `start`, the start of the load, rounded down to a microsecond.
pub(super) fn stamp(start: ProcessingTime, times: Times) -> EventTime {
    let micros = start.plus_nanos(times.sent_ns).as_nanos() / 1_000;
    EventTime::from_micros(i64::try_from(micros).expect("a thousandth of 64 bits fits 63 bits"))
}
