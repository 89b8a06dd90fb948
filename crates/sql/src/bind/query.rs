//! Plans of queries: DataFusion's tree becomes, node by node, a [`Plan`] whose state is bounded.
//!
//! The windows of rows are known from columns: `window_start` and `window_end` of a window function keep their role
//! ([`Role`]) through aliases, sub-queries and unions; the result of an expression has no role. A GROUP BY of both
//! columns is an aggregate per window, and a ranking with both as keys is a top-N per window. All other operators
//! that keep rows need a time to live.
//!
//! Source: Flink's documentation, "Window Aggregation", "Window Top-N", "Time Attributes".

use std::cell::Cell;
use std::sync::Arc;

use arrow::array::{ArrayRef, new_empty_array};
use arrow::datatypes::Schema;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::logical_plan::{
    Aggregate, Distinct, Extension, Filter, Limit, Projection, Sort, Union, Values,
};
use datafusion_expr::utils::{grouping_set_to_exprlist, split_conjunction};
use datafusion_expr::{Expr, LogicalPlan};
use thalweg_sql_exec::plan::{AggregateCall, Column, Node, Plan, Role, SortKey, Windowing, Windows};
use thalweg_sql_functions::aggregates::aggregate;
use thalweg_sql_functions::expression::{Call, Expression, Typed};
use thalweg_sql_functions::functions::compare::ComparisonOp;
use thalweg_sql_functions::keys::process_seed;
use thalweg_sql_functions::types::{SqlType, common_type, relabelled};
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, Place, SqlError};
use thalweg_sql_tables::table::{Table, TableColumnKind};

use super::changelog::{settle, unbounded};
use super::expression::{Expressions, Scope, argument, place_of};
use super::final_rows::{limited, never_sorted};
use super::foreign::Foreign;
use super::group::{expand, group, grouping_sets, window_aggregate};
use super::relations::{VersionNode, WindowNode};
use super::said::said;
use super::{Answers, Binder};
use crate::text::plain::{CELL, without_mark};
use crate::text::script::NESTING_MAX;

type Result<T> = std::result::Result<T, SqlError>;

/// Returns the completed plan of a query whose names DataFusion has resolved.
///
/// # Errors
/// [`SqlError`] for the first fault, or for an operator whose state has no bound.
pub(super) fn lower(binder: &Binder<'_>, logical: &LogicalPlan) -> Result<Plan> {
    let expressions = Expressions::new(binder.context);
    let lowering = Lowering { binder, expressions, is_limited: Cell::new(false) };
    settle(lowering.plan(logical)?, binder.state_ttl_ms, binder.answers)
}

pub(super) struct Lowering<'a> {
    pub(super) binder: &'a Binder<'a>,
    pub(super) expressions: Expressions<'a>,
    /// Whether the plan that is made next stands below a LIMIT, so that an ORDER BY there asks for the first rows.
    is_limited: Cell<bool>,
}

impl Lowering<'_> {
    pub(super) fn plan(&self, logical: &LogicalPlan) -> Result<Plan> {
        let plan = match logical {
            LogicalPlan::TableScan(scan) => {
                let table = super::names::table_of(&scan.source).ok_or_else(|| {
                    SqlError::new(Code::Invalid, format!("`{}` is no table", scan.table_name))
                })?;
                let places = scan.projection.clone().unwrap_or_else(|| (0..table.columns.len()).collect());
                scan_of(table, places)
            }
            LogicalPlan::SubqueryAlias(alias) => self.plan(&alias.input)?,
            LogicalPlan::Subquery(subquery) => self.plan(&subquery.subquery)?,
            LogicalPlan::Projection(projection) => self.projection(projection)?,
            LogicalPlan::Filter(filter) => self.filter(filter)?,
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate)?,
            LogicalPlan::Window(window) => self.over(window)?,
            LogicalPlan::Union(union) => self.union(union)?,
            LogicalPlan::Values(values) => self.values(values)?,
            LogicalPlan::EmptyRelation(empty) => {
                let rows = usize::from(empty.produce_one_row);
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                let batch =
                    RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options);
                let batch = batch.map_err(|error| SqlError::new(Code::Invalid, error.to_string()))?;
                Plan::new(Vec::new(), Node::Values(batch))
            }
            LogicalPlan::Limit(limit) => self.limit(limit)?,
            LogicalPlan::Sort(sort) => self.sort(sort)?,
            LogicalPlan::Distinct(Distinct::All(input)) => {
                // SELECT DISTINCT is a GROUP BY of all columns.
                let columns = input.schema().columns().into_iter().map(Expr::Column).collect();
                let groups =
                    Aggregate::try_new(Arc::clone(input), columns, Vec::new()).map_err(super::sql_error)?;
                let plan = self.aggregate(&groups)?;
                let at = first_result(input);
                // A DISTINCT whose columns include those of a window is an aggregate per window, which needs no time
                // to live.
                if matches!(plan.node, Node::Group { .. })
                    && self.binder.state_ttl_ms.is_none()
                    && !self.binder.ends(&plan)
                {
                    let is_union = matches!(&**input, LogicalPlan::Union(_));
                    let what = if is_union { "UNION without ALL" } else { "DISTINCT without a window" };
                    let help = match is_union {
                        true => "write UNION ALL, or select window_start and window_end of a window function",
                        false => "select window_start and window_end of a window function",
                    };
                    return Err(unbounded(what, help).at(at));
                }
                if matches!(plan.node, Node::Group { .. }) { plan.at(at) } else { plan }
            }
            LogicalPlan::Join(_) => self.under(logical, Vec::new())?,
            LogicalPlan::Extension(Extension { node }) => {
                if let Some(window) = node.as_any().downcast_ref::<WindowNode>() {
                    self.windows(window)?
                } else if let Some(version) = node.as_any().downcast_ref::<VersionNode>() {
                    let message = "FOR SYSTEM_TIME AS OF stands where no table is joined";
                    return Err(SqlError::new(Code::Invalid, message).at(version.place));
                } else {
                    return Err(SqlError::new(
                        Code::Unsupported,
                        format!("{} is not supported", node.name()),
                    ));
                }
            }
            other => {
                let name = other.display().to_string();
                return Err(SqlError::new(Code::Unsupported, format!("{name} is not supported")));
            }
        };
        debug_assert_eq!(plan.columns.len(), logical.schema().fields().len(), "{logical}");
        Ok(plan)
    }

    pub(super) fn scope<'a>(&self, logical: &'a LogicalPlan, plan: &'a Plan) -> Scope<'a> {
        Scope::new(logical.schema(), &plan.columns)
    }

    fn projection(&self, projection: &Projection) -> Result<Plan> {
        let input = self.plan(&projection.input)?;
        let scope = self.scope(&projection.input, &input);
        let mut outputs = Vec::new();
        let mut columns = Vec::new();
        for (expression, field) in projection.expr.iter().zip(projection.schema.fields()) {
            let bound = self.expressions.bind(expression, &scope)?;
            // Views upon views can nest types deeper than the text of one statement can.
            if bound.of.depth() > NESTING_MAX + 1 {
                let message = format!("types stand within each other deeper than {NESTING_MAX}");
                return Err(SqlError::new(Code::Unsupported, message).at(place_of(expression)));
            }
            // A column that only gets another name keeps its role.
            let role = bound.as_column().map_or(Role::Plain, |place| input.columns[place].role.clone());
            let role = if is_proctime(expression) { Role::Proctime } else { role };
            columns.push(Column {
                name: without_mark(field.name()).to_owned(),
                of: bound.of.clone(),
                is_nullable: bound.is_nullable,
                role,
            });
            outputs.push(bound);
        }
        Ok(input.project(outputs, columns))
    }

    fn filter(&self, filter: &Filter) -> Result<Plan> {
        if let LogicalPlan::Join(_) = &*filter.input {
            let conditions = split_conjunction(&filter.predicate).into_iter().cloned().collect();
            return self.under(&filter.input, conditions);
        }
        let input = self.plan(&filter.input)?;
        let condition =
            self.expressions.bind_condition(&filter.predicate, &self.scope(&filter.input, &input))?;
        Ok(ranked(input, condition, place_of(&filter.predicate)))
    }

    fn union(&self, union: &Union) -> Result<Plan> {
        let inputs: Vec<Plan> = union.inputs.iter().map(|input| self.plan(input)).collect::<Result<_>>()?;
        let Some(first) = inputs.first() else {
            return Err(SqlError::new(Code::Invalid, "UNION ALL has no inputs"));
        };
        let mut columns = Vec::new();
        for (place, column) in first.columns.iter().enumerate() {
            let mut of = column.of.clone();
            let mut is_nullable = false;
            let mut role = column.role.clone();
            for input in &inputs {
                let other = &input.columns[place];
                of = common_type(&of, &other.of).ok_or_else(|| {
                    let message = format!("column {} of UNION ALL is {of} and {}", place + 1, other.of);
                    SqlError::new(Code::TypeMismatch, message).help("cast both to one type")
                })?;
                is_nullable |= other.is_nullable;
                if other.role != role {
                    role = Role::Plain;
                }
            }
            columns.push(Column { name: column.name.clone(), of, is_nullable, role });
        }
        let mut flat = Vec::new();
        for input in inputs {
            let widened = self.widened(input, &columns)?;
            // A union of unions becomes one union, so that a long chain of them is no deep tree.
            match widened.node {
                Node::Union(inner) => flat.extend(inner),
                node => flat.push(Plan { node, ..widened }),
            }
        }
        Ok(Plan::new(columns, Node::Union(flat)))
    }

    /// Returns a plan whose columns are cast to the types of `columns`.
    fn widened(&self, plan: Plan, columns: &[Column]) -> Result<Plan> {
        let is_same = plan.columns.iter().zip(columns).all(|(column, to)| column.of.arrow() == to.of.arrow());
        if is_same {
            return Ok(plan);
        }
        let outputs = plan
            .identity()
            .into_iter()
            .zip(columns)
            .map(|(output, to)| self.expressions.widen(output, &to.of))
            .collect::<Result<_>>()?;
        Ok(plan.project(outputs, columns.to_vec()))
    }

    fn values(&self, values: &Values) -> Result<Plan> {
        let empty = datafusion_common::DFSchema::empty();
        let scope = Scope::new(&empty, &[]);
        let rows: Vec<Vec<Typed>> = values
            .values
            .iter()
            .map(|row| row.iter().map(|value| self.cell(value, &scope)).collect::<Result<_>>())
            .collect::<Result<_>>()?;
        let mut columns = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for place in 0..values.schema.fields().len() {
            let of = rows.iter().try_fold(SqlType::Null, |so_far, row| {
                common_type(&so_far, &row[place].of).ok_or_else(|| {
                    let message = format!("column {} of VALUES is {so_far} and {}", place + 1, row[place].of);
                    SqlError::new(Code::TypeMismatch, message).help("cast them to one type")
                })
            })?;
            let literals: Vec<ScalarValue> = rows
                .iter()
                .map(|row| match self.expressions.widen(row[place].clone(), &of)?.as_literal() {
                    Some(literal) => Ok(literal.clone()),
                    None => Err(SqlError::new(Code::Unsupported, "VALUES takes literals")
                        .help("write SELECT .. UNION ALL SELECT ..")),
                })
                .collect::<Result<_>>()?;
            let literals = literals
                .into_iter()
                .map(|literal| literal.cast_to(&of.arrow()))
                .collect::<std::result::Result<Vec<_>, _>>();
            let array = match literals {
                Ok(literals) if literals.is_empty() => Ok(new_empty_array(&of.arrow())),
                Ok(literals) => ScalarValue::iter_to_array(literals),
                Err(error) => Err(error),
            };
            // The column gets the Arrow type of the whole column: the metadata of text in arrays holds the greatest
            // length, which differs between single rows.
            let array = array.map_err(|error| SqlError::new(Code::Invalid, error.to_string()))?;
            arrays.push(relabelled(array, &of.arrow()).map_err(|error| {
                let message = format!("column {} of VALUES cannot be held as {of}: {error}", place + 1);
                SqlError::new(Code::Invalid, message)
            })?);
            let is_nullable = rows.iter().any(|row| row[place].is_nullable);
            columns.push(Column::plain(format!("EXPR${place}"), of, is_nullable));
        }
        let fields: Vec<_> = columns.iter().map(|column| column.of.field(&column.name, true)).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| SqlError::new(Code::Invalid, error.to_string()))?;
        Ok(Plan::new(columns, Node::Values(batch)))
    }

    /// Returns a value of VALUES; NULL has no type here, and gets the type of the other values of its column later.
    fn cell(&self, value: &Expr, scope: &Scope<'_>) -> Result<Typed> {
        match cell_of(value) {
            Expr::Literal(null, _) if null.is_null() => Ok(Typed::literal(ScalarValue::Null, SqlType::Null)),
            value => self.expressions.bind(value, scope),
        }
    }

    fn limit(&self, limit: &Limit) -> Result<Plan> {
        let number = |expression: &Option<Box<Expr>>| match expression.as_deref() {
            None => Ok(None),
            Some(Expr::Literal(Foreign::Int64(Some(number)), _)) if *number >= 0 => Ok(Some(*number as u64)),
            Some(other) => {
                let message =
                    format!("LIMIT and OFFSET take whole numbers from 0 on, and this is {}", said(other));
                Err(SqlError::new(Code::Unsupported, message))
            }
        };
        let (skip, fetch) = (number(&limit.skip)?.unwrap_or_default(), number(&limit.fetch)?);
        let fetch = fetch.ok_or_else(|| {
            SqlError::new(Code::Unsupported, "OFFSET without LIMIT is not supported").help("add LIMIT")
        })?;
        self.is_limited.set(true);
        let input = self.plan(&limit.input);
        self.is_limited.set(false);
        Ok(limited(input?, skip, fetch))
    }

    /// Returns the rows of a query in an order. By event time they can be sorted while they come. By other columns that
    /// takes an end of the input, or a LIMIT.
    fn sort(&self, sort: &Sort) -> Result<Plan> {
        let is_limited = self.is_limited.take() || sort.fetch.is_some();
        let input = self.plan(&sort.input)?;
        let scope = self.scope(&sort.input, &input);
        let width = input.columns.len();
        let (mut step, mut columns) = (input.identity(), input.columns.clone());
        let mut keys = Vec::new();
        for key in &sort.expr {
            let bound = self.expressions.bind(&key.expr, &scope)?;
            let place = bound.as_column().unwrap_or_else(|| {
                columns.push(Column::plain(said(&key.expr), bound.of.clone(), bound.is_nullable));
                step.push(bound);
                step.len() - 1
            });
            keys.push(SortKey { place, is_descending: !key.asc, is_null_first: key.nulls_first });
        }
        let at = sort.expr.first().and_then(|key| place_of(&key.expr));
        let is_by_time =
            keys.first().is_some_and(|key| columns[key.place].role == Role::Rowtime && !key.is_descending);
        let is_ending = self.binder.ends(&input);
        let may_be_final = is_ending && self.binder.answers != Answers::Changes;
        if !is_by_time && !is_limited && !may_be_final {
            return Err(never_sorted(is_ending).at(at));
        }
        let is_wider = step.len() > width;
        let kept: Vec<Typed> = step[..width].to_vec();
        let names = columns[..width].to_vec();
        let input = Box::new(if is_wider { input.project(step, columns.clone()) } else { input });
        let node = if is_by_time {
            let time = keys.remove(0).place;
            Node::Sort { input, time, keys }
        } else {
            Node::Final { input, order: keys, skip: 0, fetch: u64::MAX, is_retracting: false }
        };
        let sorted = Plan::new(columns, node).at(at);
        let sorted = if is_wider { sorted.project(kept, names) } else { sorted };
        Ok(match sort.fetch {
            None => sorted,
            Some(fetch) => limited(sorted, 0, fetch as u64),
        })
    }

    fn windows(&self, node: &WindowNode) -> Result<Plan> {
        let input = self.plan(&node.input)?;
        let time = &input.columns[node.time];
        let role = match time.role {
            Role::Rowtime => Role::Rowtime,
            Role::Proctime => {
                let message = "windows over processing time are not supported";
                return Err(SqlError::new(Code::Unsupported, message)
                    .at(node.place)
                    .help("use event time: declare WATERMARK FOR"));
            }
            _ => {
                let message = format!("`{}` is no event time", time.name);
                let error = SqlError::new(Code::Invalid, message).at(node.place);
                return Err(error.help(format!(
                    "declare WATERMARK FOR `{}` in its table; expressions are no event time",
                    time.name
                )));
            }
        };
        let spec = Arc::new(node.spec.clone());
        let is_local = matches!(time.of, SqlType::TimestampLtz(_));
        let windows = Windows { spec: Arc::clone(&spec), is_local };
        let mut columns = input.columns.clone();
        // A stream has one event time, which is that of the window from here on.
        for column in &mut columns {
            if column.role == Role::Rowtime {
                column.role = Role::Plain;
            }
        }
        columns[node.time].role = Role::Rowtime;
        let time_type = time.of.clone();
        let of = SqlType::Timestamp(3);
        columns.push(Column {
            name: "window_start".into(),
            of: of.clone(),
            is_nullable: false,
            role: Role::WindowStart(windows.clone()),
        });
        columns.push(Column {
            name: "window_end".into(),
            of,
            is_nullable: false,
            role: Role::WindowEnd(windows),
        });
        // `window_time` is the event time from here on, so the time column of the row loses this role.
        columns[node.time].role = Role::Plain;
        columns.push(Column { name: "window_time".into(), of: time_type, is_nullable: false, role });
        let made = Node::AssignWindows { input: Box::new(input), spec, time: node.time };
        Ok(Plan::new(columns, made).at(node.place))
    }

    fn aggregate(&self, aggregate: &Aggregate) -> Result<Plan> {
        let mut plan = self.aggregate_as_named(aggregate)?;
        // The planner's names of aggregates are long and contain its types, so the columns are named by the SQL of
        // the calls.
        let first = plan.columns.len().saturating_sub(aggregate.aggr_expr.len());
        for (column, call) in plan.columns.iter_mut().skip(first).zip(&aggregate.aggr_expr) {
            column.name = said(call);
        }
        Ok(plan)
    }

    fn aggregate_as_named(&self, aggregate: &Aggregate) -> Result<Plan> {
        let input = self.plan(&aggregate.input)?;
        let scope = self.scope(&aggregate.input, &input);
        // All keys of the GROUP BY, each once, and the grouping sets as lists of keys.
        let expressions: Vec<&Expr> =
            grouping_set_to_exprlist(&aggregate.group_expr).map_err(super::sql_error)?;
        let keys: Vec<Typed> =
            expressions.iter().map(|key| self.expressions.bind(key, &scope)).collect::<Result<_>>()?;
        let at = expressions.iter().copied().chain(&aggregate.aggr_expr).find_map(place_of);
        let sets = grouping_sets(&aggregate.group_expr, &expressions)?;
        let is_grouped = aggregate.group_expr.iter().any(|key| matches!(key, Expr::GroupingSet(_)));
        // The input of the aggregate has the keys first, then the arguments of the calls.
        let mut step: Vec<Typed> = keys.clone();
        let mut columns: Vec<Column> = keys
            .iter()
            .zip(&expressions)
            .map(|(key, expression)| {
                let role = key.as_column().map_or(Role::Plain, |place| input.columns[place].role.clone());
                Column { name: name_of(expression), of: key.of.clone(), is_nullable: key.is_nullable, role }
            })
            .collect();
        // A grouping set puts NULL into the keys that it leaves out, so an aggregate of a key reads a copy of that
        // column.
        let keys_count = if is_grouped { keys.len() } else { 0 };
        let mut calls = Vec::new();
        for (call, field) in aggregate
            .aggr_expr
            .iter()
            .zip(aggregate.schema.fields().iter().skip(keys.len() + usize::from(is_grouped)))
        {
            let made = self.aggregate_call(call, &scope, keys_count, &mut step, &mut columns)?;
            calls.push((made, field.name().clone()));
        }
        let role_of =
            |wanted: &dyn Fn(&Role) -> bool| (0..keys.len()).find(|place| wanted(&columns[*place].role));
        let start = role_of(&|role| matches!(role, Role::WindowStart(_)));
        let end = role_of(&|role| matches!(role, Role::WindowEnd(_)));
        let (Some(start), Some(end)) = (start, end) else {
            let mut places: Vec<usize> = (0..keys.len()).collect();
            let mut grouped = input.project(step, columns.clone());
            if is_grouped {
                let (expanded, grouping) = expand(grouped, &sets, keys.len(), &|_| false)?;
                places.push(grouping);
                grouped = expanded;
            }
            let ttl_ms = self.binder.state_ttl_ms;
            return Ok(group(grouped, places, calls, aggregate.schema.fields(), ttl_ms).at(at));
        };
        let Role::WindowEnd(windows) = columns[end].role.clone() else {
            return Err(SqlError::new(Code::Invalid, "a window has an end"));
        };
        let is_window = |place: usize| {
            place == start
                || place == end
                || columns[place].role == Role::Rowtime
                || matches!(&columns[place].role, Role::WindowStart(_) | Role::WindowEnd(_))
        };
        // The aggregate itself makes the window columns, so they are no keys.
        let own_keys: Vec<usize> = (0..keys.len()).filter(|place| !is_window(*place)).collect();
        let mut aggregated: Plan;
        let mut key_places: Vec<usize> = own_keys.clone();
        if is_grouped {
            let (expanded, grouping) =
                expand(input.project(step, columns.clone()), &sets, keys.len(), &is_window)?;
            key_places.push(grouping);
            columns = expanded.columns.clone();
            aggregated = expanded;
        } else {
            aggregated = input.project(step, columns.clone());
        }
        let windowing = Windowing::Given { windows, start, end };
        let calls_only: Vec<AggregateCall> = calls.iter().map(|(call, _)| call.clone()).collect();
        aggregated = window_aggregate(aggregated, windowing, key_places.clone(), calls_only, &calls).at(at);
        // The output columns are in the order of the planner's tree: keys, the number of the grouping set, results.
        let window_at = key_places.len() + calls.len();
        let mut order: Vec<usize> = Vec::new();
        for (place, column) in columns.iter().enumerate().take(keys.len()) {
            order.push(match &column.role {
                Role::WindowStart(_) => window_at,
                Role::WindowEnd(_) => window_at + 1,
                Role::Rowtime => window_at + 2,
                _ => own_keys.iter().position(|own| *own == place).unwrap_or_default(),
            });
        }
        if is_grouped {
            order.push(own_keys.len());
        }
        order.extend(key_places.len()..window_at);
        let outputs: Vec<Typed> = order
            .iter()
            .map(|place| {
                let column = &aggregated.columns[*place];
                Typed::column(*place, column.of.clone(), column.is_nullable)
            })
            .collect();
        let columns = order
            .iter()
            .zip(aggregate.schema.fields())
            .map(|(place, field)| Column {
                name: without_mark(field.name()).to_owned(),
                ..aggregated.columns[*place].clone()
            })
            .collect();
        Ok(aggregated.project(outputs, columns))
    }

    /// Returns an aggregate call. The values that it reads are appended to the columns of `step`, unless they are
    /// among these from the index `own_from` on already.
    pub(super) fn aggregate_call(
        &self,
        call: &Expr,
        scope: &Scope<'_>,
        own_from: usize,
        step: &mut Vec<Typed>,
        columns: &mut Vec<Column>,
    ) -> Result<AggregateCall> {
        let call = match call {
            Expr::Alias(alias) => &*alias.expr,
            call => call,
        };
        let Expr::AggregateFunction(AggregateFunction { func, params }) = call else {
            return Err(SqlError::new(Code::Unsupported, format!("{} is not supported here", said(call))));
        };
        let name = func.name().to_uppercase();
        if !params.order_by.is_empty() {
            let message = format!("ORDER BY within {name} is not supported");
            return Err(SqlError::new(Code::Unsupported, message));
        }
        let filter = params.filter.as_deref();
        self.aggregate_of(&name, &params.args, params.distinct, filter, scope, own_from, step, columns)
            .map_err(|error| error.at(place_of(call)))
    }

    /// Returns a call of the aggregate whose name, in upper case, is `name`. Its arguments are appended to `step` as
    /// in [`aggregate_call`](Self::aggregate_call).
    #[expect(clippy::too_many_arguments, reason = "they are the parts of a call, and where it stands")]
    pub(super) fn aggregate_of(
        &self,
        name: &str,
        arguments: &[Expr],
        is_distinct: bool,
        filter: Option<&Expr>,
        scope: &Scope<'_>,
        own_from: usize,
        step: &mut Vec<Typed>,
        columns: &mut Vec<Column>,
    ) -> Result<AggregateCall> {
        let function = aggregate(name)
            .ok_or_else(|| SqlError::new(Code::UnknownFunction, format!("there is no aggregate {name}")))?;
        let arguments: Vec<Typed> = arguments
            .iter()
            .filter(|argument| !is_star(argument))
            .map(|argument| self.expressions.bind(argument, scope))
            .collect::<Result<_>>()?;
        let given: Vec<_> = arguments.iter().map(argument).collect();
        let bound = (function.bind)(&given, self.binder.context).map_err(|error| {
            let error = SqlError::new(Code::TypeMismatch, format!("{name}: {error}"));
            error.help(format!("it is called {}", function.usage))
        })?;
        let mut add = |value: Typed| {
            // A column that several calls read is appended once.
            if let Some(place) = value.as_column()
                && let Some(known) =
                    step.iter().skip(own_from).position(|known| known.as_column() == Some(place))
            {
                return own_from + known;
            }
            columns.push(Column::plain(format!("${}", step.len()), value.of.clone(), value.is_nullable));
            step.push(value);
            step.len() - 1
        };
        let places = arguments
            .into_iter()
            .zip(&bound.arguments)
            .map(|(value, to)| {
                let value = if value.of.arrow() == to.arrow() {
                    value
                } else {
                    self.expressions.cast_to(value, to, false)?
                };
                Ok(add(value))
            })
            .collect::<Result<_>>()?;
        let filter = match filter {
            None => None,
            Some(filter) => Some(add(self.expressions.bind_condition(filter, scope)?)),
        };
        let aggregate = thalweg_sql_exec::plan::Aggregate::Function(function);
        let function = if is_distinct { bound.distinct(process_seed()) } else { bound };
        Ok(AggregateCall { aggregate, is_distinct, arguments: places, filter, function })
    }
}

pub(super) fn is_proctime(expression: &Expr) -> bool {
    match expression {
        Expr::Alias(alias) => is_proctime(&alias.expr),
        Expr::ScalarFunction(function) => function.func.name() == "proctime",
        _ => false,
    }
}

/// Returns a cell of VALUES without the cast that the planner adds around a call of [`CELL`].
fn cell_of(value: &Expr) -> &Expr {
    let inner = match value {
        Expr::Cast(cast) => &*cast.expr,
        value => value,
    };
    match inner {
        Expr::ScalarFunction(function) if function.func.name() == CELL => inner,
        _ => value,
    }
}

/// Returns whether an argument is the star of COUNT(*), which is no value.
#[expect(
    deprecated,
    reason = "it is what the planner makes of the star, as long as nobody tells it what COUNT is"
)]
fn is_star(expression: &Expr) -> bool {
    matches!(expression, Expr::Wildcard { .. })
}

fn name_of(expression: &Expr) -> String {
    match expression {
        Expr::Column(column) => without_mark(&column.name).to_owned(),
        other => other.schema_name().to_string(),
    }
}

fn scan_of(table: Arc<Table>, places: Vec<usize>) -> Plan {
    let column = |place: &usize| {
        let column = &table.columns[*place];
        let is_rowtime = table.rowtime.as_ref().is_some_and(|rowtime| rowtime.column == *place);
        let role = match column.kind {
            TableColumnKind::Proctime => Role::Proctime,
            _ if is_rowtime => Role::Rowtime,
            _ => Role::Plain,
        };
        // A row whose event time is NULL fails the query, so the column is never NULL.
        let is_nullable = column.is_nullable && !is_rowtime;
        Column { name: column.name.clone(), of: column.of.clone(), is_nullable, role }
    };
    let columns = places.iter().map(column).collect();
    Plan::new(columns, Node::Scan { table, places })
}

/// Returns the place of the first result of a SELECT that has one.
fn first_result(logical: &LogicalPlan) -> Option<Place> {
    match logical {
        LogicalPlan::Projection(projection) => projection.expr.iter().find_map(place_of),
        _ => None,
    }
}

/// Adds a filter to a plan. A condition on the rank of a top-N limits the ranks that the top-N keeps instead. `at` is
/// the place of the condition.
pub(super) fn ranked(input: Plan, condition: Typed, at: Option<Place>) -> Plan {
    let mut terms = Vec::new();
    let mut rest = vec![condition];
    while let Some(condition) = rest.pop() {
        match condition.expression {
            Expression::And(inner) => rest.extend(inner.into_iter().rev()),
            expression => terms.push(Typed { expression, ..condition }),
        }
    }
    // Conditions on ranks are applied first, because only a projection without expressions may stand between them and
    // their top-N.
    let bounds: Vec<Option<(u64, u64)>> = terms.iter().map(|term| rank_bound(&input, term)).collect();
    let has_end = bounds.iter().flatten().any(|(_, to)| *to < u64::MAX);
    let mut plan = input;
    if has_end {
        for (from, to) in bounds.iter().flatten() {
            plan = bounded(plan, *from, *to);
        }
    }
    for (term, bound) in terms.into_iter().zip(bounds) {
        if !has_end || bound.is_none() {
            plan = plan.filter(term).at(at);
        }
    }
    plan
}

/// Returns the first and the last rank that a condition keeps, if it compares the rank of the top-N below with a
/// number and only a projection of columns stands between; `None` for other conditions.
fn rank_bound(plan: &Plan, condition: &Typed) -> Option<(u64, u64)> {
    let Expression::Call { call: Call::Compare(op), arguments, .. } = &condition.expression else {
        return None;
    };
    let [left, right] = &arguments[..] else { return None };
    let place = |value: &Typed| match &value.expression {
        Expression::Column(place) => Some(*place),
        Expression::Call { call: Call::Cast { .. }, arguments, .. } => arguments.first()?.as_column(),
        _ => None,
    };
    let number = |value: &Typed| match value.as_literal()? {
        ScalarValue::Int32(number) => number.map(i64::from),
        ScalarValue::Int64(number) => *number,
        _ => None,
    };
    let (place, number, op) = match (place(left), number(right), place(right), number(left)) {
        (Some(place), Some(number), _, _) => (place, number, *op),
        (_, _, Some(place), Some(number)) => (place, number, op.turned()),
        _ => return None,
    };
    let is_rank = |plan: &Plan, place: usize| {
        matches!(plan.node, Node::WindowTopN { .. } | Node::Rank { .. }) && place + 1 == plan.columns.len()
    };
    let is_of_rank = match &plan.node {
        Node::Calc { input, conditions, outputs } if conditions.is_empty() => {
            outputs[place].as_column().is_some_and(|below| is_rank(input, below))
        }
        _ => is_rank(plan, place),
    };
    if !is_of_rank {
        return None;
    }
    let number = u64::try_from(number).unwrap_or_default();
    Some(match op {
        ComparisonOp::Lt => (1, number.saturating_sub(1)),
        ComparisonOp::LtEq => (1, number),
        ComparisonOp::Gt => (number.saturating_add(1), u64::MAX),
        ComparisonOp::GtEq => (number.max(1), u64::MAX),
        ComparisonOp::Eq => (number, number),
        ComparisonOp::NotEq | ComparisonOp::IsDistinctFrom | ComparisonOp::IsNotDistinctFrom => return None,
    })
}

fn bounded(plan: Plan, least: u64, most: u64) -> Plan {
    let Plan { columns, node, at } = plan;
    let node = match node {
        Node::Calc { input, conditions, outputs } => {
            Node::Calc { input: Box::new(bounded(*input, least, most)), conditions, outputs }
        }
        Node::WindowTopN { input, window_end, is_local, keys, order, from, to } => {
            let (from, to) = (from.max(least), to.min(most));
            Node::WindowTopN { input, window_end, is_local, keys, order, from, to }
        }
        Node::Rank { input, keys, order, function, from, to, has_rank, is_retracting, ttl_ms } => {
            let (from, to) = (from.max(least), to.min(most));
            Node::Rank { input, keys, order, function, from, to, has_rank, is_retracting, ttl_ms }
        }
        other => other,
    };
    Plan { columns, node, at }
}
