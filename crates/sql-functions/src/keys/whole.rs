//! Index of whole numbers as keys: numbers them in order of first appearance, with a hash table of positions
//! in a vector of keys.
//!
//! Keys are looked up some at a time, so that waits for memory overlap; a run of equal keys is looked up once. The loop
//! uses nothing of Arrow, so it can be measured alone.

use thalweg_model::{StateError, StateReader, StateWriter};

use super::list_growth_bytes;
use super::table::{NumberTable, PROBED};

/// Distinct whole-number keys, each with a number, from 0 on, under which accumulators keep the state of its
/// group.
pub(super) struct WholeKeys {
    /// Hash table that finds the number of a key by the key's hash.
    table: NumberTable,
    /// Keys in the order of their numbers; 0 in the place of NULL.
    keys: Vec<i64>,
    /// Number of the key NULL, which is not in the hash table; `None` if NULL was never indexed.
    null: Option<u32>,
    seed: u64,
}

impl WholeKeys {
    pub(super) fn new(seed: u64) -> Self {
        WholeKeys { table: NumberTable::default(), keys: Vec::new(), null: None, seed }
    }

    /// Appends the number of each key in `values`, none of which is NULL, to `groups`.
    pub(super) fn index(&mut self, values: &[i64], groups: &mut Vec<u32>) {
        let Some(&first) = values.first() else { return };
        let mut last = (first, self.number(first));
        let (chunks, rest) = values.as_chunks::<PROBED>();
        for chunk in chunks {
            if chunk.iter().all(|value| *value == last.0) {
                groups.extend([last.1; PROBED]);
                continue;
            }
            let hashes = chunk.map(|value| hash_of(value, self.seed));
            let candidates = self.table.candidates(&hashes);
            // All keys are read before one is compared.
            let keys = candidates.map(|number| number.map_or(0, |number| self.keys[number as usize]));
            groups.extend((0..PROBED).map(|at| match candidates[at] {
                Some(number) if keys[at] == chunk[at] => number,
                _ => self.number_hashed(chunk[at], hashes[at]),
            }));
            last = (chunk[PROBED - 1], groups.last().copied().unwrap_or_default());
        }
        groups.extend(rest.iter().map(|&value| {
            if value != last.0 {
                last = (value, self.number(value));
            }
            last.1
        }));
    }

    /// Appends the number of each key in `values`, some of which are NULL, to `groups`; the value at a NULL
    /// is ignored.
    pub(super) fn index_nullable(
        &mut self,
        values: &[i64],
        is_null: impl Fn(usize) -> bool,
        groups: &mut Vec<u32>,
    ) {
        groups.extend(values.iter().enumerate().map(|(row, &value)| match is_null(row) {
            true => self.null_number(),
            false => self.number(value),
        }));
    }

    pub(super) fn find(&self, key: i64) -> Option<u32> {
        self.table.find(hash_of(key, self.seed), |number| self.keys[number as usize] == key)
    }

    pub(super) fn null(&self) -> Option<u32> {
        self.null
    }

    /// Returns the key with a number; 0 for the number of NULL.
    pub(super) fn key(&self, number: usize) -> i64 {
        self.keys[number]
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn growth_bytes(&self, more: usize) -> usize {
        self.table.growth_bytes(more)
            + list_growth_bytes(self.keys.len(), self.keys.capacity(), size_of::<i64>(), more)
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.table.held_bytes() + self.keys.capacity() * size_of::<i64>()
    }

    pub(super) fn clear(&mut self) {
        self.table.clear();
        self.keys.clear();
        self.null = None;
    }

    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.null)?;
        state.put(&self.keys)
    }

    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let null: Option<u32> = state.take()?;
        let keys: Vec<i64> = state.take()?;
        if super::KEYS_MAX < keys.len() {
            return Err(state.wrong(format!("{} keys are more than an index has", keys.len())));
        }
        self.clear();
        for (place, key) in keys.into_iter().enumerate() {
            let number = if null.is_some_and(|null| null as usize == place) {
                self.null_number()
            } else {
                self.number(key)
            };
            if number as usize != place {
                return Err(state.wrong(format!("key {key} stands there twice")));
            }
        }
        if self.null != null {
            return Err(state.wrong("the number of the key NULL is beyond the last key"));
        }
        Ok(())
    }

    #[inline]
    fn number(&mut self, key: i64) -> u32 {
        self.number_hashed(key, hash_of(key, self.seed))
    }

    #[inline]
    fn number_hashed(&mut self, key: i64, hash: u64) -> u32 {
        let keys = &self.keys;
        match self.table.find(hash, |number| keys[number as usize] == key) {
            Some(number) => number,
            None => self.insert(key, hash),
        }
    }

    #[cold]
    fn insert(&mut self, key: i64, hash: u64) -> u32 {
        let number = next_number(self.keys.len());
        self.keys.push(key);
        let (keys, seed) = (&self.keys, self.seed);
        self.table.insert(hash, number, |number| hash_of(keys[number as usize], seed));
        number
    }

    fn null_number(&mut self) -> u32 {
        let keys = &mut self.keys;
        *self.null.get_or_insert_with(|| {
            keys.push(0);
            next_number(keys.len() - 1)
        })
    }
}

/// Returns the number for the next new key, which is the number `keys` of keys so far.
pub(super) fn next_number(keys: usize) -> u32 {
    u32::try_from(keys).expect("`KeyIndex::check_room` has seen that all keys have numbers of 32 bits")
}

/// Returns a hash of a whole number whose bits are all usable: both halves of a product of 128 bits, combined
/// by XOR. Both factors depend on the seed, so without knowing it nobody can choose keys that collide.
#[inline]
pub fn hash_of(key: i64, seed: u64) -> u64 {
    // An odd factor with the bits of the golden ratio gives consecutive keys hashes that are far apart.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let factor = (FACTOR ^ seed.rotate_left(32)) | 1;
    let product = u128::from(key as u64 ^ seed) * u128::from(factor);
    (product as u64) ^ (product >> 64) as u64
}

/// Returns whether a table of numbers with the given seed finds nearly all whole numbers from 0 on within a line of the cache.
/// This is the case if at most one key of 40 lies [`LINE_PLACES`] places or more behind the place of its hash, in tables of
/// 64 to 1,024 places that are as full as they may be.
///
/// Half of all seeds leave one key of 20 further away, and the worst of 200 nearly all, which makes look-ups many times as
/// slow.
pub(super) fn spreads_well(seed: u64) -> bool {
    (6..=10).all(|log_places| {
        let places = 1_usize << log_places;
        let keys = places / 4 * 3;
        keys_far_away(keys, places, seed) * 40 <= keys
    })
}

/// Number of places of a table of numbers in a line of the cache, of 64 bytes.
const LINE_PLACES: usize = 8;

/// Returns how many keys lie [`LINE_PLACES`] places or more behind the place of their hash, after the whole numbers from 0 up
/// to `keys` are inserted in order into a table with linear probing.
fn keys_far_away(keys: usize, places: usize, seed: u64) -> usize {
    let mut is_used = vec![false; places];
    let mut distance_of = |key: usize| {
        let first = hash_of(key as i64, seed) as usize % places;
        let distance = (0..places).find(|distance| !is_used[(first + distance) % places]).unwrap_or(places);
        is_used[(first + distance) % places] = true;
        distance
    };
    (0..keys).filter(|key| distance_of(*key) >= LINE_PLACES).count()
}
