//! The contract of operators whose results come later, such as answers from another system.
//!
//! An [`Operator`](crate::Operator) gets nothing after a mark until `on_mark` has said that the mark is
//! processed. An operator that waited for its answers at each watermark would have few requests in flight. So
//! a deferred operator stands at the head of a task, takes records and marks as long as it has room, and
//! emits records and marks when it has some.
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
//! 1. tells it the processing time once in each step ([`begin`](Deferred::begin)), clears its note that the waker was
//!    called, and only then calls [`emit`](Deferred::emit) until there is nothing more; it hands each mark on before it
//!    goes on;
//! 2. gives the operator input while it has [`room`](Deferred::room), and calls `emit` again;
//! 3. leaves the operator alone when nothing can be emitted, and it has no room or there is no input. It comes back
//!    when the waker is called, when the processing time reaches [`due`](Deferred::due) or, if the operator has room,
//!    when there is input. If results are ready and the output has no room, the runner comes back when the output has
//!    room; no call of the waker is needed for that.
//!
//! The state of the operator is saved when `emit` has returned a barrier. The runner gives the operator no records and marks
//! behind a barrier before that, so the state has nothing that belongs behind the barrier.
//!
//! No call is lost: a thread with a new result first makes it visible to `emit` and then calls the waker. If it calls
//! before step 1, `emit` finds the result; if after, the note is there when the task is put to rest.
//!
//! The runner is `DeferredTask` of runtime (`task/deferred.rs`). The deferred operators are in operators: `LookupJoin`,
//! which `Stream::lookup` adds to a query, and `ByArrival` of `Stream::by_arrival`, whose watermarks come with the
//! passing of processing time. The lookup join of SQL is another operator: it reads its table before it joins, and waits
//! for no answers. Tests: `lookups.rs` (each record gets its own answer), `waiting.rs` (no wake-up is lost, no task polls
//! without one) and `by_arrival.rs` (results come when their time has come, without input), all in testkit.

use std::task::Waker;

use crate::allowance::Allowance;
use crate::fault::Fault;
use crate::mark::Mark;
use crate::operator::{Counts, Output};
use crate::record::Record;
use crate::state::{StateError, StateReader, StateWriter};
use crate::time::ProcessingTime;

/// Result of asking an operator to emit its ready results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Emitted {
    /// Everything that was ready is emitted. The operator waits for further results, or has nothing more to
    /// emit.
    All,
    /// This mark (such as a watermark) comes next in the output: hand it on, then ask the operator to emit
    /// again.
    Mark(Mark),
    /// The output has no room left, so some ready results are not emitted yet. Ask again when it has room.
    NoRoom,
}

/// An operator whose results come later, such as a lookup in another system.
pub trait Deferred<In>: Send {
    /// Type of the values that the operator emits.
    type Out;

    /// Gives the operator the waker that it must call when it has something to emit. Called before the first
    /// record. Any thread may call the waker, at any time and as often as it likes. But it must not hold a
    /// lock meanwhile for which a call into this operator, or the drop of the operator, would wait.
    fn wakes_by(&mut self, waker: &Waker);

    /// Gives the operator the allowance that grants memory for its state. Called before the first record.
    fn fund(&mut self, allowance: &Allowance);

    /// Tells the operator the processing time at which a step of its task begins. Called before the records and marks of
    /// that step. The time never goes back from one call to the next.
    fn begin(&mut self, now: ProcessingTime) {
        let _ = now;
    }

    /// Returns the processing time from which the operator has something to emit, though nothing arrives until then;
    /// [`ProcessingTime::NEVER`] if there is no such time. It is after the time of the last [`begin`](Self::begin) if
    /// [`emit`](Self::emit) has returned [`Emitted::All`] since.
    fn due(&self) -> ProcessingTime {
        ProcessingTime::NEVER
    }

    /// Returns the number of records that the operator takes now. If it is zero, the operator takes no mark
    /// either.
    fn room(&self) -> usize;

    /// Gives a record to the operator. Called only while the operator has room.
    fn take(&mut self, record: Record<In>);

    /// Gives a mark to the operator; it follows all records that the operator has taken. Called while the
    /// operator has room. One mark of an edge may become several marks of the task, such as the last watermark
    /// and the end. They are given one after the other, so the later ones may find no room.
    fn mark(&mut self, mark: Mark);

    /// Emits the results that are ready, up to the next mark, as far as `output` has room.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn emit<O: Output<Self::Out>>(&mut self, output: &mut O) -> Result<Emitted, Fault>;

    /// Calls `each` with the name of the operator and its counts of records read, handed on and dropped.
    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts));

    /// Returns the bytes of state that the operator holds beyond itself, counted against the engine's budget.
    fn state_bytes(&self) -> usize;

    /// Returns the operator's name after a panic, if the code of this operator caused the panic.
    fn faulted(&self) -> Option<&str>;

    /// Writes all state of the operator. Called when [`emit`](Self::emit) has returned [`Mark::Barrier`], before the
    /// operator takes anything that is behind the barrier.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written, or the operator cannot be saved. An operator without this method
    /// cannot be saved.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let _ = state;
        Err(StateError::Write(cannot(self, "saved")))
    }

    /// Replaces all state of the operator by the state that [`save`](Self::save) wrote. Called before the first record.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state; the operator must then not be used.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        Err(state.wrong(cannot(self, "loaded")))
    }
}

/// Returns the reason why the state of an operator cannot be saved or loaded, with the name of the operator.
fn cannot<In>(operator: &(impl Deferred<In> + ?Sized), what: &str) -> String {
    let mut name = String::new();
    operator.visit_counts(&mut |of, _| of.clone_into(&mut name));
    format!("the state of the operator `{name}` cannot be {what}")
}
