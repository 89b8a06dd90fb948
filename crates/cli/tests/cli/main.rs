//! The binary as a user runs it: its output on both streams, and its exit codes.
//!
//! Output is compared with the files in `golden`. `UPDATE_GOLDEN=1 cargo test -p thalweg-cli` writes them
//! again, and their diff is reviewed like code.

mod bad_lines;
mod bench;
mod command_lines;
mod demo;
mod errors;
mod file_roots;
mod help;
mod hostile_lines;
mod ipq;
mod join;
mod kills;
mod late_share;
mod linear_road;
mod lines;
mod loads;
mod mixed;
mod modes;
mod netmon;
mod parallel;
mod plans;
mod recorded;
mod replay;
mod sql;
mod stopping;
mod support;
mod tenants;
