//! Application: gives threads the scheduling that a round wants, and changes only what differs.
//!
//! The kernel is asked for the present scheduling of each thread in each round, which takes one system call. So a change
//! from outside, by the watchdog or by the engine itself, is seen and mended in the next round.
//!
//! Before the first thread of a process becomes real-time, the control group of the process gets a real-time budget if
//! it has none.
//!
//! A thread is told apart from a later one with the same number by the time of its start. It is looked at before and
//! after a change, which takes the read of a small file each. If it ended between the two, and the number belongs to
//! another thread of the same process already, that thread gets the scheduling that the ended one had before the tool, as
//! its siblings had when they began. A thread of another process is left alone.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Instant;

use crate::bounds::APPLY_MAX;
use crate::groups::{self, Group, Version};
use crate::kernel::{Kernel, put_back};
use crate::setting::{Priority, Setting};
use crate::shares::{Groups, Member, PERIOD_US, With};
use crate::state_file::StateFile;
use crate::threads::{Processes, ThreadKey, is_gone};
use crate::translate::SharesFile;

/// Gives threads their scheduling, and remembers how it was before.
pub struct Applier<K> {
    kernel: K,
    processes: Processes,
    /// The open state file of the steering process; `None` for a dry run, which changes nothing.
    state_file: Option<StateFile>,
    /// The scheduling that each thread had before its first change.
    before: BTreeMap<ThreadKey, Setting>,
    /// Numbers of the processes whose control groups have been looked at for a real-time budget.
    budgeted: BTreeSet<u32>,
    /// The control groups that this steering process has made for operators.
    groups: Groups,
}

/// A change of the priority of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The thread.
    pub key: ThreadKey,
    /// The priority before the round. `None` if the thread was in no control group of the steering process and is in
    /// one now, or if its group had no limit of CPU time.
    pub from: Option<Priority>,
    /// The priority that it has now, or would have if this was no dry run.
    pub to: Priority,
}

/// Result of one round.
#[derive(Debug, Default)]
pub struct Applied {
    /// The threads of the round that got another priority.
    pub changes: Vec<Change>,
    /// Number of threads of the round that had the wanted priority already.
    pub unchanged: u64,
    /// Number of threads that got back the scheduling or the control group of before the tool, because the round does
    /// not name them. Threads that steered threads have started count here, too.
    pub put_back: u64,
    /// Number of threads that have ended, found while the round was applied.
    pub ended: u64,
    /// Number of threads whose change is left to the next round, since the time for making groups and moving threads,
    /// [`APPLY_MAX`](crate::bounds::APPLY_MAX), was over.
    pub postponed: u64,
    /// Threads that could not be looked at or changed, with the reason.
    pub failures: Vec<(ThreadKey, io::Error)>,
}

/// Outcome for one thread.
enum Given {
    Changed(Change),
    Unchanged,
    Ended,
}

impl<K: Kernel> Applier<K> {
    /// Makes an applier. Without a state file it is a dry run: it tells the changes and makes none.
    pub fn new(kernel: K, processes: Processes, state_file: Option<StateFile>) -> Self {
        let (before, budgeted, groups) = (BTreeMap::new(), BTreeSet::new(), Groups::default());
        Applier { kernel, processes, state_file, before, budgeted, groups }
    }

    /// Brings each thread into the control group of its operator. Threads that earlier rounds have moved and this round
    /// does not name go back to the group of before. After [`APPLY_MAX`] the rest is left to the next round.
    pub fn apply_in_groups(&mut self, wanted: &BTreeMap<ThreadKey, Member>) -> Applied {
        let Applier { kernel, processes, state_file, groups, .. } = self;
        let deadline = Instant::now() + APPLY_MAX;
        groups.apply(wanted, With { kernel, processes, state_file: state_file.as_mut(), deadline })
    }

    /// Returns the file by which control groups share CPU time here: that of version 1 or of version 2 of control
    /// groups.
    pub fn shares_file(&mut self) -> SharesFile {
        match groups::version(self.groups.mounts(&self.processes)) {
            Version::One => SharesFile::Shares,
            Version::Two => SharesFile::Weight,
        }
    }

    /// Returns the CPU time in µs that these threads may use in a period of [`PERIOD_US`], on all cores of the machine,
    /// by the limits of the control groups in which they were before the tool moved them; the least one if they were in
    /// several groups.
    ///
    /// # Errors
    /// If a thread is in no group, or if a limit cannot be read. A thread that has ended is no error.
    pub fn time_us(&mut self, threads: impl IntoIterator<Item = ThreadKey>) -> io::Result<u64> {
        let cores = groups::cores(&self.processes);
        let mut homes = BTreeSet::new();
        for key in threads {
            match self.groups.home_of(key, &self.processes) {
                Ok(home) => _ = homes.insert(home),
                Err(error) if is_gone(&error) && !self.processes.lives(key)? => {}
                Err(error) => return Err(error),
            }
        }
        let mut least_us = PERIOD_US.saturating_mul(cores.into());
        for home in homes {
            least_us = least_us.min(home.time_us(cores, PERIOD_US)?);
        }
        Ok(least_us)
    }

    /// Gives each thread its scheduling. Threads that earlier rounds have changed and this round does not name get
    /// back what they had.
    pub fn apply(&mut self, wanted: &BTreeMap<ThreadKey, Setting>) -> Applied {
        let mut applied = Applied::default();
        for (&key, &setting) in wanted {
            match self.give(key, setting) {
                Ok(Given::Changed(change)) => applied.changes.push(change),
                Ok(Given::Unchanged) => applied.unchanged += 1,
                Ok(Given::Ended) => applied.ended += 1,
                Err(error) => applied.failures.push((key, error)),
            }
        }
        let Applier { kernel, processes, before, .. } = self;
        before.retain(|key, setting| {
            if wanted.contains_key(key) {
                return true;
            }
            match put_back(*key, *setting, processes, kernel) {
                Ok(true) => applied.put_back += 1,
                Ok(false) => applied.ended += 1,
                Err(error) => {
                    applied.failures.push((*key, error));
                    return true;
                }
            }
            false
        });
        applied
    }

    /// Gives one thread its scheduling.
    fn give(&mut self, key: ThreadKey, to: Setting) -> io::Result<Given> {
        // If the number belongs to another thread by now, and that one has the wanted scheduling, nothing is to be
        // done either.
        if self.kernel.setting(key.thread).is_ok_and(|setting| setting == to) {
            return Ok(Given::Unchanged);
        }
        if !self.processes.lives(key)? {
            self.before.remove(&key);
            return Ok(Given::Ended);
        }
        let outcome = self.change(key, to);
        if self.processes.lives(key)? {
            return outcome;
        }
        // After the end of the thread its number may belong to another one by now, which may have got the new
        // scheduling.
        if let Some(before) = self.before.remove(&key)
            && let Ok(Given::Changed(_)) = outcome
            && self.processes.key(key.process, key.thread)?.is_some()
        {
            let _is_gone = self.kernel.set(key.thread, before);
        }
        Ok(Given::Ended)
    }

    fn change(&mut self, key: ThreadKey, to: Setting) -> io::Result<Given> {
        let from = self.kernel.setting(key.thread)?;
        if from == to {
            return Ok(Given::Unchanged);
        }
        let change = Given::Changed(Change { key, from: Some(from.into()), to: to.into() });
        let Some(state_file) = &mut self.state_file else { return Ok(change) };
        if to.class.is_real_time() && !self.budgeted.contains(&key.process) {
            Group::budget_of(key.process, &self.processes, state_file)?;
            self.budgeted.insert(key.process);
        }
        if let Entry::Vacant(before) = self.before.entry(key) {
            state_file.note_thread(key, from)?;
            before.insert(from);
        }
        self.kernel.set(key.thread, to)?;
        Ok(change)
    }
}

#[cfg(test)]
mod tests;
