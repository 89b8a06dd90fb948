//! An edge: a bounded, ordered path of values from one writer to one or more readers, made of blocks.
//!
//! ```text
//!            ring of block pointers, by block sequence number (position / N)
//!            +------+------+------+------+------+
//!            |  b3  |  b4  |  b5  |      |      |        b3, b4, b5: blocks in use
//!            +------+------+------+------+------+
//!               ^ read         ^ written                 free list of the writer: [b1, b2, b0]
//!   marks:        (pos, W)  (pos, W)                     within one core the block freed last is next
//! ```
//!
//! Positions count records, so that `position / N` is the block and `position % N` the slot. Blocks are filled to
//! the end; readers may read a block while it is being filled. The block that was freed last is taken first: it is
//! still in the cache. Between two cores the one that was freed first is taken. (Enjima recycles whole chunks.
//! Between two operators on one core a chunk of four blocks of 384 YSB events is 86 KB, a block 21 KB: the block
//! stays in the first-level cache, see README.md.)

use std::fmt;

use crate::block::{BlockRef, Preamble};
use crate::budget::BudgetExceeded;
use crate::chunk::{BlockShape, Chunk, ChunkError, ChunkLayout, ShapeError};
use crate::cursors::{Cursors, GROWTH_NONE, GROWTH_READY};
use crate::marks::{MarkRing, MarkRules};
use crate::pool::{Grow, Pool};
use crate::reader::{Reader, SharedReader};
use crate::sync::{Arc, AtomicPtr, Mutex, Ordering};
use crate::writer::Writer;

/// Number of chunks that an edge gets when it is made and keeps while it lives: its writer fills one while
/// its readers read the other.
pub const CHUNKS_RESERVED: u32 = 2;

/// The limits of the memory of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeOptions {
    /// Sizes of the edge's blocks and chunks.
    pub shape: BlockShape,
    /// Maximum number of chunks that the edge may own; raised to [`CHUNKS_RESERVED`] if it is below.
    pub chunks_max: u32,
    /// Maximum number of unread marks (such as watermarks) on the edge before further ones, and the records
    /// after them, are held back; raised to 1 if it is zero.
    pub marks_max: u32,
}

/// Error: an edge cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EdgeError {
    /// The records per block or the blocks per chunk cannot be used.
    Shape(ShapeError),
    /// The memory budget has too few bytes left for the first two chunks.
    Budget(BudgetExceeded),
    /// The budget allows the first two chunks, but the operating system has no memory for a chunk.
    System {
        /// Number of bytes in a chunk.
        chunk_bytes: usize,
    },
}

impl From<ChunkError> for EdgeError {
    fn from(error: ChunkError) -> Self {
        match error {
            ChunkError::Budget(exceeded) => EdgeError::Budget(exceeded),
            ChunkError::System { bytes } => EdgeError::System { chunk_bytes: bytes },
        }
    }
}

impl fmt::Display for EdgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EdgeError::Shape(error) => error.fmt(f),
            EdgeError::Budget(error) => error.fmt(f),
            EdgeError::System { chunk_bytes } => {
                write!(
                    f,
                    "the machine has no {chunk_bytes} bytes for a chunk: take fewer records per block or blocks per chunk"
                )
            }
        }
    }
}

impl std::error::Error for EdgeError {}

/// Makes an edge with one reader, which moves values out of the blocks.
///
/// # Errors
/// [`EdgeError`] if the sizes are invalid or the first two chunks do not fit into the budget.
pub fn edge<T: Send + 'static, R: MarkRules>(
    pool: &Arc<Pool>,
    options: EdgeOptions,
) -> Result<(Writer<T, R>, Reader<T, R>), EdgeError> {
    let (shared, chunks) = Shared::new(pool, options, 1, Mode::Taken)?;
    Ok((Writer::new(Arc::clone(&shared), Arc::clone(pool), chunks), Reader::new(shared)))
}

/// Makes an edge with several readers, each with its own cursor, to which values are lent. A block is reused
/// when the slowest reader has passed it.
///
/// # Errors
/// As for [`edge`].
pub fn shared_edge<T: Send + Sync + 'static, R: MarkRules>(
    pool: &Arc<Pool>,
    options: EdgeOptions,
    readers: usize,
) -> Result<(Writer<T, R>, Vec<SharedReader<T, R>>), EdgeError> {
    let (shared, chunks) = Shared::new(pool, options, readers.max(1), Mode::Lent)?;
    let ends = (0..readers.max(1)).map(|index| SharedReader::new(Arc::clone(&shared), index)).collect();
    Ok((Writer::new(shared, Arc::clone(pool), chunks), ends))
}

/// The way in which readers use the values of an edge. It decides which slots of the edge are initialised
/// (invariant B3 of this crate).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// The only reader moves the values out of the blocks.
    Taken,
    /// Several readers borrow the values. The writer drops the values when it recycles the block.
    Lent,
}

/// State of an edge that both of its ends hold.
pub(crate) struct Shared<T, R: MarkRules> {
    pub(crate) cursors: Arc<Cursors>,
    pub(crate) mode: Mode,
    pub(crate) layout: ChunkLayout,
    pub(crate) chunks_max: usize,
    /// The blocks in use, by sequence number modulo the length of the ring (invariant B4 of this crate).
    /// Relaxed: published by `written`.
    ring: Box<[AtomicPtr<Preamble>]>,
    pub(crate) marks: MarkRing<R::Mark>,
    /// The chunk that the pool has made for this edge and that the writer has not taken yet; `None` if there
    /// is none.
    pub(crate) mailbox: Mutex<Option<Chunk<T>>>,
    /// The chunks of a writer that is gone, kept while readers may still read their blocks (invariant B5 of
    /// this crate).
    pub(crate) kept: Mutex<Vec<Chunk<T>>>,
}

// SAFETY: the parts that are not Sync are the slots of blocks and marks; invariants B1 to B4 of this crate
// say which end accesses them when. Values move from the writer's thread to a reader's, hence `T: Send`; lent
// values are read by several threads, and `shared_edge`, the only way to `Mode::Lent`, asks for `T: Sync`.
unsafe impl<T: Send, R: MarkRules> Sync for Shared<T, R> {}

// SAFETY: as for `Sync`: invariants B1 to B4 of this crate say which end accesses a slot, and values that
// cross threads are `Send`. Either end may drop the edge, and the last one to go drops it.
unsafe impl<T: Send, R: MarkRules> Send for Shared<T, R> {}

impl<T: Send + 'static, R: MarkRules> Shared<T, R> {
    fn new(
        pool: &Pool,
        options: EdgeOptions,
        readers: usize,
        mode: Mode,
    ) -> Result<(Arc<Self>, Vec<Chunk<T>>), EdgeError> {
        let layout = ChunkLayout::new::<T>(options.shape).map_err(EdgeError::Shape)?;
        let chunks_max = options.chunks_max.max(CHUNKS_RESERVED) as usize;
        let blocks_max = chunks_max
            .checked_mul(options.shape.chunk_blocks as usize)
            .ok_or(EdgeError::Shape(ShapeError::TooLarge))?;
        let ordinary_marks = u64::from(options.marks_max.max(1));
        let mut chunks = Vec::with_capacity(chunks_max);
        for _ in 0..CHUNKS_RESERVED {
            chunks.push(pool.chunk(layout)?);
        }
        let shared = Arc::new(Shared {
            cursors: Arc::new(Cursors::new(layout, size_of::<T>(), readers, ordinary_marks)),
            mode,
            layout,
            chunks_max,
            ring: (0..blocks_max).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect(),
            marks: MarkRing::new(ordinary_marks),
            mailbox: Mutex::new(None),
            kept: Mutex::new(Vec::new()),
        });
        Ok((shared, chunks))
    }
}

impl<T, R: MarkRules> Shared<T, R> {
    pub(crate) fn set_block(&self, sequence: u64, block: BlockRef<T>) {
        self.ring[self.ring_index(sequence)].store(block.as_ptr(), Ordering::Relaxed);
    }

    /// Returns the block with the given sequence number, which must be in use.
    pub(crate) fn block(&self, sequence: u64) -> BlockRef<T> {
        BlockRef::from_ptr(self.ring[self.ring_index(sequence)].load(Ordering::Relaxed))
    }

    fn ring_index(&self, sequence: u64) -> usize {
        (sequence % self.ring.len() as u64) as usize
    }

    /// Drops the values at the positions `from..to` of the edge.
    ///
    /// # Safety
    /// The values are initialised and lie in blocks that are in use. No other party accesses these values
    /// during the call or uses them afterwards.
    pub(crate) unsafe fn drop_values(&self, from: u64, to: u64) {
        if const { !std::mem::needs_drop::<T>() } {
            return;
        }
        let block_records = self.cursors.block_records();
        for position in from..to {
            let block = self.block(position / block_records);
            // SAFETY: the index is below the block's capacity; the block is in use, so its chunk lives
            // (invariant B5 of this crate).
            let slot = unsafe { block.slot((position % block_records) as usize) };
            // SAFETY: the value is initialised and used by no other party, by the contract of this function.
            drop(unsafe { slot.read() });
        }
    }

    /// Returns the first position whose value is neither moved out nor dropped yet. The blocks with sequence
    /// numbers below `recycled` are free.
    pub(crate) fn first_live(&self, recycled: u64) -> u64 {
        let start = recycled * self.cursors.block_records();
        match self.mode {
            Mode::Taken => self.cursors.readers[0].read.load(Ordering::Acquire).max(start),
            Mode::Lent => start,
        }
    }
}

impl<T: Send + 'static, R: MarkRules> Grow for Shared<T, R> {
    fn grow(&self, pool: &Pool) -> u64 {
        let growth = &self.cursors.writer.growth;
        match pool.chunk(self.layout) {
            Ok(chunk) => {
                *self.mailbox.lock() = Some(chunk);
                // Release: a writer that sees `GROWTH_READY` also sees the new chunk in the edge's mailbox.
                growth.store(GROWTH_READY, Ordering::Release);
            }
            // The budget or the machine's memory is used up. Backpressure slows the writer, and it may
            // request a chunk again.
            Err(_) => growth.store(GROWTH_NONE, Ordering::Release),
        }
        self.cursors.writer_name()
    }
}

impl<T, R: MarkRules> Drop for Shared<T, R> {
    fn drop(&mut self) {
        // The last `Arc` to be dropped has seen all that the others did before. Loom does not model std's
        // `Arc`, so the accesses below show loom the order: the last step of each end was a store to, or an
        // unlock of, one of the words that are accessed here.
        drop(self.kept.lock());
        for reader in &self.cursors.readers {
            reader.closed.swap(true, Ordering::AcqRel);
        }
        let written = self.cursors.writer.written.load(Ordering::Acquire);
        let from = self.first_live(self.cursors.writer.recycled.load(Ordering::Acquire));
        // SAFETY: both ends are gone, so no other party accesses anything; by invariant B3 of this crate the
        // slots from `from` to `written` are initialised, and their chunks are in `kept` (B5), which is
        // dropped after this.
        unsafe { self.drop_values(from, written) };
        self.cursors.writer.capacity_records.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
