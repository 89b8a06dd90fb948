//! Where workers sleep when there is nothing to do, and how they are woken. `README.md` beside this file tells the
//! protocol; in short:
//!
//! * A worker that finds nothing says that it is going to sleep, looks once more, and sleeps. Whoever makes work first
//!   publishes it, then looks whether anybody sleeps. Between the two steps each side has a fence, so at least one of
//!   them sees the other: no wake-up is lost.
//! * Of the workers that sleep, one wakes by itself when the next task is due by time, a source or a copy of a shared
//!   operator, and one a little later, should the first be held up. While some worker is awake, one that sleeps looks once a
//!   millisecond whether work is left lying. No other has a timer. With nothing due and no worker awake none has: an idle
//!   engine does not tick.
//!
//! Sleeping and waking take a lock; asking whether anybody sleeps takes none.

use std::time::Duration;

use thalweg_memory::sync::{AtomicUsize, Condvar, Mutex, Ordering, fence};
use thalweg_model::{Clock, ProcessingTime};

/// How much later the second sleeper wakes than the one who waits for the next source; and how long a worker sleeps at
/// most while others are awake, whose steps may turn out longer than they thought. Ours: far below what people notice,
/// and a thousand wake-ups a second are half a percent of a core.
pub(crate) const BACKUP_NS: u64 = 1_000_000;

/// The sleepers of an engine.
#[derive(Debug)]
pub(crate) struct Idle {
    workers: usize,
    /// The shortest sleep for a source, so that one wake-up serves all that become due about then.
    grain_ns: u64,
    /// How many sleep or are about to. Written under the lock; read without it by those who make work, behind a fence.
    sleeping: AtomicUsize,
    sleepers: Mutex<Vec<Sleeper>>,
    /// One per worker.
    parkers: Box<[Condvar]>,
}

#[derive(Clone, Copy, Debug)]
struct Sleeper {
    worker: usize,
    /// When it wakes by itself, at the latest.
    until: ProcessingTime,
}

/// Result of a look of a worker, when it looks once more before it sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outlook {
    /// There is work, or the engine ends.
    Work,
    /// Nothing before this instant, unless others make work.
    Nothing(ProcessingTime),
}

/// How a sleep ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awoken {
    /// There was something to do after all.
    NotAsleep,
    /// Somebody called, or the time was up. `is_covered` says whether another sleeper looks soon by itself.
    FromSleep {
        /// See above.
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

    /// Returns true if there is one worker only, whom nobody could help.
    #[inline]
    pub(crate) fn is_single(&self) -> bool {
        self.workers == 1
    }

    /// Returns true if somebody sleeps, for one who has just made work: behind a fence that orders that work before the look.
    #[inline]
    pub(crate) fn has_sleepers(&self) -> bool {
        // SeqCst: a store of work before this and a load of `sleeping` behind it may otherwise pass each other; the
        // sleeper has such a fence between its count and its look.
        fence(Ordering::SeqCst);
        self.sleeping.load(Ordering::Relaxed) > 0
    }

    /// Returns true if somebody seems to sleep: no fence orders the look, so it is for a worker that asks again soon.
    #[inline]
    pub(crate) fn seems_to_have_sleepers(&self) -> bool {
        self.sleeping.load(Ordering::Relaxed) > 0
    }

    /// How many sleep or are about to, for reports.
    pub(crate) fn sleeping(&self) -> usize {
        self.sleeping.load(Ordering::Relaxed)
    }

    /// Sleeps until somebody calls or the time is up, unless `look` finds work.
    pub(crate) fn sleep(
        &self,
        worker: usize,
        clock: &dyn Clock,
        look: impl FnOnce(ProcessingTime) -> Outlook,
    ) -> Awoken {
        let mut sleepers = self.sleepers.lock();
        self.count(sleepers.len() + 1);
        // SeqCst: see `has_sleepers`.
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

    /// Returns when one who falls asleep now has to wake: for the next source, if nobody else does; a little later, if only
    /// one other does; not at all, if two do.
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
        // While somebody is awake, one of those who sleep looks once in a while whether that one is held up.
        let is_alone = sleepers.len() + 1 == self.workers;
        let look = now.plus_nanos(BACKUP_NS);
        if is_alone || by(look) > 0 { for_sources } else { for_sources.min(look) }
    }

    fn count(&self, sleeping: usize) {
        self.sleeping.store(sleeping, Ordering::Relaxed);
    }

    /// Wakes the one who fell asleep last, if anybody sleeps: its core is still warm.
    pub(crate) fn wake_one(&self) {
        let mut sleepers = self.sleepers.lock();
        if let Some(Sleeper { worker, .. }) = sleepers.pop() {
            self.count(sleepers.len());
            self.parkers[worker].notify_one();
        }
    }

    /// Wakes everybody who sleeps.
    pub(crate) fn wake_all(&self) {
        let mut sleepers = self.sleepers.lock();
        for Sleeper { worker, .. } in sleepers.drain(..) {
            self.parkers[worker].notify_one();
        }
        self.count(0);
    }
}

/// Returns true if one of those who sleep looks soon by itself.
fn is_covered(sleepers: &[Sleeper], now: ProcessingTime) -> bool {
    sleepers.iter().any(|sleeper| sleeper.until <= now.plus_nanos(BACKUP_NS))
}

#[cfg(test)]
mod tests;
