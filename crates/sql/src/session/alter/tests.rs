//! Tests of ALTER TABLE and ALTER VIEW.

use std::sync::Arc;

use thalweg_model::VirtualClock;

use super::super::{Action, Session};

/// Alters the table `t`, and returns the columns and options that SHOW CREATE TABLE shows, or the error.
fn altered(text: &str) -> String {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    let shown = session
        .read(&format!("{BASE} {text}"))
        .and_then(|_| session.read("SHOW CREATE TABLE t").or_else(|_| session.read("SHOW CREATE TABLE u")));
    match shown.as_deref() {
        Ok([Action::Show(shown)]) => {
            let lines: Vec<&str> = shown.lines().map(str::trim).collect();
            lines.join(" ").replace("CREATE TABLE `default_catalog`.`default_database`.", "")
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => {
            let place =
                error.place.map_or_else(String::new, |place| format!("{}:{} ", place.line, place.column));
            format!("{} {place}{}", error.code.name(), error.message)
        }
    }
}

const BASE: &str = "CREATE TABLE t (a INT, b STRING, ts TIMESTAMP(3), c AS a + 1, WATERMARK FOR ts AS ts) PARTITIONED BY (b) \
                    WITH ('connector' = 'print'); CREATE VIEW v AS SELECT a FROM t;\n";

#[track_caller]
fn check(text: &str, expected: &str) {
    let shown = altered(text);
    assert!(shown.contains(expected), "{text}: {shown}");
}

#[test]
fn columns_come_change_and_go() {
    check("ALTER TABLE t ADD x INT", "`c` AS `a` + 1, `x` INT, WATERMARK");
    check("ALTER TABLE t ADD (y INT FIRST, z AS a * 2 AFTER a)", "( `y` INT, `a` INT, `z` AS `a` * 2, `b`");
    check("ALTER TABLE t MODIFY a BIGINT", "( `a` BIGINT, `b`");
    check("ALTER TABLE t MODIFY (a BIGINT AFTER b)", "( `b` VARCHAR(2147483647), `a` BIGINT, `ts`");
    check("ALTER TABLE t DROP c", "`ts` TIMESTAMP(3), WATERMARK");
    check("ALTER TABLE t DROP (c, a)", "( `b` VARCHAR(2147483647), `ts` TIMESTAMP(3), WATERMARK");
    check("ALTER TABLE t RENAME c TO d", "`d` AS `a` + 1");
}

#[test]
fn watermarks_and_keys_are_there_once() {
    check(
        "ALTER TABLE t MODIFY WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
        "AS `ts` - INTERVAL '1' SECOND",
    );
    check("ALTER TABLE t DROP WATERMARK", "`c` AS `a` + 1 ) PARTITIONED");
    check("ALTER TABLE t ADD PRIMARY KEY (a) NOT ENFORCED", "`a` INT NOT NULL, ");
    check(
        "ALTER TABLE t ADD CONSTRAINT k PRIMARY KEY (a) NOT ENFORCED; ALTER TABLE t MODIFY PRIMARY KEY (a, b) NOT ENFORCED",
        "PRIMARY KEY (`a`, `b`) NOT ENFORCED",
    );
    check(
        "ALTER TABLE t ADD CONSTRAINT k PRIMARY KEY (a) NOT ENFORCED; ALTER TABLE t DROP CONSTRAINT k",
        "WATERMARK FOR `ts` AS `ts` ) PARTITIONED",
    );
}

#[test]
fn options_and_names_change() {
    check("ALTER TABLE t SET ('print-identifier' = 'x')", "'connector' = 'print', 'print-identifier' = 'x'");
    check(
        "ALTER TABLE t SET ('print-identifier' = 'x'); ALTER TABLE t RESET ('print-identifier')",
        "WITH ( 'connector' = 'print' )",
    );
    check("ALTER TABLE t RENAME TO u", "`u` ( `a` INT");
    check("ALTER TABLE IF EXISTS nope RENAME TO u", "`t` ( `a` INT");
    check("ALTER VIEW v RENAME TO w; CREATE TABLE v (x INT)", "`t` ( `a` INT");
    check("ALTER VIEW v AS SELECT b FROM t; CREATE VIEW w AS SELECT b FROM v", "`t` ( `a` INT");
}

#[test]
fn faults_have_places() {
    for (text, expected) in [
        ("ALTER TABLE nope ADD x INT", "UNKNOWN_TABLE 2:14 there is no table or view `nope`"),
        ("ALTER TABLE v ADD x INT", "INVALID 2:14 `v` is a view and no table"),
        ("ALTER VIEW t RENAME TO u", "INVALID 2:13 `t` is a table and no view"),
        ("ALTER TABLE t ADD a INT", "INVALID 2:20 there is a column `a` already"),
        ("ALTER TABLE t ADD x INT AFTER y", "UNKNOWN_COLUMN 2:32 `t` has no column `y`"),
        ("ALTER TABLE t ADD (x)", "the column `x` has no type"),
        ("ALTER TABLE t MODIFY x INT", "UNKNOWN_COLUMN 2:23 `t` has no column `x`"),
        ("ALTER TABLE t DROP x", "UNKNOWN_COLUMN 2:21 `t` has no column `x`"),
        ("ALTER TABLE t DROP ts", "INVALID 2:21 the column `ts` is used by the watermark"),
        ("ALTER TABLE t DROP b", "INVALID 2:21 the column `b` names partitions"),
        ("ALTER TABLE t RENAME b TO d", "INVALID 2:23 the column `b` names partitions"),
        ("ALTER TABLE t DROP a", "INVALID 2:21 the column `a` is read by the computed column `c`"),
        ("ALTER TABLE t DROP (b, a)", "INVALID 2:25 the column `a` is read by the computed column `c`"),
        ("ALTER TABLE t RENAME a TO d", "INVALID 2:23 the column `a` is read by the computed column `c`"),
        ("ALTER TABLE t RENAME ts TO d", "INVALID 2:23 the column `ts` is used by the watermark"),
        (
            "ALTER TABLE t ADD d INT; ALTER TABLE t MODIFY WATERMARK FOR ts AS TIMESTAMPADD(DAY, d, ts); ALTER TABLE t DROP d",
            "the column `d` is used by the watermark",
        ),
        (
            "ALTER TABLE t DROP c; ALTER TABLE t ADD PRIMARY KEY (a) NOT ENFORCED; ALTER TABLE t DROP a",
            "INVALID 2:91 the column `a` is used in the primary key",
        ),
        ("ALTER TABLE t RENAME c TO b", "INVALID 2:28 there is a column `b` already"),
        ("ALTER TABLE t ADD WATERMARK FOR ts AS ts", "INVALID 2:34 the table has a watermark already"),
        ("ALTER TABLE t DROP WATERMARK; ALTER TABLE t DROP WATERMARK", "the table has no watermark"),
        ("ALTER TABLE t DROP PRIMARY KEY", "INVALID 2:21 the table has no primary key"),
        ("ALTER TABLE t RESET ('connector')", "INVALID 2:23 the connector of a table cannot be reset"),
        ("ALTER TABLE t RENAME TO v", "INVALID 2:26 there is a table or view `v` already"),
        ("ALTER TABLE t DROP PARTITION (b = 'x')", "SYNTAX 2:21 partitions come with their rows"),
        (
            "ALTER TABLE t RUN",
            "SYNTAX 2:16 expected RENAME, SET, RESET, ADD, MODIFY or DROP behind ALTER TABLE",
        ),
        ("ALTER VIEW v AS SELECT nope FROM t", "UNKNOWN_COLUMN 2:25"),
        ("ALTER VIEW v AS SELECT * FROM v", "the view `v` refers to itself"),
    ] {
        let shown = altered(text);
        assert!(shown.contains(expected), "{text}: {shown}");
    }
}
