//! Containers: the unclaimed blocks of all open epochs in front of one task. Each block lies on the work
//! queue of the worker that filled it.
//!
//! A work queue is a list behind a lock that almost always only its own worker takes. Its entries are
//! bundles: a block with its epoch and the watermark by which its records are late. They stand in the order
//! of their epochs. A copy of the task claims from the work queue with its number: from the oldest epoch it
//! takes the newest block, which is still in the cache. It leaves the blocks of other work queues to the
//! copies with their numbers, which any idle worker may run. A copy claims a block of another work queue only
//! if the block has waited for long, because the worker that runs the other copy is held up.

use std::collections::VecDeque;
use std::marker::PhantomData;

use thalweg_memory::sync::{Arc, AtomicU64, CacheAligned, Mutex, Ordering};
use thalweg_memory::{Block, BlockPool};
use thalweg_model::{EventTime, LatencyMarker, ProcessingTime, Record};
use thalweg_scheduling::Context;

use super::MARKERS_MAX;
use super::carrier::{Carrier, Share};
use super::tracker::{Claiming, EpochTracker, WorkQueueCounts};

/// A block of records on its way to a parallel operator, with the epoch to which the records belong and the
/// watermark by which they are late (a bundle in StreamBox). All its records come from one split of the
/// source.
pub struct Bundle<B> {
    /// The block of records; `None` if the bundle carries only a latency marker.
    pub(crate) block: Option<B>,
    pub(crate) epoch: u64,
    /// The watermark of the split of the source that produced the records. It decides which of the block's
    /// records are late.
    pub(crate) late_by: EventTime,
    /// A latency marker that follows the last record of the block.
    pub(crate) marker: Option<LatencyMarker>,
    /// Time at which the block was put onto its work queue, in ns of the engine's clock.
    pub(crate) arrived_ns: u64,
    /// The scheduling context (Cameo) of the oldest record in the block. Records derived from the block inherit
    /// it.
    pub(crate) context: Context,
}

/// The unclaimed blocks of all open epochs in front of one task, on one work queue per worker.
pub struct Containers<T: Send + 'static, B = Block<Record<T>>> {
    pub(crate) tracker: Arc<EpochTracker>,
    work_queues: Box<[WorkQueue<B>]>,
    values: PhantomData<fn() -> T>,
}

type WorkQueue<B> = CacheAligned<Mutex<VecDeque<Bundle<B>>>>;

/// Destination of filled blocks: one task that is run as several copies, or several such tasks that read one
/// stream. The blocks of all of them come from one block pool.
pub trait Deposit<T: Send + 'static>: Send + Sync {
    /// Puts a bundle (a block with its epoch) onto the work queue of `core`. The split (parallel part of the
    /// source) from which the block comes must not have left that epoch yet.
    fn deposit(&self, core: usize, bundle: Bundle<Block<Record<T>>>);

    /// Returns true if so many bundles (blocks with their epochs) wait that no bundle without a block, which
    /// only carries a latency marker, may be added.
    fn is_crowded(&self) -> bool;

    /// Adds 1 to the number of latency markers that were dropped before they reached the tasks that claim
    /// these blocks.
    fn drop_marker(&self);
}

impl<T: Send + 'static> Deposit<T> for Containers<T> {
    fn deposit(&self, core: usize, bundle: Bundle<Block<Record<T>>>) {
        self.put(core, bundle);
    }

    fn is_crowded(&self) -> bool {
        self.tracker.bundles_waiting() >= MARKERS_MAX as u64
    }

    fn drop_marker(&self) {
        self.tracker.drop_marker();
    }
}

/// The containers (the unclaimed blocks of each epoch) of several tasks that read one stream. Every block is
/// shared by all of these tasks.
pub(crate) struct FanOut<T: Clone + Send + Sync + 'static>(pub(crate) Vec<Arc<Containers<T, Share<T>>>>);

impl<T: Clone + Send + Sync + 'static> Deposit<T> for FanOut<T> {
    fn deposit(&self, core: usize, bundle: Bundle<Block<Record<T>>>) {
        let Bundle { block, epoch, late_by, marker, arrived_ns, context } = bundle;
        let mut shares = block.into_iter().flat_map(|block| Share::of(block, self.0.len()));
        for containers in &self.0 {
            containers
                .put(core, Bundle { block: shares.next(), epoch, late_by, marker, arrived_ns, context });
        }
    }

    fn is_crowded(&self) -> bool {
        self.0.iter().any(|containers| containers.tracker.bundles_waiting() >= MARKERS_MAX as u64)
    }

    fn drop_marker(&self) {
        self.0.iter().for_each(|containers| containers.tracker.drop_marker());
    }
}

impl<T: Send + 'static, B: Carrier<T>> Containers<T, B> {
    /// Makes empty containers (lists of the unclaimed blocks of each epoch) for blocks of the pool
    /// `block_pool`, with a work queue for each of `cores` cores.
    pub(crate) fn new(
        block_pool: Arc<BlockPool<Record<T>>>,
        cores: usize,
        outlets: Vec<Arc<EpochTracker>>,
        claiming: Claiming,
    ) -> Arc<Self> {
        let tracker = EpochTracker::new(cores, outlets, block_pool, claiming);
        let work_queues = (0..cores).map(|_| CacheAligned(Mutex::new(VecDeque::new()))).collect();
        Arc::new(Containers { tracker, work_queues, values: PhantomData })
    }

    /// Puts a bundle (a block with its epoch) onto the work queue of `core`, behind the bundles of its epoch
    /// and of earlier ones.
    fn put(&self, core: usize, mut bundle: Bundle<B>) {
        bundle.epoch = self.tracker.count_in(bundle.epoch);
        self.tracker.note_context(bundle.epoch, bundle.context);
        let core = core % self.work_queues.len();
        let (records, epoch) = (records_of::<T, B>(&bundle), bundle.epoch);
        let mut work_queue = self.work_queues[core].lock();
        // The bundle nearly always goes to the end of the work queue. Splits of the source that use the same
        // work queue may be one epoch apart.
        let place = work_queue.iter().rposition(|other| other.epoch <= epoch).map_or(0, |place| place + 1);
        work_queue.insert(place, bundle);
        let counts = &*self.tracker.work_queues[core];
        raise(&counts.bundles_in, 1, Ordering::Relaxed);
        raise(&counts.records_in, records, Ordering::Relaxed);
        note_oldest(counts, &work_queue);
    }

    /// Takes an unclaimed bundle for a copy of the task. The bundle (a block with its epoch) is one of the
    /// oldest epoch among those on the copy's own work queue and those that have waited for long on other
    /// work queues. Within one epoch the copy's own work queue is preferred.
    pub(crate) fn claim(&self, copy: usize, now: ProcessingTime) -> Option<Bundle<B>> {
        let up_to = self.tracker.claimable_up_to()?;
        if !self.tracker.claiming.is_local {
            return self.claim_anywhere(up_to);
        }
        let oldest = self.tracker.oldest().min(up_to);
        if let Some(own) = self.take(copy, oldest) {
            return Some(own);
        }
        let others = || (1..self.work_queues.len()).map(|step| (copy + step) % self.work_queues.len());
        let old = || others().filter(|&other| self.tracker.work_queues[other].is_old(now));
        let of_oldest = old().find_map(|other| self.steal(other, oldest));
        of_oldest
            .or_else(|| self.take(copy, up_to))
            .or_else(|| old().find_map(|other| self.steal(other, up_to)))
    }

    /// Takes the oldest bundle (a block with its epoch) of the oldest epoch of all work queues.
    fn claim_anywhere(&self, up_to: u64) -> Option<Bundle<B>> {
        let mut work_queues: Vec<_> = (0..self.work_queues.len())
            .map(|work_queue| (self.tracker.in_front(work_queue), work_queue))
            .collect();
        work_queues.sort_unstable();
        work_queues.into_iter().find_map(|(_, work_queue)| self.steal(work_queue, up_to))
    }

    /// Takes the newest bundle (a block with its epoch) of the oldest epoch on the work queue of this copy,
    /// if that epoch is not above `up_to`.
    fn take(&self, core: usize, up_to: u64) -> Option<Bundle<B>> {
        self.remove(core, up_to, |work_queue, first| {
            let of_first = work_queue.iter().rposition(|bundle| bundle.epoch == first);
            of_first.unwrap_or(0)
        })
    }

    /// Takes the oldest bundle (a block with its epoch) from the work queue of another copy, if its epoch is
    /// not above `up_to`.
    fn steal(&self, other: usize, up_to: u64) -> Option<Bundle<B>> {
        self.remove(other, up_to, |_, _| 0)
    }

    fn remove(
        &self,
        core: usize,
        up_to: u64,
        choose: impl FnOnce(&VecDeque<Bundle<B>>, u64) -> usize,
    ) -> Option<Bundle<B>> {
        let counts = &*self.tracker.work_queues[core];
        if counts.bundles_waiting() == 0 {
            return None;
        }
        let mut work_queue = self.work_queues[core].lock();
        let first = work_queue.front()?.epoch;
        if first > up_to {
            return None;
        }
        let place = choose(&work_queue, first);
        let bundle = work_queue.remove(place)?;
        raise(&counts.bundles_out, 1, Ordering::Release);
        raise(&counts.records_out, records_of::<T, B>(&bundle), Ordering::Release);
        note_oldest(counts, &work_queue);
        Some(bundle)
    }
}

/// Adds `by` to a counter of a work queue. The caller holds the lock of this work queue, so there is no other
/// writer.
fn raise(counter: &AtomicU64, by: u64, ordering: Ordering) {
    counter.store(counter.load(Ordering::Relaxed) + by, ordering);
}

fn records_of<T, B: Carrier<T>>(bundle: &Bundle<B>) -> u64 {
    bundle.block.as_ref().map_or(0, |block| block.count() as u64)
}

fn note_oldest<B>(counts: &WorkQueueCounts, work_queue: &VecDeque<Bundle<B>>) {
    let oldest_ns = work_queue.front().map_or(u64::MAX, |bundle| bundle.arrived_ns);
    counts.oldest_ns.store(oldest_ns, Ordering::Relaxed);
    let oldest_epoch = work_queue.front().map_or(u64::MAX, |bundle| bundle.epoch);
    counts.oldest_epoch.store(oldest_epoch, Ordering::Relaxed);
    if let Some(Bundle { context, .. }) = work_queue.front() {
        counts.oldest_context.store(*context);
    }
}

#[cfg(test)]
pub(crate) mod tests;
