//! State that the copies of a chain have gathered. Partial state belongs to a copy and an epoch, so that
//! epochs are merged in order, whatever was processed first.
//!
//! **Merging** (StreamBox's watermark tasks, section 6): when an epoch is closed and its copies hold much
//! state, they are merged in pairs by several parties: the task that closes the epoch, and the copies
//! themselves, which look for pairs before they claim blocks. So with many workers, merging `n` copies takes
//! the time of `log n` pairs. No party waits for another. The task that closes the epoch takes pairs like the
//! copies. If no pair is left but some are being merged, its step ends, and the party that finishes a pair
//! notifies it. A single worker merges all pairs itself.

use thalweg_memory::BudgetExceeded;
use thalweg_memory::sync::{Arc, CacheAligned, Mutex, Ordering};
use thalweg_model::EventTime;

use super::tracker::{EpochTracker, MergingCounts};
use crate::state_grant::StateGrant;

/// Maximum number of empty operator chains that a copy keeps for later epochs, so that their tables need not
/// be allocated again.
const SPARE_MAX: usize = 4;

/// An operator chain with the state that a copy of the task has gathered in one epoch.
pub(crate) struct Gathered<C> {
    pub(crate) epoch: u64,
    pub(crate) chain: C,
    /// The watermark by which this operator chain was last told to judge whether records are late.
    pub(crate) late_by: EventTime,
    pub(crate) bytes: usize,
}

/// Up to this many bytes of state, the task that closes an epoch merges the state of the copies alone.
/// Merging two tables of that size takes about 50 us, as much as waking a worker costs.
const MERGED_ALONE_BYTES: usize = 64 << 10;

/// An operator chain that holds gathered state, and the index of the copy (of the parallel task) that made
/// it. The chain returns to this copy when its state has been merged into another chain.
type OfCopy<C> = (usize, C);

/// The operator chains, with their gathered state, of all copies of one task, while no worker processes
/// records in them.
pub(crate) struct Copies<C> {
    /// The chains of each copy, behind one lock per copy. The lock is taken when a copy takes a chain out to
    /// process records or stores it again, and when a task closes an epoch. It is never held while records
    /// are processed.
    own: Box<[CacheAligned<Mutex<Own<C>>>]>,
    merging: Mutex<Merging<C>>,
    tracker: Arc<EpochTracker>,
    /// The memory grants of the copies: the bytes of the engine's budget that the state of each copy may use.
    /// The lock is taken when a query is built, and once per epoch.
    grants: Mutex<Vec<Arc<StateGrant>>>,
}

/// The state of copies that is being merged for one closed epoch.
struct Merging<C> {
    parts: Vec<OfCopy<C>>,
    /// Number of pairs of operator chains whose states some worker is merging at the moment.
    in_hands: usize,
}

/// Two chains of one epoch, to be merged: the state of `part` goes into `whole`.
pub(crate) struct Pair<C> {
    pub(crate) whole: OfCopy<C>,
    pub(crate) part: OfCopy<C>,
}

struct Own<C> {
    gathered: Vec<Gathered<C>>,
    /// Bytes of the state of this copy's operator chain that is being merged with the chains of other copies
    /// of the task. They stay reserved in this copy's memory grant until the copy gets the emptied chain
    /// back. There is at most one such chain, because one epoch is merged at a time.
    merging_bytes: usize,
    spare: Vec<C>,
}

impl<C> Own<C> {
    fn held_bytes(&self) -> usize {
        self.merging_bytes + self.gathered.iter().map(|gathered| gathered.bytes).sum::<usize>()
    }
}

impl<C> Copies<C> {
    pub(crate) fn new(count: usize, tracker: Arc<EpochTracker>) -> Self {
        let own =
            || CacheAligned(Mutex::new(Own { gathered: Vec::new(), merging_bytes: 0, spare: Vec::new() }));
        let merging = Mutex::new(Merging { parts: Vec::new(), in_hands: 0 });
        Copies { own: (0..count).map(|_| own()).collect(), merging, tracker, grants: Mutex::default() }
    }

    /// Adds the memory grant of one more copy: the bytes of the engine's budget that the copy's state may
    /// use.
    pub(crate) fn add_grant(&self, state_grant: &Arc<StateGrant>) {
        self.grants.lock().push(Arc::clone(state_grant));
    }

    /// Returns the first refusal of memory for the state of any copy, if there was one. The gathered state is
    /// then incomplete, and no result computed from it may be published. The refusal makes the query fail,
    /// but perhaps only after an epoch could be closed.
    pub(crate) fn refusal(&self) -> Option<BudgetExceeded> {
        self.grants.lock().iter().find_map(|state_grant| state_grant.first_refusal())
    }

    /// Takes out the operator chain with the state that a copy of the task has gathered in an epoch. If there
    /// is none, takes out an empty chain that the copy keeps; returns `None` if it keeps none.
    pub(crate) fn pick_up(&self, copy: usize, epoch: u64) -> Option<Gathered<C>> {
        let mut own = self.own[copy].lock();
        match own.gathered.iter().position(|gathered| gathered.epoch == epoch) {
            Some(place) => Some(own.gathered.swap_remove(place)),
            None => own.spare.pop().map(|chain| Gathered { epoch, chain, late_by: EventTime::MIN, bytes: 0 }),
        }
    }

    /// Stores the operator chain of a copy of the task after it has processed records. Returns the bytes of
    /// all state that the copy has gathered.
    pub(crate) fn put_down(&self, copy: usize, gathered: Gathered<C>) -> usize {
        let mut own = self.own[copy].lock();
        own.gathered.push(gathered);
        own.held_bytes()
    }

    /// Returns the bytes of state that count against a copy's memory grant: its gathered state and, until the
    /// emptied chain is back, its state that is being merged.
    pub(crate) fn held_bytes(&self, copy: usize) -> usize {
        self.own[copy].lock().held_bytes()
    }

    /// Takes the operator chains of all copies that have state of an epoch, to merge their states. The second
    /// value is true if the state is so much that other tasks should help.
    pub(crate) fn take(&self, epoch: u64) -> (Vec<OfCopy<C>>, bool) {
        let (mut parts, mut bytes) = (Vec::with_capacity(self.own.len()), 0);
        for (copy, own) in self.own.iter().enumerate() {
            let mut own = own.lock();
            if let Some(place) = own.gathered.iter().position(|gathered| gathered.epoch == epoch) {
                let gathered = own.gathered.swap_remove(place);
                bytes += gathered.bytes;
                own.merging_bytes = gathered.bytes;
                parts.push((copy, gathered.chain));
            }
        }
        let is_much = parts.len() > 1 && bytes > MERGED_ALONE_BYTES;
        (parts, is_much)
    }

    /// Publishes the operator chains with the gathered state of one epoch, so that other tasks can take pairs
    /// of them and merge their states.
    pub(crate) fn begin_merging(&self, parts: Vec<OfCopy<C>>) {
        let mut merging = self.merging.lock();
        assert!(merging.parts.is_empty() && merging.in_hands == 0, "one epoch is put together at a time");
        merging.parts = parts;
        self.tracker.merging.is_going_on.store(true, Ordering::Relaxed);
        self.count_pairs(&merging);
        self.tracker.merging.change();
    }

    fn count_pairs(&self, merging: &Merging<C>) {
        self.tracker.merging.pairs.store((merging.parts.len() / 2) as u64, Ordering::Relaxed);
    }

    /// Takes two operator chains whose states are to be merged, if at least two chains of the epoch are not
    /// being merged by others.
    pub(crate) fn take_pair(&self) -> Option<Pair<C>> {
        if self.tracker.pairs_waiting() == 0 {
            return None;
        }
        let mut merging = self.merging.lock();
        if merging.parts.len() < 2 {
            return None;
        }
        let (whole, part) = (merging.parts.pop()?, merging.parts.pop()?);
        merging.in_hands += 1;
        self.count_pairs(&merging);
        Some(Pair { whole, part })
    }

    /// Stores an operator chain into which the state of another chain was merged, for further merges. The
    /// emptied chain of the pair returns to its copy.
    pub(crate) fn put_whole(&self, Pair { whole, part: (copy, emptied) }: Pair<C>) {
        // The state of both chains now counts against the memory grant of the copy that owns the merged
        // chain.
        let part_bytes = self.own[copy].lock().merging_bytes;
        self.own[whole.0].lock().merging_bytes += part_bytes;
        self.give_back(copy, emptied);
        let mut merging = self.merging.lock();
        merging.in_hands -= 1;
        merging.parts.push(whole);
        let done = &self.tracker.merging.done;
        done.store(done.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.count_pairs(&merging);
        self.tracker.merging.change();
    }

    /// Ends the merge of an epoch if all its state is in one chain, and returns that chain. Otherwise returns
    /// `None`.
    pub(crate) fn end_merging(&self) -> Option<OfCopy<C>> {
        let mut merging = self.merging.lock();
        let MergingCounts { is_going_on, done, seen, .. } = &self.tracker.merging;
        // Release: pairs with the Acquire load described at `MergingCounts::seen`, so that no reader computes
        // a negative number of merged pairs on which the closing task has not acted.
        seen.store(done.load(Ordering::Relaxed), Ordering::Release);
        if merging.in_hands > 0 || merging.parts.len() > 1 {
            return None;
        }
        is_going_on.store(false, Ordering::Relaxed);
        merging.parts.pop()
    }

    /// Returns an operator chain without state to its copy, which keeps a few of them for later epochs.
    pub(crate) fn give_back(&self, copy: usize, chain: C) {
        let mut own = self.own[copy].lock();
        own.merging_bytes = 0;
        let surplus = if own.spare.len() < SPARE_MAX {
            own.spare.push(chain);
            None
        } else {
            Some(chain)
        };
        drop(own);
        // The chain is dropped after the lock is released, because dropping an operator chain runs user code.
        drop(surplus);
    }
}

#[cfg(test)]
mod tests;
