//! Values of an expression while it is computed: a column, or one value for all rows.
//!
//! A [`ScalarValue`] is one value of an SQL type. It has the variants of the Arrow types that hold columns of SQL types
//! ([`types`](crate::types)), and no others: an Arrow type without a variant is an error where a value would be read.
//!
//! * V1. A value knows its Arrow type, and NULL does too. Only the literal NULL has the type of no column.
//! * V2. A value that is repeated to a column, and read from any row of it, is the same value.
//! * V3. Values are equal if they have one variant and the same bits: NaN equals NaN, and 0.0 does not equal -0.0.
//!   Decimals are equal only with equal digits and scales, and nested values only with equal types. The zone of a
//!   timestamp is not compared.
//! * V4. No value causes a panic.

mod arrays;
mod show;

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use arrow::error::ArrowError;

#[cfg(test)]
mod tests;

/// Argument or result of a kernel: a column, or one value for all rows.
#[derive(Clone, Debug)]
pub enum ColumnarValue {
    /// A column, with a value for each row.
    Array(ArrayRef),
    /// One value for all rows.
    Scalar(ScalarValue),
}

impl ColumnarValue {
    /// Returns the Arrow type of the column or value.
    pub fn data_type(&self) -> DataType {
        match self {
            ColumnarValue::Array(array) => array.data_type().clone(),
            ColumnarValue::Scalar(value) => value.data_type(),
        }
    }

    /// Returns the column itself, or a column in which the value stands in each of `rows` rows.
    ///
    /// # Errors
    /// Fails as [`ScalarValue::to_array_of_size`] does.
    pub fn to_array(&self, rows: usize) -> Result<ArrayRef, ValueError> {
        match self {
            ColumnarValue::Array(array) => Ok(Arc::clone(array)),
            ColumnarValue::Scalar(value) => value.to_array_of_size(rows),
        }
    }
}

/// One value of an SQL type, or NULL.
#[derive(Clone, Debug)]
pub enum ScalarValue {
    /// The literal NULL, whose type is not known yet.
    Null,
    /// A BOOLEAN.
    Boolean(Option<bool>),
    /// A TINYINT.
    Int8(Option<i8>),
    /// A SMALLINT.
    Int16(Option<i16>),
    /// An INT.
    Int32(Option<i32>),
    /// A BIGINT.
    Int64(Option<i64>),
    /// A FLOAT.
    Float32(Option<f32>),
    /// A DOUBLE.
    Float64(Option<f64>),
    /// A DECIMAL: its digits as a whole number, their greatest count, and how many of them stand behind the point.
    Decimal128(Option<i128>, u8, i8),
    /// A text.
    Utf8(Option<String>),
    /// A byte string.
    Binary(Option<Vec<u8>>),
    /// A DATE in days since 1970-01-01.
    Date32(Option<i32>),
    /// A TIME in milliseconds since midnight.
    Time32Millisecond(Option<i32>),
    /// A timestamp in milliseconds since 1970-01-01, with a zone if it is an instant.
    TimestampMillisecond(Option<i64>, Option<Arc<str>>),
    /// A timestamp in microseconds since 1970-01-01, with a zone if it is an instant.
    TimestampMicrosecond(Option<i64>, Option<Arc<str>>),
    /// A timestamp in nanoseconds since 1970-01-01, with a zone if it is an instant.
    TimestampNanosecond(Option<i64>, Option<Arc<str>>),
    /// An INTERVAL of days to seconds, in milliseconds.
    DurationMillisecond(Option<i64>),
    /// An INTERVAL of years and months, in months.
    IntervalYearMonth(Option<i32>),
    /// An ARRAY, as a column of one row.
    List(Arc<ListArray>),
    /// A MAP, as a column of one row.
    Map(Arc<MapArray>),
    /// A ROW, as a column of one row.
    Struct(Arc<StructArray>),
}

impl ScalarValue {
    /// Returns the Arrow type of the value.
    pub fn data_type(&self) -> DataType {
        match self {
            ScalarValue::Null => DataType::Null,
            ScalarValue::Boolean(_) => DataType::Boolean,
            ScalarValue::Int8(_) => DataType::Int8,
            ScalarValue::Int16(_) => DataType::Int16,
            ScalarValue::Int32(_) => DataType::Int32,
            ScalarValue::Int64(_) => DataType::Int64,
            ScalarValue::Float32(_) => DataType::Float32,
            ScalarValue::Float64(_) => DataType::Float64,
            ScalarValue::Decimal128(_, precision, scale) => DataType::Decimal128(*precision, *scale),
            ScalarValue::Utf8(_) => DataType::Utf8,
            ScalarValue::Binary(_) => DataType::Binary,
            ScalarValue::Date32(_) => DataType::Date32,
            ScalarValue::Time32Millisecond(_) => DataType::Time32(TimeUnit::Millisecond),
            ScalarValue::TimestampMillisecond(_, zone) => {
                DataType::Timestamp(TimeUnit::Millisecond, zone.clone())
            }
            ScalarValue::TimestampMicrosecond(_, zone) => {
                DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
            }
            ScalarValue::TimestampNanosecond(_, zone) => {
                DataType::Timestamp(TimeUnit::Nanosecond, zone.clone())
            }
            ScalarValue::DurationMillisecond(_) => DataType::Duration(TimeUnit::Millisecond),
            ScalarValue::IntervalYearMonth(_) => DataType::Interval(IntervalUnit::YearMonth),
            ScalarValue::List(list) => list.data_type().clone(),
            ScalarValue::Map(map) => map.data_type().clone(),
            ScalarValue::Struct(row) => row.data_type().clone(),
        }
    }

    /// Returns whether the value is NULL.
    pub fn is_null(&self) -> bool {
        match self {
            ScalarValue::Null => true,
            ScalarValue::Boolean(value) => value.is_none(),
            ScalarValue::Int8(value) => value.is_none(),
            ScalarValue::Int16(value) => value.is_none(),
            ScalarValue::Int32(value)
            | ScalarValue::Date32(value)
            | ScalarValue::Time32Millisecond(value)
            | ScalarValue::IntervalYearMonth(value) => value.is_none(),
            ScalarValue::Int64(value)
            | ScalarValue::TimestampMillisecond(value, _)
            | ScalarValue::TimestampMicrosecond(value, _)
            | ScalarValue::TimestampNanosecond(value, _)
            | ScalarValue::DurationMillisecond(value) => value.is_none(),
            ScalarValue::Float32(value) => value.is_none(),
            ScalarValue::Float64(value) => value.is_none(),
            ScalarValue::Decimal128(value, ..) => value.is_none(),
            ScalarValue::Utf8(value) => value.is_none(),
            ScalarValue::Binary(value) => value.is_none(),
            ScalarValue::List(list) => list.null_count() == list.len(),
            ScalarValue::Map(map) => map.null_count() == map.len(),
            ScalarValue::Struct(row) => row.null_count() == row.len(),
        }
    }

    /// Returns the bytes of memory that the value takes, on the heap too. Buffers that a nested value shares with
    /// other columns count as a whole.
    pub fn size(&self) -> usize {
        let heap_bytes = match self {
            ScalarValue::Utf8(text) => text.as_ref().map_or(0, String::capacity),
            ScalarValue::Binary(bytes) => bytes.as_ref().map_or(0, Vec::capacity),
            ScalarValue::TimestampMillisecond(_, zone)
            | ScalarValue::TimestampMicrosecond(_, zone)
            | ScalarValue::TimestampNanosecond(_, zone) => zone.as_ref().map_or(0, |zone| zone.len()),
            ScalarValue::List(list) => list.get_array_memory_size(),
            ScalarValue::Map(map) => map.get_array_memory_size(),
            ScalarValue::Struct(row) => row.get_array_memory_size(),
            ScalarValue::Null
            | ScalarValue::Boolean(_)
            | ScalarValue::Int8(_)
            | ScalarValue::Int16(_)
            | ScalarValue::Int32(_)
            | ScalarValue::Int64(_)
            | ScalarValue::Float32(_)
            | ScalarValue::Float64(_)
            | ScalarValue::Decimal128(..)
            | ScalarValue::Date32(_)
            | ScalarValue::Time32Millisecond(_)
            | ScalarValue::DurationMillisecond(_)
            | ScalarValue::IntervalYearMonth(_) => 0,
        };
        size_of::<Self>() + heap_bytes
    }
}

/// Compares two values as rule V3 says.
impl PartialEq for ScalarValue {
    fn eq(&self, other: &Self) -> bool {
        use ScalarValue::*;
        match (self, other) {
            (Null, Null) => true,
            (Boolean(left), Boolean(right)) => left == right,
            (Int8(left), Int8(right)) => left == right,
            (Int16(left), Int16(right)) => left == right,
            (Int32(left), Int32(right))
            | (Date32(left), Date32(right))
            | (Time32Millisecond(left), Time32Millisecond(right))
            | (IntervalYearMonth(left), IntervalYearMonth(right)) => left == right,
            (Int64(left), Int64(right))
            | (TimestampMillisecond(left, _), TimestampMillisecond(right, _))
            | (TimestampMicrosecond(left, _), TimestampMicrosecond(right, _))
            | (TimestampNanosecond(left, _), TimestampNanosecond(right, _))
            | (DurationMillisecond(left), DurationMillisecond(right)) => left == right,
            (Float32(left), Float32(right)) => left.map(f32::to_bits) == right.map(f32::to_bits),
            (Float64(left), Float64(right)) => left.map(f64::to_bits) == right.map(f64::to_bits),
            (Decimal128(left, of, scale), Decimal128(right, other_of, other_scale)) => {
                (left, of, scale) == (right, other_of, other_scale)
            }
            (Utf8(left), Utf8(right)) => left == right,
            (Binary(left), Binary(right)) => left == right,
            (List(left), List(right)) => left == right,
            (Map(left), Map(right)) => left == right,
            (Struct(left), Struct(right)) => left == right,
            // All variants are listed, so that a new one cannot be forgotten here.
            (
                Null
                | Boolean(_)
                | Int8(_)
                | Int16(_)
                | Int32(_)
                | Int64(_)
                | Float32(_)
                | Float64(_)
                | Decimal128(..)
                | Utf8(_)
                | Binary(_)
                | Date32(_)
                | Time32Millisecond(_)
                | TimestampMillisecond(..)
                | TimestampMicrosecond(..)
                | TimestampNanosecond(..)
                | DurationMillisecond(_)
                | IntervalYearMonth(_)
                | List(_)
                | Map(_)
                | Struct(_),
                _,
            ) => false,
        }
    }
}

impl Eq for ScalarValue {}

impl From<&str> for ScalarValue {
    fn from(text: &str) -> Self {
        ScalarValue::Utf8(Some(text.to_owned()))
    }
}

/// Reason why a value cannot be read from a column, cast, or repeated to a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueError(String);

impl ValueError {
    /// Creates the error that values of an Arrow type have no variant here.
    fn of_type(of: &DataType) -> Self {
        ValueError(format!("there are no single values of the Arrow type {of}"))
    }
}

impl From<ArrowError> for ValueError {
    fn from(error: ArrowError) -> Self {
        ValueError(error.to_string())
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ValueError {}
