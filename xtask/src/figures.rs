//! `cargo xtask figures`: the figures of the README, measured anew.
//!
//! Machines drift, so everything runs interleaved: a round measures each side of each table once, and the medians over all
//! rounds count. Every run checks its own results. One wrong result ends the command.
//!
//! - [`speeds`], [`rates`]: the sections. A section is a table, and each of its lines has a command line, a
//!   figure that is read from its run, and a bound of the figure;
//! - [`section`]: the parts that a section is made of;
//! - [`mod@bench`]: runs the program, once for each side and round, and reads the figures;
//! - [`machine`]: measures for how long the machine stops a thread;
//! - [`scheduling`]: the time for choosing tasks, of every run of the engine;
//! - [`table`]: writes medians and spreads beside their targets, as Markdown.

pub(crate) mod bench;
mod machine;
mod rates;
mod scheduling;
mod section;
mod speeds;
mod table;

use anyhow::Result;

use crate::steps::{self, StepCommand};
use crate::workspace::Workspace;
use bench::Bench;
use section::Section;
use table::Table;

/// Number of rounds of measurement, unless the command line says another number.
const ROUNDS: usize = 5;

/// All sections of figures with their names on the command line, in the order in which they run.
const SECTIONS: [(&str, fn() -> Section); 15] = [
    ("speeds", speeds::speeds),
    ("sql", speeds::sql),
    ("roads", speeds::roads),
    ("latency", rates::latency),
    ("idle", rates::idle),
    ("load", rates::load),
    ("queries", rates::queries),
    ("scaling", speeds::scaling),
    ("ablation", speeds::ablation),
    ("modes", rates::modes),
    ("disorder", speeds::disorder),
    ("early", speeds::early),
    ("load-two", rates::load_two),
    ("load-taxis", rates::load_taxis),
    ("machine", rates::machine),
];

/// The sections and options of `figures` that a command line chooses.
#[derive(Debug, PartialEq)]
pub(crate) struct Plan {
    /// Names of the chosen sections, in the order of [`SECTIONS`].
    sections: Vec<&'static str>,
    rounds: usize,
    /// Length of each run in seconds, in place of the length that the section gives.
    seconds: Option<f64>,
}

/// Reads the command line of `figures`: `[section..] [--rounds N] [--seconds S]`. Without a name, every
/// section is chosen.
///
/// # Errors
///
/// Returns a message that shows the word that is wrong, and the words that are allowed in its place.
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

/// Builds the program with the fastest settings, measures the chosen sections, and prints their tables as
/// Markdown.
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

/// Measures the chosen sections by the function `run`, and returns their tables one below the other.
fn page(plan: &Plan, run: &mut bench::Run<'_>) -> Result<String> {
    let chosen = SECTIONS.iter().filter(|(name, _)| plan.sections.contains(name));
    let mut sections: Vec<_> = chosen.map(|(name, make)| (*name, make())).collect();
    let mut bench = Bench::new(run, plan.seconds);
    for round in 1..=plan.rounds {
        bench.begin_round();
        for (name, section) in &mut sections {
            eprintln!("== round {round} of {}: {name}", plan.rounds);
            for side in &mut section.sides {
                let figures = bench.figures(side)?;
                side.lines.iter_mut().zip(figures).for_each(|(line, figure)| line.measured.push(figure));
            }
        }
    }
    let mut tables: Vec<Table> = sections.iter().map(|(_, section)| section.table()).collect();
    tables.extend(scheduling::table(bench.shares()));
    Ok(tables.iter().map(Table::markdown).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests;
