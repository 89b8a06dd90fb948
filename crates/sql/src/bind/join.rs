//! Plans of joins: the values that must be equal, the other conditions, and the bound on rows that wait for a match.
//!
//! | the condition says | the join is |
//! |---|---|
//! | the right side is a table as of a time of the left | temporal by event time, or a look-up by processing time |
//! | both starts and both ends of like windows are equal | of windows |
//! | how near event times of both sides are, from below and from above | of intervals |
//! | anything else | regular, which needs a time to live |
//!
//! Conditions of WHERE above a join become conditions of the join where that gives the same result, so `FROM a, b
//! WHERE a.k = b.k` is a join by `k`. Conditions on one input are applied before the join, so that fewer rows wait.
//! DataFusion's planner turns IN and EXISTS into semi and anti joins. For NOT IN, a pair of rows matches if its
//! comparison is not FALSE, so a NULL on either side prevents a row from being emitted.
//!
//! Columns keep their role (event time, start or end of a window) where the output of the join is in the order that
//! the role needs. These are the window columns after a window join, the event times after an interval join, and all
//! columns of the left input after a lookup join. Columns that may be padded with NULL lose their role.
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

/// Inputs of a join whose columns a condition reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Left,
    Right,
    Both,
}

impl Lowering<'_> {
    /// Plans a query with additional conditions on its rows, which become conditions of the join if the query is one.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault.
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

    /// Adds a filter by the given conditions to a plan.
    fn kept(&self, schema: &DFSchema, plan: Plan, conditions: &[Expr]) -> Result<Plan> {
        let scope = Scope::new(schema, &plan.columns);
        let bound = conditions.iter().map(|condition| self.expressions.bind_condition(condition, &scope));
        let bound: Vec<Typed> = bound.collect::<Result<_>>()?;
        let places = conditions.iter().map(place_of);
        Ok(bound.into_iter().zip(places).fold(plan, |plan, (condition, at)| ranked(plan, condition, at)))
    }

    /// Plans a join; `above` are the conditions of WHERE on its rows.
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
        // For NOT IN, the first condition compares the value with the others. If it is NULL, the row is not emitted.
        let membership = if join.null_aware && !own.is_empty() { Some(own.remove(0)) } else { None };

        // Lists of conditions by the place where they are applied: on the left input, on the right input, in the
        // join, and after the join.
        let (mut of_left, mut of_right, mut of_both, mut behind) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let is_inner = kind == JoinKind::Inner;
        let drops_left = matches!(kind, JoinKind::Inner | JoinKind::Right | JoinKind::Semi);
        let drops_right = matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
        for condition in own {
            match about(&condition, left.schema(), right.schema()) {
                About::Left if drops_left => of_left.push(condition),
                // If a condition removed a version of a row, the version before it would count as valid.
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
        let place = of_both.iter().chain(&membership).find_map(place_of);
        let at = version.and_then(|version| version.place).or(place);

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
        let node = Node::Join { left: Box::new(left_plan), right: Box::new(right_plan), join };
        let plan = Plan::new(columns, node).at(at);
        if behind.is_empty() {
            return Ok(plan);
        }
        let left_schema = left.schema();
        self.kept(if kind.is_half() { left_schema } else { &schema }, plan, &behind)
    }

    /// Returns the method of a join, which bounds how long rows wait for a match, and removes from `terms` the
    /// conditions that state the bound. `what` names the join in the error message.
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
            Some(ttl_ms) => Ok(JoinMethod::Regular { ttl_ms: Some(ttl_ms) }),
            None if inputs.into_iter().all(|input| self.binder.ends(input)) => {
                Ok(JoinMethod::Regular { ttl_ms: None })
            }
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

/// Returns the conditions of a join itself, its equalities first. For NOT IN (`null_aware`) the membership test is
/// first.
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

/// Returns the input of a join to which a condition may be moved; `Both` if it must stay in the join.
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

/// Returns whether a condition has the same value wherever it is evaluated: it has no sub-query, and none of its
/// functions is like RAND().
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

/// Returns the output columns of a join, each with the role that it has for operators above.
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
            // `window_time` is equal in both inputs, and the output should have one event time only.
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

/// Returns whether the windows of both inputs are cut by the same rule and in the same time zone. For sessions only
/// the gaps are compared, because the indexes of their key columns may differ between the inputs.
fn are_alike(left: &Windows, right: &Windows) -> bool {
    left.is_local == right.is_local
        && match (&*left.spec, &*right.spec) {
            (WindowSpec::Session { gap_ms: left, .. }, WindowSpec::Session { gap_ms: right, .. }) => {
                left == right
            }
            (left, right) => left == right,
        }
}
