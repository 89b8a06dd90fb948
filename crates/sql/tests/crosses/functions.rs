//! Operators of the tests that call user functions.

use std::collections::BTreeMap;

use crate::inputs::Row;
use crate::operators::{Operator, Rows, Takes, groups, operator, sum, summed, windows};
use crate::{Value, text};

/// Reference of SERIES: the numbers from 1 to a value, none for NULL.
fn series(value: Value) -> impl Iterator<Item = i64> {
    1..=value.unwrap_or_default()
}

/// Reference of MOST_OFTEN: the value that most rows have, and of several the one whose text is the least.
fn most_often(rows: &[Row]) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    rows.iter().filter_map(|row| row.v).for_each(|v| *counts.entry(v.to_string()).or_default() += 1);
    let most = counts.values().max().copied();
    counts.into_iter().find(|(_, count)| Some(*count) == most).map(|(text, _)| text)
}

/// Operators over the view `X` that call functions of `tests/functions/registered.rs`.
pub(crate) const OPERATORS: &[Operator] = &[
    operator("SELECT id, plus_one(k), v FROM X WHERE plus_one(v) > 4", Takes::All, |rows, _| {
        let kept = rows.iter().filter(|row| row.v > Some(3));
        kept.map(|row| text(&[Some(row.id), row.k.map(|k| k + 1), row.v])).collect()
    }),
    operator("SELECT id, n FROM X CROSS JOIN LATERAL TABLE(series(CAST(v AS INT))) AS u (n)", Takes::All, |rows, _| {
        rows.iter().flat_map(|row| series(row.v).map(|n| text(&[Some(row.id), Some(n)]))).collect()
    }),
    operator("SELECT id, v, n FROM X LEFT JOIN LATERAL TABLE(series(CAST(v AS INT))) AS u (n) ON TRUE", Takes::All, |rows, _| {
        let padded = |row: &Row| -> Rows {
            let numbers: Vec<Value> = series(row.v).map(Some).collect();
            let numbers = if numbers.is_empty() { vec![None] } else { numbers };
            numbers.into_iter().map(|n| text(&[Some(row.id), row.v, n])).collect()
        };
        rows.iter().flat_map(padded).collect()
    }),
    operator("SELECT plus_one(k), total(v), most_often(CAST(v AS STRING)) FROM X GROUP BY plus_one(k)", Takes::All, |rows, _| {
        let line = |(k, rows): (Value, Vec<Row>)| {
            let most = most_often(&rows).unwrap_or_else(|| "NULL".to_owned());
            format!("{},{most}", text(&[k, sum(&rows)]))
        };
        groups(rows, |row| row.k.map(|k| k + 1)).into_iter().map(line).collect()
    }),
    operator(
        "SELECT window_start, window_end, COUNT(*), total(v) FROM TABLE(TUMBLE(TABLE X, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end",
        Takes::Windowed,
        |rows, _| summed(windows(rows, 10_000, 10_000)),
    ),
    operator(
        "SELECT window_start, window_end, COUNT(*), SUM(n) FROM (SELECT n, window_start, window_end
FROM TABLE(TUMBLE(TABLE X, DESCRIPTOR(ts), INTERVAL '10' SECOND)) CROSS JOIN LATERAL TABLE(series(CAST(v AS INT))) AS u (n)) GROUP BY window_start, window_end",
        Takes::Windowed,
        |rows, _| {
            let made = |row: &Row| -> Vec<Row> {
                series(row.v).map(|n| Row { v: Some(n), ..*row }).collect()
            };
            let all: Vec<Row> = rows.iter().flat_map(made).collect();
            summed(windows(&all, 10_000, 10_000))
        },
    ),
    operator("SELECT id, total(v) OVER (PARTITION BY k ORDER BY ts) FROM X", Takes::All, |rows, _| {
        let upto = |row: &Row| -> Vec<Row> {
            rows.iter().filter(|other| other.k == row.k && other.ts <= row.ts).copied().collect()
        };
        rows.iter().map(|row| text(&[Some(row.id), sum(&upto(row))])).collect()
    }),
];
