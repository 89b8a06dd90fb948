//! `nexmark`: generated people, auctions and bids of an online auction house.
//!
//! | option | default | |
//! |---|---|---|
//! | `first-event.rate`, `next-event.rate` | `10000` | events per second of event time, and of emission |
//! | `rate.shape`, `rate.period` | `SQUARE`, `600 s` | if the rates differ: how they alternate, and in which time |
//! | `events.num` | `0` | the number of events of all kinds; 0 for no end |
//! | `person.proportion`, `auction.proportion`, `bid.proportion` | `1`, `3`, `46` | how many of each kind in a round |
//! | `bid.hot-ratio.auctions` | `2` | one in so many bids is for another auction than the hot one |
//! | `bid.hot-ratio.bidders`, `auction.hot-ratio.sellers` | `4` | one in so many bids or auctions is by another person than the hot one |
//! | `person.avg-size`, `auction.avg-size`, `bid.avg-size` | `200 b`, `500 b`, `100 b` | filled up by `extra` |
//! | `max-emit-speed` | `false` | rows come as fast as they are taken |
//! | `thalweg.rate` | `paced` | ours: `max` means the same as `max-emit-speed` |
//! | `thalweg.events` | `all` | ours: `person`, `auction` or `bid` for a table of one kind only |
//! | `thalweg.base-time` | `2015-07-15 00:00:00` | ours: the event time of the first event |
//!
//! A table of all events has the columns of nexmark-flink: `event_type INT` (0, 1, 2), and the rows `person`,
//! `auction` and `bid`; only the row of the event's kind is not NULL. A table of one kind has the fields of
//! that row as its columns; it is several times as fast. Both may omit columns and fields, and declare them
//! in any order.
//!
//! Tables with the same seed are views of one stream: a table of bids has the same bids as the table of all
//! events, with the same ids, times and texts. A reader gives events in the order of their times, in rounds of 1
//! person, 3 auctions and 46 bids. Ids begin at 1,000. Half of the bids are for the hot auction, which is the
//! first of the current group of 100 auctions. Three quarters of the bids are by the hot bidder, and three
//! quarters of the auctions by the hot seller, who are the second and the first of the current group of 100
//! people. Other bids are for one of the last 100 auctions or one of the next 10; other bidders and sellers
//! are among the last 1,000 people or the next 10. Prices are `round(10^(6 u) * 100)`.
//!
//! Source: Tucker, Tufte, Papadimos and Maier, "NEXMark: A Benchmark for Queries over Data Streams", 2002, in
//! the form of the public nexmark-flink (its README and option names). Differs from it: values are different,
//! and the same in every run; the first event is a person; no bidder's id is moved; different rates
//! alternate, where nexmark-flink keeps the first; its `rate.limited`, `keep-alive` and `stop-at` are
//! refused.

mod column;
mod mix;
mod schedule;
mod words;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::error::ArrowError;
use chrono::NaiveDateTime;
use column::{Column, Field, Figures, Prices, extra_lengths, fields_of, fields_of_row};
use mix::{Kind, Mix};
use schedule::{Schedule, Shape};
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_functions::types::SqlType;
use words::Words;

use super::generated::{Generate, GeneratedTable, readers};
use super::layout::{check_metadata, record_columns, schema_of};
use super::options::Given;
use super::{Abilities, Connection, World};
use crate::error::{Code, SqlError};
use crate::scan::rows::RowSource;
use crate::table::{Table, TableColumn};

/// The greatest size in bytes to which one Nexmark event may be filled up.
const SIZE_BYTES_MAX: u64 = 1 << 20;

/// The greatest size of a generated batch of Nexmark events in bytes, unless the batch has only one row.
const BATCH_BYTES_MAX: u64 = 16 << 20;

/// The greatest rate or proportion that an option of Nexmark may have.
const NUMBER_MAX: u32 = i32::MAX as u32;

pub(super) fn bind<'a>(given: &mut Given<'a>) -> Result<Box<dyn Connection + 'a>, SqlError> {
    let table = given.table();
    check_metadata(table, "nexmark", &[])?;
    let kinds = [
        ("all", None),
        ("person", Some(Kind::Person)),
        ("auction", Some(Kind::Auction)),
        ("bid", Some(Kind::Bid)),
    ];
    let kind = given.choice("thalweg.events", &kinds, None)?;
    let first = number(given, "first-event.rate", 10_000, 1)?;
    let next = number(given, "next-event.rate", 10_000, 1)?;
    let shape =
        given.choice("rate.shape", &[("SQUARE", Shape::Square), ("SINE", Shape::Sine)], Shape::Square)?;
    let period = match given.duration("rate.period")?.map_or(600, |period| period.as_secs()) {
        seconds @ 1..=86_400 => seconds,
        _ => return Err(given.wrong("rate.period", "must be from 1 s to 1 d")),
    };
    let mix = Mix::new(
        number(given, "person.proportion", 1, 0)?,
        number(given, "auction.proportion", 3, 0)?,
        number(given, "bid.proportion", 46, 0)?,
    );
    let Some(mix) = mix else {
        return Err(given
            .wrong("bid.proportion", "there are no events at all: one of the proportions must be above 0"));
    };
    let hot = [
        number(given, "bid.hot-ratio.auctions", 2, 1)?,
        number(given, "bid.hot-ratio.bidders", 4, 1)?,
        number(given, "auction.hot-ratio.sellers", 4, 1)?,
    ];
    // For each kind of event: the option with its average size, the default of this size, and the average
    // size of the event's other fields, in bytes.
    let extra = [
        average(given, "person.avg-size", 200, 62)?,
        average(given, "auction.avg-size", 500, 110)?,
        average(given, "bid.avg-size", 100, 32)?,
    ];
    let events_max = match given.number::<i64>("events.num", "a number of events from 0 on")? {
        None | Some(0) => None,
        Some(count @ 1..) => Some(count as u64),
        Some(count) => {
            return Err(given.wrong("events.num", format!("'{count}' is not a number of events from 0 on")));
        }
    };
    let is_max = given.flag("max-emit-speed", false)?;
    let is_max = given.choice("thalweg.rate", &[("paced", is_max), ("max", true)], is_max)?;
    let base = given.text("thalweg.base-time").unwrap_or("2015-07-15 00:00:00");
    let Some(base_millis) = millis_of(base) else {
        return Err(
            given.wrong("thalweg.base-time", format!("'{base}' is no time such as '2015-07-15 00:00:00'"))
        );
    };
    let columns = record_columns(table)
        .into_iter()
        .map(|place| Ok((place, bind_column(&table.columns[place], kind)?)))
        .collect::<Result<_, SqlError>>()?;
    let rows_max = match kind {
        None => events_max,
        // A table of a kind without events ends at once.
        Some(kind) if mix.count(kind, mix.round()) == 0 => Some(0),
        Some(kind) => events_max.map(|events| mix.count(kind, events)),
    };
    let schedule = Schedule::new(shape, first, next, period);
    Ok(Box::new(Nexmark { table, kind, columns, mix, schedule, hot, extra, base_millis, rows_max, is_max }))
}

/// Reads an integer option of at least `least`. Without the option it has the value `unless`.
fn number(given: &mut Given<'_>, key: &str, unless: u32, least: u32) -> Result<u32, SqlError> {
    let what = format!("a whole number from {least} to {NUMBER_MAX}");
    match given.number::<u32>(key, &what)?.unwrap_or(unless) {
        number if least <= number && number <= NUMBER_MAX => Ok(number),
        number => Err(given.wrong(key, format!("'{number}' is not {what}"))),
    }
}

/// Reads the average size of a kind of event, and returns the average length of its column `extra`.
fn average(given: &mut Given<'_>, key: &str, unless: u64, others: u64) -> Result<u64, SqlError> {
    match given.bytes(key)?.unwrap_or(unless) {
        bytes if bytes <= SIZE_BYTES_MAX => Ok(bytes.saturating_sub(others)),
        bytes => Err(given.wrong(key, format!("{bytes} bytes are too many: {SIZE_BYTES_MAX} are the most"))),
    }
}

/// Parses a timestamp, such as `2015-07-15 00:00:00`, to milliseconds since the start of 1970.
pub(super) fn millis_of(text: &str) -> Option<i64> {
    let time = NaiveDateTime::parse_from_str(text.trim(), "%Y-%m-%d %H:%M:%S%.f").ok()?;
    Some(time.and_utc().timestamp_millis())
}

/// Returns the Nexmark field that a declared column holds.
fn bind_column(declared: &TableColumn, kind: Option<Kind>) -> Result<Column, SqlError> {
    let name = declared.name.as_str();
    let wrong_type = |of: &SqlType| {
        let message = format!("`{name}` is {}, and the connector 'nexmark' has it as {of}", declared.of);
        SqlError::new(Code::TypeMismatch, message).at(declared.place)
    };
    if let Some(kind) = kind {
        let field = field_of(kind, name).map_err(|error| error.at(declared.place))?;
        return if field.of() == declared.of {
            Ok(Column::Field(field))
        } else {
            Err(wrong_type(&field.of()))
        };
    }
    let kind = match name {
        "event_type" if declared.of == SqlType::Int => return Ok(Column::EventType),
        "event_type" => return Err(wrong_type(&SqlType::Int)),
        "person" => Kind::Person,
        "auction" => Kind::Auction,
        "bid" => Kind::Bid,
        name => return Err(unknown(name, &["event_type", "person", "auction", "bid"]).at(declared.place)),
    };
    let SqlType::Row(parts) = &declared.of else {
        let fields = fields_of(kind).iter().map(|(name, field)| ((*name).to_owned(), field.of()));
        return Err(wrong_type(&SqlType::Row(fields.collect())));
    };
    if !declared.is_nullable {
        let message = format!("`{name}` is NOT NULL, and is NULL for events of other kinds");
        return Err(SqlError::new(Code::Invalid, message).at(declared.place));
    }
    let mut fields = Vec::new();
    for (part, of) in parts {
        let field = field_of(kind, part).map_err(|error| error.at(declared.place))?;
        if field.of() != *of {
            let message =
                format!("`{name}`.`{part}` is {of}, and the connector 'nexmark' has it as {}", field.of());
            return Err(SqlError::new(Code::TypeMismatch, message).at(declared.place));
        }
        fields.push(field);
    }
    Ok(Column::Row { kind, fields, of: fields_of_row(&declared.of) })
}

fn field_of(kind: Kind, name: &str) -> Result<Field, SqlError> {
    let fields = fields_of(kind);
    let found = fields.iter().find(|(known, _)| *known == name);
    found.map(|(_, field)| *field).ok_or_else(|| {
        let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        unknown(name, &names)
    })
}

fn unknown(name: &str, known: &[&str]) -> SqlError {
    let error =
        SqlError::new(Code::UnknownColumn, format!("the connector 'nexmark' has no column `{name}` here"));
    match nearest(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("there are {}", known.join(", "))),
    }
}

struct Nexmark<'a> {
    table: &'a Table,
    kind: Option<Kind>,
    /// The Nexmark columns that the table declares, each with its index among the columns of the table.
    columns: Vec<(usize, Column)>,
    mix: Mix,
    schedule: Schedule,
    hot: [u32; 3],
    extra: [u64; 3],
    base_millis: i64,
    rows_max: Option<u64>,
    is_max: bool,
}

impl Connection for Nexmark<'_> {
    fn abilities(&self) -> Abilities {
        let is_bounded = self.rows_max.is_some();
        Abilities { reads: true, replays: true, is_bounded, ..Abilities::default() }
    }

    fn source(&self, wanted: &[usize], world: &World) -> Result<Vec<Box<dyn RowSource>>, SqlError> {
        let column = |place: &usize| {
            self.columns.iter().find(|(known, _)| known == place).map(|(_, column)| column.clone())
        };
        let columns: Vec<Column> = wanted.iter().filter_map(column).collect();
        let fields = columns.iter().flat_map(|column| match column {
            Column::EventType => &[],
            Column::Field(field) => std::slice::from_ref(field),
            Column::Row { fields, .. } => fields.as_slice(),
        });
        let extra_bytes = |average: u64| extra_lengths(average).0 + extra_lengths(average).1;
        let (mut row_bytes, mut longest, mut has_channels) = (1, 100, false);
        for field in fields {
            let extra = match field {
                Field::PersonExtra => extra_bytes(self.extra[0]),
                Field::AuctionExtra => extra_bytes(self.extra[1]),
                Field::BidExtra => extra_bytes(self.extra[2]),
                _ => 0,
            };
            row_bytes += field.bytes() + extra;
            longest = longest.max(extra);
            has_channels |= matches!(field, Field::Channel | Field::Url);
        }
        let [hot_auctions, hot_bidders, hot_sellers] = self.hot.map(u64::from);
        let figures = Figures {
            seed: world.seed,
            mix: self.mix,
            schedule: self.schedule.clone(),
            base_millis: self.base_millis,
            hot_auctions,
            hot_bidders,
            hot_sellers,
            extra: self.extra,
            words: Words::new(world.seed, longest as usize, has_channels),
            prices: Prices::new(),
        };
        let is_time = |place: usize, field: Option<&str>| self.is_time(place, field);
        let readers = readers::readers(world, self.table, self.is_max, self.rows_max, &is_time);
        let made = GeneratedTable {
            name: self.table.name.clone(),
            schema: schema_of(self.table, wanted),
            generator: Arc::new(Nexmarks { columns, figures, kind: self.kind }),
            batch_rows_max: BATCH_BYTES_MAX / row_bytes,
            rows_max: self.rows_max,
            is_max: self.is_max,
        };
        Ok(made.sources(readers, world.seed))
    }
}

impl Nexmark<'_> {
    /// Returns whether a column, or the named field of a column that is a row, is the time of each event.
    fn is_time(&self, place: usize, field: Option<&str>) -> bool {
        let column = self.columns.iter().find(|(known, _)| *known == place).map(|(_, column)| column);
        match (column, field) {
            (Some(Column::Field(field)), None) => *field == Field::DateTime,
            (Some(Column::Row { .. }), Some(name)) => name == "dateTime",
            _ => false,
        }
    }
}

/// Generates the requested columns of all Nexmark events, or of the events of one kind.
struct Nexmarks {
    columns: Vec<Column>,
    figures: Figures,
    kind: Option<Kind>,
}

impl Generate for Nexmarks {
    fn nanos_at(&self, row: u64) -> u64 {
        self.figures.schedule.nanos_at(self.figures.mix.event_of(self.kind, row))
    }

    fn make(&self, first: u64, count: usize) -> Result<Vec<ArrayRef>, ArrowError> {
        let events = self.figures.mix.events(self.kind, first, count);
        self.columns.iter().map(|column| self.figures.make(column, &events)).collect()
    }

    fn held_bytes(&self) -> usize {
        self.figures.words.held_bytes()
    }
}
