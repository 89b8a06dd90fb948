//! Collections that ask before they grow: what [`Allowance::room_in`] is to vectors, to the others of the standard
//! library.

use std::collections::{BinaryHeap, VecDeque};

use thalweg_model::Allowance;

/// Makes room for one more item, doubling what is held; `false` if that was refused.
#[inline]
pub(crate) fn room_in_deque<T>(allowance: &Allowance, items: &mut VecDeque<T>) -> bool {
    items.len() < items.capacity() || {
        let more = more_than::<T>(allowance, items.capacity());
        more.inspect(|&more| items.reserve_exact(more)).is_some()
    }
}

/// The same for a heap.
#[inline]
pub(crate) fn room_in_heap<T: Ord>(allowance: &Allowance, items: &mut BinaryHeap<T>) -> bool {
    items.len() < items.capacity() || {
        let more = more_than::<T>(allowance, items.capacity());
        more.inspect(|&more| items.reserve_exact(more)).is_some()
    }
}

/// How many items more there may be room for, now that there is none; none if that was refused.
#[cold]
fn more_than<T>(allowance: &Allowance, capacity: usize) -> Option<usize> {
    let more = capacity.max(4);
    allowance.ask(more * size_of::<T>()).then_some(more)
}
