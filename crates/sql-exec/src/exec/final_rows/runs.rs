//! Final rows that have no room in memory: sorted runs on disk, which are merged when the input has ended.
//!
//! A run has comparable rows in their order, each with the number of its occurrences, which is below zero if more equal rows
//! were taken back than came. Equal rows of several runs become one with the sum of their numbers. So the rows that come out
//! of a merge are those that a single tree of all rows would hold, in the same order.
//!
//! At most [`MERGED_MAX`] runs are read at a time. If there are more, the oldest are merged to a longer run first.
//!
//! Source: Knuth, The Art of Computer Programming 3, section 5.4.1 (multiway merging and replacement selection), with a heap.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, Int64Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use thalweg_model::Allowance;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_tables::batch::BATCH_ROWS_MAX;
use thalweg_sql_tables::spill::{SpillFile, SpillReader, SpillWriter, Spilling};

use super::super::operator::Outcome;

/// Greatest number of runs that are merged at a time. Each holds a block in memory.
const MERGED_MAX: usize = 32;

/// Bytes of rows in a block of a run: at least, and at most.
const BLOCK_BYTES: std::ops::RangeInclusive<usize> = 4 << 10..=256 << 10;

/// Part of the share of memory that a block may fill, as a divisor: the blocks of all merged runs, each also in the form
/// in which it was read, fill half of the share.
const BLOCK_DIVISOR: usize = 4 * MERGED_MAX;

/// Sorted runs of rows on disk, and their merge.
pub(super) struct DiskRuns {
    spilling: Spilling,
    schema: SchemaRef,
    runs: VecDeque<SpillFile>,
    merge: Option<Merge>,
    /// Run that is made of several, if there are more than can be merged at a time.
    longer: Option<RunWriter>,
}

/// A row with the number of its occurrences.
pub(super) type Counted = (Box<[u8]>, i64);

impl DiskRuns {
    /// Creates no runs yet.
    pub(super) fn new(spilling: Spilling) -> Self {
        let fields =
            [Field::new("row", DataType::Binary, false), Field::new("count", DataType::Int64, false)];
        let schema = Arc::new(Schema::new(fields.to_vec()));
        DiskRuns { spilling, schema, runs: VecDeque::new(), merge: None, longer: None }
    }

    /// Returns whether there are runs on disk.
    pub(super) fn has_rows(&self) -> bool {
        !self.runs.is_empty() || self.merge.is_some()
    }

    /// Returns whether state of `held_bytes` bytes, which may need `growth_bytes` more for a moment, has room in its share of
    /// memory.
    pub(super) fn has_room(&self, held_bytes: usize, growth_bytes: usize, allowance: &Allowance) -> bool {
        let is_within = held_bytes.saturating_add(growth_bytes) <= self.spilling.share_bytes(allowance);
        // The budget may be filled by others before the share is.
        is_within && allowance.pay(growth_bytes).is_some()
    }

    /// Writes rows in their order as a run.
    pub(super) fn write<'r>(
        &mut self,
        rows: impl Iterator<Item = (&'r [u8], i64)>,
        allowance: &Allowance,
    ) -> Outcome<()> {
        let mut writer = self.writer(allowance)?;
        for (row, count) in rows {
            writer.add(row, count)?;
        }
        self.runs.push_back(writer.finish()?);
        Ok(())
    }

    /// Returns at most `rows_max` next rows, and about `bytes_max` bytes, of all runs in their order. Rows that were all taken back are left out. `None` at
    /// the end; no rows while runs are still merged to longer ones.
    pub(super) fn next_rows(
        &mut self,
        (rows_max, bytes_max): (usize, usize),
        allowance: &Allowance,
    ) -> Outcome<Option<Vec<Counted>>> {
        if self.merge.is_none() {
            if self.runs.is_empty() {
                return Ok(None);
            }
            if self.runs.len() > MERGED_MAX {
                self.longer = Some(self.writer(allowance)?);
            }
            let count = self.runs.len().min(MERGED_MAX);
            self.merge = Some(Merge::of(self.runs.drain(..count))?);
        }
        let Some(merge) = &mut self.merge else { return Ok(None) };
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let mut is_over = false;
        while rows.len() < rows_max && bytes < bytes_max {
            match merge.next_row()? {
                Some(counted) => {
                    bytes += counted.0.len();
                    rows.push(counted);
                }
                None => {
                    is_over = true;
                    break;
                }
            }
        }
        if is_over {
            self.merge = None;
        }
        let Some(mut longer) = self.longer.take() else {
            rows.retain(|(_, count)| *count > 0);
            return Ok(if is_over && rows.is_empty() { None } else { Some(rows) });
        };
        for (row, count) in &rows {
            longer.add(row, *count)?;
        }
        if is_over {
            self.runs.push_back(longer.finish()?);
        } else {
            self.longer = Some(longer);
        }
        Ok(Some(Vec::new()))
    }

    /// Removes all runs: no more rows are wanted.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        (self.merge, self.longer) = (None, None);
    }

    /// Returns the bytes of memory that are held.
    pub(super) fn bytes(&self) -> usize {
        let longer = self.longer.as_ref().map_or(0, |longer| longer.block_bytes);
        let merge = self.merge.as_ref().map_or(0, Merge::bytes);
        self.runs.capacity() * size_of::<SpillFile>() + longer + merge
    }

    fn writer(&self, allowance: &Allowance) -> Outcome<RunWriter> {
        let (least, most) = BLOCK_BYTES.into_inner();
        Ok(RunWriter {
            writer: self.spilling.spill.writer(&self.schema)?,
            schema: Arc::clone(&self.schema),
            block_bytes: (self.spilling.share_bytes(allowance) / BLOCK_DIVISOR).clamp(least, most),
            bytes: Vec::new(),
            ends: vec![0],
            counts: Vec::new(),
        })
    }
}

/// Writes a run, block by block.
struct RunWriter {
    writer: SpillWriter,
    schema: SchemaRef,
    /// Bytes of rows at which a block is written.
    block_bytes: usize,
    /// Rows of the next block end to end, the places at which they end behind a 0, and the numbers of their occurrences.
    bytes: Vec<u8>,
    ends: Vec<i32>,
    counts: Vec<i64>,
}

impl RunWriter {
    fn add(&mut self, row: &[u8], count: i64) -> Outcome<()> {
        // A block has no more bytes than the longest row and `block_bytes`, far below the 2 GiB of an array.
        if self.bytes.len() + row.len() > self.block_bytes || self.counts.len() == BATCH_ROWS_MAX {
            self.write()?;
        }
        self.bytes.extend_from_slice(row);
        let end = i32::try_from(self.bytes.len()).map_err(|_| EvaluationError {
            code: "STATE_LIMIT",
            message: format!("a row of {} bytes is too long to sort: shorten its values", row.len()),
        })?;
        self.ends.push(end);
        self.counts.push(count);
        Ok(())
    }

    fn write(&mut self) -> Outcome<()> {
        let ends = std::mem::replace(&mut self.ends, vec![0]);
        let rows = BinaryArray::try_new(
            arrow::buffer::OffsetBuffer::new(ends.into()),
            std::mem::take(&mut self.bytes).into(),
            None,
        );
        let columns: Vec<ArrayRef> = vec![
            Arc::new(rows.map_err(arrow_error)?),
            Arc::new(Int64Array::from(std::mem::take(&mut self.counts))),
        ];
        let rows = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(arrow_error)?;
        self.writer.write(&rows)
    }

    fn finish(mut self) -> Outcome<SpillFile> {
        self.write()?;
        self.writer.finish()
    }
}

/// Merge of runs: a heap of the next rows of all runs.
struct Merge {
    cursors: Vec<Cursor>,
    /// Indexes of the cursors that have rows. The next row of each comes at or before those of its children, at `2 i + 1` and
    /// `2 i + 2`.
    heap: Vec<usize>,
}

/// Place in a run.
struct Cursor {
    reader: SpillReader,
    rows: BinaryArray,
    counts: Int64Array,
    at: usize,
}

impl Merge {
    fn of(runs: impl Iterator<Item = SpillFile>) -> Outcome<Merge> {
        let mut merge = Merge { cursors: Vec::new(), heap: Vec::new() };
        for run in runs {
            let mut cursor = Cursor {
                reader: run.read()?,
                rows: BinaryArray::new_null(0),
                counts: Int64Array::new_null(0),
                at: 0,
            };
            if cursor.load()? {
                merge.heap.push(merge.cursors.len());
                merge.cursors.push(cursor);
            }
        }
        for place in (0..merge.heap.len() / 2).rev() {
            merge.sift(place);
        }
        Ok(merge)
    }

    /// Returns the next row of all runs with the sum of its numbers, which may be 0 or less.
    fn next_row(&mut self) -> Outcome<Option<Counted>> {
        let Some(first) = self.heap.first() else { return Ok(None) };
        let row: Box<[u8]> = self.cursors[*first].row().into();
        let mut sum = 0;
        while let Some(&first) = self.heap.first()
            && *self.cursors[first].row() == *row
        {
            let cursor = &mut self.cursors[first];
            sum += cursor.counts.value(cursor.at);
            cursor.at += 1;
            if cursor.at == cursor.rows.len() && !cursor.load()? {
                self.heap.swap_remove(0);
            }
            self.sift(0);
        }
        Ok(Some((row, sum)))
    }

    /// Moves the cursor at a place of the heap down, until its row comes at or before those of its children.
    fn sift(&mut self, mut place: usize) {
        loop {
            let row = |place: usize| self.cursors[self.heap[place]].row();
            let left = 2 * place + 1;
            if left >= self.heap.len() {
                return;
            }
            let right = left + 1;
            let child = if right < self.heap.len() && row(right) < row(left) { right } else { left };
            if row(place) <= row(child) {
                return;
            }
            self.heap.swap(place, child);
            place = child;
        }
    }

    fn bytes(&self) -> usize {
        let bytes = |cursor: &Cursor| {
            size_of::<Cursor>()
                + cursor.rows.get_buffer_memory_size()
                + cursor.counts.get_buffer_memory_size()
        };
        self.cursors.iter().map(bytes).sum()
    }
}

impl Cursor {
    fn row(&self) -> &[u8] {
        self.rows.value(self.at)
    }

    /// Reads the next block; returns false at the end of the run.
    fn load(&mut self) -> Outcome<bool> {
        self.at = 0;
        let Some(rows) = self.reader.next_rows()? else {
            (self.rows, self.counts) = (BinaryArray::new_null(0), Int64Array::new_null(0));
            return Ok(false);
        };
        self.rows = rows.column(0).as_binary::<i32>().clone();
        self.counts = rows.column(1).as_primitive::<Int64Type>().clone();
        Ok(true)
    }
}
