//! Aggregate calls with one accumulator per call and key, for operators that need intermediate results again
//! and again. Each key has a number, its slot. When a key is dropped, its slot and the accumulators of the
//! slot are reused for another key.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt32Array};
use arrow::compute::{interleave, take};
use arrow::record_batch::RecordBatch;
use thalweg_model::{StateError, StateReader, StateWriter};
use thalweg_sql_functions::aggregates::{Accumulator, Sequence};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;

use super::operator::Outcome;
use crate::plan::AggregateCall;

/// Aggregate calls of an operator, with the accumulators of all its keys.
pub(super) struct Calls {
    calls: Vec<Call>,
    /// Indexes of all input columns that the aggregate calls read, each index once.
    read: Vec<usize>,
}

struct Call {
    accumulator: Box<dyn Accumulator>,
    /// Arguments of the aggregate call, as indexes into the list of the columns that all calls read.
    arguments: Vec<usize>,
    filter: Option<usize>,
}

impl Calls {
    /// Creates the accumulators of aggregate calls; with `must_retract` they can retract rows.
    ///
    /// # Errors
    /// [`EvaluationError`] if an aggregate must retract and cannot; planning refuses such calls.
    pub(super) fn new(calls: &[AggregateCall], must_retract: bool) -> Outcome<Self> {
        let mut read: Vec<usize> = Vec::new();
        let mut place_of = |place: &usize| {
            read.iter().position(|known| known == place).unwrap_or_else(|| {
                read.push(*place);
                read.len() - 1
            })
        };
        let mut made = Vec::new();
        for call in calls {
            let create = match &call.function.create_retractable {
                _ if !must_retract => &call.function.create,
                Some(create) => create,
                None => {
                    let message = format!("{} cannot take rows back", call.name());
                    return Err(EvaluationError { code: "EVALUATION", message });
                }
            };
            made.push(Call {
                accumulator: create(),
                arguments: call.arguments.iter().map(&mut place_of).collect(),
                filter: call.filter.as_ref().map(&mut place_of),
            });
        }
        Ok(Calls { calls: made, read })
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns the indexes of all input columns that the aggregate calls read.
    pub(super) fn read(&self) -> &[usize] {
        &self.read
    }

    /// Returns the columns of a batch that the aggregate calls read.
    pub(super) fn columns(&self, rows: &RecordBatch) -> Vec<ArrayRef> {
        self.read.iter().map(|place| Arc::clone(rows.column(*place))).collect()
    }

    /// Grows the accumulators of all aggregate calls so that they have room for `slots` keys, with the slot
    /// numbers below it.
    pub(super) fn resize(&mut self, slots: usize) {
        self.calls.iter_mut().for_each(|call| call.accumulator.resize(slots));
    }

    /// Adds rows to the accumulators of their keys if `comes` is true, and retracts them otherwise. `rows[i]`
    /// is the index of a row of `columns`, and `slots[i]` is the slot number of its key.
    pub(super) fn fold(
        &mut self,
        columns: &[ArrayRef],
        slots: &[u32],
        rows: &[u32],
        comes: bool,
    ) -> Outcome<()> {
        if slots.is_empty() {
            return Ok(());
        }
        let columns: Vec<ArrayRef> =
            columns.iter().map(|column| picked(column, rows)).collect::<Outcome<_>>()?;
        for call in &mut self.calls {
            let arguments: Vec<ArrayRef> =
                call.arguments.iter().map(|place| Arc::clone(&columns[*place])).collect();
            let keep = call.filter.and_then(|place| columns[place].as_boolean_opt());
            if comes {
                call.accumulator.update(slots, &arguments, keep);
            } else {
                call.accumulator.retract(slots, &arguments, keep);
            }
        }
        Ok(())
    }

    /// Adds rows to the accumulators of their keys, or retracts them, one after the other; returns the results of each row's key
    /// after it, one column for each call. `rows[i]` is the index of a row of `columns`, in ascending order, and
    /// `sequence` tells the slot number of its key and whether it is added.
    pub(super) fn running(
        &mut self,
        columns: &[ArrayRef],
        sequence: &Sequence<'_>,
        rows: &[u32],
    ) -> Outcome<Vec<ArrayRef>> {
        let columns: Vec<ArrayRef> =
            columns.iter().map(|column| picked(column, rows)).collect::<Outcome<_>>()?;
        let running = |call: &mut Call| {
            let arguments: Vec<ArrayRef> =
                call.arguments.iter().map(|place| Arc::clone(&columns[*place])).collect();
            let keep = call.filter.and_then(|place| columns[place].as_boolean_opt());
            call.accumulator.running(sequence, &arguments, keep)
        };
        self.calls.iter_mut().map(running).collect()
    }

    /// Returns the current aggregate results of the keys with the slot numbers `slots`, one column for each
    /// call.
    pub(super) fn results_of(&self, slots: &[u32]) -> Outcome<Vec<ArrayRef>> {
        self.calls.iter().map(|call| call.accumulator.results_of(slots)).collect()
    }

    /// Resets the accumulators with the slot numbers `slots`, whose keys were dropped, so that these slots
    /// can be given to other keys.
    pub(super) fn reset(&mut self, slots: &[u32]) {
        if !slots.is_empty() {
            self.calls.iter_mut().for_each(|call| call.accumulator.reset(slots));
        }
    }

    /// Returns the bytes that the accumulators may allocate at once for `rows` more rows, beyond the bytes
    /// held. The rows have at most `value_bytes` bytes.
    pub(super) fn growth_bytes(&self, rows: usize, value_bytes: usize) -> usize {
        self.calls.iter().map(|call| call.accumulator.growth_bytes(rows, value_bytes)).sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.calls.iter().map(|call| call.accumulator.bytes()).sum()
    }

    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.calls.iter().try_for_each(|call| call.accumulator.save(state))
    }

    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.calls.iter_mut().try_for_each(|call| call.accumulator.load(state))
    }
}

/// Returns the values of a column at the row indexes `rows`.
pub(super) fn picked(column: &ArrayRef, rows: &[u32]) -> Outcome<ArrayRef> {
    let first = rows.first().copied().unwrap_or_default();
    if rows.iter().zip(first..).all(|(row, expected)| *row == expected) {
        return Ok(column.slice(first as usize, rows.len()));
    }
    take(column, &UInt32Array::from(rows.to_vec()), None).map_err(arrow_error)
}

/// Copies the results of each aggregate call from several sets of result columns into one column. Each entry
/// of `from` is the index of such a set and the index of a row in it.
pub(super) fn gathered(
    results: &[Vec<ArrayRef>],
    calls: usize,
    from: &[(usize, usize)],
) -> Outcome<Vec<ArrayRef>> {
    (0..calls)
        .map(|call| {
            let arrays: Vec<&dyn arrow::array::Array> =
                results.iter().map(|columns| &*columns[call]).collect();
            interleave(&arrays, from).map_err(arrow_error)
        })
        .collect()
}
