//! `cargo xtask deep`: suites that take minutes, run on demand and at night.
//!
//! `check` runs a small part of each suite. Here the loom models have more preemptions, Miri runs the tests of memory,
//! and the other suites have more seeds, inputs, queries, errors or kills.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::check;
use crate::steps::{self, StepCommand};
use crate::workspace::Workspace;

/// Nightly toolchain whose Miri runs the tests of memory.
const MIRI_TOOLCHAIN: &str = "+nightly-2026-10-30";

/// Number of inputs of each kind that the suite `fuzz` generates.
const FUZZ_INPUTS: &str = "20000";

/// A suite of tests that takes minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    /// Runs the loom models with a higher bound of preemptions than `check` does.
    Loom,
    /// Runs the tests of the crate `memory` under Miri.
    Miri,
    /// Runs the deterministic simulation over many seeds.
    Seeds,
    /// Runs tests on generated records, files, options, function calls and SQL texts.
    Fuzz,
    /// Compares the resident memory of the program with its budget.
    Memory,
    /// Runs SQL operators over all kinds of changes, and aggregates in all forms of grouping.
    Crosses,
    /// Injects errors of the operating system into file calls.
    Faults,
    /// Runs SQL windows in time zones, over clock changes.
    Zones,
    /// Runs the program and kills it, or asks it to end, at random moments.
    Kills,
    /// Runs the program `thalweg` with generated command lines.
    Lines,
    /// Runs queries under randomly chosen policies, numbers of workers and rows at a time.
    Policies,
}

/// All suites with their names on the command line, in the order in which they run.
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

/// Runs `suites` one after the other. A failure does not skip the suites behind it, because a run at night should
/// report all failures.
///
/// # Errors
///
/// All suites that failed, or a toolchain that is missing, with the command that installs it.
pub(crate) fn run(suites: &[Suite]) -> Result<()> {
    let workspace = Workspace::open()?;
    // Miri is looked for before the first suite, so that a missing toolchain is reported before loom has run
    // for minutes.
    if suites.contains(&Suite::Miri) {
        require_miri()?;
    }
    run_all(suites, |suite| {
        let outcomes: Vec<Result<()>> = suite_steps(suite, &workspace).iter().map(steps::run).collect();
        outcomes.into_iter().collect()
    })
}

fn run_all(suites: &[Suite], mut run: impl FnMut(Suite) -> Result<()>) -> Result<()> {
    let failures: Vec<String> =
        suites.iter().filter_map(|suite| run(*suite).err()).map(|error| format!("\n  {error:#}")).collect();
    if !failures.is_empty() {
        bail!("{} of {} suites failed:{}", failures.len(), suites.len(), failures.concat());
    }
    Ok(())
}

/// Returns the suites of these names, or all suites if there is no name.
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

fn suite_steps(suite: Suite, workspace: &Workspace) -> Vec<StepCommand> {
    let mut steps = vec![suite_step(suite, workspace)];
    if suite == Suite::Fuzz {
        // All tests of the package for SQL formats are about generated records, and those of checkpoints about damaged files, so
        // none is chosen by name.
        for package in ["thalweg-sql-formats", "thalweg-checkpoints"] {
            let step = StepCommand::cargo("fuzz", workspace, &["test", "-p", package, "--lib"]);
            steps.push(step.default_env("THALWEG_FUZZ", FUZZ_INPUTS));
        }
    }
    steps
}

fn suite_step(suite: Suite, workspace: &Workspace) -> StepCommand {
    match suite {
        Suite::Loom => check::loom_models("loom", workspace, "3"),
        // Miri is run by rustup's cargo, which is found by its name and understands `+toolchain`; the
        // toolchain's own cargo at `$CARGO` does not. Isolation is off, because the room memory asks the
        // system for pages.
        Suite::Miri => StepCommand::program(
            "miri",
            workspace,
            "cargo",
            &[MIRI_TOOLCHAIN, "miri", "test", "-p", "thalweg-memory"],
        )
        .default_env("MIRIFLAGS", "-Zmiri-disable-isolation")
        // Miri is a thousand times slower, so it runs few random cases, and all written ones.
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
                "thalweg-sql-functions",
                "-p",
                "thalweg-sql-tables",
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
        .default_env("THALWEG_FUZZ", FUZZ_INPUTS)
        .default_env("THALWEG_MUTATIONS", "100"),
        // The memory tests run one at a time, so that each has the machine's memory for itself. Their figures
        // are printed.
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

/// Fails if Miri is not installed. Without this check, rustup's own message would come with a stack trace.
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
