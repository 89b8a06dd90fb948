//! Shared parts of the tests of both programs: running the binary, a folder for each test, random numbers, and golden files.
//!
//! The tests of `thalweg-bench` include this file by its path. [`PROGRAM`](crate::PROGRAM) and [`GOLDEN`](crate::GOLDEN) are
//! those of the tests that include it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use thalweg::{Entropy, SeededEntropy};

/// An empty folder for one test, in which the tested program runs.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Returns the text of a file in the folder, if the file exists.
    pub fn text(&self, name: &str) -> Option<String> {
        fs::read(self.path(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns a command that runs the tested program at a width of 80 columns, without environment variables
    /// of the tester that change its output.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(crate::PROGRAM);
        command.current_dir(&self.0).args(line.split_whitespace());
        command
            .env("COLUMNS", "80")
            .env("RUST_BACKTRACE", "1")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE");
        command
    }

    /// Runs a command line of the tested program to its end.
    pub fn run(&self, line: &str) -> Ran {
        Ran::of(line, self.command(line).output().unwrap())
    }
}

/// Random numbers that follow from a seed, so that a failure can be repeated by its seed.
pub struct Random(SeededEntropy);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(SeededEntropy::new(seed))
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0.next_u64() as usize % bound
    }
}

/// Returns the number in a variable of the environment, if it is set.
///
/// # Panics
/// If it is set to something else.
pub fn number(key: &str) -> Option<u64> {
    let text = std::env::var(key).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{key} is no number: {text}")))
}

/// The outcome of a command line: its exit code and its output.
#[derive(Debug)]
pub struct Ran {
    #[expect(dead_code, reason = "shown when a test fails")]
    line: String,
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(line: &str, output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is text");
        let Output { status, stdout, stderr } = output;
        let code = status.code().expect("the process was not killed by a signal");
        Ran { line: line.to_owned(), code, stdout: text(stdout), stderr: text(stderr) }
    }
}

/// Runs each command line and returns its output and its exit code as text.
pub fn told(folder: &Folder, lines: &[&str]) -> String {
    let told = |line: &&str| {
        let ran = folder.run(line);
        assert_eq!(ran.stdout, "", "{ran:?}");
        assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("backtrace"), "{ran:?}");
        format!("$ thalweg {line}\n{}exit code {}\n\n", ran.stderr, ran.code)
    };
    lines.iter().map(told).collect()
}

/// Compares `text` with the file `name` of expected output, or writes this file again if `UPDATE_GOLDEN` is
/// set.
#[track_caller]
pub fn assert_golden(name: &str, text: &str) {
    let path = Path::new(crate::GOLDEN).join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    let first = golden.lines().zip(text.lines()).find(|(golden, found)| golden != found);
    assert!(golden == text, "{name} differs, first in {first:?}; UPDATE_GOLDEN=1 writes it anew:\n{text}");
}
