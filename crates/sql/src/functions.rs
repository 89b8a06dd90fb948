//! Functions of SQL: each with its name, how it is bound to the types of its arguments, and a kernel over columns.
//!
//! A function is *bound* once, when a query is planned: it looks at the types of its arguments and at those that are
//! literals, refuses what Flink refuses, and answers with the type of its result and a kernel. The kernel then runs over
//! whole columns, shared by workers. What each function promises is what Flink's documentation says ("System (Built-in)
//! Functions", "Data Types"); where we differ it is said at the function, and in the manual's table of differences.
//!
//! Rules that every kernel keeps:
//!
//! * K1. Its result has the Arrow type of [`Bound::result`], and as many rows as it was asked for, or is a scalar.
//! * K2. A row's result depends on that row's arguments only, and NULL in any argument gives NULL unless the function says
//!   otherwise. Values in slots that are NULL are never looked at: they must not make it fail.
//! * K3. It does not panic, whatever the values: integers wrap, as in Java, decimals that do not fit are NULL, and what has
//!   no result at all (a division by zero, a cast of text that is no number) is an [`EvaluationError`].

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
pub mod text;
pub mod time;

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use chrono_tz::Tz;
use datafusion_common::ScalarValue;
use datafusion_expr::ColumnarValue;
use thalweg_model::Clock;

use crate::types::SqlType;

/// What a function is told about one of its arguments.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its type.
    pub of: SqlType,
    /// Whether it may be NULL.
    pub is_nullable: bool,
    /// Its value, if it is a literal.
    pub literal: Option<ScalarValue>,
}

impl Argument {
    /// The text of a literal; none if it is no literal, no text or NULL.
    pub fn text(&self) -> Option<&str> {
        match &self.literal {
            Some(ScalarValue::Utf8(Some(text))) => Some(text),
            _ => None,
        }
    }
}

/// What functions may know of the query that they are bound in.
#[derive(Clone)]
pub struct Context {
    /// The zone of the session (`table.local-time-zone`), in which instants are shown and read.
    pub zone: Tz,
    /// Tells the processing time to those who ask for it.
    pub clock: Arc<dyn Clock>,
}

/// A function that knows the types of its arguments.
#[derive(Clone)]
pub struct Bound {
    /// The types that the arguments are to be cast to before the kernel sees them, one for each.
    pub arguments: Vec<SqlType>,
    /// The type of the result.
    pub result: SqlType,
    /// Whether the result may be NULL.
    pub is_nullable: bool,
    /// What computes it.
    pub kernel: Arc<dyn Kernel>,
}

/// Computes a function over columns.
pub trait Kernel: Send + Sync {
    /// The results of `rows` rows. Arguments are columns of so many rows, or scalars.
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

/// One function: all of its overloads.
pub struct Function {
    /// As it is written in SQL, in upper case.
    pub name: &'static str,
    /// How it is called, for messages: `SUBSTRING(text, start [, length])`.
    pub usage: &'static str,
    /// Whether it gives the same for the same arguments, so that it may be computed when the query is planned.
    pub is_deterministic: bool,
    /// Binds it to arguments.
    pub bind: fn(&[Argument], &Context) -> Result<Bound, BindError>,
}

/// How a wrong number of arguments is told.
const COUNT_DOES_NOT_FIT: &str = "arguments do not fit";

/// Why a function does not take such arguments; the function's name and usage are added by whoever shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BindError(pub String);

impl BindError {
    /// For a reason, in lower case without a full stop.
    pub fn new(reason: impl Into<String>) -> Self {
        BindError(reason.into())
    }

    /// The function takes another number of arguments.
    pub fn count(given: usize) -> Self {
        BindError(format!("{given} {COUNT_DOES_NOT_FIT}"))
    }

    /// Whether it is the number of arguments that is wrong.
    pub fn is_about_count(&self) -> bool {
        self.0.ends_with(COUNT_DOES_NOT_FIT)
    }

    /// The argument at `place`, from 1 on, is of a type that does not fit.
    pub fn of_type(place: usize, given: &SqlType) -> Self {
        BindError(format!("argument {place} is {given}"))
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a row has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EvaluationError {
    /// The stable code, such as `DIVISION_BY_ZERO`.
    pub code: &'static str,
    /// What is wrong, with the value.
    pub message: String,
}

impl EvaluationError {
    /// Division by zero.
    pub fn division_by_zero() -> Self {
        EvaluationError { code: "DIVISION_BY_ZERO", message: "division by zero".to_owned() }
    }

    /// A value that cannot be cast.
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

/// An argument as a column of `rows` rows.
///
/// # Errors
/// [`EvaluationError`] if a scalar cannot be repeated so often.
pub fn column(argument: &ColumnarValue, rows: usize) -> Result<ArrayRef, EvaluationError> {
    if let ColumnarValue::Scalar(value) = argument {
        // A long text that is repeated for each row may be longer than memory.
        let bytes = value.size().saturating_mul(rows);
        if bytes > crate::batch::BATCH_BYTES_MAX {
            crate::scratch::check(bytes)?;
        }
    }
    argument
        .to_array(rows)
        .map_err(|error| EvaluationError { code: "EVALUATION", message: error.to_string() })
}

/// All functions that there are.
pub fn all() -> impl Iterator<Item = &'static Function> {
    [math::MATH, conditional::CONDITIONAL, text::TEXT, time::TIME, collections::COLLECTIONS, rows::ROWS]
        .into_iter()
        .flatten()
}
