//! Additional work of operators, by which they cost as much as operators on other engines and machines.
//!
//! The operators of the Lachesis paper run on a Java virtual machine on small boards and cost 0.1 to 3 ms a tuple; ours
//! cost a microsecond or less. The effects of that paper live in queues that are long in time, so a run may ask for
//! dearer operators.

use std::hint::black_box;

/// Largest additional cost of an operator of weight 1, in microseconds of CPU time per record: three times the dearest
/// operator of the Lachesis paper.
pub const COST_US_MAX: i64 = 10_000;

/// The number that stands for a weight of 1, since weights are in hundredths. An operator of this weight has the cost
/// that a run asks for.
pub const WEIGHT_ONE: u64 = 100;

/// A number of rounds of arithmetic that an operator does for each record. This takes CPU time and never sleeps. No
/// clock is read, so a thread that loses its core in between still does all rounds. The caller measures how many rounds
/// take a microsecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    rounds: u64,
}

impl Work {
    /// No additional work.
    pub const NONE: Work = Work { rounds: 0 };

    /// Creates work of this number of rounds.
    pub const fn of_rounds(rounds: u64) -> Self {
        Work { rounds }
    }

    /// Returns the work of an operator with this weight, in hundredths; `self` is the work at weight 1.
    #[must_use]
    pub const fn weighted(self, hundredths: u64) -> Self {
        let rounds = self.rounds as u128 * hundredths as u128 / WEIGHT_ONE as u128;
        Work { rounds: if rounds < u64::MAX as u128 { rounds as u64 } else { u64::MAX } }
    }

    /// Does the work.
    #[inline]
    pub fn spend(self) {
        if self.rounds > 0 {
            spin(self.rounds);
        }
    }
}

/// Does this number of multiplications. Each depends on the product of the one before, so they cannot overlap.
#[inline(never)]
fn spin(rounds: u64) {
    let mut number = black_box(1_u64);
    for _ in 0..rounds {
        number = number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    }
    black_box(number);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_weighted() {
        assert_eq!(Work::of_rounds(1_000).weighted(250), Work::of_rounds(2_500));
        assert_eq!(Work::of_rounds(3).weighted(50), Work::of_rounds(1));
        assert_eq!(Work::of_rounds(u64::MAX).weighted(500), Work::of_rounds(u64::MAX));
        assert_eq!(Work::NONE.weighted(500), Work::NONE);
        Work::of_rounds(1_000).spend();
    }
}
