//! Values as Java's `toString` writes them, which is how Flink prints them and names partitions.
//!
//! | type | printed | names a partition |
//! |---|---|---|
//! | BOOLEAN, numbers | `true`, `1`, `1.0E10` | the same |
//! | DECIMAL | `0.50`, `1E-8` | without an exponent |
//! | text, DATE | as they are, `2020-01-01` | the same |
//! | TIME, TIMESTAMP | `12:00`, `2020-01-01T12:00:01.500` | the same |
//! | TIMESTAMP_LTZ | `2020-01-01T12:00:00Z` | `2020-01-01T12:00` |
//! | bytes | `[1, -1]` | |
//! | intervals | `P1Y2M`, `PT1H30M` | |
//! | ARRAY, MAP, ROW | `[1, null]`, `{a=1}`, `+I[1, x]` | |
//!
//! Source: Flink, `RowUtils.deepToStringRow` over the default conversion classes of "Data Types", and
//! `RowDataPartitionComputer`; Java, `LocalDate`, `LocalTime`, `LocalDateTime`, `Instant`, `Period`, `Duration` and
//! `BigDecimal`.
//!
//! Differs from Flink: a DATE names a partition as `2020-01-01`, as Flink reads it, where it writes the number of its day.

use std::fmt::Write;

use arrow::array::{Array, ArrowPrimitiveType, AsArray};
use arrow::datatypes::*;
use thalweg_sql_functions::functions::cast::text::{
    ticks_per_second, write_decimal, write_double, write_float,
};
use thalweg_sql_functions::functions::time::calendar::{Civil, civil};
use thalweg_sql_functions::types::SqlType;

/// Writes the values of one SQL type as Java's `toString` does.
pub(super) struct JavaText(Box<dyn Fn(&dyn Array, usize, &mut String) + Send + Sync>);

/// The purpose of the text, on which its form depends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    /// The text is printed by the connector `print`.
    Print,
    /// The text names the directory of a partition.
    Partition,
}

impl JavaText {
    pub(super) fn new(of: &SqlType, to: Use) -> Self {
        JavaText(writer(of, to))
    }

    /// Appends the value of a row; `null` if it is NULL.
    pub(super) fn write(&self, column: &dyn Array, row: usize, out: &mut String) {
        if column.is_null(row) || *column.data_type() == DataType::Null {
            out.push_str("null");
        } else {
            (self.0)(column, row, out);
        }
    }
}

type Writing = Box<dyn Fn(&dyn Array, usize, &mut String) + Send + Sync>;

fn writer(of: &SqlType, to: Use) -> Writing {
    match of {
        SqlType::Null => Box::new(|_, _, out| out.push_str("null")),
        SqlType::Boolean => Box::new(|column, row, out| {
            if let Some(column) = column.as_boolean_opt() {
                out.push_str(if column.value(row) { "true" } else { "false" });
            }
        }),
        SqlType::TinyInt => whole::<Int8Type>(),
        SqlType::SmallInt => whole::<Int16Type>(),
        SqlType::Int => whole::<Int32Type>(),
        SqlType::BigInt => whole::<Int64Type>(),
        SqlType::Float => primitive::<Float32Type>(write_float),
        SqlType::Double => primitive::<Float64Type>(write_double),
        &SqlType::Decimal { scale, .. } => primitive::<Decimal128Type>(move |value, out| match to {
            Use::Print => write_big_decimal(value, scale, out),
            Use::Partition => write_decimal(value, scale, out),
        }),
        SqlType::Char(_) | SqlType::Varchar(_) => Box::new(|column, row, out| {
            if let Some(column) = column.as_string_opt::<i32>() {
                out.push_str(column.value(row));
            }
        }),
        SqlType::Binary(_) | SqlType::Varbinary(_) => Box::new(|column, row, out| {
            if let Some(column) = column.as_binary_opt::<i32>() {
                write_bytes(column.value(row), out);
            }
        }),
        SqlType::Date => primitive::<Date32Type>(|days, out| write_day(i64::from(days), out)),
        SqlType::Time(_) => primitive::<Time32MillisecondType>(|millis, out| {
            let millis = i64::from(millis).rem_euclid(86_400_000);
            write_clock(millis / 1_000, (millis % 1_000 * 1_000_000) as u32, Seconds::IfAny, out);
        }),
        &SqlType::Timestamp(digits) => timestamp(digits, false),
        &SqlType::TimestampLtz(digits) => timestamp(digits, to == Use::Print),
        SqlType::DayTime => primitive::<DurationMillisecondType>(write_duration),
        SqlType::YearMonth => primitive::<IntervalYearMonthType>(write_period),
        SqlType::Array(item) => {
            let item = JavaText::new(item, to);
            Box::new(move |column, row, out| {
                let Some(column) = column.as_list_opt::<i32>() else { return };
                let items = column.value(row);
                let write = |place: usize, out: &mut String| item.write(items.as_ref(), place, out);
                list(items.len(), write, '[', ']', out);
            })
        }
        SqlType::Map(key, value) => {
            let (key, value) = (JavaText::new(key, to), JavaText::new(value, to));
            Box::new(move |column, row, out| {
                let Some(column) = column.as_map_opt() else { return };
                let entries = column.value(row);
                let write = |place: usize, out: &mut String| {
                    key.write(entries.column(0).as_ref(), place, out);
                    out.push('=');
                    value.write(entries.column(1).as_ref(), place, out);
                };
                list(entries.len(), write, '{', '}', out);
            })
        }
        SqlType::Row(fields) => {
            let fields: Vec<JavaText> = fields.iter().map(|(_, of)| JavaText::new(of, to)).collect();
            Box::new(move |column, row, out| {
                let Some(column) = column.as_struct_opt() else { return };
                let write = |place: usize, out: &mut String| {
                    if let Some(field) = fields.get(place) {
                        field.write(column.column(place).as_ref(), row, out);
                    }
                };
                out.push_str("+I");
                list(column.num_columns(), write, '[', ']', out);
            })
        }
    }
}

fn list(count: usize, write: impl Fn(usize, &mut String), open: char, close: char, out: &mut String) {
    out.push(open);
    for place in 0..count {
        if place > 0 {
            out.push_str(", ");
        }
        write(place, out);
    }
    out.push(close);
}

fn primitive<T: ArrowPrimitiveType>(
    write: impl Fn(T::Native, &mut String) + Send + Sync + 'static,
) -> Writing {
    Box::new(move |column, row, out| {
        if let Some(column) = column.as_primitive_opt::<T>() {
            write(column.value(row), out);
        }
    })
}

fn whole<T: ArrowPrimitiveType>() -> Writing
where
    T::Native: std::fmt::Display,
{
    primitive::<T>(|value, out| {
        // Results of `write!` are ignored in this file, because writing to a String does not fail.
        let _ = write!(out, "{value}");
    })
}

fn timestamp(digits: u8, is_instant: bool) -> Writing {
    let write = move |value: i64, out: &mut String| {
        let ticks = ticks_per_second(digits);
        let (seconds, rest) = (value.div_euclid(ticks), value.rem_euclid(ticks));
        write_day(seconds.div_euclid(86_400), out);
        out.push('T');
        let nanos = (rest * (1_000_000_000 / ticks)) as u32;
        let shown = if is_instant { Seconds::Always } else { Seconds::IfAny };
        write_clock(seconds.rem_euclid(86_400), nanos, shown, out);
        if is_instant {
            out.push('Z');
        }
    };
    match digits {
        0..=3 => primitive::<TimestampMillisecondType>(write),
        4..=6 => primitive::<TimestampMicrosecondType>(write),
        _ => primitive::<TimestampNanosecondType>(write),
    }
}

/// Writes a date as `yyyy-MM-dd`, with a sign before years of more than four digits and before years below 0.
fn write_day(days: i64, out: &mut String) {
    let Civil { year, month, day } = civil(days);
    let sign = match year {
        i64::MIN..0 => "-",
        0..=9_999 => "",
        _ => "+",
    };
    let _ = write!(out, "{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs());
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seconds {
    Always,
    /// Seconds are left out if they and the fraction are 0.
    IfAny,
}

/// Writes a time of day as `HH:mm` or `HH:mm:ss`, with as many groups of three digits of a second as are
/// needed.
fn write_clock(seconds: i64, nanos: u32, shown: Seconds, out: &mut String) {
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let _ = write!(out, "{hour:02}:{minute:02}");
    if second == 0 && nanos == 0 && shown == Seconds::IfAny {
        return;
    }
    let _ = write!(out, ":{second:02}");
    let _ = if nanos == 0 {
        Ok(())
    } else if nanos.is_multiple_of(1_000_000) {
        write!(out, ".{:03}", nanos / 1_000_000)
    } else if nanos.is_multiple_of(1_000) {
        write!(out, ".{:06}", nanos / 1_000)
    } else {
        write!(out, ".{nanos:09}")
    };
}

/// Writes a decimal as Java's `BigDecimal.toString` does: with an exponent if the value is below 10^-6.
fn write_big_decimal(value: i128, scale: u8, out: &mut String) {
    let digits = value.unsigned_abs().to_string();
    let exponent = digits.len() as i32 - 1 - i32::from(scale);
    if exponent >= -6 {
        return write_decimal(value, scale, out);
    }
    if value < 0 {
        out.push('-');
    }
    out.push_str(&digits[..1]);
    if digits.len() > 1 {
        out.push('.');
        out.push_str(&digits[1..]);
    }
    let _ = write!(out, "E{exponent}");
}

/// Writes bytes as Java's `Arrays.toString` does, where bytes are signed.
fn write_bytes(bytes: &[u8], out: &mut String) {
    let write = |place: usize, out: &mut String| {
        let _ = write!(out, "{}", bytes[place] as i8);
    };
    list(bytes.len(), write, '[', ']', out);
}

/// Writes a number of months as Java's `Period.toString` does, in years and months.
fn write_period(months: i32, out: &mut String) {
    let (years, months) = (months / 12, months % 12);
    if years == 0 && months == 0 {
        out.push_str("P0D");
        return;
    }
    out.push('P');
    if years != 0 {
        let _ = write!(out, "{years}Y");
    }
    if months != 0 {
        let _ = write!(out, "{months}M");
    }
}

/// Writes milliseconds as Java's `Duration.toString` does: hours, minutes and seconds, each with the sign.
fn write_duration(millis: i64, out: &mut String) {
    if millis == 0 {
        out.push_str("PT0S");
        return;
    }
    out.push_str("PT");
    let (seconds, rest) = (millis / 1_000, (millis % 1_000).unsigned_abs());
    let (hours, minutes, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours != 0 {
        let _ = write!(out, "{hours}H");
    }
    if minutes != 0 {
        let _ = write!(out, "{minutes}M");
    }
    if second == 0 && rest == 0 {
        return;
    }
    let sign = if millis < 0 && second == 0 { "-" } else { "" };
    let _ = write!(out, "{sign}{second}");
    if rest != 0 {
        let digits = format!("{rest:03}");
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
    out.push('S');
}

#[cfg(test)]
mod tests;
