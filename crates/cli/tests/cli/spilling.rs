//! State beyond memory, as a user sees it: it goes to a directory, which is empty again after each end; a run that was killed
//! leaves files that the next run removes and never reads.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::Folder;

/// A test that waits longer than this for a file has failed.
const WAIT: Duration = Duration::from_secs(120);

/// Returns a query of more keys than 16 MiB hold, each with two rows.
fn groups(keys: u64, then: &str) -> String {
    format!(
        "CREATE TABLE t (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '9223372036854775807', \
         'number-of-rows' = '{}', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '100000000');\n\
         {then} (SELECT n % {keys} AS k, COUNT(*) AS c, SUM(n) AS s FROM t GROUP BY n % {keys});",
        2 * keys
    )
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

const RUN: &str = "run q.sql --memory-budget 16MiB --workers 2";

const SPILL: &str = "--set thalweg.state.spill-dir=state";

/// The files of a run are locked while it lives. When it is killed they stay, and the next run removes them; its answer is
/// its own.
#[test]
fn a_killed_run_leaves_files_that_the_next_removes() {
    let folder = Folder::new("spilling-killed");
    let keys = 600_000;
    folder.write("q.sql", groups(keys, "SELECT COUNT(*), SUM(c), SUM(s) FROM"));
    let n = 2 * keys;
    let expected = format!("EXPR$0,EXPR$1,EXPR$2\n{keys},{n},{}\n", n * (n + 1) / 2);
    let state = folder.path("state");
    let has_rows = || {
        let of_run = |run: String| names(&state.join(run)).into_iter().any(|name| name.ends_with(".rows"));
        names(&state).into_iter().any(of_run)
    };
    let mut child = folder.command(&format!("{RUN} {SPILL}")).spawn().unwrap();
    let started = Instant::now();
    while !has_rows() {
        assert!(child.try_wait().unwrap().is_none(), "it ends before it has put state on disk");
        assert!(started.elapsed() < WAIT, "it puts no state on disk");
    }
    // Another run beside it removes nothing of it. It stands still meanwhile, so that it does not end before it is killed.
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    folder.write("small.sql", groups(10, "SELECT COUNT(*), SUM(c), SUM(s) FROM"));
    assert_eq!(folder.run(&format!("run small.sql {SPILL}")).code, 0);
    assert!(has_rows(), "its rows were removed while it lived");
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    let left = names(&state);
    assert_eq!(left.len(), 1, "{left:?}");
    let ran = folder.run(&format!("{RUN} {SPILL}"));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, expected.as_str()), "{}", ran.stderr);
    assert_eq!(names(&state), [""; 0]);
}

/// Without the setting the query fails, and the advice names the setting. With it, and with too little room on disk, it
/// fails with another code.
#[test]
fn the_advice_names_the_setting() {
    let folder = Folder::new("spilling-advice");
    folder.write("q.sql", groups(600_000, "SELECT COUNT(*) FROM"));
    let ran = folder.run(RUN);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("STATE_LIMIT"), "{}", ran.stderr);
    assert!(ran.stderr.contains("help: SET 'thalweg.state.spill-dir'"), "{}", ran.stderr);
    let json = folder.run(&format!("{RUN} --output json"));
    assert!(json.stderr.contains("\"help\":\"SET 'thalweg.state.spill-dir'"), "{}", json.stderr);
    let ran = folder.run(&format!("{RUN} {SPILL} --set thalweg.state.spill-size=1mb"));
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("SPILL_LIMIT") && !ran.stderr.contains("help:"), "{}", ran.stderr);
    assert_eq!(names(&folder.path("state")), [""; 0]);
}

/// A directory that cannot be used is refused before rows are read. EXPLAIN makes none.
#[test]
fn a_directory_that_cannot_be_used() {
    let folder = Folder::new("spilling-directory");
    folder.write("q.sql", groups(10, "SELECT COUNT(*) FROM"));
    folder.write("file", "no directory");
    let ran = folder.run("run q.sql --set thalweg.state.spill-dir=file");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("SPILL_FAILED") && ran.stderr.contains("file"), "{}", ran.stderr);
    let ran = folder.run(&format!("explain q.sql {SPILL}"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(names(&folder.path("state")), [""; 0]);
    assert!(!folder.path("state").exists());
    // The directory must lie below those that tables may use.
    fs::create_dir(folder.path("allowed")).unwrap();
    let ran = folder.run(&format!("run q.sql {SPILL} --allow-root allowed"));
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("SPILL_FAILED") && ran.stderr.contains("--allow-root"), "{}", ran.stderr);
    for (value, wanted) in
        [("spill-size=0", "above 0"), ("spill-size=much", "'10 gb'"), ("spill-dir=", "a directory")]
    {
        let ran = folder.run(&format!("check q.sql --set thalweg.state.{value}"));
        assert!(ran.code != 0 && ran.stderr.contains(wanted), "{value}: {}", ran.stderr);
    }
}
