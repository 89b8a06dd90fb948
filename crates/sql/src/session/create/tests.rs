//! Tests of CREATE TABLE .. LIKE and CREATE TABLE .. AS.

use std::sync::Arc;

use thalweg_model::VirtualClock;
use thalweg_sql_exec::plan::Node;

use super::super::{Action, Job, Session};

/// Declares tables, and returns the parts of SHOW CREATE TABLE of the table `t` on one line, or the error.
fn declared(text: &str) -> String {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    let shown = session.read(text).and_then(|_| session.read("SHOW CREATE TABLE t"));
    match shown.as_deref() {
        Ok([Action::Show(shown)]) => {
            let lines: Vec<&str> = shown.lines().skip(1).map(str::trim).collect();
            lines.join(" ")
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => format!("{} {error}", error.code.name()),
    }
}

const BASE: &str = "CREATE TABLE b (id INT, v STRING, ts TIMESTAMP(3), c AS id + 1,
     m STRING METADATA FROM 'file.name' VIRTUAL, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (id) NOT ENFORCED)
     COMMENT 'old' PARTITIONED BY (v) WITH ('connector' = 'filesystem', 'path' = 'in');";

#[track_caller]
fn check(create: &str, expected: &str) {
    assert_eq!(declared(&format!("{BASE} {create}")), expected, "{create}");
}

#[track_caller]
fn refused(create: &str, words: &str) {
    let shown = declared(&format!("{BASE} {create}"));
    assert!(shown.contains(words), "{create}: {shown}");
}

/// The columns of the other table with all features.
const ALL: &str = "`id` INT NOT NULL, `v` VARCHAR(2147483647), `ts` TIMESTAMP(3), `c` AS `id` + 1, \
                   `m` VARCHAR(2147483647) METADATA FROM 'file.name' VIRTUAL";

#[test]
fn a_table_is_like_another() {
    let watermark = "WATERMARK FOR `ts` AS `ts` - INTERVAL '1' SECOND";
    let key = "CONSTRAINT `PK_3386` PRIMARY KEY (`id`) NOT ENFORCED";
    check(
        "CREATE TABLE t LIKE b",
        &format!(
            "{ALL}, {watermark}, {key} ) COMMENT 'old' PARTITIONED BY (`v`) WITH ( 'connector' = 'filesystem', 'path' = 'in' )"
        ),
    );
    check(
        "CREATE TABLE t (x INT) COMMENT 'new' WITH ('path' = 'out', 'format' = 'csv') LIKE b",
        &format!(
            "{ALL}, `x` INT, {watermark}, {key} ) COMMENT 'new' PARTITIONED BY (`v`) \
             WITH ( 'connector' = 'filesystem', 'format' = 'csv', 'path' = 'out' )"
        ),
    );
    check(
        "CREATE TABLE t (x INT) WITH ('connector' = 'print') LIKE b (EXCLUDING ALL)",
        "`id` INT NOT NULL, `v` VARCHAR(2147483647), `ts` TIMESTAMP(3), `x` INT ) COMMENT 'old' \
         WITH ( 'connector' = 'print' )",
    );
    // A rule of a feature goes before that for all, wherever it stands.
    check(
        "CREATE TABLE t LIKE b (INCLUDING GENERATED EXCLUDING ALL)",
        "`id` INT NOT NULL, `v` VARCHAR(2147483647), `ts` TIMESTAMP(3), `c` AS `id` + 1 ) COMMENT 'old'",
    );
    check(
        "CREATE TABLE t (c AS id + 2, WATERMARK FOR ts AS ts, PRIMARY KEY (v) NOT ENFORCED) PARTITIONED BY (id)
         LIKE b (OVERWRITING GENERATED OVERWRITING WATERMARKS EXCLUDING CONSTRAINTS EXCLUDING PARTITIONS EXCLUDING METADATA EXCLUDING OPTIONS)",
        "`id` INT NOT NULL, `v` VARCHAR(2147483647) NOT NULL, `ts` TIMESTAMP(3), `c` AS `id` + 2, \
         WATERMARK FOR `ts` AS `ts`, CONSTRAINT `PK_149` PRIMARY KEY (`v`) NOT ENFORCED ) COMMENT 'old' PARTITIONED BY (`id`)",
    );
    check("CREATE DATABASE d; CREATE TABLE d.x (a INT); CREATE TABLE t LIKE d.x", "`a` INT )");
}

#[test]
fn features_that_both_tables_have_are_refused() {
    refused("CREATE TABLE t (v INT) LIKE b", "`b` has a column `v` already");
    refused("CREATE TABLE t (c INT) LIKE b (OVERWRITING GENERATED)", "`b` has a column `c` already");
    refused("CREATE TABLE t (c AS 1) LIKE b", "EXCLUDING GENERATED) or OVERWRITING GENERATED");
    refused("CREATE TABLE t (m STRING METADATA) LIKE b", "OVERWRITING METADATA");
    refused("CREATE TABLE t (WATERMARK FOR ts AS ts) LIKE b", "`b` has a watermark already");
    refused("CREATE TABLE t (PRIMARY KEY (v) NOT ENFORCED) LIKE b", "EXCLUDING CONSTRAINTS");
    refused("CREATE TABLE t PARTITIONED BY (id) LIKE b", "EXCLUDING PARTITIONS");
    refused("CREATE TABLE t WITH ('path' = 'out') LIKE b (INCLUDING OPTIONS)", "an option 'path' already");
    refused("CREATE TABLE t LIKE b (OVERWRITING PARTITIONS)", "OVERWRITING PARTITIONS has no meaning");
    refused("CREATE TABLE t LIKE b (INCLUDING ALL EXCLUDING ALL)", "there are two rules for ALL");
    refused("CREATE TABLE t LIKE b (KEEPING ALL)", "expected INCLUDING, EXCLUDING or OVERWRITING");
    refused("CREATE TABLE t LIKE b (INCLUDING INDEXES)", "expected one of ALL, CONSTRAINTS");
    refused("CREATE TABLE t LIKE x", "UNKNOWN_TABLE");
    refused("CREATE VIEW w AS SELECT 1 AS a; CREATE TABLE t LIKE w", "LIKE names a table, and `w` is a view");
}

#[test]
fn a_table_has_the_columns_of_a_query() {
    check("CREATE TABLE t AS SELECT 1 AS a, 'x' AS b", "`a` INT NOT NULL, `b` CHAR(1) NOT NULL )");
    check(
        "CREATE TABLE t (n STRING, a BIGINT, c AS a * 2) WITH ('connector' = 'print') AS SELECT v, id AS a FROM b",
        "`n` VARCHAR(2147483647), `c` AS `a` * 2, `v` VARCHAR(2147483647), `a` BIGINT ) WITH ( 'connector' = 'print' )",
    );
    check("CREATE TABLE t (b, a) AS SELECT 1 AS a, 'x' AS b", "`b` CHAR(1) NOT NULL, `a` INT NOT NULL )");
    refused(
        "CREATE TABLE t (a) AS SELECT 1 AS a, 'x' AS b",
        "the table names 1 columns, and its query has 2",
    );
    refused("CREATE TABLE t (a, c) AS SELECT 1 AS a, 'x' AS b", "the query has no column `c`");
    refused("CREATE TABLE t (a STRING) AS SELECT 1 AS a", "TYPE_MISMATCH");
    refused("CREATE TABLE t (a AS 2) AS SELECT 1 AS a", "no column `a` that is written to");
    refused("CREATE TABLE t AS SELECT NULL AS a", "has no type");
    refused("CREATE TABLE t (a)", "the column `a` has no type");
    refused("CREATE TEMPORARY TABLE t AS SELECT 1 AS a", "a TEMPORARY table does not take a query");
    refused("EXPLAIN CREATE TABLE t AS SELECT 1 AS a", "there is no table or view `t`");
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    let text = "CREATE TABLE t WITH ('connector' = 'print') AS SELECT 1 AS a; SELECT a FROM t";
    let actions = session.read(text).unwrap();
    let [Action::Run(filling), Action::Run(_)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(filling.parts[0].into.as_ref().map(|table| table.name.as_str()), Some("t"));
}

/// A table that replaces another one takes the columns and options that the new declaration gives.
#[test]
fn a_table_replaces_another_one() {
    let old = "CREATE TABLE t (a INT, b INT) COMMENT 'old' WITH ('connector' = 'print');";
    let made = "`v` VARCHAR(2147483647) ) WITH ( 'connector' = 'blackhole' )";
    let new = "TABLE t WITH ('connector' = 'blackhole') AS SELECT v FROM b";
    check(&format!("{old} REPLACE {new}"), made);
    check(&format!("{old} CREATE OR REPLACE {new}"), made);
    check(&format!("CREATE OR REPLACE {new}"), made);
    check(
        &format!("{old} REPLACE TABLE t (n STRING, PRIMARY KEY (id) NOT ENFORCED) AS SELECT id FROM b"),
        "`n` VARCHAR(2147483647), `id` INT NOT NULL, CONSTRAINT `PK_3386` PRIMARY KEY (`id`) NOT ENFORCED )",
    );
    check(
        &format!("{old} EXPLAIN REPLACE {new}"),
        "`a` INT, `b` INT ) COMMENT 'old' WITH ( 'connector' = 'print' )",
    );
    refused(&format!("REPLACE {new}"), "there is no table or view `t`");
    refused("CREATE VIEW t AS SELECT 1 AS a; CREATE OR REPLACE TABLE t AS SELECT 2 AS a", "`t` is a view");
    refused("CREATE VIEW t AS SELECT 1 AS a; REPLACE TABLE t AS SELECT 2 AS a", "`t` is a view");
    refused("CREATE OR REPLACE TABLE t (a INT)", "CREATE OR REPLACE TABLE takes a query");
    refused("CREATE OR REPLACE TABLE t LIKE b", "CREATE OR REPLACE TABLE takes a query");
    refused("REPLACE TABLE t (a INT)", "REPLACE TABLE takes a query");
    refused("REPLACE TABLE IF NOT EXISTS t AS SELECT 1 AS a", "does not take IF NOT EXISTS");
    for other in
        ["TEMPORARY TABLE t AS SELECT 1 AS a", "VIEW t AS SELECT 1 AS a", "FUNCTION f AS 'f'", "DATABASE d"]
    {
        refused(&format!("CREATE OR REPLACE {other}"), "CREATE OR REPLACE is for a TABLE with a query");
    }
    refused("CREATE OR REPLACE MATERIALIZED TABLE t AS SELECT 1 AS a", "MATERIALIZED TABLE is not supported");
    refused("CREATE OR ALTER MATERIALIZED TABLE t AS SELECT 1 AS a", "MATERIALIZED TABLE is not supported");
}

/// Jobs keep the tables with which they were planned, and the query of a new table reads the one that it replaces.
#[test]
fn jobs_keep_the_table_that_was_replaced() {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    let text = "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1');
        CREATE VIEW v AS SELECT a FROM t;
        SELECT * FROM v;
        CREATE OR REPLACE TABLE t WITH ('connector' = 'print') AS SELECT a, CAST(a AS STRING) AS s FROM t;
        INSERT INTO t SELECT 1, 'x';";
    let actions = session.read(text).unwrap();
    let [Action::Run(before), Action::Run(filling), Action::Run(behind)] = &actions[..] else {
        panic!("{actions:?}")
    };
    let read = |job: &Job| {
        job.parts[0].plan.walk().find_map(|part| match &part.node {
            Node::Scan { table, .. } => Some(table.columns.len()),
            _ => None,
        })
    };
    let written = |job: &Job| job.parts[0].into.as_ref().map(|table| table.columns.len());
    assert_eq!(
        (read(before), read(filling), written(filling), written(behind)),
        (Some(1), Some(1), Some(2), Some(2))
    );
}
