//! Recorded traffic: converts the fields of one row of Linear Road's input, or of its historical tolls, to a
//! record. Splitting bytes into fields is left to the connector. Neither file has a header.
//!
//! Each type of row uses some of the columns; the others may hold anything (usually -1). A value out of its
//! range, or a report whose segment does not match its position, makes a bad row. The source decides what
//! happens to a bad row. Times are seconds from the start of a run.

use std::fmt;
use std::str::FromStr;

use thalweg_model::{Coded, EventTime, Record};

use super::report::{
    Direction, LANE_COUNT, LrbRecord, PositionReport, SEGMENT_COUNT, SEGMENT_FEET, XWAY_FEET,
};

/// The columns of Linear Road's input file, in order.
pub const COLUMNS: [&str; 15] = [
    "type", "time", "vid", "speed", "xway", "lane", "dir", "seg", "pos", "qid", "sinit", "send", "dow",
    "tod", "day",
];

/// The columns of the file of historical tolls, in order.
pub const TOLL_COLUMNS: [&str; 4] = ["vid", "day", "xway", "toll"];

/// The toll charged to a car on one day on one expressway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoricalToll {
    /// Number that identifies the car that paid the toll.
    pub vehicle: u32,
    /// Age of the toll in days, from 1 for yesterday.
    pub day: u8,
    /// Number that identifies the expressway.
    pub xway: u16,
    /// Sum of the tolls of this car on that day.
    pub toll: u32,
}

/// Reason why a row of Linear Road's files is rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LrbCsvError {
    /// A row has more or fewer fields than there are columns.
    FieldCount {
        /// Number of columns that the file should have.
        columns: usize,
        /// Whether the row has too many fields, rather than too few.
        is_above: bool,
    },
    /// A field does not hold a value that its column allows.
    Field {
        /// The name of the column whose field is wrong.
        column: &'static str,
        /// Text of the field with the wrong value.
        value: String,
        /// Description of the values that the column of the file allows.
        expected: &'static str,
    },
}

impl fmt::Display for LrbCsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LrbCsvError::FieldCount { columns, is_above } => {
                let more = if *is_above { "more" } else { "fewer" };
                write!(f, "row has {more} than {columns} fields; is it cut off, or of another file?")
            }
            LrbCsvError::Field { column, value, expected } => {
                write!(
                    f,
                    "{column} is {value:?}, but must be {expected}; correct it, or have bad rows skipped"
                )
            }
        }
    }
}

impl std::error::Error for LrbCsvError {}

impl Coded for LrbCsvError {
    fn code(&self) -> &'static str {
        match self {
            LrbCsvError::FieldCount { .. } => "LRB_FIELD_COUNT",
            LrbCsvError::Field { .. } => "LRB_FIELD",
        }
    }
}

/// Converts one row of Linear Road's input to its record. `field` returns the field of the row at an index
/// from 0, and `None` after the last one.
///
/// ```
/// use thalweg_workloads::lrb::{LrbRecord, csv};
/// let row = "0,1020,673,41,0,2,1,74,394255,-1,-1,-1,-1,-1,-1";
/// let fields: Vec<&str> = row.split(',').collect();
/// let record = csv::record_of(|index| fields.get(index).copied()).unwrap();
/// assert_eq!(record.event_time.as_micros(), 1_020_000_000);
/// assert!(matches!(record.value, LrbRecord::Report(report) if report.speed_mph == 41));
/// ```
///
/// # Errors
/// [`LrbCsvError::FieldCount`] if there are not fifteen fields; [`LrbCsvError::Field`] if a field that the
/// row's type uses has a value that is not allowed.
pub fn record_of<'a>(field: impl Fn(usize) -> Option<&'a str>) -> Result<Record<LrbRecord>, LrbCsvError> {
    let row = Row::new(&COLUMNS, field)?;
    let time_s: u32 = row.number("time", MOST, "a whole number of seconds, from 0 to 2147483647")?;
    let vehicle = row.number("vid", MOST, IDENTIFIER)?;
    let query = || row.number("qid", MOST, IDENTIFIER);
    let value = match row.text("type")? {
        "0" => LrbRecord::Report(report(&row, vehicle)?),
        "2" => LrbRecord::Balance { vehicle, query: query()? },
        "3" => LrbRecord::Daily {
            vehicle,
            query: query()?,
            xway: row.number("xway", u16::MAX, XWAY)?,
            day: row.number("day", u8::MAX, DAY)?,
        },
        "4" => LrbRecord::TravelTime { vehicle, query: query()? },
        other => return Err(bad("type", other, "0, 2, 3 or 4")),
    };
    Ok(Record::new(EventTime::from_secs(i64::from(time_s)), value))
}

/// Converts a record to the benchmark's 15 integers: its time in whole seconds, rounded down, and -1 in the
/// columns that its type does not use. The inverse of [`record_of`], except for fields of a type 4 request,
/// which `record_of` does not read.
///
/// # Panics
/// If a number of the record is above 2147483647 (in builds with overflow checks).
pub fn columns_of(record: &Record<LrbRecord>) -> [i32; COLUMNS.len()] {
    let integer = |number: u32| {
        debug_assert!(number <= MOST, "{number} is no integer of the benchmark");
        number as i32
    };
    let mut row = [-1; COLUMNS.len()];
    let (kind, vehicle) = match record.value {
        LrbRecord::Report(PositionReport {
            vehicle,
            position_feet,
            xway,
            speed_mph,
            lane,
            direction,
            segment,
        }) => {
            [row[3], row[5], row[6], row[7]] = [speed_mph, lane, direction.number(), segment].map(i32::from);
            [row[4], row[8]] = [i32::from(xway), integer(position_feet)];
            (0, vehicle)
        }
        LrbRecord::Balance { vehicle, query } => {
            row[9] = integer(query);
            (2, vehicle)
        }
        LrbRecord::Daily { vehicle, query, xway, day } => {
            [row[4], row[9], row[14]] = [i32::from(xway), integer(query), i32::from(day)];
            (3, vehicle)
        }
        LrbRecord::TravelTime { vehicle, query } => {
            row[9] = integer(query);
            (4, vehicle)
        }
    };
    let time_s = integer(record.event_time.as_micros().div_euclid(1_000_000) as u32);
    [row[0], row[1], row[2]] = [kind, time_s, integer(vehicle)];
    row
}

/// Converts one row of the file of historical tolls. `field` returns the text of the column with a given
/// index, or `None` if there is none.
///
/// # Errors
/// [`LrbCsvError::FieldCount`] if there are not four fields; [`LrbCsvError::Field`] if one has a value that
/// is not allowed.
pub fn historical_toll_of<'a>(
    field: impl Fn(usize) -> Option<&'a str>,
) -> Result<HistoricalToll, LrbCsvError> {
    let row = Row::new(&TOLL_COLUMNS, field)?;
    Ok(HistoricalToll {
        vehicle: row.number("vid", MOST, IDENTIFIER)?,
        day: row.number("day", u8::MAX, DAY)?,
        xway: row.number("xway", u16::MAX, XWAY)?,
        toll: row.number("toll", MOST, IDENTIFIER)?,
    })
}

/// Largest value of the integers in Linear Road's files, which have 32 bits and a sign.
const MOST: u32 = i32::MAX as u32;

const IDENTIFIER: &str = "a whole number from 0 to 2147483647";
const XWAY: &str = "a whole number from 0 to 65535";
const DAY: &str = "a whole number of days, from 0 to 255";

fn report<'a>(
    row: &Row<impl Fn(usize) -> Option<&'a str>>,
    vehicle: u32,
) -> Result<PositionReport, LrbCsvError> {
    let direction = match row.text("dir")? {
        "0" => Direction::East,
        "1" => Direction::West,
        other => return Err(bad("dir", other, "0 (east) or 1 (west)")),
    };
    let position_feet = row.number("pos", XWAY_FEET - 1, "a whole number of feet, from 0 to 527999")?;
    let segment: u8 = row.number("seg", SEGMENT_COUNT - 1, "a whole number from 0 to 99")?;
    if u32::from(segment) != position_feet / SEGMENT_FEET {
        return Err(bad("seg", row.text("seg")?, "pos / 5280, rounded down"));
    }
    Ok(PositionReport {
        vehicle,
        position_feet,
        xway: row.number("xway", u16::MAX, XWAY)?,
        speed_mph: row.number("speed", u8::MAX, "whole miles per hour, from 0 to 255")?,
        lane: row.number("lane", LANE_COUNT - 1, "a whole number from 0 to 4")?,
        direction,
        segment,
    })
}

/// A row of a file that has the right number of fields.
struct Row<F> {
    columns: &'static [&'static str],
    field: F,
}

impl<'a, F: Fn(usize) -> Option<&'a str>> Row<F> {
    fn new(columns: &'static [&'static str], field: F) -> Result<Self, LrbCsvError> {
        let (is_long_enough, is_too_long) =
            (field(columns.len() - 1).is_some(), field(columns.len()).is_some());
        if is_too_long || !is_long_enough {
            return Err(LrbCsvError::FieldCount { columns: columns.len(), is_above: is_too_long });
        }
        Ok(Row { columns, field })
    }

    /// Returns the field of the row in the column of the given name. The compiler turns the name into an
    /// index.
    #[inline]
    fn text(&self, column: &'static str) -> Result<&'a str, LrbCsvError> {
        let index = self.columns.iter().position(|name| *name == column);
        let index = index.expect("only columns of the file are asked for");
        (self.field)(index).ok_or(LrbCsvError::FieldCount { columns: self.columns.len(), is_above: false })
    }

    /// Returns the number in the row's column of the given name, or an error if the number is not allowed.
    #[inline]
    fn number<N: FromStr + PartialOrd + Copy>(
        &self,
        column: &'static str,
        most: N,
        expected: &'static str,
    ) -> Result<N, LrbCsvError> {
        let text = self.text(column)?;
        let parsed = text.parse::<N>().ok().filter(|number| *number <= most);
        parsed.ok_or_else(|| bad(column, text, expected))
    }
}

fn bad(column: &'static str, value: &str, expected: &'static str) -> LrbCsvError {
    LrbCsvError::Field { column, value: value.to_owned(), expected }
}

#[cfg(test)]
mod tests;
