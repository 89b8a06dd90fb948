//! Splits CSV records into fields, as Jackson's `CsvDecoder` does.
//!
//! Most lines have neither quotes nor escapes: they are searched for delimiters, and nothing is copied. Other
//! lines pass through [`Split::unquote`], byte by byte where needed, into a text without quotes and escapes.
//!
//! `csv-core` is not used here, because it differs from Jackson. It knows escapes only within quotes. It adds text
//! after a closing quote to the field, where Jackson finds the record broken. It also copies all fields. A test uses
//! it as an oracle.

use memchr::{memchr, memchr_iter, memchr2};

use crate::RECORD_BYTES_MAX;

/// The special characters of CSV: delimiter, quote and others, as set by options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub(super) delimiter: u8,
    pub(super) quote: Option<u8>,
    pub(super) escape: Option<u8>,
    pub(super) has_comments: bool,
}

/// The next CSV record of the input. `len` is its length in bytes without the line end, `taken` the length
/// with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Record {
    /// A complete record, whose fields are in [`Split::fields`].
    Fields { len: usize, taken: usize },
    /// A line without any byte, which counts as one empty field.
    Empty { taken: usize },
    /// A comment line, which is skipped.
    Passed { taken: usize },
    /// The first line of a record whose quotes are wrong, for the given reason.
    Broken { len: usize, taken: usize, reason: &'static str },
    /// A line of more than [`RECORD_BYTES_MAX`] bytes, which is too long for a record.
    TooLong,
    /// The beginning of a record whose end is not in the input yet, or no bytes at all.
    Unfinished,
}

/// Splits one CSV record after the other into fields.
pub(super) struct Split {
    marks: Marks,
    /// Start and end of each field of the record, as byte positions in [`Split::text`].
    fields: Vec<(usize, usize)>,
    /// The fields of a record that has quotes or escapes, without these characters, one field after the
    /// other.
    unquoted: Vec<u8>,
    is_unquoted: bool,
    /// Number of bytes of the next record that were searched and have no line end.
    searched: usize,
}

/// The reasons why the end of a CSV record was not found.
enum Open {
    /// More bytes of the input may complete the record.
    Unfinished,
    /// More bytes of the input cannot complete the record, for the given reason.
    Broken(&'static str),
}

impl Split {
    pub(super) fn new(marks: Marks) -> Self {
        Split { marks, fields: Vec::new(), unquoted: Vec::new(), is_unquoted: false, searched: 0 }
    }

    pub(super) fn fields(&self) -> &[(usize, usize)] {
        &self.fields
    }

    /// Returns whether the record that was found last has quotes or escapes, and so may span lines.
    pub(super) fn is_unquoted(&self) -> bool {
        self.is_unquoted
    }

    /// Returns the text to which the ranges of the fields refer: the text without quotes and escapes, or else
    /// `raw`, the record as it is in the input.
    pub(super) fn text<'a>(&'a self, raw: &'a [u8]) -> &'a [u8] {
        if self.is_unquoted { &self.unquoted } else { raw }
    }

    /// Splits the CSV record at the front of `rest`. `is_last` says that no bytes follow `rest`.
    pub(super) fn next(&mut self, rest: &[u8], is_last: bool) -> Record {
        self.fields.clear();
        self.is_unquoted = false;
        let searched = self.searched.min(rest.len());
        let end = memchr2(b'\n', b'\r', &rest[searched..]).map(|end| searched + end);
        let len = end.unwrap_or(rest.len());
        if RECORD_BYTES_MAX < len {
            self.searched = 0;
            return Record::TooLong;
        }
        let Some(taken) = line_end(rest, len, is_last) else {
            self.searched = len;
            return Record::Unfinished;
        };
        let line = &rest[..len];
        if line.is_empty() {
            self.fields.push((0, 0));
            return self.done(if taken == 0 { Record::Unfinished } else { Record::Empty { taken } });
        }
        if self.marks.has_comments && line[0] == b'#' {
            return self.done(Record::Passed { taken });
        }
        if self.has_marks(line) {
            self.is_unquoted = true;
            return match self.unquote(rest, is_last) {
                Ok((len, taken)) => self.done(Record::Fields { len, taken }),
                Err(Open::Broken(reason)) => self.done(Record::Broken { len, taken, reason }),
                Err(Open::Unfinished) => {
                    // The first line ends at `len`, but the record may go on. When the record is offered
                    // again with more bytes, the search for its first line end starts at `len`.
                    self.searched = len;
                    Record::Unfinished
                }
            };
        }
        let mut start = 0;
        for end in memchr_iter(self.marks.delimiter, line) {
            self.fields.push((start, end));
            start = end + 1;
        }
        self.fields.push((start, len));
        self.done(Record::Fields { len, taken })
    }

    fn done(&mut self, record: Record) -> Record {
        self.searched = 0;
        record
    }

    fn has_marks(&self, line: &[u8]) -> bool {
        match (self.marks.quote, self.marks.escape) {
            (None, None) => false,
            (Some(mark), None) | (None, Some(mark)) => memchr(mark, line).is_some(),
            (Some(quote), Some(escape)) => memchr2(quote, escape, line).is_some(),
        }
    }

    /// Splits a CSV record that has quotes or escapes. Returns the length of the record without and with its
    /// line end.
    fn unquote(&mut self, rest: &[u8], is_last: bool) -> Result<(usize, usize), Open> {
        self.unquoted.clear();
        // At most the bytes of the longest record and of a line end are searched.
        let is_cut = RECORD_BYTES_MAX < rest.len();
        let window = &rest[..rest.len().min(RECORD_BYTES_MAX + 1)];
        let is_end = is_last && !is_cut;
        let Marks { delimiter, quote, escape, .. } = self.marks;
        let open = |reason| if is_cut || is_last { Open::Broken(reason) } else { Open::Unfinished };
        let mut at = 0;
        loop {
            let start = self.unquoted.len();
            if quote.is_some() && window.get(at).copied() == quote {
                at = self.quoted(window, at + 1, is_end).ok_or_else(|| open("a quote is not closed"))?;
                // Blanks may follow the closing quote of a field; they are skipped.
                while matches!(window.get(at), Some(b' ' | b'\t')) && window.get(at) != Some(&delimiter) {
                    at += 1;
                }
            } else {
                while let Some(&byte) = window.get(at) {
                    if byte == delimiter || matches!(byte, b'\n' | b'\r') {
                        break;
                    }
                    if Some(byte) == escape {
                        let next = window.get(at + 1).ok_or_else(|| open("nothing follows an escape"))?;
                        self.unquoted.push(escaped(*next));
                        at += 2;
                    } else {
                        self.unquoted.push(byte);
                        at += 1;
                    }
                }
            }
            self.fields.push((start, self.unquoted.len()));
            match window.get(at) {
                Some(&byte) if byte == delimiter => at += 1,
                Some(b'\n' | b'\r') => {
                    let taken = line_end(rest, at, is_last).ok_or(Open::Unfinished)?;
                    return Ok((at, taken));
                }
                Some(_) => {
                    return Err(Open::Broken("neither a delimiter nor a line end follows a closing quote"));
                }
                None if is_end => return Ok((at, at)),
                None => return Err(open("a quote is not closed, or the record is too long")),
            }
        }
    }

    /// Copies the content of a quoted field up to its closing quote. Returns the position after this quote,
    /// or `None` if there is none or more bytes are needed.
    fn quoted(&mut self, window: &[u8], mut at: usize, is_end: bool) -> Option<usize> {
        let quote = self.marks.quote?;
        loop {
            let rest = &window[at..];
            let len = match self.marks.escape {
                None => memchr(quote, rest),
                Some(escape) => memchr2(quote, escape, rest),
            }?;
            self.unquoted.extend_from_slice(&rest[..len]);
            at += len;
            match (window[at] == quote, window.get(at + 1)) {
                (true, Some(&next)) if next == quote => self.unquoted.push(quote),
                (true, None) if !is_end => return None,
                (true, _) => return Some(at + 1),
                (false, next) => self.unquoted.push(escaped(*next?)),
            }
            at += 2;
        }
    }
}

/// Returns the position after the line end at `at`; the end of the input counts as a line end. Returns
/// `None` if more bytes are needed to see whether a newline follows a carriage return.
fn line_end(rest: &[u8], at: usize, is_last: bool) -> Option<usize> {
    match rest.get(at..)? {
        [] if is_last => Some(at),
        [] => None,
        [b'\r'] if !is_last => None,
        [b'\r', b'\n', ..] => Some(at + 2),
        _ => Some(at + 1),
    }
}

/// Returns the character for which an escaped character of CSV stands.
fn escaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => byte,
    }
}
