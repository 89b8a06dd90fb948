//! Session windows: fold each key's values as long as they come less than a gap apart.
//!
//! Input      `Record<V>` in any order; a function gives the key of each
//! Output     `Record<Windowed<K, R>>`, one per session, stamped with its last instant; with [`DivertLate`]
//!            `Record<Either<Windowed<K, R>, V>>`, in which late records keep their time
//! State      one accumulator per open session, and its timer; with allowed lateness, sessions that have fired are
//!            kept that long after their ends, and as long as an open session meets them
//! Emits      when the watermark reaches the session's end, a gap after its last record. Sessions in the order of
//!            their ends, those that end together in no promised order; updates at the next watermark, one per
//!            session that late records have changed, after all sessions that ended on time
//! Late       the session that the record would form alone has ended, and the allowed lateness has passed, by its own
//!            edge's watermark: counted in `late`, merged into nothing. Within the allowed lateness it makes an
//!            update. Where it joins sessions that have been emitted, one update covers them all, and **none of them
//!            is retracted**
//! Watermark  forwarded unchanged, after all sessions that it fires; updates lie behind it, and are late for windows
//!            further on
//! Cost       one hash look-up per record; per session one or two heap operations, none for a record that extends
//!            one; with allowed lateness, one more of each per session that fires, and a copy of its accumulator
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
//! Two records of a key belong together if they are less than a gap apart, and each came before the other's session
//! was over, by the watermark of its own input edge. So the two records alone decide this, and it does not depend on
//! how inputs interleave. A session is made of all records that belong together, one with the next.
//!
//! This is implemented as spans that are merged. A record at `t` that comes after the watermark `w` of its own input
//! has the span `[max(t, w), t + gap)`: sessions that end before `w` are over for it. Two records belong together
//! exactly if these spans overlap, and the union of spans does not depend on the order in which they come. With one
//! input this is the rule that a record joins the sessions that it overlaps and that have not ended.
//!
//! With allowed lateness `a`, a record whose own session has ended by `w` sees sessions as over that ended before
//! `w - a`. It has the span `[max(t, w - a), t + gap)`, beside the sessions that have fired, and never changes an
//! open session. All spans that overlap one with the next then make one update, when the last of them has ended. So
//! the results on time are the same with allowed lateness and without. For one input all updates are determined;
//! behind several, only the last update of records that belong together.
//!
//! An update has the window and the value of all records that belong together by now. Its start and end may differ
//! from those of the results that it replaces. Every earlier result of its key whose window lies in its own is out of
//! date, and nothing else says so. Flink does the same: its merged session fires anew, and results that fired before
//! are not retracted.
//!
//! Flink merges sessions that touch, and so depends on order: a record exactly a gap after another joins it if it
//! comes before the watermark does. It also judges lateness by the merged session; here a record that would be late
//! alone is late, and changes no open session. In Flink a record in time joins a session that has fired, within the
//! allowed lateness; here only late records join the two.

mod kept;
mod of_key;
mod timed;
mod timers;

use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

use thalweg_model::{
    Allowance, Entropy, EventTime, Firing, Flow, Fold, Input, Keys, Mark, Operator, Output, Record,
    SessionGap, Sharing, Span, State, StateError, StateReader, StateWriter, Windowed,
};

use crate::accounts::Accounts;
use crate::address::By;
use crate::key_table::partition_hash;
use crate::late::{DivertLate, DropLate, LateRule, Lateness};
use kept::KeptSessions;
use of_key::{Folded, Reach};
use timed::TimedSessions;

/// Operator that folds each key's values per session window.
#[derive(Debug)]
pub struct SessionAggregate<K, V, KeyOf, F: Fold<V>, L = DropLate> {
    accounts: Accounts,
    gap: SessionGap,
    functions: Arc<(KeyOf, F)>,
    open: TimedSessions<K, F::Accumulator>,
    /// The sessions that have fired and may still be updated by late records.
    kept: KeptSessions<K, F::Accumulator>,
    lateness: Lateness,
    late_records: PhantomData<fn() -> L>,
}

impl<K, V, KeyOf, F> SessionAggregate<K, V, KeyOf, F>
where
    K: Clone + Eq + Hash + State,
    KeyOf: Fn(&V) -> K + Send + Sync,
    F: Fold<V>,
{
    /// Creates an aggregate called `name` over session windows; `key_of` gives the key of a record. Late
    /// records are dropped.
    pub fn new(name: impl Into<String>, gap: SessionGap, key_of: KeyOf, fold: F) -> Self {
        SessionAggregate::with_rule(name, gap, key_of, fold)
    }

    /// Returns an aggregate which emits late records beside its results instead of dropping them.
    pub fn divert_late(self) -> SessionAggregate<K, V, KeyOf, F, DivertLate> {
        let SessionAggregate { accounts, gap, functions, kept, .. } = self;
        SessionAggregate::sharing(accounts.name, gap, functions, kept.lateness())
    }
}

impl<K, V, KeyOf, F, L> SessionAggregate<K, V, KeyOf, F, L>
where
    K: Clone + Eq + Hash + State,
    KeyOf: Fn(&V) -> K + Send + Sync,
    F: Fold<V>,
{
    /// Creates an aggregate over sessions as [`new`](Self::new) does; `L` is the rule for late records.
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
            accounts: Accounts::new(name),
            gap,
            functions,
            open: TimedSessions::new(),
            kept,
            lateness: Lateness::new(),
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
    /// Lets sessions take late records until this long after their ends, and update their results. The sessions that
    /// a late record joins are emitted as one, and their earlier results are not retracted. A span below zero counts
    /// as zero.
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
        let SessionAggregate { functions, open, accounts, .. } = self;
        let (key_of, fold) = &**functions;
        accounts.blame.on(|| open.fold(fold, key_of(&record.value), &reach, &record.value));
    }

    /// Folds a record whose own session, taken alone, has already ended.
    #[cold]
    #[inline(never)]
    fn fold_late<O: Output<L::Out>>(&mut self, record: Record<V>, late_by: EventTime, output: &mut O) {
        let SessionAggregate { gap, functions, kept, accounts, .. } = self;
        let (key_of, fold) = &**functions;
        let lateness = kept.lateness();
        if late_by < gap.window_of(record.event_time).end.plus(lateness) {
            let reach = Reach::of(*gap, record.event_time, late_by.minus(lateness));
            accounts.blame.on(|| kept.fold(fold, key_of(&record.value), &reach, &record.value));
            return;
        }
        self.accounts.late += 1;
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
        let SessionAggregate { functions, open, kept, accounts, .. } = self;
        let (_, fold) = &**functions;
        accounts.blame.on(|| kept.forget(fold, watermark, open));
        Flow::Done
    }

    /// Returns the kind of the next result to fire: first all sessions that ended on time, then the updates.
    fn next_firing(&mut self, watermark: EventTime) -> Option<Firing> {
        let SessionAggregate { open, kept, accounts, .. } = self;
        accounts.blame.on(|| {
            if open.has_ended(watermark, Span::ZERO) {
                Some(Firing::OnTime)
            } else {
                kept.has_update(watermark, open).then_some(Firing::Update)
            }
        })
    }

    /// Fires the next session of this kind, on time or as an update, and returns its result.
    fn fire(&mut self, firing: Firing) -> Option<Windowed<K, F::Result>> {
        let SessionAggregate { functions, open, kept, accounts, .. } = self;
        let (_, fold) = &**functions;
        accounts.blame.on(|| {
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
        let SessionAggregate { accounts, gap, functions, kept, .. } = self;
        SessionAggregate::sharing(accounts.name.clone(), *gap, Arc::clone(functions), kept.lateness())
    }

    fn keys(&self) -> impl Keys<V> + use<K, V, KeyOf, F, L> {
        let functions = Arc::clone(&self.functions);
        By::new(&self.accounts.name, move |value: &V| partition_hash(&(functions.0)(value)))
    }

    #[inline(always)]
    fn process<I: Input<V>, O: Output<Self::Out>>(&mut self, input: &mut I, output: &mut O) {
        let (count, late_by) = (input.remaining(), self.lateness.late_by());
        input.take_each(count, |record| self.fold_one(record, late_by, output));
        self.accounts.read += count as u64;
    }

    #[inline(always)]
    fn process_one<O: Output<Self::Out>>(&mut self, record: Record<V>, output: &mut O) {
        self.fold_one(record, self.lateness.late_by(), output);
    }

    crate::accounts::accounted!(folding);

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
        // Watermarks of single inputs are not forwarded, because they do not tell whether a result is late
        // for later operators.
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

    fn state_bytes(&self) -> usize {
        self.open.bytes() + self.kept.bytes()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| {
            self.lateness.save(state)?;
            self.open.save(state)?;
            self.kept.save(state)
        })
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| {
            self.lateness.load(state)?;
            let (_, fold) = &*self.functions;
            self.open.load(&Folded::<V, F>::by(fold), state)?;
            self.kept.load(fold, state)
        })
    }
}

/// Kind and version of the state of the operator, which saved state tells.
const KIND: &str = "sessions";
const VERSION: u32 = 1;

crate::named::named!(SessionAggregate<K, V, KeyOf, F: Fold<V>, L>);

#[cfg(test)]
mod tests;
