//! The contract of operators whose results come later, such as answers from another system.
//!
//! An [`Operator`](crate::Operator) has processed a mark when its call returns, and nothing behind the mark reaches
//! it earlier. An operator that waited for its answers at each watermark would have few requests in flight. So a
//! deferred operator stands at the head of a task, takes records and marks as long as it has room, and emits records
//! and marks when it has some.
//!
//! ```text
//!                take, mark                      emit
//!   edge  -----------------------> Deferred ------------------> chain, edge or sink
//!            while room() > 0       ^
//!                                   +------ waker: "there is something to emit", from any thread
//! ```
//!
//! The runner of a deferred operator
//!
//! 1. clears its note that the waker was called, and only then calls [`emit`](Deferred::emit) until there is nothing
//!    more; it hands each mark on before it goes on;
//! 2. gives the operator input while it has [`room`](Deferred::room), and calls `emit` again;
//! 3. leaves the operator alone when nothing can be emitted, and it has no room or there is no input. It comes back
//!    when the waker is called or, if the operator has room, when there is input.
//!
//! No call is lost: a thread with a new result first makes it visible to `emit` and then calls the waker. If it calls
//! before step 1, `emit` finds the result; if after, the note is there when the task is put to rest.

use std::task::Waker;

use crate::allowance::Allowance;
use crate::fault::Fault;
use crate::mark::Mark;
use crate::operator::{Counts, Output};
use crate::record::Record;

/// Result of an emission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Emitted {
    /// Everything that was ready is emitted; the rest waits for results, or there is none.
    All,
    /// This mark is next: hand it on, then call again.
    Mark(Mark),
    /// The output has no room for more.
    NoRoom,
}

/// An operator whose results come later.
pub trait Deferred<In>: Send {
    /// Type of the values that it emits.
    type Out;

    /// Called before the first record: gives the waker to call when there is something to emit. Any thread may call
    /// it, at any time and as often as it likes, but not while it holds a lock that a call into this operator, or its
    /// end, would wait for.
    fn wakes_by(&mut self, waker: &Waker);

    /// Called before the first record: gives the allowance that grants memory for its state.
    fn fund(&mut self, allowance: &Allowance);

    /// Returns how many records it takes now; if zero, it takes no mark either.
    fn room(&self) -> usize;

    /// Takes a record. Called only while it has room.
    fn take(&mut self, record: Record<In>);

    /// Takes a mark, which follows all records taken. Called while it has room; one more mark may follow a watermark
    /// or similar mark that used up the last room.
    fn mark(&mut self, mark: Mark);

    /// Emits ready results, up to the next mark, as far as `output` has room.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn emit<O: Output<Self::Out>>(&mut self, output: &mut O) -> Result<Emitted, Fault>;

    /// Calls `each` with the operator's name and counts.
    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts));

    /// Returns the bytes of state held beyond the operator itself, counted against the engine's budget.
    fn state_bytes(&self) -> usize;

    /// Returns the operator's name after a panic, if its code caused the panic.
    fn faulted(&self) -> Option<&str>;
}
