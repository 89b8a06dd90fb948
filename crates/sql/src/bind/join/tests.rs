//! Which join becomes of which query, and which are refused.

use std::sync::Arc;

use chrono_tz::Tz;
use thalweg_model::VirtualClock;
use thalweg_sql_exec::plan::{Column, Counted, Join, JoinKey, JoinMethod, Node, Plan, Role};
use thalweg_sql_functions::expression::Named;
use thalweg_sql_functions::functions::Context;
use thalweg_sql_tables::error::SqlError;

use crate::bind::{Answers, Binder, Notes, Views, declare};
use crate::catalog::{Catalog, Entry, View};
use crate::text::script::{Statement, parse};

const TABLES: &str = "
    CREATE TABLE o (k INT, v BIGINT, s STRING, f DOUBLE, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts);
    CREATE TABLE r (k INT, v BIGINT, s STRING, f DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);
    CREATE TABLE z (k INT, ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts);
    CREATE TABLE rates (c INT, rate BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (c) NOT ENFORCED);
    CREATE TABLE two (a INT, b INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (a, b) NOT ENFORCED);
    CREATE TABLE d (k INT, name STRING) WITH ('connector' = 'filesystem', 'path' = 'd.csv', 'format' = 'csv');
    CREATE TABLE endless (k INT) WITH ('connector' = 'datagen');
    CREATE VIEW last_r AS SELECT k, v, ts FROM (
      SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM r WHERE v > 0) WHERE n = 1;
    CREATE VIEW first_r AS SELECT k, v, ts FROM (
      SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS n FROM r) WHERE n = 1;
    CREATE VIEW ow AS SELECT * FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '1' MINUTE));
    CREATE VIEW rw AS SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '1' MINUTE));
    CREATE VIEW zw AS SELECT * FROM TABLE(TUMBLE(TABLE z, DESCRIPTOR(ts), INTERVAL '1' MINUTE));
    CREATE VIEW rh AS SELECT * FROM TABLE(HOP(TABLE r, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTE));
";

fn planned(query: &str, state_ttl_ms: Option<i64>) -> Result<Plan, SqlError> {
    let context = Context { zone: Tz::UTC, clock: Arc::new(VirtualClock::default()) };
    let mut catalog = Catalog::default();
    let views = Views::default();
    for placed in parse(&format!("{TABLES}{query}")).unwrap() {
        let binder = Binder {
            catalog: &catalog,
            context: &context,
            state_ttl_ms,
            answers: Answers::Changes,
            are_changes_doubled: false,
            views: &views,
            notes: &Notes::default(),
        };
        match placed.statement {
            Statement::CreateTable(create) => {
                let table = declare(&binder, &create, &create.name.name).unwrap();
                catalog.add(&create.name, Entry::Table(Arc::new(table)), None, false).unwrap();
            }
            Statement::CreateView { name, columns, query, text, .. } => {
                let database = catalog.current().to_owned();
                let view = View { columns, query, text, comment: None, database };
                catalog.add(&name, Entry::View(Arc::new(view)), None, false).unwrap();
            }
            Statement::Query(query) => return binder.query(&query),
            _ => {}
        }
    }
    unreachable!("there is a query")
}

/// All joins, the outermost first.
fn joins<'a>(plan: &'a Plan, found: &mut Vec<(&'a [Column], &'a [Column], &'a Join)>) {
    if let Node::Join { left, right, join } = &plan.node {
        found.push((&left.columns, &right.columns, join));
    }
    plan.inputs().into_iter().for_each(|input| joins(input, found));
}

fn shown((left, right, join): &(&[Column], &[Column], &Join)) -> String {
    let method = match &join.method {
        JoinMethod::Window { is_local, .. } => format!("window{}", if *is_local { " local" } else { "" }),
        JoinMethod::Interval { lower_ms, upper_ms, .. } => format!("interval {lower_ms}..={upper_ms}"),
        JoinMethod::Temporal { counts, .. } => {
            let counts = match counts {
                Counted::All => "",
                Counted::InOrder => " last",
                Counted::First => " first",
            };
            format!("temporal{counts}")
        }
        JoinMethod::Lookup => "lookup".to_owned(),
        JoinMethod::Regular { ttl_ms: [Some(left), Some(right)] } if left == right => {
            format!("regular {left}")
        }
        JoinMethod::Regular { ttl_ms: [None, None] } => "regular".to_owned(),
        JoinMethod::Regular { ttl_ms } => format!("regular {ttl_ms:?}"),
    };
    let of_left = |place: usize| format!("l.{}", left[place].name);
    let of_right = |place: usize| format!("r.{}", right[place].name);
    let of_both =
        |place: usize| if place < left.len() { of_left(place) } else { of_right(place - left.len()) };
    let key = |key: &JoinKey| {
        let equals = if key.is_null_equal { "==" } else { "=" };
        format!("{}{equals}{}", Named(&key.left, of_left), Named(&key.right, of_right))
    };
    let keys: Vec<String> = join.keys.iter().map(key).collect();
    let condition = join.condition.as_ref().map(|condition| format!(" if {}", Named(condition, of_both)));
    format!("{method} {:?} [{}]{}", join.kind, keys.join(", "), condition.unwrap_or_default())
}

fn check_with(query: &str, ttl_ms: Option<i64>, expected: &str) {
    let found = match planned(query, ttl_ms) {
        Ok(plan) => {
            let mut found = Vec::new();
            joins(&plan, &mut found);
            found.iter().map(shown).collect::<Vec<_>>().join("; ")
        }
        Err(error) => format!("{} {}", error.code.name(), error.message),
    };
    assert_eq!(found, expected, "{query}");
}

fn check(query: &str, expected: &str) {
    check_with(query, None, expected);
}

#[test]
fn windows_are_found() {
    check(
        "SELECT * FROM ow JOIN rw ON ow.k = rw.k AND ow.window_start = rw.window_start AND rw.window_end = ow.window_end",
        "window Inner [l.k=r.k]",
    );
    check(
        "SELECT * FROM ow, rw WHERE ow.window_start = rw.window_start AND ow.window_end = rw.window_end AND ow.v > rw.v AND ow.f > 1e0",
        "window Inner [] if l.v > r.v",
    );
    check(
        "SELECT * FROM ow FULL JOIN rw ON ow.k = rw.k AND ow.window_start = rw.window_start AND ow.window_end = rw.window_end",
        "window Full [l.k=r.k]",
    );
    check(
        "SELECT * FROM zw a JOIN zw b ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end",
        "window local Inner [l.k=r.k]",
    );
    check(
        "SELECT * FROM ow WHERE k IN (SELECT k FROM rw WHERE ow.window_start = rw.window_start AND ow.window_end = rw.window_end)",
        "window Semi [l.k=r.k]",
    );
    check(
        "SELECT * FROM ow WHERE NOT EXISTS (SELECT 1 FROM rw WHERE ow.k = rw.k AND ow.window_start = rw.window_start AND ow.window_end = rw.window_end)",
        "window Anti [l.k=r.k]",
    );
    // NULL among the others keeps every row from coming out.
    check(
        "SELECT * FROM ow WHERE k NOT IN (SELECT k FROM rw WHERE ow.window_start = rw.window_start AND ow.window_end = rw.window_end)",
        "window Anti [] if (l.k = r.k) IS NOT FALSE",
    );
    // Windows of other sizes, or only one end of them, are no windows.
    check(
        "SELECT * FROM ow JOIN rh ON ow.window_start = rh.window_start AND ow.window_end = rh.window_end",
        "regular Inner [l.window_start=r.window_start, l.window_end=r.window_end]",
    );
    check(
        "SELECT * FROM ow JOIN rw ON ow.k = rw.k AND ow.window_start = rw.window_start",
        "regular Inner [l.k=r.k, l.window_start=r.window_start]",
    );
    // Windows of aggregates.
    let counted = |view: &str| {
        format!(
            "(SELECT k, window_start, window_end, COUNT(k) n FROM {view} GROUP BY k, window_start, window_end)"
        )
    };
    check(
        &format!(
            "SELECT a.n FROM {} a LEFT JOIN {} b ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end",
            counted("ow"),
            counted("rw")
        ),
        "window Left [l.k=r.k]",
    );
}

#[test]
fn intervals_are_found() {
    let check = |condition: &str, expected: &str| {
        check(
            &format!("SELECT 1 FROM o JOIN r ON o.k = r.k AND {condition}"),
            &format!("interval {expected}"),
        );
    };
    check("o.ts BETWEEN r.ts - INTERVAL '4' HOUR AND r.ts", "0..=14400000 Inner [l.k=r.k]");
    check("r.ts BETWEEN o.ts AND o.ts + INTERVAL '10' SECOND", "0..=10000 Inner [l.k=r.k]");
    check("o.ts = r.ts", "0..=0 Inner [l.k=r.k]");
    check("r.ts > o.ts AND r.ts < o.ts + INTERVAL '10' SECOND", "1..=9999 Inner [l.k=r.k]");
    check(
        "o.ts <= r.ts AND r.ts - INTERVAL '1' SECOND <= o.ts - INTERVAL '2' SECOND",
        "0..=-1000 Inner [l.k=r.k]",
    );
    check(
        "o.ts + INTERVAL '1' SECOND >= r.ts - INTERVAL '1' SECOND AND r.ts >= o.ts - INTERVAL '3' SECOND",
        "-3000..=2000 Inner [l.k=r.k]",
    );
    check("INTERVAL '1' SECOND + o.ts > r.ts AND o.ts < r.ts AND r.ts >= o.ts", "1..=999 Inner [l.k=r.k]");
    check("o.ts = r.ts AND o.v < r.v AND r.s = 'x'", "0..=0 Inner [l.k=r.k] if l.v < r.v");
    check(
        "o.ts = r.ts AND o.s || 'x' = r.s AND o.v + 1 = r.v",
        "0..=0 Inner [l.k=r.k, CONCAT(l.s, 'x')=r.s, l.v + 1=r.v]",
    );
    check("o.ts = r.ts AND o.k = r.v", "0..=0 Inner [l.k=r.k, CAST(l.k AS BIGINT)=r.v]");
}

#[test]
fn conditions_find_their_join() {
    check("SELECT 1 FROM o, r WHERE o.k = r.k AND o.ts = r.ts", "interval 0..=0 Inner [l.k=r.k]");
    check(
        "SELECT 1 FROM o, r, z WHERE o.k = r.k AND o.ts = r.ts AND r.k = z.k AND z.ts = z.ts",
        "regular Inner [l.k=r.k]; interval 0..=0 Inner [l.k=r.k]",
    );
    check(
        "SELECT 1 FROM o, r, r AS q WHERE o.k = r.k AND o.ts = r.ts AND r.k = q.k AND r.ts = q.ts",
        "interval 0..=0 Inner [l.k=r.k]; interval 0..=0 Inner [l.k=r.k]",
    );
    // An outer join keeps rows of which a condition on their side does not hold.
    check(
        "SELECT 1 FROM o LEFT JOIN r ON o.ts = r.ts AND o.v > 1 AND r.v > 1",
        "interval 0..=0 Left [] if l.v > 1",
    );
    check(
        "SELECT 1 FROM o RIGHT JOIN r ON o.ts = r.ts AND o.v > 1 AND r.v > 1",
        "interval 0..=0 Right [] if r.v > 1",
    );
    check("SELECT 1 FROM o FULL JOIN r ON o.ts = r.ts AND o.v > 1", "interval 0..=0 Full [] if l.v > 1");
    check("SELECT 1 FROM o LEFT JOIN r ON o.ts = r.ts WHERE o.v > 1 AND r.v > 1", "interval 0..=0 Left []");
    check("SELECT 1 FROM o JOIN r USING (k) WHERE o.ts = r.ts", "interval 0..=0 Inner [l.k=r.k]");
    check(
        "SELECT 1 FROM o, r WHERE o.k = r.k AND o.ts = r.ts AND o.v IN (SELECT k FROM r q WHERE q.ts = o.ts)",
        "interval 0..=0 Semi [l.v=CAST(r.k AS BIGINT)]; interval 0..=0 Inner [l.k=r.k]",
    );
    check(
        "SELECT 1 FROM o JOIN r ON o.ts = r.ts AND o.k IS NOT DISTINCT FROM r.k",
        "interval 0..=0 Inner [l.k==r.k]",
    );
    check(
        "SELECT 1 FROM o WHERE EXISTS (SELECT 1 FROM r WHERE r.ts = o.ts) OR v > 1",
        "regular Left [l.ts=r.$1]",
    );
}

#[test]
fn versions_are_found() {
    check(
        "SELECT 1 FROM o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS q ON o.k = q.c",
        "temporal Inner [l.k=r.c]",
    );
    check(
        "SELECT 1 FROM o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS q ON o.k = q.c AND q.rate > 1 AND o.v = q.rate",
        "temporal Left [l.k=r.c] if r.rate > 1 AND l.v = r.rate",
    );
    check(
        "SELECT 1 FROM o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS q ON o.k = q.c WHERE q.rate > 1 AND o.v > 1",
        "temporal Inner [l.k=r.c] if r.rate > 1",
    );
    check(
        "SELECT 1 FROM o JOIN last_r FOR SYSTEM_TIME AS OF o.ts AS q ON o.k = q.k",
        "temporal last Inner [l.k=r.k]",
    );
    check(
        "SELECT 1 FROM o JOIN first_r FOR SYSTEM_TIME AS OF o.ts AS q ON o.k = q.k",
        "temporal first Inner [l.k=r.k]",
    );
    check(
        "SELECT 1 FROM o JOIN two FOR SYSTEM_TIME AS OF o.ts AS q ON q.b = o.k AND o.v = q.a",
        "temporal Inner [l.v=CAST(r.a AS BIGINT), l.k=r.b]",
    );
    check("SELECT 1 FROM o JOIN d FOR SYSTEM_TIME AS OF o.p AS q ON o.k = q.k", "lookup Inner [l.k=r.k]");
    check(
        "SELECT 1 FROM o LEFT JOIN d FOR SYSTEM_TIME AS OF o.p ON o.k = d.k AND d.name <> 'x'",
        "lookup Left [l.k=r.k] if r.name <> 'x'",
    );
    // The same rows of the table are looked up for each row of the left.
    check("SELECT 1 FROM o JOIN d FOR SYSTEM_TIME AS OF o.p AS q ON q.k = 3", "lookup Inner [3=r.k]");
    check(
        "SELECT 1 FROM o LEFT JOIN d FOR SYSTEM_TIME AS OF o.p AS q ON 'x' = q.name AND o.v > 1",
        "lookup Left ['x'=r.name] if l.v > 1",
    );
    check(
        "SELECT 1 FROM o JOIN d FOR SYSTEM_TIME AS OF o.p AS q ON q.k > 3",
        "INVALID rows are looked up in a table by columns that must be equal",
    );
    // A row that was joined may be looked up again.
    check(
        "SELECT 1 FROM o JOIN d FOR SYSTEM_TIME AS OF o.p AS q ON o.k = q.k JOIN d FOR SYSTEM_TIME AS OF o.p AS q2 ON q.k = q2.k",
        "lookup Inner [l.k=r.k]; lookup Inner [l.k=r.k]",
    );
    check(
        "SELECT 1 FROM o JOIN two FOR SYSTEM_TIME AS OF o.ts AS q ON q.b = o.k",
        "INVALID a join with versions of a table is by all columns of its primary key",
    );
    let none = "INVALID a table without a primary key and an event time has no versions";
    check("SELECT 1 FROM o JOIN r FOR SYSTEM_TIME AS OF o.ts AS q ON q.k = o.k", none);
    check("SELECT 1 FROM o JOIN d FOR SYSTEM_TIME AS OF o.ts AS q ON q.k = o.k", none);
    check(
        "SELECT 1 FROM o RIGHT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS q ON o.k = q.c",
        "UNSUPPORTED a table as of a time is joined by JOIN or LEFT JOIN",
    );
    check(
        "SELECT 1 FROM o JOIN rates FOR SYSTEM_TIME AS OF o.v AS q ON o.k = q.c",
        "INVALID `v` is no event time and no processing time",
    );
    check(
        "SELECT 1 FROM o JOIN rates FOR SYSTEM_TIME AS OF o.t AS q ON o.k = q.c",
        "UNKNOWN_COLUMN there is no column `t`",
    );
    check(
        "SELECT 1 FROM z JOIN rates FOR SYSTEM_TIME AS OF z.ts AS q ON z.k = q.c",
        "TYPE_MISMATCH event time is TIMESTAMP_LTZ(3) on one side, and TIMESTAMP(3) on the other",
    );
    check(
        "SELECT 1 FROM o JOIN endless FOR SYSTEM_TIME AS OF o.p AS q ON o.k = q.k",
        "UNSUPPORTED `endless` has no end, so it cannot be read whole to look rows up in it",
    );
    check(
        "SELECT 1 FROM o CROSS JOIN d FOR SYSTEM_TIME AS OF o.p AS q",
        "INVALID rows are looked up in a table by columns that must be equal",
    );
}

#[test]
fn other_joins_have_the_time_to_live() {
    check("SELECT 1 FROM o JOIN r ON o.k = r.k", "regular Inner [l.k=r.k]");
    check("SELECT 1 FROM o JOIN r ON o.k = r.k AND o.ts < r.ts", "regular Inner [l.k=r.k] if l.ts < r.ts");
    check("SELECT 1 FROM o WHERE k IN (SELECT k FROM r)", "regular Semi [l.k=r.k]");
    let check = |query: &str, expected: &str| check_with(query, Some(5), expected);
    check("SELECT 1 FROM o JOIN r ON o.k = r.k", "regular 5 Inner [l.k=r.k]");
    check("SELECT 1 FROM o, r WHERE o.v < r.v", "regular 5 Inner [] if l.v < r.v");
    check("SELECT 1 FROM o JOIN r ON o.k = r.k AND o.ts < r.ts", "regular 5 Inner [l.k=r.k] if l.ts < r.ts");
    check(
        "SELECT 1 FROM o WHERE k NOT IN (SELECT k FROM r)",
        "regular 5 Anti [] if (l.k = r.k) IS NOT FALSE",
    );
    // What takes rows back is no input for windows.
    let outer = "(SELECT ow.k, ow.window_start, ow.window_end, ow.ts FROM ow LEFT JOIN r ON ow.k = r.k)";
    check(
        &format!("SELECT 1 FROM {outer} a JOIN rw b ON a.k = b.k"),
        "regular 5 Inner [l.k=r.k]; regular 5 Left [l.k=r.k]",
    );
}

/// Columns keep their role where rows come out in time for it.
#[test]
fn roles_are_kept() {
    let check = |query: &str, expected: &str| {
        let plan = planned(query, Some(1)).unwrap();
        let role = |column: &Column| match column.role {
            Role::Plain => "-",
            Role::Rowtime => "time",
            Role::Proctime => "proc",
            Role::WindowProctime => "window proc",
            Role::WindowStart(_) => "start",
            Role::WindowEnd(_) => "end",
        };
        assert_eq!(plan.columns.iter().map(role).collect::<Vec<_>>().join(" "), expected, "{query}");
    };
    let windows = |kind: &str| {
        format!(
            "SELECT ow.window_start, ow.window_end, ow.window_time, rw.window_start, rw.window_end, rw.window_time FROM ow {kind} JOIN rw \
             ON ow.window_start = rw.window_start AND ow.window_end = rw.window_end"
        )
    };
    check(&windows("INNER"), "start end time start end -");
    check(&windows("LEFT"), "start end time - - -");
    check(&windows("RIGHT"), "- - - start end time");
    check(&windows("FULL"), "- - - - - -");
    let near = |kind: &str| format!("SELECT o.ts, o.p, r.ts FROM o {kind} JOIN r ON o.ts = r.ts");
    check(&near("INNER"), "time proc time");
    check(&near("LEFT"), "time proc -");
    check(&near("FULL"), "- - -");
    check("SELECT o.ts, r.ts FROM o JOIN r ON o.k = r.k", "- -");
    check(
        "SELECT o.ts, o.p, q.ts FROM o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS q ON o.k = q.c",
        "time proc -",
    );
    check("SELECT o.ts, o.p FROM o LEFT JOIN d FOR SYSTEM_TIME AS OF o.p AS q ON o.k = q.k", "time proc");
}
