//! PRINTF: values written by a pattern of Java's `Formatter`, such as `PRINTF('%05d|%-10s|%.2f', id, name, price)`.
//!
//! A pattern that is not valid, a value that is missing, or one that its place does not take makes the result NULL, as in
//! Flink. Values are formatted as Flink holds them: a DATE is the number of its day, a TIME its milliseconds, a TIMESTAMP
//! a text such as `2024-01-01T10:11:12.500`, and a DECIMAL a text, which `%f` does not take.
//!
//! Source: Flink, `PrintfFunction`; Java 17, `java.util.Formatter`.
//!
//! Differs from Flink: `%h`, which shows a hash of Java's objects, `%a` and `%t` give NULL; arrays, maps, rows and bytes, whose
//! objects Flink shows, are refused.

mod pattern;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::*;

use self::pattern::{Conversion, Flags, Of, Piece, parsed};
use crate::functions::cast::Writer;
use crate::functions::each::{self, Input, Nulls, Text, bound, failure, one_or_many};
use crate::functions::time::calendar::{DAY_SECONDS, civil};
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError};
use crate::types::SqlType;
use crate::values::ColumnarValue;

/// Binds PRINTF: a STRING, NULL if the pattern does not fit the values.
pub(super) fn printf(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    let Some((pattern, values)) = given.split_first() else { return Err(BindError::count(0)) };
    if !pattern.of.is_text() && pattern.of != SqlType::Null {
        return Err(BindError::of_type(1, &pattern.of));
    }
    let mut types = vec![SqlType::STRING];
    for (place, value) in values.iter().enumerate() {
        types.push(match &value.of {
            SqlType::Null => SqlType::Int,
            SqlType::Array(_) | SqlType::Map(..) | SqlType::Row(_) => {
                return Err(BindError::of_type(place + 2, &value.of));
            }
            of if of.is_bytes() => return Err(BindError::of_type(place + 2, of)),
            of => of.clone(),
        });
    }
    let zone = context.zone;
    let of_values = types[1..].to_vec();
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, move |arguments, rows| {
        let patterns = Input::<Text>::of(&arguments[0])?;
        let columns: Vec<Column> = arguments[1..]
            .iter()
            .zip(&of_values)
            .map(|(argument, of)| Column::of(argument, of, zone))
            .collect::<Result<_, _>>()?;
        // The pattern that was read last, which is the only one if it is a literal.
        let mut known: (String, Option<Vec<Piece>>) = (String::new(), Some(Vec::new()));
        each::written(arguments, rows, |row, out| {
            let Some(pattern) = patterns.at(row) else { return Ok(None) };
            if known.0 != pattern {
                known = (pattern.to_owned(), parsed(pattern));
            }
            match &known.1 {
                Some(pieces) => written(pieces, &columns, row, out),
                None => Ok(None),
            }
        })
    }))
}

/// A value as the places of a pattern take it.
enum Value {
    /// A whole number, with the bits of its type.
    Whole(i64, u32),
    Float(f64),
    Flag(bool),
    /// A value that is only shown as text.
    Shown,
}

/// Values of an argument.
struct Column {
    array: ArrayRef,
    stride: usize,
    kind: Kind,
    writer: Writer,
}

enum Kind {
    Whole(PrimitiveArray<Int64Type>, u32),
    Float(PrimitiveArray<Float64Type>),
    Flag,
    /// A timestamp as a number of ticks, with the ticks of a second.
    Timestamp(PrimitiveArray<Int64Type>, i64),
    Shown,
}

impl Column {
    fn of(argument: &ColumnarValue, of: &SqlType, zone: chrono_tz::Tz) -> Result<Self, EvaluationError> {
        let (array, stride) = one_or_many(argument)?;
        let whole = |array: &ArrayRef, bits| -> Result<Kind, EvaluationError> {
            let numbers = cast(array, &DataType::Int64).map_err(|error| failure(&error))?;
            Ok(Kind::Whole(numbers.as_primitive::<Int64Type>().clone(), bits))
        };
        let ticks = |numbers: PrimitiveArray<Int64Type>, per_second| Ok(Kind::Timestamp(numbers, per_second));
        let kind = match array.data_type() {
            DataType::Int8 => whole(&array, 8),
            DataType::Int16 => whole(&array, 16),
            DataType::Int32 => whole(&array, 32),
            DataType::Int64 => whole(&array, 64),
            DataType::Date32 => {
                let days = array.as_primitive::<Date32Type>().unary::<_, Int64Type>(i64::from);
                Ok(Kind::Whole(days, 32))
            }
            DataType::Time32(_) => {
                let millis = array.as_primitive::<Time32MillisecondType>().unary::<_, Int64Type>(i64::from);
                Ok(Kind::Whole(millis, 32))
            }
            DataType::Interval(IntervalUnit::YearMonth) => {
                let months = array.as_primitive::<IntervalYearMonthType>().unary::<_, Int64Type>(i64::from);
                Ok(Kind::Whole(months, 32))
            }
            DataType::Duration(_) => {
                Ok(Kind::Whole(array.as_primitive::<DurationMillisecondType>().reinterpret_cast(), 64))
            }
            DataType::Float32 | DataType::Float64 => {
                let numbers = cast(&array, &DataType::Float64).map_err(|error| failure(&error))?;
                Ok(Kind::Float(numbers.as_primitive::<Float64Type>().clone()))
            }
            DataType::Boolean => Ok(Kind::Flag),
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                ticks(array.as_primitive::<TimestampMillisecondType>().reinterpret_cast(), 1_000)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                ticks(array.as_primitive::<TimestampMicrosecondType>().reinterpret_cast(), 1_000_000)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                ticks(array.as_primitive::<TimestampNanosecondType>().reinterpret_cast(), 1_000_000_000)
            }
            _ => Ok(Kind::Shown),
        }?;
        Ok(Column { array, stride, kind, writer: Writer::new(of, zone) })
    }

    /// Returns the value of a row; `None` if it is NULL.
    fn at(&self, row: usize) -> Option<Value> {
        let row = row * self.stride;
        if self.array.is_null(row) {
            return None;
        }
        Some(match &self.kind {
            Kind::Whole(numbers, bits) => Value::Whole(numbers.value(row), *bits),
            Kind::Float(numbers) => Value::Float(numbers.value(row)),
            Kind::Flag => Value::Flag(self.array.as_boolean().value(row)),
            Kind::Timestamp(..) | Kind::Shown => Value::Shown,
        })
    }

    /// Writes the value of a row, which is not NULL, as Java shows it.
    fn show(&self, row: usize, out: &mut String) {
        let row = row * self.stride;
        match &self.kind {
            Kind::Whole(numbers, _) => *out += &numbers.value(row).to_string(),
            Kind::Flag => *out += if self.array.as_boolean().value(row) { "true" } else { "false" },
            Kind::Timestamp(ticks, per_second) => timestamp(ticks.value(row), *per_second, out),
            Kind::Float(_) | Kind::Shown => self.writer.write(&self.array, row, out),
        }
    }
}

/// Writes a timestamp as Java's `LocalDateTime` does, in UTC.
fn timestamp(ticks: i64, per_second: i64, out: &mut String) {
    let (seconds, nanos) =
        (ticks.div_euclid(per_second), ticks.rem_euclid(per_second) * (1_000_000_000 / per_second));
    let date = civil(seconds.div_euclid(DAY_SECONDS));
    let second = seconds.rem_euclid(DAY_SECONDS);
    let sign = if date.year > 9_999 { "+" } else { "" };
    *out += &format!("{sign}{:04}-{:02}-{:02}T", date.year, date.month, date.day);
    *out += &format!("{:02}:{:02}", second / 3_600, second / 60 % 60);
    if second % 60 == 0 && nanos == 0 {
        return;
    }
    *out += &format!(":{:02}", second % 60);
    *out += &match (nanos, nanos % 1_000_000, nanos % 1_000) {
        (0, ..) => String::new(),
        (_, 0, _) => format!(".{:03}", nanos / 1_000_000),
        (_, _, 0) => format!(".{:06}", nanos / 1_000),
        _ => format!(".{nanos:09}"),
    };
}

/// Writes all pieces of a pattern for a row; `None` if a value does not fit its place.
fn written(
    pieces: &[Piece],
    columns: &[Column],
    row: usize,
    out: &mut String,
) -> Result<Option<()>, EvaluationError> {
    let (mut next, mut last) = (0, None);
    for piece in pieces {
        let Conversion { of, flags, width, precision, index } = match piece {
            Piece::Text(text) => {
                *out += text;
                continue;
            }
            Piece::Conversion(conversion) => conversion,
        };
        let mut text = String::new();
        if let Of::Percent = of {
            text.push('%');
        } else {
            let place = match index {
                pattern::Index::Next => {
                    next += 1;
                    next - 1
                }
                pattern::Index::Last => match last {
                    Some(last) => last,
                    None => return Ok(None),
                },
                pattern::Index::Given(place) => *place,
            };
            last = Some(place);
            let Some(column) = columns.get(place) else { return Ok(None) };
            if one(*of, flags, *width, *precision, column, row, &mut text).is_none() {
                return Ok(None);
            }
        }
        if flags.is_upper {
            text = text.to_uppercase();
        }
        let missing = width.unwrap_or(0).saturating_sub(text.chars().count());
        each::made(Some(out.len() + text.len() + missing))?;
        if flags.is_left {
            *out += &text;
        }
        out.extend(std::iter::repeat_n(' ', missing));
        if !flags.is_left {
            *out += &text;
        }
    }
    Ok(Some(()))
}

/// Writes a value by a conversion, without blanks around it; `None` if the conversion does not take the value.
fn one(
    of: Of,
    flags: &Flags,
    width: Option<usize>,
    precision: Option<usize>,
    column: &Column,
    row: usize,
    out: &mut String,
) -> Option<()> {
    let value = column.at(row);
    if value.is_none() && of != Of::Flag {
        *out += "null";
    }
    match (of, value) {
        (Of::Flag, value) => {
            *out += if matches!(value, None | Some(Value::Flag(false))) { "false" } else { "true" };
        }
        (_, None) => {}
        (Of::Text, Some(_)) => column.show(row, out),
        (Of::Character, Some(Value::Whole(number, 0..=32))) => {
            out.push(u32::try_from(number).ok().and_then(char::from_u32)?);
        }
        (Of::Decimal, Some(Value::Whole(number, _))) => {
            let digits = number.unsigned_abs().to_string();
            signed(number < 0, &digits, flags, width, out);
        }
        (Of::Octal | Of::Hexadecimal, Some(Value::Whole(number, bits))) => {
            let number = number as u64 & (u64::MAX >> (64 - bits));
            let (digits, prefix) = match of {
                Of::Octal => (format!("{number:o}"), "0"),
                _ => (format!("{number:x}"), "0x"),
            };
            let prefix = if flags.is_alternate { prefix } else { "" };
            let zeros = width.filter(|_| flags.is_zero_padded).unwrap_or(0);
            *out += prefix;
            padded(zeros.saturating_sub(prefix.len() + digits.len()), out)?;
            *out += &digits;
        }
        (Of::Fixed | Of::Scientific | Of::General, Some(Value::Float(number))) => {
            float(of, number, flags, width, precision, out)?;
        }
        _ => return None,
    }
    // The precision of texts, and of the text `null`, is their greatest length.
    let is_cut = matches!(of, Of::Text | Of::Flag) || column.at(row).is_none();
    if let Some(most) = precision.filter(|_| is_cut)
        && let Some((end, _)) = out.char_indices().nth(most)
    {
        out.truncate(end);
    }
    Some(())
}

/// Greatest width of a number that is filled with zeros.
const ZEROS_MAX: usize = 1 << 20;

fn padded(zeros: usize, out: &mut String) -> Option<()> {
    (zeros <= ZEROS_MAX).then(|| out.extend(std::iter::repeat_n('0', zeros)))
}

/// Writes digits, which may have a fraction, with the sign, the separators and the zeros that flags ask for.
fn signed(is_negative: bool, digits: &str, flags: &Flags, width: Option<usize>, out: &mut String) {
    signed_before(is_negative, digits, "", flags, width, out);
}

/// Writes as [`signed`] does, with a text such as `e+04` behind the digits.
fn signed_before(
    is_negative: bool,
    digits: &str,
    behind: &str,
    flags: &Flags,
    width: Option<usize>,
    out: &mut String,
) {
    let (before, after) = match (is_negative, flags) {
        (true, Flags { is_bracketed: true, .. }) => ("(", ")"),
        (true, _) => ("-", ""),
        (false, Flags { is_signed: true, .. }) => ("+", ""),
        (false, Flags { is_spaced: true, .. }) => (" ", ""),
        (false, _) => ("", ""),
    };
    let whole = digits.find('.').unwrap_or(digits.len());
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if flags.is_grouped && place > 0 && place < whole && (whole - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    let zeros = width.filter(|_| flags.is_zero_padded).unwrap_or(0);
    let length = before.len() + shown.len() + behind.len() + after.len();
    *out += before;
    let zeros = zeros.saturating_sub(length).min(ZEROS_MAX);
    out.extend(std::iter::repeat_n('0', zeros));
    *out += &shown;
    *out += behind;
    *out += after;
}

/// Greatest precision of a float; more digits are NULL.
const PRECISION_MAX: usize = 1 << 16;

fn float(
    of: Of,
    number: f64,
    flags: &Flags,
    width: Option<usize>,
    precision: Option<usize>,
    out: &mut String,
) -> Option<()> {
    let precision = precision.unwrap_or(6);
    if precision > PRECISION_MAX {
        return None;
    }
    if !number.is_finite() {
        let plain = Flags { is_zero_padded: false, is_grouped: false, ..*flags };
        match number.is_nan() {
            true => *out += "NaN",
            false => signed(number < 0.0, "Infinity", &plain, None, out),
        }
        return Some(());
    }
    let is_negative = number.is_sign_negative();
    let exact = Digits::of(number.abs());
    let (of, precision) = match of {
        Of::General => {
            let most = precision.max(1);
            let rounded = exact.rounded(most as i64);
            if number == 0.0 || (-4..most as i64).contains(&rounded.exponent) {
                let left = most as i64 - 1 - if number == 0.0 { 0 } else { rounded.exponent };
                (Of::Fixed, usize::try_from(left).unwrap_or(0))
            } else {
                (Of::Scientific, most - 1)
            }
        }
        of => (of, precision),
    };
    let dot = if flags.is_alternate && precision == 0 { "." } else { "" };
    if of == Of::Scientific {
        let rounded = exact.rounded(precision as i64 + 1);
        let exponent = if number == 0.0 { 0 } else { rounded.exponent };
        let mut digits = rounded.text(0, 1);
        if precision > 0 {
            digits.push('.');
            digits += &rounded.text(1, precision + 1);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        let behind = format!("e{sign}{:02}", exponent.abs());
        signed_before(is_negative, &(digits + dot), &behind, flags, width, out);
    } else {
        let rounded = exact.rounded(exact.exponent + 1 + precision as i64);
        signed(is_negative, &(rounded.fixed(precision) + dot), flags, width, out);
    }
    Some(())
}

/// Decimal digits of a number: `d.ddd` times 10 to the power of the exponent. They are the shortest that read back as the
/// number, as Java rounds these and not the number itself.
struct Digits {
    digits: Vec<u8>,
    exponent: i64,
}

impl Digits {
    fn of(number: f64) -> Self {
        let shown = format!("{number:e}");
        let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
        let digits = digits.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
        Digits { digits, exponent: exponent.parse().unwrap_or(0) }
    }

    /// Returns the number rounded half up to a count of digits, which may be below 1.
    fn rounded(&self, count: i64) -> Digits {
        if count < 0 {
            return Digits { digits: vec![0], exponent: 0 };
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count >= self.digits.len() {
            return Digits { digits: self.digits.clone(), exponent: self.exponent };
        }
        let mut digits = self.digits[..count].to_vec();
        if self.digits[count] >= 5 {
            for place in (0..count).rev() {
                if digits[place] < 9 {
                    digits[place] += 1;
                    return Digits { digits, exponent: self.exponent };
                }
                digits[place] = 0;
            }
            digits.insert(0, 1);
            return Digits { digits, exponent: self.exponent + 1 };
        }
        if digits.is_empty() {
            return Digits { digits: vec![0], exponent: 0 };
        }
        Digits { digits, exponent: self.exponent }
    }

    /// Returns the digits from one place to another, with zeros behind the last one.
    fn text(&self, from: usize, to: usize) -> String {
        (from..to).map(|place| char::from(b'0' + self.digits.get(place).copied().unwrap_or(0))).collect()
    }

    /// Returns the number with a count of digits behind its point.
    fn fixed(&self, fraction: usize) -> String {
        let digit = |power: i64| {
            let place = usize::try_from(self.exponent - power).ok();
            char::from(b'0' + place.and_then(|place| self.digits.get(place)).copied().unwrap_or(0))
        };
        let mut text: String = (0..=self.exponent.max(0)).rev().map(digit).collect();
        if fraction > 0 {
            text.push('.');
            text.extend((1..=fraction as i64).map(|place| digit(-place)));
        }
        text
    }
}

#[cfg(test)]
mod tests;
