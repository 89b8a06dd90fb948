//! Decoding of bytes into rows, by a buffer between the reader of an input and the decoder of a format. At
//! most the requested number of rows is returned at a time, and decoding can continue from any row.
//!
//! A record may make many rows (an array of objects), of which only some are requested now. The other rows
//! wait in the buffer. The saved position is then the position before their records, with the number of rows
//! after it that were already returned.

use arrow::record_batch::RecordBatch;
use thalweg_model::{StateError, StateReader, StateWriter};
use thalweg_sql_formats::{Decoded, Decoder, Position, RECORD_BYTES_MAX, RowKind};

use super::bad::BadRecords;
use super::error::ConnectError;

/// Greatest number of bytes of an input that one read asks for.
const READ_BYTES: usize = 256 << 10;

/// The most bytes of an input that are buffered: a record of the greatest length, the bytes that show that it
/// is too long, and another read.
const BUFFER_BYTES_MAX: usize = RECORD_BYTES_MAX + READ_BYTES;

/// The greatest offset, or count of lines, rows or bad records, of a saved position. Greater ones are damage; sums of two of
/// them do not overflow.
pub(super) const COUNT_MAX: u64 = 1 << 62;

/// Turns the bytes of an input into rows, with a buffer for bytes that are not decoded yet.
pub(super) struct Decoding {
    decoder: Box<dyn Decoder>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether the last byte read from the input ends a line; true before the first byte.
    ends_line: bool,
    waiting: Option<Waiting>,
    /// The position in the input after the last record whose rows were all returned to the source.
    /// `bad_since` counts the bad records that were found after this position.
    before: Position,
    bad_since: u64,
    /// How many of the next decoded rows are dropped, because they were returned before the position was
    /// saved from which decoding continues.
    skips: u64,
}

/// Decoded rows that were not all returned to the source yet. The first `given` of them were returned
/// already; the next request returns further ones.
struct Waiting {
    rows: RecordBatch,
    kinds: Option<Vec<RowKind>>,
    given: usize,
    bad: u64,
}

/// Tells whether more bytes of the input follow the bytes that are already in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum More {
    /// More bytes of the input are available at once.
    Now,
    /// More bytes of the input may come later. Rows of complete records are returned now.
    Later,
    /// No more bytes of the input follow.
    Never,
}

/// The result of one step of decoding: rows, or a request for more bytes.
pub(super) enum Step {
    Rows(RecordBatch, Option<Vec<RowKind>>),
    WantsBytes,
}

impl Decoding {
    pub(super) fn new(decoder: Box<dyn Decoder>) -> Self {
        Decoding {
            before: decoder.position(),
            decoder,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            ends_line: true,
            waiting: None,
            bad_since: 0,
            skips: 0,
        }
    }

    /// Begins a new input, or continues at a position in an input. The next bytes that are put into the
    /// buffer must be those at the position.
    pub(super) fn start(&mut self, at: Position) {
        self.decoder.start(at);
        (self.start, self.end, self.ends_line, self.waiting) = (0, 0, true, None);
        (self.before, self.bad_since, self.skips) = (at, 0, 0);
    }

    /// Returns the space for bytes to be read into; it is never empty.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.buffer.len() - self.end < READ_BYTES / 2 {
            self.buffer.resize(self.end + READ_BYTES, 0);
        }
        &mut self.buffer[self.end..]
    }

    /// Records that `count` bytes of the input were read into the space returned by `room`.
    pub(super) fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.buffer.len());
        if let (true, Some(last)) = (count > 0, self.buffer[..self.end].last()) {
            self.ends_line = *last == b'\n';
        }
    }

    /// Returns the number of lines of an input that was read to its end. A last line without a line end
    /// counts, too.
    pub(super) fn lines(&self) -> u64 {
        self.decoder.position().lines + u64::from(!self.ends_line)
    }

    /// Returns at most `rows_max` decoded rows, or asks for more bytes of the input. If no more bytes follow,
    /// the request means the end.
    ///
    /// # Errors
    /// [`ConnectError`] if a bad record of `input` fails the query.
    pub(super) fn step(
        &mut self,
        rows_max: usize,
        more: More,
        input: &str,
        bad: &mut BadRecords,
    ) -> Result<Step, ConnectError> {
        loop {
            if let Some((rows, kinds)) = self.take_waiting(rows_max) {
                return Ok(Step::Rows(rows, kinds));
            }
            if self.decoder.rows() == 0 {
                (self.before, self.bad_since) = (self.decoder.position(), 0);
            }
            let mut failure = None;
            let mut bad_count = 0;
            let base = self.decoder.position().offset;
            // The end of a bad record that is too long is searched before the next record is decoded, so that
            // the long record is written to the diverted file first.
            let bytes = &self.buffer[self.start..self.end];
            end_cut(bytes, base, more, bad)?;
            let taken = self.decoder.take(bytes, more == More::Never, rows_max, &mut |record| {
                bad_count += 1;
                if failure.is_none() {
                    failure = end_cut(bytes, base, more, bad).and_then(|()| bad.take(input, &record)).err();
                }
            });
            self.bad_since += bad_count;
            end_cut(bytes, base, more, bad)?;
            self.start = (self.start + taken.bytes).min(self.end);
            if let Some(failure) = failure {
                return Err(failure);
            }
            if self.decoder.rows() > 0 && (!taken.wants_more || more != More::Now) {
                self.decode();
            } else if taken.wants_more {
                if taken.bytes == 0 && BUFFER_BYTES_MAX + READ_BYTES < self.end - self.start {
                    // A correct decoder also consumes records that are too long, so the buffer can be full
                    // only if a decoder is wrong.
                    let reason = "a record is longer than can be buffered".to_owned();
                    return Err(ConnectError::Corrupt { path: input.into(), reason });
                }
                return Ok(Step::WantsBytes);
            }
        }
    }

    /// Moves the finished rows from the decoder to `waiting`, where they stay until they are returned to the
    /// source.
    fn decode(&mut self) {
        let Decoded { rows, kinds } = self.decoder.finish();
        let skipped = usize::try_from(self.skips).unwrap_or(usize::MAX).min(rows.num_rows());
        self.skips -= skipped as u64;
        self.waiting = Some(Waiting { rows, kinds, given: skipped, bad: self.bad_since });
    }

    fn take_waiting(&mut self, rows_max: usize) -> Option<(RecordBatch, Option<Vec<RowKind>>)> {
        let waiting = self.waiting.as_mut()?;
        let left = waiting.rows.num_rows() - waiting.given;
        let (given, count) = (waiting.given, left.min(rows_max));
        waiting.given += count;
        if count == left {
            let Waiting { rows, kinds, .. } = self.waiting.take()?;
            (self.before, self.bad_since) = (self.decoder.position(), 0);
            if left == 0 {
                return None;
            }
            let kinds = match kinds {
                Some(mut kinds) if given > 0 => Some(kinds.split_off(given)),
                kinds => kinds,
            };
            return Some((if given > 0 { rows.slice(given, count) } else { rows }, kinds));
        }
        let kinds = waiting.kinds.as_ref().map(|kinds| kinds[given..given + count].to_vec());
        Some((waiting.rows.slice(given, count), kinds))
    }

    /// Returns the position of the next byte of the input that is not decoded yet.
    pub(super) fn position(&self) -> Position {
        self.decoder.position()
    }

    /// Returns whether the input has had all of the rows that were to be dropped, because they had been returned before.
    pub(super) fn has_dropped_all(&self) -> bool {
        self.skips == 0
    }

    /// Returns whether all bytes in the buffer are decoded, up to the end of a record, and all rows were returned.
    pub(super) fn is_between_records(&self) -> bool {
        let is_empty = self.start == self.end && self.waiting.is_none() && self.decoder.rows() == 0;
        is_empty && self.skips == 0 && !self.decoder.position().is_inside
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.buffer.capacity()
            + self.waiting.as_ref().map_or(0, |waiting| waiting.rows.get_array_memory_size())
    }

    /// Returns the position at which reading would continue, with the numbers of rows already returned and of
    /// bad records already counted after that position.
    pub(super) fn resume(&self, bad: &BadRecords) -> Resume {
        match &self.waiting {
            Some(waiting) => {
                Resume { at: self.before, rows: waiting.given as u64, bad: waiting.bad + bad.known() }
            }
            None => Resume { at: self.decoder.position(), rows: self.skips, bad: bad.known() },
        }
    }

    /// Continues an input from a saved position. The next bytes that are put into the buffer must be those at
    /// the position.
    pub(super) fn start_again(&mut self, resume: Resume, bad: &mut BadRecords) {
        self.start(resume.at);
        self.skips = resume.rows;
        bad.expect_known(resume.bad);
    }
}

/// Searches `bytes` for the end of the bad record that is too long. If the end is found, gives the length of
/// the record to `bad`, which writes it to the diverted file. `base` is the offset in the input of the first
/// of `bytes`.
fn end_cut(bytes: &[u8], base: u64, more: More, bad: &mut BadRecords) -> Result<(), ConnectError> {
    let length = bad.cut_offset().and_then(|offset| end_of_cut(bytes, base, offset, more));
    length.map_or(Ok(()), |length| bad.end_cut(Some(length)))
}

/// Returns the length in bytes of the record that begins at the offset `offset` and is too long, if its end
/// is among `bytes`, which begin at the offset `base`. The record ends at the first line end beyond the
/// greatest length of a record.
fn end_of_cut(bytes: &[u8], base: u64, offset: u64, more: More) -> Option<u64> {
    let kept = (offset + RECORD_BYTES_MAX as u64).saturating_sub(base);
    let behind = bytes.get(usize::try_from(kept).ok()?..)?;
    let end = match behind.iter().position(|byte| *byte == b'\n') {
        None if more == More::Never => bytes.len() as u64,
        None => return None,
        Some(end) => kept + (end - usize::from(behind[..end].ends_with(b"\r"))) as u64,
    };
    Some(base + end - offset)
}

/// A position in an input from which decoding can continue, with the numbers of rows and bad records after it
/// that were already handled.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Resume {
    pub(super) at: Position,
    pub(super) rows: u64,
    pub(super) bad: u64,
}

impl Resume {
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.at, self.rows, self.bad))
    }

    /// Reads a position back.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are no position, or one that no input has.
    pub(super) fn load(state: &mut StateReader<'_>) -> Result<Self, StateError> {
        let (at, rows, bad): (Position, u64, u64) = state.take()?;
        if COUNT_MAX < at.offset.max(at.lines).max(rows).max(bad) {
            return Err(state.wrong("no input has so many records"));
        }
        Ok(Resume { at, rows, bad })
    }
}
