//! Tests of SHOW, DESCRIBE and USE, and of names with databases.

use std::sync::Arc;

use thalweg_model::VirtualClock;

use super::super::{Action, Session};

/// Reads a text, and returns all that it shows, or the error.
fn shown(text: &str) -> String {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    match session.read(text) {
        Ok(actions) => {
            let shown = actions.iter().filter_map(|action| match action {
                Action::Show(shown) => Some(shown.as_str()),
                _ => None,
            });
            shown.collect::<Vec<_>>().join("\n")
        }
        Err(error) => format!("{} {error}", error.code.name()),
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(shown(text), expected, "{text}");
}

#[track_caller]
fn refused(text: &str, words: &str) {
    let shown = shown(text);
    assert!(shown.contains(words), "{text}: {shown}");
}

#[test]
fn names_are_listed() {
    check("SHOW TABLES; SHOW CURRENT DATABASE; SHOW CURRENT CATALOG", "\ndefault_database\ndefault_catalog");
    const DECLARED: &str =
        "CREATE TABLE b (x INT); CREATE VIEW a AS SELECT x FROM b; CREATE TABLE B_c (x INT);";
    check(&format!("{DECLARED} SHOW TABLES"), "B_c\na\nb");
    check(&format!("{DECLARED} SHOW TABLES LIKE 'b%'"), "b");
    check(&format!("{DECLARED} SHOW TABLES ILIKE 'b%'"), "B_c\nb");
    check(&format!("{DECLARED} SHOW TABLES FROM default_catalog.default_database NOT LIKE '_'"), "B_c");
    check(&format!("{DECLARED} SHOW VIEWS"), "a");
    check("SHOW CATALOGS; SHOW DATABASES IN default_catalog", "default_catalog\ndefault_database");
    check("SHOW FUNCTIONS LIKE 'row\\_n%'", "row_number");
    refused("SHOW TABLES IN d", "there is no catalog or database `d`");
    refused("SHOW DATABASES IN c", "there is no catalog `c`");
    refused("SHOW COLUMNS", "expected FROM and a table");
}

/// Tables of one name in two databases may stand in one FROM.
#[test]
fn names_of_several_databases_stand_side_by_side() {
    const TABLES: &str =
        "CREATE DATABASE d; CREATE TABLE t (a INT, b INT); CREATE TABLE d.t (a INT, c STRING);";
    let fine = |query: &str| check(&format!("{TABLES} {query}"), "");
    let wrong = |query: &str, words: &str| refused(&format!("{TABLES} {query}"), words);
    fine("SELECT d.t.a, default_database.t.a, t.b, c FROM t JOIN d.t ON d.t.a = default_database.t.a");
    fine("SELECT d.t.*, x.* FROM t AS x, default_catalog.d.t");
    wrong("SELECT t.a FROM t, d.t", "`a` may be a column of several tables");
    wrong("SELECT t.* FROM t, d.t", "two tables are called `t`");
    wrong("SELECT d.t.b FROM t, d.t", "UNKNOWN_COLUMN");
    wrong("SELECT 1 FROM t, default_database.t", "two tables are called `t`");
    wrong("SELECT 1 FROM d.t, t AS t", "two tables are called `t`");
    check(
        &format!("{TABLES} CREATE VIEW v AS SELECT d.t.* FROM t, d.t; DESCRIBE v"),
        &shown(&format!("{TABLES} DESCRIBE d.t")),
    );
}

#[test]
fn databases_are_created_used_and_dropped() {
    check("CREATE DATABASE d; CREATE DATABASE IF NOT EXISTS d; SHOW DATABASES", "d\ndefault_database");
    check("CREATE DATABASE d; USE d; SHOW CURRENT DATABASE", "d");
    check("CREATE DATABASE d; USE d; USE CATALOG default_catalog; SHOW CURRENT DATABASE", "default_database");
    check(
        "CREATE DATABASE d; USE default_catalog.d; CREATE TABLE t (a INT); SHOW TABLES FROM default_database",
        "",
    );
    check("DROP DATABASE IF EXISTS d", "");
    refused("CREATE DATABASE d; CREATE DATABASE d", "INVALID line 1, column 36");
    refused("USE d", "there is no catalog or database `d`");
    refused("USE CATALOG c", "there is no catalog `c`");
    refused("DROP DATABASE d", "UNKNOWN_TABLE");
    refused("CREATE DATABASE d; USE d; DROP DATABASE d", "is in use");
    refused("DROP DATABASE default_database", "is in use");
    const FILLED: &str = "CREATE DATABASE d; CREATE TABLE d.t (a INT);";
    refused(&format!("{FILLED} DROP DATABASE d"), "`d` is not empty");
    refused(&format!("{FILLED} DROP DATABASE d RESTRICT"), "`d` is not empty");
    check(&format!("{FILLED} DROP DATABASE d CASCADE; SHOW DATABASES"), "default_database");
}

#[test]
fn tables_are_found_in_their_databases() {
    const TABLES: &str = "CREATE DATABASE d; CREATE TABLE t (a INT); CREATE TABLE d.t (b INT);";
    let reads = |query: &str| check(&format!("{TABLES} {query}"), "");
    let fails = |query: &str, words: &str| refused(&format!("{TABLES} {query}"), words);
    reads(
        "SELECT a FROM t; SELECT b FROM d.t; SELECT t.b FROM default_catalog.d.t; SELECT a FROM default_database.t",
    );
    reads("SELECT d.t.b, default_catalog.d.t.b, t.b FROM d.t; SELECT d.t.* FROM d.t");
    reads(
        "SET 'table.exec.state.ttl' = '1 h'; SELECT x.a, d.t.b FROM t AS x JOIN d.t ON x.a = d.t.b WHERE x.a BETWEEN 1 AND 2; USE d; SELECT b FROM t",
    );
    reads("INSERT INTO d.t SELECT a FROM t; USE d; INSERT INTO t SELECT a FROM default_database.t");
    fails("SELECT b FROM t", "there is no column `b`");
    fails("SELECT default_database.t.b FROM d.t", "no table is called `default_database.t` here");
    fails("SELECT default_database.t.* FROM d.t", "no table or column of rows has the name");
    fails("SELECT a FROM d.x", "there is no table or view `d.x`");
    fails("SELECT a FROM e.t", "there is no catalog or database `e`");
    fails("SELECT a FROM c.d.t", "there is no catalog or database `c.d`");
    // A view finds its tables where it was created.
    reads("CREATE VIEW v AS SELECT a FROM t; USE d; SELECT a FROM default_database.v");
    reads("DROP TABLE d.t; DROP TABLE IF EXISTS d.t; DROP TABLE IF EXISTS e.t");
    fails("CREATE TABLE `d.t` (c INT)", "there is a table or view `d.t` already");
}

#[test]
fn declarations_are_shown() {
    check(
        "CREATE TABLE t (`a b` INT NOT NULL COMMENT 'it''s', s STRING, c AS `a b`+1 /* one */ , m BIGINT METADATA FROM 'file.size' VIRTUAL,
         ts TIMESTAMP_LTZ(3), r ROW<x ARRAY<STRING>>, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (s) NOT ENFORCED)
         COMMENT 'c' PARTITIONED BY (s) WITH ('z.password' = 'abc', 'k' = 'it''s');
         SHOW CREATE TABLE t; DESCRIBE t",
        "CREATE TABLE `default_catalog`.`default_database`.`t` (
  `a b` INT NOT NULL COMMENT 'it''s',
  `s` VARCHAR(2147483647) NOT NULL,
  `c` AS `a b`+1,
  `m` BIGINT METADATA FROM 'file.size' VIRTUAL,
  `ts` TIMESTAMP(3) WITH LOCAL TIME ZONE,
  `r` ROW<`x` ARRAY<VARCHAR(2147483647)>>,
  WATERMARK FOR `ts` AS `ts` - INTERVAL '1' SECOND,
  CONSTRAINT `PK_146` PRIMARY KEY (`s`) NOT ENFORCED
)
COMMENT 'c'
PARTITIONED BY (`s`)
WITH (
  'k' = 'it''s',
  'z.password' = '***'
)
name,type,null,key,extras,watermark
a b,INT,FALSE,NULL,NULL,NULL
s,STRING,FALSE,PRI(s),NULL,NULL
c,INT,FALSE,NULL,AS `a b`+1,NULL
m,BIGINT,TRUE,NULL,METADATA FROM 'file.size' VIRTUAL,NULL
ts,TIMESTAMP_LTZ(3) *ROWTIME*,TRUE,NULL,NULL,`ts` - INTERVAL '1' SECOND
r,ROW<`x` ARRAY<STRING>>,TRUE,NULL,NULL,NULL",
    );
    check(
        "CREATE VIEW v COMMENT 'c' AS SELECT 1 AS a, 'it''s' -- text
         AS b; SHOW CREATE VIEW v; DESC v",
        "CREATE VIEW `default_catalog`.`default_database`.`v` (
  `a`,
  `b`
)
COMMENT 'c'
AS SELECT 1 AS a, 'it''s' AS b
name,type,null,key,extras,watermark
a,INT,FALSE,NULL,NULL,NULL
b,CHAR(4),FALSE,NULL,NULL,NULL",
    );
    refused("CREATE VIEW v AS SELECT 1 AS a; SHOW CREATE TABLE v", "SHOW CREATE TABLE shows no view");
    refused("CREATE TABLE v (a INT); SHOW CREATE VIEW v", "write SHOW CREATE TABLE");
    refused("SHOW CREATE VIEW v", "UNKNOWN_TABLE");
}
