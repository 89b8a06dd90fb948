//! The sleep of workers that have nothing to do, and their wake-ups. `README.md` beside this file has the
//! protocol. In short:
//!
//! * A worker that finds nothing counts itself among the sleepers, looks for work once more, and sleeps. A
//!   party that makes work first publishes the work, then looks for sleepers. Between the two steps each side
//!   has a fence, so at least one of them sees the other: no wake-up is lost.
//! * One sleeper wakes by itself when the next task is due by time: a source, or a copy of an operator that workers share.
//!   A second one wakes a little later, in case the first is held up. While a worker is awake, one sleeper
//!   looks once per millisecond for work that was left. No other sleeper has a timer. If nothing is due and
//!   no worker is awake, there is no timer at all: an idle engine does not tick.
//!
//! Sleeping and waking take a lock. A look for sleepers takes none.

use std::time::Duration;

use thalweg_memory::sync::{AtomicUsize, Condvar, Mutex, Ordering, fence};
use thalweg_model::{Clock, ProcessingTime};

/// Nanoseconds by which the second sleeper's alarm comes after the first, which waits for the next source. It
/// is also the longest sleep of one worker while others are awake, because their steps may take longer than
/// expected. The value is ours: it is far below what people notice, and a thousand wake-ups a second are 0.5
/// % of a core.
pub(crate) const BACKUP_NS: u64 = 1_000_000;

/// The sleeping workers of an engine, and the means to wake them.
#[derive(Debug)]
pub(crate) struct Idle {
    workers: usize,
    /// The shortest sleep in ns of a worker that waits for a source, so that one wake-up serves all sources
    /// that become due at about that time.
    grain_ns: u64,
    /// Number of workers that sleep or are about to. Written under the lock of `sleepers`; read without it,
    /// behind a fence, by parties that make work.
    sleeping: AtomicUsize,
    sleepers: Mutex<Vec<Sleeper>>,
    /// One condition variable per worker, on which the worker sleeps.
    parkers: Box<[Condvar]>,
}

#[derive(Clone, Copy, Debug)]
struct Sleeper {
    worker: usize,
    /// The instant at which this sleeping worker wakes by itself, if nothing wakes it earlier.
    until: ProcessingTime,
}

/// Result of a worker's last look for work before it sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outlook {
    /// There is a task to run, or the engine ends, so the worker must not sleep.
    Work,
    /// No task is ready, and none becomes ready by time before this instant. Other workers may make work
    /// earlier.
    Nothing(ProcessingTime),
}

/// Outcome of a worker's attempt to sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awoken {
    /// The worker found a task to run and did not sleep.
    NotAsleep,
    /// The worker slept, and another party woke it or its time was up. `is_covered` is true if another
    /// sleeping worker has a timer and will look for work by itself soon.
    FromSleep {
        /// True if another sleeping worker has a timer and will look for work by itself soon.
        is_covered: bool,
    },
}

impl Idle {
    pub(crate) fn new(workers: usize, grain_ns: u64) -> Self {
        Idle {
            workers,
            grain_ns,
            sleeping: AtomicUsize::new(0),
            sleepers: Mutex::new(Vec::with_capacity(workers)),
            parkers: (0..workers).map(|_| Condvar::new()).collect(),
        }
    }

    /// Returns true if the engine has only one worker, so that waking others never helps.
    #[inline]
    pub(crate) fn is_single(&self) -> bool {
        self.workers == 1
    }

    /// Returns true if a worker sleeps. Meant for a party that has just made work: a fence orders the
    /// publication of that work before this look.
    #[inline]
    pub(crate) fn has_sleepers(&self) -> bool {
        // SeqCst: without this fence, the store of new work before it and the load of `sleeping` behind it
        // could pass each other. A worker that falls asleep has the same fence between its count and its last
        // look.
        fence(Ordering::SeqCst);
        self.sleeping.load(Ordering::Relaxed) > 0
    }

    /// Returns true if a worker seems to sleep. No fence orders this look, so it is meant for a worker that
    /// calls this again soon.
    #[inline]
    pub(crate) fn seems_to_have_sleepers(&self) -> bool {
        self.sleeping.load(Ordering::Relaxed) > 0
    }

    /// Returns the number of workers that sleep or are about to, for metrics.
    pub(crate) fn sleeping(&self) -> usize {
        self.sleeping.load(Ordering::Relaxed)
    }

    /// Puts a worker to sleep until another party wakes it or its time is up, unless `look` finds work.
    pub(crate) fn sleep(
        &self,
        worker: usize,
        clock: &dyn Clock,
        look: impl FnOnce(ProcessingTime) -> Outlook,
    ) -> Awoken {
        let mut sleepers = self.sleepers.lock();
        self.count(sleepers.len() + 1);
        // SeqCst: this fence pairs with the fence in `has_sleepers`, so that no wake-up is lost.
        fence(Ordering::SeqCst);
        let now = clock.now();
        let due = match look(now) {
            Outlook::Nothing(due) if now < due => due,
            _ => {
                self.count(sleepers.len());
                return Awoken::NotAsleep;
            }
        };
        let until = self.alarm(&sleepers, now, due);
        sleepers.push(Sleeper { worker, until });
        loop {
            let left_ns = until.nanos_since(clock.now());
            if until == ProcessingTime::NEVER {
                sleepers = self.parkers[worker].wait(sleepers);
            } else if left_ns > 0 {
                sleepers = self.parkers[worker].wait_timeout(sleepers, Duration::from_nanos(left_ns));
            }
            let Some(place) = sleepers.iter().position(|sleeper| sleeper.worker == worker) else {
                return Awoken::FromSleep { is_covered: is_covered(&sleepers, clock.now()) };
            };
            let now = clock.now();
            if until <= now {
                sleepers.remove(place);
                self.count(sleepers.len());
                return Awoken::FromSleep { is_covered: is_covered(&sleepers, now) };
            }
        }
    }

    /// Returns the instant at which a worker that falls asleep now must wake by itself. If no other sleeping
    /// worker wakes for the next source, it is the instant at which the source is due. If one other sleeping
    /// worker does, it is [`BACKUP_NS`] later. If two others do, it is never.
    fn alarm(&self, sleepers: &[Sleeper], now: ProcessingTime, due: ProcessingTime) -> ProcessingTime {
        let due = due.max(now.plus_nanos(self.grain_ns));
        let by = |instant: ProcessingTime| sleepers.iter().filter(|sleeper| sleeper.until <= instant).count();
        let late = |instant: ProcessingTime| {
            if instant == ProcessingTime::NEVER { instant } else { instant.plus_nanos(BACKUP_NS) }
        };
        let for_sources = match (due, by(due), by(late(due))) {
            (ProcessingTime::NEVER, ..) => ProcessingTime::NEVER,
            (_, 0, _) => due,
            (_, _, 0 | 1) => late(due),
            _ => ProcessingTime::NEVER,
        };
        // While some worker is awake, one sleeping worker wakes after `BACKUP_NS` to look for work, in case
        // the other is held up by a long step.
        let is_alone = sleepers.len() + 1 == self.workers;
        let look = now.plus_nanos(BACKUP_NS);
        if is_alone || by(look) > 0 { for_sources } else { for_sources.min(look) }
    }

    fn count(&self, sleeping: usize) {
        self.sleeping.store(sleeping, Ordering::Relaxed);
    }

    /// Wakes the worker that fell asleep last, if any worker sleeps, because its caches hold the most recent
    /// data.
    pub(crate) fn wake_one(&self) {
        let mut sleepers = self.sleepers.lock();
        if let Some(Sleeper { worker, .. }) = sleepers.pop() {
            self.count(sleepers.len());
            self.parkers[worker].notify_one();
        }
    }

    pub(crate) fn wake_all(&self) {
        let mut sleepers = self.sleepers.lock();
        for Sleeper { worker, .. } in sleepers.drain(..) {
            self.parkers[worker].notify_one();
        }
        self.count(0);
    }
}

/// Returns true if one of the sleeping workers has a timer and will look for work by itself soon.
fn is_covered(sleepers: &[Sleeper], now: ProcessingTime) -> bool {
    sleepers.iter().any(|sleeper| sleeper.until <= now.plus_nanos(BACKUP_NS))
}

#[cfg(test)]
mod tests;
