//! The catalog of an SQL session: tables and views by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast::Query;
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_tables::error::{Code, SqlError};
use thalweg_sql_tables::table::Table;

use crate::text::ddl::Name;

/// Names of the only catalog and the only database, which hold all tables and views; a new Flink session has
/// the same names.
pub const CATALOG: [&str; 2] = ["default_catalog", "default_database"];

/// A view: a query that has a name in the catalog.
#[derive(Clone, Debug)]
pub struct View {
    /// Column names that CREATE VIEW gives; empty if it gives none.
    pub columns: Vec<String>,
    /// The query for which the view stands.
    pub query: Box<Query>,
}

/// An entry of the catalog: a table or a view.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A table that CREATE TABLE has declared.
    Table(Arc<Table>),
    /// A view that CREATE VIEW has declared.
    View(Arc<View>),
}

/// Catalog of a session, which holds tables and views by name.
#[derive(Clone, Default, Debug)]
pub struct Catalog {
    entries: BTreeMap<String, Entry>,
}

impl Catalog {
    /// Adds a table or a view to the catalog.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the name is taken, unless `if_not_exists`.
    pub fn add(&mut self, name: &Name, entry: Entry, if_not_exists: bool) -> Result<(), SqlError> {
        check_parts(name)?;
        if self.entries.contains_key(&name.name) {
            if if_not_exists {
                return Ok(());
            }
            let message = format!("there is a table or view `{}` already", name.name);
            return Err(SqlError::new(Code::Invalid, message)
                .at(name.place)
                .help("give it another name, or drop the first"));
        }
        self.entries.insert(name.name.clone(), entry);
        Ok(())
    }

    /// Removes a table or a view from the catalog.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is no such entry, unless `if_exists`; [`Code::Invalid`] if a table is
    /// to be removed as a view, or a view as a table.
    pub fn remove(&mut self, name: &Name, is_view: bool, if_exists: bool) -> Result<(), SqlError> {
        check_parts(name)?;
        match self.entries.get(&name.name) {
            None if if_exists => Ok(()),
            None => Err(self.unknown(&name.name).at(name.place)),
            Some(entry) if matches!(entry, Entry::View(_)) == is_view => {
                self.entries.remove(&name.name);
                Ok(())
            }
            Some(_) => {
                let (is, not) = if is_view { ("table", "view") } else { ("view", "table") };
                let message = format!("`{}` is a {is} and no {not}", name.name);
                Err(SqlError::new(Code::Invalid, message)
                    .at(name.place)
                    .help(format!("write DROP {}", is.to_uppercase())))
            }
        }
    }

    /// Returns the table or the view that has the given name in the catalog.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is none.
    pub fn get(&self, name: &str) -> Result<&Entry, SqlError> {
        self.entries.get(name).ok_or_else(|| self.unknown(name))
    }

    /// Iterates over all tables and views of the catalog, with their names.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// Returns the error for an unknown table name, with the nearest known name as a suggestion.
    fn unknown(&self, name: &str) -> SqlError {
        let error = SqlError::new(Code::UnknownTable, format!("there is no table or view `{name}`"));
        match nearest(name, self.entries.keys().map(String::as_str)) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None if self.entries.is_empty() => error.help("declare it with CREATE TABLE"),
            None => error
                .help(format!("there are {}", self.entries.keys().cloned().collect::<Vec<_>>().join(", "))),
        }
    }
}

/// Checks the catalog and the database in a qualified table name: only those in [`CATALOG`] exist.
pub(crate) fn check_parts(name: &Name) -> Result<(), SqlError> {
    let known = &CATALOG[CATALOG.len().saturating_sub(name.before.len())..];
    if name.before.len() <= CATALOG.len() && name.before.iter().map(String::as_str).eq(known.iter().copied())
    {
        return Ok(());
    }
    let message = format!("there is no catalog or database `{}`", name.before.join("."));
    Err(SqlError::new(Code::UnknownTable, message).at(name.place).help(format!("write `{}`", name.name)))
}
