//! Keys with slots and expiry. While a key of a stream is kept, it has a slot: a number by which operators
//! index the state of the key. Later the slot serves another key.
//!
//! A key is kept for the time to live after its last row, or until it is released. An expired key is never
//! found again, though its memory may be held for up to another time to live. Expired keys are searched among
//! those written longest ago. A released slot is not given out again before the operator has recycled it
//! ([`Keyed::recycle`]), because the operator must first reset its own state of that slot.
//!
//! Source: Flink, `StateTtlConfig`, with `OnCreateAndWrite` and `NeverReturnExpired`: a key written a time to
//! live ago or longer is expired. As in SQL's GROUP BY, NULL is a key, and floats are compared by their bits.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use thalweg_model::{StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format, growth_bytes, heap_bytes};

use super::operator::Outcome;
use crate::plan::Column;

/// Least number of released slots, the numbers of dropped keys, at which [`Keyed::recycle`] makes them
/// available again, even if there are no keys.
const RELEASED_MIN: usize = 64;

/// Index of the keys of a stream, which gives each key a slot number while the key is kept.
pub(super) struct Keyed {
    places: Vec<usize>,
    /// Converts key columns to bytes; `None` if there are no key columns, and then all rows have one key.
    converter: Option<RowConverter>,
    table: HashTable<u32>,
    slots: Vec<Slot>,
    /// Slot numbers of keys, each with the processing time, in milliseconds, at which its expiry was checked
    /// last. The times ascend, and each slot occurs at most once.
    queue: VecDeque<(i64, u32)>,
    free: Vec<u32>,
    released: Vec<u32>,
    ttl_ms: Option<i64>,
    now_ms: i64,
    hasher: FixedState,
    key_bytes: usize,
}

#[derive(Default)]
struct Slot {
    key: Box<[u8]>,
    hash: u64,
    written_ms: i64,
    /// Number of [`pin`](Keyed::pin) calls that keep the key of this slot from expiring.
    pins: u32,
    is_live: bool,
    is_queued: bool,
}

/// Key columns of the rows of a batch, converted to bytes.
pub(super) struct KeyRows(Option<Rows>);

impl KeyRows {
    fn key(&self, row: usize) -> &[u8] {
        match &self.0 {
            Some(rows) => rows.row(row).data(),
            None => &[],
        }
    }
}

impl Keyed {
    /// Creates an index of keys. The key of a row consists of the values of the columns with the indexes
    /// `places`; the rows have the columns `input`.
    pub(super) fn new(
        places: Vec<usize>,
        input: &[Column],
        ttl_ms: Option<i64>,
        hash_seed: u64,
    ) -> Outcome<Self> {
        let fields: Vec<SortField> =
            places.iter().map(|place| SortField::new(input[*place].of.arrow())).collect();
        let converter =
            if fields.is_empty() { None } else { Some(RowConverter::new(fields).map_err(arrow_error)?) };
        Ok(Keyed {
            places,
            converter,
            table: HashTable::new(),
            slots: Vec::new(),
            queue: VecDeque::new(),
            free: Vec::new(),
            released: Vec::new(),
            ttl_ms,
            now_ms: i64::MIN,
            hasher: FixedState::with_seed(hash_seed),
            key_bytes: 0,
        })
    }

    /// Sets the processing time, in milliseconds, that is used until the next call, and releases the keys
    /// that have expired at it.
    pub(super) fn begin(&mut self, now_ms: i64) {
        self.now_ms = self.now_ms.max(now_ms);
        if self.ttl_ms.is_none() {
            return;
        }
        for _ in 0..self.queue.len() {
            let Some(&(looked_at_ms, slot)) = self.queue.front() else { break };
            if !self.has_passed(looked_at_ms) {
                break;
            }
            self.queue.pop_front();
            let state = &self.slots[slot as usize];
            let (is_live, written_ms) = (state.is_live, state.written_ms);
            if !is_live {
                self.slots[slot as usize].is_queued = false;
            } else if self.is_expired(slot) {
                self.slots[slot as usize].is_queued = false;
                self.release(slot);
            } else {
                let again_ms = if self.has_passed(written_ms) { self.now_ms } else { written_ms };
                self.queue.push_back((again_ms, slot));
            }
        }
    }

    fn has_passed(&self, written_ms: i64) -> bool {
        self.ttl_ms.is_some_and(|ttl| written_ms.saturating_add(ttl) <= self.now_ms)
    }

    fn is_expired(&self, slot: u32) -> bool {
        let slot = &self.slots[slot as usize];
        slot.pins == 0 && self.has_passed(slot.written_ms)
    }

    /// Converts the keys of a batch to bytes for look-ups.
    pub(super) fn rows(&self, rows: &RecordBatch) -> Outcome<KeyRows> {
        let Some(converter) = &self.converter else { return Ok(KeyRows(None)) };
        let columns: Vec<ArrayRef> =
            self.places.iter().map(|place| Arc::clone(rows.column(*place))).collect();
        converter.convert_columns(&columns).map(|rows| KeyRows(Some(rows))).map_err(arrow_error)
    }

    /// Returns the slot number of a key; `None` if the key is unknown or has expired.
    pub(super) fn find(&mut self, keys: &KeyRows, row: usize) -> Option<u32> {
        let key = keys.key(row);
        let slot = self.find_hashed(key, self.hash(key))?;
        if self.is_expired(slot) {
            self.release(slot);
            return None;
        }
        Some(slot)
    }

    /// Returns the slot number of a key and whether the key is new; a new key is given a slot.
    pub(super) fn find_or_add(&mut self, keys: &KeyRows, row: usize) -> (u32, bool) {
        let key = keys.key(row);
        let hash = self.hash(key);
        match self.find_hashed(key, hash) {
            Some(slot) if !self.is_expired(slot) => return (slot, false),
            Some(slot) => self.release(slot),
            None => {}
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        self.put(slot, key.into(), hash, self.now_ms);
        (slot, true)
    }

    fn put(&mut self, slot: u32, key: Box<[u8]>, hash: u64, written_ms: i64) {
        self.key_bytes += heap_bytes(key.len());
        let state = &mut self.slots[slot as usize];
        let is_queued = state.is_queued || self.ttl_ms.is_some();
        if is_queued && !state.is_queued {
            self.queue.push_back((written_ms, slot));
        }
        *state = Slot { key, hash, written_ms, pins: 0, is_live: true, is_queued };
        let slots = &self.slots;
        self.table.insert_unique(hash, slot, |slot| slots[*slot as usize].hash);
    }

    fn find_hashed(&self, key: &[u8], hash: u64) -> Option<u32> {
        let is_it = |slot: &u32| {
            let slot = &self.slots[*slot as usize];
            slot.hash == hash && *slot.key == *key
        };
        self.table.find(hash, is_it).copied()
    }

    fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        hasher.write_usize(key.len());
        hasher.finish()
    }

    /// Restarts the time to live of the key in a slot, after its state was written.
    pub(super) fn touch(&mut self, slot: u32) {
        self.slots[slot as usize].written_ms = self.now_ms;
    }

    /// Keeps the key in a slot from expiring until [`unpin`](Self::unpin).
    pub(super) fn pin(&mut self, slot: u32) {
        self.slots[slot as usize].pins += 1;
    }

    /// Reverts one call of [`pin`](Self::pin) for the key in a slot; when all calls are reverted, the key can
    /// expire.
    pub(super) fn unpin(&mut self, slot: u32) {
        let pins = &mut self.slots[slot as usize].pins;
        *pins = pins.saturating_sub(1);
    }

    /// Forgets the key in a slot; the slot can be given to another key after [`recycle`](Self::recycle).
    pub(super) fn release(&mut self, slot: u32) {
        let state = &mut self.slots[slot as usize];
        if !state.is_live {
            return;
        }
        state.is_live = false;
        self.key_bytes -= heap_bytes(state.key.len());
        state.key = Box::default();
        let hash = state.hash;
        if let Ok(entry) = self.table.find_entry(hash, |other| *other == slot) {
            entry.remove();
        }
        self.released.push(slot);
    }

    /// Returns the released slots and makes them available to new keys; the caller must reset its state of
    /// these slots. Unless `are_few_wanted` is true, returns nothing while fewer slots are released than
    /// [`RELEASED_MIN`] and a quarter of the number of keys together.
    pub(super) fn recycle(&mut self, are_few_wanted: bool) -> Vec<u32> {
        if !are_few_wanted && self.released.len() < RELEASED_MIN + self.table.len() / 4 {
            return Vec::new();
        }
        let released = std::mem::take(&mut self.released);
        self.free.extend_from_slice(&released);
        released
    }

    /// Returns the number of slots, free ones included; all slot numbers are below it.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns the numbers of the slots that hold a key.
    pub(super) fn live(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.slots).filter(|(_, slot)| slot.is_live).map(|(number, _)| number)
    }

    /// Returns the bytes that the index may allocate at once for `more` new keys, beyond the bytes held.
    pub(super) fn growth_bytes(&self, more: usize) -> usize {
        let table = &self.table;
        growth_bytes((table.len(), table.capacity(), table.allocation_size()), size_of::<u32>(), more)
    }

    pub(super) fn bytes(&self) -> usize {
        self.key_bytes
            + self.table.allocation_size()
            + self.slots.capacity() * size_of::<Slot>()
            + self.queue.capacity() * size_of::<(i64, u32)>()
            + (self.free.capacity() + self.released.capacity()) * size_of::<u32>()
    }

    /// Saves all keys of the index with their slots.
    ///
    /// # Errors
    /// [`StateError`] if they cannot be written.
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(ROW_FORMAT, self.slots.len(), self.table.len(), self.now_ms))?;
        for slot in self.live() {
            let held = &self.slots[slot as usize];
            state.put(&(slot, held.written_ms, held.pins))?;
            state.put(&held.key)?;
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
        let (slots, keys, now_ms): (usize, usize, i64) = state.take()?;
        if keys > slots || u32::try_from(slots).is_err() {
            return Err(state.wrong("there are more keys than slots"));
        }
        self.table.clear();
        self.queue.clear();
        self.free.clear();
        self.key_bytes = 0;
        self.now_ms = now_ms;
        self.slots.clear();
        for _ in 0..keys {
            let (slot, written_ms, pins): (u32, i64, u32) = state.take()?;
            let key: Box<[u8]> = state.take()?;
            let place = slot as usize;
            if place >= slots {
                return Err(state.wrong("a key has a slot that there is not"));
            }
            if place >= self.slots.len() {
                self.slots.resize_with(place + 1, Slot::default);
            }
            let hash = self.hash(&key);
            if self.slots[place].is_live || self.find_hashed(&key, hash).is_some() {
                return Err(state.wrong("a key or a slot stands there twice"));
            }
            self.put(slot, key, hash, written_ms);
            self.slots[place].pins = pins;
        }
        self.slots.resize_with(slots, Slot::default);
        self.released =
            (0..).zip(&self.slots).filter(|(_, slot)| !slot.is_live).map(|(number, _)| number).collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;
    use arrow::datatypes::{DataType, Field, Schema};
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
}
