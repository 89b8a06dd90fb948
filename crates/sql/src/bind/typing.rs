//! Typed expressions by Flink's rules: which function a call is, to which types its arguments are cast, and what a call
//! of literals is.
//!
//! A call with literal arguments is computed at once. If that fails, it is computed for the rows that need it, and
//! fails there.
//!
//! Sources: Flink's documentation, "Data Types" (implicit casts) and "System (Built-in) Functions";
//! `LogicalTypeMerging` for common types.

use std::cell::Cell;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Schema};
use sqlparser::ast::{DataType as AstType, IntervalFields};
use thalweg_sql_functions::expression::{Call, Expression, State, Typed};
use thalweg_sql_functions::functions::arithmetic::{self, ArithmeticOp};
use thalweg_sql_functions::functions::compare::members::bind_members;
use thalweg_sql_functions::functions::compare::{self, ComparisonOp};
use thalweg_sql_functions::functions::{self, Argument, BindError, Bound, Context, cast};
use thalweg_sql_functions::scratch;
use thalweg_sql_functions::types::{SqlType, common_type};
use thalweg_sql_functions::user::{RowColumn, UserFunction};
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, SqlError};

/// Makes typed expressions for one query.
pub(super) struct Typing<'a> {
    pub(super) context: &'a Context,
    /// Number of expressions that were copied in this query, at most [`COPIES_MAX`].
    copies: Cell<usize>,
}

/// Greatest number of expressions that are copied in one query. IN, BETWEEN and CASE compare one value with several
/// others, and the value is copied for each comparison. A value that contains such a form is as large as all its
/// copies, so without a bound a short text would make a tree that no memory holds. The bound allows a column to be
/// compared with as many values as one statement may have words.
const COPIES_MAX: usize = 200_000;

/// Number of literals in an IN list from which on a value is looked up among them.
const LOOKED_UP_MIN: usize = 4;

type Result<T> = std::result::Result<T, SqlError>;

impl<'a> Typing<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Typing { context, copies: Cell::new(0) }
    }

    /// Counts the expressions in `times` copies of a value.
    ///
    /// # Errors
    /// [`Code::Unsupported`] if the query has more than [`COPIES_MAX`] copied expressions.
    pub(super) fn copies(&self, value: &Typed, times: usize) -> Result<()> {
        let mut nodes = 0_usize;
        value.visit(&mut |typed| {
            // A look-up among literals (IN) is shown with all of them, so a long one counts for several expressions.
            nodes += match &typed.expression {
                Expression::Call { call: call @ Call::In(_), .. } => 1 + call.to_string().len() / 16,
                _ => 1,
            }
        });
        self.copies.set(self.copies.get().saturating_add(nodes.saturating_mul(times)));
        if self.copies.get() > COPIES_MAX {
            let message = format!(
                "IN, BETWEEN and CASE compare expressions with so many others that the query has more than {COPIES_MAX}"
            );
            return Err(
                SqlError::new(Code::Unsupported, message).help("compute what is compared in a sub-query")
            );
        }
        Ok(())
    }

    /// Returns the value if it is a condition, which is a BOOLEAN or NULL.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] for another type.
    pub(super) fn condition(&self, value: Typed) -> Result<Typed> {
        match value.of {
            SqlType::Boolean | SqlType::Null => Ok(value),
            other => {
                let message = format!("a condition is a BOOLEAN, and this is {other}");
                Err(SqlError::new(Code::TypeMismatch, message))
            }
        }
    }

    /// Returns the comparison of two values.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] if they cannot be compared.
    pub(super) fn compare(&self, op: ComparisonOp, left: Typed, right: Typed) -> Result<Typed> {
        let bound = compare::bind_comparison(op, &argument(&left), &argument(&right), self.context)
            .map_err(|BindError(reason)| SqlError::new(Code::TypeMismatch, reason))?;
        self.call(Call::Compare(op), bound, vec![left, right], true, true)
    }

    /// Returns the result of an arithmetic operator.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] for types that it does not take.
    pub(super) fn arithmetic(&self, op: ArithmeticOp, left: Typed, right: Typed) -> Result<Typed> {
        let bound = arithmetic::bind_arithmetic(op, &argument(&left), &argument(&right))
            .map_err(|error| refused(&op.to_string(), error))?;
        let is_division = matches!(op, ArithmeticOp::Divide | ArithmeticOp::Modulo);
        self.call(Call::Arithmetic(op), bound, vec![left, right], !is_division, true)
    }

    /// Returns a value with the opposite sign.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] for values without a sign.
    pub(super) fn negate(&self, inner: Typed) -> Result<Typed> {
        let bound = arithmetic::bind_negate(&argument(&inner))
            .map_err(|_| SqlError::new(Code::TypeMismatch, "- takes numbers and intervals"))?;
        self.call(Call::Negate, bound, vec![inner], false, true)
    }

    /// Returns `value BETWEEN low AND high`.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] if they cannot be compared, and as [`copies`](Self::copies).
    pub(super) fn between(&self, value: Typed, low: Typed, high: Typed) -> Result<Typed> {
        self.copies(&value, 1)?;
        let above = self.compare(ComparisonOp::GtEq, value.clone(), low)?;
        let below = self.compare(ComparisonOp::LtEq, value, high)?;
        Ok(boolean(Expression::And(vec![above, below])))
    }

    /// Returns a CASE, whose values are cast to their common type.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] if there is none.
    pub(super) fn case(&self, branches: Vec<(Typed, Typed)>, otherwise: Option<Typed>) -> Result<Typed> {
        let otherwise = otherwise.unwrap_or_else(|| Typed::literal(ScalarValue::Null, SqlType::Null));
        let values = || branches.iter().map(|(_, value)| value).chain([&otherwise]);
        let of = values().try_fold(SqlType::Null, |so_far, value| {
            common_type(&so_far, &value.of).ok_or_else(|| {
                let message =
                    format!("the values of CASE are {so_far} and {}, which have no common type", value.of);
                SqlError::new(Code::TypeMismatch, message).help("cast them to one type")
            })
        })?;
        let is_nullable = values().any(|value| value.is_nullable);
        let branches = branches
            .into_iter()
            .map(|(condition, value)| Ok((condition, self.widen(value, &of)?)))
            .collect::<Result<_>>()?;
        let otherwise = Box::new(self.widen(otherwise, &of)?);
        Ok(Typed { expression: Expression::Case { branches, otherwise }, of, is_nullable })
    }

    /// Returns a value cast to a type, as by CAST, or by TRY_CAST if `is_try`.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] if there is no such cast.
    pub(super) fn cast_to(&self, value: Typed, to: &SqlType, is_try: bool) -> Result<Typed> {
        if value.of == *to {
            return Ok(value);
        }
        let bound = cast::bind_cast(&value.of, value.is_nullable, to, is_try, self.context)
            .map_err(|BindError(reason)| SqlError::new(Code::TypeMismatch, reason))?;
        // TRY_CAST gives NULL where a cast fails, and implicit casts have a result for every value.
        let is_total = is_try || cast::implicit(&value.of, to);
        self.call(Call::Cast { to: to.clone(), is_try }, bound, vec![value], is_total, true)
    }

    /// Prepares a value for a cast to a type that may be an interval: a whole number becomes the type that counts the
    /// milliseconds or months of the interval.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] for a number as an interval of several units, such as DAY TO HOUR.
    pub(super) fn counted(&self, value: Typed, to: &AstType, is_try: bool) -> Result<Typed> {
        let AstType::Interval { fields, .. } = to else { return Ok(value) };
        match fields {
            _ if !value.of.is_integer() => Ok(value),
            Some(IntervalFields::Month) => self.cast_to(value, &SqlType::Int, is_try),
            Some(IntervalFields::Second) => self.cast_to(value, &SqlType::BigInt, is_try),
            _ => {
                let message = format!("{} is not cast to an interval of several units", value.of);
                Err(SqlError::new(Code::TypeMismatch, message).help("name one unit, such as INTERVAL SECOND"))
            }
        }
    }

    /// Returns a value cast to a type, if Flink makes this cast without CAST.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] if it does not.
    pub(super) fn widen(&self, value: Typed, to: &SqlType) -> Result<Typed> {
        if value.of == *to || (value.of.is_text() && to.is_text()) || (value.of.is_bytes() && to.is_bytes()) {
            // Flink does not enforce the lengths of text and bytes by default, so the value stays unchanged.
            return Ok(Typed { of: to.clone(), ..value });
        }
        if value.of != SqlType::Null && !cast::implicit(&value.of, to) {
            let message = format!("{} is not cast to {to} without being asked", value.of);
            return Err(SqlError::new(Code::TypeMismatch, message).help(format!("write CAST(.. AS {to})")));
        }
        self.cast_to(value, to, false)
    }

    /// Returns a call of the function whose name, in upper case, is `name`.
    ///
    /// # Errors
    /// [`Code::UnknownFunction`] if there is none, [`Code::Invalid`] and [`Code::TypeMismatch`] for arguments that it
    /// does not take.
    pub(super) fn named_function(&self, name: &str, arguments: Vec<Typed>) -> Result<Typed> {
        let function = functions::function(name)
            .ok_or_else(|| SqlError::new(Code::UnknownFunction, format!("there is no function {name}")))?;
        let given: Vec<Argument> = arguments.iter().map(argument).collect();
        let bound = (function.bind)(&given, self.context).map_err(|error| {
            let code = if error.is_about_count() { Code::Invalid } else { Code::TypeMismatch };
            SqlError::new(code, format!("{name}: {error}")).help(format!("it is called {}", function.usage))
        })?;
        self.call(Call::Function(function), bound, arguments, false, function.is_deterministic)
    }

    /// Returns a call of a user function that is a scalar one. The call is never computed before the query runs.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] for arguments that it does not take, [`Code::Invalid`] for a function of another kind.
    pub(super) fn user_function(&self, function: &UserFunction, arguments: Vec<Typed>) -> Result<Typed> {
        let given: Vec<Argument> = arguments.iter().map(argument).collect();
        let Some(bound) = function.bind_scalar(&given) else {
            let name = function.name();
            if function.is_aggregate() {
                let message = format!("{name} is an aggregate, and stands where there are no groups");
                return Err(SqlError::new(Code::Invalid, message));
            }
            let error =
                SqlError::new(Code::Invalid, format!("{name} is a table function, and gives no value"));
            return Err(error.help(format!("write FROM t, LATERAL TABLE({name}(..)) AS x (..)")));
        };
        self.user_call(function, bound.map_err(|error| refused(function.name(), error))?, arguments)
    }

    /// Returns a call of a user function that is a table function, as an array of rows with these columns.
    ///
    /// # Errors
    /// As [`user_function`](Self::user_function).
    pub(super) fn table_function(
        &self,
        function: &UserFunction,
        arguments: Vec<Typed>,
    ) -> Result<(Typed, Vec<RowColumn>)> {
        let given: Vec<Argument> = arguments.iter().map(argument).collect();
        let Some(bound) = function.bind_table(&given) else {
            let name = function.name();
            let error = SqlError::new(Code::Invalid, format!("{name} is no table function"));
            return Err(error.help(format!("write SELECT {name}(..)")));
        };
        let (bound, columns) = bound.map_err(|error| refused(function.name(), error))?;
        Ok((self.user_call(function, bound, arguments)?, columns))
    }

    fn user_call(&self, function: &UserFunction, bound: Bound, arguments: Vec<Typed>) -> Result<Typed> {
        let arguments = self.widened(function, arguments, &bound.arguments)?;
        self.call(Call::User(function.clone()), bound, arguments, false, function.is_deterministic())
    }

    /// Returns the arguments of a user function cast to the types that it takes, if Flink makes these casts without CAST.
    pub(super) fn widened(
        &self,
        function: &UserFunction,
        given: Vec<Typed>,
        to: &[SqlType],
    ) -> Result<Vec<Typed>> {
        let widened = |(number, (value, to)): (usize, (Typed, &SqlType))| {
            let of = value.of.clone();
            let told = |error: SqlError| {
                let message = format!("{}: argument {number} is {of}, and {to} is taken", function.name());
                SqlError { message, ..error }
            };
            match to {
                SqlType::Null => {
                    let message =
                        format!("{}: argument {number} is NULL, which has no type", function.name());
                    Err(SqlError::new(Code::TypeMismatch, message).help("write CAST(NULL AS ..) with a type"))
                }
                to => self.widen(value, to).map_err(told),
            }
        };
        (1..).zip(given.into_iter().zip(to)).map(widened).collect()
    }

    /// Returns whether a value is one of others.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] if they cannot be compared, and as [`copies`](Self::copies).
    pub(super) fn one_of(&self, value: &Typed, others: Vec<Typed>) -> Result<Typed> {
        self.copies(value, others.len())?;
        let equal = |other| self.compare(ComparisonOp::Eq, value.clone(), other);
        let terms: Vec<Typed> = others.into_iter().map(equal).collect::<Result<_>>()?;
        Ok(boolean(Expression::Or(looked_up(terms))))
    }

    /// Returns a call of a kernel, with the arguments cast to the types that the kernel takes. If all arguments are
    /// literals and the function is deterministic, the call is computed at once.
    fn call(
        &self,
        call: Call,
        bound: Bound,
        arguments: Vec<Typed>,
        is_total: bool,
        is_deterministic: bool,
    ) -> Result<Typed> {
        let Bound { arguments: wanted, result, is_nullable, kernel } = bound;
        let arguments: Vec<Typed> = arguments
            .into_iter()
            .zip(&wanted)
            .map(|(value, to)| {
                let is_same = value.of.arrow() == to.arrow();
                if is_same { Ok(value) } else { self.cast_to(value, to, false) }
            })
            .collect::<Result<_>>()?;
        let is_known = is_deterministic && !matches!(call, Call::User(_));
        let is_literal = is_known && arguments.iter().all(|argument| argument.as_literal().is_some());
        let expression = Expression::Call { call, kernel, arguments, is_total, is_deterministic };
        let call = Typed { expression, of: result, is_nullable };
        Ok(if is_literal { folded(&call).unwrap_or(call) } else { call })
    }
}

/// Computes a call of literals to a literal; `None` if it fails, or if its result is too long to be kept in a plan.
fn folded(call: &Typed) -> Option<Typed> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let one_row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).ok()?;
    let value = scratch::folding(|| call.evaluate_column(&one_row)).ok()?;
    let value = ScalarValue::try_from_array(&value, 0).ok()?;
    Some(Typed::literal(value, call.of.clone()))
}

/// Returns an expression of type BOOLEAN. AND and OR may be NULL if one of their terms may be; all others may be
/// NULL.
pub(super) fn boolean(expression: Expression) -> Typed {
    let is_nullable = match &expression {
        Expression::And(terms) | Expression::Or(terms) => terms.iter().any(|term| term.is_nullable),
        _ => true,
    };
    Typed { expression, of: SqlType::Boolean, is_nullable }
}

/// Returns NOT of a condition.
pub(super) fn not(inner: Typed) -> Typed {
    let is_nullable = inner.is_nullable;
    Typed { is_nullable, ..boolean(Expression::Not(Box::new(inner))) }
}

/// Returns a test of a value such as IS NULL, which is never NULL itself.
pub(super) fn is(inner: Typed, state: State) -> Typed {
    Typed { is_nullable: false, ..boolean(Expression::Is(Box::new(inner), state)) }
}

/// Returns the AND of conditions; `None` if there are none.
pub(super) fn conjunction(mut terms: Vec<Typed>) -> Option<Typed> {
    match terms.len() {
        0 | 1 => terms.pop(),
        _ => Some(boolean(Expression::And(terms))),
    }
}

/// Returns a text as a literal of type CHAR, as text in quotes has it.
pub(super) fn text(value: impl Into<String>) -> Typed {
    let value = value.into();
    let length = u32::try_from(value.chars().count()).unwrap_or(u32::MAX);
    Typed::literal(ScalarValue::Utf8(Some(value)), SqlType::Char(length))
}

/// Returns the description of a value that functions get when they are bound: its type, whether it may be NULL, and
/// its value if it is a literal.
pub(super) fn argument(value: &Typed) -> Argument {
    Argument { of: value.of.clone(), is_nullable: value.is_nullable, literal: value.as_literal().cloned() }
}

fn refused(name: &str, BindError(reason): BindError) -> SqlError {
    SqlError::new(Code::TypeMismatch, format!("{name}: {reason}"))
}

/// Replaces comparisons of one value with many literals by look-ups, one for each type of literals. All terms compare
/// the same value, though it may be cast to several types: terms with equal types on their left side belong together.
fn looked_up(terms: Vec<Typed>) -> Vec<Typed> {
    let mut of_types: Vec<(DataType, Vec<Typed>)> = Vec::new();
    let mut rest = Vec::new();
    for term in terms {
        let Some((value, _)) = as_equal(&term) else {
            rest.push(term);
            continue;
        };
        let of = value.of.arrow();
        match of_types.iter_mut().find(|(known, _)| *known == of) {
            Some((_, alike)) => alike.push(term),
            None => of_types.push((of, vec![term])),
        }
    }
    let mut found = Vec::new();
    for (of, alike) in of_types {
        match look_up(&of, &alike) {
            Some(look_up) => found.push(look_up),
            None => found.extend(alike),
        }
    }
    found.extend(rest);
    found
}

/// Returns the look-up of a value among the literals with which the terms compare it; `None` if there are fewer than
/// [`LOOKED_UP_MIN`].
fn look_up(of: &DataType, alike: &[Typed]) -> Option<Typed> {
    let value = as_equal(alike.first()?)?.0;
    let literals: Vec<ScalarValue> =
        alike.iter().filter_map(|term| Some(as_equal(term)?.1.clone())).collect();
    // A value such as RAND() must be computed once for the whole list, so it is looked up even among few literals.
    if literals.len() < LOOKED_UP_MIN && value.is_deterministic() {
        return None;
    }
    let expression = Expression::Call {
        call: Call::In(literals.as_slice().into()),
        kernel: bind_members(of, literals)?,
        arguments: vec![value.clone()],
        is_total: true,
        is_deterministic: true,
    };
    Some(Typed { is_nullable: alike.iter().any(|term| term.is_nullable), ..boolean(expression) })
}

/// Returns both sides of `value = literal`; `None` for other terms.
fn as_equal(term: &Typed) -> Option<(&Typed, &ScalarValue)> {
    match &term.expression {
        Expression::Call { call: Call::Compare(ComparisonOp::Eq), arguments, .. } => match &arguments[..] {
            [value, literal] => Some((value, literal.as_literal()?)),
            _ => None,
        },
        _ => None,
    }
}
