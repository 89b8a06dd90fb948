//! Co-group: records of two streams are brought together per key and window, and a function sees all of both sides at
//! once.
//!
//! Input      `Record<Either<L, R>>` in any order; one function per side gives the key of each
//! Output     `Record<U>`, stamped with the window's last instant: the results of the function for a key's records in
//!            a window, for each key that has a record of either side
//! State      each record once, until the last window that it counts for closes; and, while there is no room for
//!            them, the results of one call of the function
//! Emits      when the watermark reaches `window.end`: windows in the order of their ends, keys of a window in the
//!            order in which they came, or approximately so if windows overlap
//! Late       none of its windows ends after the watermark of its own input: counted in `late`, and seen by no
//!            function. Between windows that leave gaps: counted as filtered
//! Watermark  forwarded unchanged, after all windows that it closes; watermarks of single inputs end here
//! Cost       one hash look-up per record. At a watermark, one call per key of each window that closes, for which its
//!            values are copied next to each other; if windows overlap, up to one look-up for each entry of the
//!            window in each of its panes
//! Source     the interface is that of Flink's `DataStream.coGroup` with windows
//!
//! ```
//! # use thalweg::{Segment, Span, Stream, TumblingWindows, WindowError};
//! # fn f<A: Segment<u32>, B: Segment<u32>>(ins: Stream<u32, A>, outs: Stream<u32, B>) -> Result<Stream<(u32, i64), impl Segment<(u32, i64)>>, WindowError> {
//! let hours = TumblingWindows::new(Span::from_secs(3_600))?;
//! let doors = ins.key_by(|door| *door).join(outs.key_by(|door| *door)).tumbling(hours);
//! Ok(doors.co_group(|_hour, door, ins, outs| Some((*door, ins.len() as i64 - outs.len() as i64))))
//! # }
//! ```

use std::hash::Hash;
use std::sync::Arc;

use thalweg_model::{
    Either, EventTime, Flow, Horizon, Input, Keys, Mark, Operator, Output, Record, Sharing, State,
    StateError, StateReader, StateWriter, Window,
};

use super::batch::{BATCH_RECORDS, Functions};
use super::even_windows::EvenWindows;
use super::pane::{Arrival, Destination};
use super::pane_store::{Closing, PaneStore};
use crate::accounts::Accounts;
use crate::address::By;

/// Co-group operator: calls a function for each key and window with all records of both sides.
#[derive(Debug)]
pub struct CoGroup<K, L, R, KeyL, KeyR, F, I: IntoIterator> {
    accounts: Accounts,
    functions: Arc<Functions<KeyL, KeyR, F>>,
    store: PaneStore<K, L, R>,
    /// The results of the last call of the user's function that are not emitted yet, and their event time.
    made: Option<(EventTime, I::IntoIter)>,
    /// The left values of the current key; the vector is kept so that its memory is reused.
    lefts: Vec<L>,
    /// The right values of the current key; the vector is kept so that its memory is reused.
    rights: Vec<R>,
}

impl<K, L, R, KeyL, KeyR, F, I> CoGroup<K, L, R, KeyL, KeyR, F, I>
where
    K: Eq + Hash + State,
    L: State + Clone,
    R: State + Clone,
    KeyL: Fn(&L) -> K + Send + Sync,
    KeyR: Fn(&R) -> K + Send + Sync,
    F: Fn(Window, &K, &[L], &[R]) -> I + Send + Sync,
    I: IntoIterator<IntoIter: Send>,
{
    /// Creates a co-group called `name` over `windows`. `left_key` and `right_key` give the keys of records.
    /// `function` makes results of a window, a key and the values of both sides; each side is in the order of
    /// arrival, if windows do not overlap.
    pub fn new(
        name: impl Into<String>,
        windows: impl Into<EvenWindows>,
        left_key: KeyL,
        right_key: KeyR,
        function: F,
    ) -> Self {
        let functions = Functions { left_key, right_key, made_by: function };
        CoGroup::sharing(name.into(), windows.into(), Arc::new(functions))
    }

    fn sharing(name: String, windows: EvenWindows, functions: Arc<Functions<KeyL, KeyR, F>>) -> Self {
        CoGroup {
            accounts: Accounts::new(name),
            functions,
            store: PaneStore::new(windows),
            made: None,
            lefts: Vec::new(),
            rights: Vec::new(),
        }
    }

    #[inline(always)]
    fn arrive(&mut self, value: Either<L, R>, arrival: Arrival<K>) {
        match arrival.destination {
            Destination::Pane(pane) => {
                let (pane, funds) = self.store.pane_mut(pane);
                if let Some(entry) = pane.entry_of(arrival, funds) {
                    pane.keep(entry, value, funds);
                }
            }
            Destination::Late => self.accounts.late += 1,
            Destination::Between => self.accounts.filtered += 1,
            Destination::Refused => {}
        }
    }

    /// Emits the results of all co-groups whose windows the watermark has closed.
    fn close<O: Output<I::Item>>(&mut self, output: &mut O) -> Flow {
        loop {
            if let Some((stamp, made)) = &mut self.made {
                loop {
                    if output.room() == 0 {
                        return Flow::More;
                    }
                    let Some(value) = self.accounts.blame.on(|| made.next()) else { break };
                    output.push(Record::new(*stamp, value));
                }
                self.made = None;
            }
            let Some(closing) = self.store.next_closing() else {
                return Flow::Done;
            };
            if self.gather(closing) {
                let window = self.store.windows().window(closing.window);
                let CoGroup { store, functions, lefts, rights, accounts, .. } = self;
                let key = store.pane(closing.pane).table.key(closing.entry);
                let made = accounts.blame.on(|| (functions.made_by)(window, key, lefts, rights).into_iter());
                self.made = Some((window.last_instant(), made));
            }
        }
    }

    /// Collects the values of an entry's key from all panes of the closing window. Returns `false` if an
    /// earlier pane has an entry of the key, since the key's values were collected there.
    fn gather(&mut self, Closing { index, pane, entry, .. }: Closing) -> bool {
        self.lefts.clear();
        self.rights.clear();
        if self.store.closing_panes().len() == 1 {
            self.store.gather(pane, entry, &mut self.lefts, &mut self.rights);
            return true;
        }
        let key = self.store.pane(pane).table.key(entry);
        let tag = self.store.tag(key);
        let entry_in = |place: u32| self.store.pane(place).table.find(tag, key);
        if self.store.closing_panes()[..index].iter().any(|&earlier| entry_in(earlier).is_some()) {
            return false;
        }
        let panes = self.store.closing_panes()[index..].iter();
        let entries: Vec<(u32, u32)> = panes.filter_map(|&place| Some((place, entry_in(place)?))).collect();
        for (pane, entry) in entries {
            self.store.gather(pane, entry, &mut self.lefts, &mut self.rights);
        }
        true
    }
}

impl<K, L, R, KeyL, KeyR, F, I> Operator<Either<L, R>> for CoGroup<K, L, R, KeyL, KeyR, F, I>
where
    K: Eq + Hash + State,
    L: State + Clone,
    R: State + Clone,
    KeyL: Fn(&L) -> K + Send + Sync,
    KeyR: Fn(&R) -> K + Send + Sync,
    F: Fn(Window, &K, &[L], &[R]) -> I + Send + Sync,
    I: IntoIterator<IntoIter: Send>,
{
    type Out = I::Item;

    const SHARING: Sharing = Sharing::Keyed;

    fn fork(&self) -> Self {
        CoGroup::sharing(self.accounts.name.clone(), *self.store.windows(), Arc::clone(&self.functions))
    }

    fn keys(&self) -> impl Keys<Either<L, R>> + use<K, L, R, KeyL, KeyR, F, I> {
        let functions = Arc::clone(&self.functions);
        By::new(&self.accounts.name, move |value: &Either<L, R>| functions.key_hash(value))
    }

    #[inline(always)]
    fn process<A: Input<Either<L, R>>, O: Output<I::Item>>(&mut self, input: &mut A, _output: &mut O) {
        while input.remaining() > 0 {
            let count = input.remaining().min(BATCH_RECORDS);
            let CoGroup { store, functions, accounts, .. } = self;
            let functions = &**functions;
            let mut keys =
                store.look_ahead(input, count, |value| accounts.blame.on(|| functions.key_of(value)));
            let mut keys_in_order = keys.drain(..).enumerate();
            input.take_each(count, |record| {
                if let Some((offset, key)) = keys_in_order.next() {
                    let arrival = self.store.arrival(offset, key);
                    self.arrive(record.value, arrival);
                }
            });
            drop(keys_in_order);
            self.accounts.read += count as u64;
            self.store.put_back(keys);
        }
    }

    fn process_one<O: Output<I::Item>>(&mut self, record: Record<Either<L, R>>, _output: &mut O) {
        let key = self.accounts.blame.on(|| self.functions.key_of(&record.value));
        let arrival = self.store.look_at(record.event_time, key);
        self.arrive(record.value, arrival);
    }

    crate::accounts::accounted!(folding);

    fn on_mark<O: Output<I::Item>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        self.store.see(mark);
        match mark {
            Mark::Watermark(_) => self.close(output),
            _ => Flow::Done,
        }
    }

    fn resume<O: Output<I::Item>>(&mut self, output: &mut O) -> Flow {
        self.close(output)
    }

    fn horizon(&self) -> Horizon {
        self.store.windows().horizon()
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        (!matches!(mark, Mark::InputWatermark(_))).then_some(mark)
    }

    crate::accounts::stored!();

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| self.store.save(state))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| self.store.load(state))
    }
}

/// Kind and version of the state of the operator, which saved state tells.
const KIND: &str = "co-group";
const VERSION: u32 = 1;

crate::named::named!(CoGroup<K, L, R, KeyL, KeyR, F, I: IntoIterator>);

#[cfg(test)]
mod tests;
