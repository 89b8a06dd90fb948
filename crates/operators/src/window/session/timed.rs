//! The sessions of all keys, with their timers: either the open ones, or those that have fired and are kept.
//!
//! Each session has a timer, which is lazy: a record that extends the session leaves the timer unchanged. When the
//! timer goes off, either the session is over, or the timer is set to its present end. So sessions come out in the
//! order of their ends.

use std::collections::binary_heap::PeekMut;
use std::hash::Hash;

use thalweg_model::{Allowance, EventTime, Fold, Span, State, StateError, StateReader, StateWriter};

use super::of_key::{Folded, Melt, Merged, Reach, Session, Sessions, end_of};
use super::timers::{Timer, Timers};
use crate::key_table::{KeyHash, KeyTable};
use crate::window::held::Held;

/// The sessions of all keys, and the timers for the ends of these sessions.
#[derive(Debug)]
pub(super) struct TimedSessions<K, A> {
    keys: KeyTable<K, Sessions<A>>,
    timers: Timers<K>,
    /// Number of sessions that lie in trees: all sessions of each key but one.
    beside_count: usize,
    /// Number of keys that have a tree of sessions.
    tree_count: usize,
    held: Held,
    hash: KeyHash,
    allowance: Allowance,
}

impl<K: Clone + Eq + Hash, A> TimedSessions<K, A> {
    pub(super) fn new() -> Self {
        TimedSessions::with(KeyHash::known(), Allowance::default())
    }

    fn with(hash: KeyHash, allowance: Allowance) -> Self {
        TimedSessions {
            keys: KeyTable::new(hash.clone(), allowance.clone()),
            timers: Timers::new(allowance.clone()),
            beside_count: 0,
            tree_count: 0,
            held: Held::default(),
            hash,
            allowance,
        }
    }

    /// From now on reserves the memory of sessions and timers in `allowance`, the operator's part of the
    /// memory budget; may be called only before the first record.
    pub(super) fn fund(&mut self, allowance: &Allowance) {
        debug_assert!(self.keys.is_empty(), "only before the first record");
        *self = TimedSessions::with(self.hash.clone(), allowance.clone());
    }

    /// Seeds the hash function of the table of sessions; may be called only before the first record.
    pub(super) fn seed(&mut self, seed: u64) {
        debug_assert!(self.keys.is_empty(), "only before the first record");
        *self = TimedSessions::with(KeyHash::new(seed), self.allowance.clone());
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len() + self.beside_count
    }

    /// Folds a value into the session of its key that it belongs to, or into a new session.
    #[inline(always)]
    pub(super) fn fold<V, F>(&mut self, fold: &F, key: K, reach: &Reach, value: &V)
    where
        F: Fold<V, Accumulator = A>,
    {
        let folded = Folded::<V, F>::by(fold);
        if !self.change(&folded, &key, reach, |session| fold.fold(&mut session.content, value)) {
            let mut accumulator = fold.create();
            fold.fold(&mut accumulator, value);
            self.begin(&folded, key, Session::of(reach, accumulator));
        }
    }

    /// Changes the session that a record belongs to, after merging all that the record overlaps; returns
    /// `false` if there is none.
    #[inline(always)]
    pub(super) fn change(
        &mut self,
        melt: &impl Melt<A>,
        key: &K,
        reach: &Reach,
        change: impl FnOnce(&mut Session<A>),
    ) -> bool {
        let mut merged = Merged::default();
        let Some(sessions) = self.keys.get_mut(key) else { return false };
        let Some(session) = sessions.gather(melt, reach, &mut merged) else { return false };
        session.extend(reach);
        merged.held_before += melt.held(&session.content);
        change(session);
        merged.held_after += melt.held(&session.content);
        self.beside_count -= merged.count;
        self.tree_count -= merged.tree_count;
        self.held.note(&self.allowance, merged.held_before, merged.held_after);
        true
    }

    /// Adds a session that overlaps no other of its key, and sets its timer; returns `false` if there is no
    /// memory.
    #[cold]
    #[inline(never)]
    pub(super) fn begin(&mut self, melt: &impl Melt<A>, key: K, session: Session<A>) -> bool {
        self.set_timer(key.clone(), session.timer) && self.put(melt, key, session)
    }

    /// Sets a timer for the last instant of a session. The timer serves the session whose field `timer` has
    /// this instant.
    pub(super) fn set_timer(&mut self, key: K, last: EventTime) -> bool {
        let (session_count, keys) = (self.len(), &mut self.keys);
        let is_live =
            |timer: &Timer<K>| keys.get_mut(&timer.key).is_some_and(|it| it.timed(timer.last).is_some());
        self.timers.set(Timer { last, key }, session_count, is_live)
    }

    /// Adds a session without setting a timer; returns `false` if there is no memory.
    pub(super) fn put(&mut self, melt: &impl Melt<A>, key: K, session: Session<A>) -> bool {
        let held_bytes = melt.held(&session.content);
        match self.keys.get_mut(&key) {
            Some(sessions) => {
                let has_tree = sessions.has_tree();
                let bytes = if has_tree { Sessions::<A>::BESIDE_BYTES } else { Sessions::<A>::TREE_BYTES };
                if !self.allowance.ask(bytes) {
                    return false;
                }
                self.beside_count += 1;
                self.tree_count += usize::from(!has_tree);
                sessions.begin(session);
            }
            None => self.keys.update(key, || Sessions::of(session), |_| ()),
        }
        self.held.note(&self.allowance, 0, held_bytes);
        true
    }

    /// Returns whether a session of `key` overlaps the span of a record.
    pub(super) fn meet(&mut self, key: &K, reach: &Reach) -> bool {
        self.keys.get_mut(key).is_some_and(|sessions| sessions.meet(reach))
    }

    /// Returns the session of `key` that contains an instant.
    pub(super) fn at(&mut self, key: &K, instant: EventTime) -> Option<&mut Session<A>> {
        self.keys.get_mut(key)?.at(instant)
    }

    /// Returns whether the session with the earliest timer ended at least `ago` before a watermark. Timers
    /// that go off too early are set anew, and timers without a session are dropped.
    pub(super) fn has_ended(&mut self, watermark: EventTime, ago: Span) -> bool {
        while let Some(mut timer) = self.timers.first() {
            if end_of(timer.last).plus(ago) > watermark {
                return false;
            }
            match self.keys.get_mut(&timer.key).and_then(|sessions| sessions.timed(timer.last)) {
                Some(session) if session.last == timer.last => return true,
                Some(session) => {
                    session.timer = session.last;
                    timer.last = session.last;
                }
                None => drop(PeekMut::pop(timer)),
            }
        }
        false
    }

    /// Removes and returns the session for which [`has_ended`](Self::has_ended) returned true.
    pub(super) fn take(&mut self, melt: &impl Melt<A>) -> Option<(K, Session<A>)> {
        let Timer { last, key } = self.timers.pop()?;
        let sessions = self.keys.get_mut(&key)?;
        let session = if sessions.has_tree() {
            let session = sessions.remove(last)?;
            self.beside_count -= 1;
            self.tree_count -= usize::from(!sessions.has_tree());
            session
        } else {
            self.keys.remove(&key)?.into_only()
        };
        self.held.note(&self.allowance, melt.held(&session.content), 0);
        Some((key, session))
    }

    /// Iterates over every session of every key, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &Session<A>)> {
        self.keys.iter().flat_map(|(key, sessions)| sessions.iter().map(move |session| (key, session)))
    }

    /// Returns the bytes of all sessions and timers. Heap memory of keys is not counted.
    pub(super) fn bytes(&self) -> usize {
        let trees = self.tree_count * Sessions::<A>::TREE_BYTES;
        let beside = (self.beside_count - self.tree_count) * Sessions::<A>::BESIDE_BYTES;
        self.keys.bytes() + trees + beside + self.timers.bytes() + self.held.bytes()
    }
}

impl<K: Clone + Eq + Hash + State, A: State> TimedSessions<K, A> {
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.len())?;
        self.iter().try_for_each(|(key, Session { from, last, start, content, .. })| {
            state.put(&(key, from, last, start, content))
        })
    }

    /// Loads the sessions. Their timers are not part of the saved state and are set anew.
    pub(super) fn load(
        &mut self,
        melt: &impl Melt<A>,
        state: &mut StateReader<'_>,
    ) -> Result<(), StateError> {
        *self = TimedSessions::with(self.hash.clone(), self.allowance.clone());
        for _ in 0..state.take::<usize>()? {
            let (key, from, last, start, content): (K, _, _, _, A) = state.take()?;
            // A refusal of memory is ignored here, since the query is then about to fail.
            let _is_granted = self.begin(melt, key, Session { from, last, start, timer: last, content });
        }
        Ok(())
    }
}
