//! Tables as sinks of the engine: batches that leave a plan are written as rows by a connector.

use std::fmt;
use std::sync::{Arc, Mutex};

use arrow::array::Array;
use thalweg_model::{
    Allowance, Coded, Fault, Mark, Publisher, Record, Sink, StateError, StateReader, StateWriter, Weighed,
};

use crate::batch::{Batch, NOTHING_WEIGHED};
use crate::connect::RowSink;

/// Counts the rows which a job has read and written so far; it can be read while the job runs.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Mutex<(u64, u64)>>);

impl Tally {
    /// Returns the number of rows read from tables so far.
    pub fn rows_in(&self) -> u64 {
        self.0.lock().map_or(0, |rows| rows.0)
    }

    /// Returns the number of rows written to tables so far.
    pub fn rows_out(&self) -> u64 {
        self.0.lock().map_or(0, |rows| rows.1)
    }

    pub(crate) fn note_in(&self, rows: usize) {
        if let Ok(mut sums) = self.0.lock() {
            sums.0 += rows as u64;
        }
    }

    fn note_out(&self, rows: usize) {
        if let Ok(mut sums) = self.0.lock() {
            sums.1 += rows as u64;
        }
    }
}

/// Writes the rows of a table, as a sink of the engine.
pub struct TableSink {
    table: String,
    rows: Box<dyn RowSink>,
    /// Indexes, among the columns of the written rows, and names of the table columns that may not be NULL.
    not_null: Vec<(usize, String)>,
    tally: Tally,
    weighed: Weighed,
}

impl TableSink {
    /// Creates a sink that writes the rows of a table to `rows`. A NULL in one of the columns `not_null`,
    /// given by their indexes and names, fails the query.
    pub fn new(
        table: impl Into<String>,
        rows: Box<dyn RowSink>,
        not_null: Vec<(usize, String)>,
        tally: Tally,
    ) -> Self {
        TableSink { table: table.into(), rows, not_null, tally, weighed: NOTHING_WEIGHED }
    }
}

/// The error for a NULL that a query would write to a NOT NULL column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotNull {
    table: String,
    column: String,
}

impl fmt::Display for NotNull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "column `{}` of `{}` is NOT NULL, and a row has NULL there: filter such rows, or COALESCE them",
            self.column, self.table
        )
    }
}

impl std::error::Error for NotNull {}

impl Coded for NotNull {
    fn code(&self) -> &'static str {
        "NULL_IN_NOT_NULL"
    }
}

impl Sink<Batch> for TableSink {
    fn write(&mut self, record: Record<Batch>) -> Result<(), Fault> {
        let batch = record.value;
        self.weighed.taken += batch.weight();
        self.weighed.put += batch.len() as u64;
        if let Some(failure) = batch.failure {
            return Err((*failure).clone().into());
        }
        if batch.rows.num_rows() == 0 {
            return Ok(());
        }
        for (place, column) in &self.not_null {
            if batch.rows.column(*place).null_count() > 0 {
                return Err(NotNull { table: self.table.clone(), column: column.clone() }.into());
            }
        }
        self.tally.note_out(batch.rows.num_rows());
        self.rows.write(&batch.rows, batch.kinds.as_deref())
    }

    fn on_mark(&mut self, mark: Mark) -> Result<(), Fault> {
        match mark {
            Mark::Watermark(watermark) => self.rows.on_watermark(watermark),
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.rows.finish()
    }

    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        self.rows.publisher()
    }

    fn prepare(&mut self, checkpoint: u64, is_last: bool) -> Result<Vec<u8>, Fault> {
        self.rows.prepare(checkpoint, is_last)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.rows.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.rows.load(state)
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.rows.fund(allowance);
    }

    fn weighed(&self) -> Option<Weighed> {
        Some(self.weighed)
    }

    fn held_bytes(&self) -> usize {
        self.rows.held_bytes()
    }
}
