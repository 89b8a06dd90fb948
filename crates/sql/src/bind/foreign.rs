//! Literals at the border between DataFusion's planner and our expressions: its trees hold values of its own type.

pub(super) use datafusion_common::ScalarValue as Foreign;
use thalweg_sql_functions::values::ScalarValue;

#[cfg(test)]
mod tests;

/// Returns a value of DataFusion as a value of ours; `None` if no SQL type holds it.
pub(super) fn ours(value: &Foreign) -> Option<ScalarValue> {
    ScalarValue::try_from_array(&value.to_array().ok()?, 0).ok()
}
