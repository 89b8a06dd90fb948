//! The unclaimed blocks of all open epochs in front of one task, on the shelf of the worker that filled them.
//!
//! A shelf is a list behind a lock, which is its own worker's almost always; it holds bundles in the order of their
//! epochs. A copy of the task claims from the shelf of its number: of the oldest epoch the newest block, which is still in
//! the cache. What lies on others' shelves it leaves to the copies of those, which any idle worker may run; only what has
//! waited for long there it takes as well, since that copy is in the hands of a worker that does not get to the end of it.

use std::collections::VecDeque;
use std::marker::PhantomData;

use thalweg_memory::sync::{Arc, AtomicU64, CacheAligned, Mutex, Ordering};
use thalweg_memory::{Block, Depot};
use thalweg_model::{EventTime, ProcessingTime, Record};

use super::MARKERS_MAX;
use super::carrier::{Carrier, Share};
use super::ledger::{Claiming, Ledger, ShelfCounts};

/// A block on its way, with what it is judged by (StreamBox's bundle). All its records are of one split.
pub struct Bundle<B> {
    /// None if only a marker travels.
    pub(crate) block: Option<B>,
    pub(crate) epoch: u64,
    /// The watermark of its split, by which its records are late.
    pub(crate) late_by: EventTime,
    /// A latency marker behind its records.
    pub(crate) marker: Option<ProcessingTime>,
    /// When it was deposited, in ns.
    pub(crate) arrived_ns: u64,
}

/// The containers in front of one task.
pub struct Containers<T: Send + 'static, B = Block<Record<T>>> {
    pub(crate) ledger: Arc<Ledger>,
    shelves: Box<[Shelf<B>]>,
    values: PhantomData<fn() -> T>,
}

type Shelf<B> = CacheAligned<Mutex<VecDeque<Bundle<B>>>>;

/// Where those who fill blocks put them: one stage, or several, whose containers have blocks of one depot.
pub trait Deposit<T: Send + 'static>: Send + Sync {
    /// Puts a bundle onto the shelf of `home`. Its epoch is one that the depositor has not left.
    fn deposit(&self, home: usize, bundle: Bundle<Block<Record<T>>>);

    /// Returns true if too many bundles wait for one more without a block.
    fn is_crowded(&self) -> bool;

    /// Counts a latency marker that is dropped in front of the stages.
    fn drop_marker(&self);
}

impl<T: Send + 'static> Deposit<T> for Containers<T> {
    fn deposit(&self, home: usize, bundle: Bundle<Block<Record<T>>>) {
        self.put(home, bundle);
    }

    fn is_crowded(&self) -> bool {
        self.ledger.bundles_waiting() >= MARKERS_MAX as u64
    }

    fn drop_marker(&self) {
        self.ledger.drop_marker();
    }
}

/// The containers of several stages, to each of which every block is lent.
pub(crate) struct FanOut<T: Clone + Send + Sync + 'static>(pub(crate) Vec<Arc<Containers<T, Share<T>>>>);

impl<T: Clone + Send + Sync + 'static> Deposit<T> for FanOut<T> {
    fn deposit(&self, home: usize, bundle: Bundle<Block<Record<T>>>) {
        let Bundle { block, epoch, late_by, marker, arrived_ns } = bundle;
        let mut shares = block.into_iter().flat_map(|block| Share::of(block, self.0.len()));
        for containers in &self.0 {
            containers.put(home, Bundle { block: shares.next(), epoch, late_by, marker, arrived_ns });
        }
    }

    fn is_crowded(&self) -> bool {
        self.0.iter().any(|containers| containers.ledger.bundles_waiting() >= MARKERS_MAX as u64)
    }

    fn drop_marker(&self) {
        self.0.iter().for_each(|containers| containers.ledger.drop_marker());
    }
}

impl<T: Send + 'static, B: Carrier<T>> Containers<T, B> {
    /// Empty ones for blocks of `depot`, with a shelf for each of so many homes.
    pub(crate) fn new(
        depot: Arc<Depot<Record<T>>>,
        homes: usize,
        outlets: Vec<Arc<Ledger>>,
        claiming: Claiming,
    ) -> Arc<Self> {
        let ledger = Ledger::new(homes, outlets, depot, claiming);
        let shelves = (0..homes).map(|_| CacheAligned(Mutex::new(VecDeque::new()))).collect();
        Arc::new(Containers { ledger, shelves, values: PhantomData })
    }

    /// Puts a bundle onto the shelf of `home`.
    fn put(&self, home: usize, mut bundle: Bundle<B>) {
        bundle.epoch = self.ledger.count_in(bundle.epoch);
        let home = home % self.shelves.len();
        let (records, epoch) = (records_of::<T, B>(&bundle), bundle.epoch);
        let mut shelf = self.shelves[home].lock();
        // Nearly always the last: splits of one shelf may be an epoch apart.
        let place = shelf.iter().rposition(|other| other.epoch <= epoch).map_or(0, |place| place + 1);
        shelf.insert(place, bundle);
        let counts = &*self.ledger.shelves[home];
        raise(&counts.bundles_in, 1, Ordering::Relaxed);
        raise(&counts.records_in, records, Ordering::Relaxed);
        note_oldest(counts, &shelf);
    }

    /// Takes a bundle that nobody has claimed, for a copy: of the oldest epoch that it finds on its own shelf or among what
    /// has waited for long on others'; of one epoch its own first.
    pub(crate) fn claim(&self, copy: usize, now: ProcessingTime) -> Option<Bundle<B>> {
        let up_to = self.ledger.claimable_up_to()?;
        if !self.ledger.claiming.is_local {
            return self.claim_anywhere(up_to);
        }
        let oldest = self.ledger.oldest().min(up_to);
        if let Some(own) = self.take(copy, oldest) {
            return Some(own);
        }
        let others = || (1..self.shelves.len()).map(|step| (copy + step) % self.shelves.len());
        let old = || others().filter(|&other| self.ledger.shelves[other].is_old(now));
        let of_oldest = old().find_map(|other| self.steal(other, oldest));
        of_oldest
            .or_else(|| self.take(copy, up_to))
            .or_else(|| old().find_map(|other| self.steal(other, up_to)))
    }

    /// The oldest bundle of all shelves, of the oldest epoch.
    fn claim_anywhere(&self, up_to: u64) -> Option<Bundle<B>> {
        let mut shelves: Vec<_> =
            (0..self.shelves.len()).map(|shelf| (self.ledger.in_front(shelf), shelf)).collect();
        shelves.sort_unstable();
        shelves.into_iter().find_map(|(_, shelf)| self.steal(shelf, up_to))
    }

    /// The newest bundle of the first epoch on one's own shelf, if that is not above `up_to`.
    fn take(&self, home: usize, up_to: u64) -> Option<Bundle<B>> {
        self.remove(home, up_to, |shelf, first| {
            let of_first = shelf.iter().rposition(|bundle| bundle.epoch == first);
            of_first.unwrap_or(0)
        })
    }

    /// The oldest bundle on another's shelf, if its epoch is not above `up_to`.
    fn steal(&self, other: usize, up_to: u64) -> Option<Bundle<B>> {
        self.remove(other, up_to, |_, _| 0)
    }

    fn remove(
        &self,
        home: usize,
        up_to: u64,
        choose: impl FnOnce(&VecDeque<Bundle<B>>, u64) -> usize,
    ) -> Option<Bundle<B>> {
        let counts = &*self.ledger.shelves[home];
        if counts.bundles_waiting() == 0 {
            return None;
        }
        let mut shelf = self.shelves[home].lock();
        let first = shelf.front()?.epoch;
        if first > up_to {
            return None;
        }
        let place = choose(&shelf, first);
        let bundle = shelf.remove(place)?;
        raise(&counts.bundles_out, 1, Ordering::Release);
        raise(&counts.records_out, records_of::<T, B>(&bundle), Ordering::Release);
        note_oldest(counts, &shelf);
        Some(bundle)
    }
}

/// Raises a counter, under the lock of the shelf: nobody else writes.
fn raise(counter: &AtomicU64, by: u64, ordering: Ordering) {
    counter.store(counter.load(Ordering::Relaxed) + by, ordering);
}

fn records_of<T, B: Carrier<T>>(bundle: &Bundle<B>) -> u64 {
    bundle.block.as_ref().map_or(0, |block| block.count() as u64)
}

fn note_oldest<B>(counts: &ShelfCounts, shelf: &VecDeque<Bundle<B>>) {
    let oldest_ns = shelf.front().map_or(u64::MAX, |bundle| bundle.arrived_ns);
    counts.oldest_ns.store(oldest_ns, Ordering::Relaxed);
    let oldest_epoch = shelf.front().map_or(u64::MAX, |bundle| bundle.epoch);
    counts.oldest_epoch.store(oldest_epoch, Ordering::Relaxed);
}

#[cfg(test)]
pub(crate) mod tests;
