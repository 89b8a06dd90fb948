//! CREATE TABLE: declarations that stand alone, those that are LIKE others, and tables of the rows of a query.
//!
//! A table that replaces another one takes its name. Jobs that were planned before keep the table that they had.
//!
//! Source: Flink's documentation, "CREATE Statements", LIKE, AS select_statement and [CREATE OR] REPLACE TABLE; its
//! `MergeTableAsUtil` for the order of columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast::Query;
use thalweg_sql_exec::plan::Column;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::{Code, Place, SqlError};
use thalweg_sql_tables::table::Table;

use super::{Action, Job, Session};
use crate::bind::{Answers, declare, result_place};
use crate::catalog::Entry;
use crate::text::ddl::{ColumnDefinition, ColumnKind, CreateTable, Replaces};
use crate::text::like::merged;
use crate::text::script::Insert;

impl Session {
    /// Declares a table. Returns the job that fills it if the declaration has a query.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault of the declaration or its query.
    pub(super) fn create_table(
        &mut self,
        mut create: CreateTable,
        place: Place,
    ) -> Result<Option<Action>, SqlError> {
        if let Some(like) = create.like.take() {
            let (path, entry) = self.catalog.find(&like.source)?;
            let base = match (entry, self.catalog.declaration(&path.full_name())) {
                (Entry::Table(_), Some(base)) => base,
                _ => {
                    let message = format!("LIKE names a table, and `{}` is a view", path.full_name());
                    return Err(SqlError::new(Code::Invalid, message).at(like.source.place));
                }
            };
            create = merged(base, &create, &like)?;
        }
        let filled = match create.query.take() {
            None => None,
            Some(query) => Some((self.with_columns_of(&mut create, &query)?, query)),
        };
        self.check_replaced(&create)?;
        let context = self.context()?;
        let name = self.catalog.path(&create.name)?.full_name();
        let table = declare(&self.binder(&context, Answers::Changes)?, &create, &name)?;
        let create = Arc::new(create);
        let table = Arc::new(table);
        let job = match filled {
            None => None,
            Some((columns, query)) => Some(self.filling(&create, &table, columns, query, place)?),
        };
        let entry = Entry::Table(table);
        if create.replaces.is_some() {
            self.views.forget();
            self.catalog.replace(&create.name, &create.name, entry, Some(Arc::clone(&create)))?;
        } else {
            self.catalog.add(&create.name, entry, Some(Arc::clone(&create)), create.if_not_exists)?;
        }
        Ok(job.map(Action::Run))
    }

    /// Refuses to replace a view, and with REPLACE TABLE a table that does not exist.
    fn check_replaced(&self, create: &CreateTable) -> Result<(), SqlError> {
        let Some(replaces) = create.replaces else { return Ok(()) };
        let name = &create.name;
        let is_there = self.catalog.contains(&self.catalog.path(name)?);
        if replaces == Replaces::IfThere && !is_there {
            return Ok(());
        }
        match self.catalog.find(name) {
            Ok((_, Entry::Table(_))) => Ok(()),
            Ok((path, Entry::View(_))) => {
                let message = format!("`{}` is a view, and a table does not replace it", path.full_name());
                let error = SqlError::new(Code::Invalid, message).at(name.place);
                Err(error.help("DROP VIEW first, or give the table another name"))
            }
            Err(error) => {
                let help = "write CREATE OR REPLACE TABLE for a table that may be new";
                Err(SqlError { help: Some(help.to_owned()), ..error })
            }
        }
    }

    /// Returns the job that fills a table by the query of its declaration. The query reads the tables that are declared
    /// before the new one, so it reads a table that the new one replaces.
    fn filling(
        &self,
        create: &CreateTable,
        table: &Arc<Table>,
        columns: Vec<(String, Place)>,
        query: Box<Query>,
        place: Place,
    ) -> Result<Job, SqlError> {
        let insert = Insert {
            table: create.name.clone(),
            options: BTreeMap::new(),
            overwrite: None,
            partition: Vec::new(),
            columns,
            query,
            place,
        };
        let is_kept = create.if_not_exists && self.catalog.contains(&self.catalog.path(&create.name)?);
        let table = if is_kept { self.written(&create.name)? } else { table };
        self.job("insert", vec![self.filled(&insert, table)?], place)
    }

    /// Gives a declaration the columns of a query, behind those that only the declaration has. A column that both have
    /// keeps its declaration. Returns the names of the query's columns, in its order.
    fn with_columns_of(
        &self,
        create: &mut CreateTable,
        query: &Query,
    ) -> Result<Vec<(String, Place)>, SqlError> {
        let context = self.context()?;
        let plan = self.binder(&context, self.answers(true)?)?.query(query)?;
        let mut found: Vec<ColumnDefinition> = Vec::new();
        for (number, column) in plan.columns.iter().enumerate() {
            let at = result_place(query, number).unwrap_or(create.name.place);
            if column.of == SqlType::Null {
                let message = format!("the column `{}` of the query has no type", column.name);
                return Err(SqlError::new(Code::TypeMismatch, message)
                    .at(at)
                    .help("write CAST(NULL AS ..) with a type"));
            }
            found.push(definition(column, at));
        }
        let names = found.iter().map(|column| (column.name.clone(), column.place)).collect();
        if !create.order.is_empty() {
            found = in_order(&found, &create.order)?;
        }
        let (mut own, mut both) = (Vec::new(), Vec::new());
        for column in std::mem::take(&mut create.columns) {
            match found.iter().any(|known| known.name == column.name) {
                true => both.push(column),
                false => own.push(column),
            }
        }
        for column in found {
            let declared = both.iter().find(|known| known.name == column.name).cloned();
            own.push(declared.unwrap_or(column));
        }
        create.columns = own;
        Ok(names)
    }
}

fn definition(column: &Column, place: Place) -> ColumnDefinition {
    let kind = ColumnKind::Physical { of: column.of.clone(), is_nullable: column.is_nullable };
    ColumnDefinition { name: column.name.clone(), place, kind, comment: None }
}

/// Returns the columns of a query in the order of a list of their names.
fn in_order(
    found: &[ColumnDefinition],
    order: &[(String, Place)],
) -> Result<Vec<ColumnDefinition>, SqlError> {
    let named = |(name, at): &(String, Place)| {
        found.iter().find(|column| column.name == *name).cloned().ok_or_else(|| {
            let message = format!("the query has no column `{name}`");
            SqlError::new(Code::UnknownColumn, message).at(*at)
        })
    };
    let ordered: Vec<ColumnDefinition> = order.iter().map(named).collect::<Result<_, _>>()?;
    if ordered.len() != found.len() {
        let message = format!("the table names {} columns, and its query has {}", ordered.len(), found.len());
        return Err(SqlError::new(Code::Invalid, message).at(order.first().map(|(_, at)| *at)));
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests;
