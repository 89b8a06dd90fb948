//! One column of generated values: its options, and its values by row number.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::*;
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::*;
use arrow::row::{RowConverter, SortField};
use chrono_tz::Tz;
use thalweg_model::ProcessingTime;
use thalweg_sql_functions::functions::cast::text::{decimal_of_double, ticks_per_second};
use thalweg_sql_functions::functions::cast::zone::local_of_instant;
use thalweg_sql_functions::functions::decimal::power_of_ten;
use thalweg_sql_functions::types::{INSTANT_ZONE, LENGTH_MAX, SqlType};

use super::random;
use crate::connect::options::Given;
use crate::error::{Code, SqlError};

/// The greatest length of generated text, in characters.
const TEXT_LENGTH_MAX: u32 = 1 << 20;

/// The greatest number of items of a generated array or map.
const ITEMS_MAX: u32 = 1 << 12;

/// Default lengths of generated values: letters of text or bytes of binary values, and items of arrays
/// and maps.
const TEXT_LENGTH: u32 = 100;
const ITEMS: u32 = 3;

/// The processing time at which a batch of values is generated.
pub(super) struct Moment {
    /// The processing time in milliseconds since the start of 1970, in UTC.
    millis: i64,
    /// The processing time as local time of the session's zone, in milliseconds since the start of 1970
    /// there.
    local_millis: i64,
}

impl Moment {
    pub(super) fn new(now: ProcessingTime, zone: Tz) -> Self {
        let millis = i64::try_from(now.as_nanos() / 1_000_000).unwrap_or(i64::MAX);
        Moment { millis, local_millis: local_of_instant(millis, 3, zone).unwrap_or(millis) }
    }
}

/// A generated column, or a part of a nested column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    of: SqlType,
    values: Values,
    /// A generated value is NULL if its 64 random bits are below this bound.
    nulls_below: u64,
}

#[derive(Clone, Debug)]
enum Values {
    Boolean,
    /// Random values of integer types of any width, and of interval types.
    Whole {
        min: i64,
        span: u64,
    },
    Float {
        min: f64,
        max: f64,
    },
    Decimal {
        min: i128,
        span: u128,
    },
    /// Random text of hexadecimal digits.
    Text {
        length: u32,
        varies: bool,
    },
    Bytes {
        length: u32,
        varies: bool,
    },
    Timestamp {
        max_past_millis: u64,
    },
    Date,
    Time,
    List {
        item: Box<Column>,
        length: u32,
    },
    Map {
        key: Box<Column>,
        value: Box<Column>,
        length: u32,
    },
    Row(Vec<Column>),
    Sequence {
        start: i64,
        length: u64,
    },
}

impl Column {
    /// Reads the generated column with the given name from the table options below `fields.NAME`.
    pub(super) fn bind(given: &mut Given<'_>, name: &str, of: &SqlType) -> Result<Column, SqlError> {
        let prefix = format!("fields.{name}");
        match given.choice(&format!("{prefix}.kind"), &[("random", false), ("sequence", true)], false)? {
            true => sequence(given, &prefix, of),
            false => random_column(given, &prefix, of),
        }
    }

    pub(super) fn may_be_null(&self) -> bool {
        self.nulls_below > 0
    }

    /// Returns the length of the sequence that the column counts through; `None` for random values.
    pub(super) fn sequence_length(&self) -> Option<u64> {
        match self.values {
            Values::Sequence { length, .. } => Some(length),
            _ => None,
        }
    }

    /// Returns an approximate upper bound for the bytes of one value of the column.
    pub(super) fn value_bytes(&self) -> u64 {
        let several = |length: u32, of: u64| u64::from(length).saturating_mul(of).saturating_add(8);
        match &self.values {
            Values::Text { length, .. } | Values::Bytes { length, .. } => several(*length, 1),
            Values::List { item, length } => several(*length, item.value_bytes()),
            Values::Map { key, value, length } => {
                several(*length, key.value_bytes().saturating_add(value.value_bytes()))
            }
            Values::Row(fields) => {
                fields.iter().fold(1, |sum, field| sum.saturating_add(field.value_bytes()))
            }
            _ => 16,
        }
    }

    /// Generates the values of the column for `count` rows, beginning with the row number `first`.
    pub(super) fn make(&self, seed: u64, first: u64, count: usize, moment: &Moment) -> ArrayRef {
        let nulls = (self.nulls_below > 0).then(|| {
            let seed = random::at(seed, u64::MAX);
            let is_valid = |row| self.nulls_below <= random::at(seed, first + row as u64);
            NullBuffer::new(BooleanBuffer::collect_bool(count, is_valid))
        });
        let bits = |row: u64| random::at(seed, first + row);
        match (&self.values, &self.of) {
            (Values::Boolean, _) => {
                let values = BooleanBuffer::collect_bool(count, |row| bits(row as u64) >> 63 == 1);
                Arc::new(BooleanArray::new(values, nulls))
            }
            (&Values::Whole { min, span }, of) => {
                let value = |row| min.wrapping_add(random::up_to(bits(row), span) as i64);
                whole(of, count, value, nulls)
            }
            (&Values::Sequence { start, .. }, of) => {
                let value = |row| start.wrapping_add((first + row) as i64);
                match of {
                    SqlType::Float => numbers::<Float32Type>(count, |row| value(row) as f32, nulls),
                    SqlType::Double => numbers::<Float64Type>(count, |row| value(row) as f64, nulls),
                    &SqlType::Decimal { precision, scale } => {
                        let unit = power_of_ten(u32::from(scale)).unwrap_or(1);
                        decimals(count, precision, scale, |row| i128::from(value(row)) * unit, nulls)
                    }
                    SqlType::Binary(_) | SqlType::Varbinary(_) => Arc::new(BinaryArray::from_iter_values(
                        (0..count as u64).map(|row| value(row).to_be_bytes()),
                    )),
                    SqlType::Char(_) | SqlType::Varchar(_) => Arc::new(StringArray::from_iter_values(
                        (0..count as u64).map(|row| value(row).to_string()),
                    )),
                    of => whole(of, count, value, nulls),
                }
            }
            (&Values::Float { min, max }, of) => {
                // The value is a weighted sum of both bounds. `min + share * (max - min)` would overflow if
                // the bounds are the least and the greatest number.
                let value = |row| {
                    let share = random::unit(bits(row));
                    (min * (1.0 - share) + max * share).clamp(min, max)
                };
                match of {
                    SqlType::Float => numbers::<Float32Type>(count, |row| value(row) as f32, nulls),
                    _ => numbers::<Float64Type>(count, value, nulls),
                }
            }
            (&Values::Decimal { min, span }, &SqlType::Decimal { precision, scale }) => {
                let more = random::at(seed, u64::MAX - 1);
                let value = |row: u64| match u64::try_from(span) {
                    Ok(span) => min.wrapping_add(i128::from(random::up_to(bits(row), span))),
                    Err(_) => {
                        let wide = u128::from(bits(row)) << 64 | u128::from(random::at(more, first + row));
                        min.wrapping_add((wide % span.saturating_add(1)) as i128)
                    }
                };
                decimals(count, precision, scale, value, nulls)
            }
            (Values::Decimal { .. }, of) => new_null_array(&of.arrow(), count),
            (&Values::Text { length, varies }, _) => {
                let (offsets, values) = text(count, length, varies, &bits, Digits::Hexadecimal);
                // Hexadecimal digits are ASCII, so building the text column does not fail; if it did,
                // the column would be NULL.
                match StringArray::try_new(offsets, values, nulls) {
                    Ok(column) => Arc::new(column),
                    Err(_) => new_null_array(&DataType::Utf8, count),
                }
            }
            (&Values::Bytes { length, varies }, _) => {
                let (offsets, values) = text(count, length, varies, &bits, Digits::Bytes);
                match BinaryArray::try_new(offsets, values, nulls) {
                    Ok(column) => Arc::new(column),
                    Err(_) => new_null_array(&DataType::Binary, count),
                }
            }
            (&Values::Timestamp { max_past_millis }, of) => {
                let past = |row| match max_past_millis {
                    0 => 0,
                    max => random::up_to(bits(row), max - 1) as i64,
                };
                let value = |row| moment.millis.saturating_sub(past(row));
                timestamps(of, count, value, nulls)
            }
            (Values::Date, _) => {
                let days = moment.local_millis.div_euclid(86_400_000) as i32;
                numbers::<Date32Type>(count, |_| days, nulls)
            }
            (Values::Time, _) => {
                let millis = moment.local_millis.rem_euclid(86_400_000) as i32;
                numbers::<Time32MillisecondType>(count, |_| millis, nulls)
            }
            (Values::List { item, length }, of) => {
                let (offsets, from, items) = lengths(first, count, *length);
                let values = item.make(random::at(seed, 1), from, items, moment);
                match of.arrow() {
                    DataType::List(field) => match ListArray::try_new(field, offsets, values, nulls) {
                        Ok(column) => Arc::new(column),
                        Err(_) => new_null_array(&of.arrow(), count),
                    },
                    other => new_null_array(&other, count),
                }
            }
            (Values::Map { key, value, length }, of) => {
                let (offsets, from, items) = lengths(first, count, *length);
                let keys = key.make(random::at(seed, 1), from, items, moment);
                let values = value.make(random::at(seed, 2), from, items, moment);
                map(of, offsets, keys, values, nulls).unwrap_or_else(|| new_null_array(&of.arrow(), count))
            }
            (Values::Row(fields), of) => {
                let columns: Vec<ArrayRef> = (1..)
                    .zip(fields)
                    .map(|(place, field)| field.make(random::at(seed, place), first, count, moment))
                    .collect();
                match of.arrow() {
                    DataType::Struct(fields) => {
                        match StructArray::try_new_with_length(fields, columns, nulls, count) {
                            Ok(column) => Arc::new(column),
                            Err(_) => new_null_array(&of.arrow(), count),
                        }
                    }
                    other => new_null_array(&other, count),
                }
            }
        }
    }
}

fn random_column(given: &mut Given<'_>, prefix: &str, of: &SqlType) -> Result<Column, SqlError> {
    let values = match of {
        SqlType::Null => return Err(refused(of)),
        SqlType::Boolean => Values::Boolean,
        SqlType::TinyInt => numbers_between(given, prefix, i8::MIN.into(), i8::MAX.into())?,
        SqlType::SmallInt => numbers_between(given, prefix, i16::MIN.into(), i16::MAX.into())?,
        SqlType::Int => numbers_between(given, prefix, i32::MIN.into(), i32::MAX.into())?,
        SqlType::BigInt => numbers_between(given, prefix, i64::MIN, i64::MAX)?,
        SqlType::YearMonth => {
            let bounds = (i32::MIN.into(), i32::MAX.into());
            // The default range of generated year-month intervals is that of Flink, where years have
            // four digits.
            whole_between(given, prefix, bounds, (0, 120_000))?
        }
        SqlType::DayTime => numbers_between(given, prefix, i64::MIN, i64::MAX)?,
        SqlType::Float => floats_between(given, prefix, f32::MAX.into())?,
        SqlType::Double => floats_between(given, prefix, f64::MAX)?,
        &SqlType::Decimal { precision, scale } => decimals_between(given, prefix, precision, scale)?,
        &SqlType::Char(length) => Values::Text { length: fixed(given, prefix, length)?, varies: false },
        &SqlType::Binary(length) => Values::Bytes { length: fixed(given, prefix, length)?, varies: false },
        &SqlType::Varchar(most) => {
            let (length, varies) = variable(given, prefix, most)?;
            Values::Text { length, varies }
        }
        &SqlType::Varbinary(most) => {
            let (length, varies) = variable(given, prefix, most)?;
            Values::Bytes { length, varies }
        }
        SqlType::Timestamp(_) | SqlType::TimestampLtz(_) => {
            let max_past = given.duration(&format!("{prefix}.max-past"))?.unwrap_or(Duration::ZERO);
            Values::Timestamp { max_past_millis: u64::try_from(max_past.as_millis()).unwrap_or(u64::MAX) }
        }
        SqlType::Date => Values::Date,
        SqlType::Time(_) => Values::Time,
        SqlType::Array(item) => {
            let item = random_column(given, &format!("{prefix}.element"), item)?;
            Values::List { item: Box::new(item), length: item_count(given, prefix)? }
        }
        SqlType::Map(key, value) => {
            let key_prefix = format!("{prefix}.key");
            let key = random_column(given, &key_prefix, key)?;
            if key.may_be_null() {
                return Err(given.wrong(&format!("{key_prefix}.null-rate"), "keys of a map are never NULL"));
            }
            let value = random_column(given, &format!("{prefix}.value"), value)?;
            Values::Map { key: Box::new(key), value: Box::new(value), length: item_count(given, prefix)? }
        }
        SqlType::Row(fields) => {
            let field =
                |(name, of): &(String, SqlType)| random_column(given, &format!("{prefix}.{name}"), of);
            Values::Row(fields.iter().map(field).collect::<Result<_, _>>()?)
        }
    };
    let key = format!("{prefix}.null-rate");
    let rate = given.number::<f64>(&key, "a number from 0 to 1")?.unwrap_or(0.0);
    if !(0.0..=1.0).contains(&rate) {
        return Err(given.wrong(&key, format!("'{rate}' is not a number from 0 to 1")));
    }
    // A null rate of 1 saturates to the greatest 64-bit number, so all values are NULL except one in
    // 2^64.
    let nulls_below = (rate * 2_f64.powi(64)) as u64;
    Ok(Column { of: of.clone(), values, nulls_below })
}

fn sequence(given: &mut Given<'_>, prefix: &str, of: &SqlType) -> Result<Column, SqlError> {
    let (least, most) = match of {
        // As in Flink, a BOOLEAN column declared as a sequence has random values.
        SqlType::Boolean => return random_column(given, prefix, of),
        SqlType::TinyInt => (i8::MIN.into(), i8::MAX.into()),
        SqlType::SmallInt => (i16::MIN.into(), i16::MAX.into()),
        SqlType::Int | SqlType::Float | SqlType::Double => (i32::MIN.into(), i32::MAX.into()),
        &SqlType::Decimal { precision, scale } => {
            let digits = u32::from(precision - scale);
            let most =
                power_of_ten(digits).map_or(i64::MAX, |most| i64::try_from(most - 1).unwrap_or(i64::MAX));
            (-most, most)
        }
        SqlType::BigInt
        | SqlType::Char(_)
        | SqlType::Varchar(_)
        | SqlType::Binary(_)
        | SqlType::Varbinary(_) => (i64::MIN, i64::MAX),
        _ => return Err(refused(of).help("write 'random' instead of 'sequence'")),
    };
    let mut bound = |word: &str, example: &str| {
        let key = format!("{prefix}.{word}");
        given.required(&key, example)?;
        let what = format!("a whole number from {least} to {most}");
        match given.number::<i64>(&key, &what)? {
            Some(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(given.wrong(&key, format!("is not {what}, as {of} has it"))),
        }
    };
    let (start, end) = (bound("start", "1")?, bound("end", "1000")?);
    if end < start {
        return Err(given.wrong(&format!("{prefix}.end"), format!("'{end}' is below the start, '{start}'")));
    }
    let length = (end.wrapping_sub(start) as u64).saturating_add(1);
    Ok(Column { of: of.clone(), values: Values::Sequence { start, length }, nulls_below: 0 })
}

fn refused(of: &SqlType) -> SqlError {
    SqlError::new(Code::Unsupported, format!("no such values of {of} are made"))
}

fn numbers_between(given: &mut Given<'_>, prefix: &str, least: i64, most: i64) -> Result<Values, SqlError> {
    whole_between(given, prefix, (least, most), (least, most))
}

fn whole_between(
    given: &mut Given<'_>,
    prefix: &str,
    (least, most): (i64, i64),
    unless: (i64, i64),
) -> Result<Values, SqlError> {
    let mut bound = |word: &str, unless: i64| {
        let key = format!("{prefix}.{word}");
        let what = format!("a whole number from {least} to {most}");
        match given.number::<i64>(&key, &what)? {
            None => Ok(unless),
            Some(number) if (least..=most).contains(&number) => Ok(number),
            Some(number) => Err(given.wrong(&key, format!("'{number}' is not {what}"))),
        }
    };
    let (min, max) = (bound("min", unless.0)?, bound("max", unless.1)?);
    if max < min {
        return Err(given.wrong(&format!("{prefix}.max"), format!("'{max}' is below the minimum, '{min}'")));
    }
    Ok(Values::Whole { min, span: max.wrapping_sub(min) as u64 })
}

fn floats_between(given: &mut Given<'_>, prefix: &str, most: f64) -> Result<Values, SqlError> {
    let mut bound = |word: &str, unless: f64| {
        let key = format!("{prefix}.{word}");
        match given.number::<f64>(&key, "a number")? {
            None => Ok(unless),
            Some(number) if number.abs() <= most => Ok(number),
            Some(number) => Err(given.wrong(&key, format!("'{number}' is not a number of this type"))),
        }
    };
    let (min, max) = (bound("min", -most)?, bound("max", most)?);
    if max < min {
        return Err(given.wrong(&format!("{prefix}.max"), format!("'{max}' is below the minimum, '{min}'")));
    }
    Ok(Values::Float { min, max })
}

fn decimals_between(
    given: &mut Given<'_>,
    prefix: &str,
    precision: u8,
    scale: u8,
) -> Result<Values, SqlError> {
    let most = power_of_ten(u32::from(precision)).map_or(i128::MAX, |most| most - 1);
    let mut bound = |word: &str, unless: i128| {
        let key = format!("{prefix}.{word}");
        match given.number::<f64>(&key, "a number")? {
            None => Ok(unless),
            // A bound that is beyond the range of the column's decimal type is clamped to that range,
            // as in Flink.
            Some(number) => match decimal_of_double(number, precision, scale) {
                Ok(Some(value)) => Ok(value),
                Ok(None) => Ok(if number < 0.0 { -most } else { most }),
                Err(_) => Err(given.wrong(&key, format!("'{number}' is no number"))),
            },
        }
    };
    let (min, max) = (bound("min", -most)?, bound("max", most)?);
    if max < min {
        return Err(given.wrong(&format!("{prefix}.max"), "is below the minimum"));
    }
    Ok(Values::Decimal { min, span: max.wrapping_sub(min) as u128 })
}

/// Returns the length of values of a type whose length is fixed, such as CHAR(n). An option for the length of
/// such a type is refused, as in Flink.
fn fixed(given: &mut Given<'_>, prefix: &str, length: u32) -> Result<u32, SqlError> {
    let key = format!("{prefix}.length");
    if given.text(&key).is_some() {
        return Err(given.wrong(&key, "the type has a fixed length: declare another"));
    }
    if TEXT_LENGTH_MAX < length {
        return Err(refused(&SqlType::Char(length)).help(format!("at most {TEXT_LENGTH_MAX} are made")));
    }
    Ok(length)
}

fn variable(given: &mut Given<'_>, prefix: &str, most: u32) -> Result<(u32, bool), SqlError> {
    let varies = given.flag(&format!("{prefix}.var-len"), false)?;
    let unless = if most == LENGTH_MAX { TEXT_LENGTH } else { most.min(TEXT_LENGTH_MAX) };
    Ok((length(given, prefix, most.min(TEXT_LENGTH_MAX), unless)?, varies))
}

fn item_count(given: &mut Given<'_>, prefix: &str) -> Result<u32, SqlError> {
    length(given, prefix, ITEMS_MAX, ITEMS)
}

fn length(given: &mut Given<'_>, prefix: &str, most: u32, unless: u32) -> Result<u32, SqlError> {
    let key = format!("{prefix}.length");
    let what = format!("a whole number from 0 to {most}");
    match given.number::<u32>(&key, &what)? {
        None => Ok(unless),
        Some(length) if length <= most => Ok(length),
        Some(length) => Err(given.wrong(&key, format!("'{length}' is not {what}"))),
    }
}

fn numbers<T: ArrowPrimitiveType>(
    count: usize,
    value: impl Fn(u64) -> T::Native,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let values: Vec<T::Native> = (0..count as u64).map(value).collect();
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls))
}

/// Builds a column of an integer or interval type from whole numbers.
fn whole(of: &SqlType, count: usize, value: impl Fn(u64) -> i64, nulls: Option<NullBuffer>) -> ArrayRef {
    match of {
        SqlType::TinyInt => numbers::<Int8Type>(count, |row| value(row) as i8, nulls),
        SqlType::SmallInt => numbers::<Int16Type>(count, |row| value(row) as i16, nulls),
        SqlType::Int => numbers::<Int32Type>(count, |row| value(row) as i32, nulls),
        SqlType::YearMonth => numbers::<IntervalYearMonthType>(count, |row| value(row) as i32, nulls),
        SqlType::DayTime => numbers::<DurationMillisecondType>(count, value, nulls),
        _ => numbers::<Int64Type>(count, value, nulls),
    }
}

fn decimals(
    count: usize,
    precision: u8,
    scale: u8,
    value: impl Fn(u64) -> i128,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let values: Vec<i128> = (0..count as u64).map(value).collect();
    let of = DataType::Decimal128(precision, scale as i8);
    Arc::new(Decimal128Array::new(ScalarBuffer::from(values), nulls).with_data_type(of))
}

fn timestamps(
    of: &SqlType,
    count: usize,
    millis: impl Fn(u64) -> i64,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let (digits, zone) = match of {
        SqlType::TimestampLtz(digits) => (*digits, Some(INSTANT_ZONE)),
        SqlType::Timestamp(digits) => (*digits, None),
        _ => (3, None),
    };
    let factor = ticks_per_second(digits) / 1_000;
    let value = |row| millis(row).saturating_mul(factor);
    let values: ScalarBuffer<i64> = (0..count as u64).map(value).collect::<Vec<_>>().into();
    match digits {
        0..=3 => Arc::new(TimestampMillisecondArray::new(values, nulls).with_timezone_opt(zone)),
        4..=6 => Arc::new(TimestampMicrosecondArray::new(values, nulls).with_timezone_opt(zone)),
        _ => Arc::new(TimestampNanosecondArray::new(values, nulls).with_timezone_opt(zone)),
    }
}

/// The content of randomly generated values: text of hexadecimal digits, or arbitrary bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Digits {
    Hexadecimal,
    Bytes,
}

/// Returns the Arrow offsets and the bytes of `count` random values of text or bytes.
fn text(
    count: usize,
    length: u32,
    varies: bool,
    bits: &impl Fn(u64) -> u64,
    digits: Digits,
) -> (OffsetBuffer<i32>, Buffer) {
    const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
    let mut values: Vec<u8> = Vec::with_capacity((count * length as usize).min(1 << 24));
    let mut offsets: Vec<i32> = Vec::with_capacity(count + 1);
    offsets.push(0);
    for row in 0..count as u64 {
        let of_row = bits(row);
        let length = match varies && length > 1 {
            true => 1 + random::up_to(random::at(of_row, u64::MAX), u64::from(length) - 1) as usize,
            false => length as usize,
        };
        // The offsets of a text column have 32 bits. A batch of the most rows with texts of the greatest
        // length would exceed them; then the last texts of the batch are empty.
        let length = if values.len() + length <= i32::MAX as usize { length } else { 0 };
        let end = values.len() + length;
        let mut place = 0;
        while values.len() < end {
            let word = random::at(of_row, place).to_le_bytes();
            match digits {
                Digits::Bytes => values.extend_from_slice(&word),
                Digits::Hexadecimal => {
                    let pairs = word.iter().flat_map(|byte| [byte >> 4, byte & 15]);
                    values.extend(pairs.map(|digit| HEXADECIMAL[usize::from(digit)]));
                }
            }
            place += 1;
        }
        values.truncate(end);
        offsets.push(end as i32);
    }
    (OffsetBuffer::new(offsets.into()), values.into())
}

/// Computes the layout of `count` generated lists of `length` items each, from the row number `first` on.
/// Returns their Arrow offsets, the number of the first item among the items of all rows, and the count of
/// items.
fn lengths(first: u64, count: usize, length: u32) -> (OffsetBuffer<i32>, u64, usize) {
    let length = length as usize;
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(length, count));
    (offsets, first.wrapping_mul(length as u64), count * length)
}

fn map(
    of: &SqlType,
    offsets: OffsetBuffer<i32>,
    keys: ArrayRef,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Option<ArrayRef> {
    let DataType::Map(entries, is_sorted) = of.arrow() else { return None };
    let DataType::Struct(fields) = entries.data_type() else { return None };
    let (offsets, keys, values) = without_equal_keys(offsets, keys, values)?;
    let items = StructArray::try_new(fields.clone(), vec![keys, values], None).ok()?;
    Some(Arc::new(MapArray::try_new(entries, offsets, items, nulls, is_sorted).ok()?))
}

/// Keeps only the first of the entries with equal keys in each generated map.
fn without_equal_keys(
    offsets: OffsetBuffer<i32>,
    keys: ArrayRef,
    values: ArrayRef,
) -> Option<(OffsetBuffer<i32>, ArrayRef, ArrayRef)> {
    let converter = RowConverter::new(vec![SortField::new(keys.data_type().clone())]).ok()?;
    let rows = converter.convert_columns(&[Arc::clone(&keys)]).ok()?;
    let mut kept: Vec<u32> = Vec::with_capacity(keys.len());
    let mut lengths = Vec::with_capacity(offsets.len() - 1);
    let mut seen = HashSet::new();
    for range in offsets.windows(2) {
        let before = kept.len();
        seen.clear();
        kept.extend(
            (range[0] as u32..range[1] as u32).filter(|place| seen.insert(rows.row(*place as usize))),
        );
        lengths.push(kept.len() - before);
    }
    if kept.len() == keys.len() {
        return Some((offsets, keys, values));
    }
    let kept = UInt32Array::from(kept);
    let take = |column: &ArrayRef| arrow::compute::take(column.as_ref(), &kept, None).ok();
    Some((OffsetBuffer::from_lengths(lengths), take(&keys)?, take(&values)?))
}
