//! The catalog of an SQL session: databases, with their tables and views by name.
//!
//! There is one catalog, as in a new session of Flink. A table has a full name, which is unique in the session: its own
//! name in the default database, and `database.table` in others.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sqlparser::ast::Query;
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_functions::types::quoted;
use thalweg_sql_functions::user::Functions;
use thalweg_sql_tables::error::{Code, Place, SqlError};
use thalweg_sql_tables::table::Table;

use crate::text::ddl::{CreateTable, Name};

/// Name of the only catalog, as in a new session of Flink.
pub const CATALOG: &str = "default_catalog";

/// Name of the database that a session begins with, as in a new session of Flink.
pub const DATABASE: &str = "default_database";

/// Greatest number of databases of a session.
pub const DATABASES_MAX: usize = 1_000;

/// A view: a query that has a name in the catalog.
#[derive(Clone, Debug)]
pub struct View {
    /// Column names that CREATE VIEW gives; empty if it gives none.
    pub columns: Vec<String>,
    /// The query for which the view stands.
    pub query: Box<Query>,
    /// The query as the text has it, for SHOW CREATE VIEW.
    pub text: String,
    /// Comment of the view, if CREATE VIEW gives one.
    pub comment: Option<String>,
    /// Database in which the query finds the tables that it names without a database.
    pub database: String,
}

/// An entry of the catalog: a table or a view.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A table that CREATE TABLE has declared.
    Table(Arc<Table>),
    /// A view that CREATE VIEW has declared.
    View(Arc<View>),
}

/// An entry of the catalog, with its place there.
#[derive(Clone, Debug)]
struct Kept {
    path: Path,
    entry: Entry,
    /// Declaration of a table, from which others are made by LIKE and which SHOW CREATE TABLE shows.
    declaration: Option<Arc<CreateTable>>,
}

/// Place of a table or view in the catalog: its database and its name there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// Name of the database.
    pub database: String,
    /// Name of the table or view within the database.
    pub name: String,
}

impl Path {
    /// Returns the name by which the table or view is known in the whole session.
    pub fn full_name(&self) -> String {
        match self.database == DATABASE {
            true => self.name.clone(),
            false => format!("{}.{}", self.database, self.name),
        }
    }

    /// Returns the path with its catalog, each part in backticks.
    pub fn quoted(&self) -> String {
        [CATALOG, &self.database, &self.name].map(quoted).join(".")
    }
}

/// Catalog of a session, which holds tables and views by name.
#[derive(Clone, Debug)]
pub struct Catalog {
    databases: BTreeSet<String>,
    /// The database in which names without a database are found.
    current: String,
    /// Tables and views by their full names.
    entries: BTreeMap<String, Kept>,
    /// Functions that the program has registered.
    functions: Functions,
    /// Full names of tables and views whose declarations are faulty.
    broken: BTreeSet<String>,
    /// Whether a table or view with a faulty declaration was asked for.
    met_broken: Cell<bool>,
}

impl Default for Catalog {
    fn default() -> Self {
        Catalog {
            databases: BTreeSet::from([DATABASE.to_owned()]),
            current: DATABASE.to_owned(),
            entries: BTreeMap::new(),
            functions: Functions::default(),
            broken: BTreeSet::new(),
            met_broken: Cell::new(false),
        }
    }
}

impl Catalog {
    /// Returns the user functions of the session.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Returns the user functions of the session, so that others can be added.
    pub(crate) fn functions_mut(&mut self) -> &mut Functions {
        &mut self.functions
    }

    /// Adds a table or a view to the catalog, a table with its declaration.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the name is taken, unless `if_not_exists`; [`Code::UnknownTable`] if there is no such
    /// database.
    pub fn add(
        &mut self,
        name: &Name,
        entry: Entry,
        declaration: Option<Arc<CreateTable>>,
        if_not_exists: bool,
    ) -> Result<(), SqlError> {
        let path = self.path(name)?;
        let full = path.full_name();
        if self.entries.contains_key(&full) {
            if if_not_exists {
                return Ok(());
            }
            let message = format!("there is a table or view `{full}` already");
            return Err(SqlError::new(Code::Invalid, message)
                .at(name.place)
                .help("give it another name, or drop the first"));
        }
        self.broken.remove(&full);
        self.entries.insert(full, Kept { path, entry, declaration });
        Ok(())
    }

    /// Removes a table or a view from the catalog.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is no such entry, unless `if_exists`; [`Code::Invalid`] if a table is
    /// to be removed as a view, or a view as a table.
    pub fn remove(&mut self, name: &Name, is_view: bool, if_exists: bool) -> Result<(), SqlError> {
        let full = match self.path(name) {
            Ok(path) => path.full_name(),
            Err(_) if if_exists => return Ok(()),
            Err(error) => return Err(error),
        };
        if self.broken.remove(&full) {
            return Ok(());
        }
        match self.entries.get(&full) {
            None if if_exists => Ok(()),
            None => Err(self.unknown(&full).at(name.place)),
            Some(kept) if matches!(kept.entry, Entry::View(_)) == is_view => {
                self.entries.remove(&full);
                Ok(())
            }
            Some(_) => {
                let (is, not) = if is_view { ("table", "view") } else { ("view", "table") };
                let message = format!("`{full}` is a {is} and no {not}");
                Err(SqlError::new(Code::Invalid, message)
                    .at(name.place)
                    .help(format!("write DROP {}", is.to_uppercase())))
            }
        }
    }

    /// Puts an entry in the place of another one, under its name or a new one, a table with its declaration.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the new name is taken by another entry; [`Code::UnknownTable`] if there is no such database.
    pub fn replace(
        &mut self,
        name: &Name,
        new: &Name,
        entry: Entry,
        declaration: Option<Arc<CreateTable>>,
    ) -> Result<(), SqlError> {
        let (old, path) = (self.path(name)?.full_name(), self.path(new)?);
        let full = path.full_name();
        if full != old && self.entries.contains_key(&full) {
            let message = format!("there is a table or view `{full}` already");
            return Err(SqlError::new(Code::Invalid, message).at(new.place).help("give it another name"));
        }
        self.entries.remove(&old);
        self.broken.remove(&full);
        self.entries.insert(full, Kept { path, entry, declaration });
        Ok(())
    }

    /// Returns the table or the view that has the given full name in the catalog.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is none.
    pub fn get(&self, name: &str) -> Result<&Entry, SqlError> {
        self.entries.get(name).map(|kept| &kept.entry).ok_or_else(|| self.unknown(name))
    }

    /// Returns whether a table or view stands at a place of the catalog.
    pub fn contains(&self, path: &Path) -> bool {
        self.entries.contains_key(&path.full_name())
    }

    /// Remembers that the declaration of a table or view is faulty, unless there is one of that name.
    pub fn mark_broken(&mut self, name: &Name) {
        if let Ok(path) = self.path(name)
            && !self.entries.contains_key(&path.full_name())
        {
            self.broken.insert(path.full_name());
        }
    }

    /// Returns whether a table or view with a faulty declaration was asked for since the last call.
    pub fn took_broken(&self) -> bool {
        self.met_broken.take()
    }

    /// Returns the place in the catalog for which a name stands, and the table or view there.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is none.
    pub fn find(&self, name: &Name) -> Result<(Path, &Entry), SqlError> {
        let path = self.path(name)?;
        let entry = self.get(&path.full_name()).map_err(|error| error.at(name.place))?;
        Ok((path, entry))
    }

    /// Returns the declaration of the table that has the given full name.
    pub fn declaration(&self, name: &str) -> Option<&Arc<CreateTable>> {
        self.entries.get(name).and_then(|kept| kept.declaration.as_ref())
    }

    /// Iterates over all tables and views of the catalog, with their full names.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, kept)| (name.as_str(), &kept.entry))
    }

    /// Iterates over the tables and views of a database, with their names there.
    pub fn entries_of(&self, database: &str) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries
            .values()
            .filter(move |kept| kept.path.database == database)
            .map(|kept| (kept.path.name.as_str(), &kept.entry))
    }

    /// Iterates over the names of all databases, in their order.
    pub fn databases(&self) -> impl Iterator<Item = &str> {
        self.databases.iter().map(String::as_str)
    }

    /// Returns the name of the database in which names without a database are found.
    pub fn current(&self) -> &str {
        &self.current
    }

    /// Makes a database the one in which names without a database are found.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is none of this name.
    pub fn use_database(&mut self, name: &Name) -> Result<(), SqlError> {
        self.current = self.database(name)?;
        Ok(())
    }

    /// Makes a catalog the current one, with its default database.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is none of this name.
    pub fn use_catalog(&mut self, name: &str, place: Place) -> Result<(), SqlError> {
        check_catalog(name, place)?;
        DATABASE.clone_into(&mut self.current);
        Ok(())
    }

    /// Adds a database without tables.
    ///
    /// # Errors
    /// [`Code::Invalid`] if there is one of this name, unless `if_not_exists`; [`Code::Unsupported`] beyond
    /// [`DATABASES_MAX`].
    pub fn create_database(&mut self, name: &Name, if_not_exists: bool) -> Result<(), SqlError> {
        check_before(name)?;
        if self.databases.contains(&name.name) {
            if if_not_exists {
                return Ok(());
            }
            let message = format!("there is a database `{}` already", name.name);
            return Err(SqlError::new(Code::Invalid, message).at(name.place).help("write IF NOT EXISTS"));
        }
        if self.databases.len() >= DATABASES_MAX {
            let message = format!("there are {DATABASES_MAX} databases, the most that a session has");
            return Err(SqlError::new(Code::Unsupported, message).at(name.place));
        }
        self.databases.insert(name.name.clone());
        Ok(())
    }

    /// Removes a database; `is_cascade` also removes its tables and views.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is none of this name, unless `if_exists`; [`Code::Invalid`] if it is in use, is the
    /// default one, or has tables or views and `is_cascade` is false.
    pub fn drop_database(&mut self, name: &Name, if_exists: bool, is_cascade: bool) -> Result<(), SqlError> {
        check_before(name)?;
        if if_exists && !self.databases.contains(&name.name) {
            return Ok(());
        }
        let database = self.database(name)?;
        let refused = |message: String, help: &str| {
            Err(SqlError::new(Code::Invalid, message).at(name.place).help(help))
        };
        if database == self.current {
            let message = format!("the database `{database}` is in use and cannot be dropped");
            return refused(message, "USE another database first");
        }
        if database == DATABASE {
            return refused(format!("`{database}` is the default database"), "drop its tables and views");
        }
        if !is_cascade && self.entries_of(&database).next().is_some() {
            return refused(format!("the database `{database}` is not empty"), "write CASCADE behind it");
        }
        self.entries.retain(|_, kept| kept.path.database != database);
        self.databases.remove(&database);
        Ok(())
    }

    /// Returns the name of the database for which a name stands.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is none.
    pub fn database(&self, name: &Name) -> Result<String, SqlError> {
        check_before(name)?;
        match self.databases.contains(&name.name) {
            true => Ok(name.name.clone()),
            false => Err(self.unknown_database(&name.name).at(name.place)),
        }
    }

    /// Returns the place in the catalog for which the name of a table or view stands.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is no such catalog or database.
    pub fn path(&self, name: &Name) -> Result<Path, SqlError> {
        let before: Vec<&str> = name.before.iter().map(String::as_str).collect();
        self.path_in(&self.current, &before, &name.name).map_err(|error| error.at(name.place))
    }

    /// As [`path`](Self::path) for the parts of a name; `current` is the database of names without one.
    pub fn path_in(&self, current: &str, before: &[&str], name: &str) -> Result<Path, SqlError> {
        let database = match *before {
            [] => current,
            [database] | [CATALOG, database] => database,
            _ => {
                let message = format!("there is no catalog or database `{}`", before.join("."));
                return Err(SqlError::new(Code::UnknownTable, message).help(format!("write `{name}`")));
            }
        };
        match self.databases.contains(database) {
            true => Ok(Path { database: database.to_owned(), name: name.to_owned() }),
            false => Err(self.unknown_database(database)),
        }
    }

    fn unknown_database(&self, name: &str) -> SqlError {
        let message = format!("there is no catalog or database `{name}`");
        let error = SqlError::new(Code::UnknownTable, message);
        match nearest(name, self.databases()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("there are {}", self.databases().collect::<Vec<_>>().join(", "))),
        }
    }

    /// Returns the error for an unknown table name, with the nearest known name as a suggestion.
    fn unknown(&self, name: &str) -> SqlError {
        if self.broken.contains(name) {
            self.met_broken.set(true);
            let message = format!("the declaration of `{name}` is faulty");
            return SqlError::new(Code::UnknownTable, message);
        }
        let error = SqlError::new(Code::UnknownTable, format!("there is no table or view `{name}`"));
        match nearest(name, self.entries.keys().map(String::as_str)) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None if self.entries.is_empty() => error.help("declare it with CREATE TABLE"),
            None => error
                .help(format!("there are {}", self.entries.keys().cloned().collect::<Vec<_>>().join(", "))),
        }
    }
}

/// Checks the name of a catalog: there is one.
///
/// # Errors
/// [`Code::UnknownTable`] for another name.
pub fn check_catalog(name: &str, place: Place) -> Result<(), SqlError> {
    if name == CATALOG {
        return Ok(());
    }
    let error = SqlError::new(Code::UnknownTable, format!("there is no catalog `{name}`"));
    Err(error.at(place).help(format!("the only one is {CATALOG}")))
}

/// Checks the parts before the name of a database: at most the catalog.
fn check_before(name: &Name) -> Result<(), SqlError> {
    match &name.before[..] {
        [] => Ok(()),
        [catalog] => check_catalog(catalog, name.place),
        _ => {
            let message = "a database has at most the name of its catalog before it";
            Err(SqlError::new(Code::Invalid, message).at(name.place))
        }
    }
}
