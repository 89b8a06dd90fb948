//! The context of a keyed process function: the state, event time and watermark that the function may read, and the
//! results and timers that it asks for.

use std::collections::VecDeque;
use std::hash::Hash;

use thalweg_model::{Allowance, EventTime, Flow, Output, Record, State};

use super::timers::Timers;
use crate::funded::room_in_deque;
use crate::late::Lateness;

/// Number of results for which the buffer keeps its memory after they are emitted; one call of a process
/// function rarely makes more.
const EMITTED_KEPT: usize = 1 << 10;

/// Access to the operator on behalf of one key, during one call of a process function.
///
/// `K` is the key, `S` its state, `U` the results.
#[derive(Debug)]
pub struct ProcessContext<'a, K, S, U> {
    pub(super) key: &'a K,
    /// Event time of the record or timer that is being processed.
    pub(super) event_time: EventTime,
    pub(super) state: &'a mut Option<S>,
    pub(super) timers: &'a mut Timers<K>,
    pub(super) emitted: &'a mut Emitted<U>,
    pub(super) lateness: Lateness,
}

impl<K, S, U> ProcessContext<'_, K, S, U>
where
    K: Clone + Eq + Hash,
    S: State + Default,
{
    /// Returns the state of the key; a default one is created if there was none. It stays until
    /// [`clear`](Self::clear).
    #[inline]
    pub fn state(&mut self) -> &mut S {
        self.state.get_or_insert_default()
    }

    /// Returns the state of the key, if there is any, without creating it.
    #[inline]
    pub fn state_if_any(&mut self) -> Option<&mut S> {
        self.state.as_mut()
    }

    /// Drops the state of the key. Its timers stay set, and the key may have no state when they fire.
    pub fn clear(&mut self) {
        *self.state = None;
    }

    /// Emits a value stamped with the event time of the current record or timer.
    ///
    /// A timer that fires at its time, and a record that is not late, are stamped no earlier than the watermark that
    /// later operators have seen. So a value emitted with their stamp is not late there either.
    #[inline]
    pub fn emit(&mut self, value: U) {
        self.emit_at(self.event_time, value);
    }

    /// Emits a value stamped with `event_time`. A value stamped before [`watermark`](Self::watermark) may be late for
    /// later operators.
    #[inline]
    pub fn emit_at(&mut self, event_time: EventTime, value: U) {
        self.emitted.push(Record::new(event_time, value));
    }

    /// Sets a timer at `at`. It fires when the watermark reaches `at`, that is when all records before `at` have
    /// come, or at the next watermark if it already has. A timer that is already set stays as it is.
    ///
    /// When the stream ends, the watermark rises to [`EventTime::MAX`] and fires all timers, including those set
    /// meanwhile. So a timer that always sets the next one must first check that the [`watermark`](Self::watermark)
    /// is below that, or the query never ends.
    pub fn set_timer(&mut self, at: EventTime) {
        self.timers.set(self.key.clone(), at);
    }

    /// Deletes the timer that is set for the key at the instant `at`, if there is one.
    pub fn delete_timer(&mut self, at: EventTime) {
        self.timers.delete(self.key.clone(), at);
    }

    /// Returns the watermark: no record before it comes any more, except late ones.
    pub fn watermark(&self) -> EventTime {
        self.lateness.watermark()
    }

    /// Returns the bound of lateness: a record with an earlier event time came behind its own input's promise that
    /// there would be none. Never before [`watermark`](Self::watermark); later only where several streams come
    /// together.
    pub fn late_by(&self) -> EventTime {
        self.lateness.late_by()
    }
}

/// The results of one call of a process function, kept until there is room for them in the output.
#[derive(Debug)]
pub(super) struct Emitted<U> {
    records: VecDeque<Record<U>>,
    allowance: Allowance,
}

impl<U> Emitted<U> {
    pub(super) fn new(allowance: Allowance) -> Self {
        Emitted { records: VecDeque::new(), allowance }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    #[inline]
    fn push(&mut self, record: Record<U>) {
        if room_in_deque(&self.allowance, &mut self.records) {
            self.records.push_back(record);
        }
    }

    /// Emits as many of the results that wait for room as the output takes now.
    #[inline]
    pub(super) fn hand_on<O: Output<U>>(&mut self, output: &mut O) -> Flow {
        while output.room() > 0 {
            let Some(record) = self.records.pop_front() else {
                if self.records.capacity() > EMITTED_KEPT {
                    self.records = VecDeque::new();
                }
                return Flow::Done;
            };
            output.push(record);
        }
        if self.records.is_empty() { Flow::Done } else { Flow::More }
    }

    pub(super) fn bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record<U>>()
    }
}
