//! GROUP BY without windows: aggregates per key, which change with every row.
//!
//! Input      batches of changes: rows that are added, and rows that are retracted
//! Output     changes: `+I` for a new key, `-U` and `+U` for a key that has changed, `-D` for a key without rows
//! State      per key its accumulators, and its row count where rows can be retracted
//! Emits      at once: a change for every row, in their order, without a time to live only if it changes a result; or one
//!            change for each key of a batch, as below. In batch mode also a row at the end
//! Late       ignores event time
//! Watermark  forwarded unchanged
//! Cost       one look-up per row; results are computed after every row, those of a batch together, or after every batch
//! Source     Flink, "Group Aggregation"; `GroupAggFunction`
//!
//! A key is kept for the time to live after its last row, even if that row changed nothing. As in Flink with a time
//! to live, a change comes out even if the result is the same, so that downstream operators keep the result alive,
//! too. Without a time to live such a change is left out, as in Flink. A retraction for an unknown key is ignored. SELECT
//! DISTINCT is this operator without aggregates.
//!
//! If one change for each key and batch is enough, the changes of a key within a batch become one, in the place of the
//! last. This is so with `table.exec.mini-batch.enabled`, and where only the final rows of a query are wanted. Flink waits to
//! fill a batch, and we take what is there.
//!
//! In batch mode, an aggregate without keys that has no rows when its input ends has a row all the same: the aggregates
//! of nothing, as in SQL.

use std::cell::OnceCell;
use std::sync::Arc;

use arrow::array::{ArrayRef, DynComparator, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use thalweg_model::{EventTime, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::aggregates::Sequence;
use thalweg_sql_functions::scratch::{EVALUATION_BYTES_MAX, value_bytes};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of, pay, reserve_room};

use super::accounts::{Accounts, accounted};
use super::calc::schema_of;
use super::calls::{Calls, gathered, picked};
use super::keyed::Keyed;
use super::operator::{BatchOperator, Outcome};
use super::parts::{Part, parts_of};
use super::{Now, Pieces};
use crate::plan::{AggregateCall, Column};

#[cfg(test)]
mod tests;

/// Keys and aggregate functions of a GROUP BY without a window.
#[derive(Clone, Debug)]
pub struct GroupCalls {
    /// Indexes of the GROUP BY columns in the input.
    pub keys: Vec<usize>,
    /// Aggregate functions that are computed for each key.
    pub calls: Vec<AggregateCall>,
    /// Whether the input may retract rows.
    pub is_retracting: bool,
    /// How long a key is kept after its last row, in milliseconds of processing time; `i64::MAX` for ever.
    pub ttl_ms: i64,
    /// Whether an aggregate without keys has a result if it has no rows at the end of its input, as in batch mode.
    pub has_row_without_input: bool,
    /// Whether one change for each key and batch is enough.
    pub is_once_per_batch: bool,
}

/// Operator that computes aggregates per key without a window.
pub struct Group {
    places: Vec<usize>,
    is_retracting: bool,
    has_row_without_input: bool,
    is_once_per_batch: bool,
    /// Whether results depend on the order in which rows are added and taken back.
    is_in_order: bool,
    /// Whether updates come out that change no result.
    tells_same: bool,
    output: SchemaRef,
    now: Now,
    keys: Keyed,
    calls: Calls,
    /// Number of rows of each key, indexed by the slot number that [`Keyed`] gives the key; empty if rows are only added.
    rows: Vec<i64>,
    /// For each slot, the index of its key among the steps of the last batch that had it, or among the keys of that batch if one
    /// change for each key and batch is enough. An index that another key has taken since has no meaning.
    places_in_batch: Vec<u32>,
    /// Rest of the input batch that is still to be aggregated.
    left: Option<Batch>,
    /// Number of input rows that are aggregated at a time. Each row has results of its own, which may be
    /// long.
    rows_at_a_time: usize,
    /// Bytes of the aggregate results of one row: the mean over the input rows that were aggregated last.
    row_bytes: usize,
    out: Pieces,
    accounts: Accounts,
}

/// Number of input rows that are aggregated at first, before it is measured how long their results are.
const FIRST_ROWS: usize = 64;

/// Effect of an input row on the aggregates of its key.
struct Step {
    row: u32,
    slot: u32,
    is_added: bool,
    change: Change,
    /// Results of the key before the row.
    before: Place,
}

/// Place of aggregate results: the index of a set of result columns, and the index of a row in it. The first set has the
/// results before a batch, the second one those after rows of the batch, or after all of them.
type Place = (usize, usize);

/// Effect of the rows of a batch on one key.
struct Touched {
    slot: u32,
    /// Last row of the batch that has the key.
    row: u32,
    is_new: bool,
    /// Whether the key has no rows any more.
    is_gone: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    New,
    Update,
    Gone,
}

impl Group {
    /// Creates a GROUP BY of rows with the columns `input`, which emits rows with `columns`: keys, then
    /// results. The clock decides when a key has expired.
    ///
    /// # Errors
    /// [`EvaluationError`](thalweg_sql_functions::functions::EvaluationError) if a key has a type that cannot
    /// be kept, or a call must retract rows and cannot; planning refuses both.
    pub fn new(
        group: GroupCalls,
        now: Now,
        input: &[Column],
        columns: &[Column],
        hash_seed: u64,
    ) -> Outcome<Self> {
        Ok(Group {
            places: group.keys.clone(),
            is_retracting: group.is_retracting,
            has_row_without_input: group.has_row_without_input && group.keys.is_empty(),
            is_once_per_batch: group.is_once_per_batch,
            is_in_order: group.calls.iter().any(AggregateCall::depends_on_order),
            tells_same: group.ttl_ms < i64::MAX,
            output: schema_of(columns),
            now,
            keys: Keyed::new(group.keys, input, Some(group.ttl_ms), hash_seed)?,
            calls: Calls::new(&group.calls, group.is_retracting)?,
            rows: Vec::new(),
            places_in_batch: Vec::new(),
            left: None,
            rows_at_a_time: if columns.iter().any(|column| is_long(&column.of)) {
                FIRST_ROWS
            } else {
                BATCH_ROWS_MAX
            },
            row_bytes: 0,
            out: Pieces::default(),
            accounts: Accounts::default(),
        })
    }

    /// Plans the work for a batch. Returns the effect of each row, and the slot numbers of the keys whose results before the
    /// batch are needed.
    fn plan(&mut self, batch: &Batch) -> Outcome<(Vec<Step>, Vec<u32>)> {
        let keys = self.keys.rows(&batch.rows)?;
        let mut steps: Vec<Step> = Vec::with_capacity(batch.len());
        let mut known: Vec<u32> = Vec::new();
        for row in 0..batch.len() {
            let is_added = batch.kind(row).adds();
            let (slot, is_new) = if is_added {
                self.keys.find_or_add(&keys, row)
            } else {
                match self.keys.find(&keys, row) {
                    Some(slot) => (slot, false),
                    None => {
                        self.accounts.counts.filtered += 1;
                        continue;
                    }
                }
            };
            self.keys.touch(slot);
            let is_gone = self.counted(slot, is_new, is_added) == Some(0);
            let last = self.last_in_batch(slot, steps.len());
            let before = match steps.get(last).filter(|step| step.slot == slot) {
                Some(_) => (1, last),
                None if is_new => (0, 0),
                None => {
                    known.push(slot);
                    (0, known.len() - 1)
                }
            };
            if is_gone {
                self.keys.release(slot);
            }
            let change = match (is_new, is_gone) {
                (true, _) => Change::New,
                (false, true) => Change::Gone,
                (false, false) => Change::Update,
            };
            steps.push(Step { row: row as u32, slot, is_added, change, before });
        }
        Ok((steps, known))
    }

    /// Notes that a key has a place in a batch, its last one so far, and returns the place before it. If that is not one of the
    /// key, the key had none in the batch.
    fn last_in_batch(&mut self, slot: u32, place: usize) -> usize {
        if self.places_in_batch.len() < self.keys.slots() {
            self.places_in_batch.resize(self.keys.slots(), 0);
        }
        std::mem::replace(&mut self.places_in_batch[slot as usize], place as u32) as usize
    }

    /// Counts a row of a key, and returns how many rows the key has now; `None` if rows are only added.
    fn counted(&mut self, slot: u32, is_new: bool, comes: bool) -> Option<i64> {
        if !self.is_retracting {
            return None;
        }
        if self.rows.len() < self.keys.slots() {
            self.rows.resize(self.keys.slots(), 0);
        }
        let count = &mut self.rows[slot as usize];
        *count = if is_new { 1 } else { *count + if comes { 1 } else { -1 } };
        Some(*count)
    }

    /// Aggregates as many rows of a batch as there is memory for their results, and keeps the rest for later.
    fn fold_some(&mut self, batch: Batch) -> Outcome<()> {
        if batch.is_empty() {
            // An empty batch tells nothing about the length of results, so the number of rows at a time stays
            // as it is.
            return Ok(());
        }
        let rows = self.rows_at_a_time.clamp(1, batch.len());
        let batch = if rows < batch.len() {
            let (first, rest) = batch.split(rows);
            self.left = Some(rest);
            first
        } else {
            batch
        };
        // Memory is needed for the results before and after each row, and for a copy of both in the order of
        // the output.
        let payment = pay(&self.accounts.allowance, self.row_bytes.saturating_mul(2 * rows), "STATE_LIMIT")?;
        let growth = self.keys.growth_bytes(rows) + self.calls.growth_bytes(rows, batch.bytes());
        let room = reserve_room(&self.accounts.allowance, growth)?;
        let results_bytes = if self.is_once_per_batch { self.fold_once(&batch)? } else { self.fold(&batch)? };
        drop((payment, room));
        self.note_bytes();
        // Results that have not changed do not come out, and took memory all the same.
        let made_bytes = self.out.value_bytes().max(results_bytes);
        self.row_bytes = made_bytes / rows;
        self.rows_at_a_time = if made_bytes > EVALUATION_BYTES_MAX {
            (EVALUATION_BYTES_MAX / self.row_bytes.max(1)).clamp(1, rows)
        } else if made_bytes <= EVALUATION_BYTES_MAX / 2 {
            (2 * self.rows_at_a_time).min(BATCH_ROWS_MAX)
        } else {
            self.rows_at_a_time
        };
        Ok(())
    }

    /// Aggregates the rows of a batch and sets the changes of their keys as the next output, in `out`. Returns the bytes
    /// of the results before and after the rows.
    fn fold(&mut self, batch: &Batch) -> Outcome<usize> {
        self.keys.begin(self.now.ms());
        self.calls.reset(&self.keys.recycle(false));
        let (steps, known) = self.plan(batch)?;
        self.accounts.counts.folded += steps.len() as u64;
        self.calls.resize(self.keys.slots());
        let before = self.calls.results_of(&known)?;
        let (slots, rows): (Vec<u32>, Vec<u32>) = steps.iter().map(|step| (step.slot, step.row)).unzip();
        let (is_added, is_gone): (Vec<bool>, Vec<bool>) =
            steps.iter().map(|step| (step.is_added, step.change == Change::Gone)).unzip();
        let sequence = Sequence::new(&slots, &is_added, &is_gone);
        let columns = self.calls.columns(&batch.rows);
        let after = self.calls.running(&columns, &sequence, &rows)?;
        let results = [before, after];
        let mut kinds = Vec::with_capacity(2 * steps.len());
        let mut rows = Vec::with_capacity(2 * steps.len());
        let mut from = Vec::with_capacity(2 * steps.len());
        let mut compared = Compared::new(&results);
        for (number, step) in steps.iter().enumerate() {
            let after = (1, number);
            if step.change == Change::Update && !self.tells_same && compared.is_same(step.before, number) {
                continue;
            }
            let changes: &[(RowKind, Place)] = match step.change {
                Change::New => &[(RowKind::Insert, after)],
                Change::Update => &[(RowKind::UpdateBefore, step.before), (RowKind::UpdateAfter, after)],
                Change::Gone => &[(RowKind::Delete, step.before)],
            };
            for (kind, place) in changes {
                kinds.push(*kind);
                rows.push(step.row);
                from.push(*place);
            }
        }
        self.set_changes(batch, kinds, &rows, &results, &from)?;
        Ok(results.iter().flatten().map(|column| value_bytes(column)).sum())
    }

    /// Aggregates the rows of a batch, and sets one change for each key as the next output. Returns the bytes of the results.
    fn fold_once(&mut self, batch: &Batch) -> Outcome<usize> {
        self.keys.begin(self.now.ms());
        self.calls.reset(&self.keys.recycle(false));
        let (touched, slots) = self.touch(batch)?;
        let known: Vec<u32> = touched.iter().filter(|key| !key.is_new).map(|key| key.slot).collect();
        let left: Vec<u32> = touched.iter().filter(|key| !key.is_gone).map(|key| key.slot).collect();
        self.calls.resize(self.keys.slots());
        let before = self.calls.results_of(&known)?;
        let columns = self.calls.columns(&batch.rows);
        for Part { is_added, mut rows } in parts_of(batch, self.is_in_order) {
            rows.retain(|row| slots[*row as usize].is_some());
            let slots: Vec<u32> = rows.iter().filter_map(|row| slots[*row as usize]).collect();
            self.calls.fold(&columns, &slots, &rows, is_added)?;
            self.accounts.counts.folded += rows.len() as u64;
        }
        let results = [before, self.calls.results_of(&left)?];
        self.set_last_changes(batch, &touched, &results)?;
        Ok(results.iter().flatten().map(|column| value_bytes(column)).sum())
    }

    /// Finds the keys of the rows of a batch. Returns the keys in the order of their last rows, and the slot of each row's key;
    /// `None` for a row that is taken back of an unknown key. A key that loses all its rows is released, and has another slot
    /// if it comes again.
    fn touch(&mut self, batch: &Batch) -> Outcome<(Vec<Touched>, Vec<Option<u32>>)> {
        let keys = self.keys.rows(&batch.rows)?;
        let mut touched: Vec<Touched> = Vec::new();
        let mut slots = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            let is_added = batch.kind(row).adds();
            let found = if is_added {
                Some(self.keys.find_or_add(&keys, row))
            } else {
                self.keys.find(&keys, row).map(|slot| (slot, false))
            };
            slots.push(found.map(|(slot, _)| slot));
            let Some((slot, is_new)) = found else {
                self.accounts.counts.filtered += 1;
                continue;
            };
            self.keys.touch(slot);
            let place = self.place_in_batch(&mut touched, slot, is_new);
            touched[place].row = row as u32;
            if self.counted(slot, is_new, is_added) == Some(0) {
                touched[place].is_gone = true;
                self.keys.release(slot);
            }
        }
        touched.sort_unstable_by_key(|key| key.row);
        Ok((touched, slots))
    }

    /// Returns the index of a key among the keys of the batch so far, to which it is added if it is missing.
    fn place_in_batch(&mut self, touched: &mut Vec<Touched>, slot: u32, is_new: bool) -> usize {
        let last = self.last_in_batch(slot, touched.len());
        if touched.get(last).is_some_and(|known| known.slot == slot) {
            self.places_in_batch[slot as usize] = last as u32;
            return last;
        }
        touched.push(Touched { slot, row: 0, is_new, is_gone: false });
        touched.len() - 1
    }

    /// Sets the change of each key as the next output: `results` has the results before the batch of the keys that were
    /// there, and those after it of the keys that are there.
    fn set_last_changes(
        &mut self,
        batch: &Batch,
        touched: &[Touched],
        results: &[Vec<ArrayRef>; 2],
    ) -> Outcome<()> {
        let mut compared = Compared::new(results);
        let (mut kinds, mut rows, mut from) = (Vec::new(), Vec::new(), Vec::new());
        let (mut old, mut new) = (0, 0);
        for Touched { row, is_new, is_gone, .. } in touched {
            let changes: &[(RowKind, Place)] = match (is_new, is_gone) {
                (true, true) => &[],
                (true, false) => &[(RowKind::Insert, (1, new))],
                (false, true) => &[(RowKind::Delete, (0, old))],
                (false, false) if !self.tells_same && compared.is_same((0, old), new) => &[],
                (false, false) => &[(RowKind::UpdateBefore, (0, old)), (RowKind::UpdateAfter, (1, new))],
            };
            for (kind, place) in changes {
                kinds.push(*kind);
                rows.push(*row);
                from.push(*place);
            }
            (old, new) = (old + usize::from(!is_new), new + usize::from(!is_gone));
        }
        self.set_changes(batch, kinds, &rows, results, &from)
    }

    /// Sets changes of keys as the next output: the kind of each, the row of the batch that has its key, and the set and the
    /// row of its results.
    fn set_changes(
        &mut self,
        batch: &Batch,
        kinds: Vec<RowKind>,
        rows: &[u32],
        results: &[Vec<ArrayRef>; 2],
        from: &[Place],
    ) -> Outcome<()> {
        if kinds.is_empty() {
            return Ok(());
        }
        let mut made: Vec<ArrayRef> = self
            .places
            .iter()
            .map(|place| picked(batch.rows.column(*place), rows))
            .collect::<Outcome<_>>()?;
        made.extend(gathered(results, self.calls.len(), from)?);
        self.out.put(batch_of(&self.output, made, kinds.len())?, Some(kinds));
        Ok(())
    }

    /// Sets the aggregates of no rows as the next output, if the only key has no rows.
    fn finish_without_rows(&mut self) -> Outcome<()> {
        if self.keys.live().next().is_some() {
            return Ok(());
        }
        self.calls.reset(&self.keys.recycle(true));
        let none = self.keys.rows(&RecordBatch::new_empty(Arc::new(Schema::empty())))?;
        let (slot, _) = self.keys.find_or_add(&none, 0);
        self.calls.resize(self.keys.slots());
        let columns = self.calls.results_of(&[slot])?;
        self.out.put(batch_of(&self.output, columns, 1)?, None);
        self.note_bytes();
        Ok(())
    }

    fn note_bytes(&mut self) {
        let bytes = self.keys.bytes()
            + self.calls.bytes()
            + self.rows.capacity() * size_of::<i64>()
            + self.places_in_batch.capacity() * size_of::<u32>()
            + self.out.bytes();
        self.accounts.hold(bytes);
    }
}

/// Comparison of the results of keys before and after a row.
struct Compared<'a> {
    /// Result columns: those before the batch, and those after its rows.
    results: &'a [Vec<ArrayRef>; 2],
    /// Comparators of the columns of each set with those of the second one, made when they are needed; `None` if the columns
    /// have a type that cannot be compared.
    comparators: [OnceCell<Option<Vec<DynComparator>>>; 2],
}

impl<'a> Compared<'a> {
    fn new(results: &'a [Vec<ArrayRef>; 2]) -> Self {
        Compared { results, comparators: Default::default() }
    }

    /// Returns whether the results of a key are the same at a place and in the row `after` of the second set. Results that cannot be
    /// compared count as changed.
    fn is_same(&mut self, (set, before): Place, after: usize) -> bool {
        let comparators = self.comparators[set].get_or_init(|| {
            let columns = self.results[set].iter().zip(&self.results[1]);
            columns.map(|(old, new)| make_comparator(old, new, SortOptions::default()).ok()).collect()
        });
        comparators
            .as_ref()
            .is_some_and(|comparators| comparators.iter().all(|compare| compare(before, after).is_eq()))
    }
}

impl BatchOperator for Group {
    fn name(&self) -> &str {
        "group"
    }

    fn take(&mut self, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        self.accounts.counts.read += batch.len() as u64;
        self.left = Some(batch);
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        if self.has_row_without_input && watermark == EventTime::MAX {
            self.finish_without_rows()?;
        }
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        loop {
            if let Some(piece) = self.out.next() {
                return Ok(Some(piece));
            }
            match self.left.take() {
                Some(batch) => self.fold_some(batch)?,
                None => {
                    self.note_bytes();
                    return Ok(None);
                }
            }
        }
    }

    fn emits_own_times(&self) -> bool {
        true
    }

    accounted!();

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.keys.save(state)?;
        self.calls.save(state)?;
        state.put(&self.rows)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.keys.load(state)?;
        self.calls.load(state)?;
        self.calls.resize(self.keys.slots());
        self.rows = state.take()?;
        if self.is_retracting {
            self.rows.resize(self.keys.slots(), 0);
        }
        self.note_bytes();
        Ok(())
    }
}

/// Returns whether values of a type have no fixed size, so that aggregate results may be long.
fn is_long(of: &SqlType) -> bool {
    of.is_text() || of.is_bytes() || matches!(of, SqlType::Array(_) | SqlType::Map(..) | SqlType::Row(_))
}
