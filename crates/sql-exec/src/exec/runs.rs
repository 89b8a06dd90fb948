//! Rows that wait for the watermark, stored as runs in the order of event time.
//!
//! Each batch becomes a run. A watermark removes the first rows of each run. So a watermark costs one search
//! for each run that begins before it, and the sorting of the rows that it passes; waiting rows are not
//! touched. When there are [`RUNS_MAX`] runs, adjacent runs are merged.
//!
//! Source: runs and their merging as in external sorting (Knuth, The Art of Computer Programming 3, section
//! 5.4).

use arrow::array::AsArray;
use arrow::compute::concat_batches;
use arrow::datatypes::{SchemaRef, TimestampMillisecondType};
use arrow::record_batch::RecordBatch;
use thalweg_model::{StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;

use super::kept::{load_rows, save_rows};
use super::operator::Outcome;
use super::order::{bytes_of, compacted, copied, sorted, taken};
use crate::plan::SortKey;

/// Number of sorted runs of waiting rows at which adjacent runs are merged.
const RUNS_MAX: usize = 512;

/// If less than 1 / `LEFT_SHARE` of the rows of a sorted run are left, the remaining rows are copied, so that
/// the memory of the whole run is freed.
const LEFT_SHARE: usize = 4;

/// Holds rows that wait for the watermark, as sorted runs.
pub(super) struct Runs {
    schema: SchemaRef,
    /// Index of the event time column by which the rows are sorted.
    time: usize,
    /// Sorted runs, in the order in which their rows arrived.
    runs: Vec<Run>,
    bytes: usize,
}

/// Rows in the order of event time, rows of equal time in the order of arrival; there is at least one row.
struct Run {
    rows: RecordBatch,
    first_ms: i64,
    /// Number of rows for which the memory of the run was allocated.
    made_for: usize,
    bytes: usize,
}

impl Runs {
    pub(super) fn new(schema: SchemaRef, time: usize) -> Self {
        Runs { schema, time, runs: Vec::new(), bytes: 0 }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds rows that are to wait for the watermark, in any order; their times must not be NULL.
    pub(super) fn push(&mut self, rows: RecordBatch) -> Outcome<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let rows = compacted(self.in_order(rows)?)?;
        let run = self.run(rows);
        self.bytes += run.bytes;
        self.runs.push(run);
        if self.runs.len() >= RUNS_MAX {
            self.put_together()?;
        }
        Ok(())
    }

    /// Removes and returns the waiting rows with event times below `passed_ms`, in milliseconds, in the order
    /// of time, rows of equal time in the order of arrival. Returns `None` if there are none.
    pub(super) fn passed(&mut self, passed_ms: i64) -> Outcome<Option<RecordBatch>> {
        let mut passed: Vec<RecordBatch> = Vec::new();
        for at in 0..self.runs.len() {
            let run = &self.runs[at];
            if run.first_ms >= passed_ms {
                continue;
            }
            let count = times(&run.rows, self.time).partition_point(|time| *time < passed_ms);
            passed.push(run.rows.slice(0, count));
            self.bytes -= run.bytes;
            let left = run.rows.slice(count, run.rows.num_rows() - count);
            let made_for = run.made_for;
            self.runs[at] = if left.num_rows() == 0 {
                Run { rows: left, first_ms: i64::MAX, made_for, bytes: 0 }
            } else if left.num_rows() < made_for / LEFT_SHARE {
                self.run(copied(&left)?)
            } else {
                Run { made_for, ..self.run(left) }
            };
            self.bytes += self.runs[at].bytes;
        }
        self.runs.retain(|run| run.rows.num_rows() > 0);
        match passed.len() {
            0 => Ok(None),
            1 => Ok(passed.pop()),
            _ => self.in_order(concat_batches(&self.schema, &passed).map_err(arrow_error)?).map(Some),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.runs.len())?;
        self.runs.iter().try_for_each(|run| save_rows(&run.rows, state))
    }

    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        (self.runs, self.bytes) = (Vec::new(), 0);
        let runs: usize = state.take()?;
        for _ in 0..runs {
            let rows = load_rows(&self.schema, state)?;
            if rows.column(self.time).null_count() > 0 {
                return Err(state.wrong("a row that waits has no time"));
            }
            self.push(rows).map_err(|error| state.wrong(error.message))?;
        }
        Ok(())
    }

    /// Iterates over all rows that wait for the watermark, one sorted run after the other.
    pub(super) fn rows(&self) -> impl Iterator<Item = &RecordBatch> {
        self.runs.iter().map(|run| &run.rows)
    }

    fn run(&self, rows: RecordBatch) -> Run {
        let first_ms = times(&rows, self.time).first().copied().unwrap_or(i64::MAX);
        Run { first_ms, made_for: rows.num_rows(), bytes: bytes_of(&rows), rows }
    }

    fn in_order(&self, rows: RecordBatch) -> Outcome<RecordBatch> {
        if times(&rows, self.time).is_sorted() {
            return Ok(rows);
        }
        let by_time = SortKey { place: self.time, is_descending: false, is_null_first: true };
        let order = sorted(&rows, &[], &[by_time], false)?;
        taken(&rows, &order)
    }

    /// Merges each pair of adjacent sorted runs into one run.
    fn put_together(&mut self) -> Outcome<()> {
        let mut runs: Vec<Run> = Vec::with_capacity(RUNS_MAX);
        for pair in self.runs.chunks(2) {
            let both = concat_batches(&self.schema, pair.iter().map(|run| &run.rows)).map_err(arrow_error)?;
            runs.push(self.run(self.in_order(both)?));
        }
        self.bytes = runs.iter().map(|run| run.bytes).sum();
        self.runs = runs;
        Ok(())
    }
}

fn times(rows: &RecordBatch, time: usize) -> &[i64] {
    rows.column(time).as_primitive::<TimestampMillisecondType>().values()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int32Array, TimestampMillisecondArray};
    use arrow::datatypes::Int32Type;
    use proptest::prelude::*;
    use thalweg_sql_functions::types::SqlType;
    use thalweg_sql_tables::batch::batch_of;

    use super::*;
    use crate::exec::calc::schema_of;
    use crate::plan::Column;

    fn schema() -> SchemaRef {
        schema_of(&[
            Column::plain("id", SqlType::Int, false),
            Column::plain("ts", SqlType::Timestamp(3), false),
        ])
    }

    fn batch(rows: &[(i32, i64)]) -> RecordBatch {
        let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.0)));
        let times: ArrayRef =
            Arc::new(TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.1)));
        batch_of(&schema(), vec![ids, times], rows.len()).unwrap()
    }

    fn shown(rows: Option<RecordBatch>) -> Vec<(i32, i64)> {
        let Some(rows) = rows else { return Vec::new() };
        let ids = rows.column(0).as_primitive::<Int32Type>().values().to_vec();
        ids.into_iter().zip(times(&rows, 1).iter().copied()).collect()
    }

    proptest! {
        /// The rows that a watermark passes equal a stable sort of all waiting rows before it, at any length
        /// of runs.
        #[test]
        fn the_first_rows_come_in_order(
            batches in prop::collection::vec((prop::collection::vec(0i64..50, 0..6), 0i64..60), 0..40),
            reload in 0usize..40,
        ) {
            let mut runs = Runs::new(schema(), 1);
            let mut waiting: Vec<(i32, i64)> = Vec::new();
            let mut id = 0;
            for (place, (times, watermark)) in batches.iter().enumerate() {
                let rows: Vec<(i32, i64)> = times.iter().map(|time| { id += 1; (id, *time) }).collect();
                waiting.extend(&rows);
                runs.push(batch(&rows)).unwrap();
                if place % 3 == 0 {
                    runs.put_together().unwrap();
                }
                if place == reload {
                    let mut state = StateWriter::default();
                    runs.save(&mut state).unwrap();
                    let bytes = state.into_bytes();
                    runs = Runs::new(schema(), 1);
                    runs.load(&mut StateReader::new(&bytes)).unwrap();
                }
                let mut expected: Vec<(i32, i64)> = waiting.iter().copied().filter(|row| row.1 < *watermark).collect();
                expected.sort_by_key(|row| row.1);
                waiting.retain(|row| row.1 >= *watermark);
                prop_assert_eq!(shown(runs.passed(*watermark).unwrap()), expected);
                let held: usize = runs.rows().map(RecordBatch::num_rows).sum();
                prop_assert_eq!(held, waiting.len());
                prop_assert_eq!(runs.bytes() == 0, waiting.is_empty());
            }
        }
    }

    /// Waiting rows form at most [`RUNS_MAX`] runs, and a run with few rows left does not hold the memory of
    /// all its original rows.
    #[test]
    fn runs_are_bounded() {
        let mut runs = Runs::new(schema(), 1);
        for id in 0..5_000 {
            runs.push(batch(&[(id, i64::from(id) % 7)])).unwrap();
            assert!(runs.runs.len() < RUNS_MAX);
        }
        let mut long = Runs::new(schema(), 1);
        let rows: Vec<(i32, i64)> = (0..4_000).map(|id| (id, i64::from(id))).collect();
        long.push(batch(&rows)).unwrap();
        let whole = long.bytes();
        assert_eq!(shown(long.passed(3_990).unwrap()).len(), 3_990);
        assert!(long.bytes() * 10 < whole, "{} of {whole}", long.bytes());
        // Slices of a large batch that wait as rows do not hold the memory of the whole batch either.
        let mut parts = Runs::new(schema(), 1);
        let large = batch(&rows);
        for first in (0..4_000).step_by(100) {
            parts.push(large.slice(first, 100)).unwrap();
        }
        assert!(parts.bytes() < 2 * whole, "{} of {whole}", parts.bytes());
    }
}
