//! Tests of memory with queries and inputs that need far more memory than their text or their files
//! suggest.

use super::peak::{Folder, check_command};
use super::{check, files};

/// The error codes with which a query may be refused for lack of memory.
const MEMORY: &[&str] = &["STATE_LIMIT", "RESULT_TOO_LONG", "BUDGET_TOO_SMALL"];

/// Returns the declaration of a table of `rows` generated rows, which come as fast as they are
/// taken.
fn datagen(name: &str, rows: u64, columns: &str, options: &str) -> String {
    format!(
        "CREATE TABLE {name} ({columns}) WITH ('connector' = 'datagen', 'rows-per-second' = \
         '9223372036854775807', 'number-of-rows' = '{rows}'{options});\n"
    )
}

fn blackhole(columns: &str) -> String {
    format!("CREATE TABLE out ({columns}) WITH ('connector' = 'blackhole');\n")
}

const SEQUENCE: &str = ", 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '100000000'";

/// Returns the declaration of a table whose rows each have an event time 1 ms later than the row
/// before.
fn timed(rows: u64, columns: &str, options: &str) -> String {
    let columns = format!("n BIGINT, {columns}ts AS TO_TIMESTAMP_LTZ(n, 3), WATERMARK FOR ts AS ts");
    datagen("t", rows, &columns, &format!("{SEQUENCE}{options}"))
}

#[test]
fn a_query_of_one_row() {
    check("one_row", 64, "SELECT 1;", &[]);
}

#[test]
fn parquet_with_a_long_dictionary_entry() {
    let folder = Folder::new("dictionary");
    files::long_dictionary(&folder.path("x.parquet"), 30, 60 << 20);
    let sql = format!(
        "CREATE TABLE p (x STRING) WITH ('connector' = 'filesystem', 'path' = 'x.parquet', 'format' = 'parquet');\n{}\
         INSERT INTO out SELECT x FROM p;",
        blackhole("x STRING")
    );
    folder.write("job.sql", &sql);
    check_command(
        "dictionary",
        &folder,
        64,
        "run job.sql --workers 2 --memory-budget 64MiB",
        &["PAGE_TOO_LARGE"],
    );
}

fn repeat(rows: u64) -> String {
    format!(
        "{}{}INSERT INTO out SELECT REPEAT('x', 10000000) FROM t;",
        datagen("t", rows, "n BIGINT", SEQUENCE),
        blackhole("x STRING")
    )
}

#[test]
fn repeat_of_long_texts() {
    check("repeat", 256, &repeat(100), &[]);
    check("repeat_64", 64, &repeat(100), MEMORY);
}

#[test]
#[ignore = "slow: cargo xtask deep memory"]
fn repeat_of_many_long_texts() {
    check("repeat_many", 256, &repeat(1000), &[]);
}

/// Rows whose texts have different lengths, of up to 2 MB, are handled within the memory budget.
#[test]
fn repeat_of_columns() {
    let sql = format!(
        "{}{}INSERT INTO out SELECT REPEAT(CAST(n AS STRING), 1000000) FROM t;",
        datagen("t", 100, "n BIGINT", SEQUENCE),
        blackhole("x STRING")
    );
    check("repeat_columns", 64, &sql, &[]);
}

fn doubling(levels: usize) -> String {
    let mut sql = "CREATE VIEW v0 AS SELECT CAST(n AS STRING) AS x FROM t;\n".to_owned();
    for level in 1..=levels {
        sql += &format!("CREATE VIEW v{level} AS SELECT x || x AS x FROM v{};\n", level - 1);
    }
    format!(
        "{}{}{sql}INSERT INTO out SELECT x FROM v{levels};",
        datagen("t", 1, "n BIGINT", SEQUENCE),
        blackhole("x STRING")
    )
}

#[test]
fn views_that_double_text_22_times() {
    check("doubling_22", 256, &doubling(22), MEMORY);
}

#[test]
fn views_that_double_text_30_times() {
    check("doubling_30", 256, &doubling(30), MEMORY);
}

#[test]
fn split_into_many_items() {
    let sql = format!(
        "{}{}INSERT INTO out SELECT SPLIT(REPEAT(CAST(n AS STRING) || ',', 10000000), ',') FROM t;",
        datagen("t", 1, "n BIGINT", SEQUENCE),
        blackhole("x ARRAY<STRING>")
    );
    check("split", 256, &sql, MEMORY);
}

#[test]
fn five_hundred_queries() {
    check("queries_500", 256, &"SELECT 1;\n".repeat(500), MEMORY);
}

#[test]
#[ignore = "slow: cargo xtask deep memory"]
fn four_thousand_queries() {
    check("queries_4096", 256, &"SELECT 1;\n".repeat(4096), MEMORY);
}

fn collected(aggregate: &str, of: &str, rows: u64) -> String {
    format!(
        "{}{}INSERT INTO out SELECT {aggregate}(s) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY) GROUP BY window_start, window_end;",
        timed(rows, "s STRING, ", ", 'fields.s.length' = '20'"),
        blackhole(&format!("x {of}"))
    )
}

#[test]
fn listagg() {
    check("listagg", 64, &collected("LISTAGG", "STRING", 3_000_000), MEMORY);
}

#[test]
#[ignore = "slow: cargo xtask deep memory"]
fn listagg_of_much() {
    check("listagg_much", 256, &collected("LISTAGG", "STRING", 20_000_000), MEMORY);
}

#[test]
#[ignore = "slow: cargo xtask deep memory"]
fn listagg_that_fits() {
    check("listagg_fits", 256, &collected("LISTAGG", "STRING", 1_000_000), MEMORY);
}

#[test]
fn array_agg() {
    check("array_agg", 64, &collected("ARRAY_AGG", "ARRAY<STRING>", 3_000_000), MEMORY);
}

fn changing(aggregate: &str, of: &str, rows: u64) -> String {
    format!(
        "SET 'table.exec.state.ttl' = '1 d';\n{}{}INSERT INTO out SELECT {aggregate}(s) FROM t;",
        datagen("t", rows, "n BIGINT, s STRING", &format!("{SEQUENCE}, 'fields.s.length' = '20'")),
        blackhole(&format!("x {of}"))
    )
}

#[test]
fn lists_that_change_with_every_row() {
    check("listagg_changes", 64, &changing("LISTAGG", "STRING", 3_000), MEMORY);
    check("array_agg_changes", 64, &changing("ARRAY_AGG", "ARRAY<STRING>", 3_000), MEMORY);
}

fn sessions_sql() -> String {
    format!(
        "{}{}INSERT INTO out SELECT COUNT(*) FROM SESSION(TABLE t PARTITION BY n, DESCRIPTOR(ts), INTERVAL '1' DAY) GROUP BY n, window_start, window_end;",
        timed(10_000_000, "", ""),
        blackhole("x BIGINT")
    )
}

#[test]
fn sessions() {
    check("session", 64, &sessions_sql(), MEMORY);
}

#[test]
#[ignore = "slow: cargo xtask deep memory"]
fn sessions_with_more_memory() {
    check("session_256", 256, &sessions_sql(), MEMORY);
}

fn full_join_sql() -> String {
    format!(
        "SET 'table.exec.state.ttl' = '1 d';\n{}{}{}INSERT INTO out SELECT a.n, b.n FROM a FULL JOIN b ON a.n = b.n + 100000000;",
        datagen("a", 10_000_000, "n BIGINT", SEQUENCE),
        datagen("b", 10_000_000, "n BIGINT", SEQUENCE),
        blackhole("x BIGINT, y BIGINT")
    )
}

#[test]
fn full_join() {
    check("full_join", 64, &full_join_sql(), MEMORY);
}

#[test]
#[ignore = "slow: cargo xtask deep memory"]
fn full_join_with_more_memory() {
    check("full_join_256", 256, &full_join_sql(), MEMORY);
}

fn top_n_of_many_sql() -> String {
    format!(
        "SET 'table.exec.state.ttl' = '1 d';\n{}{}INSERT INTO out SELECT n FROM (SELECT n, ROW_NUMBER() OVER (ORDER BY n) AS r FROM t) WHERE r <= 2000000;",
        datagen("t", 10_000_000, "n BIGINT", SEQUENCE),
        blackhole("x BIGINT")
    )
}

#[test]
fn top_n_of_many() {
    check("row_number", 64, &top_n_of_many_sql(), MEMORY);
}

#[test]
#[ignore = "slow: cargo xtask deep memory"]
fn top_n_of_many_with_more_memory() {
    check("row_number_256", 256, &top_n_of_many_sql(), MEMORY);
}

fn count_distinct_sql() -> String {
    format!(
        "{}{}INSERT INTO out SELECT COUNT(DISTINCT s) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY) GROUP BY window_start, window_end;",
        timed(10_000_000, "s STRING, ", ", 'fields.s.length' = '20'"),
        blackhole("x BIGINT")
    )
}

#[test]
#[ignore = "slow: cargo xtask deep memory"]
fn count_distinct() {
    check("count_distinct", 64, &count_distinct_sql(), MEMORY);
}

#[test]
#[ignore = "slow: cargo xtask deep memory"]
fn count_distinct_with_more_memory() {
    check("count_distinct_256", 256, &count_distinct_sql(), MEMORY);
}

fn groups_sql(queries: usize) -> String {
    let mut sql = "SET 'table.exec.state.ttl' = '1 d';\n".to_owned()
        + &datagen("t", 10_000_000, "n BIGINT", SEQUENCE)
        + &blackhole("k BIGINT, x BIGINT");
    for query in 0..queries {
        sql += &format!("INSERT INTO out SELECT n, COUNT(*) FROM t GROUP BY n + {query}, n;\n");
    }
    sql
}

#[test]
fn three_hundred_groups() {
    check("groups_300", 64, &groups_sql(300), MEMORY);
    check("groups_300_256", 256, &groups_sql(300), MEMORY);
}

/// 200 groups are about as many as the budget takes, with some memory left for their state.
#[test]
#[ignore = "slow: cargo xtask deep memory"]
fn two_hundred_groups() {
    check("groups_200_256", 256, &groups_sql(200), MEMORY);
}

/// Returns a query over rows that do not fit into 64 MiB, whose state may go to disk.
fn on_disk(query: &str, columns: &str) -> String {
    format!(
        "SET 'execution.runtime-mode' = 'batch';\nSET 'thalweg.state.spill-dir' = 'state';\n{}{}INSERT INTO out {query};",
        datagen("t", 3_000_000, "n BIGINT, s STRING", &format!("{SEQUENCE}, 'fields.s.length' = '20'")),
        blackhole(columns)
    )
}

#[test]
fn groups_on_disk() {
    check("groups_on_disk", 64, &on_disk("SELECT n, COUNT(*) FROM t GROUP BY n", "n BIGINT, c BIGINT"), &[]);
    let sql =
        on_disk("SELECT s, COUNT(DISTINCT n), MAX(s) FROM t GROUP BY s", "s STRING, c BIGINT, m STRING");
    check("groups_of_text_on_disk", 64, &sql, &[]);
}

#[test]
fn sorted_rows_on_disk() {
    check("sorted_on_disk", 64, &on_disk("SELECT s, n FROM t ORDER BY s", "s STRING, n BIGINT"), &[]);
}
