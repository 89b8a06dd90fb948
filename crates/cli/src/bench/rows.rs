//! The sink of a benchmark: keeps result rows for the check, and writes them to a file if one is wanted.

use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use thalweg::{Fault, Record, Sink};
use thalweg_connectors::{CsvSink, RealDisk, RowWriter};
use thalweg_workloads::reference::{Row, compare};

use crate::failure;

/// Result rows that a sink keeps. If there are more it forgets them all, rather than fill the memory, and the run
/// goes without the reference.
const ROWS_MAX: usize = 10_000_000;

/// The rows that a query has kept; none if there were too many.
pub struct Kept<R>(Arc<Mutex<Option<Vec<R>>>>);

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
        let rows = Arc::new(Mutex::new(Some(Vec::new())));
        let kept = || Kept(Arc::clone(&rows));
        Ok((Rows { row_of, kept: kept(), csv }, kept()))
    }
}

impl<R> Kept<R> {
    /// Whether all rows are there, once the query has ended.
    pub fn is_whole(&self) -> bool {
        self.lock().is_some()
    }

    /// Takes the rows out, once the query has ended.
    pub fn take(&self) -> Vec<R> {
        mem::take(&mut *self.lock()).expect("only rows that are whole are compared")
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<R>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a row, if it is not one too many.
    fn keep(&self, row: R) {
        let mut kept = self.lock();
        if let Some(rows) = &mut *kept {
            if rows.len() < ROWS_MAX {
                rows.push(row);
            } else {
                *kept = None;
            }
        }
    }
}

/// The first difference between expected and found rows, in words.
pub fn difference<R: Row>(expected: &[R], found: &[R]) -> Option<String> {
    compare(expected, found).err().map(|difference| difference.to_string())
}

impl<T: 'static, R: Send> Sink<T> for Rows<T, R> {
    fn write(&mut self, record: Record<T>) -> Result<(), Fault> {
        self.kept.keep((self.row_of)(&record));
        self.csv.as_mut().map_or(Ok(()), |csv| csv.write(record))
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.csv.as_mut().map_or(Ok(()), Sink::finish)
    }
}
