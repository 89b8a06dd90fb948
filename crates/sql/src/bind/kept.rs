//! State without a bound in time: warnings for operators that keep it.
//!
//! As in Flink, an operator without a window runs without a time to live and keeps its state for as long as rows come.
//! The memory budget of the engine bounds this state: a query beyond it fails with `STATE_LIMIT`. So nothing is refused
//! for its state when it is planned, and each such operator gives a warning.
//!
//! Source: Flink's documentation, "Idle State Retention Time".

use thalweg_sql_exec::plan::{
    Aggregate, AggregateCall, BagKind, Frame, Join, JoinKind, JoinMethod, Node, Plan,
};
use thalweg_sql_tables::error::{Code, Place, SqlError};

/// Returns a warning for each operator of a completed plan whose state no time and no end of its input bounds, in the
/// order of the text. An operator that stands in the plan several times, such as one of a view, gives one warning. `place`
/// is the place of the query, for operators without a place of their own.
pub fn kept_for_ever(plan: &Plan, place: Place) -> Vec<SqlError> {
    let mut found = Vec::new();
    find(plan, &mut found);
    let mut found: Vec<SqlError> = found.into_iter().map(|warning| warning.at(place)).collect();
    found.sort_by(|a, b| (a.place, &a.message).cmp(&(b.place, &b.message)));
    found.dedup();
    found
}

/// Adds the warnings of a plan to `found`, and returns whether all tables that the plan reads come to an end.
fn find(plan: &Plan, found: &mut Vec<SqlError>) -> bool {
    let mut ends = true;
    // Each input is looked at, also behind one without an end.
    for input in plan.inputs() {
        ends &= find(input, found);
    }
    if plan.inputs().is_empty() {
        ends = plan.ends();
    }
    if !ends && let Some(Kept { what, instead }) = kept(plan) {
        let ttl = "SET 'table.exec.state.ttl' = '1 d' bounds it";
        let help = if instead.is_empty() { ttl.to_owned() } else { format!("{ttl}; or {instead}") };
        found.push(SqlError::new(Code::UnboundedState, what).at(plan.at).help(help));
    }
    ends
}

/// State that an operator keeps for as long as its input goes on.
struct Kept {
    /// The operator, and the state that it keeps.
    what: String,
    /// Another way to write the query, whose state is bounded; empty if there is none.
    instead: &'static str,
}

/// Returns the state that the outermost operator of a plan keeps until its input ends, if its number of rows or keys has
/// no bound.
fn kept(plan: &Plan) -> Option<Kept> {
    let by_key = |input: &Plan, keys: &[usize]| {
        let names: Vec<&str> = keys
            .iter()
            .filter_map(|place| input.columns.get(*place))
            .map(|column| column.name.as_str())
            .collect();
        names.join(", ")
    };
    let (what, instead) = match &plan.node {
        Node::Group { calls, ttl_ms: None, .. } if calls.is_empty() => (
            "DISTINCT, UNION or GROUP BY without a window keeps every different row".to_owned(),
            "select window_start and window_end of a window function",
        ),
        Node::Group { keys, calls, is_retracting, ttl_ms: None, .. } => {
            let what = match keys.is_empty() {
                false => "the state of every key",
                true if calls.iter().any(|call| keeps_values(call, *is_retracting)) => {
                    "the values of all rows"
                }
                true => return None,
            };
            let instead = "group by window_start and window_end of a window function";
            (format!("GROUP BY without a window keeps {what}"), instead)
        }
        Node::Bag { kind, ttl_ms: None, .. } => {
            let word = match kind {
                BagKind::Except => "EXCEPT ALL",
                BagKind::Intersect => "INTERSECT ALL",
            };
            (format!("{word} keeps every different row"), "")
        }
        Node::Rank { keys, is_retracting, ttl_ms: None, .. } => match (keys.is_empty(), is_retracting) {
            // Rows of one key that are only added: a top-N holds the first of them alone.
            (true, false) => return None,
            (true, true) => {
                ("the first rows without a window, of rows that change, keep all rows".to_owned(), "")
            }
            (false, _) => (
                "ROW_NUMBER without a window keeps rows of every key".to_owned(),
                "partition by window_start and window_end of a window function",
            ),
        },
        Node::Normalize { ttl_ms: None, .. } => {
            let what = "'table.exec.source.cdc-events-duplicate' keeps the last row of every key".to_owned();
            (what, "unset it, if no change of the table comes twice")
        }
        Node::Over { input, keys, frame, ttl_ms: None, .. }
            if !keys.is_empty() && !matches!(frame, Frame::Range(Some(_))) =>
        {
            let rows = match frame {
                Frame::Rows(Some(rows)) => format!("the last {rows} rows"),
                _ => "one set of results".to_owned(),
            };
            (format!("OVER keeps {rows} of each ({})", by_key(input, keys)), "")
        }
        Node::SortedOver { input, keys, ttl_ms: None, .. } => {
            let rows = match keys.is_empty() {
                true => "all rows".to_owned(),
                false => format!("all rows of each ({})", by_key(input, keys)),
            };
            (
                format!("OVER in an order other than that of ascending time keeps {rows}"),
                "order by event time, ascending",
            )
        }
        Node::Join { join, .. } => match join.method {
            JoinMethod::Regular { ttl_ms: ttl_ms @ ([None, _] | [_, None]) } => (
                format!(
                    "{} without a bound in time keeps all rows of {}",
                    name_of(join),
                    match ttl_ms {
                        [None, None] => "both sides",
                        [None, _] => "its left side",
                        [_, _] => "its right side",
                    }
                ),
                "say how near event times are (a.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts), or join by \
                 window_start and window_end",
            ),
            JoinMethod::Temporal { ttl_ms: Some(i64::MAX), .. } => (
                "a temporal join of rows that change keeps all rows of its left side".to_owned(),
                "join rows that are only added",
            ),
            _ => return None,
        },
        _ => return None,
    };
    Some(Kept { what, instead })
}

/// Returns whether an aggregate keeps values of its rows, and so grows with one key, too.
fn keeps_values(call: &AggregateCall, is_retracting: bool) -> bool {
    let Aggregate::Function(function) = &call.aggregate else { return false };
    let is_list = matches!(
        function.name,
        "ARRAY_AGG"
            | "$ARRAY_AGG_IGNORE_NULLS"
            | "COLLECT"
            | "JSON_ARRAYAGG"
            | "$JSON_ARRAYAGG_NULL_ON_NULL"
            | "JSON_OBJECTAGG"
            | "LISTAGG"
            | "PERCENTILE"
    );
    let is_choice = matches!(function.name, "FIRST_VALUE" | "LAST_VALUE" | "MAX" | "MIN" | "SINGLE_VALUE");
    call.is_distinct || is_list || (is_choice && is_retracting)
}

fn name_of(join: &Join) -> &'static str {
    let is_set_operation = !join.keys.is_empty() && join.keys.iter().all(|key| key.is_null_equal);
    match join.kind {
        JoinKind::Semi if is_set_operation => "INTERSECT",
        JoinKind::Anti if is_set_operation => "EXCEPT",
        JoinKind::Semi | JoinKind::Anti => "IN or EXISTS",
        JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => "a join",
    }
}

#[cfg(test)]
mod tests;
