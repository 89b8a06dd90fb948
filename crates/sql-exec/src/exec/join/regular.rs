//! Regular join: rows of equal keys match at any time while they are kept.
//!
//! Input      changes of two sides
//! Output     changes of the join: pairs; outer joins also rows without a match so far, which are retracted when a
//!            match comes; semi and anti joins rows of the left
//! State      all rows of both sides, each until it has not been written for the time to live
//! Emits      at once
//! Late       ignores event time
//! Watermark  forwarded unchanged; no column of the result is an event time
//! Cost       per row, a look at all rows of its key on the other side
//! Source     Flink, "Regular Joins", "Configuration" (`table.exec.state.ttl`); `StreamingJoinOperator` and
//!            `StreamingSemiAntiJoinOperator` for the output
//!
//! Each row of a side whose rows come out without a match knows how many rows of the other side match it. The
//! first match retracts the row without a match; when the last match is retracted, that row comes out again.
//! A row is written when it comes, and when its number of matches changes. Forgotten rows are not retracted,
//! so results may be wrong from then on, as in Flink: the time to live must be longer than the time within
//! which rows match.
//!
//! Differs from Flink: a retraction matches an equal row and not a primary key; inputs provide both.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows};
use hashbrown::HashMap;
use thalweg_model::{Clock, EventTime, Horizon, Payment, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format, growth_bytes, heap_bytes};
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of, reserve_room};

use super::super::accounts::{Accounts, accounted};
use super::shape::{KeyBytes, Shape, is_true};
use super::table::gathered;
use super::{JoinOperator, Side};
use crate::exec::kept::converter_of;
use crate::exec::operator::Outcome;
use crate::plan::JoinKind;

/// Regular join, which joins the changes of two inputs by key, without a bound in event time.
pub struct RegularJoin {
    shape: Shape,
    /// Time to live of the rows of each input, in milliseconds.
    ttl_ms: [i64; 2],
    clock: Arc<dyn Clock>,
    key_converter: Option<RowConverter>,
    row_converters: [RowConverter; 2],
    numbers: HashMap<Arc<[u8]>, u32, foldhash::fast::RandomState>,
    /// Join keys, indexed by key number. The number of a key that has no rows left is reused for another key.
    keys: Vec<Key>,
    free: Vec<u32>,
    /// For each input, processing times, in milliseconds and ascending, at which rows were added or their numbers of
    /// matches changed, each with the number of the key; they decide when rows expire.
    written: [VecDeque<(i64, u32)>; 2],
    arriving: Option<Arriving>,
    accounts: Accounts,
    bytes: usize,
}

struct Key {
    bytes: Arc<[u8]>,
    /// Kept rows of the key in either input, in the order of arrival.
    records: [Vec<Remembered>; 2],
    /// For each input, processing time at which a row of this key was added, or its number of matches changed, last,
    /// in milliseconds; it is the newest entry of the key in the list `written` of the input.
    noted_ms: [i64; 2],
}

impl Default for Key {
    fn default() -> Self {
        Key { bytes: Arc::default(), records: Default::default(), noted_ms: [i64::MIN; 2] }
    }
}

struct Remembered {
    row: Box<[u8]>,
    /// Number of rows of the other input that match this row; maintained only where the kind of join needs
    /// it.
    degree: u32,
    written_ms: i64,
}

/// Bytes of a kept row beside its values, in a list that grows by doubling.
const RECORD_BYTES: usize = size_of::<Remembered>() + 16;

/// Returns the bytes of a kept row with its values.
fn record_bytes(row: &[u8]) -> usize {
    RECORD_BYTES + heap_bytes(row.len())
}

/// Returns the bytes of a join key in an `Arc`, which stores two reference counts before them.
fn key_bytes(key: &[u8]) -> usize {
    heap_bytes(2 * size_of::<usize>() + key.len())
}

/// A batch of one input whose changes are applied to the join one after the other.
struct Arriving {
    side: Side,
    batch: Batch,
    keys: KeyBytes,
    bytes: Rows,
    now_ms: i64,
    /// Position at which matching continues: the index of a row of the batch, the index of the next kept row
    /// of the other input with the same key, and the number of matches of the row so far.
    row: usize,
    next: usize,
    degree: u32,
    /// Reservation of the memory by which the hash table of join keys may grow, held until all rows of the
    /// batch are joined.
    _room: Option<Payment>,
}

/// A possible pair of a regular join: the index of a row of the arriving batch; and a kept row of the other
/// input, given by its key number and its index among the rows of that key.
struct Candidate {
    row: usize,
    key: u32,
    record: usize,
}

/// An output row of a regular join: its kind of change, the index of the arriving row, and the index of the
/// candidate (possible pair) that has the row of the other input. For `None`, that half of the row is padded with
/// NULL.
type Made = (RowKind, Option<u32>, Option<u32>);

impl RegularJoin {
    /// Creates a regular join that keeps a row of an input for the `ttl_ms` milliseconds of that input, read from `clock`,
    /// after it was added or its number of matches changed.
    ///
    /// # Errors
    /// [`EvaluationError`] if a row has a type that cannot be compared.
    pub fn new(shape: Shape, ttl_ms: [i64; 2], clock: Arc<dyn Clock>) -> Outcome<Self> {
        let converter = |side: Side| converter_of(&shape.inputs[side.index()]).map_err(arrow_error);
        Ok(RegularJoin {
            key_converter: shape.key_converter()?,
            row_converters: [converter(Side::Left)?, converter(Side::Right)?],
            shape,
            ttl_ms,
            clock,
            numbers: HashMap::default(),
            keys: Vec::new(),
            free: Vec::new(),
            written: Default::default(),
            arriving: None,
            accounts: Accounts::default(),
            bytes: 0,
        })
    }

    fn now_ms(&self) -> i64 {
        i64::try_from(self.clock.now().as_nanos() / 1_000_000).unwrap_or(i64::MAX)
    }

    /// Forgets the rows that were neither added nor given another number of matches within the time to live.
    fn forget(&mut self, now_ms: i64) {
        for side in Side::BOTH {
            self.forget_of(side, now_ms);
        }
    }

    fn forget_of(&mut self, side: Side, now_ms: i64) {
        let ttl_ms = self.ttl_ms[side.index()];
        let is_over = |written_ms: i64| written_ms.saturating_add(ttl_ms) <= now_ms;
        while let Some(&(written_ms, number)) = self.written[side.index()].front()
            && is_over(written_ms)
        {
            self.written[side.index()].pop_front();
            let key = &mut self.keys[number as usize];
            let records = &mut key.records[side.index()];
            let before: usize = records.iter().map(|record| record_bytes(&record.row)).sum();
            records.retain(|record| !is_over(record.written_ms));
            let after: usize = records.iter().map(|record| record_bytes(&record.row)).sum();
            self.bytes -= before - after;
            if key.records.iter().all(Vec::is_empty) && self.numbers.remove(&key.bytes).is_some() {
                self.bytes -= key_bytes(&key.bytes);
                *key = Key::default();
                self.free.push(number);
            }
        }
    }

    /// Records the processing time at which rows of an input and a key were added or their numbers of matches changed;
    /// it decides when they expire.
    fn note(&mut self, side: Side, number: u32, now_ms: i64) {
        let noted_ms = &mut self.keys[number as usize].noted_ms[side.index()];
        if *noted_ms != now_ms {
            *noted_ms = now_ms;
            self.written[side.index()].push_back((now_ms, number));
        }
    }

    fn remember(&mut self, side: Side, key: &[u8], record: Remembered) {
        let number = match self.numbers.get(key) {
            Some(number) => *number,
            None => {
                let number = self.free.pop().unwrap_or_else(|| {
                    self.keys.push(Key::default());
                    self.keys.len() as u32 - 1
                });
                let bytes: Arc<[u8]> = Arc::from(key);
                self.bytes += key_bytes(&bytes);
                self.keys[number as usize].bytes = Arc::clone(&bytes);
                self.numbers.insert(bytes, number);
                number
            }
        };
        self.note(side, number, record.written_ms);
        self.bytes += record_bytes(&record.row);
        let records = &mut self.keys[number as usize].records[side.index()];
        // Most keys have one row in an input, so memory for a single row is reserved at first.
        if records.is_empty() {
            records.reserve_exact(1);
        }
        records.push(record);
    }

    fn take_back(&mut self, side: Side, key: &[u8], row: &[u8]) {
        let Some(number) = self.numbers.get(key) else { return };
        let records = &mut self.keys[*number as usize].records[side.index()];
        if let Some(at) = records.iter().position(|record| *record.row == *row) {
            // A key that has lost its last row is not removed at once, but when the time to live of its last
            // entry in `written` is over.
            records.remove(at);
            self.bytes -= record_bytes(row);
        }
    }

    /// Returns the next pairs of rows with equal keys, which match if the join condition holds, too. Moves
    /// the position of `arriving` past these pairs.
    fn candidates(&self, arriving: &mut Arriving) -> Vec<Candidate> {
        let other = arriving.side.other().index();
        let first = arriving.row;
        let mut found = Vec::new();
        // Rows and pairs of one call are limited to half a batch, because each row may be emitted alone, and
        // each pair together with a retraction.
        while arriving.row < arriving.batch.len() && found.len() + arriving.row - first < BATCH_ROWS_MAX / 2 {
            let row = arriving.row;
            let number = arriving.keys.get(row).and_then(|key| self.numbers.get(key)).copied();
            let count = number.map_or(0, |number| self.keys[number as usize].records[other].len());
            if let Some(key) = number
                && arriving.next < count
            {
                found.push(Candidate { row, key, record: arriving.next });
                arriving.next += 1;
            } else {
                arriving.row += 1;
                arriving.next = 0;
            }
        }
        found
    }

    /// Applies the changes of some arriving rows to the join, up to the new position of `arriving`.
    fn change(
        &mut self,
        arriving: &mut Arriving,
        first: usize,
        found: &[Candidate],
    ) -> Outcome<Option<Batch>> {
        let (side, other) = (arriving.side, arriving.side.other());
        let others = self.decoded(other, found)?;
        let rows = UInt32Array::from_iter_values(found.iter().map(|candidate| candidate.row as u32));
        let holds = self.shape.holds(found.len(), |of, column| {
            if of == side {
                take(arriving.batch.rows.column(column), &rows, None).map_err(arrow_error)
            } else {
                Ok(Arc::clone(others.column(column)))
            }
        })?;
        let mut made: Vec<Made> = Vec::new();
        let mut at = 0;
        // The last of the arriving rows may have further candidates in the next call, so it is finished only
        // if there are none.
        let last = (arriving.row + 1).min(arriving.batch.len());
        for row in first..last {
            let kind = arriving.batch.kind(row);
            let is_new = kind.adds();
            while let Some(candidate) = found.get(at).filter(|candidate| candidate.row == row) {
                if is_true(&holds, at) {
                    arriving.degree += 1;
                    self.pair(
                        side,
                        (kind, is_new, arriving.now_ms),
                        candidate,
                        (row as u32, at as u32),
                        &mut made,
                    );
                }
                at += 1;
            }
            if row < arriving.row {
                self.finish(arriving, row, kind, is_new, &mut made);
            }
        }
        if made.is_empty() {
            return Ok(None);
        }
        let own: UInt32Array = made.iter().map(|(_, row, _)| *row).collect();
        let met: UInt32Array = made.iter().map(|(_, _, met)| *met).collect();
        let kinds: Vec<RowKind> = made.iter().map(|(kind, _, _)| *kind).collect();
        let of_side = |of: Side| -> Outcome<Option<Vec<ArrayRef>>> {
            if of == Side::Right && self.shape.kind.is_half() {
                return Ok(None);
            }
            let (rows, places) = if of == side { (&arriving.batch.rows, &own) } else { (&others, &met) };
            // If all indexes are NULL, the columns are left out: nothing can be taken from an empty batch,
            // not even NULL.
            if places.null_count() == places.len() { Ok(None) } else { gathered(rows, places).map(Some) }
        };
        let results = self.shape.results(made.len(), of_side(Side::Left)?, of_side(Side::Right)?)?;
        let is_plain = kinds.iter().all(|kind| *kind == RowKind::Insert);
        let kinds = (!is_plain).then(|| Arc::from(kinds));
        Ok(Some(Batch { kinds, ..Batch::new(results) }))
    }

    /// Appends the output rows that a matching pair of a regular join causes.
    fn pair(
        &mut self,
        side: Side,
        (kind, is_new, now_ms): (RowKind, bool, i64),
        candidate: &Candidate,
        (row, at): (u32, u32),
        made: &mut Vec<Made>,
    ) {
        let other = side.other();
        let is_half = self.shape.kind.is_half();
        let is_counted = self.shape.keeps(other) || (is_half && other == Side::Left);
        let mut before = 0;
        if is_counted {
            let met = &mut self.keys[candidate.key as usize].records[other.index()][candidate.record];
            before = met.degree;
            met.degree = if is_new { before.saturating_add(1) } else { before.saturating_sub(1) };
            met.written_ms = now_ms;
            self.note(other, candidate.key, now_ms);
        }
        let turns = if is_new { before == 0 } else { before == 1 };
        if is_half {
            if other == Side::Left && turns {
                let out = match (self.shape.kind, is_new) {
                    (JoinKind::Semi, _) => kind,
                    (_, true) => RowKind::Delete,
                    (_, false) => RowKind::Insert,
                };
                made.push((out, None, Some(at)));
            }
            return;
        }
        let is_forwarded = if is_new { self.shape.kind == JoinKind::Inner } else { !self.shape.keeps(side) };
        let pair = match is_new {
            _ if is_forwarded => kind,
            true => RowKind::Insert,
            false => RowKind::Delete,
        };
        let turns = turns && self.shape.keeps(other);
        if is_new && turns {
            made.push((RowKind::Delete, None, Some(at)));
        }
        made.push((pair, Some(row), Some(at)));
        if !is_new && turns {
            made.push((RowKind::Insert, None, Some(at)));
        }
    }

    /// Finishes an arriving row that has been matched with all rows of the other input: emits it alone where
    /// needed, and stores or removes it.
    fn finish(
        &mut self,
        arriving: &mut Arriving,
        row: usize,
        kind: RowKind,
        is_new: bool,
        made: &mut Vec<Made>,
    ) {
        let side = arriving.side;
        let degree = std::mem::take(&mut arriving.degree);
        let out = match (self.shape.kind, side) {
            (JoinKind::Semi, Side::Left) => (degree > 0).then_some(kind),
            (JoinKind::Anti, Side::Left) => (degree == 0).then_some(kind),
            _ if !self.shape.keeps(side) || degree > 0 => None,
            _ if is_new => Some(RowKind::Insert),
            _ => Some(RowKind::Delete),
        };
        made.extend(out.map(|out| (out, Some(row as u32), None)));
        let bytes = arriving.bytes.row(row);
        match arriving.keys.get(row) {
            Some(key) if is_new => {
                let record = Remembered { row: Box::from(bytes.data()), degree, written_ms: arriving.now_ms };
                self.remember(side, key, record);
                self.accounts.counts.folded += 1;
            }
            Some(key) => {
                self.take_back(side, key, bytes.data());
                self.accounts.counts.folded += 1;
            }
            // A NULL key never matches, so the row is not stored.
            None if out.is_some() => self.accounts.counts.forwarded += 1,
            None => self.accounts.counts.filtered += 1,
        }
    }

    fn decoded(&self, side: Side, found: &[Candidate]) -> Outcome<RecordBatch> {
        let converter = &self.row_converters[side.index()];
        let parser = converter.parser();
        let row = |candidate: &Candidate| {
            parser.parse(&self.keys[candidate.key as usize].records[side.index()][candidate.record].row)
        };
        let columns = converter.convert_rows(found.iter().map(row)).map_err(arrow_error)?;
        batch_of(&self.shape.inputs[side.index()], columns, found.len())
    }

    fn note_bytes(&mut self) {
        self.accounts.hold(
            self.bytes
                + self.numbers.allocation_size()
                + self.keys.capacity() * size_of::<Key>()
                + self.free.capacity() * size_of::<u32>()
                + self.written.iter().map(VecDeque::capacity).sum::<usize>() * size_of::<(i64, u32)>(),
        );
    }
}

impl JoinOperator for RegularJoin {
    fn name(&self) -> &str {
        "join"
    }

    fn take(&mut self, side: Side, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        self.accounts.counts.read += batch.len() as u64;
        // The clock is read once for each batch, so that all rows of a batch expire together.
        let now_ms = self.now_ms();
        self.forget(now_ms);
        let numbers = &self.numbers;
        let growth = growth_bytes(
            (numbers.len(), numbers.capacity(), numbers.allocation_size()),
            size_of::<(Arc<[u8]>, u32)>(),
            batch.len(),
        );
        let room = reserve_room(&self.accounts.allowance, growth)?;
        let keys = self.shape.key_bytes(self.key_converter.as_ref(), side, &batch.rows)?;
        let bytes =
            self.row_converters[side.index()].convert_columns(batch.rows.columns()).map_err(arrow_error)?;
        self.arriving =
            Some(Arriving { side, batch, keys, bytes, now_ms, row: 0, next: 0, degree: 0, _room: room });
        Ok(())
    }

    fn advance(&mut self, _watermark: EventTime) -> Outcome<()> {
        let now_ms = self.now_ms();
        self.forget(now_ms);
        self.note_bytes();
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        while let Some(mut arriving) = self.arriving.take() {
            if arriving.row >= arriving.batch.len() {
                break;
            }
            let first = arriving.row;
            let found = self.candidates(&mut arriving);
            let made = self.change(&mut arriving, first, &found)?;
            self.arriving = Some(arriving);
            if made.is_some() {
                return Ok(made);
            }
        }
        self.note_bytes();
        Ok(None)
    }

    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    accounted!();

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&ROW_FORMAT)?;
        for side in Side::BOTH {
            let records = || self.keys.iter().flat_map(|key| &key.records[side.index()]);
            state.put(&records().count())?;
            for record in records() {
                state.put(&(&*record.row, record.degree, record.written_ms))?;
            }
        }
        Ok(())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.numbers.clear();
        self.keys.clear();
        self.free.clear();
        self.written.iter_mut().for_each(VecDeque::clear);
        self.bytes = 0;
        check_row_format(state)?;
        let mut all: Vec<(Side, Remembered, Vec<u8>)> = Vec::new();
        for side in Side::BOTH {
            let count: usize = state.take()?;
            let mut records = Vec::new();
            for _ in 0..count {
                let (row, degree, written_ms): (Box<[u8]>, u32, i64) = state.take()?;
                records.push(Remembered { row, degree, written_ms });
            }
            // Join keys are not saved, because they are computed from the saved rows.
            for records in chunks(records) {
                let converter = &self.row_converters[side.index()];
                let parser = converter.parser();
                let columns = converter.convert_rows(records.iter().map(|record| parser.parse(&record.row)));
                let columns = columns.map_err(|error| state.wrong(error.to_string()))?;
                let rows = batch_of(&self.shape.inputs[side.index()], columns, records.len());
                let wrong = |error: EvaluationError| state.wrong(error.message);
                let rows = rows.map_err(wrong)?;
                let keys = self.shape.key_bytes(self.key_converter.as_ref(), side, &rows).map_err(wrong)?;
                for (row, record) in records.into_iter().enumerate() {
                    let key = keys.get(row).ok_or_else(|| state.wrong("a row has no key"))?;
                    all.push((side, record, key.to_vec()));
                }
            }
        }
        // Entries of `written` must be in the order of time, so saved rows are sorted by it. The sort is
        // stable, so rows of one input and key keep their order.
        all.sort_by_key(|(_, record, _)| record.written_ms);
        for (side, record, key) in all {
            self.remember(side, &key, record);
        }
        self.note_bytes();
        Ok(())
    }
}

/// Splits a list of kept rows into pieces of at most one batch.
fn chunks(mut records: Vec<Remembered>) -> impl Iterator<Item = Vec<Remembered>> {
    std::iter::from_fn(move || {
        if records.is_empty() {
            return None;
        }
        let rest = records.split_off(records.len().min(BATCH_ROWS_MAX));
        Some(std::mem::replace(&mut records, rest))
    })
}
