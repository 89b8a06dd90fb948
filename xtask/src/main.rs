//! Work on the tree itself: `cargo xtask <command>`, started through the alias in `.cargo/config.toml`.
//!
//! In the order a newcomer should read them:
//!
//! - [`check`]: what continuous integration runs, one step after the other;
//! - [`tidy`]: the rules of the tree that a machine can check, one module per rule;
//! - [`deep`]: the suites that are too slow for every change;
//! - [`figures`]: the figures of the README, measured anew;
//! - [`steps`]: how a step is run, timed and reported;
//! - [`workspace`]: what cargo says about the packages and where they lie.
//!
//! Kept ignorant of every room: xtask imports none of them, so that it builds fast and still runs when they
//! do not compile.
//!
//! Exit codes: 0 when all is well, 1 when a step failed or tidy found something, 2 for a command that does
//! not exist.

#![forbid(unsafe_code)]

mod check;
mod deep;
mod figures;
mod steps;
mod tidy;
mod workspace;

use std::env;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

commands:
  check            format, clippy, tests and doctests, loom models, tidy; stops at the first failure
  tidy             checks of the tree alone: arrows between rooms, outside dependencies, module heads,
                   unsafe, atomics, dead files, links, words, file sizes, cards of operators
  docs             writes the manual's page of operators, docs/operators.md, from their cards
  deep [suite..]   slow suites, all of them unless some are named:
                     loom   the models of memory and idling with three preemptions in place of two
                     miri   the tests of memory under Miri (needs a nightly toolchain)
                     seeds  a thousand seeds of the deterministic simulation and of the operators
                     fuzz   records of each format and texts of SQL that are made up
  figures [section..] [--rounds N] [--seconds S]
                   the figures of the README, as Markdown tables beside their targets: medians of N interleaved
                   rounds (5), with S seconds to a run in place of each section's own; about fifteen minutes:
                     speeds   YSB drained, beside hand-written loops
                     sql      YSB in SQL, on one worker and on two
                     roads    Linear Road and taxis drained, beside a loop and another window
                     latency  at 1,000 events/s, and the CPU that takes
                     idle     the CPU of 20 queries with next to nothing to do
                     load     latency at 0.5 and 0.8 of the speed
                     queries  eight at once against one, and whether each gets its part
  help             this text

environment:
  CARGO_TARGET_DIR      where everything is built; the loom models build in `loom` below it
  LOOM_MAX_PREEMPTIONS  bound of the loom models (check: 2, deep: 3)
  MIRIFLAGS             flags of Miri (-Zmiri-disable-isolation)
  THALWEG_FUZZ          number of inputs to each format in `deep fuzz` (20000)
  THALWEG_MUTATIONS     how often each query is changed in `deep fuzz` (100)
  THALWEG_SEEDS         number of simulated runs in `deep seeds` (1000)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        ["check"] => exit_code(check::run()),
        ["tidy"] => exit_code(tidy::run()),
        ["docs"] => exit_code(tidy::write_docs()),
        ["figures", words @ ..] => match figures::planned(words) {
            Ok(plan) => exit_code(figures::run(&plan)),
            Err(message) => wrong_usage(&message),
        },
        ["deep", names @ ..] => match deep::chosen_suites(names) {
            Ok(suites) => exit_code(deep::run(&suites)),
            Err(message) => wrong_usage(&message),
        },
        [] => wrong_usage("no command given"),
        unknown => wrong_usage(&format!("unknown command `{}`", unknown.join(" "))),
    }
}

fn exit_code(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn wrong_usage(message: &str) -> ExitCode {
    eprint!("xtask: {message}\n\n{USAGE}");
    ExitCode::from(2)
}
