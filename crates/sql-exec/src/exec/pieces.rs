//! Output of an operator, cut into batches of limited size, and the clock by which state expires.

use std::fmt;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use thalweg_model::Clock;
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::scratch::value_bytes;
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch};

use super::order::bytes_of;

/// Cuts output rows of an operator into batches of at most the greatest batch size.
#[derive(Default)]
pub(super) struct Pieces {
    made: Option<(RecordBatch, Option<Vec<RowKind>>, usize)>,
}

impl Pieces {
    /// Sets the output rows to be cut, and their kinds of change; `None` if all are inserts. All rows that
    /// were set before must have been returned by [`next`](Self::next).
    pub(super) fn put(&mut self, rows: RecordBatch, kinds: Option<Vec<RowKind>>) {
        self.made = Some((rows, kinds, 0));
    }

    /// Returns the next batch of the output rows; `None` if all have been returned.
    pub(super) fn next(&mut self) -> Option<Batch> {
        let (rows, kinds, from) = self.made.take()?;
        let count = (rows.num_rows() - from).min(BATCH_ROWS_MAX);
        if count == 0 {
            return None;
        }
        let mut piece = Batch::new(rows.slice(from, count));
        piece.kinds = kinds.as_ref().map(|kinds| kinds[from..from + count].into());
        if from + count < rows.num_rows() {
            self.made = Some((rows, kinds, from + count));
        }
        Some(piece)
    }

    /// Returns the bytes of the values of the output rows, however much memory their columns share with others.
    pub(super) fn value_bytes(&self) -> usize {
        self.made
            .as_ref()
            .map_or(0, |(rows, _, _)| rows.columns().iter().map(|column| value_bytes(column)).sum())
    }

    pub(super) fn bytes(&self) -> usize {
        self.made.as_ref().map_or(0, |(rows, _, _)| bytes_of(rows))
    }
}

/// Source of the processing time by which state expires.
#[derive(Clone)]
pub struct Now(Arc<dyn Clock>);

impl Now {
    /// Creates a source of processing time from a clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Now(clock)
    }

    /// Returns the processing time in milliseconds since the start of 1970.
    pub(super) fn ms(&self) -> i64 {
        i64::try_from(self.0.now().as_nanos() / 1_000_000).unwrap_or(i64::MAX)
    }
}

impl fmt::Debug for Now {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Now")
    }
}
