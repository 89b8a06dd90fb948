//! Recorded probes: converts the fields of one row of a file to a record. Splitting bytes into fields, and
//! skipping the header, are left to the connector.
//!
//! The files have slices of time instead of instants, numbered from 0 or 1. Slice `n` is taken as second `n`
//! after the start of 1970. So each slice is a window of its own, unless a run asks for longer ones, and a
//! window's start tells the slice.
//!
//! A slice is a whole number of 32 bits, an address has the form `10.0.0.1`, and a round-trip time is a finite
//! number not below zero. Any other row is a bad row; the source decides what happens to it.

use std::fmt;
use std::net::Ipv4Addr;

use thalweg_model::{Coded, EventTime, Record};

use super::probe::{IpPair, Probe};

/// The columns of a file of recorded probes, in order.
pub const COLUMNS: [&str; 4] = ["slice", "src_ip", "dst_ip", "rtt"];

/// Reason why a row of recorded probes is rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetmonCsvError {
    /// The name of the column with the wrong value.
    pub column: &'static str,
    /// Text of the field with the wrong value.
    pub value: String,
    /// Description of the values that the column of the file allows.
    pub expected: &'static str,
}

impl fmt::Display for NetmonCsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NetmonCsvError { column, value, expected } = self;
        write!(f, "{column} is {value:?}, but must be {expected}; correct it, or have bad rows skipped")
    }
}

impl std::error::Error for NetmonCsvError {}

impl Coded for NetmonCsvError {
    fn code(&self) -> &'static str {
        "NETMON_FIELD"
    }
}

/// Converts one row of recorded probes, with fields in the order of [`COLUMNS`], to its probe. The event time
/// is the time slice of the row.
///
/// ```
/// use thalweg_workloads::netmon::csv;
/// let record = csv::record_of(["40", "10.0.0.1", "10.0.0.2", "0.17"]).unwrap();
/// assert_eq!(record.event_time.as_micros(), 40_000_000);
/// assert_eq!((record.value.pair.destination, record.value.rtt), (0x0a00_0002, 0.17));
/// ```
///
/// # Errors
/// [`NetmonCsvError`] for the first field whose value is not allowed.
pub fn record_of([slice, source, destination, rtt]: [&str; 4]) -> Result<Record<Probe>, NetmonCsvError> {
    let bad = |index: usize, value: &str, expected| NetmonCsvError {
        column: COLUMNS[index],
        value: value.to_owned(),
        expected,
    };
    let slice_number =
        slice.parse::<u32>().map_err(|_| bad(0, slice, "a whole number from 0 to 4294967295"))?;
    let address = |index: usize, text: &str| {
        let parsed = text.parse::<Ipv4Addr>();
        parsed.map(u32::from).map_err(|_| bad(index, text, "an IPv4 address such as 10.0.0.1"))
    };
    let pair = IpPair { source: address(1, source)?, destination: address(2, destination)? };
    let number = rtt.parse::<f64>().ok().filter(|number| number.is_finite() && 0.0 <= *number);
    let rtt = number.ok_or_else(|| bad(3, rtt, "a finite number, zero or above"))?;
    Ok(Record::new(EventTime::from_secs(slice_number.into()), Probe { pair, rtt }))
}

#[cfg(test)]
mod tests;
