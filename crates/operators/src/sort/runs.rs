//! Sorted runs, from which all records before an instant are merged.
//!
//! ```text
//!   arrive   3 5 4 6 1 7 2           runs   3 5 6 7     the last records of the runs fall: 7, 4, 2
//!                                           4
//!   before 4: 1 2 3                         1 2
//! ```
//!
//! A record goes to the first run whose last record does not come after it, or opens a run. So the last records fall
//! from run to run, and binary search finds the right run. A record equal to an earlier one lands in the same run or
//! in a later one, so equal records come out as they came in. A nearly sorted stream makes few runs: most records
//! take one comparison to go in and one or two to come out. A record of a stream in order takes 10 ns, one of a
//! stream with every fiftieth record late 16 ns; a binary heap of all records takes 52 and 63 ns.
//!
//! Source: Chandramouli, Goldstein and Li, "Impatience Is a Virtue: Revisiting Disorder in High-Performance Log
//! Analytics", ICDE 2018, "Impatience sort". Theirs merges runs pairwise, smallest first, which suits the processor
//! better. Ours takes record by record off a heap of the runs' first ones, so that it can stop anywhere when there is
//! no room.

use std::cmp::Ordering;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use thalweg_model::{Allowance, EventTime, Record};

use crate::funded::{room_in_deque, room_in_heap};

/// Number of buffers of runs that have no records left, kept for later runs. It is rare that more runs than
/// this end at once.
const SPARE_RUNS_MAX: usize = 8;

/// A record with the key by which records of one event time are ordered.
#[derive(Debug)]
pub(super) struct Keyed<K, T> {
    pub(super) record: Record<T>,
    pub(super) key: K,
}

impl<K: Ord, T> Keyed<K, T> {
    fn order(&self, other: &Self) -> Ordering {
        self.record.event_time.cmp(&other.record.event_time).then_with(|| self.key.cmp(&other.key))
    }
}

/// The first record of a sorted run, which was taken off the run for the merge.
#[derive(Debug)]
struct First<K, T> {
    first: Keyed<K, T>,
    run: usize,
}

/// Orders the first records of runs for a max-heap: the greatest is the record that comes out next.
impl<K: Ord, T> Ord for First<K, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.first.order(&self.first).then(other.run.cmp(&self.run))
    }
}

impl<K: Ord, T> PartialOrd for First<K, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, T> PartialEq for First<K, T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K: Ord, T> Eq for First<K, T> {}

/// Sorted runs of records, in the order of their event times, then of their keys, then of their arrival.
#[derive(Debug)]
pub(super) struct Runs<K, T> {
    /// The sorted runs; no run is empty, except while sorted records are released.
    runs: Vec<VecDeque<Keyed<K, T>>>,
    /// During a release: the first records of all runs that still have records to release.
    firsts: BinaryHeap<First<K, T>>,
    /// The last instant of the current release: records at this instant or before are released.
    last_instant: EventTime,
    spare: Vec<VecDeque<Keyed<K, T>>>,
    /// Number of records that runs and spare buffers have room for. It is kept up to date rather than added
    /// up on demand, for there may be many runs.
    capacity: usize,
    allowance: Allowance,
}

impl<K: Ord, T> Runs<K, T> {
    pub(super) fn new(allowance: Allowance) -> Self {
        Runs {
            runs: Vec::new(),
            firsts: BinaryHeap::new(),
            last_instant: EventTime::MIN,
            spare: Vec::new(),
            capacity: 0,
            allowance,
        }
    }

    /// Drops every record of all sorted runs.
    pub(super) fn clear(&mut self) {
        *self = Runs::new(self.allowance.clone());
    }

    /// Inserts a record into the run where it fits, or into a new run; not allowed during a release.
    #[inline]
    pub(super) fn insert(&mut self, record: Keyed<K, T>) {
        let takes = |run: &VecDeque<Keyed<K, T>>| run.back().is_none_or(|last| last.order(&record).is_le());
        let place = match self.runs.first() {
            Some(run) if takes(run) => 0,
            _ => self.runs.partition_point(|run| !takes(run)),
        };
        if place == self.runs.len() && !self.open_run() {
            return;
        }
        let run = &mut self.runs[place];
        let before = run.capacity();
        if room_in_deque(&self.allowance, run) {
            run.push_back(record);
        }
        self.capacity += run.capacity() - before;
    }

    #[cold]
    fn open_run(&mut self) -> bool {
        let has_room = self.allowance.room_in(&mut self.runs);
        if has_room {
            self.runs.push(self.spare.pop().unwrap_or_default());
        }
        has_room
    }

    /// Begins to release all records at the instant `last_instant` or before.
    pub(super) fn release(&mut self, last_instant: EventTime) {
        debug_assert!(self.firsts.is_empty(), "one release after the other");
        self.last_instant = last_instant;
        for run in 0..self.runs.len() {
            if let Some(first) = self.next_of(run)
                && room_in_heap(&self.allowance, &mut self.firsts)
            {
                self.firsts.push(First { first, run });
            }
        }
        self.drop_empty_runs();
    }

    /// Removes and returns the next record of the current release, in sorted order.
    #[inline]
    pub(super) fn next_released(&mut self) -> Option<Record<T>> {
        let run = self.firsts.peek()?.run;
        let next = self.next_of(run);
        let mut first = self.firsts.peek_mut()?;
        let Some(next) = next else {
            let last = PeekMut::pop(first).first;
            self.drop_empty_runs();
            return Some(last.record);
        };
        Some(std::mem::replace(&mut first.first, next).record)
    }

    /// Returns whether records are left that the last watermark has released.
    pub(super) fn is_releasing(&self) -> bool {
        !self.firsts.is_empty()
    }

    fn next_of(&mut self, run: usize) -> Option<Keyed<K, T>> {
        self.runs[run].pop_front_if(|first| first.record.event_time <= self.last_instant)
    }

    /// Drops empty runs once a release has ended: until then the indexes of runs must stay valid.
    fn drop_empty_runs(&mut self) {
        if self.firsts.is_empty() {
            let Runs { runs, spare, capacity, .. } = self;
            runs.retain_mut(|run| {
                let is_over = run.is_empty();
                if is_over && spare.len() < SPARE_RUNS_MAX {
                    spare.push(std::mem::take(run));
                } else if is_over {
                    *capacity -= run.capacity();
                }
                !is_over
            });
        }
    }

    pub(super) fn len(&self) -> usize {
        self.runs.iter().map(VecDeque::len).sum::<usize>() + self.firsts.len()
    }

    /// Iterates over every record of all runs; equal records come in the order of arrival. Not allowed during
    /// a release.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Record<T>> {
        self.runs.iter().flatten().map(|keyed| &keyed.record)
    }

    pub(super) fn bytes(&self) -> usize {
        self.capacity * size_of::<Keyed<K, T>>()
            + self.runs.capacity() * size_of::<VecDeque<Keyed<K, T>>>()
            + self.firsts.capacity() * size_of::<First<K, T>>()
    }

    #[cfg(test)]
    pub(super) fn run_count(&self) -> usize {
        self.runs.len()
    }
}
