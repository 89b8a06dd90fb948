//! `stdin` and `stdout`, which Flink does not have: records of a format from the standard input, and to the standard
//! output.
//!
//! | option | default | |
//! |---|---|---|
//! | `format` | required | `csv`, `json`, `raw`, `debezium-json`, with its options |
//! | `thalweg.on-bad`, `thalweg.bad-share-max` | `fail`, `0.01` | for `stdin`: see `connect/bad.rs` |
//!
//! Only one table of one job of a run may read the standard input. Output is written with every batch of
//! rows, so that its reader sees it at once. Written rows cannot be retracted when the query fails later.

use std::io::{self, Write};
use std::sync::PoisonError;

use arrow::record_batch::RecordBatch;
use thalweg_connectors::SinkError;
use thalweg_model::Fault;
use thalweg_sql_formats::{Encoder, Format, RowKind};

use super::bad::BadOptions;
use super::feed::{Feed, Stream};
use super::layout::{bind_format, check_metadata, record_places};
use super::options::Given;
use super::{Abilities, Connection, Output, RowSink, StandardStream, World};
use crate::error::{Code, SqlError};
use crate::scan::rows::RowSource;

pub(super) fn bind_stdin<'a>(given: &mut Given<'a>) -> Result<Box<dyn Connection + 'a>, SqlError> {
    Ok(Box::new(Stdin(bind_stream(given, "stdin")?)))
}

pub(super) fn bind_stdout<'a>(given: &mut Given<'a>) -> Result<Box<dyn Connection + 'a>, SqlError> {
    check_metadata(given.table(), "stdout", &[])?;
    let format = given.required("format", "json")?;
    let format = bind_format(given, format, &[])?;
    // An encoder is created here and dropped, so that an error of the format is reported before the query
    // runs.
    encoder(given.table(), &format)?;
    Ok(Box::new(Stdout { table: given.table(), format }))
}

/// Reads the format of a stream, and its options for bad records.
pub(super) fn bind_stream<'a>(given: &mut Given<'a>, connector: &str) -> Result<Stream<'a>, SqlError> {
    check_metadata(given.table(), connector, &[])?;
    let format = given.required("format", "json")?;
    let format = bind_format(given, format, &[])?;
    Ok(Stream { table: given.table(), format, bad: BadOptions::bind(given)? })
}

pub(super) fn encoder(table: &crate::table::Table, format: &Format) -> Result<Box<dyn Encoder>, SqlError> {
    format.encoder().map_err(|error| SqlError::new(Code::Invalid, error.to_string()).at(table.options_place))
}

struct Stdin<'a>(Stream<'a>);

impl Connection for Stdin<'_> {
    fn abilities(&self) -> Abilities {
        let gives_changes = self.0.format.is_changelog();
        let stream = Some(StandardStream::Input);
        Abilities { reads: true, gives_changes, stream, ..Abilities::default() }
    }

    fn source(&self, wanted: &[usize], world: &World) -> Result<Vec<Box<dyn RowSource>>, SqlError> {
        let stream = world.stdin.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(stream) = stream else {
            let message = format!(
                "the standard input is not `{}`'s to read: it is read already, or there is none",
                self.0.table.name
            );
            let error = SqlError::new(Code::Invalid, message).at(self.0.table.options_place);
            return Err(
                error.help("one table can read it, once: put what comes into a file to read it twice")
            );
        };
        let feed = Feed::start("stdin", move || Ok(stream));
        Ok(vec![self.0.source("stdin".to_owned(), wanted, world, feed)?])
    }
}

struct Stdout<'a> {
    table: &'a crate::table::Table,
    format: Format,
}

impl Connection for Stdout<'_> {
    fn abilities(&self) -> Abilities {
        let takes_changes = self.format.is_changelog();
        let stream = Some(StandardStream::Output);
        Abilities { writes: true, takes_changes, stream, ..Abilities::default() }
    }

    fn sink(&self, columns: &[usize], world: &World) -> Result<Box<dyn RowSink>, SqlError> {
        Ok(Box::new(Encoded {
            name: "stdout",
            writer: Shared(Output::clone(&world.stdout)),
            places: record_places(self.table, columns)?,
            encoder: encoder(self.table, &self.format)?,
            text: Vec::new(),
        }))
    }
}

/// An output stream that several sinks share, each of which writes one batch at a time.
pub(super) struct Shared(pub(super) Output);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    /// Writes all bytes under one lock, so that the output of other sinks is not mixed with them.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

/// A sink that encodes rows as records of a format and writes them to a stream.
pub(super) struct Encoded<W> {
    pub(super) name: &'static str,
    pub(super) writer: W,
    /// The indexes, among the columns of the rows given to the sink, of the columns that are stored in
    /// records.
    pub(super) places: Vec<usize>,
    pub(super) encoder: Box<dyn Encoder>,
    pub(super) text: Vec<u8>,
}

impl<W: Write + Send> RowSink for Encoded<W> {
    fn write(&mut self, rows: &RecordBatch, kinds: Option<&[RowKind]>) -> Result<(), Fault> {
        self.text.clear();
        let rows = rows.project(&self.places).map_err(|error| failed(self.name, io::Error::other(error)))?;
        let encoded = self.encoder.write(&rows, kinds, &mut self.text);
        // If a row cannot be encoded, the rows before it are still written.
        self.writer
            .write_all(&self.text)
            .and_then(|()| self.writer.flush())
            .map_err(|error| failed(self.name, error))?;
        Ok(encoded?)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(self.writer.flush().map_err(|error| failed(self.name, error))?)
    }

    fn held_bytes(&self) -> usize {
        self.text.capacity()
    }
}

/// Returns the error of an output stream that cannot be written.
pub(super) fn failed(name: &str, source: io::Error) -> SinkError {
    let target = name.to_owned();
    match source.kind() {
        io::ErrorKind::BrokenPipe => SinkError::Closed { target },
        _ => SinkError::Failed { target, source },
    }
}
