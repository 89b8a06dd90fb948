//! Relations: the rows of a FROM clause or of a query, with the names of their columns. Joins of a FROM stay open until
//! the conditions of WHERE are known, since these may belong to them.

use std::sync::Arc;

use sqlparser::ast::{Ident, TableAlias};
use thalweg_sql_exec::plan::{Column, JoinKind, Plan, Role, UnnestKind};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::names::{Names, Visible};
use super::syntax::{check_name, not_supported, place_of_name};

/// Greatest number of columns that an error about a list of names shows.
const NAMES_SHOWN_MAX: usize = 20;

/// Rows of a FROM clause, or of a part of it.
pub(super) struct Relation {
    pub(super) source: Source,
    pub(super) names: Names,
    /// The time as of which the rows are read (FOR SYSTEM_TIME AS OF), if one is given.
    pub(super) version: Option<Version>,
    /// Conditions that read columns of the query around this one, too. The rows for which they do not hold are to be dropped.
    pub(super) pulled: Vec<Condition>,
}

/// Rows of a relation: a plan, or a join or an UNNEST whose conditions are not all known yet.
#[expect(
    clippy::large_enum_variant,
    reason = "a query has few sources at a time, and each soon becomes a plan"
)]
#[derive(Clone)]
pub(super) enum Source {
    Plan(Plan),
    Join(Box<OpenJoin>),
    Unnest(Box<OpenUnnest>),
}

/// A time of the other side of a join, as of which a table is read.
pub(super) struct Version {
    /// Name of the time column, in its parts.
    pub(super) as_of: Vec<Ident>,
    pub(super) place: Option<Place>,
}

/// A condition with its place in the text.
#[derive(Clone)]
pub(super) struct Condition {
    pub(super) value: Typed,
    pub(super) at: Option<Place>,
}

/// A join whose conditions may still grow. Conditions read the columns of the left side, then those of the right one.
#[derive(Clone)]
pub(super) struct OpenJoin {
    pub(super) kind: JoinKind,
    pub(super) left: Source,
    pub(super) right: Source,
    pub(super) on: Vec<Condition>,
    /// For NOT IN: the condition that compares the value with the others. If it is NULL, the row is not emitted.
    pub(super) membership: Option<Condition>,
    /// Index of the left time column as of which the right side is read, and the place of its name.
    pub(super) as_of: Option<(usize, Option<Place>)>,
    /// Time to live that a hint gives for the rows of each side; its inner `None` is for ever.
    pub(super) ttl_ms: [Option<Option<i64>>; 2],
    /// Columns of the join. Their roles follow when the join is closed.
    pub(super) columns: Vec<Column>,
}

/// An UNNEST whose conditions may still grow. Conditions read the columns of the input, then those of an element.
#[derive(Clone)]
pub(super) struct OpenUnnest {
    pub(super) input: Source,
    /// Array or map over the columns of the input.
    pub(super) value: Typed,
    pub(super) kind: UnnestKind,
    pub(super) has_ordinality: bool,
    pub(super) on: Vec<Condition>,
    /// Columns of the input and of an element. The roles of those of the input follow when the UNNEST is closed.
    pub(super) columns: Vec<Column>,
    pub(super) at: Option<Place>,
}

/// Rows of a query, and the names of its results.
#[derive(Clone, Debug)]
pub(super) struct Queried {
    pub(super) plan: Plan,
    pub(super) names: Names,
}

impl Source {
    pub(super) fn columns(&self) -> &[Column] {
        match self {
            Source::Plan(plan) => &plan.columns,
            Source::Join(join) => &join.columns,
            Source::Unnest(unnest) => &unnest.columns,
        }
    }
}

impl OpenJoin {
    /// Opens a join of two sides without conditions.
    pub(super) fn new(kind: JoinKind, left: Source, right: Source) -> Self {
        let padded = |columns: &[Column], is_padded: bool| -> Vec<Column> {
            let column = |column: &Column| Column {
                is_nullable: column.is_nullable || is_padded,
                role: Role::Plain,
                ..column.clone()
            };
            columns.iter().map(column).collect()
        };
        let mut columns = padded(left.columns(), kind.keeps_right());
        if !kind.is_half() {
            columns.extend(padded(right.columns(), kind.keeps_left()));
        }
        OpenJoin {
            kind,
            left,
            right,
            on: Vec::new(),
            membership: None,
            as_of: None,
            ttl_ms: [None; 2],
            columns,
        }
    }
}

impl Relation {
    pub(super) fn of_plan(plan: Plan, names: Names) -> Self {
        Relation { source: Source::Plan(plan), names, version: None, pulled: Vec::new() }
    }

    /// Returns the relation under another name for its table, and with other names of columns if the alias lists them.
    ///
    /// # Errors
    /// [`Code::Invalid`] for a list of another length, [`Code::Syntax`] for text as a name.
    pub(super) fn renamed(self, alias: Option<&TableAlias>) -> Result<Self, SqlError> {
        let Relation { source, names, version, pulled } = self;
        Ok(Relation { source, names: names.renamed(alias)?, version, pulled })
    }

    /// Refuses a relation with a time as of which it is read, for the left side of a join.
    ///
    /// # Errors
    /// [`Code::Invalid`] at that time.
    pub(super) fn check_left(&self) -> Result<(), SqlError> {
        let Some(version) = &self.version else { return Ok(()) };
        let error = SqlError::new(Code::Invalid, "a table as of a time stands on the right of a join");
        Err(error.at(version.place).help("turn the sides around"))
    }
}

impl Names {
    /// Returns the names under another name for their table, and with other names of columns if the alias lists them.
    ///
    /// # Errors
    /// Fails as [`Relation::renamed`] does.
    pub(super) fn renamed(self, alias: Option<&TableAlias>) -> Result<Self, SqlError> {
        let Some(alias) = alias else { return Ok(self) };
        let TableAlias { explicit: _, name, columns, at } = alias;
        if at.is_some() {
            return Err(not_supported("AT behind a table").at(place_of_name(name)));
        }
        for name in [name].into_iter().chain(columns.iter().map(|column| &column.name)) {
            if name.quote_style == Some('\'') {
                check_name(name)?;
            }
        }
        let table: Option<Arc<str>> = Some(Arc::from(name.value.as_str()));
        if !columns.is_empty() && columns.len() != self.columns.len() {
            let known = self.columns.iter().take(NAMES_SHOWN_MAX).map(|column| format!("`{}`", column.name));
            let listed = match columns.len() {
                1 => "1 column".to_owned(),
                count => format!("{count} columns"),
            };
            let message = format!("the list names {listed}, and `{}` has {}", name.value, self.columns.len());
            let error = SqlError::new(Code::Invalid, message).at(place_of_name(name));
            return Err(error.help(format!("name each of {}", known.collect::<Vec<_>>().join(", "))));
        }
        let given = columns.iter().map(|column| Some(Arc::from(column.name.value.as_str())));
        let visible = self
            .columns
            .iter()
            .zip(given.chain(std::iter::repeat(None)))
            .map(|(column, name)| Visible {
                table: table.clone(),
                database: None,
                is_twice: column.is_twice && name.is_none(),
                name: name.unwrap_or_else(|| Arc::clone(&column.name)),
            })
            .collect();
        Ok(Names::new(visible))
    }
}

impl Queried {
    pub(super) fn into_relation(self) -> Relation {
        Relation::of_plan(self.plan, self.names)
    }
}
