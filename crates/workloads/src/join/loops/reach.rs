//! The state of one stream of the hand-written join: a ring of the records that the other stream can still
//! match, and a hash table with one chain of records per slot, the latest record first.
//!
//! ```text
//!   heads   [ 7 | - | 5 | ... ]        by hash of the key: the latest record of the chain
//!   ring    [ 4>1 | 5>3 | 6>2 | 7>4 ]  record n lies at n mod length, and links to the one before it in its chain
//! ```
//!
//! Records are numbered in order of arrival. A record whose number is more than the ring's length back has been
//! overwritten, and a walk that reaches it has reached the end of its chain. Records are never removed.

use std::num::{NonZeroU64, NonZeroUsize};

use thalweg_model::{EventTime, Record};

use crate::join::WITHIN;
use crate::join::number::{Match, Number};

/// 2^64 divided by the golden ratio: neighbouring keys are hashed to distant slots.
/// Source: Knuth, "The Art of Computer Programming" vol. 3, section 6.4, "Fibonacci hashing".
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Copy)]
struct Link {
    time_us: i64,
    value: Number,
    /// Number of the record that precedes this one in the chain of its hash slot.
    before: u32,
}

const NOTHING: Link = Link { time_us: i64::MIN, value: Number { key: 0, number: 0 }, before: 0 };

/// The records of one stream that the other stream can still match.
pub(super) struct Reach {
    heads: Vec<u32>,
    ring: Vec<Link>,
    /// Number of the next record of the stream. Numbers wrap around: a chain whose latest record lies 2^32
    /// records back would seem to have a new one.
    next: u32,
    shift: u32,
    /// Scratch space for the current block: for each of its rows, the number of the latest record in the
    /// other stream's chain for the hash of the row's key, and that record.
    firsts: Vec<(u32, Link)>,
}

impl Reach {
    /// Creates an empty state with room for the records of half a second and two blocks.
    pub(super) fn new(rate_per_s: NonZeroU64, block_records: NonZeroUsize) -> Self {
        // The two streams are at most one block apart, and one more block is needed for the rows being added.
        let reached = WITHIN.as_micros().unsigned_abs() as u128 * u128::from(rate_per_s.get()) / 1_000_000;
        let reached = usize::try_from(reached).expect("half a second of 64-bit records fits 64 bits") + 1;
        let length = (reached + 2 * block_records.get()).next_power_of_two().max(2);
        assert!(length <= 1 << 30, "{length} records do not fit the loop's numbers");
        // There are twice as many chains of records as records, so a chain has half a record on average.
        let heads = 2 * length;
        Reach {
            // Every chain begins with the number of a record that is no longer kept, so it counts as empty.
            heads: vec![(length as u32 + 1).wrapping_neg(); heads],
            ring: vec![NOTHING; length],
            next: 0,
            shift: u64::BITS - heads.ilog2(),
            firsts: vec![(0, NOTHING); block_records.get()],
        }
    }

    /// Adds rows to this stream, and appends all their matches in the other stream to the output. Works in
    /// several passes over the rows, so that their cache misses overlap.
    #[inline(never)]
    pub(super) fn meet(
        &mut self,
        rows: &[Record<Number>],
        other: &Reach,
        matches: &mut Vec<Record<Match>>,
        sides: impl Fn(u64, u64) -> (u64, u64),
    ) {
        matches.clear();
        let firsts = &mut self.firsts[..rows.len()];
        for (row, first) in rows.iter().zip(&mut *firsts) {
            first.0 = other.heads[other.home(row.value.key)];
        }
        for first in &mut *firsts {
            first.1 = other.at(first.0);
        }
        for (row, &(number, link)) in rows.iter().zip(&*firsts) {
            let (time_us, key) = (row.event_time.as_micros(), row.value.key);
            let (mut number, mut link) = (number, link);
            let horizon_us = time_us - WITHIN.as_micros();
            // The chain is walked as long as its records are kept and at most half a second older than the
            // row. The other stream may be a block ahead, so records may also be too late to match.
            while other.is_there(number) && horizon_us <= link.time_us {
                if link.value.key == key && link.time_us - time_us <= WITHIN.as_micros() {
                    let later = if link.time_us < time_us {
                        row.event_time
                    } else {
                        EventTime::from_micros(link.time_us)
                    };
                    let (left, right) = sides(row.value.number, link.value.number);
                    matches.push(Record::new(later, Match { key, left, right }));
                }
                number = link.before;
                link = other.at(number);
            }
        }
        for row in rows {
            self.add(row);
        }
    }

    #[inline(always)]
    fn add(&mut self, row: &Record<Number>) {
        let (home, number) = (self.home(row.value.key), self.next);
        let place = number as usize & (self.ring.len() - 1);
        self.ring[place] =
            Link { time_us: row.event_time.as_micros(), value: row.value, before: self.heads[home] };
        self.heads[home] = number;
        self.next = number.wrapping_add(1);
    }

    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(MULTIPLIER) >> self.shift) as usize
    }

    #[inline(always)]
    fn at(&self, number: u32) -> Link {
        self.ring[number as usize & (self.ring.len() - 1)]
    }

    /// Returns whether the record with the given number is still in the ring, that is, was not overwritten.
    #[inline(always)]
    fn is_there(&self, number: u32) -> bool {
        let back = self.next.wrapping_sub(number);
        back.wrapping_sub(1) < self.ring.len() as u32
    }
}
