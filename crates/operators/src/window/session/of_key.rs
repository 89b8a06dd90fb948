//! The sessions of one key. They never overlap: a record that overlaps several sessions merges them.
//!
//! A key seldom has more than one session. So one session lies in the key's slot of the table, and the others
//! lie in a tree beside it.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use thalweg_model::{EventTime, Fold, SessionGap, Span, Window};

use crate::window::held::held;

/// The span of a record: records of one key whose spans overlap belong to one session. Also the record's own
/// event time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// The first instant of the record's span; records of one key whose spans overlap belong to one session.
    from: EventTime,
    /// The last instant, included, of the record's span; records of one key whose spans overlap belong to one
    /// session.
    last: EventTime,
    start: EventTime,
}

impl Reach {
    /// Returns the span of a record at `instant`. Sessions that ended at `over` or before are closed to this
    /// record; the session of this record alone ends later.
    #[inline(always)]
    pub(super) fn of(gap: SessionGap, instant: EventTime, over: EventTime) -> Self {
        let last = instant.plus(Span::from_micros(gap.span().as_micros() - 1));
        Reach { from: instant.max(over), last, start: instant }
    }
}

/// The rule by which the contents of two sessions, such as their accumulators, are merged.
pub(super) trait Melt<A> {
    /// Merges the content of a later session into `content`, which is that of the earlier one.
    fn melt(&self, content: &mut A, later: A);

    /// Returns the bytes that the content of a session holds beyond its own size.
    fn held(&self, content: &A) -> usize;
}

/// The rule that merges the contents of sessions as accumulators of a fold.
#[derive(Debug)]
pub(super) struct Folded<'a, V, F> {
    fold: &'a F,
    values: PhantomData<fn(V)>,
}

impl<'a, V, F: Fold<V>> Folded<'a, V, F> {
    #[inline(always)]
    pub(super) fn by(fold: &'a F) -> Self {
        Folded { fold, values: PhantomData }
    }
}

impl<V, F: Fold<V>> Melt<F::Accumulator> for Folded<'_, V, F> {
    fn melt(&self, content: &mut F::Accumulator, later: F::Accumulator) {
        self.fold.merge(content, later);
    }

    #[inline(always)]
    fn held(&self, content: &F::Accumulator) -> usize {
        held(self.fold, content)
    }
}

/// A session of a key: its span of time, its timer and its content.
#[derive(Debug)]
pub(super) struct Session<A> {
    /// The first instant of the session's span, the union of the spans of its records. A record whose span
    /// overlaps it belongs to the session.
    pub(super) from: EventTime,
    /// The last instant, included, of the session's span. A record whose span overlaps it belongs to the
    /// session.
    pub(super) last: EventTime,
    /// The first event time of the session's records, where its window starts.
    pub(super) start: EventTime,
    /// The last instant that the session contained when its timer was set.
    pub(super) timer: EventTime,
    pub(super) content: A,
}

impl<A> Session<A> {
    /// Creates a session whose timer is to be set to its present last instant.
    pub(super) fn of(&Reach { from, last, start }: &Reach, content: A) -> Self {
        Session { from, last, start, timer: last, content }
    }

    pub(super) fn window(&self) -> Window {
        Window { start: self.start, end: end_of(self.last) }
    }

    /// Returns the span of the session, the union of the spans of its records. A record whose span overlaps
    /// it belongs to the session.
    pub(super) fn reach(&self) -> Reach {
        Reach { from: self.from, last: self.last, start: self.start }
    }

    #[inline(always)]
    fn meets(&self, reach: &Reach) -> bool {
        self.from <= reach.last && reach.from <= self.last
    }

    #[inline(always)]
    pub(super) fn extend(&mut self, reach: &Reach) {
        self.from = self.from.min(reach.from);
        self.last = self.last.max(reach.last);
        self.start = self.start.min(reach.start);
    }

    /// Merges another session into this one. The other session's timer stays in the heap without a session.
    /// The content of the earlier session comes first.
    fn absorb(&mut self, melt: &impl Melt<A>, mut other: Session<A>) {
        if other.start < self.start {
            std::mem::swap(&mut self.content, &mut other.content);
        }
        self.extend(&other.reach());
        melt.melt(&mut self.content, other.content);
    }
}

/// Returns the end of a session with the given last instant: the next microsecond, or the last instant itself
/// at the end of time.
pub(super) fn end_of(last: EventTime) -> EventTime {
    last.plus(Span::from_micros(1))
}

/// The effects that merging the sessions of a key had, by which the table of all sessions corrects its
/// counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Merged {
    /// Number of sessions of a key that were merged into another session.
    pub(super) count: usize,
    /// Number of keys whose trees of sessions became empty in the merge.
    pub(super) tree_count: usize,
    /// Bytes that the contents of the sessions held before they were merged.
    pub(super) held_before: usize,
    /// Bytes that the content of the merged session holds.
    pub(super) held_after: usize,
}

/// All sessions of one key.
#[derive(Debug)]
pub(super) struct Sessions<A> {
    /// One of the key's sessions, stored in the key's slot of the table; for most keys the only one.
    here: Session<A>,
    /// The other sessions of the key, sorted by the starts of their spans.
    beside: BTreeMap<EventTime, Session<A>>,
}

impl<A> Sessions<A> {
    /// Bytes of the first node of a tree of sessions: the node has room for eleven sessions, and links to
    /// other nodes.
    pub(super) const TREE_BYTES: usize = 11 * size_of::<(EventTime, Session<A>)>() + 2 * size_of::<usize>();

    /// Bytes of one more session in a tree that has several nodes: such nodes are at least half full.
    pub(super) const BESIDE_BYTES: usize = 2 * size_of::<(EventTime, Session<A>)>();

    pub(super) fn of(session: Session<A>) -> Self {
        Sessions { here: session, beside: BTreeMap::new() }
    }

    pub(super) fn has_tree(&self) -> bool {
        !self.beside.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Session<A>> {
        std::iter::once(&self.here).chain(self.beside.values())
    }

    /// Returns the start of the last session in the tree that overlaps the instants `from` to `last`.
    fn met(&self, from: EventTime, last: EventTime) -> Option<EventTime> {
        let (begin, session) = self.beside.range(..=last).next_back()?;
        (from <= session.last).then_some(*begin)
    }

    /// Returns whether a session of the key overlaps the span of a record.
    pub(super) fn meet(&self, reach: &Reach) -> bool {
        self.here.meets(reach) || self.met(reach.from, reach.last).is_some()
    }

    /// Returns the session that a record belongs to, merged from all sessions that overlap the record's span;
    /// `None` if none does.
    #[inline(always)]
    pub(super) fn gather(
        &mut self,
        melt: &impl Melt<A>,
        reach: &Reach,
        merged: &mut Merged,
    ) -> Option<&mut Session<A>> {
        if self.beside.is_empty() {
            return self.here.meets(reach).then_some(&mut self.here);
        }
        self.gather_beside(melt, reach, merged)
    }

    #[cold]
    #[inline(never)]
    fn gather_beside(
        &mut self,
        melt: &impl Melt<A>,
        reach: &Reach,
        merged: &mut Merged,
    ) -> Option<&mut Session<A>> {
        if !self.here.meets(reach) {
            let met = self.met(reach.from, reach.last)?;
            if met <= reach.from {
                // No earlier session of the key reaches into the span of the record, so the session overlaps
                // the record alone. Its start does not change, and so neither does its place in the tree.
                return self.beside.get_mut(&met);
            }
            let session = self.beside.remove(&met)?;
            self.begin(session);
        }
        while let Some(met) = self.met(reach.from, reach.last)
            && let Some(session) = self.beside.remove(&met)
        {
            merged.count += 1;
            merged.held_before += melt.held(&self.here.content) + melt.held(&session.content);
            self.here.absorb(melt, session);
            merged.held_after += melt.held(&self.here.content);
        }
        merged.tree_count += usize::from(self.drop_tree_if_empty());
        Some(&mut self.here)
    }

    /// Puts a new session into the slot of the key, and moves the one that was there to the tree. The new
    /// session must overlap no other.
    pub(super) fn begin(&mut self, session: Session<A>) {
        let previous = std::mem::replace(&mut self.here, session);
        self.beside.insert(previous.from, previous);
    }

    /// Returns the session of the key that contains an instant.
    pub(super) fn at(&mut self, instant: EventTime) -> Option<&mut Session<A>> {
        if self.here.from <= instant && instant <= self.here.last {
            return Some(&mut self.here);
        }
        let begin = self.met(instant, instant)?;
        self.beside.get_mut(&begin)
    }

    /// Returns the session whose timer is set to this instant, if the session still contains the instant.
    pub(super) fn timed(&mut self, timer: EventTime) -> Option<&mut Session<A>> {
        self.at(timer).filter(|session| session.timer == timer)
    }

    /// Removes and returns the session that contains an instant, if the key has other sessions as well.
    pub(super) fn remove(&mut self, instant: EventTime) -> Option<Session<A>> {
        let session = match self.met(instant, instant) {
            Some(begin) => self.beside.remove(&begin)?,
            None => std::mem::replace(&mut self.here, self.beside.pop_last()?.1),
        };
        self.drop_tree_if_empty();
        Some(session)
    }

    /// Returns the session of a key that has only one, to be taken out of the table.
    pub(super) fn into_only(self) -> Session<A> {
        self.here
    }

    /// Frees the tree of sessions if it is empty, because an empty tree keeps a node. Returns whether it was
    /// empty.
    fn drop_tree_if_empty(&mut self) -> bool {
        let is_empty = self.beside.is_empty();
        if is_empty {
            self.beside = BTreeMap::new();
        }
        is_empty
    }
}
