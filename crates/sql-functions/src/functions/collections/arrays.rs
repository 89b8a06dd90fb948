//! Functions from arrays to arrays: ARRAY_APPEND, ARRAY_PREPEND, ARRAY_REMOVE, ARRAY_DISTINCT, ARRAY_REVERSE,
//! ARRAY_SLICE, ARRAY_SORT, ARRAY_CONCAT, ARRAY_UNION, ARRAY_EXCEPT, ARRAY_INTERSECT.
//!
//! Elements keep their order unless the function says otherwise.

use std::collections::HashSet;

use arrow::array::Array;
use arrow::datatypes::Int64Type;
use arrow::row::Row;

use super::access::with_element;
use super::{Lists, check_comparable, check_count, check_ordered, comparable, item_of, joined, lists};
use crate::functions::each::{Flag, Input, Nulls, bound, failure, one_or_many};
use crate::functions::{Argument, BindError, Bound, Context};
use crate::types::{SqlType, common_type};

/// Binds ARRAY_APPEND: an array with one more element at its end, which may be NULL.
pub(super) fn append(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    with_one_more(given, context, End::Last)
}

/// Binds ARRAY_PREPEND: an array with one more element at its start, which may be NULL.
pub(super) fn prepend(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    with_one_more(given, context, End::First)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Last,
}

fn with_one_more(given: &[Argument], _: &Context, end: End) -> Result<Bound, BindError> {
    check_count(given, 2..=2)?;
    let item = common_type(&item_of(given, 0)?, &given[1].of);
    let item = item.ok_or_else(|| BindError::of_type(2, &given[1].of))?;
    let of = SqlType::Array(Box::new(item.clone()));
    let (types, result) = (vec![of.clone(), item], of.clone());
    Ok(bound(types, &given[..1], result, Nulls::OfArguments, move |arguments, rows| {
        let (array, (more, stride)) = (Lists::of(&arguments[0])?, one_or_many(&arguments[1])?);
        let all = joined(&[array.values(), &more])?;
        let begin = array.values().len();
        lists(arguments, rows, &of, &all, |row, places| {
            let new = Some(begin + row * stride);
            let span = array.span(row)?;
            places.extend(new.filter(|_| end == End::First).map(Some));
            places.extend(span.map(Some));
            places.extend(new.filter(|_| end == End::Last).map(Some));
            Some(())
        })
    }))
}

/// Binds ARRAY_REMOVE: an array without the elements that equal a value.
pub(super) fn remove(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = with_element(given)?;
    let of = types[0].clone();
    Ok(bound(types, &given[..1], of.clone(), Nulls::OfArguments, move |arguments, rows| {
        let (array, (other, stride)) = (Lists::of(&arguments[0])?, one_or_many(&arguments[1])?);
        let all = comparable(&[array.values(), &other])?;
        let [values, others] = &all[..] else { return Err(failure(&"two columns make two")) };
        lists(arguments, rows, &of, array.values(), |row, places| {
            let other = others.row(row * stride);
            places.extend(array.span(row)?.filter(|place| values.row(*place) != other).map(Some));
            Some(())
        })
    }))
}

/// Binds ARRAY_DISTINCT: every element of an array once, at its first position.
pub(super) fn distinct(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    check_count(given, 1..=1)?;
    let of = given[0].of.clone();
    check_comparable(&item_of(given, 0)?)?;
    Ok(bound(vec![of.clone()], given, of.clone(), Nulls::OfArguments, move |arguments, rows| {
        let array = Lists::of(&arguments[0])?;
        let all = comparable(&[array.values()])?;
        let [values] = &all[..] else { return Err(failure(&"one column makes one")) };
        lists(arguments, rows, &of, array.values(), |row, places| {
            let mut seen = HashSet::new();
            places.extend(array.span(row)?.filter(|place| seen.insert(values.row(*place))).map(Some));
            Some(())
        })
    }))
}

/// Binds ARRAY_REVERSE: the elements of an array from the last to the first.
pub(super) fn reverse(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    check_count(given, 1..=1)?;
    let of = given[0].of.clone();
    item_of(given, 0)?;
    Ok(bound(vec![of.clone()], given, of.clone(), Nulls::OfArguments, move |arguments, rows| {
        let array = Lists::of(&arguments[0])?;
        lists(arguments, rows, &of, array.values(), |row, places| {
            places.extend(array.span(row)?.rev().map(Some));
            Some(())
        })
    }))
}

/// Binds ARRAY_SLICE: the elements of an array from one position to another, both included, or to the end.
/// Position 0 counts as 1, negative positions count from the end.
///
/// Source: Flink, `ArraySliceFunction`.
pub(super) fn slice(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    check_count(given, 2..=3)?;
    let of = given[0].of.clone();
    item_of(given, 0)?;
    let mut types = vec![of.clone()];
    for (place, argument) in given.iter().enumerate().skip(1) {
        if !argument.of.is_integer() && argument.of != SqlType::Null {
            return Err(BindError::of_type(place + 1, &argument.of));
        }
        types.push(SqlType::BigInt);
    }
    Ok(bound(types, given, of.clone(), Nulls::OfArguments, move |arguments, rows| {
        let (array, start) = (Lists::of(&arguments[0])?, Input::<Int64Type>::of(&arguments[1])?);
        let end = Input::<Int64Type>::optional(arguments, 2)?;
        lists(arguments, rows, &of, array.values(), |row, places| {
            let (span, start) = (array.span(row)?, start.at(row)?);
            let length = span.len() as i64;
            let end = match &end {
                None => length,
                Some(end) => end.at(row)?,
            };
            let from_end =
                |position: i64| if position < 0 { position.saturating_add(length + 1) } else { position };
            let start = from_end(start).max(1);
            let end = match from_end(end) {
                0 => 1.min(length),
                end => end.min(length),
            };
            if start <= end {
                let begin = span.start;
                places.extend((start..=end).map(|position| Some(begin + position as usize - 1)));
            }
            Some(())
        })
    }))
}

/// Binds ARRAY_SORT: the sorted elements of an array, ascending unless a second argument is false. NULLs come
/// first when ascending and last when descending, unless a third argument says where.
pub(super) fn sort(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    check_count(given, 1..=3)?;
    let of = given[0].of.clone();
    check_ordered(&item_of(given, 0)?)?;
    let mut types = vec![of.clone()];
    for (place, argument) in given.iter().enumerate().skip(1) {
        if !matches!(argument.of, SqlType::Boolean | SqlType::Null) {
            return Err(BindError::of_type(place + 1, &argument.of));
        }
        types.push(SqlType::Boolean);
    }
    Ok(bound(types, given, of.clone(), Nulls::OfArguments, move |arguments, rows| {
        let array = Lists::of(&arguments[0])?;
        let ascending = Input::<Flag>::optional(arguments, 1)?;
        let nulls_first = Input::<Flag>::optional(arguments, 2)?;
        let all = comparable(&[array.values()])?;
        let [values] = &all[..] else { return Err(failure(&"one column makes one")) };
        lists(arguments, rows, &of, array.values(), |row, places| {
            let span = array.span(row)?;
            let is_ascending = match &ascending {
                None => true,
                Some(ascending) => ascending.at(row)?,
            };
            let are_nulls_first = match &nulls_first {
                None => is_ascending,
                Some(first) => first.at(row)?,
            };
            let mut known: Vec<usize> =
                span.clone().filter(|place| !array.values().is_null(*place)).collect();
            let null_count = span.len() - known.len();
            // The sort is stable, so equal elements keep their order in both directions.
            known.sort_by(|left, right| {
                let order = values.row(*left).cmp(&values.row(*right));
                if is_ascending { order } else { order.reverse() }
            });
            let nulls = std::iter::repeat_n(None, null_count);
            if are_nulls_first {
                places.extend(nulls.chain(known.into_iter().map(Some)));
            } else {
                places.extend(known.into_iter().map(Some).chain(nulls));
            }
            Some(())
        })
    }))
}

/// Binds ARRAY_CONCAT: the elements of all arrays, one array after the other.
pub(super) fn concat_all(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let of = common(given)?;
    let types = vec![of.clone(); given.len()];
    Ok(bound(types, given, of.clone(), Nulls::OfArguments, move |arguments, rows| {
        let arrays = arguments.iter().map(Lists::of).collect::<Result<Vec<_>, _>>()?;
        let columns = arrays.iter().map(Lists::values).collect::<Vec<_>>();
        let all = joined(&columns)?;
        lists(arguments, rows, &of, &all, |row, places| {
            let mut begin = 0;
            for array in &arrays {
                places.extend(array.span(row)?.map(|place| Some(begin + place)));
                begin += array.values().len();
            }
            Some(())
        })
    }))
}

/// Binds ARRAY_UNION: the elements of two arrays, each one once.
pub(super) fn union(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    of_two(given, |_, _| true, |_, _| true)
}

/// Binds ARRAY_EXCEPT: the elements of the first array that the second array lacks, each one once.
pub(super) fn except(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    of_two(given, |row, others| !others.contains(row), |_, _| false)
}

/// Binds ARRAY_INTERSECT: the elements of the first array that the second array has, too, each one once.
pub(super) fn intersect(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    of_two(given, |row, others| others.contains(row), |_, _| false)
}

type Keeps = for<'a> fn(&Row<'a>, &HashSet<Row<'a>>) -> bool;

/// Binds ARRAY_UNION, ARRAY_EXCEPT or ARRAY_INTERSECT. `keeps_first` says which elements of the first array
/// are kept, `keeps_second` which of the second array; both see the elements of the other array.
fn of_two(given: &[Argument], keeps_first: Keeps, keeps_second: Keeps) -> Result<Bound, BindError> {
    check_count(given, 2..=2)?;
    let of = common(given)?;
    if let SqlType::Array(item) = &of {
        check_comparable(item)?;
    }
    Ok(bound(vec![of.clone(), of.clone()], given, of.clone(), Nulls::OfArguments, move |arguments, rows| {
        let (first, second) = (Lists::of(&arguments[0])?, Lists::of(&arguments[1])?);
        let all = joined(&[first.values(), second.values()])?;
        let compared = comparable(&[&all])?;
        let [values] = &compared[..] else { return Err(failure(&"one column makes one")) };
        let begin = first.values().len();
        lists(arguments, rows, &of, &all, |row, places| {
            let (first, second) = (first.span(row)?, second.span(row)?);
            let second = begin + second.start..begin + second.end;
            let set = |span: &std::ops::Range<usize>| span.clone().map(|place| values.row(place)).collect();
            let (firsts, seconds): (HashSet<_>, HashSet<_>) = (set(&first), set(&second));
            let mut seen = HashSet::new();
            let mut keep = |place: usize, keeps: Keeps, others: &HashSet<_>| {
                let row = values.row(place);
                if keeps(&row, others) && seen.insert(row) {
                    places.push(Some(place));
                }
            };
            first.for_each(|place| keep(place, keeps_first, &seconds));
            second.for_each(|place| keep(place, keeps_second, &firsts));
            Some(())
        })
    }))
}

/// Returns the array type to which all array arguments can be cast.
fn common(given: &[Argument]) -> Result<SqlType, BindError> {
    let mut of: Option<SqlType> = None;
    for (place, argument) in given.iter().enumerate() {
        item_of(given, place)?;
        let common = of.as_ref().map_or(Some(argument.of.clone()), |of| common_type(of, &argument.of));
        of = Some(common.ok_or_else(|| BindError::of_type(place + 1, &argument.of))?);
    }
    of.ok_or_else(|| BindError::count(0))
}
