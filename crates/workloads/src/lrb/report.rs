//! What cars send: where they are, every 30 s, and now and then a question. And the keys that reports are
//! grouped by: place, segment.
//!
//! A record is 16 bytes, a row with its event time 24, of the benchmark's 15 integers. A report is as large as
//! a record: the mark of its kind lies in the spare values of its direction.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// Segments of an expressway, numbered from 0 in the west: one mile each.
pub const SEGMENT_COUNT: u8 = 100;
/// Feet in a segment: `segment == position_feet / SEGMENT_FEET`.
pub const SEGMENT_FEET: u32 = 5_280;
/// Feet of an expressway.
pub const XWAY_FEET: u32 = SEGMENT_FEET * SEGMENT_COUNT as u32;
/// Lanes, numbered from 0: [`ENTRY_LANE`], three travel lanes, [`EXIT_LANE`].
pub const LANE_COUNT: u8 = 5;
/// The lane by which a car comes onto the road.
pub const ENTRY_LANE: u8 = 0;
/// The lane by which it leaves.
pub const EXIT_LANE: u8 = 4;
/// Seconds between two reports of a car.
pub const REPORT_PERIOD_S: u32 = 30;

/// One record of the input. Its event time is the benchmark's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LrbRecord {
    /// Type 0: where a car is.
    Report(PositionReport),
    /// Type 2: what has this car been charged so far?
    Balance {
        /// The car.
        vehicle: u32,
        /// The request's number, which its answer carries.
        query: u32,
    },
    /// Type 3: what was this car charged on a day in the past?
    Daily {
        /// The car.
        vehicle: u32,
        /// The request's number, which its answer carries.
        query: u32,
        /// On which expressway.
        xway: u16,
        /// How many days ago, from 1 for yesterday.
        day: u8,
    },
    /// Type 4: how long will a journey take? Nobody answers it, here or elsewhere.
    TravelTime {
        /// The car.
        vehicle: u32,
        /// The request's number.
        query: u32,
    },
}

/// Type 0: where a car is.
///
/// In this order in memory: the mark of a record's kind then lies behind twelve bytes that are copied as eight and four.
/// Behind thirteen, they are copied as twice eight that overlap, and whoever loads what was just stored must wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[repr(C)]
pub struct PositionReport {
    /// The car.
    pub vehicle: u32,
    /// Feet from the western end of the expressway, below [`XWAY_FEET`].
    pub position_feet: u32,
    /// The expressway.
    pub xway: u16,
    /// Miles per hour.
    pub speed_mph: u8,
    /// Below [`LANE_COUNT`].
    pub lane: u8,
    /// Which way it goes.
    pub direction: Direction,
    /// The mile it is in, below [`SEGMENT_COUNT`].
    pub segment: u8,
}

/// Which way a car goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Direction {
    /// 0: segments rise.
    East,
    /// 1: segments fall.
    West,
}

/// One mile of one direction of an expressway: what traffic is counted, and tolls are charged, by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Segment {
    /// The expressway.
    pub xway: u16,
    /// Which way cars go.
    pub direction: Direction,
    /// Below [`SEGMENT_COUNT`].
    pub number: u8,
}

/// A spot on the road: two cars that stand on the same have met.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The expressway.
    pub xway: u16,
    /// Which way cars go.
    pub direction: Direction,
    /// Below [`LANE_COUNT`].
    pub lane: u8,
    /// Feet from the western end of the expressway, below [`XWAY_FEET`].
    pub position_feet: u32,
}

/// As one number, with small gaps between roads: tables hash it by a multiplication, which spreads numbers in a row evenly.
impl Hash for Segment {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Segment { xway, direction, number } = *self;
        state.write_u32(u32::from(xway) << 8 | u32::from(direction.number()) << 7 | u32::from(number));
    }
}

const _: () = assert!(SEGMENT_COUNT <= 1 << 7);

/// As one number, which tables hash by a multiplication.
impl Hash for Place {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Place { xway, direction, lane, position_feet } = *self;
        let road = u64::from(xway) << 16 | u64::from(direction.number()) << 8 | u64::from(lane);
        state.write_u64(road << 32 | u64::from(position_feet));
    }
}

impl PositionReport {
    /// Where traffic is counted.
    #[inline]
    pub fn segment(&self) -> Segment {
        Segment { xway: self.xway, direction: self.direction, number: self.segment }
    }

    /// The spot.
    #[inline]
    pub fn place(&self) -> Place {
        let PositionReport { xway, direction, lane, position_feet, .. } = *self;
        Place { xway, direction, lane, position_feet }
    }
}

impl Direction {
    /// The number that stands for it in files.
    #[inline]
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl Place {
    /// The mile that the spot lies in.
    #[inline]
    pub fn segment(&self) -> Segment {
        // Below 100 by the bound on positions.
        let number = (self.position_feet / SEGMENT_FEET) as u8;
        Segment { xway: self.xway, direction: self.direction, number }
    }
}

const _: () = assert!(size_of::<LrbRecord>() == 16);
const _: () = assert!(size_of::<PositionReport>() == 16);
const _: () = assert!(std::mem::offset_of!(PositionReport, direction) == 12);
const _: () = assert!(size_of::<Segment>() == 4);
const _: () = assert!(size_of::<Place>() == 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_lies_in_the_segment_of_its_feet() {
        let at = |position_feet| {
            Place { xway: 7, direction: Direction::West, lane: 2, position_feet }.segment().number
        };
        assert_eq!([0, 5_279, 5_280, XWAY_FEET - 1].map(at), [0, 0, 1, 99]);
        let report = PositionReport {
            vehicle: 1,
            position_feet: 5_280 * 3,
            xway: 7,
            speed_mph: 30,
            lane: 2,
            direction: Direction::West,
            segment: 3,
        };
        assert_eq!(report.segment(), report.place().segment());
    }
}
