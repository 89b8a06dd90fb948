//! Common output side of all operators over batches. Output is emitted while the next edge has room. If the
//! operator fails, one batch with the failure is emitted instead of further output. Small batches that wait
//! in the input are merged.

use std::sync::Arc;

use arrow::compute::concat_batches;
use thalweg_model::{
    Allowance, EventTime, Flow, Input, Mark, Output, Record, StateError, StateReader, StateWriter, Weighed,
};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_tables::batch::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, Batch, NOTHING_WEIGHED};

use super::operator::Outcome;

/// Output side of an operator over batches, with the watermark below which the operator's input rows are
/// late.
pub(super) struct Emission {
    /// Name of the operator, which the error message names if the operator fails.
    name: String,
    /// Output batch for which the next edge had no room. The operator may have more batches to emit after it.
    held: Option<Record<Batch>>,
    /// A batch without rows that is still to be emitted after a large batch, and how many more times. An edge
    /// has room for a limited number of batches. With the empty batches, a large batch takes as much of this
    /// room as its bytes would fill.
    fillers: Option<(usize, Record<Batch>)>,
    /// Whether the operator may have more output that was not fetched yet.
    is_emitting: bool,
    /// Event time with which output batches are stamped: the greatest event time of an input batch so far.
    stamp: EventTime,
    late_by: EventTime,
    has_failed: bool,
    weighed: Weighed,
    /// Memory allowance through which output batches of more than 1 MiB are reserved from the memory budget.
    allowance: Allowance,
}

impl Emission {
    /// Creates the output side of an operator that has seen no input.
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

    /// Sets the memory allowance through which output batches of more than 1 MiB are reserved from the memory
    /// budget.
    pub(super) fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
    }

    /// Returns the watermark below which input rows of the operator are late.
    pub(super) fn late_by(&self) -> EventTime {
        self.late_by
    }

    /// Returns the numbers of rows that the operator has received and emitted so far.
    pub(super) fn weighed(&self) -> Weighed {
        self.weighed
    }

    /// Returns whether the operator has output for which the next edge had no room yet.
    pub(super) fn is_stalled(&self) -> bool {
        self.held.is_some() || self.is_emitting || self.fillers.is_some()
    }

    /// Returns the input batch `batch` if the operator is to process it, and `None` otherwise. A batch that
    /// carries the failure of an earlier operator goes to the output instead. After a failure all input
    /// batches are dropped.
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

    /// Returns the watermark if `mark`, a message between the records of an edge, is a watermark of all
    /// inputs together. Returns `None` for other marks, and if the operator has failed and is to see no more
    /// watermarks.
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

    /// Records the result of a call of the operator. After a success the operator's output is fetched next;
    /// after an error a batch with the failure is emitted.
    pub(super) fn note(&mut self, called: Outcome<()>) {
        match called {
            Ok(()) => self.is_emitting = true,
            Err(error) => self.fail(error),
        }
    }

    /// Records a failure of the operator. From now on nothing but one batch with the failure is emitted.
    pub(super) fn fail(&mut self, error: EvaluationError) {
        self.has_failed = true;
        self.is_emitting = false;
        self.held = Some(Record::new(self.stamp, Batch::failed(&self.name, error)));
    }

    /// Records the failure of an operator's copy that another worker has run, if the copy failed. A copy has
    /// no other output.
    pub(super) fn absorb(&mut self, copy: &mut Emission) {
        if let Some(held) = copy.held.take()
            && held.value.failure.is_some()
        {
            self.has_failed = true;
            self.is_emitting = false;
            self.held = Some(held);
        }
    }

    /// Emits the batches that `next` returns, while the next edge has room.
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

    /// Saves the event time of the output batches, the watermark below which input rows are late, and whether the operator
    /// has failed. Called when no output is pending.
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.stamp.as_micros(), self.late_by.as_micros(), self.has_failed))
    }

    /// Replaces what [`save`](Self::save) wrote.
    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (stamp, late_by, has_failed): (i64, i64, bool) = state.take()?;
        (self.stamp, self.late_by) = (EventTime::from_micros(stamp), EventTime::from_micros(late_by));
        self.has_failed = has_failed;
        Ok(())
    }

    /// Takes over the saved part of another output side.
    pub(super) fn replace_state(&mut self, other: &Emission) {
        (self.stamp, self.late_by, self.has_failed) = (other.stamp, other.late_by, other.has_failed);
    }

    /// Returns the allowance through which long output batches are reserved.
    pub(super) fn allowance(&self) -> &Allowance {
        &self.allowance
    }
}

/// Merges an input batch with the batches that wait after it in the input, as long as the result fits in one batch.
/// `seen` returns the batch of a waiting record, or `None` if it may not be
/// merged.
pub(super) fn together<T, I: Input<T>>(
    input: &mut I,
    first: Record<Batch>,
    seen: impl Fn(&T) -> Option<&Batch>,
    batch_of: impl Fn(T) -> Batch,
) -> (EventTime, Outcome<Batch>) {
    let mut event_time = first.event_time;
    let (mut rows, mut bytes) = (first.value.len(), 0);
    let mut batches = vec![first.value];
    while input.remaining() > 0 && rows < BATCH_ROWS_MAX && batches[0].is_mergeable() {
        bytes += batches[batches.len() - 1].bytes();
        let fits = input.inspect(0, |next| {
            seen(&next.value).is_some_and(|next| {
                next.is_mergeable()
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
    let is_changing = batches.iter().any(|batch| batch.kinds.is_some());
    let kinds = is_changing.then(|| {
        batches
            .iter()
            .flat_map(|batch| (0..batch.len()).map(|row| batch.kind(row)))
            .collect::<Arc<[RowKind]>>()
    });
    (event_time, merged.map(|rows| Batch { kinds, ..Batch::new(rows) }).map_err(arrow_error))
}
