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
//! * O3. An operator with `EXPANDS == true` keeps the rest of an emission that found no room, says so by
//!   [`Operator::is_stalled`], takes nothing more meanwhile, and goes on in `resume`.
//! * O4. `on_mark` and `resume` answer [`Flow::More`] when room ran out before they were done; the caller
//!   makes room and calls `resume` until it answers [`Flow::Done`]. Only then does the mark travel on, as
//!   [`Operator::forward`] gives it.
//! * O5. A record is late by the greater of the last `InputWatermark` and the last `Watermark` before it. Watermarks
//!   given to `on_mark` never go back. `Mark::End` comes last. Before it comes a watermark of `EventTime::MAX`, unless the query was stopped at its
//!   watermark; then whatever waits for a later watermark is never emitted.

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

/// Records handed to an operator, taken by value in order.
///
/// Implemented over a slice of a block (records move out of it, or are copied from a shared one) and over a range of a
/// generator, whose records are made as they are looked at, or are copied from where they were made.
pub trait Input<T> {
    /// Whether it is known that event times never fall from one record to the next; lets a source look for the place of a
    /// watermark by halving instead of scanning.
    #[inline]
    fn is_ascending(&self) -> bool {
        false
    }

    /// Records not yet taken.
    fn remaining(&self) -> usize;

    /// Looks at the record `offset` places ahead.
    ///
    /// # Panics
    /// May panic if `offset` is not below `remaining()`, and always does in debug builds.
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<T>) -> Q) -> Q;

    /// Takes the next `count` records, in order.
    ///
    /// # Panics
    /// If `count` is above `remaining()`.
    fn take_each(&mut self, count: usize, each: impl FnMut(Record<T>));

    /// Takes the next `count` records and hands over those at the offsets in `selection`, which must rise; the
    /// others are dropped.
    ///
    /// # Panics
    /// If `count` is above `remaining()`, or an offset is not below `count`.
    fn take_selected(&mut self, count: usize, selection: &[u16], each: impl FnMut(Record<T>));

    /// Takes the next record.
    fn take(&mut self) -> Option<Record<T>> {
        let mut taken = None;
        if self.remaining() > 0 {
            self.take_each(1, |record| taken = Some(record));
        }
        taken
    }
}

/// Where an operator writes: an edge, the next operator of its chain, or a sink.
pub trait Output<T> {
    /// How many records may be pushed now. Ask again after each [`push`](Output::push): behind a source, a push
    /// may close the output, so that a watermark can be set at its exact place.
    fn room(&self) -> usize;

    /// Hands one record on.
    ///
    /// # Panics
    /// May panic if `room()` is zero (rule O1).
    fn push(&mut self, record: Record<T>);

    /// Hands a record on if `keep` holds. Edges write it in any case and count it only if it is kept, which
    /// costs no branch; needs room even if `keep` is false.
    #[inline]
    fn push_if(&mut self, record: Record<T>, keep: bool) {
        if keep {
            self.push(record);
        }
    }

    /// Hands on records of `input` until it is empty or room runs out.
    #[inline]
    fn push_all<I: Input<T>>(&mut self, input: &mut I) {
        let count = input.remaining().min(self.room());
        input.take_each(count, |record| self.push(record));
    }
}

/// Whether an emission is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Flow {
    /// All is emitted.
    Done,
    /// Room ran out: call [`Operator::resume`] when there is some.
    More,
}

/// Exact counts of one operator since it started. `read = forwarded + folded + filtered + late` at every
/// moment outside a call; results of windows are outputs, which the edges count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Records taken.
    pub read: u64,
    /// Records handed on, changed or not.
    pub forwarded: u64,
    /// Records that went into state.
    pub folded: u64,
    /// Records dropped because the query says so: a predicate that did not hold, a join without a match, a gap between
    /// windows.
    pub filtered: u64,
    /// Records that came too late by the watermark of their input: for all their windows, or, where there are none, for
    /// their own time. Dropped, or handed to a side output.
    pub late: u64,
}

impl Counts {
    /// These and those.
    #[must_use]
    pub fn plus(self, other: Counts) -> Counts {
        self.with(other, u64::wrapping_add)
    }

    /// These without those, which are among them.
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

    /// Whether every record read is accounted for.
    pub fn is_conserved(&self) -> bool {
        self.read == self.forwarded + self.folded + self.filtered + self.late
    }
}

/// Whether several workers may run one operator at once, each a copy of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// One at a time: it needs all records, or their order, in one place.
    Serial,
    /// Each record is dealt with by itself: whoever takes it makes the same of it.
    Stateless,
    /// What it makes of a record follows from those of the same key before it, and from marks: several may run beside each
    /// other, each with keys of its own, if every one sees all marks.
    Keyed,
    /// It puts out nothing but at marks, and what each copy has gathered can be put together before one (DESIGN decision
    /// 10: partial state belongs to a worker and an epoch).
    Merging,
}

impl Sharing {
    /// That of a chain of two.
    pub const fn then(self, next: Sharing) -> Sharing {
        match (self, next) {
            (Sharing::Serial, _) | (_, Sharing::Serial) => Sharing::Serial,
            // By which key is not known before the first.
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

/// A vertex of a query.
pub trait Operator<In>: Send {
    /// What it emits.
    type Out;

    /// Whether it may emit more than one record per record taken (rule O3).
    const EXPANDS: bool = false;

    /// Whether it is several operators that are run as one.
    const IS_FUSED: bool = false;

    /// Whether several workers may share it.
    const SHARING: Sharing = Sharing::Serial;

    /// A copy for another worker: it shares functions and tables, and has counts and state of its own, none yet. Of one that
    /// merges, what its keys are hashed with is the same, so that state can be put together in the order in which it lies.
    ///
    /// # Panics
    /// If it is [`Sharing::Serial`].
    fn fork(&self) -> Self
    where
        Self: Sized,
    {
        unreachable!("a serial operator is not shared")
    }

    /// What tells its keys apart, if it is [`Sharing::Keyed`].
    fn keys(&self) -> impl Keys<In> + use<Self, In>
    where
        Self: Sized,
    {
        NoKeys
    }

    /// Takes over all that a copy has gathered, as if its records had come here. The copy is empty afterwards, and may
    /// be used again; its counts stay its own. No mark that has gone through here makes a record of it late that was on
    /// time there.
    fn absorb(&mut self, copy: &mut Self)
    where
        Self: Sized,
    {
        let _ = copy;
    }

    /// Which watermarks make a difference to it: something fires there, or a record is late by them that was on time by
    /// those before.
    fn horizon(&self) -> Horizon {
        Horizon::EVERYWHERE
    }

    /// Takes records from `input` and pushes what they become.
    fn process<I: Input<In>, O: Output<Self::Out>>(&mut self, input: &mut I, output: &mut O);

    /// Does what [`process`](Operator::process) does, and measures it; a chain runs one operator after the other for it.
    /// `place` says which of the operators of the whole chain this is, or begins with.
    fn process_staged<I: Input<In>, O: Output<Self::Out>>(
        &mut self,
        input: &mut I,
        output: &mut O,
        stages: &mut Stages<'_>,
        place: usize,
    ) {
        stages.measure(place, input, |input| self.process(input, output));
    }

    /// Takes one record from a neighbour of the same chain; `output` has room. It is not counted as read: the
    /// neighbour reports a whole batch at once by [`note_read`](Operator::note_read), outside its loop.
    fn process_one<O: Output<Self::Out>>(&mut self, record: Record<In>, output: &mut O);

    /// Counts `count` records that were handed to [`process_one`](Operator::process_one).
    fn note_read(&mut self, count: u64);

    /// Sees a mark, after every record before it.
    fn on_mark<O: Output<Self::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        let _ = (mark, output);
        Flow::Done
    }

    /// Whether an emission begun in `process` found no room for its rest (rule O3).
    fn is_stalled(&self) -> bool {
        false
    }

    /// Goes on with an emission that found no room.
    fn resume<O: Output<Self::Out>>(&mut self, output: &mut O) -> Flow {
        let _ = output;
        Flow::Done
    }

    /// Returns what the operators behind this one see of a mark, once all that the mark made it emit is through; none if the
    /// mark ends here. The same mark gets the same answer, and watermarks do not go back by it. A watermark of
    /// `EventTime::MAX` is forwarded as it is: it says that the stream is complete.
    fn forward(&self, mark: Mark) -> Option<Mark> {
        Some(mark)
    }

    /// Before the first record: takes the allowance that its state is paid from.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// Before the first record: draws what randomness it needs, such as seeds of its hash tables.
    fn seed(&mut self, entropy: &mut dyn Entropy) {
        let _ = entropy;
    }

    /// Calls `each` with name and counts of every operator in here: one, or all of a chain in order.
    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts));

    /// What it has taken and put out so far, if its records count for several; then each it takes counts for one row at least.
    #[inline(always)]
    fn weighed(&self) -> Option<Weighed> {
        None
    }

    /// Bytes of state held beyond the operator itself, counted against the engine's budget.
    fn state_bytes(&self) -> usize {
        0
    }

    /// After a panic inside `process`, `on_mark` or `resume`: the name of the operator whose code it was.
    fn faulted(&self) -> Option<&str>;

    /// Writes down all state.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Replaces all state by what [`save`](Operator::save) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state; the operator must then not be used.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;
}

/// Notes whose code a panic came from, at no cost while there is none.
///
/// An operator holds one and runs user code inside [`Blame::on`]; if that unwinds, [`Blame::is_set`] answers
/// true from then on.
#[derive(Debug, Default)]
pub struct Blame(Cell<bool>);

impl Blame {
    /// Runs `code`, which may panic.
    #[inline(always)]
    pub fn on<Q>(&self, code: impl FnOnce() -> Q) -> Q {
        /// Dropped only by unwinding.
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

    /// Whether code run by [`on`](Blame::on) has panicked.
    pub fn is_set(&self) -> bool {
        self.0.get()
    }
}
