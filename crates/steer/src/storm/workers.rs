//! Worker processes of Storm that run on this machine, with the names of their threads.
//!
//! A worker is known by its main class, behind which the topology stands. The program that writes the log of a worker has
//! the command of the worker among its own arguments, and is none. Storm within another program, such as with
//! `LocalCluster`, is known by the main class of that program; its threads may be of any topology that reports.
//!
//! A worker that does not tell its threads does not stop the others: it is noted, and asked again after [`DUMP_AGAIN`].
//! Meanwhile those of its threads that are known are steered. Each worker has half of the time that is left in the round,
//! so some is left for those behind it.
//!
//! Bounds: [`PROCESSES_MAX`] and [`SEARCH_EVERY`], and those of [`jvm`](crate::jvm). All work ends with the round.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use super::names::in_metrics;
use super::notes::Notes;
use crate::bounds::check;
use crate::jvm::{DUMP_AGAIN, JavaProcess, attach, in_time};
use crate::steering::Unobserved;
use crate::threads::{Processes, ThreadKey};

/// Greatest number of worker processes that are steered. More are an error.
pub const PROCESSES_MAX: usize = 64;

/// Time after which processes are looked for again. Topologies may come, and workers may move to this machine.
pub const SEARCH_EVERY: Duration = Duration::from_secs(5);

/// Main classes of workers: that of Storm 2.x, and that of Storm 1.x.
const WORKERS: [&str; 2] = ["org.apache.storm.daemon.worker.Worker", "org.apache.storm.daemon.worker"];

/// Main class of the program that starts a worker and writes its log.
const LOG_WRITER: &str = "org.apache.storm.LogWriter";

/// Main class of a program that runs Storm within itself: `storm local`.
const LOCAL: &str = "org.apache.storm.LocalCluster";

/// A process of this machine that runs executors.
#[derive(Debug)]
pub(super) struct Worker {
    process: JavaProcess,
    /// Name of the topology, as in metrics; `None` if the process may run executors of any.
    topology: Option<String>,
    /// The reason for which not all its threads are known; `None` if they are.
    failure: Option<String>,
    /// Time, counted from the beginning of the driver, until which this worker is not asked again. Used while none of its
    /// threads is known.
    next_look: Duration,
}

impl Worker {
    /// Returns the threads.
    pub(super) fn process(&self) -> &JavaProcess {
        &self.process
    }

    /// Returns true if the process runs executors of one topology only.
    pub(super) fn has_one_topology(&self) -> bool {
        self.topology.is_some()
    }

    /// Returns true if the process may run executors of a topology, which is named as in metrics.
    pub(super) fn may_run(&self, topology: &str) -> bool {
        self.topology.as_ref().is_none_or(|own| own == topology)
    }
}

/// All workers on this machine.
#[derive(Debug)]
pub(super) struct Workers {
    processes: Processes,
    /// Main class of a further program that runs Storm within itself.
    main_class: Option<String>,
    found: Vec<Worker>,
    /// Topologies for which workers were last looked for, and the time since the driver began.
    searched: Option<(BTreeSet<String>, Duration)>,
    pub(super) quit: attach::Quit,
}

impl Workers {
    pub(super) fn new(processes: Processes, main_class: Option<String>) -> Self {
        Workers { processes, main_class, found: Vec::new(), searched: None, quit: attach::quit }
    }

    /// Returns the workers of topologies that report, as the last look found them.
    pub(super) fn found(&self) -> &[Worker] {
        &self.found
    }

    /// Returns the reasons for which not all threads of a worker are known, one for each such worker.
    pub(super) fn failures(&self) -> impl Iterator<Item = &str> {
        self.found.iter().filter_map(|worker| worker.failure.as_deref())
    }

    /// Looks at the processes again, `now` after the driver began. Workers of topologies that do not report are left alone:
    /// they may be of another Storm. Workers that begin not to tell their threads are noted.
    ///
    /// # Errors
    /// If the processes of the machine cannot be looked at, or not in time.
    pub(super) fn look<'a>(
        &mut self,
        topologies: impl Iterator<Item = &'a str>,
        (now, deadline): (Duration, Instant),
        notes: &mut Notes,
    ) -> Result<(), Unobserved> {
        let failed = |error: &io::Error| Unobserved(format!("processes cannot be looked at: {error}"));
        let topologies: BTreeSet<String> = topologies.map(str::to_owned).collect();
        let is_due = |(known, at): &(BTreeSet<String>, Duration)| {
            *known != topologies || now.saturating_sub(*at) >= SEARCH_EVERY
        };
        if self.searched.as_ref().is_none_or(is_due) {
            self.search(&topologies, deadline)?;
            self.searched = Some((topologies, now));
        }
        let Workers { processes, found, quit, .. } = self;
        let (mut ended, mut newly_failed) = (Vec::new(), None);
        for worker in &mut *found {
            if now < worker.next_look {
                continue;
            }
            let begun = Instant::now();
            let own_deadline = begun + deadline.saturating_duration_since(begun) / 2;
            match worker.process.look(processes, (now, own_deadline), *quit) {
                Ok(_) if worker.process.is_behind() => {}
                Ok(_) => worker.failure = None,
                // A process may end while it is looked at, which is no failure.
                Err(_) if !processes.lives(worker.process.process()).map_err(|error| failed(&error))? => {
                    ended.push(worker.process.process());
                }
                Err(Unobserved(reason)) => {
                    if worker.process.names().next().is_none() {
                        worker.next_look = now + DUMP_AGAIN;
                    }
                    if worker.failure.is_none() {
                        newly_failed = Some(reason.clone());
                    }
                    worker.failure = Some(reason);
                }
            }
        }
        found.retain(|worker| !ended.contains(&worker.process.process()));
        if let Some(reason) = newly_failed {
            let (count, all) = (self.failures().count(), self.found.len());
            notes.add(format!(
                "{count} of {all} workers on this machine do not tell their threads, so threads that are not known are \
                 left alone: {reason}"
            ));
        }
        in_time(deadline, "the look at workers")
    }

    /// Finds the processes. What is known of a process that is found again is kept.
    fn search(&mut self, topologies: &BTreeSet<String>, deadline: Instant) -> Result<(), Unobserved> {
        let failed = |error: io::Error| Unobserved(format!("processes cannot be looked at: {error}"));
        let mut candidates: Vec<(ThreadKey, Option<String>)> = Vec::new();
        for number in self.processes.numbers().map_err(failed)? {
            in_time(deadline, "the search for workers")?;
            let arguments = self.processes.arguments(number);
            let Some(topology) = self.topology(&arguments) else { continue };
            if topology.as_ref().is_none_or(|topology| topologies.contains(topology)) {
                let process = self.processes.key(number, number).map_err(failed)?;
                candidates.extend(process.map(|process| (process, topology)));
            }
        }
        check("workers on this machine", candidates.len(), PROCESSES_MAX)?;
        let known = std::mem::take(&mut self.found).into_iter();
        let mut known: BTreeMap<ThreadKey, Worker> =
            known.map(|worker| (worker.process.process(), worker)).collect();
        for (process, topology) in candidates {
            let (failure, next_look) = (None, Duration::ZERO);
            let new = || Worker { process: JavaProcess::new(process), topology, failure, next_look };
            self.found.push(known.remove(&process).unwrap_or_else(new));
        }
        Ok(())
    }

    /// Returns the topology, as in metrics, of the process with these arguments; `None` if it is no worker, and
    /// `Some(None)` if it may run any topology.
    fn topology(&self, arguments: &[String]) -> Option<Option<String>> {
        if arguments.iter().any(|argument| argument == LOG_WRITER) {
            return None;
        }
        if let Some(class) = arguments.iter().position(|argument| WORKERS.contains(&&**argument)) {
            return Some(Some(in_metrics(arguments.get(class + 1)?)));
        }
        let main_class = self.main_class.as_deref();
        let is_local = |argument: &String| argument == LOCAL || main_class == Some(argument.as_str());
        arguments.iter().skip(1).any(is_local).then_some(None)
    }
}

#[cfg(test)]
mod tests;
