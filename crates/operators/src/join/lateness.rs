//! Which records are late: what the marks of a join's inputs have said so far.
//!
//! A record is judged by the watermark of the input it came in on, which may be ahead of the join's own, so that
//! what counts does not depend on how the inputs interleave (`thalweg_model::operator`, rule O5).

use thalweg_model::{EventTime, StateError, StateReader, StateWriter};

/// The watermarks that records are judged by.
#[derive(Debug)]
pub(crate) struct Lateness {
    /// The operator's: the least of its inputs'.
    watermark: EventTime,
    /// That of the input which the next records come from, if it was said.
    input: EventTime,
}

impl Lateness {
    pub(crate) fn new() -> Self {
        Lateness { watermark: EventTime::MIN, input: EventTime::MIN }
    }

    pub(crate) fn on_watermark(&mut self, watermark: EventTime) {
        let last = self.watermark;
        assert!(watermark >= last, "watermarks never go back (O5): {watermark:?} after {last:?}");
        self.watermark = watermark;
    }

    pub(crate) fn on_input_watermark(&mut self, watermark: EventTime) {
        self.input = watermark;
    }

    /// The last watermark.
    pub(crate) fn watermark(&self) -> EventTime {
        self.watermark
    }

    /// What the next records are late by: never below the watermark, so what they are on time for is still there.
    pub(crate) fn late_by(&self) -> EventTime {
        self.watermark.max(self.input)
    }

    pub(crate) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.watermark, self.input))
    }

    pub(crate) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        (self.watermark, self.input) = state.take()?;
        Ok(())
    }
}
