//! Sliding windows: fold each key's values per span of one size; a span begins every slide.
//!
//! Input      `Record<V>` in any order; a function gives the key of each
//! Output     `Record<Windowed<K, R>>`, one per key and non-empty window, stamped with the window's last instant;
//!            with [`DivertLate`] `Record<Either<Windowed<K, R>, V>>`, in which late records keep their time
//! State      one accumulator per key and pane, and one per key of the window that fires; with allowed lateness,
//!            panes are kept that long after the end of their last window, and the keys that have changed
//! Emits      when the watermark reaches `window.end`. Windows in the order of their ends, keys of one window in no
//!            promised order; updates at the next watermark, one per window and key that has changed, after the
//!            results of windows that ended on time
//! Late       all its windows have ended, and their allowed lateness has passed, by its own edge's watermark: counted
//!            in `late`, merged into nothing. A record that is late for some of its windows counts for the others,
//!            and as an update for those within the allowed lateness
//! Watermark  forwarded unchanged, after all windows that it fires; updates lie behind it, and are late for windows
//!            further on
//! Cost       one comparison and one hash look-up per record; at a watermark, per window that ends, the keys of the
//!            panes that enter and leave if the aggregate inverts, else of all its panes; per update, one look-up per
//!            pane of the window
//! Source     Li et al., "No Pane, No Gain: Efficient Evaluation of Sliding-Window Aggregates over Data Streams",
//!            SIGMOD Record 34(1), 2005, section 3; allowed lateness: Akidau et al., "The Dataflow Model", VLDB 2015,
//!            section 2.3, "accumulating"
//!
//! ```
//! # use thalweg::{Count, Segment, SlidingWindows, Span, Stream, WindowError, Windowed};
//! # fn f<C: Segment<u32>>(clicks: Stream<u32, C>) -> Result<Stream<Windowed<u32, u64>, impl Segment<Windowed<u32, u64>>>, WindowError> {
//! let two_minutes = SlidingWindows::of_size(Span::from_secs(120)).every(Span::from_secs(30))?;
//! Ok(clicks.key_by(|page| *page).sliding(two_minutes).aggregate(Count))
//! # }
//! ```
//!
//! With a slide above the size, records between two windows are in none, and counted as filtered.

use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

use thalweg_model::{
    Flow, Fold, Horizon, Input, Mark, Operator, Output, Record, Sharing, SlidingWindows, Span, State,
    StateError, StateReader, StateWriter, Windowed,
};

use super::firing::Fired;
use super::store::{PaneStore, Place};
use crate::accounts::Accounts;
use crate::late::{DivertLate, DropLate, LateRule, Lateness};

/// Operator that folds each key's values per sliding window.
#[derive(Debug)]
pub struct SlidingAggregate<K, V, KeyOf, F: Fold<V>, L = DropLate> {
    accounts: Accounts,
    functions: Arc<(KeyOf, F)>,
    store: PaneStore<K, F::Accumulator>,
    lateness: Lateness,
    late_records: PhantomData<fn() -> L>,
}

impl<K, V, KeyOf, F> SlidingAggregate<K, V, KeyOf, F>
where
    K: Clone + Eq + Hash + State,
    KeyOf: Fn(&V) -> K + Send + Sync,
    F: Fold<V>,
{
    /// Creates an aggregate called `name` over sliding or tumbling windows; `key_of` gives the key of a
    /// record. Late records are dropped.
    pub fn new(name: impl Into<String>, windows: impl Into<SlidingWindows>, key_of: KeyOf, fold: F) -> Self {
        SlidingAggregate::with_rule(name, windows, key_of, fold)
    }

    /// Returns an aggregate which emits late records beside its results instead of dropping them.
    pub fn divert_late(self) -> SlidingAggregate<K, V, KeyOf, F, DivertLate> {
        let SlidingAggregate { accounts, functions, store, .. } = self;
        SlidingAggregate::sharing(accounts.name, functions, store)
    }
}

impl<K, V, KeyOf, F, L> SlidingAggregate<K, V, KeyOf, F, L>
where
    K: Clone + Eq + Hash + State,
    KeyOf: Fn(&V) -> K + Send + Sync,
    F: Fold<V>,
{
    /// Creates an aggregate over sliding windows as [`new`](Self::new) does; `L` is the rule for late
    /// records.
    pub fn with_rule(
        name: impl Into<String>,
        windows: impl Into<SlidingWindows>,
        key_of: KeyOf,
        fold: F,
    ) -> Self {
        SlidingAggregate::sharing(name.into(), Arc::new((key_of, fold)), PaneStore::new(windows.into()))
    }

    /// Creates an operator whose counts are zero, over an empty `store` of panes.
    fn sharing(name: String, functions: Arc<(KeyOf, F)>, store: PaneStore<K, F::Accumulator>) -> Self {
        SlidingAggregate {
            accounts: Accounts::new(name),
            functions,
            store,
            lateness: Lateness::new(),
            late_records: PhantomData,
        }
    }
}

impl<K, V, KeyOf, F, L> SlidingAggregate<K, V, KeyOf, F, L>
where
    K: Clone + Eq + Hash + State,
    KeyOf: Fn(&V) -> K + Send + Sync,
    F: Fold<V>,
    L: LateRule<Windowed<K, F::Result>, V>,
{
    /// Lets windows take late records until this long after their ends, and update their results. A span below zero
    /// counts as zero.
    pub fn allow_lateness(mut self, lateness: Span) -> Self {
        self.store.allow(lateness.max(Span::ZERO));
        self
    }

    #[inline(always)]
    fn fold_one<O: Output<L::Out>>(&mut self, record: Record<V>, output: &mut O) {
        let SlidingAggregate { functions, store, accounts, .. } = self;
        let (key_of, fold) = &**functions;
        if let Some(current) = store.current(record.event_time) {
            accounts.blame.on(|| current.fold(fold, key_of(&record.value), &record.value));
        } else if let Some(Record { event_time, value }) = self.place(record)
            && let Some(late) = L::late(value)
        {
            output.push(Record::new(event_time, late));
        }
    }

    /// Folds a record that does not go into the current panes (at most two, to which records mostly go);
    /// returns the record if it is late.
    #[cold]
    #[inline(never)]
    fn place(&mut self, record: Record<V>) -> Option<Record<V>> {
        let SlidingAggregate { functions, store, accounts, .. } = self;
        let (key_of, fold) = &**functions;
        match store.find(record.event_time, self.lateness.late_by()) {
            Place::Table(place) => {
                accounts.blame.on(|| store.fold_at(fold, place, key_of(&record.value), &record.value));
            }
            Place::Late => {
                self.accounts.late += 1;
                return Some(record);
            }
            Place::Outside => self.accounts.filtered += 1,
            Place::Refused => {}
        }
        None
    }

    fn emit<O: Output<L::Out>>(&mut self, output: &mut O) -> Flow {
        let SlidingAggregate { functions, store, lateness, accounts, .. } = self;
        let (_, fold) = &**functions;
        while accounts.blame.on(|| store.advance(fold, lateness.watermark())) {
            if output.room() == 0 {
                return Flow::More;
            }
            let result = accounts.blame.on(|| {
                let Fired { window, firing, key, accumulator } = store.take(fold)?;
                Some(Windowed { window, firing, key, value: fold.finish(accumulator) })
            });
            if let Some(result) = result {
                output.push(Record::new(result.window.last_instant(), L::result(result)));
            }
        }
        Flow::Done
    }
}

impl<K, V, KeyOf, F, L> Operator<V> for SlidingAggregate<K, V, KeyOf, F, L>
where
    K: Clone + Eq + Hash + State,
    V: Send,
    KeyOf: Fn(&V) -> K + Send + Sync,
    F: Fold<V>,
    L: LateRule<Windowed<K, F::Result>, V>,
{
    type Out = L::Out;

    const SHARING: Sharing = if L::DIVERTS { Sharing::Serial } else { Sharing::Merging };

    fn fork(&self) -> Self {
        SlidingAggregate::sharing(self.accounts.name.clone(), Arc::clone(&self.functions), self.store.fork())
    }

    fn absorb(&mut self, copy: &mut Self) {
        let (_, fold) = &*self.functions;
        let (store, blame) = (&mut self.store, &self.accounts.blame);
        blame.on(|| store.absorb(fold, &mut copy.store));
    }

    fn horizon(&self) -> Horizon {
        self.store.horizon()
    }

    #[inline(always)]
    fn process<I: Input<V>, O: Output<Self::Out>>(&mut self, input: &mut I, output: &mut O) {
        let count = input.remaining();
        for record in input.taken(count) {
            self.fold_one(record, output);
        }
        self.accounts.read += count as u64;
    }

    #[inline(always)]
    fn process_one<O: Output<Self::Out>>(&mut self, record: Record<V>, output: &mut O) {
        self.fold_one(record, output);
    }

    crate::accounts::accounted!(folding);

    fn on_mark<O: Output<Self::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        self.lateness.see(mark);
        self.store.note_late_by(self.lateness.late_by());
        match mark {
            Mark::Watermark(watermark) if self.store.is_due(watermark) => self.emit(output),
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

    crate::accounts::stored!();

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| {
            self.lateness.save(state)?;
            self.store.save(state)
        })
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| {
            self.lateness.load(state)?;
            self.store.load(&self.functions.1, state)
        })
    }
}

/// Kind and version of the state of the operator, which saved state tells.
const KIND: &str = "windows";
const VERSION: u32 = 1;

crate::named::named!(SlidingAggregate<K, V, KeyOf, F: Fold<V>, L>);

#[cfg(test)]
mod tests;
