//! JSON_ARRAYAGG(value): a JSON array of all values of a group in the order in which they came; `[]` if there is
//! none. NULLs are left out (ABSENT ON NULL, the default), or become `null` (`$JSON_ARRAYAGG_NULL_ON_NULL`, which
//! the parser writes for NULL ON NULL).
//!
//! JSON_OBJECTAGG(KEY key VALUE value): a JSON object of all members of a group, in the order of their names; `{}` if
//! there is none. Two members with one name are an error. The argument is a member that
//! [`MEMBER`](crate::functions::text::json_functions::MEMBER) makes.
//!
//! Source: Flink, `JsonArrayAggFunction`, `JsonObjectAggFunction`, `SqlJsonUtils`.
//!
//! Differs from Flink: days and times are refused, as by JSON_STRING. JSON_OBJECTAGG of two equal names fails when its
//! result is read, not at the second row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringArray};

use super::arrivals::Sequence;
use super::lists::{Item, Rendering, joined, texts};
use super::values::Bytes;
use crate::functions::EvaluationError;
use crate::functions::text::json::Json;
use crate::functions::text::json_functions::write_value;

/// JSON_ARRAYAGG: makes a JSON array of all values of a group.
pub(super) struct JsonArray {
    pub skips_nulls: bool,
}

impl Rendering<Bytes> for JsonArray {
    fn skips_nulls(&self) -> bool {
        self.skips_nulls
    }

    fn prepare(&self, argument: &ArrayRef) -> ArrayRef {
        let written = |row: usize| {
            let mut text = String::new();
            // Values of the types that binding accepts are always written.
            argument.is_valid(row).then(|| write_value(argument, row, &mut text)).and_then(Result::ok)?;
            Some(text)
        };
        Arc::new((0..argument.len()).map(written).collect::<StringArray>())
    }

    fn results<S: Sequence<Item<Bytes>>>(
        &self,
        _domain: &Bytes,
        lists: &[S],
    ) -> Result<ArrayRef, EvaluationError> {
        texts(lists.iter().map(|list| Some([b"[", &joined(list, b",")[..], b"]"].concat())))
    }
}

/// JSON_OBJECTAGG: makes a JSON object of the members of a group, which are texts such as `"key":1`.
pub(super) struct JsonObject;

impl Rendering<Bytes> for JsonObject {
    fn skips_nulls(&self) -> bool {
        true
    }

    fn results<S: Sequence<Item<Bytes>>>(
        &self,
        _domain: &Bytes,
        lists: &[S],
    ) -> Result<ArrayRef, EvaluationError> {
        let object = |list: &S| {
            let wrong = |message: &str| EvaluationError { code: "BAD_JSON", message: message.to_owned() };
            let members = [b"{", &joined(list, b",")[..], b"}"].concat();
            let members = String::from_utf8_lossy(&members);
            let json = Json::read(&members);
            match &json {
                Some(Json::Object(distinct)) if distinct.len() == list.len() => {}
                Some(Json::Object(_)) => return Err(wrong("JSON_OBJECTAGG has two values for one key")),
                _ => return Err(wrong("the values do not make a JSON document")),
            }
            let mut text = String::new();
            json.iter().for_each(|json| json.write(&mut text));
            Ok(Some(text.into_bytes()))
        };
        let made = lists.iter().map(object).collect::<Result<Vec<_>, EvaluationError>>()?;
        texts(made.into_iter())
    }
}
