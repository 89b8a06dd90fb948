//! Tests of the output of `thalweg --help`, at 80 columns.

use crate::support::{Folder, assert_golden};

#[track_caller]
fn check(line: &str, golden: &str) {
    let ran = Folder::new(golden).run(line);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    assert_golden(golden, &ran.stdout);
}

#[test]
fn thalweg() {
    check("--help", "help.txt");
}

#[test]
fn demo() {
    check("demo --help", "help_demo.txt");
}

/// Calling `thalweg` without a command prints the usage.
#[test]
fn without_a_command() {
    let ran = Folder::new("no_command").run("");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("Usage: thalweg <COMMAND>"), "{ran:?}");
}
