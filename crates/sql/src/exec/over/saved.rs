//! The state of OVER, as it is written down: keys with their slots, accumulators, what is in frames, timers, and the rows that
//! wait for the watermark.

use std::cmp::Reverse;
use std::collections::VecDeque;

use arrow::array::AsArray;
use arrow::datatypes::TimestampMillisecondType;
use thalweg_model::{StateError, StateReader, StateWriter};

use super::super::kept::{load_rows, save_rows};
use super::super::order::bytes_of;
use super::{KeyState, Over, past_bytes};

impl Over {
    /// Writes down keys, their frames and the rows that wait.
    pub(super) fn save_all(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.keys.save(state)?;
        self.calls.save(state)?;
        for slot in self.keys.live() {
            let KeyState { last_ms, cleanup_ms, past } = &self.states[slot as usize];
            state.put(&(last_ms, cleanup_ms, past))?;
        }
        state.put(&(self.due_ms, self.timers.iter().map(|timer| timer.0).collect::<Vec<_>>()))?;
        state.put(&self.waiting.len())?;
        for (rows, slots) in &self.waiting {
            save_rows(rows, state)?;
            state.put(slots)?;
        }
        Ok(())
    }

    /// Replaces them by what was written.
    pub(super) fn load_all(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.keys.load(state)?;
        self.calls.load(state)?;
        self.states.clear();
        self.states.resize_with(self.keys.slots(), KeyState::default);
        self.calls.resize(self.keys.slots());
        self.past_bytes = 0;
        let live: Vec<u32> = self.keys.live().collect();
        for slot in live {
            let (last_ms, cleanup_ms, past): (_, _, VecDeque<(i64, Box<[u8]>)>) = state.take()?;
            self.past_bytes += past.iter().map(past_bytes).sum::<usize>();
            self.states[slot as usize] = KeyState { last_ms, cleanup_ms, past };
        }
        let (due_ms, timers): (i64, Vec<(i64, u32)>) = state.take()?;
        let is_slot = |slot: u32| (slot as usize) < self.states.len();
        if !timers.iter().all(|timer| is_slot(timer.1)) {
            return Err(state.wrong("a timer is of a key that there is not"));
        }
        self.due_ms = due_ms;
        self.timers = timers.into_iter().map(Reverse).collect();
        self.ready.clear();
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.least_ms = i64::MAX;
        let batches: usize = state.take()?;
        for _ in 0..batches {
            let rows = load_rows(&self.input, state)?;
            let slots: Vec<u32> = state.take()?;
            let Some(time) = self.time else { return Err(state.wrong("rows wait for no time")) };
            if slots.len() != rows.num_rows() || !slots.iter().all(|slot| is_slot(*slot)) {
                return Err(state.wrong("a row that waits has no key"));
            }
            let times = rows.column(time).as_primitive::<TimestampMillisecondType>();
            self.least_ms = times.values().iter().copied().fold(self.least_ms, i64::min);
            self.waiting_bytes += bytes_of(&rows) + slots.capacity() * size_of::<u32>();
            self.waiting.push((rows, slots));
        }
        self.note_bytes();
        Ok(())
    }
}
