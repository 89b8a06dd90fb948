//! Values of columns one by one, for encoders. The type of each array is resolved once per batch; then values are
//! read by row.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, DurationMillisecondType, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, IntervalYearMonthType, Time32MillisecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};

/// The values of one Arrow array, whose type is resolved once, for reading them row by row.
pub(super) struct Cells<'a> {
    nulls: Option<&'a NullBuffer>,
    kind: CellsKind<'a>,
}

enum CellsKind<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Decimal(&'a [i128], u8),
    Bytes { ends: &'a [i32], bytes: &'a [u8], is_text: bool },
    Date(&'a [i32]),
    Time(&'a [i32]),
    Timestamp { values: &'a [i64], unit: TimeUnit, is_instant: bool },
    List { ends: &'a [i32], item: Box<Cells<'a>> },
    Map { ends: &'a [i32], key: Box<Cells<'a>>, value: Box<Cells<'a>> },
    Row(Vec<(&'a str, Cells<'a>)>),
}

/// One value of an array, as an encoder writes it.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f32),
    Double(f64),
    Decimal { value: i128, scale: u8 },
    Text(&'a [u8]),
    Bytes(&'a [u8]),
    Date(i32),
    Time(i32),
    Timestamp { value: i64, unit: TimeUnit, is_instant: bool },
    List { item: &'a Cells<'a>, from: usize, to: usize },
    Map { key: &'a Cells<'a>, value: &'a Cells<'a>, from: usize, to: usize },
    Row { fields: &'a [(&'a str, Cells<'a>)], row: usize },
}

impl<'a> Cells<'a> {
    /// Prepares an array for reading. Returns `None` if its Arrow type is not the storage of an SQL type.
    pub(super) fn new(array: &'a ArrayRef) -> Option<Self> {
        let kind = match array.data_type() {
            DataType::Null => CellsKind::Null,
            DataType::Boolean => CellsKind::Boolean(array.as_boolean()),
            DataType::Int8 => CellsKind::Int8(values::<Int8Type>(array)),
            DataType::Int16 => CellsKind::Int16(values::<Int16Type>(array)),
            DataType::Int32 => CellsKind::Int32(values::<Int32Type>(array)),
            DataType::Int64 => CellsKind::Int64(values::<Int64Type>(array)),
            DataType::Float32 => CellsKind::Float32(values::<Float32Type>(array)),
            DataType::Float64 => CellsKind::Float64(values::<Float64Type>(array)),
            &DataType::Decimal128(_, scale) => {
                CellsKind::Decimal(values::<Decimal128Type>(array), u8::try_from(scale).ok()?)
            }
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                CellsKind::Bytes { ends: array.value_offsets(), bytes: array.value_data(), is_text: true }
            }
            DataType::Binary => {
                let array = array.as_binary::<i32>();
                CellsKind::Bytes { ends: array.value_offsets(), bytes: array.value_data(), is_text: false }
            }
            DataType::Date32 => CellsKind::Date(values::<Date32Type>(array)),
            DataType::Time32(TimeUnit::Millisecond) => {
                CellsKind::Time(values::<Time32MillisecondType>(array))
            }
            DataType::Timestamp(unit, zone) => {
                let values = match unit {
                    TimeUnit::Second => return None,
                    TimeUnit::Millisecond => values::<TimestampMillisecondType>(array),
                    TimeUnit::Microsecond => values::<TimestampMicrosecondType>(array),
                    TimeUnit::Nanosecond => values::<TimestampNanosecondType>(array),
                };
                CellsKind::Timestamp { values, unit: *unit, is_instant: zone.is_some() }
            }
            DataType::Duration(TimeUnit::Millisecond) => {
                CellsKind::Int64(values::<DurationMillisecondType>(array))
            }
            DataType::Interval(_) => {
                CellsKind::Int32(array.as_primitive_opt::<IntervalYearMonthType>()?.values())
            }
            DataType::List(_) => {
                let array = array.as_list::<i32>();
                CellsKind::List { ends: array.value_offsets(), item: Box::new(Cells::new(array.values())?) }
            }
            DataType::Map(..) => {
                let array = array.as_map();
                let (key, value) = (Cells::new(array.keys())?, Cells::new(array.values())?);
                CellsKind::Map { ends: array.value_offsets(), key: Box::new(key), value: Box::new(value) }
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns().iter();
                let pair = |(column, name): (&'a ArrayRef, &'a str)| Some((name, Cells::new(column)?));
                let names = fields.iter().map(|field| field.name().as_str());
                CellsKind::Row(columns.zip(names).map(pair).collect::<Option<_>>()?)
            }
            _ => return None,
        };
        Some(Cells { nulls: array.nulls(), kind })
    }

    /// Returns the value of the array in a row.
    pub(super) fn at(&'a self, row: usize) -> Cell<'a> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Cell::Null;
        }
        let span = |ends: &[i32]| (ends[row] as usize, ends[row + 1] as usize);
        match &self.kind {
            CellsKind::Null => Cell::Null,
            CellsKind::Boolean(values) => Cell::Boolean(values.value(row)),
            CellsKind::Int8(values) => Cell::Integer(values[row].into()),
            CellsKind::Int16(values) => Cell::Integer(values[row].into()),
            CellsKind::Int32(values) => Cell::Integer(values[row].into()),
            CellsKind::Int64(values) => Cell::Integer(values[row]),
            CellsKind::Float32(values) => Cell::Float(values[row]),
            CellsKind::Float64(values) => Cell::Double(values[row]),
            CellsKind::Decimal(values, scale) => Cell::Decimal { value: values[row], scale: *scale },
            CellsKind::Bytes { ends, bytes, is_text } => {
                let (from, to) = span(ends);
                if *is_text { Cell::Text(&bytes[from..to]) } else { Cell::Bytes(&bytes[from..to]) }
            }
            CellsKind::Date(values) => Cell::Date(values[row]),
            CellsKind::Time(values) => Cell::Time(values[row]),
            &CellsKind::Timestamp { values, unit, is_instant } => {
                Cell::Timestamp { value: values[row], unit, is_instant }
            }
            CellsKind::List { ends, item } => {
                let (from, to) = span(ends);
                Cell::List { item, from, to }
            }
            CellsKind::Map { ends, key, value } => {
                let (from, to) = span(ends);
                Cell::Map { key, value, from, to }
            }
            CellsKind::Row(fields) => Cell::Row { fields, row },
        }
    }
}

fn values<T: ArrowPrimitiveType>(array: &ArrayRef) -> &[T::Native] {
    let array: &PrimitiveArray<T> = array.as_primitive();
    array.values()
}

/// Prepares all columns of a batch for reading row by row. The batch must have as many columns as the table,
/// whose column names are `names`.
pub(super) fn cells_of<'a>(
    columns: &'a [ArrayRef],
    names: &[String],
) -> Result<Vec<Cells<'a>>, super::FormatError> {
    if columns.len() != names.len() {
        let reason = format!("{} columns cannot be written to a table of {}", columns.len(), names.len());
        return Err(super::FormatError::Value { reason });
    }
    let cells = |(column, name): (&'a ArrayRef, &String)| {
        let reason = || format!("column '{name}': {} is of no type of SQL", column.data_type());
        Cells::new(column).ok_or_else(|| super::FormatError::Value { reason: reason() })
    };
    columns.iter().zip(names).map(cells).collect()
}
