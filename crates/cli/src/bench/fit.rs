//! Which options of `bench` go together.
//!
//! What asks for something that cannot be had is refused. What would be read and then ignored is told, so that
//! nobody compares runs by a setting that neither of them used; it is not refused, so that one script can run every
//! `--api` with the same options.

use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;
use thalweg::Span;
use thalweg_workloads::nyt;
use thalweg_workloads::ysb::event;

use super::args::{BenchArgs, Workload};
use crate::failure::WrongOption;
use crate::options::Rate;

/// Refuses options that do not fit the workload or each other.
pub fn check(args: &BenchArgs) -> Result<()> {
    refusal(args).map_or(Ok(()), |problem| Err(WrongOption(problem).into()))
}

fn refusal(args: &BenchArgs) -> Option<String> {
    let window = window(args);
    let (unit_us, unit) = match args.workload {
        Workload::Ysb => (1_000, "milliseconds"),
        Workload::Nyt => (1_000_000, "seconds"),
    };
    if window.as_micros() < unit_us || window.as_micros() % unit_us != 0 {
        let (name, least) = (name(args.workload), Span::from_micros(unit_us));
        return Some(format!("--window is {window}, but {name} takes whole {unit}, from {least} on"));
    }
    if args.workload == Workload::Nyt && args.cyclic {
        return Some("--cyclic is for ysb: leave it away for nyt".to_owned());
    }
    if args.workload == Workload::Ysb && args.input.is_some() {
        return Some("--input: ysb has no recorded input; leave it away, or take nyt".to_owned());
    }
    if args.input.is_some() && args.rate != Rate::Max {
        return Some(
            "--rate: recorded input is read as fast as can be; leave it away with --input".to_owned(),
        );
    }
    if args.input.is_some() && args.queries != 1 {
        return Some("--queries: recorded input is read by one query; leave it away with --input".to_owned());
    }
    let api = args.api.loop_kind()?.name();
    if args.workload != Workload::Ysb {
        return Some(format!("--api {api}: the hand-written loops are for ysb; take typed for nyt"));
    }
    if args.queries != 1 {
        return Some(format!(
            "--queries: a hand-written loop is one query; leave it away with --api {api}, or take typed"
        ));
    }
    let unlike = [
        ("rate", args.rate != Rate::Max),
        ("window", window != event::WINDOW),
        ("results", args.results.is_some()),
    ];
    let (option, _) = unlike.into_iter().find(|(_, is_unlike)| *is_unlike)?;
    let loops = "the hand-written loops drain the generator into windows of 10s and write no file";
    Some(format!("--{option}: {loops}; leave it away with --api {api}, or take typed"))
}

/// The size of the windows.
pub fn window(args: &BenchArgs) -> Span {
    args.window.unwrap_or(match args.workload {
        Workload::Ysb => event::WINDOW,
        Workload::Nyt => nyt::WINDOW,
    })
}

/// The name of a workload in options, figures and files.
pub const fn name(workload: Workload) -> &'static str {
    match workload {
        Workload::Ysb => "ysb",
        Workload::Nyt => "nyt",
    }
}

/// What to tell of options that were given and have no effect.
pub fn idle_options(args: &BenchArgs, given: &ArgMatches) -> Vec<String> {
    let (idle, why): (&[&str], _) = if args.api.loop_kind().is_some() {
        let engine_only = &[
            "policy",
            "chain",
            "isolate",
            "chunk_blocks",
            "memory_budget",
            "out_of_order",
            "watermark_step",
            "on_bad",
        ];
        (engine_only, "on a hand-written loop, which runs without the engine")
    } else if args.input.is_some() {
        (&["seconds", "warmup", "seed"], "on recorded input, which is read to its end")
    } else {
        (&["on_bad"], "on generated input, which has no lines")
    };
    let is_given = |id: &&&str| given.value_source(id) == Some(ValueSource::CommandLine);
    let note = |id: &&str| format!("--{} has no effect {why}", id.replace('_', "-"));
    idle.iter().filter(is_given).map(note).collect()
}
