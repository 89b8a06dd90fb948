//! Keys of a slice or a window with the accumulators of their aggregates, into which rows are folded.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, UInt32Array};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use thalweg_model::Allowance;
use thalweg_sql_functions::aggregates::Accumulator;
use thalweg_sql_functions::keys::KeyIndex;
use thalweg_sql_functions::scratch::value_bytes;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, reserve_room};

use super::super::operator::Outcome;
use super::super::order::taken;
use super::super::parts::{Part, parts_of};
use super::present::Present;
use crate::plan::AggregateCall;

/// Keys, aggregate calls and output columns of a window aggregate, shared by its copies.
pub(super) struct Shape {
    pub(super) keys: Vec<usize>,
    pub(super) key_types: Vec<SqlType>,
    pub(super) calls: Vec<AggregateCall>,
    pub(super) schema: SchemaRef,
    pub(super) is_instant: bool,
    pub(super) is_retracting: bool,
    /// Whether results depend on the order in which rows are added and taken back.
    pub(super) is_in_order: bool,
    pub(super) hash_seed: u64,
}

/// Keys of a slice or a window, with their accumulators.
pub(super) struct Table {
    pub(super) index: KeyIndex,
    pub(super) accumulators: Vec<Box<dyn Accumulator>>,
    /// Number of rows of each key; `None` if rows are only added.
    pub(super) present: Option<Present>,
    /// Bytes in memory of this table of keys and its accumulators when they were counted last.
    pub(super) counted: usize,
}

/// Approximate bytes of an empty table of keys beside its accumulators, and of each accumulator.
pub(super) const TABLE_BYTES: usize = 256;
const ACCUMULATOR_BYTES: usize = 64;

impl Shape {
    /// Creates an empty table of keys.
    pub(super) fn table(&self) -> Table {
        let accumulator = |call: &AggregateCall| match &call.function.create_retractable {
            Some(create) if self.is_retracting => create(),
            _ => (call.function.create)(),
        };
        Table {
            index: KeyIndex::new(&self.key_types, self.hash_seed),
            accumulators: self.calls.iter().map(accumulator).collect(),
            present: self.is_retracting.then(Present::default),
            counted: 0,
        }
    }

    /// Aggregates the rows of a batch into a table of keys, or takes them back.
    pub(super) fn fold(&self, table: &mut Table, batch: &Batch, groups: &mut Vec<u32>) -> Outcome<()> {
        let rows = &batch.rows;
        let keys: Vec<ArrayRef> = self.keys.iter().map(|place| Arc::clone(rows.column(*place))).collect();
        table.index.check_room(rows.num_rows())?;
        table.index.index(&keys, rows.num_rows(), groups);
        let len = table.index.len();
        table.accumulators.iter_mut().for_each(|accumulator| accumulator.resize(len));
        let Some(present) = &mut table.present else {
            self.apply(table, rows, groups, true);
            return Ok(());
        };
        present.add(groups, batch.kinds.as_deref(), len);
        for Part { is_added, rows: places } in parts_of(batch, self.is_in_order) {
            if places.len() == rows.num_rows() {
                self.apply(table, rows, groups, is_added);
            } else {
                let of: Vec<u32> = places.iter().map(|row| groups[*row as usize]).collect();
                self.apply(table, &taken(rows, &UInt32Array::from(places))?, &of, is_added);
            }
        }
        Ok(())
    }

    /// Adds one row of `rows` per entry of `groups` to the accumulators of its key, or takes it back.
    fn apply(&self, table: &mut Table, rows: &RecordBatch, groups: &[u32], is_added: bool) {
        for (call, accumulator) in self.calls.iter().zip(&mut table.accumulators) {
            let arguments: Vec<ArrayRef> =
                call.arguments.iter().map(|place| Arc::clone(rows.column(*place))).collect();
            let keep: Option<&BooleanArray> =
                call.filter.and_then(|place| rows.column(place).as_boolean_opt());
            match is_added {
                true => accumulator.update(groups, &arguments, keep),
                false => accumulator.retract(groups, &arguments, keep),
            }
        }
    }

    /// Merges all keys of the table `other` and their accumulators into `table`. Returns the bytes of `table`
    /// as they were counted before and after the merge.
    pub(super) fn merge(
        &self,
        table: &mut Table,
        other: &Table,
        allowance: &Allowance,
    ) -> Outcome<(usize, usize)> {
        let room = reserve_room(allowance, table.merge_bytes(other))?;
        let (mut into, mut some) = (Vec::new(), Vec::new());
        table.index.check_room(other.index.len())?;
        // Keys are merged one batch at a time, because the columns of all keys would be as large as the
        // table.
        for from in (0..other.index.len()).step_by(BATCH_ROWS_MAX) {
            let to = other.index.len().min(from + BATCH_ROWS_MAX);
            table.index.index(&other.index.columns(from..to)?, to - from, &mut some);
            into.append(&mut some);
        }
        for (accumulator, other) in table.accumulators.iter_mut().zip(&other.accumulators) {
            accumulator.resize(table.index.len());
            accumulator.merge(&**other, &into)?;
        }
        if let (Some(present), Some(other)) = (&mut table.present, &other.present) {
            present.merge(other, &into, table.index.len());
        }
        drop(room);
        Ok(table.count())
    }
}

impl Table {
    fn bytes(&self) -> usize {
        let accumulators =
            self.accumulators.iter().map(|accumulator| ACCUMULATOR_BYTES + accumulator.bytes());
        let present = self.present.as_ref().map_or(0, Present::bytes);
        TABLE_BYTES + self.index.bytes() + present + accumulators.sum::<usize>()
    }

    /// Returns the bytes that the table of keys and its accumulators may allocate, beyond the bytes held,
    /// while the rows `rows` are aggregated.
    pub(super) fn growth_bytes(&self, rows: &RecordBatch) -> usize {
        let value_bytes = rows.columns().iter().map(|column| value_bytes(column)).sum();
        self.index.growth_bytes(rows.num_rows(), value_bytes) + self.growth_bytes_of_known(rows)
    }

    /// Returns the bytes that the accumulators may allocate, beyond the bytes held, while the rows `rows`, whose keys are in the
    /// table, are aggregated.
    pub(super) fn growth_bytes_of_known(&self, rows: &RecordBatch) -> usize {
        let value_bytes = rows.columns().iter().map(|column| value_bytes(column)).sum();
        let accumulators = self.accumulators.iter();
        accumulators.map(|accumulator| accumulator.growth_bytes(rows.num_rows(), value_bytes)).sum()
    }

    /// Returns the bytes that may be allocated, beyond the bytes held, while the table of keys `other` is
    /// merged into this table.
    fn merge_bytes(&self, other: &Table) -> usize {
        let accumulators = self.accumulators.iter().zip(&other.accumulators);
        self.index.merge_bytes(&other.index)
            + accumulators.map(|(own, other)| own.merge_bytes(&**other)).sum::<usize>()
    }

    /// Counts the bytes of the table of keys again; returns the previous and the new count.
    pub(super) fn count(&mut self) -> (usize, usize) {
        let before = self.counted;
        self.counted = self.bytes();
        (before, self.counted)
    }
}
