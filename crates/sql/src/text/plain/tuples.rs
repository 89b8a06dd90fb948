//! Rewriting of comparisons of several values at once: `(a, b) IN ((1, 2), (3, 4))` and `(a, b) = (1, 2)`
//! become comparisons of one value each.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};
use thalweg_sql_tables::error::{Code, SqlError};

use super::OPERATORS_MAX;

type Result<T> = std::result::Result<T, SqlError>;

/// Returns `(a, b) IN (..)` as comparisons of one value each, or any other IN unchanged.
pub(super) fn plain_in(value: Expr, list: Vec<Expr>, negated: bool) -> Result<Expr> {
    let Expr::Tuple(values) = value else {
        return Ok(Expr::InList { expr: Box::new(value), list, negated });
    };
    if list.len().saturating_mul(values.len()) > OPERATORS_MAX {
        let message = format!("IN compares more than {OPERATORS_MAX} values");
        return Err(SqlError::new(Code::Unsupported, message).help("join with a table or VALUES"));
    }
    let mut found: Option<Expr> = None;
    for item in list {
        let Expr::Tuple(item) = item else {
            let message = format!("{} values are compared with one", values.len());
            return Err(SqlError::new(Code::TypeMismatch, message)
                .help("write as many in brackets: ((1, 2), (3, 4))"));
        };
        let equal = all_equal(&values, item)?;
        found = Some(match found {
            Some(before) => both(before, BinaryOperator::Or, equal),
            None => equal,
        });
    }
    match found {
        Some(found) if negated => Ok(not(found)),
        Some(found) => Ok(found),
        None => Err(SqlError::new(Code::Syntax, "IN compares with nothing")),
    }
}

/// Returns `(a, b) = (c, d)` or `(a, b) <> (c, d)` as comparisons of one value each, and any other comparison
/// unchanged.
pub(super) fn plain_comparison(left: Expr, op: BinaryOperator, right: Expr) -> Result<Expr> {
    match (left, op, right) {
        (Expr::Tuple(left), BinaryOperator::Eq, Expr::Tuple(right)) => all_equal(&left, right),
        (Expr::Tuple(left), BinaryOperator::NotEq, Expr::Tuple(right)) => all_equal(&left, right).map(not),
        (left, op, right) => Ok(both(left, op, right)),
    }
}

/// Returns the condition that each of `values` equals the one of `others` with the same index. The values are
/// copied for each list item with which they are compared, so only columns and literals are accepted.
fn all_equal(values: &[Expr], others: Vec<Expr>) -> Result<Expr> {
    if values.len() != others.len() {
        let message = format!("{} values are compared with {}", values.len(), others.len());
        return Err(SqlError::new(Code::TypeMismatch, message));
    }
    let mut all: Option<Expr> = None;
    for (value, other) in values.iter().zip(others) {
        if !matches!(value, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_)) {
            let message = "in brackets, several values before IN or = are columns or literals";
            return Err(SqlError::new(Code::Unsupported, message).help("compute them in a sub-query"));
        }
        let equal = both(value.clone(), BinaryOperator::Eq, other);
        all = Some(match all {
            Some(before) => both(before, BinaryOperator::And, equal),
            None => equal,
        });
    }
    all.ok_or_else(|| SqlError::new(Code::Syntax, "brackets hold no values"))
}

fn both(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

fn not(inner: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(inner) }
}
