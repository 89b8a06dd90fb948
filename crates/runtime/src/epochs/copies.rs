//! What the copies of a chain have gathered: partial state belongs to a copy and an epoch (DESIGN decision 10), so that
//! epochs are put together in order, whatever was processed first.
//!
//! **Merging** (StreamBox's watermark tasks, section 6): when an epoch is closed and its copies hold much, they are put
//! together in pairs, by whoever has time: the task that closes the epoch and the copies themselves, which look for pairs
//! before they claim blocks. So with many workers the time to put `n` of them together is that of `log n` pairs. Nobody waits
//! for anybody: the task that closes the epoch takes pairs like all others, and if there is none left but some are in other
//! hands, its step ends; whoever puts one of those down calls it. A single worker merges all pairs itself.

use thalweg_memory::BudgetExceeded;
use thalweg_memory::sync::{Arc, CacheAligned, Mutex, Ordering};
use thalweg_model::EventTime;

use super::tracker::{EpochTracker, MergingCounts};
use crate::state_grant::StateGrant;

/// Empty chains that a copy keeps for epochs to come, with the slots of their tables.
const SPARE_MAX: usize = 4;

/// A chain with what it has gathered in one epoch.
pub(crate) struct Gathered<C> {
    pub(crate) epoch: u64,
    pub(crate) chain: C,
    /// By which watermark records are late, as it was told last.
    pub(crate) late_by: EventTime,
    pub(crate) bytes: usize,
}

/// Copies that hold no more than this between them are put together by whoever closes their epoch: a merge of two tables of
/// so many bytes takes some 50 us, about what waking somebody costs.
const MERGED_ALONE_BYTES: usize = 64 << 10;

/// A chain, and the copy that it goes back to.
type OfCopy<C> = (usize, C);

/// The chains of all copies that nobody runs now.
pub(crate) struct Copies<C> {
    /// Of each copy. The lock is taken by the copy when it picks a chain up and puts it down, and by whoever closes an
    /// epoch; never while records are processed.
    own: Box<[CacheAligned<Mutex<Own<C>>>]>,
    merging: Mutex<Merging<C>>,
    tracker: Arc<EpochTracker>,
    /// What the copies' state is paid from. The lock is taken when a query is built, and per epoch.
    grants: Mutex<Vec<Arc<StateGrant>>>,
}

/// The epoch that is being put together.
struct Merging<C> {
    parts: Vec<OfCopy<C>>,
    /// Pairs in somebody's hands.
    in_hands: usize,
}

/// Two parts, the second to be put into the first.
pub(crate) struct Pair<C> {
    pub(crate) whole: OfCopy<C>,
    pub(crate) part: OfCopy<C>,
}

struct Own<C> {
    gathered: Vec<Gathered<C>>,
    spare: Vec<C>,
}

impl<C> Copies<C> {
    pub(crate) fn new(count: usize, tracker: Arc<EpochTracker>) -> Self {
        let own = || CacheAligned(Mutex::new(Own { gathered: Vec::new(), spare: Vec::new() }));
        let merging = Mutex::new(Merging { parts: Vec::new(), in_hands: 0 });
        Copies { own: (0..count).map(|_| own()).collect(), merging, tracker, grants: Mutex::default() }
    }

    /// Takes note of what a copy's state is paid from.
    pub(crate) fn add_grant(&self, state_grant: &Arc<StateGrant>) {
        self.grants.lock().push(Arc::clone(state_grant));
    }

    /// What a copy was refused, if one ever was: then something is missing from what was gathered, and nothing of it may be
    /// published. The query fails of it, but perhaps not before an epoch could be closed.
    pub(crate) fn refusal(&self) -> Option<BudgetExceeded> {
        self.grants.lock().iter().find_map(|state_grant| state_grant.first_refusal())
    }

    /// Picks up what a copy has gathered in an epoch, or an empty chain; none if it has neither.
    pub(crate) fn pick_up(&self, copy: usize, epoch: u64) -> Option<Gathered<C>> {
        let mut own = self.own[copy].lock();
        match own.gathered.iter().position(|gathered| gathered.epoch == epoch) {
            Some(place) => Some(own.gathered.swap_remove(place)),
            None => own.spare.pop().map(|chain| Gathered { epoch, chain, late_by: EventTime::MIN, bytes: 0 }),
        }
    }

    /// Puts it down; answers the bytes of all that the copy has gathered.
    pub(crate) fn put_down(&self, copy: usize, gathered: Gathered<C>) -> usize {
        let mut own = self.own[copy].lock();
        own.gathered.push(gathered);
        own.gathered.iter().map(|gathered| gathered.bytes).sum()
    }

    /// Takes what all copies have gathered in an epoch, to put it together; whether that is so much that others should help.
    pub(crate) fn take(&self, epoch: u64) -> (Vec<OfCopy<C>>, bool) {
        let (mut parts, mut bytes) = (Vec::with_capacity(self.own.len()), 0);
        for (copy, own) in self.own.iter().enumerate() {
            let mut own = own.lock();
            if let Some(place) = own.gathered.iter().position(|gathered| gathered.epoch == epoch) {
                let gathered = own.gathered.swap_remove(place);
                bytes += gathered.bytes;
                parts.push((copy, gathered.chain));
            }
        }
        let is_much = parts.len() > 1 && bytes > MERGED_ALONE_BYTES;
        (parts, is_much)
    }

    /// Lets others help to put parts together.
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

    /// Two parts to be put together, if there are two that nobody has in hand.
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

    /// Puts down what has come of a pair; the emptied part goes back to its copy.
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

    /// Ends the merge, if all is put together: one chain.
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

    /// Gives an emptied chain back to its copy.
    pub(crate) fn give_back(&self, copy: usize, chain: C) {
        let mut own = self.own[copy].lock();
        let surplus = if own.spare.len() < SPARE_MAX {
            own.spare.push(chain);
            None
        } else {
            Some(chain)
        };
        drop(own);
        // User code, without a lock.
        drop(surplus);
    }
}

#[cfg(test)]
mod tests;
