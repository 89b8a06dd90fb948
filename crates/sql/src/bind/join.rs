//! Joins become plans: what must be equal, what else must hold, and by what the rows that wait for others are bounded.
//!
//! | the condition says | the join is |
//! |---|---|
//! | the right side is a table as of a time of the left | temporal by event time, or a look-up by processing time |
//! | both starts and both ends of like windows are equal | of windows |
//! | how near event times of both sides are, from below and from above | of intervals |
//! | anything else | regular, which needs a time to live |
//!
//! Conditions of WHERE above a join are part of it as far as that makes no difference, so `FROM a, b WHERE a.k = b.k` is the
//! join by `k`; conditions on one side are put below it, so that less waits. What the planner made of IN and EXISTS are semi
//! and anti joins; of NOT IN, a condition that is not FALSE: a NULL on either side keeps a row from coming out.
//!
//! Columns keep their role where rows come out in time for it: those of windows behind a join of windows, event times behind
//! one of intervals, and all of the left behind a look-up; columns that may be filled with NULL lose it.
//!
//! Source: Flink's documentation, "Joins" and "Window JOIN".

use datafusion_common::tree_node::TreeNode;
use datafusion_common::{DFSchema, JoinType, NullEquality};
use datafusion_expr::logical_plan::Join as LogicalJoin;
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use thalweg_sql_exec::plan::{
    Column, Join, JoinKey, JoinKind, JoinMethod, Node, Plan, Role, WindowPlaces, WindowSpec, Windows,
};
use thalweg_sql_functions::expression::{Expression, State, Typed};
use thalweg_sql_functions::functions;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::{Code, SqlError};

use super::changelog::changes;
use super::expression::{ARITHMETIC, Scope, place_of};
use super::query::{Lowering, ranked};
use crate::text::interval::{MILLIS, MONTHS};

mod terms;
#[cfg(test)]
mod tests;
mod version;

use terms::{Bounds, Terms};

type Result<T> = std::result::Result<T, SqlError>;

/// Which side of a join a condition is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Left,
    Right,
    Both,
}

impl Lowering<'_> {
    /// The rows of a query for which conditions hold.
    ///
    /// # Errors
    /// [`SqlError`] for the first thing that is wrong.
    pub(super) fn under(&self, logical: &LogicalPlan, conditions: Vec<Expr>) -> Result<Plan> {
        match logical {
            LogicalPlan::Join(join) => self.join(join, conditions),
            LogicalPlan::Filter(filter) if !conditions.is_empty() && is_join(&filter.input) => {
                let own = split_conjunction(&filter.predicate).into_iter().cloned();
                self.under(&filter.input, own.chain(conditions).collect())
            }
            _ => {
                let plan = self.plan(logical)?;
                self.kept(logical.schema(), plan, &conditions)
            }
        }
    }

    /// Only rows for which conditions hold.
    fn kept(&self, schema: &DFSchema, plan: Plan, conditions: &[Expr]) -> Result<Plan> {
        let scope = Scope::new(schema, &plan.columns);
        let bound = conditions.iter().map(|condition| self.expressions.bind_condition(condition, &scope));
        let bound: Vec<Typed> = bound.collect::<Result<_>>()?;
        Ok(bound.into_iter().fold(plan, ranked))
    }

    /// A join under conditions.
    fn join(&self, join: &LogicalJoin, above: Vec<Expr>) -> Result<Plan> {
        let (kind, is_turned) = match join.join_type {
            JoinType::Inner => (JoinKind::Inner, false),
            JoinType::Left => (JoinKind::Left, false),
            JoinType::Right => (JoinKind::Right, false),
            JoinType::Full => (JoinKind::Full, false),
            JoinType::LeftSemi => (JoinKind::Semi, false),
            JoinType::RightSemi => (JoinKind::Semi, true),
            JoinType::LeftAnti => (JoinKind::Anti, false),
            JoinType::RightAnti => (JoinKind::Anti, true),
            JoinType::LeftMark | JoinType::RightMark => {
                let message = "IN and EXISTS stand beside other conditions under OR, NOT or CASE";
                let error = SqlError::new(Code::Unsupported, message);
                return Err(error.help("write them as conditions of WHERE, joined by AND"));
            }
        };
        let (left, right) = if is_turned { (&join.right, &join.left) } else { (&join.left, &join.right) };
        let version = version::version_of(right);
        if let Some(version) = version::version_of(left) {
            let error = SqlError::new(Code::Invalid, "a table as of a time stands on the right of a join");
            return Err(error.at(version.place).help("turn the sides around"));
        }
        let mut own = own_conditions(join);
        // Of NOT IN, whether the value is among the others; a NULL leaves that open, and then the row does not come out.
        let membership = if join.null_aware && !own.is_empty() { Some(own.remove(0)) } else { None };

        // Where conditions go that are about one side only.
        let (mut of_left, mut of_right, mut of_both, mut behind) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let is_inner = kind == JoinKind::Inner;
        let drops_left = matches!(kind, JoinKind::Inner | JoinKind::Right | JoinKind::Semi);
        let drops_right = matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
        for condition in own {
            match about(&condition, left.schema(), right.schema()) {
                About::Left if drops_left => of_left.push(condition),
                // What is left out of a table of versions would make way for the version before it.
                About::Right if drops_right && version.is_none() => of_right.push(condition),
                _ => of_both.push(condition),
            }
        }
        for condition in above {
            match about(&condition, left.schema(), right.schema()) {
                About::Left if !kind.keeps_right() => of_left.push(condition),
                About::Right if matches!(kind, JoinKind::Inner | JoinKind::Right) && version.is_none() => {
                    of_right.push(condition);
                }
                _ if is_inner => of_both.push(condition),
                _ => behind.push(condition),
            }
        }
        let place = of_both.iter().find_map(place_of);

        let left_plan = self.under(left, of_left)?;
        let versions = match version {
            None => None,
            Some(version) => Some(self.versions(version, left.schema(), &left_plan)?),
        };
        let (right_plan, versions) = match versions {
            Some((plan, versions)) => (plan, Some(versions)),
            None => (self.under(right, of_right)?, None),
        };
        let schema = left.schema().join(right.schema()).map_err(super::sql_error)?;
        let columns: Vec<Column> = left_plan.columns.iter().chain(&right_plan.columns).cloned().collect();
        let scope = Scope::new(&schema, &columns);
        let mut terms = Terms::new(&columns, left_plan.columns.len());
        for condition in &of_both {
            terms.add(self.expressions.bind_condition(condition, &scope)?);
        }
        if let Some(membership) = membership {
            let is_member = self.expressions.bind_condition(&membership, &scope)?;
            let expression = Expression::Is(Box::new(is_member), State::NotFalse);
            terms.add(Typed { expression, of: SqlType::Boolean, is_nullable: false });
        }

        let (method, keys, condition) = match versions {
            Some(versions) => versions.join(kind, terms)?,
            None => {
                let inputs = [&left_plan, &right_plan];
                let what = match (kind, join.null_equality) {
                    (JoinKind::Semi, NullEquality::NullEqualsNull) => "INTERSECT",
                    (JoinKind::Anti, NullEquality::NullEqualsNull) => "EXCEPT",
                    (kind, _) if kind.is_half() => "IN or EXISTS",
                    _ => "a join",
                };
                let method = self.method(what, &mut terms, inputs).map_err(|error| error.at(place))?;
                let (keys, condition) = terms.finish();
                (method, keys, condition)
            }
        };
        let names = join.schema.fields().iter().map(|field| field.name().clone());
        let columns = results(kind, &method, [&left_plan.columns, &right_plan.columns], names);
        let join = Join { kind, method, keys, condition };
        let plan = Plan {
            columns,
            node: Node::Join { left: Box::new(left_plan), right: Box::new(right_plan), join },
        };
        if behind.is_empty() {
            return Ok(plan);
        }
        let left_schema = left.schema();
        self.kept(if kind.is_half() { left_schema } else { &schema }, plan, &behind)
    }

    /// By what the rows that wait of `what` are bounded; what says so is taken out of the terms.
    fn method(&self, what: &str, terms: &mut Terms<'_>, inputs: [&Plan; 2]) -> Result<JoinMethod> {
        if let Some(([left, right], is_local)) = terms.take_windows() {
            return Ok(JoinMethod::Window { left, right, is_local });
        }
        if inputs.iter().all(|input| changes(input).is_none())
            && let Some(bounds) = terms.take_bounds()
        {
            let Bounds { left_time, right_time, lower_ms, upper_ms } = bounds;
            return Ok(JoinMethod::Interval { left_time, right_time, lower_ms, upper_ms });
        }
        match self.binder.state_ttl_ms {
            Some(ttl_ms) => Ok(JoinMethod::Regular { ttl_ms }),
            None => {
                let message = format!("{what} without a bound in time remembers rows without bound");
                let error = SqlError::new(Code::UnboundedState, message);
                Err(error.help(
                    "say how near event times are (a.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts), join by window_start and \
                     window_end, or set how long rows are remembered: SET 'table.exec.state.ttl' = '1 h'",
                ))
            }
        }
    }
}

/// The conditions of a join itself, its equalities first.
fn own_conditions(join: &LogicalJoin) -> Vec<Expr> {
    let op = match join.null_equality {
        NullEquality::NullEqualsNothing => Operator::Eq,
        NullEquality::NullEqualsNull => Operator::IsNotDistinctFrom,
    };
    let equal = |(left, right): &(Expr, Expr)| {
        Expr::BinaryExpr(BinaryExpr::new(Box::new(left.clone()), op, Box::new(right.clone())))
    };
    let others = join.filter.iter().flat_map(|filter| split_conjunction(filter)).cloned();
    if join.null_aware {
        return others.chain(join.on.iter().map(equal)).collect();
    }
    join.on.iter().map(equal).chain(others).collect()
}

fn is_join(logical: &LogicalPlan) -> bool {
    match logical {
        LogicalPlan::Join(_) => true,
        LogicalPlan::Filter(filter) => is_join(&filter.input),
        _ => false,
    }
}

/// Which side a condition may be moved to.
fn about(condition: &Expr, left: &DFSchema, right: &DFSchema) -> About {
    let columns = condition.column_refs();
    if columns.is_empty() || !is_movable(condition) {
        About::Both
    } else if columns.iter().all(|column| left.has_column(column)) {
        About::Left
    } else if columns.iter().all(|column| right.has_column(column)) {
        About::Right
    } else {
        About::Both
    }
}

/// Whether a condition gives the same wherever it is evaluated.
fn is_movable(condition: &Expr) -> bool {
    let is_open = condition.exists(|inner| {
        Ok(match inner {
            Expr::ScalarFunction(function) => {
                let name = function.func.name();
                let is_own =
                    name == MILLIS || name == MONTHS || ARITHMETIC.iter().any(|(symbol, _)| *symbol == name);
                let known = || functions::all().find(|known| known.name.eq_ignore_ascii_case(name));
                !is_own && known().is_none_or(|known| !known.is_deterministic)
            }
            Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_) => true,
            Expr::OuterReferenceColumn(..) | Expr::WindowFunction(_) | Expr::AggregateFunction(_) => true,
            _ => false,
        })
    });
    !is_open.unwrap_or(true)
}

/// What columns come out, and what they are to those behind.
fn results(
    kind: JoinKind,
    method: &JoinMethod,
    [left, right]: [&[Column]; 2],
    names: impl Iterator<Item = String>,
) -> Vec<Column> {
    let role = |is_left: bool, place: usize, column: &Column| {
        let is_padded = if is_left { kind.keeps_right() } else { kind.keeps_left() };
        let is_kept = match (&column.role, method) {
            (Role::Plain, _) => true,
            (_, _) if is_padded => false,
            (Role::Proctime, _) => true,
            (Role::WindowStart(_) | Role::WindowEnd(_), JoinMethod::Window { .. }) => true,
            // The time of the window is the same on both sides, and one event time is enough.
            (Role::Rowtime, JoinMethod::Window { .. }) => {
                is_left || kind == JoinKind::Right || left.iter().all(|column| column.role != Role::Rowtime)
            }
            (Role::Rowtime, JoinMethod::Interval { left_time, right_time, .. }) => {
                place == if is_left { *left_time } else { *right_time }
            }
            (Role::Rowtime, JoinMethod::Temporal { left_time, .. }) => is_left && place == *left_time,
            (_, JoinMethod::Lookup) => is_left,
            (_, _) => false,
        };
        if is_kept { column.role.clone() } else { Role::Plain }
    };
    let made = |is_left: bool, (place, column): (usize, &Column)| {
        let is_padded = if is_left { kind.keeps_right() } else { kind.keeps_left() };
        Column {
            name: column.name.clone(),
            of: column.of.clone(),
            is_nullable: column.is_nullable || is_padded,
            role: role(is_left, place, column),
        }
    };
    let of_left = left.iter().enumerate().map(|column| made(true, column));
    let of_right = right.iter().enumerate().map(|column| made(false, column)).filter(|_| !kind.is_half());
    of_left.chain(of_right).zip(names).map(|(column, name)| Column { name, ..column }).collect()
}

/// Whether windows are cut alike, and by the same clocks. Sessions are by the rows of their keys, whose places differ from input
/// to input.
fn are_alike(left: &Windows, right: &Windows) -> bool {
    left.is_local == right.is_local
        && match (&*left.spec, &*right.spec) {
            (WindowSpec::Session { gap_ms: left, .. }, WindowSpec::Session { gap_ms: right, .. }) => {
                left == right
            }
            (left, right) => left == right,
        }
}
