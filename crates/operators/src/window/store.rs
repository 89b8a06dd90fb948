//! State of windows: values folded per key and pane, until the windows of the pane have fired.
//!
//! ```text
//!   size 10, slide 5     |---------- window n ---------|
//!                                       |-------- window n + 1 -------|
//!   panes of 5           |      a       |      b       |      c       |     each record goes into one
//! ```
//!
//! A record counts for every window of its pane, if none of them is closed to it. If it is late for the first of
//! them, it goes into a part of the pane that counts from a later window on. So the content of a window depends on
//! the watermarks by which its records were late, and not on when it fires. Parts lie beside the pane's whole, which
//! counts for all its windows.
//!
//! Parts stay apart until the pane is over. Once the windows that a part does not count for have fired and take no
//! more updates, it counts as the whole does, and merging the two would change no result. It would save the second
//! slot of a key that is in both, and save later windows a table to visit. But the sums that go on from window to
//! window ([`super::pane_sum`]) have counted the tables that they merged, and their counts would have to be
//! corrected. And parts are few: as records get later, each window of the pane is closed to them once on time and
//! once for updates, so there are at most two parts for each.
//!
//! One pane is current: a run of records in it, the common case, costs one comparison per record and no search. Once
//! records alternate between panes, two adjacent ones are current: one more comparison tells that a record is in
//! either, and another which. The last result is used as data, not as a branch: it cannot be predicted which of two
//! windows a record that may be early goes to. Records further out of order find their panes in a small cache, and
//! are folded there until so many go to one pane that it is better made current. The tables of closed panes are kept
//! for later ones, so that a steady stream allocates nothing. [`super::firing`] describes how windows fire.
//!
//! Source: Li et al., "No Pane, No Gain: Efficient Evaluation of Sliding-Window Aggregates over Data Streams", SIGMOD
//! Record 34(1), 2005, section 3. Parts are ours.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::ops::Range;

use thalweg_model::{
    Allowance, EventTime, Fold, Horizon, SlidingWindows, Span, State, StateError, StateReader, StateWriter,
    WindowNumber,
};

use super::accumulators::Accumulators;
use super::firing::Emission;
use super::pane_sum::PaneSum;
use super::table_pool::{Hand, TableIndex, TablePool};
use crate::key_table::{KeyHash, KeyTable};

/// The windows of a pane for which a value counts: all windows from a first one on. Some of them may have
/// fired; the value then updates their results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Since {
    /// The first window of the pane for which the value is on time; the window after the last one if there is
    /// none.
    pub(super) on_time: WindowNumber,
    /// The first window that the value counts for at all. The value updates the windows from here up to
    /// `on_time`.
    pub(super) update: WindowNumber,
}

impl Since {
    /// Returns the windows from `number` on, for all of which the value is on time.
    fn on_time(number: WindowNumber) -> Self {
        Since { on_time: number, update: number }
    }
}

/// Values of a pane that were late for some of the pane's windows, in a table of their own.
#[derive(Clone, Copy, Debug)]
struct Part {
    since: Since,
    table: TableIndex,
}

/// A pane: a span of event time whose instants all fall into the same windows.
#[derive(Debug)]
pub(super) struct Pane {
    /// The numbers of the windows that contain this pane; there is at least one.
    pub(super) numbers: Range<WindowNumber>,
    /// Table of those values of the pane that count for all its windows.
    pub(super) whole: TableIndex,
    /// Tables of the values that were late for some windows of this pane, sorted by the windows that they
    /// count for; no more than two tables for each window.
    parts: Vec<Part>,
}

impl Pane {
    /// Bytes of a pane in the tree of panes. Nodes of the tree are at least half full, so twice the size of
    /// an entry covers it.
    const BYTES: usize = 2 * size_of::<(EventTime, Self)>();

    /// Iterates over the tables of the pane, each with the windows that its values count for.
    pub(super) fn tables(&self) -> impl Iterator<Item = (Since, TableIndex)> {
        let parts = self.parts.iter().map(|part| (part.since, part.table));
        std::iter::once((Since::on_time(self.numbers.start), self.whole)).chain(parts)
    }

    /// Returns the table of the pane's values that count for the windows that `since` describes; if there is
    /// none, the index in `parts` where it belongs.
    fn table_of(&self, since: Since) -> Result<TableIndex, usize> {
        if since == Since::on_time(self.numbers.start) {
            return Ok(self.whole);
        }
        let place = self.parts.binary_search_by_key(&since, |part| part.since)?;
        Ok(self.parts[place].table)
    }
}

/// A current pane: one of at most two panes into which records mostly fall at present. If the event time and the
/// watermark of a record fit the pane, the record goes to the table of the pane without a search.
#[derive(Clone, Copy, Debug)]
struct Current {
    table: TableIndex,
    /// First instant of the current pane, one of the at most two panes to which records mostly go.
    pane: EventTime,
    /// Length of the current pane in microseconds, so that one comparison tells whether an instant lies in it.
    micros: u64,
    /// Range of the watermarks by which a record may be judged to go into this table: from `late_from` on,
    /// below `late_until`. At these watermarks, the first window that the table's values count for has not
    /// ended.
    late_from: EventTime,
    late_until: EventTime,
}

impl Current {
    /// Stands for the absence of a current pane (a pane to which records go without a search): takes no
    /// record.
    const NONE: Current = Current {
        table: TableIndex::NONE,
        pane: EventTime::MIN,
        micros: 0,
        late_from: EventTime::MIN,
        late_until: EventTime::MIN,
    };

    fn is_none(&self) -> bool {
        self.micros == 0
    }

    #[inline(always)]
    fn contains(&self, instant: EventTime) -> bool {
        micros_from(self.pane, instant) < self.micros
    }

    fn takes(&self, late_by: EventTime) -> bool {
        self.late_from <= late_by && late_by < self.late_until
    }

    /// Returns whether this current pane ends where the other current pane begins.
    fn is_before(&self, other: &Current) -> bool {
        micros_from(self.pane, other.pane) == self.micros
    }
}

/// Returns the microseconds from one instant to another. If the second instant is earlier, the result wraps
/// to more than the length of any pane.
#[inline(always)]
fn micros_from(from: EventTime, to: EventTime) -> u64 {
    to.as_micros().wrapping_sub(from.as_micros()).cast_unsigned()
}

/// The span of the current panes, from `start` on. One of the lengths `alone` and `pair` is zero. So records
/// in order need one comparison, and records that alternate between two panes cause no wrong branch
/// predictions.
#[derive(Clone, Copy, Debug)]
struct Reach {
    start: EventTime,
    /// Length of the current pane in microseconds if there is only one; otherwise zero.
    alone: u64,
    /// Length of both current panes together, in microseconds; zero if there is only one.
    pair: u64,
    /// Offset in microseconds at which the second current pane begins; zero if there is only one.
    second: u64,
}

impl Reach {
    /// Creates the span of two adjacent panes, or of one pane if the second is [`Current::NONE`].
    fn of([first, second]: &[Current; 2]) -> Self {
        let (start, micros) = (first.pane, first.micros);
        if second.is_none() {
            return Reach { start, alone: micros, pair: 0, second: 0 };
        }
        debug_assert!(first.is_before(second), "side by side");
        // The sum of the lengths of two panes does not overflow, because no pane is longer than half of the
        // range of instants.
        Reach { start, alone: 0, pair: micros + second.micros, second: micros }
    }
}

/// The decision which table of a pane a record goes into, if any.
#[derive(Debug)]
pub(crate) enum Place {
    /// The record goes into a table of its pane, which need not be a current pane. It may update windows that
    /// have fired.
    Table(TablePlace),
    /// The record goes into no table, because all its windows are closed to it.
    Late,
    /// The record goes into no table, because it falls between two windows.
    Outside,
    /// The record goes into no table, because there is no memory for one; the query is about to fail.
    Refused,
}

/// The table of a pane into which a value goes. `updates` tells which windows a value updates, if some of them have
/// fired.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TablePlace {
    table: TableIndex,
    updates: Option<Since>,
}

/// Number of recently used panes that are remembered, besides the current ones to which records mostly go. It
/// is rare that records come for more panes at once.
const RECENT: usize = 64;

/// A pane is made current when this many records in a row fall into it and into no current pane. Exchanging
/// tables costs as much as folding a few records in place, and scattered records would cause it all the time.
const CALLS_MAX: u32 = 4;

/// All open panes of an operator, and the window that is firing.
#[derive(Debug)]
pub(crate) struct PaneStore<K, A> {
    pub(super) windows: SlidingWindows,
    /// The allowed lateness: how long after its end a window takes updates.
    pub(super) lateness: Span,
    /// The current panes: two adjacent ones, the earlier first; or one and [`Current::NONE`]; or twice
    /// [`Current::NONE`]. The pool keeps their tables apart for quick access.
    current: [Current; 2],
    /// The span of event time of the current panes (at most two, to which records mostly go).
    reach: Reach,
    /// The first instant of the pane that the last record outside the current panes fell into, and the number
    /// of such records in a row in this pane.
    called: (EventTime, u32),
    /// Recently used panes, each with the table of the values that count for all its windows, and at an index
    /// computed from its instants. If such a pane has been closed, its windows have ended, so its entry takes
    /// no record any more.
    recent: Box<[Current; RECENT]>,
    /// 2^64 divided by the microseconds from the start of one pane to the start of the next.
    panes_per_range: u64,
    pub(super) tables: TablePool<K, A>,
    /// All open panes, sorted by their first instants.
    pub(super) panes: BTreeMap<EventTime, Pane>,
    /// Bytes of all panes in the tree, without their tables.
    pane_bytes: usize,
    /// For each window that has fired: the keys whose results are to be updated.
    pub(super) changed: BTreeMap<WindowNumber, KeyTable<K, ()>>,
    pub(super) changed_bytes: usize,
    /// Number, in the order of time, of the first window that has not fired; all windows before it have.
    pub(super) unfired_from: WindowNumber,
    /// The least watermark at which a window fires, a result is updated or a pane is closed; at an earlier
    /// watermark nothing happens.
    pub(super) due: EventTime,
    /// Sum of the panes of the window that is firing, if the window is made of several panes.
    pub(super) sum: PaneSum<K, A>,
    /// The window that is firing, with its results left to emit.
    pub(super) emission: Option<Emission<K>>,
    hash: KeyHash,
    allowance: Allowance,
}

impl<K: Eq + Hash, A> PaneStore<K, A> {
    /// Bytes of an entry of `changed`, the tree of windows with keys whose results are to be updated. Nodes
    /// of the tree are at least half full, so twice the size of an entry covers it.
    pub(super) const CHANGED_BYTES: usize = 2 * size_of::<(WindowNumber, KeyTable<K, ()>)>();

    pub(crate) fn new(windows: SlidingWindows) -> Self {
        PaneStore::with(windows, Span::ZERO, KeyHash::known(), Allowance::default())
    }

    fn with(windows: SlidingWindows, lateness: Span, hash: KeyHash, allowance: Allowance) -> Self {
        let step = if windows.overlap() { windows.pane() } else { windows.slide() };
        PaneStore {
            windows,
            lateness,
            current: [Current::NONE; 2],
            reach: Reach::of(&[Current::NONE; 2]),
            called: (EventTime::MIN, 0),
            recent: Box::new([Current::NONE; RECENT]),
            panes_per_range: u64::MAX / step.as_micros().unsigned_abs(),
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

    /// Sets the allowed lateness, for which windows take updates after their ends; may be called only before
    /// the first record.
    pub(crate) fn allow(&mut self, lateness: Span) {
        self.lateness = lateness;
    }

    /// Returns an empty store of panes with the same windows and hash, whose memory is not reserved in an allowance yet.
    pub(crate) fn fork(&self) -> Self {
        PaneStore::with(self.windows, self.lateness, self.hash.clone(), Allowance::default())
    }

    /// Returns the times at which a watermark has an effect: where windows end, and where they take no more
    /// updates.
    pub(crate) fn horizon(&self) -> Horizon {
        Horizon::of_windows(self.windows, self.lateness)
    }

    /// From now on reserves the memory of panes in `allowance`, the operator's part of the memory budget; may
    /// be called only before the first record.
    pub(crate) fn fund(&mut self, allowance: &Allowance) {
        debug_assert!(self.panes.is_empty(), "only before the first record");
        *self = PaneStore::with(self.windows, self.lateness, self.hash.clone(), allowance.clone());
    }

    /// Seeds the hash function of the tables of all panes; may be called only before the first record.
    pub(crate) fn seed(&mut self, seed: u64) {
        debug_assert!(self.panes.is_empty(), "only before the first record");
        *self = PaneStore::with(self.windows, self.lateness, KeyHash::new(seed), self.allowance.clone());
    }

    /// Returns the table of the pane that contains `instant`, if it is a current pane (one of the at most two
    /// to which records mostly go); otherwise `None`.
    #[inline(always)]
    pub(crate) fn current(&mut self, instant: EventTime) -> Option<&mut Accumulators<K, A>> {
        let offset = micros_from(self.reach.start, instant);
        if offset < self.reach.alone {
            return Some(self.tables.first_hand());
        }
        (offset < self.reach.pair).then(|| self.tables.hand(Hand::second_if(offset >= self.reach.second)))
    }

    /// Sets the watermark by which records are late from now on. A pane stays current only as long as none of its
    /// windows has ended.
    pub(crate) fn note_late_by(&mut self, late_by: EventTime) {
        let stays = |current: &Current| current.is_none() || current.takes(late_by);
        if !self.current.iter().all(stays) {
            let mut kept = self.current.into_iter().filter(stays);
            self.make_current([(); 2].map(|()| kept.next().unwrap_or(Current::NONE)));
        }
    }

    fn make_current(&mut self, current: [Current; 2]) {
        self.tables.take_in_hand(current.map(|current| current.table));
        (self.current, self.reach) = (current, Reach::of(&current));
    }

    /// Finds the table for a record at `instant` that lies in none of the current panes, to which records
    /// mostly go.
    pub(crate) fn find(&mut self, instant: EventTime, late_by: EventTime) -> Place {
        let recent = self.recent[self.recent_place(instant)];
        if !(recent.contains(instant) && recent.takes(late_by)) {
            return self.find_anew(instant, late_by);
        }
        self.due = self.due.min(recent.late_until);
        let calls = if self.called.0 == recent.pane { self.called.1 + 1 } else { 1 };
        self.called = (recent.pane, calls);
        if calls >= CALLS_MAX {
            self.called.1 = 0;
            self.turn_beside(recent);
        }
        Place::Table(TablePlace { table: recent.table, updates: None })
    }

    fn find_anew(&mut self, instant: EventTime, late_by: EventTime) -> Place {
        let Some(span) = self.windows.pane_of(instant) else { return Place::Outside };
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
        let is_on_time = update == on_time;
        if is_on_time {
            let micros = micros_from(pane, last) + 1;
            let late_until = self.windows.window(on_time).end;
            let late_from = EventTime::MIN;
            let mut found = Current { table, pane, micros, late_from, late_until };
            if on_time == numbers.start {
                let place = self.recent_place(instant);
                self.recent[place] = found;
            } else {
                found.late_from = self.windows.window(on_time.previous()).end.plus(self.lateness);
            }
            self.due = self.due.min(late_until);
            self.make_current([found, Current::NONE]);
        }
        Place::Table(TablePlace { table, updates: (!is_on_time).then_some(since) })
    }

    /// Makes a pane current, so that its records find their table without a search. A pane that was current
    /// stays so if it is adjacent to the new one.
    fn turn_beside(&mut self, next: Current) {
        let open = || self.current.into_iter().filter(|current| !current.is_none());
        let pair = if let Some(before) = open().find(|current| current.is_before(&next)) {
            [before, next]
        } else if let Some(behind) = open().find(|current| next.is_before(current)) {
            [next, behind]
        } else {
            [next, Current::NONE]
        };
        self.make_current(pair);
    }

    /// Returns the index, in the array `recent` of recently used panes, of the pane that contains an instant.
    /// Consecutive panes have consecutive indexes. Rounding leads about one in ten thousand instants to the
    /// index of the pane before.
    fn recent_place(&self, instant: EventTime) -> usize {
        let product = u128::from(instant.as_micros().cast_unsigned()) * u128::from(self.panes_per_range);
        (product >> u64::BITS) as usize % RECENT
    }

    /// Folds a value into the table that [`find`](Self::find) returned for its record.
    pub(crate) fn fold_at<V, F>(&mut self, fold: &F, place: TablePlace, key: K, value: &V)
    where
        K: Clone,
        F: Fold<V, Accumulator = A>,
    {
        if let Some(Since { on_time, update }) = place.updates {
            let mut number = update;
            // A late value may update more windows than there is memory for, so the loop ends when memory is
            // refused.
            while number < on_time && self.note_changed(number, key.clone()) {
                number = number.next();
            }
        }
        self.tables.change(place.table, |table| table.fold(fold, key, value));
    }

    /// Adds `key` to the keys whose results in a window are to be updated; returns `false` if there is no
    /// memory for it.
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

    /// Returns the table, in the pane that begins at `first`, for values that count for the windows that
    /// `since` describes, and makes the table if there is none. Returns `None` if there is no memory.
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

    /// Moves the content of another store, in which no window has fired, into this one. The other store is
    /// empty afterwards, and its tables keep their slots.
    pub(crate) fn absorb<V, F>(&mut self, fold: &F, other: &mut Self)
    where
        K: Clone,
        F: Fold<V, Accumulator = A>,
    {
        // The panes have changed, so the next instant at which a window fires or a pane is closed is computed
        // anew at the next watermark.
        self.due = EventTime::MIN;
        other.make_current([Current::NONE; 2]);
        other.due = EventTime::MAX;
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
                // A refusal of memory is ignored here, since the query is then about to fail.
                let _is_granted = self.note_changed(number, key);
            }
        }
    }

    /// Drops a pane, and gives its tables back to the pool.
    pub(super) fn close(&mut self, first: EventTime) {
        if let Some(whole) = self.close_parts(first) {
            self.tables.give_back(whole);
        }
    }

    /// Drops a pane and gives its tables back to the pool, except for the table of the values that count for
    /// all its windows. Returns the index of that table, which the caller must give back.
    pub(super) fn close_parts(&mut self, first: EventTime) -> Option<TableIndex> {
        let is_current = |current: &Current| !current.is_none() && current.pane == first;
        debug_assert!(!self.current.iter().any(is_current), "what is over takes no records");
        let pane = self.panes.remove(&first)?;
        self.pane_bytes -= Pane::BYTES + pane.parts.capacity() * size_of::<Part>();
        pane.parts.iter().for_each(|part| self.tables.give_back(part.table));
        Some(pane.whole)
    }

    /// Returns the bytes of all panes and tables. Heap memory of keys is not counted.
    pub(crate) fn bytes(&self) -> usize {
        let emitted = self.emission.as_ref().map_or(0, Emission::bytes);
        self.tables.bytes() + self.pane_bytes + self.changed_bytes + self.sum.bytes() + emitted
    }
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

    /// Loads the state. No pane is current afterwards, and the sum of panes is made anew.
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
                // A refusal of memory is ignored here, since the query is then about to fail.
                let _is_granted = self.note_changed(number, state.take()?);
            }
        }
        self.load_emission(fold, state)?;
        self.sum_again(fold);
        // The panes have changed, so the next instant at which a window fires or a pane is closed is computed
        // anew at the next watermark.
        self.due = EventTime::MIN;
        Ok(())
    }

    /// Loads `len` entries into a table, or drops them if there is no table because memory was refused.
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
