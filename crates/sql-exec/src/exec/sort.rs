//! Sort operator: emits rows in the order of event time, then of other columns, then of arrival.
//!
//! Input      batches with a time column
//! Output     the same rows in order
//! State      the rows whose event times are not below the watermark
//! Emits      when the watermark has passed a row
//! Late       the watermark had passed the row when it came: counted, and dropped
//! Watermark  forwarded unchanged, after the output of all rows that it has passed
//! Cost       sorting each batch by time, and the rows that a watermark passes; see [`Runs`]
//! Source     Flink, "ORDER BY clause" (streams are sorted by ascending time first)

use arrow::array::{AsArray, BooleanArray};
use arrow::datatypes::TimestampMillisecondType;
use thalweg_model::{EventTime, Horizon, StateError, StateReader, StateWriter};
use thalweg_sql_tables::batch::Batch;

use super::accounts::{Accounts, accounted};
use super::calc::{filtered, schema_of};
use super::operator::{BatchOperator, Outcome};
use super::order::{sorted, taken};
use super::pieces::Pieces;
use super::runs::Runs;
use super::windows::passed_ms;
use crate::plan::{Column, SortKey};

/// Operator that sorts rows by event time.
pub struct Sort {
    time: usize,
    keys: Vec<SortKey>,
    waiting: Runs,
    out: Pieces,
    accounts: Accounts,
}

impl Sort {
    /// Creates an operator that sorts rows by the event time column with the index `time`, then by `keys`.
    pub fn new(time: usize, keys: Vec<SortKey>, columns: &[Column]) -> Self {
        Sort {
            time,
            keys,
            waiting: Runs::new(schema_of(columns), time),
            out: Pieces::default(),
            accounts: Accounts::default(),
        }
    }

    fn note_bytes(&mut self) {
        let bytes = self.waiting.bytes();
        self.accounts.hold(bytes);
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
        let count = kept.len() as u64;
        self.accounts.counts.read += rows;
        self.accounts.counts.folded += count;
        self.accounts.counts.late += rows - count;
        self.waiting.push(kept.rows)?;
        self.note_bytes();
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        let Some(passed) = self.waiting.passed(passed_ms(watermark))? else { return Ok(()) };
        self.note_bytes();
        if self.keys.is_empty() {
            self.out.put(passed, None);
            return Ok(());
        }
        let by_time = SortKey { place: self.time, is_descending: false, is_null_first: true };
        let keys: Vec<SortKey> = [by_time].into_iter().chain(self.keys.iter().copied()).collect();
        let order = sorted(&passed, &[], &keys, false)?;
        self.out.put(taken(&passed, &order)?, None);
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        Ok(self.out.next())
    }

    /// Returns true, because rows wait for the watermark of all inputs. So no output row is judged as late by
    /// the watermark of the single input from which it came.
    fn emits_own_times(&self) -> bool {
        true
    }

    fn horizon(&self) -> Horizon {
        Horizon::EVERYWHERE
    }

    accounted!();

    fn state_bytes(&self) -> usize {
        self.accounts.bytes() + self.out.bytes()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.waiting.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.waiting.load(state)?;
        self.note_bytes();
        Ok(())
    }
}
