//! Appending values to blocks: the loop that fills slots, for the writer of an edge and for a block writer.
//!
//! Each of them has an appender of its own, whose fields live in registers while the loop around it is inlined. One
//! generic appender over both kinds of owners kept its length in memory, and operators took up to twice as long.

/// The slots of open blocks. The writers of this crate implement it, and nobody else can.
pub trait Slots<T> {
    /// Returns how many values may be pushed, into this block and the next ones.
    fn room_in_all(&self) -> usize;

    /// Returns how many more values the current block takes.
    fn room_in_block(&self) -> usize;

    /// Begins the next block if the current one is full.
    ///
    /// # Panics
    /// If there is no further block.
    fn make_slot(&mut self);

    /// Writes a value to the next slot of the current block, which is not full.
    fn fill(&mut self, value: T);

    /// Counts the slots that were filled: 0 or 1.
    fn count(&mut self, filled: usize);
}

/// Open blocks: values pushed here belong to their owner when the appender is dropped.
pub trait Append<T>: Slots<T> {
    /// Returns how many values may be pushed.
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
        self.fill(value);
        self.count(1);
    }

    /// Prepares for up to `wanted` calls of [`push_within`](Self::push_within). Returns for how many: 0 if
    /// there is no room, and never more than the current block has slots.
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
        self.fill(value);
        self.count(1);
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
                self.fill(value);
                self.count(1);
            }
        } else {
            self.fill(value);
            self.count(usize::from(keep));
        }
    }
}

impl<T, A: Slots<T>> Append<T> for A {}
