//! Final rows and live rows: what ORDER BY, LIMIT and changing rows become, depending on whether the answer of a query
//! waits for the end of its input.
//!
//! Planning makes a [`Node::Final`] of each ORDER BY that does not begin with event time, and gives it the LIMIT above.
//! If answers wait for the end, it stays. Else it becomes a top-N, whose rows change, or is refused without a LIMIT.
//!
//! Source: Flink, "Execution Mode (Batch/Streaming)"; `StreamExecSortLimit` for the top-N.

use std::convert::Infallible;
use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use thalweg_sql_exec::plan::{Column, Node, Plan, RankFunction, SortKey};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_tables::error::{Code, SqlError};

/// Returns the rows that are left of a plan when its input has ended. Columns that have another value at each call, such
/// as RAND(), are computed behind them, since a row would not be equal to its retraction otherwise. `is_changing` tells
/// whether rows of the plan change.
pub(super) fn with_final_answer(plan: Plan, is_changing: bool) -> Plan {
    let Plan { columns, node, at } = plan;
    match node {
        Node::Calc { input, conditions, outputs }
            if !outputs.iter().all(Typed::is_deterministic)
                && conditions.iter().all(Typed::is_deterministic) =>
        {
            let input = Box::new(with_final_answer(*input, is_changing));
            Plan { columns, node: Node::Calc { input, conditions, outputs }, at }
        }
        node => final_rows(Plan { columns, node, at }, Vec::new(), (0, u64::MAX), is_changing),
    }
}

/// Returns the final rows of a plan by an order, and of these the rows of a LIMIT: the number of rows to leave out, and the
/// number of rows behind them.
fn final_rows(input: Plan, order: Vec<SortKey>, (skip, fetch): (u64, u64), is_retracting: bool) -> Plan {
    let columns = input.columns.clone();
    let at = input.at;
    let node = Node::Final { input: Box::new(input), order, skip, fetch, is_retracting };
    Plan::new(columns, node).at(at)
}

/// Lets each GROUP BY without a window wait for the end of its input, unless an operator above it tells rows apart by the
/// order in which they arrive: at the end results arrive in another order than their changes would. Of these, GROUP BY with
/// a time to live and over rows that change does not wait; that is decided when the plan is completed.
pub(super) fn with_groups_at_the_end(mut plan: Plan, may_wait: bool) -> Plan {
    if let Node::Group { is_final, .. } = &mut plan.node {
        *is_final = may_wait;
    }
    // An OVER in the order of any columns waits for the end, too, and then sorts rows by all columns.
    let is_order_free = matches!(plan.node, Node::SortedOver { .. }) || !plan.node.depends_on_arrival();
    let may_wait = may_wait && is_order_free;
    let inputs = plan.map_inputs(|input| Ok::<_, Infallible>(with_groups_at_the_end(input, may_wait)));
    inputs.unwrap_or_else(|never| match never {})
}

/// Returns whether a plan has a GROUP BY whose results come out at the end of its input, with nothing above that sorts
/// them. The order in which its keys come out has no meaning, so such rows are sorted before they are shown or counted.
pub(super) fn has_final_groups(plan: &Plan) -> bool {
    match plan.node {
        Node::Final { .. } => false,
        Node::Group { is_final: true, .. } => true,
        _ => plan.inputs().into_iter().any(has_final_groups),
    }
}

/// Lets an ORDER BY and a LIMIT wait for the end of their input. Only an ORDER BY that begins with event time, has no LIMIT
/// and reads rows that are only added stays as it is, since its rows can come out while input comes; in batch mode it
/// waits, too. `is_changing` tells whether rows of the input change.
pub(super) fn with_final_rows(plan: Plan, is_changing: bool, is_batch: bool) -> Plan {
    let Plan { columns, node, at } = plan;
    match node {
        Node::Sort { input, time, keys } if is_changing || is_batch => {
            final_rows(*input, order_by_time(time, keys), (0, u64::MAX), is_changing)
        }
        Node::SortedOver { .. } => super::over::at_the_end(Plan { columns, node, at }),
        Node::Final { fetch: 0, .. } => none(columns),
        Node::Limit { input, skip, fetch } if is_changing || has_final_groups(&input) => {
            final_rows(*input, Vec::new(), (skip, fetch), is_changing)
        }
        Node::Limit { input, skip, fetch } => limited(at_the_end(*input), skip, fetch),
        node => Plan { columns, node, at },
    }
}

fn order_by_time(time: usize, keys: Vec<SortKey>) -> Vec<SortKey> {
    let by_time = SortKey { place: time, is_descending: false, is_null_first: true };
    [by_time].into_iter().chain(keys).collect()
}

/// Lets an ORDER BY by event time at the bottom of projections wait for the end of its input.
fn at_the_end(plan: Plan) -> Plan {
    let Plan { columns, node, at } = plan;
    match node {
        Node::Sort { input, time, keys } => {
            let order = order_by_time(time, keys);
            let node = Node::Final { input, order, skip: 0, fetch: u64::MAX, is_retracting: false };
            Plan { columns, node, at }
        }
        Node::Calc { input, conditions, outputs } if conditions.is_empty() => {
            let input = Box::new(at_the_end(*input));
            Plan { columns, node: Node::Calc { input, conditions, outputs }, at }
        }
        node => Plan { columns, node, at },
    }
}

/// Returns a plan without rows.
fn none(columns: Vec<Column>) -> Plan {
    let fields: Vec<_> = columns.iter().map(|column| column.of.field(&column.name, true)).collect();
    Plan::new(columns, Node::Values(RecordBatch::new_empty(Arc::new(Schema::new(fields)))))
}

/// Returns a LIMIT over a plan. An ORDER BY below it that waits for the end of its input takes it over.
pub(super) fn limited(plan: Plan, skip: u64, fetch: u64) -> Plan {
    pushed_down(plan, skip, fetch).unwrap_or_else(|plan| {
        let columns = plan.columns.clone();
        Plan::new(columns, Node::Limit { input: plan, skip, fetch })
    })
}

/// Gives a LIMIT to the sorted rows at the bottom of projections. Gives the plan back if there are none.
fn pushed_down(plan: Plan, skip: u64, fetch: u64) -> Result<Plan, Box<Plan>> {
    let Plan { columns, node, at } = plan;
    match node {
        Node::Final { input, order, skip: 0, fetch: u64::MAX, is_retracting } => {
            Ok(Plan { columns, node: Node::Final { input, order, skip, fetch, is_retracting }, at })
        }
        Node::Calc { input, conditions, outputs } if conditions.is_empty() => {
            let calc = |input| Plan { columns, node: Node::Calc { input, conditions, outputs }, at };
            match pushed_down(*input, skip, fetch) {
                Ok(input) => Ok(calc(Box::new(input))),
                Err(input) => Err(Box::new(calc(input))),
            }
        }
        node => Err(Box::new(Plan { columns, node, at })),
    }
}

/// Returns the rows of a LIMIT for each value of some columns: a top-N by the order of the rows, whose rows change while the
/// input goes on.
pub(super) fn limited_by(plan: Plan, keys: &[usize], skip: u64, fetch: u64) -> Plan {
    let ranked = |input: Box<Plan>, keys: Vec<usize>, order: Vec<SortKey>, at| {
        let columns = input.columns.clone();
        let node = Node::Rank {
            input,
            keys,
            order,
            function: RankFunction::RowNumber,
            from: skip.saturating_add(1),
            to: skip.saturating_add(fetch),
            has_rank: false,
            is_retracting: false,
            ttl_ms: None,
        };
        Plan::new(columns, node).at(at)
    };
    let Plan { columns, node, at } = plan;
    match node {
        Node::Final { input, order, skip: 0, fetch: u64::MAX, .. } => ranked(input, keys.to_vec(), order, at),
        Node::Sort { input, time, keys: then } => ranked(input, keys.to_vec(), order_by_time(time, then), at),
        Node::Calc { input, conditions, outputs } => {
            let below: Option<Vec<usize>> = keys.iter().map(|key| outputs[*key].as_column()).collect();
            let plan = Plan { columns, node: Node::Calc { input, conditions, outputs }, at };
            match (below, plan.node) {
                (Some(below), Node::Calc { input, conditions, outputs }) if conditions.is_empty() => {
                    let input = Box::new(limited_by(*input, &below, skip, fetch));
                    Plan { columns: plan.columns, node: Node::Calc { input, conditions, outputs }, at }
                }
                (_, node) => {
                    ranked(Box::new(Plan { columns: plan.columns, node, at }), keys.to_vec(), Vec::new(), at)
                }
            }
        }
        node => ranked(Box::new(Plan { columns, node, at }), keys.to_vec(), Vec::new(), at),
    }
}

/// Turns the first rows by an order, and a LIMIT of rows that change, into a top-N, whose rows change while the input goes
/// on. `is_ending` tells whether all tables of the query end, and `is_changing` whether rows of the input change.
///
/// # Errors
/// [`Code::Unsupported`] for an ORDER BY without LIMIT.
pub(super) fn with_live_rows(plan: Plan, is_changing: bool, is_ending: bool) -> Result<Plan, SqlError> {
    let Plan { columns, node, at } = plan;
    let node = match node {
        Node::Final { fetch: u64::MAX, .. } => return Err(never_sorted(is_ending).at(at)),
        Node::Final { fetch: 0, .. } => return Ok(none(columns)),
        Node::Final { input, order, skip, fetch, .. } => first_rows(input, order, skip, fetch),
        Node::Limit { fetch: 0, .. } if is_changing => return Ok(none(columns)),
        // Without an order, the first rows are those that came first.
        Node::Limit { input, skip, fetch } if is_changing && fetch < u64::MAX => {
            first_rows(input, Vec::new(), skip, fetch)
        }
        node => node,
    };
    Ok(Plan { columns, node, at })
}

fn first_rows(input: Box<Plan>, order: Vec<SortKey>, skip: u64, fetch: u64) -> Node {
    Node::Rank {
        input,
        keys: Vec::new(),
        order,
        function: RankFunction::RowNumber,
        from: skip.saturating_add(1),
        to: skip.saturating_add(fetch),
        has_rank: false,
        is_retracting: false,
        ttl_ms: None,
    }
}

/// Returns the error for an ORDER BY without LIMIT whose answer is not known before the end of the input. `is_ending`
/// tells whether there is such an end.
pub(super) fn never_sorted(is_ending: bool) -> SqlError {
    if is_ending {
        let message = "ORDER BY of rows that come out as they are found begins with event time, ascending";
        return SqlError::new(Code::Unsupported, message)
            .help("add LIMIT, or wait for the end of the input: SET 'execution.runtime-mode' = 'batch'");
    }
    SqlError::new(Code::Unsupported, "ORDER BY of an endless stream begins with event time, ascending").help(
        "add LIMIT, or rank rows within windows: ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY ..)",
    )
}
