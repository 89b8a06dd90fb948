//! Lateness: which records of an operator are late, and rules for what the operator does with late values.

use thalweg_model::{Either, EventTime, Mark, StateError, StateReader, StateWriter};

/// The watermarks that decide whether a record is late.
///
/// The watermark of the record's own input decides, which may be ahead of the operator's watermark. So the decision
/// does not depend on how inputs interleave (rule O5 of [`thalweg_model::operator`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lateness {
    /// The operator's watermark, which is the least of its inputs' watermarks.
    watermark: EventTime,
    /// The watermark of the input that the next records come from, if the engine has passed it to the
    /// operator as a mark; otherwise [`EventTime::MIN`].
    input: EventTime,
}

impl Lateness {
    pub(crate) fn new() -> Self {
        Lateness { watermark: EventTime::MIN, input: EventTime::MIN }
    }

    /// Processes a mark, a signal between records. Watermarks of the operator and of its inputs change which
    /// records are late; other marks change nothing.
    pub(crate) fn see(&mut self, mark: Mark) {
        match mark {
            Mark::Watermark(watermark) => {
                let last = self.watermark;
                assert!(watermark >= last, "watermarks never go back (O5): {watermark:?} after {last:?}");
                self.watermark = watermark;
            }
            Mark::InputWatermark(watermark) => self.input = watermark,
            Mark::Idle | Mark::Latency(_) | Mark::Barrier(_) | Mark::End => {}
        }
    }

    /// Returns the last watermark of the operator.
    #[inline(always)]
    pub(crate) fn watermark(&self) -> EventTime {
        self.watermark
    }

    /// Returns the watermark by which the next records are judged late. It is never below the operator's
    /// watermark.
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

/// Rule for late values of type `V` in an operator with results of type `R`. The rule is a type parameter: an
/// operator that drops late values emits plain results. An operator that diverts late values emits `Either`s,
/// whose two sides can be separated at the end of the task.
pub trait LateRule<R, V>: Send + 'static {
    /// The type that an operator with this rule for late values emits.
    type Out;

    /// Tells whether late values are emitted. If not, they are dropped.
    const DIVERTS: bool;

    /// Converts a result of the operator to its output type.
    fn result(result: R) -> Self::Out;

    /// Converts a late value to the operator's output type; the output record keeps the event time of the
    /// late one. Returns `None` if the rule drops late values.
    fn late(value: V) -> Option<Self::Out>;
}

/// The rule that counts and drops late records.
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

/// The rule that counts late records and emits them as [`Either::Right`]; results are [`Either::Left`].
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
