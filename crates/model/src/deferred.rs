//! The contract of operators whose results come in their own time, such as answers from elsewhere.
//!
//! An [`Operator`](crate::Operator) is done with a mark when its call returns, and nothing behind the mark reaches it
//! before: one that waits for answers at each watermark would have few questions on their way. So a deferred operator
//! stands at the head of a task, takes records and marks as long as it has room, and gives out records and marks when it
//! has some.
//!
//! ```text
//!                take, mark                      emit
//!   edge  -----------------------> Deferred ------------------> chain, edge or sink
//!            while room() > 0       ^
//!                                   +------ waker: "there is something to emit", from any thread
//! ```
//!
//! Whoever runs it
//!
//! 1. takes note that the waker has not been called since, and only then calls [`emit`](Deferred::emit), until that has
//!    nothing more; hands each mark on before it goes on;
//! 2. gives it what there is to read while it has [`room`](Deferred::room), and emits again;
//! 3. leaves it alone when it has no room, or there is nothing to read, and nothing to emit: until the waker is called or,
//!    if it has room, until there is something to read.
//!
//! No call is lost: whoever has something new makes it known to `emit` first and calls the waker then. If he calls before
//! step 1, `emit` finds it; if after, the note is there when the task is put to rest.

use std::task::Waker;

use crate::allowance::Allowance;
use crate::fault::Fault;
use crate::mark::Mark;
use crate::operator::{Counts, Output};
use crate::record::Record;

/// How far an emission has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Emitted {
    /// All that could be: the rest waits, or there is none.
    All,
    /// This mark is next: call again when it is handed on.
    Mark(Mark),
    /// There is no room for more.
    NoRoom,
}

/// An operator whose results come in their own time.
pub trait Deferred<In>: Send {
    /// What it emits.
    type Out;

    /// Before the first record: whom to wake when there is something to emit. Any thread may, at any time and as often as
    /// it likes, but not while it holds a lock that a call into this operator, or its end, would wait for.
    fn wakes_by(&mut self, waker: &Waker);

    /// Before the first record: takes the allowance that its state is paid from.
    fn fund(&mut self, allowance: &Allowance);

    /// How many records it takes now; if none, no mark either.
    fn room(&self) -> usize;

    /// Takes a record; only while it has room.
    fn take(&mut self, record: Record<In>);

    /// Takes a mark, behind all records taken; while it has room, and one more behind a watermark or the like that it took
    /// in the last of it.
    fn mark(&mut self, mark: Mark);

    /// Hands on what may go: results, up to the next mark, as far as there is room.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn emit<O: Output<Self::Out>>(&mut self, output: &mut O) -> Result<Emitted, Fault>;

    /// Calls `each` with its name and counts.
    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts));

    /// Bytes of state held beyond the operator itself, counted against the engine's budget.
    fn state_bytes(&self) -> usize;

    /// After a panic: its name, if it was its code.
    fn faulted(&self) -> Option<&str>;
}
