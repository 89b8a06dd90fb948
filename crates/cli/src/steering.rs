//! Shared by all commands that steer threads: the forms of priorities by name, the folder of state files
//! (which hold the priorities that threads had before), and the watchdog, which is this program started once
//! more.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use thalweg::Span;
use thalweg_steer::kernel::{Kernel, Linux};
use thalweg_steer::state_file::Restored;
use thalweg_steer::steering::{Driver, Translator};
use thalweg_steer::threads::Processes;
use thalweg_steer::tool::{self, Tool};
use thalweg_steer::translate::{Curve, Nice, RealTime};
use thalweg_steer::watchdog;

use crate::console;

/// The forms in which threads get priorities: each with its name in options, and the rule that converts ranks
/// of a policy to priorities.
pub const TRANSLATORS: [(&str, Translator); 7] = [
    ("nice", Translator::Nice(Nice { curve: Curve::Logarithmic })),
    ("nice-linear", Translator::Nice(Nice { curve: Curve::Linear })),
    ("rt", Translator::RoundRobin(RealTime::FULL)),
    ("fifo", Translator::Fifo(RealTime::FULL)),
    ("shares", Translator::Shares(Curve::Logarithmic)),
    ("shares-linear", Translator::Shares(Curve::Linear)),
    ("limit", Translator::Limits),
];

/// Returns the rule of the form of priorities with this name, such as `nice` or `rt`.
///
/// # Errors
/// A message that lists all names, if no form has this name.
pub fn translator(name: &str) -> Result<Translator, String> {
    let found = TRANSLATORS.iter().find(|(known, _)| *known == name).map(|(_, translator)| *translator);
    found.ok_or_else(|| {
        let names: Vec<&str> = TRANSLATORS.iter().map(|(name, _)| *name).collect();
        format!("`{name}` is no form of priorities: take {}", names.join(", "))
    })
}

/// Least and greatest time between two rounds, as values of `--period`.
pub const PERIODS: [Span; 2] = {
    let [least, most] = tool::PERIODS;
    [Span::from_micros(least.as_micros() as i64), Span::from_micros(most.as_micros() as i64)]
};

/// Returns a span that is not below zero as a duration.
pub fn duration(span: Span) -> Duration {
    Duration::from_micros(span.as_micros().unsigned_abs())
}

/// Prints notes when a tool begins to steer: what it could not prepare but can do without, and what it has
/// restored after an earlier tool.
pub fn note_begin<D: Driver, K: Kernel + Clone>(tool: &Tool<D, K>) {
    tool.notes().iter().for_each(|note| console::note(note));
    let left_over = tool.left_over();
    if left_over.threads + left_over.settings > 0 || !left_over.failures.is_empty() {
        console::note(&format!("what an earlier tool had left: {}", told(left_over)));
    }
}

/// Environment variable that names the folder of state files, if it is not the usual one. A state file holds
/// the priorities that threads had before a tool changed them.
pub const STATES: &str = "THALWEG_STEER_STATES";

/// Returns the folder of the state files of this user's tools. It is the folder that [`STATES`] names, if it
/// is set; else `/run/thalweg` for root; else a folder below `XDG_RUNTIME_DIR` or, if that is not set, below
/// the folder of temporary files.
pub fn states_folder() -> PathBuf {
    if let Some(folder) = std::env::var_os(STATES).filter(|folder| !folder.is_empty()) {
        return PathBuf::from(folder);
    }
    let user = rustix::process::geteuid();
    if user.is_root() {
        return PathBuf::from("/run/thalweg");
    }
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => Path::new(&folder).join("thalweg"),
        None => std::env::temp_dir().join(format!("thalweg-{}", user.as_raw())),
    }
}

/// Name of the hidden command that runs the watchdog, which restores the priorities of threads if the tool
/// that gave them dies.
pub const WATCHDOG: &str = "steer-watchdog";

/// The arguments of the hidden command [`WATCHDOG`].
#[derive(Args)]
pub struct WatchdogArgs {
    /// State file of the tool.
    pub state: PathBuf,
}

/// Returns a function from the path of a state file to the command that runs this program as the watchdog of
/// that file.
///
/// # Errors
/// If the path of this program's file is not known.
pub fn watchdog_command() -> Result<impl FnOnce(&Path) -> Command> {
    let program = std::env::current_exe().context("this program does not find its own file")?;
    Ok(move |state: &Path| {
        let mut command = Command::new(program);
        command.args([OsStr::new(WATCHDOG), state.as_os_str()]);
        command
    })
}

/// Runs the watchdog: watches a tool, through a socket that is the standard input, until the tool ends.
/// Restores the threads of the state file when the tool is silent for long, and at its end.
///
/// # Errors
/// If the standard input is no socket, or if the state file cannot be restored.
pub fn watch(args: &WatchdogArgs) -> Result<()> {
    let tool = watchdog::standard_input().context("the watchdog is started by a tool that steers")?;
    let (processes, kernel) = (Processes::default(), Linux);
    let mut has_told = false;
    watchdog::watch(&args.state, &tool, watchdog::PATIENCE, (&processes, &kernel), |restored| {
        match restored {
            // The watchdog may restore threads several times while a tool is silent. Only the first time is
            // shown.
            Ok(restored) if has_told || restored.threads == 0 => {}
            Ok(restored) => {
                has_told = true;
                console::note(&format!("watchdog: {}", told(restored)));
            }
            Err(error) => console::note(&format!("watchdog: {}: {error}", args.state.display())),
        }
    })
    .map(|_| ())
    .with_context(|| format!("{} cannot be restored", args.state.display()))
}

/// Describes in words what was restored: threads, settings of the machine, threads that had ended, and
/// failures.
pub fn told(restored: &Restored) -> String {
    let Restored { threads, ended, settings, failures } = restored;
    let plural = |count: &u64, one: &str| format!("{count} {one}{}", if *count == 1 { "" } else { "s" });
    let mut text = format!(
        "{} and {} of the machine are as before, {ended} had ended",
        plural(threads, "thread"),
        plural(settings, "setting")
    );
    for failure in failures {
        text += &format!("; {failure}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_priorities_have_names() {
        for (name, expected) in TRANSLATORS {
            assert_eq!(translator(name), Ok(expected));
        }
        let refused = "`quick` is no form of priorities: take nice, nice-linear, rt, fifo, shares, \
                       shares-linear, limit";
        assert_eq!(translator("quick"), Err(refused.to_owned()));
    }

    #[test]
    fn what_was_put_back_is_told() {
        let restored =
            Restored { threads: 1, ended: 2, settings: 0, failures: vec!["thread 7: no".to_owned()] };
        let expected = "1 thread and 0 settings of the machine are as before, 2 had ended; thread 7: no";
        assert_eq!(told(&restored), expected);
    }
}
