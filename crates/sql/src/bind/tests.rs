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
    begins("SELECT a, ABS('x') FROM t", "TYPE_MISMATCH 1:11 ");
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
    check(
        "SELECT TUMBLE_START(ts, INTERVAL '1' HOUR) FROM t",
        "INVALID 1:8 TUMBLE_START reads a window that GROUP BY does not have; write GROUP BY TUMBLE(..) with equal arguments",
    );
}

#[test]
fn names_are_there_once() {
    check("SELECT 1 AS a, 2 AS a", "a INT, a0 INT");
    check("SELECT a, b, a, a FROM t", "a INT, b STRING, a0 INT, a1 INT");
    check("SELECT x.a, y.a FROM endless x CROSS JOIN (VALUES (1)) AS y(a)", "a INT, a0 INT");
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
    of("SELECT b, b0 FROM (SELECT *, CHAR_LENGTH(b) AS b FROM u)", "b STRING, b0 INT");
    of("SELECT * FROM (SELECT *, * FROM u)", "a INT, b STRING, a0 INT, b0 STRING");
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

/// Different notations of the same computation become the same call, and EXPLAIN shows that call.
#[test]
fn forms_become_calls() {
    shown("EXTRACT(YEAR FROM ts)", "EXTRACT('YEAR', ts)");
    shown("FLOOR(ts TO HOURS)", "FLOOR_TO(ts, 'HOUR')");
    shown("CEIL(a)", "CEIL(a)");
    shown("POSITION('a' IN b)", "POSITION('a', b)");
    shown("TRIM(LEADING 'x' FROM b)", "TRIM_LEADING('x', b)");
    shown("TRIM(b)", "TRIM_BOTH(' ', b)");
    shown("SUBSTRING(b FROM 2 FOR 3)", "SUBSTRING(b, 2, 3)");
    shown("TIMESTAMPADD(SQL_TSI_DAY, a, ts)", "TIMESTAMPADD('DAY', CAST(a AS BIGINT), ts)");
    shown("l[1]", "ITEM(l, 1)");
    shown("(a, b) = (1, 'x')", "a = 1 AND b = 'x'");
    shown("(a, b) IN ((1, 'x'), (2, 'y'))", "(a = 1 AND b = 'x') OR (a = 2 AND b = 'y')");
    shown("ts + INTERVAL '1' DAY", "ts + INTERVAL 86400000 ms");
    shown("- 2147483648", "-2147483648");
    shown("1e3", "1000");
}

/// A part of a query that is ignored silently would let the query run and mean something else.
#[test]
fn what_is_not_known_is_refused() {
    check("SELECT a FROM t FOR UPDATE", "UNSUPPORTED 1:1 FOR UPDATE is not supported");
    check("SELECT DISTINCT ON (a) b FROM t", "UNSUPPORTED 1:1 DISTINCT ON is not supported");
    check(
        "SELECT a FROM t GROUP BY 1",
        "UNSUPPORTED 1:26 GROUP BY 1: positions are not keys; repeat the expression",
    );
    for key in ["(1)", "((1))", "+1", "a, (1)"] {
        begins(&format!("SELECT a FROM t GROUP BY {key}"), "UNSUPPORTED 1:");
    }
    check("SELECT a FROM t TABLESAMPLE (10)", "UNSUPPORTED 1:15 TABLESAMPLE is not supported");
    check(
        "SELECT a FROM t JOIN t AS u",
        "SYNTAX 1:22 a join has no condition; write ON .. = .. behind it, or CROSS JOIN",
    );
    check(
        "SELECT a FROM t LIMIT 1 OFFSET 2 FETCH FIRST 3 ROWS ONLY",
        "INVALID 1:46 LIMIT and FETCH stand in one query",
    );
    check("SELECT UPPER(DISTINCT b) FROM t", "INVALID 1:8 UPPER takes no DISTINCT");
    check(
        "SELECT UPPER(b) OVER (ORDER BY ts) FROM t",
        "INVALID 1:8 UPPER is no aggregate, and takes no OVER",
    );
    check("SELECT UPPER(b) FILTER (WHERE a > 1) FROM t", "INVALID 1:8 UPPER takes no FILTER");
    begins("SELECT a FROM t ORDER BY 2", "INVALID 1:26 ORDER BY 2: there are 1 results");
    begins("SELECT DISTINCT a FROM t ORDER BY b", "INVALID 1:35 ");
    begins("SELECT *", "INVALID 1:8 ");
    begins("SELECT x.* FROM t", "UNKNOWN_TABLE 1:8 ");
    begins("SELECT x.a FROM t", "UNKNOWN_TABLE 1:8 no table is called `x` here; there are t");
}

/// The number of operators in a chain is bounded before it is parsed. Operators within brackets and those
/// behind the brackets are counted separately, and together when they are typed.
#[test]
fn chains_are_bounded() {
    let chain = format!("SELECT (a{0}){0} AS x FROM t", " + a".repeat(1_500));
    begins(
        &chain,
        "UNSUPPORTED 1:9 an expression has more than 2000 operators within each other; write x IN (..)",
    );
}

#[test]
fn star_is_an_argument_of_count_alone() {
    let refused = |call: &str, expected: &str| {
        check(&format!("SELECT {call} AS x FROM t"), &format!("INVALID 1:8 {expected}"));
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
        check(&format!("SELECT {literal} AS x"), &format!("INVALID 1:{expected}"));
    };
    refused("TIMESTAMP 'x'", "18 'x' is no timestamp; write TIMESTAMP '2024-12-31 23:59:59.999'");
    refused("TIME '25:00:00'", "13 '25:00:00' is no time; write TIME '23:59:59'");
    refused("DATE '2024-13-01'", "13 '2024-13-01' is no date; write DATE '2024-12-31'");
}

/// A key of GROUP BY is known again by its meaning, wherever it stands in a result.
#[test]
fn keys_are_known_by_their_meaning() {
    let grouped = |results: &str, keys: &str, expected: &str| {
        check(&format!("SELECT {results} FROM t GROUP BY {keys}"), expected);
    };
    grouped("(t.a) + 1, COUNT(*)", "a + 1", "EXPR$0 INT, EXPR$1 BIGINT");
    grouped("UPPER(b) || 'x' AS u", "UPPER(b)", "u STRING");
    grouped("a + 1 AS k, SUM(a + 1)", "k", "k INT, EXPR$1 INT");
    grouped("CASE WHEN a + 1 > 2 THEN a + 1 END AS c", "a + 1", "c INT");
    grouped("l[1], COUNT(*)", "l[1]", "EXPR$0 INT, EXPR$1 BIGINT");
    let lacking = "`a` is no key of GROUP BY, and stands outside of aggregates";
    begins("SELECT a + 2 FROM t GROUP BY a + 1", &format!("INVALID 1:8 {lacking}"));
    begins("SELECT b, a FROM t GROUP BY b", &format!("INVALID 1:11 {lacking}"));
    begins("SELECT b FROM t GROUP BY b ORDER BY a", &format!("INVALID 1:37 {lacking}"));
    begins("SELECT b FROM t GROUP BY b HAVING a > 1", &format!("INVALID 1:35 {lacking}"));
    begins("SELECT * FROM t GROUP BY a", "INVALID 1:8 `b` is no key");
    begins(
        "SELECT SUM(COUNT(*)) FROM t GROUP BY a",
        "INVALID 1:12 SUM takes no aggregate, and COUNT(*) has one",
    );
    begins("SELECT SUM(a) FROM t WHERE SUM(a) > 1", "INVALID 1:28 SUM stands where there are no groups");
    // A column comes before a result of the same name.
    begins("SELECT b AS a, COUNT(*) FROM t GROUP BY a", "INVALID 1:8 `b` is no key");
    check("SELECT b AS c, COUNT(*) AS n FROM t GROUP BY c HAVING n > 1 ORDER BY n, c", "c STRING, n BIGINT");
}

/// Conditions of a sub-query may read columns of the query around it.
#[test]
fn sub_queries_read_the_query_around() {
    let tested =
        |condition: &str, expected: &str| begins(&format!("SELECT a FROM t WHERE {condition}"), expected);
    tested("a IN (SELECT a FROM t AS s WHERE s.b = t.b)", "a INT");
    tested("NOT EXISTS (SELECT 1 FROM t AS s WHERE s.b = t.b AND s.a > t.a)", "a INT");
    tested("EXISTS (SELECT a, COUNT(*) FROM t AS s WHERE s.b = t.b GROUP BY a)", "a INT");
    tested("a IN (SELECT MAX(a) FROM t AS s WHERE s.b = t.b GROUP BY b)", "a INT");
    tested("a IN (SELECT MAX(a) FROM t AS s WHERE s.b = t.b)", "a INT");
    tested("EXISTS (SELECT COUNT(*) FROM t AS s)", "a INT");
    tested("EXISTS (SELECT 1 FROM t AS s WHERE s.b = t.b LIMIT 5)", "a INT");
    tested("EXISTS (SELECT 1 FROM t AS s LIMIT 0)", "a INT");
    tested("a IN (SELECT t.a FROM t AS s)", "a INT");
    tested(
        "a IN (SELECT a, b FROM t AS s)",
        "INVALID 1:23 a sub-query of IN or beside an operator has one column",
    );
    tested("(a, b) IN (SELECT a, b FROM t AS s)", "a INT");
    tested("a IN (SELECT c FROM t AS s)", "UNKNOWN_COLUMN 1:36 ");
    tested("a > 1 OR a IN (SELECT a FROM t AS s)", "a INT");
    tested("a > (SELECT MAX(a) FROM t AS s WHERE s.b = t.b)", "a INT");
    tested("a > (SELECT a FROM t AS s WHERE s.ts > t.ts)", "a INT");
    tested("a IN (SELECT a FROM t AS s WHERE s.a IN (SELECT x.a FROM t AS x WHERE x.b = t.b))", "a INT");
    tested("a IN (SELECT x.a FROM (SELECT t.a FROM t AS s) AS x)", "a INT");
    tested(
        "a IN (SELECT a FROM t AS s UNION SELECT t.a FROM t AS s)",
        "UNSUPPORTED 1:63 `t.a` belongs to an outer query",
    );
}
