//! A pane of a window join: the records of both sides that fall into the same windows, by key. Also holds the
//! results of looking up a record that may go into a pane.

use thalweg_model::{Either, EventTime};

use super::chain::{Chain, Link};
use super::dense_table::{DenseTable, NOWHERE, Tag};
use super::funds::{Funds, bytes_of};
use super::window_table_pool::Reused;

/// The values of one key on both sides of a window join.
#[derive(Debug)]
pub(crate) struct Sides<L, R> {
    pub(crate) left: Chain<L>,
    pub(crate) right: Chain<R>,
}

/// A pane of a window join: the records of both sides that fall into the same windows.
#[derive(Debug)]
pub(crate) struct Pane<K, L, R> {
    /// Number of the first window that the records of this pane fall into.
    pub(crate) first: i64,
    /// Number of the last window that the records of this pane fall into.
    pub(crate) last: i64,
    /// The event time with which results of the pane's first window are stamped.
    pub(crate) stamp: EventTime,
    pub(crate) table: DenseTable<K, Sides<L, R>>,
    pub(crate) left_links: Vec<Link<L>>,
    pub(crate) right_links: Vec<Link<R>>,
}

/// The decision which pane of a window join a record goes into, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    /// The record goes into the pane at this index.
    Pane(u32),
    /// The record goes into no pane, because all its windows have closed.
    Late,
    /// The record goes into no pane, because it falls between two windows.
    Between,
    /// The record goes into no pane, because there is no memory for a new one; the query is about to fail.
    Refused,
}

/// A record's key, with the results of looking up the record.
#[derive(Debug)]
pub(crate) struct Arrival<K> {
    pub(crate) key: K,
    pub(crate) tag: Tag,
    pub(crate) destination: Destination,
    /// Index of the entry of the record's key in the table of its pane, if the entry is known already;
    /// otherwise `NOWHERE`.
    pub(crate) entry: u32,
}

impl<K, L, R> Default for Pane<K, L, R> {
    fn default() -> Self {
        let table = DenseTable::default();
        Pane {
            first: 0,
            last: 0,
            stamp: EventTime::MIN,
            table,
            left_links: Vec::new(),
            right_links: Vec::new(),
        }
    }
}

impl<K, L, R> Reused for Pane<K, L, R> {
    fn clear(&mut self, _funds: &mut Funds) -> bool {
        self.left_links.clear();
        self.right_links.clear();
        self.table.clear()
    }

    fn bytes(&self) -> usize {
        self.table.bytes() + bytes_of(&self.left_links) + bytes_of(&self.right_links)
    }
}

impl<K: Eq, L, R> Pane<K, L, R> {
    /// Returns the index of the entry of a record's key in this pane, and makes an entry for a new key;
    /// `None` if there is no memory for it.
    #[inline(always)]
    pub(crate) fn entry_of(&mut self, arrival: Arrival<K>, funds: &mut Funds) -> Option<u32> {
        if arrival.entry != NOWHERE {
            return Some(arrival.entry);
        }
        let none = || Sides { left: Chain::Empty, right: Chain::Empty };
        self.table.find_or_insert(arrival.tag, arrival.key, none, funds)
    }

    /// Stores a value of the left or the right side in the entry of its key.
    #[inline(always)]
    pub(crate) fn keep(&mut self, entry: u32, value: Either<L, R>, funds: &mut Funds) {
        let sides = self.table.value_mut(entry);
        match value {
            Either::Left(left) => sides.left.push(left, &mut self.left_links, funds),
            Either::Right(right) => sides.right.push(right, &mut self.right_links, funds),
        }
    }

    /// Returns the left values of the key whose entry in this pane has index `place`.
    pub(crate) fn lefts(&self, place: u32) -> (&Chain<L>, &[Link<L>]) {
        (&self.table.value(place).left, &self.left_links)
    }

    /// Returns the right values of the key whose entry in this pane has index `place`.
    pub(crate) fn rights(&self, place: u32) -> (&Chain<R>, &[Link<R>]) {
        (&self.table.value(place).right, &self.right_links)
    }
}
