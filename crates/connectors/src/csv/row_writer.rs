//! Writer of fields as lines of CSV by RFC 4180, without an allocation per row.

use std::io::Write;

use memchr::{memchr, memchr3};

/// Rows being written: the caller pushes fields, the sink ends the row.
///
/// Text stands in quotes if it holds a comma, a quote or a line end, or begins with a byte order mark (which a reader
/// would drop at the start of a file). Doubles are written in the shortest form that reads back as the same double,
/// always with a point or an exponent (`2.0`, `1e300`), or as `NaN`, `inf`, `-inf`. A row of one empty field is
/// written `""`, since an empty line is no row. A row without fields writes nothing.
#[derive(Debug, Default)]
pub struct RowWriter {
    bytes: Vec<u8>,
    row_start: usize,
    /// Number of fields in the current row so far.
    field_count: usize,
}

impl RowWriter {
    pub(crate) fn new() -> Self {
        RowWriter::default()
    }

    /// Appends an unsigned whole number as a field of the current row.
    pub fn push_u64(&mut self, value: u64) {
        self.part();
        write!(self.bytes, "{value}").expect("writing into a vector cannot fail");
    }

    /// Appends a whole number as a field of the current row.
    pub fn push_i64(&mut self, value: i64) {
        self.part();
        write!(self.bytes, "{value}").expect("writing into a vector cannot fail");
    }

    /// Appends a double as a field of the current row.
    pub fn push_f64(&mut self, value: f64) {
        self.part();
        write!(self.bytes, "{value:?}").expect("writing into a vector cannot fail");
    }

    /// Appends a text as a field of the current row, in quotes if it needs them.
    pub fn push_str(&mut self, value: &str) {
        self.push_bytes(value.as_bytes());
    }

    /// Appends bytes that need not be UTF-8 as a field of the current row.
    pub(crate) fn push_bytes(&mut self, value: &[u8]) {
        self.part();
        let needs_quotes = memchr3(b',', b'"', b'\n', value).is_some()
            || memchr(b'\r', value).is_some()
            || value.starts_with("\u{feff}".as_bytes());
        if !needs_quotes {
            self.bytes.extend_from_slice(value);
            return;
        }
        self.bytes.push(b'"');
        let mut rest = value;
        while let Some(quote) = memchr(b'"', rest) {
            self.bytes.extend_from_slice(&rest[..=quote]);
            self.bytes.push(b'"');
            rest = &rest[quote + 1..];
        }
        self.bytes.extend_from_slice(rest);
        self.bytes.push(b'"');
    }

    pub(crate) fn end_row(&mut self) {
        if self.field_count == 1 && self.bytes.len() == self.row_start {
            self.bytes.extend_from_slice(b"\"\"");
        }
        if self.field_count > 0 {
            self.bytes.push(b'\n');
        }
        self.row_start = self.bytes.len();
        self.field_count = 0;
    }

    /// Returns the text of all rows that were ended since the last [`clear`](Self::clear).
    pub(crate) fn as_bytes(&self) -> &[u8] {
        debug_assert_eq!(self.row_start, self.bytes.len(), "rows are looked at only when they are ended");
        &self.bytes
    }

    /// Drops the text of all rows and keeps the memory of the buffer.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.row_start = 0;
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    #[inline]
    fn part(&mut self) {
        if self.field_count > 0 {
            self.bytes.push(b',');
        }
        self.field_count += 1;
    }
}

#[cfg(test)]
mod tests;
