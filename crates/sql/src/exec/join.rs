//! Joins over batches, and what makes operators of the engine of them.
//!
//! Both inputs are one stream of [`Either`]: so watermarks come as the lesser of both, and by which watermark the rows of
//! one side are late is told by the marks of that side. What each kind of join does with rows, watermarks and time stands at
//! the head of its file:
//!
//! | file | rows wait for each other |
//! |---|---|
//! | [`window`] | until their window ends |
//! | [`interval`] | until nobody can come any more who is near enough in time |
//! | [`temporal`] | until the version that is valid at their time is known |
//! | [`lookup`] | until the other table has been read whole |
//! | [`regular`] | for a time to live |
//!
//! Watermarks go on behind what they made come out, held back by how far behind them rows may come out
//! ([`JoinOperator::hold`]). Watermarks of single inputs end here.

use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use thalweg_model::{
    Allowance, Counts, Either, EventTime, Flow, Horizon, Input, Mark, Operator, Output, Record, Span,
    StateError, StateReader, StateWriter, Weighed,
};

use super::emission::{Emission, together};
use super::operator::Outcome;
use crate::batch::Batch;
use crate::functions::{Context, EvaluationError};
use crate::plan::{Column, Counted, Join, JoinMethod};

pub mod interval;
pub mod lookup;
mod met;
pub mod regular;
mod shape;
mod shelf;
mod table;
pub mod temporal;
#[cfg(test)]
mod tests;
pub mod window;

use shape::Shape;

/// Which input something belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The first.
    Left,
    /// The second.
    Right,
}

impl Side {
    /// Both.
    pub const BOTH: [Side; 2] = [Side::Left, Side::Right];

    /// The other one.
    pub fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }

    /// Where what belongs to it stands in a pair.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A join over batches. As of [`BatchOperator`](super::operator::BatchOperator), what a call makes is asked for piece by
/// piece before the next call.
pub trait JoinOperator: Send {
    /// Its name, for people.
    fn name(&self) -> &str;

    /// Takes a batch of one side, of which rows are late by `late_by`: later ones of that side have event times at or above
    /// it.
    ///
    /// # Errors
    /// [`EvaluationError`] if a row has no result, or rows are taken back of which that is not understood.
    fn take(&mut self, side: Side, batch: Batch, late_by: EventTime) -> Outcome<()>;

    /// Sees the lesser watermark of both sides.
    ///
    /// # Errors
    /// [`EvaluationError`] if something that comes out has no result.
    fn advance(&mut self, watermark: EventTime) -> Outcome<()>;

    /// The next batch of what the last call made; none if that was all.
    ///
    /// # Errors
    /// [`EvaluationError`] if there is none because it has no result.
    fn next(&mut self) -> Outcome<Option<Batch>>;

    /// How far rows that come out may lie behind the watermark.
    fn hold(&self) -> Span {
        Span::ZERO
    }

    /// Whether rows wait here whatever the watermark is, so that none may pass them.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Which watermarks make a difference to it.
    fn horizon(&self) -> Horizon {
        Horizon::EVERYWHERE
    }

    /// Rows so far, by what became of them.
    fn counts(&self) -> Counts;

    /// Bytes of what it remembers.
    fn state_bytes(&self) -> usize;

    /// Before the first batch: takes the allowance that its state is paid from.
    fn fund(&mut self, allowance: &Allowance);

    /// Writes down all state; nothing waits to come out.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Replaces all state by what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;
}

/// The operator of a join of inputs with the columns `left` and `right`, whose results have `columns`.
/// `right_sources` says how many sources the right input is read by: a join that reads it whole waits for all of them, and of
/// several none comes first.
///
/// # Errors
/// [`EvaluationError`] if a key is of a type that cannot be one.
pub fn operator(
    join: &Join,
    left: &[Column],
    right: &[Column],
    columns: &[Column],
    right_sources: usize,
    context: &Context,
) -> Outcome<Box<dyn JoinOperator>> {
    let shape = Shape::new(join, left, right, columns);
    Ok(match join.method {
        JoinMethod::Window { left, right, is_local } => {
            Box::new(window::WindowJoin::new(shape, [left, right], is_local.then_some(context.zone)))
        }
        JoinMethod::Interval { left_time, right_time, lower_ms, upper_ms } => {
            let bounds = interval::Bounds { lower_ms, upper_ms };
            Box::new(interval::IntervalJoin::new(shape, [left_time, right_time], bounds)?)
        }
        JoinMethod::Temporal { left_time, right_time, counts, ttl_ms } => {
            // Which of the rows of several readers comes first is chance.
            let is_single = right_sources == 1;
            let counts = match counts {
                Counted::InOrder if !is_single => Counted::All,
                counts => counts,
            };
            let met = match ttl_ms {
                Some(ttl_ms) => Some(met::Met::new(ttl_ms, Arc::clone(&context.clock), &shape.inputs[0])?),
                None => None,
            };
            Box::new(temporal::TemporalJoin::new(shape, [left_time, right_time], counts, is_single, met)?)
        }
        JoinMethod::Lookup => Box::new(lookup::LookupJoin::new(shape, right_sources)),
        JoinMethod::Regular { ttl_ms } => {
            Box::new(regular::RegularJoin::new(shape, ttl_ms, Arc::clone(&context.clock))?)
        }
    })
}

/// What state costs, and where that is paid from.
#[derive(Default)]
struct Funds {
    allowance: Allowance,
    bytes: usize,
}

impl Funds {
    /// From here on so many bytes are held. A refusal ends the query, so nothing is to be done about it here.
    fn hold(&mut self, bytes: usize) {
        if bytes > self.bytes {
            let _ = self.allowance.ask(bytes - self.bytes);
        }
        self.bytes = bytes;
    }
}

/// Rows are taken back where a join does not understand that; plans with such inputs are refused, so this is for others.
fn refuse_changes(join: &str, batch: &Batch) -> Outcome<()> {
    match &batch.kinds {
        Some(kinds) if kinds.iter().any(|kind| *kind != crate::formats::RowKind::Insert) => {
            let message = format!(
                "{join} takes rows that only come, and one was taken back: aggregate by window first"
            );
            Err(EvaluationError { code: "UNSUPPORTED", message })
        }
        _ => Ok(()),
    }
}

/// A join as an operator of the engine.
pub struct JoinStage {
    inner: Box<dyn JoinOperator>,
    emission: Emission,
}

impl JoinStage {
    /// Runs a join.
    pub fn new(inner: Box<dyn JoinOperator>) -> Self {
        JoinStage { emission: Emission::new(inner.name()), inner }
    }

    /// Pushes what there is while there is room.
    fn drain<O: Output<Batch>>(&mut self, output: &mut O) -> Flow {
        self.emission.drain(|| self.inner.next(), output)
    }

    fn take(&mut self, event_time: EventTime, side: Side, batch: Batch) {
        if let Some(batch) = self.emission.admit(event_time, batch) {
            self.emission.note(self.inner.take(side, batch, self.emission.late_by()));
        }
    }
}

fn of_either(value: Either<Batch, Batch>) -> (Side, Batch) {
    match value {
        Either::Left(batch) => (Side::Left, batch),
        Either::Right(batch) => (Side::Right, batch),
    }
}

/// The batch, if it is of that side.
fn of_side(value: &Either<Batch, Batch>, side: Side) -> Option<&Batch> {
    match (value, side) {
        (Either::Left(batch), Side::Left) | (Either::Right(batch), Side::Right) => Some(batch),
        _ => None,
    }
}

impl Operator<Either<Batch, Batch>> for JoinStage {
    type Out = Batch;

    const EXPANDS: bool = true;

    fn horizon(&self) -> Horizon {
        self.inner.horizon()
    }

    fn process<I: Input<Either<Batch, Batch>>, O: Output<Batch>>(&mut self, input: &mut I, output: &mut O) {
        while self.drain(output) == Flow::Done && input.remaining() > 0 && output.room() > 0 {
            let Some(first) = input.take() else { break };
            let (side, batch) = of_either(first.value);
            let first = Record::new(first.event_time, batch);
            match together(input, first, |next| of_side(next, side), |next| of_either(next).1) {
                (event_time, Ok(batch)) => self.take(event_time, side, batch),
                (_, Err(error)) => self.emission.fail(error),
            }
        }
    }

    fn process_one<O: Output<Batch>>(&mut self, record: Record<Either<Batch, Batch>>, output: &mut O) {
        let (side, batch) = of_either(record.value);
        self.take(record.event_time, side, batch);
        // What finds no room is held, and said to be (O3).
        let _ = self.drain(output);
    }

    /// Rows are counted by the join itself.
    fn note_read(&mut self, _count: u64) {}

    fn on_mark<O: Output<Batch>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        // A query that is stopped at its watermark ends without a last one. A lookup join whose table is not whole is given the
        // last watermark, so that it fails instead of losing the rows that wait.
        let is_last = mark == Mark::End && self.inner.is_waiting();
        let mark = if is_last { Mark::Watermark(EventTime::MAX) } else { mark };
        if let Some(watermark) = self.emission.watermark(mark) {
            self.emission.note(self.inner.advance(watermark));
        }
        self.drain(output)
    }

    fn is_stalled(&self) -> bool {
        self.emission.is_stalled()
    }

    fn resume<O: Output<Batch>>(&mut self, output: &mut O) -> Flow {
        self.drain(output)
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        match mark {
            Mark::Watermark(EventTime::MAX) => Some(mark),
            Mark::Watermark(_) if self.inner.is_waiting() => None,
            Mark::Watermark(watermark) => Some(Mark::Watermark(watermark.minus(self.inner.hold()))),
            Mark::InputWatermark(_) => None,
            mark => Some(mark),
        }
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.emission.fund(allowance);
        self.inner.fund(allowance);
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each(self.inner.name(), self.inner.counts());
    }

    fn weighed(&self) -> Option<Weighed> {
        Some(self.emission.weighed())
    }

    fn state_bytes(&self) -> usize {
        self.inner.state_bytes()
    }

    /// Whose code ran is told by what stands around it.
    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        assert!(!self.is_stalled(), "state is saved when all that is emitted is through (O3, O4)");
        self.emission.save(state)?;
        self.inner.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.emission.load(state)?;
        self.inner.load(state)
    }
}

/// No rows of a schema.
fn nothing(schema: &Arc<Schema>) -> RecordBatch {
    RecordBatch::new_empty(Arc::clone(schema))
}
