//! Timers of sessions: a heap of timers, the earliest first.
//!
//! Timers are lazy. A session that is extended leaves its timer unchanged. One that is merged into another leaves its
//! timer behind, which finds nothing when it goes off. If most timers are such, they are removed.

use std::cmp::Ordering;
use std::collections::binary_heap::{BinaryHeap, PeekMut};

use thalweg_model::{Allowance, EventTime};

use crate::funded::room_in_heap;

/// Timers without a session are removed only if there are more than this number.
const STALE_TIMERS_MAX: usize = 64;

/// The timer of a session. Its instant is the last one that the session contained when the timer was set.
#[derive(Debug)]
pub(super) struct Timer<K> {
    pub(super) last: EventTime,
    pub(super) key: K,
}

impl<K> Ord for Timer<K> {
    /// Orders timers for a max-heap: the greatest is the one with the earliest instant.
    fn cmp(&self, other: &Self) -> Ordering {
        other.last.cmp(&self.last)
    }
}

impl<K> PartialOrd for Timer<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> PartialEq for Timer<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K> Eq for Timer<K> {}

/// The timers of sessions in a heap, the earliest first.
#[derive(Debug)]
pub(super) struct Timers<K> {
    heap: BinaryHeap<Timer<K>>,
    allowance: Allowance,
}

impl<K> Timers<K> {
    pub(super) fn new(allowance: Allowance) -> Self {
        Timers { heap: BinaryHeap::new(), allowance }
    }

    /// Sets a timer; returns `false` if there is no memory for it. If most timers have no session any more,
    /// those are removed first.
    pub(super) fn set(
        &mut self,
        timer: Timer<K>,
        session_count: usize,
        is_live: impl FnMut(&Timer<K>) -> bool,
    ) -> bool {
        if self.heap.len() > STALE_TIMERS_MAX + 2 * session_count {
            self.heap.retain(is_live);
        }
        let has_room = room_in_heap(&self.allowance, &mut self.heap);
        if has_room {
            self.heap.push(timer);
        }
        has_room
    }

    /// Returns the timer of a session that goes off first, for changing.
    pub(super) fn first(&mut self) -> Option<PeekMut<'_, Timer<K>>> {
        self.heap.peek_mut()
    }

    /// Removes and returns the timer that goes off first.
    pub(super) fn pop(&mut self) -> Option<Timer<K>> {
        self.heap.pop()
    }

    pub(super) fn bytes(&self) -> usize {
        self.heap.capacity() * size_of::<Timer<K>>()
    }
}
