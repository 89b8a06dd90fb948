//! What makes one expressway, and one period, different from those of the cache: the numbers of cars and requests,
//! the order of the cars, and where they are.

use super::traffic::{QUERIES, SLOTS, VEHICLES};
use crate::lrb::report::{Direction, PositionReport, SEGMENT_COUNT, SEGMENT_FEET};

/// How far the order of cars is turned from one expressway to the next. A prime, so that it takes as many
/// expressways as there are slots until an order returns. Near enough for a row to be in the processor's cache when
/// the next expressway asks for it, and so far that no branch predictor remembers it: 10,000 records at a hundred
/// expressways.
const TURN: u64 = 101;

/// Whose numbers cars and requests have.
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

    /// Unique until 32 bits are used up, which takes 100 expressways twenty days of event time.
    #[inline]
    fn number(self, cached: u32, per_period: u32) -> u32 {
        let in_all_periods = cached.wrapping_add(self.period.wrapping_mul(per_period));
        in_all_periods.wrapping_mul(self.xway_count).wrapping_add(u32::from(self.xway))
    }
}

/// What makes one expressway different from that of the cache, whose traffic keeps to the first 90 miles.
#[derive(Clone, Copy)]
pub(super) struct View {
    /// How many slots on its first slot lies.
    pub(super) turn: u32,
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
    pub(super) fn of(xway: u64) -> Self {
        let turn = (xway * TURN % SLOTS as u64) as u32;
        let miles = (xway % 11) as u8;
        let (mirror, segment_offset) =
            if xway.is_multiple_of(2) { (0, miles) } else { (u32::MAX, SEGMENT_COUNT - miles) };
        View { turn, mirror, position_offset: u32::from(segment_offset) * SEGMENT_FEET, segment_offset }
    }

    /// Where a car of the cache is on this expressway.
    #[inline]
    pub(super) fn of_report(self, report: PositionReport) -> PositionReport {
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
