//! Tests of the rules that all kernels keep, on functions that use the helpers for kernels.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringArray};
use arrow::buffer::NullBuffer;
use proptest::prelude::*;

use super::bed;
use crate::functions::text::TEXT;
use crate::functions::text::pattern::PATTERNS_MAX;
use crate::functions::{Argument, Bound, EvaluationError};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

fn bind(name: &str, types: &[SqlType]) -> Bound {
    let function = TEXT.iter().find(|function| function.name == name).expect("a function");
    let argument = |of: &SqlType| Argument { of: of.clone(), is_nullable: true, literal: None };
    let given: Vec<Argument> = types.iter().map(argument).collect();
    (function.bind)(&given, &bed::context("UTC")).expect("bound")
}

fn texts<T: AsRef<str>>(texts: &[T]) -> ColumnarValue {
    ColumnarValue::Array(Arc::new(texts.iter().map(|text| Some(text.as_ref())).collect::<StringArray>()))
}

fn evaluate(bound: &Bound, arguments: &[ColumnarValue], rows: usize) -> Result<ArrayRef, EvaluationError> {
    let result = bound.kernel.evaluate(arguments, rows)?;
    Ok(result.to_array(rows).expect("an array"))
}

/// Rule K2: a value in a NULL slot of an argument does not make the kernel fail.
#[test]
fn slots_that_are_null_are_not_looked_at() {
    let counts = Int64Array::new(vec![i64::MAX, 2].into(), Some(NullBuffer::from(vec![false, true])));
    let bound = bind("REPEAT", &[SqlType::STRING, SqlType::BigInt]);
    let arguments = [texts(&["a", "b"]), ColumnarValue::Array(Arc::new(counts))];
    let result = evaluate(&bound, &arguments, 2).expect("a result");
    assert_eq!(result.as_string::<i32>().iter().collect::<Vec<_>>(), [None, Some("bb")]);
    let hidden = StringArray::new(
        arrow::buffer::OffsetBuffer::from_lengths([3, 4]),
        b"a*+YQ==".as_slice().into(),
        Some(NullBuffer::from(vec![false, true])),
    );
    let hidden = ColumnarValue::Array(Arc::new(hidden));
    let bound = bind("FROM_BASE64", &[SqlType::STRING]);
    let result = evaluate(&bound, std::slice::from_ref(&hidden), 2).expect("a result");
    assert_eq!(result.as_string::<i32>().iter().collect::<Vec<_>>(), [None, Some("a")]);
    let bound = bind("REGEXP_COUNT", &[SqlType::STRING, SqlType::STRING]);
    assert!(evaluate(&bound, &[texts(&["a", "b"]), hidden], 2).is_ok());
}

/// A kernel accepts any mix of scalar arguments and columns, and an empty batch.
#[test]
fn any_mix_of_scalars_and_columns_will_do() {
    let bound = bind("REPLACE", &[SqlType::STRING, SqlType::STRING, SqlType::STRING]);
    let scalar = |text: &str| ColumnarValue::Scalar(ScalarValue::from(text));
    let result = evaluate(&bound, &[texts(&["aa", "b"]), scalar("a"), scalar("c")], 2).expect("a result");
    assert_eq!(result.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("cc"), Some("b")]);
    let result = evaluate(&bound, &[texts::<&str>(&[]), scalar("a"), scalar("c")], 0).expect("a result");
    assert_eq!(result.len(), 0);
    let bound = bind("TRANSLATE", &[SqlType::STRING, SqlType::STRING, SqlType::STRING]);
    let result = evaluate(&bound, &[scalar("a"), texts::<&str>(&[]), scalar("c")], 0).expect("a result");
    assert_eq!(result.len(), 0);
}

/// Regular expressions in a column apply to their own rows, even if there are more of them than the cache
/// holds.
#[test]
fn patterns_in_columns_are_told_apart() {
    let count = 3 * PATTERNS_MAX;
    let names: Vec<String> = (0..count).map(|number| format!("x{number}y")).collect();
    let patterns: Vec<String> = (0..count).map(|number| format!("^x{}.$", number / 2 * 2)).collect();
    let bound = bind("REGEXP", &[SqlType::STRING, SqlType::STRING]);
    let expected: BooleanArray = (0..count).map(|number| Some(number % 2 == 0)).collect();
    for _ in 0..2 {
        let result = evaluate(&bound, &[texts(&names), texts(&patterns)], count).expect("a result");
        assert_eq!(result.as_boolean(), &expected);
    }
    let result = evaluate(&bound, &[texts(&["a"]), texts(&["(?=a)"])], 1);
    assert_eq!(result.map(|_| ()).map_err(|error| error.code), Err("UNSUPPORTED_PATTERN"));
    let bound = bind("LIKE", &[SqlType::STRING, SqlType::STRING, SqlType::STRING]);
    let arguments = [texts(&["a%", "a%", "ab"]), texts(&["a!%", "a%", "a?%"]), texts(&["!", "", "?"])];
    let result = evaluate(&bound, &arguments, 3).expect("a result");
    assert_eq!(result.as_boolean(), &BooleanArray::from(vec![true, true, false]));
    let result = evaluate(&bound, &[texts(&["a"]), texts(&["!a"]), texts(&["!"])], 1);
    assert_eq!(result.map(|_| ()).map_err(|error| error.code), Err("BAD_PATTERN"));
}

/// Oracle of LIKE: returns whether a text matches a pattern, by trying all lengths for every `%`.
fn is_like(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|skipped| is_like(&text[skipped..], rest)),
        ['_', rest @ ..] => !text.is_empty() && is_like(&text[1..], rest),
        [letter, rest @ ..] => text.first() == Some(letter) && is_like(&text[1..], rest),
    }
}

proptest! {
    /// All fast paths of LIKE agree with a matcher that tries all lengths for every `%`.
    #[test]
    fn like_agrees_with_the_plain_way(text in "[abé\n]{0,6}", pattern in "[abé%_]{0,6}") {
        let bound = bind("LIKE", &[SqlType::STRING, SqlType::STRING]);
        let result = evaluate(&bound, &[texts(&[&text]), texts(&[&pattern])], 1).expect("a result");
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        let expected = is_like(&letters(&text), &letters(&pattern));
        prop_assert_eq!(result.as_boolean().value(0), expected, "{} LIKE {}", text, pattern);
    }

    /// No text function panics or returns another type than announced, whatever its arguments.
    #[test]
    fn any_arguments_are_taken_without_a_panic(
        first in ".{0,12}",
        second in "[a-z%_.*+?()\\[\\]\\\\${},:=&0-9]{0,8}",
        third in ".{0,4}",
        number in prop_oneof![-5_i64..20, Just(i64::MIN), Just(i64::MAX)],
    ) {
        // Names that begin with `$` are written by the parser alone, whose arguments the planner casts.
        for function in TEXT.iter().filter(|function| !function.name.starts_with('$')) {
            let shapes: [&[u8]; 9] = [b"t", b"tt", b"ttt", b"ti", b"tit", b"tti", b"ttii", b"i", b"itt"];
            for shape in shapes {
                let values = [&first, &second, &third];
                let mut scalars = Vec::new();
                for (place, kind) in shape.iter().enumerate() {
                    scalars.push(match kind {
                        b't' => ScalarValue::from(values[place.min(2)].as_str()),
                        _ => ScalarValue::Int64(Some(number)),
                    });
                }
                let of = |kind: &u8| if *kind == b't' { SqlType::STRING } else { SqlType::BigInt };
                let argument = |kind| Argument { of: of(kind), is_nullable: false, literal: None };
                let given: Vec<Argument> = shape.iter().map(argument).collect();
                let Ok(bound) = (function.bind)(&given, &bed::context("UTC")) else { continue };
                let columns: Vec<ColumnarValue> =
                    scalars.iter().map(|scalar| ColumnarValue::Array(scalar.to_array().expect("one row"))).collect();
                let wide = bound.arguments.iter().zip(&columns).all(|(of, column)| of.arrow() == column.data_type());
                prop_assert!(wide, "{} casts its arguments", function.name);
                if let Ok(ColumnarValue::Array(result)) = bound.kernel.evaluate(&columns, 1) {
                    prop_assert_eq!(result.data_type(), &bound.result.arrow(), "{}", function.name);
                    prop_assert_eq!(result.len(), 1);
                }
            }
        }
    }
}
