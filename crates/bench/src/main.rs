//! The program `thalweg-bench`, which runs two commands of `thalweg`: [`bench`] runs and measures a workload, and [`replay`]
//! repeats the calls to a policy in such a run.
//!
//! `thalweg` becomes this program when it is asked for one of them. So the words on the command line begin with the command,
//! `thalweg-bench bench ysb`, and messages name `thalweg bench`. [`values`] reads the values that only `bench` has.
#![forbid(unsafe_code)]

mod bench;
mod replay;
mod values;

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use thalweg_cli::failure::{self, End};
use thalweg_cli::{handed_over, steering};

/// Commands of Thalweg for experiments.
#[derive(Parser)]
#[command(name = "thalweg", bin_name = "thalweg", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(about = handed_over::BENCH)]
    Bench(Box<bench::BenchArgs>),
    #[command(about = handed_over::REPLAY)]
    Replay(replay::ReplayArgs),
    /// Put back the priorities of threads when the tool that gave them is silent or ends. Tools start this themselves.
    #[command(name = steering::WATCHDOG, hide = true)]
    SteerWatchdog(steering::WatchdogArgs),
}

fn main() -> ExitCode {
    thalweg_memory::allocator::give_large_buffers_back();
    thalweg_sql::panics::keep_quiet();
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    failure::end(match cli.command {
        Command::Bench(args) => bench::run(&args, given_options(&matches)).map(End::from),
        Command::Replay(args) => replay::run(&args).map(End::from),
        Command::SteerWatchdog(args) => steering::watch(&args).map(|()| End::from(true)),
    })
}

/// Returns the options and arguments of the command that was given, and for each whether its value was given
/// or is a default.
fn given_options(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().expect("clap has asked for a command").1
}
