//! Names of the results of a SELECT: each is unique, as in Flink (`a`, `a0`, `a1`), whichever columns `*`
//! stands for.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, OrderBy, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor,
    TableWithJoins, Value, visit_expressions,
};
use thalweg_sql_tables::error::Place;

use super::{Visit, place, refuse_name};
use crate::text::dialect::last_name;

/// Separator between a result name and the number that makes the name unique during planning.
const MARK: char = '\u{1}';

/// Returns the name of a SELECT result without the suffix by which [`mark_apart`] has made it unique.
pub(crate) fn without_mark(name: &str) -> &str {
    name.rsplit_once(MARK).map_or(name, |(name, _)| name)
}

/// Gives unique names to the results in a SELECT with `*`, in the outermost SELECTs of a query: a suffix of
/// [`MARK`] and a number. Names in `kept`, and names that an ORDER BY uses, are not changed.
pub(super) fn mark_apart(query: &mut Query, kept: &HashSet<String>) -> Visit {
    let mut kept = kept.clone();
    names_in(query.order_by.as_ref(), &mut kept);
    let mut rest = vec![&mut *query.body];
    while let Some(body) = rest.pop() {
        match body {
            SetExpr::SetOperation { left, right, .. } => rest.extend([&mut **left, &mut **right]),
            SetExpr::Query(query) => mark_apart(query, &kept)?,
            SetExpr::Select(select) if select.projection.iter().any(is_star) => {
                for (ordinal, item) in select.projection.iter_mut().enumerate() {
                    strip_brackets(item);
                    if let SelectItem::ExprWithAlias { alias, .. } = item {
                        refuse_name(alias)?;
                    }
                    let Some(name) = name_of(item).filter(|name| !kept.contains(&name.value)) else {
                        continue;
                    };
                    rename(item, Ident { value: format!("{}{MARK}{ordinal}", name.value), ..name });
                }
            }
            _ => {}
        }
    }
    ControlFlow::Continue(())
}

/// Adds to `names` the column names that an ORDER BY uses.
fn names_in(order_by: Option<&OrderBy>, names: &mut HashSet<String>) {
    let Some(order_by) = order_by else { return };
    let _ = visit_expressions(order_by, |expression| {
        if let Expr::Identifier(name) = expression {
            names.insert(name.value.clone());
        }
        ControlFlow::<()>::Continue(())
    });
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

/// Removes the brackets around a SELECT result, so that a column in brackets keeps its name.
pub(super) fn strip_brackets(item: &mut SelectItem) {
    while let SelectItem::UnnamedExpr(Expr::Nested(inner)) = item {
        let inner = std::mem::replace(&mut **inner, Expr::Value(Value::Null.into()));
        *item = SelectItem::UnnamedExpr(inner);
    }
}

/// Returns the name of a SELECT result: a column's own name, or the alias of an expression.
fn name_of(item: &SelectItem) -> Option<Ident> {
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => names.last().cloned(),
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.clone()),
        _ => None,
    }
}

fn rename(item: &mut SelectItem, name: Ident) {
    let alias = Ident { quote_style: Some('`'), ..name };
    match item {
        SelectItem::UnnamedExpr(expression) => {
            let expr = std::mem::replace(expression, Expr::Value(Value::Null.into()));
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
        SelectItem::ExprWithAlias { alias: known, .. } => *known = alias,
        _ => {}
    }
}

/// Appends a number to a result name that is already taken, as Flink does. The name of a column that a `*`
/// also contains is taken.
///
/// Differs from Flink: the `*` keeps the name and the column gets the number, even if it stands before the
/// `*`. Their values are equal.
pub(super) fn name_once(projection: &mut [SelectItem], from: &[TableWithJoins]) {
    let mut stars = Vec::new();
    for item in &*projection {
        match item {
            SelectItem::Wildcard(_) => stars.push(None),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(table), _) => {
                stars.push(last_name(table).map(|name| name.value.clone()));
            }
            _ => {}
        }
    }
    let has_star = |table: Option<&str>| stars.iter().any(|star| star.as_deref() == table);
    let tables = tables(from);
    let is_in_star = |expression: &Expr| match expression {
        // If the FROM has one table, a column name without a table before it belongs to that table.
        Expr::Identifier(_) => has_star(None) || (!stars.is_empty() && tables.len() == 1),
        Expr::CompoundIdentifier(names) => match &names[..] {
            // In `a.b`, the part before the period may be a table, or a column of a row type whose field is
            // meant.
            [table, _] => {
                let is_table = tables.iter().flatten().any(|known| *known == table.value);
                has_star(Some(&table.value)) || (is_table && has_star(None))
            }
            _ => false,
        },
        _ => false,
    };
    let columns: Vec<String> = projection
        .iter()
        .filter(|item| matches!(item, SelectItem::UnnamedExpr(expression) if is_in_star(expression)))
        .filter_map(|item| Some(name_of(item)?.value))
        .collect();
    let mut once = NamesOnce::default();
    once.taken.extend(columns);
    for item in projection {
        if let Some(name) = name_of(item) {
            let value = once.take(name.value.clone());
            if value != name.value {
                rename(item, Ident { value, ..name });
            }
        }
    }
}

/// Returns the names of the tables of a FROM clause; `None` for a table without a name.
fn tables(from: &[TableWithJoins]) -> Vec<Option<String>> {
    let name = |factor: &TableFactor| match factor {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::TableFunction { alias: Some(alias), .. }
        | TableFactor::NestedJoin { alias: Some(alias), .. } => Some(alias.name.value.clone()),
        TableFactor::Table { name, .. } => last_name(name).map(|name| name.value.clone()),
        _ => None,
    };
    let factors = |joined: &TableWithJoins| {
        let mut names = vec![name(&joined.relation)];
        // A bracket with several joined tables counts as more than one table.
        if matches!(&joined.relation, TableFactor::NestedJoin { alias: None, .. }) {
            names.push(None);
        }
        names.extend(joined.joins.iter().map(|join| name(&join.relation)));
        names
    };
    from.iter().flat_map(factors).collect()
}

/// Generator of unique column names, with Flink's numbers after names that occur again.
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

/// Returns the unique names of a query's columns; `found` are the planner's names. Columns without a name are
/// numbered by their position, counted over all columns of `*`.
pub(crate) fn column_names(query: &Query, found: &[&str]) -> Vec<String> {
    let items = first_select(&query.body).map_or(&[][..], |select| &select.projection[..]);
    // SELECT items after the last `*` are counted from the end, because the number of columns of `*` is not
    // known here.
    let behind = items.iter().rposition(is_star).map_or(0, |last| items.len() - 1 - last);
    let mut once = NamesOnce::default();
    let name = |(place, name): (usize, &&str)| {
        let name = without_mark(name);
        let from_end = found.len() - place;
        let is_numbered = from_end <= behind
            && name == format!("EXPR${}", items.len() - from_end)
            && matches!(items[items.len() - from_end], SelectItem::UnnamedExpr(_));
        once.take(if is_numbered { format!("EXPR${place}") } else { name.to_owned() })
    };
    found.iter().enumerate().map(name).collect()
}

/// Returns the place in the text of a query's result column, if it is known.
pub(crate) fn result_place(query: &Query, column: usize) -> Option<Place> {
    match first_select(&query.body) {
        Some(select) => {
            let items = &select.projection;
            let item = items.get(column).filter(|_| !items.iter().take(column + 1).any(is_star));
            item.or(items.first()).and_then(place)
        }
        None => match &*query.body {
            SetExpr::Values(values) => values
                .rows
                .first()
                .and_then(|row| row.content.get(column).or(row.content.first()))
                .and_then(place),
            _ => None,
        },
    }
}

/// Returns the first SELECT of a query with set operations, which names the query's columns.
fn first_select(body: &SetExpr) -> Option<&Select> {
    let mut body = body;
    loop {
        body = match body {
            SetExpr::Select(select) => return Some(select),
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Query(query) => &query.body,
            _ => return None,
        };
    }
}
