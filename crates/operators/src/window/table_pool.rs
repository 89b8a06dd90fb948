//! The hash tables of all panes in one pool. A pane names its tables by their index in the pool. Tables that
//! are given back are reused, and a few of them keep their slots.
//!
//! The two tables that records go to at the moment are "in hand": they lie outside the list, in fields of
//! their own. This saves one look-up per record, which is 20 % of its cost. Taking another table in hand
//! moves the table's fields, not its slots.

use std::hash::Hash;

use thalweg_model::{Allowance, Fold};

use super::accumulators::{Accumulators, held_by};
use crate::key_table::KeyHash;

/// Number of unused tables that keep their slots for later panes. It is rare that more panes end at once.
const SPARE_MAX: usize = 4;

/// Largest number of tables that the pool keeps when none of them is in use.
const IDLE_MAX: usize = 16;

/// The index of a hash table in the pool of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TableIndex(u32);

impl TableIndex {
    /// Stands for "no table" where the index of a table is expected.
    pub(super) const NONE: TableIndex = TableIndex(u32::MAX);
}

/// Names one of the two tables in hand (those to which records go at the moment). It is a number, so that no
/// branch chooses between the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hand(usize);

impl Hand {
    #[inline(always)]
    pub(super) fn second_if(is_second: bool) -> Self {
        Hand(usize::from(is_second))
    }
}

/// The pool of the hash tables of all panes, by index.
#[derive(Debug)]
pub(super) struct TablePool<K, A> {
    tables: Vec<Accumulators<K, A>>,
    /// The two tables in hand: those to which records go at the moment. Their places in `tables` hold empty
    /// tables.
    hands: [Accumulators<K, A>; 2],
    /// Indexes of the two tables in hand (those to which records go at the moment).
    in_hand: [TableIndex; 2],
    /// Bytes of the two tables in hand (those to which records go at the moment) when the bytes were last
    /// counted.
    hand_bytes: [usize; 2],
    /// Indexes of unused tables that keep their slots.
    spare: Vec<TableIndex>,
    /// Indexes of unused tables without slots.
    empty: Vec<TableIndex>,
    /// Bytes of all tables when they were last counted. The growth since then of the tables to which records
    /// go at the moment is not included.
    table_bytes: usize,
    /// The hash function of the tables of all panes.
    hash: KeyHash,
    allowance: Allowance,
}

impl<K: Eq + Hash, A> TablePool<K, A> {
    /// Bytes of a table without its slots: those of the struct, and of an entry in a list of unused tables.
    const BYTES: usize = size_of::<Accumulators<K, A>>() + size_of::<TableIndex>();

    pub(super) fn new(hash: KeyHash, allowance: Allowance) -> Self {
        let (spare, empty) = (Vec::with_capacity(SPARE_MAX), Vec::new());
        let hands = std::array::from_fn(|_| Accumulators::new(hash.clone(), allowance.clone()));
        TablePool {
            tables: Vec::new(),
            hands,
            in_hand: [TableIndex::NONE; 2],
            hand_bytes: [0; 2],
            spare,
            empty,
            table_bytes: 0,
            hash,
            allowance,
        }
    }

    /// Returns an empty table for a pane; `None` if there is no memory for it.
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

    /// Takes a table back from a pane; entries left in it are dropped.
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

    /// Returns a hash table of the pool that is in use, for reading.
    pub(super) fn get(&self, index: TableIndex) -> &Accumulators<K, A> {
        match self.hand_of(index) {
            Some(hand) => &self.hands[hand],
            None => &self.tables[index.0 as usize],
        }
    }

    /// Changes a table of the pool by a function. Counts the bytes of the table anew, unless records go to
    /// this table at the moment.
    pub(super) fn change<Q>(
        &mut self,
        index: TableIndex,
        change: impl FnOnce(&mut Accumulators<K, A>) -> Q,
    ) -> Q {
        if let Some(hand) = self.hand_of(index) {
            return change(&mut self.hands[hand]);
        }
        let table = &mut self.tables[index.0 as usize];
        let before = table.bytes();
        let result = change(table);
        self.table_bytes = self.table_bytes + table.bytes() - before;
        result
    }

    /// Returns the first of the two tables in hand (those to which records go at the moment), to fold values
    /// into.
    #[inline(always)]
    pub(super) fn first_hand(&mut self) -> &mut Accumulators<K, A> {
        &mut self.hands[0]
    }

    /// Returns one of the two tables in hand, to which records go at the moment. (`select_unpredictable`
    /// between the two would be compiled to a branch.)
    #[inline(always)]
    pub(super) fn hand(&mut self, Hand(hand): Hand) -> &mut Accumulators<K, A> {
        &mut self.hands[hand]
    }

    /// Returns which of the two tables in hand (those to which records go at the moment) has this index;
    /// `None` if neither has.
    fn hand_of(&self, index: TableIndex) -> Option<usize> {
        self.in_hand.iter().position(|in_hand| *in_hand == index)
    }

    /// Takes the tables with the two given indexes in hand, so that records go to them from now on, and puts
    /// the two tables that were in hand back into the list. Either index may be [`TableIndex::NONE`].
    pub(super) fn take_in_hand(&mut self, [first, second]: [TableIndex; 2]) {
        let [in_first, in_second] = self.in_hand;
        let is_same = |a, b| a == b && a != TableIndex::NONE;
        if is_same(first, in_second) || is_same(second, in_first) {
            self.hands.swap(0, 1);
            self.in_hand.swap(0, 1);
            self.hand_bytes.swap(0, 1);
        }
        for (hand, index) in [first, second].into_iter().enumerate() {
            if self.in_hand[hand] != index {
                self.lay_down(hand);
            }
        }
        for (hand, index) in [first, second].into_iter().enumerate() {
            if self.in_hand[hand] != index {
                std::mem::swap(&mut self.hands[hand], &mut self.tables[index.0 as usize]);
                (self.in_hand[hand], self.hand_bytes[hand]) = (index, self.hands[hand].bytes());
            }
        }
    }

    fn lay_down(&mut self, hand: usize) {
        if self.in_hand[hand] != TableIndex::NONE {
            self.table_bytes = self.table_bytes + self.hands[hand].bytes() - self.hand_bytes[hand];
            std::mem::swap(&mut self.hands[hand], &mut self.tables[self.in_hand[hand].0 as usize]);
            (self.in_hand[hand], self.hand_bytes[hand]) = (TableIndex::NONE, 0);
        }
    }

    /// Removes any entry of a table of the pool, and returns it.
    pub(super) fn drain_one<V, F>(&mut self, index: TableIndex, fold: &F) -> Option<(K, A)>
    where
        F: Fold<V, Accumulator = A>,
    {
        self.change(index, |table| table.drain_one(held_by(fold)))
    }

    /// Returns the bytes of all tables. The two tables in hand (those to which records go at the moment) are
    /// counted anew, as they may have fewer bytes than were noted.
    pub(super) fn bytes(&self) -> usize {
        let noted = self.tables.capacity() * Self::BYTES + self.table_bytes;
        // The tables to which records go at the moment are counted anew. They may be smaller than at the last
        // count, because a table that is given back may stay among them.
        let in_hand = self.hands.iter().map(Accumulators::bytes).sum::<usize>();
        noted + in_hand - self.hand_bytes.iter().sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::aggregate::Values;

    proptest! {
        /// The number of bytes equals the sum over all tables, whichever tables are in hand, put back,
        /// changed or given back.
        #[test]
        fn bytes_are_counted_whatever_is_in_hand(steps in proptest::collection::vec((0..8u8, 0..40usize), 0..200)) {
            let mut pool = TablePool::<u64, Vec<u64>>::new(KeyHash::new(0), Allowance::default());
            let counted = |pool: &TablePool<u64, Vec<u64>>| {
                let tables = pool.tables.iter().chain(&pool.hands).map(Accumulators::bytes).sum::<usize>();
                assert_eq!(pool.bytes(), pool.tables.capacity() * TablePool::<u64, Vec<u64>>::BYTES + tables);
            };
            let mut taken = Vec::new();
            for (kind, place) in steps {
                let table = taken.get(place % taken.len().max(1)).copied();
                match (kind, table) {
                    (0..3, _) => taken.extend(pool.take()),
                    (3, Some(_)) => pool.give_back(taken.swap_remove(place % taken.len())),
                    (4, Some(first)) => {
                        let second = taken.get(place / 3 % taken.len()).filter(|second| **second != first);
                        let mut hands = [first, second.copied().unwrap_or(TableIndex::NONE)];
                        hands.rotate_left(place % 2);
                        pool.take_in_hand(hands);
                    }
                    (5, Some(table)) => pool.change(table, |table| table.fold(&Values, place as u64, &7)),
                    (6, Some(table)) => while pool.drain_one::<u64, _>(table, &Values).is_some() {},
                    _ if taken.contains(&pool.in_hand[place % 2]) => {
                        pool.hand(Hand::second_if(place % 2 == 1)).fold(&Values, place as u64, &8);
                    }
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
