//! Firing of windows: in the order of their ends, one at a time, and the results of each in pieces.
//!
//! At a watermark, the next window is looked up among the panes, so that spans without records cost nothing. It is
//! made of its panes, emitted, and closed. Between any two results the emission may stop because there is no room,
//! and only one window is ever made ahead. A window that overlaps with no other is one pane, whose table is emitted
//! in place; for other windows the sum is made in [`super::pane_sum`].
//!
//! With allowed lateness, panes are kept until their last window takes no more updates. The result of a key that has
//! changed is computed anew from the panes of its window: late records are few, and a table per window that has fired
//! would take as much memory as there are windows to a pane.

use std::hash::Hash;

use thalweg_model::{
    EventTime, Firing, Fold, Span, State, StateError, StateReader, StateWriter, Window, WindowNumber,
};

use super::store::PaneStore;
use super::table_pool::TableIndex;
use crate::key_table::KeyTable;

/// The window that is firing, and its results that are not emitted yet.
#[derive(Debug)]
pub(super) struct Emission<K> {
    window: Window,
    firing: Firing,
    rest: Rest<K>,
}

/// The results of a window left to emit. If they stay in their table, a slot number tells where to continue.
#[derive(Debug)]
enum Rest<K> {
    /// The results are the entries of a pane's table that was taken off its pane. The table is given back to
    /// the pool afterwards.
    Own { table: TableIndex, left: usize },
    /// The results are the entries of the table of a pane, and stay there.
    Pane { table: TableIndex, slot: usize, left: usize },
    /// The results are the entries of the sum of the window's panes. They stay there if the sum is continued
    /// for the next window.
    Sum { number: WindowNumber, slot: usize, left: usize },
    /// The results of the keys in `keys` have changed after the window fired, and are computed anew.
    Changed { number: WindowNumber, keys: KeyTable<K, ()> },
}

impl<K: Eq + Hash> Emission<K> {
    pub(super) fn bytes(&self) -> usize {
        match &self.rest {
            Rest::Changed { keys, .. } => keys.bytes(),
            Rest::Own { .. } | Rest::Pane { .. } | Rest::Sum { .. } => 0,
        }
    }

    fn is_over(&self) -> bool {
        match &self.rest {
            Rest::Own { left, .. } | Rest::Pane { left, .. } | Rest::Sum { left, .. } => *left == 0,
            Rest::Changed { keys, .. } => keys.is_empty(),
        }
    }
}

/// A result of a window whose accumulator is not yet turned into the final value.
#[derive(Debug)]
pub(crate) struct Fired<K, A> {
    pub(crate) window: Window,
    pub(crate) firing: Firing,
    pub(crate) key: K,
    pub(crate) accumulator: A,
}

impl<K: Eq + Hash + Clone, A: Clone> PaneStore<K, A> {
    /// Returns whether, at a watermark, a window may fire, a result be updated or a pane be closed. The check
    /// is one comparison, since usually nothing is due.
    pub(crate) fn is_due(&self, watermark: EventTime) -> bool {
        self.due <= watermark
    }

    /// Returns whether there is a result to [`take`](Self::take). Begins the next window that has ended if
    /// the last one has no results left.
    pub(crate) fn advance<V, F>(&mut self, fold: &F, watermark: EventTime) -> bool
    where
        F: Fold<V, Accumulator = A>,
    {
        loop {
            match self.emission.as_ref().map(Emission::is_over) {
                Some(false) => return true,
                Some(true) => self.finish(fold),
                None => {
                    if !self.begin(fold, watermark) {
                        return false;
                    }
                }
            }
        }
    }

    /// Returns the next result of the window that is firing; `None` if there was no memory for its
    /// accumulator.
    pub(crate) fn take<V, F>(&mut self, fold: &F) -> Option<Fired<K, A>>
    where
        F: Fold<V, Accumulator = A>,
    {
        let Emission { window, firing, rest } = self.emission.as_mut()?;
        let (window, firing) = (*window, *firing);
        let (key, accumulator) = match rest {
            Rest::Own { table, left } => {
                *left -= 1;
                self.tables.drain_one(*table, fold)?
            }
            Rest::Pane { table, slot, left } => {
                *left -= 1;
                self.tables.get(*table).next_entry(slot).cloned()?
            }
            Rest::Sum { slot, left, .. } => {
                *left -= 1;
                if F::INVERTS {
                    let (key, accumulator) = self.sum.next_entry(slot)?;
                    (key.clone(), accumulator.clone())
                } else {
                    self.sum.drain_one(fold)?
                }
            }
            Rest::Changed { number, keys } => {
                let (number, (key, ())) = (*number, keys.drain_one()?);
                let accumulator = self.content_of(fold, number, &key)?;
                (key, accumulator)
            }
        };
        Some(Fired { window, firing, key, accumulator })
    }

    /// Begins to fire the next window that has ended; returns `false` if there is none, or no memory for it.
    fn begin<V, F>(&mut self, fold: &F, watermark: EventTime) -> bool
    where
        F: Fold<V, Accumulator = A>,
    {
        let open = self.windows.first_ending_after(watermark);
        let on_time = self.next_on_time().filter(|number| *number < open);
        let changed =
            self.changed.first_key_value().map(|(number, _)| *number).filter(|number| *number < open);
        match (on_time, changed) {
            (Some(number), changed) if changed.is_none_or(|changed| number <= changed) => {
                self.fire(fold, number);
                // A window without results means that memory was refused. The query is about to fail, so no
                // other window is tried, as there may be very many.
                return !self.emission.as_ref().is_some_and(Emission::is_over);
            }
            (_, Some(number)) => self.update(number),
            (_, None) => {
                self.unfired_from = self.unfired_from.max(open);
                self.close_until(watermark);
                self.due = self.next_due();
                return false;
            }
        }
        true
    }

    /// Returns the first window that has not fired and has values which are on time for it.
    fn next_on_time(&self) -> Option<WindowNumber> {
        let mut next = None;
        for (_, pane) in self.panes.range(*self.windows.instants_of(self.unfired_from).start()..) {
            if next.is_some_and(|next| next <= pane.numbers.start || next == self.unfired_from) {
                break;
            }
            let tables = pane.tables().filter(|(_, table)| !self.tables.get(*table).is_empty());
            let numbers = tables.map(|(since, _)| since.on_time.max(self.unfired_from));
            let first = numbers.filter(|number| *number < pane.numbers.end).min();
            next = next.into_iter().chain(first).min();
        }
        next
    }

    /// Begins to fire a window whose end the watermark has reached.
    fn fire<V, F>(&mut self, fold: &F, number: WindowNumber)
    where
        F: Fold<V, Accumulator = A>,
    {
        // If windows do not overlap, a window consists of one pane, and its results on time are exactly the
        // entries of the pane's main table.
        let first = *self.windows.instants_of(number).start();
        let whole = self.panes.get(&first).map(|pane| (pane.whole, self.tables.get(pane.whole).len()));
        let rest = match whole {
            Some((table, left)) if !self.windows.overlap() => {
                if self.lateness > Span::ZERO {
                    Rest::Pane { table, slot: 0, left }
                } else {
                    self.close_parts(first);
                    Rest::Own { table, left }
                }
            }
            _ => {
                self.sum_up(fold, number);
                Rest::Sum { number, slot: 0, left: self.sum.len() }
            }
        };
        self.unfired_from = number.next();
        self.emission = Some(Emission { window: self.windows.window(number), firing: Firing::OnTime, rest });
    }

    /// Begins to emit updates of a window that has fired before.
    fn update(&mut self, number: WindowNumber) {
        let Some(keys) = self.changed.remove(&number) else { return };
        self.changed_bytes -= Self::CHANGED_BYTES + keys.bytes();
        let rest = Rest::Changed { number, keys };
        self.emission = Some(Emission { window: self.windows.window(number), firing: Firing::Update, rest });
    }

    /// Makes the sum of the panes of a window. If the aggregate can subtract, panes that the last window had
    /// as well are in the sum already.
    fn sum_up<V, F>(&mut self, fold: &F, number: WindowNumber)
    where
        F: Fold<V, Accumulator = A>,
    {
        let PaneStore { windows, lateness, panes, tables, sum, .. } = self;
        for (_, pane) in panes.range(windows.instants_of(number)) {
            let is_over = *lateness == Span::ZERO && pane.numbers.end == number.next();
            for (since, table) in pane.tables() {
                if since.on_time > number || F::INVERTS && since.on_time < number {
                    continue;
                }
                sum.prepare(tables.get(table));
                if is_over && !F::INVERTS {
                    while let Some((key, accumulator)) = tables.drain_one(table, fold) {
                        sum.enter(fold, key, accumulator);
                    }
                } else {
                    for (key, accumulator) in tables.get(table).iter() {
                        sum.enter(fold, key.clone(), accumulator.clone());
                    }
                }
            }
        }
    }

    /// Ends the firing of a window whose results were all emitted.
    fn finish<V, F>(&mut self, fold: &F)
    where
        F: Fold<V, Accumulator = A>,
    {
        match self.emission.take().map(|emission| emission.rest) {
            Some(Rest::Own { table, .. }) => self.tables.give_back(table),
            Some(Rest::Sum { number, .. }) => {
                if F::INVERTS {
                    self.take_away(fold, number);
                } else {
                    self.sum.clear();
                }
                while self.lateness == Span::ZERO
                    && let Some((first, pane)) = self.panes.first_key_value()
                    && pane.numbers.end <= number.next()
                {
                    self.close(*first);
                }
            }
            Some(Rest::Pane { .. } | Rest::Changed { .. }) | None => {}
        }
    }

    /// Subtracts the panes whose last window has fired from the sum of panes.
    fn take_away<V, F>(&mut self, fold: &F, number: WindowNumber)
    where
        F: Fold<V, Accumulator = A>,
    {
        for (_, pane) in self.panes.range(self.windows.instants_of(number)) {
            if pane.numbers.end > number.next() {
                break;
            }
            let counting = pane.tables().filter(|(since, _)| since.on_time <= number);
            for (key, accumulator) in counting.flat_map(|(_, table)| self.tables.get(table).iter()) {
                self.sum.leave(fold, key, accumulator);
            }
        }
    }

    /// Computes the present accumulator of a key in a window that has fired, from the window's panes.
    fn content_of<V, F>(&self, fold: &F, number: WindowNumber, key: &K) -> Option<A>
    where
        F: Fold<V, Accumulator = A>,
    {
        let panes = self.panes.range(self.windows.instants_of(number));
        let tables = panes.flat_map(|(_, pane)| pane.tables());
        let counting = tables.filter(|(since, _)| since.update <= number);
        let found = counting.filter_map(|(_, table)| self.tables.get(table).get(key).cloned());
        found.reduce(|mut content, other| {
            fold.merge(&mut content, other);
            content
        })
    }

    /// Drops the panes whose windows take no more updates once the watermark is at `watermark`.
    fn close_until(&mut self, watermark: EventTime) {
        while let Some((first, pane)) = self.panes.first_key_value()
            && self.over_at(pane.numbers.end.previous()) <= watermark
        {
            self.close(*first);
        }
    }

    /// Returns the watermark from which on a window takes no more updates: its end plus the allowed lateness.
    fn over_at(&self, number: WindowNumber) -> EventTime {
        self.windows.window(number).end.plus(self.lateness)
    }

    fn next_due(&self) -> EventTime {
        let on_time = self.next_on_time().map(|number| self.windows.window(number).end);
        let changed = self.changed.first_key_value().map(|(number, _)| self.windows.window(*number).end);
        let over = self.panes.first_key_value().map(|(_, pane)| self.over_at(pane.numbers.end.previous()));
        on_time.into_iter().chain(changed).chain(over).min().unwrap_or(EventTime::MAX)
    }

    /// Rebuilds the sum of panes after state was loaded, from the panes of the last window that later windows
    /// still need.
    pub(super) fn sum_again<V, F>(&mut self, fold: &F)
    where
        F: Fold<V, Accumulator = A>,
    {
        if !F::INVERTS || !self.windows.overlap() {
            return;
        }
        let staying = self.panes.values().filter(|pane| pane.numbers.end > self.unfired_from);
        let tables = staying.flat_map(|pane| pane.tables());
        let entered = tables.filter(|(since, _)| since.on_time < self.unfired_from);
        for (_, table) in entered {
            let table = self.tables.get(table);
            self.sum.prepare(table);
            for (key, accumulator) in table.iter() {
                self.sum.enter(fold, key.clone(), accumulator.clone());
            }
        }
    }
}

impl<K: Eq + Hash + State + Clone, A: State + Clone> PaneStore<K, A> {
    /// Saves the results left to emit of the window that is firing. Keys whose results are to be updated are
    /// saved with the panes.
    pub(super) fn save_emission(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let Some(Emission { window, rest, .. }) = &self.emission else {
            return state.put(&None::<(Window, usize)>);
        };
        match rest {
            Rest::Own { table, left } => {
                state.put(&Some((window, left)))?;
                self.tables.get(*table).iter().try_for_each(|entry| state.put(entry))
            }
            Rest::Pane { table, slot, left } => {
                state.put(&Some((window, left)))?;
                let mut slot = *slot;
                while let Some(entry) = self.tables.get(*table).next_entry(&mut slot) {
                    state.put(entry)?;
                }
                Ok(())
            }
            Rest::Sum { slot, left, .. } => {
                state.put(&Some((window, left)))?;
                let mut slot = *slot;
                while let Some(entry) = self.sum.next_entry(&mut slot) {
                    state.put(&entry)?;
                }
                Ok(())
            }
            Rest::Changed { .. } => state.put(&None::<(Window, usize)>),
        }
    }

    pub(super) fn load_emission<V, F>(
        &mut self,
        fold: &F,
        state: &mut StateReader<'_>,
    ) -> Result<(), StateError>
    where
        F: Fold<V, Accumulator = A>,
    {
        let Some((window, len)) = state.take::<Option<(Window, usize)>>()? else { return Ok(()) };
        let table = self.tables.take();
        self.load_table(fold, table, len, state)?;
        self.emission = table.map(|table| {
            let rest = Rest::Own { table, left: self.tables.get(table).len() };
            Emission { window, firing: Firing::OnTime, rest }
        });
        Ok(())
    }

    /// Returns the window whose updates are being emitted, and the keys of these updates.
    pub(super) fn updating(&self) -> Option<(&WindowNumber, &KeyTable<K, ()>)> {
        match self.emission.as_ref().map(|emission| &emission.rest) {
            Some(Rest::Changed { number, keys }) => Some((number, keys)),
            _ => None,
        }
    }
}
