//! The aggregate calls of an operator that asks for results again and again: accumulators by slot, and what rows bring them.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt32Array};
use arrow::compute::{interleave, take};
use arrow::record_batch::RecordBatch;
use thalweg_model::{StateError, StateReader, StateWriter};

use super::operator::Outcome;
use crate::aggregates::Accumulator;
use crate::expression::arrow_error;
use crate::functions::EvaluationError;
use crate::plan::AggregateCall;

/// Calls and their accumulators.
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The places in the input of all that the calls read, each once.
    read: Vec<usize>,
}

struct Call {
    accumulator: Box<dyn Accumulator>,
    /// Places among what is read.
    arguments: Vec<usize>,
    filter: Option<usize>,
}

impl Calls {
    /// Accumulators of calls, which can take rows back if they have to.
    ///
    /// # Errors
    /// [`EvaluationError`] if one has to and cannot, which plans do not ask for.
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
                    let message = format!("{} cannot take rows back", call.name);
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

    /// How many calls there are.
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// The places in the input of all that is read.
    pub(super) fn read(&self) -> &[usize] {
        &self.read
    }

    /// What is read of a batch.
    pub(super) fn columns(&self, rows: &RecordBatch) -> Vec<ArrayRef> {
        self.read.iter().map(|place| Arc::clone(rows.column(*place))).collect()
    }

    /// Makes room for so many slots.
    pub(super) fn resize(&mut self, slots: usize) {
        self.calls.iter_mut().for_each(|call| call.accumulator.resize(slots));
    }

    /// Takes rows into slots, or takes them back: for each slot there is a row, by its place in the columns.
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

    /// The results of slots, a column for each call.
    pub(super) fn results_of(&self, slots: &[u32]) -> Outcome<Vec<ArrayRef>> {
        self.calls.iter().map(|call| call.accumulator.results_of(slots)).collect()
    }

    /// Forgets what slots have.
    pub(super) fn reset(&mut self, slots: &[u32]) {
        if !slots.is_empty() {
            self.calls.iter_mut().for_each(|call| call.accumulator.reset(slots));
        }
    }

    /// Bytes that taking in so many rows may take at once beside what is held.
    pub(super) fn growth_bytes(&self, rows: usize) -> usize {
        self.calls.iter().map(|call| call.accumulator.growth_bytes(rows)).sum()
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.calls.iter().map(|call| call.accumulator.bytes()).sum()
    }

    /// Writes down all accumulators.
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.calls.iter().try_for_each(|call| call.accumulator.save(state))
    }

    /// Replaces them by those that were written.
    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.calls.iter_mut().try_for_each(|call| call.accumulator.load(state))
    }
}

/// Those values of a column.
pub(super) fn picked(column: &ArrayRef, rows: &[u32]) -> Outcome<ArrayRef> {
    let first = rows.first().copied().unwrap_or_default();
    if rows.iter().zip(first..).all(|(row, expected)| *row == expected) {
        return Ok(column.slice(first as usize, rows.len()));
    }
    take(column, &UInt32Array::from(rows.to_vec()), None).map_err(arrow_error)
}

/// For each call, the values at such places of the results that were asked for one after another: which of them, and where.
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
