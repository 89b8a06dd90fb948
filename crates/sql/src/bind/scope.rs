//! Scopes: which columns an expression may read, and what a name in it stands for.
//!
//! Expressions read columns by their indexes. Some of the columns are known before their indexes are: the results of
//! aggregates and of OVER calls, which are collected while expressions are typed, and columns of the query around a
//! sub-query. Their indexes begin at a base of their own ([`Base`]), and are put right when the plan below is known.

use sqlparser::ast::{Expr, Ident};
use thalweg_sql_exec::plan::{Column, Role};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_tables::error::{Code, SqlError};

use super::aggregate::Groups;
use super::attached::Attached;
use super::domain::{Domain, Rows};
use super::names::{Found, Names, ambiguous, unknown_column};
use super::over::Overs;
use crate::text::hints::is_mark;

/// First index of columns whose place is not known yet. No relation has as many columns.
///
/// | base | made by | replaced when |
/// |---|---|---|
/// | `Aggregates` | `aggregate_call` | the aggregate of the SELECT is planned |
/// | `Overs` | `over_call` | the OVER windows of the SELECT are planned |
/// | `Results` | `Scope::meaning` in ORDER BY | the rows are sorted |
/// | `Attached` | `Attached::add` | the sub-queries of the clause are joined |
/// | `Domain` | `Domain::column` | the rows of FROM are joined with their domain |
/// | `Outer` | `Scope::meaning` in a sub-query | the sub-query is joined with the query around |
///
/// No index above a base leaves the SELECT that made it, except for `Outer`, which leaves it in conditions alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Base {
    /// Results of aggregates, in the order in which they are collected.
    Aggregates = 1 << 24,
    /// Results of OVER calls, in the order in which they are collected.
    Overs = 2 << 24,
    /// Results of the SELECT, which ORDER BY may read.
    Results = 3 << 24,
    /// Columns of joins with sub-queries that are values.
    Attached = 4 << 24,
    /// Values of the query around a sub-query that are columns of the sub-query.
    Domain = 5 << 24,
    /// Columns of the query around a sub-query.
    Outer = 6 << 24,
}

impl Base {
    /// Returns the index of a column above this base; `None` for an index that belongs to another base.
    pub(super) fn of(self, place: usize) -> Option<usize> {
        let base = self as usize;
        let end = if self == Base::Outer { usize::MAX } else { base + (1 << 24) };
        (base..end).contains(&place).then(|| place - base)
    }
}

/// Greatest number of parts before the name of a column: its catalog, its database and its table.
const QUALIFIER_PARTS_MAX: usize = 3;

/// Returns whether an expression reads columns of the query around its own.
pub(super) fn reads_outer(value: &Typed) -> bool {
    let mut reads = false;
    value.columns(&mut |place| reads |= Base::Outer.of(place).is_some());
    reads
}

/// Returns whether an expression reads columns of the query around its own, or the columns of the sub-query that have their
/// values.
pub(super) fn reads_around(value: &Typed) -> bool {
    let mut reads = false;
    value.columns(&mut |place| reads |= Base::Outer.of(place).or(Base::Domain.of(place)).is_some());
    reads
}

/// Columns and names that an expression may read.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// Names of the columns.
    pub(super) names: &'a Names,
    /// Columns that the expression reads by their indexes. In a SELECT with groups these are the keys.
    pub(super) columns: &'a [Column],
    /// Groups of the SELECT, after its GROUP BY; `None` elsewhere.
    pub(super) groups: Option<&'a Groups<'a>>,
    /// Collection of the OVER calls of the SELECT; `None` where no OVER call may stand.
    pub(super) overs: Option<&'a Overs<'a>>,
    /// Collection of the sub-queries that are values; `None` where no such sub-query may stand.
    pub(super) attached: Option<&'a Attached>,
    /// Results of the SELECT, by which ORDER BY may name its keys.
    pub(super) results: Option<&'a [Column]>,
    /// Results with names of their own, which GROUP BY and HAVING may name if no column has that name.
    pub(super) aliases: &'a [(&'a Ident, &'a Expr)],
    /// Scope of the query around a sub-query.
    pub(super) outer: Option<Outer<'a>>,
    /// Values of the query around that may become columns; `None` where none may.
    pub(super) domain: Option<&'a Domain>,
    /// Rows that the columns belong to, for the domains of sub-queries; `None` where they are not known.
    pub(super) rows: Option<Rows<'a>>,
}

/// Scope of the query around a sub-query.
#[derive(Clone, Copy)]
pub(super) struct Outer<'a> {
    pub(super) scope: &'a Scope<'a>,
    /// Whether the expression may read columns of that query: only conditions of WHERE, ON and HAVING may.
    pub(super) is_readable: bool,
}

/// Meaning of a name in a scope.
pub(super) enum Meaning<'a> {
    /// A value, and fields of it that the rest of the name picks.
    Value(Typed, &'a [Ident]),
    /// A result of the SELECT with a name of its own.
    Alias(&'a Expr),
}

type Result<T> = std::result::Result<T, SqlError>;

impl<'a> Scope<'a> {
    /// Returns a scope of columns with their names.
    pub(super) fn new(names: &'a Names, columns: &'a [Column]) -> Self {
        Scope {
            names,
            columns,
            groups: None,
            overs: None,
            attached: None,
            results: None,
            aliases: &[],
            outer: None,
            domain: None,
            rows: None,
        }
    }

    /// Returns a column by its index.
    ///
    /// # Panics
    /// For an index above a [`Base`], which is no column of the scope.
    pub(super) fn column(&self, place: usize) -> Typed {
        let column = &self.columns[place];
        Typed::column(place, column.of.clone(), column.is_nullable)
    }

    /// Returns the role of a value: that of its column if it is a column.
    pub(super) fn role(&self, value: &Typed) -> Role {
        let column = value.as_column().and_then(|place| self.columns.get(place));
        column.map_or(Role::Plain, |column| column.role.clone())
    }

    /// Returns the meaning of a name with one or more parts.
    ///
    /// # Errors
    /// [`Code::UnknownColumn`], [`Code::UnknownTable`], and [`Code::Invalid`] for a name that several columns have.
    pub(super) fn meaning(&self, parts: &'a [Ident]) -> Result<Meaning<'a>> {
        if parts.last().is_some_and(|part| is_mark(&part.value)) {
            let message = "a hint stands behind a table of FROM or INSERT INTO, and not behind a column";
            return Err(SqlError::new(Code::Invalid, message));
        }
        if let ([_], Some(result)) = (parts, self.result(parts)) {
            return Ok(result);
        }
        if let Some((value, fields)) = self.own(parts)? {
            return Ok(Meaning::Value(value, fields));
        }
        if let Some(result) = self.result(parts) {
            return Ok(result);
        }
        if let [name] = parts {
            let mut alike = self.aliases.iter().filter(|(alias, _)| alias.value == name.value);
            match (alike.next(), alike.next()) {
                (Some((_, expression)), None) => return Ok(Meaning::Alias(expression)),
                (Some(_), Some(_)) => {
                    let message = format!("two results are called `{}`", name.value);
                    return Err(SqlError::new(Code::Invalid, message)
                        .help("name the column, or repeat the expression"));
                }
                (None, _) => {}
            }
        }
        if let Some(outer) = self.outer
            && let Some((value, fields)) = outer.scope.seen(parts)?
        {
            if !outer.is_readable {
                let column = self.domain.and_then(|domain| domain.column(&value));
                return column.map(|column| Meaning::Value(column, fields)).ok_or_else(|| of_outer(parts));
            }
            return Ok(Meaning::Value(value.with_columns(&|place| Base::Outer as usize + place), fields));
        }
        if self.is_of_outer(parts) {
            return Err(of_outer(parts));
        }
        if let (Some(results), [name, ..], true) = (self.results, parts, self.names.columns.is_empty()) {
            return Err(unknown_column(&name.value, results.iter().map(|column| column.name.as_str())));
        }
        Err(match parts {
            [before @ .., name] => self.names.unknown(before, &name.value),
            [] => SqlError::new(Code::Syntax, "a name is missing"),
        })
    }

    /// Returns whether a name stands for a column of any query around this one.
    fn is_of_outer(&self, parts: &'a [Ident]) -> bool {
        let mut outer = self.outer;
        while let Some(Outer { scope, .. }) = outer {
            if matches!(scope.own(parts), Ok(Some(_))) {
                return true;
            }
            outer = scope.outer;
        }
        false
    }

    /// Returns the result of the SELECT that the first part of a name is, with fields that the others pick.
    fn result(&self, parts: &'a [Ident]) -> Option<Meaning<'a>> {
        let (results, [name, fields @ ..]) = (self.results?, parts) else { return None };
        let place = results.iter().position(|column| column.name == name.value)?;
        let Column { of, is_nullable, .. } = &results[place];
        let value = Typed::column(Base::Results as usize + place, of.clone(), *is_nullable);
        Some(Meaning::Value(value, fields))
    }

    /// Returns the value for which a name stands in a sub-query: a column of this scope, or a value of the query around it
    /// that becomes one.
    fn seen(&self, parts: &'a [Ident]) -> Result<Option<(Typed, &'a [Ident])>> {
        if self.own(parts)?.is_some() {
            return self.grouped(parts);
        }
        let (Some(outer), Some(domain)) = (self.outer, self.domain) else { return Ok(None) };
        let Some((value, fields)) = outer.scope.seen(parts)? else { return Ok(None) };
        let Some(column) = domain.column(&value) else { return Ok(None) };
        Ok(match self.groups {
            None => Some((column, fields)),
            Some(groups) => groups.key_of(&column).map(|key| (self.column(key), fields)),
        })
    }

    /// Adds the value of the query around for which a name stands to the domain; names of own columns add nothing.
    ///
    /// # Errors
    /// [`Code::Invalid`] for a name that several columns have.
    pub(super) fn add_outer(&self, parts: &'a [Ident]) -> Result<()> {
        if let (Some(outer), Some(domain), None) = (self.outer, self.domain, self.own(parts)?)
            && let Some((value, _)) = outer.scope.seen(parts)?
        {
            domain.column(&value);
        }
        Ok(())
    }

    /// Returns a column by an index, which may be that of a value of the query around.
    ///
    /// # Errors
    /// [`Code::Unsupported`] for other columns whose place is not known.
    pub(super) fn any_column(&self, place: usize) -> Result<Typed> {
        if place < self.columns.len() {
            return Ok(self.column(place));
        }
        let of_domain = Base::Domain.of(place).and_then(|number| self.domain?.value(number));
        let value =
            of_domain.ok_or_else(|| SqlError::new(Code::Unsupported, "a value of the query around"))?;
        Ok(Typed::column(place, value.of, value.is_nullable))
    }

    /// Returns the value for which a name stands behind the GROUP BY, if there is one; for sub-queries.
    fn grouped(&self, parts: &'a [Ident]) -> Result<Option<(Typed, &'a [Ident])>> {
        let Some((value, fields)) = self.own(parts)? else { return Ok(None) };
        match self.groups {
            None => Ok(Some((value, fields))),
            Some(groups) => Ok(groups.key_of(&value).map(|key| (self.column(key), fields))),
        }
    }

    /// Returns the value for which a name stands among the columns of FROM, and the rest of the name, which picks
    /// fields of it. The longest name of a table is tried first.
    fn own(&self, parts: &'a [Ident]) -> Result<Option<(Typed, &'a [Ident])>> {
        let (names, columns) = match self.groups {
            Some(groups) => (groups.input.names, groups.input.columns),
            None => (self.names, self.columns),
        };
        let column =
            |place: usize| Typed::column(place, columns[place].of.clone(), columns[place].is_nullable);
        for length in (1..parts.len().min(QUALIFIER_PARTS_MAX + 1)).rev() {
            let (qualifier, rest) = parts.split_at(length);
            let [before @ .., table] = qualifier else { continue };
            let [name, fields @ ..] = rest else { continue };
            match names.find_in(before, &table.value, &name.value) {
                Found::None => {}
                Found::Column(place) => return Ok(Some((column(place), fields))),
                Found::Common(_) | Found::Several => return Err(ambiguous(&name.value)),
            }
        }
        let [name, fields @ ..] = parts else { return Ok(None) };
        match names.find(&name.value) {
            Found::None => Ok(None),
            Found::Column(place) => Ok(Some((column(place), fields))),
            Found::Common(common) => Ok(Some((common.value.clone(), fields))),
            Found::Several => Err(ambiguous(&name.value)),
        }
    }
}

/// Returns the error for a column of a query around the one that names it.
fn of_outer(parts: &[Ident]) -> SqlError {
    let name = parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
    let message = format!("`{name}` belongs to an outer query, which is not supported here");
    SqlError::new(Code::Unsupported, message).help("write a join")
}
