//! Hash join of complete inputs: a hash table of right rows by key, in which left rows are looked up.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;
use arrow::record_batch::RecordBatch;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::keys::{KeyIndex, process_seed};
use thalweg_sql_tables::batch::BATCH_ROWS_MAX;

use super::Side;
use super::shape::{Shape, is_true};
use crate::exec::operator::Outcome;
use crate::exec::order::bytes_of;
use crate::plan::JoinKind;

/// Marks the end of the linked list of rows of a key.
const NOBODY: u32 = u32::MAX;

/// Hash table of the right rows of a join by key; rows of one key form a linked list.
pub(super) struct Table {
    pub(super) rows: RecordBatch,
    index: KeyIndex,
    /// Index of the first row of each key, by the number of the key.
    heads: Vec<u32>,
    /// Index of the next row of the same key, by the index of a row.
    nexts: Vec<u32>,
}

impl Table {
    /// Builds the hash table of a join from all rows of the right input.
    pub(super) fn new(shape: &Shape, rows: RecordBatch) -> Outcome<Self> {
        let (keys, known) = shape.keys(Side::Right, &rows)?;
        let mut index = KeyIndex::new(&shape.key_types(), process_seed());
        let mut groups = Vec::new();
        index.check_room(rows.num_rows())?;
        index.index(&keys, rows.num_rows(), &mut groups);
        let mut heads = vec![NOBODY; index.len()];
        let mut nexts = vec![NOBODY; rows.num_rows()];
        // The linked list of a key is built from the last row to the first, so that it yields rows in the
        // order of arrival.
        for (row, group) in groups.iter().enumerate().rev() {
            if known.as_ref().is_none_or(|known| known.is_valid(row)) {
                nexts[row] = heads[*group as usize];
                heads[*group as usize] = row as u32;
            }
        }
        Ok(Table { rows, index, heads, nexts })
    }

    pub(super) fn bytes(&self) -> usize {
        bytes_of(&self.rows) + self.index.bytes() + 4 * (self.heads.len() + self.nexts.len())
    }
}

/// Left rows of a join that are looked up in the hash table of the right rows.
pub(super) struct Probe {
    rows: RecordBatch,
    /// For each left row, the index of the first right row that has its key.
    firsts: Vec<u32>,
    is_met: Vec<bool>,
    /// Position at which the search for pairs continues: the index of a left row, and the index of the next
    /// right row to compare it with.
    row: usize,
    next: u32,
    /// Position in the left rows from which a semi or anti join continues to emit rows. It emits them after
    /// all rows are matched.
    alone: usize,
}

/// A part of the output of a join, in the order of the left rows.
pub(super) struct Piece {
    pub(super) rows: RecordBatch,
    /// Index of the left row from which each output row was made.
    pub(super) lefts: Vec<u32>,
}

impl Probe {
    /// Starts to look up rows of the left input in `table`.
    pub(super) fn new(shape: &Shape, table: &Table, rows: RecordBatch) -> Outcome<Self> {
        let (keys, known) = shape.keys(Side::Left, &rows)?;
        let mut groups = Vec::new();
        table.index.find(&keys, rows.num_rows(), &mut groups);
        let first = |(row, group): (usize, &Option<u32>)| match group {
            Some(group) if known.as_ref().is_none_or(|known| known.is_valid(row)) => {
                table.heads[*group as usize]
            }
            _ => NOBODY,
        };
        let firsts: Vec<u32> = groups.iter().enumerate().map(first).collect();
        let mut probe = Probe {
            is_met: vec![false; firsts.len()],
            next: firsts.first().copied().unwrap_or(NOBODY),
            firsts,
            rows,
            row: 0,
            alone: 0,
        };
        if shape.kind.is_half() && !shape.has_condition() {
            // A semi or anti join without a condition needs no comparison of pairs: any row of the key is a
            // match.
            probe.is_met = probe.firsts.iter().map(|first| *first != NOBODY).collect();
            probe.row = probe.firsts.len();
        }
        Ok(probe)
    }

    /// Returns the next part of the output; `None` at the end. Marks the right rows that matched in
    /// `right_met`, if given.
    pub(super) fn next(
        &mut self,
        shape: &Shape,
        table: &Table,
        mut right_met: Option<&mut [bool]>,
    ) -> Outcome<Option<Piece>> {
        while self.row < self.firsts.len() {
            let first = self.row;
            let (lefts, rights) = self.candidates(shape, table);
            let holds = shape.holds(lefts.len(), |side, column| {
                let (rows, places) = match side {
                    Side::Left => (&self.rows, &lefts),
                    Side::Right => (&table.rows, &rights),
                };
                take(rows.column(column), places, None).map_err(arrow_error)
            })?;
            let mut made: Vec<(u32, Option<u32>)> = Vec::new();
            let mut at = 0;
            // The last left row of this step may have further candidates in the next call, so it is finished
            // only if there are none.
            let last = (self.row + 1).min(self.firsts.len());
            for row in first..last {
                while at < lefts.len() && lefts.value(at) as usize == row {
                    if is_true(&holds, at) {
                        self.is_met[row] = true;
                        if let Some(right_met) = &mut right_met {
                            right_met[rights.value(at) as usize] = true;
                        }
                        made.push((row as u32, Some(rights.value(at))));
                    }
                    at += 1;
                }
                if row < self.row && !self.is_met[row] && shape.kind.keeps_left() {
                    made.push((row as u32, None));
                }
            }
            if shape.kind.is_half() || made.is_empty() {
                continue;
            }
            let lefts: UInt32Array = made.iter().map(|(left, _)| Some(*left)).collect();
            let rights: UInt32Array = made.iter().map(|(_, right)| *right).collect();
            let right = if table.rows.num_rows() > 0 { Some(gathered(&table.rows, &rights)?) } else { None };
            let rows = shape.results(made.len(), Some(gathered(&self.rows, &lefts)?), right)?;
            return Ok(Some(Piece { rows, lefts: lefts.values().to_vec() }));
        }
        if !shape.kind.is_half() {
            return Ok(None);
        }
        let mut lefts: Vec<u32> = Vec::new();
        while self.alone < self.firsts.len() && lefts.len() < BATCH_ROWS_MAX {
            if self.is_met[self.alone] == (shape.kind == JoinKind::Semi) {
                lefts.push(self.alone as u32);
            }
            self.alone += 1;
        }
        if lefts.is_empty() {
            return Ok(None);
        }
        let lefts = UInt32Array::from(lefts);
        let rows = shape.results(lefts.len(), Some(gathered(&self.rows, &lefts)?), None)?;
        Ok(Some(Piece { rows, lefts: lefts.values().to_vec() }))
    }

    /// Returns the next possible pairs with equal keys, and moves the position past these pairs.
    fn candidates(&mut self, shape: &Shape, table: &Table) -> (UInt32Array, UInt32Array) {
        let (mut lefts, mut rights) = (Vec::new(), Vec::new());
        let (first, is_half) = (self.row, shape.kind.is_half());
        // The limit on the size of an output batch counts rows and pairs, because each left row may also be
        // emitted alone.
        while self.row < self.firsts.len() && lefts.len() + self.row - first < BATCH_ROWS_MAX {
            if self.next == NOBODY || (is_half && self.is_met[self.row]) {
                self.row += 1;
                self.next = self.firsts.get(self.row).copied().unwrap_or(NOBODY);
                continue;
            }
            lefts.push(self.row as u32);
            rights.push(self.next);
            self.next = table.nexts[self.next as usize];
        }
        (UInt32Array::from(lefts), UInt32Array::from(rights))
    }

    pub(super) fn bytes(&self) -> usize {
        bytes_of(&self.rows) + 5 * self.firsts.len()
    }
}

/// Returns the columns of the rows of a batch with the indexes `places`, in that order; a NULL index gives a
/// row of NULL.
pub(super) fn gathered(rows: &RecordBatch, places: &UInt32Array) -> Outcome<Vec<ArrayRef>> {
    let columns = rows.columns().iter().map(|column| {
        // If all rows are wanted in their order, the column itself is returned without a copy.
        let is_all = places.len() == rows.num_rows()
            && arrow::array::Array::null_count(places) == 0
            && places.values().iter().enumerate().all(|(at, place)| at == *place as usize);
        if is_all { Ok(Arc::clone(column)) } else { take(column, places, None).map_err(arrow_error) }
    });
    columns.collect()
}
