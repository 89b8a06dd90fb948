//! Assembly of a job of SQL as a query of the engine: its plans, the tables that it reads, and its sinks.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use chrono_tz::Tz;
use thalweg::{EdgeLimits, Query};
use thalweg_connectors::SinkError;
use thalweg_model::{Clock, Fault};
use thalweg_sql_exec::exec::run::{Assembly, Ending, has_limit};
pub use thalweg_sql_exec::exec::spilling::copies_that_spill;
use thalweg_sql_exec::plan::{Column, JoinMethod, Node, Plan, WindowSpec};
use thalweg_sql_formats::{Encoder, Format, FormatColumn, FormatError, RowKind};
use thalweg_sql_functions::functions::Context;
use thalweg_sql_functions::functions::cast::Writer;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::user::Watch;
use thalweg_sql_tables::batch::{Failure, batch_of};
use thalweg_sql_tables::connect::job_end::JobEnd;
use thalweg_sql_tables::connect::{self, Division, Output, RowSink, World, bind_sink};
use thalweg_sql_tables::deliver::{TableSink, Tally};
use thalweg_sql_tables::error::{Code, SqlError};
use thalweg_sql_tables::spill::Spill;
use thalweg_sql_tables::table::TableColumnKind;

use crate::bind::changelog::{self, Accepts, Changes, changes};
use crate::session::Job;

/// Limits of an edge that carries batches of rows: at most 32 batches of up to 4,096 rows and, unless one row
/// is larger, 256 KiB each.
pub const BATCH_EDGES: EdgeLimits =
    EdgeLimits { block_records: 4, chunk_blocks: 1, chunks_max: 8, marks_max: 64 };

/// Approximate number of edges of one SQL job that hold batches: after the source, after the next operator,
/// and before the sink.
const EDGES_PER_JOB: u64 = 3;

/// Typical size of a batch of rows with a few numeric columns, in bytes.
const USUAL_BATCH_BYTES: u64 = 64 << 10;

/// Divisor of the memory budget: the batches that lie on edges may take one quarter of the budget.
const EDGES_PART: u64 = 4;

/// Returns the edge limits for `jobs` jobs which run at once on `workers` workers. Batches on edges are not charged to the
/// memory budget, so the more jobs run, the smaller are their edges. All edges together hold about a quarter of the
/// budget, but each edge has room for at least two batches.
///
/// With several workers a job has an exchange by key. Its edges are as many as the square of the workers, and each holds
/// parts of batches, so they count as one edge for each worker.
pub fn batch_edges(jobs: usize, workers: usize, budget_bytes: u64) -> EdgeLimits {
    let exchanged = if workers > 1 { workers as u64 } else { 0 };
    let edges = (jobs.max(1) as u64).saturating_mul(EDGES_PER_JOB + exchanged);
    let EdgeLimits { block_records, chunk_blocks, chunks_max, .. } = BATCH_EDGES;
    let most = block_records * chunk_blocks * chunks_max;
    let batches = budget_bytes / EDGES_PART / edges.saturating_mul(USUAL_BATCH_BYTES);
    let batches = u32::try_from(batches).unwrap_or(most).clamp(2, most);
    let block_records = (batches / 2).clamp(1, block_records);
    EdgeLimits { block_records, chunks_max: (batches / block_records).clamp(2, chunks_max), ..BATCH_EDGES }
}

/// A job of SQL that is assembled as a query of the engine and can be submitted.
pub struct Assembled {
    /// Query of the engine that runs the job, ready to submit.
    pub query: Query,
    /// Counts the rows that the sources of the job have read and its sinks have written.
    pub tally: Tally,
    /// Tells whether and how the job has ended.
    pub end: JobEnd,
    /// State on disk of the operators of the job, if they may put state there.
    pub spill: Option<Spill>,
}

/// Checks the tables of a job: their options, that they can be read or written, and that each sink accepts
/// the changes of its plan. The check opens no table. A table whose rows `world` gives or collects needs no
/// connector.
///
/// # Errors
/// [`SqlError`] for the first fault found.
pub fn check(job: &Job, world: &World) -> Result<(), SqlError> {
    for part in &job.parts {
        check_scans(&part.plan, world)?;
        let into = part.into.as_ref().filter(|table| !world.collected.contains_key(&table.name));
        if let Some(table) = into {
            let takes_changes = connect::check_sink(table)?.takes_changes;
            let accepts = if takes_changes { Accepts::All } else { Accepts::Inserts };
            changelog::check_sink(&part.plan, accepts, &table.name).map_err(|error| error.at(part.place))?;
        }
    }
    Ok(())
}

fn check_scans(plan: &Plan, world: &World) -> Result<(), SqlError> {
    for part in plan.walk() {
        if let Node::Scan { table, .. } = &part.node
            && !world.given.contains_key(&table.name)
        {
            connect::check_source(table)?;
        }
    }
    Ok(())
}

/// Assembles a job of SQL as a query of the engine. The rows of a query without a target table go to the sink
/// that `shown` makes for the columns and the kinds of changes of that query.
///
/// # Errors
/// [`SqlError`] as in [`check`], and if a table cannot be opened.
pub fn assemble(
    job: &Job,
    clock: &Arc<dyn Clock>,
    world: &World,
    shown: &mut dyn FnMut(&[Column], Changes) -> Result<Box<dyn RowSink>, SqlError>,
) -> Result<Assembled, SqlError> {
    check(job, world)?;
    let rooted = world.of_roots(job.settings.file_roots.as_deref())?;
    let are_limited = job.parts.iter().all(|part| has_limit(&part.plan));
    let limits = if are_limited { job.parts.len() } else { 0 };
    let (name, notes) = (job.name.clone(), rooted.notes.clone());
    let watch = Watch::new(Arc::clone(clock), move |text| notes.add(format!("{name}: {text}")));
    let end = JobEnd::new(is_bounded(job)).with_limits(limits);
    let depends = job.parts.iter().any(|part| depends_on_its_reader(&part.plan));
    let division = if depends { Division::default() } else { rooted.division };
    let division = Division { readers: readers_of(job, rooted.division.workers), ..division };
    let copies = job.parts.iter().map(|part| copies_that_spill(&part.plan, rooted.division.workers)).sum();
    let directory = job.settings.spill_dir.as_ref().filter(|_| copies > 0);
    let spilling = directory.map(|path| rooted.spilling(path, job.settings.spill_bytes, copies));
    let world = &World { end, watch: Some(watch), division, spilling, ..rooted };
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
            None => ("result".to_owned(), shown(&part.plan.columns, changes(&part.plan))?, Vec::new()),
        };
        let sink = TableSink::new(name.clone(), rows, not_null, tally.clone());
        // One query may read and write the same table, so the sink needs another name than the source.
        let name = if part.into.is_some() { format!("{name}-sink") } else { name };
        plans.push((&part.plan, Ending { name, sink }));
    }
    Assembly::assemble(&query, &context, world, &tally, job.settings.timing(), plans)?;
    let spill = world.spilling.as_ref().map(|spilling| spilling.spill.clone());
    Ok(Assembled { query, tally, end: world.end.clone(), spill })
}

/// Returns whether an operator of a plan has another rule if one reader gives all of its rows: OVER and sessions take late
/// rows by what was emitted before, and a temporal join takes the order of rows as that of their versions. Tasks that help
/// the reader count as readers. So the reader of such a plan gets no help, and its rows do not depend on the workers.
fn depends_on_its_reader(plan: &Plan) -> bool {
    plan.walk().any(|part| match &part.node {
        Node::Over { .. } => true,
        Node::AssignWindows { spec, .. } => matches!(**spec, WindowSpec::Session { .. }),
        Node::Join { join, .. } => matches!(join.method, JoinMethod::Temporal { .. }),
        _ => false,
    })
}

/// Most readers of all generated tables of a job together, half of the inputs that a task may have.
const READERS_MAX: usize = 64;

/// Returns the most readers of a generated table of a job: one for each worker if rows may come in any order.
fn readers_of(job: &Job, workers: usize) -> usize {
    let scans = job.parts.iter().flat_map(|part| part.plan.walk());
    let scans = scans.filter(|part| matches!(part.node, Node::Scan { .. })).count();
    if takes_any_order(job) { (READERS_MAX / scans.max(1)).clamp(1, workers.max(1)) } else { 1 }
}

/// Returns whether the rows that a job leaves are the same in whatever order the rows of its tables come, but for the last bits of
/// sums of floats. A reader that has no rows for an idle time-out would not hold back the others, whose watermarks would pass its
/// rows.
fn takes_any_order(job: &Job) -> bool {
    let takes = |part: &Plan| match &part.node {
        Node::Scan { table, .. } => {
            !table.columns.iter().any(|column| matches!(column.kind, TableColumnKind::Watermark))
        }
        // Sessions depend on the order of late rows only. A table whose rows may be late has one reader.
        Node::AssignWindows { input, .. } if is_of_table(input) => true,
        node => !node.depends_on_arrival(),
    };
    job.settings.idle_timeout.is_none() && job.parts.iter().all(|part| part.plan.walk().all(takes))
}

/// Returns whether the rows of a plan are those of a table, or computed from them one by one.
fn is_of_table(plan: &Plan) -> bool {
    match &plan.node {
        Node::Calc { input, .. } => is_of_table(input),
        node => matches!(node, Node::Scan { .. }),
    }
}

/// Returns whether all tables that a job reads come to an end.
fn is_bounded(job: &Job) -> bool {
    job.parts.iter().all(|part| part.plan.ends())
}

/// Sink for a query without a target table: writes each row as it arrives, as comma-separated values below a
/// line of names, or as JSON objects.
pub struct Shown {
    form: Form,
    output: Output,
    /// Bytes that the sink still has to write before the first row, such as the line of column names.
    head: Vec<u8>,
    buffer: Vec<u8>,
    /// Whether the query may change rows that it has emitted, so that each row is written with its kind of
    /// change.
    has_kinds: bool,
}

enum Form {
    /// Rows are written as comma-separated values. Each value is written as a cast to STRING writes it; NULL
    /// is written as the word NULL without quotes.
    Text(Vec<Writer>),
    Json(Box<dyn Encoder>),
}

impl Shown {
    /// Creates a sink that writes rows of `columns` as text to `output`; times are shown in `zone`.
    pub fn text(columns: &[Column], zone: Tz, has_kinds: bool, output: Output) -> Self {
        let names: Vec<Cow<'_, str>> = has_kinds
            .then_some("op")
            .into_iter()
            .chain(columns.iter().map(|column| column.name.as_str()))
            .map(between_commas)
            .collect();
        let writers = columns.iter().map(|column| Writer::new(&column.of, zone)).collect();
        let head = format!("{}\n", names.join(",")).into_bytes();
        Shown { form: Form::Text(writers), output, head, buffer: Vec::new(), has_kinds }
    }

    /// Creates a sink that writes rows of `columns` as JSON to `output`, one object a line.
    ///
    /// # Errors
    /// [`SqlError`] if JSON cannot hold one of the columns.
    pub fn json(columns: &[Column], has_kinds: bool, output: Output) -> Result<Self, SqlError> {
        let column = |column: &Column| FormatColumn {
            name: column.name.clone(),
            of: column.of.clone(),
            is_nullable: true,
        };
        let mut columns: Vec<FormatColumn> = columns.iter().map(column).collect();
        if has_kinds {
            columns
                .insert(0, FormatColumn { name: "op".to_owned(), of: SqlType::STRING, is_nullable: false });
        }
        let options = std::collections::BTreeMap::new();
        let wrong = |error: FormatError| SqlError::new(Code::Unsupported, error.to_string());
        let encoder =
            Format::bind("json", &options, &columns).and_then(|format| format.encoder()).map_err(wrong)?;
        Ok(Shown { form: Form::Json(encoder), output, head: Vec::new(), buffer: Vec::new(), has_kinds })
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
        self.buffer.append(&mut self.head);
        let kind_of = |row: usize| kinds.and_then(|kinds| kinds.get(row)).copied().unwrap_or(RowKind::Insert);
        match &mut self.form {
            Form::Text(writers) => {
                let mut text = String::new();
                for row in 0..rows.num_rows() {
                    if self.has_kinds {
                        text += &format!("{},", kind_of(row));
                    }
                    write_row(rows, row, writers, &mut text);
                    text.push('\n');
                }
                self.buffer.extend(text.into_bytes());
            }
            Form::Json(encoder) if self.has_kinds => {
                let ops: StringArray =
                    (0..rows.num_rows()).map(|row| Some(kind_of(row).to_string())).collect();
                let mut columns: Vec<ArrayRef> = vec![Arc::new(ops)];
                columns.extend(rows.columns().iter().map(Arc::clone));
                let mut fields = vec![Arc::new(Field::new("op", DataType::Utf8, false))];
                fields.extend(rows.schema().fields().iter().map(Arc::clone));
                let schema = Arc::new(Schema::new(fields));
                let rows = batch_of(&schema, columns, rows.num_rows())
                    .map_err(|error| Failure { operator: "result".to_owned(), error })?;
                encoder.write(&rows, None, &mut self.buffer)?;
            }
            Form::Json(encoder) => encoder.write(rows, None, &mut self.buffer)?,
        }
        self.flush()
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.buffer.append(&mut self.head);
        self.flush()
    }

    fn held_bytes(&self) -> usize {
        self.buffer.capacity()
    }
}

/// Appends a row as comma-separated values: each value as a cast to STRING writes it, quoted where necessary;
/// bytes as `x'00ff'`.
pub(crate) fn write_row(rows: &RecordBatch, row: usize, writers: &[Writer], line: &mut String) {
    for (place, (writer, column)) in writers.iter().zip(rows.columns()).enumerate() {
        if place > 0 {
            line.push(',');
        }
        if column.is_null(row) || *column.data_type() == DataType::Null {
            line.push_str("NULL");
        } else if let Some(bytes) = column.as_binary_opt::<i32>() {
            let hex = bytes.value(row).iter().map(|byte| format!("{byte:02x}"));
            line.push_str(&format!("x'{}'", hex.collect::<String>()));
        } else {
            let mut text = String::new();
            writer.write(column, row, &mut text);
            line.push_str(&between_commas(&text));
        }
    }
}

/// Returns a text as a field of comma-separated values, quoted where necessary.
pub(crate) fn between_commas(text: &str) -> Cow<'_, str> {
    let needs_quotes = text.is_empty() || text == "NULL" || text.contains([',', '"', '\n', '\r']);
    if needs_quotes { format!("\"{}\"", text.replace('"', "\"\"")).into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few jobs at once have edges of the usual size. Many jobs at once have smaller edges, which the
    /// engine still accepts.
    #[test]
    fn edges_of_many_jobs_are_small() {
        let batches = |jobs: usize, budget_bytes: u64| {
            let limits = batch_edges(jobs, 1, budget_bytes);
            limits.check().unwrap();
            limits.block_records * limits.chunk_blocks * limits.chunks_max
        };
        assert_eq!(batch_edges(1, 1, 256 << 20), BATCH_EDGES);
        assert_eq!(batch_edges(1, 2, 256 << 20), BATCH_EDGES);
        assert!(batch_edges(1, 128, 256 << 20).chunks_max < BATCH_EDGES.chunks_max);
        assert_eq!([0, 10, 20, 100].map(|jobs| batches(jobs, 256 << 20)), [32, 32, 16, 3]);
        assert_eq!([300, 4_096, usize::MAX].map(|jobs| batches(jobs, 64 << 20)), [2, 2, 2]);
        assert_eq!((batches(1, 1 << 16), batches(1, u64::MAX)), (2, 32));
    }
}
