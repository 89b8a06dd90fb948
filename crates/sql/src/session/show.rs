//! Answers to SHOW and DESCRIBE: names, columns and declarations of the catalog as text.
//!
//! Source: Flink's documentation, "SHOW Statements", "DESCRIBE Statements".

use thalweg_sql_exec::plan::{Column, Plan, Role};
use thalweg_sql_functions::types::{SqlType, quoted};
use thalweg_sql_tables::error::{Code, SqlError};
use thalweg_sql_tables::secrets::{MASK, is_secret};
use thalweg_sql_tables::table::{Table, TableColumnKind};

use super::Session;
use crate::bind::function_names;
use crate::catalog::{CATALOG, Entry, Path, View, check_catalog};
use crate::job::between_commas;
use crate::text::ddl::{ColumnDefinition, ColumnKind, CreateTable, Name};
use crate::text::show::{Listed, Listing};
use crate::text::tokens::with_quoted_names;

/// Names of the columns of DESCRIBE and SHOW COLUMNS.
const DESCRIBED: &str = "name,type,null,key,extras,watermark";

/// A column as DESCRIBE shows it; `None` where nothing is shown.
struct Described {
    name: String,
    of: String,
    is_nullable: bool,
    key: Option<String>,
    extras: Option<String>,
    watermark: Option<String>,
}

impl Described {
    fn line(&self) -> String {
        let optional = |value: &Option<String>| match value {
            Some(value) => between_commas(value).into_owned(),
            None => "NULL".to_owned(),
        };
        let is_nullable = if self.is_nullable { "TRUE" } else { "FALSE" };
        let (name, of) = (between_commas(&self.name), between_commas(&self.of));
        let rest = [&self.key, &self.extras, &self.watermark].map(optional).join(",");
        format!("{name},{of},{is_nullable},{rest}")
    }
}

impl Session {
    /// Returns the names that a statement lists, one a line, in their order.
    pub(super) fn listed(&self, listing: &Listing) -> Result<String, SqlError> {
        let Listing { listed, of, filter } = listing;
        let keeps = |name: &&str| filter.as_ref().is_none_or(|filter| filter.keeps(name));
        let database = || match of {
            Some(name) => self.catalog.database(name),
            None => Ok(self.catalog.current().to_owned()),
        };
        let lines = |mut names: Vec<&str>| {
            names.retain(|name| keeps(name));
            names.sort_unstable();
            names.join("\n")
        };
        Ok(match listed {
            Listed::Catalogs => lines(vec![CATALOG]),
            Listed::Databases => {
                if let Some(catalog) = of {
                    check_catalog(&catalog.name, catalog.place)?;
                }
                lines(self.catalog.databases().collect())
            }
            Listed::Tables => lines(self.catalog.entries_of(&database()?).map(|(name, _)| name).collect()),
            Listed::Views => {
                let database = database()?;
                let entries = self.catalog.entries_of(&database);
                lines(
                    entries
                        .filter(|(_, entry)| matches!(entry, Entry::View(_)))
                        .map(|(name, _)| name)
                        .collect(),
                )
            }
            Listed::Functions | Listed::UserFunctions => {
                if let Some(name) = of {
                    self.catalog.database(name)?;
                }
                let built_in = function_names().filter(|_| *listed == Listed::Functions);
                let of_user = self.catalog.functions().names().map(str::to_lowercase);
                let names: Vec<String> = built_in.map(str::to_lowercase).chain(of_user).collect();
                lines(names.iter().map(String::as_str).collect())
            }
            Listed::Columns => {
                let Some(name) = of else {
                    return Err(SqlError::new(Code::Syntax, "SHOW COLUMNS names a table"));
                };
                let mut columns = self.columns(name)?;
                columns.retain(|column| keeps(&column.name.as_str()));
                table_of(&columns)
            }
        })
    }

    /// Returns the columns of a table or view, a line of names and then one line for each column.
    pub(super) fn described(&self, name: &Name) -> Result<String, SqlError> {
        Ok(table_of(&self.columns(name)?))
    }

    fn columns(&self, name: &Name) -> Result<Vec<Described>, SqlError> {
        let (path, entry) = self.catalog.find(name)?;
        match entry {
            Entry::Table(table) => {
                Ok(columns_of(table, self.catalog.declaration(&path.full_name()).map(|kept| &**kept)))
            }
            Entry::View(view) => {
                let plan = self.view_plan(view)?;
                let names = view.columns.iter().map(Some).chain(std::iter::repeat(None));
                let column = |(column, name): (&Column, Option<&String>)| Described {
                    name: name.unwrap_or(&column.name).clone(),
                    of: with_role(&column.of, &column.role),
                    is_nullable: column.is_nullable,
                    key: None,
                    extras: None,
                    watermark: None,
                };
                Ok(plan.columns.iter().zip(names).map(column).collect())
            }
        }
    }

    /// Returns the plan of a view's rows.
    fn view_plan(&self, view: &View) -> Result<Plan, SqlError> {
        let context = self.context()?;
        self.binder(&context, self.answers(false)?)?.query_in(&view.query, &view.database)
    }

    /// Returns the statement that declares a table or view again.
    ///
    /// # Errors
    /// [`Code::UnknownTable`] if there is none of this name, [`Code::Invalid`] for a view as a table and the other way
    /// round.
    pub(super) fn creation(&self, name: &Name, is_view: bool) -> Result<String, SqlError> {
        let (path, entry) = self.catalog.find(name)?;
        match (entry, self.catalog.declaration(&path.full_name())) {
            (Entry::Table(_), Some(declaration)) if !is_view => Ok(table_text(&path, declaration)),
            (Entry::View(view), _) if is_view => {
                let names = match &view.columns[..] {
                    [] => self.view_plan(view)?.columns.into_iter().map(|column| column.name).collect(),
                    columns => columns.to_vec(),
                };
                Ok(view_text(&path, view, &names))
            }
            (entry, _) => {
                let (wanted, is) = if is_view { ("VIEW", "table") } else { ("TABLE", "view") };
                let other = if matches!(entry, Entry::View(_)) { "VIEW" } else { "TABLE" };
                let message = format!("SHOW CREATE {wanted} shows no {is}, and {} is one", path.quoted());
                Err(SqlError::new(Code::Invalid, message)
                    .at(name.place)
                    .help(format!("write SHOW CREATE {other}")))
            }
        }
    }
}

fn table_of(columns: &[Described]) -> String {
    let lines = columns.iter().map(Described::line);
    std::iter::once(DESCRIBED.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
}

fn columns_of(table: &Table, declaration: Option<&CreateTable>) -> Vec<Described> {
    let keys: Vec<&str> = table.primary_key.iter().map(|key| table.columns[*key].name.as_str()).collect();
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let described = |(place, column): (usize, &thalweg_sql_tables::table::TableColumn)| {
        let definition =
            declaration.and_then(|kept| kept.columns.iter().find(|known| known.name == column.name));
        let is_rowtime = table.rowtime.as_ref().is_some_and(|rowtime| rowtime.column == place);
        let role = match column.kind {
            TableColumnKind::Proctime => Role::Proctime,
            _ if is_rowtime => Role::Rowtime,
            _ => Role::Plain,
        };
        let watermark = declaration.and_then(|kept| kept.watermark.as_ref()).filter(|_| is_rowtime);
        Described {
            name: column.name.clone(),
            of: with_role(&column.of, &role),
            is_nullable: column.is_nullable,
            key: table.primary_key.contains(&place).then(|| format!("PRI({})", keys.join(", "))),
            extras: definition.and_then(|definition| extras(definition, &names)),
            watermark: watermark.map(|watermark| expression(&watermark.text, &names)),
        }
    };
    table.columns.iter().enumerate().map(described).collect()
}

fn with_role(of: &SqlType, role: &Role) -> String {
    match role {
        Role::Rowtime => format!("{of} *ROWTIME*"),
        Role::Proctime => format!("{of} *PROCTIME*"),
        _ => of.to_string(),
    }
}

/// Returns how a computed column or a column of metadata gets its values.
fn extras(definition: &ColumnDefinition, names: &[&str]) -> Option<String> {
    match &definition.kind {
        ColumnKind::Physical { .. } => None,
        ColumnKind::Computed { text, .. } => Some(format!("AS {}", expression(text, names))),
        ColumnKind::Metadata { key, is_virtual, .. } => {
            let key = key.as_ref().map(|key| format!(" FROM {}", literal(key))).unwrap_or_default();
            Some(format!("METADATA{key}{}", if *is_virtual { " VIRTUAL" } else { "" }))
        }
    }
}

/// Returns an expression of a declaration with the names of columns in backticks.
fn expression(text: &str, names: &[&str]) -> String {
    with_quoted_names(text, names).unwrap_or_else(|_| text.to_owned())
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns the statement that declares a table, with the values of secret options masked.
fn table_text(path: &Path, create: &CreateTable) -> String {
    let names: Vec<&str> = create.columns.iter().map(|column| column.name.as_str()).collect();
    let is_key = |name: &str| create.primary_key.iter().any(|(key, _)| key == name);
    let comment = |comment: &Option<String>| {
        comment
            .as_ref()
            .filter(|comment| !comment.is_empty())
            .map(|comment| format!("COMMENT {}", literal(comment)))
    };
    let mut parts: Vec<String> = Vec::new();
    for column in &create.columns {
        let mut part = format!("  {}", quoted(&column.name));
        match &column.kind {
            ColumnKind::Physical { of, is_nullable } => {
                part += &format!(" {}", of.long_form());
                if !is_nullable || is_key(&column.name) {
                    part += " NOT NULL";
                }
            }
            ColumnKind::Metadata { of, .. } => part += &format!(" {}", of.long_form()),
            ColumnKind::Computed { .. } => {}
        }
        extras(column, &names).into_iter().chain(comment(&column.comment)).for_each(|more| {
            part.push(' ');
            part += &more;
        });
        parts.push(part);
    }
    if let Some(watermark) = &create.watermark {
        let text = expression(&watermark.text, &names);
        parts.push(format!("  WATERMARK FOR {} AS {text}", quoted(&watermark.column)));
    }
    let list = |names: &[(String, thalweg_sql_tables::error::Place)]| {
        names.iter().map(|(name, _)| quoted(name)).collect::<Vec<_>>().join(", ")
    };
    if !create.primary_key.is_empty() {
        let name = create.key_name.clone().unwrap_or_else(|| key_name(create));
        let columns = list(&create.primary_key);
        parts.push(format!("  CONSTRAINT {} PRIMARY KEY ({columns}) NOT ENFORCED", quoted(&name)));
    }
    let mut text = format!("CREATE TABLE {}", path.quoted());
    if !parts.is_empty() {
        text += &format!(" (\n{}\n)", parts.join(",\n"));
    }
    text.push('\n');
    if let Some(comment) = comment(&create.comment) {
        text += &format!("{comment}\n");
    }
    if !create.partitioned_by.is_empty() {
        text += &format!("PARTITIONED BY ({})\n", list(&create.partitioned_by));
    }
    if !create.options.is_empty() {
        let option = |(key, option): (&String, &thalweg_sql_tables::table::OptionValue)| {
            let value = if is_secret(key) { MASK } else { &option.value };
            format!("  {} = {}", literal(key), literal(value))
        };
        let options: Vec<String> = create.options.iter().map(option).collect();
        text += &format!("WITH (\n{}\n)", options.join(",\n"));
    }
    text.trim_end().to_owned()
}

/// Returns the statement that declares a view whose columns have these names.
fn view_text(path: &Path, view: &View, names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("  {}", quoted(name))).collect();
    let mut text = format!("CREATE VIEW {} (\n{}\n)\n", path.quoted(), names.join(",\n"));
    if let Some(comment) = view.comment.as_ref().filter(|comment| !comment.is_empty()) {
        text += &format!("COMMENT {}\n", literal(comment));
    }
    text + &format!("AS {}", view.text)
}

/// Returns the name of a primary key without one: a hash of the names of its columns.
///
/// Source: Flink's `MergeTableLikeUtil`, which takes the hash that Java has for arrays of texts.
fn key_name(create: &CreateTable) -> String {
    let hash = |text: &str| {
        text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
    };
    let columns = create.primary_key.iter();
    let all = columns.fold(1i32, |all, (name, _)| all.wrapping_mul(31).wrapping_add(hash(name)));
    format!("PK_{all}")
}

#[cfg(test)]
mod tests;
