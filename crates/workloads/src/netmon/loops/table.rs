//! A hash table of pairs of machines in one array, by open addressing with linear probing. Its size is part
//! of its type, so that the compiler knows that a hash is a valid index. The table has no defence against
//! chosen keys, no growth and no removal: the loop needs none of them.

use crate::netmon::generator::PAIR_COUNT;

/// Number of slots of the table, a power of two: 9,702 pairs take three slots of ten, 768 KiB in all.
const SLOTS: usize = 1 << 15;

const _: () = assert!(PAIR_COUNT <= SLOTS / 2);

/// 2^64 divided by the golden ratio: neighbouring keys are hashed to distant slots.
/// Source: Knuth, "The Art of Computer Programming" vol. 3, section 6.4, "Fibonacci hashing".
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A slot of the table, which is free if its count is zero.
#[derive(Clone, Copy)]
struct Slot {
    pair: u64,
    sum: f64,
    count: u64,
}

const FREE: Slot = Slot { pair: 0, sum: 0.0, count: 0 };

/// Sum and number of the round-trip times of each pair of machines.
pub(super) struct PairTable {
    slots: Box<[Slot; SLOTS]>,
}

impl PairTable {
    /// Creates a table without pairs of machines.
    pub(super) fn new() -> Self {
        let slots = vec![FREE; SLOTS].into_boxed_slice();
        PairTable { slots: slots.try_into().unwrap_or_else(|_| unreachable!("the slots were just made")) }
    }

    /// Adds a round-trip time to the sum of a pair. There are fewer pairs than slots, so a slot is always
    /// found.
    #[inline(always)]
    pub(super) fn add(&mut self, pair: u64, rtt: f64) {
        let mut index = (pair.wrapping_mul(MULTIPLIER) >> (u64::BITS - SLOTS.ilog2())) as usize;
        loop {
            let slot = &mut self.slots[index];
            if slot.pair == pair || slot.count == 0 {
                slot.pair = pair;
                slot.sum += rtt;
                slot.count += 1;
                return;
            }
            index = (index + 1) & (SLOTS - 1);
        }
    }

    /// Removes all entries and returns the mean of each pair, in no order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u64, f64)> {
        self.slots.iter_mut().filter(|slot| slot.count > 0).map(|slot| {
            let Slot { pair, sum, count } = std::mem::replace(slot, FREE);
            (pair, sum / count as f64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair that was added is found, whatever its number, even if many pairs collide in one slot.
    #[test]
    fn what_is_added_is_found_wherever_it_collides() {
        let mut table = PairTable::new();
        let pairs: Vec<u64> = (0..500).flat_map(|n| [n, n << 49, u64::MAX - n]).collect();
        for round in 0..3 {
            for &pair in &pairs {
                table.add(pair, (pair % 7) as f64);
                table.add(pair, (pair % 7 + 2 * round) as f64);
            }
            let mut drained: Vec<(u64, f64)> = table.drain().collect();
            drained.sort_unstable_by_key(|entry| entry.0);
            let mut expected: Vec<(u64, f64)> =
                pairs.iter().map(|&pair| (pair, (pair % 7 + round) as f64)).collect();
            expected.sort_unstable_by_key(|entry| entry.0);
            expected.dedup();
            assert_eq!(drained, expected, "round {round}");
        }
        assert_eq!(table.drain().count(), 0);
    }
}
