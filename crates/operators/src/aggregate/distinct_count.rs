//! Distinct count: how many different values there were, exactly: all of them are kept, once each.
//!
//! Kept in order, not hashed: nobody can choose values that collide, and what is saved does not depend on a seed.

use std::collections::BTreeSet;

use thalweg_model::{Fold, State};

/// Counts different values. Memory: about twice the size of each different value, per key and window; what values hold
/// on the heap themselves is not counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct DistinctCount;

impl<V: Clone + Ord + State> Fold<V> for DistinctCount {
    type Accumulator = BTreeSet<V>;
    type Result = u64;

    fn create(&self) -> BTreeSet<V> {
        BTreeSet::new()
    }

    fn fold(&self, accumulator: &mut BTreeSet<V>, value: &V) {
        if !accumulator.contains(value) {
            accumulator.insert(value.clone());
        }
    }

    fn merge(&self, accumulator: &mut BTreeSet<V>, mut other: BTreeSet<V>) {
        if accumulator.len() < other.len() {
            std::mem::swap(accumulator, &mut other);
        }
        accumulator.extend(other);
    }

    const HOLDS: bool = true;

    /// A node of a tree is at least half full.
    fn held_bytes(&self, accumulator: &BTreeSet<V>) -> usize {
        accumulator.len() * 2 * size_of::<V>()
    }

    fn finish(&self, accumulator: BTreeSet<V>) -> u64 {
        accumulator.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::laws::check;

    #[test]
    fn keeps_the_laws() {
        check(&DistinctCount, &[3, 1, 3, 2, 1], |count| assert_eq!(count, 3));
        check::<i64, _>(&DistinctCount, &[], |count| assert_eq!(count, 0));
    }

    #[test]
    fn holds_each_value_once() {
        let mut accumulator = Fold::<u64>::create(&DistinctCount);
        (0..1_000).for_each(|n| DistinctCount.fold(&mut accumulator, &(n % 10u64)));
        assert_eq!(DistinctCount.held_bytes(&accumulator), 10 * 16);
    }
}
