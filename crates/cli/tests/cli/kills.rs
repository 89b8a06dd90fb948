//! Tests of runs that are killed, or asked to end, at random moments. No file under its final name is
//! incomplete, no success file stands beside missing rows, and a whole file of an earlier run is never
//! replaced by a part. Exit codes are those of the manual.
//!
//! A run is killed when a random share of its output is on the disk, so that the moment does not depend on
//! the speed of the machine. It may be while rows are written, between the publication of two files, or
//! never. `THALWEG_KILLS` is the number of runs and `THALWEG_SEED_BASE` the seed of the first one; each run
//! has a seed of its own. A failure names its seed, and `THALWEG_KILLS_SEED` repeats this run alone.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use thalweg::{Entropy, SeededEntropy};

use crate::support::{Folder, number};

/// Number of runs that are killed, if the environment does not set one.
const KILLS: u64 = 8;

/// Number of rows that each job writes.
const ROWS: u64 = 40_000;

/// Number of partitions of a partitioned table.
const PARTITIONS: u64 = 7;

/// A run that has not ended after this time counts as hanging and fails the test.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// The kind of table to which a job writes its rows.
#[derive(Clone, Copy, Debug)]
enum To {
    Single,
    Directory,
    Partitions,
    Parquet,
}

const ALL: [To; 4] = [To::Single, To::Directory, To::Partitions, To::Parquet];

const SIGNALS: [Signal; 4] = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP];

impl To {
    fn sql(self) -> String {
        let success =
            "'sink.rolling-policy.file-size' = '60 kb', 'sink.partition-commit.policy.kind' = 'success-file'";
        let (partitioned, options) = match self {
            To::Single => {
                ("", "'path' = 'rows.csv', 'format' = 'csv', 'thalweg.single-file' = 'true'".to_owned())
            }
            To::Directory => ("", format!("'path' = 'out', 'format' = 'csv', {success}")),
            To::Partitions => ("PARTITIONED BY (p)", format!("'path' = 'out', 'format' = 'csv', {success}")),
            To::Parquet => ("", format!("'path' = 'out', 'format' = 'parquet', {success}")),
        };
        format!(
            "CREATE TABLE T (a BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100000000', 'fields.a.kind' = 'sequence', \
             'fields.a.start' = '1', 'fields.a.end' = '{ROWS}');
             CREATE TABLE U (a BIGINT, p BIGINT) {partitioned} WITH ('connector' = 'filesystem', {options});
             INSERT INTO U SELECT a, MOD(a, {PARTITIONS}) FROM T;"
        )
    }

    /// Returns the approximate size of all rows of a job on the disk.
    fn bytes(self) -> u64 {
        match self {
            To::Single | To::Directory => 8 * ROWS,
            To::Partitions => 6 * ROWS,
            To::Parquet => 4 * ROWS,
        }
    }
}

fn walk(root: &Path, each: &mut dyn FnMut(&Path, u64)) {
    // Files that are renamed or removed during the walk are skipped.
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(found) if found.is_dir() => walk(&entry.path(), each),
            Ok(found) => each(&entry.path(), found.len()),
            Err(_) => {}
        }
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_success(path: &Path) -> bool {
    name_of(path) == "_SUCCESS"
}

/// Returns whether the path is that of a file of rows under its final name.
fn is_published(path: &Path) -> bool {
    name_of(path).starts_with("part-")
}

/// The moment at which a run is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// The run is killed when this many bytes are written.
    Written(u64),
    /// The run is killed when this many files have their final names.
    Published(u64),
}

impl Moment {
    fn has_come(self, root: &Path) -> bool {
        let (mut bytes, mut published) = (0, 0);
        walk(root, &mut |path, len| {
            bytes += len;
            published += u64::from(is_published(path));
        });
        match self {
            Moment::Written(least) => least <= bytes,
            Moment::Published(least) => least <= published,
        }
    }
}

/// Sends a signal to the run when the moment comes, unless the run ends before. Returns how the run ended,
/// and whether the signal was sent.
fn kill_at(mut child: Child, root: &Path, moment: Moment, signal: Signal) -> (ExitStatus, bool) {
    let (started, mut is_sent) = (Instant::now(), false);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return (status, is_sent);
        }
        if !is_sent && moment.has_come(root) {
            kill_process(Pid::from_child(&child), signal).unwrap();
            is_sent = true;
        }
        if HANGS_AFTER < started.elapsed() {
            child.kill().unwrap();
            panic!("it has not ended within {HANGS_AFTER:?}");
        }
        yield_now();
    }
}

/// Returns the rows that a reader of the output sees, or the name of the file that is incomplete.
fn rows(folder: &Folder, to: To) -> Result<Vec<u64>, String> {
    let mut rows = Vec::new();
    let mut torn = None;
    let mut read = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        if !text.is_empty() && !text.ends_with('\n') {
            torn = Some(format!("{} ends in the middle of a row", path.display()));
        }
        for line in text.lines() {
            let row = line.split(',').next().unwrap_or_default().parse();
            match row {
                Ok(row) => rows.push(row),
                Err(_) => torn = Some(format!("{}: `{line}` is no row", path.display())),
            }
        }
    };
    match to {
        To::Single => read(&folder.path("rows.csv")),
        To::Directory | To::Partitions => walk(&folder.path("out"), &mut |path, _| {
            if is_published(path) {
                read(path);
            }
        }),
        To::Parquet => {
            if !folder.path("out").exists() {
                return Ok(rows);
            }
            // The output is read by the program itself, because it refuses a Parquet file without its end.
            folder.write(
                "read.sql",
                "CREATE TABLE U (a BIGINT, p BIGINT) WITH ('connector' = 'filesystem', 'path' = 'out', \
                 'format' = 'parquet'); SELECT a FROM U;",
            );
            let ran = folder.run("run read.sql");
            if ran.code != 0 {
                return Err(ran.stderr);
            }
            rows.extend(ran.stdout.lines().skip(1).map(|row| row.parse::<u64>().unwrap()));
        }
    }
    torn.map_or(Ok(rows), Err)
}

/// Runs a job that is killed, and then the same job again to its end. Returns whether the signal was sent
/// before the first run had ended.
fn check(seed: u64) -> bool {
    let mut draw = SeededEntropy::new(seed);
    let to = ALL[draw.below(ALL.len() as u64) as usize];
    let signal = SIGNALS[draw.below(SIGNALS.len() as u64) as usize];
    let moment = match (to, draw.below(3)) {
        // A single file is published at once, so there is no moment between two files.
        (To::Single, _) | (_, 1..) => Moment::Written(draw.below(to.bytes() * 5 / 4)),
        _ => Moment::Published(1 + draw.below(6)),
    };
    let folder = Folder::new("kills");
    folder.write("q.sql", to.sql());
    let old = "0,0\n".to_owned();
    if matches!(to, To::Single) {
        folder.write("rows.csv", &old);
    }
    let told = format!("THALWEG_KILLS_SEED={seed}: {to:?}, {signal:?} at {moment:?}");
    let mut command = folder.command("run q.sql");
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (status, is_sent) = kill_at(child, &folder.path(""), moment, signal);

    let is_ended_by_signal = status.signal().is_some_and(|ended_by| ended_by == signal.as_raw());
    let found = rows(&folder, to).unwrap_or_else(|torn| panic!("{told}, {status}: {torn}"));
    let distinct: BTreeSet<u64> = found.iter().copied().collect();
    assert_eq!(distinct.len(), found.len(), "{told}, {status}: rows came twice");
    let is_whole = found.len() as u64 == ROWS && distinct.iter().copied().eq(1..=ROWS);
    let is_untouched = match to {
        To::Single => found == [0],
        _ => found.is_empty(),
    };
    match status.code() {
        Some(0) => assert!(is_whole, "{told}: complete, with {} rows", found.len()),
        Some(3) => assert!(is_untouched || is_whole, "{told}: stopped early, with {} rows", found.len()),
        code => assert!(code.is_none() && is_ended_by_signal, "{told}: ended by {status}"),
    }
    if matches!(to, To::Single) {
        assert!(is_untouched || is_whole, "{told}, {status}: a part of {} rows", found.len());
    }
    let mut has_success = false;
    walk(&folder.path("out"), &mut |path, _| has_success |= is_success(path));
    assert!(!has_success || is_whole, "{told}, {status}: a success file beside {} rows", found.len());

    // The remains of the killed run do not hinder the next run, which publishes its success file when it is
    // complete.
    let before = found.len();
    let ran = folder.run("run q.sql");
    assert_eq!(ran.code, 0, "{told}: {ran:?}");
    let after = rows(&folder, to).unwrap_or_else(|torn| panic!("{told}, the next run: {torn}"));
    let added = if matches!(to, To::Single) { 0 } else { before as u64 };
    assert_eq!(after.len() as u64, added + ROWS, "{told}: the next run");
    let mut has_success = matches!(to, To::Single);
    walk(&folder.path("out"), &mut |path, _| has_success |= is_success(path));
    assert!(has_success, "{told}: the next run has ended, and nothing says so");
    is_sent
}

#[test]
fn kills_leave_whole_files() {
    if let Some(seed) = number("THALWEG_KILLS_SEED") {
        check(seed);
        return;
    }
    let (first, count) = (number("THALWEG_SEED_BASE").unwrap_or(0), number("THALWEG_KILLS").unwrap_or(KILLS));
    let sent = (0..count).filter(|offset| check(first.wrapping_add(*offset))).count() as u64;
    // Some runs are never killed, and of a few runs all may end before their moment is seen. So the share is
    // checked for many runs only.
    assert!(count < 10 * KILLS || count / 4 < sent, "{sent} of {count} runs were killed");
}
