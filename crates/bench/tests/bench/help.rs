//! Tests of the output of `--help`, at 80 columns.

use crate::support::{Folder, assert_golden};

#[track_caller]
fn check(line: &str, golden: &str) {
    // Two lines have the same golden file, and tests run side by side, so the folder has the name of the line.
    let ran = Folder::new(&line.replace(' ', "_")).run(line);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    assert_golden(golden, &ran.stdout);
}

#[test]
fn bench() {
    check("bench --help", "help_bench.txt");
}

/// The command `thalweg help bench` is passed on to the program as these two words.
#[test]
fn bench_by_the_command_help() {
    check("help bench", "help_bench.txt");
}

#[test]
fn replay() {
    check("replay --help", "help_replay.txt");
}

/// The program is meant to be started by `thalweg`, but lists its commands if it is started without one.
#[test]
fn without_a_command() {
    let ran = Folder::new("no_command").run("");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("Usage: thalweg <COMMAND>"), "{ran:?}");
}
