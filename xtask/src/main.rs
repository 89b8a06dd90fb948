//! Work on the tree itself: `cargo xtask <command>`, started through the alias in `.cargo/config.toml`.
//!
//! The modules, in the order in which a newcomer should read them:
//!
//! - [`check`]: the steps of continuous integration, one after the other;
//! - [`tidy`]: the rules of the tree that a machine can check, one module per rule;
//! - [`packages`]: licences, versions and sources of packages from outside;
//! - [`deep`]: the suites that are too slow for every change;
//! - [`figures`]: the figures of the README, measured again;
//! - [`services`]: real services, started on this machine without containers;
//! - [`e2e`]: our answers beside those of another engine that runs;
//! - [`engines`]: figures of the Lachesis paper on engines that are not ours;
//! - [`peers`]: the engine beside other engines, with equal questions;
//! - [`steps`]: runs, times and reports a step;
//! - [`workspace`]: the packages and directories that cargo reports.
//!
//! xtask imports no room, so it builds fast and runs even if a room does not compile.
//!
//! Exit codes: 0 for success, 1 when a step failed or tidy found something, 2 for an unknown command or option.

#![forbid(unsafe_code)]

mod check;
mod deep;
mod e2e;
mod engines;
mod figures;
mod packages;
mod peers;
mod services;
mod steps;
mod tidy;
mod workspace;

use std::env;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

commands:
  check            format, tidy, packages, clippy, tests and doctests, loom models; stops at the first failure
  tidy             checks of the tree alone: arrows between rooms, outside dependencies, module heads,
                   unsafe, atomics, dead files, links, words, file sizes, equal runs of lines, cards of operators
  tidy --clones    lists equal runs of 12 lines or more in the sources of the rooms, longest first
  packages         licences, versions and sources of packages from outside, by the lists of deny.toml; and cargo-deny,
                   if it is installed
  docs             writes the manual's page of operators, docs/operators.md, from their cards
  deep [suite..]   slow suites, all of them unless some are named:
                     loom      the models of memory and of the runtime with three preemptions in place of two
                     miri      the tests of memory under Miri (needs a nightly toolchain)
                     seeds     a thousand seeds of the deterministic simulation and of the operators
                     fuzz      records of each format, damaged files, options of tables, calls of functions and texts of SQL that are
                               made up
                     memory    the resident memory of the program, held against its budget
                     crosses   operators over all kinds of changes, aggregates in all forms of grouping
                     faults    errors of the system at calls of files, in jobs of every format
                     zones     windows of SQL in three zones, over changes of clocks
                     kills     runs that are killed, or asked to end, at random moments
                     lines     command lines that are made up
                     policies  queries drawn at random under any policy, with any number of workers and rows at a time
  figures [section..] [--rounds N] [--seconds S]
                   the figures of the README and more, as Markdown tables beside their targets: medians of N interleaved
                   rounds (5), with S seconds to a run in place of each section's own; an hour for all sections:
                     speeds      YSB drained, beside hand-written loops
                     sql         YSB in SQL, on one worker and on two
                     roads       Linear Road and taxis drained, beside a loop and another window
                     latency     at 1,000 events/s, and the CPU that takes
                     idle        the CPU of 20 queries with next to nothing to do
                     load        latency at 0.5 and 0.8 of the speed; `load-two` and `load-taxis` on two workers
                     queries     eight at once against one, and whether each gets its part
                     scaling     two workers inside one query, beside one
                     ablation    threads and workers, with queues and blocks between operators
                     modes       latency of threads and of workers, at ten rates
                     disorder    records out of order, and frequent watermarks
                     early       records out of order, at a rate that costs the generator nothing
                     machine     for how long the machine stops a thread
  services up|down|status [service..]
                   a real service on this machine, loopback only but for workers of Storm, fetched on first use into
                   a cache outside of the checkout; needs Java 17, Maven and Python with pip:
                     flink   Flink 2.3 with its SQL gateway
                     storm   Storm 2.8, for the topologies of bench/steer
                     storm1  Storm 1.2, whose executors have a thread that sends
  e2e flink [file..]
                   asks a Flink of its own every query of crates/sql/tests/queries, or of the files whose names
                   contain one of the words; compares, and writes the answers into crates/sql/tests/flink. Without
                   words it also steers Flink's threads by `thalweg steer flink`; `e2e flink steer` does this alone
  e2e storm|storm1 steers the threads of a Storm of its own, which runs ETL of bench/steer, by `thalweg steer storm`.
                   Steering needs root. It is tried with nice values, real-time priorities and shares, each until its
                   end, SIGTERM and SIGKILL; threads, control groups and settings of the machine must be as before.
                   `services down storm` ends a Storm that is left when this command is killed
  engines etl|stats|lrb [--rates A,B,C] [--seconds S] [--warmup S] [--repeat N] [--systems os,v1,nice,rt] [--out DIR]
                   figures and Table 1 of the Lachesis paper on a Storm (etl, stats) or a Flink (lrb) of its own, with its
                   threads on core 0 and all else on core 1: rates in records/s (0.9, 1.0 and 1.2 of the capacity, which is
                   measured first), S seconds (35) after a warm-up (20), N interleaved repetitions (2). DIR gets
                   report.md and comparison.json (`engines` below the target directory); needs root and two cores
  engines deadlines [--seconds S] [--warmup S] [--repeat N] [--periods A,B] [--out DIR]
                   two urgent queries of SQL beside six others on one core: on a Flink of its own whose threads policies by
                   deadlines steer every A, B, .. (100ms,1s,5s), and in our own engine; S seconds (20) after a warm-up (6)
  peers PEER..     the engine beside duckdb, polars, timely, renoir and flink: equal questions over equal data, equal answers, and
                   one table; `peers --help` has the questions and options
  help             this text

environment:
  XDG_CACHE_HOME        where downloads of services are kept, in `thalweg-services` (~/.cache)
  CARGO_TARGET_DIR      where everything is built; the loom models build in `loom` below it
  LOOM_MAX_PREEMPTIONS  bound of the loom models (check: 2, deep: 3)
  MIRIFLAGS             flags of Miri (-Zmiri-disable-isolation)
  THALWEG_DATA          folder of recorded data, for `engines` (shared/data beside the checkout)
  THALWEG_CALLS         number of calls of each function in `deep fuzz` (2000)
  THALWEG_COMBINATIONS  number of queries that `deep policies` draws (20000)
  THALWEG_FUZZ          number of inputs of each kind in `deep fuzz` and `deep lines` (20000)
  THALWEG_KILLS         number of runs that are killed in `deep kills` (300)
  THALWEG_MUTATIONS     how often each query is changed in `deep fuzz` (100)
  THALWEG_PROGRAM       a program `thalweg` that is built already, for steering in `e2e` (without it one is built) and in
                        `engines` and `peers` (target/release/thalweg)
  THALWEG_SEED_BASE     the first seed of all that is made up (check: the commit's hash where .ci/run is used)
  THALWEG_SEEDS         number of simulated runs in `deep seeds` and of errors in `deep faults` (1000), of draws in `deep zones` (1600),
                        and of runs of each pair in `deep crosses` (20)
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
        ["tidy", "--clones"] => exit_code(tidy::list_clones()),
        ["tidy", words @ ..] => wrong_usage(&format!("tidy takes no `{}`: only `--clones`", words.join(" "))),
        ["packages"] => exit_code(packages::run()),
        ["docs"] => exit_code(tidy::write_docs()),
        ["figures", words @ ..] => match figures::planned(words) {
            Ok(plan) => exit_code(figures::run(&plan)),
            Err(message) => wrong_usage(&message),
        },
        ["services", words @ ..] => match services::planned(words) {
            Ok((act, chosen)) => exit_code(services::run(act, &chosen)),
            Err(message) => wrong_usage(&message),
        },
        ["e2e", words @ ..] => match e2e::planned(words) {
            Ok(plan) => exit_code(e2e::run(plan)),
            Err(message) => wrong_usage(&message),
        },
        ["engines", "deadlines", words @ ..] => match engines::deadlines::planned(words) {
            Ok(plan) => exit_code(engines::deadlines::run(&plan)),
            Err(message) => wrong_usage(&message),
        },
        ["engines", words @ ..] => match engines::planned(words) {
            Ok(plan) => exit_code(engines::run(&plan)),
            Err(message) => wrong_usage(&message),
        },
        ["peers", words @ ..] if words.iter().any(|word| ["--help", "-h", "help"].contains(word)) => {
            print!("{}", peers::HELP);
            ExitCode::SUCCESS
        }
        ["peers", words @ ..] => match peers::planned(words) {
            Ok(plan) => exit_code(peers::run(&plan)),
            Err(message) => {
                eprint!("xtask: {message}\n\n{}", peers::HELP);
                ExitCode::from(2)
            }
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
