//! A chunk: one page-aligned mapping of memory, populated when it is made, which is cut into K blocks of one
//! shape.
//!
//! ```text
//! chunk  | block 0 | block 1 | ... | block K-1 |      one mapping, whole pages
//! block  | preamble, 64 bytes | slot 0 | slot 1 | ... | slot N-1 | padding to 64 bytes |
//! ```
//!
//! Sizes follow Enjima (SIGMOD 2025, section 3.1): a block of N records of R bytes has `B = 64 + N * R` bytes (here
//! rounded up to whole cache lines, so that two blocks never share one), a chunk of K blocks has `K * B`. Enjima's
//! 64 bytes in front of a chunk are left out: their content is in the handle here, off the data path.
//!
//! Pages are populated when they are mapped (`MAP_POPULATE`), so that no page fault falls into the data path. Where
//! the kernel cannot do that, and under loom and Miri, memory comes from the ordinary allocator.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::block::{BLOCK_ALIGN_BYTES, BlockRef, Preamble};
use crate::budget::{Budget, BudgetExceeded, Reservation};
use crate::sync::{Arc, Slot};

/// Size of a memory page in bytes; a chunk consists of whole pages.
const PAGE_BYTES: usize = 4096;

/// Sizes of the blocks and chunks of an edge, in records and blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockShape {
    /// Number of slots per block, which is N in the Enjima paper.
    pub block_records: u32,
    /// Number of blocks per chunk, which is K in the Enjima paper.
    pub chunk_blocks: u32,
}

/// Error: a shape of blocks and chunks that cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ShapeError {
    /// The number of records per block or of blocks per chunk is zero.
    Zero,
    /// A chunk of this shape would be larger than the address space allows.
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

/// Sizes of a chunk of values of type `T`, computed once per edge.
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

/// Error: the memory of a chunk could not be allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChunkError {
    /// The memory budget has too few bytes left for the chunk.
    Budget(BudgetExceeded),
    /// The memory budget allows the chunk, but the operating system has no memory for it.
    System { bytes: usize },
}

/// Populated pages of memory and the reservation of their bytes in the memory budget, not yet divided into
/// blocks of a type.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    /// The reservation of the pages' bytes in the memory budget. It is dropped after the pages are unmapped,
    /// and then returns their bytes to the budget.
    _paid: Reservation,
}

// SAFETY: a mapping is plain memory owned by this value alone; it is not bound to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps pages of memory with `bytes` bytes in all, which must be a multiple of the page size.
    pub(crate) fn new(budget: &Arc<Budget>, bytes: usize) -> Result<Self, ChunkError> {
        let paid = budget.reserve(bytes).map_err(ChunkError::Budget)?;
        let base = pages::populated(bytes).ok_or(ChunkError::System { bytes })?;
        Ok(Mapping { base, bytes, _paid: paid })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `base` and `bytes` come from `populated`, and every block pointer into them is gone: a
        // chunk turns into a mapping, or is dropped, only when no edge uses its blocks (invariant B5 of this
        // crate).
        unsafe { pages::release(self.base, self.bytes) };
    }
}

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod pages {
    //! Anonymous mappings of memory, which the kernel populates when it makes them.
    use std::ptr::{self, NonNull};

    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

    pub(super) fn populated(bytes: usize) -> Option<NonNull<u8>> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::POPULATE);
        // SAFETY: a new private mapping at an address chosen by the kernel overlaps no memory of ours.
        let mapped = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, flags) };
        mapped.ok().and_then(|base| NonNull::new(base.cast::<u8>()))
    }

    pub(super) unsafe fn release(base: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller passes the values that `populated` gave and uses them no more.
        let unmapped = unsafe { munmap(base.as_ptr().cast(), bytes) };
        debug_assert!(unmapped.is_ok(), "a whole mapping of ours can be unmapped");
    }
}

#[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
mod pages {
    //! Zeroed pages from the ordinary allocator. Writing the zeros populates the pages.
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, super::PAGE_BYTES)
            .expect("a chunk is whole pages and below isize::MAX")
    }

    pub(super) fn populated(bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: the size is above zero, because a block has a preamble.
        let base = unsafe { alloc_zeroed(layout(bytes)) };
        NonNull::new(base)
    }

    pub(super) unsafe fn release(base: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller passes the values that `populated` gave, made with the same layout, and uses them no
        // more.
        unsafe { dealloc(base.as_ptr(), layout(bytes)) };
    }
}

/// A mapping of memory that is cut into blocks of values of type `T`.
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

    /// Iterates over the blocks of the chunk in the order of their addresses.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = BlockRef<T>> + '_ {
        (0..self.layout.shape.chunk_blocks as usize).map(|index| {
            // SAFETY: `index` is below `chunk_blocks`, so the block is inside the mapping.
            let base = unsafe { self.mapping.base.add(index * self.layout.block_bytes) };
            BlockRef::at(base.cast())
        })
    }

    /// Returns true if `block` is one of the blocks of this chunk.
    pub(crate) fn owns(&self, block: BlockRef<T>) -> bool {
        let start = self.mapping.base.as_ptr() as usize;
        (start..start + self.mapping.bytes).contains(&(block.as_ptr() as usize))
    }

    /// Turns the chunk back into untyped memory. Values in its slots, if there are any, are forgotten, not
    /// dropped.
    pub(crate) fn into_mapping(self) -> Mapping {
        #[cfg(loom)]
        self.blocks().for_each(|block| block.retire(self.layout.shape.block_records));
        self.mapping
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn layout<T>(block_records: u32, chunk_blocks: u32) -> Result<ChunkLayout, ShapeError> {
        ChunkLayout::new::<T>(BlockShape { block_records, chunk_blocks })
    }

    /// Sizes of blocks and chunks follow the formulas of the Enjima paper, rounded up to cache lines and
    /// pages.
    #[test]
    fn sizes() {
        let ysb = layout::<[u64; 7]>(384, 4).unwrap();
        assert_eq!((ysb.block_bytes, ysb.chunk_bytes), (64 + 384 * 56, 22 * 4096));
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

    /// Returns for each page from `address` on whether the process holds it, in memory or swapped out, by the
    /// kernel's page map (proc_pid_pagemap(5): bits 63 and 62 of an entry of 8 bytes for each page).
    #[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
    fn pages_held(address: usize, bytes: usize) -> Vec<bool> {
        use std::os::unix::fs::FileExt;

        let mut entries = vec![0; bytes / PAGE_BYTES * 8];
        let page_map = std::fs::File::open("/proc/self/pagemap").unwrap();
        page_map.read_exact_at(&mut entries, (address / PAGE_BYTES * 8) as u64).unwrap();
        let is_held = |entry: &[u8]| u64::from_ne_bytes(entry.try_into().unwrap()) >> 62 != 0;
        entries.chunks_exact(8).map(is_held).collect()
    }

    /// Every page of a chunk is there before anything is written to it, so that no page fault falls into the
    /// path of records. Memory of the ordinary allocator that nothing was written to has no pages.
    #[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
    #[test]
    fn every_page_is_there_before_it_is_written() {
        const BYTES: usize = 1024 * PAGE_BYTES;
        let mapping = Mapping::new(&Budget::new(BYTES), BYTES).unwrap();
        let held = pages_held(mapping.base.as_ptr() as usize, BYTES);
        assert_eq!(held, vec![true; 1024]);
        // A buffer of this size is mapped anew by the operating system: it is no part of the heap that was
        // used before.
        let untouched = std::hint::black_box(Vec::<u8>::with_capacity(16 * BYTES));
        let inside = (untouched.as_ptr() as usize).next_multiple_of(PAGE_BYTES) + PAGE_BYTES;
        assert_eq!(pages_held(inside, BYTES), vec![false; 1024]);
    }
}
