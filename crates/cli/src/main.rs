//! The command line `thalweg`: [`bench`] runs and measures a workload, [`demo`] shows several of them live,
//! [`replay`] repeats the calls to a policy in a run. [`sql`] runs, checks, explains and tests files of SQL.
//!
//! [`options`] reads values with units, [`interrupt`] turns Ctrl-C into a drain, [`show`] formats numbers for
//! people, [`console`] writes all text, and [`failure`] turns errors into one line and an exit code.
#![forbid(unsafe_code)]

mod bench;
mod console;
mod demo;
mod failure;
mod interrupt;
mod options;
mod replay;
mod show;
mod sql;

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use failure::End;

/// Thalweg: many streaming queries on one machine.
#[derive(Parser)]
#[command(name = "thalweg", version, max_term_width = 100, after_help = "Begin with: thalweg demo")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a file of SQL: its rows go where it says, or to standard output.
    Run(Box<sql::RunArgs>),
    /// Tell what is wrong with a file of SQL, and whether Flink can run it.
    Check(sql::CheckArgs),
    /// Show how a file of SQL would be run.
    Explain(sql::ExplainArgs),
    /// Run queries whose input and rows are written in files.
    Test(sql::TestArgs),
    /// Run several queries live for a while, then show what they did.
    Demo(demo::DemoArgs),
    /// Run a benchmark workload, check its results and measure it.
    Bench(Box<bench::BenchArgs>),
    /// Ask a policy again what a run has asked of one, and tell where it answers otherwise.
    Replay(replay::ReplayArgs),
}

fn main() -> ExitCode {
    thalweg_sql::panics::keep_quiet();
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    failure::end(match cli.command {
        Command::Run(args) => sql::run(&args),
        Command::Check(args) => sql::check(&args).map(End::from),
        Command::Explain(args) => sql::explain(&args).map(End::from),
        Command::Test(args) => sql::test(&args).map(End::from),
        Command::Demo(args) => demo::run(&args).map(End::from),
        Command::Bench(args) => bench::run(&args, given_options(&matches)).map(End::from),
        Command::Replay(args) => replay::run(&args).map(End::from),
    })
}

/// Returns the options and arguments of the command, with the sources of their values.
fn given_options(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().expect("clap has asked for a command").1
}
