//! An estimate of the number of different values, from few registers.

use serde::{Deserialize, Serialize};

/// Number of bits of a hash that choose a register.
pub const REGISTER_BITS: u32 = 10;

/// Number of registers.
pub const REGISTER_COUNT: usize = 1 << REGISTER_BITS;

/// The factor `alpha` of the estimate (see [`Registers`]) for a large number of registers.
const ALPHA: f64 = 0.39701;

/// The registers of an estimate. The lowest bits of a hash choose a register, which keeps the greatest rank
/// of its hashes. The rank of a hash is the place of the lowest bit that is set among the other bits, counted
/// from 1.
///
/// Source: Durand and Flajolet, "Loglog Counting of Large Cardinalities", ESA 2003, section 2: `E = alpha m 2^(mean rank)`.
/// While that is at most 2.5 per register and a register is empty, the estimate is `m ln(m / empty)` instead, which is
/// that of Whang et al., "A Linear-Time Probabilistic Counting Algorithm for Database Applications", TODS 15(2), 1990.
/// RIoTBench does without it, and reports 813 for no value at all.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Registers {
    /// The rank of each register, 0 for one without a hash; empty before the first value.
    ranks: Vec<u8>,
    sum: u32,
    /// Number of registers with a rank above 0.
    used: u32,
}

impl Registers {
    /// Adds a value by its hash.
    pub fn add(&mut self, hash: u64) {
        if self.ranks.is_empty() {
            self.ranks = vec![0; REGISTER_COUNT];
        }
        let rank = ((hash >> REGISTER_BITS).trailing_zeros() + 1).min(u32::from(u8::MAX)) as u8;
        let register = &mut self.ranks[hash as usize & (REGISTER_COUNT - 1)];
        if *register < rank {
            self.used += u32::from(*register == 0);
            self.sum += u32::from(rank - *register);
            *register = rank;
        }
    }

    /// Returns the estimated number of different values: 0 if there are none.
    pub fn estimate(&self) -> f64 {
        let count = REGISTER_COUNT as f64;
        let estimate = ALPHA * count * (f64::from(self.sum) / count).exp2();
        let empty = count - f64::from(self.used);
        if empty > 0.0 && estimate <= 2.5 * count { count * (count / empty).ln() } else { estimate }
    }

    /// Returns the bytes that the registers hold on the heap.
    pub fn held_bytes(&self) -> usize {
        self.ranks.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riot::hash::hash;

    #[test]
    fn different_values_are_counted_nearly() {
        let mut registers = Registers::default();
        assert_eq!(registers.estimate(), 0.0);
        let mut added = 0;
        for count in [1_u32, 20, 521, 1_024, 5_000, 100_000] {
            while added < count {
                registers.add(hash(format!("sensor-{added}").as_bytes()));
                added += 1;
            }
            let estimate = registers.estimate();
            assert!((estimate / f64::from(count) - 1.0).abs() < 0.12, "{estimate} of {count}");
        }
    }

    #[test]
    fn equal_values_count_once() {
        let mut registers = Registers::default();
        registers.add(hash(b"one"));
        let once = registers.clone();
        registers.add(hash(b"one"));
        assert_eq!((registers.clone(), registers.held_bytes()), (once, 1_024));
        // A hash of zero has the greatest rank: the place behind all bits.
        registers.add(0);
        assert_eq!(registers.ranks[0], 65);
    }
}
