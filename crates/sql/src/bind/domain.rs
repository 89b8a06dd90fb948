//! Domains: the different values of a query around which a sub-query reads, as columns of the sub-query.
//!
//! A condition `inner = outer` of a sub-query passes its GROUP BY, its DISTINCT and its LIMIT as a key. What else reads the
//! query around, such as `inner > outer`, an argument of an aggregate, a result, or a sub-query one level deeper, needs
//! outer values as columns. Then the rows of the sub-query are joined with the different values (the domain) that the rows
//! of the FROM around have. The sub-query has rows for each of them, and is joined with the query around by equality.
//!
//! ```text
//!   SELECT k, (SELECT MAX(w) FROM u WHERE u.w > t.v) FROM t
//!     t LEFT JOIN (SELECT d.v, MAX(w) FROM u JOIN (SELECT DISTINCT v FROM t) AS d ON u.w > d.v GROUP BY d.v) AS m
//!         ON m.v IS NOT DISTINCT FROM t.v
//! ```
//!
//! The domain may have more values than are asked for: it is read before the WHERE of the query around.
//!
//! Source: Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015, section 3; Calcite, `RelDecorrelator`.

use std::cell::{Cell, RefCell};

use sqlparser::ast::{Expr, OrderBy, Select};
use thalweg_sql_exec::plan::{Column, JoinKind, Node, Plan};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::functions::compare::ComparisonOp;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, SqlError};

use super::Planner;
use super::aggregate::keys_of;
use super::order::Order;
use super::relation::{Condition, OpenJoin, Source};
use super::scope::{Base, Scope};
use super::select::expression_of;
use super::subquery::inner_side;
use super::syntax::{not_supported, parts};

type Result<T> = std::result::Result<T, SqlError>;

/// Values of the query around that a SELECT reads as columns of its own.
#[derive(Default)]
pub(super) struct Domain {
    /// Values over the columns of the query around, each once.
    values: RefCell<Vec<Typed>>,
    /// Index of the first of the columns, once the domain is joined. No value is added then.
    first: Cell<Option<usize>>,
}

/// Rows of a scope, of which a domain has the different values.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    /// Rows of a FROM, whose joins are open.
    Open(&'a Source),
    /// Rows of a plan.
    Plan(&'a Plan),
}

impl Domain {
    /// Returns the column of a value of the query around; `None` if the domain is joined and lacks it.
    pub(super) fn column(&self, value: &Typed) -> Option<Typed> {
        let mut values = self.values.borrow_mut();
        let known = values.iter().position(|known| known.has_form_of(value));
        let number = match (known, self.first.get()) {
            (Some(number), _) => number,
            (None, Some(_)) => return None,
            (None, None) => {
                values.push(value.clone());
                values.len() - 1
            }
        };
        let place = self.first.get().unwrap_or(Base::Domain as usize) + number;
        Some(Typed::column(place, value.of.clone(), value.is_nullable))
    }

    /// Returns a value by its number.
    pub(super) fn value(&self, number: usize) -> Option<Typed> {
        self.values.borrow().get(number).cloned()
    }

    /// Returns whether a column of the rows that the domain is joined with is one of its columns.
    pub(super) fn holds(&self, place: usize) -> bool {
        let count = self.values.borrow().len();
        self.first.get().is_some_and(|first| (first..first + count).contains(&place))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.borrow().is_empty()
    }

    /// Returns the index of a column of the joined domain for an index above [`Base::Domain`]; other indexes stay.
    pub(super) fn real(&self, place: usize) -> usize {
        match (Base::Domain.of(place), self.first.get()) {
            (Some(number), Some(first)) => first + number,
            _ => place,
        }
    }
}

impl Planner<'_> {
    /// Adds the values of the query around to the domain of a SELECT that its results, its keys, its HAVING and its ORDER BY
    /// name. `scope` is that of the FROM of the SELECT.
    ///
    /// # Errors
    /// [`SqlError`] for an ambiguous name of the query around.
    pub(super) fn add_outer_names(
        &self,
        select: &Select,
        order_by: Option<&OrderBy>,
        aliases: &[&str],
        scope: &Scope<'_>,
    ) -> Result<()> {
        let keys = keys_of(&select.group_by, None).unwrap_or_default();
        let order = Order::of(order_by)?;
        let mut open: Vec<&Expr> = select.projection.iter().filter_map(expression_of).collect();
        open.extend(keys);
        open.extend(select.having.iter().chain(order.expressions()));
        while let Some(expression) = open.pop() {
            let names = match expression {
                Expr::Identifier(name) => std::slice::from_ref(name),
                Expr::CompoundIdentifier(names) => &names[..],
                Expr::CompoundFieldAccess { root, .. } => {
                    open.push(root);
                    continue;
                }
                other => {
                    parts(other, &mut |part| open.push(part));
                    continue;
                }
            };
            if names.first().is_some_and(|name| aliases.contains(&name.value.as_str())) {
                continue;
            }
            scope.add_outer(names)?;
        }
        Ok(())
    }

    /// Joins the rows of a FROM with a domain, whose columns come behind. `pulled` are conditions that read the query around;
    /// their outer columns are read from the domain then. Returns the rows, these conditions, and the conditions by which the
    /// rows belong to rows of the query around.
    ///
    /// # Errors
    /// [`SqlError`] if the domain has no rows that can be read twice.
    pub(super) fn with_domain(
        &self,
        source: Source,
        pulled: Vec<Condition>,
        domain: &Domain,
        around: &Scope<'_>,
    ) -> Result<(Source, Vec<Condition>, Vec<Condition>)> {
        for condition in &pulled {
            let mut read = Vec::new();
            condition.value.columns(&mut |place| read.extend(Base::Outer.of(place)));
            for place in read {
                let column = around.any_column(place)?;
                domain.column(&column);
            }
        }
        let first = source.columns().len();
        let at = pulled.iter().find_map(|condition| condition.at);
        domain.first.set(Some(first));
        let values = domain.values.borrow();
        let plan = self.domain_plan(around, &values)?;
        let place_of = |outer: usize| values.iter().position(|value| value.as_column() == Some(outer));
        let inside = |place: usize| match Base::Outer.of(place).and_then(place_of) {
            Some(number) => first + number,
            None => domain.real(place),
        };
        let moved = |Condition { value, at }: Condition| Condition { value: value.with_columns(&inside), at };
        let kept = pulled.into_iter().map(moved).collect();
        let mut keys = Vec::with_capacity(values.len());
        for (number, value) in values.iter().enumerate() {
            let own = Typed::column(first + number, value.of.clone(), value.is_nullable);
            let outer = value.with_columns(&|place| Base::Outer as usize + place);
            let op = if value.is_nullable { ComparisonOp::IsNotDistinctFrom } else { ComparisonOp::Eq };
            keys.push(Condition { value: self.typing.compare(op, own, outer)?, at });
        }
        let join = OpenJoin::new(JoinKind::Inner, source, Source::Plan(plan));
        Ok((Source::Join(Box::new(join)), kept, keys))
    }

    /// Plans the different values that rows of a scope have.
    ///
    /// # Errors
    /// [`Code::Unsupported`] for rows with values that differ at each reading, and rows of grouping sets.
    fn domain_plan(&self, scope: &Scope<'_>, values: &[Typed]) -> Result<Plan> {
        if let Some(groups) = scope.groups {
            let values: Option<Vec<Typed>> = values.iter().map(|value| groups.below(value)).collect();
            let Some(values) = values else {
                return Err(not_supported(
                    "a sub-query that reads aggregates or keys of grouping sets in this way",
                ));
            };
            return self.domain_plan(groups.input, &values);
        }
        let plan = match scope.rows {
            Some(Rows::Plan(plan)) => plan.clone(),
            Some(Rows::Open(source)) => self.closed(source.clone(), Vec::new())?,
            None => return Err(not_supported("a sub-query that reads the query around it in this way")),
        };
        let is_steady = |plan: &Plan| match &plan.node {
            Node::Calc { conditions, outputs, .. } => {
                conditions.iter().chain(outputs).all(Typed::is_deterministic)
            }
            _ => true,
        };
        if !plan.walk().all(is_steady) {
            let message = "a sub-query reads rows twice that differ at each reading, such as those of RAND()";
            return Err(SqlError::new(Code::Unsupported, message).help("write them to a table first"));
        }
        self.check_copies(&plan)?;
        let reads_domain = |value: &Typed| {
            let mut reads = false;
            value.columns(&mut |place| reads |= Base::Domain.of(place).is_some());
            reads
        };
        // Values that the scope itself reads from the query around it.
        let (plan, values) = match (values.iter().any(reads_domain), scope.domain, scope.outer) {
            (true, Some(domain), Some(outer)) => {
                let width = plan.columns.len();
                let own = self.domain_plan(outer.scope, &domain.values.borrow())?;
                let join = OpenJoin::new(JoinKind::Inner, Source::Plan(plan), Source::Plan(own));
                let real = |place: usize| Base::Domain.of(place).map_or(place, |number| width + number);
                let values = values.iter().map(|value| value.with_columns(&real)).collect();
                (self.closed(Source::Join(Box::new(join)), Vec::new())?, values)
            }
            _ => (plan, values.to_vec()),
        };
        let column = |(number, value): (usize, &Typed)| {
            Column::plain(format!("${number}"), value.of.clone(), value.is_nullable)
        };
        let columns = values.iter().enumerate().map(column).collect();
        self.distinct(plan.project(values, columns), None)
    }

    /// Returns the groups of a SELECT without GROUP BY, one for each value of its domain: also values without rows have one,
    /// in which COUNT is 0 and all else NULL. The keys are the first columns of `plan`, and `counts` tells which columns are
    /// results of COUNT.
    ///
    /// # Errors
    /// As [`with_domain`](Self::with_domain).
    pub(super) fn with_empty_groups(
        &self,
        plan: Plan,
        domain: &Domain,
        around: &Scope<'_>,
        counts: &[usize],
    ) -> Result<Plan> {
        let of_domain = self.domain_plan(around, &domain.values.borrow())?;
        let width = of_domain.columns.len();
        let mut on = Vec::with_capacity(width);
        for (place, column) in of_domain.columns.iter().enumerate() {
            let left = Typed::column(place, column.of.clone(), column.is_nullable);
            let right = Typed::column(width + place, column.of.clone(), column.is_nullable);
            let value = self.typing.compare(ComparisonOp::IsNotDistinctFrom, left, right)?;
            on.push(Condition { value, at: plan.at });
        }
        let columns = plan.columns.clone();
        let open = OpenJoin::new(JoinKind::Left, Source::Plan(of_domain), Source::Plan(plan));
        let joined = self.closed(Source::Join(Box::new(OpenJoin { on, ..open })), Vec::new())?;
        let identity = joined.identity();
        let mut outputs = identity[..width].to_vec();
        let mut made = columns;
        for (place, column) in made.iter_mut().enumerate().skip(width) {
            let value = identity[width + place].clone();
            let zero = Typed::literal(ScalarValue::Int64(Some(0)), SqlType::BigInt);
            let value = match counts.contains(&place) {
                true => self.typing.named_function("COALESCE", vec![value, zero])?,
                false => value,
            };
            column.is_nullable = value.is_nullable;
            outputs.push(value);
        }
        Ok(joined.project(outputs, made))
    }
}

/// Returns whether conditions that read the query around are all of the form `inner = outer`, and their inner sides plain
/// columns if that is asked for.
pub(super) fn are_keys(pulled: &[Condition], are_plain: bool) -> bool {
    let is_key = |condition: &Condition| {
        inner_side(&condition.value).is_some_and(|inner| !are_plain || inner.as_column().is_some())
    };
    pulled.iter().all(is_key)
}
