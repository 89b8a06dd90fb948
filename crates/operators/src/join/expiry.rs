//! Queue of the instants at which records without a match are given up. It never returns an earlier instant than
//! before.
//!
//! A radix heap: an instant lies in the bucket of the highest bit in which it differs from the last one taken, so
//! adding an instant needs no comparison with others. When the lowest bucket is needed, its instants move to lower
//! ones. Each instant moves at most as often as there are bits in the span that it waits.
//!
//! Source: Ahuja, Mehlhorn, Orlin and Tarjan, "Faster Algorithms for the Shortest Path Problem", J. ACM 37, 1990,
//! section 2, "One-Level Radix Heap"; with one bucket per bit, as is usual since.

use thalweg_model::EventTime;

use super::funds::{Funds, bytes_of};

/// One bucket for equal instants, one for each bit.
const BUCKETS: usize = 65;

/// Items above which a bucket that is taken apart gives its memory back.
const KEPT_ITEMS_MAX: usize = 64;

/// An instant, mapped to the order of [`u64`], and the index of the record that waits for it.
type Item = (u64, u32);

/// The waiting records by instant.
#[derive(Debug)]
pub(crate) struct Expiry {
    /// The last instant taken, or the least value.
    last: u64,
    buckets: Vec<Vec<Item>>,
    /// The least instant of each bucket that is not empty.
    least: [u64; BUCKETS],
}

impl Expiry {
    pub(crate) fn new() -> Self {
        Expiry { last: 0, buckets: (0..BUCKETS).map(|_| Vec::new()).collect(), least: [u64::MAX; BUCKETS] }
    }

    /// Removes all items.
    pub(crate) fn clear(&mut self, funds: &mut Funds) {
        self.buckets.iter().for_each(|bucket| funds.give_back(bytes_of(bucket)));
        *self = Expiry::new();
    }

    /// Adds a record `who`, not before the last instant taken; drops it if there is no memory for it.
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

    /// Returns the record with the earliest instant, if that lies before `horizon`, in microseconds.
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

    /// Removes the item that [`first_before`](Self::first_before) returned.
    pub(crate) fn take_first(&mut self) {
        self.buckets[0].pop();
        if self.buckets[0].is_empty() {
            self.least[0] = u64::MAX;
        }
    }
}

/// Maps the order of instants to the order of unsigned numbers.
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
        /// With items added and taken in turn, those that are due come out in the order of instants.
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
