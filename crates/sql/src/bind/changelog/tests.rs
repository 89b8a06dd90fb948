//! Which plans come of queries whose results change, what becomes of rows, and who cannot take that.

use super::super::over::tests::{planned, shown};
use super::*;

const HOUR: Option<i64> = Some(3_600_000);

/// The plan of a query with a time to live, and what becomes of its rows: `U` for updates, `D` for deletes.
fn check(query: &str, expected: &str) {
    let shown = match planned(query, HOUR) {
        Ok(plan) => {
            let Changes { updates, deletes, .. } = changes(&plan);
            format!("{}{}: {}", if updates { "U" } else { "" }, if deletes { "D" } else { "" }, shown(&plan))
        }
        // Where it stands is no concern of these cases.
        Err(error) => format!("{} {}", error.code.name(), SqlError { place: None, ..error }),
    };
    assert_eq!(shown, expected, "{query}");
}

#[test]
fn groups_without_windows_change() {
    check("SELECT k, SUM(v) FROM T GROUP BY k", "U: group [k] SUM($1) false Some(3600000) < T");
    check("SELECT COUNT(*) FROM T", "U: group [] COUNT() false Some(3600000) < T");
    check("SELECT DISTINCT k, id FROM T", "U: group [k id]  false Some(3600000) < T");
    check(
        "SELECT k FROM C UNION SELECT k FROM C WHERE v > 1",
        "UD: group [k]  true Some(3600000) < union < C + where v > 1 < C",
    );
}

#[test]
fn changes_pass_and_are_counted_again() {
    check(
        "SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM T GROUP BY k) GROUP BY n",
        "UD: group [n] COUNT() true Some(3600000) < group [k] COUNT() false Some(3600000) < T",
    );
    check(
        "SELECT k, SUM(v) FROM T GROUP BY k HAVING SUM(v) > 0",
        "U: where SUM(v) > 0 < group [k] SUM($1) false Some(3600000) < T",
    );
    check("SELECT k FROM C WHERE v > 1", "UD: where v > 1 < C");
    check(
        "SELECT k, v, COUNT(*) FROM T GROUP BY GROUPING SETS ((k), (v))",
        "U: group [k v grouping] COUNT() false Some(3600000) < expand 2 < T",
    );
}

fn ranked(over: &str, outer: &str, condition: &str) -> String {
    format!("SELECT {outer} FROM (SELECT *, ROW_NUMBER() OVER ({over}) AS rn FROM T) WHERE {condition}")
}

#[test]
fn ranks_that_are_filtered_are_top_n() {
    let over = "PARTITION BY k ORDER BY v DESC";
    check(&ranked(over, "k, id, rn", "rn <= 2"), "U: rank [k] v desc 1..2 false < T");
    check(&ranked(over, "k, id", "rn <= 2"), "D: rank [k] v desc 1..2 unranked false < T");
    check(&ranked(over, "k, id", "rn < 2"), "U: rank [k] v desc 1..1 unranked false < T");
    check(&ranked(over, "k, id", "rn BETWEEN 2 AND 3"), "U: rank [k] v desc 2..3 unranked false < T");
    check(&ranked(over, "k, rn", "rn = 3"), "U: rank [k] v desc 3..3 unranked false < T");
    check(
        &ranked(over, "k, id", "id > 7 AND rn <= 2 AND v < 3"),
        "D: where id > 7, v < 3 < rank [k] v desc 1..2 unranked false < T",
    );
    check(&ranked("ORDER BY v + 1, id", "id", "rn <= 2"), "D: rank [] $7, id 1..2 unranked false < T");
    check(
        "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v) AS rn FROM C) WHERE rn <= 2",
        "D: rank [] v 1..2 unranked true < C",
    );
    check(
        "SELECT id, rn FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v) AS rn FROM C) WHERE rn <= 2",
        "UD: rank [] v 1..2 true < C",
    );
    check(
        "SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM T GROUP BY k) LIMIT 3 OFFSET 1",
        "UD: rank []  2..4 unranked true < group [k] COUNT() false Some(3600000) < T",
    );
    check("SELECT k FROM T LIMIT 3", ": limit 3 < T");
    // In the order of time a rank that is not bounded from above is an aggregate.
    check(
        &ranked("ORDER BY ts", "id", "rn >= 2"),
        ": where row_number >= 2 < over [] ts Rows(None) ROW_NUMBER(): BIGINT Some(3600000) < T",
    );
}

#[test]
fn one_row_by_time_is_a_deduplication() {
    let check = |over: &str, keep: Keep, made: &str| {
        let plan = planned(&ranked(over, "*", "rn = 1"), HOUR).unwrap();
        assert_eq!(changes(&plan), Changes { updates: made == "U", ..Changes::NONE }, "{over}");
        let Node::Calc { input, .. } = &plan.node else { panic!("{plan:?}") };
        assert_eq!(deduplication(input), Some(keep), "{over}");
    };
    check("PARTITION BY k ORDER BY ts", Keep::FirstBy(5), "");
    check("PARTITION BY k ORDER BY ts DESC", Keep::LastBy(5), "U");
    check("PARTITION BY k ORDER BY arrived", Keep::First, "");
    check("PARTITION BY k ORDER BY arrived DESC", Keep::Last, "U");
    check("PARTITION BY k ORDER BY PROCTIME()", Keep::First, "");
}

#[test]
fn what_cannot_take_changes_refuses_them() {
    let help = "aggregate or rank within windows there";
    check(
        "SELECT id, COUNT(*) OVER (ORDER BY PROCTIME()) FROM C",
        &format!(
            "UNSUPPORTED OVER takes rows that are only added, and the table `C` of 'format' = 'debezium-json' changes them; {help}"
        ),
    );
    check(
        "SELECT APPROX_COUNT_DISTINCT(v) FROM C",
        &format!(
            "UNSUPPORTED APPROX_COUNT_DISTINCT cannot take rows back, and the table `C` of 'format' = 'debezium-json' changes them; {}",
            "aggregate within windows there"
        ),
    );
}

/// The place of a refusal is in the operator that refuses.
#[test]
fn refusals_point_at_the_operator() {
    let check = |query: &str, expected: &str| {
        let place = planned(query, HOUR).unwrap_err().place.unwrap();
        assert!(query[place.column - 1..].starts_with(expected), "{query}: {place:?}");
    };
    check("SELECT k, APPROX_COUNT_DISTINCT(v) FROM C GROUP BY k", "k");
    check("SELECT APPROX_COUNT_DISTINCT(v) FROM C", "APPROX_COUNT_DISTINCT(v) FROM C");
    check("SELECT SUM(v) OVER (PARTITION BY k ORDER BY PROCTIME()) FROM C", "SUM(v) OVER");
    check("SELECT k, v, LEAD(v) OVER (ORDER BY v) FROM C", "LEAD(v) OVER");
    check(&ranked("PARTITION BY id ORDER BY PROCTIME() DESC", "k", "rn > 2"), "ROW_NUMBER() OVER");
}

/// The refusal names the operator that changes rows, also behind a join.
#[test]
fn joins_are_named_in_refusals() {
    let help = "aggregate or rank within windows there";
    let refused = |query: &str, by: &str| {
        let message =
            format!("UNSUPPORTED OVER takes rows that are only added, and {by} changes them; {help}");
        check(&format!("SELECT COUNT(*) OVER (ORDER BY PROCTIME()) FROM ({query}) AS q"), &message);
    };
    refused("SELECT a.id FROM T AS a LEFT JOIN T AS b ON a.k = b.k", "a LEFT JOIN without a bound in time");
    refused(
        "SELECT id FROM T WHERE NOT EXISTS (SELECT 1 FROM C WHERE C.k = T.k)",
        "the table `C` of 'format' = 'debezium-json'",
    );
    refused("SELECT k FROM (SELECT k, COUNT(*) FROM C GROUP BY k)", "GROUP BY without a window");
}

/// A filter lets one half of an update through, an aggregate over it makes whole updates again.
#[test]
fn filters_split_updates() {
    let halves = |query: &str| changes(&planned(query, HOUR).unwrap()).halves;
    assert!(!halves("SELECT k FROM C"));
    assert!(halves("SELECT k FROM C WHERE v > 1"));
    assert!(halves("SELECT k FROM C WHERE v > 1 UNION ALL SELECT k FROM T"));
    assert!(!halves("SELECT k, COUNT(*) FROM (SELECT k FROM C WHERE v > 1) GROUP BY k"));
    assert!(!halves("SELECT k FROM T WHERE v > 1"));
}

#[test]
fn sinks_say_what_they_take() {
    let check = |query: &str, accepts, expected: &str| {
        let plan = planned(query, HOUR).unwrap();
        let shown =
            check_sink(&plan, accepts, "out").map_or_else(|error| error.to_string(), |()| "taken".to_owned());
        assert_eq!(shown, expected, "{query}");
    };
    check("SELECT k FROM T", Accepts::Inserts, "taken");
    let query = "SELECT k, COUNT(*) FROM T GROUP BY k";
    check(query, Accepts::All, "taken");
    check(
        query,
        Accepts::Inserts,
        "line 1, column 36: the table `out` takes rows that are only added, and GROUP BY without a window changes them; \
         aggregate or rank within windows, or write 'format' = 'debezium-json'",
    );
}

/// Windows over windows of windows are planned in time that grows with their number, and does not double with each.
#[test]
fn many_windows_over_windows_are_planned() {
    let mut text =
        "CREATE TABLE t0 (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');"
            .to_owned();
    for number in 1..=40 {
        let below = number - 1;
        text += &format!(
            "CREATE VIEW t{number} AS SELECT k, window_time AS ts FROM TUMBLE(TABLE t{below}, DESCRIPTOR(ts), INTERVAL '1' \
             SECOND) GROUP BY k, window_start, window_end, window_time;"
        );
    }
    text += "SELECT * FROM t40";
    let started = std::time::Instant::now();
    let mut session =
        crate::session::Session::new(std::sync::Arc::new(thalweg_model::VirtualClock::default()));
    session.read(&text).unwrap_or_else(|error| panic!("{error}"));
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
