//! Pieces of Parquet files: ranges of rows within a row group.
//!
//! Each piece is decoded by a reader of its own, which passes over the pages before its rows and decodes the dictionary
//! again. So a piece has many batches of rows.

use std::collections::VecDeque;
use std::sync::Arc;

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use arrow::record_batch::RecordBatch;
use thalweg_model::Allowance;

use super::super::ahead::lines::Taken;
use super::super::ahead::{Claim, Cut, Decode, Next, PIECES_PER_TASK, Pieces};
use super::super::split::Reading;
use super::open::{OpenPages, PaidPages, Room};
use super::pages::Needs;
use super::{Held, failed, guarded};
use crate::connect::error::ConnectError;

/// The most batches of a piece: with 65,536 rows it takes a few milliseconds.
const BATCHES_MAX: usize = 16;

/// Bytes of a usual piece of lines for each row of a piece, so that tests can make both small.
pub(super) const BYTES_PER_ROW: usize = 4;

/// A range of rows of a row group.
pub(in super::super) struct RowRange {
    held: Arc<Held>,
    group: usize,
    /// The number of rows of the group before the range, and of the range.
    from: usize,
    count: usize,
    /// The number of rows of the file before the range.
    before: u64,
}

type Batches = Result<VecDeque<RecordBatch>, ConnectError>;

/// Cuts the row groups of an open file into ranges of rows.
pub(in super::super) struct RowRanges {
    held: Arc<Held>,
    group: usize,
    from: usize,
    before: u64,
    most: usize,
}

impl RowRanges {
    /// Begins after the first `skip` rows of a file.
    fn new(held: Arc<Held>, skip: u64, most: usize) -> Self {
        let (mut group, mut left) = (0, usize::try_from(skip).unwrap_or(usize::MAX));
        while let Some(rows) = held.rows_of(group).filter(|rows| *rows <= left) {
            group += 1;
            left -= rows;
        }
        let from = if held.rows_of(group).is_some() { left } else { 0 };
        RowRanges { held, group, from, before: skip, most }
    }
}

impl Cut for RowRanges {
    type Raw = RowRange;
    type Decoded = Batches;

    fn cut(&mut self) -> Result<Option<RowRange>, ConnectError> {
        loop {
            let Some(rows) = self.held.rows_of(self.group) else { return Ok(None) };
            let count = self.most.min(rows - self.from);
            let (group, from, before) = (self.group, self.from, self.before);
            self.from += count;
            self.before += count as u64;
            if self.from == rows {
                (self.group, self.from) = (group + 1, 0);
            }
            if count > 0 {
                return Ok(Some(RowRange { held: Arc::clone(&self.held), group, from, count, before }));
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.held.rows_of(self.group).is_none()
    }

    fn held_bytes(&self) -> usize {
        0
    }

    fn bytes_of(decoded: &Batches) -> usize {
        match decoded {
            Ok(batches) => batches.iter().map(RecordBatch::get_array_memory_size).sum(),
            Err(_) => 0,
        }
    }
}

impl Held {
    /// Returns the number of rows of a row group, if there is such a group.
    fn rows_of(&self, group: usize) -> Option<usize> {
        let group = self.metadata.metadata().row_groups().get(group)?;
        Some(usize::try_from(group.num_rows()).unwrap_or_default())
    }
}

impl RowRange {
    /// Reads the rows of the range.
    fn read(&self, reading: &Reading) -> Batches {
        let Held { path, identity, metadata, mask, rows, .. } = self.held.as_ref();
        let failed = |reason: String| failed(reading, path, *identity, reason);
        // The library seeks in its file, so tasks that read at the same time open the file for themselves.
        let file = reading.files.open_file(path).map_err(|error| failed(error.to_string()))?;
        super::check_identity(reading, path, *identity)?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
            .with_projection(mask.clone())
            .with_batch_size(*rows)
            .with_row_groups(vec![self.group])
            .with_offset(self.from)
            .with_limit(self.count);
        let mut reader = guarded(|| builder.build()).map_err(failed)?;
        let (mut batches, mut before) = (VecDeque::new(), self.before);
        while let Some(rows) = guarded(|| reader.next().transpose()).map_err(failed)? {
            batches.push_back(self.held.fitted(&rows, before)?);
            before += rows.num_rows() as u64;
        }
        if before != self.before + self.count as u64 {
            return Err(failed(format!("its row group {} has fewer rows than it says", self.group)));
        }
        Ok(batches)
    }
}

/// Returns the greatest number of batches of a piece for whose tasks the memory budget has room, and the reservation.
/// `needs` is the memory that one task needs.
pub(super) fn pay(
    pieces: &Pieces<RowRanges>,
    needs: &Needs,
    pages: &Arc<OpenPages>,
    allowance: &Allowance,
) -> Option<(usize, PaidPages)> {
    let tasks = pieces.tasks();
    [BATCHES_MAX, BATCHES_MAX / 2, BATCHES_MAX / 4].into_iter().find_map(|batches| {
        let of_pieces = needs.rows_bytes.saturating_mul(PIECES_PER_TASK * batches);
        let bytes = needs.bytes.saturating_add(of_pieces).saturating_mul(tasks);
        match pages.pay(bytes, allowance) {
            Room::Paid(paid) => Some((batches, paid)),
            Room::Later | Room::None => None,
        }
    })
}

/// Returns the work of a helper.
pub(in super::super) fn ranges_decoding(reading: Arc<Reading>) -> Decode<RowRanges> {
    Box::new(move |range: RowRange| range.read(&reading))
}

/// A file whose rows are decoded ahead, as its reader sees it.
pub(super) struct RowsAhead {
    pieces: Arc<Pieces<RowRanges>>,
    batches: VecDeque<RecordBatch>,
}

impl RowsAhead {
    /// Divides a file into pieces of at most `rows_max` rows, after its first `skip` rows.
    pub(super) fn open(pieces: &Arc<Pieces<RowRanges>>, held: Arc<Held>, skip: u64, rows_max: usize) -> Self {
        pieces.open(RowRanges::new(held, skip, rows_max.max(1)));
        RowsAhead { pieces: Arc::clone(pieces), batches: VecDeque::new() }
    }

    /// Returns the next batch of rows.
    pub(super) fn next(&mut self, reading: &Reading) -> Result<Taken, ConnectError> {
        loop {
            if let Some(rows) = self.batches.pop_front() {
                return Ok(Taken::Rows(rows, None));
            }
            self.batches = match self.pieces.next()? {
                Next::End => return Ok(Taken::End),
                Next::Decoded(batches) => batches?,
                Next::Raw(range) => range.read(reading)?,
                Next::Claimed => match self.pieces.claim() {
                    Claim::Piece(number, range) => {
                        self.pieces.put(number, range.read(reading));
                        continue;
                    }
                    Claim::Nothing | Claim::Over => return Ok(Taken::Waits),
                },
            };
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        let batches = self.batches.iter().map(RecordBatch::get_array_memory_size);
        self.pieces.held_bytes() + batches.sum::<usize>()
    }
}

impl Drop for RowsAhead {
    fn drop(&mut self) {
        self.pieces.close();
    }
}
