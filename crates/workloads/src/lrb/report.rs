//! The records that cars send: their position, every 30 s, and sometimes a request. Also the keys by which
//! reports are grouped: place and segment.
//!
//! A record is 16 bytes, a row with its event time 24, for the benchmark's 15 integers. A report is as large as
//! a record, because the record's discriminant lies in the unused values of the report's direction.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// Number of segments of an expressway, numbered from 0 in the west: one mile each.
pub const SEGMENT_COUNT: u8 = 100;
/// Feet in a segment: `segment == position_feet / SEGMENT_FEET`.
pub const SEGMENT_FEET: u32 = 5_280;
/// Length of an expressway in feet.
pub const XWAY_FEET: u32 = SEGMENT_FEET * SEGMENT_COUNT as u32;
/// Number of lanes, numbered from 0: [`ENTRY_LANE`], three travel lanes, [`EXIT_LANE`].
pub const LANE_COUNT: u8 = 5;
/// The lane by which a car enters the road.
pub const ENTRY_LANE: u8 = 0;
/// The lane by which a car leaves the road.
pub const EXIT_LANE: u8 = 4;
/// Seconds between two reports of a car.
pub const REPORT_PERIOD_S: u32 = 30;

/// One record of Linear Road's input. Its event time is the time of the benchmark's row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LrbRecord {
    /// A record of type 0: a car reports its position.
    Report(PositionReport),
    /// A record of type 2: a request for the charges of a car so far.
    Balance {
        /// Number that identifies the car whose balance is requested.
        vehicle: u32,
        /// Number that identifies the request, which its answer repeats.
        query: u32,
    },
    /// Type 3: a request for the car's charges on a day in the past.
    Daily {
        /// Number that identifies the car whose charges are requested.
        vehicle: u32,
        /// Number that identifies the request, which its answer repeats.
        query: u32,
        /// Number that identifies the expressway where the charges arose.
        xway: u16,
        /// Age of the day in days, from 1 for yesterday.
        day: u8,
    },
    /// Type 4: a request for the time of a journey. Such requests are not answered, as in other
    /// implementations.
    TravelTime {
        /// Number that identifies the car that requests a travel time.
        vehicle: u32,
        /// Number that identifies the request, which is not answered.
        query: u32,
    },
}

/// Type 0: the position of a car.
///
/// The order in memory matters. In this order the record's discriminant follows twelve bytes, which are copied
/// as eight and four. After thirteen bytes, the copy would be two overlapping runs of eight, and a load of what
/// was just stored would stall.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[repr(C)]
pub struct PositionReport {
    /// Number that identifies the car that reports.
    pub vehicle: u32,
    /// Feet from the western end of the expressway, below [`XWAY_FEET`].
    pub position_feet: u32,
    /// Number that identifies the expressway on which the car is.
    pub xway: u16,
    /// Speed of the car in miles per hour.
    pub speed_mph: u8,
    /// Lane of the car, below [`LANE_COUNT`].
    pub lane: u8,
    /// Direction in which the car drives.
    pub direction: Direction,
    /// Segment of the position, below [`SEGMENT_COUNT`].
    pub segment: u8,
}

/// Direction of travel on an expressway.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Direction {
    /// East, 0 in files: the segment numbers rise along the way.
    East,
    /// West, 1 in files: the segment numbers fall along the way.
    West,
}

/// One mile of one direction of an expressway, by which traffic is counted and tolls are charged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Segment {
    /// Number that identifies the expressway of the road.
    pub xway: u16,
    /// Direction of travel of the cars in the segment.
    pub direction: Direction,
    /// Number of the segment, below [`SEGMENT_COUNT`].
    pub number: u8,
}

/// A spot on the road. Two cars that stand at the same spot have had an accident.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Number that identifies the expressway of the road.
    pub xway: u16,
    /// Direction of travel at this spot.
    pub direction: Direction,
    /// Lane of the spot, below [`LANE_COUNT`].
    pub lane: u8,
    /// Distance of the spot in feet from the western end of the expressway, below [`XWAY_FEET`].
    pub position_feet: u32,
}

/// Hashes the segment as one number, with small gaps between roads. Tables hash it by a multiplication, which
/// spreads consecutive numbers evenly.
impl Hash for Segment {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Segment { xway, direction, number } = *self;
        state.write_u32(u32::from(xway) << 8 | u32::from(direction.number()) << 7 | u32::from(number));
    }
}

const _: () = assert!(SEGMENT_COUNT <= 1 << 7);

/// Hashes the place as one number, which tables hash by a multiplication.
impl Hash for Place {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Place { xway, direction, lane, position_feet } = *self;
        let road = u64::from(xway) << 16 | u64::from(direction.number()) << 8 | u64::from(lane);
        state.write_u64(road << 32 | u64::from(position_feet));
    }
}

impl PositionReport {
    /// Returns the segment in which this report counts.
    #[inline]
    pub fn segment(&self) -> Segment {
        Segment { xway: self.xway, direction: self.direction, number: self.segment }
    }

    /// Returns the place on the road from which this report was sent.
    #[inline]
    pub fn place(&self) -> Place {
        let PositionReport { xway, direction, lane, position_feet, .. } = *self;
        Place { xway, direction, lane, position_feet }
    }
}

impl Direction {
    /// Returns the number that this direction has in files.
    #[inline]
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl Place {
    /// Returns the segment in which this place lies.
    #[inline]
    pub fn segment(&self) -> Segment {
        // The number of the segment fits 8 bits: it is below 100, because the position is below the length of
        // the expressway.
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
