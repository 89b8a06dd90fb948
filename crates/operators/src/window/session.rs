//! Session windows: fold each key's values as long as they come less than a gap apart.
//!
//! Input      `Record<V>` in any order, a key of each by a function
//! Output     `Record<Windowed<K, R>>`, one per session, stamped with its last instant; with [`DivertLate`]
//!            `Record<Either<Windowed<K, R>, V>>`, in which late records keep their time
//! State      one accumulator per open session, and its timer; with allowed lateness, sessions that have fired are kept
//!            that long behind their ends, and as long as an open session meets them
//! Emits      when the watermark reaches the session's end, a gap behind its last record. Sessions in the order of
//!            their ends, those that end together in no promised order; updates at the next watermark, one per session
//!            that late records have changed, behind what has ended on time
//! Late       the session that it would be alone has ended, and the allowed lateness has passed, by its own edge's
//!            watermark: counted in `late`, merged into nothing. Within the allowed lateness it makes an update. Where it
//!            joins sessions that have been emitted, one update tells of them all, and **none of them is taken back**
//! Watermark  forwarded unchanged, after all that it fires; updates lie behind it, and are late for windows further on
//! Cost       one hash look-up per record; per session one heap operation or two, none for a record that extends one; with
//!            allowed lateness, one more of each per session that fires, and a copy of its accumulator
//! Source     Akidau et al., "The Dataflow Model", VLDB 2015, section 2.2.2 "Window Merging"
//!
//! ```
//! # use thalweg::{Count, Segment, SessionGap, Span, Stream, WindowError, Windowed};
//! # fn f<C: Segment<u64>>(clicks: Stream<u64, C>) -> Result<Stream<Windowed<u64, u64>, impl Segment<Windowed<u64, u64>>>, WindowError> {
//! let half_an_hour = SessionGap::new(Span::from_secs(30 * 60))?;
//! Ok(clicks.key_by(|user| *user).session(half_an_hour).aggregate(Count))
//! # }
//! ```
//!
//! Two records of a key belong together if they are less than a gap apart, and each came before the session of the other
//! was over, by the watermark of the edge that it came in on: so which do is told by the two alone, and does not depend on
//! how inputs interleave. A session is made of all that belong together, one with the next.
//!
//! This is kept as spans that are merged. A record at `t` that is late by `w` stands for `[max(t, w), t + gap)`: what
//! ends before `w` is over for it. Two records belong together exactly if these spans overlap, and the union of spans is
//! the same in whatever order they come. With one input, it is the rule that a record joins the sessions that it overlaps
//! and that have not ended.
//!
//! With allowed lateness `a`, what ended before `w - a` is over for a record whose own session has ended by `w`: it stands
//! for `[max(t, w - a), t + gap)`, beside the sessions that have fired, and never changes what is open. All that overlaps
//! one with the next then makes an update, when the last of it has ended. So what fires on time is the same with allowed
//! lateness and without. For one input all updates are determined; behind several, the last one of what belongs together.
//!
//! An update has the window and the value of all that belongs together by now. Its start and end may be others than those
//! of what it replaces: every result of its key that was emitted before and whose window lies in its own is out of date,
//! and nothing else says so. Flink does the same: its merged session fires anew, and what fired before is not withdrawn.
//!
//! Flink lets sessions that touch merge, and so depends on order: a record exactly a gap behind another joins it if it
//! comes before the watermark does. It also judges lateness by the merged session; here a record that would be late
//! alone is late, and changes no session that is open. And there a record in time joins a session that has fired, within
//! the allowed lateness; here only late records bring the two together.

mod kept;
mod of_key;
mod timed;
mod timers;

use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

use thalweg_model::{
    Allowance, Blame, Counts, Entropy, EventTime, Firing, Flow, Fold, Input, Keys, Mark, Operator, Output,
    Record, SessionGap, Sharing, Span, State, StateError, StateReader, StateWriter, Windowed,
};

use crate::address::By;
use crate::key_table::lane_hash;
use crate::late::Lateness;
use crate::late::{DivertLate, DropLate, LateRule};
use kept::KeptSessions;
use of_key::{Folded, Reach};
use timed::TimedSessions;

/// Folds each key's values per session.
#[derive(Debug)]
pub struct SessionAggregate<K, V, KeyOf, F: Fold<V>, L = DropLate> {
    name: String,
    gap: SessionGap,
    functions: Arc<(KeyOf, F)>,
    open: TimedSessions<K, F::Accumulator>,
    /// Those that have fired, if they take updates.
    kept: KeptSessions<K, F::Accumulator>,
    lateness: Lateness,
    read: u64,
    late: u64,
    blame: Blame,
    late_records: PhantomData<fn() -> L>,
}

impl<K, V, KeyOf, F> SessionAggregate<K, V, KeyOf, F>
where
    K: Clone + Eq + Hash + State,
    KeyOf: Fn(&V) -> K + Send + Sync,
    F: Fold<V>,
{
    /// An aggregate called `name`, over the sessions of each key by `key_of`. Late records are dropped.
    pub fn new(name: impl Into<String>, gap: SessionGap, key_of: KeyOf, fold: F) -> Self {
        SessionAggregate::with_rule(name, gap, key_of, fold)
    }

    /// The same, but late records are handed on, beside the results.
    pub fn divert_late(self) -> SessionAggregate<K, V, KeyOf, F, DivertLate> {
        let SessionAggregate { name, gap, functions, kept, .. } = self;
        SessionAggregate::sharing(name, gap, functions, kept.lateness())
    }
}

impl<K, V, KeyOf, F, L> SessionAggregate<K, V, KeyOf, F, L>
where
    K: Clone + Eq + Hash + State,
    KeyOf: Fn(&V) -> K + Send + Sync,
    F: Fold<V>,
{
    /// The same; `L` says what becomes of late records.
    pub fn with_rule(name: impl Into<String>, gap: SessionGap, key_of: KeyOf, fold: F) -> Self {
        SessionAggregate::sharing(name.into(), gap, Arc::new((key_of, fold)), Span::ZERO)
    }
}

impl<K, V, KeyOf, F, L> SessionAggregate<K, V, KeyOf, F, L>
where
    K: Clone + Eq + Hash + State,
    F: Fold<V>,
{
    fn sharing(name: String, gap: SessionGap, functions: Arc<(KeyOf, F)>, allowed: Span) -> Self {
        let mut kept = KeptSessions::new();
        kept.allow(allowed);
        SessionAggregate {
            name,
            gap,
            functions,
            open: TimedSessions::new(),
            kept,
            lateness: Lateness::new(),
            read: 0,
            late: 0,
            blame: Blame::default(),
            late_records: PhantomData,
        }
    }
}

impl<K, V, KeyOf, F, L> SessionAggregate<K, V, KeyOf, F, L>
where
    K: Clone + Eq + Hash + State,
    KeyOf: Fn(&V) -> K + Send + Sync,
    F: Fold<V>,
    L: LateRule<Windowed<K, F::Result>, V>,
{
    /// Lets sessions take late records until so long after their ends, and update their results: the sessions that a late
    /// record joins are emitted as one, and what was emitted of them is not taken back. A span below zero counts as none.
    pub fn allow_lateness(mut self, lateness: Span) -> Self {
        self.kept.allow(lateness.max(Span::ZERO));
        self
    }

    #[inline(always)]
    fn fold_one<O: Output<L::Out>>(&mut self, record: Record<V>, late_by: EventTime, output: &mut O) {
        if self.gap.window_of(record.event_time).end <= late_by {
            return self.fold_late(record, late_by, output);
        }
        let reach = Reach::of(self.gap, record.event_time, late_by);
        let SessionAggregate { functions, open, blame, .. } = self;
        let (key_of, fold) = &**functions;
        blame.on(|| open.fold(fold, key_of(&record.value), &reach, &record.value));
    }

    /// A record whose own session has ended.
    #[cold]
    #[inline(never)]
    fn fold_late<O: Output<L::Out>>(&mut self, record: Record<V>, late_by: EventTime, output: &mut O) {
        let SessionAggregate { gap, functions, kept, blame, .. } = self;
        let (key_of, fold) = &**functions;
        let lateness = kept.lateness();
        if late_by < gap.window_of(record.event_time).end.plus(lateness) {
            let reach = Reach::of(*gap, record.event_time, late_by.minus(lateness));
            blame.on(|| kept.fold(fold, key_of(&record.value), &reach, &record.value));
            return;
        }
        self.late += 1;
        if let Some(late) = L::late(record.value) {
            output.push(Record::new(record.event_time, late));
        }
    }

    fn emit<O: Output<L::Out>>(&mut self, output: &mut O) -> Flow {
        let watermark = self.lateness.watermark();
        while let Some(firing) = self.next_firing(watermark) {
            if output.room() == 0 {
                return Flow::More;
            }
            if let Some(result) = self.fire(firing) {
                output.push(Record::new(result.window.last_instant(), L::result(result)));
            }
        }
        let SessionAggregate { functions, open, kept, blame, .. } = self;
        let (_, fold) = &**functions;
        blame.on(|| kept.forget(fold, watermark, open));
        Flow::Done
    }

    /// What fires next: all that has ended on time, and then updates.
    fn next_firing(&mut self, watermark: EventTime) -> Option<Firing> {
        let SessionAggregate { open, kept, blame, .. } = self;
        blame.on(|| {
            if open.has_ended(watermark, Span::ZERO) {
                Some(Firing::OnTime)
            } else {
                kept.has_update(watermark, open).then_some(Firing::Update)
            }
        })
    }

    /// Fires it.
    fn fire(&mut self, firing: Firing) -> Option<Windowed<K, F::Result>> {
        let SessionAggregate { functions, open, kept, blame, .. } = self;
        let (_, fold) = &**functions;
        blame.on(|| {
            let (key, window, accumulator) = match firing {
                Firing::Update => {
                    let (key, session) = kept.take_update()?;
                    (key, session.window(), session.content)
                }
                Firing::OnTime => {
                    let (key, session) = open.take(&Folded::<V, F>::by(fold))?;
                    let window = session.window();
                    if kept.lateness() > Span::ZERO {
                        let accumulator = session.content.clone();
                        kept.keep(fold, key.clone(), session);
                        (key, window, accumulator)
                    } else {
                        (key, window, session.content)
                    }
                }
            };
            Some(Windowed { window, firing, key, value: fold.finish(accumulator) })
        })
    }
}

impl<K, V, KeyOf, F, L> Operator<V> for SessionAggregate<K, V, KeyOf, F, L>
where
    K: Clone + Eq + Hash + State,
    V: Send,
    KeyOf: Fn(&V) -> K + Send + Sync,
    F: Fold<V>,
    L: LateRule<Windowed<K, F::Result>, V>,
{
    type Out = L::Out;

    const SHARING: Sharing = Sharing::Keyed;

    fn fork(&self) -> Self {
        let SessionAggregate { name, gap, functions, kept, .. } = self;
        SessionAggregate::sharing(name.clone(), *gap, Arc::clone(functions), kept.lateness())
    }

    fn keys(&self) -> impl Keys<V> + use<K, V, KeyOf, F, L> {
        let functions = Arc::clone(&self.functions);
        By::new(&self.name, move |value: &V| lane_hash(&(functions.0)(value)))
    }

    #[inline(always)]
    fn process<I: Input<V>, O: Output<Self::Out>>(&mut self, input: &mut I, output: &mut O) {
        let (count, late_by) = (input.remaining(), self.lateness.late_by());
        input.take_each(count, |record| self.fold_one(record, late_by, output));
        self.read += count as u64;
    }

    #[inline(always)]
    fn process_one<O: Output<Self::Out>>(&mut self, record: Record<V>, output: &mut O) {
        self.fold_one(record, self.lateness.late_by(), output);
    }

    fn note_read(&mut self, count: u64) {
        self.read += count;
    }

    fn on_mark<O: Output<Self::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        self.lateness.see(mark);
        match mark {
            Mark::Watermark(_) => self.emit(output),
            _ => Flow::Done,
        }
    }

    fn resume<O: Output<Self::Out>>(&mut self, output: &mut O) -> Flow {
        self.emit(output)
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        // Whether results are late further on is not told by where records came in.
        (!matches!(mark, Mark::InputWatermark(_))).then_some(mark)
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.open.fund(allowance);
        self.kept.fund(allowance);
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.open.seed(entropy.next_u64());
        self.kept.seed(entropy.next_u64());
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        let (read, late) = (self.read, self.late);
        each(&self.name, Counts { read, folded: read - late, late, ..Counts::default() });
    }

    fn state_bytes(&self) -> usize {
        self.open.bytes() + self.kept.bytes()
    }

    fn faulted(&self) -> Option<&str> {
        self.blame.is_set().then_some(self.name.as_str())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.lateness.save(state)?;
        self.open.save(state)?;
        self.kept.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.lateness.load(state)?;
        let (_, fold) = &*self.functions;
        self.open.load(&Folded::<V, F>::by(fold), state)?;
        self.kept.load(fold, state)
    }
}

crate::named::named!(SessionAggregate<K, V, KeyOf, F: Fold<V>, L>);

#[cfg(test)]
mod tests;
