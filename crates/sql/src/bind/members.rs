//! `x IN (a, b, ..)`: a comparison with each by OR or, where many are literals of the type of `x`, a look-up among them.

use datafusion_common::ScalarValue;
use datafusion_expr::expr::InList;

use super::expression::{Expressions, Scope, boolean};
use super::said::said;
use crate::error::SqlError;
use crate::expression::{Expression, Typed, members_name};
use crate::functions::compare::ComparisonOp;
use crate::functions::compare::members::bind_members;

type Result<T> = std::result::Result<T, SqlError>;

/// From so many literals on, they are looked up.
const LOOKED_UP_MIN: usize = 4;

impl Expressions<'_> {
    /// Whether a value is one of a list.
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

/// The same, with one look-up instead of the comparisons of one value with literals, if they are many. They are comparisons of the
/// same value if what stands on their left is of the same type.
fn looked_up(terms: Vec<Typed>) -> Vec<Typed> {
    let Some(first) = terms.iter().find_map(|term| as_equal(term)) else { return terms };
    let of = first.0.of.arrow();
    let value = first.0.clone();
    let is_alike = |term: &Typed| as_equal(term).is_some_and(|(value, _)| value.of.arrow() == of);
    let (alike, rest): (Vec<Typed>, Vec<Typed>) = terms.into_iter().partition(is_alike);
    let literals: Vec<ScalarValue> =
        alike.iter().filter_map(|term| Some(as_equal(term)?.1.clone())).collect();
    let kernel = (literals.len() >= LOOKED_UP_MIN).then(|| bind_members(&of, literals.clone())).flatten();
    let Some(kernel) = kernel else { return alike.into_iter().chain(rest).collect() };
    let is_nullable = alike.iter().any(|term| term.is_nullable);
    let expression = Expression::Call {
        name: members_name(&literals),
        kernel,
        arguments: vec![value],
        is_total: true,
        is_deterministic: true,
    };
    let found = Typed { is_nullable, ..boolean(expression) };
    [found].into_iter().chain(rest).collect()
}

/// The sides of `value = literal`.
fn as_equal(term: &Typed) -> Option<(&Typed, &ScalarValue)> {
    match &term.expression {
        Expression::Call { name, arguments, .. } if name == "=" => match &arguments[..] {
            [value, literal] => Some((value, literal.as_literal()?)),
            _ => None,
        },
        _ => None,
    }
}
