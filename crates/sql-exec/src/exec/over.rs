//! OVER: each row with aggregates over the rows before it.
//!
//! Input      batches of rows, which are only ever added
//! Output     the same rows with a result for each call behind their columns, in the order of time, then of arrival
//! State      rows until the watermark has passed them; accumulators per key; for bounded frames also the values which
//!            the calls read from the rows in the frame
//! Emits      when the watermark has passed a row; by order of arrival, at once
//! Late       unbounded frames: the watermark had passed the row when it came. Bounded frames: a row of its key with
//!            the same or a later time has come out already, so a key without state accepts rows below the
//!            watermark; if the input has several sources, bounded frames use the rule of unbounded ones.
//!            Late rows are counted, and dropped
//! Watermark  forwarded unchanged, after the output of all rows that it has passed
//! Cost       sorting each batch by time, and merging the rows that a watermark passes ([`Runs`]); each row is added
//!            once and, in bounded frames, retracted once. Keys are processed side by side, so many rows of one key at
//!            one watermark cost more than the same number of rows of many keys
//! Source     Flink, "Over Aggregation"; `RowTimeRangeBoundedPrecedingFunction`, `RowTimeRowsBoundedPrecedingFunction`,
//!            `AbstractRowTimeUnboundedPrecedingOver`, `ProcTimeUnboundedPrecedingFunction`
//!
//! With RANGE, rows of a key with the same time see each other and have the same results; with ROWS they
//! follow one another. A key of a RANGE over a span of time is forgotten when the watermark is half a span
//! beyond the time at which a row could still need it. As in Flink, the moments planned for this cleanup also
//! decide which rows of the key are late: such a moment counts as the time of a row that came out. Other keys
//! are forgotten only by their time to live, and not while they have waiting rows.
//!
//! Differs from Flink: bounded frames treat rows at or before the epoch like any others; Flink drops the
//! first of them. Over processing time, rows of a span do not wait for others of their millisecond: each sees
//! the rows before it, and has the time at which its batch was taken. The time to live of ROWS and of
//! unbounded frames is exactly the configured one; Flink keeps state for between one and one and a half times
//! that long.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, UInt32Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimestampMillisecondType, UInt32Type};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use thalweg_model::{EventTime, Horizon, StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::keys::heap_bytes;
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of};

use super::accounts::{Accounts, accounted};
use super::calc::{filtered, schema_of};
use super::calls::{Calls, gathered};
use super::keyed::Keyed;
use super::operator::{BatchOperator, Outcome};
use super::order::bytes_of;
use super::runs::Runs;
use super::windows::passed_ms;
use super::{Now, Pieces};
use crate::plan::{AggregateCall, Column, Frame};

mod lag;
mod saved;
mod standing;
#[cfg(test)]
mod tests;

pub use lag::lag;
pub use standing::standing;

/// Keys, order, frame and aggregate functions of an OVER window.
#[derive(Clone, Debug)]
pub struct OverCalls {
    /// Indexes of the PARTITION BY columns in the input.
    pub keys: Vec<usize>,
    /// Index of the event time column; `None` if rows are ordered by arrival.
    pub time: Option<usize>,
    /// Frame of the OVER window: the rows before the current row that the aggregates cover.
    pub frame: Frame,
    /// Aggregate functions that are computed over the frame of each row.
    pub calls: Vec<AggregateCall>,
    /// How long a key is kept after its last row, in milliseconds of processing time; `None` keeps it
    /// forever.
    pub ttl_ms: Option<i64>,
}

/// Operator that computes aggregates over the rows before each row (OVER windows).
pub struct Over {
    time: Option<usize>,
    frame: Frame,
    output: SchemaRef,
    now: Now,
    keys: Keyed,
    calls: Calls,
    /// State of each key beside its accumulators, indexed by the slot number that [`Keyed`] gives the key.
    states: Vec<KeyState>,
    /// Converts the columns that the aggregate calls read to bytes; `None` if the calls read no columns or
    /// the frame is unbounded.
    converter: Option<RowConverter>,
    /// Rows that the watermark has not passed, with the slot numbers of their keys as a last column. `None`
    /// if rows are in the order of arrival, because then no row waits.
    waiting: Option<Runs>,
    /// Ready rows, which are emitted next: rows that the watermark has passed or, for rows in the order of
    /// arrival, all rows. They are in the order of time, then of arrival.
    ready: VecDeque<Ready>,
    /// Times at which keys may be forgotten, in milliseconds, the earliest first, each with the slot number
    /// that [`Keyed`] gives the key. These are event times or, for rows in the order of arrival, processing
    /// times.
    timers: BinaryHeap<Reverse<(i64, u32)>>,
    /// Time in milliseconds up to which the entries of `timers` are handled at the next watermark. A timer
    /// that is set at an earlier time waits for that watermark, too.
    due_ms: i64,
    is_advancing: bool,
    out: Pieces,
    accounts: Accounts,
    past_bytes: usize,
    /// Whether all rows come from one source, so that their order of arrival is the same in every run.
    is_single: bool,
}

/// State of a key of an OVER window beside its accumulators.
#[derive(Default)]
struct KeyState {
    /// Greatest time, in milliseconds, of the rows of the key that were emitted; `None` if no row was
    /// emitted.
    last_ms: Option<i64>,
    /// Time at which the key is forgotten, in milliseconds, as in [`Over::timers`]; `None` unless the frame
    /// is a span of time.
    cleanup_ms: Option<i64>,
    /// Rows in the frame of the key, the oldest first: their times, and the values that the aggregate calls
    /// read.
    past: VecDeque<Past>,
}

struct Ready {
    rows: RecordBatch,
    slots: Vec<u32>,
    times: Vec<i64>,
    next: usize,
}

/// One pass over the ready rows of a batch. It advances each key by at most one row, or by the rows of one
/// time in a RANGE frame, so that the keys can be processed together, column by column.
#[derive(Default)]
struct Round {
    /// Slot numbers of keys from whose frames a row leaves in this pass, one for each such row. The row's
    /// index is in `back_rows` at the same position.
    back_slots: Vec<u32>,
    back_rows: Vec<u32>,
    slots: Vec<u32>,
    rows: Vec<u32>,
    /// Slot numbers, given by [`Keyed`], of the keys whose results are needed after the pass; several rows
    /// may have one result.
    asked: Vec<u32>,
}

impl Over {
    /// Creates the operator of an OVER window, which extends rows of the columns `input` to rows of
    /// `columns`. The clock decides when a key has expired.
    ///
    /// # Errors
    /// [`EvaluationError`](thalweg_sql_functions::functions::EvaluationError) if a key or an argument has a
    /// type that cannot be kept, or a call does not support its frame; planning refuses both.
    pub fn new(
        over: OverCalls,
        now: Now,
        input: &[Column],
        columns: &[Column],
        hash_seed: u64,
    ) -> Outcome<Self> {
        let calls = Calls::new(&over.calls, over.frame.is_bounded())?;
        let fields: Vec<SortField> =
            calls.read().iter().map(|place| SortField::new(input[*place].of.arrow())).collect();
        let is_kept = over.frame.is_bounded() && !fields.is_empty();
        let converter = if is_kept { Some(RowConverter::new(fields).map_err(arrow_error)?) } else { None };
        // Keys of a RANGE frame over a span of time are forgotten by event time, not by a time to live.
        let ttl_ms = over.ttl_ms.filter(|_| !matches!(over.frame, Frame::Range(Some(_))));
        Ok(Over {
            time: over.time,
            frame: over.frame,
            output: schema_of(columns),
            now,
            keys: Keyed::new(over.keys, input, ttl_ms, hash_seed)?,
            calls,
            states: Vec::new(),
            converter,
            waiting: over.time.map(|time| Runs::new(with_slots(input), time)),
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            due_ms: i64::MIN,
            is_advancing: false,
            out: Pieces::default(),
            accounts: Accounts::default(),
            past_bytes: 0,
            is_single: false,
        })
    }

    /// Sets whether all rows come from one source. If so, a row of a bounded frame below the watermark is
    /// late only if a row of its key with the same or a later time was emitted, as in Flink. With several
    /// sources, the rows emitted so far depend on how the sources interleave, so the watermark alone decides.
    pub fn of_one_reader(self, is_single: bool) -> Self {
        Over { is_single, ..self }
    }

    /// Forgets the keys that have expired by the clock. Called before input rows are processed and before
    /// rows are emitted.
    fn begin(&mut self) -> i64 {
        let now_ms = self.now.ms();
        self.keys.begin(now_ms);
        self.recycle();
        now_ms
    }

    fn recycle(&mut self) {
        let released = self.keys.recycle(false);
        for slot in &released {
            let state = std::mem::take(&mut self.states[*slot as usize]);
            self.past_bytes -= past_bytes(&state.past);
        }
        self.calls.reset(&released);
    }

    fn slot_of_row(&mut self, keys: &super::keyed::KeyRows, row: usize) -> u32 {
        let (slot, _) = self.keys.find_or_add(keys, row);
        if self.states.len() < self.keys.slots() {
            self.states.resize_with(self.keys.slots(), KeyState::default);
            self.calls.resize(self.keys.slots());
        }
        self.keys.touch(slot);
        slot
    }

    /// Plans when to forget the key in the slot `slot`, which has a row with the time `time_ms`, in
    /// milliseconds.
    fn note_time(&mut self, slot: u32, time_ms: i64) {
        let Frame::Range(Some(span_ms)) = self.frame else { return };
        let state = &mut self.states[slot as usize];
        let least_ms = time_ms.saturating_add(span_ms).saturating_add(1);
        if state.cleanup_ms.is_none_or(|cleanup_ms| cleanup_ms < least_ms) {
            let cleanup_ms = least_ms.saturating_add(span_ms / 2);
            state.cleanup_ms = Some(cleanup_ms);
            self.timers.push(Reverse((cleanup_ms, slot)));
        }
    }

    /// Handles the cleanup timers that are due. A key whose cleanup time has come is forgotten. Otherwise the
    /// time of the timer counts as the time of an emitted row of the key, as in Flink.
    fn fire_timers(&mut self) {
        while let Some(&Reverse((time_ms, slot))) = self.timers.peek() {
            if time_ms > self.due_ms {
                break;
            }
            self.timers.pop();
            let state = &mut self.states[slot as usize];
            match state.cleanup_ms {
                Some(cleanup_ms) if cleanup_ms <= time_ms => {
                    self.past_bytes -= past_bytes(&state.past);
                    *state = KeyState::default();
                    self.keys.release(slot);
                }
                _ => state.last_ms = state.last_ms.max(Some(time_ms)),
            }
        }
    }

    /// Returns whether rows of a key with the same time are in each other's frames, and so are emitted
    /// together.
    fn sees_peers(&self) -> bool {
        self.time.is_some() && matches!(self.frame, Frame::Range(_))
    }

    /// Returns the range of the rows in `ready` that are emitted in the next batch: the first index, and the
    /// index after the last row.
    fn piece(&self, ready: &Ready) -> (usize, usize) {
        let count = ready.times.len();
        let mut to = count.min(ready.next + BATCH_ROWS_MAX);
        while self.sees_peers() && to < count && ready.times[to] == ready.times[to - 1] {
            to += 1;
        }
        (ready.next, to)
    }

    /// Computes the aggregate results of the rows in `ready` with the indexes from `from` up to `to`, `to`
    /// not included.
    fn work(&mut self, ready: &Ready, from: usize, to: usize) -> Outcome<RecordBatch> {
        let sees_peers = self.sees_peers();
        let rows = ready.rows.slice(from, to - from);
        let (slots, times) = (&ready.slots[from..to], &ready.times[from..to]);
        let columns = self.calls.columns(&rows);
        let bytes = match &self.converter {
            Some(converter) => Some(converter.convert_columns(&columns).map_err(arrow_error)?),
            None => None,
        };
        let mut rounds: Vec<Round> = Vec::new();
        // Map from the slot number of a key (see [`Keyed`]) to the index of its latest pass, the time of its
        // last row, and the index of that row's result.
        let mut turns: HashMap<u32, (usize, i64, usize), RandomState> = HashMap::default();
        let mut gone: Vec<Box<[u8]>> = Vec::new();
        let mut results: Vec<(usize, usize)> = Vec::with_capacity(slots.len());
        for (row, (&slot, &time_ms)) in slots.iter().zip(times).enumerate() {
            let state = &mut self.states[slot as usize];
            let (turn, place) = match turns.get(&slot) {
                Some(&(turn, at_ms, place)) if sees_peers && at_ms == time_ms => (turn, place),
                known => {
                    let turn = known.map_or(0, |(turn, _, _)| turn + 1);
                    if rounds.len() <= turn {
                        rounds.resize_with(turn + 1, Round::default);
                    }
                    let round = &mut rounds[turn];
                    while let Some((past_ms, _)) = state.past.front() {
                        let is_gone = match self.frame {
                            Frame::Range(Some(span_ms)) => time_ms.saturating_sub(*past_ms) > span_ms,
                            Frame::Rows(Some(count)) => state.past.len() as u64 > count,
                            _ => false,
                        };
                        if !is_gone {
                            break;
                        }
                        let Some(past) = state.past.pop_front() else { break };
                        self.past_bytes -= heap_bytes(past.1.len());
                        round.back_slots.push(slot);
                        round.back_rows.push(gone.len() as u32);
                        gone.push(past.1);
                    }
                    let place = round.asked.len();
                    round.asked.push(slot);
                    turns.insert(slot, (turn, time_ms, place));
                    (turn, place)
                }
            };
            rounds[turn].slots.push(slot);
            rounds[turn].rows.push(row as u32);
            results.push((turn, place));
            if self.frame.is_bounded() {
                let past: Past =
                    (time_ms, bytes.as_ref().map_or_else(Box::default, |bytes| bytes.row(row).data().into()));
                self.past_bytes += heap_bytes(past.1.len());
                let room = state.past.capacity();
                state.past.push_back(past);
                self.past_bytes += (state.past.capacity() - room) * size_of::<Past>();
            }
            state.last_ms = state.last_ms.max(Some(time_ms));
            self.keys.unpin(slot);
            self.keys.touch(slot);
        }
        let gone_columns = match &self.converter {
            Some(converter) if !gone.is_empty() => {
                let parser = converter.parser();
                converter.convert_rows(gone.iter().map(|row| parser.parse(row))).map_err(arrow_error)?
            }
            _ => Vec::new(),
        };
        let mut found: Vec<Vec<ArrayRef>> = Vec::with_capacity(rounds.len());
        for round in &rounds {
            self.calls.fold(&gone_columns, &round.back_slots, &round.back_rows, false)?;
            self.calls.fold(&columns, &round.slots, &round.rows, true)?;
            found.push(self.calls.results_of(&round.asked)?);
        }
        let mut output = rows.columns().to_vec();
        output.extend(gathered(&found, self.calls.len(), &results)?);
        batch_of(&self.output, output, rows.num_rows())
    }

    fn note_bytes(&mut self) {
        let ready: usize = self.ready.iter().map(|ready| bytes_of(&ready.rows)).sum();
        let held = self.keys.bytes()
            + self.calls.bytes()
            + self.states.capacity() * size_of::<KeyState>()
            + self.timers.capacity() * size_of::<(i64, u32)>();
        let waiting = self.waiting.as_ref().map_or(0, Runs::bytes);
        let bytes = held + waiting + self.past_bytes + ready + self.out.bytes();
        self.accounts.hold(bytes);
    }
}

/// Returns the schema of rows that wait for the watermark: their own columns, then the slot numbers of their
/// keys.
fn with_slots(columns: &[Column]) -> SchemaRef {
    let own = schema_of(columns);
    let slot = Field::new("slot", DataType::UInt32, false);
    let fields: Vec<Field> = own.fields().iter().map(|field| (**field).clone()).chain([slot]).collect();
    Arc::new(Schema::new(fields))
}

/// Splits rows that have waited for the watermark into their own columns and the slot numbers of their keys.
fn without_slots(rows: &RecordBatch) -> Outcome<(RecordBatch, Vec<u32>)> {
    let own: Vec<usize> = (0..rows.num_columns() - 1).collect();
    let slots = rows.column(own.len()).as_primitive::<UInt32Type>().values().to_vec();
    Ok((rows.project(&own).map_err(arrow_error)?, slots))
}

/// A row in the frame of an OVER window: its time, and the values that the aggregate calls read, as bytes.
type Past = (i64, Box<[u8]>);

/// Returns the bytes of the rows in the frame of a key.
fn past_bytes(past: &VecDeque<Past>) -> usize {
    past.capacity() * size_of::<Past>() + past.iter().map(|row| heap_bytes(row.1.len())).sum::<usize>()
}

impl BatchOperator for Over {
    fn name(&self) -> &str {
        "over"
    }

    fn take(&mut self, batch: Batch, late_by: EventTime) -> Outcome<()> {
        let count = batch.len();
        self.accounts.counts.read += count as u64;
        let now_ms = self.begin();
        let keys = self.keys.rows(&batch.rows)?;
        let Some(time) = self.time else {
            self.due_ms = now_ms;
            self.fire_timers();
            let mut slots = Vec::with_capacity(count);
            for row in 0..count {
                let slot = self.slot_of_row(&keys, row);
                self.keys.pin(slot);
                self.note_time(slot, now_ms);
                slots.push(slot);
            }
            self.accounts.counts.folded += count as u64;
            self.ready.push_back(Ready { rows: batch.rows, slots, times: vec![now_ms; count], next: 0 });
            self.note_bytes();
            return Ok(());
        };
        let passed = passed_ms(late_by);
        let times: Vec<i64> =
            batch.rows.column(time).as_primitive::<TimestampMillisecondType>().values().to_vec();
        let mut slots = Vec::with_capacity(count);
        let mut keep = Vec::with_capacity(count);
        for (row, &time_ms) in times.iter().enumerate() {
            let is_late = if self.frame.is_bounded() && self.is_single {
                let slot = self.keys.find(&keys, row);
                slot.and_then(|slot| self.states[slot as usize].last_ms)
                    .is_some_and(|last_ms| time_ms <= last_ms)
            } else {
                time_ms < passed
            };
            keep.push(!is_late);
            if is_late {
                continue;
            }
            let slot = self.slot_of_row(&keys, row);
            self.keys.pin(slot);
            self.note_time(slot, time_ms);
            slots.push(slot);
        }
        self.accounts.counts.folded += slots.len() as u64;
        self.accounts.counts.late += (count - slots.len()) as u64;
        if let (Some(waiting), false) = (&mut self.waiting, slots.is_empty()) {
            let kept = filtered(batch, &BooleanArray::from(keep))?;
            let mut columns = kept.rows.columns().to_vec();
            columns.push(Arc::new(UInt32Array::from(slots)));
            waiting.push(batch_of(waiting.schema(), columns, kept.rows.num_rows())?)?;
        }
        self.note_bytes();
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        let (Some(time), Some(waiting)) = (self.time, &mut self.waiting) else { return Ok(()) };
        let passed = passed_ms(watermark);
        self.due_ms = self.due_ms.max(passed.saturating_sub(1));
        self.is_advancing = true;
        let Some(rows) = waiting.passed(passed)? else { return Ok(()) };
        self.keys.begin(self.now.ms());
        let times = rows.column(time).as_primitive::<TimestampMillisecondType>().values().to_vec();
        let (rows, slots) = without_slots(&rows)?;
        self.ready.push_back(Ready { rows, slots, times, next: 0 });
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        loop {
            if let Some(batch) = self.out.next() {
                return Ok(Some(batch));
            }
            let Some(mut ready) = self.ready.pop_front() else { break };
            let (from, to) = self.piece(&ready);
            if from == to {
                continue;
            }
            let made = self.work(&ready, from, to)?;
            ready.next = to;
            if to < ready.times.len() {
                self.ready.push_front(ready);
            }
            self.out.put(made, None);
        }
        if std::mem::take(&mut self.is_advancing) {
            self.fire_timers();
            self.recycle();
        }
        self.note_bytes();
        Ok(None)
    }

    /// Returns whether rows wait for the watermark, because such rows are emitted after rows that arrived
    /// later.
    fn emits_own_times(&self) -> bool {
        self.time.is_some()
    }

    fn horizon(&self) -> Horizon {
        if self.time.is_some() { Horizon::EVERYWHERE } else { Horizon::NONE }
    }

    accounted!();

    /// Saves the state. It is called between batches, when all ready rows (those in `ready`) were emitted.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.save_all(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.load_all(state)
    }
}
