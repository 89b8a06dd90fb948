//! `cargo xtask check`: every check that a change must pass before it is merged, in one command.
//!
//! The steps run in the order of the cost of a failure, the cheapest first. The first failure ends the run. This module
//! lists the steps; [`crate::steps`] runs and reports them.

use anyhow::Result;

use crate::packages;
use crate::steps::{self, StepCommand};
use crate::tidy;
use crate::workspace::Workspace;

/// Runs format, clippy, tests, loom models, packages and tidy.
///
/// # Errors
///
/// The first step that failed, with the command that failed in it.
pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::open()?;
    for step in cargo_steps(&workspace) {
        steps::run(&step)?;
    }
    steps::timed("packages", || packages::check(&workspace))?;
    steps::timed("tidy", || tidy::check(&workspace))
}

/// Returns those steps of `check` that are commands. `cargo test` without `--all-targets` includes the
/// doctests.
fn cargo_steps(workspace: &Workspace) -> Vec<StepCommand> {
    vec![
        StepCommand::cargo("format", workspace, &["fmt", "--all", "--check"]),
        StepCommand::cargo(
            "clippy",
            workspace,
            &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        ),
        StepCommand::cargo("tests", workspace, &["test", "--workspace"]),
        loom_models("loom models", workspace, "2"),
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
