//! Sorting of the rows of a batch: by some columns, then by arrival.

use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, UInt32Array};
use arrow::compute::{SortColumn, SortOptions, concat_batches, lexsort_to_indices, take};
use arrow::record_batch::RecordBatch;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_tables::batch::{Batch, batch_of};

use super::operator::Outcome;
use crate::plan::SortKey;

/// Returns the indexes of the rows of a batch, sorted by the columns `first`, then by `keys`. Rows that are
/// equal in all of these are in the order of arrival, or in the reverse order if `is_last_first`.
pub(super) fn sorted(
    rows: &RecordBatch,
    first: &[ArrayRef],
    keys: &[SortKey],
    is_last_first: bool,
) -> Outcome<UInt32Array> {
    let count = u32::try_from(rows.num_rows()).unwrap_or(u32::MAX);
    let arrival: ArrayRef = Arc::new(UInt32Array::from_iter_values(0..count));
    let first = first.iter().map(|values| SortColumn { values: Arc::clone(values), options: None });
    let keys = keys.iter().map(|key| SortColumn {
        values: Arc::clone(rows.column(key.place)),
        options: Some(SortOptions { descending: key.is_descending, nulls_first: key.is_null_first }),
    });
    let arrival = SortColumn {
        values: arrival,
        options: Some(SortOptions { descending: is_last_first, nulls_first: false }),
    };
    let columns: Vec<SortColumn> = first.chain(keys).chain([arrival]).collect();
    lexsort_to_indices(&columns, None).map_err(arrow_error)
}

/// Returns the rows of a batch with the indexes `places`, in that order.
pub(super) fn taken(rows: &RecordBatch, places: &UInt32Array) -> Outcome<RecordBatch> {
    let columns = rows.columns().iter().map(|column| take(column, places, None)).collect::<Result<_, _>>();
    batch_of(&rows.schema(), columns.map_err(arrow_error)?, places.len())
}

/// Copies the rows of a batch if they fill less than half of the memory that they hold: a slice of a batch
/// holds the memory of the whole batch.
pub(super) fn compacted(rows: RecordBatch) -> Outcome<RecordBatch> {
    if bytes_of(&rows) / 2 <= Batch::new(rows.clone()).bytes() {
        return Ok(rows);
    }
    copied(&rows)
}

/// Returns a copy of the rows of a batch, in memory of its own.
pub(super) fn copied(rows: &RecordBatch) -> Outcome<RecordBatch> {
    concat_batches(&rows.schema(), [rows, &rows.slice(0, 0)]).map_err(arrow_error)
}

/// Returns the bytes that a batch holds. Memory that several of its columns share, such as a column and its
/// conversion to a time, counts once.
pub(super) fn bytes_of(rows: &RecordBatch) -> usize {
    let mut seen = Vec::with_capacity(2 * rows.num_columns());
    let columns = rows.columns().iter().map(|column| buffer_bytes(&column.to_data(), &mut seen));
    size_of::<RecordBatch>() + columns.sum::<usize>()
}

/// Returns the bytes of the buffers of an array and its children, without buffers whose addresses are in
/// `seen`. Adds the addresses of the others to `seen`.
fn buffer_bytes(array: &ArrayData, seen: &mut Vec<usize>) -> usize {
    let nulls = array.nulls().map(|nulls| nulls.buffer());
    let mut bytes = 0;
    for buffer in array.buffers().iter().chain(nulls) {
        let address = buffer.data_ptr().addr().get();
        if !seen.contains(&address) {
            seen.push(address);
            bytes += buffer.capacity();
        }
    }
    bytes + array.child_data().iter().map(|child| buffer_bytes(child, seen)).sum::<usize>()
}
