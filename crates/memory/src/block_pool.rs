//! A block pool: blocks of one type that are handed from owner to owner. An empty block returns to the core
//! at which it was filled.
//!
//! ```text
//!   core 0   [b4, b1]  --take-->  BlockWriter --fill--> Block --hand over--> drain --give back-->  core 0
//!   core 1   [b7]                 (of a writer)   (of its owner)                             front if it is still in
//!    ...                                                                                     that core's cache, else back
//! ```
//!
//! An edge keeps its blocks in order, for one writer. A block pool serves many writers, and promises no
//! order: the parties that hand blocks over take care of that. Each core, or other unit with a cache of its
//! own, has a free list. A block that is emptied on the core where it was filled is the next to be filled
//! there. A block that was emptied on another core goes to the end of the free list, so that its lines have
//! left the other core's cache by the time they are written again.
//!
//! The number of chunks is bounded, and chunks are paid from the budget, as for an edge; the first two are
//! made with the block pool. If the free list of a core is empty, a block is taken from another core's list,
//! and stays with the new core. The block pool then also requests a chunk.
//!
//! Invariant B7 of this crate: a block of a block pool is on the free list of one core, or is owned by one
//! [`BlockWriter`] or [`Block`].

use std::collections::VecDeque;
use std::sync::Weak;

use crate::appender::Slots;
use crate::block::BlockRef;
use crate::chunk::{Chunk, ChunkLayout};
use crate::edge::{CHUNKS_RESERVED, EdgeError, EdgeOptions};
use crate::pool::{Grow, Pool};
use crate::run::{Drain, Passing, Run};
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, CacheAligned, Mutex, Ordering, fence};

/// Maximum number of empty blocks that a block writer keeps beside the block that it fills.
/// [`BlockWriter::open`] takes so many from the block pool, and the appender that it returns fills no others.
const IN_HAND_MAX: usize = 2;

/// A block pool: the free lists of all cores, and the chunks from which the blocks were cut.
pub struct BlockPool<T: Send + 'static> {
    cores: Box<[Arc<CoreList<T>>]>,
    common: Arc<Common<T>>,
}

/// State of a block pool that the free lists of all cores share.
struct Common<T> {
    pool: Arc<Pool>,
    layout: ChunkLayout,
    slot_bytes: u64,
    chunks_max: usize,
    /// All chunks of the block pool. Their blocks stay valid while the list of any core lives, and each block
    /// holds a reference to the list of its core.
    chunks: Mutex<Vec<Chunk<T>>>,
    /// Number of chunks of the block pool. Relaxed: only for reports.
    chunk_count: AtomicUsize,
    /// True while a chunk is requested from the pool of chunks and the request is not answered. Relaxed: the
    /// request itself travels under the pool's lock.
    is_growing: AtomicBool,
    /// True if a writer has found no free block since this flag was last reset; see
    /// [`BlockPool::take_starved`].
    is_starved: AtomicBool,
    /// Number that [`Pool::grow_step`] returns when it has made a chunk for the block pool, so that its
    /// caller can notify the writers. Relaxed: set before the block pool is used.
    writer_name: AtomicU64,
}

/// The free blocks of one core, with the state that all cores share.
struct CoreList<T> {
    index: usize,
    common: Arc<Common<T>>,
    free_list: CacheAligned<FreeList<T>>,
}

struct FreeList<T> {
    free: Mutex<VecDeque<BlockRef<T>>>,
    /// Number of empty blocks on the free list of one core. Stored under the lock; Relaxed: a hint for
    /// readers without the lock.
    count: AtomicUsize,
}

impl<T: Send + 'static> BlockPool<T> {
    /// Creates a block pool for this many cores, whose chunks come from `pool`.
    ///
    /// # Errors
    /// As for [`edge`](crate::edge::edge).
    pub fn new(pool: &Arc<Pool>, options: EdgeOptions, cores: usize) -> Result<Arc<Self>, EdgeError> {
        let layout = ChunkLayout::new::<T>(options.shape).map_err(EdgeError::Shape)?;
        let common = Arc::new(Common {
            pool: Arc::clone(pool),
            layout,
            slot_bytes: size_of::<T>().max(1) as u64,
            chunks_max: options.chunks_max.max(CHUNKS_RESERVED) as usize,
            chunks: Mutex::new(Vec::new()),
            chunk_count: AtomicUsize::new(0),
            is_growing: AtomicBool::new(false),
            is_starved: AtomicBool::new(false),
            writer_name: AtomicU64::new(0),
        });
        let core = |index| {
            let free_list = FreeList { free: Mutex::new(VecDeque::new()), count: AtomicUsize::new(0) };
            Arc::new(CoreList { index, common: Arc::clone(&common), free_list: CacheAligned(free_list) })
        };
        let block_pool =
            BlockPool { cores: (0..cores.max(1)).map(core).collect(), common: Arc::clone(&common) };
        for place in 0..CHUNKS_RESERVED as usize {
            block_pool.cores[place % block_pool.cores.len()].adopt(pool.chunk(layout)?);
        }
        Ok(Arc::new(block_pool))
    }

    /// Creates a block writer, which has no blocks yet.
    pub fn block_writer(self: &Arc<Self>) -> BlockWriter<T> {
        BlockWriter {
            block_pool: Arc::clone(self),
            filling: None,
            in_hand: VecDeque::with_capacity(IN_HAND_MAX),
            full: VecDeque::new(),
        }
    }

    /// Sets the number that [`Pool::grow_step`] returns when it has made a chunk for this block pool. The
    /// block pool does not interpret this number.
    pub fn name_writer(&self, name: u64) {
        self.common.writer_name.store(name, Ordering::Relaxed);
    }

    /// Returns true if there is a free block. If there is none, a flag is set: the party that gives a block
    /// back then finds that a writer [was starved](Self::take_starved). The lists are read once more after a
    /// fence, so a block that is given back meanwhile is not missed.
    pub fn has_free(&self) -> bool {
        let any = || self.cores.iter().any(|core| core.free_list.count.load(Ordering::Relaxed) > 0);
        if any() {
            return true;
        }
        self.common.is_starved.store(true, Ordering::Relaxed);
        // SeqCst: pairs with the fence in `take_starved`. Either the party that gives a block back sees the
        // flag set above, or the read below sees the block that it gave back.
        fence(Ordering::SeqCst);
        any()
    }

    /// Returns true if a writer has found no free block since the last call. Called after a block was given
    /// back, to notify such writers.
    pub fn take_starved(&self) -> bool {
        // SeqCst: this fence pairs with the fence in `has_free`, so that a starved writer is not overlooked.
        fence(Ordering::SeqCst);
        self.common.is_starved.load(Ordering::Relaxed) && self.common.is_starved.swap(false, Ordering::AcqRel)
    }

    /// Returns the number of chunks that the block pool owns.
    pub fn chunks(&self) -> u64 {
        self.common.chunk_count.load(Ordering::Relaxed) as u64
    }

    /// Returns the number of bytes in the chunks of the block pool.
    pub fn chunk_bytes(&self) -> u64 {
        self.chunks() * self.common.layout.chunk_bytes as u64
    }

    /// Returns the size of a value in bytes, at least 1.
    pub fn slot_bytes(&self) -> u64 {
        self.common.slot_bytes
    }

    /// Returns the number of records that fit into a block.
    pub fn block_records(&self) -> usize {
        self.common.layout.shape.block_records as usize
    }

    /// Takes a free block from the pool, to be filled on `core`. When the block is empty again, it goes to
    /// the free list of `core`. Returns `None` if no core has a free block.
    fn take(&self, core: usize) -> Option<(BlockRef<T>, Arc<CoreList<T>>)> {
        let own = &self.cores[core % self.cores.len()];
        let block = own.take().or_else(|| {
            own.ask_for_chunk();
            self.cores.iter().find_map(|other| other.take())
        });
        block.map(|block| (block, Arc::clone(own)))
    }
}

impl<T: Send + 'static> CoreList<T> {
    fn take(&self) -> Option<BlockRef<T>> {
        if self.free_list.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut free = self.free_list.free.lock();
        let block = free.pop_front();
        self.free_list.count.store(free.len(), Ordering::Relaxed);
        block
    }

    /// Puts an empty block without an owner on this core's free list. A block that is still in the cache
    /// (`is_hot`) goes to the front of the list, so it is taken first; any other block goes to the end.
    fn put(&self, block: BlockRef<T>, is_hot: bool) {
        let mut free = self.free_list.free.lock();
        if is_hot {
            free.push_front(block);
        } else {
            free.push_back(block);
        }
        self.free_list.count.store(free.len(), Ordering::Relaxed);
    }

    fn adopt(&self, chunk: Chunk<T>) {
        let blocks: Vec<BlockRef<T>> = chunk.blocks().collect();
        self.common.chunks.lock().push(chunk);
        self.common.chunk_count.fetch_add(1, Ordering::Relaxed);
        let mut free = self.free_list.free.lock();
        free.extend(blocks);
        self.free_list.count.store(free.len(), Ordering::Relaxed);
    }

    fn ask_for_chunk(self: &Arc<Self>) {
        let common = &self.common;
        let may_grow = common.chunk_count.load(Ordering::Relaxed) < common.chunks_max;
        if may_grow && !common.is_growing.swap(true, Ordering::Relaxed) {
            let core: Weak<CoreList<T>> = Arc::downgrade(self);
            common.pool.request(core);
        }
    }
}

impl<T: Send + 'static> Grow for CoreList<T> {
    fn grow(&self, pool: &Pool) -> u64 {
        let Common { layout, chunks_max, chunk_count, is_growing, writer_name, .. } = &*self.common;
        // If no chunk can be made, backpressure slows the writers, and they may request a chunk again.
        if chunk_count.load(Ordering::Relaxed) < *chunks_max
            && let Ok(chunk) = pool.chunk(*layout)
        {
            self.adopt(chunk);
        }
        is_growing.store(false, Ordering::Relaxed);
        writer_name.load(Ordering::Relaxed)
    }
}

/// A block writer: fills blocks of a block pool, one after the other, for one writer.
pub struct BlockWriter<T: Send + 'static> {
    block_pool: Arc<BlockPool<T>>,
    /// The block that this writer is filling at the moment; `None` if there is none.
    filling: Option<Block<T>>,
    /// Empty blocks that this block writer fills next, the first one first; at most [`IN_HAND_MAX`].
    in_hand: VecDeque<Block<T>>,
    /// Blocks that wait to be handed over: this block writer has filled them, or has ended them by
    /// [`seal`](Self::seal) before they were full. They are in the order in which they were filled.
    full: VecDeque<Block<T>>,
}

impl<T: Send + 'static> BlockWriter<T> {
    /// Returns the block pool from which this writer takes its blocks.
    pub fn block_pool(&self) -> &Arc<BlockPool<T>> {
        &self.block_pool
    }

    /// Opens the writer for filling blocks on `core`. First takes empty blocks from the block pool, until the
    /// writer has 2 empty blocks or the block pool has none left.
    #[inline]
    pub fn open(&mut self, core: usize) -> BlockAppender<'_, T> {
        while self.in_hand.len() < IN_HAND_MAX
            && let Some((block, core)) = self.block_pool.take(core)
        {
            self.in_hand.push_back(Block { run: Run { block, next: 0, end: 0 }, core, is_hot: false });
        }
        let (block, len, end) = match &self.filling {
            Some(filling) => (Some(filling.run.block), filling.run.end, self.slots()),
            None => (None, 0, 0),
        };
        let further = self.in_hand.len() * self.slots();
        BlockAppender { block: block.unwrap_or(BlockRef::dangling()), len, end, further, block_writer: self }
    }

    /// Returns the number of records in the block that is being filled.
    pub fn filling_count(&self) -> usize {
        self.filling.as_ref().map_or(0, |filling| filling.run.end)
    }

    /// Returns true if this writer has no full block that waits to be handed over.
    pub fn is_settled(&self) -> bool {
        self.full.is_empty()
    }

    /// Ends the block that is being filled, if it holds a record, so that it can be handed over.
    pub fn seal(&mut self) {
        let (filling, full) = (&mut self.filling, &mut self.full);
        full.extend(filling.take_if(|filling| filling.run.end > 0));
    }

    /// Gives the empty blocks of this writer back to the block pool, because another writer may need them.
    pub fn rest(&mut self) {
        self.filling
            .take_if(|filling| filling.run.end == 0)
            .into_iter()
            .for_each(|block| block.give_back(true));
        self.in_hand.drain(..).rev().for_each(|block| block.give_back(true));
    }

    /// Removes and returns the writer's next full block; `None` if there is none.
    pub fn take_full(&mut self) -> Option<Block<T>> {
        self.full.pop_front()
    }
}

impl<T: Send + 'static> BlockWriter<T> {
    #[inline(always)]
    fn slots(&self) -> usize {
        self.block_pool.block_records()
    }

    /// Ends the current block, of which `filled` slots are filled, and begins the next of the empty blocks
    /// that the writer keeps.
    #[cold]
    #[inline(never)]
    fn next_block(&mut self, filled: usize) -> BlockRef<T> {
        if let Some(mut filling) = self.filling.take() {
            filling.run.end = filled;
            self.full.push_back(filling);
        }
        let next = self.in_hand.pop_front().expect("a record is pushed without room: check room() first");
        let block = next.run.block;
        self.filling = Some(next);
        block
    }
}

/// A block writer that is open for filling. Values pushed here count as values of its blocks only when this
/// appender is dropped.
pub struct BlockAppender<'a, T: Send + 'static> {
    /// The block that is being filled; while there is none (`len` and `end` are 0), a pointer that must not
    /// be used.
    block: BlockRef<T>,
    /// Number of slots of the block being filled that already hold a value.
    len: usize,
    /// Number of slots in the block being filled; 0 if there is no such block.
    end: usize,
    /// Number of values that fit into the empty blocks of the block writer; the block being filled is not
    /// counted.
    further: usize,
    block_writer: &'a mut BlockWriter<T>,
}

impl<T: Send + 'static> Slots<T> for BlockAppender<'_, T> {
    #[inline(always)]
    fn room_in_all(&self) -> usize {
        self.end - self.len + self.further
    }

    #[inline(always)]
    fn room_in_block(&self) -> usize {
        self.end - self.len
    }

    #[inline(always)]
    fn make_slot(&mut self) {
        if self.len == self.end {
            self.block = self.block_writer.next_block(self.len);
            self.end = self.block_writer.slots();
            self.further -= self.end;
            self.len = 0;
        }
    }

    #[inline(always)]
    unsafe fn fill(&mut self, value: T, counted: usize) {
        // SAFETY: callers have seen `len < end`, where `end` is the block's capacity; the block writer owns
        // the block (invariant B7 of this crate).
        let slot = unsafe { self.block.slot(self.len) };
        // SAFETY: the block writer is borrowed, and no other party accesses its block (invariant B7 of this
        // crate).
        unsafe { slot.write(value) };
        self.len += counted;
    }
}

impl<T: Send + 'static> Drop for BlockAppender<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(filling) = &mut self.block_writer.filling {
            filling.run.end = self.len;
        }
    }
}

/// A block of a block pool with its values, which has one owner.
pub struct Block<T: Send + 'static> {
    /// The values of the block that are not taken yet.
    run: Run<T>,
    core: Arc<CoreList<T>>,
    /// True if the slots of the block are in the cache of its core, as far as the user of the block knows.
    is_hot: bool,
}

impl<T: Send + 'static> Passing for Run<T> {
    #[inline(always)]
    fn pass(&mut self, count: usize) {
        self.next += count;
    }

    #[inline(always)]
    fn publish(&mut self) {}
}

/// The values of an owned block, which are moved out one by one.
pub type BlockDrain<'a, T> = Drain<'a, T, Run<T>>;

// SAFETY: through a shared reference, values and counts are only read, which `T: Sync` allows. A party that
// moves a value out has the block for itself (invariant B7 of this crate).
unsafe impl<T: Send + Sync + 'static> Sync for Block<T> {}

impl<T: Send + 'static> Block<T> {
    /// Returns the number of values in the block that have not been moved out yet.
    pub fn len(&self) -> usize {
        self.run.end - self.run.next
    }

    /// Returns true if all values of the block have been moved out.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the core at which the block was filled.
    pub fn core(&self) -> usize {
        self.core.index
    }

    /// Returns the next values of the block, at most `max` of them, to be moved out.
    #[inline]
    pub fn drain(&mut self, max: usize) -> BlockDrain<'_, T> {
        let Run { block, next, end } = self.run;
        Drain::new(Run { block, next, end: end.min(next.saturating_add(max)) }, &mut self.run)
    }

    /// Calls `look` with the value `offset` places after the next value to be taken; 0 is that value itself.
    /// The value stays in the block. So several threads may read one block, if `T: Sync`.
    ///
    /// # Panics
    /// If the block has no such value.
    #[inline(always)]
    pub fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&T) -> Q) -> Q {
        self.run.look(offset, look)
    }

    /// Gives the block back to its core's free list; values that were not taken are dropped. `is_hot` says
    /// that the block was filled and emptied at one core, so that its slots are in that core's cache.
    pub fn give_back(mut self, is_hot: bool) {
        self.is_hot = is_hot;
    }

    fn empty(&mut self) {
        if const { !std::mem::needs_drop::<T>() } {
            return;
        }
        while self.run.next < self.run.end {
            let place = self.run.next;
            // The value is counted as taken before it is dropped. So a panic in its drop leaks the remaining
            // values, but drops none twice.
            self.run.next += 1;
            // SAFETY: the slot is in `next..end`, so the block writer that filled the block has initialised
            // it; the start of the range has been moved past its index, so its value is moved out once.
            drop(unsafe { self.run.take_out(place) });
        }
    }
}

impl<T: Send + 'static> Drop for Block<T> {
    fn drop(&mut self) {
        /// Puts the block on its core's free list when this guard is dropped, even if the drop of a value
        /// panics.
        struct Put<'a, T: Send + 'static>(&'a mut Block<T>);
        impl<T: Send + 'static> Drop for Put<'_, T> {
            fn drop(&mut self) {
                self.0.core.put(self.0.run.block, self.0.is_hot);
            }
        }
        let put = Put(self);
        put.0.empty();
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
