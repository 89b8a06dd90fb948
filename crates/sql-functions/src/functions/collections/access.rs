//! SQL functions from arrays and maps to single values: CARDINALITY, ELEMENT, element access, ARRAY_CONTAINS,
//! ARRAY_POSITION, ARRAY_MAX, ARRAY_MIN, ARRAY_JOIN.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Int32Type, Int64Type};

use super::{
    Lists, Maps, check_comparable, check_count, check_ordered, comparable, entry_of, item_of, taken,
};
use crate::functions::each::{self, Input, Nulls, Text, bound, failure, one_or_many};
use crate::functions::rows::{bind_field, bind_nth_field};
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError};
use crate::types::{SqlType, common_type};
use crate::values::ScalarValue;

/// Binds CARDINALITY: the number of elements of an array or of entries of a map, an INT.
pub(super) fn cardinality(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    check_count(given, 1..=1)?;
    let of = given[0].of.clone();
    let is_map = matches!(of, SqlType::Map(..));
    if !is_map {
        item_of(given, 0)?;
    }
    Ok(bound(vec![of], given, SqlType::Int, Nulls::OfArguments, move |arguments, rows| {
        if is_map {
            let maps = Maps::of(&arguments[0])?;
            return each::primitive::<Int32Type, _>(
                arguments,
                rows,
                |row| Some(maps.span(row)?.len() as i32),
            );
        }
        let lists = Lists::of(&arguments[0])?;
        each::primitive::<Int32Type, _>(arguments, rows, |row| Some(lists.span(row)?.len() as i32))
    }))
}

/// Binds ELEMENT: the only element of an array; NULL if there is none, an error if there are several.
pub(super) fn element(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    check_count(given, 1..=1)?;
    let item = item_of(given, 0)?;
    Ok(bound(vec![given[0].of.clone()], given, item, Nulls::Anyway, |arguments, rows| {
        let lists = Lists::of(&arguments[0])?;
        let count = each::row_count(arguments, rows);
        let mut places = Vec::with_capacity(count);
        for span in (0..count).map(|row| lists.span(row)) {
            let length = span.as_ref().map_or(0, |span| span.len());
            if length > 1 {
                return Err(EvaluationError {
                    code: "NOT_ONE_ELEMENT",
                    message: format!("the array has {length} elements: ELEMENT takes arrays of one"),
                });
            }
            places.push(span.filter(|_| length == 1).map(|span| span.start));
        }
        each::shaped(taken(lists.values(), places)?, arguments)
    }))
}

/// Binds element access: the array element at an index, or the map value of a key; NULL if there is none. A
/// literal index below 1 is refused.
pub(super) fn item(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    check_count(given, 2..=2)?;
    let of = given[0].of.clone();
    // Element access with a field name, `row['field']`, is the same as `row.field`.
    if let (SqlType::Row(_), Some(_)) = (&of, given[1].text()) {
        return bind_field(given);
    }
    if let SqlType::Row(_) = &of {
        return bind_nth_field(given);
    }
    if let SqlType::Map(..) = of {
        let (key, value) = entry_of(given, 0)?;
        if common_type(&key, &given[1].of).is_none() {
            return Err(BindError::of_type(2, &given[1].of));
        }
        check_comparable(&key)?;
        return Ok(bound(vec![of, key], given, value, Nulls::Anyway, |arguments, rows| {
            let (maps, (wanted, stride)) = (Maps::of(&arguments[0])?, one_or_many(&arguments[1])?);
            let all = comparable(&[maps.array.keys(), &wanted])?;
            let [keys, needles] = &all[..] else { return Err(failure(&"two columns make two")) };
            let place = |row: usize| {
                let needle = row * stride;
                let span = maps.span(row).filter(|_| !wanted.is_null(needle))?;
                // If a map has equal keys, the last of them counts, so entries are searched from the end.
                span.rev().find(|place| keys.row(*place) == needles.row(needle))
            };
            let places = (0..each::row_count(arguments, rows)).map(place).collect();
            each::shaped(taken(maps.array.values(), places)?, arguments)
        }));
    }
    let item = item_of(given, 0)?;
    if !given[1].of.is_integer() && given[1].of != SqlType::Null {
        return Err(BindError::of_type(2, &given[1].of));
    }
    let literal = given[1]
        .literal
        .as_ref()
        .and_then(|literal| literal.cast_to(&arrow::datatypes::DataType::Int64).ok());
    if let Some(ScalarValue::Int64(Some(index))) = literal
        && index < 1
    {
        return Err(BindError::new(format!("the index {index} is none: the first element has index 1")));
    }
    Ok(bound(vec![of, SqlType::BigInt], given, item, Nulls::Anyway, |arguments, rows| {
        let (lists, index) = (Lists::of(&arguments[0])?, Input::<Int64Type>::of(&arguments[1])?);
        let place = |row: usize| {
            let (span, index) = (lists.span(row)?, usize::try_from(index.at(row)?).ok()?);
            span.clone().nth(index.checked_sub(1)?)
        };
        let places = (0..each::row_count(arguments, rows)).map(place).collect();
        each::shaped(taken(lists.values(), places)?, arguments)
    }))
}

/// Binds ARRAY_CONTAINS: true if an array has an element; NULL counts as an ordinary element.
pub(super) fn contains(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = with_element(given)?;
    let first = given.first().into_iter().cloned().collect::<Vec<_>>();
    Ok(bound(types, &first, SqlType::Boolean, Nulls::OfArguments, |arguments, rows| {
        let (lists, (wanted, stride)) = (Lists::of(&arguments[0])?, one_or_many(&arguments[1])?);
        let all = comparable(&[lists.values(), &wanted])?;
        let [values, needles] = &all[..] else { return Err(failure(&"two columns make two")) };
        each::boolean(arguments, rows, |row| {
            Some(lists.span(row)?.any(|place| values.row(place) == needles.row(row * stride)))
        })
    }))
}

/// Binds ARRAY_POSITION: the first position of an element in an array, an INT, from 1 on; 0 if the array does not
/// have it.
pub(super) fn position(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = with_element(given)?;
    Ok(bound(types, given, SqlType::Int, Nulls::OfArguments, |arguments, rows| {
        let (lists, (wanted, stride)) = (Lists::of(&arguments[0])?, one_or_many(&arguments[1])?);
        let all = comparable(&[lists.values(), &wanted])?;
        let [values, needles] = &all[..] else { return Err(failure(&"two columns make two")) };
        each::primitive::<Int32Type, _>(arguments, rows, |row| {
            let needle = row * stride;
            let mut span = lists.span(row).filter(|_| !wanted.is_null(needle))?;
            let found = span.position(|place| values.row(place) == needles.row(needle));
            Some(found.map_or(0, |before| before as i32 + 1))
        })
    }))
}

/// Checks an array argument and a value that is compared with its elements; returns the types to which both
/// are cast.
pub(super) fn with_element(given: &[Argument]) -> Result<Vec<SqlType>, BindError> {
    check_count(given, 2..=2)?;
    let item = item_of(given, 0)?;
    check_comparable(&item)?;
    match common_type(&item, &given[1].of) {
        // The elements of the array keep their type, even if it is the narrower one, and the value is cast to
        // it.
        Some(_) => Ok(vec![given[0].of.clone(), item]),
        None => Err(BindError::of_type(2, &given[1].of)),
    }
}

/// Binds ARRAY_MAX: the greatest element of an array that is not NULL; NULL if there is none.
pub(super) fn max(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    best(given, |new, best| new >= best)
}

/// Binds ARRAY_MIN: the least element of an array that is not NULL; NULL if there is none.
pub(super) fn min(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    best(given, |new, best| new < best)
}

type IsBetter = fn(arrow::row::Row<'_>, arrow::row::Row<'_>) -> bool;

fn best(given: &[Argument], is_better: IsBetter) -> Result<Bound, BindError> {
    check_count(given, 1..=1)?;
    let item = item_of(given, 0)?;
    check_ordered(&item)?;
    Ok(bound(vec![given[0].of.clone()], given, item, Nulls::Anyway, move |arguments, rows| {
        let lists = Lists::of(&arguments[0])?;
        let all = comparable(&[lists.values()])?;
        let [values] = &all[..] else { return Err(failure(&"one column makes one")) };
        let place = |row: usize| {
            let known = lists.span(row)?.filter(|place| !lists.values().is_null(*place));
            known.reduce(|best, new| if is_better(values.row(new), values.row(best)) { new } else { best })
        };
        let places = (0..each::row_count(arguments, rows)).map(place).collect();
        each::shaped(taken(lists.values(), places)?, arguments)
    }))
}

/// Binds ARRAY_JOIN: the text elements of an array with a delimiter between them. NULL elements are left out,
/// or written as the third argument says.
pub(super) fn join(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    check_count(given, 2..=3)?;
    if !item_of(given, 0)?.is_text() {
        return Err(BindError::of_type(1, &given[0].of));
    }
    let mut types = vec![given[0].of.clone()];
    for (place, argument) in given.iter().enumerate().skip(1) {
        if !argument.of.is_text() && argument.of != SqlType::Null {
            return Err(BindError::of_type(place + 1, &argument.of));
        }
        types.push(SqlType::STRING);
    }
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let (lists, delimiter) = (Lists::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
        let stead = Input::<Text>::optional(arguments, 2)?;
        let values = lists.values().as_string_opt::<i32>().ok_or_else(|| failure(&"elements are no text"))?;
        each::written(arguments, rows, |row, out| {
            let (span, delimiter) = (lists.span(row)?, delimiter.at(row)?);
            let stead = match &stead {
                None => None,
                Some(stead) => Some(stead.at(row)?),
            };
            let parts = span
                .filter_map(|place| if values.is_null(place) { stead } else { Some(values.value(place)) });
            for (place, part) in parts.enumerate() {
                out.push_str(if place == 0 { "" } else { delimiter });
                out.push_str(part);
            }
            Some(())
        })
    }))
}
