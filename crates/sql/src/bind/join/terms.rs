//! The condition of a join as a list of terms that must all hold. Some terms say that values are equal, some bound
//! the difference of event times, the rest are tested for each pair of rows.

use std::cmp::Ordering;

use thalweg_sql_exec::exec::join::Side;
use thalweg_sql_exec::plan::{Column, TimeDomain};
use thalweg_sql_functions::expression::{Call, Expression, Typed};
use thalweg_sql_functions::functions::arithmetic::ArithmeticOp;
use thalweg_sql_functions::functions::compare::ComparisonOp;
use thalweg_sql_functions::types::{SqlType, common_type};
use thalweg_sql_functions::values::ScalarValue;

use super::{JoinKey, Role, WindowPlaces, are_alike};

/// Terms of a join's condition, which must all hold. They read the columns of the left input, then those of the right
/// one.
pub(super) struct Terms<'a> {
    columns: &'a [Column],
    /// Number of columns of the left input.
    width: usize,
    terms: Vec<Typed>,
    /// Join keys for values of the right input that must equal a constant.
    constant_keys: Vec<JoinKey>,
}

/// Bounds on the difference of the times of a pair: right minus left, in milliseconds, both bounds included. The times are
/// columns, each by its index in its input.
pub(super) struct Bounds {
    pub(super) domain: TimeDomain,
    pub(super) left_time: usize,
    pub(super) right_time: usize,
    pub(super) lower_ms: i64,
    pub(super) upper_ms: i64,
}

impl<'a> Terms<'a> {
    pub(super) fn new(columns: &'a [Column], width: usize) -> Self {
        Terms { columns, width, terms: Vec::new(), constant_keys: Vec::new() }
    }

    /// Adds a condition. An AND is split into its terms, and TRUE is dropped.
    pub(super) fn add(&mut self, condition: Typed) {
        match condition.expression {
            Expression::And(terms) => terms.into_iter().for_each(|term| self.add(term)),
            Expression::Literal(ScalarValue::Boolean(Some(true))) => {}
            expression => self.terms.push(Typed { expression, ..condition }),
        }
    }

    /// Removes the two terms which say that window starts and window ends of both inputs are equal, and returns the
    /// indexes of these columns. Also returns whether the windows are cut by local time of the session's zone, and by
    /// which time. Returns `None` if there are no such terms, or the inputs cut their windows by different rules.
    pub(super) fn take_windows(&mut self) -> Option<([WindowPlaces; 2], bool, TimeDomain)> {
        let windows = |place: usize, is_start: bool| match &self.columns[place].role {
            Role::WindowStart(windows) if is_start => Some(windows),
            Role::WindowEnd(windows) if !is_start => Some(windows),
            _ => None,
        };
        let find = |is_start: bool| {
            self.terms.iter().position(|term| {
                self.equal_columns(term).is_some_and(|(left, right)| {
                    match (windows(left, is_start), windows(right, is_start)) {
                        (Some(left), Some(right)) => are_alike(left, right),
                        _ => false,
                    }
                })
            })
        };
        let (start, end) = (find(true)?, find(false)?);
        let (left_start, right_start) = self.equal_columns(&self.terms[start])?;
        let (left_end, right_end) = self.equal_columns(&self.terms[end])?;
        let (is_local, domain) =
            windows(left_end, false).map(|windows| (windows.is_local, windows.domain))?;
        self.terms.remove(start.max(end));
        self.terms.remove(start.min(end));
        let places = [
            WindowPlaces { start: left_start, end: left_end },
            WindowPlaces { start: right_start - self.width, end: right_end - self.width },
        ];
        Some((places, is_local, domain))
    }

    /// Removes the terms that bound the difference of two times, and returns the bounds; `None` unless there is
    /// an upper and a lower bound.
    pub(super) fn take_bounds(&mut self) -> Option<Bounds> {
        let found: Vec<Option<Bound>> = self.terms.iter().map(|term| self.bound(term)).collect();
        let both = |bound: &Bound| {
            let same = || found.iter().flatten().filter(|other| other.times == bound.times);
            same().any(|bound| bound.lower_ms.is_some()) && same().any(|bound| bound.upper_ms.is_some())
        };
        let times = found.iter().flatten().find(|bound| both(bound))?.times;
        let is_one = |bound: &&Bound| bound.times == times;
        let used = || found.iter().flatten().filter(is_one);
        let is_proctime = self.columns[times.0].role.is_proctime();
        let bounds = Bounds {
            domain: if is_proctime { TimeDomain::Processing } else { TimeDomain::Event },
            left_time: times.0,
            right_time: times.1 - self.width,
            lower_ms: used().filter_map(|bound| bound.lower_ms).max()?,
            upper_ms: used().filter_map(|bound| bound.upper_ms).min()?,
        };
        let mut is_used = found.iter().map(|bound| bound.as_ref().is_some_and(|bound| bound.times == times));
        self.terms.retain(|_| !is_used.next().unwrap_or(false));
        Some(bounds)
    }

    /// Returns the pairs of values that must be equal, and the AND of all other terms; `None` if there are no others.
    pub(super) fn finish(mut self) -> (Vec<JoinKey>, Option<Typed>) {
        let (mut keys, mut rest) = (std::mem::take(&mut self.constant_keys), Vec::new());
        for term in &self.terms {
            match self.key(term) {
                Some(key) => keys.push(key),
                None => rest.push(term.clone()),
            }
        }
        (keys, conjunction(rest))
    }

    /// Removes, for each given column of the right input, a term which says that it equals a value of the left input;
    /// returns these pairs. Returns `None` if a column has no such term.
    pub(super) fn take_keys(&mut self, columns: &[usize]) -> Option<Vec<JoinKey>> {
        let mut keys = Vec::new();
        for column in columns {
            let of_column =
                |term: &Typed| self.key(term).filter(|key| widened_column(&key.right) == Some(*column));
            let at = self.terms.iter().position(|term| of_column(term).is_some())?;
            keys.push(of_column(&self.terms[at])?);
            self.terms.remove(at);
        }
        Some(keys)
    }

    /// Turns the terms which say that a value of the right input equals a constant into keys of the join. Returns
    /// whether there is such a key.
    pub(super) fn take_constant_keys(&mut self) -> bool {
        let terms = std::mem::take(&mut self.terms);
        for term in terms {
            match self.constant_key(&term) {
                Some(key) => self.constant_keys.push(key),
                None => self.terms.push(term),
            }
        }
        !self.constant_keys.is_empty()
    }

    fn constant_key(&self, term: &Typed) -> Option<JoinKey> {
        let (Call::Compare(ComparisonOp::Eq), one, other) = call(term)? else { return None };
        let is_constant = |value: &Typed| value.as_literal().is_some();
        let (constant, right) = match (is_constant(one), is_constant(other)) {
            (true, false) => (one, other),
            (false, true) => (other, one),
            _ => return None,
        };
        let is_fit = self.side(right) == Some(Side::Right)
            && constant.of.arrow() == right.of.arrow()
            && right.is_deterministic();
        is_fit.then(|| JoinKey {
            left: constant.clone(),
            right: right.replaced(&|place| self.own(place)),
            is_null_equal: false,
        })
    }

    /// Returns a column of the right input as an expression over the right input alone.
    fn own(&self, place: usize) -> Typed {
        let column = &self.columns[place];
        Typed::column(place - self.width, column.of.clone(), column.is_nullable)
    }

    /// Returns whether a term says that values of both inputs are equal.
    pub(super) fn has_keys(&self) -> bool {
        self.terms.iter().any(|term| self.key(term).is_some())
    }

    /// Returns the AND of the terms that were not removed; `None` if none is left.
    pub(super) fn rest(self) -> Option<Typed> {
        conjunction(self.terms)
    }

    fn side(&self, value: &Typed) -> Option<Side> {
        let (mut left, mut right) = (false, false);
        value.columns(&mut |place| if place < self.width { left = true } else { right = true });
        match (left, right) {
            (true, false) => Some(Side::Left),
            (false, true) => Some(Side::Right),
            _ => None,
        }
    }

    /// Returns the indexes of a left and a right column if the term says that they are equal.
    fn equal_columns(&self, term: &Typed) -> Option<(usize, usize)> {
        let (Call::Compare(ComparisonOp::Eq), left, right) = call(term)? else { return None };
        let (left, right) = (left.as_column()?, right.as_column()?);
        let (left, right) = (left.min(right), left.max(right));
        (left < self.width && self.width <= right).then_some((left, right))
    }

    /// Returns the pair of values, one of each input, that the term says are equal; `None` if it is no such term.
    /// Both must have the same Arrow type, because rows are found by hashes of the values' bits.
    fn key(&self, term: &Typed) -> Option<JoinKey> {
        let (call, one, other) = call(term)?;
        let is_null_equal = match call {
            Call::Compare(ComparisonOp::Eq) => false,
            Call::Compare(ComparisonOp::IsNotDistinctFrom) => true,
            _ => return None,
        };
        let (left, right) = match (self.side(one)?, self.side(other)?) {
            (Side::Left, Side::Right) => (one, other),
            (Side::Right, Side::Left) => (other, one),
            _ => return None,
        };
        let is_fit =
            left.of.arrow() == right.of.arrow() && left.is_deterministic() && right.is_deterministic();
        let own = |place: usize| self.own(place);
        is_fit.then(|| JoinKey { left: left.clone(), right: right.replaced(&own), is_null_equal })
    }

    /// Returns the bound that a comparison of event times, or of processing times, of both inputs sets on `right - left`;
    /// `None` for other terms.
    fn bound(&self, term: &Typed) -> Option<Bound> {
        let (Call::Compare(op), one, other) = call(term)? else { return None };
        let ((one, one_ms), (other, other_ms)) = (linear(one)?, linear(other)?);
        let (one, other) = (one?, other?);
        let [one_role, other_role] = [one, other].map(|place| &self.columns[place].role);
        let is_comparable = match one_role {
            Role::Rowtime => *other_role == Role::Rowtime,
            role => role.is_proctime() && other_role.is_proctime(),
        };
        if !is_comparable {
            return None;
        }
        let (times, span_ms, op) = match (one < self.width, other < self.width) {
            (true, false) => ((one, other), one_ms.checked_sub(other_ms)?, *op),
            (false, true) => ((other, one), other_ms.checked_sub(one_ms)?, op.turned()),
            _ => return None,
        };
        let (lower_ms, upper_ms) = match op {
            ComparisonOp::Eq => (Some(span_ms), Some(span_ms)),
            ComparisonOp::LtEq => (Some(span_ms), None),
            ComparisonOp::Lt => (Some(span_ms.checked_add(1)?), None),
            ComparisonOp::GtEq => (None, Some(span_ms)),
            ComparisonOp::Gt => (None, Some(span_ms.checked_sub(1)?)),
            ComparisonOp::NotEq | ComparisonOp::IsDistinctFrom | ComparisonOp::IsNotDistinctFrom => {
                return None;
            }
        };
        Some(Bound { times, lower_ms, upper_ms })
    }
}

/// Bound of one term on the time of the right input minus that of the left one, in milliseconds, included;
/// `None` for a side without a bound. `times` are the indexes of the two time columns among the columns of both
/// inputs.
struct Bound {
    times: (usize, usize),
    lower_ms: Option<i64>,
    upper_ms: Option<i64>,
}

/// Returns a call of two arguments; `None` for other expressions.
fn call(term: &Typed) -> Option<(&Call, &Typed, &Typed)> {
    match &term.expression {
        Expression::Call { call, arguments, .. } => match &arguments[..] {
            [left, right] => Some((call, left, right)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the index of the column that a value is, or that a cast widens from one integer type to another. Values
/// are equal if and only if the columns are.
fn widened_column(value: &Typed) -> Option<usize> {
    match &value.expression {
        Expression::Call { call: Call::Cast { .. }, arguments, .. } if value.of.is_integer() => {
            let inner = arguments.first().filter(|inner| inner.of.is_integer())?;
            let is_widened = common_type(&inner.of, &value.of).as_ref() == Some(&value.of);
            inner.as_column().filter(|_| is_widened)
        }
        _ => value.as_column(),
    }
}

/// Returns a time as a column, by its index, and the milliseconds added to it. A span alone has no column. `None` for
/// other expressions.
fn linear(value: &Typed) -> Option<(Option<usize>, i64)> {
    if let Some(place) = value.as_column() {
        return Some((Some(place), 0));
    }
    if let Some(ScalarValue::DurationMillisecond(Some(span_ms))) = value.as_literal() {
        return Some((None, *span_ms));
    }
    let (Call::Arithmetic(op), left, right) = call(value)? else { return None };
    let ((left, left_ms), (right, right_ms)) = (linear(left)?, linear(right)?);
    match (op, right) {
        (ArithmeticOp::Add, right) if left.is_none() || right.is_none() => {
            Some((left.or(right), left_ms.checked_add(right_ms)?))
        }
        (ArithmeticOp::Subtract, None) => Some((left, left_ms.checked_sub(right_ms)?)),
        _ => None,
    }
}

fn conjunction(mut terms: Vec<Typed>) -> Option<Typed> {
    match terms.len().cmp(&1) {
        Ordering::Less => None,
        Ordering::Equal => terms.pop(),
        Ordering::Greater => {
            let is_nullable = terms.iter().any(|term| term.is_nullable);
            Some(Typed { expression: Expression::And(terms), of: SqlType::Boolean, is_nullable })
        }
    }
}
