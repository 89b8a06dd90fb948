//! EXCEPT ALL and INTERSECT ALL: how often each row is there, by how often both sides have it.
//!
//! Input      batches of rows of both sides, or of changes; the last column tells whether a row is of the right side
//! Output     the rows without that column: `+I` and `-D`
//! State      per different row its numbers on both sides
//! Emits      at once: for a row that comes or goes, at most one change of an equal row
//! Late       ignores event time
//! Watermark  forwarded unchanged
//! Cost       one look-up per row
//! Source     Flink, "Set Operations"; SQL:2016, part 2, section 7.17: EXCEPT ALL has a row max(m - n, 0) times, INTERSECT
//!            ALL min(m, n) times, for m rows on the left and n on the right
//!
//! NULL equals NULL, and floats are compared by their bits. The numbers of a row may be below 0 while retractions come
//! before their rows; such a side counts as one without the row.
//!
//! Differs from Flink: a change of a number emits one row. Flink takes all copies of the row back and emits them anew.

use arrow::array::{AsArray, UInt32Array};
use arrow::compute::take_record_batch;
use thalweg_model::{EventTime, Payment, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_tables::batch::{Batch, batch_of, reserve_room};

use super::accounts::{Accounts, accounted};
use super::calc::schema_of;
use super::keyed::Keyed;
use super::operator::{BatchOperator, Outcome};
use super::{Now, Pieces};
use crate::plan::{BagKind, Column};

#[cfg(test)]
mod tests;

/// Operator that computes EXCEPT ALL or INTERSECT ALL.
pub struct Bag {
    kind: BagKind,
    output: arrow::datatypes::SchemaRef,
    now: Now,
    keys: Keyed,
    /// Number of equal rows on the left and on the right side, by the slot number that [`Keyed`] gives the row.
    numbers: Vec<[i64; 2]>,
    out: Pieces,
    accounts: Accounts,
}

impl Bag {
    /// Creates the operator for rows with the columns `input`, of which the last is a BOOLEAN that is TRUE for rows of the
    /// right side. The clock decides when a row has expired, `ttl_ms` milliseconds after it was last changed.
    ///
    /// # Errors
    /// [`EvaluationError`](thalweg_sql_functions::functions::EvaluationError) if a column has a type that cannot be kept;
    /// all SQL types can.
    pub fn new(
        kind: BagKind,
        ttl_ms: i64,
        now: Now,
        input: &[Column],
        columns: &[Column],
        hash_seed: u64,
    ) -> Outcome<Self> {
        Ok(Bag {
            kind,
            output: schema_of(columns),
            now,
            keys: Keyed::new((0..columns.len()).collect(), input, Some(ttl_ms), hash_seed)?,
            numbers: Vec::new(),
            out: Pieces::default(),
            accounts: Accounts::default(),
        })
    }

    /// Counts a row that comes or goes on a side, and returns the change of the output.
    fn count(&mut self, slot: u32, is_right: bool, comes: bool) -> Option<RowKind> {
        let numbers = &mut self.numbers[slot as usize];
        let before = self.kind.times(*numbers);
        numbers[usize::from(is_right)] += if comes { 1 } else { -1 };
        let after = self.kind.times(*numbers);
        if *numbers == [0, 0] {
            self.keys.release(slot);
        } else {
            self.keys.touch(slot);
        }
        match after.cmp(&before) {
            std::cmp::Ordering::Less => Some(RowKind::Delete),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(RowKind::Insert),
        }
    }

    fn note_bytes(&mut self) {
        let bytes = self.keys.bytes() + self.numbers.capacity() * size_of::<[i64; 2]>() + self.out.bytes();
        self.accounts.hold(bytes);
    }
}

impl BatchOperator for Bag {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn take(&mut self, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        let count = batch.len();
        self.accounts.counts.read += count as u64;
        self.keys.begin(self.now.ms());
        // A row whose numbers became 0 has lost its slot. Another row gets the slot from here on, and not within the batch.
        for slot in self.keys.recycle(true) {
            self.numbers[slot as usize] = [0, 0];
        }
        // The reservation for the growth of the hash table ends with the batch; then the table is counted as state.
        let _room: Option<Payment> = reserve_room(&self.accounts.allowance, self.keys.growth_bytes(count))?;
        let keys = self.keys.rows(&batch.rows)?;
        let sides = batch.rows.column(batch.rows.num_columns() - 1).as_boolean().clone();
        let (mut rows, mut kinds) = (Vec::new(), Vec::new());
        for row in 0..count {
            let comes = batch.kind(row).adds();
            let slot = self.keys.find_or_add(&keys, row).0;
            if self.numbers.len() < self.keys.slots() {
                self.numbers.resize(self.keys.slots(), [0, 0]);
            }
            if let Some(kind) = self.count(slot, sides.value(row), comes) {
                rows.push(row as u32);
                kinds.push(kind);
            }
        }
        self.accounts.counts.folded += count as u64;
        if !rows.is_empty() {
            let columns: Vec<usize> = (0..batch.rows.num_columns() - 1).collect();
            let given = batch.rows.project(&columns).map_err(arrow_error)?;
            let taken = take_record_batch(&given, &UInt32Array::from(rows)).map_err(arrow_error)?;
            let made = batch_of(&self.output, taken.columns().to_vec(), taken.num_rows())?;
            let is_plain = kinds.iter().all(|kind| *kind == RowKind::Insert);
            self.out.put(made, (!is_plain).then_some(kinds));
        }
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

    /// Saves the state. It is called between batches, when all changes were emitted.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.keys.save(state)?;
        self.keys.live().try_for_each(|slot| state.put(&self.numbers[slot as usize]))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.keys.load(state)?;
        self.numbers.clear();
        self.numbers.resize(self.keys.slots(), [0, 0]);
        let live: Vec<u32> = self.keys.live().collect();
        for slot in live {
            self.numbers[slot as usize] = state.take()?;
        }
        self.note_bytes();
        Ok(())
    }
}
