//! Top-N per window: the first rows of each key by an order, with their rank.
//!
//! Input      batches of rows that have windows
//! Output     the rows with the requested ranks, followed by their rank
//! State      per open window, the rows that may still be among the first
//! Emits      when the watermark reaches the end of the window
//! Late       the window has ended: counted, and dropped
//! Watermark  forwarded unchanged, after the output of all windows that it closes
//! Cost       sorting, each time the number of rows has doubled
//! Source     Flink, "Window Top-N" and "Window Deduplication"
//!
//! Among rows that are equal by the order, the first to arrive is first. The exception is a request for the last
//! row by time only, as deduplication makes it: then the last to arrive is first.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, UInt32Array};
use arrow::compute::concat_batches;
use arrow::datatypes::{SchemaRef, TimestampMillisecondType};
use arrow::record_batch::RecordBatch;
use chrono_tz::Tz;
use thalweg_model::{EventTime, Horizon, StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::keys::KeyIndex;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of};

use super::accounts::{Accounts, accounted};
use super::calc::schema_of;
use super::kept::{load_rows, save_rows};
use super::operator::{BatchOperator, Outcome};
use super::order::{bytes_of, compacted, sorted, taken};
use super::pieces::Pieces;
use super::windows::Clocks;
use crate::plan::{Column, Role, SortKey};

/// Keys, order and requested ranks of a top-N per window.
#[derive(Clone, Debug)]
pub struct Ranks {
    /// Index of the column that holds the end of the row's window.
    pub window_end: usize,
    /// Indexes of the PARTITION BY columns in the input.
    pub keys: Vec<usize>,
    /// Columns by which the rows of one key and window are ranked.
    pub order: Vec<SortKey>,
    /// First rank that is emitted; ranks begin at 1.
    pub from: u64,
    /// Last rank that is emitted, included.
    pub to: u64,
}

/// Operator that ranks the rows of each window and key (top-N per window).
pub struct WindowTopN {
    ranks: Ranks,
    /// Whether, among rows that are equal by the order, the row that arrived last ranks first.
    is_last_first: bool,
    key_types: Vec<SqlType>,
    input: SchemaRef,
    output: SchemaRef,
    clocks: Clocks,
    /// Kept rows of each open window, by the end of the window in milliseconds of local time.
    windows: BTreeMap<i64, Kept>,
    /// Windows that end at or before this local time, in milliseconds, are over.
    closing_ms: i64,
    out: Pieces,
    hash_seed: u64,
    accounts: Accounts,
}

#[derive(Default)]
struct Kept {
    rows: Vec<RecordBatch>,
    /// Bytes in memory of the rows kept for one window.
    bytes: usize,
    count: usize,
    /// Number of kept rows at which the rows of the window are sorted next, and rows with ranks above the
    /// requested ones are dropped.
    prune_at: usize,
}

impl WindowTopN {
    /// Creates a top-N per window of rows with the columns `input`.
    pub fn new(ranks: Ranks, zone: Option<Tz>, input: &[Column], columns: &[Column], hash_seed: u64) -> Self {
        let is_by_time = match &ranks.order[..] {
            [key] => key.is_descending && input[key.place].role == Role::Rowtime,
            _ => false,
        };
        WindowTopN {
            is_last_first: is_by_time && ranks.from == 1 && ranks.to == 1,
            key_types: ranks.keys.iter().map(|place| input[*place].of.clone()).collect(),
            input: schema_of(input),
            output: schema_of(columns),
            clocks: Clocks::new(zone),
            windows: BTreeMap::new(),
            closing_ms: i64::MIN,
            out: Pieces::default(),
            hash_seed,
            accounts: Accounts::default(),
            ranks,
        }
    }

    /// Returns the indexes and the ranks of those rows of a window whose ranks are from `from` to the last
    /// requested rank, sorted by key and then by rank.
    fn ranked(&self, all: &RecordBatch, from: u64) -> Outcome<(Vec<u32>, Vec<i64>)> {
        let keys: Vec<ArrayRef> =
            self.ranks.keys.iter().map(|place| Arc::clone(all.column(*place))).collect();
        let mut groups = Vec::new();
        let mut index = KeyIndex::new(&self.key_types, self.hash_seed);
        index.check_room(all.num_rows())?;
        index.index(&keys, all.num_rows(), &mut groups);
        let by_group: ArrayRef = Arc::new(UInt32Array::from(groups.clone()));
        let order = sorted(all, &[by_group], &self.ranks.order, self.is_last_first)?;
        let mut last = None;
        let mut rank = 0u64;
        let (mut places, mut ranks) = (Vec::new(), Vec::new());
        for row in order.values() {
            let group = groups[*row as usize];
            rank = if last == Some(group) { rank + 1 } else { 1 };
            last = Some(group);
            if (from..=self.ranks.to).contains(&rank) {
                places.push(*row);
                ranks.push(rank as i64);
            }
        }
        Ok((places, ranks))
    }

    fn all_of(&self, rows: &[RecordBatch]) -> Outcome<RecordBatch> {
        concat_batches(&self.input, rows).map_err(arrow_error)
    }

    fn note_bytes(&mut self) {
        let bytes = self.windows.values().map(|kept| kept.bytes).sum::<usize>();
        self.accounts.hold(bytes);
    }
}

impl BatchOperator for WindowTopN {
    fn name(&self) -> &str {
        "top-n"
    }

    fn take(&mut self, batch: Batch, late_by: EventTime) -> Outcome<()> {
        self.accounts.counts.read += batch.len() as u64;
        let ends = batch.rows.column(self.ranks.window_end).as_primitive::<TimestampMillisecondType>();
        let passed = self.clocks.passed(late_by);
        let mut parts: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
        for (row, end) in (0u32..).zip(ends.values()) {
            if *end <= passed {
                self.accounts.counts.late += 1;
            } else {
                parts.entry(*end).or_default().push(row);
            }
        }
        for (end, part) in parts {
            self.accounts.counts.folded += part.len() as u64;
            let rows = if part.len() == batch.len() {
                compacted(batch.rows.clone())?
            } else {
                taken(&batch.rows, &UInt32Array::from(part))?
            };
            let mut kept = self.windows.remove(&end).unwrap_or_default();
            kept.count += rows.num_rows();
            kept.bytes += bytes_of(&rows);
            kept.rows.push(rows);
            if self.ranks.to < u64::MAX && kept.count >= kept.prune_at.max(BATCH_ROWS_MAX) {
                let all = self.all_of(&kept.rows)?;
                // Only rows that may still be among the requested ranks are kept. They stay in the order of
                // arrival, because this order decides between rows that are equal by the sort columns.
                let (mut places, _) = self.ranked(&all, 1)?;
                places.sort_unstable();
                kept.count = places.len();
                kept.prune_at = kept.count * 2;
                let first = taken(&all, &UInt32Array::from(places))?;
                (kept.bytes, kept.rows) = (bytes_of(&first), vec![first]);
            }
            self.windows.insert(end, kept);
        }
        self.note_bytes();
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        self.closing_ms = self.closing_ms.max(self.clocks.passed(watermark));
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        loop {
            if let Some(piece) = self.out.next() {
                return Ok(Some(piece));
            }
            let Some((&end, _)) = self.windows.first_key_value() else { break };
            if end > self.closing_ms {
                break;
            }
            let Some(kept) = self.windows.remove(&end) else { break };
            let all = self.all_of(&kept.rows)?;
            let (places, ranks) = self.ranked(&all, self.ranks.from)?;
            let rows = taken(&all, &UInt32Array::from(places))?;
            let mut columns = rows.columns().to_vec();
            columns.push(Arc::new(Int64Array::from(ranks)));
            self.out.put(batch_of(&self.output, columns, rows.num_rows())?, None);
        }
        self.note_bytes();
        Ok(None)
    }

    fn emits_own_times(&self) -> bool {
        true
    }

    fn horizon(&self) -> Horizon {
        Horizon::EVERYWHERE
    }

    accounted!();

    fn state_bytes(&self) -> usize {
        self.accounts.bytes() + self.out.bytes()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.closing_ms, self.windows.len()))?;
        for (end, kept) in &self.windows {
            state.put(end)?;
            let all = self.all_of(&kept.rows).map_err(|error| StateError::Write(error.message))?;
            save_rows(&all, state)?;
        }
        Ok(())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (closing_ms, windows): (i64, usize) = state.take()?;
        self.closing_ms = closing_ms;
        self.windows.clear();
        for _ in 0..windows {
            let end: i64 = state.take()?;
            let rows = load_rows(&self.input, state)?;
            let (count, bytes) = (rows.num_rows(), bytes_of(&rows));
            self.windows.insert(end, Kept { count, bytes, rows: vec![rows], prune_at: 0 });
        }
        self.note_bytes();
        Ok(())
    }
}
