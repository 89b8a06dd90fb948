//! The keys that were seen in each open window.
//!
//! The window of the last record lies apart, so that a run of records in one window, the common case, costs one comparison
//! per record and no search. The tables of windows that are over are kept for the next, so that a steady stream allocates
//! nothing.

use std::collections::BTreeMap;
use std::hash::Hash;

use thalweg_model::{Allowance, EventTime, State, StateError, StateReader, StateWriter, Window};

use crate::key_table::{KeyHash, KeyTable};

/// Tables kept for later windows; more are rarely over at once.
const SPARE_TABLES_MAX: usize = 4;

/// Contains no instant, and is no instant's window.
const NO_WINDOW: Window = Window { start: EventTime::MIN, end: EventTime::MIN };

/// An open window, and the keys that were seen in it.
#[derive(Debug)]
struct Pane<K> {
    window: Window,
    /// Of the current window it lies apart; here lies one without slots then.
    keys: KeyTable<K, ()>,
}

/// The open windows.
#[derive(Debug)]
pub(super) struct Seen<K> {
    /// The window of the last record, or `NO_WINDOW`.
    window: Window,
    /// Microseconds that it spans, so that one comparison tells whether an instant lies in it.
    micros: u64,
    /// Its keys; without slots if there is none.
    keys: KeyTable<K, ()>,
    /// All open windows, by their starts.
    panes: BTreeMap<EventTime, Pane<K>>,
    spare: Vec<KeyTable<K, ()>>,
    /// The hash of all tables.
    hash: KeyHash,
    allowance: Allowance,
}

impl<K: Clone + Eq + Hash> Seen<K> {
    /// A node of a tree is at least half full.
    const PANE_BYTES: usize = 2 * size_of::<(EventTime, Pane<K>)>();

    pub(super) fn new() -> Self {
        Seen::hashed_and_paid(KeyHash::known(), Allowance::default())
    }

    fn hashed_and_paid(hash: KeyHash, allowance: Allowance) -> Self {
        let keys = KeyTable::new(hash.clone(), allowance.clone());
        let (panes, spare) = (BTreeMap::new(), Vec::new());
        Seen { window: NO_WINDOW, micros: 0, keys, panes, spare, hash, allowance }
    }

    /// Pays from `allowance` from now on; only before the first record.
    pub(super) fn fund(&mut self, allowance: &Allowance) {
        *self = Seen::hashed_and_paid(self.hash.clone(), allowance.clone());
    }

    /// Hashes with this seed from now on; only before the first record.
    pub(super) fn seed(&mut self, seed: u64) {
        *self = Seen::hashed_and_paid(KeyHash::new(seed), self.allowance.clone());
    }

    /// Whether `instant` falls into the current window.
    #[inline(always)]
    pub(super) fn is_current(&self, instant: EventTime) -> bool {
        // Before its start the difference wraps to more than any window spans.
        let offset = instant.as_micros().wrapping_sub(self.window.start.as_micros());
        offset.cast_unsigned() < self.micros
    }

    /// The current window.
    #[inline(always)]
    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// Takes note of a key in the current window, and gives it back if it is new there.
    #[inline(always)]
    pub(super) fn note(&mut self, key: K) -> Option<K> {
        if self.keys.look().get(&key).is_some() {
            return None;
        }
        self.keys.update(key.clone(), || (), |()| ());
        Some(key)
    }

    /// Makes `window`, which is open, the current one; `false` if there is no memory for it.
    #[cold]
    #[inline(never)]
    pub(super) fn turn_to(&mut self, window: Window) -> bool {
        // The window at the very end of the range does not contain the last instant, so it is asked for again.
        if window == self.window {
            return true;
        }
        self.park();
        if !self.panes.contains_key(&window.start) {
            if !self.allowance.ask(Self::PANE_BYTES) {
                return false;
            }
            let keys = self.spare.pop().unwrap_or_else(|| self.table());
            self.panes.insert(window.start, Pane { window, keys });
        }
        self.window = window;
        self.micros = window.end.as_micros().abs_diff(window.start.as_micros());
        self.swap();
        true
    }

    /// Makes no window the current one.
    pub(super) fn park(&mut self) {
        self.swap();
        (self.window, self.micros) = (NO_WINDOW, 0);
    }

    /// Takes the keys of the current window from where they lie, or puts them back.
    fn swap(&mut self) {
        if let Some(pane) = self.panes.get_mut(&self.window.start)
            && pane.window == self.window
        {
            std::mem::swap(&mut pane.keys, &mut self.keys);
        }
    }

    /// Forgets the windows that end at or before `watermark`.
    pub(super) fn forget_until(&mut self, watermark: EventTime) {
        if self.window.end <= watermark {
            self.park();
        }
        while let Some(first) = self.panes.first_entry()
            && first.get().window.end <= watermark
        {
            let mut keys = first.remove().keys;
            if self.spare.len() < SPARE_TABLES_MAX {
                while keys.drain_one().is_some() {}
                self.spare.push(keys);
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let tables = self.panes.values().map(|pane| &pane.keys).chain(&self.spare).chain([&self.keys]);
        tables.map(KeyTable::bytes).sum::<usize>() + self.panes.len() * Self::PANE_BYTES
    }

    fn table(&self) -> KeyTable<K, ()> {
        KeyTable::new(self.hash.clone(), self.allowance.clone())
    }

    /// Open windows and their keys.
    fn iter(&self) -> impl Iterator<Item = (Window, &KeyTable<K, ()>)> {
        self.panes.values().map(|pane| {
            let is_current = pane.window == self.window;
            (pane.window, if is_current { &self.keys } else { &pane.keys })
        })
    }

    #[cfg(test)]
    pub(super) fn key_count(&self) -> usize {
        self.iter().map(|(_, keys)| keys.len()).sum()
    }
}

impl<K: Clone + Eq + Hash + State> Seen<K> {
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.panes.len())?;
        for (window, keys) in self.iter() {
            state.put(&(window, keys.len()))?;
            keys.iter().try_for_each(|(key, ())| state.put(key))?;
        }
        Ok(())
    }

    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        *self = Seen::hashed_and_paid(self.hash.clone(), self.allowance.clone());
        for _ in 0..state.take::<usize>()? {
            let (window, count): (Window, usize) = state.take()?;
            // If there is no memory for it, the query is about to fail.
            let _is_granted = self.turn_to(window);
            for _ in 0..count {
                self.note(state.take()?);
            }
        }
        self.park();
        Ok(())
    }
}
