//! `cargo xtask engines`: figures of the Lachesis paper on a real Storm and a real Flink, neither of them changed.
//!
//! | query | engine | figures of the paper |
//! |---|---|---|
//! | `etl` | Storm | 5, 10 and Table 1 |
//! | `stats` | Storm | 6, 11 and Table 1 |
//! | `lrb` | Flink | 9, 13 and Table 1 |
//!
//! The process whose threads run the query (Storm's worker, Flink's task manager) has core 0, and everything else has
//! core 1, as in the paper, which has four cores for each. A run starts the query anew, with `thalweg steer` beside it, and
//! measures after a warm-up. Runs of all systems are interleaved, and their order rotates.
//!
//! | system | name in the paper | `thalweg steer` |
//! |---|---|---|
//! | `os` | OS | looks only (`--dry-run`), so queues of all systems are seen by the same observer |
//! | `v1` | Lachesis | `--policy congestion_v1 --translator nice` |
//! | `nice` | Lachesis-Mod | `--policy congestion --translator nice` |
//! | `rt` | Lachesis-Mod-RT | `--policy congestion --translator rt` |
//!
//! - [`deadlines`]: policies by deadlines over Flink, with figures and a page of its own;
//! - [`query`]: the queries, and the cost of their operators;
//! - [`system`]: the systems that are compared;
//! - [`host`]: the engine, from its start to its end;
//! - [`process`]: cores, CPU time and settings of threads, as the kernel shows them;
//! - [`tool`]: `thalweg steer` beside the query, and [`rounds`], which it shows;
//! - [`trial`]: one run, and its figures;
//! - [`capacity`]: measures how many records a second the core takes;
//! - [`verdict`], [`claims`]: the claims of the paper, and whether they hold here;
//! - [`report`]: the page, and the file with all figures.
//!
//! Source: Frasca et al., "Accelerating Stream Processing Queries with Congestion-aware Scheduling and Real-time Linux
//! Threads", CF 2023, sections 5.1 to 5.3 and 5.5.

mod capacity;
mod claims;
pub(crate) mod deadlines;
mod host;
mod process;
mod query;
mod report;
mod rounds;
mod system;
mod tool;
mod trial;
mod verdict;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};

use crate::services::fetch;
use crate::workspace::Workspace;
use host::Host;
use query::Query;
use report::Evidence;
use system::System;
use trial::{Bench, Order, Trial};
pub(crate) use verdict::median;

/// Loads of the default rates, as multiples of the measured capacity: below it, at it and beyond it.
const LOADS: [f64; 3] = [0.9, 1.0, 1.2];
/// Default of the measured seconds: thirty rounds of steering, one a second, and some that may be skipped.
const SECONDS: u32 = 35;
/// Default of the seconds before figures count. The virtual machine compiles the operators meanwhile.
const WARMUP_S: u32 = 20;
/// Default of the number of repetitions.
const REPEAT: u32 = 2;
/// Longest warm-up, and longest measured time, in seconds.
const SECONDS_MAX: u32 = 3_600;
/// Most repetitions.
const REPEAT_MAX: u32 = 20;
/// Most rates.
const RATES_MAX: usize = 10;
/// Highest rate that the programs of the queries take, in records a second.
const RATE_MAX: f64 = 1e7;
/// Seconds that a run takes beside its warm-up and its measured time, about: starts and ends.
const BESIDE_S: u32 = 25;

/// A command line of `engines`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Plan {
    query: Query,
    /// Offered records per second; empty if they follow from the capacity.
    rates: Vec<f64>,
    lengths: Lengths,
    repeat: u32,
    systems: Vec<System>,
    /// Directory of the report; `None` for one below the target directory.
    out: Option<PathBuf>,
}

/// Lengths of a run, in seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Lengths {
    /// Time before figures count.
    warmup_s: u32,
    /// Time in which figures count.
    seconds: u32,
}

/// Reads the command line of `engines`: a query and its options.
///
/// # Errors
///
/// Returns a message that shows the word that is wrong, and the words that are allowed in its place.
pub(crate) fn planned(words: &[&str]) -> Result<Plan, String> {
    let (name, options) = words.split_first().ok_or("engines needs a query: etl, stats or lrb")?;
    let query = Query::named(name).ok_or(format!("unknown query `{name}`: choose from etl, stats, lrb"))?;
    let mut plan = Plan {
        query,
        rates: Vec::new(),
        lengths: Lengths { warmup_s: WARMUP_S, seconds: SECONDS },
        repeat: REPEAT,
        systems: System::ALL.to_vec(),
        out: None,
    };
    let mut options = options.iter();
    while let Some(&option) = options.next() {
        let value = *options.next().ok_or(format!("{option} needs a value"))?;
        match option {
            "--rates" => plan.rates = rates(value)?,
            "--seconds" => plan.lengths.seconds = whole(option, value, 1, SECONDS_MAX)?,
            "--warmup" => plan.lengths.warmup_s = whole(option, value, 0, SECONDS_MAX)?,
            "--repeat" => plan.repeat = whole(option, value, 1, REPEAT_MAX)?,
            "--systems" => plan.systems = systems(value)?,
            "--out" => plan.out = Some(value.into()),
            other => {
                return Err(format!(
                    "unknown option `{other}`: choose from --rates, --seconds, --warmup, --repeat, --systems, --out"
                ));
            }
        }
    }
    Ok(plan)
}

pub(crate) fn whole(option: &str, value: &str, least: u32, most: u32) -> Result<u32, String> {
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or(format!("{option} takes a whole number from {least} to {most}, and not `{value}`"))
}

fn rates(value: &str) -> Result<Vec<f64>, String> {
    let rate = |text: &str| text.parse().ok().filter(|rate: &f64| 0.0 < *rate && *rate <= RATE_MAX);
    let rates: Option<Vec<f64>> = value.split(',').map(rate).collect();
    let mut rates = rates.filter(|rates| rates.len() <= RATES_MAX).ok_or(format!(
        "--rates takes up to {RATES_MAX} numbers above 0, such as 300,400, and not `{value}`"
    ))?;
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    Ok(rates)
}

fn systems(value: &str) -> Result<Vec<System>, String> {
    let mut systems = Vec::new();
    for name in value.split(',') {
        let system =
            System::named(name).ok_or(format!("unknown system `{name}`: choose from os,v1,nice,rt"))?;
        if systems.contains(&system) {
            return Err(format!("--systems names {name} twice"));
        }
        systems.push(system);
    }
    Ok(systems)
}

/// Starts the engine, runs the query under each system at each rate, and writes the report after each run.
///
/// # Errors
///
/// A program, an engine or a run that fails. Runs before that stand in the report. The engine has ended then, and
/// priorities are put back.
pub(crate) fn run(plan: &Plan) -> Result<()> {
    let workspace = Workspace::open()?;
    let begin = Instant::now();
    let program = program(&workspace)?;
    let input = plan.query.input(&workspace.root)?;
    let out = plan.out.clone();
    let out = out.unwrap_or_else(|| workspace.target_directory.join("engines").join(plan.query.name()));
    let runs = out.join("runs");
    fs::create_dir_all(&runs).with_context(|| format!("could not make {}", runs.display()))?;
    let runs = runs.canonicalize()?;
    let steer = workspace.root.join("bench/steer");
    let project = steer.join("pom.xml").display().to_string();
    let build = ["-q", "-B", "-f", &project, "package"];
    fetch::call("build the queries for other engines in bench/steer", "mvn", &build)?;
    let jar = steer.join("target/steer.jar");

    process::pin(std::process::id(), process::OTHERS).context("the engine and the tool need a core each")?;
    let host = Host::start(plan.query.engine(), &program)?;
    let mut bench = Bench { host, query: plan.query, program, jar, input, runs };
    eprintln!("{} runs after {:.0} s", plan.query.engine().name(), begin.elapsed().as_secs_f64());
    let mut evidence = Evidence::new(plan);
    if plan.rates.is_empty() {
        let capacity_per_s = capacity::measured(&mut bench, plan.lengths)?;
        eprintln!("the core takes {capacity_per_s:.0} records/s");
        evidence.calibrated(capacity_per_s);
    }
    let orders = orders(plan, &evidence.rates);
    let each_s = plan.lengths.warmup_s + plan.lengths.seconds + BESIDE_S;
    eprintln!(
        "{} runs of about {each_s} s: some {} minutes",
        orders.len(),
        orders.len() as u32 * each_s / 60
    );
    for (place, (repetition, order)) in orders.iter().enumerate() {
        let name = format!("{}-{}-{repetition}-{}", plan.query.name(), place + 1, order.system.name());
        let figures = bench.run(&name, *order).with_context(|| format!("{name} at {}/s", order.rate))?;
        eprintln!("{} of {}: {}", place + 1, orders.len(), report::line(*order, &figures));
        evidence.trials.push(Trial { repetition: *repetition, order: *order, figures });
        report::write(&evidence, &out)?;
    }
    bench.host.note_success();
    drop(bench);
    print!("{}", report::page(&evidence));
    println!("\nAll figures: {}", out.join("comparison.json").display());
    eprintln!("all was run within {:.0} s", begin.elapsed().as_secs_f64());
    Ok(())
}

/// Returns the runs in their order, each with its repetition, counted from 1. The order of systems rotates from rate to rate
/// and from repetition to repetition, so that no system has always the same one before it.
fn orders(plan: &Plan, rates: &[f64]) -> Vec<(u32, Order)> {
    let mut orders = Vec::new();
    for repetition in 1..=plan.repeat {
        for (place, &rate) in rates.iter().enumerate() {
            let mut systems = plan.systems.clone();
            let turn = (place + repetition as usize - 1) % systems.len();
            systems.rotate_left(turn);
            let order = |system| (repetition, Order { system, rate, lengths: plan.lengths, is_probe: false });
            orders.extend(systems.into_iter().map(order));
        }
    }
    orders
}

/// Returns the path of the program `thalweg`: that of the environment, or the release build.
pub(crate) fn program(workspace: &Workspace) -> Result<PathBuf> {
    let given = env::var_os("THALWEG_PROGRAM").filter(|value| !value.is_empty()).map(PathBuf::from);
    let program = given.unwrap_or_else(|| workspace.target_directory.join("release/thalweg"));
    if !program.is_file() {
        bail!(
            "{} is not there: build it by `cargo build --release -p thalweg-cli`, or name it in THALWEG_PROGRAM",
            program.display()
        );
    }
    program.canonicalize().map_err(|error| anyhow!("{} cannot be used: {error}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_a_query_and_its_options() {
        let plan = planned(&["etl"]).unwrap();
        assert_eq!((plan.query, plan.repeat, plan.systems.len()), (Query::Etl, 2, 4));
        assert_eq!(plan.lengths, Lengths { warmup_s: 20, seconds: 35 });
        let words = "lrb --rates 900,800.5,900 --seconds 10 --warmup 0 --repeat 3 --systems rt,os --out here";
        let plan = planned(&words.split(' ').collect::<Vec<_>>()).unwrap();
        assert_eq!((plan.rates, plan.repeat), (vec![800.5, 900.0], 3));
        assert_eq!((plan.systems, plan.out), (vec![System::RealTime, System::Os], Some("here".into())));
        for (words, expected) in [
            ("ysb", "unknown query `ysb`"),
            ("etl --rate 3", "unknown option `--rate`"),
            ("etl --rates", "--rates needs a value"),
            ("etl --rates 0", "--rates takes up to 10 numbers"),
            ("etl --rates 1,x", "--rates takes up to 10 numbers"),
            ("etl --rates 1,2,3,4,5,6,7,8,9,10,11", "--rates takes up to 10 numbers"),
            ("etl --seconds 0", "--seconds takes a whole number from 1 to 3600, and not `0`"),
            ("etl --repeat 21", "--repeat takes a whole number from 1 to 20"),
            ("etl --systems os,os", "--systems names os twice"),
            ("etl --systems edgewise", "unknown system `edgewise`"),
        ] {
            let error = planned(&words.split(' ').collect::<Vec<_>>()).unwrap_err();
            assert!(error.starts_with(expected), "{words}: {error}");
        }
        assert!(planned(&[]).is_err());
    }

    #[test]
    fn orders_rotate_and_miss_nothing() {
        let plan = planned(&["etl", "--systems", "os,nice,rt", "--repeat", "2"]).unwrap();
        let orders = orders(&plan, &[300.0, 400.0]);
        let told: Vec<String> = orders
            .iter()
            .map(|(repetition, order)| format!("{repetition} {} {}", order.rate, order.system.name()))
            .collect();
        assert_eq!(
            told,
            [
                "1 300 os",
                "1 300 nice",
                "1 300 rt",
                "1 400 nice",
                "1 400 rt",
                "1 400 os", //
                "2 300 nice",
                "2 300 rt",
                "2 300 os",
                "2 400 rt",
                "2 400 os",
                "2 400 nice",
            ]
        );
    }
}
