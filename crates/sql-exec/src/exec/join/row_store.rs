//! Storage of the rows that a join keeps, batch by batch. Rows are forgotten one by one; the memory of a
//! batch is freed when its last row is forgotten.
//!
//! This costs little where rows that come together also go together, as rows in event time do. If only a few
//! rows of an arriving batch are to be kept, they are copied, so that the memory of the whole batch is freed
//! at once.

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::interleave;
use arrow::record_batch::RecordBatch;
use thalweg_sql_functions::expression::arrow_error;

use crate::exec::operator::Outcome;
use crate::exec::order::{bytes_of, compacted, taken};

/// Location of a stored row: the index of its batch, and its index in the batch.
pub(super) type Place = (u32, u32);

/// Stores rows that a join keeps, grouped by the batch in which they arrived.
#[derive(Default)]
pub(super) struct RowStore {
    batches: Vec<Option<Held>>,
    free: Vec<u32>,
    bytes: usize,
}

struct Held {
    rows: RecordBatch,
    /// Number of rows of the stored batch that are still needed.
    count: u32,
    bytes: usize,
}

impl RowStore {
    /// Stores the given rows of a batch and returns their locations.
    pub(super) fn keep(&mut self, batch: &RecordBatch, rows: &[u32]) -> Outcome<Vec<Place>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let is_cut = rows.len() * 2 < batch.num_rows();
        let held =
            if is_cut { taken(batch, &UInt32Array::from(rows.to_vec()))? } else { compacted(batch.clone())? };
        let bytes = bytes_of(&held) + size_of::<Held>();
        self.bytes += bytes;
        let held = Held { rows: held, count: rows.len() as u32, bytes };
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.batches.push(None);
                self.batches.len() as u32 - 1
            }
        };
        self.batches[slot as usize] = Some(held);
        let place = |(at, row): (usize, &u32)| (slot, if is_cut { at as u32 } else { *row });
        Ok(rows.iter().enumerate().map(place).collect())
    }

    /// Forgets a stored row; the last row of a batch frees the batch.
    pub(super) fn release(&mut self, (slot, _): Place) {
        if let Some(found) = self.batches.get_mut(slot as usize)
            && let Some(held) = found
        {
            held.count = held.count.saturating_sub(1);
            if held.count == 0 {
                self.bytes -= held.bytes;
                *found = None;
                self.free.push(slot);
            }
        }
    }

    /// Copies one column of stored rows, in the order of the given locations, into a new column.
    pub(super) fn column(&self, rows: &[Place], column: usize) -> Outcome<ArrayRef> {
        Gathering::of(self, rows).column(column)
    }

    /// Copies all columns of stored rows, in the order of the given locations, into new columns.
    pub(super) fn columns(&self, rows: &[Place], columns: usize) -> Outcome<Vec<ArrayRef>> {
        let gathering = Gathering::of(self, rows);
        (0..columns).map(|column| gathering.column(column)).collect()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Stored batches that hold some wanted rows, each batch once.
struct Gathering<'a> {
    batches: Vec<&'a RecordBatch>,
    places: Vec<(usize, usize)>,
}

impl<'a> Gathering<'a> {
    fn of(row_store: &'a RowStore, rows: &[Place]) -> Self {
        let mut numbers = vec![usize::MAX; row_store.batches.len()];
        let mut batches = Vec::new();
        let mut places = Vec::with_capacity(rows.len());
        for (slot, row) in rows {
            let number = &mut numbers[*slot as usize];
            if *number == usize::MAX
                && let Some(held) = &row_store.batches[*slot as usize]
            {
                *number = batches.len();
                batches.push(&held.rows);
            }
            places.push((*number, *row as usize));
        }
        Gathering { batches, places }
    }

    fn column(&self, column: usize) -> Outcome<ArrayRef> {
        let arrays: Vec<&dyn Array> = self.batches.iter().map(|batch| &**batch.column(column)).collect();
        interleave(&arrays, &self.places).map_err(arrow_error)
    }
}
