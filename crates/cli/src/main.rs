//! The command line `thalweg`. [`sql`] runs, checks, explains and tests files of SQL, [`state`] shows checkpoints on disk,
//! [`demo`] shows several queries live, [`steer`] gives the threads of a running engine priorities, and [`hand_over`] gives `bench` and `replay` to the program
//! `thalweg-bench`.
#![forbid(unsafe_code)]

mod demo;
mod hand_over;
mod sql;
mod state;
mod steer;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use thalweg_cli::failure::{self, End};
use thalweg_cli::{handed_over, steering};

/// Thalweg: many streaming queries on one machine.
#[derive(Parser)]
#[command(name = "thalweg", version, max_term_width = 100, after_help = "Begin with: thalweg demo")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a file of SQL; rows without a table go to standard output.
    Run(Box<sql::RunArgs>),
    /// Tell what is wrong with a file of SQL, and whether Flink can run it.
    Check(sql::CheckArgs),
    /// Show how a file of SQL would be run.
    Explain(sql::ExplainArgs),
    /// Run queries from files that also hold their input and expected rows.
    Test(sql::TestArgs),
    /// Show and check the checkpoints in a directory of state.
    State(state::StateArgs),
    /// Run several queries live for a while, then show what they did.
    Demo(demo::DemoArgs),
    /// Give the threads of a running Flink priorities by a scheduling policy.
    Steer(Box<steer::SteerArgs>),
    /// Put back the priorities of threads when the tool that gave them is silent or ends. Tools start this themselves.
    #[command(name = steering::WATCHDOG, hide = true)]
    SteerWatchdog(steering::WatchdogArgs),
    #[command(about = handed_over::BENCH)]
    Bench(hand_over::Words),
    #[command(about = handed_over::REPLAY)]
    Replay(hand_over::Words),
}

fn main() -> ExitCode {
    thalweg_memory::allocator::give_large_buffers_back();
    thalweg_sql::panics::keep_quiet();
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if hand_over::is_asked_for_help(&words) {
        return failure::end(Err(hand_over::to_program(words)));
    }
    failure::end(match Cli::parse().command {
        Command::Run(args) => sql::run(&args),
        Command::Check(args) => sql::check(&args).map(End::from),
        Command::Explain(args) => sql::explain(&args).map(End::from),
        Command::Test(args) => sql::test(&args).map(End::from),
        Command::State(args) => state::run(&args).map(End::from),
        Command::Demo(args) => demo::run(&args).map(End::from),
        Command::Steer(args) => steer::run(&args).map(End::from),
        Command::SteerWatchdog(args) => steering::watch(&args).map(|()| End::from(true)),
        Command::Bench(_) | Command::Replay(_) => Err(hand_over::to_program(words)),
    })
}
