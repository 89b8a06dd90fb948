//! Calls with OVER: aggregates over the rows before each row, and ranking functions.
//!
//! A query has one window for all its calls, by event time or by order of arrival, as in Flink. A query with
//! ROW_NUMBER alone becomes one of three operators, which is decided when the whole query is known: a top-N per
//! window if its keys have the window's columns, a top-N if a condition limits the rank ([`super::changelog`]), and
//! else an aggregate like others.
//!
//! Source: Flink's documentation, "Over Aggregation", "Top-N"; `OverAggregateITCase` for which functions there are.
//! LEAD, NTILE, PERCENT_RANK and CUME_DIST need rows that have not come, so neither Flink nor we have them in streams.
//!
//! Differs from Flink: rows are not ordered by columns that are no time. FILTER is refused; whether Flink has it here is not
//! documented.

use datafusion_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion_expr::logical_plan::Window;
use datafusion_expr::{Expr, LogicalPlan, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition};
use thalweg_sql_exec::exec::over::{lag, standing};
use thalweg_sql_exec::plan::{
    Aggregate, AggregateCall, Column, Frame, Node, Plan, RankFunction, Role, SortKey,
};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::{SqlType, common_type};
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, SqlError};

use super::expression::{Scope, place_of};
use super::foreign::Foreign;
use super::query::{Lowering, is_proctime};

#[cfg(test)]
pub(super) mod tests;

type Result<T> = std::result::Result<T, SqlError>;

/// Greatest number of rows by which LAG goes back.
const LAG_ROWS_MAX: i64 = 1_000_000;

/// Projection below an OVER window: the columns of its input, followed by the expressions that the window reads.
struct Step {
    outputs: Vec<Typed>,
    columns: Vec<Column>,
}

impl Step {
    fn over(input: &Plan) -> Self {
        Step { outputs: input.identity(), columns: input.columns.clone() }
    }

    /// Returns the index of the column with a value. An expression is appended as a new column with the given role.
    fn place(&mut self, value: Typed, role: Role) -> usize {
        value.as_column().unwrap_or_else(|| {
            let column =
                Column::plain(format!("${}", self.columns.len()), value.of.clone(), value.is_nullable);
            self.columns.push(Column { role, ..column });
            self.outputs.push(value);
            self.columns.len() - 1
        })
    }

    fn apply(self, input: Plan) -> Plan {
        if self.columns.len() == input.columns.len() {
            input
        } else {
            input.project(self.outputs, self.columns)
        }
    }
}

impl Lowering<'_> {
    /// Plans the OVER calls of a query.
    pub(super) fn over(&self, window: &Window) -> Result<Plan> {
        // DataFusion's planner stacks the different windows of one query directly on each other. Windows of a
        // sub-query have a projection between.
        let mut windows = vec![window];
        let mut below = &*window.input;
        while let LogicalPlan::Window(inner) = below {
            windows.push(inner);
            below = &*inner.input;
        }
        let input = self.plan(below)?;
        let scope = self.scope(below, &input);
        let calls: Vec<&Expr> = windows.iter().rev().flat_map(|window| &window.window_expr).collect();
        let functions: Vec<&WindowFunction> =
            calls.iter().map(|call| function_of(call)).collect::<Result<_>>()?;
        let mut step = Step::over(&input);
        let width = input.columns.len();
        let at = calls.iter().copied().find_map(place_of);
        let plan = match &functions[..] {
            [function] if let Some(rank) = rank_of(function) => {
                let node = self.rank_node(rank, &function.params, &scope, &mut step)?;
                let input = step.apply(input.clone());
                let mut columns = input.columns.clone();
                columns.push(Column::plain("row_number", SqlType::BigInt, false));
                Plan::new(columns, node.over(input)).at(at)
            }
            _ => {
                let (keys, time, frame) = self.window_of(&calls, &functions, &scope, &mut step)?;
                let made: Vec<AggregateCall> = functions
                    .iter()
                    .zip(&calls)
                    .map(|(function, call)| {
                        let made = self.over_call(function, time, &scope, &mut step);
                        let made = made.map_err(|error| error.at(place_of(call)))?;
                        if frame.is_bounded() && made.function.create_retractable.is_none() {
                            let message = format!("{} over a bounded frame is not supported", made.name());
                            let error = SqlError::new(Code::Unsupported, message).at(place_of(call));
                            return Err(error.help("write UNBOUNDED PRECEDING"));
                        }
                        Ok(made)
                    })
                    .collect::<Result<_>>()?;
                let input = step.apply(input.clone());
                let mut columns = input.columns.clone();
                columns.extend(made.iter().map(|call| {
                    Column::plain(
                        call.name().to_lowercase(),
                        call.function.result.clone(),
                        call.function.is_nullable,
                    )
                }));
                let ttl_ms = self.binder.state_ttl_ms;
                let node = Node::Over { input: Box::new(input), keys, time, frame, calls: made, ttl_ms };
                Plan::new(columns, node).at(at)
            }
        };
        // The columns that were appended for the window are dropped again.
        let made = plan.columns.len() - functions.len();
        if made == width {
            return Ok(plan);
        }
        let is_kept = |place: &usize| *place < width || *place >= made;
        let identity = plan.identity();
        let kept: Vec<usize> = (0..plan.columns.len()).filter(is_kept).collect();
        let columns = kept.iter().map(|place| plan.columns[*place].clone()).collect();
        let outputs = kept.iter().map(|place| identity[*place].clone()).collect();
        Ok(plan.project(outputs, columns))
    }

    /// Returns the indexes of the PARTITION BY columns of a window.
    fn keys_of(
        &self,
        params: &WindowFunctionParams,
        scope: &Scope<'_>,
        step: &mut Step,
    ) -> Result<Vec<usize>> {
        let key = |key: &Expr| Ok(step.place(self.expressions.bind(key, scope)?, Role::Plain));
        params.partition_by.iter().map(key).collect()
    }

    /// Returns the window that all calls share: the indexes of its keys, the index of its event time column (`None`
    /// for the order of arrival), and the frame.
    fn window_of(
        &self,
        calls: &[&Expr],
        functions: &[&WindowFunction],
        scope: &Scope<'_>,
        step: &mut Step,
    ) -> Result<(Vec<usize>, Option<usize>, Frame)> {
        let [first, rest @ ..] = functions else {
            return Err(SqlError::new(Code::Invalid, "OVER has no calls"));
        };
        let place = calls.first().and_then(|call| place_of(call));
        let unsupported = |message: String| SqlError::new(Code::Unsupported, message).at(place);
        let params = &first.params;
        let help = "order by a column of event time, or of processing time";
        let order = match &params.order_by[..] {
            [order] => order,
            [] => return Err(unsupported("OVER without ORDER BY is not supported".to_owned()).help(help)),
            _ => {
                return Err(unsupported("OVER with several columns in ORDER BY is not supported".to_owned())
                    .help(help));
            }
        };
        let bound = self.expressions.bind(&order.expr, scope)?;
        let role = bound.as_column().map(|place| &scope.columns[place].role);
        let time = match role {
            Some(Role::Rowtime) => bound.as_column(),
            Some(Role::Proctime) => None,
            _ if is_proctime(&order.expr) => None,
            _ => {
                let message = format!("OVER goes by time, and {} is none", order.expr);
                return Err(unsupported(message).help(help));
            }
        };
        if !order.asc {
            let message = "OVER goes by ascending time: ORDER BY .. DESC is not supported";
            return Err(unsupported(message.to_owned()));
        }
        let frame = frame_of(first, time)?;
        for (other, call) in rest.iter().zip(&calls[1..]) {
            let is_same = other.params.partition_by == params.partition_by
                && other.params.order_by == params.order_by
                && frame_of(other, time)? == frame;
            if !is_same {
                let error = SqlError::new(
                    Code::Unsupported,
                    "several different OVER windows in one query are not supported",
                );
                let help = "give all calls the same window, or compute one of them in a sub-query; ROW_NUMBER goes by ROWS, and all \
                            others go by RANGE if they do not say";
                return Err(error.at(place_of(call)).help(help));
            }
        }
        Ok((self.keys_of(params, scope, step)?, time, frame))
    }

    /// Returns the aggregate call for a function with OVER.
    fn over_call(
        &self,
        function: &WindowFunction,
        time: Option<usize>,
        scope: &Scope<'_>,
        step: &mut Step,
    ) -> Result<AggregateCall> {
        let params = &function.params;
        let name = function.fun.name().to_uppercase();
        if params.filter.is_some() {
            let error = SqlError::new(Code::Unsupported, "FILTER with OVER is not supported");
            return Err(error.help("write CASE WHEN .. THEN .. END"));
        }
        if is_aggregate(function) {
            let Step { outputs, columns } = step;
            return self.aggregate_of(&name, &params.args, params.distinct, None, scope, 0, outputs, columns);
        }
        if params.distinct {
            return Err(SqlError::new(Code::Invalid, format!("{name} takes no DISTINCT")));
        }
        if let Some(rank) = rank_of(function) {
            if !params.args.is_empty() {
                return Err(SqlError::new(Code::TypeMismatch, format!("{name} takes no arguments")));
            }
            return Ok(rank_call(rank, time, scope.columns));
        }
        if name == "LAG" {
            return self.lag_call(&params.args, scope, step);
        }
        let message = format!("{name} needs rows that have not come yet: it is not supported in streams");
        Err(SqlError::new(Code::Unsupported, message))
    }

    fn lag_call(&self, arguments: &[Expr], scope: &Scope<'_>, step: &mut Step) -> Result<AggregateCall> {
        let usage = "it is called LAG(value [, rows [, default]])";
        let mismatch = |message: String| SqlError::new(Code::TypeMismatch, message).help(usage);
        let bound: Vec<Typed> =
            arguments.iter().map(|argument| self.expressions.bind(argument, scope)).collect::<Result<_>>()?;
        let (value, offset, default) = match &bound[..] {
            [value] => (value, 1, None),
            [value, offset] => (value, offset_of(offset)?, None),
            [value, offset, default] => (value, offset_of(offset)?, Some(default)),
            _ => return Err(mismatch(format!("LAG: {} arguments do not fit", bound.len()))),
        };
        let of = match default {
            None => value.of.clone(),
            Some(default) => common_type(&value.of, &default.of).ok_or_else(|| {
                mismatch(format!("LAG: the value is {}, and the default {}", value.of, default.of))
            })?,
        };
        if of == SqlType::Null {
            return Err(mismatch("LAG: argument 1 is NULL".to_owned()));
        }
        let is_nullable = value.is_nullable || default.is_none_or(|default| default.is_nullable);
        let places = std::iter::once(value)
            .chain(default)
            .map(|value| Ok(step.place(self.expressions.widen(value.clone(), &of)?, Role::Plain)))
            .collect::<Result<_>>()?;
        let function = lag(&of, offset, default.is_some(), is_nullable);
        let aggregate = Aggregate::Lag { rows: offset };
        Ok(AggregateCall { aggregate, is_distinct: false, arguments: places, filter: None, function })
    }

    /// Returns the ranking that a ranking function with OVER asks for; its indexes are of the columns of `step`.
    fn rank_node(
        &self,
        function: RankFunction,
        params: &WindowFunctionParams,
        scope: &Scope<'_>,
        step: &mut Step,
    ) -> Result<Ranking> {
        let name = function.name();
        if !params.args.is_empty() || params.distinct || params.filter.is_some() {
            return Err(SqlError::new(Code::TypeMismatch, format!("{name} takes no arguments")));
        }
        if params.order_by.is_empty() {
            let error =
                SqlError::new(Code::Unsupported, format!("{name} OVER without ORDER BY is not supported"));
            return Err(error.help("say by which column rows are ranked"));
        }
        frame_of_rank(name, params)?;
        let keys = self.keys_of(params, scope, step)?;
        let mut order = Vec::new();
        for key in &params.order_by {
            let role = if is_proctime(&key.expr) { Role::Proctime } else { Role::Plain };
            let place = step.place(self.expressions.bind(&key.expr, scope)?, role);
            order.push(SortKey { place, is_descending: !key.asc, is_null_first: key.nulls_first });
        }
        let find = |wanted: &dyn Fn(&Role) -> bool| {
            keys.iter().copied().find(|place| wanted(&step.columns[*place].role))
        };
        let start = find(&|role| matches!(role, Role::WindowStart(_)));
        let end = find(&|role| matches!(role, Role::WindowEnd(_)));
        match (start, end) {
            (Some(_), Some(window_end)) if function == RankFunction::RowNumber => {
                let is_local = match &step.columns[window_end].role {
                    Role::WindowEnd(windows) => windows.is_local,
                    _ => false,
                };
                Ok(Ranking::OfWindow { window_end, is_local, keys, order })
            }
            (Some(_), Some(_)) => {
                let error = SqlError::new(
                    Code::Unsupported,
                    format!("{name} of the rows of a window is not supported"),
                );
                Err(error.help("use ROW_NUMBER"))
            }
            _ => Ok(Ranking::OfAll { keys, order, function, ttl_ms: self.binder.state_ttl_ms }),
        }
    }
}

/// Ranking of rows before it is known which ranks the query keeps: per window, or over all rows of a key.
enum Ranking {
    OfWindow { window_end: usize, is_local: bool, keys: Vec<usize>, order: Vec<SortKey> },
    OfAll { keys: Vec<usize>, order: Vec<SortKey>, function: RankFunction, ttl_ms: Option<i64> },
}

impl Ranking {
    fn over(self, input: Plan) -> Node {
        let input = Box::new(input);
        // All ranks are kept, until a filter of the query limits them.
        let (from, to) = (1, u64::MAX);
        match self {
            Ranking::OfWindow { window_end, is_local, keys, order } => {
                Node::WindowTopN { input, window_end, is_local, keys, order, from, to }
            }
            Ranking::OfAll { keys, order, function, ttl_ms } => Node::Rank {
                input,
                keys,
                order,
                function,
                from,
                to,
                has_rank: true,
                is_retracting: false,
                ttl_ms,
            },
        }
    }
}

/// Plans a ranking of which all ranks are kept as an OVER aggregate, which needs an order by ascending time.
///
/// # Errors
/// [`Code::Unsupported`] for another order.
pub(super) fn rank_as_over(
    input: Plan,
    keys: Vec<usize>,
    order: &[SortKey],
    function: RankFunction,
    ttl_ms: Option<i64>,
    columns: Vec<Column>,
) -> Result<Plan> {
    let time = match order {
        [key] if !key.is_descending && input.columns[key.place].role == Role::Rowtime => Some(key.place),
        [key] if !key.is_descending && input.columns[key.place].role == Role::Proctime => None,
        _ => {
            let name = function.name();
            let message = format!(
                "{name} OVER counts all rows, in an order other than that of time, which is not supported"
            );
            let error = SqlError::new(Code::Unsupported, message);
            return Err(error.help(format!(
                "order by event time, or say how many are wanted: WHERE {} <= 10",
                name.to_lowercase()
            )));
        }
    };
    let is_by_rows = time.is_none() || function == RankFunction::RowNumber;
    let frame = if is_by_rows { Frame::Rows(None) } else { Frame::Range(None) };
    let calls = vec![rank_call(function, time, &input.columns)];
    Ok(Plan::new(columns, Node::Over { input: Box::new(input), keys, time, frame, calls, ttl_ms }))
}

fn rank_call(function: RankFunction, time: Option<usize>, columns: &[Column]) -> AggregateCall {
    // ROW_NUMBER counts rows, whatever their times are.
    let time = time.filter(|_| function != RankFunction::RowNumber);
    AggregateCall {
        aggregate: Aggregate::Rank(function),
        is_distinct: false,
        arguments: time.into_iter().collect(),
        filter: None,
        function: standing(function, time.map(|place| columns[place].of.clone())),
    }
}

fn function_of(call: &Expr) -> Result<&WindowFunction> {
    match call {
        Expr::Alias(alias) => function_of(&alias.expr),
        Expr::WindowFunction(function) => Ok(function),
        other => Err(SqlError::new(Code::Unsupported, format!("{other} is not supported here"))),
    }
}

fn rank_of(function: &WindowFunction) -> Option<RankFunction> {
    let WindowFunctionDefinition::WindowUDF(udf) = &function.fun else { return None };
    Some(match udf.name() {
        "row_number" => RankFunction::RowNumber,
        "rank" => RankFunction::Rank,
        "dense_rank" => RankFunction::DenseRank,
        _ => return None,
    })
}

/// Returns whether an OVER call is an aggregate. The planner takes FIRST_VALUE and LAST_VALUE for functions of
/// windows.
fn is_aggregate(function: &WindowFunction) -> bool {
    match &function.fun {
        WindowFunctionDefinition::AggregateUDF(_) => true,
        WindowFunctionDefinition::WindowUDF(udf) => matches!(udf.name(), "first_value" | "last_value"),
    }
}

fn offset_of(offset: &Typed) -> Result<u32> {
    let number = match offset.as_literal() {
        Some(ScalarValue::Int32(Some(number))) => Some(i64::from(*number)),
        Some(ScalarValue::Int64(Some(number))) => Some(*number),
        _ => None,
    };
    let fits = number
        .filter(|number| (0..=LAG_ROWS_MAX).contains(number))
        .and_then(|number| u32::try_from(number).ok());
    fits.ok_or_else(|| {
        let message =
            format!("LAG goes back by a number of rows from 0 to {LAG_ROWS_MAX}, and this is {offset}");
        SqlError::new(Code::TypeMismatch, message)
    })
}

fn frame_of(function: &WindowFunction, time: Option<usize>) -> Result<Frame> {
    let frame = &function.params.window_frame;
    let name = function.fun.name().to_uppercase();
    if !is_aggregate(function) {
        frame_of_rank(&name, &function.params)?;
        // ROW_NUMBER goes by rows, because rows of the same time have different numbers.
        let is_by_rows = time.is_none() || rank_of(function) == Some(RankFunction::RowNumber);
        return Ok(if is_by_rows { Frame::Rows(None) } else { Frame::Range(None) });
    }
    let unsupported = |what: &str| Err(SqlError::new(Code::Unsupported, format!("{what} is not supported")));
    if frame.end_bound != WindowFrameBound::CurrentRow {
        return unsupported("a frame that does not end at CURRENT ROW");
    }
    let number = |value: &Foreign| match value {
        value if value.is_null() => Ok(None),
        Foreign::UInt64(Some(number)) => Ok(Some(*number)),
        Foreign::Utf8(Some(number)) => match number.parse::<u64>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => {
                Err(SqlError::new(Code::Invalid, format!("a frame does not begin {number} before its row")))
            }
        },
        other => Err(SqlError::new(Code::Invalid, format!("a frame does not begin {other} before its row"))),
    };
    let start = match &frame.start_bound {
        WindowFrameBound::CurrentRow => Some(0),
        WindowFrameBound::Preceding(value) => number(value)?,
        WindowFrameBound::Following(_) => return unsupported("a frame that begins behind its row"),
    };
    Ok(match (frame.units, start) {
        (WindowFrameUnits::Rows, start) => Frame::Rows(start),
        // In the order of arrival no two rows have the same time, so RANGE equals ROWS.
        (WindowFrameUnits::Range, None) if time.is_none() => Frame::Rows(None),
        (WindowFrameUnits::Range, None) => Frame::Range(None),
        (WindowFrameUnits::Range, Some(span_ms)) => {
            Frame::Range(Some(i64::try_from(span_ms).unwrap_or(i64::MAX)))
        }
        (WindowFrameUnits::Groups, _) => return unsupported("GROUPS"),
    })
}

/// Refuses a ranking function with a frame of its own. Without one, the planner gives it a frame of all rows before.
fn frame_of_rank(name: &str, params: &WindowFunctionParams) -> Result<()> {
    let frame = &params.window_frame;
    let is_default = frame.start_bound.is_unbounded()
        && (params.order_by.is_empty() || frame.end_bound == WindowFrameBound::CurrentRow);
    if is_default {
        return Ok(());
    }
    Err(SqlError::new(Code::Invalid, format!("{name} takes no frame, and this is {frame}")))
}
