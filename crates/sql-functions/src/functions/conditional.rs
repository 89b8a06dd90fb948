//! SQL functions that choose among values, and predicates about the characters of text.
//!
//! Source: Flink's documentation, "System (Built-in) Functions", section "Conditional Functions".

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::{boolean, zip};
use arrow::compute::{nullif, prep_null_mask_filter};

use super::cast::bind_cast;
use super::cast::text::parse_double;
use super::compare::{ComparisonOp, bind_comparison};
use super::math::common_of;
use super::over::{Evaluated, Operand, both, column_map, columns_map, of_arrow, only, text, truth};
use super::{Argument, BindError, Bound, Context, Function, Kernel};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

/// All SQL functions that choose among values, and predicates about the characters of text.
pub static CONDITIONAL: &[Function] = &[
    Function {
        name: "COALESCE",
        usage: "COALESCE(value, value, ...)",
        is_deterministic: true,
        bind: |arguments, _| first_known(arguments),
    },
    Function { name: "NULLIF", usage: "NULLIF(value, other)", is_deterministic: true, bind: bind_nullif },
    Function {
        name: "IFNULL",
        usage: "IFNULL(value, instead)",
        is_deterministic: true,
        bind: |arguments, _| match arguments.len() {
            2 => first_known(arguments),
            count => Err(BindError::count(count)),
        },
    },
    Function { name: "IF", usage: "IF(condition, then, else)", is_deterministic: true, bind: bind_if },
    Function {
        name: "IS_ALPHA",
        usage: "IS_ALPHA(text)",
        is_deterministic: true,
        bind: |arguments, _| looks_like(arguments, |_| false, |text| text.chars().all(char::is_alphabetic)),
    },
    Function {
        name: "IS_DECIMAL",
        usage: "IS_DECIMAL(text)",
        is_deterministic: true,
        bind: |arguments, _| looks_like(arguments, SqlType::is_numeric, |text| parse_double(text).is_some()),
    },
    Function {
        name: "IS_DIGIT",
        usage: "IS_DIGIT(text)",
        is_deterministic: true,
        bind: |arguments, _| {
            looks_like(arguments, SqlType::is_integer, |text| text.chars().all(char::is_numeric))
        },
    },
];

/// Binds COALESCE and IFNULL: the first value which is not NULL.
fn first_known(arguments: &[Argument]) -> Result<Bound, BindError> {
    let common = common_of(arguments)?;
    let kernel = |arguments: &[ColumnarValue], _: usize| -> Evaluated {
        let Some((first, rest)) = arguments.split_first() else {
            return Ok(ColumnarValue::Scalar(ScalarValue::Null));
        };
        rest.iter().try_fold(first.clone(), instead_of_null)
    };
    Ok(Bound {
        arguments: vec![common.clone(); arguments.len()],
        result: common,
        is_nullable: arguments.iter().all(|argument| argument.is_nullable),
        kernel: Arc::new(kernel),
    })
}

fn instead_of_null(known: ColumnarValue, next: &ColumnarValue) -> Evaluated {
    match &known {
        ColumnarValue::Scalar(scalar) => Ok(if scalar.is_null() { next.clone() } else { known }),
        ColumnarValue::Array(array) => {
            if array.logical_null_count() == 0 {
                return Ok(known);
            }
            let is_known = boolean::is_not_null(array).map_err(of_arrow)?;
            let result = zip::zip(&is_known, &Operand::new(&known)?, &Operand::new(next)?);
            Ok(ColumnarValue::Array(result.map_err(of_arrow)?))
        }
    }
}

/// Binds NULLIF: the first value, or NULL if it equals the other. The result has the type of the first value,
/// even if both are compared as values of a wider type.
fn bind_nullif(arguments: &[Argument], context: &Context) -> Result<Bound, BindError> {
    let [value, other] = arguments else { return Err(BindError::count(arguments.len())) };
    let comparison = bind_comparison(ComparisonOp::Eq, value, other, context)?;
    let mut casts = Vec::new();
    for (argument, to) in arguments.iter().zip(&comparison.arguments) {
        casts.push(bind_cast(&argument.of, argument.is_nullable, to, false, context)?.kernel);
    }
    let compare = comparison.kernel;
    let kernel = move |arguments: &[ColumnarValue], rows: usize| -> Evaluated {
        let (value, _) = both(arguments)?;
        let compared = arguments
            .iter()
            .zip(&casts)
            .map(|(argument, cast)| cast.evaluate(std::slice::from_ref(argument), rows))
            .collect::<Result<Vec<_>, _>>()?;
        let are_equal = compare.evaluate(&compared, rows)?;
        columns_map(&[value.clone(), are_equal], rows, |columns, _| {
            nullif(&columns[0], truth(&columns[1])?).map_err(of_arrow)
        })
    };
    Ok(Bound {
        arguments: vec![value.of.clone(), other.of.clone()],
        result: value.of.clone(),
        is_nullable: true,
        kernel: Arc::new(kernel),
    })
}

/// Binds IF: the second value if the condition is TRUE, or else the third, also if the condition is NULL.
fn bind_if(arguments: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let [condition, then, otherwise] = arguments else { return Err(BindError::count(arguments.len())) };
    if !matches!(condition.of, SqlType::Boolean | SqlType::Null) {
        return Err(BindError::of_type(1, &condition.of));
    }
    let common = common_of(&arguments[1..])?;
    let kernel = |arguments: &[ColumnarValue], _: usize| -> Evaluated {
        let [condition, then, otherwise] = arguments else {
            return Ok(ColumnarValue::Scalar(ScalarValue::Null));
        };
        match condition {
            ColumnarValue::Scalar(scalar) => {
                let is_true = *scalar == ScalarValue::Boolean(Some(true));
                Ok(if is_true { then.clone() } else { otherwise.clone() })
            }
            ColumnarValue::Array(array) => {
                let condition = truth(array)?;
                let condition = if condition.null_count() == 0 {
                    condition.clone()
                } else {
                    prep_null_mask_filter(condition)
                };
                let result = zip::zip(&condition, &Operand::new(then)?, &Operand::new(otherwise)?);
                Ok(ColumnarValue::Array(result.map_err(of_arrow)?))
            }
        }
    };
    Ok(Bound {
        arguments: vec![SqlType::Boolean, common.clone(), common.clone()],
        result: common,
        is_nullable: then.is_nullable || otherwise.is_nullable,
        kernel: Arc::new(kernel),
    })
}

/// Binds a predicate about the characters of text, such as IS_DIGIT. For numbers the type alone decides. The
/// predicate is FALSE for empty text and NULL.
///
/// Differs from Flink: letters and digits follow Unicode's properties Alphabetic and Numeric; Java's sets are
/// smaller.
fn looks_like(
    arguments: &[Argument],
    of_number: fn(&SqlType) -> bool,
    question: fn(&str) -> bool,
) -> Result<Bound, BindError> {
    let [argument] = arguments else { return Err(BindError::count(arguments.len())) };
    let kernel: Arc<dyn Kernel> = if argument.of.is_numeric() {
        let answer = of_number(&argument.of);
        Arc::new(move |arguments: &[ColumnarValue], _: usize| {
            column_map(only(arguments)?, |array| {
                let answers = (0..array.len()).map(|row| answer && array.is_valid(row));
                Ok(Arc::new(BooleanArray::from_iter(answers.map(Some))) as ArrayRef)
            })
        })
    } else if argument.of.is_text() || argument.of == SqlType::Null {
        Arc::new(move |arguments: &[ColumnarValue], _: usize| {
            column_map(only(arguments)?, |array| {
                let texts = text(array)?;
                let answers = BooleanBuffer::collect_bool(texts.len(), |row| {
                    texts.is_valid(row) && !texts.value(row).is_empty() && question(texts.value(row))
                });
                Ok(Arc::new(BooleanArray::new(answers, None)) as ArrayRef)
            })
        })
    } else {
        return Err(BindError::of_type(1, &argument.of));
    };
    let taken = if argument.of == SqlType::Null { SqlType::STRING } else { argument.of.clone() };
    Ok(Bound { arguments: vec![taken], result: SqlType::Boolean, is_nullable: false, kernel })
}

#[cfg(test)]
mod tests;
