//! Timers of keys: instants of event time at which a key is called, each once, in their order.
//!
//! ```text
//!   live    (key, instant) -> serial      the timers that are set: one look-up tells whether one is there
//!   queue   (instant, serial, key)        the order of firing; some entries are no longer set
//! ```
//!
//! A deleted timer leaves the table at once. It leaves the queue when its time comes, or when half of the queue is
//! deleted timers. So moving a timer with every record, as timeouts do, takes no more memory than twice the timers
//! that are set. There is no list per key, because an operator without keys has one key, which may have a million
//! timers.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::hash::Hash;

use thalweg_model::{Allowance, EventTime, State, StateError, StateReader, StateWriter};

use crate::funded::room_in_heap;
use crate::key_table::{KeyHash, KeyTable};

/// Length of the queue up to which deleted timers are not removed from it, since they are too few to matter.
const CLEANED_FROM: usize = 64;

/// The timers of all keys of a process function.
#[derive(Debug)]
pub(super) struct Timers<K> {
    /// The timers that are set, each with its serial number.
    live: KeyTable<(K, EventTime), u64>,
    queue: BinaryHeap<Queued<K>>,
    /// The serial number of the next timer. Timers of one instant fire in the order of their serial numbers.
    serial: u64,
    allowance: Allowance,
}

#[derive(Debug)]
struct Queued<K> {
    timer: (K, EventTime),
    serial: u64,
}

/// Orders queued timers for a max-heap: the greatest entry is the one that fires first.
impl<K> Ord for Queued<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |queued: &Self| (queued.timer.1, queued.serial);
        place(other).cmp(&place(self))
    }
}

impl<K> PartialOrd for Queued<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> PartialEq for Queued<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K> Eq for Queued<K> {}

impl<K: Clone + Eq + Hash> Timers<K> {
    pub(super) fn new(hash: KeyHash, allowance: Allowance) -> Self {
        Timers {
            live: KeyTable::new(hash, allowance.clone()),
            queue: BinaryHeap::new(),
            serial: 0,
            allowance,
        }
    }

    /// Sets a timer of `key` for the instant `at`, unless it is already set.
    pub(super) fn set(&mut self, key: K, at: EventTime) {
        let serial = self.serial;
        let timer = (key, at);
        if self.live.get_mut(&timer).is_some() || !room_in_heap(&self.allowance, &mut self.queue) {
            return;
        }
        self.serial += 1;
        self.live.update(timer.clone(), || serial, |_| ());
        self.queue.push(Queued { timer, serial });
    }

    /// Deletes the timer of `key` for the instant `at`, if it is set.
    pub(super) fn delete(&mut self, key: K, at: EventTime) {
        self.live.remove(&(key, at));
        let Timers { live, queue, .. } = self;
        if CLEANED_FROM < queue.len() && 2 * live.len() < queue.len() {
            let live = live.look();
            queue.retain(|queued| live.get(&queued.timer) == Some(&queued.serial));
        }
    }

    /// Removes and returns the first timer that is set for `watermark` or earlier.
    pub(super) fn pop_due(&mut self, watermark: EventTime) -> Option<(K, EventTime)> {
        while self.queue.peek()?.timer.1 <= watermark {
            let Queued { timer, serial } = self.queue.pop()?;
            if self.live.look().get(&timer) == Some(&serial) {
                self.live.remove(&timer);
                return Some(timer);
            }
        }
        None
    }

    pub(super) fn bytes(&self) -> usize {
        self.live.bytes() + self.queue.capacity() * size_of::<Queued<K>>()
    }
}

impl<K: Clone + Eq + Hash + State> Timers<K> {
    /// Saves all timers in the order in which they were set.
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let mut timers: Vec<_> = self.live.iter().collect();
        timers.sort_unstable_by_key(|&&(_, serial)| serial);
        state.put(&timers.len())?;
        timers.into_iter().try_for_each(|(timer, _)| state.put(timer))
    }

    /// Loads the timers that were saved; no other timer may be set yet.
    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        for _ in 0..state.take::<usize>()? {
            let (key, at) = state.take()?;
            self.set(key, at);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timers() -> Timers<u8> {
        Timers::new(KeyHash::new(3), Allowance::default())
    }

    fn at(micros: i64) -> EventTime {
        EventTime::from_micros(micros)
    }

    /// Removes the timers that are due at a watermark, and returns them in their order as `key@instant`.
    fn due(timers: &mut Timers<u8>, watermark: i64) -> String {
        let due = std::iter::from_fn(|| timers.pop_due(at(watermark)));
        due.map(|(key, at)| format!("{key}@{}", at.as_micros())).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn by_instant_and_then_as_they_were_set() {
        let mut timers = timers();
        [(2, 5), (1, 5), (3, -4), (1, 7), (1, 5)]
            .into_iter()
            .for_each(|(key, time)| timers.set(key, at(time)));
        assert_eq!(due(&mut timers, -5), "");
        assert_eq!(due(&mut timers, 5), "3@-4 2@5 1@5");
        assert_eq!(due(&mut timers, 5), "");
        assert_eq!(due(&mut timers, i64::MAX), "1@7");
    }

    /// A timer that was deleted and set again fires in the order of its second setting.
    #[test]
    fn deleted_and_set_again() {
        let mut timers = timers();
        timers.set(1, at(5));
        timers.set(2, at(5));
        timers.delete(1, at(5));
        timers.delete(9, at(5));
        timers.set(1, at(5));
        timers.set(3, at(5));
        timers.delete(3, at(5));
        assert_eq!(due(&mut timers, 5), "2@5 1@5");
    }

    /// A timeout that every record deletes and sets anew takes no more memory after 100,000 records than
    /// after 100.
    #[test]
    fn what_is_deleted_does_not_pile_up() {
        let mut timers = timers();
        let mut bytes_of_100 = 0;
        for time in 0..100_000 {
            timers.delete(1, at(time - 1));
            timers.set(1, at(time));
            if time == 100 {
                bytes_of_100 = timers.bytes();
            }
        }
        assert_eq!(timers.bytes(), bytes_of_100);
        (0..1_000).for_each(|_| timers.set(1, at(99_999)));
        assert_eq!(timers.bytes(), bytes_of_100, "what is set is not set again");
        assert_eq!(due(&mut timers, i64::MAX), "1@99999");
    }
}
