//! The condition of a join, term by term: which say what must be equal, which say how near in time, and the rest.

use std::cmp::Ordering;

use datafusion_common::ScalarValue;
use thalweg_sql_exec::exec::join::Side;
use thalweg_sql_exec::plan::Column;
use thalweg_sql_functions::expression::{Expression, Typed};
use thalweg_sql_functions::types::{SqlType, common_type};

use super::super::expression::is_cast;
use super::{JoinKey, Role, WindowPlaces, are_alike};

/// What all must hold, over the columns of the left, then those of the right.
pub(super) struct Terms<'a> {
    columns: &'a [Column],
    /// How many columns are those of the left.
    width: usize,
    terms: Vec<Typed>,
    /// Values of the right that must be equal to one and the same value for all rows of the left.
    constant_keys: Vec<JoinKey>,
}

/// How near event times of both sides are.
pub(super) struct Bounds {
    pub(super) left_time: usize,
    pub(super) right_time: usize,
    pub(super) lower_ms: i64,
    pub(super) upper_ms: i64,
}

impl<'a> Terms<'a> {
    pub(super) fn new(columns: &'a [Column], width: usize) -> Self {
        Terms { columns, width, terms: Vec::new(), constant_keys: Vec::new() }
    }

    /// Adds a condition, whose parts are terms of their own if they must all hold.
    pub(super) fn add(&mut self, condition: Typed) {
        match condition.expression {
            Expression::And(terms) => terms.into_iter().for_each(|term| self.add(term)),
            Expression::Literal(ScalarValue::Boolean(Some(true))) => {}
            expression => self.terms.push(Typed { expression, ..condition }),
        }
    }

    /// The columns of the windows of both sides, if it is said that those are equal, and they are cut alike.
    /// Tells whether they are cut by the clocks of the session's zone.
    pub(super) fn take_windows(&mut self) -> Option<([WindowPlaces; 2], bool)> {
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
        let is_local = windows(left_end, false).is_some_and(|windows| windows.is_local);
        self.terms.remove(start.max(end));
        self.terms.remove(start.min(end));
        let places = [
            WindowPlaces { start: left_start, end: left_end },
            WindowPlaces { start: right_start - self.width, end: right_end - self.width },
        ];
        Some((places, is_local))
    }

    /// How near event times are, if it is said from both sides.
    pub(super) fn take_bounds(&mut self) -> Option<Bounds> {
        let found: Vec<Option<Bound>> = self.terms.iter().map(|term| self.bound(term)).collect();
        let both = |bound: &Bound| {
            let same = || found.iter().flatten().filter(|other| other.times == bound.times);
            same().any(|bound| bound.lower_ms.is_some()) && same().any(|bound| bound.upper_ms.is_some())
        };
        let times = found.iter().flatten().find(|bound| both(bound))?.times;
        let is_one = |bound: &&Bound| bound.times == times;
        let used = || found.iter().flatten().filter(is_one);
        let bounds = Bounds {
            left_time: times.0,
            right_time: times.1 - self.width,
            lower_ms: used().filter_map(|bound| bound.lower_ms).max()?,
            upper_ms: used().filter_map(|bound| bound.upper_ms).min()?,
        };
        let mut is_used = found.iter().map(|bound| bound.as_ref().is_some_and(|bound| bound.times == times));
        self.terms.retain(|_| !is_used.next().unwrap_or(false));
        Some(bounds)
    }

    /// What must be equal, and what else must hold.
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

    /// What must be equal to those columns of the right, one each, and what else must hold; none if a column lacks its
    /// equal.
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

    /// Takes out the terms which say that a value of the right is equal to a constant, as keys; false if there are none.
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
        let ("=", one, other) = call(term)? else { return None };
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

    /// A column of the right, as an expression over the right alone.
    fn own(&self, place: usize) -> Typed {
        let column = &self.columns[place];
        Typed::column(place - self.width, column.of.clone(), column.is_nullable)
    }

    /// Whether anything must be equal.
    pub(super) fn has_keys(&self) -> bool {
        self.terms.iter().any(|term| self.key(term).is_some())
    }

    /// All that must hold beside what was taken out.
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

    /// The places of a column of either side that are said to be equal.
    fn equal_columns(&self, term: &Typed) -> Option<(usize, usize)> {
        let ("=", left, right) = call(term)? else { return None };
        let (left, right) = (left.as_column()?, right.as_column()?);
        let (left, right) = (left.min(right), left.max(right));
        (left < self.width && self.width <= right).then_some((left, right))
    }

    /// An equality of values of both sides, which are found by hash: so they are of one type, which equals by its bits.
    fn key(&self, term: &Typed) -> Option<JoinKey> {
        let (name, one, other) = call(term)?;
        let is_null_equal = match name {
            "=" => false,
            "IS NOT DISTINCT FROM" => true,
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

    /// What a comparison of event times of both sides says of `right - left`.
    fn bound(&self, term: &Typed) -> Option<Bound> {
        let (name, one, other) = call(term)?;
        let ((one, one_ms), (other, other_ms)) = (linear(one)?, linear(other)?);
        let (one, other) = (one?, other?);
        let is_time = |place: usize| self.columns[place].role == Role::Rowtime;
        if !is_time(one) || !is_time(other) {
            return None;
        }
        let (times, span_ms, name) = match (one < self.width, other < self.width) {
            (true, false) => ((one, other), one_ms.checked_sub(other_ms)?, name),
            (false, true) => ((other, one), other_ms.checked_sub(one_ms)?, turned(name)),
            _ => return None,
        };
        let (lower_ms, upper_ms) = match name {
            "=" => (Some(span_ms), Some(span_ms)),
            "<=" => (Some(span_ms), None),
            "<" => (Some(span_ms.checked_add(1)?), None),
            ">=" => (None, Some(span_ms)),
            ">" => (None, Some(span_ms.checked_sub(1)?)),
            _ => return None,
        };
        Some(Bound { times, lower_ms, upper_ms })
    }
}

/// From below or from above, how far a time of the right may lie behind one of the left; both are places of columns.
struct Bound {
    times: (usize, usize),
    lower_ms: Option<i64>,
    upper_ms: Option<i64>,
}

fn call(term: &Typed) -> Option<(&str, &Typed, &Typed)> {
    match &term.expression {
        Expression::Call { name, arguments, .. } => match &arguments[..] {
            [left, right] => Some((name, left, right)),
            _ => None,
        },
        _ => None,
    }
}

/// The column that a value is, or that is a whole number widened to it: either way equal values are of equal columns.
fn widened_column(value: &Typed) -> Option<usize> {
    match &value.expression {
        Expression::Call { name, arguments, .. } if is_cast(name) && value.of.is_integer() => {
            let inner = arguments.first().filter(|inner| inner.of.is_integer())?;
            let is_widened = common_type(&inner.of, &value.of).as_ref() == Some(&value.of);
            inner.as_column().filter(|_| is_widened)
        }
        _ => value.as_column(),
    }
}

fn turned(name: &str) -> &str {
    match name {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        other => other,
    }
}

/// A column and a span that is added to it, or a span alone.
fn linear(value: &Typed) -> Option<(Option<usize>, i64)> {
    if let Some(place) = value.as_column() {
        return Some((Some(place), 0));
    }
    if let Some(ScalarValue::DurationMillisecond(Some(span_ms))) = value.as_literal() {
        return Some((None, *span_ms));
    }
    let (name, left, right) = call(value)?;
    let ((left, left_ms), (right, right_ms)) = (linear(left)?, linear(right)?);
    match (name, right) {
        ("+", right) if left.is_none() || right.is_none() => {
            Some((left.or(right), left_ms.checked_add(right_ms)?))
        }
        ("-", None) => Some((left, left_ms.checked_sub(right_ms)?)),
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
