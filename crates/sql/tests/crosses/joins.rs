//! Operators under test: joins.

use crate::inputs::{Data, Row};
use crate::operators::{Operator, Rows, Takes, count, groups, operator, sum};
use crate::text;

/// Reference of joins: returns pairs of matching rows, and rows of either side without a match if the join
/// keeps them.
pub(crate) fn joined(
    left: &[Row],
    right: &[Row],
    [keeps_left, keeps_right]: [bool; 2],
    meets: impl Fn(&Row, &Row) -> bool,
) -> Rows {
    let line = |left: Option<&Row>, right: Option<&Row>| {
        let id = |row: Option<&Row>| row.map(|row| row.id);
        text(&[id(left), left.and_then(|row| row.v), id(right), right.and_then(|row| row.v)])
    };
    let mut out = Vec::new();
    for row in left {
        let met: Vec<&Row> = right.iter().filter(|other| meets(row, other)).collect();
        out.extend(met.iter().map(|other| line(Some(row), Some(other))));
        out.extend((keeps_left && met.is_empty()).then(|| line(Some(row), None)));
    }
    let alone = right.iter().filter(|other| !left.iter().any(|row| meets(row, other)));
    out.extend(alone.filter(|_| keeps_right).map(|other| line(None, Some(other))));
    out
}

pub(crate) fn same_key(left: &Row, right: &Row) -> bool {
    left.k.is_some() && left.k == right.k
}

pub(crate) fn is_near(left: &Row, right: &Row) -> bool {
    same_key(left, right) && (left.ts - right.ts).abs() <= 5_000
}

pub(crate) fn same_window(left: &Row, right: &Row) -> bool {
    same_key(left, right) && left.ts.div_euclid(10_000) == right.ts.div_euclid(10_000)
}

pub(crate) fn as_of(rows: &[Row], data: &Data, keeps_left: bool) -> Rows {
    let line = |row: &Row| match data.version(row.k, row.ts) {
        Some(rate) => Some(text(&[Some(row.id), rate])),
        None => keeps_left.then(|| text(&[Some(row.id), None])),
    };
    rows.iter().filter_map(line).collect()
}

pub(crate) const JOINS: &[Operator] = &[
    operator("SELECT l.id, l.v, r.id, r.v FROM X AS l JOIN O AS r ON l.k = r.k", Takes::All, |rows, data| {
        joined(rows, &data.others, [false, false], same_key)
    }),
    operator("SELECT l.id, l.v, r.id, r.v FROM X AS l LEFT JOIN O AS r ON l.k = r.k", Takes::All, |rows, data| {
        joined(rows, &data.others, [true, false], same_key)
    }),
    operator("SELECT l.id, l.v, r.id, r.v FROM X AS l RIGHT JOIN O AS r ON l.k = r.k", Takes::All, |rows, data| {
        joined(rows, &data.others, [false, true], same_key)
    }),
    operator("SELECT l.id, l.v, r.id, r.v FROM X AS l FULL JOIN O AS r ON l.k = r.k AND l.v > r.v", Takes::All, |rows, data| {
        joined(rows, &data.others, [true, true], |left, right| {
            same_key(left, right) && left.v.is_some() && right.v.is_some() && left.v > right.v
        })
    }),
    operator("SELECT l.id, l.v, r.id, r.v FROM O AS l LEFT JOIN X AS r ON l.k = r.k", Takes::All, |rows, data| {
        joined(&data.others, rows, [true, false], same_key)
    }),
    operator("SELECT l.id, l.v, r.id, r.v FROM X AS l FULL JOIN X AS r ON l.k = r.k AND l.id < r.id", Takes::All, |rows, _| {
        joined(rows, rows, [true, true], |left, right| same_key(left, right) && left.id < right.id)
    }),
    operator("SELECT id, v FROM X WHERE k IN (SELECT k FROM O)", Takes::All, |rows, data| {
        let kept = rows.iter().filter(|row| data.others.iter().any(|other| same_key(row, other)));
        kept.map(|row| text(&[Some(row.id), row.v])).collect()
    }),
    operator("SELECT id, v FROM X WHERE NOT EXISTS (SELECT 1 FROM O WHERE O.k = X.k)", Takes::All, |rows, data| {
        let kept = rows.iter().filter(|row| !data.others.iter().any(|other| same_key(row, other)));
        kept.map(|row| text(&[Some(row.id), row.v])).collect()
    }),
    operator("SELECT id, v FROM O WHERE k IN (SELECT k FROM X)", Takes::All, |rows, data| {
        let kept = data.others.iter().filter(|row| rows.iter().any(|other| same_key(row, other)));
        kept.map(|row| text(&[Some(row.id), row.v])).collect()
    }),
    operator("SELECT id, v FROM O WHERE NOT EXISTS (SELECT 1 FROM X WHERE X.k = O.k)", Takes::All, |rows, data| {
        let kept = data.others.iter().filter(|row| !rows.iter().any(|other| same_key(row, other)));
        kept.map(|row| text(&[Some(row.id), row.v])).collect()
    }),
    operator(
        "SELECT l.id, l.v, r.id, r.v FROM X AS l JOIN O AS r ON l.k = r.k AND l.ts BETWEEN r.ts - INTERVAL '5' SECOND AND r.ts + INTERVAL '5' SECOND",
        Takes::All,
        |rows, data| joined(rows, &data.others, [false, false], is_near),
    ),
    operator(
        "SELECT l.id, l.v, r.id, r.v FROM O AS l LEFT JOIN X AS r ON l.k = r.k AND l.ts BETWEEN r.ts - INTERVAL '5' SECOND AND r.ts + INTERVAL '5' SECOND",
        Takes::All,
        |rows, data| joined(&data.others, rows, [true, false], is_near),
    ),
    operator(
        "SELECT l.id, l.v, r.id, r.v FROM (SELECT * FROM TABLE(TUMBLE(TABLE X, DESCRIPTOR(ts), INTERVAL '10' SECOND))) AS l
FULL JOIN (SELECT * FROM TABLE(TUMBLE(TABLE O, DESCRIPTOR(ts), INTERVAL '10' SECOND))) AS r
ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end",
        Takes::AddedTimed,
        |rows, data| joined(rows, &data.others, [true, true], same_window),
    ),
    operator("SELECT l.id, r.r FROM X AS l JOIN V FOR SYSTEM_TIME AS OF l.ts AS r ON l.k = r.k", Takes::Timed, |rows, data| {
        as_of(rows, data, false)
    }),
    operator("SELECT l.id, r.r FROM X AS l LEFT JOIN V FOR SYSTEM_TIME AS OF l.ts AS r ON l.k = r.k", Takes::Timed, |rows, data| {
        as_of(rows, data, true)
    }),
    operator("SELECT l.k, COUNT(*), SUM(r.r) FROM X AS l JOIN V FOR SYSTEM_TIME AS OF l.ts AS r ON l.k = r.k GROUP BY l.k", Takes::Timed, |rows, data| {
        let met: Vec<Row> = rows
            .iter()
            .filter_map(|row| data.version(row.k, row.ts).map(|rate| Row { v: rate, ..*row }))
            .collect();
        groups(&met, |row| row.k).iter().map(|(k, rows)| text(&[*k, count(rows.len()), sum(rows)])).collect()
    }),
    operator(
        "SELECT l.id, r.d FROM (SELECT *, PROCTIME() AS now FROM X) AS l JOIN D FOR SYSTEM_TIME AS OF l.now AS r ON l.k = r.k",
        Takes::All,
        |rows, data| {
            let met = |row: &Row| {
                let id = row.id;
                data.looked_up(row.k).into_iter().map(move |d| text(&[Some(id), Some(d)])).collect::<Vec<_>>()
            };
            rows.iter().flat_map(met).collect()
        },
    ),
    operator(
        "SELECT l.id, r.d FROM (SELECT *, PROCTIME() AS now FROM X) AS l LEFT JOIN D FOR SYSTEM_TIME AS OF l.now AS r ON l.k = r.k",
        Takes::All,
        |rows, data| {
            let met = |row: &Row| {
                let found = data.looked_up(row.k);
                let id = Some(row.id);
                match found.is_empty() {
                    true => vec![text(&[id, None])],
                    false => found.into_iter().map(|d| text(&[id, Some(d)])).collect(),
                }
            };
            rows.iter().flat_map(met).collect()
        },
    ),
    operator(
        "SELECT l.id, r.v FROM O AS l JOIN X FOR SYSTEM_TIME AS OF l.p AS r ON l.k = r.k",
        Takes::Only(&["rows"]),
        |rows, data| {
            let met = |row: &Row| {
                let id = row.id;
                let found: Vec<Row> = rows.iter().filter(|other| same_key(row, other)).copied().collect();
                found.into_iter().map(move |other| text(&[Some(id), other.v])).collect::<Vec<_>>()
            };
            data.others.iter().flat_map(met).collect()
        },
    ),
];
