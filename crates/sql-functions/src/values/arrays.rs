//! Values read from columns, and columns made of values.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, GenericByteArray, ListArray, NullArray,
    PrimitiveArray, UInt32Array, new_null_array,
};
use arrow::buffer::{BooleanBuffer, OffsetBuffer};
use arrow::compute::{CastOptions, cast_with_options, concat, take};
use arrow::datatypes::{
    BinaryType, ByteArrayType, DataType, Date32Type, Decimal128Type, DurationMillisecondType, Field,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalUnit, IntervalYearMonthType,
    Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, Utf8Type, validate_decimal_precision_and_scale,
};

use super::{ScalarValue, ValueError};
use crate::types::SqlType;

/// Greatest number of bytes of text, or of items of arrays and maps, in one column: Arrow counts them in 31 bits and
/// panics beyond.
const COLUMN_ITEMS_MAX: usize = i32::MAX as usize;

impl ScalarValue {
    /// Returns the value of a row of a column.
    ///
    /// # Errors
    /// [`ValueError`] if the column has no such row, or is of a type without single values.
    pub fn try_from_array(array: &dyn Array, row: usize) -> Result<Self, ValueError> {
        if row >= array.len() {
            return Err(ValueError(format!("there is no row {row} in a column of {} rows", array.len())));
        }
        let of = array.data_type();
        if array.is_null(row) {
            return ScalarValue::try_from(of);
        }
        Ok(match of {
            DataType::Null => ScalarValue::Null,
            DataType::Boolean => ScalarValue::Boolean(Some(array.as_boolean().value(row))),
            DataType::Int8 => ScalarValue::Int8(number::<Int8Type>(array, row)),
            DataType::Int16 => ScalarValue::Int16(number::<Int16Type>(array, row)),
            DataType::Int32 => ScalarValue::Int32(number::<Int32Type>(array, row)),
            DataType::Int64 => ScalarValue::Int64(number::<Int64Type>(array, row)),
            DataType::Float32 => ScalarValue::Float32(number::<Float32Type>(array, row)),
            DataType::Float64 => ScalarValue::Float64(number::<Float64Type>(array, row)),
            &DataType::Decimal128(precision, scale) => {
                ScalarValue::Decimal128(number::<Decimal128Type>(array, row), precision, scale)
            }
            DataType::Utf8 => ScalarValue::from(array.as_string::<i32>().value(row)),
            DataType::Binary => ScalarValue::Binary(Some(array.as_binary::<i32>().value(row).to_vec())),
            DataType::Date32 => ScalarValue::Date32(number::<Date32Type>(array, row)),
            DataType::Time32(TimeUnit::Millisecond) => {
                ScalarValue::Time32Millisecond(number::<Time32MillisecondType>(array, row))
            }
            DataType::Timestamp(TimeUnit::Millisecond, zone) => ScalarValue::TimestampMillisecond(
                number::<TimestampMillisecondType>(array, row),
                zone.clone(),
            ),
            DataType::Timestamp(TimeUnit::Microsecond, zone) => ScalarValue::TimestampMicrosecond(
                number::<TimestampMicrosecondType>(array, row),
                zone.clone(),
            ),
            DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
                ScalarValue::TimestampNanosecond(number::<TimestampNanosecondType>(array, row), zone.clone())
            }
            DataType::Duration(TimeUnit::Millisecond) => {
                ScalarValue::DurationMillisecond(number::<DurationMillisecondType>(array, row))
            }
            DataType::Interval(IntervalUnit::YearMonth) => {
                ScalarValue::IntervalYearMonth(number::<IntervalYearMonthType>(array, row))
            }
            DataType::List(item) => {
                // The items alone are kept, so that the other rows of the column are not repeated with the value.
                let items = array.as_list::<i32>().value(row);
                let item = Field::new(item.name(), items.data_type().clone(), item.is_nullable());
                let offsets = OffsetBuffer::from_lengths([items.len()]);
                ScalarValue::List(Arc::new(ListArray::try_new(Arc::new(item), offsets, items, None)?))
            }
            DataType::Map(..) => ScalarValue::Map(Arc::new(array.as_map().slice(row, 1))),
            DataType::Struct(_) => ScalarValue::Struct(Arc::new(array.as_struct().slice(row, 1))),
            other => return Err(ValueError::of_type(other)),
        })
    }

    /// Returns the value as a column of one row.
    ///
    /// # Errors
    /// Fails as [`to_array_of_size`](Self::to_array_of_size) does.
    pub fn to_array(&self) -> Result<ArrayRef, ValueError> {
        self.to_array_of_size(1)
    }

    /// Returns a column in which the value stands in each of `rows` rows.
    ///
    /// # Errors
    /// [`ValueError`] if the column would be longer than Arrow's columns can be, if a decimal has digits that Arrow
    /// refuses, or if a nested value is not a column of one row.
    pub fn to_array_of_size(&self, rows: usize) -> Result<ArrayRef, ValueError> {
        Ok(match self {
            ScalarValue::Null => Arc::new(NullArray::new(rows)),
            ScalarValue::Boolean(None) => new_null_array(&DataType::Boolean, rows),
            ScalarValue::Boolean(Some(value)) => {
                let bits = if *value { BooleanBuffer::new_set(rows) } else { BooleanBuffer::new_unset(rows) };
                Arc::new(BooleanArray::new(bits, None))
            }
            ScalarValue::Int8(value) => numbers::<Int8Type>(*value, DataType::Int8, rows),
            ScalarValue::Int16(value) => numbers::<Int16Type>(*value, DataType::Int16, rows),
            ScalarValue::Int32(value) => numbers::<Int32Type>(*value, DataType::Int32, rows),
            ScalarValue::Int64(value) => numbers::<Int64Type>(*value, DataType::Int64, rows),
            ScalarValue::Float32(value) => numbers::<Float32Type>(*value, DataType::Float32, rows),
            ScalarValue::Float64(value) => numbers::<Float64Type>(*value, DataType::Float64, rows),
            ScalarValue::Decimal128(value, precision, scale) => {
                validate_decimal_precision_and_scale::<Decimal128Type>(*precision, *scale)?;
                numbers::<Decimal128Type>(*value, DataType::Decimal128(*precision, *scale), rows)
            }
            ScalarValue::Utf8(None) => new_null_array(&DataType::Utf8, rows),
            ScalarValue::Utf8(Some(text)) => texts::<Utf8Type>(text, text.len(), rows)?,
            ScalarValue::Binary(None) => new_null_array(&DataType::Binary, rows),
            ScalarValue::Binary(Some(bytes)) => texts::<BinaryType>(bytes, bytes.len(), rows)?,
            ScalarValue::Date32(value) => numbers::<Date32Type>(*value, self.data_type(), rows),
            ScalarValue::Time32Millisecond(value) => {
                numbers::<Time32MillisecondType>(*value, self.data_type(), rows)
            }
            ScalarValue::TimestampMillisecond(value, _) => {
                numbers::<TimestampMillisecondType>(*value, self.data_type(), rows)
            }
            ScalarValue::TimestampMicrosecond(value, _) => {
                numbers::<TimestampMicrosecondType>(*value, self.data_type(), rows)
            }
            ScalarValue::TimestampNanosecond(value, _) => {
                numbers::<TimestampNanosecondType>(*value, self.data_type(), rows)
            }
            ScalarValue::DurationMillisecond(value) => {
                numbers::<DurationMillisecondType>(*value, self.data_type(), rows)
            }
            ScalarValue::IntervalYearMonth(value) => {
                numbers::<IntervalYearMonthType>(*value, self.data_type(), rows)
            }
            ScalarValue::List(list) => nested(Arc::clone(list) as ArrayRef, rows)?,
            ScalarValue::Map(map) => nested(Arc::clone(map) as ArrayRef, rows)?,
            ScalarValue::Struct(row) => nested(Arc::clone(row) as ArrayRef, rows)?,
        })
    }

    /// Returns a column of the given values, in their order. Each value is first a column of its own, so this is for
    /// the literals of a query, and not for its rows.
    ///
    /// # Errors
    /// [`ValueError`] if there are no values, if their types differ, or if the column would be longer than Arrow's
    /// columns can be.
    pub fn iter_to_array(values: impl IntoIterator<Item = ScalarValue>) -> Result<ArrayRef, ValueError> {
        let columns = values.into_iter().map(|value| value.to_array()).collect::<Result<Vec<_>, _>>()?;
        let columns: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
        let Some(of) = columns.first().map(|first| first.data_type()) else {
            return Err(ValueError("a column of no values has no type".to_owned()));
        };
        if let Some(other) = columns.iter().find(|column| column.data_type() != of) {
            let other = other.data_type();
            return Err(ValueError(format!("a column of {of} holds no value of {other}: cast it first")));
        }
        fits(columns.iter().fold(0, |sum, column| sum.saturating_add(items_of(*column))))?;
        Ok(concat(&columns)?)
    }

    /// Returns the value cast to an Arrow type, as Arrow casts columns.
    ///
    /// # Errors
    /// [`ValueError`] if there is no such cast, or if the type does not hold the value.
    pub fn cast_to(&self, to: &DataType) -> Result<Self, ValueError> {
        if self.data_type() == *to {
            return Ok(self.clone());
        }
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let cast = cast_with_options(&self.to_array()?, to, &options)?;
        ScalarValue::try_from_array(&cast, 0)
    }
}

/// Creates the NULL of an Arrow type.
impl TryFrom<&DataType> for ScalarValue {
    type Error = ValueError;

    fn try_from(of: &DataType) -> Result<Self, ValueError> {
        Ok(match of {
            DataType::Null => ScalarValue::Null,
            DataType::Boolean => ScalarValue::Boolean(None),
            DataType::Int8 => ScalarValue::Int8(None),
            DataType::Int16 => ScalarValue::Int16(None),
            DataType::Int32 => ScalarValue::Int32(None),
            DataType::Int64 => ScalarValue::Int64(None),
            DataType::Float32 => ScalarValue::Float32(None),
            DataType::Float64 => ScalarValue::Float64(None),
            &DataType::Decimal128(precision, scale) => ScalarValue::Decimal128(None, precision, scale),
            DataType::Utf8 => ScalarValue::Utf8(None),
            DataType::Binary => ScalarValue::Binary(None),
            DataType::Date32 => ScalarValue::Date32(None),
            DataType::Time32(TimeUnit::Millisecond) => ScalarValue::Time32Millisecond(None),
            DataType::Timestamp(TimeUnit::Millisecond, zone) => {
                ScalarValue::TimestampMillisecond(None, zone.clone())
            }
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                ScalarValue::TimestampMicrosecond(None, zone.clone())
            }
            DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
                ScalarValue::TimestampNanosecond(None, zone.clone())
            }
            DataType::Duration(TimeUnit::Millisecond) => ScalarValue::DurationMillisecond(None),
            DataType::Interval(IntervalUnit::YearMonth) => ScalarValue::IntervalYearMonth(None),
            // Arrow panics for some nested types that it cannot hold, and SQL has none of these.
            nested if SqlType::of_arrow(nested).is_none() => return Err(ValueError::of_type(nested)),
            DataType::List(_) => ScalarValue::List(Arc::new(new_null_array(of, 1).as_list().clone())),
            DataType::Map(..) => ScalarValue::Map(Arc::new(new_null_array(of, 1).as_map().clone())),
            DataType::Struct(_) => ScalarValue::Struct(Arc::new(new_null_array(of, 1).as_struct().clone())),
            other => return Err(ValueError::of_type(other)),
        })
    }
}

/// Returns the number in a row of a column, where it is not NULL.
fn number<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> Option<T::Native> {
    Some(array.as_primitive::<T>().value(row))
}

fn numbers<T: ArrowPrimitiveType>(value: Option<T::Native>, of: DataType, rows: usize) -> ArrayRef {
    match value {
        Some(value) => Arc::new(PrimitiveArray::<T>::from_value(value, rows).with_data_type(of)),
        None => new_null_array(&of, rows),
    }
}

fn texts<T: ByteArrayType>(
    value: impl AsRef<T::Native>,
    bytes: usize,
    rows: usize,
) -> Result<ArrayRef, ValueError> {
    fits(bytes.saturating_mul(rows))?;
    Ok(Arc::new(GenericByteArray::<T>::new_repeated(value, rows)))
}

/// Returns a column in which the only row of `one` stands `rows` times.
fn nested(one: ArrayRef, rows: usize) -> Result<ArrayRef, ValueError> {
    if one.len() != 1 {
        return Err(ValueError(format!("a value is a column of one row, and this has {} rows", one.len())));
    }
    if rows == 1 {
        return Ok(one);
    }
    fits(items_of(&one).saturating_mul(rows))?;
    Ok(take(&one, &UInt32Array::from_value(0, rows), None)?)
}

fn fits(items: usize) -> Result<(), ValueError> {
    if items <= COLUMN_ITEMS_MAX {
        return Ok(());
    }
    let message = format!("a column holds at most {COLUMN_ITEMS_MAX} bytes or items, and this needs {items}");
    Err(ValueError(message))
}

/// Returns how many bytes of text, or items of arrays and maps, a column has, on the level of its type that has most.
fn items_of(column: &dyn Array) -> usize {
    let span = |offsets: &[i32]| match offsets {
        [first, .., last] => (*first as usize, (last - first) as usize),
        _ => (0, 0),
    };
    match column.data_type() {
        DataType::Utf8 => span(column.as_string::<i32>().value_offsets()).1,
        DataType::Binary => span(column.as_binary::<i32>().value_offsets()).1,
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            let (from, count) = span(lists.value_offsets());
            count.max(items_of(&lists.values().slice(from, count)))
        }
        DataType::Map(..) => {
            let maps = column.as_map();
            let (from, count) = span(maps.value_offsets());
            count.max(items_of(&maps.entries().slice(from, count)))
        }
        DataType::Struct(_) => {
            column.as_struct().columns().iter().map(|column| items_of(column)).max().unwrap_or_default()
        }
        _ => 0,
    }
}
