//! Which differences of plans are found: each test changes one part of a plan.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use chrono_tz::Tz;
use thalweg_model::VirtualClock;
use thalweg_sql_functions::aggregates::aggregate;
use thalweg_sql_functions::expression::{Call, State};
use thalweg_sql_functions::functions::{self, Argument, Context, EvaluationError};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::{ColumnarValue, ScalarValue};
use thalweg_sql_tables::error::Place;
use thalweg_sql_tables::table::Table;

use super::*;
use crate::plan::{
    Aggregate, Counted, Frame, JoinKind, JoinMethod, RankFunction, Role, TimeDomain, WindowPlaces,
    WindowSpec, Windowing, Windows,
};

/// Literal rows with two INT columns, the input of all other plans.
fn rows(first: i32) -> Plan {
    let fields = ["a", "b"].map(|name| Field::new(name, DataType::Int32, true));
    let column = |values: [i32; 2]| Arc::new(Int32Array::from(values.to_vec())) as ArrayRef;
    let batch = RecordBatch::try_new(
        Arc::new(Schema::new(fields.to_vec())),
        vec![column([first, 2]), column([3, 4])],
    );
    let columns = ["a", "b"].map(|name| Column::plain(name, SqlType::Int, true));
    Plan::new(columns.to_vec(), Node::Values(batch.unwrap()))
}

fn input() -> Box<Plan> {
    Box::new(rows(1))
}

fn plan(node: Node) -> Plan {
    Plan::new(rows(1).columns, node)
}

fn int(place: usize) -> Typed {
    Typed::column(place, SqlType::Int, true)
}

/// A call of a function with a kernel that gives NULL. The name of the function is all that matters here.
fn function(name: &str, arguments: Vec<Typed>) -> Typed {
    let kernel = |_: &[ColumnarValue], _: usize| -> Result<ColumnarValue, EvaluationError> {
        Ok(ColumnarValue::Scalar(ScalarValue::Null))
    };
    let expression = Expression::Call {
        call: Call::Function(functions::function(name).unwrap()),
        kernel: Arc::new(kernel),
        arguments,
        is_total: true,
        is_deterministic: true,
    };
    Typed { expression, of: SqlType::Int, is_nullable: true }
}

fn call(name: &str, arguments: &[usize]) -> AggregateCall {
    let context = Context { zone: Tz::UTC, clock: Arc::new(VirtualClock::default()) };
    let argument = |_: &usize| Argument { of: SqlType::Int, is_nullable: true, literal: None };
    let given: Vec<Argument> = arguments.iter().map(argument).collect();
    let aggregate = aggregate(name).unwrap();
    let function = (aggregate.bind)(&given, &context).unwrap();
    let aggregate = Aggregate::Function(aggregate);
    AggregateCall { aggregate, is_distinct: false, arguments: arguments.to_vec(), filter: None, function }
}

fn spec(size_ms: i64) -> Arc<WindowSpec> {
    Arc::new(WindowSpec::Tumble { size_ms, offset_ms: 0 })
}

fn sort_key(place: usize) -> SortKey {
    SortKey { place, is_descending: false, is_null_first: true }
}

/// The plan is equal to itself, and the changed one differs from it as the text says.
fn check(plan: &Plan, change: impl FnOnce(&mut Plan), expected: &str) {
    assert_eq!(difference(plan, &plan.clone()), None);
    let mut changed = plan.clone();
    change(&mut changed);
    assert_eq!(difference(plan, &changed).as_deref(), Some(expected));
    assert!(difference(&changed, plan).is_some(), "{expected}");
}

/// As [`check`], for a change that makes another operator of the outermost one.
fn check_node(before: Node, after: Node, expected: &str) {
    check(&plan(before), |plan| plan.node = after, expected);
}

#[test]
fn places_and_inner_names_make_no_difference() {
    let projected =
        plan(Node::Calc { input: input(), conditions: Vec::new(), outputs: vec![int(0), int(1)] });
    let mut other = projected.clone().at(Some(Place { line: 1, column: 2, width: 3 }));
    let Node::Calc { input, .. } = &mut other.node else { unreachable!() };
    input.columns[0].name = "other".to_owned();
    assert_eq!(difference(&projected, &other), None);
}

#[test]
fn columns_differ() {
    let renamed = |plan: &mut Plan| plan.columns[1].name = "c".to_owned();
    check(
        &rows(1),
        renamed,
        "operator 1, Values: column 2 is `b` INT Plain, and `c` INT Plain in the other plan",
    );
    let widened = |plan: &mut Plan| plan.columns[0].of = SqlType::BigInt;
    check(
        &rows(1),
        widened,
        "operator 1, Values: column 1 is `a` INT Plain, and `a` BIGINT Plain in the other plan",
    );
    let filled = |plan: &mut Plan| plan.columns[0].is_nullable = false;
    check(
        &rows(1),
        filled,
        "operator 1, Values: column 1 is `a` INT Plain, and `a` INT NOT NULL Plain in the other plan",
    );
    let timed = |plan: &mut Plan| plan.columns[0].role = Role::Rowtime;
    check(
        &rows(1),
        timed,
        "operator 1, Values: column 1 is `a` INT Plain, and `a` INT Rowtime in the other plan",
    );
    let dropped = |plan: &mut Plan| plan.columns.truncate(1);
    check(&rows(1), dropped, "operator 1, Values: the number of columns is 2, and 1 in the other plan");
}

#[test]
fn sources_differ() {
    let scan = |table: &str, places: Vec<usize>| {
        let table = Table {
            name: table.to_owned(),
            columns: Vec::new(),
            rowtime: None,
            primary_key: Vec::new(),
            partitioned_by: Vec::new(),
            options: Default::default(),
            options_place: Place { line: 1, column: 1, width: 1 },
            is_replaced: false,
        };
        Node::Scan { table: Arc::new(table), places }
    };
    check_node(
        scan("t", vec![0, 1]),
        scan("u", vec![0, 1]),
        "operator 1, Scan: the table is \"t\", and \"u\" in the other plan",
    );
    check_node(
        scan("t", vec![0, 1]),
        scan("t", vec![0, 2]),
        "operator 1, Scan: the list of columns read is [0, 1], and [0, 2] in the other plan",
    );
    // Names of tables' columns are compared, wherever the table stands in the plan.
    let below = |name: &str| {
        let mut table = plan(scan("t", vec![0, 1]));
        table.columns[0].name = name.to_owned();
        Node::Limit { input: Box::new(table), skip: 0, fetch: 1 }
    };
    check_node(
        below("a"),
        below("c"),
        "operator 2, Scan: column 1 is `a` INT Plain, and `c` INT Plain in the other plan",
    );
    check(
        &rows(1),
        |plan| plan.node = rows(7).node,
        "operator 1, Values: the literals of column 1 are others in the other plan",
    );
    check(
        &rows(1),
        |plan| {
            let Node::Values(batch) = &mut plan.node else { unreachable!() };
            *batch = batch.slice(0, 1);
        },
        "operator 1, Values: the number of rows is 2, and 1 in the other plan",
    );
}

#[test]
fn operators_and_their_inputs_differ() {
    check_node(
        Node::Limit { input: input(), skip: 0, fetch: 1 },
        Node::Union(vec![rows(1)]),
        "operator 1 is Limit, and Union in the other plan",
    );
    check_node(
        Node::Union(vec![rows(1)]),
        Node::Union(vec![rows(1), rows(1)]),
        "operator 1, Union: the number of inputs is 1, and 2 in the other plan",
    );
    check_node(
        Node::Union(vec![rows(1), rows(1)]),
        Node::Union(vec![rows(1), rows(2)]),
        "operator 3, Values: the literals of column 1 are others in the other plan",
    );
}

#[test]
fn expressions_differ() {
    let outputs = |first: Typed| Node::Calc { input: input(), conditions: Vec::new(), outputs: vec![first] };
    let differ = |before: Typed, after: Typed, expected: [&str; 2]| {
        let [before_text, after_text] = expected;
        let expected =
            format!("operator 1, Calc: output 1 is {before_text}, and {after_text} in the other plan");
        check_node(outputs(before), outputs(after), &expected);
    };
    let literal = |number, of| Typed::literal(ScalarValue::Int32(Some(number)), of);
    let [one, two] = [1, 2].map(|number| format!("{:?}", ScalarValue::Int32(Some(number))));
    differ(int(0), int(1), ["$0: INT", "$1: INT"]);
    differ(int(0), Typed { is_nullable: false, ..int(0) }, ["$0: INT", "$0: INT NOT NULL"]);
    differ(int(0), Typed { of: SqlType::BigInt, ..int(0) }, ["$0: INT", "$0: BIGINT"]);
    differ(
        literal(1, SqlType::Int),
        literal(2, SqlType::Int),
        [&format!("{one}: INT NOT NULL"), &format!("{two}: INT NOT NULL")],
    );
    differ(
        function("ABS", vec![int(0)]),
        function("EXP", vec![int(0)]),
        ["ABS($0: INT): INT", "EXP($0: INT): INT"],
    );
    differ(function("ABS", Vec::new()), function("ABS", vec![int(0)]), ["ABS(): INT", "ABS($0: INT): INT"]);
    // Both are shown alike by EXPLAIN, and the types of their arguments differ.
    differ(
        function("ABS", vec![literal(1, SqlType::Int)]),
        function("ABS", vec![literal(1, SqlType::SmallInt)]),
        [&format!("ABS({one}: INT NOT NULL): INT"), &format!("ABS({one}: SMALLINT NOT NULL): INT")],
    );
    let flagged = |total: bool, deterministic: bool| {
        let mut typed = function("ABS", Vec::new());
        let Expression::Call { is_total, is_deterministic, .. } = &mut typed.expression else {
            unreachable!()
        };
        (*is_total, *is_deterministic) = (total, deterministic);
        typed
    };
    differ(flagged(true, true), flagged(false, true), ["ABS(): INT", "ABS that may fail(): INT"]);
    differ(flagged(true, true), flagged(true, false), ["ABS(): INT", "ABS that varies(): INT"]);
    let made = |expression| Typed { expression, of: SqlType::Boolean, is_nullable: true };
    differ(
        made(Expression::And(vec![int(0), int(1)])),
        made(Expression::Or(vec![int(0), int(1)])),
        ["AND($0: INT, $1: INT): BOOLEAN", "OR($0: INT, $1: INT): BOOLEAN"],
    );
    differ(
        made(Expression::Not(Box::new(int(0)))),
        made(Expression::Is(Box::new(int(0)), State::Null)),
        ["NOT($0: INT): BOOLEAN", "IS Null($0: INT): BOOLEAN"],
    );
    let case =
        |value| made(Expression::Case { branches: vec![(int(0), int(value))], otherwise: Box::new(int(1)) });
    differ(
        case(0),
        case(1),
        ["CASE($0: INT, $0: INT, $1: INT): BOOLEAN", "CASE($0: INT, $1: INT, $1: INT): BOOLEAN"],
    );
    let filtered = |conditions| Node::Calc { input: input(), conditions, outputs: vec![int(0)] };
    check_node(
        filtered(Vec::new()),
        filtered(vec![int(0)]),
        "operator 1, Calc: the number of conditions is 0, and 1 in the other plan",
    );
    check_node(
        filtered(vec![int(0)]),
        filtered(vec![int(1)]),
        "operator 1, Calc: condition 1 is $0: INT, and $1: INT in the other plan",
    );
    let expanded = |forms| Node::Expand { input: input(), forms };
    check_node(
        expanded(vec![vec![int(0)]]),
        expanded(vec![vec![int(0)], vec![int(0)]]),
        "operator 1, Expand: the number of forms is 1, and 2 in the other plan",
    );
    check_node(
        expanded(vec![vec![int(0)], vec![int(0)]]),
        expanded(vec![vec![int(0)], vec![int(1)]]),
        "operator 1, Expand: form 2 output 1 is $0: INT, and $1: INT in the other plan",
    );
}

#[test]
fn windows_differ() {
    let assigned = |size_ms, time| Node::AssignWindows { input: input(), spec: spec(size_ms), time };
    check_node(
        assigned(1, 0),
        assigned(2, 0),
        "operator 1, AssignWindows: the rule of windows is Tumble { size_ms: 1, offset_ms: 0 }, and Tumble { size_ms: 2, \
         offset_ms: 0 } in the other plan",
    );
    check_node(
        assigned(1, 0),
        assigned(1, 1),
        "operator 1, AssignWindows: the time column is 0, and 1 in the other plan",
    );
    let aggregated = |windows, keys, calls| Node::WindowAggregate { input: input(), windows, keys, calls };
    let cut = |time| Windowing::Cut { spec: spec(1), time };
    let windows = Windows { spec: spec(1), is_local: false, domain: TimeDomain::Event };
    let given = Windowing::Given { windows, start: 0, end: 1 };
    check_node(
        aggregated(cut(0), vec![0], Vec::new()),
        aggregated(cut(1), vec![0], Vec::new()),
        "operator 1, WindowAggregate: the windowing is Cut { spec: Tumble { size_ms: 1, offset_ms: 0 }, time: 0 }, and Cut { \
         spec: Tumble { size_ms: 1, offset_ms: 0 }, time: 1 } in the other plan",
    );
    let differ = difference(
        &plan(aggregated(cut(0), vec![0], Vec::new())),
        &plan(aggregated(given, vec![0], Vec::new())),
    );
    assert!(differ.is_some_and(|text| text.starts_with("operator 1, WindowAggregate: the windowing is Cut")));
    check_node(
        aggregated(cut(0), vec![0], Vec::new()),
        aggregated(cut(0), vec![1], Vec::new()),
        "operator 1, WindowAggregate: key 1 is 0, and 1 in the other plan",
    );
    let ranked = |window_end, is_local, order, to| {
        let (keys, order) = (vec![0], vec![order]);
        Node::WindowTopN { input: input(), window_end, is_local, keys, order, from: 1, to }
    };
    check_node(
        ranked(0, false, sort_key(0), 1),
        ranked(1, false, sort_key(0), 1),
        "operator 1, WindowTopN: the column of window ends is 0, and 1 in the other plan",
    );
    check_node(
        ranked(0, false, sort_key(0), 1),
        ranked(0, true, sort_key(0), 1),
        "operator 1, WindowTopN: the use of local time is false, and true in the other plan",
    );
    check_node(
        ranked(0, false, sort_key(0), 1),
        ranked(0, false, sort_key(0), 2),
        "operator 1, WindowTopN: the range of ranks is (1, 1), and (1, 2) in the other plan",
    );
    check_node(
        ranked(0, false, sort_key(0), 1),
        ranked(0, false, SortKey { is_null_first: false, ..sort_key(0) }, 1),
        "operator 1, WindowTopN: sort key 1 is 0 NULLS FIRST, and 0 NULLS LAST in the other plan",
    );
}

#[test]
fn calls_differ() {
    let grouped = |call| Node::Group {
        input: input(),
        keys: vec![0],
        calls: vec![call],
        is_retracting: false,
        is_final: false,
        ttl_ms: None,
    };
    let differ = |change: &dyn Fn(&mut AggregateCall), expected: &str| {
        let before = call("MAX", &[0]);
        let mut after = before.clone();
        change(&mut after);
        let shown = "Function(MAX) of [0] as (INT) with filter None: INT, can retract, DISTINCT over 0";
        let expected = format!("operator 1, Group: call 1 is {shown}, and {expected} in the other plan");
        check_node(grouped(before), grouped(after), &expected);
    };
    differ(
        &|call| call.aggregate = Aggregate::Function(aggregate("MIN").unwrap()),
        "Function(MIN) of [0] as (INT) with filter None: INT, can retract, DISTINCT over 0",
    );
    differ(
        &|call| call.aggregate = Aggregate::Lag { rows: 2 },
        "Lag { rows: 2 } of [0] as (INT) with filter None: INT, can retract, DISTINCT over 0",
    );
    differ(
        &|call| call.aggregate = Aggregate::Rank(RankFunction::Rank),
        "Rank(Rank) of [0] as (INT) with filter None: INT, can retract, DISTINCT over 0",
    );
    differ(
        &|call| call.is_distinct = true,
        "Function(MAX) of DISTINCT [0] as (INT) with filter None: INT, can retract, DISTINCT over 0",
    );
    differ(
        &|call| call.arguments = vec![1],
        "Function(MAX) of [1] as (INT) with filter None: INT, can retract, DISTINCT over 0",
    );
    differ(
        &|call| call.filter = Some(1),
        "Function(MAX) of [0] as (INT) with filter Some(1): INT, can retract, DISTINCT over 0",
    );
    differ(
        &|call| call.function.arguments = vec![SqlType::BigInt],
        "Function(MAX) of [0] as (BIGINT) with filter None: INT, can retract, DISTINCT over 0",
    );
    differ(
        &|call| call.function.result = SqlType::BigInt,
        "Function(MAX) of [0] as (INT) with filter None: BIGINT, can retract, DISTINCT over 0",
    );
    differ(
        &|call| call.function.is_nullable = false,
        "Function(MAX) of [0] as (INT) with filter None: INT NOT NULL, can retract, DISTINCT over 0",
    );
    differ(
        &|call| call.function.create_retractable = None,
        "Function(MAX) of [0] as (INT) with filter None: INT, cannot retract, DISTINCT over 0",
    );
    differ(
        &|call| call.function.distinct_over = 1,
        "Function(MAX) of [0] as (INT) with filter None: INT, can retract, DISTINCT over 1",
    );
}

#[test]
fn operators_without_windows_differ() {
    let group = |keys: &[usize], is_retracting, ttl_ms| Node::Group {
        input: input(),
        keys: keys.to_vec(),
        calls: Vec::new(),
        is_retracting,
        is_final: false,
        ttl_ms,
    };
    let differ = |after, expected: &str| {
        check_node(group(&[0, 1], false, None), after, &format!("operator 1, Group: {expected}"));
    };
    differ(group(&[0], false, None), "the number of keys is 2, and 1 in the other plan");
    differ(group(&[1, 0], false, None), "key 1 is 0, and 1 in the other plan");
    differ(group(&[0, 1], true, None), "the mark for retractions is false, and true in the other plan");
    differ(group(&[0, 1], false, Some(9)), "the time to live is None, and Some(9) in the other plan");

    let over = |time, frame, ttl_ms| Node::Over {
        input: input(),
        keys: Vec::new(),
        time,
        frame,
        calls: Vec::new(),
        ttl_ms,
    };
    let differ = |after, expected: &str| {
        let before = over(Some(0), Frame::Rows(None), None);
        check_node(before, after, &format!("operator 1, Over: {expected}"));
    };
    differ(over(None, Frame::Rows(None), None), "the time column is Some(0), and None in the other plan");
    differ(
        over(Some(0), Frame::Range(None), None),
        "the frame is Rows(None), and Range(None) in the other plan",
    );
    differ(
        over(Some(0), Frame::Rows(None), Some(1)),
        "the time to live is None, and Some(1) in the other plan",
    );

    let rank = |order, function, from, has_rank, is_retracting| Node::Rank {
        input: input(),
        keys: Vec::new(),
        order: vec![order],
        function,
        from,
        to: 3,
        has_rank,
        is_retracting,
        ttl_ms: None,
    };
    let differ = |after, expected: &str| {
        let before = rank(sort_key(0), RankFunction::Rank, 1, true, false);
        check_node(before, after, &format!("operator 1, Rank: {expected}"));
    };
    differ(
        rank(SortKey { is_descending: true, ..sort_key(0) }, RankFunction::Rank, 1, true, false),
        "sort key 1 is 0 NULLS FIRST, and 0 DESC NULLS FIRST in the other plan",
    );
    differ(
        rank(sort_key(0), RankFunction::DenseRank, 1, true, false),
        "the ranking function is Rank, and DenseRank in the other plan",
    );
    differ(
        rank(sort_key(0), RankFunction::Rank, 2, true, false),
        "the range of ranks is (1, 3), and (2, 3) in the other plan",
    );
    differ(
        rank(sort_key(0), RankFunction::Rank, 1, false, false),
        "the mark for a column of ranks is true, and false in the other plan",
    );
    differ(
        rank(sort_key(0), RankFunction::Rank, 1, true, true),
        "the mark for retractions is false, and true in the other plan",
    );

    check_node(
        Node::Limit { input: input(), skip: 0, fetch: 1 },
        Node::Limit { input: input(), skip: 1, fetch: 1 },
        "operator 1, Limit: the number of skipped rows is 0, and 1 in the other plan",
    );
    check_node(
        Node::Limit { input: input(), skip: 0, fetch: 1 },
        Node::Limit { input: input(), skip: 0, fetch: 2 },
        "operator 1, Limit: the greatest number of rows is 1, and 2 in the other plan",
    );
    let last = |order: Vec<SortKey>, skip, fetch, is_retracting| Node::Final {
        input: input(),
        order,
        skip,
        fetch,
        is_retracting,
    };
    let differ = |other: Node, expected: &str| {
        let expected = format!("operator 1, Final: {expected} in the other plan");
        check_node(last(vec![sort_key(0)], 0, 1, true), other, &expected);
    };
    differ(last(vec![sort_key(1)], 0, 1, true), "sort key 1 is 0 NULLS FIRST, and 1 NULLS FIRST");
    differ(last(vec![sort_key(0)], 2, 1, true), "the number of skipped rows is 0, and 2");
    differ(last(vec![sort_key(0)], 0, 3, true), "the greatest number of rows is 1, and 3");
    differ(last(vec![sort_key(0)], 0, 1, false), "the mark for retractions is true, and false");
    check_node(
        Node::Sort { input: input(), time: 0, keys: Vec::new() },
        Node::Sort { input: input(), time: 1, keys: Vec::new() },
        "operator 1, Sort: the time column is 0, and 1 in the other plan",
    );
    check_node(
        Node::Sort { input: input(), time: 0, keys: vec![sort_key(0)] },
        Node::Sort { input: input(), time: 0, keys: vec![sort_key(1)] },
        "operator 1, Sort: sort key 1 is 0 NULLS FIRST, and 1 NULLS FIRST in the other plan",
    );
}

#[test]
fn joins_differ() {
    let regular = || Join {
        kind: JoinKind::Inner,
        method: JoinMethod::Regular { ttl_ms: [Some(1), Some(1)] },
        keys: vec![JoinKey { left: int(0), right: int(1), is_null_equal: false }],
        condition: None,
    };
    let joined = |join| Node::Join { left: input(), right: input(), join };
    let differ = |change: &dyn Fn(&mut Join), expected: &str| {
        let mut after = regular();
        change(&mut after);
        let expected = format!("operator 1, Join: {expected} in the other plan");
        check_node(joined(regular()), joined(after), &expected);
    };
    differ(&|join| join.kind = JoinKind::Left, "the kind is Inner, and Left");
    differ(
        &|join| join.method = JoinMethod::Regular { ttl_ms: [Some(2), Some(1)] },
        "the method is Regular { ttl_ms: [Some(1), Some(1)] }, and Regular { ttl_ms: [Some(2), Some(1)] }",
    );
    differ(
        &|join| join.method = JoinMethod::Lookup,
        "the method is Regular { ttl_ms: [Some(1), Some(1)] }, and Lookup",
    );
    differ(&|join| join.keys.clear(), "the number of keys is 1, and 0");
    differ(&|join| join.keys[0].left = int(1), "key 1 is $0: INT = $1: INT, and $1: INT = $1: INT");
    differ(
        &|join| join.keys[0].is_null_equal = true,
        "key 1 is $0: INT = $1: INT, and $0: INT IS NOT DISTINCT FROM $1: INT",
    );
    differ(&|join| join.condition = Some(int(3)), "the number of conditions is 0, and 1");

    let method = |method| joined(Join { method, ..regular() });
    let temporal =
        |counts| method(JoinMethod::Temporal { left_time: 0, right_time: 1, counts, ttl_ms: None });
    check_node(
        temporal(Counted::All),
        temporal(Counted::First),
        "operator 1, Join: the method is Temporal { left_time: 0, right_time: 1, counts: All, ttl_ms: None }, and Temporal { \
         left_time: 0, right_time: 1, counts: First, ttl_ms: None } in the other plan",
    );
    let interval = |upper_ms| {
        let domain = TimeDomain::Event;
        method(JoinMethod::Interval { left_time: 0, right_time: 1, lower_ms: 0, upper_ms, domain })
    };
    check_node(
        interval(1),
        interval(2),
        "operator 1, Join: the method is Interval { left_time: 0, right_time: 1, lower_ms: 0, upper_ms: 1, domain: \
         Event }, and Interval { left_time: 0, right_time: 1, lower_ms: 0, upper_ms: 2, domain: Event } in the other plan",
    );
    let window = |is_local| {
        let places = WindowPlaces { start: 0, end: 1 };
        method(JoinMethod::Window { left: places, right: places, is_local })
    };
    check_node(
        window(false),
        window(true),
        "operator 1, Join: the method is Window { left: WindowPlaces { start: 0, end: 1 }, right: WindowPlaces { start: 0, \
         end: 1 }, is_local: false }, and Window { left: WindowPlaces { start: 0, end: 1 }, right: WindowPlaces { start: 0, \
         end: 1 }, is_local: true } in the other plan",
    );
}
