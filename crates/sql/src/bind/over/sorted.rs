//! OVER windows in the order of any columns.
//!
//! While input goes on, their results change, so only frames without rows behind the current one are taken, as in Flink.
//! When the answer waits for the end of the input, any frame and function is taken.
//!
//! Source: Flink, `StreamExecOverAggregate` for what streams have; `BatchExecOverAggregate`.
//!
//! Differs from Flink: in streams, rows are also ordered by several columns, descending, or not at all.

use thalweg_sql_exec::plan::sorted_over::{Bound, Distance, RowFrame, SortedCall, SortedFunction};
use thalweg_sql_exec::plan::{
    Aggregate, AggregateCall, Column, Frame, Node, Plan, RankFunction, Role, SortKey,
};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::{Code, SqlError};

use super::super::Planner;
use super::super::aggregate::Below;
use super::{Offset, OverCall, Ranked, applied, without_between};

type Result<T> = std::result::Result<T, SqlError>;

/// Advice for an OVER window that needs the end of its input.
const WAIT: &str = "let the query wait for the end of its input: read tables that end, and SET 'execution.runtime-mode' = 'batch'";

impl Planner<'_> {
    /// Plans calls of windows with the same keys and order, whose results are appended to the columns of `input`.
    pub(super) fn over_sorted(&self, input: Plan, calls: &[&OverCall]) -> Result<Plan> {
        let width = input.columns.len();
        let mut below = Below { outputs: input.identity(), columns: input.columns.clone() };
        let Some(first) = calls.first() else { return Ok(input) };
        let keys = first.window.keys.iter().map(|key| below.place(key.clone(), 0, Role::Plain)).collect();
        let mut order = Vec::new();
        for key in &first.window.order {
            if key.role == Role::Proctime {
                return Err(by_arrival().at(first.at));
            }
            let place = below.place(key.value.clone(), 0, Role::Plain);
            order.push(SortKey { place, is_descending: key.is_descending, is_null_first: key.is_null_first });
        }
        let mut made = Vec::with_capacity(calls.len());
        for call in calls {
            made.push(self.sorted_call(call, &mut below).map_err(|error| error.at(call.at))?);
        }
        let count = made.len();
        let plan = sorted_over(applied(below, input), keys, order, made, self.binder.state_ttl_ms);
        Ok(without_between(plan.at(first.at), width, count))
    }

    fn sorted_call(&self, call: &OverCall, below: &mut Below) -> Result<SortedCall> {
        let of = |function: SortedFunction, result: SqlType, is_nullable: bool| SortedCall {
            function,
            result,
            is_nullable,
            at: call.at,
        };
        let name = match &call.function {
            Ranked::Aggregate(function) => {
                let bound =
                    self.called(below, function, call.arguments.clone(), call.is_distinct, None, 0)?;
                let frame = call.window.frame.unwrap_or(RowFrame::DEFAULT);
                let (result, is_nullable) = (bound.function.result.clone(), bound.function.is_nullable);
                return Ok(of(
                    SortedFunction::Aggregate { call: Box::new(bound), frame },
                    result,
                    is_nullable,
                ));
            }
            Ranked::Rank(function) => function.name(),
            Ranked::Offset { is_lead: true } => "LEAD",
            Ranked::Offset { is_lead: false } => "LAG",
            Ranked::PercentRank => "PERCENT_RANK",
            Ranked::CumeDist => "CUME_DIST",
            Ranked::Ntile(_) => "NTILE",
        };
        if call.window.order.is_empty() {
            return Err(without_order(name));
        }
        Ok(match call.function {
            Ranked::Aggregate(_) | Ranked::PercentRank => {
                of(SortedFunction::PercentRank, SqlType::Double, false)
            }
            Ranked::CumeDist => of(SortedFunction::CumeDist, SqlType::Double, false),
            Ranked::Rank(function) => of(SortedFunction::Rank(function), SqlType::BigInt, false),
            Ranked::Ntile(buckets) => of(SortedFunction::Ntile(buckets), SqlType::Int, false),
            Ranked::Offset { is_lead } => {
                let Offset { value, rows, default, of: result, is_nullable } =
                    Offset::of(name, &call.arguments)?;
                let mut place = |value: &super::Typed| -> Result<usize> {
                    Ok(below.place(self.typing.widen(value.clone(), &result)?, 0, Role::Plain))
                };
                let (value, default) = (place(value)?, default.map(&mut place).transpose()?);
                let rows = if is_lead { i64::from(rows) } else { -i64::from(rows) };
                of(SortedFunction::Offset { value, default, rows, is_lead }, result, is_nullable)
            }
        })
    }
}

/// Returns the error for a function that needs ORDER BY in its window.
pub(super) fn without_order(name: &str) -> SqlError {
    let message = format!("{name} OVER without ORDER BY is not supported");
    SqlError::new(Code::Unsupported, message).help("say by which column rows are ranked")
}

/// Returns the error for the order of arrival together with other columns, descending, or with frames that it has not.
fn by_arrival() -> SqlError {
    let message = "OVER in the order of arrival goes by processing time alone, ascending, and a frame ends at CURRENT ROW";
    SqlError::new(Code::Unsupported, message).help("order by columns of the rows")
}

fn sorted_over(
    input: Plan,
    keys: Vec<usize>,
    order: Vec<SortKey>,
    calls: Vec<SortedCall>,
    ttl_ms: Option<i64>,
) -> Plan {
    let mut columns = input.columns.clone();
    columns.extend(calls.iter().map(|call| {
        Column::plain(call.function.name().to_lowercase(), call.result.clone(), call.is_nullable)
    }));
    let node = Node::SortedOver { input: Box::new(input), keys, order, calls, is_final: false, ttl_ms };
    Plan::new(columns, node)
}

/// Plans a ranking of which all ranks are kept, by any columns. `columns` are the names of the results.
///
/// # Errors
/// [`Code::Unsupported`] for the order of arrival together with other columns, or descending.
pub(super) fn rank_as_sorted(
    input: Plan,
    keys: Vec<usize>,
    order: Vec<SortKey>,
    function: RankFunction,
    ttl_ms: Option<i64>,
    columns: Vec<Column>,
) -> Result<Plan> {
    if order.iter().any(|key| input.columns[key.place].role == Role::Proctime) {
        return Err(by_arrival());
    }
    let call = SortedCall {
        function: SortedFunction::Rank(function),
        result: SqlType::BigInt,
        is_nullable: false,
        at: None,
    };
    let plan = sorted_over(input, keys, order, vec![call], ttl_ms);
    Ok(Plan { columns, ..plan })
}

/// Lets an OVER window in the order of event time take rows that change: it becomes one in the order of a plain column. Other
/// plans stay as they are.
pub(in crate::bind) fn over_changes(plan: Plan) -> Plan {
    let Plan { columns, node, at } = plan;
    let node = match node {
        Node::Over { input, keys, time: Some(time), frame, calls, ttl_ms } => {
            let (is_rows, before) = match frame {
                Frame::Rows(rows) => (true, rows.map(i128::from)),
                Frame::Range(span_ms) => (false, span_ms.map(i128::from)),
            };
            let from = before.map_or(Bound::First, |before| Bound::Offset(Distance::Whole(-before)));
            let frame = RowFrame { is_rows, from, to: Bound::Current };
            let sorted = |call: AggregateCall| SortedCall {
                result: call.function.result.clone(),
                is_nullable: call.function.is_nullable,
                at,
                function: match (&call.aggregate, &call.arguments[..]) {
                    (Aggregate::Rank(function), _) => SortedFunction::Rank(*function),
                    (Aggregate::Lag { rows }, [value, default @ ..]) => SortedFunction::Offset {
                        value: *value,
                        default: default.first().copied(),
                        rows: -i64::from(*rows),
                        is_lead: false,
                    },
                    _ => SortedFunction::Aggregate { call: Box::new(call), frame },
                },
            };
            let order = vec![SortKey { place: time, is_descending: false, is_null_first: true }];
            let calls = calls.into_iter().map(sorted).collect();
            Node::SortedOver { input, keys, order, calls, is_final: false, ttl_ms }
        }
        node => node,
    };
    Plan { columns, node, at }
}

/// Lets an OVER window in the order of any columns wait for the end of its input; other plans stay as they are.
pub(in crate::bind) fn at_the_end(plan: Plan) -> Plan {
    let Plan { columns, node, at } = plan;
    let node = match node {
        Node::SortedOver { input, keys, order, calls, .. } => {
            Node::SortedOver { input, keys, order, calls, is_final: true, ttl_ms: None }
        }
        node => node,
    };
    Plan { columns, node, at }
}

/// Checks that an OVER window in the order of any columns needs no rows that have not come yet.
///
/// # Errors
/// [`Code::Unsupported`] for the first call that does, at its place.
pub(in crate::bind) fn check_live(plan: &Plan) -> Result<()> {
    let Node::SortedOver { calls, .. } = &plan.node else { return Ok(()) };
    let Some(call) = calls.iter().find(|call| !call.function.is_of_rows_before()) else { return Ok(()) };
    let name = call.function.name();
    let message = match &call.function {
        SortedFunction::Aggregate { frame, .. } if frame.looks_ahead() => format!(
            "{name} over a frame with FOLLOWING needs rows that have not come yet: it is not supported in streams"
        ),
        SortedFunction::Aggregate { .. } => format!(
            "{name} over a bounded frame goes by ascending event time in streams, and takes rows that are only added"
        ),
        _ => format!("{name} needs rows that have not come yet: it is not supported in streams"),
    };
    let help = match &call.function {
        SortedFunction::Aggregate { frame, .. } if !frame.looks_ahead() => {
            format!("write UNBOUNDED PRECEDING, order by event time, or {WAIT}")
        }
        _ => WAIT.to_owned(),
    };
    Err(SqlError::new(Code::Unsupported, message).at(call.at).help(help))
}
