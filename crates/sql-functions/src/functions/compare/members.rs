//! The SQL predicate IN with many literals: a look-up in a set instead of a comparison with each literal.
//!
//! The result is NULL if the value is NULL, and also if the value is not found and one of the literals is
//! NULL.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray};
use arrow::datatypes::DataType;
use arrow::row::{Row, RowConverter, SortField};

use crate::functions::Kernel;
use crate::functions::over::{Evaluated, column_map, of_arrow};
use crate::values::{ColumnarValue, ScalarValue};

/// Returns the kernel that looks values up among literals, for types whose values are equal if their bits or
/// bytes are. Returns `None` for other types, and if a literal is not of the type.
pub fn bind_members(of: &DataType, literals: Vec<ScalarValue>) -> Option<Arc<dyn Kernel>> {
    // Floats are not looked up in a set, because 0.0 equals -0.0 and NaN equals nothing, so bits do not
    // decide.
    if of.is_floating() || of.is_nested() || of.is_null() {
        return None;
    }
    let literals = ScalarValue::iter_to_array(literals).ok().filter(|literals| literals.data_type() == of)?;
    let converter = RowConverter::new(vec![SortField::new(of.clone())]).ok()?;
    let rows = converter.convert_columns(&[Arc::clone(&literals)]).ok()?;
    let known = (0..literals.len()).filter(|place| literals.is_valid(*place));
    let members: HashSet<Box<[u8]>, foldhash::fast::RandomState> =
        known.map(|place| rows.row(place).data().into()).collect();
    let has_null = literals.null_count() > 0;
    Some(Arc::new(move |arguments: &[ColumnarValue], _: usize| -> Evaluated {
        let [value] = arguments else { return Ok(ColumnarValue::Scalar(ScalarValue::Boolean(None))) };
        column_map(value, |values| {
            let bytes = converter.convert_columns(&[Arc::clone(values)]).map_err(of_arrow)?;
            let is_member = |(place, row): (usize, Row<'_>)| match members.contains(row.data()) {
                _ if values.is_null(place) => None,
                false if has_null => None,
                found => Some(found),
            };
            Ok(Arc::new(bytes.iter().enumerate().map(is_member).collect::<BooleanArray>()))
        })
    }))
}
