//! SQL functions from and to maps: MAP_KEYS, MAP_VALUES, MAP_ENTRIES, MAP_FROM_ARRAYS, MAP_UNION.
//!
//! Entries of a map keep their order; Flink promises no order.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;

use super::{
    Lists, Maps, check_comparable, check_count, comparable, entry_of, item_of, joined, list_array, map_array,
    taken,
};
use crate::functions::each::{self, Nulls, bound, failure};
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError};
use crate::types::{SqlType, common_type};
use crate::values::ColumnarValue;

/// Binds MAP_KEYS: the keys of a map as an array.
pub(super) fn keys(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let (key, _) = entry_of(given, 0)?;
    as_list(given, key, |maps, _| Ok(Arc::clone(maps.array.keys())))
}

/// Binds MAP_VALUES: the values of a map as an array.
pub(super) fn values(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let (_, value) = entry_of(given, 0)?;
    as_list(given, value, |maps, _| Ok(Arc::clone(maps.array.values())))
}

/// Binds MAP_ENTRIES: the entries of a map as an array of rows of `key` and `value`.
pub(super) fn entries(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let (key, value) = entry_of(given, 0)?;
    let entry = SqlType::Row(vec![("key".to_owned(), key), ("value".to_owned(), value)]);
    as_list(given, entry, |maps, entry| {
        let DataType::Struct(fields) = entry.arrow() else { return Err(failure(&"an entry is no row")) };
        let columns = vec![Arc::clone(maps.array.keys()), Arc::clone(maps.array.values())];
        let rows = StructArray::try_new(fields, columns, None).map_err(|error| failure(&error))?;
        Ok(Arc::new(rows))
    })
}

type Column = fn(&Maps, &SqlType) -> Result<ArrayRef, EvaluationError>;

fn as_list(given: &[Argument], item: SqlType, column: Column) -> Result<Bound, BindError> {
    check_count(given, 1..=1)?;
    let of = SqlType::Array(Box::new(item.clone()));
    Ok(bound(vec![given[0].of.clone()], given, of.clone(), Nulls::OfArguments, move |arguments, _| {
        let maps = Maps::of(&arguments[0])?;
        let (offsets, nulls) = (maps.array.offsets().clone(), maps.array.nulls().cloned());
        each::shaped(list_array(&of, offsets, column(&maps, &item)?, nulls)?, arguments)
    }))
}

/// Binds MAP_FROM_ARRAYS: a map of an array of keys and an array of values with equal lengths. If keys are
/// equal, the last counts, as in Flink. Differs from Flink: no key may be NULL.
pub(super) fn from_arrays(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    check_count(given, 2..=2)?;
    let (key, value) = (item_of(given, 0)?, item_of(given, 1)?);
    check_comparable(&key)?;
    let types = vec![given[0].of.clone(), given[1].of.clone()];
    let of = SqlType::Map(Box::new(key), Box::new(value));
    Ok(bound(types, given, of.clone(), Nulls::OfArguments, move |arguments, rows| {
        let (keys, values) = (Lists::of(&arguments[0])?, Lists::of(&arguments[1])?);
        let mut error = None;
        let made = maps(arguments, rows, &of, (keys.values(), values.values()), |row, places| {
            let (keys, values) = (keys.span(row)?, values.span(row)?);
            if keys.len() != values.len() {
                error = Some(format!("{} keys cannot be paired with {} values", keys.len(), values.len()));
                return None;
            }
            places.extend(keys.zip(values));
            Some(())
        });
        match error {
            None => made,
            Some(message) => Err(EvaluationError { code: "BAD_ARGUMENT", message }),
        }
    }))
}

/// Binds MAP_UNION: the entries of all maps; of equal keys the last value counts.
pub(super) fn union(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let mut of: Option<SqlType> = None;
    for (place, argument) in given.iter().enumerate() {
        entry_of(given, place)?;
        let common = of.as_ref().map_or(Some(argument.of.clone()), |of| common_type(of, &argument.of));
        of = Some(common.ok_or_else(|| BindError::of_type(place + 1, &argument.of))?);
    }
    let of = of.ok_or_else(|| BindError::count(0))?;
    if let SqlType::Map(key, _) = &of {
        check_comparable(key)?;
    }
    let types = vec![of.clone(); given.len()];
    Ok(bound(types, given, of.clone(), Nulls::OfArguments, move |arguments, rows| {
        let all = arguments.iter().map(Maps::of).collect::<Result<Vec<_>, _>>()?;
        let keys = joined(&all.iter().map(|map| map.array.keys()).collect::<Vec<_>>())?;
        let values = joined(&all.iter().map(|map| map.array.values()).collect::<Vec<_>>())?;
        maps(arguments, rows, &of, (&keys, &values), |row, places| {
            let mut begin = 0;
            for map in &all {
                places.extend(map.span(row)?.map(|place| (begin + place, begin + place)));
                begin += map.array.keys().len();
            }
            Some(())
        })
    }))
}

/// Builds a column of maps. For each row, the function `row` appends the positions of the map's keys and
/// values in `keys` and `values`; of equal keys the last counts.
pub(super) fn maps(
    arguments: &[ColumnarValue],
    rows: usize,
    of: &SqlType,
    (keys, values): (&ArrayRef, &ArrayRef),
    mut row: impl FnMut(usize, &mut Vec<(usize, usize)>) -> Option<()>,
) -> Result<ColumnarValue, EvaluationError> {
    let all = comparable(&[keys])?;
    let [compared] = &all[..] else { return Err(failure(&"one column makes one")) };
    let count = each::row_count(arguments, rows);
    let (mut key_places, mut value_places) = (Vec::new(), Vec::new());
    let (mut lengths, mut is_valid, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
    for place in 0..count {
        scratch.clear();
        let before = key_places.len();
        let is_some = row(place, &mut scratch).is_some();
        let mut known = HashMap::new();
        for (key, value) in scratch.drain(..).filter(|_| is_some) {
            if keys.is_null(key) {
                return Err(EvaluationError { code: "BAD_ARGUMENT", message: "a key is NULL".to_owned() });
            }
            let at = *known.entry(compared.row(key)).or_insert(value_places.len());
            if at == value_places.len() {
                key_places.push(Some(key));
                value_places.push(Some(value));
            } else {
                value_places[at] = Some(value);
            }
        }
        lengths.push(key_places.len() - before);
        is_valid.push(is_some);
    }
    let columns = (taken(keys, key_places)?, taken(values, value_places)?);
    let nulls = Some(NullBuffer::from(is_valid));
    each::shaped(map_array(of, OffsetBuffer::from_lengths(lengths), columns, nulls)?, arguments)
}
