//! Single values of SQL types, as aggregates keep them outside of Arrow columns: reading, storing, ordering
//! and writing back.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Decimal128Array, Float32Array, Float64Array, new_null_array};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType, Decimal128Type, Float32Type, Float64Type};
use arrow::row::{RowConverter, Rows};
use serde::{Serialize, de::DeserializeOwned};
use thalweg_model::{StateError, StateReader, StateWriter, TotalF64};

use crate::functions::EvaluationError;
use crate::keys::{
    ByteSlices, ROW_FORMAT, bytes_column, check_row_format, heap_bytes, is_whole, row_converter, rows_of,
    whole_column, whole_numbers,
};

/// Storage of the values of one SQL type outside of columns, as aggregates keep them in their state.
pub(super) trait Domain: Clone + Send + Sync + 'static {
    /// Rust type of one stored value.
    type Value: Clone + Ord + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// An Arrow column in a form from which values can be read row by row.
    type Column;

    /// Prepares a column of the SQL type for reading values.
    fn read(&self, column: &ArrayRef) -> Self::Column;

    /// Returns the value of a row of a column; the row must not be NULL.
    fn value(column: &Self::Column, row: usize) -> Self::Value;

    /// Stores the value of a row of a column in `slot`, which holds the value that an aggregate keeps for one
    /// group. The memory of the old value may be reused.
    fn assign(slot: &mut Option<Self::Value>, column: &Self::Column, row: usize) {
        *slot = Some(Self::value(column, row));
    }

    /// Compares the value of a row with a stored value.
    fn compare(column: &Self::Column, row: usize, with: &Self::Value) -> Ordering {
        Self::value(column, row).cmp(with)
    }

    /// Builds a column of the SQL type from stored values.
    ///
    /// # Errors
    /// [`EvaluationError`] if the column is too large.
    fn write<'a>(
        &self,
        values: impl Iterator<Item = Option<&'a Self::Value>>,
    ) -> Result<ArrayRef, EvaluationError>;

    /// Returns the heap bytes that a stored value holds.
    fn held_bytes(_value: &Self::Value) -> usize {
        0
    }

    /// Saves the version of the comparable rows of arrow's `RowConverter`, if the values of this type are
    /// stored in that format.
    fn save_format(_state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    /// Reads the version that [`save_format`](Self::save_format) wrote, and checks that the saved values,
    /// which follow the version, can be read.
    fn check_format(_state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// Kind of storage that the values of an SQL type have outside of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Whole,
    Decimal,
    Float,
    Bytes,
    Nested,
}

impl Kind {
    pub(super) fn of(of: &DataType) -> Kind {
        match of {
            of if is_whole(of) => Kind::Whole,
            DataType::Decimal128(_, _) => Kind::Decimal,
            DataType::Float32 | DataType::Float64 => Kind::Float,
            DataType::Utf8 | DataType::Binary => Kind::Bytes,
            _ => Kind::Nested,
        }
    }
}

/// A Rust number type to which the numbers of several SQL types are converted when they are read.
pub(super) trait Number: ArrowNativeType + Serialize + DeserializeOwned {
    /// Wrapper of the number that has a total order, so that values can be sorted.
    type Ordered: Copy + Ord + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Returns one number for each row of a column; for a NULL the number is arbitrary.
    fn read(column: &ArrayRef) -> ScalarBuffer<Self>;

    /// Builds a column of type `of` from numbers.
    fn write(of: &DataType, numbers: Vec<Self>, nulls: Option<NullBuffer>) -> ArrayRef;

    fn ordered(self) -> Self::Ordered;

    fn unordered(ordered: Self::Ordered) -> Self;
}

impl Number for i64 {
    type Ordered = i64;

    fn read(column: &ArrayRef) -> ScalarBuffer<i64> {
        whole_numbers(column)
    }

    fn write(of: &DataType, numbers: Vec<i64>, nulls: Option<NullBuffer>) -> ArrayRef {
        whole_column(of, numbers, nulls)
    }

    fn ordered(self) -> i64 {
        self
    }

    fn unordered(ordered: i64) -> i64 {
        ordered
    }
}

impl Number for i128 {
    type Ordered = i128;

    fn read(column: &ArrayRef) -> ScalarBuffer<i128> {
        column.as_primitive::<Decimal128Type>().values().clone()
    }

    fn write(of: &DataType, numbers: Vec<i128>, nulls: Option<NullBuffer>) -> ArrayRef {
        Arc::new(Decimal128Array::new(numbers.into(), nulls).with_data_type(of.clone()))
    }

    fn ordered(self) -> i128 {
        self
    }

    fn unordered(ordered: i128) -> i128 {
        ordered
    }
}

impl Number for f64 {
    type Ordered = TotalF64;

    fn read(column: &ArrayRef) -> ScalarBuffer<f64> {
        match column.as_primitive_opt::<Float32Type>() {
            Some(column) => column.values().iter().map(|&value| f64::from(value)).collect(),
            None => column.as_primitive::<Float64Type>().values().clone(),
        }
    }

    fn write(of: &DataType, numbers: Vec<f64>, nulls: Option<NullBuffer>) -> ArrayRef {
        match of {
            DataType::Float32 => {
                let numbers: Vec<f32> = numbers.into_iter().map(|number| number as f32).collect();
                Arc::new(Float32Array::new(numbers.into(), nulls))
            }
            _ => Arc::new(Float64Array::new(numbers.into(), nulls)),
        }
    }

    fn ordered(self) -> TotalF64 {
        // All NaNs become the same NaN, because Java's `Double.compare` treats them as equal.
        TotalF64(if self.is_nan() { f64::NAN } else { self })
    }

    fn unordered(ordered: TotalF64) -> f64 {
        ordered.0
    }
}

/// Builds a column of type `of` from numbers, some of which may be NULL.
pub(super) fn number_column<N: Number>(of: &DataType, numbers: impl Iterator<Item = Option<N>>) -> ArrayRef {
    let (is_there, numbers): (Vec<bool>, Vec<N>) =
        numbers.map(|number| (number.is_some(), number.unwrap_or_default())).unzip();
    let nulls = Some(NullBuffer::from(is_there)).filter(|nulls| nulls.null_count() > 0);
    N::write(of, numbers, nulls)
}

/// Storage of numbers of an SQL type as values of the Rust type `N`.
#[derive(Clone)]
pub(super) struct Numbers<N> {
    of: DataType,
    read_as: std::marker::PhantomData<N>,
}

impl<N> Numbers<N> {
    pub(super) fn new(of: DataType) -> Self {
        Numbers { of, read_as: std::marker::PhantomData }
    }
}

impl<N: Number> Domain for Numbers<N> {
    type Value = N::Ordered;
    type Column = ScalarBuffer<N>;

    fn read(&self, column: &ArrayRef) -> ScalarBuffer<N> {
        N::read(column)
    }

    fn value(column: &ScalarBuffer<N>, row: usize) -> N::Ordered {
        column[row].ordered()
    }

    fn write<'a>(
        &self,
        values: impl Iterator<Item = Option<&'a N::Ordered>>,
    ) -> Result<ArrayRef, EvaluationError> {
        Ok(number_column(&self.of, values.map(|value| value.copied().map(N::unordered))))
    }
}

/// Storage of texts and byte strings.
#[derive(Clone)]
pub(super) struct Bytes {
    of: DataType,
}

impl Bytes {
    pub(super) fn new(of: DataType) -> Self {
        Bytes { of }
    }
}

impl Domain for Bytes {
    type Value = Vec<u8>;
    type Column = ByteSlices;

    fn read(&self, column: &ArrayRef) -> ByteSlices {
        ByteSlices::of(column)
    }

    fn value(column: &ByteSlices, row: usize) -> Vec<u8> {
        column.get(row).to_vec()
    }

    fn assign(slot: &mut Option<Vec<u8>>, column: &ByteSlices, row: usize) {
        let kept = slot.get_or_insert_default();
        kept.clear();
        kept.extend_from_slice(column.get(row));
    }

    fn compare(column: &ByteSlices, row: usize, with: &Vec<u8>) -> Ordering {
        column.get(row).cmp(with)
    }

    fn write<'a>(
        &self,
        values: impl Iterator<Item = Option<&'a Vec<u8>>>,
    ) -> Result<ArrayRef, EvaluationError> {
        bytes_column(&self.of, values.map(|value| value.map(Vec::as_slice)))
    }

    fn held_bytes(value: &Vec<u8>) -> usize {
        heap_bytes(value.capacity())
    }
}

/// Storage of nested values (arrays, maps and rows) as comparable rows of arrow's `RowConverter`.
#[derive(Clone)]
pub(super) struct Nested {
    converter: Arc<RowConverter>,
    null: Arc<[u8]>,
}

impl Nested {
    pub(super) fn new(of: DataType) -> Self {
        let null = new_null_array(&of, 1);
        let converter = row_converter([of]);
        let null = rows_of(&converter, &[null]).row(0).data().into();
        Nested { converter: Arc::new(converter), null }
    }
}

impl Domain for Nested {
    type Value = Vec<u8>;
    type Column = Rows;

    fn read(&self, column: &ArrayRef) -> Rows {
        rows_of(&self.converter, std::slice::from_ref(column))
    }

    fn value(column: &Rows, row: usize) -> Vec<u8> {
        column.row(row).data().to_vec()
    }

    fn write<'a>(
        &self,
        values: impl Iterator<Item = Option<&'a Vec<u8>>>,
    ) -> Result<ArrayRef, EvaluationError> {
        let parser = self.converter.parser();
        let rows = values.map(|value| parser.parse(value.map_or(&self.null, |value| value)));
        let columns = self.converter.convert_rows(rows);
        let columns =
            columns.map_err(|error| EvaluationError { code: "EVALUATION", message: error.to_string() })?;
        Ok(columns.into_iter().next().expect("a converter of one column makes one column"))
    }

    fn held_bytes(value: &Vec<u8>) -> usize {
        heap_bytes(value.capacity())
    }

    fn save_format(state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&ROW_FORMAT)
    }

    fn check_format(state: &mut StateReader<'_>) -> Result<(), StateError> {
        check_row_format(state)
    }
}
