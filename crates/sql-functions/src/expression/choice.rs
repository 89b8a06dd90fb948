//! Choices among values, row by row: CASE, IF, COALESCE and IFNULL. A value is computed only for the rows that take it,
//! so `IF(a = 0, 0, 1 / a)` never divides by zero.

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute;
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;

use super::{Typed, arrow_error};
use crate::functions::{EvaluationError, column};
use crate::values::ColumnarValue;

/// Functions that need only one of their arguments behind the first for each row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    /// IF: the second argument if the first is TRUE, or else the third.
    If,
    /// COALESCE and IFNULL: the first argument that is not NULL.
    FirstKnown,
}

impl Choice {
    /// Computes the call from the values of its first argument. The other arguments are evaluated for the rows that
    /// need them.
    pub(super) fn made(
        self,
        first: &ColumnarValue,
        arguments: &[Typed],
        batch: &RecordBatch,
        of: &DataType,
    ) -> Result<ArrayRef, EvaluationError> {
        let first = column(first, batch.num_rows())?;
        let all: Vec<u32> = (0..batch.num_rows() as u32).collect();
        let mut pieces = Pieces::of(batch, of);
        match (self, arguments) {
            (Choice::If, [_, then, otherwise]) => {
                let holds = first.as_boolean_opt();
                let is_true = |row: &u32| {
                    holds.is_some_and(|holds| holds.is_valid(*row as usize) && holds.value(*row as usize))
                };
                let (taken, left): (Vec<u32>, Vec<u32>) = all.into_iter().partition(is_true);
                pieces.evaluate(then, &taken)?;
                pieces.evaluate(otherwise, &left)?;
            }
            (_, arguments) => {
                let mut left = pieces.add(first, all)?;
                for argument in arguments.iter().skip(1) {
                    left = pieces.evaluate(argument, &left)?;
                }
            }
        }
        pieces.joined()
    }
}

/// Computes CASE: each branch is evaluated only for the rows for which its condition is the first true one.
pub(super) fn choose(
    branches: &[(Typed, Typed)],
    otherwise: &Typed,
    batch: &RecordBatch,
    of: &DataType,
) -> Result<ArrayRef, EvaluationError> {
    // `left` holds the rows for which no condition of the CASE was true yet.
    let mut left: Vec<u32> = (0..batch.num_rows() as u32).collect();
    let mut pieces = Pieces::of(batch, of);
    for (condition, value) in branches {
        if left.is_empty() {
            break;
        }
        let open = rows_of(batch, &left)?;
        let holds = condition.evaluate_booleans(&open)?;
        let is_true = |place: usize| holds.is_valid(place) && holds.value(place);
        let (taken, rest): (Vec<(usize, u32)>, Vec<(usize, u32)>) =
            left.iter().copied().enumerate().partition(|(place, _)| is_true(*place));
        let taken: Vec<u32> = taken.into_iter().map(|(_, row)| row).collect();
        left = rest.into_iter().map(|(_, row)| row).collect();
        pieces.evaluate(value, &taken)?;
    }
    pieces.evaluate(otherwise, &left)?;
    pieces.joined()
}

/// Parts of a column that is put together from the values of several expressions.
struct Pieces<'a> {
    batch: &'a RecordBatch,
    of: &'a DataType,
    pieces: Vec<ArrayRef>,
    /// For each row of the batch: which of the pieces has the row's value, and the index of the value there.
    from: Vec<(usize, usize)>,
}

impl<'a> Pieces<'a> {
    fn of(batch: &'a RecordBatch, of: &'a DataType) -> Self {
        Pieces { batch, of, pieces: Vec::new(), from: vec![(0, 0); batch.num_rows()] }
    }

    /// Evaluates an expression for rows of the batch, which get its values; returns those of the rows whose value is
    /// NULL.
    fn evaluate(&mut self, value: &Typed, rows: &[u32]) -> Result<Vec<u32>, EvaluationError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let values = value.evaluate_column(&rows_of(self.batch, rows)?)?;
        self.add(values, rows.to_vec())
    }

    /// Sets the values of rows; returns those of the rows whose value is NULL.
    fn add(&mut self, values: ArrayRef, mut rows: Vec<u32>) -> Result<Vec<u32>, EvaluationError> {
        let values = match values.data_type() == self.of {
            true => values,
            false => compute::cast(&values, self.of).map_err(arrow_error)?,
        };
        for (place, row) in rows.iter().enumerate() {
            self.from[*row as usize] = (self.pieces.len(), place);
        }
        let nulls = values.logical_nulls();
        let mut places = 0..;
        rows.retain(|_| {
            let place = places.next().unwrap_or_default();
            nulls.as_ref().is_some_and(|nulls| nulls.is_null(place))
        });
        self.pieces.push(values);
        Ok(rows)
    }

    fn joined(self) -> Result<ArrayRef, EvaluationError> {
        match &self.pieces[..] {
            [] => Ok(arrow::array::new_empty_array(self.of)),
            // A single piece has the values of all rows in their order.
            [only] => Ok(only.clone()),
            pieces => {
                let pieces: Vec<&dyn Array> = pieces.iter().map(|piece| &**piece).collect();
                compute::interleave(&pieces, &self.from).map_err(arrow_error)
            }
        }
    }
}

/// Returns the rows of a batch with the given indexes, or the batch itself if these are all its rows.
fn rows_of(batch: &RecordBatch, rows: &[u32]) -> Result<RecordBatch, EvaluationError> {
    if rows.len() == batch.num_rows() {
        return Ok(batch.clone());
    }
    if batch.num_columns() == 0 {
        // Arrow counts the rows that it takes by their columns, and these rows have none.
        return Ok(batch.slice(0, rows.len()));
    }
    compute::take_record_batch(batch, &UInt32Array::from(rows.to_vec())).map_err(arrow_error)
}
