//! Linear Road's traffic from a seed: 40 minutes of one expressway are made once into a cache. All other
//! expressways and all later times are that traffic under other numbers. A record costs a copy and some
//! additions.
//!
//! ```text
//! index -> round of 30 s, slot in the round, expressway      every car reports once in a round
//!       -> the cache's row of (round modulo 80, slot)        80 rounds of 30,000 slots: 37 MiB
//!       -> under the numbers of this expressway, and of this period of 80 rounds
//! ```
//!
//! An expressway has 1,000 records a second, as the benchmark has at its busiest; so the rate determines the
//! number of expressways. They differ in the order of their cars and in where their first mile lies, and every
//! second one is a mirror image. Where a period ends, the journeys under way continue in the next period: the
//! road's state repeats, never a car or a request.
//!
//! The module `traffic` describes the traffic and how it arises; `xway` describes how expressways differ.

use std::fmt;
use std::num::NonZeroU64;

use thalweg_model::{EventTime, Generate, Record, SeededEntropy};

use super::csv::HistoricalToll;
use super::report::{LrbRecord, PositionReport};
use reciprocal::Reciprocal;
use xway::{Numbers, View};

mod cursor;
mod reciprocal;
mod traffic;
mod xway;

pub use cursor::LrbCursor;
pub use traffic::{ROUNDS, SLOTS};

/// Number of records in the cache of generated traffic.
pub const CACHE_RECORDS: usize = ROUNDS * SLOTS;

/// Number of records that the cars of one expressway send per second.
pub const RECORDS_PER_XWAY_S: u64 = SLOTS as u64 / ROUND_S;

/// Length of a round in seconds: the time between two reports of a car.
const ROUND_S: u64 = super::report::REPORT_PERIOD_S as u64;

/// Options of the generated traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LrbOptions {
    /// Seed of the random numbers; equal seeds give equal traffic.
    pub seed: u64,
    /// Records per second of event time. The record at `index` is meant for the event time `start` plus
    /// `index / rate_per_s` seconds.
    pub rate_per_s: NonZeroU64,
}

impl Default for LrbOptions {
    /// Returns the options for traffic on 100 expressways.
    fn default() -> Self {
        LrbOptions {
            seed: 0,
            rate_per_s: NonZeroU64::new(100_000).expect("the rate of 100,000 is above zero"),
        }
    }
}

/// The endless sequence of reports and requests of Linear Road.
///
/// There are [`xway_count`](Self::xway_count) expressways. If the rate is not a multiple of
/// [`RECORDS_PER_XWAY_S`], some of the cars are left out. Below 500/s too few are left for tolls, and an
/// accident may lack one of its cars.
pub struct LrbGenerator {
    cache: Box<[LrbRecord; CACHE_RECORDS]>,
    xway_count: u32,
    rate_per_s: NonZeroU64,
    /// How each expressway differs from the cached one, by the number of the expressway.
    views: Box<[View]>,
    /// Divides a record's index by the number of records in a round.
    by_round: Reciprocal,
    /// Divides by the number of expressways, without a division instruction.
    by_xway: Reciprocal,
}

impl LrbGenerator {
    /// Makes the cache of traffic for these options.
    ///
    /// # Panics
    /// If there would be more than 65,536 expressways: at more than 65,536,000 records per second of event
    /// time.
    pub fn new(options: LrbOptions) -> Self {
        let rate_per_s = options.rate_per_s.get();
        let xway_count = rate_per_s.div_ceil(RECORDS_PER_XWAY_S);
        assert!(
            xway_count <= 1 << 16,
            "{rate_per_s} records per second need {xway_count} expressways, but there are at most 65536"
        );
        let rows = traffic::rows(&mut SeededEntropy::new(options.seed));
        let cache = rows.into_boxed_slice().try_into().expect("as many records as the cache holds were made");
        LrbGenerator {
            cache,
            xway_count: xway_count as u32,
            rate_per_s: options.rate_per_s,
            views: (0..xway_count).map(View::of).collect(),
            by_round: Reciprocal::of(rate_per_s * ROUND_S),
            by_xway: Reciprocal::of(xway_count),
        }
    }

    /// Returns the number of expressways, numbered from 0.
    pub fn xway_count(&self) -> u32 {
        self.xway_count
    }

    /// Returns the number of records per second of event time.
    pub fn rate_per_s(&self) -> NonZeroU64 {
        self.rate_per_s
    }

    /// Returns an endless iterator over the records from `index` on.
    pub fn records_from(&self, index: u64) -> LrbCursor<'_> {
        LrbCursor::new(self, index)
    }

    /// Returns the row of the historical tolls that answers a type 3 request for this car, day and expressway.
    /// Tolls are from 10 to 99, as recorded.
    pub fn historical_toll(vehicle: u32, day: u8, xway: u16) -> HistoricalToll {
        let mixed = (u64::from(vehicle) << 24 | u64::from(xway) << 8 | u64::from(day))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        HistoricalToll { vehicle, day, xway, toll: 10 + ((mixed >> 40) % 90) as u32 }
    }
}

impl LrbGenerator {
    #[inline]
    fn address(&self, index: u64) -> Address {
        let (round, in_round) = self.by_round.divide(index);
        let (slot, xway) = self.by_xway.divide(in_round);
        let rounds = ROUNDS as u64;
        Address { period: (round / rounds) as u32, round: round % rounds, slot, xway }
    }

    #[inline(always)]
    fn row(&self, at: Address) -> LrbRecord {
        let view = self.views[at.xway as usize];
        let slot = at.slot + u64::from(view.turn);
        let slot = if slot >= SLOTS as u64 { slot - SLOTS as u64 } else { slot };
        let row = self.cache[(at.round * SLOTS as u64 + slot) as usize];
        let numbers = Numbers { period: at.period, xway: at.xway as u16, xway_count: self.xway_count };
        // The record is built from parts that stay in registers. If it were changed in place, or by a
        // function that is not inlined, it would be written in pieces and read as a whole, which stalls the
        // processor.
        match row {
            LrbRecord::Report(report) => LrbRecord::Report(PositionReport {
                vehicle: numbers.vehicle(report.vehicle),
                xway: numbers.xway,
                ..view.of_report(report)
            }),
            LrbRecord::Balance { vehicle, query } => {
                LrbRecord::Balance { vehicle: numbers.vehicle(vehicle), query: numbers.query(query) }
            }
            LrbRecord::Daily { vehicle, query, day, .. } => LrbRecord::Daily {
                vehicle: numbers.vehicle(vehicle),
                query: numbers.query(query),
                xway: numbers.xway,
                day,
            },
            LrbRecord::TravelTime { .. } => row,
        }
    }
}

/// The position in the cache that belongs to the index of a record.
#[derive(Clone, Copy)]
struct Address {
    period: u32,
    /// Round of the record within the period, below [`ROUNDS`].
    round: u64,
    /// Slot of the record within its round, below [`SLOTS`], in the order in which the cars of the first
    /// expressway report.
    slot: u64,
    xway: u64,
}

impl fmt::Debug for LrbGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LrbGenerator").field("xway_count", &self.xway_count).finish_non_exhaustive()
    }
}

impl Generate for LrbGenerator {
    type Item = LrbRecord;

    #[inline]
    fn value(&self, index: u64, _event_time: EventTime) -> LrbRecord {
        self.row(self.address(index))
    }

    #[inline(always)]
    fn each_value(
        &self,
        first: u64,
        event_times: impl Iterator<Item = EventTime>,
        mut each: impl FnMut(Record<LrbRecord>),
    ) {
        for (event_time, value) in event_times.zip(self.records_from(first)) {
            each(Record::new(event_time, value));
        }
    }

    fn cache_bytes(&self) -> usize {
        size_of_val(&*self.cache) + size_of_val(&*self.views)
    }
}

#[cfg(test)]
mod tests;
