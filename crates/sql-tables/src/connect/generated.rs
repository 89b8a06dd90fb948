//! Generated rows by number, at an open-loop rate: a row is due at its scheduled time, whether a reader waits
//! for it or not.
//!
//! A row that is read late does not delay the rows after it: they are due as scheduled, and a poll that comes
//! later returns them at once. Latency markers stand for rows of the schedule, so a stall is measured in full.

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use thalweg_connectors::MARKER_EVERY;
use thalweg_model::{Coded, Fault, ProcessingTime, SourceStatus, StateError, StateReader, StateWriter};

use super::layout::batch_of;
use crate::scan::rows::{PolledRows, RowSource, Rows};

pub(super) mod readers;

use readers::Reader;

/// A generator that makes any row of a table from its number.
pub(super) trait Generate: Send + Sync {
    /// Returns the time at which the row with the number `row` is due, in nanoseconds since the schedule
    /// began. No row is due before the previous one.
    fn nanos_at(&self, row: u64) -> u64;

    /// Generates the requested columns of `count` rows, beginning with the row number `first`.
    ///
    /// # Errors
    /// An [`ArrowError`] if arrays do not fit together.
    fn make(&self, first: u64, count: usize) -> Result<Vec<ArrayRef>, ArrowError>;

    /// Returns the bytes of memory of the data that the generator has made in advance.
    fn held_bytes(&self) -> usize {
        0
    }
}

/// A table whose rows a generator makes.
pub(super) struct GeneratedTable<G> {
    /// The name of the generated table.
    pub name: String,
    /// The schema of the requested columns.
    pub schema: SchemaRef,
    /// The generator of the rows.
    pub generator: Arc<G>,
    /// The most rows of the table that are generated at once.
    pub batch_rows_max: u64,
    /// The total number of rows of the table; `None` if it has no end.
    pub rows_max: Option<u64>,
    /// Whether all rows are due at once, without a rate.
    pub is_max: bool,
}

impl<G> Clone for GeneratedTable<G> {
    fn clone(&self) -> Self {
        let (name, schema, generator) =
            (self.name.clone(), Arc::clone(&self.schema), Arc::clone(&self.generator));
        GeneratedTable { name, schema, generator, ..*self }
    }
}

impl<G: Generate + 'static> GeneratedTable<G> {
    /// Creates the sources of the table, whose values follow from `seed`. There is more than one only if rows come as fast as they
    /// are taken.
    pub(super) fn sources(self, readers: usize, seed: u64) -> Vec<Box<dyn RowSource>> {
        let source = |reader| -> Box<dyn RowSource> {
            Box::new(Generated { table: self.clone(), reader, pace: None, markers: Markers::default() })
        };
        Reader::all(readers, seed).map(source).collect()
    }
}

/// A source of rows that a generator makes at their scheduled times.
struct Generated<G> {
    table: GeneratedTable<G>,
    /// Which rows of the table this source makes, and how many it has made.
    reader: Reader,
    /// The processing time of the first poll since the start or since a restore, and the nanoseconds of the
    /// schedule at which the next row was due then; `None` before that poll.
    pace: Option<(ProcessingTime, u64)>,
    /// Which rows have a latency marker, at a rate.
    markers: Markers,
}

/// Which rows of a source at a rate have a latency marker behind them: the first one that is due in each
/// [`MARKER_EVERY`] of the schedule, from the second such span on.
#[derive(Clone, Copy, Default, Debug)]
struct Markers {
    /// Number of the first row that was not looked at for a marker.
    row: u64,
    /// The span of the schedule that had the last marker, counted from 0.
    span: u64,
}

/// Nanoseconds of the schedule between two latency markers.
const MARKER_NS: u64 = MARKER_EVERY.as_nanos() as u64;

impl<G: Generate> Generated<G> {
    /// Returns how many of the next `limit` rows are due at `now`, and when the row after them is due.
    fn due(&mut self, now: ProcessingTime, limit: u64) -> (u64, ProcessingTime) {
        let made = self.reader.next_row();
        let generator = &self.table.generator;
        let (begin, origin) = *self.pace.get_or_insert_with(|| (now, generator.nanos_at(made)));
        let nanos = origin.saturating_add(now.nanos_since(begin));
        // Bisection finds the first row that is not due yet.
        let (mut is_due, mut is_not) = (0, limit);
        while is_due < is_not {
            let middle = is_due + (is_not - is_due) / 2;
            if generator.nanos_at(made + middle) <= nanos {
                is_due = middle + 1;
            } else {
                is_not = middle;
            }
        }
        (is_due, self.due_at((begin, origin), made + is_due))
    }

    /// Returns the processing time at which the row with the index `row` is due. `begin` is the processing
    /// time that corresponds to `origin`, in nanoseconds of the generator's schedule.
    fn due_at(&self, (begin, origin): (ProcessingTime, u64), row: u64) -> ProcessingTime {
        begin.plus_nanos(self.table.generator.nanos_at(row).saturating_sub(origin))
    }

    fn make(&self, count: usize) -> Result<Rows, Fault> {
        let unmade = |why: String| Unmade { table: self.table.name.clone(), why };
        let columns = self.table.generator.make(self.reader.next_row(), count);
        let columns = columns.map_err(|error| unmade(error.to_string()))?;
        let columns = batch_of(&self.table.schema, columns, count);
        let columns = columns.ok_or_else(|| unmade("columns are not those of the table".to_owned()))?;
        Ok(Rows { columns, kinds: None })
    }
}

impl<G: Generate> RowSource for Generated<G> {
    fn poll(&mut self, now: ProcessingTime, rows_max: usize) -> Result<PolledRows, Fault> {
        let GeneratedTable { is_max, batch_rows_max, rows_max: table_rows_max, .. } = self.table;
        let left = self.reader.left(table_rows_max);
        if left == 0 {
            self.reader.end();
            return Ok(PolledRows { rows: None, status: SourceStatus::Ended });
        }
        let Some(room) = self.reader.room() else {
            return Ok(PolledRows { rows: None, status: Reader::wait(now) });
        };
        let limit = left.min(rows_max.max(1) as u64).min(batch_rows_max.max(1)).min(room);
        let (count, next) = if is_max { (limit, now) } else { self.due(now, limit) };
        let rows = if count == 0 { None } else { Some(self.make(count as usize)?) };
        self.reader.advance(count);
        if count == left {
            self.reader.end();
        }
        let status = if count == left {
            SourceStatus::Ended
        } else if is_max {
            SourceStatus::Ready
        } else if next <= now {
            SourceStatus::DueSince(next)
        } else {
            SourceStatus::IdleUntil(next)
        };
        Ok(PolledRows { rows, status })
    }

    fn arrived(&self) -> Option<ProcessingTime> {
        let pace = self.pace.filter(|_| !self.table.is_max)?;
        // A table with a rate has one reader, so the numbers of its rows are those of the table.
        Some(self.due_at(pace, self.reader.made().checked_sub(1)?))
    }

    fn next_marker(&mut self) -> Option<ProcessingTime> {
        let (begin, origin) = self.pace.filter(|_| !self.table.is_max)?;
        let (generator, made) = (&self.table.generator, self.reader.made());
        let span_at = |row| generator.nanos_at(row).saturating_sub(origin) / MARKER_NS;
        // Bisection finds the first row in a later span than that of the last marker.
        let (mut first, mut end) = (self.markers.row, made);
        while first < end {
            let middle = first + (end - first) / 2;
            if span_at(middle) <= self.markers.span {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        if first == made {
            self.markers.row = made;
            return None;
        }
        self.markers = Markers { row: first + 1, span: span_at(first) };
        Some(self.due_at((begin, origin), first))
    }

    fn held_bytes(&self) -> usize {
        self.reader.share_of(self.table.generator.held_bytes())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.reader.save(state)
    }

    /// Continues with the row after the saved position. The schedule begins anew at the next poll: the time
    /// since the position was saved makes no rows due.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.reader.load(state)?;
        self.pace = None;
        self.markers = Markers { row: self.reader.made(), span: 0 };
        Ok(())
    }
}

/// The error for rows that cannot be generated. It is a bug of this program, because the columns were checked
/// with the table.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Unmade {
    table: String,
    why: String,
}

impl fmt::Display for Unmade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the rows of `{}` cannot be made: {}; please report it with the table",
            self.table, self.why
        )
    }
}

impl std::error::Error for Unmade {}

impl Coded for Unmade {
    fn code(&self) -> &'static str {
        "ROWS_NOT_MADE"
    }
}
