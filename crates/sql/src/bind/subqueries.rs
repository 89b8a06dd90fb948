//! What sub-queries ask for that would be lost when they become joins: it is refused.
//!
//! A sub-query that aggregates without GROUP BY has a row even where nothing is; as a join it has one for each key that is there.

use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::{Expr, LogicalPlan};

use crate::error::{Code, SqlError};

type Result<T> = std::result::Result<T, SqlError>;

/// Refuses what becomes another query as a join.
///
/// # Errors
/// [`Code::Unsupported`] for the first such sub-query.
pub(super) fn check(logical: &LogicalPlan) -> Result<()> {
    let mut wrong = None;
    // Looking fails for nothing.
    let _ = logical.apply_expressions(|expression| {
        expression.apply(|part| {
            let checked = match part {
                Expr::Exists(exists) => {
                    let is_correlated = !exists.subquery.outer_ref_columns.is_empty();
                    of_exists(&exists.subquery.subquery, is_correlated)
                        .and_then(|()| check(&exists.subquery.subquery))
                }
                Expr::InSubquery(within) => {
                    let is_correlated = !within.subquery.outer_ref_columns.is_empty();
                    of_in(&within.subquery.subquery, is_correlated)
                        .and_then(|()| check(&within.subquery.subquery))
                }
                _ => Ok(()),
            };
            wrong = wrong.take().or(checked.err());
            Ok(if wrong.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    });
    match wrong {
        Some(error) => Err(error),
        None => logical.inputs().into_iter().try_for_each(check),
    }
}

fn of_exists(subquery: &LogicalPlan, is_correlated: bool) -> Result<()> {
    if aggregates_all(subquery, false) {
        let message = "EXISTS of an aggregate without GROUP BY is always TRUE, and not supported";
        return Err(SqlError::new(Code::Unsupported, message).help("leave it out"));
    }
    if is_correlated && aggregates_all(subquery, true) {
        let message =
            "an aggregate without GROUP BY in an EXISTS that speaks of the outer query is not supported";
        return Err(SqlError::new(Code::Unsupported, message).help("join with a query that has GROUP BY"));
    }
    of_limits(subquery, "EXISTS")
}

fn of_in(subquery: &LogicalPlan, is_correlated: bool) -> Result<()> {
    if is_correlated && aggregates_all(subquery, true) {
        let message =
            "an aggregate without GROUP BY in an IN that speaks of the outer query is not supported";
        return Err(SqlError::new(Code::Unsupported, message).help("join with a query that has GROUP BY"));
    }
    if is_correlated { of_limits(subquery, "an IN that speaks of the outer query") } else { Ok(()) }
}

/// Whether the rows are one aggregate of all of them, whatever is computed of it; also where a HAVING asks something of it.
fn aggregates_all(plan: &LogicalPlan, with_having: bool) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_) => plan.inputs().into_iter().any(|input| aggregates_all(input, with_having)),
        LogicalPlan::Filter(filter) if with_having => aggregates_all(&filter.input, true),
        _ => false,
    }
}

/// LIMIT of at least one row asks EXISTS for nothing; all else would be lost.
fn of_limits(plan: &LogicalPlan, where_: &str) -> Result<()> {
    match plan {
        LogicalPlan::Limit(limit) => {
            let is_one = |count: &Expr| matches!(count, Expr::Literal(value, _) if value.to_string() != "0");
            let is_none = |count: &Expr| matches!(count, Expr::Literal(value, _) if value.to_string() == "0");
            let is_harmless = where_ == "EXISTS"
                && limit.skip.as_deref().is_none_or(is_none)
                && limit.fetch.as_deref().is_none_or(is_one);
            if is_harmless {
                return Ok(());
            }
            Err(SqlError::new(
                Code::Unsupported,
                format!("LIMIT and OFFSET within {where_} are not supported"),
            ))
        }
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Sort(_) => {
            plan.inputs().into_iter().try_for_each(|input| of_limits(input, where_))
        }
        _ => Ok(()),
    }
}
