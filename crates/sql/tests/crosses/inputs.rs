//! Input streams of all kinds for the tests of operators: rows that are only added, updates, and retracted
//! rows, with an event time and without.
//!
//! Each input is a query over the tables of [`Data`], with a reference that gives the rows that remain in the
//! end.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Draw, Value, text, time};

/// A row of a test input: an identifier, a key, a value and a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Row {
    pub(crate) id: i64,
    pub(crate) k: Value,
    pub(crate) v: Value,
    pub(crate) ts: i64,
}

/// Tables of the tests with their rows, as the references see them.
#[derive(Debug)]
pub(crate) struct Data {
    /// Rows of table `I`, which are only added, in the order of arrival.
    pub(crate) added: Vec<Row>,
    /// Changes of table `C`, each with whether the row is added or retracted.
    pub(crate) changed: Vec<(bool, Row)>,
    /// Kind (`+I`, `-U`, `+U` or `-D`) of each change of table `C`.
    pub(crate) kinds: Vec<&'static str>,
    /// Rows of table `O`, the other input of joins.
    pub(crate) others: Vec<Row>,
    /// Rows of table `V`, which are versions by key for temporal joins and are only added.
    pub(crate) versions: Vec<(i64, i64, Value)>,
    /// Rows of table `D`, in which lookup joins look keys up; a key may have several rows.
    pub(crate) lookups: Vec<(i64, i64)>,
    /// Whether watermarks follow rows without a delay, so that retracted rows lie behind the watermark.
    pub(crate) is_tight: bool,
    /// Declarations and rows of all tables, as the text of a file of test cases.
    pub(crate) text: String,
}

fn row(draw: &mut Draw, ts: i64) -> Row {
    let or_null = |number: i64, draw: &mut Draw| if draw.below(6) == 0 { None } else { Some(number) };
    let (id, k, v) = (draw.below(6), draw.below(3) + 1, draw.below(9) - 2);
    Row { id, k: or_null(k, draw), v: or_null(v, draw), ts }
}

/// Returns an update that keeps the time and the key of its old row, as most updates of a database do. Behind
/// the watermark, a new row without its old row is late, so the filters of inputs have to let both rows pass
/// or neither.
fn in_place(old: Row, new: Row, is_tight: bool) -> Row {
    let passes = |v: Value| v > Some(2);
    let v = if is_tight && passes(old.v) != passes(new.v) { old.v } else { new.v };
    Row { id: old.id, k: old.k, v, ts: old.ts }
}

/// Draws times of rows that ascend if watermarks follow without a delay, and that are in any order otherwise.
fn times(draw: &mut Draw, count: usize, is_tight: bool) -> Vec<i64> {
    let mut times: Vec<i64> = (0..count).map(|_| draw.below(60) * 500).collect();
    if is_tight {
        times.sort_unstable();
    }
    times
}

impl Data {
    pub(crate) fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let is_tight = draw.below(2) == 0;
        let count = draw.below(14) as usize;
        let added: Vec<Row> =
            times(&mut draw, count, is_tight).into_iter().map(|ts| row(&mut draw, ts)).collect();
        let count = draw.below(8) as usize;
        let others: Vec<Row> =
            times(&mut draw, count, is_tight).into_iter().map(|ts| row(&mut draw, ts)).collect();
        // Table `C` has at most one row of each id at a time, as a table of a database.
        let mut changed: Vec<(bool, Row)> = Vec::new();
        let mut present: BTreeMap<i64, Row> = BTreeMap::new();
        let mut kinds: Vec<&'static str> = Vec::new();
        let count = draw.below(14) as usize;
        for ts in times(&mut draw, count, is_tight) {
            let new = row(&mut draw, ts);
            match present.remove(&new.id) {
                Some(old) if draw.below(3) == 0 => {
                    changed.push((false, old));
                    kinds.push("-D");
                }
                Some(old) => {
                    let new = if draw.below(2) == 0 { in_place(old, new, is_tight) } else { new };
                    changed.extend([(false, old), (true, new)]);
                    kinds.extend(["-U", "+U"]);
                    present.insert(new.id, new);
                }
                None => {
                    changed.push((true, new));
                    kinds.push("+I");
                    present.insert(new.id, new);
                }
            }
        }
        let count = draw.below(6) as usize;
        let versions: Vec<(i64, i64, Value)> = times(&mut draw, count, is_tight)
            .into_iter()
            .map(|since| (since, draw.below(3) + 1, Some(draw.below(90) + 10).filter(|rate| rate % 7 != 0)))
            .collect();
        let lookups: Vec<(i64, i64)> =
            (0..draw.below(5)).map(|_| (draw.below(3) + 1, draw.below(90) + 10)).collect();
        let mark = |name: &str| match is_tight {
            // The delay of the watermark is not 0, because several rows of the same time may follow each
            // other and must not be late.
            true => format!("WATERMARK FOR {name} AS {name} - INTERVAL '0.001' SECOND"),
            false => format!("WATERMARK FOR {name} AS {name} - INTERVAL '1' HOUR"),
        };
        let of_row = |row: &Row| format!("{},{}", text(&[Some(row.id), row.k, row.v]), time(row.ts));
        let lines = |rows: Vec<String>| rows.join("\n");
        let columns = "id INT, k INT, v INT, ts TIMESTAMP(3), p AS PROCTIME()";
        let text = format!(
            "SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE I ({columns}, {ts});
CREATE TABLE O ({columns}, {ts});
CREATE TABLE C ({columns}, {ts}, PRIMARY KEY (id) NOT ENFORCED) WITH ('format' = 'debezium-json');
CREATE TABLE V (k INT, r INT, since TIMESTAMP(3), {since}, PRIMARY KEY (k) NOT ENFORCED);
CREATE TABLE D (k INT, d INT);

--- input I
{added}

--- input O
{others}

--- input C
{changed}

--- input V
{versions}

--- input D
{lookups}
",
            ts = mark("ts"),
            since = mark("since"),
            added = lines(added.iter().map(of_row).collect()),
            others = lines(others.iter().map(of_row).collect()),
            changed = lines(
                kinds
                    .iter()
                    .zip(&changed)
                    .map(|(kind, (_, row))| format!("{kind},{}", of_row(row)))
                    .collect()
            ),
            versions = lines(
                versions
                    .iter()
                    .map(|(since, k, rate)| format!("{},{}", text(&[Some(*k), *rate]), time(*since)))
                    .collect()
            ),
            lookups = lines(lookups.iter().map(|(k, d)| format!("{k},{d}")).collect()),
        );
        Data { added, changed, kinds, others, versions, lookups, is_tight, text }
    }

    /// Returns the text of the tables with each change of table `C` twice.
    pub(crate) fn doubled(&self) -> String {
        let kinds = ["+I,", "-U,", "+U,", "-D,"];
        let lines = self.text.lines().flat_map(|line| {
            let times = if kinds.iter().any(|kind| line.starts_with(kind)) { 2 } else { 1 };
            std::iter::repeat_n(line, times)
        });
        lines.collect::<Vec<_>>().join("\n") + "\n"
    }

    /// Returns the rows of table `C` that remain after all of its changes.
    pub(crate) fn present(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for (comes, row) in &self.changed {
            match rows.iter().position(|known| known == row) {
                Some(at) if !comes => {
                    rows.remove(at);
                }
                _ => rows.push(*row),
            }
        }
        rows
    }

    /// Returns the version in table `V` that is valid for a key at a time; of versions with equal times, the
    /// last to arrive.
    pub(crate) fn version(&self, k: Value, ts: i64) -> Option<Value> {
        let known = self.versions.iter().filter(|(since, key, _)| Some(*key) == k && *since <= ts);
        known.max_by_key(|(since, ..)| *since).map(|(.., rate)| *rate)
    }

    /// Returns the values that table `D` has for a key.
    pub(crate) fn looked_up(&self, k: Value) -> Vec<i64> {
        self.lookups.iter().filter(|(key, _)| Some(*key) == k).map(|(_, d)| *d).collect()
    }
}

/// An input stream over which operators are tested.
pub(crate) struct Input {
    pub(crate) name: &'static str,
    /// Query that gives the columns `id`, `k`, `v` and `ts` of the input.
    pub(crate) query: &'static str,
    /// Whether rows of the input may be retracted.
    pub(crate) changes: bool,
    /// Whether the column `ts` of the input is an event time.
    pub(crate) is_timed: bool,
    /// Reference that computes the rows of the input that remain in the end.
    pub(crate) rows: fn(&Data) -> Vec<Row>,
}

/// Returns the row of each id with the greatest value of `by`; of rows with equal values, the last to arrive.
fn last_by(rows: &[Row], by: impl Fn(&Row) -> i64) -> Vec<Row> {
    let mut kept: BTreeMap<i64, Row> = BTreeMap::new();
    for row in rows {
        if kept.get(&row.id).is_none_or(|known| by(known) <= by(row)) {
            kept.insert(row.id, *row);
        }
    }
    kept.into_values().collect()
}

fn first_by(rows: &[Row], by: impl Fn(&Row) -> i64) -> Vec<Row> {
    let turned: Vec<Row> = rows.iter().rev().copied().collect();
    last_by(&turned, |row| -by(row))
}

fn with_version(rows: Vec<Row>, data: &Data) -> Vec<Row> {
    let met = |row: Row| data.version(row.k, row.ts).map(|rate| Row { v: rate, ..row });
    rows.into_iter().filter_map(met).collect()
}

fn outer(data: &Data) -> Vec<Row> {
    let mut out = Vec::new();
    for left in &data.added {
        let met: Vec<&Row> =
            data.others.iter().filter(|right| left.k.is_some() && left.k == right.k).collect();
        out.extend(met.iter().map(|right| Row { v: right.v, ..*left }));
        out.extend(met.is_empty().then_some(Row { v: None, ..*left }));
    }
    out
}

fn grouped(data: &Data) -> Vec<Row> {
    let ids: BTreeSet<i64> = data.added.iter().map(|row| row.id).collect();
    let of = |id: i64| data.added.iter().filter(move |row| row.id == id);
    let one = |id: i64| Row {
        id,
        k: of(id).filter_map(|row| row.k).max(),
        v: of(id).filter_map(|row| row.v).reduce(|sum, v| sum + v),
        ts: of(id).map(|row| row.ts).max().unwrap_or_default(),
    };
    ids.into_iter().map(one).collect()
}

fn greatest(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| (row.k, std::cmp::Reverse(row.v), row.id, row.ts));
    let mut counts: BTreeMap<Value, usize> = BTreeMap::new();
    rows.retain(|row| {
        let count = counts.entry(row.k).or_default();
        *count += 1;
        *count <= 2
    });
    rows
}

fn looked_up(rows: Vec<Row>, data: &Data) -> Vec<Row> {
    let met = |row: Row| data.looked_up(row.k).into_iter().map(move |d| Row { v: Some(d), ..row });
    rows.into_iter().flat_map(met).collect()
}

/// Name of the input that brings rows back: when a row is deleted, the next one in the order comes out, which
/// may be long behind the watermark.
pub(crate) const TOP_OF_CDC: &str = "top of cdc";

/// Name of the input whose changes all come twice, of which the last row of each key is kept.
pub(crate) const CDC_TWICE: &str = "cdc twice";

/// Setting with which the changes of a table may come twice.
pub(crate) const CDC_TWICE_SETTING: &str = "SET 'table.exec.source.cdc-events-duplicate' = 'true';";

/// All kinds of input streams over which operators are tested.
pub(crate) const INPUTS: [Input; 22] = [
    Input {
        name: "rows",
        query: "SELECT id, k, v, ts FROM I",
        changes: false,
        is_timed: true,
        rows: |data| data.added.clone(),
    },
    Input {
        name: "cdc",
        query: "SELECT id, k, v, ts FROM C",
        changes: true,
        is_timed: true,
        rows: Data::present,
    },
    Input {
        name: CDC_TWICE,
        query: "SELECT id, k, v, ts FROM C",
        changes: true,
        is_timed: true,
        rows: Data::present,
    },
    Input {
        name: "cdc filtered",
        query: "SELECT id, k, v, ts FROM C WHERE v > 2",
        changes: true,
        is_timed: true,
        rows: |data| data.present().into_iter().filter(|row| row.v > Some(2)).collect(),
    },
    Input {
        name: "last by event time",
        query: "SELECT id, k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY ts DESC) AS rn FROM I) WHERE rn = 1",
        changes: true,
        is_timed: true,
        rows: |data| last_by(&data.added, |row| row.ts),
    },
    Input {
        name: "last by arrival",
        query: "SELECT id, k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY p DESC) AS rn FROM I) WHERE rn = 1",
        changes: true,
        is_timed: true,
        rows: |data| last_by(&data.added, |_| 0),
    },
    Input {
        name: "first by event time",
        query: "SELECT id, k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY ts) AS rn FROM I) WHERE rn = 1",
        changes: false,
        is_timed: true,
        rows: |data| first_by(&data.added, |row| row.ts),
    },
    Input {
        name: "first by arrival",
        query: "SELECT id, k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY p) AS rn FROM I) WHERE rn = 1",
        changes: false,
        is_timed: true,
        rows: |data| first_by(&data.added, |_| 0),
    },
    Input {
        name: "group",
        query: "SELECT id, MAX(k) AS k, SUM(v) AS v, MAX(ts) AS ts FROM I GROUP BY id",
        changes: true,
        is_timed: false,
        rows: grouped,
    },
    Input {
        name: "distinct",
        query: "SELECT DISTINCT id, k, v, ts FROM C",
        changes: true,
        is_timed: false,
        rows: |data| data.present().into_iter().collect::<BTreeSet<Row>>().into_iter().collect(),
    },
    Input {
        name: "outer join",
        query: "SELECT l.id, l.k, r.v, l.ts FROM I AS l LEFT JOIN O AS r ON l.k = r.k",
        changes: true,
        is_timed: false,
        rows: outer,
    },
    Input {
        name: "semi join",
        query: "SELECT id, k, v, ts FROM I WHERE k IN (SELECT k FROM C)",
        changes: true,
        is_timed: false,
        rows: |data| {
            let keys: BTreeSet<Value> = data.present().iter().map(|row| row.k).collect();
            data.added.iter().filter(|row| row.k.is_some() && keys.contains(&row.k)).copied().collect()
        },
    },
    Input {
        name: "top",
        query: "SELECT id, k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id, ts) AS rn FROM I) WHERE rn <= 2",
        changes: true,
        is_timed: true,
        rows: |data| greatest(data.added.clone()),
    },
    Input {
        name: TOP_OF_CDC,
        query: "SELECT id, k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id, ts) AS rn FROM C) WHERE rn <= 2",
        changes: true,
        is_timed: true,
        rows: |data| greatest(data.present()),
    },
    Input {
        name: "union",
        query: "SELECT id, k, v, ts FROM I UNION ALL SELECT id, k, v, ts FROM C",
        changes: true,
        is_timed: true,
        rows: |data| [data.added.clone(), data.present()].concat(),
    },
    Input {
        name: "temporal of rows",
        query: "SELECT l.id, l.k, r.r AS v, l.ts FROM I AS l JOIN V FOR SYSTEM_TIME AS OF l.ts AS r ON l.k = r.k",
        changes: false,
        is_timed: true,
        rows: |data| with_version(data.added.clone(), data),
    },
    Input {
        name: "temporal of cdc",
        query: "SELECT l.id, l.k, r.r AS v, l.ts FROM C AS l JOIN V FOR SYSTEM_TIME AS OF l.ts AS r ON l.k = r.k",
        changes: true,
        is_timed: true,
        rows: |data| with_version(data.present(), data),
    },
    Input {
        name: "temporal of last",
        query: "SELECT l.id, l.k, r.r AS v, l.ts FROM
(SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY ts DESC) AS rn FROM I) WHERE rn = 1) AS l
JOIN V FOR SYSTEM_TIME AS OF l.ts AS r ON l.k = r.k",
        changes: true,
        is_timed: true,
        rows: |data| with_version(last_by(&data.added, |row| row.ts), data),
    },
    Input {
        name: "temporal of top",
        query: "SELECT l.id, l.k, r.r AS v, l.ts FROM
(SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id, ts) AS rn FROM I) WHERE rn <= 2) AS l
JOIN V FOR SYSTEM_TIME AS OF l.ts AS r ON l.k = r.k",
        changes: true,
        is_timed: true,
        rows: |data| with_version(greatest(data.added.clone()), data),
    },
    Input {
        name: "lookup of cdc",
        query: "SELECT l.id, l.k, r.d AS v, l.ts FROM C AS l JOIN D FOR SYSTEM_TIME AS OF l.p AS r ON l.k = r.k",
        changes: true,
        is_timed: true,
        rows: |data| looked_up(data.present(), data),
    },
    Input {
        name: "lookup of rows",
        query: "SELECT l.id, l.k, r.d AS v, l.ts FROM I AS l JOIN D FOR SYSTEM_TIME AS OF l.p AS r ON l.k = r.k",
        changes: false,
        is_timed: true,
        rows: |data| looked_up(data.added.clone(), data),
    },
    Input {
        name: "grouping sets",
        query: "SELECT 0 AS id, k, SUM(v) AS v, MAX(ts) AS ts FROM C GROUP BY ROLLUP (k)",
        changes: true,
        is_timed: false,
        rows: |data| {
            let rows = data.present();
            let keys: BTreeSet<Value> = rows.iter().map(|row| row.k).collect();
            let one = |k: Value, of: Vec<&Row>| Row {
                id: 0,
                k,
                v: of.iter().filter_map(|row| row.v).reduce(|sum, v| sum + v),
                ts: of.iter().map(|row| row.ts).max().unwrap_or_default(),
            };
            let mut all: Vec<Row> =
                keys.into_iter().map(|k| one(k, rows.iter().filter(|row| row.k == k).collect())).collect();
            all.extend((!rows.is_empty()).then(|| one(None, rows.iter().collect())));
            all
        },
    },
];
