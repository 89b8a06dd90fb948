//! `*` of joins by USING and of NATURAL JOIN: the common columns first, each once, then what is left of both sides, as in Flink and in
//! standard SQL. The planner leaves them where they stand, so such a `*` is written out before it sees it.
//!
//! Source: SQL:2016, 7.10 (joined table), syntax rules for common columns.

use std::collections::HashMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor, TableWithJoins, VisitMut, VisitorMut,
};

use crate::error::{Code, SqlError};
use crate::text::ddl::place_of;

/// The columns of a table or view by its name; none if there is none.
pub(super) type ColumnsOf<'a> = &'a dyn Fn(&ObjectName) -> Option<Vec<String>>;

/// Writes out every `*` that has common columns.
///
/// # Errors
/// [`Code::Unsupported`] for one whose columns are not known before it is planned.
pub(super) fn write_out(query: &mut Query, columns_of: ColumnsOf<'_>) -> Result<(), SqlError> {
    let mut stars = Stars { columns_of, scopes: Vec::new() };
    match query.visit(&mut stars) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Stars<'a> {
    columns_of: ColumnsOf<'a>,
    /// Columns of the queries that WITH names, of each query that is being visited.
    scopes: Vec<HashMap<String, Option<Vec<String>>>>,
}

/// A column of a FROM: the table that it is of, unless it is of several.
#[derive(Clone)]
struct Found {
    table: Option<Ident>,
    name: String,
}

impl VisitorMut for Stars<'_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Box<SqlError>> {
        self.scopes.push(HashMap::new());
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            let columns = match &table.alias.columns[..] {
                [] => self.of_query(&table.query),
                names => Some(names.iter().map(|column| column.name.value.clone()).collect()),
            };
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(table.alias.name.value.clone(), columns);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Box<SqlError>> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Box<SqlError>> {
        let star = select.projection.iter().position(|item| matches!(item, SelectItem::Wildcard(_)));
        let Some(star) = star.filter(|_| select.from.iter().any(has_common)) else {
            return ControlFlow::Continue(());
        };
        let Some(found) = self.of_from(&select.from) else {
            let at = match &select.projection[star] {
                SelectItem::Wildcard(options) => Some(place_of(&options.wildcard_token.0.span)),
                _ => None,
            };
            let message = "`*` of a join by USING or NATURAL whose columns are computed is not supported";
            let error = SqlError::new(Code::Unsupported, message).at(at).help("name the columns");
            return ControlFlow::Break(Box::new(error));
        };
        let items = found.into_iter().map(|Found { table, name }| {
            let name = Ident::with_quote('`', name);
            SelectItem::UnnamedExpr(match table {
                Some(table) => Expr::CompoundIdentifier(vec![table, name]),
                None => Expr::Identifier(name),
            })
        });
        select.projection.splice(star..=star, items);
        ControlFlow::Continue(())
    }
}

impl Stars<'_> {
    /// The columns of a query, as far as they have names.
    fn of_query(&self, query: &Query) -> Option<Vec<String>> {
        let mut body = &*query.body;
        loop {
            body = match body {
                SetExpr::SetOperation { left, .. } => left,
                SetExpr::Query(query) => return self.of_query(query),
                SetExpr::Select(select) => return self.of_select(select),
                _ => return None,
            };
        }
    }

    fn of_select(&self, select: &Select) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(Expr::Identifier(name)) => names.push(name.value.clone()),
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                    names.push(parts.last()?.value.clone());
                }
                SelectItem::ExprWithAlias { alias, .. } => names.push(alias.value.clone()),
                SelectItem::Wildcard(_) => {
                    names.extend(self.of_from(&select.from)?.into_iter().map(|found| found.name));
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(table), _) => {
                    let table = last(table)?;
                    let all = self.of_from(&select.from)?;
                    let is_its =
                        |found: &Found| found.table.as_ref().is_some_and(|of| of.value == table.value);
                    names.extend(all.into_iter().filter(is_its).map(|found| found.name));
                }
                _ => return None,
            }
        }
        Some(names)
    }

    fn of_from(&self, from: &[TableWithJoins]) -> Option<Vec<Found>> {
        let mut all = Vec::new();
        for joined in from {
            all.extend(self.of_joined(joined)?);
        }
        Some(all)
    }

    fn of_joined(&self, joined: &TableWithJoins) -> Option<Vec<Found>> {
        let mut left = self.of_factor(&joined.relation)?;
        for join in &joined.joins {
            let right = self.of_factor(&join.relation)?;
            let common: Vec<String> = match constraint_of(&join.join_operator) {
                Some(JoinConstraint::Using(names)) => {
                    names.iter().map(|name| Some(last(name)?.value.clone())).collect::<Option<_>>()?
                }
                Some(JoinConstraint::Natural) => {
                    let is_common = |found: &&Found| right.iter().any(|other| other.name == found.name);
                    left.iter().filter(is_common).map(|found| found.name.clone()).collect()
                }
                _ => Vec::new(),
            };
            let is_own = |found: &Found| !common.contains(&found.name);
            let first = common.iter().map(|name| Found { table: None, name: name.clone() });
            left = first
                .chain(left.into_iter().filter(is_own))
                .chain(right.into_iter().filter(is_own))
                .collect();
        }
        Some(left)
    }

    fn of_factor(&self, factor: &TableFactor) -> Option<Vec<Found>> {
        let (columns, table, alias) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let known = last(name)
                    .filter(|_| name.0.len() == 1)
                    .and_then(|name| self.scopes.iter().rev().find_map(|scope| scope.get(&name.value)));
                let columns = match known {
                    Some(columns) => columns.clone()?,
                    None => (self.columns_of)(name)?,
                };
                (columns, last(name), alias)
            }
            TableFactor::Derived { subquery, alias, .. } => (self.of_query(subquery)?, None, alias),
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                return self.of_joined(table_with_joins);
            }
            _ => return None,
        };
        let table = alias.as_ref().map(|alias| &alias.name).or(table).cloned();
        let found = |name| Found { table: table.clone(), name };
        Some(renamed(columns, alias.as_ref())?.into_iter().map(found).collect())
    }
}

/// Columns under the names that an alias gives them, if it does.
fn renamed(columns: Vec<String>, alias: Option<&TableAlias>) -> Option<Vec<String>> {
    match alias {
        Some(alias) if !alias.columns.is_empty() => {
            let is_whole = alias.columns.len() == columns.len();
            is_whole.then(|| alias.columns.iter().map(|column| column.name.value.clone()).collect())
        }
        _ => Some(columns),
    }
}

/// Whether joins in it have common columns.
fn has_common(joined: &TableWithJoins) -> bool {
    let within = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => has_common(table_with_joins),
        _ => false,
    };
    let is_common = |operator: &JoinOperator| {
        matches!(constraint_of(operator), Some(JoinConstraint::Using(_) | JoinConstraint::Natural))
    };
    within(&joined.relation)
        || joined.joins.iter().any(|join| is_common(&join.join_operator) || within(&join.relation))
}

fn constraint_of(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(on)
        | JoinOperator::Inner(on)
        | JoinOperator::Left(on)
        | JoinOperator::LeftOuter(on)
        | JoinOperator::Right(on)
        | JoinOperator::RightOuter(on)
        | JoinOperator::FullOuter(on) => Some(on),
        _ => None,
    }
}

/// The last part of a name.
fn last(ObjectName(parts): &ObjectName) -> Option<&Ident> {
    match parts.last() {
        Some(ObjectNamePart::Identifier(name)) => Some(name),
        _ => None,
    }
}
