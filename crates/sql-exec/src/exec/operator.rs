//! Operators over batches, and the adapter ([`Stage`]) that makes them operators of the engine.
//!
//! An operator over batches takes one batch, or a watermark. Its output is then fetched batch by batch until
//! there is no more, so output is made only when there is room for it. An operator may fail. The failure
//! travels on as data through the downstream operators, and ends the query in a sink.
//!
//! Batches that wait in the input are merged up to
//! [`BATCH_ROWS_MAX`](thalweg_sql_tables::batch::BATCH_ROWS_MAX) rows before they are taken, without waiting
//! for more. So many small batches cost as much as a few large ones.

use std::any::Any;
use std::sync::Arc;

use thalweg_model::{
    Allowance, Counts, EventTime, Flow, Horizon, Input, Keys, Mark, Operator, Output, Record, Sharing,
    StateError, StateReader, StateWriter, Weighed,
};
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::user::Watch;
use thalweg_sql_tables::batch::Batch;

use super::accounts::Accounts;
use super::emission::{Emission, together};
use super::exchange::{BatchKeys, RowKeys};
use super::renewal::{Renewal, moved};

/// Result of a call of an operator, or the error that ends the query.
pub type Outcome<T> = Result<T, EvaluationError>;

/// An operator over batches of rows.
pub trait BatchOperator: Any + Send {
    /// Returns the name of the operator for display.
    fn name(&self) -> &str;

    /// Processes a batch of input. Rows with event times below the watermark `late_by` are late; later rows
    /// of the same input have event times at or above it.
    ///
    /// # Errors
    /// [`EvaluationError`] if an expression fails on a row.
    fn take(&mut self, batch: Batch, late_by: EventTime) -> Outcome<()>;

    /// Handles a watermark. The output of the windows and rows that the watermark completes is fetched
    /// afterwards by [`next`](Self::next).
    ///
    /// # Errors
    /// [`EvaluationError`] if an expression fails on a completed window or row.
    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        let _ = watermark;
        Ok(())
    }

    /// Returns the next batch of the output that the last call of `take` or `advance` caused; `None` at its
    /// end.
    ///
    /// # Errors
    /// [`EvaluationError`] if an expression of the output fails.
    fn next(&mut self) -> Outcome<Option<Batch>>;

    /// Tells the operator that the next edge has room again for output that [`next`](Self::next) still holds.
    /// Requests for memory that the operator made before this call have been granted or refused by now.
    fn resume(&mut self) {}

    /// Returns whether the output of the operator has event times of its own, so that the watermark of a
    /// single input does not apply to it.
    fn emits_own_times(&self) -> bool {
        false
    }

    /// Returns the watermark to forward to the operators downstream of this one, after all output that
    /// `watermark` caused was emitted. The result depends on `watermark` alone and does not go back. This
    /// function is not called for the last watermark.
    fn forward(&self, watermark: EventTime) -> EventTime {
        watermark
    }

    /// Returns the watermarks at which the operator changes its state or emits rows; other watermarks need
    /// not be delivered to it.
    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    /// Returns the row counts of the operator and the bytes of its state.
    fn accounts(&self) -> &Accounts;

    /// Returns the row counts of the operator and the bytes of its state, so that they can be changed.
    fn accounts_mut(&mut self) -> &mut Accounts;

    /// Returns the numbers of rows that the operator has handled so far, by what was done with them.
    fn counts(&self) -> Counts {
        self.accounts().counts
    }

    /// Returns the bytes of the operator's state.
    fn state_bytes(&self) -> usize {
        self.accounts().bytes()
    }

    /// Sets the memory allowance through which the operator's state is reserved from the engine's budget.
    /// Called before the first batch.
    fn fund(&mut self, allowance: &Allowance) {
        self.accounts_mut().fund(allowance);
    }

    /// Creates a copy of the operator without state for another worker. Called only for operators that
    /// several workers may share in the ways [`Anybody`] and [`Gathering`].
    fn fork(&self) -> Box<dyn BatchOperator> {
        unreachable!("only operators that say so are shared, and those have a `fork` of their own")
    }

    /// Merges the state of a copy into this operator; the copy is empty afterwards. Does nothing for an
    /// operator without state.
    ///
    /// # Errors
    /// [`EvaluationError`] if the states cannot be merged.
    fn absorb(&mut self, copy: &mut dyn BatchOperator) -> Outcome<()> {
        let _ = copy;
        Ok(())
    }

    /// Returns the kind of the operator's state. Saved state is loaded only by an operator of the same kind.
    fn state_kind(&self) -> &str {
        self.name()
    }

    /// Saves the whole state of the operator. Called when no output is pending.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written, or a part of the state is on disk.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Replaces the whole state of the operator by what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;
}

/// Version of the form in which the operators over batches and joins save their state. It rises with each change of the
/// form of any of them.
pub(super) const STATE_VERSION: u32 = 1;

/// The way in which workers share an operator over batches, as a type parameter.
pub trait Way: Send + Sync + 'static {
    /// The engine's [`Sharing`] that corresponds to this type parameter.
    const SHARING: Sharing;
}

/// The operator is not shared: one worker at a time runs it.
#[derive(Debug)]
pub struct InTurn;

/// Any number of workers run the operator, each with a stateless copy.
#[derive(Debug)]
pub struct Anybody;

/// Any number of workers run the operator, each with a copy whose state is merged at watermarks.
#[derive(Debug)]
pub struct Gathering;

/// Any number of workers run the operator, each with a copy that has all rows of some keys.
#[derive(Debug)]
pub struct ByKey;

impl Way for ByKey {
    const SHARING: Sharing = Sharing::Keyed;
}

/// Creates copies of one operator. Fails in the same way at each call.
pub type Make<T> = Arc<dyn Fn() -> Outcome<Box<T>> + Send + Sync>;

impl Way for InTurn {
    const SHARING: Sharing = Sharing::Serial;
}

impl Way for Anybody {
    const SHARING: Sharing = Sharing::Stateless;
}

impl Way for Gathering {
    const SHARING: Sharing = Sharing::Merging;
}

/// Adapter that runs an operator over batches as an operator of the engine.
pub struct Stage<W> {
    inner: Box<dyn BatchOperator>,
    emission: Emission,
    /// Whether the wrapped operator is a worker's copy whose state is merged into the original later.
    is_part: bool,
    /// Whether all output, even a failure, is kept until the next watermark and then emitted.
    is_closed: bool,
    /// Watch over the calls of user functions, if the query has such calls.
    watch: Option<Arc<Watch>>,
    /// How the copies of a keyed operator are created, and the key of its rows.
    keyed: Option<(Make<dyn BatchOperator>, RowKeys)>,
    /// Replaces the operator now and then by another one that loads its state; `None` outside of tests.
    renewal: Option<Renewal<dyn BatchOperator>>,
    way: std::marker::PhantomData<W>,
}

impl Stage<ByKey> {
    /// Creates an operator of the engine of which each worker has a copy with keys of its own. `make` creates the copies.
    ///
    /// # Errors
    /// The error of `make`.
    pub fn by_key(make: Make<dyn BatchOperator>, keys: RowKeys) -> Outcome<Self> {
        let inner = make()?;
        Ok(Stage { keyed: Some((make, keys)), ..Stage::new(inner) })
    }
}

impl<W: Way> Stage<W> {
    /// Wraps an operator over batches as an operator of the engine.
    pub fn new(inner: Box<dyn BatchOperator>) -> Self {
        Stage {
            emission: Emission::new(inner.name()),
            inner,
            is_part: false,
            is_closed: false,
            watch: None,
            keyed: None,
            renewal: None,
            way: std::marker::PhantomData,
        }
    }

    /// Returns the stage with a watch over the calls of user functions in it.
    #[must_use]
    pub fn watched(self, watch: Option<&Arc<Watch>>) -> Self {
        Stage { watch: watch.cloned(), ..self }
    }

    /// Returns the stage with an operator that is replaced as `renewal` tells.
    #[must_use]
    pub(super) fn renewed(self, renewal: Option<Renewal<dyn BatchOperator>>) -> Self {
        Stage { renewal, ..self }
    }

    /// Replaces the operator by another one that loads its state, if that is drawn and no output is pending.
    fn renew(&mut self) {
        if self.is_part || self.emission.is_stalled() {
            return;
        }
        let Some(made) = self.renewal.as_ref().and_then(Renewal::drawn) else { return };
        let moved = made.and_then(|mut inner| {
            inner.fund(self.emission.allowance());
            let mut other = Stage::<W>::new(inner);
            let is_moved = moved(|state| self.save(state), |state| other.load(state))?;
            Ok(is_moved.then_some((other.inner, other.emission)))
        });
        match moved {
            Ok(Some((mut inner, emission))) => {
                inner.accounts_mut().counts = self.inner.counts();
                self.inner = inner;
                self.emission.replace_state(&emission);
            }
            Ok(None) => {}
            Err(error) => self.emission.fail(error),
        }
    }

    /// Emits pending output of the wrapped operator while the next edge has room.
    fn drain<O: Output<Batch>>(&mut self, output: &mut O) -> Flow {
        if self.is_closed {
            return Flow::Done;
        }
        let (inner, watch) = (&mut self.inner, self.watch.as_ref());
        let flow = self.emission.drain(|| Watch::within(watch, || inner.next()), output);
        self.is_closed = self.is_part && flow == Flow::Done;
        flow
    }

    fn take(&mut self, event_time: EventTime, batch: Batch) {
        if let Some(batch) = self.emission.admit(event_time, batch) {
            let (inner, late_by) = (&mut self.inner, self.emission.late_by());
            let taken = Watch::within(self.watch.as_ref(), || inner.take(batch, late_by));
            if !self.is_closed || taken.is_err() {
                self.emission.note(taken);
            }
        }
    }
}

impl<W: Way> Operator<Batch> for Stage<W> {
    type Out = Batch;

    const EXPANDS: bool = true;

    const SHARING: Sharing = W::SHARING;

    fn fork(&self) -> Self {
        let is_part = W::SHARING == Sharing::Merging;
        let inner = match &self.keyed {
            Some((make, _)) => make().expect("an operator was created from the same arguments before"),
            None => self.inner.fork(),
        };
        let keyed = self.keyed.clone();
        let renewal = self.renewal.clone();
        Stage {
            is_part,
            is_closed: is_part,
            keyed,
            renewal,
            ..Stage::new(inner).watched(self.watch.as_ref())
        }
    }

    fn keys(&self) -> impl Keys<Batch> + use<W> {
        BatchKeys::new(self.keyed.as_ref().map(|(_, keys)| keys))
    }

    fn absorb(&mut self, copy: &mut Self) {
        self.emission.absorb(&mut copy.emission);
        let inner = &mut self.inner;
        if let Err(error) = Watch::within(self.watch.as_ref(), || inner.absorb(&mut *copy.inner)) {
            self.emission.fail(error);
        }
    }

    fn horizon(&self) -> Horizon {
        self.inner.horizon()
    }

    fn process<I: Input<Batch>, O: Output<Batch>>(&mut self, input: &mut I, output: &mut O) {
        self.renew();
        while self.drain(output) == Flow::Done && input.remaining() > 0 && output.room() > 0 {
            let Some(first) = input.take() else { break };
            match together(input, first, |next| Some(next), |batch| batch) {
                (event_time, Ok(batch)) => self.take(event_time, batch),
                (_, Err(error)) => self.emission.fail(error),
            }
        }
    }

    fn process_one<O: Output<Batch>>(&mut self, record: Record<Batch>, output: &mut O) {
        self.renew();
        self.take(record.event_time, record.value);
        // If the next edge has no room, the output is kept here and `is_stalled` returns true, as rule O3 of
        // [`Operator`] demands.
        let _ = self.drain(output);
    }

    /// Does nothing, because the wrapped operator counts its rows itself.
    fn note_read(&mut self, _count: u64) {}

    fn on_mark<O: Output<Batch>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        self.renew();
        if let Some(watermark) = self.emission.watermark(mark) {
            let inner = &mut self.inner;
            self.emission.note(Watch::within(self.watch.as_ref(), || inner.advance(watermark)));
        }
        self.is_closed &= matches!(mark, Mark::InputWatermark(_));
        self.drain(output)
    }

    fn is_stalled(&self) -> bool {
        !self.is_closed && self.emission.is_stalled()
    }

    fn resume<O: Output<Batch>>(&mut self, output: &mut O) -> Flow {
        self.inner.resume();
        self.drain(output)
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        match mark {
            Mark::InputWatermark(_) if self.inner.emits_own_times() => None,
            Mark::Watermark(EventTime::MAX) => Some(mark),
            Mark::Watermark(watermark) => Some(Mark::Watermark(self.inner.forward(watermark))),
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

    /// Returns `None`, because the code around this adapter knows which operator has panicked.
    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        assert!(!self.is_stalled(), "state is saved when all that is emitted is through (O3, O4)");
        let content = |state: &mut StateWriter| {
            self.emission.save(state)?;
            Watch::within(self.watch.as_ref(), || self.inner.save(state))
        };
        state.frame(self.inner.state_kind(), STATE_VERSION, content)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let Stage { emission, inner, watch, .. } = self;
        let kind = inner.state_kind().to_owned();
        state.frame(&kind, STATE_VERSION, |state| {
            emission.load(state)?;
            Watch::within(watch.as_ref(), || inner.load(state))
        })
    }
}
