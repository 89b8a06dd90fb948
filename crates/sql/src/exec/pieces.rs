//! Output of operators in pieces, and the clock by which state expires.

use std::fmt;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use thalweg_model::Clock;
use thalweg_sql_formats::RowKind;
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch};

use super::order::bytes_of;

/// Cuts output rows into pieces of at most one batch.
#[derive(Default)]
pub(super) struct Pieces {
    made: Option<(RecordBatch, Option<Vec<RowKind>>, usize)>,
}

impl Pieces {
    /// Sets the next rows and their kinds of change; `None` if all are inserts. Earlier rows must have been
    /// fetched.
    pub(super) fn put(&mut self, rows: RecordBatch, kinds: Option<Vec<RowKind>>) {
        self.made = Some((rows, kinds, 0));
    }

    /// Returns the next piece.
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

    /// Returns the bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.made.as_ref().map_or(0, |(rows, _, _)| bytes_of(rows))
    }
}

/// Tells the processing time, by which state expires.
#[derive(Clone)]
pub struct Now(Arc<dyn Clock>);

impl Now {
    /// Creates it from a clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Now(clock)
    }

    /// Returns milliseconds since the epoch.
    pub(super) fn ms(&self) -> i64 {
        i64::try_from(self.0.now().as_nanos() / 1_000_000).unwrap_or(i64::MAX)
    }
}

impl fmt::Debug for Now {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Now")
    }
}
