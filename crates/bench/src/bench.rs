//! `thalweg bench`: runs a workload, checks its results against the reference, and measures it.
//!
//! [`args`] has its options; [`chain`], [`modes`] and [`parallel`] have the values of some of them.
//! [`workload`] states which options each workload takes, [`fit`] which options go together, and [`files`]
//! which files may be used.
//!
//! [`ysb`], [`nyt`], [`lrb`], [`lrb_full`], [`netmon`] and [`join`] make the queries and check their results.
//! Their input is generated, as [`offered`] under the [`load`] of each query and perhaps [`delayed`], or [`recorded`]; [`plain_lines`]
//! reads recorded input for the reference. [`linear_road`] is shared by the two Linear Road workloads.
//! [`lines`] does the same for grep, word count, distinct, tweets, ETL and STATS, whose input is lines of text, and
//! [`ipq`] runs Cameo's queries, and [`nexmark`] those of Nexmark, which are in SQL. [`mixed`] and [`tenants`] consist of several [`part`]s, whose queries are not
//! alike.
//!
//! [`drive`] runs the queries for a while, [`by_hand`] the loops that they are measured against. [`ablate`]
//! lists the mechanisms that can be switched off. [`target_delay`] finds a rate by its output delay.
//! [`rows`] keeps the results, [`digests`] a digest of them where they are too many. [`report`] writes the
//! figures as text or JSON, with the [`parameters`] of the policy; [`queues`] computes how unevenly records wait, and [`work`] what operators have
//! done. [`steer`] gives the threads of a run priorities. [`observe`] samples queries while they run, [`calls`] keeps the calls to the policy, [`compare`]
//! puts runs side by side, and [`experiment`] repeats the papers' experiments.

mod ablate;
mod args;
mod by_hand;
pub mod calls;
mod chain;
mod compare;
mod comparison;
mod delayed;
mod digests;
mod drive;
mod experiment;
mod explained;
mod files;
mod fit;
mod ipq;
mod join;
mod latency;
mod linear_road;
mod lines;
mod load;
mod lrb;
mod lrb_full;
mod mixed;
mod modes;
mod netmon;
mod nexmark;
mod nyt;
mod observe;
mod offered;
mod parallel;
pub mod parameters;
mod part;
mod plain_lines;
mod queues;
mod recorded;
mod report;
mod rows;
mod steer;
mod target;
mod target_delay;
mod tenants;
mod verdict;
mod windows;
mod work;
mod workload;
mod ysb;

use std::io::{self, IsTerminal};

use anyhow::Result;
use clap::ArgMatches;
use thalweg_cli::console;
use thalweg_cli::failure::WrongOption;
use thalweg_cli::interrupt::Interrupt;
use thalweg_scheduling::Trace;

pub use args::BenchArgs;

use args::Format;
use comparison::{Comparison, Run};
use explained::Explained;
use lines::{Distinct, Etl, Grep, Stats, Tweets, WordCount};
use observe::Observer;
use report::Figures;
use target::Target;
use workload::{Facts, Workload};

/// Runs the workload as often as the options ask; returns `false` if a result is wrong. Ctrl-C ends the
/// current run, whose figures are shown, and cancels the runs after it.
pub fn run(args: &BenchArgs, given: &ArgMatches) -> Result<bool> {
    fit::check(args)?;
    fit::idle_options(args, given).iter().for_each(|note| console::note(note));
    // A hand-written loop has no source that could be asked to end. So no handler of Ctrl-C is installed for
    // it, and Ctrl-C ends the process, as it does by default.
    let interrupt = if args.api.loop_kind().is_none() { Some(Interrupt::listen()?) } else { None };
    let interrupt = interrupt.as_ref();
    if let Target::Experiment(experiment) = args.target {
        let args = fit::experiment(experiment, args, given);
        let Some(folder) = &args.out else {
            return Err(
                WrongOption("--out: an experiment writes a page: say into which folder".to_owned()).into()
            );
        };
        return experiment::run(experiment, &args, folder, interrupt, |args| run_once(args, interrupt));
    }
    let args = &tenants::with_rate(args, interrupt)?;
    // The options are checked a second time. If the load of the bulk queries of `tenants` was given as a
    // multiple of their capacity, it is now a rate in records per second, which the first check could not
    // compare with its bounds.
    fit::check(args)?;
    let mut runs = Vec::new();
    for args in by_turns(args) {
        let run = |args: &BenchArgs| run_once(args, interrupt);
        let figures = match args.target_delay {
            Some(target) => target_delay::find(&args, target, run),
            None => run(&args),
        };
        if let Err(error) = &figures
            && let Some(Explained(plan)) = error.downcast_ref()
        {
            console::out(plan)?;
            return Ok(true);
        }
        let figures = figures?;
        if figures.interrupted && io::stdout().is_terminal() {
            // A new line ends the line of the terminal that shows `^C`.
            console::out("\n")?;
        }
        match args.output {
            Format::Text => console::out(&figures.text())?,
            Format::Json => console::out(&format!("{}\n", figures.json()?))?,
        }
        if let (Some(file), Some(trace)) = (&args.trace, &args.calls) {
            calls::write(trace, file)?;
        }
        let series = args.observer.clone().map(Observer::finish).unwrap_or_default();
        let repetition = (runs.len() / args.policy.len().max(1)) as u32;
        runs.push(Run { label: args.policy().to_owned(), at: None, repetition, figures, series });
        if interrupt.is_some_and(Interrupt::is_pressed) {
            break;
        }
    }
    let all_ok = runs.iter().all(|run| run.figures.ok);
    if let Some(folder) = &args.out {
        compare::write(&comparison(args, runs), folder)?;
        console::note(&format!("wrote {}", folder.join("index.html").display()));
    }
    Ok(all_ok)
}

/// Returns the runs to do: every policy once per repetition. Each repetition begins with another policy,
/// because machines change their speed.
fn by_turns(args: &BenchArgs) -> Vec<BenchArgs> {
    let mut runs = Vec::new();
    for round in 0..args.repeat as usize {
        for turn in 0..args.policy.len() {
            let policy = args.policy[(round + turn) % args.policy.len()].clone();
            let observer = args.out.as_ref().map(|_| Observer::new());
            let settings = args.policy_settings();
            let calls = args.trace.as_ref().map(|_| Trace::new(calls::CALLS_MAX).with_settings(settings));
            runs.push(BenchArgs { policy: vec![policy], observer, calls, ..args.clone() });
        }
    }
    runs
}

fn comparison(args: &BenchArgs, runs: Vec<Run>) -> Comparison {
    let Facts { name, .. } = args.workload().facts();
    let title = match &args.policy[..] {
        [policy] => format!("{name} under {policy}"),
        policies => format!("{name}: {}", policies.join(", ")),
    };
    let about = format!(
        "Each policy {} for {} s, by turns. Figures are totals of all queries, and medians where there were several runs.",
        if args.repeat == 1 { "once".to_owned() } else { format!("{} times", args.repeat) },
        args.seconds
    );
    let command: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    Comparison {
        title,
        about,
        command: format!("thalweg {}", command.join(" ")),
        machine: compare::machine(args.seed),
        claims: Vec::new(),
        axis: None,
        runs,
    }
}

/// Runs the workload of the options once, and returns its settings and measurements.
fn run_once(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    match args.workload() {
        Workload::Ysb => ysb::run(args, interrupt),
        Workload::Nyt => nyt::run(args, interrupt),
        Workload::Lrb => lrb::run(args, interrupt),
        Workload::LrbFull => lrb_full::run(args, interrupt),
        Workload::Grep => lines::run(args, &Grep, interrupt),
        Workload::Wordcount => lines::run(args, &WordCount, interrupt),
        Workload::Distinct => lines::run(args, &Distinct, interrupt),
        Workload::Tweets => lines::run(args, &Tweets::of(args)?, interrupt),
        Workload::Netmon => netmon::run(args, interrupt),
        Workload::Etl => lines::run(args, &Etl::of(args)?, interrupt),
        Workload::Stats => lines::run(args, &Stats::of(args), interrupt),
        Workload::Join => join::run(args, interrupt),
        Workload::Ipq1 | Workload::Ipq2 => ipq::run_revenue(args, interrupt),
        Workload::Ipq3 => ipq::run_events(args, interrupt),
        Workload::Ipq4 => ipq::run_errors(args, interrupt),
        Workload::Mixed => mixed::run(args, interrupt),
        Workload::Tenants => tenants::run(args, interrupt),
        _ => nexmark::run(args, interrupt),
    }
}
