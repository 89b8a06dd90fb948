//! One side of an interval join: records by key and time, in buckets of time that are dropped as a whole.
//!
//! ```text
//!   bucket   | width | width | width | width | width |        one table of timelines each
//!   record of the other side at `t` looks into  |---------|   from `t + first` to `t + last`: five buckets at most
//! ```
//!
//! Buckets are a quarter of the interval wide, so a side keeps little more than the records that may still match, and
//! no record is ever removed by itself.

use std::hash::Hash;

use thalweg_model::{EventTime, State, StateError, StateReader, StateWriter};

use super::combine::Fate;
use super::dense_table::{DenseTable, NOWHERE, Tag};
use super::expiry::Expiry;
use super::funds::Funds;
use super::timeline::{Row, Timeline};
use super::window_table_pool::{Reused, WindowTablePool};
use crate::key_table::KeyHash;

/// Number of buckets that the span of an interval is divided into.
const BUCKETS_PER_INTERVAL: i128 = 4;

/// Largest number of buckets that the span of an interval may touch.
pub(crate) const NEAR_MAX: usize = BUCKETS_PER_INTERVAL as usize + 1;

/// Least width of buckets, in microseconds, used for narrow intervals. A table costs some hundred bytes, so a
/// table for every few records would cost more than keeping records for a tenth of a second longer.
const WIDTH_MIN_MICROS: i128 = 100_000;

/// The span of time, relative to a record, in which its matches lie. Both ends are in microseconds, and the
/// first is no later than the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reach {
    pub(crate) first: i64,
    pub(crate) last: i64,
}

impl Reach {
    /// Returns the span of instants in which matches of a record at `time` may lie; `None` if the span is
    /// beyond the ends of the range of time.
    #[inline(always)]
    pub(crate) fn of(self, time: EventTime) -> Option<(EventTime, EventTime)> {
        let (first, last) =
            (time.as_micros().checked_add(self.first), time.as_micros().checked_add(self.last));
        let (first, last) = match (first, last) {
            (Some(first), Some(last)) => (first, last),
            // There are no records beyond the ends of the range of time, so a record has no matches there.
            (None, _) if self.first > 0 => return None,
            (_, None) if self.last < 0 => return None,
            (first, last) => (first.unwrap_or(i64::MIN), last.unwrap_or(i64::MAX)),
        };
        Some((EventTime::from_micros(first), EventTime::from_micros(last)))
    }

    /// Returns an instant in microseconds: at this `watermark`, records before the instant have no more
    /// matches to come.
    pub(crate) fn horizon(self, watermark: EventTime) -> i128 {
        match watermark {
            // At the watermark that ends the stream, no more records come.
            EventTime::MAX => i128::MAX,
            _ => i128::from(watermark.as_micros()) - i128::from(self.last),
        }
    }
}

/// The records of one side of an interval join in one bucket, which is a span of event time.
#[derive(Debug)]
pub(crate) struct Bucket<K, V, N> {
    pub(crate) table: DenseTable<K, Timeline<V, N>>,
    /// Bytes that the rows of the bucket hold, in addition to the table of keys.
    row_bytes: usize,
}

impl<K, V, N> Default for Bucket<K, V, N> {
    fn default() -> Self {
        Bucket { table: DenseTable::default(), row_bytes: 0 }
    }
}

impl<K, V, N> Reused for Bucket<K, V, N> {
    fn clear(&mut self, funds: &mut Funds) -> bool {
        funds.give_back(std::mem::take(&mut self.row_bytes));
        self.table.clear()
    }

    fn bytes(&self) -> usize {
        self.table.bytes() + self.row_bytes
    }
}

/// The buckets that a span of instants touches, in which the matches of a record are searched.
#[derive(Debug)]
pub(crate) struct Near {
    /// Number, in the order of time, of the first bucket that the span of instants touches.
    pub(crate) first: i64,
    /// Number of buckets of time that the span of instants touches.
    pub(crate) count: usize,
    /// Index of the table of each bucket, among the open tables; `NOWHERE` for a bucket that is not open.
    pub(crate) places: [u32; NEAR_MAX],
}

/// The stored records of one side of an interval join.
#[derive(Debug)]
pub(crate) struct Side<K, V, N> {
    buckets: WindowTablePool<i64, Bucket<K, V, N>>,
    width: i64,
    /// The span of time, relative to a record of this side, in which its matches lie.
    reach: Reach,
    /// The bucket of time that the last record went into: its number in the order of time, and the index of
    /// its table among the open ones.
    current: Option<(i64, u32)>,
    /// The buckets that the last record of the other side searched for matches.
    near: Near,
    is_near_known: bool,
    /// The queue of the records of this side that have had no match so far. It is empty if the join does not
    /// emit records of this side without a match.
    waiting: Expiry,
}

impl<K: Eq + Hash, V, N: Fate> Side<K, V, N> {
    pub(crate) fn new(reach: Reach) -> Self {
        let length = i128::from(reach.last) - i128::from(reach.first);
        let width = (length / BUCKETS_PER_INTERVAL + 1).clamp(WIDTH_MIN_MICROS, i64::MAX.into());
        Side {
            buckets: WindowTablePool::new(),
            width: i64::try_from(width).expect("a clamped number lies in the range of i64"),
            reach,
            current: None,
            near: Near { first: 0, count: 0, places: [NOWHERE; NEAR_MAX] },
            is_near_known: false,
            waiting: Expiry::new(),
        }
    }

    pub(crate) fn reach(&self) -> Reach {
        self.reach
    }

    /// Returns whether no more matches can come for a record of this side at `time`.
    #[inline(always)]
    pub(crate) fn is_over(&self, time: EventTime, watermark: EventTime) -> bool {
        i128::from(time.as_micros()) < self.reach.horizon(watermark)
    }

    #[inline(always)]
    pub(crate) fn bucket(&self, place: u32) -> &Bucket<K, V, N> {
        self.buckets.at(place)
    }

    /// Returns the rows of the key at `entry` in the bucket with index `place`.
    #[inline(always)]
    pub(crate) fn timeline(&mut self, place: u32, entry: u32) -> &mut Timeline<V, N> {
        self.buckets.at_mut(place).table.value_mut(entry)
    }

    /// Returns the index of a bucket's table among the open ones; `None` if the bucket is not open. `number`
    /// counts buckets in the order of time.
    pub(crate) fn place_of(&self, number: i64) -> Option<u32> {
        self.buckets.places().get(&number).copied()
    }

    /// Returns the number, in the order of time, of the bucket for records at `time`.
    #[inline(always)]
    pub(crate) fn number_of(&self, time: EventTime) -> i64 {
        time.as_micros().div_euclid(self.width)
    }

    /// Returns the index of the table of the bucket for records at `time`, and opens the bucket if needed;
    /// `None` if there is no memory for it.
    #[inline(always)]
    pub(crate) fn open(&mut self, time: EventTime, funds: &mut Funds) -> Option<u32> {
        let number = self.number_of(time);
        match self.current {
            Some((current, place)) if current == number => Some(place),
            _ => self.turn_to(number, funds),
        }
    }

    #[cold]
    #[inline(never)]
    fn turn_to(&mut self, number: i64, funds: &mut Funds) -> Option<u32> {
        let open = self.buckets.len();
        let place = self.buckets.open(number, funds)?;
        self.current = Some((number, place));
        if self.buckets.len() > open {
            self.is_near_known = false;
        }
        Some(place)
    }

    /// Looks up the buckets of this side that contain instants from `first` to `last`, both included, and
    /// writes them to `near`.
    #[inline(always)]
    pub(crate) fn near(&mut self, first: EventTime, last: EventTime, near: &mut Near) {
        let (first, last) = (self.number_of(first), self.number_of(last));
        let count = last.abs_diff(first) as usize + 1;
        if !(self.is_near_known && self.near.first == first && self.near.count == count) {
            self.look_around(first, count);
        }
        near.first = first;
        near.count = count;
        near.places = self.near.places;
    }

    #[cold]
    #[inline(never)]
    fn look_around(&mut self, first: i64, count: usize) {
        self.near = Near { first, count, places: [NOWHERE; NEAR_MAX] };
        for (index, number) in (first..).take(count).enumerate() {
            self.near.places[index] = self.place_of(number).unwrap_or(NOWHERE);
        }
        self.is_near_known = true;
    }

    /// Returns the index of the entry of `key` in the bucket with index `place`, and makes an entry for a new
    /// key; `None` if there is no memory for it.
    #[inline(always)]
    pub(crate) fn entry_of(&mut self, place: u32, tag: Tag, key: K, funds: &mut Funds) -> Option<u32> {
        self.buckets.at_mut(place).table.find_or_insert(tag, key, || Timeline::Empty, funds)
    }

    /// Stores a row in an entry of the bucket with index `place`; drops the row if there is no memory for it.
    #[inline(always)]
    pub(crate) fn keep(&mut self, place: u32, entry: u32, row: Row<V, N>, funds: &mut Funds) {
        let Bucket { table, row_bytes } = self.buckets.at_mut(place);
        let (time, has_met, before) = (row.time, row.fate.has_met(), funds.held_bytes());
        let was_there = table.value_mut(entry).insert(row, funds);
        *row_bytes += funds.held_bytes() - before;
        // Rows of one key and time have the same matches, so only the first of them is put into the queue of
        // records that wait for a match.
        if N::IS_NOTED && !has_met && was_there == Some(false) {
            self.waiting.add(time, entry, funds);
        }
    }

    /// Returns the earliest instant before `horizon` (microseconds of event time) at which there are records
    /// that wait for a match, the index of their bucket, and the entry of their key in this bucket.
    pub(crate) fn first_waiting(
        &mut self,
        horizon: i128,
        funds: &mut Funds,
    ) -> Option<(EventTime, u32, u32)> {
        let (time, entry) = self.waiting.first_before(horizon, funds)?;
        let number = self.number_of(time);
        let place = match self.current {
            Some((current, place)) if current == number => place,
            _ => {
                let place = self.place_of(number).expect("a bucket stays while a record in it waits");
                self.current = Some((number, place));
                place
            }
        };
        Some((time, place, entry))
    }

    /// Removes the record that [`first_waiting`](Self::first_waiting) returned from the queue of waiting
    /// records.
    pub(crate) fn end_waiting(&mut self) {
        self.waiting.take_first();
    }

    /// Drops the buckets whose instants all lie before `horizon`, which is in microseconds of event time.
    pub(crate) fn drop_before(&mut self, horizon: i128, funds: &mut Funds) {
        while let Some((&number, _)) = self.buckets.places().first_key_value()
            && (i128::from(number) + 1) * i128::from(self.width) <= horizon
        {
            self.buckets.close(&number, funds);
            self.current = None;
            self.is_near_known = false;
        }
    }
}

impl<K: Eq + Hash + State, V: State, N: Fate> Side<K, V, N> {
    pub(crate) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.buckets.len())?;
        for &place in self.buckets.places().values() {
            let table = &self.bucket(place).table;
            state.put(&table.len())?;
            for (key, timeline) in table.entries() {
                state.put(key)?;
                state.put(&timeline.rows().count())?;
                for Row { time, value, fate } in timeline.rows() {
                    state.put(time)?;
                    state.put(value)?;
                    state.put(fate)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn load(
        &mut self,
        hash: &KeyHash,
        state: &mut StateReader<'_>,
        funds: &mut Funds,
    ) -> Result<(), StateError> {
        self.drop_before(i128::MAX, funds);
        self.waiting.clear(funds);
        for _ in 0..state.take::<usize>()? {
            for _ in 0..state.take::<usize>()? {
                let mut key: Option<K> = Some(state.take()?);
                let (mut number, mut entry) = (None, None);
                for _ in 0..state.take::<usize>()? {
                    let row = Row { time: state.take()?, value: state.take()?, fate: state.take()? };
                    // The width of buckets follows from the interval of the join. If the state was saved with
                    // another interval, the rows of one saved bucket may belong to two buckets now, which is
                    // an error.
                    if *number.get_or_insert(self.number_of(row.time)) != self.number_of(row.time) {
                        return Err(
                            state.wrong("rows of an entry lie in two buckets: was the interval changed?")
                        );
                    }
                    let Some(place) = self.open(row.time, funds) else { continue };
                    if let Some(key) = key.take() {
                        entry = self.entry_of(place, Tag::of(hash, &key), key, funds);
                    }
                    if let Some(entry) = entry {
                        self.keep(place, entry, row, funds);
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> EventTime {
        EventTime::from_micros(micros)
    }

    /// The span in which matches lie ends at the ends of the range of time and never wraps around.
    #[test]
    fn reaches_end_where_time_does() {
        let reach = |first, last, time| {
            let reach = Reach { first, last }.of(at(time));
            reach.map(|(first, last)| (first.as_micros(), last.as_micros()))
        };
        assert_eq!(reach(-5, 3, 10), Some((5, 13)));
        assert_eq!(reach(-5, 3, i64::MAX), Some((i64::MAX - 5, i64::MAX)));
        assert_eq!(reach(-5, 3, i64::MIN), Some((i64::MIN, i64::MIN + 3)));
        assert_eq!(reach(1, 3, i64::MAX), None);
        assert_eq!(reach(1, 3, i64::MAX - 1), Some((i64::MAX, i64::MAX)));
        assert_eq!(reach(-3, -1, i64::MIN), None);
        assert_eq!(reach(-i64::MAX, i64::MAX, 0), Some((-i64::MAX, i64::MAX)));
    }

    #[test]
    fn an_interval_spans_few_buckets() {
        for (first, last) in
            [(0, 0), (-7, 1_000_000), (0, 400_000), (-i64::MAX, i64::MAX), (i64::MAX, i64::MAX)]
        {
            let mut side = Side::<i64, i64, ()>::new(Reach { first, last });
            for time in [i64::MIN, -1, 0, 99_999, 123_456, i64::MAX] {
                if let Some((from, to)) = (Reach { first, last }).of(at(time)) {
                    let mut near = Near { first: 0, count: 0, places: [NOWHERE; NEAR_MAX] };
                    side.near(from, to, &mut near);
                    assert!(near.count <= NEAR_MAX, "{first} {last} {time}");
                }
            }
        }
    }
}
