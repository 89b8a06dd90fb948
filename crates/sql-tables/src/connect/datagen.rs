//! `datagen`: generated rows, at a given rate.
//!
//! | option | default | |
//! |---|---|---|
//! | `rows-per-second` | `10000` | the rate; the greatest BIGINT means without limit |
//! | `number-of-rows` | none | how many rows there are |
//! | `fields.#.kind` | `random` | `random` or `sequence`, for the column `#` |
//! | `fields.#.min`, `fields.#.max` | range of the type | range of random numbers, both ends included |
//! | `fields.#.max-past` | `0` | the greatest age of random timestamps |
//! | `fields.#.length` | 100, or the type's; 3 | length of random text and bytes; of arrays and maps |
//! | `fields.#.var-len` | `false` | random text and bytes have a random length from 1 to `length` |
//! | `fields.#.start`, `fields.#.end` | required | range of a sequence, both ends included |
//! | `fields.#.null-rate` | `0` | the share of random values that are NULL |
//!
//! For the items of an ARRAY, the keys and values of a MAP and the fields of a ROW, the option keys contain a
//! further word: `fields.tags.element.length`, `fields.m.key.min`, `fields.r.name.length`. A table with
//! sequences ends with the shortest of them. DATE and TIME come from the clock, in the zone of the session.
//!
//! A value depends only on the seed, the column and the number of its row, however rows are cut into batches
//! and wherever reading continues. Only values from the clock differ between runs. Rows are due one by one at
//! even intervals; all rows that are due are generated at once, column by column.
//!
//! Source: Flink's documentation, "DataGen SQL Connector"; `RandomGeneratorVisitor`,
//! `SequenceGeneratorVisitor`. Differs from Flink: the values are different; decimals are uniform in all of
//! their digits. The defaults of `min` and `max` of floating numbers are the greatest finite numbers, where
//! Flink's `min` is the least above zero. Options that do not apply to a column's type are refused, and so is
//! a start above its end. MULTISET is not supported.

mod column;
mod random;

#[cfg(test)]
mod tests;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use chrono_tz::Tz;
use thalweg_model::{Fault, ProcessingTime, SourceStatus, StateError, StateReader, StateWriter};

use super::generated::readers::{Reader, readers};
use super::layout::{batch_of, check_metadata, record_columns, schema_of};
use super::options::Given;
use super::{Abilities, Connection, World};
use crate::error::{Code, SqlError};
use crate::scan::rows::{PolledRows, RowSource, Rows};
use crate::table::Table;
use column::{Column, Moment};

/// The greatest size of one generated row, in bytes.
const ROW_BYTES_MAX: u64 = 16 << 20;

/// The greatest size of a generated batch in bytes, unless the batch has only one row.
const BATCH_BYTES_MAX: u64 = 16 << 20;

/// The rate that means that rows come as fast as they are taken.
const RATE_FREE: u64 = i64::MAX as u64;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

pub(super) fn bind<'a>(given: &mut Given<'a>) -> Result<Box<dyn Connection + 'a>, SqlError> {
    let table = given.table();
    check_metadata(table, "datagen", &[])?;
    const RATE: &str = "rows-per-second";
    let rate = match given.number::<i64>(RATE, "a number of rows from 1 on")?.unwrap_or(10_000) {
        rate @ 1.. => rate as u64,
        rate => return Err(given.wrong(RATE, format!("'{rate}' is not a number of rows from 1 on"))),
    };
    const COUNT: &str = "number-of-rows";
    let mut rows_max = match given.number::<i64>(COUNT, "a number of rows from 0 on")? {
        Some(count @ ..0) => {
            return Err(given.wrong(COUNT, format!("'{count}' is not a number of rows from 0 on")));
        }
        count => count.map(|count| count as u64),
    };
    given.parallelism("scan.parallelism")?;
    let mut columns = Vec::new();
    for place in record_columns(table) {
        let declared = &table.columns[place];
        let column =
            Column::bind(given, &declared.name, &declared.of).map_err(|error| error.at(declared.place))?;
        if !declared.is_nullable && column.may_be_null() {
            let key = format!("fields.{}.null-rate", declared.name);
            return Err(given.wrong(&key, format!("the column `{}` is NOT NULL", declared.name)));
        }
        if let Some(length) = column.sequence_length() {
            rows_max = Some(rows_max.map_or(length, |rows_max| rows_max.min(length)));
        }
        columns.push((place, column));
    }
    let row_bytes = columns.iter().fold(1, |sum: u64, (_, column)| sum.saturating_add(column.value_bytes()));
    if ROW_BYTES_MAX < row_bytes {
        let message =
            format!("a row would take {row_bytes} bytes, and {ROW_BYTES_MAX} are the most that is made");
        let error = SqlError::new(Code::Unsupported, message).at(table.options_place);
        return Err(error.help("give its columns smaller lengths: 'fields.NAME.length'"));
    }
    Ok(Box::new(DataGen { table, columns, row_bytes, rate, rows_max }))
}

struct DataGen<'a> {
    table: &'a Table,
    /// The generated columns, each with its index among the columns of the table.
    columns: Vec<(usize, Column)>,
    row_bytes: u64,
    rate: u64,
    rows_max: Option<u64>,
}

impl Connection for DataGen<'_> {
    fn abilities(&self) -> Abilities {
        let is_bounded = self.rows_max.is_some();
        Abilities { reads: true, replays: true, is_bounded, ..Abilities::default() }
    }

    fn source(&self, wanted: &[usize], world: &World) -> Result<Vec<Box<dyn RowSource>>, SqlError> {
        let column = |place: &usize| {
            let (index, (_, column)) =
                self.columns.iter().enumerate().find(|(_, (known, _))| known == place)?;
            // The table name and the column index enter the seed of a column, so that columns and tables draw
            // different numbers.
            let name =
                self.table.name.bytes().fold(world.seed, |seed, byte| random::at(seed, u64::from(byte)));
            Some((random::at(name, index as u64), column.clone()))
        };
        let source = |reader| -> Box<dyn RowSource> {
            Box::new(DataGenSource {
                schema: schema_of(self.table, wanted),
                columns: wanted.iter().filter_map(column).collect(),
                zone: world.zone,
                batch_rows_max: (BATCH_BYTES_MAX / self.row_bytes).max(1),
                rate: self.rate,
                rows_max: self.rows_max,
                reader,
                pace: None,
            })
        };
        // A random time may be late, so a table with event time has one reader.
        let readers = readers(world, self.table, self.rate == RATE_FREE, self.rows_max, &|_, _| false);
        Ok(Reader::all(readers, world.seed).map(source).collect())
    }
}

struct DataGenSource {
    schema: SchemaRef,
    /// The generated columns, each with the seed of its values.
    columns: Vec<(u64, Column)>,
    zone: Tz,
    batch_rows_max: u64,
    rate: u64,
    rows_max: Option<u64>,
    /// Which rows of the table this source generates, and how many it has generated.
    reader: Reader,
    /// The processing time of the first poll since the start or since a restore, and the number of the first
    /// row generated then. Rows become due at the configured rate from this time on.
    pace: Option<(ProcessingTime, u64)>,
}

impl DataGenSource {
    /// Returns how many rows beyond those already generated are due at `now` by the configured rate.
    fn due(&mut self, now: ProcessingTime) -> u64 {
        let made = self.reader.made();
        let (begin, first) = *self.pace.get_or_insert((now, made));
        let elapsed = u128::from(now.nanos_since(begin));
        let due = elapsed * u128::from(self.rate) / NANOS_PER_SECOND + 1 + u128::from(first);
        u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(made)
    }

    /// Returns the time at which a row is due by the configured rate.
    fn due_at(&self, row: u64) -> ProcessingTime {
        let (begin, first) = self.pace.unwrap_or_default();
        let nanos = (u128::from(row - first) * NANOS_PER_SECOND).div_ceil(u128::from(self.rate));
        begin.plus_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn make(&self, now: ProcessingTime, count: usize) -> Option<Rows> {
        let moment = Moment::new(now, self.zone);
        let first = self.reader.next_row();
        let columns: Vec<ArrayRef> =
            self.columns.iter().map(|(seed, column)| column.make(*seed, first, count, &moment)).collect();
        let columns = batch_of(&self.schema, columns, count)?;
        Some(Rows { columns, kinds: None })
    }
}

impl RowSource for DataGenSource {
    fn poll(&mut self, now: ProcessingTime, rows_max: usize) -> Result<PolledRows, Fault> {
        let left = self.reader.left(self.rows_max);
        if left == 0 {
            self.reader.end();
            return Ok(PolledRows { rows: None, status: SourceStatus::Ended });
        }
        let Some(room) = self.reader.room() else {
            return Ok(PolledRows { rows: None, status: Reader::wait(now) });
        };
        let is_free = self.rate == RATE_FREE;
        let due = if is_free { u64::MAX } else { self.due(now) };
        let count = due.min(left).min(rows_max.max(1) as u64).min(self.batch_rows_max).min(room);
        let rows = if count == 0 { None } else { self.make(now, count as usize) };
        self.reader.advance(count);
        if count == left {
            self.reader.end();
        }
        let status = if count == left {
            SourceStatus::Ended
        } else if is_free {
            SourceStatus::Ready
        } else if count < due {
            SourceStatus::DueSince(self.due_at(self.reader.made()))
        } else {
            SourceStatus::IdleUntil(self.due_at(self.reader.made()))
        };
        Ok(PolledRows { rows, status })
    }

    fn arrived(&self) -> Option<ProcessingTime> {
        let (_, first) = self.pace?;
        self.reader.made().checked_sub(1).filter(|last| first <= *last).map(|last| self.due_at(last))
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.reader.save(state)
    }

    /// Continues with the row after the saved position. The rate begins anew at the next poll: the time since
    /// the position was saved makes no rows due.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.reader.load(state)?;
        self.pace = None;
        Ok(())
    }
}
