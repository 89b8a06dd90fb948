//! Temporal join: each left row matches the version of its key in the right input that was valid at the row's
//! time.
//!
//! Input      batches of a left side with event time, and of a right side whose rows are versions, by key and event time
//! Output     each left row with the last version of its key that is not later; a left join also those without a version
//! State      left rows at or after the watermark; of each key the version that is valid at the watermark, and later ones;
//!            if the left side changes, the rows that the watermark has passed and their versions, for the time to live
//!            ([`met`])
//! Emits      when the watermark has passed a left row, in the order of time
//! Late       a left row below the watermark of its side: counted, and dropped. The retraction of a left row is never late:
//!            it retracts the pair that came out, and nothing if none did. The new row of such an update is not late
//!            either if its time and key are those of the old row: it has the version of the old row. An added row with
//!            the time and key of such an old row is not late either, because a row that changes its rank may be
//!            retracted by an update and come back as an added row. A late version is valid from the watermark of its side
//!            on, because left rows before that may have come out already
//! Watermark  forwarded unchanged, after the output of all rows that it has passed
//! Cost       one look-up per left row, and a search among the versions of its key
//! Source     Flink, "Event Time Temporal Join"; `TemporalRowTimeJoinOperator`
//!
//! A version that is deleted ends at the deletion's time. The deletion of a key is remembered, as in Flink,
//! because a version that comes late may be older. The `-U` of a version is ignored, because the `+U` says
//! all. If two versions have one key and time, the one that came last counts; if the right input has several
//! sources, the one with the greater values.
//!
//! [`met`]: super::met
//!
//! Differs from Flink: a left row that is retracted below the watermark retracts the pair that came out. Flink looks
//! the version up again, and that version may be gone. Before FLINK-39719, Flink did not drop late left rows, but
//! matched them with the versions that were left. In Flink, late versions match the rows that still wait, which
//! depends on how both inputs interleave.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::TimestampMillisecondType;
use arrow::record_batch::RecordBatch;
use arrow::row::RowConverter;
use hashbrown::HashMap;
use thalweg_model::{EventTime, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format};
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of};

use super::super::accounts::{Accounts, accounted};
use super::met::Met;
use super::row_store::{Place, RowStore};
use super::shape::{Shape, is_true};
use super::table::gathered;
use super::{JoinOperator, Side};
use crate::exec::kept::{converter_of, load_pieces, save_pieces};
use crate::exec::operator::Outcome;
use crate::exec::windows::passed_ms;
use crate::plan::Counted;

/// Temporal join, which joins left rows with the versions of their keys that are valid at their time.
pub struct TemporalJoin {
    shape: Shape,
    times: [usize; 2],
    counts_as: Counted,
    /// Whether one source gives all versions, so that their order of arrival is the same in every run.
    is_single: bool,
    key_converter: Option<RowConverter>,
    /// Converts whole rows of the right input, which are the versions, to bytes.
    row_converter: RowConverter,
    /// Left rows that wait for the watermark, by their time, rows of equal time in the order of arrival.
    waiting: BTreeMap<i64, Vec<Waiting>>,
    row_store: RowStore,
    waiting_count: usize,
    /// Versions of each key, by their time and by the start of their validity, which both ascend.
    versions: HashMap<Arc<[u8]>, Vec<Version>, foldhash::fast::RandomState>,
    /// Keys by the times at which one of their versions replaces an earlier one. When the watermark has
    /// passed such a time, the earlier versions can be dropped.
    upcoming: BTreeMap<i64, Vec<Arc<[u8]>>>,
    version_bytes: usize,
    /// Left rows that the watermark has passed, each with the version that it matched; `None` if no left row
    /// is ever retracted.
    met: Option<Met>,
    closing_ms: i64,
    accounts: Accounts,
}

/// A left row that waits for the watermark, by its location in the row store.
#[derive(Clone, Copy)]
struct Waiting {
    place: Place,
    kind: RowKind,
    /// Whether the row was below the watermark of its input when it arrived, and is no retraction. Such a row
    /// is emitted only if an update has retracted an emitted row with the same time and key.
    is_late: bool,
}

struct Version {
    time: i64,
    /// Start of validity of the version: its time or, for a late version, the watermark of its input at its
    /// arrival.
    valid_from: i64,
    /// Values of the version as bytes; `None` for a deletion.
    row: Option<Box<[u8]>>,
}

impl Version {
    /// Returns whether this version of a row has a later event time than `other`, although it arrived
    /// earlier. If the right input has several sources, the order of arrival differs between runs, so
    /// versions of equal time are ordered by their values.
    fn is_after(&self, other: &Version, is_single: bool) -> bool {
        match is_single {
            true => self.time > other.time,
            false => (self.time, &self.row) > (other.time, &other.row),
        }
    }

    /// Returns whether this version of a row becomes valid before `other`, although it arrived later.
    fn is_earlier(&self, other: &Version, is_single: bool) -> bool {
        let by_time = (self.valid_from, self.time).cmp(&(other.valid_from, other.time));
        by_time.is_lt() || (by_time.is_eq() && !is_single && self.row < other.row)
    }

    fn bytes(&self) -> usize {
        size_of::<Version>() + self.row.as_ref().map_or(0, |row| row.len())
    }
}

/// Approximate bytes of a key beside its own bytes, and of an entry in the index of the times at which
/// versions are replaced.
const KEY_BYTES: usize = 96;
const UPCOMING_BYTES: usize = 24;

impl TemporalJoin {
    /// Creates a temporal join by the time columns with the indexes `times`; `counts_as` tells which right
    /// rows are versions. Unless a single source gives the right rows (`is_single`), their order of arrival
    /// may differ between runs and is ignored. `met` stores the left rows that were emitted; it is `Some` if
    /// left rows may be retracted.
    ///
    /// # Errors
    /// [`EvaluationError`] if a key has a type that cannot be a key.
    pub fn new(
        shape: Shape,
        times: [usize; 2],
        counts_as: Counted,
        is_single: bool,
        met: Option<Met>,
    ) -> Outcome<Self> {
        Ok(TemporalJoin {
            key_converter: shape.key_converter()?,
            row_converter: converter_of(&shape.inputs[1]).map_err(arrow_error)?,
            shape,
            times,
            counts_as,
            is_single,
            waiting: BTreeMap::new(),
            row_store: RowStore::default(),
            waiting_count: 0,
            versions: HashMap::default(),
            upcoming: BTreeMap::new(),
            version_bytes: 0,
            met,
            closing_ms: i64::MIN,
            accounts: Accounts::default(),
        })
    }

    fn take_left(&mut self, batch: &Batch, passed: i64) -> Outcome<()> {
        let times = batch.rows.column(self.times[0]).as_primitive::<TimestampMillisecondType>();
        let is_kept = |row: &u32| {
            let at = *row as usize;
            times.is_valid(at) && (times.value(at) >= passed || self.met.is_some())
        };
        let rows: Vec<u32> = (0..batch.len() as u32).filter(is_kept).collect();
        self.accounts.counts.late += (batch.len() - rows.len()) as u64;
        let places = self.row_store.keep(&batch.rows, &rows)?;
        self.waiting_count += rows.len();
        for (row, place) in rows.into_iter().zip(places) {
            let (time, kind) = (times.value(row as usize), batch.kind(row as usize));
            let is_late = kind.adds() && time < passed;
            // A late row is counted when the watermark of both inputs has passed it, because only then is it
            // known whether it is emitted.
            self.accounts.counts.folded += u64::from(!is_late);
            self.waiting.entry(time).or_default().push(Waiting { place, kind, is_late });
        }
        Ok(())
    }

    fn take_right(&mut self, batch: &Batch, passed: i64) -> Outcome<()> {
        let rows = &batch.rows;
        let keys = self.shape.key_bytes(self.key_converter.as_ref(), Side::Right, rows)?;
        let times = rows.column(self.times[1]).as_primitive::<TimestampMillisecondType>();
        let bytes = self.row_converter.convert_columns(rows.columns()).map_err(arrow_error)?;
        for row in 0..rows.num_rows() {
            let (Some(key), true) = (keys.get(row), times.is_valid(row)) else {
                self.accounts.counts.filtered += 1;
                continue;
            };
            let row_bytes = match batch.kind(row) {
                RowKind::Insert | RowKind::UpdateAfter => Some(Box::from(bytes.row(row).data())),
                RowKind::Delete => None,
                RowKind::UpdateBefore => {
                    self.accounts.counts.filtered += 1;
                    continue;
                }
            };
            let time = times.value(row);
            if self.insert(key, Version { time, valid_from: time.max(passed), row: row_bytes }) {
                self.accounts.counts.folded += 1;
            } else {
                self.accounts.counts.filtered += 1;
            }
        }
        Ok(())
    }

    /// Adds a version of a key. Returns `false` if the row does not count as a version, or if no left row can
    /// match it because a later version begins to be valid at the same time.
    fn insert(&mut self, key: &[u8], version: Version) -> bool {
        let (time, valid_from) = (version.time, version.valid_from);
        let versions = match self.versions.get_mut(key) {
            Some(versions) => versions,
            None => {
                self.version_bytes += key.len() + KEY_BYTES;
                self.versions.entry(Arc::from(key)).or_default()
            }
        };
        match (self.counts_as, versions.last()) {
            (Counted::InOrder, Some(last)) if time < last.time => return false,
            (Counted::First, Some(first)) if !version.is_earlier(first, self.is_single) => return false,
            (Counted::First, Some(_)) => {
                let dropped: usize = versions.drain(..).map(|version| version.bytes()).sum();
                self.version_bytes -= dropped;
            }
            _ => {}
        }
        let at = versions.partition_point(|known| !known.is_after(&version, self.is_single));
        if versions.get(at).is_some_and(|later| later.valid_from <= valid_from) {
            return false;
        }
        self.version_bytes += version.bytes();
        let first = versions[..at].partition_point(|earlier| earlier.valid_from < valid_from);
        let replaced: usize = versions.splice(first..at, [version]).map(|version| version.bytes()).sum();
        self.version_bytes -= replaced;
        if valid_from <= self.closing_ms {
            self.prune(key);
        } else if let Some((key, versions)) = self.versions.get_key_value(key)
            && versions.len() > 1
        {
            // Earlier versions of the key end when the new version becomes valid, and the new version ends
            // when the next one does.
            let times = versions[first..].iter().take(2).map(|version| version.valid_from);
            for time in times {
                self.version_bytes += UPCOMING_BYTES;
                self.upcoming.entry(time).or_default().push(Arc::clone(key));
            }
        }
        true
    }

    /// Drops the versions of one key that no left row can match any more.
    fn prune(&mut self, key: &[u8]) {
        let Some(versions) = self.versions.get_mut(key) else { return };
        let first =
            versions.partition_point(|version| version.valid_from <= self.closing_ms).saturating_sub(1);
        let dropped: usize = versions.drain(..first).map(|version| version.bytes()).sum();
        self.version_bytes -= dropped;
    }

    /// Drops the versions of all keys that no left row can match any more.
    fn prune_all(&mut self) {
        while let Some((&time, _)) = self.upcoming.first_key_value()
            && time <= self.closing_ms
        {
            let keys = self.upcoming.remove(&time).unwrap_or_default();
            self.version_bytes -= keys.len() * UPCOMING_BYTES;
            keys.iter().for_each(|key| self.prune(key));
        }
    }

    /// Removes and returns the next waiting left rows that the watermark has passed.
    fn due(&mut self) -> Vec<(i64, Waiting)> {
        let mut due = Vec::new();
        while due.len() < BATCH_ROWS_MAX
            && let Some(mut first) = self.waiting.first_entry()
            && *first.key() < self.closing_ms
        {
            let time = *first.key();
            let count = first.get().len().min(BATCH_ROWS_MAX - due.len());
            due.extend(first.get_mut().drain(..count).map(|row| (time, row)));
            if first.get().is_empty() {
                first.remove();
            }
        }
        self.waiting_count -= due.len();
        due
    }

    /// Joins left rows that the watermark has passed; returns the pairs, and the index of the left row of
    /// each.
    fn joined(
        &mut self,
        left: &RecordBatch,
        due: &[(i64, Waiting)],
        mut met: Option<&mut Met>,
    ) -> Outcome<(RecordBatch, Vec<u32>)> {
        let keys = self.shape.key_bytes(self.key_converter.as_ref(), Side::Left, left)?;
        let keeps = self.shape.keeps(Side::Left);
        let bytes = met.as_ref().map(|met| met.bytes_of_rows(left.columns())).transpose()?;
        let mut late_count = 0;
        // `passing` holds the indexes of the left rows that are not dropped; `rows` holds the indexes of
        // those that have a version, and `found` these versions.
        let (mut passing, mut rows, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for (row, (time, waiting)) in due.iter().enumerate() {
            let key = keys.get(row);
            let version = match (&mut met, &bytes) {
                (Some(met), Some(bytes)) => {
                    let values = bytes.row(row).data();
                    let Some(version) = self.followed(met, values, (*time, key), *waiting) else {
                        late_count += u64::from(waiting.is_late);
                        continue;
                    };
                    if waiting.kind.adds() && (version.is_some() || keeps) {
                        met.add(values, version.as_deref());
                    }
                    version
                }
                _ => self.valid_at(*time, key).map(Cow::Borrowed),
            };
            passing.push((row as u32, waiting.is_late));
            if let Some(version) = version {
                rows.push(row as u32);
                found.push(version);
            }
        }
        let right = self.right_rows(&found)?;
        let rows = UInt32Array::from(rows);
        let holds = self.shape.holds(found.len(), |side, column| match side {
            Side::Left => take(left.column(column), &rows, None).map_err(arrow_error),
            Side::Right => Ok(Arc::clone(right.column(column))),
        })?;
        // Index of the version of each left row for which the join condition holds; `None` if there is none.
        let mut versions: Vec<Option<u32>> = vec![None; left.num_rows()];
        for at in (0..found.len()).filter(|at| is_true(&holds, *at)) {
            versions[rows.value(at) as usize] = Some(at as u32);
        }
        drop(found);
        self.accounts.counts.late += late_count;
        self.accounts.counts.folded += passing.iter().map(|(_, is_late)| u64::from(*is_late)).sum::<u64>();
        let is_out = |row: &u32| keeps || versions[*row as usize].is_some();
        let lefts: Vec<u32> = passing.into_iter().map(|(row, _)| row).filter(is_out).collect();
        let rights: UInt32Array = lefts.iter().map(|row| versions[*row as usize]).collect();
        Ok((self.pairs(left, &lefts, &right, &rights)?, lefts))
    }

    /// Returns the version that a left row matches, for a join whose left rows may be retracted. `Some(None)`
    /// means that the row has no version, and `None` that the row is dropped. `values` are the values of the
    /// row as bytes, `time_and_key` its time and key.
    fn followed(
        &self,
        met: &mut Met,
        values: &[u8],
        time_and_key: (i64, Option<&[u8]>),
        waiting: Waiting,
    ) -> Option<Option<Cow<'_, [u8]>>> {
        let (time, key) = time_and_key;
        let valid = || self.valid_at(time, key).map(Cow::Borrowed);
        let owned = |version: Option<Box<[u8]>>| version.map(|version| Cow::Owned(version.into_vec()));
        match waiting.kind {
            RowKind::Insert if waiting.is_late => met.noted(time_and_key).map(owned),
            RowKind::Insert => Some(valid()),
            RowKind::Delete => met.take_back(values).map(owned),
            RowKind::UpdateBefore => {
                let version = met.take_back(values)?;
                met.replace(time_and_key, version.as_deref());
                Some(owned(version))
            }
            RowKind::UpdateAfter => match met.replaced(time_and_key) {
                Some(version) => Some(owned(version)),
                None => (!waiting.is_late).then(valid),
            },
        }
    }

    /// Returns the version of a key that is valid at a time; `None` if there is none or it is deleted.
    fn valid_at(&self, time: i64, key: Option<&[u8]>) -> Option<&[u8]> {
        let versions = self.versions.get(key?)?;
        let count = versions.partition_point(|version| version.valid_from <= time);
        versions[..count].last()?.row.as_deref()
    }

    /// Converts versions from bytes to rows of the right input.
    fn right_rows(&self, versions: &[Cow<'_, [u8]>]) -> Outcome<RecordBatch> {
        let parser = self.row_converter.parser();
        let rows = versions.iter().map(|version| parser.parse(version));
        let columns = self.row_converter.convert_rows(rows).map_err(arrow_error)?;
        batch_of(&self.shape.inputs[1], columns, versions.len())
    }

    fn pairs(
        &self,
        left: &RecordBatch,
        lefts: &[u32],
        right: &RecordBatch,
        rights: &UInt32Array,
    ) -> Outcome<RecordBatch> {
        let left = gathered(left, &UInt32Array::from(lefts.to_vec()))?;
        self.shape.results(lefts.len(), Some(left), Some(gathered(right, rights)?))
    }

    fn note_bytes(&mut self) {
        let waiting = self.waiting_count * size_of::<Waiting>();
        let met = self.met.as_ref().map_or(0, Met::bytes);
        self.accounts.hold(self.row_store.bytes() + waiting + self.version_bytes + met);
    }
}

impl JoinOperator for TemporalJoin {
    fn name(&self) -> &str {
        "temporal join"
    }

    fn take(&mut self, side: Side, batch: Batch, late_by: EventTime) -> Outcome<()> {
        self.accounts.counts.read += batch.len() as u64;
        let passed = passed_ms(late_by);
        self.met.iter_mut().for_each(Met::forget);
        match side {
            Side::Left => self.take_left(&batch, passed)?,
            Side::Right => self.take_right(&batch, passed)?,
        }
        self.note_bytes();
        Ok(())
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        self.met.iter_mut().for_each(Met::forget);
        self.closing_ms = self.closing_ms.max(passed_ms(watermark));
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        loop {
            let due = self.due();
            if due.is_empty() {
                break;
            }
            let places: Vec<Place> = due.iter().map(|(_, row)| row.place).collect();
            let schema = &self.shape.inputs[0];
            let left =
                batch_of(schema, self.row_store.columns(&places, schema.fields().len())?, places.len())?;
            let mut met = self.met.take();
            let joined = self.joined(&left, &due, met.as_mut());
            self.met = met;
            let (rows, lefts) = joined?;
            places.into_iter().for_each(|place| self.row_store.release(place));
            if !lefts.is_empty() {
                let is_plain = due.iter().all(|(_, row)| row.kind == RowKind::Insert);
                let kinds = (!is_plain).then(|| lefts.iter().map(|row| due[*row as usize].1.kind).collect());
                return Ok(Some(Batch { kinds, ..Batch::new(rows) }));
            }
        }
        self.prune_all();
        self.note_bytes();
        Ok(None)
    }

    accounted!();

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.closing_ms)?;
        let entries = || self.waiting.values().flatten();
        state.put(&entries().map(|row| row.kind).collect::<Vec<_>>())?;
        state.put(&entries().map(|row| row.is_late).collect::<Vec<_>>())?;
        let places: Vec<Place> = entries().map(|row| row.place).collect();
        let schema = &self.shape.inputs[0];
        let piece = |range: std::ops::Range<usize>| {
            let count = range.len();
            batch_of(schema, self.row_store.columns(&places[range], schema.fields().len())?, count)
        };
        save_pieces(places.len(), piece, state)?;
        state.put(&self.versions.len())?;
        state.put(&ROW_FORMAT)?;
        for (key, versions) in &self.versions {
            let versions: Vec<(i64, i64, Option<&[u8]>)> = versions
                .iter()
                .map(|version| (version.time, version.valid_from, version.row.as_deref()))
                .collect();
            state.put(&(&**key, versions))?;
        }
        state.put(&self.met.is_some())?;
        self.met.as_ref().map_or(Ok(()), |met| met.save(state))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let closing_ms: i64 = state.take()?;
        self.waiting.clear();
        self.row_store = RowStore::default();
        self.waiting_count = 0;
        self.versions.clear();
        self.upcoming.clear();
        self.version_bytes = 0;
        let kinds: Vec<RowKind> = state.take()?;
        let lateness: Vec<bool> = state.take()?;
        let counts = self.accounts.counts;
        let mut from = 0;
        load_pieces(&self.shape.inputs[0].clone(), state, |rows| {
            let to = from + rows.num_rows();
            let kinds = kinds.get(from..to).map(Arc::from);
            from = to;
            match kinds {
                Some(kinds) => self.take_left(&Batch { kinds: Some(kinds), ..Batch::new(rows) }, i64::MIN),
                None => Err(not_counted()),
            }
        })?;
        if from != kinds.len() || from != lateness.len() {
            return Err(state.wrong(not_counted().message));
        }
        // Waiting rows are saved and loaded in the same order, so each of them gets its own flag of lateness.
        for (row, is_late) in self.waiting.values_mut().flatten().zip(lateness) {
            row.is_late = is_late;
        }
        let keys: usize = state.take()?;
        check_row_format(state)?;
        // The watermark is set to the least time, so that `insert` drops none of the loaded versions.
        // Versions that no left row can match are dropped when a later version of their key comes.
        self.closing_ms = i64::MIN;
        for _ in 0..keys {
            let (key, versions): (Vec<u8>, Vec<(i64, i64, Option<Box<[u8]>>)>) = state.take()?;
            for (time, valid_from, row) in versions {
                self.insert(&key, Version { time, valid_from, row });
            }
        }
        self.closing_ms = closing_ms;
        self.accounts.counts = counts;
        let is_met: bool = state.take()?;
        match &mut self.met {
            Some(met) if is_met => met.load(state)?,
            None if !is_met => {}
            _ => return Err(state.wrong("left rows are taken back in one of both, and not in the other")),
        }
        self.prune_all();
        self.note_bytes();
        Ok(())
    }
}

/// Returns the error for saved rows of which not every one tells its kind of change.
fn not_counted() -> EvaluationError {
    let message = "not every row that waits says what becomes of it".to_owned();
    EvaluationError { code: "EVALUATION", message }
}
