//! Queries over one file give the same rows, and count the same late and bad rows, for any number of workers and any size
//! of the pieces that they decode.
#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use thalweg::scheduling::policy::by_name;
use thalweg::{Chaining, Clock, Engine, Layout, Parallel, SystemClock};
use thalweg_sql::connect::{Division, Output, RowSink, World};
use thalweg_sql::job::{BATCH_EDGES, Shown, assemble};
use thalweg_sql::session::{Action, Session};

#[path = "support/kept.rs"]
mod kept;
use kept::Kept;

/// A directory that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("thalweg-files-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a query; returns the lines that it shows, in their order, and its counts of late and of bad rows.
fn run(base: &Path, sql: &str, division: Division, policy: &str) -> (Vec<String>, u64, u64) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let actions = Session::new(Arc::clone(&clock)).read(sql).expect("the query is fine");
    let [Action::Run(job)] = &actions[..] else { panic!("one job") };
    let kept = Kept::default();
    let stdout: Output = Arc::new(Mutex::new(Box::new(kept.clone())));
    let world = World { base: base.to_owned(), clock: Arc::clone(&clock), division, ..World::default() };
    let mut shown = |columns: &[_], changes: thalweg_sql::bind::changelog::Changes| {
        let shown = Shown::text(columns, job.settings.zone, !changes.is_none(), Output::clone(&stdout));
        Ok(Box::new(shown) as Box<dyn RowSink>)
    };
    let assembled = assemble(job, &clock, &world, &mut shown).expect("the tables are there");
    let workers = division.workers;
    let engine = Engine::builder().workers(workers as u64).clock(Arc::clone(&clock)).edges(BATCH_EDGES);
    let engine = engine.policy(by_name(policy).expect("a policy")).build().expect("an engine");
    let parallel = if workers > 1 { Parallel::Epochs { workers } } else { Parallel::Serial };
    let graph = assembled.query.plan(Layout { chaining: Chaining::Default, parallel }).expect("a plan");
    let report = engine.submit(graph).expect("it fits").wait().expect("it ends");
    let bytes = kept.0.lock().expect("nobody panics").clone();
    let lines = String::from_utf8(bytes).expect("text").lines().map(str::to_owned).collect();
    (lines, report.total(|counts| counts.late), report.bad)
}

/// Runs a query with one worker, and with several workers and sizes of pieces. Rows that are not `ordered` are compared in
/// the order of their text.
fn check(base: &Path, sql: &str, is_ordered: bool) -> (Vec<String>, u64, u64) {
    let in_order = |(mut lines, late, bad): (Vec<String>, u64, u64)| {
        if !is_ordered {
            lines.sort();
        }
        (lines, late, bad)
    };
    let expected = in_order(run(base, sql, Division::default(), "enjima"));
    for workers in [2, 3, 8] {
        for piece_bytes in [100, 4_096, 256 << 10] {
            for policy in ["enjima", "fcfs", "klink"] {
                let found = in_order(run(
                    base,
                    sql,
                    Division { workers, piece_bytes, ..Division::default() },
                    policy,
                ));
                assert!(found == expected, "{sql} {workers} {piece_bytes} {policy}: {found:?}");
            }
        }
    }
    expected
}

const ROWS: u64 = 6_000;

/// Rows nearly in the order of time; some are 20 s behind, and so late.
fn times() -> impl Iterator<Item = (u64, u64)> {
    (0..ROWS).map(|row| {
        let late = if row % 97 == 13 { 20_000 } else { 0 };
        (row, (100_000 + row * 10 + row * 7_919 % 3_000).saturating_sub(late))
    })
}

fn stamp(millis: u64) -> String {
    let seconds = millis / 1_000;
    format!("2024-01-01 00:{:02}:{:02}.{:03}", seconds / 60, seconds % 60, millis % 1_000)
}

const COLUMNS: &str = "k STRING, v BIGINT, t TIMESTAMP(3), WATERMARK FOR t AS t - INTERVAL '2' SECOND";
const WINDOWS: &str = "SELECT window_start, k, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE f, DESCRIPTOR(t), INTERVAL '5' SECOND)) GROUP BY window_start, window_end, k";
const SESSIONS: &str = "SELECT k, window_start, window_end, COUNT(*) FROM TABLE(SESSION(TABLE f PARTITION BY k, DESCRIPTOR(t), INTERVAL '1' SECOND)) GROUP BY k, window_start, window_end";

const VERSIONS: &str = "CREATE VIEW r AS SELECT k, v, t FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY t DESC) AS n FROM f) WHERE n = 1;
SELECT o.v, r.v FROM f AS o JOIN r FOR SYSTEM_TIME AS OF o.t ON o.k = r.k";

#[test]
fn json_with_bad_records() {
    let folder = Folder::new("json");
    let mut lines = String::new();
    for (row, millis) in times() {
        let _ = match row % 501 {
            77 => writeln!(lines, "{{\"k\":\"broken\",\"v\":"),
            _ => writeln!(lines, "{{\"k\":\"é{}\",\"v\":{row},\"t\":\"{}\"}}", row % 5, stamp(millis)),
        };
    }
    fs::write(folder.0.join("f.json"), lines).expect("it is written");
    let table = format!(
        "SET 'execution.runtime-mode' = 'streaming';\nCREATE TABLE f ({COLUMNS}) WITH ('connector' = 'filesystem', 'path' = 'f.json', 'format' = 'json', 'thalweg.on-bad' = 'skip');\n"
    );
    let (_, late, bad) = check(&folder.0, &format!("{table}{WINDOWS};"), false);
    assert!(late > 10 && bad > 5, "{late} {bad}");
    check(&folder.0, &format!("{table}{SESSIONS};"), false);
    check(&folder.0, &format!("{table}{VERSIONS};"), false);
    // One reader keeps the order of the file.
    check(&folder.0, &format!("{table}SELECT k, v, t FROM f WHERE v > 10;"), true);
}

#[test]
fn csv_with_quoted_line_ends() {
    let folder = Folder::new("csv");
    let mut lines = String::new();
    for (row, millis) in times() {
        let _ = match row % 7 {
            3 => writeln!(lines, "\"k\n{}\n\",{row},{}", row % 3, stamp(millis)),
            5 => writeln!(lines, "\"q\"\"{}\",{row},{}\r", row % 3, stamp(millis)),
            _ => writeln!(lines, "k{},{row},{}", row % 5, stamp(millis)),
        };
    }
    fs::write(folder.0.join("f.csv"), lines).expect("it is written");
    let table = format!(
        "SET 'execution.runtime-mode' = 'streaming';\nCREATE TABLE f ({COLUMNS}) WITH ('connector' = 'filesystem', 'path' = 'f.csv', 'format' = 'csv');\n"
    );
    let (_, late, bad) = check(&folder.0, &format!("{table}{WINDOWS};"), false);
    assert!(late > 10 && bad == 0, "{late} {bad}");
    check(&folder.0, &format!("{table}SELECT k, v, t FROM f;"), true);
}
