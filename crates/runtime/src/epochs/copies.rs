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

/// Empty chains that a copy keeps for epochs to come, with the slots of their tables.
const SPARE_MAX: usize = 4;

/// A chain with the state that it has gathered in one epoch.
pub(crate) struct Gathered<C> {
    pub(crate) epoch: u64,
    pub(crate) chain: C,
    /// The watermark by which records are late, as last announced to the chain.
    pub(crate) late_by: EventTime,
    pub(crate) bytes: usize,
}

/// Size of state up to which the task that closes an epoch merges its copies alone. A merge of two tables of
/// that many bytes takes about 50 us, as much as waking a worker costs.
const MERGED_ALONE_BYTES: usize = 64 << 10;

/// A chain, and the copy to which it returns.
type OfCopy<C> = (usize, C);

/// The chains of all copies that are not running now.
pub(crate) struct Copies<C> {
    /// The chains of each copy. The copy takes the lock when it picks up a chain and when it puts the chain
    /// down. A task that closes an epoch takes it, too. It is never held while records are processed.
    own: Box<[CacheAligned<Mutex<Own<C>>>]>,
    merging: Mutex<Merging<C>>,
    tracker: Arc<EpochTracker>,
    /// The memory grants that pay for the copies' state. The lock is taken when a query is built, and once
    /// per epoch.
    grants: Mutex<Vec<Arc<StateGrant>>>,
}

/// The epoch that is being merged.
struct Merging<C> {
    parts: Vec<OfCopy<C>>,
    /// Pairs that are being merged now.
    in_hands: usize,
}

/// Two parts: `part` is to be merged into `whole`.
pub(crate) struct Pair<C> {
    pub(crate) whole: OfCopy<C>,
    pub(crate) part: OfCopy<C>,
}

struct Own<C> {
    gathered: Vec<Gathered<C>>,
    /// Bytes of the chain that is being merged. The copy pays for them until it gets the emptied chain back. There is
    /// at most one such chain, because one epoch is merged at a time.
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

    /// Adds the memory grant that pays for a copy's state.
    pub(crate) fn add_grant(&self, state_grant: &Arc<StateGrant>) {
        self.grants.lock().push(Arc::clone(state_grant));
    }

    /// Returns the refusal of memory to a copy, if there ever was one. Then the gathered state is incomplete,
    /// and no result of it may be published. The query fails because of it, but perhaps not before an epoch
    /// could be closed.
    pub(crate) fn refusal(&self) -> Option<BudgetExceeded> {
        self.grants.lock().iter().find_map(|state_grant| state_grant.first_refusal())
    }

    /// Picks up the chain with the state that a copy has gathered in an epoch, or an empty chain; none if it
    /// has neither.
    pub(crate) fn pick_up(&self, copy: usize, epoch: u64) -> Option<Gathered<C>> {
        let mut own = self.own[copy].lock();
        match own.gathered.iter().position(|gathered| gathered.epoch == epoch) {
            Some(place) => Some(own.gathered.swap_remove(place)),
            None => own.spare.pop().map(|chain| Gathered { epoch, chain, late_by: EventTime::MIN, bytes: 0 }),
        }
    }

    /// Puts a chain down, and returns the bytes of all state that the copy has gathered.
    pub(crate) fn put_down(&self, copy: usize, gathered: Gathered<C>) -> usize {
        let mut own = self.own[copy].lock();
        own.gathered.push(gathered);
        own.held_bytes()
    }

    /// Returns the bytes of all state that a copy has gathered and that is not merged yet.
    pub(crate) fn held_bytes(&self, copy: usize) -> usize {
        self.own[copy].lock().held_bytes()
    }

    /// Takes the chains of all copies for an epoch, to merge them. Returns true with them if other tasks
    /// should help.
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

    /// Lets other tasks help to merge these parts.
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

    /// Takes two parts to merge, if there are two that are not being merged.
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

    /// Puts down the result of a merged pair. The emptied part returns to its copy.
    pub(crate) fn put_whole(&self, Pair { whole, part: (copy, emptied) }: Pair<C>) {
        self.give_back(copy, emptied);
        let mut merging = self.merging.lock();
        merging.in_hands -= 1;
        merging.parts.push(whole);
        let done = &self.tracker.merging.done;
        done.store(done.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.count_pairs(&merging);
        self.tracker.merging.change();
    }

    /// Ends the merge if one chain is left, and returns that chain.
    pub(crate) fn end_merging(&self) -> Option<OfCopy<C>> {
        let mut merging = self.merging.lock();
        let MergingCounts { is_going_on, done, seen, .. } = &self.tracker.merging;
        // Release: see `MergingCounts::seen`.
        seen.store(done.load(Ordering::Relaxed), Ordering::Release);
        if merging.in_hands > 0 || merging.parts.len() > 1 {
            return None;
        }
        is_going_on.store(false, Ordering::Relaxed);
        merging.parts.pop()
    }

    /// Returns an emptied chain to its copy.
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
        // Dropping a chain runs user code, so it happens without the lock.
        drop(surplus);
    }
}

#[cfg(test)]
mod tests;
