//! Sequences of the values of a group in the order in which they came, from which retracted values can be
//! removed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, de::DeserializeOwned};

/// A sequence of the values of a group, to which values are appended and from which a value equal to a given
/// one may be removed.
pub(super) trait Sequence<V: 'static>:
    Default + Serialize + DeserializeOwned + Send + 'static
{
    /// True if values can be removed from the sequence.
    const RETRACTS: bool;

    fn push(&mut self, value: V);

    /// Removes the oldest value of the sequence that equals `value` and returns true. If there is none,
    /// returns false, and the next equal value that a merge brings (see [`append`](Self::append)) is removed
    /// instead.
    fn take(&mut self, value: V) -> bool;

    /// Appends all values of another sequence, as a merge of two groups does.
    fn append(&mut self, other: &Self);

    fn len(&self) -> usize;

    /// Returns the bytes that the sequence holds, without the heap bytes of the values.
    fn held_bytes(&self) -> usize;

    /// Iterates over all values of the sequence in order of arrival.
    fn iter(&self) -> impl DoubleEndedIterator<Item = &V>;
}

impl<V> Sequence<V> for Vec<V>
where
    V: Clone + Serialize + DeserializeOwned + Send + 'static,
{
    const RETRACTS: bool = false;

    fn push(&mut self, value: V) {
        self.push(value);
    }

    fn take(&mut self, _value: V) -> bool {
        panic!("`Calls` takes rows back only from accumulators that were made to retract");
    }

    fn append(&mut self, other: &Self) {
        self.extend_from_slice(other);
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn held_bytes(&self) -> usize {
        self.capacity() * size_of::<V>()
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.as_slice().iter()
    }
}

/// Sequence of values from which a value is removed in a time that grows with the logarithm of the length.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "V: Ord + Clone + Serialize + DeserializeOwned", from = "Saved<V>", into = "Saved<V>")]
pub(super) struct Arrivals<V: Ord + Clone> {
    /// Values of the sequence, each under its arrival number, which rises with every appended value.
    values: BTreeMap<u64, V>,
    /// Pairs of a value and its arrival number, sorted by value, so that the oldest of equal values is found.
    places: BTreeSet<(V, u64)>,
    next: u64,
    /// Values that were retracted before they came. When a later merge brings one, the value and its entry
    /// here are both removed.
    owed: Vec<V>,
}

/// Saved form of [`Arrivals`]: the values in order of arrival, and the values that were retracted before they
/// came.
#[derive(serde::Serialize, serde::Deserialize)]
struct Saved<V>(Vec<V>, Vec<V>);

impl<V: Ord + Clone> Default for Arrivals<V> {
    fn default() -> Self {
        Arrivals { values: BTreeMap::new(), places: BTreeSet::new(), next: 0, owed: Vec::new() }
    }
}

impl<V: Ord + Clone> Arrivals<V> {
    fn arrive(&mut self, value: V) {
        self.values.insert(self.next, value.clone());
        self.places.insert((value, self.next));
        self.next += 1;
    }

    /// Removes the oldest value of the sequence that equals `value` and returns `None`, or returns `value` if
    /// there is none.
    fn try_take(&mut self, value: V) -> Option<V> {
        let least = (value, 0);
        let found = self.places.range(&least..).next().filter(|place| place.0 == least.0).cloned();
        match found {
            Some(place) => {
                self.places.remove(&place);
                self.values.remove(&place.1);
                None
            }
            None => Some(least.0),
        }
    }
}

impl<V> Sequence<V> for Arrivals<V>
where
    V: Ord + Clone + Serialize + DeserializeOwned + Send + 'static,
{
    const RETRACTS: bool = true;

    fn push(&mut self, value: V) {
        self.arrive(value);
    }

    fn take(&mut self, value: V) -> bool {
        let missing = self.try_take(value);
        let is_there = missing.is_none();
        self.owed.extend(missing);
        is_there
    }

    fn append(&mut self, other: &Self) {
        other.values.values().for_each(|value| self.arrive(value.clone()));
        let owed = std::mem::take(&mut self.owed);
        for value in owed.into_iter().chain(other.owed.iter().cloned()) {
            self.take(value);
        }
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn held_bytes(&self) -> usize {
        let entry = size_of::<(u64, V)>() + size_of::<(V, u64)>();
        // The bytes of each entry are counted twice, because the nodes of the B-trees may be only half full.
        2 * self.values.len() * entry + self.owed.capacity() * size_of::<V>()
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.values.values()
    }
}

impl<V: Ord + Clone> From<Saved<V>> for Arrivals<V> {
    fn from(Saved(values, owed): Saved<V>) -> Self {
        let mut arrivals = Arrivals { owed, ..Arrivals::default() };
        values.into_iter().for_each(|value| arrivals.arrive(value));
        arrivals
    }
}

impl<V: Ord + Clone> From<Arrivals<V>> for Saved<V> {
    fn from(arrivals: Arrivals<V>) -> Self {
        Saved(arrivals.values.into_values().collect(), arrivals.owed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Removing a value takes the oldest of equal values, and the others keep the order of arrival. Each step
    /// of the test appends (`+1`) or removes (`-1`) a value.
    #[test]
    fn the_oldest_of_equals_is_taken() {
        let check = |steps: &[i32], expected: &[i32]| {
            let mut arrivals = Arrivals::default();
            for &step in steps {
                if step > 0 {
                    arrivals.push(step);
                } else {
                    arrivals.take(-step);
                }
            }
            assert_eq!(arrivals.iter().copied().collect::<Vec<_>>(), expected, "{steps:?}");
            let saved = Arrivals::from(Saved::from(arrivals.clone()));
            assert!(saved.iter().eq(arrivals.iter()), "{steps:?}");
        };
        check(&[], &[]);
        check(&[1, 2, 1], &[1, 2, 1]);
        check(&[1, 2, 1, -1], &[2, 1]);
        check(&[1, 2, 1, -1, 3, -1], &[2, 3]);
        check(&[1, -1], &[]);
        check(&[1, -2], &[1]);
    }

    /// A value that is retracted before it comes is removed from the values that a merge brings, whichever
    /// part is merged into the other.
    #[test]
    fn what_is_owed_is_paid_by_a_merge() {
        let (mut left, mut right) = (Arrivals::default(), Arrivals::default());
        left.take(1);
        left.push(2);
        right.push(1);
        right.push(1);
        right.take(2);
        right.take(3);
        left.append(&right);
        assert_eq!(left.iter().copied().collect::<Vec<_>>(), [1]);
        assert_eq!(left.owed, [3]);
    }
}
