//! Top-N without windows: the first rows of each key by an order, which change with every row.
//!
//! Input      batches of rows, or of changes
//! Output     changes of the rows whose rank is asked for; the rank stands behind their columns if it is asked for, too
//! State      per key the rows that may be among the first: so many as are asked for, or all if rows can be taken back
//! Emits      at once: for every row the changes that it makes, in their order
//! Late       looks at no time
//! Watermark  forwarded unchanged
//! Cost       a look at the rows before it for every row, and, with ranks, a change for all behind it
//! Source     Flink, "Top-N"; `AppendOnlyTopNFunction`, `FastTop1Function`, `RetractableTopNFunction`
//!
//! Of rows that are equal by the order the first that came is first. With ranks, or where the first ranks are left out, a
//! row that comes in moves those behind it, and each rank whose row is another is a change. Without, only what comes in and
//! what falls out is one: `-D` and `+I`, or, of a single row of an input that is only added to, `-U` and `+U`. What is taken
//! back and was not there is passed over. (First and last rows by time: [`Deduplicate`].)
//!
//! Differs from Flink: all rows of a key live as long as the key does, where a map of Flink's forgets them one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, Rows, SortField};
use thalweg_model::{Allowance, Counts, EventTime, StateError, StateReader, StateWriter};

use super::calc::{batch_of, schema_of};
use super::keyed::{KeyRows, Keyed};
use super::operator::{BatchOperator, Outcome};
use super::{Now, Pieces};
use crate::batch::{BATCH_ROWS_MAX, Batch, check_room};
use crate::expression::arrow_error;
use crate::formats::RowKind;
use crate::keys::{ROW_FORMAT, check_row_format, heap_bytes};
use crate::plan::{Column, Role, SortKey};

mod dedup;
#[cfg(test)]
mod tests;

pub use dedup::{Deduplicate, Keep};

/// What is wanted of each key.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The places of the keys.
    pub keys: Vec<usize>,
    /// The order. A column of processing time stands for the order of arrival.
    pub order: Vec<SortKey>,
    /// The first rank that comes out, from 1 on.
    pub from: u64,
    /// The last.
    pub to: u64,
    /// Whether the rank stands behind the columns.
    pub has_rank: bool,
    /// Whether rows may be taken back.
    pub is_retracting: bool,
    /// How long keys are remembered.
    pub ttl_ms: i64,
}

/// A row, as bytes.
type Row = Arc<[u8]>;

/// The rows of a key, in order: by the columns that they are ordered by, then as they came.
type Ranked = BTreeMap<(Box<[u8]>, u64), Row>;

/// Ranks the rows of keys.
pub struct TopN {
    wanted: Wanted,
    /// Whether the last that came is first.
    is_last_first: bool,
    order_places: Vec<usize>,
    order: Option<RowConverter>,
    made: Maker,
    now: Now,
    keys: Keyed,
    /// Of keys, by their slots.
    ranked: Vec<Ranked>,
    arrivals: u64,
    taking: Option<Taking>,
    out: Pieces,
    counts: Counts,
    row_bytes: usize,
    bytes: usize,
    allowance: Allowance,
}

/// A batch that is being taken, as bytes.
struct Taking {
    batch: Batch,
    keys: KeyRows,
    order: Option<Rows>,
    rows: Rows,
    next: usize,
}

/// Rows between columns and bytes, and the changes of them that come out.
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

    /// Hands over what there is.
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
    /// Ranks rows of the columns `input`. The clock tells how old keys are.
    ///
    /// # Errors
    /// [`EvaluationError`](crate::functions::EvaluationError) if a column is of a type that cannot be kept, which those of
    /// SQL are not.
    pub fn new(
        wanted: Wanted,
        now: Now,
        input: &[Column],
        columns: &[Column],
        hash_seed: u64,
    ) -> Outcome<Self> {
        // No two rows come at once, so what is behind the order of arrival makes no difference.
        let by_arrival = wanted.order.iter().position(|key| input[key.place].role == Role::Proctime);
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
            counts: Counts::default(),
            row_bytes: 0,
            bytes: 0,
            allowance: Allowance::default(),
            wanted,
        })
    }

    fn recycle(&mut self) {
        for slot in self.keys.recycle(true) {
            let gone = std::mem::take(&mut self.ranked[slot as usize]);
            self.row_bytes -= gone.iter().map(|(key, row)| entry_bytes(&key.0, row)).sum::<usize>();
        }
    }

    /// Takes a row in, or takes it back.
    fn work(&mut self, taking: &Taking, row: usize) {
        let comes = matches!(taking.batch.kind(row), RowKind::Insert | RowKind::UpdateAfter);
        let slot = if comes {
            self.keys.find_or_add(&taking.keys, row).0
        } else {
            match self.keys.find(&taking.keys, row) {
                Some(slot) => slot,
                None => {
                    self.counts.filtered += 1;
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
            self.counts.folded += 1;
        } else {
            self.counts.filtered += 1;
        }
    }

    /// Whether ranks come out, or some are left out, so that the rows behind one that comes or goes are others.
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
        // What is behind all that are wanted, and stays there, is of no use.
        let is_full = ranked.len() as u64 >= to;
        if !is_retracting && is_full && ranked.last_key_value().is_none_or(|(last, _)| *last < key) {
            return false;
        }
        let row: Row = content.into();
        self.row_bytes += entry_bytes(order, &row);
        ranked.insert(key.clone(), Arc::clone(&row));
        let made = &mut self.made;
        if moves_ranks {
            // From the new one on, each rank has the row that had the rank before.
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
            // Whether it is among the first, and which row fell out.
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
        if bytes > self.bytes {
            // A refusal ends the query, so nothing is to be done about it here.
            let _ = self.allowance.ask(bytes - self.bytes);
        }
        self.bytes = bytes;
    }
}

/// Bytes of a row and what it is ordered by, in nodes that are half full: rows that come in their order leave them so.
fn entry_bytes(order: &[u8], row: &Row) -> usize {
    // An Arc has two counters before its bytes.
    2 * size_of::<((Box<[u8]>, u64), Row)>()
        + heap_bytes(order.len())
        + heap_bytes(2 * size_of::<usize>() + row.len())
}

impl BatchOperator for TopN {
    fn name(&self) -> &str {
        "rank"
    }

    fn take(&mut self, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        self.counts.read += batch.len() as u64;
        self.keys.begin(self.now.ms());
        self.recycle();
        check_room(&self.allowance, self.keys.growth_bytes(batch.len()))?;
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
        self.taking = Some(Taking { batch, keys, order, rows, next: 0 });
        self.note_bytes();
        Ok(())
    }

    /// Rows are worked on as there is room for the changes that they make, since a row may make many.
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
            }
            self.made.finish(&mut self.out)?;
        }
        self.note_bytes();
        Ok(None)
    }

    fn emits_own_times(&self) -> bool {
        true
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn state_bytes(&self) -> usize {
        self.bytes
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }

    /// Between batches, when all changes have come out.
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
        }
        self.note_bytes();
        Ok(())
    }
}
