//! Late records: what makes a record late, and what becomes of one that is.

use thalweg_model::{Either, EventTime, Mark, StateError, StateReader, StateWriter};

/// The watermarks that records are judged by.
///
/// A record is judged by the watermark of the input that it came in on, which may be ahead of the operator's own, so that
/// what counts does not depend on how inputs interleave (rule O5 of [`thalweg_model::operator`]).
#[derive(Clone, Copy, Debug)]
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

    /// Sees a mark, of whichever kind.
    pub(crate) fn see(&mut self, mark: Mark) {
        match mark {
            Mark::Watermark(watermark) => self.on_watermark(watermark),
            Mark::InputWatermark(watermark) => self.on_input_watermark(watermark),
            Mark::Idle | Mark::Latency(_) | Mark::Barrier(_) | Mark::End => {}
        }
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
    #[inline(always)]
    pub(crate) fn watermark(&self) -> EventTime {
        self.watermark
    }

    /// What the next records are late by: never before the watermark.
    #[inline(always)]
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

/// What an operator with results of type `R` does with late values of type `V`: a type, so that an operator that drops
/// them emits plain results, and one that diverts them `Either`s, whose two sides can part at the end of the task.
pub trait LateRule<R, V>: Send + 'static {
    /// What it emits.
    type Out;

    /// Whether late values are handed on as they come.
    const DIVERTS: bool;

    /// A result, as it is emitted.
    fn result(result: R) -> Self::Out;

    /// What is emitted for a late value, stamped with its own event time; none if it is dropped.
    fn late(value: V) -> Option<Self::Out>;
}

/// Late records are counted and dropped.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropLate;

impl<R, V> LateRule<R, V> for DropLate {
    type Out = R;

    const DIVERTS: bool = false;

    #[inline(always)]
    fn result(result: R) -> R {
        result
    }

    #[inline(always)]
    fn late(_value: V) -> Option<R> {
        None
    }
}

/// Late records are counted and handed on, as [`Either::Right`]; results are [`Either::Left`].
#[derive(Clone, Copy, Debug, Default)]
pub struct DivertLate;

impl<R, V> LateRule<R, V> for DivertLate {
    type Out = Either<R, V>;

    const DIVERTS: bool = true;

    #[inline(always)]
    fn result(result: R) -> Either<R, V> {
        Either::Left(result)
    }

    #[inline(always)]
    fn late(value: V) -> Option<Either<R, V>> {
        Some(Either::Right(value))
    }
}
