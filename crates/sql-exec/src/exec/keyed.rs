//! Keys with slots and expiry. While a key of a stream is kept, it has a slot: a number by which operators
//! index the state of the key. Later the slot serves another key.
//!
//! A key is kept for the time to live after its last row, or until it is released. An expired key is never
//! found again, though its memory may be held for up to another time to live. Expired keys are searched among
//! those written longest ago. A released slot is not given out again before the operator has recycled it
//! ([`Keyed::recycle`]), because the operator must first reset its own state of that slot.
//!
//! | key columns | how keys are held |
//! |---|---|
//! | none | one slot |
//! | one that is a whole number: BOOLEAN, integers, dates, times, timestamps, intervals | as i64, 8 bytes a key |
//! | one of text or bytes, and anything else as comparable rows (arrow's `RowConverter`) | up to 22 bytes in place, others on the heap |
//!
//! Beside its key, a slot takes 8 bytes in a table whose places are used to three quarters at most, a byte that says whether
//! it is in use, and 9 bytes with a time to live. The keys of a batch are looked up together, so that waits for memory
//! overlap.
//!
//! Source: Flink, `StateTtlConfig`, with `OnCreateAndWrite` and `NeverReturnExpired`: a key written a time to
//! live ago or longer is expired. As in SQL's GROUP BY, NULL is a key, and floats are compared by their bits.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};
use foldhash::fast::FixedState;
use thalweg_model::{StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::keys::{
    ByteSlices, NumberTable, PROBED, ROW_FORMAT, check_row_format, hash_of, is_whole, list_growth_bytes,
    whole_numbers,
};

use super::operator::Outcome;
use super::short_bytes::ShortBytes;
use crate::plan::Column;

/// Least number of released slots, the numbers of dropped keys, at which [`Keyed::recycle`] makes them
/// available again, even if there are no keys.
const RELEASED_MIN: usize = 64;

/// Index of the keys of a stream, which gives each key a slot number while the key is kept.
pub(super) struct Keyed {
    places: Vec<usize>,
    keys: Keys,
    /// Slots by the hashes of their keys.
    table: NumberTable,
    /// Slot of the key NULL of a single column, or of the only key if there are no key columns. It is not in the hash
    /// table.
    null: Option<u32>,
    /// Whether each slot holds a key.
    is_live: Vec<bool>,
    /// Times at which keys were written; `None` without a time to live.
    times: Option<Times>,
    /// Numbers of [`pin`](Self::pin) calls that keep the key of each slot from expiring; empty until the first call.
    pins: Vec<u32>,
    free: Vec<u32>,
    released: Vec<u32>,
    now_ms: i64,
}

/// Keys by their slots, in the form that suits the types of the key columns.
enum Keys {
    /// All rows have one key.
    None,
    /// One column of whole numbers.
    Whole { keys: Vec<i64>, seed: u64 },
    /// Bytes: of one column of text or bytes, or of a comparable row.
    Bytes { keys: Vec<BytesKey>, converter: Option<RowConverter>, hasher: FixedState, heap_bytes: usize },
}

/// A key of bytes with its hash. Comparing hashes first is faster than comparing bytes, and a growing table need not hash
/// again.
struct BytesKey {
    hash: u64,
    bytes: ShortBytes,
}

/// Times at which keys were written, and the order in which they are looked at.
struct Times {
    ttl_ms: i64,
    written_ms: Vec<i64>,
    is_queued: Vec<bool>,
    /// Slot numbers of keys, each with the processing time, in milliseconds, at which its expiry was checked
    /// last. The times ascend, and each slot occurs at most once.
    queue: VecDeque<(i64, u32)>,
}

/// Keys of the rows of a batch.
pub(super) struct KeyRows {
    values: Values,
    /// Hash of each key; 0 for NULL.
    hashes: Vec<u64>,
    /// For each row, the slot that its key had when the batch was read; [`NO_SLOT`] if it is to be searched.
    slots: Vec<u32>,
}

/// Stands for the slot of a key that is to be searched.
const NO_SLOT: u32 = u32::MAX;

/// Key columns of the rows of a batch.
enum Values {
    None,
    Whole(ScalarBuffer<i64>, Option<NullBuffer>),
    Bytes(ByteSlices, Option<NullBuffer>),
    Rows(Rows),
}

/// Key of one row.
#[derive(Clone, Copy)]
enum Key<'a> {
    /// NULL in a single column, or the only key if there are no key columns.
    Null,
    Whole(i64),
    Bytes(&'a [u8]),
}

impl Values {
    #[inline]
    fn key(&self, row: usize) -> Key<'_> {
        let is_null = |nulls: &Option<NullBuffer>| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        match self {
            Values::None => Key::Null,
            Values::Whole(values, nulls) => {
                if is_null(nulls) {
                    Key::Null
                } else {
                    Key::Whole(values[row])
                }
            }
            Values::Bytes(values, nulls) => {
                if is_null(nulls) {
                    Key::Null
                } else {
                    Key::Bytes(values.get(row))
                }
            }
            Values::Rows(rows) => Key::Bytes(rows.row(row).data()),
        }
    }
}

impl Keyed {
    /// Creates an index of keys. The key of a row consists of the values of the columns with the indexes
    /// `places`; the rows have the columns `input`. Keys expire `ttl_ms` milliseconds after they were written last; never
    /// without it, and if it is the greatest number.
    pub(super) fn new(
        places: Vec<usize>,
        input: &[Column],
        ttl_ms: Option<i64>,
        hash_seed: u64,
    ) -> Outcome<Self> {
        let types = places.iter().map(|place| input[*place].of.arrow()).collect();
        Ok(Keyed { places, ..Keyed::of_types(types, ttl_ms, hash_seed)? })
    }

    /// Creates an index of keys whose columns have the given types. [`rows_of`](Self::rows_of) reads such columns.
    pub(super) fn of_types(types: Vec<DataType>, ttl_ms: Option<i64>, hash_seed: u64) -> Outcome<Self> {
        let of_bytes = |converter| Keys::Bytes {
            keys: Vec::new(),
            converter,
            hasher: FixedState::with_seed(hash_seed),
            heap_bytes: 0,
        };
        let keys = match &types[..] {
            [] => Keys::None,
            [one] if is_whole(one) => Keys::Whole { keys: Vec::new(), seed: hash_seed },
            [DataType::Utf8 | DataType::Binary] => of_bytes(None),
            _ => {
                let fields = types.into_iter().map(SortField::new).collect();
                of_bytes(Some(RowConverter::new(fields).map_err(arrow_error)?))
            }
        };
        let times = ttl_ms.filter(|ttl_ms| *ttl_ms < i64::MAX).map(|ttl_ms| Times {
            ttl_ms,
            written_ms: Vec::new(),
            is_queued: Vec::new(),
            queue: VecDeque::new(),
        });
        Ok(Keyed {
            places: Vec::new(),
            keys,
            table: NumberTable::default(),
            null: None,
            is_live: Vec::new(),
            times,
            pins: Vec::new(),
            free: Vec::new(),
            released: Vec::new(),
            now_ms: i64::MIN,
        })
    }

    /// Sets the processing time, in milliseconds, that is used until the next call, and releases the keys
    /// that have expired at it.
    pub(super) fn begin(&mut self, now_ms: i64) {
        self.now_ms = self.now_ms.max(now_ms);
        let Some(times) = &self.times else { return };
        for _ in 0..times.queue.len() {
            let Some(times) = &mut self.times else { return };
            let Some(&(looked_at_ms, slot)) = times.queue.front() else { break };
            if !times.has_passed(looked_at_ms, self.now_ms) {
                break;
            }
            times.queue.pop_front();
            let place = slot as usize;
            let written_ms = times.written_ms[place];
            if !self.is_live[place] {
                times.is_queued[place] = false;
            } else if times.has_passed(written_ms, self.now_ms) && !is_pinned(&self.pins, slot) {
                times.is_queued[place] = false;
                self.release(slot);
            } else {
                let has_passed = times.has_passed(written_ms, self.now_ms);
                let again_ms = if has_passed { self.now_ms } else { written_ms };
                times.queue.push_back((again_ms, slot));
            }
        }
    }

    fn is_expired(&self, slot: u32) -> bool {
        self.times.as_ref().is_some_and(|times| {
            times.has_passed(times.written_ms[slot as usize], self.now_ms) && !is_pinned(&self.pins, slot)
        })
    }

    /// Reads the keys of a batch for look-ups.
    pub(super) fn rows(&self, rows: &RecordBatch) -> Outcome<KeyRows> {
        let columns: Vec<ArrayRef> =
            self.places.iter().map(|place| Arc::clone(rows.column(*place))).collect();
        self.rows_of(&columns, rows.num_rows())
    }

    /// Reads keys for look-ups from `rows` rows of columns.
    pub(super) fn rows_of(&self, columns: &[ArrayRef], rows: usize) -> Outcome<KeyRows> {
        let nulls = |column: &ArrayRef| column.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let values = match &self.keys {
            Keys::None => Values::None,
            Keys::Whole { .. } => Values::Whole(whole_numbers(&columns[0]), nulls(&columns[0])),
            Keys::Bytes { converter: None, .. } => {
                Values::Bytes(ByteSlices::of(&columns[0]), nulls(&columns[0]))
            }
            Keys::Bytes { converter: Some(converter), .. } => {
                Values::Rows(converter.convert_columns(columns).map_err(arrow_error)?)
            }
        };
        let hashes: Vec<u64> = match &values {
            Values::None => Vec::new(),
            _ => (0..rows).map(|row| self.hash(values.key(row))).collect(),
        };
        let slots = self.probed(&values, &hashes);
        Ok(KeyRows { values, hashes, slots })
    }

    /// Returns the slots of the keys of a batch that are found at the first place of their hashes.
    fn probed(&self, values: &Values, hashes: &[u64]) -> Vec<u32> {
        let mut slots = vec![NO_SLOT; hashes.len()];
        if self.table.is_empty() {
            return slots;
        }
        for (number, (chunk, slots)) in hashes.chunks(PROBED).zip(slots.chunks_mut(PROBED)).enumerate() {
            let mut hashes = [0; PROBED];
            hashes[..chunk.len()].copy_from_slice(chunk);
            let candidates = self.table.candidates(&hashes);
            let first = number * PROBED;
            match (&self.keys, values) {
                (Keys::Whole { keys, .. }, Values::Whole(values, _)) => {
                    // All keys are read before one is compared.
                    let held = candidates.map(|slot| slot.map_or(0, |slot| keys[slot as usize]));
                    for (at, slot) in slots.iter_mut().enumerate() {
                        *slot = candidates[at].filter(|_| held[at] == values[first + at]).unwrap_or(NO_SLOT);
                    }
                }
                (Keys::Bytes { keys, .. }, _) => {
                    let held = candidates.map(|slot| slot.map_or(0, |slot| keys[slot as usize].hash));
                    for (at, slot) in slots.iter_mut().enumerate() {
                        *slot = candidates[at].filter(|_| held[at] == chunk[at]).unwrap_or(NO_SLOT);
                    }
                }
                _ => {}
            }
        }
        slots
    }

    /// Returns the key of a row and its hash, and the slot of the key; `None` if there is none.
    #[inline]
    fn look_up<'k>(&self, keys: &'k KeyRows, row: usize) -> (Key<'k>, u64, Option<u32>) {
        let key = keys.values.key(row);
        let hash = keys.hashes.get(row).copied().unwrap_or_default();
        // The slot may serve another key by now.
        let known = keys.slots.get(row).copied().filter(|slot| *slot != NO_SLOT && self.holds(*slot, key));
        (key, hash, known.or_else(|| self.find_hashed(key, hash)))
    }

    /// Returns whether a slot holds a key that is not NULL.
    #[inline]
    fn holds(&self, slot: u32, key: Key<'_>) -> bool {
        let place = slot as usize;
        self.is_live[place]
            && self.null != Some(slot)
            && match (key, &self.keys) {
                (Key::Whole(key), Keys::Whole { keys, .. }) => keys[place] == key,
                (Key::Bytes(key), Keys::Bytes { keys, .. }) => keys[place].bytes.get() == key,
                _ => false,
            }
    }

    /// Returns the slot number of a key; `None` if the key is unknown or has expired.
    pub(super) fn find(&mut self, keys: &KeyRows, row: usize) -> Option<u32> {
        let (_, _, slot) = self.look_up(keys, row);
        let slot = slot?;
        if self.is_expired(slot) {
            self.release(slot);
            return None;
        }
        Some(slot)
    }

    /// Returns the slot number of a key and whether the key is new; a new key is given a slot.
    #[inline]
    pub(super) fn find_or_add(&mut self, keys: &KeyRows, row: usize) -> (u32, bool) {
        let (key, hash, known) = self.look_up(keys, row);
        match known {
            Some(slot) if !self.is_expired(slot) => return (slot, false),
            Some(slot) => self.release(slot),
            None => {}
        }
        let slot = self.free.pop().unwrap_or(self.is_live.len() as u32);
        self.put(slot, key, hash, self.now_ms);
        (slot, true)
    }

    /// Makes all lists long enough for the slots below `slots`.
    fn grow(&mut self, slots: usize) {
        if self.is_live.len() >= slots {
            return;
        }
        self.is_live.resize(slots, false);
        match &mut self.keys {
            Keys::None => {}
            Keys::Whole { keys, .. } => keys.resize(slots, 0),
            Keys::Bytes { keys, .. } => {
                keys.resize_with(slots, || BytesKey { hash: 0, bytes: ShortBytes::new(&[]) });
            }
        }
        if let Some(times) = &mut self.times {
            times.written_ms.resize(slots, i64::MIN);
            times.is_queued.resize(slots, false);
        }
    }

    fn put(&mut self, slot: u32, key: Key<'_>, hash: u64, written_ms: i64) {
        let place = slot as usize;
        self.grow(place + 1);
        self.is_live[place] = true;
        if let Some(times) = &mut self.times {
            times.written_ms[place] = written_ms;
            if !times.is_queued[place] {
                times.is_queued[place] = true;
                times.queue.push_back((written_ms, slot));
            }
        }
        match (key, &mut self.keys) {
            (Key::Whole(key), Keys::Whole { keys, seed }) => {
                keys[place] = key;
                let (keys, seed) = (&*keys, *seed);
                self.table.insert(hash, slot, |slot| hash_of(keys[slot as usize], seed));
            }
            (Key::Bytes(key), Keys::Bytes { keys, heap_bytes, .. }) => {
                keys[place] = BytesKey { hash, bytes: ShortBytes::new(key) };
                *heap_bytes += keys[place].bytes.heap_bytes();
                let keys = &*keys;
                self.table.insert(hash, slot, |slot| keys[slot as usize].hash);
            }
            _ => self.null = Some(slot),
        }
    }

    #[inline]
    fn find_hashed(&self, key: Key<'_>, hash: u64) -> Option<u32> {
        match (key, &self.keys) {
            (Key::Whole(key), Keys::Whole { keys, .. }) => {
                self.table.find(hash, |slot| keys[slot as usize] == key)
            }
            (Key::Bytes(key), Keys::Bytes { keys, .. }) => {
                let is_it = |slot: u32| {
                    let held = &keys[slot as usize];
                    held.hash == hash && held.bytes.get() == key
                };
                self.table.find(hash, is_it)
            }
            _ => self.null,
        }
    }

    #[inline]
    fn hash(&self, key: Key<'_>) -> u64 {
        match (key, &self.keys) {
            (Key::Whole(key), Keys::Whole { seed, .. }) => hash_of(key, *seed),
            (Key::Bytes(key), Keys::Bytes { hasher, .. }) => {
                let mut hasher = hasher.build_hasher();
                hasher.write(key);
                hasher.write_usize(key.len());
                hasher.finish()
            }
            _ => 0,
        }
    }

    /// Restarts the time to live of the key in a slot, after its state was written.
    #[inline]
    pub(super) fn touch(&mut self, slot: u32) {
        if let Some(times) = &mut self.times {
            times.written_ms[slot as usize] = self.now_ms;
        }
    }

    /// Keeps the key in a slot from expiring until [`unpin`](Self::unpin).
    pub(super) fn pin(&mut self, slot: u32) {
        let place = slot as usize;
        if self.pins.len() <= place {
            self.pins.resize(self.is_live.len().max(place + 1), 0);
        }
        self.pins[place] += 1;
    }

    /// Reverts one call of [`pin`](Self::pin) for the key in a slot; when all calls are reverted, the key can
    /// expire.
    pub(super) fn unpin(&mut self, slot: u32) {
        if let Some(pins) = self.pins.get_mut(slot as usize) {
            *pins = pins.saturating_sub(1);
        }
    }

    /// Forgets the key in a slot; the slot can be given to another key after [`recycle`](Self::recycle).
    pub(super) fn release(&mut self, slot: u32) {
        let place = slot as usize;
        if !self.is_live.get(place).is_some_and(|is_live| *is_live) {
            return;
        }
        self.is_live[place] = false;
        if let Some(pins) = self.pins.get_mut(place) {
            *pins = 0;
        }
        self.released.push(slot);
        if self.null == Some(slot) {
            self.null = None;
            return;
        }
        let hash = match &mut self.keys {
            Keys::None => return,
            Keys::Whole { keys, seed } => hash_of(keys[place], *seed),
            Keys::Bytes { keys, heap_bytes, .. } => {
                *heap_bytes -= keys[place].bytes.heap_bytes();
                keys[place].bytes = ShortBytes::new(&[]);
                keys[place].hash
            }
        };
        self.table.remove(hash, slot);
    }

    /// Returns the released slots and makes them available to new keys; the caller must reset its state of
    /// these slots. Unless `are_few_wanted` is true, returns nothing while fewer slots are released than
    /// [`RELEASED_MIN`] and a quarter of the number of keys together.
    pub(super) fn recycle(&mut self, are_few_wanted: bool) -> Vec<u32> {
        if !are_few_wanted && self.released.len() < RELEASED_MIN + self.len() / 4 {
            return Vec::new();
        }
        let released = std::mem::take(&mut self.released);
        self.free.extend_from_slice(&released);
        released
    }

    /// Returns the number of keys that are kept.
    fn len(&self) -> usize {
        self.table.len() + usize::from(self.null.is_some())
    }

    /// Returns whether no key is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of slots, free ones included; all slot numbers are below it.
    pub(super) fn slots(&self) -> usize {
        self.is_live.len()
    }

    /// Returns the numbers of the slots that hold a key.
    pub(super) fn live(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.is_live).filter(|(_, is_live)| **is_live).map(|(number, _)| number)
    }

    /// Returns the bytes that the index may allocate at once for `more` new keys, beyond the bytes held.
    pub(super) fn growth_bytes(&self, more: usize) -> usize {
        let list = |len, capacity, bytes| list_growth_bytes(len, capacity, bytes, more);
        self.table.growth_bytes(more)
            + match &self.keys {
                Keys::None => 0,
                Keys::Whole { keys, .. } => list(keys.len(), keys.capacity(), size_of::<i64>()),
                Keys::Bytes { keys, .. } => list(keys.len(), keys.capacity(), size_of::<BytesKey>()),
            }
    }

    pub(super) fn bytes(&self) -> usize {
        let keys = match &self.keys {
            Keys::None => 0,
            Keys::Whole { keys, .. } => keys.capacity() * size_of::<i64>(),
            Keys::Bytes { keys, heap_bytes, .. } => keys.capacity() * size_of::<BytesKey>() + heap_bytes,
        };
        keys + self.table.held_bytes()
            + self.is_live.capacity()
            + self.times.as_ref().map_or(0, Times::bytes)
            + (self.pins.capacity() + self.free.capacity() + self.released.capacity()) * size_of::<u32>()
    }

    /// Saves all keys of the index with their slots.
    ///
    /// # Errors
    /// [`StateError`] if they cannot be written.
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(ROW_FORMAT, self.now_ms))?;
        state.put(&self.is_live)?;
        for slot in self.live() {
            let place = slot as usize;
            let written_ms = self.times.as_ref().map_or(self.now_ms, |times| times.written_ms[place]);
            state.put(&(written_ms, self.pins.get(place).copied().unwrap_or_default()))?;
            let is_null = self.null == Some(slot);
            match &self.keys {
                Keys::None => {}
                Keys::Whole { keys, .. } => state.put(&(!is_null).then(|| keys[place]))?,
                Keys::Bytes { keys, .. } => state.put(&(!is_null).then(|| keys[place].bytes.get()))?,
            }
        }
        Ok(())
    }

    /// Replaces all keys of the index by those that [`save`](Self::save) wrote; slots without a key are to be
    /// recycled.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such keys.
    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        check_row_format(state)?;
        let now_ms: i64 = state.take()?;
        // There is a byte for each slot, so there are no more slots than bytes.
        let is_live: Vec<bool> = state.take()?;
        if u32::try_from(is_live.len()).is_err() {
            return Err(state.wrong("there are more slots than an index has"));
        }
        self.clear();
        self.now_ms = now_ms;
        for (slot, _) in (0..).zip(&is_live).filter(|(_, is_live)| **is_live) {
            let (written_ms, pins): (i64, u32) = state.take()?;
            let (whole, bytes): (Option<i64>, Option<Box<[u8]>>) = match &self.keys {
                Keys::None => (None, None),
                Keys::Whole { .. } => (state.take()?, None),
                Keys::Bytes { .. } => (None, state.take()?),
            };
            let key = match (whole, &bytes) {
                (Some(key), _) => Key::Whole(key),
                (None, Some(key)) => Key::Bytes(key),
                (None, None) => Key::Null,
            };
            let hash = self.hash(key);
            if self.find_hashed(key, hash).is_some() {
                return Err(state.wrong("a key stands there twice"));
            }
            self.put(slot, key, hash, written_ms);
            if pins > 0 {
                self.pin(slot);
                self.pins[slot as usize] = pins;
            }
        }
        self.grow(is_live.len());
        self.released =
            (0..).zip(&self.is_live).filter(|(_, is_live)| !**is_live).map(|(number, _)| number).collect();
        Ok(())
    }

    fn clear(&mut self) {
        self.table.clear();
        self.null = None;
        self.is_live.clear();
        self.pins.clear();
        self.free.clear();
        match &mut self.keys {
            Keys::None => {}
            Keys::Whole { keys, .. } => keys.clear(),
            Keys::Bytes { keys, heap_bytes, .. } => {
                keys.clear();
                *heap_bytes = 0;
            }
        }
        if let Some(times) = &mut self.times {
            times.written_ms.clear();
            times.is_queued.clear();
            times.queue.clear();
        }
    }
}

impl Times {
    fn has_passed(&self, written_ms: i64, now_ms: i64) -> bool {
        written_ms.saturating_add(self.ttl_ms) <= now_ms
    }

    fn bytes(&self) -> usize {
        self.written_ms.capacity() * size_of::<i64>()
            + self.is_queued.capacity()
            + self.queue.capacity() * size_of::<(i64, u32)>()
    }
}

fn is_pinned(pins: &[u32], slot: u32) -> bool {
    pins.get(slot as usize).is_some_and(|pins| *pins > 0)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringArray};
    use arrow::datatypes::{Field, Schema};
    use thalweg_sql_functions::types::SqlType;

    use super::*;

    fn batch(keys: &[Option<i64>]) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("k", DataType::Int64, true)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int64Array::from(keys.to_vec()))]).unwrap()
    }

    fn keyed(ttl_ms: Option<i64>) -> Keyed {
        Keyed::new(vec![0], &[Column::plain("k", SqlType::BigInt, true)], ttl_ms, 7).unwrap()
    }

    /// Checks the slots of keys that come at given times. Each step of the test is a time, keys and their
    /// expected slots.
    fn check(ttl_ms: Option<i64>, steps: &[(i64, &[Option<i64>], &[u32])]) {
        let mut keyed = keyed(ttl_ms);
        for (now_ms, keys, expected) in steps {
            keyed.begin(*now_ms);
            keyed.recycle(true);
            let rows = keyed.rows(&batch(keys)).unwrap();
            let slots: Vec<u32> = (0..keys.len())
                .map(|row| {
                    let (slot, _) = keyed.find_or_add(&rows, row);
                    keyed.touch(slot);
                    slot
                })
                .collect();
            assert_eq!(slots, *expected, "{steps:?} at {now_ms}");
        }
    }

    #[test]
    fn slots_serve_again_when_their_key_is_expired() {
        let (one, two, null) = (Some(1), Some(2), None);
        check(None, &[(0, &[one, two, one, null], &[0, 1, 0, 2]), (i64::MAX, &[null, one], &[2, 0])]);
        // A key that is written at time 0 with a time to live of 10 is still kept at 9 and has expired at 10.
        check(
            Some(10),
            &[(0, &[one], &[0]), (9, &[one], &[0]), (18, &[one], &[0]), (28, &[two, one], &[0, 1])],
        );
        check(Some(10), &[(0, &[one, two], &[0, 1]), (5, &[two], &[1]), (10, &[null, two], &[0, 1])]);
    }

    /// A pinned key does not expire, even when it is looked up after its time to live.
    #[test]
    fn what_is_pinned_stays() {
        let mut keyed = keyed(Some(10));
        keyed.begin(0);
        let rows = keyed.rows(&batch(&[Some(1), Some(2)])).unwrap();
        let (pinned, _) = keyed.find_or_add(&rows, 0);
        keyed.find_or_add(&rows, 1);
        keyed.pin(pinned);
        keyed.begin(50);
        assert_eq!((keyed.find(&rows, 0), keyed.find(&rows, 1)), (Some(pinned), None));
        keyed.unpin(pinned);
        keyed.begin(100);
        assert_eq!((keyed.find(&rows, 0), keyed.live().count()), (None, 0));
    }

    /// Expired keys are released even if they never come again, so that they are not held forever.
    #[test]
    fn what_is_expired_goes() {
        let mut keyed = keyed(Some(100));
        for now_ms in 0..5_000 {
            keyed.begin(now_ms);
            keyed.recycle(false);
            let rows = keyed.rows(&batch(&[Some(now_ms), Some(7)])).unwrap();
            keyed.find_or_add(&rows, 0);
            let (slot, _) = keyed.find_or_add(&rows, 1);
            keyed.touch(slot);
        }
        assert!(keyed.live().count() <= 201, "{} are remembered", keyed.live().count());
        assert!(keyed.slots() < 600, "there are {} slots", keyed.slots());
    }

    #[test]
    fn keys_are_saved_with_their_slots() {
        let mut first = keyed(Some(10));
        first.begin(3);
        let rows = first.rows(&batch(&[Some(1), Some(2), None])).unwrap();
        (0..3).for_each(|row| _ = first.find_or_add(&rows, row));
        first.release(0);
        let mut state = StateWriter::default();
        first.save(&mut state).unwrap();
        let bytes = state.into_bytes();
        let mut second = keyed(Some(10));
        let mut reader = StateReader::new(&bytes);
        second.load(&mut reader).unwrap();
        reader.finish().unwrap();
        second.begin(4);
        assert_eq!(second.recycle(true), [0]);
        let slots: Vec<u32> = (0..3).map(|row| second.find_or_add(&rows, row).0).collect();
        assert_eq!(slots, [0, 1, 2]);
        second.begin(13);
        assert_eq!((second.find(&rows, 1), second.find(&rows, 0)), (None, Some(0)));
    }

    /// Keys of text, and of several columns, are found again, also long ones, NULL and the empty text, and after a
    /// release; saved and loaded, they have the same slots.
    #[test]
    fn texts_and_rows_are_keys() {
        let columns = [Column::plain("s", SqlType::STRING, true), Column::plain("k", SqlType::BigInt, true)];
        let long = "x".repeat(100);
        let texts = [
            Some(""),
            None,
            Some("a text of 22 bytes: .."),
            Some("a text of 23 bytes: ..."),
            Some(&*long),
            Some(""),
        ];
        let text: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let number: ArrayRef =
            Arc::new(Int64Array::from(vec![Some(1), None, Some(1), Some(1), None, Some(2)]));
        let rows =
            RecordBatch::try_from_iter_with_nullable([("s", text, true), ("k", number, true)]).unwrap();
        for (places, expected) in
            [(vec![0], [0, 1, 2, 3, 4, 0]), (vec![0, 1], [0, 1, 2, 3, 4, 5]), (vec![], [0; 6])]
        {
            let made = || Keyed::new(places.clone(), &columns, None, 7).unwrap();
            let mut keyed = made();
            let keys = keyed.rows(&rows).unwrap();
            let slots =
                |keyed: &mut Keyed| (0..6).map(|row| keyed.find_or_add(&keys, row).0).collect::<Vec<_>>();
            let held_bytes = keyed.bytes();
            assert_eq!(slots(&mut keyed), expected);
            assert!(keyed.bytes() > held_bytes);
            let mut state = StateWriter::default();
            keyed.save(&mut state).unwrap();
            let bytes = state.into_bytes();
            let mut loaded = made();
            let mut reader = StateReader::new(&bytes);
            loaded.load(&mut reader).unwrap();
            reader.finish().unwrap();
            assert_eq!(slots(&mut loaded), expected);
            keyed.release(expected[4]);
            assert_eq!(keyed.find(&keys, 4), None);
            assert_eq!(keyed.recycle(true), [expected[4]]);
            assert_eq!(keyed.find_or_add(&keys, 4), (expected[4], true));
        }
    }
}
