//! The sliding window of the hand-written loop for Linear Road: the places at which two cars stopped within
//! 120 s, every 30 s.
//!
//! It is computed by panes of 30 s, four to a window. A pane keeps its rows and not the number of rows per
//! car, which would take as much memory, because a car reports only once in a pane. When a pane ends, the
//! window of the last four panes ends too, and their rows are counted. Each row is counted four times, but
//! few cars stand: one report in a hundred.

use thalweg_model::{EventTime, Record};

use super::table::Table;
use crate::lrb::report::{Direction, Place, PositionReport};
use crate::lrb::toll::{ACCIDENT_CARS, ACCIDENT_SLIDE, ACCIDENT_WINDOW, STOPPED_REPORTS};

/// Number of panes of 30 s in a window of 120 s.
const PANES: usize = (ACCIDENT_WINDOW.as_micros() / ACCIDENT_SLIDE.as_micros()) as usize;

const _: () = assert!(ACCIDENT_WINDOW.as_micros() == PANES as i64 * ACCIDENT_SLIDE.as_micros());

/// The rows of standing cars in the open pane and in the panes before it.
pub(super) struct Stops {
    /// Place and car of each row, by pane of 30 s; the last pane is the open one.
    panes: [Vec<(u64, u32)>; PANES],
    /// Scratch space used when a pane ends: each place gets a number, in the order in which places first
    /// occur in the rows.
    numbers: Table<u64, u32>,
    /// Scratch space used when a pane ends: number of rows by place number and car.
    reports: Table<u64, u32>,
    /// Scratch space used when a pane ends: number of stopped cars by place number.
    stopped: Vec<u32>,
    /// Block of rows for the next operator, which gets the places of accidents.
    block: Vec<Record<Place>>,
}

impl Stops {
    pub(super) fn new(block_records: usize) -> Self {
        Stops {
            panes: std::array::from_fn(|_| Vec::new()),
            numbers: Table::new(),
            reports: Table::new(),
            stopped: Vec::new(),
            block: Vec::with_capacity(block_records),
        }
    }

    /// Ends the open pane and with it a window, and passes the places with an accident to `next`, block by
    /// block.
    pub(super) fn end_pane(&mut self, stamp: EventTime, mut next: impl FnMut(&[Record<Place>])) {
        if self.panes.iter().any(|pane| !pane.is_empty()) {
            self.count(stamp, &mut next);
        }
        if !self.block.is_empty() {
            next(&self.block);
            self.block.clear();
        }
        self.panes.rotate_left(1);
        self.panes[PANES - 1].clear();
    }

    #[inline(never)]
    fn count(&mut self, stamp: EventTime, next: &mut impl FnMut(&[Record<Place>])) {
        self.numbers.clear();
        self.reports.clear();
        self.stopped.clear();
        for &(place, vehicle) in self.panes.iter().flatten() {
            let number = self.numbers.entry(place);
            if *number == 0 {
                self.stopped.push(0);
                *number = self.stopped.len() as u32;
            }
            let number = *number;
            let reports = self.reports.entry(u64::from(number) << 32 | u64::from(vehicle));
            *reports += 1;
            if *reports != STOPPED_REPORTS {
                continue;
            }
            let cars = &mut self.stopped[number as usize - 1];
            *cars += 1;
            if *cars == ACCIDENT_CARS {
                if self.block.len() == self.block.capacity() {
                    next(&self.block);
                    self.block.clear();
                }
                self.block.push(Record::new(stamp, place_of(place)));
            }
        }
    }
}

/// Adds rows of standing cars to the open pane, for the windows that the pane is part of.
#[inline(never)]
pub(super) fn keep_stops(standing: &[Record<PositionReport>], stops: &mut Stops) {
    let rows = standing.iter().map(|row| (bits_of(row.value.place()), row.value.vehicle));
    stops.panes[PANES - 1].extend(rows);
}

/// Packs a place on the road into one number: position, lane, direction and expressway, from the lowest bit
/// up.
#[inline(always)]
fn bits_of(place: Place) -> u64 {
    let Place { xway, direction, lane, position_feet } = place;
    u64::from(position_feet)
        | u64::from(lane) << 20
        | u64::from(direction.number()) << 23
        | u64::from(xway) << 24
}

fn place_of(bits: u64) -> Place {
    Place {
        xway: (bits >> 24) as u16,
        direction: if bits >> 23 & 1 == 0 { Direction::East } else { Direction::West },
        lane: (bits >> 20 & 7) as u8,
        position_feet: (bits & 0xf_ffff) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lrb::report::{EXIT_LANE, XWAY_FEET};

    #[test]
    fn a_place_survives_being_packed() {
        for direction in [Direction::East, Direction::West] {
            for (xway, lane, position_feet) in [(0, 0, 0), (u16::MAX, EXIT_LANE, XWAY_FEET - 1), (1, 2, 3)] {
                let place = Place { xway, direction, lane, position_feet };
                assert_eq!(place_of(bits_of(place)), place);
            }
        }
    }
}
