//! Encoding of rows as JSON lines.
//!
//! Sources: Flink's `RowDataToJsonConverters`, `JsonRowDataSerializationSchema`, and Jackson's output for their
//! nodes. Floating-point numbers are written as in Java, with `NaN` and infinities in quotes; decimals without
//! trailing zeros.

use super::text::{Comma, write_string};
use crate::cells::{Cell, Cells, cells_of};
use crate::value::{
    TimestampForm, write_base64, write_date, write_decimal, write_f32, write_f64, write_integer, write_time,
    write_timestamp,
};
use crate::{Encoder, FormatColumn, FormatError, RowKind, only_inserts};

use arrow::record_batch::RecordBatch;

use super::JsonOptions;

/// Options that say how rows are written as JSON.
#[derive(Clone, Debug)]
pub(in super::super) struct EncodeRules {
    pub(super) form: TimestampForm,
    pub(super) null_keys: NullKeys,
    pub(super) is_plain: bool,
    pub(in super::super) omits_null: bool,
}

/// The treatment of NULL as the key of a map, which JSON cannot represent.
#[derive(Clone, Debug)]
pub(in super::super) enum NullKeys {
    Fail,
    Drop,
    Literal(String),
}

pub(in super::super) struct JsonEncoder {
    row: JsonRow,
}

impl JsonEncoder {
    pub(in super::super) fn new(options: JsonOptions, columns: &[FormatColumn]) -> Self {
        JsonEncoder { row: JsonRow::new(options.encode, columns) }
    }
}

impl Encoder for JsonEncoder {
    fn write(
        &mut self,
        rows: &RecordBatch,
        kinds: Option<&[RowKind]>,
        to: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        only_inserts("json", kinds)?;
        let cells = self.row.cells(rows)?;
        for row in 0..rows.num_rows() {
            let len = to.len();
            if let Err(error) = self.row.write(&cells, row, to) {
                to.truncate(len);
                return Err(error);
            }
            to.push(b'\n');
        }
        Ok(())
    }
}

/// A writer of rows as JSON objects.
pub(in super::super) struct JsonRow {
    rules: EncodeRules,
    names: Vec<String>,
    /// The column names as JSON keys: in quotes, followed by a colon.
    keys: Vec<Vec<u8>>,
}

impl JsonRow {
    pub(in super::super) fn new(rules: EncodeRules, columns: &[FormatColumn]) -> Self {
        let names: Vec<_> = columns.iter().map(|column| column.name.clone()).collect();
        let keys = names.iter().map(|name| key_of(name)).collect();
        JsonRow { rules, names, keys }
    }

    pub(in super::super) fn rules(&self) -> &EncodeRules {
        &self.rules
    }

    pub(in super::super) fn cells<'a>(&self, rows: &'a RecordBatch) -> Result<Vec<Cells<'a>>, FormatError> {
        cells_of(rows.columns(), &self.names)
    }

    /// Appends a row as a JSON object.
    pub(in super::super) fn write<'a>(
        &self,
        cells: &'a [Cells<'a>],
        row: usize,
        to: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        to.push(b'{');
        let mut comma = Comma::default();
        for (key, cells) in self.keys.iter().zip(cells) {
            let cell = cells.at(row);
            if matches!(cell, Cell::Null) && self.rules.omits_null {
                continue;
            }
            comma.write(to);
            to.extend_from_slice(key);
            self.write_cell(cell, to)?;
        }
        to.push(b'}');
        Ok(())
    }

    fn write_cell(&self, cell: Cell<'_>, to: &mut Vec<u8>) -> Result<(), FormatError> {
        let form = self.rules.form;
        match cell {
            Cell::Null => to.extend_from_slice(b"null"),
            Cell::Boolean(value) => to.extend_from_slice(if value { b"true" } else { b"false" }),
            Cell::Integer(value) => write_integer(value, to),
            Cell::Float(value) if value.is_finite() => write_f32(value, to),
            Cell::Float(value) => in_quotes(to, |to| write_f32(value, to)),
            Cell::Double(value) if value.is_finite() => write_f64(value, to),
            Cell::Double(value) => in_quotes(to, |to| write_f64(value, to)),
            Cell::Decimal { value, scale } => write_decimal(value, scale, self.rules.is_plain, to),
            Cell::Text(text) => write_string(text, to),
            Cell::Bytes(bytes) => in_quotes(to, |to| write_base64(bytes, to)),
            Cell::Date(days) => in_quotes(to, |to| write_date(days.into(), to)),
            Cell::Time(millis) => in_quotes(to, |to| write_time(millis, to)),
            Cell::Timestamp { value, unit, is_instant } => {
                in_quotes(to, |to| write_timestamp(value, unit, form, is_instant, to));
            }
            Cell::List { item, from, to: end } => {
                to.push(b'[');
                let mut comma = Comma::default();
                for place in from..end {
                    comma.write(to);
                    self.write_cell(item.at(place), to)?;
                }
                to.push(b']');
            }
            Cell::Map { key, value, from, to: end } => self.write_map((key, value), from..end, to)?,
            Cell::Row { fields, row } => {
                to.push(b'{');
                let mut comma = Comma::default();
                for (name, cells) in fields {
                    let cell = cells.at(row);
                    if matches!(cell, Cell::Null) && self.rules.omits_null {
                        continue;
                    }
                    comma.write(to);
                    write_string(name.as_bytes(), to);
                    to.push(b':');
                    self.write_cell(cell, to)?;
                }
                to.push(b'}');
            }
        }
        Ok(())
    }

    fn write_map(
        &self,
        (key, value): (&Cells<'_>, &Cells<'_>),
        places: std::ops::Range<usize>,
        to: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        to.push(b'{');
        let mut comma = Comma::default();
        for place in places {
            let name = match (key.at(place), &self.rules.null_keys) {
                (Cell::Text(name), _) => name,
                (_, NullKeys::Literal(name)) => name.as_bytes(),
                (_, NullKeys::Drop) => continue,
                (_, NullKeys::Fail) => {
                    let reason = "a map has NULL as a key: set 'map-null-key.mode' to 'DROP' or 'LITERAL'";
                    return Err(FormatError::Value { reason: reason.to_owned() });
                }
            };
            comma.write(to);
            write_string(name, to);
            to.push(b':');
            self.write_cell(value.at(place), to)?;
        }
        to.push(b'}');
        Ok(())
    }
}

fn key_of(name: &str) -> Vec<u8> {
    let mut key = Vec::new();
    write_string(name.as_bytes(), &mut key);
    key.push(b':');
    key
}

fn in_quotes(to: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    to.push(b'"');
    write(to);
    to.push(b'"');
}
