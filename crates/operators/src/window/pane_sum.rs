//! The sum of panes: the merged panes of a window that is made of several, per key.
//!
//! If the aggregate inverts, the sum is continued from window to window: panes that enter are merged into it, and
//! those that leave are subtracted, each once, however many windows they are in. Otherwise it is made anew for each
//! window.

use std::cell::Cell;
use std::hash::Hash;

use thalweg_model::{Allowance, Fold};

use super::accumulators::{self, Accumulators};
use crate::key_table::KeyHash;

/// The accumulators of one key in several panes, merged into one.
#[derive(Debug)]
struct Merged<A> {
    accumulator: A,
    /// Number of panes merged in which the key occurs. A key that occurs in none has no result, whatever its
    /// accumulator is.
    table_count: u32,
}

/// The sum of a window: the accumulators of its panes, merged key by key.
#[derive(Debug)]
pub(crate) struct PaneSum<K, A>(Accumulators<K, Merged<A>>);

impl<K: Eq + Hash, A> PaneSum<K, A> {
    pub(crate) fn new(hash: KeyHash, allowance: Allowance) -> Self {
        PaneSum(Accumulators::new(hash, allowance))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Gives the table of the sum as many slots as a pane's table has, because all entries of that table are
    /// about to be merged into it in the order of their slots.
    pub(crate) fn prepare(&mut self, table: &Accumulators<K, A>) {
        self.0.be_as_wide_as(table);
    }

    /// Merges an entry of a pane's table into the sum of its key.
    pub(crate) fn enter<V, F>(&mut self, fold: &F, key: K, accumulator: A)
    where
        F: Fold<V, Accumulator = A>,
    {
        // Either `create` or the merge takes the accumulator, but the compiler cannot know which. So the
        // accumulator lies in a `Cell`.
        let accumulator = Cell::new(Some(accumulator));
        let create = || {
            let accumulator = accumulator.take().expect("an accumulator is taken over or merged, and once");
            Merged { accumulator, table_count: 0 }
        };
        self.0.update(held_by(fold), key, create, |merged| {
            if let Some(accumulator) = accumulator.take() {
                fold.merge(&mut merged.accumulator, accumulator);
            }
            merged.table_count += 1;
        });
    }

    /// Subtracts an entry of a pane's table that was merged before.
    pub(crate) fn leave<V, F>(&mut self, fold: &F, key: &K, accumulator: &A)
    where
        F: Fold<V, Accumulator = A>,
    {
        self.0.reduce(held_by(fold).as_ref(), key, |merged| {
            merged.table_count -= 1;
            if merged.table_count > 0 {
                fold.unmerge(&mut merged.accumulator, accumulator);
            }
            merged.table_count == 0
        });
    }

    /// Returns the first entry at or after a slot number, and moves the number on, as
    /// [`Accumulators::next_entry`] does.
    pub(crate) fn next_entry(&self, slot: &mut usize) -> Option<(&K, &A)> {
        self.0.next_entry(slot).map(|(key, merged)| (key, &merged.accumulator))
    }

    /// Removes the entry of any key from the sum of panes, and returns it.
    pub(crate) fn drain_one<V, F>(&mut self, fold: &F) -> Option<(K, A)>
    where
        F: Fold<V, Accumulator = A>,
    {
        self.0.drain_one(held_by(fold)).map(|(key, merged)| (key, merged.accumulator))
    }
}

/// Returns the function that counts the bytes held by an entry of the sum; `None` if accumulators of this
/// fold hold nothing.
fn held_by<V, F: Fold<V>>(fold: &F) -> Option<impl Fn(&Merged<F::Accumulator>) -> usize> {
    let held = accumulators::held_by(fold)?;
    Some(move |merged: &Merged<F::Accumulator>| held(&merged.accumulator))
}
