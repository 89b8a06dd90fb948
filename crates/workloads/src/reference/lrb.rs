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
//! Minutes and windows start at multiples of their size and slide. All of them count, even if the input begins
//! or ends within; so an accident may lie in a minute after the last report. No record is late.
//!
//! Reports are counted in plain arrays, one per minute, so that results of runs of hundreds of millions of
//! records can be checked. Memory holds the rows of results, and 32 bytes for each report of a standing car.

use std::collections::BTreeMap;

use super::Row;

/// One row of Linear Road's input, with the fields that the short form reads.
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

/// One row of the results of Linear Road's short form; the fields are the columns of `lrb.csv`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LrbRow {
    /// Start of the minute, in seconds from the start of the run.
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
    /// Number of accidents: pairs of a place and a window of 120 s.
    pub accidents: u64,
}

impl Row for LrbRow {
    type Key = (i64, u16, u8, u8);

    fn key(&self) -> (i64, u16, u8, u8) {
        (self.window_start_s, self.xway, self.direction, self.segment)
    }

    fn agrees(&self, found: &Self) -> bool {
        let (a, b) = (self.average_speed, found.average_speed);
        let is_near = a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        let counted = |row: &Self| (row.key(), row.cars, row.toll, row.accidents);
        counted(self) == counted(found) && is_near
    }
}

/// Results of Linear Road's short form for an input.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LrbAnswer {
    /// Result rows, ordered by minute, expressway, direction and segment.
    pub rows: Vec<LrbRow>,
    /// Number of input rows that were read.
    pub read: u64,
    /// Number of input rows that are position reports.
    pub reports: u64,
}

const MINUTE_US: i64 = 60_000_000;
const SLIDE_US: i64 = 30_000_000;
const WINDOW_US: i64 = 120_000_000;

/// Returns the results of Linear Road's short form for `input`, whose rows may be in any order.
pub fn lrb_rows(input: impl Iterator<Item = LrbInput>) -> LrbAnswer {
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
        let minute = row.event_time_us.div_euclid(MINUTE_US);
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
    for (place, minute) in accidents(standing) {
        let (xway, direction, _, position) = place;
        let segment = (position / 5_280) as u8;
        at(minutes.entry(minute).or_default(), number(xway, direction, segment)).accidents += 1;
    }
    for (minute, segments) in minutes {
        let rows = segments.iter().enumerate().filter(|(_, counted)| counted.is_counted());
        answer.rows.extend(rows.map(|(number, counted)| counted.row(minute, number)));
    }
    answer
}

/// A place on the road: expressway, direction, lane, position.
type Place = (u16, u8, u8, u32);

/// A position report of a car that stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Standing {
    place: Place,
    vehicle: u32,
    event_time_us: i64,
}

/// Returns the place and the minute of every accident, that is, of every pair of a place and a window with
/// stopped cars.
fn accidents(mut standing: Vec<Standing>) -> Vec<(Place, i64)> {
    standing.sort_unstable();
    let mut found = Vec::new();
    for at_place in standing.chunk_by(|a, b| a.place == b.place) {
        // By the start of each window: the number of cars with at least four reports from the place in the
        // window.
        let mut stopped: BTreeMap<i64, u32> = BTreeMap::new();
        for of_car in at_place.chunk_by(|a, b| a.vehicle == b.vehicle) {
            let mut reports: BTreeMap<i64, u32> = BTreeMap::new();
            for report in of_car {
                let last_start = report.event_time_us.div_euclid(SLIDE_US) * SLIDE_US;
                (0..4).for_each(|n| *reports.entry(last_start - n * SLIDE_US).or_default() += 1);
            }
            let stops = reports.into_iter().filter(|&(_, reports)| reports >= 4);
            stops.for_each(|(start_us, _)| *stopped.entry(start_us).or_default() += 1);
        }
        let windows = stopped.into_iter().filter(|&(_, cars)| cars >= 2);
        let minute = |start_us: i64| (start_us + WINDOW_US - 1).div_euclid(MINUTE_US);
        found.extend(windows.map(|(start_us, _)| (at_place[0].place, minute(start_us))));
    }
    found
}

/// Counts of the reports from a segment in a minute.
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

    fn row(&self, minute: i64, number: usize) -> LrbRow {
        let (cars, accidents) = (self.reports, self.accidents);
        let average_speed = if cars == 0 { 0.0 } else { self.speed_sum as f64 / cars as f64 };
        let is_charged = accidents == 0 && cars > 50 && average_speed < 40.0;
        LrbRow {
            window_start_s: minute * 60,
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
