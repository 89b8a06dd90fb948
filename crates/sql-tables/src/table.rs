//! Tables: their columns, their event time, and the options of their connectors.

use std::collections::BTreeMap;
use std::fmt;

use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::SqlType;

use crate::error::Place;

/// A table: its columns, its event time and the options of its connector.
#[derive(Clone, Debug)]
pub struct Table {
    /// The name of the table in SQL.
    pub name: String,
    /// The columns of the table, in the order of declaration.
    pub columns: Vec<TableColumn>,
    /// The event time of the table and its watermark; `None` if the table has no event time.
    pub rowtime: Option<Rowtime>,
    /// The indexes of the primary key columns among the columns of the table.
    pub primary_key: Vec<usize>,
    /// The indexes, among the columns of the table, of the columns by which it is partitioned.
    pub partitioned_by: Vec<usize>,
    /// The options of the table in WITH, by key.
    pub options: BTreeMap<String, OptionValue>,
    /// The place of WITH in the SQL text, for errors about missing options.
    pub options_place: Place,
    /// Whether rows that are written replace those that the table holds, as by INSERT OVERWRITE.
    pub is_replaced: bool,
}

/// A column of a table, as the table's declaration has it.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// The name of the table column.
    pub name: String,
    /// The SQL type of the column.
    pub of: SqlType,
    /// Whether the column may hold NULL.
    pub is_nullable: bool,
    /// Where the values of the column come from.
    pub kind: TableColumnKind,
    /// The place of the column's declaration in the SQL text.
    pub place: Place,
}

/// Where the values of a table column come from.
#[derive(Clone, Debug)]
pub enum TableColumnKind {
    /// The values are read from the records of the connector.
    Physical,
    /// The values are computed by an expression over other columns of the table, which it names by their
    /// indexes. None of these columns is itself computed.
    Computed(Typed),
    /// `PROCTIME()`: the value is the processing time at which a row is read.
    Proctime,
    /// The watermark of the reader of a row before the row, NULL before the first one. No declaration has such a column;
    /// queries add it to a table with event time, behind all other columns.
    Watermark,
    /// The connector gives the values as metadata of each record.
    Metadata {
        /// The name of the metadata, as the connector knows it.
        key: String,
        /// Whether the column is virtual, so that it is left out when the table is written.
        is_virtual: bool,
    },
}

/// The event time of a table's rows.
#[derive(Clone, Debug)]
pub struct Rowtime {
    /// The index of the event time column among the columns of the table.
    pub column: usize,
    /// The watermark expression over the table's columns, of the same type as the time column. The rows that
    /// follow in the stream have event times above its value; others are late.
    pub watermark: Typed,
}

impl Table {
    /// Returns the indexes of the table columns that queries write: physical columns, and metadata columns
    /// that are not virtual.
    pub fn written_columns(&self) -> Vec<usize> {
        let is_written = |column: &TableColumn| match &column.kind {
            TableColumnKind::Physical => true,
            TableColumnKind::Metadata { is_virtual, .. } => !is_virtual,
            TableColumnKind::Computed(_) | TableColumnKind::Proctime | TableColumnKind::Watermark => false,
        };
        (0..self.columns.len()).filter(|place| is_written(&self.columns[*place])).collect()
    }

    /// Returns the table with a column of its watermarks behind all others, whose type is `of`, and the index of that
    /// column.
    #[must_use]
    pub fn with_watermarks(&self, of: &SqlType) -> (Self, usize) {
        let mut table = self.clone();
        let known = table.columns.iter().position(|column| matches!(column.kind, TableColumnKind::Watermark));
        let place = known.unwrap_or_else(|| {
            table.columns.push(TableColumn {
                name: "$watermark".to_owned(),
                of: of.clone(),
                is_nullable: true,
                kind: TableColumnKind::Watermark,
                place: table.options_place,
            });
            table.columns.len() - 1
        });
        (table, place)
    }

    /// Returns the index of the table column with the given name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// The value of an option in the WITH clause of a table.
#[derive(Clone, PartialEq, Eq)]
pub struct OptionValue {
    /// The value of the option, which may be secret.
    pub value: String,
    /// Place of the option's key in the SQL text.
    pub place: Place,
}

/// Debug output leaves out the value of the option, because it may be secret.
impl fmt::Debug for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OptionValue").field("place", &self.place).finish_non_exhaustive()
    }
}
