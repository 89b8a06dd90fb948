//! Encoding of rows as CSV records.
//!
//! Texts, times, bytes, decimals and joined elements get quotes where Jackson writes them. Jackson quotes a text of
//! more than 24 characters, and one with the escape character or with a character not above both the delimiter and
//! the quote in ASCII, such as a blank. This quotes more often than needed, and never less. Numbers and booleans have
//! no quotes.
//!
//! NULL is written as its literal. Without a literal it is an empty field, which is read back as an empty text.
//!
//! Sources: Flink's `RowDataToCsvConverters`, `CsvRowDataSerializationSchema`; Jackson's `CsvEncoder`.

use arrow::record_batch::RecordBatch;

use super::CsvOptions;
use crate::cells::{Cell, cells_of};
use crate::value::{
    TimestampForm, write_base64, write_date, write_decimal, write_f32, write_f64, write_integer, write_time,
    write_timestamp,
};
use crate::{Encoder, FormatColumn, FormatError, RowKind, only_inserts};

/// CSV fields with more UTF-16 units than this are not searched for special characters; they are always
/// quoted.
const SEARCHED_MAX: usize = 24;

pub(in super::super) struct CsvEncoder {
    options: CsvOptions,
    names: Vec<String>,
    /// Lowest character that needs no quotes: a field with a character below it is quoted.
    safe: u8,
    /// The text of the field being written, until it is known whether the field needs quotes.
    field: Vec<u8>,
}

impl CsvEncoder {
    pub(in super::super) fn new(options: CsvOptions, columns: &[FormatColumn]) -> Self {
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let safe = options.marks.delimiter.max(options.marks.quote.unwrap_or(0)).max(b'\n') + 1;
        CsvEncoder { options, names, safe, field: Vec::new() }
    }
}

impl Encoder for CsvEncoder {
    fn write(
        &mut self,
        rows: &RecordBatch,
        kinds: Option<&[RowKind]>,
        to: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        only_inserts("csv", kinds)?;
        let cells = cells_of(rows.columns(), &self.names)?;
        for row in 0..rows.num_rows() {
            for (place, cells) in cells.iter().enumerate() {
                if place != 0 {
                    to.push(self.options.marks.delimiter);
                }
                self.write_field(cells.at(row), to);
            }
            to.push(b'\n');
        }
        Ok(())
    }
}

impl CsvEncoder {
    fn write_field(&mut self, cell: Cell<'_>, to: &mut Vec<u8>) {
        let mut field = std::mem::take(&mut self.field);
        field.clear();
        self.write_value(cell, &mut field);
        let may_need_quotes = !matches!(
            cell,
            Cell::Null | Cell::Boolean(_) | Cell::Integer(_) | Cell::Float(_) | Cell::Double(_)
        );
        match self.options.marks.quote {
            Some(quote) if may_need_quotes && self.needs_quotes(&field) => {
                to.push(quote);
                for byte in &field {
                    if *byte == quote || Some(*byte) == self.options.marks.escape {
                        to.push(*byte);
                    }
                    to.push(*byte);
                }
                to.push(quote);
            }
            _ => to.extend_from_slice(&field),
        }
        self.field = field;
    }

    fn needs_quotes(&self, field: &[u8]) -> bool {
        let escape = self.options.marks.escape;
        // Bytes of characters beyond ASCII are above all special characters of CSV. A character of four bytes
        // counts as two UTF-16 units.
        let is_head = |byte: u8| byte & 0xC0 != 0x80;
        let count: usize =
            field.iter().map(|byte| usize::from(is_head(*byte)) + usize::from(0xF0 <= *byte)).sum();
        SEARCHED_MAX < count || field.iter().any(|byte| *byte < self.safe || Some(*byte) == escape)
    }

    fn write_value(&self, cell: Cell<'_>, to: &mut Vec<u8>) {
        match cell {
            Cell::Null => to.extend_from_slice(self.options.null.as_deref().unwrap_or_default().as_bytes()),
            Cell::Boolean(value) => to.extend_from_slice(if value { b"true" } else { b"false" }),
            Cell::Integer(value) => write_integer(value, to),
            Cell::Float(value) => write_f32(value, to),
            Cell::Double(value) => write_f64(value, to),
            Cell::Decimal { value, scale } => write_decimal(value, scale, self.options.is_plain, to),
            Cell::Text(text) => to.extend_from_slice(text),
            Cell::Bytes(bytes) => write_base64(bytes, to),
            Cell::Date(days) => write_date(days.into(), to),
            Cell::Time(millis) => write_time(millis, to),
            Cell::Timestamp { value, unit, is_instant } => {
                write_timestamp(value, unit, TimestampForm::Sql, is_instant, to);
            }
            Cell::List { item, from, to: end } => {
                self.write_elements((from..end).map(|place| item.at(place)), to);
            }
            Cell::Row { fields, row } => {
                self.write_elements(fields.iter().map(|(_, cells)| cells.at(row)), to);
            }
            // Columns of type MAP are refused when the format is bound, so there is no such value here.
            Cell::Map { .. } => {}
        }
    }

    fn write_elements<'a>(&self, elements: impl Iterator<Item = Cell<'a>>, to: &mut Vec<u8>) {
        for (place, element) in elements.enumerate() {
            if place != 0 {
                to.extend_from_slice(self.options.between.as_bytes());
            }
            self.write_value(element, to);
        }
    }
}
