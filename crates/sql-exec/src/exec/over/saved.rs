//! Saving and loading of the state of OVER windows: keys with their slots, accumulators, rows in frames,
//! timers, and waiting rows.

use std::cmp::Reverse;
use std::collections::VecDeque;

use arrow::array::AsArray;
use arrow::datatypes::UInt32Type;
use thalweg_model::{StateError, StateReader, StateWriter};

use super::{KeyState, Over, Past, past_bytes};

impl Over {
    pub(super) fn save_all(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.keys.save(state)?;
        self.calls.save(state)?;
        for slot in self.keys.live() {
            let KeyState { last_ms, cleanup_ms, past } = &self.states[slot as usize];
            state.put(&(last_ms, cleanup_ms, past))?;
        }
        state.put(&(self.due_ms, self.timers.iter().map(|timer| timer.0).collect::<Vec<_>>()))?;
        self.waiting.as_ref().map_or(Ok(()), |waiting| waiting.save(state))
    }

    pub(super) fn load_all(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.keys.load(state)?;
        self.calls.load(state)?;
        self.states.clear();
        self.states.resize_with(self.keys.slots(), KeyState::default);
        self.calls.resize(self.keys.slots());
        self.past_bytes = 0;
        let live: Vec<u32> = self.keys.live().collect();
        for slot in live {
            let (last_ms, cleanup_ms, past): (_, _, VecDeque<Past>) = state.take()?;
            self.past_bytes += past_bytes(&past);
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
        if let Some(waiting) = &mut self.waiting {
            waiting.load(state)?;
            for rows in waiting.rows() {
                let slots = rows.column(rows.num_columns() - 1).as_primitive::<UInt32Type>();
                if !slots.values().iter().all(|slot| is_slot(*slot)) {
                    return Err(state.wrong("a row that waits has no key"));
                }
            }
        }
        self.note_bytes();
        Ok(())
    }
}
