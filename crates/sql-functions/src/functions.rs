//! Functions of SQL: each with its name, its binding to argument types, and a kernel over columns.
//!
//! A function is *bound* once, when a query is planned. Binding reads the types of the arguments and the values of
//! literals, refuses what Flink refuses, and returns the type of the result and a kernel. Workers share the kernel,
//! which runs over whole columns. Each function does what Flink's documentation says ("System (Built-in) Functions",
//! "Data Types"). Differences are named at the function and in the manual's table of differences.
//!
//! All kernels keep these rules:
//!
//! * K1. The result has the Arrow type of [`Bound::result`]. It has as many rows as were asked for, or is a scalar.
//! * K2. The result of a row depends on the arguments of that row only, and NULL in any argument gives NULL unless
//!   the function says otherwise. Values in slots which are NULL are never read, so they cannot cause an error.
//! * K3. No value causes a panic. Integers wrap, as in Java; decimals which do not fit are NULL. A row without a
//!   result (a division by zero, a cast of text to a number which it does not hold) is an [`EvaluationError`].

pub mod arithmetic;
#[cfg(test)]
mod bed;
pub mod cast;
pub mod collections;
pub mod compare;
pub mod conditional;
pub mod decimal;
pub mod each;
#[cfg(test)]
mod extremes;
#[cfg(test)]
mod hostile;
pub mod math;
pub mod over;
#[cfg(test)]
mod references;
pub mod rows;
pub mod session;
pub mod text;
pub mod time;

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use chrono_tz::Tz;
use thalweg_model::Clock;

use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

/// An argument of a function call as the function sees it when it is bound.
#[derive(Clone, Debug)]
pub struct Argument {
    /// SQL type of the argument.
    pub of: SqlType,
    /// True if the argument of the function call may be NULL.
    pub is_nullable: bool,
    /// Value of the argument of the function call, if it is a literal.
    pub literal: Option<ScalarValue>,
}

impl Argument {
    /// Returns the text of the argument if it is a literal; `None` if it is not a literal, not text or NULL.
    pub fn text(&self) -> Option<&str> {
        match &self.literal {
            Some(ScalarValue::Utf8(Some(text))) => Some(text),
            _ => None,
        }
    }
}

/// Parts of a session that functions may use when they are bound.
#[derive(Clone)]
pub struct Context {
    /// Time zone of the session (`table.local-time-zone`), in which instants are shown and read.
    pub zone: Tz,
    /// Clock from which functions such as NOW() read the processing time.
    pub clock: Arc<dyn Clock>,
}

/// An SQL function bound to the types of its arguments.
#[derive(Clone)]
pub struct Bound {
    /// Types to which the arguments are cast before the kernel sees them, one type per argument.
    pub arguments: Vec<SqlType>,
    /// SQL type of the function's result.
    pub result: SqlType,
    /// True if the function's result may be NULL.
    pub is_nullable: bool,
    /// Kernel that computes the function over columns.
    pub kernel: Arc<dyn Kernel>,
}

/// Implementation of an SQL function: a computation over whole columns.
pub trait Kernel: Send + Sync {
    /// Computes the results of `rows` rows. Arguments are columns of `rows` rows, or scalars.
    ///
    /// # Errors
    /// [`EvaluationError`] if some row has no result.
    fn evaluate(&self, arguments: &[ColumnarValue], rows: usize) -> Result<ColumnarValue, EvaluationError>;
}

impl<F> Kernel for F
where
    F: Fn(&[ColumnarValue], usize) -> Result<ColumnarValue, EvaluationError> + Send + Sync,
{
    fn evaluate(&self, arguments: &[ColumnarValue], rows: usize) -> Result<ColumnarValue, EvaluationError> {
        self(arguments, rows)
    }
}

/// One scalar function of SQL with all of its overloads.
pub struct Function {
    /// Name of the function as written in SQL, in upper case.
    pub name: &'static str,
    /// Form of a call of the function, for messages: `SUBSTRING(text, start [, length])`.
    pub usage: &'static str,
    /// True if the function gives equal results for equal arguments; then a call of literals may be computed
    /// when the query is planned.
    pub is_deterministic: bool,
    /// Binds the function to the types of its arguments.
    pub bind: fn(&[Argument], &Context) -> Result<Bound, BindError>,
}

/// Functions are equal if their names are, because no two functions have one name.
impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// End of the message for a call with a wrong number of arguments.
const COUNT_DOES_NOT_FIT: &str = "arguments do not fit";

/// Reason why a function does not take its arguments. Callers that show the reason add the function's name
/// and usage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BindError(pub String);

impl BindError {
    /// Creates an error from a reason in lower case without a full stop.
    pub fn new(reason: impl Into<String>) -> Self {
        BindError(reason.into())
    }

    /// Creates the error for a call with a wrong number of arguments.
    pub fn count(given: usize) -> Self {
        BindError(format!("{given} {COUNT_DOES_NOT_FIT}"))
    }

    /// Returns whether the error is about the number of arguments.
    pub fn is_about_count(&self) -> bool {
        self.0.ends_with(COUNT_DOES_NOT_FIT)
    }

    /// Creates the error that an argument has a wrong type; `place` counts arguments from 1 on.
    pub fn of_type(place: usize, given: &SqlType) -> Self {
        BindError(format!("argument {place} is {given}"))
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reason why an expression has no result for a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EvaluationError {
    /// Stable code of the error, such as `DIVISION_BY_ZERO`.
    pub code: &'static str,
    /// Message of the error, which shows the value.
    pub message: String,
}

impl EvaluationError {
    /// Creates the error for a division by zero.
    pub fn division_by_zero() -> Self {
        EvaluationError { code: "DIVISION_BY_ZERO", message: "division by zero".to_owned() }
    }

    /// Creates the error for a value that cannot be cast to a type.
    pub fn cast(value: &dyn fmt::Display, to: &SqlType) -> Self {
        EvaluationError {
            code: "BAD_CAST",
            message: format!("'{value}' cannot be cast to {to}: TRY_CAST gives NULL instead"),
        }
    }
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EvaluationError {}

/// Returns a function's argument as a column of `rows` rows; a scalar is repeated.
///
/// # Errors
/// [`EvaluationError`] if a scalar cannot be repeated `rows` times.
pub fn column(argument: &ColumnarValue, rows: usize) -> Result<ArrayRef, EvaluationError> {
    if let ColumnarValue::Scalar(value) = argument {
        // A long text that is repeated for each row may need more than the available memory, so its size is
        // checked first.
        let bytes = value.size().saturating_mul(rows);
        if bytes > crate::scratch::UNCHECKED_BYTES_MAX {
            crate::scratch::check(bytes)?;
        }
    }
    argument
        .to_array(rows)
        .map_err(|error| EvaluationError { code: "EVALUATION", message: error.to_string() })
}

/// Iterates over all scalar functions of SQL.
pub fn all() -> impl Iterator<Item = &'static Function> {
    let of_values = [math::MATH, conditional::CONDITIONAL, text::TEXT, time::TIME];
    let of_parts = [collections::COLLECTIONS, rows::ROWS, session::SESSION];
    of_values.into_iter().chain(of_parts).flatten()
}

/// Looks up a scalar function by its name in upper case.
pub fn function(name: &str) -> Option<&'static Function> {
    all().find(|function| function.name == name)
}
