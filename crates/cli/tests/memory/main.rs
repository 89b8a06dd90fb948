//! Tests of the memory of the program as the system sees it: `thalweg run` holds at most the memory budget
//! and 64 MiB, or refuses what does not fit with a stable code.
//!
//! Each case runs the real program and reads the peak of its resident size. The quick cases run in `cargo test`; all of them
//! run in `cargo xtask deep memory`, which prints one line per case.

mod cases;
mod files;
mod peak;

use std::fs;

use peak::{Folder, check_command};

/// Path of the program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_thalweg");

/// Runs `sql` with a budget and checks the peak of the resident size. `codes` are the allowed error codes. If
/// there are none, the run must succeed.
fn check(name: &str, budget_mib: u64, sql: &str, codes: &[&str]) {
    let folder = Folder::new(name);
    folder.write("job.sql", sql);
    check_command(
        name,
        &folder,
        budget_mib,
        &format!("run job.sql --workers 2 --memory-budget {budget_mib}MiB"),
        codes,
    );
}

impl Folder {
    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }
}
