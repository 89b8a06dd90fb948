//! Sort: rows in the order of event time, then of other columns, then as they came.
//!
//! Input      batches with a time column
//! Output     the same rows in order
//! State      the rows at or behind the watermark
//! Emits      when the watermark has passed a row
//! Late       the watermark had passed it when it came: counted, and dropped
//! Watermark  forwarded unchanged, after all that it has passed
//! Cost       sorting the rows between two watermarks
//! Source     Flink, "ORDER BY clause" (streams are sorted by ascending time first)

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{SchemaRef, TimestampMillisecondType};
use arrow::record_batch::RecordBatch;
use thalweg_model::{Allowance, Counts, EventTime, Horizon};

use super::calc::{filtered, schema_of};
use super::operator::{BatchOperator, Outcome};
use super::order::{bytes_of, sorted, taken};
use super::windows::passed_ms;
use crate::batch::{BATCH_ROWS_MAX, Batch};
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
    /// What comes out, and how much of it has.
    out: Option<(RecordBatch, usize)>,
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
            out: None,
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
        self.out = Some((all.slice(0, count), 0));
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        let Some((rows, from)) = self.out.take() else { return Ok(None) };
        let count = (rows.num_rows() - from).min(BATCH_ROWS_MAX);
        let piece = rows.slice(from, count);
        if from + count < rows.num_rows() {
            self.out = Some((rows, from + count));
        }
        Ok((count > 0).then(|| Batch::new(piece)))
    }

    fn horizon(&self) -> Horizon {
        Horizon::EVERYWHERE
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn state_bytes(&self) -> usize {
        self.bytes + self.out.as_ref().map_or(0, |(rows, _)| bytes_of(rows))
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}
