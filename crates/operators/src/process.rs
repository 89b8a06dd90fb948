//! Process: a user's function for each record and each timer, with state of its own per key.
//!
//! Input      `Record<V>` in any order; a function gives the key of each; includes late records
//! Output     `Record<U>`: the values that the function emits, in that order, stamped with the event time of the
//!            current record or timer unless it says otherwise
//! State      per key the value that the function keeps, until it clears it; the timers that are set. Also, while
//!            there is no room for them, the results of one call: nothing else is called before they are emitted
//! Emits      as records come, and when a watermark `w` fires the timers at or before it, in the order of their
//!            instants; timers of one instant in the order in which they were set. A timer set for `w` or earlier
//!            meanwhile fires in its turn
//! Late       decided by the function: `late_by` tells; every record counts as folded
//! Watermark  forwarded unchanged, after all timers that it fires. An input's watermark ends here: a timer's result
//!            belongs to no input, and would be judged late by the watermark of one that is ahead
//! Cost       one call and one hash look-up per record, one more to keep or clear a key; O(log n) of the n timers set
//!            per timer, one hash look-up to find it set. A key is cloned to be kept, and for each timer set
//! Source     Akidau et al., "The Dataflow Model", VLDB 2015, section 2.3 "Triggers & Incremental Processing", for
//!            actions at watermarks. The interface is that of Flink's `KeyedProcessFunction`
//!
//! ```
//! # use thalweg::{EventTime, KeyedProcess, ProcessContext, Record, Segment, Span, Stream};
//! /// Tells of sensors that were silent for a minute.
//! struct Silent;
//!
//! impl KeyedProcess<u32, f64> for Silent {
//!     /// When a minute since the last reading is over.
//!     type State = Option<EventTime>;
//!     type Out = u32;
//!
//!     fn on_record(&self, _: &u32, reading: Record<f64>, context: &mut ProcessContext<'_, u32, Self::State, u32>) {
//!         let over = reading.event_time.plus(Span::from_secs(60));
//!         if let Some(before) = context.state().replace(over) {
//!             context.delete_timer(before);
//!         }
//!         context.set_timer(over);
//!     }
//!
//!     fn on_timer(&self, sensor: &u32, _: EventTime, context: &mut ProcessContext<'_, u32, Self::State, u32>) {
//!         context.clear();
//!         context.emit(*sensor);
//!     }
//! }
//!
//! # fn f<C: Segment<f64>>(readings: Stream<f64, C>) -> Stream<u32, impl Segment<u32>> {
//! # let sensor_of = |_: &f64| 7;
//! readings.key_by(sensor_of).process(Silent)
//! # }
//! ```
//!
//! Differences from Flink. A watermark there promises "> t", ours ">= t": a timer at `t` fires here before all
//! records at `t` have come. So a timer that waits for those is set at `t` plus one microsecond; a timer that waits
//! for a window's end is set at the end itself, not one unit of time before it. There are no timers of processing
//! time, since operators read no clock. State of a key is one value, which exists from the first use, not several
//! that are declared.

mod context;
mod keyed;
mod timers;

use std::hash::Hash;
use std::sync::Arc;

use thalweg_model::{
    Allowance, Entropy, EventTime, Flow, Input, Keys, Mark, Operator, Output, Record, Sharing, State,
    StateError, StateReader, StateWriter,
};

pub use context::ProcessContext;
use keyed::Keyed;

use crate::accounts::Accounts;
use crate::address::By;
use crate::key_table::partition_hash;

/// Largest number of timers fired in one call. The call then returns, so that the worker may do other work or
/// end the query.
const FIRED_PER_CALL_MAX: usize = 1 << 10;

/// A function with state per key and timers of event time. One value of the implementing type serves all keys;
/// only the state differs between keys. To do without keys, use `()` as the only key.
///
/// ```
/// use thalweg_model::{EventTime, Record, Span};
/// use thalweg_operators::{KeyedProcess, ProcessContext};
///
/// /// Tells how many visits a user made, once there was none for half an hour.
/// struct Sittings;
///
/// impl KeyedProcess<u64, String> for Sittings {
///     /// How many, and when half an hour from the last of them will have passed.
///     type State = (u64, Option<EventTime>);
///     type Out = (u64, u64);
///
///     fn on_record(
///         &self,
///         _user: &u64,
///         visit: Record<String>,
///         context: &mut ProcessContext<'_, u64, Self::State, Self::Out>,
///     ) {
///         let (visits, over) = *context.state();
///         let put_off = visit.event_time.plus(Span::from_secs(30 * 60));
///         if over < Some(put_off) {
///             over.into_iter().for_each(|over| context.delete_timer(over));
///             context.set_timer(put_off);
///         }
///         *context.state() = (visits + 1, over.max(Some(put_off)));
///     }
///
///     fn on_timer(
///         &self,
///         user: &u64,
///         _over: EventTime,
///         context: &mut ProcessContext<'_, u64, Self::State, Self::Out>,
///     ) {
///         let (visits, _) = *context.state();
///         context.clear();
///         context.emit((*user, visits));
///     }
/// }
/// ```
pub trait KeyedProcess<K, V>: Send + Sync + 'static {
    /// The state that a process function keeps per key.
    type State: State + Default;
    /// The type of the results that the function emits.
    type Out: Send + 'static;

    /// Processes a record of the key `key`; the function may use state, set timers and emit results.
    fn on_record(
        &self,
        key: &K,
        record: Record<V>,
        context: &mut ProcessContext<'_, K, Self::State, Self::Out>,
    );

    /// Processes a timer that was set for the instant `at` on behalf of `key`. By default it does nothing.
    fn on_timer(&self, key: &K, at: EventTime, context: &mut ProcessContext<'_, K, Self::State, Self::Out>) {
        let _ = (key, at, context);
    }

    /// Tells whether the state of a key holds memory of its own, which
    /// [`held_bytes`](KeyedProcess::held_bytes) counts.
    const HOLDS: bool = false;

    /// Returns the bytes that the state of a key holds beyond its own size. It is called before and after
    /// every call of the function, so it must be cheap. It is called only if [`HOLDS`](KeyedProcess::HOLDS)
    /// is true.
    fn held_bytes(&self, state: &Self::State) -> usize {
        let _ = state;
        0
    }
}

/// Operator that runs a user's process function for records and timers.
pub struct Process<K, V, KeyOf, P: KeyedProcess<K, V>> {
    accounts: Accounts,
    key_of: Arc<KeyOf>,
    keyed: Keyed<K, V, P>,
    /// Tells whether timers that the last watermark has reached are still to be fired.
    is_firing: bool,
}

impl<K, V, KeyOf, P> Process<K, V, KeyOf, P>
where
    K: Clone + Eq + Hash + State,
    KeyOf: Fn(&V) -> K + Send + Sync,
    P: KeyedProcess<K, V>,
{
    /// Creates a process operator called `name`: `key_of` gives the key of a record, and `function` is called
    /// for records and timers.
    pub fn new(name: impl Into<String>, key_of: KeyOf, function: P) -> Self {
        Process::sharing(name.into(), Arc::new(key_of), Arc::new(function))
    }

    fn sharing(name: String, key_of: Arc<KeyOf>, function: Arc<P>) -> Self {
        Process { accounts: Accounts::new(name), key_of, keyed: Keyed::new(function), is_firing: false }
    }

    #[inline(always)]
    fn take_in(&mut self, record: Record<V>) {
        let Process { key_of, keyed, accounts, .. } = self;
        accounts.blame.on(|| {
            let key = key_of(&record.value);
            let event_time = record.event_time;
            keyed.call(&key, event_time, |function, context| function.on_record(&key, record, context));
        });
    }

    /// Fires timers that the watermark has reached, while there is room for their results.
    fn fire<O: Output<P::Out>>(&mut self, output: &mut O) -> Flow {
        let Process { keyed, accounts, .. } = self;
        for _ in 0..FIRED_PER_CALL_MAX {
            if keyed.emitted.hand_on(output) == Flow::More {
                return Flow::More;
            }
            if !accounts.blame.on(|| keyed.fire_one()) {
                self.is_firing = false;
                return Flow::Done;
            }
        }
        Flow::More
    }
}

impl<K, V, KeyOf, P> Operator<V> for Process<K, V, KeyOf, P>
where
    K: Clone + Eq + Hash + State,
    V: Send,
    KeyOf: Fn(&V) -> K + Send + Sync,
    P: KeyedProcess<K, V>,
{
    type Out = P::Out;

    const EXPANDS: bool = true;

    const SHARING: Sharing = Sharing::Keyed;

    fn fork(&self) -> Self {
        Process::sharing(self.accounts.name.clone(), Arc::clone(&self.key_of), self.keyed.function())
    }

    fn keys(&self) -> impl Keys<V> + use<K, V, KeyOf, P> {
        let key_of = Arc::clone(&self.key_of);
        By::new(&self.accounts.name, move |value: &V| partition_hash(&key_of(value)))
    }

    #[inline(always)]
    fn process<I: Input<V>, O: Output<P::Out>>(&mut self, input: &mut I, output: &mut O) {
        while self.keyed.emitted.is_empty() && output.room() > 0 {
            let Some(record) = input.take() else { return };
            self.accounts.read += 1;
            self.process_one(record, output);
        }
    }

    #[inline(always)]
    fn process_one<O: Output<P::Out>>(&mut self, record: Record<V>, output: &mut O) {
        self.take_in(record);
        // Results for which there is no room are kept. The operator is stalled ([`Operator::is_stalled`]: it
        // takes no more records) until they are emitted.
        let _ = self.keyed.emitted.hand_on(output);
    }

    crate::accounts::accounted!(folding);

    fn on_mark<O: Output<P::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        assert!(self.keyed.emitted.is_empty(), "a mark comes when all before it is through (O3)");
        self.keyed.lateness.see(mark);
        if !matches!(mark, Mark::Watermark(_)) {
            return Flow::Done;
        }
        self.is_firing = true;
        self.fire(output)
    }

    fn is_stalled(&self) -> bool {
        !self.keyed.emitted.is_empty()
    }

    fn resume<O: Output<P::Out>>(&mut self, output: &mut O) -> Flow {
        if self.is_firing { self.fire(output) } else { self.keyed.emitted.hand_on(output) }
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        (!matches!(mark, Mark::InputWatermark(_))).then_some(mark)
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.keyed.fund(allowance);
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.keyed.seed(entropy.next_u64());
    }

    fn state_bytes(&self) -> usize {
        self.keyed.bytes()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        assert!(
            !self.is_firing && self.keyed.emitted.is_empty(),
            "state is saved at a mark, when all before it is through (O4)"
        );
        state.frame(KIND, VERSION, |state| self.keyed.save(state))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| self.keyed.load(state))
    }
}

/// Kind and version of the state of the operator, which saved state tells.
const KIND: &str = "process";
const VERSION: u32 = 1;

crate::named::named!(Process<K, V, KeyOf, P: KeyedProcess<K, V>>);

#[cfg(test)]
mod tests;
