//! ORDER BY and LIMIT. A key of ORDER BY is the position of a result, the name of a result, or an expression over results
//! and columns, in which the name of a result comes before that of a column.
//!
//! By event time, rows can be sorted while they come. By other columns that takes an end of the input, or a LIMIT.

use std::sync::Arc;

use sqlparser::ast::{Expr, Fetch, LimitClause, Offset, OrderBy, OrderByExpr, OrderByKind, Query, Value};
use thalweg_sql_exec::plan::{Column, Node, Plan, Role, SortKey, WindowSpec};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::scope::{Base, Scope};
use super::syntax::{not_supported, place_of_expression, refuse_any, said, without_signs};
use super::windows::by_arrival;

type Result<T> = std::result::Result<T, SqlError>;

/// ORDER BY of a query as it is written.
pub(super) struct Order<'a>(&'a [OrderByExpr]);

/// Keys of an ORDER BY. They read results above [`Base::Results`], and the columns below the projection.
pub(super) struct Keys {
    keys: Vec<Key>,
    /// Place of the first key.
    pub(super) at: Option<Place>,
}

struct Key {
    value: Typed,
    is_descending: bool,
    is_null_first: bool,
    /// The key as EXPLAIN shows it.
    shown: String,
}

impl<'a> Order<'a> {
    /// Reads an ORDER BY.
    ///
    /// # Errors
    /// [`Code::Unsupported`] for forms that Flink does not have.
    pub(super) fn of(order_by: Option<&'a OrderBy>) -> Result<Self> {
        let Some(OrderBy { kind, interpolate }) = order_by else { return Ok(Order(&[])) };
        let OrderByKind::Expressions(keys) = kind else { return Err(not_supported("ORDER BY ALL")) };
        if interpolate.is_some() || keys.iter().any(|key| key.with_fill.is_some()) {
            return Err(not_supported("INTERPOLATE and WITH FILL"));
        }
        Ok(Order(keys))
    }

    pub(super) fn expressions(&self) -> impl Iterator<Item = &'a Expr> {
        self.0.iter().map(|key| &key.expr)
    }
}

impl Keys {
    /// Returns the keys with other indexes for the columns below the projection.
    pub(super) fn with_columns(mut self, real: &impl Fn(usize) -> usize) -> Self {
        for key in &mut self.keys {
            key.value = key.value.with_columns(&|place| match Base::Results.of(place) {
                Some(_) => place,
                None => real(place),
            });
        }
        self
    }

    /// Returns the keys with those that are written as a result replaced by that result. With `in_parts`, columns within
    /// keys are replaced by results, too.
    pub(super) fn by_results(mut self, results: &[Typed], in_parts: bool) -> Self {
        for key in &mut self.keys {
            if in_parts {
                key.value = key.value.with_columns(&|place| {
                    let result = results.iter().position(|result| result.as_column() == Some(place));
                    result.map_or(place, |result| Base::Results as usize + result)
                });
            }
            if let Some(place) = results.iter().position(|result| result.same(&key.value)) {
                let Typed { of, is_nullable, .. } = &results[place];
                key.value = Typed::column(Base::Results as usize + place, of.clone(), *is_nullable);
            }
        }
        self
    }

    /// Returns whether a key reads columns below the projection.
    pub(super) fn reads_input(&self) -> bool {
        let mut reads = false;
        self.keys
            .iter()
            .for_each(|key| key.value.columns(&mut |place| reads |= Base::Results.of(place).is_none()));
        reads
    }
}

impl Planner<'_> {
    /// Reads the keys of an ORDER BY over the columns of a SELECT and its results.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault.
    pub(super) fn sort_keys(&self, order: &Order<'_>, scope: &Scope<'_>, results: &[Column]) -> Result<Keys> {
        let scope = Scope { results: Some(results), ..*scope };
        let mut keys = Vec::new();
        for OrderByExpr { expr, options, with_fill: _ } in order.0 {
            let is_ascending = options.asc.unwrap_or(true);
            keys.push(Key {
                value: match position(expr) {
                    Some(number) => {
                        let column = number.checked_sub(1).and_then(|place| results.get(place));
                        let (Some(column), Some(place)) = (column, number.checked_sub(1)) else {
                            let message = format!("ORDER BY {number}: there are {} results", results.len());
                            return Err(SqlError::new(Code::Invalid, message).at(place_of_expression(expr)));
                        };
                        let place = Base::Results as usize + place;
                        Typed::column(place, column.of.clone(), column.is_nullable)
                    }
                    None => self.bind(expr, &scope)?,
                },
                is_descending: !is_ascending,
                // In Flink NULL is the least value.
                is_null_first: options.nulls_first.unwrap_or(is_ascending),
                shown: said(expr),
            });
        }
        Ok(Keys { keys, at: order.expressions().next().and_then(place_of_expression) })
    }

    /// Adds a projection to a plan, and sorts its rows. Keys that are no results become columns behind those of the
    /// projection, and are dropped again.
    pub(super) fn sorted(
        &self,
        plan: Plan,
        mut values: Vec<Typed>,
        mut columns: Vec<Column>,
        sort: Keys,
    ) -> Result<Plan> {
        let first = columns.len();
        let Keys { mut keys, at } = sort;
        for key in &mut keys {
            if key.value.as_column().is_some_and(|place| Base::Results.of(place).is_some()) {
                continue;
            }
            let mut reads = (false, false);
            key.value.columns(&mut |place| match Base::Results.of(place) {
                Some(_) => reads.0 = true,
                None => reads.1 = true,
            });
            if reads == (true, false) {
                continue;
            }
            let below: Vec<Column> = plan.columns.clone();
            let mut place_of = |value: Typed, name: &str| {
                let known = values.iter().position(|known| known.same(&value));
                known.unwrap_or_else(|| {
                    let role = value.as_column().map_or(Role::Plain, |place| below[place].role.clone());
                    columns.push(Column { role, ..Column::plain(name, value.of.clone(), value.is_nullable) });
                    values.push(value);
                    values.len() - 1
                })
            };
            if !reads.0 {
                let (of, is_nullable) = (key.value.of.clone(), key.value.is_nullable);
                let place = place_of(key.value.clone(), &key.shown);
                key.value = Typed::column(Base::Results as usize + place, of, is_nullable);
                continue;
            }
            let mut read = Vec::new();
            key.value.columns(&mut |place| read.push(place));
            for place in read.into_iter().filter(|place| Base::Results.of(*place).is_none()) {
                let column = below[place].clone();
                let made = place_of(Typed::column(place, column.of, column.is_nullable), &column.name);
                key.value = key.value.with_columns(&|known| match known == place {
                    true => Base::Results as usize + made,
                    false => known,
                });
            }
        }
        let is_wider = columns.len() > first;
        let kept: Vec<Column> = columns[..first].to_vec();
        let plan = self.sorted_results(plan.project(values, columns), Keys { keys, at })?;
        if !is_wider {
            return Ok(plan);
        }
        let outputs = plan.identity()[..first].to_vec();
        Ok(plan.project(outputs, kept))
    }

    /// Sorts the rows of a plan by keys that read its columns as results. If that takes an end of the input or a LIMIT, it is
    /// checked when the whole query is known.
    pub(super) fn sorted_results(&self, input: Plan, sort: Keys) -> Result<Plan> {
        let Keys { keys, at } = sort;
        if keys.is_empty() {
            return Ok(input);
        }
        let width = input.columns.len();
        let (mut step, mut columns) = (input.identity(), input.columns.clone());
        let mut order = Vec::new();
        for key in keys {
            let value = key.value.with_columns(&|place| Base::Results.of(place).unwrap_or(place));
            let place = value.as_column().unwrap_or_else(|| {
                columns.push(Column::plain(key.shown, value.of.clone(), value.is_nullable));
                step.push(value);
                step.len() - 1
            });
            order.push(SortKey { place, is_descending: key.is_descending, is_null_first: key.is_null_first });
        }
        let ascending = order.first().filter(|key| !key.is_descending);
        let time_role = ascending.map(|key| columns[key.place].role.clone());
        let is_by_arrival = time_role == Some(Role::Proctime);
        let is_by_time = is_by_arrival || time_role.is_some_and(|role| role.is_watermarked());
        let is_wider = step.len() > width;
        let kept: Vec<Typed> = step[..width].to_vec();
        let names = columns[..width].to_vec();
        let mut input = if is_wider { input.project(step, columns) } else { input };
        let node = if is_by_time {
            let time = order.remove(0).place;
            if is_by_arrival {
                // Rows of one millisecond are sorted by the other keys when it is over.
                let spec = Arc::new(WindowSpec::Tumble { size_ms: 1, offset_ms: 0 });
                input = by_arrival(input, time, &spec).at(at);
            }
            Node::Sort { input: Box::new(input), time, keys: order }
        } else {
            Node::Final { input: Box::new(input), order, skip: 0, fetch: u64::MAX, is_retracting: false }
        };
        let columns = node_columns(&node);
        let sorted = Plan::new(columns, node).at(at);
        Ok(if is_wider { sorted.project(kept, names) } else { sorted })
    }
}

fn node_columns(node: &Node) -> Vec<Column> {
    match node {
        Node::Sort { input, .. } | Node::Final { input, .. } => input.columns.clone(),
        _ => Vec::new(),
    }
}

/// Returns the number that a key of ORDER BY is, if it is a position.
fn position(expression: &Expr) -> Option<usize> {
    match without_signs(expression) {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Returns how many rows OFFSET leaves out, and how many LIMIT or FETCH lets pass; `None` for a query without them.
///
/// # Errors
/// [`Code::Unsupported`] for what is no whole number, and for OFFSET alone.
pub(super) fn limit_of(query: &Query) -> Result<Option<(u64, u64)>> {
    let (mut skip, mut fetch) = (None, None);
    match &query.limit_clause {
        None => {}
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
            if !limit_by.is_empty() {
                return Err(not_supported("LIMIT BY"));
            }
            fetch = limit.as_ref();
            skip = offset.as_ref().map(|Offset { value, rows: _ }| value);
        }
        Some(LimitClause::OffsetCommaLimit { .. }) => {
            return Err(not_supported("LIMIT with two numbers: write LIMIT 10 OFFSET 5"));
        }
    }
    let one = Expr::Value(Value::Number("1".to_owned(), false).into());
    if let Some(Fetch { with_ties, percent, quantity }) = &query.fetch {
        let at = quantity.as_ref().and_then(place_of_expression);
        refuse_any!(at; *with_ties => "WITH TIES", *percent => "PERCENT");
        if fetch.is_some() {
            return Err(SqlError::new(Code::Invalid, "LIMIT and FETCH stand in one query").at(at));
        }
        fetch = Some(quantity.as_ref().unwrap_or(&one));
    }
    let number = |expression: &Expr| {
        let number = match without_signs(expression) {
            Expr::Value(value) => match &value.value {
                Value::Number(digits, _) => digits.parse::<i64>().ok(),
                _ => None,
            },
            _ => None,
        };
        number.and_then(|number| u64::try_from(number).ok()).ok_or_else(|| {
            let message =
                format!("LIMIT and OFFSET take whole numbers from 0 on, and this is {}", said(expression));
            SqlError::new(Code::Unsupported, message).at(place_of_expression(expression))
        })
    };
    match (skip.map(number).transpose()?, fetch.map(number).transpose()?) {
        (None, None) => Ok(None),
        (skip, Some(fetch)) => Ok(Some((skip.unwrap_or_default(), fetch))),
        (Some(_), None) => {
            let error = SqlError::new(Code::Unsupported, "OFFSET without LIMIT is not supported");
            Err(error.at(skip_place(query)).help("add LIMIT"))
        }
    }
}

fn skip_place(query: &Query) -> Option<Place> {
    match &query.limit_clause {
        Some(LimitClause::LimitOffset { offset: Some(offset), .. }) => place_of_expression(&offset.value),
        _ => None,
    }
}
