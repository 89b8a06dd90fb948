//! Queue of the instants at which the join stops waiting for a match of a record. It never returns an earlier
//! instant than before.
//!
//! A radix heap: an instant lies in the bucket of the highest bit in which it differs from the last one taken, so
//! adding an instant needs no comparison with others. When the lowest bucket is needed, its instants move to lower
//! ones. Each instant moves at most as often as there are bits in the span that it waits.
//!
//! Source: Ahuja, Mehlhorn, Orlin and Tarjan, "Faster Algorithms for the Shortest Path Problem", J. ACM 37, 1990,
//! section 2, "One-Level Radix Heap"; with one bucket per bit, as is usual since.

use thalweg_model::EventTime;

use super::funds::{Funds, bytes_of};

/// Number of buckets: one for instants equal to the last one taken, and one for each bit of an instant.
const BUCKETS: usize = 65;

/// Number of items above which a bucket of the radix heap frees its memory when its items move to lower
/// buckets.
const KEPT_ITEMS_MAX: usize = 64;

/// An instant, mapped to a [`u64`] of the same order, and the index of the record that waits for a match
/// until then.
type Item = (u64, u32);

/// A radix heap of the records that wait for a match, ordered by the instants until which they wait.
#[derive(Debug)]
pub(crate) struct Expiry {
    /// The last instant that was taken from the queue, mapped to a number; the least number before the first.
    last: u64,
    buckets: Vec<Vec<Item>>,
    /// The least instant of waiting records in each bucket that is not empty.
    least: [u64; BUCKETS],
}

impl Expiry {
    pub(crate) fn new() -> Self {
        Expiry { last: 0, buckets: (0..BUCKETS).map(|_| Vec::new()).collect(), least: [u64::MAX; BUCKETS] }
    }

    /// Removes all waiting records and frees their memory.
    pub(crate) fn clear(&mut self, funds: &mut Funds) {
        self.buckets.iter().for_each(|bucket| funds.give_back(bytes_of(bucket)));
        *self = Expiry::new();
    }

    /// Adds the record with the index `who`, which waits for a match until `instant`; drops it if there is no
    /// memory for it. The instant must not be before the last one taken from the queue.
    pub(crate) fn add(&mut self, instant: EventTime, who: u32, funds: &mut Funds) {
        let key = key_of(instant);
        debug_assert!(key >= self.last, "who would have been given up already does not wait");
        self.put((key, who), funds);
    }

    #[inline(always)]
    fn put(&mut self, item: Item, funds: &mut Funds) {
        let bucket = (u64::BITS - (item.0 ^ self.last).leading_zeros()) as usize;
        if funds.room_in(&mut self.buckets[bucket]) {
            self.buckets[bucket].push(item);
            self.least[bucket] = self.least[bucket].min(item.0);
        }
    }

    /// Returns the waiting record with the earliest instant, if this instant is before `horizon`, which is in
    /// microseconds of event time.
    pub(crate) fn first_before(&mut self, horizon: i128, funds: &mut Funds) -> Option<(EventTime, u32)> {
        let lowest = self.buckets.iter().position(|bucket| !bucket.is_empty())?;
        let least = self.least[lowest];
        if i128::from(instant_of(least).as_micros()) >= horizon {
            return None;
        }
        if lowest > 0 {
            self.last = least;
            self.least[lowest] = u64::MAX;
            let mut items = std::mem::take(&mut self.buckets[lowest]);
            for item in items.drain(..) {
                self.put(item, funds);
            }
            if items.capacity() > KEPT_ITEMS_MAX {
                funds.give_back(bytes_of(&items));
            } else {
                self.buckets[lowest] = items;
            }
        }
        self.buckets[0].last().map(|&(key, who)| (instant_of(key), who))
    }

    /// Removes the record that [`first_before`](Self::first_before) returned last from the queue.
    pub(crate) fn take_first(&mut self) {
        self.buckets[0].pop();
        if self.buckets[0].is_empty() {
            self.least[0] = u64::MAX;
        }
    }
}

/// Maps an instant to an unsigned number, so that numbers have the order of the instants.
fn key_of(instant: EventTime) -> u64 {
    instant.as_micros().cast_unsigned() ^ (1 << 63)
}

fn instant_of(key: u64) -> EventTime {
    EventTime::from_micros((key ^ (1 << 63)).cast_signed())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use thalweg_model::Allowance;

    use super::*;

    proptest! {
        /// When waiting records are added and taken in turn, the due ones come out in the order of their
        /// instants.
        #[test]
        fn equals_sorting(steps in proptest::collection::vec(
            (proptest::collection::vec(prop_oneof![0..20i64, 0..100_000i64, Just(i64::MAX)], 0..20), 0..50_000i64), 1..20,
        )) {
            let mut funds = Funds::new(&Allowance::default());
            let (mut expiry, mut oracle, mut now) = (Expiry::new(), Vec::new(), i64::MIN);
            for (added, by) in steps {
                for wait in added {
                    let instant = now.saturating_add(wait);
                    expiry.add(EventTime::from_micros(instant), wait as u32, &mut funds);
                    oracle.push((instant, wait as u32));
                }
                now = if now == i64::MIN { -by } else { now + by };
                oracle.sort_unstable();
                let due = oracle.partition_point(|(instant, _)| *instant < now);
                let mut expected: Vec<(i64, u32)> = oracle.drain(..due).collect();
                let mut got = Vec::new();
                while let Some((instant, who)) = expiry.first_before(now.into(), &mut funds) {
                    expiry.take_first();
                    got.push((instant.as_micros(), who));
                }
                prop_assert!(got.is_sorted_by_key(|(instant, _)| *instant));
                got.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(got, expected);
                prop_assert_eq!(funds.held_bytes(), expiry.buckets.iter().map(bytes_of).sum::<usize>());
            }
        }
    }
}
