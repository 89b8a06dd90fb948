//! ALTER TABLE and ALTER VIEW: the declaration is changed and declared anew, under the same name or another one.
//!
//! Jobs that were planned before keep the table that they had. A column that a computed column or the watermark reads is not
//! dropped, and keeps its name.
//!
//! Source: Flink's documentation, "ALTER Statements". Differs from Flink: TEMPORARY tables and views are altered as others
//! are.

use std::sync::Arc;

use thalweg_sql_functions::expression::Typed;
use thalweg_sql_tables::error::{Code, SqlError};
use thalweg_sql_tables::table::{Rowtime, Table, TableColumn, TableColumnKind};

use super::Session;
use crate::bind::{Answers, declare};
use crate::catalog::{Entry, View};
use crate::text::alter::Alteration;
use crate::text::ddl::Name;

impl Session {
    /// Changes a table or a view.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is none of this name, unless `if_exists`; [`Code::Invalid`] for a table as a view
    /// and the other way round; and the fault of the changed declaration.
    pub(super) fn alter(
        &mut self,
        name: &Name,
        is_view: bool,
        if_exists: bool,
        change: &Alteration,
    ) -> Result<(), SqlError> {
        self.views.forget();
        let (path, entry) = match self.catalog.find(name) {
            Err(error) if if_exists && error.code == Code::UnknownTable => return Ok(()),
            found => found?,
        };
        let full = path.full_name();
        let declaration = self.catalog.declaration(&full).map(Arc::clone);
        match (entry.clone(), declaration) {
            (Entry::View(view), _) if is_view => {
                let Alteration::As { query, text } = change else {
                    return self.catalog.replace(name, new_name(name, change), Entry::View(view), None);
                };
                let (context, answers) = (self.context()?, self.answers(false)?);
                let database = self.catalog.current().to_owned();
                let altered = View {
                    columns: Vec::new(),
                    query: query.clone(),
                    text: text.clone(),
                    database,
                    ..View::clone(&view)
                };
                self.catalog.replace(name, name, Entry::View(Arc::new(altered)), None)?;
                // The query is checked behind the change, so that a view which reads itself is found here.
                let checked = self.binder(&context, answers).and_then(|binder| binder.query(query).map(drop));
                if checked.is_err() {
                    self.catalog.replace(name, name, Entry::View(view), None)?;
                    self.views.forget();
                }
                checked
            }
            (Entry::Table(table), Some(declaration)) if !is_view => {
                check_readers(&table, change)?;
                let mut create = declaration.as_ref().clone();
                change.apply(&mut create, name.place)?;
                let known_as = match change {
                    Alteration::Rename(name) => self.catalog.path(name)?.full_name(),
                    _ => full,
                };
                let context = self.context()?;
                let table = declare(&self.binder(&context, Answers::Changes)?, &create, &known_as)
                    .map_err(|error| SqlError { place: Some(name.place), ..error })?;
                let entry = Entry::Table(Arc::new(table));
                self.catalog.replace(name, new_name(name, change), entry, Some(Arc::new(create)))
            }
            (entry, _) => {
                let (is, not) =
                    if matches!(entry, Entry::View(_)) { ("view", "table") } else { ("table", "view") };
                let message = format!("`{full}` is a {is} and no {not}");
                let error = SqlError::new(Code::Invalid, message).at(name.place);
                Err(error.help(format!("write ALTER {}", is.to_uppercase())))
            }
        }
    }
}

/// Refuses a change that takes a column, or its name, from a computed column or the watermark that reads it.
fn check_readers(table: &Table, change: &Alteration) -> Result<(), SqlError> {
    let (gone, is_drop) = match change {
        Alteration::Drop(names) => (&names[..], true),
        Alteration::RenameColumn([from, _]) => (std::slice::from_ref(from), false),
        _ => return Ok(()),
    };
    for (name, place) in gone {
        let Some(column) = table.column(name) else { continue };
        let reads = |expression: &Typed| {
            let mut reads = false;
            expression.columns(&mut |read| reads |= read == column);
            reads
        };
        let is_reader = |reader: &&TableColumn| {
            let is_dropped = is_drop && gone.iter().any(|(name, _)| *name == reader.name);
            matches!(&reader.kind, TableColumnKind::Computed(expression) if reads(expression)) && !is_dropped
        };
        if let Some(reader) = table.columns.iter().find(is_reader) {
            let message = format!("the column `{name}` is read by the computed column `{}`", reader.name);
            let error = SqlError::new(Code::Invalid, message).at(*place);
            return Err(match is_drop {
                true => error.help(format!("drop both: DROP (`{name}`, `{}`)", reader.name)),
                false => error.help(format!("drop `{0}` first, and ADD `{0}` again behind it", reader.name)),
            });
        }
        let is_of_watermark = |rowtime: &Rowtime| rowtime.column == column || reads(&rowtime.watermark);
        if table.rowtime.as_ref().is_some_and(is_of_watermark) {
            let message = format!("the column `{name}` is used by the watermark");
            let error = SqlError::new(Code::Invalid, message).at(*place);
            return Err(error.help("DROP WATERMARK first"));
        }
    }
    Ok(())
}

/// Returns the name that a table or view has behind a change.
fn new_name<'a>(name: &'a Name, change: &'a Alteration) -> &'a Name {
    match change {
        Alteration::Rename(new) => new,
        _ => name,
    }
}

#[cfg(test)]
mod tests;
