//! Sessions: gives rows the windows that last as long as rows of a key follow each other within a gap.
//!
//! Input      batches with a time column
//! Output     the same rows with the start, end and time of their session behind their columns
//! State      the rows of open sessions, by key
//! Emits      when the watermark reaches the end of a session; sessions in the order of their ends
//! Late       the session that it would be in has ended: counted, and dropped
//! Watermark  forwarded unchanged, after all that it closes
//! Cost       one look-up per row; a look at all open sessions when the first of them may end
//! Source     Flink, "Windowing TVFs", SESSION
//!
//! A row opens the window `[t, t + gap)`, and windows of a key that touch are one, as in Flink: two rows that lie exactly a
//! gap apart are in the same session.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::interleave;
use arrow::datatypes::{SchemaRef, TimestampMillisecondType};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use chrono_tz::Tz;
use hashbrown::HashMap;
use thalweg_model::{Allowance, Counts, EventTime, Horizon};

use super::calc::schema_of;
use super::operator::{BatchOperator, Outcome};
use super::order::bytes_of;
use super::window::with_windows;
use super::windows::{Clocks, passed_ms};
use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::expression::arrow_error;
use crate::plan::Column;
use crate::types::SqlType;

/// Gives rows their sessions.
pub struct AssignSessions {
    gap_ms: i64,
    keys: Vec<usize>,
    time: usize,
    converter: RowConverter,
    clocks: Clocks,
    schema: SchemaRef,
    is_instant: bool,
    /// Open sessions of each key, in the order of their starts; they do not touch.
    open: HashMap<Box<[u8]>, Vec<Session>, foldhash::fast::RandomState>,
    /// Batches whose rows are in open sessions, each with how many are; a slot without is free.
    batches: Vec<Option<(RecordBatch, usize)>>,
    free: Vec<usize>,
    /// No open session ends before this instant.
    least_end_ms: i64,
    closed: VecDeque<Session>,
    counts: Counts,
    bytes: usize,
    allowance: Allowance,
}

#[derive(Clone, Debug)]
struct Session {
    /// As instants.
    start_ms: i64,
    end_ms: i64,
    /// Batch and row of each of its rows, in the order in which they came.
    rows: Vec<(usize, usize)>,
}

impl AssignSessions {
    /// Sessions of the columns at `keys`, by the time column at `time`.
    ///
    /// # Errors
    /// [`crate::functions::EvaluationError`] if a key is of a type that cannot be one.
    pub fn new(
        gap_ms: i64,
        keys: Vec<usize>,
        time: usize,
        zone: Option<Tz>,
        input: &[Column],
        columns: &[Column],
    ) -> Outcome<Self> {
        let fields = keys.iter().map(|place| SortField::new(input[*place].of.arrow())).collect();
        Ok(AssignSessions {
            gap_ms,
            converter: RowConverter::new(fields).map_err(arrow_error)?,
            keys,
            time,
            clocks: Clocks::new(zone),
            schema: schema_of(columns),
            is_instant: columns.last().is_some_and(|time| matches!(time.of, SqlType::TimestampLtz(_))),
            open: HashMap::default(),
            batches: Vec::new(),
            free: Vec::new(),
            least_end_ms: i64::MAX,
            closed: VecDeque::new(),
            counts: Counts::default(),
            bytes: 0,
            allowance: Allowance::default(),
        })
    }

    fn release(&mut self, batch: usize, rows: usize) {
        if let Some(slot) = self.batches.get_mut(batch)
            && let Some((held, count)) = slot
        {
            *count = count.saturating_sub(rows);
            if *count == 0 {
                self.bytes = self.bytes.saturating_sub(bytes_of(held));
                *slot = None;
                self.free.push(batch);
            }
        }
    }
}

/// Puts a row's window among the sessions of its key; those that it touches become one. False if that one has ended.
fn join(
    sessions: &mut Vec<Session>,
    start_ms: i64,
    end_ms: i64,
    row: (usize, usize),
    passed_ms: i64,
) -> Option<i64> {
    let touches = |session: &Session| session.start_ms <= end_ms && start_ms <= session.end_ms;
    let first = sessions.iter().position(touches);
    let Some(first) = first else {
        if end_ms <= passed_ms {
            return None;
        }
        let place = sessions.partition_point(|session| session.start_ms < start_ms);
        sessions.insert(place, Session { start_ms, end_ms, rows: vec![row] });
        return Some(end_ms);
    };
    let count = sessions[first..].iter().take_while(|session| touches(session)).count();
    let mut joined: Vec<Session> = sessions.drain(first..first + count).collect();
    let mut whole = joined.remove(0);
    for other in joined {
        whole.end_ms = whole.end_ms.max(other.end_ms);
        whole.rows.extend(other.rows);
    }
    whole.start_ms = whole.start_ms.min(start_ms);
    whole.end_ms = whole.end_ms.max(end_ms);
    whole.rows.push(row);
    let end = whole.end_ms;
    sessions.insert(first, whole);
    Some(end)
}

impl BatchOperator for AssignSessions {
    fn name(&self) -> &str {
        "sessions"
    }

    fn take(&mut self, batch: Batch, late_by: EventTime) -> Outcome<()> {
        let rows = batch.rows;
        self.counts.read += rows.num_rows() as u64;
        let passed = passed_ms(late_by);
        let keys: Vec<ArrayRef> = self.keys.iter().map(|place| Arc::clone(rows.column(*place))).collect();
        let keys = if keys.is_empty() {
            None
        } else {
            Some(self.converter.convert_columns(&keys).map_err(arrow_error)?)
        };
        let times = rows.column(self.time).as_primitive::<TimestampMillisecondType>();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.batches.push(None);
            self.batches.len() - 1
        });
        let mut kept = 0;
        for row in 0..rows.num_rows() {
            let start = times.value(row);
            let end = start.saturating_add(self.gap_ms);
            let none: &[u8] = &[];
            let joined = match &keys {
                Some(keys) => {
                    let key = keys.row(row);
                    let key: &[u8] = key.as_ref();
                    match self.open.get_mut(key) {
                        Some(sessions) => join(sessions, start, end, (slot, row), passed),
                        None => {
                            join(self.open.entry(key.into()).or_default(), start, end, (slot, row), passed)
                        }
                    }
                }
                None => join(self.open.entry(none.into()).or_default(), start, end, (slot, row), passed),
            };
            match joined {
                Some(end) => {
                    kept += 1;
                    self.least_end_ms = self.least_end_ms.min(end);
                }
                None => self.counts.late += 1,
            }
        }
        self.counts.folded += kept as u64;
        if kept == 0 {
            self.free.push(slot);
        } else {
            let bytes = bytes_of(&rows);
            let _ = self.allowance.ask(bytes);
            self.bytes += bytes;
            self.batches[slot] = Some((rows, kept));
        }
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        let passed = passed_ms(watermark);
        if self.least_end_ms > passed {
            return Ok(());
        }
        self.least_end_ms = i64::MAX;
        let mut closed = Vec::new();
        self.open.retain(|_, sessions| {
            sessions.retain(|session| {
                let is_over = session.end_ms <= passed;
                if is_over {
                    closed.push(session.clone());
                } else {
                    self.least_end_ms = self.least_end_ms.min(session.end_ms);
                }
                !is_over
            });
            !sessions.is_empty()
        });
        closed.sort_by_key(|session| (session.end_ms, session.start_ms, session.rows.first().copied()));
        self.closed.extend(closed);
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        let (mut starts, mut ends, mut times) = (Vec::new(), Vec::new(), Vec::new());
        let mut places: Vec<(usize, usize)> = Vec::new();
        while let Some(mut session) = self.closed.pop_front() {
            let room = BATCH_ROWS_MAX - places.len();
            let rest = session.rows.split_off(session.rows.len().min(room));
            let count = session.rows.len();
            let start = self.clocks.reading(session.start_ms);
            let end = self.clocks.reading(session.end_ms);
            starts.extend(std::iter::repeat_n(start, count));
            ends.extend(std::iter::repeat_n(end, count));
            let time = if self.is_instant { session.end_ms - 1 } else { end - 1 };
            times.extend(std::iter::repeat_n(time, count));
            places.append(&mut session.rows);
            if !rest.is_empty() {
                self.closed.push_front(Session { rows: rest, ..session });
                break;
            }
        }
        if places.is_empty() {
            return Ok(None);
        }
        // The batches that these rows are in, each once.
        let mut used: Vec<usize> = places.iter().map(|(batch, _)| *batch).collect();
        used.sort_unstable();
        used.dedup();
        let from: Vec<(usize, usize)> =
            places.iter().map(|(batch, row)| (used.partition_point(|known| known < batch), *row)).collect();
        let held: Vec<&RecordBatch> =
            used.iter().filter_map(|batch| self.batches[*batch].as_ref().map(|(rows, _)| rows)).collect();
        let width = held.first().map_or(0, |rows| rows.num_columns());
        let columns = (0..width)
            .map(|place| {
                let columns: Vec<&dyn Array> = held.iter().map(|rows| &**rows.column(place)).collect();
                interleave(&columns, &from).map_err(arrow_error)
            })
            .collect::<Outcome<Vec<_>>>()?;
        let rows = with_windows(&self.schema, columns, starts, ends, times, self.is_instant)?;
        for (batch, _) in places {
            self.release(batch, 1);
        }
        Ok(Some(Batch::new(rows)))
    }

    fn emits_own_times(&self) -> bool {
        true
    }

    fn horizon(&self) -> Horizon {
        Horizon::EVERYWHERE
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn state_bytes(&self) -> usize {
        self.bytes
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}
