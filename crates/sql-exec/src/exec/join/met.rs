//! Memory of a temporal join whose left rows may change: the left rows that the watermark has passed, each
//! with the version that it matched, so that the pair can be retracted.
//!
//! A row is often retracted long after the watermark has passed it: an order that is deleted the next day
//! still has its old time. By then the versions of that time may be forgotten, and a version that came late
//! may be found instead. So the matched version is remembered here. Rows are told apart by their values
//! alone: equal rows have one time and one key, and so one version.
//!
//! A row is remembered until it is retracted, and no longer than the time to live. A row with a version is
//! remembered also if the join condition does not hold for the pair, since it may hold for the row that an
//! update puts in its place.
//!
//! The new row of an update has the version of the old row if it has the same time and key. [`Met::replace`]
//! stores that version until [`Met::replaced`] finds it. Updates that change the time or the key never look
//! up the stored version, so only the last [`REPLACED_MAX`] versions are stored. The new row of an update
//! follows its old row at once, unless a batch ends between them: then up to one batch of each other source
//! of the left input lies between them. A late row that is added, and is no new row of an update, has a
//! stored version too, but leaves it stored: if the left input has several sources, it may come between the
//! two rows of an update.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, Rows};
use hashbrown::HashMap;
use thalweg_model::{Clock, StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format};
use thalweg_sql_tables::batch::BATCH_ROWS_MAX;

use crate::exec::kept::converter_of;
use crate::exec::operator::Outcome;

/// Greatest number of versions that are stored at a time for the new rows of updates. A version is the right
/// row that the old row of the update matched, and the new row takes it over.
const REPLACED_MAX: usize = 4 * BATCH_ROWS_MAX;

/// Stores left rows of a temporal join that the watermark has passed, each with the version (right row) that
/// it matched, by the values of the row.
pub struct Met {
    ttl_ms: i64,
    clock: Arc<dyn Clock>,
    converter: RowConverter,
    rows: HashMap<Arc<[u8]>, MetRow, foldhash::fast::RandomState>,
    /// Processing times, in milliseconds and ascending, at which left rows were emitted; they decide when
    /// rows expire. The entry of a retracted row stays here until its time to live is over.
    written: VecDeque<(i64, Arc<[u8]>)>,
    now_ms: i64,
    /// Versions (right rows) that the old rows of updates matched, by time and key, for updates whose new
    /// rows did not arrive yet.
    replaced: HashMap<Arc<[u8]>, Replaced, foldhash::fast::RandomState>,
    /// Sequence numbers under which the versions in `replaced` were stored, ascending, so that the oldest
    /// version is dropped first. An entry stays here after the new row of its update has arrived.
    noted: VecDeque<(u64, Arc<[u8]>)>,
    noted_count: u64,
    bytes: usize,
}

struct Replaced {
    version: Option<Box<[u8]>>,
    /// Number of updates with this time and key whose new rows did not arrive yet.
    count: u64,
    /// Sequence number under which the last update with this time and key was stored; an entry of the list
    /// `noted` with a smaller number is stale.
    noted_at: u64,
}

struct MetRow {
    /// Version that the left row matched, as bytes; `None` if it matched no version.
    version: Option<Box<[u8]>>,
    /// Number of equal left rows that were emitted and not retracted since.
    count: u64,
    written_ms: i64,
}

/// Bytes of a stored left row beside its values and beside the bytes of the right row that it matched.
const ROW_BYTES: usize = size_of::<MetRow>() + 48;
/// Bytes of an entry of the queue in which left rows wait for their expiry. It shares the values of the row.
const NOTE_BYTES: usize = size_of::<(i64, Arc<[u8]>)>();
const REPLACED_BYTES: usize = size_of::<Replaced>() + 48;

impl Met {
    /// Creates an empty store that keeps left rows of a schema for `ttl_ms` milliseconds of processing time,
    /// read from `clock`.
    pub fn new(ttl_ms: i64, clock: Arc<dyn Clock>, schema: &SchemaRef) -> Outcome<Self> {
        Ok(Met {
            ttl_ms,
            clock,
            converter: converter_of(schema).map_err(arrow_error)?,
            rows: HashMap::default(),
            written: VecDeque::new(),
            now_ms: i64::MIN,
            replaced: HashMap::default(),
            noted: VecDeque::new(),
            noted_count: 0,
            bytes: 0,
        })
    }

    /// Forgets the left rows whose time to live is over. The clock is read once for each batch.
    pub fn forget(&mut self) {
        self.now_ms = i64::try_from(self.clock.now().as_nanos() / 1_000_000).unwrap_or(i64::MAX);
        let is_over = |written_ms: i64| written_ms.saturating_add(self.ttl_ms) <= self.now_ms;
        while let Some((written_ms, row)) = self.written.pop_front_if(|(written_ms, _)| is_over(*written_ms))
        {
            self.bytes -= row.len() + NOTE_BYTES;
            if self.rows.get(&row).is_some_and(|met| met.written_ms <= written_ms)
                && let Some(met) = self.rows.remove(&row)
            {
                self.bytes -= bytes_of(&met);
            }
        }
    }

    /// Converts left rows to bytes, by which they are looked up.
    pub fn bytes_of_rows(&self, columns: &[ArrayRef]) -> Outcome<Rows> {
        self.converter.convert_columns(columns).map_err(arrow_error)
    }

    /// Remembers a left row that the watermark has passed, with the version (right row) that it matched.
    pub fn add(&mut self, row: &[u8], version: Option<&[u8]>) {
        if let Some(met) = self.rows.get_mut(row) {
            met.count += 1;
            return;
        }
        let row: Arc<[u8]> = Arc::from(row);
        let met = MetRow { version: version.map(Box::from), count: 1, written_ms: self.now_ms };
        self.bytes += bytes_of(&met) + row.len() + NOTE_BYTES;
        self.written.push_back((self.now_ms, Arc::clone(&row)));
        self.rows.insert(row, met);
    }

    /// Removes a left row that is retracted. Returns `Some(Some(version))` with the version that the row
    /// matched, `Some(None)` if it matched no version, and `None` if the row is not remembered.
    pub fn take_back(&mut self, row: &[u8]) -> Option<Option<Box<[u8]>>> {
        let met = self.rows.get_mut(row)?;
        if met.count > 1 {
            met.count -= 1;
            return Some(met.version.clone());
        }
        let met = self.rows.remove(row)?;
        self.bytes -= bytes_of(&met);
        Some(met.version)
    }

    /// Stores the version (right row) that the old row of an update matched, for the new row with the same
    /// time and key.
    pub fn replace(&mut self, time_and_key: (i64, Option<&[u8]>), version: Option<&[u8]>) {
        let key: Arc<[u8]> = Arc::from(bytes_of_key(time_and_key));
        self.note(key, version, 1);
        while self.noted.len() > REPLACED_MAX
            && let Some((noted_at, key)) = self.noted.pop_front()
        {
            self.bytes -= key.len() + NOTE_BYTES;
            if self.replaced.get(&key).is_some_and(|replaced| replaced.noted_at == noted_at) {
                self.drop_replaced(&key);
            }
        }
    }

    fn note(&mut self, key: Arc<[u8]>, version: Option<&[u8]>, count: u64) {
        let noted_at = self.noted_count;
        self.noted_count += 1;
        self.bytes += key.len() + NOTE_BYTES;
        self.noted.push_back((noted_at, Arc::clone(&key)));
        if let Some(replaced) = self.replaced.get_mut(&key) {
            replaced.count += count;
            replaced.noted_at = noted_at;
            return;
        }
        self.bytes += REPLACED_BYTES + version.map_or(0, <[u8]>::len);
        self.replaced.insert(key, Replaced { version: version.map(Box::from), count, noted_at });
    }

    /// Returns the version of the old row that a new row with the given time and key replaces: `Some(None)`
    /// if the old row matched no version, and `None` if no such old row is stored.
    pub fn replaced(&mut self, time_and_key: (i64, Option<&[u8]>)) -> Option<Option<Box<[u8]>>> {
        let key = bytes_of_key(time_and_key);
        let replaced = self.replaced.get_mut(&key[..])?;
        replaced.count -= 1;
        if replaced.count > 0 {
            return Some(replaced.version.clone());
        }
        self.drop_replaced(&key)
    }

    /// Returns the version that is stored for the new row of an update with the given time and key, and keeps
    /// it stored: `Some(None)` if the old row matched no version, and `None` if nothing is stored.
    pub fn noted(&self, time_and_key: (i64, Option<&[u8]>)) -> Option<Option<Box<[u8]>>> {
        let key = bytes_of_key(time_and_key);
        self.replaced.get(&key[..]).map(|replaced| replaced.version.clone())
    }

    fn drop_replaced(&mut self, key: &[u8]) -> Option<Option<Box<[u8]>>> {
        let replaced = self.replaced.remove(key)?;
        self.bytes -= REPLACED_BYTES + replaced.version.as_ref().map_or(0, |version| version.len());
        Some(replaced.version)
    }

    /// Returns the bytes that the remembered left rows hold.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Saves the remembered left rows, in the order in which they were emitted.
    pub fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&ROW_FORMAT)?;
        let current = || {
            self.written.iter().filter_map(|(written_ms, row)| {
                let met = self.rows.get(row).filter(|met| met.written_ms == *written_ms)?;
                Some((*written_ms, row, met))
            })
        };
        state.put(&current().count())?;
        for (written_ms, row, met) in current() {
            state.put(&(written_ms, &**row, met.version.as_deref(), met.count))?;
        }
        let open = || {
            self.noted.iter().filter_map(|(noted_at, key)| {
                let replaced = self.replaced.get(key).filter(|replaced| replaced.noted_at == *noted_at)?;
                Some((key, replaced))
            })
        };
        state.put(&open().count())?;
        for (key, replaced) in open() {
            state.put(&(&**key, replaced.version.as_deref(), replaced.count))?;
        }
        Ok(())
    }

    /// Replaces the remembered left rows by the saved ones.
    pub fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        check_row_format(state)?;
        self.rows.clear();
        self.written.clear();
        self.replaced.clear();
        self.noted.clear();
        self.bytes = 0;
        let count: usize = state.take()?;
        for _ in 0..count {
            let (written_ms, row, version, count): (i64, Vec<u8>, Option<Box<[u8]>>, u64) = state.take()?;
            let row: Arc<[u8]> = Arc::from(row);
            let met = MetRow { version, count, written_ms };
            self.bytes += bytes_of(&met) + row.len() + NOTE_BYTES;
            self.written.push_back((written_ms, Arc::clone(&row)));
            // A row that was retracted and came again within a millisecond has two saved entries; the second
            // replaces the first.
            if let Some(before) = self.rows.insert(row, met) {
                self.bytes -= bytes_of(&before);
            }
        }
        let open: usize = state.take()?;
        for _ in 0..open {
            let (key, version, count): (Vec<u8>, Option<Box<[u8]>>, u64) = state.take()?;
            self.note(Arc::from(key), version.as_deref(), count.max(1));
        }
        Ok(())
    }
}

fn bytes_of(met: &MetRow) -> usize {
    met.version.as_ref().map_or(0, |version| version.len()) + ROW_BYTES
}

/// Encodes a row's time, whether it has a key, and the key as bytes, for look-ups.
fn bytes_of_key((time, key): (i64, Option<&[u8]>)) -> Vec<u8> {
    let has_key = u8::from(key.is_some());
    [&time.to_be_bytes()[..], &[has_key], key.unwrap_or_default()].concat()
}
