//! OVER in the order of any columns over input that ends: final rows.
//!
//! Input      batches of rows, or of changes
//! Output     the rows that are left at the end of the input, sorted by key and order, with a result for each call
//! State      the rows that are there so far
//! Emits      at the end of the input
//! Late       ignores event time
//! Watermark  held back until the last one, since rows of any event time come out at the end
//! Cost       per row a search in a tree of the rows; at the end each row enters and leaves the frame of each aggregate
//!            once, if the aggregate can take rows back
//! Source     Flink, `BufferDataOverWindowOperator` and the frames of its batch mode
//!
//! Rows that are equal by the order are sorted by all columns from left to right. So results do not depend on the order in
//! which rows arrive. The rows of a key are held once more, as columns, while their results are computed.
//!
//! A retraction takes away an equal row. It may come before the row itself; then both cancel each other.

use std::collections::BTreeMap;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use arrow::row::Rows;
use thalweg_model::{EventTime, Payment, StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format, heap_bytes};
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of, reserve_room};

use super::super::Pieces;
use super::super::accounts::{Accounts, accounted};
use super::super::calc::schema_of;
use super::super::operator::{BatchOperator, Outcome};
use super::frames::Sorted;
use super::results::results;
use super::{Converters, KEY_BYTES_MAX, SortedCalls, check_key};
use crate::plan::Column;

/// Operator that computes OVER windows in the order of any columns when its input has ended.
pub struct OverAtEnd {
    over: SortedCalls,
    converters: Converters,
    input: SchemaRef,
    output: SchemaRef,
    /// Rows, each with the number of its occurrences. The number is below zero if more equal rows were retracted than
    /// came so far.
    rows: BTreeMap<Kept, i64>,
    has_ended: bool,
    /// Bytes of the held rows.
    bytes: usize,
    out: Pieces,
    accounts: Accounts,
}

/// A kept row: the bytes of its key, of its order and of all its columns, one after the other. Rows sort as their bytes do.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
struct Kept {
    bytes: Box<[u8]>,
    key_len: u32,
    order_len: u32,
}

impl Kept {
    fn key(&self) -> &[u8] {
        &self.bytes[..self.key_len as usize]
    }

    fn key_and_order(&self) -> &[u8] {
        &self.bytes[..self.key_len as usize + self.order_len as usize]
    }

    fn row(&self) -> &[u8] {
        &self.bytes[self.key_len as usize + self.order_len as usize..]
    }

    /// Returns the bytes that the row takes in the tree, whose nodes are assumed to be between half and two thirds full.
    fn held_bytes(&self) -> usize {
        size_of::<(Kept, i64)>() * 7 / 4 + heap_bytes(self.bytes.len())
    }

    fn is_sound(&self) -> bool {
        self.key_len as usize + self.order_len as usize <= self.bytes.len()
    }
}

impl OverAtEnd {
    /// Creates the operator of an OVER window over rows of the columns `input`, which it extends to rows of `columns`.
    ///
    /// # Errors
    /// [`EvaluationError`](thalweg_sql_functions::functions::EvaluationError) if a column has a type that cannot be kept; all SQL types can.
    pub fn new(over: SortedCalls, input: &[Column], columns: &[Column]) -> Outcome<Self> {
        Ok(OverAtEnd {
            converters: Converters::new(&over, input)?,
            input: schema_of(input),
            output: schema_of(columns),
            rows: BTreeMap::new(),
            has_ended: false,
            bytes: 0,
            out: Pieces::default(),
            accounts: Accounts::default(),
            over,
        })
    }

    fn change(&mut self, row: Kept, by: i64) {
        let bytes = row.held_bytes();
        match self.rows.get_mut(&row) {
            None => {
                self.bytes += bytes;
                self.rows.insert(row, by);
            }
            Some(count) => {
                *count += by;
                if *count == 0 {
                    self.rows.remove(&row);
                    self.bytes -= bytes;
                }
            }
        }
    }

    fn note_bytes(&mut self) {
        let bytes = self.bytes + self.out.bytes();
        self.accounts.hold(bytes);
    }

    /// Takes the rows of the next keys out of the state: whole keys, until their rows fill a batch. Returns the rows with
    /// the places of keys and equal rows, and the memory that is reserved for their columns.
    fn take_keys(&mut self) -> Outcome<Option<(RecordBatch, Sorted, Option<Payment>)>> {
        let mut taken: Vec<(Kept, usize)> = Vec::new();
        let mut sorted = Sorted::default();
        let mut bytes = 0;
        while let Some(first) = self.rows.first_entry() {
            let before = taken.last().map(|(row, _)| row);
            let is_new_key = before.is_none_or(|before| before.key() != first.key().key());
            if is_new_key && (sorted.len() >= BATCH_ROWS_MAX || bytes >= KEY_BYTES_MAX / 2) {
                break;
            }
            let is_new_by_order =
                before.is_none_or(|before| before.key_and_order() != first.key().key_and_order());
            let (row, count) = first.remove_entry();
            self.bytes -= row.held_bytes();
            let Ok(count @ 1..) = usize::try_from(count) else { continue };
            bytes += row.row().len().saturating_mul(count);
            check_key(bytes)?;
            for copy in 0..count {
                sorted.push(is_new_key && copy == 0, is_new_by_order && copy == 0);
            }
            taken.push((row, count));
        }
        if taken.is_empty() {
            return Ok(None);
        }
        sorted.finish();
        let room = reserve_room(&self.accounts.allowance, bytes)?;
        let parser = self.converters.whole.parser();
        let rows = taken
            .iter()
            .flat_map(|(row, count)| std::iter::repeat_n(row, *count))
            .map(|row| parser.parse(row.row()));
        let columns = self.converters.whole.convert_rows(rows).map_err(arrow_error)?;
        Ok(Some((batch_of(&self.input, columns, sorted.len())?, sorted, room)))
    }
}

impl BatchOperator for OverAtEnd {
    fn name(&self) -> &str {
        "over"
    }

    fn state_kind(&self) -> &str {
        "final over"
    }

    fn take(&mut self, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        self.accounts.counts.read += batch.len() as u64;
        self.accounts.counts.folded += batch.len() as u64;
        let Converters { keys, order, whole } = &self.converters;
        let keys = keys.rows(&batch.rows)?;
        let order = order.rows(&batch.rows)?;
        let whole: Rows = whole.convert_columns(batch.rows.columns()).map_err(arrow_error)?;
        for row in 0..batch.len() {
            let part = |rows: &Option<Rows>| -> Vec<u8> {
                rows.as_ref().map_or_else(Vec::new, |rows| rows.row(row).data().to_vec())
            };
            let (mut bytes, order) = (part(&keys), part(&order));
            let (key_len, order_len) = (bytes.len() as u32, order.len() as u32);
            bytes.extend_from_slice(&order);
            bytes.extend_from_slice(whole.row(row).data());
            let comes = batch.kind(row).adds();
            self.change(Kept { bytes: bytes.into(), key_len, order_len }, if comes { 1 } else { -1 });
        }
        self.note_bytes();
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        self.has_ended |= watermark == EventTime::MAX;
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        loop {
            if let Some(piece) = self.out.next() {
                return Ok(Some(piece));
            }
            if !self.has_ended {
                return Ok(None);
            }
            let Some((rows, sorted, _room)) = self.take_keys()? else {
                self.note_bytes();
                return Ok(None);
            };
            let results = results(&self.over, &rows, &sorted)?;
            let columns: Vec<ArrayRef> = rows.columns().iter().cloned().chain(results).collect();
            self.out.put(batch_of(&self.output, columns, rows.num_rows())?, None);
            self.note_bytes();
        }
    }

    fn emits_own_times(&self) -> bool {
        true
    }

    /// Holds all watermarks back but the last, which is always forwarded.
    fn forward(&self, _watermark: EventTime) -> EventTime {
        EventTime::MIN
    }

    accounted!();

    /// Saves the state. It is called between batches, when all rows of the keys that were taken were emitted.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(ROW_FORMAT, self.has_ended, self.rows.len()))?;
        for (row, count) in &self.rows {
            state.put(&(row, count))?;
        }
        Ok(())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        check_row_format(state)?;
        let rows: usize;
        (self.has_ended, rows) = state.take()?;
        self.rows.clear();
        self.bytes = 0;
        for _ in 0..rows {
            let (row, count): (Kept, i64) = state.take()?;
            if !row.is_sound() {
                return Err(state.wrong("a kept row is shorter than its key and order"));
            }
            self.bytes += row.held_bytes();
            self.rows.insert(row, count);
        }
        self.note_bytes();
        Ok(())
    }
}
