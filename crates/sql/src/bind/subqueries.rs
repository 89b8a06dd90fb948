//! Refuses sub-queries whose meaning would change when they become joins.
//!
//! A sub-query that aggregates without GROUP BY has a row even if its input has none; as a join it would have a row
//! only for each key that occurs.

use datafusion_common::ScalarValue;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::logical_plan::{Limit, Subquery};
use datafusion_expr::{Expr, LogicalPlan};
use thalweg_sql_tables::error::{Code, SqlError};

type Result<T> = std::result::Result<T, SqlError>;

/// Refuses a plan with a sub-query whose meaning would change as a join.
///
/// # Errors
/// [`Code::Unsupported`] for the first such sub-query.
pub(super) fn check(logical: &LogicalPlan) -> Result<()> {
    let mut wrong = None;
    // The result is ignored, because the closure returns no error.
    let _ = logical.apply_expressions(|expression| {
        expression.apply(|part| {
            let (subquery, asked) = match part {
                Expr::Exists(exists) => (&exists.subquery, Asked::Exists),
                Expr::InSubquery(within) => (&within.subquery, Asked::In),
                _ => return Ok(TreeNodeRecursion::Continue),
            };
            let checked = asked.check(subquery).and_then(|()| check(&subquery.subquery));
            wrong = wrong.take().or(checked.err());
            Ok(if wrong.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    });
    match wrong {
        Some(error) => Err(error),
        None => logical.inputs().into_iter().try_for_each(check),
    }
}

/// Question that a query asks about the rows of a sub-query.
#[derive(Clone, Copy)]
enum Asked {
    /// Whether there is a row (EXISTS).
    Exists,
    /// Whether a value is among the rows (IN).
    In,
}

impl Asked {
    fn check(self, subquery: &Subquery) -> Result<()> {
        let rows = &*subquery.subquery;
        let is_correlated = !subquery.outer_ref_columns.is_empty();
        match self {
            Asked::Exists if aggregates_all(rows, false) => {
                let message = "EXISTS of an aggregate without GROUP BY is always TRUE, and not supported";
                Err(SqlError::new(Code::Unsupported, message).help("leave it out"))
            }
            _ if is_correlated && aggregates_all(rows, true) => {
                let word = match self {
                    Asked::Exists => "EXISTS",
                    Asked::In => "IN",
                };
                let message = format!(
                    "an aggregate without GROUP BY in an {word} that speaks of the outer query is not supported"
                );
                Err(SqlError::new(Code::Unsupported, message).help("join with a query that has GROUP BY"))
            }
            Asked::In if !is_correlated => Ok(()),
            _ if limits(rows).is_some_and(|limit| !self.is_harmless(limit)) => {
                let message = match self {
                    Asked::Exists => "LIMIT and OFFSET within EXISTS are not supported",
                    Asked::In => {
                        "LIMIT and OFFSET within an IN that speaks of the outer query are not supported"
                    }
                };
                Err(SqlError::new(Code::Unsupported, message))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the question has the same answer without the LIMIT: for EXISTS, if at least one row is within
    /// the limit and none is skipped.
    fn is_harmless(self, limit: &Limit) -> bool {
        let is_zero = |count: &Expr| *count == Expr::Literal(ScalarValue::Int64(Some(0)), None);
        let has_row =
            limit.fetch.as_deref().is_none_or(|count| matches!(count, Expr::Literal(..)) && !is_zero(count));
        matches!(self, Asked::Exists) && limit.skip.as_deref().is_none_or(is_zero) && has_row
    }
}

/// Returns whether a plan is an aggregate without GROUP BY below any projections, sorts and limits and, if
/// `with_having`, below conditions such as HAVING.
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

/// Returns the LIMIT of a plan, below any projections and sorts; `None` if it has none.
fn limits(plan: &LogicalPlan) -> Option<&Limit> {
    match plan {
        LogicalPlan::Limit(limit) => Some(limit),
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Sort(_) => {
            plan.inputs().into_iter().find_map(limits)
        }
        _ => None,
    }
}
