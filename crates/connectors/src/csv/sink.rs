//! A sink that writes records into a file of comma-separated lines, without a header.
//!
//! Guarantee: exact, on one file system. Rows gather in `<path>.inprogress`. [`Sink::finish`] writes the rest, syncs
//! the file to the disk and renames it, replacing any file of that name. So a file at `path` holds all rows of one
//! finished query. A sink that is dropped earlier removes the unfinished file.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use thalweg_model::disk::Disk;
use thalweg_model::{Fault, Record, Sink};

use super::row_writer::RowWriter;
use crate::in_progress::InProgressFile;
use crate::sink_error::SinkError;

/// Number of bytes that the sink gathers before it writes them: few system calls, and small compared with a
/// core's L2 cache.
pub const SINK_BUFFER_BYTES: usize = 64 << 10;

/// Sink that writes the row that the function `row` makes of each record. It holds [`SINK_BUFFER_BYTES`] and
/// one row.
///
/// # Example
/// ```no_run
/// # use std::sync::Arc;
/// use thalweg_connectors::{CsvSink, RealDisk, RowWriter};
/// use thalweg_model::Record;
///
/// let row = |trip: &Record<(u64, f64)>, row: &mut RowWriter| {
///     row.push_i64(trip.event_time.as_micros());
///     row.push_u64(trip.value.0);
///     row.push_f64(trip.value.1);
/// };
/// let sink = CsvSink::create(Arc::new(RealDisk), "results/nyt.csv", row)?;
/// # Ok::<(), thalweg_connectors::SinkError>(())
/// ```
pub struct CsvSink<T, F> {
    /// The unfinished output file; `None` once it has its final name.
    file: Option<InProgressFile>,
    path: PathBuf,
    rows: RowWriter,
    row: F,
    takes: std::marker::PhantomData<fn(T)>,
}

impl<T, F: Fn(&Record<T>, &mut RowWriter) + Send> CsvSink<T, F> {
    /// Creates the unfinished file `<path>.inprogress`; its directory must exist.
    ///
    /// # Errors
    /// [`SinkError::Failed`] if the file cannot be created.
    pub fn create(disk: Arc<dyn Disk>, path: impl Into<PathBuf>, row: F) -> Result<Self, SinkError> {
        let path = path.into();
        let file = InProgressFile::create(disk, &path).map_err(|source| failed(&path, source))?;
        Ok(CsvSink { file: Some(file), path, rows: RowWriter::new(), row, takes: std::marker::PhantomData })
    }

    fn write_out(&mut self) -> Result<(), SinkError> {
        let file = self.file.as_mut().expect("a sink takes nothing after its end");
        file.write_all(self.rows.as_bytes()).map_err(|source| failed(&self.path, source))?;
        self.rows.clear();
        Ok(())
    }
}

impl<T, F: Fn(&Record<T>, &mut RowWriter) + Send> Sink<T> for CsvSink<T, F> {
    fn write(&mut self, record: Record<T>) -> Result<(), Fault> {
        (self.row)(&record, &mut self.rows);
        self.rows.end_row();
        if SINK_BUFFER_BYTES <= self.rows.as_bytes().len() {
            self.write_out()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.write_out()?;
        let file = self.file.take().expect("a sink ends once");
        Ok(file.publish().map_err(|source| failed(&self.path, source))?)
    }

    fn held_bytes(&self) -> usize {
        self.rows.held_bytes()
    }
}

fn failed(path: &std::path::Path, source: io::Error) -> SinkError {
    SinkError::Failed { target: path.display().to_string(), source }
}

#[cfg(test)]
mod tests;
