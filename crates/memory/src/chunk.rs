//! A chunk: one page-aligned mapping, populated when it is made, cut into K blocks of one shape.
//!
//! ```text
//! chunk  | block 0 | block 1 | ... | block K-1 |      one mapping, whole pages
//! block  | preamble, 64 bytes | slot 0 | slot 1 | ... | slot N-1 | padding to 64 bytes |
//! ```
//!
//! Sizes follow Enjima (SIGMOD 2025, section 3.1): a block is `64 + N * R` bytes (here rounded up to whole cache
//! lines, so that two blocks never share one), a chunk `K * B`. Enjima's 64 bytes in front of a chunk are left
//! out: what they hold there lives in the handle, off the data path.
//!
//! Pages are populated at birth (`MAP_POPULATE`), so that no page fault falls into the data path; where the kernel
//! cannot do that, and under loom and Miri, memory comes from the ordinary allocator.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::budget::{Budget, BudgetExceeded, Reservation};
use crate::sync::{Arc, AtomicU32, AtomicU64, Ordering, Slot};

/// Blocks start on cache lines.
const BLOCK_ALIGN_BYTES: usize = 64;
/// Chunks are whole pages.
const PAGE_BYTES: usize = 4096;

/// The head of a block. Written by the writer of the edge when it takes the block (Relaxed: made visible by the
/// Release store of `written`, see B3), read by readers to check that they stand where they think they stand.
#[repr(C, align(64))]
pub(crate) struct Preamble {
    /// Position of this block in its edge: block sequence number.
    pub(crate) sequence: AtomicU64,
    /// How often this block has been taken; a life of a reused block.
    pub(crate) generation: AtomicU32,
    /// Slots behind the preamble.
    capacity_records: u32,
    /// When its first record came in, an opaque number of the caller's.
    pub(crate) stamp: AtomicU64,
    // The rest of the line is for what epoch-parallel execution needs: home core, split and its watermark.
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Preamble>() == 64 && align_of::<Preamble>() == BLOCK_ALIGN_BYTES);

/// How chunks of an edge are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockShape {
    /// Slots per block, Enjima's N.
    pub block_records: u32,
    /// Blocks per chunk, Enjima's K.
    pub chunk_blocks: u32,
}

/// A shape that cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ShapeError {
    /// `block_records` or `chunk_blocks` is zero.
    Zero,
    /// A chunk would be larger than the address space allows.
    TooLarge,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeError::Zero => write!(f, "records per block and blocks per chunk must be at least 1"),
            ShapeError::TooLarge => write!(f, "a chunk of this shape exceeds the address space"),
        }
    }
}

impl std::error::Error for ShapeError {}

/// The bytes of a chunk of `T`, worked out once per edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkLayout {
    pub(crate) shape: BlockShape,
    block_bytes: usize,
    pub(crate) chunk_bytes: usize,
}

impl ChunkLayout {
    pub(crate) fn new<T>(shape: BlockShape) -> Result<Self, ShapeError> {
        const { assert!(align_of::<Slot<T>>() <= BLOCK_ALIGN_BYTES, "records are aligned to 64 bytes at most") };
        if shape.block_records == 0 || shape.chunk_blocks == 0 {
            return Err(ShapeError::Zero);
        }
        let slots_bytes = size_of::<Slot<T>>().checked_mul(shape.block_records as usize);
        let block_bytes = slots_bytes
            .and_then(|bytes| bytes.checked_add(size_of::<Preamble>()))
            .and_then(|bytes| bytes.checked_next_multiple_of(BLOCK_ALIGN_BYTES))
            .ok_or(ShapeError::TooLarge)?;
        let chunk_bytes = block_bytes
            .checked_mul(shape.chunk_blocks as usize)
            .and_then(|bytes| bytes.checked_next_multiple_of(PAGE_BYTES))
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or(ShapeError::TooLarge)?;
        Ok(ChunkLayout { shape, block_bytes, chunk_bytes })
    }
}

/// Populated pages and the reservation that pays for them; of no type yet.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    /// Gives its bytes back when the pages are gone.
    _paid: Reservation,
}

// SAFETY: a mapping is plain memory owned by this value alone; nothing about it is bound to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Pages of `bytes` bytes, a multiple of the page size.
    pub(crate) fn new(budget: &Arc<Budget>, bytes: usize) -> Result<Self, BudgetExceeded> {
        let paid = budget.reserve(bytes)?;
        Ok(Mapping { base: pages::populated(bytes), bytes, _paid: paid })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `base` and `bytes` are those of `populated`, and every block pointer into them is gone: a
        // chunk turns into a mapping, or is dropped, only when no edge uses its blocks (B5).
        unsafe { pages::release(self.base, self.bytes) };
    }
}

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod pages {
    //! Anonymous mappings, populated by the kernel.
    use std::ptr::{self, NonNull};

    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

    pub(super) fn populated(bytes: usize) -> NonNull<u8> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::POPULATE);
        // SAFETY: a new private mapping at an address of the kernel's choice overlaps nothing of ours.
        let mapped = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, flags) };
        match mapped.ok().and_then(|base| NonNull::new(base.cast::<u8>())) {
            Some(base) => base,
            // As for any allocation: the budget allowed it, the machine does not have it.
            None => std::alloc::handle_alloc_error(
                std::alloc::Layout::from_size_align(bytes, super::PAGE_BYTES).expect("whole pages"),
            ),
        }
    }

    pub(super) unsafe fn release(base: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller passes what `populated` gave and uses it no more.
        let unmapped = unsafe { munmap(base.as_ptr().cast(), bytes) };
        debug_assert!(unmapped.is_ok(), "a whole mapping of ours can be unmapped");
    }
}

#[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
mod pages {
    //! Zeroed pages from the ordinary allocator: writing the zeroes populates them.
    use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
    use std::ptr::NonNull;

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, super::PAGE_BYTES).expect("whole pages below isize::MAX")
    }

    pub(super) fn populated(bytes: usize) -> NonNull<u8> {
        // SAFETY: the size is above zero, because a block has a preamble.
        let base = unsafe { alloc_zeroed(layout(bytes)) };
        NonNull::new(base).unwrap_or_else(|| handle_alloc_error(layout(bytes)))
    }

    pub(super) unsafe fn release(base: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller passes what `populated` gave, made with the same layout, and uses it no more.
        unsafe { dealloc(base.as_ptr(), layout(bytes)) };
    }
}

/// A mapping cut into blocks of `T`.
pub(crate) struct Chunk<T> {
    mapping: Mapping,
    layout: ChunkLayout,
    slots: PhantomData<Slot<T>>,
}

impl<T> Chunk<T> {
    pub(crate) fn new(mapping: Mapping, layout: ChunkLayout) -> Self {
        assert!(mapping.bytes == layout.chunk_bytes, "a chunk takes a mapping of just its size");
        let chunk = Chunk { mapping, layout, slots: PhantomData };
        for block in chunk.blocks() {
            block.initialise(layout.shape.block_records);
        }
        chunk
    }

    /// The blocks, in order of address.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = BlockRef<T>> + '_ {
        (0..self.layout.shape.chunk_blocks as usize).map(|index| {
            // SAFETY: `index` is below `chunk_blocks`, so the block lies inside the mapping.
            let base = unsafe { self.mapping.base.add(index * self.layout.block_bytes) };
            BlockRef { base: base.cast(), slots: PhantomData }
        })
    }

    /// Whether `block` is one of ours.
    pub(crate) fn owns(&self, block: BlockRef<T>) -> bool {
        let start = self.mapping.base.as_ptr() as usize;
        (start..start + self.mapping.bytes).contains(&(block.base.as_ptr() as usize))
    }

    /// Forgets type and blocks; the values in the slots, if any, are forgotten too.
    pub(crate) fn into_mapping(self) -> Mapping {
        #[cfg(loom)]
        self.blocks().for_each(|block| block.retire(self.layout.shape.block_records));
        self.mapping
    }
}

/// A pointer to a block, valid while its chunk is (B5). Copies of it say nothing about who may do what: that is
/// the edge's protocol.
pub(crate) struct BlockRef<T> {
    base: NonNull<Preamble>,
    slots: PhantomData<*const Slot<T>>,
}

impl<T> Clone for BlockRef<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BlockRef<T> {}

// SAFETY: a block pointer is an address; what is read and written through it is governed by the edge's protocol
// (B1 to B5), which lets values cross threads only if `T: Send` (see the bounds on the ends of an edge).
unsafe impl<T> Send for BlockRef<T> {}

impl<T> BlockRef<T> {
    /// A pointer to no block, to be replaced before it is used.
    pub(crate) const fn dangling() -> Self {
        BlockRef { base: NonNull::dangling(), slots: PhantomData }
    }

    /// The same block from an address that [`as_ptr`](Self::as_ptr) gave.
    pub(crate) fn from_ptr(base: *mut Preamble) -> Self {
        BlockRef {
            base: NonNull::new(base).expect("ring entries are set before they are read (B4)"),
            slots: PhantomData,
        }
    }

    pub(crate) fn as_ptr(self) -> *mut Preamble {
        self.base.as_ptr()
    }

    fn initialise(self, capacity_records: u32) {
        let preamble =
            Preamble {
                sequence: AtomicU64::new(u64::MAX),
                generation: AtomicU32::new(0),
                capacity_records,
                stamp: AtomicU64::new(0),
            };
        // SAFETY: the block is 64-aligned memory inside a chunk that nobody else knows yet.
        unsafe { self.base.write(preamble) };
        // Only loom's slots have something to initialise: they track who touches them.
        #[cfg(loom)]
        for index in 0..capacity_records {
            let slot = self.slots_base().as_ptr().wrapping_add(index as usize);
            // SAFETY: `index` is below the capacity, so the slot lies inside the block, untouched yet.
            unsafe { slot.write(Slot::new()) };
        }
    }

    #[cfg(loom)]
    fn retire(self, capacity_records: u32) {
        for index in 0..capacity_records {
            let slot = self.slots_base().as_ptr().wrapping_add(index as usize);
            // SAFETY: initialised in `initialise`; the chunk is being taken apart, so nobody uses it.
            unsafe { slot.drop_in_place() };
        }
        // SAFETY: as above.
        unsafe { self.base.as_ptr().drop_in_place() };
    }

    #[inline(always)]
    fn slots_base(self) -> NonNull<Slot<T>> {
        // SAFETY: a block is a preamble and then its slots, in one allocation.
        let behind = unsafe { self.base.add(1) };
        behind.cast()
    }

    /// The preamble, while the chunk lives: callers hold the edge (B5).
    #[inline]
    pub(crate) fn preamble<'a>(self) -> &'a Preamble {
        // SAFETY: initialised in `initialise`, only read and changed through its atomics since; valid by B5.
        unsafe { self.base.as_ref() }
    }

    /// Slot `index`, while the chunk lives.
    ///
    /// # Safety
    /// `index` is at most the capacity (the slot at the capacity may be named, not used), and the caller holds
    /// the edge, so that the chunk lives (B5).
    #[inline(always)]
    pub(crate) unsafe fn slot<'a>(self, index: usize) -> &'a Slot<T> {
        // SAFETY: inside the block by contract.
        let slot = unsafe { self.slots_base().add(index) };
        // SAFETY: a slot is valid as bare memory; what it holds is the edge's protocol.
        unsafe { slot.as_ref() }
    }

    /// Begins a new life as block number `sequence` of an edge, whose first record came in at `stamp`.
    pub(crate) fn begin_life(self, sequence: u64, stamp: u64) {
        let preamble = self.preamble();
        preamble.stamp.store(stamp, Ordering::Relaxed);
        preamble.sequence.store(sequence, Ordering::Relaxed);
        let generation = preamble.generation.load(Ordering::Relaxed);
        preamble.generation.store(generation.wrapping_add(1), Ordering::Relaxed);
    }

    /// Checks, on the reader's side, that this is block `sequence`: a block recycled too early shows here.
    #[inline]
    pub(crate) fn check(self, sequence: u64) {
        let found = self.preamble().sequence.load(Ordering::Relaxed);
        assert!(
            found == sequence,
            "block {sequence} was recycled while it was read (now {found}): B4 is broken"
        );
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn layout<T>(block_records: u32, chunk_blocks: u32) -> Result<ChunkLayout, ShapeError> {
        ChunkLayout::new::<T>(BlockShape { block_records, chunk_blocks })
    }

    /// The paper's formulas, rounded up to cache lines and pages.
    #[test]
    fn sizes() {
        let ysb = layout::<[u64; 7]>(384, 4).unwrap();
        assert_eq!(
            (ysb.block_bytes, ysb.chunk_bytes),
            (64 + 384 * 56, (4 * (64 + 384 * 56) + 4095) / 4096 * 4096)
        );
        let odd = layout::<[u8; 3]>(7, 1).unwrap();
        assert_eq!((odd.block_bytes, odd.chunk_bytes), (128, 4096));
        assert_eq!(layout::<u64>(0, 4).unwrap_err(), ShapeError::Zero);
        assert_eq!(layout::<u64>(4, 0).unwrap_err(), ShapeError::Zero);
        assert_eq!(layout::<[u64; 1 << 20]>(u32::MAX, u32::MAX).unwrap_err(), ShapeError::TooLarge);
        assert_eq!(layout::<()>(5, 1).unwrap().block_bytes, 64);
    }

    #[test]
    fn blocks_lie_apart_inside_the_chunk_and_the_bytes_are_paid_for() {
        let budget = Budget::new(1 << 20);
        let layout = layout::<[u64; 7]>(5, 3).unwrap();
        let chunk = Chunk::<[u64; 7]>::new(Mapping::new(&budget, layout.chunk_bytes).unwrap(), layout);
        let bases: Vec<usize> = chunk.blocks().map(|block| block.as_ptr() as usize).collect();
        assert!(bases.iter().all(|base| base % 64 == 0));
        assert!(bases.windows(2).all(|pair| pair[1] - pair[0] == layout.block_bytes));
        assert!(chunk.blocks().all(|block| chunk.owns(block)));
        assert_eq!(budget.used_bytes(), layout.chunk_bytes);
        drop(chunk);
        assert_eq!(budget.used_bytes(), 0);
        assert!(Mapping::new(&budget, 2 << 20).is_err());
    }
}
