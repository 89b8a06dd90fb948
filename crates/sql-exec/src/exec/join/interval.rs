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
//! Cost       two hash look-ups per row, those of a batch together; a search by time among the rows of its key
//! Source     Flink, "Interval Joins"; `TimeIntervalJoin` for rows that are late
//!
//! Differs from Flink in two ways. In Flink late rows match any rows that are still kept; late rows of outer
//! joins without a match come out alone. So results depend on how both inputs interleave. Flink runs semi and
//! anti joins as joins without a bound.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::{filter_record_batch, take};
use arrow::datatypes::TimestampMillisecondType;
use arrow::record_batch::RecordBatch;
use thalweg_model::{EventTime, Payment, Span, StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::keys::process_seed;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of, reserve_room};

use super::super::accounts::{Accounts, accounted};
use super::row_store::{Place, RowStore};
use super::shape::{Shape, is_true};
use super::table::gathered;
use super::timed::{Due, Entries, Entry};
use super::{JoinOperator, Side, refuse_changes};
use crate::exec::kept::{load_pieces, save_pieces};
use crate::exec::keyed::{KeyRows, Keyed};
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
    keys: Keyed,
    /// Kept rows of each key in either input, by the slot of the key. A key without rows is released.
    rows: Vec<[Entries; 2]>,
    sides: [Kept; 2],
    arriving: Option<Arriving>,
    closing_ms: i64,
    accounts: Accounts,
    /// Bytes of the lists in `rows`, outside of `rows` itself.
    entry_bytes: usize,
}

/// Values of the kept rows of an input, and the order in which they go.
#[derive(Default)]
struct Kept {
    row_store: RowStore,
    due: Due,
}

/// A batch of one input whose rows are being matched with the kept rows of the other input.
struct Arriving {
    side: Side,
    rows: RecordBatch,
    keys: KeyRows,
    /// Rows whose keys can match; `None` if all can.
    known: Option<NullBuffer>,
    is_met: Vec<bool>,
    /// Position at which matching continues: the index of a row of the batch, and the index of an entry among
    /// the kept rows with the same key.
    row: usize,
    next: Option<usize>,
    /// Reservation of the memory by which the table of keys may grow, held until all rows are kept.
    _room: Option<Payment>,
}

impl Arriving {
    /// Returns whether the key of a row can match.
    fn is_known(&self, row: usize) -> bool {
        self.known.as_ref().is_none_or(|known| known.is_valid(row))
    }
}

/// A possible pair of an interval join: a row of the arriving batch, the slot of its key, and the index of a kept row
/// among those of that key.
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
            keys: keys_of(&shape)?,
            shape,
            times,
            bounds,
            rows: Vec::new(),
            sides: [Kept::default(), Kept::default()],
            arriving: None,
            closing_ms: i64::MIN,
            accounts: Accounts::default(),
            entry_bytes: 0,
        })
    }

    fn arrive(&mut self, side: Side, rows: RecordBatch) -> Outcome<Arriving> {
        // Slots of keys without rows are ready at once, since their lists are empty.
        self.keys.recycle(false);
        let count = rows.num_rows();
        let room = reserve_room(&self.accounts.allowance, self.keys.growth_bytes(count))?;
        let (columns, known) = self.shape.keys(side, &rows)?;
        let keys = self.keys.rows_of(&columns, count)?;
        let is_met = vec![false; count];
        Ok(Arriving { side, rows, keys, known, is_met, row: 0, next: None, _room: room })
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
    fn candidates(&mut self, arriving: &mut Arriving) -> Vec<Candidate> {
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
            let key = if arriving.is_known(row) && !is_settled {
                self.keys.find(&arriving.keys, row)
            } else {
                None
            };
            let Some(key) = key else {
                (arriving.row, arriving.next) = (row + 1, None);
                continue;
            };
            let rows = &self.rows[key as usize][other];
            let (from_ms, to_ms) = self.bounds.reach(arriving.side, times.value(row));
            let is_near = |entry: usize| rows.get(entry).is_some_and(|entry| entry.time_ms <= to_ms);
            let mut entry = arriving.next.unwrap_or_else(|| rows.first_from(from_ms));
            while found.len() < BATCH_ROWS_MAX && is_near(entry) {
                found.push(Candidate { row: row as u32, key, entry });
                entry += 1;
            }
            if is_near(entry) {
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
            let entry = self.rows[candidate.key as usize][other.index()].get(candidate.entry);
            entry.expect(CANDIDATE).place
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
            let entry = self.rows[candidate.key as usize][other.index()].get_mut(candidate.entry);
            let entry = entry.expect(CANDIDATE);
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
            if arriving.is_known(row as usize) && !is_too_late && !is_settled {
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
        let mut due = Vec::with_capacity(kept.len());
        for (row, place) in kept.into_iter().zip(places) {
            let row = row as usize;
            let (time_ms, is_met) = (times.value(row), arriving.is_met[row]);
            let (key, _) = self.keys.find_or_add(&arriving.keys, row);
            self.insert(side, key, Entry { time_ms, place, is_met });
            due.push((time_ms, key));
        }
        self.sides[side.index()].due.add(due);
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
        is_over(self.bounds, self.closing_ms, side, time)
    }

    fn insert(&mut self, side: Side, key: u32, entry: Entry) {
        if self.rows.len() < self.keys.slots() {
            self.rows.resize_with(self.keys.slots(), Default::default);
        }
        let entries = &mut self.rows[key as usize][side.index()];
        let before = entries.heap_bytes();
        entries.insert(entry);
        self.entry_bytes = self.entry_bytes + entries.heap_bytes() - before;
    }

    /// Forgets the kept rows of an input that cannot match any more; returns those that are emitted without a
    /// match.
    fn expire(&mut self, side: Side) -> Outcome<Option<RecordBatch>> {
        let keeps = self.shape.keeps(side);
        let mut alone: Vec<Place> = Vec::new();
        let mut gone: Vec<Place> = Vec::new();
        let (bounds, closing_ms) = (self.bounds, self.closing_ms);
        let is_over = |time_ms| is_over(bounds, closing_ms, side, time_ms);
        while alone.len() < BATCH_ROWS_MAX {
            let Some((_, key)) = self.sides[side.index()].due.pop_first(is_over) else { break };
            // The earliest row of all is the earliest one of its key.
            let rows = &mut self.rows[key as usize];
            let before = rows[side.index()].heap_bytes();
            let entry = rows[side.index()].pop_first().expect("each row that is due is a row of its key");
            self.entry_bytes = self.entry_bytes + rows[side.index()].heap_bytes() - before;
            if keeps && !entry.is_met {
                alone.push(entry.place);
            }
            gone.push(entry.place);
            if rows.iter().all(Entries::is_empty) {
                self.keys.release(key);
            }
        }
        let row_store = &mut self.sides[side.index()].row_store;
        let columns = self.shape.inputs[side.index()].fields().len();
        let columns = if alone.is_empty() { None } else { Some(row_store.columns(&alone, columns)?) };
        gone.iter().for_each(|place| row_store.release(*place));
        if !gone.is_empty() && self.keys.is_empty() {
            // No key has rows any more, so all memory is freed.
            (self.keys, self.rows) = (keys_of(&self.shape)?, Vec::new());
            self.sides = Default::default();
        }
        let Some(columns) = columns else { return Ok(None) };
        let (left, right) = if side == Side::Left { (Some(columns), None) } else { (None, Some(columns)) };
        self.shape.results(alone.len(), left, right).map(Some)
    }

    fn note_bytes(&mut self) {
        let sides: usize = self.sides.iter().map(|side| side.row_store.bytes() + side.due.bytes()).sum();
        let lists = self.rows.capacity() * size_of::<[Entries; 2]>();
        self.accounts.hold(sides + self.keys.bytes() + lists + self.entry_bytes);
    }

    /// Saves the kept rows of an input, by key, and whether each of them has matched.
    fn save_side(&self, side: Side, state: &mut StateWriter) -> Result<(), StateError> {
        let schema = &self.shape.inputs[side.index()];
        let entries = || self.rows.iter().flat_map(|rows| rows[side.index()].iter());
        state.put(&entries().map(|entry| entry.is_met).collect::<Vec<_>>())?;
        let places: Vec<Place> = entries().map(|entry| entry.place).collect();
        let row_store = &self.sides[side.index()].row_store;
        let piece = |range: std::ops::Range<usize>| {
            let count = range.len();
            batch_of(schema, row_store.columns(&places[range], schema.fields().len())?, count)
        };
        save_pieces(places.len(), piece, state)
    }

    /// Loads the rows that [`save_side`](Self::save_side) wrote.
    fn load_side(&mut self, side: Side, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let are_met: Vec<bool> = state.take()?;
        let mut from = 0;
        load_pieces(&self.shape.inputs[side.index()].clone(), state, |rows| {
            let to = from + rows.num_rows();
            let Some(is_met) = are_met.get(from..to).map(<[bool]>::to_vec) else {
                return Err(not_counted());
            };
            from = to;
            let arriving = Arriving { is_met, ..self.arrive(side, rows)? };
            self.settle(&arriving).map(drop)
        })?;
        if from == are_met.len() { Ok(()) } else { Err(state.wrong(not_counted().message)) }
    }
}

/// Returns the error for saved rows of which not every one tells whether it has matched.
fn not_counted() -> EvaluationError {
    let message = "not every row says whether it has met somebody".to_owned();
    EvaluationError { code: "EVALUATION", message }
}

/// Reason why a possible pair has a kept row.
const CANDIDATE: &str = "kept rows stay until all rows of a batch are matched";

/// Creates the table of the join keys.
fn keys_of(shape: &Shape) -> Outcome<Keyed> {
    Keyed::of_types(shape.key_types().iter().map(SqlType::arrow).collect(), None, process_seed())
}

/// Returns whether no row that comes after the watermark `closing_ms`, in milliseconds, can match a row of an input at `time_ms`.
fn is_over(bounds: Bounds, closing_ms: i64, side: Side, time_ms: i64) -> bool {
    closing_ms == i64::MAX || bounds.reach(side, time_ms).1 < closing_ms
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
        Side::BOTH.into_iter().try_for_each(|side| self.save_side(side, state))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.closing_ms = state.take()?;
        self.keys = keys_of(&self.shape).map_err(|error| state.wrong(error.message))?;
        self.rows.clear();
        self.sides = [Kept::default(), Kept::default()];
        self.entry_bytes = 0;
        let counts = self.accounts.counts;
        for side in Side::BOTH {
            self.load_side(side, state)?;
        }
        self.accounts.counts = counts;
        self.note_bytes();
        Ok(())
    }
}
