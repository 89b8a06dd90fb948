//! The columns of a table as a connector sees them, and the format of its records.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use thalweg_sql_formats::{FORMATS, Format, FormatColumn, FormatError};
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_functions::types::SqlType;

use super::options::Given;
use crate::error::{Code, SqlError};
use crate::table::{Table, TableColumn, TableColumnKind};

/// Returns the indexes of the table columns that are stored in records: physical columns that are no
/// partition columns.
pub(super) fn record_columns(table: &Table) -> Vec<usize> {
    let is_held = |place: &usize| {
        matches!(table.columns[*place].kind, TableColumnKind::Physical)
            && !table.partitioned_by.contains(place)
    };
    (0..table.columns.len()).filter(is_held).collect()
}

/// Binds the format named `format` to the table columns that are stored in records.
///
/// # Errors
/// [`SqlError`] if neither this crate nor `others` has a format of that name, or if an option or a column
/// is not allowed.
pub(super) fn bind_format(given: &mut Given<'_>, format: &str, others: &[&str]) -> Result<Format, SqlError> {
    let table = given.table();
    let options = given.with_prefix(&format!("{format}."));
    let columns: Vec<FormatColumn> = record_columns(table)
        .into_iter()
        .map(|place| {
            let TableColumn { name, of, is_nullable, .. } = &table.columns[place];
            FormatColumn { name: name.clone(), of: of.clone(), is_nullable: *is_nullable }
        })
        .collect();
    Format::bind(format, &options, &columns).map_err(|error| sql_error(given, error, &options, others))
}

fn sql_error(
    given: &Given<'_>,
    error: FormatError,
    options: &BTreeMap<String, String>,
    others: &[&str],
) -> SqlError {
    match error {
        FormatError::Format { format, .. } => {
            let known: Vec<&str> = FORMATS.iter().chain(others).copied().collect();
            let error = SqlError::new(Code::UnknownOption, format!("there is no format '{format}'"));
            error.at(given.place("format")).help(match nearest(&format, known.iter().copied()) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("there are {}", known.join(", ")),
            })
        }
        FormatError::UnknownOption { option, near } => {
            let error = SqlError::new(Code::UnknownOption, format!("there is no option '{option}'"));
            let error = error.at(given.place(&option));
            match near {
                Some(near) => error.help(format!("did you mean '{near}'?")),
                None => error.help("see the options of the format"),
            }
        }
        FormatError::Option { option, reason } => {
            let place = options.get(&option).map(|_| given.place(&option));
            SqlError::new(Code::Invalid, format!("option '{option}': {reason}")).at(place)
        }
        FormatError::Column { column, reason } => {
            let place = given.table().column(&column).map(|place| given.table().columns[place].place);
            SqlError::new(Code::TypeMismatch, format!("column `{column}`: {reason}")).at(place)
        }
        other => SqlError::new(Code::Invalid, other.to_string()),
    }
}

/// Checks that the connector has all metadata columns that the table declares.
///
/// # Errors
/// [`Code::Invalid`] if the connector has no metadata with the name that a column declares.
pub(super) fn check_metadata(
    table: &Table,
    connector: &str,
    known: &[(&str, SqlType)],
) -> Result<(), SqlError> {
    for column in &table.columns {
        let TableColumnKind::Metadata { key, .. } = &column.kind else { continue };
        if known.iter().any(|(name, _)| name == key) {
            continue;
        }
        let error =
            SqlError::new(Code::Invalid, format!("the connector '{connector}' has no metadata '{key}'"));
        let error = error.at(column.place);
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        return Err(match (nearest(key, names.iter().copied()), names.is_empty()) {
            (Some(near), _) => error.help(format!("did you mean '{near}'?")),
            (None, false) => error.help(format!("there are {}", names.join(", "))),
            (None, true) => error.help("it has no metadata at all"),
        });
    }
    Ok(())
}

/// Returns the Arrow schema of the table columns with the indexes `places`, in that order.
pub(super) fn schema_of(table: &Table, places: &[usize]) -> SchemaRef {
    let field = |place: &usize| {
        let column = &table.columns[*place];
        column.of.field(&column.name, column.is_nullable)
    };
    Arc::new(Schema::new(places.iter().map(field).collect::<Vec<_>>()))
}

/// Creates a batch of `rows` rows; `None` if the columns do not fit the schema.
pub(super) fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Option<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).ok()
}

/// Returns, for each table column that is stored in records, its index in `columns`, the table columns that a
/// query writes.
///
/// # Errors
/// [`Code::Invalid`] if one of the columns is not in `columns`.
pub(super) fn record_places(table: &Table, columns: &[usize]) -> Result<Vec<usize>, SqlError> {
    places_among(table, &record_columns(table), columns)
}

/// Returns, for each table column in `places`, its index in `columns`, the table columns that a query writes.
///
/// # Errors
/// [`Code::Invalid`] if one of the columns is not in `columns`.
pub(super) fn places_among(
    table: &Table,
    places: &[usize],
    columns: &[usize],
) -> Result<Vec<usize>, SqlError> {
    let among = |place: &usize| {
        columns.iter().position(|column| column == place).ok_or_else(|| {
            let name = &table.columns[*place].name;
            SqlError::new(Code::Invalid, format!("the column `{name}` of `{}` gets no values", table.name))
        })
    };
    places.iter().map(among).collect()
}
