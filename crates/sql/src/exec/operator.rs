//! Operators over batches, and what makes operators of the engine of them.
//!
//! An operator over batches takes one batch, or a watermark, and is then asked for what comes of it, a batch at a time,
//! until there is nothing more: so what it emits is made when there is room for it. It may fail; the failure travels on as
//! data, past operators that look at nothing else, and ends the query in a sink.
//!
//! Batches that wait in the input are put together up to [`BATCH_ROWS_MAX`] rows before they are taken, and none is waited
//! for: many small ones cost what a few large ones do.

use arrow::compute::concat_batches;
use thalweg_model::{
    Allowance, Counts, EventTime, Flow, Horizon, Input, Mark, Operator, Output, Record, Sharing, StateError,
    StateReader, StateWriter, Weighed,
};

use crate::batch::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, Batch, NOTHING_WEIGHED};
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
        unreachable!("a serial operator is not shared")
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
    /// What found no room; more may follow it.
    held: Option<Record<Batch>>,
    /// Whether the inner operator may have more.
    is_emitting: bool,
    /// What emitted batches are stamped with.
    stamp: EventTime,
    late_by: EventTime,
    has_failed: bool,
    /// Rows taken and put out.
    weighed: Weighed,
    way: std::marker::PhantomData<W>,
}

impl<W: Way> Stage<W> {
    /// Runs an operator.
    pub fn new(inner: Box<dyn BatchOperator>) -> Self {
        Stage {
            inner,
            held: None,
            is_emitting: false,
            stamp: EventTime::MIN,
            late_by: EventTime::MIN,
            has_failed: false,
            weighed: NOTHING_WEIGHED,
            way: std::marker::PhantomData,
        }
    }

    fn fail(&mut self, error: EvaluationError) {
        self.has_failed = true;
        self.is_emitting = false;
        self.held = Some(Record::new(self.stamp, Batch::failed(self.inner.name(), error)));
    }

    /// Pushes what there is while there is room.
    fn drain<O: Output<Batch>>(&mut self, output: &mut O) -> Flow {
        loop {
            if self.held.is_none() && self.is_emitting {
                match self.inner.next() {
                    Ok(Some(batch)) => self.held = Some(Record::new(self.stamp, batch)),
                    Ok(None) => self.is_emitting = false,
                    Err(error) => self.fail(error),
                }
            }
            match self.held.take() {
                None => return Flow::Done,
                Some(record) if output.room() > 0 => {
                    let (first, rest) = record.value.cut();
                    self.weighed.put += first.weight();
                    output.push(Record::new(record.event_time, first));
                    self.held = rest.map(|rest| Record::new(record.event_time, rest));
                }
                Some(record) => {
                    self.held = Some(record);
                    return Flow::More;
                }
            }
        }
    }

    fn take(&mut self, event_time: EventTime, batch: Batch) {
        self.weighed.taken += batch.weight();
        self.stamp = self.stamp.max(event_time);
        if self.has_failed {
            return;
        }
        if batch.failure.is_some() {
            self.has_failed = true;
            self.held = Some(Record::new(self.stamp, batch));
            return;
        }
        match self.inner.take(batch, self.late_by) {
            Ok(()) => self.is_emitting = true,
            Err(error) => self.fail(error),
        }
    }
}

impl<W: Way> Operator<Batch> for Stage<W> {
    type Out = Batch;

    const EXPANDS: bool = true;

    const SHARING: Sharing = W::SHARING;

    fn fork(&self) -> Self {
        Stage::new(self.inner.fork())
    }

    fn absorb(&mut self, copy: &mut Self) {
        if let Some(held) = copy.held.take() {
            // A copy that gathers puts out nothing but a failure.
            if held.value.failure.is_some() {
                self.has_failed = true;
                self.is_emitting = false;
                self.held = Some(held);
            }
        }
        if let Err(error) = self.inner.absorb(&mut *copy.inner) {
            self.fail(error);
        }
    }

    fn horizon(&self) -> Horizon {
        self.inner.horizon()
    }

    fn process<I: Input<Batch>, O: Output<Batch>>(&mut self, input: &mut I, output: &mut O) {
        while self.drain(output) == Flow::Done && input.remaining() > 0 && output.room() > 0 {
            let Some(first) = input.take() else { break };
            let mut event_time = first.event_time;
            let mut batches = vec![first.value];
            let mut rows = batches[0].len();
            let mut bytes = 0;
            while input.remaining() > 0 && rows < BATCH_ROWS_MAX && batches[0].is_plain() {
                bytes += batches[batches.len() - 1].bytes();
                let fits = input.inspect(0, |next| {
                    next.value.is_plain()
                        && rows + next.value.len() <= BATCH_ROWS_MAX
                        && bytes + next.value.bytes() <= BATCH_BYTES_MAX
                });
                let Some(next) = (if fits { input.take() } else { None }) else { break };
                event_time = event_time.max(next.event_time);
                rows += next.value.len();
                batches.push(next.value);
            }
            let merged = if batches.len() == 1 {
                batches.swap_remove(0)
            } else {
                match concat_batches(&batches[0].rows.schema(), batches.iter().map(|batch| &batch.rows)) {
                    Ok(rows) => Batch::new(rows),
                    Err(error) => {
                        self.fail(crate::expression::arrow_error(error));
                        continue;
                    }
                }
            };
            self.take(event_time, merged);
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
        match mark {
            Mark::Watermark(watermark) => {
                self.late_by = self.late_by.max(watermark);
                if !self.has_failed {
                    match self.inner.advance(watermark) {
                        Ok(()) => self.is_emitting = true,
                        Err(error) => self.fail(error),
                    }
                }
            }
            Mark::InputWatermark(watermark) => self.late_by = watermark,
            _ => {}
        }
        self.drain(output)
    }

    fn is_stalled(&self) -> bool {
        self.held.is_some() || self.is_emitting
    }

    fn resume<O: Output<Batch>>(&mut self, output: &mut O) -> Flow {
        self.drain(output)
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        match mark {
            Mark::InputWatermark(_) if self.inner.emits_own_times() => None,
            mark => Some(mark),
        }
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.inner.fund(allowance);
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each(self.inner.name(), self.inner.counts());
    }

    fn weighed(&self) -> Option<Weighed> {
        Some(self.weighed)
    }

    fn state_bytes(&self) -> usize {
        self.inner.state_bytes()
    }

    /// Whose code ran is told by what stands around it.
    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.stamp.as_micros(), self.late_by.as_micros()))?;
        self.inner.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (stamp, late_by): (i64, i64) = state.take()?;
        (self.stamp, self.late_by) = (EventTime::from_micros(stamp), EventTime::from_micros(late_by));
        self.inner.load(state)
    }
}
