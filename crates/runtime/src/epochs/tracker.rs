//! Progress of the epochs in front of one task: how many blocks of each are not consumed, which epochs have
//! an end, and the next steps of the task that closes epochs.
//!
//! Steps of the parties, and why no epoch is forgotten:
//!
//! * A depositor counts its block before any copy can claim it, and leaves the epoch (under the origin's
//!   lock) only afterwards.
//! * The thread that assigns an end does so under the lock of `life`, after all depositors have left the
//!   epoch, and then checks whether all blocks are consumed.
//! * A consumer that lowers the count to zero makes the same check, under the same lock.
//!
//! So of the last consumer and the thread that assigns the end, the second to take the lock sees what the
//! other did.
//!
//! Silence has a place among the ends. It is announced behind the last epoch that had its end when the splits
//! of the source fell silent, as it would come behind their records on an edge. `README.md` beside this file
//! lists the states, the counters and the races.

use std::collections::VecDeque;

use thalweg_memory::BlockPool;
use thalweg_memory::sync::{Arc, AtomicBool, AtomicU64, CacheAligned, Mutex, Ordering};
use thalweg_model::{EventTime, LatencyMarker, ProcessingTime};
use thalweg_scheduling::Context;

use super::{EPOCHS_MAX, MARKERS_MAX, STEAL_AFTER_NS};
use crate::arrival::ContextCell;

/// Interface to the block pool of a stream (its free blocks, its chunks and their sizes), whatever the type
/// of the records.
pub(crate) trait Space: Send + Sync {
    fn has_free(&self) -> bool;
    fn take_starved(&self) -> bool;
    fn slot_bytes(&self) -> u64;
    fn block_records(&self) -> usize;
    fn chunks(&self) -> u64;
    fn chunk_bytes(&self) -> u64;
    fn name_writer(&self, name: u64);
}

impl<T: Send + 'static> Space for BlockPool<T> {
    fn has_free(&self) -> bool {
        BlockPool::has_free(self)
    }
    fn take_starved(&self) -> bool {
        BlockPool::take_starved(self)
    }
    fn slot_bytes(&self) -> u64 {
        BlockPool::slot_bytes(self)
    }
    fn block_records(&self) -> usize {
        BlockPool::block_records(self)
    }
    fn chunks(&self) -> u64 {
        BlockPool::chunks(self)
    }
    fn chunk_bytes(&self) -> u64 {
        BlockPool::chunk_bytes(self)
    }
    fn name_writer(&self, name: u64) {
        BlockPool::name_writer(self, name);
    }
}

/// One step of the task that closes epochs (merges the state of the copies and emits the results). The task
/// takes these steps in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// All blocks of this epoch and of all epochs before it have been consumed: merge the state of the epoch,
    /// then send its watermark.
    End { epoch: u64, watermark: EventTime },
    /// A latency marker has passed through the copies of the parallel operator.
    Marker(LatencyMarker),
    /// All splits of the stream (parallel parts of the source) have fallen silent.
    Idle,
    /// All splits of the stream (parallel parts of the source) have ended.
    Over,
}

/// Counters of the work queue of one core, for readers that do not take its lock. They are written under that
/// lock.
///
/// Counts of bundles (blocks with their epochs) and records taken out are stored with Release, and loaded
/// with Acquire before the counts of those put in are loaded. A bundle is counted in before it is counted
/// out, so no reader sees more go out than came in.
#[derive(Debug)]
pub(crate) struct WorkQueueCounts {
    /// Number of bundles (blocks with their epochs) that were put onto the work queue. Relaxed: ordered by
    /// the Release and Acquire accesses to `bundles_out`.
    pub(super) bundles_in: AtomicU64,
    pub(super) bundles_out: AtomicU64,
    /// Records put onto the work queue. Relaxed: ordered by the Release and Acquire accesses to
    /// `records_out`.
    pub(super) records_in: AtomicU64,
    pub(super) records_out: AtomicU64,
    /// Time in ns at which the first bundle (block with its epoch) of the work queue was deposited;
    /// `u64::MAX` if the work queue is empty. Relaxed: a hint.
    pub(super) oldest_ns: AtomicU64,
    /// Epoch of the first bundle (block with its epoch) of the work queue, which is the oldest there;
    /// `u64::MAX` if it is empty. Relaxed: a hint.
    pub(super) oldest_epoch: AtomicU64,
    /// Scheduling context (Cameo) of the first bundle (a block with its epoch) on the work queue; of the last
    /// bundle that was there if the work queue is empty.
    pub(super) oldest_context: ContextCell,
}

impl WorkQueueCounts {
    fn empty() -> Self {
        WorkQueueCounts {
            bundles_in: AtomicU64::new(0),
            bundles_out: AtomicU64::new(0),
            records_in: AtomicU64::new(0),
            records_out: AtomicU64::new(0),
            oldest_ns: AtomicU64::new(u64::MAX),
            oldest_epoch: AtomicU64::new(u64::MAX),
            oldest_context: ContextCell::new(),
        }
    }

    /// Returns the number of records on the work queue; at least 1 if any bundle (a block with its epoch) is
    /// there, because a bundle may carry only a latency marker.
    fn unclaimed(&self) -> u64 {
        let records_out = self.records_out.load(Ordering::Acquire);
        let records = left(self.records_in.load(Ordering::Relaxed), records_out);
        if records > 0 { records } else { u64::from(self.bundles_waiting() > 0) }
    }

    pub(super) fn bundles_waiting(&self) -> u64 {
        let bundles_out = self.bundles_out.load(Ordering::Acquire);
        left(self.bundles_in.load(Ordering::Relaxed), bundles_out)
    }

    /// Returns true if the first block of this work queue has waited so long that any copy of the task may
    /// claim it.
    pub(super) fn is_old(&self, now: ProcessingTime) -> bool {
        let oldest_ns = self.oldest_ns.load(Ordering::Relaxed);
        oldest_ns.saturating_add(STEAL_AFTER_NS) <= now.as_nanos()
    }
}

/// Returns how many bundles or records are on a work queue: the number put in (`come`) minus the number taken
/// out (`gone`). `gone` must be loaded with Acquire before `come` is loaded. A difference below zero would be
/// a defect of the orderings. It counts as zero, because these counts only tell workers where to look.
fn left(come: u64, gone: u64) -> u64 {
    assert!(
        !cfg!(loom) || gone <= come,
        "{gone} went out of {come} that came in: the counters were loaded out of order"
    );
    come.saturating_sub(gone)
}

/// Rules by which the copies of a parallel task deposit and claim blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claiming {
    /// True if blocks are claimed only from the oldest epoch, once it has its end watermark; see the
    /// [ablation](crate::Ablations::in_order_epochs).
    pub(crate) holds_epochs: bool,
    /// True if derived blocks are deposited into the first epoch without an end watermark; see the
    /// [ablation](crate::Ablations::no_epoch_boundaries).
    pub(crate) mixes_epochs: bool,
    /// True if a copy claims blocks of its own work queue first, and blocks of other work queues only when
    /// they have waited for long.
    pub(crate) is_local: bool,
}

impl Default for Claiming {
    fn default() -> Self {
        Claiming { holds_epochs: false, mixes_epochs: false, is_local: true }
    }
}

/// Progress of the open epochs in front of one task: unconsumed blocks, assigned ends, and the steps of the
/// task that closes epochs (merges the state of the copies and emits the results).
pub struct EpochTracker {
    pub(super) claiming: Claiming,
    /// Number of epochs whose ends were assigned since the start. Written under the lock of `life`. Relaxed:
    /// exact for a reader behind the fence of a notification, otherwise a hint.
    assigned: AtomicU64,
    /// Number of bundles of each open epoch that are deposited and not consumed, by the epoch's number modulo
    /// the length of the array. Depositors raise it, Relaxed, before they leave the epoch. Consumers lower it
    /// with AcqRel when they have stored the state that they gathered. It is read with Acquire under the lock
    /// of `life`: this pair of accesses makes the gathered state visible. Rounds of ranking read it Relaxed,
    /// as a hint.
    unconsumed: Box<[CacheAligned<Place>]>,
    life: Mutex<Life>,
    /// Number of the first epoch that still has unprocessed blocks, or no end watermark: a copy of
    /// `Life::oldest` for readers without the lock. Relaxed: the value only grows, so an outdated value is
    /// merely too low, which is safe.
    oldest: AtomicU64,
    /// Number of steps for the task that closes epochs (merges the state of the copies and emits the results)
    /// that were put into `Life::items` since the start. Written under the lock of `life`. Relaxed: exact for
    /// a reader behind the fence of a notification, otherwise a hint.
    items_in: AtomicU64,
    /// Number of steps that the task which closes epochs (merges the state of the copies and emits the
    /// results) has taken from `Life::items`. Stored with Release under the lock of `life`, and loaded with
    /// Acquire before `items_in`. So no reader sees more items taken than put.
    items_out: AtomicU64,
    /// Number of latency markers dropped because too many waited. Relaxed: only a counter for reports.
    markers_dropped: AtomicU64,
    /// True if all blocks are consumed and the stream has ended. Relaxed: exact for a reader behind the fence
    /// of a notification, otherwise a hint.
    is_over: AtomicBool,
    pub(super) merging: MergingCounts,
    pub(super) work_queues: Box<[CacheAligned<WorkQueueCounts>]>,
    /// Boundaries of the open epochs, by the epoch's number modulo the length of this array: the first
    /// watermark at or above the boundary is the epoch's end. Stored as the bits of the boundary's
    /// microseconds. Written, Relaxed, under the origin's lock before any task can deposit into the epoch.
    boundaries: Box<[AtomicU64]>,
    /// Number of epochs that were opened since the start. Written under the origin's lock before any task can
    /// deposit into the youngest epoch. Relaxed: exact for a reader behind the fence of a notification,
    /// otherwise a hint.
    opened: AtomicU64,
    /// Trackers of the tasks downstream, to which ends of epochs are passed on if this task keeps no state
    /// that must be merged.
    outlets: Vec<Arc<EpochTracker>>,
    pub(crate) space: Arc<dyn Space>,
}

/// An open epoch in front of one task.
#[derive(Debug)]
struct Place {
    /// Number of bundles (blocks with their epochs) of this epoch that are deposited and not consumed.
    unconsumed: AtomicU64,
    /// The latest scheduling context of the bundles (blocks with their epochs) that were deposited. Cleared
    /// when the epoch is opened. Results of the epoch inherit it, as from the message that completes a window
    /// (Cameo, Algorithm 1, line 16).
    context: ContextCell,
}

/// Counters for merging the state of the copies when an epoch is closed. Written under the lock of
/// `Copies::merging`. Relaxed unless noted, as for `EpochTracker::items_in`.
#[derive(Debug, Default)]
pub(super) struct MergingCounts {
    pub(super) is_going_on: AtomicBool,
    /// Number of pairs of partial states, gathered by copies of an operator, that wait to be merged.
    pub(super) pairs: AtomicU64,
    /// Number of pairs of partial states that have been merged.
    pub(super) done: AtomicU64,
    /// Number of merged pairs on which the task that closes the epoch has acted: a former value of `done`.
    /// Stored with Release, loaded with Acquire before `done`: no reader sees more pairs acted on than
    /// merged.
    pub(super) seen: AtomicU64,
    /// Version of the merge, which tells other tasks that something has changed: it grows when new pairs can
    /// be merged and when a pair was merged.
    pub(super) version: AtomicU64,
}

impl MergingCounts {
    /// Raises the version of the merge by 1, because other tasks must look at the merge again. Called under
    /// the lock of `Copies::merging`.
    pub(super) fn change(&self) {
        self.version.store(self.version.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// The end of an epoch, or a silence of all splits of the source, which is known and must still be passed on
/// to the task that closes epochs or to the trackers downstream. There is at most one end for each open
/// epoch, and one silence before each end and behind the last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToCome {
    /// The watermark at which the next epoch ends.
    End(EventTime),
    /// All splits of the source had fallen silent at this place in the sequence of ends of epochs.
    Idle,
}

struct Life {
    /// The first epoch whose partial states, gathered by the copies of the operator, are not merged yet.
    oldest: u64,
    /// The first epoch that still has unprocessed blocks, or no end watermark.
    complete: u64,
    /// Number of epochs whose ends were assigned since the start.
    assigned: u64,
    /// The assigned end watermarks of the epochs from number `complete` on, with the silences of all splits
    /// of the source between them.
    to_come: VecDeque<ToCome>,
    /// The watermark that was last assigned as the end of an epoch.
    last_end: EventTime,
    /// True if the stream has ended, so that no more end watermarks are assigned to epochs.
    is_ended: bool,
    items: VecDeque<Item>,
    markers: usize,
}

impl EpochTracker {
    /// Makes the tracker of the epochs in front of a task whose copies claim blocks from `cores` work queues.
    /// Ends of epochs are passed on to the trackers downstream, which are in `outlets`. If there are none,
    /// they become steps of the task that closes epochs.
    pub(crate) fn new(
        cores: usize,
        outlets: Vec<Arc<EpochTracker>>,
        space: Arc<dyn Space>,
        claiming: Claiming,
    ) -> Arc<Self> {
        Arc::new(EpochTracker {
            claiming,
            assigned: AtomicU64::new(0),
            unconsumed: (0..EPOCHS_MAX)
                .map(|_| CacheAligned(Place { unconsumed: AtomicU64::new(0), context: ContextCell::new() }))
                .collect(),
            life: Mutex::new(Life {
                oldest: 0,
                complete: 0,
                assigned: 0,
                to_come: VecDeque::new(),
                last_end: EventTime::MIN,
                is_ended: false,
                items: VecDeque::new(),
                markers: 0,
            }),
            oldest: AtomicU64::new(0),
            items_in: AtomicU64::new(0),
            items_out: AtomicU64::new(0),
            markers_dropped: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            merging: MergingCounts::default(),
            work_queues: (0..cores).map(|_| CacheAligned(WorkQueueCounts::empty())).collect(),
            boundaries: (0..EPOCHS_MAX).map(|_| AtomicU64::new(0)).collect(),
            opened: AtomicU64::new(0),
            outlets,
            space,
        })
    }

    fn place(&self, epoch: u64) -> &AtomicU64 {
        &self.unconsumed[(epoch % EPOCHS_MAX) as usize].unconsumed
    }

    fn context_cell(&self, epoch: u64) -> &ContextCell {
        &self.unconsumed[(epoch % EPOCHS_MAX) as usize].context
    }

    /// Returns the scheduling context that the results of an epoch inherit: the latest of the bundles (blocks
    /// with their epochs) that were deposited into it. Returns `None` if there was no bundle. Called before
    /// the epoch is released.
    pub(crate) fn context_of(&self, epoch: u64) -> Option<Context> {
        Some(self.context_cell(epoch).load()).filter(|context| context.observed > ProcessingTime::ZERO)
    }

    /// Returns the scheduling context of the oldest bundle on the work queue of this copy. If this work queue
    /// is empty, returns that of the oldest bundle on other work queues that the copy may claim; `None` if
    /// there is none. Counters of other work queues lie in the caches of other cores, so they are not read
    /// before they matter.
    pub(crate) fn head_context(&self, copy: usize, now: ProcessingTime) -> Option<Context> {
        let own = &self.work_queues[copy];
        if own.bundles_waiting() > 0 {
            return Some(own.oldest_context.load());
        }
        let waiting = self.claimable_work_queues(copy, now).filter(|counts| counts.bundles_waiting() > 0);
        waiting.map(|counts| counts.oldest_context.load()).min_by_key(|context| context.observed)
    }

    /// Opens an epoch in front of this task and of the tasks downstream. The first watermark at or above
    /// `boundary` ends the epoch.
    pub(super) fn open(&self, epoch: u64, boundary: EventTime) {
        let bits = boundary.as_micros().cast_unsigned();
        self.boundaries[(epoch % EPOCHS_MAX) as usize].store(bits, Ordering::Relaxed);
        self.context_cell(epoch).store(Context { observed: ProcessingTime::ZERO, token: None });
        self.opened.store(epoch + 1, Ordering::Relaxed);
        self.outlets.iter().for_each(|outlet| outlet.open(epoch, boundary));
    }

    /// Returns the boundary (the event time at which an epoch ends) of the oldest epoch for which a copy of
    /// the task has something to do. A copy that may claim no block is assumed to hold a block of the oldest
    /// unconsumed epoch.
    pub(crate) fn due(&self, copy: usize, now: ProcessingTime) -> EventTime {
        let waiting = self.claimable_work_queues(copy, now);
        let oldest = waiting.map(|work_queue| work_queue.oldest_epoch.load(Ordering::Relaxed)).min();
        let epoch = oldest.filter(|&epoch| epoch < u64::MAX).unwrap_or_else(|| self.oldest());
        let bits = self.boundaries[(epoch % EPOCHS_MAX) as usize].load(Ordering::Relaxed);
        EventTime::from_micros(bits.cast_signed())
    }

    /// Returns the number of open epochs with blocks that no copy of the task has consumed. It is a hint,
    /// because other threads deposit and consume meanwhile.
    pub(crate) fn open_containers(&self) -> u32 {
        // At most `EPOCHS_MAX` epochs are visited. The number of opened epochs is read after the oldest open
        // epoch, so their difference may be larger.
        let epochs = (self.oldest_here()..self.opened.load(Ordering::Relaxed)).take(EPOCHS_MAX as usize);
        epochs.map(|epoch| u32::from(self.place(epoch).load(Ordering::Relaxed) > 0)).sum()
    }

    /// Counts a bundle (a block with its epoch) that is about to be deposited. `epoch` must be one that the
    /// depositor has not left. Returns the epoch into which the bundle goes.
    pub(super) fn count_in(&self, epoch: u64) -> u64 {
        if self.claiming.mixes_epochs {
            // The bundle (a block with its epoch) goes into the oldest epoch whose end watermark is not
            // assigned. While the lock is held, no other thread can assign that end. The epoch is not above
            // the depositor's own: the end of the depositor's own epoch is not passed on before the block
            // from which the bundle was derived is consumed.
            let life = self.life.lock();
            let first = life.assigned;
            assert!(first <= epoch, "epoch {epoch} has an end, but what is derived in it is not deposited");
            self.place(first).fetch_add(1, Ordering::Relaxed);
            return first;
        }
        self.place(epoch).fetch_add(1, Ordering::Relaxed);
        epoch
    }

    /// Records the scheduling context of a bundle (a block with its epoch) that was [counted
    /// in](Self::count_in) and is not consumed.
    pub(super) fn note_context(&self, epoch: u64, context: Context) {
        self.context_cell(epoch).raise(context);
    }

    /// Returns the youngest epoch whose blocks may be claimed now; `None` if no block may be claimed before
    /// its epoch has its end watermark (see the [ablation](crate::Ablations::in_order_epochs)).
    pub(super) fn claimable_up_to(&self) -> Option<u64> {
        if !self.claiming.holds_epochs || !self.space.has_free() {
            return Some(u64::MAX);
        }
        let oldest = self.oldest.load(Ordering::Relaxed);
        (oldest < self.assigned.load(Ordering::Relaxed)).then_some(oldest)
    }

    /// Returns the epoch and the deposit time (in ns of the engine's clock) of the first block on a work
    /// queue; both are `u64::MAX` if the queue is empty.
    pub(super) fn in_front(&self, work_queue: usize) -> (u64, u64) {
        let WorkQueueCounts { oldest_epoch, oldest_ns, .. } = &*self.work_queues[work_queue];
        (oldest_epoch.load(Ordering::Relaxed), oldest_ns.load(Ordering::Relaxed))
    }

    /// Returns true if blocks wait that copies leave unclaimed (see the
    /// [ablation](crate::Ablations::in_order_epochs)) until no free block is left.
    pub(crate) fn holds_blocks(&self) -> bool {
        self.claiming.holds_epochs && self.bundles_waiting() > 0
    }

    /// Records that `count` bundles (blocks with their epochs) of an epoch are consumed: all results derived
    /// from them are deposited downstream, or are in the gathered state.
    pub(crate) fn consume(&self, epoch: u64, count: u64) {
        if count == 0 {
            return;
        }
        let before = self.place(epoch).fetch_sub(count, Ordering::AcqRel);
        assert!(
            before >= count,
            "{count} bundles of epoch {epoch} are consumed of {before} that were deposited"
        );
        if before == count {
            self.settle(&mut self.life.lock());
        }
    }

    /// Assigns an end to the first epoch that has none. Nothing may be deposited into this epoch any more.
    pub(crate) fn assign_end(&self, watermark: EventTime) {
        let mut life = self.life.lock();
        assert!(watermark >= life.last_end, "ends never go back: {watermark:?} after {:?}", life.last_end);
        life.last_end = watermark;
        life.to_come.push_back(ToCome::End(watermark));
        life.assigned += 1;
        self.assigned.store(life.assigned, Ordering::Relaxed);
        self.settle(&mut life);
    }

    /// Records that the stream has ended, which requires that every epoch has its end.
    pub(crate) fn end(&self) {
        let mut life = self.life.lock();
        life.is_ended = true;
        self.settle(&mut life);
    }

    /// Records that all splits of the source have fallen silent. The silence is passed on when every epoch
    /// that has its end by now is complete. Blocks deposited behind the last end give no result before a
    /// later end, so the silence makes none of them late.
    ///
    /// A silence that is over before it is passed on is passed on all the same, in its place among the ends,
    /// as on an edge. The results of a stream must not depend on how far behind the copies are.
    pub(crate) fn fall_idle(&self) {
        let mut life = self.life.lock();
        if life.to_come.back() != Some(&ToCome::Idle) {
            life.to_come.push_back(ToCome::Idle);
            self.settle(&mut life);
        }
    }

    /// Records a latency marker that has passed through the copies of the parallel task. The marker is
    /// dropped and counted if too many wait for the task that closes epochs (merges the state of the copies
    /// and emits the results).
    pub(crate) fn mark_latency(&self, marker: LatencyMarker) {
        let mut life = self.life.lock();
        if life.markers < MARKERS_MAX {
            life.markers += 1;
            self.put(&mut life, Item::Marker(marker));
        } else {
            self.drop_marker();
        }
    }

    pub(crate) fn drop_marker(&self) {
        self.markers_dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Passes the ends of all epochs that are complete, and the silences of all splits of the source between
    /// them, in order to the task that closes epochs (merges the state of the copies and emits the results)
    /// or to the trackers downstream. An epoch is complete when it has an end and all its blocks are
    /// consumed.
    fn settle(&self, life: &mut Life) {
        while let Some(&next) = life.to_come.front() {
            match next {
                ToCome::End(_) if self.place(life.complete).load(Ordering::Acquire) > 0 => break,
                ToCome::End(watermark) => {
                    let epoch = life.complete;
                    life.complete += 1;
                    if self.outlets.is_empty() {
                        self.put(life, Item::End { epoch, watermark });
                    } else {
                        // The lock is held while the end is passed on, so that ends reach a tracker
                        // downstream in order. Locks of trackers are taken in downstream direction only,
                        // which excludes a deadlock.
                        self.outlets.iter().for_each(|outlet| outlet.assign_end(watermark));
                        self.set_oldest(life, epoch + 1);
                    }
                }
                ToCome::Idle if self.outlets.is_empty() => {
                    if life.items.back() != Some(&Item::Idle) {
                        self.put(life, Item::Idle);
                    }
                }
                ToCome::Idle => {
                    self.outlets.iter().for_each(|outlet| outlet.fall_idle());
                }
            }
            life.to_come.pop_front();
        }
        if life.is_ended && life.to_come.is_empty() && !self.is_over() {
            self.is_over.store(true, Ordering::Relaxed);
            if self.outlets.is_empty() {
                self.put(life, Item::Over);
            } else {
                self.outlets.iter().for_each(|outlet| outlet.end());
            }
        }
    }

    fn put(&self, life: &mut Life, item: Item) {
        life.items.push_back(item);
        self.items_in.store(self.items_in.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Returns the next step of the task that closes epochs (merges the state of the copies and emits the
    /// results); `None` if no step is due.
    pub(crate) fn next_item(&self) -> Option<Item> {
        if self.items_waiting() == 0 {
            return None;
        }
        let mut life = self.life.lock();
        let item = life.items.pop_front()?;
        life.markers -= usize::from(matches!(item, Item::Marker(_)));
        self.items_out.store(self.items_out.load(Ordering::Relaxed) + 1, Ordering::Release);
        Some(item)
    }

    /// Records that the state gathered in an epoch is merged, so that the epoch's place in the ring of open
    /// epochs can be used again.
    pub(crate) fn release(&self, epoch: u64) {
        let mut life = self.life.lock();
        assert!(epoch == life.oldest && epoch < life.complete, "epoch {epoch} is consumed in its turn");
        self.set_oldest(&mut life, epoch + 1);
    }

    fn set_oldest(&self, life: &mut Life, oldest: u64) {
        life.oldest = oldest;
        self.oldest.store(oldest, Ordering::Relaxed);
    }

    /// Returns the number of the oldest epoch that has unprocessed blocks, in front of this task or of a task
    /// downstream.
    pub(crate) fn oldest(&self) -> u64 {
        let further = self.outlets.iter().map(|outlet| outlet.oldest()).min();
        self.oldest.load(Ordering::Relaxed).min(further.unwrap_or(u64::MAX))
    }

    /// Returns true while the maximum number of epochs is open, in front of this task or of a task
    /// downstream.
    pub(crate) fn is_full(&self) -> bool {
        self.may_be_full_from(self.oldest())
    }

    /// Returns true if the maximum number of epochs may be open, when `oldest` is the oldest of them.
    fn may_be_full_from(&self, oldest: u64) -> bool {
        oldest + EPOCHS_MAX <= self.opened.load(Ordering::Relaxed)
    }

    /// Returns the first epoch that is not consumed in front of this task, whatever is consumed downstream.
    pub(crate) fn oldest_here(&self) -> u64 {
        self.oldest.load(Ordering::Relaxed)
    }

    /// Returns true if a split of the source that waits for a free epoch may go on. `oldest_before` is the
    /// number of the oldest open epoch when the split began to wait. The split may go on if that epoch has
    /// been released since, and if the maximum number of epochs may have been open at that time.
    pub(crate) fn has_freed_epoch(&self, oldest_before: u64) -> bool {
        oldest_before < self.oldest_here() && self.may_be_full_from(oldest_before)
    }

    /// Returns true if all deposited blocks are processed and the stream has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Returns a version of the progress of epochs, in front of this task and of the tasks downstream, for
    /// tasks that wait for a change. It grows with each epoch that is complete, whenever pairs of partial
    /// states can be merged or a pair was merged, and when the stream is over. It is a sum of counters of
    /// which none ever falls, so two changes cannot cancel each other.
    pub(crate) fn closed(&self) -> u64 {
        let further: u64 = self.outlets.iter().map(|outlet| outlet.closed()).sum();
        let held = if self.claiming.holds_epochs {
            self.assigned.load(Ordering::Relaxed) + self.oldest.load(Ordering::Relaxed)
        } else {
            0
        };
        let merging = self.merging.version.load(Ordering::Relaxed);
        self.items_in() + u64::from(self.is_over()) + merging + held + further
    }

    /// Returns the number of steps that wait for the task that closes epochs. During a merge, returns the
    /// number of merged pairs on which this task has not acted, because it waits while other tasks merge.
    pub(crate) fn closable_epochs(&self) -> u64 {
        let MergingCounts { is_going_on, done, seen, .. } = &self.merging;
        if is_going_on.load(Ordering::Relaxed) {
            let seen = seen.load(Ordering::Acquire);
            return left(done.load(Ordering::Relaxed), seen);
        }
        self.items_waiting()
    }

    /// Returns the number of pairs of partial states that any copy of the operator may merge.
    pub(crate) fn pairs_waiting(&self) -> u64 {
        self.merging.pairs.load(Ordering::Relaxed)
    }

    /// Returns the number of items (ends of epochs, latency markers, and silences of all splits) that wait
    /// for the task that closes epochs (merges the state of the copies and emits the results).
    pub(crate) fn items_waiting(&self) -> u64 {
        let taken = self.items_out.load(Ordering::Acquire);
        left(self.items_in.load(Ordering::Relaxed), taken)
    }

    pub(crate) fn items_in(&self) -> u64 {
        self.items_in.load(Ordering::Relaxed)
    }

    pub(crate) fn items_out(&self) -> u64 {
        self.items_out.load(Ordering::Relaxed)
    }

    pub(crate) fn markers_dropped(&self) -> u64 {
        self.markers_dropped.load(Ordering::Relaxed)
    }

    /// Sums a counter over all work queues. It is loaded with Acquire: see [`WorkQueueCounts`].
    fn sum(&self, counter: impl Fn(&WorkQueueCounts) -> &AtomicU64) -> u64 {
        self.work_queues.iter().map(|work_queue| counter(work_queue).load(Ordering::Acquire)).sum()
    }

    pub(crate) fn records_in(&self) -> u64 {
        self.sum(|work_queue| &work_queue.records_in)
    }

    pub(crate) fn records_out(&self) -> u64 {
        self.sum(|work_queue| &work_queue.records_out)
    }

    pub(crate) fn bundles_in(&self) -> u64 {
        self.sum(|work_queue| &work_queue.bundles_in)
    }

    pub(crate) fn bundles_waiting(&self) -> u64 {
        self.work_queues.iter().map(|work_queue| work_queue.bundles_waiting()).sum()
    }

    pub(crate) fn bundles_out(&self) -> u64 {
        self.sum(|work_queue| &work_queue.bundles_out)
    }

    /// Returns the number of unclaimed records on the work queue of a copy; at least 1 if any bundle (a block
    /// with its epoch) is there.
    pub(crate) fn unclaimed(&self, copy: usize) -> u64 {
        self.work_queues[copy].unclaimed()
    }

    /// Returns the number of records that a copy may claim: the records on its own work queue, and those on
    /// other work queues that have waited for long.
    pub(crate) fn claimable(&self, copy: usize, now: ProcessingTime) -> u64 {
        self.claimable_work_queues(copy, now).map(WorkQueueCounts::unclaimed).sum()
    }

    fn claimable_work_queues(
        &self,
        copy: usize,
        now: ProcessingTime,
    ) -> impl Iterator<Item = &WorkQueueCounts> {
        let work_queues = self.work_queues.iter().enumerate();
        let (up_to, is_local) = (self.claimable_up_to(), self.claiming.is_local);
        let own_or_old = work_queues
            .filter(move |(place, work_queue)| *place == copy || !is_local || work_queue.is_old(now));
        own_or_old.map(|(_, work_queue)| &**work_queue).filter(move |work_queue| {
            up_to.is_some_and(|up_to| {
                up_to == u64::MAX || work_queue.oldest_epoch.load(Ordering::Relaxed) <= up_to
            })
        })
    }

    /// Returns the instant at which this copy may claim the first bundle of another work queue, because the
    /// bundle will have waited long enough; `NEVER` if there is no bundle. Call this when the copy may claim
    /// nothing at `now`. The instant is later than `now`, so that no worker looks again at once.
    pub(crate) fn next_claimable_at(&self, copy: usize, now: ProcessingTime) -> ProcessingTime {
        let (up_to, is_local) = (self.claimable_up_to(), self.claiming.is_local);
        let Some(up_to) = up_to.filter(|_| is_local) else { return ProcessingTime::NEVER };
        let others = self.work_queues.iter().enumerate().filter(|(place, _)| *place != copy);
        let in_turn = others.filter(|(_, work_queue)| {
            up_to == u64::MAX || work_queue.oldest_epoch.load(Ordering::Relaxed) <= up_to
        });
        let oldest_ns = in_turn.map(|(_, work_queue)| work_queue.oldest_ns.load(Ordering::Relaxed)).min();
        match oldest_ns.unwrap_or(u64::MAX) {
            u64::MAX => ProcessingTime::NEVER,
            oldest_ns => {
                ProcessingTime::from_nanos(oldest_ns).plus_nanos(STEAL_AFTER_NS).max(now.plus_nanos(1))
            }
        }
    }

    /// Returns the deposit time of the oldest bundle (a block with its epoch) on the work queue of a copy, in
    /// ns; `u64::MAX` if it is empty.
    pub(crate) fn oldest_unclaimed_ns(&self, copy: usize) -> u64 {
        self.work_queues[copy].oldest_ns.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
