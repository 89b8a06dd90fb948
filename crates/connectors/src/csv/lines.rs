//! Frames a file into lines, in bounded memory.
//!
//! A line ends with `\n`, or with `\r\n`, or with the file. It may have [`LINE_BYTES_MAX`] bytes without its `\n`.
//! The first part of a longer line is kept, the rest is read and dropped, and the line is marked as cut. A byte order
//! mark at the start of the file is skipped. An empty line is a line, unless it is the last thing in the file.
//!
//! Nearly every line lies whole in the read buffer and is borrowed from there. A line that crosses the end of the
//! buffer is gathered in `spill`, which grows to the length of the longest such line.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memchr::memchr;
use thalweg_model::disk::Disk;

use super::error::{CsvError, Position};
use super::file::SourceFile;

/// Greatest length of a line in bytes, without its line end: 1 MiB.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Number of bytes per read of the file. They fit a core's L2 cache beside the records made from them.
const READ_BYTES: usize = 256 << 10;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One line of the file, without its line end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line<'a> {
    /// Number of the line in the file, from 1 on, and number of bytes of the file before it, after gunzip.
    pub at: Position,
    pub bytes: &'a [u8],
    /// True if the line was longer than [`LINE_BYTES_MAX`], so that its end is missing.
    pub is_cut: bool,
}

/// Reader that frames a file into lines.
pub(super) struct Lines {
    file: SourceFile,
    /// Read buffer. Its bytes from `start` to `end` (not included) are read from the file and not yet cut
    /// into lines.
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    is_at_end: bool,
    spill: Vec<u8>,
    /// Number of the line that is read next, from 1 on, and number of bytes of the file before it, after
    /// gunzip.
    next: Position,
}

impl Lines {
    /// Opens a file and reads its first bytes, so that most errors are found at once.
    pub(super) fn open(disk: Arc<dyn Disk>, path: &Path) -> Result<Self, CsvError> {
        let mut lines = Lines {
            file: SourceFile::open(disk, path)?,
            buffer: vec![0; READ_BYTES].into(),
            start: 0,
            end: 0,
            is_at_end: false,
            spill: Vec::new(),
            next: Position::START,
        };
        // The loop is needed because one read may return fewer than the three bytes of a byte order mark.
        while lines.end < BYTE_ORDER_MARK.len() && lines.fill()? {}
        if lines.buffer[..lines.end].starts_with(BYTE_ORDER_MARK) {
            lines.start = BYTE_ORDER_MARK.len();
            lines.next.offset_bytes = BYTE_ORDER_MARK.len() as u64;
        }
        Ok(lines)
    }

    /// Returns the next line; `None` at the end of the file, also if called again.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, CsvError> {
        let framed = match memchr(b'\n', &self.buffer[self.start..self.end]) {
            Some(length) => {
                let range = self.start..self.start + length;
                self.start += length + 1;
                Framed { within: Some(range), is_cut: false, consumed_bytes: length as u64 + 1 }
            }
            None => match self.gather()? {
                Some(framed) => framed,
                None => return Ok(None),
            },
        };
        let is_empty = framed.bytes(&self.buffer, &self.spill).is_empty();
        if is_empty && self.start == self.end && !self.fill()? {
            return Ok(None);
        }
        let at = self.next;
        self.next = Position { line: at.line + 1, offset_bytes: at.offset_bytes + framed.consumed_bytes };
        // An empty line is not borrowed from the buffer, because `fill` may have overwritten its place there.
        let bytes = if is_empty { &[] } else { framed.bytes(&self.buffer, &self.spill) };
        Ok(Some(Line { at, bytes, is_cut: framed.is_cut }))
    }

    /// Gathers a line that does not end in the read buffer, by further reads.
    #[cold]
    fn gather(&mut self) -> Result<Option<Framed>, CsvError> {
        self.spill.clear();
        let mut length_bytes = 0;
        let has_line_end = loop {
            let unread = &self.buffer[self.start..self.end];
            let line_end = memchr(b'\n', unread);
            let part = &unread[..line_end.unwrap_or(unread.len())];
            append_bounded(&mut self.spill, part);
            length_bytes += part.len();
            self.start += part.len() + usize::from(line_end.is_some());
            if line_end.is_some() {
                break true;
            }
            if !self.fill()? {
                break false;
            }
        };
        let consumed_bytes = length_bytes as u64 + u64::from(has_line_end);
        let framed = Framed { within: None, is_cut: LINE_BYTES_MAX < length_bytes, consumed_bytes };
        Ok((consumed_bytes > 0).then_some(framed))
    }

    /// Reads more bytes behind those in the buffer; returns false if the file has no more.
    fn fill(&mut self) -> Result<bool, CsvError> {
        if self.is_at_end {
            return Ok(false);
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        let count = self.file.read(&mut self.buffer[self.end..], self.next)?;
        self.end += count;
        self.is_at_end = count == 0;
        Ok(count > 0)
    }

    /// Returns the number of the next line, from 1 on, and the number of bytes of the file before it.
    pub(super) fn position(&self) -> Position {
        self.next
    }

    pub(super) fn file(&self) -> &SourceFile {
        &self.file
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.buffer.len() + self.spill.capacity() + self.file.held_bytes()
    }
}

/// The place of a line in memory. With it the line need not be borrowed while the buffer is refilled.
struct Framed {
    /// Range of the line in the read buffer; `None` if the line is the whole of `spill`.
    within: Option<Range<usize>>,
    is_cut: bool,
    /// Length of the line in the file in bytes, its line end included.
    consumed_bytes: u64,
}

impl Framed {
    #[inline]
    fn bytes<'a>(&self, buffer: &'a [u8], spill: &'a [u8]) -> &'a [u8] {
        let bytes = self.within.as_ref().map_or(spill, |range| &buffer[range.clone()]);
        // If a line was cut, the bytes behind the cut are unknown, so a `\r` before the cut is data and no
        // part of a line end.
        if self.is_cut { bytes } else { bytes.strip_suffix(b"\r").unwrap_or(bytes) }
    }
}

/// Appends a part of a line to `spill`, as far as it fits under [`LINE_BYTES_MAX`]. The capacity of `spill`
/// doubles up to this bound and never exceeds it.
fn append_bounded(spill: &mut Vec<u8>, part: &[u8]) {
    let kept = &part[..part.len().min(LINE_BYTES_MAX - spill.len())];
    let length = spill.len() + kept.len();
    if spill.capacity() < length {
        spill.reserve_exact(length.next_power_of_two().min(LINE_BYTES_MAX) - spill.len());
    }
    spill.extend_from_slice(kept);
}

#[cfg(test)]
mod tests;
