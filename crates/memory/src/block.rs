//! A block: a preamble of one cache line, then N slots of one type, in a row.
//!
//! ```text
//! | sequence, capacity, stamp ... 64 bytes | slot 0 | slot 1 | ... | slot N-1 |
//! ```
//!
//! A [`BlockRef`] is an address and no more: the edge's protocol (invariants B1 to B5 of this crate) decides
//! which end may write or read a slot, and when. The block itself checks only its identity: it carries the
//! sequence number of its present life, so a reader notices at once if the block was recycled too early.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::stamp::{Stamp, StampCell};
use crate::sync::{AtomicU64, Ordering, Slot};

/// Alignment of a block in bytes: the size of a cache line.
pub(crate) const BLOCK_ALIGN_BYTES: usize = 64;

/// The head of a block. The writer of the edge writes it when it begins to fill the block (Relaxed: made
/// visible by the Release store of the count of written records, see invariant B3 of this crate). Readers use
/// it to check that they are in the right block.
#[repr(C, align(64))]
pub(crate) struct Preamble {
    /// Sequence number of the block in its edge: the place, from 0 on, of the block among all blocks that the
    /// edge has used.
    pub(crate) sequence: AtomicU64,
    /// Number of slots for records that follow the preamble of a block.
    capacity_records: u32,
    /// Stamp of the first record in the block: the time of its write and two further numbers that the user of
    /// the edge sets.
    pub(crate) stamp: StampCell,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Preamble>() == 64 && align_of::<Preamble>() == BLOCK_ALIGN_BYTES);

/// A pointer to a block, valid while the chunk that contains the block exists (invariant B5 of this crate). A
/// copy of the pointer gives no right to read or write the block; the protocol of the edge gives this right.
pub struct BlockRef<T> {
    base: NonNull<Preamble>,
    slots: PhantomData<*const Slot<T>>,
}

impl<T> Clone for BlockRef<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BlockRef<T> {}

// SAFETY: a block pointer is an address; the edge's protocol (invariants B1 to B5 of this crate) governs
// reads and writes through it. It lets values cross threads only if `T: Send` (see the bounds on the ends of
// an edge).
unsafe impl<T> Send for BlockRef<T> {}

impl<T> BlockRef<T> {
    /// Returns a pointer to the block at the address `base`, which must be the start of a block of a chunk.
    pub(crate) fn at(base: NonNull<Preamble>) -> Self {
        BlockRef { base, slots: PhantomData }
    }

    /// Returns a pointer that points to no block, as a placeholder. It must be replaced by a valid pointer
    /// before it is used.
    pub(crate) const fn dangling() -> Self {
        BlockRef { base: NonNull::dangling(), slots: PhantomData }
    }

    /// Returns the block at an address that was made by [`as_ptr`](Self::as_ptr).
    pub(crate) fn from_ptr(base: *mut Preamble) -> Self {
        BlockRef {
            base: NonNull::new(base).expect("ring entries are set before they are read (B4)"),
            slots: PhantomData,
        }
    }

    pub(crate) fn as_ptr(self) -> *mut Preamble {
        self.base.as_ptr()
    }

    /// Writes the preamble of a block that is not shared yet. Under loom it also creates the slots of the
    /// block.
    pub(crate) fn initialise(self, capacity_records: u32) {
        let preamble =
            Preamble { sequence: AtomicU64::new(u64::MAX), capacity_records, stamp: StampCell::new() };
        // SAFETY: the block is 64-aligned memory inside a chunk that is not shared yet.
        unsafe { self.base.write(preamble) };
        // Only under loom do slots need initialisation, because loom's slots track accesses.
        #[cfg(loom)]
        for index in 0..capacity_records {
            let slot = self.slots_base().as_ptr().wrapping_add(index as usize);
            // SAFETY: `index` is below the capacity, so the slot is inside the block, untouched yet.
            unsafe { slot.write(Slot::new()) };
        }
    }

    /// Drops the parts of a block that `initialise` has made; needed under loom only.
    #[cfg(loom)]
    pub(crate) fn retire(self, capacity_records: u32) {
        for index in 0..capacity_records {
            let slot = self.slots_base().as_ptr().wrapping_add(index as usize);
            // SAFETY: `initialise` has made the slot; its chunk is being dismantled, so no party uses the
            // slot.
            unsafe { slot.drop_in_place() };
        }
        // SAFETY: `initialise` has made the preamble; its chunk is being dismantled, so no party uses the
        // preamble.
        unsafe { self.base.as_ptr().drop_in_place() };
    }

    #[inline(always)]
    fn slots_base(self) -> NonNull<Slot<T>> {
        // SAFETY: a block is a preamble and then its slots, in one allocation.
        let behind = unsafe { self.base.add(1) };
        behind.cast()
    }

    /// Returns the preamble of the block. Callers have a reference to the edge of the block, so the memory of
    /// the block is mapped (invariant B5 of this crate).
    #[inline]
    pub(crate) fn preamble<'a>(self) -> &'a Preamble {
        // SAFETY: `initialise` has initialised the preamble, which has been read and changed through its
        // atomics only since then. Its memory is mapped while the edge lives (invariant B5 of this crate).
        unsafe { self.base.as_ref() }
    }

    /// Returns slot `index` of the block.
    ///
    /// # Safety
    /// `index` is at most the block's capacity (at the capacity, the slot must not be accessed), and the
    /// caller has a reference to the edge of the block, so that the memory of the block is mapped (invariant
    /// B5 of this crate).
    #[inline(always)]
    pub(crate) unsafe fn slot<'a>(self, index: usize) -> &'a Slot<T> {
        debug_assert!(
            index <= self.preamble().capacity_records as usize,
            "slot {index} lies behind the block"
        );
        // SAFETY: slot `index` is inside the block, by the contract of this function.
        let slot = unsafe { self.slots_base().add(index) };
        // SAFETY: a slot is a cell of memory that may be uninitialised, so a reference to it is always valid.
        // The invariants B1 to B4 of this crate say which end of the edge accesses the value in it.
        unsafe { slot.as_ref() }
    }

    /// Makes a free block the block number `sequence` of its edge. `stamp` (time of writing, and two numbers
    /// of the user) describes its first record.
    pub(crate) fn begin_life(self, sequence: u64, stamp: Stamp) {
        let preamble = self.preamble();
        preamble.stamp.store(stamp);
        preamble.sequence.store(sequence, Ordering::Relaxed);
    }

    /// Checks, on the reader's side, that this is the block number `sequence` of the edge. Panics if the
    /// block was recycled too early and has another number by now.
    #[inline]
    pub(crate) fn check(self, sequence: u64) {
        let found = self.preamble().sequence.load(Ordering::Relaxed);
        assert!(
            found == sequence,
            "block {sequence} was recycled while it was read (now {found}): B4 is broken"
        );
    }
}
