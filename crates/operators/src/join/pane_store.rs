//! State of a window join: the values of both sides by key, once for each pane, until the last of the pane's windows
//! closes.
//!
//! A [`Pane`] holds the records that count for the same windows: those of one stretch of [`EvenWindows`] that were on
//! time for the same first window. Tumbling windows have one pane each. Both sides of a key lie in one entry of the
//! pane's table, so one look-up finds where a record goes and which values it meets there.
//!
//! Records are looked up a batch ahead ([`PaneStore::look_ahead`]): their panes, their keys, and the parts of the
//! tables that they will touch. So a batch waits for memory about as long as one record would.

use std::hash::Hash;

use thalweg_model::{
    Allowance, Either, EventTime, Input, Mark, State, StateError, StateReader, StateWriter, Window,
};

use super::batch::BATCH_RECORDS;
use super::dense_table::{NOWHERE, Tag};
use super::even_windows::EvenWindows;
use super::funds::Funds;
use super::pane::{Arrival, Destination, Pane, Sides};
use super::window_table_pool::WindowTablePool;
use crate::key_table::KeyHash;
use crate::late::Lateness;

/// Results of looking up a batch of records, in the order of the records. Each field is an array of its own,
/// so that the loops which wait for memory are short. Then the processor works on many records at once in
/// such a loop.
#[derive(Debug)]
struct Ahead {
    is_left: [bool; BATCH_RECORDS],
    destinations: [Destination; BATCH_RECORDS],
    tags: [Tag; BATCH_RECORDS],
    /// For each record of the batch: the word at the home slot of its key, in the index of the hash table of
    /// its pane.
    words: [u64; BATCH_RECORDS],
    entries: [u32; BATCH_RECORDS],
}

/// The entry of one key in one pane of a window that is closing; its results are to be emitted next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    /// Number of the window that is closing.
    pub(crate) window: i64,
    /// Position, among the panes of the closing window, of the pane that holds the entry.
    pub(crate) index: usize,
    pub(crate) pane: u32,
    pub(crate) entry: u32,
}

/// The panes of all open windows, and of the window that is closing.
#[derive(Debug)]
pub(crate) struct PaneStore<K, L, R> {
    windows: EvenWindows,
    /// The watermarks that decide which records are late and which windows close.
    lateness: Lateness,
    /// The open panes, sorted by the numbers of their first and last window.
    panes: WindowTablePool<(i64, i64), Pane<K, L, R>>,
    /// The pane that the last record went to.
    current: Destination,
    /// First instant of the span whose records go to the same pane as the last record.
    current_start: EventTime,
    /// Length in microseconds of the span whose records go to the same pane as the last record.
    current_micros: u64,
    /// Number of the last window that has closed; all windows with lower numbers are closed as well.
    closed: Option<i64>,
    /// The window that is closing, with the entry (a key in one of its panes) whose results come next.
    closing: Option<Closing>,
    /// The indexes of the panes of the window that is closing.
    closing_panes: Vec<u32>,
    ahead: Box<Ahead>,
    /// The keys of the records that are looked up ahead; the vector is kept so that its memory is reused.
    keys: Vec<K>,
    hash: KeyHash,
    funds: Funds,
}

impl<K: Eq + Hash, L, R> PaneStore<K, L, R> {
    pub(crate) fn new(windows: EvenWindows) -> Self {
        PaneStore {
            windows,
            lateness: Lateness::new(),
            panes: WindowTablePool::new(),
            current: Destination::Between,
            current_start: EventTime::MIN,
            current_micros: 0,
            closed: None,
            closing: None,
            closing_panes: Vec::new(),
            ahead: Box::new(Ahead {
                is_left: [false; BATCH_RECORDS],
                destinations: [Destination::Between; BATCH_RECORDS],
                tags: [Tag::default(); BATCH_RECORDS],
                words: [0; BATCH_RECORDS],
                entries: [NOWHERE; BATCH_RECORDS],
            }),
            keys: Vec::with_capacity(BATCH_RECORDS),
            hash: KeyHash::known(),
            funds: Funds::default(),
        }
    }

    /// From now on reserves the memory of panes in `allowance`, the operator's part of the memory budget; may
    /// be called only before the first record.
    pub(crate) fn fund(&mut self, allowance: &Allowance) {
        debug_assert!(self.panes.len() == 0, "funded before use");
        self.funds = Funds::new(allowance);
    }

    /// Seeds the hash function of the tables of all panes; may be called only before the first record.
    pub(crate) fn seed(&mut self, seed: u64) {
        debug_assert!(self.panes.len() == 0, "seeded before use");
        self.hash = KeyHash::new(seed);
    }

    /// Returns the bytes of all tables and lists. Heap memory of keys and values themselves is not counted.
    pub(crate) fn bytes(&self) -> usize {
        self.funds.held_bytes()
    }

    pub(crate) fn windows(&self) -> &EvenWindows {
        &self.windows
    }

    #[inline(always)]
    pub(crate) fn pane(&self, place: u32) -> &Pane<K, L, R> {
        self.panes.at(place)
    }

    /// Returns the tag of `key`: the part of its hash that the tables of all panes use.
    pub(crate) fn tag(&self, key: &K) -> Tag {
        Tag::of(&self.hash, key)
    }

    /// Processes a mark, a signal between records. A watermark may make records late or close windows, so it
    /// resets the pane of the last record.
    pub(crate) fn see(&mut self, mark: Mark) {
        self.lateness.see(mark);
        self.turn_away();
    }

    /// Resets the pane of the last record, so that the pane of the next record is looked up.
    fn turn_away(&mut self) {
        self.current_micros = 0;
    }

    /// Decides which pane a record at `event_time` goes into. `late_by` is the watermark by which it may be
    /// late.
    #[inline(always)]
    fn destination(&mut self, event_time: EventTime, late_by: EventTime) -> Destination {
        // If the instant lies before the start of the span, the difference wraps to a number greater than the
        // length of any span.
        let offset = event_time.as_micros().wrapping_sub(self.current_start.as_micros());
        if offset.cast_unsigned() < self.current_micros {
            self.current
        } else {
            self.turn_to(event_time, late_by)
        }
    }

    #[cold]
    #[inline(never)]
    fn turn_to(&mut self, event_time: EventTime, late_by: EventTime) -> Destination {
        let stretch = self.windows.stretch_of(event_time);
        let Window { start, end } = stretch.span;
        self.current_start = start;
        self.current_micros = end.as_micros().abs_diff(start.as_micros());
        self.current = if stretch.first > stretch.last {
            Destination::Between
        } else {
            match self.windows.first_on_time(stretch.first, stretch.last, late_by) {
                None => Destination::Late,
                Some(first) => self.open(first, stretch.last),
            }
        };
        self.current
    }

    /// Opens the pane for records that fall into the windows from `first` to `last`.
    fn open(&mut self, first: i64, last: i64) -> Destination {
        match self.panes.open((first, last), &mut self.funds) {
            None => Destination::Refused,
            Some(place) => {
                let pane = self.panes.at_mut(place);
                (pane.first, pane.last) = (first, last);
                pane.stamp = self.windows.window(first).last_instant();
                Destination::Pane(place)
            }
        }
    }

    /// Looks up the next `count` records of the input, at most one batch, and returns their keys. The other
    /// results are fetched by [`arrival`](Self::arrival).
    #[inline(always)]
    pub(crate) fn look_ahead<I: Input<Either<L, R>>>(
        &mut self,
        input: &I,
        count: usize,
        key_of: impl Fn(&Either<L, R>) -> K,
    ) -> Vec<K> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        let late_by = self.lateness.late_by();
        let mut is_one_pane = true;
        for offset in 0..count.min(BATCH_RECORDS) {
            let (event_time, is_left, key) = input.inspect(offset, |record| {
                (record.event_time, matches!(record.value, Either::Left(_)), key_of(&record.value))
            });
            let destination = self.destination(event_time, late_by);
            let Ahead { is_left: sides, destinations, tags, .. } = &mut *self.ahead;
            (sides[offset], destinations[offset]) = (is_left, destination);
            tags[offset] = Tag::of(&self.hash, &key);
            is_one_pane &= destination == destinations[0];
            keys.push(key);
        }
        match self.ahead.destinations[0] {
            Destination::Pane(place) if is_one_pane => self.touch(place, 0, &keys),
            _ => self.touch_each(&keys),
        }
        keys
    }

    /// Looks up a run of records that go to one pane, the first of which is at position `begin` of the batch.
    /// It loads first the index words of all keys, then the entries of all, then the first values that they
    /// match.
    #[inline(always)]
    fn touch(&mut self, place: u32, begin: usize, keys: &[K]) {
        let pane = self.panes.at(place);
        let end = begin + keys.len();
        let Ahead { is_left, tags, words, entries, .. } = &mut *self.ahead;
        let (is_left, tags) = (&is_left[begin..end], &tags[begin..end]);
        let (words, entries) = (&mut words[begin..end], &mut entries[begin..end]);
        for (word, tag) in words.iter_mut().zip(tags) {
            *word = pane.table.peek(*tag);
        }
        for (((entry, word), tag), key) in entries.iter_mut().zip(&*words).zip(tags).zip(keys) {
            *entry = pane.table.candidate(*word, *tag, key);
        }
        for ((word, entry), is_left) in words.iter_mut().zip(&*entries).zip(is_left) {
            if *entry != NOWHERE {
                let Sides { left, right } = pane.table.value(*entry);
                // The word is stored only so that the compiler does not remove the load, which brings the
                // values into the cache.
                *word = u64::from(if *is_left {
                    right.last_link(&pane.right_links)
                } else {
                    left.last_link(&pane.left_links)
                });
            }
        }
    }

    /// Looks up a batch of records that go to several panes, one run for each pane, as [`touch`](Self::touch)
    /// does.
    #[inline(never)]
    fn touch_each(&mut self, keys: &[K]) {
        for (offset, key) in keys.iter().enumerate() {
            if let Destination::Pane(place) = self.ahead.destinations[offset] {
                self.touch(place, offset, std::slice::from_ref(key));
            }
        }
    }

    /// Takes back the vector of keys that [`look_ahead`](Self::look_ahead) returned, so that its memory is
    /// reused.
    pub(crate) fn put_back(&mut self, mut keys: Vec<K>) {
        keys.clear();
        self.keys = keys;
    }

    /// Returns the results of looking up the record at position `offset` of the batch, whose key is `key`.
    #[inline(always)]
    pub(crate) fn arrival(&self, offset: usize, key: K) -> Arrival<K> {
        let Ahead { destinations, tags, entries, .. } = &*self.ahead;
        Arrival { key, tag: tags[offset], destination: destinations[offset], entry: entries[offset] }
    }

    /// Looks up one record alone, without a batch.
    pub(crate) fn look_at(&mut self, event_time: EventTime, key: K) -> Arrival<K> {
        let destination = self.destination(event_time, self.lateness.late_by());
        Arrival { tag: Tag::of(&self.hash, &key), key, destination, entry: NOWHERE }
    }

    /// Returns the pane with index `place` as a mutable reference, and the account in which the memory of its
    /// growth is reserved.
    #[inline(always)]
    pub(crate) fn pane_mut(&mut self, place: u32) -> (&mut Pane<K, L, R>, &mut Funds) {
        (self.panes.at_mut(place), &mut self.funds)
    }

    /// Returns the next open pane after the pane `after`, in the order of windows, that shares a window with
    /// the windows `own` (the numbers of the first and the last one). The pane of exactly the windows `own`
    /// is left out.
    pub(crate) fn pane_beside(&self, own: (i64, i64), after: Option<u32>) -> Option<u32> {
        use std::ops::Bound::{Excluded, Included};
        // A pane that shares a window with `own` begins at most `reach` windows before the first window of
        // `own`.
        let begin = match after.map(|place| self.pane(place)) {
            None => Included((own.0.saturating_sub(self.windows.reach()), i64::MIN)),
            Some(pane) => Excluded((pane.first, pane.last)),
        };
        let mut beside = self.panes.places().range((begin, Included((own.1, i64::MAX))));
        beside.find(|(windows, _)| windows.1 >= own.0 && **windows != own).map(|(_, place)| *place)
    }

    /// Returns the next entry of the windows that end at or before the watermark. Windows come in the order of
    /// their ends, and the entries of a window pane by pane, in the order in which their keys came. Returns
    /// `None` when all these windows are closed and their panes dropped.
    pub(crate) fn next_closing(&mut self) -> Option<Closing> {
        loop {
            let Some(closing) = &mut self.closing else {
                let window = self.next_due()?;
                self.begin_closing(window);
                continue;
            };
            let Some(&pane) = self.closing_panes.get(closing.index) else {
                self.end_closing();
                continue;
            };
            if (closing.entry as usize) < self.panes.at(pane).table.len() {
                let entry = Closing { pane, ..*closing };
                closing.entry += 1;
                return Some(entry);
            }
            closing.index += 1;
            closing.entry = 0;
        }
    }

    /// Drops the panes whose windows all end at or before the watermark, without a look at entries or windows, of
    /// which a pane may have millions. A pane whose records were late for its first windows may stay behind another
    /// for a while, at most for the size of a window; no record meets its records.
    pub(crate) fn close_ended(&mut self) {
        let watermark = self.lateness.watermark();
        while let Some((&windows, _)) = self.panes.places().first_key_value()
            && self.windows.window(windows.1).end <= watermark
        {
            self.panes.close(&windows, &mut self.funds);
            self.closed = self.closed.max(Some(windows.1));
            self.turn_away();
        }
    }

    /// Returns the indexes of the panes whose records fall into the closing window.
    pub(crate) fn closing_panes(&self) -> &[u32] {
        &self.closing_panes
    }

    /// Appends the values of one entry (a key in one pane) to `lefts` and `rights`, each side in the order in
    /// which its values came.
    pub(crate) fn gather(&mut self, pane: u32, entry: u32, lefts: &mut Vec<L>, rights: &mut Vec<R>)
    where
        L: Clone,
        R: Clone,
    {
        let PaneStore { panes, funds, .. } = self;
        let Pane { table, left_links, right_links, .. } = panes.at(pane);
        let Sides { left, right } = table.value(entry);
        left.gather(left_links, lefts, funds);
        right.gather(right_links, rights, funds);
    }

    /// Returns the number of the first window that is not closed, has a pane, and ends at or before the
    /// watermark.
    fn next_due(&self) -> Option<i64> {
        let (&(first, _), _) = self.panes.places().first_key_value()?;
        let window = self.closed.map_or(first, |closed| first.max(closed.saturating_add(1)));
        (self.windows.window(window).end <= self.lateness.watermark()).then_some(window)
    }

    fn begin_closing(&mut self, window: i64) {
        // Panes whose last window has a lower number are dropped already. So the window has every pane whose
        // first window does not have a higher number.
        let panes = self.panes.places().range(..=(window, i64::MAX));
        self.closing_panes.clear();
        self.closing_panes.extend(panes.map(|(_, place)| *place));
        self.closing = Some(Closing { window, index: 0, pane: 0, entry: 0 });
    }

    /// Drops the panes whose records fall into no window after the closing one.
    fn end_closing(&mut self) {
        let Some(Closing { window, .. }) = self.closing.take() else { return };
        for &place in &self.closing_panes {
            let Pane { first, last, .. } = *self.panes.at(place);
            if last <= window {
                self.panes.close(&(first, last), &mut self.funds);
            }
        }
        self.closing_panes.clear();
        self.closed = Some(window);
        self.turn_away();
    }
}

impl<K: Eq + Hash + State, L: State + Clone, R: State + Clone> PaneStore<K, L, R> {
    pub(crate) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        assert!(self.closing.is_none(), "state is saved when all that a mark emits is through (O4)");
        self.lateness.save(state)?;
        state.put(&self.closed)?;
        state.put(&self.panes.len())?;
        // The bytes written here are not reserved in the join's allowance, because they belong to the
        // checkpoint.
        let (mut lefts, mut rights, mut free) = (Vec::new(), Vec::new(), Funds::default());
        for (windows, &place) in self.panes.places() {
            let pane = self.panes.at(place);
            state.put(windows)?;
            state.put(&pane.table.len())?;
            for (key, sides) in pane.table.entries() {
                sides.left.gather(&pane.left_links, &mut lefts, &mut free);
                sides.right.gather(&pane.right_links, &mut rights, &mut free);
                state.put(key)?;
                state.put(&lefts)?;
                state.put(&rights)?;
                lefts.clear();
                rights.clear();
            }
        }
        Ok(())
    }

    pub(crate) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.lateness.load(state)?;
        self.panes = WindowTablePool::new();
        self.funds.give_back(self.funds.held_bytes());
        self.turn_away();
        self.closing = None;
        self.closed = state.take()?;
        for _ in 0..state.take::<usize>()? {
            let (first, last) = state.take()?;
            let destination = self.open(first, last);
            for _ in 0..state.take::<usize>()? {
                let key: K = state.take()?;
                let lefts = state.take::<Vec<L>>()?.into_iter().map(Either::Left);
                let rights = state.take::<Vec<R>>()?.into_iter().map(Either::Right);
                let Destination::Pane(pane) = destination else { continue };
                let tag = self.tag(&key);
                let arrival = Arrival { key, tag, destination, entry: NOWHERE };
                let (pane, funds) = self.pane_mut(pane);
                let Some(entry) = pane.entry_of(arrival, funds) else { continue };
                lefts.chain(rights).for_each(|value| pane.keep(entry, value, funds));
            }
        }
        Ok(())
    }
}
