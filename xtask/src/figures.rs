//! `cargo xtask figures`: the figures of the README, measured anew.
//!
//! Machines drift, so everything runs interleaved: a round measures each side of each table once, and what counts are
//! the medians over the rounds. Every run checks its own results; one wrong result ends the whole.
//!
//! - [`mod@bench`]: runs the program, once for each side and round;
//! - [`table`]: medians and spreads beside their targets, as Markdown;
//! - [`speeds`], [`latency`], [`modes`], [`idle`], [`load`], [`queries`]: a section each, which is a table with its sides;
//! - [`machine`]: what the machine itself takes from whoever runs on it;
//! - [`scheduling`]: of every run of the engine, the time that went into choosing tasks.

mod bench;
mod idle;
mod latency;
mod load;
mod machine;
mod modes;
mod queries;
mod scheduling;
mod speeds;
mod table;

use anyhow::Result;

use crate::steps::{self, StepCommand};
use crate::workspace::Workspace;
use bench::Bench;
use table::Table;

/// Rounds, unless said.
const ROUNDS: usize = 5;

/// A table and the runs that it comes from.
trait Section {
    /// Runs each side once more.
    fn measure(&mut self, bench: &mut Bench<'_>) -> Result<()>;

    /// What all rounds have given.
    fn table(&self) -> Table;
}

/// Every section with its name on the command line, in the order in which they run.
const SECTIONS: [(&str, fn() -> Box<dyn Section>); 15] = [
    ("speeds", || Box::new(speeds::Speeds::of(speeds::YSB))),
    ("sql", || Box::new(speeds::Speeds::of(speeds::SQL))),
    ("roads", || Box::new(speeds::Speeds::of(speeds::ROADS))),
    ("latency", || Box::new(latency::Latency::default())),
    ("idle", || Box::new(idle::Idle::default())),
    ("load", || Box::new(load::Load::of(load::ONE))),
    ("queries", || Box::new(queries::Queries::default())),
    ("scaling", || Box::new(speeds::Speeds::of(speeds::SCALING))),
    ("ablation", || Box::new(speeds::Speeds::of(speeds::ABLATION))),
    ("modes", || Box::new(modes::Modes::default())),
    ("disorder", || Box::new(speeds::Speeds::of(speeds::DISORDER))),
    ("early", || Box::new(speeds::Speeds::of(speeds::EARLY))),
    ("load-two", || Box::new(load::Load::of(load::TWO))),
    ("load-taxis", || Box::new(load::Load::of(load::TAXIS))),
    ("machine", || Box::new(machine::Machine::default())),
];

/// What to measure, and how long.
#[derive(Debug, PartialEq)]
pub(crate) struct Plan {
    /// By name, in the order of [`SECTIONS`].
    sections: Vec<&'static str>,
    rounds: usize,
    /// Of each run, in place of its own.
    seconds: Option<f64>,
}

/// What the command line asks for: `[section..] [--rounds N] [--seconds S]`; every section when it names none.
///
/// # Errors
///
/// A message that shows the word that is wrong and what may stand there.
pub(crate) fn planned(arguments: &[&str]) -> Result<Plan, String> {
    let known: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
    let (mut chosen, mut rounds, mut seconds) = (Vec::new(), ROUNDS, None);
    let mut words = arguments.iter();
    while let Some(&word) = words.next() {
        match word {
            "--rounds" => {
                let number = words.next().and_then(|value| value.parse().ok()).filter(|&number| number > 0);
                rounds = number.ok_or("--rounds takes a whole number, from 1 on")?;
            }
            "--seconds" => {
                let number = words.next().and_then(|value| value.parse::<f64>().ok());
                let number = number.filter(|number| (0.001..=86_400.0).contains(number));
                seconds = Some(number.ok_or("--seconds takes a number from 0.001 to 86400")?);
            }
            name if known.contains(&name) => chosen.push(name),
            name => return Err(format!("unknown section `{name}`: choose from {}", known.join(", "))),
        }
    }
    let sections = known.into_iter().filter(|name| chosen.is_empty() || chosen.contains(name)).collect();
    Ok(Plan { sections, rounds, seconds })
}

/// Builds the fastest binary, measures, and prints the tables as Markdown.
///
/// # Errors
///
/// A build or a run that fails, or a result that is wrong.
pub(crate) fn run(plan: &Plan) -> Result<()> {
    let workspace = Workspace::open()?;
    steps::run(&StepCommand::cargo(
        "build",
        &workspace,
        &["build", "--profile", "fastest", "--package", "thalweg-cli", "--package", "thalweg-bench"],
    ))?;
    let binary = workspace.target_directory.join("fastest").join("thalweg");
    print!("{}", page(plan, &mut |options| bench::run_binary(&binary, options))?);
    Ok(())
}

/// Measures with `run`, and writes the tables below each other.
fn page(plan: &Plan, run: &mut bench::Run<'_>) -> Result<String> {
    let chosen = SECTIONS.iter().filter(|(name, _)| plan.sections.contains(name));
    let mut sections: Vec<_> = chosen.map(|(name, make)| (*name, make())).collect();
    let mut bench = Bench::new(run, plan.seconds);
    for round in 1..=plan.rounds {
        bench.begin_round();
        for (name, section) in &mut sections {
            eprintln!("== round {round} of {}: {name}", plan.rounds);
            section.measure(&mut bench)?;
        }
    }
    let mut tables: Vec<Table> = sections.iter().map(|(_, section)| section.table()).collect();
    tables.extend(scheduling::table(bench.shares()));
    Ok(tables.iter().map(Table::markdown).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests;
