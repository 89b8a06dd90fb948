//! Helpers for kernels: arguments read by row, results written by row, and signatures checked at binding.
//!
//! A kernel reads its arguments through [`Input`]s and passes a closure over row numbers to [`text`], [`primitive`],
//! [`boolean`] or another writer. [`Input::at`] returns `None` for NULL, so a function which is NULL for any NULL
//! argument needs only `?`, and a slot which is NULL is never read. If all arguments are scalars, the closure runs
//! once and the result is a scalar (rules K1 and K2 of `functions.rs`).

use std::sync::Arc;

use arrow::array::{
    Array, ArrayBuilder, ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryBuilder, BooleanArray,
    BooleanBuilder, ListArray, PrimitiveArray, PrimitiveBuilder, StringArray, StringBuilder,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};

use super::{Argument, BindError, Bound, EvaluationError, Kernel};
use crate::scratch::{self, Room};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

#[cfg(test)]
pub(crate) mod bed;
#[cfg(test)]
mod tests;

/// Greatest length of a text which one call makes from short arguments, as REPEAT and LPAD do: 64 MiB. Without a
/// bound, one row of `REPEAT(x, 2000000000)` would take the memory of all queries.
pub const MADE_BYTES_MAX: usize = 64 << 20;

/// Greatest number of bytes of text in one result column, because Arrow counts them in 32 bits.
const COLUMN_BYTES_MAX: usize = i32::MAX as usize;

/// A kind of values that a kernel reads from an Arrow column.
pub trait Values {
    /// Arrow array that holds the values.
    type Array: Array + Clone + 'static;
    /// Rust type of one value of the array.
    type Item<'a>;
    /// Returns the value of an array at `row`, which must not be NULL.
    fn read(array: &Self::Array, row: usize) -> Self::Item<'_>;
}

/// Marks an [`Input`], which is an argument of a kernel, as a column of texts.
#[derive(Debug)]
pub struct Text;

/// Marks an [`Input`], which is an argument of a kernel, as a column of byte strings.
#[derive(Debug)]
pub struct Bytes;

/// Marks an [`Input`], which is an argument of a kernel, as a column of booleans.
#[derive(Debug)]
pub struct Flag;

impl Values for Text {
    type Array = StringArray;
    type Item<'a> = &'a str;
    fn read(array: &StringArray, row: usize) -> &str {
        array.value(row)
    }
}

impl Values for Bytes {
    type Array = BinaryArray;
    type Item<'a> = &'a [u8];
    fn read(array: &BinaryArray, row: usize) -> &[u8] {
        array.value(row)
    }
}

impl Values for Flag {
    type Array = BooleanArray;
    type Item<'a> = bool;
    fn read(array: &BooleanArray, row: usize) -> bool {
        array.value(row)
    }
}

impl<T: ArrowPrimitiveType> Values for T {
    type Array = PrimitiveArray<T>;
    type Item<'a> = T::Native;
    fn read(array: &PrimitiveArray<T>, row: usize) -> T::Native {
        array.value(row)
    }
}

/// Argument of a kernel, a column or a scalar, which is read row by row.
#[derive(Debug)]
pub struct Input<V: Values> {
    array: V::Array,
    /// Step from row to row: 1 for a column; 0 for a scalar, whose only value is read for all rows.
    stride: usize,
}

impl<V: Values> Input<V> {
    /// Opens an argument of a kernel for reading.
    ///
    /// # Errors
    /// [`EvaluationError`] if the argument is of another type than the function was bound to.
    pub fn of(argument: &ColumnarValue) -> Result<Self, EvaluationError> {
        let (array, stride) = one_or_many(argument)?;
        let array = array.as_any().downcast_ref::<V::Array>().cloned().ok_or_else(|| EvaluationError {
            code: "EVALUATION",
            message: format!("an argument of type {} reached a function bound to another", array.data_type()),
        })?;
        Ok(Input { array, stride })
    }

    /// Opens the argument with the index `place`, from 0 on, for reading; `None` if the call has no argument
    /// there.
    ///
    /// # Errors
    /// Fails as [`Input::of`] does.
    pub fn optional(arguments: &[ColumnarValue], place: usize) -> Result<Option<Self>, EvaluationError> {
        arguments.get(place).map(Self::of).transpose()
    }

    /// Returns the argument's value in a row; `None` if it is NULL.
    pub fn at(&self, row: usize) -> Option<V::Item<'_>> {
        let row = row * self.stride;
        if self.array.is_null(row) { None } else { Some(V::read(&self.array, row)) }
    }

    /// Returns whether the argument is a scalar, with one value for all rows.
    pub fn is_constant(&self) -> bool {
        self.stride == 0
    }
}

/// Argument of a kernel, text or bytes, which is read as bytes.
#[derive(Debug)]
pub enum Octets {
    /// The argument is text, whose bytes are UTF-8.
    Text(Input<Text>),
    /// The argument is a column of byte strings.
    Bytes(Input<Bytes>),
}

impl Octets {
    /// Opens an argument of text or bytes for reading.
    ///
    /// # Errors
    /// Fails as [`Input::of`] does.
    pub fn of(argument: &ColumnarValue) -> Result<Self, EvaluationError> {
        match argument.data_type() {
            DataType::Binary => Input::of(argument).map(Octets::Bytes),
            _ => Input::of(argument).map(Octets::Text),
        }
    }

    /// Returns the bytes of the argument in a row; `None` if the argument is NULL there.
    pub fn at(&self, row: usize) -> Option<&[u8]> {
        match self {
            Octets::Text(text) => text.at(row).map(str::as_bytes),
            Octets::Bytes(bytes) => bytes.at(row),
        }
    }
}

/// Returns an argument of a kernel as a column, and the step from the value of one row to that of the next: 1
/// for a column. A scalar becomes a column of one row with step 0.
///
/// # Errors
/// [`EvaluationError`] if a scalar cannot be made into a column.
pub fn one_or_many(argument: &ColumnarValue) -> Result<(ArrayRef, usize), EvaluationError> {
    match argument {
        ColumnarValue::Array(array) => Ok((array.clone(), 1)),
        ColumnarValue::Scalar(_) => Ok((super::column(argument, 1)?, 0)),
    }
}

/// Outcome of computing a function for a row: a value, NULL, or an error.
pub trait Outcome<T> {
    /// Converts the outcome for a row to a result.
    ///
    /// # Errors
    /// An error if the row has no result.
    fn outcome(self) -> Result<Option<T>, EvaluationError>;
}

impl<T> Outcome<T> for Option<T> {
    fn outcome(self) -> Result<Option<T>, EvaluationError> {
        Ok(self)
    }
}

impl<T> Outcome<T> for Result<Option<T>, EvaluationError> {
    fn outcome(self) -> Result<Option<T>, EvaluationError> {
        self
    }
}

/// Builds a column of text from texts that already exist: slices of arguments, or owned strings.
///
/// # Errors
/// The error of the first row without a result, or an error if the column grows too long.
pub fn text<R: AsRef<str>, O: Outcome<R>>(
    arguments: &[ColumnarValue],
    rows: usize,
    mut row: impl FnMut(usize) -> O,
) -> Result<ColumnarValue, EvaluationError> {
    let count = row_count(arguments, rows);
    let mut builder = StringBuilder::with_capacity(count, 0);
    let (mut bytes, mut room) = (0, Room::default());
    for place in 0..count {
        match row(place).outcome()? {
            Some(value) => {
                bytes = grown(bytes, value.as_ref().len())?;
                room.take(value.as_ref().len())?;
                builder.append_value(value);
            }
            None => builder.append_null(),
        }
    }
    shaped(builder.finish(), arguments)
}

/// Builds a column of text. The text of each row is written into a scratch string, which is empty at the
/// beginning of the row.
///
/// # Errors
/// Fails as [`text`] does.
pub fn written<O: Outcome<()>>(
    arguments: &[ColumnarValue],
    rows: usize,
    mut row: impl FnMut(usize, &mut String) -> O,
) -> Result<ColumnarValue, EvaluationError> {
    let count = row_count(arguments, rows);
    let mut builder = StringBuilder::with_capacity(count, 0);
    let (mut scratch, mut bytes) = (String::new(), 0);
    let (mut room, mut scratch_bytes) = (Room::default(), 0);
    for place in 0..count {
        scratch.clear();
        match row(place, &mut scratch).outcome()? {
            Some(()) => {
                bytes = grown(bytes, scratch.len())?;
                room.take(scratch.len() + scratch.capacity().saturating_sub(scratch_bytes))?;
                scratch_bytes = scratch_bytes.max(scratch.capacity());
                builder.append_value(&scratch);
            }
            None => builder.append_null(),
        }
    }
    shaped(builder.finish(), arguments)
}

/// Builds a column of bytes. The bytes of each row are written into a scratch vector, which is empty at the
/// beginning of the row.
///
/// # Errors
/// Fails as [`text`] does.
pub fn bytes<O: Outcome<()>>(
    arguments: &[ColumnarValue],
    rows: usize,
    mut row: impl FnMut(usize, &mut Vec<u8>) -> O,
) -> Result<ColumnarValue, EvaluationError> {
    let count = row_count(arguments, rows);
    let mut builder = BinaryBuilder::with_capacity(count, 0);
    let (mut scratch, mut bytes) = (Vec::new(), 0);
    let (mut room, mut scratch_bytes) = (Room::default(), 0);
    for place in 0..count {
        scratch.clear();
        match row(place, &mut scratch).outcome()? {
            Some(()) => {
                bytes = grown(bytes, scratch.len())?;
                room.take(scratch.len() + scratch.capacity().saturating_sub(scratch_bytes))?;
                scratch_bytes = scratch_bytes.max(scratch.capacity());
                builder.append_value(&scratch);
            }
            None => builder.append_null(),
        }
    }
    shaped(builder.finish(), arguments)
}

/// Builder of a column of text arrays: collects the items of all arrays, one array after the other.
#[derive(Default)]
pub struct TextItems {
    builder: StringBuilder,
    bytes: usize,
    room: Room,
}

impl TextItems {
    /// Bytes that an item of a text array takes beside its text: its offset.
    const ITEM_BYTES: usize = size_of::<i32>();

    /// Appends an item to the current text array, or NULL.
    ///
    /// # Errors
    /// [`EvaluationError`] if the column grows too long.
    pub fn push(&mut self, item: Option<&str>) -> Result<(), EvaluationError> {
        let length = item.map_or(0, str::len);
        // An empty item counts as one byte, so that the limit on bytes also limits the number of items, which
        // has 32 bits.
        self.bytes = grown(self.bytes, length.max(1))?;
        self.room.take(length + Self::ITEM_BYTES)?;
        self.builder.append_option(item);
        Ok(())
    }

    /// Appends several items, none of which is NULL, to the current text array.
    ///
    /// # Errors
    /// Fails as [`push`](Self::push) does.
    pub fn extend<'a>(&mut self, items: impl IntoIterator<Item = &'a str>) -> Result<(), EvaluationError> {
        items.into_iter().try_for_each(|item| self.push(Some(item)))
    }
}

/// Builds a column of text arrays, to which each row appends the items of its array. A row that is NULL must
/// append none.
///
/// # Errors
/// Fails as [`text`] does.
pub fn text_lists<O: Outcome<()>>(
    arguments: &[ColumnarValue],
    rows: usize,
    mut row: impl FnMut(usize, &mut TextItems) -> O,
) -> Result<ColumnarValue, EvaluationError> {
    let count = row_count(arguments, rows);
    let mut items = TextItems::default();
    let (mut lengths, mut valid) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for place in 0..count {
        let before = items.builder.len();
        valid.push(row(place, &mut items).outcome()?.is_some());
        lengths.push(items.builder.len() - before);
    }
    let values = items.builder.finish();
    let item = Field::new_list_field(DataType::Utf8, true);
    let lists = ListArray::try_new(
        Arc::new(item),
        OffsetBuffer::from_lengths(lengths),
        Arc::new(values),
        Some(NullBuffer::from(valid)),
    );
    shaped(lists.map_err(|error| failure(&error))?, arguments)
}

/// Builds the result column of a kernel as numbers, or as any type that Arrow stores as numbers.
///
/// # Errors
/// The error of the first row without a result.
pub fn primitive<T: ArrowPrimitiveType, O: Outcome<T::Native>>(
    arguments: &[ColumnarValue],
    rows: usize,
    mut row: impl FnMut(usize) -> O,
) -> Result<ColumnarValue, EvaluationError> {
    let count = row_count(arguments, rows);
    let mut builder = PrimitiveBuilder::<T>::with_capacity(count);
    for place in 0..count {
        builder.append_option(row(place).outcome()?);
    }
    shaped(builder.finish(), arguments)
}

/// Builds the result column of a kernel as booleans.
///
/// # Errors
/// The error of the first row without a result.
pub fn boolean<O: Outcome<bool>>(
    arguments: &[ColumnarValue],
    rows: usize,
    mut row: impl FnMut(usize) -> O,
) -> Result<ColumnarValue, EvaluationError> {
    let count = row_count(arguments, rows);
    let mut builder = BooleanBuilder::with_capacity(count);
    for place in 0..count {
        builder.append_option(row(place).outcome()?);
    }
    shaped(builder.finish(), arguments)
}

/// Returns for how many rows a kernel computes its function: 1 if all arguments are scalars, or else `rows`.
pub fn row_count(arguments: &[ColumnarValue], rows: usize) -> usize {
    if are_scalars(arguments) { 1 } else { rows }
}

/// Returns the result of a kernel, which has [`row_count`] rows, as a scalar if all arguments are scalars.
///
/// # Errors
/// [`EvaluationError`] if there is no scalar of this type.
pub fn shaped(
    array: impl Array + 'static,
    arguments: &[ColumnarValue],
) -> Result<ColumnarValue, EvaluationError> {
    if !are_scalars(arguments) {
        return Ok(ColumnarValue::Array(Arc::new(array)));
    }
    // A list becomes a scalar here, because `ScalarValue` would drop the metadata with the SQL type of the
    // list's items.
    if let Some(lists) = array.as_any().downcast_ref::<ListArray>()
        && lists.len() == 1
    {
        return Ok(ColumnarValue::Scalar(ScalarValue::List(Arc::new(lists.clone()))));
    }
    let scalar = ScalarValue::try_from_array(&array, 0);
    scalar.map(ColumnarValue::Scalar).map_err(|error| failure(&error))
}

/// Converts an error of Arrow or of a value that only a fault of this crate can cause.
pub fn failure(error: &dyn std::fmt::Display) -> EvaluationError {
    EvaluationError { code: "EVALUATION", message: error.to_string() }
}

/// Checks the length of a text that a function is about to make, and returns the length.
///
/// # Errors
/// [`EvaluationError`] with the length if it exceeds [`MADE_BYTES_MAX`].
pub fn made(bytes: Option<usize>) -> Result<usize, EvaluationError> {
    match bytes {
        Some(bytes) if bytes <= MADE_BYTES_MAX => scratch::check(bytes).map(|()| bytes),
        _ => Err(EvaluationError {
            code: "RESULT_TOO_LONG",
            message: format!("the result would be longer than {MADE_BYTES_MAX} bytes: shorten the arguments"),
        }),
    }
}

fn are_scalars(arguments: &[ColumnarValue]) -> bool {
    arguments.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)))
}

fn grown(bytes: usize, more: usize) -> Result<usize, EvaluationError> {
    match bytes.checked_add(more) {
        Some(bytes) if bytes <= COLUMN_BYTES_MAX => Ok(bytes),
        _ => Err(EvaluationError {
            code: "RESULT_TOO_LONG",
            message: format!("the results of one batch are longer than {COLUMN_BYTES_MAX} bytes"),
        }),
    }
}

/// Kind of argument that a function's signature asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The argument must be text and is passed unchanged.
    Text,
    /// The argument must be bytes and is passed unchanged.
    Bytes,
    /// The argument must be text or bytes and is passed unchanged.
    TextOrBytes,
    /// The argument must be a whole number and is passed as a BIGINT.
    Whole,
}

impl Kind {
    /// Returns the type in which an argument is passed; `None` if the argument is not of this kind.
    fn accept(self, given: &SqlType) -> Option<SqlType> {
        let is_null = *given == SqlType::Null;
        match self {
            Kind::Text if is_null => Some(SqlType::STRING),
            Kind::Text => given.is_text().then(|| given.clone()),
            Kind::Bytes if is_null => Some(SqlType::BYTES),
            Kind::Bytes => given.is_bytes().then(|| given.clone()),
            Kind::TextOrBytes => Kind::Text.accept(given).or_else(|| Kind::Bytes.accept(given)),
            Kind::Whole => (is_null || given.is_integer()).then_some(SqlType::BigInt),
        }
    }
}

/// Checks arguments against a function's signature, and returns the types in which they are passed.
///
/// # Errors
/// [`BindError`] if there are too few or too many arguments, or if one does not fit.
pub fn expect(
    arguments: &[Argument],
    required: &[Kind],
    optional: &[Kind],
) -> Result<Vec<SqlType>, BindError> {
    if arguments.len() < required.len() || arguments.len() > required.len() + optional.len() {
        return Err(BindError::count(arguments.len()));
    }
    let kinds = required.iter().chain(optional);
    let pairs = arguments.iter().zip(kinds).enumerate();
    pairs
        .map(|(place, (argument, kind))| {
            kind.accept(&argument.of).ok_or_else(|| BindError::of_type(place + 1, &argument.of))
        })
        .collect()
}

/// Cases in which a function returns NULL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nulls {
    /// The function never returns NULL.
    Never,
    /// The function returns NULL only if an argument is NULL.
    OfArguments,
    /// The function may return NULL even if no argument is NULL.
    Anyway,
}

/// Creates a bound function from the types in which its arguments are passed.
pub fn bound(
    types: Vec<SqlType>,
    given: &[Argument],
    result: SqlType,
    nulls: Nulls,
    kernel: impl Fn(&[ColumnarValue], usize) -> Result<ColumnarValue, EvaluationError> + Send + Sync + 'static,
) -> Bound {
    let kernel: Arc<dyn Kernel> = Arc::new(kernel);
    let is_nullable = match nulls {
        Nulls::Never => false,
        Nulls::OfArguments => given.iter().any(|argument| argument.is_nullable),
        Nulls::Anyway => true,
    };
    Bound { arguments: types, result, is_nullable, kernel }
}
