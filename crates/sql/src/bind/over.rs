//! Calls with OVER: aggregates over the rows before each row, and ranking functions.
//!
//! The calls of a SELECT are collected while its expressions are typed, each call once. Calls of the same window are
//! computed by one operator, and each further window by an operator above it. A query with ROW_NUMBER alone becomes one
//! of three operators, which is decided when the whole query is known: a top-N per window if its keys have the window's
//! columns, a top-N if a condition limits the rank ([`super::changelog`]), and else an aggregate like others.
//!
//! Source: Flink's documentation, "Over Aggregation", "Top-N"; `OverAggregateITCase` for which functions there are.
//! LEAD, NTILE, PERCENT_RANK and CUME_DIST need rows that have not come, so neither Flink nor we have them in streams.
//!
//! Differs from Flink: rows are not ordered by columns that are no time; a SELECT may have several windows, of which
//! Flink has one in streams. FILTER is refused; whether Flink has it here is not documented.

use std::cell::RefCell;

use sqlparser::ast::{
    Expr, Function, NamedWindowDefinition, NamedWindowExpr, Value, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};
use thalweg_sql_exec::exec::over::{lag, standing};
use thalweg_sql_exec::plan::{
    Aggregate, AggregateCall, Column, Frame, Node, Plan, RankFunction, Role, SortKey,
};
use thalweg_sql_functions::aggregates::aggregate;
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::functions;
use thalweg_sql_functions::types::{SqlType, common_type};
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::aggregate::{Below, is_distinct};
use super::expression::unknown_function;
use super::scope::{Base, Scope};
use super::syntax::{is_proctime, not_supported, place_of_expression, said};

#[cfg(test)]
pub(super) mod tests;

type Result<T> = std::result::Result<T, SqlError>;

/// Functions of OVER windows that are no aggregates.
pub(super) const RANKS: [&str; 8] =
    ["ROW_NUMBER", "RANK", "DENSE_RANK", "LAG", "LEAD", "PERCENT_RANK", "CUME_DIST", "NTILE"];

/// Greatest number of rows by which LAG goes back.
const LAG_ROWS_MAX: i64 = 1_000_000;

/// Collection of the OVER calls of a SELECT.
pub(super) struct Overs<'a> {
    /// Windows that the SELECT names in its WINDOW clause.
    named: &'a [NamedWindowDefinition],
    calls: RefCell<Vec<OverCall>>,
}

/// A call with OVER. Its values read the columns of the SELECT behind its groups.
struct OverCall {
    function: Ranked,
    is_distinct: bool,
    arguments: Vec<Typed>,
    window: Window,
    at: Option<Place>,
}

/// Function of a call with OVER.
#[derive(Clone, PartialEq)]
enum Ranked {
    Aggregate(Aggregate),
    Rank(RankFunction),
    Lag,
}

/// Window of a call with OVER.
struct Window {
    keys: Vec<Typed>,
    order: Vec<OrderKey>,
    frame: Given,
}

/// Key of ORDER BY within OVER.
struct OrderKey {
    value: Typed,
    role: Role,
    is_descending: bool,
    is_null_first: bool,
    /// The key as messages show it.
    shown: String,
}

/// Frame as it is written.
#[derive(Clone, PartialEq)]
enum Given {
    /// No frame is written.
    None,
    Rows(Option<u64>),
    Range(Option<i64>),
}

impl Window {
    fn is_like(&self, other: &Window) -> bool {
        let all = |left: &[Typed], right: &[Typed]| {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.has_form_of(right))
        };
        let keys =
            |window: &Window| -> Vec<Typed> { window.order.iter().map(|key| key.value.clone()).collect() };
        let ways = |window: &Window| -> Vec<(bool, bool)> {
            window.order.iter().map(|key| (key.is_descending, key.is_null_first)).collect()
        };
        all(&self.keys, &other.keys) && all(&keys(self), &keys(other)) && ways(self) == ways(other)
    }
}

impl<'a> Overs<'a> {
    /// Creates an empty collection for a SELECT with a WINDOW clause.
    pub(super) fn new(named: &'a [NamedWindowDefinition]) -> Self {
        Overs { named, calls: RefCell::default() }
    }

    /// Returns the window of a call as it is written.
    fn window_of<'b>(&'b self, window: &'b WindowType) -> Result<&'b WindowSpec> {
        let mut name = match window {
            WindowType::WindowSpec(spec) => return checked(spec),
            WindowType::NamedWindow(name) => name,
        };
        // A window may be named by another name, so the search ends after as many steps as there are names.
        for _ in 0..=self.named.len() {
            let found = self.named.iter().find(|NamedWindowDefinition(known, _)| known.value == name.value);
            match found {
                Some(NamedWindowDefinition(_, NamedWindowExpr::WindowSpec(spec))) => return checked(spec),
                Some(NamedWindowDefinition(_, NamedWindowExpr::NamedWindow(other))) => name = other,
                None => break,
            }
        }
        let error = SqlError::new(Code::Invalid, format!("no window is called `{}` here", name.value));
        Err(error.help("name it: WINDOW w AS (PARTITION BY .. ORDER BY ..)"))
    }
}

fn checked(window: &WindowSpec) -> Result<&WindowSpec> {
    match window.window_name {
        Some(_) => Err(not_supported("a window that adds to another: write it out")),
        None => Ok(window),
    }
}

impl Planner<'_> {
    /// Returns the result of a call with OVER, which is collected unless an equal call was collected before. `name` is
    /// that of the function, in upper case.
    pub(super) fn over_call(
        &self,
        name: &str,
        function: &Function,
        arguments: &[&Expr],
        window: &WindowType,
        whole: &Expr,
        scope: &Scope<'_>,
    ) -> Result<Typed> {
        let Some(overs) = scope.overs else {
            let message = format!("{name} OVER stands where it cannot be computed");
            return Err(SqlError::new(Code::Unsupported, message).help("compute it in a sub-query"));
        };
        let known = match name {
            "ROW_NUMBER" => Ranked::Rank(RankFunction::RowNumber),
            "RANK" => Ranked::Rank(RankFunction::Rank),
            "DENSE_RANK" => Ranked::Rank(RankFunction::DenseRank),
            "LAG" => Ranked::Lag,
            name if RANKS.contains(&name) => {
                let message =
                    format!("{name} needs rows that have not come yet: it is not supported in streams");
                return Err(SqlError::new(Code::Unsupported, message));
            }
            name => match aggregate(name) {
                Some(function) => Ranked::Aggregate(Aggregate::Function(function)),
                None if let Some(user) = self.binder.catalog.functions().aggregate(name) => {
                    Ranked::Aggregate(Aggregate::User(user.clone()))
                }
                None if self.binder.catalog.functions().get(name).is_some() => {
                    let message = format!("{name} is no aggregate, and takes no OVER");
                    return Err(SqlError::new(Code::Invalid, message));
                }
                None if functions::function(name).is_some() => {
                    let message = format!("{name} is no aggregate, and takes no OVER");
                    return Err(SqlError::new(Code::Invalid, message));
                }
                None => return Err(unknown_function(name, self.binder.catalog.functions().names())),
            },
        };
        if function.filter.is_some() {
            let error = SqlError::new(Code::Unsupported, "FILTER with OVER is not supported");
            return Err(error.help("write CASE WHEN .. THEN .. END"));
        }
        let is_distinct = is_distinct(function);
        if is_distinct && !matches!(known, Ranked::Aggregate(_)) {
            return Err(SqlError::new(Code::Invalid, format!("{name} takes no DISTINCT")));
        }
        let inner = &Scope { overs: None, results: None, ..*scope };
        let arguments: Vec<Typed> =
            arguments.iter().map(|argument| self.bind(argument, inner)).collect::<Result<_>>()?;
        let window = self.window(name, &known, overs.window_of(window)?, inner)?;
        let (of, is_nullable) = match &known {
            Ranked::Aggregate(function) => {
                let bound = self.bound_aggregate(function, &arguments)?;
                (bound.result, bound.is_nullable)
            }
            Ranked::Rank(_) if !arguments.is_empty() => {
                return Err(SqlError::new(Code::TypeMismatch, format!("{name} takes no arguments")));
            }
            Ranked::Rank(_) => (SqlType::BigInt, false),
            Ranked::Lag => {
                let lag = Lag::of(&arguments)?;
                (lag.of, lag.is_nullable)
            }
        };
        let mut calls = overs.calls.borrow_mut();
        let is_known = |call: &OverCall| {
            call.function == known
                && call.is_distinct == is_distinct
                && call.window.is_like(&window)
                && call.window.frame == window.frame
                && call.arguments.len() == arguments.len()
                && call.arguments.iter().zip(&arguments).all(|(known, given)| known.has_form_of(given))
        };
        let place = calls.iter().position(is_known).unwrap_or_else(|| {
            let at = place_of_expression(whole);
            calls.push(OverCall { function: known, is_distinct, arguments, window, at });
            calls.len() - 1
        });
        Ok(Typed::column(Base::Overs as usize + place, of, is_nullable))
    }

    fn window(&self, name: &str, function: &Ranked, spec: &WindowSpec, scope: &Scope<'_>) -> Result<Window> {
        let keys = spec.partition_by.iter().map(|key| self.bind(key, scope)).collect::<Result<_>>()?;
        let mut order = Vec::new();
        for key in &spec.order_by {
            let value = self.bind(&key.expr, scope)?;
            let role = if is_proctime(&key.expr) { Role::Proctime } else { scope.role(&value) };
            let is_ascending = key.options.asc.unwrap_or(true);
            order.push(OrderKey {
                value,
                role,
                is_descending: !is_ascending,
                // In Flink NULL is the least value.
                is_null_first: key.options.nulls_first.unwrap_or(is_ascending),
                shown: said(&key.expr),
            });
        }
        let frame = match &spec.window_frame {
            None => Given::None,
            Some(frame) => given(frame)?,
        };
        let is_whole = matches!(frame, Given::None | Given::Rows(None) | Given::Range(None));
        if let (false, Some(frame), false) =
            (is_whole, &spec.window_frame, matches!(function, Ranked::Aggregate(_)))
        {
            let message = format!("{name} takes no frame, and this is {}", written(frame));
            return Err(SqlError::new(Code::Invalid, message));
        }
        Ok(Window { keys, order, frame })
    }

    /// Refuses OVER calls of a sub-query with conditions that read the query around it, because these are tested behind the
    /// sub-query, and the calls would count rows that fail them.
    pub(super) fn check_pulled(overs: &Overs<'_>, is_correlated: bool) -> Result<()> {
        match overs.calls.borrow().first() {
            Some(call) if is_correlated => {
                Err(not_supported("OVER in a sub-query that reads columns of the query around it")
                    .at(call.at))
            }
            _ => Ok(()),
        }
    }

    /// Plans the collected OVER calls of a SELECT. `real` gives the index in `input` of each column that a call reads.
    /// The results are appended to the columns of `input`, in the order in which they were collected.
    ///
    /// # Errors
    /// [`Code::Unsupported`] for an order other than that of time.
    pub(super) fn over(&self, input: Plan, overs: Overs<'_>, real: &impl Fn(usize) -> usize) -> Result<Plan> {
        let mut calls = overs.calls.into_inner();
        let move_all = |values: &mut Vec<Typed>| {
            values.iter_mut().for_each(|value| *value = value.with_columns(real));
        };
        for call in &mut calls {
            move_all(&mut call.arguments);
            move_all(&mut call.window.keys);
            call.window.order.iter_mut().for_each(|key| key.value = key.value.with_columns(real));
        }
        let width = input.columns.len();
        if let [call] = &calls[..]
            && let Ranked::Rank(function) = call.function
        {
            let mut below = Below { outputs: input.identity(), columns: input.columns.clone() };
            let ranking =
                self.ranking(function, &call.window, &mut below).map_err(|error| error.at(call.at))?;
            let input = applied(below, input);
            let mut columns = input.columns.clone();
            columns.push(Column::plain("row_number", SqlType::BigInt, false));
            let plan = Plan::new(columns, ranking.over(input)).at(call.at);
            return Ok(without_between(plan, width, 1));
        }
        let count = calls.len();
        let mut plan = input;
        // Index of the result of each call behind the columns of the input.
        let mut places = vec![0; count];
        let mut done = 0;
        let mut open: Vec<usize> = (0..count).collect();
        while let Some(first) = open.first().copied() {
            let (time, frame) = frame_of(&calls[first]).map_err(|error| error.at(calls[first].at))?;
            let mut alike = Vec::new();
            for other in &open {
                let is_alike = calls[*other].window.is_like(&calls[first].window)
                    && frame_of(&calls[*other]).map_err(|error| error.at(calls[*other].at))? == (time, frame);
                if is_alike {
                    alike.push(*other);
                }
            }
            open.retain(|call| !alike.contains(call));
            let group: Vec<&OverCall> = alike.iter().map(|call| &calls[*call]).collect();
            plan = self.over_one(plan, &group, time, frame)?;
            for call in alike {
                places[call] = done;
                done += 1;
            }
        }
        if places.iter().copied().eq(0..count) {
            return Ok(plan);
        }
        let identity = plan.identity();
        let order: Vec<usize> = (0..width).chain(places.iter().map(|place| width + place)).collect();
        let outputs = order.iter().map(|place| identity[*place].clone()).collect();
        let columns = order.iter().map(|place| plan.columns[*place].clone()).collect();
        Ok(plan.project(outputs, columns))
    }

    /// Plans the calls of one window, whose results are appended to the columns of `input`.
    fn over_one(&self, input: Plan, calls: &[&OverCall], time: Option<usize>, frame: Frame) -> Result<Plan> {
        let width = input.columns.len();
        let mut below = Below { outputs: input.identity(), columns: input.columns.clone() };
        let window = calls.first().map(|call| &call.window);
        let keys: Vec<usize> = window
            .iter()
            .flat_map(|window| &window.keys)
            .map(|key| below.place(key.clone(), 0, Role::Plain))
            .collect();
        let mut made = Vec::with_capacity(calls.len());
        for call in calls {
            let one = self.made(call, time, &input.columns, &mut below).map_err(|error| error.at(call.at))?;
            if frame.is_bounded() && one.function.create_retractable.is_none() {
                let message = format!("{} over a bounded frame is not supported", one.name());
                let error = SqlError::new(Code::Unsupported, message).at(call.at);
                return Err(error.help("write UNBOUNDED PRECEDING"));
            }
            made.push(one);
        }
        let input = applied(below, input);
        let mut columns = input.columns.clone();
        columns.extend(made.iter().map(|call| {
            let BoundResult { of, is_nullable } = BoundResult::of(call);
            Column::plain(call.name().to_lowercase(), of, is_nullable)
        }));
        let at = calls.iter().find_map(|call| call.at);
        let count = made.len();
        let ttl_ms = self.binder.state_ttl_ms;
        let node = Node::Over { input: Box::new(input), keys, time, frame, calls: made, ttl_ms };
        Ok(without_between(Plan::new(columns, node).at(at), width, count))
    }

    fn made(
        &self,
        call: &OverCall,
        time: Option<usize>,
        columns: &[Column],
        below: &mut Below,
    ) -> Result<AggregateCall> {
        match &call.function {
            Ranked::Aggregate(function) => {
                self.called(below, function, call.arguments.clone(), call.is_distinct, None, 0)
            }
            Ranked::Rank(function) => Ok(rank_call(*function, time, columns)),
            Ranked::Lag => {
                let lag_of = Lag::of(&call.arguments)?;
                let mut arguments = Vec::new();
                for value in std::iter::once(lag_of.value).chain(lag_of.default) {
                    let value = self.typing.widen(value.clone(), &lag_of.of)?;
                    arguments.push(below.place(value, 0, Role::Plain));
                }
                let Lag { of, rows, default, is_nullable, .. } = lag_of;
                let function = lag(&of, rows, default.is_some(), is_nullable);
                let aggregate = Aggregate::Lag { rows };
                Ok(AggregateCall { aggregate, is_distinct: false, arguments, filter: None, function })
            }
        }
    }

    /// Returns the ranking that a ranking function with OVER asks for; its indexes are of the columns of `below`.
    fn ranking(&self, function: RankFunction, window: &Window, below: &mut Below) -> Result<Ranking> {
        let name = function.name();
        if window.order.is_empty() {
            let error =
                SqlError::new(Code::Unsupported, format!("{name} OVER without ORDER BY is not supported"));
            return Err(error.help("say by which column rows are ranked"));
        }
        let keys: Vec<usize> =
            window.keys.iter().map(|key| below.place(key.clone(), 0, Role::Plain)).collect();
        let mut order = Vec::new();
        for key in &window.order {
            let role = if key.role == Role::Proctime { Role::Proctime } else { Role::Plain };
            let place = below.place(key.value.clone(), 0, role);
            order.push(SortKey { place, is_descending: key.is_descending, is_null_first: key.is_null_first });
        }
        let find = |wanted: &dyn Fn(&Role) -> bool| {
            keys.iter().copied().find(|place| wanted(&below.columns[*place].role))
        };
        let start = find(&|role| matches!(role, Role::WindowStart(_)));
        let end = find(&|role| matches!(role, Role::WindowEnd(_)));
        match (start, end) {
            (Some(_), Some(window_end)) if function == RankFunction::RowNumber => {
                let is_local = match &below.columns[window_end].role {
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

struct BoundResult {
    of: SqlType,
    is_nullable: bool,
}

impl BoundResult {
    fn of(call: &AggregateCall) -> Self {
        BoundResult { of: call.function.result.clone(), is_nullable: call.function.is_nullable }
    }
}

/// Adds the projection that appends the columns below a window, if there are any.
fn applied(below: Below, input: Plan) -> Plan {
    match below.columns.len() == input.columns.len() {
        true => input,
        false => input.project(below.outputs, below.columns),
    }
}

/// Drops the columns between the first `width` and the last `count` of a plan, which were appended for a window.
fn without_between(plan: Plan, width: usize, count: usize) -> Plan {
    let last = plan.columns.len() - count;
    if last == width {
        return plan;
    }
    let identity = plan.identity();
    let kept: Vec<usize> = (0..width).chain(last..plan.columns.len()).collect();
    let columns = kept.iter().map(|place| plan.columns[*place].clone()).collect();
    let outputs = kept.iter().map(|place| identity[*place].clone()).collect();
    plan.project(outputs, columns)
}

/// Arguments of LAG.
struct Lag<'a> {
    value: &'a Typed,
    rows: u32,
    default: Option<&'a Typed>,
    /// Type of the result.
    of: SqlType,
    is_nullable: bool,
}

impl<'a> Lag<'a> {
    fn of(arguments: &'a [Typed]) -> Result<Self> {
        let usage = "it is called LAG(value [, rows [, default]])";
        let mismatch = |message: String| SqlError::new(Code::TypeMismatch, message).help(usage);
        let (value, rows, default) = match arguments {
            [value] => (value, 1, None),
            [value, offset] => (value, offset_of(offset)?, None),
            [value, offset, default] => (value, offset_of(offset)?, Some(default)),
            _ => return Err(mismatch(format!("LAG: {} arguments do not fit", arguments.len()))),
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
        Ok(Lag { value, rows, default, of, is_nullable })
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

/// Returns the index of the time column by which an OVER window goes, `None` for the order of arrival, and its frame.
fn frame_of(call: &OverCall) -> Result<(Option<usize>, Frame)> {
    let unsupported = |message: String| SqlError::new(Code::Unsupported, message);
    let help = "order by a column of event time, or of processing time";
    let order = match &call.window.order[..] {
        [order] => order,
        [] => return Err(unsupported("OVER without ORDER BY is not supported".to_owned()).help(help)),
        _ => {
            let message = "OVER with several columns in ORDER BY is not supported";
            return Err(unsupported(message.to_owned()).help(help));
        }
    };
    let time = match (&order.role, order.value.as_column()) {
        (Role::Rowtime, Some(place)) => Some(place),
        (Role::Proctime, _) => None,
        _ => {
            let message = format!("OVER goes by time, and {} is none", order.shown);
            return Err(unsupported(message).help(help));
        }
    };
    if order.is_descending {
        return Err(unsupported("OVER goes by ascending time: ORDER BY .. DESC is not supported".to_owned()));
    }
    let whole = |is_by_rows: bool| if is_by_rows { Frame::Rows(None) } else { Frame::Range(None) };
    let frame = match (&call.function, &call.window.frame) {
        (Ranked::Aggregate(_), Given::Rows(rows)) => Frame::Rows(*rows),
        (Ranked::Aggregate(_), Given::Range(Some(span_ms))) => Frame::Range(Some(*span_ms)),
        // ROW_NUMBER goes by rows, because rows of the same time have different numbers.
        (Ranked::Rank(RankFunction::RowNumber), _) => Frame::Rows(None),
        // In the order of arrival no two rows have the same time, so RANGE equals ROWS.
        (_, _) => whole(time.is_none()),
    };
    Ok((time, frame))
}

/// Reads the frame of an OVER window, which ends at the current row, and begins a number of rows or milliseconds before
/// it. Source: Flink's documentation, "Over Aggregation".
fn given(frame: &WindowFrame) -> Result<Given> {
    match &frame.end_bound {
        None | Some(WindowFrameBound::CurrentRow) => {}
        Some(WindowFrameBound::Following(_)) => {
            return Err(not_supported("FOLLOWING: a frame ends at CURRENT ROW"));
        }
        Some(WindowFrameBound::Preceding(_)) => {
            return Err(not_supported("a frame that ends before CURRENT ROW"));
        }
    }
    let bound = match &frame.start_bound {
        WindowFrameBound::CurrentRow => Start::Here,
        WindowFrameBound::Preceding(None) => Start::First,
        WindowFrameBound::Preceding(Some(bound)) => Start::Before(bound),
        WindowFrameBound::Following(_) => {
            return Err(not_supported("FOLLOWING: a frame begins before CURRENT ROW"));
        }
    };
    let mismatch = |message: String, help: &str| Err(SqlError::new(Code::TypeMismatch, message).help(help));
    Ok(match (frame.units, bound) {
        (WindowFrameUnits::Groups, _) => return Err(not_supported("GROUPS")),
        (WindowFrameUnits::Rows, Start::Here) => Given::Rows(Some(0)),
        (WindowFrameUnits::Rows, Start::First) => Given::Rows(None),
        (WindowFrameUnits::Range, Start::Here) => Given::Range(Some(0)),
        (WindowFrameUnits::Range, Start::First) => Given::Range(None),
        (WindowFrameUnits::Rows, Start::Before(bound)) => {
            let count = match bound {
                Expr::Value(value) => match &value.value {
                    Value::Number(number, _) => number.parse::<u64>().ok(),
                    _ => None,
                },
                _ => None,
            };
            match count {
                Some(count) => Given::Rows(Some(count)),
                None => {
                    let message = format!("ROWS counts rows, and {} is no count", said(bound));
                    return mismatch(message, "write ROWS BETWEEN 10 PRECEDING AND CURRENT ROW");
                }
            }
        }
        (WindowFrameUnits::Range, Start::Before(bound)) => match super::windows::millis(bound) {
            Some(span_ms) if span_ms >= 0 => Given::Range(Some(span_ms)),
            _ => {
                let message =
                    format!("RANGE goes back by a span of days to seconds, and {} is none", said(bound));
                return mismatch(message, "write RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW");
            }
        },
    })
}

fn written(frame: &WindowFrame) -> String {
    match &frame.end_bound {
        Some(end) => format!("{} BETWEEN {} AND {end}", frame.units, frame.start_bound),
        None => format!("{} {}", frame.units, frame.start_bound),
    }
}

/// Begin of a frame: at the current row, at the first row, or before the current row.
enum Start<'a> {
    Here,
    First,
    Before(&'a Expr),
}
