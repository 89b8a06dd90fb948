//! One column of bytes without encoding, `'format' = 'raw'`.
//!
//! | column | a record |
//! |---|---|
//! | CHAR, VARCHAR, STRING | a line of UTF-8 |
//! | BINARY, VARBINARY, BYTES | a line of any bytes |
//! | BOOLEAN, TINYINT | one byte |
//! | SMALLINT, INT, BIGINT, FLOAT, DOUBLE | 2, 4, 8, 4, 8 bytes |
//!
//! Lines end with a newline; a carriage return before it is dropped. Empty lines are empty values. Numbers follow
//! each other without separators.
//!
//! | option | default | |
//! |---|---|---|
//! | `raw.charset` | UTF-8 | no other value is accepted |
//! | `raw.endianness` | big-endian | big-endian or little-endian |
//!
//! Source: Flink's documentation, "Raw Format"; `RawFormatDeserializationSchema`. Differs from Flink: in files, Flink
//! ends numbers with a newline, too, and cannot read numbers which contain one. Here, text which is not UTF-8 is a
//! bad record, and so are bytes after the last whole number.

use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;

use super::cells::{Cell, cells_of};
use super::column::{Bad, Rows, Values};
use super::json::text_of;
use super::lines::{LineDecoder, LineRules, Records};
use super::options::Given;
use super::{
    BadRecord, Decoded, Decoder, Encoder, FormatColumn, FormatError, Ignored, Position, RowKind, Taken,
    only_inserts,
};

#[cfg(test)]
mod tests;

#[derive(Clone, Copy, Debug)]
pub(super) struct RawOptions {
    is_little: bool,
    /// Number of bytes of a number of fixed width; `None` if records are lines.
    width: Option<usize>,
}

impl RawOptions {
    pub(super) fn bind(given: &mut Given<'_>, columns: &[FormatColumn]) -> Result<Self, FormatError> {
        if let Some(charset) = given.text("charset")
            && !charset.eq_ignore_ascii_case("UTF-8")
        {
            return Err(given.wrong("charset", format!("'{charset}' is not read: only 'UTF-8' is")));
        }
        let ends = [("big-endian", false), ("little-endian", true)];
        let is_little = given.choice("endianness", &ends, false)?;
        let [column] = columns else {
            let column = columns.get(1).map_or_else(String::new, |column| column.name.clone());
            let reason = format!("a table of format 'raw' has one column, not {}", columns.len());
            return Err(FormatError::Column { column, reason });
        };
        let width = match column.of.arrow() {
            DataType::Utf8 | DataType::Binary => None,
            DataType::Boolean | DataType::Int8 => Some(1),
            DataType::Int16 => Some(2),
            DataType::Int32 | DataType::Float32 => Some(4),
            DataType::Int64 | DataType::Float64 => Some(8),
            _ => {
                let reason = format!("{} has no raw form: declare it STRING or BYTES, and cast", column.of);
                return Err(FormatError::Column { column: column.name.clone(), reason });
            }
        };
        Ok(RawOptions { is_little, width })
    }
}

/// A decoder of the format `raw`, for lines or for numbers of fixed width.
pub(super) enum RawDecoder {
    Lines(LineDecoder<RawRecords>),
    Numbers(NumberDecoder),
}

impl RawDecoder {
    pub(super) fn new(options: RawOptions, columns: &[FormatColumn], wanted: &[usize]) -> Self {
        let rows = Rows::new(columns, wanted);
        match options.width {
            None => {
                let rules = LineRules { has_mark: false, skips_blank: false, ignores_bad: false };
                let is_text = columns[0].of.is_text();
                RawDecoder::Lines(LineDecoder::of(RawRecords { rows, is_text }, rules))
            }
            Some(width) => {
                let position = Position::default();
                RawDecoder::Numbers(NumberDecoder { rows, width, is_little: options.is_little, position })
            }
        }
    }

    fn inner(&self) -> &dyn Decoder {
        match self {
            RawDecoder::Lines(decoder) => decoder,
            RawDecoder::Numbers(decoder) => decoder,
        }
    }

    fn inner_mut(&mut self) -> &mut dyn Decoder {
        match self {
            RawDecoder::Lines(decoder) => decoder,
            RawDecoder::Numbers(decoder) => decoder,
        }
    }
}

impl Decoder for RawDecoder {
    fn take(
        &mut self,
        bytes: &[u8],
        is_last: bool,
        rows_max: usize,
        bad: &mut dyn FnMut(BadRecord<'_>),
    ) -> Taken {
        self.inner_mut().take(bytes, is_last, rows_max, bad)
    }

    fn rows(&self) -> usize {
        self.inner().rows()
    }

    fn finish(&mut self) -> Decoded {
        self.inner_mut().finish()
    }

    fn position(&self) -> Position {
        self.inner().position()
    }

    fn start(&mut self, at: Position) {
        self.inner_mut().start(at);
    }

    fn ignored(&self) -> Ignored {
        Ignored::default()
    }
}

pub(super) struct RawRecords {
    rows: Rows,
    is_text: bool,
}

impl Records for RawRecords {
    fn read(&mut self, raw: &[u8]) -> Result<(), Bad> {
        if self.is_text {
            text_of(raw)?;
        }
        self.rows.append(|_, column| {
            if let (_, Values::Bytes { bytes, .. }) = column.parts() {
                bytes.extend_from_slice(raw);
            }
            column.seal();
            Ok(())
        })
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn finish(&mut self) -> Decoded {
        Decoded { rows: self.rows.finish(), kinds: None }
    }

    fn name(&self, column: usize) -> &str {
        self.rows.name(column)
    }

    fn ignored_values(&self) -> u64 {
        0
    }
}

/// A decoder of numbers of fixed width without separators.
pub(super) struct NumberDecoder {
    rows: Rows,
    width: usize,
    is_little: bool,
    position: Position,
}

impl Decoder for NumberDecoder {
    fn take(
        &mut self,
        bytes: &[u8],
        is_last: bool,
        rows_max: usize,
        bad: &mut dyn FnMut(BadRecord<'_>),
    ) -> Taken {
        let mut at = 0;
        while self.rows.len() < rows_max {
            let Some(raw) = bytes.get(at..at + self.width) else {
                let raw = &bytes[at..];
                if is_last && !raw.is_empty() {
                    let offset = self.position.offset;
                    let reason = format!("the input ends after {} bytes of {}", raw.len(), self.width);
                    bad(BadRecord { raw, offset, line: 1, column: None, reason });
                    self.position.offset += raw.len() as u64;
                    at = bytes.len();
                }
                return Taken { bytes: at, wants_more: true };
            };
            let is_little = self.is_little;
            let appended = self.rows.append(|_, column| {
                append_number(raw, is_little, column.parts().1);
                column.seal();
                Ok(())
            });
            debug_assert!(appended.is_ok(), "any bytes are a number");
            at += self.width;
            self.position.offset += self.width as u64;
        }
        Taken { bytes: at, wants_more: false }
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn finish(&mut self) -> Decoded {
        Decoded { rows: self.rows.finish(), kinds: None }
    }

    fn position(&self) -> Position {
        self.position
    }

    fn start(&mut self, at: Position) {
        self.position = at;
    }

    fn ignored(&self) -> Ignored {
        Ignored::default()
    }
}

fn append_number(raw: &[u8], is_little: bool, values: &mut Values) {
    let mut bits = [0; 8];
    for (place, byte) in raw.iter().enumerate() {
        bits[if is_little { place } else { raw.len() - 1 - place }] = *byte;
    }
    let bits = u64::from_le_bytes(bits);
    match values {
        Values::Boolean(values) => values.append(bits != 0),
        Values::Int8(values) => values.push(bits as i8),
        Values::Int16(values) => values.push(bits as i16),
        Values::Int32(values) => values.push(bits as i32),
        Values::Int64(values) => values.push(bits as i64),
        Values::Float32(values) => values.push(f32::from_bits(bits as u32)),
        Values::Float64(values) => values.push(f64::from_bits(bits)),
        _ => unreachable!("a column without a width is read as lines"),
    }
}

/// An encoder of the format `raw`, for lines or for numbers of fixed width.
pub(super) struct RawEncoder {
    names: Vec<String>,
    is_little: bool,
}

impl RawEncoder {
    pub(super) fn new(options: RawOptions, columns: &[FormatColumn]) -> Self {
        let names = columns.iter().map(|column| column.name.clone()).collect();
        RawEncoder { names, is_little: options.is_little }
    }
}

impl Encoder for RawEncoder {
    fn write(
        &mut self,
        rows: &RecordBatch,
        kinds: Option<&[RowKind]>,
        to: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        only_inserts("raw", kinds)?;
        let cells = cells_of(rows.columns(), &self.names)?;
        let Some(cells) = cells.first() else { return Ok(()) };
        let width = match rows.column(0).data_type() {
            DataType::Int16 => 2,
            DataType::Int32 => 4,
            DataType::Int64 => 8,
            _ => 1,
        };
        for row in 0..rows.num_rows() {
            match cells.at(row) {
                Cell::Text(bytes) | Cell::Bytes(bytes) => {
                    to.extend_from_slice(bytes);
                    to.push(b'\n');
                }
                Cell::Boolean(value) => to.push(u8::from(value)),
                Cell::Integer(value) => self.number(&value.to_be_bytes()[8 - width..], to),
                Cell::Float(value) => self.number(&value.to_be_bytes(), to),
                Cell::Double(value) => self.number(&value.to_be_bytes(), to),
                Cell::Null => {
                    let reason = "NULL has no raw form: write COALESCE(value, other)".to_owned();
                    return Err(FormatError::Value { reason });
                }
                _ => {
                    let reason = format!("{} has no raw form", rows.column(0).data_type());
                    return Err(FormatError::Value { reason });
                }
            }
        }
        Ok(())
    }
}

impl RawEncoder {
    fn number(&self, big: &[u8], to: &mut Vec<u8>) {
        if self.is_little { to.extend(big.iter().rev()) } else { to.extend_from_slice(big) }
    }
}
