//! Session windows: operator that assigns each row to the session of its key. A session lasts as long as rows
//! of the key follow each other within a gap.
//!
//! Input      batches with a time column; rows may be taken back
//! Output     the same rows and their kinds of change, with the start, end and time of their session behind their columns
//! State      the rows of open sessions, by key
//! Emits      when the watermark is above the end of a session; sessions in the order of their ends
//! Late       the session to which the row would belong has ended: counted, and dropped
//! Watermark  lowered by a millisecond, forwarded after all sessions that it closes
//! Cost       one look-up per row; a look at all open sessions when the first of them may end
//! Source     Flink, "Windowing TVFs", SESSION
//!
//! A row opens the window `[t, t + gap)`, and windows of a key that touch are merged, as in Flink. Two rows
//! that lie exactly a gap apart are in the same session, if the second is on time. So a session that ends
//! exactly at the watermark stays open, because a row on time may still touch it. The operator forwards a
//! watermark that has not reached the end of this session either.
//!
//! If the time column is TIMESTAMP_LTZ, times are local times of the session's zone, as in Flink and as for
//! all other windows. A gap that spans the hour skipped in spring is one hour shorter in real time. A gap
//! that spans the hour repeated in autumn counts this hour once. So starts and ends are intervals of local
//! time that do not overlap within a key, and downstream operators know by the end alone when a session is
//! over.
//!
//! A row that is late by the watermark `w` counts with the part of its window that lies after `w`. So the
//! grouping of rows follows from the rows and their watermarks, in whatever order the rows of several sources
//! arrive. If no part of the window is left, the row is late.
//!
//! A row that is taken back belongs to the session of the row that it takes back. The session stays as long as it was, as in
//! Flink: its rows would have to be kept sorted to know how far it reaches without one of them.
//!
//! Differs from Flink: in Flink a row that is late alone joins a session of its key that happens to be open.
//! Here it does so only if all rows come from one source, because then the same session is open in every run.
//! In Flink a session fires at a watermark that is exactly its end, so a row on time at this end is in the
//! same session only if no other row moves the watermark before it. Here such a watermark may stand within a
//! batch, where no operator sees it, so it must not matter.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::interleave;
use arrow::datatypes::{SchemaRef, TimestampMillisecondType};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use chrono_tz::Tz;
use hashbrown::HashMap;
use thalweg_model::{EventTime, Horizon, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::keys::{growth_bytes, heap_bytes};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of, reserve_room};

use super::accounts::{Accounts, accounted};
use super::calc::schema_of;
use super::kept::{load_pieces, save_pieces};
use super::operator::{BatchOperator, Outcome};
use super::order::{bytes_of, compacted};
use super::window::with_windows;
use super::windows::Clocks;
use crate::plan::Column;

#[cfg(test)]
mod tests;

/// Operator that assigns rows to session windows.
pub struct AssignSessions {
    gap_ms: i64,
    keys: Vec<usize>,
    time: usize,
    converter: RowConverter,
    clocks: Clocks,
    input: SchemaRef,
    schema: SchemaRef,
    is_instant: bool,
    /// Open sessions of each key, in the order of their starts; sessions of a key do not touch.
    open: HashMap<Box<[u8]>, Vec<Session>, foldhash::fast::RandomState>,
    /// Batches with rows in open sessions. `None` marks an entry that can be reused.
    batches: Vec<Option<Held>>,
    free: Vec<usize>,
    /// Lower bound of the ends of all open sessions, in milliseconds of local time.
    least_end_ms: i64,
    closed: VecDeque<Session>,
    accounts: Accounts,
    /// Whether all rows come from one source, so that their order of arrival is the same in every run.
    is_single: bool,
    /// Bytes in memory of the batches whose rows are in open sessions.
    bytes: usize,
    /// Bytes in memory of the keys and the open sessions, without their rows.
    entry_bytes: usize,
}

/// Approximate bytes of an open session, and of a row in a session beside the row's values.
const SESSION_BYTES: usize = size_of::<Session>() + 16;
const ROW_BYTES: usize = 2 * size_of::<(usize, usize)>();

/// A batch with rows in open sessions.
struct Held {
    rows: RecordBatch,
    /// Change kind of each row; `None` if all rows are added.
    kinds: Option<Arc<[RowKind]>>,
    /// Number of the rows that are in open sessions.
    left: usize,
}

#[derive(Clone, Debug)]
struct Session {
    /// Start and end of the session in local time, in milliseconds.
    start_ms: i64,
    end_ms: i64,
    /// Lower end of the session for comparisons with other rows of the key, in half milliseconds: see
    /// [`Reach`].
    low: i128,
    /// Rows of the session in the order of arrival, each as the index of its batch and the index of the row
    /// in that batch.
    rows: Vec<(usize, usize)>,
}

impl AssignSessions {
    /// Creates the operator that assigns sessions by the key columns `keys` and the time column `time`, given
    /// as indexes.
    ///
    /// # Errors
    /// [`EvaluationError`](thalweg_sql_functions::functions::EvaluationError) if a key has a type that cannot
    /// be a key.
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
            input: schema_of(input),
            schema: schema_of(columns),
            is_instant: columns.last().is_some_and(|time| matches!(time.of, SqlType::TimestampLtz(_))),
            open: HashMap::default(),
            batches: Vec::new(),
            free: Vec::new(),
            least_end_ms: i64::MAX,
            closed: VecDeque::new(),
            accounts: Accounts::default(),
            is_single: false,
            bytes: 0,
            entry_bytes: 0,
        })
    }

    /// Sets whether all rows come from one source. If so, a late row that touches an open session of its key
    /// joins it, as in Flink.
    pub fn of_one_reader(self, is_single: bool) -> Self {
        AssignSessions { is_single, ..self }
    }

    fn held_bytes(&self) -> usize {
        self.bytes
            + self.entry_bytes
            + self.open.allocation_size()
            + self.closed.capacity() * size_of::<Session>()
    }

    fn note_bytes(&mut self) {
        let bytes = self.held_bytes();
        self.accounts.hold(bytes);
    }

    /// Copies the columns of the rows at `places`, in that order; a place is the index of a batch and of a
    /// row in it.
    fn columns_at(&self, places: &[(usize, usize)]) -> Outcome<Vec<ArrayRef>> {
        // Indexes of the batches that contain the wanted rows, each once.
        let mut used: Vec<usize> = places.iter().map(|(batch, _)| *batch).collect();
        used.sort_unstable();
        used.dedup();
        let from: Vec<(usize, usize)> =
            places.iter().map(|(batch, row)| (used.partition_point(|known| known < batch), *row)).collect();
        let held: Vec<&RecordBatch> =
            used.iter().filter_map(|batch| self.batches[*batch].as_ref().map(|held| &held.rows)).collect();
        (0..self.input.fields().len())
            .map(|place| {
                let columns: Vec<&dyn Array> = held.iter().map(|rows| &**rows.column(place)).collect();
                interleave(&columns, &from).map_err(arrow_error)
            })
            .collect()
    }

    /// Returns the change kinds of the rows at `places`; `None` if all of these rows are added.
    fn kinds_at(&self, places: &[(usize, usize)]) -> Option<Arc<[RowKind]>> {
        let kinds_of = |batch: usize| self.batches.get(batch)?.as_ref()?.kinds.as_ref();
        let kind = |(batch, row): &(usize, usize)| {
            kinds_of(*batch).and_then(|kinds| kinds.get(*row)).copied().unwrap_or(RowKind::Insert)
        };
        let has_kinds = places.iter().any(|(batch, _)| kinds_of(*batch).is_some());
        has_kinds.then(|| places.iter().map(kind).collect())
    }

    fn release(&mut self, batch: usize, rows: usize) {
        if let Some(slot) = self.batches.get_mut(batch)
            && let Some(held) = slot
        {
            held.left = held.left.saturating_sub(rows);
            if held.left == 0 {
                self.bytes = self.bytes.saturating_sub(bytes_of(&held.rows) + kind_bytes(&held.kinds));
                *slot = None;
                self.free.push(batch);
            }
        }
    }
}

fn kind_bytes(kinds: &Option<Arc<[RowKind]>>) -> usize {
    kinds.as_ref().map_or(0, |kinds| kinds.len())
}

/// Span of time that a row covers: from its time, or from the watermark if the row is below it, to a gap
/// after its time. The row joins the sessions of its key that the span touches.
#[derive(Clone, Copy, Debug)]
struct Reach {
    start_ms: i64,
    end_ms: i64,
    /// Lower end of the span in half milliseconds: the time of the row, or just after the watermark if the
    /// row is below it.
    low: i128,
}

impl Reach {
    fn of(start_ms: i64, gap_ms: i64, passed_ms: i64) -> Self {
        let low = match passed_ms <= start_ms {
            true => 2 * i128::from(start_ms),
            false => 2 * i128::from(passed_ms) + 1,
        };
        Reach { start_ms, end_ms: start_ms.saturating_add(gap_ms), low }
    }

    /// Returns whether the row is late: a session that consists of this row alone would have ended at or
    /// before the watermark.
    fn is_late(self) -> bool {
        2 * i128::from(self.end_ms) < self.low
    }

    /// Returns whether the span of a row touches an open session, so that the row belongs to that session.
    fn meets(self, session: &Session) -> bool {
        session.low <= 2 * i128::from(self.end_ms) && self.low <= 2 * i128::from(session.end_ms)
    }
}

/// Adds a row to the sessions of its key and merges the sessions that it touches. Returns the change of the
/// number of sessions.
fn join(sessions: &mut Vec<Session>, reach: Reach, row: (usize, usize)) -> isize {
    // The sessions of a key do not touch and are in order of time, so binary search finds the first one that
    // the row touches.
    let first = sessions.partition_point(|session| 2 * i128::from(session.end_ms) < reach.low);
    let count = sessions[first..].iter().take_while(|session| reach.meets(session)).count();
    if count == 0 {
        let Reach { start_ms, end_ms, low } = reach;
        // Most keys have one session, so memory for a single session is reserved at first.
        if sessions.is_empty() {
            sessions.reserve_exact(1);
        }
        sessions.insert(first, Session { start_ms, end_ms, low, rows: vec![row] });
        return 1;
    }
    let others: Vec<Session> = sessions.drain(first + 1..first + count).collect();
    let whole = &mut sessions[first];
    for other in others {
        whole.start_ms = whole.start_ms.min(other.start_ms);
        whole.end_ms = whole.end_ms.max(other.end_ms);
        whole.rows.extend(other.rows);
    }
    whole.start_ms = whole.start_ms.min(reach.start_ms);
    whole.end_ms = whole.end_ms.max(reach.end_ms);
    whole.low = whole.low.min(reach.low);
    whole.rows.push(row);
    1 - count as isize
}

impl BatchOperator for AssignSessions {
    fn name(&self) -> &str {
        "sessions"
    }

    fn take(&mut self, batch: Batch, late_by: EventTime) -> Outcome<()> {
        let Batch { rows, kinds, .. } = batch;
        let open = &self.open;
        let growth = growth_bytes(
            (open.len(), open.capacity(), open.allocation_size()),
            size_of::<(Box<[u8]>, Vec<Session>)>(),
            rows.num_rows(),
        );
        let room = reserve_room(&self.accounts.allowance, growth)?;
        self.accounts.counts.read += rows.num_rows() as u64;
        let passed = self.clocks.passed(late_by);
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
            let mut reach = Reach::of(self.clocks.reading(times.value(row)), self.gap_ms, passed);
            let key = keys.as_ref().map(|keys| keys.row(row));
            let key: &[u8] = key.as_ref().map_or(&[], |key| key.as_ref());
            let known = self.open.get_mut(key);
            if reach.is_late() {
                // The rows of one source have a fixed order, so a late row joins the same open session in
                // every run.
                reach.low = 2 * i128::from(reach.start_ms);
                let meets = |sessions: &&mut Vec<Session>| {
                    sessions.iter().any(|session| passed < session.end_ms && reach.meets(session))
                };
                if !self.is_single || !known.as_ref().is_some_and(meets) {
                    self.accounts.counts.late += 1;
                    continue;
                }
            }
            let more = match known {
                Some(sessions) => join(sessions, reach, (slot, row)),
                None => {
                    self.entry_bytes += heap_bytes(key.len());
                    join(self.open.entry(key.into()).or_default(), reach, (slot, row))
                }
            };
            self.entry_bytes =
                self.entry_bytes.saturating_add_signed(more * SESSION_BYTES as isize) + ROW_BYTES;
            kept += 1;
            // The session that the row joins ends where the row's own window ends or later, so the end of the
            // window is a lower bound.
            self.least_end_ms = self.least_end_ms.min(reach.end_ms);
        }
        self.accounts.counts.folded += kept as u64;
        if kept == 0 {
            self.free.push(slot);
        } else {
            let rows = compacted(rows)?;
            self.bytes += bytes_of(&rows) + kind_bytes(&kinds);
            self.batches[slot] = Some(Held { rows, kinds, left: kept });
        }
        drop(room);
        self.note_bytes();
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        let passed = self.clocks.passed(watermark);
        // A session that ends exactly at the watermark is not over, because a row on time may still touch it.
        let is_over = |end_ms: i64| end_ms < passed || passed == i64::MAX;
        if !is_over(self.least_end_ms) {
            return Ok(());
        }
        self.least_end_ms = i64::MAX;
        let mut closed = Vec::new();
        let mut freed = 0;
        self.open.retain(|key, sessions| {
            closed.extend(sessions.extract_if(.., |session| is_over(session.end_ms)));
            for session in &*sessions {
                self.least_end_ms = self.least_end_ms.min(session.end_ms);
            }
            if sessions.is_empty() {
                freed += heap_bytes(key.len());
            }
            !sessions.is_empty()
        });
        self.entry_bytes = self.entry_bytes.saturating_sub(freed);
        closed.sort_by_key(|session| (session.end_ms, session.start_ms, session.rows.first().copied()));
        if self.closed.is_empty() {
            self.closed = closed.into();
        } else {
            self.closed.extend(closed);
        }
        if self.open.is_empty() {
            self.open = HashMap::default();
        }
        self.note_bytes();
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        let (mut starts, mut ends, mut times) = (Vec::new(), Vec::new(), Vec::new());
        let mut places: Vec<(usize, usize)> = Vec::new();
        while let Some(mut session) = self.closed.pop_front() {
            let room = BATCH_ROWS_MAX - places.len();
            let rest = session.rows.split_off(session.rows.len().min(room));
            let count = session.rows.len();
            starts.extend(std::iter::repeat_n(session.start_ms, count));
            ends.extend(std::iter::repeat_n(session.end_ms, count));
            times.extend(std::iter::repeat_n(self.clocks.time_of(session.end_ms), count));
            places.append(&mut session.rows);
            self.entry_bytes = self.entry_bytes.saturating_sub(count * ROW_BYTES);
            if rest.is_empty() {
                self.entry_bytes = self.entry_bytes.saturating_sub(SESSION_BYTES);
            } else {
                self.closed.push_front(Session { rows: rest, ..session });
                break;
            }
        }
        if self.closed.is_empty() {
            self.closed = VecDeque::new();
        }
        if places.is_empty() {
            return Ok(None);
        }
        let columns = self.columns_at(&places)?;
        let rows = with_windows(&self.schema, columns, starts, ends, times, self.is_instant)?;
        let kinds = self.kinds_at(&places);
        for (batch, _) in places {
            self.release(batch, 1);
        }
        Ok(Some(Batch { kinds, ..Batch::new(rows) }))
    }

    fn emits_own_times(&self) -> bool {
        true
    }

    fn forward(&self, watermark: EventTime) -> EventTime {
        self.clocks.clone().before(watermark)
    }

    fn horizon(&self) -> Horizon {
        Horizon::EVERYWHERE
    }

    accounted!();

    fn state_bytes(&self) -> usize {
        self.held_bytes()
    }

    /// Saves the keys with their open sessions, and then the rows of all sessions in the same order.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let mut open: Vec<(&Box<[u8]>, &Vec<Session>)> = self.open.iter().collect();
        open.sort_unstable_by_key(|(key, _)| *key);
        state.put(&open.len())?;
        for (key, sessions) in &open {
            let saved = |session: &Session| {
                (session.start_ms, session.end_ms, session.low, session.rows.len() as u64)
            };
            let sessions: Vec<SavedSession> = sessions.iter().map(saved).collect();
            state.put(&(key, sessions))?;
        }
        let sessions = open.iter().flat_map(|(_, sessions)| *sessions);
        let places: Vec<(usize, usize)> = sessions.flat_map(|session| session.rows.iter().copied()).collect();
        state.put(&self.kinds_at(&places).as_deref().map(<[RowKind]>::to_vec))?;
        let piece = |range: Range<usize>| {
            let count = range.len();
            batch_of(&self.input, self.columns_at(&places[range])?, count)
        };
        save_pieces(places.len(), piece, state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        (self.batches, self.free, self.bytes, self.entry_bytes) = (Vec::new(), Vec::new(), 0, 0);
        self.open.clear();
        self.least_end_ms = i64::MAX;
        let keys: usize = state.take()?;
        let mut open: Vec<(Box<[u8]>, Vec<SavedSession>)> = Vec::new();
        for _ in 0..keys {
            open.push(state.take()?);
        }
        let kinds: Option<Vec<RowKind>> = state.take()?;
        let mut places: Vec<(usize, usize)> = Vec::new();
        load_pieces(&self.input.clone(), state, |rows| {
            let (slot, left) = (self.batches.len(), rows.num_rows());
            let from = places.len();
            let kinds: Option<Arc<[RowKind]>> = match &kinds {
                None => None,
                Some(kinds) => Some(kinds.get(from..from + left).ok_or_else(not_counted)?.into()),
            };
            places.extend((0..left).map(|row| (slot, row)));
            self.bytes += bytes_of(&rows) + kind_bytes(&kinds);
            self.batches.push(Some(Held { rows, kinds, left }));
            Ok(())
        })?;
        let mut rest = &places[..];
        for (key, saved) in open {
            self.entry_bytes += heap_bytes(key.len());
            let mut sessions = Vec::with_capacity(saved.len());
            for (start_ms, end_ms, low, count) in saved {
                let own = usize::try_from(count).ok().and_then(|count| rest.split_at_checked(count));
                let Some((own, behind)) = own else {
                    return Err(state.wrong(not_counted().message));
                };
                rest = behind;
                self.entry_bytes += SESSION_BYTES + own.len() * ROW_BYTES;
                self.least_end_ms = self.least_end_ms.min(end_ms);
                sessions.push(Session { start_ms, end_ms, low, rows: own.to_vec() });
            }
            self.open.insert(key, sessions);
        }
        if !rest.is_empty() || kinds.is_some_and(|kinds| kinds.len() != places.len()) {
            return Err(state.wrong(not_counted().message));
        }
        self.note_bytes();
        Ok(())
    }
}

/// A session as it is saved: its start, its end and its lower end, and the number of its rows.
type SavedSession = (i64, i64, i128, u64);

/// Returns the error for saved sessions that have more rows than were saved, or fewer.
fn not_counted() -> EvaluationError {
    let message = "there are more rows, or kinds of change, than sessions have, or fewer".to_owned();
    EvaluationError { code: "EVALUATION", message }
}
