//! Queries over two tables: what is wrong with them and where, the names of their columns, and how large they may be.

use std::sync::Arc;

use thalweg_model::VirtualClock;
use thalweg_sql_exec::plan::explain;

use crate::session::{Action, Session};

const TABLES: &str = "CREATE TABLE t (a INT, b STRING, ts TIMESTAMP(3), l ARRAY<INT>, WATERMARK FOR ts AS ts) \
    WITH ('connector' = 'filesystem', 'path' = 't.csv', 'format' = 'csv'); \
    CREATE TABLE endless (a INT) WITH ('connector' = 'datagen');\n";

/// The columns of the last query with their types, or its error: the place from the line behind the tables on.
fn planned(query: &str) -> String {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    match session.read(&format!("{TABLES}{query}")) {
        Ok(actions) => {
            let Some(Action::Run(job)) = actions.last() else { return "nothing".to_owned() };
            let columns = job.parts[0].plan.columns.iter();
            columns.map(|column| format!("{} {}", column.name, column.of)).collect::<Vec<_>>().join(", ")
        }
        Err(error) => {
            let place = error.place.map(|place| format!("{}:{} ", place.line - 1, place.column));
            let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
            format!("{} {}{}{help}", error.code.name(), place.unwrap_or_default(), error.message)
        }
    }
}

fn check(query: &str, expected: &str) {
    assert_eq!(planned(query), expected, "{query}");
}

/// As [`check`], as far as the expected text goes.
fn begins(query: &str, expected: &str) {
    let found = planned(query);
    assert!(found.starts_with(expected), "{}: {found}", &query[..query.len().min(200)]);
}

#[test]
fn errors_point_at_the_expression() {
    begins("SELECT a, ABS('x') FROM t", "TYPE_MISMATCH 1:15 ");
    begins("SELECT a FROM t WHERE b <> 'z'\nAND 5 = 'a'", "TYPE_MISMATCH 2:5 5 = 'a': ");
    begins("SELECT a,\nCASE WHEN TRUE THEN 1 ELSE 'a' END FROM t", "TYPE_MISMATCH 2:");
    begins("SELECT a,\nCAST(1\nAS FOO) FROM t", "UNSUPPORTED 3:4 there is no type FOO");
    begins(
        "SELECT a FROM t\nLIMIT -1",
        "UNSUPPORTED 2:8 LIMIT and OFFSET take whole numbers from 0 on, and this is -1",
    );
    begins(
        "SELECT a FROM t\nLIMIT 1.5",
        "UNSUPPORTED 2:7 LIMIT and OFFSET take whole numbers from 0 on, and this is 1.5",
    );
    begins("SELECT\n FROM t", "SYNTAX 2:2 ");
    begins("SET\n'thalweg.workers' = 'many'", "INVALID 2:21 ");
    begins("SET\n'thalweg.wrkers' = '1'", "UNKNOWN_OPTION 2:1 ");
    let table = "CREATE TABLE s (a INT, b INT) WITH ('connector' = 'print');\n";
    begins(&format!("{table}INSERT INTO s SELECT a,\nb FROM t"), "TYPE_MISMATCH 3:1 `b` is STRING");
    begins(&format!("{table}INSERT INTO s SELECT\na FROM t"), "TYPE_MISMATCH 3:1 the query has 1 columns");
}

#[test]
fn errors_are_in_the_words_of_sql() {
    check(
        "SELECT a FROM t WHERE a = b",
        "TYPE_MISMATCH 1:23 a = b: INT = STRING: they are not compared, cast one to the type of the other",
    );
    begins("SELECT a FROM t WHERE a = 'it''s'", "TYPE_MISMATCH 1:23 a = 'it''s': ");
    check(
        "SELECT a, COUNT(*) FROM t",
        "INVALID 1:8 `a` is no key of GROUP BY, and stands outside of aggregates; add it to GROUP BY, or aggregate it: MAX(..), say",
    );
    begins("SELECT a FROM t HAVING a > 1", "INVALID 1:1 HAVING stands where there are no groups");
    check(
        "SELECT foo",
        "UNKNOWN_COLUMN 1:8 there is no column `foo`; there are no columns here: name a table in FROM",
    );
    check(
        "SELECT 1 FROM TABLE(TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZ => INTERVAL '1' SECOND))",
        "INVALID 1:72 TUMBLE has no argument SIZ; did you mean SIZE?",
    );
    begins(
        "SELECT TUMBLE_START(ts, INTERVAL '1' HOUR) FROM t",
        "UNKNOWN_FUNCTION 1:8 there is no function TUMBLE_START; write FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), ..))",
    );
}

#[test]
fn names_are_there_once() {
    check("SELECT 1 AS a, 2 AS a", "a INT, a0 INT");
    check("SELECT a, b, a, a FROM t", "a INT, b STRING, a0 INT, a1 INT");
    check(
        "SELECT x.a, y.a FROM endless x CROSS JOIN (VALUES (1)) AS y(a)",
        "UNBOUNDED_STATE 1:1 a join without a bound in time remembers rows without bound; say how near event times are (a.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts), join by window_start and window_end, or set how long rows are remembered: SET 'table.exec.state.ttl' = '1 h'",
    );
    check("SELECT *, a + 1 FROM endless", "a INT, EXPR$1 INT");
    check("SELECT a, b, ABS(a) FROM t", "a INT, b STRING, EXPR$2 INT");
    check("CREATE VIEW v AS SELECT *, a + 1 FROM endless; SELECT `EXPR$1` FROM v", "EXPR$1 INT");
    check("SELECT *, a FROM endless", "a INT, a0 INT");
}

/// As Flink has them: names are made apart from the left to the right, behind what `*` stands for.
#[test]
fn names_beside_a_star() {
    let table = "CREATE TABLE u (a INT, b STRING) WITH ('connector' = 'datagen');";
    let of = |query: &str, expected: &str| check(&format!("{table} {query}"), expected);
    of("SELECT a, * FROM u", "a INT, a0 INT, b STRING");
    of("SELECT u.*, a FROM u", "a INT, b STRING, a0 INT");
    of("SELECT *, u.a FROM u", "a INT, b STRING, a0 INT");
    of("SELECT *, CHAR_LENGTH(b) AS b FROM u", "a INT, b STRING, b0 INT");
    of("SELECT CHAR_LENGTH(b) AS b, *, 1 AS c FROM u", "b INT, a INT, b0 STRING, c INT");
    of("SELECT *, 1 AS b, 2 FROM u LIMIT 3", "a INT, b STRING, b0 INT, EXPR$3 INT");
    of("SELECT *, 1 AS b FROM u UNION ALL SELECT *, 2 AS c FROM u", "a INT, b STRING, b0 INT");
    of("CREATE VIEW v AS SELECT *, 1 AS b, 2 AS c FROM u; SELECT b, b0, c FROM v", "b STRING, b0 INT, c INT");
    of("SELECT a0, b FROM (SELECT a, * FROM u)", "a0 INT, b STRING");
    of(
        "SELECT b FROM (SELECT *, CHAR_LENGTH(b) AS b FROM u)",
        "INVALID 1:66 `*` has a column `b` already; give the result another name by AS",
    );
    of(
        "SELECT * FROM (SELECT *, * FROM u)",
        "INVALID 1:66 two results of a SELECT have one name: name one of them by AS",
    );
    // ORDER BY speaks of names as they are written.
    check(
        "SELECT *, a + 1 AS more FROM t ORDER BY ts, more",
        "a INT, b STRING, ts TIMESTAMP(3), l ARRAY<INT>, more INT",
    );
    check("SELECT ts, a FROM t ORDER BY 1, a LIMIT 3", "ts TIMESTAMP(3), a INT");
    begins("SELECT a FROM endless ORDER BY 1", "UNSUPPORTED 1:");
    check("SELECT a, ts FROM t ORDER BY 1", "a INT, ts TIMESTAMP(3)");
}

#[test]
fn columns_are_named_once_where_they_are_given_values() {
    let table = "CREATE TABLE s (a INT, b INT) WITH ('connector' = 'print'); ";
    begins(
        &format!("{table}INSERT INTO s (a, b, a) VALUES (1, 2, 3)"),
        "INVALID 1:82 the column `a` is named twice",
    );
}

#[test]
fn values_have_the_type_with_the_most_digits() {
    check("SELECT * FROM (VALUES (TIMESTAMP '2020-01-01 00:00:00'), (NULL)) AS v(a)", "a TIMESTAMP(0)");
    check(
        "SELECT * FROM (VALUES (TIMESTAMP '2020-01-01 00:00:00'), (TIMESTAMP '2020-01-01 00:00:00.123')) AS v(a)",
        "a TIMESTAMP(3)",
    );
    check("SELECT * FROM (VALUES (NULL), (TIME '10:00:00')) AS v(a)", "a TIME(0)");
    let table = "CREATE TABLE s (a TIMESTAMP(3), b INT) WITH ('connector' = 'print');";
    check(
        &format!("{table}INSERT INTO s VALUES (TIMESTAMP '2020-01-01 00:00:00', 1), (NULL, 2)"),
        "a TIMESTAMP(3), b INT",
    );
}

/// Whole numbers beside decimals are as long as an INT, as in Flink.
#[test]
fn values_of_several_kinds() {
    check("SELECT * FROM (VALUES (1), (2.5)) AS v(a)", "a DECIMAL(11, 1)");
    check("SELECT * FROM (VALUES (1), (-2.5)) AS v(a)", "a DECIMAL(11, 1)");
    check("SELECT * FROM (VALUES (1), (3000000000)) AS v(a)", "a BIGINT");
    check("SELECT 9300000000000000000 AS a, 10000000000000000000 AS b", "a DECIMAL(19, 0), b DECIMAL(20, 0)");
    begins("SELECT * FROM (VALUES (1), ('a')) AS v(a)", "TYPE_MISMATCH ");
    begins("SELECT CAST(NULL AS VARBINARY(0))", "UNSUPPORTED 1:");
    begins("SELECT CAST(NULL AS BINARY(3000000000))", "UNSUPPORTED 1:");
}

#[test]
fn settings_are_checked_where_they_are_set() {
    for (key, value) in [
        ("thalweg.policy", "foo"),
        ("thalweg.latency-target", "0 s"),
        ("thalweg.latency-target", "8 d"),
        ("table.local-time-zone", "GMT-128"),
        ("table.local-time-zone", "GMT+15"),
    ] {
        begins(
            &format!("SET '{key}' = '{value}'"),
            &format!("INVALID 1:{} '{key}' is '{value}', and must be ", key.len() + 10),
        );
    }
    check("SET 'thalweg.policy' = 'fcfs'; SET 'table.local-time-zone' = 'GMT-03:00'; SELECT 1 AS a", "a INT");
}

/// Checks how EXPLAIN shows an expression over the columns of `t`.
fn shown(expression: &str, expected: &str) {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    let actions = session.read(&format!("{TABLES}SELECT {expression} AS x FROM t")).unwrap();
    let Some(Action::Run(job)) = actions.last() else { panic!("a query") };
    let text = explain::shown(&job.parts[0].plan).text();
    assert!(text.contains(&format!("select=[{expected} AS x]")), "{expected}: {text}");
}

/// A literal with digits that the type of the value lacks is not looked up: its digits alone would be another number.
#[test]
fn decimals_of_several_scales_are_not_looked_up() {
    let value = "CAST(a AS DECIMAL(5, 2))";
    shown(&format!("{value} IN (1.5, 2.5, 3.5, 4.5)"), &format!("{value} IN (1.50, 2.50, 3.50, 4.50)"));
    let value = "CAST(a AS DECIMAL(38, 10))";
    shown(
        &format!("{value} IN (1.5, 0.0000000000015, 2.5, 3.5)"),
        &format!(
            "{value} = 1.5000000000 OR {value} = 0.0000000000015 OR {value} = 2.5000000000 OR {value} = 3.5000000000"
        ),
    );
}

/// What EXPLAIN shows is what is computed.
#[test]
fn expressions_are_shown_with_their_brackets() {
    shown("(a - 1) * a", "(a - 1) * a");
    shown("a - 1 * a", "a - 1 * a");
    shown("a - (1 - a) - 2", "a - (1 - a) - 2");
    shown("(a = 1) = (b = 'x')", "(a = 1) = (b = 'x')");
    shown("(a = 1) IS NULL", "(a = 1) IS NULL");
    shown("(a = 1 OR a > 2) AND NOT b = 'x'", "(a = 1 OR a > 2) AND NOT (b = 'x')");
    shown("a = 1 OR a > 2 AND b = 'x'", "a = 1 OR (a > 2 AND b = 'x')");
    shown("TRY_CAST(b AS INT) + CAST(b AS INT)", "TRY_CAST(b AS INT) + CAST(b AS INT)");
    shown("NOT a + 1 IN (1, 2, 3, 4)", "NOT (a + 1 IN (1, 2, 3, 4))");
    shown(
        "(b IN ('x', 'it''s', 'y', 'z', b)) = (a IN (1, 2))",
        "(b IN ('x', 'it''s', 'y', 'z') OR b = b) = (a = 1 OR a = 2)",
    );
    shown("a IS NOT DISTINCT FROM 1 + 2 * a", "a IS NOT DISTINCT FROM 1 + 2 * a");
}

#[test]
fn one_row_needs_no_time_to_live_if_its_input_ends() {
    check("SELECT COUNT(*) FROM t", "EXPR$0 BIGINT");
    begins("SELECT COUNT(*) FROM endless", "UNBOUNDED_STATE ");
    for (query, place) in [
        ("SELECT a, COUNT(*) FROM t GROUP BY a", ""),
        ("SELECT a FROM t INTERSECT SELECT a FROM t", "1:"),
        ("SELECT a FROM t EXCEPT SELECT a FROM t", "1:"),
        ("SELECT a FROM t UNION SELECT a FROM t", "1:"),
        ("SELECT DISTINCT a FROM t", "1:"),
    ] {
        begins(query, "a INT");
        begins(&query.replace("FROM t", "FROM endless"), &format!("UNBOUNDED_STATE {place}"));
        // One input without an end is enough.
        if let Some((first, last)) = query.split_once("FROM t ").filter(|(_, last)| last.contains("FROM t")) {
            begins(&format!("{first}FROM endless {last}"), &format!("UNBOUNDED_STATE {place}"));
        }
    }
}

#[test]
fn collections_are_made_of_values() {
    check(
        "SELECT ARRAY[1, 2], MAP['k', 1], ROW(1, 'a'), ARRAY[a, 1][2] FROM t",
        "EXPR$0 ARRAY<INT>, EXPR$1 MAP<CHAR(1), INT>, EXPR$2 ROW<`EXPR$0` INT, `EXPR$1` CHAR(1)>, EXPR$3 INT",
    );
}

/// Whatever is large is planned at once, or refused for its size: in a build that is not optimised, too.
#[test]
fn what_is_large_takes_no_long_time() {
    let views = |of: usize, query: &dyn Fn(usize) -> String| {
        let view = |number: usize| format!("CREATE VIEW v{number} AS {};", query(number));
        format!("CREATE VIEW v0 AS SELECT a FROM endless;{}", (1..=of).map(view).collect::<String>())
    };
    let many = |item: &str, times: usize| vec![item; times].join(", ");
    let numbered =
        |item: &dyn Fn(usize) -> String, times: usize| (0..times).map(item).collect::<Vec<_>>().join(", ");
    let twice = |number: usize| format!("SELECT * FROM v{0} UNION ALL SELECT * FROM v{0}", number - 1);
    let wide = |times: usize| {
        let columns = numbered(&|number| format!("c{number} INT"), times);
        format!("CREATE TABLE wide ({columns}) WITH ('connector' = 'datagen');")
    };
    let cases = [
        ("a sum", format!("SELECT 1{}", "+1".repeat(1_500)), "EXPR$0"),
        ("a text", format!("SELECT b{} FROM t", "||b".repeat(1_000)), "EXPR$0"),
        ("subscripts", format!("SELECT {} FROM t", many("l[1]", 1_500)), "EXPR$0"),
        (
            "views",
            format!("{}SELECT * FROM v200", views(200, &|number| format!("SELECT * FROM v{}", number - 1))),
            "a INT",
        ),
        (
            "views that compute",
            format!(
                "{}SELECT * FROM v20",
                views(20, &|number| format!("SELECT a{} AS a FROM v{}", "+1".repeat(200), number - 1))
            ),
            "a INT",
        ),
        ("doubled views", format!("{}SELECT * FROM v30", views(30, &twice)), "UNSUPPORTED "),
        ("columns", format!("{}SELECT * FROM wide", wide(2_000)), "c0 INT"),
        (
            "sums",
            format!(
                "{}SET 'table.exec.state.ttl' = '1 h'; SELECT {} FROM wide",
                wide(2_000),
                numbered(&|number| format!("SUM(c{number})"), 2_000)
            ),
            "EXPR$0",
        ),
        (
            "doubled conditions",
            format!("SELECT {}a IN (1, 2){} FROM endless", "(".repeat(30), ") IN (TRUE, FALSE)".repeat(30)),
            "UNSUPPORTED ",
        ),
        (
            "doubled cases",
            format!(
                "SELECT {}a = 1{} FROM endless",
                "CASE ".repeat(30),
                " WHEN TRUE THEN TRUE WHEN FALSE THEN TRUE END".repeat(30)
            ),
            "UNSUPPORTED ",
        ),
        ("alternatives", format!("SELECT a IN ({}) FROM t", many("1", 10_000)), "EXPR$0"),
        ("unions", format!("SELECT 0 AS a{}", " UNION ALL SELECT 1 AS a".repeat(500)), "a INT"),
    ];
    let mut slow = Vec::new();
    for (name, query, expected) in cases {
        let begin = std::time::Instant::now();
        begins(&query, expected);
        let taken = begin.elapsed();
        println!("{name}: {taken:?}");
        // On a machine that does other things, too; what is bounded wrongly takes hours.
        if taken > std::time::Duration::from_secs(60) {
            slow.push(format!("{name}: {taken:?}"));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join(", "));
}
