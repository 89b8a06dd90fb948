//! Linear Road's traffic from a seed: 40 minutes of one expressway are made once into a cache; all others and
//! all later times are that traffic under other numbers. A record costs a copy and some additions.
//!
//! ```text
//! index -> round of 30 s, slot in the round, expressway      every car reports once in a round
//!       -> the cache's row of (round modulo 80, slot)        80 rounds of 30,000 slots: 37 MiB
//!       -> under the numbers of this expressway, and of this period of 80 rounds
//! ```
//!
//! An expressway has as many reports a second as the benchmark's at its busiest, 1,000; so the rate says how many
//! expressways there are. They differ in the order of their cars, in where their first mile lies, and every
//! second one is the mirror image. Where a period ends, the journeys that are under way go on in the
//! next: what repeats is the road's state, never a car or a request.
//!
//! What there is on the road, and how it comes about, is told in `traffic`.

use std::fmt;
use std::num::NonZeroU64;

use thalweg_model::{EventTime, Generate, SeededEntropy};

use super::csv::HistoricalToll;
use super::report::{Direction, LrbRecord, PositionReport, SEGMENT_COUNT, SEGMENT_FEET};
use reciprocal::Reciprocal;

mod reciprocal;
mod traffic;

pub use traffic::{ROUNDS, SLOTS};

/// Records in the cache.
pub const CACHE_RECORDS: usize = ROUNDS * SLOTS;

/// Records of an expressway in a second.
pub const RECORDS_PER_XWAY_S: u64 = SLOTS as u64 / ROUND_S;

/// Seconds between two reports of a car.
const ROUND_S: u64 = super::report::REPORT_PERIOD_S as u64;

/// How far the order of cars is turned from one expressway to the next: a prime, so that it takes as many
/// expressways as there are cars until an order returns.
const TURN: u64 = 7_919;

/// How traffic is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LrbOptions {
    /// Where the random numbers start; equal seeds give equal traffic.
    pub seed: u64,
    /// Records per second of event time: the record at `index` is meant for the event time
    /// `start + index / rate_per_s`.
    pub rate_per_s: NonZeroU64,
}

impl Default for LrbOptions {
    /// A hundred expressways.
    fn default() -> Self {
        LrbOptions { seed: 0, rate_per_s: NonZeroU64::new(100_000).expect("not zero") }
    }
}

/// The endless sequence of reports and requests.
///
/// There are [`xway_count`](Self::xway_count) expressways. Of a rate that is no multiple of
/// [`RECORDS_PER_XWAY_S`], some of the cars are left out: below 500/s too few are left for tolls, and an accident
/// may lack one of its cars.
pub struct LrbGenerator {
    cache: Box<[LrbRecord; CACHE_RECORDS]>,
    xway_count: u32,
    rate_per_s: NonZeroU64,
    /// One per expressway.
    views: Box<[View]>,
    /// Divides by the records in a round.
    by_round: Reciprocal,
    /// Divides by the number of expressways.
    by_xway: Reciprocal,
}

impl LrbGenerator {
    /// Makes the cache.
    ///
    /// # Panics
    /// If there would be more than 65,536 expressways: at more than 65,536,000 records per second of event time.
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

    /// Expressways, numbered from 0.
    pub fn xway_count(&self) -> u32 {
        self.xway_count
    }

    /// Records per second of event time.
    pub fn rate_per_s(&self) -> NonZeroU64 {
        self.rate_per_s
    }

    /// What the cars of type 3 requests were charged: the row of the historical tolls for any such request.
    /// From 10 to 99, as recorded.
    pub fn historical_toll(vehicle: u32, day: u8, xway: u16) -> HistoricalToll {
        let mixed = (u64::from(vehicle) << 24 | u64::from(xway) << 8 | u64::from(day))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        HistoricalToll { vehicle, day, xway, toll: 10 + ((mixed >> 40) % 90) as u32 }
    }
}

impl fmt::Debug for LrbGenerator {
    /// Without the cache, which would fill a book.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LrbGenerator").field("xway_count", &self.xway_count).finish_non_exhaustive()
    }
}

impl Generate for LrbGenerator {
    type Item = LrbRecord;

    #[inline]
    fn value(&self, index: u64, _event_time: EventTime) -> LrbRecord {
        let (round, in_round) = self.by_round.divide(index);
        let (slot, xway) = self.by_xway.divide(in_round);
        let view = self.views[xway as usize];
        let slot = slot + u64::from(view.turn);
        let slot = if slot >= SLOTS as u64 { slot - SLOTS as u64 } else { slot };
        let (period, round) = (round / ROUNDS as u64, round % ROUNDS as u64);
        let row = self.cache[(round * SLOTS as u64 + slot) as usize];
        let number = |cached: u32, per_period: u32| {
            // Unique until 32 bits are used up, which takes 100 expressways twenty days of event time.
            let in_all_periods = cached.wrapping_add((period as u32).wrapping_mul(per_period));
            in_all_periods.wrapping_mul(self.xway_count).wrapping_add(xway as u32)
        };
        let xway = xway as u16;
        match row {
            LrbRecord::Report(report) => LrbRecord::Report(PositionReport {
                vehicle: number(report.vehicle, traffic::VEHICLES),
                xway,
                ..view.of_report(report)
            }),
            LrbRecord::Balance { vehicle, query } => LrbRecord::Balance {
                vehicle: number(vehicle, traffic::VEHICLES),
                query: number(query, traffic::QUERIES),
            },
            LrbRecord::Daily { vehicle, query, day, .. } => LrbRecord::Daily {
                vehicle: number(vehicle, traffic::VEHICLES),
                query: number(query, traffic::QUERIES),
                xway,
                day,
            },
            LrbRecord::TravelTime { .. } => row,
        }
    }

    fn cache_bytes(&self) -> usize {
        size_of_val(&*self.cache) + size_of_val(&*self.views)
    }
}

/// What makes one expressway different from that of the cache, whose traffic keeps to the first 90 miles.
#[derive(Clone, Copy)]
struct View {
    /// How many slots on its first slot lies.
    turn: u32,
    /// What position and segment are combined with by exclusive or: no bits, or all, so that they are counted
    /// from the other end.
    mirror: u32,
    /// Added to the position afterwards.
    position_offset: u32,
    /// Added to the segment afterwards.
    segment_offset: u8,
}

impl View {
    /// Up to ten miles further east; and every second expressway the mirror image.
    fn of(xway: u64) -> Self {
        let turn = (xway * TURN % SLOTS as u64) as u32;
        let miles = (xway % 11) as u8;
        let (mirror, segment_offset) =
            if xway.is_multiple_of(2) { (0, miles) } else { (u32::MAX, SEGMENT_COUNT - miles) };
        View { turn, mirror, position_offset: u32::from(segment_offset) * SEGMENT_FEET, segment_offset }
    }

    /// Where a car of the cache is on this expressway.
    #[inline]
    fn of_report(self, report: PositionReport) -> PositionReport {
        let is_mirrored = self.mirror != 0;
        PositionReport {
            // All bits inverted, a number is itself subtracted from the highest of its type.
            position_feet: (report.position_feet ^ self.mirror).wrapping_add(self.position_offset),
            segment: (report.segment ^ self.mirror as u8).wrapping_add(self.segment_offset),
            direction: if is_mirrored == (report.direction == Direction::East) {
                Direction::West
            } else {
                Direction::East
            },
            ..report
        }
    }
}

#[cfg(test)]
mod tests;
