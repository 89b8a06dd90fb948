//! `print`: each row as a line of text, to the standard output.
//!
//! | option | default | |
//! |---|---|---|
//! | `print-identifier` | none | stands before every row: `identifier> +I[1, a]` |
//! | `standard-error` | `false` | writes to the standard error instead |
//! | `sink.parallelism` | | checked, but without effect: there is one sink |
//!
//! A line is the kind of change and the values as Java prints them: `+I[1, a, 2020-01-01T12:00, null]`. Lines
//! are written with every batch of rows.
//!
//! Source: Flink's documentation, "Print SQL Connector"; `PrintTableSinkFactory`, `PrintSinkOutputWriter`.

use std::fmt::Write as _;
use std::io::Write;

use arrow::record_batch::RecordBatch;
use thalweg_model::Fault;
use thalweg_sql_formats::RowKind;

use super::java::{JavaText, Use};
use super::layout::check_metadata;
use super::options::Given;
use super::standard::{Shared, failed};
use super::{Abilities, Connection, Output, RowSink, StandardStream, World};
use crate::error::SqlError;
use crate::table::Table;

pub(super) fn bind<'a>(given: &mut Given<'a>) -> Result<Box<dyn Connection + 'a>, SqlError> {
    check_metadata(given.table(), "print", &[])?;
    given.parallelism("sink.parallelism")?;
    let before = given.text("print-identifier").map_or(String::new(), |identifier| match identifier {
        "" => String::new(),
        identifier => format!("{identifier}> "),
    });
    let is_error = given.flag("standard-error", false)?;
    Ok(Box::new(Print { table: given.table(), before, is_error }))
}

struct Print<'a> {
    table: &'a Table,
    before: String,
    is_error: bool,
}

impl Connection for Print<'_> {
    fn abilities(&self) -> Abilities {
        let stream = Some(if self.is_error { StandardStream::Error } else { StandardStream::Output });
        Abilities { writes: true, takes_changes: true, stream, ..Abilities::default() }
    }

    fn sink(&self, columns: &[usize], world: &World) -> Result<Box<dyn RowSink>, SqlError> {
        let texts = columns.iter().map(|place| JavaText::new(&self.table.columns[*place].of, Use::Print));
        let (name, output) =
            if self.is_error { ("stderr", &world.stderr) } else { ("stdout", &world.stdout) };
        Ok(Box::new(PrintSink {
            name,
            writer: Shared(Output::clone(output)),
            before: self.before.clone(),
            texts: texts.collect(),
            lines: String::new(),
        }))
    }
}

struct PrintSink {
    name: &'static str,
    writer: Shared,
    before: String,
    /// The writers of values as text, one for each printed column.
    texts: Vec<JavaText>,
    lines: String,
}

impl RowSink for PrintSink {
    fn write(&mut self, rows: &RecordBatch, kinds: Option<&[RowKind]>) -> Result<(), Fault> {
        self.lines.clear();
        for row in 0..rows.num_rows() {
            let kind = kinds.and_then(|kinds| kinds.get(row)).copied().unwrap_or(RowKind::Insert);
            self.lines.push_str(&self.before);
            let _ = write!(self.lines, "{kind}");
            self.lines.push('[');
            for (place, (text, column)) in self.texts.iter().zip(rows.columns()).enumerate() {
                if place > 0 {
                    self.lines.push_str(", ");
                }
                text.write(column.as_ref(), row, &mut self.lines);
            }
            self.lines.push_str("]\n");
        }
        let written = self.writer.write_all(self.lines.as_bytes()).and_then(|()| self.writer.flush());
        Ok(written.map_err(|error| failed(self.name, error))?)
    }

    fn held_bytes(&self) -> usize {
        self.lines.capacity()
    }
}
