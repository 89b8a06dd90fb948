//! INSERT OVERWRITE and INSERT .. PARTITION: which tables take them, and the values of partition columns.
//!
//! Source: Flink's documentation, "INSERT Statement"; its `PreValidateReWriter` for PARTITION, `DynamicSinkUtils` for OVERWRITE.

use std::collections::HashSet;
use std::sync::Arc;

use thalweg_sql_functions::expression::Typed;
use thalweg_sql_tables::connect::check_sink;
use thalweg_sql_tables::error::{Code, SqlError};
use thalweg_sql_tables::table::Table;

use super::{RuntimeMode, Session};
use crate::bind::Binder;
use crate::text::script::Insert;

impl Session {
    /// Returns the table of an INSERT, which is marked if its rows are replaced.
    ///
    /// # Errors
    /// [`Code::Unsupported`] for OVERWRITE outside of batch mode, [`Code::Invalid`] for a table that cannot be overwritten.
    pub(super) fn replaced(&self, table: Arc<Table>, insert: &Insert) -> Result<Arc<Table>, SqlError> {
        let Some(place) = insert.overwrite else { return Ok(table) };
        if self.known_settings()?.mode != RuntimeMode::Batch {
            let message = "INSERT OVERWRITE replaces rows when its input has ended, and this is no batch job";
            return Err(SqlError::new(Code::Unsupported, message)
                .at(place)
                .help("SET 'execution.runtime-mode' = 'batch'"));
        }
        if !check_sink(&table)?.replaces {
            let message =
                format!("the rows of `{}` cannot be replaced: its connector only adds rows", table.name);
            return Err(SqlError::new(Code::Invalid, message).at(place).help("write INSERT INTO"));
        }
        Ok(Arc::new(Table { is_replaced: true, ..Table::clone(&table) }))
    }
}

/// Returns the values that PARTITION gives to columns of a table, each with the index of its column.
///
/// # Errors
/// [`Code::UnknownColumn`], [`Code::Invalid`] for a column that names no partition, or that is given twice, and
/// [`Code::TypeMismatch`] for a value that its type cannot hold.
pub(super) fn partition_of(
    binder: &Binder<'_>,
    table: &Table,
    insert: &Insert,
) -> Result<Vec<(usize, Typed)>, SqlError> {
    let mut known = HashSet::new();
    let value = |(name, place, value): &(String, _, _)| {
        let Some(column) = table.column(name) else {
            let message = format!("`{}` has no column `{name}`", table.name);
            return Err(SqlError::new(Code::UnknownColumn, message).at(*place));
        };
        if !table.partitioned_by.contains(&column) {
            let message = format!("`{name}` names no partition of `{}`", table.name);
            let error = SqlError::new(Code::Invalid, message).at(*place);
            return Err(error.help("PARTITION gives values to columns of PARTITIONED BY"));
        }
        if !known.insert(column) {
            let message = format!("the column `{name}` is named twice, and takes one value");
            return Err(SqlError::new(Code::Invalid, message).at(*place));
        }
        let value =
            binder.partition_value(value, &table.columns[column].of).map_err(|error| error.at(*place))?;
        Ok((column, value))
    };
    insert.partition.iter().map(value).collect()
}
