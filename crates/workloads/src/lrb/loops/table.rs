//! A hash table in one array, by open addressing with linear probing, that grows. The hand-written loop for
//! Linear Road counts in such tables and joins with them. Unlike the table of YSB's loops, this one cannot
//! know how many keys there will be.
//!
//! The table has no defence against chosen keys and cannot remove a single key: the loop needs neither.

/// 2^64 divided by the golden ratio: neighbouring keys are hashed to distant slots.
/// Source: Knuth, "The Art of Computer Programming" vol. 3, section 6.4, "Fibonacci hashing".
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// An odd number for the second hash, unrelated to the golden ratio of the first: the first multiplier of
/// SplitMix64.
const SECOND_MULTIPLIER: u64 = 0xbf58_476d_1ce4_e5b9;

/// Integer types that serve as keys of the table.
pub(super) trait Key: Copy + Eq {
    /// The value that marks a free slot of the table. It is never used as a key.
    const VACANT: Self;

    /// Returns the key as 64 bits, from which its hash is computed.
    fn bits(self) -> u64;
}

impl Key for u32 {
    const VACANT: u32 = u32::MAX;

    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self)
    }
}

impl Key for u64 {
    const VACANT: u64 = u64::MAX;

    #[inline(always)]
    fn bits(self) -> u64 {
        self
    }
}

#[derive(Clone, Copy)]
struct Slot<K, V> {
    key: K,
    value: V,
}

/// A hash table in which at most half of the slots are taken. Removing entries frees no memory.
pub(super) struct Table<K, V> {
    /// The slots of the table; their number is a power of two.
    slots: Vec<Slot<K, V>>,
    occupied_count: usize,
    multiplier: u64,
}

impl<K: Key, V: Copy + Default> Table<K, V> {
    /// Creates a hash table without entries.
    pub(super) fn new() -> Self {
        Self::with_slots(1 << 6, MULTIPLIER)
    }

    /// Creates a table without entries, whose keys will come in the order in which another table is
    /// [drained](Self::drain).
    ///
    /// The new table uses another hash than the drained one. With the same hash it would fill from one end
    /// while it grows, and each key would be placed after a search past all earlier ones: two million keys
    /// took minutes, not a fraction of a second.
    pub(super) fn fed_by_table() -> Self {
        Self::with_slots(1 << 6, SECOND_MULTIPLIER)
    }

    fn with_slots(slot_count: usize, multiplier: u64) -> Self {
        assert!(slot_count.is_power_of_two() && slot_count > 1, "{slot_count} slots cannot be hashed to");
        let slots = vec![Slot { key: K::VACANT, value: V::default() }; slot_count];
        Table { slots, occupied_count: 0, multiplier }
    }

    /// Returns the value that the table has at `key`.
    #[inline(always)]
    pub(super) fn get(&self, key: K) -> Option<V> {
        let index = self.find(key);
        let slot = &self.slots[index];
        if slot.key == key { Some(slot.value) } else { None }
    }

    /// Returns the value that the table has at `key`, after inserting the default value if the key is
    /// missing.
    #[inline(always)]
    pub(super) fn entry(&mut self, key: K) -> &mut V {
        let mut index = self.find(key);
        if self.slots[index].key != key {
            index = self.occupy(index, key);
        }
        &mut self.slots[index].value
    }

    /// Removes all entries from the table and returns them in no particular order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (K, V)> {
        self.occupied_count = 0;
        self.slots.iter_mut().filter(|slot| slot.key != K::VACANT).map(|slot| {
            let taken = std::mem::replace(slot, Slot { key: K::VACANT, value: V::default() });
            (taken.key, taken.value)
        })
    }

    /// Removes all entries from the table.
    pub(super) fn clear(&mut self) {
        self.slots.fill(Slot { key: K::VACANT, value: V::default() });
        self.occupied_count = 0;
    }

    /// Returns the index of the slot of `key`, or of the free slot in which the key would be stored.
    #[inline(always)]
    fn find(&self, key: K) -> usize {
        debug_assert!(key != K::VACANT, "the key that marks free slots is looked up");
        let slots = &self.slots[..];
        let mask = slots.len() - 1;
        let mut index =
            (key.bits().wrapping_mul(self.multiplier) >> (u64::BITS - slots.len().ilog2())) as usize;
        loop {
            let found = slots[index].key;
            if found == key || found == K::VACANT {
                return index;
            }
            index = (index + 1) & mask;
        }
    }

    /// Takes the free slot at `index` for `key`. If the table would be more than half full, it grows first.
    /// Returns the index of the slot taken.
    #[cold]
    fn occupy(&mut self, index: usize, key: K) -> usize {
        if 2 * (self.occupied_count + 1) > self.slots.len() {
            let mut larger = Self::with_slots(2 * self.slots.len(), self.multiplier);
            for (key, value) in self.drain() {
                *larger.entry(key) = value;
            }
            *self = larger;
            let index = self.find(key);
            return self.occupy(index, key);
        }
        self.occupied_count += 1;
        self.slots[index] = Slot { key, value: V::default() };
        index
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// A table that is fed by draining another costs a few look-ups per key. At quadratic cost this test
    /// would take minutes.
    #[test]
    fn a_table_may_be_fed_by_another() {
        let mut first: Table<u32, u32> = Table::new();
        (0..1_000_000).for_each(|n| *first.entry(n << 1) = n);
        let mut second: Table<u32, u32> = Table::fed_by_table();
        first.drain().for_each(|(key, value)| *second.entry(key) = value);
        assert_eq!(
            (second.get(998 << 1), second.get(999), second.occupied_count),
            (Some(998), None, 1_000_000)
        );
    }

    proptest! {
        /// The table counts as a map does, with few keys and many, near and far: every key is found, however
        /// often the table grew.
        #[test]
        fn it_counts_as_a_map(
            keys in prop::collection::vec(prop_oneof![0u64..50, 0u64..u64::MAX, (0u64..99).prop_map(|n| n << 40)], 0..900),
            border in 0usize..900,
        ) {
            let mut table: Table<u64, u32> = Table::new();
            for part in [&keys[..border.min(keys.len())], &keys[border.min(keys.len())..]] {
                let mut map: BTreeMap<u64, u32> = BTreeMap::new();
                for &key in part {
                    *table.entry(key) += 1;
                    *map.entry(key).or_default() += 1;
                }
                prop_assert!(keys.iter().all(|&key| table.get(key) == map.get(&key).copied()));
                prop_assert_eq!(table.drain().collect::<BTreeMap<_, _>>(), map);
            }
            *table.entry(7) = 1;
            table.clear();
            prop_assert_eq!(table.get(7), None);
        }
    }
}
