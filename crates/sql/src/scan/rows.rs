//! The contract of connectors that are read: rows as columns, a few thousand at a time.

use arrow::record_batch::RecordBatch;
use thalweg_model::{Allowance, Fault, ProcessingTime, SourceStatus, StateError, StateReader, StateWriter};

use crate::formats::RowKind;

/// Rows as they come from a connector: the columns that were asked for, in that order.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The columns.
    pub columns: RecordBatch,
    /// What becomes of each row; all are new if there is none.
    pub kinds: Option<Vec<RowKind>>,
}

/// What a poll brought.
#[derive(Debug)]
pub struct PolledRows {
    /// Rows, if there were any.
    pub rows: Option<Rows>,
    /// How the source stands.
    pub status: SourceStatus,
}

/// Where the rows of a table come from. As a [`thalweg_model::Source`] it never waits: it says when to be asked again.
pub trait RowSource: Send {
    /// At most `rows_max` rows, and how it stands at `now`.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn poll(&mut self, now: ProcessingTime, rows_max: usize) -> Result<PolledRows, Fault>;

    /// Before the first poll: takes the allowance that temporary memory of a poll is paid from.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// Publishes what it has put aside (bad records that were diverted): it is not polled again.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Records that were not understood and, by the table's options, not let through.
    fn bad_count(&self) -> u64 {
        0
    }

    /// Bytes held for buffers.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Writes down the position behind the last row that was given out.
    ///
    /// # Errors
    /// [`StateError`] if it cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Goes to a position that was saved.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are no such position, or it can no longer be reached.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;
}
