//! Tables: their columns, their event time, and the options of their connectors.

use std::collections::BTreeMap;
use std::fmt;

use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::SqlType;

use crate::error::Place;

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

/// The value of an option in WITH.
#[derive(Clone, PartialEq, Eq)]
pub struct OptionValue {
    /// The value.
    pub value: String,
    /// Place of the key.
    pub place: Place,
}

/// Hides the value, which may be secret.
impl fmt::Debug for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OptionValue").field("place", &self.place).finish_non_exhaustive()
    }
}
