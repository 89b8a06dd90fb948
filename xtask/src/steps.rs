//! Steps: commands that are run, timed and reported.
//!
//! The output of a child is passed through. Our own lines go to standard error, where cargo reports too, so that the
//! lines of both keep their order when the output is sent to a file.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::workspace::{self, Workspace};

/// A command with a name, to be started in the root of the workspace. It is a value, so that tests can read
/// the command. `Display` writes the command line that a person would type.
pub(crate) struct StepCommand {
    name: &'static str,
    environment: Vec<(&'static str, String)>,
    program: String,
    arguments: Vec<String>,
    directory: PathBuf,
}

/// Runs `step`, timed under its name.
///
/// # Errors
///
/// When the command cannot be started or fails. The message shows the whole command.
pub(crate) fn run(step: &StepCommand) -> Result<()> {
    timed(step.name, || {
        let status = Command::new(&step.program)
            .args(&step.arguments)
            .envs(step.environment.iter().map(|(key, value)| (key, value)))
            .current_dir(&step.directory)
            .status()
            .with_context(|| format!("could not start: {step}"))?;
        if !status.success() {
            bail!("{status} from: {step}");
        }
        Ok(())
    })
}

/// Runs `work`. Prints `name` before, and the elapsed seconds afterwards.
///
/// # Errors
///
/// The errors of `work`, with `name` in front.
pub(crate) fn timed(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("== {name}");
    let started = Instant::now();
    let outcome = work();
    let ending = if outcome.is_ok() { "passed" } else { "failed" };
    eprintln!("== {name} {ending} after {:.1} s", started.elapsed().as_secs_f64());
    outcome.with_context(|| format!("step `{name}` failed"))
}

impl StepCommand {
    /// Creates a step that runs the same cargo which has started xtask.
    pub(crate) fn cargo(name: &'static str, workspace: &Workspace, arguments: &[&str]) -> Self {
        Self::program(name, workspace, &workspace::cargo(), arguments)
    }

    pub(crate) fn program(
        name: &'static str,
        workspace: &Workspace,
        program: &str,
        arguments: &[&str],
    ) -> Self {
        Self {
            name,
            environment: Vec::new(),
            program: program.to_owned(),
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            directory: workspace.root.clone(),
        }
    }

    /// Sets the environment variable `key` to `value` for this step, unless it is set already.
    pub(crate) fn default_env(mut self, key: &'static str, value: &str) -> Self {
        let value = env::var(key).unwrap_or_else(|_| value.to_owned());
        self.environment.push((key, value));
        self
    }

    /// Adds `flags` for this step to the compiler's flags from the environment.
    pub(crate) fn add_rust_flags(mut self, flags: &str) -> Self {
        let mut all = env::var("RUSTFLAGS").unwrap_or_default();
        if !all.is_empty() {
            all.push(' ');
        }
        all.push_str(flags);
        self.environment.push(("RUSTFLAGS", all));
        self
    }
}

impl fmt::Display for StepCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in &self.environment {
            write!(f, "{key}={} ", quoted(value))?;
        }
        // `$CARGO` is a whole path, but a person types only the name of the program.
        let program = Path::new(&self.program).file_name().unwrap_or_default().to_string_lossy();
        f.write_str(&quoted(&program))?;
        self.arguments.iter().try_for_each(|word| write!(f, " {}", quoted(word)))
    }
}

/// Returns a word of a command line, quoted for a shell if necessary.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
