//! When to look after sessions: a heap of timers, the earliest first.
//!
//! Timers are lazy. A session that is extended leaves its timer where it is; one that is merged into another leaves it
//! behind, and it finds nothing when it goes off. If that is what most of them are, they are swept out.

use std::cmp::Ordering;
use std::collections::binary_heap::{BinaryHeap, PeekMut};

use thalweg_model::{Allowance, EventTime};

use crate::funded::room_in_heap;

/// So many timers without a session are no reason to sweep.
const STALE_TIMERS_MAX: usize = 64;

/// When to look after a session: one of its instants, the last when the timer was set.
#[derive(Debug)]
pub(super) struct Timer<K> {
    pub(super) last: EventTime,
    pub(super) key: K,
}

impl<K> Ord for Timer<K> {
    /// The earliest is the greatest, so that a heap gives it first.
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

    /// Sets a timer; `false` if there is no memory for it. Those that are not live are swept out, if they are more than
    /// the sessions.
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

    /// The first to go off.
    pub(super) fn first(&mut self) -> Option<PeekMut<'_, Timer<K>>> {
        self.heap.peek_mut()
    }

    /// Takes the first out.
    pub(super) fn pop(&mut self) -> Option<Timer<K>> {
        self.heap.pop()
    }

    pub(super) fn bytes(&self) -> usize {
        self.heap.capacity() * size_of::<Timer<K>>()
    }
}
