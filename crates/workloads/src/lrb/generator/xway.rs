//! Differences of one expressway, and of one period, from the traffic in the cache: the numbers of cars and
//! requests, the order of the cars, and their positions.

use super::traffic::{QUERIES, SLOTS, VEHICLES};
use crate::lrb::report::{Direction, PositionReport, SEGMENT_COUNT, SEGMENT_FEET};

/// Number of slots by which the order of the cars' reports is rotated from one expressway to the next. It is
/// a prime, so that an order returns only after as many expressways as there are slots. It is small enough
/// for a row to be in the processor's cache when the next expressway reads it, and large enough that no
/// branch predictor remembers it: 10,000 records at a hundred expressways.
const TURN: u64 = 101;

/// Computes the numbers of the cars and requests of one expressway in one period of 40 minutes.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    pub(super) period: u32,
    pub(super) xway: u16,
    pub(super) xway_count: u32,
}

impl Numbers {
    #[inline]
    pub(super) fn vehicle(self, cached: u32) -> u32 {
        self.number(cached, VEHICLES)
    }

    #[inline]
    pub(super) fn query(self, cached: u32) -> u32 {
        self.number(cached, QUERIES)
    }

    /// Returns a number of a car or a request. Such numbers are unique until 32 bits are used up, which takes
    /// 100 expressways 20 days of event time.
    #[inline]
    fn number(self, cached: u32, per_period: u32) -> u32 {
        let in_all_periods = cached.wrapping_add(self.period.wrapping_mul(per_period));
        in_all_periods.wrapping_mul(self.xway_count).wrapping_add(u32::from(self.xway))
    }
}

/// Differences of one expressway from the cached one, whose traffic stays within the first 90 miles.
#[derive(Clone, Copy)]
pub(super) struct View {
    /// Distance in slots from the cache's first slot to this expressway's first slot.
    pub(super) turn: u32,
    /// Mask for an exclusive or with position and segment. It has no bit set, or all bits, so that position
    /// and segment count from the other end of the road.
    mirror: u32,
    /// Number of feet added to the position of a car, after mirroring.
    position_offset: u32,
    /// Number of segments added to the segment of a car, after mirroring.
    segment_offset: u8,
}

impl View {
    /// Returns the differences of an expressway: its traffic is shifted up to ten miles east, and every
    /// second expressway is a mirror image.
    pub(super) fn of(xway: u64) -> Self {
        let turn = (xway * TURN % SLOTS as u64) as u32;
        let miles = (xway % 11) as u8;
        let (mirror, segment_offset) =
            if xway.is_multiple_of(2) { (0, miles) } else { (u32::MAX, SEGMENT_COUNT - miles) };
        View { turn, mirror, position_offset: u32::from(segment_offset) * SEGMENT_FEET, segment_offset }
    }

    /// Converts a report in the cache to a report of this expressway.
    #[inline]
    pub(super) fn of_report(self, report: PositionReport) -> PositionReport {
        let is_mirrored = self.mirror != 0;
        PositionReport {
            // Inverting all bits subtracts a number from the maximum of its type, which mirrors the road.
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
