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
//! Parts stay apart until the pane is over. Once the windows that a part does not count for have fired and take no more
//! updates, it counts as the whole does, and to merge the two would change no result. It would spare a key that is in both
//! its second slot, and windows to come a table to visit; but sums that go on have counted the tables that they took in,
//! so they would have to be told. And there are few: as records get later by and by, each window of the pane is closed to
//! them once, and shut for good once, so there are no more than two parts for each.
//!
//! Which table got the last record is kept, so that a run of records in one pane, the common case, costs one comparison
//! per record and no search; and records that are out of order find the panes of late in a small cache. The tables of
//! panes that are over are kept for the next, so that a steady stream allocates nothing. How windows fire is told in
//! [`super::firing`].
//!
//! Source: Li et al., "No Pane, No Gain: Efficient Evaluation of Sliding-Window Aggregates over Data Streams", SIGMOD
//! Record 34(1), 2005, section 3. Parts are ours.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::ops::{Range, RangeInclusive};

use thalweg_model::{
    Allowance, EventTime, Fold, Horizon, SlidingWindows, Span, State, StateError, StateReader, StateWriter,
    WindowNumber,
};

use super::accumulators::Accumulators;
use super::firing::Emission;
use super::pane_sum::PaneSum;
use super::table_pool::{TableIndex, TablePool};
use crate::key_table::{KeyHash, KeyTable};

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
#[derive(Clone, Copy, Debug)]
struct Part {
    since: Since,
    table: TableIndex,
}

/// A span of event time all of whose instants are in the same windows.
#[derive(Debug)]
pub(super) struct Pane {
    /// Its windows; there is at least one.
    pub(super) numbers: Range<WindowNumber>,
    /// What counts for all of them.
    pub(super) whole: TableIndex,
    /// What does not, by since when it counts; no more than two for each of its windows.
    parts: Vec<Part>,
}

impl Pane {
    /// A node of a tree is at least half full.
    const BYTES: usize = 2 * size_of::<(EventTime, Self)>();

    /// Its tables, each with since when it counts.
    pub(super) fn tables(&self) -> impl Iterator<Item = (Since, TableIndex)> {
        let parts = self.parts.iter().map(|part| (part.since, part.table));
        std::iter::once((Since::on_time(self.numbers.start), self.whole)).chain(parts)
    }

    /// The table of what counts since then; or where it belongs.
    fn table_of(&self, since: Since) -> Result<TableIndex, usize> {
        if since == Since::on_time(self.numbers.start) {
            return Ok(self.whole);
        }
        let place = self.parts.binary_search_by_key(&since, |part| part.since)?;
        Ok(self.parts[place].table)
    }
}

/// A table that takes records.
#[derive(Clone, Copy, Debug)]
struct Current {
    table: TableIndex,
    /// The first instant of its pane, and how many there are: one comparison tells whether an instant lies in it.
    pane: EventTime,
    micros: u64,
    /// What a record may be late by to go there, from the one on and below the other. Below, the first window for which
    /// it is on time has not ended.
    late_from: EventTime,
    late_until: EventTime,
}

impl Current {
    /// Takes nothing.
    const NONE: Current = Current {
        table: TableIndex::NONE,
        pane: EventTime::MIN,
        micros: 0,
        late_from: EventTime::MIN,
        late_until: EventTime::MIN,
    };

    #[inline(always)]
    fn contains(&self, instant: EventTime) -> bool {
        // Before its start the difference wraps to more than any pane spans.
        let offset = instant.as_micros().wrapping_sub(self.pane.as_micros());
        offset.cast_unsigned() < self.micros
    }

    fn takes(&self, late_by: EventTime) -> bool {
        self.late_from <= late_by && late_by < self.late_until
    }
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

/// A table of a pane, and since when it counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpdatePlace(Part);

/// Panes that are remembered; a power of two. More are seldom open to records at once.
const RECENT: usize = 64;

/// The open panes of an operator, and the windows that are firing.
#[derive(Debug)]
pub(crate) struct PaneStore<K, A> {
    pub(super) windows: SlidingWindows,
    /// How long after its end a window takes updates.
    pub(super) lateness: Span,
    /// What got the last record; its table is in hand.
    current: Current,
    /// The wholes of some panes, each in a place that follows from its start. If one is closed by now, its windows have
    /// ended, and it takes no record any more.
    recent: Box<[Current; RECENT]>,
    pub(super) tables: TablePool<K, A>,
    /// By their first instants.
    pub(super) panes: BTreeMap<EventTime, Pane>,
    /// Bytes of all panes, without their tables.
    pane_bytes: usize,
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
    pub(super) emission: Option<Emission<K>>,
    hash: KeyHash,
    allowance: Allowance,
}

impl<K: Eq + Hash, A> PaneStore<K, A> {
    /// A node of a tree is at least half full.
    pub(super) const CHANGED_BYTES: usize = 2 * size_of::<(WindowNumber, KeyTable<K, ()>)>();

    pub(crate) fn new(windows: SlidingWindows) -> Self {
        PaneStore::with(windows, Span::ZERO, KeyHash::known(), Allowance::default())
    }

    fn with(windows: SlidingWindows, lateness: Span, hash: KeyHash, allowance: Allowance) -> Self {
        PaneStore {
            windows,
            lateness,
            current: Current::NONE,
            recent: Box::new([Current::NONE; RECENT]),
            tables: TablePool::new(hash.clone(), allowance.clone()),
            panes: BTreeMap::new(),
            pane_bytes: 0,
            changed: BTreeMap::new(),
            changed_bytes: 0,
            unfired_from: windows.first_ending_after(EventTime::MIN),
            due: EventTime::MAX,
            sum: PaneSum::new(hash.clone(), allowance.clone()),
            emission: None,
            hash,
            allowance,
        }
    }

    /// Takes updates until so long after the end of a window; only before the first record.
    pub(crate) fn allow(&mut self, lateness: Span) {
        self.lateness = lateness;
    }

    /// An empty one with the same windows and the same hash, paid from nowhere yet.
    pub(crate) fn fork(&self) -> Self {
        PaneStore::with(self.windows, self.lateness, self.hash.clone(), Allowance::default())
    }

    /// Where its windows end, and take no more updates.
    pub(crate) fn horizon(&self) -> Horizon {
        Horizon::of_windows(self.windows, self.lateness)
    }

    /// Pays from `allowance` from now on; only before the first record.
    pub(crate) fn fund(&mut self, allowance: &Allowance) {
        debug_assert!(self.panes.is_empty(), "only before the first record");
        *self = PaneStore::with(self.windows, self.lateness, self.hash.clone(), allowance.clone());
    }

    /// Hashes with this seed from now on; only before the first record.
    pub(crate) fn seed(&mut self, seed: u64) {
        debug_assert!(self.panes.is_empty(), "only before the first record");
        *self = PaneStore::with(self.windows, self.lateness, KeyHash::new(seed), self.allowance.clone());
    }

    /// Whether a record at `instant` goes to what is current.
    #[inline(always)]
    pub(crate) fn is_current(&self, instant: EventTime) -> bool {
        self.current.contains(instant)
    }

    /// What is current.
    #[inline(always)]
    pub(crate) fn current(&mut self) -> &mut Accumulators<K, A> {
        self.tables.hand()
    }

    /// From now on records are late by this. What is current stays so only as long as none of its windows has ended.
    pub(crate) fn note_late_by(&mut self, late_by: EventTime) {
        if !self.current.takes(late_by) {
            self.current = Current::NONE;
        }
    }

    /// Finds the place of a record at `instant`, and makes it the current one if that is where it goes.
    #[cold]
    #[inline(never)]
    pub(crate) fn find(&mut self, instant: EventTime, late_by: EventTime) -> Place {
        let Some(span) = self.windows.pane_of(instant) else { return Place::Outside };
        let recent = self.recent[recent_place(*span.start())];
        if recent.contains(instant) && recent.takes(late_by) {
            self.turn_to(recent);
            return Place::Current;
        }
        self.find_anew(instant, span, late_by)
    }

    fn find_anew(
        &mut self,
        instant: EventTime,
        span: RangeInclusive<EventTime>,
        late_by: EventTime,
    ) -> Place {
        let numbers = self.windows.numbers_of(instant);
        let first_open = |late_by| self.windows.first_ending_after(late_by).clamp(numbers.start, numbers.end);
        let on_time = first_open(late_by);
        let update = first_open(late_by.minus(self.lateness));
        if update == numbers.end || late_by == EventTime::MAX {
            return Place::Late;
        }
        let (pane, last) = span.into_inner();
        let since = Since { on_time, update };
        let Some(table) = self.open(pane, since) else { return Place::Refused };
        if update < on_time {
            return Place::Update(UpdatePlace(Part { since, table }));
        }
        let micros = last.as_micros().abs_diff(pane.as_micros()) + 1;
        let late_until = self.windows.window(on_time).end;
        let late_from = EventTime::MIN;
        let mut found = Current { table, pane, micros, late_from, late_until };
        if on_time == numbers.start {
            self.recent[recent_place(pane)] = found;
        } else {
            found.late_from = self.windows.window(on_time.previous()).end.plus(self.lateness);
        }
        self.turn_to(found);
        Place::Current
    }

    /// Makes a table the current one.
    fn turn_to(&mut self, next: Current) {
        self.current = next;
        self.tables.take_in_hand(next.table);
        self.due = self.due.min(next.late_until);
    }

    /// Folds a value into the place that [`find`](Self::find) gave its record.
    pub(crate) fn fold_update<V, F>(&mut self, fold: &F, UpdatePlace(part): UpdatePlace, key: &K, value: &V)
    where
        K: Clone,
        F: Fold<V, Accumulator = A>,
    {
        self.tables.change(part.table, |table| table.fold(fold, key.clone(), value));
        let mut number = part.since.update;
        // There may be more windows than anybody has memory for.
        while number < part.since.on_time && self.note_changed(number, key.clone()) {
            number = number.next();
        }
    }

    /// The result of `key` in a window will be updated; `false` if there is no memory for it.
    fn note_changed(&mut self, number: WindowNumber, key: K) -> bool {
        self.due = self.due.min(self.windows.window(number).end);
        if !self.changed.contains_key(&number) {
            if !self.allowance.ask(Self::CHANGED_BYTES) {
                return false;
            }
            self.changed_bytes += Self::CHANGED_BYTES;
            self.changed.insert(number, KeyTable::new(self.hash.clone(), self.allowance.clone()));
        }
        if let Some(keys) = self.changed.get_mut(&number) {
            let before = keys.bytes();
            keys.update(key, || (), |()| ());
            self.changed_bytes = self.changed_bytes + keys.bytes() - before;
        }
        true
    }

    /// The table of a pane for what counts since then, which is made if there is none; none if there is no memory for it.
    fn open(&mut self, first: EventTime, since: Since) -> Option<TableIndex> {
        if !self.panes.contains_key(&first) {
            if !self.allowance.ask(Pane::BYTES) {
                return None;
            }
            let whole = self.tables.take()?;
            let numbers = self.windows.numbers_of(first);
            self.panes.insert(first, Pane { numbers, whole, parts: Vec::new() });
            self.pane_bytes += Pane::BYTES;
        }
        let pane = self.panes.get_mut(&first)?;
        let place = match pane.table_of(since) {
            Ok(table) => return Some(table),
            Err(place) => place,
        };
        let before = pane.parts.capacity();
        if !self.allowance.room_in(&mut pane.parts) {
            return None;
        }
        self.pane_bytes += (pane.parts.capacity() - before) * size_of::<Part>();
        let table = self.tables.take()?;
        pane.parts.insert(place, Part { since, table });
        Some(table)
    }

    /// Takes over all that another holds, of which nothing has fired; that one is empty then, and its tables keep their
    /// slots.
    pub(crate) fn absorb<V, F>(&mut self, fold: &F, other: &mut Self)
    where
        K: Clone,
        F: Fold<V, Accumulator = A>,
    {
        // Found out at the next watermark.
        self.due = EventTime::MIN;
        (other.current, other.due) = (Current::NONE, EventTime::MAX);
        *other.recent = [Current::NONE; RECENT];
        while let Some((first, pane)) = other.panes.pop_first() {
            for (since, from) in pane.tables() {
                if let Some(to) = self.open(first, since) {
                    let PaneStore { tables, .. } = self;
                    other.tables.change(from, |from| tables.change(to, |to| to.absorb(fold, from)));
                }
                other.tables.give_back(from);
            }
            other.pane_bytes -= Pane::BYTES + pane.parts.capacity() * size_of::<Part>();
        }
        while let Some((number, mut keys)) = other.changed.pop_first() {
            other.changed_bytes -= Self::CHANGED_BYTES + keys.bytes();
            while let Some((key, ())) = keys.drain_one() {
                // If there is no memory for it, the query is about to fail.
                let _is_granted = self.note_changed(number, key);
            }
        }
    }

    /// Drops a pane, and gives its tables back, or all but its whole.
    pub(super) fn close(&mut self, first: EventTime) {
        if let Some(whole) = self.close_parts(first) {
            self.tables.give_back(whole);
        }
    }

    /// Drops a pane, and gives its tables back but for its whole, which the caller has from now on.
    pub(super) fn close_parts(&mut self, first: EventTime) -> Option<TableIndex> {
        debug_assert!(
            self.current.micros == 0 || self.current.pane != first,
            "what is over takes no records"
        );
        let pane = self.panes.remove(&first)?;
        self.pane_bytes -= Pane::BYTES + pane.parts.capacity() * size_of::<Part>();
        pane.parts.iter().for_each(|part| self.tables.give_back(part.table));
        Some(pane.whole)
    }

    /// Bytes of all tables and panes. What keys hold on the heap themselves is not seen from here.
    pub(crate) fn bytes(&self) -> usize {
        let emitted = self.emission.as_ref().map_or(0, Emission::bytes);
        self.tables.bytes() + self.pane_bytes + self.changed_bytes + self.sum.bytes() + emitted
    }
}

/// Where a pane is remembered: the upper bits of a product with the golden ratio, which scatter panes in a row.
fn recent_place(pane: EventTime) -> usize {
    let product = pane.as_micros().cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (product >> (u64::BITS - RECENT.ilog2())) as usize
}

impl<K: Eq + Hash + State + Clone, A: State + Clone> PaneStore<K, A> {
    pub(crate) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.unfired_from)?;
        state.put(&self.panes.len())?;
        for (first, pane) in &self.panes {
            let tables = || pane.tables().map(|(since, table)| (since, self.tables.get(table)));
            let tables = || tables().filter(|(_, table)| !table.is_empty());
            state.put(&(first, tables().count()))?;
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

    /// Nothing is current afterwards, and the sum of panes is made anew.
    pub(crate) fn load<V, F>(&mut self, fold: &F, state: &mut StateReader<'_>) -> Result<(), StateError>
    where
        F: Fold<V, Accumulator = A>,
    {
        let (hash, allowance) = (self.hash.clone(), self.allowance.clone());
        *self = PaneStore::with(self.windows, self.lateness, hash, allowance);
        self.unfired_from = state.take()?;
        for _ in 0..state.take::<usize>()? {
            let (first, table_count): (EventTime, usize) = state.take()?;
            for _ in 0..table_count {
                let (on_time, update, len): (_, _, usize) = state.take()?;
                let table = self.open(first, Since { on_time, update });
                self.load_table(fold, table, len, state)?;
            }
        }
        for _ in 0..state.take::<usize>()? {
            let (number, len): (WindowNumber, usize) = state.take()?;
            for _ in 0..len {
                // If there is no memory for it, the query is about to fail.
                let _is_granted = self.note_changed(number, state.take()?);
            }
        }
        self.load_emission(fold, state)?;
        self.sum_again(fold);
        // Found out at the next watermark.
        self.due = EventTime::MIN;
        Ok(())
    }

    /// Loads so many entries into a table, or drops them if there is no memory for one.
    pub(super) fn load_table<V, F>(
        &mut self,
        fold: &F,
        table: Option<TableIndex>,
        len: usize,
        state: &mut StateReader<'_>,
    ) -> Result<(), StateError>
    where
        F: Fold<V, Accumulator = A>,
    {
        for _ in 0..len {
            let (key, accumulator) = state.take()?;
            if let Some(table) = table {
                self.tables.change(table, |table| table.merge(fold, key, accumulator));
            }
        }
        Ok(())
    }
}
