//! Buffer of records that a generator has made and the reader has not taken yet.

use thalweg_memory::prefetch;
use thalweg_model::{EventTime, Generate, Record};

use super::Disorder;
use super::schedule::EventTimes;

/// Largest number of records made at a time: 128, as many as a filter takes in one pass.
const KEPT_RECORDS_MAX: usize = 128;

/// Largest number of bytes of records made at a time, unless a single record has more. It is half of a
/// first-level cache of 32 KiB, so the records are still in the cache when they are taken.
const KEPT_BYTES_MAX: usize = 16 << 10;

/// Records that are made and not taken, in the order in which they come.
pub(super) struct Kept<T> {
    records: Vec<Record<T>>,
    /// Index of the first record in the buffer that is not taken.
    next: usize,
    /// Tells which of the records that follow those in the buffer come early, so that their values can be
    /// prefetched.
    ahead: Ahead,
}

/// Tells which of some consecutive records of a generator come early.
struct Ahead {
    /// The place, in the order in which records come, of the first of the consecutive records that are
    /// described here.
    first: u64,
    /// One mask for each of the described records: all bits set if the record comes early, none if not.
    masks: Vec<u64>,
}

impl<T> Kept<T> {
    /// Largest number of records of type `T` that the generator makes at a time.
    pub(super) const RECORDS: usize = {
        let fitting = KEPT_BYTES_MAX / size_of::<Record<T>>();
        if fitting == 0 {
            1
        } else if fitting < KEPT_RECORDS_MAX {
            fitting
        } else {
            KEPT_RECORDS_MAX
        }
    };

    /// Creates an empty buffer of records, which allocates nothing yet.
    pub(super) fn none() -> Self {
        Kept { records: Vec::new(), next: 0, ahead: Ahead { first: 0, masks: Vec::new() } }
    }

    /// Drops the records in the buffer that are not taken.
    pub(super) fn clear(&mut self) {
        self.next = self.records.len();
    }

    /// Returns the records in the buffer that are not taken.
    #[inline(always)]
    pub(super) fn rest(&self) -> &[Record<T>] {
        &self.records[self.next..]
    }

    /// Marks `count` more records of the buffer as taken by the reader.
    #[inline(always)]
    pub(super) fn pass(&mut self, count: usize) {
        self.next += count;
    }

    /// Makes the next [`RECORDS`](Self::RECORDS) records, from the position `next` in the order in which
    /// records come; all records before must be taken.
    #[inline]
    pub(super) fn refill<G>(
        &mut self,
        generator: &G,
        next: u64,
        times: &EventTimes,
        disorder: Option<Disorder>,
    ) where
        G: Generate<Item = T>,
        T: Clone,
    {
        if self.records.is_empty() {
            let event_time = times.at(next);
            self.records.reserve_exact(Self::RECORDS);
            self.records.resize(Self::RECORDS, Record::new(event_time, generator.value(next, event_time)));
        }
        // Records in the buffer are overwritten in place, not pushed. A push would check for room, and the
        // record would wait on the stack for the result.
        let mut places = self.records.iter_mut();
        if let Some(early) = disorder.and_then(|disorder| disorder.early_only()) {
            let (stretch, ahead) = (times.stretch(next), &mut self.ahead);
            let epoch = (early.epoch_records(), early.epoch().as_micros());
            let index_of = |place: u64, mask: u64| place.saturating_add(epoch.0 & mask);
            if ahead.first != next || ahead.masks.is_empty() {
                ahead.masks.clear();
                ahead.masks.extend(early.early_masks(next).take(Self::RECORDS));
            }
            ahead.first = next.saturating_add(Self::RECORDS as u64);
            // The loop has no branch on the mask, because which records are early is as good as random and
            // would be mispredicted.
            let masks = ahead.masks.iter_mut().zip(early.early_masks(ahead.first));
            for ((offset, place), (mask, later)) in places.enumerate().zip(masks) {
                if let Some(value) =
                    generator.place(index_of(ahead.first.saturating_add(offset as u64), later))
                {
                    prefetch(value);
                }
                let mask = std::mem::replace(mask, later);
                let index = index_of(next.saturating_add(offset as u64), mask);
                let micros = epoch.1 & mask.cast_signed();
                let event_time =
                    EventTime::from_micros(stretch.at(offset).as_micros().saturating_add(micros));
                *place = Record::new(event_time, generator.value(index, event_time));
            }
        } else if let Some(disorder) = disorder {
            for (place, index) in places.zip(disorder.indexes_from(next)) {
                let event_time = times.at(index);
                *place = Record::new(event_time, generator.value(index, event_time));
            }
        } else {
            let stretch = times.stretch(next);
            let event_times = (0..Self::RECORDS).map(|place| stretch.at(place));
            generator.each_value(next, event_times, |record| {
                if let Some(place) = places.next() {
                    *place = record;
                }
            });
        }
        self.next = 0;
    }

    /// Makes the records from the index `next` on, with the given event times; all records before must be
    /// taken. Values are made one by one and not by [`Generate::each_value`], which [`refill`](Self::refill)
    /// uses. With two such loops the compiler inlines neither fully, which cost the Linear Road benchmark a
    /// fifth of its speed.
    #[inline(never)]
    pub(super) fn refill_stamped<G>(
        &mut self,
        generator: &G,
        next: u64,
        event_times: impl ExactSizeIterator<Item = EventTime>,
    ) where
        G: Generate<Item = T>,
    {
        let count = event_times.len();
        assert!(count <= Self::RECORDS, "{count} records are made, but at most {} are kept", Self::RECORDS);
        self.records.clear();
        self.records.reserve_exact(Self::RECORDS);
        let stamped = (next..).zip(event_times);
        let record = |(index, event_time)| Record::new(event_time, generator.value(index, event_time));
        self.records.extend(stamped.map(record));
        self.next = 0;
    }

    /// Returns the bytes of the buffer, without memory that records hold elsewhere.
    pub(super) fn bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record<T>>() + self.ahead.masks.capacity() * size_of::<u64>()
    }
}
