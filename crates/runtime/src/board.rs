//! The board: the rank of each task or the due time of each source, from which workers choose without a lock.
//!
//! ```text
//!   leaves   [ word word word ... 64 of them ] [ 64 more ] ...       one per task, written by its holder
//!   tops     [ the least of the 64           ] [ ...     ]           hints, used only if there are several groups
//! ```
//!
//! A word is a rank ([`Rank::word`](thalweg_scheduling::Rank::word)) or an instant in nanoseconds. The least
//! word comes first, and [`NOTHING`] never. With up to 64 tasks a look reads the leaves; with more it reads
//! the tops and one group.
//!
//! The leaves are the truth. Only the party that holds a task ([`TaskCell`](thalweg_memory::TaskCell)) writes
//! its leaf. A party that changes a leaf also renews the top above it. If it made the leaf less, it lowers a
//! higher top to the leaf. If it raised the least leaf, it looks for the new least and writes it to the top.
//! During that look it may have missed a leaf that became less, so it looks again after it has written. Each
//! side has a fence between its store and the look that follows. So either the second look sees the lower
//! leaf, or the party that lowered the leaf comes to the top later, and lowers the top. When all have
//! returned, a top is the least of its group. Until then it may be wrong for the duration of a `set`. If a
//! top is too low, the look finds a higher leaf than expected, corrects the top and continues. If a top is
//! too high, a task is seen a moment later.

use thalweg_memory::sync::{AtomicU64, AtomicUsize, Ordering, fence};

/// The word of an empty place.
pub(crate) const NOTHING: u64 = u64::MAX;

/// Leaves under one top: eight cache lines, which the hardware prefetches. Two under loom, which tries every
/// order.
const GROUP: usize = if cfg!(loom) { 2 } else { 64 };

/// Tops that a look may find too low before it gives up. Each costs a pass over a group.
const MENDED_PER_LOOK_MAX: usize = 16;

/// Words of which the least is found quickly.
#[derive(Debug)]
pub(crate) struct Board {
    /// Relaxed except for the fences of [`set`](Board::set): hints that order no other memory.
    leaves: Box<[AtomicU64]>,
    tops: Box<[AtomicU64]>,
    /// Groups in use; never decreases. Relaxed: a reader with an old value looks at fewer tasks for a moment.
    groups: AtomicUsize,
}

/// The least word that a look has found, and its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Least {
    pub(crate) index: usize,
    pub(crate) word: u64,
}

impl Board {
    /// Makes a board for `capacity` words, all [`NOTHING`].
    pub(crate) fn new(capacity: usize) -> Self {
        let nothing = |count: usize| (0..count).map(|_| AtomicU64::new(NOTHING)).collect();
        let groups = capacity.div_ceil(GROUP);
        Board { leaves: nothing(groups * GROUP), tops: nothing(groups), groups: AtomicUsize::new(1) }
    }

    /// Makes looks include at least the words below `count`.
    pub(crate) fn cover(&self, count: usize) {
        self.groups.fetch_max(count.div_ceil(GROUP).max(1), Ordering::Relaxed);
        // Tops were not kept while there was only one group.
        (0..self.groups()).for_each(|group| self.renew(group));
    }

    /// Upper bound of the words that a look reads.
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
        // SeqCst: the fence stands between our store of the leaf and our loads of what others write: the
        // number of groups, and the top. A party that begins to keep tops (`cover`) or overwrites a top then
        // looks at the leaves behind a fence. So it sees our leaf, or we see its write.
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
            // The leaf may have been the least.
            self.renew(group);
        }
    }

    /// Sets a top to the least of its group, and repeats until it is.
    fn renew(&self, group: usize) {
        loop {
            // SeqCst: between our write and our look at the leaves. In the first pass the write is that of
            // the leaf, later that of the top.
            fence(Ordering::SeqCst);
            let least = self.least_of(group).word;
            if self.tops[group].load(Ordering::Relaxed) == least {
                return;
            }
            self.tops[group].store(least, Ordering::Relaxed);
        }
    }

    /// Visits the places of all words up to `word`. Returns the least of the other words.
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

    /// The least of some leaves, after `key` has mapped each word.
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

    /// The least word; `None` if all are [`NOTHING`].
    #[inline]
    pub(crate) fn least(&self) -> Option<Least> {
        self.least_but(&[])
    }

    /// The least word whose index is not in `but`.
    #[inline]
    pub(crate) fn least_but(&self, but: &[usize]) -> Option<Least> {
        let key = |index: usize, word: u64| if but.contains(&index) { NOTHING } else { word };
        let groups = self.groups();
        if groups == 1 {
            let least = if but.is_empty() { self.least_of(0) } else { self.least_in(0..GROUP, key) };
            return (least.word != NOTHING).then_some(least);
        }
        if !but.is_empty() {
            // Rare: another worker was quicker. Then all leaves are read.
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

    /// The least word in the group of `near` for which `is_wanted` holds. A group is the leaves under one
    /// top.
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
