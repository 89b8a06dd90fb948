//! The writing end of an edge of blocks.
//!
//! A writer opens an [`EdgeAppender`], pushes values and drops the appender: only then are the values published,
//! all at once. So the loop that pushes holds the number of values in a register and accesses nothing shared. A
//! caller that writes several edges in turn [begins](Writer::begin) each of them, [appends](Writer::append)
//! values to any of them, and [hands over](Writer::hand_over) the result; the numbers of values are then in the
//! writers.

use std::collections::VecDeque;
use std::sync::Weak;

use crate::appender::{Append, Slots};
use crate::block::BlockRef;
use crate::chunk::Chunk;
use crate::cursors::{Cursors, GROWTH_NONE, GROWTH_READY, GROWTH_REQUESTED};
use crate::edge::{CHUNKS_RESERVED, Shared};
use crate::marks::{MarkRules, MarkWriter};
use crate::pool::Pool;
use crate::stamp::Stamp;
use crate::sync::{Arc, Ordering};

/// Number of blocks that the writer must take in a row with no more than one chunk's worth in use, before a
/// surplus chunk goes back to the pool. The value is ours: long enough that a burst every few blocks keeps
/// its chunks, short enough to end after 2.5 ms at 10 M records/s and 384 records a block.
const SURPLUS_AFTER_BLOCKS: u32 = 64;

/// Number of blocks that the writer must take in a row while a reader runs on another core, before the edge
/// grows to [`CROSSING_BYTES`]. The value is ours: a reader that is on another core only once needs no more
/// room.
const CROSSING_AFTER_BLOCKS: u32 = 64;

/// Number of bytes to which an edge between two cores grows, if it may own so many. More than a second-level
/// cache, so that lines have left the reader's cache when they are written again. Less than the third-level
/// cache that both cores share. In measurements, hand-written rings of 1.8 to 7 MB moved the most records per
/// second.
const CROSSING_BYTES: u64 = 2 << 20;

/// An edge whose writer has room grows, to be faster between two cores, only while less than the memory
/// budget divided by this number is in use. The rest is left for the state of operators, which cannot wait.
const CROSSING_BUDGET_SHARE: usize = 4;

/// The only writing end of an edge (invariant B1 of this crate).
pub struct Writer<T: Send + 'static, R: MarkRules> {
    shared: Arc<Shared<T, R>>,
    pool: Arc<Pool>,
    /// Number of records appended to the edge since it was made. All of them are published whenever no
    /// appender is open and all values appended without one are handed over.
    written: u64,
    /// The block that the writer fills at present, if there is one. It may be full, or begun for a record
    /// that was not kept.
    block: Option<BlockRef<T>>,
    /// Number of slots of the current block that are filled; 0 while there is no current block.
    filled: usize,
    block_records: usize,
    /// Blocks of the edge with sequence numbers below this one were read by all readers and recycled.
    recycled: u64,
    /// Blocks of this edge that are not in use; the last one was freed last. Within a core the last one is
    /// used next, because it is in the cache. Between two cores the first one is used next, because it has
    /// left the other core's cache.
    free: VecDeque<BlockRef<T>>,
    chunks: Vec<Chunk<T>>,
    marks_written: u64,
    /// A mark that found the ring of marks full. Its position is `written`, and nothing is appended after it.
    /// `None` if no mark is held back.
    held: Option<R::Mark>,
    /// Number of blocks that the writer has taken in a row while no more than one chunk's worth of blocks was
    /// in use.
    calm_blocks: u32,
    /// Number of blocks that the writer has taken in a row while a reader was on another core.
    crossing_blocks: u32,
}

impl<T: Send + 'static, R: MarkRules> Writer<T, R> {
    pub(crate) fn new(shared: Arc<Shared<T, R>>, pool: Arc<Pool>, chunks: Vec<Chunk<T>>) -> Self {
        let capacity = shared.chunks_max * shared.layout.shape.chunk_blocks as usize;
        let block_records = shared.cursors.block_records() as usize;
        let mut writer = Writer {
            shared,
            pool,
            written: 0,
            block: None,
            filled: 0,
            block_records,
            recycled: 0,
            free: VecDeque::with_capacity(capacity),
            chunks: Vec::with_capacity(chunks.capacity()),
            marks_written: 0,
            held: None,
            calm_blocks: 0,
            crossing_blocks: 0,
        };
        chunks.into_iter().for_each(|chunk| writer.adopt(chunk));
        writer
    }

    /// Returns the cursors of the edge, which schedulers read.
    pub fn cursors(&self) -> &Arc<Cursors> {
        &self.shared.cursors
    }

    /// Opens the edge for appending values. `stamp` is their stamp (time of writing, and two numbers of the
    /// user), which readers see through [`Cursors::head_stamp`].
    #[inline]
    pub fn open(&mut self, stamp: Stamp) -> EdgeAppender<'_, T, R> {
        if self.reclaim() {
            let writer = &self.cursors().writer;
            writer.restart_stamp.store(stamp);
        }
        self.flush_held();
        if self.calm_blocks >= SURPLUS_AFTER_BLOCKS {
            self.shrink();
        }
        // The current block takes no more values if it is full, or if a mark is held back after it.
        let end = if self.block.is_some() && self.held.is_none() { self.block_records } else { self.filled };
        let base = self.written - self.filled as u64;
        let block = self.block.unwrap_or(BlockRef::dangling());
        EdgeAppender { block, len: self.filled, end, base, stamp, writer: self }
    }

    /// Prepares the edge for calls of [`append`](Self::append), until all values are [handed
    /// over](Self::hand_over). Returns the number of values for which there is room. Readers see `stamp`
    /// (time of writing, and two numbers of the user) through [`Cursors::head_stamp`].
    #[inline]
    pub fn begin(&mut self, stamp: Stamp) -> usize {
        self.open(stamp).room()
    }

    /// Returns the number of values that [`append`](Self::append) may still take before the next
    /// [`hand_over`](Self::hand_over).
    #[inline]
    pub fn room_left(&self) -> usize {
        if self.held.is_some() {
            return 0;
        }
        let in_block = if self.block.is_some() { self.block_records - self.filled } else { 0 };
        in_block + self.free.len() * self.block_records
    }

    /// Appends a value, which readers see when it is [handed over](Self::hand_over). Allowed only while there is
    /// [room](Self::room_left).
    ///
    /// # Panics
    /// If there is no free slot.
    #[inline(always)]
    pub fn append(&mut self, value: T, stamp: Stamp) {
        debug_assert!(self.held.is_none(), "a record is appended behind a mark that is held back");
        let block = match self.block {
            Some(block) if self.filled < self.block_records => block,
            _ => self.next_block(self.written, stamp),
        };
        // SAFETY: `filled` is below the block's capacity: it was checked, or the block was begun just now;
        // the block is in use (invariant B5 of this crate).
        let slot = unsafe { block.slot(self.filled) };
        // SAFETY: the position `written` is not published, so by invariant B3 of this crate no other party
        // accesses it; this value is the only writer (B1).
        unsafe { slot.write(value) };
        self.filled += 1;
        self.written += 1;
    }

    /// Returns true if a value was appended to the edge that is not handed over to the readers yet.
    #[inline]
    pub fn has_appended(&self) -> bool {
        self.cursors().written() != self.written
    }

    /// Publishes the values that were appended, so that readers see them.
    ///
    /// # Panics
    /// If a value was appended after a mark that is held back.
    #[inline]
    pub fn hand_over(&mut self) {
        let is_behind = self.held.is_some() && self.has_appended();
        assert!(!is_behind, "a record is appended behind a mark that is held back: check room_left() first");
        self.publish();
    }

    /// Sets a mark after all values handed over. `stamp` is stored as the mark's stamp; see
    /// [`Cursors::mark_stamp`].
    ///
    /// If the ring of marks is full, a mark that may be dropped is dropped and counted. Any other mark is
    /// held back, and with it every record after it: [`Append::room`](crate::Append::room) is zero until
    /// readers have made room.
    ///
    /// # Panics
    /// If another mark is already held back that the new one does not replace: callers check
    /// [`is_held`](Self::is_held) first.
    pub fn mark(&mut self, mark: R::Mark, stamp: Stamp) {
        self.set_mark(mark, stamp);
    }

    /// Returns true if a mark is still held back. Before it answers, it tries to put this mark into the ring.
    pub fn is_held(&mut self) -> bool {
        self.flush_held();
        self.held.is_some()
    }

    /// Returns the number of records that could be appended to the edge now, after blocks that all readers
    /// have passed are taken back.
    pub fn room(&mut self) -> usize {
        self.open(Stamp::default()).room()
    }
    /// Takes back every block that all readers have passed. Returns true if the edge is empty.
    #[inline]
    fn reclaim(&mut self) -> bool {
        // Acquire: pairs with the readers' Release of `read`. The readers have finished with the slots that
        // are reused from now on.
        let read = self.cursors().read_min(self.written, Ordering::Acquire);
        let block_records = self.cursors().block_records();
        while (self.recycled + 1) * block_records <= read {
            let (sequence, block) = (self.recycled, self.shared.block(self.recycled));
            let end = (sequence + 1) * block_records;
            let from = self.shared.first_live(sequence).min(end);
            // The block is counted as recycled before its values are dropped. So a panic in a value's drop
            // may leak the remaining values, but drops none twice and loses no block. The block is not filled
            // again before this function returns.
            self.recycled += 1;
            self.cursors().writer.recycled.store(self.recycled, Ordering::Relaxed);
            self.free.push_back(block);
            if end == self.written && self.filled > 0 {
                // The recycled block is the one that the writer fills at present: it is full, and all its
                // records are read. So the writer has no current block now.
                (self.block, self.filled) = (None, 0);
            }
            // SAFETY: by invariant B3 of this crate the slots from `from` are initialised; every open reader
            // has passed the block, so no party accesses them any more.
            unsafe { self.shared.drop_values(from, end) };
        }
        if self.cursors().writer.growth.load(Ordering::Acquire) == GROWTH_READY {
            let chunk = self.shared.mailbox.lock().take();
            self.cursors().writer.growth.store(GROWTH_NONE, Ordering::Relaxed);
            self.adopt(chunk.expect("growth is ready, so a chunk lies in the mailbox"));
        }
        read == self.written
    }

    fn adopt(&mut self, chunk: Chunk<T>) {
        // Within a core the last block of the list is used next. So the new blocks, which are not in the
        // cache yet, go before the blocks that were used already.
        let hot = self.free.len();
        self.free.extend(chunk.blocks());
        self.free.rotate_left(hot);
        self.chunks.push(chunk);
        self.count_blocks();
    }

    fn count_blocks(&self) {
        let blocks = self.chunks.len() * self.shared.layout.shape.chunk_blocks as usize;
        let records = blocks as u64 * self.cursors().block_records();
        self.cursors().writer.capacity_records.store(records, Ordering::Relaxed);
    }

    /// Requests a chunk if fewer blocks are free than a chunk has, or if more chunks make the edge faster.
    /// Otherwise counts for how many blocks in a row at most one chunk's worth of blocks was in use.
    fn grow_or_calm(&mut self) {
        let chunk_blocks = self.shared.layout.shape.chunk_blocks as usize;
        let is_crossing = self.crossing_blocks >= CROSSING_AFTER_BLOCKS;
        if self.free.len() < chunk_blocks || is_crossing && self.may_grow_for_speed() {
            self.calm_blocks = 0;
            let growth = &self.shared.cursors.writer.growth;
            if self.chunks.len() < self.shared.chunks_max && growth.load(Ordering::Relaxed) == GROWTH_NONE {
                // Relaxed: this is only a flag; the request for a chunk itself travels under the pool's lock.
                growth.store(GROWTH_REQUESTED, Ordering::Relaxed);
                let edge: Weak<Shared<T, R>> = Arc::downgrade(&self.shared);
                self.pool.request(edge);
            }
            return;
        }
        let in_use = self.chunks.len() * chunk_blocks - self.free.len();
        let is_calm = in_use <= chunk_blocks && !is_crossing;
        self.calm_blocks = if is_calm { self.calm_blocks.saturating_add(1) } else { 0 };
    }

    /// Returns true if one more chunk would make the edge, whose ends are on two cores, faster, although the
    /// writer does not lack room. True at most once per [`CROSSING_AFTER_BLOCKS`] blocks that the writer
    /// takes.
    fn may_grow_for_speed(&self) -> bool {
        let budget = self.pool.budget();
        self.crossing_blocks.is_multiple_of(CROSSING_AFTER_BLOCKS)
            && self.cursors().chunk_bytes() < CROSSING_BYTES
            && budget.used_bytes() < budget.limit_bytes() / CROSSING_BUDGET_SHARE
    }

    /// Gives a chunk back to the pool if one is free, because at most one chunk's worth of blocks was in use
    /// for [`SURPLUS_AFTER_BLOCKS`] blocks in a row. Allowed only before room is reported to a caller,
    /// because the reported room must stay valid until the appender is dropped.
    #[cold]
    fn shrink(&mut self) {
        self.calm_blocks = 0;
        if self.chunks.len() <= CHUNKS_RESERVED as usize {
            return;
        }
        let chunk_blocks = self.shared.layout.shape.chunk_blocks as usize;
        let is_free =
            |chunk: &Chunk<T>| self.free.iter().filter(|&&block| chunk.owns(block)).count() == chunk_blocks;
        if let Some(index) = self.chunks.iter().position(is_free) {
            let chunk = self.chunks.swap_remove(index);
            self.free.retain(|&block| !chunk.owns(block));
            self.count_blocks();
            self.pool.take_back(chunk);
        }
    }

    #[inline]
    fn publish(&self) {
        // Release: the slots, ring entries and marks that were written before this become visible to readers
        // (invariants B3 and B4 of this crate).
        self.cursors().writer.written.store(self.written, Ordering::Release);
    }
}

impl<T: Send + 'static, R: MarkRules> MarkWriter<R> for Writer<T, R> {
    fn mark_cursors(&self) -> &Cursors {
        &self.shared.cursors
    }

    fn held(&self) -> Option<R::Mark> {
        self.held
    }

    fn set_held(&mut self, mark: Option<R::Mark>) {
        self.held = mark;
    }

    fn mark_room(&self) -> u64 {
        // Acquire: pairs with the reader's Release of `marks_read`, so that the slot of a read mark may be
        // written again.
        let unread = self.marks_written - self.mark_cursors().marks_read_min(Ordering::Acquire);
        self.shared.marks.capacity() - unread
    }

    fn publish_mark(&mut self, mark: R::Mark) {
        assert!(!self.has_appended(), "a mark stands behind what was handed over");
        // SAFETY: this value is the only writer (invariant B1 of this crate); the index is unpublished, and
        // `mark_room` has seen, with Acquire, that the mark which had its slot was read.
        unsafe { self.shared.marks.set(self.marks_written, self.written, mark) };
        self.marks_written += 1;
        self.mark_cursors().writer.marks_written.store(self.marks_written, Ordering::Release);
    }
}

impl<T: Send + 'static, R: MarkRules> Writer<T, R> {
    /// Begins the next block of the edge, whose first slot has the position `written`, and stores the stamp
    /// of its values.
    #[cold]
    #[inline(never)]
    fn next_block(&mut self, written: u64, stamp: Stamp) -> BlockRef<T> {
        assert!(
            self.held.is_none(),
            "a record is pushed behind a mark that is held back: check room() first"
        );
        let crosses = self.cursors().crosses();
        self.crossing_blocks = if crosses { self.crossing_blocks.wrapping_add(1).max(1) } else { 0 };
        let block = if crosses { self.free.pop_front() } else { self.free.pop_back() };
        let block = block.expect("a record is pushed without room: check room() first");
        self.grow_or_calm();
        self.written = written;
        let sequence = written / self.cursors().block_records();
        block.begin_life(sequence, stamp);
        self.shared.set_block(sequence, block);
        // From here on the new block is the current one, even if the appender is forgotten (by
        // `mem::forget`).
        (self.block, self.filled) = (Some(block), 0);
        block
    }
}

/// An edge that is open for writing: values pushed here are published when this value is dropped.
///
/// The fields of an appender live in registers while all code around it is inlined. Functions that are called
/// out of line get copies of the fields, never a reference to the appender.
pub struct EdgeAppender<'a, T: Send + 'static, R: MarkRules> {
    /// The block that is being filled; while there is none (`len` and `end` are 0), a pointer that must not
    /// be used.
    block: BlockRef<T>,
    /// Number of slots of the block being filled that already hold a value.
    len: usize,
    /// Number of slots of the block being filled; equal to `len` if nothing may be appended to it.
    end: usize,
    /// Position in the edge of the first slot of the block being filled.
    base: u64,
    stamp: Stamp,
    writer: &'a mut Writer<T, R>,
}

impl<T: Send + 'static, R: MarkRules> Slots<T> for EdgeAppender<'_, T, R> {
    #[inline]
    fn room_in_all(&self) -> usize {
        if self.writer.held.is_some() {
            return 0;
        }
        (self.end - self.len) + self.writer.free.len() * self.writer.block_records
    }

    #[inline(always)]
    fn room_in_block(&self) -> usize {
        self.end - self.len
    }

    #[inline(always)]
    fn make_slot(&mut self) {
        if self.len == self.end {
            let written = self.base + self.len as u64;
            self.block = self.writer.next_block(written, self.stamp);
            self.base = written;
            self.len = 0;
            self.end = self.writer.block_records;
        }
    }

    #[inline(always)]
    unsafe fn fill(&mut self, value: T, counted: usize) {
        // SAFETY: callers have seen `len < end`, which is at most the block's capacity; the block is in use
        // (invariant B5 of this crate).
        let slot = unsafe { self.block.slot(self.len) };
        // SAFETY: the position `base + len` is at or above `written`, where by invariant B3 of this crate no
        // other party accesses a slot; this value is the only writer (B1).
        unsafe { slot.write(value) };
        self.len += counted;
    }
}

impl<T: Send + 'static, R: MarkRules> Drop for EdgeAppender<'_, T, R> {
    #[inline(always)]
    fn drop(&mut self) {
        (self.writer.written, self.writer.filled) = (self.base + self.len as u64, self.len);
        self.writer.publish();
    }
}

impl<T: Send + 'static, R: MarkRules> Drop for Writer<T, R> {
    fn drop(&mut self) {
        // Readers may still read the blocks, so the edge keeps the chunks of its writer (invariant B5).
        *self.shared.kept.lock() = std::mem::take(&mut self.chunks);
    }
}
