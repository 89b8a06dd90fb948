//! SELECT: its clauses in the order in which they are read.
//!
//! ```text
//!   FROM -> WHERE -> GROUP BY -> results, HAVING, ORDER BY (their aggregates and OVER calls are collected)
//!     -> aggregate -> HAVING -> OVER -> projection -> DISTINCT -> ORDER BY
//! ```
//!
//! Results have the names that Flink gives them: that of a column, that of AS, else `EXPR$0` by their position; names that
//! occur again get a number: `a`, `a0`, `a1`.

use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Ident, OrderBy, Select, SelectFlavor, SelectItem,
    SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
};
use thalweg_sql_exec::plan::{Column, Plan, Role};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::user::Functions;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::aggregate::{has_keys, keys_of};
use super::attached::Attached;
use super::expression::flatten;
use super::from::idents_of;
use super::names::{Names, NamesOnce, Starred, Visible};
use super::order::Order;
use super::over::Overs;
use super::relation::{Condition, Queried, Relation, Source};
use super::scope::{Base, Outer, Scope, reads_outer};
use super::sets;
use super::subquery::{Asked, Pulled, Tested};
use super::syntax::{
    check_name, has_aggregate, is_proctime, not_supported, place, place_of_expression, refuse_any,
    without_brackets,
};
use crate::text::script::NESTING_MAX;

/// Greatest number of result columns of a SELECT, and of columns of a table.
pub const RESULTS_MAX: usize = 2_000;

type Result<T> = std::result::Result<T, SqlError>;

/// A query around a sub-query: what its expressions may name, and what it asks of the rows.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) asked: Asked,
    /// Whether conditions may read columns of the query around. They may in the SELECT of a sub-query itself, and not in
    /// queries within it, where such columns are known only to be refused.
    pub(super) is_readable: bool,
}

impl<'a> Around<'a> {
    /// Returns the query around for a part of a sub-query that reads nothing of it.
    pub(super) fn closed(self) -> Self {
        Around { is_readable: false, ..self }
    }

    /// Returns the scope of the query around for an expression; `is_readable` tells whether the expression is a condition.
    pub(super) fn outer(self, is_readable: bool) -> Outer<'a> {
        Outer { scope: self.scope, is_readable: is_readable && self.is_readable }
    }
}

/// A result of a SELECT.
struct Output {
    value: Typed,
    name: String,
    /// Whether the result is a call of PROCTIME().
    is_proctime: bool,
    at: Option<Place>,
}

/// Rows of a SELECT. Conditions that read columns of the query around it are not applied; they read the columns of the
/// plan, of which those behind the names are for these conditions only.
pub(super) struct Selected {
    pub(super) queried: Queried,
    pub(super) pulled: Vec<Condition>,
    /// Whether there is at most one row, or one for each key that the conditions demand.
    pub(super) is_one_row: bool,
    /// Value of the only result if no row is aggregated.
    pub(super) if_none: Option<Typed>,
}

impl Selected {
    /// Returns rows that read nothing of a query around them.
    pub(super) fn alone(queried: Queried) -> Self {
        Selected { queried, pulled: Vec::new(), is_one_row: false, if_none: None }
    }
}

impl Planner<'_> {
    /// Plans a SELECT, with the ORDER BY of its query.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault.
    pub(super) fn select(
        &self,
        select: &Select,
        order_by: Option<&OrderBy>,
        around: Option<Around<'_>>,
    ) -> Result<Selected> {
        let at = place(select);
        check_parts(select, at)?;
        let Relation { source, names, .. } = self.from(&select.from, at, around)?;
        let aliases: Vec<(&Ident, &Expr)> = select
            .projection
            .iter()
            .filter_map(|item| match item {
                SelectItem::ExprWithAlias { expr, alias } => Some((alias, expr)),
                _ => None,
            })
            .collect();
        let outer = |is_readable| around.map(|around| around.outer(is_readable));

        let columns = source.columns().to_vec();
        let attached = Attached::default();
        let scope = Scope { outer: outer(true), attached: Some(&attached), ..Scope::new(&names, &columns) };
        let Conditions { kept, pulled, tests } = self.conditions(select.selection.as_ref(), &scope)?;
        let (source, places) = attached.join(source, &|place| place);
        let real = |place: usize| Base::Attached.of(place).map_or(place, |number| places[number]);
        let is_value = around.is_some_and(|around| around.asked == Asked::Scalar);
        let pulled = Pulled::new(moved(pulled, &real), is_value);
        let source = tests.into_iter().fold(source, |source, test| test.join(source, &real));
        let plan = self.closed(source, moved(kept, &real))?;

        // The roles of columns are known from here on.
        let columns = plan.columns.clone();
        let scope = Scope { outer: outer(false), ..Scope::new(&names, &columns) };
        let order = Order::of(order_by)?;
        if has_keys(&select.group_by) || calls_aggregates(select, &order, self.binder.catalog.functions()) {
            let asking = around.filter(|around| around.is_readable);
            if let (Some(around), false) = (asking, has_keys(&select.group_by)) {
                around.asked.check_one_group(select.having.is_some(), !pulled.is_empty())?;
            }
            let scope = Scope { aliases: &aliases, ..scope };
            return self.grouped_select(select, plan, pulled, &order, &scope, outer(true));
        }
        if let Some(having) = &select.having {
            // The fault of the condition is told first.
            self.bind_condition(having, &Scope { aliases: &aliases, ..scope })?;
            let error = SqlError::new(Code::Invalid, "HAVING stands where there are no groups").at(at);
            return Err(error.help("add it to GROUP BY, or aggregate it: MAX(..), say"));
        }
        let (overs, attached) = (Overs::new(&select.named_window), Attached::default());
        let scope = Scope { overs: Some(&overs), attached: Some(&attached), ..scope };
        let outputs = self.results(&select.projection, &scope)?;
        let sort = self.sort_keys(&order, &scope, &result_columns(&outputs))?;
        Self::check_pulled(&overs, !pulled.is_empty())?;
        let (source, places) = attached.join(Source::Plan(plan), &|place| place);
        let plan = self.closed(source, Vec::new())?;
        let width = plan.columns.len();
        let real = |place: usize| match (Base::Overs.of(place), Base::Attached.of(place)) {
            (Some(number), _) => width + number,
            (_, Some(number)) => places[number],
            _ => place,
        };
        let plan = self.over(plan, overs, &real)?;
        self.projected(select, plan, outputs, sort, pulled, &real)
    }

    /// Plans a SELECT with groups, from its GROUP BY on. `scope` is that of the columns of `plan`, and `outer` the scope around
    /// for conditions of HAVING.
    fn grouped_select(
        &self,
        select: &Select,
        plan: Plan,
        mut pulled: Pulled,
        order: &Order<'_>,
        scope: &Scope<'_>,
        outer: Option<Outer<'_>>,
    ) -> Result<Selected> {
        let at = place(select);
        let keys = sets::of_list(&keys_of(&select.group_by, at)?, at)?.0;
        let (plan, window) = self.with_group_window(plan, &keys, scope)?;
        let columns = plan.columns.clone();
        let scope = Scope { columns: &columns, ..*scope };
        let fixed = pulled.demand_keys()?;
        let groups = self.groups(&select.group_by, &scope, window, &fixed, first_place(select).or(at))?;
        let keys = groups.columns.clone();
        let (overs, attached) = (Overs::new(&select.named_window), Attached::default());
        let behind = Scope {
            columns: &keys,
            groups: Some(&groups),
            overs: Some(&overs),
            attached: Some(&attached),
            aliases: &[],
            ..scope
        };
        let outputs = self.results(&select.projection, &behind)?;
        let having = Scope { overs: None, aliases: scope.aliases, outer, ..behind };
        let Conditions { kept, pulled: of_having, tests } =
            self.conditions(select.having.as_ref(), &having)?;
        if let Some(condition) = of_having.into_iter().next() {
            let message = "a condition of HAVING reads the query around it, which is not supported";
            return Err(SqlError::new(Code::Unsupported, message)
                .at(condition.at)
                .help("write it as a condition of WHERE"));
        }
        let sort = self.sort_keys(order, &behind, &result_columns(&outputs))?;
        Self::check_pulled(&overs, !pulled.is_empty())?;
        pulled.read_keys(&groups);
        // A sub-query without GROUP BY has a row even if its rows are none.
        let is_one_row = !has_keys(&select.group_by);
        let if_none = match (&outputs[..], is_one_row && select.having.is_none()) {
            ([one], true) => Some(groups.of_no_rows(&one.value)),
            _ => None,
        };
        let (plan, first) = self.grouped(plan, groups)?;
        let real = |place: usize| Base::Aggregates.of(place).map_or(place, |number| first + number);
        let (source, places) = attached.join(Source::Plan(plan), &real);
        let real = |place: usize| match Base::Attached.of(place) {
            Some(number) => places[number],
            None => real(place),
        };
        let source = tests.into_iter().fold(source, |source, test| test.join(source, &real));
        let plan = self.closed(source, moved(kept, &real))?;
        let width = plan.columns.len();
        let real = |place: usize| match Base::Overs.of(place) {
            Some(number) => width + number,
            None => real(place),
        };
        let plan = self.over(plan, overs, &real)?;
        let selected = self.projected(select, plan, outputs, sort, pulled, &real)?;
        Ok(Selected { is_one_row, if_none, ..selected })
    }

    /// Adds the projection of a SELECT, its DISTINCT and its ORDER BY to a plan.
    fn projected(
        &self,
        select: &Select,
        plan: Plan,
        outputs: Vec<Output>,
        sort: super::order::Keys,
        pulled: Pulled,
        real: &impl Fn(usize) -> usize,
    ) -> Result<Selected> {
        let names = Names::of_table(None, outputs.iter().map(|output| output.name.as_str()));
        let first = outputs.iter().find_map(|output| output.at);
        let mut columns: Vec<Column> = Vec::with_capacity(outputs.len());
        let mut values = Vec::with_capacity(outputs.len());
        for Output { value, name, is_proctime, .. } in outputs {
            let value = value.with_columns(real);
            // A column that only gets another name keeps its role.
            let role = match value.as_column() {
                _ if is_proctime => Role::Proctime,
                Some(place) => plan.columns[place].role.clone(),
                None => Role::Plain,
            };
            columns.push(Column { name, of: value.of.clone(), is_nullable: value.is_nullable, role });
            values.push(value);
        }
        let is_distinct = matches!(select.distinct, Some(Distinct::Distinct));
        let sort = sort.with_columns(real).by_results(&values, is_distinct);
        if is_distinct && sort.reads_input() {
            let message = "ORDER BY of a SELECT DISTINCT goes by results";
            return Err(SqlError::new(Code::Invalid, message).at(sort.at));
        }
        // For IN and EXISTS it makes no difference how often a row is there.
        let is_distinct = is_distinct && (pulled.is_empty() || pulled.is_value);
        let pulled = pulled.exposed(&plan, &mut values, &mut columns);
        let plan = if is_distinct {
            let plan = self.distinct(plan.project(values, columns), first)?;
            self.sorted_results(plan, sort)?
        } else {
            self.sorted(plan, values, columns, sort)?
        };
        Ok(Selected { pulled, ..Selected::alone(Queried { plan, names }) })
    }

    /// Reads the conditions of WHERE or HAVING, joined by AND.
    fn conditions(&self, condition: Option<&Expr>, scope: &Scope<'_>) -> Result<Conditions> {
        let mut terms = Vec::new();
        if let Some(condition) = condition {
            flatten(condition, &BinaryOperator::And, &mut terms);
        }
        let mut conditions = Conditions { kept: Vec::new(), pulled: Vec::new(), tests: Vec::new() };
        for term in terms {
            if let Some(test) = Self::as_test(term) {
                conditions.tests.push(self.tested(&test, scope, place_of_expression(term))?);
                continue;
            }
            let value = self.bind(term, scope)?;
            let at = place_of_expression(term);
            if self.typing.condition(value.clone()).is_err() {
                let message = "WHERE and HAVING take a condition, a BOOLEAN";
                return Err(SqlError::new(Code::TypeMismatch, message).at(at));
            }
            let is_outer = reads_outer(&value);
            let list = if is_outer { &mut conditions.pulled } else { &mut conditions.kept };
            list.push(Condition { value, at });
        }
        Ok(conditions)
    }

    /// Reads the results of a SELECT; each `*` becomes the columns for which it stands.
    fn results(&self, items: &[SelectItem], scope: &Scope<'_>) -> Result<Vec<Output>> {
        let mut outputs: Vec<Output> = Vec::new();
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expression) => {
                    let name = match name_of(expression) {
                        Some(name) => name.to_owned(),
                        None => format!("EXPR${}", outputs.len()),
                    };
                    outputs.push(self.result(expression, name, scope)?);
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    check_name(alias)?;
                    outputs.push(self.result(expr, alias.value.clone(), scope)?);
                }
                SelectItem::ExprWithAliases { .. } => {
                    return Err(not_supported("several names of one result"));
                }
                SelectItem::Wildcard(options) => {
                    let at = place(&options.wildcard_token.0);
                    check_star(options, at)?;
                    let input = scope.groups.map_or(scope, |groups| groups.input);
                    if outputs.len() + input.names.star.len() > RESULTS_MAX {
                        return Err(too_many_results().at(at));
                    }
                    if input.names.star.is_empty() {
                        let error = SqlError::new(Code::Invalid, "`*` stands for no columns").at(at);
                        return Err(error.help("name a table in FROM"));
                    }
                    for starred in &input.names.star {
                        outputs.push(match *starred {
                            Starred::Column(place) => {
                                let name = &input.names.columns[place].name;
                                self.star_column(&input.column(place), name, scope, at)?
                            }
                            Starred::Common(number) => {
                                let common = &input.names.common[number];
                                self.star_column(&common.value, &common.name, scope, at)?
                            }
                        });
                    }
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(table),
                    options,
                ) => {
                    let at = place(table);
                    check_star(options, at)?;
                    let input = scope.groups.map_or(scope, |groups| groups.input);
                    let parts = idents_of(table)?;
                    let [before @ .., table] = &parts[..] else { continue };
                    let is_it = |column: &Visible| column.is_of(before, &table.value);
                    let mut found = input.names.columns.iter().filter(|column| is_it(column));
                    let Some(first) = found.next() else {
                        let message = "no table has the name before `.*`";
                        return Err(SqlError::new(Code::UnknownTable, message).at(at));
                    };
                    if found.any(|column| column.database.is_some() && !column.has_table_of(first)) {
                        let message = format!("two tables are called `{}`", table.value);
                        let error = SqlError::new(Code::Invalid, message).at(at);
                        return Err(error.help("write its database before it"));
                    }
                    for (column, visible) in input.names.columns.iter().enumerate() {
                        if is_it(visible) {
                            outputs.push(self.star_column(
                                &input.column(column),
                                &visible.name,
                                scope,
                                at,
                            )?);
                        }
                    }
                }
                SelectItem::QualifiedWildcard(..) => return Err(not_supported("`.*` behind an expression")),
            }
            if outputs.len() > RESULTS_MAX {
                return Err(too_many_results());
            }
        }
        let mut once = NamesOnce::default();
        for output in &mut outputs {
            output.name = once.take(std::mem::take(&mut output.name));
        }
        Ok(outputs)
    }

    fn result(&self, expression: &Expr, name: String, scope: &Scope<'_>) -> Result<Output> {
        let value = self.bind(expression, scope)?;
        let at = place_of_expression(expression);
        // Views upon views can nest types deeper than the text of one statement can.
        if value.of.depth() > NESTING_MAX + 1 {
            let message = format!("types stand within each other deeper than {NESTING_MAX}");
            return Err(SqlError::new(Code::Unsupported, message).at(at));
        }
        Ok(Output { value, name, is_proctime: is_proctime(expression), at })
    }

    fn star_column(&self, value: &Typed, name: &str, scope: &Scope<'_>, at: Option<Place>) -> Result<Output> {
        let value = match scope.groups {
            None => value.clone(),
            Some(groups) => match groups.key_of(value) {
                Some(key) => scope.column(key),
                None => return Err(groups.not_grouped(&[Ident::new(name)]).at(at)),
            },
        };
        Ok(Output { value, name: name.to_owned(), is_proctime: false, at })
    }
}

/// Conditions of WHERE or HAVING.
struct Conditions {
    /// Conditions over the columns of the SELECT.
    kept: Vec<Condition>,
    /// Conditions that read columns of the query around the SELECT, too.
    pulled: Vec<Condition>,
    /// IN and EXISTS.
    tests: Vec<Tested>,
}

/// Returns the results of a SELECT as columns for its ORDER BY, which reads names and types of them.
fn result_columns(outputs: &[Output]) -> Vec<Column> {
    let column =
        |Output { value, name, .. }: &Output| Column::plain(name, value.of.clone(), value.is_nullable);
    outputs.iter().map(column).collect()
}

/// Returns conditions whose columns have other indexes.
fn moved(conditions: Vec<Condition>, real: &impl Fn(usize) -> usize) -> Vec<Condition> {
    let moved = |Condition { value, at }: Condition| Condition { value: value.with_columns(real), at };
    conditions.into_iter().map(moved).collect()
}

/// Returns the name that a result without AS has: that of its column or field.
fn name_of(expression: &Expr) -> Option<&str> {
    match without_brackets(expression) {
        Expr::Identifier(name) => Some(&name.value),
        Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.as_str()),
        _ => None,
    }
}

fn calls_aggregates(select: &Select, order: &Order<'_>, user: &Functions) -> bool {
    let of_results = select.projection.iter().filter_map(expression_of);
    of_results.chain(&select.having).chain(order.expressions()).any(|part| has_aggregate(part, user))
}

fn expression_of(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expression) | SelectItem::ExprWithAlias { expr: expression, .. } => {
            Some(expression)
        }
        _ => None,
    }
}

fn first_place(select: &Select) -> Option<Place> {
    select.projection.iter().filter_map(expression_of).find_map(place_of_expression)
}

fn too_many_results() -> SqlError {
    let message = format!("SELECT has more than {RESULTS_MAX} results, the most that are planned");
    SqlError::new(Code::Unsupported, message)
}

fn check_star(options: &WildcardAdditionalOptions, at: Option<Place>) -> Result<()> {
    refuse_any!(at;
        options.opt_exclude.is_some() || options.opt_except.is_some() || options.opt_replace.is_some()
            || options.opt_rename.is_some() || options.opt_ilike.is_some() => "what follows *",
    );
    Ok(())
}

/// Refuses parts of a SELECT that are not known. All of them are listed, so that none is ignored.
fn check_parts(select: &Select, at: Option<Place>) -> Result<()> {
    let Select {
        select_token: _,
        // The only hint that reaches this place is STATE_TTL, because the tokenizer refuses others. It is
        // ignored, and the setting for the time to live applies.
        optimizer_hints: _,
        distinct,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection: _,
        exclude,
        into,
        from: _,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by: _,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window: _,
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
    );
    Ok(())
}
