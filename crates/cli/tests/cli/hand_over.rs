//! Tests that `thalweg bench` and `thalweg replay` become the program `thalweg-bench` in the folder of
//! `thalweg`.
//!
//! The other program is a script here, which says what has reached it. What `thalweg-bench` makes of the same words is tested in
//! its own package.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Folder, Ran};

/// Creates a folder with `bin/thalweg`, and with `bin/thalweg-bench` if there is a script for it.
fn installed(test: &str, script: Option<&str>) -> Folder {
    let folder = Folder::new(test);
    fs::create_dir(folder.path("bin")).unwrap();
    // This is a second name of the program's file, because the program finds its folder by the name with
    // which it was started.
    fs::hard_link(crate::PROGRAM, folder.path("bin/thalweg")).unwrap();
    if let Some(script) = script {
        folder.write("bin/thalweg-bench", format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(folder.path("bin/thalweg-bench"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

fn command(folder: &Folder, line: &str) -> Command {
    let mut command = Command::new(folder.path("bin/thalweg"));
    command.current_dir(folder.path("")).args(line.split_whitespace());
    command
}

fn run(folder: &Folder, line: &str) -> Ran {
    Ran::of(line, command(folder, line).output().unwrap())
}

/// Every word of the command line reaches `thalweg-bench` as it was given, and nothing is added.
#[test]
fn words_arrive_unchanged() {
    let folder = installed("hand_over_words", Some("printf '[%s]' \"$@\""));
    for line in [
        "bench",
        "bench ysb --workers 2",
        "bench --help",
        "bench -h",
        "bench --version",
        "bench help",
        "bench -- --rate=5",
        "bench ysb -- --",
        "bench bench",
        "replay calls --policy fcfs",
        "help bench",
        "help replay",
    ] {
        let ran = run(&folder, line);
        let expected: String = line.split_whitespace().map(|word| format!("[{word}]")).collect();
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (0, expected.as_str(), ""),
            "{line}"
        );
    }
    let bytes = b"\xff\xfe.csv";
    let output =
        command(&folder, "bench nyt --input").args([OsStr::from_bytes(bytes), OsStr::new("a b")]).output();
    let expected = [&b"[bench][nyt][--input]["[..], bytes, b"][a b]"].concat();
    assert_eq!(output.unwrap().stdout, expected);
}

/// Other commands, and options of `thalweg` itself, stay with `thalweg`.
#[test]
fn other_words_stay() {
    let folder = installed("hand_over_not", Some("echo handed over"));
    let version = run(&folder, "--version bench");
    assert!(version.code == 0 && version.stdout.starts_with("thalweg "), "{version:?}");
    assert!(run(&folder, "--help bench").stdout.contains("Usage: thalweg <COMMAND>"));
    assert!(run(&folder, "help run").stdout.contains("Usage: thalweg run"));
    for (line, told) in [
        ("--workers 2 bench ysb", "unexpected argument '--workers' found"),
        ("-- bench ysb", "bench"),
        ("bnech ysb", "a similar subcommand exists: 'bench'"),
        ("help bench ysb", "unrecognized subcommand 'ysb'"),
    ] {
        let ran = run(&folder, line);
        assert!(ran.code == 2 && ran.stdout.is_empty() && ran.stderr.contains(told), "{ran:?}");
    }
}

#[test]
fn streams_and_exit_code_are_those_of_the_program() {
    let folder =
        installed("hand_over_streams", Some("read line; echo \"out $line\"; echo \"err $line\" >&2; exit 7"));
    let mut command = command(&folder, "bench ysb");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"x\n").unwrap();
    let ran = Ran::of("bench ysb", child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (7, "out x\n", "err x\n"));
}

/// A signal to the process that was started as `thalweg` reaches `thalweg-bench`, which decides what to do.
#[test]
fn signals_reach_the_program() {
    // SIGTERM is sent, because shells start commands in the background with SIGINT ignored. The trap runs when a
    // `sleep` ends, and the script ends by itself after a minute.
    let script = "trap 'echo asked; exit 9' TERM\necho ready $$\ni=0\n\
                  while [ $i -lt 1200 ]; do sleep 0.05; i=$((i+1)); done";
    let folder = installed("hand_over_signals", Some(script));
    let mut child = command(&folder, "bench ysb").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let process = child.id();
    assert_eq!(lines.next().unwrap().unwrap(), format!("ready {process}"), "it is the same process");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "asked");
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

/// A symbolic link to `thalweg` is followed: `thalweg-bench` is looked for in the folder of the file, not of
/// the link.
#[test]
fn the_program_is_found_behind_links() {
    let folder = installed("hand_over_links", Some("echo found"));
    symlink(folder.path("bin/thalweg"), folder.path("link")).unwrap();
    symlink("link", folder.path("thalweg")).unwrap();
    let output = Command::new(folder.path("thalweg")).args(["bench", "ysb"]).output().unwrap();
    assert_eq!(Ran::of("bench", output).stdout, "found\n");
}

/// If `thalweg-bench` cannot be started, one line says what is missing and how to get it.
#[test]
fn a_program_that_cannot_be_started_is_told() {
    let folder = installed("hand_over_missing", None);
    let program = fs::canonicalize(folder.path("bin")).unwrap().join("thalweg-bench");
    let program = program.display();
    let start = "error: this command is run by thalweg-bench, and ";
    for line in ["bench ysb", "bench --help", "replay calls", "help bench"] {
        let ran = run(&folder, line);
        let told = format!(
            "{start}{program} does not exist; build it with `cargo build --release -p thalweg-bench` and put it there\n"
        );
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (1, "", told), "{line}");
    }
    folder.write("bin/thalweg-bench", "no program, and not executable");
    let ran = run(&folder, "bench ysb");
    let told = format!("{start}{program} cannot be started: ");
    assert!(ran.code == 1 && ran.stderr.starts_with(&told) && ran.stderr.lines().count() == 1, "{ran:?}");
}
