//! Finds the lines of an input that comes in pieces, and continues after a line that is too long. Also has
//! the decoder of every format whose records are lines.

use memchr::{memchr, memchr_iter, memrchr};

use super::column::Bad;
use super::{BATCH_BYTES_MAX, BadRecord, Decoded, Decoder, Ignored, Position, RECORD_BYTES_MAX, Taken};

/// Converts the lines of an input to rows, by the rules of one format.
pub(super) trait Records: Send {
    /// Converts one line and appends all of its rows, or none if the line is bad; the reason is returned.
    fn read(&mut self, raw: &[u8]) -> Result<(), Bad>;

    /// Returns the number of rows that are converted and not yet returned by [`finish`](Self::finish).
    fn rows(&self) -> usize;

    /// Returns the converted rows that were not yet returned. Afterwards there are none.
    fn finish(&mut self) -> Decoded;

    /// Returns the name of the column with an index among the columns that are read, for error messages.
    fn name(&self, column: usize) -> &str;

    /// Returns the number of values that became NULL because they did not fit their column.
    fn ignored_values(&self) -> u64;
}

/// Rules of a format for lines, which apply before a line is converted.
#[derive(Clone, Copy)]
pub(super) struct LineRules {
    /// Whether a byte order mark at the start of the input is skipped.
    pub(super) has_mark: bool,
    /// Whether lines with nothing but white space are skipped.
    pub(super) skips_blank: bool,
    /// Whether bad records are left out and only counted.
    pub(super) ignores_bad: bool,
}

/// A decoder of formats whose records are lines.
pub(super) struct LineDecoder<R> {
    lines: Lines,
    records: R,
    rules: LineRules,
    /// Bytes of the lines whose rows are converted and not yet returned by [`Decoder::finish`].
    bytes: usize,
    ignored_records: u64,
}

impl<R: Records> LineDecoder<R> {
    pub(super) fn of(records: R, rules: LineRules) -> Self {
        LineDecoder { lines: Lines::new(rules.has_mark), records, rules, bytes: 0, ignored_records: 0 }
    }
}

impl<R: Records> Decoder for LineDecoder<R> {
    fn take(
        &mut self,
        bytes: &[u8],
        is_last: bool,
        rows_max: usize,
        bad: &mut dyn FnMut(BadRecord<'_>),
    ) -> Taken {
        let mut at = 0;
        while self.records.rows() < rows_max && self.bytes < BATCH_BYTES_MAX {
            let (raw, offset, line, found) = match self.lines.next(bytes, &mut at, is_last) {
                Line::Unfinished => return Taken { bytes: at, wants_more: true },
                Line::TooLong { raw, offset, line } => {
                    let reason = format!("the record is longer than {RECORD_BYTES_MAX} bytes");
                    (raw, offset, line, Err(Bad { column: None, reason }))
                }
                Line::Whole { raw, .. } if self.rules.skips_blank && is_blank(raw) => continue,
                Line::Whole { raw, offset, line } => (raw, offset, line, self.records.read(raw)),
            };
            match found {
                Ok(()) => self.bytes += raw.len(),
                Err(_) if self.rules.ignores_bad => self.ignored_records += 1,
                Err(Bad { column, reason }) => {
                    let column = column.map(|column| self.records.name(column));
                    bad(BadRecord { raw, offset, line, column, reason });
                }
            }
        }
        Taken { bytes: at, wants_more: false }
    }

    fn rows(&self) -> usize {
        self.records.rows()
    }

    fn finish(&mut self) -> Decoded {
        self.bytes = 0;
        self.records.finish()
    }

    fn position(&self) -> Position {
        self.lines.position()
    }

    fn start(&mut self, at: Position) {
        self.lines.start(at);
    }

    fn ignored(&self) -> Ignored {
        Ignored { values: self.records.ignored_values(), records: self.ignored_records }
    }
}

/// The byte order mark of UTF-8, which some programs put before text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Finds the lines of an input whose bytes are offered in several parts.
pub(super) struct Lines {
    position: Position,
    /// Number of bytes after the decoder's position that were searched and have no line end. They are not
    /// searched again when they are offered again with more bytes. So a long line in small pieces costs no
    /// more than in one piece.
    searched: usize,
    /// Whether a byte order mark at the start of the input is skipped.
    has_mark: bool,
}

/// The result of a search for a line.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Line<'a> {
    /// A whole line of the input, without its line end.
    Whole { raw: &'a [u8], offset: u64, line: u64 },
    /// The beginning of a line of more than [`RECORD_BYTES_MAX`](crate::RECORD_BYTES_MAX) bytes; the rest of
    /// the line is skipped.
    TooLong { raw: &'a [u8], offset: u64, line: u64 },
    /// The bytes so far have no line end, so more of them are needed.
    Unfinished,
}

impl Lines {
    /// Starts at the beginning of an input. `has_mark` says that a byte order mark at the start, if any, is
    /// skipped.
    pub(super) fn new(has_mark: bool) -> Self {
        Lines { position: Position::default(), searched: 0, has_mark }
    }

    pub(super) fn position(&self) -> Position {
        self.position
    }

    pub(super) fn start(&mut self, at: Position) {
        self.position = at;
        self.searched = 0;
    }

    /// Returns the next line of `bytes`, which begins at the index `*at`, and moves `*at` past its line end.
    pub(super) fn next<'a>(&mut self, bytes: &'a [u8], at: &mut usize, is_last: bool) -> Line<'a> {
        if self.position.is_inside {
            let rest = &bytes[*at..];
            match memchr(b'\n', rest) {
                None => {
                    self.pass(rest.len(), 0, at);
                    return Line::Unfinished;
                }
                Some(end) => {
                    self.pass(end + 1, 1, at);
                    self.position.is_inside = false;
                }
            }
        }
        let rest = &bytes[*at..];
        let Position { mut offset, lines, .. } = self.position;
        let line = lines + 1;
        let searched = self.searched.min(rest.len());
        let (mut raw, taken, ends) = match memchr(b'\n', &rest[searched..]) {
            Some(end) => (&rest[..searched + end], searched + end + 1, 1),
            None if RECORD_BYTES_MAX < rest.len() => {
                self.pass(RECORD_BYTES_MAX, 0, at);
                self.position.is_inside = true;
                return Line::TooLong { raw: &rest[..RECORD_BYTES_MAX], offset, line };
            }
            None if is_last && !rest.is_empty() => (rest, rest.len(), 0),
            None => {
                self.searched = rest.len();
                return Line::Unfinished;
            }
        };
        self.pass(taken, ends, at);
        if RECORD_BYTES_MAX < raw.len() {
            return Line::TooLong { raw: &raw[..RECORD_BYTES_MAX], offset, line };
        }
        raw = raw.strip_suffix(b"\r").unwrap_or(raw);
        if self.has_mark && offset == 0 && raw.starts_with(BYTE_ORDER_MARK) {
            raw = &raw[BYTE_ORDER_MARK.len()..];
            offset += BYTE_ORDER_MARK.len() as u64;
        }
        Line::Whole { raw, offset, line }
    }

    fn pass(&mut self, bytes: usize, ends: u64, at: &mut usize) {
        *at += bytes;
        self.position.offset += bytes as u64;
        self.position.lines += ends;
        self.searched = 0;
    }
}

/// Returns the index of the last line end among `bytes`.
pub fn last_line_end(bytes: &[u8]) -> Option<usize> {
    memrchr(b'\n', bytes)
}

/// Returns the number of line ends among `bytes`.
pub fn line_ends(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

/// Returns whether a line has nothing but JSON white space.
pub(super) fn is_blank(raw: &[u8]) -> bool {
    raw.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all lines of `bytes`, fed in pieces of `piece` bytes, with their offsets and numbers.
    fn lines(bytes: &[u8], piece: usize) -> Vec<(Vec<u8>, u64, u64, bool)> {
        let (mut lines, mut found, mut at, mut end) = (Lines::new(true), Vec::new(), 0, 0);
        loop {
            let is_last = end == bytes.len();
            match lines.next(&bytes[..end], &mut at, is_last) {
                Line::Whole { raw, offset, line } => found.push((raw.to_vec(), offset, line, false)),
                Line::TooLong { raw, offset, line } => found.push((raw.to_vec(), offset, line, true)),
                Line::Unfinished if is_last => break,
                Line::Unfinished => end = (end + piece).min(bytes.len()),
            }
        }
        assert_eq!(lines.position().offset, bytes.len() as u64);
        found
    }

    /// Lines are found with both kinds of line ends, if they are empty, if the last one has no end, and
    /// after a byte order mark.
    #[test]
    fn lines_with_their_places() {
        let bytes = b"\xef\xbb\xbfab\r\n\nc\rd\ne\r";
        let expected = vec![
            (b"ab".to_vec(), 3, 1, false),
            (b"".to_vec(), 7, 2, false),
            (b"c\rd".to_vec(), 8, 3, false),
            (b"e".to_vec(), 12, 4, false),
        ];
        for piece in 1..=bytes.len() {
            assert_eq!(lines(bytes, piece), expected, "{piece}");
        }
    }

    /// A line that is too long is reported once, whatever pieces it comes in, and the next line is whole.
    #[test]
    fn long_lines_are_passed_over() {
        for extra in [0, 1, 5_000] {
            let mut bytes = b"a\n".to_vec();
            bytes.resize(2 + RECORD_BYTES_MAX + extra, b'x');
            bytes.extend(b"\nb\n");
            for piece in [1_000, 65_536, 3 << 20] {
                let found = lines(&bytes, piece);
                let kinds: Vec<_> =
                    found.iter().map(|(raw, _, line, long)| (raw.len(), *line, *long)).collect();
                assert_eq!(
                    kinds,
                    [(1, 1, false), (RECORD_BYTES_MAX, 2, extra != 0), (1, 3, false)],
                    "{extra}"
                );
            }
        }
    }
}
