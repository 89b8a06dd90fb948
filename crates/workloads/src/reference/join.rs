//! Reference results of the temporal join: who meets whom, counted and summed up per second of event time.
//!
//! The rules: two records meet if they are of different streams, have the same key, and lie at most half a second apart,
//! that included; their result bears the later of their times. Nothing is ever late.
//!
//! Second by second: the records of a second and of the one before are sorted by key, and of each key all are held
//! against all. So the work of a run grows with its records, and the memory does not.

use std::iter::Peekable;

use super::Row;

/// How far records that meet may lie apart: half a second.
const WITHIN_US: i64 = 500_000;

/// One record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JoinInput {
    /// Microseconds since the Unix epoch.
    pub event_time_us: i64,
    /// What it is joined by.
    pub key: u64,
    /// Which it is in its stream.
    pub number: u64,
}

/// Two records that have met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JoinMatch {
    /// The later of their times: microseconds since the Unix epoch.
    pub event_time_us: i64,
    /// The key of both.
    pub key: u64,
    /// Which record of the left stream.
    pub left: u64,
    /// Which record of the right stream.
    pub right: u64,
}

/// The results of one second.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JoinSecond {
    /// Seconds since the Unix epoch.
    pub second: i64,
    /// How many.
    pub matches: u64,
    /// A sum over all of them, in any order, by which it shows if one is another.
    pub checksum: u64,
}

impl JoinSecond {
    /// A second without results.
    pub fn new(second: i64) -> Self {
        JoinSecond { second, ..JoinSecond::default() }
    }

    /// The second that an instant lies in.
    #[inline]
    pub fn of(event_time_us: i64) -> i64 {
        event_time_us.div_euclid(1_000_000)
    }

    /// Adds a result.
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

    fn agrees(&self, found: &Self) -> bool {
        self == found
    }
}

/// The results of two streams, each in the order of its times, by second; seconds without any are left out.
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
        // A result bears the later time, so it belongs to this second if one of the two does.
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

/// The next records of a stream, as far as they lie in a second, by key.
fn of_second(stream: &mut Peekable<impl Iterator<Item = JoinInput>>, second: i64) -> Vec<JoinInput> {
    let mut inputs = Vec::new();
    while let Some(input) = stream.next_if(|input| JoinSecond::of(input.event_time_us) <= second) {
        assert_eq!(JoinSecond::of(input.event_time_us), second, "streams come in the order of their times");
        inputs.push(input);
    }
    inputs.sort_unstable_by_key(|input| input.key);
    inputs
}

/// Holds all of each key against each other. Both are sorted by key.
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
