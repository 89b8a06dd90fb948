//! The forms in which a task receives a block of records: a block of its own, whose records are moved
//! out, or a block that several tasks share, from which each task clones.

use std::iter::Empty;
use std::sync::Arc;

use thalweg_memory::{Block, BlockDrain};
use thalweg_model::{Input, Record};

use crate::edge::DrainInput;

/// A block that was claimed by a task, or the task's share in a block that other tasks read too.
pub trait Carrier<T>: Send + 'static {
    /// The input type through which an operator reads the records of a claimed block.
    type Input<'a>: Input<T>
    where
        Self: 'a;

    /// Returns the number of records of the claimed block that have not been taken yet.
    fn count(&self) -> usize;

    /// Returns the core on which the records of the block were written.
    fn core(&self) -> usize;

    /// Returns the next records of the claimed block as an operator's input, at most `max` of them.
    fn input(&mut self, max: usize) -> Self::Input<'_>;

    /// Returns the block, or the share in it, to the block pool. `is_hot` is true if the block was filled
    /// and emptied on one core, so that its memory is still in that core's cache.
    fn give_back(self, is_hot: bool);
}

impl<T: Send + 'static> Carrier<T> for Block<Record<T>> {
    type Input<'a> = DrainInput<BlockDrain<'a, Record<T>>>;

    fn count(&self) -> usize {
        self.len()
    }

    fn core(&self) -> usize {
        Block::core(self)
    }

    #[inline(always)]
    fn input(&mut self, max: usize) -> Self::Input<'_> {
        DrainInput { run: self.drain(max) }
    }

    fn give_back(self, is_hot: bool) {
        Block::give_back(self, is_hot);
    }
}

/// One reader's share in a block that several tasks read. Each task clones the records that it takes.
pub struct Share<T: Send + Sync + 'static> {
    block: Arc<Block<Record<T>>>,
    /// Index of the first record that this reader has not taken.
    next: usize,
}

impl<T: Send + Sync + 'static> Share<T> {
    /// Makes `count` shares of one block, one for each task that reads it.
    pub(super) fn of(block: Block<Record<T>>, count: usize) -> impl Iterator<Item = Self> {
        let block = Arc::new(block);
        (0..count).map(move |_| Share { block: Arc::clone(&block), next: 0 })
    }
}

impl<T: Clone + Send + Sync + 'static> Carrier<T> for Share<T> {
    type Input<'a> = ShareInput<'a, T>;

    fn count(&self) -> usize {
        self.block.len() - self.next
    }

    fn core(&self) -> usize {
        self.block.core()
    }

    #[inline(always)]
    fn input(&mut self, max: usize) -> ShareInput<'_, T> {
        let end = self.block.len().min(self.next.saturating_add(max));
        ShareInput { block: &self.block, first: self.next, next: &mut self.next, end }
    }

    fn give_back(self, is_hot: bool) {
        // The last of the readers that share the block gets it back as its owner, and returns it to the pool.
        if let Some(block) = Arc::into_inner(self.block) {
            block.give_back(is_hot);
        }
    }
}

/// Adapts the next records of a shared block to the input interface of operators. The records count as
/// taken when this value is dropped.
pub struct ShareInput<'a, T: Send + Sync + 'static> {
    block: &'a Block<Record<T>>,
    first: usize,
    next: &'a mut usize,
    end: usize,
}

impl<T: Send + Sync + 'static> ShareInput<'_, T> {
    /// Counts the next `count` records as taken, and returns the index in the block of the first of them.
    #[inline(always)]
    fn pass(&mut self, count: usize) -> usize {
        let first = self.first;
        assert!(count <= self.end - first, "{count} records are taken of {}", self.end - first);
        self.first += count;
        first
    }
}

impl<T: Clone + Send + Sync + 'static> Input<T> for ShareInput<'_, T> {
    #[inline(always)]
    fn remaining(&self) -> usize {
        self.end - self.first
    }

    #[inline(always)]
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<T>) -> Q) -> Q {
        self.block.inspect(self.first + offset, look)
    }

    #[inline(always)]
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<T>> {
        let (block, first) = (self.block, self.pass(count));
        (first..first + count).map(move |place| block.inspect(place, Record::clone))
    }

    #[inline(always)]
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<T>> {
        let (block, first) = (self.block, self.pass(count));
        let mut least = 0;
        selection.iter().map(move |&offset| {
            let offset = usize::from(offset);
            assert!(least <= offset && offset < count, "a selection rises within its run");
            least = offset + 1;
            block.inspect(first + offset, Record::clone)
        })
    }
}

impl<T: Send + Sync + 'static> Drop for ShareInput<'_, T> {
    fn drop(&mut self) {
        *self.next = self.first;
    }
}

/// The carrier type (the form in which blocks are claimed) of a task that reads edges and claims no blocks.
/// It has no values.
pub enum NoCarrier {}

/// The input type of a task that claims no blocks; [`NoCarrier`] must name such a type. It has no values.
pub enum NoInput {}

impl<T> Carrier<T> for NoCarrier {
    type Input<'a> = NoInput;

    fn count(&self) -> usize {
        match *self {}
    }

    fn core(&self) -> usize {
        match *self {}
    }

    fn input(&mut self, _max: usize) -> NoInput {
        match *self {}
    }

    fn give_back(self, _is_hot: bool) {
        match self {}
    }
}

impl NoInput {
    /// Returns a value of any type without making one. There is no value of type `NoInput`, so this is never
    /// called.
    fn never<R>(&self) -> R {
        match *self {}
    }
}

impl<T> Input<T> for NoInput {
    fn remaining(&self) -> usize {
        self.never()
    }

    fn inspect<Q>(&self, _offset: usize, _look: impl FnOnce(&Record<T>) -> Q) -> Q {
        self.never()
    }

    fn taken(&mut self, _count: usize) -> impl Iterator<Item = Record<T>> {
        self.never::<Empty<_>>()
    }

    fn taken_selected(&mut self, _count: usize, _selection: &[u16]) -> impl Iterator<Item = Record<T>> {
        self.never::<Empty<_>>()
    }
}
