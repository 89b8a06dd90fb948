//! A hash table for keyed state: open addressing, linear probing, entries in place.
//!
//! A table of our own: in the query of the Yahoo Streaming Benchmark, look-ups in the hash maps of a well-kept crate
//! took half of the engine's time. Here a key's home slot is the upper bits of one multiplication, so a look-up is
//! that multiplication, one load and one comparison. Also, an emission that ran out of room continues at a slot
//! number. docs/performance.md has the figures.
//!
//! At most half of the slots are in use, so that a probe is short. Removing an entry moves those behind it forward,
//! so there are no tombstones. The hash is seeded, so that keys cannot be chosen to collide: [`key_hash`] says how.

mod key_hash;

use std::hash::Hash;

use thalweg_model::Allowance;

pub(crate) use key_hash::{KeyHash, partition_hash};

/// Binary logarithm of the number of slots that a table gets with its first entry.
const SLOTS_MIN_LOG2: u32 = 4;

/// A hash table from keys to values, whose memory is reserved in an allowance (an operator's part of the
/// memory budget).
#[derive(Debug)]
pub(crate) struct KeyTable<K, A> {
    /// The slots, each with an entry or empty. Their number is a power of two, or zero before the first
    /// entry.
    slots: Vec<Option<(K, A)>>,
    len: usize,
    /// Number of slots that are known to be empty at the front of the table while its entries are removed one
    /// by one.
    drained: usize,
    hash: KeyHash,
    /// Number of bits by which a key's hash is shifted right to give the index of its home slot.
    shift: u32,
    allowance: Allowance,
    /// An entry for which memory was refused. It is kept so that a reference to it can be returned; the query
    /// is about to fail.
    refused: Option<(K, A)>,
}

impl<K: Eq + Hash, A> KeyTable<K, A> {
    /// Creates an empty table that reserves the memory of its slots in `allowance`.
    pub(crate) fn new(hash: KeyHash, allowance: Allowance) -> Self {
        KeyTable { slots: Vec::new(), len: 0, drained: 0, hash, shift: 0, allowance, refused: None }
    }

    /// Returns the number of entries in the table.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of bytes that the slots of the table take.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Option<(K, A)>>()
    }

    /// Returns a view of the table for look-ups, valid while the table does not change.
    #[inline(always)]
    pub(crate) fn look(&self) -> Look<'_, K, A> {
        Look { slots: &self.slots, hash: self.hash.clone(), shift: self.shift }
    }

    /// Changes the value of `key` by a function; `create` makes the value first if the key is new.
    #[inline(always)]
    pub(crate) fn update<Q>(
        &mut self,
        key: K,
        create: impl FnOnce() -> A,
        change: impl FnOnce(&mut A) -> Q,
    ) -> Q {
        let mask = self.slots.len().wrapping_sub(1);
        let mut place = self.home(&key);
        while let Some(Some((found, value))) = self.slots.get_mut(place) {
            if *found == key {
                return change(value);
            }
            place = (place + 1) & mask;
        }
        // The search ended at an empty slot, or the table has no slots yet, so the key is new.
        change(self.insert(place, key, create()))
    }

    /// Returns the value of `key` for changing; `None` if the key is not in the table.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut A> {
        let place = self.place_of(key)?;
        self.slots[place].as_mut().map(|(_, value)| value)
    }

    /// Removes the entry of `key` from the table, and returns its value.
    pub(crate) fn remove(&mut self, key: &K) -> Option<A> {
        debug_assert!(self.drained == 0, "nothing is removed from a table that is being drained");
        let mut hole = self.place_of(key)?;
        let (_, removed) = self.slots[hole].take()?;
        self.len -= 1;
        // Knuth, "The Art of Computer Programming", volume 3, section 6.4, algorithm R: an entry behind the hole moves
        // into it unless its home lies behind the hole.
        let mask = self.slots.len() - 1;
        let mut place = (hole + 1) & mask;
        while let Some((key, _)) = &self.slots[place] {
            let from_home = place.wrapping_sub(self.home(key)) & mask;
            if from_home >= place.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[place].take();
                hole = place;
            }
            place = (place + 1) & mask;
        }
        Some(removed)
    }

    fn place_of(&self, key: &K) -> Option<usize> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut place = self.home(key);
        while let Some(Some((found, _))) = self.slots.get(place) {
            if found == key {
                return Some(place);
            }
            place = (place + 1) & mask;
        }
        None
    }

    /// Removes any entry of the table and returns it; returns `None` when the table is empty. After the first
    /// call, nothing may be inserted until a call has returned `None`.
    pub(crate) fn drain_one(&mut self) -> Option<(K, A)> {
        while self.len > 0 {
            let entry = self.slots[self.drained].take();
            self.drained += 1;
            if entry.is_some() {
                self.len -= 1;
                return entry;
            }
        }
        self.drained = 0;
        None
    }

    /// Returns the first entry at or after slot number `slot`, and moves `slot` behind this entry. So a
    /// caller can visit the entries a few at a time, as long as nothing is inserted or removed.
    pub(crate) fn next_entry(&self, slot: &mut usize) -> Option<&(K, A)> {
        while let Some(entry) = self.slots.get(*slot) {
            *slot += 1;
            if entry.is_some() {
                return entry.as_ref();
            }
        }
        None
    }

    /// Returns the allowance in which the memory of the table is reserved. Memory that the values hold should
    /// be reserved there as well.
    pub(crate) fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// Iterates over every entry of the table, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(K, A)> {
        self.slots.iter().flatten()
    }

    #[inline(always)]
    fn home(&self, key: &K) -> usize {
        (self.hash.of(key) >> self.shift) as usize
    }

    /// Puts a new entry into the empty slot with the index `place`, or into another slot if the table must
    /// grow first.
    #[cold]
    #[inline(never)]
    fn insert(&mut self, place: usize, key: K, value: A) -> &mut A {
        debug_assert!(self.drained == 0, "a table that is being drained takes nothing");
        let place = if (self.len + 1) * 2 <= self.slots.len() {
            place
        } else if self.grow() {
            self.empty_slot(&key)
        } else {
            return &mut self.refused.insert((key, value)).1;
        };
        self.len += 1;
        let (_, value) = self.slots[place].insert((key, value));
        value
    }

    /// Swaps entries and slots with another table and keeps both allowances. This needs tables with the same
    /// hash, since entries would not be found otherwise; returns `false` if the hashes differ.
    pub(crate) fn trade(&mut self, other: &mut Self) -> bool {
        if !self.hash.is_same(&other.hash) {
            return false;
        }
        std::mem::swap(&mut self.slots, &mut other.slots);
        std::mem::swap(&mut self.len, &mut other.len);
        std::mem::swap(&mut self.drained, &mut other.drained);
        std::mem::swap(&mut self.shift, &mut other.shift);
        true
    }

    /// Widens this table to the number of slots of another table with the same hash, whose entries are about
    /// to be inserted here in slot order. In that order their home slots rise, so a table that grew step by
    /// step would have them all crowded at its front. If memory is refused, this table stays as it is.
    pub(crate) fn be_as_wide_as<B>(&mut self, other: &KeyTable<K, B>) {
        if self.slots.len() < other.slots.len() {
            self.widen(other.slots.len());
        }
    }

    /// Doubles the number of slots of the table; returns `false` if there is no memory for this.
    fn grow(&mut self) -> bool {
        self.widen((self.slots.len() * 2).max(1 << SLOTS_MIN_LOG2))
    }

    /// Widens the table to `slots` slots; returns `false` if there is no memory. Old and new slots exist
    /// together while entries are moved.
    fn widen(&mut self, slots: usize) -> bool {
        if !self.allowance.ask(slots * size_of::<Option<(K, A)>>()) {
            return false;
        }
        self.shift = u64::BITS - slots.ilog2();
        let old = std::mem::replace(&mut self.slots, (0..slots).map(|_| None).collect());
        for (key, value) in old.into_iter().flatten() {
            let place = self.empty_slot(&key);
            self.slots[place] = Some((key, value));
        }
        true
    }

    /// Returns the index of an empty slot for a key that is not in the table.
    fn empty_slot(&self, key: &K) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = self.home(key);
        while self.slots[place].is_some() {
            place = (place + 1) & mask;
        }
        place
    }
}

/// A view of a table for look-ups. It holds copies of the fields that a look-up needs, not references to
/// them, so a loop keeps these fields in registers whatever else it writes to.
#[derive(Debug)]
pub(crate) struct Look<'a, K, A> {
    slots: &'a [Option<(K, A)>],
    hash: KeyHash,
    shift: u32,
}

impl<'a, K: Eq + Hash, A> Look<'a, K, A> {
    /// Returns the value of `key`, if the table has one.
    #[inline(always)]
    pub(crate) fn get(&self, key: &K) -> Option<&'a A> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut place = (self.hash.of(key) >> self.shift) as usize;
        while let Some(Some((found, value))) = self.slots.get(place) {
            if found == key {
                return Some(value);
            }
            place = (place + 1) & mask;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex};

    use proptest::prelude::*;
    use thalweg_model::GrantSource;

    use super::*;

    #[test]
    fn an_empty_table_finds_nothing() {
        let mut table = KeyTable::<u64, u64>::new(KeyHash::new(0), Allowance::default());
        assert_eq!(table.drain_one(), None);
        assert_eq!((table.look().get(&1), table.len(), table.bytes()), (None, 0, 0));
    }

    /// A table that was drained takes as many entries again without growing.
    #[test]
    fn slots_are_used_again() {
        let mut table = KeyTable::new(KeyHash::new(7), Allowance::default());
        for round in 0..3u64 {
            (0..100u64).for_each(|key| table.update(key * 1_000, || 0, |value| *value += round));
            assert_eq!((table.len(), table.slots.len()), (100, 256));
            assert!((0..100).all(|key| table.look().get(&(key * 1_000)) == Some(&round)));
            let mut drained: Vec<(u64, u64)> = std::iter::from_fn(|| table.drain_one()).collect();
            drained.sort_unstable();
            assert_eq!(drained, (0..100).map(|key| (key * 1_000, round)).collect::<Vec<_>>());
            assert!(table.is_empty());
        }
    }

    proptest! {
        /// The table holds the same entries as the standard map after random insertions; every fourth step
        /// removes a key.
        #[test]
        fn equals_the_standard_map(keys in proptest::collection::vec(0..300u16, 0..2_000), seed: u64) {
            let mut table = KeyTable::new(KeyHash::new(seed), Allowance::default());
            let mut oracle = HashMap::new();
            for (step, key) in keys.into_iter().enumerate() {
                if step % 4 == 3 {
                    prop_assert_eq!(table.remove(&key), oracle.remove(&key));
                } else {
                    table.update(key, || 0u32, |value| *value += 1);
                    *oracle.entry(key).or_insert(0u32) += 1;
                }
            }
            prop_assert_eq!(table.len(), oracle.len());
            prop_assert!((0..300).all(|key| table.look().get(&key) == oracle.get(&key)));
            prop_assert!((0..300).all(|key| table.get_mut(&key) == oracle.get_mut(&key)));
            let drained: HashMap<u16, u32> = std::iter::from_fn(|| table.drain_one()).collect();
            prop_assert_eq!(drained, oracle);
        }
    }

    /// A table that is refused memory to grow keeps its entries, and loses only the new one.
    #[test]
    fn a_refusal_leaves_the_table_as_it_was() {
        struct Once(Mutex<bool>);
        impl GrantSource for Once {
            fn lend(&self, _bytes: usize) -> bool {
                !std::mem::replace(&mut self.0.lock().unwrap(), true)
            }
        }
        let allowance = Allowance::new(Arc::new(Once(Mutex::new(false))));
        let mut table = KeyTable::new(KeyHash::new(1), allowance);
        (0..20u64).for_each(|key| table.update(key, || 0, |value| *value = key));
        assert_eq!((table.len(), table.slots.len()), (8, 16));
        assert!((0..8).all(|key| table.look().get(&key) == Some(&key)));
    }
}
