//! A job as a query of the engine: its plans put together, from their tables to where their rows go.

use std::io::ErrorKind;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use thalweg::{EdgeLimits, Query};
use thalweg_connectors::SinkError;
use thalweg_model::{Clock, Fault};

use crate::connect::{Output, RowSink, World, bind_sink};
use crate::deliver::{TableSink, Tally};
use crate::error::{Code, SqlError};
use crate::exec::run::{Assembly, Ending};
use crate::formats::{Encoder, Format, FormatColumn, RowKind};
use crate::functions::Context;
use crate::plan::Column;
use crate::session::Job;

/// How much an edge of batches holds at most, which is little: a batch has up to 4,096 rows.
pub const BATCH_EDGES: EdgeLimits =
    EdgeLimits { block_records: 4, chunk_blocks: 1, chunks_max: 8, marks_max: 64 };

/// How many bytes of batches, without what their columns hold, a step takes at most: some 16 batches, which are 65,000 rows
/// and a millisecond or two.
pub const BATCH_RUN_BYTES: u64 = 16 * size_of::<thalweg::Record<crate::batch::Batch>>() as u64;

/// A job that can be submitted.
pub struct Assembled {
    /// The query.
    pub query: Query,
    /// How many rows its sinks have written.
    pub tally: Tally,
}

/// Puts a job together; the rows of a query that names no table go to `shown`.
///
/// # Errors
/// [`SqlError`] if a table cannot be read from, written to or opened.
pub fn assemble(
    job: &Job,
    clock: &Arc<dyn Clock>,
    world: &World,
    shown: &mut dyn FnMut(&[Column]) -> Result<Box<dyn RowSink>, SqlError>,
) -> Result<Assembled, SqlError> {
    let context = Context { zone: job.settings.zone, clock: Arc::clone(clock) };
    let mut query = Query::new(job.name.clone());
    if let Some(target) = job.settings.latency_target {
        query = query.latency_target(target);
    }
    let tally = Tally::default();
    let mut plans = Vec::new();
    for part in &job.parts {
        let (name, rows, not_null) = match &part.into {
            Some(table) => {
                let columns = table.written_columns();
                let not_null = columns
                    .iter()
                    .enumerate()
                    .filter(|(at, place)| {
                        !table.columns[**place].is_nullable && part.plan.columns[*at].is_nullable
                    })
                    .map(|(at, place)| (at, table.columns[*place].name.clone()))
                    .collect();
                (table.name.clone(), bind_sink(table, &columns, world)?, not_null)
            }
            None => ("result".to_owned(), shown(&part.plan.columns)?, Vec::new()),
        };
        let sink = TableSink::new(name.clone(), rows, not_null, tally.clone());
        // A table may be read and written in one query.
        let name = if part.into.is_some() { format!("{name}-sink") } else { name };
        plans.push((&part.plan, Ending { name, sink }));
    }
    Assembly::assemble(&query, &context, world, &tally, plans)?;
    Ok(Assembled { query, tally })
}

/// Shows rows in a format, each as it comes.
pub struct Shown {
    encoder: Box<dyn Encoder>,
    output: Output,
    head: Option<Vec<u8>>,
    buffer: Vec<u8>,
    /// Whether rows may change, so that each is shown with what becomes of it.
    has_kinds: bool,
}

impl Shown {
    /// Rows of `columns` as `csv`, behind a line of names, or as `json`, to a stream.
    ///
    /// # Errors
    /// [`SqlError`] if the format cannot write such columns.
    pub fn new(format: &str, columns: &[Column], has_kinds: bool, output: Output) -> Result<Self, SqlError> {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let columns: Vec<FormatColumn> = columns
            .iter()
            .map(|column| FormatColumn {
                name: column.name.clone(),
                of: column.of.clone(),
                is_nullable: true,
            })
            .collect();
        let options = std::collections::BTreeMap::new();
        let wrong = |error: crate::formats::FormatError| SqlError::new(Code::Unsupported, error.to_string());
        let encoder =
            Format::bind(format, &options, &columns).and_then(|format| format.encoder()).map_err(wrong)?;
        let kind = if has_kinds { "op," } else { "" };
        let head = (format == "csv").then(|| format!("{kind}{}\n", names.join(",")).into_bytes());
        Ok(Shown { encoder, output, head, buffer: Vec::new(), has_kinds })
    }

    fn flush(&mut self) -> Result<(), Fault> {
        let mut output = self.output.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let written = output.write_all(&self.buffer).and_then(|()| output.flush());
        self.buffer.clear();
        let target = || "standard output".to_owned();
        match written {
            Ok(()) => Ok(()),
            Err(source) if source.kind() == ErrorKind::BrokenPipe => {
                Err(SinkError::Closed { target: target() }.into())
            }
            Err(source) => Err(SinkError::Failed { target: target(), source }.into()),
        }
    }
}

impl RowSink for Shown {
    fn write(&mut self, rows: &RecordBatch, kinds: Option<&[RowKind]>) -> Result<(), Fault> {
        self.buffer.extend(self.head.take().unwrap_or_default());
        if self.has_kinds {
            for row in 0..rows.num_rows() {
                let kind = kinds.and_then(|kinds| kinds.get(row)).copied().unwrap_or(RowKind::Insert);
                self.buffer.extend(format!("{kind},").into_bytes());
                self.encoder.write(&rows.slice(row, 1), None, &mut self.buffer)?;
            }
        } else {
            self.encoder.write(rows, None, &mut self.buffer)?;
        }
        self.flush()
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.buffer.extend(self.head.take().unwrap_or_default());
        self.flush()
    }

    fn held_bytes(&self) -> usize {
        self.buffer.capacity()
    }
}
