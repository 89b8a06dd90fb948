//! Memory of a join's state: asked for before it grows, and counted off when it is dropped.
//!
//! Every table and list of a join grows through this module, so the bytes held are known at any time without adding
//! up.

use thalweg_model::Allowance;

/// The allowance (part of the memory budget) in which a join reserves the bytes of its state, and the bytes that it holds at the moment.
#[derive(Debug, Default)]
pub(crate) struct Funds {
    allowance: Allowance,
    held_bytes: usize,
}

impl Funds {
    /// Creates the memory account of a join's state, which reserves memory in `allowance`.
    pub(crate) fn new(allowance: &Allowance) -> Self {
        Funds { allowance: allowance.clone(), held_bytes: 0 }
    }

    /// Returns the bytes of all tables and lists that grew through this struct and are not dropped yet.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Makes room for one more item in the vector `items`; returns `false` if the memory was refused.
    #[inline(always)]
    pub(crate) fn room_in<T>(&mut self, items: &mut Vec<T>) -> bool {
        items.len() < items.capacity() || self.grow(items)
    }

    #[cold]
    #[inline(never)]
    fn grow<T>(&mut self, items: &mut Vec<T>) -> bool {
        let before = bytes_of(items);
        let is_granted = self.allowance.room_in(items);
        self.held_bytes += bytes_of(items) - before;
        is_granted
    }

    /// Makes room for `count` items in all in the vector `items`; returns `false` if the memory was refused.
    pub(crate) fn room_for<T>(&mut self, items: &mut Vec<T>, count: usize) -> bool {
        let more = count.saturating_sub(items.capacity()).max(items.capacity());
        if count <= items.capacity() {
            return true;
        }
        let (before, is_granted) = (bytes_of(items), self.allowance.ask(more * size_of::<T>()));
        if is_granted {
            items.reserve_exact(items.capacity() + more - items.len());
        }
        self.held_bytes += bytes_of(items) - before;
        is_granted
    }

    /// Returns a vector of `count` zeros; `None` if the memory was refused.
    pub(crate) fn zeros(&mut self, count: usize) -> Option<Vec<u64>> {
        self.allowance.ask(count * size_of::<u64>()).then(|| {
            let zeros = vec![0; count];
            self.held_bytes += bytes_of(&zeros);
            zeros
        })
    }

    /// Subtracts `bytes` of dropped memory from the bytes that the join holds.
    pub(crate) fn give_back(&mut self, bytes: usize) {
        self.held_bytes -= bytes;
    }
}

/// Returns the bytes that a vector has allocated, whether they are used or not.
pub(crate) fn bytes_of<T>(items: &Vec<T>) -> usize {
    items.capacity() * size_of::<T>()
}
