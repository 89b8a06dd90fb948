//! Forms of expressions that the parser has made calls with names of their own: BETWEEN SYMMETRIC, several values in a WHEN,
//! and spans between two times.

use sqlparser::ast::{Expr, FunctionArguments, Value};
use thalweg_sql_functions::expression::{Expression, Typed};
use thalweg_sql_tables::error::SqlError;

use super::Result;
use crate::bind::Planner;
use crate::bind::scope::Scope;
use crate::bind::syntax::{not_supported, value_of};
use crate::bind::typing::{boolean, text};
use crate::text::dialect::single_name;
use crate::text::forms::{ANY_OF, BETWEEN_TIMES, SYMMETRIC};

/// Returns the values of a WHEN that has several; `None` for other conditions.
pub(super) fn any_of(condition: &Expr) -> Option<Vec<&Expr>> {
    let Expr::Function(function) = condition else { return None };
    let name = single_name(&function.name)?;
    match &function.args {
        FunctionArguments::List(list) if name.quote_style.is_some() && name.value == ANY_OF => {
            Some(list.args.iter().filter_map(value_of).collect())
        }
        _ => None,
    }
}

impl Planner<'_> {
    /// Returns the value of a form that the parser has made a call of `name`; `None` for other names.
    pub(super) fn form(&self, name: &str, arguments: &[&Expr], scope: &Scope<'_>) -> Result<Option<Typed>> {
        match (name, arguments) {
            (SYMMETRIC, [value, low, high]) => {
                let value = self.bind(value, scope)?;
                let (low, high) = (self.bind(low, scope)?, self.bind(high, scope)?);
                self.typing.copies(&value, 3)?;
                self.typing.copies(&low, 1)?;
                self.typing.copies(&high, 1)?;
                let upward = self.typing.between(value.clone(), low.clone(), high.clone())?;
                let downward = self.typing.between(value, high, low)?;
                Ok(Some(boolean(Expression::Or(vec![upward, downward]))))
            }
            (BETWEEN_TIMES, [later, earlier, kind]) => {
                let kind = match kind {
                    Expr::Value(value) => match &value.value {
                        Value::SingleQuotedString(kind) => kind.clone(),
                        _ => return Err(not_supported("this kind of interval")),
                    },
                    _ => return Err(not_supported("this kind of interval")),
                };
                let (from, to) = (self.bind(earlier, scope)?, self.bind(later, scope)?);
                const FUNCTION: &str = "$BETWEEN_TIMES";
                let interval = self.typing.named_function(FUNCTION, vec![text(kind), from, to]);
                interval.map(Some).map_err(|error| SqlError {
                    message: error.message.replace(&format!("{FUNCTION}: "), ""),
                    ..error
                })
            }
            (ANY_OF, _) => Err(not_supported("several values in a WHEN here")),
            _ => Ok(None),
        }
    }
}
