//! Window join: rows of the same window and key match.
//!
//! Input      batches of two sides, whose rows have windows
//! Output     pairs; outer joins also rows without a match; semi and anti joins rows of the left
//! State      the rows of open windows
//! Emits      when the watermark reaches the end of a window; windows in the order of their ends
//! Late       the window has ended: counted, and dropped
//! Watermark  forwarded unchanged, after the output of all windows that it closes
//! Cost       a hash table of the right rows of a window when it ends, and one look-up per left row
//! Source     Flink, "Window JOIN"; `WindowJoinOperator` for rows that are late
//!
//! A NULL key never matches, but outer and anti joins emit such rows.

use std::collections::BTreeMap;

use arrow::array::{AsArray, UInt32Array};
use arrow::compute::concat_batches;
use arrow::datatypes::TimestampMillisecondType;
use arrow::record_batch::RecordBatch;
use chrono_tz::Tz;
use thalweg_model::{EventTime, StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch};

use super::super::accounts::{Accounts, accounted};
use super::shape::Shape;
use super::table::{Probe, Table, gathered};
use super::{JoinOperator, Side, refuse_changes};
use crate::exec::kept::{load_rows, save_rows};
use crate::exec::operator::Outcome;
use crate::exec::order::{bytes_of, compacted, taken};
use crate::exec::windows::Clocks;
use crate::plan::WindowPlaces;

/// Window join, which joins rows of the same window and key.
pub struct WindowJoin {
    shape: Shape,
    places: [WindowPlaces; 2],
    clocks: Clocks,
    /// Rows of both inputs in open windows, by the end and the start of the window.
    windows: BTreeMap<(i64, i64), [Vec<RecordBatch>; 2]>,
    /// Bytes in memory of the rows in windows that have not ended.
    waiting_bytes: usize,
    /// Windows that end at or before this local time, in milliseconds, are over.
    closing_ms: i64,
    firing: Option<Firing>,
    accounts: Accounts,
}

/// A window that has ended and whose output rows are being emitted.
struct Firing {
    table: Table,
    probe: Probe,
    /// Whether each right row of the window has matched; `None` if the kind of join does not need it.
    right_met: Option<Vec<bool>>,
    right_alone: usize,
}

impl WindowJoin {
    /// Creates a window join. `places` are the indexes of the window columns of the left and the right input.
    /// `zone` is given if windows are cut by the local time of this zone.
    pub fn new(shape: Shape, places: [WindowPlaces; 2], zone: Option<Tz>) -> Self {
        WindowJoin {
            shape,
            places,
            clocks: Clocks::new(zone),
            windows: BTreeMap::new(),
            waiting_bytes: 0,
            closing_ms: i64::MIN,
            firing: None,
            accounts: Accounts::default(),
        }
    }

    fn put(&mut self, window: (i64, i64), side: Side, rows: RecordBatch) {
        self.waiting_bytes += bytes_of(&rows);
        self.windows.entry(window).or_default()[side.index()].push(rows);
    }

    /// Starts the output of the next window that has ended; returns `None` if no other window has ended.
    fn fire(&mut self) -> Outcome<Option<Firing>> {
        let Some((&(end, _), _)) = self.windows.first_key_value() else { return Ok(None) };
        if end > self.closing_ms {
            return Ok(None);
        }
        let Some((_, rows)) = self.windows.pop_first() else { return Ok(None) };
        self.waiting_bytes -= rows.iter().flatten().map(bytes_of).sum::<usize>();
        let all = |side: Side| concat_batches(&self.shape.inputs[side.index()], &rows[side.index()]);
        let table = Table::new(&self.shape, all(Side::Right).map_err(arrow_error)?)?;
        let probe = Probe::new(&self.shape, &table, all(Side::Left).map_err(arrow_error)?)?;
        let right_met = self.shape.keeps(Side::Right).then(|| vec![false; table.rows.num_rows()]);
        Ok(Some(Firing { table, probe, right_met, right_alone: 0 }))
    }

    fn note_bytes(&mut self) {
        let firing = self.firing.as_ref().map_or(0, |firing| firing.table.bytes() + firing.probe.bytes());
        self.accounts.hold(self.waiting_bytes + firing);
    }
}

impl Firing {
    fn next(&mut self, shape: &Shape) -> Outcome<Option<RecordBatch>> {
        if let Some(piece) = self.probe.next(shape, &self.table, self.right_met.as_deref_mut())? {
            return Ok(Some(piece.rows));
        }
        let Some(right_met) = &self.right_met else { return Ok(None) };
        let mut rights: Vec<u32> = Vec::new();
        while self.right_alone < right_met.len() && rights.len() < BATCH_ROWS_MAX {
            if !right_met[self.right_alone] {
                rights.push(self.right_alone as u32);
            }
            self.right_alone += 1;
        }
        if rights.is_empty() {
            return Ok(None);
        }
        let rights = UInt32Array::from(rights);
        let right = gathered(&self.table.rows, &rights)?;
        shape.results(rights.len(), None, Some(right)).map(Some)
    }
}

impl JoinOperator for WindowJoin {
    fn name(&self) -> &str {
        "window join"
    }

    fn take(&mut self, side: Side, batch: Batch, late_by: EventTime) -> Outcome<()> {
        refuse_changes("a window join", &batch)?;
        self.accounts.counts.read += batch.len() as u64;
        let places = self.places[side.index()];
        let starts = batch.rows.column(places.start).as_primitive::<TimestampMillisecondType>();
        let ends = batch.rows.column(places.end).as_primitive::<TimestampMillisecondType>();
        let windows = || ends.values().iter().copied().zip(starts.values().iter().copied());
        let mut parts: BTreeMap<(i64, i64), Vec<u32>> = BTreeMap::new();
        let first = windows().next();
        let is_one = first.is_some_and(|first| windows().all(|window| window == first));
        if is_one && let Some(first) = first {
            parts.insert(first, Vec::new());
        } else {
            for (row, window) in (0u32..).zip(windows()) {
                parts.entry(window).or_default().push(row);
            }
        }
        let passed = self.clocks.passed(late_by);
        for (window, part) in parts {
            let rows = if is_one { batch.len() } else { part.len() };
            if window.0 <= passed {
                self.accounts.counts.late += rows as u64;
                continue;
            }
            self.accounts.counts.folded += rows as u64;
            let rows = if is_one {
                compacted(batch.rows.clone())?
            } else {
                taken(&batch.rows, &UInt32Array::from(part))?
            };
            self.put(window, side, rows);
        }
        self.note_bytes();
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        self.closing_ms = self.closing_ms.max(self.clocks.passed(watermark));
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        loop {
            if self.firing.is_none() {
                self.firing = self.fire()?;
                self.note_bytes();
            }
            let Some(firing) = &mut self.firing else { return Ok(None) };
            if let Some(rows) = firing.next(&self.shape)? {
                return Ok(Some(Batch::new(rows)));
            }
            self.firing = None;
        }
    }

    accounted!();

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.closing_ms, self.windows.len()))?;
        for (window, sides) in &self.windows {
            state.put(window)?;
            for (rows, schema) in sides.iter().zip(&self.shape.inputs) {
                let rows =
                    concat_batches(schema, rows).map_err(|error| StateError::Write(error.to_string()))?;
                save_rows(&rows, state)?;
            }
        }
        Ok(())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (closing_ms, count): (i64, usize) = state.take()?;
        self.closing_ms = closing_ms;
        self.windows.clear();
        self.waiting_bytes = 0;
        for _ in 0..count {
            let window: (i64, i64) = state.take()?;
            for side in Side::BOTH {
                let rows = load_rows(&self.shape.inputs[side.index()], state)?;
                if rows.num_rows() > 0 {
                    self.put(window, side, rows);
                }
            }
        }
        self.note_bytes();
        Ok(())
    }
}
