//! Which records are late, and what becomes of them.
//!
//! A record is judged by the watermark of the edge that it came in on (rule O5), not by the operator's own, which
//! behind several inputs is the least of them. So what a window holds when it fires depends on each input by itself,
//! not on how they interleave.

use thalweg_model::{EventTime, Mark, StateError, StateReader, StateWriter};

/// How far the inputs of an operator have come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    watermark: EventTime,
    input_watermark: EventTime,
}

impl Progress {
    /// Nothing has been promised.
    pub(crate) fn new() -> Self {
        Progress { watermark: EventTime::MIN, input_watermark: EventTime::MIN }
    }

    /// Sees a mark, of whichever kind.
    pub(crate) fn see(&mut self, mark: Mark) {
        match mark {
            Mark::Watermark(watermark) => {
                let last = self.watermark;
                assert!(watermark >= last, "watermarks never go back (O5): {watermark:?} after {last:?}");
                self.watermark = watermark;
            }
            Mark::InputWatermark(watermark) => self.input_watermark = watermark,
            Mark::Idle | Mark::Latency(_) | Mark::Barrier(_) | Mark::End => {}
        }
    }

    /// The operator's own watermark, by which windows fire.
    pub(crate) fn watermark(&self) -> EventTime {
        self.watermark
    }

    /// What the next record is late by: windows that end at or before it are closed to it.
    pub(crate) fn late_by(&self) -> EventTime {
        self.watermark.max(self.input_watermark)
    }

    pub(crate) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.watermark, self.input_watermark))
    }

    pub(crate) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        (self.watermark, self.input_watermark) = state.take()?;
        Ok(())
    }
}
