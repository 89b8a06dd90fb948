//! Tables as sources of the engine: rows of a connector, with computed columns and watermarks.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{SchemaRef, TimestampMillisecondType};
use arrow::record_batch::RecordBatch;
use thalweg_model::{
    Allowance, Clock, Coded, EventTime, Fault, Output, Polled, ProcessingTime, Record, Source, SourceStatus,
    StateError, StateReader, StateWriter, Weighed,
};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::{Typed, arrow_error};
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::scratch::{self, RESULT_TOO_LONG};
use thalweg_sql_functions::types::INSTANT_ZONE;
use thalweg_sql_functions::user::Watch;

use super::rows::{RowSource, Rows};
use crate::batch::{BATCH_ROWS_MAX, Batch, Failure, NOTHING_WEIGHED, batch_of};
use crate::connect::job_end::JobEnd;
use crate::deliver::Tally;
use crate::table::{Table, TableColumnKind};

/// The columns of a table that are read, and how the other columns follow from them.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The name of the table that is read.
    table: String,
    /// The indexes, among the columns of the table, of the columns that the connector is asked for.
    pub from_records: Vec<usize>,
    /// The computed columns, in the order of declaration. Each is an expression over the columns from the
    /// records and the computed columns before it.
    computed: Vec<Making>,
    /// For each output column, its index in a list that has first the columns that come from the records,
    /// then the computed columns.
    outputs: Vec<usize>,
    schema: SchemaRef,
    /// The event time column and the watermark expression. Both refer to the columns that come from the
    /// records, followed by the computed columns.
    time: Option<Timing>,
    /// Whether the only watermark is that of the end of the table, so that no row is late.
    is_batch: bool,
    /// Whether each watermark ends a batch, and not only those by which a row of the table is late.
    tells_all_marks: bool,
}

#[derive(Clone, Debug)]
enum Making {
    Computed(Typed),
    /// The column is `PROCTIME()`: the processing time at which the batch is read.
    Proctime,
    /// The column is the watermark before each row. It stands behind all others, so no expression of the table reads it.
    Watermark,
}

#[derive(Clone, Debug)]
struct Timing {
    column: usize,
    watermark: Typed,
    name: String,
}

impl Reading {
    /// Describes the reading of the table columns with the indexes `places`, which are emitted as the columns
    /// of `schema`, in that order.
    pub fn new(table: &Table, places: &[usize], schema: SchemaRef) -> Self {
        let mut needed: Vec<bool> = vec![false; table.columns.len()];
        let mut need = |place: usize| needed[place] = true;
        places.iter().for_each(|place| need(*place));
        if let Some(rowtime) = &table.rowtime {
            need(rowtime.column);
            rowtime.watermark.columns(&mut need);
        }
        for column in 0..table.columns.len() {
            if let (true, TableColumnKind::Computed(expression)) =
                (needed[column], &table.columns[column].kind)
            {
                expression.columns(&mut |place| needed[place] = true);
            }
        }
        let is_read = |place: &usize| {
            matches!(table.columns[*place].kind, TableColumnKind::Physical | TableColumnKind::Metadata { .. })
        };
        let wanted: Vec<usize> = (0..table.columns.len()).filter(|place| needed[*place]).collect();
        let (from_records, made): (Vec<usize>, Vec<usize>) = wanted.into_iter().partition(is_read);
        let order: Vec<usize> = from_records.iter().chain(&made).copied().collect();
        let among = |place: usize| order.iter().position(|known| *known == place).unwrap_or_default();
        let moved = |expression: &Typed| {
            expression.replaced(&|place| {
                let column = &table.columns[place];
                Typed::column(among(place), column.of.clone(), column.is_nullable)
            })
        };
        let making = |place: &usize| match &table.columns[*place].kind {
            TableColumnKind::Computed(expression) => Making::Computed(moved(expression)),
            TableColumnKind::Watermark => Making::Watermark,
            _ => Making::Proctime,
        };
        Reading {
            table: table.name.clone(),
            computed: made.iter().map(making).collect(),
            outputs: places.iter().map(|place| among(*place)).collect(),
            schema,
            time: table.rowtime.as_ref().map(|rowtime| Timing {
                column: among(rowtime.column),
                watermark: moved(&rowtime.watermark),
                name: table.columns[rowtime.column].name.clone(),
            }),
            from_records,
            is_batch: false,
            tells_all_marks: false,
        }
    }

    /// Returns the reading of a table whose only watermark is that of its end, so that none of its rows is late.
    #[must_use]
    pub fn in_batch(mut self) -> Self {
        self.is_batch = true;
        self
    }

    /// Returns the reading of a table whose batches end at each watermark. Operators that bring back rows from
    /// their state need it: such a row may be late by a watermark by which no row of the table is late.
    #[must_use]
    pub fn with_all_marks(mut self) -> Self {
        self.tells_all_marks = true;
        self
    }
}

/// The reason why a query cannot continue to read a table.
#[derive(Debug)]
pub enum ScanError {
    /// A row has NULL as its event time.
    NoTime {
        /// The table whose row has no event time.
        table: String,
        /// The event time column of the table.
        column: String,
    },
    /// A computed column of the table could not be evaluated.
    Failed(Failure),
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScanError::NoTime { table, column } => write!(
                f,
                "a row of `{table}` has NULL as its event time, column `{column}`: give such rows a time by a computed column"
            ),
            ScanError::Failed(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for ScanError {}

impl Coded for ScanError {
    fn code(&self) -> &'static str {
        match self {
            ScanError::NoTime { .. } => "NO_EVENT_TIME",
            ScanError::Failed(failure) => failure.error.code,
        }
    }
}

/// A table, or one split of it, as a source of the engine.
pub struct TableSource {
    reading: Arc<Reading>,
    rows: Box<dyn RowSource>,
    clock: Arc<dyn Clock>,
    /// Rows that were read and whose computed columns are still missing. The rows to be handled next are at
    /// the end of the vector.
    unread: Vec<Rows>,
    /// Finished batches that were not emitted yet.
    pending: VecDeque<Record<Batch>>,
    allowance: Allowance,
    /// The watermark as Flink defines it, in milliseconds: the greatest value of the watermark expression so
    /// far.
    watermark_ms: i64,
    status: SourceStatus,
    /// Whether the job needed no more rows, because its LIMIT was full, so that the table is not read further.
    has_enough: bool,
    /// Number of rows that the source has emitted so far.
    put: u64,
    /// Whether the last batch was emitted, whose watermark [`EventTime::MAX`] means the end of the table.
    has_told_end: bool,
    tally: Tally,
    end: JobEnd,
    /// Watch over the calls of user functions in computed columns, if there is one.
    watch: Option<Arc<Watch>>,
}

impl TableSource {
    /// Creates a source that reads `rows`, which must give the columns that `reading` asks for.
    pub fn new(
        reading: Arc<Reading>,
        rows: Box<dyn RowSource>,
        clock: Arc<dyn Clock>,
        tally: Tally,
        end: JobEnd,
    ) -> Self {
        TableSource {
            reading,
            rows,
            clock,
            unread: Vec::new(),
            pending: VecDeque::new(),
            allowance: Allowance::default(),
            watermark_ms: i64::MIN,
            status: SourceStatus::Ready,
            has_enough: false,
            put: 0,
            has_told_end: false,
            tally,
            end,
            watch: None,
        }
    }

    /// Returns the source with a watch over the calls of user functions in computed columns.
    #[must_use]
    pub fn watched(self, watch: Option<&Arc<Watch>>) -> Self {
        TableSource { watch: watch.cloned(), ..self }
    }

    /// Queues the last batch, whose watermark [`EventTime::MAX`] means the end of the table.
    fn tell_end(&mut self) {
        self.has_told_end = true;
        let rows = RecordBatch::new_empty(Arc::clone(&self.reading.schema));
        let last = Batch { watermark: Some(EventTime::MAX), ..Batch::new(rows) };
        self.pending.push_back(Record::new(EventTime::MAX, last));
    }

    /// Computes the missing columns of the next rows, for as many rows at a time as the memory budget allows.
    fn read_next(&mut self) -> Result<(), Fault> {
        let Some(rows) = self.unread.pop() else { return Ok(()) };
        let count = rows.columns.num_rows();
        let allowance = self.allowance.clone();
        let watch = self.watch.clone();
        let read = || scratch::within(&allowance, count, || self.read(&rows));
        match Watch::within(watch.as_ref(), read) {
            Err(fault) if fault.code() == RESULT_TOO_LONG && count > 1 => {
                let part = |from: usize, to: usize| Rows {
                    columns: rows.columns.slice(from, to - from),
                    kinds: rows.kinds.as_ref().map(|kinds| kinds[from..to].to_vec()),
                };
                self.unread.extend([part(count / 2, count), part(0, count / 2)]);
                Ok(())
            }
            done => done,
        }
    }

    /// Computes the columns of the table for `rows`, and queues them as batches. A batch is cut before each
    /// row that is late by the rows before it, or after each watermark if the reading says so. Queues nothing if a column cannot be computed.
    fn read(&mut self, rows: &Rows) -> Result<(), Fault> {
        let count = rows.columns.num_rows();
        let reading = Arc::clone(&self.reading);
        let failed =
            |error: EvaluationError| ScanError::Failed(Failure { operator: reading.table.clone(), error });
        let mut columns: Vec<ArrayRef> = rows.columns.columns().to_vec();
        for making in &reading.computed {
            let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(count));
            let column = match making {
                Making::Computed(expression) => {
                    let fields: Vec<_> = columns
                        .iter()
                        .map(|column| arrow::datatypes::Field::new("", column.data_type().clone(), true))
                        .collect();
                    let schema = Arc::new(arrow::datatypes::Schema::new(fields));
                    let so_far = RecordBatch::try_new_with_options(schema, columns.clone(), &options)
                        .map_err(|error| failed(arrow_error(error)))?;
                    expression.evaluate_column(&so_far).map_err(failed)?
                }
                Making::Proctime => {
                    let millis = i64::try_from(self.clock.now().as_nanos() / 1_000_000).unwrap_or(i64::MAX);
                    let column = arrow::array::TimestampMillisecondArray::from(vec![millis; count]);
                    Arc::new(column.with_timezone(INSTANT_ZONE)) as ArrayRef
                }
                Making::Watermark => continue,
            };
            columns.push(column);
        }
        let times = match &reading.time {
            None => None,
            Some(timing) if columns[timing.column].null_count() > 0 => {
                let (table, column) = (reading.table.clone(), timing.name.clone());
                return Err(ScanError::NoTime { table, column }.into());
            }
            Some(timing) => Some(Arc::clone(&columns[timing.column])),
        };
        let marks = match &reading.time {
            Some(timing) if !reading.is_batch => {
                let fields: Vec<_> = columns
                    .iter()
                    .map(|column| arrow::datatypes::Field::new("", column.data_type().clone(), true))
                    .collect();
                let schema = Arc::new(arrow::datatypes::Schema::new(fields));
                let whole = batch_of(&schema, columns.clone(), count).map_err(failed)?;
                Some(timing.watermark.evaluate_column(&whole).map_err(failed)?)
            }
            _ => None,
        };
        if let (Some(Making::Watermark), Some(times)) = (reading.computed.last(), &times) {
            columns.push(self.watermarks_before(marks.as_ref(), times));
        }
        let kinds: Option<Arc<[RowKind]>> = rows.kinds.as_deref().map(Into::into);
        let outputs: Vec<ArrayRef> =
            reading.outputs.iter().map(|place| Arc::clone(&columns[*place])).collect();
        let all = batch_of(&reading.schema, outputs, count).map_err(failed)?;
        let Some(times) = &times else {
            let batch = Batch { kinds, ..Batch::new(all) };
            return self.queue(EventTime::EPOCH, batch);
        };
        let times = times.as_primitive::<TimestampMillisecondType>();
        let Some(marks) = &marks else {
            return self.cut(&all, &kinds, 0, count, times.values());
        };
        let marks = marks.as_primitive::<TimestampMillisecondType>();
        let (times, nulls) = (times.values(), marks.nulls());
        let mut from = 0;
        let (mut told_ms, mut watermark_ms) = (self.watermark_ms, self.watermark_ms);
        for (row, (time, mark)) in times.iter().zip(marks.values()).enumerate() {
            if told_ms < watermark_ms && (*time <= watermark_ms || reading.tells_all_marks) {
                self.watermark_ms = watermark_ms;
                self.cut(&all, &kinds, from, row, times)?;
                (from, told_ms) = (row, watermark_ms);
            }
            if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                watermark_ms = watermark_ms.max(*mark);
            }
        }
        self.watermark_ms = watermark_ms;
        self.cut(&all, &kinds, from, count, times)
    }

    /// Returns the watermark before each row, NULL before the first one. `marks` are the values of the watermark expression;
    /// a table whose only watermark is that of its end has none. The column has the type of `times`, the event times.
    fn watermarks_before(&self, marks: Option<&ArrayRef>, times: &ArrayRef) -> ArrayRef {
        let mut watermark_ms = self.watermark_ms;
        let marks = marks.map(|marks| marks.as_primitive::<TimestampMillisecondType>());
        let before = (0..times.len()).map(|row| {
            let before = (watermark_ms > i64::MIN).then_some(watermark_ms);
            if let Some(marks) = marks.filter(|marks| marks.is_valid(row)) {
                watermark_ms = watermark_ms.max(marks.value(row));
            }
            before
        });
        let column = PrimitiveArray::<TimestampMillisecondType>::from_iter(before);
        Arc::new(column.with_data_type(times.data_type().clone()))
    }

    /// Queues a batch for emission, cut into pieces that are small enough for an edge.
    fn queue(&mut self, latest: EventTime, batch: Batch) -> Result<(), Fault> {
        let mut left = Some(batch);
        while let Some(batch) = left {
            let (first, rest) = batch.cut();
            let first = first.paid(&self.allowance, "STATE_LIMIT").map_err(|error| {
                ScanError::Failed(Failure { operator: self.reading.table.clone(), error })
            })?;
            let fillers = first.fillers();
            let filler = (fillers > 0).then(|| Record::new(latest, first.filler()));
            self.pending.push_back(Record::new(latest, first));
            self.pending.extend(filler.into_iter().flat_map(|filler| std::iter::repeat_n(filler, fillers)));
            left = rest;
        }
        Ok(())
    }

    /// Queues the rows with the indexes from `from` up to `to`, `to` not included, as a batch, followed by
    /// the watermark.
    fn cut(
        &mut self,
        all: &RecordBatch,
        kinds: &Option<Arc<[RowKind]>>,
        from: usize,
        to: usize,
        times: &[i64],
    ) -> Result<(), Fault> {
        let latest = times[from..to].iter().copied().max().unwrap_or_default();
        let watermark = (self.watermark_ms > i64::MIN).then(|| {
            // Flink's watermark W promises later times above W; the engine's watermark promises times at or
            // above it. So one millisecond is added.
            EventTime::from_micros(self.watermark_ms.saturating_add(1).saturating_mul(1_000))
        });
        let batch = Batch {
            rows: all.slice(from, to - from),
            kinds: kinds.as_ref().map(|kinds| kinds[from..to].into()),
            watermark,
            failure: None,
            payment: None,
        };
        self.queue(EventTime::from_micros(latest.saturating_mul(1_000)), batch)
    }
}

impl Source for TableSource {
    type Item = Batch;

    fn poll<O: Output<Batch>>(
        &mut self,
        now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        if self.status != SourceStatus::Ended && self.end.has_enough() {
            (self.status, self.has_enough) = (SourceStatus::Ended, true);
            self.unread.clear();
        }
        if !self.has_told_end && self.rows.only_helps() {
            self.tell_end();
        }
        let mut left = limit;
        loop {
            while output.room() > 0
                && let Some(record) = self.pending.pop_front()
            {
                left = left.saturating_sub(record.value.len());
                self.put += record.value.weight();
                output.push(record);
            }
            if self.pending.is_empty() && !self.unread.is_empty() {
                self.read_next()?;
                continue;
            }
            // Markers come behind all rows that were read with theirs, one in each poll.
            if self.pending.is_empty()
                && let Some(due) = self.rows.next_marker()
            {
                let status = match self.status {
                    status @ SourceStatus::DueSince(_) => status,
                    _ => SourceStatus::Ready,
                };
                return Ok(Polled { status, latency: Some(due) });
            }
            if !self.pending.is_empty() || left == 0 || output.room() == 0 {
                return Ok(Polled::new(SourceStatus::Ready));
            }
            if self.status == SourceStatus::Ended {
                if !self.has_told_end {
                    self.tell_end();
                    continue;
                }
                return Ok(Polled::new(SourceStatus::Ended));
            }
            let polled = self.rows.poll(now, left.clamp(1, BATCH_ROWS_MAX))?;
            self.status = polled.status;
            match polled.rows {
                Some(rows) if rows.columns.num_rows() > 0 => {
                    self.tally.note_in(rows.columns.num_rows());
                    self.unread.push(rows);
                }
                _ => match polled.status {
                    SourceStatus::Ended => {}
                    // A poll that gives no rows may have read as much input as one poll is allowed, for
                    // example bad records only. So other tasks run now.
                    status => return Ok(Polled::new(status)),
                },
            }
        }
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
        self.rows.fund(allowance);
    }

    fn has_pending(&self) -> bool {
        !self.pending.is_empty() || !self.unread.is_empty()
    }

    fn finish(&mut self) -> Result<(), Fault> {
        if !self.has_told_end && !self.rows.only_helps() {
            self.end.note_cut();
        }
        self.rows.finish()
    }

    fn arrived(&self) -> Option<ProcessingTime> {
        self.rows.arrived()
    }

    fn weighed(&self) -> Option<Weighed> {
        Some(Weighed { put: self.put, ..NOTHING_WEIGHED })
    }

    fn bad_count(&self) -> u64 {
        self.rows.bad_count()
    }

    fn held_bytes(&self) -> usize {
        let pending = self.pending.iter().map(|record| record.value.bytes());
        let unread = self.unread.iter().map(|rows| Batch::new(rows.columns.clone()).bytes());
        self.rows.held_bytes() + pending.sum::<usize>() + unread.sum::<usize>()
    }

    /// Saves the watermark, whether the last batch was emitted, and the position after the last row that was read. The
    /// engine first lets the source emit the rows that it has read: a source with pending rows fails here. Counts of rows
    /// and latency markers are those of one run, and are not saved.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        if !self.pending.is_empty() || !self.unread.is_empty() {
            return Err(StateError::Write("rows that were read are pending".to_owned()));
        }
        state.put(&(self.watermark_ms, self.has_enough, self.has_told_end))?;
        self.rows.save(state)
    }

    /// Continues after the saved position. A connector at its end is polled once more, because only then it knows that it has
    /// ended and publishes its bad records. A table of which the job needed no more rows stays as it is.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        (self.watermark_ms, self.has_enough, self.has_told_end) = state.take()?;
        self.pending.clear();
        self.unread.clear();
        self.status = if self.has_enough { SourceStatus::Ended } else { SourceStatus::Ready };
        self.rows.load(state)
    }
}

#[cfg(test)]
mod tests;
