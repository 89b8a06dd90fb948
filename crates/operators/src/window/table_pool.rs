//! The tables of panes, all in one place: a pane names its tables by their index. Tables that are given back serve
//! others; a few of them keep their slots.
//!
//! The table that records go to lies apart, in hand: one look-up less per record is a fifth of its cost. To take another
//! in hand swaps what a table is made of, not its slots.

use std::hash::Hash;

use thalweg_model::{Allowance, Fold};

use super::accumulators::{Accumulators, held_by};
use crate::key_table::KeyHash;

/// Tables that keep their slots for later panes; more are rarely over at once.
const SPARE_MAX: usize = 4;

/// A pool that has lent nothing keeps no more tables than this.
const IDLE_MAX: usize = 16;

/// Which table of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TableIndex(u32);

impl TableIndex {
    /// Of no table.
    pub(super) const NONE: TableIndex = TableIndex(u32::MAX);
}

/// Tables by index.
#[derive(Debug)]
pub(super) struct TablePool<K, A> {
    tables: Vec<Accumulators<K, A>>,
    /// The table in hand, in whose place an empty one lies, and its bytes as far as they were noted.
    hand: Accumulators<K, A>,
    in_hand: TableIndex,
    hand_bytes: usize,
    /// Those that nobody uses, with slots of their own and without.
    spare: Vec<TableIndex>,
    empty: Vec<TableIndex>,
    /// Bytes of all tables, as far as they were noted: of the one in hand it is not noted how it grows.
    table_bytes: usize,
    /// The hash of all tables.
    hash: KeyHash,
    allowance: Allowance,
}

impl<K: Eq + Hash, A> TablePool<K, A> {
    /// What a table takes beside its slots: itself, and a place among those that nobody uses.
    const BYTES: usize = size_of::<Accumulators<K, A>>() + size_of::<TableIndex>();

    pub(super) fn new(hash: KeyHash, allowance: Allowance) -> Self {
        let (spare, empty) = (Vec::with_capacity(SPARE_MAX), Vec::new());
        let hand = Accumulators::new(hash.clone(), allowance.clone());
        let (in_hand, hand_bytes) = (TableIndex::NONE, 0);
        TablePool {
            tables: Vec::new(),
            hand,
            in_hand,
            hand_bytes,
            spare,
            empty,
            table_bytes: 0,
            hash,
            allowance,
        }
    }

    /// An empty table; none if there is no memory for it.
    pub(super) fn take(&mut self) -> Option<TableIndex> {
        if let Some(table) = self.spare.pop().or_else(|| self.empty.pop()) {
            return Some(table);
        }
        if self.tables.len() == self.tables.capacity() {
            let more = self.tables.capacity().max(4);
            if !self.allowance.ask(more * Self::BYTES) {
                return None;
            }
            self.tables.reserve_exact(more);
            self.empty.reserve_exact(self.tables.capacity());
        }
        let index = TableIndex(u32::try_from(self.tables.len()).ok()?);
        self.tables.push(self.table());
        Some(index)
    }

    /// Takes a table back, with whatever is left in it.
    pub(super) fn give_back(&mut self, index: TableIndex) {
        let has_slots = self.get(index).bytes() > 0;
        if has_slots && self.spare.len() < SPARE_MAX {
            self.change(index, Accumulators::clear);
            self.spare.push(index);
        } else {
            let empty = self.table();
            self.change(index, |table| *table = empty);
            self.empty.push(index);
        }
        let is_idle = self.spare.len() + self.empty.len() == self.tables.len();
        if is_idle && self.tables.len() > IDLE_MAX {
            *self = TablePool::new(self.hash.clone(), self.allowance.clone());
        }
    }

    fn table(&self) -> Accumulators<K, A> {
        Accumulators::new(self.hash.clone(), self.allowance.clone())
    }

    /// A table that is in use.
    pub(super) fn get(&self, index: TableIndex) -> &Accumulators<K, A> {
        if index == self.in_hand { &self.hand } else { &self.tables[index.0 as usize] }
    }

    /// Changes a table.
    pub(super) fn change<Q>(
        &mut self,
        index: TableIndex,
        change: impl FnOnce(&mut Accumulators<K, A>) -> Q,
    ) -> Q {
        if index == self.in_hand {
            return change(&mut self.hand);
        }
        let table = &mut self.tables[index.0 as usize];
        let before = table.bytes();
        let result = change(table);
        self.table_bytes = self.table_bytes + table.bytes() - before;
        result
    }

    /// The table in hand, to fold values into.
    #[inline(always)]
    pub(super) fn hand(&mut self) -> &mut Accumulators<K, A> {
        &mut self.hand
    }

    /// Takes a table in hand.
    pub(super) fn take_in_hand(&mut self, index: TableIndex) {
        if index != self.in_hand {
            self.lay_down();
            std::mem::swap(&mut self.hand, &mut self.tables[index.0 as usize]);
            (self.in_hand, self.hand_bytes) = (index, self.hand.bytes());
        }
    }

    fn lay_down(&mut self) {
        if self.in_hand != TableIndex::NONE {
            self.table_bytes = self.table_bytes + self.hand.bytes() - self.hand_bytes;
            std::mem::swap(&mut self.hand, &mut self.tables[self.in_hand.0 as usize]);
            (self.in_hand, self.hand_bytes) = (TableIndex::NONE, 0);
        }
    }

    /// Takes some entry out of a table.
    pub(super) fn drain_one<V, F>(&mut self, index: TableIndex, fold: &F) -> Option<(K, A)>
    where
        F: Fold<V, Accumulator = A>,
    {
        self.change(index, |table| table.drain_one(held_by(fold)))
    }

    /// Bytes of all tables. That in hand may have less than was noted of it.
    pub(super) fn bytes(&self) -> usize {
        let noted = self.tables.capacity() * Self::BYTES + self.table_bytes;
        // It may have shrunk as well: a table that is given back stays in hand.
        noted + self.hand.bytes() - self.hand_bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::aggregate::Values;

    proptest! {
        /// Whatever is in hand, laid down, changed or given back: all bytes are those of all tables.
        #[test]
        fn bytes_are_counted_whatever_is_in_hand(steps in proptest::collection::vec((0..8u8, 0..40usize), 0..200)) {
            let mut pool = TablePool::<u64, Vec<u64>>::new(KeyHash::new(0), Allowance::default());
            let counted = |pool: &TablePool<u64, Vec<u64>>| {
                let tables = pool.tables.iter().chain([&pool.hand]).map(Accumulators::bytes).sum::<usize>();
                assert_eq!(pool.bytes(), pool.tables.capacity() * TablePool::<u64, Vec<u64>>::BYTES + tables);
            };
            let mut taken = Vec::new();
            for (kind, place) in steps {
                let table = taken.get(place % taken.len().max(1)).copied();
                match (kind, table) {
                    (0..3, _) => taken.extend(pool.take()),
                    (3, Some(_)) => pool.give_back(taken.swap_remove(place % taken.len())),
                    (4, Some(table)) => pool.take_in_hand(table),
                    (5, Some(table)) => pool.change(table, |table| table.fold(&Values, place as u64, &7)),
                    (6, Some(table)) => while pool.drain_one::<u64, _>(table, &Values).is_some() {},
                    _ if taken.contains(&pool.in_hand) => pool.hand().fold(&Values, place as u64, &8),
                    _ => {}
                }
                counted(&pool);
            }
            while let Some(table) = taken.pop() {
                pool.give_back(table);
                counted(&pool);
            }
            prop_assert!(pool.tables.len() <= IDLE_MAX, "a pool that has lent nothing begins anew");
        }
    }
}
