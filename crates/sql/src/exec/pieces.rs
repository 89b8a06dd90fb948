//! What operators emit piece by piece, and the clock that they ask how old their state is.

use std::fmt;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use thalweg_model::Clock;

use super::order::bytes_of;
use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::formats::RowKind;

/// Rows that come out, no more of them at a time than a batch may have.
#[derive(Default)]
pub(super) struct Pieces {
    made: Option<(RecordBatch, Option<Vec<RowKind>>, usize)>,
}

impl Pieces {
    /// What comes out next, and what becomes of each row if they are not all new. What was there has come out.
    pub(super) fn put(&mut self, rows: RecordBatch, kinds: Option<Vec<RowKind>>) {
        self.made = Some((rows, kinds, 0));
    }

    /// The next piece.
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

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.made.as_ref().map_or(0, |(rows, _, _)| bytes_of(rows))
    }
}

/// Tells the processing time, by which state expires.
#[derive(Clone)]
pub struct Now(Arc<dyn Clock>);

impl Now {
    /// By a clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Now(clock)
    }

    /// Milliseconds since the epoch.
    pub(super) fn ms(&self) -> i64 {
        i64::try_from(self.0.now().as_nanos() / 1_000_000).unwrap_or(i64::MAX)
    }
}

impl fmt::Debug for Now {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Now")
    }
}
