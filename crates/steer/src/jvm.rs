//! Java processes of this machine: their threads by the names that Java gives them.
//!
//! The kernel cuts names of threads at 15 bytes, so the full ones come from a thread dump:
//!
//! - `attach`: asks a virtual machine for a dump, without a program such as `jcmd`;
//! - `dump`: reads it.
//!
//! A dump is taken only when a process has threads that it had not before, and not more often than once in
//! [`DUMP_EVERY`]: a virtual machine stops all its threads for a dump. Threads of the virtual machine itself, such as
//! compilers, come and go all the time, and need none. While real-time threads take all cores, the virtual machine may not
//! answer in time; then the threads that are known are steered on, and it is asked again after [`DUMP_AGAIN`].
//!
//! Bounds: [`THREADS_MAX`], [`DUMP_MAX`], [`DUMP_EVERY`] and [`DUMP_AGAIN`]. All work ends with the round.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::time::{Duration, Instant};

use crate::steering::{Telling, Unobserved};
use crate::threads::{Processes, ThreadKey};

pub(crate) mod attach;
pub(crate) mod dump;
#[cfg(test)]
pub(crate) mod fake;

/// Greatest number of threads of a process that is steered. `/proc` is read once per thread and round.
pub const THREADS_MAX: usize = 16_384;

/// Longest time that a thread dump may take.
pub const DUMP_MAX: Duration = Duration::from_secs(2);

/// Least time between two thread dumps of one process. Threads that have begun meanwhile are steered later.
pub const DUMP_EVERY: Duration = Duration::from_secs(1);

/// Least time between a thread dump that failed and the next one, for a process of which at least one thread is known
/// by name.
pub const DUMP_AGAIN: Duration = Duration::from_secs(10);

/// Beginnings of the names, as the kernel has them, of threads that the virtual machine HotSpot starts and ends as it
/// needs them. No thread of an engine begins with such a name, not even while it still has the name of the thread that
/// started it.
const OF_HOTSPOT: [&str; 6] =
    ["Attach Listener", "C1 CompilerThre", "C2 CompilerThre", "G1 Conc#", "G1 Refine#", "GC Thread#"];

/// A Java process with its threads, as they were at the last look.
#[derive(Debug)]
pub(crate) struct JavaProcess {
    process: ThreadKey,
    /// The threads that the last dump has named, and threads of the virtual machine itself, which need no names.
    threads: BTreeSet<ThreadKey>,
    /// Threads by the names that Java gives them, each list in the order of their starts.
    names: HashMap<String, Vec<ThreadKey>>,
    /// Time before which no thread dump is taken of this process, counted from the beginning of the driver.
    next_dump: Duration,
    /// True if the last thread dump failed, so threads that have begun since the one before are not known.
    is_behind: bool,
}

impl JavaProcess {
    /// Makes the process whose main thread this is. It was not looked at yet, so it has no threads.
    pub(crate) fn new(process: ThreadKey) -> Self {
        let (threads, names, next_dump) = (BTreeSet::new(), HashMap::new(), Duration::ZERO);
        JavaProcess { process, threads, names, next_dump, is_behind: false }
    }

    /// Returns the main thread, whose number is that of the process.
    pub(crate) fn process(&self) -> ThreadKey {
        self.process
    }

    /// Returns true if the last thread dump failed and there are threads that it would have told.
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Returns the threads that have a name in Java, in the order of their starts.
    pub(crate) fn named(&self, name: &str) -> &[ThreadKey] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns all names of threads in Java, each with its threads in the order of their starts.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &[ThreadKey])> {
        self.names.iter().map(|(name, threads)| (&**name, &**threads))
    }

    /// Returns the threads by which the process tells its metrics: those of whose names in Java `is_telling` is true.
    pub(crate) fn chosen(&self, is_telling: impl Fn(&str) -> bool) -> impl Iterator<Item = Telling> {
        let named = self.names().filter(move |(name, _)| is_telling(name));
        named.flat_map(|(name, threads)| {
            threads.iter().map(move |key| Telling { key: *key, name: name.to_owned() })
        })
    }

    /// Looks at the threads again, `now` after the driver began, and returns true if one has begun or ended that matters.
    ///
    /// # Errors
    /// If the process cannot be looked at, has too many threads, or does not tell them.
    pub(crate) fn look(
        &mut self,
        processes: &Processes,
        (now, deadline): (Duration, Instant),
        quit: attach::Quit,
    ) -> Result<bool, Unobserved> {
        let number = self.process.process;
        let failed = |error: &io::Error| Unobserved(format!("threads of process {number}: {error}"));
        let numbers = processes.threads(number).map_err(|error| failed(&error))?;
        if numbers.len() > THREADS_MAX {
            let count = numbers.len();
            return Err(Unobserved(format!(
                "process {number} has {count} threads; at most {THREADS_MAX} are looked at"
            )));
        }
        let mut threads = BTreeSet::new();
        for thread in numbers {
            in_time(deadline, "the look at threads")?;
            threads.extend(processes.key(number, thread).map_err(|error| failed(&error))?);
        }
        let has_ended = !self.threads.is_subset(&threads);
        if has_ended {
            self.threads.retain(|key| threads.contains(key));
            self.names.retain(|_, keys| {
                keys.retain(|key| threads.contains(key));
                !keys.is_empty()
            });
        }
        let is_of_hotspot = |key: &ThreadKey| {
            let name = processes.name(key.process, key.thread).unwrap_or_default();
            OF_HOTSPOT.iter().any(|begin| name.starts_with(begin))
        };
        let (own, new): (Vec<_>, Vec<_>) =
            threads.difference(&self.threads).copied().partition(is_of_hotspot);
        self.threads.extend(own);
        self.is_behind &= !new.is_empty();
        // If it is too early for a dump, the new threads are found in a later round.
        if new.is_empty() || now < self.next_dump {
            return Ok(has_ended);
        }
        let pause = if self.names.is_empty() { DUMP_EVERY } else { DUMP_AGAIN };
        self.next_dump = now + pause;
        self.is_behind = true;
        let longest = DUMP_MAX.min(deadline.saturating_duration_since(Instant::now()));
        let dump = attach::thread_dump(processes, self.process, longest, quit)?;
        self.is_behind = false;
        self.next_dump = now + DUMP_EVERY;
        self.names = named(processes, &threads, &dump);
        self.threads = threads;
        Ok(true)
    }
}

/// Returns an error if the time of the round is over.
pub(crate) fn in_time(deadline: Instant, what: &str) -> Result<(), Unobserved> {
    if Instant::now() <= deadline { Ok(()) } else { Err(Unobserved(format!("{what} takes too long"))) }
}

/// Returns the threads of a process by their names in its dump. Numbers that none of its threads has are left out.
fn named(
    processes: &Processes,
    threads: &BTreeSet<ThreadKey>,
    dump: &[u8],
) -> HashMap<String, Vec<ThreadKey>> {
    let inner = |key: &ThreadKey| Some((processes.inner_number(key.process, key.thread)?, *key));
    let keys: HashMap<u32, ThreadKey> = threads.iter().filter_map(inner).collect();
    let mut names: HashMap<String, Vec<ThreadKey>> = HashMap::new();
    for dump::Named { number, name } in dump::threads(dump) {
        if let Some(key) = keys.get(&number) {
            names.entry(name).or_default().push(*key);
        }
    }
    for keys in names.values_mut() {
        keys.sort_unstable_by_key(|key| (key.started, key.thread));
        keys.dedup();
    }
    names
}

#[cfg(test)]
mod tests;
