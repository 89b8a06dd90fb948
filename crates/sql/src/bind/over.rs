//! Calls with OVER: aggregates over rows before and behind each row, ranking functions, and values of other rows.
//!
//! The calls of a SELECT are collected while its expressions are typed, each call once. Calls of the same window are
//! computed by one operator, and each further window by an operator above it. A query with a ranking function alone becomes one
//! of three operators, which is decided when the whole query is known: a top-N per window if its keys have the window's
//! columns, a top-N if a condition limits the rank ([`super::changelog`]), and else an aggregate like others.
//!
//! By ascending time, results never change. Windows of other orders and frames are planned in [`sorted`].
//!
//! Source: Flink's documentation, "Over Aggregation", "Top-N"; `OverAggregateITCase` for which functions there are.
//! LEAD, NTILE, PERCENT_RANK and CUME_DIST need rows that have not come, so neither Flink nor we have them in streams.
//!
//! Differs from Flink: a SELECT may have several windows, of which Flink has one in streams. FILTER is refused, as in Flink.

use std::cell::RefCell;

use sqlparser::ast::{Expr, Function, NamedWindowDefinition, NamedWindowExpr, WindowSpec, WindowType};
use thalweg_sql_exec::exec::over::{lag, standing};
use thalweg_sql_exec::plan::sorted_over::RowFrame;
use thalweg_sql_exec::plan::{
    Aggregate, AggregateCall, Column, Frame, Node, Plan, RankFunction, Role, SortKey,
};
use thalweg_sql_functions::aggregates::aggregate;
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::functions;
use thalweg_sql_functions::types::{SqlType, common_type};
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::aggregate::{Below, is_distinct};
use super::expression::unknown_function;
use super::portable::OnlyHere;
use super::scope::{Base, Scope, reads_around};
use super::syntax::{is_proctime, not_supported, place_of_expression, place_of_name};
use super::{Answers, Planner};

mod frames;
mod sorted;
#[cfg(test)]
pub(super) mod tests;

pub(super) use sorted::{at_the_end, check_live, over_changes};

type Result<T> = std::result::Result<T, SqlError>;

/// Functions of OVER windows that are no aggregates.
pub(super) const RANKS: [&str; 8] =
    ["ROW_NUMBER", "RANK", "DENSE_RANK", "LAG", "LEAD", "PERCENT_RANK", "CUME_DIST", "NTILE"];

/// Greatest number of rows by which LAG goes back and LEAD ahead.
const OFFSET_ROWS_MAX: i64 = 1_000_000;

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
    Offset { is_lead: bool },
    PercentRank,
    CumeDist,
    Ntile(u64),
}

/// Window of a call with OVER.
struct Window {
    keys: Vec<Typed>,
    order: Vec<OrderKey>,
    /// The frame; `None` if none is written.
    frame: Option<RowFrame>,
}

/// Key of ORDER BY within OVER.
struct OrderKey {
    value: Typed,
    role: Role,
    is_descending: bool,
    is_null_first: bool,
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
            "LAG" => Ranked::Offset { is_lead: false },
            "LEAD" => Ranked::Offset { is_lead: true },
            "PERCENT_RANK" => Ranked::PercentRank,
            "CUME_DIST" => Ranked::CumeDist,
            // The number of buckets is read with the arguments.
            "NTILE" => Ranked::Ntile(1),
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
        let mut known = known;
        let (of, is_nullable) = match &mut known {
            Ranked::Aggregate(function) => {
                let bound = self.bound_aggregate(function, &arguments)?;
                (bound.result, bound.is_nullable)
            }
            Ranked::Offset { .. } => {
                let offset = Offset::of(name, &arguments)?;
                (offset.of, offset.is_nullable)
            }
            Ranked::Ntile(_) => {
                known = Ranked::Ntile(buckets_of(&arguments)?);
                (SqlType::Int, false)
            }
            Ranked::Rank(_) | Ranked::PercentRank | Ranked::CumeDist if !arguments.is_empty() => {
                return Err(SqlError::new(Code::TypeMismatch, format!("{name} takes no arguments")));
            }
            Ranked::Rank(_) => (SqlType::BigInt, false),
            Ranked::PercentRank | Ranked::CumeDist => (SqlType::Double, false),
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
            });
        }
        let types: Vec<&SqlType> = order.iter().map(|key| &key.value.of).collect();
        let frame = match &spec.window_frame {
            None => None,
            Some(frame) => Some(frames::read(frame, &types)?),
        };
        if let (Some(read), Some(frame), false) =
            (frame, &spec.window_frame, matches!(function, Ranked::Aggregate(_)))
            && !read.is_all_before()
        {
            let message = format!("{name} takes no frame, and this is {}", frames::written(frame));
            return Err(SqlError::new(Code::Invalid, message));
        }
        Ok(Window { keys, order, frame })
    }

    /// Checks the windows of a WINDOW clause, also those that no call names.
    ///
    /// # Errors
    /// [`Code::Invalid`] for two windows of one name, and the first fault of a window, but for what only calls need.
    pub(super) fn check_named_windows(&self, overs: &Overs<'_>, scope: &Scope<'_>) -> Result<()> {
        let scope = &Scope { overs: None, results: None, ..*scope };
        for (place, NamedWindowDefinition(name, window)) in overs.named.iter().enumerate() {
            if overs.named.iter().take(place).any(|NamedWindowDefinition(known, _)| known.value == name.value)
            {
                let message = format!("two windows are called `{}`", name.value);
                return Err(SqlError::new(Code::Invalid, message).at(place_of_name(name)));
            }
            let checked = match window {
                NamedWindowExpr::NamedWindow(other) => {
                    overs.window_of(&WindowType::NamedWindow(other.clone())).map(drop)
                }
                NamedWindowExpr::WindowSpec(spec) => self.check_window(spec, scope),
            };
            match checked {
                Err(error) if error.code != Code::Unsupported => return Err(error.at(place_of_name(name))),
                _ => {}
            }
        }
        Ok(())
    }

    fn check_window(&self, spec: &WindowSpec, scope: &Scope<'_>) -> Result<()> {
        spec.partition_by.iter().try_for_each(|key| self.bind(key, scope).map(drop))?;
        let order = spec.order_by.iter().map(|key| Ok(self.bind(&key.expr, scope)?.of));
        let order = order.collect::<Result<Vec<_>>>()?;
        let types: Vec<_> = order.iter().collect();
        spec.window_frame.as_ref().map_or(Ok(()), |frame| frames::read(frame, &types).map(drop))
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
    /// [`Code::Unsupported`] for a call that its window does not have.
    pub(super) fn over(&self, input: Plan, overs: Overs<'_>, real: &impl Fn(usize) -> usize) -> Result<Plan> {
        let mut calls = overs.calls.into_inner();
        let move_all = |values: &mut Vec<Typed>| {
            values.iter_mut().for_each(|value| *value = value.with_columns(real));
        };
        for call in &mut calls {
            move_all(&mut call.arguments);
            move_all(&mut call.window.keys);
            call.window.order.iter_mut().for_each(|key| key.value = key.value.with_columns(real));
            let mut values = call.arguments.iter().chain(&call.window.keys);
            let reads =
                values.any(reads_around) || call.window.order.iter().any(|key| reads_around(&key.value));
            if reads {
                return Err(not_supported("OVER that reads columns of the query around").at(call.at));
            }
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
            let streamed = streamed(&calls[first]);
            let is_alike = |other: &OverCall| {
                other.window.is_like(&calls[first].window) && self::streamed(other) == streamed
            };
            let alike: Vec<usize> = open.iter().copied().filter(|call| is_alike(&calls[*call])).collect();
            if done > 0 && self.binder.answers != Answers::Final {
                self.binder.notes.add(OnlyHere::SeveralOvers, calls[first].at);
            }
            open.retain(|call| !alike.contains(call));
            let group: Vec<&OverCall> = alike.iter().map(|call| &calls[*call]).collect();
            plan = match streamed {
                Some((time, frame)) => self.over_one(plan, &group, time, frame)?,
                None => self.over_sorted(plan, &group)?,
            };
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
            // Windows with these calls are planned as those of other orders.
            Ranked::Offset { is_lead: true } | Ranked::PercentRank | Ranked::CumeDist | Ranked::Ntile(_) => {
                Err(SqlError::new(
                    Code::Invalid,
                    "a call that needs later rows has no window in the order of time",
                ))
            }
            Ranked::Offset { is_lead: false } => {
                let lag_of = Offset::of("LAG", &call.arguments)?;
                let mut arguments = Vec::new();
                for value in std::iter::once(lag_of.value).chain(lag_of.default) {
                    let value = self.typing.widen(value.clone(), &lag_of.of)?;
                    arguments.push(below.place(value, 0, Role::Plain));
                }
                let Offset { of, rows, default, is_nullable, .. } = lag_of;
                let function = lag(&of, rows, default.is_some(), is_nullable);
                let aggregate = Aggregate::Lag { rows };
                Ok(AggregateCall { aggregate, is_distinct: false, arguments, filter: None, function })
            }
        }
    }

    /// Returns the ranking that a ranking function with OVER asks for; its indexes are of the columns of `below`.
    fn ranking(&self, function: RankFunction, window: &Window, below: &mut Below) -> Result<Ranking> {
        if window.order.is_empty() {
            return Err(sorted::without_order(function.name()));
        }
        let keys: Vec<usize> =
            window.keys.iter().map(|key| below.place(key.clone(), 0, Role::Plain)).collect();
        let mut order = Vec::new();
        for key in &window.order {
            let role = if key.role.is_proctime() { Role::Proctime } else { Role::Plain };
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

/// Arguments of LAG or LEAD.
struct Offset<'a> {
    value: &'a Typed,
    rows: u32,
    default: Option<&'a Typed>,
    /// Type of the result.
    of: SqlType,
    is_nullable: bool,
}

impl<'a> Offset<'a> {
    /// Reads the arguments of the function `name`, which is LAG or LEAD.
    fn of(name: &str, arguments: &'a [Typed]) -> Result<Self> {
        let usage = format!("it is called {name}(value [, rows [, default]])");
        let mismatch = |message: String| SqlError::new(Code::TypeMismatch, message).help(usage.clone());
        let (value, rows, default) = match arguments {
            [value] => (value, 1, None),
            [value, offset] => (value, offset_of(name, offset)?, None),
            [value, offset, default] => (value, offset_of(name, offset)?, Some(default)),
            _ => return Err(mismatch(format!("{name}: {} arguments do not fit", arguments.len()))),
        };
        let of = match default {
            None => value.of.clone(),
            Some(default) => common_type(&value.of, &default.of).ok_or_else(|| {
                mismatch(format!("{name}: the value is {}, and the default {}", value.of, default.of))
            })?,
        };
        if of == SqlType::Null {
            return Err(mismatch(format!("{name}: argument 1 is NULL")));
        }
        let is_nullable = value.is_nullable || default.is_none_or(|default| default.is_nullable);
        Ok(Offset { value, rows, default, of, is_nullable })
    }
}

fn whole_number(value: &Typed) -> Option<i64> {
    match value.as_literal()? {
        ScalarValue::Int32(number) => number.map(i64::from),
        ScalarValue::Int64(number) => *number,
        _ => None,
    }
}

fn offset_of(name: &str, offset: &Typed) -> Result<u32> {
    let fits = whole_number(offset)
        .filter(|number| (0..=OFFSET_ROWS_MAX).contains(number))
        .and_then(|number| u32::try_from(number).ok());
    fits.ok_or_else(|| {
        let way = if name == "LAG" { "back" } else { "ahead" };
        let shown = offset.as_literal().map_or_else(|| "no literal".to_owned(), |_| offset.to_string());
        let message =
            format!("{name} goes {way} by a number of rows from 0 to {OFFSET_ROWS_MAX}, and this is {shown}");
        SqlError::new(Code::TypeMismatch, message)
    })
}

/// Returns the number of buckets of NTILE.
fn buckets_of(arguments: &[Typed]) -> Result<u64> {
    let number = match arguments {
        [number] => whole_number(number).filter(|number| *number <= i64::from(i32::MAX)),
        _ => None,
    };
    number.and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0).ok_or_else(|| {
        let message = "NTILE takes the number of buckets, a literal above zero";
        SqlError::new(Code::TypeMismatch, message).help("it is called NTILE(buckets)")
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

/// Plans a ranking of which all ranks are kept as an OVER aggregate: by ascending time, if rows of the input are only added,
/// or by any columns. `is_changing` tells whether rows of the input change.
///
/// # Errors
/// [`Code::Unsupported`] for the order of arrival together with other columns, or descending.
pub(super) fn rank_as_over(
    input: Plan,
    keys: Vec<usize>,
    order: Vec<SortKey>,
    function: RankFunction,
    is_changing: bool,
    ttl_ms: Option<i64>,
    columns: Vec<Column>,
) -> Result<Plan> {
    let time = match &order[..] {
        [key] if !key.is_descending && !is_changing => match input.columns[key.place].role {
            Role::Rowtime => Some(Some(key.place)),
            Role::Proctime | Role::WindowProctime => Some(None),
            _ => None,
        },
        _ => None,
    };
    let Some(time) = time else {
        return sorted::rank_as_sorted(input, keys, order, function, ttl_ms, columns);
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

/// Returns the index of the time column by which an OVER window goes, `None` for the order of arrival, and its frame. Returns
/// `None` for a window in another order, or one that needs rows behind the current one.
fn streamed(call: &OverCall) -> Option<(Option<usize>, Frame)> {
    let [order] = &call.window.order[..] else { return None };
    let time = match (&order.role, order.value.as_column()) {
        (Role::Rowtime, Some(place)) => Some(place),
        (Role::Proctime | Role::WindowProctime, _) => None,
        _ => return None,
    };
    let frame = frames::streamed(call.window.frame).filter(|_| !order.is_descending)?;
    Some((
        time,
        match (&call.function, frame) {
            // In the order of arrival no two rows have the same time, so RANGE equals ROWS.
            (Ranked::Aggregate(_), Frame::Range(None)) if time.is_none() => Frame::Rows(None),
            (Ranked::Aggregate(_), frame) => frame,
            // ROW_NUMBER goes by rows, because rows of the same time have different numbers.
            (Ranked::Rank(RankFunction::RowNumber), _) => Frame::Rows(None),
            (Ranked::Rank(_) | Ranked::Offset { is_lead: false }, _) if time.is_none() => Frame::Rows(None),
            (Ranked::Rank(_) | Ranked::Offset { is_lead: false }, _) => Frame::Range(None),
            (
                Ranked::Offset { is_lead: true } | Ranked::PercentRank | Ranked::CumeDist | Ranked::Ntile(_),
                _,
            ) => {
                return None;
            }
        },
    ))
}
