//! The catalog of a session: tables and views by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast::Query;

use crate::error::{Code, Place, SqlError, nearest};
use crate::expression::Typed;
use crate::text::ddl::{Name, OptionValue};
use crate::types::SqlType;

/// The catalog and the database of all entries, named as in a new Flink session.
pub const CATALOG: [&str; 2] = ["default_catalog", "default_database"];

/// A table: its columns, its event time and the options of its connector.
#[derive(Clone, Debug)]
pub struct Table {
    /// The name of the table.
    pub name: String,
    /// Its columns, in the order of declaration.
    pub columns: Vec<TableColumn>,
    /// The event time and its watermark; `None` if the table has no event time.
    pub rowtime: Option<Rowtime>,
    /// The places of the primary key columns.
    pub primary_key: Vec<usize>,
    /// The places of the columns by which the table is partitioned.
    pub partitioned_by: Vec<usize>,
    /// The options in WITH.
    pub options: BTreeMap<String, OptionValue>,
    /// The place of WITH in the text.
    pub options_place: Place,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// The name of the column.
    pub name: String,
    /// The type of the column.
    pub of: SqlType,
    /// Whether the column may be NULL.
    pub is_nullable: bool,
    /// The origin of the values.
    pub kind: TableColumnKind,
    /// The place of its declaration in the text.
    pub place: Place,
}

/// The origin of the values of a column.
#[derive(Clone, Debug)]
pub enum TableColumnKind {
    /// Read from the records.
    Physical,
    /// Computed by an expression over the table's columns, by their places; none of these columns is itself
    /// computed.
    Computed(Typed),
    /// `PROCTIME()`: the time at which a row is processed.
    Proctime,
    /// Metadata which the connector gives for a record.
    Metadata {
        /// The name of the metadata.
        key: String,
        /// Whether the column is left out when the table is written.
        is_virtual: bool,
    },
}

/// The event time of a table's rows.
#[derive(Clone, Debug)]
pub struct Rowtime {
    /// The place of the event time column.
    pub column: usize,
    /// The watermark expression over the table's columns, of the same type as the time column. Later rows
    /// have event times above it.
    pub watermark: Typed,
}

impl Table {
    /// Returns the places of the columns that are written: physical columns and metadata which is not
    /// virtual.
    pub fn written_columns(&self) -> Vec<usize> {
        let is_written = |column: &TableColumn| match &column.kind {
            TableColumnKind::Physical => true,
            TableColumnKind::Metadata { is_virtual, .. } => !is_virtual,
            TableColumnKind::Computed(_) | TableColumnKind::Proctime => false,
        };
        (0..self.columns.len()).filter(|place| is_written(&self.columns[*place])).collect()
    }

    /// Returns the place of the column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// A view: a query with a name.
#[derive(Clone, Debug)]
pub struct View {
    /// The names of its columns; empty if they are not given.
    pub columns: Vec<String>,
    /// The query which the view stands for.
    pub query: Box<Query>,
}

/// A table or a view.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A table.
    Table(Arc<Table>),
    /// A view.
    View(Arc<View>),
}

/// Tables and views by name.
#[derive(Clone, Default, Debug)]
pub struct Catalog {
    entries: BTreeMap<String, Entry>,
}

impl Catalog {
    /// Adds an entry.
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

    /// Removes an entry.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is no such entry, unless `if_exists`; [`Code::Invalid`] if the entry
    /// is of the other kind.
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

    /// Returns the entry with this name.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is none.
    pub fn get(&self, name: &str) -> Result<&Entry, SqlError> {
        self.entries.get(name).ok_or_else(|| self.unknown(name))
    }

    /// Iterates over all names and their entries.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// Returns the error for an unknown name, with a suggestion.
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

/// Checks the catalog and the database of a qualified name: only those in [`CATALOG`] exist.
pub(crate) fn check_parts(name: &Name) -> Result<(), SqlError> {
    let known = &CATALOG[CATALOG.len().saturating_sub(name.before.len())..];
    if name.before.len() <= CATALOG.len() && name.before.iter().map(String::as_str).eq(known.iter().copied())
    {
        return Ok(());
    }
    let message = format!("there is no catalog or database `{}`", name.before.join("."));
    Err(SqlError::new(Code::UnknownTable, message).at(name.place).help(format!("write `{}`", name.name)))
}
