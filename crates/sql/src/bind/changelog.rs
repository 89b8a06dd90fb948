//! Changelogs: which streams only ever add rows, and which take rows back; and what follows from that.
//!
//! | operator | its rows | takes changes |
//! |---|---|---|
//! | a table of `debezium-json` | all kinds of changes | |
//! | WHERE, SELECT, grouping sets, UNION ALL | as its input | yes |
//! | GROUP BY without a window | updates; deletes if its input takes rows back | yes |
//! | ROW_NUMBER() <= N without a window | updates, deletes | yes |
//! | ROW_NUMBER() = 1 by time: the first row | added | no |
//! | ROW_NUMBER() = 1 by time: the last row | updates | no, it is ranked like others then |
//! | windows, OVER, LIMIT, ORDER BY | added | no |
//!
//! A plan is settled when all of it is known: then ranks of which all are wanted become aggregates over the rows before,
//! ranks that nobody reads are left out, and what remembers rows is given its time to live, or refused.
//!
//! Source: Flink, `FlinkChangelogModeInferenceProgram`; "Dynamic Tables" for what the kinds mean; `RankProcessStrategy`.

use datafusion_common::ScalarValue;

use super::over::rank_as_over;
use crate::error::{Code, SqlError};
use crate::exec::rank::Keep;
use crate::expression::Typed;
use crate::plan::{Column, Counted, Frame, JoinKind, JoinMethod, Node, Plan, RankFunction, Role};
use crate::types::SqlType;

#[cfg(test)]
mod tests;

type Result<T> = std::result::Result<T, SqlError>;

/// What may become of the rows of a stream, beside that they are added.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Changes {
    /// Rows become others: `-U` and `+U`.
    pub updates: bool,
    /// Rows are taken back: `-D`.
    pub deletes: bool,
}

impl Changes {
    /// Rows are only added.
    pub const NONE: Changes = Changes { updates: false, deletes: false };
    /// All.
    pub const ALL: Changes = Changes { updates: true, deletes: true };

    /// Whether rows are only added.
    pub fn is_none(self) -> bool {
        self == Changes::NONE
    }

    fn and(self, other: Changes) -> Changes {
        Changes { updates: self.updates || other.updates, deletes: self.deletes || other.deletes }
    }
}

/// What may become of the rows of a settled plan.
pub fn changes(plan: &Plan) -> Changes {
    match &plan.node {
        Node::Scan { table, .. } => {
            let format = table.options.get("format").map(|format| format.value.as_str());
            if format == Some("debezium-json") { Changes::ALL } else { Changes::NONE }
        }
        Node::Group { is_retracting, .. } => Changes { updates: true, deletes: *is_retracting },
        Node::Rank { from, to, has_rank, is_retracting, .. } => {
            if let Some(Keep::First | Keep::FirstBy(_)) = deduplication(plan) {
                return Changes::NONE;
            }
            let has_others = *has_rank || *from > 1 || (*to == 1 && !*is_retracting);
            Changes { updates: has_others, deletes: *is_retracting || !has_others }
        }
        Node::Values(_)
        | Node::AssignWindows { .. }
        | Node::WindowAggregate { .. }
        | Node::WindowTopN { .. }
        | Node::Limit { .. }
        | Node::Sort { .. }
        | Node::Over { .. } => Changes::NONE,
        Node::Join { left, join, .. } => match (&join.method, join.kind) {
            // A row that met nobody is taken back when somebody comes.
            (
                JoinMethod::Regular { .. },
                JoinKind::Left | JoinKind::Right | JoinKind::Full | JoinKind::Anti,
            ) => Changes::ALL,
            (JoinMethod::Regular { .. }, JoinKind::Inner | JoinKind::Semi) => {
                plan.inputs().into_iter().map(changes).fold(Changes::NONE, Changes::and)
            }
            (JoinMethod::Lookup, _) => changes(left),
            _ => Changes::NONE,
        },
        Node::Calc { .. } | Node::Expand { .. } | Node::Union(_) => {
            plan.inputs().into_iter().map(changes).fold(Changes::NONE, Changes::and)
        }
    }
}

/// Which row of each key a top-N keeps, if it keeps one by time.
pub fn deduplication(plan: &Plan) -> Option<Keep> {
    let Node::Rank { input, order, from: 1, to: 1, is_retracting: false, has_rank: false, .. } = &plan.node
    else {
        return None;
    };
    let [key] = &order[..] else { return None };
    match (&input.columns[key.place].role, key.is_descending) {
        (Role::Proctime, false) => Some(Keep::First),
        (Role::Proctime, true) => Some(Keep::Last),
        (Role::Rowtime, false) => Some(Keep::FirstBy(key.place)),
        (Role::Rowtime, true) => Some(Keep::LastBy(key.place)),
        _ => None,
    }
}

/// What a sink can be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepts {
    /// New rows only: files of CSV or JSON.
    Inserts,
    /// What rows of a key are now, and that they are no more: it has a primary key, and needs no `-U`.
    Upserts,
    /// All kinds of changes: print, debezium-json.
    All,
}

/// Checks that a sink can be told what becomes of the rows of a plan.
///
/// # Errors
/// [`Code::Unsupported`] if it cannot; the message names the operator that makes the changes.
pub fn check_sink(plan: &Plan, accepts: Accepts, table: &str) -> Result<()> {
    let made = changes(plan);
    if made.is_none() || accepts != Accepts::Inserts {
        return Ok(());
    }
    let message =
        format!("the table `{table}` takes rows that are only added, and {} changes them", culprit(plan));
    Err(SqlError::new(Code::Unsupported, message)
        .help("aggregate or rank within windows, or write 'format' = 'debezium-json'"))
}

/// What a settled plan remembers for ever, for EXPLAIN: nothing, unless a user wants it so.
pub fn remembered_for_ever(plan: &Plan) -> Vec<String> {
    let mut found: Vec<String> = plan.inputs().into_iter().flat_map(remembered_for_ever).collect();
    if let Node::Over { input, keys, frame, ttl_ms: None, .. } = &plan.node
        && !keys.is_empty()
        && !matches!(frame, Frame::Range(Some(_)))
    {
        let keys: Vec<&str> = keys.iter().map(|place| input.columns[*place].name.as_str()).collect();
        let what = match frame {
            Frame::Rows(Some(rows)) => format!("the last {rows} rows"),
            _ => "one set of results".to_owned(),
        };
        found.push(format!(
            "OVER remembers {what} of each ({}) for ever: SET 'table.exec.state.ttl' = '1 d'",
            keys.join(", ")
        ));
    }
    found
}

/// The operator that makes changes of rows, for people.
fn culprit(plan: &Plan) -> String {
    match &plan.node {
        Node::Scan { table, .. } => format!("the table `{}` of 'format' = 'debezium-json'", table.name),
        Node::Group { keys, .. } if keys.is_empty() => "an aggregate without a window".to_owned(),
        Node::Group { .. } => "GROUP BY without a window".to_owned(),
        Node::Rank { .. } => "ROW_NUMBER without a window".to_owned(),
        _ => {
            let input = plan.inputs().into_iter().find(|input| !changes(input).is_none());
            input.map_or_else(|| "the query".to_owned(), culprit)
        }
    }
}

/// The same plan, finished. State without a window is kept for `ttl_ms` since it was last written.
///
/// # Errors
/// [`Code::UnboundedState`] for what would remember rows for ever, and [`Code::Unsupported`] for what cannot take the changes
/// of its input.
pub(super) fn settle(plan: Plan, ttl_ms: Option<i64>) -> Result<Plan> {
    let ttl_ms = ttl_ms.filter(|ttl| *ttl > 0);
    let Plan { columns, node } = plan;
    let settled = |input: Box<Plan>| settle(*input, ttl_ms).map(Box::new);
    let added = |input: Box<Plan>, operator: &str| {
        let input = settle(*input, ttl_ms)?;
        if changes(&input).is_none() {
            return Ok(Box::new(input));
        }
        let message =
            format!("{operator} takes rows that are only added, and {} changes them", culprit(&input));
        Err(SqlError::new(Code::Unsupported, message).help("aggregate or rank within windows there"))
    };
    let node = match node {
        node @ (Node::Scan { .. } | Node::Values(_)) => node,
        Node::Calc { input, conditions, outputs } => {
            return Ok(without_rank(Node::Calc { input: settled(input)?, conditions, outputs }, columns));
        }
        Node::Expand { input, forms } => Node::Expand { input: settled(input)?, forms },
        Node::Union(inputs) => {
            Node::Union(inputs.into_iter().map(|input| settle(input, ttl_ms)).collect::<Result<_>>()?)
        }
        Node::Join { left, right, join } => match &join.method {
            JoinMethod::Temporal { counts: Counted::First, .. } => {
                Node::Join { left: settled(left)?, right: added(right, "the first row of each key")?, join }
            }
            JoinMethod::Regular { .. } | JoinMethod::Lookup | JoinMethod::Temporal { .. } => {
                Node::Join { left: settled(left)?, right: settled(right)?, join }
            }
            JoinMethod::Window { .. } => Node::Join {
                left: added(left, "a window join")?,
                right: added(right, "a window join")?,
                join,
            },
            JoinMethod::Interval { .. } => Node::Join {
                left: added(left, "an interval join")?,
                right: added(right, "an interval join")?,
                join,
            },
        },
        Node::AssignWindows { input, spec, time } => {
            Node::AssignWindows { input: added(input, "a window function")?, spec, time }
        }
        Node::WindowAggregate { input, windows, keys, calls } => {
            Node::WindowAggregate { input: added(input, "an aggregate of a window")?, windows, keys, calls }
        }
        Node::Limit { input, skip, fetch } => Node::Limit { input: added(input, "LIMIT")?, skip, fetch },
        Node::Sort { input, time, keys } => Node::Sort { input: added(input, "ORDER BY")?, time, keys },
        Node::WindowTopN { input, window_end, keys, order, from, to } => {
            let input = added(input, "ROW_NUMBER of a window")?;
            Node::WindowTopN { input, window_end, keys, order, from, to }
        }
        Node::Over { input, keys, time, frame, calls, .. } => {
            Node::Over { input: added(input, "OVER")?, keys, time, frame, calls, ttl_ms }
        }
        Node::Group { input, keys, calls, .. } => {
            let input = settled(input)?;
            // Without keys it is one row, whose state ends with its input.
            if ttl_ms.is_none() && !(keys.is_empty() && ends(&input)) {
                return Err(unbounded(
                    "GROUP BY without a window",
                    "group by window_start and window_end of a window function",
                ));
            }
            let is_retracting = !changes(&input).is_none();
            let lacking =
                calls.iter().find(|call| is_retracting && call.function.create_retractable.is_none());
            if let Some(call) = lacking {
                let message =
                    format!("{} cannot take rows back, and {} changes them", call.name, culprit(&input));
                return Err(SqlError::new(Code::Unsupported, message).help("aggregate within windows there"));
            }
            Node::Group { input, keys, calls, is_retracting, ttl_ms }
        }
        Node::Rank { input, keys, order, function, from: 1, to: u64::MAX, .. } => {
            let input = *added(input, &format!("{} OVER", function.name()))?;
            return rank_as_over(input, keys, &order, function, ttl_ms, columns);
        }
        Node::Rank { input, keys, order, function, from, to, has_rank, .. } => {
            let input = settled(input)?;
            let name = function.name();
            if function != RankFunction::RowNumber {
                let message = format!("the first rows by {name} are not supported");
                return Err(SqlError::new(Code::Unsupported, message).help("use ROW_NUMBER"));
            }
            if ttl_ms.is_none() {
                return Err(unbounded(
                    "ROW_NUMBER without a window",
                    "partition by window_start and window_end of a window function",
                ));
            }
            let is_retracting = !changes(&input).is_none();
            let is_by_arrival = order.iter().any(|key| input.columns[key.place].role == Role::Proctime);
            if is_retracting && is_by_arrival {
                let message = format!(
                    "ROW_NUMBER in the order of arrival takes rows that are only added, and {} changes them",
                    culprit(&input)
                );
                return Err(SqlError::new(Code::Unsupported, message).help("order by a column of the rows"));
            }
            Node::Rank { input, keys, order, function, from, to, has_rank, is_retracting, ttl_ms }
        }
    };
    Ok(Plan { columns, node })
}

/// Whether all that a plan reads has an end.
fn ends(plan: &Plan) -> bool {
    match &plan.node {
        Node::Scan { table, .. } => {
            crate::connect::check_source(table).is_ok_and(|abilities| abilities.is_bounded)
        }
        _ => plan.inputs().into_iter().all(ends),
    }
}

/// What would remember rows forever.
pub(super) fn unbounded(what: &str, help: &str) -> SqlError {
    let message = format!("{what} remembers rows without bound");
    SqlError::new(Code::UnboundedState, message)
        .help(format!("{help}, or set how long: SET 'table.exec.state.ttl' = '1 h'"))
}

/// A step over a top-N whose rank it does not read, or knows: then the rank is left out below, and ranks are no changes.
fn without_rank(calc: Node, columns: Vec<Column>) -> Plan {
    let Node::Calc { mut input, mut conditions, mut outputs } = calc else {
        return Plan { columns, node: calc };
    };
    let place = input.columns.len().saturating_sub(1);
    if let Node::Rank { from, to, has_rank, .. } = &mut input.node
        && *has_rank
    {
        let rank = (from == to).then_some(*to);
        let mut is_read = false;
        let all = || conditions.iter().chain(&outputs);
        all().for_each(|expression| expression.columns(&mut |read| is_read |= read == place));
        if !is_read || rank.is_some() {
            *has_rank = false;
            let number = rank.and_then(|rank| i64::try_from(rank).ok());
            let known = Typed::literal(ScalarValue::Int64(number), SqlType::BigInt);
            let old = input.columns.clone();
            let replace = |expression: &Typed| {
                expression.replaced(&|read| match read == place {
                    true => known.clone(),
                    false => Typed::column(read, old[read].of.clone(), old[read].is_nullable),
                })
            };
            conditions = conditions.iter().map(replace).collect();
            outputs = outputs.iter().map(replace).collect();
            input.columns.truncate(place);
        }
    }
    Plan { columns, node: Node::Calc { input, conditions, outputs } }
}
