//! What all operators over batches have in common as operators of the engine: what a call makes goes out while there is room, a
//! failure goes out instead and ends it, and small batches that wait are taken as one.

use arrow::compute::concat_batches;
use thalweg_model::{
    Allowance, EventTime, Flow, Input, Mark, Output, Record, StateError, StateReader, StateWriter, Weighed,
};

use super::operator::Outcome;
use crate::batch::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, Batch, NOTHING_WEIGHED};
use crate::expression::arrow_error;
use crate::functions::EvaluationError;

/// What an operator puts out, and how late its input is.
pub(super) struct Emission {
    /// Who failed, if somebody does.
    name: String,
    /// What found no room; more may follow it.
    held: Option<Record<Batch>>,
    /// Batches without rows that follow a long one, so that it takes its places on the edge.
    fillers: Option<(usize, Record<Batch>)>,
    /// Whether the operator may have more.
    is_emitting: bool,
    /// What emitted batches are stamped with.
    stamp: EventTime,
    late_by: EventTime,
    has_failed: bool,
    weighed: Weighed,
    /// Where long results are paid from.
    allowance: Allowance,
}

impl Emission {
    /// Of an operator that has seen nothing.
    pub(super) fn new(name: &str) -> Self {
        Emission {
            name: name.to_owned(),
            held: None,
            fillers: None,
            is_emitting: false,
            stamp: EventTime::MIN,
            late_by: EventTime::MIN,
            has_failed: false,
            weighed: NOTHING_WEIGHED,
            allowance: Allowance::default(),
        }
    }

    /// Takes the allowance that long results are paid from.
    pub(super) fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
    }

    /// The watermark that rows are late by.
    pub(super) fn late_by(&self) -> EventTime {
        self.late_by
    }

    /// Rows taken and put out.
    pub(super) fn weighed(&self) -> Weighed {
        self.weighed
    }

    /// Whether something is to go out.
    pub(super) fn is_stalled(&self) -> bool {
        self.held.is_some() || self.is_emitting || self.fillers.is_some()
    }

    /// A batch that the operator is to take; none if it is to take nothing any more.
    pub(super) fn admit(&mut self, event_time: EventTime, batch: Batch) -> Option<Batch> {
        self.weighed.taken += batch.weight();
        self.stamp = self.stamp.max(event_time);
        if self.has_failed {
            return None;
        }
        if batch.failure.is_some() {
            self.has_failed = true;
            self.held = Some(Record::new(self.stamp, batch));
            return None;
        }
        Some(batch)
    }

    /// The watermark that the operator is to see, if it is to see one.
    pub(super) fn watermark(&mut self, mark: Mark) -> Option<EventTime> {
        match mark {
            Mark::Watermark(watermark) => {
                self.late_by = self.late_by.max(watermark);
                (!self.has_failed).then_some(watermark)
            }
            Mark::InputWatermark(watermark) => {
                self.late_by = watermark;
                None
            }
            _ => None,
        }
    }

    /// How a call went: what it made is asked for next.
    pub(super) fn note(&mut self, called: Outcome<()>) {
        match called {
            Ok(()) => self.is_emitting = true,
            Err(error) => self.fail(error),
        }
    }

    /// Nothing comes any more but the reason.
    pub(super) fn fail(&mut self, error: EvaluationError) {
        self.has_failed = true;
        self.is_emitting = false;
        self.held = Some(Record::new(self.stamp, Batch::failed(&self.name, error)));
    }

    /// Takes over the failure of a copy, which puts out nothing else.
    pub(super) fn absorb(&mut self, copy: &mut Emission) {
        if let Some(held) = copy.held.take()
            && held.value.failure.is_some()
        {
            self.has_failed = true;
            self.is_emitting = false;
            self.held = Some(held);
        }
    }

    /// Pushes what `next` has while there is room.
    pub(super) fn drain<O: Output<Batch>>(
        &mut self,
        mut next: impl FnMut() -> Outcome<Option<Batch>>,
        output: &mut O,
    ) -> Flow {
        loop {
            while let Some((count, filler)) = self.fillers.take() {
                if output.room() == 0 {
                    self.fillers = Some((count, filler));
                    return Flow::More;
                }
                self.weighed.put += filler.value.weight();
                output.push(filler.clone());
                self.fillers = (count > 1).then(|| (count - 1, filler));
            }
            if self.held.is_none() && self.is_emitting {
                match next()
                    .and_then(|made| made.map(|made| made.paid(&self.allowance, "STATE_LIMIT")).transpose())
                {
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
                    let fillers = first.fillers();
                    if fillers > 0 {
                        self.fillers = Some((fillers, Record::new(record.event_time, first.filler())));
                    }
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

    /// Writes down how late it is.
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.stamp.as_micros(), self.late_by.as_micros()))
    }

    /// Replaces that by what was written.
    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (stamp, late_by): (i64, i64) = state.take()?;
        (self.stamp, self.late_by) = (EventTime::from_micros(stamp), EventTime::from_micros(late_by));
        Ok(())
    }
}

/// A batch with those that wait behind it put together, as far as they are no more than new rows and it does not get too large.
/// `seen` shows the batch of what waits, if it may go with the first one.
pub(super) fn together<T, I: Input<T>>(
    input: &mut I,
    first: Record<Batch>,
    seen: impl Fn(&T) -> Option<&Batch>,
    batch_of: impl Fn(T) -> Batch,
) -> (EventTime, Outcome<Batch>) {
    let mut event_time = first.event_time;
    let (mut rows, mut bytes) = (first.value.len(), 0);
    let mut batches = vec![first.value];
    while input.remaining() > 0 && rows < BATCH_ROWS_MAX && batches[0].is_plain() {
        bytes += batches[batches.len() - 1].bytes();
        let fits = input.inspect(0, |next| {
            seen(&next.value).is_some_and(|next| {
                next.is_plain()
                    && rows + next.len() <= BATCH_ROWS_MAX
                    && bytes + next.bytes() <= BATCH_BYTES_MAX
            })
        });
        let Some(next) = (if fits { input.take() } else { None }) else { break };
        event_time = event_time.max(next.event_time);
        let next = batch_of(next.value);
        rows += next.len();
        batches.push(next);
    }
    if batches.len() == 1 {
        return (event_time, Ok(batches.swap_remove(0)));
    }
    let merged = concat_batches(&batches[0].rows.schema(), batches.iter().map(|batch| &batch.rows));
    (event_time, merged.map(Batch::new).map_err(arrow_error))
}
