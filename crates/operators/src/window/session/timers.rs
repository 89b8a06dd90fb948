//! Timers of sessions: a heap of timers, the earliest first.
//!
//! Timers are lazy. A session that is extended leaves its timer unchanged. One that is merged into another leaves its
//! timer behind, which finds nothing when it goes off. If most timers are such, they are removed.

use std::cmp::Ordering;
use std::collections::binary_heap::{BinaryHeap, PeekMut};

use thalweg_model::{Allowance, EventTime};

use crate::funded::room_in_heap;

/// Number of timers without a session up to which none are removed.
const STALE_TIMERS_MAX: usize = 64;

/// A timer of a session: one of its instants, the last one when the timer was set.
#[derive(Debug)]
pub(super) struct Timer<K> {
    pub(super) last: EventTime,
    pub(super) key: K,
}

impl<K> Ord for Timer<K> {
    /// Orders the earliest timer as the greatest, so that a heap gives it first.
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

/// Timers of sessions.
#[derive(Debug)]
pub(super) struct Timers<K> {
    heap: BinaryHeap<Timer<K>>,
    allowance: Allowance,
}

impl<K> Timers<K> {
    pub(super) fn new(allowance: Allowance) -> Self {
        Timers { heap: BinaryHeap::new(), allowance }
    }

    /// Sets a timer; returns `false` if there is no memory for it. Timers that are not live are removed, if there are
    /// more of them than sessions.
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

    /// Returns the first timer to go off.
    pub(super) fn first(&mut self) -> Option<PeekMut<'_, Timer<K>>> {
        self.heap.peek_mut()
    }

    /// Removes and returns the first timer.
    pub(super) fn pop(&mut self) -> Option<Timer<K>> {
        self.heap.pop()
    }

    pub(super) fn bytes(&self) -> usize {
        self.heap.capacity() * size_of::<Timer<K>>()
    }
}
