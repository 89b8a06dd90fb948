//! Casts of any type to text, which is cut or padded to the length of its type. Also a writer of values of
//! any type as text.
//!
//! Source: Flink, the rules `*ToStringCastRule` and `CharVarCharTrimPadCastRule`; lengths count characters.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, StringBuilder};
use arrow::datatypes::*;
use chrono_tz::Tz;

use super::text;
use super::zone::local_of_instant;
use super::{Caster, Failures, PADDED_MAX};
use crate::functions::{EvaluationError, over};
use crate::types::SqlType;

/// Writer of values of one SQL type as text, as a cast to STRING does: `TRUE`, `1.0E10`,
/// `2021-09-24 12:34:56.123`, `[1, NULL]`, `{a=1}`, `(1, x)`.
pub struct Writer(Write);

type Write = Box<dyn Fn(&dyn Array, usize, &mut String) + Send + Sync>;

impl Writer {
    /// Creates a writer of values of a type as text. Instants are shown in local time of the zone.
    pub fn new(of: &SqlType, zone: Tz) -> Self {
        Writer(writer(of, zone))
    }

    /// Appends the value in a row of a column as text, or `NULL`.
    pub fn write(&self, column: &dyn Array, row: usize, out: &mut String) {
        if column.is_null(row) || *column.data_type() == DataType::Null {
            out.push_str("NULL");
        } else {
            (self.0)(column, row, out);
        }
    }
}

/// Returns the function that casts a type to text; `None` if there is no such cast.
pub(super) fn caster(from: &SqlType, to: &SqlType, zone: Tz) -> Option<Caster> {
    let fit = Fit::of(to)?;
    if let SqlType::Char(length) | SqlType::Varchar(length) = from {
        let is_padded = matches!(to, SqlType::Char(_));
        if !is_padded && fit.length >= *length {
            // The text is passed unchanged, because text in a column is assumed to be no longer than its
            // type.
            return Some(Box::new(|array: &ArrayRef, _: &mut Failures| Ok(Arc::clone(array))));
        }
    }
    let writer = Writer::new(from, zone);
    Some(Box::new(move |array, _| cast(array.as_ref(), &writer, &fit)))
}

fn cast(array: &dyn Array, writer: &Writer, fit: &Fit) -> Result<ArrayRef, EvaluationError> {
    let mut builder = StringBuilder::with_capacity(array.len(), array.len() * 16);
    let mut buffer = String::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.append_null();
        } else {
            buffer.clear();
            writer.write(array, row, &mut buffer);
            let used = builder.values_slice().len();
            fit.cut(&mut buffer);
            over::room(used, buffer.len() + fit.padding(&buffer))?;
            fit.pad(&mut buffer);
            builder.append_value(&buffer);
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// Length in characters that a text type allows, and whether shorter text is padded with spaces.
#[derive(Clone, Copy)]
struct Fit {
    length: u32,
    is_padded: bool,
}

impl Fit {
    fn of(to: &SqlType) -> Option<Fit> {
        match *to {
            SqlType::Char(length) if length <= PADDED_MAX => Some(Fit { length, is_padded: true }),
            SqlType::Varchar(length) => Some(Fit { length, is_padded: false }),
            _ => None,
        }
    }

    fn cut(&self, text: &mut String) {
        // A text has no more characters than bytes, so characters are counted only if the bytes exceed the
        // length.
        let length = self.length as usize;
        if length < text.len()
            && let Some((end, _)) = text.char_indices().nth(length)
        {
            text.truncate(end);
        }
    }

    /// Returns the number of spaces that a text lacks to have the length of its CHAR type.
    fn padding(&self, text: &str) -> usize {
        if self.is_padded { (self.length as usize).saturating_sub(text.chars().count()) } else { 0 }
    }

    fn pad(&self, text: &mut String) {
        text.extend(std::iter::repeat_n(' ', self.padding(text)));
    }
}

fn writer(of: &SqlType, zone: Tz) -> Write {
    match of {
        SqlType::Null => Box::new(|_, _, out| out.push_str("NULL")),
        SqlType::Boolean => Box::new(|column, row, out| {
            if let Some(column) = column.as_boolean_opt() {
                out.push_str(if column.value(row) { "TRUE" } else { "FALSE" });
            }
        }),
        SqlType::TinyInt => number::<Int8Type>(),
        SqlType::SmallInt => number::<Int16Type>(),
        SqlType::Int => number::<Int32Type>(),
        SqlType::BigInt => number::<Int64Type>(),
        SqlType::Float => primitive::<Float32Type>(text::write_float),
        SqlType::Double => primitive::<Float64Type>(text::write_double),
        &SqlType::Decimal { scale, .. } => {
            primitive::<Decimal128Type>(move |value, out| text::write_decimal(value, scale, out))
        }
        SqlType::Char(_) | SqlType::Varchar(_) => Box::new(|column, row, out| {
            if let Some(column) = column.as_string_opt::<i32>() {
                out.push_str(column.value(row));
            }
        }),
        SqlType::Binary(_) | SqlType::Varbinary(_) => Box::new(|column, row, out| {
            if let Some(column) = column.as_binary_opt::<i32>() {
                out.push_str(&String::from_utf8_lossy(column.value(row)));
            }
        }),
        SqlType::Date => primitive::<Date32Type>(text::write_date),
        &SqlType::Time(digits) => {
            primitive::<Time32MillisecondType>(move |value, out| text::write_time(value, digits, out))
        }
        &SqlType::Timestamp(digits) => {
            timestamp(digits, move |value, out| text::write_timestamp(value, digits, out))
        }
        &SqlType::TimestampLtz(digits) => timestamp(digits, move |value, out| {
            let shown = local_of_instant(value, digits, zone).unwrap_or(value);
            text::write_timestamp(shown, digits, out);
        }),
        SqlType::DayTime => primitive::<DurationMillisecondType>(text::write_day_time),
        SqlType::YearMonth => primitive::<IntervalYearMonthType>(text::write_year_month),
        SqlType::Array(item) => array(Writer::new(item, zone)),
        SqlType::Map(key, value) => map(Writer::new(key, zone), Writer::new(value, zone)),
        SqlType::Row(fields) => row(fields.iter().map(|(_, of)| Writer::new(of, zone)).collect()),
    }
}

fn number<T>() -> Write
where
    T: ArrowPrimitiveType,
    T::Native: std::fmt::Display,
{
    primitive::<T>(|value, out| {
        // Writing to a String does not fail.
        let _ = std::fmt::Write::write_fmt(out, format_args!("{value}"));
    })
}

fn primitive<T: ArrowPrimitiveType>(write: impl Fn(T::Native, &mut String) + Send + Sync + 'static) -> Write {
    Box::new(move |column, row, out| {
        if let Some(column) = column.as_primitive_opt::<T>() {
            write(column.value(row), out);
        }
    })
}

fn timestamp(digits: u8, write: impl Fn(i64, &mut String) + Send + Sync + 'static) -> Write {
    match digits {
        0..=3 => primitive::<TimestampMillisecondType>(write),
        4..=6 => primitive::<TimestampMicrosecondType>(write),
        _ => primitive::<TimestampNanosecondType>(write),
    }
}

fn array(item: Writer) -> Write {
    Box::new(move |column, row, out| {
        let Some(column) = column.as_list_opt::<i32>() else { return };
        let items = column.value(row);
        out.push('[');
        for place in 0..items.len() {
            separate(place, out);
            item.write(items.as_ref(), place, out);
        }
        out.push(']');
    })
}

fn map(key: Writer, value: Writer) -> Write {
    Box::new(move |column, row, out| {
        let Some(column) = column.as_map_opt() else { return };
        let entries = column.value(row);
        out.push('{');
        for place in 0..entries.len() {
            separate(place, out);
            key.write(entries.column(0).as_ref(), place, out);
            out.push('=');
            value.write(entries.column(1).as_ref(), place, out);
        }
        out.push('}');
    })
}

fn row(fields: Vec<Writer>) -> Write {
    Box::new(move |column, row, out| {
        let Some(column) = column.as_struct_opt() else { return };
        out.push('(');
        for (place, (field, values)) in fields.iter().zip(column.columns()).enumerate() {
            separate(place, out);
            field.write(values.as_ref(), row, out);
        }
        out.push(')');
    })
}

fn separate(place: usize, out: &mut String) {
    if 0 < place {
        out.push_str(", ");
    }
}
