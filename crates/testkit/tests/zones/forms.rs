//! The SQL queries that are tested in time zones: every operator that passes windows on, each with the
//! reference's rows.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::reference::{Clocks, MINUTE_MS, Row, Windows, shown};

/// Tables and views that the queries read. The view `V` has the rows of table `R` as versions of its keys.
pub const SETUP: &str = "\
CREATE TABLE L (id INT, k STRING, p INT, v INT, ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts - INTERVAL '5' MINUTES);
CREATE TABLE R (id INT, k STRING, p INT, v INT, ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts - INTERVAL '5' MINUTES);
CREATE TABLE V (id INT, k STRING, ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts - INTERVAL '5' MINUTES,
  PRIMARY KEY (k) NOT ENFORCED);
CREATE VIEW Tens AS SELECT window_time AS rt, k, COUNT(*) AS n
  FROM TABLE(TUMBLE(TABLE L, DESCRIPTOR(ts), INTERVAL '10' MINUTES)) GROUP BY window_start, window_end, window_time, k;
CREATE VIEW Late AS SELECT * FROM L WHERE DATE_FORMAT(ts, 'HH') >= '02';
";

/// The rows of the two input tables, in the order of arrival.
pub struct Tables {
    pub left: Vec<Row>,
    pub right: Vec<Row>,
}

impl Tables {
    /// Returns the text of the input rows for a file of test cases.
    pub fn inputs(&self) -> String {
        let mut text = String::new();
        let instant = |row: &Row| format!("{}Z", shown(row.ts_ms));
        for (name, rows) in [("L", &self.left), ("R", &self.right)] {
            let _ = writeln!(text, "--- input {name}");
            for row in rows {
                let _ = writeln!(text, "{},{},{},{},{}", row.id, row.k, row.p, row.v, instant(row));
            }
            text.push('\n');
        }
        text += "--- input V\n";
        for row in &self.right {
            let _ = writeln!(text, "{},{},{}", row.id, row.k, instant(row));
        }
        text + "\n"
    }
}

/// A SQL query with its name and its expected rows.
pub struct Form {
    pub name: String,
    pub query: String,
    pub rows: Vec<String>,
}

/// A row of a table, together with one of the windows that contain it.
#[derive(Clone, Copy)]
struct In<'a> {
    window: (i64, i64),
    row: &'a Row,
}

fn within<'a>(windows: Windows, clocks: &Clocks, rows: &'a [Row]) -> Vec<In<'a>> {
    let readings: Vec<(&str, i64)> = rows.iter().map(|row| (row.k, clocks.reading(row.ts_ms))).collect();
    let assigned = windows.assign(&readings).into_iter();
    assigned.map(|(place, start, end)| In { window: (start, end), row: &rows[place] }).collect()
}

/// Groups pairs of window and row by a key.
fn grouped<'a, K: Ord>(rows: &[In<'a>], key: impl Fn(&In<'a>) -> K) -> BTreeMap<K, Vec<&'a Row>> {
    let mut groups: BTreeMap<K, Vec<&Row>> = BTreeMap::new();
    for one in rows {
        groups.entry(key(one)).or_default().push(one.row);
    }
    groups
}

fn sum(rows: &[&Row]) -> i64 {
    rows.iter().map(|row| row.v).sum()
}

/// Formats the start and the end of a window as a SQL query prints them.
fn window((start, end): (i64, i64)) -> String {
    format!("{},{}", shown(start), shown(end))
}

/// Returns all queries over these windows, with their expected rows.
pub fn over_windows(windows: Windows, clocks: &Clocks, tables: &Tables) -> Vec<Form> {
    let (left, right) = (windows.of("L", "ts"), windows.of("R", "ts"));
    let lefts = within(windows, clocks, &tables.left);
    let rights = within(windows, clocks, &tables.right);
    let mut forms = Vec::new();
    let mut add = |name: &str, query: String, rows: Vec<String>| {
        forms.push(Form { name: format!("{name} {windows:?}"), query, rows });
    };
    let both = "window_start, window_end";

    // Queries with aggregates over windows.
    let by_key = grouped(&lefts, |one| (one.window, one.row.k));
    let by_window = grouped(&lefts, |one| one.window);
    add(
        "keys and time",
        format!(
            "SELECT {both}, window_time, k, COUNT(*), SUM(v) FROM {left} GROUP BY {both}, window_time, k"
        ),
        by_key
            .iter()
            .map(|((at, k), rows)| {
                let time = clocks.shown(clocks.time_of(at.1));
                format!("{},{time},{k},{},{}", window(*at), rows.len(), sum(rows))
            })
            .collect(),
    );
    add(
        "windows alone",
        format!("SELECT window_end, MAX(v) FROM {left} GROUP BY {both}"),
        by_window
            .iter()
            .filter_map(|(at, rows)| Some(format!("{},{}", shown(at.1), rows.iter().map(|row| row.v).max()?)))
            .collect(),
    );
    let sets: [(&str, &str, &[(bool, bool)]); 3] = [
        ("grouping sets", "GROUPING SETS ((k), (p), ())", &[(true, false), (false, true), (false, false)]),
        ("rollup", "ROLLUP(k, p)", &[(true, true), (true, false), (false, false)]),
        ("cube", "CUBE(k, p)", &[(true, true), (true, false), (false, true), (false, false)]),
    ];
    for (name, written, sets) in sets {
        let mut rows = Vec::new();
        for (has_k, has_p) in sets {
            let key = |one: &In<'_>| (one.window, has_k.then_some(one.row.k), has_p.then_some(one.row.p));
            for ((at, k, p), of) in grouped(&lefts, key) {
                let p = p.map_or("NULL".to_owned(), |p| p.to_string());
                rows.push(format!("{},{},{p},{},{}", window(at), k.unwrap_or("NULL"), of.len(), sum(&of)));
            }
        }
        add(
            name,
            format!("SELECT {both}, k, p, COUNT(*), SUM(v) FROM {left} GROUP BY {both}, {written}"),
            rows,
        );
    }
    let counts = |table: &str| {
        format!("(SELECT {both}, k, COUNT(*) AS n, SUM(v) AS s FROM {table} GROUP BY {both}, k)")
    };
    let keys_of = |at: &(i64, i64)| by_key.keys().filter(|(window, _)| window == at).count();
    add(
        "an aggregate over an aggregate",
        format!("SELECT {both}, COUNT(*), SUM(n), SUM(s) FROM {} GROUP BY {both}", counts(&left)),
        by_window
            .iter()
            .map(|(at, rows)| format!("{},{},{},{}", window(*at), keys_of(at), rows.len(), sum(rows)))
            .collect(),
    );

    // Queries for the top rows of each window.
    let mut rows = Vec::new();
    for (at, of) in &by_window {
        let mut of = of.clone();
        of.sort_by_key(|row| (-row.v, row.id));
        rows.extend((1..=2).zip(of).map(|(rank, row)| format!("{},{},{rank}", window(*at), row.id)));
    }
    add(
        "top 2 rows",
        format!(
            "SELECT {both}, id, rn FROM (SELECT id, {both}, \
             ROW_NUMBER() OVER (PARTITION BY {both} ORDER BY v DESC, id) AS rn FROM {left}) WHERE rn <= 2"
        ),
        rows,
    );
    let mut rows = Vec::new();
    for at in by_window.keys() {
        let keys = by_key.iter().filter(|((window, _), _)| window == at);
        let first = keys.min_by_key(|((_, k), of)| (-(of.len() as i64), *k));
        rows.extend(first.map(|((at, k), of)| format!("{},{k},{}", window(*at), of.len())));
    }
    add(
        "the first aggregate",
        format!(
            "SELECT {both}, k, n FROM (SELECT *, \
             ROW_NUMBER() OVER (PARTITION BY {both} ORDER BY n DESC, k) AS rn FROM {}) WHERE rn <= 1",
            counts(&left)
        ),
        rows,
    );
    for (name, order) in [("first", "ASC"), ("last", "DESC")] {
        let kept = |of: &[&Row]| {
            let times = of.iter().map(|row| (row.ts_ms, row.id));
            if name == "first" { times.min() } else { times.max() }
        };
        add(
            &format!("{name} of each key"),
            format!(
                "SELECT {both}, k, id FROM (SELECT id, k, {both}, \
                 ROW_NUMBER() OVER (PARTITION BY {both}, k ORDER BY ts {order}) AS rn FROM {left}) WHERE rn = 1"
            ),
            by_key
                .iter()
                .filter_map(|((at, k), of)| Some(format!("{},{k},{}", window(*at), kept(of)?.1)))
                .collect(),
        );
    }

    // Queries that join two tables of windows.
    let on = "ON L.k = R.k AND L.window_start = R.window_start AND L.window_end = R.window_end";
    let sides = format!("(SELECT * FROM {left}) L {{}} (SELECT * FROM {right}) R {on}");
    let meets = |one: &In<'_>, other: &In<'_>| one.window == other.window && one.row.k == other.row.k;
    let mut pairs = Vec::new();
    let mut alone = Vec::new();
    let mut left_alone = Vec::new();
    for one in &lefts {
        let met: Vec<_> = rights.iter().filter(|other| meets(one, other)).collect();
        pairs.extend(met.iter().map(|other| (one.window, one.row.id, other.row.id)));
        if met.is_empty() {
            alone.push(format!("{},{},NULL", window(one.window), one.row.id));
            left_alone.push(format!("{},{}", window(one.window), one.row.id));
        }
    }
    let right_alone = rights.iter().filter(|other| !lefts.iter().any(|one| meets(one, other)));
    alone.extend(right_alone.map(|other| format!("{},NULL,{}", window(other.window), other.row.id)));
    let paired: Vec<String> =
        pairs.iter().map(|(at, one, other)| format!("{},{one},{other}", window(*at))).collect();
    add(
        "join",
        format!(
            "SELECT L.window_start, L.window_end, L.id AS l, R.id AS r FROM {}",
            sides.replace("{}", "JOIN")
        ),
        paired.clone(),
    );
    add(
        "full join",
        format!(
            "SELECT COALESCE(L.window_start, R.window_start), COALESCE(L.window_end, R.window_end), L.id AS l, R.id AS r FROM {}",
            sides.replace("{}", "FULL JOIN")
        ),
        paired.into_iter().chain(alone).collect(),
    );
    add(
        "anti join",
        format!(
            "SELECT {both}, id FROM (SELECT * FROM {left}) L WHERE NOT EXISTS (SELECT 1 FROM (SELECT * FROM {right}) R \
             WHERE {})",
            on.trim_start_matches("ON ")
        ),
        left_alone,
    );
    let mut of_pairs: BTreeMap<(i64, i64), usize> = BTreeMap::new();
    pairs.iter().for_each(|(at, _, _)| *of_pairs.entry(*at).or_default() += 1);
    add(
        "an aggregate over a join",
        format!(
            "SELECT {both}, COUNT(*) FROM (SELECT L.window_start, L.window_end FROM {}) GROUP BY {both}",
            sides.replace("{}", "JOIN")
        ),
        of_pairs.iter().map(|(at, count)| format!("{},{count}", window(*at))).collect(),
    );
    let rights_by_key = grouped(&rights, |one| (one.window, one.row.k));
    add(
        "a join of aggregates",
        format!(
            "SELECT L.window_start, L.window_end, L.k, L.n AS l, R.n AS r FROM {} L JOIN {} R {on}",
            counts(&left),
            counts(&right)
        ),
        by_key
            .iter()
            .filter_map(|((at, k), of)| {
                let others = rights_by_key.get(&(*at, *k))?;
                Some(format!("{},{k},{},{}", window(*at), of.len(), others.len()))
            })
            .collect(),
    );
    let all: Vec<In<'_>> = lefts.iter().chain(&rights).copied().collect();
    let of_all: Vec<String> = grouped(&all, |one| one.window)
        .iter()
        .map(|(at, rows)| format!("{},{},{}", window(*at), rows.len(), sum(rows)))
        .collect();
    add(
        "an aggregate over a union",
        format!(
            "SELECT {both}, COUNT(*), SUM(v) FROM (SELECT {both}, v FROM {left} UNION ALL SELECT {both}, v FROM {right}) \
             GROUP BY {both}"
        ),
        of_all.clone(),
    );
    add(
        "an aggregate over a union of aggregates",
        format!(
            "SELECT {both}, SUM(n), SUM(s) FROM (SELECT * FROM {} UNION ALL SELECT * FROM {}) GROUP BY {both}",
            counts(&left),
            counts(&right)
        ),
        of_all,
    );

    // Queries with windows over windows, and over rows that are selected by local time.
    let tens = Windows::Tumble { size: 10, offset: 0 };
    let tens: Vec<Row> = grouped(&within(tens, clocks, &tables.left), |one| (one.window, one.row.k))
        .iter()
        .map(|((at, k), of)| Row { id: 0, k, p: 0, v: of.len() as i64, ts_ms: clocks.time_of(at.1) })
        .collect();
    add(
        "windows over windows",
        format!("SELECT {both}, SUM(n) FROM {} GROUP BY {both}", windows.of("Tens", "rt")),
        grouped(&within(windows, clocks, &tens), |one| one.window)
            .iter()
            .map(|(at, of)| format!("{},{}", window(*at), sum(of)))
            .collect(),
    );
    let mut rows = Vec::new();
    for (at, k) in by_key.keys() {
        let until = clocks.time_of(at.1);
        let is_before = |window: &(i64, i64)| clocks.time_of(window.1) <= until;
        let before = by_key.iter().filter(|((window, other), _)| other == k && is_before(window));
        let count: usize = before.map(|(_, of)| of.len()).sum();
        rows.push(format!("{},{k},{count}", window(*at)));
    }
    add(
        "over by the time of windows",
        format!(
            "SELECT {both}, k, SUM(n) OVER (PARTITION BY k ORDER BY window_time \
             RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM (\
             SELECT {both}, window_time, k, COUNT(*) AS n FROM {left} GROUP BY {both}, window_time, k)"
        ),
        rows,
    );
    let hour = |row: &&Row| clocks.reading(row.ts_ms).rem_euclid(24 * 60 * MINUTE_MS) / (60 * MINUTE_MS);
    let late: Vec<Row> = tables.left.iter().filter(|row| hour(row) >= 2).cloned().collect();
    add(
        "rows by the clocks",
        format!("SELECT {both}, COUNT(*) FROM {} GROUP BY {both}", windows.of("Late", "ts")),
        grouped(&within(windows, clocks, &late), |one| one.window)
            .iter()
            .map(|(at, of)| format!("{},{}", window(*at), of.len()))
            .collect(),
    );
    forms
}

/// Returns queries without windows. The time zone shows only in the times that they print.
pub fn alone(clocks: &Clocks, tables: &Tables) -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |name: &str, query: &str, rows: Vec<String>| {
        forms.push(Form { name: name.to_owned(), query: query.to_owned(), rows });
    };
    let span = 30 * MINUTE_MS;
    let (left, right) = (&tables.left, &tables.right);
    let before = |row: &Row| {
        let is_in = |other: &&Row| other.k == row.k && (row.ts_ms - span..=row.ts_ms).contains(&other.ts_ms);
        left.iter().filter(is_in).count()
    };
    add(
        "over",
        "SELECT id, ts, COUNT(*) OVER (PARTITION BY k ORDER BY ts \
         RANGE BETWEEN INTERVAL '30' MINUTES PRECEDING AND CURRENT ROW) FROM L",
        left.iter().map(|row| format!("{},{},{}", row.id, clocks.shown(row.ts_ms), before(row))).collect(),
    );
    let mut near = Vec::new();
    for row in left {
        let is_near = |other: &&Row| other.k == row.k && (other.ts_ms - row.ts_ms).abs() <= span;
        near.extend(right.iter().filter(is_near).map(|other| format!("{},{}", row.id, other.id)));
    }
    add(
        "interval join",
        "SELECT L.id AS l, R.id AS r FROM L JOIN R ON L.k = R.k \
         AND L.ts BETWEEN R.ts - INTERVAL '30' MINUTES AND R.ts + INTERVAL '30' MINUTES",
        near,
    );
    let version = |row: &Row| {
        let is_before = |other: &&Row| other.k == row.k && other.ts_ms <= row.ts_ms;
        right.iter().filter(is_before).max_by_key(|other| other.ts_ms).map(|other| other.id)
    };
    add(
        "temporal join",
        "SELECT L.id AS l, V.id AS r FROM L JOIN V FOR SYSTEM_TIME AS OF L.ts ON L.k = V.k",
        left.iter().filter_map(|row| Some(format!("{},{}", row.id, version(row)?))).collect(),
    );
    forms
}
