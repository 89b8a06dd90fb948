//! What windows keep: values folded per key and pane, until the windows of the pane have fired.
//!
//! ```text
//!   size 10, slide 5     |---------- window n ---------|
//!                                       |-------- window n + 1 -------|
//!   panes of 5           |      a       |      b       |      c       |     each record goes into one
//! ```
//!
//! A record counts for every window of its pane, if none of them is closed to it. If it is late for the first of them,
//! it goes into a part of the pane that counts from a later one on: so what a window holds depends on what its records
//! were late by, and not on when it fires. Parts lie beside the pane's whole, which counts for all its windows.
//!
//! What got the last record lies apart, so that a run of records in one pane, the common case, costs one comparison per
//! record and no search. The tables of panes that are over are kept for the next, so that a steady stream allocates
//! nothing. How windows fire is told in [`super::firing`].
//!
//! Source: Li et al., "No Pane, No Gain: Efficient Evaluation of Sliding-Window Aggregates over Data Streams", SIGMOD
//! Record 34(1), 2005, section 3. Parts are ours.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::ops::{Range, RangeInclusive};

use thalweg_model::{
    Allowance, EventTime, Fold, SlidingWindows, Span, State, StateError, StateReader, StateWriter,
    WindowNumber,
};

use super::accumulators::Accumulators;
use super::firing::Emission;
use super::pane_sum::PaneSum;
use crate::key_table::{KeyHash, KeyTable};

/// Tables kept for later panes; more are rarely over at once.
const SPARE_TABLES_MAX: usize = 4;

/// From which window of its pane on a value counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Since {
    /// The first for which it is on time; behind all windows of the pane if there is none.
    pub(super) on_time: WindowNumber,
    /// The first for which it counts at all: from there to the one above, results are updated by it.
    pub(super) update: WindowNumber,
}

impl Since {
    /// On time for this window and all that end later.
    fn on_time(number: WindowNumber) -> Self {
        Since { on_time: number, update: number }
    }
}

/// Values of a pane that were late for some of its windows.
#[derive(Debug)]
pub(super) struct Part<K, A> {
    since: Since,
    accumulators: Accumulators<K, A>,
}

/// A span of event time all of whose instants are in the same windows.
#[derive(Debug)]
pub(super) struct Pane<K, A> {
    /// Its windows; there is at least one.
    pub(super) numbers: Range<WindowNumber>,
    /// Where the first of them ends.
    whole_until: EventTime,
    /// What counts for all of them.
    whole: Accumulators<K, A>,
    /// What does not, by since when it counts.
    parts: Vec<Part<K, A>>,
}

impl<K: Eq + Hash, A> Pane<K, A> {
    /// A node of a tree is at least half full.
    const BYTES: usize = 2 * size_of::<(EventTime, Self)>();

    fn bytes(&self) -> usize {
        let parts = self.parts.iter().map(|part| part.accumulators.bytes()).sum::<usize>();
        Self::BYTES + self.whole.bytes() + parts + self.parts.capacity() * size_of::<Part<K, A>>()
    }

    pub(super) fn whole(&self) -> &Accumulators<K, A> {
        &self.whole
    }

    /// Its tables, each with since when it counts.
    pub(super) fn tables(&self) -> impl Iterator<Item = (Since, &Accumulators<K, A>)> {
        let parts = self.parts.iter().map(|part| (part.since, &part.accumulators));
        std::iter::once((Since::on_time(self.numbers.start), &self.whole)).chain(parts)
    }

    /// The same, to be changed.
    pub(super) fn tables_mut(&mut self) -> impl Iterator<Item = (Since, &mut Accumulators<K, A>)> {
        let parts = self.parts.iter_mut().map(|part| (part.since, &mut part.accumulators));
        std::iter::once((Since::on_time(self.numbers.start), &mut self.whole)).chain(parts)
    }

    /// The table of values that count since then.
    fn table_mut(&mut self, since: Since) -> Option<&mut Accumulators<K, A>> {
        if self.is_whole(since) {
            return Some(&mut self.whole);
        }
        let place = self.parts.binary_search_by_key(&since, |part| part.since).ok()?;
        Some(&mut self.parts[place].accumulators)
    }

    fn is_whole(&self, since: Since) -> bool {
        since == Since::on_time(self.numbers.start)
    }
}

/// What got the last record.
#[derive(Debug)]
struct Current<K, A> {
    /// The first instant of its pane, and how many there are: one comparison tells whether an instant lies in it. There
    /// are none while nothing is current.
    pane: EventTime,
    micros: u64,
    /// Which table of the pane it is.
    since: Since,
    /// What a record may be late by to go there.
    late_by: Range<EventTime>,
    /// The table. In its place in the pane lies an empty one.
    accumulators: Accumulators<K, A>,
}

/// Where a record goes.
#[derive(Debug)]
pub(crate) enum Place {
    /// To what is now current.
    Current,
    /// To windows that have fired, as an update; it may count for later ones as well.
    Update(UpdatePlace),
    /// Nowhere: all its windows are closed to it.
    Late,
    /// Nowhere: it is in no window.
    Outside,
    /// Nowhere: there is no memory for it, and the query is about to fail.
    Refused,
}

/// A table of a pane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpdatePlace {
    pane: EventTime,
    since: Since,
}

/// The open panes of an operator, and the windows that are firing.
#[derive(Debug)]
pub(crate) struct PaneStore<K, A> {
    pub(super) windows: SlidingWindows,
    /// How long after its end a window takes updates.
    pub(super) lateness: Span,
    current: Current<K, A>,
    /// By their first instants.
    pub(super) panes: BTreeMap<EventTime, Pane<K, A>>,
    /// Bytes of all panes, but not of what is current.
    pub(super) pane_bytes: usize,
    /// The keys whose results are to be updated, by window.
    pub(super) changed: BTreeMap<WindowNumber, KeyTable<K, ()>>,
    pub(super) changed_bytes: usize,
    /// Every window before this one has fired.
    pub(super) unfired_from: WindowNumber,
    /// No window fires, no result is updated, and no pane is over before the watermark reaches this.
    pub(super) due: EventTime,
    /// The window that fires, if it is made of several panes.
    pub(super) sum: PaneSum<K, A>,
    /// What is left to emit.
    pub(super) emission: Option<Emission<K, A>>,
    spare: Vec<Accumulators<K, A>>,
    /// The hash of all tables.
    hash: KeyHash,
    allowance: Allowance,
}

impl<K: Eq + Hash, A> PaneStore<K, A> {
    /// A node of a tree is at least half full.
    pub(super) const CHANGED_BYTES: usize = 2 * size_of::<(WindowNumber, KeyTable<K, ()>)>();

    pub(crate) fn new(windows: SlidingWindows) -> Self {
        let (hash, allowance) = (KeyHash::new(0), Allowance::default());
        let unfired_from = windows.first_ending_after(EventTime::MIN);
        PaneStore {
            windows,
            lateness: Span::ZERO,
            current: Current {
                pane: EventTime::MIN,
                micros: 0,
                since: Since::on_time(unfired_from),
                late_by: EventTime::MIN..EventTime::MIN,
                accumulators: Accumulators::new(hash.clone(), allowance.clone()),
            },
            panes: BTreeMap::new(),
            pane_bytes: 0,
            changed: BTreeMap::new(),
            changed_bytes: 0,
            unfired_from,
            due: EventTime::MAX,
            sum: PaneSum::new(hash.clone(), allowance.clone()),
            emission: None,
            spare: Vec::new(),
            hash,
            allowance,
        }
    }

    /// Takes updates until so long after the end of a window; only before the first record.
    pub(crate) fn allow(&mut self, lateness: Span) {
        self.lateness = lateness;
    }

    /// Pays from `allowance` from now on; only before the first record.
    pub(crate) fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
        self.renew_tables();
    }

    /// Hashes with this seed from now on; only before the first record.
    pub(crate) fn seed(&mut self, seed: u64) {
        self.hash = KeyHash::new(seed);
        self.renew_tables();
    }

    fn renew_tables(&mut self) {
        debug_assert!(self.panes.is_empty() && self.spare.is_empty(), "before the first record");
        self.current.accumulators = self.table();
        self.sum = PaneSum::new(self.hash.clone(), self.allowance.clone());
    }

    /// Whether a record at `instant` goes to what is current.
    #[inline(always)]
    pub(crate) fn is_current(&self, instant: EventTime) -> bool {
        // Before its start the difference wraps to more than any pane spans.
        let offset = instant.as_micros().wrapping_sub(self.current.pane.as_micros());
        offset.cast_unsigned() < self.current.micros
    }

    /// What is current.
    #[inline(always)]
    pub(crate) fn current(&mut self) -> &mut Accumulators<K, A> {
        &mut self.current.accumulators
    }

    /// From now on records are late by this.
    pub(crate) fn note_late_by(&mut self, late_by: EventTime) {
        if !self.current.late_by.contains(&late_by) {
            self.park();
        }
    }

    /// Finds the place of a record at `instant`, and makes it the current one if that is where it goes.
    #[cold]
    #[inline(never)]
    pub(crate) fn find(&mut self, instant: EventTime, late_by: EventTime) -> Place {
        let Some(span) = self.windows.pane_of(instant) else { return Place::Outside };
        let pane = *span.start();
        if let Some(known) = self.panes.get(&pane)
            && late_by < known.whole_until
        {
            let (since, until) = (Since::on_time(known.numbers.start), known.whole_until);
            self.turn_to(span, since, EventTime::MIN..until);
            return Place::Current;
        }
        let numbers = self.windows.numbers_of(instant);
        let first_open = |late_by| self.windows.first_ending_after(late_by).clamp(numbers.start, numbers.end);
        let on_time = first_open(late_by);
        let update = first_open(late_by.minus(self.lateness));
        if update == numbers.end || late_by == EventTime::MAX {
            return Place::Late;
        }
        let since = Since { on_time, update };
        if !self.open(pane, since) {
            return Place::Refused;
        }
        if update < on_time {
            return Place::Update(UpdatePlace { pane, since });
        }
        let until = self.windows.window(on_time).end;
        let from = if on_time == numbers.start {
            EventTime::MIN
        } else {
            self.windows.window(on_time.previous()).end.plus(self.lateness)
        };
        self.turn_to(span, since, from..until);
        Place::Current
    }

    /// Folds a value into the place that [`find`](Self::find) gave its record.
    pub(crate) fn fold_update<V, F>(
        &mut self,
        fold: &F,
        UpdatePlace { pane, since }: UpdatePlace,
        key: &K,
        value: &V,
    ) where
        K: Clone,
        F: Fold<V, Accumulator = A>,
    {
        let table = self.panes.get_mut(&pane).and_then(|pane| pane.table_mut(since));
        let Some(accumulators) = table else { return };
        let before = accumulators.bytes();
        accumulators.fold(fold, key.clone(), value);
        self.pane_bytes = self.pane_bytes + accumulators.bytes() - before;
        let mut number = since.update;
        while number < since.on_time {
            self.note_changed(number, key.clone());
            number = number.next();
        }
    }

    /// The result of `key` in a window will be updated.
    pub(super) fn note_changed(&mut self, number: WindowNumber, key: K) {
        self.due = self.due.min(self.windows.window(number).end);
        if !self.changed.contains_key(&number) {
            if !self.allowance.ask(Self::CHANGED_BYTES) {
                return;
            }
            self.changed_bytes += Self::CHANGED_BYTES;
            self.changed.insert(number, KeyTable::new(self.hash.clone(), self.allowance.clone()));
        }
        if let Some(keys) = self.changed.get_mut(&number) {
            let before = keys.bytes();
            keys.update(key, || (), |()| ());
            self.changed_bytes = self.changed_bytes + keys.bytes() - before;
        }
    }

    /// Sees to it that there is a table in a pane for what counts since then; `false` if there is no memory for it.
    fn open(&mut self, first: EventTime, since: Since) -> bool {
        if !self.panes.contains_key(&first) {
            if !self.allowance.ask(Pane::<K, A>::BYTES) {
                return false;
            }
            let numbers = self.windows.numbers_of(first);
            let whole_until = self.windows.window(numbers.start).end;
            let pane = Pane { numbers, whole_until, whole: self.table(), parts: Vec::new() };
            self.pane_bytes += pane.bytes();
            self.panes.insert(first, pane);
        }
        let Some(pane) = self.panes.get_mut(&first) else { return false };
        if pane.is_whole(since) {
            return true;
        }
        let Err(place) = pane.parts.binary_search_by_key(&since, |part| part.since) else { return true };
        let before = pane.parts.capacity();
        if !self.allowance.room_in(&mut pane.parts) {
            return false;
        }
        let accumulators = Accumulators::new(self.hash.clone(), self.allowance.clone());
        pane.parts.insert(place, Part { since, accumulators });
        self.pane_bytes += (pane.parts.capacity() - before) * size_of::<Part<K, A>>();
        true
    }

    /// Makes an open table the current one, for records that are late by `late_by`: up to where the first window ends
    /// for which they are on time.
    fn turn_to(&mut self, span: RangeInclusive<EventTime>, since: Since, late_by: Range<EventTime>) {
        self.park();
        self.due = self.due.min(late_by.end);
        let (pane, last) = span.into_inner();
        let current = &mut self.current;
        if let Some(table) = self.panes.get_mut(&pane).and_then(|pane| pane.table_mut(since)) {
            self.pane_bytes -= table.bytes();
            std::mem::swap(&mut current.accumulators, table);
            current.micros = last.as_micros().abs_diff(pane.as_micros()) + 1;
            (current.pane, current.since, current.late_by) = (pane, since, late_by);
        }
    }

    /// Puts what is current back into its pane.
    pub(super) fn park(&mut self) {
        let current = &mut self.current;
        if current.micros == 0 {
            return;
        }
        let pane = self.panes.get_mut(&current.pane);
        let table = pane.and_then(|pane| pane.table_mut(current.since)).expect("its place is kept");
        std::mem::swap(&mut current.accumulators, table);
        self.pane_bytes += table.bytes();
        (current.micros, current.late_by) = (0, EventTime::MIN..EventTime::MIN);
    }

    /// Takes a pane out, whose tables are kept for others.
    pub(super) fn close(&mut self, first: EventTime) {
        if let Some(pane) = self.panes.remove(&first) {
            self.pane_bytes -= pane.bytes();
            self.recycle(pane.whole);
            pane.parts.into_iter().for_each(|part| self.recycle(part.accumulators));
        }
    }

    /// Takes a pane out that has no parts, and gives its table.
    pub(super) fn take_whole(&mut self, first: EventTime) -> Accumulators<K, A> {
        let Some(pane) = self.panes.remove(&first) else { return self.table() };
        self.pane_bytes -= pane.bytes();
        pane.whole
    }

    /// Keeps a table, emptied, for another pane.
    pub(super) fn recycle(&mut self, mut table: Accumulators<K, A>) {
        if self.spare.len() < SPARE_TABLES_MAX && table.bytes() > 0 {
            table.clear();
            self.spare.push(table);
        }
    }

    pub(super) fn table(&mut self) -> Accumulators<K, A> {
        self.spare.pop().unwrap_or_else(|| Accumulators::new(self.hash.clone(), self.allowance.clone()))
    }

    /// Bytes of all tables and panes. What keys hold on the heap themselves is not seen from here.
    pub(crate) fn bytes(&self) -> usize {
        let spare = self.spare.iter().map(Accumulators::bytes).sum::<usize>();
        let emitted = self.emission.as_ref().map_or(0, Emission::bytes);
        let open = self.pane_bytes + self.current.accumulators.bytes();
        open + self.changed_bytes + self.sum.bytes() + emitted + spare
    }
}

impl<K: Eq + Hash + State + Clone, A: State + Clone> PaneStore<K, A> {
    pub(crate) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.unfired_from)?;
        state.put(&self.panes.len())?;
        for (first, pane) in &self.panes {
            state.put(first)?;
            // In the place of what is current lies an empty table.
            let is_current =
                |since| self.current.micros > 0 && *first == self.current.pane && since == self.current.since;
            let tables = || {
                let tables = pane.tables().map(|(since, table)| {
                    (since, if is_current(since) { &self.current.accumulators } else { table })
                });
                tables.filter(|(_, table)| !table.is_empty())
            };
            state.put(&tables().count())?;
            for (since, table) in tables() {
                state.put(&(since.on_time, since.update, table.len()))?;
                table.iter().try_for_each(|entry| state.put(entry))?;
            }
        }
        let changed = || self.changed.iter().chain(self.updating());
        state.put(&changed().count())?;
        for (number, keys) in changed() {
            state.put(&(number, keys.len()))?;
            keys.iter().try_for_each(|(key, ())| state.put(key))?;
        }
        self.save_emission(state)
    }

    /// What was current is no longer, and sums of panes are made anew.
    pub(crate) fn load<V, F>(&mut self, fold: &F, state: &mut StateReader<'_>) -> Result<(), StateError>
    where
        F: Fold<V, Accumulator = A>,
    {
        let (windows, lateness) = (self.windows, self.lateness);
        let (hash, allowance) = (self.hash.clone(), self.allowance.clone());
        *self = PaneStore { lateness, hash, allowance, ..PaneStore::new(windows) };
        self.renew_tables();
        self.unfired_from = state.take()?;
        for _ in 0..state.take::<usize>()? {
            let first: EventTime = state.take()?;
            for _ in 0..state.take::<usize>()? {
                let (on_time, update, len): (_, _, usize) = state.take()?;
                let since = Since { on_time, update };
                for _ in 0..len {
                    let (key, accumulator): (K, A) = state.take()?;
                    if self.open(first, since)
                        && let Some(table) = self.panes.get_mut(&first).and_then(|pane| pane.table_mut(since))
                    {
                        let before = table.bytes();
                        table.merge(fold, key, accumulator);
                        self.pane_bytes = self.pane_bytes + table.bytes() - before;
                    }
                }
            }
        }
        for _ in 0..state.take::<usize>()? {
            let (number, len): (WindowNumber, usize) = state.take()?;
            for _ in 0..len {
                self.note_changed(number, state.take()?);
            }
        }
        self.load_emission(fold, state)?;
        self.sum_again(fold);
        // Found out at the next watermark.
        self.due = EventTime::MIN;
        Ok(())
    }
}
