//! The board: how urgent each task is and when each source is due, for workers to choose from without a lock.
//!
//! ```text
//!   leaves   [ word word word ... 64 of them ] [ 64 more ] ...       one per task, written by whoever holds it
//!   tops     [ the least of the 64           ] [ ...     ]           hints, looked at only if there are several groups
//! ```
//!
//! A word is a rank ([`Rank::word`](thalweg_scheduling::Rank::word)) or an instant in nanoseconds; the least comes
//! first and [`NOTHING`] never. Up to 64 tasks a look passes over the leaves, beyond that over the tops and one group.
//!
//! The leaves are the truth, written only by the party that holds the task ([`TaskCell`](thalweg_memory::TaskCell)). A top
//! is renewed by whoever changed a leaf under it. Who has made a leaf less lowers the top to it, if it is higher. Who has
//! made the least leaf more looks for the new least and writes it; it may have missed a leaf that became less meanwhile,
//! so it looks again after it has written. Between a store and the look that follows each side has a fence: so either
//! the second look sees the leaf that became less, or whoever made it so comes to the top later, and lowers it. Once all
//! have returned, a top is the least of its group. In between it may be wrong for as long as a `set` takes: too low,
//! and the look finds less than it hoped for, mends the top and looks on; too high, and a task is seen a moment later.

use thalweg_memory::sync::{AtomicU64, AtomicUsize, Ordering, fence};

/// Nothing here.
pub(crate) const NOTHING: u64 = u64::MAX;

/// Leaves under one top: eight cache lines, which the hardware reads ahead. Two under loom, which tries every order.
const GROUP: usize = if cfg!(loom) { 2 } else { 64 };

/// Tops that a look may find too low before it gives up: each costs a pass over a group.
const MENDED_PER_LOOK_MAX: usize = 16;

/// Words of which the least is found quickly.
#[derive(Debug)]
pub(crate) struct Board {
    /// Relaxed but for the fences of [`set`](Board::set): hints that order no other memory.
    leaves: Box<[AtomicU64]>,
    tops: Box<[AtomicU64]>,
    /// Groups in use, never fewer than before. Relaxed: who sees it late looks at fewer tasks a moment longer.
    groups: AtomicUsize,
}

/// Where a look has found the least word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Least {
    pub(crate) index: usize,
    pub(crate) word: u64,
}

impl Board {
    /// A board for `capacity` words, all of them [`NOTHING`].
    pub(crate) fn new(capacity: usize) -> Self {
        let nothing = |count: usize| (0..count).map(|_| AtomicU64::new(NOTHING)).collect();
        let groups = capacity.div_ceil(GROUP);
        Board { leaves: nothing(groups * GROUP), tops: nothing(groups), groups: AtomicUsize::new(1) }
    }

    /// Lets looks pass over the words below `count`, at least.
    pub(crate) fn cover(&self, count: usize) {
        self.groups.fetch_max(count.div_ceil(GROUP).max(1), Ordering::Relaxed);
        // Tops were not kept while one group was all.
        (0..self.groups()).for_each(|group| self.renew(group));
    }

    /// Words that a look passes over, at most.
    pub(crate) fn covered(&self) -> usize {
        self.groups() * GROUP
    }

    #[inline]
    fn groups(&self) -> usize {
        self.groups.load(Ordering::Relaxed)
    }

    /// The word at `index`.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        self.leaves[index].load(Ordering::Relaxed)
    }

    /// Writes the word at `index`; one party at a time.
    #[inline]
    pub(crate) fn set(&self, index: usize, word: u64) {
        let leaf = &self.leaves[index];
        let before = leaf.load(Ordering::Relaxed);
        if before == word {
            return;
        }
        leaf.store(word, Ordering::Relaxed);
        // SeqCst: between our leaf and our look at what others write: the number of groups, and the top. Who begins to
        // keep tops (`cover`) or overwrites one looks at the leaves behind a fence, and sees ours, or we see his.
        fence(Ordering::SeqCst);
        if self.groups() > 1 {
            self.lift(index / GROUP, before, word);
        }
    }

    /// Brings the change of a leaf to its top.
    fn lift(&self, group: usize, before: u64, word: u64) {
        let top = self.tops[group].load(Ordering::Relaxed);
        if word < before {
            if word < top {
                self.tops[group].fetch_min(word, Ordering::Relaxed);
            }
        } else if before <= top {
            // It may have been the least.
            self.renew(group);
        }
    }

    /// Makes a top the least of its group, and looks until it is.
    fn renew(&self, group: usize) {
        loop {
            // SeqCst: between our write, the first time the leaf, then the top, and our look at the leaves.
            fence(Ordering::SeqCst);
            let least = self.least_of(group).word;
            if self.tops[group].load(Ordering::Relaxed) == least {
                return;
            }
            self.tops[group].store(least, Ordering::Relaxed);
        }
    }

    /// Visits the places of all words up to `word`; answers the least of the others.
    pub(crate) fn visit_up_to(&self, word: u64, mut visit: impl FnMut(usize)) -> u64 {
        let mut next = NOTHING;
        for group in 0..self.groups() {
            let top = self.tops[group].load(Ordering::Relaxed);
            if self.groups() > 1 && word < top {
                next = next.min(top);
                continue;
            }
            for index in group * GROUP..(group + 1) * GROUP {
                let found = self.get(index);
                if found <= word {
                    visit(index);
                } else {
                    next = next.min(found);
                }
            }
        }
        next
    }

    #[inline]
    fn least_of(&self, group: usize) -> Least {
        self.least_in(group * GROUP..(group + 1) * GROUP, |_, word| word)
    }

    /// The least of some leaves, as `key` sees them.
    #[inline]
    fn least_in(&self, range: std::ops::Range<usize>, key: impl Fn(usize, u64) -> u64) -> Least {
        let mut least = Least { index: range.start, word: NOTHING };
        for (index, leaf) in (range.start..).zip(&self.leaves[range]) {
            let word = key(index, leaf.load(Ordering::Relaxed));
            if word < least.word {
                least = Least { index, word };
            }
        }
        least
    }

    /// The least word; `None` if there is none.
    #[inline]
    pub(crate) fn least(&self) -> Option<Least> {
        self.least_but(&[])
    }

    /// The least word at none of the indices in `but`.
    #[inline]
    pub(crate) fn least_but(&self, but: &[usize]) -> Option<Least> {
        let key = |index: usize, word: u64| if but.contains(&index) { NOTHING } else { word };
        let groups = self.groups();
        if groups == 1 {
            let least = if but.is_empty() { self.least_of(0) } else { self.least_in(0..GROUP, key) };
            return (least.word != NOTHING).then_some(least);
        }
        if !but.is_empty() {
            // Rare: somebody else was quicker. Then the whole of the leaves is looked at.
            let least = self.least_in(0..groups * GROUP, key);
            return (least.word != NOTHING).then_some(least);
        }
        for _ in 0..MENDED_PER_LOOK_MAX {
            let mut top = (0, NOTHING);
            for (group, word) in self.tops[..groups].iter().enumerate() {
                let word = word.load(Ordering::Relaxed);
                if word < top.1 {
                    top = (group, word);
                }
            }
            if top.1 == NOTHING {
                return None;
            }
            let least = self.least_of(top.0);
            if least.word <= top.1 {
                return Some(least);
            }
            self.renew(top.0);
        }
        None
    }

    /// The least word of those near `near` for which `is_wanted` holds. Near is the neighbourhood that one top covers.
    pub(crate) fn least_near(&self, near: usize, is_wanted: impl Fn(usize, u64) -> bool) -> Option<Least> {
        let start = near / GROUP * GROUP;
        let key =
            |index: usize, word: u64| if word != NOTHING && is_wanted(index, word) { word } else { NOTHING };
        let least = self.least_in(start..start + GROUP, key);
        (least.word != NOTHING).then_some(least)
    }
}

#[cfg(test)]
mod tests;
