//! What a keyed process function sees of the operator, and what it asks of it.

use std::collections::VecDeque;
use std::hash::Hash;

use thalweg_model::{Allowance, EventTime, Flow, Output, Record, State};

use super::timers::Timers;
use crate::funded::room_in_deque;
use crate::late::Lateness;

/// Results that are kept room for when they are through; one call rarely makes more.
const EMITTED_KEPT: usize = 1 << 10;

/// What a process function may look at and do on behalf of one key, during one call.
///
/// `K` is the key, `S` what is kept of it, `U` what is emitted.
#[derive(Debug)]
pub struct ProcessContext<'a, K, S, U> {
    pub(super) key: &'a K,
    /// Of the record or timer at hand.
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
    /// What is kept of the key: a default one, if there was nothing. It stays until [`clear`](Self::clear).
    #[inline]
    pub fn state(&mut self) -> &mut S {
        self.state.get_or_insert_default()
    }

    /// What is kept of the key, if there is anything.
    #[inline]
    pub fn state_if_any(&mut self) -> Option<&mut S> {
        self.state.as_mut()
    }

    /// Drops what is kept of the key. Its timers stay, and may find nothing.
    pub fn clear(&mut self) {
        *self.state = None;
    }

    /// Emits a value stamped with the event time of the record or timer at hand.
    ///
    /// A timer that fires at its time, and a record that is not late, are stamped no earlier than the watermark that
    /// those behind have seen, so what is emitted with their stamp is not late either.
    #[inline]
    pub fn emit(&mut self, value: U) {
        self.emit_at(self.event_time, value);
    }

    /// Emits a value stamped with `event_time`. What is stamped before [`watermark`](Self::watermark) may be late for
    /// those behind.
    #[inline]
    pub fn emit_at(&mut self, event_time: EventTime, value: U) {
        self.emitted.push(Record::new(event_time, value));
    }

    /// Asks for a call at `at`: when the watermark reaches it, that is when all records before `at` have come, or at the
    /// next watermark if it has. A timer that is set already stays as it is.
    ///
    /// When the stream ends, the watermark rises to [`EventTime::MAX`] and fires whatever is set, and whatever is set
    /// meanwhile. So a timer that always sets the next one asks first whether the [`watermark`](Self::watermark) is below
    /// that, or the query never ends.
    pub fn set_timer(&mut self, at: EventTime) {
        self.timers.set(self.key.clone(), at);
    }

    /// Takes back the timer at `at`, if it is set.
    pub fn delete_timer(&mut self, at: EventTime) {
        self.timers.delete(self.key.clone(), at);
    }

    /// The watermark: no record before it comes, but for late ones.
    pub fn watermark(&self) -> EventTime {
        self.lateness.watermark()
    }

    /// What makes a record late: one with an earlier event time came behind its own input's promise that there would be
    /// none. Never before [`watermark`](Self::watermark); later than that only where several streams come together.
    pub fn late_by(&self) -> EventTime {
        self.lateness.late_by()
    }
}

/// What one call has emitted, until there is room for it.
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

    /// Hands on as much as there is room for.
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
