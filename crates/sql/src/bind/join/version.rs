//! Tables as of a time (FOR SYSTEM_TIME AS OF): the versions of a row, and how a join finds the valid one.
//!
//! By event time, the rows of a table are versions if it has a primary key and a watermark. So are those of a view
//! that keeps the last row of each key by event time: `ROW_NUMBER() OVER (PARTITION BY key ORDER BY ts DESC) = 1`. By
//! processing time, rows are looked up in a table that ends.
//!
//! Source: Flink's documentation, "Joins" (temporal and look-up joins) and "Versioned Tables".

use std::sync::Arc;

use datafusion_common::{DFSchema, TableReference};
use datafusion_expr::expr::WindowFunction;
use datafusion_expr::logical_plan::Window;
use datafusion_expr::{Expr, LogicalPlan, WindowFunctionDefinition};
use thalweg_sql_exec::plan::{Column, Counted, Node, Plan, Role};
use thalweg_sql_functions::expression::{Call, Expression, Typed};
use thalweg_sql_functions::functions::compare::ComparisonOp;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::connect::check_source;
use thalweg_sql_tables::error::{Code, Place, SqlError};
use thalweg_sql_tables::table::Table;

use super::terms::Terms;
use super::{JoinKey, JoinKind, JoinMethod, Result};
use crate::bind::expression::Scope;
use crate::bind::query::Lowering;
use crate::bind::relations::{VersionNode, unknown_column};

/// Returns the table as of a time that a plan reads, under any aliases; `None` for other plans.
pub(super) fn version_of(logical: &LogicalPlan) -> Option<&VersionNode> {
    match logical {
        LogicalPlan::SubqueryAlias(alias) => version_of(&alias.input),
        LogicalPlan::Extension(extension) => extension.node.as_any().downcast_ref(),
        _ => None,
    }
}

/// The way in which a join finds the version of a row.
pub(super) enum Versions {
    /// The version is the one that is valid at the event time of the left row.
    Valid {
        left_time: usize,
        right_time: usize,
        /// Indexes of the key columns in the right input.
        keys: Vec<usize>,
        counts: Counted,
        place: Option<Place>,
    },
    /// Rows are looked up by equal values in the table as it is now (processing time).
    Present { place: Option<Place> },
}

impl Versions {
    /// Returns the method of the join, its keys, and the further condition on pairs of rows.
    pub(super) fn join(
        self,
        kind: JoinKind,
        mut terms: Terms<'_>,
    ) -> Result<(JoinMethod, Vec<JoinKey>, Option<Typed>)> {
        let (Versions::Valid { place, .. } | Versions::Present { place }) = self;
        if !matches!(kind, JoinKind::Inner | JoinKind::Left) {
            let message = "a table as of a time is joined by JOIN or LEFT JOIN";
            return Err(SqlError::new(Code::Unsupported, message).at(place));
        }
        match self {
            Versions::Valid { left_time, right_time, keys, counts, .. } => {
                let keys = terms.take_keys(&keys).ok_or_else(|| {
                    let message = "a join with versions of a table is by all columns of its primary key";
                    SqlError::new(Code::Invalid, message).at(place).help("add ON a.k = b.k for each of them")
                })?;
                // The other terms are tested on the valid version, and do not decide which version is valid.
                let method = JoinMethod::Temporal { left_time, right_time, counts, ttl_ms: None };
                Ok((method, keys, terms.rest()))
            }
            Versions::Present { .. } => {
                if !terms.has_keys() && !terms.take_constant_keys() {
                    let message = "rows are looked up in a table by columns that must be equal";
                    return Err(SqlError::new(Code::Invalid, message)
                        .at(place)
                        .help("add ON a.k = b.k, or ON b.k = 1"));
                }
                let (keys, condition) = terms.finish();
                Ok((JoinMethod::Lookup, keys, condition))
            }
        }
    }
}

impl Lowering<'_> {
    /// Plans a table as of a time of the left input, and returns how its versions are found.
    pub(super) fn versions(
        &self,
        node: &VersionNode,
        left_schema: &DFSchema,
        left: &Plan,
    ) -> Result<(Plan, Versions)> {
        let place = node.place;
        let left_time = time_of(node, left_schema)?;
        let time = &left.columns[left_time];
        match time.role {
            Role::Rowtime => {}
            Role::Proctime => {
                let plan = self.plan(&node.input)?;
                check_ends(&plan, place)?;
                return Ok((plan, Versions::Present { place }));
            }
            _ => {
                let message = format!("`{}` is no event time and no processing time", time.name);
                let error = SqlError::new(Code::Invalid, message).at(place);
                return Err(
                    error.help("declare WATERMARK FOR it in its table; expressions are no event time")
                );
            }
        }
        let (plan, keys, right_time, counts) = match self.one_of_each(&node.input)? {
            Some(Chosen { plan, keys, time, counts, is_first_only: true, .. }) => {
                (plan, keys, Some(time), counts)
            }
            Some(_) => return Err(no_versions(place)),
            None => {
                let plan = self.plan(&node.input)?;
                let keys = primary_key(&plan).ok_or_else(|| no_versions(place))?;
                let time = plan.rowtime();
                (plan, keys, time, Counted::All)
            }
        };
        let right_time = right_time.ok_or_else(|| no_versions(place))?;
        let is_instant = |of: &SqlType| matches!(of, SqlType::TimestampLtz(_));
        let of = &plan.columns[right_time].of;
        if is_instant(&time.of) != is_instant(of) {
            let message = format!("event time is {} on one side, and {of} on the other", time.of);
            return Err(SqlError::new(Code::TypeMismatch, message).at(place).help("declare both alike"));
        }
        Ok((plan, Versions::Valid { left_time, right_time, keys, counts, place }))
    }

    /// Returns the plan of a query that keeps the first or the last row of each key by event time (ROW_NUMBER);
    /// `None` for other queries.
    fn one_of_each(&self, logical: &LogicalPlan) -> Result<Option<Chosen>> {
        match logical {
            LogicalPlan::SubqueryAlias(alias) => self.one_of_each(&alias.input),
            LogicalPlan::Window(window) => self.ranked_rows(window),
            LogicalPlan::Projection(projection) => {
                let Some(chosen) = self.one_of_each(&projection.input)? else { return Ok(None) };
                let scope = Scope::new(projection.input.schema(), &chosen.plan.columns);
                let outputs = projection.expr.iter().map(|output| self.expressions.bind(output, &scope));
                let outputs: Vec<Typed> = outputs.collect::<Result<_>>()?;
                let find = |place: usize| outputs.iter().position(|output| output.as_column() == Some(place));
                let keys: Option<Vec<usize>> = chosen.keys.iter().map(|key| find(*key)).collect();
                let (Some(keys), Some(time)) = (keys, find(chosen.time)) else { return Ok(None) };
                let rank = chosen.rank.and_then(find);
                let mut columns = Vec::new();
                for (output, field) in outputs.iter().zip(projection.schema.fields()) {
                    let role = output
                        .as_column()
                        .map_or(Role::Plain, |place| chosen.plan.columns[place].role.clone());
                    columns.push(Column {
                        name: field.name().clone(),
                        of: output.of.clone(),
                        is_nullable: output.is_nullable,
                        role,
                    });
                }
                let plan = chosen.plan.project(outputs, columns);
                Ok(Some(Chosen { plan, keys, time, rank, ..chosen }))
            }
            LogicalPlan::Filter(filter) => {
                let Some(chosen) = self.one_of_each(&filter.input)? else { return Ok(None) };
                let scope = Scope::new(filter.input.schema(), &chosen.plan.columns);
                let condition = self.expressions.bind_condition(&filter.predicate, &scope)?;
                // Only `rank = 1` is accepted: any other condition could remove a version, and no change would report
                // its end.
                let is_first = chosen.rank.is_some_and(|rank| asks_for_first(&condition, rank));
                Ok(is_first.then_some(Chosen { is_first_only: true, ..chosen }))
            }
            _ => Ok(None),
        }
    }

    /// Plans a ROW_NUMBER that ranks the rows of each key by event time; `None` for other windows.
    fn ranked_rows(&self, window: &Window) -> Result<Option<Chosen>> {
        let [call] = &window.window_expr[..] else { return Ok(None) };
        let call = match call {
            Expr::Alias(alias) => &*alias.expr,
            call => call,
        };
        let Expr::WindowFunction(function) = call else { return Ok(None) };
        let WindowFunction { fun, params } = &**function;
        let is_rank = matches!(fun, WindowFunctionDefinition::WindowUDF(udf) if udf.name() == "row_number");
        let ([order], true) = (&params.order_by[..], is_rank && !params.partition_by.is_empty()) else {
            return Ok(None);
        };
        let plan = self.plan(&window.input)?;
        let scope = self.scope(&window.input, &plan);
        let place =
            |expression: &Expr| self.expressions.bind(expression, &scope).map(|bound| bound.as_column());
        let keys: Option<Vec<usize>> = params.partition_by.iter().map(place).collect::<Result<_>>()?;
        let (Some(keys), Some(time)) = (keys, place(&order.expr)?) else { return Ok(None) };
        if plan.columns[time].role != Role::Rowtime {
            return Ok(None);
        }
        let counts = if order.asc { Counted::First } else { Counted::InOrder };
        // Only rows of rank 1 will be used, so the rank is the constant 1.
        let rank = plan.columns.len();
        let mut columns = plan.columns.clone();
        columns.push(Column::plain("row_number", SqlType::BigInt, false));
        let mut outputs = plan.identity();
        outputs.push(Typed::literal(ScalarValue::Int64(Some(1)), SqlType::BigInt));
        let plan = plan.project(outputs, columns);
        Ok(Some(Chosen { plan, keys, time, counts, rank: Some(rank), is_first_only: false }))
    }
}

/// A query that keeps one row of each key. Its plan has all rows; the join uses those of rank 1.
struct Chosen {
    plan: Plan,
    keys: Vec<usize>,
    time: usize,
    counts: Counted,
    /// Index of the column with the rank; `None` if the query has no such column.
    rank: Option<usize>,
    /// Whether the query has a condition that keeps only the rows of rank 1.
    is_first_only: bool,
}

/// Returns whether a condition is `rank = 1` or an equal form, such as `rank < 2`. `rank` is the index of the column.
fn asks_for_first(condition: &Typed, rank: usize) -> bool {
    let Expression::Call { call: Call::Compare(op), arguments, .. } = &condition.expression else {
        return false;
    };
    let [left, right] = &arguments[..] else { return false };
    let is_rank = |value: &Typed| match &value.expression {
        Expression::Column(place) => *place == rank,
        Expression::Call { call: Call::Cast { .. }, arguments, .. } => {
            arguments.first().and_then(Typed::as_column) == Some(rank)
        }
        _ => false,
    };
    let number = |value: &Typed| match value.as_literal() {
        Some(ScalarValue::Int32(Some(number))) => Some(i64::from(*number)),
        Some(ScalarValue::Int64(number)) => *number,
        _ => None,
    };
    let (op, number) = match (is_rank(left), number(right), number(left), is_rank(right)) {
        (true, Some(number), _, _) => (*op, number),
        (_, _, Some(number), true) => (op.turned(), number),
        _ => return false,
    };
    matches!((op, number), (ComparisonOp::Eq | ComparisonOp::LtEq, 1) | (ComparisonOp::Lt, 2))
}

/// Returns the index of the time column of the left input that FOR SYSTEM_TIME AS OF names.
fn time_of(node: &VersionNode, left: &DFSchema) -> Result<usize> {
    let (name, qualifier) = match &node.as_of[..] {
        [.., qualifier, name] => (name, Some(TableReference::bare(qualifier.as_str()))),
        [name] => (name, None),
        [] => {
            return Err(
                SqlError::new(Code::Invalid, "AS OF takes a time column of the other table").at(node.place)
            );
        }
    };
    left.index_of_column_by_name(qualifier.as_ref(), name).ok_or_else(|| {
        unknown_column(name, left.fields().iter().map(|field| field.name().as_str())).at(node.place)
    })
}

fn no_versions(place: Option<Place>) -> SqlError {
    let message = "a table without a primary key and an event time has no versions";
    let error = SqlError::new(Code::Invalid, message).at(place);
    error.help(
        "declare PRIMARY KEY (..) NOT ENFORCED and WATERMARK FOR in its table, or join a view that keeps the last or the first \
         row: ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) = 1",
    )
}

/// Returns the table and the index of its column that the column `place` of a plan is; `None` if the plan does more
/// than filter and project, or the column is computed.
fn source_of(plan: &Plan, place: usize) -> Option<(&Arc<Table>, usize)> {
    match &plan.node {
        Node::Scan { table, places, .. } => Some((table, *places.get(place)?)),
        Node::Calc { input, outputs, .. } => source_of(input, outputs.get(place)?.as_column()?),
        _ => None,
    }
}

/// Returns the table that a plan reads; `None` if the plan does more than filter and project.
fn table_of(plan: &Plan) -> Option<&Arc<Table>> {
    match &plan.node {
        Node::Scan { table, .. } => Some(table),
        Node::Calc { input, .. } => table_of(input),
        _ => None,
    }
}

/// Returns the indexes of the columns of a plan that are the primary key of the table that it reads; `None` if the
/// table has no key, or the plan lacks a part of it.
fn primary_key(plan: &Plan) -> Option<Vec<usize>> {
    let table = table_of(plan)?;
    if table.primary_key.is_empty() {
        return None;
    }
    let place_of = |key: &usize| {
        (0..plan.columns.len())
            .find(|place| source_of(plan, *place).is_some_and(|(_, column)| column == *key))
    };
    table.primary_key.iter().map(place_of).collect()
}

/// Checks that a plan reads only a table that comes to an end, because a lookup join reads the table whole.
fn check_ends(plan: &Plan, place: Option<Place>) -> Result<()> {
    let Some(table) = table_of(plan) else {
        let message = "rows are looked up in a table, and this is a query that does more than read one";
        return Err(SqlError::new(Code::Unsupported, message)
            .at(place)
            .help("write its result to a table first"));
    };
    // Tables of tests have no connector, and their rows come to an end. Wrong options are reported when the job is
    // checked.
    if check_source(table).map_or(true, |abilities| abilities.is_bounded) {
        return Ok(());
    }
    let message = format!("`{}` has no end, so it cannot be read whole to look rows up in it", table.name);
    let error = SqlError::new(Code::Unsupported, message).at(place);
    Err(error.help("join it by event time: FOR SYSTEM_TIME AS OF a column that has a watermark"))
}
