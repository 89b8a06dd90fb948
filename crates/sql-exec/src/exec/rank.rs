//! Top-N without windows: the first rows of each key by an order, which change with every row.
//!
//! Input      batches of rows, or of changes
//! Output     changes of the rows with the requested ranks, followed by the rank if it is requested
//! State      per key the rows that may be among the first: as many as requested, or all if rows can be retracted
//! Emits      at once: for every row the changes that it causes, in their order
//! Late       ignores event time
//! Watermark  forwarded unchanged
//! Cost       per row a look at the rows before it and, with ranks, a change for each row after it
//! Source     Flink, "Top-N"; `AppendOnlyTopNFunction`, `FastTop1Function`, `RetractableTopNFunction`
//!
//! Among rows that are equal by the order, the first to arrive is first. With ranks, or where the first ranks are
//! left out, a new row moves the rows after it, and each rank with another row is a change. Otherwise only the
//! row that enters and the row that leaves are changes: `-D` and `+I`; or `-U` and `+U` for a single row of an
//! input whose rows are only added. A retraction of an unknown row is ignored. (First and last rows by time:
//! [`Deduplicate`].)
//!
//! Differs from Flink: all rows of a key live as long as the key; Flink's map forgets them one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, Rows, SortField};
use thalweg_model::{EventTime, Payment, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format, heap_bytes, shared_heap_bytes};
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of, reserve_room};

use super::accounts::{Accounts, accounted};
use super::calc::schema_of;
use super::keyed::{KeyRows, Keyed};
use super::operator::{BatchOperator, Outcome};
use super::{Now, Pieces};
use crate::plan::{Column, SortKey};

mod dedup;
mod normalize;
#[cfg(test)]
mod tests;

pub use dedup::{Deduplicate, Keep};
pub use normalize::Normalize;

/// Keys, order and requested ranks of a top-N without a window.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Indexes of the PARTITION BY columns in the input.
    pub keys: Vec<usize>,
    /// Columns by which the rows of a key are ranked. A column of processing time stands for the order of
    /// arrival.
    pub order: Vec<SortKey>,
    /// First rank that is emitted; ranks begin at 1.
    pub from: u64,
    /// Last rank that is emitted, included.
    pub to: u64,
    /// Whether the rank is emitted as a column after the columns of the input.
    pub has_rank: bool,
    /// Whether the input may retract rows.
    pub is_retracting: bool,
    /// How long a key is kept after its last row, in milliseconds of processing time.
    pub ttl_ms: i64,
}

/// A row of a top-N, converted to bytes.
type Row = Arc<[u8]>;

/// Rows of a key, sorted by their order columns, then by arrival.
type Ranked = BTreeMap<(Box<[u8]>, u64), Row>;

/// Operator that keeps the first rows of each key by an order (top-N without a window).
pub struct TopN {
    wanted: Wanted,
    /// Whether the row that arrived last ranks first, because the order is by descending processing time.
    is_last_first: bool,
    order_places: Vec<usize>,
    order: Option<RowConverter>,
    made: Maker,
    now: Now,
    keys: Keyed,
    /// Kept rows of each key, indexed by the slot number that [`Keyed`] gives the key.
    ranked: Vec<Ranked>,
    arrivals: u64,
    taking: Option<Taking>,
    out: Pieces,
    accounts: Accounts,
    row_bytes: usize,
}

/// Input batch that is being ranked, with its keys and rows converted to bytes.
struct Taking {
    batch: Batch,
    keys: KeyRows,
    order: Option<Rows>,
    rows: Rows,
    next: usize,
    /// Reservation of the memory by which the hash table of keys may grow, held until all rows of the batch
    /// are ranked.
    _room: Option<Payment>,
}

/// Converts ranked rows between columns and bytes, and collects the changes to be emitted.
struct Maker {
    converter: RowConverter,
    output: SchemaRef,
    has_rank: bool,
    kinds: Vec<RowKind>,
    rows: Vec<Row>,
    ranks: Vec<i64>,
}

impl Maker {
    fn new(input: &[Column], columns: &[Column], has_rank: bool) -> Outcome<Self> {
        let fields = input.iter().map(|column| SortField::new(column.of.arrow())).collect();
        let converter = RowConverter::new(fields).map_err(arrow_error)?;
        let output = schema_of(columns);
        Ok(Maker { converter, output, has_rank, kinds: Vec::new(), rows: Vec::new(), ranks: Vec::new() })
    }

    fn add(&mut self, kind: RowKind, row: &Row, rank: u64) {
        self.kinds.push(kind);
        self.rows.push(Arc::clone(row));
        if self.has_rank {
            self.ranks.push(i64::try_from(rank).unwrap_or(i64::MAX));
        }
    }

    /// Moves the collected output changes of a top-N to `out`, which cuts them into batches.
    fn finish(&mut self, out: &mut Pieces) -> Outcome<()> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        let parser = self.converter.parser();
        let rows = self.rows.iter().map(|row| parser.parse(row));
        let mut columns: Vec<ArrayRef> = self.converter.convert_rows(rows).map_err(arrow_error)?;
        if self.has_rank {
            columns.push(Arc::new(Int64Array::from(std::mem::take(&mut self.ranks))));
        }
        let rows = batch_of(&self.output, columns, self.kinds.len())?;
        self.rows.clear();
        out.put(rows, Some(std::mem::take(&mut self.kinds)));
        Ok(())
    }
}

impl TopN {
    /// Creates a top-N of rows with the columns `input`. The clock decides when a key has expired.
    ///
    /// # Errors
    /// [`EvaluationError`](thalweg_sql_functions::functions::EvaluationError) if a column has a type that
    /// cannot be kept; all SQL types can.
    pub fn new(
        wanted: Wanted,
        now: Now,
        input: &[Column],
        columns: &[Column],
        hash_seed: u64,
    ) -> Outcome<Self> {
        // No two rows arrive at once, so sort columns after the order of arrival make no difference and are
        // dropped.
        let by_arrival = wanted.order.iter().position(|key| input[key.place].role.is_proctime());
        let order = &wanted.order[..by_arrival.unwrap_or(wanted.order.len())];
        let fields: Vec<SortField> = order
            .iter()
            .map(|key| {
                let options = SortOptions { descending: key.is_descending, nulls_first: key.is_null_first };
                SortField::new_with_options(input[key.place].of.arrow(), options)
            })
            .collect();
        Ok(TopN {
            is_last_first: by_arrival.is_some_and(|place| wanted.order[place].is_descending),
            order_places: order.iter().map(|key| key.place).collect(),
            order: if fields.is_empty() {
                None
            } else {
                Some(RowConverter::new(fields).map_err(arrow_error)?)
            },
            made: Maker::new(input, columns, wanted.has_rank)?,
            now,
            keys: Keyed::new(wanted.keys.clone(), input, Some(wanted.ttl_ms), hash_seed)?,
            ranked: Vec::new(),
            arrivals: 0,
            taking: None,
            out: Pieces::default(),
            accounts: Accounts::default(),
            row_bytes: 0,
            wanted,
        })
    }

    fn recycle(&mut self) {
        for slot in self.keys.recycle(true) {
            let gone = std::mem::take(&mut self.ranked[slot as usize]);
            self.row_bytes -= tree_bytes(gone.len())
                + gone.iter().map(|(key, row)| entry_bytes(&key.0, row)).sum::<usize>();
        }
    }

    /// Adds an input row to the ranking of its key, or retracts it.
    fn work(&mut self, taking: &Taking, row: usize) {
        let comes = taking.batch.kind(row).adds();
        let slot = if comes {
            self.keys.find_or_add(&taking.keys, row).0
        } else {
            match self.keys.find(&taking.keys, row) {
                Some(slot) => slot,
                None => {
                    self.accounts.counts.filtered += 1;
                    return;
                }
            }
        };
        if self.ranked.len() < self.keys.slots() {
            self.ranked.resize_with(self.keys.slots(), Ranked::new);
        }
        self.keys.touch(slot);
        let order: &[u8] = taking.order.as_ref().map_or(&[], |order| order.row(row).data());
        let content = taking.rows.row(row).data();
        let is_done =
            if comes { self.insert(slot, order, content) } else { self.remove(slot, order, content) };
        if is_done {
            self.accounts.counts.folded += 1;
        } else {
            self.accounts.counts.filtered += 1;
        }
    }

    /// Returns whether a row that comes or goes changes the output for the rows ranked after it.
    fn moves_ranks(&self) -> bool {
        self.wanted.has_rank || self.wanted.from > 1
    }

    fn insert(&mut self, slot: u32, order: &[u8], content: &[u8]) -> bool {
        self.arrivals += 1;
        let arrival = if self.is_last_first { u64::MAX - self.arrivals } else { self.arrivals };
        let moves_ranks = self.moves_ranks();
        let Wanted { from, to, is_retracting, .. } = self.wanted;
        let ranked = &mut self.ranked[slot as usize];
        let key = (order.into(), arrival);
        // If rows are only added, a row whose rank is above all requested ranks never gets a lower rank, so
        // it is not kept.
        let is_full = ranked.len() as u64 >= to;
        if !is_retracting && is_full && ranked.last_key_value().is_none_or(|(last, _)| *last < key) {
            return false;
        }
        let row: Row = content.into();
        self.row_bytes += entry_bytes(order, &row);
        ranked.insert(key.clone(), Arc::clone(&row));
        self.row_bytes += tree_bytes(ranked.len()) - tree_bytes(ranked.len() - 1);
        let made = &mut self.made;
        if moves_ranks {
            // The new row moves the rows ranked after it back by one rank each. So for each rank from its own
            // on, the row that has this rank now is compared with the row that had it before.
            let mut rows =
                ranked.iter().zip(1u64..=to.saturating_add(1)).skip_while(|((other, _), _)| **other < key);
            let mut current = rows.next();
            while let Some(((_, row), rank)) = current.filter(|(_, rank)| *rank <= to) {
                current = rows.next();
                let is_asked = rank >= from;
                match current {
                    Some(((_, before), _)) if is_asked => {
                        made.add(RowKind::UpdateBefore, before, rank);
                        made.add(RowKind::UpdateAfter, row, rank);
                    }
                    None if is_asked => made.add(RowKind::Insert, row, rank),
                    _ => {}
                }
            }
        } else {
            // Row that had the last requested rank `to` and now has the rank after it, if there is one.
            let place = usize::try_from(to).unwrap_or(usize::MAX);
            let fallen = if is_full { ranked.iter().nth(place) } else { None };
            match fallen {
                Some((last, _)) if *last == key => {}
                Some((last, _)) if is_retracting && *last < key => {}
                Some((_, fallen)) if to == 1 && !is_retracting => {
                    made.add(RowKind::UpdateBefore, fallen, 1);
                    made.add(RowKind::UpdateAfter, &row, 1);
                }
                Some((_, fallen)) => {
                    made.add(RowKind::Delete, fallen, 0);
                    made.add(RowKind::Insert, &row, 0);
                }
                None => made.add(RowKind::Insert, &row, 0),
            }
        }
        if !is_retracting
            && is_full
            && let Some((gone, row)) = ranked.pop_last()
        {
            self.row_bytes -= entry_bytes(&gone.0, &row);
            self.row_bytes -= tree_bytes(ranked.len() + 1) - tree_bytes(ranked.len());
        }
        true
    }

    fn remove(&mut self, slot: u32, order: &[u8], content: &[u8]) -> bool {
        let moves_ranks = self.moves_ranks();
        let Wanted { from, to, .. } = self.wanted;
        let ranked = &mut self.ranked[slot as usize];
        let equals = ranked.range((Box::from(order), 0)..=(Box::from(order), u64::MAX));
        let Some(key) = equals.into_iter().find(|(_, row)| ***row == *content).map(|(key, _)| key.clone())
        else {
            return false;
        };
        let made = &mut self.made;
        let last = usize::try_from(to).unwrap_or(usize::MAX);
        let is_among = ranked.iter().take(last).any(|(other, _)| *other == key);
        if is_among && moves_ranks {
            let mut rows =
                ranked.iter().zip(1u64..=to.saturating_add(1)).skip_while(|((other, _), _)| **other < key);
            let mut current = rows.next();
            while let Some(((_, row), rank)) = current.filter(|(_, rank)| *rank <= to) {
                current = rows.next();
                if rank < from {
                    continue;
                }
                match current {
                    Some(((_, next), _)) => {
                        made.add(RowKind::UpdateBefore, row, rank);
                        made.add(RowKind::UpdateAfter, next, rank);
                    }
                    None => made.add(RowKind::Delete, row, rank),
                }
            }
        } else if is_among {
            if let Some(row) = ranked.get(&key) {
                made.add(RowKind::Delete, row, 0);
            }
            if let Some((_, next)) = ranked.iter().nth(last) {
                made.add(RowKind::Insert, next, 0);
            }
        }
        if let Some(row) = ranked.remove(&key) {
            self.row_bytes -= entry_bytes(&key.0, &row);
            self.row_bytes -= tree_bytes(ranked.len() + 1) - tree_bytes(ranked.len());
        }
        if ranked.is_empty() {
            self.keys.release(slot);
        }
        true
    }

    fn note_bytes(&mut self) {
        let bytes = self.keys.bytes()
            + self.row_bytes
            + self.ranked.capacity() * size_of::<Ranked>()
            + self.taking.as_ref().map_or(0, |taking| taking.rows.size())
            + self.out.bytes();
        self.accounts.hold(bytes);
    }
}

/// Number of rows for which a node of a [`BTreeMap`] has room.
const NODE_ROWS: usize = 11;

/// Returns the bytes of the nodes of a tree with some rows. A few rows have one node, which is allocated whole. Nodes of
/// larger trees are assumed to be half full, as rows that arrive in order leave them.
fn tree_bytes(rows: usize) -> usize {
    let entry = size_of::<((Box<[u8]>, u64), Row)>();
    match rows {
        0 => 0,
        1..=NODE_ROWS => heap_bytes(NODE_ROWS * entry + 2 * size_of::<usize>()),
        rows => 2 * entry * rows,
    }
}

/// Returns the bytes of a kept row and its order key outside of the nodes of the tree.
fn entry_bytes(order: &[u8], row: &Row) -> usize {
    heap_bytes(order.len()) + shared_heap_bytes(row.len())
}

impl BatchOperator for TopN {
    fn name(&self) -> &str {
        "rank"
    }

    fn take(&mut self, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        self.accounts.counts.read += batch.len() as u64;
        self.keys.begin(self.now.ms());
        self.recycle();
        let room = reserve_room(&self.accounts.allowance, self.keys.growth_bytes(batch.len()))?;
        let keys = self.keys.rows(&batch.rows)?;
        let rows = self.made.converter.convert_columns(batch.rows.columns()).map_err(arrow_error)?;
        let order = match &self.order {
            Some(order) => {
                let columns: Vec<ArrayRef> =
                    self.order_places.iter().map(|place| Arc::clone(batch.rows.column(*place))).collect();
                Some(order.convert_columns(&columns).map_err(arrow_error)?)
            }
            None => None,
        };
        self.taking = Some(Taking { batch, keys, order, rows, next: 0, _room: room });
        self.note_bytes();
        Ok(())
    }

    /// Ranks input rows only until their changes fill a batch, because one row may cause many changes.
    fn next(&mut self) -> Outcome<Option<Batch>> {
        loop {
            if let Some(piece) = self.out.next() {
                return Ok(Some(piece));
            }
            let Some(mut taking) = self.taking.take() else { break };
            while taking.next < taking.batch.len() && self.made.kinds.len() < BATCH_ROWS_MAX {
                self.work(&taking, taking.next);
                taking.next += 1;
            }
            if taking.next < taking.batch.len() {
                self.taking = Some(taking);
            } else {
                // The reservation for the growth of the hash table ends with the batch. From here on the
                // table is counted as state of the operator.
                drop(taking);
                self.note_bytes();
            }
            self.made.finish(&mut self.out)?;
        }
        self.note_bytes();
        Ok(None)
    }

    fn emits_own_times(&self) -> bool {
        true
    }

    accounted!();

    /// Saves the state. It is called between batches, when all changes were emitted.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.keys.save(state)?;
        state.put(&(ROW_FORMAT, self.arrivals))?;
        for slot in self.keys.live() {
            let ranked = &self.ranked[slot as usize];
            state.put(&ranked.len())?;
            for ((order, arrival), row) in ranked {
                state.put(&(order, arrival))?;
                state.put(&**row)?;
            }
        }
        Ok(())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.keys.load(state)?;
        check_row_format(state)?;
        self.arrivals = state.take()?;
        self.ranked.clear();
        self.ranked.resize_with(self.keys.slots(), Ranked::new);
        self.row_bytes = 0;
        self.taking = None;
        let live: Vec<u32> = self.keys.live().collect();
        for slot in live {
            let count: usize = state.take()?;
            for _ in 0..count {
                let key: (Box<[u8]>, u64) = state.take()?;
                let row: Vec<u8> = state.take()?;
                let row: Row = row.into();
                self.row_bytes += entry_bytes(&key.0, &row);
                self.ranked[slot as usize].insert(key, row);
            }
            self.row_bytes += tree_bytes(self.ranked[slot as usize].len());
        }
        self.note_bytes();
        Ok(())
    }
}
