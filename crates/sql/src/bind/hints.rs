//! Hints behind SELECT: the tables that they name, and the times to live that STATE_TTL gives.
//!
//! STATE_TTL holds for a join whose side is one table of the hint, and for a GROUP BY over one table of it. Of a chain of
//! joins, the first has times for both sides, and each later one for its right side, as in Flink. Tables are named as in the
//! query: by their alias, if they have one.
//!
//! Source: Flink's documentation, "SQL Hints", section "State TTL Hints".

use sqlparser::ast::Select;
use thalweg_sql_exec::plan::{Node, Plan};
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::names::{Names, Visible};
use super::{Answers, Planner};
use crate::catalog::CATALOG;
use crate::text::hints::{SelectHint, of_select};

/// Hints of the SELECT that is being planned.
#[derive(Default)]
pub(super) struct Hints(Vec<SelectHint>);

/// Time to live that a hint gives, in milliseconds; its inner `None` is for ever.
pub(super) type HintedTtl = Option<Option<i64>>;

impl Hints {
    /// Returns the hints of a SELECT that begins at a place.
    ///
    /// # Errors
    /// [`SqlError`] for a hint of a wrong form.
    pub(super) fn of(select: &Select, at: Option<Place>) -> Result<Self, SqlError> {
        let mut hints = Vec::new();
        for hint in &select.optimizer_hints {
            hints.extend(of_select(&hint.text, at.unwrap_or(Place { line: 1, column: 1, width: 1 }))?);
        }
        Ok(Hints(hints))
    }

    /// Checks that each table of the hints is one of FROM.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] for another name.
    pub(super) fn check(&self, names: &Names, at: Option<Place>) -> Result<(), SqlError> {
        for hint in &self.0 {
            if let Some(table) =
                hint.tables.iter().find(|table| !names.columns.iter().any(|column| is_of(column, table)))
            {
                let message = format!("the hint {} names `{table}`, which is no table of FROM", hint.name);
                let mut known: Vec<&str> =
                    names.columns.iter().filter_map(|column| column.table.as_deref()).collect();
                known.dedup();
                let error = SqlError::new(Code::UnknownTable, message).at(at);
                return Err(match known.is_empty() {
                    true => error.help("give the sub-query a name by AS"),
                    false => error.help(format!("there are {}", known.join(", "))),
                });
            }
        }
        Ok(())
    }

    /// Returns the time to live for the only table of a relation; `None` for several tables, and for a table without a hint.
    /// If several hints name one table, the first of them holds.
    fn ttl_of(&self, names: &Names) -> HintedTtl {
        let first = names.columns.first()?;
        if !names.columns.iter().all(|column| column.has_table_of(first)) {
            return None;
        }
        let mut hinted = self.0.iter().flat_map(|hint| hint.tables.iter().zip(&hint.ttl));
        let (_, ttl) = hinted.find(|(table, _)| is_of(first, table))?;
        Some((!ttl.is_zero()).then(|| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// Returns whether a column belongs to a table, whose name may have its database and its catalog before it.
fn is_of(column: &Visible, table: &str) -> bool {
    let (Some(name), database) = (column.table.as_deref(), column.database.as_deref()) else { return false };
    let rest = match table.strip_suffix(name) {
        Some("") => return true,
        Some(rest) => rest,
        None => return false,
    };
    database
        .is_some_and(|database| rest == format!("{database}.") || rest == format!("{CATALOG}.{database}."))
}

impl Planner<'_> {
    /// Returns the time to live that a hint of the SELECT gives for a relation. In batch mode none does, because state ends
    /// with the job.
    pub(super) fn hinted_ttl(&self, names: &Names) -> HintedTtl {
        match self.binder.answers {
            Answers::Final => None,
            _ => self.hints.borrow().last().and_then(|hints| hints.ttl_of(names)),
        }
    }
}

/// Returns a plan whose outermost operator, if it is a GROUP BY without a window, has the time to live of a hint.
pub(super) fn with_ttl(mut plan: Plan, hinted: HintedTtl) -> Plan {
    if let (Node::Group { ttl_ms, .. }, Some(hinted)) = (&mut plan.node, hinted) {
        *ttl_ms = hinted;
    }
    plan
}
