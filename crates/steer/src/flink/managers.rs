//! TaskManagers of one Flink that run on this machine: their processes, and the names of their threads.
//!
//! A process belongs to a TaskManager if it has the main class of one, and if it listens on the data port that Flink
//! tells for it. So another Flink on the same machine is left alone. If it cannot be seen which process of a network
//! namespace listens, any process of that namespace may be meant, unless one is known. A TaskManager whose
//! `taskmanager.data.bind-port` differs from the port that it tells is not found.
//!
//! Bounds: [`PROCESSES_MAX`], [`SEARCH_EVERY`] and [`SOCKETS_BYTES_MAX`]. All work ends with the round.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::time::{Duration, Instant};

use super::jobs::Manager;
use crate::jvm::{JavaProcess, attach, in_time};
use crate::steering::{Telling, Unobserved};
use crate::threads::{Processes, ThreadKey, is_gone};

/// Greatest number of processes that are steered.
pub const PROCESSES_MAX: usize = 64;

/// Time after which processes are looked for again while some TaskManagers are not found. They may be on other
/// machines.
pub const SEARCH_EVERY: Duration = Duration::from_secs(10);

/// Largest number of bytes that are read of a list of sockets.
pub const SOCKETS_BYTES_MAX: u64 = 16 << 20;

/// Main classes of TaskManagers: those that are started by scripts, and those that Flink itself starts on Kubernetes,
/// on YARN, and (until Flink 1.13) on Mesos.
const MAIN_CLASSES: [&str; 4] = [
    "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
    "org.apache.flink.kubernetes.taskmanager.KubernetesTaskExecutorRunner",
    "org.apache.flink.yarn.YarnTaskExecutorRunner",
    "org.apache.flink.mesos.entrypoint.MesosTaskExecutorRunner",
];

/// A process of this machine that is a TaskManager.
#[derive(Debug)]
pub(super) struct Local {
    process: JavaProcess,
    /// Names of the TaskManagers that the process may be. There is one, unless ports cannot tell them apart.
    managers: BTreeSet<String>,
}

impl Local {
    /// Returns true if the process may be this TaskManager. One without a name may be any.
    pub(super) fn may_be(&self, manager: Option<&str>) -> bool {
        manager.is_none_or(|manager| self.managers.contains(manager))
    }

    /// Returns the threads by which the process tells its metrics: those of its actor systems.
    pub(super) fn telling(&self) -> impl Iterator<Item = Telling> {
        self.process.chosen(is_telling)
    }

    /// Returns the threads of a name, in the order of their starts.
    pub(super) fn named(&self, name: &str) -> &[ThreadKey] {
        self.process.named(name)
    }
}

/// Returns true for the name of the thread that computes rates, and for those of threads of the actor systems `flink` and
/// `flink-metrics`, which tell metrics and give signs of life: `flink-8`, `flink-metrics-5`, `flink-scheduler-1`, `flink-pekko.actor.default-dispatcher-4`. Other names may begin
/// so as well, such as `flink-taskexecutor-io-thread-1`, and names of users' operators.
fn is_telling(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if name.strip_prefix("Flink-Metric-View-Updater-thread-").is_some_and(is_number) {
        return true;
    }
    let Some(rest) = name.strip_prefix("flink-") else { return false };
    let rest = rest.strip_prefix("metrics-").unwrap_or(rest);
    let of_dispatcher = ["pekko.", "akka."].iter().any(|system| {
        let name = rest.strip_prefix(system).and_then(|name| name.rsplit_once('-'));
        name.is_some_and(|(name, number)| name.ends_with("dispatcher") && is_number(number))
    });
    of_dispatcher || is_number(rest.strip_prefix("scheduler-").unwrap_or(rest))
}

/// All TaskManagers of one Flink on this machine.
#[derive(Debug)]
pub(super) struct Managers {
    processes: Processes,
    found: Vec<Local>,
    /// The TaskManagers that were looked for last, and when.
    searched: Option<(Vec<Manager>, Duration)>,
    quit: attach::Quit,
}

impl Managers {
    pub(super) fn new(processes: Processes) -> Self {
        Managers { processes, found: Vec::new(), searched: None, quit: attach::quit }
    }

    pub(super) fn found(&self) -> &[Local] {
        &self.found
    }

    /// Looks at the processes again, `now` after the driver began, and returns true if a thread has begun or ended.
    ///
    /// # Errors
    /// If a process cannot be looked at, or does not tell its threads.
    pub(super) fn look(
        &mut self,
        managers: &[Manager],
        now: Duration,
        deadline: Instant,
    ) -> Result<bool, Unobserved> {
        let failed = |error: &io::Error| Unobserved(format!("processes cannot be looked at: {error}"));
        let mut has_changed = false;
        if self.must_search(managers, now).map_err(|error| failed(&error))? {
            self.search(managers, deadline)?;
            self.searched = Some((managers.to_vec(), now));
            has_changed = true;
        }
        if self.found.len() > PROCESSES_MAX {
            let found = self.found.len();
            return Err(Unobserved(format!(
                "{found} TaskManagers run here; at most {PROCESSES_MAX} are steered"
            )));
        }
        let Managers { processes, found, quit, .. } = self;
        let mut ended = Vec::new();
        for local in &mut *found {
            match local.process.look(processes, (now, deadline), *quit) {
                Ok(is_changed) => has_changed |= is_changed,
                // A process that ends is found out by whatever is done with it.
                Err(_) if !processes.lives(local.process.process()).map_err(|error| failed(&error))? => {
                    ended.push(local.process.process());
                }
                Err(error) => return Err(error),
            }
        }
        found.retain(|local| !ended.contains(&local.process.process()));
        Ok(has_changed || !ended.is_empty())
    }

    fn must_search(&self, managers: &[Manager], now: Duration) -> io::Result<bool> {
        let Some((known, at)) = &self.searched else { return Ok(true) };
        for local in &self.found {
            if !self.processes.lives(local.process.process())? {
                return Ok(true);
            }
        }
        let is_found =
            |manager: &Manager| self.found.iter().any(|local| local.managers.contains(&manager.id));
        let is_due = now.saturating_sub(*at) >= SEARCH_EVERY;
        Ok(known != managers || (is_due && !managers.iter().all(is_found)))
    }

    /// Finds the processes of all TaskManagers. What is known of a process that is found again is kept.
    fn search(&mut self, managers: &[Manager], deadline: Instant) -> Result<(), Unobserved> {
        let failed = |error: io::Error| Unobserved(format!("processes cannot be looked at: {error}"));
        let mut candidates: Vec<(ThreadKey, Vec<Listens>)> = Vec::new();
        for number in self.processes.numbers().map_err(failed)? {
            // A shell that starts a TaskManager has the class in one of its arguments, and is none.
            let arguments = self.processes.arguments(number);
            if !arguments.iter().any(|argument| MAIN_CLASSES.contains(&&**argument)) {
                continue;
            }
            if let Some(process) = self.processes.key(number, number).map_err(failed)? {
                let mut of_process = Vec::with_capacity(managers.len());
                for manager in managers {
                    in_time(deadline, "the search for TaskManagers")?;
                    of_process.push(listens(&self.processes, number, manager.data_port));
                }
                candidates.push((process, of_process));
            }
        }
        let mut known: BTreeMap<ThreadKey, Local> = std::mem::take(&mut self.found)
            .into_iter()
            .map(|local| (local.process.process(), local))
            .collect();
        for (process, listens) in &candidates {
            let is_manager = |place: usize| match listens[place] {
                Listens::Yes => true,
                Listens::Perhaps => candidates.iter().all(|(_, others)| others[place] != Listens::Yes),
                Listens::No => false,
            };
            let ids = managers.iter().enumerate().filter(|(place, _)| is_manager(*place));
            let ids: BTreeSet<String> = ids.map(|(_, manager)| manager.id.clone()).collect();
            if !ids.is_empty() {
                let new = || Local { process: JavaProcess::new(*process), managers: BTreeSet::new() };
                let mut local = known.remove(process).unwrap_or_else(new);
                local.managers = ids;
                self.found.push(local);
            }
        }
        Ok(())
    }
}

/// Answer to the question if a process listens on a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Listens {
    Yes,
    No,
    /// Some process of its network namespace does, or the port is not known.
    Perhaps,
}

/// Returns whether a process listens on a TCP port. Source: `proc_pid_net(5)` for the lists of sockets.
fn listens(processes: &Processes, process: u32, port: Option<u16>) -> Listens {
    let Some(port) = port else { return Listens::Perhaps };
    let folder = processes.root().join(process.to_string());
    let mut sockets = BTreeSet::new();
    for list in ["net/tcp", "net/tcp6"] {
        let mut text = Vec::new();
        let read = File::open(folder.join(list))
            .and_then(|file| file.take(SOCKETS_BYTES_MAX).read_to_end(&mut text));
        match read {
            Ok(_) => {
                sockets
                    .extend(String::from_utf8_lossy(&text).lines().filter_map(|line| listener(line, port)));
            }
            Err(error) if is_gone(&error) => {}
            Err(_) => return Listens::Perhaps,
        }
    }
    if sockets.is_empty() {
        return Listens::No;
    }
    let Ok(files) = fs::read_dir(folder.join("fd")) else { return Listens::Perhaps };
    let is_listener = |entry: fs::DirEntry| {
        let link = fs::read_link(entry.path()).ok()?;
        let socket = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned();
        Some(sockets.contains(&socket))
    };
    if files.filter_map(Result::ok).any(|entry| is_listener(entry) == Some(true)) {
        Listens::Yes
    } else {
        Listens::No
    }
}

/// Returns the number of the socket in a line of the list, if it listens on this port.
fn listener(line: &str, port: u16) -> Option<String> {
    /// The state of a socket that listens, in the kernel's `tcp_states.h`.
    const LISTEN: &str = "0A";
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (_, found) = fields.get(1)?.rsplit_once(':')?;
    let is_wanted = u16::from_str_radix(found, 16) == Ok(port) && *fields.get(3)? == LISTEN;
    is_wanted.then(|| fields.get(9).map(|socket| (*socket).to_owned()))?
}

#[cfg(test)]
pub(super) mod tests;
