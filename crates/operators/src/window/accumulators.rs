//! Accumulators by key, and the bytes that they hold: a [`KeyTable`] for the accumulators of a [`Fold`].

use std::cell::Cell;
use std::hash::Hash;

use thalweg_model::{Allowance, Fold};

use super::held::Held;
use crate::key_table::{KeyHash, KeyTable};

/// A table of accumulators, or of values that contain one, by key, with a count of the bytes that the
/// accumulators hold.
#[derive(Debug)]
pub(crate) struct Accumulators<K, A> {
    table: KeyTable<K, A>,
    held: Held,
}

impl<K: Eq + Hash, A> Accumulators<K, A> {
    pub(crate) fn new(hash: KeyHash, allowance: Allowance) -> Self {
        Accumulators { table: KeyTable::new(hash, allowance), held: Held::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns the bytes of the table and of the memory that its accumulators hold. Heap memory of keys is
    /// not counted.
    pub(crate) fn bytes(&self) -> usize {
        self.table.bytes() + self.held.bytes()
    }

    /// Folds a value into the accumulator of `key`, which is created if the key is new.
    #[inline(always)]
    pub(crate) fn fold<V, F: Fold<V, Accumulator = A>>(&mut self, fold: &F, key: K, value: &V) {
        self.update(held_by(fold), key, || fold.create(), |accumulator| fold.fold(accumulator, value));
    }

    /// Merges an accumulator into the accumulator of `key`; returns whether the key is new.
    pub(crate) fn merge<V, F: Fold<V, Accumulator = A>>(&mut self, fold: &F, key: K, other: A) -> bool {
        let other = Cell::new(Some(other));
        self.update(
            held_by(fold),
            key,
            || other.take().expect("an accumulator is taken over or merged, and once"),
            |accumulator| match other.take() {
                Some(other) => {
                    fold.merge(accumulator, other);
                    false
                }
                None => true,
            },
        )
    }

    /// Merges all entries of another table into this one. The other table is empty afterwards, and has its
    /// own slots or the slots that this table had.
    pub(crate) fn absorb<V, F: Fold<V, Accumulator = A>>(&mut self, fold: &F, other: &mut Self) {
        if self.is_empty() && self.table.trade(&mut other.table) {
            std::mem::swap(&mut self.held, &mut other.held);
            return;
        }
        self.table.be_as_wide_as(&other.table);
        while let Some((key, accumulator)) = other.drain_one(held_by(fold)) {
            self.merge(fold, key, accumulator);
        }
    }

    /// Widens the table to the number of slots of another table, whose entries are about to be merged here in
    /// slot order.
    pub(crate) fn be_as_wide_as<B>(&mut self, other: &Accumulators<K, B>) {
        self.table.be_as_wide_as(&other.table);
    }

    /// Changes the accumulator of a key by a function; `create` makes the accumulator if the key is new.
    /// `held` returns the bytes that an accumulator holds beyond itself; it is `None` if accumulators hold
    /// nothing.
    #[inline(always)]
    pub(crate) fn update<Q>(
        &mut self,
        held: Option<impl Fn(&A) -> usize>,
        key: K,
        create: impl FnOnce() -> A,
        change: impl FnOnce(&mut A) -> Q,
    ) -> Q {
        let Some(held) = held else { return self.table.update(key, create, change) };
        let is_new = Cell::new(false);
        let create = || {
            is_new.set(true);
            create()
        };
        let (before, result, after) = self.table.update(key, create, |accumulator| {
            let before = if is_new.get() { 0 } else { held(accumulator) };
            let result = change(accumulator);
            (before, result, held(accumulator))
        });
        self.held.note(self.table.allowance(), before, after);
        result
    }

    pub(crate) fn get(&self, key: &K) -> Option<&A> {
        self.table.look().get(key)
    }

    /// Changes the accumulator of a key that is in the table, and removes the key if `change` returns true.
    pub(crate) fn reduce(
        &mut self,
        held: Option<&impl Fn(&A) -> usize>,
        key: &K,
        change: impl FnOnce(&mut A) -> bool,
    ) {
        let Some(accumulator) = self.table.get_mut(key) else { return };
        let held_of = |accumulator: &A| held.map_or(0, |held| held(accumulator));
        let before = held_of(accumulator);
        let is_over = change(accumulator);
        let after = if is_over { 0 } else { held_of(accumulator) };
        self.held.note(self.table.allowance(), before, after);
        if is_over {
            self.table.remove(key);
        }
    }

    /// Removes any entry of the table and returns it, as [`KeyTable::drain_one`] does.
    pub(crate) fn drain_one(&mut self, held: Option<impl Fn(&A) -> usize>) -> Option<(K, A)> {
        let entry = self.table.drain_one();
        if let (Some(held), Some((_, accumulator))) = (held, &entry) {
            self.held.note(self.table.allowance(), held(accumulator), 0);
        }
        entry
    }

    /// Drops every entry of the table, and keeps its slots for reuse.
    pub(crate) fn clear(&mut self) {
        while self.table.drain_one().is_some() {}
        self.held = Held::default();
    }

    /// Returns the first entry at or after a slot number, and moves the number on, as
    /// [`KeyTable::next_entry`] does.
    pub(crate) fn next_entry(&self, slot: &mut usize) -> Option<&(K, A)> {
        self.table.next_entry(slot)
    }

    /// Iterates over every entry of the table, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(K, A)> {
        self.table.iter()
    }
}

/// Returns the function that counts the bytes held by an accumulator of this fold; `None` if its accumulators
/// hold nothing beyond themselves.
#[inline(always)]
pub(crate) fn held_by<V, F: Fold<V>>(fold: &F) -> Option<impl Fn(&F::Accumulator) -> usize> {
    F::HOLDS.then_some(|accumulator: &F::Accumulator| fold.held_bytes(accumulator))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Values;

    /// After any sequence of changes, the bytes that accumulators hold are counted exactly.
    #[test]
    fn what_accumulators_hold_is_counted_to_the_byte() {
        let mut accumulators = Accumulators::<u64, Vec<u64>>::new(KeyHash::new(1), Allowance::default());
        let held = |accumulators: &Accumulators<u64, Vec<u64>>| {
            let held: usize = accumulators.iter().map(|(_, values)| values.capacity() * 8).sum();
            assert_eq!(accumulators.bytes() - accumulators.table.bytes(), held);
            held
        };
        for value in 0..100 {
            accumulators.fold(&Values, value % 7, &value);
        }
        assert!(held(&accumulators) >= 800);
        assert!(!accumulators.merge(&Values, 3, vec![1; 100]));
        assert!(accumulators.merge(&Values, 50, vec![2; 100]));
        assert!(held(&accumulators) >= 2_400);
        let held_by_values = held_by::<u64, _>(&Values);
        accumulators.reduce(held_by_values.as_ref(), &3, |values| {
            *values = vec![1];
            false
        });
        held(&accumulators);
        accumulators.reduce(held_by_values.as_ref(), &4, |_| true);
        assert_eq!((accumulators.len(), accumulators.get(&4)), (7, None));
        held(&accumulators);
        assert!(accumulators.drain_one(held_by::<u64, _>(&Values)).is_some());
        held(&accumulators);
        accumulators.clear();
        assert!(accumulators.is_empty() && held(&accumulators) == 0);
    }
}
