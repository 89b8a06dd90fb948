//! A hash table for keyed state: open addressing, linear probing, entries in place.
//!
//! Why a table of our own: in the YSB query look-ups in a kept crate's maps took half of the engine's time. With the
//! upper bits of one multiplication as a key's home, which takes a table whose homes we choose, a look-up is that,
//! one load and one comparison; and an emission that ran out of room goes on at a slot number. docs/performance.md has
//! the figures.
//!
//! At most half of the slots are in use, so that a probe is short. Removing an entry moves those behind it forward, so
//! there are no tombstones. The hash is seeded, so that keys cannot be chosen to collide:
//! [`key_hash`] says how.

mod key_hash;

use std::hash::Hash;

use thalweg_model::Allowance;

pub(crate) use key_hash::{KeyHash, lane_hash};

/// Slots of a table that is used for the first time; its binary logarithm.
const SLOTS_MIN_LOG2: u32 = 4;

/// Values by key.
#[derive(Debug)]
pub(crate) struct KeyTable<K, A> {
    /// A power of two of them, or none.
    slots: Vec<Option<(K, A)>>,
    len: usize,
    /// While it is drained: slots before this one are empty.
    drained: usize,
    hash: KeyHash,
    /// A key's home is its hash shifted right by this: the upper bits, as many as number the slots.
    shift: u32,
    allowance: Allowance,
    /// The entry that there was no memory for; the query is about to fail.
    refused: Option<(K, A)>,
}

impl<K: Eq + Hash, A> KeyTable<K, A> {
    /// An empty table, paid from `allowance`.
    pub(crate) fn new(hash: KeyHash, allowance: Allowance) -> Self {
        KeyTable { slots: Vec::new(), len: 0, drained: 0, hash, shift: 0, allowance, refused: None }
    }

    /// Entries in the table.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of its slots.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Option<(K, A)>>()
    }

    /// A look at the table while nobody changes it.
    #[inline(always)]
    pub(crate) fn look(&self) -> Look<'_, K, A> {
        Look { slots: &self.slots, hash: self.hash.clone(), shift: self.shift }
    }

    /// Changes the value of `key`, which `create` makes if there is none.
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
        // An empty slot, or no slots at all.
        change(self.insert(place, key, create()))
    }

    /// The value of `key`, to be changed.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut A> {
        let place = self.place_of(key)?;
        self.slots[place].as_mut().map(|(_, value)| value)
    }

    /// Takes the value of `key` out.
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

    /// Takes some entry out; the table is empty when there is none. Until then nothing may be inserted.
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

    /// The first entry at or behind a slot, which then is the slot behind it: so entries are visited a piece at a time,
    /// while nothing is inserted or removed.
    pub(crate) fn next_entry(&self, slot: &mut usize) -> Option<&(K, A)> {
        while let Some(entry) = self.slots.get(*slot) {
            *slot += 1;
            if entry.is_some() {
                return entry.as_ref();
            }
        }
        None
    }

    /// What it is paid from, and what its values hold should be.
    pub(crate) fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// Every entry, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(K, A)> {
        self.slots.iter().flatten()
    }

    #[inline(always)]
    fn home(&self, key: &K) -> usize {
        (self.hash.of(key) >> self.shift) as usize
    }

    /// Puts a new entry into the empty slot at `place`, or, if the table must grow, where it then belongs.
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

    /// Trades all entries, and the slots that they lie in, for those of another table, which stays paid from where it is: if
    /// their hashes are the same, or else entries would not be found again.
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

    /// Takes as many slots as another table of the same hash has, before that one's entries are put in here in the order
    /// in which they lie: their homes rise, and a table that grew with them would have them all at its front. Without
    /// memory it stays as it is.
    pub(crate) fn be_as_wide_as<B>(&mut self, other: &KeyTable<K, B>) {
        if self.slots.len() < other.slots.len() {
            self.widen(other.slots.len());
        }
    }

    /// Doubles the slots, unless there is no memory for it.
    fn grow(&mut self) -> bool {
        self.widen((self.slots.len() * 2).max(1 << SLOTS_MIN_LOG2))
    }

    /// Takes so many slots, unless there is no memory for it: for a moment old and new ones are there.
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

    /// The slot for a key that is not in the table.
    fn empty_slot(&self, key: &K) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = self.home(key);
        while self.slots[place].is_some() {
            place = (place + 1) & mask;
        }
        place
    }
}

/// A table that is only looked at. What a look-up needs lies in here, not behind a reference: so a loop keeps it in
/// registers, whatever it writes to.
#[derive(Debug)]
pub(crate) struct Look<'a, K, A> {
    slots: &'a [Option<(K, A)>],
    hash: KeyHash,
    shift: u32,
}

impl<'a, K: Eq + Hash, A> Look<'a, K, A> {
    /// The value of `key`.
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
    use thalweg_model::Lender;

    use super::*;

    #[test]
    fn an_empty_table_finds_nothing() {
        let mut table = KeyTable::<u64, u64>::new(KeyHash::new(0), Allowance::default());
        assert_eq!(table.drain_one(), None);
        assert_eq!((table.look().get(&1), table.len(), table.bytes()), (None, 0, 0));
    }

    /// Grown once, a table that was drained holds as many entries again without growing.
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
        /// Every fourth step takes a key out.
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

    /// A table that may not grow keeps what it has, and loses nothing but the new entry.
    #[test]
    fn a_refusal_leaves_the_table_as_it_was() {
        struct Once(Mutex<bool>);
        impl Lender for Once {
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
