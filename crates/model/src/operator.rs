//! The contract of operators: records and marks in, records and marks out.
//!
//! ```text
//!   Input<In>  --process-->  Operator  --push-->  Output<Out>
//!   Mark       --on_mark-->                        (another operator of the same chain, an edge, or a sink)
//! ```
//!
//! Everything here is generic and meant to be inlined: a chain of operators that knows its neighbours' types
//! compiles to one loop. Boxes stand at the borders of tasks only, in runtime.
//!
//! Rules that every operator and every caller keeps:
//!
//! * O1. An operator pushes only while `output.room()` is above zero.
//! * O2. An operator with `EXPANDS == false` pushes at most one record per record taken; its caller gives it at
//!   most `room` records, so it always takes them all.
//! * O3. An operator with `EXPANDS == true` keeps the rest of an emission that found no room, reports that by
//!   [`Operator::is_stalled`], takes nothing more meanwhile, and continues in `resume`.
//! * O4. `on_mark` and `resume` return [`Flow::More`] when room ran out before they were done; the caller makes
//!   room and calls `resume` until it returns [`Flow::Done`]. Only then does the mark travel on, as
//!   [`Operator::forward`] gives it.
//! * O5. A record is late by the greater of the last `InputWatermark` and the last `Watermark` before it.
//!   Watermarks given to `on_mark` never go back. `Mark::End` comes last. A watermark of `EventTime::MAX` comes
//!   before it, unless the query was stopped at its watermark; then results that wait for a later watermark are
//!   never emitted.
//! * O6. At a `Mark::Barrier` an operator emits nothing, drops nothing and forwards the barrier. State is saved when the
//!   barrier has passed and no emission is pending. It is loaded into a new operator of the same plan, after `fund` and
//!   `seed` and before the first record. Hash seeds and clocks may differ; output, lateness and counts from there on are
//!   those of an operator that was not interrupted.

use std::cell::Cell;

use crate::allowance::Allowance;
use crate::entropy::Entropy;
use crate::horizon::Horizon;
use crate::keys::{Keys, NoKeys};
use crate::mark::Mark;
use crate::record::Record;
use crate::staged::Stages;
use crate::state::{StateError, StateReader, StateWriter};
use crate::weighed::Weighed;

/// The records that an operator may take in one call, by value and in order.
///
/// Implemented over a slice of a block (records move out of it, or are copied from a shared one) and over a range of
/// a generator. A generator's records are made when they are inspected, or are copied from where they were made.
pub trait Input<T> {
    /// Returns true if event times are known never to fall from one record to the next. Then the place of a
    /// watermark directly after a source is found by binary search instead of a scan.
    #[inline]
    fn is_ascending(&self) -> bool {
        false
    }

    /// Returns the number of records of this input that are not taken yet.
    fn remaining(&self) -> usize;

    /// Calls `look` with the record `offset` places after the next record, 0 being the next record itself.
    /// The record stays in the input.
    ///
    /// # Panics
    /// May panic if `offset` is not below `remaining()`, and always does in debug builds.
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<T>) -> Q) -> Q;

    /// Returns an iterator that takes the next `count` records, in order, each when it is asked for. It is to be run
    /// until it returns `None`: if it is dropped before, the rest may count as taken or not, and so may records that
    /// it has returned.
    ///
    /// # Panics
    /// If `count` is above `remaining()`; here, or when a missing record is asked for.
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<T>>;

    /// Returns an iterator that takes the next `count` records and returns those at the offsets in `selection`, which
    /// must rise. The other records are dropped. Like that of [`taken`](Self::taken), it is to be run until it returns
    /// `None`.
    ///
    /// # Panics
    /// If `count` is above `remaining()`, or an offset is not below `count`; here, or when the record is asked for.
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<T>>;

    /// Takes the next `count` records, in order, and calls `each` with every one. `each` may become a call for each
    /// record; an operator whose work per record is long loops over [`taken`](Self::taken), which is compiled into its
    /// function.
    ///
    /// # Panics
    /// If `count` is above `remaining()`.
    #[inline(always)]
    fn take_each(&mut self, count: usize, mut each: impl FnMut(Record<T>)) {
        for record in self.taken(count) {
            each(record);
        }
    }

    /// Takes the next `count` records and calls `each` with the records at the offsets in `selection`, which
    /// must rise. The other records are dropped.
    ///
    /// # Panics
    /// If `count` is above `remaining()`, or an offset is not below `count`.
    #[inline(always)]
    fn take_selected(&mut self, count: usize, selection: &[u16], mut each: impl FnMut(Record<T>)) {
        for record in self.taken_selected(count, selection) {
            each(record);
        }
    }

    /// Takes the next record of this input; `None` if no record is left.
    #[inline(always)]
    fn take(&mut self) -> Option<Record<T>> {
        let count = self.remaining().min(1);
        self.taken(count).last()
    }
}

/// Destination of an operator's records: an edge, the next operator of its chain, or a sink.
pub trait Output<T> {
    /// Returns the number of records that may be pushed now. Ask again after each [`push`](Output::push):
    /// directly after a source, a push may close the output, so that a watermark can be set at its exact
    /// place.
    fn room(&self) -> usize;

    /// Hands one record on to the edge, operator or sink behind this output.
    ///
    /// # Panics
    /// May panic if `room()` is zero (rule O1: operators push only while there is room).
    fn push(&mut self, record: Record<T>);

    /// Hands a record on if `keep` is true. Edges write it in any case and count it only if it is kept, which needs
    /// no branch. Needs room even if `keep` is false.
    #[inline]
    fn push_if(&mut self, record: Record<T>, keep: bool) {
        if keep {
            self.push(record);
        }
    }

    /// Hands on the records of `input` until the input is empty or the output has no more room.
    #[inline]
    fn push_all<I: Input<T>>(&mut self, input: &mut I) {
        let count = input.remaining().min(self.room());
        input.take_each(count, |record| self.push(record));
    }
}

/// Tells whether an operator has emitted everything that it had to emit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Flow {
    /// The operator has emitted everything.
    Done,
    /// The output had no more room, and results are left: call [`Operator::resume`] when it has room.
    More,
}

/// Exact counts of the records of one operator since it started. `read = forwarded + folded + filtered +
/// late` holds whenever no call into the operator is running. Results of windows are not counted here; the
/// edges count them as outputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Number of records that the operator has taken.
    pub read: u64,
    /// Number of records that the operator has handed on, changed or not.
    pub forwarded: u64,
    /// Number of records that the operator has added to its state.
    pub folded: u64,
    /// Number of records dropped by the query's own rule: a predicate that is not true, a join without a
    /// match, a gap between windows.
    pub filtered: u64,
    /// Number of records that came too late by the watermark of their input: for all their windows or, in
    /// operators without windows, for their own event time. They were dropped, or handed to a side output.
    pub late: u64,
}

impl Counts {
    /// Returns the sum of these counts and `other`, field by field.
    #[must_use]
    pub fn plus(self, other: Counts) -> Counts {
        self.with(other, u64::wrapping_add)
    }

    /// Returns these counts minus the counts `other`, which the operator had at an earlier time.
    #[must_use]
    pub fn minus(self, other: Counts) -> Counts {
        self.with(other, u64::wrapping_sub)
    }

    fn with(self, other: Counts, act: impl Fn(u64, u64) -> u64) -> Counts {
        Counts {
            read: act(self.read, other.read),
            forwarded: act(self.forwarded, other.forwarded),
            folded: act(self.folded, other.folded),
            filtered: act(self.filtered, other.filtered),
            late: act(self.late, other.late),
        }
    }

    /// Returns true if every record that was read is counted as forwarded, folded, filtered or late.
    pub fn is_conserved(&self) -> bool {
        self.read == self.forwarded + self.folded + self.filtered + self.late
    }
}

/// The way in which several workers may run one operator at once, each with its own instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// Only one worker at a time may run the operator, because it needs all records, or their order, in one
    /// place.
    Serial,
    /// Any number of workers may run instances of the operator: each record is processed by itself, and every
    /// instance gives the same result for it.
    Stateless,
    /// The output for a record depends on earlier records of the same key, and on marks. Several instances may run in
    /// parallel, each with keys of its own, if every one sees all marks.
    Keyed,
    /// Several workers may run instances of the operator: it emits only when it gets a [`Mark`](crate::Mark), such
    /// as a watermark, and the states of its instances can be merged before that. Each worker has a partial
    /// state for each epoch.
    Merging,
}

impl Sharing {
    /// Returns the way in which several workers may run a chain of two operators at once.
    pub const fn then(self, next: Sharing) -> Sharing {
        match (self, next) {
            (Sharing::Serial, _) | (_, Sharing::Serial) => Sharing::Serial,
            // The key of the second operator is known only after the first operator has run, so records
            // cannot be sent by key to instances of this chain.
            (Sharing::Stateless, Sharing::Keyed) => Sharing::Serial,
            (Sharing::Stateless, next) => next,
            (Sharing::Keyed, Sharing::Stateless) => Sharing::Keyed,
            (Sharing::Keyed, Sharing::Keyed | Sharing::Merging) | (Sharing::Merging, Sharing::Keyed) => {
                Sharing::Serial
            }
            (Sharing::Merging, Sharing::Stateless | Sharing::Merging) => Sharing::Merging,
        }
    }
}

/// An operator of a query: takes records and marks, and emits records.
pub trait Operator<In>: Send {
    /// Type of the values that the operator emits.
    type Out;

    /// True if the operator may emit more than one record per record taken (rule O3).
    const EXPANDS: bool = false;

    /// True if this operator is a chain: several operators that run as one.
    const IS_FUSED: bool = false;

    /// The way in which several workers may run this operator at once.
    const SHARING: Sharing = Sharing::Serial;

    /// Returns an instance of this operator for another worker. The instance shares functions and tables, and
    /// starts with empty counts and state. Instances of a [`Sharing::Merging`] operator hash keys with the
    /// same seed. So their hash tables have their keys in the same order, and two tables are merged in one
    /// pass over the memory of both.
    ///
    /// # Panics
    /// If the operator is [`Sharing::Serial`].
    fn fork(&self) -> Self
    where
        Self: Sized,
    {
        unreachable!("a serial operator is not shared")
    }

    /// Returns the key extractor of this operator, if the operator is [`Sharing::Keyed`].
    fn keys(&self) -> impl Keys<In> + use<Self, In>
    where
        Self: Sized,
    {
        NoKeys
    }

    /// Merges the state of another instance into this one, as if that instance's records had come to this
    /// one. `copy` is empty afterwards, and may be used again; its counts stay its own. A mark that this
    /// instance has processed does not make a record late that was on time in the other.
    fn absorb(&mut self, copy: &mut Self)
    where
        Self: Sized,
    {
        let _ = copy;
    }

    /// Returns the watermarks that have an effect on this operator. At such a watermark a window fires, or a
    /// record becomes late that was on time before.
    fn horizon(&self) -> Horizon {
        Horizon::EVERYWHERE
    }

    /// Takes records from `input`, processes them, and pushes the results to `output`.
    fn process<I: Input<In>, O: Output<Self::Out>>(&mut self, input: &mut I, output: &mut O);

    /// Processes records as [`process`](Operator::process) does, and adds the time to `stages`; a chain then
    /// runs its operators one after the other. `place` is the index of this operator in the whole chain or,
    /// if this is a chain itself, of its first operator.
    fn process_staged<I: Input<In>, O: Output<Self::Out>>(
        &mut self,
        input: &mut I,
        output: &mut O,
        stages: &mut Stages<'_>,
        place: usize,
    ) {
        stages.measure(place, input, |input| self.process(input, output));
    }

    /// Takes one record from the operator in front of this one in the same chain; `output` must have room.
    /// The record is not counted as read: the operator in front reports a whole batch at once by
    /// [`note_read`](Operator::note_read), outside its loop.
    fn process_one<O: Output<Self::Out>>(&mut self, record: Record<In>, output: &mut O);

    /// Adds `count` to the number of records read: these records were handed to
    /// [`process_one`](Operator::process_one).
    fn note_read(&mut self, count: u64);

    /// Processes a mark (such as a watermark), after every record before the mark. Returns [`Flow::More`] if
    /// the output had too little room.
    fn on_mark<O: Output<Self::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        let _ = (mark, output);
        Flow::Done
    }

    /// Returns true if the operator has results for which the output had no room, so that it must continue
    /// before it takes more (rule O3).
    fn is_stalled(&self) -> bool {
        false
    }

    /// Continues an emission for which the output had too little room.
    fn resume<O: Output<Self::Out>>(&mut self, output: &mut O) -> Flow {
        let _ = output;
        Flow::Done
    }

    /// Returns the mark that the operators downstream of this one see in place of `mark`, once everything
    /// that `mark` made this operator emit has passed on. `None` if the mark ends here. Equal marks get equal
    /// answers, and forwarded watermarks do not go back. A watermark of `EventTime::MAX` is forwarded
    /// unchanged, because it says that the stream is complete.
    fn forward(&self, mark: Mark) -> Option<Mark> {
        Some(mark)
    }

    /// Gives the operator the allowance that grants memory for its state. Called before the first record.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// Lets the operator draw randomness, such as seeds of its hash tables. Called before the first record.
    fn seed(&mut self, entropy: &mut dyn Entropy) {
        let _ = entropy;
    }

    /// Calls `each` with the name and the counts (records read, handed on, dropped) of this operator or, for
    /// a chain, of each of its operators in order.
    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts));

    /// Returns the numbers of rows taken and put out so far, if a record stands for several rows; otherwise
    /// `None`. Each record taken then counts as at least one row.
    #[inline(always)]
    fn weighed(&self) -> Option<Weighed> {
        None
    }

    /// Returns the bytes of state that the operator holds beyond itself, counted against the engine's budget.
    fn state_bytes(&self) -> usize {
        0
    }

    /// Calls `each` with the bytes of state of this operator or, for a chain, of each of its operators: once for each call
    /// that [`visit_counts`](Self::visit_counts) makes, in the same order.
    fn visit_state_bytes(&self, each: &mut dyn FnMut(usize)) {
        let mut bytes = self.state_bytes();
        self.visit_counts(&mut |_, _| each(std::mem::take(&mut bytes)));
    }

    /// Returns the name of the operator whose code caused a panic inside `process`, `on_mark` or `resume`;
    /// `None` if it was other code.
    fn faulted(&self) -> Option<&str>;

    /// Writes all state of the operator.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Replaces all state of the operator by the state that [`save`](Operator::save) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state; the operator must then not be used.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;
}

/// Remembers whether user code has panicked, at no cost while it does not.
///
/// An operator holds a `Blame` and runs user code inside [`Blame::on`]. If that code unwinds, [`Blame::is_set`]
/// returns true from then on.
#[derive(Debug, Default)]
pub struct Blame(Cell<bool>);

impl Blame {
    /// Runs user code, and notes a panic of this code before the panic continues.
    #[inline(always)]
    pub fn on<Q>(&self, code: impl FnOnce() -> Q) -> Q {
        /// Sets the flag of `Blame` when it is dropped, which happens only while a panic unwinds.
        struct Unwound<'a>(&'a Cell<bool>);
        impl Drop for Unwound<'_> {
            fn drop(&mut self) {
                self.0.set(true);
            }
        }
        let guard = Unwound(&self.0);
        let result = code();
        std::mem::forget(guard);
        result
    }

    /// Returns true if code that was run by [`on`](Blame::on) has panicked.
    pub fn is_set(&self) -> bool {
        self.0.get()
    }
}
