//! Helpers for kernels that compute row by row over columns: one or two values in, one value out.
//!
//! Every helper keeps two promises. Scalar arguments give a scalar, so expressions of constants are computed
//! once and not once per row. NULL arguments give NULL without a call of the function, so the value in the
//! slot of a NULL cannot fail.

use std::fmt;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, BooleanBufferBuilder, Datum, PrimitiveArray,
    StringArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::kernels::arity;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::EvaluationError;
use crate::values::{ColumnarValue, ScalarValue};

/// Result of evaluating a kernel: a column or a scalar, or an error.
pub type Evaluated = Result<ColumnarValue, EvaluationError>;

/// Returns the only argument of a kernel.
///
/// # Errors
/// [`EvaluationError`] if there is another number of arguments.
pub fn only(arguments: &[ColumnarValue]) -> Result<&ColumnarValue, EvaluationError> {
    match arguments {
        [value] => Ok(value),
        _ => Err(unexpected(&format!("{} arguments instead of 1", arguments.len()))),
    }
}

/// Returns the two arguments of a kernel.
///
/// # Errors
/// [`EvaluationError`] if there is another number of arguments.
pub fn both(arguments: &[ColumnarValue]) -> Result<(&ColumnarValue, &ColumnarValue), EvaluationError> {
    match arguments {
        [left, right] => Ok((left, right)),
        _ => Err(unexpected(&format!("{} arguments instead of 2", arguments.len()))),
    }
}

/// Applies a function to a whole argument column; a scalar is passed as a column of one row.
///
/// # Errors
/// Errors of the function.
pub fn column_map(
    value: &ColumnarValue,
    function: impl FnOnce(&ArrayRef) -> Result<ArrayRef, EvaluationError>,
) -> Evaluated {
    match value {
        ColumnarValue::Array(array) => Ok(ColumnarValue::Array(function(array)?)),
        ColumnarValue::Scalar(scalar) => first(&function(&one(scalar)?)?),
    }
}

/// Applies a function to several whole argument columns of `rows` rows. If all arguments are scalars, the
/// function sees columns of one row and the result is a scalar.
///
/// # Errors
/// Errors of the function.
pub fn columns_map(
    arguments: &[ColumnarValue],
    rows: usize,
    function: impl FnOnce(&[ArrayRef], usize) -> Result<ArrayRef, EvaluationError>,
) -> Evaluated {
    let are_scalars = arguments.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
    let rows = if are_scalars { 1 } else { rows };
    let columns = arguments
        .iter()
        .map(|argument| super::column(argument, rows))
        .collect::<Result<Vec<_>, EvaluationError>>()?;
    let result = function(&columns, rows)?;
    if are_scalars { first(&result) } else { Ok(ColumnarValue::Array(result)) }
}

/// Applies a function of one value, which always has a result, to each row of a column.
///
/// # Errors
/// [`EvaluationError`] if the column is of another type.
pub fn map<I, O>(value: &ColumnarValue, of: &DataType, function: impl Fn(I::Native) -> O::Native) -> Evaluated
where
    I: ArrowPrimitiveType,
    O: ArrowPrimitiveType,
{
    column_map(value, |array| Ok(typed(primitive::<I>(array)?.unary::<_, O>(function), of)))
}

/// Applies a function of one value, which may return NULL or an error, to each row of a column.
///
/// # Errors
/// Errors of the function; [`EvaluationError`] if the column is of another type.
pub fn try_map<I, O>(
    value: &ColumnarValue,
    of: &DataType,
    function: impl Fn(I::Native) -> Result<Option<O::Native>, EvaluationError>,
) -> Evaluated
where
    I: ArrowPrimitiveType,
    O: ArrowPrimitiveType,
{
    column_map(value, |array| {
        let array = primitive::<I>(array)?;
        let values = array.values();
        Ok(typed(fill::<O>(values.len(), array.nulls(), |row| function(values[row]))?, of))
    })
}

/// Applies a function of two values, which always has a result, to each row of two columns.
///
/// # Errors
/// [`EvaluationError`] if a column is of another type.
pub fn zip<L, R, O>(
    left: &ColumnarValue,
    right: &ColumnarValue,
    of: &DataType,
    function: impl Fn(L::Native, R::Native) -> O::Native,
) -> Evaluated
where
    L: ArrowPrimitiveType,
    R: ArrowPrimitiveType,
    O: ArrowPrimitiveType,
{
    let array = match (side::<L>(left)?, side::<R>(right)?) {
        (Side::One(None), _) | (_, Side::One(None)) => return null(of),
        (Side::One(Some(left)), Side::One(Some(right))) => {
            return first(&typed(PrimitiveArray::<O>::from_value(function(left, right), 1), of));
        }
        (Side::Column(left), Side::Column(right)) => {
            arity::binary(left, right, function).map_err(of_arrow)?
        }
        (Side::Column(left), Side::One(Some(right))) => left.unary(|left| function(left, right)),
        (Side::One(Some(left)), Side::Column(right)) => right.unary(|right| function(left, right)),
    };
    Ok(ColumnarValue::Array(typed::<O>(array, of)))
}

/// Applies a function of two values, which may return NULL or an error, to each row of two columns.
///
/// # Errors
/// Errors of the function; [`EvaluationError`] if a column is of another type.
pub fn try_zip<L, R, O>(
    left: &ColumnarValue,
    right: &ColumnarValue,
    of: &DataType,
    function: impl Fn(L::Native, R::Native) -> Result<Option<O::Native>, EvaluationError>,
) -> Evaluated
where
    L: ArrowPrimitiveType,
    R: ArrowPrimitiveType,
    O: ArrowPrimitiveType,
{
    let array = match (side::<L>(left)?, side::<R>(right)?) {
        (Side::One(None), _) | (_, Side::One(None)) => return null(of),
        (Side::One(Some(left)), Side::One(Some(right))) => {
            let value = function(left, right)?;
            return first(&typed(PrimitiveArray::<O>::from_iter([value]), of));
        }
        (Side::Column(left), Side::Column(right)) => {
            if left.len() != right.len() {
                return Err(unexpected(&format!("columns of {} and {} rows", left.len(), right.len())));
            }
            let nulls = NullBuffer::union(left.nulls(), right.nulls());
            let (lefts, rights) = (left.values(), right.values());
            fill::<O>(left.len(), nulls.as_ref(), |row| function(lefts[row], rights[row]))?
        }
        (Side::Column(left), Side::One(Some(right))) => {
            let lefts = left.values();
            fill::<O>(left.len(), left.nulls(), |row| function(lefts[row], right))?
        }
        (Side::One(Some(left)), Side::Column(right)) => {
            let rights = right.values();
            fill::<O>(right.len(), right.nulls(), |row| function(left, rights[row]))?
        }
    };
    Ok(ColumnarValue::Array(typed(array, of)))
}

/// Applies a predicate of two values, which always has a result, to each row of two columns.
///
/// # Errors
/// [`EvaluationError`] if a column is of another type.
pub fn zip_boolean<L, R>(
    left: &ColumnarValue,
    right: &ColumnarValue,
    question: impl Fn(L::Native, R::Native) -> bool,
) -> Evaluated
where
    L: ArrowPrimitiveType,
    R: ArrowPrimitiveType,
{
    let array = match (side::<L>(left)?, side::<R>(right)?) {
        (Side::One(None), _) | (_, Side::One(None)) => return null(&DataType::Boolean),
        (Side::One(Some(left)), Side::One(Some(right))) => {
            return Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(question(left, right)))));
        }
        (Side::Column(left), Side::Column(right)) => {
            if left.len() != right.len() {
                return Err(unexpected(&format!("columns of {} and {} rows", left.len(), right.len())));
            }
            BooleanArray::from_binary(left, right, question)
        }
        (Side::Column(left), Side::One(Some(right))) => {
            BooleanArray::from_unary(left, |left| question(left, right))
        }
        (Side::One(Some(left)), Side::Column(right)) => {
            BooleanArray::from_unary(right, |right| question(left, right))
        }
    };
    Ok(ColumnarValue::Array(Arc::new(array)))
}

/// Argument of a kernel in the form that Arrow's kernels take: an array, and whether it stands for a scalar.
pub struct Operand {
    array: ArrayRef,
    is_scalar: bool,
}

impl Operand {
    /// Converts an argument of a kernel to the form that Arrow's kernels take.
    ///
    /// # Errors
    /// [`EvaluationError`] if a scalar has no column.
    pub fn new(value: &ColumnarValue) -> Result<Self, EvaluationError> {
        Ok(match value {
            ColumnarValue::Array(array) => Operand { array: Arc::clone(array), is_scalar: false },
            ColumnarValue::Scalar(scalar) => Operand { array: one(scalar)?, is_scalar: true },
        })
    }
}

impl Datum for Operand {
    fn get(&self) -> (&dyn Array, bool) {
        (self.array.as_ref(), self.is_scalar)
    }
}

/// Downcasts a column to an array of fixed-width values.
///
/// # Errors
/// [`EvaluationError`] if the column is of another type because the planner left out a cast.
pub fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<&PrimitiveArray<T>, EvaluationError> {
    array.as_primitive_opt().ok_or_else(|| mistyped(array, &T::DATA_TYPE.to_string()))
}

/// Downcasts a column to an array of texts.
///
/// # Errors
/// [`EvaluationError`] if the column is of another type because the planner left out a cast.
pub fn text(array: &ArrayRef) -> Result<&StringArray, EvaluationError> {
    array.as_string_opt::<i32>().ok_or_else(|| mistyped(array, "text"))
}

/// Downcasts a column to an array of booleans.
///
/// # Errors
/// [`EvaluationError`] if the column is of another type because the planner left out a cast.
pub fn truth(array: &ArrayRef) -> Result<&BooleanArray, EvaluationError> {
    array.as_boolean_opt().ok_or_else(|| mistyped(array, "BOOLEAN"))
}

/// Creates the error for a column of another type than its kernel was bound to, because the planner left out
/// a cast.
pub fn mistyped(array: &ArrayRef, instead_of: &str) -> EvaluationError {
    unexpected(&format!("a column of {} instead of {instead_of}", array.data_type()))
}

/// Returns a scalar as a column of one row.
///
/// # Errors
/// [`EvaluationError`] if Arrow has no column for the type of the scalar.
pub fn one(scalar: &ScalarValue) -> Result<ArrayRef, EvaluationError> {
    scalar.to_array().map_err(|error| internal(&error))
}

/// Returns the first row of a column as a scalar.
///
/// # Errors
/// [`EvaluationError`] if the column is of a type without scalars.
pub fn first(array: &ArrayRef) -> Evaluated {
    ScalarValue::try_from_array(array, 0).map(ColumnarValue::Scalar).map_err(|error| internal(&error))
}

/// Returns a scalar NULL of a type.
///
/// # Errors
/// [`EvaluationError`] if there are no scalars of the type.
pub fn null(of: &DataType) -> Evaluated {
    ScalarValue::try_from(of).map(ColumnarValue::Scalar).map_err(|error| internal(&error))
}

/// Gives a column the type `of`, which may differ from its own only in parameters: the digits of a decimal
/// number, or a zone. If the type differs in more, the column stays unchanged.
pub fn typed<T: ArrowPrimitiveType>(array: PrimitiveArray<T>, of: &DataType) -> ArrayRef {
    if array.data_type() == of || !PrimitiveArray::<T>::is_compatible(of) {
        return Arc::new(array);
    }
    Arc::new(array.with_data_type(of.clone()))
}

/// Converts an error of Arrow's kernels, which means that this crate called them wrongly.
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
pub fn of_arrow(error: ArrowError) -> EvaluationError {
    internal(&error)
}

/// Checks that a column of text or bytes, which has `used` bytes, has room for `more` bytes. Arrow counts the
/// bytes of a column in 31 bits and panics beyond.
///
/// # Errors
/// [`EvaluationError`] if there is no room.
pub fn room(used: usize, more: usize) -> Result<(), EvaluationError> {
    const BYTES_MAX: usize = i32::MAX as usize;
    if used.saturating_add(more) <= BYTES_MAX {
        return Ok(());
    }
    Err(EvaluationError {
        code: "TOO_LONG",
        message: format!("text of a batch has more than {BYTES_MAX} bytes: cut it to a VARCHAR first"),
    })
}

/// Builds the result column of a kernel, of `rows` rows. A row is NULL if `nulls` says so or `value` returns
/// `None`; the first error ends the build.
pub fn fill<O: ArrowPrimitiveType>(
    rows: usize,
    nulls: Option<&NullBuffer>,
    mut value: impl FnMut(usize) -> Result<Option<O::Native>, EvaluationError>,
) -> Result<PrimitiveArray<O>, EvaluationError> {
    let mut values = vec![O::Native::default(); rows];
    // The null mask is created only when the first row becomes NULL: most columns have no NULL, and most
    // functions add none.
    let mut made_null: Option<BooleanBufferBuilder> = None;
    for (row, slot) in values.iter_mut().enumerate() {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            continue;
        }
        match value(row)? {
            Some(value) => *slot = value,
            None => made_null.get_or_insert_with(|| all_set(rows)).set_bit(row, false),
        }
    }
    let made_null = made_null.map(|mut bits| NullBuffer::new(bits.finish()));
    Ok(PrimitiveArray::new(values.into(), NullBuffer::union(nulls, made_null.as_ref())))
}

fn all_set(count: usize) -> BooleanBufferBuilder {
    let mut bits = BooleanBufferBuilder::new(count);
    bits.append_n(count, true);
    bits
}

/// One operand of a function of two values: a column or a scalar.
enum Side<'a, T: ArrowPrimitiveType> {
    Column(&'a PrimitiveArray<T>),
    One(Option<T::Native>),
}

fn side<T: ArrowPrimitiveType>(value: &ColumnarValue) -> Result<Side<'_, T>, EvaluationError> {
    Ok(match value {
        ColumnarValue::Array(array) => Side::Column(primitive(array)?),
        ColumnarValue::Scalar(scalar) => {
            let array = one(scalar)?;
            let array = primitive::<T>(&array)?;
            Side::One(array.is_valid(0).then(|| array.value(0)))
        }
    })
}

fn internal(error: &dyn fmt::Display) -> EvaluationError {
    EvaluationError { code: "EVALUATION", message: error.to_string() }
}

fn unexpected(given: &str) -> EvaluationError {
    EvaluationError { code: "EVALUATION", message: format!("a kernel was given {given}") }
}
