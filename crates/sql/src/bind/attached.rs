//! Sub-queries as values: scalar ones, and IN and EXISTS anywhere in an expression.
//!
//! The rows of such a sub-query are joined to those of the SELECT by a LEFT JOIN, and the value reads the columns of the
//! join. A sub-query may read columns of the query around in conditions `inner = outer`; the inner sides are keys of the
//! joined rows then, which has one row for each key.
//!
//! | form | joined rows | value |
//! |---|---|---|
//! | scalar | the row, or SINGLE_VALUE of the rows, by the keys | its column; for an aggregate the value of no rows where none matches |
//! | EXISTS | COUNT(*) by the keys | count > 0 |
//! | x IN (q) | COUNT(*) and COUNT(r) by the keys; DISTINCT keys and r | TRUE for a match, FALSE for no rows, NULL where NULL may hide a match, else FALSE |
//!
//! Source: SQL:2016, 8.4 and 8.10; Calcite, `SubQueryRemoveRule`, for the form of IN. Galindo-Legaria and Joshi, "Orthogonal
//! Optimization of Subqueries and Aggregation", SIGMOD 2001, for aggregates of no rows.

use std::cell::RefCell;
use std::collections::HashMap;

use sqlparser::ast::{Expr, Query};
use thalweg_sql_exec::plan::{Aggregate, AggregateCall, Column, JoinKind, Plan};
use thalweg_sql_functions::aggregates::aggregate;
use thalweg_sql_functions::expression::{State, Typed};
use thalweg_sql_functions::functions::compare::ComparisonOp;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::aggregate::Below;
use super::expression::Test;
use super::group::group;
use super::quantified::Quantified;
use super::relation::{Condition, OpenJoin, Source};
use super::scope::{Base, Scope, reads_outer};
use super::select::{Around, Demands, Selected};
use super::subquery::{Asked, inner_side, said_outer_left, with_inner_side};
use super::syntax::{is_query, not_supported, place_of_expression};
use super::typing::{is, not};

type Result<T> = std::result::Result<T, SqlError>;

/// Collection of the sub-queries that are values in the expressions of a SELECT.
#[derive(Default)]
pub(super) struct Attached(RefCell<Joins>);

#[derive(Default)]
struct Joins {
    joins: Vec<AttachedJoin>,
    /// Number of columns of all joins.
    width: usize,
    /// Values by the text of their expressions. An expression that stands twice has one value.
    known: HashMap<String, Typed>,
}

/// A LEFT JOIN with the rows of a sub-query.
struct AttachedJoin {
    plan: Plan,
    /// Conditions over the columns of the SELECT, and those of the joins from [`Base::Attached`] on.
    on: Vec<Condition>,
}

impl Attached {
    /// Adds a join, and returns the index of its first column.
    pub(super) fn add(&self, plan: Plan, on: impl FnOnce(usize) -> Vec<Condition>) -> usize {
        let mut joins = self.0.borrow_mut();
        let first = Base::Attached as usize + joins.width;
        joins.width += plan.columns.len();
        joins.joins.push(AttachedJoin { plan, on: on(first) });
        first
    }

    /// Returns whether a condition of a join reads a column of the SELECT for which `is_meant` is true.
    pub(super) fn reads(&self, is_meant: impl Fn(usize) -> bool) -> bool {
        let mut reads = false;
        for condition in self.0.borrow().joins.iter().flat_map(|join| &join.on) {
            condition.value.columns(&mut |place| {
                reads |= Base::Attached.of(place).is_none() && is_meant(place);
            });
        }
        reads
    }

    /// Takes out the joins that were collected so far.
    pub(super) fn take(&self) -> Self {
        Attached(RefCell::new(self.0.take()))
    }

    /// Joins a source with the sub-queries, in the order in which they were added. `real` gives the index in the source of
    /// each column that a condition reads. Returns the source and the indexes of the columns of the joins in it.
    pub(super) fn join(self, source: Source, real: &impl Fn(usize) -> usize) -> (Source, Vec<usize>) {
        let mut places: Vec<usize> = Vec::new();
        let mut source = source;
        for AttachedJoin { plan, on } in self.0.into_inner().joins {
            let width = source.columns().len();
            places.extend(width..width + plan.columns.len());
            let on = on
                .into_iter()
                .map(|Condition { value, at }| {
                    let value = value.with_columns(&|place| match Base::Attached.of(place) {
                        Some(number) => places[number],
                        None => real(place),
                    });
                    Condition { value, at }
                })
                .collect();
            let open = OpenJoin::new(JoinKind::Left, source, Source::Plan(plan));
            source = Source::Join(Box::new(OpenJoin { on, ..open }));
        }
        (source, places)
    }
}

/// Rows of a sub-query with the keys by which they belong to rows of the query around.
pub(super) struct Keyed {
    /// Columns: the results, then the keys.
    pub(super) plan: Plan,
    /// Conditions `key = outer`, with the inner side replaced by the number of its key.
    pub(super) conditions: Vec<Condition>,
}

impl Planner<'_> {
    /// Returns the value of an expression that is a sub-query or a test of one; `None` for other expressions.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault, and if no sub-query may stand here.
    pub(super) fn query_value(&self, expression: &Expr, scope: &Scope<'_>) -> Result<Option<Typed>> {
        if !is_query(expression) {
            return Ok(None);
        }
        let attached = scope.attached.ok_or_else(misplaced)?;
        let text = expression.to_string();
        if let Some(known) = attached.0.borrow().known.get(&text) {
            return Ok(Some(known.clone()));
        }
        let at = place_of_expression(expression);
        let value = match expression {
            Expr::Exists { subquery, negated } => {
                self.test_as_value(&Test { value: None, query: subquery, is_negated: *negated }, scope, at)?
            }
            Expr::InSubquery { expr, subquery, negated } => {
                let test = Test { value: Some(expr), query: subquery, is_negated: *negated };
                self.test_as_value(&test, scope, at)?
            }
            Expr::Subquery(query) => self.scalar(query, scope, at)?,
            other => match Quantified::of(other) {
                Some(quantified) => self.quantified(&quantified, scope, at)?,
                None => return Err(not_supported("ANY or ALL of anything but a query")),
            },
        };
        attached.0.borrow_mut().known.insert(text, value.clone());
        Ok(Some(value))
    }

    /// Returns the value of a scalar sub-query.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault, and if no sub-query may stand here.
    fn scalar(&self, query: &Query, scope: &Scope<'_>, at: Option<Place>) -> Result<Typed> {
        let Some(attached) = scope.attached else { return Err(misplaced()) };
        let selected = self.rows_of(
            query,
            Some(Around { scope, asked: Asked::Scalar, is_readable: true, demands: Demands::Keys }),
        )?;
        let results = selected.queried.names.columns.len();
        if results != 1 {
            let message = "a sub-query of IN or beside an operator has one column: write a join, or EXISTS";
            return Err(SqlError::new(Code::Invalid, message).at(at));
        }
        let (is_one_row, if_none) = (selected.is_one_row, selected.if_none.clone());
        let Keyed { plan, conditions } = self.keyed(selected)?;
        let of_value = plan.columns[0].of.clone();
        // The keys come first, then the value.
        let keys = plan.columns.len() - 1;
        let plan = match is_one_row {
            true => {
                let order: Vec<usize> = (1..=keys).chain([0]).collect();
                let identity = plan.identity();
                let mut outputs: Vec<Typed> = order.iter().map(|place| identity[*place].clone()).collect();
                let mut columns: Vec<Column> =
                    order.iter().map(|place| plan.columns[*place].clone()).collect();
                // Where no row matches, this column is NULL.
                outputs.push(literal(Some(true)));
                columns.push(Column::plain("is_there", SqlType::Boolean, false));
                plan.project(outputs, columns)
            }
            false => self.grouped_by_keys(plan, &[("SINGLE_VALUE", true)])?,
        };
        let first = attached.add(plan, |first| joined(conditions, first));
        let value = Typed::column(first + keys, of_value.clone(), true);
        let Some(none) = if_none.filter(|_| is_one_row) else { return Ok(value) };
        let is_none = is(Typed::column(first + keys + 1, SqlType::Boolean, true), State::Null);
        let none = self.typing.widen(none, &of_value)?;
        self.typing.case(vec![(is_none, none)], Some(value))
    }

    /// Returns the value of `[NOT] EXISTS (query)` or `x [NOT] IN (query)` that is no condition by itself.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault, and if no sub-query may stand here.
    pub(super) fn test_as_value(
        &self,
        test: &Test<'_>,
        scope: &Scope<'_>,
        at: Option<Place>,
    ) -> Result<Typed> {
        let Some(attached) = scope.attached else { return Err(misplaced()) };
        let asked = if test.value.is_some() { Asked::In } else { Asked::Exists };
        let selected = self
            .rows_of(test.query, Some(Around { scope, asked, is_readable: true, demands: Demands::Keys }))?;
        let results = selected.queried.names.columns.len();
        let found = match test.value {
            None if selected.has_row => literal(Some(true)),
            None => {
                let Keyed { plan, conditions } = self.keyed(selected)?;
                let keys = plan.columns.len() - results;
                let counted = self.grouped_by_keys_behind(plan, results, &[("COUNT", false)])?;
                let first = attached.add(counted, |first| joined(conditions, first));
                self.is_above_zero(Typed::column(first + keys, SqlType::BigInt, true))?
            }
            Some(Expr::Tuple(values)) => self.list_among(values, selected, scope, at)?,
            Some(_) if results != 1 => {
                let message =
                    "a sub-query of IN or beside an operator has one column: write a join, or EXISTS";
                return Err(SqlError::new(Code::Invalid, message).at(at));
            }
            Some(value) => self.in_as_value(value, selected, attached, scope, at)?,
        };
        Ok(if test.is_negated { not(found) } else { found })
    }

    fn in_as_value(
        &self,
        value: &Expr,
        selected: Selected,
        attached: &Attached,
        scope: &Scope<'_>,
        at: Option<Place>,
    ) -> Result<Typed> {
        let value = self.bind(value, scope)?;
        if reads_outer(&value) {
            return Err(said_outer_left(at));
        }
        let Keyed { plan, conditions } = self.keyed(selected)?;
        let other = plan.columns[0].clone();
        let keys = plan.columns.len() - 1;
        self.check_copies(&plan)?;
        let counted = self.grouped_by_keys(plan.clone(), &[("COUNT", false), ("COUNT", true)])?;
        let again = conditions
            .iter()
            .map(|condition| Condition { value: condition.value.clone(), at: condition.at })
            .collect();
        let counts = attached.add(counted, |first| joined(conditions, first));
        // Rows of the sub-query, each once: the keys, then the value.
        let order = (1..=keys).chain([0]);
        let identity = plan.identity();
        let outputs = order.clone().map(|place| identity[place].clone()).collect();
        let columns = order.map(|place| plan.columns[place].clone()).collect();
        let distinct = self.distinct(plan.project(outputs, columns), at)?;
        let mut equal = Ok(None);
        let matched = attached.add(distinct, |first| {
            let mut on = joined(again, first);
            let right = Typed::column(first + keys, other.of.clone(), other.is_nullable);
            match self.typing.compare(ComparisonOp::Eq, value.clone(), right) {
                Ok(condition) => on.push(Condition { value: condition, at }),
                Err(error) => equal = Err(error),
            }
            on
        });
        equal.map_err(|error: SqlError| error.at(at)).map(|_: Option<()>| ())?;
        let all = Typed::column(counts + keys, SqlType::BigInt, true);
        let known = Typed::column(counts + keys + 1, SqlType::BigInt, true);
        let is_match = is(Typed::column(matched + keys, other.of.clone(), true), State::NotNull);
        if !value.is_nullable && !other.is_nullable {
            return Ok(is_match);
        }
        let has_rows = self.is_above_zero(all.clone())?;
        let has_null = self.typing.compare(ComparisonOp::Lt, known, all)?;
        self.typing.copies(&value, 2)?;
        self.typing.case(
            vec![
                (not(has_rows), literal(Some(false))),
                (is(value, State::Null), literal(None)),
                (is_match, literal(Some(true))),
                (has_null, literal(None)),
            ],
            Some(literal(Some(false))),
        )
    }

    /// Returns whether a count is above zero; a count that is NULL, because no row matches, is not.
    pub(super) fn is_above_zero(&self, count: Typed) -> Result<Typed> {
        let zero = Typed::literal(ScalarValue::Int64(Some(0)), SqlType::BigInt);
        Ok(is(self.typing.compare(ComparisonOp::Gt, count, zero)?, State::True))
    }

    /// Makes the inner sides of the conditions of a sub-query columns behind its results.
    pub(super) fn keyed(&self, selected: Selected) -> Result<Keyed> {
        let results = selected.queried.names.columns.len();
        let plan = selected.queried.plan;
        let (mut outputs, mut columns) =
            (plan.identity()[..results].to_vec(), plan.columns[..results].to_vec());
        let mut conditions = Vec::new();
        for Condition { value, at } in selected.pulled {
            let Some(inner) = inner_side(&value) else {
                let message = "a sub-query that is a value compares with the query around it by = alone";
                return Err(SqlError::new(Code::Unsupported, message).at(at).help("write a join"));
            };
            let key = Typed::column(columns.len() - results, inner.of.clone(), inner.is_nullable);
            columns.push(Column::plain(format!("${}", columns.len()), inner.of.clone(), inner.is_nullable));
            outputs.push(inner.clone());
            conditions.push(Condition { value: with_inner_side(value, &key), at });
        }
        Ok(Keyed { plan: plan.project(outputs, columns), conditions })
    }

    /// Plans aggregates by the keys of a sub-query with one result, which come first in the output. Each call has its name, and
    /// whether it is of the result; COUNT may be of all rows.
    pub(super) fn grouped_by_keys(&self, plan: Plan, calls: &[(&str, bool)]) -> Result<Plan> {
        self.grouped_by_keys_behind(plan, 1, calls)
    }

    fn grouped_by_keys_behind(&self, plan: Plan, results: usize, calls: &[(&str, bool)]) -> Result<Plan> {
        let keys: Vec<usize> = (results..plan.columns.len()).collect();
        let identity = plan.identity();
        let mut below = Below { outputs: identity.clone(), columns: plan.columns.clone() };
        let mut made: Vec<(AggregateCall, String)> = Vec::new();
        for (name, is_of_result) in calls {
            let Some(function) = aggregate(name).map(Aggregate::Function) else {
                return Err(SqlError::new(Code::UnknownFunction, format!("there is no aggregate {name}")));
            };
            let arguments = identity.iter().take(usize::from(*is_of_result)).cloned().collect();
            let call = self.called(&mut below, &function, arguments, false, None, 0)?;
            made.push((call, (*name).to_owned()));
        }
        let plan = match below.columns.len() == plan.columns.len() {
            true => plan,
            false => plan.project(below.outputs, below.columns),
        };
        Ok(group(plan, keys, made, self.binder.state_ttl_ms))
    }
}

/// Returns the conditions of a join whose columns begin at `first`; the inner side of each is the number of its key.
pub(super) fn joined(conditions: Vec<Condition>, first: usize) -> Vec<Condition> {
    let moved = |Condition { value, at }: Condition| {
        let value = value.with_columns(&|place| match Base::Outer.of(place) {
            Some(outer) => outer,
            None => first + place,
        });
        Condition { value, at }
    };
    conditions.into_iter().map(moved).collect()
}

/// Returns the error for a sub-query where none may stand.
pub(super) fn misplaced() -> SqlError {
    SqlError::new(Code::Unsupported, "a sub-query stands where it is not supported")
        .help("write EXISTS or IN as a condition of WHERE, or a join")
}

/// Returns a literal BOOLEAN.
pub(super) fn literal(value: Option<bool>) -> Typed {
    Typed::literal(ScalarValue::Boolean(value), SqlType::Boolean)
}
