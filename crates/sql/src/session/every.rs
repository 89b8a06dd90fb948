//! All faults of a text: reading goes on after a faulty statement.
//!
//! A fault may have others in its train, which say nothing new. So what a faulty statement would have declared is
//! remembered, and later faults that may follow from it are left out.

use std::collections::HashSet;

use thalweg_sql_tables::error::SqlError;

use super::{Action, Session};
use crate::text::ddl::Name;
use crate::text::script::{self, Faulty, Placed, Statement};

/// Greatest number of errors that are reported of one text.
pub const ERRORS_MAX: usize = 100;

/// Returns errors in the order of their places, at most [`ERRORS_MAX`], and one for each place.
pub fn in_order(mut errors: Vec<SqlError>) -> Vec<SqlError> {
    errors.sort_by_key(|error| error.place.map(|place| (place.line, place.column)));
    let mut known = HashSet::new();
    errors.retain(|error| error.place.is_none_or(|place| known.insert((place.line, place.column))));
    errors.truncate(ERRORS_MAX);
    errors
}

impl Session {
    /// Reads a text as [`read_all`](Self::read_all) does, on this thread.
    pub(super) fn read_all_here(&mut self, text: &str) -> Result<Vec<Action>, Vec<SqlError>> {
        let (mut actions, mut errors) = (Vec::new(), Vec::new());
        for parsed in script::parse_each(text).map_err(|error| vec![error])? {
            let Placed { statement, place } = match parsed {
                Ok(placed) => placed,
                Err(Faulty { error, declares }) => {
                    declares.iter().for_each(|name| self.catalog.mark_broken(name));
                    errors.push(error);
                    continue;
                }
            };
            let declares = declared(&statement);
            // Later names cannot be found if their database is not known.
            let is_last = matches!(statement, Statement::Use { .. } | Statement::CreateDatabase { .. });
            let several = match &statement {
                Statement::Insert(inserts) if inserts.len() > 1 => inserts.clone(),
                _ => Vec::new(),
            };
            self.catalog.took_broken();
            let error = match self.statement(statement, place) {
                Ok(action) => {
                    actions.extend(action);
                    continue;
                }
                Err(error) => error.at(place),
            };
            declares.iter().for_each(|name| self.catalog.mark_broken(name));
            if !self.catalog.took_broken() {
                errors.push(error);
            }
            // The other INSERTs of a statement set have faults of their own.
            for insert in &several {
                if let Err(error) = self.inserts(std::slice::from_ref(insert), place)
                    && !self.catalog.took_broken()
                {
                    errors.push(error.at(insert.place));
                }
            }
            if is_last {
                break;
            }
        }
        if errors.is_empty() { Ok(actions) } else { Err(in_order(errors)) }
    }
}

/// Returns the name of the table or view that a statement declares.
fn declared(statement: &Statement) -> Option<Name> {
    match statement {
        Statement::CreateTable(create) => Some(create.name.clone()),
        Statement::CreateView { name, .. } => Some(name.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
