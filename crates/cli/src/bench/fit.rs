//! Which options of `bench` go together.
//!
//! What asks for something that cannot be had is refused. What would be read and then ignored is told, so that
//! nobody compares runs by a setting that neither of them used; it is not refused, so that one script can run every
//! `--api` with the same options.

use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;
use thalweg::Span;

use super::args::BenchArgs;
use super::workload::{Facts, Windows, Workload};
use crate::failure::WrongOption;
use crate::options::Rate;

/// Refuses options that do not fit the workload or each other.
pub fn check(args: &BenchArgs) -> Result<()> {
    let refusal = || {
        let facts = args.workload.facts();
        of_windows(args, facts).or_else(|| of_files(args, facts)).or_else(|| of_generator(args, facts))
    };
    refusal().or_else(|| of_loop(args)).map_or(Ok(()), |problem| Err(WrongOption(problem).into()))
}

/// What is wrong with the windows.
fn of_windows(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let Facts { name, windows: Windows { unit, units, .. }, .. } = facts;
    let is_whole = |span: Span| *unit <= span && span.as_micros() % unit.as_micros() == 0;
    let window = args.window.filter(|window| !is_whole(*window))?;
    Some(format!("--window is {window}, but {name} takes whole {units}, from {unit} on"))
}

/// What is wrong with what is to be read.
fn of_files(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let name = facts.name;
    args.input.as_ref()?;
    if !facts.is_recorded {
        let others = Workload::names_of(|facts| facts.is_recorded);
        return Some(format!("--input: {name} has no recorded input; leave it away, or take {others}"));
    }
    if args.rate != Rate::Max {
        return Some(
            "--rate: recorded input is read as fast as can be; leave it away with --input".to_owned(),
        );
    }
    let one = "--queries: recorded input is read by one query; leave it away with --input";
    (args.queries != 1).then(|| one.to_owned())
}

/// What is wrong with what is to be generated.
fn of_generator(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let others = || Workload::names_of(|facts| facts.has_cycle);
    let is_wrong = args.cyclic && !facts.has_cycle;
    is_wrong.then(|| format!("--cyclic is for {}: leave it away for {}", others(), facts.name))
}

/// What a hand-written loop does not have.
fn of_loop(args: &BenchArgs) -> Option<String> {
    let (kind, Facts { name, windows, loops, .. }) = (args.api.loop_kind()?, args.workload.facts());
    let api = kind.name();
    if !loops.contains(&kind) {
        let there_is = match loops {
            [] => "no hand-written loop; take typed".to_owned(),
            [one] => format!("no other hand-written loop than {0}; take {0} or typed", one.name()),
            _ => unreachable!("a workload has no loop, one or all"),
        };
        return Some(format!("--api {api}: {name} has {there_is}"));
    }
    if args.queries != 1 {
        return Some(format!(
            "--queries: a hand-written loop is one query; leave it away with --api {api}, or take typed"
        ));
    }
    let Windows { size, .. } = windows;
    let unlike = [
        ("rate", args.rate != Rate::Max),
        ("window", window(args) != *size),
        ("results", args.results.is_some()),
    ];
    let (option, _) = unlike.into_iter().find(|(_, is_unlike)| *is_unlike)?;
    let loops =
        format!("the hand-written loops drain the generator into windows of {size} and write no file");
    Some(format!("--{option}: {loops}; leave it away with --api {api}, or take typed"))
}

/// The size of the windows.
pub fn window(args: &BenchArgs) -> Span {
    args.window.unwrap_or(args.workload.facts().windows.size)
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
