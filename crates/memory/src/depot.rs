//! A depot: blocks of one type that go from hand to hand. Each is owned by whoever has it, and comes back when it is
//! empty, to the home that it was filled at.
//!
//! ```text
//!   home 0   [b4, b1]  --take-->  Stock --fill--> Block --hand over--> drain --give back-->  home 0
//!   home 1   [b7]                 (of a writer)   (of whoever has it)                        front if it is still in
//!    ...                                                                                     that home's cache, else back
//! ```
//!
//! An edge keeps its blocks in order, for one writer; a depot serves many writers, and says nothing of order: that is for
//! those who hand blocks over. A home is a core, or whatever has a cache of its own. A block that is emptied at the home
//! it was filled at is the next to be filled there; one that comes from another home goes to the end of the queue, so
//! that its lines have left the other's cache by the time they are written again.
//!
//! Chunks are bounded, and paid from the budget, as those of an edge are; two are reserved. A home that has no block left
//! takes one of another home's, which is its own from then on, and asks the pool for a chunk.
//!
//! Invariant B7 of this room: a block of a depot lies on the shelf of one home, or is owned by one [`Stock`] or [`Block`].

use std::collections::VecDeque;
use std::sync::Weak;

use crate::block::BlockRef;
use crate::chunk::{Chunk, ChunkLayout};
use crate::edge::{CHUNKS_RESERVED, EdgeError, EdgeOptions};
use crate::pool::{Grow, Pool};
use crate::run::{Drain, Passing, Run};
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, CacheAligned, Mutex, Ordering, fence};

/// Empty blocks that a writer takes at a time: with the one it fills they last until it looks for room again.
const IN_HAND_MAX: usize = 2;

/// The free blocks of all homes.
pub struct Depot<T: Send + 'static> {
    homes: Box<[Arc<Home<T>>]>,
    common: Arc<Common<T>>,
}

/// What all homes share.
struct Common<T> {
    pool: Arc<Pool>,
    layout: ChunkLayout,
    slot_bytes: u64,
    chunks_max: usize,
    /// All chunks, so that their blocks stay valid while there is a home, and a home lives while there is a block of it.
    chunks: Mutex<Vec<Chunk<T>>>,
    /// How many there are. Relaxed: a figure for reports.
    chunk_count: AtomicUsize,
    /// Whether the pool was asked for a chunk and has not answered. Relaxed: the request travels under the pool's lock.
    is_growing: AtomicBool,
    /// Whether somebody has found no free block since this was last taken back; see [`Depot::take_starved`].
    is_starved: AtomicBool,
    /// See [`Cursors::name_writer`](crate::Cursors::name_writer). Relaxed: set before the depot is used.
    writer_name: AtomicU64,
}

/// The blocks of one home.
struct Home<T> {
    index: usize,
    common: Arc<Common<T>>,
    shelf: CacheAligned<Shelf<T>>,
}

struct Shelf<T> {
    free: Mutex<VecDeque<BlockRef<T>>>,
    /// Its length. Stored under the lock; Relaxed: a hint for those who look without it.
    count: AtomicUsize,
}

impl<T: Send + 'static> Depot<T> {
    /// A depot for so many homes, whose chunks come from `pool`.
    ///
    /// # Errors
    /// As for [`edge`](crate::edge::edge).
    pub fn new(pool: &Arc<Pool>, options: EdgeOptions, homes: usize) -> Result<Arc<Self>, EdgeError> {
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
        let home = |index| {
            let shelf = Shelf { free: Mutex::new(VecDeque::new()), count: AtomicUsize::new(0) };
            Arc::new(Home { index, common: Arc::clone(&common), shelf: CacheAligned(shelf) })
        };
        let depot = Depot { homes: (0..homes.max(1)).map(home).collect(), common: Arc::clone(&common) };
        for place in 0..CHUNKS_RESERVED as usize {
            depot.homes[place % depot.homes.len()].adopt(pool.chunk(layout)?);
        }
        Ok(Arc::new(depot))
    }

    /// A writer's end, with nothing in hand.
    pub fn stock(self: &Arc<Self>) -> Stock<T> {
        Stock {
            depot: Arc::clone(self),
            filling: None,
            in_hand: VecDeque::with_capacity(IN_HAND_MAX),
            full: VecDeque::new(),
        }
    }

    /// Gives the writers an opaque number, which [`Pool::grow_step`] answers when it has served the depot.
    pub fn name_writer(&self, name: u64) {
        self.common.writer_name.store(name, Ordering::Relaxed);
    }

    /// Whether there is a free block. If not, whoever gives one back finds that somebody
    /// [was starved](Self::take_starved); who looks once more after a fence misses neither.
    pub fn has_free(&self) -> bool {
        let any = || self.homes.iter().any(|home| home.shelf.count.load(Ordering::Relaxed) > 0);
        if any() {
            return true;
        }
        self.common.is_starved.store(true, Ordering::Relaxed);
        // SeqCst: pairs with the fence in `take_starved`. Of the note above and the block given back there, either that
        // side sees the note, or the look below sees the block.
        fence(Ordering::SeqCst);
        any()
    }

    /// Takes back the note that somebody has found no free block: to be asked after a block was given back.
    pub fn take_starved(&self) -> bool {
        // SeqCst: as in `has_free`.
        fence(Ordering::SeqCst);
        self.common.is_starved.load(Ordering::Relaxed) && self.common.is_starved.swap(false, Ordering::AcqRel)
    }

    /// Chunks that the depot owns.
    pub fn chunks(&self) -> u64 {
        self.common.chunk_count.load(Ordering::Relaxed) as u64
    }

    /// Bytes of these chunks.
    pub fn chunk_bytes(&self) -> u64 {
        self.chunks() * self.common.layout.chunk_bytes as u64
    }

    /// Bytes of one value, at least 1.
    pub fn slot_bytes(&self) -> u64 {
        self.common.slot_bytes
    }

    /// Records that a block holds.
    pub fn block_records(&self) -> usize {
        self.common.layout.shape.block_records as usize
    }

    /// A free block, for `home` from now on.
    fn take(&self, home: usize) -> Option<(BlockRef<T>, Arc<Home<T>>)> {
        let own = &self.homes[home % self.homes.len()];
        let block = own.take().or_else(|| {
            own.ask_for_chunk();
            self.homes.iter().find_map(|other| other.take())
        });
        block.map(|block| (block, Arc::clone(own)))
    }
}

impl<T: Send + 'static> Home<T> {
    fn take(&self) -> Option<BlockRef<T>> {
        if self.shelf.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut free = self.shelf.free.lock();
        let block = free.pop_front();
        self.shelf.count.store(free.len(), Ordering::Relaxed);
        block
    }

    /// Takes a block that nobody owns any more. What is in the cache is used first.
    fn put(&self, block: BlockRef<T>, is_hot: bool) {
        let mut free = self.shelf.free.lock();
        if is_hot {
            free.push_front(block);
        } else {
            free.push_back(block);
        }
        self.shelf.count.store(free.len(), Ordering::Relaxed);
    }

    fn adopt(&self, chunk: Chunk<T>) {
        let blocks: Vec<BlockRef<T>> = chunk.blocks().collect();
        self.common.chunks.lock().push(chunk);
        self.common.chunk_count.fetch_add(1, Ordering::Relaxed);
        let mut free = self.shelf.free.lock();
        free.extend(blocks);
        self.shelf.count.store(free.len(), Ordering::Relaxed);
    }

    fn ask_for_chunk(self: &Arc<Self>) {
        let common = &self.common;
        let may_grow = common.chunk_count.load(Ordering::Relaxed) < common.chunks_max;
        if may_grow && !common.is_growing.swap(true, Ordering::Relaxed) {
            let home: Weak<Home<T>> = Arc::downgrade(self);
            common.pool.request(home);
        }
    }
}

impl<T: Send + 'static> Grow for Home<T> {
    fn grow(&self, pool: &Pool) -> u64 {
        let Common { layout, chunks_max, chunk_count, is_growing, writer_name, .. } = &*self.common;
        // Without a chunk, backpressure does the rest, and writers may ask again.
        if chunk_count.load(Ordering::Relaxed) < *chunks_max
            && let Ok(chunk) = pool.chunk(*layout)
        {
            self.adopt(chunk);
        }
        is_growing.store(false, Ordering::Relaxed);
        writer_name.load(Ordering::Relaxed)
    }
}

/// The end of one writer: fills blocks, one after the other.
pub struct Stock<T: Send + 'static> {
    depot: Arc<Depot<T>>,
    /// What is being filled.
    filling: Option<Block<T>>,
    /// Blocks to be filled next.
    in_hand: VecDeque<Block<T>>,
    /// Blocks that are full, or sealed, in the order in which they were filled.
    full: VecDeque<Block<T>>,
}

impl<T: Send + 'static> Stock<T> {
    /// The depot.
    pub fn depot(&self) -> &Arc<Depot<T>> {
        &self.depot
    }

    /// Opens it for filling, at `home`.
    #[inline]
    pub fn open(&mut self, home: usize) -> Filler<'_, T> {
        while self.in_hand.len() < IN_HAND_MAX
            && let Some((block, home)) = self.depot.take(home)
        {
            self.in_hand.push_back(Block { run: Run { block, next: 0, end: 0 }, home, is_hot: false });
        }
        let capacity = self.depot.block_records();
        let (block, len, end) = match &self.filling {
            Some(filling) => (filling.run.block, filling.run.end, capacity),
            None => (BlockRef::dangling(), 0, 0),
        };
        Filler { block, len, end, further: self.in_hand.len() * capacity, stock: self }
    }

    /// Records in what is being filled.
    pub fn filling_count(&self) -> usize {
        self.filling.as_ref().map_or(0, |filling| filling.run.end)
    }

    /// Whether nothing is full.
    pub fn is_settled(&self) -> bool {
        self.full.is_empty()
    }

    /// Ends what is being filled, if it holds a record.
    pub fn seal(&mut self) {
        let (filling, full) = (&mut self.filling, &mut self.full);
        full.extend(filling.take_if(|filling| filling.run.end > 0));
    }

    /// Gives back what is in hand and empty: somebody else may need it meanwhile.
    pub fn rest(&mut self) {
        self.filling
            .take_if(|filling| filling.run.end == 0)
            .into_iter()
            .for_each(|block| block.give_back(true));
        self.in_hand.drain(..).rev().for_each(|block| block.give_back(true));
    }

    /// The next full block.
    pub fn take_full(&mut self) -> Option<Block<T>> {
        self.full.pop_front()
    }

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

/// A stock that is open: values pushed here belong to its blocks when this is dropped.
///
/// Its fields live in registers while everything around it is inlined, as those of an [`Appender`](crate::Appender).
pub struct Filler<'a, T: Send + 'static> {
    /// What is being filled; dangling while `len == end == 0`.
    block: BlockRef<T>,
    len: usize,
    /// Its capacity.
    end: usize,
    /// Records that fit into what is in hand behind it.
    further: usize,
    stock: &'a mut Stock<T>,
}

impl<T: Send + 'static> Filler<'_, T> {
    /// How many values may be pushed.
    #[inline(always)]
    pub fn room(&self) -> usize {
        self.end - self.len + self.further
    }

    /// Appends a value.
    ///
    /// # Panics
    /// If there is no room.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        self.make_slot();
        self.fill(value);
        self.len += 1;
    }

    /// As [`Appender::make_ready`](crate::Appender::make_ready).
    #[inline]
    pub fn make_ready(&mut self, wanted: usize) -> usize {
        if self.len == self.end && wanted > 0 && self.room() > 0 {
            self.make_slot();
        }
        wanted.min(self.end - self.len)
    }

    /// As [`Appender::push_within`](crate::Appender::push_within).
    ///
    /// # Panics
    /// If the block is full.
    #[inline(always)]
    pub fn push_within(&mut self, value: T) {
        assert!(self.len < self.end, "a record is pushed behind the block: call make_ready first");
        self.fill(value);
        self.len += 1;
    }

    /// As [`Appender::push_if`](crate::Appender::push_if).
    ///
    /// # Panics
    /// If there is no room, whatever `keep` says.
    #[inline(always)]
    pub fn push_if(&mut self, value: T, keep: bool) {
        self.make_slot();
        if const { std::mem::needs_drop::<T>() } {
            if keep {
                self.fill(value);
                self.len += 1;
            }
        } else {
            self.fill(value);
            self.len += usize::from(keep);
        }
    }

    #[inline(always)]
    fn make_slot(&mut self) {
        if self.len == self.end {
            self.block = self.stock.next_block(self.len);
            self.end = self.stock.depot.block_records();
            self.further -= self.end;
            self.len = 0;
        }
    }

    #[inline(always)]
    fn fill(&mut self, value: T) {
        // SAFETY: callers have seen `len < end`, the block's capacity; the stock owns the block (B7).
        let slot = unsafe { self.block.slot(self.len) };
        // SAFETY: the block is the stock's, which is ours while we live, and nobody else looks at it (B7).
        unsafe { slot.write(value) };
    }
}

impl<T: Send + 'static> Drop for Filler<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(filling) = &mut self.stock.filling {
            filling.run.end = self.len;
        }
    }
}

/// A block with values, owned.
pub struct Block<T: Send + 'static> {
    /// What is left of it.
    run: Run<T>,
    home: Arc<Home<T>>,
    /// Whether its slots lie in the cache of its home, as far as is known.
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

/// The values of an owned block, taken out one by one.
pub type BlockDrain<'a, T> = Drain<'a, T, Run<T>>;

// SAFETY: through a shared reference values are only looked at, which `T: Sync` allows, and counts read. Whoever moves one
// out has the block for itself (B7).
unsafe impl<T: Send + Sync + 'static> Sync for Block<T> {}

impl<T: Send + 'static> Block<T> {
    /// Values left in it.
    pub fn len(&self) -> usize {
        self.run.end - self.run.next
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The home it was filled at.
    pub fn home(&self) -> usize {
        self.home.index
    }

    /// The next values, at most `max` of them.
    #[inline]
    pub fn drain(&mut self, max: usize) -> BlockDrain<'_, T> {
        let Run { block, next, end } = self.run;
        Drain::new(Run { block, next, end: end.min(next.saturating_add(max)) }, &mut self.run)
    }

    /// Looks at the value `offset` places behind the next, which stays. So several may look at one block, where `T: Sync`.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    pub fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&T) -> Q) -> Q {
        self.run.look(offset, look)
    }

    /// Gives the block back; values left in it are dropped. Hot is what was filled and emptied at one home.
    pub fn give_back(mut self, is_hot: bool) {
        self.is_hot = is_hot;
    }

    fn empty(&mut self) {
        if const { !std::mem::needs_drop::<T>() } {
            return;
        }
        while self.run.next < self.run.end {
            let place = self.run.next;
            // First on record, then dropped: a panic in a value's drop leaks the rest, but drops none twice.
            self.run.next += 1;
            // SAFETY: in `next..end`: initialised by the stock that filled it; passed above, so it is moved out once.
            drop(unsafe { self.run.take_out(place) });
        }
    }
}

impl<T: Send + 'static> Drop for Block<T> {
    fn drop(&mut self) {
        /// Gives the block back, also if a value's drop panics.
        struct Put<'a, T: Send + 'static>(&'a mut Block<T>);
        impl<T: Send + 'static> Drop for Put<'_, T> {
            fn drop(&mut self) {
                self.0.home.put(self.0.run.block, self.0.is_hot);
            }
        }
        let put = Put(self);
        put.0.empty();
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
