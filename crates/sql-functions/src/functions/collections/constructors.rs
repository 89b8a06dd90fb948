//! SQL's constructors of arrays, maps and rows: `ARRAY[a, b]`, `MAP['k', v, ..]`, `ROW(a, b)`.
//!
//! Elements are cast to their common type. Fields of a ROW are named EXPR$0, EXPR$1, as in Flink.

use arrow::array::{ArrayRef, StructArray};
use arrow::datatypes::{DataType, FieldRef};

use super::{check_comparable, joined, lists, maps};
use crate::functions::each::{self, Nulls, bound, failure};
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError, column};
use crate::types::{SqlType, common_type, relabelled};
use crate::values::ColumnarValue;

pub(super) fn array(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let item = common(given.iter(), "elements of an ARRAY")?;
    let of = SqlType::Array(Box::new(item.clone()));
    let types = vec![item; given.len()];
    Ok(bound(types, given, of.clone(), Nulls::Never, move |arguments, rows| {
        let count = each::row_count(arguments, rows);
        let elements = of_all(arguments, count)?;
        let width = arguments.len();
        lists(arguments, rows, &of, &elements, |row, places| {
            places.extend((0..width).map(|argument| Some(argument * count + row)));
            Some(())
        })
    }))
}

/// Binds the map constructor `MAP[key, value, ..]`; of equal keys the last counts.
pub(super) fn map(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    if !given.len().is_multiple_of(2) {
        return Err(BindError::new("a MAP has a value for every key"));
    }
    let key = common(given.iter().step_by(2), "keys of a MAP")?;
    let value = common(given.iter().skip(1).step_by(2), "values of a MAP")?;
    check_comparable(&key)?;
    let of = SqlType::Map(Box::new(key.clone()), Box::new(value.clone()));
    let types = (0..given.len()).map(|place| if place % 2 == 0 { key.clone() } else { value.clone() });
    Ok(bound(types.collect(), given, of.clone(), Nulls::Never, move |arguments, rows| {
        let pick = |from: usize| arguments.iter().skip(from).step_by(2).cloned().collect::<Vec<_>>();
        let count = each::row_count(arguments, rows);
        let (keys, values) = (of_all(&pick(0), count)?, of_all(&pick(1), count)?);
        let pairs = arguments.len() / 2;
        maps::maps(arguments, rows, &of, (&keys, &values), |row, places| {
            places.extend((0..pairs).map(|pair| (pair * count + row, pair * count + row)));
            Some(())
        })
    }))
}

pub(super) fn row(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    if given.is_empty() {
        return Err(BindError::count(0));
    }
    let types: Vec<SqlType> = given.iter().map(|argument| argument.of.clone()).collect();
    if types.contains(&SqlType::Null) {
        return Err(BindError::new("a field of a ROW is NULL without a type: write CAST(NULL AS ..)"));
    }
    let name = |(place, of): (usize, &SqlType)| (format!("EXPR${place}"), of.clone());
    let of = SqlType::Row(types.iter().enumerate().map(name).collect());
    Ok(bound(types, given, of.clone(), Nulls::Never, move |arguments, rows| {
        let DataType::Struct(fields) = of.arrow() else { return Err(failure(&"a result is no row")) };
        let count = each::row_count(arguments, rows);
        let field = |(argument, field): (&ColumnarValue, &FieldRef)| {
            relabelled(column(argument, count)?, field.data_type()).map_err(|error| failure(&error))
        };
        let columns = arguments.iter().zip(&fields).map(field).collect::<Result<_, _>>()?;
        let made = StructArray::try_new_with_length(fields, columns, None, count);
        each::shaped(made.map_err(|error| failure(&error))?, arguments)
    }))
}

/// Returns the common type to which the elements of a constructor are cast.
fn common<'a>(given: impl Iterator<Item = &'a Argument>, what: &str) -> Result<SqlType, BindError> {
    let mut of = SqlType::Null;
    for argument in given {
        of = common_type(&of, &argument.of).ok_or_else(|| {
            BindError::new(format!("the {what} are {of} and {}, which have no common type", argument.of))
        })?;
    }
    if of == SqlType::Null {
        return Err(BindError::new(format!("the {what} have no type: cast one of them")));
    }
    Ok(of)
}

/// Concatenates the arguments of a constructor: the `count` rows of the first argument, then those of the
/// next, and so on.
fn of_all(arguments: &[ColumnarValue], count: usize) -> Result<ArrayRef, EvaluationError> {
    let columns: Vec<ArrayRef> =
        arguments.iter().map(|argument| column(argument, count)).collect::<Result<_, _>>()?;
    joined(&columns.iter().collect::<Vec<_>>())
}
