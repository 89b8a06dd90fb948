//! A run: consecutive values in one block, taken out one by one or looked at; used for edges and block pools.

use crate::block::BlockRef;

/// A run of slots in one block: the slots `next..end` hold values, and the owner of this run may read them.
pub struct Run<T> {
    pub(crate) block: BlockRef<T>,
    pub(crate) next: usize,
    pub(crate) end: usize,
}

impl<T> Run<T> {
    /// Moves the value in slot `index` out of the block.
    ///
    /// # Safety
    /// `index` was in `next..end` when the run was made, and no value is moved out twice.
    #[inline(always)]
    pub(crate) unsafe fn take_out(&self, index: usize) -> T {
        // SAFETY: the slot is inside the block. The block's chunk lives: by invariant B5 of this crate while
        // the edge lives, by B7 while the block is owned.
        let slot = unsafe { self.block.slot(index) };
        // SAFETY: the slot is below the written count, hence initialised (invariants B3 and B7 of this
        // crate). It is not reused before the owner of this run has published that it has passed the slot
        // (B4, B7). By contract its value is moved out once only.
        unsafe { slot.read() }
    }

    #[inline(always)]
    pub(crate) fn look<Q>(&self, offset: usize, look: impl FnOnce(&T) -> Q) -> Q {
        assert!(offset < self.end - self.next, "offset {offset} lies behind the run");
        // SAFETY: the slot is inside the block by the assertion above; the block's chunk lives (invariants B5
        // and B7 of this crate).
        let slot = unsafe { self.block.slot(self.next + offset) };
        // SAFETY: the slot is in `next..end`: it is initialised (invariants B3 and B7 of this crate), its
        // value is not moved out yet, and it is not used again before the owner of this run passes it (B4,
        // B7).
        unsafe { slot.inspect(look) }
    }
}

/// A run of values that are taken out one by one, in order. Values that are not taken stay in the edge, queue
/// or block.
pub trait TakeOut<T> {
    /// Returns the number of values of this run that are not taken yet.
    fn remaining(&self) -> usize;

    /// Calls `look` with the value `offset` places after the next value of the run; 0 is the next value
    /// itself.
    ///
    /// # Panics
    /// If the run has no such value.
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&T) -> Q) -> Q;

    /// Returns an iterator that takes the next `count` values, each when it is asked for. A value counts as taken before
    /// user code sees it: a panic there may lose the value, but never leads to it being seen or dropped twice. If the
    /// iterator is dropped early, the rest may count as taken, if values of `T` need no drop.
    ///
    /// # Panics
    /// If fewer values are left.
    fn taken(&mut self, count: usize) -> impl Iterator<Item = T>;

    /// Returns an iterator that takes the next `count` values, returns those at the offsets in `selection`, and drops
    /// the others. Like the iterator of [`taken`](Self::taken), it is to be run to its end.
    ///
    /// # Panics
    /// If fewer than `count` values are left; when a value is asked for, if the offsets do not rise, or if one of them
    /// is not below `count`.
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = T>;
}

/// The owner of a run of values, which is told how many of its values were taken: a reader of an edge or of a
/// queue, or a block.
pub trait Passing {
    /// Records that the next `count` values of the run were taken.
    fn pass(&mut self, count: usize);

    /// Ends the run: tells the writer of the edge or queue how many values were taken, so that it may reuse
    /// their slots.
    fn publish(&mut self);
}

/// A run of values that are moved out one by one, in order. Values that are not taken stay in their slots.
pub struct Drain<'a, T: Send + 'static, E: Passing> {
    run: Run<T>,
    end: &'a mut E,
}

impl<'a, T: Send + 'static, E: Passing> Drain<'a, T, E> {
    /// Creates a drain of the values of `run`. `end`, the owner of the run, is told of each value that is
    /// taken.
    pub(crate) fn new(run: Run<T>, end: &'a mut E) -> Self {
        Drain { run, end }
    }

    /// Counts the next `count` values of the run as taken, whether they are moved out or not.
    #[inline(always)]
    fn pass(&mut self, count: usize) {
        self.run.next += count;
        self.end.pass(count);
    }
}

impl<T: Send + 'static, E: Passing> TakeOut<T> for Drain<'_, T, E> {
    #[inline(always)]
    fn remaining(&self) -> usize {
        self.run.end - self.run.next
    }

    #[inline(always)]
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&T) -> Q) -> Q {
        self.run.look(offset, look)
    }

    #[inline(always)]
    fn taken(&mut self, count: usize) -> impl Iterator<Item = T> {
        assert!(count <= self.remaining(), "{count} values are taken of a shorter run");
        let start = self.run.next;
        if const { !std::mem::needs_drop::<T>() } {
            // All values are counted as taken before the first one is, which keeps bookkeeping out of the caller's
            // loop. These values need no drop, so none can leak.
            self.pass(count);
        }
        (start..start + count).map(|index| {
            if const { std::mem::needs_drop::<T>() } {
                self.pass(1);
            }
            // SAFETY: the index is in the run by the assertion above, and counted as taken: all values before the
            // first one is taken, or this one just now. Each index occurs once.
            unsafe { self.run.take_out(index) }
        })
    }

    #[inline(always)]
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = T> {
        assert!(count <= self.remaining(), "{count} values are taken of a shorter run");
        let start = self.run.next;
        if const { !std::mem::needs_drop::<T>() } {
            self.pass(count);
        }
        // The least offset that was not taken yet.
        let mut least = 0;
        let mut selection = selection.iter().map(|&offset| usize::from(offset));
        let mut sought = if const { std::mem::needs_drop::<T>() } { selection.next() } else { None };
        std::iter::from_fn(move || {
            if const { !std::mem::needs_drop::<T>() } {
                let offset = selection.next()?;
                assert!(least <= offset && offset < count, "a selection rises within its run");
                least = offset + 1;
                // SAFETY: by the assertions above the offset is in the run and occurs once; it was counted as taken
                // before.
                return Some(unsafe { self.run.take_out(start + offset) });
            }
            while least < count {
                let offset = least;
                least += 1;
                self.pass(1);
                // SAFETY: the offset is in the run by the assertion above, and counted as taken. Each offset occurs
                // once, since `least` rises.
                let value = unsafe { self.run.take_out(start + offset) };
                if sought == Some(offset) {
                    sought = selection.next();
                    return Some(value);
                }
            }
            assert!(sought.is_none(), "a selection rises within its run");
            None
        })
    }
}

impl<T: Send + 'static, E: Passing> Drop for Drain<'_, T, E> {
    #[inline(always)]
    fn drop(&mut self) {
        self.end.publish();
    }
}
