//! Rows by their key, and others that look them up: hash joins of what is all there.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;
use arrow::record_batch::RecordBatch;

use super::Side;
use super::shape::{Shape, is_true};
use crate::batch::BATCH_ROWS_MAX;
use crate::exec::operator::Outcome;
use crate::exec::order::bytes_of;
use crate::expression::arrow_error;
use crate::keys::KeyIndex;
use crate::plan::JoinKind;

/// Ends a list of rows.
const NOBODY: u32 = u32::MAX;

/// The rows of the right side, by key.
pub(super) struct Table {
    pub(super) rows: RecordBatch,
    index: KeyIndex,
    /// The first row of each key, by the key's number.
    heads: Vec<u32>,
    /// The next row of the same key, by row.
    nexts: Vec<u32>,
}

impl Table {
    /// A table of rows of the right side.
    pub(super) fn new(shape: &Shape, rows: RecordBatch) -> Outcome<Self> {
        let (keys, known) = shape.keys(Side::Right, &rows)?;
        let mut index = KeyIndex::new(&shape.key_types(), 0);
        let mut groups = Vec::new();
        index.check_room(rows.num_rows())?;
        index.index(&keys, rows.num_rows(), &mut groups);
        let mut heads = vec![NOBODY; index.len()];
        let mut nexts = vec![NOBODY; rows.num_rows()];
        // From the last to the first, so that they are met in the order in which they came.
        for (row, group) in groups.iter().enumerate().rev() {
            if known.as_ref().is_none_or(|known| known.is_valid(row)) {
                nexts[row] = heads[*group as usize];
                heads[*group as usize] = row as u32;
            }
        }
        Ok(Table { rows, index, heads, nexts })
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        bytes_of(&self.rows) + self.index.bytes() + 4 * (self.heads.len() + self.nexts.len())
    }
}

/// Rows of the left side that meet those of a table.
pub(super) struct Probe {
    rows: RecordBatch,
    /// The first row of the table that each may meet.
    firsts: Vec<u32>,
    is_met: Vec<bool>,
    /// Where pairs go on: a row and whom it is to be held against next.
    row: usize,
    next: u32,
    /// Where the rows of a semi or anti join go on, which come out when all have met whom they meet.
    alone: usize,
}

/// A piece of what came of a probe, in the order of the left rows.
pub(super) struct Piece {
    pub(super) rows: RecordBatch,
    /// Of which row of the left each is.
    pub(super) lefts: Vec<u32>,
}

impl Probe {
    /// Rows of the left side are to meet those of a table.
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
            // Whom they meet does not matter.
            probe.is_met = probe.firsts.iter().map(|first| *first != NOBODY).collect();
            probe.row = probe.firsts.len();
        }
        Ok(probe)
    }

    /// The next piece; none when there is nothing more. Rows of the table that were met are marked in `right_met`, if they
    /// are to be.
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
            // The last of these rows may not have met everybody yet.
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

    /// The next pairs with equal keys; it goes on behind them.
    fn candidates(&mut self, shape: &Shape, table: &Table) -> (UInt32Array, UInt32Array) {
        let (mut lefts, mut rights) = (Vec::new(), Vec::new());
        let (first, is_half) = (self.row, shape.kind.is_half());
        // A row by itself may come out, too.
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

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        bytes_of(&self.rows) + 5 * self.firsts.len()
    }
}

/// Those rows of a batch, in that order; NULL where there is none.
pub(super) fn gathered(rows: &RecordBatch, places: &UInt32Array) -> Outcome<Vec<ArrayRef>> {
    let columns = rows.columns().iter().map(|column| {
        // All rows in their order are the batch.
        let is_all = places.len() == rows.num_rows()
            && arrow::array::Array::null_count(places) == 0
            && places.values().iter().enumerate().all(|(at, place)| at == *place as usize);
        if is_all { Ok(Arc::clone(column)) } else { take(column, places, None).map_err(arrow_error) }
    });
    columns.collect()
}
