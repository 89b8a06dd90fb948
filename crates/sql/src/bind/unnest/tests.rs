//! Names and types of the columns of UNNEST, where conditions of WHERE go, and which columns are copied.

use std::sync::Arc;

use thalweg_model::VirtualClock;
use thalweg_sql_exec::plan::{Node, Plan, Role, explain};

use crate::session::{Action, Session};

const TABLES: &str = "
    SET 'table.exec.state.ttl' = '1 d';
    CREATE TABLE t (k INT, l ARRAY<INT>, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
    CREATE TABLE b (k INT, n STRING) WITH ('connector' = 'datagen');
";

fn planned(query: &str) -> Plan {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    let actions =
        session.read(&format!("{TABLES}{query}")).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    let Some(Action::Run(job)) = actions.last() else { panic!("{query}: no job") };
    job.parts[0].plan.clone()
}

/// Columns are called as Flink calls them, and are nullable as far as types tell.
#[test]
fn columns_are_called_as_in_flink() {
    let check = |query: &str, expected: &str| {
        let column = |column: &thalweg_sql_exec::plan::Column| {
            format!("{} {}{}", column.name, column.of, if column.is_nullable { "" } else { " NOT NULL" })
        };
        let columns: Vec<String> = planned(query).columns.iter().map(column).collect();
        assert_eq!(columns.join(", "), expected, "{query}");
    };
    check("SELECT * FROM UNNEST(ARRAY[1])", "EXPR$0 INT");
    check("SELECT * FROM UNNEST(ARRAY[1]) AS u", "u INT");
    check("SELECT * FROM UNNEST(ARRAY[1]) AS u (x)", "x INT");
    check("SELECT * FROM UNNEST(ARRAY[1]) WITH ORDINALITY", "EXPR$0 INT, ORDINALITY INT NOT NULL");
    check("SELECT * FROM UNNEST(ARRAY[1]) WITH ORDINALITY AS u", "EXPR$0 INT, ORDINALITY INT NOT NULL");
    check("SELECT * FROM UNNEST(MAP['a', 1]) AS u", "KEY CHAR(1), VALUE INT");
    check("SELECT * FROM UNNEST(ARRAY[ROW(1, 'a')]) AS u", "EXPR$0 INT, EXPR$1 CHAR(1)");
    check("SELECT * FROM UNNEST(ARRAY[ROW(1)]) AS u", "u INT");
    check(
        "SELECT k, u.* FROM t CROSS JOIN UNNEST(l) WITH ORDINALITY AS u (x, n)",
        "k INT, x INT, n INT NOT NULL",
    );
    check(
        "SELECT k, u.* FROM t LEFT JOIN UNNEST(l) WITH ORDINALITY AS u (x, n) ON TRUE",
        "k INT, x INT, n INT",
    );
    check("SELECT l.x FROM UNNEST(ARRAY[1]) AS l (x)", "x INT");
}

/// A condition of WHERE finds its join below an UNNEST, and one on elements is a filter behind it. The array is not copied
/// for each element unless it is read.
#[test]
fn conditions_find_their_join() {
    let plan = planned("SELECT n, x FROM t, b, UNNEST(l) AS u (x) WHERE t.k = b.k AND x > 1 AND n <> 'z'");
    let text = explain::shown(&plan).text();
    assert!(text.contains("on=[k = k]"), "{text}");
    let unnest = plan.walk().find(|part| matches!(part.node, Node::Unnest { .. })).expect("an UNNEST");
    assert_eq!(unnest.columns.iter().map(|column| &*column.name).collect::<Vec<_>>(), ["n", "x"], "{text}");
    let below = |part: &Plan| matches!(&part.node, Node::Calc { conditions, .. } if !conditions.is_empty());
    assert!(below(&plan), "the condition on elements is on top: {text}");
    assert!(unnest.walk().any(below), "the condition on `n` is below: {text}");
}

/// The event time of a row stays that of its elements, also behind LEFT JOIN.
#[test]
fn times_stay_times() {
    for query in [
        "SELECT * FROM t CROSS JOIN UNNEST(l) AS u (x)",
        "SELECT * FROM t LEFT JOIN UNNEST(l) AS u (x) ON TRUE",
        "SELECT * FROM t, UNNEST(l) AS u (x), UNNEST(ARRAY[x]) AS d (y) WHERE t.k > y",
    ] {
        let plan = planned(query);
        assert_eq!(plan.columns[2].role, Role::Rowtime, "{query}");
    }
}
