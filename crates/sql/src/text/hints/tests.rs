//! Tests of hints: which are read, and the options of tables that they change.

use std::sync::Arc;

use thalweg_model::VirtualClock;
use thalweg_sql_exec::plan::Node;

use crate::session::{Action, Session};

const TABLES: &str = "CREATE DATABASE d;
    CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '9');
    CREATE TABLE d.u (a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', 'number-of-rows' = '9');
    CREATE TABLE s (a INT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'csv');
    CREATE VIEW v AS SELECT a FROM t /*+ OPTIONS('number-of-rows' = '1') */;";

/// Returns the tables that the last job of a text reads and writes with some of their options, or the error.
fn tables(text: &str) -> String {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    let actions = match session.read(&format!("{TABLES} {text}")) {
        Ok(actions) => actions,
        Err(error) => return format!("{} {}", error.code.name(), error.message),
    };
    let Some(Action::Run(job)) = actions.last() else { panic!("{text}") };
    let mut found = Vec::new();
    let mut names = Vec::new();
    for part in &job.parts {
        for plan in part.plan.walk() {
            let Node::Scan { table, .. } = &plan.node else { continue };
            let number = names.iter().position(|name| *name == table.name).unwrap_or(names.len());
            names.push(table.name.clone());
            found.push(format!("{}/{number}", table.options["number-of-rows"].value));
        }
        if let Some(table) = &part.into {
            found.push(format!(
                "{} {} {}",
                table.name, table.options["path"].value, table.options["format"].value
            ));
        }
    }
    found.join(", ")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(tables(text), expected, "{text}");
}

#[test]
fn options_of_tables_change_for_one_query() {
    check("SELECT * FROM t", "9/0");
    check("SELECT * FROM t /*+ OPTIONS('number-of-rows' = '3') */ AS x WHERE x.a > 1", "3/0");
    check("SELECT t.a FROM t /*+ options('number-of-rows'='3') */", "3/0");
    check("SELECT * FROM v", "1/0");
    // Readers with equal options share their rows, others do not.
    check(
        "SELECT a FROM t UNION ALL SELECT a FROM t /*+ OPTIONS('number-of-rows' = '3') */ UNION ALL
         SELECT a FROM t /*+ OPTIONS('number-of-rows' = '3') */ UNION ALL SELECT a FROM t /*+ OPTIONS('number-of-rows' = '9') */",
        "9/0, 3/1, 3/1, 9/0",
    );
    check("SELECT d.u.a FROM d.u /*+ OPTIONS('number-of-rows' = '4') */", "4/0");
    check(
        "SELECT a FROM TUMBLE(TABLE d.u /*+ OPTIONS('number-of-rows' = '4') */, DESCRIPTOR(ts), INTERVAL '1' SECOND)",
        "4/0",
    );
    check(
        "INSERT INTO s /*+ OPTIONS('path' = 'other', 'format' = 'json') */ (a) SELECT a FROM t",
        "9/0, s other json",
    );
    check("INSERT INTO s SELECT a FROM t", "9/0, s out csv");
}

#[test]
fn hints_that_do_not_fit_are_refused() {
    check(
        "SELECT * FROM v /*+ OPTIONS('a' = 'b') */",
        "INVALID `v` is no table, and takes no OPTIONS of a hint",
    );
    check(
        "WITH w AS (SELECT 1) SELECT * FROM w /*+ OPTIONS('a' = 'b') */",
        "INVALID `w` is no table, and takes no OPTIONS of a hint",
    );
    check("SELECT * FROM t /*+ OPTIONS(a = 'b') */", "SYNTAX a hint OPTIONS has pairs of a key and a value");
    check("SELECT * FROM t /*+ OPTIONS() */", "SYNTAX a hint OPTIONS has pairs of a key and a value");
    check("SELECT * FROM t /*+ */", "SYNTAX a comment that begins with + has hints");
    check(
        "SELECT 1, a /*+ OPTIONS('a' = 'b') */ FROM t",
        "INVALID a hint stands behind a table of FROM or INSERT INTO, and not behind a column",
    );
    check(
        "DROP TABLE t /*+ OPTIONS('a' = 'b') */",
        "SYNTAX a hint stands behind a table of FROM or INSERT INTO",
    );
}

/// SHOW CREATE VIEW shows hints, without secrets.
#[test]
fn hints_are_shown() {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    let text = format!(
        "{TABLES} CREATE VIEW w AS SELECT x.a FROM t /*+ OPTIONS('password' = 'it''s', 'b' = 'c') */ AS x; SHOW CREATE VIEW w"
    );
    let actions = session.read(&text).unwrap();
    let Some(Action::Show(shown)) = actions.last() else { panic!("{actions:?}") };
    let query = "AS SELECT x.a FROM t /*+ OPTIONS('b' = 'c', 'password' = '***') */ AS x";
    assert_eq!(shown.lines().last(), Some(query));
}
