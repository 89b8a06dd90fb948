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
//! fell silent, as it would come behind their records on an edge. `README.md` beside this file lists the
//! states, the counters and the races.

use std::collections::VecDeque;

use thalweg_memory::BlockPool;
use thalweg_memory::sync::{Arc, AtomicBool, AtomicU64, CacheAligned, Mutex, Ordering};
use thalweg_model::{EventTime, ProcessingTime};

use super::{EPOCHS_MAX, MARKERS_MAX, STEAL_AFTER_NS};

/// Room for blocks of any type.
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

/// One step of the task that closes epochs. It does such steps in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// This epoch and all before it are gathered: merge the epoch, then send the watermark.
    End { epoch: u64, watermark: EventTime },
    /// A latency marker has come through.
    Marker(ProcessingTime),
    /// All splits have fallen silent.
    Idle,
    /// The stream has ended.
    Over,
}

/// Counts of the work queue of one core, for readers that do not take its lock. Written under that lock.
///
/// Counts of what went out are stored with Release, and loaded with Acquire before the count of what came in
/// is loaded. A bundle is counted in before it is counted out, so no reader sees more go out than came in.
#[derive(Debug, Default)]
pub(crate) struct WorkQueueCounts {
    /// Relaxed: ordered by the pair of `bundles_out`.
    pub(super) bundles_in: AtomicU64,
    pub(super) bundles_out: AtomicU64,
    /// Relaxed: ordered by the pair of `records_out`.
    pub(super) records_in: AtomicU64,
    pub(super) records_out: AtomicU64,
    /// Deposit time of the bundle in front, in ns; `u64::MAX` without one. Relaxed: a hint.
    pub(super) oldest_ns: AtomicU64,
    /// Epoch of the bundle in front, the oldest on the work queue; `u64::MAX` without one. Relaxed: a hint.
    pub(super) oldest_epoch: AtomicU64,
}

impl WorkQueueCounts {
    fn empty() -> Self {
        let (oldest_ns, oldest_epoch) = (AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX));
        WorkQueueCounts { oldest_ns, oldest_epoch, ..WorkQueueCounts::default() }
    }

    /// Records on the work queue, at least one if there is a bundle.
    fn unclaimed(&self) -> u64 {
        let records_out = self.records_out.load(Ordering::Acquire);
        let records = left(self.records_in.load(Ordering::Relaxed), records_out);
        if records > 0 { records } else { u64::from(self.bundles_waiting() > 0) }
    }

    /// Bundles on the work queue.
    pub(super) fn bundles_waiting(&self) -> u64 {
        let bundles_out = self.bundles_out.load(Ordering::Acquire);
        left(self.bundles_in.load(Ordering::Relaxed), bundles_out)
    }

    /// Returns true if the bundle in front has waited long enough for any copy to claim it.
    pub(super) fn is_old(&self, now: ProcessingTime) -> bool {
        let oldest_ns = self.oldest_ns.load(Ordering::Relaxed);
        oldest_ns.saturating_add(STEAL_AFTER_NS) <= now.as_nanos()
    }
}

/// Returns the count of what came in minus the count of what went out, where `gone` was loaded with Acquire
/// before `come` was loaded. A difference below zero would be a defect of the orderings. It counts as zero,
/// because these counts only tell where to look.
fn left(come: u64, gone: u64) -> u64 {
    assert!(
        !cfg!(loom) || gone <= come,
        "{gone} went out of {come} that came in: the counters were loaded out of order"
    );
    come.saturating_sub(gone)
}

/// Rules by which blocks are deposited and claimed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claiming {
    /// True if blocks are claimed only from the oldest epoch, once it has its end: an
    /// [ablation](crate::Ablations::in_order_epochs).
    pub(crate) holds_epochs: bool,
    /// True if blocks are deposited into the first epoch without an end: an
    /// [ablation](crate::Ablations::no_epoch_boundaries).
    pub(crate) mixes_epochs: bool,
    /// True if a copy claims blocks of its own work queue first, and blocks of others only when they have
    /// waited for long.
    pub(crate) is_local: bool,
}

impl Default for Claiming {
    fn default() -> Self {
        Claiming { holds_epochs: false, mixes_epochs: false, is_local: true }
    }
}

/// The epochs in front of one task.
pub struct EpochTracker {
    pub(super) claiming: Claiming,
    /// Epochs whose ends are assigned, since the start. Written under the lock of `life`; Relaxed: as
    /// `items_in`.
    assigned: AtomicU64,
    /// Bundles of each open epoch that are deposited and not consumed, by the epoch's number modulo the
    /// length. Depositors raise it, Relaxed, before they leave the epoch. Consumers lower it with AcqRel when
    /// they have put down what they gathered. It is read with Acquire under the lock of `life`: this pair
    /// makes the gathered state visible.
    unconsumed: Box<[CacheAligned<AtomicU64>]>,
    life: Mutex<Life>,
    /// `Life::oldest`, for readers without the lock. Relaxed: it only grows, so an old value is a
    /// conservative one.
    oldest: AtomicU64,
    /// Items that were put into `Life::items`. Written under the lock; Relaxed: exact for a reader behind the
    /// fence of a notification, otherwise a hint.
    items_in: AtomicU64,
    /// Items that were taken. Written under the lock with Release, loaded with Acquire before `items_in`: no
    /// reader sees more items taken than put.
    items_out: AtomicU64,
    /// Latency markers dropped because too many waited. Relaxed: a counter.
    markers_dropped: AtomicU64,
    /// True if everything is consumed and the stream has ended. Relaxed: as `items_in`.
    is_over: AtomicBool,
    pub(super) merging: MergingCounts,
    pub(super) work_queues: Box<[CacheAligned<WorkQueueCounts>]>,
    /// Boundaries of the open epochs, by the epoch's number modulo the length: the first watermark at or
    /// above it is the epoch's end. Stored as the bits of its microseconds. Written, Relaxed, under the
    /// origin's lock before any task can deposit into the epoch.
    boundaries: Box<[AtomicU64]>,
    /// Epochs that were opened, since the start. Written under the origin's lock before any task can deposit
    /// into the youngest; Relaxed: exact for a reader behind the fence of a notification, otherwise a hint.
    opened: AtomicU64,
    /// Trackers to which ends are passed on, if the derived records need no closing.
    outlets: Vec<Arc<EpochTracker>>,
    pub(crate) space: Arc<dyn Space>,
}

/// Progress in merging the copies of the epoch that is being closed. Written under the lock of
/// `Copies::merging`; Relaxed unless noted: as `EpochTracker::items_in`.
#[derive(Debug, Default)]
pub(super) struct MergingCounts {
    pub(super) is_going_on: AtomicBool,
    /// Pairs that any copy may merge.
    pub(super) pairs: AtomicU64,
    /// Pairs that were merged.
    pub(super) done: AtomicU64,
    /// The value of `done` on which the task that closes the epoch has acted. Stored with Release, loaded
    /// with Acquire before `done`: no reader sees more acted on than done.
    pub(super) seen: AtomicU64,
    /// Version of changes that concern other tasks: it grows whenever new pairs can be merged, or one was
    /// merged.
    pub(super) version: AtomicU64,
}

impl MergingCounts {
    /// Counts a change that concerns other tasks. Called under the lock of `Copies::merging`.
    pub(super) fn change(&self) {
        self.version.store(self.version.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// One entry of `Life::to_come`: at most one end for each open epoch, and one silence before each end and
/// behind the last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToCome {
    /// The end of the next epoch.
    End(EventTime),
    /// All splits had fallen silent.
    Idle,
}

struct Life {
    /// The first epoch that is not consumed.
    oldest: u64,
    /// The first epoch that is not retrieved.
    complete: u64,
    /// Number of epochs whose ends are assigned.
    assigned: u64,
    /// The assigned ends of the epochs from `complete` on, and the silences between them.
    to_come: VecDeque<ToCome>,
    /// The last assigned end.
    last_end: EventTime,
    /// True if no more ends come.
    is_ended: bool,
    items: VecDeque<Item>,
    markers: usize,
}

impl EpochTracker {
    /// Makes the tracker in front of a task whose copies claim bundles from `cores` work queues. Ends are
    /// passed on to `outlets`, or become items if there are none.
    pub(crate) fn new(
        cores: usize,
        outlets: Vec<Arc<EpochTracker>>,
        space: Arc<dyn Space>,
        claiming: Claiming,
    ) -> Arc<Self> {
        Arc::new(EpochTracker {
            claiming,
            assigned: AtomicU64::new(0),
            unconsumed: (0..EPOCHS_MAX).map(|_| CacheAligned(AtomicU64::new(0))).collect(),
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
        &self.unconsumed[(epoch % EPOCHS_MAX) as usize]
    }

    /// Opens an epoch here and downstream. It ends with the first watermark at or above `boundary`.
    pub(super) fn open(&self, epoch: u64, boundary: EventTime) {
        let bits = boundary.as_micros().cast_unsigned();
        self.boundaries[(epoch % EPOCHS_MAX) as usize].store(bits, Ordering::Relaxed);
        self.opened.store(epoch + 1, Ordering::Relaxed);
        self.outlets.iter().for_each(|outlet| outlet.open(epoch, boundary));
    }

    /// Boundary of the oldest epoch for which a copy has something to do. If the copy may claim nothing, it
    /// has a block at hand, whose epoch is not consumed, and is taken to be the oldest of those.
    pub(crate) fn due(&self, copy: usize, now: ProcessingTime) -> EventTime {
        let waiting = self.claimable_work_queues(copy, now);
        let oldest = waiting.map(|work_queue| work_queue.oldest_epoch.load(Ordering::Relaxed)).min();
        let epoch = oldest.filter(|&epoch| epoch < u64::MAX).unwrap_or_else(|| self.oldest());
        let bits = self.boundaries[(epoch % EPOCHS_MAX) as usize].load(Ordering::Relaxed);
        EventTime::from_micros(bits.cast_signed())
    }

    /// Counts a bundle that is about to be deposited into an epoch that the depositor has not left. Returns
    /// the epoch into which it goes.
    pub(super) fn count_in(&self, epoch: u64) -> u64 {
        if self.claiming.mixes_epochs {
            // Under the lock, so that the end of the epoch found is not assigned meanwhile. That epoch is not
            // above the depositor's own, whose end is not passed on before the block from which the bundle
            // was derived is consumed.
            let life = self.life.lock();
            let first = life.assigned;
            assert!(first <= epoch, "epoch {epoch} has an end, but what is derived in it is not deposited");
            self.place(first).fetch_add(1, Ordering::Relaxed);
            return first;
        }
        self.place(epoch).fetch_add(1, Ordering::Relaxed);
        epoch
    }

    /// The youngest epoch whose blocks may be claimed now; none if blocks are held back.
    pub(super) fn claimable_up_to(&self) -> Option<u64> {
        if !self.claiming.holds_epochs || !self.space.has_free() {
            return Some(u64::MAX);
        }
        let oldest = self.oldest.load(Ordering::Relaxed);
        (oldest < self.assigned.load(Ordering::Relaxed)).then_some(oldest)
    }

    /// Epoch and deposit time of the bundle in front of a work queue.
    pub(super) fn in_front(&self, work_queue: usize) -> (u64, u64) {
        let WorkQueueCounts { oldest_epoch, oldest_ns, .. } = &*self.work_queues[work_queue];
        (oldest_epoch.load(Ordering::Relaxed), oldest_ns.load(Ordering::Relaxed))
    }

    /// Returns true if blocks wait that may be claimed only when room runs out.
    pub(crate) fn holds_blocks(&self) -> bool {
        self.claiming.holds_epochs && self.bundles_waiting() > 0
    }

    /// Records that `count` bundles of an epoch are consumed: everything derived from them is put down.
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

    /// Assigns an end to the first epoch without one. Nothing is deposited into it any more.
    pub(crate) fn assign_end(&self, watermark: EventTime) {
        let mut life = self.life.lock();
        assert!(watermark >= life.last_end, "ends never go back: {watermark:?} after {:?}", life.last_end);
        life.last_end = watermark;
        life.to_come.push_back(ToCome::End(watermark));
        life.assigned += 1;
        self.assigned.store(life.assigned, Ordering::Relaxed);
        self.settle(&mut life);
    }

    /// Records that the stream has ended: every epoch has its end.
    pub(crate) fn end(&self) {
        let mut life = self.life.lock();
        life.is_ended = true;
        self.settle(&mut life);
    }

    /// Records that all splits have fallen silent. The silence is announced when every epoch that has its end
    /// by now is retrieved. Blocks deposited behind the last end give no result before a later end, so the
    /// silence makes none of them late.
    ///
    /// A silence that is over before it is announced is announced all the same, in its place, as on an edge.
    /// The results of a stream must not depend on how far behind the copies are.
    pub(crate) fn fall_idle(&self) {
        let mut life = self.life.lock();
        if life.to_come.back() != Some(&ToCome::Idle) {
            life.to_come.push_back(ToCome::Idle);
            self.settle(&mut life);
        }
    }

    /// Records a latency marker that has come through. It is dropped and counted if too many wait.
    pub(crate) fn mark_latency(&self, intended: ProcessingTime) {
        let mut life = self.life.lock();
        if life.markers < MARKERS_MAX {
            life.markers += 1;
            self.put(&mut life, Item::Marker(intended));
        } else {
            self.drop_marker();
        }
    }

    pub(crate) fn drop_marker(&self) {
        self.markers_dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Retrieves the containers that are ready, and announces the silences between them, in order.
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
                        // Under our lock, so that ends reach an outlet in order. Locks are taken in
                        // downstream direction only.
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

    /// Returns the next step of the task that closes epochs.
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

    /// Records that the state gathered in an epoch is merged: its place can be used again.
    pub(crate) fn release(&self, epoch: u64) {
        let mut life = self.life.lock();
        assert!(epoch == life.oldest && epoch < life.complete, "epoch {epoch} is consumed in its turn");
        self.set_oldest(&mut life, epoch + 1);
    }

    fn set_oldest(&self, life: &mut Life, oldest: u64) {
        life.oldest = oldest;
        self.oldest.store(oldest, Ordering::Relaxed);
    }

    /// Returns the oldest epoch with unconsumed blocks, in front of this task or of a task downstream.
    pub(crate) fn oldest(&self) -> u64 {
        let further = self.outlets.iter().map(|outlet| outlet.oldest()).min();
        self.oldest.load(Ordering::Relaxed).min(further.unwrap_or(u64::MAX))
    }

    /// Returns true while the maximum number of epochs is open, here or downstream.
    pub(crate) fn is_full(&self) -> bool {
        self.may_be_full_from(self.oldest())
    }

    /// Returns true if, with this as the oldest epoch, the maximum number may be open.
    fn may_be_full_from(&self, oldest: u64) -> bool {
        oldest + EPOCHS_MAX <= self.opened.load(Ordering::Relaxed)
    }

    /// The first epoch that is not consumed here, whatever is consumed downstream.
    pub(crate) fn oldest_here(&self) -> u64 {
        self.oldest.load(Ordering::Relaxed)
    }

    /// Returns true if the task that closes epochs has released some since `oldest_before` was the oldest
    /// here, and the maximum number may have been open then: a split may have waited for that.
    pub(crate) fn has_freed_epoch(&self, oldest_before: u64) -> bool {
        oldest_before < self.oldest_here() && self.may_be_full_from(oldest_before)
    }

    /// Returns true if everything is consumed and the stream has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Version of the progress of epochs here and downstream. It grows with each epoch that is retrieved,
    /// whenever pairs can be merged or one was merged, and when the stream is over. It is a sum of counters
    /// of which none ever falls, so that two changes cannot cancel each other.
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

    /// Items that wait for the task that closes epochs. During a merge, the merged pairs on which it has not
    /// acted: it waits while other tasks merge.
    pub(crate) fn closable_epochs(&self) -> u64 {
        let MergingCounts { is_going_on, done, seen, .. } = &self.merging;
        if is_going_on.load(Ordering::Relaxed) {
            let seen = seen.load(Ordering::Acquire);
            return left(done.load(Ordering::Relaxed), seen);
        }
        self.items_waiting()
    }

    /// Pairs of copies that any copy may merge.
    pub(crate) fn pairs_waiting(&self) -> u64 {
        self.merging.pairs.load(Ordering::Relaxed)
    }

    /// Waiting items.
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

    /// Sums a counter over all work queues. Acquire: see [`WorkQueueCounts`].
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

    /// Bundles that no copy has claimed.
    pub(crate) fn bundles_waiting(&self) -> u64 {
        self.work_queues.iter().map(|work_queue| work_queue.bundles_waiting()).sum()
    }

    pub(crate) fn bundles_out(&self) -> u64 {
        self.sum(|work_queue| &work_queue.bundles_out)
    }

    /// Unclaimed records on the work queue of a copy, at least one if there is a bundle.
    pub(crate) fn unclaimed(&self, copy: usize) -> u64 {
        self.work_queues[copy].unclaimed()
    }

    /// Records that a copy may claim: those of its own work queue, and those of others that have waited for
    /// long.
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

    /// Returns the instant at which this copy may claim the first bundle of another work queue, because it
    /// will have waited long enough; `NEVER` without one. To be asked when the copy may claim nothing at
    /// `now`. The instant is later than `now`, so that no worker looks again at once.
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

    /// Deposit time of the oldest bundle on the work queue of a copy, in ns; `u64::MAX` without one.
    pub(crate) fn oldest_unclaimed_ns(&self, copy: usize) -> u64 {
        self.work_queues[copy].oldest_ns.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
