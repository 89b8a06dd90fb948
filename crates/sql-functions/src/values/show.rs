//! Values as text, for EXPLAIN and messages. Texts and numbers stand as they are, times as their numbers, dates as
//! in ISO 8601, and the first bytes of a byte string in hexadecimal digits.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray, MapArray, StructArray};
use arrow::datatypes::{DataType, Decimal128Type, DecimalType};
use arrow::util::display::array_value_to_string;
use chrono::NaiveDate;

use super::ScalarValue;

/// Greatest number of bytes of a byte string that are shown.
const SHOWN_BYTES: usize = 10;

impl fmt::Display for ScalarValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null() {
            return f.write_str("NULL");
        }
        match self {
            ScalarValue::Null => f.write_str("NULL"),
            ScalarValue::Boolean(value) => known(f, value.as_ref()),
            ScalarValue::Int8(value) => known(f, value.as_ref()),
            ScalarValue::Int16(value) => known(f, value.as_ref()),
            ScalarValue::Int32(value)
            | ScalarValue::Time32Millisecond(value)
            | ScalarValue::IntervalYearMonth(value) => known(f, value.as_ref()),
            ScalarValue::Int64(value)
            | ScalarValue::TimestampMillisecond(value, _)
            | ScalarValue::TimestampMicrosecond(value, _)
            | ScalarValue::TimestampNanosecond(value, _)
            | ScalarValue::DurationMillisecond(value) => known(f, value.as_ref()),
            ScalarValue::Float32(value) => known(f, value.as_ref()),
            ScalarValue::Float64(value) => known(f, value.as_ref()),
            ScalarValue::Decimal128(value, precision, scale) => {
                known(f, value.map(|value| Decimal128Type::format_decimal(value, *precision, *scale)))
            }
            ScalarValue::Utf8(text) => known(f, text.as_ref()),
            ScalarValue::Binary(bytes) => hexadecimal(f, bytes.as_deref().unwrap_or_default()),
            // A day beyond the years of the calendar has no text.
            ScalarValue::Date32(days) => known(f, days.and_then(NaiveDate::from_epoch_days)),
            ScalarValue::List(list) => f.write_str(&cell(list.as_ref(), 0)),
            ScalarValue::Map(map) => entries(f, map),
            ScalarValue::Struct(row) => fields(f, row),
        }
    }
}

fn known(f: &mut fmt::Formatter<'_>, value: Option<impl fmt::Display>) -> fmt::Result {
    match value {
        Some(value) => write!(f, "{value}"),
        None => Ok(()),
    }
}

fn hexadecimal(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    for byte in bytes.iter().take(SHOWN_BYTES) {
        write!(f, "{byte:02X}")?;
    }
    if bytes.len() > SHOWN_BYTES { f.write_str("...") } else { Ok(()) }
}

fn entries(f: &mut fmt::Formatter<'_>, map: &MapArray) -> fmt::Result {
    let entries = map.value(0);
    f.write_str("[{")?;
    for row in 0..entries.len() {
        let comma = if row == 0 { "" } else { "," };
        write!(f, "{comma}{}:{}", cell(entries.column(0), row), cell(entries.column(1), row))?;
    }
    f.write_str("}]")
}

fn fields(f: &mut fmt::Formatter<'_>, row: &StructArray) -> fmt::Result {
    f.write_str("{")?;
    for (place, (column, field)) in row.columns().iter().zip(row.fields()).enumerate() {
        let comma = if place == 0 { "" } else { "," };
        write!(f, "{comma}{}:", field.name())?;
        match column.data_type() {
            DataType::Struct(_) => {
                write!(f, "{}", ScalarValue::Struct(Arc::new(column.as_struct().clone())))?;
            }
            _ => f.write_str(&cell(column, 0))?,
        }
    }
    f.write_str("}")
}

/// Returns the text that Arrow has for a row of a column: empty for NULL, and the reason if there is no text.
fn cell(column: &dyn Array, row: usize) -> String {
    array_value_to_string(column, row).unwrap_or_else(|error| error.to_string())
}
