//! Shared code of both Linear Road workloads: generated and recorded traffic, for the engine and for the
//! references.

use std::num::NonZeroU64;

use thalweg::{EventTime, Generate, Record};
use thalweg_connectors::{Header, Row, RowError};
use thalweg_workloads::lrb::csv::{self, LrbCsvError};
use thalweg_workloads::lrb::{LrbGenerator, LrbOptions, LrbRecord};
use thalweg_workloads::reference::lrb_full::LrbColumns;

use super::args::BenchArgs;
use super::recorded::Layout;
use crate::values::Rate;

/// Columns of the files of recorded traffic, which have no header.
pub const LAYOUT: Layout = Layout { columns: &csv::COLUMNS, header: Header::None };

/// Largest number of characters of a field that a message shows.
const VALUE_SHOWN_CHARS_MAX: usize = 60;

/// Creates a generator of traffic from the seed, with as many expressways as the rate requires.
pub fn generator(args: &BenchArgs) -> LrbGenerator {
    let rate_per_s = match args.rate {
        Rate::Max => args.nominal_rate_per_s(),
        // Cars report every 30 s of event time, however fast event time runs, so the rate is converted to
        // event time.
        Rate::PerSecond(rate_per_s) => rate_per_s / args.time_scale,
    };
    let rate_per_s = NonZeroU64::new(rate_per_s).expect("the options refuse a rate of zero");
    LrbGenerator::new(LrbOptions { seed: args.seed, rate_per_s })
}

/// Returns the generator's records at the given indexes, with the given event times.
pub fn generated(
    generator: &LrbGenerator,
    records: impl Iterator<Item = (u64, EventTime)>,
) -> impl Iterator<Item = Record<LrbRecord>> {
    records.map(|(index, event_time)| Record::new(event_time, generator.value(index, event_time)))
}

/// Parses a row of recorded traffic to a record.
pub fn record_of_row(row: &Row<'_>) -> Result<Record<LrbRecord>, RowError> {
    let field = |index: usize| (index < csv::COLUMNS.len()).then(|| row.text(index));
    csv::record_of(field).map_err(|error| row_error(&error))
}

/// Converts the error of a rejected row to that of a source, which adds advice.
pub fn row_error(error: &LrbCsvError) -> RowError {
    match error {
        LrbCsvError::Field { column, value, expected } => {
            let shown: String = value.chars().take(VALUE_SHOWN_CHARS_MAX).collect();
            RowError { field: column, reason: format!("{shown:?} is not {expected}") }
        }
        // A wrong number of fields cannot occur here, because the source has counted the fields.
        other => RowError { field: "line", reason: other.to_string() },
    }
}

/// Parses a line of recorded traffic to a row for the references; `None` if it is a bad line. The function is
/// written from the description of the benchmark's columns and shares no code with the source, so that a
/// mistake in either of them shows.
pub fn columns_of_line(line: Option<String>) -> Option<LrbColumns> {
    let line = line?;
    let fields: Vec<&str> = line.split(',').collect();
    let [kind, time, vehicle, speed, xway, lane, direction, segment, position, query, .., day] = fields[..]
    else {
        return None;
    };
    if fields.len() != 15 {
        return None;
    }
    let (time, vehicle) = (number(time, i32::MAX)?, number(vehicle, i32::MAX)?);
    let mut row = [-1; 15];
    [row[1], row[2]] = [time, vehicle];
    match kind {
        "0" => {
            row[0] = 0;
            row[3] = number(speed, 255)?;
            row[4] = number(xway, 65_535)?;
            row[5] = number(lane, 4)?;
            row[6] = ["0", "1"].iter().position(|known| *known == direction)? as i32;
            row[7] = number(segment, 99)?;
            row[8] = number(position, 527_999)?;
            if row[8] / 5_280 != row[7] {
                return None;
            }
        }
        "2" | "3" | "4" => {
            row[0] = kind.parse().ok()?;
            row[9] = number(query, i32::MAX)?;
            if kind == "3" {
                [row[4], row[14]] = [number(xway, 65_535)?, number(day, 255)?];
            }
        }
        _ => return None,
    }
    Some(row)
}

/// Parses a whole number from 0 to `most`, with any leading zeros or a plus sign.
pub fn number(text: &str, most: i32) -> Option<i32> {
    let number: i32 = text.parse().ok()?;
    (number <= most && !text.starts_with('-')).then_some(number)
}

#[cfg(test)]
mod tests;
