//! State per key of a process function, and the calls into the function.

use std::hash::Hash;
use std::sync::Arc;

use thalweg_model::{Allowance, EventTime, State, StateError, StateReader, StateWriter};

use super::KeyedProcess;
use super::context::{Emitted, ProcessContext};
use super::timers::Timers;
use crate::key_table::{KeyHash, KeyTable};
use crate::late::Lateness;

/// A process function with the states of all keys, its timers, and its results that are not emitted yet.
pub(super) struct Keyed<K, V, P: KeyedProcess<K, V>> {
    function: Arc<P>,
    /// The state of each key. Between calls of the function, the table holds no key without state.
    states: KeyTable<K, Option<P::State>>,
    /// Bytes that the states of all keys hold beyond the slots of the table.
    held_bytes: usize,
    timers: Timers<K>,
    pub(super) emitted: Emitted<P::Out>,
    pub(super) lateness: Lateness,
    hash: KeyHash,
    allowance: Allowance,
}

impl<K, V, P> Keyed<K, V, P>
where
    K: Clone + Eq + Hash + State,
    P: KeyedProcess<K, V>,
{
    pub(super) fn new(function: Arc<P>) -> Self {
        let (hash, allowance) = (KeyHash::known(), Allowance::default());
        Keyed {
            function,
            states: KeyTable::new(hash.clone(), allowance.clone()),
            held_bytes: 0,
            timers: Timers::new(hash.clone(), allowance.clone()),
            emitted: Emitted::new(allowance.clone()),
            lateness: Lateness::new(),
            hash,
            allowance,
        }
    }

    /// Returns the process function, to share it with a copy of the operator.
    pub(super) fn function(&self) -> Arc<P> {
        Arc::clone(&self.function)
    }

    /// From now on reserves the memory of states and timers in `allowance`, the operator's part of the memory
    /// budget; may be called only before the first record.
    pub(super) fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
        self.empty();
    }

    /// Seeds the hash function of the tables of states and timers; may be called only before the first
    /// record.
    pub(super) fn seed(&mut self, seed: u64) {
        self.hash = KeyHash::new(seed);
        self.empty();
    }

    fn empty(&mut self) {
        self.states = KeyTable::new(self.hash.clone(), self.allowance.clone());
        self.held_bytes = 0;
        self.timers = Timers::new(self.hash.clone(), self.allowance.clone());
        self.emitted = Emitted::new(self.allowance.clone());
    }

    /// Calls the process function on behalf of `key`, and stores the state that the function keeps.
    #[inline(always)]
    pub(super) fn call(
        &mut self,
        key: &K,
        event_time: EventTime,
        act: impl FnOnce(&P, &mut ProcessContext<'_, K, P::State, P::Out>),
    ) {
        let mut fresh = None;
        let known = self.states.get_mut(key);
        let is_known = known.is_some();
        let state = known.unwrap_or(&mut fresh);
        let held_before = held_by(&*self.function, state.as_ref());
        let mut context = ProcessContext {
            key,
            event_time,
            state,
            timers: &mut self.timers,
            emitted: &mut self.emitted,
            lateness: self.lateness,
        };
        act(&self.function, &mut context);
        let held_after = held_by(&*self.function, state.as_ref());
        match (is_known, state.is_some()) {
            (false, true) => self.states.update(key.clone(), || fresh, |_| ()),
            (true, false) => _ = self.states.remove(key),
            _ => (),
        }
        if held_before < held_after {
            // The state has already grown when the memory is asked for. If the request is refused, the query
            // ends when this call returns.
            self.allowance.ask(held_after - held_before);
        }
        self.held_bytes = (self.held_bytes + held_after).saturating_sub(held_before);
    }

    /// Fires the first timer that the watermark has reached; returns `false` if there is no such timer.
    pub(super) fn fire_one(&mut self) -> bool {
        let due = self.timers.pop_due(self.lateness.watermark());
        if let Some((key, at)) = &due {
            self.call(key, *at, |function, context| function.on_timer(key, *at, context));
        }
        due.is_some()
    }

    #[cfg(test)]
    pub(super) fn states_count(&self) -> usize {
        self.states.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.states.bytes() + self.held_bytes + self.timers.bytes() + self.emitted.bytes()
    }

    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.lateness.save(state)?;
        state.put(&self.states.len())?;
        self.states.iter().try_for_each(|entry| state.put(entry))?;
        self.timers.save(state)
    }

    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.empty();
        self.lateness.load(state)?;
        for _ in 0..state.take::<usize>()? {
            let (key, kept): (K, Option<P::State>) = state.take()?;
            let held = held_by(&*self.function, kept.as_ref());
            self.allowance.ask(held);
            self.held_bytes += held;
            self.states.update(key, || kept, |_| ());
        }
        self.timers.load(state)
    }
}

/// Returns the bytes that the state of a key holds beyond its own size.
#[inline(always)]
fn held_by<K, V, P: KeyedProcess<K, V>>(function: &P, state: Option<&P::State>) -> usize {
    match state {
        Some(state) if P::HOLDS => function.held_bytes(state),
        _ => 0,
    }
}
