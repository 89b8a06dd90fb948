//! Maps over columns, row by row: one value in or two, one out.
//!
//! Every map keeps two promises. A scalar stays a scalar, so that what depends on constants alone is computed once and not
//! once per row; and NULL in gives NULL out, without the function being asked, so that what lies in the slot of a NULL
//! cannot fail.

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
use datafusion_common::{DataFusionError, ScalarValue};
use datafusion_expr::ColumnarValue;

use super::EvaluationError;

/// What a kernel answers.
pub type Evaluated = Result<ColumnarValue, EvaluationError>;

/// The one argument of a kernel.
///
/// # Errors
/// [`EvaluationError`] if it was given another number of them.
pub fn only(arguments: &[ColumnarValue]) -> Result<&ColumnarValue, EvaluationError> {
    match arguments {
        [value] => Ok(value),
        _ => Err(unexpected(&format!("{} arguments instead of 1", arguments.len()))),
    }
}

/// The two arguments of a kernel.
///
/// # Errors
/// [`EvaluationError`] if it was given another number of them.
pub fn both(arguments: &[ColumnarValue]) -> Result<(&ColumnarValue, &ColumnarValue), EvaluationError> {
    match arguments {
        [left, right] => Ok((left, right)),
        _ => Err(unexpected(&format!("{} arguments instead of 2", arguments.len()))),
    }
}

/// A function over whole columns, which sees a scalar as a column of one row.
///
/// # Errors
/// Those of the function.
pub fn column_map(
    value: &ColumnarValue,
    function: impl FnOnce(&ArrayRef) -> Result<ArrayRef, EvaluationError>,
) -> Evaluated {
    match value {
        ColumnarValue::Array(array) => Ok(ColumnarValue::Array(function(array)?)),
        ColumnarValue::Scalar(scalar) => first(&function(&one(scalar)?)?),
    }
}

/// A function over several whole columns of so many rows. If all arguments are scalars it sees columns of one row, and
/// answers a scalar.
///
/// # Errors
/// Those of the function.
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

/// A total function of one value.
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

/// A function of one value that may answer NULL, or nothing.
///
/// # Errors
/// Those of the function; [`EvaluationError`] if the column is of another type.
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

/// A total function of two values.
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

/// A function of two values that may answer NULL, or nothing.
///
/// # Errors
/// Those of the function; [`EvaluationError`] if a column is of another type.
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

/// A question about two values.
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

/// An argument in the form that the kernels of Arrow take, which knows whether it is a scalar.
pub struct Operand {
    array: ArrayRef,
    is_scalar: bool,
}

impl Operand {
    /// Of an argument.
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

/// A column as one of a type of fixed width.
///
/// # Errors
/// [`EvaluationError`] if it is of another type: the planner has left out a cast.
pub fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<&PrimitiveArray<T>, EvaluationError> {
    array.as_primitive_opt().ok_or_else(|| mistyped(array, &T::DATA_TYPE.to_string()))
}

/// A column as text.
///
/// # Errors
/// [`EvaluationError`] if it is of another type: the planner has left out a cast.
pub fn text(array: &ArrayRef) -> Result<&StringArray, EvaluationError> {
    array.as_string_opt::<i32>().ok_or_else(|| mistyped(array, "text"))
}

/// A column as truth values.
///
/// # Errors
/// [`EvaluationError`] if it is of another type: the planner has left out a cast.
pub fn truth(array: &ArrayRef) -> Result<&BooleanArray, EvaluationError> {
    array.as_boolean_opt().ok_or_else(|| mistyped(array, "BOOLEAN"))
}

/// A column is of another type than its kernel was bound to: the planner has left out a cast.
pub fn mistyped(array: &ArrayRef, instead_of: &str) -> EvaluationError {
    unexpected(&format!("a column of {} instead of {instead_of}", array.data_type()))
}

/// A scalar as a column of one row.
///
/// # Errors
/// [`EvaluationError`] if there is no such column.
pub fn one(scalar: &ScalarValue) -> Result<ArrayRef, EvaluationError> {
    scalar.to_array().map_err(|error| of_datafusion(&error))
}

/// The first row of a column as a scalar.
///
/// # Errors
/// [`EvaluationError`] if it is of a type without scalars.
pub fn first(array: &ArrayRef) -> Evaluated {
    ScalarValue::try_from_array(array, 0).map(ColumnarValue::Scalar).map_err(|error| of_datafusion(&error))
}

/// NULL of a type.
///
/// # Errors
/// [`EvaluationError`] if it is a type without scalars.
pub fn null(of: &DataType) -> Evaluated {
    ScalarValue::try_from(of).map(ColumnarValue::Scalar).map_err(|error| of_datafusion(&error))
}

/// A column of a type that differs from its elements' in its parameters only: digits of a decimal number, a zone.
pub fn typed<T: ArrowPrimitiveType>(array: PrimitiveArray<T>, of: &DataType) -> ArrayRef {
    if array.data_type() == of || !PrimitiveArray::<T>::is_compatible(of) {
        return Arc::new(array);
    }
    Arc::new(array.with_data_type(of.clone()))
}

/// An error of Arrow's kernels, which means that we have called them wrongly.
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
pub fn of_arrow(error: ArrowError) -> EvaluationError {
    internal(&error)
}

/// Whether a column of text or bytes has room for so many bytes more: Arrow counts them in 31 bits, and panics beyond.
///
/// # Errors
/// [`EvaluationError`] if it has not.
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

/// So many rows, each of which is NULL, computed, or what makes all of them fail.
pub fn fill<O: ArrowPrimitiveType>(
    rows: usize,
    nulls: Option<&NullBuffer>,
    mut value: impl FnMut(usize) -> Result<Option<O::Native>, EvaluationError>,
) -> Result<PrimitiveArray<O>, EvaluationError> {
    let mut values = vec![O::Native::default(); rows];
    // Most columns have no NULL, and most functions make none.
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

/// One side of a function of two values.
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

fn of_datafusion(error: &DataFusionError) -> EvaluationError {
    internal(error)
}

fn internal(error: &dyn fmt::Display) -> EvaluationError {
    EvaluationError { code: "EVALUATION", message: error.to_string() }
}

fn unexpected(given: &str) -> EvaluationError {
    EvaluationError { code: "EVALUATION", message: format!("a kernel was given {given}") }
}
