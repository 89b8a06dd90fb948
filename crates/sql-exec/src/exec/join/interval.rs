//! Interval join: rows of one key that are near each other in event time match.
//!
//! Input      batches of two sides, with a time column each
//! Output     pairs of a left row at `l` and a right one at `r` with `l + lower <= r <= l + upper`; outer joins also
//!            rows without a match; semi and anti joins rows of the left
//! State      a left row until the watermark is above `l + upper`, a right one until it is above `r - lower`
//! Emits      pairs as soon as both rows are there; rows without a match at the first watermark that rules out a
//!            match, in the order of time
//! Late       a row below the watermark of its side: counted, and dropped
//! Watermark  lowered by how far a pair may be below it: the greater of `upper` and `-lower`, if that is above zero
//! Cost       two hash look-ups per row, and a search by time among the rows of its key
//! Source     Flink, "Interval Joins"; `TimeIntervalJoin` for rows that are late
//!
//! Differs from Flink in two ways. In Flink late rows match any rows that are still kept; late rows of outer
//! joins without a match come out alone. So results depend on how both inputs interleave. Flink runs semi and
//! anti joins as joins without a bound.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array};
use arrow::compute::{filter_record_batch, take};
use arrow::datatypes::TimestampMillisecondType;
use arrow::record_batch::RecordBatch;
use arrow::row::RowConverter;
use hashbrown::HashMap;
use thalweg_model::{EventTime, Span, StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::keys::{heap_bytes, shared_heap_bytes};
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of};

use super::super::accounts::{Accounts, accounted};
use super::row_store::{Place, RowStore};
use super::shape::{KeyBytes, Shape, is_true};
use super::table::gathered;
use super::{JoinOperator, Side, nothing, refuse_changes};
use crate::exec::kept::{load_rows, save_rows};
use crate::exec::operator::Outcome;
use crate::exec::windows::passed_ms;
use crate::plan::JoinKind;

/// Interval of the event times of right rows that match a left row, relative to the left row's event time;
/// both ends are included.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Lower end of the interval in milliseconds; below zero it is before the left row.
    pub lower_ms: i64,
    /// Upper end of the interval in milliseconds; if it is below the lower end, no rows match.
    pub upper_ms: i64,
}

impl Bounds {
    /// Returns the first and the last time at which the other input can have matches for a row of `side` at
    /// `time`.
    fn reach(self, side: Side, time: i64) -> (i64, i64) {
        match side {
            Side::Left => (time.saturating_add(self.lower_ms), time.saturating_add(self.upper_ms)),
            Side::Right => (time.saturating_sub(self.upper_ms), time.saturating_sub(self.lower_ms)),
        }
    }
}

/// Interval join, which joins rows of equal keys if the difference of their event times is within given
/// bounds.
pub struct IntervalJoin {
    shape: Shape,
    times: [usize; 2],
    bounds: Bounds,
    converter: Option<RowConverter>,
    numbers: HashMap<Arc<[u8]>, u32, foldhash::fast::RandomState>,
    /// Join keys, indexed by key number. The number of a key that has no rows left is reused for another key.
    keys: Vec<Key>,
    free: Vec<u32>,
    sides: [Kept; 2],
    arriving: Option<Arriving>,
    closing_ms: i64,
    accounts: Accounts,
    /// Bytes in memory of the join keys and of the entries for their rows, without the rows themselves.
    entry_bytes: usize,
}

#[derive(Default)]
struct Key {
    bytes: Arc<[u8]>,
    /// Rows of the key in either input, in the order of time, rows of equal time in the order of arrival.
    rows: [VecDeque<Entry>; 2],
}

struct Entry {
    time: i64,
    place: Place,
    is_met: bool,
}

#[derive(Default)]
struct Kept {
    row_store: RowStore,
    /// For each event time, the numbers of the keys that have rows with it, so that rows that can match no
    /// more are found by time.
    expiry: BTreeMap<i64, Vec<u32>>,
}

/// A batch of one input whose rows are being matched with the kept rows of the other input.
struct Arriving {
    side: Side,
    rows: RecordBatch,
    keys: KeyBytes,
    is_met: Vec<bool>,
    /// Position at which matching continues: the index of a row of the batch, and the index of an entry among
    /// the kept rows with the same key.
    row: usize,
    next: Option<usize>,
}

/// A possible pair of an interval join: a row of the arriving batch, the number of its key, and a kept row of
/// that key.
struct Candidate {
    row: u32,
    key: u32,
    entry: usize,
}

impl IntervalJoin {
    /// Creates an interval join by the time columns with the indexes `times`.
    ///
    /// # Errors
    /// [`EvaluationError`] if a key has a type that cannot be a key.
    pub fn new(shape: Shape, times: [usize; 2], bounds: Bounds) -> Outcome<Self> {
        Ok(IntervalJoin {
            converter: shape.key_converter()?,
            shape,
            times,
            bounds,
            numbers: HashMap::default(),
            keys: Vec::new(),
            free: Vec::new(),
            sides: [Kept::default(), Kept::default()],
            arriving: None,
            closing_ms: i64::MIN,
            accounts: Accounts::default(),
            entry_bytes: 0,
        })
    }

    fn arrive(&self, side: Side, rows: RecordBatch) -> Outcome<Arriving> {
        let keys = self.shape.key_bytes(self.converter.as_ref(), side, &rows)?;
        Ok(Arriving { side, is_met: vec![false; rows.num_rows()], keys, rows, row: 0, next: None })
    }

    /// Returns the rows of a batch that are not late by the watermark of their input, and counts the others.
    fn on_time(&mut self, side: Side, rows: RecordBatch, passed_ms: i64) -> Outcome<RecordBatch> {
        let times = rows.column(self.times[side.index()]).as_primitive::<TimestampMillisecondType>();
        if times.values().iter().all(|time| *time >= passed_ms) {
            return Ok(rows);
        }
        let is_on_time: BooleanArray = times.values().iter().map(|time| Some(*time >= passed_ms)).collect();
        let on_time = filter_record_batch(&rows, &is_on_time).map_err(arrow_error)?;
        self.accounts.counts.late += (rows.num_rows() - on_time.num_rows()) as u64;
        Ok(on_time)
    }

    /// Returns the next possible pairs of the arriving batch: their keys are equal, and the difference of
    /// their event times is within the bounds of the join.
    fn candidates(&self, arriving: &mut Arriving) -> Vec<Candidate> {
        let times = arriving
            .rows
            .column(self.times[arriving.side.index()])
            .as_primitive::<TimestampMillisecondType>();
        let other = arriving.side.other().index();
        let mut found = Vec::new();
        while arriving.row < arriving.rows.num_rows() && found.len() < BATCH_ROWS_MAX {
            let row = arriving.row;
            // One match is enough for a left row of a semi or anti join, so its search ends there.
            let is_settled = self.shape.kind.is_half() && arriving.side == Side::Left && arriving.is_met[row];
            let number = arriving.keys.get(row).and_then(|key| self.numbers.get(key));
            let (Some(number), false) = (number, is_settled) else {
                (arriving.row, arriving.next) = (row + 1, None);
                continue;
            };
            let rows = &self.keys[*number as usize].rows[other];
            let (from, to) = self.bounds.reach(arriving.side, times.value(row));
            let mut entry = arriving.next.unwrap_or_else(|| rows.partition_point(|entry| entry.time < from));
            while found.len() < BATCH_ROWS_MAX && rows.get(entry).is_some_and(|entry| entry.time <= to) {
                found.push(Candidate { row: row as u32, key: *number, entry });
                entry += 1;
            }
            if rows.get(entry).is_some_and(|entry| entry.time <= to) {
                arriving.next = Some(entry);
            } else {
                (arriving.row, arriving.next) = (row + 1, None);
            }
        }
        found
    }

    /// Checks the join condition of possible pairs, marks the rows that matched, and returns the output.
    fn meet(&mut self, arriving: &mut Arriving, found: &[Candidate]) -> Outcome<Option<RecordBatch>> {
        let (side, other) = (arriving.side, arriving.side.other());
        let rows = UInt32Array::from_iter_values(found.iter().map(|candidate| candidate.row));
        let place = |candidate: &Candidate| {
            self.keys[candidate.key as usize].rows[other.index()][candidate.entry].place
        };
        let places: Vec<Place> = found.iter().map(place).collect();
        let row_store = &self.sides[other.index()].row_store;
        let holds = self.shape.holds(found.len(), |of, column| {
            if of == side {
                take(arriving.rows.column(column), &rows, None).map_err(arrow_error)
            } else {
                row_store.column(&places, column)
            }
        })?;
        let is_half = self.shape.kind.is_half();
        let mut kept: Vec<usize> = Vec::with_capacity(found.len());
        for (at, candidate) in found.iter().enumerate() {
            if !is_true(&holds, at) {
                continue;
            }
            let entry = &mut self.keys[candidate.key as usize].rows[other.index()][candidate.entry];
            let was_met = std::mem::replace(&mut entry.is_met, true);
            let had_met = std::mem::replace(&mut arriving.is_met[candidate.row as usize], true);
            let is_first = !(if side == Side::Left { had_met } else { was_met });
            if !is_half || (self.shape.kind == JoinKind::Semi && is_first) {
                kept.push(at);
            }
        }
        if kept.is_empty() {
            return Ok(None);
        }
        let own_rows = UInt32Array::from_iter_values(kept.iter().map(|at| rows.value(*at)));
        let other_places: Vec<Place> = kept.iter().map(|at| places[*at]).collect();
        let is_wanted = |side: Side| side == Side::Left || !is_half;
        let of_side = |of: Side| -> Outcome<Option<Vec<ArrayRef>>> {
            if !is_wanted(of) {
                Ok(None)
            } else if of == side {
                gathered(&arriving.rows, &own_rows).map(Some)
            } else {
                let columns = self.shape.inputs[of.index()].fields().len();
                self.sides[of.index()].row_store.columns(&other_places, columns).map(Some)
            }
        };
        self.shape.results(kept.len(), of_side(Side::Left)?, of_side(Side::Right)?).map(Some)
    }

    /// Keeps the rows of the arriving batch that a later row of the other input can still match. Returns
    /// those of the remaining rows that are emitted without a match.
    fn settle(&mut self, arriving: &Arriving) -> Outcome<Option<RecordBatch>> {
        let side = arriving.side;
        let times = arriving.rows.column(self.times[side.index()]).as_primitive::<TimestampMillisecondType>();
        let (mut kept, mut alone) = (Vec::new(), Vec::new());
        for (row, time) in (0u32..).zip(times.values()) {
            let is_met = arriving.is_met[row as usize];
            let is_settled = self.shape.kind.is_half() && side == Side::Left && is_met;
            let is_too_late = self.is_over(side, *time);
            let is_keyed = arriving.keys.get(row as usize).is_some();
            if is_keyed && !is_too_late && !is_settled {
                kept.push(row);
                self.accounts.counts.folded += 1;
                continue;
            }
            if is_met || self.shape.keeps(side) {
                self.accounts.counts.forwarded += 1;
            } else {
                self.accounts.counts.filtered += 1;
            }
            if !is_met && self.shape.keeps(side) {
                alone.push(row);
            }
        }
        let places = self.sides[side.index()].row_store.keep(&arriving.rows, &kept)?;
        for (row, place) in kept.into_iter().zip(places) {
            let row = row as usize;
            if let Some(key) = arriving.keys.get(row) {
                self.insert(side, key, Entry { time: times.value(row), place, is_met: arriving.is_met[row] });
            }
        }
        if alone.is_empty() {
            return Ok(None);
        }
        let alone = UInt32Array::from(alone);
        let columns = Some(gathered(&arriving.rows, &alone)?);
        let (left, right) = if side == Side::Left { (columns, None) } else { (None, columns) };
        self.shape.results(alone.len(), left, right).map(Some)
    }

    /// Returns whether a row of an input at `time` can be forgotten, because no later row that is on time can
    /// match it.
    fn is_over(&self, side: Side, time: i64) -> bool {
        self.closing_ms == i64::MAX || self.bounds.reach(side, time).1 < self.closing_ms
    }

    fn insert(&mut self, side: Side, key: &[u8], entry: Entry) {
        let number = match self.numbers.get(key) {
            Some(number) => *number,
            None => {
                let number = self.free.pop().unwrap_or_else(|| {
                    self.keys.push(Key::default());
                    self.keys.len() as u32 - 1
                });
                let bytes: Arc<[u8]> = Arc::from(key);
                self.entry_bytes += shared_heap_bytes(bytes.len());
                self.keys[number as usize].bytes = Arc::clone(&bytes);
                self.numbers.insert(bytes, number);
                number
            }
        };
        let rows = &mut self.keys[number as usize].rows[side.index()];
        let expiry = &mut self.sides[side.index()].expiry;
        let before = expiry.len() * EXPIRY_BYTES + rows.capacity() * size_of::<Entry>();
        let due = expiry.entry(entry.time).or_default();
        let due_before = due_bytes(due);
        if due.last() != Some(&number) {
            due.push(number);
        }
        let due_after = due_bytes(due);
        match rows.back() {
            Some(last) if entry.time < last.time => {
                let at = rows.partition_point(|known| known.time <= entry.time);
                rows.insert(at, entry);
            }
            _ => rows.push_back(entry),
        }
        let after = expiry.len() * EXPIRY_BYTES + rows.capacity() * size_of::<Entry>();
        self.entry_bytes += after + due_after - before - due_before;
    }

    /// Forgets the kept rows of an input that cannot match any more; returns those that are emitted without a
    /// match.
    fn expire(&mut self, side: Side) -> Outcome<Option<RecordBatch>> {
        let keeps = self.shape.keeps(side);
        let mut alone: Vec<Place> = Vec::new();
        let mut gone: Vec<Place> = Vec::new();
        while alone.len() < BATCH_ROWS_MAX {
            let Some((&time, _)) = self.sides[side.index()].expiry.first_key_value() else { break };
            if !self.is_over(side, time) {
                break;
            }
            let due = self.sides[side.index()].expiry.entry(time).or_default();
            let Some(&number) = due.last() else {
                self.entry_bytes -= EXPIRY_BYTES + due_bytes(due);
                self.sides[side.index()].expiry.remove(&time);
                continue;
            };
            let key = &mut self.keys[number as usize];
            match key.rows[side.index()].front() {
                Some(entry) if entry.time <= time => {
                    if keeps && !entry.is_met {
                        alone.push(entry.place);
                    }
                    gone.push(entry.place);
                    key.rows[side.index()].pop_front();
                }
                _ => {
                    due.pop();
                    if key.rows.iter().all(VecDeque::is_empty) && self.numbers.remove(&key.bytes).is_some() {
                        let rows: usize = key.rows.iter().map(VecDeque::capacity).sum();
                        self.entry_bytes -= shared_heap_bytes(key.bytes.len()) + rows * size_of::<Entry>();
                        *key = Key::default();
                        self.free.push(number);
                    }
                }
            }
        }
        if self.numbers.is_empty() {
            // No key has rows any more, so the memory of the key tables is freed.
            (self.numbers, self.keys, self.free) = (HashMap::default(), Vec::new(), Vec::new());
        }
        let row_store = &mut self.sides[side.index()].row_store;
        let columns = self.shape.inputs[side.index()].fields().len();
        let columns = if alone.is_empty() { None } else { Some(row_store.columns(&alone, columns)?) };
        gone.into_iter().for_each(|place| row_store.release(place));
        let Some(columns) = columns else { return Ok(None) };
        let (left, right) = if side == Side::Left { (Some(columns), None) } else { (None, Some(columns)) };
        self.shape.results(alone.len(), left, right).map(Some)
    }

    fn note_bytes(&mut self) {
        let row_stores: usize = self.sides.iter().map(|side| side.row_store.bytes()).sum();
        let keys = self.keys.capacity() * size_of::<Key>() + self.numbers.allocation_size();
        self.accounts.hold(row_stores + keys + self.entry_bytes + self.free.capacity() * size_of::<u32>());
    }

    /// Returns all kept rows of an input, by key, and whether each of them has matched.
    fn all(&self, side: Side) -> Outcome<(RecordBatch, Vec<bool>)> {
        let schema = &self.shape.inputs[side.index()];
        let entries = || self.keys.iter().flat_map(|key| &key.rows[side.index()]);
        let places: Vec<Place> = entries().map(|entry| entry.place).collect();
        if places.is_empty() {
            return Ok((nothing(schema), Vec::new()));
        }
        let columns = self.sides[side.index()].row_store.columns(&places, schema.fields().len())?;
        Ok((batch_of(schema, columns, places.len())?, entries().map(|entry| entry.is_met).collect()))
    }
}

/// Bytes of an entry of the tree of row times, whose nodes are assumed to be half full.
const EXPIRY_BYTES: usize = 2 * size_of::<(i64, Vec<u32>)>();

/// Returns the bytes of the list of the keys that have rows at one time.
fn due_bytes(due: &Vec<u32>) -> usize {
    heap_bytes(due.capacity() * size_of::<u32>())
}

impl JoinOperator for IntervalJoin {
    fn name(&self) -> &str {
        "interval join"
    }

    fn take(&mut self, side: Side, batch: Batch, late_by: EventTime) -> Outcome<()> {
        refuse_changes("an interval join", &batch)?;
        self.accounts.counts.read += batch.len() as u64;
        let mut rows = batch.rows;
        let times = rows.column(self.times[side.index()]);
        if times.null_count() > 0 {
            // A row whose time is NULL matches nothing and is dropped. In Flink rows always have a time.
            let known = BooleanArray::from_iter((0..times.len()).map(|row| Some(times.is_valid(row))));
            let left = filter_record_batch(&rows, &known).map_err(arrow_error)?;
            self.accounts.counts.filtered += (rows.num_rows() - left.num_rows()) as u64;
            rows = left;
        }
        let rows = self.on_time(side, rows, passed_ms(late_by))?;
        self.arriving = Some(self.arrive(side, rows)?);
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        self.closing_ms = self.closing_ms.max(passed_ms(watermark));
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        while let Some(mut arriving) = self.arriving.take() {
            let found = self.candidates(&mut arriving);
            if found.is_empty() {
                let alone = self.settle(&arriving)?;
                self.note_bytes();
                if let Some(rows) = alone {
                    return Ok(Some(Batch::new(rows)));
                }
                break;
            }
            let met = self.meet(&mut arriving, &found);
            self.arriving = Some(arriving);
            if let Some(rows) = met? {
                return Ok(Some(Batch::new(rows)));
            }
        }
        for side in Side::BOTH {
            if let Some(rows) = self.expire(side)? {
                return Ok(Some(Batch::new(rows)));
            }
        }
        self.note_bytes();
        Ok(None)
    }

    fn hold(&self) -> Span {
        Span::from_millis(self.bounds.upper_ms.max(self.bounds.lower_ms.saturating_neg()).max(0))
    }

    accounted!();

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.closing_ms)?;
        for side in Side::BOTH {
            let (rows, is_met) = self.all(side).map_err(|error| StateError::Write(error.message))?;
            save_rows(&rows, state)?;
            state.put(&is_met)?;
        }
        Ok(())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.closing_ms = state.take()?;
        self.numbers.clear();
        self.keys.clear();
        self.free.clear();
        self.sides = [Kept::default(), Kept::default()];
        self.entry_bytes = 0;
        let counts = self.accounts.counts;
        for side in Side::BOTH {
            let rows = load_rows(&self.shape.inputs[side.index()], state)?;
            let is_met: Vec<bool> = state.take()?;
            if is_met.len() != rows.num_rows() {
                return Err(state.wrong("not every row says whether it has met somebody"));
            }
            let wrong = |error: EvaluationError| state.wrong(error.message);
            let arriving = Arriving { is_met, ..self.arrive(side, rows).map_err(wrong)? };
            self.settle(&arriving).map_err(wrong)?;
        }
        self.accounts.counts = counts;
        self.note_bytes();
        Ok(())
    }
}
