//! Operators under test: OVER windows in the order of any columns.

use std::collections::BTreeSet;

use crate::inputs::Row;
use crate::operators::{Operator, Takes, count, operator, ranked, sum};
use crate::{Value, text};

pub(crate) const OVERS: &[Operator] = &[
    operator(
        "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY v), COUNT(*) OVER (PARTITION BY k ORDER BY v) FROM X",
        Takes::All,
        |rows, _| {
            let line = |row: &Row| {
                let before: Vec<Row> =
                    rows.iter().filter(|other| other.k == row.k && other.v <= row.v).copied().collect();
                text(&[Some(row.id), sum(&before), count(before.len())])
            };
            rows.iter().map(line).collect()
        },
    ),
    operator(
        "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY v DESC, id, ts ROWS UNBOUNDED PRECEDING) FROM X",
        Takes::All,
        |rows, _| {
            let mut out = Vec::new();
            let mut before: Vec<Row> = Vec::new();
            for (rank, row) in ranked(rows, |row| row.k) {
                if rank == 1 {
                    before.clear();
                }
                before.push(row);
                out.push(text(&[row.k, sum(&before)]));
            }
            out
        },
    ),
    operator("SELECT id, v, COUNT(*) OVER (PARTITION BY k) FROM X", Takes::All, |rows, _| {
        let of_key = |row: &Row| rows.iter().filter(|other| other.k == row.k).count();
        rows.iter().map(|row| text(&[Some(row.id), row.v, count(of_key(row))])).collect()
    }),
    operator(
        "SELECT id, v, r FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM X) WHERE r <= 2",
        Takes::All,
        |rows, _| {
            let rank =
                |row: &Row| 1 + rows.iter().filter(|other| other.k == row.k && other.v > row.v).count();
            let kept = rows.iter().filter(|row| rank(row) <= 2);
            kept.map(|row| text(&[Some(row.id), row.v, count(rank(row))])).collect()
        },
    ),
    operator(
        "SELECT id, v FROM (SELECT *, DENSE_RANK() OVER (ORDER BY v) AS r FROM X) WHERE r = 2",
        Takes::All,
        |rows, _| {
            let values: BTreeSet<Value> = rows.iter().map(|row| row.v).collect();
            let second = values.into_iter().nth(1);
            rows.iter().filter(|row| Some(row.v) == second).map(|row| text(&[Some(row.id), row.v])).collect()
        },
    ),
    operator(
        "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id, ts) AS rn FROM X) WHERE rn <= k",
        Takes::All,
        |rows, _| {
            let kept = ranked(rows, |row| row.k)
                .into_iter()
                .filter(|(rank, row)| count(*rank) <= row.k && row.k.is_some());
            kept.map(|(_, row)| text(&[Some(row.id), row.v])).collect()
        },
    ),
];
