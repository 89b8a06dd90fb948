//! Child processes. Some end with us, and some run until `down`.
//!
//! A process that ends with us is started through `setpriv --pdeathsig`, so the kernel ends it when we die, even by
//! SIGKILL. [`Running`] ends it in all other cases. The number of a process that stays is written into a file. It
//! counts as ours as long as its command line names its run directory, because the system reuses numbers.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Longest time that a process may take to end before it is killed.
const END_MAX: Duration = Duration::from_secs(15);
/// Pause between two checks whether a process is ready or has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Tells when a child process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// The process ends when xtask ends.
    WithUs,
    /// The process runs until the command `cargo xtask services down`.
    UntilDown,
}

/// A process that is ended when this value is dropped, unless it was detached.
pub(crate) struct Running {
    /// Name of the process, used in messages.
    pub(crate) name: &'static str,
    child: Child,
    is_detached: bool,
}

impl Running {
    /// Starts `program`, whose output goes to the file `output`.
    ///
    /// Call this from the main thread: the kernel ends a child of [`Lifetime::WithUs`] when the thread that started it
    /// ends.
    ///
    /// # Errors
    ///
    /// When the program cannot be started.
    pub(crate) fn start(
        name: &'static str,
        lifetime: Lifetime,
        program: &str,
        arguments: &[String],
        environment: &[(&str, &Path)],
        output: &Path,
    ) -> Result<Self> {
        let out = File::create(output).with_context(|| format!("could not write {}", output.display()))?;
        let mut command = match lifetime {
            Lifetime::WithUs => {
                let mut command = Command::new("setpriv");
                command.args(["--pdeathsig", "KILL", "--", program]);
                command
            }
            Lifetime::UntilDown => {
                let mut command = Command::new(program);
                // The process gets a process group of its own. Ctrl-C is sent to a whole group, and must not
                // end a process that stays.
                command.process_group(0);
                command
            }
        };
        let child = command
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn()
            .with_context(|| format!("could not start {name} by {program}"))?;
        Ok(Self { name, child, is_detached: false })
    }

    /// Checks that the process is still running.
    ///
    /// # Errors
    ///
    /// If the process has ended. The message shows its exit status.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} has ended: {status}", self.name),
        }
    }

    /// Returns the number of the process.
    pub(crate) fn number(&self) -> u32 {
        self.child.id()
    }

    /// Lets the process run on when xtask ends, and returns its number.
    pub(crate) fn detach(mut self) -> u32 {
        self.is_detached = true;
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_detached {
            return;
        }
        // The process is killed at once. It has no data to keep, so it needs no time to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns whether the process with the number `id` is running and was started for `directory`.
pub(crate) fn is_ours(id: u32, directory: &Path) -> bool {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let directory = directory.as_os_str().as_encoded_bytes();
    line.windows(directory.len().max(1)).any(|part| part == directory)
}

/// Ends the process with the number `id` if it was started for `directory`. Kills it if it does not end in
/// time.
///
/// # Errors
///
/// When the process still runs after it was killed.
pub(crate) fn end(id: u32, directory: &Path) -> Result<()> {
    for signal in ["TERM", "KILL"] {
        if !is_ours(id, directory) {
            return Ok(());
        }
        send(signal, id);
        let begin = Instant::now();
        while is_ours(id, directory) && begin.elapsed() < END_MAX {
            thread::sleep(LOOK_AGAIN);
        }
    }
    if is_ours(id, directory) {
        bail!("process {id} does not end");
    }
    Ok(())
}

/// Sends a signal, such as `TERM`, to the process with the number `id`. A process that has ended is no error.
pub(crate) fn send(signal: &str, id: u32) {
    // The shell sends the signal, since it has `kill` built in. The program of that name is not installed everywhere.
    let _ = Command::new("sh").args(["-c", &format!("kill -{signal} {id}")]).status();
}

/// Calls `is_ready` again and again until it returns true.
///
/// # Errors
///
/// When `limit` has passed, one of `processes` has ended, or `is_ready` fails.
pub(crate) fn wait_until(
    what: &str,
    limit: Duration,
    processes: &mut [Running],
    mut is_ready: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let begin = Instant::now();
    while !is_ready()? {
        for process in &mut *processes {
            process.check()?;
        }
        if begin.elapsed() > limit {
            bail!("{what} did not come within {} s", limit.as_secs());
        }
        thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(lifetime: Lifetime, mark: &str) -> Running {
        // The mark is in the command line of the process, as a run directory is.
        let script = format!("sleep 600; : {mark}");
        let arguments = ["-c".to_owned(), script];
        Running::start("a sleeper", lifetime, "sh", &arguments, &[], Path::new("/dev/null")).unwrap()
    }

    #[test]
    fn a_dropped_process_has_ended() {
        let running = sleeper(Lifetime::UntilDown, "/none/dropped");
        let id = running.child.id();
        let (ours, other) = (Path::new("/none/dropped"), Path::new("/none/other"));
        // The kernel shows the command line of a process a moment after it has started the program.
        let mut processes = [running];
        wait_until("the name", Duration::from_secs(60), &mut processes, || Ok(is_ours(id, ours))).unwrap();
        assert!(!is_ours(id, other));
        drop(processes);
        assert!(!is_ours(id, ours));
    }

    #[test]
    fn one_that_has_ended_is_told() {
        let arguments = ["-c".to_owned(), "exit 3".to_owned()];
        let running =
            Running::start("a short one", Lifetime::UntilDown, "sh", &arguments, &[], Path::new("/dev/null"));
        let message = wait_until("nothing", Duration::from_secs(60), &mut [running.unwrap()], || Ok(false))
            .unwrap_err()
            .to_string();
        assert_eq!(message, "a short one has ended: exit status: 3");
    }

    #[test]
    fn waiting_is_bounded() {
        let message = wait_until("the end of time", Duration::ZERO, &mut [], || Ok(false)).unwrap_err();
        assert_eq!(message.to_string(), "the end of time did not come within 0 s");
    }
}
