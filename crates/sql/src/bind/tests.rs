//! Queries over two tables: what is wrong with them and where, the names of their columns, and how large they may be.

use std::sync::Arc;

use thalweg_model::VirtualClock;

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

#[test]
fn one_row_needs_no_time_to_live_if_its_input_ends() {
    check("SELECT COUNT(*) FROM t", "EXPR$0 BIGINT");
    begins("SELECT COUNT(*) FROM endless", "UNBOUNDED_STATE ");
    begins("SELECT a, COUNT(*) FROM t GROUP BY a", "UNBOUNDED_STATE ");
    begins("SELECT a FROM t INTERSECT SELECT a FROM t", "UNBOUNDED_STATE 1:1 ");
    begins("SELECT a FROM t EXCEPT SELECT a FROM t", "UNBOUNDED_STATE 1:");
    begins("SELECT a FROM t UNION SELECT a FROM t", "UNBOUNDED_STATE 1:1 ");
    begins("SELECT DISTINCT a FROM t", "UNBOUNDED_STATE 1:1 ");
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
        ("unions", format!("SELECT 0 AS a{}", " UNION ALL SELECT 1 AS a".repeat(500)), "a INT"),
    ];
    let mut slow = Vec::new();
    for (name, query, expected) in cases {
        let begin = std::time::Instant::now();
        begins(&query, expected);
        let taken = begin.elapsed();
        println!("{name}: {taken:?}");
        if taken > std::time::Duration::from_secs(10) {
            slow.push(format!("{name}: {taken:?}"));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join(", "));
}
