//! The open sessions of all keys, and when they are over.
//!
//! A key has seldom more than one open session: one lies in the key's place in the table, others in a tree beside it. Sessions of a key never overlap; a record that overlaps several makes them one.
//!
//! Each session has a timer, which lies in a heap and is lazy: a record that extends the session leaves it where it is,
//! and when it goes off, the session is over, or the timer is set to where the session ends by then. So the sessions come
//! out in the order of their ends. A session that was merged into another leaves its timer behind, which finds nothing
//! when it goes off; if that is what most of them are, they are swept out.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::binary_heap::{BinaryHeap, PeekMut};
use std::hash::Hash;

use thalweg_model::{
    Allowance, EventTime, Fold, SessionGap, Span, State, StateError, StateReader, StateWriter, Window,
};

use crate::key_table::{KeyHash, KeyTable};
use crate::window::held::{Held, held};

/// So many timers without a session are no reason to sweep.
const STALE_TIMERS_MAX: usize = 64;

/// What a record stands for: the span in which it meets others, and where it lies itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// The first and the last instant of the span.
    from: EventTime,
    last: EventTime,
    start: EventTime,
}

impl Reach {
    /// That of a record at `instant` which is late by `late_by`, but not too late.
    #[inline(always)]
    pub(super) fn of(gap: SessionGap, instant: EventTime, late_by: EventTime) -> Self {
        let last = instant.plus(Span::from_micros(gap.span().as_micros() - 1));
        Reach { from: instant.max(late_by), last, start: instant }
    }
}

/// An open session.
#[derive(Debug)]
struct Session<A> {
    /// The span in which it meets records: that of all its records together.
    from: EventTime,
    last: EventTime,
    /// The first instant of the window.
    start: EventTime,
    /// The last instant that it had when its timer was set.
    timer: EventTime,
    accumulator: A,
}

impl<A> Session<A> {
    #[inline(always)]
    fn meets(&self, reach: &Reach) -> bool {
        self.from <= reach.last && reach.from <= self.last
    }

    #[inline(always)]
    fn extend(&mut self, reach: &Reach) {
        self.from = self.from.min(reach.from);
        self.last = self.last.max(reach.last);
        self.start = self.start.min(reach.start);
    }

    /// Takes another in, whose timer stays behind. What came earlier lies in front.
    fn absorb<V, F: Fold<V, Accumulator = A>>(&mut self, fold: &F, mut other: Session<A>) {
        if other.start < self.start {
            std::mem::swap(&mut self.accumulator, &mut other.accumulator);
        }
        self.extend(&Reach { from: other.from, last: other.last, start: other.start });
        fold.merge(&mut self.accumulator, other.accumulator);
    }
}

/// Sessions that were merged into another.
#[derive(Clone, Copy, Debug, Default)]
struct Merged {
    count: usize,
    /// What their accumulators held before, and hold now.
    held_before: usize,
    held_after: usize,
}

/// The open sessions of a key.
#[derive(Debug)]
struct Sessions<A> {
    /// One of them; of most keys the only one.
    here: Session<A>,
    /// The others, by where they begin to meet records.
    beside: BTreeMap<EventTime, Session<A>>,
}

impl<A> Sessions<A> {
    /// A node of a tree is at least half full.
    const BESIDE_BYTES: usize = 2 * size_of::<(EventTime, Session<A>)>();

    fn iter(&self) -> impl Iterator<Item = &Session<A>> {
        std::iter::once(&self.here).chain(self.beside.values())
    }

    /// Where the last of the sessions beside begins that meets records from one instant to another.
    fn met(&self, from: EventTime, last: EventTime) -> Option<EventTime> {
        let (begin, session) = self.beside.range(..=last).next_back()?;
        (from <= session.last).then_some(*begin)
    }

    /// The session that a record belongs to, which is made of all that it meets; none if it meets none.
    #[inline(always)]
    fn gather<V, F>(&mut self, fold: &F, reach: &Reach, merged: &mut Merged) -> Option<&mut Session<A>>
    where
        F: Fold<V, Accumulator = A>,
    {
        if self.beside.is_empty() {
            return self.here.meets(reach).then_some(&mut self.here);
        }
        self.gather_beside(fold, reach, merged)
    }

    #[cold]
    #[inline(never)]
    fn gather_beside<V, F>(&mut self, fold: &F, reach: &Reach, merged: &mut Merged) -> Option<&mut Session<A>>
    where
        F: Fold<V, Accumulator = A>,
    {
        if !self.here.meets(reach) {
            let met = self.met(reach.from, reach.last)?;
            if met <= reach.from {
                // The only one, for what lies before it ends before it begins; and its place is what it was.
                return self.beside.get_mut(&met);
            }
            let session = self.beside.remove(&met)?;
            self.begin(session);
        }
        while let Some(met) = self.met(reach.from, reach.last)
            && let Some(session) = self.beside.remove(&met)
        {
            merged.count += 1;
            merged.held_before += held(fold, &self.here.accumulator) + held(fold, &session.accumulator);
            self.here.absorb(fold, session);
            merged.held_after += held(fold, &self.here.accumulator);
        }
        Some(&mut self.here)
    }

    /// Puts a session in the place of the key.
    fn begin(&mut self, session: Session<A>) {
        let previous = std::mem::replace(&mut self.here, session);
        self.beside.insert(previous.from, previous);
    }

    /// The session whose timer was set to there.
    fn timed(&mut self, timer: EventTime) -> Option<&mut Session<A>> {
        if self.here.timer == timer {
            return Some(&mut self.here);
        }
        // It has the instant for which its timer was set.
        let begin = self.met(timer, timer)?;
        self.beside.get_mut(&begin).filter(|session| session.timer == timer)
    }
}

/// When to look after a session.
#[derive(Debug)]
struct Timer<K> {
    last: EventTime,
    key: K,
}

impl<K> Ord for Timer<K> {
    /// The earliest is the greatest, so that a heap gives it first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.last.cmp(&self.last)
    }
}

impl<K> PartialOrd for Timer<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> PartialEq for Timer<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K> Eq for Timer<K> {}

/// A session that has ended.
#[derive(Debug)]
pub(super) struct Ended<K, A> {
    pub(super) window: Window,
    pub(super) key: K,
    pub(super) accumulator: A,
}

/// The open sessions of all keys.
#[derive(Debug)]
pub(super) struct OpenSessions<K, A> {
    keys: KeyTable<K, Sessions<A>>,
    timers: BinaryHeap<Timer<K>>,
    /// Sessions beside the one in the place of their key.
    beside_count: usize,
    held: Held,
    hash: KeyHash,
    allowance: Allowance,
}

impl<K: Clone + Eq + Hash, A> OpenSessions<K, A> {
    pub(super) fn new() -> Self {
        OpenSessions::with(KeyHash::new(0), Allowance::default())
    }

    fn with(hash: KeyHash, allowance: Allowance) -> Self {
        OpenSessions {
            keys: KeyTable::new(hash.clone(), allowance.clone()),
            timers: BinaryHeap::new(),
            beside_count: 0,
            held: Held::default(),
            hash,
            allowance,
        }
    }

    /// Pays from `allowance` from now on; only before the first record.
    pub(super) fn fund(&mut self, allowance: &Allowance) {
        debug_assert!(self.keys.is_empty(), "only before the first record");
        *self = OpenSessions::with(self.hash.clone(), allowance.clone());
    }

    /// Hashes with this seed from now on; only before the first record.
    pub(super) fn seed(&mut self, seed: u64) {
        debug_assert!(self.keys.is_empty(), "only before the first record");
        *self = OpenSessions::with(KeyHash::new(seed), self.allowance.clone());
    }

    /// Folds a value into the session of its key that it belongs to.
    #[inline(always)]
    pub(super) fn fold<V, F>(&mut self, fold: &F, key: K, reach: &Reach, value: &V)
    where
        F: Fold<V, Accumulator = A>,
    {
        let mut merged = Merged::default();
        if let Some(sessions) = self.keys.get_mut(&key)
            && let Some(session) = sessions.gather(fold, reach, &mut merged)
        {
            session.extend(reach);
            merged.held_before += held(fold, &session.accumulator);
            fold.fold(&mut session.accumulator, value);
            merged.held_after += held(fold, &session.accumulator);
            self.beside_count -= merged.count;
            self.held.note(&self.allowance, merged.held_before, merged.held_after);
            return;
        }
        let mut accumulator = fold.create();
        fold.fold(&mut accumulator, value);
        let held_bytes = held(fold, &accumulator);
        let &Reach { from, last, start } = reach;
        if self.begin(key, Session { from, last, start, timer: last, accumulator }) {
            self.held.note(&self.allowance, 0, held_bytes);
        }
    }

    /// Opens a session that overlaps with no other of its key; `false` if there is no memory for it.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, key: K, session: Session<A>) -> bool {
        if !self.can_set_timer() {
            return false;
        }
        let timer = Timer { last: session.timer, key: key.clone() };
        match self.keys.get_mut(&key) {
            Some(sessions) => {
                if !self.allowance.ask(Sessions::<A>::BESIDE_BYTES) {
                    return false;
                }
                self.beside_count += 1;
                sessions.begin(session);
            }
            None => self.keys.update(key, || Sessions { here: session, beside: BTreeMap::new() }, |_| ()),
        }
        self.timers.push(timer);
        true
    }

    /// Whether there is room for one more timer, once those are swept out that have no session.
    fn can_set_timer(&mut self) -> bool {
        let OpenSessions { keys, timers, beside_count, allowance, .. } = self;
        if timers.len() > STALE_TIMERS_MAX + 2 * (keys.len() + *beside_count) {
            timers.retain(|timer| keys.get_mut(&timer.key).is_some_and(|it| it.timed(timer.last).is_some()));
        }
        if timers.len() < timers.capacity() {
            return true;
        }
        let more = timers.capacity().max(4);
        let is_granted = allowance.ask(more * size_of::<Timer<K>>());
        if is_granted {
            timers.reserve_exact(more);
        }
        is_granted
    }

    /// Whether a session has ended at a watermark; timers that go off before the first are seen to.
    pub(super) fn has_ended(&mut self, watermark: EventTime) -> bool {
        while let Some(timer) = self.timers.peek_mut() {
            if end_of(timer.last) > watermark {
                return false;
            }
            match self.keys.get_mut(&timer.key).and_then(|sessions| sessions.timed(timer.last)) {
                Some(session) if session.last == timer.last => return true,
                Some(session) => {
                    session.timer = session.last;
                    let mut timer = timer;
                    timer.last = session.last;
                }
                None => drop(PeekMut::pop(timer)),
            }
        }
        false
    }

    /// Takes the session out that [has ended](Self::has_ended).
    pub(super) fn take<V, F>(&mut self, fold: &F) -> Option<Ended<K, A>>
    where
        F: Fold<V, Accumulator = A>,
    {
        let Timer { last, key } = self.timers.pop()?;
        let sessions = self.keys.get_mut(&key)?;
        let session = if sessions.here.timer != last {
            let begin = sessions.met(last, last)?;
            self.beside_count -= 1;
            sessions.beside.remove(&begin)?
        } else if let Some((_, other)) = sessions.beside.pop_last() {
            self.beside_count -= 1;
            std::mem::replace(&mut sessions.here, other)
        } else {
            self.keys.remove(&key)?.here
        };
        self.held.note(&self.allowance, held(fold, &session.accumulator), 0);
        let window = Window { start: session.start, end: end_of(session.last) };
        Some(Ended { window, key, accumulator: session.accumulator })
    }

    /// Bytes of all sessions and timers. What keys hold on the heap themselves is not seen from here.
    pub(super) fn bytes(&self) -> usize {
        let beside = self.beside_count * Sessions::<A>::BESIDE_BYTES;
        let timers = self.timers.capacity() * size_of::<Timer<K>>();
        self.keys.bytes() + beside + timers + self.held.bytes()
    }
}

/// Where a session ends that has this last instant; at the end of time, it is that.
fn end_of(last: EventTime) -> EventTime {
    last.plus(Span::from_micros(1))
}

impl<K: Clone + Eq + Hash + State, A: State> OpenSessions<K, A> {
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.keys.len() + self.beside_count))?;
        for (key, sessions) in self.keys.iter() {
            for Session { from, last, start, accumulator, .. } in sessions.iter() {
                state.put(&(key, from, last, start, accumulator))?;
            }
        }
        Ok(())
    }

    /// Timers are set anew.
    pub(super) fn load<V, F>(&mut self, fold: &F, state: &mut StateReader<'_>) -> Result<(), StateError>
    where
        F: Fold<V, Accumulator = A>,
    {
        *self = OpenSessions::with(self.hash.clone(), self.allowance.clone());
        for _ in 0..state.take::<usize>()? {
            let (key, from, last, start, accumulator): (K, _, _, _, A) = state.take()?;
            let held_bytes = held(fold, &accumulator);
            if self.begin(key, Session { from, last, start, timer: last, accumulator }) {
                self.held.note(&self.allowance, 0, held_bytes);
            }
        }
        Ok(())
    }
}
