//! `*` of joins by USING and of NATURAL JOIN: the common columns first, each once, then the other columns of both
//! sides, as in Flink and in standard SQL. DataFusion's planner leaves the common columns at their places, so such a
//! `*` is replaced by a list of columns before. For this, sub-queries in FROM without a name are given one.
//!
//! Only the syntax tree is read, and the column names of tables and views.
//!
//! Source: SQL:2016, 7.10 (joined table), syntax rules for common columns.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinConstraint, JoinOperator, ObjectName,
    Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor,
    TableWithJoins, VisitMut, VisitorMut, With,
};
use thalweg_sql_tables::error::{Code, SqlError};

use crate::text::ddl::place_of;
use crate::text::dialect::{TABLE_ARGUMENT, last_name, single_name};
use crate::text::plain::NamesOnce;

/// Function that returns the column names of a table or view; `None` if there is none of that name.
pub(super) type ColumnsOf<'a> = &'a dyn Fn(&ObjectName) -> Option<Vec<String>>;

/// Gives every sub-query in FROM a name, and replaces every `*` of a FROM with common columns by a list of columns.
///
/// # Errors
/// [`Code::Unsupported`] for a `*` whose columns are not known before the query is planned.
pub(super) fn write_out(query: &mut Query, columns_of: ColumnsOf<'_>) -> Result<(), SqlError> {
    let _ = query.visit(&mut Namer { count: 0 });
    let mut stars = Stars { columns_of, scopes: RefCell::default(), withs: Vec::new() };
    match query.visit(&mut stars) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// Gives names to the sub-queries in FROM that have none, so that the columns of two of them can be distinguished.
struct Namer {
    count: usize,
}

impl VisitorMut for Namer {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { alias: alias @ None, .. } = factor {
            self.count += 1;
            let name = Ident::with_quote('`', format!("sub-query {}", self.count));
            *alias = Some(TableAlias { explicit: false, name, columns: Vec::new(), at: None });
        }
        ControlFlow::Continue(())
    }
}

/// Column names of the queries of a WITH, by the names of these queries; `None` if they are not known.
type Named = HashMap<String, Option<Vec<String>>>;

struct Stars<'a> {
    columns_of: ColumnsOf<'a>,
    /// For each query that is being visited, outermost first, the queries of its WITH that were visited already.
    scopes: RefCell<Vec<Named>>,
    /// WITH clauses of the queries that are being visited, taken out of them meanwhile.
    withs: Vec<Option<With>>,
}

/// A column of a FROM clause, and the table to which it belongs.
#[derive(Clone)]
struct Found {
    table: Option<Ident>,
    name: String,
}

impl VisitorMut for Stars<'_> {
    type Break = Box<SqlError>;

    /// Visits the queries of a WITH and takes the clause out of the query until its body was visited. So each of
    /// these queries is visited once, and knows the queries before it.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Box<SqlError>> {
        self.scopes.borrow_mut().push(Named::new());
        let mut with = query.with.take();
        for table in with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            table.query.visit(self)?;
            self.declare(&table.alias, &table.query);
        }
        self.withs.push(with);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Box<SqlError>> {
        query.with = self.withs.pop().flatten();
        self.scopes.borrow_mut().pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Box<SqlError>> {
        if !select.from.iter().any(has_common) {
            return ControlFlow::Continue(());
        }
        let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_));
        while let Some(star) = select.projection.iter().position(is_star) {
            let Some(found) = self.of_from(&select.from) else {
                let at = match &select.projection[star] {
                    SelectItem::Wildcard(options) => Some(place_of(&options.wildcard_token.0.span)),
                    _ => None,
                };
                let message = "`*` of a join by USING or NATURAL is not supported if its columns have no names of their own";
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
        }
        ControlFlow::Continue(())
    }
}

impl Stars<'_> {
    /// Records the column names of a query of a WITH.
    fn declare(&self, alias: &TableAlias, query: &Query) {
        let columns = renamed(Some(alias), || self.of_query(query));
        if let Some(scope) = self.scopes.borrow_mut().last_mut() {
            scope.insert(alias.name.value.clone(), columns);
        }
    }

    /// Returns the column names of a query; `None` if they are not known.
    fn of_query(&self, query: &Query) -> Option<Vec<String>> {
        self.scopes.borrow_mut().push(Named::new());
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.declare(&table.alias, &table.query);
        }
        let columns = self.of_body(&query.body);
        self.scopes.borrow_mut().pop();
        columns
    }

    fn of_body(&self, body: &SetExpr) -> Option<Vec<String>> {
        let mut body = body;
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
        let is_written_out = select.from.iter().any(has_common);
        let mut has_star = false;
        let mut names = Vec::new();
        for (ordinal, item) in select.projection.iter().enumerate() {
            match item {
                SelectItem::UnnamedExpr(Expr::Identifier(name)) => names.push(name.value.clone()),
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                    names.push(parts.last()?.value.clone());
                }
                SelectItem::ExprWithAlias { alias, .. } => names.push(alias.value.clone()),
                SelectItem::UnnamedExpr(_) => names.push(format!("EXPR${ordinal}")),
                SelectItem::Wildcard(_) => {
                    has_star |= !is_written_out;
                    names.extend(self.of_from(&select.from)?.into_iter().map(|found| found.name));
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(table), _) => {
                    has_star = true;
                    names.extend(self.of_table(&select.from, last_name(table)?)?);
                }
                _ => return None,
            }
        }
        let mut once = NamesOnce::default();
        let unique: Vec<String> = names.iter().map(|name| once.take(name.clone())).collect();
        // If a `*` gives one name twice, the planner chooses the names, so they are not known here.
        (!has_star || unique == names).then_some(unique)
    }

    /// Returns the column names of the table with the given name or alias in a FROM clause.
    fn of_table(&self, from: &[TableWithJoins], name: &Ident) -> Option<Vec<String>> {
        let factors = from.iter().flat_map(|joined| {
            [&joined.relation].into_iter().chain(joined.joins.iter().map(|join| &join.relation))
        });
        for factor in factors {
            let of = match factor {
                TableFactor::NestedJoin { table_with_joins, alias: None } => {
                    match self.of_table(std::slice::from_ref(&**table_with_joins), name) {
                        Some(columns) => return Some(columns),
                        None => continue,
                    }
                }
                factor => self.of_factor(factor)?,
            };
            if of
                .first()
                .is_some_and(|found| found.table.as_ref().is_some_and(|table| table.value == name.value))
            {
                return Some(of.into_iter().map(|found| found.name).collect());
            }
        }
        None
    }

    /// Returns the columns of a FROM clause. The common columns of its joins come before all others.
    fn of_from(&self, from: &[TableWithJoins]) -> Option<Vec<Found>> {
        from.iter().try_fold(Vec::new(), |before, joined| self.of_joined(before, joined))
    }

    /// Returns the columns of a table with its joins: common columns, then `before` (the columns of the tables before
    /// it in FROM), then the others.
    fn of_joined(&self, before: Vec<Found>, joined: &TableWithJoins) -> Option<Vec<Found>> {
        let mut common_first: Vec<Found> = Vec::new();
        let mut left = self.of_factor(&joined.relation)?;
        for join in &joined.joins {
            let right = self.of_factor(&join.relation)?;
            let common: Vec<String> = match constraint_of(&join.join_operator) {
                Some(JoinConstraint::Using(names)) => {
                    names.iter().map(|name| Some(last_name(name)?.value.clone())).collect::<Option<_>>()?
                }
                Some(JoinConstraint::Natural) => {
                    let all = common_first.iter().chain(&left);
                    let is_common = |found: &&Found| right.iter().any(|other| other.name == found.name);
                    all.filter(is_common).map(|found| found.name.clone()).collect()
                }
                _ => Vec::new(),
            };
            // The common column is that of the left side, which is not NULL where the right one is not: RIGHT and
            // FULL joins are refused.
            let mut first = Vec::new();
            for name in &common {
                let place = |columns: &[Found]| columns.iter().position(|found| found.name == *name);
                first.push(match place(&common_first) {
                    Some(place) => common_first.remove(place),
                    None => left.remove(place(&left)?),
                });
            }
            common_first.splice(0..0, first);
            let is_own = |found: &Found| !common.contains(&found.name);
            left.extend(right.into_iter().filter(is_own));
        }
        Some(common_first.into_iter().chain(before).chain(left).collect())
    }

    fn of_factor(&self, factor: &TableFactor) -> Option<Vec<Found>> {
        let (columns, alias) = match factor {
            TableFactor::Table { name, alias, args, .. } => {
                let own = || match args {
                    None => self.of_name(name),
                    Some(arguments) => self.of_window(&arguments.args),
                };
                (renamed(alias.as_ref(), own)?, alias)
            }
            TableFactor::TableFunction { expr: Expr::Function(function), alias } => {
                let FunctionArguments::List(list) = &function.args else { return None };
                (renamed(alias.as_ref(), || self.of_window(&list.args))?, alias)
            }
            TableFactor::Derived { subquery, alias, .. } => {
                (renamed(alias.as_ref(), || self.of_query(subquery))?, alias)
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                return self.of_joined(Vec::new(), table_with_joins);
            }
            _ => return None,
        };
        let table = match (alias, factor) {
            (Some(alias), _) => Some(alias.name.clone()),
            (None, TableFactor::Table { name, args: None, .. }) => last_name(name).cloned(),
            _ => None,
        };
        Some(columns.into_iter().map(|name| Found { table: table.clone(), name }).collect())
    }

    /// Returns the column names of a query of WITH, or else of a table or view, by its name.
    fn of_name(&self, name: &ObjectName) -> Option<Vec<String>> {
        let scopes = self.scopes.borrow();
        let known =
            single_name(name).and_then(|name| scopes.iter().rev().find_map(|scope| scope.get(&name.value)));
        match known {
            Some(columns) => columns.clone(),
            None => {
                drop(scopes);
                (self.columns_of)(name)
            }
        }
    }

    /// Returns the column names of a window function: those of its table, then those of the window.
    fn of_window(&self, arguments: &[FunctionArg]) -> Option<Vec<String>> {
        let mut values = arguments.iter().filter_map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value))
            | FunctionArg::Named { arg: FunctionArgExpr::Expr(value), .. }
            | FunctionArg::ExprNamed { arg: FunctionArgExpr::Expr(value), .. } => Some(value),
            _ => None,
        });
        let mut columns = values.find_map(|value| match value {
            Expr::Subquery(query) => self.of_query(query),
            Expr::Function(function)
                if single_name(&function.name).is_some_and(|name| name.value == TABLE_ARGUMENT) =>
            {
                let FunctionArguments::List(list) = &function.args else { return None };
                match list.args.first()? {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name))) => {
                        self.of_name(&ObjectName::from(vec![name.clone()]))
                    }
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::CompoundIdentifier(parts))) => {
                        self.of_name(&ObjectName::from(parts.clone()))
                    }
                    _ => None,
                }
            }
            _ => None,
        })?;
        columns.extend(["window_start", "window_end", "window_time"].map(str::to_owned));
        Some(columns)
    }
}

/// Returns the column names that an alias gives, or else `own`, the names that the columns have.
fn renamed(alias: Option<&TableAlias>, own: impl FnOnce() -> Option<Vec<String>>) -> Option<Vec<String>> {
    match alias {
        Some(alias) if !alias.columns.is_empty() => {
            Some(alias.columns.iter().map(|column| column.name.value.clone()).collect())
        }
        _ => own(),
    }
}

/// Returns whether a table with its joins has a join by USING or a NATURAL JOIN.
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
