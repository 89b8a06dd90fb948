//! The times of those records of a load that are made and not taken yet: when each is due to be sent, and
//! when it arrives.

use std::sync::Arc;

use thalweg_model::{EventTime, ProcessingTime};

use super::course::{Course, Times, Walk};
use super::stamps::stamp;

/// The position of a source in its load, and the times of the records from the next one to be taken up to
/// this position.
pub(super) struct Ahead {
    walk: Walk,
    start: ProcessingTime,
    first_index: u64,
    times: Vec<Times>,
    /// The processing time at which [`due_count`](Self::due_count) was called last.
    looked_at: ProcessingTime,
}

impl Ahead {
    /// Creates an empty list of times, for a load that begins at `start`.
    pub(super) fn new(course: &Arc<Course>, start: ProcessingTime) -> Self {
        Ahead { walk: Walk::new(course), start, first_index: 0, times: Vec::new(), looked_at: start }
    }

    pub(super) fn course(&self) -> &Arc<Course> {
        self.walk.course()
    }

    /// Computes the times of `count` records from index `first` on, and forgets the times of those before.
    /// Returns their event times.
    pub(super) fn go_on(&mut self, first: u64, count: usize) -> impl ExactSizeIterator<Item = EventTime> {
        if first < self.walk.index() {
            self.walk = Walk::new(self.walk.course());
        }
        self.walk.pass(first - self.walk.index());
        self.first_index = first;
        self.times.clear();
        self.times.extend((0..count).map(|_| {
            let times = self.walk.times();
            self.walk.pass(1);
            times
        }));
        self.times.iter().map(|times| stamp(self.start, *times))
    }

    /// Returns how many of all records have arrived at `now`. Records whose times are not computed yet are
    /// not counted.
    pub(super) fn due_count(&mut self, now: ProcessingTime) -> u64 {
        self.looked_at = now;
        if now < self.start {
            return 0;
        }
        let elapsed_ns = now.nanos_since(self.start);
        self.first_index + self.times.partition_point(|times| times.due_ns <= elapsed_ns) as u64
    }

    pub(super) fn looked_at(&self) -> ProcessingTime {
        self.looked_at
    }

    /// Returns the index of the first record at or after `index` that is followed by a latency marker;
    /// `u64::MAX` if none is known.
    pub(super) fn marked_index(&self, index: u64) -> u64 {
        let known = self.times.iter().skip((index - self.first_index) as usize);
        (index..).zip(known).find(|(_, times)| times.is_marked).map_or(u64::MAX, |(index, _)| index)
    }

    /// Returns the time at which a record is due to be sent; its times must be computed already.
    pub(super) fn intended(&self, index: u64) -> ProcessingTime {
        self.start.plus_nanos(self.times_of(index).sent_ns)
    }

    /// Returns the time at which a record arrives; its times must be computed already.
    pub(super) fn due(&self, index: u64) -> ProcessingTime {
        self.start.plus_nanos(self.times_of(index).due_ns)
    }

    /// Returns the time at which a record arrives; `None` if it is not among the records whose times are kept.
    pub(super) fn due_if_known(&self, index: u64) -> Option<ProcessingTime> {
        let place = usize::try_from(index.checked_sub(self.first_index)?).ok()?;
        self.times.get(place).map(|times| self.start.plus_nanos(times.due_ns))
    }

    fn times_of(&self, index: u64) -> Times {
        self.times[(index - self.first_index) as usize]
    }

    /// Returns the nanoseconds between two records at the rate that the load has at its present position.
    pub(super) fn spacing_ns(&self) -> u64 {
        self.walk.spacing_ns()
    }

    pub(super) fn bytes(&self) -> usize {
        self.times.capacity() * size_of::<Times>() + self.walk.course().bytes()
    }
}
