//! Sessions that have fired, and the late values that change them, until they take no more updates.
//!
//! ```text
//!   open sessions --end--> on time --copy--+--> kept: |---- session ----|  |-- session --|    until end + lateness
//!                                          |                      |-- late --|                both, and what joins them:
//!   late values ---------------------------+                                                  one update
//! ```
//!
//! Late values never touch an open session, so the results on time do not depend on late records. They join the kept
//! sessions that they meet, or make one of their own. If an open session meets a changed session, the update waits
//! for it: the open session joins the kept ones when it fires, and the update comes after it. For such an open
//! session, the sessions that it meets are kept beyond their time.
//!
//! As with open sessions, the order of arrival does not decide which records belong together: spans are merged, and a
//! span is kept as long as an open session or a later record may meet it.

use std::collections::binary_heap::PeekMut;
use std::hash::Hash;

use thalweg_model::{Allowance, EventTime, Fold, Span, State, StateError, StateReader, StateWriter};

use super::of_key::{Folded, Melt, Reach, Session, end_of};
use super::timed::TimedSessions;
use super::timers::{Timer, Timers};

/// The content of a kept session: its accumulator, and the instant of the timer at which its update is
/// emitted, if the session has changed since it was emitted. If no such timer is set for that instant, the
/// update is requested by the open session that overlaps this session.
type Kept<A> = (A, Option<EventTime>);

/// The rule by which two kept sessions of a key (sessions that have fired and may still be updated) are
/// merged.
struct KeptFolded<'a, V, F>(Folded<'a, V, F>);

impl<'a, V, F: Fold<V>> KeptFolded<'a, V, F> {
    fn by(fold: &'a F) -> Self {
        KeptFolded(Folded::by(fold))
    }
}

impl<V, F: Fold<V>> Melt<Kept<F::Accumulator>> for KeptFolded<'_, V, F> {
    fn melt(&self, (content, update): &mut Kept<F::Accumulator>, later: Kept<F::Accumulator>) {
        self.0.melt(content, later.0);
        *update = update.or(later.1);
    }

    fn held(&self, (content, _): &Kept<F::Accumulator>) -> usize {
        self.0.held(content)
    }
}

/// The sessions of all keys that have fired and may still be updated.
#[derive(Debug)]
pub(super) struct KeptSessions<K, A> {
    /// The kept sessions, each with a timer for the end of its allowed lateness, except for sessions that
    /// wait for an open one.
    sessions: TimedSessions<K, Kept<A>>,
    /// The timers at which the updates of changed sessions are emitted.
    updates: Timers<K>,
    /// The allowed lateness: how long after its end a session takes updates.
    lateness: Span,
}

impl<K: Clone + Eq + Hash, A> KeptSessions<K, A> {
    pub(super) fn new() -> Self {
        let updates = Timers::new(Allowance::default());
        KeptSessions { sessions: TimedSessions::new(), updates, lateness: Span::ZERO }
    }

    /// Returns the allowed lateness: how long after its end, in event time, a session takes updates.
    pub(super) fn lateness(&self) -> Span {
        self.lateness
    }

    /// Sets the allowed lateness, for which a session takes updates after its end; may be called only before
    /// the first record.
    pub(super) fn allow(&mut self, lateness: Span) {
        self.lateness = lateness;
    }

    /// From now on reserves the memory of sessions and timers in `allowance`, the operator's part of the
    /// memory budget; may be called only before the first record.
    pub(super) fn fund(&mut self, allowance: &Allowance) {
        self.sessions.fund(allowance);
        self.updates = Timers::new(allowance.clone());
    }

    /// Seeds the hash function of the table of sessions; may be called only before the first record.
    pub(super) fn seed(&mut self, seed: u64) {
        self.sessions.seed(seed);
    }

    /// Folds a late value into the session that has fired and that it belongs to, or into a new session.
    pub(super) fn fold<V, F>(&mut self, fold: &F, key: K, reach: &Reach, value: &V)
    where
        F: Fold<V, Accumulator = A>,
    {
        let melt = KeptFolded::by(fold);
        let mut to_ask = None;
        let is_there = self.sessions.change(&melt, &key, reach, |session| {
            let (accumulator, update) = &mut session.content;
            fold.fold(accumulator, value);
            if update.is_none() {
                (*update, to_ask) = (Some(session.last), Some(session.last));
            }
        });
        if !is_there {
            let mut accumulator = fold.create();
            fold.fold(&mut accumulator, value);
            let mut session = Session::of(reach, (accumulator, None));
            session.content.1 = Some(session.last);
            to_ask = session.content.1;
            if !self.sessions.begin(&melt, key.clone(), session) {
                return;
            }
        }
        if let Some(last) = to_ask {
            self.ask_for_update(key, last);
        }
    }

    /// Stores a session that has fired, for updates. If it overlaps with other sessions that have fired, they
    /// become one session, which is to be updated.
    pub(super) fn keep<V, F>(&mut self, fold: &F, key: K, fired: Session<A>)
    where
        F: Fold<V, Accumulator = A>,
    {
        let melt = KeptFolded::by(fold);
        let reach = fired.reach();
        let (start, mut fired) = (fired.start, Some(fired));
        let mut last = None;
        self.sessions.change(&melt, &key, &reach, |session| {
            let Some(mut fired) = fired.take() else { return };
            // The aggregate may depend on the order of values, so the content of the session that begins
            // earlier comes first in the merged session.
            if session.start == start {
                std::mem::swap(&mut session.content.0, &mut fired.content);
            }
            fold.merge(&mut session.content.0, fired.content);
            session.content.1 = Some(session.last);
            // A timer is set for the session again, because it has none if it has waited for an open session.
            session.timer = session.last;
            last = Some(session.last);
        });
        if let Some(fired) = fired {
            let Session { from, last, start, timer, content } = fired;
            let kept = Session { from, last, start, timer, content: (content, None) };
            // A refusal of memory is ignored here, since the query is then about to fail.
            let _is_granted = self.sessions.begin(&melt, key, kept);
        } else if let Some(last) = last {
            let _is_granted = self.sessions.set_timer(key.clone(), last);
            self.ask_for_update(key, last);
        }
    }

    fn ask_for_update(&mut self, key: K, last: EventTime) {
        let (session_count, sessions) = (self.sessions.len(), &mut self.sessions);
        let is_asked_for = |timer: &Timer<K>| {
            let session = sessions.at(&timer.key, timer.last);
            session.is_some_and(|session| session.content.1 == Some(timer.last))
        };
        // A refusal of memory is ignored here, since the query is then about to fail.
        let _is_granted = self.updates.set(Timer { last, key }, session_count, is_asked_for);
    }

    /// Returns whether an update of a session is due at a watermark. All sessions in `open` that ended by
    /// then must have fired before.
    pub(super) fn has_update(&mut self, watermark: EventTime, open: &mut TimedSessions<K, A>) -> bool {
        while let Some(mut timer) = self.updates.first() {
            if end_of(timer.last) > watermark {
                return false;
            }
            let session = self.sessions.at(&timer.key, timer.last);
            match session.filter(|session| session.content.1 == Some(timer.last)) {
                Some(session) if end_of(session.last) > watermark => {
                    session.content.1 = Some(session.last);
                    timer.last = session.last;
                }
                Some(session) if open.meet(&timer.key, &session.reach()) => {
                    session.content.1 = None;
                    drop(PeekMut::pop(timer));
                }
                Some(_) => return true,
                None => drop(PeekMut::pop(timer)),
            }
        }
        false
    }

    /// Returns the session whose [update is due](Self::has_update), with its present content.
    pub(super) fn take_update(&mut self) -> Option<(K, Session<A>)>
    where
        A: Clone,
    {
        let Timer { last, key } = self.updates.pop()?;
        let session = self.sessions.at(&key, last)?;
        session.content.1 = None;
        let &mut Session { from, last, start, timer, content: (ref accumulator, _) } = session;
        Some((key, Session { from, last, start, timer, content: accumulator.clone() }))
    }

    /// Drops the sessions that have fired and take no more updates at a watermark, except for those that a
    /// session in `open` overlaps.
    pub(super) fn forget<V, F>(&mut self, fold: &F, watermark: EventTime, open: &mut TimedSessions<K, A>)
    where
        F: Fold<V, Accumulator = A>,
    {
        let melt = KeptFolded::by(fold);
        while self.sessions.has_ended(watermark, self.lateness)
            && let Some((key, session)) = self.sessions.take(&melt)
        {
            if open.meet(&key, &session.reach()) {
                // A refusal of memory is ignored here, since the query is then about to fail.
                let _is_granted = self.sessions.put(&melt, key, session);
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.sessions.bytes() + self.updates.bytes()
    }
}

impl<K: Clone + Eq + Hash + State, A: State> KeptSessions<K, A> {
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.sessions.save(state)
    }

    /// Loads the sessions that have fired. Their timers are not part of the saved state and are set anew.
    pub(super) fn load<V, F>(&mut self, fold: &F, state: &mut StateReader<'_>) -> Result<(), StateError>
    where
        F: Fold<V, Accumulator = A>,
    {
        self.sessions.load(&KeptFolded::by(fold), state)?;
        let to_ask = |(key, session): (&K, &Session<Kept<A>>)| Some((key.clone(), session.content.1?));
        let asked: Vec<(K, EventTime)> = self.sessions.iter().filter_map(to_ask).collect();
        asked.into_iter().for_each(|(key, last)| self.ask_for_update(key, last));
        Ok(())
    }
}
