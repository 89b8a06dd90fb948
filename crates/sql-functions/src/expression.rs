//! Typed expressions: the computations of a query over columns.
//!
//! An [`Expression`] is a tree of kernels ([`crate::functions`]) and of the few operators which do not evaluate all
//! their operands for all rows: AND, OR, CASE, IF, COALESCE and IFNULL. In Flink these skip irrelevant operands row by
//! row: `d <> 0 AND n / d > 1` never divides by zero. Evaluation here does the same: an operand which can fail is
//! evaluated only for the rows which need it.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute;
use arrow::record_batch::RecordBatch;

use crate::functions::{EvaluationError, Kernel, column};
use crate::scratch;
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

mod call;
mod choice;
#[cfg(test)]
mod tests;

pub use call::Call;
use choice::choose;

/// An SQL expression with the type and the nullability of its values.
#[derive(Clone)]
pub struct Typed {
    /// The expression, without its type.
    pub expression: Expression,
    /// SQL type of the expression's values.
    pub of: SqlType,
    /// True if values of the expression may be NULL.
    pub is_nullable: bool,
}

/// Computation of one column from the columns of a batch.
#[derive(Clone)]
pub enum Expression {
    /// A column of the input batch, given by its index from 0 on.
    Column(usize),
    /// A literal, which has the same value for every row.
    Literal(ScalarValue),
    /// A call of an SQL function.
    Call {
        /// The operator or function that is called.
        call: Call,
        /// Implementation of the called function.
        kernel: Arc<dyn Kernel>,
        /// Arguments of the call; they have the types that the kernel takes.
        arguments: Vec<Typed>,
        /// True if the call has a result for every row, whatever the values, so that it never fails.
        is_total: bool,
        /// True if the call gives equal results for equal arguments.
        is_deterministic: bool,
    },
    /// AND of all terms in Kleene's three-valued logic: FALSE if any term is FALSE, else NULL if any is NULL.
    And(Vec<Typed>),
    /// OR of all terms in Kleene's three-valued logic: TRUE if any term is TRUE, else NULL if any is NULL.
    Or(Vec<Typed>),
    /// NOT of a boolean; NOT NULL is NULL.
    Not(Box<Typed>),
    /// Test of a value such as IS NULL or IS TRUE; the result is never NULL.
    Is(Box<Typed>, State),
    /// CASE: the value that belongs to the first condition that is true.
    Case {
        /// Conditions of the CASE and their values, in order.
        branches: Vec<(Typed, Typed)>,
        /// Value of the CASE if no condition is true.
        otherwise: Box<Typed>,
    },
}

/// Greatest number of characters of an expression that an error message shows.
const SHOWN_CHARACTERS: usize = 60;

/// State of a value for which an IS expression tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// IS NULL, and for booleans IS UNKNOWN, which is the same test.
    Null,
    /// IS NOT NULL: the value is known.
    NotNull,
    /// IS TRUE: the value is neither FALSE nor NULL.
    True,
    /// IS NOT TRUE: the value is FALSE or NULL.
    NotTrue,
    /// IS FALSE: the value is neither TRUE nor NULL.
    False,
    /// IS NOT FALSE: the value is TRUE or NULL.
    NotFalse,
}

impl Typed {
    /// Creates an expression that reads a column of the input, given by its index.
    pub fn column(place: usize, of: SqlType, is_nullable: bool) -> Self {
        Typed { expression: Expression::Column(place), of, is_nullable }
    }

    /// Creates a literal of an SQL type.
    pub fn literal(value: ScalarValue, of: SqlType) -> Self {
        Typed { is_nullable: value.is_null(), expression: Expression::Literal(value), of }
    }

    /// Returns the value of the expression if it is a literal; `None` for other expressions.
    pub fn as_literal(&self) -> Option<&ScalarValue> {
        match &self.expression {
            Expression::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the index of the input column if the expression is just a column; `None` for other
    /// expressions.
    pub fn as_column(&self) -> Option<usize> {
        match self.expression {
            Expression::Column(place) => Some(place),
            _ => None,
        }
    }

    /// Returns whether the expression has a result for every row, whatever the values, so that it never
    /// fails.
    pub fn is_total(&self) -> bool {
        let mut is_total = true;
        self.visit(&mut |typed| {
            is_total &= !matches!(typed.expression, Expression::Call { is_total: false, .. });
        });
        is_total
    }

    /// Returns whether the expression gives equal results for equal rows, which RAND() for example does not.
    pub fn is_deterministic(&self) -> bool {
        let mut is_deterministic = true;
        self.visit(&mut |typed| {
            is_deterministic &= !matches!(typed.expression, Expression::Call { is_deterministic: false, .. });
        });
        is_deterministic
    }

    /// Returns whether the expression is a call of a user function.
    pub fn calls_user_function(&self) -> bool {
        matches!(self.expression, Expression::Call { call: Call::User(_), .. })
    }

    /// Returns whether the expression gives equal results as another one for equal rows: both have equal calls,
    /// columns, literals and types, and are deterministic. Expressions that are equal for another reason, such as
    /// `a + b` and `b + a`, are not found to be equal.
    pub fn same(&self, other: &Typed) -> bool {
        self.is_deterministic() && self.has_form_of(other)
    }

    /// Returns whether the expression is written as another one: with equal calls, columns, literals and types. Two such
    /// expressions may still differ in their values if they are not deterministic, as two calls of RAND() do.
    pub fn has_form_of(&self, other: &Typed) -> bool {
        let all = |terms: &[Typed], others: &[Typed]| {
            terms.len() == others.len()
                && terms.iter().zip(others).all(|(term, other)| term.has_form_of(other))
        };
        self.of == other.of
            && match (&self.expression, &other.expression) {
                (Expression::Column(place), Expression::Column(other)) => place == other,
                (Expression::Literal(value), Expression::Literal(other)) => value == other,
                (
                    Expression::Call { call, arguments, .. },
                    Expression::Call { call: other, arguments: others, .. },
                ) => call == other && all(arguments, others),
                (Expression::And(terms), Expression::And(others))
                | (Expression::Or(terms), Expression::Or(others)) => all(terms, others),
                (Expression::Not(inner), Expression::Not(other)) => inner.has_form_of(other),
                (Expression::Is(inner, state), Expression::Is(other, of_other)) => {
                    state == of_other && inner.has_form_of(other)
                }
                (
                    Expression::Case { branches, otherwise },
                    Expression::Case { branches: others, otherwise: other },
                ) => {
                    let is_same =
                        |((when, then), (other_when, other_then)): (&(Typed, Typed), &(Typed, Typed))| {
                            when.has_form_of(other_when) && then.has_form_of(other_then)
                        };
                    branches.len() == others.len()
                        && branches.iter().zip(others).all(is_same)
                        && otherwise.has_form_of(other)
                }
                _ => false,
            }
    }

    /// Calls `each` with the indexes of all input columns that the expression reads.
    pub fn columns(&self, each: &mut impl FnMut(usize)) {
        self.visit(&mut |typed| {
            if let Expression::Column(place) = typed.expression {
                each(place);
            }
        });
    }

    /// Calls `each` with the expression itself and with all its sub-expressions.
    pub fn visit(&self, each: &mut impl FnMut(&Typed)) {
        each(self);
        match &self.expression {
            Expression::Column(_) | Expression::Literal(_) => {}
            Expression::Call { arguments, .. } => arguments.iter().for_each(|argument| argument.visit(each)),
            Expression::And(terms) | Expression::Or(terms) => terms.iter().for_each(|term| term.visit(each)),
            Expression::Not(inner) | Expression::Is(inner, _) => inner.visit(each),
            Expression::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    condition.visit(each);
                    value.visit(each);
                }
                otherwise.visit(each);
            }
        }
    }

    /// Returns the number of nested levels of the expression: 1 for columns and literals.
    pub fn depth(&self) -> usize {
        let deepest = |terms: &[Typed]| terms.iter().map(Typed::depth).max().unwrap_or_default();
        1 + match &self.expression {
            Expression::Column(_) | Expression::Literal(_) => 0,
            Expression::Call { arguments, .. } => deepest(arguments),
            Expression::And(terms) | Expression::Or(terms) => deepest(terms),
            Expression::Not(inner) | Expression::Is(inner, _) => inner.depth(),
            Expression::Case { branches, otherwise } => {
                let of = |(condition, value): &(Typed, Typed)| condition.depth().max(value.depth());
                branches.iter().map(of).max().unwrap_or_default().max(otherwise.depth())
            }
        }
    }

    /// Returns a copy of the expression in which each column is replaced by the result of `by` for its index.
    #[must_use]
    pub fn replaced(&self, by: &impl Fn(usize) -> Typed) -> Typed {
        self.rewritten(&|typed| typed.as_column().map(by))
    }

    /// Returns a copy of the expression in which `by` replaces the outermost parts for which it has another expression.
    #[must_use]
    pub fn rewritten(&self, by: &impl Fn(&Typed) -> Option<Typed>) -> Typed {
        if let Some(other) = by(self) {
            return other;
        }
        let all = |terms: &[Typed]| terms.iter().map(|term| term.rewritten(by)).collect();
        let expression = match &self.expression {
            Expression::Column(place) => Expression::Column(*place),
            Expression::Literal(value) => Expression::Literal(value.clone()),
            Expression::Call { call, kernel, arguments, is_total, is_deterministic } => Expression::Call {
                call: call.clone(),
                kernel: Arc::clone(kernel),
                arguments: all(arguments),
                is_total: *is_total,
                is_deterministic: *is_deterministic,
            },
            Expression::And(terms) => Expression::And(all(terms)),
            Expression::Or(terms) => Expression::Or(all(terms)),
            Expression::Not(inner) => Expression::Not(Box::new(inner.rewritten(by))),
            Expression::Is(inner, state) => Expression::Is(Box::new(inner.rewritten(by)), *state),
            Expression::Case { branches, otherwise } => Expression::Case {
                branches: branches
                    .iter()
                    .map(|(when, then)| (when.rewritten(by), then.rewritten(by)))
                    .collect(),
                otherwise: Box::new(otherwise.rewritten(by)),
            },
        };
        Typed { expression, of: self.of.clone(), is_nullable: self.is_nullable }
    }

    /// Returns a copy of the expression in which `place_of` gives the new index of each column.
    #[must_use]
    pub fn with_columns(&self, place_of: &impl Fn(usize) -> usize) -> Typed {
        // Only the indexes of columns change; their types and nullability stay in the expressions that read
        // them.
        let mut moved = self.clone();
        moved.move_columns(place_of);
        moved
    }

    fn move_columns(&mut self, place_of: &impl Fn(usize) -> usize) {
        match &mut self.expression {
            Expression::Column(place) => *place = place_of(*place),
            Expression::Literal(_) => {}
            Expression::Call { arguments, .. } => {
                arguments.iter_mut().for_each(|argument| argument.move_columns(place_of));
            }
            Expression::And(terms) | Expression::Or(terms) => {
                terms.iter_mut().for_each(|term| term.move_columns(place_of));
            }
            Expression::Not(inner) | Expression::Is(inner, _) => inner.move_columns(place_of),
            Expression::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    condition.move_columns(place_of);
                    value.move_columns(place_of);
                }
                otherwise.move_columns(place_of);
            }
        }
    }

    /// Evaluates the expression for the rows of a batch, to a column or to a scalar if all values are equal.
    ///
    /// # Errors
    /// [`EvaluationError`] if a row whose value is needed has no result.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue, EvaluationError> {
        // A chain of operators (`a + b + c`) is a tree that is deep on its left side, and the stacks of
        // workers are small. So a loop descends into the first operands, and the recursion is only as deep as
        // the brackets.
        let mut outer = Vec::new();
        let mut inner = self;
        while let Some(first) = inner.first_operand() {
            outer.push(inner);
            inner = first;
        }
        let mut value = inner.evaluate_behind(None, batch)?;
        for typed in outer.into_iter().rev() {
            value = typed.evaluate_behind(Some(value), batch)?;
        }
        Ok(value)
    }

    /// Returns the operand of the expression that is evaluated first and for all rows, if there is one.
    fn first_operand(&self) -> Option<&Typed> {
        match &self.expression {
            Expression::Column(_) | Expression::Literal(_) | Expression::Case { .. } => None,
            Expression::Call { arguments: operands, .. }
            | Expression::And(operands)
            | Expression::Or(operands) => operands.first(),
            Expression::Not(inner) | Expression::Is(inner, _) => Some(inner),
        }
    }

    /// Evaluates the expression for the rows of a batch. `first` is the value of its [first
    /// operand](Self::first_operand), if it has one.
    fn evaluate_behind(
        &self,
        first: Option<ColumnarValue>,
        batch: &RecordBatch,
    ) -> Result<ColumnarValue, EvaluationError> {
        let rows = batch.num_rows();
        let array = |array| Ok(ColumnarValue::Array(array));
        match (&self.expression, first) {
            (&Expression::Column(place), _) => array(Arc::clone(batch.column(place))),
            (Expression::Literal(value), _) => Ok(ColumnarValue::Scalar(value.clone())),
            (Expression::Call { call, arguments, .. }, Some(first))
                if let Some(choice) = call.choice()
                    && !arguments.iter().skip(1).all(Typed::is_total) =>
            {
                let value = ColumnarValue::Array(choice.made(&first, arguments, batch, &self.of.arrow())?);
                scratch::hold(&value).map(|()| value)
            }
            (Expression::Call { kernel, arguments, .. }, first) => {
                let mut values = Vec::with_capacity(arguments.len());
                values.extend(first);
                for argument in arguments.iter().skip(values.len()) {
                    values.push(argument.evaluate(batch)?);
                }
                let value = kernel.evaluate(&values, rows);
                let held = value.and_then(|value| scratch::hold(&value).map(|()| value));
                held.map_err(|error| self.told(&error, batch))
            }
            (Expression::And(terms), first) => array(Arc::new(combine::<true>(first, terms, batch)?)),
            (Expression::Or(terms), first) => array(Arc::new(combine::<false>(first, terms, batch)?)),
            (Expression::Not(inner), first) => {
                let inner = match first {
                    Some(inner) => booleans(&inner, rows)?,
                    None => inner.evaluate_booleans(batch)?,
                };
                array(Arc::new(compute::not(&inner).map_err(arrow_error)?))
            }
            (Expression::Is(inner, state), first) => {
                let inner = match first {
                    Some(inner) => column(&inner, rows)?,
                    None => inner.evaluate_column(batch)?,
                };
                array(Arc::new(is_in(&inner, *state)?))
            }
            (Expression::Case { branches, otherwise }, _) => {
                array(choose(branches, otherwise, batch, &self.of.arrow())?)
            }
        }
    }

    /// Returns the error of an evaluation, with the text of this expression added.
    fn told(&self, error: &EvaluationError, batch: &RecordBatch) -> EvaluationError {
        let schema = batch.schema_ref();
        let name =
            |place: usize| schema.fields().get(place).map_or_else(String::new, |field| field.name().clone());
        let shown = Named(self, name).to_string().replace(char::is_control, " ");
        let shown = match shown.char_indices().nth(SHOWN_CHARACTERS) {
            Some((end, _)) => format!("{}…", &shown[..end]),
            None => shown,
        };
        EvaluationError { code: error.code, message: format!("{shown}: {}", error.message) }
    }

    /// Evaluates the expression for the rows of a batch, always to a column.
    ///
    /// # Errors
    /// Fails as [`evaluate`](Self::evaluate) does.
    pub fn evaluate_column(&self, batch: &RecordBatch) -> Result<ArrayRef, EvaluationError> {
        column(&self.evaluate(batch)?, batch.num_rows())
    }

    /// Evaluates a condition for the rows of a batch.
    ///
    /// # Errors
    /// Fails as [`evaluate`](Self::evaluate) does.
    pub fn evaluate_booleans(&self, batch: &RecordBatch) -> Result<BooleanArray, EvaluationError> {
        booleans(&self.evaluate(batch)?, batch.num_rows())
    }
}

fn booleans(values: &ColumnarValue, rows: usize) -> Result<BooleanArray, EvaluationError> {
    match column(values, rows)?.as_boolean_opt() {
        Some(booleans) => Ok(booleans.clone()),
        // A condition that is the literal NULL has no boolean values, and is NULL for every row.
        None => Ok(BooleanArray::new_null(rows)),
    }
}

/// Converts an error of an Arrow kernel. Types and lengths are checked before, so such errors are not
/// expected.
#[allow(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
pub fn arrow_error(error: arrow::error::ArrowError) -> EvaluationError {
    EvaluationError { code: "EVALUATION", message: error.to_string() }
}

/// Computes AND or OR of several terms. Each term is evaluated only for the rows that the terms before it
/// leave undecided. `first` holds the values of the first term if they are known.
fn combine<const IS_AND: bool>(
    first: Option<ColumnarValue>,
    terms: &[Typed],
    batch: &RecordBatch,
) -> Result<BooleanArray, EvaluationError> {
    let rows = batch.num_rows();
    let mut so_far = first.map(|first| booleans(&first, rows)).transpose()?;
    for term in terms.iter().skip(usize::from(so_far.is_some())) {
        let Some(before) = so_far else {
            so_far = Some(term.evaluate_booleans(batch)?);
            continue;
        };
        // FALSE decides a row for AND, and TRUE decides a row for OR; other rows need the next term.
        let is_open = |row: usize| before.is_null(row) || before.value(row) == IS_AND;
        let open = BooleanBuffer::collect_bool(rows, is_open);
        let open_count = open.count_set_bits();
        so_far = Some(if open_count == 0 {
            return Ok(before);
        } else if open_count == rows || term.is_total() {
            let next = term.evaluate_booleans(batch)?;
            let by = if IS_AND { compute::and_kleene } else { compute::or_kleene };
            by(&before, &next).map_err(arrow_error)?
        } else {
            let open = BooleanArray::new(open, None);
            let next =
                term.evaluate_booleans(&compute::filter_record_batch(batch, &open).map_err(arrow_error)?)?;
            let mut places = 0..;
            let combined = (0..rows).map(|row| {
                if !open.value(row) {
                    return Some(!IS_AND);
                }
                let place = places.next().unwrap_or_default();
                let next = next.is_valid(place).then(|| next.value(place));
                match (before.is_valid(row), next) {
                    // If the terms so far are not NULL and do not decide the row, the result is the value of
                    // the next term.
                    (true, next) => next,
                    (false, Some(decided)) if decided != IS_AND => Some(decided),
                    (false, _) => None,
                }
            });
            combined.collect()
        });
    }
    Ok(so_far.unwrap_or_else(|| BooleanArray::from(vec![IS_AND; rows])))
}

fn is_in(values: &ArrayRef, state: State) -> Result<BooleanArray, EvaluationError> {
    let booleans = values.as_boolean_opt();
    let where_ = |holds: &dyn Fn(usize) -> bool| {
        BooleanArray::new(BooleanBuffer::collect_bool(values.len(), holds), None)
    };
    // A NULL without a type has no booleans, and is neither true nor false.
    let is = |row: usize, expected: bool| {
        booleans.is_some_and(|booleans| booleans.is_valid(row) && booleans.value(row) == expected)
    };
    match state {
        State::Null => compute::is_null(values).map_err(arrow_error),
        State::NotNull => compute::is_not_null(values).map_err(arrow_error),
        State::True => Ok(where_(&|row| is(row, true))),
        State::NotTrue => Ok(where_(&|row| !is(row, true))),
        State::False => Ok(where_(&|row| is(row, false))),
        State::NotFalse => Ok(where_(&|row| !is(row, false))),
    }
}

/// Formats the expression as SQL, with columns as `$` and their index.
impl fmt::Display for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(f, &|place| format!("${place}"))
    }
}

impl fmt::Debug for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}: {}", self.of)
    }
}

/// Formats an expression as SQL with the names of its columns. With the format `{:#}`, an AND or OR is put in
/// brackets, because the expression is one of several conditions.
pub struct Named<'a, F>(pub &'a Typed, pub F);

impl<F: Fn(usize) -> String> fmt::Display for Named<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() { self.0.show_operand(f, &self.1, 1) } else { self.0.show(f, &self.1) }
    }
}

impl Typed {
    /// Returns how tightly the outermost operator of the shown expression binds: 0 for AND and OR, more for
    /// tighter operators. An operand that binds less tightly than its operator stands in brackets.
    fn strength(&self) -> u8 {
        match &self.expression {
            Expression::And(_) | Expression::Or(_) => 0,
            Expression::Not(_) | Expression::Is(..) => 1,
            Expression::Call { call, .. } => call.strength(),
            Expression::Column(_) | Expression::Literal(_) | Expression::Case { .. } => 4,
        }
    }

    /// Formats the expression as an operand, in brackets if its [`strength`](Self::strength), the tightness
    /// of its outermost operator, is below `least`.
    fn show_operand(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &dyn Fn(usize) -> String,
        least: u8,
    ) -> fmt::Result {
        if self.strength() >= least {
            return self.show(f, name);
        }
        f.write_str("(")?;
        self.show(f, name)?;
        f.write_str(")")
    }

    fn show(&self, f: &mut fmt::Formatter<'_>, name: &dyn Fn(usize) -> String) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, terms: &[Typed], between: &str, least: u8| {
            for (place, term) in terms.iter().enumerate() {
                if place > 0 {
                    f.write_str(between)?;
                }
                term.show_operand(f, name, least)?;
            }
            Ok(())
        };
        match &self.expression {
            &Expression::Column(place) => f.write_str(&name(place)),
            Expression::Literal(value) => show_literal(f, value),
            Expression::Call { call, arguments, .. } => match (call, &arguments[..]) {
                (_, operands) if let Some([left, right]) = call.infix(operands) => {
                    let strength = self.strength();
                    // A comparison as an operand of a comparison stands in brackets, because SQL has no
                    // chains such as `a < b < c`.
                    left.show_operand(f, name, strength.max(2))?;
                    write!(f, " {call} ")?;
                    right.show_operand(f, name, strength + 1)
                }
                (Call::In(_), [value]) => {
                    value.show_operand(f, name, 2)?;
                    write!(f, " {call}")
                }
                (Call::Cast { to, is_try }, arguments) => {
                    f.write_str(if *is_try { "TRY_CAST(" } else { "CAST(" })?;
                    list(f, arguments, ", ", 0)?;
                    write!(f, " AS {to})")
                }
                (call, arguments) => {
                    write!(f, "{call}(")?;
                    list(f, arguments, ", ", 0)?;
                    f.write_str(")")
                }
            },
            Expression::And(terms) => list(f, terms, " AND ", 1),
            Expression::Or(terms) => list(f, terms, " OR ", 1),
            Expression::Not(inner) => {
                f.write_str("NOT (")?;
                inner.show(f, name)?;
                f.write_str(")")
            }
            Expression::Is(inner, state) => {
                inner.show_operand(f, name, 2)?;
                f.write_str(match state {
                    State::Null => " IS NULL",
                    State::NotNull => " IS NOT NULL",
                    State::True => " IS TRUE",
                    State::NotTrue => " IS NOT TRUE",
                    State::False => " IS FALSE",
                    State::NotFalse => " IS NOT FALSE",
                })
            }
            Expression::Case { branches, otherwise } => {
                f.write_str("CASE")?;
                for (condition, value) in branches {
                    f.write_str(" WHEN ")?;
                    condition.show(f, name)?;
                    f.write_str(" THEN ")?;
                    value.show(f, name)?;
                }
                f.write_str(" ELSE ")?;
                otherwise.show(f, name)?;
                f.write_str(" END")
            }
        }
    }
}

struct Literal<'a>(&'a ScalarValue);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_literal(f, self.0)
    }
}

fn show_literal(f: &mut fmt::Formatter<'_>, value: &ScalarValue) -> fmt::Result {
    match value {
        value if value.is_null() => f.write_str("NULL"),
        ScalarValue::Utf8(Some(text)) => write!(f, "'{}'", text.replace('\'', "''")),
        ScalarValue::DurationMillisecond(Some(millis)) => write!(f, "INTERVAL {millis} ms"),
        value => write!(f, "{value}"),
    }
}
