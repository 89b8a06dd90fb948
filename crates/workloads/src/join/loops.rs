//! The ceiling: the temporal join as a hand-written single-threaded loop, without an engine. The difference to
//! an engine is the engine's overhead, so the loop is as fast as safe Rust allows. It does the whole job: every
//! record is made, stamped and joined, and every result is counted and summed as the reference does it.
//!
//! ```text
//! left  -stamp-> 24-byte rows --+
//!                               +-meet-> 32-byte rows -sum up-> seconds
//! right -stamp-> 24-byte rows --+
//! ```
//!
//! It is written in one way, [`LoopKind::Blocks`]: a block of the left stream, a block of the right one, and so
//! on. The module `reach` holds the state that each stream keeps of itself.
//!
//! The loop relies on facts which an engine cannot use. Both inputs are known to ascend and to advance in step,
//! so records out of reach are overwritten in place in a ring, without a search for them. Chains are in time
//! order without a sort, and a walk ends at the first record out of reach. Memory is reserved once, for a known
//! rate.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

mod reach;

use std::num::{NonZeroU64, NonZeroUsize};

use thalweg_model::{EventTime, Generate, Record};

use super::generator::{JoinGenerator, Side};
use super::number::{Match, Number};
use crate::loops::stamps::Stamps;
use crate::loops::{Fed, LoopKind, LoopReport, LoopStop, drive, run_workers};
use crate::reference::join::{JoinMatch, JoinSecond};
use reach::Reach;

/// The only way in which the loop for the join is written.
pub const KIND: LoopKind = LoopKind::Blocks;

/// Options of a run of the hand-written join.
#[derive(Clone, Copy, Debug)]
pub struct LoopOptions {
    /// Number of threads. Each of them runs a loop with two streams of its own.
    pub workers: NonZeroUsize,
    /// Records in a block; the engine's default is [`DEFAULT_BLOCK_RECORDS`](crate::loops::DEFAULT_BLOCK_RECORDS).
    pub block_records: NonZeroUsize,
    /// Tells when a worker stops. A number of events must be even, because half of the records are of each
    /// stream.
    pub stop: LoopStop,
    /// Rate of each stream: the record at `index` is stamped `start` plus `index / rate_per_s` seconds,
    /// rounded down to a microsecond.
    pub rate_per_s: NonZeroU64,
    /// Event time of the first record of each stream.
    pub start: EventTime,
    /// Seed of the random keys.
    pub seed: u64,
}

/// Distance between the numbers of the first events of workers `n` and `n + 1`, so that no two workers read
/// the same events.
const APART: usize = 1 << 40;

/// Runs the hand-written join on `workers` new threads, from a common start, and waits for all of them.
///
/// Record `index` of a worker's streams is the generators' `first_event + index`. Results are one row per
/// second, in order.
///
/// # Panics
/// If `stop` is an odd number of records, if half a second of a stream is more than 2^30 records, or if the
/// stamps leave the range of [`EventTime`] (in builds with overflow checks).
pub fn run(options: LoopOptions) -> LoopReport<JoinSecond> {
    if let LoopStop::Events(events) = options.stop {
        assert!(events.is_multiple_of(2), "both streams have the same number of records, together {events}");
    }
    run_workers(options.workers, |index, together| {
        let LoopOptions { block_records, rate_per_s, start, seed, .. } = options;
        let first_event = APART * index;
        let side = |side| Half {
            generator: JoinGenerator::new(seed, side, rate_per_s),
            next: first_event as u64,
            stamps: Stamps::new(start, rate_per_s),
            reach: Reach::new(rate_per_s, block_records),
        };
        let blocks = Blocks {
            left: side(Side::Left),
            right: side(Side::Right),
            rows: vec![Record::new(EventTime::EPOCH, Number { key: 0, number: 0 }); block_records.get()],
            matches: Vec::with_capacity(4 * block_records.get()),
            seconds: Vec::new(),
        };
        drive(blocks, first_event, options.stop, together)
    })
}

/// One of the two streams of the join, with its records that the other stream can still match.
struct Half {
    generator: JoinGenerator,
    next: u64,
    stamps: Stamps,
    reach: Reach,
}

/// The hand-written join: its two streams, the blocks between its operators, and its results.
struct Blocks {
    left: Half,
    right: Half,
    rows: Vec<Record<Number>>,
    matches: Vec<Record<Match>>,
    seconds: Vec<JoinSecond>,
}

impl Fed for Blocks {
    type Row = JoinSecond;

    fn run_block(&mut self, limit: usize) -> usize {
        let count = self.rows.len().min(limit / 2).max(1);
        let Blocks { left, right, rows, matches, seconds } = self;
        let rows = &mut rows[..count];
        make(left, rows);
        left.reach.meet(rows, &right.reach, matches, |own, other| (own, other));
        sum_up(matches, seconds);
        make(right, rows);
        right.reach.meet(rows, &left.reach, matches, |own, other| (other, own));
        sum_up(matches, seconds);
        2 * count
    }

    fn finish(self) -> Vec<JoinSecond> {
        self.seconds
    }
}

/// Source: makes the next records of one stream and gives them their event times.
#[inline(never)]
fn make(half: &mut Half, rows: &mut [Record<Number>]) {
    // The position in the sequence of records is copied into local variables, which stay in registers. It is
    // written back once per block, not once per row.
    let (mut stamps, mut next, generator) = (half.stamps, half.next, half.generator);
    for row in rows {
        let event_time = stamps.next_stamp();
        *row = Record::new(event_time, generator.value(next, event_time));
        next += 1;
    }
    (half.stamps, half.next) = (stamps, next);
}

/// Sink: counts the matches and sums them by second. Matches are nearly in order of time: at most one block
/// is out of place.
#[inline(never)]
fn sum_up(matches: &[Record<Match>], seconds: &mut Vec<JoinSecond>) {
    for Record { event_time, value: Match { key, left, right } } in matches {
        let event_time_us = event_time.as_micros();
        let second = JoinSecond::of(event_time_us);
        let is_last = seconds.last().is_some_and(|last| last.second == second);
        let place = if is_last { seconds.len() - 1 } else { place_of(second, seconds) };
        seconds[place].add(JoinMatch { event_time_us, key: *key, left: *left, right: *right });
    }
}

/// Returns the position of a second in `seconds`, and inserts it if it is missing.
#[cold]
fn place_of(second: i64, seconds: &mut Vec<JoinSecond>) -> usize {
    seconds.binary_search_by_key(&second, |known| known.second).unwrap_or_else(|place| {
        seconds.insert(place, JoinSecond::new(second));
        place
    })
}

#[cfg(test)]
mod tests;
