//! OVER in the order of any columns over input that goes on: results change.
//!
//! Input      batches of rows, or of changes
//! Output     changes of the rows, each with a result for each call
//! State      per key all rows with their results, and accumulators of all its rows
//! Emits      at once: for every row the changes that it causes, in the order of the rows
//! Late       ignores event time
//! Watermark  forwarded unchanged
//! Cost       a row behind all others of its key is added to the accumulators. For any other change the results from its
//!            place on are computed anew, after the rows before it were added again
//! Source     Flink, `NonTimeRowsUnboundedPrecedingFunction`, `NonTimeRangeUnboundedPrecedingFunction`
//!
//! Among rows that are equal by the order, the first to arrive is first. A row that comes is a `+I`, and a row that goes a
//! `-D`, also where they are two halves of an update; other rows whose results change are `-U` and `+U`. A retraction of
//! an unknown row is ignored. Results are computed anew and not by subtraction, so they do not depend on rows that came and
//! went, and each aggregate can be used.
//!
//! Differs from Flink: all rows of a key live as long as the key. All results behind a change are compared; Flink stops at
//! the first one that stays the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::compute::interleave;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};
use thalweg_model::{EventTime, Payment, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format, heap_bytes, shared_heap_bytes};
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of, reserve_room};

use super::super::accounts::{Accounts, accounted};
use super::super::calc::schema_of;
use super::super::calls::Calls;
use super::super::keyed::{KeyRows, Keyed};
use super::super::operator::{BatchOperator, Outcome};
use super::super::over::lag;
use super::super::{Now, Pieces};
use super::{Converters, SortedCalls, check_key};
use crate::plan::sorted_over::SortedFunction;
use crate::plan::{Aggregate, AggregateCall, Column, RankFunction};

/// A row, or the results of its calls, as bytes.
type Bytes = Arc<[u8]>;

/// Rows of a key, sorted by their order columns, then by arrival.
type Held = BTreeMap<(Box<[u8]>, u64), Row>;

/// Operator that computes OVER windows in the order of any columns, whose results change while the input goes on.
pub struct LiveOver {
    wanted: Vec<Wanted>,
    converters: Converters,
    input: SchemaRef,
    made: Maker,
    now: Now,
    keys: Keyed,
    /// Accumulators of aggregates and of LAG. Their slots are not those of [`Keyed`], because a key whose results are
    /// computed anew takes a new slot.
    calls: Calls,
    slots: Slots,
    /// State of each key, indexed by the slot number that [`Keyed`] gives the key.
    states: Vec<KeyState>,
    arrivals: u64,
    taking: Option<Taking>,
    out: Pieces,
    accounts: Accounts,
    row_bytes: usize,
}

/// The way in which the result of a call is found.
#[derive(Clone, Copy)]
enum Wanted {
    /// The result of an accumulator behind the row (ROWS).
    AtRow(usize),
    /// The result of an accumulator behind the last row that is equal by the order (RANGE).
    AtPeers(usize),
    /// The position of the row.
    Rank(RankFunction),
}

#[derive(Clone)]
struct Row {
    content: Bytes,
    results: Bytes,
}

#[derive(Default)]
struct KeyState {
    rows: Held,
    /// Facts about the rows; `None` after a load, until the results of the key are computed anew.
    tail: Option<Tail>,
}

/// Accumulators of all rows of a key, and the place of its last row.
#[derive(Clone, Copy)]
struct Tail {
    /// Slot of the accumulators.
    slot: u32,
    /// Number of different orders among the rows.
    dense: i64,
    /// Number of rows before the first of those that are equal to the last row by the order.
    before: i64,
}

/// Slots of accumulators.
#[derive(Default)]
struct Slots {
    count: u32,
    free: Vec<u32>,
    /// Slots that are no longer used and not yet emptied. Many are emptied at once, because that may cost as much as a
    /// walk over all accumulators.
    stale: Vec<u32>,
}

/// Least number of stale slots at which they are emptied.
const STALE_MIN: usize = 64;

impl Slots {
    fn take(&mut self, calls: &mut Calls) -> u32 {
        if self.free.is_empty() && self.stale.len() >= STALE_MIN + self.count as usize / 4 {
            calls.reset(&self.stale);
            self.free.append(&mut self.stale);
        }
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            calls.resize(self.count as usize);
            self.count - 1
        })
    }
}

/// Input batch that is being worked on, with its keys, orders and rows converted to bytes.
struct Taking {
    batch: Batch,
    keys: KeyRows,
    order: Option<Rows>,
    whole: Rows,
    /// Columns of the batch that the calls read.
    read: Vec<ArrayRef>,
    next: usize,
    /// Reservation of the memory by which the hash table of keys may grow.
    _room: Option<Payment>,
}

impl Taking {
    /// Returns the bytes of the rows and their orders.
    fn bytes(&self) -> usize {
        self.whole.size() + self.order.as_ref().map_or(0, Rows::size)
    }
}

/// Converts results between columns and bytes, and collects the changes to be emitted.
struct Maker {
    results: RowConverter,
    output: SchemaRef,
    kinds: Vec<RowKind>,
    rows: Vec<Row>,
}

impl Maker {
    fn add(&mut self, kind: RowKind, content: &Bytes, results: &Bytes) {
        self.kinds.push(kind);
        self.rows.push(Row { content: Arc::clone(content), results: Arc::clone(results) });
    }

    fn update(&mut self, row: &mut Row, results: Bytes) -> usize {
        self.add(RowKind::UpdateBefore, &row.content, &row.results);
        let gone = std::mem::replace(&mut row.results, results);
        self.add(RowKind::UpdateAfter, &row.content, &row.results);
        shared_heap_bytes(gone.len())
    }

    fn finish(&mut self, whole: &RowConverter, out: &mut Pieces) -> Outcome<()> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        let (of_rows, of_results) = (whole.parser(), self.results.parser());
        let rows = self.rows.iter().map(|row| of_rows.parse(&row.content));
        let mut columns = whole.convert_rows(rows).map_err(arrow_error)?;
        let results = self.rows.iter().map(|row| of_results.parse(&row.results));
        columns.extend(self.results.convert_rows(results).map_err(arrow_error)?);
        let rows = batch_of(&self.output, columns, self.kinds.len())?;
        self.rows.clear();
        out.put(rows, Some(std::mem::take(&mut self.kinds)));
        Ok(())
    }
}

impl LiveOver {
    /// Creates the operator of an OVER window over rows of the columns `input`, which it extends to rows of `columns`. A
    /// key is kept for `ttl_ms` milliseconds of processing time after its last row.
    ///
    /// # Errors
    /// [`EvaluationError`](thalweg_sql_functions::functions::EvaluationError) if a column has a type that cannot be kept;
    /// all SQL types can.
    pub fn new(
        over: SortedCalls,
        ttl_ms: Option<i64>,
        now: Now,
        input: &[Column],
        columns: &[Column],
        hash_seed: u64,
    ) -> Outcome<Self> {
        let mut aggregates = Vec::new();
        let mut wanted = Vec::new();
        for call in &over.calls {
            wanted.push(match &call.function {
                SortedFunction::Aggregate { call, frame } => {
                    aggregates.push(AggregateCall::clone(call));
                    let place = aggregates.len() - 1;
                    if frame.is_rows { Wanted::AtRow(place) } else { Wanted::AtPeers(place) }
                }
                SortedFunction::Offset { value, default, rows, .. } => {
                    let offset = u32::try_from(rows.unsigned_abs()).unwrap_or(u32::MAX);
                    aggregates.push(AggregateCall {
                        aggregate: Aggregate::Lag { rows: offset },
                        is_distinct: false,
                        arguments: [*value].into_iter().chain(*default).collect(),
                        filter: None,
                        function: lag(&call.result, offset, default.is_some(), call.is_nullable),
                    });
                    Wanted::AtRow(aggregates.len() - 1)
                }
                SortedFunction::Rank(function) => Wanted::Rank(*function),
                // Planning has these computed at the end of the input only.
                SortedFunction::PercentRank | SortedFunction::CumeDist | SortedFunction::Ntile(_) => {
                    Wanted::Rank(RankFunction::Rank)
                }
            });
        }
        let results = over.calls.iter().map(|call| SortField::new(call.result.arrow())).collect();
        Ok(LiveOver {
            wanted,
            converters: Converters::new(&over, input)?,
            input: schema_of(input),
            made: Maker {
                results: RowConverter::new(results).map_err(arrow_error)?,
                output: schema_of(columns),
                kinds: Vec::new(),
                rows: Vec::new(),
            },
            now,
            keys: Keyed::new(over.keys, input, ttl_ms, hash_seed)?,
            calls: Calls::new(&aggregates, false)?,
            slots: Slots::default(),
            states: Vec::new(),
            arrivals: 0,
            taking: None,
            out: Pieces::default(),
            accounts: Accounts::default(),
            row_bytes: 0,
        })
    }

    fn recycle(&mut self) {
        for slot in self.keys.recycle(true) {
            let gone = std::mem::take(&mut self.states[slot as usize]);
            self.slots.stale.extend(gone.tail.map(|tail| tail.slot));
            self.row_bytes -= gone.rows.iter().map(|(key, row)| held_bytes(&key.0, row)).sum::<usize>();
        }
    }

    /// Adds an input row to its key, or retracts it.
    fn work(&mut self, taking: &Taking, row: usize) -> Outcome<()> {
        let comes = taking.batch.kind(row).adds();
        let slot = if comes {
            Some(self.keys.find_or_add(&taking.keys, row).0)
        } else {
            self.keys.find(&taking.keys, row)
        };
        let Some(slot) = slot else {
            self.accounts.counts.filtered += 1;
            return Ok(());
        };
        if self.states.len() < self.keys.slots() {
            self.states.resize_with(self.keys.slots(), KeyState::default);
        }
        let order: &[u8] = taking.order.as_ref().map_or(&[], |order| order.row(row).data());
        let content: Bytes = taking.whole.row(row).data().into();
        if comes {
            self.keys.touch(slot);
            self.accounts.counts.folded += 1;
            return self.insert(slot, order, content, taking, row);
        }
        let is_known = self.remove(slot, order, &content)?;
        if is_known {
            self.keys.touch(slot);
            self.accounts.counts.folded += 1;
        } else {
            self.accounts.counts.filtered += 1;
        }
        Ok(())
    }

    fn insert(
        &mut self,
        slot: u32,
        order: &[u8],
        content: Bytes,
        taking: &Taking,
        row: usize,
    ) -> Outcome<()> {
        self.arrivals += 1;
        let key: (Box<[u8]>, u64) = (Box::from(order), self.arrivals);
        let state = &mut self.states[slot as usize];
        let last = state.rows.last_key_value().map(|((last, _), _)| &**last);
        let (is_last, is_peer) = (last.is_none_or(|last| last <= order), last == Some(order));
        let is_at_peers = |wanted: &Wanted| matches!(wanted, Wanted::AtPeers(_));
        // The results of rows that are equal to the last one stay as they are if no call takes them together.
        let is_simple = is_last && !(is_peer && self.wanted.iter().any(is_at_peers));
        if !is_simple || (state.tail.is_none() && !state.rows.is_empty()) {
            let results = Bytes::from([]);
            let from = (key.0.clone(), 0);
            let new = Row { content, results };
            self.row_bytes += held_bytes(&key.0, &new);
            state.rows.insert(key.clone(), new);
            return self.compute(slot, from, Some(&key));
        }
        let count = state.rows.len() as i64;
        let tail = match state.tail {
            None => Tail { slot: self.slots.take(&mut self.calls), dense: 1, before: 0 },
            Some(tail) if is_peer => tail,
            Some(tail) => Tail { dense: tail.dense + 1, before: count, ..tail },
        };
        state.tail = Some(tail);
        self.calls.fold(&taking.read, &[tail.slot], &[row as u32], true)?;
        let found = self.calls.results_of(&[tail.slot])?;
        let columns: Vec<ArrayRef> = self
            .wanted
            .iter()
            .map(|wanted| match wanted {
                Wanted::AtRow(place) | Wanted::AtPeers(place) => Arc::clone(&found[*place]),
                Wanted::Rank(function) => {
                    let rank = match function {
                        RankFunction::RowNumber => count + 1,
                        RankFunction::Rank => tail.before + 1,
                        RankFunction::DenseRank => tail.dense,
                    };
                    Arc::new(Int64Array::from(vec![rank])) as ArrayRef
                }
            })
            .collect();
        let results = self.made.results.convert_columns(&columns).map_err(arrow_error)?;
        let new = Row { content, results: results.row(0).data().into() };
        self.made.add(RowKind::Insert, &new.content, &new.results);
        self.row_bytes += held_bytes(&key.0, &new);
        state.rows.insert(key, new);
        Ok(())
    }

    fn remove(&mut self, slot: u32, order: &[u8], content: &Bytes) -> Outcome<bool> {
        let state = &mut self.states[slot as usize];
        let mut equals = state.rows.range((Box::from(order), 0)..=(Box::from(order), u64::MAX));
        let Some(key) = equals.find(|(_, row)| row.content == *content).map(|(key, _)| key.clone()) else {
            return Ok(false);
        };
        if let Some(row) = state.rows.remove(&key) {
            self.made.add(RowKind::Delete, &row.content, &row.results);
            self.row_bytes -= held_bytes(&key.0, &row);
        }
        if state.rows.is_empty() {
            self.slots.stale.extend(state.tail.take().map(|tail| tail.slot));
            self.keys.release(slot);
            return Ok(true);
        }
        self.compute(slot, (key.0, 0), None)?;
        Ok(true)
    }

    /// Computes the results of a key anew from the row with the order `from` on, and emits those that differ. `new` is the
    /// row that came.
    fn compute(&mut self, slot: u32, from: (Box<[u8]>, u64), new: Option<&(Box<[u8]>, u64)>) -> Outcome<()> {
        let state = &mut self.states[slot as usize];
        if let Some(tail) = state.tail.take() {
            self.slots.stale.push(tail.slot);
        }
        let accumulator = self.slots.take(&mut self.calls);
        let count = state.rows.len();
        let _room: Option<Payment>;
        let columns = match self.calls.read().is_empty() {
            true => Vec::new(),
            false => {
                let bytes = state.rows.values().map(|row| row.content.len()).sum();
                check_key(bytes)?;
                _room = reserve_room(&self.accounts.allowance, bytes)?;
                let parser = self.converters.whole.parser();
                let rows = state.rows.values().map(|row| parser.parse(&row.content));
                let columns = self.converters.whole.convert_rows(rows).map_err(arrow_error)?;
                self.calls.columns(&batch_of(&self.input, columns, count)?)
            }
        };
        // Places of the rows: the first of those that are equal by the order, and the number of different orders up to it.
        let (mut ranks, mut before, mut dense, mut last) = (Vec::new(), 0, 0, None);
        let mut first = count;
        for (place, (key, _)) in state.rows.iter().enumerate() {
            if last != Some(&key.0) {
                (before, dense, last) = (place, dense + 1, Some(&key.0));
            }
            if first == count && *key >= from {
                first = place;
            }
            if first < count {
                ranks.push((before, dense));
            }
        }
        let added: Vec<u32> = (0..first as u32).collect();
        self.calls.fold(&columns, &vec![accumulator; first], &added, true)?;
        state.tail = Some(Tail { slot: accumulator, dense, before: before as i64 });
        // The last row went, so no other result changes.
        if ranks.is_empty() {
            return Ok(());
        }
        let mut found: Vec<Vec<ArrayRef>> = Vec::new();
        let is_at_row = self.wanted.iter().any(|wanted| matches!(wanted, Wanted::AtRow(_)));
        // Index in `found` of the results behind each row.
        let mut at_row: Vec<usize> = Vec::new();
        for (place, (known, _)) in ranks.iter().enumerate() {
            self.calls.fold(&columns, &[accumulator], &[(first + place) as u32], true)?;
            let is_last_peer = ranks.get(place + 1).is_none_or(|(next, _)| next != known);
            at_row.push(found.len());
            if is_at_row || is_last_peer {
                found.push(self.calls.results_of(&[accumulator])?);
            }
        }
        let mut at_peers = at_row.clone();
        for place in (1..ranks.len()).rev() {
            if ranks[place - 1].0 == ranks[place].0 {
                at_peers[place - 1] = at_peers[place];
            }
        }
        let gathered = |call: usize, places: &[usize]| -> Outcome<ArrayRef> {
            let columns: Vec<&dyn arrow::array::Array> =
                found.iter().map(|columns| &*columns[call]).collect();
            let places: Vec<(usize, usize)> = places.iter().map(|place| (*place, 0)).collect();
            interleave(&columns, &places).map_err(arrow_error)
        };
        let mut results: Vec<ArrayRef> = Vec::new();
        for wanted in &self.wanted {
            results.push(match wanted {
                Wanted::AtRow(call) => gathered(*call, &at_row)?,
                Wanted::AtPeers(call) => gathered(*call, &at_peers)?,
                Wanted::Rank(function) => {
                    let rank = |(place, (before, dense)): (usize, &(usize, i64))| match function {
                        RankFunction::RowNumber => (first + place) as i64 + 1,
                        RankFunction::Rank => *before as i64 + 1,
                        RankFunction::DenseRank => *dense,
                    };
                    Arc::new(Int64Array::from_iter_values(ranks.iter().enumerate().map(rank)))
                }
            });
        }
        let results = self.made.results.convert_columns(&results).map_err(arrow_error)?;
        for (result, (key, row)) in results.iter().zip(state.rows.range_mut(from..)) {
            if *row.results == *result.data() {
                continue;
            }
            let results: Bytes = result.data().into();
            self.row_bytes += shared_heap_bytes(results.len());
            if new == Some(key) {
                self.row_bytes -= shared_heap_bytes(row.results.len());
                row.results = results;
                self.made.add(RowKind::Insert, &row.content, &row.results);
            } else {
                self.row_bytes -= self.made.update(row, results);
            }
        }
        Ok(())
    }

    fn note_bytes(&mut self) {
        let bytes = self.keys.bytes()
            + self.calls.bytes()
            + self.row_bytes
            + self.states.capacity() * size_of::<KeyState>()
            + self.taking.as_ref().map_or(0, Taking::bytes)
            + self.out.bytes();
        self.accounts.hold(bytes);
    }
}

/// Returns the bytes of a kept row, its results and its order. The nodes of the tree are assumed to be half full.
fn held_bytes(order: &[u8], row: &Row) -> usize {
    let entry = size_of::<((Box<[u8]>, u64), Row)>();
    2 * entry
        + heap_bytes(order.len())
        + shared_heap_bytes(row.content.len())
        + shared_heap_bytes(row.results.len())
}

impl BatchOperator for LiveOver {
    fn name(&self) -> &str {
        "over"
    }

    fn state_kind(&self) -> &str {
        "live over"
    }

    fn take(&mut self, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        self.accounts.counts.read += batch.len() as u64;
        self.keys.begin(self.now.ms());
        self.recycle();
        let room = reserve_room(&self.accounts.allowance, self.keys.growth_bytes(batch.len()))?;
        let keys = self.keys.rows(&batch.rows)?;
        let order = self.converters.order.rows(&batch.rows)?;
        let whole = self.converters.whole.convert_columns(batch.rows.columns()).map_err(arrow_error)?;
        let rows: &RecordBatch = &batch.rows;
        let read = self.calls.columns(rows);
        self.taking = Some(Taking { batch, keys, order, whole, read, next: 0, _room: room });
        self.note_bytes();
        Ok(())
    }

    /// Works on input rows only until their changes fill a batch, because one row may cause many changes.
    fn next(&mut self) -> Outcome<Option<Batch>> {
        loop {
            if let Some(piece) = self.out.next() {
                return Ok(Some(piece));
            }
            let Some(mut taking) = self.taking.take() else { break };
            while taking.next < taking.batch.len() && self.made.kinds.len() < BATCH_ROWS_MAX {
                self.work(&taking, taking.next)?;
                taking.next += 1;
            }
            if taking.next < taking.batch.len() {
                self.taking = Some(taking);
            } else {
                drop(taking);
                self.note_bytes();
            }
            self.made.finish(&self.converters.whole, &mut self.out)?;
        }
        self.note_bytes();
        Ok(None)
    }

    fn emits_own_times(&self) -> bool {
        true
    }

    accounted!();

    /// Saves the rows and their results. It is called between batches, when all changes were emitted. Accumulators are made
    /// again from the rows.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.keys.save(state)?;
        state.put(&(ROW_FORMAT, self.arrivals))?;
        for slot in self.keys.live() {
            let rows = &self.states[slot as usize].rows;
            state.put(&rows.len())?;
            for ((order, arrival), row) in rows {
                state.put(&(order, arrival))?;
                state.put(&*row.content)?;
                state.put(&*row.results)?;
            }
        }
        Ok(())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.keys.load(state)?;
        check_row_format(state)?;
        self.arrivals = state.take()?;
        self.states.clear();
        self.states.resize_with(self.keys.slots(), KeyState::default);
        self.row_bytes = 0;
        self.taking = None;
        let live: Vec<u32> = self.keys.live().collect();
        for slot in live {
            let count: usize = state.take()?;
            for _ in 0..count {
                let key: (Box<[u8]>, u64) = state.take()?;
                let (content, results): (Vec<u8>, Vec<u8>) = (state.take()?, state.take()?);
                let row = Row { content: content.into(), results: results.into() };
                self.row_bytes += held_bytes(&key.0, &row);
                self.states[slot as usize].rows.insert(key, row);
            }
        }
        self.note_bytes();
        Ok(())
    }
}
