//! Several readers of one generated table: each makes every n-th stripe of the rows.
//!
//! ```text
//!   rows       0 .. 8191   8192 .. 16383   16384 .. 24575   24576 .. 32767   ..
//!   readers    0           1               0                1
//! ```
//!
//! Promise: together the readers give the rows that one reader would give, each row once. Each of them gives its rows in their
//! order; rows of different readers come in any order. A reader that is [`AHEAD_STRIPES`] stripes ahead of another begins no further batch, so windows are kept open for
//! little more than these.
//!
//! A table has several readers only if nothing that a query computes depends on them ([`readers`]): no row is late, and no
//! operator takes rows in the order of their arrival.

use std::sync::{Arc, Mutex, PoisonError};

use thalweg_model::{ProcessingTime, SourceStatus, StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::{Call, Expression, Typed};
use thalweg_sql_functions::functions::arithmetic::ArithmeticOp;
use thalweg_sql_functions::values::ScalarValue;

use crate::connect::World;
use crate::connect::watermarks::idle_timeout;
use crate::table::{Table, TableColumnKind};

/// Rows of a stripe: a few batches.
const STRIPE_ROWS: u64 = 8_192;

/// The most stripes that a reader makes before another one has caught up.
const AHEAD_STRIPES: u64 = 8;

/// The least number of stripes of a table that has several readers.
const STRIPES_MIN: u64 = 16;

/// The most readers of a table.
const READERS_MAX: usize = 16;

/// How long a reader that is too far ahead waits until it looks again: 50 us, about as long as a stripe takes to be made.
const LOOK_AGAIN_NS: u64 = 50_000;

/// Returns the number of readers of a generated table with at most `rows_max` rows: as many as the query allows if rows come as
/// fast as they are taken (`is_max`), the table is long, and no row can be late. `is_time` tells whether a column, or the named field
/// of a column of rows, ascends with the numbers of rows.
pub(in super::super) fn readers(
    world: &World,
    table: &Table,
    is_max: bool,
    rows_max: Option<u64>,
    is_time: &dyn Fn(usize, Option<&str>) -> bool,
) -> usize {
    let is_long = rows_max.is_none_or(|rows| STRIPES_MIN * STRIPE_ROWS <= rows);
    let is_free = is_max && idle_timeout(table, None).is_none();
    let is_divided = is_free && is_long && no_row_is_late(table, is_time);
    if is_divided { world.division.readers.clamp(1, READERS_MAX) } else { 1 }
}

/// Returns whether no row of a table is late, because each watermark is below the times of all rows that follow.
fn no_row_is_late(table: &Table, is_time: &dyn Fn(usize, Option<&str>) -> bool) -> bool {
    let Some(rowtime) = &table.rowtime else { return true };
    let ascends = match &table.columns[rowtime.column].kind {
        TableColumnKind::Physical => is_time(rowtime.column, None),
        TableColumnKind::Computed(time) => is_one_of(time, is_time),
        TableColumnKind::Proctime | TableColumnKind::Watermark | TableColumnKind::Metadata { .. } => false,
    };
    // Rows of the same time follow each other, so a watermark at the time of a row could pass some of them.
    let is_below = match &rowtime.watermark.expression {
        Expression::Call { call: Call::Arithmetic(ArithmeticOp::Subtract), arguments, .. } => {
            match &arguments[..] {
                [time, span] => {
                    let span = span.as_literal();
                    time.as_column() == Some(rowtime.column)
                        && matches!(span, Some(ScalarValue::DurationMillisecond(Some(span_ms))) if *span_ms > 0)
                }
                _ => false,
            }
        }
        _ => false,
    };
    ascends && is_below
}

/// Returns whether each value of an expression is that of one of the columns and fields for which `is_time` returns true. All of
/// them have the time of the row, so whichever is taken ascends.
fn is_one_of(value: &Typed, is_time: &dyn Fn(usize, Option<&str>) -> bool) -> bool {
    if let Some(column) = value.as_column() {
        return is_time(column, None);
    }
    match &value.expression {
        Expression::Case { branches, otherwise } => {
            branches.iter().all(|(_, value)| is_one_of(value, is_time)) && is_one_of(otherwise, is_time)
        }
        Expression::Call { call: Call::Function(function), arguments, .. } => {
            match (function.name, &arguments[..]) {
                ("FIELD", [row, name]) => match (row.as_column(), name.as_literal()) {
                    (Some(column), Some(ScalarValue::Utf8(Some(name)))) => is_time(column, Some(name)),
                    _ => false,
                },
                ("COALESCE", arguments) => arguments.iter().all(|value| is_one_of(value, is_time)),
                _ => false,
            }
        }
        _ => false,
    }
}

/// The most rows of a saved position. A greater number is damage, and would not fit into the arithmetic of generators.
const MADE_MAX: u64 = 1 << 53;

/// How far the readers of a table are, by which none of them gets too far ahead.
///
/// The front is no part of the position: each row belongs to one reader by its number, so whichever reader is saved first, each
/// row is before the position of that reader or behind it. A reader that is not restored with the others had ended, so the
/// others do not wait for it.
struct Front {
    /// Number of rows that each reader has made; the greatest number for one that has ended.
    made: Vec<u64>,
    /// Whether a reader was restored. All of them that have not ended are restored before the first poll.
    is_restored: bool,
}

/// Position of one of the readers of a table.
#[derive(Clone)]
pub(in super::super) struct Reader {
    /// The seed of the values of the table.
    seed: u64,
    number: u64,
    readers: u64,
    /// Number of rows that this reader has made so far.
    made: u64,
    front: Arc<Mutex<Front>>,
}

impl Reader {
    /// Creates the readers of a table whose values follow from `seed`.
    pub(in super::super) fn all(readers: usize, seed: u64) -> impl Iterator<Item = Reader> {
        let readers = readers.max(1);
        let front = Arc::new(Mutex::new(Front { made: vec![0; readers], is_restored: false }));
        (0..readers).map(move |number| Reader {
            seed,
            number: number as u64,
            readers: readers as u64,
            made: 0,
            front: Arc::clone(&front),
        })
    }

    /// Returns the number, in the table, of the row that this reader makes as its row `own`; both count from 0.
    fn row(&self, own: u64) -> u64 {
        if self.readers == 1 {
            return own;
        }
        let stripe = (own / STRIPE_ROWS).saturating_mul(self.readers).saturating_add(self.number);
        stripe.saturating_mul(STRIPE_ROWS).saturating_add(own % STRIPE_ROWS)
    }

    /// Returns the number of rows that this reader has made.
    pub(in super::super) fn made(&self) -> u64 {
        self.made
    }

    /// Returns the number, in the table, of the next row of this reader.
    pub(in super::super) fn next_row(&self) -> u64 {
        self.row(self.made)
    }

    /// Returns how many rows this reader has still to make in a table of at most `rows_max` rows.
    pub(in super::super) fn left(&self, rows_max: Option<u64>) -> u64 {
        let Some(rows) = rows_max else { return u64::MAX };
        let own = if self.readers == 1 {
            rows
        } else {
            let (stripes, rest) = (rows / STRIPE_ROWS, rows % STRIPE_ROWS);
            let whole = stripes / self.readers + u64::from(self.number < stripes % self.readers);
            whole * STRIPE_ROWS + if stripes % self.readers == self.number { rest } else { 0 }
        };
        own.saturating_sub(self.made)
    }

    /// Returns how many rows may be made at once: the numbers of rows that follow each other. `None` if this reader is too far
    /// ahead of another.
    pub(in super::super) fn room(&self) -> Option<u64> {
        if self.readers == 1 {
            return Some(u64::MAX);
        }
        let behind = self.front().made.iter().copied().min().unwrap_or_default();
        let is_ahead = behind.saturating_add(AHEAD_STRIPES * STRIPE_ROWS) <= self.made;
        (!is_ahead).then(|| STRIPE_ROWS - self.made % STRIPE_ROWS)
    }

    /// Records that this reader has made the next `count` rows.
    pub(in super::super) fn advance(&mut self, count: u64) {
        self.made += count;
        self.tell(self.made);
    }

    /// Records that this reader has ended, so that no other waits for it.
    pub(in super::super) fn end(&mut self) {
        self.tell(u64::MAX);
    }

    fn tell(&self, made: u64) {
        if self.readers > 1 {
            self.front().made[self.number as usize] = made;
        }
    }

    /// Returns the status of a reader that is too far ahead of another at `now`.
    pub(in super::super) fn wait(now: ProcessingTime) -> SourceStatus {
        SourceStatus::IdleUntil(now.plus_nanos(LOOK_AGAIN_NS))
    }

    /// Returns the part that this reader counts of bytes that all readers of the table share: all of them for the first.
    pub(in super::super) fn share_of(&self, bytes: usize) -> usize {
        if self.number == 0 { bytes } else { 0 }
    }

    fn front(&self) -> std::sync::MutexGuard<'_, Front> {
        self.front.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves the position.
    ///
    /// # Errors
    /// [`StateError`] if it cannot be written.
    pub(in super::super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.number, self.readers, self.made, self.seed))
    }

    /// Continues from a saved position.
    ///
    /// # Errors
    /// [`StateError`] if it is that of another reader, of a table with another number of readers, or of values from another
    /// seed.
    pub(in super::super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (number, readers, made, seed): (u64, u64, u64, u64) = state.take()?;
        if (number, readers) != (self.number, self.readers) {
            return Err(state.wrong(format!(
                "the position is that of reader {number} of {readers}, and this is reader {} of {}: start with as many workers as before",
                self.number, self.readers
            )));
        }
        if seed != self.seed {
            return Err(
                state.wrong(format!("the values were made from the seed {seed}, and not from {}", self.seed))
            );
        }
        if MADE_MAX < made {
            return Err(state.wrong(format!("{made} rows were not made by any run")));
        }
        self.made = made;
        {
            let mut front = self.front();
            if !std::mem::replace(&mut front.is_restored, true) {
                front.made.fill(u64::MAX);
            }
        }
        self.tell(made);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
