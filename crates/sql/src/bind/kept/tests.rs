//! Which operators give a warning for the state that they keep, and where it points.

use std::sync::Arc;

use thalweg_model::VirtualClock;
use thalweg_sql_exec::plan::explain;

use crate::session::{Action, Job, Session};

const TABLES: &str = "CREATE TABLE t (k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen'); \
    CREATE TABLE c (k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) \
    WITH ('connector' = 'socket', 'hostname' = 'h', 'port' = '1', 'format' = 'debezium-json'); \
    CREATE TABLE e (k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) \
    WITH ('connector' = 'datagen', 'number-of-rows' = '9'); \
    CREATE TABLE rates (k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED) \
    WITH ('connector' = 'datagen'); \
    CREATE TABLE out1 (k INT, n BIGINT) WITH ('connector' = 'print'); \
    CREATE TABLE out2 (k INT, n BIGINT) WITH ('connector' = 'print');\n";

fn job(statements: &str) -> Job {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    let actions = session.read(&format!("{TABLES}{statements}")).unwrap_or_else(|error| panic!("{error}"));
    actions
        .into_iter()
        .find_map(|action| if let Action::Run(job) = action { Some(job) } else { None })
        .expect("a job")
}

/// The warnings of the first job: place, counted from the line behind the tables on, and message.
#[track_caller]
fn check(statements: &str, expected: &[&str]) {
    let warnings = job(statements).warnings;
    let shown: Vec<String> = warnings
        .iter()
        .map(|warning| {
            let place = warning.place.expect("a place");
            format!("{}:{} {}", place.line - 1, place.column, warning.message)
        })
        .collect();
    assert_eq!(shown, expected, "{statements}");
}

#[test]
fn groups_keep_their_keys() {
    let keys = "GROUP BY without a window keeps the state of every key";
    let rows = "DISTINCT, UNION or GROUP BY without a window keeps every different row";
    check("SELECT k, COUNT(*) FROM t GROUP BY k", &[&format!("1:36 {keys}")]);
    check("SELECT DISTINCT k FROM t", &[&format!("1:17 {rows}")]);
    check("SELECT k FROM t UNION SELECT k FROM e", &[&format!("1:8 {rows}")]);
    check("SELECT k FROM t UNION ALL SELECT k FROM e", &[]);
    // The end of the input, a time to live and a window bound the state.
    check("SELECT k, COUNT(*) FROM e GROUP BY k", &[]);
    check("SET 'table.exec.state.ttl' = '1 h'; SELECT k, COUNT(*) FROM t GROUP BY k", &[]);
    check(
        "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) \
         GROUP BY window_start, window_end",
        &[],
    );
    let warning = &job("SELECT k, COUNT(*) FROM t GROUP BY k").warnings[0];
    assert_eq!(warning.code.name(), "UNBOUNDED_STATE");
    assert_eq!(
        warning.help.as_deref(),
        Some(
            "SET 'table.exec.state.ttl' = '1 d' bounds it; or group by window_start and window_end of a window function"
        )
    );
}

#[test]
fn one_key_grows_with_kept_values_only() {
    let values = "GROUP BY without a window keeps the values of all rows";
    check("SELECT COUNT(*), SUM(v), MAX(v) FROM t", &[]);
    check("SELECT COUNT(DISTINCT v) FROM t", &[&format!("1:8 {values}")]);
    check("SELECT SUM(v) FROM c", &[]);
    check("SELECT MAX(v) FROM c", &[&format!("1:8 {values}")]);
}

#[test]
fn ranks_keep_rows() {
    let ranked = |over: &str, rows: &str| {
        format!(
            "SELECT k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {over}) AS n FROM t) WHERE {rows}"
        )
    };
    let expected = "1:26 ROW_NUMBER without a window keeps rows of every key";
    check(&ranked("v", "n <= 2"), &[expected]);
    check(&ranked("ts", "n = 1"), &[expected]);
    check("SELECT k FROM t ORDER BY v LIMIT 3", &[]);
    let all = "the first rows without a window, of rows that change, keep all rows";
    check("SELECT k FROM c ORDER BY v LIMIT 3", &[&format!("1:26 {all}")]);
}

#[test]
fn joins_keep_both_sides() {
    let kept = |what: &str| format!("{what} without a bound in time keeps all rows of both sides");
    check("SELECT 1 FROM t JOIN rates ON t.k = rates.k", &[&format!("1:31 {}", kept("a join"))]);
    check("SELECT 1 FROM t JOIN e ON t.k = e.k", &[&format!("1:27 {}", kept("a join"))]);
    check("SELECT 1 FROM t WHERE k IN (SELECT k FROM rates)", &[&format!("1:23 {}", kept("IN or EXISTS"))]);
    check("SELECT 1 FROM t JOIN rates ON t.k = rates.k AND t.ts = rates.ts", &[]);
    check("SELECT 1 FROM t JOIN rates FOR SYSTEM_TIME AS OF t.ts AS r ON t.k = r.k", &[]);
    check(
        "SELECT 1 FROM c JOIN rates FOR SYSTEM_TIME AS OF c.ts AS r ON c.k = r.k",
        &["1:50 a temporal join of rows that change keeps all rows of its left side"],
    );
}

#[test]
fn keys_of_over_are_kept() {
    let over = |over: &str| format!("SELECT SUM(v) OVER ({over}) FROM t");
    check(&over("ORDER BY ts"), &[]);
    check(&over("PARTITION BY k ORDER BY ts RANGE INTERVAL '1' DAY PRECEDING"), &[]);
    check(
        &over("PARTITION BY k, v ORDER BY ts ROWS 2 PRECEDING"),
        &["1:8 OVER keeps the last 2 rows of each (k, v)"],
    );
    check(&over("PARTITION BY k ORDER BY ts"), &["1:8 OVER keeps one set of results of each (k)"]);
    let sorted = "1:8 OVER in an order other than that of ascending time keeps all rows";
    check(&over("ORDER BY v"), &[sorted]);
    check(&over("PARTITION BY k ORDER BY ts DESC"), &[&format!("{sorted} of each (k)")]);
}

/// Two readers of one view give one warning, and warnings come in the order of the text.
#[test]
fn each_operator_warns_once() {
    let keys = "GROUP BY without a window keeps the state of every key";
    check(
        "CREATE VIEW g AS SELECT k, COUNT(*) AS n FROM t GROUP BY k;
EXECUTE STATEMENT SET BEGIN INSERT INTO out1 SELECT * FROM g; INSERT INTO out2 SELECT n, k FROM (
SELECT k, CAST(n AS INT) AS n FROM g) AS a WHERE k > 1; END;",
        &[&format!("1:58 {keys}")],
    );
    check(
        "SELECT n, COUNT(*) FROM (\nSELECT k, COUNT(*) AS n FROM t GROUP BY k) GROUP BY n",
        &[&format!("2:41 {keys}"), &format!("2:53 {keys}")],
    );
}

/// EXPLAIN tells state that ends with the input from state that is kept for ever.
#[test]
fn explain_tells_how_long() {
    let state = |table: &str| {
        let job = job(&format!("INSERT INTO out1 SELECT k, COUNT(*) FROM {table} GROUP BY k"));
        explain::shown(&job.parts[0].plan).text()
    };
    assert!(state("t").contains("remembers [accumulators, by key, for ever]"), "{}", state("t"));
    assert!(state("e").contains("remembers [accumulators, by key, until the input ends]"), "{}", state("e"));
}
