//! Joins over batches, and the stage that makes them operators of the engine.
//!
//! Both inputs are merged into one stream of [`Either`], whose watermark is the lesser of theirs. The stream
//! also carries the watermark of each input ([`Mark::InputWatermark`]), by which rows of this input are late.
//! The head of each file tells what its kind of join does with rows, watermarks and time:
//!
//! | file | rows wait for each other |
//! |---|---|
//! | [`window`] | until their window ends |
//! | [`interval`] | until the watermark rules out a match in time |
//! | [`temporal`] | until the version valid at their time is known |
//! | [`lookup`] | until the other table has been read whole |
//! | [`regular`] | for a time to live |
//!
//! A watermark is forwarded after the output that it caused, lowered by the greatest distance at which the
//! event time of an output row may be below it ([`JoinOperator::hold`]). Watermarks of single inputs are not
//! forwarded.

use std::marker::PhantomData;
use std::sync::Arc;

use thalweg_model::{
    Allowance, Counts, Either, EventTime, Flow, Horizon, Input, Keys, Mark, Operator, Output, Record,
    Sharing, Span, StateError, StateReader, StateWriter, Weighed,
};
use thalweg_sql_functions::functions::{Context, EvaluationError};
use thalweg_sql_functions::user::Watch;
use thalweg_sql_tables::batch::Batch;

use super::accounts::Accounts;
use super::emission::{Emission, together};
use super::exchange::{JoinKeys, RowKeys};
use super::operator::{ByKey, InTurn, Make, Outcome, STATE_VERSION, Way};
use super::renewal::{Renewal, moved};
use crate::plan::{Column, Counted, Join, JoinMethod};

pub mod interval;
pub mod lookup;
mod met;
mod records;
pub mod regular;
mod row_store;
mod shape;
mod table;
pub mod temporal;
#[cfg(test)]
mod tests;
mod timed;
pub mod window;

use shape::Shape;
use thalweg_sql_formats::RowKind;

/// One of the two inputs of a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The left input of the join, which is the first of its inputs.
    Left,
    /// The right input of the join, which is the second of its inputs.
    Right,
}

impl Side {
    /// Both inputs of a join, the left one first.
    pub const BOTH: [Side; 2] = [Side::Left, Side::Right];

    /// Returns the other input of the join.
    pub fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }

    /// Returns 0 for the left input of a join and 1 for the right one, as an index into a pair.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A join over batches of rows. As with [`BatchOperator`](super::operator::BatchOperator), the output of a
/// call is fetched batch by batch before the next call.
pub trait JoinOperator: Send {
    /// Returns the name of the join for display.
    fn name(&self) -> &str;

    /// Processes a batch of one input of the join. Rows with event times below `late_by`, the watermark of
    /// that input, are late; later rows of that input have event times at or above it.
    ///
    /// # Errors
    /// [`EvaluationError`] if an expression fails on a row, or the join does not support a retraction in the
    /// batch.
    fn take(&mut self, side: Side, batch: Batch, late_by: EventTime) -> Outcome<()>;

    /// Handles the watermark of the join, which is the lesser of the watermarks of its inputs.
    ///
    /// # Errors
    /// [`EvaluationError`] if an expression fails on an output row.
    fn advance(&mut self, watermark: EventTime) -> Outcome<()>;

    /// Returns the next batch of the output that the last call of `take` or `advance` caused; `None` at its
    /// end.
    ///
    /// # Errors
    /// [`EvaluationError`] if an expression of the output fails.
    fn next(&mut self) -> Outcome<Option<Batch>>;

    /// Returns the greatest distance by which the event time of an output row may be below the join's
    /// watermark.
    fn hold(&self) -> Span {
        Span::ZERO
    }

    /// Returns whether rows wait in the join for something other than a watermark, such as the end of the
    /// other input. While this is true, the join forwards no watermark but the last one, [`EventTime::MAX`].
    fn is_waiting(&self) -> bool {
        false
    }

    /// Returns the watermarks at which this join changes its state or emits rows; other watermarks need not
    /// be delivered to it.
    fn horizon(&self) -> Horizon {
        Horizon::EVERYWHERE
    }

    /// Returns the row counts of the join and the bytes of its state.
    fn accounts(&self) -> &Accounts;

    /// Returns the row counts of the join and the bytes of its state, so that they can be changed.
    fn accounts_mut(&mut self) -> &mut Accounts;

    /// Saves the whole state of the join. Called only when no output is pending.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Replaces the whole state of the join by what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;
}

/// Creates the operator of a join of inputs with the columns `left` and `right`, whose results have
/// `columns`. `right_sources` is the number of sources of the right input. A join that reads the right input
/// whole waits for all of them; the rows of several sources have no order.
///
/// # Errors
/// [`EvaluationError`] if a key has a type that cannot be a key.
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
        JoinMethod::Interval { left_time, right_time, lower_ms, upper_ms, .. } => {
            let bounds = interval::Bounds { lower_ms, upper_ms };
            Box::new(interval::IntervalJoin::new(shape, [left_time, right_time], bounds)?)
        }
        JoinMethod::Temporal { left_time, right_time, counts, ttl_ms } => {
            // The order in which rows of several sources arrive is not determined. It must not decide which
            // right row is the version of its key.
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
        JoinMethod::Regular { ttl_ms } => Box::new(regular::RegularJoin::new(
            shape,
            ttl_ms.map(|ttl_ms| ttl_ms.unwrap_or(i64::MAX)),
            Arc::clone(&context.clock),
        )?),
    })
}

/// Refuses a batch with retractions, for joins that do not support them. Planning refuses such inputs
/// already; this is a second check.
fn refuse_changes(join: &str, batch: &Batch) -> Outcome<()> {
    match &batch.kinds {
        Some(kinds) if kinds.iter().any(|kind| *kind != RowKind::Insert) => {
            let message = format!(
                "{join} takes rows that only come, and one was taken back: aggregate by window first"
            );
            Err(EvaluationError { code: "UNSUPPORTED", message })
        }
        _ => Ok(()),
    }
}

/// Adapter that runs a join over batches as an operator of the engine.
pub struct JoinStage<W = InTurn> {
    inner: Box<dyn JoinOperator>,
    emission: Emission,
    /// Watch over the calls of user functions, if the query has such calls.
    watch: Option<Arc<Watch>>,
    /// How the copies of a keyed join are created, and the keys of both inputs.
    keyed: Option<(Make<dyn JoinOperator>, [RowKeys; 2])>,
    /// Replaces the join now and then by another one that loads its state; `None` outside of tests.
    renewal: Option<Renewal<dyn JoinOperator>>,
    way: PhantomData<W>,
}

impl JoinStage<ByKey> {
    /// Creates an operator of the engine of which each worker has a copy with keys of its own. `make` creates the copies,
    /// and `keys` are those of both inputs.
    ///
    /// # Errors
    /// The error of `make`.
    pub fn by_key(make: Make<dyn JoinOperator>, keys: [RowKeys; 2]) -> Outcome<Self> {
        let inner = make()?;
        Ok(JoinStage { keyed: Some((make, keys)), ..JoinStage::new(inner) })
    }
}

impl<W: Way> JoinStage<W> {
    /// Wraps a join over batches as an operator of the engine.
    pub fn new(inner: Box<dyn JoinOperator>) -> Self {
        let emission = Emission::new(inner.name());
        JoinStage { emission, inner, watch: None, keyed: None, renewal: None, way: PhantomData }
    }

    /// Returns the stage with a watch over the calls of user functions in it.
    #[must_use]
    pub fn watched(self, watch: Option<&Arc<Watch>>) -> Self {
        JoinStage { watch: watch.cloned(), ..self }
    }

    /// Returns the stage with a join that is replaced as `renewal` tells.
    #[must_use]
    pub(super) fn renewed(self, renewal: Option<Renewal<dyn JoinOperator>>) -> Self {
        JoinStage { renewal, ..self }
    }

    /// Replaces the join by another one that loads its state, if that is drawn and no output is pending.
    fn renew(&mut self) {
        if self.emission.is_stalled() {
            return;
        }
        let Some(made) = self.renewal.as_ref().and_then(Renewal::drawn) else { return };
        let moved = made.and_then(|mut inner| {
            inner.accounts_mut().fund(self.emission.allowance());
            let mut other = JoinStage::<W>::new(inner);
            let is_moved = moved(|state| self.save(state), |state| other.load(state))?;
            Ok(is_moved.then_some((other.inner, other.emission)))
        });
        match moved {
            Ok(Some((mut inner, emission))) => {
                inner.accounts_mut().counts = self.inner.accounts().counts;
                self.inner = inner;
                self.emission.replace_state(&emission);
            }
            Ok(None) => {}
            Err(error) => self.emission.fail(error),
        }
    }

    /// Emits pending output of the join while the next edge has room.
    fn drain<O: Output<Batch>>(&mut self, output: &mut O) -> Flow {
        let (inner, watch) = (&mut self.inner, self.watch.as_ref());
        self.emission.drain(|| Watch::within(watch, || inner.next()), output)
    }

    fn take(&mut self, event_time: EventTime, side: Side, batch: Batch) {
        if let Some(batch) = self.emission.admit(event_time, batch) {
            let (inner, late_by) = (&mut self.inner, self.emission.late_by());
            self.emission.note(Watch::within(self.watch.as_ref(), || inner.take(side, batch, late_by)));
        }
    }
}

fn of_either(value: Either<Batch, Batch>) -> (Side, Batch) {
    match value {
        Either::Left(batch) => (Side::Left, batch),
        Either::Right(batch) => (Side::Right, batch),
    }
}

/// Returns the batch of rows that an engine record carries, if the record comes from the input `side` of the
/// join; else `None`.
fn of_side(value: &Either<Batch, Batch>, side: Side) -> Option<&Batch> {
    match (value, side) {
        (Either::Left(batch), Side::Left) | (Either::Right(batch), Side::Right) => Some(batch),
        _ => None,
    }
}

impl<W: Way> Operator<Either<Batch, Batch>> for JoinStage<W> {
    type Out = Batch;

    const EXPANDS: bool = true;

    const SHARING: Sharing = W::SHARING;

    fn fork(&self) -> Self {
        let Some((make, _)) = &self.keyed else { unreachable!("only a join by key is shared") };
        let inner = make().expect("a join was created from the same arguments before");
        let (keyed, renewal) = (self.keyed.clone(), self.renewal.clone());
        JoinStage { keyed, renewal, ..JoinStage::new(inner).watched(self.watch.as_ref()) }
    }

    fn keys(&self) -> impl Keys<Either<Batch, Batch>> + use<W> {
        JoinKeys::new(self.keyed.as_ref().map(|(_, keys)| keys))
    }

    fn horizon(&self) -> Horizon {
        self.inner.horizon()
    }

    fn process<I: Input<Either<Batch, Batch>>, O: Output<Batch>>(&mut self, input: &mut I, output: &mut O) {
        self.renew();
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
        self.renew();
        let (side, batch) = of_either(record.value);
        self.take(record.event_time, side, batch);
        // If the next edge has no room, the output is kept here and `is_stalled` returns true, as rule O3 of
        // [`Operator`] demands.
        let _ = self.drain(output);
    }

    /// Does nothing, because the join counts its rows itself.
    fn note_read(&mut self, _count: u64) {}

    fn on_mark<O: Output<Batch>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        self.renew();
        // A query that is stopped before its input has ended gets no watermark [`EventTime::MAX`]. A lookup
        // join that has not read its whole table is given this watermark here, so that it fails instead of
        // losing the left rows that wait.
        let is_last = mark == Mark::End && self.inner.is_waiting();
        let mark = if is_last { Mark::Watermark(EventTime::MAX) } else { mark };
        if let Some(watermark) = self.emission.watermark(mark) {
            let inner = &mut self.inner;
            self.emission.note(Watch::within(self.watch.as_ref(), || inner.advance(watermark)));
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
        self.inner.accounts_mut().fund(allowance);
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each(self.inner.name(), self.inner.accounts().counts);
    }

    fn weighed(&self) -> Option<Weighed> {
        Some(self.emission.weighed())
    }

    fn state_bytes(&self) -> usize {
        self.inner.accounts().bytes()
    }

    /// Returns `None`, because the code around this adapter knows which operator has panicked.
    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        assert!(!self.is_stalled(), "state is saved when all that is emitted is through (O3, O4)");
        state.frame(self.inner.name(), STATE_VERSION, |state| {
            self.emission.save(state)?;
            self.inner.save(state)
        })
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let JoinStage { emission, inner, watch, .. } = self;
        let kind = inner.name().to_owned();
        state.frame(&kind, STATE_VERSION, |state| {
            emission.load(state)?;
            Watch::within(watch.as_ref(), || inner.load(state))
        })
    }
}
