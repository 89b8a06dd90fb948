//! Names of the columns of a relation, and which column a name stands for.
//!
//! A column is an index into the columns of a plan; its names live beside the plan, in [`Names`], and end with the SELECT
//! that reads them. A column may be hidden from `*` by a common column of a join by USING, and is then still known by
//! its table: `t.k`.
//!
//! Source: SQL:2016, 7.10 (joined table), syntax rules for common columns.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sqlparser::ast::Ident;
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_tables::error::{Code, SqlError};

use super::portable::OnlyHere;
use crate::catalog::CATALOG;

/// Name of a column, and the name of the table to which it belongs; `None` for a sub-query without a name.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Visible {
    pub(super) table: Option<Arc<str>>,
    /// Database of the table, which may stand before its name; `None` where the table has a name of the query.
    pub(super) database: Option<Arc<str>>,
    pub(super) name: Arc<str>,
    /// Whether the column is one of several results of a SELECT that were given the same name.
    pub(super) is_twice: bool,
}

impl Visible {
    /// Returns whether the column belongs to a table. `before` has the parts before the name of the table: none, its
    /// database, or its catalog and its database.
    pub(super) fn is_of(&self, before: &[Ident], table: &str) -> bool {
        let database = match before {
            [] => None,
            [database] => Some(database),
            [catalog, database] if catalog.value == CATALOG => Some(database),
            _ => return false,
        };
        self.table.as_deref() == Some(table)
            && database.is_none_or(|database| self.database.as_deref() == Some(&*database.value))
    }

    /// Returns whether two columns belong to tables of the same name and database.
    pub(super) fn has_table_of(&self, other: &Visible) -> bool {
        self.table == other.table && self.database == other.database
    }
}

/// Column that both sides of a join by USING or a NATURAL JOIN have.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub(super) name: Arc<str>,
    /// Value of the common column over the columns of the join.
    pub(super) value: Typed,
    /// Indexes of the columns for which the common column stands, and which `*` leaves out.
    pub(super) hidden: Vec<usize>,
    /// Reason for which Flink refuses the name of the column without a table before it, if it does.
    pub(super) refused: Option<OnlyHere>,
}

/// Part of what `*` stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Starred {
    /// The column with this index.
    Column(usize),
    /// The common column with this index among the common columns.
    Common(usize),
}

/// Names of the columns of a relation, one for each column.
#[derive(Clone, Default, Debug)]
pub(super) struct Names {
    pub(super) columns: Vec<Visible>,
    /// Common columns of joins.
    pub(super) common: Vec<Common>,
    /// Columns for which `*` stands, in their order.
    pub(super) star: Vec<Starred>,
    /// Number of common columns at the begin of `star` which come before the tables in front of them in a list of tables:
    /// `*` of `FROM c, a JOIN b USING (k)` is `k`, then the columns of `c`, then the others of `a` and `b`.
    pub(super) leading: usize,
    /// Indexes of the columns for which common columns stand.
    hidden: HashSet<usize>,
    /// Indexes of the columns of each name, in ascending order.
    by_name: HashMap<Arc<str>, Vec<usize>>,
}

/// Meaning of a name.
pub(super) enum Found<'a> {
    /// The name stands for no column.
    None,
    /// The name stands for the column with this index.
    Column(usize),
    /// The name stands for a common column of a join.
    Common(&'a Common),
    /// The name stands for more than one column.
    Several,
}

impl Names {
    /// Returns names of columns without common columns.
    pub(super) fn new(columns: Vec<Visible>) -> Self {
        let star = (0..columns.len()).map(Starred::Column).collect();
        Names::with_common(columns, Vec::new(), star, 0)
    }

    /// Returns names of columns and of common columns, with what `*` stands for.
    pub(super) fn with_common(
        columns: Vec<Visible>,
        common: Vec<Common>,
        star: Vec<Starred>,
        leading: usize,
    ) -> Self {
        let mut by_name: HashMap<Arc<str>, Vec<usize>> = HashMap::new();
        for (place, column) in columns.iter().enumerate() {
            by_name.entry(Arc::clone(&column.name)).or_default().push(place);
        }
        let hidden = common.iter().flat_map(|common| common.hidden.iter().copied()).collect();
        Names { columns, common, star, leading, hidden, by_name }
    }

    /// Returns the names of the one row that a SELECT without FROM reads: its only column has no name, and `*` leaves it out.
    pub(super) fn of_one_row() -> Self {
        Names::with_common(
            vec![Visible { table: None, database: None, name: Arc::from(""), is_twice: false }],
            Vec::new(),
            Vec::new(),
            0,
        )
    }

    /// Returns names of columns that belong to one table, or to a sub-query without a name.
    pub(super) fn of_table<'a>(table: Option<&str>, columns: impl IntoIterator<Item = &'a str>) -> Self {
        let table: Option<Arc<str>> = table.map(Arc::from);
        let visible = |name: &str| Visible {
            table: table.clone(),
            database: None,
            name: Arc::from(name),
            is_twice: false,
        };
        Names::new(columns.into_iter().map(visible).collect())
    }

    /// Returns the names with further columns behind them that no name stands for.
    pub(super) fn with_unnamed(self, count: usize) -> Self {
        if count == 0 {
            return self;
        }
        let Names { mut columns, common, star, leading, .. } = self;
        let unnamed = Visible { table: None, database: None, name: Arc::from(""), is_twice: false };
        columns.extend(std::iter::repeat_n(unnamed, count));
        Names::with_common(columns, common, star, leading)
    }

    /// Returns the names of a table that is in a database of the catalog.
    pub(super) fn in_database(mut self, database: &str) -> Self {
        let database: Arc<str> = Arc::from(database);
        self.columns.iter_mut().for_each(|column| column.database = Some(Arc::clone(&database)));
        self
    }

    /// Returns the column for which a name without the name of a table before it stands.
    pub(super) fn find(&self, name: &str) -> Found<'_> {
        let mut common = self.common.iter().filter(|common| &*common.name == name);
        match (common.next(), common.next()) {
            (Some(one), None) => {
                // Another table may have a column of the same name that is not in the USING.
                let others = self
                    .by_name
                    .get(name)
                    .is_some_and(|places| places.iter().any(|place| !self.hidden.contains(place)));
                return if others { Found::Several } else { Found::Common(one) };
            }
            (Some(_), Some(_)) => return Found::Several,
            (None, _) => {}
        }
        match self.by_name.get(name).map(Vec::as_slice) {
            None | Some([]) => Found::None,
            Some([place]) => Found::Column(*place),
            Some(_) => Found::Several,
        }
    }

    /// Returns the column that a table has under a name. `before` has the parts before the name of the table.
    pub(super) fn find_in(&self, before: &[Ident], table: &str, name: &str) -> Found<'_> {
        let places = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let mut of_table = places.iter().copied().filter(|place| self.columns[*place].is_of(before, table));
        match (of_table.next(), of_table.next()) {
            (None, _) => Found::None,
            (Some(place), None) => Found::Column(place),
            (Some(_), Some(_)) => Found::Several,
        }
    }

    /// Returns the name of the table of a column of another relation if a table here has it, too. Tables of one name in two
    /// databases differ.
    pub(super) fn table_twice<'a>(&self, other: &'a Visible) -> Option<&'a str> {
        let table = other.table.as_deref()?;
        let is_same = |column: &Visible| {
            column.table.as_deref() == Some(table)
                && (column.database.is_none()
                    || other.database.is_none()
                    || column.database == other.database)
        };
        self.columns.iter().any(is_same).then_some(table)
    }

    /// Returns the error for a name that stands for no column; `before` has the parts before the last one.
    pub(super) fn unknown(&self, before: &[Ident], name: &str) -> SqlError {
        if let [of_table @ .., table] = before
            && !self.columns.iter().any(|column| column.is_of(of_table, &table.value))
        {
            let full = before.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
            let mut tables: Vec<&str> =
                self.columns.iter().filter_map(|column| column.table.as_deref()).collect();
            tables.dedup();
            let help = match tables.is_empty() {
                true => "name a table in FROM".to_owned(),
                false => format!("there are {}", tables.join(", ")),
            };
            return SqlError::new(Code::UnknownTable, format!("no table is called `{full}` here")).help(help);
        }
        unknown_column(name, self.columns.iter().map(|column| &*column.name).filter(|name| !name.is_empty()))
    }
}

/// Returns the error for a name that stands for several columns.
pub(super) fn ambiguous(name: &str) -> SqlError {
    let message = format!("`{name}` may be a column of several tables");
    SqlError::new(Code::Invalid, message).help(format!("write which: t.`{name}`"))
}

/// Returns the error for a column that does not exist; `known` are the names of those that do.
pub(super) fn unknown_column<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> SqlError {
    let known: Vec<&str> = known.collect();
    let error = SqlError::new(Code::UnknownColumn, format!("there is no column `{name}`"));
    match nearest(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => error.help("there are no columns here: name a table in FROM"),
        None => error.help(format!("there are {}", known.join(", "))),
    }
}

/// Generator of unique column names, with Flink's numbers after names that occur again: `a`, `a0`, `a1`.
#[derive(Default)]
pub struct NamesOnce {
    taken: HashSet<String>,
    /// For each name that has occurred, the number to append first when it occurs again.
    next: HashMap<String, usize>,
}

impl NamesOnce {
    /// Returns the name, or the name with a number if it is already taken, and records the returned name as
    /// taken.
    pub fn take(&mut self, name: String) -> String {
        if self.taken.insert(name.clone()) {
            return name;
        }
        let number = self.next.entry(name.clone()).or_default();
        loop {
            let next = format!("{name}{number}");
            *number += 1;
            if self.taken.insert(next.clone()) {
                return next;
            }
        }
    }
}
