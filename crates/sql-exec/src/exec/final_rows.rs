//! Final rows: the rows that are left of the input when it has ended, sorted, and a part of them.
//!
//! Input      batches of rows, or of changes
//! Output     rows that are never changed, in the requested order
//! State      the rows that are there so far; if rows are only added, at most as many as LIMIT and OFFSET ask for. State
//!            beyond its share of memory goes to disk, if it may (`final_rows/runs.rs`)
//! Emits      at the end of the input
//! Late       ignores event time
//! Watermark  held back until the last one, since rows of any event time come out at the end
//! Cost       per row a search in a tree of the rows; rows that are only added and all wanted are sorted once
//! Source     Flink, "Execution Mode (Batch/Streaming)", "ORDER BY clause", "LIMIT clause"
//!
//! Rows that are equal by the order are sorted by all columns from left to right. So the output, and the part of it that
//! LIMIT passes, do not depend on the order in which rows arrive.
//!
//! A retraction takes away an equal row: 0.0 and -0.0 differ, and so do maps whose entries are in another order. It may come before the row itself, for example from another input of a union;
//! then both cancel each other.

use std::collections::BTreeMap;

use arrow::array::ArrayRef;
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};
use thalweg_model::{EventTime, StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format, heap_bytes};
use thalweg_sql_tables::batch::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, Batch, batch_of, reserve_room};
use thalweg_sql_tables::spill::Spilling;

use super::accounts::{Accounts, accounted};
use super::calc::schema_of;
use super::operator::{BatchOperator, Outcome};
use crate::plan::{Column, SortKey};

mod appended;
mod runs;
#[cfg(test)]
mod tests;

use appended::Appended;
use runs::DiskRuns;

/// Operator that emits the rows that are left when its input has ended.
pub struct FinalRows {
    /// Indexes of the columns by which rows are sorted.
    order: Vec<usize>,
    /// Converts a row to bytes that sort as the row does: first the columns of the order, then all columns.
    converter: RowConverter,
    schema: SchemaRef,
    /// Rows as bytes, each with the number of its occurrences. The number is below zero if more equal rows were
    /// retracted than came so far.
    rows: BTreeMap<Box<[u8]>, i64>,
    /// Rows in the order of arrival, in place of the tree, if rows are only added and all of them are wanted.
    appended: Option<Appended>,
    /// Number of rows that are held, if rows are only added.
    count: u64,
    /// Whether the input may retract rows.
    is_retracting: bool,
    /// Number of rows that are still to be left out at the start of the output.
    skip: u64,
    /// Number of rows that may still be emitted after them.
    fetch: u64,
    /// Whether the input has ended, so that rows are emitted.
    has_ended: bool,
    bytes: usize,
    /// Sorted runs of rows on disk, if rows may go there.
    disk: Option<DiskRuns>,
    accounts: Accounts,
}

impl FinalRows {
    /// Creates an operator for rows with the columns `columns`. It leaves out the first `skip` rows by `order`, and
    /// emits at most `fetch` rows after them.
    ///
    /// # Errors
    /// [`EvaluationError`](thalweg_sql_functions::functions::EvaluationError) if a column has a type that cannot be
    /// kept; all SQL types can.
    pub fn new(
        order: &[SortKey],
        skip: u64,
        fetch: u64,
        is_retracting: bool,
        columns: &[Column],
    ) -> Outcome<Self> {
        let by_order = order.iter().map(|key| {
            let options = SortOptions { descending: key.is_descending, nulls_first: key.is_null_first };
            SortField::new_with_options(columns[key.place].of.arrow(), options)
        });
        let whole = columns.iter().map(|column| SortField::new(column.of.arrow()));
        Ok(FinalRows {
            order: order.iter().map(|key| key.place).collect(),
            converter: RowConverter::new(by_order.chain(whole).collect()).map_err(arrow_error)?,
            schema: schema_of(columns),
            rows: BTreeMap::new(),
            appended: (!is_retracting && fetch == u64::MAX).then(Appended::default),
            count: 0,
            is_retracting,
            skip,
            fetch,
            has_ended: false,
            bytes: 0,
            disk: None,
            accounts: Accounts::default(),
        })
    }

    /// Returns the operator with room on disk for rows that have none in memory.
    #[must_use]
    pub fn spilling(self, spilling: Option<Spilling>) -> Self {
        FinalRows { disk: spilling.map(DiskRuns::new), ..self }
    }

    /// Returns whether rows are on disk.
    fn is_on_disk(&self) -> bool {
        self.disk.as_ref().is_some_and(DiskRuns::has_rows)
    }

    /// Writes the rows in memory to disk, if those of a batch have no room beside them. `row_bytes` are the bytes of the batch's
    /// comparable rows.
    fn make_room(&mut self, rows: usize, row_bytes: usize) -> Outcome<()> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let held_bytes = self.held_bytes();
        let growth_bytes = match &self.appended {
            Some(appended) => appended.growth_bytes(rows, row_bytes),
            None => row_bytes + rows * entry_bytes(&[0]),
        };
        if disk.has_room(held_bytes, growth_bytes, &self.accounts.allowance) {
            Ok(())
        } else {
            self.write_run()
        }
    }

    /// Writes the rows in memory to disk as a sorted run.
    fn write_run(&mut self) -> Outcome<()> {
        let Some(disk) = &mut self.disk else { return Ok(()) };
        let allowance = &self.accounts.allowance;
        if let Some(appended) = self.appended.as_mut().filter(|appended| !appended.is_empty()) {
            appended.sort();
            disk.write(appended.rows().map(|row| (row, 1)), allowance)?;
            *appended = Appended::default();
        }
        if !self.rows.is_empty() {
            disk.write(self.rows.iter().map(|(row, count)| (&**row, *count)), allowance)?;
            self.rows.clear();
            (self.bytes, self.count) = (0, 0);
        }
        Ok(())
    }

    /// Moves the next rows on disk into memory, in their order, if those before have come out.
    fn read_from_disk(&mut self) -> Outcome<()> {
        let Some(disk) = self.disk.as_mut().filter(|_| self.rows.is_empty()) else { return Ok(()) };
        if self.fetch == 0 {
            disk.clear();
        }
        let rows = disk.next_rows((BATCH_ROWS_MAX, BATCH_BYTES_MAX), &self.accounts.allowance)?;
        for (row, count) in rows.into_iter().flatten() {
            self.bytes += entry_bytes(&row);
            self.rows.insert(row, count);
        }
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        let appended = self.appended.as_ref().map_or(0, Appended::held_bytes);
        self.bytes + appended + self.disk.as_ref().map_or(0, DiskRuns::bytes)
    }

    /// Adds a row, or takes one away.
    fn change(&mut self, row: &[u8], by: i64) {
        let count = self.rows.get_mut(row);
        let is_new = count.is_none();
        match count {
            Some(count) => *count += by,
            None => {
                self.bytes += entry_bytes(row);
                self.rows.insert(row.into(), by);
            }
        }
        if !is_new && self.rows.get(row) == Some(&0) {
            self.rows.remove(row);
            self.bytes -= entry_bytes(row);
        }
    }

    /// Adds a row of an input whose rows are only added, unless enough rows come before it by the order.
    fn add(&mut self, row: &[u8]) -> bool {
        let most = self.skip.saturating_add(self.fetch);
        let is_full = self.count >= most;
        if is_full && self.rows.last_key_value().is_none_or(|(last, _)| **last <= *row) {
            return false;
        }
        self.change(row, 1);
        self.count += 1;
        if is_full && let Some(mut last) = self.rows.last_entry() {
            self.count -= 1;
            *last.get_mut() -= 1;
            if *last.get() == 0 {
                let (gone, _) = last.remove_entry();
                self.bytes -= entry_bytes(&gone);
            }
        }
        true
    }

    fn note_bytes(&mut self) {
        self.accounts.hold(self.held_bytes());
    }

    /// Returns the next sorted rows of an input whose rows are only added and all wanted, as columns with their number.
    fn next_appended(appended: &mut Appended, converter: &RowConverter) -> Outcome<(Vec<ArrayRef>, usize)> {
        let parser = converter.parser();
        let rows = appended.take(BATCH_ROWS_MAX, BATCH_BYTES_MAX);
        let count = rows.len();
        let columns = converter.convert_rows(rows.map(|row| parser.parse(row))).map_err(arrow_error)?;
        Ok((columns, count))
    }

    /// Takes the next rows of the output out of the state: at most as many, and about as many bytes, as a batch holds.
    fn take_rows(&mut self) -> Vec<(Box<[u8]>, usize)> {
        let (mut taken, mut left, mut bytes) = (Vec::new(), BATCH_ROWS_MAX as u64, 0);
        while left > 0
            && bytes < BATCH_BYTES_MAX
            && self.fetch > 0
            && let Some(mut first) = self.rows.first_entry()
        {
            let mut count = u64::try_from(*first.get()).unwrap_or_default();
            let skipped = count.min(self.skip);
            self.skip -= skipped;
            count -= skipped;
            let length = first.key().len().max(1);
            let fits = (BATCH_BYTES_MAX - bytes).div_ceil(length) as u64;
            let passed = count.min(self.fetch).min(left).min(fits);
            bytes += length * passed as usize;
            self.fetch -= passed;
            left -= passed;
            count -= passed;
            let is_done = count == 0 || self.fetch == 0;
            *first.get_mut() = i64::try_from(count).unwrap_or(i64::MAX);
            let row = if is_done {
                let (row, _) = first.remove_entry();
                self.bytes -= entry_bytes(&row);
                row
            } else {
                first.key().clone()
            };
            if passed > 0 {
                taken.push((row, passed as usize));
            }
        }
        if self.fetch == 0 {
            self.rows.clear();
            self.bytes = 0;
        }
        taken
    }
}

/// Returns the bytes of a held row. The nodes of the tree are half full if rows come in order, and two thirds full if they
/// do not; a value between both is assumed.
fn entry_bytes(row: &[u8]) -> usize {
    size_of::<(Box<[u8]>, i64)>() * 7 / 4 + heap_bytes(row.len())
}

impl BatchOperator for FinalRows {
    fn name(&self) -> &str {
        "final"
    }

    fn take(&mut self, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        let columns: Vec<ArrayRef> = self
            .order
            .iter()
            .map(|place| batch.rows.column(*place))
            .chain(batch.rows.columns())
            .cloned()
            .collect();
        let rows: Rows = self.converter.convert_columns(&columns).map_err(arrow_error)?;
        self.accounts.counts.read += batch.len() as u64;
        self.make_room(rows.num_rows(), rows.size())?;
        let growth =
            self.appended.as_ref().map_or(0, |appended| appended.growth_bytes(rows.num_rows(), rows.size()));
        let _room = reserve_room(&self.accounts.allowance, growth)?;
        for (at, row) in rows.iter().enumerate() {
            let is_kept = if let Some(appended) = &mut self.appended {
                appended.add(row.data())?;
                true
            } else if self.is_retracting {
                let comes = batch.kind(at).adds();
                self.change(row.data(), if comes { 1 } else { -1 });
                true
            } else {
                self.add(row.data())
            };
            if is_kept {
                self.accounts.counts.folded += 1;
            } else {
                self.accounts.counts.filtered += 1;
            }
        }
        if let (Some(appended), true) = (&mut self.appended, self.has_ended) {
            appended.sort();
        }
        self.note_bytes();
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        if watermark == EventTime::MAX && !self.has_ended {
            self.has_ended = true;
            if self.is_on_disk() {
                self.write_run()?;
                self.appended = None;
            }
            if let Some(appended) = &mut self.appended {
                appended.sort();
                appended.skip(std::mem::take(&mut self.skip));
            }
            self.note_bytes();
        }
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        if !self.has_ended {
            return Ok(None);
        }
        if let Some(appended) = &mut self.appended {
            if appended.is_empty() {
                *appended = Appended::default();
                self.note_bytes();
                return Ok(None);
            }
            let (columns, count) = Self::next_appended(appended, &self.converter)?;
            let columns = columns.into_iter().skip(self.order.len()).collect();
            return batch_of(&self.schema, columns, count).map(|rows| Some(Batch::new(rows)));
        }
        self.read_from_disk()?;
        let taken = self.take_rows();
        if taken.is_empty() {
            self.note_bytes();
            // An empty batch lets the worker do other work while runs are merged or rows are skipped.
            let is_over = !self.is_on_disk() && self.rows.is_empty();
            return Ok((!is_over).then(|| Batch::new(RecordBatch::new_empty(self.schema.clone()))));
        }
        let parser = self.converter.parser();
        let rows = taken
            .iter()
            .flat_map(|(row, count)| std::iter::repeat_n(row, *count))
            .map(|row| parser.parse(row));
        let count = taken.iter().map(|(_, count)| count).sum();
        let columns = self.converter.convert_rows(rows).map_err(arrow_error)?;
        drop(taken);
        self.note_bytes();
        let columns = columns.into_iter().skip(self.order.len()).collect();
        batch_of(&self.schema, columns, count).map(|rows| Some(Batch::new(rows)))
    }

    fn emits_own_times(&self) -> bool {
        true
    }

    /// Holds all watermarks back but the last, which is always forwarded.
    fn forward(&self, _watermark: EventTime) -> EventTime {
        EventTime::MIN
    }

    accounted!();

    /// Saves the state. Called between batches. State of which a part is on disk cannot be saved.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        if self.is_on_disk() {
            let reason = "sorted rows on disk are not saved yet; run without thalweg.state.spill-dir";
            return Err(StateError::Write(reason.to_owned()));
        }
        let appended: Vec<&[u8]> = self.appended.iter().flat_map(Appended::rows).collect();
        state.put(&(ROW_FORMAT, self.skip, self.fetch, self.has_ended, self.rows.len() + appended.len()))?;
        for (row, count) in &self.rows {
            state.put(&(row, count))?;
        }
        appended.iter().try_for_each(|row| state.put(&(row, 1i64)))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        check_row_format(state)?;
        let rows: usize;
        (self.skip, self.fetch, self.has_ended, rows) = state.take()?;
        self.rows.clear();
        // Rows that are being emitted are those of the tree: the saved state tells how many are still left out.
        self.appended = self.appended.take().filter(|_| !self.has_ended).map(|_| Appended::default());
        (self.bytes, self.count) = (0, 0);
        for _ in 0..rows {
            let (row, count): (Box<[u8]>, i64) = state.take()?;
            if let Some(appended) = &mut self.appended {
                appended.add(&row).map_err(|error| state.wrong(error.message))?;
                continue;
            }
            self.count = self.count.saturating_add(u64::try_from(count).unwrap_or_default());
            self.change(&row, count);
        }
        self.note_bytes();
        Ok(())
    }
}
