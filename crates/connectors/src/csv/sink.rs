//! A sink that writes records into a file of comma-separated lines, without a header.
//!
//! Guarantee: exact, on one file system. Rows gather in `<path>.inprogress`. [`Sink::finish`] writes the rest, syncs
//! the file to the disk and renames it, replacing any file of that name. So a file at `path` holds all rows of one
//! finished query. A sink that is dropped earlier removes the unfinished file.
//!
//! With checkpoints the same holds for a query that is killed and goes on: its rows gather in pieces, one for each checkpoint,
//! and the last checkpoint puts them together (`csv/pieces.rs`).

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use thalweg_model::disk::Disk;
use thalweg_model::{Fault, Publisher, Record, Sink, StateError, StateReader, StateWriter};

use super::pieces::Pieces;
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
    /// The unfinished output file; `None` once it has its final name, and with checkpoints.
    file: Option<InProgressFile>,
    /// The pieces of the output file; `None` without checkpoints.
    pieces: Option<Pieces>,
    disk: Arc<dyn Disk>,
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
        let file =
            InProgressFile::create(Arc::clone(&disk), &path).map_err(|source| failed(&path, source))?;
        let (rows, takes) = (RowWriter::new(), std::marker::PhantomData);
        Ok(CsvSink { file: Some(file), pieces: None, disk, path, rows, row, takes })
    }

    fn write_out(&mut self) -> Result<(), SinkError> {
        let written = match &mut self.pieces {
            Some(pieces) => pieces.write(self.rows.as_bytes()),
            None => {
                let file = self.file.as_mut().expect("a sink takes nothing after its end");
                file.write_all(self.rows.as_bytes())
            }
        };
        written.map_err(|source| failed(&self.path, source))?;
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

    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        // The unfinished file is removed: pieces take its place.
        self.file = None;
        let pieces = Pieces::new(Arc::clone(&self.disk), &self.path);
        let publisher = pieces.publisher();
        self.pieces = Some(pieces);
        Some(Box::new(publisher))
    }

    fn prepare(&mut self, _checkpoint: u64, is_last: bool) -> Result<Vec<u8>, Fault> {
        self.write_out()?;
        let Some(pieces) = &mut self.pieces else { return Ok(Vec::new()) };
        pieces.close().map_err(|source| failed(&self.path, source))?;
        if is_last { Ok(pieces.describe()?) } else { Ok(Vec::new()) }
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.pieces.as_ref().map_or(Ok(()), |pieces| pieces.save(state))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.pieces.as_mut().map_or(Ok(()), |pieces| pieces.load(state))
    }

    fn held_bytes(&self) -> usize {
        self.rows.held_bytes() + self.pieces.as_ref().map_or(0, Pieces::held_bytes)
    }
}

pub(super) fn failed(path: &std::path::Path, source: io::Error) -> SinkError {
    SinkError::Failed { target: path.display().to_string(), source }
}

#[cfg(test)]
mod tests;
