//! The keys that a distinct operator has seen in each open window.
//!
//! The window of the last record is kept apart, so that a run of records in one window, the common case, costs one
//! comparison per record and no search. Tables of windows that have ended are reused, so that a steady stream
//! allocates nothing.

use std::collections::BTreeMap;
use std::hash::Hash;

use thalweg_model::{Allowance, EventTime, State, StateError, StateReader, StateWriter, Window};

use crate::key_table::{KeyHash, KeyTable};

/// Number of emptied tables of keys whose memory is kept for later windows. It is rare that more windows end
/// at once.
const SPARE_TABLES_MAX: usize = 4;

/// An empty window: it contains no instant, and no instant is found to fall into it.
const NO_WINDOW: Window = Window { start: EventTime::MIN, end: EventTime::MIN };

/// An open window (whose end the watermark has not reached), and the keys that were seen in it; an entry of
/// the tree of open windows.
#[derive(Debug)]
struct Pane<K> {
    window: Window,
    /// The keys seen in this window. For the current window, that of the last record, this is an empty table
    /// without slots: its keys are kept outside of the tree of open windows.
    keys: KeyTable<K, ()>,
}

/// All open windows of a distinct operator, with the keys seen in them.
#[derive(Debug)]
pub(super) struct Seen<K> {
    /// The current window, which is the window of the last record; `NO_WINDOW` if none is current.
    window: Window,
    /// Length of the current window in microseconds, so that one comparison tells whether an instant lies in
    /// the window.
    micros: u64,
    /// The keys of the current window; a table without slots if no window is current.
    keys: KeyTable<K, ()>,
    /// All open windows, sorted by their starts.
    panes: BTreeMap<EventTime, Pane<K>>,
    spare: Vec<KeyTable<K, ()>>,
    /// The hash function of the tables of all windows.
    hash: KeyHash,
    allowance: Allowance,
}

impl<K: Clone + Eq + Hash> Seen<K> {
    /// Bytes of one window in the tree of open windows. Nodes of the tree are at least half full, so twice
    /// the size of an entry covers it.
    const PANE_BYTES: usize = 2 * size_of::<(EventTime, Pane<K>)>();

    pub(super) fn new() -> Self {
        Seen::hashed_and_paid(KeyHash::known(), Allowance::default())
    }

    fn hashed_and_paid(hash: KeyHash, allowance: Allowance) -> Self {
        let keys = KeyTable::new(hash.clone(), allowance.clone());
        let (panes, spare) = (BTreeMap::new(), Vec::new());
        Seen { window: NO_WINDOW, micros: 0, keys, panes, spare, hash, allowance }
    }

    /// From now on reserves the memory of tables and windows in `allowance`, the operator's part of the
    /// memory budget; may be called only before the first record.
    pub(super) fn fund(&mut self, allowance: &Allowance) {
        *self = Seen::hashed_and_paid(self.hash.clone(), allowance.clone());
    }

    /// Seeds the hash function of all tables of keys; may be called only before the first record.
    pub(super) fn seed(&mut self, seed: u64) {
        *self = Seen::hashed_and_paid(KeyHash::new(seed), self.allowance.clone());
    }

    /// Returns whether `instant` falls into the current window.
    #[inline(always)]
    pub(super) fn is_current(&self, instant: EventTime) -> bool {
        // For an instant before the window's start, the difference wraps to a number greater than the length
        // of any window.
        let offset = instant.as_micros().wrapping_sub(self.window.start.as_micros());
        offset.cast_unsigned() < self.micros
    }

    /// Returns the current window, or an empty one if no window is current.
    #[inline(always)]
    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// Adds a key to the current window. Returns the key if the window did not have it before, otherwise
    /// `None`.
    #[inline(always)]
    pub(super) fn note(&mut self, key: K) -> Option<K> {
        if self.keys.look().get(&key).is_some() {
            return None;
        }
        self.keys.update(key.clone(), || (), |()| ());
        Some(key)
    }

    /// Makes an open window the current one; returns `false` if there is no memory for its entry in the tree
    /// of open windows.
    #[cold]
    #[inline(never)]
    pub(super) fn turn_to(&mut self, window: Window) -> bool {
        // The window at the very end of the time range does not contain the last instant of all. For a record
        // at that instant, this function is called although its window is the current one already.
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

    /// Puts the keys of the current window back into the tree of open windows, so that no window is current.
    pub(super) fn park(&mut self) {
        self.swap();
        (self.window, self.micros) = (NO_WINDOW, 0);
    }

    /// Swaps the keys of the current window with those of its entry in the tree of windows. One of the
    /// two tables of keys is always empty.
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

    /// Iterates over all open windows with the keys seen in them.
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
            // A refusal of memory is ignored here: the query that loads this state is then about to fail.
            let _is_granted = self.turn_to(window);
            for _ in 0..count {
                self.note(state.take()?);
            }
        }
        self.park();
        Ok(())
    }
}
