//! Casts of arrays, maps and rows to the same shape with other item types, item by item.
//!
//! A value fails if one of its items fails; for TRY_CAST the whole value is NULL then. Source: Flink,
//! `ArrayToArrayCastRule`, `MapToMapAndMultisetToMultisetCastRule`, `RowToRowCastRule`.
//!
//! Differs from Flink: the keys of a map are never NULL, so a key which its cast turns into NULL fails.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use chrono_tz::Tz;

use super::{Caster, Failures};
use crate::functions::{EvaluationError, over};
use crate::types::SqlType;

/// Returns the function that casts nested values (arrays, maps, rows); `None` if their items cannot be cast.
pub(super) fn caster(from: &SqlType, to: &SqlType, zone: Tz) -> Option<Caster> {
    let of = to.arrow();
    match (from, to) {
        (SqlType::Array(from), SqlType::Array(to)) => {
            let item = super::caster(from, to, zone)?;
            Some(Box::new(move |array, failures| list(array, &of, &item, failures)))
        }
        (SqlType::Map(from_key, from_value), SqlType::Map(to_key, to_value)) => {
            let key = super::caster(from_key, to_key, zone)?;
            let value = super::caster(from_value, to_value, zone)?;
            let to = to.clone();
            Some(Box::new(move |array, failures| map(array, &of, [&key, &value], &to, failures)))
        }
        (SqlType::Row(from), SqlType::Row(to)) if from.len() == to.len() => {
            let fields = from
                .iter()
                .zip(to)
                .map(|((_, from), (_, to))| super::caster(from, to, zone))
                .collect::<Option<Vec<_>>>()?;
            Some(Box::new(move |array, failures| row(array, &of, &fields, failures)))
        }
        _ => None,
    }
}

fn list(
    array: &ArrayRef,
    of: &DataType,
    item: &Caster,
    failures: &mut Failures,
) -> Result<ArrayRef, EvaluationError> {
    let (Some(list), DataType::List(field)) = (array.as_list_opt::<i32>(), of) else {
        return Err(over::mistyped(array, &of.to_string()));
    };
    let spans = Spans::of(list.value_offsets(), list.nulls());
    let mut inner = Failures::new(failures.is_try);
    let items = item(&spans.cut(list.values()), &mut inner)?;
    let nulls = spans.nulls(inner, failures);
    let result = ListArray::try_new(Arc::clone(field), spans.offsets(), items, nulls);
    Ok(Arc::new(result.map_err(over::of_arrow)?))
}

fn map(
    array: &ArrayRef,
    of: &DataType,
    [key, value]: [&Caster; 2],
    to: &SqlType,
    failures: &mut Failures,
) -> Result<ArrayRef, EvaluationError> {
    let (Some(map), DataType::Map(entry, is_sorted)) = (array.as_map_opt(), of) else {
        return Err(over::mistyped(array, &of.to_string()));
    };
    let DataType::Struct(fields) = entry.data_type() else {
        return Err(over::mistyped(array, &of.to_string()));
    };
    let spans = Spans::of(map.value_offsets(), map.nulls());
    let mut inner = Failures::new(failures.is_try);
    let keys = key(&spans.cut(map.keys()), &mut inner)?;
    // Keys of a map that could not be cast are NULL as well, but the cast of the keys has already added them
    // to the failures in `inner`.
    let mut failed = inner.rows.clone();
    failed.sort_unstable();
    for place in (0..keys.len()).filter(|&place| keys.is_null(place)) {
        if failed.binary_search(&place).is_err() {
            inner.add(place, || EvaluationError::cast(&"a key that becomes NULL", to));
        }
    }
    let values = value(&spans.cut(map.values()), &mut inner)?;
    let are_keys_lost = keys.null_count() != 0;
    let nulls = spans.nulls(inner, failures);
    if are_keys_lost {
        // Maps that failed are NULL and must lose their entries, because entries may have no NULL key.
        return without_lost(&spans, of, &keys, &values, nulls);
    }
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None).map_err(over::of_arrow)?;
    let result = MapArray::try_new(Arc::clone(entry), spans.offsets(), entries, nulls, *is_sorted);
    Ok(Arc::new(result.map_err(over::of_arrow)?))
}

/// Builds a map column without the entries of the rows that are NULL.
fn without_lost(
    spans: &Spans<'_>,
    of: &DataType,
    keys: &ArrayRef,
    values: &ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, EvaluationError> {
    let DataType::Map(entry, is_sorted) = of else { return Ok(Arc::clone(keys)) };
    let DataType::Struct(fields) = entry.data_type() else { return Ok(Arc::clone(keys)) };
    let offsets = spans.offsets();
    let mut kept = Vec::with_capacity(keys.len());
    let mut lengths = Vec::with_capacity(spans.rows());
    for row in 0..spans.rows() {
        let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let length = if is_null { 0 } else { (offsets[row + 1] - offsets[row]) as usize };
        kept.extend((0..length).map(|place| offsets[row] as u64 + place as u64));
        lengths.push(length);
    }
    let kept = arrow::array::UInt64Array::from(kept);
    let take = |array: &ArrayRef| arrow::compute::take(array, &kept, None).map_err(over::of_arrow);
    let entries = StructArray::try_new(fields.clone(), vec![take(keys)?, take(values)?], None)
        .map_err(over::of_arrow)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    let result = MapArray::try_new(Arc::clone(entry), offsets, entries, nulls, *is_sorted);
    Ok(Arc::new(result.map_err(over::of_arrow)?))
}

fn row(
    array: &ArrayRef,
    of: &DataType,
    casters: &[Caster],
    failures: &mut Failures,
) -> Result<ArrayRef, EvaluationError> {
    let (Some(row), DataType::Struct(fields)) = (array.as_struct_opt(), of) else {
        return Err(over::mistyped(array, &of.to_string()));
    };
    if casters.is_empty() {
        return Ok(Arc::clone(array));
    }
    let mut lost = Vec::new();
    let mut columns = Vec::with_capacity(casters.len());
    for (caster, column) in casters.iter().zip(row.columns()) {
        let mut inner = Failures::new(failures.is_try);
        columns.push(caster(column, &mut inner)?);
        lost.extend(inner.rows.iter().copied());
        failures.take(inner, |place| row.is_valid(place).then_some(place));
    }
    let nulls = with_lost(row.len(), row.nulls(), &lost);
    let result = StructArray::try_new(fields.clone(), columns, nulls);
    Ok(Arc::new(result.map_err(over::of_arrow)?))
}

/// For each row of an array or map column, the range of its items (elements or entries) in the column of all
/// items.
struct Spans<'a> {
    offsets: &'a [i32],
    nulls: Option<&'a NullBuffer>,
}

impl<'a> Spans<'a> {
    fn of(offsets: &'a [i32], nulls: Option<&'a NullBuffer>) -> Self {
        Spans { offsets, nulls }
    }

    fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn start(&self) -> i32 {
        self.offsets.first().copied().unwrap_or(0)
    }

    /// Returns the items that belong to the rows of this column. If the column is a slice of a longer one,
    /// `items` also has the items of rows outside the slice.
    fn cut(&self, items: &ArrayRef) -> ArrayRef {
        let end = self.offsets.last().copied().unwrap_or(0);
        items.slice(self.start() as usize, (end - self.start()) as usize)
    }

    fn offsets(&self) -> OffsetBuffer<i32> {
        let start = self.start();
        OffsetBuffer::new(ScalarBuffer::from_iter(self.offsets.iter().map(|offset| offset - start)))
    }

    /// Adds the rows in which an item could not be cast to `failures`, and returns the null mask of the
    /// column, in which these rows are NULL, too.
    fn nulls(&self, inner: Failures, failures: &mut Failures) -> Option<NullBuffer> {
        let row_of = |place: usize| {
            let offset = place as i32 + self.start();
            self.offsets.partition_point(|&start| start <= offset) - 1
        };
        let lost: Vec<_> = inner.rows.iter().map(|&place| row_of(place)).collect();
        let is_valid = |row: usize| self.nulls.is_none_or(|nulls| nulls.is_valid(row));
        failures.take(inner, |place| Some(row_of(place)).filter(|&row| is_valid(row)));
        with_lost(self.rows(), self.nulls, &lost)
    }
}

fn with_lost(rows: usize, nulls: Option<&NullBuffer>, lost: &[usize]) -> Option<NullBuffer> {
    if lost.is_empty() {
        return nulls.cloned();
    }
    let mut is_valid = vec![true; rows];
    for &row in lost {
        is_valid[row] = false;
    }
    NullBuffer::union(nulls, Some(&NullBuffer::from(is_valid)))
}
