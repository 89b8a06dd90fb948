//! A hash table of 64-bit numbers in one array, by open addressing with linear probing. The hand-written
//! loops for YSB join with such tables and count in them.
//!
//! The size of a table is part of its type, so that the compiler knows that a hash is a valid index. The
//! table has no defence against chosen keys, no growth and no removal: the loops need none of them.

/// The value that marks a free slot; the keys of YSB are far smaller.
const VACANT: u64 = u64::MAX;

/// 2^64 divided by the golden ratio: neighbouring keys are hashed to distant slots.
/// Source: Knuth, "The Art of Computer Programming" vol. 3, section 6.4, "Fibonacci hashing".
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Copy)]
struct Slot {
    key: u64,
    value: u64,
}

/// A table of `SLOTS` slots, a power of two, at most half of them taken.
pub(super) struct Table<const SLOTS: usize> {
    slots: Box<[Slot; SLOTS]>,
    occupied_count: usize,
}

impl<const SLOTS: usize> Table<SLOTS> {
    const SHIFT: u32 = {
        assert!(SLOTS.is_power_of_two() && SLOTS > 1);
        u64::BITS - SLOTS.ilog2()
    };

    /// Creates a hash table without entries.
    pub(super) fn new() -> Self {
        Table { slots: Box::new([Slot { key: VACANT, value: 0 }; SLOTS]), occupied_count: 0 }
    }

    /// Returns the value that the table has at `key`, which must not be `u64::MAX`.
    #[inline(always)]
    pub(super) fn get(&self, key: u64) -> Option<u64> {
        debug_assert!(key != VACANT, "the key that marks free slots is looked up");
        let mut index = Self::home(key);
        loop {
            let slot = self.slots[index];
            if slot.key == key {
                return Some(slot.value);
            }
            if slot.key == VACANT {
                return None;
            }
            index = (index + 1) & (SLOTS - 1);
        }
    }

    /// Adds `amount` to the value that the table has at `key`. A missing value counts as zero.
    ///
    /// # Panics
    /// If the table would be more than half full.
    #[inline(always)]
    pub(super) fn add(&mut self, key: u64, amount: u64) {
        let mut index = Self::home(key);
        loop {
            let slot = &mut self.slots[index];
            if slot.key == key {
                slot.value += amount;
                return;
            }
            if slot.key == VACANT {
                return self.occupy(index, Slot { key, value: amount });
            }
            index = (index + 1) & (SLOTS - 1);
        }
    }

    /// Removes all entries from the table and returns them in no particular order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u64, u64)> {
        self.occupied_count = 0;
        self.slots.iter_mut().filter(|slot| slot.key != VACANT).map(|slot| {
            let taken = std::mem::replace(slot, Slot { key: VACANT, value: 0 });
            (taken.key, taken.value)
        })
    }

    /// Returns the index of the slot at which the search for `key` begins.
    #[inline(always)]
    fn home(key: u64) -> usize {
        (key.wrapping_mul(MULTIPLIER) >> Self::SHIFT) as usize
    }

    #[cold]
    fn occupy(&mut self, index: usize, slot: Slot) {
        assert!(slot.key != VACANT, "the key that marks free slots is put in");
        self.occupied_count += 1;
        assert!(
            self.occupied_count <= SLOTS / 2,
            "more than {} keys: at most half of the slots are used",
            SLOTS / 2
        );
        self.slots[index] = slot;
    }
}

impl<const SLOTS: usize> FromIterator<(u64, u64)> for Table<SLOTS> {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(entries: I) -> Self {
        let mut table = Table::new();
        entries.into_iter().for_each(|(key, value)| table.add(key, value));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With eight slots and four keys, probing wraps around the end of the table, and every key is found
    /// again.
    #[test]
    fn what_is_added_is_found_wherever_it_collides() {
        for first in 0..500 {
            let keys = [first, first + 8, first * 7 + 1_000, u64::MAX - 1 - first];
            let mut table: Table<8> = keys.iter().map(|&key| (key, 1)).collect();
            keys.iter().for_each(|&key| table.add(key, key % 5));
            keys.iter().for_each(|&key| assert_eq!(table.get(key), Some(1 + key % 5)));
            assert_eq!(table.get(999_999), None);
            let mut drained: Vec<u64> = table.drain().map(|(key, _)| key).collect();
            drained.sort_unstable();
            let mut sorted = keys.to_vec();
            sorted.sort_unstable();
            assert_eq!(drained, sorted);
            assert!(keys.iter().all(|&key| table.get(key).is_none()));
        }
    }

    #[test]
    #[should_panic(expected = "more than 4 keys")]
    fn a_table_is_at_most_half_full() {
        let _: Table<8> = (0..5).map(|key| (key, 0)).collect();
    }
}
