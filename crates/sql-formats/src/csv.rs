//! Comma-separated values, `'format' = 'csv'`.
//!
//! A record is a line, or several lines where a field in quotes spans them. Its fields are the columns in their
//! order. There is no header unless `csv.ignore-first-line` says so.
//!
//! | option | default | |
//! |---|---|---|
//! | `csv.field-delimiter` | `,` | one ASCII character; escapes such as `\t` are accepted |
//! | `csv.quote-character` | `"` | one ASCII character |
//! | `csv.disable-quote-character` | false | quotes are ordinary characters |
//! | `csv.escape-character` | none | escapes the next character, inside and outside quotes |
//! | `csv.allow-comments` | false | lines which begin with `#` are skipped |
//! | `csv.ignore-parse-errors` | false | fields which do not fit or are missing are NULL, broken records are left out |
//! | `csv.array-element-delimiter` | `;` | between the elements of an ARRAY and the fields of a ROW |
//! | `csv.null-literal` | none | the text for NULL; `''` is possible |
//! | `csv.empty-string-as-null` | false | empty fields are NULL |
//! | `csv.allow-trailing-comma` | true | one more field is ignored if it is blank |
//! | `csv.ignore-trailing-unmappable` | false | further fields are ignored |
//! | `csv.ignore-first-line` | false | the first record of an input is skipped |
//! | `csv.write-bigdecimal-in-scientific-notation` | true | decimals may be written with an exponent |
//!
//! An empty field is an empty text, and an error for numbers and times; NULL is written as `csv.null-literal`. Lines
//! without any byte are skipped, except in a table of one column, where they are records.
//!
//! A quote which is never closed makes one bad record, its first line; reading continues with the next line.
//!
//! Sources: Flink's documentation, "CSV Format"; `CsvToRowDataConverters`, `CsvFormatOptions`, and Jackson's
//! `CsvDecoder`. Differs from Flink: errors in fields of columns which are not read are ignored; empty lines are
//! errors in Flink. Delimiters beyond ASCII are refused. Text which is not UTF-8, and NULL for a NOT NULL column,
//! make a record bad.

mod convert;
mod encode;
mod split;

#[cfg(test)]
mod tests;

use convert::Convert;
pub(super) use encode::CsvEncoder;
use split::{Marks, Record, Split};
use thalweg_sql_functions::types::SqlType;

use super::column::{Bad, Rows};
use super::json::text_of;
use super::lines::line_ends;
use super::options::Given;
use super::value::trim;
use super::{
    BATCH_BYTES_MAX, BadRecord, Decoded, Decoder, FormatColumn, FormatError, Ignored, Position,
    RECORD_BYTES_MAX, Taken,
};

#[derive(Clone, Debug)]
pub(super) struct CsvOptions {
    marks: Marks,
    between: String,
    null: Option<String>,
    ignores_bad: bool,
    empty_is_null: bool,
    allows_blank_more: bool,
    ignores_more: bool,
    ignores_first: bool,
    is_plain: bool,
}

impl CsvOptions {
    pub(super) fn bind(given: &mut Given<'_>, columns: &[FormatColumn]) -> Result<Self, FormatError> {
        let delimiter = match given.text("field-delimiter") {
            None => b',',
            Some(text) => match unescaped(text) {
                Some(byte) => byte,
                None => return Err(given.wrong("field-delimiter", one_character(text))),
            },
        };
        let is_disabled = given.flag("disable-quote-character", false)?;
        let quote = match given.text("quote-character") {
            Some(_) if is_disabled => {
                let reason = "does not go with 'disable-quote-character' = 'true'";
                return Err(given.wrong("quote-character", reason));
            }
            Some(text) => {
                Some(single(text).ok_or_else(|| given.wrong("quote-character", one_character(text)))?)
            }
            None => (!is_disabled).then_some(b'"'),
        };
        let escape = match given.text("escape-character") {
            Some(text) => {
                Some(single(text).ok_or_else(|| given.wrong("escape-character", one_character(text)))?)
            }
            None => None,
        };
        let is_line_end = |byte: u8| matches!(byte, b'\n' | b'\r');
        if is_line_end(delimiter) || quote == Some(delimiter) || escape == Some(delimiter) {
            return Err(
                given.wrong("field-delimiter", "is a line end, the quote or the escape: take another")
            );
        }
        if quote.is_some_and(is_line_end) || (escape.is_some() && escape == quote) {
            return Err(given.wrong("quote-character", "is a line end or the escape: take another"));
        }
        if escape.is_some_and(is_line_end) {
            return Err(given.wrong("escape-character", "is a line end: take another"));
        }
        let between = given.text("array-element-delimiter").unwrap_or(";").to_owned();
        if between.is_empty() {
            return Err(given.wrong("array-element-delimiter", "is empty: leave it out for ';'"));
        }
        for column in columns {
            check(&column.of)
                .map_err(|reason| FormatError::Column { column: column.name.clone(), reason })?;
        }
        Ok(CsvOptions {
            marks: Marks { delimiter, quote, escape, has_comments: given.flag("allow-comments", false)? },
            between,
            null: given.text("null-literal").map(str::to_owned),
            ignores_bad: given.flag("ignore-parse-errors", false)?,
            empty_is_null: given.flag("empty-string-as-null", false)?,
            allows_blank_more: given.flag("allow-trailing-comma", true)?,
            ignores_more: given.flag("ignore-trailing-unmappable", false)?,
            ignores_first: given.flag("ignore-first-line", false)?,
            is_plain: !given.flag("write-bigdecimal-in-scientific-notation", true)?,
        })
    }
}

fn one_character(text: &str) -> String {
    format!("'{text}' is not one character of ASCII")
}

fn single(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Some(*byte),
        _ => None,
    }
}

/// Reads one ASCII character in Java's escape notation, such as `\t`.
fn unescaped(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [b'\\', b't'] => Some(b'\t'),
        [b'\\', b'b'] => Some(0x8),
        [b'\\', b'f'] => Some(0xc),
        [b'\\', b'n'] => Some(b'\n'),
        [b'\\', b'r'] => Some(b'\r'),
        [b'\\', b'\\' | b'\'' | b'"'] => Some(text.as_bytes()[1]),
        [b'\\', b'u', ..] => {
            let code = text.get(2..).filter(|digits| digits.len() == 4)?;
            u8::from_str_radix(code, 16).ok().filter(u8::is_ascii)
        }
        _ => single(text),
    }
}

/// Refuses column types that a CSV field cannot hold. A field holds one scalar, or several in an ARRAY or a
/// ROW.
fn check(of: &SqlType) -> Result<(), String> {
    let parts: Vec<&SqlType> = match of {
        SqlType::Array(item) => vec![item],
        SqlType::Row(fields) => fields.iter().map(|(_, of)| of).collect(),
        of => vec![of],
    };
    for part in parts {
        match part {
            SqlType::Time(digits) if 3 < *digits => {
                return Err(format!("{part}: times have at most 3 digits, TIME(3)"));
            }
            SqlType::Null | SqlType::Array(_) | SqlType::Map(..) | SqlType::Row(_) => {
                return Err(format!(
                    "{of} has no form in a field: take a scalar, or an ARRAY or a ROW of scalars"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) struct CsvDecoder {
    options: CsvOptions,
    /// For each column that is read, the index of its field in a CSV record.
    wanted: Vec<usize>,
    /// Number of fields that a CSV record should have.
    count: usize,
    rows: Rows,
    split: Split,
    position: Position,
    /// Whether the next record is the first of an input and must be skipped as a header.
    has_header: bool,
    /// Bytes of the CSV records whose rows are decoded and not yet returned by [`Decoder::finish`].
    bytes: usize,
    ignored: Ignored,
}

impl CsvDecoder {
    pub(super) fn new(options: CsvOptions, columns: &[FormatColumn], wanted: &[usize]) -> Self {
        CsvDecoder {
            split: Split::new(options.marks),
            wanted: wanted.to_vec(),
            count: columns.len(),
            rows: Rows::new(columns, wanted),
            has_header: options.ignores_first,
            options,
            position: Position::default(),
            bytes: 0,
            ignored: Ignored::default(),
        }
    }

    /// Converts the fields of the CSV record that was last split into fields, and appends them as a row;
    /// `raw` holds the record's bytes.
    fn append(&mut self, raw: &[u8]) -> Result<(), Bad> {
        let (fields, options) = (self.split.fields(), &self.options);
        let text = text_of(self.split.text(raw))?;
        let field = |place: usize| fields.get(place).map(|&(start, end)| &text[start..end]);
        let is_more = self.count < fields.len();
        let is_blank_more = options.allows_blank_more
            && fields.len() == self.count + 1
            && field(self.count).is_some_and(|field| trim(field).is_empty());
        let is_less = fields.len() < self.count && !options.ignores_bad;
        if is_less || (is_more && !is_blank_more && !options.ignores_more) {
            let reason =
                format!("the record has {} fields, but the table {} columns", fields.len(), self.count);
            return Err(Bad { column: None, reason });
        }
        let mut convert = Convert { options, ignored: 0 };
        let wanted = &self.wanted;
        self.rows.append(|place, column| convert.append(field(wanted[place]), column))?;
        self.ignored.values += convert.ignored;
        Ok(())
    }

    /// Counts `bytes`, which follow the decoder's position in the input, as consumed: moves that position and
    /// `at`, the index into the offered bytes, past them. Line ends are counted only if quotes may span lines.
    fn pass(&mut self, bytes: &[u8], at: &mut usize) {
        *at += bytes.len();
        self.position.offset += bytes.len() as u64;
        self.position.lines += match self.split.is_unquoted() {
            true => line_ends(bytes),
            false => u64::from(bytes.last() == Some(&b'\n')),
        };
    }
}

impl Decoder for CsvDecoder {
    fn take(
        &mut self,
        bytes: &[u8],
        is_last: bool,
        rows_max: usize,
        bad: &mut dyn FnMut(BadRecord<'_>),
    ) -> Taken {
        let mut at = 0;
        while self.rows.len() < rows_max && self.bytes < BATCH_BYTES_MAX {
            let rest = &bytes[at..];
            if self.position.is_inside {
                let end = memchr::memchr(b'\n', rest);
                self.pass(&rest[..end.map_or(rest.len(), |end| end + 1)], &mut at);
                self.position.is_inside = end.is_none();
                match end {
                    None => return Taken { bytes: at, wants_more: true },
                    Some(_) => continue,
                }
            }
            let (mut offset, line) = (self.position.offset, self.position.lines + 1);
            let is_first = offset == 0;
            let mark = match rest {
                [0xef, 0xbb, 0xbf, ..] if is_first => 3,
                [0xef] | [0xef, 0xbb] if is_first && !is_last => {
                    return Taken { bytes: at, wants_more: true };
                }
                _ => 0,
            };
            offset += mark as u64;
            let record = self.split.next(&rest[mark..], is_last);
            let (raw, taken, reason) = match record {
                Record::Unfinished => {
                    if is_last {
                        // At the end of the input at most a byte order mark is left, which is skipped.
                        self.pass(rest, &mut at);
                    }
                    return Taken { bytes: at, wants_more: true };
                }
                Record::Passed { taken } => {
                    self.pass(&rest[..mark + taken], &mut at);
                    continue;
                }
                Record::Empty { taken } if self.count != 1 => {
                    self.pass(&rest[..mark + taken], &mut at);
                    continue;
                }
                Record::Empty { taken } => (&rest[mark..mark], taken, None),
                Record::Fields { len, taken } => (&rest[mark..mark + len], taken, None),
                Record::Broken { len, taken, reason } => {
                    (&rest[mark..mark + len], taken, Some(reason.to_owned()))
                }
                Record::TooLong => {
                    self.position.is_inside = true;
                    let reason = format!("the record is longer than {RECORD_BYTES_MAX} bytes");
                    (&rest[mark..mark + RECORD_BYTES_MAX], RECORD_BYTES_MAX, Some(reason))
                }
            };
            self.pass(&rest[..mark + taken], &mut at);
            let read = match reason {
                Some(reason) => Err(Bad { column: None, reason }),
                None if self.has_header => Ok(()),
                None => self.append(raw),
            };
            self.has_header = false;
            match read {
                Ok(()) => self.bytes += raw.len(),
                Err(_) if self.options.ignores_bad => self.ignored.records += 1,
                Err(Bad { column, reason }) => {
                    let column = column.map(|column| self.rows.name(column));
                    bad(BadRecord { raw, offset, line, column, reason });
                }
            }
        }
        Taken { bytes: at, wants_more: false }
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn finish(&mut self) -> Decoded {
        self.bytes = 0;
        Decoded { rows: self.rows.finish(), kinds: None }
    }

    fn position(&self) -> Position {
        self.position
    }

    fn start(&mut self, at: Position) {
        self.position = at;
        self.has_header = at.offset == 0 && self.options.ignores_first;
        self.split = Split::new(self.options.marks);
    }

    fn ignored(&self) -> Ignored {
        self.ignored
    }
}
