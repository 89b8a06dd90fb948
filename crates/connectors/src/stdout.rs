//! A sink that writes records as comma-separated lines to any writer, such as standard output.
//!
//! Queries in Rust use it, as the examples do. SQL has its own sink for standard output: the connector `stdout`, in
//! `connect/standard.rs` of sql-tables.
//!
//! Guarantee: none across a crash. Rows are written out at every watermark, at the end, and whenever
//! [`SINK_BUFFER_BYTES`] are gathered. Rows that were written out cannot be taken back when the query fails later.
//! A watermark and the end also flush the writer; a full buffer does not. A watermark without a row since the last flush
//! does nothing.
//!
//! Errors: `SINK_CLOSED` if the reader of a pipe is gone, else `SINK_FAILED`. Tests: `stdout/tests.rs`.

use std::io::{self, Write};
use std::marker::PhantomData;

use thalweg_model::{Fault, Mark, Record, Sink};

use crate::csv::RowWriter;
use crate::csv::sink::SINK_BUFFER_BYTES;
use crate::sink_error::SinkError;

/// Sink that writes the row that the function `row` makes of each record to `writer`.
///
/// # Example
/// ```
/// use thalweg_connectors::{LinesSink, RowWriter};
/// use thalweg_model::{EventTime, Record, Sink};
///
/// let mut text = Vec::new();
/// let row = |record: &Record<&str>, row: &mut RowWriter| row.push_str(record.value);
/// let mut sink = LinesSink::new("text", &mut text, row);
/// sink.write(Record::new(EventTime::EPOCH, "one, two"))?;
/// sink.finish()?;
/// drop(sink);
/// assert_eq!(text, b"\"one, two\"\n");
/// # Ok::<(), thalweg_model::Fault>(())
/// ```
pub struct LinesSink<T, F, W> {
    name: &'static str,
    writer: W,
    rows: RowWriter,
    row: F,
    /// True if a row came since the writer was last flushed. The row is in the buffer of this sink, or in one that
    /// the writer may have.
    is_unflushed: bool,
    takes: PhantomData<fn(T)>,
}

impl<T, F: Fn(&Record<T>, &mut RowWriter) + Send, W: Write + Send> LinesSink<T, F, W> {
    /// Creates a sink that writes rows to `writer`; errors call the sink `name`.
    pub fn new(name: &'static str, writer: W, row: F) -> Self {
        LinesSink { name, writer, rows: RowWriter::default(), row, is_unflushed: false, takes: PhantomData }
    }

    /// Writes the buffered rows to the writer, without a flush.
    fn write_out(&mut self) -> Result<(), SinkError> {
        let written = self.writer.write_all(self.rows.as_bytes());
        self.rows.clear();
        written.map_err(|source| failed(self.name, source))
    }

    /// Writes the buffered rows to the writer, and flushes it.
    fn flush(&mut self) -> Result<(), Fault> {
        self.write_out()?;
        self.is_unflushed = false;
        Ok(self.writer.flush().map_err(|source| failed(self.name, source))?)
    }
}

impl<T, F: Fn(&Record<T>, &mut RowWriter) + Send, W: Write + Send> Sink<T> for LinesSink<T, F, W> {
    fn write(&mut self, record: Record<T>) -> Result<(), Fault> {
        (self.row)(&record, &mut self.rows);
        self.rows.end_row();
        self.is_unflushed = true;
        if SINK_BUFFER_BYTES <= self.rows.as_bytes().len() {
            self.write_out()?;
        }
        Ok(())
    }

    fn on_mark(&mut self, mark: Mark) -> Result<(), Fault> {
        match mark {
            // A watermark flushes only if a row came, since thousands of watermarks may come without a record
            // between them.
            Mark::Watermark(_) if self.is_unflushed => self.flush(),
            _ => Ok(()),
        }
    }

    /// Writes out the rows before a barrier, because they do not come again after a restart from its checkpoint.
    fn prepare(&mut self, _checkpoint: u64, _is_last: bool) -> Result<Vec<u8>, Fault> {
        self.flush()?;
        Ok(Vec::new())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.flush()
    }

    fn held_bytes(&self) -> usize {
        self.rows.held_bytes()
    }
}

fn failed(name: &str, source: io::Error) -> SinkError {
    let target = name.to_owned();
    match source.kind() {
        io::ErrorKind::BrokenPipe => SinkError::Closed { target },
        _ => SinkError::Failed { target, source },
    }
}

#[cfg(test)]
mod tests;
