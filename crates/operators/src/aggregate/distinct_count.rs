//! Distinct count: the exact number of different values. All of them are kept, once each.
//!
//! They are kept in order, not hashed: so no input can be chosen to collide, and the saved state does not depend on a
//! seed.

use std::collections::BTreeSet;

use thalweg_model::{Fold, State};

/// Least and greatest number of values in a node of the standard library's B-trees. They serve to compute the
/// bytes of a set.
const NODE_VALUES_MIN: usize = 5;
const NODE_VALUES_MAX: usize = 11;

/// Bytes of the links of one tree node to other nodes: two words in each node, and twelve more in inner
/// nodes, which are at most one node in six.
const NODE_LINKS_BYTES: usize = 4 * size_of::<usize>();

/// Counts different values. Memory: about three times the size of each different value, per key and window, and at
/// least the size of twelve values. The heap memory of the values themselves is not counted.
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

    /// Computes the bytes of the set's B-tree. A node has room for eleven values and, except for the root,
    /// holds at least five.
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

    /// The first value of a distinct count is counted with the bytes of a whole tree node: keys with few
    /// different values are the common case.
    #[test]
    fn a_node_has_room_for_eleven() {
        let mut accumulator = Fold::<u64>::create(&DistinctCount);
        assert_eq!(DistinctCount.held_bytes(&accumulator), 0);
        DistinctCount.fold(&mut accumulator, &7u64);
        assert_eq!(DistinctCount.held_bytes(&accumulator), 11 * 8 + 32);
    }
}
