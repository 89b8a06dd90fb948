//! What there is in a session: tables, views and settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast::Query;

use crate::error::{Code, Place, SqlError, nearest};
use crate::expression::Typed;
use crate::text::ddl::{Name, OptionValue};
use crate::types::SqlType;

/// The catalog and the database that everything is in, as Flink calls those of a new session.
pub const CATALOG: [&str; 2] = ["default_catalog", "default_database"];

/// A table: where its rows come from or go to, and what they are.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns, in the order in which they are declared.
    pub columns: Vec<TableColumn>,
    /// What event time is, if it has any.
    pub rowtime: Option<Rowtime>,
    /// The places of the columns of its primary key.
    pub primary_key: Vec<usize>,
    /// The places of the columns that it is partitioned by.
    pub partitioned_by: Vec<usize>,
    /// What stands in WITH.
    pub options: BTreeMap<String, OptionValue>,
    /// Where WITH stands.
    pub options_place: Place,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub of: SqlType,
    /// Whether it may be NULL.
    pub is_nullable: bool,
    /// Where its values come from.
    pub kind: TableColumnKind,
    /// Where it is declared.
    pub place: Place,
}

/// Where the values of a column come from.
#[derive(Clone, Debug)]
pub enum TableColumnKind {
    /// The records.
    Physical,
    /// An expression over the table's columns, by their places; none of those is computed itself.
    Computed(Typed),
    /// `PROCTIME()`: when a row is processed.
    Proctime,
    /// What the connector says of a record.
    Metadata {
        /// Its name there.
        key: String,
        /// Whether it is left out when the table is written to.
        is_virtual: bool,
    },
}

/// How event time follows from a table's rows.
#[derive(Clone, Debug)]
pub struct Rowtime {
    /// The place of its column.
    pub column: usize,
    /// Later rows have event times above this: an expression over the table's columns, a timestamp like the column.
    pub watermark: Typed,
}

impl Table {
    /// The places of the columns that are written to: all but those that are computed, or only told by the connector.
    pub fn written_columns(&self) -> Vec<usize> {
        let is_written = |column: &TableColumn| match &column.kind {
            TableColumnKind::Physical => true,
            TableColumnKind::Metadata { is_virtual, .. } => !is_virtual,
            TableColumnKind::Computed(_) | TableColumnKind::Proctime => false,
        };
        (0..self.columns.len()).filter(|place| is_written(&self.columns[*place])).collect()
    }

    /// The place of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// A view: a query with a name.
#[derive(Clone, Debug)]
pub struct View {
    /// Names of its columns, if they are given.
    pub columns: Vec<String>,
    /// What it stands for.
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
    /// [`Code::Invalid`] if there is one of that name, unless that is fine.
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

    /// Takes an entry out.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is none, unless that is fine; [`Code::Invalid`] if it is the other kind.
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

    /// The entry of a name.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is none.
    pub fn get(&self, name: &str) -> Result<&Entry, SqlError> {
        self.entries.get(name).ok_or_else(|| self.unknown(name))
    }

    /// All names, with what they are.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// The error for a name that there is not.
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

/// A name may say the catalog and the database, if it says those that there are.
pub(crate) fn check_parts(name: &Name) -> Result<(), SqlError> {
    let known = &CATALOG[CATALOG.len().saturating_sub(name.before.len())..];
    if name.before.len() <= CATALOG.len() && name.before.iter().map(String::as_str).eq(known.iter().copied())
    {
        return Ok(());
    }
    let message = format!("there is no catalog or database `{}`", name.before.join("."));
    Err(SqlError::new(Code::UnknownTable, message).at(name.place).help(format!("write `{}`", name.name)))
}
