//! Queries made plain: what has two forms gets the one that planning knows, and what planning would pass over in silence is
//! refused.
//!
//! The planner behind this ignores parts of the syntax tree that it does not know (locks, samples, hints and so on): a query
//! with such a part would run and mean something else. So every part of a query that is not known here is an error. Forms
//! that are rewritten:
//!
//! * `EXTRACT(unit FROM x)`, `FLOOR(x TO unit)`, `POSITION(a IN b)`, `TRIM(BOTH a FROM b)`, `SUBSTRING(a FROM b FOR c)`,
//!   `OVERLAY(a PLACING b FROM c)`, `TIMESTAMPADD(unit, n, x)`, `ARRAY[..]`, `a[i]`: calls of functions;
//! * `TIMESTAMP '..'`: a cast to as many digits as are written; numbers with an exponent: a cast to DOUBLE;
//! * `INTERVAL '1' HOUR` in the frame of an OVER window: its milliseconds, as the planner knows numbers there only;
//! * `(a, b) IN ((1, 2), (3, 4))`, `(a, b) = (1, 2)`: comparisons of one value each;
//! * cells of VALUES that are no literals: calls of [`CELL`];
//! * names that a list of results has twice: with a number behind them, as Flink calls them;
//! * expressions without a name in a list of results: `EXPR$0`, `EXPR$1`, by their places, as Flink calls them.
//!
//! Sources: Flink's documentation, "Queries" and "System (Built-in) Functions"; Calcite's reference for the names of columns.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, CeilFloorKind, DataType, DateTimeField, Distinct, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, JoinConstraint, JoinOperator,
    NamedWindowDefinition, NamedWindowExpr, ObjectNamePart, Query, Select, SelectFlavor, SelectItem, SetExpr,
    SetOperator, SetQuantifier, Spanned, Subscript, TableFactor, TableVersion, TimezoneInfo, TrimWhereField,
    TypedString, UnaryOperator, Value, ValueWithSpan, VisitMut, VisitorMut, WindowType,
};

use sqlparser::tokenizer::Span;

use super::bounds::JOINS_MAX;
use super::ddl::place_of;
use super::dialect::call;
use super::interval;
use super::reserved::is_reserved;
use crate::error::{Code, Place, SqlError};
use frames::plain_window;
pub use results::NamesOnce;
pub(crate) use results::{column_names, result_place, without_mark};

mod frames;
mod groups;
mod results;
mod tuples;

/// The most operators that may follow each other, or be nested, in one expression: planning recurses once for each.
pub const OPERATORS_MAX: usize = 2_000;

/// How deep an expression may become when steps that stand on each other are made one, as views upon views are: workers
/// evaluate it, whose stacks are small, and recurse for what does not lean to the left.
pub const EXPRESSION_DEPTH_MAX: usize = 250;

/// The most results of a SELECT, and the most columns of a table: planning looks at each of them for each.
pub const RESULTS_MAX: usize = 2_000;

/// The function that stands around the cells of VALUES.
pub const CELL: &str = "cell of values";

/// Makes a query plain.
///
/// # Errors
/// [`Code::Unsupported`] for what we do not have, at its place.
pub fn make_plain(query: &mut Query) -> Result<(), SqlError> {
    match results::mark_apart(query, &HashSet::new()) {
        ControlFlow::Continue(()) => visit(query),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// Makes an expression of a table's declaration plain.
///
/// # Errors
/// As for [`make_plain`].
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
    /// Where each expression that is being visited begins and ends, as far as its parts are known. Asking the tree would take
    /// as long as there is tree, at each of its levels.
    places: Vec<Span>,
}

type Visit = ControlFlow<Box<SqlError>>;

fn refuse(what: &str, place: Option<Place>) -> Visit {
    ControlFlow::Break(Box::new(not_supported(what).at(place)))
}

/// What we do not have. Behind a colon stands what to write instead.
pub(super) fn not_supported(what: &str) -> SqlError {
    let (what, help) = what.split_once(": ").map_or((what, None), |(what, help)| (what, Some(help)));
    let error = SqlError::new(Code::Unsupported, format!("{what} is not supported"));
    match help {
        Some(help) => error.help(help),
        None => error,
    }
}

/// Where a part of the tree stands, if it says so.
fn place(part: &impl Spanned) -> Option<Place> {
    let span = part.span();
    (span.start.line > 0).then(|| place_of(&span))
}

/// Refuses the first of the given parts that is there.
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
            // STATE_TTL alone gets here, and the setting holds instead.
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
        // The unit is a word, which would be taken for a column.
        if let Expr::Function(function) = expression
            && let [ObjectNamePart::Identifier(name)] = &function.name.0[..]
            && matches!(name.value.to_uppercase().as_str(), "TIMESTAMPADD" | "TIMESTAMPDIFF")
            && let FunctionArguments::List(list) = &mut function.args
            && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(unit))) = list.args.first_mut()
            && let Expr::Identifier(ident) = unit
        {
            let name = ident.value.to_uppercase();
            *unit = text(name.strip_prefix("SQL_TSI_").unwrap_or(&name));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> Visit {
        let span = self.places.pop().unwrap_or_else(Span::empty);
        if let Some(outer) = self.places.last_mut() {
            *outer = outer.union(&span);
        }
        let at = (span.start.line > 0).then(|| place_of(&span));
        // What it is made of is taken out, and comes back in a plainer form.
        let taken = std::mem::replace(expression, Expr::Value(Value::Null.into()));
        match plain(taken, at) {
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

/// Where an expression stands without its parts: all that stands in no other expression of it.
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

/// Cells of VALUES that are more than literals of one kind are put into [`CELL`], so that the planner asks for their types in
/// Arrow only, and what it casts them to can be undone: it takes times of different digits for different kinds of columns, and
/// makes whole numbers beside decimals longer than they are.
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

/// What the planner makes of a cell of VALUES: cells of one kind have one type for it.
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

/// An expression without the brackets around it, and without a plus sign: what is left of it when it is plain.
fn without_brackets(mut expression: &Expr) -> &Expr {
    while let Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } = expression {
        expression = inner;
    }
    expression
}

fn is_number(expression: &Expr) -> bool {
    matches!(expression, Expr::Value(ValueWithSpan { value: Value::Number(..), .. }))
}

/// Refuses a name of a table that is none, and such names of its columns.
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

/// Gives a result without a name the one that Flink gives it.
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

/// Refuses a word that is no name without quotes.
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

fn function(name: &str, arguments: Vec<Expr>) -> Expr {
    call(Ident::new(name), arguments)
}

fn text(value: impl Into<String>) -> Expr {
    Expr::Value(Value::SingleQuotedString(value.into()).into())
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}

/// The plain form of an expression whose parts are plain.
fn plain(expression: Expr, at: Option<Place>) -> Result<Expr, SqlError> {
    let unsupported = |what: &str| not_supported(what).at(at);
    Ok(match expression {
        Expr::Value(ValueWithSpan { value, span }) => plain_value(value, span, &unsupported)?,
        Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: _ }) => {
            let written = match &value.value {
                Value::SingleQuotedString(text) => text.clone(),
                _ => return Err(unsupported("a literal of this form")),
            };
            let digits = written.trim().rsplit_once('.').map_or(0, |(_, fraction)| fraction.len() as u64);
            use crate::functions::cast::text::{parse_date, parse_time, parse_timestamp};
            let (data_type, is_read, what, like) = match data_type {
                DataType::Timestamp(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
                    let of = DataType::Timestamp(Some(digits.min(9)), TimezoneInfo::None);
                    let is_read = parse_timestamp(&written, digits.min(9) as u8).is_some();
                    (of, is_read, "timestamp", "TIMESTAMP '2024-12-31 23:59:59.999'")
                }
                DataType::Time(None, TimezoneInfo::None) => {
                    // Times of a day have milliseconds.
                    let of = DataType::Time(Some(digits.min(3)), TimezoneInfo::None);
                    let is_read = parse_time(&written, digits.min(3) as u8).is_some();
                    (of, is_read, "time", "TIME '23:59:59'")
                }
                DataType::Date => (data_type, parse_date(&written).is_some(), "date", "DATE '2024-12-31'"),
                _ => return Err(unsupported("a literal of this type: write CAST('..' AS type)")),
            };
            if !is_read {
                let error = SqlError::new(Code::Invalid, format!("'{written}' is no {what}"));
                return Err(error.at(at).help(format!("write {like}")));
            }
            cast(Expr::Value(value), data_type)
        }
        Expr::Cast { kind, expr, data_type, array, format } => {
            if array || format.is_some() {
                return Err(unsupported("a format in CAST"));
            }
            match kind {
                CastKind::Cast | CastKind::TryCast => Expr::Cast { kind, expr, data_type, array, format },
                _ => return Err(unsupported("`::`: write CAST(.. AS ..)")),
            }
        }
        Expr::Extract { field, syntax: _, expr } => function("EXTRACT", vec![text(unit_name(&field)), *expr]),
        Expr::Ceil { expr, field } => rounded("CEIL", *expr, field, &unsupported)?,
        Expr::Floor { expr, field } => rounded("FLOOR", *expr, field, &unsupported)?,
        Expr::Position { expr, r#in } => function("POSITION", vec![*expr, *r#in]),
        Expr::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
            let from = substring_from
                .map_or_else(|| Expr::Value(Value::Number("1".to_owned(), false).into()), |from| *from);
            let mut arguments = vec![*expr, from];
            arguments.extend(substring_for.map(|length| *length));
            function("SUBSTRING", arguments)
        }
        Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
            if trim_characters.is_some() {
                return Err(unsupported("TRIM(text, characters)"));
            }
            let name = match trim_where {
                None | Some(TrimWhereField::Both) => "TRIM_BOTH",
                Some(TrimWhereField::Leading) => "TRIM_LEADING",
                Some(TrimWhereField::Trailing) => "TRIM_TRAILING",
            };
            function(name, vec![trim_what.map_or_else(|| text(" "), |what| *what), *expr])
        }
        Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
            let mut arguments = vec![*expr, *overlay_what, *overlay_from];
            arguments.extend(overlay_for.map(|length| *length));
            function("OVERLAY", arguments)
        }
        Expr::Array(array) if !array.named => return Err(unsupported("[..]: write ARRAY[..]")),
        Expr::Array(array) => function("ARRAY", array.elem),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let mut accesses = access_chain.into_iter().peekable();
            let mut root = *root;
            // What stands before the first subscript is a column's name: `t.a[1]`.
            while let (
                Expr::Identifier(_) | Expr::CompoundIdentifier(_),
                Some(AccessExpr::Dot(Expr::Identifier(_))),
            ) = (&root, accesses.peek())
                && let Some(AccessExpr::Dot(Expr::Identifier(part))) = accesses.next()
            {
                root = match root {
                    Expr::Identifier(first) => Expr::CompoundIdentifier(vec![first, part]),
                    Expr::CompoundIdentifier(mut parts) => {
                        parts.push(part);
                        Expr::CompoundIdentifier(parts)
                    }
                    other => other,
                };
            }
            accesses.try_fold(root, |inner, access| match access {
                AccessExpr::Subscript(Subscript::Index { index }) => Ok(function("ITEM", vec![inner, index])),
                AccessExpr::Dot(Expr::Identifier(field)) => {
                    Ok(function("FIELD", vec![inner, text(field.value)]))
                }
                _ => Err(unsupported("this kind of access")),
            })?
        }
        Expr::Function(function) => Expr::Function(plain_function(function, &unsupported)?),
        Expr::Nested(inner) => *inner,
        Expr::InList { expr, list, negated } => tuples::plain_in(*expr, list, negated)?,
        Expr::BinaryOp { op: op @ (BinaryOperator::Xor | BinaryOperator::MyIntegerDivide), .. } => {
            return Err(unsupported(&format!("the operator {op}")));
        }
        Expr::BinaryOp { left, op, right } => tuples::plain_comparison(*left, op, *right)?,
        Expr::GroupingSets(list) => Expr::GroupingSets(groups::sets(list)?),
        Expr::Rollup(list) => Expr::GroupingSets(groups::rollup(&list)?),
        Expr::Cube(list) => Expr::GroupingSets(groups::cube(&list)?),
        Expr::Like { any: true, .. } => return Err(unsupported("LIKE ANY")),
        Expr::UnaryOp { op, expr } => match op {
            UnaryOperator::Plus => *expr,
            UnaryOperator::Minus if interval::is_interval(&expr) => interval::negated(*expr),
            UnaryOperator::Minus | UnaryOperator::Not => Expr::UnaryOp { op, expr },
            _ => return Err(unsupported("this operator")),
        },
        Expr::Interval(_) => return Err(unsupported("this form of INTERVAL: write INTERVAL '5' MINUTE")),
        Expr::Identifier(ident) => {
            check_name(&ident)?;
            Expr::Identifier(ident)
        }
        Expr::CompoundIdentifier(idents) => {
            idents.iter().try_for_each(check_name)?;
            Expr::CompoundIdentifier(idents)
        }
        plain @ (Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::InSubquery { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::SimilarTo { .. }
        | Expr::Case { .. }
        | Expr::Exists { .. }
        | Expr::Subquery(_)
        | Expr::Tuple(_)
        | Expr::Wildcard(_)
        | Expr::QualifiedWildcard(..)) => plain,
        Expr::ILike { .. } => return Err(unsupported("ILIKE")),
        Expr::RLike { .. } => return Err(unsupported("RLIKE: write REGEXP(text, pattern)")),
        Expr::AtTimeZone { .. } => return Err(unsupported("AT TIME ZONE")),
        Expr::Collate { .. } => return Err(unsupported("COLLATE")),
        Expr::Map(_) | Expr::Dictionary(_) => {
            return Err(unsupported("a literal of a map: write MAP('k', v, ..)"));
        }
        Expr::AnyOp { .. } | Expr::AllOp { .. } => return Err(unsupported("ANY or ALL of a query")),
        _ => return Err(unsupported("this expression")),
    })
}

fn plain_value(value: Value, span: Span, unsupported: &dyn Fn(&str) -> SqlError) -> Result<Expr, SqlError> {
    let with_span = |value| Expr::Value(ValueWithSpan { value, span });
    Ok(match value {
        Value::Number(number, _) if number.contains(['e', 'E']) => cast(
            with_span(Value::SingleQuotedString(number)),
            DataType::Double(sqlparser::ast::ExactNumberInfo::None),
        ),
        Value::Number(number, is_long) => {
            let digits = number.bytes().filter(u8::is_ascii_digit).count();
            if digits > usize::from(crate::types::DECIMAL_PRECISION_MAX) {
                let message = format!("{number} has {digits} digits, and numbers have at most 38");
                return Err(SqlError::new(Code::TypeMismatch, message).at(place_of(&span)));
            }
            with_span(Value::Number(number, is_long))
        }
        Value::UnicodeStringLiteral(text) | Value::NationalStringLiteral(text) => {
            with_span(Value::SingleQuotedString(text))
        }
        value @ (Value::SingleQuotedString(_)
        | Value::HexStringLiteral(_)
        | Value::Boolean(_)
        | Value::Null) => with_span(value),
        _ => return Err(unsupported("a literal of this form")),
    })
}

fn rounded(
    name: &str,
    expr: Expr,
    field: CeilFloorKind,
    unsupported: &dyn Fn(&str) -> SqlError,
) -> Result<Expr, SqlError> {
    match field {
        CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => Ok(function(name, vec![expr])),
        CeilFloorKind::DateTimeField(field) => {
            Ok(function(&format!("{name}_TO"), vec![expr, text(unit_name(&field))]))
        }
        CeilFloorKind::Scale(_) => Err(unsupported("a scale: write ROUND(x, n)")),
    }
}

fn unit_name(field: &DateTimeField) -> String {
    let name = field.to_string().to_uppercase();
    match name.strip_suffix('S') {
        Some(one) if !one.is_empty() => one.to_owned(),
        _ => name,
    }
}

fn plain_function(
    mut function: Function,
    unsupported: &dyn Fn(&str) -> SqlError,
) -> Result<Function, SqlError> {
    if function.parameters != FunctionArguments::None || function.uses_odbc_syntax {
        return Err(unsupported("a function call of this form"));
    }
    if function.null_treatment.is_some() {
        return Err(unsupported("IGNORE NULLS"));
    }
    let name = match &function.name.0[..] {
        [ObjectNamePart::Identifier(name)] => name.value.to_uppercase(),
        _ => return Err(unsupported("a function of another catalog")),
    };
    if !function.within_group.is_empty() {
        return Err(unsupported("WITHIN GROUP"));
    }
    if let Some(WindowType::WindowSpec(window)) = &mut function.over {
        plain_window(window)?;
    }
    if let FunctionArguments::Subquery(_) = function.args {
        return Err(unsupported("a query as the argument of a function"));
    }
    if let FunctionArguments::List(list) = &mut function.args {
        if !list.clauses.is_empty() {
            return Err(unsupported("a clause within the arguments of a function"));
        }
        let is_star = |argument: &FunctionArg| {
            let (FunctionArg::Unnamed(given)
            | FunctionArg::Named { arg: given, .. }
            | FunctionArg::ExprNamed { arg: given, .. }) = argument;
            !matches!(given, FunctionArgExpr::Expr(_))
        };
        let is_all = matches!(&list.args[..], [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]);
        if name == "COUNT" && is_all && list.duplicate_treatment.is_none() {
            // All rows are counted: there is nothing to look at.
            list.args.clear();
        } else if list.args.iter().any(is_star) {
            let error = SqlError::new(Code::Invalid, format!("`*` is no argument of {name}"));
            return Err(error.help("all rows are counted by COUNT(*), and nothing else takes `*`"));
        } else if name == "COUNT" && list.args.is_empty() {
            return Err(SqlError::new(Code::Invalid, "COUNT has no argument").help("write COUNT(*)"));
        }
    }
    Ok(function)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::script::{self, Statement};

    fn check(text: &str, expected: &str) {
        let mut statements = script::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let Statement::Query(query) = &mut statements[0].statement else { panic!("{text} is no query") };
        let shown = match make_plain(query) {
            Ok(()) => query.to_string(),
            Err(error) => format!("{} {}", error.code.name(), error),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn forms_become_calls() {
        check("SELECT EXTRACT(YEAR FROM ts) AS y FROM t", "SELECT EXTRACT('YEAR', ts) AS y FROM t");
        check(
            "SELECT FLOOR(ts TO HOUR) AS h, CEIL(x) AS c FROM t",
            "SELECT FLOOR_TO(ts, 'HOUR') AS h, CEIL(x) AS c FROM t",
        );
        check("SELECT POSITION('a' IN b) AS p FROM t", "SELECT POSITION('a', b) AS p FROM t");
        check("SELECT TRIM(LEADING 'x' FROM b) AS p FROM t", "SELECT TRIM_LEADING('x', b) AS p FROM t");
        check("SELECT SUBSTRING(b FROM 2 FOR 3) AS p FROM t", "SELECT SUBSTRING(b, 2, 3) AS p FROM t");
        check("SELECT TIMESTAMPADD(DAY, 1, ts) AS p FROM t", "SELECT TIMESTAMPADD('DAY', 1, ts) AS p FROM t");
        check(
            "SELECT a, t.b, a + 1, COUNT(*) FROM t",
            "SELECT a, t.b, a + 1 AS `EXPR$2`, COUNT() AS `EXPR$3` FROM t",
        );
        check(
            "SELECT TIMESTAMP '2020-01-01 00:00:00.123' AS x",
            "SELECT CAST('2020-01-01 00:00:00.123' AS TIMESTAMP(3)) AS x",
        );
        check("SELECT 1e3 AS x", "SELECT CAST('1e3' AS DOUBLE) AS x");
        check("SELECT ARRAY[1, 2][1] AS x", "SELECT ITEM(ARRAY(1, 2), 1) AS x");
    }

    #[test]
    fn what_is_not_known_is_refused() {
        check("SELECT a FROM t FOR UPDATE", "UNSUPPORTED line 1, column 1: FOR UPDATE is not supported");
        check(
            "SELECT DISTINCT ON (a) b FROM t",
            "UNSUPPORTED line 1, column 1: DISTINCT ON is not supported",
        );
        check(
            "SELECT a FROM t GROUP BY 1",
            "UNSUPPORTED line 1, column 26: GROUP BY 1: positions are not keys; repeat the expression",
        );
        check(
            "SELECT a::INT FROM t",
            "UNSUPPORTED line 1, column 8: `::` is not supported; write CAST(.. AS ..)",
        );
        check(
            "SELECT a FROM t TABLESAMPLE (10)",
            "UNSUPPORTED line 1, column 15: TABLESAMPLE is not supported",
        );
        check(
            "SELECT a FROM t JOIN u",
            "SYNTAX line 1, column 22: a join has no condition; write ON .. = .. behind it, or CROSS JOIN",
        );
    }

    #[test]
    fn frames_are_numbers() {
        let over = |frame: &str| format!("SELECT SUM(a) OVER (ORDER BY ts {frame}) AS x FROM t");
        let hour = over("RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW");
        check(&hour, &over("RANGE BETWEEN 3600000 PRECEDING AND CURRENT ROW"));
        let rows = over("ROWS BETWEEN 2 PRECEDING AND CURRENT ROW");
        check(&rows, &rows);
        check(&over("ROWS 2 PRECEDING"), &over("ROWS 2 PRECEDING"));
        check(
            "SELECT SUM(a) OVER w AS x FROM t WINDOW w AS (ORDER BY ts RANGE BETWEEN INTERVAL '0.001' SECOND PRECEDING AND CURRENT ROW)",
            "SELECT SUM(a) OVER w AS x FROM t WINDOW w AS (ORDER BY ts RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)",
        );
        let refused = |frame: &str, code: &str, expected: &str| {
            check(&over(frame), &format!("{code} line 1, column 8: {expected}"));
        };
        let help = "write RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW";
        let expected = format!("RANGE goes back by a span of days to seconds, and 5 is none; {help}");
        refused("RANGE BETWEEN 5 PRECEDING AND CURRENT ROW", "TYPE_MISMATCH", &expected);
        let expected = format!(
            "RANGE goes back by a span of days to seconds, and `interval of months`(1) is none; {help}"
        );
        refused("RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND CURRENT ROW", "TYPE_MISMATCH", &expected);
        let expected = format!(
            "RANGE goes back by a span of days to seconds, and `interval of milliseconds`(-1000) is none; {help}"
        );
        refused("RANGE BETWEEN INTERVAL -'1' SECOND PRECEDING AND CURRENT ROW", "TYPE_MISMATCH", &expected);
        refused(
            "ROWS BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW",
            "TYPE_MISMATCH",
            "ROWS counts rows, and `interval of milliseconds`(1000) is no count; write ROWS BETWEEN 10 PRECEDING AND CURRENT ROW",
        );
        refused(
            "ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING",
            "UNSUPPORTED",
            "FOLLOWING is not supported; a frame ends at CURRENT ROW",
        );
        refused(
            "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
            "UNSUPPORTED",
            "a frame that ends before CURRENT ROW is not supported",
        );
        refused("GROUPS BETWEEN 2 PRECEDING AND CURRENT ROW", "UNSUPPORTED", "GROUPS is not supported");
    }

    /// Words are counted before they are read, but those within brackets apart from those behind them.
    #[test]
    fn chains_are_bounded() {
        let chain = format!("SELECT (a{0}){0} AS x FROM t", " + a".repeat(1_500));
        let expected = "UNSUPPORTED line 1, column 9: an expression has more than 2000 operators within each other; \
                        write x IN (..) for many alternatives";
        // As a session does: a test's own stack is too small.
        let checking = std::thread::Builder::new().stack_size(crate::session::STACK_BYTES);
        checking.spawn(move || check(&chain, expected)).unwrap().join().unwrap();
    }

    #[test]
    fn names_are_of_what_stands_in_brackets() {
        check("SELECT (a), ((t.b)), (a + 1) FROM t", "SELECT a, t.b, a + 1 AS `EXPR$2` FROM t");
        for key in ["(1)", "((1))", "+1", "a, (1)"] {
            let query = format!("SELECT a FROM t GROUP BY {key}");
            let mut statements = script::parse(&query).unwrap();
            let Statement::Query(query) = &mut statements[0].statement else { panic!("a query") };
            assert_eq!(make_plain(query).unwrap_err().message, "GROUP BY 1: positions are not keys", "{key}");
        }
    }

    /// Beside `*` of a sub-query a column that `*` has is there a second time.
    #[test]
    fn columns_beside_a_star_are_named_apart() {
        let of = |list: &str| format!("SELECT x FROM (SELECT {list} FROM t, r AS s) AS v");
        check(&of("a, *"), &of("a AS `a0`, *"));
        check(&of("*, t.a, s.a"), &of("*, t.a AS `a0`, s.a AS `a1`"));
        check(&of("t.*, t.a, s.a"), &of("t.*, t.a AS `a0`, s.a AS `a1`"));
        // Fields of rows, and whose column it is, are not known here.
        check(&of("*, b.f"), &of("*, b.f"));
        check(&of("t.*, a"), &of("t.*, a"));
        let of = |list: &str| format!("SELECT x FROM (SELECT {list} FROM t) AS v");
        check(&of("t.*, a"), &of("t.*, a AS `a0`"));
    }

    #[test]
    fn star_is_an_argument_of_count_alone() {
        let refused = |call: &str, expected: &str| {
            check(&format!("SELECT {call} AS x FROM t"), &format!("INVALID line 1, column 8: {expected}"));
        };
        let help = "all rows are counted by COUNT(*), and nothing else takes `*`";
        refused("COUNT(DISTINCT *)", &format!("`*` is no argument of COUNT; {help}"));
        refused("SUM(*)", &format!("`*` is no argument of SUM; {help}"));
        refused("COUNT(a, *)", &format!("`*` is no argument of COUNT; {help}"));
        refused("COUNT(t.*)", &format!("`*` is no argument of COUNT; {help}"));
        refused("COUNT()", "COUNT has no argument; write COUNT(*)");
    }

    #[test]
    fn literals_of_time_are_read() {
        let refused = |literal: &str, expected: &str| {
            check(&format!("SELECT {literal} AS x"), &format!("INVALID line 1, column {expected}"));
        };
        refused("TIMESTAMP 'x'", "18: 'x' is no timestamp; write TIMESTAMP '2024-12-31 23:59:59.999'");
        refused("TIME '25:00:00'", "13: '25:00:00' is no time; write TIME '23:59:59'");
        refused("DATE '2024-13-01'", "13: '2024-13-01' is no date; write DATE '2024-12-31'");
    }

    /// The planner's own common type is that of cells of one kind only.
    #[test]
    fn cells_of_values_are_wrapped_if_they_differ() {
        let cell = |inner: &str| format!("`{CELL}`({inner})");
        check("VALUES (1, 'a'), (-2, NULL)", "VALUES (1, 'a'), (-2, NULL)");
        check("VALUES (1), (2.5)", &format!("VALUES ({}), ({})", cell("1"), cell("2.5")));
        check("VALUES (1), (-2.5)", &format!("VALUES ({}), ({})", cell("1"), cell("-2.5")));
        check("VALUES (1), ('a')", &format!("VALUES ({}), ({})", cell("1"), cell("'a'")));
    }
}
