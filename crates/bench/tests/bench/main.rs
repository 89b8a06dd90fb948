//! The program `thalweg-bench` as a user runs it, by way of `thalweg bench` or `thalweg replay`: its output on both streams, and its
//! exit codes.
//!
//! Output is compared with the files in `golden`. `UPDATE_GOLDEN=1 cargo test -p thalweg-bench` writes them
//! again, and their diff is reviewed like code.

mod bad_lines;
mod bench;
// This module is shared with the tests of `thalweg`: both programs are run, and their output compared, in the
// same way.
#[path = "../../../cli/tests/cli/command_lines.rs"]
mod command_lines;
mod errors;
mod figures;
mod help;
mod hostile_lines;
mod ipq;
mod join;
mod late_share;
mod linear_road;
mod lines;
mod loads;
mod mixed;
mod modes;
mod netmon;
mod nexmark;
mod parallel;
mod plans;
mod recorded;
mod replay;
mod riot;
mod steer;
#[path = "../../../cli/tests/cli/support.rs"]
mod support;
mod tenants;

/// Path of the program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_thalweg-bench");

/// Folder of the files with the expected output.
const GOLDEN: &str = "tests/bench/golden";

/// Commands, with arguments before and behind the tested options. The arguments make each command end at once
/// if all options are valid. A benchmark would run otherwise, so its lines end in an option that does not
/// exist.
const COMMANDS: [(&str, &[&str], &[&str]); 2] =
    [("replay", &["nothing.json"], &[]), ("bench", &["ysb"], &["--no-such-option"])];

/// Exit code of `replay` if all options are valid: there is no such file.
const CODE_IF_VALID: usize = 1;
