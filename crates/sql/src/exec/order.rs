//! The order of rows: by some columns, then by arrival.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::{SortColumn, SortOptions, lexsort_to_indices, take};
use arrow::record_batch::RecordBatch;

use super::operator::Outcome;
use crate::expression::arrow_error;
use crate::plan::SortKey;

/// Returns the places of the rows of a batch in sorted order. Equal rows are in the order of arrival, or
/// reversed if `is_last_first`.
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

/// Returns the rows of a batch at `places`, in that order.
pub(super) fn taken(rows: &RecordBatch, places: &UInt32Array) -> Outcome<RecordBatch> {
    let columns = rows.columns().iter().map(|column| take(column, places, None)).collect::<Result<_, _>>();
    super::calc::batch_of(&rows.schema(), columns.map_err(arrow_error)?, places.len())
}

/// Returns the bytes that a batch holds.
pub(super) fn bytes_of(rows: &RecordBatch) -> usize {
    rows.get_array_memory_size()
}
