//! Calls with OVER as they are written, and the operators that come of them; and what is refused.

use std::sync::Arc;

use chrono_tz::Tz;
use thalweg_model::VirtualClock;
use thalweg_sql_exec::plan::sorted_over::{RowFrame, SortedCall, SortedFunction};
use thalweg_sql_exec::plan::{Node, Plan};
use thalweg_sql_functions::expression::Named;
use thalweg_sql_functions::functions::Context;
use thalweg_sql_tables::error::SqlError;

use crate::bind::{Answers, Binder, Notes, Views, declare};
use crate::catalog::{Catalog, Entry};
use crate::text::script::{self, Statement};

const TABLES: &str = "
    CREATE TABLE T (
      id INT, k STRING, v INT, p BIGINT NOT NULL, d DECIMAL(8, 2), ts TIMESTAMP(3), arrived AS PROCTIME(),
      WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
    );
    CREATE TABLE C (id INT, k STRING, v INT) WITH ('connector' = 'x', 'format' = 'debezium-json');
";

/// The plan of a query over the tables above.
pub(in crate::bind) fn planned(query: &str, ttl_ms: Option<i64>) -> Result<Plan, SqlError> {
    let context = Context { zone: Tz::UTC, clock: Arc::new(VirtualClock::default()) };
    let mut catalog = Catalog::default();
    for statement in script::parse(TABLES).unwrap() {
        let Statement::CreateTable(create) = &statement.statement else { panic!("no table") };
        let binder = Binder {
            catalog: &catalog,
            context: &context,
            state_ttl_ms: None,
            answers: Answers::Changes,
            are_changes_doubled: false,
            views: &Views::default(),
            notes: &Notes::default(),
        };
        let table = declare(&binder, create, &create.name.name).unwrap();
        catalog.add(&create.name, Entry::Table(Arc::new(table)), None, false).unwrap();
    }
    let statements = script::parse(query).unwrap();
    let [statement] = &statements[..] else { panic!("{query} is no single statement") };
    let Statement::Query(query) = &statement.statement else { panic!("no query") };
    Binder {
        catalog: &catalog,
        context: &context,
        state_ttl_ms: ttl_ms,
        answers: Answers::Changes,
        are_changes_doubled: false,
        views: &Views::default(),
        notes: &Notes::default(),
    }
    .query(query)
}

/// A plan on one line, from the result back: what each operator is asked for, with the names of its columns.
pub(in crate::bind) fn shown(plan: &Plan) -> String {
    let name = |plan: &Plan, place: &usize| plan.columns[*place].name.clone();
    let names = |plan: &Plan, places: &[usize]| {
        places.iter().map(|place| name(plan, place)).collect::<Vec<_>>().join(" ")
    };
    let own = match &plan.node {
        Node::Scan { table, .. } => table.name.clone(),
        Node::Calc { conditions, .. } if conditions.is_empty() => String::new(),
        Node::Calc { input, conditions, .. } => {
            let named = conditions.iter().map(|condition| {
                Named(condition, |place: usize| input.columns[place].name.clone()).to_string()
            });
            format!("where {}", named.collect::<Vec<_>>().join(", "))
        }
        Node::Over { input, keys, time, frame, calls, ttl_ms } => {
            let calls: Vec<String> = calls
                .iter()
                .map(|call| {
                    format!("{}({}): {}", call.name(), names(input, &call.arguments), call.function.result)
                })
                .collect();
            let time = time.map_or("arrival".to_owned(), |time| name(input, &time));
            format!("over [{}] {time} {frame:?} {} {ttl_ms:?}", names(input, keys), calls.join("; "))
        }
        Node::SortedOver { input, keys, order, calls, is_final, ttl_ms } => {
            let calls: Vec<String> = calls
                .iter()
                .map(|call| {
                    let frame = match &call.function {
                        SortedFunction::Aggregate { frame, .. } if *frame == RowFrame::DEFAULT => {
                            String::new()
                        }
                        SortedFunction::Aggregate { frame: RowFrame { is_rows, from, to }, .. } => {
                            format!(" {} {from:?}..{to:?}", if *is_rows { "rows" } else { "range" })
                        }
                        SortedFunction::Offset { rows, .. } => format!(" {rows:+}"),
                        _ => String::new(),
                    };
                    let SortedCall { function, result, .. } = call;
                    format!("{}({}){frame}: {result}", function.name(), names(input, &function.arguments()))
                })
                .collect();
            let order: Vec<String> = order
                .iter()
                .map(|key| {
                    format!("{}{}", name(input, &key.place), if key.is_descending { " desc" } else { "" })
                })
                .collect();
            let end = if *is_final { "at end" } else { "live" };
            format!("{end} [{}] {} {} {ttl_ms:?}", names(input, keys), order.join(", "), calls.join("; "))
        }
        Node::Group { input, keys, calls, is_retracting, is_final: _, ttl_ms } => {
            let calls: Vec<String> = calls
                .iter()
                .map(|call| format!("{}({})", call.name(), names(input, &call.arguments)))
                .collect();
            format!("group [{}] {} {is_retracting} {ttl_ms:?}", names(input, keys), calls.join("; "))
        }
        Node::Rank { input, keys, order, from, to, has_rank, is_retracting, .. } => {
            let order: Vec<String> = order
                .iter()
                .map(|key| {
                    format!("{}{}", name(input, &key.place), if key.is_descending { " desc" } else { "" })
                })
                .collect();
            let rank = if *has_rank { "" } else { " unranked" };
            format!("rank [{}] {} {from}..{to}{rank} {is_retracting}", names(input, keys), order.join(", "))
        }
        Node::WindowTopN { from, to, .. } => format!("window top {from}..{to}"),
        Node::AssignWindows { .. } => "windows".to_owned(),
        Node::WindowAggregate { .. } => "window aggregate".to_owned(),
        Node::Expand { forms, .. } => format!("expand {}", forms.len()),
        Node::Limit { fetch, .. } => format!("limit {fetch}"),
        Node::Union(_) => "union".to_owned(),
        other => format!("{other:?}"),
    };
    let inputs: Vec<String> =
        plan.inputs().into_iter().map(shown).filter(|input| !input.is_empty()).collect();
    match (own.is_empty(), inputs.is_empty()) {
        (true, _) => inputs.join(" + "),
        (false, true) => own,
        (false, false) => format!("{own} < {}", inputs.join(" + ")),
    }
}

fn check(query: &str, expected: &str) {
    let shown = match planned(query, None) {
        Ok(plan) => shown(&plan),
        // Where it stands is no concern of these cases.
        Err(error) => format!("{} {}", error.code.name(), SqlError { place: None, ..error }),
    };
    assert_eq!(shown, expected, "{query}");
}

/// Calls of one window over T.
fn check_calls(calls: &str, expected: &str) {
    check(&format!("SELECT id, {calls} FROM T"), &format!("{expected} < T"));
}

#[test]
fn calls_become_aggregates_over_the_rows_before() {
    check_calls("SUM(v) OVER (ORDER BY ts)", "over [] ts Range(None) SUM(v): INT None");
    check_calls(
        "SUM(v) OVER (PARTITION BY k, id ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
        "over [k id] ts Rows(Some(2)) SUM(v): INT None",
    );
    check_calls(
        "COUNT(*) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)",
        "over [k] ts Range(Some(3600000)) COUNT(): BIGINT None",
    );
    check_calls(
        "COUNT(v) OVER (ORDER BY ts ROWS 1 PRECEDING)",
        "over [] ts Rows(Some(1)) COUNT(v): BIGINT None",
    );
    check_calls(
        "COUNT(v) OVER (ORDER BY ts RANGE CURRENT ROW)",
        "over [] ts Range(Some(0)) COUNT(v): BIGINT None",
    );
    check_calls("SUM(v) OVER (ORDER BY arrived)", "over [] arrival Rows(None) SUM(v): INT None");
    check_calls("SUM(v) OVER (ORDER BY PROCTIME())", "over [] arrival Rows(None) SUM(v): INT None");
    check_calls(
        "COUNT(DISTINCT v) OVER (ORDER BY ts)",
        "over [] ts Range(None) COUNT DISTINCT(v): BIGINT None",
    );
    check_calls(
        "FIRST_VALUE(k) OVER (ORDER BY ts ROWS 1 PRECEDING), LAST_VALUE(d) OVER (ORDER BY ts ROWS 1 PRECEDING)",
        "over [] ts Rows(Some(1)) FIRST_VALUE(k): STRING; LAST_VALUE(d): DECIMAL(8, 2) None",
    );
    check_calls(
        "SUM(v + 1) OVER (PARTITION BY MOD(id, 2) ORDER BY ts)",
        "over [$7] ts Range(None) SUM($8): INT None",
    );
    check(
        "SELECT id, SUM(v) OVER w, AVG(d) OVER w, v - MIN(v) OVER w FROM T WINDOW w AS (PARTITION BY k ORDER BY ts)",
        "over [k] ts Range(None) SUM(v): INT; AVG(d): DECIMAL(38, 6); MIN(v): INT None < T",
    );
}

#[test]
fn ranks_and_values_of_rows_before() {
    check_calls(
        "ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts)",
        "over [k] ts Rows(None) ROW_NUMBER(): BIGINT None",
    );
    check_calls("RANK() OVER (ORDER BY ts)", "over [] ts Range(None) RANK(ts): BIGINT None");
    check_calls(
        "RANK() OVER (ORDER BY ts), DENSE_RANK() OVER (ORDER BY ts), LAG(v) OVER (ORDER BY ts)",
        "over [] ts Range(None) RANK(ts): BIGINT; DENSE_RANK(ts): BIGINT; LAG(v): INT None",
    );
    check_calls(
        "ROW_NUMBER() OVER (ORDER BY ts), SUM(v) OVER (ORDER BY ts ROWS UNBOUNDED PRECEDING)",
        "over [] ts Rows(None) ROW_NUMBER(): BIGINT; SUM(v): INT None",
    );
    check_calls("RANK() OVER (ORDER BY arrived)", "over [] arrival Rows(None) RANK(): BIGINT None");
    check_calls("LAG(v, 2, p) OVER (ORDER BY ts)", "over [] ts Range(None) LAG($7 p): BIGINT None");
    check_calls("LAG(p, 2, 7) OVER (ORDER BY ts)", "over [] ts Range(None) LAG(p $7): BIGINT None");
}

/// Calls of one window share an operator, and each further window has one above it.
#[test]
fn several_windows_are_computed_one_after_the_other() {
    check_calls(
        "SUM(v) OVER (PARTITION BY k ORDER BY ts), SUM(v) OVER (ORDER BY ts)",
        "over [] ts Range(None) SUM(v): INT None < over [k] ts Range(None) SUM(v): INT None",
    );
    check_calls(
        "SUM(v) OVER (ORDER BY ts), SUM(v) OVER (ORDER BY ts ROWS 1 PRECEDING), MAX(v) OVER (ORDER BY ts)",
        "over [] ts Rows(Some(1)) SUM(v): INT None < over [] ts Range(None) SUM(v): INT; MAX(v): INT None",
    );
    check_calls(
        "ROW_NUMBER() OVER (ORDER BY ts), SUM(v + 1) OVER (PARTITION BY k ORDER BY arrived)",
        "over [k] arrival Rows(None) SUM($8): INT None < over [] ts Rows(None) ROW_NUMBER(): BIGINT None",
    );
}

/// A window in an order other than that of ascending time keeps its rows, and its results change.
#[test]
fn other_orders_are_live() {
    check_calls("SUM(v) OVER (ORDER BY ts DESC)", "live [] ts desc SUM(v): INT None");
    check_calls("SUM(v) OVER (PARTITION BY k ORDER BY id)", "live [k] id SUM(v): INT None");
    check_calls("SUM(v) OVER (PARTITION BY k)", "live [k]  SUM(v): INT None");
    check_calls(
        "SUM(v) OVER (ORDER BY ts, id ROWS UNBOUNDED PRECEDING), LAG(v, 2) OVER (ORDER BY ts, id)",
        "live [] ts, id SUM(v) rows First..Current: INT; LAG(v) -2: INT None",
    );
    check_calls("ROW_NUMBER() OVER (ORDER BY v)", "live [] v ROW_NUMBER(): BIGINT None");
    check(
        "SELECT id FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY v) AS rk FROM T) WHERE rk <= 3",
        "where row_number <= 3 < live [k] v RANK(): BIGINT None < T",
    );
    check(
        "SELECT id FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY ts) AS rk FROM T) WHERE rk <= 3",
        "where row_number <= 3 < over [k] ts Range(None) RANK(ts): BIGINT None < T",
    );
    check(
        "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS rn FROM T) WHERE rn <= p AND rn < 9",
        "where row_number <= p < rank [k] v 1..8 false < T",
    );
}

#[test]
fn what_streams_do_not_have_is_refused() {
    let refused = |calls: &str, expected: &str| check(&format!("SELECT id, {calls} FROM T"), expected);
    let wait = "let the query wait for the end of its input: read tables that end, and SET 'execution.runtime-mode' = 'batch'";
    refused(
        "SUM(v) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)",
        &format!(
            "UNSUPPORTED SUM over a frame with FOLLOWING needs rows that have not come yet: it is not supported in streams; {wait}"
        ),
    );
    refused(
        "SUM(v) OVER (ORDER BY id ROWS 1 PRECEDING)",
        &format!(
            "UNSUPPORTED SUM over a bounded frame goes by ascending event time in streams, and takes rows that are only added; write UNBOUNDED PRECEDING, order by event time, or {wait}"
        ),
    );
    refused(
        "RANK() OVER (PARTITION BY k)",
        "UNSUPPORTED RANK OVER without ORDER BY is not supported; say by which column rows are ranked",
    );
    refused(
        "SUM(v) FILTER (WHERE v > 0) OVER (ORDER BY ts)",
        "UNSUPPORTED FILTER with OVER is not supported; write CASE WHEN .. THEN .. END",
    );
    refused(
        "LEAD(v) OVER (ORDER BY ts)",
        &format!(
            "UNSUPPORTED LEAD needs rows that have not come yet: it is not supported in streams; {wait}"
        ),
    );
    refused(
        "APPROX_COUNT_DISTINCT(v) OVER (ORDER BY ts ROWS 1 PRECEDING)",
        "UNSUPPORTED APPROX_COUNT_DISTINCT over a bounded frame is not supported; write UNBOUNDED PRECEDING",
    );
    refused("SUM(k) OVER (ORDER BY ts)", "TYPE_MISMATCH SUM: argument 1 is STRING; it is called SUM(number)");
    let lag = "it is called LAG(value [, rows [, default]])";
    refused(
        "LAG(v, id) OVER (ORDER BY ts)",
        "TYPE_MISMATCH LAG goes back by a number of rows from 0 to 1000000, and this is no literal",
    );
    refused(
        "LAG(v, 1, k) OVER (ORDER BY ts)",
        &format!("TYPE_MISMATCH LAG: the value is INT, and the default STRING; {lag}"),
    );
    refused(
        "SUM(v) OVER (ORDER BY v, arrived)",
        "UNSUPPORTED OVER in the order of arrival goes by processing time alone, ascending, and a frame ends at CURRENT ROW; order by columns of the rows",
    );
}
