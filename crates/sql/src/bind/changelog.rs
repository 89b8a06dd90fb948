//! Changelogs: completes plans by the kinds of changes that their operators accept and emit, and checks that sinks
//! can write these changes.
//!
//! [`thalweg_sql_exec::plan::changes`] alone decides which kinds an operator accepts and emits.
//!
//! A plan is completed when all of it is known. Then a ranking of which no rank is filtered out becomes an OVER
//! aggregate, ranks that no operator reads are left out, and operators that keep rows get their time to live.
//! [`kept`](super::kept) names the operators whose state has no bound in time.
//!
//! Source: Flink, `FlinkChangelogModeInferenceProgram`; `RankProcessStrategy`.

pub use thalweg_sql_exec::plan::changes::{Changes, Keep, changes, deduplication};
use thalweg_sql_exec::plan::changes::{Rule, changing, source_of_changes};
use thalweg_sql_exec::plan::{Join, JoinMethod, Node, Plan};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, SqlError};

use super::Answers;
use super::final_rows::{
    has_final_groups, with_final_answer, with_final_rows, with_groups_at_the_end, with_live_rows,
};
use super::over::{at_the_end, check_live, over_changes, rank_as_over};

#[cfg(test)]
mod tests;

type Result<T> = std::result::Result<T, SqlError>;

/// Kinds of changes that a sink can write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepts {
    /// The sink writes new rows only, as files of CSV or JSON do.
    Inserts,
    /// The sink writes all kinds of changes, as `print` and `debezium-json` do.
    All,
}

/// Checks that the sink of the table `table`, which writes the changes in `accepts`, can write all changes that a
/// plan emits.
///
/// # Errors
/// [`Code::Unsupported`] if it cannot; the message names the operator that emits the changes, and the error points at
/// it if its place is known.
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
    let help = match plan.ends() {
        true => {
            "wait for the end of the input: SET 'execution.runtime-mode' = 'batch'; or write 'format' = 'debezium-json'"
        }
        false => "aggregate or rank within windows, or write 'format' = 'debezium-json'",
    };
    Err(SqlError::new(Code::Unsupported, message).at(changing(plan).at).help(help))
}

/// Completes a plan: its operators without windows keep state for `ttl_ms` milliseconds after it was last written.
/// `None`, and 0 or less, set no time to live. `answers` tells whether changes come out.
///
/// # Errors
/// [`Code::Unsupported`] for an operator that does not accept the changes of its input, and for an order that is only
/// known at an end that does not come. The error points at the operator if its place is known.
pub(super) fn settle(plan: Plan, ttl_ms: Option<i64>, answers: Answers) -> Result<Plan> {
    let is_batch = answers == Answers::Final;
    let is_ending = is_batch || plan.ends();
    let is_final = is_ending && answers != Answers::Changes;
    let settling = Settling { ttl_ms: ttl_ms.filter(|ttl| *ttl > 0), is_final, is_ending, is_batch };
    let plan = if is_final { with_groups_at_the_end(plan, true) } else { plan };
    let (plan, emits) = settled(plan, settling)?;
    let is_answer_final = is_final && (!emits.is_none() || has_final_groups(&plan));
    Ok(if is_answer_final { with_final_answer(plan, !emits.is_none()) } else { plan })
}

/// How a plan is completed.
#[derive(Clone, Copy, Debug)]
struct Settling {
    /// How long operators without windows keep state after it was last written, in milliseconds.
    ttl_ms: Option<i64>,
    /// Whether ORDER BY and LIMIT of rows that change wait for the end of the input.
    is_final: bool,
    /// Whether all tables of the query come to an end.
    is_ending: bool,
    /// Whether no row may come out before the end of the input.
    is_batch: bool,
}

/// Completes a plan, and returns it with the kinds of changes that it emits.
fn settled(plan: Plan, settling: Settling) -> Result<(Plan, Changes)> {
    let mut inputs = Vec::new();
    let plan = without_rank(plan).map_inputs(|input| -> Result<Plan> {
        let (input, emits) = settled(input, settling)?;
        inputs.push(emits);
        Ok(input)
    })?;
    let at = plan.at;
    let is_changing = inputs.iter().any(|input: &Changes| !input.is_none());
    let plan = if is_changing { over_changes(plan) } else { plan };
    let plan = if settling.is_final {
        with_final_rows(plan, is_changing, settling.is_batch)
    } else {
        with_live_rows(plan, is_changing, settling.is_ending)?
    };
    for (number, accepts) in Rule::of(&plan, &inputs).accepts.iter().enumerate() {
        let given = inputs.get(number).copied().unwrap_or_default();
        if let (Some(refusal), Some(input)) = (accepts.refusal(given), plan.inputs().get(number)) {
            let message = format!("{}, and {} changes them", refusal.message, source_of_changes(input));
            return Err(SqlError::new(Code::Unsupported, message).at(at).help(refusal.help));
        }
    }
    let plan = finished(plan, &inputs, settling).map_err(|error| error.at(at))?;
    if !settling.is_final {
        check_live(&plan).map_err(|error| error.at(at))?;
    }
    // A ranking may have become an OVER aggregate over the same input, so its rule is read again.
    let emits = Rule::of(&plan, &inputs).emits;
    Ok((plan, emits))
}

/// Returns an operator with the fields that depend on the changes of its inputs and on the time to live.
fn finished(plan: Plan, inputs: &[Changes], settling: Settling) -> Result<Plan> {
    let ttl = settling.ttl_ms;
    let Plan { columns, node, at } = plan;
    let is_retracting = inputs.iter().any(|input| !input.is_none());
    let node = match node {
        Node::Over { input, keys, time, frame, calls, .. } => {
            Node::Over { input, keys, time, frame, calls, ttl_ms: ttl }
        }
        Node::SortedOver { input, keys, order, calls, is_final, .. } => {
            let ttl_ms = ttl.filter(|_| !is_final);
            Node::SortedOver { input, keys, order, calls, is_final, ttl_ms }
        }
        // A hint may have given the aggregate another time to live.
        Node::Group { input, keys, calls, is_final, ttl_ms, .. } => {
            let ttl_ms = ttl_ms.filter(|ttl| *ttl > 0);
            let is_final = is_final && !is_retracting && ttl_ms.is_none();
            Node::Group { input, keys, calls, is_retracting, is_final, ttl_ms }
        }
        Node::Bag { input, kind, .. } => Node::Bag { input, kind, ttl_ms: ttl },
        Node::Final { input, order, skip, fetch, .. } => {
            Node::Final { input, order, skip, fetch, is_retracting }
        }
        Node::Normalize { input, keys, .. } => Node::Normalize { input, keys, ttl_ms: ttl },
        Node::Rank { input, keys, order, function, from: 1, to: u64::MAX, .. } => {
            let plan = rank_as_over(*input, keys, order, function, is_retracting, ttl, columns)?.at(at);
            return Ok(if settling.is_final { at_the_end(plan) } else { plan });
        }
        Node::Rank { input, keys, order, function, from, to, has_rank, .. } => {
            Node::Rank { input, keys, order, function, from, to, has_rank, is_retracting, ttl_ms: ttl }
        }
        Node::Join { left, right, join } => {
            let left_changes = inputs.first().is_some_and(|left| !left.is_none());
            let Join { kind, method, keys, condition } = join;
            let method = match method {
                JoinMethod::Temporal { left_time, right_time, counts, .. } if left_changes => {
                    let ttl_ms = ttl.or(Some(i64::MAX));
                    JoinMethod::Temporal { left_time, right_time, counts, ttl_ms }
                }
                method => method,
            };
            Node::Join { left, right, join: Join { kind, method, keys, condition } }
        }
        node => node,
    };
    Ok(Plan { columns, node, at })
}

/// Leaves out the rank of a top-N if the projection over it does not read the rank, or if the top-N has one rank
/// only, which is known. Then a row that only changes its rank is no change.
fn without_rank(plan: Plan) -> Plan {
    let Plan { columns, node, at } = plan;
    let Node::Calc { mut input, mut conditions, mut outputs } = node else {
        return Plan { columns, node, at };
    };
    let place = input.columns.len().saturating_sub(1);
    if let Node::Rank { from, to, has_rank, .. } = &mut input.node
        && *has_rank
        // A top-N that emits all ranks becomes an OVER aggregate, which always emits the rank.
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
    Plan { columns, node: Node::Calc { input, conditions, outputs }, at }
}
