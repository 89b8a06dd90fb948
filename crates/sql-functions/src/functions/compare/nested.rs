//! `=`, `<>` and IS \[NOT\] DISTINCT FROM of arrays, maps and rows: they are compared part by part.
//!
//! The result is NULL only if a whole operand is NULL. A part that is NULL equals another part that is NULL. Floats
//! follow IEEE 754, as elsewhere: NaN equals nothing, and 0.0 equals -0.0. The order of the entries of a map is of no
//! importance.
//!
//! Source: Flink, `ScalarOperatorGens` (`generateArrayComparison`, `generateMapComparison`, `generateRowComparison`).

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Float32Type, Float64Type};

use super::ComparisonOp;
use crate::functions::cast::is_castable;
use crate::functions::over::{Evaluated, columns_map, mistyped, of_arrow};
use crate::functions::{EvaluationError, Kernel};
use crate::types::{SqlType, common_type};
use crate::values::ColumnarValue;

/// Returns the type to which two arrays, maps or rows are cast before they are compared; `None` for other types, for
/// types that have nothing in common, and for operators that ask for an order.
pub(super) fn compared_as(op: ComparisonOp, left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let is_ordering =
        matches!(op, ComparisonOp::Lt | ComparisonOp::LtEq | ComparisonOp::Gt | ComparisonOp::GtEq);
    match (left, right) {
        _ if is_ordering => None,
        (SqlType::Array(_), SqlType::Array(_))
        | (SqlType::Map(..), SqlType::Map(..))
        | (SqlType::Row(_), SqlType::Row(_)) => {
            common_type(left, right).filter(|common| is_castable(left, common) && is_castable(right, common))
        }
        _ => None,
    }
}

/// Returns the kernel of an operator that compares arrays, maps or rows of one type.
pub(super) fn kernel(op: ComparisonOp) -> Arc<dyn Kernel> {
    Arc::new(move |arguments: &[ColumnarValue], rows: usize| -> Evaluated {
        columns_map(arguments, rows, |columns, rows| {
            let [left, right] = columns else { return Ok(Arc::new(BooleanArray::new_null(rows))) };
            let are_equal = equality(left, right)?;
            let is_null = |row: usize| left.is_null(row) || right.is_null(row);
            let compared: BooleanArray = match op {
                ComparisonOp::IsDistinctFrom => (0..rows).map(|row| Some(!are_equal(row, row))).collect(),
                ComparisonOp::IsNotDistinctFrom => (0..rows).map(|row| Some(are_equal(row, row))).collect(),
                _ => {
                    let wanted = op == ComparisonOp::Eq;
                    (0..rows).map(|row| (!is_null(row)).then(|| are_equal(row, row) == wanted)).collect()
                }
            };
            Ok(Arc::new(compared))
        })
    })
}

/// Tells whether a value of one column, given by its index, equals a value of another. NULL equals NULL.
type IsEqual = Box<dyn Fn(usize, usize) -> bool>;

fn equality(left: &ArrayRef, right: &ArrayRef) -> Result<IsEqual, EvaluationError> {
    let known: IsEqual = match (left.data_type(), right.data_type()) {
        (DataType::Null, _) | (_, DataType::Null) => Box::new(|_, _| false),
        (DataType::List(_), DataType::List(_)) => {
            let (left, right) = (left.as_list::<i32>().clone(), right.as_list::<i32>().clone());
            let are_equal = equality(left.values(), right.values())?;
            Box::new(move |place, other| {
                let (items, others) = (span(left.value_offsets(), place), span(right.value_offsets(), other));
                items.len() == others.len() && items.zip(others).all(|(item, other)| are_equal(item, other))
            })
        }
        (DataType::Map(..), DataType::Map(..)) => {
            let (left, right) = (left.as_map().clone(), right.as_map().clone());
            let are_keys = equality(left.keys(), right.keys())?;
            let are_values = equality(left.values(), right.values())?;
            Box::new(move |place, other| {
                let (entries, others) =
                    (span(left.value_offsets(), place), span(right.value_offsets(), other));
                // Most maps that are equal have their entries in one order, so the entry at the same place comes first.
                let partner = |(nth, entry): (usize, usize)| {
                    let same = others.start + nth;
                    if are_keys(entry, same) {
                        return Some(same);
                    }
                    others.clone().find(|other| are_keys(entry, *other))
                };
                entries.len() == others.len()
                    && entries.clone().enumerate().all(|(nth, entry)| {
                        partner((nth, entry)).is_some_and(|other| are_values(entry, other))
                    })
            })
        }
        (DataType::Struct(_), DataType::Struct(_)) => {
            let (left, right) = (left.as_struct(), right.as_struct());
            if left.num_columns() != right.num_columns() {
                return Err(mistyped(&left.columns()[0], "a row of as many fields"));
            }
            let fields = left.columns().iter().zip(right.columns());
            let fields = fields.map(|(left, right)| equality(left, right)).collect::<Result<Vec<_>, _>>()?;
            Box::new(move |place, other| fields.iter().all(|are_equal| are_equal(place, other)))
        }
        (DataType::Float32, DataType::Float32) => {
            let (left, right) =
                (left.as_primitive::<Float32Type>().clone(), right.as_primitive::<Float32Type>().clone());
            Box::new(move |place, other| left.value(place) == right.value(other))
        }
        (DataType::Float64, DataType::Float64) => {
            let (left, right) =
                (left.as_primitive::<Float64Type>().clone(), right.as_primitive::<Float64Type>().clone());
            Box::new(move |place, other| left.value(place) == right.value(other))
        }
        _ => {
            let compare = make_comparator(left, right, SortOptions::default()).map_err(of_arrow)?;
            Box::new(move |place, other| compare(place, other) == Ordering::Equal)
        }
    };
    let (left, right) = (left.logical_nulls(), right.logical_nulls());
    Ok(Box::new(move |place, other| {
        let is_null = left.as_ref().is_some_and(|nulls| nulls.is_null(place));
        let is_other_null = right.as_ref().is_some_and(|nulls| nulls.is_null(other));
        if is_null || is_other_null { is_null && is_other_null } else { known(place, other) }
    }))
}

fn span(offsets: &[i32], row: usize) -> Range<usize> {
    offsets[row] as usize..offsets[row + 1] as usize
}
