//! Distinct: the first record of each key in each tumbling window.
//!
//! Input      `Record<V>` in any order; a function gives the key of each
//! Output     `Record<Windowed<K, ()>>`, one per key and non-empty window, stamped with the window's last instant.
//!            `Either<Windowed<K, ()>, V>` if late records are diverted: those on the right
//! State      the keys of each open window
//! Emits      as records come: event time does not decide which record is first, so nothing waits. Results of one
//!            window may come before and after those of others
//! Late       its window ends at or before the watermark of its input: counted in `late`, and dropped or diverted at
//!            once. With several copies, a late record that repeats an earlier one may count as filtered, if its
//!            split (one of the parallel streams of a source) was idle
//! Watermark  forwarded unchanged; windows whose end it has reached are dropped. An input's watermark ends here:
//!            which input's record was first depends on how they interleave
//! Cost       one comparison and one hash look-up per record, two look-ups for the first of a key; at a watermark,
//!            the slots of the tables of windows that have ended
//! Source     Akidau et al., "The Dataflow Model", VLDB 2015, section 1.2 "Windowing", for the windows; emitting at
//!            once is ours
//!
//! ```
//! # use thalweg::{Segment, Span, Stream, TumblingWindows, WindowError};
//! # fn f<C: Segment<u32>>(visitors: Stream<u32, C>) -> Result<Stream<u32, impl Segment<u32>>, WindowError> {
//! let days = TumblingWindows::new(Span::from_secs(24 * 3_600))?;
//! Ok(visitors.key_by(|visitor| *visitor).distinct(days).map(|first| first.key))
//! # }
//! ```
//!
//! Records that are not the first count as filtered. Only keys are kept, so the results do not hold the first record;
//! a process function can emit it.

mod local_distinct;
mod seen;

use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

use thalweg_model::{
    Allowance, Entropy, Flow, Horizon, Input, Keys, Mark, Operator, Output, Record, Sharing, State,
    StateError, StateReader, StateWriter, TumblingWindows, Windowed,
};

use crate::accounts::Accounts;
use crate::late::{DivertLate, DropLate, LateRule, Lateness};
use local_distinct::LocalDistinct;
use seen::Seen;

/// Distinct: emits the first record of each key in each tumbling window.
#[derive(Debug)]
pub struct Distinct<K, KeyOf, L = DropLate> {
    accounts: Accounts,
    windows: TumblingWindows,
    key_of: Arc<KeyOf>,
    seen: Seen<K>,
    lateness: Lateness,
    late_rule: PhantomData<fn() -> L>,
}

impl<K: Clone + Eq + Hash, KeyOf> Distinct<K, KeyOf> {
    /// Creates a distinct operator called `name` over tumbling windows; `key_of` gives the key of a record.
    /// Late records are dropped.
    pub fn new(name: impl Into<String>, windows: TumblingWindows, key_of: KeyOf) -> Self {
        Distinct::with_rule(name.into(), windows, Arc::new(key_of))
    }

    /// Returns a distinct operator which emits late records beside its results instead of dropping them.
    pub fn divert_late(self) -> Distinct<K, KeyOf, DivertLate> {
        Distinct::with_rule(self.accounts.name, self.windows, self.key_of)
    }
}

impl<K: Clone + Eq + Hash, KeyOf, L> Distinct<K, KeyOf, L> {
    fn with_rule(name: String, windows: TumblingWindows, key_of: Arc<KeyOf>) -> Self {
        Distinct {
            accounts: Accounts::new(name),
            windows,
            key_of,
            seen: Seen::new(),
            lateness: Lateness::new(),
            late_rule: PhantomData,
        }
    }

    /// Processes one record: returns the output record that it causes, or `None` if its key has come before
    /// in its window or the record is dropped.
    #[inline(always)]
    fn take_in<V>(&mut self, record: Record<V>) -> Option<Record<L::Out>>
    where
        KeyOf: Fn(&V) -> K,
        L: LateRule<Windowed<K, ()>, V>,
    {
        if !self.seen.is_current(record.event_time) {
            let window = self.windows.window_of(record.event_time);
            if window.end <= self.lateness.late_by() {
                self.accounts.late += 1;
                return L::late(record.value).map(|value| Record::new(record.event_time, value));
            }
            if !self.seen.turn_to(window) {
                // There is no memory for the window's table of keys. The record counts as repeated, like one
                // whose key the window has already, since the query is about to fail.
                self.accounts.filtered += 1;
                return None;
            }
        }
        let Distinct { key_of, seen, accounts, .. } = self;
        let Some(key) = accounts.blame.on(|| seen.note(key_of(&record.value))) else {
            self.accounts.filtered += 1;
            return None;
        };
        let window = self.seen.window();
        let result = L::result(Windowed::on_time(window, key, ()));
        Some(Record::new(window.last_instant(), result))
    }
}

impl<K, V, KeyOf, L> Operator<V> for Distinct<K, KeyOf, L>
where
    K: Clone + Eq + Hash + State,
    KeyOf: Fn(&V) -> K + Send + Sync,
    L: LateRule<Windowed<K, ()>, V>,
{
    type Out = L::Out;

    const SHARING: Sharing = Sharing::Keyed;

    fn fork(&self) -> Self {
        Distinct::with_rule(self.accounts.name.clone(), self.windows, Arc::clone(&self.key_of))
    }

    fn keys(&self) -> impl Keys<V> + use<K, V, KeyOf, L> {
        // If late records are diverted, the local distinct filter, which drops repeated records in front of
        // the exchange, lets all records pass: a repeated record may be late, and must then reach the late
        // output.
        LocalDistinct::new(&self.accounts.name, self.windows, Arc::clone(&self.key_of), !L::DIVERTS)
    }

    #[inline(always)]
    fn process<I: Input<V>, O: Output<L::Out>>(&mut self, input: &mut I, output: &mut O) {
        let count = input.remaining();
        input.take_each(count, |record| self.process_one(record, output));
        self.accounts.read += count as u64;
    }

    #[inline(always)]
    fn process_one<O: Output<L::Out>>(&mut self, record: Record<V>, output: &mut O) {
        if let Some(record) = self.take_in(record) {
            output.push(record);
        }
    }

    crate::accounts::accounted!(forwarding);

    fn on_mark<O: Output<L::Out>>(&mut self, mark: Mark, _output: &mut O) -> Flow {
        self.lateness.see(mark);
        match mark {
            Mark::Watermark(watermark) => self.seen.forget_until(watermark),
            // The watermark may have ended the current window, so the next record looks its window up again.
            Mark::InputWatermark(_) => self.seen.park(),
            _ => (),
        }
        Flow::Done
    }

    fn horizon(&self) -> Horizon {
        Horizon::of_expiry(self.windows.into())
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        (!matches!(mark, Mark::InputWatermark(_))).then_some(mark)
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.seen.fund(allowance);
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.seen.seed(entropy.next_u64());
    }

    fn state_bytes(&self) -> usize {
        self.seen.bytes()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| {
            self.lateness.save(state)?;
            self.seen.save(state)
        })
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| {
            self.lateness.load(state)?;
            self.seen.load(state)
        })
    }
}

/// Kind and version of the state of the operator, which saved state tells.
const KIND: &str = "distinct";
const VERSION: u32 = 1;

crate::named::named!(Distinct<K, KeyOf, L>);

#[cfg(test)]
mod tests;
