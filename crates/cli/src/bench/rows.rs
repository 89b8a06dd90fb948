//! The sink of a benchmark: keeps result rows for the check, and writes them to a file if one is wanted.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use thalweg::{Fault, Record, Sink};
use thalweg_connectors::{CsvSink, RealDisk, RowWriter, SinkError};

use crate::failure;

/// Result rows that a run may keep; above, it fails rather than fill the memory.
const ROWS_MAX: usize = 10_000_000;

/// The rows that a query has kept.
pub type Kept<R> = Arc<Mutex<Vec<R>>>;

/// Writes a result as CSV.
pub type WriteRow<T> = fn(&Record<T>, &mut RowWriter);

/// Rows of type `R` of the results of type `T`.
pub struct Rows<T, R> {
    row_of: fn(&Record<T>) -> R,
    kept: Kept<R>,
    csv: Option<CsvSink<T, WriteRow<T>>>,
}

impl<T, R> Rows<T, R> {
    /// A sink that keeps `row_of` of each result, and the rows it will have kept.
    pub fn new(
        row_of: fn(&Record<T>) -> R,
        file: Option<PathBuf>,
        write: WriteRow<T>,
    ) -> Result<(Self, Kept<R>)> {
        let csv = file.map(|path| CsvSink::create(Arc::new(RealDisk), path, write)).transpose();
        let csv = csv.map_err(|error| failure::of_connector(&error))?;
        let kept = Arc::new(Mutex::new(Vec::new()));
        Ok((Rows { row_of, kept: Arc::clone(&kept), csv }, kept))
    }
}

/// Takes the rows out, once the query has ended.
pub fn take<R>(kept: &Mutex<Vec<R>>) -> Vec<R> {
    std::mem::take(&mut *kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

impl<T: 'static, R: Send> Sink<T> for Rows<T, R> {
    fn write(&mut self, record: Record<T>) -> Result<(), Fault> {
        let mut kept = self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if kept.len() == ROWS_MAX {
            return Err(SinkError::Full { max_records: ROWS_MAX }.into());
        }
        kept.push((self.row_of)(&record));
        drop(kept);
        self.csv.as_mut().map_or(Ok(()), |csv| csv.write(record))
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.csv.as_mut().map_or(Ok(()), Sink::finish)
    }
}
