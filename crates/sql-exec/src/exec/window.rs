//! Operator that computes aggregates per key and window, or per key over a whole input that ends.
//!
//! Input      batches with a time column, or with the start and end of each row's window; rows may be taken back
//! Output     keys, results, start, end and time of the window; in the order of the windows' ends. Over a whole input:
//!            keys and results
//! State      a table of keys with accumulators per slice: windows that overlap share slices
//! Emits      when the watermark reaches the end of a window, or at the end of the input; in pieces
//! Late       all windows of a row have ended: counted, and not folded, also if the row is taken back
//! Watermark  forwarded unchanged, after the output of all windows that it closes
//! Cost       one look-up per row; a window merges its slices when it ends
//! Source     Flink, "Window Aggregation"; Li et al., "No Pane, No Gain", SIGMOD Record 34(1), 2005, for slices
//!
//! A window fires once: a row that is on time for some of its windows counts for the windows that have not
//! ended. Windows without rows do not come out, nor do keys whose rows were all taken back.
//!
//! A GROUP BY without a window whose answer waits for the end of its input is an aggregate over the whole input: no row
//! of it is late. In batch mode, an aggregate without keys has a row even if its input has none, as in SQL.

use std::any::Any;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, TimestampMillisecondArray, UInt32Array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::{SchemaRef, TimestampMillisecondType};
use arrow::record_batch::RecordBatch;
use chrono_tz::Tz;
use overflow::Overflow;
use table::{Shape, Table};
use thalweg_model::{EventTime, Horizon, SlidingWindows, Span, StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::scratch::EVALUATION_BYTES_MAX;
use thalweg_sql_functions::types::{INSTANT_ZONE, SqlType};
use thalweg_sql_tables::batch::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, Batch, batch_of, pay, reserve_room};

use super::accounts::{Accounts, accounted};
use super::calc::schema_of;
use super::operator::{BatchOperator, Outcome};
use super::order::{bytes_of, taken};
use super::windows::{Clocks, Slices};
use crate::plan::{AggregateCall, Column, WindowSpec};

mod overflow;
mod present;
mod table;
#[cfg(test)]
mod tests;

/// The way in which the window aggregate finds the windows of a row.
#[derive(Clone, Debug)]
enum Cut {
    /// The aggregate cuts the windows itself, by the time column.
    Here {
        slices: Slices,
        /// Index of the time column by which the windows are cut.
        time: usize,
    },
    /// An earlier operator has cut the windows, and their start and end stand in columns of each row.
    Before {
        /// Index of the column that holds the start of the row's window.
        start: usize,
        /// Index of the column that holds the end of the row's window.
        end: usize,
    },
    /// There are no windows: all rows are aggregated together until the input ends.
    Whole {
        /// Whether an aggregate without keys has a result if its input has no rows.
        has_row_without_input: bool,
    },
}

/// Stands in [`WindowAggregate::slices`] for rows that were late for no window of their slice.
const ON_TIME: i64 = i64::MIN;

/// Place in [`WindowAggregate::slices`] of the only table of keys of an aggregate over the whole input.
const WHOLE: (i64, i64) = (0, 0);

/// Returns the last end, at or before the local time `passed_ms`, of the windows of a slice: rows that come now are late for the
/// windows up to it, whether or not these have fired. [`ON_TIME`] if no window of the slice has ended.
fn late_end(slices: Slices, slice: i64, passed_ms: i64) -> i64 {
    if slices.first_end_of(slice) > passed_ms { ON_TIME } else { slices.start_of(passed_ms) }
}

/// Arguments from which a window aggregate is created.
pub struct Asked<'a> {
    /// Columns of the input of the window aggregate.
    pub input: &'a [Column],
    /// Indexes of the key columns in the input.
    pub keys: Vec<usize>,
    /// Aggregate functions that are computed per key and window.
    pub calls: Vec<AggregateCall>,
    /// Columns of the output of the window aggregate.
    pub columns: &'a [Column],
    /// Whether the input may take rows back. Planning refuses calls that cannot do so.
    pub is_retracting: bool,
    /// Seed of the hash tables of keys.
    pub hash_seed: u64,
}

/// Operator that computes aggregates per key and window.
pub struct WindowAggregate {
    shape: Arc<Shape>,
    cut: Cut,
    clocks: Clocks,
    /// Hash table of keys and accumulators for each slice, by the start of the slice. Rows that were late for the first
    /// windows of their slice have a table of their own, whose second number is the last end by which they were late; it is
    /// [`ON_TIME`] for other rows. If an earlier operator has assigned windows to the rows, there is one table for each window,
    /// by the end and the start of the window. Times are in milliseconds of local time.
    slices: BTreeMap<(i64, i64), Table>,
    /// Windows that end at or before this local time, in milliseconds, have fired: all of their results were
    /// emitted.
    closed_ms: i64,
    /// Windows that end at or before this local time, in milliseconds, have ended by the watermark and are
    /// fired one after the other.
    closing_ms: i64,
    /// End of the window that has fired last since the last watermark, in milliseconds of local time.
    fired_end: i64,
    firing: Option<Fired>,
    accounts: Accounts,
    bytes: usize,
    /// Highest byte count of the state since the last call began. Only bytes above it are reserved from the
    /// memory budget, so memory that is freed and needed again within a call is not reserved twice.
    asked: usize,
    /// Error of a window that fires; it is returned after the results of the earlier windows were emitted.
    failure: Option<EvaluationError>,
    /// Rows on disk of keys that have no room in memory, if the aggregate may put rows there.
    overflow: Option<Overflow>,
}

/// A window that has ended and whose results are being emitted.
struct Fired {
    start: i64,
    end: i64,
    table: Table,
    next: usize,
}

impl WindowAggregate {
    /// Creates a window aggregate that cuts the windows itself by the time column with the index `time`. With
    /// a `zone`, the column holds instants and windows are cut in local time. Returns `None` for session
    /// windows.
    pub fn cutting(spec: &WindowSpec, time: usize, zone: Option<Tz>, asked: Asked<'_>) -> Option<Self> {
        Some(Self::new(Cut::Here { slices: Slices::of(spec)?, time }, zone, asked))
    }

    /// Creates a window aggregate that takes the windows from the columns `start` and `end` of the rows.
    pub fn given((start, end): (usize, usize), zone: Option<Tz>, asked: Asked<'_>) -> Self {
        Self::new(Cut::Before { start, end }, zone, asked)
    }

    /// Creates an aggregate over the whole input, whose output has no columns of windows. If `has_row_without_input` is
    /// true, an aggregate without keys has a result even if there are no rows.
    pub fn at_the_end(has_row_without_input: bool, asked: Asked<'_>) -> Self {
        Self::new(Cut::Whole { has_row_without_input }, None, asked)
    }

    fn new(cut: Cut, zone: Option<Tz>, asked: Asked<'_>) -> Self {
        let Asked { input, keys, calls, columns, is_retracting, hash_seed } = asked;
        let key_types = keys.iter().map(|place| input[*place].of.clone()).collect();
        let schema = schema_of(columns);
        let is_instant = columns.last().is_some_and(|time| matches!(time.of, SqlType::TimestampLtz(_)));
        let is_in_order = calls.iter().any(AggregateCall::is_ordered);
        let shape =
            Shape { keys, key_types, calls, schema, is_instant, is_retracting, is_in_order, hash_seed };
        Self::of_shape(Arc::new(shape), cut, Clocks::new(zone))
    }

    /// Returns a function that creates copies of the aggregate without state.
    pub fn copies(&self) -> impl Fn() -> WindowAggregate + Send + Sync + use<> {
        let (shape, cut, clocks) = (Arc::clone(&self.shape), self.cut.clone(), self.clocks.clone());
        let spilling = self.overflow.as_ref().map(|overflow| overflow.spilling().clone());
        move || Self::of_shape(Arc::clone(&shape), cut.clone(), clocks.clone()).spilling(spilling.clone())
    }

    fn of_shape(shape: Arc<Shape>, cut: Cut, clocks: Clocks) -> Self {
        WindowAggregate {
            shape,
            cut,
            clocks,
            slices: BTreeMap::new(),
            closed_ms: i64::MIN,
            closing_ms: i64::MIN,
            fired_end: i64::MIN,
            firing: None,
            accounts: Accounts::default(),
            bytes: 0,
            asked: 0,
            failure: None,
            overflow: None,
        }
    }

    /// Returns the slice of all rows of a batch if the least and the greatest time are in the same slice, as
    /// in most batches.
    fn only_place(&self, rows: &RecordBatch, passed_ms: i64) -> Option<(i64, i64)> {
        let (slices, time) = match self.cut {
            Cut::Here { slices, time } => (slices, time),
            Cut::Before { .. } => return None,
            Cut::Whole { .. } => return Some(WHOLE),
        };
        let times = rows.column(time).as_primitive::<TimestampMillisecondType>().values();
        // With a time zone, local time may go back between two instants, so the least and the greatest
        // instant do not decide.
        let first = *times.first().filter(|_| self.clocks.is_none())?;
        let (least, most) =
            times.iter().fold((first, first), |(least, most), time| (least.min(*time), most.max(*time)));
        let slice = slices.start_of(least);
        (most.checked_sub(slice)? < slices.slice_ms).then_some((slice, late_end(slices, slice, passed_ms)))
    }

    /// Returns the slice of a sliding window to which each row of a batch belongs. If an operator before this one has
    /// assigned windows to the rows, returns the window of each row instead.
    fn places(&mut self, rows: &RecordBatch, passed_ms: i64) -> Vec<(i64, i64)> {
        match self.cut {
            Cut::Here { slices, time } => {
                let times = rows.column(time).as_primitive::<TimestampMillisecondType>();
                let place = |time: &i64| {
                    let slice = slices.start_of(self.clocks.reading(*time));
                    (slice, late_end(slices, slice, passed_ms))
                };
                times.values().iter().map(place).collect()
            }
            Cut::Before { start, end } => {
                let starts = rows.column(start).as_primitive::<TimestampMillisecondType>();
                let ends = rows.column(end).as_primitive::<TimestampMillisecondType>();
                ends.values().iter().copied().zip(starts.values().iter().copied()).collect()
            }
            Cut::Whole { .. } => vec![WHOLE; rows.num_rows()],
        }
    }

    /// Returns whether all windows of a slice have ended at or before the local time `passed_ms`. If an earlier operator
    /// has assigned windows to the rows, `place` is a window.
    fn has_passed(&self, place: (i64, i64), passed_ms: i64) -> bool {
        match &self.cut {
            Cut::Here { slices, .. } => slices.last_end_of(place.0) <= passed_ms,
            Cut::Before { .. } => place.0 <= passed_ms,
            Cut::Whole { .. } => false,
        }
    }

    /// Aggregates rows into the table of keys of the slice or window `place`, which is created if it is
    /// missing.
    fn fold_into(&mut self, place: (i64, i64), batch: &Batch, groups: &mut Vec<u32>) -> Outcome<()> {
        let divided = self.divided(place, batch)?;
        let batch = divided.as_ref().unwrap_or(batch);
        let shape = Arc::clone(&self.shape);
        let table = self.slices.entry(place).or_insert_with(|| shape.table());
        // A full table was given the rows of its own keys only.
        let growth = match divided {
            Some(_) => table.growth_bytes_of_known(&batch.rows),
            None => table.growth_bytes(&batch.rows),
        };
        let room = reserve_room(&self.accounts.allowance, growth)?;
        shape.fold(table, batch, groups)?;
        drop(room);
        let counted = table.count();
        self.note(counted);
        Ok(())
    }

    /// Updates the byte count of the state after one table of keys changed. Only the change is counted,
    /// because there may be many tables.
    fn note(&mut self, (before, after): (usize, usize)) {
        self.bytes = (self.bytes + after).saturating_sub(before);
        if self.bytes > self.asked {
            // A refusal by the memory budget is ignored, because the runner of the operator sees it and ends
            // the query.
            let _ = self.accounts.allowance.ask(self.bytes - self.asked);
            self.asked = self.bytes;
        }
    }

    /// Creates the group of an aggregate without keys, unless rows have created it.
    fn begin_without_rows(&mut self) {
        let shape = Arc::clone(&self.shape);
        let table = self.slices.entry(WHOLE).or_insert_with(|| shape.table());
        table.index.index(&[], 1, &mut Vec::new());
        table.accumulators.iter_mut().for_each(|accumulator| accumulator.resize(1));
        let counted = table.count();
        self.note(counted);
    }

    /// Removes the table of keys of a window from the state and returns it, so that its results are emitted.
    fn fired(&mut self, place: (i64, i64), start: i64, end: i64) -> Option<Fired> {
        self.slices.remove(&place).map(|table| Fired { start, end, table, next: 0 })
    }

    /// Removes the table of keys of a slice whose windows have all fired.
    fn forget(&mut self, place: (i64, i64)) {
        if let Some(table) = self.slices.remove(&place) {
            self.note((table.counted, 0));
        }
    }

    /// Starts the output of the next window that has ended; returns `None` if no other window has ended.
    fn fire(&mut self) -> Outcome<Option<Fired>> {
        let slices = match self.cut {
            Cut::Here { slices, .. } => slices,
            Cut::Before { .. } => {
                let Some((&(end, start), _)) = self.slices.first_key_value() else { return Ok(None) };
                if end > self.closing_ms {
                    return Ok(None);
                }
                return Ok(self.fired((end, start), start, end));
            }
            // Only the watermark at the end of the input closes every span of time.
            Cut::Whole { .. } if self.closing_ms < i64::MAX => return Ok(None),
            Cut::Whole { .. } => return Ok(self.fired(WHOLE, 0, 0)),
        };
        let Some(end) = self.next_end(slices) else { return Ok(None) };
        self.fired_end = end;
        let start = slices.start_of_window(end);
        if slices.is_one_each() {
            return Ok(self.fired((start, ON_TIME), start, end));
        }
        let mut table = self.shape.table();
        let parts: Vec<(i64, i64)> = self
            .slices
            .range((start, ON_TIME)..(end, ON_TIME))
            .map(|(place, _)| *place)
            .filter(|(_, late_end)| *late_end < end)
            .collect();
        for part in &parts {
            let Some(slice) = self.slices.get(part) else { continue };
            let counted = self.shape.merge(&mut table, slice, &self.accounts.allowance)?;
            self.note(counted);
        }
        if slices.accumulates() {
            parts.into_iter().for_each(|place| self.forget(place));
            if end < slices.last_end_of(start) {
                // Cumulative windows with the same start share their first slices, so these slices are
                // merged once and kept as one table.
                let mut first = self.shape.table();
                let counted = self.shape.merge(&mut first, &table, &self.accounts.allowance)?;
                self.note(counted);
                self.slices.insert((start, ON_TIME), first);
            }
        }
        Ok(Some(Fired { start, end, table, next: 0 }))
    }

    /// Returns the end of the next window that fires; `None` if no window with rows has ended. Drops the slices whose windows
    /// have all fired.
    fn next_end(&mut self, slices: Slices) -> Option<i64> {
        let (mut next, mut over) = (None, Vec::new());
        for &(slice, late_end) in self.slices.keys() {
            // Windows of this slice and of those behind it end later.
            if next.is_some_and(|next| slices.first_end_of(slice) > next) {
                break;
            }
            let last = slices.last_end_of(slice);
            let mut end = slices.first_end_of(slice);
            while end <= last && (end <= self.fired_end || end <= self.closed_ms || end <= late_end) {
                end += slices.slice_ms;
            }
            if end > last {
                over.push((slice, late_end));
            } else {
                next = Some(next.map_or(end, |next: i64| next.min(end)));
            }
        }
        over.into_iter().for_each(|place| self.forget(place));
        next.filter(|end| *end <= self.closing_ms)
    }

    /// Returns at most `rows_max` further result rows of the windows that fire; `None` at their end.
    fn piece(&mut self, rows_max: usize) -> Outcome<Option<RecordBatch>> {
        loop {
            if self.firing.is_none() {
                if self.closing_ms == i64::MAX && self.fold_from_disk()? {
                    // An empty piece lets the worker do other work between two blocks of a long file.
                    return Ok(Some(RecordBatch::new_empty(Arc::clone(&self.shape.schema))));
                }
                self.firing = self.fire()?;
            }
            let Some(fired) = &mut self.firing else {
                // All windows that end at or before the watermark have fired, so rows of these windows that
                // come from now on are late.
                self.closed_ms = self.closing_ms;
                return Ok(None);
            };
            let from = fired.next;
            let mut to = fired.table.index.len().min(from + rows_max);
            let result_bytes = |to: usize| -> usize {
                fired.table.accumulators.iter().map(|calls| calls.result_bytes(from..to)).sum()
            };
            while to > from + 1 && result_bytes(to) > EVALUATION_BYTES_MAX {
                to = from + (to - from) / 2;
            }
            // Twice the bytes of a result are reserved, because the result is built first and then copied
            // into its column.
            let payment = pay(&self.accounts.allowance, result_bytes(to).saturating_mul(2), "STATE_LIMIT")?;
            fired.next = to;
            if from < to {
                let Some(fired) = &self.firing else { return Ok(None) };
                let rows = self.emit(fired, from..to)?;
                drop(payment);
                if rows.num_rows() == 0 {
                    continue;
                }
                return Ok(Some(rows));
            }
            let counted = fired.table.counted;
            self.firing = None;
            self.note((counted, 0));
        }
    }

    fn emit(&self, fired: &Fired, groups: Range<usize>) -> Outcome<RecordBatch> {
        let left = fired.table.present.as_ref().and_then(|present| present.left(groups.clone()));
        let rows = left.as_ref().map_or(groups.len(), Vec::len);
        if rows == 0 {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.shape.schema)));
        }
        let mut columns = match &left {
            None => fired.table.index.columns(groups.clone())?,
            Some(left) => fired.table.index.columns_of(left)?,
        };
        for accumulator in &fired.table.accumulators {
            columns.push(match &left {
                None => accumulator.results(groups.clone())?,
                Some(left) => accumulator.results_of(left)?,
            });
        }
        if matches!(self.cut, Cut::Whole { .. }) {
            return batch_of(&self.shape.schema, columns, rows);
        }
        let time = |millis: i64| TimestampMillisecondArray::from(vec![millis; rows]);
        columns.push(Arc::new(time(fired.start)));
        columns.push(Arc::new(time(fired.end)));
        columns.push(if self.shape.is_instant {
            Arc::new(time(self.clocks.time_of(fired.end)).with_timezone(INSTANT_ZONE))
        } else {
            Arc::new(time(self.clocks.time_of(fired.end)))
        });
        batch_of(&self.shape.schema, columns, rows)
    }
}

impl BatchOperator for WindowAggregate {
    fn name(&self) -> &str {
        if matches!(self.cut, Cut::Whole { .. }) { "group" } else { "window" }
    }

    fn state_kind(&self) -> &str {
        match self.cut {
            Cut::Here { .. } => "window",
            Cut::Before { .. } => "given window",
            Cut::Whole { .. } => "final group",
        }
    }

    fn take(&mut self, batch: Batch, late_by: EventTime) -> Outcome<()> {
        let rows = batch.len();
        self.asked = self.bytes;
        self.accounts.counts.read += rows as u64;
        let passed = self.clocks.passed(late_by);
        let mut groups = Vec::with_capacity(rows);
        let places = match self.only_place(&batch.rows, passed) {
            Some(only) => vec![only],
            None => self.places(&batch.rows, passed),
        };
        let Some(&first) = places.first() else { return Ok(()) };
        if places.iter().all(|place| *place == first) {
            if self.has_passed(first, passed) {
                self.accounts.counts.late += rows as u64;
                return Ok(());
            }
            self.accounts.counts.folded += rows as u64;
            self.fold_into(first, &batch, &mut groups)?;
        } else {
            // Row indexes are sorted by slice or window; rows of the same slice or window stay in the order
            // of arrival.
            let mut order: Vec<u32> = (0..rows as u32).collect();
            order.sort_by_key(|row| places[*row as usize]);
            for part in order.chunk_by(|left, right| places[*left as usize] == places[*right as usize]) {
                let place = places[part[0] as usize];
                if self.has_passed(place, passed) {
                    self.accounts.counts.late += part.len() as u64;
                    continue;
                }
                self.accounts.counts.folded += part.len() as u64;
                let kinds =
                    batch.kinds.as_ref().map(|kinds| part.iter().map(|row| kinds[*row as usize]).collect());
                let rows = taken(&batch.rows, &UInt32Array::from(part.to_vec()))?;
                self.fold_into(place, &Batch { kinds, ..Batch::new(rows) }, &mut groups)?;
            }
        }
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        self.asked = self.bytes;
        let has_ended = self.closing_ms == i64::MAX;
        self.closing_ms = self.closing_ms.max(self.clocks.passed(watermark));
        self.fired_end = i64::MIN;
        // The last watermark may come again.
        if let Cut::Whole { has_row_without_input: true } = self.cut
            && watermark == EventTime::MAX
            && !has_ended
        {
            self.begin_without_rows();
        }
        Ok(())
    }

    fn resume(&mut self) {
        self.asked = self.bytes;
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        // Results of several windows with few rows are emitted in one batch. If a window fails, the results
        // of the windows before it are emitted first.
        let mut pieces: Vec<RecordBatch> = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        while self.failure.is_none() && rows < BATCH_ROWS_MAX && bytes < BATCH_BYTES_MAX {
            match self.piece(BATCH_ROWS_MAX - rows) {
                Ok(Some(piece)) => {
                    (rows, bytes) = (rows + piece.num_rows(), bytes + bytes_of(&piece));
                    let is_empty = piece.num_rows() == 0;
                    pieces.push(piece);
                    if is_empty {
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) => self.failure = Some(error),
            }
        }
        // The error of a window is kept until the results of the windows before it were emitted.
        if pieces.is_empty()
            && let Some(error) = self.failure.take()
        {
            return Err(error);
        }
        match pieces.len() {
            0 => Ok(None),
            1 => Ok(pieces.pop().map(Batch::new)),
            _ => Ok(Some(Batch::new(concat_batches(&self.shape.schema, &pieces).map_err(arrow_error)?))),
        }
    }

    fn emits_own_times(&self) -> bool {
        true
    }

    fn horizon(&self) -> Horizon {
        match &self.cut {
            Cut::Here { slices, .. } if self.clocks.is_none() => {
                let slice = Span::from_millis(slices.slice_ms);
                match SlidingWindows::of_size(slice).every(slice) {
                    Ok(windows) => {
                        let offset = Span::from_millis(slices.start_of(0));
                        Horizon::of_windows(windows.with_offset(offset), Span::ZERO)
                    }
                    Err(_) => Horizon::EVERYWHERE,
                }
            }
            Cut::Whole { .. } => Horizon::NONE,
            _ => Horizon::EVERYWHERE,
        }
    }

    /// Holds all watermarks back but the last, which is always forwarded, if rows come out at the end only.
    fn forward(&self, watermark: EventTime) -> EventTime {
        if matches!(self.cut, Cut::Whole { .. }) { EventTime::MIN } else { watermark }
    }

    accounted!();

    fn state_bytes(&self) -> usize {
        self.bytes
    }

    fn fork(&self) -> Box<dyn BatchOperator> {
        Box::new(Self::of_shape(Arc::clone(&self.shape), self.cut.clone(), self.clocks.clone()))
    }

    fn absorb(&mut self, copy: &mut dyn BatchOperator) -> Outcome<()> {
        let copy: &mut dyn Any = copy;
        let Some(copy) = copy.downcast_mut::<WindowAggregate>() else { return Ok(()) };
        let shape = Arc::clone(&self.shape);
        for (place, table) in std::mem::take(&mut copy.slices) {
            copy.note((table.counted, 0));
            let counted = match self.slices.entry(place) {
                Entry::Occupied(mut own) => shape.merge(own.get_mut(), &table, &self.accounts.allowance)?,
                Entry::Vacant(free) => {
                    // The table of keys moves unchanged from the worker's copy to this operator. Its bytes stay
                    // reserved by the copy until the merge is over, so they are not reserved again.
                    let moved_bytes = free.insert(table).counted;
                    self.bytes += moved_bytes;
                    self.asked = self.asked.max(self.bytes);
                    continue;
                }
            };
            self.note(counted);
        }
        Ok(())
    }

    /// Saves the state. State of which a part is on disk cannot be saved.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        if self.overflow.as_ref().is_some_and(Overflow::has_rows) {
            let reason = "rows of groups on disk are not saved yet; run without thalweg.state.spill-dir";
            return Err(StateError::Write(reason.to_owned()));
        }
        state.put(&(self.closed_ms, self.closing_ms, self.slices.len()))?;
        for (place, table) in &self.slices {
            state.put(place)?;
            table.index.save(state)?;
            for accumulator in &table.accumulators {
                accumulator.save(state)?;
            }
            if let Some(present) = &table.present {
                present.save(state)?;
            }
        }
        Ok(())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (closed_ms, closing_ms, slices): (i64, i64, usize) = state.take()?;
        (self.closed_ms, self.closing_ms) = (closed_ms, closing_ms);
        self.slices.clear();
        self.note((self.bytes, 0));
        for _ in 0..slices {
            let place: (i64, i64) = state.take()?;
            let mut table = self.shape.table();
            table.index.load(state)?;
            for accumulator in &mut table.accumulators {
                accumulator.load(state)?;
            }
            let len = table.index.len();
            if let Some(present) = &mut table.present {
                present.load(state, len)?;
            }
            self.note(table.count());
            self.slices.insert(place, table);
        }
        Ok(())
    }
}

/// Operator that assigns rows to windows.
///
/// Each row is emitted once for each of its windows, followed by the window's start, end and time. No row is
/// late here: operators that use the windows decide about late rows.
pub struct AssignWindows {
    slices: Slices,
    clocks: Clocks,
    time: usize,
    schema: SchemaRef,
    is_instant: bool,
    accounts: Accounts,
    /// Batch whose rows are being assigned, the index of its next row, and the end of that row's next window.
    current: Option<(Batch, usize, Option<i64>)>,
}

impl AssignWindows {
    /// Creates an operator that assigns windows by the time column with the index `time`. Returns `None` for
    /// session windows, which depend on more than one row.
    pub fn new(spec: &WindowSpec, time: usize, zone: Option<Tz>, columns: &[Column]) -> Option<Self> {
        Some(AssignWindows {
            slices: Slices::of(spec)?,
            clocks: Clocks::new(zone),
            time,
            schema: schema_of(columns),
            is_instant: columns.last().is_some_and(|time| matches!(time.of, SqlType::TimestampLtz(_))),
            accounts: Accounts::default(),
            current: None,
        })
    }
}

/// Appends the start, end and time columns of windows to the columns of rows.
pub(super) fn with_windows(
    schema: &SchemaRef,
    rows: Vec<ArrayRef>,
    starts: Vec<i64>,
    ends: Vec<i64>,
    times: Vec<i64>,
    is_instant: bool,
) -> Outcome<RecordBatch> {
    let count = starts.len();
    let mut columns = rows;
    columns.push(Arc::new(TimestampMillisecondArray::from(starts)));
    columns.push(Arc::new(TimestampMillisecondArray::from(ends)));
    let times = TimestampMillisecondArray::from(times);
    columns.push(Arc::new(if is_instant { times.with_timezone(INSTANT_ZONE) } else { times }));
    batch_of(schema, columns, count)
}

impl BatchOperator for AssignWindows {
    fn name(&self) -> &str {
        "windows"
    }

    fn take(&mut self, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        self.accounts.counts.read += batch.len() as u64;
        self.accounts.counts.forwarded += batch.len() as u64;
        self.current = Some((batch, 0, None));
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        let Some((batch, mut row, mut after)) = self.current.take() else { return Ok(None) };
        let times = batch.rows.column(self.time).as_primitive::<TimestampMillisecondType>();
        let (mut rows, mut starts, mut ends, mut stamps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        'rows: while row < batch.len() {
            let reading = self.clocks.reading(times.value(row));
            for (start, end) in self.slices.windows_of(reading) {
                if after.is_some_and(|after| end <= after) {
                    continue;
                }
                if rows.len() == BATCH_ROWS_MAX {
                    break 'rows;
                }
                rows.push(row as u32);
                starts.push(start);
                ends.push(end);
                stamps.push(self.clocks.time_of(end));
                after = Some(end);
            }
            row += 1;
            after = None;
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let kinds = batch.kinds.as_ref().map(|kinds| rows.iter().map(|row| kinds[*row as usize]).collect());
        let rows = UInt32Array::from(rows);
        let columns =
            batch.rows.columns().iter().map(|column| take(column, &rows, None)).collect::<Result<_, _>>();
        let columns = columns.map_err(arrow_error)?;
        let made = with_windows(&self.schema, columns, starts, ends, stamps, self.is_instant)?;
        let out = Batch { rows: made, kinds, watermark: None, failure: None, payment: None };
        if row < batch.len() {
            self.current = Some((batch, row, after));
        }
        Ok(Some(out))
    }

    accounted!();

    fn fork(&self) -> Box<dyn BatchOperator> {
        Box::new(AssignWindows {
            slices: self.slices,
            clocks: self.clocks.clone(),
            time: self.time,
            schema: Arc::clone(&self.schema),
            is_instant: self.is_instant,
            accounts: Accounts::default(),
            current: None,
        })
    }

    /// Saves nothing, because pending output is emitted before state is saved and there is no other state.
    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}
