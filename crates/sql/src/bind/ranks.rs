//! Conditions on ranks: a filter on the rank of a top-N limits the ranks that the top-N keeps.
//!
//! Source: Flink's documentation, "Top-N" and "Window Top-N".

use thalweg_sql_exec::plan::{Node, Plan, RankFunction};
use thalweg_sql_functions::expression::{Call, Expression, Typed};
use thalweg_sql_functions::functions::compare::ComparisonOp;
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::Place;

/// Adds a filter to a plan. A condition on the rank of a top-N limits the ranks that the top-N keeps instead. `at` is
/// the place of the condition.
pub(super) fn ranked(input: Plan, condition: Typed, at: Option<Place>) -> Plan {
    let mut terms = Vec::new();
    let mut rest = vec![condition];
    while let Some(condition) = rest.pop() {
        match condition.expression {
            Expression::And(inner) => rest.extend(inner.into_iter().rev()),
            expression => terms.push(Typed { expression, ..condition }),
        }
    }
    // Conditions on ranks are applied first, because only a projection without expressions may stand between them and
    // their top-N.
    let bounds: Vec<Option<(u64, u64)>> = terms.iter().map(|term| rank_bound(&input, term)).collect();
    let has_end = bounds.iter().flatten().any(|(_, to)| *to < u64::MAX);
    let mut plan = input;
    if has_end {
        for (from, to) in bounds.iter().flatten() {
            plan = bounded(plan, *from, *to);
        }
    }
    for (term, bound) in terms.into_iter().zip(bounds) {
        if !has_end || bound.is_none() {
            plan = plan.filter(term).at(at);
        }
    }
    plan
}

/// Returns the first and the last rank that a condition keeps, if it compares the rank of the top-N below with a
/// number and only a projection of columns stands between; `None` for other conditions.
fn rank_bound(plan: &Plan, condition: &Typed) -> Option<(u64, u64)> {
    let Expression::Call { call: Call::Compare(op), arguments, .. } = &condition.expression else {
        return None;
    };
    let [left, right] = &arguments[..] else { return None };
    let place = |value: &Typed| match &value.expression {
        Expression::Column(place) => Some(*place),
        Expression::Call { call: Call::Cast { .. }, arguments, .. } => arguments.first()?.as_column(),
        _ => None,
    };
    let number = |value: &Typed| match value.as_literal()? {
        ScalarValue::Int32(number) => number.map(i64::from),
        ScalarValue::Int64(number) => *number,
        _ => None,
    };
    let (place, number, op) = match (place(left), number(right), place(right), number(left)) {
        (Some(place), Some(number), _, _) => (place, number, *op),
        (_, _, Some(place), Some(number)) => (place, number, op.turned()),
        _ => return None,
    };
    let is_rank = |plan: &Plan, place: usize| {
        let is_limited = match &plan.node {
            Node::WindowTopN { .. } => true,
            // Any number of rows may have the same RANK, so their conditions stay filters.
            Node::Rank { function, .. } => *function == RankFunction::RowNumber,
            _ => false,
        };
        is_limited && place + 1 == plan.columns.len()
    };
    let is_of_rank = match &plan.node {
        Node::Calc { input, conditions, outputs } if conditions.is_empty() => {
            outputs[place].as_column().is_some_and(|below| is_rank(input, below))
        }
        _ => is_rank(plan, place),
    };
    if !is_of_rank {
        return None;
    }
    let number = u64::try_from(number).unwrap_or_default();
    Some(match op {
        ComparisonOp::Lt => (1, number.saturating_sub(1)),
        ComparisonOp::LtEq => (1, number),
        ComparisonOp::Gt => (number.saturating_add(1), u64::MAX),
        ComparisonOp::GtEq => (number.max(1), u64::MAX),
        ComparisonOp::Eq => (number, number),
        ComparisonOp::NotEq | ComparisonOp::IsDistinctFrom | ComparisonOp::IsNotDistinctFrom => return None,
    })
}

fn bounded(plan: Plan, least: u64, most: u64) -> Plan {
    let Plan { columns, node, at } = plan;
    let node = match node {
        Node::Calc { input, conditions, outputs } => {
            Node::Calc { input: Box::new(bounded(*input, least, most)), conditions, outputs }
        }
        Node::WindowTopN { input, window_end, is_local, keys, order, from, to } => {
            let (from, to) = (from.max(least), to.min(most));
            Node::WindowTopN { input, window_end, is_local, keys, order, from, to }
        }
        Node::Rank { input, keys, order, function, from, to, has_rank, is_retracting, ttl_ms } => {
            let (from, to) = (from.max(least), to.min(most));
            Node::Rank { input, keys, order, function, from, to, has_rank, is_retracting, ttl_ms }
        }
        other => other,
    };
    Plan { columns, node, at }
}
