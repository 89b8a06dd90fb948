//! The contract of connectors that are read: rows as columns, up to a few thousand at a time.

use arrow::record_batch::RecordBatch;
use thalweg_model::{Allowance, Fault, ProcessingTime, SourceStatus, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;

/// Rows from a connector: the requested columns, in the requested order.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The columns.
    pub columns: RecordBatch,
    /// The kind of change of each row; `None` if all rows are inserts.
    pub kinds: Option<Vec<RowKind>>,
}

/// The result of a poll.
#[derive(Debug)]
pub struct PolledRows {
    /// Rows, if there were any.
    pub rows: Option<Rows>,
    /// The status of the source.
    pub status: SourceStatus,
}

/// A source of the rows of a table. Like [`thalweg_model::Source`] it never waits: its status says when to
/// poll again.
pub trait RowSource: Send {
    /// Returns at most `rows_max` rows, and the status of the source at `now`.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn poll(&mut self, now: ProcessingTime, rows_max: usize) -> Result<PolledRows, Fault>;

    /// Takes the allowance that pays for temporary memory of a poll. Called before the first poll.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// Publishes the diverted bad records. The source is not polled again.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Returns the number of records that could not be decoded and that the table's options did not let pass.
    fn bad_count(&self) -> u64 {
        0
    }

    /// Returns the bytes held in buffers.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Saves the position behind the last row given out.
    ///
    /// # Errors
    /// [`StateError`] if the position cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Restores a saved position.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such a position, or it can no longer be reached.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;
}
