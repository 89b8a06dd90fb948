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

/// The word that stands for "no task" in a place of the board; larger than any rank or due time.
pub(crate) const NOTHING: u64 = u64::MAX;

/// Number of leaves (words of single tasks) under one top (the least of them): 64 words fill eight cache
/// lines, which the hardware prefetches. Only 2 under loom, because loom tries every order of accesses.
const GROUP: usize = if cfg!(loom) { 2 } else { 64 };

/// Number of outdated tops (least words of groups) that one search for the least word may correct before it
/// gives up. Each correction costs a pass over one group of leaves.
const MENDED_PER_LOOK_MAX: usize = 16;

/// One word per task or source, such as its rank or due time, kept so that any worker finds the least word
/// quickly.
#[derive(Debug)]
pub(crate) struct Board {
    /// The words of single tasks, each a rank or a due time. Accesses are relaxed except for the fences of
    /// [`set`](Board::set), because the words are hints and order no other memory.
    leaves: Box<[AtomicU64]>,
    tops: Box<[AtomicU64]>,
    /// Number of groups of words in use; never decreases. Accesses are relaxed: a reader with an old value
    /// overlooks the newest tasks for a moment.
    groups: AtomicUsize,
}

/// The least word that a search of the board has found, and the index of its task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Least {
    pub(crate) index: usize,
    pub(crate) word: u64,
}

impl Board {
    /// Makes a board for the ranks or due times of at least `capacity` tasks. At first no task has a rank or
    /// due time.
    pub(crate) fn new(capacity: usize) -> Self {
        let nothing = |count: usize| (0..count).map(|_| AtomicU64::new(NOTHING)).collect();
        let groups = capacity.div_ceil(GROUP);
        Board { leaves: nothing(groups * GROUP), tops: nothing(groups), groups: AtomicUsize::new(1) }
    }

    /// Extends the search for the least word to at least the first `count` words of the board, which has one
    /// word per task.
    pub(crate) fn cover(&self, count: usize) {
        self.groups.fetch_max(count.div_ceil(GROUP).max(1), Ordering::Relaxed);
        // The least word of each group is not maintained while there is only one group, so compute all of
        // them now.
        (0..self.groups()).for_each(|group| self.renew(group));
    }

    /// Returns an upper bound of the number of words that a search of the board reads.
    pub(crate) fn covered(&self) -> usize {
        self.groups() * GROUP
    }

    #[inline]
    fn groups(&self) -> usize {
        self.groups.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        self.leaves[index].load(Ordering::Relaxed)
    }

    /// Stores the rank or due time of the task at `index`. Only the holder of the task may call this, so
    /// there is one writer at a time.
    #[inline]
    pub(crate) fn set(&self, index: usize, word: u64) {
        let leaf = &self.leaves[index];
        let before = leaf.load(Ordering::Relaxed);
        if before == word {
            return;
        }
        leaf.store(word, Ordering::Relaxed);
        // SeqCst: the fence stands between this thread's store of the changed word and its loads of what
        // others write, which are the number of groups and the group's minimum. A party that begins to keep
        // minimums (`cover`), or overwrites one, looks at the words behind such a fence afterwards. So either
        // it sees the changed word, or this thread sees its write.
        fence(Ordering::SeqCst);
        if self.groups() > 1 {
            self.lift(index / GROUP, before, word);
        }
    }

    /// Updates the top (the least word of a group) after one leaf of the group has changed from `before` to
    /// `word`.
    fn lift(&self, group: usize, before: u64, word: u64) {
        let top = self.tops[group].load(Ordering::Relaxed);
        if word < before {
            if word < top {
                self.tops[group].fetch_min(word, Ordering::Relaxed);
            }
        } else if before <= top {
            // The changed word may have been the least of its group, so search the group again.
            self.renew(group);
        }
    }

    /// Sets the stored minimum of a group of ranks or due times to the least of the group. Repeats until both
    /// agree, because other parties may change values meanwhile.
    fn renew(&self, group: usize) {
        loop {
            // SeqCst: this fence stands between a write and the look at the words of the group. In the first
            // pass the write is the caller's change of a word, in later passes it is the write of the group's
            // least word below.
            fence(Ordering::SeqCst);
            let least = self.least_of(group).word;
            if self.tops[group].load(Ordering::Relaxed) == least {
                return;
            }
            self.tops[group].store(least, Ordering::Relaxed);
        }
    }

    /// Calls `visit` with the index of each task whose rank or due time is at most `word`. Returns the least
    /// rank or due time above `word`.
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

    /// Returns the least of the ranks or due times stored at the indices in `range`, after `key` has mapped
    /// each of them to the number that is compared.
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

    /// Returns the least word of the board and its index; `None` if all words are [`NOTHING`].
    #[inline]
    pub(crate) fn least(&self) -> Option<Least> {
        self.least_but(&[])
    }

    /// Returns the smallest stored rank or due time, leaving out the tasks whose indices are in `but`.
    #[inline]
    pub(crate) fn least_but(&self, but: &[usize]) -> Option<Least> {
        let key = |index: usize, word: u64| if but.contains(&index) { NOTHING } else { word };
        let groups = self.groups();
        if groups == 1 {
            let least = if but.is_empty() { self.least_of(0) } else { self.least_in(0..GROUP, key) };
            return (least.word != NOTHING).then_some(least);
        }
        if !but.is_empty() {
            // Rare: another worker has just taken the task that was chosen, so that task is left out of the
            // search. Then all words are read one by one.
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

    /// Returns the least rank or due time for which `is_wanted` holds, and its index, among the words in the
    /// group of the index `near`. A group is a fixed run of words whose minimum the board maintains.
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
