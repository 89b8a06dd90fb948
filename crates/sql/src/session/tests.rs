//! Tests that a session refuses plans which would remember values that differ when a row is taken back.

use std::sync::Arc;

use thalweg_model::VirtualClock;

use super::Session;

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
    refused(&format!("SELECT k, f FROM (SELECT *, {first}"), "ROW_NUMBER takes rows", "k ORDER BY");
    read("SELECT k, f FROM c").unwrap();
    read("SELECT k, COUNT(*) FROM c GROUP BY k").unwrap();
    read(&format!("SELECT k FROM (SELECT k, v, {first}")).unwrap();
}
