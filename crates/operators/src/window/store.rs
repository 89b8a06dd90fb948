//! What windows keep: one accumulator per key and open window, and the order in which windows fire.
//!
//! The window that got the last record lies apart, so that a run of records in one window, the common case,
//! costs one comparison per record and no search. A window with a million keys is emitted a piece at a time, and
//! the tables of windows that have fired are kept for the next, so that a steady stream allocates nothing.

use std::collections::VecDeque;
use std::hash::Hash;

use thalweg_model::{Allowance, EventTime, State, StateError, StateReader, StateWriter, Window};

use crate::key_table::{KeyHash, KeyTable};

/// Tables kept for later windows; more windows than this are rarely open at once.
const SPARE_TABLES_MAX: usize = 4;

/// One open window.
#[derive(Debug)]
struct Pane<K, A> {
    window: Window,
    accumulators: KeyTable<K, A>,
}

/// The open windows of an operator, and those that are firing.
#[derive(Debug)]
pub(crate) struct WindowStore<K, A> {
    /// The window of the last record; `NO_WINDOW` at first.
    current: Pane<K, A>,
    /// Microseconds that it spans, so that one comparison tells whether an instant lies in it.
    current_micros: u64,
    /// The other open windows, in no order: there are few.
    others: Vec<Pane<K, A>>,
    /// Closed windows, in the order of their ends, whose results are not all emitted.
    firing: VecDeque<Pane<K, A>>,
    spare: Vec<KeyTable<K, A>>,
    /// The hash of all tables.
    hash: KeyHash,
    allowance: Allowance,
}

/// Contains no instant, and is no instant's window.
const NO_WINDOW: Window = Window { start: EventTime::MIN, end: EventTime::MIN };

impl<K: Eq + Hash, A> WindowStore<K, A> {
    pub(crate) fn new() -> Self {
        let hash = KeyHash::new(0);
        WindowStore {
            current: Pane {
                window: NO_WINDOW,
                accumulators: KeyTable::new(hash.clone(), Allowance::default()),
            },
            current_micros: 0,
            others: Vec::new(),
            firing: VecDeque::new(),
            spare: Vec::new(),
            hash,
            allowance: Allowance::default(),
        }
    }

    /// Pays from `allowance` from now on; only before the first record.
    pub(crate) fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
        self.current.accumulators = self.table();
    }

    /// Hashes with this seed from now on; only before the first record.
    pub(crate) fn seed(&mut self, seed: u64) {
        debug_assert!(self.current.accumulators.is_empty() && self.others.is_empty(), "seeded before use");
        self.hash = KeyHash::new(seed);
        self.current.accumulators = KeyTable::new(self.hash.clone(), self.allowance.clone());
    }

    /// Whether `instant` falls into the window that [`current`](Self::current) gives.
    #[inline(always)]
    pub(crate) fn is_current(&self, instant: EventTime) -> bool {
        // Before its start the difference wraps to more than any window spans.
        let offset = instant.as_micros().wrapping_sub(self.current.window.start.as_micros());
        offset.cast_unsigned() < self.current_micros
    }

    /// The accumulators of the current window.
    #[inline(always)]
    pub(crate) fn current(&mut self) -> &mut KeyTable<K, A> {
        &mut self.current.accumulators
    }

    /// Makes `window`, which is open, the current one.
    #[cold]
    #[inline(never)]
    pub(crate) fn turn_to(&mut self, window: Window) {
        // The window at the very end of the range does not contain the last instant, so it is asked for again.
        if window == self.current.window {
            return;
        }
        let known = self.others.iter().position(|pane| pane.window == window);
        let pane = match known {
            Some(index) => self.others.swap_remove(index),
            None => Pane { window, accumulators: self.table() },
        };
        let previous = self.set_current(pane);
        if previous.accumulators.is_empty() { self.recycle(previous) } else { self.others.push(previous) }
    }

    /// Moves every window that ends at or before `watermark` to the firing ones, in the order of their ends.
    pub(crate) fn close_until(&mut self, watermark: EventTime) {
        let first_new = self.firing.len();
        if self.current.window.end <= watermark && self.current.window != NO_WINDOW {
            let empty = Pane { window: NO_WINDOW, accumulators: self.table() };
            let closed = self.set_current(empty);
            self.firing.push_back(closed);
        }
        while let Some(index) = self.others.iter().position(|pane| pane.window.end <= watermark) {
            self.firing.push_back(self.others.swap_remove(index));
        }
        self.firing.make_contiguous()[first_new..].sort_unstable_by_key(|pane| pane.window);
    }

    /// The next result of the windows that are firing, and its window.
    pub(crate) fn next_fired(&mut self) -> Option<(Window, K, A)> {
        loop {
            let pane = self.firing.front_mut()?;
            if let Some((key, accumulator)) = pane.accumulators.drain_one() {
                return Some((pane.window, key, accumulator));
            }
            if let Some(done) = self.firing.pop_front() {
                self.recycle(done);
            }
        }
    }

    /// Whether results are left to emit.
    pub(crate) fn is_firing(&self) -> bool {
        self.firing.iter().any(|pane| !pane.accumulators.is_empty())
    }

    /// Bytes of all tables. What keys and accumulators hold on the heap themselves is not seen from here.
    pub(crate) fn bytes(&self) -> usize {
        let open = self.others.iter().chain(&self.firing).map(|pane| &pane.accumulators);
        open.chain([&self.current.accumulators]).chain(&self.spare).map(KeyTable::bytes).sum()
    }

    fn set_current(&mut self, pane: Pane<K, A>) -> Pane<K, A> {
        let Window { start, end } = pane.window;
        self.current_micros = end.as_micros().abs_diff(start.as_micros());
        std::mem::replace(&mut self.current, pane)
    }

    fn table(&mut self) -> KeyTable<K, A> {
        self.spare.pop().unwrap_or_else(|| KeyTable::new(self.hash.clone(), self.allowance.clone()))
    }

    /// Keeps the table of a pane that is empty.
    fn recycle(&mut self, pane: Pane<K, A>) {
        if self.spare.len() < SPARE_TABLES_MAX && pane.accumulators.bytes() > 0 {
            self.spare.push(pane.accumulators);
        }
    }
}

impl<K: Eq + Hash + State, A: State> WindowStore<K, A> {
    pub(crate) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let panes = || self.firing.iter().chain(&self.others).chain([&self.current]);
        let panes = || panes().filter(|pane| !pane.accumulators.is_empty());
        state.put(&panes().count())?;
        for pane in panes() {
            state.put(&pane.window)?;
            state.put(&pane.accumulators.len())?;
            for entry in pane.accumulators.iter() {
                state.put(entry)?;
            }
        }
        Ok(())
    }

    /// Windows that were firing come back as open ones; the next watermark closes them again.
    pub(crate) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.set_current(Pane {
            window: NO_WINDOW,
            accumulators: KeyTable::new(self.hash.clone(), self.allowance.clone()),
        });
        self.others.clear();
        self.firing.clear();
        for _ in 0..state.take::<usize>()? {
            let mut pane = Pane { window: state.take()?, accumulators: self.table() };
            for _ in 0..state.take::<usize>()? {
                let (key, accumulator): (K, A) = state.take()?;
                pane.accumulators.update(key, || accumulator, |_| ());
            }
            self.others.push(pane);
        }
        Ok(())
    }
}
