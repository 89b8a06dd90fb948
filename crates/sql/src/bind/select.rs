//! SELECT: its clauses in the order in which they are read.
//!
//! ```text
//!   FROM -> WHERE -> GROUP BY -> results, HAVING, QUALIFY, ORDER BY (their aggregates and OVER calls are collected)
//!     -> aggregate -> HAVING -> OVER -> QUALIFY -> projection -> DISTINCT -> ORDER BY
//! ```
//!
//! Results have the names that Flink gives them: that of a column, that of AS, else `EXPR$0` by their position; names that
//! occur again get a number: `a`, `a0`, `a1`.

use std::collections::HashMap;

use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Ident, OrderBy, Select, SelectFlavor, SelectItem,
    SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
};
use thalweg_sql_exec::plan::{Column, Plan, Role};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::user::Functions;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::aggregate::{has_keys, keys_of};
use super::attached::{Attached, literal};
use super::domain::{Domain, Rows, are_keys};
use super::expression::flatten;
use super::from::idents_of;
use super::hints::{HintedTtl, Hints, with_ttl};
use super::names::{Names, NamesOnce, Starred, Visible};
use super::order::Order;
use super::over::Overs;
use super::portable::OnlyHere;
use super::relation::{Condition, Queried, Relation, Source};
use super::scope::{Base, Outer, Scope, reads_around, reads_outer};
use super::sets;
use super::subquery::{Answer, Asked, Pulled, Tested};
use super::syntax::{
    check_name, has_aggregate, is_proctime, not_supported, place, place_of_expression, refuse_any,
    without_brackets,
};
use super::typing::text;
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
    /// Conditions that may come out of the sub-query.
    pub(super) demands: Demands,
}

/// Conditions that a query around a sub-query takes from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Demands {
    /// Any conditions.
    Nothing,
    /// Conditions `inner = outer`.
    Keys,
    /// Conditions `inner = outer` whose inner sides are columns.
    PlainKeys,
}

impl<'a> Around<'a> {
    /// Returns the query around for a part of a sub-query that reads nothing of it.
    pub(super) fn closed(self) -> Self {
        Around { is_readable: false, ..self }
    }

    /// Returns whether it matters how often a row of the sub-query is there.
    pub(super) fn counts_rows(self) -> bool {
        matches!(self.asked, Asked::Scalar | Asked::Rows)
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
    /// Whether another result was given the same name.
    is_twice: bool,
    at: Option<Place>,
}

/// Rows of a SELECT. Conditions that read columns of the query around it are not applied; they read the columns of the
/// plan, of which those behind the names are for these conditions only.
pub(super) struct Selected {
    pub(super) queried: Queried,
    pub(super) pulled: Vec<Condition>,
    /// Whether there is at most one row, or one for each key that the conditions demand.
    pub(super) is_one_row: bool,
    /// Whether there is a row whatever the query around and the tables have.
    pub(super) has_row: bool,
    /// Value of the only result if no row is aggregated.
    pub(super) if_none: Option<Typed>,
}

impl Selected {
    /// Returns rows that read nothing of a query around them.
    pub(super) fn alone(queried: Queried) -> Self {
        Selected { queried, pulled: Vec::new(), is_one_row: false, has_row: false, if_none: None }
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
        let (Relation { source, names, pulled, .. }, ttl) = self.hinted_from(select, at, around)?;
        let aliases: Vec<(&Ident, &Expr)> = select
            .projection
            .iter()
            .filter_map(|item| match item {
                SelectItem::ExprWithAlias { expr, alias } => Some((alias, expr)),
                _ => None,
            })
            .collect();
        let domain = Domain::default();
        let scope = Scope {
            outer: around.map(|around| around.outer(true)),
            domain: around.filter(|around| around.is_readable).map(|_| &domain),
            ..Scope::new(&names, &[])
        };
        let (plan, pulled) = self.filtered(select, order_by, source, pulled, &scope, around)?;

        // The roles of columns are known from here on.
        let columns = plan.columns.clone();
        let rows = Some(Rows::Plan(&plan));
        let scope =
            Scope { outer: around.map(|around| around.outer(false)), columns: &columns, rows, ..scope };
        let order = Order::of(order_by)?;
        if has_keys(&select.group_by) || calls_aggregates(select, &order, self.binder.catalog.functions()) {
            let scope = Scope { aliases: &aliases, ..scope };
            return self.grouped_select(select, &plan, pulled, &order, &scope, (around, ttl));
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
        let qualified = self.qualified(select, &Scope { aliases: &aliases, ..scope })?;
        let sort = self.sort_keys(&order, &scope, &result_columns(&outputs))?;
        self.check_named_windows(&overs, &scope)?;
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
        let plan = self.closed(Source::Plan(plan), no_outer(moved(qualified, &real))?)?;
        self.projected(select, plan, outputs, sort, pulled, &real)
    }

    /// Plans the FROM of a SELECT under its hints, and returns it with the time to live that they give its only table.
    fn hinted_from(
        &self,
        select: &Select,
        at: Option<Place>,
        around: Option<Around<'_>>,
    ) -> Result<(Relation, HintedTtl)> {
        self.hints.borrow_mut().push(Hints::of(select, at)?);
        let from = self.from(&select.from, at, around);
        let ttl = from.as_ref().ok().and_then(|from| self.hinted_ttl(&from.names));
        let hints = self.hints.borrow_mut().pop().unwrap_or_default();
        let from = from?;
        hints.check(&from.names, at)?;
        Ok((from, ttl))
    }

    /// Plans the rows of a FROM for which the WHERE holds. `pulled` are conditions of FROM that read the query around, and
    /// `scope` has the names of FROM. Returns the rows, and the conditions on them that read the query around.
    fn filtered(
        &self,
        select: &Select,
        order_by: Option<&OrderBy>,
        source: Source,
        pulled: Vec<Condition>,
        scope: &Scope<'_>,
        around: Option<Around<'_>>,
    ) -> Result<(Plan, Pulled)> {
        let attached = Attached::default();
        let columns = source.columns().to_vec();
        let (conditions, is_domain_needed) = {
            let rows = Some(Rows::Open(&source));
            let scope = Scope { attached: Some(&attached), columns: &columns, rows, ..*scope };
            let mut conditions = self.conditions(select.selection.as_ref(), &scope)?;
            conditions.pulled.splice(0..0, pulled);
            let is_needed = self.needs_domain(select, order_by, &conditions.pulled, &scope, around)?;
            (conditions, is_needed)
        };
        let Conditions { mut kept, mut pulled, tests } = conditions;
        let mut source = source;
        if let (true, Some(around), Some(domain)) = (is_domain_needed, around, scope.domain) {
            let (joined, inside, keys) = self.with_domain(source, pulled, domain, around.scope)?;
            kept.extend(inside);
            (source, pulled) = (joined, keys);
        }
        let of_domain = |place: usize| scope.domain.map_or(place, |domain| domain.real(place));
        let (source, places) = attached.join(source, &of_domain);
        let real = |place: usize| match Base::Attached.of(place) {
            Some(number) => places[number],
            None => of_domain(place),
        };
        let is_value = around.is_some_and(|around| around.counts_rows());
        let pulled = Pulled::new(moved(pulled, &real), is_value);
        let source = tests.into_iter().fold(source, |source, test| test.join(source, &real));
        Ok((self.closed(source, moved(kept, &real))?, pulled))
    }

    /// Returns whether a SELECT reads the query around in ways that need a domain: values of it among its results and
    /// keys, or within sub-queries, or conditions that do not pass what is above them as keys.
    fn needs_domain(
        &self,
        select: &Select,
        order_by: Option<&OrderBy>,
        pulled: &[Condition],
        scope: &Scope<'_>,
        around: Option<Around<'_>>,
    ) -> Result<bool> {
        let (Some(around), Some(domain)) = (around, scope.domain) else { return Ok(false) };
        let aliases: Vec<&str> = select
            .projection
            .iter()
            .filter_map(|item| match item {
                SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.as_str()),
                _ => None,
            })
            .collect();
        self.add_outer_names(select, order_by, &aliases, scope)?;
        if !domain.is_empty() {
            if select.from.is_empty() && around.asked == Asked::Rows {
                self.note(OnlyHere::LateralOfNothing, place(select));
            }
            return Ok(true);
        }
        let has_keys = has_keys(&select.group_by);
        let is_grouped =
            has_keys || calls_aggregates(select, &Order::of(order_by)?, self.binder.catalog.functions());
        let is_exact = is_grouped && !has_keys && (around.asked != Asked::Scalar || select.having.is_some());
        let needs_keys = is_grouped || around.demands != Demands::Nothing;
        Ok(!pulled.is_empty()
            && (is_exact || needs_keys && !are_keys(pulled, around.demands == Demands::PlainKeys)))
    }

    /// Plans a SELECT with groups, from its GROUP BY on. `scope` is that of the columns of `plan`, and `ttl` the time to live of
    /// a hint.
    fn grouped_select(
        &self,
        select: &Select,
        plan: &Plan,
        mut pulled: Pulled,
        order: &Order<'_>,
        scope: &Scope<'_>,
        (around, ttl): (Option<Around<'_>>, HintedTtl),
    ) -> Result<Selected> {
        let at = place(select);
        let (keys, sets) = sets::of_list(&keys_of(&select.group_by, at)?).map_err(|error| error.at(at))?;
        let is_of_all = keys.is_empty() && sets.is_none();
        let (plan, window) = self.with_group_window(plan.clone(), &keys, scope)?;
        let columns = plan.columns.clone();
        let below = Attached::default();
        let rows = Some(Rows::Plan(&plan));
        let scope = Scope { columns: &columns, rows, attached: Some(&below), ..*scope };
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
        let having = Scope { overs: None, aliases: scope.aliases, ..behind };
        let Conditions { kept, pulled: _, tests } = self.conditions(select.having.as_ref(), &having)?;
        if let Some(condition) = &select.qualify {
            self.note(OnlyHere::QualifyOfGroups, place_of_expression(condition));
        }
        let qualified = self.qualified(select, &Scope { aliases: scope.aliases, ..behind })?;
        let sort = self.sort_keys(order, &behind, &result_columns(&outputs))?;
        self.check_named_windows(&overs, &behind)?;
        Self::check_pulled(&overs, !pulled.is_empty())?;
        pulled.read_keys(&groups);
        // A sub-query without GROUP BY, or with GROUP BY (), has a row even if its rows are none.
        let is_one_row = is_of_all;
        let if_none = match (&outputs[..], is_one_row && select.having.is_none() && select.qualify.is_none())
        {
            ([one], true) => Some(groups.of_no_rows(&one.value)),
            _ => None,
        };
        let counts = groups.counts();
        let (source, places) = below.take().join(Source::Plan(plan.clone()), &|place| place);
        let real = |place: usize| Base::Attached.of(place).map_or(place, |number| places[number]);
        let below = self.closed(source, Vec::new())?;
        let (plan, first) = self.grouped(below, groups.with_columns(&real))?;
        let plan = with_ttl(plan, ttl);
        let (plan, if_none) = match (around, scope.domain) {
            (Some(around), Some(domain)) if is_one_row && !domain.is_empty() => {
                let counts: Vec<usize> = counts.into_iter().map(|number| first + number).collect();
                (self.with_empty_groups(plan, domain, around.scope, &counts)?, None)
            }
            _ => (plan, if_none),
        };
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
        let plan = self.closed(Source::Plan(plan), no_outer(moved(qualified, &real))?)?;
        let selected = self.projected(select, plan, outputs, sort, pulled, &real)?;
        let has_row = is_one_row && select.having.is_none() && select.qualify.is_none();
        Ok(Selected { is_one_row, has_row, if_none, ..selected })
    }

    /// Reads the conditions of QUALIFY, joined by AND. They may name results, and at least one reads a call with OVER.
    fn qualified(&self, select: &Select, scope: &Scope<'_>) -> Result<Vec<Condition>> {
        let Some(condition) = &select.qualify else { return Ok(Vec::new()) };
        let mut terms = Vec::new();
        flatten(condition, &BinaryOperator::And, &mut terms);
        let mut conditions = Vec::with_capacity(terms.len());
        let mut reads_over = false;
        for term in terms {
            let value = self.bind_condition(term, scope)?;
            value.columns(&mut |place| reads_over |= Base::Overs.of(place).is_some());
            conditions.push(Condition { value, at: place_of_expression(term) });
        }
        if !reads_over {
            let error = SqlError::new(Code::Invalid, "QUALIFY goes by calls with OVER, and here is none");
            return Err(error
                .at(place_of_expression(condition))
                .help("write the condition behind WHERE or HAVING"));
        }
        Ok(conditions)
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
        let mut names = Names::of_table(None, outputs.iter().map(|output| output.name.as_str()));
        names.columns.iter_mut().zip(&outputs).for_each(|(column, output)| column.is_twice = output.is_twice);
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
        self.conditions_of(&terms, scope)
    }

    /// Reads conditions that must all hold.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault.
    pub(super) fn conditions_of(&self, terms: &[&Expr], scope: &Scope<'_>) -> Result<Conditions> {
        let mut conditions = Conditions { kept: Vec::new(), pulled: Vec::new(), tests: Vec::new() };
        for term in terms.iter().copied() {
            if let Some(test) = Self::as_test(term) {
                let at = place_of_expression(term);
                match self.tested(&test, scope, at)? {
                    Answer::Join(test) => conditions.tests.push(*test),
                    Answer::Known(true) => {}
                    Answer::Known(false) => {
                        conditions.kept.push(Condition { value: literal(Some(false)), at });
                    }
                }
                continue;
            }
            let value = self.bind(term, scope)?;
            let at = place_of_expression(term);
            if terms.len() > 1 {
                self.note_null(&value, term);
            }
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
                        self.fields_of_row(&parts, scope, &mut outputs).map_err(|error| error.at(at))?;
                        continue;
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
        let mut counts: HashMap<String, usize> = HashMap::new();
        outputs.iter().for_each(|output| *counts.entry(output.name.clone()).or_default() += 1);
        let mut once = NamesOnce::default();
        for output in &mut outputs {
            output.is_twice = counts.get(&output.name).is_some_and(|count| *count > 1);
            output.name = once.take(std::mem::take(&mut output.name));
        }
        Ok(outputs)
    }

    fn result(&self, expression: &Expr, name: String, scope: &Scope<'_>) -> Result<Output> {
        let value = self.bind(expression, scope)?;
        let at = place_of_expression(expression);
        self.note_null(&value, expression);
        // Views upon views can nest types deeper than the text of one statement can.
        if value.of.depth() > NESTING_MAX + 1 {
            let message = format!("types stand within each other deeper than {NESTING_MAX}");
            return Err(SqlError::new(Code::Unsupported, message).at(at));
        }
        Ok(Output { value, name, is_proctime: is_proctime(expression), is_twice: false, at })
    }

    /// Adds the fields of a row, which a column is, to the results: `r.*`.
    fn fields_of_row(&self, parts: &[Ident], scope: &Scope<'_>, outputs: &mut Vec<Output>) -> Result<()> {
        let row = self.value_of_name(parts, scope).map_err(|error| match error.code {
            Code::UnknownColumn | Code::UnknownTable => {
                SqlError::new(Code::UnknownTable, "no table or column of rows has the name before `.*`")
            }
            _ => error,
        })?;
        let SqlType::Row(fields) = &row.of else {
            let message = format!("`.*` stands behind a table or a ROW, and this is {}", row.of);
            return Err(SqlError::new(Code::TypeMismatch, message));
        };
        if outputs.len() + fields.len() > RESULTS_MAX {
            return Err(too_many_results());
        }
        for (name, _) in fields {
            let value = self.typing.named_function("FIELD", vec![row.clone(), text(name.clone())])?;
            outputs.push(Output { value, name: name.clone(), is_proctime: false, is_twice: false, at: None });
        }
        Ok(())
    }

    fn star_column(&self, value: &Typed, name: &str, scope: &Scope<'_>, at: Option<Place>) -> Result<Output> {
        let value = match scope.groups {
            None => value.clone(),
            Some(groups) => match groups.key_of(value) {
                Some(key) => scope.column(key),
                None => return Err(groups.not_grouped(&[Ident::new(name)]).at(at)),
            },
        };
        Ok(Output { value, name: name.to_owned(), is_proctime: false, is_twice: false, at })
    }
}

/// Conditions of WHERE or HAVING.
pub(super) struct Conditions {
    /// Conditions over the columns of the SELECT.
    pub(super) kept: Vec<Condition>,
    /// Conditions that read columns of the query around the SELECT, too.
    pub(super) pulled: Vec<Condition>,
    /// IN and EXISTS.
    pub(super) tests: Vec<Tested>,
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

/// Refuses conditions of QUALIFY that read the query around, which would be tested behind the sub-query.
fn no_outer(conditions: Vec<Condition>) -> Result<Vec<Condition>> {
    match conditions.iter().find(|condition| reads_around(&condition.value)) {
        None => Ok(conditions),
        Some(condition) => {
            Err(not_supported("QUALIFY that reads columns of the query around").at(condition.at))
        }
    }
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
    let of_conditions = select.having.iter().chain(&select.qualify);
    of_results.chain(of_conditions).chain(order.expressions()).any(|part| has_aggregate(part, user))
}

pub(super) fn expression_of(item: &SelectItem) -> Option<&Expr> {
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
        qualify: _,
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
        value_table_mode.is_some() => "SELECT AS VALUE",
        *flavor != SelectFlavor::Standard => "FROM without SELECT",
    );
    Ok(())
}
