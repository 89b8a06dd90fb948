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

/// The keys of an open window.
#[derive(Debug)]
struct Pane<K> {
    window: Window,
    keys: KeyTable<K, ()>,
}

/// The open windows.
#[derive(Debug)]
pub(super) struct Seen<K> {
    /// The window of the last record; `NO_WINDOW` if it is parked.
    current: Pane<K>,
    /// Microseconds that it spans, so that one comparison tells whether an instant lies in it.
    current_micros: u64,
    /// The other open windows, by their starts.
    others: BTreeMap<EventTime, Pane<K>>,
    spare: Vec<KeyTable<K, ()>>,
    /// The hash of all tables.
    hash: KeyHash,
    allowance: Allowance,
}

impl<K: Clone + Eq + Hash> Seen<K> {
    /// A node of a tree is at least half full.
    const PANE_BYTES: usize = 2 * size_of::<(EventTime, Pane<K>)>();

    pub(super) fn new() -> Self {
        Seen::hashed_and_paid(KeyHash::new(0), Allowance::default())
    }

    fn hashed_and_paid(hash: KeyHash, allowance: Allowance) -> Self {
        let keys = KeyTable::new(hash.clone(), allowance.clone());
        let current = Pane { window: NO_WINDOW, keys };
        Seen { current, current_micros: 0, others: BTreeMap::new(), spare: Vec::new(), hash, allowance }
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
        let offset = instant.as_micros().wrapping_sub(self.current.window.start.as_micros());
        offset.cast_unsigned() < self.current_micros
    }

    /// The current window.
    #[inline(always)]
    pub(super) fn window(&self) -> Window {
        self.current.window
    }

    /// Takes note of a key in the current window, and gives it back if it is new there.
    #[inline(always)]
    pub(super) fn note(&mut self, key: K) -> Option<K> {
        let keys = &mut self.current.keys;
        if keys.look().get(&key).is_some() {
            return None;
        }
        keys.update(key.clone(), || (), |()| ());
        Some(key)
    }

    /// Makes `window`, which is open, the current one.
    #[cold]
    #[inline(never)]
    pub(super) fn turn_to(&mut self, window: Window) {
        // The window at the very end of the range does not contain the last instant, so it is asked for again.
        if window != self.current.window {
            self.park();
            self.current.window = window;
            self.current_micros = window.end.as_micros().abs_diff(window.start.as_micros());
            let known = self.others.remove(&window.start).map(|pane| pane.keys);
            if let Some(keys) = known.or_else(|| self.spare.pop()) {
                let unused = std::mem::replace(&mut self.current.keys, keys);
                self.recycle(unused);
            }
        }
    }

    /// Makes no window the current one.
    pub(super) fn park(&mut self) {
        let window = std::mem::replace(&mut self.current.window, NO_WINDOW);
        self.current_micros = 0;
        // If there is no room for it, the query is about to fail.
        if !self.current.keys.is_empty() && self.allowance.ask(Self::PANE_BYTES) {
            let keys = self.take_current();
            self.others.insert(window.start, Pane { window, keys });
        }
    }

    /// Forgets the windows that end at or before `watermark`.
    pub(super) fn forget_until(&mut self, watermark: EventTime) {
        if self.current.window.end <= watermark {
            self.current.window = NO_WINDOW;
            self.current_micros = 0;
            empty(&mut self.current.keys);
        }
        while let Some(first) = self.others.first_entry()
            && first.get().window.end <= watermark
        {
            let over = first.remove().keys;
            self.recycle(over);
        }
    }

    /// Keeps the slots of a table that is over.
    fn recycle(&mut self, mut over: KeyTable<K, ()>) {
        if self.spare.len() < SPARE_TABLES_MAX && over.bytes() > 0 {
            empty(&mut over);
            self.spare.push(over);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let others = self.others.values().map(|pane| &pane.keys);
        let tables = others.chain(&self.spare).chain([&self.current.keys]).map(KeyTable::bytes);
        tables.sum::<usize>() + self.others.len() * Self::PANE_BYTES
    }

    fn take_current(&mut self) -> KeyTable<K, ()> {
        let fresh = KeyTable::new(self.hash.clone(), self.allowance.clone());
        std::mem::replace(&mut self.current.keys, fresh)
    }
}

/// Takes every key out, and keeps the slots.
fn empty<K: Eq + Hash>(keys: &mut KeyTable<K, ()>) {
    while keys.drain_one().is_some() {}
}

impl<K: Clone + Eq + Hash + State> Seen<K> {
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let panes = || self.others.values().chain([&self.current]).filter(|pane| !pane.keys.is_empty());
        state.put(&panes().count())?;
        for pane in panes() {
            state.put(&(pane.window, pane.keys.len()))?;
            pane.keys.iter().try_for_each(|(key, ())| state.put(key))?;
        }
        Ok(())
    }

    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        *self = Seen::hashed_and_paid(self.hash.clone(), self.allowance.clone());
        for _ in 0..state.take::<usize>()? {
            let (window, count): (Window, usize) = state.take()?;
            self.turn_to(window);
            for _ in 0..count {
                self.note(state.take()?);
            }
        }
        self.park();
        Ok(())
    }
}
