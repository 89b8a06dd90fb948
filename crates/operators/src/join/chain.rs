//! The values of one side of a join that share a key and a pane: the first one in place, the others in a
//! linked list.
//!
//! Most keys have one value, so it is stored in the entry of its table, one cache miss away. Further values are
//! stored in one list for the whole pane, each linked to the one before it, so that a key with many values costs no
//! allocation of its own.

use super::funds::Funds;

/// The cursor at which a walk through a chain (the values of one key on one side of a join) begins.
pub(crate) const START: u32 = u32::MAX - 1;

/// The cursor or link that stands for the end of a chain (the values of one key on one side of a join).
const END: u32 = u32::MAX;

/// The values of one key on one side of a join.
#[derive(Debug, Default)]
pub(crate) enum Chain<V> {
    #[default]
    Empty,
    One(V),
    /// The first value, and the link to the last value. The other values are found from the last one
    /// backwards.
    More(V, u32),
}

/// A value of a chain other than the first, and the link to the value before it.
#[derive(Debug)]
pub(crate) struct Link<V> {
    value: V,
    before: u32,
}

impl<V> Chain<V> {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Chain::Empty)
    }

    /// Returns the value at `cursor`, and the cursor of the next value. A walk visits the first value, then
    /// the others from the last to the second.
    #[inline(always)]
    pub(crate) fn at<'a>(&'a self, cursor: u32, links: &'a [Link<V>]) -> Option<(&'a V, u32)> {
        match self {
            Chain::One(first) if cursor == START => Some((first, END)),
            Chain::More(first, last) if cursor == START => Some((first, *last)),
            Chain::More(..) => links.get(cursor as usize).map(|link| (&link.value, link.before)),
            _ => None,
        }
    }

    /// Loads the last value's entry of the list if the chain has several values, so that the entry is in the
    /// cache when a walk needs it.
    #[inline(always)]
    pub(crate) fn last_link(&self, links: &[Link<V>]) -> u32 {
        match self {
            Chain::More(_, last) => links.get(*last as usize).map_or(END, |link| link.before),
            _ => END,
        }
    }

    /// Iterates over every value of the chain: the first value, then the others from the last to the second.
    pub(crate) fn walk<'a>(&'a self, links: &'a [Link<V>]) -> impl Iterator<Item = &'a V> {
        let mut cursor = START;
        std::iter::from_fn(move || {
            let (value, next) = self.at(cursor, links)?;
            cursor = next;
            Some(value)
        })
    }

    /// Appends `value` to the chain; drops the value if there is no memory for it.
    #[inline(always)]
    pub(crate) fn push(&mut self, value: V, links: &mut Vec<Link<V>>, funds: &mut Funds) {
        match self {
            Chain::Empty => *self = Chain::One(value),
            _ => self.link(value, links, funds),
        }
    }

    #[inline(always)]
    fn link(&mut self, value: V, links: &mut Vec<Link<V>>, funds: &mut Funds) {
        if !funds.room_in(links) {
            return;
        }
        let place = u32::try_from(links.len()).ok().filter(|&place| place < START);
        let place = place.expect("a pane holds fewer than 2^32 values of a side");
        let (first, before) = match std::mem::take(self) {
            Chain::Empty => unreachable!("only a chain with a value is linked to"),
            Chain::One(first) => (first, END),
            Chain::More(first, last) => (first, last),
        };
        links.push(Link { value, before });
        *self = Chain::More(first, place);
    }

    /// Appends every value of the chain to `values`, in the order in which they came. Values for which there
    /// is no memory are left out.
    pub(crate) fn gather(&self, links: &[Link<V>], values: &mut Vec<V>, funds: &mut Funds)
    where
        V: Clone,
    {
        let begin = values.len();
        for value in self.walk(links) {
            if funds.room_in(values) {
                values.push(value.clone());
            }
        }
        if let Some(behind_first) = values.get_mut(begin + 1..) {
            behind_first.reverse();
        }
    }
}
