//! Tables of the catalog from their declarations: computed columns and watermarks get their types.

use thalweg_sql_exec::plan::Column;
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::{Code, SqlError};
use thalweg_sql_tables::table::{Rowtime, Table, TableColumn, TableColumnKind};

use super::names::{Names, unknown_column};
use super::scope::Scope;
use super::select::RESULTS_MAX;
use super::syntax::is_proctime;
use super::typing::Typing;
use super::{Binder, Planner};
use crate::text::ddl::{ColumnKind, CreateTable};

/// Returns the table that CREATE TABLE declares; `name` is its full name in the catalog.
///
/// # Errors
/// [`SqlError`] if a column, the watermark or a key is wrong.
pub fn declare(binder: &Binder<'_>, create: &CreateTable, name: &str) -> Result<Table, SqlError> {
    if create.columns.len() > RESULTS_MAX {
        let message = format!(
            "`{}` has {} columns, and tables have at most {}",
            name,
            create.columns.len(),
            RESULTS_MAX
        );
        return Err(SqlError::new(Code::Unsupported, message).at(create.name.place));
    }
    let mut columns: Vec<Option<TableColumn>> = Vec::new();
    // Computed columns may read physical and metadata columns, and no other computed columns.
    for column in &create.columns {
        let made = |of: &SqlType, is_nullable, kind| TableColumn {
            name: column.name.clone(),
            of: of.clone(),
            is_nullable,
            kind,
            place: column.place,
        };
        columns.push(match &column.kind {
            ColumnKind::Physical { of, is_nullable } => {
                Some(made(of, *is_nullable, TableColumnKind::Physical))
            }
            ColumnKind::Metadata { of, key, is_virtual } => {
                let key = key.clone().unwrap_or_else(|| column.name.clone());
                Some(made(of, true, TableColumnKind::Metadata { key, is_virtual: *is_virtual }))
            }
            ColumnKind::Computed { .. } => None,
        });
    }
    let seen: Vec<TableColumn> = columns.iter().flatten().cloned().collect();
    let places: Vec<usize> = (0..columns.len()).filter(|place| columns[*place].is_some()).collect();
    for (place, column) in create.columns.iter().enumerate() {
        let ColumnKind::Computed { expression, .. } = &column.kind else { continue };
        let (of, is_nullable, kind) = if is_proctime(expression) {
            (SqlType::TimestampLtz(3), false, TableColumnKind::Proctime)
        } else {
            let bound = bind_over(binder, expression, &seen).map_err(|error| error.at(column.place))?;
            let bound = bound.replaced(&|seen_place| {
                let column = &seen[seen_place];
                Typed::column(places[seen_place], column.of.clone(), column.is_nullable)
            });
            (bound.of.clone(), bound.is_nullable, TableColumnKind::Computed(bound))
        };
        let name = column.name.clone();
        columns[place] = Some(TableColumn { name, of, is_nullable, kind, place: column.place });
    }
    let mut columns: Vec<TableColumn> = columns.into_iter().flatten().collect();
    let find = |columns: &[TableColumn], name: &str, place| {
        columns
            .iter()
            .position(|column| column.name == name)
            .ok_or_else(|| unknown_column(name, columns.iter().map(|column| column.name.as_str())).at(place))
    };
    let rowtime = match &create.watermark {
        None => None,
        Some(watermark) => {
            let column = find(&columns, &watermark.column, watermark.place)?;
            let of = columns[column].of.clone();
            match of {
                SqlType::Timestamp(digits) | SqlType::TimestampLtz(digits) if digits <= 3 => {}
                other => {
                    let message = format!(
                        "event time is TIMESTAMP(3) or TIMESTAMP_LTZ(3), and `{}` is {other}",
                        watermark.column
                    );
                    let error = SqlError::new(Code::TypeMismatch, message).at(watermark.place);
                    return Err(error.help(format!(
                        "add a column such as ts AS CAST(`{}` AS TIMESTAMP(3))",
                        watermark.column
                    )));
                }
            }
            let bound = bind_over(binder, &watermark.expression, &columns)
                .map_err(|error| error.at(watermark.place))?;
            if !bound.of.is_timestamp() {
                let message = format!("a watermark is a timestamp, and this is {}", bound.of);
                let error = SqlError::new(Code::TypeMismatch, message).at(watermark.place);
                return Err(error.help(format!("write {0} - INTERVAL '5' SECOND", watermark.column)));
            }
            let bound = Typing::new(binder.context).cast_to(bound, &columns[column].of, false)?;
            Some(Rowtime { column, watermark: bound })
        }
    };
    let mut primary_key = Vec::new();
    for (name, place) in &create.primary_key {
        let key = find(&columns, name, *place)?;
        if !matches!(columns[key].kind, TableColumnKind::Physical) {
            let message = format!("`{name}` is no column of the records, so it cannot be of the primary key");
            return Err(SqlError::new(Code::Invalid, message)
                .at(*place)
                .help("name columns that are stored"));
        }
        if primary_key.contains(&key) {
            let message = format!("`{name}` stands twice in the primary key");
            return Err(SqlError::new(Code::Invalid, message).at(*place).help("name each column once"));
        }
        columns[key].is_nullable = false;
        primary_key.push(key);
    }
    let mut partitioned_by = Vec::new();
    for (name, place) in &create.partitioned_by {
        partitioned_by.push(find(&columns, name, *place)?);
    }
    Ok(Table {
        name: name.to_owned(),
        columns,
        rowtime,
        primary_key,
        partitioned_by,
        options: create.options.clone(),
        options_place: create.options_place,
        is_replaced: false,
    })
}

/// Returns a computed column or a watermark over the columns that it may read.
fn bind_over(
    binder: &Binder<'_>,
    expression: &sqlparser::ast::Expr,
    seen: &[TableColumn],
) -> Result<Typed, SqlError> {
    let names = Names::of_table(None, seen.iter().map(|column| column.name.as_str()));
    let columns: Vec<Column> = seen
        .iter()
        .map(|column| Column::plain(column.name.clone(), column.of.clone(), column.is_nullable))
        .collect();
    Planner::new(binder).bind(expression, &Scope::new(&names, &columns))
}
