//! The sink of a benchmark: keeps result rows for the check, and writes them to a file if one is wanted.

use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use thalweg::{Fault, Record, Sink};
use thalweg_cli::failure;
use thalweg_connectors::{CsvSink, RealDisk, RowWriter};
use thalweg_workloads::reference::{Row, compare};

/// Largest number of result rows that a sink keeps, unless told otherwise. If there are more, the sink drops
/// them all instead of filling the memory, and the run is not compared with the reference.
const ROWS_MAX: u64 = 10_000_000;

/// The result rows that a sink has kept. It is `None` until the query has ended, and stays `None` if there
/// were too many rows.
pub struct Kept<R>(Arc<Mutex<Option<Vec<R>>>>);

/// Writes one result as a row of CSV.
pub type WriteRow<T> = fn(&Record<T>, &mut RowWriter);

/// A sink that keeps a row of type `R` for each result of type `T`.
pub struct Rows<T, R> {
    row_of: fn(&Record<T>) -> R,
    /// The result rows kept so far; `None` if there were too many.
    rows: Option<Vec<R>>,
    kept: Kept<R>,
    rows_max: u64,
    csv: Option<CsvSink<T, WriteRow<T>>>,
}

impl<T, R> Rows<T, R> {
    /// Creates a sink that keeps the row that `row_of` makes of each result, and the handle from which these
    /// rows are read after the query.
    pub fn new(
        row_of: fn(&Record<T>) -> R,
        file: Option<PathBuf>,
        write: WriteRow<T>,
    ) -> Result<(Self, Kept<R>)> {
        let csv = file.map(|path| CsvSink::create(Arc::new(RealDisk), path, write)).transpose();
        let csv = csv.map_err(|error| failure::of_connector(&error))?;
        let done = Arc::new(Mutex::new(None));
        let kept = || Kept(Arc::clone(&done));
        Ok((Rows { row_of, rows: Some(Vec::new()), kept: kept(), rows_max: ROWS_MAX, csv }, kept()))
    }

    /// Returns the sink with another limit: it keeps at most `rows_max` rows, as many as the reference can
    /// check.
    pub fn keeping(self, rows_max: u64) -> Self {
        Rows { rows_max, ..self }
    }
}

impl<R> Kept<R> {
    /// Returns whether the sink has kept all result rows, rather than dropped them because there were too
    /// many. The answer is valid after the query has ended.
    pub fn is_whole(&self) -> bool {
        self.lock().is_some()
    }

    /// Takes the result rows out of the sink, after the query has ended.
    pub fn take(&self) -> Vec<R> {
        mem::take(&mut *self.lock()).expect("only rows that are whole are compared")
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<R>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Describes the first difference between the expected and the found result rows.
pub fn difference<R: Row>(expected: &[R], found: &[R]) -> Option<String> {
    compare(expected, found).err().map(|difference| difference.to_string())
}

/// Describes the first count that differs from the expected one. A count has its name, the number that the
/// reference expects and the number that was found.
pub fn wrong_count(counts: &[(&str, u64, u64)]) -> Option<String> {
    let (name, expected, found) = counts.iter().find(|(_, expected, found)| expected != found)?;
    Some(format!("{name}: {expected} expected, {found} found"))
}

impl<T: 'static, R: Send> Sink<T> for Rows<T, R> {
    fn write(&mut self, record: Record<T>) -> Result<(), Fault> {
        if let Some(rows) = &mut self.rows {
            if (rows.len() as u64) < self.rows_max {
                rows.push((self.row_of)(&record));
            } else {
                self.rows = None;
            }
        }
        self.csv.as_mut().map_or(Ok(()), |csv| csv.write(record))
    }

    fn finish(&mut self) -> Result<(), Fault> {
        *self.kept.lock() = self.rows.take();
        self.csv.as_mut().map_or(Ok(()), Sink::finish)
    }
}

#[cfg(test)]
mod tests {
    use thalweg::EventTime;

    use super::*;

    fn kept_of(rows: u64, rows_max: u64) -> Kept<u64> {
        let (sink, kept) = Rows::new(|record: &Record<u64>| record.value, None, |_, _| ()).unwrap();
        let mut sink = sink.keeping(rows_max);
        (0..rows).for_each(|row| sink.write(Record::new(EventTime::EPOCH, row)).unwrap());
        assert!(!kept.is_whole(), "there are none before the end");
        sink.finish().unwrap();
        kept
    }

    #[test]
    fn rows_are_kept_up_to_the_bound_and_forgotten_above() {
        let kept = kept_of(3, 3);
        assert_eq!((kept.is_whole(), kept.take()), (true, vec![0, 1, 2]));
        assert!(!kept_of(4, 3).is_whole());
        assert!(kept_of(0, 0).is_whole());
    }
}
