//! Recorded trips: converts the fields of one row of a `trip_data` file of New York's Taxi and Limousine
//! Commission (TLC) to a record. Splitting bytes into fields, and skipping the header, are left to the
//! connector.
//!
//! The query reads four of the fourteen columns; the others may hold anything. A date must name an instant, and
//! a number must be finite (`.50`, `-0`, `1E-3` are accepted; empty, `nan` and `inf` are not). Any other row is
//! a bad row; the source decides what happens to it. A place of `0,0` is a valid number: such a trip falls
//! outside the cells and is dropped by the query.

use std::fmt;

use thalweg_model::{Coded, Record};

use super::civil;
use super::trip::{Place, Trip, Vendor};

/// The columns of a `trip_data` file, in order.
pub const COLUMNS: [&str; 14] = [
    "medallion",
    "hack_license",
    "vendor_id",
    "rate_code",
    "store_and_fwd_flag",
    "pickup_datetime",
    "dropoff_datetime",
    "passenger_count",
    "trip_time_in_secs",
    "trip_distance",
    "pickup_longitude",
    "pickup_latitude",
    "dropoff_longitude",
    "dropoff_latitude",
];

const VENDOR_ID: usize = column("vendor_id");
const DROPOFF_DATETIME: usize = column("dropoff_datetime");
const TRIP_DISTANCE: usize = column("trip_distance");
const PICKUP_LONGITUDE: usize = column("pickup_longitude");
const PICKUP_LATITUDE: usize = column("pickup_latitude");

/// Reason why a row of a `trip_data` file is rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TlcError {
    /// A row has more or fewer fields than there are columns.
    FieldCount {
        /// Whether the row has too many fields, rather than too few.
        is_above: bool,
    },
    /// A field does not hold a value that its column allows.
    Field {
        /// The name of the column with the wrong value.
        column: &'static str,
        /// Text of the field with the wrong value.
        value: String,
        /// Description of the values that the column allows.
        expected: &'static str,
    },
}

impl fmt::Display for TlcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlcError::FieldCount { is_above } => {
                let more = if *is_above { "more" } else { "fewer" };
                write!(f, "row has {more} than {} fields; is it cut off, or of another file?", COLUMNS.len())
            }
            TlcError::Field { column, value, expected } => {
                write!(
                    f,
                    "{column} is {value:?}, but must be {expected}; correct it, or have bad rows skipped"
                )
            }
        }
    }
}

impl std::error::Error for TlcError {}

impl Coded for TlcError {
    fn code(&self) -> &'static str {
        match self {
            TlcError::FieldCount { .. } => "TLC_FIELD_COUNT",
            TlcError::Field { .. } => "TLC_FIELD",
        }
    }
}

/// Converts one row of a `trip_data` file to its trip, whose event time is that of the dropoff. `field`
/// returns the row's field at an index from 0, and `None` after the last one.
///
/// ```
/// use thalweg_workloads::nyt::{Vendor, tlc};
/// let row = "A4,F9,VTS,1,,2013-01-01 02:28:00,2013-01-01 02:38:00,1,600,.50,-73.985,40.748,0,0";
/// let fields: Vec<&str> = row.split(',').collect();
/// let record = tlc::trip_of(|index| fields.get(index).copied()).unwrap();
/// assert_eq!(record.event_time.as_micros(), 1_357_007_880_000_000);
/// assert_eq!((record.value.vendor, record.value.distance_miles), (Vendor::Vts, 0.5));
/// ```
///
/// # Errors
/// [`TlcError::FieldCount`] if there are not fourteen fields; [`TlcError::Field`] if one that the query reads
/// has a value that is not allowed.
pub fn trip_of<'a>(field: impl Fn(usize) -> Option<&'a str>) -> Result<Record<Trip>, TlcError> {
    if field(COLUMNS.len()).is_some() {
        return Err(TlcError::FieldCount { is_above: true });
    }
    if field(COLUMNS.len() - 1).is_none() {
        return Err(TlcError::FieldCount { is_above: false });
    }
    let text = |index: usize| field(index).ok_or(TlcError::FieldCount { is_above: false });
    let bad = |index: usize, value: &str, expected| TlcError::Field {
        column: COLUMNS[index],
        value: value.to_owned(),
        expected,
    };
    let number = |index: usize| {
        let value = text(index)?;
        let parsed = value.parse::<f64>().ok().filter(|number| number.is_finite());
        parsed.ok_or_else(|| bad(index, value, "a finite number"))
    };
    let dropoff = text(DROPOFF_DATETIME)?;
    let event_time = civil::parse_date_time(dropoff)
        .ok_or_else(|| bad(DROPOFF_DATETIME, dropoff, "a date and time such as 2013-01-13 10:43:00"))?;
    let trip = Trip {
        distance_miles: number(TRIP_DISTANCE)?,
        pickup: Place { longitude: number(PICKUP_LONGITUDE)?, latitude: number(PICKUP_LATITUDE)? },
        vendor: Vendor::of(text(VENDOR_ID)?),
    };
    Ok(Record::new(event_time, trip))
}

/// Returns the index of the column of the given name. The compiler computes the index.
const fn column(name: &str) -> usize {
    let mut index = 0;
    while !is_equal(COLUMNS[index].as_bytes(), name.as_bytes()) {
        index += 1;
    }
    index
}

const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests;
