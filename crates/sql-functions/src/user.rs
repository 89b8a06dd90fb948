//! User functions: functions of SQL that a program writes in Rust and registers under a name.
//!
//! | trait | what it computes | where SQL calls it |
//! |---|---|---|
//! | [`ScalarFunction`] | one value for each row | in every expression |
//! | [`AggregateFunction`] | one value for the rows of each group | with GROUP BY, in windows, with OVER |
//! | [`TableFunction`] | any number of rows for each row | in FROM, behind LATERAL or within TABLE |
//!
//! A function is bound when a query is planned: its signature reads the types of the arguments and tells the types to which
//! they are widened and the type of the result. Workers share the function, and call it for whole batches.
//!
//! * U1. A panic, a wrong length, a wrong type or NULL where NOT NULL was promised fails the query. The error has the code
//!   [`USER_FUNCTION`] and names the function. No other value of a function harms the engine.
//! * U2. A call that does not return is reported by the [`Watch`] of its query. The engine cannot end such a call.
//! * U3. A function may be called again for a row: rows whose results do not fit into memory together are computed a few at
//!   a time, from the beginning.
//! * U4. No function is called while a query is planned; only its signature is. Its nature, such as whether it is
//!   deterministic, is asked once, when it is registered.

mod aggregate;
mod scalar;
mod table;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Decimal128Type;

pub use aggregate::{AggregateFunction, GroupState, same_state};
pub use scalar::ScalarFunction;
pub use table::{RowColumn, Rows, TableFunction, TableSignature};
use watch::watched;
pub use watch::{OVERDUE_NS, Watch};

use crate::functions::{Argument, BindError, EvaluationError};
use crate::panics::{caught, message_of};
use crate::types::{DECIMAL_PRECISION_MAX, SqlType, relabelled};

/// Code of the errors of user functions.
pub const USER_FUNCTION: &str = "USER_FUNCTION";

/// Greatest number of user functions of a session.
pub const FUNCTIONS_MAX: usize = 10_000;

/// Greatest nesting of a type that a user function returns.
const DEPTH_MAX: usize = 32;

/// Types of a function's arguments and result, for one call in SQL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// Types to which the arguments are widened, one for each argument. Flink's implicit casts are made; a call that needs
    /// others is refused.
    pub arguments: Vec<SqlType>,
    /// Type of the result.
    pub result: SqlType,
    /// Whether the result may be NULL.
    pub is_nullable: bool,
}

impl Signature {
    /// Returns the signature of a call whose arguments have given types and whose result may be NULL.
    pub fn new(arguments: impl Into<Vec<SqlType>>, result: SqlType) -> Self {
        Signature { arguments: arguments.into(), result, is_nullable: true }
    }

    /// Returns this signature with a result that is never NULL.
    #[must_use]
    pub fn not_null(self) -> Self {
        Signature { is_nullable: false, ..self }
    }
}

/// Reason why a user function has no result. The error of the query names the function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionError(String);

impl FunctionError {
    /// Creates an error from a reason in lower case without a full stop.
    pub fn new(reason: impl Into<String>) -> Self {
        FunctionError(reason.into())
    }
}

impl fmt::Display for FunctionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FunctionError {}

impl From<arrow::error::ArrowError> for FunctionError {
    fn from(error: arrow::error::ArrowError) -> Self {
        FunctionError(error.to_string())
    }
}

/// Implementation of a user function, by the kind of the function.
#[derive(Clone)]
pub enum Implementation {
    /// A function with one value for each row.
    Scalar(Arc<dyn ScalarFunction>),
    /// A function with any number of rows for each row.
    Table(Arc<dyn TableFunction>),
    /// A function with one value for the rows of each group.
    Aggregate(Arc<dyn AggregateFunction>),
}

impl Implementation {
    /// Asks the implementation for its nature.
    ///
    /// # Errors
    /// A reason in lower case if it panics.
    fn nature(&self) -> Result<Nature, String> {
        let asked = || match self {
            Implementation::Scalar(function) => {
                Nature { is_deterministic: function.is_deterministic(), ..Nature::default() }
            }
            Implementation::Table(function) => {
                Nature { is_deterministic: function.is_deterministic(), ..Nature::default() }
            }
            // An aggregate has one value for the rows of a group.
            Implementation::Aggregate(function) => Nature {
                is_deterministic: true,
                can_retract: function.can_retract(),
                is_ordered: function.is_ordered(),
            },
        };
        caught(asked).map_err(|payload| format!("telling its nature panicked: {}", message_of(payload)))
    }

    /// Returns the address of the implementation, which no other one has as long as this one lives.
    fn address(&self) -> *const () {
        match self {
            Implementation::Scalar(function) => Arc::as_ptr(function).cast(),
            Implementation::Table(function) => Arc::as_ptr(function).cast(),
            Implementation::Aggregate(function) => Arc::as_ptr(function).cast(),
        }
    }
}

/// Nature of a user function, which holds for all of its calls. It is asked once, when the function is registered.
#[derive(Clone, Copy, Default, Debug)]
struct Nature {
    is_deterministic: bool,
    can_retract: bool,
    is_ordered: bool,
}

/// A user function with its name.
#[derive(Clone)]
pub struct UserFunction {
    name: Arc<str>,
    implementation: Implementation,
    nature: Nature,
}

impl UserFunction {
    /// Returns the name in upper case, under which SQL finds the function in any case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether calls with equal arguments give equal values or rows.
    pub fn is_deterministic(&self) -> bool {
        self.nature.is_deterministic
    }

    /// Returns whether the function is an aggregate whose value depends on the order of rows.
    pub fn is_ordered(&self) -> bool {
        self.nature.is_ordered
    }

    /// Returns whether the function is an aggregate.
    pub fn is_aggregate(&self) -> bool {
        matches!(self.implementation, Implementation::Aggregate(_))
    }

    /// Returns the implementation.
    pub fn implementation(&self) -> &Implementation {
        &self.implementation
    }
}

/// Functions are equal if they have one name and one implementation.
impl PartialEq for UserFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.implementation.address() == other.implementation.address()
    }
}

impl fmt::Debug for UserFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The user functions of a session, by name.
#[derive(Clone, Default, Debug)]
pub struct Functions(BTreeMap<Arc<str>, UserFunction>);

impl Functions {
    /// Returns the aggregate function of a name in upper case.
    pub fn aggregate(&self, name: &str) -> Option<&UserFunction> {
        self.get(name).filter(|function| function.is_aggregate())
    }

    /// Returns the function of a name in upper case.
    pub fn get(&self, name: &str) -> Option<&UserFunction> {
        self.0.get(name)
    }

    /// Returns the names of all functions in upper case, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|name| &**name)
    }

    /// Removes the function of a name in upper case. Returns whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        self.0.remove(name).is_some()
    }

    /// Adds a function.
    ///
    /// # Errors
    /// A reason in lower case if a function has the name already, if there are [`FUNCTIONS_MAX`] functions, or if the
    /// function panics when it is asked for its nature.
    pub fn add(&mut self, name: &str, implementation: Implementation) -> Result<(), String> {
        let name: Arc<str> = name.to_uppercase().into();
        if self.0.contains_key(&name) {
            return Err(format!("there is a user function {name} already"));
        }
        if self.0.len() >= FUNCTIONS_MAX {
            return Err(format!("a session has at most {FUNCTIONS_MAX} user functions"));
        }
        let nature =
            implementation.nature().map_err(|reason| format!("the user function {name}: {reason}"))?;
        self.0.insert(Arc::clone(&name), UserFunction { name, implementation, nature });
        Ok(())
    }
}

/// Calls a user function. `run` is the call.
///
/// # Errors
/// [`USER_FUNCTION`] if the function fails or panics.
fn called<T>(name: &Arc<str>, run: impl FnOnce() -> Result<T, FunctionError>) -> Result<T, EvaluationError> {
    watched(name, || guarded(name, run))
}

/// Calls a user function as [`called`] does, within a call of [`watched`].
fn guarded<T>(name: &str, run: impl FnOnce() -> Result<T, FunctionError>) -> Result<T, EvaluationError> {
    match caught(run) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(FunctionError(reason))) => Err(wrong(name, &format!("failed: {reason}"))),
        Err(payload) => Err(wrong(name, &format!("panicked: {}", message_of(payload)))),
    }
}

/// Asks a user function for the signature of a call.
///
/// # Errors
/// The reason of the function, or what is wrong with its signature.
fn signed(
    arguments: &[Argument],
    signature: impl FnOnce() -> Result<Signature, BindError>,
) -> Result<Signature, BindError> {
    let signature = caught(signature)
        .map_err(|payload| BindError::new(format!("its signature panicked: {}", message_of(payload))))??;
    if signature.arguments.len() != arguments.len() {
        let (told, given) = (signature.arguments.len(), arguments.len());
        return Err(BindError::new(format!("its signature has {told} arguments, and the call has {given}")));
    }
    if signature.arguments.iter().any(|of| !is_sound(of, true)) {
        return Err(BindError::new("its signature has an argument of a type that does not exist"));
    }
    if !is_sound(&signature.result, false) {
        let message =
            format!("its signature has the result {}, which is the type of no column", signature.result);
        return Err(BindError::new(message));
    }
    Ok(signature)
}

/// Returns whether a column can have a type. The untyped NULL stands for any argument if `may_be_null`.
fn is_sound(of: &SqlType, may_be_null: bool) -> bool {
    if of.depth() > DEPTH_MAX {
        return false;
    }
    match of {
        SqlType::Null => may_be_null,
        SqlType::Decimal { precision, scale } => {
            (1..=DECIMAL_PRECISION_MAX).contains(precision) && scale <= precision
        }
        SqlType::Time(digits) | SqlType::Timestamp(digits) | SqlType::TimestampLtz(digits) => *digits <= 9,
        SqlType::Array(item) => is_sound(item, false),
        SqlType::Map(key, value) => is_sound(key, false) && is_sound(value, false),
        SqlType::Row(fields) => !fields.is_empty() && fields.iter().all(|(_, of)| is_sound(of, false)),
        _ => true,
    }
}

/// Checks the values that a user function has returned against what it has promised, and returns them with the Arrow type of
/// the promised SQL type.
fn checked(
    name: &str,
    values: ArrayRef,
    rows: usize,
    promised: (&SqlType, bool),
) -> Result<ArrayRef, EvaluationError> {
    checked_column(name, "", values, rows, promised)
}

/// Checks a column as [`checked`] does. `what` is put into messages before the values.
fn checked_column(
    name: &str,
    what: &str,
    values: ArrayRef,
    rows: usize,
    (of, is_nullable): (&SqlType, bool),
) -> Result<ArrayRef, EvaluationError> {
    if values.len() != rows {
        return Err(wrong(name, &format!("returned {what}{} values for {rows} rows", values.len())));
    }
    let arrow = of.arrow();
    // Names and metadata of the fields of nested types differ between builders of Arrow.
    let values = relabelled(values, &arrow).map_err(|error| wrong(name, &format!("failed: {error}")))?;
    if *values.data_type() != arrow {
        let message = format!("returned {what}{}, and promised {of}, which is {arrow}", values.data_type());
        return Err(wrong(name, &message));
    }
    if !is_nullable && values.logical_null_count() > 0 {
        return Err(wrong(name, &format!("returned {what}NULL, and promised {of} NOT NULL")));
    }
    if let (SqlType::Decimal { precision, .. }, Some(decimals)) =
        (of, values.as_primitive_opt::<Decimal128Type>())
        && let Err(error) = decimals.validate_decimal_precision(*precision)
    {
        return Err(wrong(name, &format!("returned {what}a value that is no {of}: {error}")));
    }
    Ok(values)
}

fn wrong(name: &str, what: &str) -> EvaluationError {
    EvaluationError { code: USER_FUNCTION, message: format!("the user function {name} {what}") }
}
