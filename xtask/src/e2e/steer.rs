//! `thalweg steer flink` on a real Flink: threads get priorities, and everything is put back, at the end of the command
//! and after kill -9.
//!
//! The program is built by cargo, and Flink runs a query without an end. Priorities need root, or CAP_SYS_NICE: without,
//! the check fails with the program's own message.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use super::gateway::Session;
use crate::services::flink::Flink;
use crate::workspace::Workspace;

/// Query that keeps several threads of a task manager busy until it is cancelled.
const STATEMENTS: [&str; 3] = [
    "CREATE TABLE numbers (id BIGINT, part AS MOD(id, 100)) WITH ('connector' = 'datagen', 'rows-per-second' = '200000')",
    "CREATE TABLE nowhere (part BIGINT, n BIGINT) WITH ('connector' = 'blackhole')",
    "INSERT INTO nowhere SELECT part, COUNT(*) FROM numbers GROUP BY part",
];

/// Longest time until the first priorities are seen. Flink tells the lengths of queues some seconds after a job has begun.
const STEERED_MAX: Duration = Duration::from_secs(60);
/// Longest time until the watchdog has put everything back after the tool was killed.
const RESTORED_MAX: Duration = Duration::from_secs(15);
/// Longest time of the command beyond its `--for`.
const END_MAX: Duration = Duration::from_secs(30);
/// Pause between two looks at the threads.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Least number of rounds of the command that must have been used.
const ROUNDS_MIN: usize = 5;

/// Place of the nice value and of the policy in `/proc/PID/task/TID/stat`, behind the name of the thread.
const NICE_AND_POLICY: [usize; 2] = [16, 38];

/// Nice value and scheduling policy of each thread of a process, by the number of the thread.
type Seen = BTreeMap<u32, [i32; 2]>;

/// Steers a running Flink in both forms of priorities, once to the end and once until the tool is killed.
///
/// # Errors
///
/// A thread without a priority within [`STEERED_MAX`], or one that does not have its own again.
pub(super) fn check(flink: &Flink, workspace: &Workspace, directory: &Path) -> Result<()> {
    let program = built(workspace)?;
    let client = flink.gateway();
    let session = Session::open(&client)?;
    for statement in STATEMENTS {
        session.set_up(statement)?;
    }
    let manager = flink.task_manager().context("flink has no task manager")?;
    let states = directory.join("steer-states");
    for (form, place, killed) in [("nice", 0, false), ("rt", 1, false), ("nice", 0, true), ("rt", 1, true)] {
        let output = directory.join(format!("steer-{form}.json"));
        let arguments =
            format!("steer flink --rest {} --translator {form} --for 20s --output json", flink.jobs());
        let child = Command::new(&program)
            .args(arguments.split(' '))
            .env("THALWEG_STEER_STATES", &states)
            .stdin(Stdio::null())
            .stdout(File::create(&output)?)
            .spawn()
            .context("could not start thalweg")?;
        let what = format!("{form}, {}", if killed { "killed" } else { "to its end" });
        steered(child, manager, place, killed, &output).with_context(|| format!("steering by {what}"))?;
        eprintln!("steering by {what}: priorities given, and put back");
    }
    session.close()
}

/// Waits until some thread of the process has another nice value (`place` 0) or policy (1) than before, then for the end
/// of the tool or kills it, and compares all threads with what they had before.
fn steered(child: Child, manager: u32, place: usize, is_killed: bool, output: &Path) -> Result<()> {
    let mut tool = Ending(child);
    let before = seen(manager)?;
    // A thread that begins later begins as threads do that nobody has changed.
    let differs = |now: &Seen, place: usize| {
        now.iter().any(|(thread, of)| before.get(thread).copied().unwrap_or_default()[place] != of[place])
    };
    let is_steered = || Ok(differs(&seen(manager)?, place));
    within(STEERED_MAX, "no thread got a priority", &mut tool, is_steered)?;
    if is_killed {
        tool.0.kill()?;
        tool.0.wait()?;
    } else {
        let begin = Instant::now();
        let status = loop {
            match tool.0.try_wait()? {
                Some(status) => break status,
                None if begin.elapsed() > STEERED_MAX + END_MAX => bail!("the command does not end"),
                None => thread::sleep(LOOK_AGAIN),
            }
        };
        if !status.success() {
            bail!("the command failed: {status}");
        }
        let text = fs::read_to_string(output)?;
        let rounds = text.lines().filter(|line| line.contains("\"name\"")).count();
        if rounds < ROUNDS_MIN {
            bail!("{rounds} rounds were used, and {ROUNDS_MIN} are asked for");
        }
    }
    let begin = Instant::now();
    loop {
        let now = seen(manager)?;
        if !differs(&now, 0) && !differs(&now, 1) {
            return Ok(());
        }
        if begin.elapsed() > RESTORED_MAX {
            bail!("before: {before:?}\nafter: {now:?}");
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// A child that is killed when this value is dropped.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `is_there`, for at most `limit`, and no longer than the tool runs.
fn within(
    limit: Duration,
    otherwise: &str,
    tool: &mut Ending,
    is_there: impl Fn() -> Result<bool>,
) -> Result<()> {
    let begin = Instant::now();
    while !is_there()? {
        if let Some(status) = tool.0.try_wait()? {
            bail!("{otherwise} before the command ended: {status}");
        }
        if begin.elapsed() > limit {
            bail!("{otherwise} within {} s", limit.as_secs());
        }
        thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

/// Builds the program, and returns its path. It is built as for the tests of its command lines, whose features of other
/// packages differ from those of `cargo build`, so that nothing is built twice.
fn built(workspace: &Workspace) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["test", "--workspace", "--bin", "thalweg", "--test", "cli", "--no-run"];
    let status = Command::new(cargo).args(arguments).current_dir(&workspace.root).status()?;
    if !status.success() {
        bail!("thalweg could not be built: {status}");
    }
    Ok(workspace.target_directory.join("debug/thalweg"))
}

/// Returns the nice value and the scheduling policy of each thread of a process. Threads that end meanwhile are left out.
fn seen(process: u32) -> Result<Seen> {
    let folder = format!("/proc/{process}/task");
    let entries = fs::read_dir(&folder).with_context(|| format!("could not read {folder}"))?;
    let of = |name: String| {
        let thread = name.parse().ok()?;
        Some((thread, parsed(&fs::read_to_string(format!("{folder}/{name}/stat")).ok()?)?))
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: Vec<String> = names.collect::<Result<_>>()?;
    let seen: Seen = names.into_iter().filter_map(of).collect();
    if seen.is_empty() { Err(anyhow!("process {process} has no threads")) } else { Ok(seen) }
}

/// Reads the nice value and the scheduling policy from the text of a thread's `stat`. Its name, in parentheses, may have
/// blanks and parentheses.
fn parsed(stat: &str) -> Option<[i32; 2]> {
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let [nice, policy] = NICE_AND_POLICY.map(|place| fields.get(place)?.trim().parse().ok());
    Some([nice?, policy?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stats_are_parsed_behind_the_name() {
        // Fields 3 to 52 of proc(5): the state, then numbers; the nice value is field 19, and the policy field 41.
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) b (c)) {}", fields.join(" "));
        assert_eq!(parsed(&stat), Some([19, 41]));
        assert_eq!(parsed("7 (a) S 1"), None);
        assert_eq!(parsed(""), None);
    }

    #[test]
    fn own_threads_are_seen() {
        let seen = seen(std::process::id()).unwrap();
        assert!(seen.values().all(|[nice, _]| (-20..=19).contains(nice)), "{seen:?}");
    }
}
