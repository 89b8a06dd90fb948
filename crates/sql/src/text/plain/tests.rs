//! Tests of the rewriting of queries into plain form. A part of a query that is ignored silently would let
//! the query run and mean something else.

use super::*;
use crate::text::script::{self, Statement};

fn check(text: &str, expected: &str) {
    let mut statements = script::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let Statement::Query(query) = &mut statements[0].statement else { panic!("{text} is no query") };
    let shown = match make_plain(query) {
        Ok(()) => query.to_string(),
        Err(error) => format!("{} {}", error.code.name(), error),
    };
    assert_eq!(shown, expected, "{text}");
}

#[test]
fn forms_become_calls() {
    check("SELECT EXTRACT(YEAR FROM ts) AS y FROM t", "SELECT EXTRACT('YEAR', ts) AS y FROM t");
    check(
        "SELECT FLOOR(ts TO HOUR) AS h, CEIL(x) AS c FROM t",
        "SELECT FLOOR_TO(ts, 'HOUR') AS h, CEIL(x) AS c FROM t",
    );
    check("SELECT POSITION('a' IN b) AS p FROM t", "SELECT POSITION('a', b) AS p FROM t");
    check("SELECT TRIM(LEADING 'x' FROM b) AS p FROM t", "SELECT TRIM_LEADING('x', b) AS p FROM t");
    check("SELECT SUBSTRING(b FROM 2 FOR 3) AS p FROM t", "SELECT SUBSTRING(b, 2, 3) AS p FROM t");
    check("SELECT TIMESTAMPADD(DAY, 1, ts) AS p FROM t", "SELECT TIMESTAMPADD('DAY', 1, ts) AS p FROM t");
    check(
        "SELECT a, t.b, a + 1, COUNT(*) FROM t",
        "SELECT a, t.b, a + 1 AS `EXPR$2`, COUNT() AS `EXPR$3` FROM t",
    );
    check(
        "SELECT TIMESTAMP '2020-01-01 00:00:00.123' AS x",
        "SELECT CAST('2020-01-01 00:00:00.123' AS TIMESTAMP(3)) AS x",
    );
    check("SELECT 1e3 AS x", "SELECT CAST('1e3' AS DOUBLE) AS x");
    check("SELECT ARRAY[1, 2][1] AS x", "SELECT ITEM(ARRAY(1, 2), 1) AS x");
}

#[test]
fn what_is_not_known_is_refused() {
    check("SELECT a FROM t FOR UPDATE", "UNSUPPORTED line 1, column 1: FOR UPDATE is not supported");
    check("SELECT DISTINCT ON (a) b FROM t", "UNSUPPORTED line 1, column 1: DISTINCT ON is not supported");
    check(
        "SELECT a FROM t GROUP BY 1",
        "UNSUPPORTED line 1, column 26: GROUP BY 1: positions are not keys; repeat the expression",
    );
    check(
        "SELECT a::INT FROM t",
        "UNSUPPORTED line 1, column 8: `::` is not supported; write CAST(.. AS ..)",
    );
    check("SELECT a FROM t TABLESAMPLE (10)", "UNSUPPORTED line 1, column 15: TABLESAMPLE is not supported");
    check(
        "SELECT a FROM t JOIN u",
        "SYNTAX line 1, column 22: a join has no condition; write ON .. = .. behind it, or CROSS JOIN",
    );
}

#[test]
fn frames_are_numbers() {
    let over = |frame: &str| format!("SELECT SUM(a) OVER (ORDER BY ts {frame}) AS x FROM t");
    let hour = over("RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW");
    check(&hour, &over("RANGE BETWEEN 3600000 PRECEDING AND CURRENT ROW"));
    let rows = over("ROWS BETWEEN 2 PRECEDING AND CURRENT ROW");
    check(&rows, &rows);
    check(&over("ROWS 2 PRECEDING"), &over("ROWS 2 PRECEDING"));
    check(
        "SELECT SUM(a) OVER w AS x FROM t WINDOW w AS (ORDER BY ts RANGE BETWEEN INTERVAL '0.001' SECOND PRECEDING AND CURRENT ROW)",
        "SELECT SUM(a) OVER w AS x FROM t WINDOW w AS (ORDER BY ts RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)",
    );
    let refused = |frame: &str, code: &str, expected: &str| {
        check(&over(frame), &format!("{code} line 1, column 8: {expected}"));
    };
    let help = "write RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW";
    let expected = format!("RANGE goes back by a span of days to seconds, and 5 is none; {help}");
    refused("RANGE BETWEEN 5 PRECEDING AND CURRENT ROW", "TYPE_MISMATCH", &expected);
    let expected =
        format!("RANGE goes back by a span of days to seconds, and `interval of months`(1) is none; {help}");
    refused("RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND CURRENT ROW", "TYPE_MISMATCH", &expected);
    let expected = format!(
        "RANGE goes back by a span of days to seconds, and `interval of milliseconds`(-1000) is none; {help}"
    );
    refused("RANGE BETWEEN INTERVAL -'1' SECOND PRECEDING AND CURRENT ROW", "TYPE_MISMATCH", &expected);
    refused(
        "ROWS BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW",
        "TYPE_MISMATCH",
        "ROWS counts rows, and `interval of milliseconds`(1000) is no count; write ROWS BETWEEN 10 PRECEDING AND CURRENT ROW",
    );
    refused(
        "ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING",
        "UNSUPPORTED",
        "FOLLOWING is not supported; a frame ends at CURRENT ROW",
    );
    refused(
        "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
        "UNSUPPORTED",
        "a frame that ends before CURRENT ROW is not supported",
    );
    refused("GROUPS BETWEEN 2 PRECEDING AND CURRENT ROW", "UNSUPPORTED", "GROUPS is not supported");
}

/// The number of operators in a chain is bounded before it is parsed. Operators within brackets and those
/// behind the brackets are counted separately.
#[test]
fn chains_are_bounded() {
    let chain = format!("SELECT (a{0}){0} AS x FROM t", " + a".repeat(1_500));
    let expected = "UNSUPPORTED line 1, column 9: an expression has more than 2000 operators within each other; \
                    write x IN (..) for many alternatives";
    // The test runs on a thread with the stack size of a session, because a test's own stack is too small.
    let checking = std::thread::Builder::new().stack_size(crate::session::STACK_BYTES);
    checking.spawn(move || check(&chain, expected)).unwrap().join().unwrap();
}

#[test]
fn names_are_of_what_stands_in_brackets() {
    check("SELECT (a), ((t.b)), (a + 1) FROM t", "SELECT a, t.b, a + 1 AS `EXPR$2` FROM t");
    for key in ["(1)", "((1))", "+1", "a, (1)"] {
        let query = format!("SELECT a FROM t GROUP BY {key}");
        let mut statements = script::parse(&query).unwrap();
        let Statement::Query(query) = &mut statements[0].statement else { panic!("a query") };
        assert_eq!(make_plain(query).unwrap_err().message, "GROUP BY 1: positions are not keys", "{key}");
    }
}

/// A column beside the `*` of a sub-query that the `*` also contains gets a name of its own.
#[test]
fn columns_beside_a_star_are_named_apart() {
    let of = |list: &str| format!("SELECT x FROM (SELECT {list} FROM t, r AS s) AS v");
    check(&of("a, *"), &of("a AS `a0`, *"));
    check(&of("*, t.a, s.a"), &of("*, t.a AS `a0`, s.a AS `a1`"));
    check(&of("t.*, t.a, s.a"), &of("t.*, t.a AS `a0`, s.a AS `a1`"));
    // Names stay as they are where the rewriting cannot know whether `*` contains the column: fields of rows,
    // and columns without a table name before them.
    check(&of("*, b.f"), &of("*, b.f"));
    check(&of("t.*, a"), &of("t.*, a"));
    let of = |list: &str| format!("SELECT x FROM (SELECT {list} FROM t) AS v");
    check(&of("t.*, a"), &of("t.*, a AS `a0`"));
}

#[test]
fn star_is_an_argument_of_count_alone() {
    let refused = |call: &str, expected: &str| {
        check(&format!("SELECT {call} AS x FROM t"), &format!("INVALID line 1, column 8: {expected}"));
    };
    let help = "all rows are counted by COUNT(*), and nothing else takes `*`";
    refused("COUNT(DISTINCT *)", &format!("`*` is no argument of COUNT; {help}"));
    refused("SUM(*)", &format!("`*` is no argument of SUM; {help}"));
    refused("COUNT(a, *)", &format!("`*` is no argument of COUNT; {help}"));
    refused("COUNT(t.*)", &format!("`*` is no argument of COUNT; {help}"));
    refused("COUNT()", "COUNT has no argument; write COUNT(*)");
}

#[test]
fn literals_of_time_are_read() {
    let refused = |literal: &str, expected: &str| {
        check(&format!("SELECT {literal} AS x"), &format!("INVALID line 1, column {expected}"));
    };
    refused("TIMESTAMP 'x'", "18: 'x' is no timestamp; write TIMESTAMP '2024-12-31 23:59:59.999'");
    refused("TIME '25:00:00'", "13: '25:00:00' is no time; write TIME '23:59:59'");
    refused("DATE '2024-13-01'", "13: '2024-13-01' is no date; write DATE '2024-12-31'");
}

/// Cells of VALUES are wrapped unless all of a column are of one kind, because only then the planner's common
/// type is right.
#[test]
fn cells_of_values_are_wrapped_if_they_differ() {
    let cell = |inner: &str| format!("`{CELL}`({inner})");
    check("VALUES (1, 'a'), (-2, NULL)", "VALUES (1, 'a'), (-2, NULL)");
    check("VALUES (1), (2.5)", &format!("VALUES ({}), ({})", cell("1"), cell("2.5")));
    check("VALUES (1), (-2.5)", &format!("VALUES ({}), ({})", cell("1"), cell("-2.5")));
    check("VALUES (1), ('a')", &format!("VALUES ({}), ({})", cell("1"), cell("'a'")));
}
