//! Tests of the program `thalweg` as a user runs it: its output on both standard streams, and its exit codes.
//!
//! Output is compared with the files in `golden`. `UPDATE_GOLDEN=1 cargo test -p thalweg-cli` writes them
//! again, and their diff is reviewed like code.

mod command_lines;
mod demo;
mod durable;
mod errors;
mod file_roots;
mod hand_over;
mod help;
mod kills;
mod plans;
mod spilling;
mod sql;
mod state;
mod steer;
mod stopping;
mod support;

/// Path of the program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_thalweg");

/// Folder of the files with the expected output.
const GOLDEN: &str = "tests/cli/golden";

/// Commands, with arguments before and behind the tested options. The arguments make each command end at once
/// if all options are valid.
const COMMANDS: [(&str, &[&str], &[&str]); 4] = [
    ("run", &["-e", "SELECT 1"], &[]),
    ("check", &["one.sql"], &[]),
    ("explain", &["one.sql"], &[]),
    ("test", &["cases"], &[]),
];

/// Exit code of the commands in `COMMANDS` if all options are valid.
const CODE_IF_VALID: usize = 0;
