//! Rewriting of a query's syntax tree into plain form. Only one of several equal notations is kept, the one
//! that the planner knows, and parts that the planner would ignore are refused.
//!
//! DataFusion's planner ignores parts of the syntax tree that it does not know (locks, samples, hints and so
//! on). A query with such a part would run and mean something else. So every part of a query that is not
//! known here is an error. These forms are rewritten:
//!
//! * `EXTRACT(unit FROM x)`, `FLOOR(x TO unit)`, `POSITION(a IN b)`, `TRIM(BOTH a FROM b)`,
//!   `SUBSTRING(a FROM b FOR c)`, `OVERLAY(a PLACING b FROM c)`, `TIMESTAMPADD(unit, n, x)`, `ARRAY[..]`,
//!   `a[i]`: calls of functions;
//! * `TIMESTAMP '..'`: a cast to as many digits as are written; numbers with an exponent: a cast to DOUBLE;
//! * `INTERVAL '1' HOUR` in the frame of an OVER window: its milliseconds, because the planner accepts only numbers
//!   there;
//! * `(a, b) IN ((1, 2), (3, 4))`, `(a, b) = (1, 2)`: comparisons of one value each;
//! * ROLLUP and CUBE: their grouping sets; `-INTERVAL '1' DAY`: the opposite interval;
//! * cells of VALUES which are not literals: calls of [`CELL`];
//! * duplicate names in a list of results: names with a number behind them, as in Flink;
//! * expressions without a name in a list of results: `EXPR$0`, `EXPR$1`, by their positions, as in Flink.
//!
//! Sources: Flink's documentation, "Queries" and "System (Built-in) Functions"; Calcite's reference for the names of
//! columns.

use std::collections::HashSet;
use std::ops::ControlFlow;

use frames::plain_window;
pub use results::NamesOnce;
pub(crate) use results::{column_names, result_place, without_mark};
use sqlparser::ast::{
    Distinct, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, JoinConstraint,
    JoinOperator, NamedWindowDefinition, NamedWindowExpr, Query, Select, SelectFlavor, SelectItem, SetExpr,
    SetOperator, SetQuantifier, Spanned, TableFactor, TableVersion, UnaryOperator, Value, ValueWithSpan,
    VisitMut, VisitorMut,
};
use sqlparser::tokenizer::Span;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::bounds::JOINS_MAX;
use super::ddl::place_of;
use super::dialect::{call, single_name};
use super::reserved::is_reserved;

mod expressions;
mod frames;
mod groups;
mod results;
mod tuples;

/// Greatest number of operators that follow each other, or are nested, in one expression; planning recurses
/// once for each operator.
pub const OPERATORS_MAX: usize = 2_000;

/// Greatest number of result columns of a SELECT, and of columns of a table. The cost of planning is
/// quadratic in this number.
pub const RESULTS_MAX: usize = 2_000;

/// Name of the function whose calls wrap the cells of a VALUES column, a cell being the value in one row.
/// Nothing is wrapped if all cells of the column are literals of one kind.
pub const CELL: &str = "cell of values";

/// Rewrites a query into plain form: of several equal notations, the one that the planner knows.
///
/// # Errors
/// [`Code::Unsupported`] for unsupported parts, at their place.
pub fn make_plain(query: &mut Query) -> Result<(), SqlError> {
    match results::mark_apart(query, &HashSet::new()) {
        ControlFlow::Continue(()) => visit(query),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// Rewrites an expression of a table's declaration into plain form: of several equal notations, the one that
/// the planner knows.
///
/// # Errors
/// Fails as [`make_plain`] does.
pub fn make_expression_plain(expression: &mut Expr) -> Result<(), SqlError> {
    visit(expression)
}

fn visit(tree: &mut impl VisitMut) -> Result<(), SqlError> {
    match tree.visit(&mut Plain { places: Vec::new() }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Plain {
    /// Span in the text of each expression that is being visited, as far as its parts are known. Computing a
    /// span from the tree would visit the whole sub-tree at each level.
    places: Vec<Span>,
}

type Visit = ControlFlow<Box<SqlError>>;

fn refuse(what: &str, place: Option<Place>) -> Visit {
    ControlFlow::Break(Box::new(not_supported(what).at(place)))
}

/// Creates the error for a part of a query that is not supported. Text after a colon in `what` says what to
/// write instead.
pub(super) fn not_supported(what: &str) -> SqlError {
    let (what, help) = what.split_once(": ").map_or((what, None), |(what, help)| (what, Some(help)));
    let error = SqlError::new(Code::Unsupported, format!("{what} is not supported"));
    match help {
        Some(help) => error.help(help),
        None => error,
    }
}

/// Returns the line and column at which a part of the syntax tree begins, if they are known.
fn place(part: &impl Spanned) -> Option<Place> {
    let span = part.span();
    (span.start.line > 0).then(|| place_of(&span))
}

/// Refuses a query if it has one of the given parts; the error names the first part that is present.
macro_rules! refuse_any {
    ($place:expr; $($is_there:expr => $what:literal),+ $(,)?) => {
        $(if $is_there {
            return refuse($what, $place);
        })+
    };
}

impl VisitorMut for Plain {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> Visit {
        let at = place(query);
        let Query {
            with,
            body,
            order_by: _,
            limit_clause: _,
            fetch: _,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        refuse_any!(at;
            with.as_ref().is_some_and(|with| with.recursive) => "WITH RECURSIVE",
            !locks.is_empty() => "FOR UPDATE",
            for_clause.is_some() => "FOR XML or JSON",
            settings.is_some() => "SETTINGS",
            format_clause.is_some() => "FORMAT",
            !pipe_operators.is_empty() => "|>",
        );
        self.check_body(body)
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> Visit {
        let at = place(select);
        let Select {
            select_token: _,
            // The only hint that reaches this place is STATE_TTL, because the tokenizer refuses others. It is
            // ignored, and the setting for the time to live applies.
            optimizer_hints: _,
            distinct,
            select_modifiers,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection: _,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having: _,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor,
        } = select;
        refuse_any!(at;
            matches!(distinct, Some(Distinct::On(_))) => "DISTINCT ON",
            select_modifiers.is_some() => "a modifier of SELECT",
            top.is_some() => "TOP",
            exclude.is_some() => "EXCLUDE",
            into.is_some() => "SELECT INTO",
            !lateral_views.is_empty() => "LATERAL VIEW",
            prewhere.is_some() => "PREWHERE",
            !connect_by.is_empty() => "CONNECT BY",
            !cluster_by.is_empty() => "CLUSTER BY",
            !distribute_by.is_empty() => "DISTRIBUTE BY",
            !sort_by.is_empty() => "SORT BY",
            qualify.is_some() => "QUALIFY",
            value_table_mode.is_some() => "SELECT AS VALUE",
            *flavor != SelectFlavor::Standard => "FROM without SELECT",
            matches!(group_by, GroupByExpr::All(_)) => "GROUP BY ALL",
        );
        if let GroupByExpr::Expressions(keys, modifiers) = group_by {
            refuse_any!(at; !modifiers.is_empty() => "a modifier of GROUP BY");
            // `GROUP BY (a, b)` has two keys, and not one key that is a row of two fields.
            if keys.iter().any(|key| matches!(key, Expr::Tuple(_))) {
                let apart = |key| match key {
                    Expr::Tuple(parts) if 1 < parts.len() => parts,
                    key => vec![key],
                };
                *keys = std::mem::take(keys).into_iter().flat_map(apart).collect();
            }
            if let Some(number) = keys.iter().map(without_brackets).find(|key| is_number(key)) {
                let error =
                    SqlError::new(Code::Unsupported, format!("GROUP BY {number}: positions are not keys"));
                return ControlFlow::Break(Box::new(
                    error.at(place(number).or(at)).help("repeat the expression"),
                ));
            }
        }
        for NamedWindowDefinition(name, definition) in named_window {
            if let NamedWindowExpr::WindowSpec(window) = definition
                && let Err(error) = plain_window(window)
            {
                let place = (name.span.start.line > 0).then(|| place_of(&name.span));
                return ControlFlow::Break(Box::new(error.at(place.or(at))));
            }
        }
        if from.len() > JOINS_MAX {
            let message = format!("FROM has more than {JOINS_MAX} tables");
            return ControlFlow::Break(Box::new(SqlError::new(Code::Unsupported, message).at(at)));
        }
        for joined in &*from {
            for join in &joined.joins {
                check_join(&join.join_operator, place(&join.relation).or(at))?;
            }
        }
        if projection.len() > RESULTS_MAX {
            let message =
                format!("SELECT has {} results, and at most {RESULTS_MAX} are planned", projection.len());
            return ControlFlow::Break(Box::new(SqlError::new(Code::Unsupported, message).at(at)));
        }
        for (ordinal, item) in projection.iter_mut().enumerate() {
            name_item(item, ordinal, at)?;
        }
        results::name_once(projection, from);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> Visit {
        let at = place(factor);
        check_alias(factor)?;
        match factor {
            TableFactor::Table {
                name: _,
                alias: _,
                args: _,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                refuse_any!(at;
                    !with_hints.is_empty() => "WITH behind a table",
                    *with_ordinality => "WITH ORDINALITY",
                    !partitions.is_empty() => "PARTITION behind a table",
                    json_path.is_some() => "a path behind a table",
                    sample.is_some() => "TABLESAMPLE",
                    !index_hints.is_empty() => "an index hint",
                    matches!(version, Some(version) if !matches!(version, TableVersion::ForSystemTimeAsOf(_)))
                        => "this kind of table version",
                );
            }
            TableFactor::Derived { lateral, subquery: _, alias: _, sample } => {
                refuse_any!(at; *lateral => "LATERAL", sample.is_some() => "TABLESAMPLE");
            }
            TableFactor::TableFunction { expr: _, alias: _ } => {}
            TableFactor::NestedJoin { table_with_joins, alias: _ } => {
                for join in &table_with_joins.joins {
                    check_join(&join.join_operator, place(&join.relation).or(at))?;
                }
            }
            TableFactor::UNNEST { .. } => return refuse("UNNEST", at),
            TableFactor::Function { .. } => return refuse("LATERAL TABLE(..)", at),
            _ => return refuse("this kind of table", at),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> Visit {
        self.places.push(own_span(expression));
        if self.places.len() > OPERATORS_MAX {
            let message = format!("an expression has more than {OPERATORS_MAX} operators within each other");
            let error = SqlError::new(Code::Unsupported, message).at(place(expression));
            return ControlFlow::Break(Box::new(error.help("write x IN (..) for many alternatives")));
        }
        // The first argument of TIMESTAMPADD and TIMESTAMPDIFF is a unit, a keyword like MONTH, which the
        // planner would take for a column.
        if let Expr::Function(function) = expression
            && let Some(name) = single_name(&function.name)
            && matches!(name.value.to_uppercase().as_str(), "TIMESTAMPADD" | "TIMESTAMPDIFF")
            && let FunctionArguments::List(list) = &mut function.args
            && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(unit))) = list.args.first_mut()
            && let Expr::Identifier(ident) = unit
        {
            let name = ident.value.to_uppercase();
            *unit = expressions::text(name.strip_prefix("SQL_TSI_").unwrap_or(&name));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> Visit {
        let span = self.places.pop().unwrap_or_else(Span::empty);
        if let Some(outer) = self.places.last_mut() {
            *outer = outer.union(&span);
        }
        let at = (span.start.line > 0).then(|| place_of(&span));
        // The expression is taken out of the tree, because rewriting needs it by value, and the rewritten
        // expression is put back in its place.
        let taken = std::mem::replace(expression, Expr::Value(Value::Null.into()));
        match expressions::plain(taken, at) {
            Ok(plain) => *expression = plain,
            Err(error) => return ControlFlow::Break(Box::new(error.at(at))),
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> Visit {
        plain_values(&mut query.body);
        ControlFlow::Continue(())
    }
}

/// Returns the span of the words of an expression that belong to none of its sub-expressions, such as the
/// name of a called function; an empty span if it is unknown.
pub(crate) fn own_span(expression: &Expr) -> Span {
    match expression {
        Expr::Identifier(ident) => ident.span,
        Expr::CompoundIdentifier(idents) => Span::union_iter(idents.iter().map(|ident| ident.span)),
        Expr::Value(value) => value.span,
        Expr::TypedString(typed) => typed.value.span,
        Expr::Function(function) => function.name.span(),
        Expr::Case { case_token, end_token, .. } => case_token.0.span.union(&end_token.0.span),
        _ => Span::empty(),
    }
}

/// Wraps the cells of a VALUES column, the values in its rows, in calls of [`CELL`], unless they are literals
/// of one kind. The planner then sees only the Arrow types of the cells, and the casts that it adds can be
/// undone. Otherwise the number of fractional digits that it gives to times would depend on the kind of
/// column, and it would take whole numbers beside decimals for longer than they are.
fn plain_values(body: &mut SetExpr) {
    let mut rest = vec![body];
    while let Some(body) = rest.pop() {
        match body {
            SetExpr::SetOperation { left, right, .. } => rest.extend([&mut **left, &mut **right]),
            SetExpr::Values(values) => {
                let width = values.rows.iter().map(|row| row.content.len()).max().unwrap_or_default();
                for column in 0..width {
                    let cells = values.rows.iter().filter_map(|row| row.content.get(column));
                    let mut kinds = cells.map(kind_of).filter(|kind| *kind != Kind::Null);
                    let first = kinds.next().unwrap_or(Kind::Null);
                    if first != Kind::More && kinds.all(|kind| kind == first) {
                        continue;
                    }
                    for cell in values.rows.iter_mut().filter_map(|row| row.content.get_mut(column)) {
                        let inner = std::mem::replace(cell, Expr::Value(Value::Null.into()));
                        *cell = call(Ident::with_quote('`', CELL), vec![inner]);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Kind of a cell of VALUES, the value in one column of one row: a literal of a simple type, or anything else
/// (`More`). The planner gives all cells of one literal kind the same type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Boolean,
    Text,
    Whole,
    More,
}

fn kind_of(cell: &Expr) -> Kind {
    match cell {
        Expr::Value(value) => match &value.value {
            Value::Null => Kind::Null,
            Value::Boolean(_) => Kind::Boolean,
            Value::SingleQuotedString(_) => Kind::Text,
            Value::Number(number, _) if number.parse::<i64>().is_ok() => Kind::Whole,
            _ => Kind::More,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } if kind_of(expr) == Kind::Whole => Kind::Whole,
        _ => Kind::More,
    }
}

impl Plain {
    fn check_body(&self, body: &SetExpr) -> Visit {
        let mut rest = vec![body];
        while let Some(body) = rest.pop() {
            match body {
                SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => {}
                SetExpr::SetOperation { left, op, set_quantifier, right } => {
                    refuse_any!(place(body);
                        matches!(set_quantifier, SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName)
                            => "BY NAME",
                        matches!(op, SetOperator::Minus) => "MINUS",
                        matches!((op, set_quantifier), (SetOperator::Except, SetQuantifier::All)) => "EXCEPT ALL",
                        matches!((op, set_quantifier), (SetOperator::Intersect, SetQuantifier::All)) => "INTERSECT ALL",
                    );
                    rest.extend([&**left, &**right]);
                }
                _ => return refuse("this kind of query", place(body)),
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns an expression without the brackets around it and without leading plus signs, because the form that
/// the planner gets has none of them.
fn without_brackets(mut expression: &Expr) -> &Expr {
    while let Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } = expression {
        expression = inner;
    }
    expression
}

fn is_number(expression: &Expr) -> bool {
    matches!(expression, Expr::Value(ValueWithSpan { value: Value::Number(..), .. }))
}

/// Refuses aliases of a table and of its columns that cannot be names without quotes.
fn check_alias(factor: &TableFactor) -> Visit {
    let (TableFactor::Table { alias, .. }
    | TableFactor::Derived { alias, .. }
    | TableFactor::TableFunction { alias, .. }
    | TableFactor::NestedJoin { alias, .. }) = factor
    else {
        return ControlFlow::Continue(());
    };
    let names = alias
        .iter()
        .flat_map(|alias| [&alias.name].into_iter().chain(alias.columns.iter().map(|column| &column.name)));
    for name in names.filter(|name| name.quote_style == Some('\'')) {
        refuse_name(name)?;
    }
    ControlFlow::Continue(())
}

fn check_join(operator: &JoinOperator, at: Option<Place>) -> Visit {
    use JoinOperator::*;
    match operator {
        Join(on) | Inner(on) | Left(on) | LeftOuter(on) | Right(on) | RightOuter(on) | FullOuter(on) => {
            match on {
                JoinConstraint::None => {
                    let error = SqlError::new(Code::Syntax, "a join has no condition").at(at);
                    ControlFlow::Break(Box::new(error.help("write ON .. = .. behind it, or CROSS JOIN")))
                }
                JoinConstraint::Using(_) | JoinConstraint::Natural
                    if matches!(operator, Right(_) | RightOuter(_) | FullOuter(_)) =>
                {
                    refuse(
                        "USING of a RIGHT or FULL JOIN: write ON a.k = b.k, and COALESCE(a.k, b.k) for the column",
                        at,
                    )
                }
                _ => ControlFlow::Continue(()),
            }
        }
        CrossJoin(JoinConstraint::None) => ControlFlow::Continue(()),
        CrossJoin(_) => refuse("a condition of CROSS JOIN", at),
        Semi(_) | LeftSemi(_) | RightSemi(_) => refuse("SEMI JOIN: write WHERE EXISTS (..) or IN (..)", at),
        Anti(_) | LeftAnti(_) | RightAnti(_) => {
            refuse("ANTI JOIN: write WHERE NOT EXISTS (..) or NOT IN (..)", at)
        }
        _ => refuse("this kind of join", at),
    }
}

/// Gives a SELECT result without a name the name that Flink gives it, such as `EXPR$0`.
fn name_item(item: &mut SelectItem, ordinal: usize, at: Option<Place>) -> Visit {
    results::strip_brackets(item);
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_)) => {}
        SelectItem::UnnamedExpr(expression) => {
            let expr = std::mem::replace(expression, Expr::Value(Value::Null.into()));
            *item =
                SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('`', format!("EXPR${ordinal}")) };
        }
        SelectItem::ExprWithAlias { alias, .. } => refuse_name(alias)?,
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => {
            refuse_any!(at;
                options.opt_exclude.is_some() || options.opt_except.is_some() || options.opt_replace.is_some()
                    || options.opt_rename.is_some() || options.opt_ilike.is_some() => "what follows *",
            );
        }
        SelectItem::ExprWithAliases { .. } => return refuse("several names of one result", at),
    }
    ControlFlow::Continue(())
}

/// Refuses a word that cannot be a name without quotes, such as a reserved word.
pub(super) fn check_name(ident: &Ident) -> Result<(), SqlError> {
    let at = || (ident.span.start.line > 0).then(|| place_of(&ident.span));
    if ident.quote_style == Some('\'') {
        let error = SqlError::new(Code::Syntax, format!("'{}' is text and no name", ident.value));
        return Err(error.at(at()).help(format!("write `{}`", ident.value)));
    }
    if ident.quote_style.is_none() && is_reserved(&ident.value) {
        let error = SqlError::new(Code::Syntax, format!("{} is a word of SQL and no name", ident.value));
        return Err(error.at(at()).help(format!("write `{}`", ident.value)));
    }
    Ok(())
}

fn refuse_name(ident: &Ident) -> Visit {
    match check_name(ident) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

#[cfg(test)]
mod tests;
