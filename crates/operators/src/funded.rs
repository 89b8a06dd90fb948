//! Collections that ask for memory before they grow: the counterpart of [`Allowance::room_in`], which serves vectors,
//! for other collections of the standard library.

use std::collections::{BinaryHeap, VecDeque};

use thalweg_model::Allowance;

/// Makes room for one more item in a deque, doubling the capacity if it is full; returns `false` if the
/// memory was refused.
#[inline]
pub(crate) fn room_in_deque<T>(allowance: &Allowance, items: &mut VecDeque<T>) -> bool {
    items.len() < items.capacity() || {
        let more = more_than::<T>(allowance, items.capacity());
        more.inspect(|&more| items.reserve_exact(more)).is_some()
    }
}

/// Makes room for one more item in a heap, doubling the capacity if it is full; returns `false` if the memory
/// was refused.
#[inline]
pub(crate) fn room_in_heap<T: Ord>(allowance: &Allowance, items: &mut BinaryHeap<T>) -> bool {
    items.len() < items.capacity() || {
        let more = more_than::<T>(allowance, items.capacity());
        more.inspect(|&more| items.reserve_exact(more)).is_some()
    }
}

/// Asks for memory to double a full collection, and returns by how many items it may grow; `None` if the
/// memory was refused.
#[cold]
fn more_than<T>(allowance: &Allowance, capacity: usize) -> Option<usize> {
    let more = capacity.max(4);
    allowance.ask(more * size_of::<T>()).then_some(more)
}
