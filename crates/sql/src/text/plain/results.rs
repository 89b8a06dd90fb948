//! Names of results: each is unique, as in Flink (`a`, `a0`, `a1`), whatever `*` stands for.
//!
//! The planner expands `*` and needs unique names; the final names of a query's results can be settled after it
//! ([`column_names`]). So the results beside a `*` of the outermost SELECT are given unique temporary names
//! ([`mark_apart`]), and get their final names later. The results of a sub-query keep their names, because the query
//! around it uses them. There, a name which a `*` also has is recognised only if it is a column's own
//! ([`name_once`]); otherwise the planner refuses it.
//!
//! Source: Calcite, `SqlValidatorUtil.uniquify` with its attempts `a0`, `a1`.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, OrderBy, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor,
    TableWithJoins, Value, visit_expressions,
};
use thalweg_sql_tables::error::Place;

use super::{Visit, place, refuse_name};
use crate::text::dialect::last_name;

/// Separator between a name and the number which makes it unique during planning.
const MARK: char = '\u{1}';

/// Returns the name without the suffix added by [`mark_apart`].
pub(crate) fn without_mark(name: &str) -> &str {
    name.rsplit_once(MARK).map_or(name, |(name, _)| name)
}

/// Gives unique names to the results beside a `*`, in the SELECTs which make the rows of the query. Names used by an
/// ORDER BY stay.
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

/// Collects the names used by an ORDER BY.
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

/// Removes the brackets around a result, so that a column in brackets keeps its name.
pub(super) fn strip_brackets(item: &mut SelectItem) {
    while let SelectItem::UnnamedExpr(Expr::Nested(inner)) = item {
        let inner = std::mem::replace(&mut **inner, Expr::Value(Value::Null.into()));
        *item = SelectItem::UnnamedExpr(inner);
    }
}

/// Returns the name of a result: a column's own name, or the alias of an expression.
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

/// Puts a number behind a name which is already taken, as Flink does. A column which a `*` also has is already taken.
///
/// Differs from Flink: the `*` keeps the name and the column gets the number, even if it stands before the `*`. Their
/// values are equal.
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
        // With one table, a name without a table before it belongs to that table.
        Expr::Identifier(_) => has_star(None) || (!stars.is_empty() && tables.len() == 1),
        Expr::CompoundIdentifier(names) => match &names[..] {
            // The part before the point may also be a row, whose field is meant.
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

/// Returns the names of the tables of a FROM; `None` for a table without one.
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
        // Several tables in brackets count as more than one.
        if matches!(&joined.relation, TableFactor::NestedJoin { alias: None, .. }) {
            names.push(None);
        }
        names.extend(joined.joins.iter().map(|join| name(&join.relation)));
        names
    };
    from.iter().flat_map(factors).collect()
}

/// A generator of unique column names.
#[derive(Default)]
pub struct NamesOnce {
    taken: HashSet<String>,
    /// Next number to try behind each name.
    next: HashMap<String, usize>,
}

impl NamesOnce {
    /// Takes the name, or a similar one which is not taken yet.
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
    // Items behind the last `*` are counted from the end.
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

/// Returns the place of a result column, if it is known.
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

/// Returns the SELECT which names a query's columns.
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
