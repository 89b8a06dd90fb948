//! The reading ends of an edge of blocks.
//!
//! A reader asks for the next item: a run of values, which never leaves a block and never spans a mark, or a mark, or
//! nothing. Values are taken out of a run one by one ([`Drain`]); on a shared edge they are lent ([`Lent`]). When the
//! run is dropped, also by a panic of user code, the writer learns how many of its values were taken. The reader
//! itself counts a value at the moment it is taken, so the values taken from a run which is forgotten (by
//! `mem::forget`) are not given out again.

use crate::block::BlockRef;
use crate::cursors::Cursors;
use crate::edge::Shared;
use crate::marks::MarkRules;
use crate::run::{Drain, Passing, Run};
use crate::sync::{Arc, Ordering};

/// The next item that the only reader of an edge finds: values to be moved out, a mark, or nothing.
pub enum Next<'a, T: Send + 'static, R: MarkRules> {
    /// The edge has values next; at least one.
    Values(EdgeDrain<'a, T, R>),
    /// The edge has a mark (such as a watermark) next. It counts as read from now on.
    Mark(R::Mark),
    /// The edge has neither a value nor a mark at the moment.
    Empty,
}

/// The next item that one of several readers of an edge finds: values to be borrowed, a mark, or nothing.
pub enum SharedNext<'a, T: Send + Sync + 'static, R: MarkRules> {
    /// The edge has values next, which are lent to this reader; at least one.
    Values(Lent<'a, T, R>),
    /// The edge has a mark (such as a watermark) next. It counts as read by this reader from now on.
    Mark(R::Mark),
    /// The edge has neither a value nor a mark for this reader at the moment.
    Empty,
}

/// State of a reading end, whether the edge has one reader or several.
pub struct ReadEnd<T, R: MarkRules> {
    shared: Arc<Shared<T, R>>,
    index: usize,
    /// Number of values that this reader has taken since the edge was made. The writer sees it only when a
    /// run of values is dropped.
    read: u64,
    /// The block that contains the position `read`. `sequence` is the number of this block in the edge, and
    /// `slot` is the index in the block of the next value. While `slot` is 0, `block` is not loaded yet.
    block: BlockRef<T>,
    sequence: u64,
    slot: usize,
    /// The count of written values (`written`) that this reader has loaded last.
    written_seen: u64,
    marks_read: u64,
    /// The value of `marks_written` that this reader has loaded last, after `written_seen`. So it covers
    /// every mark below the position `written_seen`.
    marks_seen: u64,
}

enum Found<T, M> {
    Run(Run<T>),
    Mark(M),
    Nothing,
}

impl<T, R: MarkRules> ReadEnd<T, R> {
    fn new(shared: Arc<Shared<T, R>>, index: usize) -> Self {
        ReadEnd {
            shared,
            index,
            read: 0,
            block: BlockRef::dangling(),
            sequence: 0,
            slot: 0,
            written_seen: 0,
            marks_read: 0,
            marks_seen: 0,
        }
    }

    #[inline]
    fn find(&mut self, max: usize) -> Found<T, R::Mark> {
        loop {
            let mut limit = self.written_seen;
            if self.marks_read < self.marks_seen {
                // SAFETY: `marks_read < marks_seen`, which was loaded with Acquire, and not published as read.
                let (position, mark) = unsafe { self.shared.marks.get(self.marks_read) };
                if position == self.read {
                    self.marks_read += 1;
                    let line = &self.shared.cursors.readers[self.index];
                    // Release: the writer of the edge may reuse the slot of the mark that was read.
                    line.marks_read.store(self.marks_read, Ordering::Release);
                    return Found::Mark(mark);
                }
                limit = limit.min(position);
            }
            if self.read < limit {
                return Found::Run(self.run(limit, max));
            }
            // All known items are read, so load the cursors of the writer again: first `written`, then
            // `marks_written`. The writer stores them in the opposite order, so every mark below the readable
            // positions is seen.
            let writer = &self.shared.cursors.writer;
            let written = writer.written.load(Ordering::Acquire);
            let marks = writer.marks_written.load(Ordering::Acquire);
            assert!(written >= self.written_seen && marks >= self.marks_seen, "cursors never go back (B2)");
            if written == self.written_seen && marks == self.marks_seen {
                return Found::Nothing;
            }
            (self.written_seen, self.marks_seen) = (written, marks);
        }
    }

    #[inline]
    fn run(&mut self, limit: u64, max: usize) -> Run<T> {
        let block_records = self.shared.cursors.block_records() as usize;
        if self.slot == block_records {
            // The run that has taken the last value of the block was forgotten (by `mem::forget`), so the
            // reader has not left the block yet.
            self.leave_block();
        }
        if self.slot == 0 {
            self.block = self.shared.block(self.sequence);
            let stamp = self.block.preamble().stamp.load();
            self.shared.cursors.readers[self.index].block_stamp.store(stamp);
        }
        self.block.check(self.sequence);
        let pending = usize::try_from(limit - self.read).unwrap_or(usize::MAX);
        let count = pending.min(block_records - self.slot).min(max.max(1));
        Run { block: self.block, next: self.slot, end: self.slot + count }
    }

    /// Moves the reader to the first slot of the next block.
    #[inline]
    fn leave_block(&mut self) {
        (self.sequence, self.slot) = (self.sequence + 1, 0);
        self.shared.cursors.readers[self.index].block_start.store(self.read, Ordering::Relaxed);
    }

    fn close(&self) {
        self.shared.cursors.readers[self.index].closed.store(true, Ordering::Release);
    }
}

impl<T, R: MarkRules> Passing for ReadEnd<T, R> {
    /// Counts `count` values as read in this reader only; the writer does not see this before `publish`.
    #[inline(always)]
    fn pass(&mut self, count: usize) {
        self.read += count as u64;
        self.slot += count;
    }

    /// Publishes the number of values that were read, so that the writer may reuse their slots.
    #[inline(always)]
    fn publish(&mut self) {
        let line = &self.shared.cursors.readers[self.index];
        // Release: the writer of the edge may recycle the slots that this reader has passed.
        line.read.store(self.read, Ordering::Release);
        if self.slot == self.shared.cursors.block_records() as usize {
            self.leave_block();
        }
    }
}

/// A run of values of an edge that are moved out one by one. Values that are not taken stay in the edge.
pub type EdgeDrain<'a, T, R> = Drain<'a, T, ReadEnd<T, R>>;

/// The only reader of an edge; moves values out of the edge.
pub struct Reader<T: Send + 'static, R: MarkRules> {
    end: ReadEnd<T, R>,
}

impl<T: Send + 'static, R: MarkRules> Reader<T, R> {
    pub(crate) fn new(shared: Arc<Shared<T, R>>) -> Self {
        Reader { end: ReadEnd::new(shared, 0) }
    }

    /// Returns the cursors of the edge, in which this reader has the index 0.
    pub fn cursors(&self) -> &Arc<Cursors> {
        &self.end.shared.cursors
    }

    /// Returns the next item of the edge: a run of at most `max` values, a mark, or nothing. A `max` of 0 counts
    /// as 1.
    #[inline]
    pub fn next(&mut self, max: usize) -> Next<'_, T, R> {
        match self.end.find(max) {
            Found::Run(run) => Next::Values(Drain::new(run, &mut self.end)),
            Found::Mark(mark) => Next::Mark(mark),
            Found::Nothing => Next::Empty,
        }
    }
}

impl<T: Send + 'static, R: MarkRules> Drop for Reader<T, R> {
    fn drop(&mut self) {
        /// Closes the reading end, also if the drop of a value panics: the writer must never wait for a
        /// reader that is gone.
        struct Close<'a, T, R: MarkRules>(&'a Shared<T, R>);
        impl<T, R: MarkRules> Drop for Close<'_, T, R> {
            fn drop(&mut self) {
                self.0.cursors.readers[0].closed.store(true, Ordering::Release);
            }
        }
        let shared = Arc::clone(&self.end.shared);
        let _closed_at_the_end = Close(&shared);
        if const { std::mem::needs_drop::<T>() } {
            while let Found::Run(mut run) = self.find_values() {
                while run.next < run.end {
                    // SAFETY: the index is below `end`, and it is passed right after this, so the value is
                    // moved out only once.
                    let value = unsafe { run.take_out(run.next) };
                    run.next += 1;
                    self.end.pass(1);
                    // The value is published as read before it is dropped: the writer may reuse the slot, and
                    // if the drop panics, the value does not count as unread.
                    self.end.publish();
                    drop(value);
                }
            }
        }
    }
}

impl<T: Send + 'static, R: MarkRules> Reader<T, R> {
    fn find_values(&mut self) -> Found<T, R::Mark> {
        loop {
            match self.end.find(usize::MAX) {
                Found::Mark(_) => {}
                found => return found,
            }
        }
    }
}

/// One of several readers of an edge; values are lent to it and stay in the edge.
pub struct SharedReader<T: Send + Sync + 'static, R: MarkRules> {
    end: ReadEnd<T, R>,
}

impl<T: Send + Sync + 'static, R: MarkRules> SharedReader<T, R> {
    pub(crate) fn new(shared: Arc<Shared<T, R>>, index: usize) -> Self {
        SharedReader { end: ReadEnd::new(shared, index) }
    }

    /// Returns the cursors of the edge, which schedulers read.
    pub fn cursors(&self) -> &Arc<Cursors> {
        &self.end.shared.cursors
    }

    /// Returns the index of this reader among the readers of the edge.
    pub fn index(&self) -> usize {
        self.end.index
    }

    /// Returns the next item of the edge: a run of at most `max` values, a mark, or nothing. A `max` of 0 counts
    /// as 1.
    #[inline]
    pub fn next(&mut self, max: usize) -> SharedNext<'_, T, R> {
        match self.end.find(max) {
            Found::Run(run) => SharedNext::Values(Lent { first: run.next, run, end: &mut self.end }),
            Found::Mark(mark) => SharedNext::Mark(mark),
            Found::Nothing => SharedNext::Empty,
        }
    }
}

impl<T: Send + Sync + 'static, R: MarkRules> Drop for SharedReader<T, R> {
    fn drop(&mut self) {
        self.end.close();
    }
}

/// A run of values that are lent to a reader. Values that the reader does not pass (mark as read) are lent
/// again with the next run.
pub struct Lent<'a, T: Send + Sync + 'static, R: MarkRules> {
    run: Run<T>,
    first: usize,
    end: &'a mut ReadEnd<T, R>,
}

impl<T: Send + Sync + 'static, R: MarkRules> Lent<'_, T, R> {
    /// Returns the number of values of this run that the reader has not passed yet.
    #[inline(always)]
    pub fn remaining(&self) -> usize {
        self.run.end - self.run.next
    }

    /// Calls `look` with the value `offset` places after the next value of the run; 0 is the next value
    /// itself.
    ///
    /// # Panics
    /// If the run has no such value.
    #[inline(always)]
    pub fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&T) -> Q) -> Q {
        self.run.look(offset, look)
    }

    /// Marks the next `count` values as read, so that they are not lent again.
    ///
    /// # Panics
    /// If fewer values are left.
    #[inline(always)]
    pub fn pass(&mut self, count: usize) {
        assert!(count <= self.remaining(), "{count} values are passed of a shorter run");
        self.run.next += count;
    }
}

impl<T: Send + Sync + 'static, R: MarkRules> Drop for Lent<'_, T, R> {
    #[inline(always)]
    fn drop(&mut self) {
        self.end.pass(self.run.next - self.first);
        self.end.publish();
    }
}
