//! Columns under construction: values are appended at the end, and the last values can be removed, also inside nested
//! values.
//!
//! Arrow's own builders cannot remove values. This is needed when a record turns out to be bad in its last field.

use std::mem;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, BooleanBufferBuilder, Decimal128Array, ListArray, MapArray,
    NullArray, NullBufferBuilder, PrimitiveArray, RecordBatch, RecordBatchOptions, StringArray, StructArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, DurationMillisecondType, Field, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, IntervalYearMonthType, SchemaRef, Time32MillisecondType,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use thalweg_sql_functions::types::SqlType;

use super::FormatColumn;

/// The reason why a record is bad. If one value does not fit, `column` is the index of its column among the
/// columns that are read.
#[derive(Debug)]
pub(super) struct Bad {
    pub(super) column: Option<usize>,
    pub(super) reason: String,
}

/// The rows that are decoded and not yet returned as a batch. They have the columns that are read, which may
/// be fewer than the record has.
pub(super) struct Rows {
    schema: SchemaRef,
    columns: Vec<Column>,
    len: usize,
}

impl Rows {
    /// Creates empty columns for the columns of the table that are read; `wanted` holds their indexes in
    /// `columns`.
    ///
    /// # Panics
    /// If a wanted column does not exist or is wanted twice.
    pub(super) fn new(columns: &[FormatColumn], wanted: &[usize]) -> Self {
        let is_once = (1..wanted.len()).all(|place| !wanted[..place].contains(&wanted[place]));
        assert!(is_once, "the planner wants each column of a format once");
        let schema = super::schema_of(columns, wanted);
        let columns = wanted.iter().map(|&place| Column::new(&columns[place].of)).collect();
        Rows { schema, columns, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn name(&self, column: usize) -> &str {
        self.schema.field(column).name()
    }

    /// Appends one row: `value` appends a value to each column in turn. If one value does not fit, the whole
    /// row is removed.
    #[inline]
    pub(super) fn append(
        &mut self,
        mut value: impl FnMut(usize, &mut Column) -> Result<(), String>,
    ) -> Result<(), Bad> {
        for (place, column) in self.columns.iter_mut().enumerate() {
            let appended = value(place, column).and_then(|()| {
                let is_right = self.schema.field(place).is_nullable() || column.ends_valid();
                is_right.then_some(()).ok_or_else(|| "has no value, but is NOT NULL".to_owned())
            });
            if let Err(reason) = appended {
                self.truncate(self.len);
                return Err(Bad { column: Some(place), reason });
            }
        }
        self.len += 1;
        Ok(())
    }

    /// Removes all but the first `len` rows.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = len;
        self.columns.iter_mut().for_each(|column| column.truncate(len));
    }

    /// Returns the collected rows as a batch. Afterwards there are no rows.
    pub(super) fn finish(&mut self) -> RecordBatch {
        let options = RecordBatchOptions::new().with_row_count(Some(mem::take(&mut self.len)));
        let columns = self.columns.iter_mut().map(Column::finish).collect();
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).expect(
            "columns are of the schema's types, as long as each other, and without NULL where it says so",
        )
    }
}

/// A column of one SQL type with the values appended so far.
pub(super) struct Column {
    of: SqlType,
    validity: NullBufferBuilder,
    values: Values,
}

/// The values of a column under construction. For a row that is NULL the value is arbitrary.
pub(super) enum Values {
    None,
    Boolean(BooleanBufferBuilder),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    /// Values of INT, DATE, TIME and INTERVAL of months.
    Int32(Vec<i32>),
    /// Values of BIGINT, timestamps and INTERVAL of days.
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Decimal(Vec<i128>),
    /// Values of text and of bytes. The bytes of text are valid UTF-8; Arrow checks that again for each
    /// column.
    Bytes {
        ends: Vec<i32>,
        bytes: Vec<u8>,
    },
    List {
        ends: Vec<i32>,
        item: Box<Column>,
    },
    Map {
        ends: Vec<i32>,
        key: Box<Column>,
        value: Box<Column>,
    },
    Row(Vec<Column>),
}

impl Column {
    pub(super) fn new(of: &SqlType) -> Self {
        let column = |of: &SqlType| Box::new(Column::new(of));
        let values = match of {
            SqlType::Null => Values::None,
            SqlType::Boolean => Values::Boolean(BooleanBufferBuilder::new(0)),
            SqlType::TinyInt => Values::Int8(Vec::new()),
            SqlType::SmallInt => Values::Int16(Vec::new()),
            SqlType::Int | SqlType::Date | SqlType::Time(_) | SqlType::YearMonth => Values::Int32(Vec::new()),
            SqlType::BigInt | SqlType::DayTime | SqlType::Timestamp(_) | SqlType::TimestampLtz(_) => {
                Values::Int64(Vec::new())
            }
            SqlType::Float => Values::Float32(Vec::new()),
            SqlType::Double => Values::Float64(Vec::new()),
            SqlType::Decimal { .. } => Values::Decimal(Vec::new()),
            SqlType::Char(_) | SqlType::Varchar(_) | SqlType::Binary(_) | SqlType::Varbinary(_) => {
                Values::Bytes { ends: Vec::new(), bytes: Vec::new() }
            }
            SqlType::Array(item) => Values::List { ends: Vec::new(), item: column(item) },
            SqlType::Map(key, value) => {
                Values::Map { ends: Vec::new(), key: column(key), value: column(value) }
            }
            SqlType::Row(fields) => Values::Row(fields.iter().map(|(_, of)| Column::new(of)).collect()),
        };
        Column { of: of.clone(), validity: NullBufferBuilder::new(0), values }
    }

    pub(super) fn len(&self) -> usize {
        self.validity.len()
    }

    /// Returns whether the column has values and the last one is not NULL.
    fn ends_valid(&self) -> bool {
        self.len().checked_sub(1).is_some_and(|last| self.validity.is_valid(last))
    }

    /// Returns the type of the column and its vectors. The caller appends one value to the vectors, or the
    /// items of a nested value; [`Column::seal`] then completes the value.
    #[inline]
    pub(super) fn parts(&mut self) -> (&SqlType, &mut Values) {
        (&self.of, &mut self.values)
    }

    /// Completes a value that is not NULL, after its parts were appended.
    #[inline]
    pub(super) fn seal(&mut self) {
        self.validity.append_non_null();
        match &mut self.values {
            Values::Bytes { ends, bytes } => ends.push(bytes.len() as i32),
            Values::List { ends, item } => ends.push(item.len() as i32),
            Values::Map { ends, key, .. } => ends.push(key.len() as i32),
            _ => {}
        }
    }

    pub(super) fn append_null(&mut self) {
        self.validity.append_null();
        match &mut self.values {
            Values::None => {}
            Values::Boolean(values) => values.append(false),
            Values::Int8(values) => values.push(0),
            Values::Int16(values) => values.push(0),
            Values::Int32(values) => values.push(0),
            Values::Int64(values) => values.push(0),
            Values::Float32(values) => values.push(0.0),
            Values::Float64(values) => values.push(0.0),
            Values::Decimal(values) => values.push(0),
            Values::Bytes { ends, bytes } => ends.push(bytes.len() as i32),
            Values::List { ends, item } => ends.push(item.len() as i32),
            Values::Map { ends, key, .. } => ends.push(key.len() as i32),
            Values::Row(fields) => fields.iter_mut().for_each(Column::append_null),
        }
    }

    /// Removes all but the first `len` values, and the parts of a value that was not completed.
    pub(super) fn truncate(&mut self, len: usize) {
        self.validity.truncate(len);
        let start = |ends: &mut Vec<i32>| {
            ends.truncate(len);
            ends.last().map_or(0, |end| *end as usize)
        };
        match &mut self.values {
            Values::None => {}
            Values::Boolean(values) => values.truncate(len),
            Values::Int8(values) => values.truncate(len),
            Values::Int16(values) => values.truncate(len),
            Values::Int32(values) => values.truncate(len),
            Values::Int64(values) => values.truncate(len),
            Values::Float32(values) => values.truncate(len),
            Values::Float64(values) => values.truncate(len),
            Values::Decimal(values) => values.truncate(len),
            Values::Bytes { ends, bytes } => bytes.truncate(start(ends)),
            Values::List { ends, item } => item.truncate(start(ends)),
            Values::Map { ends, key, value } => {
                let start = start(ends);
                key.truncate(start);
                value.truncate(start);
            }
            Values::Row(fields) => fields.iter_mut().for_each(|field| field.truncate(len)),
        }
    }

    /// Returns the values of the column as an Arrow array, and leaves the column empty.
    pub(super) fn finish(&mut self) -> ArrayRef {
        let len = self.validity.len();
        let nulls = self.validity.finish();
        let arrow = self.of.arrow();
        match &mut self.values {
            Values::None => Arc::new(NullArray::new(len)),
            Values::Boolean(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Int8(values) => numbers::<Int8Type>(values, nulls, arrow),
            Values::Int16(values) => numbers::<Int16Type>(values, nulls, arrow),
            Values::Int32(values) => match &arrow {
                DataType::Date32 => numbers::<Date32Type>(values, nulls, arrow),
                DataType::Time32(_) => numbers::<Time32MillisecondType>(values, nulls, arrow),
                DataType::Interval(_) => numbers::<IntervalYearMonthType>(values, nulls, arrow),
                _ => numbers::<Int32Type>(values, nulls, arrow),
            },
            Values::Int64(values) => match &arrow {
                DataType::Duration(_) => numbers::<DurationMillisecondType>(values, nulls, arrow),
                DataType::Timestamp(TimeUnit::Millisecond, _) => {
                    numbers::<TimestampMillisecondType>(values, nulls, arrow)
                }
                DataType::Timestamp(TimeUnit::Microsecond, _) => {
                    numbers::<TimestampMicrosecondType>(values, nulls, arrow)
                }
                DataType::Timestamp(_, _) => numbers::<TimestampNanosecondType>(values, nulls, arrow),
                _ => numbers::<Int64Type>(values, nulls, arrow),
            },
            Values::Float32(values) => numbers::<Float32Type>(values, nulls, arrow),
            Values::Float64(values) => numbers::<Float64Type>(values, nulls, arrow),
            Values::Decimal(values) => {
                Arc::new(Decimal128Array::new(fetch(values).into(), nulls).with_data_type(arrow))
            }
            Values::Bytes { ends, bytes } => {
                let (offsets, bytes) = (offsets(ends), Buffer::from_vec(fetch(bytes)));
                match arrow {
                    DataType::Utf8 => Arc::new(StringArray::new(offsets, bytes, nulls)),
                    _ => Arc::new(BinaryArray::new(offsets, bytes, nulls)),
                }
            }
            Values::List { ends, item } => {
                let DataType::List(field) = arrow else {
                    unreachable!("`SqlType::arrow` makes a List of an ARRAY")
                };
                Arc::new(ListArray::new(field, offsets(ends), item.finish(), nulls))
            }
            Values::Map { ends, key, value } => {
                let DataType::Map(field, is_sorted) = arrow else {
                    unreachable!("`SqlType::arrow` makes a Map of a MAP")
                };
                let entries = entries(&field, key.finish(), value.finish());
                Arc::new(MapArray::new(field, offsets(ends), entries, nulls, is_sorted))
            }
            Values::Row(fields) => {
                let DataType::Struct(names) = arrow else {
                    unreachable!("`SqlType::arrow` makes a Struct of a ROW")
                };
                if fields.is_empty() {
                    return Arc::new(StructArray::new_empty_fields(len, nulls));
                }
                Arc::new(StructArray::new(names, fields.iter_mut().map(Column::finish).collect(), nulls))
            }
        }
    }
}

fn entries(field: &Field, keys: ArrayRef, values: ArrayRef) -> StructArray {
    let DataType::Struct(names) = field.data_type() else {
        unreachable!("arrow holds the entries of a Map as a Struct")
    };
    StructArray::new(names.clone(), vec![keys, values], None)
}

fn numbers<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    nulls: Option<NullBuffer>,
    arrow: DataType,
) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(fetch(values)), nulls).with_data_type(arrow))
}

/// Takes the values out of a vector, and reserves room for as many more, since the next batch has about the
/// same size.
fn fetch<T>(values: &mut Vec<T>) -> Vec<T> {
    let room = values.len();
    mem::replace(values, Vec::with_capacity(room))
}

fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(0);
    offsets.append(ends);
    OffsetBuffer::new(offsets.into())
}
