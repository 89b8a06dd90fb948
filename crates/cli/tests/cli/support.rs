//! Shared parts of the tests: running the binary, a folder for each test, small files of trips, and golden
//! files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

pub const HEADER: &str = "medallion,hack_license,vendor_id,rate_code,store_and_fwd_flag,pickup_datetime,\
                          dropoff_datetime,passenger_count,trip_time_in_secs,trip_distance,pickup_longitude,\
                          pickup_latitude,dropoff_longitude,dropoff_latitude";

/// A trip of 3 miles from the middle of the town, in cell (311, 325), that ended at `time` on 1 January 2013.
pub fn trip(time: &str) -> String {
    format!("A,B,VTS,1,,2013-01-01 00:00:00,2013-01-01 {time},1,600,3.00,-73.985,40.748,0,0")
}

/// An empty folder for one test, in which the binary runs.
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

    /// The text of a file, if it exists.
    pub fn text(&self, name: &str) -> Option<String> {
        fs::read(self.path(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The binary, with a width of 80 and without the environment variables of the tester that change its
    /// output.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        command.current_dir(&self.0).args(line.split_whitespace());
        command
            .env("COLUMNS", "80")
            .env("RUST_BACKTRACE", "1")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE");
        command
    }

    /// Runs a command line to its end.
    pub fn run(&self, line: &str) -> Ran {
        Ran::of(line, self.command(line).output().unwrap())
    }

    /// Runs a command line that must succeed, with `--output json`, and returns its one object.
    pub fn json(&self, line: &str) -> Value {
        let ran = self.run(&format!("{line} --output json"));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }
}

/// A variable of the environment that is a number, if it is set.
///
/// # Panics
/// If it is set to something else.
pub fn number(key: &str) -> Option<u64> {
    let text = std::env::var(key).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{key} is no number: {text}")))
}

/// How a command line ended.
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

/// Compares `text` with the golden file `name`, or writes the file again if `UPDATE_GOLDEN` is set.
#[track_caller]
pub fn assert_golden(name: &str, text: &str) {
    let path = Path::new("tests/cli/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    let first = golden.lines().zip(text.lines()).find(|(golden, found)| golden != found);
    assert!(golden == text, "{name} differs, first in {first:?}; UPDATE_GOLDEN=1 writes it anew:\n{text}");
}
