//! `thalweg steer` on a real engine: threads get priorities, and everything is put back, however the command ends.
//!
//! Each form of priorities is tried with each end: when the command's time is over, at SIGTERM, and at SIGKILL, after which
//! the watchdog acts. A try reads the kernel's own files, and asks for four things:
//!
//! - every thread that the last round names has the priority that the round says, and not all have the same;
//! - in the end every thread of the process has the nice value, the policy, the priority and the control group of before;
//! - in the end the settings of the whole machine are as before;
//! - in the end no state file and no control group of the command is left.
//!
//! Priorities need root, or `CAP_SYS_NICE`: without, the check fails with the program's own message.
//!
//! - [`flink`]: Flink, which runs a query without an end;
//! - [`storm`]: Storm, which runs ETL of `bench/steer`;
//! - [`threads`]: scheduling of threads as the kernel shows it.

pub(super) mod flink;
pub(super) mod storm;
mod threads;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::services::processes;
use crate::workspace::Workspace;
use threads::{Key, Mount, Scheduling};

/// Longest time until the first priorities are seen. Engines tell the lengths of queues some seconds after a query has begun.
const STEERED_MAX: Duration = Duration::from_secs(90);
/// Longest time of the command when nothing ends it.
const FOR: Duration = Duration::from_secs(20);
/// Longest time of the command from its end on.
const END_MAX: Duration = Duration::from_secs(30);
/// Longest time from the end of the command until everything is put back.
const RESTORED_MAX: Duration = Duration::from_secs(15);
/// Pause between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Least number of rounds of a command that nothing ended.
const ROUNDS_MIN: usize = 5;
/// Number of the policy SCHED_RR.
const ROUND_ROBIN: i64 = 2;
/// Files of settings of the whole machine that the command may change while it runs.
const SETTINGS: [&str; 2] = ["sched_rr_timeslice_ms", "sched_autogroup_enabled"];
/// Variable of the environment that names a program `thalweg` that is built already.
const PROGRAM: &str = "THALWEG_PROGRAM";

/// An engine that runs a query.
struct Engine<'a> {
    /// Words of the command line behind `thalweg steer`: the engine, and where its metrics are.
    words: &'a [&'a str],
    /// Returns the number of the process whose threads are steered, for the next try.
    process: &'a dyn Fn() -> Result<u32>,
    /// Folder for what the command writes.
    directory: &'a Path,
}

/// A form of priorities.
#[derive(Clone, Copy)]
enum Form {
    Nice,
    RoundRobin,
    Shares,
}

impl Form {
    const ALL: [Form; 3] = [Form::Nice, Form::RoundRobin, Form::Shares];

    /// Returns the name of the form on the command line.
    fn word(self) -> &'static str {
        match self {
            Form::Nice => "nice",
            Form::RoundRobin => "rt",
            Form::Shares => "shares",
        }
    }

    /// Returns the priority that a round gives to a thread, from the thread's JSON object.
    fn said(self, thread: &Value) -> Option<i64> {
        let name = match self {
            Form::Nice => "nice",
            Form::RoundRobin => "priority",
            Form::Shares => "shares",
        };
        thread[name].as_i64()
    }

    /// Returns the priority that a thread has by the kernel; `None` if it has none in this form. Shares count in a group of
    /// the command only, whose name begins with `groups`.
    fn seen(self, thread: &Scheduling, groups: &str, mount: &Mount) -> Option<i64> {
        match self {
            Form::Nice => (thread.policy == 0).then_some(thread.nice),
            Form::RoundRobin => (thread.policy == ROUND_ROBIN).then_some(thread.priority),
            Form::Shares if !thread.group.contains(groups) => None,
            Form::Shares => mount.shares(&thread.group),
        }
    }
}

/// A way in which the command ends.
#[derive(Clone, Copy)]
enum End {
    /// The time of `--for` is over.
    InTime,
    /// The command is asked to end.
    Terminated,
    /// The command is killed, and cannot put anything back itself.
    Killed,
}

impl End {
    const ALL: [End; 3] = [End::Terminated, End::Killed, End::InTime];

    fn words(self) -> &'static str {
        match self {
            End::InTime => "to its end",
            End::Terminated => "until SIGTERM",
            End::Killed => "until SIGKILL",
        }
    }
}

/// The things that must be the same before and after a try.
#[derive(Clone)]
struct State {
    threads: BTreeMap<Key, Scheduling>,
    /// Texts of the files [`SETTINGS`]; `None` for a file that the kernel does not have.
    settings: [Option<String>; SETTINGS.len()],
}

impl State {
    fn of(process: u32) -> Result<Self> {
        let text = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok();
        Ok(Self {
            threads: threads::of_process(process)?,
            settings: SETTINGS.map(|name| text(name).map(|text| text.trim().to_owned())),
        })
    }

    /// Returns a line for each thing that is not as `before`. A thread that began later is to be as the process's first thread
    /// was, which no engine gives work to.
    fn unlike(&self, before: &State, process: u32) -> Vec<String> {
        let first = before.threads.iter().find(|((thread, _), _)| *thread == process).map(|(_, first)| first);
        let threads = self.threads.iter().filter_map(|(key, now)| {
            let (was, of) = match before.threads.get(key) {
                Some(was) => (Some(was), "before"),
                None => (first, "as the first thread"),
            };
            let name =
                || fs::read_to_string(format!("/proc/{process}/task/{}/comm", key.0)).unwrap_or_default();
            (was != Some(now)).then(|| format!("{} ({}): {now:?}, and {was:?} {of}", key.0, name().trim()))
        });
        let settings = SETTINGS.iter().zip(before.settings.iter().zip(&self.settings));
        let settings = settings.filter(|(_, (was, now))| was != now);
        threads
            .chain(settings.map(|(name, (was, now))| format!("{name}: {now:?}, and {was:?} before")))
            .collect()
    }
}

/// The priorities that were seen while the command ran.
struct Given {
    threads: usize,
    priorities: BTreeSet<i64>,
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let priorities: Vec<String> = self.priorities.iter().map(i64::to_string).collect();
        write!(f, "{} threads had {}", self.threads, priorities.join(", "))
    }
}

/// Steers an engine in each form of priorities, with each end of the command.
///
/// # Errors
///
/// A try that does not show what the head of this module asks for.
fn check(engine: &Engine<'_>, program: &Path) -> Result<()> {
    for form in Form::ALL {
        for end in End::ALL {
            let what = format!("steering {} by {}, {}", engine.words[0], form.word(), end.words());
            let told = tried(engine, program, form, end).with_context(|| what.clone())?;
            eprintln!("{what}: {told}");
        }
    }
    Ok(())
}

/// Starts the command, waits until priorities are given, ends it, and waits until everything is put back. Returns what was
/// seen, as a line.
fn tried(engine: &Engine<'_>, program: &Path, form: Form, end: End) -> Result<String> {
    let mount = Mount::find()?;
    let process = (engine.process)()?;
    let (states, output) = (engine.directory.join("states"), engine.directory.join("rounds.json"));
    let before = State::of(process)?;
    let mut command = Command::new(program);
    command.arg("steer").args(engine.words).args(["--translator", form.word(), "--output", "json"]);
    if let End::InTime = end {
        command.args(["--for", &format!("{}s", FOR.as_secs())]);
    }
    let child = command
        .env("THALWEG_STEER_STATES", &states)
        .stdin(Stdio::null())
        .stdout(File::create(&output)?)
        .spawn()
        .with_context(|| format!("could not start {}", program.display()))?;
    let mut tool = Ending(child);
    let id = tool.0.id();
    let groups = format!("/thalweg-steer-{id}-");

    let begin = Instant::now();
    let given = loop {
        let rounds = fs::read_to_string(&output)?;
        if let Some(given) = given(form, &rounds, process, (&groups, &mount))? {
            break given;
        }
        if let Some(status) = tool.0.try_wait()? {
            bail!("the command ended before priorities were seen: {status}");
        }
        if begin.elapsed() > STEERED_MAX {
            let last = rounds.lines().last().unwrap_or("no round");
            bail!("no priorities within {} s; the last round: {last}", STEERED_MAX.as_secs());
        }
        thread::sleep(LOOK_AGAIN);
    };
    let meanwhile = State::of(process)?.settings;
    ended(&mut tool, end)?;
    if let End::InTime = end {
        let rounds = fs::read_to_string(&output)?.lines().filter(|line| last_round(line).is_some()).count();
        if rounds < ROUNDS_MIN {
            bail!("{rounds} rounds were used, and {ROUNDS_MIN} are asked for");
        }
    }

    let begin = Instant::now();
    loop {
        let mut left = State::of(process)?.unlike(&before, process);
        left.extend(left_over(&states, &mount, &before, &groups));
        if left.is_empty() {
            break;
        }
        if begin.elapsed() > RESTORED_MAX {
            bail!("not put back within {} s:\n{}", RESTORED_MAX.as_secs(), left.join("\n"));
        }
        thread::sleep(LOOK_AGAIN);
    }
    let settings = SETTINGS.iter().zip(before.settings.iter().zip(meanwhile));
    let settings: Vec<String> = settings
        .filter(|(_, (was, now))| *was != now)
        .map(|(name, (was, now))| {
            format!("; {name} was {} for {}", now.unwrap_or_default(), was.as_deref().unwrap_or_default())
        })
        .collect();
    let seconds = begin.elapsed().as_secs_f64();
    Ok(format!("{given}{}; all was put back within {seconds:.1} s", settings.concat()))
}

/// Compares the last round with the threads of the process. Returns the priorities if every thread has what the round says,
/// and these are at least two different priorities.
fn given(form: Form, rounds: &str, process: u32, (groups, mount): (&str, &Mount)) -> Result<Option<Given>> {
    let Some(round) = last_round(rounds) else { return Ok(None) };
    let now = threads::of_process(process)?;
    let mut given = Given { threads: 0, priorities: BTreeSet::new() };
    for said in round["threads"].as_array().into_iter().flatten() {
        if said["process"] != process {
            bail!("the command steers process {}, and the engine's is {process}", said["process"]);
        }
        let number = said["thread"].as_u64();
        let thread = now.iter().find(|((thread, _), _)| number == Some(u64::from(*thread)));
        let seen = thread.and_then(|(_, thread)| form.seen(thread, groups, mount));
        let (Some(seen), Some(wanted)) = (seen, form.said(said)) else { return Ok(None) };
        if seen != wanted {
            return Ok(None);
        }
        given.threads += 1;
        given.priorities.insert(seen);
    }
    Ok((given.priorities.len() > 1).then_some(given))
}

/// Returns the last round that was used, from lines of JSON of which the last one may be incomplete. A round that was skipped
/// has no threads.
fn last_round(lines: &str) -> Option<Value> {
    let is_used = |round: &Value| round["threads"].as_array().is_some_and(|threads| !threads.is_empty());
    lines.lines().rev().filter_map(|line| serde_json::from_str(line).ok()).find(is_used)
}

/// Ends the command, and waits for its end.
fn ended(tool: &mut Ending, end: End) -> Result<()> {
    match end {
        End::InTime => {}
        End::Terminated => processes::send("TERM", tool.0.id()),
        End::Killed => {
            tool.0.kill()?;
            tool.0.wait()?;
            return Ok(());
        }
    }
    let begin = Instant::now();
    let limit = END_MAX + if let End::InTime = end { FOR } else { Duration::ZERO };
    loop {
        match tool.0.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("the command failed: {status}"),
            None if begin.elapsed() > limit => bail!("the command does not end within {} s", limit.as_secs()),
            None => thread::sleep(LOOK_AGAIN),
        }
    }
}

/// Returns a line for each state file, and for each control group of the command below a group of the engine.
fn left_over(states: &Path, mount: &Mount, before: &State, groups: &str) -> Vec<String> {
    let mut folders: BTreeSet<PathBuf> =
        before.threads.values().map(|thread| mount.folder(&thread.group)).collect();
    folders.insert(states.to_owned());
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let is_left = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".state") || name.starts_with(groups.trim_start_matches('/'))
    };
    let paths = entries.map(|entry| entry.path()).filter(is_left);
    paths.map(|path| format!("{} is still there", path.display())).collect()
}

/// A child that is killed when this value is dropped.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the path of the program: that of [`PROGRAM`], or else one that is built now. It is built as for the tests of its
/// command lines, whose features of other packages differ from those of `cargo build`, so that nothing is built twice.
pub(super) fn program(workspace: &Workspace) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(PROGRAM).filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        if !path.is_file() {
            bail!("{PROGRAM} is {}, which is no file", path.display());
        }
        return Ok(path);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["test", "--workspace", "--bin", "thalweg", "--test", "cli", "--no-run"];
    let status = Command::new(cargo).args(arguments).current_dir(&workspace.root).status()?;
    if !status.success() {
        bail!("thalweg could not be built: {status}");
    }
    Ok(workspace.target_directory.join("debug/thalweg"))
}

#[cfg(test)]
mod tests;
