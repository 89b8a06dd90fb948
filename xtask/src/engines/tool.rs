//! `thalweg steer` beside a query: its rounds, its CPU time, and its end.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::host;
use super::process;
use super::rounds::Round;
use crate::services::processes;

/// Longest time that the tool may take to put everything back and to end.
const END_MAX: Duration = Duration::from_secs(20);
/// Pause between two looks whether the tool has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Most rounds that are kept, those of two hours. Later ones are left out.
const ROUNDS_MAX: usize = 7_200;
/// Most characters of a log that a message shows: the last ones.
const SHOWN_MAX: usize = 600;

/// The running tool. It gets Ctrl-C when this command ends without ending it, and puts everything back then.
pub(super) struct Tool {
    child: Child,
    program: PathBuf,
    rounds: Arc<Mutex<Vec<Round>>>,
    log: PathBuf,
}

impl Tool {
    /// Starts the tool with these words behind `thalweg steer`. The lines that it shows are also kept in the file `lines`, and its
    /// messages in the file `log`. Call this from the main thread, since the kernel ends the tool when the thread that started it
    /// ends.
    ///
    /// # Errors
    ///
    /// When the program cannot be started, or a file cannot be written.
    pub(super) fn start(program: &Path, options: &[String], lines: &Path, log: PathBuf) -> Result<Self> {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "INT", "--"]).arg(program).arg("steer").args(options);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let created =
            |file: &Path| File::create(file).with_context(|| format!("could not write {}", file.display()));
        command.stderr(created(&log)?);
        let mut lines = created(lines)?;
        let mut child = command.spawn().context("could not start thalweg steer by setpriv")?;
        let rounds = Arc::new(Mutex::new(Vec::new()));
        if let Some(output) = child.stdout.take() {
            let rounds = Arc::clone(&rounds);
            thread::spawn(move || keep(output, &mut lines, &rounds));
        }
        Ok(Self { child, program: program.to_owned(), rounds, log })
    }

    /// Checks that the tool is still running.
    ///
    /// # Errors
    ///
    /// When it has ended; the message has the end of its log.
    pub(super) fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("thalweg steer has ended: {status}: {}", end_of(&self.log)),
        }
    }

    /// Returns the CPU time of the tool and of its children so far, in seconds.
    pub(super) fn cpu_s(&self) -> Option<f64> {
        process::family_cpu_s(self.child.id())
    }

    /// Ends the tool as Ctrl-C does, and returns its rounds.
    ///
    /// # Errors
    ///
    /// When the tool does not end in time, or tells that something failed. Everything is put back by a second call of the
    /// program then.
    pub(super) fn end(mut self) -> Result<Vec<Round>> {
        processes::send("INT", self.child.id());
        let begin = Instant::now();
        let status = loop {
            match self.child.try_wait()? {
                Some(status) => break status,
                None if END_MAX < begin.elapsed() => {
                    bail!(
                        "thalweg steer does not end within {} s of Ctrl-C; it was killed",
                        END_MAX.as_secs()
                    )
                }
                None => thread::sleep(LOOK_AGAIN),
            }
        };
        let rounds =
            self.rounds.lock().map_or_else(|held| held.into_inner().clone(), |rounds| rounds.clone());
        if !status.success() {
            let used = rounds.iter().filter(|round| round.is_used()).count();
            bail!("thalweg steer: {status} after {used} rounds: {}", end_of(&self.log));
        }
        Ok(rounds)
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Err(error) = host::restore(&self.program) {
            eprintln!("{error:#}");
        }
    }
}

/// Keeps the rounds that the tool shows, until it ends.
fn keep(output: ChildStdout, lines: &mut File, rounds: &Mutex<Vec<Round>>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let Some(round) = Round::parsed(&line, process::now_s()) else { continue };
        let Ok(mut rounds) = rounds.lock() else { return };
        if rounds.len() < ROUNDS_MAX {
            rounds.push(round);
            // The file is for people. Figures follow from the rounds.
            let _ = writeln!(lines, "{line}");
        }
    }
}

/// Returns the end of a log, as a part of a message.
pub(super) fn end_of(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(SHOWN_MAX)..]).trim().to_owned();
    if text.is_empty() { format!("{} is empty", log.display()) } else { text }
}
