//! `ysb`, which Flink does not have: events of the Yahoo streaming benchmark. Each event is the contact of a user with
//! an ad.
//!
//! | option | default | |
//! |---|---|---|
//! | `events.num` | `0` | the number of events; 0 for no end |
//! | `rows-per-second` | none | the rate of emission; without it rows come as fast as they are taken |
//! | `event-time.rate` | that rate, or `10000000` | events per second of event time |
//! | `base-time` | `2015-07-15 00:00:00` | the event time of the first event |
//!
//! | column | type | |
//! |---|---|---|
//! | `event_time` | TIMESTAMP(3) | evenly spaced, from the base time on |
//! | `user_id`, `page_id` | BIGINT | from 1 to 1,000,000 |
//! | `ad_id` | BIGINT | from 1 to 1,000; ten consecutive ids belong to one campaign: `(ad_id - 1) / 10` |
//! | `ad_type` | BIGINT | from 0 to 4 |
//! | `event_type` | BIGINT | 0 a view, 1 a click, 2 a purchase |
//! | `ip` | BIGINT | 1.2.3.4 in all events |
//!
//! All values are uniform and drawn from the seed. As in the programs of the papers, 2^20 events are made in
//! advance, and come again and again with new times, so that a row costs one copy. Only the requested columns
//! are made.
//!
//! Source: Chintapalli et al., "Benchmarking Streaming Computation Engines: Storm, Flink and Spark Streaming", IPDPSW 2016, in
//! the form of the Enjima paper: seven 64-bit numbers an event.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, TimestampMillisecondArray};
use arrow::error::ArrowError;
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_functions::types::SqlType;

use super::generated::{Generate, GeneratedTable, readers};
use super::layout::{check_metadata, record_columns, schema_of};
use super::nexmark::millis_of;
use super::options::Given;
use super::{Abilities, Connection, World, draw};
use crate::error::{Code, SqlError};
use crate::scan::rows::RowSource;
use crate::table::Table;

/// The number of events that are made in advance and then repeated with new times.
const CACHE_EVENTS: u64 = 1 << 20;

/// Events per second of event time, if the table has no rate of emission.
const EVENT_RATE: u32 = 10_000_000;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The IP address in all events, 1.2.3.4, as in all programs of the papers.
const ADDRESS: i64 = 0x0102_0304;

/// The numeric columns: the name, the least value, and the count of different values.
const NUMBERS: [(&str, i64, u64); 6] = [
    ("user_id", 1, 1_000_000),
    ("page_id", 1, 1_000_000),
    ("ad_id", 1, 1_000),
    ("ad_type", 0, 5),
    ("event_type", 0, 3),
    ("ip", ADDRESS, 1),
];

const TIME: &str = "event_time";

pub(super) fn bind<'a>(given: &mut Given<'a>) -> Result<Box<dyn Connection + 'a>, SqlError> {
    let table = given.table();
    check_metadata(table, "ysb", &[])?;
    let rows_max = match given.number::<i64>("events.num", "a number of events from 0 on")? {
        None | Some(0) => None,
        Some(count @ 1..) => Some(count as u64),
        Some(count) => {
            return Err(given.wrong("events.num", format!("'{count}' is not a number of events from 0 on")));
        }
    };
    let pace = rate(given, "rows-per-second")?;
    let event_rate = rate(given, "event-time.rate")?.or(pace).unwrap_or(EVENT_RATE);
    let base = given.text("base-time").unwrap_or("2015-07-15 00:00:00");
    let Some(base_millis) = millis_of(base) else {
        return Err(given.wrong("base-time", format!("'{base}' is no time such as '2015-07-15 00:00:00'")));
    };
    for place in record_columns(table) {
        let declared = &table.columns[place];
        let names = || NUMBERS.iter().map(|(name, ..)| *name).chain([TIME]);
        let of = match declared.name.as_str() {
            TIME => SqlType::Timestamp(3),
            name if names().any(|known| known == name) => SqlType::BigInt,
            name => {
                let message = format!("the connector 'ysb' has no column `{name}`");
                let error = SqlError::new(Code::UnknownColumn, message).at(declared.place);
                return Err(match nearest(name, names()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help(format!("there are {}", names().collect::<Vec<_>>().join(", "))),
                });
            }
        };
        if of != declared.of {
            let message =
                format!("`{}` is {}, and the connector 'ysb' has it as {of}", declared.name, declared.of);
            return Err(SqlError::new(Code::TypeMismatch, message).at(declared.place));
        }
    }
    Ok(Box::new(Ysb { table, rows_max, pace, event_rate, base_millis }))
}

/// Reads an option for a number of rows or events per second.
fn rate(given: &mut Given<'_>, key: &str) -> Result<Option<u32>, SqlError> {
    let what = format!("a whole number from 1 to {}", i32::MAX);
    match given.number::<u32>(key, &what)? {
        Some(rate) if rate == 0 || (i32::MAX as u32) < rate => {
            Err(given.wrong(key, format!("'{rate}' is not {what}")))
        }
        rate => Ok(rate),
    }
}

struct Ysb<'a> {
    table: &'a Table,
    rows_max: Option<u64>,
    pace: Option<u32>,
    event_rate: u32,
    base_millis: i64,
}

impl Connection for Ysb<'_> {
    fn abilities(&self) -> Abilities {
        let is_bounded = self.rows_max.is_some();
        Abilities { reads: true, replays: true, is_bounded, ..Abilities::default() }
    }

    fn source(&self, wanted: &[usize], world: &World) -> Result<Vec<Box<dyn RowSource>>, SqlError> {
        let column = |place: &usize| {
            let name = self.table.columns[*place].name.as_str();
            match NUMBERS.iter().enumerate().find(|(_, (known, ..))| *known == name) {
                None => Column::Time,
                Some((_, &(_, first, 1))) => Column::Constant(first),
                Some((number, &(_, first, count))) => {
                    let seed = draw::at(world.seed, number as u64);
                    let value = |event| first + draw::below(draw::at(seed, event), count) as i64;
                    Column::Cached((0..CACHE_EVENTS).map(value).collect())
                }
            }
        };
        let columns = wanted.iter().map(column).collect();
        let is_max = self.pace.is_none();
        let is_time =
            |place: usize, field: Option<&str>| field.is_none() && self.table.columns[place].name == TIME;
        let readers = readers::readers(world, self.table, is_max, self.rows_max, &is_time);
        let made = GeneratedTable {
            name: self.table.name.clone(),
            schema: schema_of(self.table, wanted),
            generator: Arc::new(Events {
                columns,
                pace: self.pace.unwrap_or(1).into(),
                event_rate: self.event_rate.into(),
                base_millis: self.base_millis,
            }),
            batch_rows_max: CACHE_EVENTS,
            rows_max: self.rows_max,
            is_max,
        };
        Ok(made.sources(readers, world.seed))
    }
}

enum Column {
    Time,
    Constant(i64),
    Cached(Vec<i64>),
}

struct Events {
    columns: Vec<Column>,
    /// Number of rows that are emitted per second.
    pace: u64,
    event_rate: u64,
    base_millis: i64,
}

impl Events {
    /// Returns the event times of `count` events, beginning with the number `first`, in milliseconds. They
    /// are evenly spaced, so each is computed from the previous one without a division.
    fn times(&self, first: u64, count: usize) -> Vec<i64> {
        let of_first = Events::spread(first, self.event_rate, 1_000).min(i64::MAX as u64) as i64;
        let mut millis = self.base_millis.saturating_add(of_first);
        let (whole, part) = ((1_000 / self.event_rate) as i64, 1_000 % self.event_rate);
        // The fraction of a millisecond by which the present event comes after `millis`, in units of 1 /
        // `event_rate` milliseconds.
        let mut left = first % self.event_rate * 1_000 % self.event_rate;
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            times.push(millis);
            left += part;
            let is_over = left >= self.event_rate;
            left -= if is_over { self.event_rate } else { 0 };
            millis = millis.saturating_add(whole + i64::from(is_over));
        }
        times
    }

    /// Returns `row / rate` in units of `1 / of_second` seconds. Whole seconds are computed first, so that no
    /// product exceeds 64 bits.
    fn spread(row: u64, rate: u64, of_second: u64) -> u64 {
        (row / rate).saturating_mul(of_second).saturating_add(row % rate * of_second / rate)
    }
}

impl Generate for Events {
    fn nanos_at(&self, row: u64) -> u64 {
        Events::spread(row, self.pace, NANOS_PER_SECOND)
    }

    fn make(&self, first: u64, count: usize) -> Result<Vec<ArrayRef>, ArrowError> {
        let column = |column: &Column| -> ArrayRef {
            match column {
                Column::Time => Arc::new(TimestampMillisecondArray::from(self.times(first, count))),
                Column::Constant(value) => Arc::new(Int64Array::from_value(*value, count)),
                Column::Cached(values) => {
                    let mut copy = Vec::with_capacity(count);
                    while copy.len() < count {
                        let place = ((first + copy.len() as u64) % CACHE_EVENTS) as usize;
                        let end = values.len().min(place + count - copy.len());
                        copy.extend_from_slice(&values[place..end]);
                    }
                    Arc::new(Int64Array::from(copy))
                }
            }
        };
        Ok(self.columns.iter().map(column).collect())
    }

    fn held_bytes(&self) -> usize {
        let bytes = |column: &Column| match column {
            Column::Cached(values) => size_of_val(values.as_slice()),
            _ => 0,
        };
        self.columns.iter().map(bytes).sum()
    }
}
