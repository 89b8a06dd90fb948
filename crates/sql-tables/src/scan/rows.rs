//! The contract of connectors that are read: rows as columns, up to a few thousand at a time.

use arrow::record_batch::RecordBatch;
use thalweg_model::{Allowance, Fault, ProcessingTime, SourceStatus, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;

/// Rows from a connector: the requested columns, in the requested order.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The requested columns of the rows.
    pub columns: RecordBatch,
    /// The kind of change of each row; `None` if all rows are inserts.
    pub kinds: Option<Vec<RowKind>>,
}

/// The result of one poll of a source.
#[derive(Debug)]
pub struct PolledRows {
    /// The rows of the poll, if there were any.
    pub rows: Option<Rows>,
    /// The status of the source, which says when to poll again.
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

    /// Returns whether the source only works for other sources of its table and never gives a row. Its stream ends at
    /// once, while its work goes on.
    fn only_helps(&self) -> bool {
        false
    }

    /// Gives the source the allowance through which it reserves memory of the engine's budget. Called before
    /// the first poll.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// Ends the source, and gives the file of bad records that it has diverted, if there is one, its final
    /// name. The source is not polled again.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Returns the processing time at which the last row that was returned could first have been read, as
    /// [`thalweg_model::Source::arrived`] does; `None` if the source does not know it.
    fn arrived(&self) -> Option<ProcessingTime> {
        None
    }

    /// Takes the time at which a row was due behind which a latency marker belongs, of the rows that were
    /// returned, in their order; `None` if there is no further one. A source has markers only if its rows are
    /// due at times that do not depend on its reader.
    fn next_marker(&mut self) -> Option<ProcessingTime> {
        None
    }

    /// Returns the number of bad records so far: records that could not be decoded, without those that an
    /// option such as `json.ignore-parse-errors` ignores.
    fn bad_count(&self) -> u64 {
        0
    }

    /// Returns the bytes of memory that the source holds in its buffers.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Saves the position of the source after the last row that it returned.
    ///
    /// # Errors
    /// [`StateError`] if the position cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Continues the source from a saved position.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such a position, or the position can no longer be reached.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;
}
