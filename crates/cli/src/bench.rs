//! `thalweg bench`: runs a workload, checks its results against the reference, and measures it.
//!
//! [`args`] are its options, [`chain`] and [`parallel`] the values of two of them. [`workload`] says what each workload takes, [`fit`]
//! which options go together, [`files`] which files may. [`ysb`], [`nyt`], [`lrb`], [`lrb_full`], [`netmon`] and [`join`]
//! make the queries and check what comes out, from generated input, as [`offered`], or from [`recorded`], of which
//! [`plain_lines`] are given to the reference; [`linear_road`] is what two of them share. [`grep`], [`wordcount`],
//! [`distinct`] and [`tweets`] do the same from lines of text, by way of [`lines`]. [`drive`] runs them for a while,
//! [`by_hand`] the loops that they are measured against. [`ablate`] is what can be switched off, [`target`] finds a rate by
//! its output delay. [`rows`] keeps the results, [`digests`] what is left of many,
//! [`report`] writes the figures as text or JSON.

mod ablate;
mod args;
mod by_hand;
mod chain;
mod digests;
mod distinct;
mod drive;
mod files;
mod fit;
mod grep;
mod join;
mod linear_road;
mod lines;
mod lrb;
mod lrb_full;
mod netmon;
mod nyt;
mod offered;
mod parallel;
mod plain_lines;
mod recorded;
mod report;
mod rows;
mod target;
mod tweets;
mod wordcount;
mod workload;
mod ysb;

use std::io::{self, IsTerminal};

use anyhow::{Context, Result};
use clap::ArgMatches;
use thalweg::{Engine, Generate};
use thalweg_memory::Reservation;

pub use args::BenchArgs;

use crate::console;
use crate::interrupt::Interrupt;
use args::Format;
use report::Figures;
use workload::Workload;

/// Runs the workload as often as asked; `false` if a result is wrong. Ctrl-C ends the run at hand, whose figures
/// are shown, and those that would follow it.
pub fn run(args: &BenchArgs, given: &ArgMatches) -> Result<bool> {
    fit::check(args)?;
    fit::idle_options(args, given).iter().for_each(|note| console::note(note));
    // A loop has no source that could be asked to end: there, Ctrl-C ends the process, as it does by default.
    let interrupt = if args.api.loop_kind().is_none() { Some(Interrupt::listen()?) } else { None };
    let interrupt = interrupt.as_ref();
    let mut all_ok = true;
    for _ in 0..args.repeat {
        let run = |args: &BenchArgs| run_once(args, interrupt);
        let figures = match args.target_delay {
            Some(target) => target::find(args, target, run)?,
            None => run(args)?,
        };
        if figures.interrupted && io::stdout().is_terminal() {
            // Behind the `^C` that the terminal has shown.
            console::out("\n")?;
        }
        match args.output {
            Format::Text => console::out(&figures.text())?,
            Format::Json => console::out(&format!("{}\n", figures.json()?))?,
        }
        all_ok &= figures.ok;
        if interrupt.is_some_and(Interrupt::is_pressed) {
            break;
        }
    }
    Ok(all_ok)
}

/// One run.
fn run_once(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    match args.workload {
        Workload::Ysb => ysb::run(args, interrupt),
        Workload::Nyt => nyt::run(args, interrupt),
        Workload::Lrb => lrb::run(args, interrupt),
        Workload::LrbFull => lrb_full::run(args, interrupt),
        Workload::Grep => grep::run(args, interrupt),
        Workload::Wordcount => wordcount::run(args, interrupt),
        Workload::Distinct => distinct::run(args, interrupt),
        Workload::Tweets => tweets::run(args, interrupt),
        Workload::Netmon => netmon::run(args, interrupt),
        Workload::Join => join::run(args, interrupt),
    }
}

/// Counts the cache of a generator in the budget, as long as the reservation is held.
fn reserve_cache(engine: &Engine, generator: &impl Generate) -> Result<Reservation> {
    let reserved = engine.budget().reserve(generator.cache_bytes());
    reserved.context("BUDGET_TOO_SMALL: the generator's cache does not fit into --memory-budget")
}
