//! Tests of all errors of a text.

use std::sync::Arc;

use thalweg_model::VirtualClock;

use super::super::Session;
use super::ERRORS_MAX;

/// Checks the codes and places of all errors of a text, and that reading it to the first error agrees that there is one.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    let errors = session.read_all(text).err().unwrap_or_default();
    let told = |error: &crate::error::SqlError| {
        let place = error.place.map(|place| format!("{}:{}", place.line, place.column)).unwrap_or_default();
        format!("{} {place}", error.code.name())
    };
    assert_eq!(errors.iter().map(told).collect::<Vec<_>>(), expected, "{text}: {errors:?}");
    let first = Session::new(Arc::new(VirtualClock::default())).read(text);
    assert_eq!(first.is_err(), !expected.is_empty(), "{text}");
}

#[test]
fn all_errors_are_found() {
    check("SELECT 1; SELECT 2", &[]);
    check("SELECT x;\nSELECT 1;\nSELECT y;", &["UNKNOWN_COLUMN 1:8", "UNKNOWN_COLUMN 3:8"]);
    // Reading goes on behind the semicolon of a statement with a fault of syntax, and errors are in the order of the text.
    check(
        "SELECT x;\nSELEC 1;\nSELECT FROM;\nSELECT y",
        &["UNKNOWN_COLUMN 1:8", "SYNTAX 2:1", "SYNTAX 3:8", "UNKNOWN_COLUMN 4:8"],
    );
    check("SELECT 'a; SELECT x", &["SYNTAX 1:8"]);
    let many = "SELECT x;\n".repeat(ERRORS_MAX + 9);
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    assert_eq!(session.read_all(&many).unwrap_err().len(), ERRORS_MAX);
}

#[test]
fn errors_that_follow_from_others_are_left_out() {
    // The table is not declared, so nothing is known of what reads it.
    check(
        "CREATE TABLE t (a INTT);\nSELECT b FROM t;\nCREATE VIEW v AS SELECT a FROM t;\nSELECT c FROM v;\nSELECT d FROM u",
        &["SYNTAX 1:19", "UNKNOWN_TABLE 5:15"],
    );
    check(
        "CREATE VIEW v AS SELECT x;\nSELECT x FROM v; DROP VIEW v;\nSELECT x FROM v",
        &["UNKNOWN_COLUMN 1:25", "UNKNOWN_TABLE 3:15"],
    );
    check(
        "CREATE TABLE t (a INTT);\nCREATE TABLE t (a INT);\nSELECT b FROM t",
        &["SYNTAX 1:19", "UNKNOWN_COLUMN 3:8"],
    );
    // A second declaration of one name leaves the first.
    check(
        "CREATE TABLE t (a INT);\nCREATE TABLE t (b INT);\nSELECT b FROM t",
        &["INVALID 2:14", "UNKNOWN_COLUMN 3:8"],
    );
    check("USE d;\nSELECT x FROM t", &["UNKNOWN_TABLE 1:5"]);
    check(
        "SET 'table.exec.state.ttl' = 'x';\nCREATE TABLE t (a INT);\nSELECT DISTINCT a FROM t;\nSELECT b FROM t",
        &["INVALID 1:30", "UNKNOWN_COLUMN 4:8"],
    );
}

#[test]
fn each_insert_of_a_statement_set_has_its_error() {
    check(
        "CREATE TABLE t (a INT);\nEXECUTE STATEMENT SET BEGIN\nINSERT INTO t SELECT x;\nINSERT INTO t SELECT 1;\nINSERT INTO u SELECT 1;\nEND",
        &["UNKNOWN_COLUMN 3:22", "UNKNOWN_TABLE 5:13"],
    );
}
