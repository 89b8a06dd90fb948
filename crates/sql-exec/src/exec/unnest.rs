//! UNNEST: emits each row once for each element of an array or each entry of a map.
//!
//! Input      batches
//! Output     some columns of the row, the parts of the element, and its position; in pieces, rows and elements in their order
//! State      none
//! Emits      at once
//! Late       ignores event time
//! Watermark  forwarded unchanged
//! Cost       the cost of the expression; columns of the row are copied once per element
//! Source     Flink's documentation, "Joins", section "Array, Multiset and Map Expansion"; `UnnestRowsFunctionBase`
//!
//! A row whose array or map is NULL or empty has no elements. An element that is NULL has NULL in all of its parts.

use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, NullBufferBuilder, StructArray, UInt32Array, new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{is_null, nullif, take};
use arrow::datatypes::SchemaRef;
use thalweg_model::{EventTime, Payment, StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::{Typed, arrow_error};
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::scratch::{self, RESULT_TOO_LONG, value_bytes};
use thalweg_sql_tables::batch::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, Batch, batch_of, pay};

use super::accounts::{Accounts, accounted};
use super::calc::schema_of;
use super::operator::{BatchOperator, Outcome};
use crate::plan::{Column, UnnestKind};

#[cfg(test)]
mod tests;

/// Greatest number of rows of an output batch: that of all batches.
const OUTPUT_ROWS_MAX: usize = BATCH_ROWS_MAX;

/// Greatest number of bytes that copies of columns of input rows take in an output batch, unless one copy of one row takes
/// more: that of all batches.
const COPIES_BYTES_MAX: usize = BATCH_BYTES_MAX;

/// Collection that an UNNEST takes apart, and the columns of its output.
#[derive(Clone)]
pub struct UnnestShape {
    /// Array or map, as an expression over the columns of the input.
    pub value: Typed,
    /// Fate of a row without elements.
    pub kind: UnnestKind,
    /// Indexes of the columns of the input that the output has.
    pub kept: Vec<usize>,
    /// Indexes of the parts of an element that the output has, as in [`Node::Unnest`](crate::plan::Node::Unnest).
    pub parts: Vec<usize>,
    /// Whether the last output column is the position of the element.
    pub has_ordinality: bool,
}

/// Operator that emits each row once for each element of an array or a map.
pub struct Unnest {
    shape: Arc<UnnestShape>,
    schema: SchemaRef,
    accounts: Accounts,
    /// Input batches whose collections are still to be computed; the batch to compute next is at the end of the list.
    left: Vec<Batch>,
    open: Option<Open>,
}

/// An input batch with its collections, and how far it was emitted.
struct Open {
    batch: Batch,
    elements: Elements,
    /// Row whose elements are emitted next.
    row: usize,
    /// Number of elements of that row that were emitted.
    emitted: usize,
    /// Whether copies of rows may be long, so that the bytes of each row are counted.
    is_wide: bool,
    /// Share of the memory budget for the elements, which the output shares.
    payment: Option<Payment>,
}

/// The elements of all collections of a batch, one behind the other.
struct Elements {
    offsets: OffsetBuffer<i32>,
    /// Rows whose collection is not NULL; `None` if all are.
    nulls: Option<NullBuffer>,
    /// Wanted parts of the elements, from the first element of the first row on.
    parts: Vec<ArrayRef>,
}

/// Output rows of a piece, before their columns are made.
struct Piece {
    /// Input row of each output row.
    rows: Vec<u32>,
    /// Element of each output row; 0 for a row without elements.
    places: Vec<u32>,
    /// Position of each element in its collection, if it is wanted.
    positions: Vec<i32>,
    /// Output rows that have an element.
    with_element: NullBufferBuilder,
}

impl Elements {
    /// Takes a column of arrays or maps apart.
    fn of(value: &ArrayRef, parts: &[usize]) -> Outcome<Self> {
        if let Some(lists) = value.as_list_opt::<i32>() {
            let all = span(lists.offsets());
            let values = lists.values().slice(all.start, all.len());
            let parts = match values.as_struct_opt() {
                Some(rows) => parts.iter().map(|part| field(rows, *part)).collect::<Outcome<_>>()?,
                None => parts.iter().map(|_| Arc::clone(&values)).collect(),
            };
            return Ok(Elements { offsets: lists.offsets().clone(), nulls: lists.nulls().cloned(), parts });
        }
        if let Some(maps) = value.as_map_opt() {
            let all = span(maps.offsets());
            let entries = maps.entries().slice(all.start, all.len());
            let parts = parts.iter().map(|part| field(&entries, *part)).collect::<Outcome<_>>()?;
            return Ok(Elements { offsets: maps.offsets().clone(), nulls: maps.nulls().cloned(), parts });
        }
        Err(no_collection(value))
    }

    /// Returns the range of a row's elements among all elements of the batch; it is empty if the collection is NULL.
    fn of_row(&self, row: usize) -> Range<usize> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return 0..0;
        }
        let first = self.offsets[0];
        (self.offsets[row] - first) as usize..(self.offsets[row + 1] - first) as usize
    }

    /// Returns the greatest number of elements of a row of the batch.
    fn most(&self) -> usize {
        self.offsets.lengths().max().unwrap_or_default()
    }
}

/// Returns the range of the elements of all rows among the elements that an array or map holds.
fn span(offsets: &OffsetBuffer<i32>) -> Range<usize> {
    let end = |offset: Option<&i32>| offset.map_or(0, |offset| *offset as usize);
    end(offsets.first())..end(offsets.last())
}

/// Returns a field of rows, which is NULL where the row is NULL.
fn field(rows: &StructArray, place: usize) -> Outcome<ArrayRef> {
    let Some(field) = rows.columns().get(place) else { return Err(no_collection(rows)) };
    if rows.null_count() == 0 {
        return Ok(Arc::clone(field));
    }
    // A row that is NULL may have values in the slots of its fields.
    is_null(rows).and_then(|nulls| nullif(field, &nulls)).map_err(arrow_error)
}

/// Returns the error for a value of another type than planning has found.
fn no_collection(value: &dyn Array) -> EvaluationError {
    let message = format!("UNNEST cannot take {} apart in the way that was planned", value.data_type());
    EvaluationError { code: "EVALUATION", message }
}

impl UnnestShape {
    /// Computes the collections of a batch.
    fn open(&self, batch: Batch, accounts: &Accounts) -> Outcome<Open> {
        let value = self.value.evaluate_column(&batch.rows)?;
        let payment = match self.value.as_column() {
            Some(_) => batch.payment.clone(),
            None => pay(&accounts.allowance, value_bytes(&value), RESULT_TOO_LONG)?,
        };
        let elements = Elements::of(&value, &self.parts)?;
        let kept = self.kept.iter().map(|place| value_bytes(batch.rows.column(*place)));
        let is_wide = kept.sum::<usize>().saturating_mul(elements.most()) > COPIES_BYTES_MAX;
        Ok(Open { batch, elements, row: 0, emitted: 0, is_wide, payment })
    }

    /// Returns the bytes of the columns of an input row that are copied for each of its elements.
    fn copy_bytes(&self, batch: &Batch, row: usize) -> usize {
        self.kept.iter().map(|place| value_bytes(&batch.rows.column(*place).slice(row, 1))).sum()
    }
}

impl Open {
    /// Returns the next output rows.
    fn next_rows(&mut self, shape: &UnnestShape) -> Piece {
        let mut piece = Piece {
            rows: Vec::new(),
            places: Vec::new(),
            positions: Vec::new(),
            with_element: NullBufferBuilder::new(0),
        };
        let mut left_bytes = COPIES_BYTES_MAX;
        while self.row < self.batch.len() {
            let mut room = OUTPUT_ROWS_MAX - piece.rows.len();
            let mut copy_bytes = 0;
            if self.is_wide {
                copy_bytes = shape.copy_bytes(&self.batch, self.row);
                // An output batch has one row at least.
                let least = usize::from(piece.rows.is_empty());
                room = room.min((left_bytes / copy_bytes.max(1)).max(least));
            }
            if room == 0 {
                break;
            }
            let all = self.elements.of_row(self.row);
            let rest = all.start + self.emitted..all.end;
            let next = rest.start..rest.end.min(rest.start.saturating_add(room));
            if !next.is_empty() {
                piece.rows.extend(repeat_n(self.row as u32, next.len()));
                if shape.has_ordinality {
                    let first = self.emitted as i32 + 1;
                    piece.positions.extend(first..first + next.len() as i32);
                }
                piece.with_element.append_n_non_nulls(next.len());
                left_bytes = left_bytes.saturating_sub(next.len().saturating_mul(copy_bytes));
                piece.places.extend(next.clone().map(|place| place as u32));
            } else if shape.kind == UnnestKind::Left {
                piece.rows.push(self.row as u32);
                piece.places.push(0);
                if shape.has_ordinality {
                    piece.positions.push(0);
                }
                piece.with_element.append_null();
                left_bytes = left_bytes.saturating_sub(copy_bytes);
            }
            if next.len() < rest.len() {
                self.emitted += next.len();
                break;
            }
            (self.row, self.emitted) = (self.row + 1, 0);
        }
        piece
    }

    /// Returns the next output batch; `None` if no row is left.
    fn next(&mut self, shape: &UnnestShape, schema: &SchemaRef) -> Outcome<Option<Batch>> {
        let Piece { rows, places, positions, mut with_element } = self.next_rows(shape);
        // The last batch of a source announces the end of the source, so it is forwarded even without rows.
        if rows.is_empty() && !self.batch.is_last() {
            return Ok(None);
        }
        let kinds = self.batch.kinds.as_ref();
        let kinds = kinds.map(|kinds| rows.iter().map(|row| kinds[*row as usize]).collect());
        let count = rows.len();
        let (rows, nulls) = (UInt32Array::from(rows), with_element.finish());
        let mut columns = Vec::with_capacity(schema.fields().len());
        for place in &shape.kept {
            columns.push(take(self.batch.rows.column(*place), &rows, None).map_err(arrow_error)?);
        }
        let has_none = nulls.as_ref().is_some_and(|nulls| nulls.null_count() == count);
        // Elements that lie one behind the other are not copied.
        let adjacent = match (&nulls, &places[..]) {
            (None, [first, .., last]) if (last - first) as usize + 1 == count => Some(*first as usize),
            _ => None,
        };
        let places = UInt32Array::new(places.into(), nulls.clone());
        for part in &self.elements.parts {
            columns.push(match adjacent {
                Some(first) => part.slice(first, count),
                None if has_none => new_null_array(part.data_type(), count),
                None => take(part, &places, None).map_err(arrow_error)?,
            });
        }
        if shape.has_ordinality {
            columns.push(Arc::new(Int32Array::new(positions.into(), nulls)));
        }
        let watermark = self.batch.watermark.filter(|_| self.is_done());
        let rows = batch_of(schema, columns, count)?;
        Ok(Some(Batch { rows, kinds, watermark, failure: None, payment: self.payment.clone() }))
    }

    fn is_done(&self) -> bool {
        self.row == self.batch.len()
    }
}

impl Unnest {
    /// Creates an UNNEST. `columns` are those of its output.
    pub fn new(shape: UnnestShape, columns: &[Column]) -> Self {
        Unnest {
            shape: Arc::new(shape),
            schema: schema_of(columns),
            accounts: Accounts::default(),
            left: Vec::new(),
            open: None,
        }
    }

    /// Counts the rows of a batch: rows that are emitted at least once, and rows that are not.
    fn count(&mut self, open: &Open) {
        let rows = open.batch.len();
        let emitted = match self.shape.kind {
            UnnestKind::Left => rows,
            UnnestKind::Inner => (0..rows).filter(|row| !open.elements.of_row(*row).is_empty()).count(),
        };
        self.accounts.counts.read += rows as u64;
        self.accounts.counts.forwarded += emitted as u64;
        self.accounts.counts.filtered += (rows - emitted) as u64;
    }
}

impl BatchOperator for Unnest {
    fn name(&self) -> &str {
        "unnest"
    }

    fn take(&mut self, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        self.left.push(batch);
        Ok(())
    }

    /// Returns the next output batch. Only as many collections are computed at a time as there is memory for.
    fn next(&mut self) -> Outcome<Option<Batch>> {
        loop {
            if let Some(open) = &mut self.open {
                let made = open.next(&self.shape, &self.schema)?;
                if open.is_done() {
                    self.open = None;
                }
                if made.is_some() {
                    return Ok(made);
                }
                continue;
            }
            let Some(batch) = self.left.pop() else { return Ok(None) };
            let rows = batch.len();
            let opened = scratch::within(&self.accounts.allowance, rows, || {
                self.shape.open(batch.clone(), &self.accounts)
            });
            match opened {
                Err(error) if error.code == RESULT_TOO_LONG && rows > 1 => {
                    let (first, rest) = batch.split(rows / 2);
                    self.left.extend([rest, first]);
                }
                Err(error) => return Err(error),
                Ok(open) => {
                    self.count(&open);
                    self.open = Some(open);
                }
            }
        }
    }

    accounted!();

    fn fork(&self) -> Box<dyn BatchOperator> {
        Box::new(Unnest {
            shape: Arc::clone(&self.shape),
            schema: Arc::clone(&self.schema),
            accounts: self.accounts.of_copy(),
            left: Vec::new(),
            open: None,
        })
    }

    /// Saves nothing, because pending output is emitted before state is saved and there is no other state.
    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}
