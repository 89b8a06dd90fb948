//! The binary as people run it: what it prints, where, and its exit codes.
//!
//! Texts are compared with the files in `golden`; `UPDATE_GOLDEN=1 cargo test -p thalweg-cli` writes them anew, and
//! their diff is reviewed as code.

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
