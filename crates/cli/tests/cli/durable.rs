//! Runs with `--state` that are killed with SIGKILL at random moments, again and again, and then run to their end. The files that
//! they leave have the rows of a run that was not killed: none is missing, none is there twice, and no unfinished file is left.
//!
//! `THALWEG_KILLS` is the number of jobs and `THALWEG_SEED_BASE` the seed of the first one; `THALWEG_DURABLE_SEED` repeats one
//! job alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use thalweg::{Entropy, SeededEntropy};

use crate::support::{Folder, Ran, number};

/// Number of jobs that are killed, if the environment does not set one.
const JOBS: u64 = 6;

/// Largest number of times that a job is killed.
const KILLS_MAX: u64 = 10;

/// A run that has not ended after this time counts as hanging and fails the test.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// Number of rows of generated tables, which come in about two seconds.
const ROWS: u64 = 200_000;

const NUMBERS: &str = "CREATE TABLE numbers (n BIGINT, t AS TO_TIMESTAMP_LTZ(n, 3), WATERMARK FOR t AS t - INTERVAL '1' SECOND)
    WITH ('connector' = 'datagen', 'rows-per-second' = '100000', 'fields.n.kind' = 'sequence', 'fields.n.start' = '0',
          'fields.n.end' = 'LAST');";

/// Statements whose rows go to the table `found`, with the columns of that table.
const QUERIES: [(&str, &str, &str); 6] = [
    (
        "tumbling windows",
        "w TIMESTAMP(3), k BIGINT, c BIGINT, s BIGINT",
        "SELECT window_start, n % 7, COUNT(*), SUM(n) FROM TUMBLE(TABLE numbers, DESCRIPTOR(t), INTERVAL '5' SECOND)
         GROUP BY window_start, window_end, n % 7",
    ),
    (
        "hopping windows with DISTINCT",
        "w TIMESTAMP(3), c BIGINT, d BIGINT",
        "SELECT window_start, COUNT(*), COUNT(DISTINCT n % 97) FROM HOP(TABLE numbers, DESCRIPTOR(t), INTERVAL '2' SECOND,
         INTERVAL '6' SECOND) GROUP BY window_start, window_end",
    ),
    (
        "an interval join",
        "a BIGINT, b BIGINT",
        "SELECT l.n, r.n FROM (SELECT n, t FROM numbers WHERE n % 11 = 0) l JOIN (SELECT n, t FROM numbers WHERE n % 13 = 0) r
         ON l.n % 3 = r.n % 3 AND r.t BETWEEN l.t - INTERVAL '0.05' SECOND AND l.t + INTERVAL '0.05' SECOND",
    ),
    (
        "the first row of each key",
        "k BIGINT, n BIGINT",
        "SELECT k, n FROM (SELECT n % 1009 AS k, n, ROW_NUMBER() OVER (PARTITION BY n % 1009 ORDER BY t) AS rn
         FROM numbers) WHERE rn = 1",
    ),
    (
        "OVER",
        "n BIGINT, s BIGINT",
        "SELECT n, SUM(n) OVER (PARTITION BY n % 5 ORDER BY t ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM numbers
         WHERE n % 9 = 0",
    ),
    ("rows as they are", "n BIGINT, twice BIGINT", "SELECT n, n * 2 FROM numbers WHERE n % 3 > 0"),
];

fn sql(columns: &str, query: &str, out: &str) -> String {
    let numbers = NUMBERS.replace("LAST", &(ROWS - 1).to_string());
    format!(
        "{numbers}
         CREATE TABLE found ({columns}) WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'csv');
         INSERT INTO found {query};"
    )
}

/// Returns the sorted lines of the published files of a directory.
///
/// # Panics
/// If there is an unfinished file, or a file that ends in the middle of a line.
fn rows(directory: &Path, told: &str) -> Vec<String> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(!name.starts_with('.'), "{told}: {name} was left unfinished");
        let text = fs::read_to_string(entry.path()).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'), "{told}: {name} ends in the middle of a row");
        rows.extend(text.lines().map(str::to_owned));
    }
    rows.sort();
    rows
}

/// Runs a job that is killed again and again, and then to its end. Returns how often it was killed.
fn check(seed: u64) -> u64 {
    let mut draw = SeededEntropy::new(seed);
    let (name, columns, query) = QUERIES[draw.below(QUERIES.len() as u64) as usize];
    let workers = 1 + draw.below(3);
    let told = format!("THALWEG_DURABLE_SEED={seed}: {name}, {workers} workers");
    let folder = Folder::new("durable");
    folder.write("whole.sql", sql(columns, query, "whole"));
    let started = Instant::now();
    let ran = folder.run(&format!("run whole.sql --workers {workers}"));
    let length = started.elapsed();
    assert_eq!(ran.code, 0, "{told}: {}", ran.stderr);
    let expected = rows(&folder.path("whole"), &told);

    folder.write("q.sql", sql(columns, query, "out"));
    let line = format!("run q.sql --workers {workers} --state st --checkpoint-every 50ms");
    let mut killed = 0;
    for _ in 0..1 + draw.below(KILLS_MAX) {
        let mut command = folder.command(&line);
        let log = fs::File::create(folder.path("log")).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let moment = length.mul_f64(draw.below(100) as f64 / 100.0);
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if moment < begun.elapsed() {
                child.kill().unwrap();
                child.wait().unwrap();
                killed += 1;
                break None;
            }
            sleep(Duration::from_millis(1));
        };
        if let Some(status) = status {
            let log = folder.text("log").unwrap_or_default();
            assert_eq!(status.code(), Some(0), "{told}: {log}");
        }
    }
    let begun = Instant::now();
    let ran = folder.run(&line);
    assert_eq!(ran.code, 0, "{told}: {}", ran.stderr);
    assert!(begun.elapsed() < HANGS_AFTER, "{told}");
    let found = rows(&folder.path("out"), &told);
    let differs = (0..expected.len().max(found.len())).find(|row| expected.get(*row) != found.get(*row));
    if let Some(row) = differs {
        let (wanted, got) = (expected.get(row), found.get(row));
        let (all, there) = (expected.len(), found.len());
        panic!(
            "{told}, killed {killed} times: {there} rows in place of {all}; row {row} is {got:?} in place of {wanted:?}"
        );
    }
    let again = folder.run(&line);
    assert!(again.code == 0 && again.stderr.contains("has finished already"), "{told}: {}", again.stderr);
    assert_eq!(rows(&folder.path("out"), &told), found, "{told}: a finished job writes nothing");
    // As if the run had been killed before it could note that the last output is published: it is published again.
    let marks: Vec<PathBuf> = entries(&folder.path("st/query-job-1"));
    marks.iter().filter(|path| path.extension().is_some_and(|end| end == "published")).for_each(|mark| {
        fs::remove_file(mark).unwrap();
    });
    let again = folder.run(&line);
    assert!(again.code == 0 && again.stderr.contains("goes on from"), "{told}: {}", again.stderr);
    assert_eq!(rows(&folder.path("out"), &told), found, "{told}: it is published once");
    killed
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Windows over processing time differ from run to run, but each row is counted once.
#[test]
fn windows_of_processing_time_count_each_row_once() {
    let folder = Folder::new("durable-arrival");
    let numbers = NUMBERS
        .replace("LAST", &(ROWS - 1).to_string())
        .replace("n BIGINT, t", "n BIGINT, p AS PROCTIME(), t");
    folder.write(
        "q.sql",
        format!(
            "{numbers}
             CREATE TABLE found (c BIGINT, s BIGINT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'csv');
             INSERT INTO found SELECT COUNT(*), SUM(n) FROM TUMBLE(TABLE numbers, DESCRIPTOR(p), INTERVAL '0.1' SECOND)
             GROUP BY window_start, window_end;"
        ),
    );
    let line = "run q.sql --workers 2 --state st --checkpoint-every 50ms";
    for round in 0..4 {
        let mut command = folder.command(line);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_millis(300 + 70 * round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let ran = folder.run(line);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let sums = |place: usize| -> u64 {
        let rows = rows(&folder.path("out"), "processing time");
        rows.iter().map(|row| row.split(',').nth(place).unwrap().parse::<u64>().unwrap()).sum()
    };
    assert_eq!((sums(0), sums(1)), (ROWS, ROWS * (ROWS - 1) / 2));
}

/// A query that was changed since its checkpoint is refused, and the first difference is told; also if it has finished.
#[test]
fn a_changed_query_is_refused() {
    let folder = Folder::new("durable-changed");
    let (_, columns, query) = QUERIES[5];
    folder.write("q.sql", sql(columns, query, "out"));
    let ran = folder.run("run q.sql --state st --for 300ms");
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("a last checkpoint was taken"), "{}", ran.stderr);
    let refused = |ran: &Ran, difference: &str| {
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        let told = ran.stderr.contains("NOT_RESTORED") && ran.stderr.contains(difference);
        assert!(told, "{}", ran.stderr);
    };
    folder.write("changed.sql", sql(columns, &query.replace("n * 2", "n * 3"), "out"));
    refused(&folder.run("run changed.sql --state st"), "n * 3");
    folder.write("other.sql", sql(columns, query, "elsewhere"));
    refused(&folder.run("run other.sql --state st"), "'path' = 'elsewhere'");
    assert_eq!(folder.run("run q.sql --state st").code, 0);
    refused(&folder.run("run changed.sql --state st"), "n * 3");
}

#[test]
fn a_run_that_is_killed_leaves_the_files_of_one_that_is_not() {
    if let Some(seed) = number("THALWEG_DURABLE_SEED") {
        check(seed);
        return;
    }
    let first = number("THALWEG_SEED_BASE").unwrap_or(0);
    let jobs = number("THALWEG_KILLS").unwrap_or(JOBS);
    let killed: u64 = (0..jobs).map(|offset| check(first.wrapping_add(offset))).sum();
    assert!(killed > 0, "no run was killed");
}
