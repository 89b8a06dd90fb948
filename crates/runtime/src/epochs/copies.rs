//! What the copies of a chain have gathered: partial state belongs to a copy and an epoch (DESIGN decision 10), so that
//! epochs are put together in order, whatever was processed first.

use thalweg_memory::sync::{CacheAligned, Mutex};
use thalweg_model::EventTime;

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

/// The chains of all copies that nobody runs now.
pub(crate) struct Copies<C> {
    /// Of each copy. The lock is taken by the copy when it picks a chain up and puts it down, and by whoever closes an
    /// epoch; never while records are processed.
    own: Box<[CacheAligned<Mutex<Own<C>>>]>,
}

struct Own<C> {
    gathered: Vec<Gathered<C>>,
    spare: Vec<C>,
}

impl<C> Copies<C> {
    pub(crate) fn new(count: usize) -> Self {
        let own = || CacheAligned(Mutex::new(Own { gathered: Vec::new(), spare: Vec::new() }));
        Copies { own: (0..count).map(|_| own()).collect() }
    }

    pub(crate) fn count(&self) -> usize {
        self.own.len()
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

    /// Takes what a copy has gathered in an epoch, if it has anything, to put it together.
    pub(crate) fn take(&self, copy: usize, epoch: u64) -> Option<C> {
        let mut own = self.own[copy].lock();
        let place = own.gathered.iter().position(|gathered| gathered.epoch == epoch)?;
        Some(own.gathered.swap_remove(place).chain)
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
