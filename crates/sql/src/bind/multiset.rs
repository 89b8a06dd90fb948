//! UNNEST of the result of COLLECT: a row for each occurrence of a value, as of Flink's MULTISET.
//!
//! COLLECT gives a map of values and their counts, as there is no type MULTISET. A column that is a result of COLLECT is
//! found by its way through the plan below, so other maps keep the rows of their entries.
//!
//! Source: Flink's documentation, "Joins", section "Array, Multiset and Map Expansion".

use std::iter::repeat_n;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Int32Type};
use thalweg_sql_exec::plan::{AggregateCall, Node, Plan};
use thalweg_sql_functions::expression::{Call, Expression, Typed, arrow_error};
use thalweg_sql_functions::functions::{self, EvaluationError};
use thalweg_sql_functions::scratch::RESULT_TOO_LONG;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::ColumnarValue;

use super::relation::Source;

/// Greatest number of elements of the multisets of a batch; a batch with more is cut, down to one row.
const ELEMENTS_MAX: usize = 1 << 24;

/// Returns the value of an UNNEST: the elements of a multiset as an array, if the value is a column that COLLECT gives, and
/// else the value itself. `source` has the columns that the value reads.
pub(super) fn with_elements(value: Typed, source: &Source) -> Typed {
    match (&value.of, value.as_column()) {
        (SqlType::Map(element, _), Some(place)) if is_collected(source, place) => {
            let of = SqlType::Array(element.clone());
            elements(value, of)
        }
        _ => value,
    }
}

/// Returns whether a column of a relation is a result of COLLECT.
fn is_collected(source: &Source, place: usize) -> bool {
    match source {
        Source::Plan(plan) => is_result(plan, place),
        Source::Join(join) => match place.checked_sub(join.left.columns().len()) {
            None => is_collected(&join.left, place),
            Some(place) => is_collected(&join.right, place),
        },
        Source::Unnest(unnest) => place < unnest.input.columns().len() && is_collected(&unnest.input, place),
    }
}

/// Returns whether a column of a plan is a result of COLLECT.
fn is_result(plan: &Plan, place: usize) -> bool {
    let is_call = |calls: &[AggregateCall], keys: usize| {
        let call = place.checked_sub(keys).and_then(|call| calls.get(call));
        call.is_some_and(|call| call.aggregate.name() == "COLLECT")
    };
    match &plan.node {
        Node::Calc { input, outputs, .. } => {
            let from = outputs.get(place).and_then(Typed::as_column);
            from.is_some_and(|place| is_result(input, place))
        }
        Node::Group { keys, calls, .. } | Node::WindowAggregate { keys, calls, .. } => {
            is_call(calls, keys.len())
        }
        Node::AssignWindows { input, .. } => place < input.columns.len() && is_result(input, place),
        Node::Join { left, right, .. } => match place.checked_sub(left.columns.len()) {
            None => is_result(left, place),
            Some(place) => is_result(right, place),
        },
        Node::Union(inputs) => inputs.iter().all(|input| is_result(input, place)),
        _ => false,
    }
}

/// Returns an array of a map of values and their counts: each value as often as its count says. It is shown as a cast, which
/// no query can write.
fn elements(value: Typed, of: SqlType) -> Typed {
    let to = of.arrow();
    let kernel = move |arguments: &[ColumnarValue], rows: usize| {
        let maps = functions::column(&arguments[0], rows)?;
        Ok(ColumnarValue::Array(repeated(&maps, &to)?))
    };
    let is_nullable = value.is_nullable;
    let expression = Expression::Call {
        call: Call::Cast { to: of.clone(), is_try: false },
        kernel: Arc::new(kernel),
        arguments: vec![value],
        is_total: false,
        is_deterministic: true,
    };
    Typed { expression, of, is_nullable }
}

fn repeated(maps: &ArrayRef, to: &DataType) -> Result<ArrayRef, EvaluationError> {
    let (Some(maps), DataType::List(field)) = (maps.as_map_opt(), to) else {
        let message = format!("UNNEST cannot take {} apart as a multiset", maps.data_type());
        return Err(EvaluationError { code: "EVALUATION", message });
    };
    let counts = maps.values().as_primitive::<Int32Type>();
    let mut places: Vec<u32> = Vec::new();
    let mut lengths = Vec::with_capacity(maps.len());
    for (row, bounds) in maps.offsets().windows(2).enumerate() {
        let before = places.len();
        let entries = if maps.is_null(row) { 0..0 } else { bounds[0]..bounds[1] };
        for entry in entries {
            let count = usize::try_from(counts.value(entry as usize)).unwrap_or_default();
            if places.len() + count > ELEMENTS_MAX {
                let message = format!("the multisets of a row have more than {ELEMENTS_MAX} elements");
                return Err(EvaluationError { code: RESULT_TOO_LONG, message });
            }
            places.extend(repeat_n(entry as u32, count));
        }
        lengths.push(places.len() - before);
    }
    let values = take(maps.keys(), &UInt32Array::from(places), None).map_err(arrow_error)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    let lists = ListArray::try_new(Arc::clone(field), offsets, values, maps.nulls().cloned());
    Ok(Arc::new(lists.map_err(arrow_error)?))
}
