//! Records of a generator that were made and are not taken yet.

use thalweg_model::{Generate, Input, Record};

use super::schedule::StretchTimes;

/// Records made at a time: few enough to be in a first-level cache when they are taken.
const KEPT_RECORDS_MAX: usize = 128;

/// Records in order.
pub(super) struct Kept<T> {
    records: Vec<Record<T>>,
    /// The first that is not taken.
    next: usize,
}

impl<T> Kept<T> {
    /// None, and no memory for any.
    pub(super) fn none() -> Self {
        Kept { records: Vec::new(), next: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next == self.records.len()
    }

    /// Makes the next [`KEPT_RECORDS_MAX`] records of a generator, in place of those that are taken.
    #[inline]
    pub(super) fn refill<G>(&mut self, generator: &G, first: u64, times: StretchTimes)
    where
        G: Generate<Item = T>,
        T: Clone,
    {
        if self.records.is_empty() {
            let event_time = times.at(0);
            self.records.reserve_exact(KEPT_RECORDS_MAX);
            self.records
                .resize(KEPT_RECORDS_MAX, Record::new(event_time, generator.value(first, event_time)));
        }
        // Written over, not pushed: there is always room, and no record waits on the stack until that is known.
        let mut places = self.records.iter_mut();
        let event_times = (0..KEPT_RECORDS_MAX).map(|place| times.at(place));
        generator.each_value(first, event_times, |record| {
            if let Some(place) = places.next() {
                *place = record;
            }
        });
        self.next = 0;
    }

    /// What is left, up to `limit` records.
    pub(super) fn input(&mut self, limit: usize) -> KeptInput<'_, T> {
        let count = limit.min(self.records.len() - self.next);
        KeptInput { kept: self, count }
    }

    /// Bytes of the records, without what they hold elsewhere.
    pub(super) fn bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record<T>>()
    }
}

/// The first so many of what is kept.
pub(super) struct KeptInput<'a, T> {
    kept: &'a mut Kept<T>,
    /// How many may be taken.
    count: usize,
}

impl<T> KeptInput<'_, T> {
    #[inline(always)]
    fn rest(&self) -> &[Record<T>] {
        &self.kept.records[self.kept.next..][..self.count]
    }

    #[inline(always)]
    fn pass(&mut self, count: usize) {
        self.count -= count;
        self.kept.next += count;
    }
}

impl<T: Clone> Input<T> for KeptInput<'_, T> {
    const ASCENDING: bool = true;

    #[inline(always)]
    fn remaining(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<T>) -> Q) -> Q {
        look(&self.rest()[offset])
    }

    #[inline(always)]
    fn take_each(&mut self, count: usize, each: impl FnMut(Record<T>)) {
        self.rest()[..count].iter().cloned().for_each(each);
        self.pass(count);
    }

    #[inline(always)]
    fn take_selected(&mut self, count: usize, selection: &[u16], mut each: impl FnMut(Record<T>)) {
        let records = &self.rest()[..count];
        for &offset in selection {
            each(records[usize::from(offset)].clone());
        }
        self.pass(count);
    }
}
