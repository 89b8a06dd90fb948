//! A hash table which lives as long as a window: entries in a row, in the order in which their keys came, behind an
//! index of words.
//!
//! ```text
//!   index    | hash 32 bits, index of the entry + 1 | 0 | 0 | hash, index + 1 | ..   a power of two, at most half used
//!   entries  | key, value | key, value | ..                                          without holes
//! ```
//!
//! Made for a million keys, which no cache holds. A new key misses the caches once, in the index, and its entry is
//! written behind the last; a key that is present misses twice. Both misses can be taken before they are needed:
//! [`DenseTable::peek`] loads the word of a key, [`DenseTable::candidate`] the entry behind it, and neither waits for
//! the other's result. A caller which does so for many records in a row waits for memory once, not once per record. A
//! table is emptied by zeroing the index, which is a sixth of its size. It grows by streaming through the old index:
//! home slots are the upper bits of the hash, whose order does not change.

use std::hash::Hash;

use super::funds::{Funds, bytes_of};
use crate::key_table::KeyHash;

/// Binary logarithm of the number of words that an index gets with its first entry.
const SLOTS_MIN_LOG2: u32 = 4;

/// Largest ratio of index words to entries at which the memory of an emptied index is kept. Emptying a larger
/// index takes longer than growing a new one.
const SLOTS_PER_ENTRY_MAX: usize = 32;

/// Stands for "no entry" where the index of an entry is expected.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The upper 32 bits of a key's hash. The tables use no other bits of the hash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tag(u32);

impl Tag {
    #[inline(always)]
    pub(crate) fn of<K: Hash>(hash: &KeyHash, key: &K) -> Self {
        // The tag (the part of the hash that the table uses) is taken from the upper bits, which are spread best.
        Tag((hash.of(key) >> 32) as u32)
    }
}

/// A hash table from keys to values, with the entries in the order in which their keys came.
#[derive(Debug)]
pub(crate) struct DenseTable<K, V> {
    /// The index of the table: words that each hold 32 bits of a hash and the number of an entry. Their
    /// number is a power of two, or zero before the first entry.
    index: Vec<u64>,
    /// Number of bits by which a tag, the upper 32 bits of a hash, is shifted right to give its home slot in
    /// the index.
    shift: u32,
    entries: Vec<(K, V)>,
}

impl<K, V> Default for DenseTable<K, V> {
    fn default() -> Self {
        DenseTable { index: Vec::new(), shift: u32::BITS - SLOTS_MIN_LOG2, entries: Vec::new() }
    }
}

impl<K, V> DenseTable<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the bytes allocated for the index and the entries of the table.
    pub(crate) fn bytes(&self) -> usize {
        bytes_of(&self.index) + bytes_of(&self.entries)
    }

    /// Returns every entry, in the order in which the keys came.
    pub(crate) fn entries(&self) -> &[(K, V)] {
        &self.entries
    }

    /// Returns the key of the entry with index `place`.
    #[inline(always)]
    pub(crate) fn key(&self, place: u32) -> &K {
        &self.entries[place as usize].0
    }

    /// Returns the value of the entry with index `place`.
    #[inline(always)]
    pub(crate) fn value(&self, place: u32) -> &V {
        &self.entries[place as usize].1
    }

    #[inline(always)]
    pub(crate) fn value_mut(&mut self, place: u32) -> &mut V {
        &mut self.entries[place as usize].1
    }

    /// Removes every entry and keeps the memory. Returns whether the memory is worth keeping for another use.
    pub(crate) fn clear(&mut self) -> bool {
        let is_worth_keeping = self.index.len() <= self.entries.len() * SLOTS_PER_ENTRY_MAX;
        self.entries.clear();
        self.index.fill(0);
        is_worth_keeping
    }

    #[inline(always)]
    fn home(&self, tag: Tag) -> usize {
        (tag.0 >> self.shift) as usize
    }
}

impl<K: Eq, V> DenseTable<K, V> {
    /// Loads the word of the index at the home slot of a key before the word is needed. `tag` holds the upper
    /// 32 bits of the key's hash.
    #[inline(always)]
    pub(crate) fn peek(&self, tag: Tag) -> u64 {
        self.index.get(self.home(tag)).copied().unwrap_or(0)
    }

    /// Returns the index of `key`'s entry if the word at the key's home slot, `word`, belongs to this entry.
    /// If it returns `NOWHERE`, the key may still be in the table, in a later slot.
    #[inline(always)]
    pub(crate) fn candidate(&self, word: u64, tag: Tag, key: &K) -> u32 {
        // The processor cannot predict whether a key is present, so there is no branch. If the word has
        // another tag (the upper 32 bits of a key's hash), the key is compared with that of the first entry.
        let place = place_in(word, tag);
        let looked_at = place.unwrap_or(0);
        let is_same = self.entries.get(looked_at as usize).is_some_and(|(found, _)| found == key);
        if is_same & place.is_some() { looked_at } else { NOWHERE }
    }

    /// Returns the index of `key`'s entry, if the table has one.
    #[inline(always)]
    pub(crate) fn find(&self, tag: Tag, key: &K) -> Option<u32> {
        let mask = self.index.len().wrapping_sub(1);
        let mut slot = self.home(tag);
        loop {
            let word = *self.index.get(slot)?;
            if word == 0 {
                return None;
            }
            if let Some(place) = place_in(word, tag)
                && self.entries[place as usize].0 == *key
            {
                return Some(place);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Returns the index of `key`'s entry; a new key first gets an entry with the value that `make` returns.
    /// Returns `None` if there is no memory for it.
    #[inline(always)]
    pub(crate) fn find_or_insert(
        &mut self,
        tag: Tag,
        key: K,
        make: impl FnOnce() -> V,
        funds: &mut Funds,
    ) -> Option<u32> {
        let mask = self.index.len().wrapping_sub(1);
        let mut slot = self.home(tag);
        while let Some(&word) = self.index.get(slot)
            && word != 0
        {
            if let Some(place) = place_in(word, tag)
                && self.entries[place as usize].0 == key
            {
                return Some(place);
            }
            slot = (slot + 1) & mask;
        }
        if (self.entries.len() + 1) * 2 > self.index.len() {
            slot = self.grow(tag, funds)?;
        }
        if !funds.room_in(&mut self.entries) {
            return None;
        }
        let place = self.entries.len() as u32;
        self.index[slot] = u64::from(tag.0) << 32 | u64::from(place + 1);
        self.entries.push((key, make()));
        Some(place)
    }

    /// Doubles the index, and returns the slot for a new entry whose key's hash has the upper 32 bits `tag`;
    /// `None` if there is no memory.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, tag: Tag, funds: &mut Funds) -> Option<usize> {
        let doubled = (self.index.len() * 2).max(1 << SLOTS_MIN_LOG2);
        assert!(doubled <= 1 << 32, "a window holds at most 2^31 keys");
        let old_bytes = bytes_of(&self.index);
        let old = std::mem::replace(&mut self.index, funds.zeros(doubled)?);
        funds.give_back(old_bytes);
        self.shift = u32::BITS - doubled.ilog2();
        for word in old.into_iter().filter(|&word| word != 0) {
            let slot = self.empty_slot(Tag((word >> 32) as u32));
            self.index[slot] = word;
        }
        Some(self.empty_slot(tag))
    }

    fn empty_slot(&self, tag: Tag) -> usize {
        let mask = self.index.len() - 1;
        let mut slot = self.home(tag);
        while self.index[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// Returns the entry index in a word of the index, if the word is in use and `tag` equals its 32 bits of a
/// hash.
#[inline(always)]
fn place_in(word: u64, tag: Tag) -> Option<u32> {
    ((word >> 32) as u32 == tag.0).then(|| (word as u32).checked_sub(1)).flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use thalweg_model::Allowance;

    use super::*;

    #[test]
    fn an_empty_table_finds_nothing() {
        let table = DenseTable::<u64, u64>::default();
        let tag = Tag::of(&KeyHash::new(1), &7u64);
        assert_eq!((table.find(tag, &7), table.peek(tag), table.bytes()), (None, 0, 0));
        assert_eq!(table.candidate(0, tag, &7), NOWHERE);
    }

    proptest! {
        /// A table that is filled, emptied and filled again holds the same entries as a map, in the order in
        /// which the keys came. A key that `candidate` finds is also found by `find`.
        #[test]
        fn equals_a_map(seed in 0..u64::MAX, rounds in proptest::collection::vec(
            proptest::collection::vec(0..300u64, 0..500), 1..4,
        )) {
            let (hash, mut funds) = (KeyHash::new(seed), Funds::new(&Allowance::default()));
            let mut table = DenseTable::default();
            for keys in rounds {
                let mut oracle: HashMap<u64, usize> = HashMap::new();
                for &key in &keys {
                    let tag = Tag::of(&hash, &key);
                    let place = table.find_or_insert(tag, key, || 0, &mut funds).unwrap();
                    *table.value_mut(place) += 1;
                    *oracle.entry(key).or_insert(0) += 1;
                }
                let mut order = keys.clone();
                let mut seen = std::collections::HashSet::new();
                order.retain(|key| seen.insert(*key));
                prop_assert!(table.entries().iter().map(|(key, _)| *key).eq(order));
                for key in 0..300 {
                    let tag = Tag::of(&hash, &key);
                    let found = table.find(tag, &key);
                    prop_assert_eq!(found.map(|place| *table.value(place)), oracle.get(&key).copied());
                    let candidate = table.candidate(table.peek(tag), tag, &key);
                    prop_assert!(candidate == NOWHERE || Some(candidate) == found);
                }
                prop_assert_eq!(funds.held_bytes(), table.bytes());
                table.clear();
                prop_assert_eq!(table.len(), 0);
            }
        }
    }
}
