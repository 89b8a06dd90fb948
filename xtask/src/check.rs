//! `cargo xtask check`: every check that a change must pass before it is merged, in one command.
//!
//! The steps run in the order of their cost, the cheapest first, and the first failure ends the run. Continuous
//! integration runs this command through `.ci/run`.
//!
//! This module lists the steps; [`crate::steps`] runs and reports them. [`crate::deep`] runs the loom models with more
//! preemptions.

use anyhow::Result;

use crate::packages;
use crate::steps::{self, StepCommand};
use crate::tidy;
use crate::workspace::Workspace;

/// A step of `check`.
enum Step {
    /// A command of cargo.
    Cargo(StepCommand),
    /// A check that this program makes itself, with its name.
    Own(&'static str, fn(&Workspace) -> Result<()>),
}

/// Runs format, tidy, packages, clippy, tests and the loom models.
///
/// # Errors
///
/// The first step that failed, with the command that failed in it.
pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::open()?;
    for step in steps_of(&workspace) {
        match step {
            Step::Cargo(command) => steps::run(&command)?,
            Step::Own(name, check) => steps::timed(name, || check(&workspace))?,
        }
    }
    Ok(())
}

/// Returns the steps of `check` in their order. `cargo test` without `--all-targets` includes the doctests.
fn steps_of(workspace: &Workspace) -> Vec<Step> {
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    vec![
        Step::Cargo(StepCommand::cargo("format", workspace, &["fmt", "--all", "--check"])),
        Step::Own("tidy", tidy::check),
        Step::Own("packages", packages::check),
        Step::Cargo(StepCommand::cargo("clippy", workspace, &clippy)),
        Step::Cargo(StepCommand::cargo("tests", workspace, &["test", "--workspace"])),
        Step::Cargo(loom_models("loom models", workspace, "2")),
    ]
}

/// Returns the step that runs the loom models of memory and of the runtime. A model is run with at most
/// `max_preemptions` preemptions, unless the environment sets `LOOM_MAX_PREEMPTIONS`.
///
/// `--cfg loom` changes the flags of every dependency, so the models have a target directory of their own. In the
/// common directory, each run would discard the artefacts of the other steps.
pub(crate) fn loom_models(name: &'static str, workspace: &Workspace, max_preemptions: &str) -> StepCommand {
    let target = workspace.target_directory.join("loom").display().to_string();
    StepCommand::cargo(
        name,
        workspace,
        &[
            &["test", "-p", "thalweg-memory", "-p", "thalweg-runtime", "--lib", "--test", "loom"][..],
            &["--release", "--target-dir", &target],
        ]
        .concat(),
    )
    .add_rust_flags("--cfg loom")
    .default_env("LOOM_MAX_PREEMPTIONS", max_preemptions)
}

#[cfg(test)]
mod tests;
