//! Functions of arrays and maps, which Flink's documentation lists under "Collection functions", and element access.
//!
//! Positions count from 1 on. Functions which compare elements treat values as equal if their bits are equal, and
//! NULL as equal to NULL. Kernels compute the positions of the resulting elements in the columns of elements, and
//! copy all elements in one step at the end, so that elements may be of any type.
//!
//! Source: Flink documentation, "Collection Functions"; where that is silent, the classes of
//! `org.apache.flink.table.runtime.functions.scalar`.

mod access;
mod arrays;
mod constructors;
mod maps;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StructArray, UInt32Array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{concat, take};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, Rows, SortField};

use super::each::{self, failure};
use super::{Argument, BindError, Bound, Context, EvaluationError, Function};
use crate::types::{SqlType, relabelled};
use crate::values::ColumnarValue;

/// All SQL functions of arrays and maps.
pub static COLLECTIONS: &[Function] = &[
    function("ARRAY", "ARRAY[element, ...]", constructors::array),
    function("MAP", "MAP[key, value, ...]", constructors::map),
    function("ROW", "ROW(value, ...)", constructors::row),
    function("CARDINALITY", "CARDINALITY(array or map)", access::cardinality),
    function("ELEMENT", "ELEMENT(array)", access::element),
    function("ITEM", "array[index] or map[key]", access::item),
    function("ARRAY_CONTAINS", "ARRAY_CONTAINS(array, element)", access::contains),
    function("ARRAY_POSITION", "ARRAY_POSITION(array, element)", access::position),
    function("ARRAY_MAX", "ARRAY_MAX(array)", access::max),
    function("ARRAY_MIN", "ARRAY_MIN(array)", access::min),
    function("ARRAY_JOIN", "ARRAY_JOIN(array, delimiter [, text for NULL])", access::join),
    function("ARRAY_APPEND", "ARRAY_APPEND(array, element)", arrays::append),
    function("ARRAY_PREPEND", "ARRAY_PREPEND(array, element)", arrays::prepend),
    function("ARRAY_REMOVE", "ARRAY_REMOVE(array, element)", arrays::remove),
    function("ARRAY_DISTINCT", "ARRAY_DISTINCT(array)", arrays::distinct),
    function("ARRAY_REVERSE", "ARRAY_REVERSE(array)", arrays::reverse),
    function("ARRAY_SLICE", "ARRAY_SLICE(array, start [, end])", arrays::slice),
    function("ARRAY_SORT", "ARRAY_SORT(array [, ascending [, NULL first]])", arrays::sort),
    function("ARRAY_CONCAT", "ARRAY_CONCAT(array, ...)", arrays::concat_all),
    function("ARRAY_UNION", "ARRAY_UNION(array, array)", arrays::union),
    function("ARRAY_EXCEPT", "ARRAY_EXCEPT(array, array)", arrays::except),
    function("ARRAY_INTERSECT", "ARRAY_INTERSECT(array, array)", arrays::intersect),
    function("MAP_KEYS", "MAP_KEYS(map)", maps::keys),
    function("MAP_VALUES", "MAP_VALUES(map)", maps::values),
    function("MAP_ENTRIES", "MAP_ENTRIES(map)", maps::entries),
    function("MAP_FROM_ARRAYS", "MAP_FROM_ARRAYS(keys, values)", maps::from_arrays),
    function("MAP_UNION", "MAP_UNION(map, ...)", maps::union),
];

type Bind = fn(&[Argument], &Context) -> Result<Bound, BindError>;

const fn function(name: &'static str, usage: &'static str, bind: Bind) -> Function {
    Function { name, usage, is_deterministic: true, bind }
}

/// Argument of type ARRAY of a function, as an Arrow column that is read row by row.
struct Lists {
    array: ListArray,
    stride: usize,
}

impl Lists {
    fn of(argument: &ColumnarValue) -> Result<Self, EvaluationError> {
        let (array, stride) = each::one_or_many(argument)?;
        let array = array.as_any().downcast_ref::<ListArray>().cloned();
        Ok(Lists { array: array.ok_or_else(|| failure(&"an argument is no array"))?, stride })
    }

    /// Returns the range of a row's elements among all elements of the array column; `None` if the array is
    /// NULL.
    fn span(&self, row: usize) -> Option<std::ops::Range<usize>> {
        let row = row * self.stride;
        let offsets = self.array.value_offsets();
        (!self.array.is_null(row)).then(|| offsets[row] as usize..offsets[row + 1] as usize)
    }

    fn values(&self) -> &ArrayRef {
        self.array.values()
    }
}

/// Argument of type MAP of a function, as an Arrow column that is read row by row.
struct Maps {
    array: MapArray,
    stride: usize,
}

impl Maps {
    fn of(argument: &ColumnarValue) -> Result<Self, EvaluationError> {
        let (array, stride) = each::one_or_many(argument)?;
        let array = array.as_any().downcast_ref::<MapArray>().cloned();
        Ok(Maps { array: array.ok_or_else(|| failure(&"an argument is no map"))?, stride })
    }

    /// Returns the range of a row's entries among all entries of the map column; `None` if the map is NULL.
    fn span(&self, row: usize) -> Option<std::ops::Range<usize>> {
        let row = row * self.stride;
        let offsets = self.array.value_offsets();
        (!self.array.is_null(row)).then(|| offsets[row] as usize..offsets[row + 1] as usize)
    }
}

/// Converts columns of elements to byte strings, one per element, that compare as the elements do.
fn comparable(columns: &[&ArrayRef]) -> Result<Vec<Rows>, EvaluationError> {
    let Some(first) = columns.first() else { return Ok(Vec::new()) };
    let converter = RowConverter::new(vec![SortField::new(first.data_type().clone())]);
    // All columns are converted by one converter, because otherwise their bytes could not be compared.
    let converter = converter.map_err(|error| failure(&error))?;
    let rows = |column: &&ArrayRef| converter.convert_columns(std::slice::from_ref(*column));
    columns.iter().map(|column| rows(column).map_err(|error| failure(&error))).collect()
}

/// Refuses array elements of a type that cannot be compared.
fn check_comparable(of: &SqlType) -> Result<(), BindError> {
    if RowConverter::supports_fields(&[SortField::new(of.arrow())]) {
        return Ok(());
    }
    Err(BindError::new(format!("values of {of} cannot be compared")))
}

/// Refuses array elements of a type that has no order: only numbers, text, bytes, days, times and timestamps have one.
///
/// Source: Flink, `ArrayComparableElementArgumentTypeStrategy`.
fn check_ordered(of: &SqlType) -> Result<(), BindError> {
    match of {
        SqlType::Null | SqlType::Date | SqlType::Time(_) => Ok(()),
        of if of.is_numeric() || of.is_text() || of.is_bytes() || of.is_timestamp() => Ok(()),
        other => Err(BindError::new(format!("values of {other} have no order"))),
    }
}

/// Returns the element type of a function's argument, which must be an array.
fn item_of(given: &[Argument], place: usize) -> Result<SqlType, BindError> {
    match given.get(place).map(|argument| &argument.of) {
        Some(SqlType::Array(item)) => Ok((**item).clone()),
        Some(other) => Err(BindError::of_type(place + 1, other)),
        None => Err(BindError::count(given.len())),
    }
}

/// Returns the key and value types of a function's argument, which must be a map.
fn entry_of(given: &[Argument], place: usize) -> Result<(SqlType, SqlType), BindError> {
    match given.get(place).map(|argument| &argument.of) {
        Some(SqlType::Map(key, value)) => Ok(((**key).clone(), (**value).clone())),
        Some(other) => Err(BindError::of_type(place + 1, other)),
        None => Err(BindError::count(given.len())),
    }
}

/// Refuses a function call whose number of arguments lies outside `expected`.
fn check_count(given: &[Argument], expected: std::ops::RangeInclusive<usize>) -> Result<(), BindError> {
    if expected.contains(&given.len()) { Ok(()) } else { Err(BindError::count(given.len())) }
}

/// Returns the elements at the given positions of a column; NULL where a position is `None`.
fn taken(values: &ArrayRef, places: Vec<Option<usize>>) -> Result<ArrayRef, EvaluationError> {
    let places: UInt32Array = places.into_iter().map(|place| Some(place? as u32)).collect();
    take(values, &places, None).map_err(|error| failure(&error))
}

/// Concatenates columns of elements, whose total length must fit 32 bits.
fn joined(columns: &[&ArrayRef]) -> Result<ArrayRef, EvaluationError> {
    let of = columns.first().map(|column| column.data_type().clone()).unwrap_or(DataType::Null);
    let columns = columns.iter().map(|column| relabelled(Arc::clone(column), &of));
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(|error| failure(&error))?;
    let all = columns.iter().map(|column| column.as_ref()).collect::<Vec<&dyn Array>>();
    if all.iter().map(|column| column.len()).sum::<usize>() > i32::MAX as usize {
        return Err(failure(&"the arrays of one batch have too many elements"));
    }
    concat(&all).map_err(|error| failure(&error))
}

/// Builds a column of arrays. For each row, the function `row` appends the positions of the array's elements
/// in `values`; `None` makes the array NULL.
fn lists(
    arguments: &[ColumnarValue],
    rows: usize,
    of: &SqlType,
    values: &ArrayRef,
    mut row: impl FnMut(usize, &mut Vec<Option<usize>>) -> Option<()>,
) -> Result<ColumnarValue, EvaluationError> {
    let count = each::row_count(arguments, rows);
    let (mut places, mut lengths, mut is_valid) = (Vec::new(), Vec::new(), Vec::new());
    for place in 0..count {
        let before = places.len();
        let is_some = row(place, &mut places).is_some();
        if !is_some {
            places.truncate(before);
        }
        if places.len() > i32::MAX as usize {
            return Err(failure(&"the arrays of one batch have too many elements"));
        }
        lengths.push(places.len() - before);
        is_valid.push(is_some);
    }
    let (values, offsets) = (taken(values, places)?, OffsetBuffer::from_lengths(lengths));
    each::shaped(list_array(of, offsets, values, Some(NullBuffer::from(is_valid)))?, arguments)
}

fn list_array(
    of: &SqlType,
    offsets: OffsetBuffer<i32>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ListArray, EvaluationError> {
    let DataType::List(field) = of.arrow() else { return Err(failure(&"a result is no array")) };
    let values = relabelled(values, field.data_type()).map_err(|error| failure(&error))?;
    ListArray::try_new(field, offsets, values, nulls).map_err(|error| failure(&error))
}

/// Builds a column of maps from columns of keys and values; `offsets` says where the entries of each map
/// begin and end.
pub(super) fn map_array(
    of: &SqlType,
    offsets: OffsetBuffer<i32>,
    (keys, values): (ArrayRef, ArrayRef),
    nulls: Option<NullBuffer>,
) -> Result<MapArray, EvaluationError> {
    let DataType::Map(entries, is_sorted) = of.arrow() else { return Err(failure(&"a result is no map")) };
    let DataType::Struct(fields) = entries.data_type() else { return Err(failure(&"a map lacks entries")) };
    let columns =
        [keys, values].into_iter().zip(fields).map(|(column, field)| relabelled(column, field.data_type()));
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(|error| failure(&error))?;
    let columns = StructArray::try_new(fields.clone(), columns, None);
    let columns = columns.map_err(|error| failure(&error))?;
    MapArray::try_new(Arc::clone(&entries), offsets, columns, nulls, is_sorted)
        .map_err(|error| failure(&error))
}
