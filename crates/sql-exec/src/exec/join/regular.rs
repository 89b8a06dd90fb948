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
use arrow::buffer::NullBuffer;
use arrow::compute::take;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows};
use thalweg_model::{Clock, EventTime, Horizon, Payment, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format, process_seed};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of, reserve_room};

use super::super::accounts::{Accounts, accounted};
use super::records::{List, Records};
use super::shape::{Shape, is_true};
use super::table::gathered;
use super::{JoinOperator, Side};
use crate::exec::kept::converter_of;
use crate::exec::keyed::{KeyRows, Keyed};
use crate::exec::operator::Outcome;
use crate::plan::JoinKind;

/// Regular join, which joins the changes of two inputs by key, without a bound in event time.
pub struct RegularJoin {
    shape: Shape,
    /// Time to live of the rows of each input, in milliseconds.
    ttl_ms: [i64; 2],
    clock: Arc<dyn Clock>,
    row_converters: [RowConverter; 2],
    keys: Keyed,
    /// Kept rows of each key in either input, by the slot of the key. A key without rows is released.
    lists: Vec<[List; 2]>,
    records: [Records; 2],
    /// For each key and input, the processing time, in milliseconds, at which a row of the key was added, or its number of
    /// matches changed, last; it is the newest entry of the key in the list `written` of the input. Empty without a time to
    /// live.
    noted_ms: Vec<[i64; 2]>,
    /// For each input, processing times, in milliseconds and ascending, at which rows were added or their numbers of
    /// matches changed, each with the slot of the key; they decide when rows expire. Empty without a time to live.
    written: [VecDeque<(i64, u32)>; 2],
    arriving: Option<Arriving>,
    accounts: Accounts,
}

/// A batch of one input whose changes are applied to the join one after the other.
struct Arriving {
    side: Side,
    batch: Batch,
    keys: KeyRows,
    /// Rows whose keys can match; `None` if all can.
    known: Option<NullBuffer>,
    bytes: Rows,
    now_ms: i64,
    /// Position at which matching continues: the index of a row of the batch, the next kept row of the other input with
    /// the same key, and the number of matches of the row so far.
    row: usize,
    next: Next,
    degree: u32,
    /// Reservation of the memory by which the hash table of join keys may grow, held until all rows of the
    /// batch are joined.
    _room: Option<Payment>,
}

/// The kept row with which an arriving row is compared next.
#[derive(Clone, Copy)]
enum Next {
    /// The first row of the key.
    First,
    /// The record with this number, or no further one.
    At(Option<u32>),
}

impl Arriving {
    /// Returns whether the key of a row can match, so that the row is kept.
    fn is_known(&self, row: usize) -> bool {
        self.known.as_ref().is_none_or(|known| known.is_valid(row))
    }
}

/// A possible pair of a regular join: the index of a row of the arriving batch; and a kept row of the other input, by the
/// slot of its key and its number.
struct Candidate {
    row: usize,
    key: u32,
    record: u32,
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
        let types = shape.key_types().iter().map(SqlType::arrow).collect();
        Ok(RegularJoin {
            row_converters: [converter(Side::Left)?, converter(Side::Right)?],
            keys: Keyed::of_types(types, None, process_seed())?,
            shape,
            ttl_ms,
            clock,
            lists: Vec::new(),
            records: Default::default(),
            noted_ms: Vec::new(),
            written: Default::default(),
            arriving: None,
            accounts: Accounts::default(),
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
        while let Some(&(written_ms, key)) = self.written[side.index()].front()
            && is_over(written_ms)
        {
            self.written[side.index()].pop_front();
            // The slot may serve another key by now, whose rows have times of their own.
            let list = &mut self.lists[key as usize][side.index()];
            self.records[side.index()].retain(list, |record| !is_over(record.written_ms));
            self.release_if_empty(key);
        }
    }

    /// Forgets a key without rows. Its slot is ready for another key.
    fn release_if_empty(&mut self, key: u32) {
        if self.lists[key as usize].iter().all(|list| list.is_empty()) {
            self.keys.release(key);
            if let Some(noted_ms) = self.noted_ms.get_mut(key as usize) {
                *noted_ms = [i64::MIN; 2];
            }
        }
    }

    /// Records the processing time at which rows of an input and a key were added or their numbers of matches changed;
    /// it decides when they expire.
    fn note(&mut self, side: Side, key: u32, now_ms: i64) {
        if self.ttl_ms[side.index()] == i64::MAX {
            return;
        }
        if self.noted_ms.len() <= key as usize {
            self.noted_ms.resize(self.keys.slots(), [i64::MIN; 2]);
        }
        let noted_ms = &mut self.noted_ms[key as usize][side.index()];
        if *noted_ms != now_ms {
            *noted_ms = now_ms;
            self.written[side.index()].push_back((now_ms, key));
        }
    }

    /// Keeps a row of an input: the row with the index `row` of a batch with the keys `keys`, and its bytes. Returns the slot
    /// of its key. The time is to be noted by [`note`](Self::note).
    fn keep(
        &mut self,
        side: Side,
        (keys, row): (&KeyRows, usize),
        bytes: &[u8],
        (degree, written_ms): (u32, i64),
    ) -> u32 {
        let (key, _) = self.keys.find_or_add(keys, row);
        if self.lists.len() < self.keys.slots() {
            self.lists.resize(self.keys.slots(), Default::default());
        }
        let list = &mut self.lists[key as usize][side.index()];
        self.records[side.index()].push(list, bytes, degree, written_ms);
        key
    }

    /// Keeps saved rows of an input, and appends the time of each with the slot of its key to `written`. Join keys are not
    /// saved, because they are computed from the rows.
    fn load_some(&mut self, side: Side, saved: &[Saved], written: &mut Vec<(i64, u32)>) -> Outcome<()> {
        let converter = &self.row_converters[side.index()];
        let parser = converter.parser();
        let columns =
            converter.convert_rows(saved.iter().map(|(row, _, _)| parser.parse(row))).map_err(arrow_error)?;
        let rows = batch_of(&self.shape.inputs[side.index()], columns, saved.len())?;
        let (columns, known) = self.shape.keys(side, &rows)?;
        if known.is_some() {
            let message = "a row has no key".to_owned();
            return Err(EvaluationError { code: "EVALUATION", message });
        }
        let keys = self.keys.rows_of(&columns, saved.len())?;
        for (at, (row, degree, written_ms)) in saved.iter().enumerate() {
            let key = self.keep(side, (&keys, at), row, (*degree, *written_ms));
            written.push((*written_ms, key));
        }
        Ok(())
    }

    fn take_back(&mut self, side: Side, (keys, row): (&KeyRows, usize), bytes: &[u8]) {
        let Some(key) = self.keys.find(keys, row) else { return };
        let list = &mut self.lists[key as usize][side.index()];
        if self.records[side.index()].remove(list, bytes) {
            self.release_if_empty(key);
        }
    }

    /// Returns the next pairs of rows with equal keys, which match if the join condition holds, too. Moves
    /// the position of `arriving` past these pairs.
    fn candidates(&mut self, arriving: &mut Arriving) -> Vec<Candidate> {
        let other = arriving.side.other().index();
        let first = arriving.row;
        let mut found = Vec::new();
        // Rows and pairs of one call are limited to half a batch, because each row may be emitted alone, and
        // each pair together with a retraction.
        while arriving.row < arriving.batch.len() && found.len() + arriving.row - first < BATCH_ROWS_MAX / 2 {
            let row = arriving.row;
            let key = if arriving.is_known(row) { self.keys.find(&arriving.keys, row) } else { None };
            let record = match (arriving.next, key) {
                (_, None) => None,
                (Next::First, Some(key)) => self.lists[key as usize][other].first(),
                (Next::At(record), Some(_)) => record,
            };
            if let (Some(key), Some(record)) = (key, record) {
                found.push(Candidate { row, key, record });
                arriving.next = Next::At(self.records[other].after(record));
            } else {
                arriving.row += 1;
                arriving.next = Next::First;
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
            let met = self.records[other.index()].get_mut(candidate.record);
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
        let of_row = (&arriving.keys, row);
        match arriving.is_known(row) {
            true if is_new => {
                let key = self.keep(side, of_row, bytes.data(), (degree, arriving.now_ms));
                self.note(side, key, arriving.now_ms);
                self.accounts.counts.folded += 1;
            }
            true => {
                self.take_back(side, of_row, bytes.data());
                self.accounts.counts.folded += 1;
            }
            // A NULL key never matches, so the row is not stored.
            false if out.is_some() => self.accounts.counts.forwarded += 1,
            false => self.accounts.counts.filtered += 1,
        }
    }

    fn decoded(&self, side: Side, found: &[Candidate]) -> Outcome<RecordBatch> {
        let converter = &self.row_converters[side.index()];
        let parser = converter.parser();
        let records = &self.records[side.index()];
        let row = |candidate: &Candidate| parser.parse(records.get(candidate.record).row());
        let columns = converter.convert_rows(found.iter().map(row)).map_err(arrow_error)?;
        batch_of(&self.shape.inputs[side.index()], columns, found.len())
    }

    fn note_bytes(&mut self) {
        self.accounts.hold(
            self.keys.bytes()
                + self.records.iter().map(Records::bytes).sum::<usize>()
                + self.lists.capacity() * size_of::<[List; 2]>()
                + self.noted_ms.capacity() * size_of::<[i64; 2]>()
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
        // Slots of keys without rows are ready at once, since their lists are empty.
        self.keys.recycle(false);
        let growth =
            self.keys.growth_bytes(batch.len()) + self.records[side.index()].growth_bytes(batch.len());
        let room = reserve_room(&self.accounts.allowance, growth)?;
        let (columns, known) = self.shape.keys(side, &batch.rows)?;
        let keys = self.keys.rows_of(&columns, batch.len())?;
        let bytes =
            self.row_converters[side.index()].convert_columns(batch.rows.columns()).map_err(arrow_error)?;
        self.arriving = Some(Arriving {
            side,
            batch,
            keys,
            known,
            bytes,
            now_ms,
            row: 0,
            next: Next::First,
            degree: 0,
            _room: room,
        });
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
            let records = &self.records[side.index()];
            let kept = || self.keys.live().flat_map(|key| records.of(self.lists[key as usize][side.index()]));
            state.put(&kept().count())?;
            for record in kept() {
                state.put(&(record.row(), record.degree, record.written_ms))?;
            }
        }
        Ok(())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        check_row_format(state)?;
        let types = self.shape.key_types().iter().map(SqlType::arrow).collect();
        let wrong = |state: &StateReader<'_>, error: EvaluationError| state.wrong(error.message);
        self.keys = Keyed::of_types(types, None, process_seed()).map_err(|error| wrong(state, error))?;
        self.lists.clear();
        self.records.iter_mut().for_each(Records::clear);
        self.noted_ms.clear();
        self.written.iter_mut().for_each(VecDeque::clear);
        for side in Side::BOTH {
            let count: usize = state.take()?;
            // Rows keep their order, because the first of equal rows is the one that a retraction removes.
            let mut written: Vec<(i64, u32)> = Vec::new();
            let mut left = count;
            while left > 0 {
                let saved = (0..left.min(BATCH_ROWS_MAX)).map(|_| state.take());
                let saved = saved.collect::<Result<Vec<Saved>, StateError>>()?;
                left -= saved.len();
                self.load_some(side, &saved, &mut written).map_err(|error| wrong(state, error))?;
            }
            // Entries of `written` are in the order of time.
            written.sort_unstable();
            for (written_ms, key) in written {
                self.note(side, key, written_ms);
            }
        }
        self.note_bytes();
        Ok(())
    }
}

/// A kept row as it is saved: its bytes, its number of matches, and the time at which it was written.
type Saved = (Box<[u8]>, u32, i64);
