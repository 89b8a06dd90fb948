//! `cargo xtask check`: everything that must hold before a change is merged, in one command.
//!
//! The steps run in the order in which a failure is cheapest to mend, and the first failure ends the run.
//! What the steps are belongs here; how one is run and reported belongs to [`crate::steps`].

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

/// The steps that are commands. `cargo test` without `--all-targets` includes the doctests.
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

/// The loom models of memory and of the runtime's idling, with `max_preemptions` as their bound unless the environment sets another.
///
/// `--cfg loom` changes the flags of every crate below it, so the models have a target directory of their
/// own: in the common one, each run would throw away what the other steps have built.
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
