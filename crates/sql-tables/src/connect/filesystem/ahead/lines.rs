//! Pieces of files of records: bytes from line end to line end.
//!
//! The decoder of a piece begins as if the piece began with a record, which is true unless a record spans lines (a quoted
//! line end of CSV) or is longer than a piece. The decoder of the piece before tells: if it has decoded all of its bytes
//! and is not inside a record, the next piece begins with a record. Otherwise the reader drops what was decoded, and
//! decodes these two pieces itself, one after the other, and further pieces until one ends between records. A piece with
//! a record that is too long, or with many bad records, is decoded by the reader itself, too.
//!
//! Bound: a piece has the usual number of bytes, or half as many again as a record of the greatest length.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use thalweg_connectors::csv::SourceFile;
use thalweg_sql_formats::{
    BadRecord, Decoded, Decoder, Position, RECORD_BYTES_MAX, RowKind, last_line_end, line_ends,
};

use super::super::split::place_of;
use super::{Claim, Cut, Decode, Next, Pieces};
use crate::batch::BATCH_ROWS_MAX;
use crate::connect::bad::BadRecords;
use crate::connect::decoding::{Decoding, More, Resume, Step};
use crate::connect::error::ConnectError;

/// The most bad records of a piece that are kept until the piece is taken. The reader decodes a piece with more of them
/// itself.
const BAD_MAX: usize = 256;

/// The most buffers of pieces that were taken and are kept for further pieces.
const SPARE_MAX: usize = 8;

/// Bytes of a file from the beginning of a line on, mostly up to a line end.
pub(in super::super) struct Raw {
    bytes: Vec<u8>,
    /// The position of the first byte in the file.
    at: Position,
    /// The position after the last byte.
    after: Position,
    /// Whether the file ends with these bytes.
    is_last: bool,
    /// Whether the file ends a line here; only of use for the last piece.
    ends_line: bool,
}

/// A bad record that was found in a piece.
struct OwnedBad {
    raw: Vec<u8>,
    offset: u64,
    line: u64,
    column: Option<String>,
    reason: String,
}

/// Rows of a piece, and the bad records that were found before and among them.
struct Part {
    bad: Vec<OwnedBad>,
    rows: RecordBatch,
    kinds: Option<Vec<RowKind>>,
}

/// A piece that was decoded as if it began with a record.
pub(in super::super) struct Piece {
    raw: Raw,
    parts: VecDeque<Part>,
    /// Whether all bytes were decoded, up to the end of a record.
    is_whole: bool,
}

impl Piece {
    fn held_bytes(&self) -> usize {
        let part = |part: &Part| part.rows.get_array_memory_size() + part.bad.len() * size_of::<OwnedBad>();
        self.raw.bytes.capacity() + self.parts.iter().map(part).sum::<usize>()
    }
}

/// Decodes a piece as if it began with a record.
fn decode(decoder: &mut dyn Decoder, raw: Raw) -> Piece {
    decoder.start(raw.at);
    let (mut parts, mut done, mut count, mut is_odd) = (VecDeque::new(), 0, 0, false);
    loop {
        let mut bad = Vec::new();
        let taken = decoder.take(&raw.bytes[done..], raw.is_last, BATCH_ROWS_MAX, &mut |record| {
            count += 1;
            is_odd |= BAD_MAX < count || RECORD_BYTES_MAX <= record.raw.len();
            if !is_odd {
                bad.push(OwnedBad {
                    raw: record.raw.to_vec(),
                    offset: record.offset,
                    line: record.line,
                    column: record.column.map(str::to_owned),
                    reason: record.reason,
                });
            }
        });
        done += taken.bytes;
        if decoder.rows() > 0 || !bad.is_empty() {
            let Decoded { rows, kinds } = decoder.finish();
            parts.push_back(Part { bad, rows, kinds });
        }
        if taken.wants_more || is_odd {
            break;
        }
    }
    let is_whole = !is_odd && done == raw.bytes.len() && !decoder.position().is_inside;
    if !is_whole {
        parts.clear();
    }
    Piece { raw, parts, is_whole }
}

/// Cuts an open file of records into pieces.
pub(in super::super) struct Lines {
    file: SourceFile,
    /// The usual number of bytes of a piece.
    piece_bytes: usize,
    /// The bytes that were read and belong to the next piece.
    carry: Vec<u8>,
    at: Position,
    ends_line: bool,
    has_ended: bool,
    spare: Vec<Vec<u8>>,
}

impl Cut for Lines {
    type Raw = Raw;
    type Decoded = Piece;

    fn cut(&mut self) -> Result<Option<Raw>, ConnectError> {
        if self.has_ended {
            return Ok(None);
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(&self.carry);
        self.carry.clear();
        let mut filled = bytes.len();
        let end = loop {
            // A line that does not end yet is read on by half of its present length at a time.
            let wanted = self.piece_bytes.max(filled + filled / 2 + 1);
            bytes.resize(wanted, 0);
            let from = filled;
            while filled < wanted && !self.has_ended {
                match self.file.read(&mut bytes[filled..], place_of(self.at)) {
                    Ok(0) => self.has_ended = true,
                    Ok(count) => filled += count,
                    Err(error) => {
                        self.has_ended = true;
                        return Err(error.into());
                    }
                }
            }
            if self.has_ended {
                break filled;
            }
            if let Some(end) = last_line_end(&bytes[from..filled]) {
                break from + end + 1;
            }
            // A longer line is no record, and need not be in one piece.
            if RECORD_BYTES_MAX < filled {
                break filled;
            }
        };
        self.carry.extend_from_slice(&bytes[end..filled]);
        bytes.truncate(end);
        self.ends_line = bytes.last().map_or(self.ends_line, |last| *last == b'\n');
        let at = self.at;
        let lines = at.lines + line_ends(&bytes);
        self.at = Position { offset: at.offset + end as u64, lines, is_inside: false };
        Ok(Some(Raw { bytes, at, after: self.at, is_last: self.has_ended, ends_line: self.ends_line }))
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn reuse(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < SPARE_MAX && buffer.capacity() <= 2 * self.piece_bytes {
            self.spare.push(buffer);
        }
    }

    fn held_bytes(&self) -> usize {
        let spare: usize = self.spare.iter().map(Vec::capacity).sum();
        self.file.held_bytes() + self.carry.capacity() + spare
    }

    fn bytes_of(decoded: &Piece) -> usize {
        decoded.held_bytes()
    }
}

/// Returns the work of a helper with this decoder.
pub(in super::super) fn decoding_by(mut decoder: Box<dyn Decoder>) -> Decode<Lines> {
    Box::new(move |raw| decode(decoder.as_mut(), raw))
}

/// An open file whose pieces are decoded ahead, as its reader sees it.
pub(in super::super) struct LinesAhead {
    pieces: Arc<Pieces<Lines>>,
    decoder: Box<dyn Decoder>,
    current: Current,
    /// Whether the bytes up to here do not end between two records, so that the next piece is decoded in turn.
    is_in_turn: bool,
    /// The position after the last piece that was taken.
    after: Position,
    has_ended: bool,
    ends_line: bool,
}

/// The piece whose rows are being returned.
enum Current {
    None,
    /// The piece was decoded by any task.
    Decoded {
        piece: Piece,
        /// The rows that are being returned, and how many of them were.
        waiting: Option<(Part, usize)>,
        /// The numbers of rows of the piece that were returned, and of its bad records that were counted.
        given: u64,
        bad: u64,
    },
    /// The reader decodes the bytes of the piece after those before it; so many of them were passed on.
    InTurn {
        raw: Raw,
        passed: usize,
    },
}

/// The result of one step of a reader.
pub(in super::super) enum Taken {
    Rows(RecordBatch, Option<Vec<RowKind>>),
    /// Another task decodes the next piece, and there is nothing else to do.
    Waits,
    /// As many bytes were decoded as one poll may, without rows.
    Pauses,
    End,
}

impl LinesAhead {
    /// Divides an open file into pieces. If `decoding` continues within the file, it decodes the first piece.
    pub(in super::super) fn open(
        pieces: &Arc<Pieces<Lines>>,
        file: SourceFile,
        decoder: Box<dyn Decoder>,
        resume: Resume,
        piece_bytes: usize,
    ) -> Self {
        pieces.open(Lines {
            file,
            piece_bytes: piece_bytes.max(1),
            carry: Vec::new(),
            at: Position { is_inside: false, ..resume.at },
            ends_line: true,
            has_ended: false,
            spare: Vec::new(),
        });
        LinesAhead {
            pieces: Arc::clone(pieces),
            decoder,
            current: Current::None,
            is_in_turn: resume.at.offset > 0 || resume.rows > 0,
            after: resume.at,
            has_ended: false,
            ends_line: true,
        }
    }

    /// Returns at most `rows_max` further rows of the file, in its order. `left_bytes` is the number of bytes that may
    /// still be decoded.
    ///
    /// # Errors
    /// [`ConnectError`] if the file cannot be read on, or a bad record of `input` fails the query.
    pub(in super::super) fn step(
        &mut self,
        rows_max: usize,
        left_bytes: &mut usize,
        decoding: &mut Decoding,
        input: &str,
        bad_records: &mut BadRecords,
    ) -> Result<Taken, ConnectError> {
        loop {
            match &mut self.current {
                Current::Decoded { piece, waiting, given, bad } => {
                    if let Some((part, returned)) = waiting {
                        let count = rows_max.min(part.rows.num_rows() - *returned);
                        if count > 0 {
                            let from = *returned;
                            *returned += count;
                            *given += count as u64;
                            let kinds = part.kinds.as_ref().map(|kinds| kinds[from..from + count].to_vec());
                            return Ok(Taken::Rows(part.rows.slice(from, count), kinds));
                        }
                    }
                    *waiting = None;
                    if let Some(part) = piece.parts.pop_front() {
                        for record in &part.bad {
                            *bad += 1;
                            bad_records.take(input, &record.as_record())?;
                        }
                        *waiting = Some((part, 0));
                        continue;
                    }
                    self.pieces.reuse(std::mem::take(&mut piece.raw.bytes));
                    self.current = Current::None;
                }
                Current::InTurn { raw, passed } => {
                    let left = &raw.bytes[*passed..];
                    let more = match (left.is_empty(), raw.is_last) {
                        (false, _) => More::Now,
                        (true, false) => More::Later,
                        (true, true) => More::Never,
                    };
                    match decoding.step(rows_max, more, input, bad_records)? {
                        Step::Rows(rows, kinds) => return Ok(Taken::Rows(rows, kinds)),
                        Step::WantsBytes if more == More::Now => {
                            let room = decoding.room();
                            let count = room.len().min(left.len());
                            room[..count].copy_from_slice(&left[..count]);
                            decoding.filled(count);
                            *passed += count;
                        }
                        Step::WantsBytes => {
                            self.is_in_turn = !decoding.is_between_records();
                            self.pieces.reuse(std::mem::take(&mut raw.bytes));
                            self.current = Current::None;
                        }
                    }
                }
                Current::None if self.has_ended => return Ok(Taken::End),
                Current::None if *left_bytes == 0 => return Ok(Taken::Pauses),
                Current::None => {
                    let piece = match self.pieces.next()? {
                        Next::End => {
                            self.has_ended = true;
                            continue;
                        }
                        Next::Claimed => match self.pieces.claim() {
                            Claim::Piece(number, raw) => {
                                let piece = decode(self.decoder.as_mut(), raw);
                                self.pieces.put(number, piece);
                                continue;
                            }
                            Claim::Nothing | Claim::Over => return Ok(Taken::Waits),
                        },
                        Next::Raw(raw) if self.is_in_turn => {
                            Piece { raw, parts: VecDeque::new(), is_whole: false }
                        }
                        Next::Raw(raw) => decode(self.decoder.as_mut(), raw),
                        Next::Decoded(piece) => piece,
                    };
                    *left_bytes = left_bytes.saturating_sub(piece.raw.bytes.len());
                    self.accept(piece, decoding);
                }
            }
        }
    }

    /// Makes a piece the current one: its rows as they were decoded, or its bytes if it does not begin with a record or
    /// was not decoded whole.
    fn accept(&mut self, piece: Piece, decoding: &mut Decoding) {
        self.after = piece.raw.after;
        (self.has_ended, self.ends_line) = (piece.raw.is_last, piece.raw.ends_line);
        if !self.is_in_turn && piece.is_whole {
            self.current = Current::Decoded { piece, waiting: None, given: 0, bad: 0 };
            return;
        }
        if !self.is_in_turn {
            decoding.start(piece.raw.at);
            self.is_in_turn = true;
        }
        self.current = Current::InTurn { raw: piece.raw, passed: 0 };
    }

    /// Returns the position from which reading would continue.
    pub(in super::super) fn resume(&self, decoding: &Decoding, bad_records: &BadRecords) -> Resume {
        let known = bad_records.known();
        match &self.current {
            Current::Decoded { piece, given, bad, .. } => {
                Resume { at: piece.raw.at, rows: *given, bad: bad + known }
            }
            Current::None if !self.is_in_turn => Resume { at: self.after, rows: 0, bad: known },
            Current::None | Current::InTurn { .. } => decoding.resume(bad_records),
        }
    }

    /// Returns the number of lines of the file, which was read to its end.
    pub(in super::super) fn lines(&self) -> u64 {
        self.after.lines + u64::from(!self.ends_line)
    }

    pub(in super::super) fn held_bytes(&self) -> usize {
        let current = match &self.current {
            Current::None => 0,
            Current::Decoded { piece, waiting, .. } => {
                let rows = waiting.as_ref().map_or(0, |(part, _)| part.rows.get_array_memory_size());
                piece.held_bytes() + rows
            }
            Current::InTurn { raw, .. } => raw.bytes.capacity(),
        };
        self.pieces.held_bytes() + current
    }
}

impl Drop for LinesAhead {
    fn drop(&mut self) {
        self.pieces.close();
    }
}

impl OwnedBad {
    fn as_record(&self) -> BadRecord<'_> {
        BadRecord {
            raw: &self.raw,
            offset: self.offset,
            line: self.line,
            column: self.column.as_deref(),
            reason: self.reason.clone(),
        }
    }
}
