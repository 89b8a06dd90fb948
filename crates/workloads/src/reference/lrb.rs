//! Reference results of Linear Road's short form: cars, average speed, toll and accidents of every segment, minute
//! by minute.
//!
//! The rules, as the benchmark's description states them:
//!
//! * Only reports (type 0) count. A segment is one mile of one direction of one expressway.
//! * In every minute, for every segment with a report: the number of its reports (not of different cars), the
//!   mean of their speeds, and the toll `2 * (reports - 50)^2` if there are more than 50 and the mean is below
//!   40, else 0.
//! * In every window of 120 s that starts at a multiple of 30 s: a place (expressway, direction, lane, position) has
//!   an accident if at least two cars have at least four reports each there with speed 0, not in the exit lane
//!   (4). It is counted for the segment of the place, in the minute of the window's last instant.
//! * A segment and minute with reports or an accident has one row; a missing number is 0. If there is an
//!   accident, the toll is 0.
//!
//! [`lrb_rows_in`] does the same for windows of other sizes: tolls are counted in one window, accidents are sought in
//! another, and a last window takes the results of both by the last instant of their windows.
//!
//! Minutes and windows start at multiples of their size and slide. All of them count, even if the input begins
//! or ends within; so an accident may lie in a minute after the last report. No record is late.
//!
//! Reports are counted in plain arrays, one per minute, so that results of runs of hundreds of millions of
//! records can be checked. Memory holds the rows of results, and 32 bytes for each report of a standing car.

use std::collections::BTreeMap;

use super::{Row, is_near};

/// One row of Linear Road's input, with the fields that the short form of Linear Road (speed, toll and
/// accidents) reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LrbInput {
    /// Event time of the row, in microseconds from the start of the run.
    pub event_time_us: i64,
    /// Type of the row; 0 is a position report.
    pub kind: u8,
    /// Number that identifies the car that has sent the row.
    pub vehicle: u32,
    /// Speed of the car in miles per hour.
    pub speed: u8,
    /// Number that identifies the expressway of the row.
    pub xway: u16,
    /// Lane of the car, from 0 (entry) to 4 (exit).
    pub lane: u8,
    /// Direction in which the car drives: 0 east, 1 west.
    pub direction: u8,
    /// Segment of the report, from 0 to 99.
    pub segment: u8,
    /// Position of the car in feet; segments are 5,280 feet long.
    pub position: u32,
}

/// One row of the results of Linear Road's short form (speed, toll and accidents); the fields are the columns
/// of `lrb.csv`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LrbRow {
    /// Start of the minute, or of the window that joins tolls and accidents if windows were chosen, in
    /// seconds from the start of the run.
    pub window_start_s: i64,
    /// Number that identifies the expressway of the row.
    pub xway: u16,
    /// Direction of the segment: 0 east, 1 west.
    pub direction: u8,
    /// Number of the segment, from 0 to 99.
    pub segment: u8,
    /// Number of reports from the segment in the minute.
    pub cars: u64,
    /// Mean speed of these reports in miles per hour.
    pub average_speed: f64,
    /// Toll of the segment for the minute.
    pub toll: u64,
    /// Number of accidents: pairs of a place and a window of 120 s, or of the size that was chosen.
    pub accidents: u64,
}

impl Row for LrbRow {
    type Key = (i64, u16, u8, u8);

    fn key(&self) -> (i64, u16, u8, u8) {
        (self.window_start_s, self.xway, self.direction, self.segment)
    }

    fn agrees(&self, found: &Self) -> bool {
        let counted = |row: &Self| (row.key(), row.cars, row.toll, row.accidents);
        counted(self) == counted(found) && is_near(self.average_speed, found.average_speed)
    }
}

/// Results of Linear Road's short form (speed, toll and accidents) for an input.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LrbAnswer {
    /// Result rows, ordered by minute, expressway, direction and segment.
    pub rows: Vec<LrbRow>,
    /// Number of input rows that were read.
    pub read: u64,
    /// Number of input rows that are position reports.
    pub reports: u64,
}

/// Sizes of the windows of Linear Road's short form (speed, toll and accidents), in microseconds above zero.
/// Windows start at multiples of their size, and windows of accidents at multiples of their slide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LrbSizes {
    /// Size of the windows in which accidents are sought.
    pub accidents_us: i64,
    /// Distance between the starts of two windows in which accidents are sought, at most their size.
    pub accidents_slide_us: i64,
    /// Size of the windows in which reports are counted.
    pub tolls_us: i64,
    /// Size in µs of the windows of the query's last operator, which joins tolls with accidents: a multiple of
    /// 1,000,000, at most `tolls_us`.
    pub last_us: i64,
}

/// Windows of 120 s every 30 s for accidents, and of one minute for tolls and for the last windows.
const USUAL: LrbSizes = LrbSizes {
    accidents_us: 120_000_000,
    accidents_slide_us: 30_000_000,
    tolls_us: 60_000_000,
    last_us: 60_000_000,
};

/// Returns the results of Linear Road's short form (speed, toll and accidents) for `input`, whose rows may be
/// in any order.
pub fn lrb_rows(input: impl Iterator<Item = LrbInput>) -> LrbAnswer {
    lrb_rows_in(USUAL, input)
}

/// Returns the results of Linear Road's short form (speed, toll and accidents) in windows of these sizes for
/// `input`, whose rows may be in any order.
///
/// # Panics
/// If a last window is longer than a window of tolls, because it could have several tolls of a segment.
pub fn lrb_rows_in(sizes: LrbSizes, input: impl Iterator<Item = LrbInput>) -> LrbAnswer {
    assert!(sizes.last_us <= sizes.tolls_us, "a last window has one toll of a segment at most");
    let mut answer = LrbAnswer::default();
    let mut minutes: BTreeMap<i64, Vec<Counted>> = BTreeMap::new();
    // The counts of the previous row's minute are taken out of the map, because usually the next row falls
    // into the same minute.
    let (mut open_minute, mut open) = (0, Vec::new());
    let mut standing = Vec::new();
    for row in input {
        answer.read += 1;
        if row.kind != 0 {
            continue;
        }
        answer.reports += 1;
        let minute = row.event_time_us.div_euclid(sizes.tolls_us);
        if minute != open_minute {
            minutes.insert(open_minute, open);
            (open_minute, open) = (minute, minutes.remove(&minute).unwrap_or_default());
        }
        let counted = at(&mut open, number(row.xway, row.direction, row.segment));
        counted.reports += 1;
        counted.speed_sum += u64::from(row.speed);
        if row.speed == 0 && row.lane != 4 {
            standing.push(Standing {
                place: (row.xway, row.direction, row.lane, row.position),
                vehicle: row.vehicle,
                event_time_us: row.event_time_us,
            });
        }
    }
    minutes.insert(open_minute, open);
    // The counts of a minute belong to the last window that has the minute's last instant. No two minutes
    // belong to one last window, because last windows are at most as long as the windows of tolls.
    let last_of = |end_us: i64| (end_us - 1).div_euclid(sizes.last_us);
    let mut lasts: BTreeMap<i64, Vec<Counted>> = minutes
        .into_iter()
        .map(|(minute, counts)| (last_of((minute + 1) * sizes.tolls_us), counts))
        .collect();
    for (place, end_us) in accidents(sizes, standing) {
        let (xway, direction, _, position) = place;
        let segment = (position / 5_280) as u8;
        at(lasts.entry(last_of(end_us)).or_default(), number(xway, direction, segment)).accidents += 1;
    }
    for (last, segments) in lasts {
        let start_s = last * sizes.last_us / 1_000_000;
        let rows = segments.iter().enumerate().filter(|(_, counted)| counted.is_counted());
        answer.rows.extend(rows.map(|(number, counted)| counted.row(start_s, number)));
    }
    answer
}

/// A place on the road: expressway, direction, lane, position.
type Place = (u16, u8, u8, u32);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Standing {
    place: Place,
    vehicle: u32,
    event_time_us: i64,
}

/// Returns the place of every accident, that is, of every pair of a place and a window with stopped cars, and the end
/// of the window in microseconds.
fn accidents(sizes: LrbSizes, mut standing: Vec<Standing>) -> Vec<(Place, i64)> {
    let LrbSizes { accidents_us: size_us, accidents_slide_us: slide_us, .. } = sizes;
    standing.sort_unstable();
    let mut found = Vec::new();
    for at_place in standing.chunk_by(|a, b| a.place == b.place) {
        // By the start of each window: the number of cars with at least four reports from the place in the
        // window.
        let mut stopped: BTreeMap<i64, u32> = BTreeMap::new();
        for of_car in at_place.chunk_by(|a, b| a.vehicle == b.vehicle) {
            let mut reports: BTreeMap<i64, u32> = BTreeMap::new();
            for report in of_car {
                let mut start_us = report.event_time_us.div_euclid(slide_us) * slide_us;
                while report.event_time_us < start_us + size_us {
                    *reports.entry(start_us).or_default() += 1;
                    start_us -= slide_us;
                }
            }
            let stops = reports.into_iter().filter(|&(_, reports)| reports >= 4);
            stops.for_each(|(start_us, _)| *stopped.entry(start_us).or_default() += 1);
        }
        let windows = stopped.into_iter().filter(|&(_, cars)| cars >= 2);
        found.extend(windows.map(|(start_us, _)| (at_place[0].place, start_us + size_us)));
    }
    found
}

#[derive(Clone, Copy, Default)]
struct Counted {
    reports: u64,
    speed_sum: u64,
    accidents: u64,
}

impl Counted {
    fn is_counted(&self) -> bool {
        self.reports > 0 || self.accidents > 0
    }

    fn row(&self, window_start_s: i64, number: usize) -> LrbRow {
        let (cars, accidents) = (self.reports, self.accidents);
        let average_speed = if cars == 0 { 0.0 } else { self.speed_sum as f64 / cars as f64 };
        let is_charged = accidents == 0 && cars > 50 && average_speed < 40.0;
        LrbRow {
            window_start_s,
            xway: (number / 200) as u16,
            direction: (number / 100 % 2) as u8,
            segment: (number % 100) as u8,
            cars,
            average_speed,
            toll: if is_charged { 2 * (cars - 50) * (cars - 50) } else { 0 },
            accidents,
        }
    }
}

/// Returns the number of a segment among all segments, in the order of the results.
fn number(xway: u16, direction: u8, segment: u8) -> usize {
    assert!(direction < 2 && segment < 100, "direction {direction} and segment {segment} do not exist");
    usize::from(xway) * 200 + usize::from(direction) * 100 + usize::from(segment)
}

fn at(segments: &mut Vec<Counted>, number: usize) -> &mut Counted {
    if segments.len() <= number {
        segments.resize(number + 1, Counted::default());
    }
    &mut segments[number]
}

#[cfg(test)]
mod tests;
