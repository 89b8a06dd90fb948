//! Hash table of the numbers of keys, which is probed for many keys at once.
//!
//! An entry is 8 bytes: half of the hash of a key, and the number of the key. The keys themselves lie elsewhere, in the
//! order of their numbers. A table of a million keys is larger than the caches of a core, so a look-up waits for memory
//! twice: for the entry, and for the key. [`candidates`](NumberTable::candidates) reads the entries of many keys before any
//! of them is compared, so these waits overlap.
//!
//! Collisions are resolved by linear probing, and at most three of four places are used. The place of a removed number stays
//! used until the table is built anew, which happens when too few places are left.

/// Table of the numbers of keys by their hashes.
#[derive(Default)]
pub struct NumberTable {
    /// Entries, a power of two; [`EMPTY`] for a free place, [`REMOVED`] for that of a removed number. The upper half of an
    /// entry is the upper half of the hash, the lower half is the number of the key.
    entries: Vec<u64>,
    len: usize,
    /// Number of places of removed numbers.
    removed: usize,
}

/// A free place. No key has the number `u32::MAX`: [`KEYS_MAX`](super::KEYS_MAX) bounds them.
const EMPTY: u64 = u64::MAX;

/// Place of a removed number.
const REMOVED: u64 = u32::MAX as u64;

/// Least number of places of a table that has keys.
const PLACES_MIN: usize = 8;

/// Number of keys for which entries are read at once.
pub const PROBED: usize = 32;

impl NumberTable {
    /// Returns the number of each key that is likely to be the right one, by half of its hash: the caller compares the key
    /// itself. `None` if the first place of the hash tells nothing; then the key must be searched with
    /// [`find`](Self::find).
    #[inline]
    pub fn candidates(&self, hashes: &[u64; PROBED]) -> [Option<u32>; PROBED] {
        let Some(mask) = self.entries.len().checked_sub(1) else { return [None; PROBED] };
        let entries = hashes.map(|hash| self.entries[hash as usize & mask]);
        let mut found = [None; PROBED];
        for ((found, entry), hash) in found.iter_mut().zip(entries).zip(hashes) {
            *found = is_like(entry, *hash).then_some(entry as u32);
        }
        found
    }

    /// Returns the number of the key with a hash for which `is_it` returns true.
    #[inline]
    pub fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.entries.len().checked_sub(1)?;
        let mut place = hash as usize & mask;
        loop {
            let entry = self.entries[place];
            if entry == EMPTY {
                return None;
            }
            if is_like(entry, hash) && is_it(entry as u32) {
                return Some(entry as u32);
            }
            place = (place + 1) & mask;
        }
    }

    /// Adds a number, below `u32::MAX`, for a key that is not in the table. `hash_of` returns the hash of the key with a number, for a
    /// table that grows.
    pub fn insert(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        if !self.has_places(1) {
            let anew = vec![EMPTY; self.places_after(1)];
            self.removed = 0;
            for entry in std::mem::replace(&mut self.entries, anew) {
                if is_number(entry) {
                    self.put(hash_of(entry as u32), entry as u32);
                }
            }
        }
        self.put(hash, number);
        self.len += 1;
    }

    /// Removes the number of a key with a hash. Does nothing if it is not in the table.
    pub fn remove(&mut self, hash: u64, number: u32) {
        let Some(mask) = self.entries.len().checked_sub(1) else { return };
        let mut place = hash as usize & mask;
        while self.entries[place] != EMPTY {
            if is_like(self.entries[place], hash) && self.entries[place] as u32 == number {
                self.entries[place] = REMOVED;
                (self.len, self.removed) = (self.len - 1, self.removed + 1);
                return;
            }
            place = (place + 1) & mask;
        }
    }

    /// Returns the number of numbers in the table.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the table has no numbers.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether `more` numbers have places without building the table anew.
    fn has_places(&self, more: usize) -> bool {
        (self.len.saturating_add(self.removed).saturating_add(more)).saturating_mul(4)
            <= self.entries.len() * 3
    }

    /// Returns the number of places of the table that is built for `more` numbers. It is not smaller than this one, and has
    /// places for a half more than its numbers, so that it is not built anew soon.
    fn places_after(&self, more: usize) -> usize {
        let keys = self.len.saturating_add(more);
        let spare = if self.removed > 0 { keys / 2 } else { 0 };
        places_for(keys.saturating_add(spare)).max(self.entries.len())
    }

    fn put(&mut self, hash: u64, number: u32) {
        let mask = self.entries.len() - 1;
        let mut place = hash as usize & mask;
        while self.entries[place] != EMPTY {
            place = (place + 1) & mask;
        }
        self.entries[place] = (hash >> 32) << 32 | u64::from(number);
    }

    /// Removes all numbers, and keeps the memory.
    pub fn clear(&mut self) {
        self.entries.fill(EMPTY);
        (self.len, self.removed) = (0, 0);
    }

    /// Returns the bytes of the entries.
    pub fn held_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<u64>()
    }

    /// Returns the bytes that the table takes for a moment, beyond those it holds, while it is built anew for `more`
    /// numbers: those of the new table and, if it doubles more than once, of the table from which entries are copied last.
    pub fn growth_bytes(&self, more: usize) -> usize {
        if self.has_places(more) {
            return 0;
        }
        let places = self.places_after(more);
        let (larger_bytes, held_bytes) = (places.saturating_mul(size_of::<u64>()), self.held_bytes());
        larger_bytes.saturating_add((larger_bytes / 2).saturating_sub(held_bytes))
    }
}

/// Returns whether an entry is a number, and not a free place or that of a removed number.
#[inline]
fn is_number(entry: u64) -> bool {
    entry as u32 != u32::MAX
}

/// Returns whether an entry is a number with the upper half of a hash.
#[inline]
fn is_like(entry: u64, hash: u64) -> bool {
    (entry ^ hash) >> 32 == 0 && is_number(entry)
}

/// Returns the number of places of a table for `keys` keys.
fn places_for(keys: usize) -> usize {
    (keys.saturating_mul(4)).div_ceil(3).max(PLACES_MIN).checked_next_power_of_two().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Numbers are found by their keys, also where hashes collide in all or in half of their bits. Memory grows as
        /// foreseen.
        #[test]
        fn numbers_are_found(
            keys in proptest::collection::hash_set(0u64..300, 0..200),
            shift in prop_oneof![Just(0u32), Just(30), Just(60)],
            factor in prop_oneof![Just(0u64), Just(1), Just(0x9e37_79b9_7f4a_7c15)],
            removed in proptest::collection::hash_set(0usize..7, 0..6),
        ) {
            let keys: Vec<u64> = keys.into_iter().collect();
            let hash = |key: u64| (key >> 2).wrapping_mul(factor) << shift;
            let mut table = NumberTable::default();
            let mut known = HashMap::new();
            for (number, key) in keys.iter().enumerate() {
                prop_assert_eq!(table.find(hash(*key), |number| keys[number as usize] == *key), None);
                let (foreseen, held) = (table.growth_bytes(1), table.held_bytes());
                table.insert(hash(*key), number as u32, |number| hash(keys[number as usize]));
                prop_assert!(table.held_bytes() <= held.max(foreseen));
                known.insert(*key, number as u32);
                if removed.contains(&(number % 7)) {
                    table.remove(hash(*key), number as u32);
                    known.remove(key);
                }
            }
            prop_assert_eq!(table.len(), known.len());
            for key in 0..300 {
                let found = table.find(hash(key), |number| keys[number as usize] == key);
                prop_assert_eq!(found, known.get(&key).copied());
                let candidate = table.candidates(&[hash(key); PROBED])[PROBED - 1];
                let is_it = candidate.is_some_and(|number| keys[number as usize] == key);
                prop_assert!(!is_it || candidate == found);
            }
            table.clear();
            prop_assert_eq!(table.find(hash(0), |_| true), None);
        }
    }

    /// Several keys at once grow the table by no more than was foreseen.
    #[test]
    fn growth_is_foreseen() {
        let hash = |key: u32| u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for (held, more) in [(0, 1), (0, 100), (5, 2), (6, 1), (7, 5_000), (1_000, 600), (3_000, 73)] {
            let mut table = NumberTable::default();
            (0..held).for_each(|number| table.insert(hash(number), number, hash));
            let (before, foreseen) = (table.held_bytes(), table.growth_bytes(more as usize));
            let mut largest = 0;
            for number in held..held + more {
                let old = table.held_bytes();
                table.insert(hash(number), number, hash);
                if table.held_bytes() > old {
                    largest = largest.max(old + table.held_bytes());
                }
            }
            assert!(
                largest.saturating_sub(before) <= foreseen,
                "{held} and {more}: {largest} of {before} + {foreseen}"
            );
        }
    }
}
