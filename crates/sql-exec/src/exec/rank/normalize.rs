//! Changes of a table that may come twice, put right: the last row of each key is kept, and the changes that come out
//! follow from the kept rows.
//!
//! Input      batches of changes; `+I` and `+U` set the row of their key, `-D` removes it, and `-U` is ignored
//! Output     `+I` for the first row of a key, `-U` and `+U` for a row in the place of another, `-D` with the kept row
//! State      per key the row that came out last
//! Emits      at once; a row that equals the kept row is no change, unless there is a time to live
//! Late       ignores event time
//! Watermark  forwarded unchanged
//! Cost       one look-up per row
//! Source     Flink, `StreamExecChangelogNormalize`, `ProcTimeDeduplicateKeepLastRowFunction`,
//!            `DeduplicateFunctionHelper.processLastRowOnChangelog`
//!
//! With a time to live equal rows come out, as in Flink, so that operators behind this one keep their state as long as it
//! does.

use std::sync::Arc;

use thalweg_model::{EventTime, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format, shared_heap_bytes};
use thalweg_sql_tables::batch::{Batch, reserve_room};

use super::super::accounts::{Accounts, accounted};
use super::super::keyed::Keyed;
use super::super::operator::{BatchOperator, Outcome};
use super::super::{Now, Pieces};
use super::{Maker, Row};
use crate::plan::Column;

#[cfg(test)]
mod tests;

/// Operator that keeps the last row of each key and emits the changes of these rows.
pub struct Normalize {
    made: Maker,
    now: Now,
    keys: Keyed,
    /// Kept row of each key, indexed by the slot number that [`Keyed`] gives the key; `None` if the key has no
    /// row.
    kept: Vec<Option<Row>>,
    /// Whether a row comes out that equals the kept row.
    tells_same: bool,
    out: Pieces,
    accounts: Accounts,
    row_bytes: usize,
}

impl Normalize {
    /// Creates the operator for rows with the columns `input`; the key is the columns with the indexes `keys`. The
    /// clock decides when a key has expired; a key is kept for `ttl_ms` milliseconds.
    ///
    /// # Errors
    /// [`EvaluationError`](thalweg_sql_functions::functions::EvaluationError) if a column has a type that
    /// cannot be kept; all SQL types can.
    pub fn new(
        keys: Vec<usize>,
        ttl_ms: i64,
        now: Now,
        input: &[Column],
        columns: &[Column],
        hash_seed: u64,
    ) -> Outcome<Self> {
        Ok(Normalize {
            made: Maker::new(input, columns, false)?,
            now,
            keys: Keyed::new(keys, input, Some(ttl_ms), hash_seed)?,
            kept: Vec::new(),
            tells_same: ttl_ms < i64::MAX,
            out: Pieces::default(),
            accounts: Accounts::default(),
            row_bytes: 0,
        })
    }

    /// Sets the kept row of a key, and returns the one before.
    fn put(&mut self, slot: u32, row: Option<Row>) -> Option<Row> {
        self.row_bytes += bytes_of(&row);
        let before = std::mem::replace(&mut self.kept[slot as usize], row);
        self.row_bytes -= bytes_of(&before);
        before
    }

    /// Sets the row of a key, and emits the change. Returns whether there is one.
    fn set(&mut self, slot: u32, row: &[u8]) -> bool {
        let is_same = self.kept[slot as usize].as_ref().is_some_and(|before| **before == *row);
        if is_same && !self.tells_same {
            return false;
        }
        let row: Row = row.into();
        match self.put(slot, Some(Arc::clone(&row))) {
            None => self.made.add(RowKind::Insert, &row, 0),
            Some(before) => {
                self.made.add(RowKind::UpdateBefore, &before, 0);
                self.made.add(RowKind::UpdateAfter, &row, 0);
            }
        }
        true
    }

    fn note_bytes(&mut self) {
        let bytes = self.keys.bytes()
            + self.row_bytes
            + self.kept.capacity() * size_of::<Option<Row>>()
            + self.out.bytes();
        self.accounts.hold(bytes);
    }
}

fn bytes_of(row: &Option<Row>) -> usize {
    row.as_ref().map_or(0, |row| shared_heap_bytes(row.len()))
}

impl BatchOperator for Normalize {
    fn name(&self) -> &str {
        "normalize"
    }

    fn take(&mut self, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        self.accounts.counts.read += batch.len() as u64;
        self.keys.begin(self.now.ms());
        for slot in self.keys.recycle(true) {
            self.put(slot, None);
        }
        let room = reserve_room(&self.accounts.allowance, self.keys.growth_bytes(batch.len()))?;
        let keys = self.keys.rows(&batch.rows)?;
        let rows = self.made.converter.convert_columns(batch.rows.columns()).map_err(arrow_error)?;
        for row in 0..batch.len() {
            let is_change = match batch.kind(row) {
                RowKind::UpdateBefore => false,
                RowKind::Insert | RowKind::UpdateAfter => {
                    let (slot, _) = self.keys.find_or_add(&keys, row);
                    if self.kept.len() < self.keys.slots() {
                        self.kept.resize_with(self.keys.slots(), || None);
                    }
                    self.keys.touch(slot);
                    self.set(slot, rows.row(row).data())
                }
                RowKind::Delete => match self.keys.find(&keys, row) {
                    None => false,
                    Some(slot) => {
                        self.keys.release(slot);
                        let gone = self.put(slot, None);
                        if let Some(gone) = &gone {
                            self.made.add(RowKind::Delete, gone, 0);
                        }
                        gone.is_some()
                    }
                },
            };
            match is_change {
                true => self.accounts.counts.folded += 1,
                false => self.accounts.counts.filtered += 1,
            }
        }
        drop(room);
        self.made.finish(&mut self.out)?;
        self.note_bytes();
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        let piece = self.out.next();
        if piece.is_none() {
            self.note_bytes();
        }
        Ok(piece)
    }

    fn emits_own_times(&self) -> bool {
        true
    }

    accounted!();

    /// Saves the kept rows. It is called between batches, when all changes were emitted.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.keys.save(state)?;
        state.put(&ROW_FORMAT)?;
        for slot in self.keys.live() {
            state.put(&self.kept[slot as usize].as_deref())?;
        }
        Ok(())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.keys.load(state)?;
        check_row_format(state)?;
        self.kept.clear();
        self.kept.resize_with(self.keys.slots(), || None);
        self.row_bytes = 0;
        let live: Vec<u32> = self.keys.live().collect();
        for slot in live {
            let row: Option<Vec<u8>> = state.take()?;
            self.put(slot, row.map(Row::from));
        }
        self.note_bytes();
        Ok(())
    }
}
