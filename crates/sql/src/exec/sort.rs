//! Sort: rows in the order of event time, then of other columns, then as they came.
//!
//! Input      batches with a time column
//! Output     the same rows in order
//! State      the rows at or behind the watermark
//! Emits      when the watermark has passed a row
//! Late       the watermark had passed it when it came: counted, and dropped
//! Watermark  forwarded unchanged, after all that it has passed
//! Cost       sorting all rows that wait, at each watermark that passes some of them
//! Source     Flink, "ORDER BY clause" (streams are sorted by ascending time first)

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{SchemaRef, TimestampMillisecondType};
use arrow::record_batch::RecordBatch;
use thalweg_model::{Allowance, Counts, EventTime, Horizon, StateError, StateReader, StateWriter};

use super::calc::{filtered, schema_of};
use super::kept::{load_rows, save_rows};
use super::operator::{BatchOperator, Outcome};
use super::order::{bytes_of, sorted, taken};
use super::pieces::Pieces;
use super::windows::passed_ms;
use crate::batch::Batch;
use crate::expression::arrow_error;
use crate::plan::{Column, SortKey};

/// Sorts by event time.
pub struct Sort {
    time: usize,
    keys: Vec<SortKey>,
    schema: SchemaRef,
    waiting: Vec<RecordBatch>,
    /// The least time that waits.
    least_ms: i64,
    out: Pieces,
    counts: Counts,
    bytes: usize,
    allowance: Allowance,
}

impl Sort {
    /// Sorts by the column at `time`, then by others.
    pub fn new(time: usize, keys: Vec<SortKey>, columns: &[Column]) -> Self {
        Sort {
            time,
            keys,
            schema: schema_of(columns),
            waiting: Vec::new(),
            least_ms: i64::MAX,
            out: Pieces::default(),
            counts: Counts::default(),
            bytes: 0,
            allowance: Allowance::default(),
        }
    }
}

impl BatchOperator for Sort {
    fn name(&self) -> &str {
        "sort"
    }

    fn take(&mut self, batch: Batch, late_by: EventTime) -> Outcome<()> {
        let rows = batch.len() as u64;
        let passed = passed_ms(late_by);
        let times = batch.rows.column(self.time).as_primitive::<TimestampMillisecondType>();
        let keep: BooleanArray = times.values().iter().map(|time| Some(*time >= passed)).collect();
        let kept = filtered(batch, &keep)?;
        let times = kept.rows.column(self.time).as_primitive::<TimestampMillisecondType>();
        self.least_ms = times.values().iter().copied().fold(self.least_ms, i64::min);
        let count = kept.len() as u64;
        self.counts.read += rows;
        self.counts.folded += count;
        self.counts.late += rows - count;
        if !kept.is_empty() {
            let bytes = bytes_of(&kept.rows);
            let _ = self.allowance.ask(bytes);
            self.bytes += bytes;
            self.waiting.push(kept.rows);
        }
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        let passed = passed_ms(watermark);
        if self.least_ms >= passed || self.waiting.is_empty() {
            return Ok(());
        }
        let all = concat_batches(&self.schema, &self.waiting).map_err(arrow_error)?;
        self.waiting.clear();
        let by_time = SortKey { place: self.time, is_descending: false, is_null_first: true };
        let keys: Vec<SortKey> = [by_time].into_iter().chain(self.keys.iter().copied()).collect();
        let order = sorted(&all, &[], &keys, false)?;
        let all = taken(&all, &order)?;
        let times = all.column(self.time).as_primitive::<TimestampMillisecondType>();
        let count = times.values().partition_point(|time| *time < passed);
        self.least_ms = times.values().get(count).copied().unwrap_or(i64::MAX);
        self.bytes = 0;
        if count < all.num_rows() {
            let rest = all.slice(count, all.num_rows() - count);
            self.bytes = bytes_of(&rest);
            self.waiting.push(rest);
        }
        self.out.put(all.slice(0, count), None);
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        Ok(self.out.next())
    }

    /// Rows wait for the watermark of all inputs, so none is late by that of its own any more.
    fn emits_own_times(&self) -> bool {
        true
    }

    fn horizon(&self) -> Horizon {
        Horizon::EVERYWHERE
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn state_bytes(&self) -> usize {
        self.bytes + self.out.bytes()
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let all = concat_batches(&self.schema, &self.waiting);
        save_rows(&all.map_err(|error| StateError::Write(error.to_string()))?, state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let rows = load_rows(&self.schema, state)?;
        let times = rows.column(self.time).as_primitive::<TimestampMillisecondType>();
        self.least_ms = times.values().iter().copied().min().unwrap_or(i64::MAX);
        self.bytes = bytes_of(&rows);
        let _ = self.allowance.ask(self.bytes);
        self.waiting = vec![rows];
        Ok(())
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}
