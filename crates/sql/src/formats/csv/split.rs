//! Splits records into fields, as Jackson's `CsvDecoder` does.
//!
//! Most lines hold neither quotes nor escapes: they are searched for delimiters and nothing is copied. Others go through
//! [`Split::unquote`], byte by byte where it matters, into a text without quotes and escapes.
//!
//! `csv-core` is not used here, because it cannot do what Jackson does: it has escapes within quotes only, takes what follows
//! a closing quote into the field, where Jackson finds the record broken, and copies all fields. It is the oracle of a test.

use memchr::{memchr, memchr_iter, memchr2};

use crate::formats::RECORD_BYTES_MAX;

/// The characters that have a meaning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub(super) delimiter: u8,
    pub(super) quote: Option<u8>,
    pub(super) escape: Option<u8>,
    pub(super) has_comments: bool,
}

/// What comes next. `len` is without the line end, `taken` with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Record {
    /// A record, whose fields are in [`Split::fields`].
    Fields { len: usize, taken: usize },
    /// A line without any byte: one empty field.
    Empty { taken: usize },
    /// A comment.
    Passed { taken: usize },
    /// A record whose quotes are wrong; its first line.
    Broken { len: usize, taken: usize, reason: &'static str },
    /// A line longer than a record may be.
    TooLong,
    /// The beginning of a record, or nothing.
    Unfinished,
}

/// Splits one record after the other.
pub(super) struct Split {
    marks: Marks,
    /// From where to where in [`Split::text`] each field of the record is.
    fields: Vec<(usize, usize)>,
    /// Fields without quotes and escapes, one behind the other, of a record that has some.
    unquoted: Vec<u8>,
    is_unquoted: bool,
    /// So many bytes of the next record are known to hold no line end.
    searched: usize,
}

/// How the search for the end of a record came out, other than well.
enum Open {
    /// More bytes may help.
    Unfinished,
    /// They will not.
    Broken(&'static str),
}

impl Split {
    pub(super) fn new(marks: Marks) -> Self {
        Split { marks, fields: Vec::new(), unquoted: Vec::new(), is_unquoted: false, searched: 0 }
    }

    pub(super) fn fields(&self) -> &[(usize, usize)] {
        &self.fields
    }

    /// What the fields are parts of; `raw` is the record.
    pub(super) fn text<'a>(&'a self, raw: &'a [u8]) -> &'a [u8] {
        if self.is_unquoted { &self.unquoted } else { raw }
    }

    /// The record at the front of `rest`.
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
                    // The first line was found; it is found again when there is more.
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

    /// Splits a record with quotes or escapes: its length without and with its line end.
    fn unquote(&mut self, rest: &[u8], is_last: bool) -> Result<(usize, usize), Open> {
        self.unquoted.clear();
        // One byte more than a record may have, for its line end.
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
                // Blanks may stand behind a closing quote.
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

    /// Goes from behind an opening quote to behind the closing one; none if there is none, or it cannot be told yet.
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

/// What follows the line end at `at`; the end of the input is one, too. None if a carriage return may go on.
fn line_end(rest: &[u8], at: usize, is_last: bool) -> Option<usize> {
    match rest.get(at..)? {
        [] if is_last => Some(at),
        [] => None,
        [b'\r'] if !is_last => None,
        [b'\r', b'\n', ..] => Some(at + 2),
        _ => Some(at + 1),
    }
}

/// What a character behind an escape stands for.
fn escaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => byte,
    }
}
