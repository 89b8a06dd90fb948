//! `x IN (a, b, ..)`: an OR of comparisons. Many literals of the type of `x` become a look-up in a set instead.

use arrow::datatypes::DataType;
use datafusion_expr::expr::InList;
use thalweg_sql_functions::expression::{Call, Expression, Typed};
use thalweg_sql_functions::functions::compare::ComparisonOp;
use thalweg_sql_functions::functions::compare::members::bind_members;
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::SqlError;

use super::expression::{Expressions, Scope, boolean};
use super::said::said;

type Result<T> = std::result::Result<T, SqlError>;

/// Number of literals in an IN list from which on a value is looked up among them.
const LOOKED_UP_MIN: usize = 4;

impl Expressions<'_> {
    /// Returns an expression that tests whether a value is in a list.
    pub(super) fn in_list(&self, in_list: &InList, scope: &Scope<'_>) -> Result<Typed> {
        let InList { expr, list, negated } = in_list;
        let value = self.bind(expr, scope)?;
        self.copies(&value, list.len())?;
        let mut terms = Vec::with_capacity(list.len());
        for item in list {
            let item = self.bind(item, scope)?;
            let equal = self.compare(ComparisonOp::Eq, value.clone(), item);
            terms.push(equal.map_err(|error| SqlError {
                message: format!("{} IN (..): {}", said(expr), error.message),
                ..error
            })?);
        }
        let any = boolean(Expression::Or(looked_up(terms)));
        if *negated { self.not(any) } else { Ok(any) }
    }
}

/// Replaces comparisons of one value with many literals by look-ups, one for each type of literals. All terms compare
/// the same value, though it may be cast to several types: terms with equal types on their left side belong together.
fn looked_up(terms: Vec<Typed>) -> Vec<Typed> {
    let mut of_types: Vec<(DataType, Vec<Typed>)> = Vec::new();
    let mut rest = Vec::new();
    for term in terms {
        let Some((value, _)) = as_equal(&term) else {
            rest.push(term);
            continue;
        };
        let of = value.of.arrow();
        match of_types.iter_mut().find(|(known, _)| *known == of) {
            Some((_, alike)) => alike.push(term),
            None => of_types.push((of, vec![term])),
        }
    }
    let mut found = Vec::new();
    for (of, alike) in of_types {
        match look_up(&of, &alike) {
            Some(look_up) => found.push(look_up),
            None => found.extend(alike),
        }
    }
    found.extend(rest);
    found
}

/// Returns the look-up of a value among the literals with which the terms compare it; `None` if there are fewer than
/// [`LOOKED_UP_MIN`].
fn look_up(of: &DataType, alike: &[Typed]) -> Option<Typed> {
    let value = as_equal(alike.first()?)?.0;
    let literals: Vec<ScalarValue> =
        alike.iter().filter_map(|term| Some(as_equal(term)?.1.clone())).collect();
    // A value such as RAND() must be computed once for the whole list, so it is looked up even among few literals.
    if literals.len() < LOOKED_UP_MIN && value.is_deterministic() {
        return None;
    }
    let expression = Expression::Call {
        call: Call::In(literals.as_slice().into()),
        kernel: bind_members(of, literals)?,
        arguments: vec![value.clone()],
        is_total: true,
        is_deterministic: true,
    };
    Some(Typed { is_nullable: alike.iter().any(|term| term.is_nullable), ..boolean(expression) })
}

/// Returns both sides of `value = literal`; `None` for other terms.
fn as_equal(term: &Typed) -> Option<(&Typed, &ScalarValue)> {
    match &term.expression {
        Expression::Call { call: Call::Compare(ComparisonOp::Eq), arguments, .. } => match &arguments[..] {
            [value, literal] => Some((value, literal.as_literal()?)),
            _ => None,
        },
        _ => None,
    }
}
