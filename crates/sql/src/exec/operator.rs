//! Operators over batches, and what makes operators of the engine of them.
//!
//! An operator over batches takes one batch, or a watermark, and is then asked for what comes of it, a batch at a time,
//! until there is nothing more: so what it emits is made when there is room for it. It may fail; the failure travels on as
//! data, past operators that look at nothing else, and ends the query in a sink.
//!
//! Batches that wait in the input are put together up to [`BATCH_ROWS_MAX`](crate::batch::BATCH_ROWS_MAX) rows before they are taken, and none is waited
//! for: many small ones cost what a few large ones do.

use thalweg_model::{
    Allowance, Counts, EventTime, Flow, Horizon, Input, Mark, Operator, Output, Record, Sharing, StateError,
    StateReader, StateWriter, Weighed,
};

use super::emission::{Emission, together};
use crate::batch::Batch;
use crate::functions::EvaluationError;

/// Why an operator cannot go on.
pub type Outcome<T> = Result<T, EvaluationError>;

/// An operator over batches.
pub trait BatchOperator: Send {
    /// Its name, for people.
    fn name(&self) -> &str;

    /// Takes a batch, of which rows are late by `late_by`: later ones on its input have event times at or above it.
    ///
    /// # Errors
    /// [`EvaluationError`] if a row has no result.
    fn take(&mut self, batch: Batch, late_by: EventTime) -> Outcome<()>;

    /// Sees a watermark: whatever it closes comes out afterwards.
    ///
    /// # Errors
    /// [`EvaluationError`] if something that is closed has no result.
    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        let _ = watermark;
        Ok(())
    }

    /// The next batch of what the last call made; none if that was all.
    ///
    /// # Errors
    /// [`EvaluationError`] if there is none because it has no result.
    fn next(&mut self) -> Outcome<Option<Batch>>;

    /// There is room again for what [`next`](Self::next) has left. What was asked of the allowance before is settled since.
    fn resume(&mut self) {}

    /// Whether what it emits has times of its own, so that how late its input was says nothing of it.
    fn emits_own_times(&self) -> bool {
        false
    }

    /// Which watermarks make a difference to it.
    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    /// Rows so far, by what became of them.
    fn counts(&self) -> Counts;

    /// Bytes of what it remembers.
    fn state_bytes(&self) -> usize {
        0
    }

    /// Before the first batch: takes the allowance that its state is paid from.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// A copy for another worker, which has seen nothing; only of one that several workers may share.
    fn fork(&self) -> Box<dyn BatchOperator> {
        unreachable!("only operators that say so are shared, and those have a `fork` of their own")
    }

    /// Takes over what a copy has gathered, which is empty afterwards; of one that remembers nothing, nothing.
    ///
    /// # Errors
    /// [`EvaluationError`] if what was gathered cannot be put together.
    fn absorb(&mut self, copy: &mut dyn BatchOperator) -> Outcome<()> {
        let _ = copy;
        Ok(())
    }

    /// For [`absorb`](Self::absorb).
    fn as_any(&mut self) -> &mut dyn std::any::Any;

    /// Writes down all state.
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

/// How several workers may be inside an operator, which the type says.
pub trait Way: Send + Sync + 'static {
    /// As the engine asks for it.
    const SHARING: Sharing;
}

/// One worker at a time.
#[derive(Debug)]
pub struct InTurn;

/// Any, each with a copy that remembers nothing.
#[derive(Debug)]
pub struct Anybody;

/// Any, each with a copy whose state is put together at watermarks.
#[derive(Debug)]
pub struct Gathering;

impl Way for InTurn {
    const SHARING: Sharing = Sharing::Serial;
}

impl Way for Anybody {
    const SHARING: Sharing = Sharing::Stateless;
}

impl Way for Gathering {
    const SHARING: Sharing = Sharing::Merging;
}

/// An operator over batches as an operator of the engine.
pub struct Stage<W> {
    inner: Box<dyn BatchOperator>,
    emission: Emission,
    /// A copy that gathers.
    is_part: bool,
    /// Nothing may come out before a mark, not even that it has failed.
    is_closed: bool,
    way: std::marker::PhantomData<W>,
}

impl<W: Way> Stage<W> {
    /// Runs an operator.
    pub fn new(inner: Box<dyn BatchOperator>) -> Self {
        Stage {
            emission: Emission::new(inner.name()),
            inner,
            is_part: false,
            is_closed: false,
            way: std::marker::PhantomData,
        }
    }

    /// Pushes what there is while there is room.
    fn drain<O: Output<Batch>>(&mut self, output: &mut O) -> Flow {
        if self.is_closed {
            return Flow::Done;
        }
        let flow = self.emission.drain(|| self.inner.next(), output);
        self.is_closed = self.is_part && flow == Flow::Done;
        flow
    }

    fn take(&mut self, event_time: EventTime, batch: Batch) {
        if let Some(batch) = self.emission.admit(event_time, batch) {
            let taken = self.inner.take(batch, self.emission.late_by());
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
        Stage { is_part, is_closed: is_part, ..Stage::new(self.inner.fork()) }
    }

    fn absorb(&mut self, copy: &mut Self) {
        self.emission.absorb(&mut copy.emission);
        if let Err(error) = self.inner.absorb(&mut *copy.inner) {
            self.emission.fail(error);
        }
    }

    fn horizon(&self) -> Horizon {
        self.inner.horizon()
    }

    fn process<I: Input<Batch>, O: Output<Batch>>(&mut self, input: &mut I, output: &mut O) {
        while self.drain(output) == Flow::Done && input.remaining() > 0 && output.room() > 0 {
            let Some(first) = input.take() else { break };
            match together(input, first, |next| Some(next), |batch| batch) {
                (event_time, Ok(batch)) => self.take(event_time, batch),
                (_, Err(error)) => self.emission.fail(error),
            }
        }
    }

    fn process_one<O: Output<Batch>>(&mut self, record: Record<Batch>, output: &mut O) {
        self.take(record.event_time, record.value);
        // What finds no room is held, and said to be (O3).
        let _ = self.drain(output);
    }

    /// Rows are counted by the operator itself.
    fn note_read(&mut self, _count: u64) {}

    fn on_mark<O: Output<Batch>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        if let Some(watermark) = self.emission.watermark(mark) {
            self.emission.note(self.inner.advance(watermark));
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
        self.emission.save(state)?;
        self.inner.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.emission.load(state)?;
        self.inner.load(state)
    }
}
