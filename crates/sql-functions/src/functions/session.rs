//! SQL functions of types and of the session: TYPEOF and CURRENT_DATABASE.
//!
//! Source: Flink's documentation, "System (Built-in) Functions", sections "Type Inference" and "Catalog Functions";
//! Flink, `TypeOfFunction`.
//!
//! Differs from Flink: parts of ARRAY, MAP and ROW are shown without NOT NULL.

use super::each::{Nulls, bound};
use super::{Argument, BindError, Bound, Function};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

/// The SQL functions of types and of the session.
pub static SESSION: &[Function] = &[
    Function {
        name: "TYPEOF",
        usage: "TYPEOF(value [, is serializable])",
        is_deterministic: true,
        bind: |given, _| type_of(given),
    },
    Function {
        name: "CURRENT_DATABASE",
        usage: "CURRENT_DATABASE()",
        is_deterministic: true,
        bind: |given, _| match given {
            [] => Ok(constant(given, "default_database".to_owned())),
            _ => Err(BindError::count(given.len())),
        },
    },
];

/// Binds TYPEOF: the type of a value as text, with NOT NULL if it is never NULL; with TRUE as the second argument,
/// without short names ([`SqlType::long_form`]).
fn type_of(given: &[Argument]) -> Result<Bound, BindError> {
    let is_serializable = match given {
        [_] => false,
        [_, form] => match form.literal {
            Some(ScalarValue::Boolean(Some(form))) => form,
            _ => return Err(BindError::new("argument 2 is neither TRUE nor FALSE")),
        },
        _ => return Err(BindError::count(given.len())),
    };
    let mut text = if is_serializable { given[0].of.long_form() } else { given[0].of.to_string() };
    if !given[0].is_nullable && given[0].of != SqlType::Null {
        text += " NOT NULL";
    }
    Ok(constant(given, text))
}

fn constant(given: &[Argument], text: String) -> Bound {
    let types = given.iter().map(|argument| argument.of.clone()).collect();
    bound(types, given, SqlType::STRING, Nulls::Never, move |_, _| {
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8(Some(text.clone()))))
    })
}
