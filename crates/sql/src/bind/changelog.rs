//! Changelogs: plans are finished by the kinds of changes that their operators accept and emit, and sinks are checked.
//!
//! Which kinds those are is decided in [`thalweg_sql_exec::plan::changes`] alone.
//!
//! A plan is settled when all of it is known: then ranks of which all are wanted become aggregates over the rows before,
//! ranks that nobody reads are left out, and what remembers rows is given its time to live, or refused.
//!
//! Source: Flink, `FlinkChangelogModeInferenceProgram`; `RankProcessStrategy`.

use datafusion_common::ScalarValue;
pub use thalweg_sql_exec::plan::changes::{Changes, Keep, changes, deduplication};
use thalweg_sql_exec::plan::changes::{Rule, source_of_changes};
use thalweg_sql_exec::plan::{Frame, Join, JoinMethod, Node, Plan, RankFunction};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::connect::check_source;
use thalweg_sql_tables::error::{Code, SqlError};

use super::over::rank_as_over;

#[cfg(test)]
mod tests;

type Result<T> = std::result::Result<T, SqlError>;

/// Changes that a sink can be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepts {
    /// New rows only: files of CSV or JSON.
    Inserts,
    /// All kinds of changes: print, debezium-json.
    All,
}

/// Checks that a sink can be told what becomes of the rows of a plan.
///
/// # Errors
/// [`Code::Unsupported`] if it cannot; the message names the operator that makes the changes.
pub fn check_sink(plan: &Plan, accepts: Accepts, table: &str) -> Result<()> {
    let is_taken = match accepts {
        Accepts::All => true,
        Accepts::Inserts => changes(plan).is_none(),
    };
    if is_taken {
        return Ok(());
    }
    let message = format!(
        "the table `{table}` takes rows that are only added, and {} changes them",
        source_of_changes(plan)
    );
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

/// The same plan, finished. State without a window is kept for `ttl_ms` since it was last written.
///
/// # Errors
/// [`Code::UnboundedState`] for what would remember rows for ever, and [`Code::Unsupported`] for what cannot take the changes
/// of its input.
pub(super) fn settle(plan: Plan, ttl_ms: Option<i64>) -> Result<Plan> {
    settled(plan, ttl_ms.filter(|ttl| *ttl > 0)).map(|(plan, _)| plan)
}

/// A finished plan, and the changes that come out of it.
fn settled(plan: Plan, ttl_ms: Option<i64>) -> Result<(Plan, Changes)> {
    let (plan, inputs) = with_settled_inputs(without_rank(plan), ttl_ms)?;
    bounded(&plan, ttl_ms)?;
    for (at, accepts) in Rule::of(&plan, &inputs).accepts.iter().enumerate() {
        let given = inputs.get(at).copied().unwrap_or_default();
        if let (Some(refusal), Some(input)) = (accepts.refusal(given), plan.inputs().get(at)) {
            let message = format!("{}, and {} changes them", refusal.message, source_of_changes(input));
            return Err(SqlError::new(Code::Unsupported, message).help(refusal.help));
        }
    }
    let plan = finished(plan, &inputs, ttl_ms)?;
    // An operator may have become another one, over the same inputs.
    let emits = Rule::of(&plan, &inputs).emits;
    Ok((plan, emits))
}

/// The plan over finished inputs, and the changes that come out of those.
fn with_settled_inputs(plan: Plan, ttl_ms: Option<i64>) -> Result<(Plan, Vec<Changes>)> {
    let Plan { columns, node } = plan;
    let mut inputs = Vec::new();
    let mut one = |input: Box<Plan>| -> Result<Box<Plan>> {
        let (input, emits) = settled(*input, ttl_ms)?;
        inputs.push(emits);
        Ok(Box::new(input))
    };
    let node = match node {
        node @ (Node::Scan { .. } | Node::Values(_)) => node,
        Node::Calc { input, conditions, outputs } => Node::Calc { input: one(input)?, conditions, outputs },
        Node::Expand { input, forms } => Node::Expand { input: one(input)?, forms },
        Node::AssignWindows { input, spec, time } => Node::AssignWindows { input: one(input)?, spec, time },
        Node::WindowAggregate { input, windows, keys, calls } => {
            Node::WindowAggregate { input: one(input)?, windows, keys, calls }
        }
        Node::Union(all) => Node::Union(
            all.into_iter().map(|input| one(Box::new(input)).map(|input| *input)).collect::<Result<_>>()?,
        ),
        Node::Limit { input, skip, fetch } => Node::Limit { input: one(input)?, skip, fetch },
        Node::Sort { input, time, keys } => Node::Sort { input: one(input)?, time, keys },
        Node::WindowTopN { input, window_end, is_local, keys, order, from, to } => {
            Node::WindowTopN { input: one(input)?, window_end, is_local, keys, order, from, to }
        }
        Node::Join { left, right, join } => Node::Join { left: one(left)?, right: one(right)?, join },
        Node::Over { input, keys, time, frame, calls, ttl_ms } => {
            Node::Over { input: one(input)?, keys, time, frame, calls, ttl_ms }
        }
        Node::Group { input, keys, calls, is_retracting, ttl_ms } => {
            Node::Group { input: one(input)?, keys, calls, is_retracting, ttl_ms }
        }
        Node::Rank { input, keys, order, function, from, to, has_rank, is_retracting, ttl_ms } => {
            let input = one(input)?;
            Node::Rank { input, keys, order, function, from, to, has_rank, is_retracting, ttl_ms }
        }
    };
    Ok((Plan { columns, node }, inputs))
}

/// Checks that what an operator remembers has a bound, and that it is one that there is.
fn bounded(plan: &Plan, ttl_ms: Option<i64>) -> Result<()> {
    match &plan.node {
        // Without keys it is one row, whose state ends with its input.
        Node::Group { input, keys, .. } if ttl_ms.is_none() && !(keys.is_empty() && ends(input)) => {
            Err(unbounded(
                "GROUP BY without a window",
                "group by window_start and window_end of a window function",
            ))
        }
        Node::Rank { from: 1, to: u64::MAX, .. } => Ok(()),
        Node::Rank { function, .. } if *function != RankFunction::RowNumber => {
            let message = format!("the first rows by {} are not supported", function.name());
            Err(SqlError::new(Code::Unsupported, message).help("use ROW_NUMBER"))
        }
        Node::Rank { .. } if ttl_ms.is_none() => Err(unbounded(
            "ROW_NUMBER without a window",
            "partition by window_start and window_end of a window function",
        )),
        _ => Ok(()),
    }
}

/// An operator with what it must know of the changes of its inputs.
fn finished(plan: Plan, inputs: &[Changes], ttl: Option<i64>) -> Result<Plan> {
    let Plan { columns, node } = plan;
    let is_retracting = inputs.iter().any(|input| !input.is_none());
    let node = match node {
        Node::Over { input, keys, time, frame, calls, .. } => {
            Node::Over { input, keys, time, frame, calls, ttl_ms: ttl }
        }
        Node::Group { input, keys, calls, .. } => {
            Node::Group { input, keys, calls, is_retracting, ttl_ms: ttl }
        }
        Node::Rank { input, keys, order, function, from: 1, to: u64::MAX, .. } => {
            return rank_as_over(*input, keys, &order, function, ttl, columns);
        }
        Node::Rank { input, keys, order, function, from, to, has_rank, .. } => {
            Node::Rank { input, keys, order, function, from, to, has_rank, is_retracting, ttl_ms: ttl }
        }
        Node::Join { left, right, join } => {
            let left_changes = inputs.first().is_some_and(|left| !left.is_none());
            let Join { kind, method, keys, condition } = join;
            let method = match method {
                JoinMethod::Temporal { left_time, right_time, counts, .. } if left_changes => {
                    if ttl.is_none() {
                        return Err(unbounded(
                            &format!("a temporal join of rows that {} changes", source_of_changes(&left)),
                            "join rows that are only added",
                        ));
                    }
                    JoinMethod::Temporal { left_time, right_time, counts, ttl_ms: ttl }
                }
                method => method,
            };
            Node::Join { left, right, join: Join { kind, method, keys, condition } }
        }
        node => node,
    };
    Ok(Plan { columns, node })
}

/// Whether all that a plan reads has an end.
pub(crate) fn ends(plan: &Plan) -> bool {
    match &plan.node {
        Node::Scan { table, .. } => check_source(table).is_ok_and(|abilities| abilities.is_bounded),
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
fn without_rank(plan: Plan) -> Plan {
    let Plan { columns, node } = plan;
    let Node::Calc { mut input, mut conditions, mut outputs } = node else {
        return Plan { columns, node };
    };
    let place = input.columns.len().saturating_sub(1);
    if let Node::Rank { from, to, has_rank, .. } = &mut input.node
        && *has_rank
        // Ranks of which all are wanted become an aggregate, which has them.
        && (*from, *to) != (1, u64::MAX)
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
