//! Scalar functions: one value for each row.

use std::sync::Arc;

use arrow::array::{ArrayRef, new_empty_array};

use super::{FunctionError, Implementation, Signature, UserFunction, called, checked, signed};
use crate::functions::{Argument, BindError, Bound, EvaluationError, Kernel};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

/// A function with one value for each row, as a program implements it.
pub trait ScalarFunction: Send + Sync {
    /// Returns the types of a call with these arguments. It is asked once for each call in SQL, when the query is planned.
    ///
    /// # Errors
    /// The reason why the function does not take the arguments.
    fn signature(&self, arguments: &[Argument]) -> Result<Signature, BindError>;

    /// Computes `rows` values, at least one. Each argument is a column of `rows` rows, or one value for all of them, and has
    /// the Arrow type of its SQL type. The value of a row depends on the arguments of that row alone. An argument may be
    /// NULL; the function decides what it gives then.
    ///
    /// # Errors
    /// The reason why a row has no value, which fails the query.
    fn call(&self, arguments: &[ColumnarValue], rows: usize) -> Result<ArrayRef, FunctionError>;

    /// Returns whether the function gives equal values for equal arguments. One that does not follows the rules of RAND():
    /// no operator stores its values if rows change. A deterministic call of constants is made once for a batch.
    fn is_deterministic(&self) -> bool {
        true
    }
}

impl UserFunction {
    /// Binds the function to the types of its arguments as a scalar function. Returns `None` if it is none.
    ///
    /// # Errors
    /// The reason why the function does not take the arguments.
    pub fn bind_scalar(&self, given: &[Argument]) -> Option<Result<Bound, BindError>> {
        let Implementation::Scalar(function) = &self.implementation else { return None };
        let bound = signed(given, || function.signature(given)).map(|signature| {
            let Signature { arguments, result, is_nullable } = signature;
            let call = ScalarCall {
                name: Arc::clone(&self.name),
                function: Arc::clone(function),
                result: result.clone(),
                is_nullable,
                is_deterministic: self.is_deterministic(),
            };
            Bound { arguments, result, is_nullable, kernel: Arc::new(call) }
        });
        Some(bound)
    }
}

/// Kernel of a call of a scalar function.
struct ScalarCall {
    name: Arc<str>,
    function: Arc<dyn ScalarFunction>,
    result: SqlType,
    is_nullable: bool,
    is_deterministic: bool,
}

impl Kernel for ScalarCall {
    fn evaluate(&self, arguments: &[ColumnarValue], rows: usize) -> Result<ColumnarValue, EvaluationError> {
        if rows == 0 {
            return Ok(ColumnarValue::Array(new_empty_array(&self.result.arrow())));
        }
        let is_constant = self.is_deterministic
            && arguments.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { rows };
        let values = called(&self.name, || self.function.call(arguments, rows))?;
        let values = checked(&self.name, values, rows, (&self.result, self.is_nullable))?;
        if !is_constant {
            return Ok(ColumnarValue::Array(values));
        }
        ScalarValue::try_from_array(&values, 0)
            .map(ColumnarValue::Scalar)
            .map_err(|error| EvaluationError { code: "EVALUATION", message: error.to_string() })
    }
}
