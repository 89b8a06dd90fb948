//! Types of expressions: DataFusion's expressions, whose names are resolved, become [`Typed`] ones with Flink's types
//! and functions.
//!
//! This module decides which type a literal has, to which types both sides of a comparison are cast, and whether a
//! function takes its arguments. A call with literal arguments is computed at once. If that fails, it is computed for
//! the rows that need it, and fails there.
//!
//! Sources: Flink's documentation, "Data Types" (implicit casts) and "System (Built-in) Functions";
//! `LogicalTypeMerging` for common types.

use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{FieldRef, Int64Type, Schema};
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, Span};
use datafusion_expr::expr::{Between, BinaryExpr, Case, Cast, Like, ScalarFunction, TryCast};
use datafusion_expr::{Expr, Operator};
use std::cell::Cell;
use std::sync::Arc;
use thalweg_sql_exec::plan::{Column, Role};
use thalweg_sql_functions::aggregates::aggregate;
use thalweg_sql_functions::expression::{Call, Expression, State, Typed};
use thalweg_sql_functions::functions::arithmetic::{self, ArithmeticOp};
use thalweg_sql_functions::functions::compare::{self, ComparisonOp};
use thalweg_sql_functions::functions::{self, Argument, BindError, Bound, Context, cast};
use thalweg_sql_functions::scratch;
use thalweg_sql_functions::types::{SqlType, common_type};
use thalweg_sql_functions::values::{ColumnarValue, ScalarValue};
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::foreign::{Foreign, ours};
use super::said::said;
use crate::text::interval::{MILLIS, MONTHS};
use crate::text::plain::CELL;

/// Arithmetic operators by their signs. DataFusion's tree has a call of a function with that name for each of them.
pub(super) const ARITHMETIC: [(&str, ArithmeticOp); 5] = [
    ("+", ArithmeticOp::Add),
    ("-", ArithmeticOp::Subtract),
    ("*", ArithmeticOp::Multiply),
    ("/", ArithmeticOp::Divide),
    ("%", ArithmeticOp::Modulo),
];

/// Columns that an expression may read, and the names under which DataFusion's expressions refer to them.
pub(super) struct Scope<'a> {
    /// DataFusion's names of the columns, in the order of `columns`.
    pub(super) schema: &'a DFSchema,
    pub(super) columns: &'a [Column],
    /// Index after the column that was looked up last. The next column looked up is often there, and searching all
    /// columns each time would take long.
    next: Cell<usize>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(schema: &'a DFSchema, columns: &'a [Column]) -> Self {
        Scope { schema, columns, next: Cell::new(0) }
    }

    fn place(&self, column: &datafusion_common::Column) -> Option<usize> {
        let next = self.next.get();
        let is_next = next < self.schema.fields().len()
            && self.schema.field(next).name() == &column.name
            && self.schema.qualified_field(next).0 == column.relation.as_ref();
        let place = if is_next { next } else { self.schema.index_of_column(column).ok()? };
        self.next.set(place + 1);
        Some(place)
    }
}

/// Mark for an expression whose place in the text is unknown, because it has no columns. An error with this mark gets
/// no place from an enclosing expression either.
pub(super) const NOWHERE: Place = Place { line: 0, column: 0, width: 0 };

/// Converts a span of sqlparser to a place in the text; lines count from 1, and line 0 means unknown.
pub(super) fn place_of_span(span: &Span) -> Place {
    let is_one_line = span.end.line == span.start.line;
    let width = if is_one_line { span.end.column.saturating_sub(span.start.column) } else { 1 };
    Place {
        line: span.start.line as usize,
        column: span.start.column as usize,
        width: (width as usize).max(1),
    }
}

/// Returns the place in the text of an expression: that of the first column in it that has one.
pub(super) fn place_of(expression: &Expr) -> Option<Place> {
    let mut place = None;
    let _ = expression.apply(|inner| {
        if let Expr::Column(column) = inner
            && let Some(span) = column.spans.first()
            && span.start.line > 0
        {
            place = Some(place_of_span(&span));
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    place
}

/// Gives types to the expressions of one query.
pub(super) struct Expressions<'a> {
    context: &'a Context,
    /// Number of expressions that were copied in this query, at most [`COPIES_MAX`].
    copies: Cell<usize>,
}

/// Greatest number of expressions that are copied in one query. IN, BETWEEN and CASE compare one value with several
/// others, and the value is copied for each comparison. A value that contains such a form is as large as all its
/// copies, so without a bound a short text would make a tree that no memory holds. The bound allows a column to be
/// compared with as many values as one statement may have words.
const COPIES_MAX: usize = 200_000;

type Result<T> = std::result::Result<T, SqlError>;

impl<'a> Expressions<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Expressions { context, copies: Cell::new(0) }
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

    /// Returns an expression of DataFusion with types and functions of Flink.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] and others, at the place of the first column in the expression.
    pub(super) fn bind(&self, expression: &Expr, scope: &Scope<'_>) -> Result<Typed> {
        self.bind_inner(expression, scope).map_err(|error| error.at(place_of(expression).unwrap_or(NOWHERE)))
    }

    /// Returns a condition with types, as [`bind`](Self::bind) does, and checks that it is a BOOLEAN or NULL.
    ///
    /// # Errors
    /// Fails as [`bind`](Self::bind) does, and with [`Code::TypeMismatch`] for another type.
    pub(super) fn bind_condition(&self, expression: &Expr, scope: &Scope<'_>) -> Result<Typed> {
        let bound = self.bind(expression, scope)?;
        match bound.of {
            SqlType::Boolean | SqlType::Null => Ok(bound),
            other => {
                let message = format!("a condition is a BOOLEAN, and this is {other}");
                let place = place_of(expression).unwrap_or(NOWHERE);
                Err(SqlError::new(Code::TypeMismatch, message).at(place))
            }
        }
    }

    fn bind_inner(&self, expression: &Expr, scope: &Scope<'_>) -> Result<Typed> {
        match expression {
            Expr::Alias(alias) => self.bind(&alias.expr, scope),
            Expr::Column(column) => {
                let place = scope.place(column).ok_or_else(|| {
                    SqlError::new(Code::UnknownColumn, format!("there is no column `{}`", column.name))
                })?;
                let found = &scope.columns[place];
                Ok(Typed::column(place, found.of.clone(), found.is_nullable))
            }
            Expr::Literal(value, _) => literal(value),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => self.bind_binary(left, *op, right, scope),
            Expr::Not(inner) => self.not(self.bind_condition(inner, scope)?),
            Expr::IsNull(inner) => self.is(inner, State::Null, scope),
            Expr::IsNotNull(inner) => self.is(inner, State::NotNull, scope),
            Expr::IsTrue(inner) => self.is_boolean(inner, State::True, scope),
            Expr::IsNotTrue(inner) => self.is_boolean(inner, State::NotTrue, scope),
            Expr::IsFalse(inner) => self.is_boolean(inner, State::False, scope),
            Expr::IsNotFalse(inner) => self.is_boolean(inner, State::NotFalse, scope),
            Expr::IsUnknown(inner) => self.is_boolean(inner, State::Null, scope),
            Expr::IsNotUnknown(inner) => self.is_boolean(inner, State::NotNull, scope),
            Expr::Negative(inner) => {
                let inner = self.bind(inner, scope)?;
                let bound =
                    arithmetic::bind_negate(&argument(&inner)).map_err(|error| refused("-", error))?;
                self.call(Call::Negate, bound, vec![inner], false, true)
            }
            Expr::Between(Between { expr, negated, low, high }) => {
                let value = self.bind(expr, scope)?;
                self.copies(&value, 1)?;
                let (low, high) = (self.bind(low, scope)?, self.bind(high, scope)?);
                let above = self.compare(ComparisonOp::GtEq, value.clone(), low)?;
                let below = self.compare(ComparisonOp::LtEq, value, high)?;
                let within = boolean(Expression::And(vec![above, below]));
                if *negated { self.not(within) } else { Ok(within) }
            }
            Expr::Like(like) => self.like("LIKE", like, scope),
            Expr::SimilarTo(like) => self.like("SIMILAR", like, scope),
            Expr::InList(in_list) => self.in_list(in_list, scope),
            Expr::Case(case) => self.case(case, scope),
            Expr::Cast(Cast { expr, field }) => self.cast(expr, field, false, scope),
            Expr::TryCast(TryCast { expr, field }) => self.cast(expr, field, true, scope),
            Expr::ScalarFunction(function) => self.function(function, scope),
            Expr::AggregateFunction(function) => {
                let message =
                    format!("{} stands where there are no groups", function.func.name().to_uppercase());
                Err(SqlError::new(Code::Invalid, message))
            }
            Expr::WindowFunction(function) => {
                let message =
                    format!("{} OVER stands where it cannot be computed", function.fun.name().to_uppercase());
                Err(SqlError::new(Code::Unsupported, message).help("compute it in a sub-query"))
            }
            Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_) => {
                let message = "a sub-query stands where it is not supported";
                Err(SqlError::new(Code::Unsupported, message)
                    .help("write EXISTS or IN as a condition of WHERE, or a join"))
            }
            Expr::OuterReferenceColumn(_, column) => {
                let message = format!("`{column}` belongs to an outer query, which is not supported here");
                Err(SqlError::new(Code::Unsupported, message).help("write a join"))
            }
            other => Err(SqlError::new(Code::Unsupported, format!("{} is not supported", said(other)))),
        }
    }

    fn bind_binary(&self, left: &Expr, op: Operator, right: &Expr, scope: &Scope<'_>) -> Result<Typed> {
        let comparison = match op {
            Operator::And | Operator::Or => {
                let mut terms = Vec::new();
                flatten(left, op, &mut terms);
                flatten(right, op, &mut terms);
                let terms =
                    terms.into_iter().map(|term| self.bind_condition(term, scope)).collect::<Result<_>>()?;
                let combine = if op == Operator::And { Expression::And } else { Expression::Or };
                return Ok(boolean(combine(terms)));
            }
            Operator::Eq => ComparisonOp::Eq,
            Operator::NotEq => ComparisonOp::NotEq,
            Operator::Lt => ComparisonOp::Lt,
            Operator::LtEq => ComparisonOp::LtEq,
            Operator::Gt => ComparisonOp::Gt,
            Operator::GtEq => ComparisonOp::GtEq,
            Operator::IsDistinctFrom => ComparisonOp::IsDistinctFrom,
            Operator::IsNotDistinctFrom => ComparisonOp::IsNotDistinctFrom,
            other => {
                return Err(SqlError::new(
                    Code::Unsupported,
                    format!("the operator {other} is not supported"),
                ));
            }
        };
        let (left_value, right_value) = (self.bind(left, scope)?, self.bind(right, scope)?);
        self.compare(comparison, left_value, right_value).map_err(|error| SqlError {
            message: format!("{} {comparison} {}: {}", said(left), said(right), error.message),
            ..error
        })
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

    pub(super) fn not(&self, inner: Typed) -> Result<Typed> {
        let is_nullable = inner.is_nullable;
        Ok(Typed { is_nullable, ..boolean(Expression::Not(Box::new(inner))) })
    }

    fn is(&self, inner: &Expr, state: State, scope: &Scope<'_>) -> Result<Typed> {
        let inner = self.bind(inner, scope)?;
        Ok(Typed { is_nullable: false, ..boolean(Expression::Is(Box::new(inner), state)) })
    }

    fn is_boolean(&self, inner: &Expr, state: State, scope: &Scope<'_>) -> Result<Typed> {
        let inner = self.bind_condition(inner, scope)?;
        Ok(Typed { is_nullable: false, ..boolean(Expression::Is(Box::new(inner), state)) })
    }

    fn like(&self, name: &str, like: &Like, scope: &Scope<'_>) -> Result<Typed> {
        let mut arguments = vec![self.bind(&like.expr, scope)?, self.bind(&like.pattern, scope)?];
        if let Some(escape) = like.escape_char {
            arguments.push(Typed::literal(ScalarValue::Utf8(Some(escape.to_string())), SqlType::Char(1)));
        }
        let found = self.named_function(name, arguments)?;
        if like.negated { self.not(found) } else { Ok(found) }
    }

    fn case(&self, case: &Case, scope: &Scope<'_>) -> Result<Typed> {
        let operand = case.expr.as_ref().map(|operand| self.bind(operand, scope)).transpose()?;
        if let Some(operand) = &operand {
            self.copies(operand, case.when_then_expr.len())?;
        }
        let mut branches = Vec::new();
        for (when, then) in &case.when_then_expr {
            let condition = match &operand {
                Some(operand) => self.compare(ComparisonOp::Eq, operand.clone(), self.bind(when, scope)?)?,
                None => self.bind_condition(when, scope)?,
            };
            branches.push((condition, self.bind(then, scope)?));
        }
        let otherwise = match &case.else_expr {
            Some(otherwise) => self.bind(otherwise, scope)?,
            None => Typed::literal(ScalarValue::Null, SqlType::Null),
        };
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

    fn cast(&self, inner: &Expr, field: &FieldRef, is_try: bool, scope: &Scope<'_>) -> Result<Typed> {
        let to = SqlType::of_field(field).ok_or_else(|| {
            SqlError::new(Code::Unsupported, format!("there is no type {} here", field.data_type()))
        })?;
        self.cast_to(self.bind(inner, scope)?, &to, is_try)
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

    fn function(&self, function: &ScalarFunction, scope: &Scope<'_>) -> Result<Typed> {
        let name = function.func.name();
        let arguments: Vec<Typed> =
            function.args.iter().map(|argument| self.bind(argument, scope)).collect::<Result<_>>()?;
        let number = || match arguments.first().and_then(Typed::as_literal) {
            Some(ScalarValue::Int32(Some(number))) => Some(i64::from(*number)),
            Some(ScalarValue::Int64(number)) => *number,
            _ => None,
        };
        match name {
            MILLIS => {
                return Ok(Typed::literal(ScalarValue::DurationMillisecond(number()), SqlType::DayTime));
            }
            MONTHS => {
                let months = number().and_then(|months| i32::try_from(months).ok());
                let months =
                    months.ok_or_else(|| SqlError::new(Code::Invalid, "the span has too many months"))?;
                return Ok(Typed::literal(ScalarValue::IntervalYearMonth(Some(months)), SqlType::YearMonth));
            }
            _ => {}
        }
        if name == CELL
            && let Some(cell) = arguments.first()
        {
            return Ok(cell.clone());
        }
        if matches!(name, "grouping" | "grouping_id") {
            return grouping(&arguments, scope);
        }
        if name == "||" {
            return self.named_function("CONCAT", arguments).map_err(|error| SqlError {
                message: error.message.replace("CONCAT", "||"),
                help: Some("both sides are text: cast what is not".to_owned()),
                ..error
            });
        }
        if let Some((symbol, op)) = ARITHMETIC.iter().find(|(symbol, _)| *symbol == name) {
            let [left, right] = &arguments[..] else {
                return Err(SqlError::new(Code::Invalid, format!("{symbol} has two sides")));
            };
            let bound = arithmetic::bind_arithmetic(*op, &argument(left), &argument(right))
                .map_err(|error| refused(symbol, error))?;
            let is_division = matches!(op, ArithmeticOp::Divide | ArithmeticOp::Modulo);
            return self.call(Call::Arithmetic(*op), bound, arguments, !is_division, true);
        }
        self.named_function(&name.to_uppercase(), arguments)
    }

    /// Returns a call of the function whose name, in upper case, is `name`.
    fn named_function(&self, name: &str, arguments: Vec<Typed>) -> Result<Typed> {
        let function = functions::function(name)
            .ok_or_else(|| SqlError::new(Code::UnknownFunction, format!("there is no function {name}")))?;
        let given: Vec<Argument> = arguments.iter().map(argument).collect();
        let bound = (function.bind)(&given, self.context).map_err(|error| {
            let code = if error.is_about_count() { Code::Invalid } else { Code::TypeMismatch };
            SqlError::new(code, format!("{name}: {error}")).help(format!("it is called {}", function.usage))
        })?;
        self.call(Call::Function(function), bound, arguments, false, function.is_deterministic)
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
        let is_literal = is_deterministic && arguments.iter().all(|argument| argument.as_literal().is_some());
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

fn flatten<'a>(expression: &'a Expr, op: Operator, terms: &mut Vec<&'a Expr>) {
    let mut rest = vec![expression];
    while let Some(expression) = rest.pop() {
        match expression {
            Expr::BinaryExpr(BinaryExpr { left, op: inner, right }) if *inner == op => {
                rest.extend([&**right, &**left]);
            }
            other => terms.push(other),
        }
    }
}

/// Returns the description of a value that functions get when they are bound: its type, whether it may be NULL, and
/// its value if it is a literal.
pub(super) fn argument(value: &Typed) -> Argument {
    Argument { of: value.of.clone(), is_nullable: value.is_nullable, literal: value.as_literal().cloned() }
}

fn refused(name: &str, BindError(reason): BindError) -> SqlError {
    SqlError::new(Code::TypeMismatch, format!("{name}: {reason}"))
}

/// Returns a call of GROUPING: a number with a bit for each argument, the first one's bit the highest. The bit is 1
/// if the grouping set of the row leaves that key out.
fn grouping(arguments: &[Typed], scope: &Scope<'_>) -> Result<Typed> {
    let number = scope.columns.iter().position(|column| column.name == GROUPING_ID).ok_or_else(|| {
        SqlError::new(Code::Invalid, "GROUPING stands where there are no grouping sets")
            .help("write GROUP BY GROUPING SETS, CUBE or ROLLUP")
    })?;
    let keys: Vec<usize> = (0..number).filter(|place| scope.columns[*place].role == Role::Plain).collect();
    let mut bits = Vec::new();
    for argument in arguments {
        let key = argument
            .as_column()
            .and_then(|place| keys.iter().position(|key| *key == place))
            .ok_or_else(|| SqlError::new(Code::Invalid, "GROUPING takes keys of the grouping sets"))?;
        bits.push(keys.len() - 1 - key);
    }
    let bits: Arc<[usize]> = bits.into();
    let call = Call::Grouping(Arc::clone(&bits));
    let kernel = move |arguments: &[ColumnarValue], rows: usize| {
        let numbers = functions::column(&arguments[0], rows)?;
        let numbers = numbers.as_primitive::<Int64Type>();
        let of = |number: i64| bits.iter().fold(0, |so_far, bit| so_far << 1 | (number >> bit & 1));
        Ok(ColumnarValue::Array(Arc::new(numbers.unary::<_, Int64Type>(of)) as ArrayRef))
    };
    let expression = Expression::Call {
        call,
        kernel: Arc::new(kernel),
        arguments: vec![Typed::column(number, SqlType::BigInt, false)],
        is_total: true,
        is_deterministic: true,
    };
    Ok(Typed { expression, of: SqlType::BigInt, is_nullable: false })
}

/// Name that DataFusion's planner gives to the column with the number of a row's grouping set.
const GROUPING_ID: &str = "__grouping_id";

/// Returns a literal with the type that Flink gives it: INT if the number fits, text as CHAR of its length.
fn literal(value: &Foreign) -> Result<Typed> {
    let typed = |value, of| Ok(Typed::literal(value, of));
    match value {
        Foreign::Null => typed(ScalarValue::Null, SqlType::Null),
        Foreign::Int64(Some(number)) => match i32::try_from(*number) {
            Ok(number) => typed(ScalarValue::Int32(Some(number)), SqlType::Int),
            Err(_) => typed(ScalarValue::Int64(Some(*number)), SqlType::BigInt),
        },
        Foreign::UInt64(Some(number)) => {
            let precision = number.to_string().len() as u8;
            let of = SqlType::Decimal { precision, scale: 0 };
            typed(ScalarValue::Decimal128(Some(i128::from(*number)), precision, 0), of)
        }
        Foreign::Utf8(Some(text)) => {
            let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
            typed(ScalarValue::Utf8(Some(text.clone())), SqlType::Char(length))
        }
        Foreign::Decimal128(Some(number), precision, scale) if *scale >= 0 => {
            // The literal `0.5` has a digit before the point, so it is a DECIMAL(2, 1).
            let precision = (*precision).max(*scale as u8 + 1).min(38);
            let of = SqlType::Decimal { precision, scale: *scale as u8 };
            typed(ScalarValue::Decimal128(Some(*number), precision, *scale), of)
        }
        other => match (ours(other), SqlType::of_arrow(&other.data_type())) {
            (Some(value), Some(of)) => typed(value, of),
            _ => Err(SqlError::new(
                Code::Unsupported,
                format!("a literal of {} is not supported", other.data_type()),
            )),
        },
    }
}

/// Returns the type of a function's result, and whether it may be NULL, as far as they are known before expressions
/// have Flink's types. Returns `None` if the argument types that DataFusion has do not fit the function.
pub(super) fn guess_function(
    name: &str,
    fields: &[FieldRef],
    literals: &[Option<Foreign>],
    context: &Context,
) -> Option<(SqlType, bool)> {
    let arguments = fields.iter().zip(literals).map(|(field, given)| match given.as_ref().map(literal) {
        Some(Ok(given)) => Some(argument(&given)),
        _ => {
            Some(Argument { of: SqlType::of_field(field)?, is_nullable: field.is_nullable(), literal: None })
        }
    });
    let arguments: Vec<Argument> = arguments.collect::<Option<_>>()?;
    match name {
        MILLIS => return Some((SqlType::DayTime, false)),
        MONTHS => return Some((SqlType::YearMonth, false)),
        "grouping" | "grouping_id" => return Some((SqlType::BigInt, false)),
        _ => {}
    }
    let bound = match (ARITHMETIC.iter().find(|(symbol, _)| *symbol == name), &arguments[..]) {
        (Some((_, op)), [left, right]) => arithmetic::bind_arithmetic(*op, left, right).ok()?,
        _ => {
            let function = functions::function(&name.to_uppercase())?;
            (function.bind)(&arguments, context).ok()?
        }
    };
    Some((bound.result, bound.is_nullable))
}

/// Returns the type of an aggregate's result, and whether it may be NULL, as [`guess_function`] does for a function.
pub(super) fn guess_aggregate(name: &str, fields: &[FieldRef], context: &Context) -> Option<(SqlType, bool)> {
    let argument = |field: &FieldRef| {
        Some(Argument { of: SqlType::of_field(field)?, is_nullable: field.is_nullable(), literal: None })
    };
    let arguments: Vec<Argument> = fields.iter().map(argument).collect::<Option<_>>()?;
    let function = aggregate(&name.to_uppercase())?;
    let bound = (function.bind)(&arguments, context).ok()?;
    Some((bound.result, bound.is_nullable))
}
