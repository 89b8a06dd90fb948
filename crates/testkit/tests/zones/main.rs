//! Windows over TIMESTAMP_LTZ in time zones: every kind of window, under every operator that passes windows
//! on, in UTC, New York and Shanghai, with input across both clock changes of New York in 2021. All rows
//! equal the reference's, and no row is late. The reference computes windows and results from the whole input
//! and shares no code with the engine.
//!
//! A seed draws rows, workers and batches; six consecutive seeds combine each zone with each change. `cargo
//! xtask deep zones` runs many.
#![forbid(unsafe_code)]

mod forms;
mod reference;

use chrono_tz::Tz;
use thalweg_model::Entropy;
use thalweg_sql::cases::{Cases, Manner, Verdict};
use thalweg_testkit::Seeds;
use thalweg_testkit::seed::entropy_for;

use forms::{SETUP, Tables, alone, over_windows};
use reference::{Clocks, MINUTE_MS, Row, Windows};

const HOUR: i64 = 60;
const DAY: i64 = 24 * HOUR;

/// Time zones with and without clock changes, east and west of UTC.
const ZONES: [Tz; 3] = [Tz::UTC, Tz::America__New_York, Tz::Asia__Shanghai];

/// Instants at which New York's clocks were put forward from 2:00 to 3:00, and back from 2:00 to 1:00.
const CHANGES_MS: [i64; 2] = [1_615_705_200_000, 1_636_264_800_000];

/// Minutes relative to a clock change at which rows lie. Some are far from the change, so that rows fall on
/// other days.
const NEAR: std::ops::Range<i64> = -150..210;
const FAR: [i64; 4] = [-1_460, -700, 860, 1_620];

/// Largest delay of a row, in minutes, behind rows with later event times. Watermarks are five minutes
/// behind, so no row is late.
const LATENESS_MAX: u64 = 4;

/// Settings of a test case: number of workers, and rows per batch.
const MANNERS: [(usize, usize); 5] = [(1, 1), (4, 3), (1, 64), (4, 7), (2, 4_096)];

/// Every kind of window, with sizes in minutes.
const WINDOWS: [Windows; 11] = [
    Windows::Tumble { size: 30, offset: 0 },
    Windows::Tumble { size: 3 * HOUR, offset: 0 },
    Windows::Tumble { size: DAY, offset: 0 },
    Windows::Tumble { size: HOUR, offset: -7 },
    Windows::Tumble { size: DAY, offset: 90 },
    Windows::Hop { slide: 20, size: HOUR },
    Windows::Hop { slide: 6 * HOUR, size: DAY },
    Windows::Cumulate { step: 15, size: HOUR },
    Windows::Cumulate { step: 4 * HOUR, size: DAY },
    Windows::Session { gap: 25, is_by_key: true },
    Windows::Session { gap: 9, is_by_key: false },
];

/// Draws the rows of a table around a clock change, in the order of arrival.
fn draw(change_ms: i64, first_id: i64, entropy: &mut impl Entropy) -> Vec<Row> {
    let mut rows = Vec::new();
    for minute in NEAR.chain(FAR) {
        let is_near = NEAR.contains(&minute);
        if is_near && !entropy.next_u64().is_multiple_of(6) {
            continue;
        }
        let row = Row {
            id: first_id + rows.len() as i64,
            k: ["a", "b", "c"][(entropy.next_u64() % 3) as usize],
            p: (entropy.next_u64() % 2) as i64,
            v: (entropy.next_u64() % 101) as i64 - 50,
            ts_ms: change_ms + minute * MINUTE_MS,
        };
        let delay_ms = (entropy.next_u64() % (LATENESS_MAX + 1)) as i64 * MINUTE_MS;
        rows.push((row.ts_ms + delay_ms, row));
    }
    rows.sort_by_key(|(arrival_ms, _)| *arrival_ms);
    rows.into_iter().map(|(_, row)| row).collect()
}

#[test]
fn windows_in_zones_have_the_rows_of_the_reference() {
    let mut failures = Vec::new();
    let mut count = 0;
    Seeds::from_env("zones").one_in(16).each(|seed| {
        let mut entropy = entropy_for(seed, "zones");
        let zone = ZONES[(seed % 3) as usize];
        let change_ms = CHANGES_MS[(seed / 3 % 2) as usize];
        let clocks = Clocks::new(zone, change_ms);
        let left = draw(change_ms, 0, &mut entropy);
        let tables = Tables { right: draw(change_ms, 1_000, &mut entropy), left };
        let mut text = format!("SET 'table.local-time-zone' = '{zone}';\n{SETUP}\n");
        text += &tables.inputs();
        let mut forms = alone(&clocks, &tables);
        for windows in WINDOWS {
            forms.extend(over_windows(windows, &clocks, &tables));
        }
        for form in &forms {
            text += &format!(
                "--- query {}\n{};\n\n--- rows\n{}\n\n",
                form.name,
                form.query,
                form.rows.join("\n")
            );
        }
        let cases = Cases::parse(&text).expect("cases are well formed");
        assert_eq!(cases.cases.len(), forms.len(), "every form is a case");
        for (case, form) in cases.cases.iter().zip(&forms) {
            // Each draw uses half of the forms, so that the test stays quick. Over a few seeds every form
            // meets every zone.
            if entropy.next_u64().is_multiple_of(2) {
                continue;
            }
            let (workers, batch_rows) = MANNERS[(entropy.next_u64() % MANNERS.len() as u64) as usize];
            let manner =
                Manner { workers, batch_rows, seed, policy: None, spills: false, renews: seed % 2 == 1 };
            let (verdict, late) = cases.run_counted(case, manner);
            count += 1;
            let where_it_is = format!("{zone}, seed {seed}, {manner:?}: {}\n  {}", form.name, form.query);
            match verdict {
                Verdict::Failed(why) => failures.push(format!("{where_it_is}\n  {why}")),
                Verdict::Passed if late > 0 => {
                    failures.push(format!("{where_it_is}\n  {late} rows are late"));
                }
                Verdict::Passed => {}
            }
        }
    });
    let shown: Vec<&str> = failures.iter().take(5).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} of {count} cases failed, such as\n{}", failures.len(), shown.join("\n"));
}

/// Two rows exactly a gap apart are in one session, although a row of another key moves the watermark to the end of
/// the first between them; this must not depend on where batches end. In New York the second row comes an hour later,
/// when the clocks show the same time again.
#[test]
fn rows_a_gap_apart_are_in_one_session_if_a_watermark_ends_it_between_them() {
    // The event times of the first row, of the row that moves the watermark, and of the second row.
    let new_york = ["2021-11-07 04:35:00.000Z", "2021-11-07 05:20:00.000Z", "2021-11-07 06:00:00.000Z"];
    let utc = ["2021-11-07 04:35:00.000Z", "2021-11-07 05:04:59.999Z", "2021-11-07 05:00:00.000Z"];
    let mut failures = Vec::new();
    for (zone, [first, mover, second], [start, end]) in [
        (Tz::America__New_York, new_york, ["2021-11-07 00:35:00.000", "2021-11-07 01:25:00.000"]),
        (Tz::UTC, utc, ["2021-11-07 04:35:00.000", "2021-11-07 05:25:00.000"]),
    ] {
        let mut text = format!("SET 'table.local-time-zone' = '{zone}';\n{SETUP}\n");
        for (table, ids) in [("L", [1, 2, 3]), ("R", [11, 12, 13])] {
            text += &format!("--- input {table}\n");
            for (id, (k, ts)) in ids.into_iter().zip([("a", first), ("b", mover), ("a", second)]) {
                text += &format!("{id},{k},0,0,{ts}\n");
            }
            text.push('\n');
        }
        text += "--- input V\n\n";
        let sessions = |table: &str| {
            let windows = Windows::Session { gap: 25, is_by_key: true }.of(table, "ts");
            format!("(SELECT * FROM {windows} WHERE k = 'a') {table}")
        };
        let (left, right) = (sessions("L"), sessions("R"));
        text += &format!(
            "--- query a full join\nSELECT L.window_start, L.window_end, L.id AS l, R.id AS r FROM {left} FULL JOIN {right} \
             ON L.k = R.k AND L.window_start = R.window_start AND L.window_end = R.window_end;\n\n--- rows\n\
             {start},{end},1,11\n{start},{end},1,13\n{start},{end},3,11\n{start},{end},3,13\n\n\
             --- query an aggregate\nSELECT window_start, window_end, COUNT(*) FROM {left} GROUP BY window_start, window_end;\n\n\
             --- rows\n{start},{end},2\n"
        );
        let cases = Cases::parse(&text).expect("cases are well formed");
        for case in &cases.cases {
            for (workers, batch_rows) in [1, 2, 3, 4_096].into_iter().flat_map(|rows| [(1, rows), (4, rows)])
            {
                let manner =
                    Manner { workers, batch_rows, seed: 0, policy: None, spills: false, renews: workers > 1 };
                let verdict = match cases.run_counted(case, manner) {
                    (Verdict::Passed, 0) => continue,
                    (Verdict::Passed, late) => format!("{late} rows are late"),
                    (Verdict::Failed(why), _) => why,
                };
                failures.push(format!("{zone}, {manner:?}: {}\n  {verdict}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{} failed, such as\n{}", failures.len(), failures[0]);
}
