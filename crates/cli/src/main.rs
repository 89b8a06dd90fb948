//! The command line `thalweg`: [`bench`] runs and measures a workload, [`demo`] shows two of them live.
//!
//! [`options`] reads values with units, [`interrupt`] turns Ctrl-C into a drain, [`usage`] asks the operating
//! system what a run has cost. Exit codes: 0 all is well, 1 a run failed or its results are wrong, 2 the command
//! line is wrong.
#![forbid(unsafe_code)]

mod bench;
mod demo;
mod interrupt;
mod options;
mod usage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Stream processing on one machine.
#[derive(Parser)]
#[command(name = "thalweg", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a benchmark workload, check its results and measure it.
    Bench(bench::BenchArgs),
    /// Run two queries live for a while, then show what they did.
    Demo(demo::DemoArgs),
}

fn main() -> ExitCode {
    let ran = match Cli::parse().command {
        Command::Bench(args) => bench::run(&args),
        Command::Demo(args) => demo::run(&args),
    };
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("thalweg: {error:#}");
            let wrong_options = error.downcast_ref::<options::WrongOption>().is_some();
            ExitCode::from(if wrong_options { 2 } else { 1 })
        }
    }
}
