//! Sub-queries in conditions: `[NOT] EXISTS (query)` and `x [NOT] IN (query)` become semi and anti joins with the rows of
//! the query around.
//!
//! Conditions of a sub-query that read columns of the query around are pulled up, and become conditions of the join. What
//! they read of the sub-query is a column of it, in front of or behind its results. A GROUP BY between lets only `inner =
//! outer` pass: the inner side is a further key then, which changes nothing for the rows that match.
//!
//! A sub-query that aggregates without GROUP BY has a row even if its input has none, and so for each row of the query around;
//! it reads the query around by a domain ([`super::domain`]). EXISTS of it is TRUE.
//!
//! Source: SQL:2016, 8.4 (in predicate) and 8.10 (exists predicate).

use sqlparser::ast::Expr;
use thalweg_sql_exec::plan::{Column, JoinKind, Plan};
use thalweg_sql_functions::expression::{Call, Expression, Typed};
use thalweg_sql_functions::functions::compare::ComparisonOp;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::aggregate::Groups;
use super::expression::Test;
use super::relation::{Condition, OpenJoin, Source};
use super::scope::{Base, Scope, reads_outer};
use super::select::{Around, Demands, Selected};
use super::syntax::{said, without_brackets};

type Result<T> = std::result::Result<T, SqlError>;

/// Question that a query asks about the rows of a sub-query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    /// Whether there is a row (EXISTS).
    Exists,
    /// Whether a value is among the rows (IN).
    In,
    /// The value in the only row.
    Scalar,
    /// The rows themselves, for a sub-query of FROM.
    Rows,
}

impl Asked {
    /// Returns whether a LIMIT, of rows to leave out and to let pass, changes the answer.
    pub(super) fn needs_limit(self, (skip, fetch): (u64, u64)) -> bool {
        self != Asked::Exists || skip > 0 || fetch == 0
    }
}

/// Answer to a condition IN or EXISTS.
pub(super) enum Answer {
    /// A semi or anti join tells for each row.
    Join(Box<Tested>),
    /// The answer is the same for all rows, whatever the tables have.
    Known(bool),
}

/// A condition IN or EXISTS with its planned sub-query.
pub(super) struct Tested {
    kind: JoinKind,
    plan: Plan,
    /// Conditions of the join. Columns of the query around begin at [`Base::Outer`].
    on: Vec<Condition>,
    membership: Option<Condition>,
}

impl Tested {
    /// Joins the rows of the query around with those of the sub-query. `real` gives the index in `source` of each column
    /// that a condition reads.
    pub(super) fn join(self, source: Source, real: &impl Fn(usize) -> usize) -> Source {
        let width = source.columns().len();
        let moved = |Condition { value, at }: Condition| {
            let value = value.with_columns(&|place| match Base::Outer.of(place) {
                Some(outer) => real(outer),
                None => width + place,
            });
            Condition { value, at }
        };
        let open = OpenJoin::new(self.kind, source, Source::Plan(self.plan));
        Source::Join(Box::new(OpenJoin {
            on: self.on.into_iter().map(moved).collect(),
            membership: self.membership.map(moved),
            ..open
        }))
    }
}

impl Planner<'_> {
    /// Plans a condition IN or EXISTS over the columns of a scope.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault.
    pub(super) fn tested(&self, test: &Test<'_>, scope: &Scope<'_>, at: Option<Place>) -> Result<Answer> {
        let asked = if test.value.is_some() { Asked::In } else { Asked::Exists };
        let around = Around { scope, asked, is_readable: true, demands: Demands::Nothing };
        let Selected { queried, pulled, has_row, .. } =
            self.rows_of(test.query, Some(around)).map_err(|error| error.at(at))?;
        if asked == Asked::Exists && has_row {
            return Ok(Answer::Known(!test.is_negated));
        }
        let values: Vec<&Expr> = match test.value.map(without_brackets) {
            None => Vec::new(),
            Some(Expr::Tuple(values)) => values.iter().collect(),
            Some(value) => vec![value],
        };
        if asked == Asked::In && queried.names.columns.len() != values.len() {
            let message = match values.len() {
                1 => "a sub-query of IN or beside an operator has one column: write a join, or EXISTS"
                    .to_owned(),
                count => format!(
                    "{count} values are looked for in a sub-query with {} columns",
                    queried.names.columns.len()
                ),
            };
            return Err(SqlError::new(Code::Invalid, message).at(at));
        }
        let mut on = Vec::new();
        let mut is_known = true;
        for (place, value) in values.into_iter().enumerate() {
            let typed = self.bind(value, scope)?;
            if reads_outer(&typed) {
                return Err(said_outer_left(at));
            }
            let column = &queried.plan.columns[place];
            is_known &= !typed.is_nullable && !column.is_nullable;
            let typed = typed.with_columns(&|place| Base::Outer as usize + place);
            let other = Typed::column(place, column.of.clone(), column.is_nullable);
            let compared = self.typing.compare(ComparisonOp::Eq, typed, other);
            let compared = compared.map_err(|error| SqlError {
                message: format!("{} IN (..): {}", said(value), error.message),
                ..error.at(at)
            })?;
            on.push(Condition { value: compared, at });
        }
        // NOT IN is FALSE or NULL, and not TRUE, where a comparison is NULL.
        let membership = if test.is_negated && !is_known && !on.is_empty() {
            let terms = on.drain(..).map(|condition| condition.value).collect();
            super::typing::conjunction(terms).map(|value| Condition { value, at })
        } else {
            None
        };
        on.extend(pulled);
        let kind = if test.is_negated { JoinKind::Anti } else { JoinKind::Semi };
        Ok(Answer::Join(Box::new(Tested { kind, plan: queried.plan, on, membership })))
    }
}

/// Returns the error for a value that reads the query around on the left of IN or of a comparison with a sub-query.
pub(super) fn said_outer_left(at: Option<Place>) -> SqlError {
    let message = "a column of the query around stands beside IN, SOME or ALL of a query within a sub-query, which is not supported";
    let help = "compare it with MIN or MAX of the query, or write EXISTS";
    SqlError::new(Code::Unsupported, message).at(at).help(help)
}

/// Conditions of a sub-query that read columns of the query around, on their way up through its clauses.
pub(super) struct Pulled {
    conditions: Vec<Condition>,
    /// For each condition, if there is a GROUP BY: the side that reads the sub-query, if one does, and the key that it is.
    keys: Vec<Option<(Typed, usize)>>,
    /// Whether the sub-query is a value, so that it matters how often a row is there.
    pub(super) is_value: bool,
}

impl Pulled {
    pub(super) fn new(conditions: Vec<Condition>, is_value: bool) -> Self {
        Pulled { conditions, keys: Vec::new(), is_value }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Returns the values that must be keys of the GROUP BY above, so that the conditions can be tested behind it.
    ///
    /// # Errors
    /// [`Code::Unsupported`] for a condition other than `inner = outer`.
    pub(super) fn demand_keys(&mut self) -> Result<Vec<Typed>> {
        let mut demanded = Vec::new();
        for condition in &self.conditions {
            if !reads_inner(&condition.value) {
                self.keys.push(None);
                continue;
            }
            let inner = inner_side(&condition.value).ok_or_else(|| {
                let message = "a sub-query with GROUP BY compares with the query around it by = alone";
                SqlError::new(Code::Unsupported, message).at(condition.at).help("write a join")
            })?;
            demanded.push(inner.clone());
            self.keys.push(Some((inner.clone(), 0)));
        }
        Ok(demanded)
    }

    /// Notes which key each condition reads. Each is a key, since [`demand_keys`](Self::demand_keys) has demanded it.
    pub(super) fn read_keys(&mut self, groups: &Groups<'_>) {
        for (inner, key) in self.keys.iter_mut().flatten() {
            *key = groups.key_of(inner).unwrap_or_default();
        }
    }

    /// Makes the values that the conditions read columns of the projection above `plan`, and returns the conditions over
    /// its columns.
    pub(super) fn exposed(
        self,
        plan: &Plan,
        values: &mut Vec<Typed>,
        columns: &mut Vec<Column>,
    ) -> Vec<Condition> {
        let mut place_of = |place: usize| {
            let known = values.iter().position(|value| value.as_column() == Some(place));
            known.unwrap_or_else(|| {
                let column = plan.columns[place].clone();
                values.push(Typed::column(place, column.of.clone(), column.is_nullable));
                columns.push(column);
                values.len() - 1
            })
        };
        let mut keys = self.keys.into_iter();
        let mut made = Vec::new();
        for Condition { value, at } in self.conditions {
            let value = match keys.next().flatten() {
                Some((inner, key)) => {
                    let place = place_of(key);
                    let key = Typed::column(place, inner.of.clone(), inner.is_nullable);
                    with_inner_side(value, &key)
                }
                None => {
                    let mut read = Vec::new();
                    value.columns(&mut |place| read.push(place));
                    let mut places = std::collections::HashMap::new();
                    for place in read.into_iter().filter(|place| Base::Outer.of(*place).is_none()) {
                        places.insert(place, place_of(place));
                    }
                    value.with_columns(&|place| places.get(&place).copied().unwrap_or(place))
                }
            };
            made.push(Condition { value, at });
        }
        made
    }
}

/// Returns the columns of the sub-query that conditions `inner = outer` read; `None` for other conditions.
pub(super) fn keys_of(pulled: &[Condition]) -> Option<Vec<usize>> {
    let mut keys = Vec::with_capacity(pulled.len());
    for condition in pulled {
        let key = inner_side(&condition.value)?.as_column()?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    Some(keys)
}

/// Returns whether a condition reads columns of the sub-query.
fn reads_inner(condition: &Typed) -> bool {
    let mut reads = false;
    condition.columns(&mut |place| reads |= Base::Outer.of(place).is_none());
    reads
}

/// Returns the side of `inner = outer`, or of `inner IS NOT DISTINCT FROM outer`, that reads columns of the sub-query alone; `None` for other conditions.
pub(super) fn inner_side(condition: &Typed) -> Option<&Typed> {
    let Expression::Call {
        call: Call::Compare(ComparisonOp::Eq | ComparisonOp::IsNotDistinctFrom),
        arguments,
        ..
    } = &condition.expression
    else {
        return None;
    };
    let [left, right] = &arguments[..] else { return None };
    match (is_of_outer(left)?, is_of_outer(right)?) {
        (false, true) => Some(left),
        (true, false) => Some(right),
        _ => None,
    }
}

/// Returns whether all columns of a value are of the query around; `None` if it reads columns of both, or none.
fn is_of_outer(value: &Typed) -> Option<bool> {
    let (mut inner, mut outer) = (false, false);
    value.columns(&mut |place| match Base::Outer.of(place) {
        Some(_) => outer = true,
        None => inner = true,
    });
    (inner != outer).then_some(outer)
}

/// Returns `inner = outer` with another value in place of the inner side.
pub(super) fn with_inner_side(mut condition: Typed, value: &Typed) -> Typed {
    if let Expression::Call { arguments, .. } = &mut condition.expression {
        for argument in arguments {
            if is_of_outer(argument) == Some(false) {
                *argument = value.clone();
            }
        }
    }
    condition
}
