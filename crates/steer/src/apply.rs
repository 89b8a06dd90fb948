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

use crate::groups::Group;
use crate::kernel::{Kernel, put_back};
use crate::setting::Setting;
use crate::state_file::StateFile;
use crate::threads::{Processes, ThreadKey};

/// Gives threads their scheduling, and remembers how it was before.
pub struct Applier<K> {
    kernel: K,
    processes: Processes,
    /// The state file of the tool; `None` for a dry run, which changes nothing.
    state_file: Option<StateFile>,
    /// The scheduling that each thread had before its first change.
    before: BTreeMap<ThreadKey, Setting>,
    /// Processes whose groups have been looked at for a real-time budget.
    budgeted: BTreeSet<u32>,
}

/// A change of the scheduling of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The thread.
    pub key: ThreadKey,
    /// The scheduling before the round.
    pub from: Setting,
    /// The scheduling that it has now, or would have if this was no dry run.
    pub to: Setting,
}

/// Result of one round.
#[derive(Debug, Default)]
pub struct Applied {
    /// The threads of the round that got another scheduling.
    pub changes: Vec<Change>,
    /// Number of threads of the round that had their scheduling already.
    pub unchanged: u64,
    /// Number of threads that got back what they had before, because the round does not name them.
    pub put_back: u64,
    /// Number of threads that have ended.
    pub ended: u64,
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
        Applier { kernel, processes, state_file, before: BTreeMap::new(), budgeted: BTreeSet::new() }
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
        // If the number belongs to another thread by now, which has this scheduling, nothing is to be done either.
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
        // The number may belong to another thread by now, which may have got the new scheduling.
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
        let change = Given::Changed(Change { key, from, to });
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
