//! One row of each key: the first or the last, by arrival or by event time.
//!
//! Input      batches of rows, which are only ever added
//! Output     first rows, which never change; or changes, `+I` and then `-U` and `+U`, for last rows
//! State      per key the row that came out; for first rows by event time, the waiting row and then the fact that it
//!            came out
//! Emits      first rows by event time when the watermark has passed them, all others at once
//! Late       first rows by event time: more than a millisecond below the watermark. Counted, and dropped
//! Watermark  forwarded unchanged, after the output of all rows that it has passed
//! Cost       one look-up per row
//! Source     Flink, "Deduplication"; `ProcTimeDeduplicateKeepFirstRowFunction`,
//!            `ProcTimeDeduplicateKeepLastRowFunction`, `RowTimeDeduplicateKeepFirstRowFunction`,
//!            `RowTimeDeduplicateFunction`
//!
//! Among several rows with the same time, the first to arrive is the first, and the last to arrive is the last.
//! A row that waits for the watermark does not expire.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::TimestampMillisecondType;
use thalweg_model::{EventTime, Horizon, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format, shared_heap_bytes};
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch};

use super::super::accounts::{Accounts, accounted};
use super::super::keyed::Keyed;
use super::super::operator::{BatchOperator, Outcome};
use super::super::windows::passed_ms;
use super::super::{Now, Pieces};
use super::{Maker, Row};
use crate::plan::Column;
pub use crate::plan::changes::Keep;

/// Deduplication, which keeps one row of each key.
pub struct Deduplicate {
    keep: Keep,
    made: Maker,
    now: Now,
    keys: Keyed,
    /// Kept row of each key, indexed by the slot number that [`Keyed`] gives the key.
    kept: Vec<Kept>,
    /// Slot numbers, given by [`Keyed`], of the keys whose first row waits for the watermark, by the row's
    /// event time in milliseconds and then by its arrival number.
    waiting: BTreeMap<(i64, u64), u32>,
    arrivals: u64,
    passed_ms: i64,
    /// Whether waiting rows may be emitted now. A watermark sets this to true; it is false again when all
    /// rows that the watermark has passed were emitted. So a row that comes later waits for the next
    /// watermark.
    is_advancing: bool,
    out: Pieces,
    accounts: Accounts,
    row_bytes: usize,
}

/// State of a key in deduplication. `row` is `None` if the row of the key was emitted and is needed no more;
/// later rows of the key are then dropped.
#[derive(Default)]
struct Kept {
    row: Option<Row>,
    /// Event time of the kept row in milliseconds, and its arrival number, which counts the rows of the
    /// input.
    at: (i64, u64),
}

impl Deduplicate {
    /// Creates a deduplication that keeps one row of each key; the key is the columns with the indexes
    /// `keys`. The clock decides when a key has expired; a key is kept for `ttl_ms` milliseconds.
    ///
    /// # Errors
    /// [`EvaluationError`](thalweg_sql_functions::functions::EvaluationError) if a column has a type that
    /// cannot be kept; all SQL types can.
    pub fn new(
        keep: Keep,
        keys: Vec<usize>,
        ttl_ms: i64,
        now: Now,
        input: &[Column],
        columns: &[Column],
        hash_seed: u64,
    ) -> Outcome<Self> {
        Ok(Deduplicate {
            keep,
            made: Maker::new(input, columns, false)?,
            now,
            keys: Keyed::new(keys, input, Some(ttl_ms), hash_seed)?,
            kept: Vec::new(),
            waiting: BTreeMap::new(),
            arrivals: 0,
            passed_ms: i64::MIN,
            is_advancing: false,
            out: Pieces::default(),
            accounts: Accounts::default(),
            row_bytes: 0,
        })
    }

    fn put(&mut self, slot: u32, row: Option<Row>, at: (i64, u64)) -> Option<Row> {
        let bytes_of = |row: &Option<Row>| row.as_ref().map_or(0, |row| shared_heap_bytes(row.len()));
        self.row_bytes += bytes_of(&row);
        let before = std::mem::replace(&mut self.kept[slot as usize], Kept { row, at });
        self.row_bytes -= bytes_of(&before.row);
        before.row
    }

    fn note_bytes(&mut self) {
        let bytes = self.keys.bytes()
            + self.row_bytes
            + self.kept.capacity() * size_of::<Kept>()
            + self.waiting.len() * size_of::<((i64, u64), u32)>() * 3 / 2
            + self.out.bytes();
        self.accounts.hold(bytes);
    }
}

impl BatchOperator for Deduplicate {
    fn name(&self) -> &str {
        "deduplicate"
    }

    fn take(&mut self, batch: Batch, late_by: EventTime) -> Outcome<()> {
        let count = batch.len();
        self.accounts.counts.read += count as u64;
        self.keys.begin(self.now.ms());
        for slot in self.keys.recycle(true) {
            self.put(slot, None, (0, 0));
        }
        let keys = self.keys.rows(&batch.rows)?;
        let rows = self.made.converter.convert_columns(batch.rows.columns()).map_err(arrow_error)?;
        let times = match self.keep {
            Keep::FirstBy(time) | Keep::LastBy(time) => {
                Some(batch.rows.column(time).as_primitive::<TimestampMillisecondType>().values().clone())
            }
            Keep::First | Keep::Last => None,
        };
        let passed = passed_ms(late_by);
        for row in 0..count {
            let time_ms = times.as_ref().map_or(0, |times| times[row]);
            self.arrivals += 1;
            let at = (time_ms, self.arrivals);
            if matches!(self.keep, Keep::FirstBy(_)) && time_ms < passed.saturating_sub(1) {
                self.accounts.counts.late += 1;
                continue;
            }
            let (slot, is_new) = self.keys.find_or_add(&keys, row);
            if self.kept.len() < self.keys.slots() {
                self.kept.resize_with(self.keys.slots(), Kept::default);
            }
            let content = || -> Row { rows.row(row).data().into() };
            let before = &self.kept[slot as usize];
            let is_kept = match self.keep {
                Keep::First => is_new,
                Keep::Last => true,
                Keep::FirstBy(_) => is_new || (before.row.is_some() && time_ms < before.at.0),
                Keep::LastBy(_) => is_new || before.at.0 <= time_ms,
            };
            if !is_kept {
                self.accounts.counts.filtered += 1;
                continue;
            }
            self.accounts.counts.folded += 1;
            self.keys.touch(slot);
            let content = content();
            match self.keep {
                Keep::First => self.made.add(RowKind::Insert, &content, 1),
                Keep::Last | Keep::LastBy(_) => match self.put(slot, Some(Arc::clone(&content)), at) {
                    None => self.made.add(RowKind::Insert, &content, 1),
                    Some(before) => {
                        self.made.add(RowKind::UpdateBefore, &before, 1);
                        self.made.add(RowKind::UpdateAfter, &content, 1);
                    }
                },
                Keep::FirstBy(_) => {
                    if is_new {
                        self.keys.pin(slot);
                    } else {
                        self.waiting.remove(&self.kept[slot as usize].at);
                    }
                    self.waiting.insert(at, slot);
                    self.put(slot, Some(content), at);
                }
            }
        }
        self.made.finish(&mut self.out)?;
        self.note_bytes();
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        self.passed_ms = self.passed_ms.max(passed_ms(watermark));
        self.is_advancing = true;
        self.keys.begin(self.now.ms());
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        if let Some(piece) = self.out.next() {
            return Ok(Some(piece));
        }
        while self.is_advancing
            && self.made.kinds.len() < BATCH_ROWS_MAX
            && let Some(entry) = self.waiting.first_entry()
            && entry.key().0 < self.passed_ms
        {
            let slot = entry.remove();
            self.keys.unpin(slot);
            self.keys.touch(slot);
            if let Some(row) = self.put(slot, None, (0, 0)) {
                self.made.add(RowKind::Insert, &row, 1);
            }
        }
        self.made.finish(&mut self.out)?;
        let piece = self.out.next();
        if piece.is_none() {
            self.is_advancing = false;
            self.note_bytes();
        }
        Ok(piece)
    }

    /// Returns whether rows may wait for the watermark, because such rows are emitted after rows that arrived
    /// later.
    fn emits_own_times(&self) -> bool {
        !matches!(self.keep, Keep::First)
    }

    fn horizon(&self) -> Horizon {
        if matches!(self.keep, Keep::FirstBy(_)) { Horizon::EVERYWHERE } else { Horizon::NONE }
    }

    accounted!();

    /// Saves the state. It is called between batches, when all rows passed by the watermark were emitted.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.keys.save(state)?;
        state.put(&(ROW_FORMAT, self.arrivals, self.passed_ms))?;
        for slot in self.keys.live() {
            let kept = &self.kept[slot as usize];
            state.put(&(kept.row.as_deref(), kept.at))?;
        }
        Ok(())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.keys.load(state)?;
        check_row_format(state)?;
        (self.arrivals, self.passed_ms) = state.take()?;
        self.kept.clear();
        self.kept.resize_with(self.keys.slots(), Kept::default);
        self.waiting.clear();
        self.row_bytes = 0;
        let live: Vec<u32> = self.keys.live().collect();
        for slot in live {
            let (row, at): (Option<Vec<u8>>, (i64, u64)) = state.take()?;
            if row.is_some() && matches!(self.keep, Keep::FirstBy(_)) {
                self.waiting.insert(at, slot);
            }
            self.put(slot, row.map(Row::from), at);
        }
        self.note_bytes();
        Ok(())
    }
}
