//! `cargo xtask deep`: the suites that take minutes, run on demand and at night.
//!
//! Each deepens something that `check` already runs in small: more preemptions for the loom models, an
//! interpreter that sees undefined behaviour for memory's tests, more seeds for the simulation, more records and texts of SQL
//! that are made up, more queries whose memory is measured, more errors at calls of files, more runs that are killed.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::check;
use crate::steps::{self, StepCommand};
use crate::workspace::Workspace;

/// A nightly whose Miri is known to run these tests.
const MIRI_TOOLCHAIN: &str = "+nightly-2026-10-30";

/// One slow suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    /// The loom models with a wider bound.
    Loom,
    /// The tests of memory under Miri.
    Miri,
    /// The deterministic simulation over many seeds.
    Seeds,
    /// Records, files, options, calls of functions and texts of SQL that are made up.
    Fuzz,
    /// The resident memory of the program, held against its budget.
    Memory,
    /// Operators over all kinds of changes, and aggregates in all forms of grouping.
    Crosses,
    /// Errors of the operating system at calls of files.
    Faults,
    /// Windows of SQL in zones, over changes of clocks.
    Zones,
    /// Runs of the program that are killed, or asked to end, at random moments.
    Kills,
    /// Command lines that are made up.
    Lines,
    /// Queries under policies, workers and rows at a time that are drawn.
    Policies,
}

/// Every suite with its name on the command line, in the order in which they run.
const SUITES: &[(&str, Suite)] = &[
    ("loom", Suite::Loom),
    ("miri", Suite::Miri),
    ("seeds", Suite::Seeds),
    ("fuzz", Suite::Fuzz),
    ("memory", Suite::Memory),
    ("crosses", Suite::Crosses),
    ("faults", Suite::Faults),
    ("zones", Suite::Zones),
    ("kills", Suite::Kills),
    ("lines", Suite::Lines),
    ("policies", Suite::Policies),
];

/// Runs `suites` one after the other, those behind one that fails, too: a night is to tell of all.
///
/// # Errors
///
/// All suites that failed, or a toolchain that is missing, with the command that installs it.
pub(crate) fn run(suites: &[Suite]) -> Result<()> {
    let workspace = Workspace::open()?;
    // Before the first suite: what is missing should be told now, not after the minutes that loom takes.
    if suites.contains(&Suite::Miri) {
        require_miri()?;
    }
    run_all(suites, |suite| steps::run(&suite_step(suite, &workspace)))
}

fn run_all(suites: &[Suite], mut run: impl FnMut(Suite) -> Result<()>) -> Result<()> {
    let failures: Vec<String> =
        suites.iter().filter_map(|suite| run(*suite).err()).map(|error| format!("\n  {error:#}")).collect();
    if !failures.is_empty() {
        bail!("{} of {} suites failed:{}", failures.len(), suites.len(), failures.concat());
    }
    Ok(())
}

/// The suites that `names` ask for; all of them when there is no name.
///
/// # Errors
///
/// A message that shows the unknown name and the known ones.
pub(crate) fn chosen_suites(names: &[&str]) -> Result<Vec<Suite>, String> {
    if names.is_empty() {
        return Ok(SUITES.iter().map(|(_, suite)| *suite).collect());
    }
    names
        .iter()
        .map(|name| {
            let known = SUITES.iter().find(|(known, _)| known == name);
            known.map(|(_, suite)| *suite).ok_or_else(|| {
                let known: Vec<&str> = SUITES.iter().map(|(known, _)| *known).collect();
                format!("unknown suite `{name}`: choose from {}", known.join(", "))
            })
        })
        .collect()
}

fn suite_step(suite: Suite, workspace: &Workspace) -> StepCommand {
    match suite {
        Suite::Loom => check::loom_models("loom", workspace, "3"),
        // `+toolchain` is understood by rustup's cargo alone, which is the one found by name, and not by the
        // toolchain's own that `$CARGO` points to. Memory asks the system for pages, so isolation is off.
        Suite::Miri => StepCommand::program(
            "miri",
            workspace,
            "cargo",
            &[MIRI_TOOLCHAIN, "miri", "test", "-p", "thalweg-memory"],
        )
        .default_env("MIRIFLAGS", "-Zmiri-disable-isolation")
        // Miri runs a thousand times slower: few random cases, all the written ones.
        .default_env("PROPTEST_CASES", "4"),
        Suite::Seeds => StepCommand::cargo(
            "seeds",
            workspace,
            &[
                "test",
                "--release",
                "-p",
                "thalweg-testkit",
                "--test",
                "simulation",
                "--test",
                "epochs",
                "--test",
                "operators",
                "--test",
                "oracles",
                "--test",
                "properties",
                "--test",
                "stopping",
            ],
        )
        .default_env("THALWEG_SEEDS", "1000"),
        Suite::Fuzz => StepCommand::cargo(
            "fuzz",
            workspace,
            &[
                "test",
                "-p",
                "thalweg-sql",
                "--lib",
                "--test",
                "mutations",
                "--test",
                "options",
                "--",
                "formats",
                "nearly_sql",
                "functions::hostile",
            ],
        )
        .default_env("THALWEG_CALLS", "2000")
        .default_env("THALWEG_FUZZ", "20000")
        .default_env("THALWEG_MUTATIONS", "100"),
        // One after the other: each case is to have the machine's memory to itself. The figures are printed.
        Suite::Memory => StepCommand::cargo(
            "memory",
            workspace,
            &[
                "test",
                "-p",
                "thalweg-cli",
                "-p",
                "thalweg-bench",
                "--test",
                "memory",
                "--",
                "--include-ignored",
                "--nocapture",
                "--test-threads",
                "1",
            ],
        ),
        Suite::Crosses => {
            StepCommand::cargo("crosses", workspace, &["test", "-p", "thalweg-sql", "--test", "crosses"])
                .default_env("THALWEG_SEEDS", "20")
        }
        Suite::Faults => StepCommand::cargo(
            "faults",
            workspace,
            &["test", "-p", "thalweg-testkit", "--test", "file_injection"],
        )
        .default_env("THALWEG_SEEDS", "1000"),
        Suite::Zones => StepCommand::cargo(
            "zones",
            workspace,
            &["test", "--release", "-p", "thalweg-testkit", "--test", "zones", "--test", "sql_silence"],
        )
        .default_env("THALWEG_SEEDS", "1600"),
        Suite::Kills => StepCommand::cargo(
            "kills",
            workspace,
            &["test", "--release", "-p", "thalweg-cli", "--test", "cli", "--", "kills"],
        )
        .default_env("THALWEG_KILLS", "300"),
        Suite::Lines => StepCommand::cargo(
            "lines",
            workspace,
            &[
                "test",
                "-p",
                "thalweg-cli",
                "-p",
                "thalweg-bench",
                "--test",
                "cli",
                "--test",
                "bench",
                "--",
                "command_lines",
            ],
        )
        .default_env("THALWEG_FUZZ", "20000"),
        Suite::Policies => StepCommand::cargo(
            "policies",
            workspace,
            &["test", "-p", "thalweg-sql", "--test", "queries", "--", "rows_do_not_depend_on_policies"],
        )
        .default_env("THALWEG_COMBINATIONS", "20000"),
    }
}

/// Asks for Miri first, because without it rustup's own message comes with a stack trace.
fn require_miri() -> Result<()> {
    let probe = Command::new("cargo")
        .args([MIRI_TOOLCHAIN, "miri", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        bail!(
            "miri is not installed; try: \
             rustup toolchain install nightly-2026-10-30 --component miri --component rust-src"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
