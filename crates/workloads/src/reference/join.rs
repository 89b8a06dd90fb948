//! Reference results of the temporal join: matches counted and summed per second of event time.
//!
//! The rules: two records match if they are of different streams, have the same key, and lie at most half a
//! second apart (inclusive). Their result bears the later of their times. No record is late.
//!
//! Computed second by second: the records of a second and of the previous one are sorted by key, and within
//! each key all pairs are compared. So the work of a run grows with its records, and the memory does not.

use std::iter::Peekable;

use super::Row;

/// Largest distance in time of two records that match: half a second, in microseconds.
const WITHIN_US: i64 = 500_000;

/// One record of either stream of the join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JoinInput {
    /// Event time of the record, in microseconds since the Unix epoch.
    pub event_time_us: i64,
    /// The key by which records of the two streams match.
    pub key: u64,
    /// Position of the record in its stream, by which a match names it.
    pub number: u64,
}

/// A pair of records that match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JoinMatch {
    /// The later of the event times of the two records, in microseconds since the Unix epoch.
    pub event_time_us: i64,
    /// The join key of both records.
    pub key: u64,
    /// Position of the left record in its stream.
    pub left: u64,
    /// Position of the right record in its stream.
    pub right: u64,
}

/// The results of the join in one second of event time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JoinSecond {
    /// The second, counted from the Unix epoch.
    pub second: i64,
    /// Number of matches in the second.
    pub matches: u64,
    /// Wrapping sum of a hash of each match of the second, in which the order of matches does not matter. It
    /// shows if a match differs.
    pub checksum: u64,
}

impl JoinSecond {
    /// Creates the results of a second without matches.
    pub fn new(second: i64) -> Self {
        JoinSecond { second, ..JoinSecond::default() }
    }

    /// Returns the number of the second that contains an instant.
    #[inline]
    pub fn of(event_time_us: i64) -> i64 {
        event_time_us.div_euclid(1_000_000)
    }

    /// Adds a match to the results of its second.
    #[inline]
    pub fn add(&mut self, JoinMatch { event_time_us, key, left, right }: JoinMatch) {
        let mut mixed = key;
        for number in [left, right, event_time_us.cast_unsigned()] {
            mixed = (mixed.rotate_left(23) ^ number).wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        self.matches += 1;
        self.checksum = self.checksum.wrapping_add(mixed ^ (mixed >> 32));
    }
}

impl Row for JoinSecond {
    type Key = i64;

    fn key(&self) -> i64 {
        self.second
    }
}

/// Returns the results of two streams that are each ordered by time, one row for each second. Seconds without
/// matches are left out.
///
/// # Panics
/// If a stream goes back in time by more than a second.
pub fn join_seconds(
    left: impl Iterator<Item = JoinInput>,
    right: impl Iterator<Item = JoinInput>,
) -> Vec<JoinSecond> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    let mut seconds: Vec<JoinSecond> = Vec::new();
    let mut before = (0, Vec::new(), Vec::new());
    loop {
        let next = [left.peek(), right.peek()]
            .into_iter()
            .flatten()
            .map(|input| JoinSecond::of(input.event_time_us));
        let Some(second) = next.min() else { break };
        let (lefts, rights) = (of_second(&mut left, second), of_second(&mut right, second));
        // A match has the later of two event times, so it belongs to this second if at least one of its
        // records lies in this second.
        let mut results = JoinSecond::new(second);
        meet(&lefts, &rights, &mut results);
        let (second_before, lefts_before, rights_before) = &before;
        if *second_before == second - 1 {
            meet(lefts_before, &rights, &mut results);
            meet(&lefts, rights_before, &mut results);
        }
        if results.matches > 0 {
            seconds.push(results);
        }
        before = (second, lefts, rights);
    }
    seconds
}

/// Removes the next records of a stream, those of this second, and returns them sorted by key.
fn of_second(stream: &mut Peekable<impl Iterator<Item = JoinInput>>, second: i64) -> Vec<JoinInput> {
    let mut inputs = Vec::new();
    while let Some(input) = stream.next_if(|input| JoinSecond::of(input.event_time_us) <= second) {
        assert_eq!(JoinSecond::of(input.event_time_us), second, "streams come in the order of their times");
        inputs.push(input);
    }
    inputs.sort_unstable_by_key(|input| input.key);
    inputs
}

/// Compares all pairs of records of each key, and adds the matches. Both inputs are sorted by key.
fn meet(lefts: &[JoinInput], rights: &[JoinInput], results: &mut JoinSecond) {
    let mut from = 0;
    for left in lefts {
        while from < rights.len() && rights[from].key < left.key {
            from += 1;
        }
        for right in rights[from..].iter().take_while(|right| right.key == left.key) {
            if (left.event_time_us - right.event_time_us).abs() <= WITHIN_US {
                results.add(JoinMatch {
                    event_time_us: left.event_time_us.max(right.event_time_us),
                    key: left.key,
                    left: left.number,
                    right: right.number,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests;
