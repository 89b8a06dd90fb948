//! Tests that run each operator over all kinds of inputs, and sinks behind them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_model::VirtualClock;
use thalweg_sql::cases::{Answer, Manner};
use thalweg_sql::connect::World;
use thalweg_sql::job;
use thalweg_sql::session::{Action, Session};

use crate::functions;
use crate::inputs::{CDC_TWICE, CDC_TWICE_SETTING, Data, INPUTS, Input, Row, TOP_OF_CDC};
use crate::joins::{JOINS, joined, same_key};
use crate::over::OVERS;
use crate::{Draw, Value, assert_none, is_sampled, materialised, seeds, tables, text, time, wrong};

/// Kinds of inputs that an operator of the tests accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// The operator accepts inputs with all kinds of changes.
    All,
    /// The operator accepts inputs with all kinds of changes if they have an event time.
    Timed,
    /// The operator accepts inputs with all kinds of changes if they have an event time, but for those of a temporal
    /// join. Rows that are taken back behind the watermark stay in its result.
    Windowed,
    /// As [`Windowed`](Self::Windowed), but the reference holds only for rows that are added: a session stays as long as
    /// it was with rows that are taken back.
    Session,
    /// The operator accepts inputs whose rows are only added.
    Added,
    /// The operator accepts inputs whose rows are only added and that have an event time.
    AddedTimed,
    /// The operator accepts only the inputs with these names.
    Only(&'static [&'static str]),
}

impl Takes {
    fn takes(self, input: &Input) -> bool {
        match self {
            Takes::All => true,
            Takes::Timed => input.is_timed,
            Takes::Windowed | Takes::Session => {
                input.is_timed && (!input.changes || !input.name.starts_with("temporal"))
            }
            Takes::Added => !input.changes,
            Takes::AddedTimed => !input.changes && input.is_timed,
            Takes::Only(names) => names.contains(&input.name),
        }
    }
}

pub(crate) type Rows = Vec<String>;

/// An operator under test: a query over the view `X`, and a reference for its rows.
pub(crate) struct Operator {
    query: &'static str,
    takes: Takes,
    rows: fn(&[Row], &Data) -> Rows,
}

pub(crate) const fn operator(query: &'static str, takes: Takes, rows: fn(&[Row], &Data) -> Rows) -> Operator {
    Operator { query, takes, rows }
}

pub(crate) fn groups<K: Ord>(rows: &[Row], key: impl Fn(&Row) -> K) -> BTreeMap<K, Vec<Row>> {
    let mut groups: BTreeMap<K, Vec<Row>> = BTreeMap::new();
    rows.iter().for_each(|row| groups.entry(key(row)).or_default().push(*row));
    groups
}

pub(crate) fn count(number: usize) -> Value {
    i64::try_from(number).ok()
}

pub(crate) fn sum(rows: &[Row]) -> Value {
    rows.iter().filter_map(|row| row.v).reduce(|sum, v| sum + v)
}

/// Reference: returns the rows of each window of length `size`, where one window begins every `step`
/// milliseconds.
pub(crate) fn windows(rows: &[Row], size: i64, step: i64) -> BTreeMap<(i64, i64), Vec<Row>> {
    let mut windows: BTreeMap<(i64, i64), Vec<Row>> = BTreeMap::new();
    for row in rows {
        let mut start = row.ts.div_euclid(step) * step;
        while start + size > row.ts {
            windows.entry((start, start + size)).or_default().push(*row);
            start -= step;
        }
    }
    windows
}

pub(crate) fn summed(windows: BTreeMap<(i64, i64), Vec<Row>>) -> Rows {
    let line = |((start, end), rows): ((i64, i64), Vec<Row>)| {
        format!("{},{},{}", time(start), time(end), text(&[count(rows.len()), sum(&rows)]))
    };
    windows.into_iter().map(line).collect()
}

/// Reference: returns the session windows of each key, with a gap of three seconds.
fn sessions(rows: &[Row]) -> Rows {
    let mut out = Vec::new();
    for (k, mut rows) in groups(rows, |row| row.k) {
        rows.sort_by_key(|row| row.ts);
        let mut runs: Vec<Vec<Row>> = Vec::new();
        for row in rows {
            match runs.last_mut() {
                Some(run) if run.last().is_some_and(|last| row.ts <= last.ts + 3_000) => run.push(row),
                _ => runs.push(vec![row]),
            }
        }
        for run in runs {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            out.push(format!(
                "{},{},{}",
                time(first.ts),
                time(last.ts + 3_000),
                text(&[k, count(run.len())])
            ));
        }
    }
    out
}

/// Reference of top-N: returns the rows of each key in the order `v DESC, id, ts`, with their ranks.
pub(crate) fn ranked<K: Ord>(rows: &[Row], key: impl Fn(&Row) -> K) -> Vec<(usize, Row)> {
    let mut out = Vec::new();
    for (_, mut rows) in groups(rows, key) {
        rows.sort_by_key(|row| (std::cmp::Reverse(row.v), row.id, row.ts));
        out.extend((1..).zip(rows));
    }
    out
}

/// Reference of temporal joins: joins rows of table `O` with the versions of an input, whose changes are in
/// the order of arrival.
fn versions_of(events: &[(bool, Row)], data: &Data) -> Rows {
    let met = |row: &Row| {
        let known = events.iter().filter(|(_, version)| version.id == row.id && version.ts <= row.ts);
        let valid = known.max_by_key(|(_, version)| version.ts);
        let (_, version) = valid.filter(|(comes, _)| *comes)?;
        Some(text(&[Some(row.id), version.v]))
    };
    data.others.iter().filter_map(met).collect()
}

const OPERATORS: &[Operator] = &[
    operator("SELECT id, k + 1, v FROM X", Takes::All, |rows, _| {
        rows.iter().map(|row| text(&[Some(row.id), row.k.map(|k| k + 1), row.v])).collect()
    }),
    operator("SELECT id, v FROM X WHERE v > 3", Takes::All, |rows, _| {
        rows.iter().filter(|row| row.v > Some(3)).map(|row| text(&[Some(row.id), row.v])).collect()
    }),
    operator("SELECT id, k FROM X UNION ALL SELECT id, k FROM O UNION ALL SELECT id, v FROM X", Takes::All, |rows, data| {
        let pair = |row: &Row| text(&[Some(row.id), row.k]);
        let other = rows.iter().map(|row| text(&[Some(row.id), row.v]));
        rows.iter().map(pair).chain(data.others.iter().map(pair)).chain(other).collect()
    }),
    operator(
        "SELECT id, x, n FROM X CROSS JOIN UNNEST(ARRAY[k, v]) WITH ORDINALITY AS u (x, n)",
        Takes::All,
        |rows, _| {
            let pair = |row: &Row| [(row.k, 1), (row.v, 2)].map(|(x, n)| text(&[Some(row.id), x, Some(n)]));
            rows.iter().flat_map(pair).collect()
        },
    ),
    operator(
        "SELECT id, v, x FROM X LEFT JOIN UNNEST(CASE WHEN v > 3 THEN ARRAY[k, 9] END) AS u (x) ON TRUE",
        Takes::All,
        |rows, _| {
            let padded = |row: &Row| {
                let elements = if row.v > Some(3) { vec![row.k, Some(9)] } else { vec![None] };
                let (id, v) = (row.id, row.v);
                elements.into_iter().map(move |x| text(&[Some(id), v, x]))
            };
            rows.iter().flat_map(padded).collect()
        },
    ),
    operator(
        "SELECT x, COUNT(*) FROM X CROSS JOIN UNNEST(ARRAY[k, v]) AS u (x) GROUP BY x",
        Takes::All,
        |rows, _| {
            let mut counts: BTreeMap<Value, usize> = BTreeMap::new();
            for value in rows.iter().flat_map(|row| [row.k, row.v]) {
                *counts.entry(value).or_default() += 1;
            }
            counts.into_iter().map(|(x, number)| text(&[x, count(number)])).collect()
        },
    ),
    operator(
        "SELECT window_start, window_end, COUNT(*), SUM(x) FROM TABLE(TUMBLE(TABLE X, DESCRIPTOR(ts), INTERVAL '10' SECOND))
CROSS JOIN UNNEST(ARRAY[v, v]) AS u (x) GROUP BY window_start, window_end",
        Takes::Windowed,
        |rows, _| {
            let twice: Vec<Row> = rows.iter().flat_map(|row| [*row, *row]).collect();
            summed(windows(&twice, 10_000, 10_000))
        },
    ),
    operator("SELECT k, v FROM X UNION SELECT k, v FROM O", Takes::All, |rows, data| {
        let all: BTreeSet<String> = rows.iter().chain(&data.others).map(|row| text(&[row.k, row.v])).collect();
        all.into_iter().collect()
    }),
    operator("SELECT k, v FROM X EXCEPT ALL SELECT k, v FROM O", Takes::All, |rows, data| {
        let mut left: Rows = rows.iter().map(|row| text(&[row.k, row.v])).collect();
        for other in &data.others {
            let line = text(&[other.k, other.v]);
            if let Some(place) = left.iter().position(|known| *known == line) {
                left.remove(place);
            }
        }
        left
    }),
    operator("SELECT k FROM O INTERSECT ALL SELECT k FROM X", Takes::All, |rows, data| {
        let mut open: Vec<Value> = rows.iter().map(|row| row.k).collect();
        let mut both = Vec::new();
        for other in &data.others {
            if let Some(place) = open.iter().position(|known| *known == other.k) {
                both.push(text(&[open.remove(place)]));
            }
        }
        both
    }),
    operator(
        "SELECT id, k, v FROM X QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id, ts) <= 2",
        Takes::All,
        |rows, _| {
            let kept = ranked(rows, |row| row.k).into_iter().filter(|(rank, _)| *rank <= 2);
            kept.map(|(_, row)| text(&[Some(row.id), row.k, row.v])).collect()
        },
    ),
    operator(
        "SELECT k, COUNT(*), COUNT(v), SUM(v), MIN(v), MAX(v), COUNT(DISTINCT v) FROM X GROUP BY k",
        Takes::All,
        |rows, _| {
            let line = |(k, rows): (&Value, &Vec<Row>)| {
                let values: Vec<i64> = rows.iter().filter_map(|row| row.v).collect();
                let distinct: BTreeSet<i64> = values.iter().copied().collect();
                let ends = [values.iter().min().copied(), values.iter().max().copied()];
                let counts = [count(rows.len()), count(values.len())];
                text(&[*k, counts[0], counts[1], sum(rows), ends[0], ends[1], count(distinct.len())])
            };
            groups(rows, |row| row.k).iter().map(line).collect()
        },
    ),
    operator("SELECT COUNT(*), SUM(v) FROM X", Takes::All, |rows, _| {
        (!rows.is_empty()).then(|| text(&[count(rows.len()), sum(rows)])).into_iter().collect()
    }),
    operator("SELECT k, COUNT(*) FROM X GROUP BY k HAVING COUNT(*) > 1", Takes::All, |rows, _| {
        let of = groups(rows, |row| row.k);
        of.iter().filter(|(_, rows)| rows.len() > 1).map(|(k, rows)| text(&[*k, count(rows.len())])).collect()
    }),
    operator("SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM X GROUP BY k) GROUP BY n", Takes::All, |rows, _| {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        groups(rows, |row| row.k).values().for_each(|rows| *counts.entry(rows.len()).or_default() += 1);
        counts.iter().map(|(n, groups)| text(&[count(*n), count(*groups)])).collect()
    }),
    operator("SELECT DISTINCT k, v FROM X", Takes::All, |rows, _| {
        let all: BTreeSet<String> = rows.iter().map(|row| text(&[row.k, row.v])).collect();
        all.into_iter().collect()
    }),
    operator("SELECT k, COUNT(*), SUM(v), COUNT(k) FROM X GROUP BY ROLLUP (k)", Takes::All, |rows, _| {
        let line = |k: Value, rows: &[Row]| {
            let keys = rows.iter().filter(|row| row.k.is_some()).count();
            text(&[k, count(rows.len()), sum(rows), count(keys)])
        };
        let mut out: Rows = groups(rows, |row| row.k).iter().map(|(k, rows)| line(*k, rows)).collect();
        out.extend((!rows.is_empty()).then(|| line(None, rows)));
        out
    }),
    operator("SELECT APPROX_COUNT_DISTINCT(v) FROM X", Takes::Added, |rows, _| {
        let all: BTreeSet<i64> = rows.iter().filter_map(|row| row.v).collect();
        (!rows.is_empty()).then(|| text(&[count(all.len())])).into_iter().collect()
    }),
    // The clock stands still in these tests, so all rows are in one window of processing time.
    operator(
        "SELECT k, COUNT(*), SUM(v) FROM (SELECT *, PROCTIME() AS p FROM X) GROUP BY k, TUMBLE(p, INTERVAL '10' SECOND)",
        Takes::Added,
        |rows, _| {
            let line =
                |(k, rows): (Value, Vec<Row>)| text(&[k, count(rows.len()), sum(&rows)]);
            groups(rows, |row| row.k).into_iter().map(line).collect()
        },
    ),
    operator(
        "SELECT window_start, COUNT(*), SUM(v) FROM SESSION((SELECT *, PROCTIME() AS p FROM X), DESCRIPTOR(p), INTERVAL '3' SECOND) GROUP BY window_start, window_end",
        Takes::Added,
        |rows, _| {
            let line = || format!("2023-11-14 22:13:20.000,{}", text(&[count(rows.len()), sum(rows)]));
            (!rows.is_empty()).then(line).into_iter().collect()
        },
    ),
    operator(
        "SELECT l.id, l.v, r.id, r.v FROM (SELECT *, PROCTIME() AS p FROM X) AS l FULL JOIN (SELECT *, PROCTIME() AS p FROM O) AS r
ON l.k = r.k AND l.p BETWEEN r.p - INTERVAL '5' SECOND AND r.p",
        Takes::Added,
        |rows, data| joined(rows, &data.others, [true, true], same_key),
    ),
    operator(
        "SELECT window_start, window_end, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE X, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end",
        Takes::Windowed,
        |rows, _| summed(windows(rows, 10_000, 10_000)),
    ),
    operator(
        "SELECT window_start, window_end, COUNT(*), SUM(v) FROM TABLE(HOP(TABLE X, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end",
        Takes::Windowed,
        |rows, _| {
            // The first sliding window begins on the day before the data, and its start is shown with that
            // day.
            let of = windows(rows, 10_000, 5_000);
            let line = |((start, end), rows): (&(i64, i64), &Vec<Row>)| {
                let start = match *start {
                    -5_000 => "2023-12-31 23:59:55.000".to_owned(),
                    start => time(start),
                };
                format!("{start},{},{}", time(*end), text(&[count(rows.len()), sum(rows)]))
            };
            of.iter().map(line).collect()
        },
    ),
    operator(
        "SELECT window_start, window_end, COUNT(*), SUM(v) FROM TABLE(CUMULATE(TABLE X, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end",
        Takes::Windowed,
        |rows, _| {
            let mut of = windows(rows, 10_000, 10_000);
            for ((start, _), rows) in windows(rows, 5_000, 5_000) {
                if start % 10_000 == 0 {
                    of.insert((start, start + 5_000), rows);
                }
            }
            summed(of)
        },
    ),
    operator(
        "SELECT window_start, window_end, k, COUNT(*) FROM TABLE(SESSION(TABLE X PARTITION BY k, DESCRIPTOR(ts), INTERVAL '3' SECOND)) GROUP BY window_start, window_end, k",
        Takes::Session,
        |rows, _| sessions(rows),
    ),
    operator(
        "SELECT TUMBLE_START(ts, INTERVAL '10' SECOND), TUMBLE_END(ts, INTERVAL '10' SECOND), COUNT(*), SUM(v) FROM X GROUP BY TUMBLE(ts, INTERVAL '10' SECOND)",
        Takes::Windowed,
        |rows, _| summed(windows(rows, 10_000, 10_000)),
    ),
    operator(
        "SELECT SESSION_START(ts, INTERVAL '3' SECOND), SESSION_END(ts, INTERVAL '3' SECOND), k, COUNT(*) FROM X GROUP BY k, SESSION(ts, INTERVAL '3' SECOND)",
        Takes::Session,
        |rows, _| sessions(rows),
    ),
    operator("SELECT id, v, (SELECT COUNT(*) FROM O WHERE O.k = X.k) FROM X", Takes::All, |rows, data| {
        let met = |row: &Row| data.others.iter().filter(|other| same_key(row, other)).count();
        rows.iter().map(|row| text(&[Some(row.id), row.v, count(met(row))])).collect()
    }),
    operator("SELECT id, k, (SELECT SUM(v) FROM X WHERE X.k = O.k) FROM O", Takes::All, |rows, data| {
        let line = |other: &Row| {
            let met: Vec<Row> = rows.iter().filter(|row| same_key(row, other)).copied().collect();
            text(&[Some(other.id), other.k, sum(&met)])
        };
        data.others.iter().map(line).collect()
    }),
    operator(
        "SELECT id, v FROM X WHERE v > 3 OR EXISTS (SELECT 1 FROM O WHERE O.k = X.k AND O.v > 3)",
        Takes::All,
        |rows, data| {
            let exists =
                |row: &Row| data.others.iter().any(|other| same_key(row, other) && other.v > Some(3));
            let kept = rows.iter().filter(|row| row.v > Some(3) || exists(row));
            kept.map(|row| text(&[Some(row.id), row.v])).collect()
        },
    ),
    operator(
        "SELECT id, k, CASE WHEN k IN (SELECT k FROM X WHERE v > 3) THEN 1 WHEN NOT k IN (SELECT k FROM X WHERE v > 3) THEN 0 END FROM O",
        Takes::All,
        |rows, data| {
            // IN is NULL if it finds no equal value among values of which one is NULL, and for a NULL among
            // any values.
            let values: BTreeSet<Value> = rows.iter().filter(|row| row.v > Some(3)).map(|row| row.k).collect();
            let is_in = |k: Value| match k {
                _ if values.is_empty() => Some(0),
                Some(_) if values.contains(&k) => Some(1),
                Some(_) if !values.contains(&None) => Some(0),
                _ => None,
            };
            data.others.iter().map(|other| text(&[Some(other.id), other.k, is_in(other.k)])).collect()
        },
    ),
    operator("SELECT id, v, (SELECT COUNT(*) FROM O WHERE O.v > X.v) FROM X", Takes::All, |rows, data| {
        let met = |row: &Row| data.others.iter().filter(|other| row.v.is_some() && other.v > row.v).count();
        rows.iter().map(|row| text(&[Some(row.id), row.v, count(met(row))])).collect()
    }),
    operator("SELECT id, v, (SELECT SUM(X.v + O.v) FROM X WHERE X.k = O.k) FROM O", Takes::All, |rows, data| {
        let line = |other: &Row| {
            let met = rows.iter().filter(|row| same_key(row, other));
            let sum = met.filter_map(|row| Some(row.v? + other.v?)).reduce(|sum, v| sum + v);
            text(&[Some(other.id), other.v, sum])
        };
        data.others.iter().map(line).collect()
    }),
    operator(
        "SELECT O.id, q.n FROM O CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM X WHERE X.v < O.v) AS q",
        Takes::All,
        |rows, data| {
            let met = |other: &Row| rows.iter().filter(|row| row.v.is_some() && row.v < other.v).count();
            data.others.iter().map(|other| text(&[Some(other.id), count(met(other))])).collect()
        },
    ),
    operator(
        "SELECT O.id, q.id, q.v FROM O LEFT JOIN LATERAL (SELECT id, ts, v FROM X WHERE X.k = O.k ORDER BY v DESC, id, ts LIMIT 2) AS q ON TRUE",
        Takes::All,
        |rows, data| {
            let mut out = Vec::new();
            for other in &data.others {
                let met: Vec<Row> = rows.iter().filter(|row| same_key(row, other)).copied().collect();
                let first: Vec<Row> =
                    ranked(&met, |_| 0).into_iter().filter(|(rank, _)| *rank <= 2).map(|(_, row)| row).collect();
                match first.is_empty() {
                    true => out.push(text(&[Some(other.id), None, None])),
                    false => out.extend(first.iter().map(|row| text(&[Some(other.id), Some(row.id), row.v]))),
                }
            }
            out
        },
    ),
    operator(
        "SELECT id, CASE WHEN v >= ALL (SELECT v FROM O WHERE O.k = X.k AND v IS NOT NULL) THEN 1 ELSE 0 END FROM X",
        Takes::All,
        |rows, data| {
            let is_greatest = |row: &Row| {
                let mut met = data.others.iter().filter(|other| same_key(row, other) && other.v.is_some()).peekable();
                met.peek().is_none() || row.v.is_some() && met.all(|other| row.v >= other.v)
            };
            rows.iter().map(|row| text(&[Some(row.id), Some(i64::from(is_greatest(row)))])).collect()
        },
    ),
    operator(
        "SELECT id FROM X WHERE (k, v) IN (SELECT k, v FROM O) OR v > 5",
        Takes::All,
        |rows, data| {
            let is_there = |row: &Row| data.others.iter().any(|other| same_key(row, other) && row.v.is_some() && row.v == other.v);
            rows.iter().filter(|row| row.v > Some(5) || is_there(row)).map(|row| text(&[Some(row.id)])).collect()
        },
    ),
    operator(
        "SELECT window_start, id, v FROM TABLE(TUMBLE(TABLE X, DESCRIPTOR(ts), INTERVAL '10' SECOND))",
        Takes::Windowed,
        |rows, _| {
            let line = |row: &Row| {
                format!("{},{}", time(row.ts.div_euclid(10_000) * 10_000), text(&[Some(row.id), row.v]))
            };
            rows.iter().map(line).collect()
        },
    ),
    operator(
        "SELECT window_start, id, v, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v DESC, id, ts) AS rn
FROM TABLE(TUMBLE(TABLE X, DESCRIPTOR(ts), INTERVAL '10' SECOND))) WHERE rn <= 2",
        Takes::AddedTimed,
        |rows, _| {
            let kept = ranked(rows, |row| row.ts.div_euclid(10_000)).into_iter().filter(|(rank, _)| *rank <= 2);
            let line = |(rank, row): (usize, Row)| {
                let start = time(row.ts.div_euclid(10_000) * 10_000);
                format!("{start},{}", text(&[Some(row.id), row.v, count(rank)]))
            };
            kept.map(line).collect()
        },
    ),
    operator("SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM X", Takes::All, |rows, _| {
        let line = |row: &Row| {
            let before: Vec<Row> = rows.iter().filter(|other| other.k == row.k && other.ts <= row.ts).copied().collect();
            text(&[Some(row.id), sum(&before)])
        };
        rows.iter().map(line).collect()
    }),
    operator("SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts), COUNT(*) OVER (ORDER BY ts) FROM X", Takes::All, |rows, _| {
        let line = |row: &Row| {
            let before: Vec<Row> = rows.iter().filter(|other| other.ts <= row.ts).copied().collect();
            let of_key: Vec<Row> = before.iter().filter(|other| other.k == row.k).copied().collect();
            text(&[Some(row.id), sum(&of_key), count(before.len())])
        };
        rows.iter().map(line).collect()
    }),
    operator("SELECT k, X.id, O.id FROM X FULL JOIN O USING (k)", Takes::All, |rows, data| {
        let mut out = Vec::new();
        for row in rows {
            let met: Vec<&Row> = data.others.iter().filter(|other| same_key(row, other)).collect();
            out.extend(met.iter().map(|other| text(&[row.k, Some(row.id), Some(other.id)])));
            out.extend(met.is_empty().then(|| text(&[row.k, Some(row.id), None])));
        }
        let alone = data.others.iter().filter(|other| !rows.iter().any(|row| same_key(row, other)));
        out.extend(alone.map(|other| text(&[other.k, None, Some(other.id)])));
        out
    }),
    operator("SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM X", Takes::AddedTimed, |rows, _| {
        let line = |(k, rows): (Value, Vec<Row>)| (1..=rows.len()).map(move |at| text(&[k, count(at.min(2))]));
        groups(rows, |row| row.k).into_iter().flat_map(line).collect()
    }),
    operator("SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY PROCTIME()) FROM X", Takes::Added, |rows, _| {
        let line = |(k, rows): (Value, Vec<Row>)| (1..=rows.len()).map(move |at| text(&[k, count(at)]));
        groups(rows, |row| row.k).into_iter().flat_map(line).collect()
    }),
    operator("SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) FROM X", Takes::All, |rows, _| {
        let line = |(k, rows): (Value, Vec<Row>)| (1..=rows.len()).map(move |at| text(&[k, count(at)]));
        groups(rows, |row| row.k).into_iter().flat_map(line).collect()
    }),
    operator("SELECT id, v FROM X ORDER BY ts", Takes::AddedTimed, |rows, _| {
        rows.iter().map(|row| text(&[Some(row.id), row.v])).collect()
    }),
    operator("SELECT 1 FROM X LIMIT 2", Takes::All, |rows, _| vec!["1".to_owned(); rows.len().min(2)]),
    operator(
        "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id, ts) AS rn FROM X) WHERE rn <= 2",
        Takes::All,
        |rows, _| {
            let kept = ranked(rows, |row| row.k).into_iter().filter(|(rank, _)| *rank <= 2);
            kept.map(|(_, row)| text(&[Some(row.id), row.k, row.v])).collect()
        },
    ),
    operator(
        "SELECT id, k, v, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id, ts) AS rn FROM X) WHERE rn <= 3",
        Takes::All,
        |rows, _| {
            let kept = ranked(rows, |row| row.k).into_iter().filter(|(rank, _)| *rank <= 3);
            kept.map(|(rank, row)| text(&[Some(row.id), row.k, row.v, count(rank)])).collect()
        },
    ),
    operator(
        "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v DESC, id, ts) AS rn FROM X) WHERE rn = 2",
        Takes::All,
        |rows, _| {
            let kept = ranked(rows, |_| ()).into_iter().filter(|(rank, _)| *rank == 2);
            kept.map(|(_, row)| text(&[Some(row.id), row.v])).collect()
        },
    ),
    operator(
        "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id, ts) AS rn FROM X) WHERE rn = 1",
        Takes::All,
        |rows, _| {
            let kept = ranked(rows, |row| row.k).into_iter().filter(|(rank, _)| *rank == 1);
            kept.map(|(_, row)| text(&[Some(row.id), row.v])).collect()
        },
    ),
    operator(
        "SELECT k, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM X) WHERE rn = 1",
        Takes::All,
        |rows, _| {
            let line = |(k, rows): (Value, Vec<Row>)| {
                format!("{},{}", text(&[k]), time(rows.iter().map(|row| row.ts).max().unwrap_or_default()))
            };
            groups(rows, |row| row.k).into_iter().map(line).collect()
        },
    ),
    operator(
        "SELECT k, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS rn FROM X) WHERE rn = 1",
        Takes::All,
        |rows, _| {
            let line = |(k, rows): (Value, Vec<Row>)| {
                format!("{},{}", text(&[k]), time(rows.iter().map(|row| row.ts).min().unwrap_or_default()))
            };
            groups(rows, |row| row.k).into_iter().map(line).collect()
        },
    ),
    operator(
        "SELECT k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY PROCTIME() DESC) AS rn FROM X) WHERE rn = 1",
        Takes::Added,
        |rows, _| groups(rows, |row| row.k).keys().map(|k| text(&[*k])).collect(),
    ),
];

/// Returns the expected result of a temporal join by `id` of table `O` with an input as versions.
fn of_versions(input: &Input, data: &Data) -> Option<Rows> {
    let added = || data.added.iter().map(|row| (true, *row));
    match input.name {
        "cdc" | CDC_TWICE => {
            // The `-U` of an update is ignored, because its `+U` gives the new version.
            let events: Vec<(bool, Row)> = data
                .changed
                .iter()
                .zip(&data.kinds)
                .filter(|(_, kind)| **kind != "-U")
                .map(|(event, _)| *event)
                .collect();
            Some(versions_of(&events, data))
        }
        "last by event time" => {
            // A row that comes after a row of its key with a later time is no version.
            let mut latest: BTreeMap<i64, i64> = BTreeMap::new();
            let events: Vec<(bool, Row)> = added()
                .filter(|(_, row)| {
                    let last = latest.entry(row.id).or_insert(row.ts);
                    let is_version = *last <= row.ts;
                    *last = row.ts.max(*last);
                    is_version
                })
                .collect();
            Some(versions_of(&events, data))
        }
        "first by event time" => {
            let firsts: Vec<(bool, Row)> = (input.rows)(data).into_iter().map(|row| (true, row)).collect();
            Some(versions_of(&firsts, data))
        }
        _ => None,
    }
}

fn run(input: &Input, query: &str, seed: u64, rows: impl Fn(&Data) -> Option<Rows>) -> Option<String> {
    let data = Data::new(seed);
    let manner = Draw::new(seed ^ 0x5eed).manner();
    // The view is declared with the tables, before the sections with their rows.
    let view = format!("CREATE VIEW X AS {};\n\n--- input I\n", input.query);
    let (text, settings) = match input.name {
        CDC_TWICE => (data.doubled(), vec![CDC_TWICE_SETTING.to_owned()]),
        _ => (data.text.clone(), Vec::new()),
    };
    let cases = tables(&text.replacen("\n--- input I\n", &view, 1));
    let expected = rows(&data);
    let why = match cases.answer(&settings, query, manner) {
        Ok(answer) => wrong(&answer, expected)?,
        Err(error) => error,
    };
    Some(format!("{}: {query}\nX: {}\n{manner:?}: {why}\n{}", input.name, input.query, data.text))
}

/// Number of all operators under test.
const OPERATOR_COUNT: usize = OPERATORS.len() + JOINS.len() + OVERS.len() + functions::OPERATORS.len();

#[test]
fn operators_over_inputs() {
    let mut failures = Vec::new();
    let mut count = 0;
    for seed in seeds() {
        for (at, input) in INPUTS.iter().enumerate() {
            let operators = OPERATORS.iter().chain(JOINS).chain(OVERS).chain(functions::OPERATORS);
            for (of, operator) in operators.enumerate() {
                let pair = at * OPERATOR_COUNT + of;
                if !is_sampled(pair, seed) {
                    continue;
                }
                let of_pair = seed.wrapping_add(pair as u64 * 1_000_003);
                // If watermarks follow rows without a delay, rows that this input brings back are late, and so are
                // those that it takes back from a window, so the pair is skipped.
                let is_timed = matches!(operator.takes, Takes::Timed);
                let takes = operator.takes;
                if input.changes && takes == Takes::Session && takes.takes(input) {
                    continue;
                }
                let is_late =
                    (input.name == TOP_OF_CDC && is_timed) || (input.changes && takes == Takes::Windowed);
                if is_late && Data::new(of_pair).is_tight {
                    continue;
                }
                let rows = |data: &Data| {
                    let rows = (input.rows)(data);
                    operator.takes.takes(input).then(|| (operator.rows)(&rows, data))
                };
                count += 1;
                let why = run(input, operator.query, of_pair, rows);
                failures.extend(why.map(|why| format!("THALWEG_SEED={seed} {why}")));
            }
        }
    }
    assert_none(&failures, count);
}

/// Inputs that read one table, whose changes come in the same order in every run.
const OF_ONE_TABLE: [&str; 6] =
    ["cdc", "cdc filtered", "last by event time", "last by arrival", "top", TOP_OF_CDC];

/// Changes of rows of windows that have ended are late in every run, however the rows are cut into batches.
#[test]
fn late_changes_are_late_in_every_run() {
    let mut failures = Vec::new();
    let mut runs = 0;
    let seeds: Vec<u64> = (0..2)
        .flat_map(|step: u64| seeds().into_iter().map(move |seed| seed.wrapping_add(step * 7_919)))
        .collect();
    for seed in seeds {
        let data = Data::new(seed);
        let windowed =
            OPERATORS.iter().filter(|operator| matches!(operator.takes, Takes::Windowed | Takes::Session));
        for operator in windowed {
            for input in INPUTS.iter().filter(|input| OF_ONE_TABLE.contains(&input.name)) {
                runs += 1;
                let view = format!("CREATE VIEW X AS {};\n\n--- input I\n", input.query);
                let cases = tables(&data.text.replacen("\n--- input I\n", &view, 1));
                let row_by_row =
                    Manner { workers: 1, batch_rows: 1, seed, policy: None, spills: false, renews: false };
                let other = Draw::new(seed ^ runs).manner();
                let found =
                    [row_by_row, other].map(|manner| match cases.answer(&[], operator.query, manner) {
                        Ok(Answer::Rows { rows, planned, late }) => {
                            materialised(&rows, planned).map(|rows| (rows, late))
                        }
                        other => Err(format!("{other:?}")),
                    });
                if found[0].is_err() || found[0] != found[1] {
                    failures.push(format!(
                        "{}: {}\nX: {}\n{other:?}: {found:?}\n{}",
                        input.name, operator.query, input.query, data.text
                    ));
                }
            }
        }
    }
    assert_none(&failures, runs as usize);
}

/// Queries with final rows over the view `X`, and references for their rows, in order.
const FINAL: [(&str, fn(Vec<Row>) -> Rows); 5] = [
    ("SELECT id, v FROM X ORDER BY v DESC, id LIMIT 3", |mut rows| {
        rows.sort_by_key(|row| (std::cmp::Reverse(row.v), row.id));
        rows.iter().take(3).map(|row| text(&[Some(row.id), row.v])).collect()
    }),
    ("SELECT id FROM X ORDER BY ts DESC, id LIMIT 4 OFFSET 1", |mut rows| {
        rows.sort_by_key(|row| (std::cmp::Reverse(row.ts), row.id));
        rows.iter().skip(1).take(4).map(|row| text(&[Some(row.id)])).collect()
    }),
    ("SELECT k, COUNT(*) AS n, SUM(v) FROM X GROUP BY k ORDER BY n, k DESC", |rows| {
        let mut found: Vec<(Value, Vec<Row>)> = groups(&rows, |row| row.k).into_iter().collect();
        found.sort_by_key(|(k, rows)| (rows.len(), std::cmp::Reverse(*k)));
        found.iter().map(|(k, rows)| text(&[*k, count(rows.len()), sum(rows)])).collect()
    }),
    ("SELECT DISTINCT k FROM X ORDER BY k", |rows| {
        groups(&rows, |row| row.k).into_keys().map(|k| text(&[k])).collect()
    }),
    ("SELECT * FROM (SELECT v, id FROM X ORDER BY id, v LIMIT 3) AS first ORDER BY v, id", |mut rows| {
        rows.sort_by_key(|row| (row.id, row.v));
        rows.truncate(3);
        rows.sort_by_key(|row| (row.v, row.id));
        rows.iter().map(|row| text(&[row.v, Some(row.id)])).collect()
    }),
];

/// In batch mode, ORDER BY and LIMIT over inputs of any kind give rows that are never changed, in their order.
#[test]
fn final_rows_over_inputs() {
    let mut failures = Vec::new();
    let mut runs = 0;
    for seed in seeds() {
        for (input, (query, reference)) in INPUTS.iter().flat_map(|input| FINAL.map(|case| (input, case))) {
            runs += 1;
            let data = Data::new(seed.wrapping_add(runs * 1_000_003));
            let manner = Draw::new(seed ^ runs).manner();
            let view = format!("CREATE VIEW X AS {};\n\n--- input I\n", input.query);
            let cases = tables(&data.text.replacen("\n--- input I\n", &view, 1));
            let batch = "SET 'execution.runtime-mode' = 'batch';".to_owned();
            let answer = cases.answer(&[batch], query, manner);
            let expected = reference((input.rows)(&data));
            let found = match &answer {
                Ok(Answer::Rows { rows, planned, .. }) if planned.is_none() => {
                    Ok(rows.iter().map(|(_, row)| row.clone()).collect::<Rows>())
                }
                other => Err(other),
            };
            if found.as_ref() != Ok(&expected) {
                failures.push(format!(
                    "{}: {query}\nX: {}\n{manner:?}: expected {expected:?}, found {found:?}\n{}",
                    input.name, input.query, data.text
                ));
            }
        }
    }
    assert_none(&failures, runs as usize);
}

/// All inputs give right results as versions of a temporal join, for which the order of rows matters.
#[test]
fn inputs_as_versions() {
    let query = "SELECT l.id, r.v FROM O AS l JOIN X FOR SYSTEM_TIME AS OF l.ts AS r ON l.id = r.id";
    let mut failures = Vec::new();
    for seed in
        (0..20).flat_map(|step: u64| seeds().into_iter().map(move |seed| seed.wrapping_add(step * 7_919)))
    {
        // If watermarks follow rows without a delay, the deletion of an old version is late, and valid only
        // from the watermark on. The reference does not compute this.
        if Data::new(seed).is_tight {
            continue;
        }
        for input in &INPUTS {
            let why = run(input, query, seed, |data| of_versions(input, data));
            failures.extend(why.map(|why| format!("seed {seed}: {why}")));
        }
    }
    assert_none(&failures, 20 * INPUTS.len());
}

/// Sinks that accept only added rows refuse changes at planning, also within a statement set.
#[test]
fn sinks_refuse_changes_at_planning() {
    let data = Data::new(1);
    let declared = data.text.split("\n--- input").next().unwrap_or_default();
    for input in &INPUTS {
        let columns = "(id INT, k INT, v INT, ts TIMESTAMP(3))";
        let script = format!(
            "{declared}
CREATE VIEW X AS {};
CREATE TABLE Shown {columns} WITH ('connector' = 'print');
CREATE TABLE Written {columns} WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'json');
EXECUTE STATEMENT SET BEGIN INSERT INTO Shown SELECT * FROM X; INSERT INTO Written SELECT * FROM X; END;",
            input.query
        );
        let mut session = Session::new(Arc::new(VirtualClock::default()));
        let actions = session.read(&script).unwrap_or_else(|error| panic!("{}: {error}", input.name));
        let [Action::Run(planned)] = &actions[..] else { panic!("{}: no job", input.name) };
        let world = World {
            given: ["I", "O", "C", "V", "D"].map(|name| (name.to_owned(), Arc::default())).into(),
            ..World::default()
        };
        let refusal = job::check(planned, &world).err().map(|error| error.to_string());
        assert_eq!(refusal.is_some(), input.changes, "{}: {refusal:?}", input.name);
        if let Some(refusal) = refusal {
            assert!(
                refusal.contains("`Written` takes rows that are only added"),
                "{}: {refusal}",
                input.name
            );
        }
    }
}
