//! JSON_ARRAYAGG(value): a JSON array of all values of a group in the order in which they came; `[]` if there is
//! none. NULLs are left out (ABSENT ON NULL, the default), or become `null` (`$JSON_ARRAYAGG_NULL_ON_NULL`, which
//! planners write for NULL ON NULL).
//!
//! Source: Flink, `JsonArrayAggFunction`, `SqlJsonUtils`.
//!
//! Differs from Flink: values are text, whole numbers, decimals or booleans; others are refused.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::datatypes::{DataType, Decimal128Type};

use super::arrivals::Sequence;
use super::lists::{Item, Rendering, joined, texts};
use super::values::Bytes;
use crate::functions::EvaluationError;
use crate::functions::text::json::quote;
use crate::keys::{is_whole, whole_numbers};
use crate::types::SqlType;

/// JSON_ARRAYAGG: makes a JSON array of all values of a group.
pub(super) struct JsonArray {
    pub skips_nulls: bool,
}

impl JsonArray {
    /// Returns whether JSON_ARRAYAGG can write values of a type.
    pub(super) fn takes(of: &SqlType) -> bool {
        of.is_text() || of.is_integer() || matches!(of, SqlType::Boolean | SqlType::Decimal { .. })
    }
}

impl Rendering<Bytes> for JsonArray {
    fn skips_nulls(&self) -> bool {
        self.skips_nulls
    }

    fn prepare(&self, argument: &ArrayRef) -> ArrayRef {
        let column: StringArray = match argument.data_type() {
            DataType::Utf8 => argument.as_string::<i32>().iter().map(|text| text.map(quoted)).collect(),
            DataType::Boolean => {
                argument.as_boolean().iter().map(|value| value.map(|value| value.to_string())).collect()
            }
            of if is_whole(of) => {
                let numbers = whole_numbers(argument);
                (0..argument.len())
                    .map(|row| argument.is_valid(row).then(|| numbers[row].to_string()))
                    .collect()
            }
            _ => {
                let decimals = argument.as_primitive::<Decimal128Type>();
                (0..argument.len())
                    .map(|row| argument.is_valid(row).then(|| decimals.value_as_string(row)))
                    .collect()
            }
        };
        Arc::new(column)
    }

    fn results<S: Sequence<Item<Bytes>>>(
        &self,
        _domain: &Bytes,
        lists: &[S],
    ) -> Result<ArrayRef, EvaluationError> {
        texts(lists.iter().map(|list| Some([b"[", &joined(list, b",")[..], b"]"].concat())))
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quote(text, &mut quoted);
    quoted
}
