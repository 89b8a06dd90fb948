//! Tests of the notes on what Flink refuses: each form has one, and the form that their advice names has none.

use std::sync::Arc;

use thalweg_model::VirtualClock;

use crate::session::Session;

const TABLES: &str =
    "CREATE TABLE t (k STRING, v INT, d DATE, a ARRAY<INT>, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
      WITH ('connector' = 'datagen', 'number-of-rows' = '1');
    CREATE TABLE u (k STRING, w INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1');\n";

/// Checks the notes on a text behind the tables above, each of which has a place in the last line and advice.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    let text = format!("{TABLES}{text}");
    if let Err(error) = session.read(&text) {
        panic!("{text}: {error}");
    }
    let notes = session.notes(&text);
    let shown: Vec<String> = notes
        .iter()
        .map(|note| {
            assert_eq!(note.code.name(), "NOT_PORTABLE");
            assert!(note.help.is_some(), "{note}");
            assert_eq!(note.place.map(|place| place.line), Some(text.lines().count()), "{note}");
            note.message.replace("Flink refuses ", "")
        })
        .collect();
    assert_eq!(shown, expected, "{text}");
}

#[test]
fn names_of_results() {
    check(
        "SELECT UPPER(k) AS kk, COUNT(*) FROM t GROUP BY kk",
        &["the name of a result in GROUP BY or HAVING"],
    );
    check(
        "SELECT k, COUNT(*) AS c FROM t GROUP BY k HAVING c > 1",
        &["the name of a result in GROUP BY or HAVING"],
    );
    check("SELECT UPPER(k) AS kk, COUNT(*) FROM t GROUP BY UPPER(k) HAVING COUNT(*) > 1", &[]);
    check("SELECT k0 FROM (SELECT k, v, k FROM t)", &["the name of several results of a sub-query"]);
    check("SELECT k0 FROM (SELECT k, v, k AS k0 FROM t)", &[]);
    check("SELECT k, w FROM t NATURAL JOIN u", &["a common column of a NATURAL JOIN by its name alone"]);
    check("SELECT k, w FROM t JOIN u USING (k)", &[]);
    check("SELECT t.k, w FROM t NATURAL JOIN u", &[]);
}

#[test]
fn null_without_a_type() {
    let null = "NULL without a type";
    check("SELECT NULL FROM t", &[null]);
    check("SELECT 1 + NULL, UPPER(NULL), IF(v > 1, NULL, 3) FROM t", &[null, null, null]);
    check("SELECT k FROM t WHERE v > 1 AND NULL", &[null]);
    check("SELECT * FROM (VALUES (1, NULL)) AS x (a, b)", &[null]);
    check(
        "SELECT COALESCE(NULL, v), NULLIF(v, NULL), CASE WHEN v > 1 THEN NULL ELSE 1 END, CAST(NULL AS INT) FROM t WHERE v = NULL OR v IN (1, NULL) OR NULL IS NULL",
        &[],
    );
}

#[test]
fn sub_queries_that_flink_does_not_plan() {
    let limit = "LIMIT of a sub-query that reads the query around it";
    check("SELECT k, (SELECT w FROM u WHERE u.k = t.k ORDER BY w LIMIT 1) FROM t", &[limit]);
    check(
        "SELECT t.k, x.w FROM t CROSS JOIN LATERAL (SELECT w FROM u WHERE u.k > t.k ORDER BY w LIMIT 1) AS x",
        &[limit],
    );
    check("SELECT k, (SELECT w FROM u ORDER BY w LIMIT 1) FROM t", &[]);
    check("SELECT k FROM t WHERE EXISTS (SELECT w FROM u WHERE u.k = t.k LIMIT 1)", &[]);
    let beside = "a column of the query around beside the aggregates of a sub-query";
    check("SELECT k, (SELECT MAX(w) + t.v FROM u WHERE u.k = t.k) FROM t", &[beside]);
    check("SELECT k, (SELECT MAX(w) FROM u WHERE u.k = t.k HAVING COUNT(*) >= t.v) FROM t", &[beside]);
    check("SELECT k, (SELECT MAX(w + t.v) FROM u WHERE u.k = t.k) FROM t", &[]);
    check("SELECT k, (SELECT MAX(w) FROM u WHERE u.w > t.v) FROM t", &[]);
    check(
        "SELECT k, x.c FROM t CROSS JOIN LATERAL (SELECT t.v + 1 AS c) AS x",
        &["LATERAL of a query without FROM"],
    );
    check("SELECT k FROM t WHERE (k, v) IN (SELECT k, w FROM u)", &[]);
}

#[test]
fn values_and_calls() {
    check("SELECT 10000000000000000000 FROM t", &["a whole number that no BIGINT holds"]);
    check("SELECT CAST(INTERVAL '1' DAY AS BIGINT) FROM t", &["CAST of an interval to a number"]);
    check("SELECT CAST(INTERVAL '1' DAY AS STRING) FROM t", &[]);
    check("SELECT DATE_FORMAT(d, 'yyyy') FROM t", &["DATE_FORMAT of a DATE"]);
    check("SELECT k, COUNT(v, k) FROM t GROUP BY k", &["COUNT of several values"]);
    check("SELECT SUBSTRING_INDEX(k, '.', 1) FROM t", &["this function, which it does not have"]);
    check("SELECT JSON(k) FROM t", &["JSON(..) outside of JSON_OBJECT and JSON_ARRAY"]);
    check("SELECT JSON_OBJECT('a' VALUE JSON(k)), JSON_ARRAY(JSON(k)) FROM t", &[]);
    check("SELECT JSON_VALUE(k, '$.a' RETURNING BIGINT) FROM t", &["this type of RETURNING in Flink 2.3"]);
    check("SELECT JSON_VALUE(k, '$.a' RETURNING INT), JSON_VALUE(k, '$.a') FROM t", &[]);
}

#[test]
fn groups_windows_and_joins() {
    let windows =
        "FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end";
    let text = format!("SELECT k, COUNT(*) {windows}, GROUPING SETS ((k), (k))");
    check(&text, &["a grouping set that is named twice beside a window"]);
    check("SELECT k, COUNT(*) FROM t GROUP BY GROUPING SETS ((k), (k))", &[]);
    check(
        "SELECT k, COUNT(*) FROM t GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE), ROLLUP (k)",
        &["grouping sets beside a window in GROUP BY"],
    );
    check(
        "SELECT SUM(v) OVER (ORDER BY ts), SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM t",
        &["several different OVER windows in one SELECT"],
    );
    check("SELECT SUM(v) OVER (ORDER BY ts), MAX(v) OVER (ORDER BY ts) FROM t", &[]);
    check(
        "SELECT k, x FROM t JOIN UNNEST(a) AS q (x) ON x > v",
        &["a condition of an inner join with UNNEST"],
    );
    check("SELECT k, x FROM t CROSS JOIN UNNEST(a) AS q (x) WHERE x > v", &[]);
    check(
        "SELECT k, x FROM (t JOIN u USING (k)) CROSS JOIN UNNEST(a) AS q (x)",
        &["a common column of a join beside UNNEST by its name alone"],
    );
}

#[test]
fn settings_and_tokens() {
    check("SET 'execution.runtime-mode' = 'automatic'", &["the mode 'automatic' in the SQL client"]);
    check("SET 'execution.runtime-mode' = 'streaming'", &[]);
    check("SELECT k FROM t WHERE v != 1", &["`!=`"]);
}

/// OVER in another order than that of one ascending column, and calls that need later rows: Flink has them in batch mode.
#[test]
fn orders_of_over() {
    let streaming = "SET 'execution.runtime-mode' = 'streaming'; ";
    let batch = "SET 'execution.runtime-mode' = 'batch'; ";
    let order = "OVER in streams that is not in the order of one ascending column";
    let over = |order: &str| format!("SELECT k, SUM(v) OVER (PARTITION BY k {order}) FROM t");
    for descending in ["ORDER BY v DESC", "ORDER BY v, d", ""] {
        check(&format!("{streaming}{}", over(descending)), &[order]);
        check(&over(descending), &[order]);
        check(&format!("{batch}{}", over(descending)), &[]);
    }
    check(
        "SELECT LEAD(v) OVER (PARTITION BY k ORDER BY ts) FROM t",
        &["this call with OVER outside of batch mode"],
    );
    check(&format!("{batch}SELECT LEAD(v) OVER (PARTITION BY k ORDER BY ts) FROM t"), &[]);
    check(&format!("{streaming}{}", over("ORDER BY v")), &[]);
    check(&format!("{streaming}{}", over("ORDER BY ts")), &[]);
    let changing = "(SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM t) WHERE rn = 1)";
    check(
        &format!("{streaming}SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM {changing}"),
        &["OVER by event time over rows that change"],
    );
}
