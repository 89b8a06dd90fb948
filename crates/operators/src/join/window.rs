//! Window join: records of two streams that have the same key meet in each window that both count for.
//!
//! Input      `Record<Either<L, R>>` in any order; one function per side gives the key of each
//! Output     `Record<U>`, stamped with the window's last instant: one for each pair and window; an outer join
//!            ([`LeftOuter`](super::LeftOuter) and its like) also emits one for each record and window without a
//!            match
//! State      each record once, until the last window that it counts for closes; in an inner join, a record that was
//!            late for the first of its windows may stay for the size of a window longer
//! Emits      pairs as soon as both are there; records without a match when the watermark reaches `window.end`,
//!            windows in the order of their ends, keys of a window in the order in which they came
//! Late       none of its windows ends after the watermark of its own input: counted in `late`, matches nothing.
//!            Between windows that leave gaps: counted as filtered
//! Watermark  forwarded unchanged, after all windows that it closes; watermarks of single inputs end here
//! Cost       one hash look-up per record if windows tumble; if they overlap, one for each pane that shares a window
//!            with its own. At a watermark, one look at each entry of each window that closes (outer joins only) and
//!            the index of each table that is dropped
//! Source     Wilschut and Apers, "Dataflow Query Execution in a Parallel Main-Memory Environment", PDIS 1991,
//!            section 2.3, "The Pipelining Hash-Join Algorithm" (the symmetric hash join), once per window
//!
//! ```
//! # use thalweg::{Segment, Span, Stream, TumblingWindows, WindowError};
//! # type Order = (u64, char);
//! # type Payment = (u64, u32);
//! # fn f<A: Segment<Order>, B: Segment<Payment>>(orders: Stream<Order, A>, payments: Stream<Payment, B>) -> Result<Stream<(char, u32), impl Segment<(char, u32)>>, WindowError> {
//! let hours = TumblingWindows::new(Span::from_secs(3_600))?;
//! let pair = orders.key_by(|(order, _)| *order).join(payments.key_by(|(order, _)| *order));
//! Ok(pair.tumbling(hours).inner(|(_, what), (_, paid)| (*what, *paid)))
//! # }
//! ```

use std::hash::Hash;
use std::sync::Arc;

use thalweg_model::{
    Blame, Either, EventTime, Flow, Horizon, Input, Keys, Mark, Operator, Output, Record, Sharing, State,
    StateError, StateReader, StateWriter,
};

use super::batch::{BATCH_RECORDS, Functions};
use super::chain::{Chain, Link, START};
use super::combine::{Combine, Fate};
use super::even_windows::EvenWindows;
use super::pane::{Arrival, Destination, Pane};
use super::pane_store::{Closing, PaneStore};
use crate::accounts::Accounts;
use crate::address::By;

/// Window join: joins two streams per key and window. A [`Combine`] says which records become results, and
/// how.
#[derive(Debug)]
pub struct WindowJoin<K, L, R, KeyL, KeyR, C> {
    accounts: Accounts,
    functions: Arc<Functions<KeyL, KeyR, C>>,
    store: PaneStore<K, L, R>,
    /// A record whose results with all its matches are not yet emitted, because there was no room (rule O3 of
    /// [`thalweg_model::operator`]).
    meeting: Option<Meeting<L, R>>,
    /// The records without a match, of one key in one pane of a closed window, that are being emitted.
    alone: Option<Alone>,
}

/// A record that is being joined with values of the other side, one pane after the other, beginning with the
/// record's own pane.
#[derive(Debug)]
struct Meeting<L, R> {
    value: Either<L, R>,
    /// Index of the pane that the record is stored in.
    pane: u32,
    /// Index of the entry of the record's key in its own pane.
    entry: u32,
    /// Index of the pane whose values the record is joined with now.
    their_pane: u32,
    /// Index of the entry of the record's key in the pane whose values the record is joined with now; `None`
    /// if the pane does not have the key.
    their_entry: Option<u32>,
    place: Place,
}

/// The next value of the other side to join with, and the window of the next result.
#[derive(Clone, Copy, Debug)]
struct Place {
    cursor: u32,
    /// Number of windows, among those that both values fall into, for which the result is already emitted.
    windows_done: u64,
}

/// The values of one key on one side, in one pane of a closing window, which have no match in this window.
#[derive(Debug)]
struct Alone {
    of: Closing,
    is_left: bool,
    cursor: u32,
}

const BEGIN: Place = Place { cursor: START, windows_done: 0 };

impl<K, L, R, KeyL, KeyR, C> WindowJoin<K, L, R, KeyL, KeyR, C>
where
    K: Eq + Hash + State,
    L: State + Clone,
    R: State + Clone,
    KeyL: Fn(&L) -> K + Send + Sync,
    KeyR: Fn(&R) -> K + Send + Sync,
    C: Combine<L, R>,
{
    /// Creates a join called `name` over `windows`: `left_key` and `right_key` give the keys of records, `combine`
    /// makes the results.
    pub fn new(
        name: impl Into<String>,
        windows: impl Into<EvenWindows>,
        left_key: KeyL,
        right_key: KeyR,
        combine: C,
    ) -> Self {
        let functions = Functions { left_key, right_key, made_by: combine };
        WindowJoin::sharing(name.into(), windows.into(), Arc::new(functions))
    }

    fn sharing(name: String, windows: EvenWindows, functions: Arc<Functions<KeyL, KeyR, C>>) -> Self {
        WindowJoin {
            accounts: Accounts::new(name),
            functions,
            store: PaneStore::new(windows),
            meeting: None,
            alone: None,
        }
    }

    #[inline(always)]
    fn arrive<O: Output<C::Out>>(&mut self, value: Either<L, R>, arrival: Arrival<K>, output: &mut O) {
        let pane = match arrival.destination {
            Destination::Pane(pane) => pane,
            Destination::Late => return self.accounts.late += 1,
            Destination::Between => return self.accounts.filtered += 1,
            Destination::Refused => return,
        };
        let overlap = self.store.windows().overlap();
        let WindowJoin { store, functions, accounts, .. } = self;
        let (own, funds) = store.pane_mut(pane);
        let Some(entry) = own.entry_of(arrival, funds) else { return };
        let mut place = BEGIN;
        if !overlap {
            let stamp = own.stamp;
            let one_window = Common { count: 1, stamp: |_| stamp };
            let met = (&functions.made_by, &accounts.blame);
            if meet_all(met, &value, &*own, entry, &one_window, &mut place, output) == Flow::Done {
                return own.keep(entry, value, funds);
            }
        }
        let meeting = Meeting { value, pane, entry, their_pane: pane, their_entry: Some(entry), place };
        self.meeting = self.meet(meeting, output);
    }

    /// Emits the results of a record and its matches as far as there is room. Stores the record when all of
    /// them are emitted.
    #[cold]
    #[inline(never)]
    fn meet<O: Output<C::Out>>(
        &mut self,
        mut meeting: Meeting<L, R>,
        output: &mut O,
    ) -> Option<Meeting<L, R>> {
        loop {
            if self.meet_in_pane(&mut meeting, output) == Flow::More {
                return Some(meeting);
            }
            if !self.store.windows().overlap() || !self.turn_to_next_pane(&mut meeting) {
                break;
            }
        }
        let (own, funds) = self.store.pane_mut(meeting.pane);
        own.keep(meeting.entry, meeting.value, funds);
        None
    }

    /// Emits the results of a record and the values of its key in one pane, as far as there is room.
    fn meet_in_pane<O: Output<C::Out>>(&self, meeting: &mut Meeting<L, R>, output: &mut O) -> Flow {
        let Some(entry) = meeting.their_entry else { return Flow::Done };
        let (own, theirs) = (self.store.pane(meeting.pane), self.store.pane(meeting.their_pane));
        let (first, last) = (own.first.max(theirs.first), own.last.min(theirs.last));
        let windows = self.store.windows();
        let stamp = |done: u64| windows.window(first.wrapping_add_unsigned(done)).last_instant();
        let common = Common { count: last.abs_diff(first) + 1, stamp };
        let met = (&self.functions.made_by, &self.accounts.blame);
        meet_all(met, &meeting.value, theirs, entry, &common, &mut meeting.place, output)
    }

    /// Moves the record on to the next pane that shares a window with its own pane; returns `false` if there
    /// is none.
    #[cold]
    fn turn_to_next_pane(&self, meeting: &mut Meeting<L, R>) -> bool {
        let own = self.store.pane(meeting.pane);
        let after = (meeting.their_pane != meeting.pane).then_some(meeting.their_pane);
        let Some(beside) = self.store.pane_beside((own.first, own.last), after) else { return false };
        let key = own.table.key(meeting.entry);
        meeting.their_pane = beside;
        meeting.their_entry = self.store.pane(beside).table.find(self.store.tag(key), key);
        meeting.place = BEGIN;
        true
    }

    /// Emits the records without a match of the windows that the watermark has closed.
    fn close<O: Output<C::Out>>(&mut self, output: &mut O) -> Flow {
        if !C::LeftFate::IS_NOTED && !C::RightFate::IS_NOTED {
            self.store.close_ended();
            return Flow::Done;
        }
        loop {
            if let Some(mut alone) = self.alone.take()
                && self.emit_alone(&mut alone, output) == Flow::More
            {
                self.alone = Some(alone);
                return Flow::More;
            }
            let Some(closing) = self.store.next_closing() else {
                return Flow::Done;
            };
            self.alone =
                self.side_alone(closing).map(|is_left| Alone { of: closing, is_left, cursor: START });
        }
    }

    /// Returns which side has values without a match in the closing window, for one key in one pane: `true`
    /// for the left side, `false` for the right one. Returns `None` if there is nothing to emit.
    fn side_alone(&self, closing: Closing) -> Option<bool> {
        let Closing { pane, entry, .. } = closing;
        let table = &self.store.pane(pane).table;
        let sides = table.value(entry);
        let is_left = match (sides.left.is_empty(), sides.right.is_empty()) {
            (false, true) if C::LeftFate::IS_NOTED => true,
            (true, false) if C::RightFate::IS_NOTED => false,
            _ => return None,
        };
        let panes = self.store.closing_panes();
        if panes.len() == 1 {
            return Some(is_left);
        }
        let key = table.key(entry);
        let tag = self.store.tag(key);
        let has_other_side = |place: u32| {
            let table = &self.store.pane(place).table;
            let sides = table.find(tag, key).map(|entry| table.value(entry));
            sides.is_some_and(|sides| if is_left { !sides.right.is_empty() } else { !sides.left.is_empty() })
        };
        let is_alone = !panes.iter().any(|&place| place != pane && has_other_side(place));
        is_alone.then_some(is_left)
    }

    fn emit_alone<O: Output<C::Out>>(&self, alone: &mut Alone, output: &mut O) -> Flow {
        let Alone { of: Closing { window, pane, entry, .. }, is_left, cursor } = alone;
        let pane = self.store.pane(*pane);
        let stamp = self.store.windows().window(*window).last_instant();
        let common = Common { count: 1, stamp: |_| stamp };
        let mut place = Place { cursor: *cursor, ..BEGIN };
        let flow = if *is_left {
            let result = |left: &L| self.accounts.blame.on(|| self.functions.made_by.left_alone(left));
            meet_chain(pane.lefts(*entry), &common, &mut place, result, output)
        } else {
            let result = |right: &R| self.accounts.blame.on(|| self.functions.made_by.right_alone(right));
            meet_chain(pane.rights(*entry), &common, &mut place, result, output)
        };
        *cursor = place.cursor;
        flow
    }
}

/// The windows that both values of a pair fall into: the pair becomes one result in each of them.
struct Common<Stamp> {
    count: u64,
    stamp: Stamp,
}

/// Emits the results of a value and the values of its key on the other side in one pane: one result for each
/// of these values and each window that both fall into.
#[inline(always)]
fn meet_all<K: Eq, L, R, C: Combine<L, R>, O: Output<C::Out>>(
    (combine, blame): (&C, &Blame),
    value: &Either<L, R>,
    theirs: &Pane<K, L, R>,
    entry: u32,
    common: &Common<impl Fn(u64) -> EventTime>,
    place: &mut Place,
    output: &mut O,
) -> Flow {
    match value {
        Either::Left(left) => {
            let pair = |right: &R| blame.on(|| combine.both(left, right));
            meet_chain(theirs.rights(entry), common, place, pair, output)
        }
        Either::Right(right) => {
            let pair = |left: &L| blame.on(|| combine.both(left, right));
            meet_chain(theirs.lefts(entry), common, place, pair, output)
        }
    }
}

/// Emits a result for each value of a chain (the values of one key on one side of a pane) and for each
/// window, as far as there is room.
#[inline(always)]
fn meet_chain<V, U, O: Output<U>>(
    (chain, links): (&Chain<V>, &[Link<V>]),
    common: &Common<impl Fn(u64) -> EventTime>,
    place: &mut Place,
    result: impl Fn(&V) -> U,
    output: &mut O,
) -> Flow {
    while let Some((value, next)) = chain.at(place.cursor, links) {
        while place.windows_done < common.count {
            if output.room() == 0 {
                return Flow::More;
            }
            output.push(Record::new((common.stamp)(place.windows_done), result(value)));
            place.windows_done += 1;
        }
        *place = Place { cursor: next, ..BEGIN };
    }
    Flow::Done
}

impl<K, L, R, KeyL, KeyR, C> Operator<Either<L, R>> for WindowJoin<K, L, R, KeyL, KeyR, C>
where
    K: Eq + Hash + State,
    L: State + Clone,
    R: State + Clone,
    KeyL: Fn(&L) -> K + Send + Sync,
    KeyR: Fn(&R) -> K + Send + Sync,
    C: Combine<L, R>,
{
    type Out = C::Out;

    const EXPANDS: bool = true;

    const SHARING: Sharing = Sharing::Keyed;

    fn fork(&self) -> Self {
        WindowJoin::sharing(self.accounts.name.clone(), *self.store.windows(), Arc::clone(&self.functions))
    }

    fn keys(&self) -> impl Keys<Either<L, R>> + use<K, L, R, KeyL, KeyR, C> {
        let functions = Arc::clone(&self.functions);
        By::new(&self.accounts.name, move |value: &Either<L, R>| functions.key_hash(value))
    }

    #[inline(always)]
    fn process<I: Input<Either<L, R>>, O: Output<C::Out>>(&mut self, input: &mut I, output: &mut O) {
        while input.remaining() > 0 && self.meeting.is_none() && output.room() > 0 {
            let count = input.remaining().min(BATCH_RECORDS);
            let WindowJoin { store, functions, accounts, .. } = self;
            let functions = &**functions;
            let mut keys =
                store.look_ahead(input, count, |value| accounts.blame.on(|| functions.key_of(value)));
            for (offset, key) in keys.drain(..).enumerate() {
                let Some(record) = input.take() else { break };
                self.accounts.read += 1;
                let arrival = self.store.arrival(offset, key);
                self.arrive(record.value, arrival, output);
                if self.meeting.is_some() || output.room() == 0 {
                    break;
                }
            }
            self.store.put_back(keys);
        }
    }

    fn process_one<O: Output<C::Out>>(&mut self, record: Record<Either<L, R>>, output: &mut O) {
        let key = self.accounts.blame.on(|| self.functions.key_of(&record.value));
        let arrival = self.store.look_at(record.event_time, key);
        self.arrive(record.value, arrival, output);
    }

    crate::accounts::accounted!(folding);

    fn on_mark<O: Output<C::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        self.store.see(mark);
        match mark {
            Mark::Watermark(_) => self.close(output),
            _ => Flow::Done,
        }
    }

    fn is_stalled(&self) -> bool {
        self.meeting.is_some()
    }

    fn resume<O: Output<C::Out>>(&mut self, output: &mut O) -> Flow {
        match self.meeting.take() {
            None => self.close(output),
            Some(meeting) => {
                self.meeting = self.meet(meeting, output);
                if self.meeting.is_some() { Flow::More } else { Flow::Done }
            }
        }
    }

    fn horizon(&self) -> Horizon {
        self.store.windows().horizon()
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        (!matches!(mark, Mark::InputWatermark(_))).then_some(mark)
    }

    crate::accounts::stored!();

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        assert!(self.meeting.is_none(), "state is saved when all that a record emits is through (O3)");
        state.frame(KIND, VERSION, |state| self.store.save(state))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| self.store.load(state))
    }
}

/// Kind and version of the state of the operator, which saved state tells.
const KIND: &str = "window join";
const VERSION: u32 = 1;

crate::named::named!(WindowJoin<K, L, R, KeyL, KeyR, C>);

#[cfg(test)]
mod tests;
