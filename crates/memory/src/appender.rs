//! Appending values to blocks: the loop that fills slots, for the writer of an edge and for a block writer of
//! a block pool.

use crate::block::BlockRef;
use crate::stamp::Stamp;

/// The owner of the blocks that an [`Appender`] fills: the writer of an edge, or a block writer. Only this
/// crate implements it.
pub trait Fill<T> {
    /// Returns the number of values that fit into the blocks after the current one.
    fn room_behind(&self) -> usize;

    /// Returns the number of slots in every block.
    fn slots(&self) -> usize;

    /// Ends the current block, in which `filled` slots are filled, and begins the next block, whose values
    /// have this stamp.
    ///
    /// # Panics
    /// If there is no further block.
    fn next_block(&mut self, filled: usize, stamp: Stamp) -> BlockRef<T>;

    /// Ends appending to the open block, of which `filled` slots are filled.
    fn close(&mut self, filled: usize);
}

/// Open blocks of a writer: values pushed here belong to the writer when the appender is dropped.
///
/// The fields of an appender live in registers while all code around it is inlined. Functions that are called
/// out of line get copies of the fields, never a reference to the appender.
pub struct Appender<'a, T, W: Fill<T>> {
    /// The block that is being filled; dangling while `len == end == 0`.
    block: BlockRef<T>,
    /// Number of slots of the block being filled that already hold a value.
    len: usize,
    /// Capacity of the block being filled, or `len` if nothing may be appended to it.
    end: usize,
    stamp: Stamp,
    owner: &'a mut W,
}

impl<'a, T, W: Fill<T>> Appender<'a, T, W> {
    /// Creates an appender to `block`, whose first `len` slots are filled and whose slots up to `end` may be
    /// filled. By the invariants of the caller (B1 and B3, or B7) no other party accesses the slots from
    /// `len` on.
    #[inline(always)]
    pub(crate) fn new(
        block: Option<BlockRef<T>>,
        len: usize,
        end: usize,
        stamp: Stamp,
        owner: &'a mut W,
    ) -> Self {
        Appender { block: block.unwrap_or(BlockRef::dangling()), len, end, stamp, owner }
    }

    /// Returns the number of values that may still be pushed into the open blocks.
    #[inline(always)]
    pub fn room(&self) -> usize {
        self.end - self.len + self.owner.room_behind()
    }

    /// Appends a value to the current block, and begins the next block if it is full.
    ///
    /// # Panics
    /// If no block has room.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        self.make_slot();
        self.fill(value);
        self.len += 1;
    }

    /// Prepares for up to `wanted` calls of [`push_within`](Self::push_within). Returns for how many: 0 if
    /// there is no room, and never more than the current block has slots.
    #[inline]
    pub fn make_ready(&mut self, wanted: usize) -> usize {
        if self.len == self.end && wanted > 0 && self.room() > 0 {
            self.make_slot();
        }
        wanted.min(self.end - self.len)
    }

    /// Appends a value, at most as many times as [`make_ready`](Self::make_ready) has returned. Unlike
    /// [`push`](Self::push) it can never begin a block, so that a large value goes straight from its source
    /// to its slot.
    ///
    /// # Panics
    /// If the block is full.
    #[inline(always)]
    pub fn push_within(&mut self, value: T) {
        assert!(self.len < self.end, "a record is pushed behind the block: call make_ready first");
        self.fill(value);
        self.len += 1;
    }

    /// Appends a value if `keep` is true, without a branch if `T` needs no drop: the value is written in any
    /// case, and counted only if it is kept.
    ///
    /// # Panics
    /// If there is no room, whatever the value of `keep`.
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
            self.block = self.owner.next_block(self.len, self.stamp);
            self.len = 0;
            self.end = self.owner.slots();
        }
    }

    #[inline(always)]
    fn fill(&mut self, value: T) {
        // SAFETY: callers have seen `len < end`, the block's capacity; the block is in use (B5) or owned (B7) while the
        // owner is borrowed.
        let slot = unsafe { self.block.slot(self.len) };
        // SAFETY: no other party accesses a slot at or above `len`: it is not published (B3), and the writer is ours (B1);
        // or the block is owned by the borrowed block writer (B7).
        unsafe { slot.write(value) };
    }
}

impl<T, W: Fill<T>> Drop for Appender<'_, T, W> {
    #[inline(always)]
    fn drop(&mut self) {
        self.owner.close(self.len);
    }
}
