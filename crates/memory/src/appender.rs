//! Appending values to blocks: the loop that fills slots, for the writer of an edge and for a block writer of
//! a block pool.
//!
//! The writer of an edge and the block writer each have an appender type of their own. The fields of an
//! appender live in registers while the loop around it is inlined. A single generic appender over both kinds
//! of owners kept its length in memory, and operators took up to twice as long.

/// Access to the slots (places for one value) of the blocks that a writer has open for appending. Only the
/// appenders of this crate implement this trait.
pub trait Slots<T> {
    /// Returns the number of values that may still be pushed, into the current block and the blocks after it.
    fn room_in_all(&self) -> usize;

    /// Returns the number of values that may still be pushed into the current block.
    fn room_in_block(&self) -> usize;

    /// Makes sure that the current block has an empty slot: begins the next block if the current one is full.
    ///
    /// # Panics
    /// If there is no further block.
    fn make_slot(&mut self);

    /// Writes a value to the next slot of the current block, and adds `counted`, 0 or 1, to the length of the block. A
    /// slot that is not counted is filled again by the next value.
    ///
    /// # Safety
    /// The current block has an empty slot: [`room_in_block`](Self::room_in_block) is above 0.
    unsafe fn fill(&mut self, value: T, counted: usize);
}

/// Pushing of values into the open blocks of an edge or of a block writer. Pushed values become part of the
/// edge or of the block writer only when the appender is dropped.
pub trait Append<T>: Slots<T> {
    /// Returns the number of values that may still be pushed into the open blocks.
    #[inline(always)]
    fn room(&self) -> usize {
        self.room_in_all()
    }

    /// Appends a value to the current block, and begins the next block if it is full.
    ///
    /// # Panics
    /// If no block has room.
    #[inline(always)]
    fn push(&mut self, value: T) {
        self.make_slot();
        // SAFETY: the block has an empty slot, or `make_slot` would have panicked.
        unsafe { self.fill(value, 1) };
    }

    /// Makes the current block ready for up to `wanted` calls of [`push_within`](Self::push_within). Returns
    /// the number of calls that are allowed: 0 if there is no room, and never more than the current block has
    /// free slots.
    #[inline]
    fn make_ready(&mut self, wanted: usize) -> usize {
        if self.room_in_block() == 0 && wanted > 0 && self.room_in_all() > 0 {
            self.make_slot();
        }
        wanted.min(self.room_in_block())
    }

    /// Appends a value, at most as many times as [`make_ready`](Self::make_ready) has returned. Unlike
    /// [`push`](Self::push) it can never begin a block, so that a large value goes straight from its source
    /// to its slot.
    ///
    /// # Panics
    /// If the block is full.
    #[inline(always)]
    fn push_within(&mut self, value: T) {
        assert!(self.room_in_block() > 0, "a record is pushed behind the block: call make_ready first");
        // SAFETY: the block has an empty slot, as was checked.
        unsafe { self.fill(value, 1) };
    }

    /// Appends a value if `keep` is true, without a branch if `T` needs no drop: the value is written in any
    /// case, and counted only if it is kept.
    ///
    /// # Panics
    /// If there is no room, whatever the value of `keep`.
    #[inline(always)]
    fn push_if(&mut self, value: T, keep: bool) {
        self.make_slot();
        if const { std::mem::needs_drop::<T>() } {
            if keep {
                // SAFETY: the block has an empty slot, or `make_slot` would have panicked.
                unsafe { self.fill(value, 1) };
            }
        } else {
            // SAFETY: the block has an empty slot, or `make_slot` would have panicked.
            unsafe { self.fill(value, usize::from(keep)) };
        }
    }
}

impl<T, A: Slots<T>> Append<T> for A {}
