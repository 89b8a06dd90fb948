//! Reference results of NYT: the number of trips that began in each cell in each window, and their mean
//! distance.
//!
//! The rules, as the benchmark's description states them: trips of vendor VTS, longer than 1 mile, that begin
//! in a cell of the grid; a trip belongs to the windows in which it ended; windows start at multiples of their
//! slide. The first and the last windows count even if the input begins or ends within them. No trip is late:
//! the recorded trips are sorted by their end, and a run on input in another order needs a watermark bound that
//! covers it.

use std::collections::BTreeMap;

use super::{Row, Windows, is_near};

/// One taxi trip, with the fields that the query reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NytInput<'a> {
    /// End of the trip: microseconds since the Unix epoch.
    pub event_time_us: i64,
    /// Vendor of the taximeter: `VTS`, `CMT` or another.
    pub vendor: &'a str,
    /// Distance of the trip in miles.
    pub distance: f64,
    /// Longitude of the trip's start: degrees east.
    pub longitude: f64,
    /// Latitude of the trip's start: degrees north.
    pub latitude: f64,
}

/// One row of the results of NYT; the fields are the columns of `nyt.csv`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NytRow {
    /// Start of the window: seconds since the Unix epoch.
    pub window_start_s: i64,
    /// Column of the cell, from 1 in the west to 600 in the east.
    pub cell_x: u16,
    /// Row of the cell, from 1 in the north to 600 in the south.
    pub cell_y: u16,
    /// Number of trips that began in the cell.
    pub trips: u64,
    /// Mean distance of these trips in miles.
    pub avg_distance: f64,
}

impl Row for NytRow {
    type Key = (i64, u16, u16);

    fn key(&self) -> (i64, u16, u16) {
        (self.window_start_s, self.cell_x, self.cell_y)
    }

    fn agrees(&self, found: &Self) -> bool {
        let is_as_many = self.key() == found.key() && self.trips == found.trips;
        is_as_many && is_near(self.avg_distance, found.avg_distance)
    }
}

/// Results of NYT for an input, of which every trip is counted: `read = counted + filtered + outside + bad`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NytAnswer {
    /// Result rows, ordered by window and cell.
    pub rows: Vec<NytRow>,
    /// Number of trips that were read, or of lines of a file apart from its header.
    pub read: u64,
    /// Number of trips that the query counts; a trip in several windows is counted once here.
    pub counted: u64,
    /// Number of trips of other vendors or of at most 1 mile, wherever they began.
    pub filtered: u64,
    /// Number of VTS trips over 1 mile that began outside the grid.
    pub outside: u64,
    /// Number of lines that are no valid trip.
    pub bad: u64,
}

/// Returns the results of `trips`, which may be in any order, for these windows. The windows may be given as
/// a plain number, the size in microseconds of back-to-back windows.
///
/// # Panics
/// If size and slide are not positive numbers of whole seconds.
pub fn nyt_rows<'a>(trips: impl Iterator<Item = NytInput<'a>>, windows: impl Into<Windows>) -> NytAnswer {
    let windows = windows.into();
    windows.assert_whole(1_000_000, "seconds");
    let mut answer = NytAnswer::default();
    let mut distances: BTreeMap<(i64, u16, u16), Vec<f64>> = BTreeMap::new();
    for trip in trips {
        answer.read += 1;
        if trip.vendor != "VTS" || trip.distance.is_nan() || trip.distance <= 1.0 {
            answer.filtered += 1;
            continue;
        }
        let Some((cell_x, cell_y)) = cell(trip.longitude, trip.latitude) else {
            answer.outside += 1;
            continue;
        };
        answer.counted += 1;
        for start_us in windows.starts(trip.event_time_us) {
            let window_start_s = start_us / 1_000_000;
            distances.entry((window_start_s, cell_x, cell_y)).or_default().push(trip.distance);
        }
    }
    let row = |((window_start_s, cell_x, cell_y), distances): (_, Vec<f64>)| {
        let trips = distances.len() as u64;
        NytRow { window_start_s, cell_x, cell_y, trips, avg_distance: exact_sum(&distances) / trips as f64 }
    };
    answer.rows = distances.into_iter().map(row).collect();
    answer
}

/// Returns the results of a TLC `trip_data` file, given as text; lines that are not a trip are counted and
/// skipped.
///
/// # Panics
/// If size and slide are not positive numbers of whole seconds.
pub fn nyt_rows_of_tlc_csv(text: &str, windows: impl Into<Windows>) -> NytAnswer {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("medallion,"));
    let trips: Vec<Option<NytInput<'_>>> = lines.map(trip_of_line).collect();
    let mut answer = nyt_rows(trips.iter().copied().flatten(), windows);
    answer.bad = trips.iter().filter(|trip| trip.is_none()).count() as u64;
    answer.read += answer.bad;
    answer
}

/// Parses a trip from the columns 2 (vendor), 6 (end), 9 (distance), 10 and 11 (start) of 14.
fn trip_of_line(line: &str) -> Option<NytInput<'_>> {
    let fields: Vec<&str> = line.split(',').collect();
    let number = |index: usize| fields[index].parse::<f64>().ok().filter(|number| number.is_finite());
    if fields.len() != 14 {
        return None;
    }
    Some(NytInput {
        event_time_us: seconds_of_date_time(fields[6])? * 1_000_000,
        vendor: fields[2],
        distance: number(9)?,
        longitude: number(10)?,
        latitude: number(11)?,
    })
}

/// Returns the seconds from 1970 to a time of the form `YYYY-MM-DD HH:MM:SS`, by adding up years and months.
fn seconds_of_date_time(text: &str) -> Option<i64> {
    let form: String = text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    if form != "9999-99-99 99:99:99" {
        return None;
    }
    let numbers: Vec<i64> = text.split(['-', ' ', ':']).map(|digits| digits.parse().unwrap_or(-1)).collect();
    let (year, month, day) = (numbers[0], numbers[1], numbers[2]);
    let (hour, minute, second) = (numbers[3], numbers[4], numbers[5]);
    let days_in_year = |year: i64| {
        if year % 400 == 0 || (year % 4 == 0 && year % 100 != 0) { 366 } else { 365 }
    };
    let february = days_in_year(year) - 337;
    let days_in_month = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month[month as usize - 1] {
        return None;
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let years: i64 =
        (1970..year).map(days_in_year).sum::<i64>() - (year..1970).map(days_in_year).sum::<i64>();
    let months: i64 = days_in_month[..month as usize - 1].iter().sum();
    Some((((years + months + day - 1) * 24 + hour) * 60 + minute) * 60 + second)
}

/// Returns the cell of a place, by walking east and south from the first cell until the place is passed.
fn cell(longitude: f64, latitude: f64) -> Option<(u16, u16)> {
    let (width, height) = (0.002993, 0.002245778);
    let east = ((longitude - -74.913583) + width / 2.0) / width;
    let south = ((41.474937 + height / 2.0) - latitude) / height;
    // A place lies in cell `n` if its distance from the grid's edge is at least `n - 1` cells, but below `n`
    // cells.
    let walk = |cells: f64| (1u16..=600).find(|&n| f64::from(n) - 1.0 <= cells && cells < f64::from(n));
    Some((walk(east)?, walk(south)?))
}

/// Returns the sum of the numbers as if no addition were rounded: rounding errors are kept in further
/// doubles. Source: Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
/// Predicates", 1997, section 2.4, GROW-EXPANSION.
fn exact_sum(numbers: &[f64]) -> f64 {
    let mut parts: Vec<f64> = Vec::new();
    for &number in numbers {
        let mut carried = number;
        let mut kept = Vec::new();
        for &part in &parts {
            let (large, small) = if carried.abs() < part.abs() { (part, carried) } else { (carried, part) };
            let sum = large + small;
            let lost = small - (sum - large);
            if lost != 0.0 {
                kept.push(lost);
            }
            carried = sum;
        }
        kept.push(carried);
        parts = kept;
    }
    parts.iter().sum()
}

#[cfg(test)]
mod tests;
