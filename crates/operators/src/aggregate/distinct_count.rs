//! Distinct count: how many different values there were, exactly: all of them are kept, once each.
//!
//! Kept in order, not hashed: nobody can choose values that collide, and what is saved does not depend on a seed.

use std::collections::BTreeSet;

use thalweg_model::{Fold, State};

/// Values of a node of the standard library's trees, at least and at most.
const NODE_VALUES_MIN: usize = 5;
const NODE_VALUES_MAX: usize = 11;

/// What links a node to others: two words, and, in those that have nodes below, which are one of six at most, twelve more.
const NODE_LINKS_BYTES: usize = 4 * size_of::<usize>();

/// Counts different values. Memory: about three times the size of each different value, per key and window, and that of
/// twelve at least; what values hold on the heap themselves is not counted.
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

    /// A node of a tree has room for eleven values and, but for the first, has five at least.
    fn held_bytes(&self, accumulator: &BTreeSet<V>) -> usize {
        let node_bytes = NODE_VALUES_MAX * size_of::<V>() + NODE_LINKS_BYTES;
        accumulator.len().div_ceil(NODE_VALUES_MIN) * node_bytes
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
        assert_eq!(DistinctCount.held_bytes(&accumulator), 2 * (11 * 8 + 32));
    }

    /// The first value takes a whole node: keys with few different values are the common case.
    #[test]
    fn a_node_has_room_for_eleven() {
        let mut accumulator = Fold::<u64>::create(&DistinctCount);
        assert_eq!(DistinctCount.held_bytes(&accumulator), 0);
        DistinctCount.fold(&mut accumulator, &7u64);
        assert_eq!(DistinctCount.held_bytes(&accumulator), 11 * 8 + 32);
    }
}
