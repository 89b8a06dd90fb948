//! Tests of the plans that a session makes or refuses: values that differ when a row is taken back, and final rows.

use std::sync::Arc;

use thalweg_model::VirtualClock;
use thalweg_sql_exec::plan::{Plan, explain};
use thalweg_sql_tables::connect::World;

use super::{Action, Session};
use crate::job::check;

/// An operator refuses to store metadata columns of rows that may change: a row and its retraction may
/// stand in different files, so their metadata differ.
#[test]
fn metadata_of_rows_that_change_are_not_remembered() {
    const TABLES: &str = "SET 'table.exec.state.ttl' = '1 h';
        CREATE TABLE t (k INT, v INT);
        CREATE TABLE c (k INT, v INT, f STRING METADATA FROM 'file.name')
        WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'debezium-json');";
    let read = |query: &str| {
        let mut session = Session::new(Arc::new(VirtualClock::default()));
        session.read(&format!("{TABLES}\n{query};")).map(|_| ())
    };
    let refused = |query: &str, what: &str, at: &str| {
        let error = read(query).unwrap_err();
        let has_all = [what, "when a row is taken back", "METADATA"]
            .iter()
            .all(|part| error.to_string().contains(part));
        assert!(has_all, "{query}: {error}");
        let column = error.place.unwrap().column;
        assert!(query[column - 1..].starts_with(at), "{query}: {error}");
    };
    refused("SELECT f, COUNT(*) FROM c GROUP BY f", "GROUP BY takes rows", "f");
    refused("SELECT k, MAX(f) FROM c GROUP BY k", "GROUP BY takes rows", "k");
    refused("SELECT k, f, COUNT(*) FROM c GROUP BY ROLLUP (k, f)", "GROUP BY takes rows", "k, f)");
    refused("SELECT k FROM c WHERE f = 'a'", "WHERE takes rows", "f = 'a'");
    refused(
        "SELECT c.f, t.v FROM c JOIN t ON c.k = t.k",
        "a join without a bound in time takes rows",
        "c.k = t.k",
    );
    refused("SELECT c.k FROM c JOIN t ON c.k = t.k AND c.f <> 'a'", "takes rows", "c.f <> 'a'");
    let first = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM c) WHERE n <= 2";
    refused(&format!("SELECT k, f FROM (SELECT *, {first}"), "ROW_NUMBER takes rows", "ROW_NUMBER()");
    read("SELECT k, f FROM c").unwrap();
    read("SELECT k, COUNT(*) FROM c GROUP BY k").unwrap();
    read(&format!("SELECT k FROM (SELECT k, v, {first}")).unwrap();
}

/// Reads a text, and returns the operators of its last job from the sink to the tables, or the error. Projections are shown
/// at the end of a plan only.
fn operators(text: &str) -> Result<String, String> {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    let actions = session.read(text).map_err(|error| format!("{} {error}", error.code.name()))?;
    let Some(Action::Run(job)) = actions.last() else { panic!("{text} is no job") };
    check(job, &World::default()).map_err(|error| format!("{} {error}", error.code.name()))?;
    let names = |plan: &Plan| {
        let mut names = Vec::new();
        let mut shown = Some(&explain::shown(plan)).cloned();
        while let Some(mut operator) = shown {
            let detail =
                |name| operator.details.iter().find(|(known, _)| *known == name).map(|(_, of)| of.clone());
            names.push(match operator.name {
                "Final" => format!("Final({:?}, {:?})", detail("by"), detail("rows")),
                "Rank" => format!("Rank({:?}, {:?})", detail("by"), detail("ranks")),
                name => name.to_owned(),
            });
            if operator.name == "Calc" && names.len() > 1 {
                names.pop();
            }
            shown = (!operator.inputs.is_empty()).then(|| operator.inputs.remove(0));
        }
        names.join(" < ")
    };
    Ok(job.parts.iter().map(|part| names(&part.plan)).collect::<Vec<_>>().join("; "))
}

/// Tables that end and tables that do not.
const TABLES: &str = "
    CREATE TABLE ending (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
    WITH ('connector' = 'datagen', 'number-of-rows' = '9');
    CREATE TABLE endless (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
    CREATE TABLE adds (k STRING, n BIGINT)
    WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'csv');
    CREATE TABLE changes (k STRING, n BIGINT) WITH ('connector' = 'print');";

#[track_caller]
fn runs(statements: &str, expected: &str) {
    assert_eq!(operators(&format!("{TABLES}{statements}")).as_deref(), Ok(expected), "{statements}");
}

#[track_caller]
fn refused(statements: &str, words: &str) {
    let error = operators(&format!("{TABLES}{statements}")).unwrap_err();
    assert!(error.contains(words), "{statements}: {error}");
}

const BATCH: &str = "SET 'execution.runtime-mode' = 'BATCH';";
const STREAMING: &str = "SET 'execution.runtime-mode' = 'streaming';";

#[test]
fn a_query_whose_tables_end_has_final_rows() {
    let count = "SELECT k, COUNT(*) AS n FROM ending GROUP BY k";
    runs(count, "Final(None, None) < Group < Scan");
    runs(&format!("{STREAMING}{count}"), "Calc < Group < Scan");
    runs(
        &format!("{count} ORDER BY n DESC, k LIMIT 5 OFFSET 2"),
        "Final(Some(\"n DESC, k\"), Some(\"5 behind 2\")) < Group < Scan",
    );
    runs(
        &format!("SET 'execution.runtime-mode' = 'Automatic';{count} LIMIT 5"),
        "Final(None, Some(\"5\")) < Group < Scan",
    );
    // Rows that are only added come out at once.
    runs("SELECT k FROM ending WHERE v > 1 LIMIT 5", "Limit < Scan");
    runs("SELECT k, ts FROM ending ORDER BY ts, k", "Sort < Scan");
    runs("SELECT k, ts FROM ending ORDER BY ts LIMIT 5", "Final(Some(\"ts\"), Some(\"5\")) < Scan");
    runs(
        &format!("{BATCH}SELECT k, ts FROM ending ORDER BY ts, v"),
        "Calc < Final(Some(\"ts, v\"), None) < Scan",
    );
    runs("SELECT k FROM ending ORDER BY v LIMIT 0", "Calc < Values");
    // Each reader of the first rows gets the same ones, so their columns are kept.
    let first = "CREATE VIEW first AS SELECT k, v, ts FROM ending ORDER BY ts DESC LIMIT 1;";
    let columns = |query: &str| operators(&format!("{TABLES}{first}{query}")).unwrap();
    assert_eq!(columns("SELECT v FROM first"), "Calc < Final(Some(\"ts DESC\"), Some(\"1\")) < Scan");
    // The order is by a column that is not selected, or by an expression.
    runs("SELECT k FROM ending ORDER BY v + 1 LIMIT 3", "Calc < Final(Some(\"v + 1\"), Some(\"3\")) < Scan");
    runs("SELECT DISTINCT k FROM ending", "Final(None, None) < Group < Scan");
    runs("SELECT a.k FROM ending AS a LEFT JOIN ending AS b ON a.v = b.v", "Final(None, None) < Join < Scan");
    // A value that differs at each call is computed behind the final rows.
    runs("SELECT k, COUNT(*), RAND() FROM ending GROUP BY k", "Calc < Final(None, None) < Group < Scan");
    let random = "SELECT k, COUNT(*) AS n, RAND() AS r FROM ending GROUP BY k ORDER BY r";
    runs(random, "Final(Some(\"r\"), None) < Group < Scan");
    refused(
        "SELECT a.k, RAND() AS r FROM ending AS a LEFT JOIN ending AS b ON a.v = b.v ORDER BY r",
        "another value when a row is taken back",
    );
}

#[test]
fn a_table_without_an_end_has_changes() {
    let top = "SELECT k, v FROM endless ORDER BY v DESC LIMIT 3";
    runs(top, "Rank(Some(\"v DESC\"), Some(\"1 to 3\")) < Scan");
    runs(&format!("{top} OFFSET 2"), "Rank(Some(\"v DESC\"), Some(\"3 to 5\")) < Scan");
    runs(
        &format!("{STREAMING}SELECT k FROM ending ORDER BY v LIMIT 3"),
        "Calc < Rank(Some(\"v\"), Some(\"1 to 3\")) < Scan",
    );
    runs("SELECT k, v FROM endless ORDER BY v DESC LIMIT 0", "Values");
    refused("SELECT k, v FROM endless ORDER BY v", "ORDER BY of an endless stream begins with event time");
    refused(&format!("{STREAMING}SELECT v FROM ending ORDER BY v"), "SET 'execution.runtime-mode' = 'batch'");
    runs("SELECT k, COUNT(*) FROM endless GROUP BY k", "Calc < Group < Scan");
    // One table without an end is enough.
    let both = "SELECT k, v FROM ending UNION ALL SELECT k, v FROM endless";
    runs(&format!("SELECT k, COUNT(*) FROM ({both}) GROUP BY k"), "Calc < Group < Union < Scan");
    refused(&format!("SELECT * FROM ({both}) ORDER BY v"), "endless stream");
    let ttl = "SET 'table.exec.state.ttl' = '1 h';";
    let joined = "SELECT e.k FROM (SELECT k FROM ending ORDER BY v) AS a, endless AS e";
    refused(&format!("{ttl}{joined}"), "endless stream");
}

#[test]
fn inserts_have_final_rows_in_batch_mode() {
    let count = "SELECT k, COUNT(*) FROM ending GROUP BY k";
    runs(&format!("INSERT INTO changes {count}"), "Calc < Group < Scan");
    refused(&format!("INSERT INTO adds {count}"), "takes rows that are only added");
    runs(&format!("{BATCH}INSERT INTO adds {count}"), "Calc < Final(None, None) < Group < Scan");
    runs(
        &format!("{BATCH}INSERT INTO adds {count} ORDER BY 2 LIMIT 3"),
        "Calc < Final(Some(\"EXPR$1\"), Some(\"3\")) < Group < Scan",
    );
    refused("INSERT INTO adds SELECT k, v FROM ending ORDER BY v", "SET 'execution.runtime-mode' = 'batch'");
    refused(&format!("{BATCH}SELECT k FROM endless"), "'batch', and the table `endless` has no end");
    refused("SET 'execution.runtime-mode' = 'bulk'; SELECT 1", "must be one of automatic, streaming, batch");
}
