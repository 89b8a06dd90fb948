//! Rows of keys that have no room in memory: they wait on disk until the results of the keys before them are out.
//!
//! Source: Graefe, "Query evaluation techniques for large databases", ACM Computing Surveys 25(2), 1993, section 4.4 (hybrid
//! hashing with recursive overflow files). Here no key leaves memory before its result is out, so no partial state is written.
//!
//! ```text
//! rows --> table of keys, until its share of memory is full
//!     `--> rows of other keys --> one of 16 files, by a hash of the key          the input ends: the table comes out
//!                                    |  for each file: read its rows
//!                                    `--> table of keys --> ..                   the file ends: the table comes out
//!                                     `-> rows of other keys --> 16 files of the next level
//! ```
//!
//! A key is either in memory with all of its rows, or all of its rows are on disk in the order in which they came: a key
//! that is in the table stays there until it comes out, and no key is added to a full table. So results are those of an
//! aggregate in memory, for every aggregate function. Each level has at least the keys of one batch in memory, and files are
//! cut by other bits of the hash at each level. So 8 levels hold all keys, unless many have one hash, or one key is too large.

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::interleave_record_batch;
use arrow::record_batch::RecordBatch;
use thalweg_model::Allowance;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::keys::{KeyIndex, key_hashes};
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch};
use thalweg_sql_tables::spill::{SpillFile, SpillReader, SpillWriter, Spilling};

use super::super::operator::Outcome;
use super::super::order::{bytes_of, copied, taken};
use super::{Cut, WHOLE, WindowAggregate};

/// Number of files into which the rows of a level are cut. A file needs a buffer and a descriptor while it is written.
const FILES: usize = 16;

/// Number of bits of a hash that choose one of [`FILES`].
const FILE_BITS: u32 = 4;

/// Greatest number of levels. The rows of the last one are a part in 16^8 of the input.
const LEVELS_MAX: u32 = 8;

/// Bytes of rows that wait before they are written: at least, and at most. A wait of 4 MiB gives blocks of 256 KiB.
const WAITING_BYTES: std::ops::RangeInclusive<usize> = 16 << 10..=4 << 20;

/// Part of the share of memory that rows may fill which wait to be written, as a divisor.
const WAITING_DIVISOR: usize = 8;

/// Rows of keys that have no room in memory, of one copy of an aggregate.
pub(super) struct Overflow {
    spilling: Spilling,
    /// Indexes of the key columns in the rows.
    keys: Vec<usize>,
    /// Whether the table of keys takes no more keys.
    is_full: bool,
    /// Number of times that the rows which come now were on disk.
    level: u32,
    /// Rows that wait to be written, and their bytes.
    waiting: Vec<RecordBatch>,
    waiting_bytes: usize,
    /// Files of the next level that are being written.
    writers: Vec<Option<SpillWriter>>,
    /// Files that are still to be read, with their levels. The last is the next, so that files of deeper levels go first.
    pending: Vec<(u32, SpillFile)>,
    reading: Option<SpillReader>,
}

impl Overflow {
    /// Creates an overflow for rows whose keys are the columns with the indexes `keys`.
    pub(super) fn new(spilling: Spilling, keys: Vec<usize>) -> Self {
        Overflow {
            spilling,
            keys,
            is_full: false,
            level: 0,
            waiting: Vec::new(),
            waiting_bytes: 0,
            writers: Vec::new(),
            pending: Vec::new(),
            reading: None,
        }
    }

    /// Returns the files of the run, and the share of memory, for another copy of the aggregate.
    pub(super) fn spilling(&self) -> &Spilling {
        &self.spilling
    }

    /// Returns whether the table of keys takes no more keys.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns whether a table of keys of `held_bytes` bytes, which may need `growth_bytes` more for a moment, has room in its
    /// share of memory. If not, it takes no more keys.
    pub(super) fn has_room(&mut self, held_bytes: usize, growth_bytes: usize, allowance: &Allowance) -> bool {
        let is_within = held_bytes.saturating_add(growth_bytes) <= self.spilling.share_bytes(allowance);
        // The budget may be filled by others before the share is.
        self.is_full |= !(is_within && allowance.pay(growth_bytes).is_some());
        !self.is_full
    }

    /// Divides the rows of a batch into those whose keys are in a table, and others. The others go to disk.
    pub(super) fn divide(
        &mut self,
        rows: &RecordBatch,
        index: &KeyIndex,
        allowance: &Allowance,
    ) -> Outcome<RecordBatch> {
        let mut found = Vec::new();
        index.find(&self.columns(rows), rows.num_rows(), &mut found);
        let places = |is_known: bool| {
            let of = found.iter().zip(0..).filter(|(group, _)| group.is_some() == is_known);
            of.map(|(_, row)| row).collect::<Vec<u32>>()
        };
        let others = places(false);
        if others.is_empty() {
            return Ok(rows.clone());
        }
        let others = match others.len() == rows.num_rows() {
            true => copied(rows)?,
            false => taken(rows, &UInt32Array::from(others))?,
        };
        self.put(others, allowance)?;
        taken(rows, &UInt32Array::from(places(true)))
    }

    /// Adds rows to those that go to disk.
    fn put(&mut self, rows: RecordBatch, allowance: &Allowance) -> Outcome<()> {
        self.waiting_bytes += bytes_of(&rows);
        self.waiting.push(rows);
        let (least, most) = WAITING_BYTES.into_inner();
        let waiting_max = (self.spilling.share_bytes(allowance) / WAITING_DIVISOR).clamp(least, most);
        if self.waiting_bytes > waiting_max { self.write() } else { Ok(()) }
    }

    /// Writes the rows that wait to the files of the next level.
    fn write(&mut self) -> Outcome<()> {
        if self.level == LEVELS_MAX {
            let message = format!(
                "keys do not fit into memory after {LEVELS_MAX} divisions of their rows: too many of them have one hash, or \
                 one is too large; raise the memory budget"
            );
            return Err(EvaluationError { code: "STATE_LIMIT", message });
        }
        let mut places: Vec<Vec<(usize, usize)>> = vec![Vec::new(); FILES];
        let mut hashes = Vec::new();
        for (batch, rows) in self.waiting.iter().enumerate() {
            key_hashes(&self.columns(rows), rows.num_rows(), &mut hashes);
            for (row, hash) in hashes.iter().enumerate() {
                places[file_of(*hash, self.level)].push((batch, row));
            }
        }
        self.writers.resize_with(FILES, || None);
        let waiting: Vec<&RecordBatch> = self.waiting.iter().collect();
        for (writer, places) in self.writers.iter_mut().zip(places) {
            for places in places.chunks(BATCH_ROWS_MAX) {
                let rows = interleave_record_batch(&waiting, places).map_err(arrow_error)?;
                let writer = match writer {
                    Some(writer) => writer,
                    None => writer.insert(self.spilling.spill.writer(&rows.schema())?),
                };
                writer.write(&rows)?;
            }
        }
        self.waiting.clear();
        self.waiting_bytes = 0;
        Ok(())
    }

    /// Ends the level: all rows on disk can be read now, and the table of keys may take keys again.
    pub(super) fn end_level(&mut self) -> Outcome<()> {
        if !self.waiting.is_empty() {
            self.write()?;
        }
        for writer in std::mem::take(&mut self.writers).into_iter().flatten() {
            self.pending.push((self.level + 1, writer.finish()?));
        }
        self.is_full = false;
        Ok(())
    }

    /// Returns whether a file is being read.
    pub(super) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Begins to read the next file; returns false if there is none.
    pub(super) fn begin_file(&mut self) -> Outcome<bool> {
        let Some((level, file)) = self.pending.pop() else { return Ok(false) };
        self.level = level;
        self.reading = Some(file.read()?);
        Ok(true)
    }

    /// Returns the next rows of the file that is being read; `None` at its end, at which the file is removed.
    pub(super) fn next_rows(&mut self) -> Outcome<Option<RecordBatch>> {
        let Some(reading) = &mut self.reading else { return Ok(None) };
        let rows = reading.next_rows()?;
        if rows.is_none() {
            self.reading = None;
        }
        Ok(rows)
    }

    /// Returns whether rows wait on disk, or on their way to it.
    pub(super) fn has_rows(&self) -> bool {
        let is_written = self.writers.iter().any(Option::is_some);
        is_written || !self.waiting.is_empty() || !self.pending.is_empty() || self.is_reading()
    }

    /// Returns the bytes of memory that are held.
    pub(super) fn bytes(&self) -> usize {
        let writers = self.writers.capacity() * size_of::<Option<SpillWriter>>();
        self.waiting_bytes + writers + self.pending.capacity() * size_of::<(u32, SpillFile)>()
    }

    fn columns(&self, rows: &RecordBatch) -> Vec<ArrayRef> {
        self.keys.iter().map(|place| rows.column(*place).clone()).collect()
    }
}

impl WindowAggregate {
    /// Returns the aggregate with room on disk for rows of keys that have none in memory. Only an aggregate over the whole
    /// input with keys, whose rows are not taken back, uses it. The rows of a key must all come to one copy.
    #[must_use]
    pub fn spilling(mut self, spilling: Option<Spilling>) -> Self {
        let may_spill =
            matches!(self.cut, Cut::Whole { .. }) && !self.shape.keys.is_empty() && !self.shape.is_retracting;
        let spilling = spilling.filter(|_| may_spill);
        self.overflow = spilling.map(|spilling| Overflow::new(spilling, self.shape.keys.clone()));
        self
    }

    /// Returns whether the aggregate may put rows on disk.
    pub fn spills(&self) -> bool {
        self.overflow.is_some()
    }

    /// Puts the rows of a batch on disk whose keys have no room in memory, and returns the others; `None` if that are all.
    pub(super) fn divided(&mut self, place: (i64, i64), batch: &Batch) -> Outcome<Option<Batch>> {
        let Some(overflow) = &mut self.overflow else { return Ok(None) };
        let Some(table) = self.slices.get(&place).filter(|table| !table.index.is_empty()) else {
            // At least the keys of one batch are in memory, so that all rows leave the disk in the end.
            return Ok(None);
        };
        let allowance = &self.accounts.allowance;
        if !overflow.is_full() && overflow.has_room(table.counted, table.growth_bytes(&batch.rows), allowance)
        {
            return Ok(None);
        }
        let before = overflow.bytes();
        let rows = overflow.divide(&batch.rows, &table.index, allowance)?;
        let after = overflow.bytes();
        self.note((before, after));
        Ok(Some(Batch::new(rows)))
    }

    /// Aggregates the next rows that were on disk; returns false if the table of keys is to come out first, or no rows are
    /// left. Called when the input has ended.
    pub(super) fn fold_from_disk(&mut self) -> Outcome<bool> {
        let has_table = self.slices.contains_key(&WHOLE);
        let Some(overflow) = self.overflow.as_mut().filter(|overflow| overflow.has_rows()) else {
            return Ok(false);
        };
        let before = overflow.bytes();
        let rows = if overflow.is_reading() {
            overflow.next_rows()?
        } else {
            if has_table {
                return Ok(false);
            }
            overflow.end_level()?;
            if overflow.begin_file()? { overflow.next_rows()? } else { None }
        };
        let after = overflow.bytes();
        self.note((before, after));
        let Some(rows) = rows else { return Ok(false) };
        self.fold_into(WHOLE, &Batch::new(rows), &mut Vec::new())?;
        Ok(true)
    }
}

/// Returns the number of the file for a key with a hash. The hash is mixed anew, because its upper bits have chosen the copy
/// of the aggregate.
fn file_of(hash: u64, level: u32) -> usize {
    let mut mixed = hash ^ 0x9e37_79b9_7f4a_7c15;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (mixed >> (FILE_BITS * level)) as usize % FILES
}
