//! Plans of joins: the values that must be equal, the other conditions, and the bound on rows that wait for a match.
//!
//! | the condition says | the join is |
//! |---|---|
//! | the right side is a table as of a time of the left | temporal by event time, or a look-up by processing time |
//! | both starts and both ends of like windows are equal | of windows |
//! | how near event times, or processing times, of both sides are, from below and from above | of intervals |
//! | anything else | regular, which needs a time to live |
//!
//! Conditions of WHERE above a join become conditions of the join where that gives the same result, so `FROM a, b
//! WHERE a.k = b.k` is a join by `k`. Conditions on one input are applied before the join, so that fewer rows wait.
//! IN and EXISTS become semi and anti joins. For NOT IN, a pair of rows matches if its
//! comparison is not FALSE, so a NULL on either side prevents a row from being emitted.
//!
//! Columns keep their role (event time, start or end of a window) where the output of the join is in the order that
//! the role needs. These are the window columns after a window join, the event times after an interval join, and all
//! columns of the left input after a lookup join. Columns that may be padded with NULL lose their role.
//!
//! Source: Flink's documentation, "Joins" and "Window JOIN".

use thalweg_sql_exec::plan::{
    Column, Join, JoinKey, JoinKind, JoinMethod, Node, Plan, Role, TimeDomain, WindowPlaces, WindowSpec,
    Windows,
};
use thalweg_sql_functions::expression::{State, Typed};
use thalweg_sql_tables::error::{Place, SqlError};

use super::Planner;
use super::changelog::changes;
use super::ranks::ranked;
use super::relation::{Condition, OpenJoin, Source};
use super::syntax::not_supported;
use super::typing::{conjunction, is};

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

impl Planner<'_> {
    /// Plans the rows of a source for which conditions hold. They become conditions of the join if the source is one, or
    /// of the join below an UNNEST.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault.
    pub(super) fn closed(&self, source: Source, conditions: Vec<Condition>) -> Result<Plan> {
        match source {
            Source::Join(join) => self.closed_join(*join, conditions),
            Source::Unnest(unnest) => self.closed_unnest(*unnest, conditions),
            Source::Plan(plan) => Ok(kept(plan, conditions)),
        }
    }

    /// Plans a join; `above` are the conditions of WHERE on its rows.
    fn closed_join(&self, join: OpenJoin, above: Vec<Condition>) -> Result<Plan> {
        let OpenJoin { kind, left, right, on, membership, as_of, ttl_ms, columns: _ } = join;
        let width = left.columns().len();
        // Lists of conditions by the place where they are applied: on the left input, on the right input, in the
        // join, and after the join.
        let (mut of_left, mut of_right, mut of_both, mut behind) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let is_inner = kind == JoinKind::Inner;
        let drops_left = matches!(kind, JoinKind::Inner | JoinKind::Right | JoinKind::Semi);
        let drops_right = matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
        let shifted = |condition: Condition| Condition {
            value: condition.value.with_columns(&|place| place - width),
            ..condition
        };
        for condition in on {
            match about(&condition.value, width) {
                About::Left if drops_left => of_left.push(condition),
                // If a condition removed a version of a row, the version before it would count as valid.
                About::Right if drops_right && as_of.is_none() => of_right.push(shifted(condition)),
                _ => of_both.push(condition),
            }
        }
        for condition in above {
            match about(&condition.value, width) {
                About::Left if !kind.keeps_right() => of_left.push(condition),
                About::Right if matches!(kind, JoinKind::Inner | JoinKind::Right) && as_of.is_none() => {
                    of_right.push(shifted(condition));
                }
                _ if is_inner => of_both.push(condition),
                _ => behind.push(condition),
            }
        }
        let place = of_both.iter().chain(&membership).find_map(|condition| condition.at);
        let at = as_of.and_then(|(_, place)| place).or(place);

        let left_plan = self.closed(left, of_left)?;
        let right_plan = self.closed(right, of_right)?;
        let (right_plan, versions) = match as_of {
            None => (right_plan, None),
            Some((time, place)) => {
                let (plan, versions) = version::versions(time, place, &left_plan, right_plan)?;
                (plan, Some(versions))
            }
        };
        let columns: Vec<Column> = left_plan.columns.iter().chain(&right_plan.columns).cloned().collect();
        let mut terms = Terms::new(&columns, width);
        of_both.into_iter().for_each(|condition| terms.add(condition.value));
        if let Some(membership) = membership {
            terms.add(is(membership.value, State::NotFalse));
        }
        let (method, keys, condition) = match versions {
            Some(versions) => versions.join(kind, terms)?,
            None => {
                let method = self.method(&mut terms, [&left_plan, &right_plan], ttl_ms, at)?;
                let (keys, condition) = terms.finish();
                (method, keys, condition)
            }
        };
        let columns = results(kind, &method, [&left_plan.columns, &right_plan.columns]);
        let join = Join { kind, method, keys, condition };
        let node = Node::Join { left: Box::new(left_plan), right: Box::new(right_plan), join };
        Ok(kept(Plan::new(columns, node).at(at), behind))
    }

    /// Returns the method of a join, which bounds how long rows wait for a match, and removes from `terms` the
    /// conditions that state the bound. `ttl_ms` is the time to live that a hint gives for each input, and `at` the place of
    /// the condition.
    ///
    /// # Errors
    /// [`Code::Unsupported`] for windows over processing time.
    fn method(
        &self,
        terms: &mut Terms<'_>,
        inputs: [&Plan; 2],
        ttl_ms: [Option<Option<i64>>; 2],
        at: Option<Place>,
    ) -> Result<JoinMethod> {
        match terms.take_windows() {
            Some(([left, right], is_local, TimeDomain::Event)) => {
                return Ok(JoinMethod::Window { left, right, is_local });
            }
            // Each input has a clock of its own, and none tells the other that a window is over.
            Some((_, _, TimeDomain::Processing)) => {
                let error = not_supported("a join of windows over processing time").at(at);
                return Err(error.help("join by event time, or bound how far processing times are apart"));
            }
            None => {}
        }
        if inputs.iter().all(|input| changes(input).is_none())
            && let Some(bounds) = terms.take_bounds()
        {
            let Bounds { left_time, right_time, lower_ms, upper_ms, domain } = bounds;
            return Ok(JoinMethod::Interval { left_time, right_time, lower_ms, upper_ms, domain });
        }
        // Whether its state has a bound is checked when the whole query is known.
        let ttl_ms = ttl_ms.map(|hinted| hinted.unwrap_or(self.binder.state_ttl_ms));
        Ok(JoinMethod::Regular { ttl_ms })
    }
}

/// Adds a filter by the given conditions to a plan.
pub(super) fn kept(plan: Plan, conditions: Vec<Condition>) -> Plan {
    let at = conditions.iter().find_map(|condition| condition.at);
    match conjunction(conditions.into_iter().map(|condition| condition.value).collect()) {
        None => plan,
        Some(condition) => ranked(plan, condition, at),
    }
}

/// Returns the input of a join to which a condition may be moved; `Both` if it must stay in the join. A condition may
/// move if it has the same value wherever it is evaluated, as none with RAND() has. `width` is the number of columns of the
/// left input.
fn about(condition: &Typed, width: usize) -> About {
    let (mut left, mut right) = (false, false);
    condition.columns(&mut |place| if place < width { left = true } else { right = true });
    match (left, right) {
        (true, false) if condition.is_deterministic() => About::Left,
        (false, true) if condition.is_deterministic() => About::Right,
        _ => About::Both,
    }
}

/// Returns the output columns of a join, each with the role that it has for operators above.
fn results(kind: JoinKind, method: &JoinMethod, [left, right]: [&[Column]; 2]) -> Vec<Column> {
    let role = |is_left: bool, place: usize, column: &Column| {
        let is_padded = if is_left { kind.keeps_right() } else { kind.keeps_left() };
        let merged = column.role.merged();
        let is_kept = match (&merged, method) {
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
        if is_kept { merged } else { Role::Plain }
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
    of_left.chain(of_right).collect()
}

/// Returns whether the windows of both inputs are cut by the same rule and in the same time zone. For sessions only
/// the gaps are compared, because the indexes of their key columns may differ between the inputs.
fn are_alike(left: &Windows, right: &Windows) -> bool {
    (left.is_local, left.domain) == (right.is_local, right.domain)
        && match (&*left.spec, &*right.spec) {
            (WindowSpec::Session { gap_ms: left, .. }, WindowSpec::Session { gap_ms: right, .. }) => {
                left == right
            }
            (left, right) => left == right,
        }
}
